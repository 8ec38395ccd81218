//! Does a subsystem integrate with the communication step? Now and then a step is tried in halves and quarters, and rolled back.
//!
//! A model that makes one step of Euler's method per communication step has an error that no data of the coupling show. Where states can
//! be restored, every 50th step is also made in two halves and, every fifth time, in four quarters, with the inputs of the step:
//!
//! `d1 = y_one - y_two`, `d2 = y_two - y_four`, `p = clip(½ log2(Σd1²/Σd2²), ½, 4)`, `k = 1/(1 - 2^-p)`
//!
//! `S1 = max_j k Σ|d1_j| · (T/Σh of the probed steps)/sd(y_j)` bounds the error of the outputs at rest of the coupling: what it leaves is
//! mostly less, 0.3 S1 is the estimate; a [twin](super::twin) beside it measures how much. Below order ½ the differences are the noise
//! of an adaptive solver, and count nothing.
//!
//! Where a tolerance is given, the subsystem is sub-stepped as finely as it needs: [`Governor`].

use crate::subsystem::answer::{Answers, Scratch};
use crate::subsystem::wrapper::Wrapper;
use crate::subsystem::{
    Advance, Binding, Info, Inputs, Setup, Span, StateSnapshot, StepEvent, Subsystem, SubsystemError,
    ValueKind,
};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Steps between two probes while nothing was found, and of a subsystem that is sub-stepped.
const EVERY: u64 = 50;
const EVERY_GOVERNED: u64 = 10;
/// One probe in this many is made in quarters, too.
const QUARTERS: u64 = 5;
/// Differences below these shares of half the range and of the largest value are round-off.
const ROUND_OFF: [f64; 2] = [1e-9, 1e-13];
/// Orders that are believed.
const ORDERS: [f64; 2] = [0.5, 4.0];
/// The share of S1 that is the estimate.
const SHARE: f64 = 0.3;
/// What the same step gives after a restore may differ by this share of the largest value: more is another state.
const FAITHFUL: f64 = 1e-6;

/// What a subsystem that is sub-stepped is allowed: `n` sub-steps, such that its own error per time is 0.03 of the tolerance, with
/// `C = k |d1| n^p/h^(p+1)` of the last probes, `n = ceil(h max_k(C_k/(½ range_k ω_k 0.03 tol))^(1/p))`, at most 200.
#[derive(Clone, Debug)]
pub enum Governor {
    /// For a relative error, as the default method is asked for.
    Tolerance(f64),
    /// Sub-steps as they were in an earlier run, whose steps are made in so many parts: from each time, in s, on `n = ceil(v h)`.
    Repeat {
        /// Times in s, and sub-steps per second of step.
        rates: Arc<[(f64, f64)]>,
        /// Parts of each step.
        parts: f64,
    },
}

/// The share of the tolerance that is left for own errors.
const OWN_SHARE: f64 = 0.03;
/// Sub-steps at most.
const MOST: f64 = 200.0;
/// A step this much longer than the one that was probed last is probed, too, and beyond the second factor the past says nothing.
const LONGER: [f64; 2] = [1.6, 1.5];
/// The first of them while nothing was found: what is below round-off is negligible in steps that are so much longer, too.
const LONGER_UNSEEN: f64 = 4.0;

/// What probes have found; shared with the verdict.
#[derive(Clone, Debug, Default)]
pub struct OwnSteps(Arc<Mutex<Sums>>);

/// Sums over a run.
#[derive(Clone, Debug, Default)]
pub struct Sums {
    calls: u64,
    probes: u64,
    /// Calls of `advance` that were made for probes and sub-steps alone.
    pub extra: u64,
    /// Σh of all steps and of those that were probed, in s.
    time: f64,
    probed: f64,
    outputs: Vec<Output>,
    /// Restoring did not lead back: the largest difference over the largest value.
    pub unfaithful: Option<f64>,
    /// A call for a probe failed; there are no more.
    pub failed: Option<String>,
    /// Steps that would need more than the most sub-steps.
    pub capped: u64,
    /// The most sub-steps of a step.
    pub most: u32,
    /// Sub-steps per second of step, and the length of the last step that was probed.
    rate: f64,
    last_h: f64,
    /// The rate from each time on, if it is kept.
    log: Option<Vec<(f64, f64)>>,
    answers: Answers,
    /// A second instance may make every step in halves, does, and was compared so often.
    may_have_twin: bool,
    wants_twin: bool,
    compared: u64,
    /// It is sub-stepped as a tolerance asks for it.
    governed: bool,
    /// Steps, and sub-steps of all of them and of the last one.
    steps: u64,
    sub_steps: u64,
    last_parts: u32,
    /// Scratch instances showed at the start that outputs do not depend on the length of steps.
    steady: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Output {
    real: bool,
    known: bool,
    y: f64,
    mean: f64,
    m2: f64,
    min: f64,
    max: f64,
    /// Σh ẏ², Σ|Δy|.
    speed: f64,
    travel: f64,
    /// The difference to a twin, Σh e² and Σ|Δe|.
    e: f64,
    e2: f64,
    e_travel: f64,
    /// Σ|d1|; Σd1² and Σd2² of probes in quarters.
    d1: f64,
    q1: f64,
    q2: f64,
    /// Error per time of a step of one second, in one sub-step.
    c: f64,
}

impl Output {
    /// A value at the end of a step of `h` seconds, which is `share` of the time so far.
    fn see(&mut self, y: f64, h: f64, share: f64) {
        if !self.real {
            return;
        }
        if self.known {
            self.speed += (y - self.y) * (y - self.y) / h;
            self.travel += (y - self.y).abs();
            (self.min, self.max) = (self.min.min(y), self.max.max(y));
        } else {
            (self.min, self.max, self.known) = (y, y, true);
        }
        let off = y - self.mean;
        self.mean += share * off;
        self.m2 += h * off * (y - self.mean);
        self.y = y;
    }

