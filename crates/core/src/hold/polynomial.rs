//! Polynomial holds of order 0 to 3 through past inputs at their true, non-equidistant times.

use super::{HeldInputs, Hold};
use crate::checkpoint::{Checkpoint, Checkpointed};
use crate::subsystem::Span;
use crate::time::history::{History, NODES};
use std::ops::Range;

/// Zero- to third-order hold per input (arnold2013 eq. 9, rodriguez2022 Fig. 5).
///
/// Subsystems take two derivatives at most, so that a cubic is handed over as the parabola that it meets at the start, in the middle and
/// at the end of the span. Both have the same integral (Simpson's rule), and differ by `u‴ τ (τ - h/2)(τ - h)/6`: at most `u‴ h³/125`
/// inside, nothing at the end, and `u‴ h⁵/720` after two integrations, so that the global order is that of the cubic, 4.
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
    match order {
        3 => cubic(nodes, t),
        _ => weights(nodes, t, order)[0],
    }
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
        followed(self.order[i], self.handed[i]).min(nodes.count(i).saturating_sub(1) as u8)
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
            let order = usable(order, handed).min(nodes.len() as u8 - 1);
            return apply(&on_span(nodes, span, order), order, handed, nodes, inputs, out);
        }
        let available = nodes.len() as u8 - 1;
        let highest = self.max_order.min(available);
        let tables: [Weights; NODES] = [0, 1, 2, 3].map(|o| on_span(nodes, span, highest.min(o)));
        for i in inputs {
            let order = usable(self.order[i], self.handed[i]);
            apply(&tables[order as usize], order.min(available), self.handed[i], nodes, i..i + 1, out);
        }
    }
}

/// The order that a subsystem really follows: a cubic comes as a parabola.
pub fn followed(order: u8, handed: u8) -> u8 {
    if handed > 1 { order } else { order.min(handed) }
}

/// The order to be extrapolated with: that of a parabola where a cubic cannot be handed over.
fn usable(order: u8, handed: u8) -> u8 {
    if handed > 1 { order } else { order.min(2) }
}

/// Lagrange weights of order `order` on `span`: value, first and second derivative at its start; see [`Polynomial`] for order 3.
fn on_span(nodes: &History, span: Span, order: u8) -> Weights {
    if order < 3 {
        return weights(nodes, span.start, order);
    }
    let h = span.h;
    let [start, middle, end] = [0.0, 0.5 * h, h].map(|tau| cubic(nodes, span.start + tau));
    let each = |f: fn(f64, f64, f64) -> f64, scale: f64| -> [f64; NODES] {
        std::array::from_fn(|k| f(start[k], middle[k], end[k]) * scale)
    };
    [start, each(|a, b, c| 4.0 * b - 3.0 * a - c, 1.0 / h), each(|a, b, c| a - 2.0 * b + c, 4.0 / (h * h))]
}

/// What multiplies each of four nodes' values to give that of the cubic at `t`.
fn cubic(nodes: &History, t: f64) -> [f64; NODES] {
    std::array::from_fn(|k| {
        let others = (0..NODES).filter(|&j| j != k);
        others.map(|j| (t - nodes.time(j)) / (nodes.time(k) - nodes.time(j))).product()
    })
}

/// Lagrange weights of order `order` up to 2 at time `s`: value, first and second derivative.
pub(super) fn weights(nodes: &History, s: f64, order: u8) -> Weights {
    let d = |k: usize| s - nodes.time(k);
    let gap = |a: usize, b: usize| nodes.time(a) - nodes.time(b);
    match order {
        0 => [[1.0, 0.0, 0.0, 0.0], [0.0; NODES], [0.0; NODES]],
        1 => {
            let g = gap(0, 1);
            [[d(1) / g, -d(0) / g, 0.0, 0.0], [1.0 / g, -1.0 / g, 0.0, 0.0], [0.0; NODES]]
        }
        _ => {
            let (n0, n1, n2) = (gap(0, 1) * gap(0, 2), gap(1, 0) * gap(1, 2), gap(2, 0) * gap(2, 1));
            [
                [d(1) * d(2) / n0, d(0) * d(2) / n1, d(0) * d(1) / n2, 0.0],
                [(d(1) + d(2)) / n0, (d(0) + d(2)) / n1, (d(0) + d(1)) / n2, 0.0],
                [2.0 / n0, 2.0 / n1, 2.0 / n2, 0.0],
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
        2 => target
            .iter_mut()
            .zip(node(0).iter().zip(node(1).iter().zip(node(2))))
            .for_each(|(t, (a, (b, c)))| *t = row[0] * a + row[1] * b + row[2] * c),
        _ => target
            .iter_mut()
            .zip(node(0).iter().zip(node(1)).zip(node(2).iter().zip(node(3))))
            .for_each(|(t, ((a, b), (c, d)))| *t = row[0] * a + row[1] * b + row[2] * c + row[3] * d),
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

    /// A cubic is met at the start, in the middle and at the end, and its integral is that of what is handed over. A subsystem that takes
    /// fewer than two derivatives gets those of the parabola.
    #[test]
    fn a_cubic_is_handed_over_as_a_parabola_with_the_same_integral() {
        let curve = |t: f64| 3.0 - 2.0 * t + 5.0 * t * t - 4.0 * t * t * t;
        let nodes = history(&[0.0, 0.1, 0.37, 0.5], curve);
        let span = Span::new(0.6, 0.2);
        let mut held = HeldInputs::new(1, 3);
        Polynomial::new(vec![3], vec![2]).eval(&nodes, span, 0..1, &mut held);
        let HeldInputs { value, slope, curvature, .. } = &held;
        let inputs = crate::subsystem::Inputs { value, slope, curvature };
        for tau in [0.0, 0.1, 0.2] {
            assert!((inputs.at(0, tau) - curve(0.6 + tau)).abs() < 1e-12, "tau {tau}");
        }
        let integral = |t: f64| 3.0 * t - t * t + 5.0 / 3.0 * t.powi(3) - t.powi(4);
        let handed = 0.2 * (value[0] + 0.2 * (slope[0] / 2.0 + 0.2 * curvature[0] / 6.0));
        assert!((handed - (integral(0.8) - integral(0.6))).abs() < 1e-13);
        let [mut third, mut second] = [held.clone(), held.clone()];
        Polynomial::new(vec![3], vec![1]).eval(&nodes, span, 0..1, &mut third);
        Polynomial::new(vec![2], vec![1]).eval(&nodes, span, 0..1, &mut second);
        assert_eq!((third.value, third.slope), (second.value, second.slope));
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
