//! How strongly an algebraic loop acts on itself, and whether exchanges that lag a step behind would let it run away.

use super::AlgebraicLoop;
use crate::network::Network;
use crate::numerics::{invert, spectral_radius};

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

impl LoopGain {
    /// Of `found`, with ∂y/∂u of all feed-through pairs; `sees_new(source, member)` tells whether a member sees what a source has made
    /// in the same step.
    pub(crate) fn of(
        network: &Network,
        found: &AlgebraicLoop,
        gains: &[f64],
        sees_new: impl Fn(usize, usize) -> bool,
    ) -> Self {
        let n = found.inputs.len();
        let (mut old, mut new) = (vec![0.0; n * n], vec![0.0; n * n]);
        for (r, &input) in found.inputs.iter().enumerate() {
            for (output, weight) in network.wiring.sources(input) {
                let source = network.owner_of_output[output];
                let is_new = sees_new(source, network.owner_of_input[input]);
                for p in network.members[source].feed_through.clone() {
                    let pair = network.feed_through[p];
                    if let (true, Ok(c)) = (pair.output == output, found.inputs.binary_search(&pair.input)) {
                        let matrix = if is_new { &mut new } else { &mut old };
                        matrix[r * n + c] += weight * gains[p];
                    }
                }
            }
        }
        let through = substituted(&old, &new, n);
        LoopGain {
            product: product(network, found, gains),
            growth: [1, 2, 3].map(|k| growth(&through, n, k)),
        }
    }
}

/// `(1 − new)⁻¹ old`.
fn substituted(old: &[f64], new: &[f64], n: usize) -> Vec<f64> {
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

/// The spectral radius of the exchange with a hold through `nodes` equidistant nodes.
fn growth(through: &[f64], n: usize, nodes: usize) -> f64 {
    const PREDICTION: [&[f64]; 3] = [&[1.0], &[2.0, -1.0], &[3.0, -3.0, 1.0]];
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
    use super::growth;

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
}
