//! A hold whose order follows each signal: as high as it pays, as low as it must be.

use super::dithered::{Bits, smooth_rate};
use super::polynomial::{Weights, weights};
use super::{HeldInputs, Hold};
use crate::checkpoint::{Checkpoint, Checkpointed};
use crate::feed_through::Reached;
use crate::step::StepView;
use crate::subsystem::Span;
use crate::time::history::{History, NODES};
use std::ops::Range;

/// What a subsystem is given of a held input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputFeed {
    /// Up to so many derivatives: it follows the polynomial itself.
    Derivatives(u8),
    /// The polynomial, which it follows in two sub-steps: see [`crate::subsystem::radau::RadauSubstep`].
    Radau,
    /// The same in two halves: see [`crate::subsystem::halves::HalvesSubstep`].
    Halves,
    /// The same in one step, by a mean that is made up for: see [`crate::subsystem::compensated::CompensatedMean`].
    Compensated,
    /// The value at the start of the span.
    Value,
    /// The mean over the span: what the polynomial moves, the mean moves as well.
    Mean,
    /// The mean with a tiny dither, from which feed-through is identified.
    Dithered,
}

impl InputFeed {
    /// Whether the subsystem follows the polynomial, itself or by what is wrapped around it.
    pub fn follows(self) -> bool {
        use InputFeed::{Compensated, Derivatives, Halves, Radau};
        matches!(self, Derivatives(_) | Radau | Halves | Compensated)
    }

    /// Whether the subsystem is given a mean, which lacks what the input does inside a step.
    pub fn is_mean(self) -> bool {
        matches!(self, InputFeed::Mean | InputFeed::Dithered)
    }
}

/// Polynomials of order 0, 1 or 2, chosen input by input from the jumps that each order would have made.
///
/// `J_m` are the smoothed jumps of the orders: up if `J_{m+1} < J_m / 2`, down if `J_{m-1} < J_m`.
#[derive(Clone, Debug)]
pub struct VariableOrder {
    order: Vec<u8>,
    /// The highest order of each input.
    limit: Vec<u8>,
    /// Inputs that follow known signals: nothing is predicted of them.
    known: Vec<bool>,
    feed: Vec<InputFeed>,
    smoothed: Vec<[f64; 3]>,
    /// Smoothed squares of du/dt, for the dither.
    rate: Vec<f64>,
    dithers: bool,
    means: bool,
    /// The sign of the dither, from a sequence of bits.
    bits: Bits,
    counts: Vec<[u64; 3]>,
}

/// What the past weighs in a smoothed jump.
const MEMORY: f64 = 0.8;
/// The dither over h·rms(du/dt).
const DITHER: f64 = 0.01;

impl VariableOrder {
    /// `limit[i]` is the highest order of input i, `feed[i]` what its subsystem is given; `known` inputs follow known signals.
    pub fn new(mut limit: Vec<u8>, feed: Vec<InputFeed>, known: Vec<bool>) -> Self {
        let n = limit.len();
        for (limit, feed) in limit.iter_mut().zip(&feed) {
            *limit = match feed {
                InputFeed::Derivatives(k) => (*limit).min(*k).min(2),
                InputFeed::Value => 0,
                _ => (*limit).min(2),
            };
        }
        let mut hold = VariableOrder {
            order: vec![0; n],
            limit,
            known,
            smoothed: vec![[0.0; 3]; n],
            rate: vec![0.0; n],
            dithers: feed.contains(&InputFeed::Dithered),
            means: feed.iter().any(|f| matches!(f, InputFeed::Mean | InputFeed::Dithered)),
            feed,
            bits: Bits::SEED,
            counts: vec![[0; 3]; n],
        };
        hold.restart(&Reached::Everything);
        hold
    }

    fn dither(&self, i: usize, h: f64) -> f64 {
        self.bits.sign(i) * DITHER * h * self.rate[i].sqrt()
    }
}

impl Checkpointed for VariableOrder {
    fn save(&self, tape: &mut Checkpoint) {
        self.order.iter().for_each(|&m| tape.push(f64::from(m)));
        self.smoothed.iter().for_each(|j| tape.extend(j));
        tape.extend(&self.rate);
        self.bits.save(tape);
        self.counts.iter().flatten().for_each(|&n| tape.push(n as f64));
    }

