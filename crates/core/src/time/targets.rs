//! Times at which steps have to end: the stop, known jumps and bends of inputs, announced events, output times.

use super::pace::Pace;
use super::resolution;
use std::sync::Arc;

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

/// A known input bends: it is continuous, and its slope is not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bend {
    /// When, in seconds.
    pub time: f64,
    /// The longest step that may cross it, in seconds: what a step of that length makes of it is small enough.
    pub longest: f64,
}

/// What is known before the run.
#[derive(Clone, Debug, Default)]
pub struct KnownTimes {
    /// Jumps of inputs and changes of the coupling, in seconds.
    pub jumps: Vec<f64>,
    /// Bends of inputs.
    pub bends: Vec<Bend>,
}

/// Where a step ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrival {
    /// At a jump that was known before the run.
    pub jump: bool,
    /// At a bend that was known before the run.
    pub bend: bool,
    /// At a discontinuity that a subsystem announced.
    pub announced: bool,
}

impl Arrival {
    /// Whether it is one of them.
    pub fn is_discontinuity(self) -> bool {
        self.jump || self.bend || self.announced
    }
}

/// How many announced times are kept; the nearest ones.
const MOST_ANNOUNCED: usize = 64;

/// The times to be hit, in the order of time; nothing is allocated after `new`.
#[derive(Clone, Debug)]
pub(super) struct Targets {
    start: f64,
    /// Where the run ends: the last possible end of a step that is not after the stop time.
    pub stop: f64,
    end_rule: EndRule,
    pace: Pace,
    /// Increasing. Shared by copies: a table may have a million of them.
    jumps: Arc<[f64]>,
    next_jump: usize,
    bends: Arc<[Bend]>,
    next_bend: usize,
    /// Multiples of this after the start are hit, too.
    landing: Option<f64>,
    landed: i64,
    /// Single times that are hit, too, increasing.
    landings: Vec<f64>,
    /// Times that subsystems announced as the run went on, increasing.
    announced: Vec<f64>,
    /// Times that are no further apart than this, in seconds, are one.
    same: f64,
    /// The next time that must be hit whatever the step; infinite if there is none.
    next: f64,
}

impl Targets {
    pub fn new(start: f64, stop: f64, end_rule: EndRule, pace: Pace, known: KnownTimes) -> Self {
        let same = resolution(start, stop);
        let end = match end_rule {
            EndRule::Overshoot => stop,
            _ if pace.allows(stop - start) => stop,
            _ => start + pace.not_after(stop - start),
        };
        let mut targets = Targets {
            start,
            stop: end,
            end_rule,
            pace,
            jumps: Arc::new([]),
            next_jump: 0,
            bends: Arc::new([]),
            next_bend: 0,
            landing: None,
            landed: 0,
            landings: Vec::with_capacity(MOST_ANNOUNCED),
            announced: Vec::with_capacity(MOST_ANNOUNCED),
            same,
            next: end,
        };
        targets.know(known, start);
        targets
    }

    /// Other jumps and bends are known from `now` on.
    pub fn know(&mut self, known: KnownTimes, now: f64) {
        let KnownTimes { mut jumps, mut bends } = known;
        let (start, end, same, pace) = (self.start, self.stop, self.same, self.pace);
        let inside = |t: f64| t > start + same && t < end - same;
        jumps.retain(|&t| inside(t));
        jumps.sort_by(f64::total_cmp);
        jumps.dedup();
        bends.retain(|bend| inside(bend.time) && pace.allows(bend.time - start));
        bends.sort_by(|a, b| a.time.total_cmp(&b.time).then(a.longest.total_cmp(&b.longest)));
        bends.dedup_by_key(|bend| bend.time);
        self.next_jump = jumps.partition_point(|&t| t <= now);
        self.next_bend = bends.partition_point(|bend| bend.time <= now + same);
        (self.jumps, self.bends) = (jumps.into(), bends.into());
        self.next = self.find_next();
    }

    /// A step from `now` on also ends at `t`, or at the next possible time; the end of the run if that comes first. Returns when.
    pub fn land_at(&mut self, t: f64, now: f64) -> f64 {
        let t = if self.pace.allows(t - self.start) {
            t
        } else {
            self.start + self.pace.not_before(t - self.start)
        };
        if t <= now + self.same {
            return now;
        }
        if t.is_nan() || t >= self.stop - self.same {
            return self.stop;
        }
        let place = self.landings.partition_point(|&known| known < t);
        if self.landings.get(place) != Some(&t) {
            self.landings.insert(place, t);
            self.next = self.find_next();
        }
        t
    }

