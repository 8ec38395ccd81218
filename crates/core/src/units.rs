//! Units as SI dimensions with a factor and an offset: enough to convert and to see whether a product is a power.

use std::f64::consts::TAU;

/// Files write 1/60 with as few digits as this.
const TURN_ROUND_OFF: f64 = 1e-4;

/// Exponents of kg, m, s, A, K, mol, cd, rad, as in FMI's `BaseUnit`.
pub type Dimensions = [i8; 8];

const KG: Dimensions = [1, 0, 0, 0, 0, 0, 0, 0];
const M: Dimensions = [0, 1, 0, 0, 0, 0, 0, 0];
const S: Dimensions = [0, 0, 1, 0, 0, 0, 0, 0];
const A: Dimensions = [0, 0, 0, 1, 0, 0, 0, 0];
const K: Dimensions = [0, 0, 0, 0, 1, 0, 0, 0];
const MOL: Dimensions = [0, 0, 0, 0, 0, 1, 0, 0];
const CD: Dimensions = [0, 0, 0, 0, 0, 0, 1, 0];
const RAD: Dimensions = [0, 0, 0, 0, 0, 0, 0, 1];
const NONE: Dimensions = [0; 8];
const N: Dimensions = [1, 1, -2, 0, 0, 0, 0, 0];
const J: Dimensions = [1, 2, -2, 0, 0, 0, 0, 0];
const W: Dimensions = [1, 2, -3, 0, 0, 0, 0, 0];
const PA: Dimensions = [1, -1, -2, 0, 0, 0, 0, 0];
const V: Dimensions = [1, 2, -3, -1, 0, 0, 0, 0];
const OHM: Dimensions = [1, 2, -3, -2, 0, 0, 0, 0];
const F: Dimensions = [-1, -2, 4, 2, 0, 0, 0, 0];
const H: Dimensions = [1, 2, -2, -2, 0, 0, 0, 0];
const C: Dimensions = [0, 0, 1, 1, 0, 0, 0, 0];
const WB: Dimensions = [1, 2, -2, -1, 0, 0, 0, 0];
const T: Dimensions = [1, 0, -2, -1, 0, 0, 0, 0];
const HZ: Dimensions = [0, 0, -1, 0, 0, 0, 0, 0];
const M3: Dimensions = [0, 3, 0, 0, 0, 0, 0, 0];

/// Symbols that take SI prefixes.
const PREFIXABLE: &[(&str, Dimensions, f64)] = &[
    ("m", M, 1.0),
    ("g", KG, 1e-3),
    ("s", S, 1.0),
    ("A", A, 1.0),
    ("K", K, 1.0),
    ("mol", MOL, 1.0),
    ("cd", CD, 1.0),
    ("rad", RAD, 1.0),
    ("N", N, 1.0),
    ("J", J, 1.0),
    ("W", W, 1.0),
    ("Pa", PA, 1.0),
    ("bar", PA, 1e5),
    ("V", V, 1.0),
    ("Ohm", OHM, 1.0),
    ("F", F, 1.0),
    ("H", H, 1.0),
    ("C", C, 1.0),
    ("Wb", WB, 1.0),
    ("T", T, 1.0),
    ("Hz", HZ, 1.0),
    ("l", M3, 1e-3),
    ("L", M3, 1e-3),
];

/// Symbols that stand alone.
const PLAIN: &[(&str, Dimensions, f64, f64)] = &[
    ("1", NONE, 1.0, 0.0),
    ("-", NONE, 1.0, 0.0),
    ("%", NONE, 1e-2, 0.0),
    ("min", S, 60.0, 0.0),
    ("h", S, 3600.0, 0.0),
    ("d", S, 86400.0, 0.0),
    ("t", KG, 1e3, 0.0),
    ("deg", RAD, std::f64::consts::PI / 180.0, 0.0),
    ("rev", RAD, 2.0 * std::f64::consts::PI, 0.0),
    ("rpm", [0, 0, -1, 0, 0, 0, 0, 1], std::f64::consts::PI / 30.0, 0.0),
    ("degC", K, 1.0, 273.15),
    ("degF", K, 5.0 / 9.0, 459.67 * 5.0 / 9.0),
    ("kn", [0, 1, -1, 0, 0, 0, 0, 0], 1852.0 / 3600.0, 0.0),
];

const PREFIXES: &[(&str, f64)] = &[
    ("da", 1e1),
    ("p", 1e-12),
    ("n", 1e-9),
    ("u", 1e-6),
    ("µ", 1e-6),
    ("m", 1e-3),
    ("c", 1e-2),
    ("d", 1e-1),
    ("h", 1e2),
    ("k", 1e3),
    ("M", 1e6),
    ("G", 1e9),
];

