//! Which side of a power a variable is: by its unit, by the quantity that its author declares, or by its name.

use super::Signal;
use super::words::words;
use powerbond_core::units::{Dimensions, Unit};
use std::fmt;

/// A quantity of which two multiply to a power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Quantity {
    Force,
    Velocity,
    Torque,
    AngularVelocity,
    Pressure,
    VolumeFlow,
    Voltage,
    Current,
}

use Quantity::*;

/// What a quantity is known from, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum KnownFrom {
    /// Its unit.
    Unit,
    /// The quantity or type that the FMU declares.
    Declared,
    /// A word in its name, or in its name in a terminal.
    Word,
    /// A letter in its name.
    Letter,
    /// A terminal of FMI 3 to which it belongs, with a flow.
    Terminal,
}

impl KnownFrom {
    /// In a sentence: `by units`.
    pub fn words(self) -> &'static str {
        match self {
            KnownFrom::Unit => "by units",
            KnownFrom::Declared => "by declared quantities",
            KnownFrom::Word => "by names",
            KnownFrom::Letter => "by single letters in names",
            KnownFrom::Terminal => "by a terminal, whose flow need not be that of a power",
        }
    }
}

impl Quantity {
    const ALL: [Quantity; 8] =
        [Force, Velocity, Torque, AngularVelocity, Pressure, VolumeFlow, Voltage, Current];

    /// The one it multiplies with to a power.
    pub fn partner(self) -> Quantity {
        match self {
            Force => Velocity,
            Velocity => Force,
            Torque => AngularVelocity,
            AngularVelocity => Torque,
            Pressure => VolumeFlow,
            VolumeFlow => Pressure,
            Voltage => Current,
            Current => Voltage,
        }
    }

    /// It acts on both sides of a joint with opposite signs (forces, currents, flows); the other one is common to both.
    pub fn is_through(self) -> bool {
        matches!(self, Force | Torque | VolumeFlow | Current)
    }

    /// Its unit in SI.
    pub fn unit(self) -> &'static str {
        match self {
            Force => "N",
            Velocity => "m/s",
            Torque => "N.m",
            AngularVelocity => "rad/s",
            Pressure => "Pa",
            VolumeFlow => "m3/s",
            Voltage => "V",
            Current => "A",
        }
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Force => "force",
            Velocity => "velocity",
            Torque => "torque",
            AngularVelocity => "speed",
            Pressure => "pressure",
            VolumeFlow => "volume flow",
            Voltage => "voltage",
            Current => "current",
        })
    }
}

/// The dimensions of a unit without the radian, if they are known and not all zero.
pub fn dimensions(unit: &Unit) -> Option<Dimensions> {
    let mut dimensions = unit.si?.dimensions;
    dimensions[7] = 0;
    dimensions.iter().any(|d| *d != 0).then_some(dimensions)
}

/// What a signal may be, and what tells. Where its unit is known, names have no say.
pub fn quantities(signal: &Signal) -> (Vec<Quantity>, KnownFrom) {
    if let Some(unit) = signal.unit.as_ref().filter(|unit| unit.si.is_some()) {
        let found = dimensions(unit);
        let same = |q: &Quantity| found.is_some() && dimensions(&Unit::parse(q.unit())) == found;
        return (Quantity::ALL.into_iter().filter(same).collect(), KnownFrom::Unit);
    }
    let declared = of_words(&words(&signal.quantity));
    if !declared.is_empty() {
        return (declared, KnownFrom::Declared);
    }
    // What both sides of a terminal call it counts as a name.
    let names = [words(&signal.name), words(&signal.member)];
    let first = |of: fn(&[String]) -> Vec<Quantity>| {
        names.iter().map(|name| of(name)).find(|found| !found.is_empty())
    };
    match first(of_words) {
        Some(found) => (found, KnownFrom::Word),
        None => (first(of_letters).unwrap_or_default(), KnownFrom::Letter),
    }
}

/// By whole words.
fn of_words(words: &[String]) -> Vec<Quantity> {
    let has = |wanted: &[&str]| words.iter().any(|word| wanted.contains(&word.as_str()));
    let turns = has(&["angular", "rotational", "rotation", "shaft", "motor"]);
    let is_mass_flow = has(&["m", "mdot"]) && has(&["flow", "flowrate"]);
    if is_mass_flow || has(&["acceleration", "angle", "mass", "heat", "energy", "power"]) {
        vec![]
    } else if has(&["torque", "tau"]) {
        vec![Torque]
    } else if has(&["force", "thrust"]) {
        vec![Force]
    } else if has(&["omega", "rpm"]) || turns && has(&["velocity", "speed"]) {
        vec![AngularVelocity]
    } else if has(&["velocity"]) {
        vec![Velocity, AngularVelocity]
    } else if has(&["speed"]) {
        vec![AngularVelocity, Velocity]
    } else if has(&["pressure"]) {
        vec![Pressure]
    } else if has(&["flow", "flowrate"]) {
        vec![VolumeFlow]
    } else if has(&["voltage", "potential"]) {
        vec![Voltage]
    } else if has(&["current"]) {
        vec![Current]
    } else {
        vec![]
    }
}

/// By letters of formulas.
fn of_letters(words: &[String]) -> Vec<Quantity> {
    let of = |word: &String| match word.as_str() {
        "f" | "fx" | "fy" | "fz" => vec![Force],
        "v" => vec![Velocity, Voltage],
        "vx" | "vy" | "vz" => vec![Velocity],
        "m" => vec![Torque],
        "w" => vec![AngularVelocity],
        "p" => vec![Pressure],
        "q" => vec![VolumeFlow],
        "u" => vec![Voltage],
        "i" => vec![Current],
        _ => vec![],
    };
    words.iter().map(of).find(|found| !found.is_empty()).unwrap_or_default()
}

/// Two signals of one subsystem whose product is a power: as what, and what tells. The error is that it is known not to be one.
pub fn power(a: &Signal, b: &Signal) -> Result<Option<(Option<Quantity>, KnownFrom)>, ()> {
    let ((of_a, from_a), (of_b, from_b)) = (quantities(a), quantities(b));
    let known = of_a.iter().find(|q| of_b.contains(&q.partner())).copied();
    if let (Some(first), Some(second)) = (&a.unit, &b.unit)
        && let Some(is_power) = first.product_is_power(second)
    {
        // A power times a number without a unit is one, too, and no bond.
        let is_bond = is_power && dimensions(first).is_some() && dimensions(second).is_some();
        return if is_bond { Ok(Some((known, KnownFrom::Unit))) } else { Err(()) };
    }
    Ok(known.map(|q| (Some(q), from_a.max(from_b))))
}
