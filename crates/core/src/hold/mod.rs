//! How inputs are held over a step: the past at communication points → a polynomial on the span.

pub mod defects;
mod dithered;
pub(crate) mod output_derivatives;
mod polynomial;
mod variable;

pub use dithered::Dithered;
pub use polynomial::Polynomial;
pub use polynomial::followed;
pub(crate) use polynomial::lagrange;
pub use variable::{InputFeed, VariableOrder};

use crate::checkpoint::Checkpointed;
use crate::feed_through::Reached;
use crate::step::StepView;
use crate::subsystem::Span;
use crate::time::history::History;
use std::ops::Range;

/// Held inputs of the whole network on one span; see [`crate::subsystem::Inputs`].
#[derive(Clone, Debug, Default)]
pub struct HeldInputs {
    /// Values at the start of the span.
    pub value: Vec<f64>,
    /// First derivatives; empty if every hold order is 0.
    pub slope: Vec<f64>,
    /// Second derivatives; empty if no hold order is above 1.
    pub curvature: Vec<f64>,
    /// How far the hold's end value is above that of what the subsystem is given; empty if nowhere: a subsystem that
    /// takes values only may be given the mean of the hold.
    pub lift: Vec<f64>,
}

impl HeldInputs {
    /// Buffers for `n` inputs held with order up to `order`.
    pub fn new(n: usize, order: u8) -> Self {
        let sized = |wanted: bool| if wanted { vec![0.0; n] } else { Vec::new() };
        HeldInputs {
            value: vec![0.0; n],
            slope: sized(order > 0),
            curvature: sized(order > 1),
            lift: Vec::new(),
        }
    }

    /// The same polynomials of `inputs`, `tau` seconds later: `value + slope·τ + curvature·τ²/2`, `slope + curvature·τ`.
    pub fn shift(&mut self, inputs: Range<usize>, tau: f64) {
        let HeldInputs { value, slope, curvature, .. } = self;
        for i in inputs {
            let c = curvature.get(i).copied().unwrap_or(0.0);
            if let Some(slope) = slope.get_mut(i) {
                value[i] += tau * (*slope + 0.5 * tau * c);
                *slope += tau * c;
            }
        }
    }
}

/// Turns nodes of the past into what is held on a span. Called on whole ranges of inputs.
pub trait Hold: Checkpointed + Send {
    /// The highest order that it may use.
    fn max_order(&self) -> u8;

    /// The order it is set to for every input.
    fn orders(&self) -> &[u8];

    /// The order with which input `i` is really held, from these nodes: lower while the past is short or where its subsystem follows
    /// no derivatives.
    fn order_held(&self, nodes: &History, i: usize) -> u8;

    /// Whether orders change as the run goes on.
    fn orders_vary(&self) -> bool {
        false
    }

    /// Whether `commit` needs the defects of all orders.
    fn needs_defects(&self) -> bool {
        false
    }

    /// Whether it gives subsystems means: then [`HeldInputs::lift`] is filled, too.
    fn gives_means(&self) -> bool {
        false
    }

    /// How many steps each input was held with order 0, 1 and 2, if the order varies.
    fn order_counts(&self) -> &[[u64; 3]] {
        &[]
    }

    /// Writes what `inputs` are held at on `span`, from the nodes of the past.
    fn eval(&self, nodes: &History, span: Span, inputs: Range<usize>, out: &mut HeldInputs);

    /// Learns from an accepted step.
    fn commit(&mut self, _step: &StepView<'_>) {}

    /// Whether `commit` does anything.
    fn learns(&self) -> bool {
        true
    }

    /// Forgets the past of the inputs that an event reaches.
    fn restart(&mut self, _reached: &Reached<'_>) {}
}
