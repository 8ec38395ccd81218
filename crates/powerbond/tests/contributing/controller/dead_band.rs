//! Steps are doubled or halved, and left alone in between.

use super::{Decision, Retry, StepBounds, StepController};
use crate::checkpoint::{Checkpoint, Checkpointed};
use crate::estimator::Estimate;

/// `h' = 2 h` if `e < low`, `h / 2` if `e > 1`, else `h`, within bounds. A NaN error halves.
///
/// It never rejects and remembers nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct DeadBand {
    /// The first step, in seconds.
    pub first_step: f64,
    /// Errors from here to 1 leave the step as it is.
    pub low: f64,
    /// Bounds.
    pub bounds: StepBounds,
}

impl Checkpointed for DeadBand {
    fn save(&self, _checkpoint: &mut Checkpoint) {}
    fn load(&mut self, _checkpoint: &mut Checkpoint) {}
}

impl StepController for DeadBand {
    fn first(&self) -> f64 {
        self.first_step.clamp(self.bounds.min_step, self.bounds.max_step)
    }

    fn decide(&mut self, estimate: Estimate, h: f64, _retry: Retry) -> Decision {
        let factor = match estimate.norm {
            e if e < self.low => 2.0,
            e if e <= 1.0 => 1.0,
            _ => 0.5,
        };
        Decision::Accept { next_h: self.bounds.apply(factor, h) }
    }

    fn floor(&self) -> f64 {
        self.bounds.min_step
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_errors_double_and_large_ones_halve() {
        let bounds = StepBounds { min_step: 1e-4, max_step: 1e-2, min_rate: 0.2, max_rate: 2.0 };
        let mut controller = DeadBand { first_step: 1e-3, low: 0.1, bounds };
        let mut check = |norm: f64, h: f64, next_h: f64| {
            let decision = controller.decide(Estimate::new(norm, 2.0), h, Retry::Impossible);
            assert_eq!(decision, Decision::Accept { next_h }, "norm {norm}, h {h}");
        };
        check(0.0, 1e-3, 2e-3);
        check(0.1, 1e-3, 1e-3);
        check(1.0, 1e-3, 1e-3);
        check(1.1, 1e-3, 5e-4);
        check(f64::NAN, 1e-3, 5e-4);
        check(0.0, 1e-2, 1e-2);
        check(9.0, 1e-4, 1e-4);
    }
}
