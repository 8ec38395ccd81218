//! Polynomial holds of order 0, 1, 2 through past inputs at their true, non-equidistant times.

use super::{HeldInputs, Hold};
use crate::checkpoint::{Checkpoint, Checkpointed};
use crate::subsystem::Span;
use crate::time::history::{History, NODES};
use std::ops::Range;

/// Zero-, first- or second-order hold per input (arnold2013 eq. 9, rodriguez2022 Fig. 5).
///
/// The order drops while the history is short. A subsystem that takes no input derivatives gets the value at
/// the start of each span.
#[derive(Clone, Debug)]
pub struct Polynomial {
    order: Vec<u8>,
    /// How many derivatives each input's subsystem follows.
    handed: Vec<u8>,
    /// The order and the derivatives of all inputs, if they are the same for all.
    uniform: Option<(u8, u8)>,
    max_order: u8,
}

/// What multiplies each node's value to give value, slope and curvature at the start of a span.
pub(super) type Weights = [[f64; NODES]; 3];

/// What multiplies each node's value to give that of the polynomial of `order` at `t`.
pub(crate) fn lagrange(nodes: &History, t: f64, order: u8) -> [f64; NODES] {
    weights(nodes, t, order)[0]
}

impl Polynomial {
    /// `order[i]` is the hold order of input i, `handed[i]` how many derivatives its subsystem follows.
    pub fn new(order: Vec<u8>, handed: Vec<u8>) -> Self {
        let first = order.first().copied().unwrap_or(0);
        let first_handed = handed.first().copied().unwrap_or(0);
        let same = order.iter().all(|&o| o == first) && handed.iter().all(|&o| o == first_handed);
        let max_order = order.iter().copied().max().unwrap_or(0);
        Polynomial { order, handed, uniform: same.then_some((first, first_handed)), max_order }
    }
}

impl Checkpointed for Polynomial {
    fn save(&self, _tape: &mut Checkpoint) {}
    fn load(&mut self, _tape: &mut Checkpoint) {}
}

impl Hold for Polynomial {
    fn max_order(&self) -> u8 {
        self.max_order
    }

    fn orders(&self) -> &[u8] {
        &self.order
    }

    fn order_held(&self, nodes: &History, i: usize) -> u8 {
        self.order[i].min(self.handed[i]).min(nodes.count(i).saturating_sub(1) as u8)
    }

    fn learns(&self) -> bool {
        false
    }

    fn eval(&self, nodes: &History, span: Span, inputs: Range<usize>, out: &mut HeldInputs) {
        if self.max_order == 0 {
            out.value[inputs.clone()].copy_from_slice(&nodes.values(0)[inputs.clone()]);
            // There are slopes if other inputs follow lines.
            out.slope.get_mut(inputs).into_iter().for_each(|slope| slope.fill(0.0));
            return;
        }
        if let Some((order, handed)) = self.uniform {
            let order = order.min(nodes.len() as u8 - 1);
            return apply(&weights(nodes, span.start, order), order, handed, nodes, inputs, out);
        }
        let available = nodes.len() as u8 - 1;
        let tables: [Weights; 3] = [0, 1, 2].map(|o| weights(nodes, span.start, available.min(o)));
        for i in inputs {
            let order = self.order[i];
            apply(&tables[order as usize], order.min(available), self.handed[i], nodes, i..i + 1, out);
        }
    }
}

/// Lagrange weights of order `order` at time `s`: value, first and second derivative.
pub(super) fn weights(nodes: &History, s: f64, order: u8) -> Weights {
    let d = |k: usize| s - nodes.time(k);
    let gap = |a: usize, b: usize| nodes.time(a) - nodes.time(b);
    match order {
        0 => [[1.0, 0.0, 0.0], [0.0; 3], [0.0; 3]],
        1 => {
            let g = gap(0, 1);
            [[d(1) / g, -d(0) / g, 0.0], [1.0 / g, -1.0 / g, 0.0], [0.0; 3]]
        }
        _ => {
            let (n0, n1, n2) = (gap(0, 1) * gap(0, 2), gap(1, 0) * gap(1, 2), gap(2, 0) * gap(2, 1));
            [
                [d(1) * d(2) / n0, d(0) * d(2) / n1, d(0) * d(1) / n2],
                [(d(1) + d(2)) / n0, (d(0) + d(2)) / n1, (d(0) + d(1)) / n2],
                [2.0 / n0, 2.0 / n1, 2.0 / n2],
            ]
        }
    }
}

fn apply(w: &Weights, order: u8, handed: u8, nodes: &History, inputs: Range<usize>, out: &mut HeldInputs) {
    let node = |k: usize| &nodes.values(k)[inputs.clone()];
    let combine = |row: &[f64; NODES], target: &mut [f64]| match order {
        0 => target.iter_mut().zip(node(0)).for_each(|(t, a)| *t = row[0] * a),
        1 => target
            .iter_mut()
            .zip(node(0).iter().zip(node(1)))
            .for_each(|(t, (a, b))| *t = row[0] * a + row[1] * b),
        _ => target
            .iter_mut()
            .zip(node(0).iter().zip(node(1).iter().zip(node(2))))
            .for_each(|(t, (a, (b, c)))| *t = row[0] * a + row[1] * b + row[2] * c),
    };
    combine(&w[0], &mut out.value[inputs.clone()]);
    if !out.slope.is_empty() {
        let slope = &mut out.slope[inputs.clone()];
        if handed > 0 { combine(&w[1], slope) } else { slope.fill(0.0) }
    }
    if !out.curvature.is_empty() {
        let curvature = &mut out.curvature[inputs.clone()];
        if handed > 1 { combine(&w[2], curvature) } else { curvature.fill(0.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history(times: &[f64], f: impl Fn(f64) -> f64) -> History {
        let mut history = History::new(1);
        for &t in times {
            history.push(t, |v| v[0] = f(t));
        }
        history
    }

    /// A hold of order m follows polynomials of degree m exactly, whatever the spacing of its nodes.
    #[test]
    fn polynomials_up_to_the_order_are_exact() {
        let curves: [fn(f64) -> f64; 3] = [|_| 3.0, |t| 3.0 - 2.0 * t, |t| 3.0 - 2.0 * t + 5.0 * t * t];
        for order in 0..3u8 {
            let nodes = history(&[0.1, 0.37, 0.5], curves[order as usize]);
            let hold = Polynomial::new(vec![order], vec![2]);
            let mut held = HeldInputs::new(1, order);
            let span = Span::new(0.6, 0.2);
            hold.eval(&nodes, span, 0..1, &mut held);
            let inputs = crate::subsystem::Inputs {
                value: &held.value,
                slope: &held.slope,
                curvature: &held.curvature,
            };
            for tau in [0.0, 0.05, 0.2] {
                let exact = curves[order as usize](0.6 + tau);
                assert!((inputs.at(0, tau) - exact).abs() < 1e-12, "order {order}, tau {tau}");
            }
        }
    }

    #[test]
    fn the_order_drops_while_the_history_is_short() {
        let mut nodes = history(&[0.0, 1.0, 2.0], |t| t * t);
        nodes.restart();
        let mut held = HeldInputs::new(1, 2);
        Polynomial::new(vec![2], vec![2]).eval(&nodes, Span::new(2.0, 1.0), 0..1, &mut held);
        assert_eq!((held.value[0], held.slope[0], held.curvature[0]), (4.0, 0.0, 0.0));
    }
}
