//! Steps are doubled or halved.

use super::{Bounds, MAX_STEP, MIN_STEP};
use crate::Error;
use crate::catalogue::{Context, Domain, Entry, Kind, Knob, Make, Written, knobs};
use powerbond_core::controller::{self, StepController};

/// Doubling and halving.
pub const DEAD_BAND: Entry = Entry {
    kind: Kind::Controller,
    name: "dead-band",
    about: "the step is doubled or halved, and left alone in between",
    paper: "",
    knobs: &[
        MIN_STEP,
        MAX_STEP,
        Knob {
            name: "low",
            domain: Domain::Number { min: 0.0, max: 1.0, open: true },
            rule: None,
            unit: "",
            about: "errors below it double the step",
        },
    ],
    uses: None,
    plain: || Box::new(DeadBand::default()),
};

/// The step is doubled or halved, and left alone in between.
#[derive(Clone, Debug, PartialEq)]
pub struct DeadBand {
    /// Smallest step, in s; `None`: a share of the run.
    pub min_step: Option<f64>,
    /// Largest step, in s; `None`: a share of the run.
    pub max_step: Option<f64>,
    /// Errors below it double the step.
    pub low: f64,
}

impl Default for DeadBand {
    fn default() -> Self {
        DeadBand { min_step: None, max_step: None, low: 0.1 }
    }
}

knobs!(DeadBand, DEAD_BAND, min_step, max_step, low);

impl Make<Box<dyn StepController>> for DeadBand {
    fn make(&mut self, written: &Written, context: &Context<'_>) -> Result<Box<dyn StepController>, Error> {
        let DeadBand { min_step, max_step, low } = self;
        let bounds = Bounds { min_step, max_step, min_rate: 0.5, max_rate: 2.0 };
        let bounds = bounds.settle(written, context)?;
        Ok(Box::new(controller::DeadBand { first_step: context.step, low: *low, bounds }))
    }
}
