//! Where the next step ends: exact ends, exact event times, and no drift.

use super::pace::{MERGE, Pace};
use super::targets::{Arrival, EndRule, KnownTimes, Targets};
use crate::subsystem::Span;
use std::sync::Arc;

/// Turns wished step sizes into spans.
///
/// Steps of a grid end at `start + n·h`, free ones at a compensated sum, so that 10^8 steps do not drift.
#[derive(Clone, Debug)]
pub struct Clock {
    start: f64,
    pace: Pace,
    now: Position,
    targets: Targets,
    run_up: Option<RunUp>,
    repeats: Option<Repeats>,
}

/// Where a run is.
#[derive(Clone, Copy, Debug)]
struct Position {
    t: f64,
    /// Grid points passed.
    n: i64,
    /// What the compensated sum has lost so far.
    owed: f64,
    /// How many quanta the last step had.
    quanta: f64,
}

/// The steps after a start or an event, on a grid: tiny ones, then each twice as long as the last one, then those of the grid.
#[derive(Clone, Copy, Debug)]
struct RunUp {
    /// Where it began, in seconds.
    from: f64,
    /// How many steps are tiny.
    tiny: u32,
}

impl RunUp {
    /// The next end of one of its steps after `t`, on a grid of `step`; none if it is over.
    fn end_after(self, t: f64, step: f64) -> Option<f64> {
        let passed = (t - self.from) / step + MERGE * TINY;
        let tiny = TINY * f64::from(self.tiny);
        if passed >= 1.0 {
            return None;
        }
        if passed < tiny {
            return Some(self.from + TINY * ((passed / TINY).floor() + 1.0) * step);
        }
        let (mut end, mut length) = (tiny, TINY);
        while end <= passed {
            length *= 2.0;
            end += length;
        }
        Some(self.from + end * step)
    }
}

/// The ends of the steps of an earlier run, which are made again.
#[derive(Clone, Debug)]
struct Repeats {
    /// Increasing, in seconds.
    ends: Arc<[f64]>,
    /// The first one that is not passed.
    next: usize,
}

impl Repeats {
    /// The place of the first end after `t`, from place `k` on. A step that was cut closer to an end than round-off has made it.
    #[inline]
    fn place_after(&self, t: f64, mut k: usize) -> usize {
        while k < self.ends.len() && {
            let before = if k > 0 { self.ends[k - 1].min(t) } else { t };
            self.ends[k] - t <= MERGE * (self.ends[k] - before)
        } {
            k += 1;
        }
        k
    }

    #[inline]
    fn end_after(&self, t: f64) -> Option<f64> {
        self.ends.get(self.place_after(t, self.next)).copied()
    }
}

/// The first steps of a run-up as a share of the step of the grid: what is wrong with them weighs 1e-6 of the error of a whole step of
/// order 0. Steps then double: a parabola that is extended by more than its own nodes reach is useless where a signal is not
/// smooth (the force of a square-root spring at the start of its motion).
const TINY: f64 = 1e-3;

/// A proposed step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Proposal {
    /// The step.
    pub span: Span,
    /// It is shorter than wished, because something has to be hit; it says nothing about the wish.
    pub shortened: bool,
}

/// Two proposed steps, to be made or rolled back together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairProposal {
    /// Both.
    pub whole: Span,
    /// One after the other.
    pub halves: [Span; 2],
    /// They are shorter than wished.
    pub shortened: bool,
}

impl PairProposal {
    /// Two equal halves.
    fn halved(whole: Proposal) -> Self {
        let Proposal { span, shortened } = whole;
        PairProposal { whole: span, halves: [span.part(0, 2), span.part(1, 2)], shortened }
    }
}

impl Clock {
    /// From `start` to `stop`, in steps of this `pace`; what is `known` is hit exactly.
    pub fn new(start: f64, stop: f64, end_rule: EndRule, pace: Pace, known: KnownTimes) -> Self {
        let targets = Targets::new(start, stop, end_rule, pace, known);
        let now = Position { t: start, n: 0, owed: 0.0, quanta: 0.0 };
        Clock { start, pace, now, targets, run_up: None, repeats: None }
    }

