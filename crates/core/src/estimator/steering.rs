//! Tolerance steering: the bound of the jump norm follows what the jumps so far have come to.

use crate::checkpoint::{Checkpoint, Checkpointed};
use crate::network::Network;
use crate::step::StepView;

/// A factor on κ, from .05 to 1: every 20 steps from the 60th on `m ← m · clip((½ tol/(A/4))^.3, .8, 1.25)`.
///
/// A is the score of the [verdict](crate::observe::verdict) for the run so far, with the oscillations so far and coupling errors only:
/// it grows where errors of all steps add up, as in long undamped runs, and the bound shrinks with it. Constants:
/// docs/default-method.md, "Data used for the design".
#[derive(Clone, Debug)]
pub struct Steering {
    tolerance: f64,
    factor: f64,
    inputs: Vec<Input>,
    /// Which member each of them belongs to, and `(member, input)` whose oscillations count for that member.
    owners: Vec<u32>,
    linked: Vec<(u32, u32)>,
    /// `(input, output, gain)` whose output is read again at the end of the step.
    reread: Vec<(u32, u32, f64)>,
    /// Scratch: oscillations per member, what rereading changed per input.
    swings: Vec<f64>,
    changed: Vec<f64>,
    steps: u64,
    since_restart: u64,
    /// Σ h, in s.
    time: f64,
}

/// Running numbers of one input.
#[derive(Clone, Copy, Debug, Default)]
struct Input {
    input: u32,
    /// Its member feeds it through, and is not read again.
    is_stale: bool,
    mean: f64,
    m2: f64,
    low: f64,
    high: f64,
    travel: f64,
    /// Σ h db², db the mean defect of the last two steps; h and h·db of the last one.
    defect2: f64,
    h_last: f64,
    defect_last: f64,
    e2: f64,
    e_low: f64,
    e_high: f64,
    e_travel: f64,
    e_last: f64,
    /// Lag-1 correlation of e.
    product: f64,
    square: f64,
    /// Σ h g², g what rereading changed.
    stale2: f64,
}

const EVERY: u64 = 20;
const FROM: u64 = 60;
/// The part of the tolerance that the estimate aims at.
const AIM: f64 = 0.5;
const POWER: f64 = 0.3;
const LEAST: f64 = 0.05;
/// Steps without a past: their defects say nothing about later ones.
const SETTLING: u64 = 3;
/// The share of a jump that is the mean defect of a hold of order 0 to 3 (equal steps).
const MEAN_SHARE: [f64; 4] = [1.0 / 2.0, 5.0 / 12.0, 3.0 / 8.0, 251.0 / 720.0];

impl Steering {
    /// Of the inputs of `network` that `judged` names; members in `refreshed` are read again after every step.
    pub fn new(
        tolerance: f64,
        network: &Network,
        refreshed: &[usize],
        judged: impl IntoIterator<Item = usize>,
    ) -> Self {
        let judged: Vec<usize> = judged.into_iter().collect();
        let is_refreshed = |s: usize| refreshed.contains(&s);
        let input = |&i: &usize| {
            let s = network.owner_of_input[i];
            Input {
                input: i as u32,
                is_stale: network.members[s].may_feed_through() && !is_refreshed(s),
                low: f64::INFINITY,
                high: f64::NEG_INFINITY,
                e_low: f64::INFINITY,
                e_high: f64::NEG_INFINITY,
                ..Input::default()
            }
        };
        let (mut linked, mut reread) = (Vec::new(), Vec::new());
        for (k, &i) in judged.iter().enumerate() {
            linked.push((network.owner_of_input[i] as u32, k as u32));
            for (output, gain) in network.wiring.sources(i) {
                let s = network.owner_of_output[output];
                linked.push((s as u32, k as u32));
                if is_refreshed(s) {
                    reread.push((k as u32, output as u32, gain));
                }
            }
        }
        Steering {
            tolerance,
            factor: 1.0,
            inputs: judged.iter().map(input).collect(),
            owners: judged.iter().map(|&i| network.owner_of_input[i] as u32).collect(),
            linked,
            reread,
            swings: vec![0.0; network.members.len()],
            changed: vec![0.0; judged.len()],
            steps: 0,
            since_restart: 0,
            time: 0.0,
        }
    }

    /// The factor on κ.
    pub fn factor(&self) -> f64 {
        self.factor
    }

    /// What follows has no past.
    pub(super) fn restart(&mut self) {
        self.since_restart = 0;
    }

