//! Where the next step ends: exact ends, exact event times, and no drift.

use crate::subsystem::Span;

/// What happens at the end of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum EndRule {
    /// The last step ends exactly at the stop time.
    #[default]
    Exact,
    /// As `Exact`; the last two steps share what is left, so that none is tiny.
    Halved,
    /// Steps are never shortened: the run ends with the first one that reaches the stop time (the papers' rule).
    Overshoot,
}

/// A rest shorter than this share of a step is merged into it.
const MERGE: f64 = 1e-6;

/// Turns wished step sizes into spans.
///
/// Fixed steps end at `start + n·h`, adaptive ones at a compensated sum, so that 10^8 steps do not drift.
#[derive(Clone, Debug)]
pub struct Clock {
    start: f64,
    stop: f64,
    end_rule: EndRule,
    /// Step of a fixed grid.
    fixed: Option<f64>,
    /// Grid points passed.
    n: i64,
    t: f64,
    /// What the compensated sum still owes.
    owed: f64,
    /// Times to be hit exactly, increasing.
    targets: Vec<f64>,
    next_target: usize,
    /// Multiples of this after the start are hit exactly, too.
    landing: Option<f64>,
    landed: i64,
    /// Steps are multiples of this.
    quantum: Option<f64>,
    /// Times that subsystems announced as the run went on, to be hit exactly, increasing; never more than fit without allocation.
    expected: Vec<f64>,
    /// Whether they count.
    heeds_announced: bool,
    /// How many of them the last step had.
    quanta: f64,
    /// Times that are no further apart than this, in seconds, are one.
    same: f64,
    /// The next time that must be hit.
    target: f64,
}

const SAME: f64 = 64.0 * f64::EPSILON;

/// Times of a run that are no further apart than this, in seconds, are one: round-off parts them.
pub fn resolution(start: f64, stop: f64) -> f64 {
    SAME * start.abs().max(stop.abs())
}

/// The first of `times`, increasing, that is no further from `t` than `resolution`; `t` itself if there is none.
pub(crate) fn aligned(t: f64, times: &[f64], resolution: f64) -> f64 {
    let place = times.partition_point(|&x| x < t - resolution);
    times.get(place).copied().filter(|&x| x <= t + resolution).unwrap_or(t)
}

/// How many announced times are kept; the nearest ones.
const MOST_EXPECTED: usize = 64;

/// A proposed step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Proposal {
    /// The step.
    pub span: Span,
    /// It is shorter than wished, because something has to be hit; it says nothing about the wish.
    pub shortened: bool,
}

/// Two proposed steps, to be made or taken back together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// Both.
    pub whole: Span,
    /// One after the other.
    pub halves: [Span; 2],
    /// They are shorter than wished.
    pub shortened: bool,
}

/// Where a step ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrival {
    /// At a discontinuity that was known before the run.
    pub known: bool,
    /// At one that a subsystem announced.
    pub announced: bool,
}

impl Arrival {
    /// Whether it is one of both.
    pub fn is_discontinuity(self) -> bool {
        self.known || self.announced
    }
}

impl Pair {
    /// Two equal halves.
    fn halved(whole: Proposal) -> Self {
        let Proposal { span, shortened } = whole;
        Pair { whole: span, halves: [span.part(0, 2), span.part(1, 2)], shortened }
    }
}

impl Clock {
    /// From `start` to `stop`; `fixed` is the step of a fixed grid; `targets` are times to be hit exactly.
    pub fn new(start: f64, stop: f64, end_rule: EndRule, fixed: Option<f64>, mut targets: Vec<f64>) -> Self {
        let same = resolution(start, stop);
        targets.retain(|&t| t > start + same && t < stop - same);
        targets.sort_by(f64::total_cmp);
        targets.dedup();
        let mut clock = Clock {
            start,
            stop,
            end_rule,
            fixed,
            n: 0,
            t: start,
            owed: 0.0,
            targets,
            next_target: 0,
            landing: None,
            landed: 0,
            quantum: None,
            expected: Vec::with_capacity(MOST_EXPECTED),
            heeds_announced: true,
            quanta: 0.0,
            same,
            target: stop,
        };
        clock.target = clock.find_target();
        clock
    }