/// A unit: `SI value = factor · value + offset`.
#[derive(Clone, Debug, PartialEq)]
pub struct Unit {
    /// As written by its author.
    pub symbol: String,
    /// Dimensions, factor and offset, if they are known.
    pub si: Option<Si>,
}

/// From one unit to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Conversion {
    /// `gain · value + offset`.
    Linear {
        /// Multiplies.
        gain: f64,
        /// Is added.
        offset: f64,
    },
    /// One counts turns per time and the other radians: dimensions do not tell that a turn has 2π of them.
    Turns {
        /// What multiplies a number of the one to give the other, if turns are meant.
        gain: f64,
    },
    /// The dimensions differ.
    Impossible,
    /// The meaning of a unit is not known.
    Unknown,
}

/// The meaning of a unit in SI.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Si {
    /// Exponents of the base units.
    pub dimensions: Dimensions,
    /// Multiplies the value.
    pub factor: f64,
    /// Is added after.
    pub offset: f64,
}

impl Unit {
    /// Reads symbols such as `m/s`, `N.m`, `kW`, `m3/s`, `rad/s2`, `l/min`. Unknown symbols keep `si = None`.
    pub fn parse(symbol: &str) -> Unit {
        Unit { symbol: symbol.to_owned(), si: parse_si(symbol) }
    }

    /// Whether `self · other` is a power; `None` where a unit is unknown. The radian counts as 1 here.
    pub fn product_is_power(&self, other: &Unit) -> Option<bool> {
        let (a, b) = (self.si?, other.si?);
        Some((0..7).all(|i| a.dimensions[i] + b.dimensions[i] == W[i]) && a.offset == 0.0 && b.offset == 0.0)
    }

    /// How many watts `1 self · 1 other` are; `None` where a unit is unknown or the product is no power. A torque times
    /// turns per time has the factor 2π: `P = 2π n M`.
    pub fn watts(&self, other: &Unit) -> Option<f64> {
        if self.product_is_power(other) != Some(true) {
            return None;
        }
        let turns = if self.counts_turns() || other.counts_turns() { TAU } else { 1.0 };
        Some(turns * self.si?.factor * other.si?.factor)
    }

    /// What follows a number in this unit: ` N.m`, nothing where it is dimensionless.
    pub fn suffix(&self) -> String {
        if matches!(self.symbol.as_str(), "" | "1" | "-") {
            String::new()
        } else {
            format!(" {}", self.symbol)
        }
    }

    /// How a value in this unit becomes one in `other`.
    pub fn conversion_to(&self, other: &Unit) -> Conversion {
        let (Some(a), Some(b)) = (self.si, other.si) else { return Conversion::Unknown };
        if a.dimensions[..7] != b.dimensions[..7] {
            return Conversion::Impossible;
        }
        let gain = a.factor / b.factor;
        let radians = |si: Si| si.dimensions[7] != 0;
        if self.counts_turns() && radians(b) {
            return Conversion::Turns { gain: TAU * gain };
        }
        if radians(a) && other.counts_turns() {
            return Conversion::Turns { gain: gain / TAU };
        }
        Conversion::Linear { gain, offset: (a.offset - b.offset) / b.factor }
    }

    /// Whether it counts whole turns (or periods) per time: Hz and its multiples, 1/min. A plain 1/s may be anything.
    fn counts_turns(&self) -> bool {
        self.si.is_some_and(|si| {
            si.dimensions == HZ
                && (self.symbol.ends_with("Hz") || (si.factor * 60.0 - 1.0).abs() < TURN_ROUND_OFF)
        })
    }
}

fn parse_si(symbol: &str) -> Option<Si> {
    let mut total = Si { dimensions: NONE, factor: 1.0, offset: 0.0 };
    let mut atoms = 0;
    let mut under = false;
    let mut rest = symbol.trim();
    while !rest.is_empty() {
        let end = rest.find(['.', '*', '·', '/', ' ', '(', ')']).unwrap_or(rest.len());
        let (atom, tail) = rest.split_at(end);
        if !atom.is_empty() {
            let (unit, power) = parse_atom(atom)?;
            let sign = if under { -power } else { power };
            for (t, d) in total.dimensions.iter_mut().zip(unit.dimensions) {
                *t = t.checked_add(d.checked_mul(sign)?)?;
            }
            total.factor *= unit.factor.powi(i32::from(sign));
            total.offset = unit.offset;
            atoms += 1;
        }
        let mut characters = tail.chars();
        match characters.next() {
            Some('/') => under = true,
            Some('(' | ')' | '.' | '*' | '·' | ' ') | None => {}
            Some(_) => return None,
        }
        rest = characters.as_str();
    }
    // An offset (°C) has a meaning only when the unit stands alone.
    if atoms != 1 {
        total.offset = 0.0;
    }
    (atoms > 0).then_some(total)
}

