//! The controller that takes steps back.

use super::{Decision, Retry, StepBounds, StepController};
use crate::checkpoint::{Checkpoint, Checkpointed};
use crate::estimator::Estimate;

/// `h' = h · clip(safety · e^(-1/p), min_rate, max_rate)`, p the order of the estimate; a step with `e > 1` is taken
/// back and made again with `h'`, one with `e ≤ 1` stands (arnold2013 §4; Hairer, Nørsett, Wanner, II.4).
///
/// A step that cannot be rolled back is kept and counted, and the next one is smaller. It remembers nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct Rejecting {
    /// The first step, in seconds.
    pub first_step: f64,
    /// Below 1, so that the next step is likely to stand.
    pub safety: f64,
    /// Bounds.
    pub limits: StepBounds,
    /// What happens to a step of the smallest size with `e > 1`: kept and counted (as it happens at unannounced
    /// discontinuities), or the end of the run.
    pub keep_at_floor: bool,
}

impl Rejecting {
    /// safety 0.9, factors from 0.2 to 2.
    pub fn new(first_step: f64, min_step: f64, max_step: f64) -> Self {
        Rejecting {
            first_step,
            safety: 0.9,
            limits: StepBounds { min_step, max_step, min_rate: 0.2, max_rate: 2.0 },
            keep_at_floor: true,
        }
    }
}

impl Checkpointed for Rejecting {
    fn save(&self, _tape: &mut Checkpoint) {}
    fn load(&mut self, _tape: &mut Checkpoint) {}
}

impl StepController for Rejecting {
    fn first(&self) -> f64 {
        self.first_step.clamp(self.limits.min_step, self.limits.max_step)
    }

    fn may_reject(&self) -> bool {
        true
    }

    fn decide(&mut self, estimate: Estimate, h: f64, retry: Retry) -> Decision {
        let factor = match estimate.norm {
            e if e.is_nan() => 0.0,
            0.0 => f64::INFINITY,
            e => self.safety * e.powf(-1.0 / estimate.order),
        };
        let next_h = self.limits.apply(factor, h);
        let is_kept = match retry {
            Retry::Possible => false,
            Retry::AtFloor => self.keep_at_floor,
            Retry::Impossible => true,
        };
        if estimate.norm <= 1.0 || is_kept {
            return Decision::Accept { next_h };
        }
        Decision::Reject { retry_h: next_h }
    }

    fn floor(&self) -> f64 {
        self.limits.min_step
    }

    /// A tenth: without a past some estimates see nothing of the first step, and inputs are held with order 0.
    fn restart(&mut self, h: f64) -> f64 {
        (0.1 * h).max(self.limits.min_step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_accepts_up_to_one_and_rejects_beyond() {
        let mut c = Rejecting::new(1e-3, 1e-6, 1e-2);
        let mut check = |norm: f64, h: f64, retry: Retry, expected: Decision| {
            let got = c.decide(Estimate::new(norm, 2.0), h, retry);
            let (a, b) = match (got, expected) {
                (Decision::Accept { next_h: a }, Decision::Accept { next_h: b }) => (a, b),
                (Decision::Reject { retry_h: a }, Decision::Reject { retry_h: b }) => (a, b),
                _ => panic!("norm {norm}: {got:?} instead of {expected:?}"),
            };
            assert!((a - b).abs() <= 1e-12 * b, "norm {norm}: {a} instead of {b}");
        };
        check(1.0, 1e-3, Retry::Possible, Decision::Accept { next_h: 0.9e-3 });
        check(0.25, 1e-3, Retry::Possible, Decision::Accept { next_h: 1.8e-3 });
        check(0.0, 1e-3, Retry::Possible, Decision::Accept { next_h: 2e-3 });
        check(4.0, 1e-3, Retry::Possible, Decision::Reject { retry_h: 0.45e-3 });
        check(1e9, 1e-3, Retry::Possible, Decision::Reject { retry_h: 0.2e-3 });
        check(f64::NAN, 1e-3, Retry::Possible, Decision::Reject { retry_h: 0.2e-3 });
        check(f64::INFINITY, 1e-3, Retry::Possible, Decision::Reject { retry_h: 0.2e-3 });
        check(4.0, 1e-3, Retry::Impossible, Decision::Accept { next_h: 0.45e-3 });
        check(4.0, 1e-6, Retry::AtFloor, Decision::Accept { next_h: 1e-6 });
        assert_eq!((c.restart(1e-2), c.restart(2e-6)), (1e-3, 1e-6), "after an event");
        c.keep_at_floor = false;
        let at_floor = c.decide(Estimate::new(4.0, 2.0), 1e-6, Retry::AtFloor);
        assert_eq!(at_floor, Decision::Reject { retry_h: 1e-6 });
    }
}
