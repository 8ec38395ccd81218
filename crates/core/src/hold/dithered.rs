//! A hold with a tiny dither on some inputs, from which feed-through is identified at constant steps.

use super::{HeldInputs, Hold};
use crate::checkpoint::{Checkpoint, Checkpointed};
use crate::feed_through::Reached;
use crate::step::StepView;
use crate::subsystem::Span;
use crate::time::history::History;
use std::ops::Range;

/// Another hold, with ± `amplitude` · h · rms(du/dt) added to what some inputs are given on a step.
///
/// With a constant step and a zero-order hold a position is the sum of its velocities to the last digit, so that a gain from it
/// cannot be told from an integral of the velocity; a dither of its own on every input makes the difference. What counts as held
/// is the value without it.
pub struct Dithered {
    inner: Box<dyn Hold>,
    amplitude: f64,
    /// Which inputs are dithered.
    chosen: Vec<bool>,
    /// Smoothed squares of du/dt.
    rate: Vec<f64>,
    /// The sign of the dither, from a sequence of bits.
    bits: Bits,
}

/// A sequence of bits by Marsaglia's xorshift, always the same.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bits(u64);

impl Bits {
    pub const SEED: Bits = Bits(0x2545_F491_4F6C_DD1D);

    pub fn advance(&mut self) {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
    }

    /// The sign for input `i`: each has its own bit of the sequence.
    pub fn sign(self, i: usize) -> f64 {
        if (self.0.rotate_left(i as u32 * 7) >> 63) == 0 { 1.0 } else { -1.0 }
    }

    pub fn save(self, tape: &mut Checkpoint) {
        tape.push(f64::from_bits(self.0));
    }

    pub fn load(tape: &mut Checkpoint) -> Self {
        Bits(tape.pull().to_bits())
    }
}

/// Smooths the square of du/dt, from what a zero-order hold misses in a step of length `h`.
pub(super) fn smooth_rate(rate: &mut f64, defect: f64, h: f64) {
    let slope = defect / h;
    *rate = if *rate == 0.0 { slope * slope } else { 0.95 * *rate + 0.05 * slope * slope };
}

impl Dithered {
    /// `inner` with a dither on the inputs that are `chosen`; `amplitude` is its share of what they change by in a step.
    pub fn new(inner: Box<dyn Hold>, amplitude: f64, chosen: Vec<bool>) -> Self {
        Dithered { inner, amplitude, rate: vec![0.0; chosen.len()], chosen, bits: Bits::SEED }
    }
}

impl Checkpointed for Dithered {
    fn save(&self, tape: &mut Checkpoint) {
        self.inner.save(tape);
        tape.extend(&self.rate);
        self.bits.save(tape);
    }

    fn load(&mut self, tape: &mut Checkpoint) {
        self.inner.load(tape);
        tape.fill(&mut self.rate);
        self.bits = Bits::load(tape);
    }
}

impl Hold for Dithered {
    fn max_order(&self) -> u8 {
        self.inner.max_order()
    }

    fn orders(&self) -> &[u8] {
        self.inner.orders()
    }

    fn order_held(&self, nodes: &History, i: usize) -> u8 {
        self.inner.order_held(nodes, i)
    }

    fn orders_vary(&self) -> bool {
        self.inner.orders_vary()
    }

    fn needs_defects(&self) -> bool {
        true
    }

    /// What is given differs from what counts as held.
    fn gives_means(&self) -> bool {
        true
    }

    fn order_counts(&self) -> &[[u64; 3]] {
        self.inner.order_counts()
    }

    fn eval(&self, nodes: &History, span: Span, inputs: Range<usize>, out: &mut HeldInputs) {
        if !self.inner.gives_means() {
            out.lift[inputs.clone()].fill(0.0);
        }
        self.inner.eval(nodes, span, inputs.clone(), out);
        for i in inputs.filter(|&i| self.chosen[i]) {
            let dither = self.bits.sign(i) * self.amplitude * span.h * self.rate[i].sqrt();
            out.value[i] += dither;
            out.lift[i] -= dither;
        }
    }

    fn commit(&mut self, step: &StepView<'_>) {
        self.inner.commit(step);
        let Some(defects) = step.defects else { return };
        for (rate, &defect) in self.rate.iter_mut().zip(&defects.by_order[0]) {
            smooth_rate(rate, defect, step.span.h);
        }
        self.bits.advance();
    }

    fn restart(&mut self, reached: &Reached<'_>) {
        self.inner.restart(reached);
    }
}