    fn largest(&self) -> f64 {
        self.min.abs().max(self.max.abs())
    }

    /// What the sum of a difference is multiplied by to be the error, k: by the measured order if there is one, else as for Euler's method.
    fn whole(&self) -> f64 {
        self.order().map_or(TWIN, |p| 1.0 / (1.0 - (-p).exp2()))
    }

    /// Its standard deviation; not below round-off.
    fn spread(&self, time: f64) -> f64 {
        (self.m2.max(0.0) / time).sqrt().max(1e-12 * self.largest())
    }

    /// A difference that is not round-off, or 0.
    fn sound(&self, d: f64) -> f64 {
        let noise = ROUND_OFF[0] * 0.5 * (self.max - self.min) + ROUND_OFF[1] * self.largest();
        if d.abs() > noise { d } else { 0.0 }
    }

    /// The measured order; none if it is that of noise, or if nothing differs.
    fn order(&self) -> Option<f64> {
        let p = 0.5 * (self.q1 / self.q2).log2();
        (self.q1 > 0.0 && p >= ORDERS[0]).then(|| p.min(ORDERS[1]))
    }
}

/// What was found about a subsystem.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OwnError {
    /// The estimated error of its outputs by its own steps, over their standard deviation.
    pub estimate: f64,
    /// The output with the largest one, by its place in the binding.
    pub output: usize,
    /// How it is known.
    pub by: FoundBy,
}

/// How an own error is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FoundBy {
    /// By probes, which give a bound, S1, and an order.
    Probes {
        /// S1.
        bound: f64,
        /// The order of the output with the largest error.
        order: f64,
    },
    /// By a [twin](crate::subsystem::twin).
    Twin,
}

/// The shares of a twin's sums that are the estimate, and the half oscillations over which errors come back through the coupling.
const TWIN_SHARES: [f64; 2] = [0.7, 1.2];
const TWIN_SWINGS: f64 = 6.0;
/// What the difference to a twin of first order has to be multiplied by to be the error.
const TWIN: f64 = 2.0;

impl OwnSteps {
    /// Also keeps the sub-steps of every step, for [`Governor::Repeat`].
    pub fn keep_rates(&self) {
        self.sums().log.get_or_insert_with(Vec::new);
    }

    /// Sub-steps per second of step from each time on, in s.
    pub fn rates(&self) -> Arc<[(f64, f64)]> {
        self.sums().log.clone().unwrap_or_default().into()
    }

    /// A copy of everything, to go back to.
    pub fn copy(&self) -> Sums {
        self.sums().clone()
    }

    /// Goes back to a copy.
    pub fn set(&self, copy: &Sums) {
        self.sums().clone_from(copy);
    }

    /// Whether anything was probed, or compared with a twin up to the end.
    pub fn is_known(&self) -> bool {
        let sums = self.sums();
        sums.probes > 0 || (sums.compared > 0 && sums.failed.is_none())
    }

    /// How many inputs it has.
    pub fn inputs(&self) -> usize {
        self.sums().answers.inputs()
    }

    /// What a unit of input `input`, by its place in the binding, moves outputs by in half an oscillation, over their standard deviations;
    /// infinite where that is not known.
    pub fn answer(&self, input: usize) -> f64 {
        let sums = self.sums();
        let spread = |o: &Output| if o.real { o.spread(sums.time) } else { f64::INFINITY };
        let spreads: Vec<f64> = sums.outputs.iter().map(spread).collect();
        sums.answers.of(input, sums.time, &spreads)
    }

    /// The error by own steps so far; none if there is none, or nothing was probed.
    pub fn error(&self) -> Option<OwnError> {
        let sums = self.sums();
        let by_twin = sums.compared > 0 && (sums.failed.is_none() || sums.probes == 0);
        if by_twin { sums.error_by_twin() } else { sums.error_by_probes() }
    }

    /// Whether there may be a [twin](crate::subsystem::twin), and is none yet.
    pub fn lacks_twin(&self) -> bool {
        let sums = self.sums();
        sums.may_have_twin && !sums.wants_twin
    }

