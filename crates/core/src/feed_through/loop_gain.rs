//! How strongly an algebraic loop acts on itself, and whether exchanges that lag a step behind would let it run away.

use super::AlgebraicLoop;
use crate::network::Network;
use crate::numerics::{invert, spectral_radius, spectral_radius_of};

/// The gain of a loop at one point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoopGain {
    /// Product of all gains on the shortest way round.
    pub product: f64,
    /// By what factor a disturbance of the loop grows from one communication point to the next if the loop is not solved, with holds
    /// of order 0, 1 and 2: below 1 it dies out.
    ///
    /// With `M = L D` an exchange is `u⁺ = M p(u, u₋, …)`, p the prediction of the hold: `u`, `2u − u₋`, `3u − 3u₋ + u₋₋`.
    /// Where subsystems step one after the other, `u⁺ = (1 − M_new)⁻¹ M_old p`.
    pub growth: [f64; 3],
}

/// Above so many inputs nothing is squared any more: the work grows with their cube.
const MOST_INPUTS: usize = 64;

impl LoopGain {
    /// Of `found`, with ∂y/∂u of all feed-through pairs. Members with a smaller `place` have stepped before those with a larger one,
    /// which see what they have made.
    pub(crate) fn of(network: &Network, found: &AlgebraicLoop, gains: &[f64], place: &[usize]) -> Self {
        let mut entries = Vec::new();
        for (row, &input) in found.inputs.iter().enumerate() {
            let member = network.owner_of_input[input];
            for (output, weight) in network.wiring.sources(input) {
                let source = network.owner_of_output[output];
                for p in network.members[source].feed_through.clone() {
                    let pair = network.feed_through[p];
                    if let (true, Ok(column)) =
                        (pair.output == output, found.inputs.binary_search(&pair.input))
                    {
                        let is_new = place[source] < place[member];
                        entries.push(Entry { row, column, is_new, gain: weight * gains[p] });
                    }
                }
            }
        }
        let n = found.inputs.len();
        let growth = if n <= MOST_INPUTS {
            let through = substituted(&entries, n);
            [1, 2, 3].map(|k| growth(&through, n, k))
        } else {
            // In the order in which inputs are set, so that all new values that a row needs are there.
            entries.sort_by_key(|entry| place[network.owner_of_input[found.inputs[entry.row]]]);
            [1, 2, 3].map(|k| growth_of_many(&entries, n, k))
        };
        LoopGain { product: product(network, found, gains), growth }
    }
}

/// An entry of `M`.
#[derive(Clone, Copy)]
struct Entry {
    row: usize,
    column: usize,
    /// In `M_new`.
    is_new: bool,
    gain: f64,
}

/// `(1 − M_new)⁻¹ M_old`.
fn substituted(entries: &[Entry], n: usize) -> Vec<f64> {
    let (mut old, mut new) = (vec![0.0; n * n], vec![0.0; n * n]);
    for entry in entries {
        let matrix = if entry.is_new { &mut new } else { &mut old };
        matrix[entry.row * n + entry.column] += entry.gain;
    }
    let mut work = vec![0.0; 2 * n * n];
    for r in 0..n {
        for c in 0..n {
            work[r * 2 * n + c] = f64::from(u8::from(r == c)) - new[r * n + c];
        }
        work[r * 2 * n + n + r] = 1.0;
    }
    if !invert(&mut work, n) {
        return vec![f64::INFINITY; n * n];
    }
    let entry = |r: usize, c: usize| (0..n).map(|k| work[r * 2 * n + n + k] * old[k * n + c]).sum();
    (0..n * n).map(|k| entry(k / n, k % n)).collect()
}

/// Weights of the latest values in the prediction through one, two and three equidistant nodes.
const PREDICTION: [&[f64]; 3] = [&[1.0], &[2.0, -1.0], &[3.0, -3.0, 1.0]];

/// The spectral radius of the exchange with a hold through `nodes` equidistant nodes.
fn growth(through: &[f64], n: usize, nodes: usize) -> f64 {
    let size = n * nodes;
    let mut matrix = vec![0.0; size * size];
    for r in 0..n {
        for (k, weight) in PREDICTION[nodes - 1].iter().enumerate() {
            for c in 0..n {
                matrix[r * size + k * n + c] = weight * through[r * n + c];
            }
        }
    }
    for k in n..size {
        matrix[k * size + k - n] = 1.0;
    }
    spectral_radius(&matrix, size)
}

