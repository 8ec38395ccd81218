//! The next step size: one file per method, its entry beside its make.

mod bounds;
mod fixed;
mod pi;
mod rollback;

pub use bounds::{Bounds, MAX_RATE, MAX_STEP, MIN_RATE, MIN_STEP, SAFETY};
pub use fixed::{FIXED, Fixed};
pub use pi::{Age, AtRest, ECCO, Ecco, INTEGRAL, Integral};
pub use rollback::{AtFloor, ROLLBACK, Rollback};

use super::part::choice;
use super::{Choice, Chosen, Kind};
use powerbond_core::controller::StepController;

choice!(
    /// What chooses the next step size.
    Controller,
    Kind::Controller,
    Box<dyn StepController>,
    [Fixed, Ecco, Integral, Rollback]
);

impl Controller {
    /// Whether steps are constant, so that no estimator is needed.
    pub fn is_constant(&self) -> bool {
        matches!(self, Controller::Fixed(_))
    }

    /// The first step of a run of `duration` where none is given, both in s, for controllers that cannot take a step back: the
    /// smallest one, as in the papers.
    pub fn first_step(&self, duration: f64) -> Option<f64> {
        match self {
            Controller::Ecco(Ecco { min_step, .. }) | Controller::Integral(Integral { min_step, .. }) => {
                Some(min_step.unwrap_or(bounds::SHARES[0] * duration))
            }
            Controller::Fixed(_) | Controller::Rollback(_) | Controller::Own(_) => None,
        }
    }
}

impl Chosen<Controller> {
    /// The limit, by name and value, that moves the first step `h` of an adaptive run, if one does.
    pub fn clamps(&self, h: f64) -> Option<(&'static str, f64)> {
        let limit = |knob: &'static str| match self.part().get(knob) {
            Some(super::KnobValue::Number(x)) => Some((knob, x)),
            _ => None,
        };
        let below = limit("min_step").filter(|(_, min)| h < *min);
        below.or_else(|| limit("max_step").filter(|(_, max)| h > *max))
    }
}