    /// A twin is wanted from the start of the run on.
    pub fn want_twin(&self) {
        self.sums().wants_twin = true;
    }

    /// It was [tried](crate::feed_through::depends_on_steps): at the start its outputs do not depend on the length of its steps.
    pub fn found_steady(&self) {
        self.sums().steady = true;
    }

    /// Whether that was seen.
    pub fn is_steady(&self) -> bool {
        self.sums().steady
    }

    pub(super) fn allow_twin(&self) {
        self.sums().may_have_twin = true;
    }

    pub(super) fn wants_twin(&self) -> bool {
        self.sums().wants_twin
    }

    /// The twin's subsystem has these variables bound.
    pub(super) fn bind(&self, info: &Info, binding: &Binding) {
        let kind = |&v: &usize| info.variables[v].kind == ValueKind::Real;
        let fresh = |v: &usize| Output { real: kind(v), ..Output::default() };
        self.sums().outputs = binding.outputs.iter().map(fresh).collect();
    }

    /// Whether it is sub-stepped as a tolerance asks for it.
    pub fn is_governed(&self) -> bool {
        self.sums().governed
    }

    /// Sub-steps of the last step.
    pub fn parts(&self) -> u32 {
        self.sums().last_parts.max(1)
    }

    /// Sub-steps of a step, in the mean and at most.
    pub fn sub_steps(&self) -> (f64, u32) {
        let sums = self.sums();
        (sums.sub_steps.max(1) as f64 / sums.steps.max(1) as f64, sums.most.max(1))
    }

    /// Outputs at the end of a step of `h` seconds, and those of the twin. `probed`: probes have seen the outputs already.
    pub(super) fn compare(&self, h: f64, y: &[f64], twin: &[f64], probed: bool) {
        let mut sums = self.sums();
        if !probed {
            sums.time += h;
        }
        sums.compared += 1;
        sums.extra += 2 * u64::from(sums.last_parts.max(1));
        let share = h / sums.time;
        for (o, (&y, &other)) in sums.outputs.iter_mut().zip(y.iter().zip(twin)).filter(|(o, _)| o.real) {
            if !probed {
                o.see(y, h, share);
            }
            let e = o.sound(y - other);
            o.e2 += h * e * e;
            o.e_travel += (e - o.e).abs();
            o.e = e;
        }
    }

    /// There is no twin any more.
    pub(super) fn lose_twin(&self, why: String) {
        self.sums().failed.get_or_insert(why);
    }

    fn sums(&self) -> MutexGuard<'_, Sums> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is known of the one slot that `save` fills.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slot {
    /// Not needed.
    Free,
    /// The engine saved, and nothing has been done since.
    Current,
    /// The engine may go back to it.
    Taken,
}

/// A subsystem whose steps are probed.
pub struct OwnStepProbe {
    inner: Box<dyn Subsystem>,
    /// There but during a step.
    found: Option<OwnSteps>,
    governor: Option<Governor>,
    probes: bool,
    slot: Slot,
    /// A probe could not be taken back: the state is lost.
    astray: Option<SubsystemError>,
    /// Inputs of parts of a step.
    value: Vec<f64>,
    slope: Vec<f64>,
    /// Outputs of a step in one, in halves and in quarters.
    one: Vec<f64>,
    two: Vec<f64>,
    four: Vec<f64>,
    /// The end of the run, in s.
    stop: f64,
    pub(super) scratch: Scratch,
}

impl OwnStepProbe {
    /// Wraps a subsystem; what is found can be read at any time. Without restoring, or with steps of certain lengths only, nothing is
    /// probed.
    pub fn new(inner: Box<dyn Subsystem>, governor: Option<Governor>) -> (Self, OwnSteps) {
        let found = OwnSteps::default();
        let can = &inner.info().capabilities;
        let repeats = matches!(governor, Some(Governor::Repeat { .. }));
        let probes =
            !repeats && can.can_restore && can.sub_steps && !can.constant_step && can.fixed_step.is_none();
        found.sums().governed = probes && matches!(governor, Some(Governor::Tolerance(_)));
        let none = Vec::new;
        let probe = OwnStepProbe {
            inner,
            found: Some(found.clone()),
            governor,
            probes,
            slot: Slot::Free,
            astray: None,
            value: none(),
            slope: none(),
            one: none(),
            two: none(),
            four: none(),
            stop: f64::INFINITY,
            scratch: Scratch::default(),
        };
        (probe, found)
    }

