//! Proportional-integral control, and integral control alone.

use super::{MAX_RATE, MAX_STEP, MIN_RATE, MIN_STEP, SAFETY, bounds};
use crate::Error;
use crate::catalogue::{Context, Domain, Entry, Knob, Make, Nature, PolicySpec};
use powerbond_core::controller::{Pi, StepController};

/// ECCO.
pub const ECCO: Entry = Entry {
    name: "ecco",
    about: "proportional-integral control of the step size, without going back",
    paper: "sadjina2017 eq. 15",
    knobs: &[
        SAFETY,
        MIN_STEP,
        MAX_STEP,
        MIN_RATE,
        MAX_RATE,
        OPENING_RATE,
        INTEGRAL_GAIN,
        PROPORTIONAL_GAIN,
        AGE,
        ERROR_FLOOR,
    ],
    uses: None,
    nature: Nature::Plain,
    make: Make::Controller(ecco),
};

/// Integral control.
pub const INTEGRAL: Entry = Entry {
    name: "i",
    about: "integral control of the step size, without going back",
    paper: "sadjina2020 eq. 13",
    knobs: &[SAFETY, MIN_STEP, MAX_STEP, MIN_RATE, MAX_RATE, INTEGRAL_GAIN, AGE],
    uses: None,
    nature: Nature::Plain,
    make: Make::Controller(integral),
};

const INTEGRAL_GAIN: Knob = Knob {
    name: "integral_gain",
    domain: Domain::Number { min: 0.0, max: 10.0, open: true },
    default: "0.3/k, k the order of the estimate",
    unit: "",
    about: "kI",
};
const PROPORTIONAL_GAIN: Knob = Knob {
    name: "proportional_gain",
    domain: Domain::Number { min: 0.0, max: 10.0, open: false },
    default: "0.4/k",
    unit: "",
    about: "kP",
};
const OPENING_RATE: Knob = Knob {
    name: "opening_rate",
    domain: Domain::Number { min: 1.0, max: 1e6, open: false },
    default: "max_rate; 2 with the jump estimator",
    unit: "",
    about: "largest ratio of neighbouring steps until an error first exceeds a tenth of the tolerance",
};
const AGE: Knob = Knob {
    name: "age",
    domain: Domain::Choice(&["newest", "previous"]),
    default: "newest",
    unit: "",
    about: "which error decides: the newest, or the one of the step before (sadjina2020 eq. 13 read literally)",
};
const ERROR_FLOOR: Knob = Knob {
    name: "error_floor",
    domain: Domain::Number { min: 0.0, max: 1.0, open: false },
    default: "1e-3",
    unit: "",
    about: "the last error counts as at least this (0 in the papers)",
};

fn ecco(spec: &PolicySpec, context: &Context<'_>) -> Result<Box<dyn StepController>, Error> {
    let pi = Pi::ecco(context.step, bounds(spec, context, 1.5)?);
    Ok(Box::new(tuned(pi, spec, context)))
}

fn integral(spec: &PolicySpec, context: &Context<'_>) -> Result<Box<dyn StepController>, Error> {
    let pi = Pi::integral(context.step, bounds(spec, context, 1.5)?);
    Ok(Box::new(tuned(pi, spec, context)))
}

/// With the knobs that are set.
fn tuned(mut pi: Pi, spec: &PolicySpec, context: &Context<'_>) -> Pi {
    let jumps = context.steered_by_jumps;
    pi.safety = spec.number("safety").unwrap_or(if jumps { 0.9 } else { pi.safety });
    pi.opening_rate = spec.number("opening_rate").or(jumps.then_some(2.0));
    pi.integral_gain = spec.number("integral_gain").or(pi.integral_gain);
    pi.proportional_gain = spec.number("proportional_gain").or(pi.proportional_gain);
    if let Some(floor) = spec.number("error_floor") {
        pi.set_error_floor(floor);
    }
    pi.age = spec.choice("age", 0, &[("newest", 0), ("previous", 1)]);
    pi
}
