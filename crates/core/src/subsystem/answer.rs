//! How strongly does a subsystem answer to an input? Tried now and then by holding the input a little higher for a while, and rolled back.
//!
//! Errors of a held input add up from swing to swing only as far as the subsystem answers to it: a weakly coupled oscillator hardly does.
//! From the state at the start of a step the subsystem goes on for `L = π/(4ω)`, an eighth of an oscillation of the input (ω is the rms of
//! its rate over its standard deviation so far), with its inputs held, and once more with one of them raised by δ, a tenth of its standard
//! deviation. With the differences `d(L)` and `d(L/2)` of an output, and `H = max(π/ω, T/(1 + TV(u)/range(u)))`, half an oscillation or, of
//! what hardly oscillates, a stretch of the run between two turns,
//!
//! `p = clip(log2(d(L)/d(L/2)), 0, 3)`,  `G = max(|d(L)| (H/L)^p, |d(L)| + |d(L) − d(L/2)| (2H/L − 2))/δ`
//!
//! is what a push of one unit would move it by in half an oscillation; times the standard deviation of the input over that of the
//! output it is without a unit: `g`. Of the undamped `x'' + ω²x = ε ω² u` it is 4.3 ε, where a push moves x by 2 ε, and a defect that is in
//! resonance by 1.6 ε.

use super::own_step::OwnStepProbe;
use super::{Inputs, Span, SubsystemError};

/// Calls of `advance` between two trials: up to the third one, and later.
const FIRST: u64 = 50;
const EVERY: u64 = 200;
/// Parts of a trial: outputs are read after each.
const PARTS: u32 = 2;
/// By which share of its standard deviation an input is raised.
const PUSH: f64 = 0.1;
/// Powers of time that are believed.
const POWERS: [f64; 2] = [0.0, 3.0];
/// With fewer trials of an input nothing is said of it.
const ENOUGH: u32 = 3;
/// A change below these shares of the standard deviation and of the largest value of an output is none: it may come later, as with samples.
const ROUND_OFF: [f64; 2] = [1e-10, 1e-13];

/// What is known of the answers of a subsystem.
#[derive(Clone, Debug, Default)]
pub struct Answers {
    inputs: Vec<Moving>,
    /// The largest answers, outputs of the first input first.
    gains: Vec<Gain>,
    /// Which input is tried next.
    turn: usize,
    /// There are no more trials.
    pub(super) over: bool,
}

/// An input over the run.
#[derive(Clone, Copy, Debug, Default)]
struct Moving {
    real: bool,
    known: bool,
    u: f64,
    mean: f64,
    m2: f64,
    /// Σh u̇², Σ|Δu|, and the smallest and largest value.
    speed: f64,
    travel: f64,
    range: [f64; 2],
    low: f64,
    high: f64,
    trials: u32,
}

impl Moving {
    fn spread(&self, time: f64) -> f64 {
        (self.m2.max(0.0) / time).sqrt()
    }

    /// Half an oscillation, or a stretch between two turns, in s.
    fn half(&self, time: f64) -> f64 {
        let range = self.range[1] - self.range[0];
        let turns = if range > 0.0 { self.travel / range } else { 0.0 };
        let swing = std::f64::consts::PI * self.spread(time) / (self.speed / time).sqrt();
        swing.max(time / (1.0 + turns))
    }
}

/// What a trial needs.
pub(super) struct Trial {
    input: usize,
    push: f64,
    length: f64,
    half: f64,
}

/// An answer to a push of one unit for `length` seconds.
#[derive(Clone, Copy, Debug, Default)]
struct Gain {
    early: f64,
    late: f64,
    length: f64,
    /// The half oscillation of the trial, and what it came to.
    half: f64,
    value: f64,
}

impl Gain {
    /// What a push for `half` seconds would come to.
    fn after(&self, half: f64) -> f64 {
        let longer = (half / self.length).max(1.0);
        let p = (self.late / self.early).log2().clamp(POWERS[0], POWERS[1]);
        let line = self.late + (self.late - self.early).abs() * 2.0 * (longer - 1.0);
        (self.late * longer.powf(p)).max(line)
    }
}

impl Answers {
    /// Of inputs with these kinds and bounds, and so many outputs.
    pub(super) fn new(inputs: impl Iterator<Item = (bool, f64, f64)>, outputs: usize) -> Self {
        let inputs: Vec<Moving> =
            inputs.map(|(real, low, high)| Moving { real, low, high, ..Moving::default() }).collect();
        let gains = vec![Gain::default(); inputs.len() * outputs];
        Answers { inputs, gains, turn: 0, over: false }
    }

    pub(super) fn inputs(&self) -> usize {
        self.inputs.len()
    }