    /// Makes steps that end at `ends`, in seconds and increasing, whatever is wished: those of an earlier run, or parts of them. What must
    /// be hit still is, and the steps after it end where they would have.
    pub fn repeat(mut self, ends: Arc<[f64]>) -> Self {
        self.repeats = Some(Repeats { ends, next: 0 });
        self
    }

    /// Also hits every multiple of `interval` after the start.
    pub fn land_on(mut self, interval: f64) -> Self {
        self.targets.land_on(interval);
        self
    }

    /// A step also ends at `t`, or at the next possible time; at the end of the run if that comes first. Returns when, in seconds: now
    /// if `t` is over.
    pub fn land_at(&mut self, t: f64) -> f64 {
        self.targets.land_at(t, self.now.t)
    }

    /// Other jumps and bends are known from now on.
    pub fn know(&mut self, known: KnownTimes) {
        self.targets.know(known, self.now.t);
    }

    /// A discontinuity here and now that no step was made for: round-off of the past is not owed any more.
    pub fn interrupt(&mut self) {
        self.now.owed = 0.0;
    }

    /// Becomes a copy of `other`; nothing is allocated in later steps.
    pub fn copy_from(&mut self, other: &Clock) {
        let Clock { start, pace, now, targets, run_up, repeats } = other;
        (self.start, self.pace, self.now, self.run_up) = (*start, *pace, *now, *run_up);
        self.repeats.clone_from(repeats);
        self.targets.copy_from(targets);
    }

    /// The lengths that steps may have.
    pub fn pace(&self) -> Pace {
        self.pace
    }

    /// Now.
    pub fn time(&self) -> f64 {
        self.now.t
    }

    /// Where the run ends, in seconds: before its stop time if steps are multiples of something that does not fit.
    pub fn end(&self) -> f64 {
        self.targets.stop
    }

    /// Whether the run is over.
    pub fn done(&self) -> bool {
        self.now.t >= self.targets.stop
    }

    /// Whether steps end at `t` if a discontinuity is announced for it.
    pub fn heeds(&self, t: f64) -> bool {
        self.targets.heeds(t, self.now.t)
    }

    /// A discontinuity was announced for `t`.
    pub fn announce(&mut self, t: f64) {
        self.targets.announce(t, self.now.t);
    }

    /// From here on a grid begins with `tiny` steps and some that double, so that inputs have a past early; on other paces nothing
    /// happens.
    pub fn run_up(&mut self, tiny: u32) {
        if let Pace::Grid { quantum: None, .. } = self.pace {
            self.run_up = Some(RunUp { from: self.now.t, tiny });
        }
    }

    /// The step that comes nearest to the wished size `h`.
    pub fn propose(&self, h: f64) -> Proposal {
        self.propose_from(self.now, h)
    }

    #[inline]
    fn propose_from(&self, from: Position, h: f64) -> Proposal {
        let mut span = self.nominal(from, h);
        let mut shortened = self.clip(&mut span);
        if let (Some(run_up), Pace::Grid { step, .. }) = (self.run_up, self.pace)
            && let Some(end) = run_up.end_after(from.t, step)
            // What would be left of the grid's step is no shorter than half of this one.
            && end + 0.5 * (end - span.start) < span.end
        {
            (span.end, span.h) = (end, end - span.start);
            shortened = true;
        }
        Proposal { span, shortened }
    }

    /// The step of about `h` if nothing had to be hit.
    #[inline]
    fn nominal(&self, from: Position, h: f64) -> Span {
        let start = from.t;
        if let Some(end) = self.repeats.as_ref().and_then(|repeats| repeats.end_after(start)) {
            return Span { start, end, h: end - start };
        }
        match self.pace {
            Pace::Grid { step, .. } => {
                let mut end = self.start + (from.n + 1) as f64 * step;
                if end - start <= MERGE * step {
                    end += step;
                }
                let on_grid = (start - (self.start + from.n as f64 * step)).abs() <= MERGE * step;
                Span { start, end, h: if on_grid { step } else { end - start } }
            }
            Pace::Multiples(quantum) => {
                let here = ((start - self.start) / quantum).round();
                let wish = h / quantum * (1.0 + MERGE);
                // Steps that grow by no more than one and a half would never become longer than one quantum.
                let grows = from.quanta == 1.0 && (1.5..2.0).contains(&wish);
                let count = if grows { 2.0 } else { wish.floor().max(1.0) };
                Span { start, end: self.start + (here + count) * quantum, h: count * quantum }
            }
            Pace::Free => Span { start, end: start + (h + from.owed), h },
        }
    }