/// The same by exchanges from some beginning, to about 1 %; `entries` are in the order in which inputs are set.
fn growth_of_many(entries: &[Entry], n: usize, nodes: usize) -> f64 {
    let mut predicted = vec![0.0; n];
    spectral_radius_of(n * nodes, |values| {
        for (i, p) in predicted.iter_mut().enumerate() {
            *p = PREDICTION[nodes - 1].iter().enumerate().map(|(k, weight)| weight * values[k * n + i]).sum();
        }
        values.copy_within(..n * (nodes - 1), n);
        values[..n].fill(0.0);
        for entry in entries {
            let from = if entry.is_new { values[entry.column] } else { predicted[entry.column] };
            values[entry.row] += entry.gain * from;
        }
    })
}

fn product(network: &Network, found: &AlgebraicLoop, gains: &[f64]) -> f64 {
    let mut product = 1.0;
    for (k, &(input, output)) in found.path.iter().enumerate() {
        let pair =
            |p: &usize| (network.feed_through[*p].output, network.feed_through[*p].input) == (output, input);
        let source = network.owner_of_output[output];
        let d: f64 = network.members[source].feed_through.clone().filter(pair).map(|p| gains[p]).sum();
        let (next, _) = found.path[(k + 1) % found.path.len()];
        let weight: f64 =
            network.wiring.sources(next).filter(|&(o, _)| o == output).map(|(_, weight)| weight).sum();
        product *= d * weight;
    }
    product
}

#[cfg(test)]
mod tests {
    use super::{Entry, growth, growth_of_many, substituted};

    /// Two members in a loop of gain g exchange with ±√g: first-order holds are stable for −1/3 < √g < 1, so for g < 1/9; a single
    /// input with gain g for −1/3 < g < 1; second-order holds for z³ = g(3z² − 3z + 1) inside the unit circle, −1/7 < g < 1.
    #[test]
    fn limits_of_stability_depend_on_the_order_of_the_hold() {
        let pair = |g: f64, nodes: usize| growth(&[0.0, 1.0, g, 0.0], 2, nodes);
        let single = |g: f64, nodes: usize| growth(&[g], 1, nodes);
        assert!(pair(0.99, 1) < 1.0 && pair(1.01, 1) > 1.0 && pair(-1.01, 1) > 1.0);
        assert!(pair(0.110, 2) < 1.0 && pair(0.112, 2) > 1.0, "{} {}", pair(0.110, 2), pair(0.112, 2));
        assert!(single(-0.33, 2) < 1.0 && single(-0.34, 2) > 1.0);
        assert!(single(-0.142, 3) < 1.0 && single(-0.144, 3) > 1.0);
    }

    /// Rings of different lengths whose gains have the product g: all values grow by |g|^(1/length) in an exchange, and where all but
    /// one member see new values, by |g|.
    #[test]
    fn many_inputs_have_the_growth_of_few() {
        let ring = |n: usize, g: f64, is_new: bool| -> Vec<Entry> {
            let gain = |k: usize| if k == 0 { g } else { 1.0 };
            let entry =
                |k: usize| Entry { row: k, column: (k + n - 1) % n, is_new: is_new && k > 0, gain: gain(k) };
            (0..n).map(entry).collect()
        };
        for (n, g, is_new) in [(5, 0.3, false), (5, -2.0, false), (7, 0.2, true), (4, -0.5, true)] {
            let entries = ring(n, g, is_new);
            let through = substituted(&entries, n);
            let exact = if is_new { g.abs() } else { g.abs().powf(1.0 / n as f64) };
            for nodes in [1, 2, 3] {
                let (few, many) = (growth(&through, n, nodes), growth_of_many(&entries, n, nodes));
                assert!((few / many - 1.0).abs() < 0.01, "{n} {g} {nodes}: {few} {many}");
                assert!(nodes > 1 || (few / exact - 1.0).abs() < 1e-6, "{n} {g}: {few} {exact}");
            }
        }
        assert_eq!(growth_of_many(&ring(3, 0.0, false), 3, 1), 0.0);
    }
}
