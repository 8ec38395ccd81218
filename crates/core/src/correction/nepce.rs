//! NEPCE: the defect of the last step's inputs is added to the next ones.

use super::InputCorrection;
use crate::checkpoint::{Checkpoint, Checkpointed};
use crate::feed_through::FeedThroughPair;
use crate::feed_through::Reached;
use crate::network::{Network, graph};
use crate::numerics::solve;
use crate::step::StepView;
use crate::subsystem::Span;
use std::ops::Range;

/// How the correction scales when the step size changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum StepRatio {
    /// `(h/h_last)^(m+1)`: the defect of a hold of order m grows like h^(m+1).
    #[default]
    Growth,
    /// 1.
    None,
    /// `h_last/h`: what sadjina2020 eq. 11 says when read literally.
    Literal,
}

/// By which rule the integral of the defect over the last step is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum DefectRule {
    /// The defect at the end of the step: what the papers' tables have.
    #[default]
    End,
    /// `(1/h) ∫ (L y - ũ) dτ` from all outputs that are known inside the step: [`StepView::mean_defect`].
    Mean,
}

/// `δu = α · ratio · M · e`, `e = L y - ũ(t_i)`, with ũ the corrected input that was held (sadjina2020 eq. 11).
///
/// With [`DefectRule::Mean`] e is the mean over the step, as the equation says. Where an input moves by s per step under a zero-order
/// hold, `e = s - δu` at the end and `s/2 - δu` in the mean, so that δu settles at `s α/(1+α)` and at half of that; the mean of
/// what a constant lacks is `s/2`, which the end gives with α = 1. The mean is for outputs that move within a step.
///
/// `M = (1 - L J)^-1` if feed-through is taken into account (eq. 12), else 1. M is never formed: `e' = e + L J e'`
/// is substituted along the feed-through order; loops are solved as small dense blocks.
#[derive(Clone, Debug)]
pub struct Nepce {
    /// α per input.
    pub alpha: Vec<f64>,
    /// How it scales with the step size.
    pub ratio: StepRatio,
    /// What the defect of a step is.
    pub rule: DefectRule,
    /// m + 1 per input, with m the order that was really held in the last step.
    power: Vec<i32>,
    /// The same m + 1 for all inputs.
    uniform_power: Option<i32>,
    blocks: Vec<Block>,
    defect: Vec<f64>,
    h_last: f64,
    /// Per input: the jump before, smoothed products of neighbouring jumps, and smoothed squares.
    lasting: Option<Vec<[f64; 3]>>,
}

/// What the past weighs in the correlation of neighbouring jumps.
const MEMORY: f64 = 0.9;

/// Inputs whose defects depend on each other (one input, unless there is an algebraic loop).
#[derive(Clone, Debug)]
struct Block {
    inputs: Vec<usize>,
    links: Vec<Link>,
    /// Dense system of a loop, n × (n+1), else empty.
    matrix: Vec<f64>,
}

/// `e'[row] += gain · J[pair] · e'[column]`.
#[derive(Clone, Copy, Debug)]
struct Link {
    row: usize,
    gain: f64,
    pair: usize,
    column: usize,
}

impl Nepce {
    /// α of each input; the feed-through of pair p of the network is taken into account if `uses[p]`.
    pub fn new(network: &Network, alpha: Vec<f64>, ratio: StepRatio, uses: &[bool]) -> Self {
        Nepce {
            alpha,
            ratio,
            rule: DefectRule::default(),
            uniform_power: Some(1),
            power: vec![1; network.n_inputs],
            blocks: blocks(network, uses),
            defect: vec![0.0; network.n_inputs],
            h_last: 0.0,
            lasting: None,
        }
    }

    /// α is multiplied by the correlation of neighbouring jumps, between 0 and 1: what alternates or is noise is not given back.
    pub fn set_gated(&mut self, gated: bool) {
        self.lasting = gated.then(|| vec![[0.0; 3]; self.defect.len()]);
    }

    fn scale(&self, h: f64, power: i32) -> f64 {
        match self.ratio {
            _ if self.h_last == 0.0 => 0.0,
            StepRatio::Growth => (h / self.h_last).powi(power),
            StepRatio::None => 1.0,
            StepRatio::Literal => self.h_last / h,
        }
    }
}

/// Blocks of inputs with feed-through between them, in the order in which they can be substituted.
fn blocks(network: &Network, uses: &[bool]) -> Vec<Block> {
    let mut pairs_of: Vec<Vec<(usize, usize)>> = vec![Vec::new(); network.n_outputs];
    for (pair, &FeedThroughPair { output, input, .. }) in network.feed_through.iter().enumerate() {
        if uses[pair] {
            pairs_of[output].push((pair, input));
        }
    }
    let mut links: Vec<Vec<Link>> = vec![Vec::new(); network.n_inputs];
    for (i, list) in links.iter_mut().enumerate() {
        for (output, gain) in network.wiring.sources(i) {
            list.extend(pairs_of[output].iter().map(|&(pair, column)| Link { row: i, gain, pair, column }));
        }
    }
    let edges: Vec<Vec<usize>> = links.iter().map(|l| l.iter().map(|link| link.column).collect()).collect();
    graph::components(&edges)
        .into_iter()
        .filter(|component| component.iter().any(|&i| !links[i].is_empty()))
        .map(|inputs| {
            let n = inputs.len();
            let matrix = if graph::is_loop(&inputs, &edges) { vec![0.0; n * (n + 1)] } else { Vec::new() };
            let links = inputs.iter().flat_map(|&i| links[i].iter().copied()).collect();
            Block { inputs, links, matrix }
        })
        .collect()
}

