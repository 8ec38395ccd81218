//! The longest step that the motion of the inputs allows, whatever the length of the run.

use crate::checkpoint::{Checkpoint, Checkpointed};
use crate::step::StepView;

/// `h_c = θ/ω · (1 + (11/(ω t))²)`: about 21 points in every oscillation, `ω = max √(R/V)` over the inputs, t the time since the start.
///
/// Per input and accepted step, `mid` the mean of the input at both ends, ν its noise, ω that of the step before:
///
/// `λ = max(h/(t + h), 1 − exp(−min(h ω, π)/10))`, `m += λ (mid − m)`, `V += λ ((mid − m)² − V)`,
/// `R += λ ((max(0, |Δu| − 4ν)/h)² − R)`.
///
/// It blocks growth and never shrinks: `h⁺ = min(h⁺, max(h_c, h))`. While the error norm steers, it is inert; it holds the last known
/// frequency through decay, where a norm relative to the range so far would let steps grow beyond any oscillation. Constants:
/// docs/default-method.md, "Data used for the design".
#[derive(Clone, Debug)]
pub struct Ceiling {
    inputs: Vec<Motion>,
    /// Σ h, in s.
    elapsed: f64,
    /// The longest step while nothing has moved, in s.
    rest: f64,
    /// The shortest step but at the start, in s.
    least: f64,
    /// The largest ω, in rad/s; 0 while nothing has moved.
    omega: f64,
    /// Steps whose successor it kept from growing.
    held: u64,
    is_noisy: bool,
}

/// What is known of the motion of an input.
#[derive(Clone, Copy, Debug, Default)]
struct Motion {
    input: u32,
    mean: f64,
    /// V, in the square of its unit.
    variance: f64,
    /// R, in the square of its unit per second.
    rate: f64,
    low: f64,
    high: f64,
}

/// θ, in rad per step.
const ANGLE: f64 = 0.3;
/// While fewer oscillations than about so many radians have been seen, ω is not known well, and the ceiling is higher.
const SEEN: f64 = 11.0;
/// The memory of m, V and R, in rad.
const MEMORY: f64 = 10.0;
/// The fastest oscillation that steps can show, in rad per step. What seems faster, as after a jump in a tiny step, would follow every
/// change, find nothing left of it and seem faster still.
const FASTEST: f64 = std::f64::consts::PI;
/// An input moves if its range is so many times its noise; changes below so many times the noise are noise.
const MOVED: f64 = 20.0;
const NOISE: f64 = 4.0;
/// The shortest step over the time since the start.
const LEAST: f64 = 1e-7;
/// In the opening, the shortest step over the time so far.
const START: f64 = 0.1;
/// With noise, the shortest step over the longest at rest.
const LEAST_WITH_NOISE: f64 = 1e-4;
/// After an event before which nothing had moved, steps begin with this share of what the controller begins with: its size says
/// nothing about the motion to come.
const FROM_REST: f64 = 0.01;

impl Ceiling {
    /// The opening of a run, in shortest steps. Ranges are still almost nothing, round-off is as large, and what an input lacks in that
    /// time is nothing to the run.
    pub const OPENING: f64 = 100.0;

    /// Of these inputs; steps are at most `rest` seconds long while nothing has moved, and at least `least` seconds but at the start.
    pub fn new(inputs: impl IntoIterator<Item = usize>, rest: f64, least: f64) -> Self {
        let motion = |i: usize| Motion {
            input: i as u32,
            low: f64::INFINITY,
            high: f64::NEG_INFINITY,
            ..Motion::default()
        };
        Ceiling {
            inputs: inputs.into_iter().map(motion).collect(),
            elapsed: 0.0,
            rest,
            least,
            omega: 0.0,
            held: 0,
            is_noisy: false,
        }
    }

    /// The longest step now, in s.
    pub fn longest(&self) -> f64 {
        if self.omega == 0.0 {
            return self.rest;
        }
        let seen = SEEN / (self.omega * self.elapsed);
        ANGLE / self.omega * (1.0 + seen * seen)
    }

