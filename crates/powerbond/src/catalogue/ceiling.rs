//! What bounds the step size from above.

use super::estimators::FIRST_STEP;
use super::{Context, Word};
use powerbond_core::controller::Ceiling;

/// What bounds the step size from above, beside `max_step`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StepCeiling {
    /// Nothing.
    #[default]
    Off,
    /// The motion of inputs: about 21 steps in an oscillation.
    Motion,
}

impl Word for StepCeiling {
    const WORDS: &'static [(&'static str, Self)] =
        &[("none", StepCeiling::Off), ("motion", StepCeiling::Motion)];
}

/// The longest step while nothing has moved, over the length of the run, and where what comes after rest can be rejected.
const AT_REST: f64 = 1e-3;
const AT_REST_WITH_ROLLBACK: f64 = 0.02;

impl StepCeiling {
    /// For a system whose controller `may_reject` steps.
    pub fn make(self, context: &Context<'_>, may_reject: bool) -> Option<Ceiling> {
        let share = if may_reject && context.all_restore() { AT_REST_WITH_ROLLBACK } else { AT_REST };
        (self == StepCeiling::Motion)
            .then(|| Ceiling::new(context.judged(), share * context.duration, FIRST_STEP * context.duration))
    }
}
