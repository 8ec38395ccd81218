//! Richardson's error estimate and its modification for co-simulation: two small steps against a big one.

use super::{BigStep, Blame, ErrorEstimator, Estimate, Tells};
use crate::checkpoint::{Checkpoint, Checkpointed};
use crate::feed_through::{Reached, Structure};
use crate::hold::followed;
use crate::network::Network;
use crate::step::{Doubled, StepView};
use crate::time::history::NODES;

/// How much error an output may have: `absolute + relative · max(|y| at both ends)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// In the unit of the output; a tolerance times the output's nominal value is a good choice.
    pub absolute: f64,
    /// Without unit.
    pub relative: f64,
}

/// What the difference of the two solutions is divided by, plus 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Constants {
    /// `c_0` for outputs with feed-through, `c_r` for those that inputs reach through r integrations.
    #[default]
    PerOutput,
    /// `c_1` for all outputs, as arnold2013 eq. 24 and 26. With feed-through the modified estimate is then too large
    /// by 10/9 (k = 1) and 27/23 (k = 2), after two integrations too small by 3/5, 5/9 and 0.529 (k = 0, 1, 2).
    Published,
}

/// `EST = (y_big - y_small)/(c - 1)`, an estimate of the local error of two small steps; `norm = rms_i(EST_i/tol_i)`.
///
/// With `Π(s) = ∏ (s - (node - t))` over the k+1 nodes behind a held input (t where the pair starts, H and 2H where the
/// small steps end; k the hold order, lower while the history is short):
///
/// - `c_r = ∫_0^2H w Π_big / (∫_0^H w Π_1 + ∫_H^2H w Π_2)`, `w = (2H - s)^(r-1)`, through r integrations
/// - `c_0 = Π_big(2H)/Π_2(2H)`, with feed-through
///
/// On equidistant nodes `c_0` and `c_1` are 2^(k+1) for [`BigStep::Classic`] (`EST_Rich`, arnold2013 eq. 24); for
/// [`BigStep::Modified`] (`EST_mod`, eq. 26) they are k+2 and 2, 14/5, 32/9; `c_2` is 8/5, 3, 5.76 and 8/5, 2, 2.35. With k = 3
/// they are 16 and 5, 1076/251 (modified); `c_2` is not exact then, since cubics are handed over as parabolas. The norm
/// grows like `H^(k+2)`, with feed-through like `H^(k+1)`. Which outputs it is asymptotically right for: [`Structure::asymptotics`].
///
/// The constants are those of extrapolated inputs. Inputs of Gauss–Seidel that see a source that has stepped already,
/// and corrections of inputs, have smaller errors than the constants assume.
///
/// How many integrations there are is [`Network::integrations`]; where it is not known, one. An output that inputs reach only through
/// two (a position, where the input is a force) has an error of higher order, and with `c_1` its estimate is too small by
/// `(c_2 - 1)/(c_1 - 1)`: 0.6, 0.67 and 0.68 (classic), 0.6, 0.56 and 0.53 (modified) for k = 0, 1, 2.
#[derive(Clone, Debug)]
pub struct Richardson {
    /// One per output.
    pub tolerance: Vec<Tolerance>,
    /// Which big step.
    pub big: BigStep,
    /// Which constants.
    pub constants: Constants,
    /// Local extrapolation: `y := y_small - EST` at the end of each pair, for outputs with feed-through only.
    ///
    /// The states of subsystems cannot be extrapolated from outside, so that the order stays and an output that only
    /// shows states would no longer belong to them; the feed-through part of an output is not a state and is given back.
    /// On the quarter car it takes 15 to 33 % of the error at about the same steps. Refresh, where a subsystem allows it,
    /// gave 36 to 49 % less error with 14 to 30 % fewer steps for k = 1 and 2 at one tolerance (1e-3); for k = 0 a seventh
    /// of the steps, but 1.6 times the error.
    pub extrapolate: bool,
    /// k of each input, as it is set.
    hold_order: Vec<u8>,
    outputs: Vec<OutputRule>,
}

/// How an output depends on held inputs.
#[derive(Clone, Debug)]
struct OutputRule {
    /// k, the lowest order of the inputs that matter.
    order: u8,
    /// A held input reaches it at once.
    direct: bool,
    /// Through how many integrations it does, otherwise.
    integrations: u8,
    /// The inputs that matter, flat.
    inputs: Vec<usize>,
}