impl Block {
    /// Replaces the block's entries of `e` by those of `(1 - L J)^-1 e`, earlier blocks being done.
    fn substitute(&mut self, e: &mut [f64], gain_of: impl Fn(usize) -> f64) {
        let n = self.inputs.len();
        if self.matrix.is_empty() {
            for &Link { row, gain, pair, column } in &self.links {
                e[row] += gain * gain_of(pair) * e[column];
            }
            return;
        }
        let width = n + 1;
        self.matrix.fill(0.0);
        for (r, &i) in self.inputs.iter().enumerate() {
            self.matrix[r * width + r] = 1.0;
            self.matrix[r * width + n] = e[i];
        }
        for &Link { row, gain, pair, column } in &self.links {
            // Inputs are sorted inside a component.
            let Ok(r) = self.inputs.binary_search(&row) else { continue };
            match self.inputs.binary_search(&column) {
                Ok(c) => self.matrix[r * width + c] -= gain * gain_of(pair),
                Err(_) => self.matrix[r * width + n] += gain * gain_of(pair) * e[column],
            }
        }
        if solve(&mut self.matrix, n) {
            for (r, &i) in self.inputs.iter().enumerate() {
                e[i] = self.matrix[r * width + n];
            }
        }
    }
}

impl Checkpointed for Nepce {
    fn save(&self, tape: &mut Checkpoint) {
        tape.push(self.h_last);
        tape.extend(&self.defect);
        self.power.iter().for_each(|&p| tape.push(f64::from(p)));
        tape.push(self.uniform_power.map_or(0.0, f64::from));
        self.lasting.iter().flatten().for_each(|list| tape.extend(list));
    }

    fn load(&mut self, tape: &mut Checkpoint) {
        self.h_last = tape.pull();
        tape.fill(&mut self.defect);
        self.power.iter_mut().for_each(|p| *p = tape.pull() as i32);
        self.uniform_power = Some(tape.pull() as i32).filter(|&p| p > 0);
        self.lasting.iter_mut().flatten().for_each(|list| tape.fill(list));
    }
}

impl InputCorrection for Nepce {
    fn needs_feed_through(&self) -> bool {
        !self.blocks.is_empty()
    }

    fn needs_mean_defect(&self) -> bool {
        self.rule == DefectRule::Mean
    }

    fn apply(&self, macro_span: Span, _stage_span: Span, inputs: Range<usize>, delta: &mut [f64]) {
        let (alpha, defect) = (&self.alpha[inputs.clone()], &self.defect[inputs.clone()]);
        match self.uniform_power {
            Some(power) => {
                let scale = self.scale(macro_span.h, power);
                for (d, (a, e)) in delta[inputs].iter_mut().zip(alpha.iter().zip(defect)) {
                    *d = a * scale * e;
                }
            }
            None => {
                for i in inputs {
                    delta[i] = self.alpha[i] * self.scale(macro_span.h, self.power[i]) * self.defect[i];
                }
            }
        }
    }

    fn commit(&mut self, step: &StepView<'_>) {
        match step.mean_defect.filter(|_| self.rule == DefectRule::Mean) {
            Some(mean) => self.defect.copy_from_slice(mean),
            None => {
                let ends = step.fresh.iter().zip(step.corrected_end);
                self.defect.iter_mut().zip(ends).for_each(|(e, (fresh, held))| *e = fresh - held);
            }
        }
        if let Some(lasting) = &mut self.lasting {
            for (e, [last, product, square]) in self.defect.iter_mut().zip(lasting) {
                *product = MEMORY * *product + (1.0 - MEMORY) * *e * *last;
                *square = MEMORY * *square + (1.0 - MEMORY) * 0.5 * (*e * *e + *last * *last);
                *last = *e;
                *e *= if *square > 0.0 { (*product / *square).clamp(0.0, 1.0) } else { 0.0 };
            }
        }
        for (e, &external) in self.defect.iter_mut().zip(step.external) {
            if external {
                *e = 0.0;
            }
        }
        for block in &mut self.blocks {
            block.substitute(&mut self.defect, |pair| step.feed_through.map_or(0.0, |d| d[pair]));
        }
        if let Some(orders) = step.held_order {
            self.power.iter_mut().zip(orders).for_each(|(power, &m)| *power = i32::from(m) + 1);
            let first = self.power.first().copied().unwrap_or(1);
            self.uniform_power = self.power.iter().all(|&p| p == first).then_some(first);
        }
        self.h_last = step.span.h;
    }

    fn restart(&mut self, reached: &Reached<'_>) {
        reached.for_each_sharp(self.defect.len(), |i| {
            self.defect[i] = 0.0;
            self.lasting.iter_mut().for_each(|lists| lists[i] = [0.0; 3]);
        });
    }
}
