//! How far the new inputs are from what holds of order 0 to 3 would have predicted.

use crate::hold::lagrange;
use crate::time::history::History;
use std::ops::Range;

/// `u_new - p_m(t_new)` of every input for every order m, p_m the polynomial through the nodes of the past at their true times.
///
/// An order that the history is too short for has the defect of the highest one that is possible.
#[derive(Clone, Debug)]
pub struct HoldDefects {
    /// By order, then by input. Order 3 is looked at only where some input is held with it.
    pub by_order: [Vec<f64>; 4],
    /// The order with which each input was held.
    pub order: Vec<u8>,
}

impl HoldDefects {
    pub(crate) fn new(n: usize) -> Self {
        HoldDefects { by_order: std::array::from_fn(|_| vec![0.0; n]), order: vec![0; n] }
    }

    /// Compares `fresh` at `t` with what `nodes` predict, for a range of inputs that were held with `order`.
    pub(crate) fn look(
        &mut self,
        nodes: &History,
        t: f64,
        fresh: &[f64],
        order: &[u8],
        inputs: Range<usize>,
    ) {
        let available = nodes.len().saturating_sub(1).min(3) as u8;
        for (used, &wanted) in self.order[inputs.clone()].iter_mut().zip(&order[inputs.clone()]) {
            *used = wanted.min(available);
        }
        if !nodes.is_whole() {
            for i in inputs.clone() {
                self.order[i] = self.order[i].min(nodes.count(i).saturating_sub(1) as u8);
            }
        }
        let [line, parabola] = [1, 2].map(|m| lagrange(nodes, t, available.min(m)));
        let [zero, one, two, three] = &mut self.by_order;
        let [a, b, c] = [0, 1, 2].map(|k| &nodes.values(k)[inputs.clone()]);
        let jumps =
            zero[inputs.clone()].iter_mut().zip(&mut one[inputs.clone()]).zip(&mut two[inputs.clone()]);
        let past = a.iter().zip(b).zip(c);
        for (((zero, one), two), (&new, ((&a, &b), &c))) in jumps.zip(fresh[inputs.clone()].iter().zip(past))
        {
            *zero = new - a;
            *one = new - (line[0] * a + line[1] * b);
            *two = new - (parabola[0] * a + parabola[1] * b + parabola[2] * c);
        }
        if order[inputs.clone()].iter().any(|&m| m > 2) {
            let w = lagrange(nodes, t, available);
            for i in inputs {
                let predicted = |k: usize| w[k] * nodes.values(k)[i];
                three[i] = fresh[i] - (0..=usize::from(available)).map(predicted).sum::<f64>();
            }
        }
    }

    /// The defect of input `i` against the hold that was used.
    #[inline]
    pub fn held(&self, i: usize) -> f64 {
        self.by_order[self.order[i] as usize][i]
    }
}