    /// Whether steps end at `t` if a discontinuity is announced for it: it is neither past nor beyond the end.
    pub fn heeds(&self, t: f64) -> bool {
        self.heeds_announced && t > self.t + self.same && t < self.stop
    }

    /// A discontinuity was announced for `t`.
    pub fn expect(&mut self, t: f64) {
        if !self.heeds(t) {
            return;
        }
        let place = self.expected.partition_point(|&known| known < t);
        if self.expected.get(place) == Some(&t) || place == MOST_EXPECTED {
            return;
        }
        self.expected.truncate(MOST_EXPECTED - 1);
        self.expected.insert(place, t);
        self.target = self.find_target();
    }

    /// Adaptive steps are multiples of `quantum`, the nearest below what is wished. After one quantum a wish of one and a half
    /// counts as two, or steps that grow by no more than that would never become longer.
    pub fn in_multiples_of(mut self, quantum: f64) -> Self {
        self.quantum = Some(quantum);
        self
    }

    /// Announced times shorten no step: somebody takes steps of certain lengths only.
    pub fn without_announced(mut self) -> Self {
        self.heeds_announced = false;
        self
    }

    /// Also hits every multiple of `interval` after the start.
    pub fn land_on(mut self, interval: f64) -> Self {
        self.landing = Some(interval);
        self.target = self.find_target();
        self
    }

    /// Now.
    pub fn time(&self) -> f64 {
        self.t
    }

    /// Whether the run is over.
    pub fn done(&self) -> bool {
        self.t >= self.stop
    }

    /// The next time that must be hit; infinite if there is none. Times that are apart by round-off only are one: `3 · 0.1` and
    /// `0.3` are not two with a step of 6e-17 s between them. The end and discontinuities are hit to the bit.
    fn find_target(&self) -> f64 {
        let stop = if self.end_rule == EndRule::Overshoot { f64::INFINITY } else { self.stop };
        let known = self.targets.get(self.next_target).copied();
        let landing = self.landing.map(|interval| self.start + (self.landed + 1) as f64 * interval);
        let announced = self.expected.first().copied();
        let first = [known, announced, landing].into_iter().flatten().fold(stop, f64::min);
        let is_near = |t: &f64| *t <= first + self.same;
        // What is over has come as well: of several that were announced the last one.
        let announced = self.expected.iter().copied().take_while(is_near).last();
        [Some(stop), known, announced].into_iter().flatten().find(is_near).unwrap_or(first)
    }

    /// The step that comes nearest to the wished size `h`.
    pub fn propose(&self, h: f64) -> Proposal {
        let mut span = match self.fixed {
            Some(step) => {
                let mut end = self.start + (self.n + 1) as f64 * step;
                if end - self.t <= MERGE * step {
                    end += step;
                }
                let on_grid = (self.t - (self.start + self.n as f64 * step)).abs() <= MERGE * step;
                Span { start: self.t, end, h: if on_grid { step } else { end - self.t } }
            }
            None => match self.quantum {
                Some(quantum) => {
                    let here = ((self.t - self.start) / quantum).round();
                    let wish = h / quantum * (1.0 + MERGE);
                    let count = if self.quanta == 1.0 && (1.5..2.0).contains(&wish) {
                        2.0
                    } else {
                        wish.floor().max(1.0)
                    };
                    Span { start: self.t, end: self.start + (here + count) * quantum, h: count * quantum }
                }
                None => Span { start: self.t, end: self.t + (h + self.owed), h },
            },
        };
        let shortened = self.clip(&mut span);
        Proposal { span, shortened }
    }

    /// Ends a step at the next time that must be hit exactly, if it comes that far; true if that makes it shorter.
    fn clip(&self, span: &mut Span) -> bool {
        let target = self.target;
        let slack = MERGE * span.h;
        if target > span.end + slack {
            let rest = target - span.start;
            if self.end_rule == EndRule::Halved
                && self.fixed.or(self.quantum).is_none()
                && rest < 2.0 * span.h - slack
            {
                (span.h, span.end) = (0.5 * rest, span.start + 0.5 * rest);
                return true;
            }
            return false;
        }
        let shortened = target < span.end - slack;
        // On a regular grid the nominal length stays: only the end is rounded to the target.
        if shortened || self.fixed.is_none() {
            span.h = target - span.start;
        }
        span.end = target;
        shortened
    }

