//! The energy error norm: residual energy of every bond against a scale.

use super::{Blame, ErrorEstimator, Estimate, Tells};
use crate::checkpoint::{Checkpoint, Checkpointed};
use crate::energy::BondFlow;
use crate::feed_through::Reached;
use crate::step::StepView;
use crate::subsystem::Span;

/// Which residual counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Residual {
    /// With the inputs before correction, at the end of the step: a correction is not fought by the controller.
    #[default]
    Held,
    /// With the inputs that really acted, at the end of the step: as in the papers' tables.
    Corrected,
    /// With the inputs that really acted, summed over the sub-steps of every rate.
    Metered,
}

/// `ε = sqrt(mean_k (δE_k / (r_k (E0_k + |E_k|)))²)` with `E_k = P_12 h` (sadjina2017 eq. 14).
#[derive(Clone, Debug, PartialEq)]
pub struct Energy {
    /// r of each bond.
    pub tolerance: Vec<f64>,
    /// E0 of each bond in J; `None`: what the bond would exchange in the whole run if it went on as so far.
    pub energy_scale: Vec<Option<f64>>,
    /// Which residual counts.
    pub residual: Residual,
    /// m + 2 with m the hold order.
    pub order: f64,
    /// Start and length of the run, in s.
    start: f64,
    length: f64,
    exchanged: Vec<f64>,
}

impl Energy {
    /// One tolerance and scale per bond.
    pub fn new(
        tolerance: Vec<f64>,
        energy_scale: Vec<Option<f64>>,
        residual: Residual,
        hold_order: u8,
    ) -> Self {
        let exchanged = vec![0.0; tolerance.len()];
        Energy {
            tolerance,
            energy_scale,
            residual,
            order: f64::from(hold_order) + 2.0,
            start: 0.0,
            length: f64::NAN,
            exchanged,
        }
    }

    /// Tells the start and the end of the run, for bonds without a scale of their own.
    pub fn over(mut self, start: f64, stop: f64) -> Self {
        (self.start, self.length) = (start, stop - start);
        self
    }
}

impl Energy {
    /// What the exchange up to the end of `span` is to be multiplied by to last for the whole run.
    fn projection(&self, span: Span) -> f64 {
        let share = ((span.end - self.start) / self.length).min(1.0);
        if share > 0.0 { 1.0 / share } else { 1.0 }
    }

    /// `δE_k / (r_k (E0_k + |E_k|))`.
    #[inline]
    fn error(&self, k: usize, flow: &BondFlow, h: f64, projection: f64) -> f64 {
        let residual = match self.residual {
            Residual::Held => flow.held_residual_power * h,
            Residual::Corrected => flow.residual_power * h,
            Residual::Metered => flow.residual_energy,
        };
        if residual == 0.0 {
            return 0.0;
        }
        let projected = || (self.exchanged[k] + flow.exchanged_power * h) * projection;
        let scale = self.energy_scale[k].unwrap_or_else(projected) + (flow.transmitted_power * h).abs();
        residual / (self.tolerance[k] * scale)
    }
}

impl Checkpointed for Energy {
    fn save(&self, tape: &mut Checkpoint) {
        tape.extend(&self.exchanged);
    }

    fn load(&mut self, tape: &mut Checkpoint) {
        tape.fill(&mut self.exchanged);
    }
}

impl ErrorEstimator for Energy {
    fn estimate(&self, step: &StepView<'_>) -> Estimate {
        let (mut sum, projection) = (0.0, self.projection(step.span));
        for (k, flow) in step.flows.iter().enumerate() {
            let e = self.error(k, flow, step.span.h, projection);
            sum += e * e;
        }
        Estimate::new((sum / step.flows.len().max(1) as f64).sqrt(), self.order)
    }

    fn tells(&self) -> Tells {
        Tells { bonds: true, outputs: false }
    }

    fn bond_errors(&self, step: &StepView<'_>, errors: &mut [f64]) {
        let projection = self.projection(step.span);
        for (k, (error, flow)) in errors.iter_mut().zip(step.flows).enumerate() {
            *error = self.error(k, flow, step.span.h, projection);
        }
    }

    fn blame(&self, step: &StepView<'_>) -> Option<Blame> {
        let projection = self.projection(step.span);
        let size = |(k, flow)| (k, self.error(k, flow, step.span.h, projection).abs());
        let errors = step.flows.iter().enumerate().map(size);
        errors.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(k, _)| Blame::Bond(k))
    }

    fn commit(&mut self, step: &StepView<'_>, _own: &Estimate) {
        for (total, flow) in self.exchanged.iter_mut().zip(step.flows) {
            *total += flow.exchanged_power * step.span.h;
        }
    }

    fn restart(&mut self, _reached: &Reached<'_>) {}
}
