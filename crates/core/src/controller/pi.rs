//! The proportional-integral controller of ECCO, and the integral one.

use super::{Decision, Retry, StepBounds, StepController};
use crate::checkpoint::{Checkpoint, Checkpointed};
use crate::estimator::Estimate;

/// `h' = h · safety · e^-(kI+kP) · e_prev^kP`, clamped (sadjina2017 eq. 15; kP = 0 is sadjina2020 eq. 13).
///
/// An error over tolerance makes the next step smaller; nothing is rejected but what [`Pi::rejects_jumps`] says.
#[derive(Clone, Debug, PartialEq)]
pub struct Pi {
    /// The first step, in seconds.
    pub first_step: f64,
    /// α_s, 0.8 to 0.9.
    pub safety: f64,
    /// kI; `None`: [`Pi::INTEGRAL_GAIN`]/k with k the order of the estimate.
    pub integral_gain: Option<f64>,
    /// kP; `None`: [`Pi::PROPORTIONAL_GAIN`]/k.
    pub proportional_gain: Option<f64>,
    /// Bounds.
    pub limits: StepBounds,
    /// Θ_max until an error first exceeds a tenth of the tolerance: the first step may be far too short.
    pub opening_rate: Option<f64>,
    opened: bool,
    /// What the step size is multiplied with at an event.
    pub restart_rate: f64,
    /// Steps over a discontinuity that was not announced are rejected, if states are kept, and repeated with a fifth of the size, as
    /// long as the error e of the step is above ten times the tolerance and `e h > 10 h_usual`: an input that jumps inside a step is
    /// wrong for a part of it, so that the harm is in proportion to e h, and that of a usual step is h_usual. What is left is an event.
    pub rejects_jumps: bool,
    jumps: Jumps,
    /// 0: the newest error decides; 1: the one before it (the literal index of sadjina2020 eq. 13).
    pub age: u8,
    /// While all errors were exactly 0, the next step is at most this share of the time so far, and no shorter than the last one: where
    /// nothing has moved yet, an error of 0 says nothing about the step. `None`: it grows the most, as the papers' rule says.
    pub rest_share: Option<f64>,
    /// Time in which all errors were exactly 0, in seconds; `None` once one was not.
    at_rest: Option<f64>,
    /// Logarithm of what the last error counts as at least; see [`Pi::set_error_floor`].
    ln_error_floor: f64,
    /// Logarithms of the two last errors, newest first.
    past: [f64; 2],
}

/// What is known of discontinuities that are not announced.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Jumps {
    /// The longest of the last steps that were not over one and in which something moved, in s.
    moving: f64,
    /// The longest step of all that were not over one, in s.
    longest: f64,
    /// How far the end of the last rejected step is, in s: until it or the jump is reached steps do not grow.
    ahead: f64,
    /// The last step is over a jump that rejections located.
    located: bool,
    /// An event was the last thing that happened: what follows it is no jump of its own.
    after_event: bool,
    /// Rejections that may still be made. Steps earn them: where an input jumps all the time, most steps would be rejected.
    credit: f64,
}

impl Jumps {
    const NONE: Jumps = Jumps {
        moving: 0.0,
        longest: 0.0,
        ahead: 0.0,
        located: false,
        after_event: false,
        credit: MOST_CREDIT,
    };

    /// h_usual, in s. Where nothing has moved so far, steps are long without being usual for what comes.
    fn usual(&self) -> f64 {
        self.moving.max(AT_REST * self.longest)
    }

    fn should_reject(&self, norm: f64, h: f64) -> bool {
        // What an event sets in motion out of rest has no usual step yet.
        let has_past = self.longest > 0.0 && !(self.after_event && self.moving == 0.0);
        is_jump(norm) && norm * h > SUDDEN * self.usual() && has_past && self.credit >= 1.0
    }

    fn reject(&mut self, h: f64) {
        self.ahead = h;
        self.credit -= 1.0;
    }

    fn accept(&mut self, norm: f64, h: f64) {
        self.credit = (self.credit + EARNED).min(MOST_CREDIT);
        self.located = is_jump(norm) && self.ahead > 0.0;
        if norm <= SUDDEN {
            self.ahead = (self.ahead - h).max(0.0);
            self.longest = self.longest.max(h);
            self.after_event = false;
            if norm > MOVES {
                self.moving = h.max(USUAL_DECAY * self.moving);
            }
        } else {
            self.ahead = 0.0;
        }
    }
}

