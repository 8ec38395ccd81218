//! OutputDerivatives of inputs from the derivatives that subsystems give of their outputs: `u̇ = L ẏ`, instead of a difference of
//! past values.

use crate::checkpoint::{Checkpoint, Checkpointed};
use crate::error::RunError;
use crate::hold::{HeldInputs, Hold};
use crate::network::Network;
use crate::subsystem::Span;
use crate::time::history::History;
use std::ops::Range;

/// Derivatives of all inputs at the newest communication point; NaN where a source gives none.
pub(crate) struct OutputDerivatives {
    /// Members that give derivatives of their outputs.
    members: Vec<usize>,
    dy: Vec<f64>,
    du: Vec<f64>,
}

impl OutputDerivatives {
    pub fn new(network: &Network) -> Self {
        let gives = |s: &usize| network.members[*s].capabilities.output_derivatives > 0;
        OutputDerivatives {
            members: (0..network.members.len()).filter(gives).collect(),
            dy: vec![f64::NAN; network.n_outputs],
            du: vec![f64::NAN; network.n_inputs],
        }
    }

    /// Asks for derivatives at the end of `span`, which has just become a communication point.
    pub fn read(&mut self, network: &mut Network, span: Span) -> Result<(), RunError> {
        for &s in &self.members {
            let member = &mut network.members[s];
            let read = member.simulator.output_derivatives(&mut self.dy[member.outputs.clone()]);
            let fail = |error| RunError::Subsystem { member: s, phase: "output derivatives", span, error };
            read.map_err(fail)?;
        }
        for (i, du) in self.du.iter_mut().enumerate() {
            *du = network.wiring.sources(i).map(|(output, gain)| gain * self.dy[output]).sum();
        }
        Ok(())
    }

    /// Holds `inputs` on `part` by their slopes: the line through the newest node `u₀`, for order 2 the parabola that also
    /// passes the node before, `c = 2 (u₁ − u₀ + g u̇)/g²` with `g = t₀ − t₁`. Inputs of order 0 and those without a slope
    /// stay as they are.
    pub fn hold(
        &self,
        nodes: &History,
        part: Span,
        inputs: Range<usize>,
        extrapolation: &dyn Hold,
        takes: &[u8],
        out: &mut HeldInputs,
    ) {
        let tau = part.start - nodes.time(0);
        for i in inputs {
            let (slope, order) = (self.du[i], extrapolation.orders()[i]);
            if order == 0 || !slope.is_finite() {
                continue;
            }
            let newest = nodes.values(0)[i];
            let curvature = if order > 1 && nodes.count(i) > 1 {
                let g = nodes.time(0) - nodes.time(1);
                2.0 * (nodes.values(1)[i] - newest + g * slope) / (g * g)
            } else {
                0.0
            };
            out.value[i] = newest + tau * (slope + 0.5 * tau * curvature);
            if let (Some(s), true) = (out.slope.get_mut(i), takes[i] > 0) {
                *s = slope + tau * curvature;
            }
            if let (Some(c), true) = (out.curvature.get_mut(i), takes[i] > 1) {
                *c = curvature;
            }
        }
    }
}

impl Checkpointed for OutputDerivatives {
    fn save(&self, tape: &mut Checkpoint) {
        tape.extend(&self.du);
    }

    fn load(&mut self, tape: &mut Checkpoint) {
        tape.fill(&mut self.du);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hold::Polynomial;
    use crate::subsystem::Inputs;

    /// With its slope, a line is exact from one node and a parabola from two.
    #[test]
    fn polynomials_are_exact_with_a_node_less() {
        let check = |order: u8, times: &[f64], u: fn(f64) -> f64, slope: fn(f64) -> f64| {
            let mut nodes = History::new(1);
            times.iter().for_each(|&t| nodes.push(t, |values| values[0] = u(t)));
            let slopes =
                OutputDerivatives { members: Vec::new(), dy: Vec::new(), du: vec![slope(nodes.time(0))] };
            let mut held = HeldInputs::new(1, order);
            let hold = Polynomial::new(vec![order], vec![2]);
            slopes.hold(&nodes, Span::new(0.6, 0.2), 0..1, &hold, &[2], &mut held);
            let HeldInputs { value, slope, curvature, .. } = &held;
            for tau in [0.0, 0.1, 0.2] {
                let found = Inputs { value, slope, curvature }.at(0, tau);
                assert!((found - u(0.6 + tau)).abs() < 1e-12, "order {order}: {found}");
            }
        };
        check(1, &[0.5], |t| 3.0 - 2.0 * t, |_| -2.0);
        check(2, &[0.2, 0.5], |t| 3.0 - 2.0 * t + 5.0 * t * t, |t| -2.0 + 10.0 * t);
    }
}
