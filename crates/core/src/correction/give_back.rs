//! Give-back: what the integral of a held input lacked in a step is returned over the next one.

use super::InputCorrection;
use crate::checkpoint::{Checkpoint, Checkpointed};
use crate::feed_through::Reached;
use crate::feed_through::identify::Identifier;
use crate::network::Network;
use crate::step::StepView;
use crate::subsystem::Span;
use std::ops::Range;

/// NEPCE with the exact weight for nodes at unequal distances; raises the order of a hold by one.
///
/// After a step of length h with `e = u − p(h)`, p the polynomial of order m without correction, h₁, h₂ and h₃ the steps before:
///
/// `owed += c e h − cor h`,
/// `c = 1/2 | (h/3 + h₁/2)/(h + h₁) | (h²/4 + (2h₁ + h₂) h/3 + h₁ (h₁ + h₂)/2)/((h + h₁)(h + h₁ + h₂))` for order 0 | 1 | 2,
/// `c = (h³/5 + Σa h²/4 + Σab h/3 + abc/2)/((h + a)(h + b)(h + c))` for order 3, with a = h₁, b = h₁ + h₂, c = h₁ + h₂ + h₃;
///
/// in the next step `cor = clip(owed/h, ±|e|)` is added to the value of the polynomial. What is clipped stays owed. Nothing is given
/// back in the first four steps, and nothing is owed after an event that reaches the input.
#[derive(Clone, Debug)]
pub struct GiveBack {
    inputs: Vec<Debt>,
    steps: u64,
    /// h₁, h₂ and h₃, in s.
    past: [f64; 3],
}

/// What is owed to an input.
#[derive(Clone, Copy, Debug, Default)]
struct Debt {
    /// Its member is fed in a way that lets it follow, and its own outputs are not spoilt by the correction.
    takes: Takes,
    /// In its unit times seconds.
    owed: f64,
    /// |e| of the newest step.
    most: f64,
    /// Steps in which something was given back.
    given: u64,
}

/// Whether an input takes what is owed to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Takes {
    /// It does not.
    #[default]
    Never,
    /// It does.
    Always,
    /// Only while the feed-through of its member is identified well: now, or not now.
    Identified(bool),
}

/// Steps without correction at the start.
const OPENING: u64 = 4;
/// Feed-through counts as identified from this confidence on.
const SURE: f64 = 0.9;

impl GiveBack {
    /// For the inputs that `takes` names. Inputs of members in `refreshed`, or without feed-through, always take it; others while their
    /// feed-through is identified.
    pub fn new(network: &Network, refreshed: &[usize], takes: impl Fn(usize) -> bool) -> Self {
        let debt = |i: usize| {
            let s = network.owner_of_input[i];
            let takes = match takes(i) && network.wiring.is_coupled(i) {
                false => Takes::Never,
                true if refreshed.contains(&s) || !network.members[s].may_feed_through() => Takes::Always,
                true => Takes::Identified(false),
            };
            Debt { takes, ..Debt::default() }
        };
        GiveBack { inputs: (0..network.n_inputs).map(debt).collect(), steps: 0, past: [0.0; 3] }
    }

    fn correction(&self, i: usize, h: f64) -> f64 {
        let debt = &self.inputs[i];
        if self.steps < OPENING || !debt.takes.now() {
            return 0.0;
        }
        (debt.owed / h).clamp(-debt.most, debt.most)
    }
}

impl Takes {
    fn now(self) -> bool {
        matches!(self, Takes::Always | Takes::Identified(true))
    }
}

/// c: the integral of the defect of a hold of `order` over a step of `h`, relative to its value at the end times h; `past` are the steps
/// before.
fn share(order: u8, h: f64, past: [f64; 3]) -> f64 {
    let [h1, h2, h3] = past;
    match order {
        0 => 0.5,
        1 => (h / 3.0 + h1 / 2.0) / (h + h1),
        2 => (h * h / 4.0 + (2.0 * h1 + h2) * h / 3.0 + h1 * (h1 + h2) / 2.0) / ((h + h1) * (h + h1 + h2)),
        _ => {
            let (a, b, c) = (h1, h1 + h2, h1 + h2 + h3);
            let integral =
                h * (h * (h / 5.0 + (a + b + c) / 4.0) + (a * b + a * c + b * c) / 3.0) + a * b * c / 2.0;
            integral / ((h + a) * (h + b) * (h + c))
        }
    }
}

