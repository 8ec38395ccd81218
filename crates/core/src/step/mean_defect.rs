//! What inputs lacked in the mean over a step, from all outputs that are known inside it.

use super::record::StepRecord;
use super::schedule::Stage;
use crate::hold::HeldInputs;
use crate::network::Network;
use crate::subsystem::Span;
use std::ops::Range;

/// `(1/h) ∫ (L y − ũ) dτ` over a macro step, for every input.
///
/// Outputs are known at both ends of the step and at the ends of all sub-steps of their subsystem: `∫ y` by the trapezoid rule
/// over these. What was held is known everywhere: `∫ ũ` is exact, corrections included.
#[derive(Clone, Debug)]
pub(crate) struct MeanDefect {
    /// Of every output.
    y: Vec<f64>,
    /// Of every held input.
    u: Vec<f64>,
    /// Of every input.
    pub defect: Vec<f64>,
}

impl MeanDefect {
    pub fn new(network: &Network) -> Self {
        let (nu, ny) = (network.n_inputs, network.n_outputs);
        MeanDefect { y: vec![0.0; ny], u: vec![0.0; nu], defect: vec![0.0; nu] }
    }

    /// Begins a step.
    pub fn begin(&mut self) {
        self.y.fill(0.0);
        self.u.fill(0.0);
    }

    /// Adds one end of a sub-step of length `h` of a stage, at which outputs are `y`.
    pub fn see(&mut self, stage: &Stage, h: f64, y: &[f64]) {
        for outputs in stage.outputs.iter().cloned() {
            add(&mut self.y, outputs, 0.5 * h, y);
        }
    }

    /// Adds what was held on a sub-step of length `h` of a stage.
    pub fn hold(&mut self, stage: &Stage, h: f64, held: &HeldInputs) {
        for inputs in stage.inputs.iter().cloned() {
            add(&mut self.u, inputs.clone(), h, &held.value);
            if !held.slope.is_empty() {
                add(&mut self.u, inputs.clone(), h * h / 2.0, &held.slope);
            }
            if !held.curvature.is_empty() {
                add(&mut self.u, inputs, h * h * h / 6.0, &held.curvature);
            }
        }
    }

    /// Ends a step over `span`: `rates` are the sub-steps of every member, `y_end` is what took the place of `y_step` at its end.
    pub fn finish(&mut self, network: &Network, rates: &[u32], span: Span, y_step: &[f64], y_end: &[f64]) {
        for (member, &rate) in network.members.iter().zip(rates) {
            let last = 0.5 * span.h / f64::from(rate);
            for o in member.outputs.clone() {
                self.y[o] = (self.y[o] + last * (y_end[o] - y_step[o])) / span.h;
            }
        }
        for (i, (defect, u)) in self.defect.iter_mut().zip(&self.u).enumerate() {
            *defect = network.wiring.row(i, &self.y) - u / span.h;
        }
    }
}

fn add(sum: &mut [f64], range: Range<usize>, factor: f64, values: &[f64]) {
    sum[range.clone()].iter_mut().zip(&values[range]).for_each(|(sum, x)| *sum += factor * x);
}

impl StepRecord {
    /// Adds outputs at one end of a sub-step of `stage`, if means are asked for.
    #[inline]
    pub(super) fn see_inside(&mut self, stage: &Stage, h: f64, at_start: bool) {
        let StepRecord { mean_defect: Some(mean), y_prev, y_step, .. } = self else { return };
        mean.see(stage, h, if at_start && stage.part == 0 { y_prev } else { y_step });
    }
}