    /// Crosses a span in `n` parts with the inputs of the whole.
    fn cross(&mut self, span: Span, n: u32, u: Inputs<'_>, y: &mut [f64]) -> Result<Advance, SubsystemError> {
        if n == 1 {
            return self.inner.advance(span, u, y);
        }
        let mut whole = Advance::whole(span);
        for k in 0..n {
            let part = span.part(k, n);
            let tau = part.start - span.start;
            for i in 0..u.value.len() {
                self.value[i] = u.at(i, tau);
                if let (Some(to), Some(slope)) = (self.slope.get_mut(i), u.slope.get(i)) {
                    *to = slope + tau * u.curvature.get(i).copied().unwrap_or(0.0);
                }
            }
            let slope = if u.slope.is_empty() { &[][..] } else { &self.slope };
            let inputs = Inputs { value: &self.value, slope, curvature: u.curvature };
            let advance = self.inner.advance(part, inputs, y)?;
            if advance.reached < part.end - 1e-9 * part.h {
                return Ok(advance);
            }
            // An event at the end of a part has been handled in the next one.
            whole.event = if k + 1 == n {
                advance.event.max(whole.event.min(StepEvent::Handled))
            } else {
                whole.event.max(advance.event)
            };
            whole.next_event = advance.next_event.or(whole.next_event.filter(|&t| t > part.end));
            whole.reached = advance.reached;
        }
        Ok(whole)
    }

    /// Tries the step in finer parts and takes it back; true if outputs can be compared.
    fn try_finer(
        &mut self,
        span: Span,
        n: u32,
        u: Inputs<'_>,
        first: bool,
        quarters: bool,
    ) -> Result<bool, SubsystemError> {
        if self.slot == Slot::Free {
            self.inner.save()?;
        }
        let mut sound = true;
        let parts = [(1, first), (2, true), (4, quarters)];
        for (finer, _) in parts.into_iter().filter(|(_, wanted)| *wanted) {
            let mut y = std::mem::take(match finer {
                1 => &mut self.one,
                2 => &mut self.two,
                _ => &mut self.four,
            });
            let crossed = self.cross(span, n * finer, u, &mut y);
            *match finer {
                1 => &mut self.one,
                2 => &mut self.two,
                _ => &mut self.four,
            } = y;
            self.go_back()?;
            // A step with an event says nothing about the integration.
            sound &= crossed?.is_uneventful(span);
        }
        if self.slot == Slot::Free {
            self.inner.release();
        }
        Ok(sound)
    }

    /// A step of what is probed.
    pub(super) fn inner_advance(
        &mut self,
        span: Span,
        u: Inputs<'_>,
        y: &mut [f64],
    ) -> Result<Advance, SubsystemError> {
        self.inner.advance(span, u, y)
    }

    /// Back to what was saved, or the next step fails: it would begin elsewhere.
    pub(super) fn go_back(&mut self) -> Result<(), SubsystemError> {
        self.inner.restore().inspect_err(|error| self.astray = Some(error.clone()))
    }

    /// Tries how the subsystem answers to one of its inputs, if it is time to.
    fn try_answer(&mut self, sums: &mut Sums, span: Span, u: Inputs<'_>) {
        if !self.probes || self.slot == Slot::Taken || sums.time == 0.0 {
            return;
        }
        let Some(trial) = sums.answers.due(sums.calls, sums.time, self.stop - span.start) else { return };
        let saved = if self.slot == Slot::Free { self.inner.save() } else { Ok(()) };
        let time = sums.time;
        let sizes =
            sums.outputs.iter().map(|o| (if o.real { o.spread(time) } else { f64::INFINITY }, o.largest()));
        let tried = saved.and_then(|()| self.push(&mut sums.answers, &trial, span.start, u, sizes));
        if self.slot == Slot::Free {
            self.inner.release();
        }
        sums.extra += 4;
        // The real step is made from the same state, or fails.
        sums.answers.over |= tried.is_err();
    }

    fn sub_steps(&self, sums: &Sums, span: Span) -> u32 {
        let wanted = match &self.governor {
            None => return 1,
            Some(Governor::Tolerance(_)) => sums.rate * span.h,
            Some(Governor::Repeat { rates, parts }) => {
                let place = rates.partition_point(|(t, _)| *t <= span.start);
                place.checked_sub(1).map_or(0.0, |k| rates[k].1) * span.h * parts
            }
        };
        wanted.ceil().clamp(1.0, MOST) as u32
    }
}

impl Advance {
    pub(crate) fn is_uneventful(&self, span: Span) -> bool {
        self.event == StepEvent::None && self.reached >= span.end - 1e-9 * span.h
    }
}

impl Sums {
    /// S1 of an output, and its order; none if that is noise.
    fn bound(&self, o: &Output) -> Option<(f64, f64)> {
        let order = o.order()?;
        Some((o.d1 * o.whole() * (self.time / self.probed) / o.spread(self.time), order))
    }

    fn error_by_probes(&self) -> Option<OwnError> {
        let one = |(output, o): (usize, &Output)| {
            let (bound, order) = self.bound(o)?;
            let by = FoundBy::Probes { bound, order };
            (o.real && bound > 0.0).then_some(OwnError { estimate: SHARE * bound, output, by })
        };
        self.outputs.iter().enumerate().filter_map(one).max_by(|a, b| a.estimate.total_cmp(&b.estimate))
    }

