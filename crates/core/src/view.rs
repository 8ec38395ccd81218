//! What policies and observers see of a step.

use crate::bond::{BondFlow, Bonds, PortFlow};
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
    /// Inputs that follow known signals: their jumps are not errors.
    pub external: &'a [bool],
    /// Outputs of one big step over the same span, if the stepper made one.
    pub y_big: Option<&'a [f64]>,
    /// The step follows a start or an event: there is no past.
    pub after_restart: bool,
}