/// What is not a number, or infinite, is nothing that shorter steps get across.
fn is_jump(norm: f64) -> bool {
    norm > SUDDEN && norm.is_finite()
}

/// An error of this size ends the opening.
const OPENED: f64 = 0.1;
/// Errors above this size may be jumps; the harm of one that is not rejected is at most that of so many usual steps.
const SUDDEN: f64 = 10.0;
/// The size of a step that is repeated, over that of the rejected one.
const RETRY_SHARE: f64 = 0.2;
/// With an error below this share of the tolerance nothing moves.
const MOVES: f64 = 1e-4;
/// The usual step size where nothing has moved so far, over that of the longest step.
const AT_REST: f64 = 1e-2;
/// How fast the usual step size is forgotten, per step.
const USUAL_DECAY: f64 = 0.98;
/// Rejections that a step earns, and how many are saved up at most.
const EARNED: f64 = 0.25;
const MOST_CREDIT: f64 = 20.0;

impl Pi {
    /// α_s, where none is given.
    pub const SAFETY: f64 = 0.8;
    /// kI times the order of the estimate, where none is given.
    pub const INTEGRAL_GAIN: f64 = 0.3;
    /// kP times the order of the estimate, where none is given.
    pub const PROPORTIONAL_GAIN: f64 = 0.4;
    /// What the step size is multiplied with at an event, where nothing else is said.
    pub const RESTART_RATE: f64 = 0.1;
    /// What the last error counts as at least, where nothing else is said.
    pub const ERROR_FLOOR: f64 = 1e-3;

    /// Where nothing has moved for a time t, steps of t/100: 100 ln(T/h) steps cross a run of length T at rest, and what then begins
    /// to move meets a step of 1 % of the time before it.
    pub const REST_SHARE: f64 = 0.01;

    /// ECCO with the gains of sadjina2017.
    pub fn ecco(first_step: f64, limits: StepBounds) -> Self {
        Pi {
            first_step,
            safety: Self::SAFETY,
            integral_gain: None,
            proportional_gain: None,
            limits,
            opening_rate: None,
            opened: false,
            restart_rate: Self::RESTART_RATE,
            rejects_jumps: false,
            jumps: Jumps::NONE,
            age: 0,
            rest_share: None,
            at_rest: Some(0.0),
            ln_error_floor: Self::ERROR_FLOOR.ln(),
            past: [0.0; 2],
        }
    }

    /// The integral controller of sadjina2020.
    pub fn integral(first_step: f64, limits: StepBounds) -> Self {
        Pi { proportional_gain: Some(0.0), ..Pi::ecco(first_step, limits) }
    }

    /// The last error counts as at least `floor`, 1e-3 unless set. 0 is the papers' rule: an error of exactly 0 is then
    /// followed by the smallest step if kP > 0.
    pub fn set_error_floor(&mut self, floor: f64) {
        self.ln_error_floor = floor.ln();
    }

    /// The wanted factor for the logarithms of the errors `e` (newest) and `before`.
    fn factor(&self, e: f64, before: f64, order: f64) -> f64 {
        let ki = self.integral_gain.unwrap_or(Self::INTEGRAL_GAIN / order);
        let kp = self.proportional_gain.unwrap_or(Self::PROPORTIONAL_GAIN / order);
        if e == f64::NEG_INFINITY {
            return f64::INFINITY;
        }
        // One logarithm per step is enough: powers of both errors in one exponential.
        let proportional = if kp == 0.0 { 0.0 } else { kp * before.max(self.ln_error_floor) };
        self.safety * (proportional - (ki + kp) * e).exp()
    }
}

impl Checkpointed for Pi {
    fn save(&self, tape: &mut Checkpoint) {
        tape.extend(&self.past);
        tape.push(f64::from(u8::from(self.opened)));
        tape.push(self.at_rest.unwrap_or(f64::NAN));
        let Jumps { moving, longest, ahead, located, after_event, credit } = self.jumps;
        let [located, after_event] = [located, after_event].map(|flag| f64::from(u8::from(flag)));
        tape.extend(&[moving, longest, ahead, located, after_event, credit]);
    }

    fn load(&mut self, tape: &mut Checkpoint) {
        tape.fill(&mut self.past);
        self.opened = tape.pull() != 0.0;
        self.at_rest = Some(tape.pull()).filter(|t| !t.is_nan());
        let [moving, longest, ahead, located, after_event, credit] = std::array::from_fn(|_| tape.pull());
        let [located, after_event] = [located, after_event].map(|flag| flag != 0.0);
        self.jumps = Jumps { moving, longest, ahead, located, after_event, credit };
    }
}

