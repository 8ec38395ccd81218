//! How wrong a step was, as one number; 1 means "at tolerance", NaN counts as infinite.

mod energy;
mod jump;
mod libcosim;
mod noise;
mod predictor;
mod richardson;
mod steering;

pub use energy::{Energy, Residual};
pub use jump::{Crossed, Jump};
pub use libcosim::Libcosim;
pub use predictor::{OutputTolerance, Predictor};
pub use richardson::{Constants, Richardson, Tolerance};
pub use steering::Steering;

use crate::checkpoint::Checkpointed;
use crate::feed_through::{Reached, Structure};
use crate::network::Network;
use crate::step::StepView;

/// An error norm and how it depends on the step size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// 1 = at tolerance.
    pub norm: f64,
    /// The norm grows like `h^order`; controllers scale their gains by it.
    pub order: f64,
    /// The input (flat) that limits the step, if the estimator tells.
    pub limited_by: Option<usize>,
}

impl Estimate {
    /// No error at all.
    pub const NONE: Estimate = Estimate { norm: 0.0, order: 1.0, limited_by: None };

    /// A norm that says nothing about which input limits the step.
    pub fn new(norm: f64, order: f64) -> Self {
        Estimate { norm, order, limited_by: None }
    }
}

/// What an estimator found out beside its norms, for people.
#[derive(Clone, Copy, Debug)]
pub struct Diagnostics<'a> {
    /// How often each input limited the step; empty if that is not counted.
    pub limited: &'a [u64],
    /// Noise of every input in its unit; empty if it is not looked for. Defects below a multiple of it say nothing.
    pub noise: &'a [f64],
    /// The factor on its bound from steering; 1 without.
    pub steering: f64,
    /// How many steps crossed a discontinuity that was not announced, and the worst of them.
    pub crossed: Option<(u64, Crossed)>,
}

impl Default for Diagnostics<'_> {
    fn default() -> Self {
        Diagnostics { limited: &[], noise: &[], steering: 1.0, crossed: None }
    }
}

/// A second solution that an estimator needs: one step of twice the size, from a saved state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BigStep {
    /// Inputs held through the ends of the past big steps: every other node (arnold2013 eq. 21–24).
    Classic,
    /// Inputs held through the same nodes as in the first small step (arnold2013 eq. 26).
    Modified,
}

/// Which errors an estimator knows one by one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tells {
    /// Of every bond: [`ErrorEstimator::bond_errors`].
    pub bonds: bool,
    /// Of every output: [`ErrorEstimator::output_errors`].
    pub outputs: bool,
}

/// What an error is blamed on, flat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blame {
    /// An output.
    Output(usize),
    /// A bond.
    Bond(usize),
    /// An input.
    Input(usize),
}

/// Estimates the error of a step. `estimate` only looks; `commit` remembers accepted steps.
pub trait ErrorEstimator: Checkpointed + Send {
    /// The big step that it compares with, if any. Then steps are made in pairs, every subsystem must be able to go
    /// back, and the estimate of a pair is asked for after its second step.
    fn big_step(&self) -> Option<BigStep> {
        None
    }

    /// Looks at the structure of the network once, at initialization; members in `refreshed` re-read their outputs.
    fn prepare(&mut self, _network: &Network, _structure: &Structure, _refreshed: &[usize]) {}

    /// Whether it needs the defects of all hold orders.
    fn needs_defects(&self) -> bool {
        false
    }

    /// Whether it still finds its scales: no step is rejected because of its norms.
    fn is_warming_up(&self) -> bool {
        false
    }

    /// Whether a step with this estimate of it is over a discontinuity that nothing announced.
    fn crosses_jump(&self, _own: &Estimate) -> bool {
        false
    }

    /// Whether it has seen too little of the run to have scales at all: norms steer the steps, but say nothing about the error.
    fn has_no_scale(&self) -> bool {
        false
    }

    /// What it found out beside its norms.
    fn diagnostics(&self) -> Diagnostics<'_> {
        Diagnostics::default()
    }

    /// The norm of an attempted step.
    fn estimate(&self, step: &StepView<'_>) -> Estimate;

    /// Which errors it knows one by one.
    fn tells(&self) -> Tells {
        Tells::default()
    }

    /// The error of every bond of an attempted step with respect to its tolerance, into `errors`, if it tells.
    fn bond_errors(&self, _step: &StepView<'_>, _errors: &mut [f64]) {}

    /// The estimated error of every output of an attempted step in its unit, into `errors`, NaN without one, if it tells.
    fn output_errors(&self, _step: &StepView<'_>, _errors: &mut [f64]) {}

    /// What contributes most to the norm.
    fn blame(&self, _step: &StepView<'_>) -> Option<Blame> {
        None
    }

    /// Whether it has better outputs to offer than those of the step: see `improve`.
    fn improves(&self) -> bool {
        false
    }

    /// Replaces outputs in `y` by better ones, which are passed on and recorded instead. Asked after a step is accepted.
    fn improve(&self, _step: &StepView<'_>, _y: &mut [f64]) {}

    /// Learns from an accepted step, of which `own` was its estimate.
    fn commit(&mut self, step: &StepView<'_>, own: &Estimate);

    /// Forgets the past of what an event reaches.
    fn restart(&mut self, reached: &Reached<'_>);
}