    /// Ends a step at the next time that must be hit exactly, if it comes that far; true if that makes it shorter.
    #[inline]
    fn clip(&self, span: &mut Span) -> bool {
        let slack = MERGE * span.h;
        let target = self.targets.next(span.start, span.end + slack, span.h);
        if target > span.end + slack {
            let rest = target - span.start;
            if self.targets.halves() && self.repeats.is_none() && rest < 2.0 * span.h - slack {
                (span.h, span.end) = (0.5 * rest, span.start + 0.5 * rest);
                return true;
            }
            return false;
        }
        let shortened = target < span.end - slack;
        // On a regular grid the nominal length stays: only the end is rounded to the target.
        if shortened || !matches!(self.pace, Pace::Grid { .. }) {
            span.h = target - span.start;
        }
        span.end = target;
        shortened
    }

    /// Two steps near the wished size `h`: of equal length, or the next two of a grid or in multiples. `None` if only one is left
    /// before a time that must be hit.
    pub fn propose_pair(&self, h: f64) -> Option<PairProposal> {
        if self.pace == Pace::Free && self.repeats.is_none() {
            return Some(PairProposal::halved(self.propose(2.0 * h)));
        }
        let first = self.propose(h);
        let Span { start, end, h } = first.span;
        if end >= self.targets.stop || self.targets.next(start, end, h) <= end {
            return None;
        }
        let second = self.propose_from(self.after(first.span), h);
        let whole = Span { start, end: second.span.end, h: h + second.span.h };
        let shortened = first.shortened || second.shortened;
        Some(PairProposal { whole, halves: [first.span, second.span], shortened })
    }

    /// Two equal steps up to `end`, which was asked for by an event; `None` if steps cannot end there or in the middle.
    pub fn cut_pair(&self, end: f64) -> Option<PairProposal> {
        self.cut(end).filter(|_| self.pace.quantum().is_none()).map(PairProposal::halved)
    }

    /// The step from here that comes nearest to `end`, which was asked for by an event, and not beyond it; `None` if there is none.
    pub fn cut(&self, end: f64) -> Option<Proposal> {
        let end = if self.pace.allows(end - self.start) {
            end
        } else {
            self.start + self.pace.not_after(end - self.start)
        };
        let start = self.now.t;
        (end > start).then_some(Proposal { span: Span { start, end, h: end - start }, shortened: true })
    }

    /// Where a run is after an accepted step.
    #[inline]
    fn after(&self, span: Span) -> Position {
        let mut next = Position { t: span.end, owed: 0.0, ..self.now };
        match self.pace {
            Pace::Grid { step, .. } => {
                while span.end >= self.start + (next.n + 1) as f64 * step - MERGE * step {
                    next.n += 1;
                }
            }
            Pace::Multiples(quantum) => next.quanta = (span.h / quantum).round(),
            Pace::Free => {
                // Neumaier: what the addition lost is owed to the next one.
                let owed = span.h + self.now.owed - (span.end - self.now.t);
                next.owed = if owed.abs() > span.h { 0.0 } else { owed };
            }
        }
        next
    }

