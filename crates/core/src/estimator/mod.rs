//! How wrong a step was, as one number; 1 means "at tolerance", NaN counts as infinite.

mod energy;
mod predictor;

pub use energy::{Energy, Residual};
pub use predictor::{OutputTolerance, Predictor};

use crate::tape::Persist;
use crate::view::StepView;

/// An error norm and how it depends on the step size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// 1 = at tolerance.
    pub norm: f64,
    /// The norm grows like `h^order`; controllers scale their gains by it.
    pub order: f64,
}

/// Estimates the error of a step. `estimate` only looks; `commit` remembers accepted steps.
pub trait ErrorEstimator: Persist {
    /// The norm of an attempted step.
    fn estimate(&self, step: &StepView<'_>) -> Estimate;
    /// Learns from an accepted step.
    fn commit(&mut self, step: &StepView<'_>);
    /// Forgets the past after an event.
    fn restart(&mut self);
}
