//! The error norm of libcosim's ECCO, for files that ask for it: residual energies of steps against absolute tolerances.

use super::{Blame, ErrorEstimator, Estimate, Tells};
use crate::checkpoint::{Checkpoint, Checkpointed};
use crate::energy::BondFlow;
use crate::feed_through::Reached;
use crate::step::StepView;

/// `ε = sqrt(mean_k (|δP_k| h / (a + r max|P_k| h))²)` with the powers of both ports of bond k at the end of the step h.
///
/// In a step, h is small: `r max|P| h` hardly ever counts beside a, so that ε is an absolute energy per step.
#[derive(Clone, Debug, PartialEq)]
pub struct Libcosim {
    /// r.
    pub relative: f64,
    /// a, in J.
    pub absolute: f64,
    /// m + 2 with m the hold order.
    order: f64,
}

impl Libcosim {
    /// One pair of tolerances for all bonds.
    pub fn new(relative: f64, absolute: f64, hold_order: u8) -> Self {
        Libcosim { relative, absolute, order: f64::from(hold_order) + 2.0 }
    }

    #[inline]
    fn error(&self, flow: &BondFlow, h: f64) -> f64 {
        let residual = flow.residual_power.abs();
        if residual == 0.0 {
            return 0.0;
        }
        // Of powers P1 and P2 with the sum -δP and half the difference P12.
        let largest = flow.transmitted_power.abs() + residual / 2.0;
        residual * h / (self.absolute + self.relative * largest * h)
    }
}

impl Checkpointed for Libcosim {
    fn save(&self, _tape: &mut Checkpoint) {}
    fn load(&mut self, _tape: &mut Checkpoint) {}
}

impl ErrorEstimator for Libcosim {
    fn estimate(&self, step: &StepView<'_>) -> Estimate {
        let squares = step.flows.iter().map(|flow| self.error(flow, step.span.h).powi(2));
        let mean = squares.sum::<f64>() / step.flows.len().max(1) as f64;
        Estimate::new(mean.sqrt(), self.order)
    }

    fn tells(&self) -> Tells {
        Tells { bonds: true, outputs: false }
    }

    fn bond_errors(&self, step: &StepView<'_>, errors: &mut [f64]) {
        for (error, flow) in errors.iter_mut().zip(step.flows) {
            *error = self.error(flow, step.span.h);
        }
    }

    fn blame(&self, step: &StepView<'_>) -> Option<Blame> {
        let errors = step.flows.iter().map(|flow| self.error(flow, step.span.h)).enumerate();
        errors.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(k, _)| Blame::Bond(k))
    }

    fn commit(&mut self, _step: &StepView<'_>, _own: &Estimate) {}

    fn restart(&mut self, _reached: &Reached<'_>) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: P1 = 3 W and P2 = -2 W, so that δP = -1 W and P12 = 2.5 W; over 0.1 s that is 0.1 J against 0.01 + 0.5·3·0.1 J.
    #[test]
    fn the_norm_is_that_of_libcosim() {
        let flow = BondFlow { residual_power: -1.0, transmitted_power: 2.5, ..BondFlow::default() };
        let norm = Libcosim::new(0.5, 0.01, 0);
        assert!((norm.error(&flow, 0.1) - 0.1 / 0.16).abs() < 1e-15);
    }
}
