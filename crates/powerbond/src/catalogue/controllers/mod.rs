//! The next step size: one file per method, its entry beside its make.

mod fixed;
mod pi;
mod rollback;

pub use fixed::FIXED;
pub use pi::{ECCO, INTEGRAL};
pub use rollback::ROLLBACK;

use super::knob::POSITIVE;
use super::{Context, Domain, Knob, PolicySpec};
use crate::Error;
use crate::number::short;
use crate::prepare::never_ends;
use crate::source::At;
use powerbond_core::controller::StepBounds;

/// Of every controller that changes steps.
pub const SAFETY: Knob = Knob {
    name: "safety",
    domain: Domain::Number { min: 0.0, max: 1.0, open: true },
    default: "0.8",
    unit: "",
    about: "factor on every new step size",
};
/// Of every controller that changes steps; see [`bounds`].
pub const MIN_STEP: Knob = Knob {
    name: "min_step",
    domain: POSITIVE,
    default: "1e-6 of the run",
    unit: "s",
    about: "smallest step",
};
/// Of every controller that changes steps; see [`bounds`].
pub const MAX_STEP: Knob = Knob {
    name: "max_step",
    domain: POSITIVE,
    default: "1/100 of the run",
    unit: "s",
    about: "largest step",
};
/// Of every controller that changes steps; see [`bounds`].
pub const MIN_RATE: Knob = Knob {
    name: "min_rate",
    domain: Domain::Number { min: 0.0, max: 1.0, open: true },
    default: "0.2",
    unit: "",
    about: "smallest ratio of neighbouring steps",
};
/// Of every controller that changes steps; see [`bounds`].
pub const MAX_RATE: Knob = Knob {
    name: "max_rate",
    domain: Domain::Number { min: 1.0, max: 1e6, open: false },
    default: "1.5",
    unit: "",
    about: "largest ratio of neighbouring steps",
};

/// What the knobs [`MIN_STEP`], [`MAX_STEP`], [`MIN_RATE`] and [`MAX_RATE`] mean for a system; `max_rate` holds where that is not given.
pub fn bounds(spec: &PolicySpec, context: &Context<'_>, max_rate: f64) -> Result<StepBounds, Error> {
    // What the subsystems themselves can take comes first.
    let can = || {
        context.network.members.iter().zip(context.rates).map(|(m, &rate)| (m.capabilities, f64::from(rate)))
    };
    let shortest = can().filter_map(|(c, rate)| Some(c.min_step? * rate)).fold(0.0, f64::max);
    let longest = can().filter_map(|(c, rate)| Some(c.max_step? * rate)).fold(f64::INFINITY, f64::min);
    let (least, most) = if context.steered_by_jumps { (1e-7, 1e-3) } else { (1e-6, 1e-2) };
    let bounds = StepBounds {
        min_step: spec.number("min_step").unwrap_or(least * context.duration).max(shortest),
        max_step: spec.number("max_step").unwrap_or(most * context.duration).min(longest).max(shortest),
        min_rate: spec.number("min_rate").unwrap_or(0.2),
        max_rate: spec.number("max_rate").unwrap_or(max_rate),
    };
    if bounds.min_step > bounds.max_step {
        let place = spec.knob("min_step").or(spec.knob("max_step")).and_then(At::place);
        return Err(Error::input(
            place,
            format!(
                "`min_step` = {} s is larger than `max_step` = {} s",
                short(bounds.min_step),
                short(bounds.max_step)
            ),
        ));
    }
    for (name, limit) in [("min_step", bounds.min_step), ("max_step", bounds.max_step)] {
        if never_ends(context.start, context.duration, limit) {
            return Err(Error::input(
                spec.knob(name).map_or(spec.entry.place(), At::place),
                format!(
                    "`{name}` is {} s: at that step a run of {} s would never end",
                    short(limit),
                    short(context.duration)
                ),
            ));
        }
    }
    Ok(bounds)
}

/// The limit, by name and value, that moves the first step `h` of an adaptive run, if one does.
pub fn clamps(spec: &PolicySpec, h: f64) -> Option<(&'static str, f64)> {
    let below = spec.number("min_step").filter(|&min| h < min).map(|min| ("min_step", min));
    below.or_else(|| spec.number("max_step").filter(|&max| h > max).map(|max| ("max_step", max)))
}
