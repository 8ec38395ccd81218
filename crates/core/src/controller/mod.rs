//! The next step size from an error norm; 1 means "at tolerance" everywhere.

mod ceiling;
mod fixed;
mod limits;
mod pi;
mod rejecting;

pub use ceiling::Ceiling;
pub use fixed::Fixed;
pub use limits::StepBounds;
pub use pi::Pi;
pub use rejecting::Rejecting;

use crate::checkpoint::Checkpointed;
use crate::estimator::Estimate;

/// What becomes of an attempt.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Decision {
    /// It stands; the next step may be this long.
    Accept {
        /// In seconds.
        next_h: f64,
    },
    /// It is rolled back and repeated.
    Reject {
        /// In seconds.
        retry_h: f64,
    },
}

/// Whether an attempt can be made again with a smaller step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// It can.
    Possible,
    /// Subsystems can go back, but there is no smaller step.
    AtFloor,
    /// Subsystems cannot go back.
    Impossible,
}

/// Chooses step sizes. It remembers accepted steps only.
pub trait StepController: Checkpointed + Send {
    /// The first step, in seconds.
    fn first(&self) -> f64;

    /// Whether it ever rejects; then every subsystem must be able to go back.
    fn may_reject(&self) -> bool {
        false
    }

    /// Whether the step that was accepted last is over a discontinuity that rejections located: it is then handled as an event.
    fn has_located(&self) -> bool {
        false
    }

    /// Whether it may reject the next attempt: only then states are saved before it.
    fn wants_save(&self) -> bool {
        self.may_reject()
    }

    /// Whether it rejects also because of norms that still find their scales.
    fn trusts_warm_up(&self) -> bool {
        false
    }

    /// The step size is constant: times are `start + n·h`.
    fn is_fixed(&self) -> bool {
        false
    }

    /// Decides about an attempt of length `h`.
    fn decide(&mut self, estimate: Estimate, h: f64, retry: Retry) -> Decision;

    /// The shortest step it may choose, in seconds.
    fn floor(&self) -> f64;

    /// Forgets the past after an event and gives the size to go on with.
    fn restart(&mut self, h: f64) -> f64 {
        h
    }
}