impl StepController for Pi {
    fn first(&self) -> f64 {
        self.first_step.clamp(self.limits.min_step, self.limits.max_step)
    }

    fn may_reject(&self) -> bool {
        self.rejects_jumps
    }

    fn trusts_warm_up(&self) -> bool {
        self.rejects_jumps
    }

    fn has_located(&self) -> bool {
        self.jumps.located
    }

    fn decide(&mut self, estimate: Estimate, h: f64, retry: Retry) -> Decision {
        let [last, before_last] = self.past;
        let e = if estimate.norm.is_nan() { f64::INFINITY } else { estimate.norm.ln() };
        if self.rejects_jumps {
            if retry == Retry::Possible && self.jumps.should_reject(estimate.norm, h) {
                self.jumps.reject(h);
                return Decision::Reject { retry_h: (RETRY_SHARE * h).max(self.limits.min_step) };
            }
            self.jumps.accept(estimate.norm, h);
            if self.jumps.located {
                self.past = [0.0; 2];
                return Decision::Accept { next_h: self.jumps.usual() };
            }
        }
        let factor = match self.age {
            0 => self.factor(e, last, estimate.order),
            _ => self.factor(last, before_last, estimate.order),
        };
        self.past = [e, last];
        self.opened |= e > OPENED.ln();
        self.at_rest = self.at_rest.filter(|_| estimate.norm == 0.0).map(|time| time + h);
        let mut limits = match self.opening_rate.filter(|_| !self.opened) {
            Some(max_rate) => StepBounds { max_rate, ..self.limits },
            None => self.limits,
        };
        if self.jumps.ahead > 0.0 {
            limits.max_rate = 1.0;
        }
        if let (Some(time), Some(share)) = (self.at_rest, self.rest_share) {
            limits.max_step = limits.max_step.min((share * time).max(h)).max(limits.min_step);
        }
        Decision::Accept { next_h: limits.apply(factor, h) }
    }

    fn floor(&self) -> f64 {
        self.limits.min_step
    }

