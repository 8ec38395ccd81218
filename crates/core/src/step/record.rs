//! What a step was: the one place that owns its values, and the view of it that policies and observers get.

use super::mean_defect::MeanDefect;
use crate::correction::CorrectionState;
use crate::energy::{BondFlow, Bonds, PortFlow};
use crate::estimator::{Estimate, Tells};
use crate::feed_through::identify::Identifier;
use crate::hold::defects::HoldDefects;
use crate::network::{Network, Wiring};
use crate::subsystem::{Span, StepEvent};

/// One attempted or accepted macro step. All lists are flat, over the whole network, and allocated once.
#[derive(Clone, Debug)]
pub struct StepRecord {
    /// The macro step.
    pub(crate) span: Span,
    /// The step follows a start or an event: there is no past.
    pub(crate) after_restart: bool,
    /// What was held at the end of the step, before correction.
    pub(crate) held_end: Vec<f64>,
    /// The same with correction; empty if nothing corrects.
    pub(crate) corrected_end: Vec<f64>,
    /// `L y` at the end of the step, external inputs as they come from the left.
    pub(crate) fresh: Vec<f64>,
    /// Outputs at the start of the step.
    pub(crate) y_prev: Vec<f64>,
    /// Outputs as the step returned them.
    pub(crate) y_step: Vec<f64>,
    /// Outputs after re-reading; empty if nothing is read again.
    pub(crate) y_fresh: Vec<f64>,
    /// What each port did.
    pub(crate) ports: Vec<PortFlow>,
    /// What each bond did.
    pub(crate) flows: Vec<BondFlow>,
    /// ∂y/∂u of every feed-through pair, as far as it is read.
    pub(crate) gains: Vec<f64>,
    /// The gains are those of this step.
    pub(crate) gains_known: bool,
    /// How far `fresh` is from what holds of every order predicted, if a policy asks for it.
    pub(crate) defects: Option<HoldDefects>,
    /// What inputs lacked in the mean over the step, if a policy asks for it.
    pub(crate) mean_defect: Option<MeanDefect>,
    /// The order with which each input was held; empty if no policy asks for it.
    pub(crate) held_order: Vec<u8>,
    /// The orders may be others than in the step before.
    pub(crate) order_changed: bool,
    /// They are what they stay from now on, after this step and before it.
    pub(crate) order_settled: bool,
    pub(crate) order_was_settled: bool,
    /// Variables that are only recorded.
    pub(crate) probes: Vec<f64>,
    /// One estimate per estimator.
    pub(crate) estimates: Vec<Estimate>,
    /// The error of every bond, and of every output, where that is recorded and known.
    pub(crate) bond_errors: Vec<f64>,
    pub(crate) output_errors: Vec<f64>,
    /// What a correction did to bonds, where that is recorded.
    pub(crate) corrections: Vec<(usize, CorrectionState)>,
    /// The next discontinuity that a member announced, in s; infinite if none did.
    pub(crate) announced: f64,
    /// Members that met a discontinuity, and whether it has still to be handled.
    pub(crate) eventful: Vec<(usize, StepEvent)>,
}

/// What else a record has to hold.
pub(crate) struct BufferNeeds {
    pub corrections: bool,
    pub rereads: bool,
    pub defects: bool,
    pub mean_defects: bool,
    pub means: bool,
    pub estimators: usize,
    /// Errors that are recorded one by one.
    pub told: Tells,
    /// What a correction does is recorded.
    pub details: bool,
}

impl StepRecord {
    /// Buffers for steps of `network`.
    pub(crate) fn new(network: &Network, needs: &BufferNeeds) -> Self {
        let (nu, ny) = (network.n_inputs, network.n_outputs);
        let sized = |n: usize, wanted: bool| if wanted { vec![0.0; n] } else { Vec::new() };
        StepRecord {
            span: Span { start: 0.0, end: 0.0, h: 0.0 },
            after_restart: true,
            held_end: vec![0.0; nu],
            corrected_end: sized(nu, needs.corrections),
            fresh: vec![0.0; nu],
            y_prev: vec![0.0; ny],
            y_step: vec![0.0; ny],
            y_fresh: sized(ny, needs.rereads),
            ports: vec![PortFlow::default(); network.bonds.ports.len()],
            flows: vec![BondFlow::default(); network.bonds.bonds.len()],
            gains: vec![0.0; network.feed_through.len()],
            gains_known: false,
            defects: needs.defects.then(|| HoldDefects::new(nu)),
            mean_defect: needs.mean_defects.then(|| MeanDefect::new(network)),
            held_order: vec![0; if needs.corrections { nu } else { 0 }],
            order_changed: false,
            order_settled: false,
            order_was_settled: false,
            probes: vec![0.0; network.n_probes],
            estimates: vec![Estimate::NONE; needs.estimators],
            bond_errors: sized(network.bonds.bonds.len(), needs.told.bonds),
            output_errors: sized(ny, needs.told.outputs),
            corrections: Vec::with_capacity(if needs.details { network.bonds.bonds.len() } else { 0 }),
            announced: f64::INFINITY,
            eventful: Vec::with_capacity(network.members.len()),
        }
    }

    /// What really acted at the end of the step.
    #[inline]
    pub(crate) fn corrected_end(&self) -> &[f64] {
        if self.corrected_end.is_empty() { &self.held_end } else { &self.corrected_end }
    }

    /// Outputs at the end of the step: read again where that is done.
    #[inline]
    pub(crate) fn y_end(&self) -> &[f64] {
        if self.y_fresh.is_empty() { &self.y_step } else { &self.y_fresh }
    }