    /// Inputs at the end of a step, which is `share` of the time so far.
    pub(super) fn see(&mut self, u: Inputs<'_>, h: f64, share: f64) {
        for (i, input) in self.inputs.iter_mut().enumerate().filter(|(_, input)| input.real) {
            let end = u.at(i, h);
            if input.known {
                input.speed += (end - input.u) * (end - input.u) / h;
                input.travel += (end - input.u).abs();
                input.range = [input.range[0].min(end), input.range[1].max(end)];
            } else {
                input.range = [end; 2];
            }
            let off = end - input.mean;
            input.mean += share * off;
            input.m2 += h * off * (end - input.mean);
            (input.u, input.known) = (end, true);
        }
    }

    /// What to try in this call, `left` seconds before the end of the run, `time` seconds of which are over.
    pub(super) fn due(&mut self, calls: u64, time: f64, left: f64) -> Option<Trial> {
        let turn = if calls < EVERY { calls.is_multiple_of(FIRST) } else { calls.is_multiple_of(EVERY) };
        if self.over || !turn || calls == 0 || self.inputs.is_empty() {
            return None;
        }
        let turn = self.turn % self.inputs.len();
        self.turn += 1;
        let input = &self.inputs[turn];
        let spread = input.spread(time);
        let length = std::f64::consts::FRAC_PI_4 * spread / (input.speed / time).sqrt();
        let push = PUSH * spread;
        let (up, down) = (input.u + push <= input.high, input.u - push >= input.low);
        let push = if up { push } else { -push };
        let makes_sense = input.real && length > 0.0 && length < left && push != 0.0 && (up || down);
        makes_sense.then_some(Trial { input: turn, push, length, half: input.half(time) })
    }

    /// Outputs of a trial after a half and at its end, as they are and with a push; `spread` and `largest` value of each.
    fn learn(&mut self, trial: &Trial, still: [&[f64]; 2], pushed: [&[f64]; 2], sizes: &[(f64, f64)]) {
        let outputs = sizes.len();
        let mut answers = false;
        for (k, &(spread, largest)) in sizes.iter().enumerate() {
            let [early, late] = [0, 1].map(|at| (pushed[at][k] - still[at][k]).abs());
            if late <= ROUND_OFF[0] * spread + ROUND_OFF[1] * largest {
                continue;
            }
            answers = true;
            let push = trial.push.abs();
            let found = Gain {
                early: early / push,
                late: late / push,
                length: trial.length,
                half: trial.half,
                value: 0.0,
            };
            // What is no number is no small answer.
            let value = found.after(trial.half);
            let value = if value.is_nan() { f64::INFINITY } else { value };
            let gain = &mut self.gains[trial.input * outputs + k];
            if value > gain.value {
                *gain = Gain { value, ..found };
            }
        }
        self.inputs[trial.input].trials += u32::from(answers);
    }

    /// `max G/sd(y)` of an input after `time` seconds, with the standard deviations of outputs; infinite where it is not known.
    pub(super) fn of(&self, input: usize, time: f64, spreads: &[f64]) -> f64 {
        let Some(moving) = self.inputs.get(input).filter(|found| found.trials >= ENOUGH) else {
            return f64::INFINITY;
        };
        // Later the stretches may have become longer.
        let half = moving.half(time);
        let gains = &self.gains[input * spreads.len()..][..spreads.len()];
        let of = |(gain, spread): (&Gain, &f64)| match gain.value {
            0.0 => 0.0,
            value => value.max(if half > gain.half { gain.after(half) } else { 0.0 }) / spread,
        };
        gains.iter().zip(spreads).map(of).fold(0.0, f64::max)
    }
}

/// Outputs of a trial.
#[derive(Default)]
pub(super) struct Scratch {
    still: [Vec<f64>; 2],
    pushed: [Vec<f64>; 2],
    value: Vec<f64>,
    sizes: Vec<(f64, f64)>,
}

impl Scratch {
    pub(super) fn resize(&mut self, inputs: usize, outputs: usize) {
        self.value.resize(inputs, 0.0);
        self.sizes.resize(outputs, (0.0, 0.0));
        for y in self.still.iter_mut().chain(&mut self.pushed) {
            y.resize(outputs, 0.0);
        }
    }
}