    fn error_by_twin(&self) -> Option<OwnError> {
        let moves = |o: &&Output| o.real && o.max > o.min;
        let swings =
            self.outputs.iter().filter(moves).map(|o| o.travel / (o.max - o.min)).fold(0.0, f64::max);
        let one = |(output, o): (usize, &Output)| {
            let (spread, whole) = (o.spread(self.time), o.whole());
            let rms = whole * (o.e2 / self.time).sqrt() / spread;
            let most = match self.probes {
                0 => whole * o.e_travel / spread,
                _ => self.bound(o)?.0,
            };
            let grown = TWIN_SHARES[1] * rms * (1.0 + swings / TWIN_SWINGS).sqrt();
            let estimate = grown.min(TWIN_SHARES[0] * most);
            (o.real && estimate > 0.0).then_some(OwnError { estimate, output, by: FoundBy::Twin })
        };
        self.outputs.iter().enumerate().filter_map(one).max_by(|a, b| a.estimate.total_cmp(&b.estimate))
    }

    /// Learns from a probe; `y` is what the step gave.
    fn learn(&mut self, span: Span, y: &[f64], two: &[f64], four: Option<&[f64]>) {
        self.probed += span.h;
        for (k, o) in self.outputs.iter_mut().enumerate().filter(|(_, o)| o.real) {
            let d1 = o.sound(y[k] - two[k]);
            o.d1 += d1.abs();
            if let Some(four) = four {
                o.q1 += d1 * d1;
                o.q2 += o.sound(two[k] - four[k]).powi(2);
            }
        }
    }

    /// Chooses the sub-steps from here on, for a relative error `tolerance`.
    fn govern(&mut self, tolerance: f64, span: Span, n: u32, y: &[f64], two: &[f64]) {
        let h = span.h;
        let grown = h > LONGER[1] * self.last_h;
        let time = self.time;
        let mut rate: f64 = 0.0;
        for (k, o) in self.outputs.iter_mut().enumerate().filter(|(_, o)| o.real) {
            let Some(p) = o.order() else { continue };
            let d1 = o.sound(y[k] - two[k]).abs() / (1.0 - (-p).exp2());
            let now = d1 * f64::from(n).powf(p) / h.powf(p + 1.0);
            o.c = if grown { now } else { now.max(0.5 * o.c) };
            let (half, spread) = (0.5 * (o.max - o.min), (o.m2.max(0.0) / time).sqrt());
            let omega = if spread > 0.0 { (o.speed / time).sqrt() / spread } else { 0.0 };
            let allowed = half * omega * OWN_SHARE * tolerance;
            if allowed > 0.0 && o.c > 0.0 {
                rate = rate.max((o.c / allowed).powf(1.0 / p));
            }
        }
        self.rate = rate;
        if let Some(log) = &mut self.log {
            log.push((span.end, rate));
        }
    }
}

impl Wrapper for OwnStepProbe {
    fn inner(&self) -> &dyn Subsystem {
        self.inner.as_ref()
    }

    fn inner_mut(&mut self) -> &mut dyn Subsystem {
        self.inner.as_mut()
    }

    fn bind(&mut self, binding: &Binding) -> Result<(), SubsystemError> {
        let (inputs, outputs) = (binding.inputs.len(), binding.outputs.len());
        self.value.resize(inputs, 0.0);
        self.slope.resize(inputs, 0.0);
        for y in [&mut self.one, &mut self.two, &mut self.four] {
            y.resize(outputs, 0.0);
        }
        let info = self.inner.info();
        let real = |&v: &usize| info.variables[v].kind == ValueKind::Real;
        let fresh = |v: &usize| Output { real: real(v), ..Output::default() };
        let fresh: Vec<Output> = binding.outputs.iter().map(fresh).collect();
        let bounds = |&v: &usize| (real(&v), info.variables[v].min, info.variables[v].max);
        let answers = Answers::new(binding.inputs.iter().map(bounds), outputs);
        if let Some(found) = &self.found {
            let mut sums = found.sums();
            (sums.outputs, sums.answers) = (fresh, answers);
        }
        self.scratch.resize(inputs, outputs);
        self.inner.bind(binding)
    }

    fn enter(&mut self, setup: &Setup) -> Result<(), SubsystemError> {
        self.stop = setup.stop;
        self.inner.enter(setup)
    }

    fn save(&mut self) -> Result<(), SubsystemError> {
        // Where that fails, what was saved before is not where the next step begins.
        self.slot = Slot::Free;
        self.inner.save()?;
        self.slot = Slot::Current;
        Ok(())
    }

    fn restore(&mut self) -> Result<(), SubsystemError> {
        self.slot = Slot::Current;
        self.inner.restore()
    }

    fn release(&mut self) {
        self.slot = Slot::Free;
        self.inner.release();
    }

    fn load_snapshot(&mut self, snapshot: &StateSnapshot) -> Result<(), SubsystemError> {
        self.slot = Slot::Free;
        self.inner.load_snapshot(snapshot)
    }

    fn advance(&mut self, span: Span, u: Inputs<'_>, y: &mut [f64]) -> Result<Advance, SubsystemError> {
        let Some(found) = self.found.take() else { return self.inner.advance(span, u, y) };
        let advance = self.advance_with(&mut found.sums(), span, u, y);
        self.found = Some(found);
        advance
    }
}