    fn load(&mut self, tape: &mut Checkpoint) {
        self.order.iter_mut().for_each(|m| *m = tape.pull() as u8);
        self.smoothed.iter_mut().for_each(|j| tape.fill(j));
        tape.fill(&mut self.rate);
        self.bits = Bits::load(tape);
        self.counts.iter_mut().flatten().for_each(|n| *n = tape.pull() as u64);
    }
}

impl Hold for VariableOrder {
    fn max_order(&self) -> u8 {
        2
    }

    fn orders(&self) -> &[u8] {
        &self.order
    }

    fn order_held(&self, nodes: &History, i: usize) -> u8 {
        self.order[i].min(nodes.count(i).saturating_sub(1) as u8)
    }

    fn orders_vary(&self) -> bool {
        true
    }

    fn needs_defects(&self) -> bool {
        true
    }

    fn gives_means(&self) -> bool {
        self.means
    }

    fn order_counts(&self) -> &[[u64; 3]] {
        &self.counts
    }

    fn eval(&self, nodes: &History, span: Span, inputs: Range<usize>, out: &mut HeldInputs) {
        let available = (nodes.len() as u8 - 1).min(2);
        let tables: [Weights; 3] = [0, 1, 2].map(|m| weights(nodes, span.start, available.min(m)));
        let (a, b, c) = (nodes.values(0), nodes.values(1), nodes.values(2));
        let h = span.h;
        for i in inputs {
            let order = self.order[i];
            let w = &tables[order as usize];
            // Values of nodes that do not count may be anything: their weights are 0, and so are they.
            let m = order.min(available);
            let (a, b, c) = (a[i], if m > 0 { b[i] } else { 0.0 }, if m > 1 { c[i] } else { 0.0 });
            let at = |row: &[f64; NODES]| row[0] * a + row[1] * b + row[2] * c;
            let (value, slope, curvature) = (at(&w[0]), at(&w[1]), at(&w[2]));
            let end = value + h * (slope + 0.5 * h * curvature);
            let given = match self.feed[i] {
                feed if feed.follows() => {
                    (out.value[i], out.slope[i], out.curvature[i]) = (value, slope, curvature);
                    end
                }
                InputFeed::Value => {
                    (out.value[i], out.slope[i], out.curvature[i]) = (value, 0.0, 0.0);
                    end
                }
                feed => {
                    let mut mean = value + h * (0.5 * slope + h * curvature / 6.0);
                    if feed == InputFeed::Dithered {
                        mean += self.dither(i, h);
                    }
                    (out.value[i], out.slope[i], out.curvature[i]) = (mean, 0.0, 0.0);
                    mean
                }
            };
            if self.means {
                out.lift[i] = end - given;
            }
        }
    }

    fn commit(&mut self, step: &StepView<'_>) {
        let Some(defects) = step.defects else { return };
        let [zero, one, two, _] = &defects.by_order;
        let n = self.order.len();
        let (zero, one, two, used) = (&zero[..n], &one[..n], &two[..n], &defects.order[..n]);
        for i in 0..n {
            self.counts[i][used[i] as usize] += 1;
            let j = &mut self.smoothed[i];
            let new = [zero[i].abs(), one[i].abs(), two[i].abs()];
            for (smoothed, new) in j.iter_mut().zip(new) {
                *smoothed = MEMORY * *smoothed + (1.0 - MEMORY) * new;
            }
            let m = self.order[i] as usize;
            if self.known[i] {
                continue;
            }
            if m < self.limit[i] as usize && j[m + 1] < 0.5 * j[m] {
                self.order[i] += 1;
            } else if m > 0 && j[m - 1] < j[m] {
                self.order[i] -= 1;
            }
        }
        if self.dithers {
            for (rate, jump) in self.rate.iter_mut().zip(zero) {
                smooth_rate(rate, *jump, step.span.h);
            }
            self.bits.advance();
        }
    }

    fn restart(&mut self, reached: &Reached<'_>) {
        reached.for_each_sharp(self.order.len(), |i| {
            self.order[i] = if self.known[i] { self.limit[i] } else { 0 };
            self.smoothed[i] = [0.0; 3];
        });
    }
}