impl OwnStepProbe {
    /// Tries a push from the state that is saved, and goes back to it.
    pub(super) fn push(
        &mut self,
        answers: &mut Answers,
        trial: &Trial,
        start: f64,
        u: Inputs<'_>,
        sizes: impl Iterator<Item = (f64, f64)>,
    ) -> Result<(), SubsystemError> {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.sizes.clear();
        scratch.sizes.extend(sizes);
        let whole = Span::new(start, trial.length);
        let mut sound = true;
        let mut result = Ok(());
        for push in [0.0, trial.push] {
            scratch.value.copy_from_slice(u.value);
            scratch.value[trial.input] += push;
            let [early, late] = if push == 0.0 { &mut scratch.still } else { &mut scratch.pushed };
            for part in 0..PARTS {
                let y = if part + 1 == PARTS { &mut *late } else { &mut *early };
                let span = whole.part(part, PARTS);
                match self.inner_advance(span, Inputs::constant(&scratch.value), y) {
                    Ok(advance) => sound &= advance.is_uneventful(span),
                    Err(error) => {
                        result = Err(error);
                        sound = false;
                    }
                }
                if !sound {
                    break;
                }
            }
            if let Err(error) = self.go_back() {
                result = Err(error);
                sound = false;
            }
            if !sound {
                break;
            }
        }
        if sound {
            let Scratch { still, pushed, sizes, .. } = &scratch;
            answers.learn(trial, [&still[0], &still[1]], [&pushed[0], &pushed[1]], sizes);
        }
        self.scratch = scratch;
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subsystem::{
        Advance, Binding, Capabilities, Causality, FeedThrough, Info, Setup, Subsystem, ValueKind, Variable,
    };

    /// `x'' + x = ε u`, exact for constant inputs.
    struct Oscillator {
        info: Info,
        epsilon: f64,
        x: [f64; 2],
        saved: [f64; 2],
    }

    impl Oscillator {
        fn new(epsilon: f64) -> Self {
            let variable = |name: &str, causality| Variable {
                name: name.to_owned(),
                causality,
                kind: ValueKind::Real,
                unit: None,
                start: 0.0,
                nominal: 1.0,
                min: f64::NEG_INFINITY,
                max: f64::INFINITY,
                settable: false,
                discrete: false,
                digits: Default::default(),
                description: String::new(),
            };
            let capabilities = Capabilities { can_restore: true, sub_steps: true, ..Capabilities::default() };
            let info = Info {
                kind: "oscillator".to_owned(),
                variables: vec![variable("u", Causality::Input), variable("x", Causality::Output)].into(),
                feed_through: FeedThrough::Declared(Vec::new()),
                capabilities,
            };
            Oscillator { info, epsilon, x: [1.0, 0.0], saved: [0.0; 2] }
        }
    }

    impl Subsystem for Oscillator {
        fn info(&self) -> &Info {
            &self.info
        }
        fn bind(&mut self, _: &Binding) -> Result<(), SubsystemError> {
            Ok(())
        }
        fn enter(&mut self, _: &Setup) -> Result<(), SubsystemError> {
            Ok(())
        }
        fn evaluate(&mut self, _: Inputs<'_>, y: &mut [f64]) -> Result<(), SubsystemError> {
            y[0] = self.x[0];
            Ok(())
        }
        fn advance(&mut self, span: Span, u: Inputs<'_>, y: &mut [f64]) -> Result<Advance, SubsystemError> {
            let (middle, (sin, cos)) = (self.epsilon * u.value[0], span.h.sin_cos());
            let (x, v) = (self.x[0] - middle, self.x[1]);
            self.x = [middle + x * cos + v * sin, v * cos - x * sin];
            y[0] = self.x[0];
            Ok(Advance::whole(span))
        }
        fn probe(&mut self, _: &mut [f64]) -> Result<(), SubsystemError> {
            Ok(())
        }
        fn save(&mut self) -> Result<(), SubsystemError> {
            self.saved = self.x;
            Ok(())
        }
        fn restore(&mut self) -> Result<(), SubsystemError> {
            self.x = self.saved;
            Ok(())
        }
    }

    /// Ten oscillations beside an input `sin t`, `steps` in all: g, and whether bits are those of a run without trials.
    fn run(epsilon: f64, steps: u32) -> (f64, bool) {
        let (mut tried, found) = OwnStepProbe::new(Box::new(Oscillator::new(epsilon)), None);
        let mut alone = Oscillator::new(epsilon);
        Subsystem::bind(&mut tried, &Binding { inputs: vec![0], outputs: vec![1], ..Binding::default() })
            .unwrap();
        let h = 20.0 * std::f64::consts::PI / f64::from(steps);
        let (mut a, mut b, mut same) = ([0.0], [0.0], true);
        for k in 0..steps {
            let span = Span::new(f64::from(k) * h, h);
            let u = [(span.start + 0.5 * h).sin()];
            Subsystem::advance(&mut tried, span, Inputs::constant(&u), &mut a).unwrap();
            alone.advance(span, Inputs::constant(&u), &mut b).unwrap();
            same &= a[0].to_bits() == b[0].to_bits();
        }
        (found.answer(0) * 0.5f64.sqrt(), same)
    }

    /// A push of δ for an eighth of an oscillation moves x by ε δ (1 − cos π/4), half of it by ε δ (1 − cos π/8): p = 1.945, 4^p = 14.8, and
    /// 4.34 ε with the same standard deviation of input and output, which the push of resonance makes a little larger.
    #[test]
    fn a_weakly_coupled_oscillator_answers_as_the_formula_says() {
        for epsilon in [1e-4, 1e-3] {
            let (g, same) = run(epsilon, 1000);
            assert!(same, "trials change nothing");
            assert!((g / (4.34 * epsilon) - 1.0).abs() < 0.05, "{g}, expected {}", 4.34 * epsilon);
        }
        assert_eq!(run(1e-3, 120).0, f64::INFINITY, "two trials are not enough");
    }
}