    /// What comes after a discontinuity is new: a share of the step before, and no past; as at the start if nothing has moved so far.
    fn restart(&mut self, h: f64) -> f64 {
        self.past = [0.0; 2];
        self.opened = false;
        self.jumps.ahead = 0.0;
        self.jumps.after_event = true;
        if let (Some(time), Some(_)) = (&mut self.at_rest, self.rest_share) {
            *time = 0.0;
            return self.first().min(h);
        }
        (self.restart_rate * h).max(self.limits.min_step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(controller: &mut Pi, norm: f64) -> f64 {
        match controller.decide(Estimate::new(norm, 2.0), 1e-3, Retry::Impossible) {
            Decision::Accept { next_h } => next_h,
            Decision::Reject { .. } => unreachable!("it never rejects"),
        }
    }

    const LIMITS: StepBounds = StepBounds { min_step: 1e-6, max_step: 1.0, min_rate: 0.2, max_rate: 1.5 };

    /// Expected values by hand from eq. 15 with kI = .15, kP = .2.
    #[test]
    fn errors_of_one_give_the_safety_factor_and_others_the_powers() {
        let mut c = Pi::ecco(1e-3, LIMITS);
        assert!((next(&mut c, 1.0) - 0.8e-3).abs() < 1e-18);
        assert!((next(&mut c, 4.0) - 0.8e-3 * 4f64.powf(-0.35)).abs() < 1e-18);
        assert!((next(&mut c, 1.0) - 0.8e-3 * 4f64.powf(0.2)).abs() < 1e-18);
    }

    #[test]
    fn zero_grows_the_most_and_nonsense_shrinks_the_most() {
        let mut c = Pi::ecco(1e-3, LIMITS);
        assert_eq!(next(&mut c, f64::NAN), 0.2e-3);
        assert_eq!(next(&mut c, 0.0), 1.5e-3);
        let mut literal = Pi::ecco(1e-3, LIMITS);
        literal.set_error_floor(0.0);
        assert_eq!(next(&mut literal, 0.0), 1.5e-3);
        assert_eq!(next(&mut literal, 1.0), 0.2e-3, "the papers' rule after an error of exactly 0");
    }

    /// An error of exactly 0 while nothing moved made steps grow to the largest one before the motion began.
    #[test]
    fn where_nothing_has_moved_steps_follow_the_time_at_rest() {
        let mut c = Pi { rest_share: Some(Pi::REST_SHARE), ..Pi::ecco(1e-3, LIMITS) };
        for _ in 0..100 {
            assert!((next(&mut c, 0.0) - 1e-3).abs() < 1e-15, "up to 0.1 s");
        }
        // By hand: 101 steps of 1 ms are 1 % of 0.101 s.
        assert!((next(&mut c, 0.0) - 1.01e-3).abs() < 1e-15);
        assert_eq!(c.restart(2e-3), 1e-3, "as at the start");
        assert!(next(&mut c, 1e-9) > 1.4e-3, "something moved");
        assert_eq!(next(&mut c, 0.0), 1.5e-3, "and later zeros count as always");
    }

    /// Usual steps of 1 ms, then a jump with a norm of 1000 whatever the step: it is rejected while 1000 h > 10 · 1 ms, by hand at 1, 0.2
    /// and 0.04 ms, and accepted at 8 µs.
    #[test]
    fn a_jump_is_rejected_until_it_does_the_harm_of_ten_usual_steps() {
        let mut c = Pi { rejects_jumps: true, ..Pi::ecco(1e-3, LIMITS) };
        let decide = |c: &mut Pi, norm: f64, h: f64| c.decide(Estimate::new(norm, 2.0), h, Retry::Possible);
        for _ in 0..10 {
            decide(&mut c, 1.0, 1e-3);
        }
        let mut h = 1e-3;
        let mut tried = Vec::new();
        let next = loop {
            tried.push(h);
            match decide(&mut c, 1000.0, h) {
                Decision::Reject { retry_h } => h = retry_h,
                Decision::Accept { next_h } => break next_h,
            }
        };
        assert_eq!(tried.len(), 4, "{tried:?}");
        assert!((tried[3] - 8e-6).abs() < 1e-18 && c.has_located());
        assert_eq!(next, 1e-3, "what comes after it is a matter of the event");
        // Between a rejection and the jump steps do not grow.
        assert!(matches!(decide(&mut c, 1000.0, 1e-3), Decision::Reject { .. }));
        assert_eq!(decide(&mut c, 1e-3, 2e-4), Decision::Accept { next_h: 2e-4 });
        assert!(!c.has_located());
    }

    /// Steps of 1 s at rest, then a jump with a norm of 1000: it is rejected while 1000 h > 10 · 1e-2 s, by hand at 1, 0.2, 0.04, 8e-3,
    /// 1.6e-3 and 3.2e-4 s, and accepted at 6.4e-5 s.
    #[test]
    fn steps_at_rest_are_not_usual() {
        let mut c = Pi {
            rejects_jumps: true,
            ..Pi::ecco(1.0, StepBounds { min_step: 1e-9, max_step: 10.0, ..LIMITS })
        };
        let decide = |c: &mut Pi, norm: f64, h: f64| c.decide(Estimate::new(norm, 2.0), h, Retry::Possible);
        for _ in 0..10 {
            decide(&mut c, 1e-6, 1.0);
        }
        let (mut h, mut rejected) = (1.0, 0);
        while let Decision::Reject { retry_h } = decide(&mut c, 1000.0, h) {
            (h, rejected) = (retry_h, rejected + 1);
        }
        assert_eq!(rejected, 6);
        assert!((h / 6.4e-5 - 1.0).abs() < 1e-9 && c.has_located(), "{h}");
    }

    /// Where every step is over a jump, 20 are rejected at once and one for every four steps after that.
    #[test]
    fn not_everything_is_rejected() {
        let mut c = Pi { rejects_jumps: true, ..Pi::ecco(1e-3, LIMITS) };
        c.decide(Estimate::new(1.0, 2.0), 1e-3, Retry::Possible);
        let (mut accepted, mut rejected) = (0, 0);
        while accepted < 400 {
            match c.decide(Estimate::new(1e5, 2.0), 1e-3, Retry::Possible) {
                Decision::Reject { .. } => rejected += 1,
                Decision::Accept { .. } => accepted += 1,
            }
        }
        assert_eq!(rejected, 20 + 399 / 4);
    }

    #[test]
    fn an_older_error_decides_one_step_later() {
        let mut c = Pi { age: 1, ..Pi::integral(1e-3, LIMITS) };
        assert!((next(&mut c, 4.0) - 0.8e-3).abs() < 1e-18, "the error before the first counts as 1");
        assert!((next(&mut c, 1.0) - 0.8e-3 * 4f64.powf(-0.15)).abs() < 1e-18);
    }
}
