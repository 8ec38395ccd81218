//! Steps over tolerance are rejected.

use super::{Bounds, MAX_RATE, MAX_STEP, MIN_RATE, MIN_STEP, SAFETY};
use crate::Error;
use crate::catalogue::{Ability, Context, Domain, Entry, Kind, Knob, Make, Without, Word, Written, knobs};
use powerbond_core::controller::{Rejecting, StepController};

/// Rejects steps.
pub const ROLLBACK: Entry = Entry {
    kind: Kind::Controller,
    name: "rollback",
    about: "a step over tolerance is rejected and made again with a smaller size",
    paper: "arnold2013 §4",
    knobs: &[
        SAFETY,
        Knob {
            rule: Some(|| {
                format!("{SHORTEST:e} of the run; as with other controllers with the jump estimator")
            }),
            ..MIN_STEP
        },
        MAX_STEP,
        MIN_RATE,
        MAX_RATE,
        Knob {
            name: "at_floor",
            domain: Domain::Choice(&["stop", "keep"]),
            rule: Some(|| {
                format!("{}; {} with the jump estimator", AtFloor::Stop.word(), AtFloor::Keep.word())
            }),
            unit: "",
            about: "a step over tolerance at the smallest size ends the run, or is accepted and counted",
        },
    ],
    uses: Some((Ability::Restore, Without::Refused)),
    plain: || Box::new(Rollback::default()),
};

/// The shortest step over the length of the run. A run ends where it is too long, and begins with holds of order 0, whose errors are of
/// first order where there is feed-through: tolerances of 1e-6 need steps of 1e-7 of the run there.
const SHORTEST: f64 = 1e-9;

/// What becomes of a step over tolerance at the smallest size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtFloor {
    /// The run ends.
    Stop,
    /// It is kept and counted.
    Keep,
}

impl Word for AtFloor {
    const WORDS: &'static [(&'static str, Self)] = &[("stop", AtFloor::Stop), ("keep", AtFloor::Keep)];
}

/// A step over tolerance is rejected and made again with a smaller size.
#[derive(Clone, Debug, PartialEq)]
pub struct Rollback {
    /// Factor on every new step size.
    pub safety: f64,
    /// Smallest step, in s; `None`: a share of the run.
    pub min_step: Option<f64>,
    /// Largest step, in s; `None`: a share of the run.
    pub max_step: Option<f64>,
    /// Smallest ratio of neighbouring steps.
    pub min_rate: f64,
    /// Largest ratio of neighbouring steps.
    pub max_rate: f64,
    /// What becomes of a step over tolerance at the smallest size; `None`: by estimator.
    pub at_floor: Option<AtFloor>,
}

impl Default for Rollback {
    fn default() -> Self {
        Rollback { safety: 0.9, min_step: None, max_step: None, min_rate: 0.2, max_rate: 2.0, at_floor: None }
    }
}

knobs!(Rollback, ROLLBACK, safety, min_step, max_step, min_rate, max_rate, at_floor);

impl Make<Box<dyn StepController>> for Rollback {
    fn make(&mut self, written: &Written, context: &Context<'_>) -> Result<Box<dyn StepController>, Error> {
        let Rollback { min_step, max_step, min_rate, max_rate, .. } = self;
        if !context.steered_by_jumps {
            min_step.get_or_insert(SHORTEST * context.duration);
        }
        let bounds = Bounds { min_step, max_step, min_rate: *min_rate, max_rate: *max_rate };
        // No step is short enough for a jump that nothing announced.
        let by_estimator = if context.steered_by_jumps { AtFloor::Keep } else { AtFloor::Stop };
        Ok(Box::new(Rejecting {
            first_step: context.step,
            safety: self.safety,
            limits: bounds.settle(written, context)?,
            keep_at_floor: *self.at_floor.get_or_insert(by_estimator) == AtFloor::Keep,
        }))
    }
}