impl OwnStepProbe {
    /// A step, and what it tells; `sums` are its own.
    fn advance_with(
        &mut self,
        sums: &mut Sums,
        span: Span,
        u: Inputs<'_>,
        y: &mut [f64],
    ) -> Result<Advance, SubsystemError> {
        self.try_answer(sums, span, u);
        let n = self.sub_steps(sums, span);
        sums.last_parts = n;
        (sums.steps, sums.sub_steps) = (sums.steps + 1, sums.sub_steps + u64::from(n));
        let adapts = matches!(self.governor, Some(Governor::Tolerance(_)));
        let turn = match adapts && sums.rate > 0.0 {
            true => sums.calls.is_multiple_of(EVERY_GOVERNED),
            false => sums.calls.is_multiple_of(EVERY),
        };
        // Steps that grow are probed before they are long, and the second one, as the first one has no scale.
        let most = if sums.rate > 0.0 { LONGER[0] } else { LONGER_UNSEEN };
        let longer = adapts && (span.h > most * sums.last_h || sums.calls == 1);
        let due = self.probes && (turn || longer) && self.slot != Slot::Taken;
        sums.calls += u64::from(!(self.probes && turn && self.slot == Slot::Taken));
        let (first, quarters) = (sums.probes == 0, sums.probes.is_multiple_of(QUARTERS));
        let mut sound = false;
        if due {
            match self.try_finer(span, n, u, first, quarters) {
                Ok(compared) => sound = compared,
                Err(error) => {
                    // The real step is made from the same state, or fails.
                    self.probes = false;
                    sums.failed = Some(error.to_string());
                }
            }
            sums.extra += u64::from(n) * (2 + u64::from(first) + 4 * u64::from(quarters));
        }
        if let Some(error) = self.astray.take() {
            return Err(error);
        }
        let advance = self.cross(span, n, u, y)?;
        if self.slot == Slot::Current {
            self.slot = Slot::Taken;
        }
        sums.extra += u64::from(n - 1);
        sums.most = sums.most.max(n);
        sums.capped += u64::from(f64::from(n) == MOST);
        sums.time += span.h;
        let share = span.h / sums.time;
        sums.outputs.iter_mut().zip(&*y).for_each(|(o, &y)| o.see(y, span.h, share));
        sums.answers.see(u, span.h, share);
        if sound && advance.is_uneventful(span) {
            if first {
                let off = |(o, (a, b)): (&Output, (&f64, &f64))| match o.real {
                    true => (a - b).abs() / o.largest().max(f64::MIN_POSITIVE),
                    false => 0.0,
                };
                let worst = sums.outputs.iter().zip(self.one.iter().zip(&*y)).map(off).fold(0.0, f64::max);
                if worst > FAITHFUL {
                    self.probes = false;
                    sums.unfaithful = Some(worst);
                    return Ok(advance);
                }
            }
            sums.probes += 1;
            sums.learn(span, y, &self.two, quarters.then_some(&self.four));
            if let Some(Governor::Tolerance(tolerance)) = self.governor {
                sums.govern(tolerance, span, n, y, &self.two);
            }
        }
        if due {
            sums.last_h = span.h;
        }
        Ok(advance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subsystem::twin::Twinned;
    use crate::subsystem::{Capabilities, Causality, FeedThrough, Variable};

    /// `x' = u - x`, by so many explicit Euler steps per call, or exactly for a constant input.
    struct Decay {
        info: Info,
        steps: Option<u32>,
        x: f64,
        saved: f64,
        /// What a restore adds.
        slip: f64,
        t: f64,
        /// From here on saving, and from there on restoring, fails.
        fails: [f64; 2],
    }

    impl Decay {
        fn new(steps: Option<u32>) -> Self {
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
                kind: "decay".to_owned(),
                variables: vec![variable("u", Causality::Input), variable("x", Causality::Output)].into(),
                feed_through: FeedThrough::Declared(Vec::new()),
                capabilities,
            };
            Decay { info, steps, x: 1.0, saved: 0.0, slip: 0.0, t: 0.0, fails: [f64::INFINITY; 2] }
        }
    }

    impl Subsystem for Decay {
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
            y[0] = self.x;
            Ok(())
        }
        fn advance(&mut self, span: Span, u: Inputs<'_>, y: &mut [f64]) -> Result<Advance, SubsystemError> {
            match self.steps {
                Some(n) => (0..n).for_each(|_| self.x += span.h / f64::from(n) * (u.value[0] - self.x)),
                None => self.x = u.value[0] + (self.x - u.value[0]) * (-span.h).exp(),
            }
            y[0] = self.x;
            self.t = span.end;
            Ok(Advance::whole(span))
        }
        fn probe(&mut self, _: &mut [f64]) -> Result<(), SubsystemError> {
            Ok(())
        }
        fn save(&mut self) -> Result<(), SubsystemError> {
            if self.t > self.fails[0] {
                return Err(SubsystemError::Infeasible { message: "not saved".to_owned() });
            }
            self.saved = self.x;
            Ok(())
        }
        fn restore(&mut self) -> Result<(), SubsystemError> {
            if self.t > self.fails[1] {
                return Err(SubsystemError::Infeasible { message: "not restored".to_owned() });
            }
            self.x = self.saved + self.slip;
            Ok(())
        }
        fn scratch(&self) -> Option<Box<dyn Subsystem>> {
            let mut other = Decay::new(self.steps);
            other.info = self.info.clone();
            Some(Box::new(other))
        }
    }