impl OutputRule {
    /// How many nodes are behind the inputs that matter.
    fn nodes(&self, pair: &Doubled<'_>) -> usize {
        let counts = || self.inputs.iter().map(|&i| usize::from(pair.counts[i]));
        let known = if pair.is_whole { pair.known() } else { counts().fold(pair.known(), usize::min) };
        (usize::from(self.order) + 1).min(known)
    }
}

impl Richardson {
    /// One tolerance per output, one hold order per input.
    pub fn new(tolerance: Vec<Tolerance>, hold_order: Vec<u8>, big: BigStep) -> Self {
        let k = hold_order.iter().copied().min().unwrap_or(0);
        let rule = OutputRule { order: k, direct: false, integrations: 1, inputs: Vec::new() };
        let outputs = vec![rule; tolerance.len()];
        Richardson {
            tolerance,
            big,
            constants: Constants::default(),
            extrapolate: false,
            hold_order,
            outputs,
        }
    }

    /// EST of every output into `errors`; false (and nothing written) in a step that completes no pair.
    pub fn errors(&self, step: &StepView<'_>, errors: &mut [f64]) -> bool {
        self.each(step, |i, error| errors[i] = error)
    }

    fn each(&self, step: &StepView<'_>, mut take: impl FnMut(usize, f64)) -> bool {
        let (Some(pair), Some((big, divisors))) = (step.doubled, self.divisors(step)) else { return false };
        for (i, (rule, y)) in self.outputs.iter().zip(step.y_fresh).enumerate() {
            let column = match self.constants {
                Constants::PerOutput if rule.direct => 0,
                Constants::PerOutput => usize::from(rule.integrations),
                Constants::Published => 1,
            };
            take(i, (big[i] - y) / divisors[rule.nodes(&pair) - 1][column]);
        }
        true
    }

    /// The outputs of the big step, and `c_r - 1` for one to four nodes, r from 0 to 3.
    fn divisors<'a>(&self, step: &StepView<'a>) -> Option<(&'a [f64], [[f64; 4]; NODES])> {
        let pair = step.doubled.as_ref()?;
        let big = match self.big {
            BigStep::Classic => pair.classic,
            BigStep::Modified => pair.modified,
        }?;
        let (middle, end) = (step.span.start - pair.start, step.span.end - pair.start);
        let known = pair.known().min(big.nodes.len());
        let divisors = [1, 2, 3, 4].map(|nodes: usize| {
            let count = nodes.min(known);
            let relative = |nodes: &[f64]| -> [f64; NODES] {
                std::array::from_fn(|j| nodes.get(j).map_or(0.0, |n| n - pair.start))
            };
            let [first, second, whole] = [pair.nodes, pair.later_nodes, big.nodes].map(relative);
            let [first, second, whole] = [&first[..count], &second[..count], &whole[..count]];
            std::array::from_fn(|r| {
                let part = |nodes: &[f64], a: f64, b: f64| {
                    integral(|s| weight(end - s, r) * product(nodes, s), a, b)
                };
                let c = match r {
                    0 => product(whole, end) / product(second, end),
                    _ => part(whole, 0.0, end) / (part(first, 0.0, middle) + part(second, middle, end)),
                };
                c - 1.0
            })
        });
        Some((big.y, divisors))
    }

    fn scale(&self, i: usize, step: &StepView<'_>) -> f64 {
        let Tolerance { absolute, relative } = self.tolerance[i];
        absolute + relative * step.y_fresh[i].abs().max(step.y_prev[i].abs())
    }
}

/// Π(s).
fn product(nodes: &[f64], s: f64) -> f64 {
    nodes.iter().map(|n| s - n).product()
}

/// `left^(r-1)`: what an error `left` seconds before the end becomes through r integrations.
fn weight(left: f64, r: usize) -> f64 {
    left.powi(r as i32 - 1)
}

/// The integral of `f` from `a` to `b`: Gauss's rule with four points is exact up to degree 7.
fn integral(f: impl Fn(f64) -> f64, a: f64, b: f64) -> f64 {
    let (middle, half) = (0.5 * (a + b), 0.5 * (b - a));
    let both = |[x, weight]: [f64; 2]| weight * (f(middle - x * half) + f(middle + x * half));
    half * GAUSS.map(both).iter().sum::<f64>()
}