    /// Makes what this step ends with what the next one starts with.
    pub(crate) fn carry_on(&mut self) {
        let end = if self.y_fresh.is_empty() { &mut self.y_step } else { &mut self.y_fresh };
        std::mem::swap(&mut self.y_prev, end);
        self.order_was_settled = self.order_settled;
    }

    /// Takes over from `before` what the next step starts with.
    pub(crate) fn continue_from(&mut self, before: &StepRecord) {
        self.y_prev.copy_from_slice(before.y_end());
        self.gains.copy_from_slice(&before.gains);
        self.order_was_settled = before.order_settled;
        self.after_restart = false;
    }

    /// The end of what was held of input `i` is called right: nothing that follows it sees a defect.
    pub(crate) fn excuse(&mut self, i: usize) {
        if let Some(defects) = &mut self.defects {
            defects.by_order.iter_mut().for_each(|list| list[i] = 0.0);
        }
        self.settle(i);
    }

    /// Likewise for an input that jumps at the end of the step and was held as it was, with order 0. Higher orders keep their defects:
    /// they would extend the jump.
    pub(crate) fn excuse_jump(&mut self, i: usize) {
        if let Some(defects) = &mut self.defects {
            if defects.order[i] > 0 {
                return;
            }
            defects.by_order[0][i] = 0.0;
        }
        self.settle(i);
    }

    fn settle(&mut self, i: usize) {
        self.held_end[i] = self.fresh[i];
        if let Some(corrected) = self.corrected_end.get_mut(i) {
            *corrected = self.fresh[i];
        }
    }

    /// What policies and observers see.
    #[inline(always)]
    pub(crate) fn view<'a>(&'a self, network: &'a Network, doubled: Option<Doubled<'a>>) -> StepView<'a> {
        StepView {
            span: self.span,
            held_end: &self.held_end,
            corrected_end: self.corrected_end(),
            fresh: &self.fresh,
            y_prev: &self.y_prev,
            y_step: &self.y_step,
            y_fresh: self.y_end(),
            ports: &self.ports,
            flows: &self.flows,
            bonds: &network.bonds,
            wiring: &network.wiring,
            feed_through: self.gains_known.then_some(&self.gains[..]),
            defects: self.defects.as_ref(),
            mean_defect: self.mean_defect.as_ref().map(|mean| &mean.defect[..]),
            held_order: self.order_changed.then_some(&self.held_order[..]),
            external: &network.is_external,
            doubled,
            identified: None,
            after_restart: self.after_restart,
        }
    }
}

/// What policies and observers see of a [`StepRecord`]. All slices are flat, over the whole network.
#[derive(Clone, Copy)]
pub struct StepView<'a> {
    /// The macro step.
    pub span: Span,
    /// What was held at the end of the step, before correction.
    pub held_end: &'a [f64],
    /// What was held at the end of the step, with correction: what really acted.
    pub corrected_end: &'a [f64],
    /// `L y` at the end of the step, with outputs that were read again where that is done. External inputs are there as they come
    /// from the left.
    pub fresh: &'a [f64],
    /// Outputs at the start of the step.
    pub y_prev: &'a [f64],
    /// Outputs as the step returned them.
    pub y_step: &'a [f64],
    /// Outputs after reading again; the same as `y_step` without that.
    pub y_fresh: &'a [f64],
    /// What each port did.
    pub ports: &'a [PortFlow],
    /// What each bond did.
    pub flows: &'a [BondFlow],
    /// The bonds themselves.
    pub bonds: &'a Bonds,
    /// The coupling.
    pub wiring: &'a Wiring,
    /// ∂y/∂u of every feed-through pair, if a policy asked for it; 0 where it is not known.
    pub feed_through: Option<&'a [f64]>,
    /// How far `fresh` is from what holds of every order predicted, if a policy asked for it.
    pub defects: Option<&'a HoldDefects>,
    /// `(1/h) ∫ (L y − ũ) dτ` over the step, from all outputs that are known inside it, with corrected inputs; if a policy asked for it.
    pub mean_defect: Option<&'a [f64]>,
    /// The order with which each input was really held, if a policy asked for it and it changed since the last step.
    pub held_order: Option<&'a [u8]>,
    /// Inputs that follow known signals: their jumps are not errors.
    pub external: &'a [bool],
    /// The big step over this and the last step, if one was made: in the second small step of a pair only.
    pub doubled: Option<Doubled<'a>>,
    /// What was identified of feed-through up to the start of this step, where a step is learned from.
    pub identified: Option<&'a Identifier>,
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
    /// How many of the nodes count for each input: fewer than all after an event that reached it.
    pub counts: &'a [u8],
    /// All of them count for every input.
    pub is_whole: bool,
    /// The big step through the nodes of big steps, where an estimator asked for it.
    pub classic: Option<Big<'a>>,
    /// The big step through the nodes of the first small step, where an estimator asked for it.
    pub modified: Option<Big<'a>>,
}

impl Doubled<'_> {
    /// How many nodes there are behind both small steps.
    pub fn known(&self) -> usize {
        self.nodes.len().min(self.later_nodes.len())
    }
}

/// What a big step came to.
#[derive(Clone, Copy)]
pub struct Big<'a> {
    /// Outputs at its end, refreshed where refresh is on; NaN if it could not be made.
    pub y: &'a [f64],
    /// Times of the nodes behind its held inputs, the newest first.
    pub nodes: &'a [f64],
}
