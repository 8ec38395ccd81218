//! Bounds of steps and of their ratios, which every controller that changes steps has.

use crate::Error;
use crate::catalogue::knob::POSITIVE;
use crate::catalogue::{Context, Domain, Knob, Written, never_ends};
use crate::number::short;
use powerbond_core::controller::StepBounds;

/// Of every controller that changes steps.
pub const SAFETY: Knob = Knob {
    name: "safety",
    domain: Domain::Number { min: 0.0, max: 1.0, open: true },
    rule: None,
    unit: "",
    about: "factor on every new step size",
};
/// Of every controller that changes steps; see [`Bounds`].
pub const MIN_STEP: Knob = Knob {
    name: "min_step",
    domain: POSITIVE,
    rule: Some(|| of_the_run(0)),
    unit: "s",
    about: "smallest step size",
};
/// Of every controller that changes steps; see [`Bounds`].
pub const MAX_STEP: Knob = Knob {
    name: "max_step",
    domain: POSITIVE,
    rule: Some(|| of_the_run(1)),
    unit: "s",
    about: "largest step size",
};
/// Of every controller that changes steps; see [`Bounds`].
pub const MIN_RATE: Knob = Knob {
    name: "min_rate",
    domain: Domain::Number { min: 0.0, max: 1.0, open: true },
    rule: None,
    unit: "",
    about: "smallest ratio of successive step sizes",
};
/// Of every controller that changes steps; see [`Bounds`].
pub const MAX_RATE: Knob = Knob {
    name: "max_rate",
    domain: Domain::Number { min: 1.0, max: 1e6, open: false },
    rule: None,
    unit: "",
    about: "largest ratio of successive step sizes",
};

/// Shortest and longest step over the length of the run, and those with the jump estimator.
pub(super) const SHARES: [f64; 2] = [1e-6, 1e-2];
const SHARES_WITH_JUMPS: [f64; 2] = [1e-10, 1e-3];
/// Least steps are so many times what separates two times near the end of the run.
const RESOLVED: f64 = 16.0;

fn of_the_run(which: usize) -> String {
    let none = if which == 1 { "; none with a ceiling if all subsystems take input derivatives" } else { "" };
    format!("{:e} of the run; {:e} with the jump estimator{none}", SHARES[which], SHARES_WITH_JUMPS[which])
}

/// The knobs [`MIN_STEP`], [`MAX_STEP`], [`MIN_RATE`] and [`MAX_RATE`] of a controller.
pub struct Bounds<'a> {
    /// Shortest step, in s; `None`: a share of the run. Gets what is used.
    pub min_step: &'a mut Option<f64>,
    /// Longest step, in s; `None`: a share of the run. Gets what is used.
    pub max_step: &'a mut Option<f64>,
    /// Smallest ratio of neighbouring steps.
    pub min_rate: f64,
    /// Largest ratio of neighbouring steps.
    pub max_rate: f64,
}

impl Bounds<'_> {
    /// What they mean for a system; what its subsystems themselves can take comes first.
    pub fn settle(self, written: &Written, context: &Context<'_>) -> Result<StepBounds, Error> {
        let can = || {
            let members = context.network.members.iter().zip(context.rates);
            members.map(|(m, &rate)| (m.capabilities, f64::from(rate)))
        };
        let shortest = can().filter_map(|(c, rate)| Some(c.min_step? * rate)).fold(0.0, f64::max);
        let longest = can().filter_map(|(c, rate)| Some(c.max_step? * rate)).fold(f64::INFINITY, f64::min);
        let [least, mut most] = if context.steered_by_jumps { SHARES_WITH_JUMPS } else { SHARES };
        if context.has_ceiling && !context.has_values_only_member() {
            most = 1.0;
        }
        let last = context.start.abs().max((context.start + context.duration).abs());
        let resolved = RESOLVED * f64::EPSILON * last;
        let bounds = StepBounds {
            min_step: self.min_step.unwrap_or((least * context.duration).max(resolved)).max(shortest),
            max_step: self.max_step.unwrap_or(most * context.duration).min(longest).max(shortest),
            min_rate: self.min_rate,
            max_rate: self.max_rate,
        };
        if bounds.min_step > bounds.max_step {
            return Err(Error::input(
                written.own("min_step").or(written.own("max_step")),
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
                    written.knob(name),
                    format!(
                        "`{name}` is {} s, too small for a run of {} s",
                        short(limit),
                        short(context.duration)
                    ),
                ));
            }
        }
        (*self.min_step, *self.max_step) = (Some(bounds.min_step), Some(bounds.max_step));
        Ok(bounds)
    }
}