    /// So many seconds in steps of `h` from x = 1 with the input 0; the last output.
    fn run(inner: Decay, governor: Option<Governor>, h: f64, seconds: f64) -> (f64, OwnSteps) {
        let (mut probe, found) = OwnStepProbe::new(Box::new(inner), governor);
        Subsystem::bind(&mut probe, &Binding { inputs: vec![0], outputs: vec![1], ..Binding::default() })
            .unwrap();
        let mut y = [0.0];
        for k in 0..(seconds / h).round() as u32 {
            let span = Span::new(f64::from(k) * h, h);
            Subsystem::advance(&mut probe, span, Inputs::constant(&[0.0]), &mut y).unwrap();
        }
        (y[0], found)
    }

    /// Expected: Euler's (1 − h)ⁿ and exp(−4). The error of x over its standard deviation is at most that over its range times 4.
    #[test]
    fn steps_of_euler_are_seen_with_their_order_and_exact_ones_are_not() {
        let (x, found) = run(Decay::new(Some(1)), None, 0.005, 4.0);
        assert!((x - 0.995f64.powi(800)).abs() < 1e-12, "probing changes nothing: {x}");
        let own = found.error().expect("an error");
        let FoundBy::Probes { bound, order } = own.by else { panic!("{own:?}") };
        assert!((order - 1.0).abs() < 0.05, "{own:?}");
        // The largest error over time is h/2·t·exp(−t) at t = 1 s: 9.2e-4.
        assert!(bound > 9.2e-4 && bound < 0.1, "{own:?}");
        let (_, found) = run(Decay::new(None), None, 0.005, 4.0);
        assert!(found.is_known() && found.error().is_none(), "{:?}", found.error());
    }

    /// Expected: with n sub-steps Euler's error is n times smaller.
    #[test]
    fn a_tolerance_asks_for_sub_steps_and_they_can_be_repeated_in_halves() {
        let exact = (-1.0f64).exp();
        let (plain, _) = run(Decay::new(Some(1)), None, 0.005, 1.0);
        let (finer, found) = run(Decay::new(Some(1)), Some(Governor::Tolerance(1e-2)), 0.005, 1.0);
        assert!((finer - exact).abs() < 0.3 * (plain - exact).abs(), "{finer} {plain} {exact}");
        let sums = found.copy();
        assert!(sums.most > 5 && sums.most <= 200 && sums.extra > 200, "{sums:?}");
        let repeat = Governor::Repeat { rates: vec![(0.0, 2000.0)].into(), parts: 2.0 };
        let (repeated, found) = run(Decay::new(Some(1)), Some(repeat), 0.0025, 4.0);
        assert_eq!(found.copy().most, 10, "2000 per second of a step of 5 ms, in each half");
        assert!((repeated - (1.0 - 0.00025f64).powi(16_000)).abs() < 1e-12, "{repeated}");
    }

    /// A restore that leads elsewhere was taken for an own error.
    #[test]
    fn what_cannot_be_restored_is_probed_once_and_said() {
        let (_, found) = run(Decay { slip: 0.01, ..Decay::new(Some(1)) }, None, 0.005, 4.0);
        let sums = found.copy();
        assert!(sums.unfaithful.is_some_and(|off| off > 1e-3) && !found.is_known(), "{sums:?}");
    }