    /// Whether the run is in its opening.
    pub fn is_opening(&self) -> bool {
        self.elapsed < Self::OPENING * self.least
    }

    /// The shortest step that makes sense now, in s: an input that is wrong by all of its range for that long changes what it has moved
    /// so far by 1e-7. Where inputs jump all the time, shorter steps would only make them jump more often. With noise, tiny steps say
    /// nothing about the motion: they are no shorter than 1e-4 of those at rest.
    pub fn shortest(&self) -> f64 {
        let with_noise = if self.is_noisy { LEAST_WITH_NOISE * self.rest } else { 0.0 };
        let at_least = if self.is_opening() { START * self.elapsed } else { self.least };
        (LEAST * self.elapsed).max(with_noise).max(at_least)
    }

    /// What a controller wishes after steps of `h`, no longer than the ceiling unless `h` itself was, and no shorter than makes sense.
    pub fn limit(&mut self, wish: f64, h: f64) -> f64 {
        let most = self.longest().max(h);
        self.held += u64::from(wish > most);
        wish.min(most).max(self.shortest())
    }

    /// How many accepted steps were followed by a shorter one than the controller wished.
    pub fn held(&self) -> u64 {
        self.held
    }

    /// The size to go on with after an event, where a controller wants `h`.
    pub fn restart(&self, h: f64, floor: f64) -> f64 {
        if self.omega == 0.0 { (FROM_REST * h).max(floor) } else { h }
    }

    /// Learns from an accepted step; `noise` of every input, empty if it is not looked for. A step that `crossed` a discontinuity says
    /// nothing about the motion: the shorter it is, the faster its inputs would seem.
    pub fn commit(&mut self, step: &StepView<'_>, noise: &[f64], crossed: bool) {
        let Some(defects) = step.defects else { return };
        let h = step.span.h;
        let share = h / (self.elapsed + h);
        let mut fastest = 0.0f64;
        self.is_noisy = noise.iter().any(|&noise| noise > 0.0);
        for motion in &mut self.inputs {
            let i = motion.input as usize;
            let noise = noise.get(i).copied().unwrap_or(0.0);
            let (new, change) = (step.fresh[i], defects.by_order[0][i]);
            let lambda = match motion.omega() {
                _ if self.elapsed == 0.0 => 1.0,
                omega if crossed && omega > 0.0 => 0.0,
                omega => share.max(-(-(h * omega).min(FASTEST) / MEMORY).exp_m1()),
            };
            let middle = new - 0.5 * change;
            motion.mean += lambda * (middle - motion.mean);
            let off = middle - motion.mean;
            let slope = (change.abs() - NOISE * noise).max(0.0) / h;
            motion.variance += lambda * (off * off - motion.variance);
            motion.rate += lambda * (slope * slope - motion.rate);
            motion.low = motion.low.min(new).min(new - change);
            motion.high = motion.high.max(new).max(new - change);
            if motion.high - motion.low > MOVED * noise {
                fastest = fastest.max(motion.omega());
            }
        }
        self.elapsed += h;
        self.omega = fastest;
    }
}

impl Motion {
    /// In rad/s; 0 while it has not moved, or where that is not a number.
    fn omega(&self) -> f64 {
        let omega = (self.rate / self.variance).sqrt();
        if omega.is_finite() { omega } else { 0.0 }
    }
}

impl Checkpointed for Ceiling {
    fn save(&self, tape: &mut Checkpoint) {
        tape.extend(&[self.elapsed, self.omega, self.held as f64, f64::from(u8::from(self.is_noisy))]);
        for motion in &self.inputs {
            tape.extend(&[motion.mean, motion.variance, motion.rate, motion.low, motion.high]);
        }
    }

    fn load(&mut self, tape: &mut Checkpoint) {
        self.elapsed = tape.pull();
        self.omega = tape.pull();
        self.held = tape.pull() as u64;
        self.is_noisy = tape.pull() != 0.0;
        for motion in &mut self.inputs {
            for x in
                [&mut motion.mean, &mut motion.variance, &mut motion.rate, &mut motion.low, &mut motion.high]
            {
                *x = tape.pull();
            }
        }
    }
}