fn parse_atom(atom: &str) -> Option<(Si, i8)> {
    if let Some(unit) = look_up(atom) {
        return Some((unit, 1));
    }
    let split = atom.find(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '^' | '²' | '³'))?;
    let (name, exponent) = atom.split_at(split);
    let power = match exponent.trim_start_matches('^') {
        "²" => 2,
        "³" => 3,
        text => text.parse().ok()?,
    };
    Some((look_up(name)?, power))
}

fn look_up(name: &str) -> Option<Si> {
    if let Some(&(_, dimensions, factor, offset)) = PLAIN.iter().find(|p| p.0 == name) {
        return Some(Si { dimensions, factor, offset });
    }
    let find = |symbol: &str| PREFIXABLE.iter().find(|p| p.0 == symbol);
    if let Some(&(_, dimensions, factor)) = find(name) {
        return Some(Si { dimensions, factor, offset: 0.0 });
    }
    PREFIXES.iter().find_map(|&(prefix, scale)| {
        let &(_, dimensions, factor) = find(name.strip_prefix(prefix)?)?;
        Some(Si { dimensions, factor: factor * scale, offset: 0.0 })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bond_units_multiply_to_watts() {
        for (a, b) in [
            ("N", "m/s"),
            ("N.m", "rad/s"),
            ("V", "A"),
            ("Pa", "m3/s"),
            ("bar", "l/min"),
            ("kN", "mm/s"),
            ("N·m", "rpm"),
        ] {
            assert_eq!(Unit::parse(a).product_is_power(&Unit::parse(b)), Some(true), "{a} · {b}");
        }
        for (a, b) in [("N", "m"), ("V", "V"), ("Pa", "m/s")] {
            assert_eq!(Unit::parse(a).product_is_power(&Unit::parse(b)), Some(false), "{a} · {b}");
        }
        assert_eq!(Unit::parse("furlong").product_is_power(&Unit::parse("N")), None);
    }

    #[test]
    fn products_of_bonds_are_known_in_watts() {
        // By definition: 1 bar·l/min = 1e5·1e-3/60 W, 1 kN·mm/s = 1 W, P = 2π n M.
        for (a, b, watts) in [
            ("N", "m/s", 1.0),
            ("bar", "l/min", 1e5 * 1e-3 / 60.0),
            ("kN", "mm/s", 1.0),
            ("N.m", "rad/s", 1.0),
            ("N.m", "1/s", 1.0),
            ("N.m", "rpm", TAU / 60.0),
            ("N.m", "1/min", TAU / 60.0),
            ("Hz", "kN.m", 1e3 * TAU),
        ] {
            let found = Unit::parse(a).watts(&Unit::parse(b)).unwrap();
            assert!((found / watts - 1.0).abs() < 1e-14, "{a} · {b} = {found} W");
        }
        assert_eq!(Unit::parse("N").watts(&Unit::parse("m")), None);
        assert_eq!(Unit::parse("N").watts(&Unit::parse("furlong")), None);
    }

    #[test]
    fn turns_do_not_become_radians_by_themselves() {
        let conversion = |from: &str, to: &str| Unit::parse(from).conversion_to(&Unit::parse(to));
        assert_eq!(conversion("Hz", "rad/s"), Conversion::Turns { gain: TAU });
        assert_eq!(conversion("rad/s", "Hz"), Conversion::Turns { gain: 1.0 / TAU });
        assert_eq!(conversion("1/min", "rad/s"), Conversion::Turns { gain: TAU * (1.0 / 60.0) });
        assert_eq!(conversion("Hz", "1/s"), Conversion::Linear { gain: 1.0, offset: 0.0 });
        assert_eq!(conversion("1/s", "rad/s"), Conversion::Linear { gain: 1.0, offset: 0.0 });
    }

    #[test]
    fn conversions_follow_the_definitions() {
        let check = |from: &str, to: &str, x: f64, y: f64| {
            let Conversion::Linear { gain, offset } = Unit::parse(from).conversion_to(&Unit::parse(to))
            else {
                panic!("{from} to {to}");
            };
            assert!(
                (gain * x + offset - y).abs() <= 1e-12 * y.abs(),
                "{x} {from} = {} {to}",
                gain * x + offset
            );
        };
        check("km/h", "m/s", 36.0, 10.0);
        check("degC", "K", 20.0, 293.15);
        check("K", "degC", 293.15, 20.0);
        check("bar", "Pa", 1.0, 1e5);
        check("l/min", "m3/s", 60.0, 1e-3);
        check("rpm", "rad/s", 60.0, 2.0 * std::f64::consts::PI);
        assert_eq!(Unit::parse("m").conversion_to(&Unit::parse("s")), Conversion::Impossible);
    }
}