    /// Moves to the end of an accepted step.
    #[inline]
    pub fn advance(&mut self, span: Span) -> Arrival {
        self.now = self.after(span);
        let arrival = self.targets.pass(span.end);
        if arrival.is_discontinuity() {
            self.now.owed = 0.0;
        }
        if let Some(repeats) = &mut self.repeats {
            repeats.next = repeats.place_after(self.now.t, repeats.next);
        }
        if let (Some(run_up), Pace::Grid { step, .. }) = (self.run_up, self.pace) {
            self.run_up = run_up.end_after(self.now.t, step).map(|_| run_up);
        }
        arrival
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Bend;

    fn known(jumps: Vec<f64>) -> KnownTimes {
        KnownTimes { jumps, bends: Vec::new() }
    }

    fn free(stop: f64, end_rule: EndRule, jumps: Vec<f64>) -> Clock {
        Clock::new(0.0, stop, end_rule, Pace::Free, known(jumps))
    }

    fn grid(stop: f64, end_rule: EndRule, step: f64, jumps: Vec<f64>) -> Clock {
        Clock::new(0.0, stop, end_rule, Pace::Grid { step, quantum: None }, known(jumps))
    }

    fn walk(mut clock: Clock, h: f64) -> (u64, f64, Vec<f64>) {
        let (mut steps, mut hits) = (0, Vec::new());
        while !clock.done() {
            let span = clock.propose(h).span;
            assert!(span.h > 0.0 && span.end > span.start);
            if clock.advance(span).is_discontinuity() {
                hits.push(clock.time());
            }
            steps += 1;
        }
        (steps, clock.time(), hits)
    }

    /// 10^8 steps of 0.1 s: a running sum is off by 18 s, the grid and the compensated sum by nothing.
    #[test]
    fn a_hundred_million_steps_do_not_drift() {
        let fixed = grid(1e7, EndRule::Exact, 0.1, vec![]);
        let (steps, end, _) = walk(fixed, 0.1);
        assert_eq!((steps, end), (100_000_000, 1e7));
        let mut adaptive = free(2e7, EndRule::Overshoot, vec![]);
        for _ in 0..100_000_000u32 {
            let span = adaptive.propose(0.1).span;
            adaptive.advance(span);
        }
        // 10^8 · 0.1 with the double nearest to 0.1 is 1e7 + 5.6e-10; a double near 1e7 resolves 1.9e-9.
        assert!((adaptive.time() - 1e7).abs() <= 2e-9, "{}", adaptive.time());
    }

    #[test]
    fn pairs_are_two_steps_of_the_grid_or_two_halves() {
        let fixed = grid(1.0, EndRule::Exact, 0.3, vec![]);
        let pair = fixed.propose_pair(0.3).expect("two steps fit");
        assert_eq!(pair.halves.map(|s| (s.start, s.end)), [(0.0, 0.3), (0.3, 0.6)]);
        let mut late = fixed.clone();
        for _ in 0..2 {
            late.advance(late.propose(0.3).span);
        }
        let pair = late.propose_pair(0.3).expect("a whole and a short one fit");
        assert_eq!((pair.whole.end, pair.shortened), (1.0, true));
        late.advance(late.propose(0.3).span);
        assert_eq!(late.propose_pair(0.3), None, "one step is left");
        let any = free(1.0, EndRule::Exact, vec![0.5]);
        let pair = any.propose_pair(0.4).expect("always");
        assert_eq!(pair.halves.map(|s| (s.start, s.end)), [(0.0, 0.25), (0.25, 0.5)]);
        assert!(pair.shortened && !any.propose_pair(0.2).expect("always").shortened);
    }

    /// 3 · 0.1 is above 0.3 by one bit; 0.7 and 7 · 0.1 likewise. Every jump counts once, and no step is shorter than the interval.
    #[test]
    fn times_that_round_off_parts_are_one() {
        let jumps = (1..10).map(|k| f64::from(k) / 10.0).collect();
        let mut clock = free(1.0, EndRule::Exact, jumps).land_on(0.1);
        clock.announce(0.1 + 0.2);
        let (mut hits, mut shortest) = (0, f64::INFINITY);
        while !clock.done() {
            let span = clock.propose(1.0).span;
            shortest = span.h.min(shortest);
            hits += u32::from(clock.advance(span).is_discontinuity());
        }
        assert_eq!((hits, clock.time()), (9, 1.0));
        assert!(shortest > 0.0999, "{shortest}");
    }

    #[test]
    fn the_end_is_exact_and_a_tiny_rest_is_merged() {
        assert_eq!(walk(grid(1.0, EndRule::Exact, 0.3, vec![]), 0.3).0, 4);
        let (steps, end, _) = walk(grid(0.3 + 1e-9, EndRule::Exact, 0.1, vec![]), 0.1);
        assert_eq!((steps, end), (3, 0.3 + 1e-9));
        assert_eq!(walk(grid(1.0, EndRule::Overshoot, 0.3, vec![]), 0.3).1, 4.0 * 0.3);
    }

    #[test]
    fn events_are_hit_and_the_grid_goes_on() {
        let (steps, end, hits) = walk(grid(1.0, EndRule::Exact, 0.1, vec![0.25, 0.5]), 0.1);
        assert_eq!((steps, end, hits), (11, 1.0, vec![0.25, 0.5]));
        let (_, end, hits) = walk(free(1.0, EndRule::Exact, vec![0.25, 0.5]), 0.07);
        assert_eq!((end, hits), (1.0, vec![0.25, 0.5]));
    }

    fn spans(mut clock: Clock, h: f64) -> Vec<Span> {
        let mut list = Vec::new();
        while !clock.done() {
            let span = clock.propose(h).span;
            clock.advance(span);
            list.push(span);
        }
        list
    }

    /// 10 s in steps of 3 s: two whole ones, and the last two share 4 s. A known jump at 5 s has the same rule.
    #[test]
    fn the_last_two_steps_share_what_is_left() {
        let ends = |targets: Vec<f64>, h: f64| {
            let list = spans(free(10.0, EndRule::Halved, targets), h);
            list.iter().map(|s| s.end).collect::<Vec<f64>>()
        };
        assert_eq!(ends(vec![], 3.0), [3.0, 6.0, 8.0, 10.0]);
        assert_eq!(ends(vec![5.0], 3.0), [2.5, 5.0, 7.5, 10.0]);
        assert_eq!(ends(vec![], 5.0), [5.0, 10.0], "nothing is left to share");
        assert_eq!(ends(vec![], 20.0), [10.0]);
        // A shortened step says nothing about the wish.
        let clock = free(10.0, EndRule::Halved, vec![]);
        assert_eq!((clock.propose(6.0).shortened, clock.propose(4.0).shortened), (true, false));
        for h in [0.123, 0.7, 3.3, 9.99] {
            let list = spans(free(10.0, EndRule::Halved, vec![]), h);
            let shortest = list.iter().fold(f64::INFINITY, |a, s| a.min(s.h));
            assert!(shortest > 0.499 * h, "{h}: {shortest}");
        }
    }

    #[test]
    fn steps_are_multiples_of_a_quantum() {
        let clock = || Clock::new(0.5, 1.5, EndRule::Halved, Pace::Multiples(0.1), known(vec![]));
        for (h, steps, length) in [(0.1, 10, 0.1), (0.25, 5, 0.2), (0.3, 4, 0.3), (0.01, 10, 0.1)] {
            let list = spans(clock(), h);
            assert_eq!(list.len(), steps, "{h}");
            assert!((list[0].h - length).abs() < 1e-15, "{h}: {}", list[0].h);
            for span in &list {
                let n = (span.end - 0.5) / 0.1;
                assert!((n - n.round()).abs() < 1e-9 && span.end <= 1.5, "{h}: {span:?}");
            }
            assert_eq!(list.last().map(|s| s.end), Some(1.5));
        }
        // Growing by half.
        let mut clock = clock();
        let (mut h, mut counts) = (0.01, Vec::new());
        while counts.len() < 4 {
            let span = clock.propose(h).span;
            clock.advance(span);
            counts.push((span.h / 0.1).round());
            h = 1.5 * span.h;
        }
        assert_eq!(counts, [1.0, 2.0, 3.0, 4.0]);
        // 10^6 steps: counted, not summed.
        let long = Clock::new(0.0, 1e5, EndRule::Exact, Pace::Multiples(0.1), known(vec![]));
        let (steps, end, _) = walk(long, 0.1);
        assert_eq!((steps, end), (1_000_000, 1e5));
    }

    #[test]
    fn announced_times_are_hit_once_and_never_too_many_are_kept() {
        let mut clock = free(1.0, EndRule::Exact, vec![]);
        for t in [0.33, -1.0, 0.77, 0.33, 5.0, f64::INFINITY, f64::NAN] {
            clock.announce(t);
        }
        let (steps, end, hits) = walk(clock, 0.1);
        assert_eq!((steps, end, hits), (12, 1.0, vec![0.33, 0.77]));
        let mut clock = free(1e3, EndRule::Exact, vec![]);
        (1..1000).rev().for_each(|k| clock.announce(f64::from(k)));
        let (_, _, hits) = walk(clock, 1e3);
        assert_eq!((hits.len(), hits[0], hits[63]), (64, 1.0, 64.0));
    }

    #[test]
    fn landing_hits_every_multiple() {
        let mut clock = free(1.0, EndRule::Exact, vec![]).land_on(0.25);
        let mut times = Vec::new();
        while !clock.done() {
            let span = clock.propose(0.1).span;
            clock.advance(span);
            times.push(clock.time());
        }
        for target in [0.25, 0.5, 0.75, 1.0] {
            assert!(times.contains(&target), "{target} in {times:?}");
        }
    }

    /// Multiples of 0.1 s: a run of 1.05 s ends at 1 s, an event at 0.44 s is no reason to stop there, one at 0.4 s is, and a cut at
    /// 0.37 s comes to 0.3 s.
    #[test]
    fn nothing_is_hit_off_the_multiples() {
        let mut clock = Clock::new(0.0, 1.05, EndRule::Exact, Pace::Multiples(0.1), known(vec![]));
        clock.announce(0.44);
        clock.announce(0.4);
        assert_eq!(clock.cut(0.37).map(|p| p.span.end), Some(0.1 * 3.0));
        assert_eq!(clock.cut(0.07), None);
        let pair = clock.propose_pair(0.2).expect("there is room");
        assert_eq!(pair.halves.map(|s| (s.h / 0.1).round()), [2.0, 2.0]);
        let list = spans(clock, 0.3);
        assert_eq!(list.iter().map(|s| (s.end * 10.0).round()).collect::<Vec<_>>(), [3.0, 4.0, 7.0, 10.0]);
        for span in list {
            assert!((span.h - (span.end - span.start)).abs() < 1e-12, "{span:?}");
        }
    }

    #[test]
    fn bends_are_hit_by_steps_that_are_too_long_for_them() {
        let bends = vec![Bend { time: 0.25, longest: 0.05 }, Bend { time: 0.5, longest: 10.0 }];
        let clock = Clock::new(0.0, 1.0, EndRule::Exact, Pace::Free, KnownTimes { jumps: vec![], bends });
        let ends = |h: f64| spans(clock.clone(), h).iter().map(|s| s.end).collect::<Vec<_>>();
        assert_eq!(ends(0.4), [0.25, 0.65, 1.0]);
        assert!(!ends(0.04).contains(&0.25));
    }

    /// Ends of an earlier run, of which the replay is cut at 0.35 s and just short of 0.6 s: it goes on at the ends that follow, and no
    /// step is tiny.
    #[test]
    fn an_earlier_run_is_repeated_step_by_step() {
        let ends: Arc<[f64]> = vec![0.1, 0.3, 0.6, 1.0].into();
        let mut clock = free(1.0, EndRule::Halved, vec![]).repeat(ends.clone());
        assert_eq!(spans(clock.clone(), 0.5).iter().map(|s| s.end).collect::<Vec<_>>(), *ends);
        let pair = clock.propose_pair(0.5).expect("two are left");
        assert_eq!((pair.halves[0].end, pair.whole.end), (0.1, 0.3));
        clock.announce(0.35);
        let mut made = Vec::new();
        while !clock.done() {
            let mut span = clock.propose(0.5).span;
            if span.end == 0.6 {
                (span.end, span.h) = (0.6 - 1e-9, 0.6 - 1e-9 - span.start);
            }
            clock.advance(span);
            made.push(span.end);
        }
        assert_eq!(made, [0.1, 0.3, 0.35, 0.6 - 1e-9, 1.0]);
    }

    /// 1 s in steps of 0.5 s, with a jump at 0.7 s.
    #[test]
    fn a_run_up_splits_the_first_step() {
        let mut clock = grid(1.0, EndRule::Exact, 0.5, vec![0.7]);
        let mut ends = Vec::new();
        clock.run_up(2);
        while !clock.done() {
            let span = clock.propose(0.5).span;
            if clock.advance(span).is_discontinuity() {
                clock.run_up(2);
            }
            ends.push(span.end);
        }
        // Two steps of 0.5 ms, then 1, 2, 4 … ms.
        assert!(ends.windows(2).all(|w| w[1] > w[0]), "{ends:?}");
        assert!((ends[0] - 0.5e-3).abs() < 1e-12 && (ends[1] - 1e-3).abs() < 1e-12, "{ends:?}");
        for w in ends.windows(3).filter(|w| w[2] < 0.4 && w[0] > 1e-3) {
            assert!(((w[2] - w[1]) / (w[1] - w[0]) - 2.0).abs() < 1e-6, "{ends:?}");
        }
        assert!([0.5, 0.7, 1.0].iter().all(|t| ends.contains(t)) && ends.len() < 25, "{ends:?}");
    }
}