    /// Becomes a copy of `other`, ready to take as many announcements as there may be.
    pub fn copy_from(&mut self, other: &Targets) {
        let [mut announced, mut landings] = [&mut self.announced, &mut self.landings].map(std::mem::take);
        announced.clone_from(&other.announced);
        landings.clone_from(&other.landings);
        *self = Targets { announced, landings, ..other.clone() };
    }

    /// Also hits every multiple of `interval` after the start.
    pub fn land_on(&mut self, interval: f64) {
        self.landing = Some(interval);
        self.next = self.find_next();
    }

    /// Whether the last two steps before a time that must be hit share what is left.
    pub fn halves(&self) -> bool {
        self.end_rule == EndRule::Halved && self.pace == Pace::Free
    }

    /// Whether steps end at `t` if a discontinuity is announced for it at `now`: it is neither past nor beyond the end, and steps may
    /// end there.
    pub fn heeds(&self, t: f64, now: f64) -> bool {
        t > now + self.same && t < self.stop && self.pace.allows(t - self.start)
    }

    /// A discontinuity was announced for `t`.
    pub fn announce(&mut self, t: f64, now: f64) {
        if !self.heeds(t, now) {
            return;
        }
        let place = self.announced.partition_point(|&known| known < t);
        if self.announced.get(place) == Some(&t) || place == MOST_ANNOUNCED {
            return;
        }
        self.announced.truncate(MOST_ANNOUNCED - 1);
        self.announced.insert(place, t);
        self.next = self.find_next();
    }

    /// The next time that a step from `now` to `end` of length `h` must not cross; infinite if there is none. A bend counts if the step
    /// is too long for it.
    #[inline]
    pub fn next(&self, now: f64, end: f64, h: f64) -> f64 {
        if self.next_bend == self.bends.len() {
            return self.next;
        }
        self.next_with_bends(now, end, h)
    }

    #[inline(never)] // Most runs have no bends.
    fn next_with_bends(&self, now: f64, end: f64, h: f64) -> f64 {
        let crossed = self.bends[self.next_bend..].iter().take_while(|bend| bend.time < end.min(self.next));
        let matters = |bend: &&Bend| bend.time > now + self.same && h > bend.longest;
        // A bend that only round-off parts from another target is hit with it.
        match crossed.into_iter().find(matters) {
            Some(bend) if bend.time < self.next - self.same => bend.time,
            _ => self.next,
        }
    }

    /// Times that are apart by round-off only are one: `3 · 0.1` and `0.3` are not two with a step of 6e-17 s between them. The end
    /// and discontinuities are hit to the bit.
    fn find_next(&self) -> f64 {
        let stop = if self.end_rule == EndRule::Overshoot { f64::INFINITY } else { self.stop };
        let jump = self.jumps.get(self.next_jump).copied();
        let landing = self.landing.map(|interval| self.start + (self.landed + 1) as f64 * interval);
        let announced = self.announced.first().copied();
        let single = self.landings.first().copied();
        let first = [jump, announced, landing, single].into_iter().flatten().fold(stop, f64::min);
        let is_near = |t: &f64| *t <= first + self.same;
        // What is over has come as well: of several that were announced the last one.
        let announced = self.announced.iter().copied().take_while(is_near).last();
        [Some(stop), jump, announced].into_iter().flatten().find(is_near).unwrap_or(first)
    }

    /// Counts off what has been reached at `t`.
    #[inline]
    pub fn pass(&mut self, t: f64) -> Arrival {
        let has_bend = self.bends.get(self.next_bend).is_some_and(|bend| bend.time <= t + self.same);
        if t < self.next - self.same && !has_bend {
            return Arrival::default();
        }
        self.count_off(t)
    }

    #[inline(never)] // Seldom.
    fn count_off(&mut self, t: f64) -> Arrival {
        let mut arrival = Arrival::default();
        while let Some(bend) = self.bends.get(self.next_bend).filter(|bend| bend.time <= t + self.same) {
            arrival.bend |= bend.time >= t - self.same;
            self.next_bend += 1;
        }
        if t < self.next - self.same {
            return arrival;
        }
        let (now, before) = (t + self.same, t - self.same);
        let is_here = |x: f64| x >= before;
        if let Some(dt) = self.landing {
            while now >= self.start + (self.landed + 1) as f64 * dt {
                self.landed += 1;
            }
        }
        let landed = self.landings.partition_point(|&x| x <= now);
        self.landings.drain(..landed);
        while let Some(&x) = self.jumps.get(self.next_jump).filter(|&&x| x <= t) {
            arrival.jump |= is_here(x);
            self.next_jump += 1;
        }
        let passed = self.announced.partition_point(|&x| x <= now);
        arrival.announced |= self.announced[..passed].iter().any(|&x| is_here(x));
        self.announced.drain(..passed);
        self.next = self.find_next();
        arrival
    }
}