    /// Two steps near the wished size `h`: of equal length, or the next two of a fixed grid. `None` if only one is left
    /// on the grid before a time that must be hit.
    pub fn propose_pair(&self, h: f64) -> Option<Pair> {
        let Some(step) = self.fixed else { return Some(Pair::halved(self.propose(2.0 * h))) };
        let first = self.propose(h);
        if first.span.end >= self.stop || self.target <= first.span.end {
            return None;
        }
        let mut n = self.n;
        while first.span.end >= self.start + (n + 1) as f64 * step - MERGE * step {
            n += 1;
        }
        let mut second = Span { start: first.span.end, end: self.start + (n + 1) as f64 * step, h: step };
        let shortened = self.clip(&mut second);
        let whole = Span { start: first.span.start, end: second.end, h: first.span.h + second.h };
        Some(Pair { whole, halves: [first.span, second], shortened: first.shortened || shortened })
    }

    /// Two equal steps up to `end`, which was asked for by an event.
    pub fn cut_pair(&self, end: f64) -> Pair {
        Pair::halved(self.cut(end))
    }

    /// The start of `span` again, with an end that was asked for by an event.
    pub fn cut(&self, end: f64) -> Proposal {
        Proposal { span: Span { start: self.t, end, h: end - self.t }, shortened: true }
    }

    /// Counts off the targets that have been reached.
    fn pass_targets(&mut self) -> Arrival {
        let (now, before) = (self.t + self.same, self.t - self.same);
        let is_here = |x: f64| x >= before;
        let mut arrival = Arrival::default();
        if let Some(dt) = self.landing {
            while now >= self.start + (self.landed + 1) as f64 * dt {
                self.landed += 1;
            }
        }
        while let Some(&x) = self.targets.get(self.next_target).filter(|&&x| x <= self.t) {
            arrival.known |= is_here(x);
            self.next_target += 1;
        }
        let passed = self.expected.partition_point(|&x| x <= now);
        arrival.announced |= self.expected[..passed].iter().any(|&x| is_here(x));
        self.expected.drain(..passed);
        self.target = self.find_target();
        arrival
    }

    /// Moves to the end of an accepted step.
    pub fn advance(&mut self, span: Span) -> Arrival {
        if let Some(step) = self.fixed {
            while span.end >= self.start + (self.n + 1) as f64 * step - MERGE * step {
                self.n += 1;
            }
        }
        if let Some(quantum) = self.quantum {
            self.quanta = (span.h / quantum).round();
        }
        // Neumaier: what the addition lost is owed to the next one.
        let exact = span.h + self.owed;
        self.owed =
            if self.fixed.is_some() || self.quantum.is_some() { 0.0 } else { exact - (span.end - self.t) };
        self.t = span.end;
        let mut arrival = Arrival::default();
        if self.t >= self.target - self.same {
            arrival = self.pass_targets();
        }
        if arrival.is_discontinuity() || self.owed.abs() > span.h {
            self.owed = 0.0;
        }
        arrival
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let fixed = Clock::new(0.0, 1e7, EndRule::Exact, Some(0.1), vec![]);
        let (steps, end, _) = walk(fixed, 0.1);
        assert_eq!((steps, end), (100_000_000, 1e7));
        let mut adaptive = Clock::new(0.0, 2e7, EndRule::Overshoot, None, vec![]);
        for _ in 0..100_000_000u32 {
            let span = adaptive.propose(0.1).span;
            adaptive.advance(span);
        }
        // 10^8 · 0.1 with the double nearest to 0.1 is 1e7 + 5.6e-10; a double near 1e7 resolves 1.9e-9.
        assert!((adaptive.time() - 1e7).abs() <= 2e-9, "{}", adaptive.time());
    }

    #[test]
    fn pairs_are_two_steps_of_the_grid_or_two_halves() {
        let fixed = Clock::new(0.0, 1.0, EndRule::Exact, Some(0.3), vec![]);
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
        let free = Clock::new(0.0, 1.0, EndRule::Exact, None, vec![0.5]);
        let pair = free.propose_pair(0.4).expect("always");
        assert_eq!(pair.halves.map(|s| (s.start, s.end)), [(0.0, 0.25), (0.25, 0.5)]);
        assert!(pair.shortened && !free.propose_pair(0.2).expect("always").shortened);
    }

