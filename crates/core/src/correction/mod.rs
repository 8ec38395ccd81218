//! Corrections of held inputs: what the last step got wrong is given back in the next.

mod nepce;

pub use nepce::{FeedThroughGain, Nepce, StepRatio};

use crate::subsystem::Span;
use crate::tape::Persist;
use crate::view::StepView;
use std::ops::Range;

/// Adds `δu` to held inputs. `apply` only looks; `commit` remembers accepted steps.
pub trait InputCorrection: Persist {
    /// Whether `commit` needs ∂y/∂u of the subsystems.
    fn needs_feed_through(&self) -> bool {
        false
    }

    /// Writes the correction of `inputs` for the stage `stage_span` of the macro step into `delta`.
    fn apply(&self, macro_span: Span, stage_span: Span, inputs: Range<usize>, delta: &mut [f64]);

    /// Learns from an accepted step.
    fn commit(&mut self, step: &StepView<'_>);

    /// Forgets the past after an event.
    fn restart(&mut self);
}
