//! The predictor/corrector norm: what the step returned against what the past predicts.

use super::{Blame, ErrorEstimator, Estimate};
use crate::checkpoint::{Checkpoint, Checkpointed};
use crate::feed_through::Reached;
use crate::step::StepView;

/// Tolerance of one output.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OutputTolerance {
    /// TOL, in the unit of the output.
    pub absolute: f64,
    /// ρ, in 1/unit of the output: weight of the output's size relative to TOL.
    pub rho: f64,
}

/// `ε = max |y - ỹ| / (TOL (1 + ρ max(|y|, |ỹ|)))`, ỹ the polynomial of order r through past outputs at their true times
/// (Busch; sadjina2017 eq. 16–17, r = m + 1).
#[derive(Clone, Debug, PartialEq)]
pub struct Predictor {
    /// One per output.
    pub tolerance: Vec<OutputTolerance>,
    /// m, the hold order.
    pub hold_order: u8,
    /// r, from 0 to 3; m + 1 at first, or 3.
    pub order: u8,
    times: [f64; MAX_NODES],
    values: [Vec<f64>; MAX_NODES],
    len: usize,
}

/// A predictor of order 3 needs four nodes.
const MAX_NODES: usize = 4;

impl Predictor {
    /// One tolerance per output.
    pub fn new(tolerance: Vec<OutputTolerance>, hold_order: u8) -> Self {
        let n = tolerance.len();
        let values = std::array::from_fn(|_| vec![0.0; n]);
        let order = (hold_order + 1).min(MAX_NODES as u8 - 1);
        Predictor { tolerance, hold_order, order, times: [0.0; MAX_NODES], values, len: 0 }
    }

    fn push(&mut self, t: f64, y: &[f64]) {
        self.times.rotate_right(1);
        self.values.rotate_right(1);
        self.times[0] = t;
        self.values[0].copy_from_slice(y);
        self.len = (self.len + 1).min(MAX_NODES);
    }
}

impl Predictor {
    /// The error of every output relative to its tolerance; nothing in the first step.
    fn each(&self, step: &StepView<'_>, mut take: impl FnMut(usize, f64)) {
        // The first step has no past; a predictor of order 1 or more needs two nodes.
        let nodes = self.len.min(usize::from(self.order) + 1);
        if nodes < usize::from(self.order.min(1)) + 1 {
            return;
        }
        let t = step.span.end;
        let mut weights = [0.0; MAX_NODES];
        for (k, weight) in weights[..nodes].iter_mut().enumerate() {
            let others = (0..nodes).filter(|&j| j != k);
            *weight = others.map(|j| (t - self.times[j]) / (self.times[k] - self.times[j])).product();
        }
        for (i, (tol, &y)) in self.tolerance.iter().zip(step.y_step).enumerate() {
            let predicted: f64 = (0..nodes).map(|k| weights[k] * self.values[k][i]).sum();
            let size = y.abs().max(predicted.abs());
            take(i, (y - predicted).abs() / (tol.absolute * (1.0 + tol.rho * size)));
        }
    }
}

impl Checkpointed for Predictor {
    fn save(&self, tape: &mut Checkpoint) {
        tape.push(self.len as f64);
        tape.extend(&self.times);
        self.values.iter().for_each(|v| tape.extend(v));
    }

    fn load(&mut self, tape: &mut Checkpoint) {
        self.len = tape.pull() as usize;
        tape.fill(&mut self.times);
        self.values.iter_mut().for_each(|v| tape.fill(v));
    }
}

impl ErrorEstimator for Predictor {
    fn estimate(&self, step: &StepView<'_>) -> Estimate {
        let mut norm = 0.0f64;
        self.each(step, |_, e| norm = if e.is_nan() { f64::INFINITY } else { norm.max(e) });
        Estimate::new(norm, f64::from(self.hold_order.min(self.order)) + 1.0)
    }

    fn blame(&self, step: &StepView<'_>) -> Option<Blame> {
        let mut worst = None;
        self.each(step, |i, e| {
            if worst.is_none_or(|(_, w)| e.is_nan() || e > w) {
                worst = Some((i, e));
            }
        });
        worst.map(|(i, _)| Blame::Output(i))
    }

    fn commit(&mut self, step: &StepView<'_>, _own: &Estimate) {
        if self.len == 0 {
            self.push(step.span.start, step.y_prev);
        }
        self.push(step.span.end, step.y_fresh);
    }

    fn restart(&mut self, _reached: &Reached<'_>) {
        self.len = 0;
    }
}