/// Points and weights.
const GAUSS: [[f64; 2]; 2] = [
    [0.339_981_043_584_856_26, 0.652_145_154_862_546_1],
    [0.861_136_311_594_052_6, 0.347_854_845_137_453_86],
];

impl Checkpointed for Richardson {
    fn save(&self, _tape: &mut Checkpoint) {}
    fn load(&mut self, _tape: &mut Checkpoint) {}
}

impl ErrorEstimator for Richardson {
    fn big_step(&self) -> Option<BigStep> {
        Some(self.big)
    }

    /// A held input reaches an output at once if the output feeds it through and is not re-read. Its k is the lowest
    /// of the inputs that matter; an input of a subsystem that follows fewer derivatives has the lower order.
    fn prepare(&mut self, network: &Network, structure: &Structure, refreshed: &[usize]) {
        let order = |i: usize| {
            let takes = network.members[network.owner_of_input[i]].capabilities.input_derivatives;
            followed(self.hold_order[i], takes)
        };
        for (o, rule) in self.outputs.iter_mut().enumerate() {
            let s = network.owner_of_output[o];
            let direct = !structure.feeds_through[o].is_empty() && !refreshed.contains(&s);
            let coupled = network.members[s].inputs.clone().filter(|&i| network.wiring.is_coupled(i));
            let inputs = if direct { structure.feeds_through[o].clone() } else { coupled.collect() };
            // An output that no coupling reaches has no coupling error, whatever it is divided by.
            let order = inputs.iter().map(|&i| order(i)).min().unwrap_or(3);
            let integrations = network.integrations[o].unwrap_or(1).clamp(1, 3);
            *rule = OutputRule { order, direct, integrations, inputs };
        }
    }

    /// 0 in a step that completes no pair.
    fn estimate(&self, step: &StepView<'_>) -> Estimate {
        let mut sum = 0.0;
        self.each(step, |i, error| {
            let e = error / self.scale(i, step);
            // An output with tolerance 0 that is exact is not wrong.
            sum += if error == 0.0 { 0.0 } else { e * e };
        });
        let order = |rule: &OutputRule| {
            let nodes = step.doubled.map_or(1, |pair| rule.nodes(&pair));
            nodes as f64 + if rule.direct { 0.0 } else { 1.0 }
        };
        let lowest = self.outputs.iter().map(order).fold(f64::INFINITY, f64::min);
        let n = self.tolerance.len().max(1) as f64;
        Estimate::new((sum / n).sqrt(), if lowest.is_finite() { lowest } else { 2.0 })
    }

    fn tells(&self) -> Tells {
        Tells { bonds: false, outputs: true }
    }

    fn output_errors(&self, step: &StepView<'_>, errors: &mut [f64]) {
        if !self.errors(step, errors) {
            errors.fill(f64::NAN);
        }
    }

    fn blame(&self, step: &StepView<'_>) -> Option<Blame> {
        let mut worst = None;
        self.each(step, |i, error| {
            let e = (error / self.scale(i, step)).abs();
            if worst.is_none_or(|(_, w)| e.is_nan() || e > w) {
                worst = Some((i, e));
            }
        });
        worst.map(|(i, _)| Blame::Output(i))
    }

    fn improves(&self) -> bool {
        self.extrapolate
    }

    fn improve(&self, step: &StepView<'_>, y: &mut [f64]) {
        self.each(step, |i, error| {
            if self.outputs[i].direct {
                y[i] -= error;
            }
        });
    }

    fn commit(&mut self, _step: &StepView<'_>, _own: &Estimate) {}

    fn restart(&mut self, _reached: &Reached<'_>) {}
}

#[cfg(test)]
mod tests {
    use super::{integral, product};

    /// `c_1` of the modified big step on nodes 0, −1, −2, …: arnold2013 eq. 17 and 27 give 2, 14/5, 32/9, and 1076/251 for cubics.
    #[test]
    fn constants_of_equidistant_nodes_are_those_of_the_paper() {
        for (k, expected) in [2.0, 14.0 / 5.0, 32.0 / 9.0, 1076.0 / 251.0].into_iter().enumerate() {
            let nodes = [0.0, -1.0, -2.0, -3.0];
            let over = |b: f64| integral(|s| product(&nodes[..=k], s), 0.0, b);
            let c = over(2.0) / (2.0 * over(1.0));
            assert!((c - expected).abs() < 1e-14, "k = {k}: {c}");
        }
    }
}