    /// Expected: of x' = −x in steps of h, Euler's xₙ = (1 − h)ⁿ and its twin's (1 − h/2)²ⁿ, and the formula of the module by hand.
    #[test]
    fn a_twin_finds_the_same_without_restoring() {
        let (h, steps) = (0.005, 800);
        let mut inner = Decay::new(Some(1));
        inner.info.capabilities.can_restore = false;
        let (mut twinned, found) = Twinned::new(Box::new(inner));
        found.want_twin();
        Subsystem::bind(&mut twinned, &Binding { inputs: vec![0], outputs: vec![1], ..Binding::default() })
            .unwrap();
        Subsystem::enter(&mut twinned, &Setup { start: 0.0, stop: 4.0 }).unwrap();
        let mut y = [0.0];
        Subsystem::evaluate(&mut twinned, Inputs::constant(&[0.0]), &mut y).unwrap();
        let (mut values, mut differences) = (Vec::new(), Vec::new());
        for k in 0..steps {
            let span = Span::new(f64::from(k) * h, h);
            Subsystem::advance(&mut twinned, span, Inputs::constant(&[0.0]), &mut y).unwrap();
            let n = k + 1;
            assert!((y[0] - (1.0 - h).powi(n)).abs() < 1e-13, "the twin changes nothing");
            values.push((1.0 - h).powi(n));
            differences.push((1.0 - h).powi(n) - (1.0 - 0.5 * h).powi(2 * n));
        }
        let mean = |list: &[f64]| list.iter().sum::<f64>() / list.len() as f64;
        let spread = mean(&values.iter().map(|x| (x - mean(&values)).powi(2)).collect::<Vec<_>>()).sqrt();
        let rms = mean(&differences.iter().map(|e| e * e).collect::<Vec<_>>()).sqrt();
        let travel: f64 =
            differences.windows(2).map(|e| (e[1] - e[0]).abs()).sum::<f64>() + differences[0].abs();
        let expected =
            (0.7 * 2.0 * travel / spread).min(1.2 * 2.0 * rms / spread * (1.0f64 + 1.0 / 6.0).sqrt());
        let own = found.error().expect("an error");
        assert!((own.estimate / expected - 1.0).abs() < 1e-3, "{own:?}, expected {expected}");
        assert!(own.by == FoundBy::Twin && found.is_known() && found.copy().extra == 1600);
        // The true one: Euler's against exp(−t).
        let errors: Vec<f64> =
            (0..steps).map(|k| ((1.0 - h).powi(k + 1) - (-h * f64::from(k + 1)).exp()).powi(2)).collect();
        let truth = mean(&errors).sqrt() / spread;
        assert!(own.estimate > 0.5 * truth && own.estimate < 3.0 * truth, "{own:?}, true {truth}");
    }

    /// After a state that the engine could not save, probes went back to an older one. Expected: Euler's (1 − h)ⁿ.
    #[test]
    fn what_could_not_be_saved_is_not_gone_back_to() {
        let inner = Decay { fails: [1.0, f64::INFINITY], ..Decay::new(Some(1)) };
        let (mut probe, _) = OwnStepProbe::new(Box::new(inner), None);
        Subsystem::bind(&mut probe, &Binding { inputs: vec![0], outputs: vec![1], ..Binding::default() })
            .unwrap();
        let (mut y, h) = ([0.0], 0.005);
        for k in 0..800 {
            assert_eq!(Subsystem::save(&mut probe).is_ok(), k <= 200, "step {k}");
            let span = Span::new(f64::from(k) * h, h);
            Subsystem::advance(&mut probe, span, Inputs::constant(&[0.0]), &mut y).unwrap();
            assert!((y[0] - (1.0 - h).powi(k + 1)).abs() < 1e-12, "step {k}: {}", y[0]);
        }
    }

    /// A probe that could not be taken back left the state where it had led to, and the run went on from there.
    #[test]
    fn a_probe_that_cannot_be_taken_back_is_an_error_of_the_step() {
        let inner = Decay { fails: [f64::INFINITY, 1.0], ..Decay::new(Some(1)) };
        let (mut probe, _) = OwnStepProbe::new(Box::new(inner), None);
        Subsystem::bind(&mut probe, &Binding { inputs: vec![0], outputs: vec![1], ..Binding::default() })
            .unwrap();
        let (mut y, h) = ([0.0], 0.005);
        let failed = (0..800).find_map(|k| {
            let span = Span::new(f64::from(k) * h, h);
            let made = Subsystem::advance(&mut probe, span, Inputs::constant(&[0.0]), &mut y);
            made.is_ok().then(|| assert!((y[0] - (1.0 - h).powi(k + 1)).abs() < 1e-12, "step {k}: {}", y[0]));
            made.err().map(|error| (k, error.to_string()))
        });
        // Every 50th step is probed, and answers to inputs between them.
        assert!(
            failed.as_ref().is_some_and(|(k, why)| (200..=250).contains(k) && why == "not restored"),
            "{failed:?}"
        );
    }

    /// What the engine saved is what it gets back, whatever was probed in between.
    #[test]
    fn the_slot_of_the_engine_is_left_alone() {
        let (mut probe, _) = OwnStepProbe::new(Box::new(Decay::new(Some(1))), None);
        Subsystem::bind(&mut probe, &Binding { inputs: vec![0], outputs: vec![1], ..Binding::default() })
            .unwrap();
        let (mut y, u) = ([0.0], [0.0]);
        let mut step = |probe: &mut OwnStepProbe, k: u32| {
            let span = Span::new(f64::from(k) * 0.01, 0.01);
            Subsystem::advance(probe, span, Inputs::constant(&u), &mut y).unwrap();
            y[0]
        };
        for k in 0..60 {
            Subsystem::save(&mut probe).unwrap();
            let first = step(&mut probe, 2 * k);
            let second = step(&mut probe, 2 * k + 1);
            Subsystem::restore(&mut probe).unwrap();
            assert_eq!(step(&mut probe, 2 * k), first, "step {k}");
            assert_eq!(step(&mut probe, 2 * k + 1), second, "step {k}");
            Subsystem::release(&mut probe);
        }
    }
}