    /// 3 · 0.1 is above 0.3 by one bit; 0.7 and 7 · 0.1 likewise. Every jump counts once, and no step is shorter than the interval.
    #[test]
    fn times_that_round_off_parts_are_one() {
        let jumps = (1..10).map(|k| f64::from(k) / 10.0).collect();
        let mut clock = Clock::new(0.0, 1.0, EndRule::Exact, None, jumps).land_on(0.1);
        clock.expect(0.1 + 0.2);
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
        assert_eq!(walk(Clock::new(0.0, 1.0, EndRule::Exact, Some(0.3), vec![]), 0.3).0, 4);
        let (steps, end, _) = walk(Clock::new(0.0, 0.3 + 1e-9, EndRule::Exact, Some(0.1), vec![]), 0.1);
        assert_eq!((steps, end), (3, 0.3 + 1e-9));
        assert_eq!(walk(Clock::new(0.0, 1.0, EndRule::Overshoot, Some(0.3), vec![]), 0.3).1, 4.0 * 0.3);
    }

    #[test]
    fn events_are_hit_and_the_grid_goes_on() {
        let (steps, end, hits) = walk(Clock::new(0.0, 1.0, EndRule::Exact, Some(0.1), vec![0.25, 0.5]), 0.1);
        assert_eq!((steps, end, hits), (11, 1.0, vec![0.25, 0.5]));
        let (_, end, hits) = walk(Clock::new(0.0, 1.0, EndRule::Exact, None, vec![0.25, 0.5]), 0.07);
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
            let list = spans(Clock::new(0.0, 10.0, EndRule::Halved, None, targets), h);
            list.iter().map(|s| s.end).collect::<Vec<f64>>()
        };
        assert_eq!(ends(vec![], 3.0), [3.0, 6.0, 8.0, 10.0]);
        assert_eq!(ends(vec![5.0], 3.0), [2.5, 5.0, 7.5, 10.0]);
        assert_eq!(ends(vec![], 5.0), [5.0, 10.0], "nothing is left to share");
        assert_eq!(ends(vec![], 20.0), [10.0]);
        // A shortened step says nothing about the wish.
        let clock = Clock::new(0.0, 10.0, EndRule::Halved, None, vec![]);
        assert_eq!((clock.propose(6.0).shortened, clock.propose(4.0).shortened), (true, false));
        for h in [0.123, 0.7, 3.3, 9.99] {
            let list = spans(Clock::new(0.0, 10.0, EndRule::Halved, None, vec![]), h);
            let shortest = list.iter().fold(f64::INFINITY, |a, s| a.min(s.h));
            assert!(shortest > 0.499 * h, "{h}: {shortest}");
        }
    }

    #[test]
    fn steps_are_multiples_of_a_quantum() {
        let clock = || Clock::new(0.5, 1.5, EndRule::Halved, None, vec![]).in_multiples_of(0.1);
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
        let long = Clock::new(0.0, 1e5, EndRule::Exact, None, vec![]).in_multiples_of(0.1);
        let (steps, end, _) = walk(long, 0.1);
        assert_eq!((steps, end), (1_000_000, 1e5));
    }

    #[test]
    fn announced_times_are_hit_once_and_never_too_many_are_kept() {
        let mut clock = Clock::new(0.0, 1.0, EndRule::Exact, None, vec![]);
        for t in [0.33, -1.0, 0.77, 0.33, 5.0, f64::INFINITY, f64::NAN] {
            clock.expect(t);
        }
        let (steps, end, hits) = walk(clock, 0.1);
        assert_eq!((steps, end, hits), (12, 1.0, vec![0.33, 0.77]));
        let mut clock = Clock::new(0.0, 1e3, EndRule::Exact, None, vec![]);
        (1..1000).rev().for_each(|k| clock.expect(f64::from(k)));
        assert_eq!((clock.expected.len(), clock.expected[0], clock.expected[63]), (64, 1.0, 64.0));
    }

    #[test]
    fn landing_hits_every_multiple() {
        let mut clock = Clock::new(0.0, 1.0, EndRule::Exact, None, vec![]).land_on(0.25);
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
}
