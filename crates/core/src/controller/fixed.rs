//! A constant step.

use super::{Decision, Retry, StepController};
use crate::checkpoint::{Checkpoint, Checkpointed};
use crate::estimator::Estimate;

/// `h' = h`, whatever the error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fixed {
    /// In seconds.
    pub step: f64,
}

impl Checkpointed for Fixed {
    fn save(&self, _tape: &mut Checkpoint) {}
    fn load(&mut self, _tape: &mut Checkpoint) {}
}

impl StepController for Fixed {
    fn first(&self) -> f64 {
        self.step
    }

    fn is_fixed(&self) -> bool {
        true
    }

    fn decide(&mut self, _estimate: Estimate, _h: f64, _retry: Retry) -> Decision {
        Decision::Accept { next_h: self.step }
    }

    fn floor(&self) -> f64 {
        0.0
    }
}