impl Checkpointed for GiveBack {
    fn save(&self, tape: &mut Checkpoint) {
        tape.push(self.steps as f64);
        tape.extend(&self.past);
        for debt in &self.inputs {
            tape.extend(&[f64::from(u8::from(debt.takes.now())), debt.owed, debt.most, debt.given as f64]);
        }
    }

    fn load(&mut self, tape: &mut Checkpoint) {
        self.steps = tape.pull() as u64;
        tape.fill(&mut self.past);
        for debt in &mut self.inputs {
            let now = tape.pull() != 0.0;
            if let Takes::Identified(sure) = &mut debt.takes {
                *sure = now;
            }
            (debt.owed, debt.most) = (tape.pull(), tape.pull());
            debt.given = tape.pull() as u64;
        }
    }
}

impl InputCorrection for GiveBack {
    fn needs_defects(&self) -> bool {
        true
    }

    fn apply(&self, macro_span: Span, _stage_span: Span, inputs: Range<usize>, delta: &mut [f64]) {
        for i in inputs {
            delta[i] = self.correction(i, macro_span.h);
        }
    }

    fn commit(&mut self, step: &StepView<'_>) {
        let Some(defects) = step.defects else { return };
        let h = step.span.h;
        let shares = [0, 1, 2, 3].map(|order| share(order, h, self.past));
        for (i, debt) in self.inputs.iter_mut().enumerate().filter(|(_, debt)| debt.takes != Takes::Never) {
            let e = step.fresh[i] - step.held_end[i];
            let correction = step.corrected_end[i] - step.held_end[i];
            debt.given += u64::from(correction != 0.0);
            debt.owed += h * (shares[defects.order[i] as usize] * e - correction);
            debt.most = e.abs();
            if !debt.owed.is_finite() {
                (debt.owed, debt.most) = (0.0, 0.0);
            }
        }
        self.past = [h, self.past[0], self.past[1]];
        self.steps += 1;
    }

    fn heed(&mut self, identifier: &Identifier) {
        for (i, debt) in self.inputs.iter_mut().enumerate() {
            if let Takes::Identified(sure) = &mut debt.takes {
                *sure = identifier.confidence_of_input(i) >= SURE;
            }
        }
    }

    fn restart(&mut self, reached: &Reached<'_>) {
        reached.for_each_sharp(self.inputs.len(), |i| self.inputs[i].owed = 0.0);
    }

    fn shares_of_use(&self) -> Vec<f64> {
        self.inputs.iter().map(|debt| debt.given as f64 / self.steps.max(1) as f64).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::share;

    /// ∫(u − p) over the step relative to h·(u − p) at its end, for u = t^(m+1) and the nodes 0, −h₁, −h₁ − h₂, …: by Boole's
    /// rule, which is exact up to degree 5.
    #[test]
    fn the_weight_is_that_of_the_defect_of_a_polynomial_of_one_order_more() {
        for (h, h1, h2, h3) in [(1.0, 1.0, 1.0, 1.0), (1.5, 1.0, 0.4, 0.7), (0.2, 1.0, 3.0, 2.0)] {
            let back = [0.0, h1, h1 + h2, h1 + h2 + h3];
            for order in 0..4 {
                let d = |t: f64| back[..=order].iter().map(|b| t + b).product::<f64>();
                let at = |k: f64| d(0.25 * k * h);
                let integral =
                    h / 90.0 * (7.0 * (at(0.0) + at(4.0)) + 32.0 * (at(1.0) + at(3.0)) + 12.0 * at(2.0));
                let expected = integral / (h * d(h));
                let got = share(order as u8, h, [h1, h2, h3]);
                assert!((got - expected).abs() < 1e-14, "order {order}, {h} {h1} {h2}: {got}, {expected}");
            }
        }
    }
}
