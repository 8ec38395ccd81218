//! What policies and observers see of a step.

use crate::energy::{BondFlow, Bonds, PortFlow};
use crate::hold::defects::HoldDefects;
use crate::network::Wiring;
use crate::subsystem::Span;

/// One attempted or accepted macro step. All slices are flat, over the whole network.
#[derive(Clone, Copy)]
pub struct StepView<'a> {
    /// The macro step.
    pub span: Span,
    /// What was held at the end of the step, before correction.
    pub held_end: &'a [f64],
    /// What was held at the end of the step, with correction: what really acted.
    pub corrected_end: &'a [f64],
    /// `L y` at the end of the step (with refreshed outputs where refresh is on).
    pub fresh: &'a [f64],
    /// Outputs at the start of the step.
    pub y_prev: &'a [f64],
    /// Outputs as the step returned them.
    pub y_step: &'a [f64],
    /// Outputs after the refresh; the same as `y_step` without one.
    pub y_fresh: &'a [f64],
    /// What each port did.
    pub ports: &'a [PortFlow],
    /// What each bond did.
    pub flows: &'a [BondFlow],
    /// The bonds themselves.
    pub bonds: &'a Bonds,
    /// The coupling.
    pub wiring: &'a Wiring,
    /// ∂y/∂u of every declared feed-through pair, if a policy asked for it.
    pub feed_through: Option<&'a [f64]>,
    /// How far `fresh` is from what holds of every order foretold, if a policy asked for it.
    pub jumps: Option<&'a HoldDefects>,
    /// Inputs that follow known signals: their jumps are not errors.
    pub external: &'a [bool],
    /// The big step over this and the last step, if one was made: in the second small step of a pair only.
    pub doubled: Option<Doubled<'a>>,
    /// The step follows a start or an event: there is no past.
    pub after_restart: bool,
}

/// One big step beside two small ones over the same time (arnold2013 §4).
#[derive(Clone, Copy)]
pub struct Doubled<'a> {
    /// Where both start, in seconds; the view's own span is the second small step.
    pub start: f64,
    /// Times of the nodes behind the held inputs of the first small step, the newest first.
    pub nodes: &'a [f64],
    /// Times of the nodes behind the held inputs of the second small step, the newest first.
    pub later_nodes: &'a [f64],
    /// The big step through the nodes of big steps, where an estimator asked for it.
    pub classic: Option<Big<'a>>,
    /// The big step through the nodes of the first small step, where an estimator asked for it.
    pub modified: Option<Big<'a>>,
}

/// What a big step came to.
#[derive(Clone, Copy)]
pub struct Big<'a> {
    /// Outputs at its end, refreshed where refresh is on; NaN if it could not be made.
    pub y: &'a [f64],
    /// Times of the nodes behind its held inputs, the newest first.
    pub nodes: &'a [f64],
}