    /// Learns from an accepted step.
    pub(super) fn commit(&mut self, step: &StepView<'_>) {
        let Some(defects) = step.defects else { return };
        let h = step.span.h;
        self.time += h;
        self.changed.fill(0.0);
        for &(k, output, gain) in &self.reread {
            let o = output as usize;
            self.changed[k as usize] += gain * (step.y_fresh[o] - step.y_step[o]);
        }
        let settled = self.since_restart >= SETTLING;
        for (input, changed) in self.inputs.iter_mut().zip(&self.changed) {
            let i = input.input as usize;
            let (new, old) = (step.fresh[i], step.fresh[i] - defects.by_order[0][i]);
            input.see(h, self.time, new, old);
            input.stale2 += h * changed * changed;
            let e = new - step.corrected_end[i];
            let correction = step.corrected_end[i] - step.held_end[i];
            let share = MEAN_SHARE[defects.order[i] as usize];
            input.jump(h, e, correction - share * (e + correction), settled, self.since_restart > SETTLING);
        }
        self.since_restart += 1;
        self.steps += 1;
        if self.steps >= FROM && self.steps.is_multiple_of(EVERY) {
            let error = self.score() / 4.0;
            if error > 0.0 && error.is_finite() {
                let wanted = (AIM * self.tolerance / error).powf(POWER).clamp(0.8, 1.25);
                self.factor = (self.factor * wanted).clamp(LEAST, 1.0);
            }
        }
    }

    /// A of the run so far.
    fn score(&mut self) -> f64 {
        self.swings.fill(0.0);
        for &(member, k) in &self.linked {
            let swings = &mut self.swings[member as usize];
            *swings = swings.max(self.inputs[k as usize].swings());
        }
        let scores = self.inputs.iter().zip(&self.owners);
        scores.fold(0.0, |most: f64, (input, &s)| most.max(input.score(self.time, self.swings[s as usize])))
    }
}

impl Input {
    fn see(&mut self, h: f64, time: f64, new: f64, old: f64) {
        let off = new - self.mean;
        self.mean += h / time * off;
        self.m2 += h * off * (new - self.mean);
        self.low = self.low.min(new).min(old);
        self.high = self.high.max(new).max(old);
        self.travel += (new - old).abs();
    }

    /// The jump `e` after a step, and the mean `defect` of what was held over it.
    fn jump(&mut self, h: f64, e: f64, defect: f64, settled: bool, follows: bool) {
        if !settled {
            return;
        }
        if follows {
            let mean = (h * defect + self.h_last * self.defect_last) / (h + self.h_last);
            self.defect2 += h * mean * mean;
            self.e_travel += (e - self.e_last).abs();
            self.product += e * self.e_last;
            self.square += 0.5 * (e * e + self.e_last * self.e_last);
        }
        self.e2 += h * e * e;
        self.e_low = self.e_low.min(e);
        self.e_high = self.e_high.max(e);
        (self.e_last, self.h_last, self.defect_last) = (e, h, defect);
    }

    fn swings(&self) -> f64 {
        let ratio = |travel: f64, low: f64, high: f64| if high > low { travel / (high - low) } else { 0.0 };
        (ratio(self.travel, self.low, self.high) * ratio(self.e_travel, self.e_low, self.e_high)).sqrt()
    }

    fn score(&self, time: f64, swings: f64) -> f64 {
        let rms = |sum: f64| (sum / time).sqrt();
        let spread = rms(self.m2.max(0.0));
        if spread <= 1e-12 * self.high.abs().max(self.low.abs()) {
            return 0.0;
        }
        let stale = MEAN_SHARE[2] * rms(self.stale2) + if self.is_stale { rms(self.e2) } else { 0.0 };
        let correlation = if self.square > 0.0 { (self.product / self.square).clamp(-1.0, 1.0) } else { 1.0 };
        (rms(self.defect2) + stale) / spread * (1.0 + swings) * 10f64.powf(0.4 * (correlation - 1.0))
    }

    fn numbers(&mut self) -> [&mut f64; 16] {
        [
            &mut self.mean,
            &mut self.m2,
            &mut self.low,
            &mut self.high,
            &mut self.travel,
            &mut self.defect2,
            &mut self.h_last,
            &mut self.defect_last,
            &mut self.e2,
            &mut self.e_low,
            &mut self.e_high,
            &mut self.e_travel,
            &mut self.e_last,
            &mut self.product,
            &mut self.square,
            &mut self.stale2,
        ]
    }
}

impl Checkpointed for Steering {
    fn save(&self, tape: &mut Checkpoint) {
        tape.extend(&[self.factor, self.steps as f64, self.since_restart as f64, self.time]);
        for mut input in self.inputs.iter().copied() {
            input.numbers().into_iter().for_each(|x| tape.push(*x));
        }
    }

    fn load(&mut self, tape: &mut Checkpoint) {
        self.factor = tape.pull();
        self.steps = tape.pull() as u64;
        self.since_restart = tape.pull() as u64;
        self.time = tape.pull();
        for input in &mut self.inputs {
            input.numbers().into_iter().for_each(|x| *x = tape.pull());
        }
    }
}
