//! Who watches a run: recorders, progress, callbacks.

use crate::correction::CorrectionState;
use crate::estimator::Estimate;
use crate::step::StepView;

/// Whether to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Go on.
    Continue,
    /// End the run after this step; it counts as stopped, not as failed.
    Stop,
}

/// The state at the start of the run.
pub struct StartView<'a> {
    /// In seconds.
    pub t: f64,
    /// Where the run will end, in seconds.
    pub stop: f64,
    /// All inputs.
    pub inputs: &'a [f64],
    /// All outputs.
    pub outputs: &'a [f64],
    /// All probes.
    pub probes: &'a [f64],
}

/// What the engine decided about an accepted step.
#[derive(Clone, Copy)]
pub struct StepReport<'a> {
    /// Accepted steps so far, this one included.
    pub number: u64,
    /// One estimate per estimator.
    pub estimates: &'a [Estimate],
    /// The step that the controller wants next, in seconds.
    pub next_h: f64,
    /// All probes.
    pub probes: &'a [f64],
    /// How often this step was rejected before.
    pub rejections: u32,
    /// It was kept although its error norm exceeds 1.
    pub over_tolerance: bool,
    /// The input that limited it, if the driving estimator tells.
    pub limited_by: Option<usize>,
    /// The largest error norm of the attempts that were rejected before it; NaN if there were none.
    pub rejected_norm: f64,
    /// What is recorded on request.
    pub details: Details<'a>,
    /// The motion of inputs, not the error norm, bounds the step that follows.
    pub at_ceiling: bool,
    /// Evaluations of members of algebraic loops since the start.
    pub loop_evaluations: u64,
    /// It ends at a discontinuity: [`Observer::event`] follows, with the limits from the right at the same time.
    pub event_follows: bool,
}

/// What [`Settings::details`](crate::run::Settings::details) asks for.
#[derive(Clone, Copy, Default)]
pub struct Details<'a> {
    /// The error of every bond with respect to its tolerance, where an estimator tells; else empty.
    pub bond_errors: &'a [f64],
    /// The estimated error of every output in its unit, where an estimator tells, NaN in steps without one; else empty.
    pub output_errors: &'a [f64],
    /// What a correction of bonds is about to do, by bond.
    pub corrections: &'a [(usize, CorrectionState)],
}

/// The limits from the right at a discontinuity; those from the left were the end of the step that was reported last, with
/// [`StepReport::event_follows`]. What [`Engine::disturb`](crate::run::Engine::disturb) changes comes without that word, and maybe
/// before the first step or several times at one instant: then the limits from the left are what was shown last.
#[derive(Clone, Copy)]
pub struct EventView<'a> {
    /// When, in seconds: the end of that step, or the start of the run.
    pub t: f64,
    /// All inputs.
    pub inputs: &'a [f64],
    /// All outputs.
    pub outputs: &'a [f64],
    /// All probes.
    pub probes: &'a [f64],
}

/// Sees accepted steps only.
pub trait Observer {
    /// The initial state, before the first step.
    fn started(&mut self, _start: &StartView<'_>) -> Flow {
        Flow::Continue
    }

    /// An accepted step.
    fn accepted(&mut self, step: &StepView<'_>, report: &StepReport<'_>) -> Flow;

    /// A discontinuity at the end of the last step: what holds from now on at the same time.
    fn event(&mut self, _event: &EventView<'_>) -> Flow {
        Flow::Continue
    }

    /// Whether the run shall stop at once: asked by a controller that waits between two steps.
    fn interrupted(&self) -> bool {
        false
    }
}

/// Watches nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoObserver;

impl Observer for NoObserver {
    fn accepted(&mut self, _step: &StepView<'_>, _report: &StepReport<'_>) -> Flow {
        Flow::Continue
    }
}

/// Two observers at once; either may stop the run.
pub struct Both<'a>(pub &'a mut dyn Observer, pub &'a mut dyn Observer);

impl Both<'_> {
    fn join(a: Flow, b: Flow) -> Flow {
        if a == Flow::Stop || b == Flow::Stop { Flow::Stop } else { Flow::Continue }
    }
}

impl Observer for Both<'_> {
    fn started(&mut self, start: &StartView<'_>) -> Flow {
        Both::join(self.0.started(start), self.1.started(start))
    }

    fn accepted(&mut self, step: &StepView<'_>, report: &StepReport<'_>) -> Flow {
        Both::join(self.0.accepted(step, report), self.1.accepted(step, report))
    }

    fn event(&mut self, event: &EventView<'_>) -> Flow {
        Both::join(self.0.event(event), self.1.event(event))
    }

    fn interrupted(&self) -> bool {
        self.0.interrupted() || self.1.interrupted()
    }
}
