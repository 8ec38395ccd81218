//! The steps of a run, and how a finer run divides them.

use super::compare::Samples;
use powerbond_core::observe::{EventView, Flow, Observer, StartView, StepReport};
use powerbond_core::step::StepView;
use std::sync::Arc;

/// The steps of a run, and its outputs.
pub(super) struct Trail {
    steps: Steps,
    /// In how many of the last steps each output changed without a pause.
    changed: Vec<usize>,
    /// Brief steps in which something jumped, at a time that is not known.
    unclear: Vec<usize>,
    pub samples: Samples,
}

/// Steps, and what is known of them by their places.
#[derive(Default)]
struct Steps {
    start: f64,
    ends: Vec<f64>,
    /// Those over something that jumped, and `norm · h`.
    jumps: Vec<(usize, f64)>,
    /// Those of them that were followed by an event, and the input that jumped.
    events: Vec<(usize, usize)>,
    /// Those in which an output changed that had not in the step before, and did no more in that after the next one.
    jumped: Vec<usize>,
}

/// Steps as a finer run makes them.
pub(super) struct FinerSteps {
    pub ends: Arc<[f64]>,
    /// The ends of steps over jumps that were events, and the inputs that jumped.
    pub events: Arc<[(f64, usize)]>,
}

/// A step with a norm above this is over something that jumped inside it, so that its inputs were wrong for a part of it. Two halves
/// say little about that part: if the jump is in the second one, both runs are wrong for the same time, and differ by nothing.
const JUMP: f64 = 10.0;
/// Such a step is divided so many times more finely, and the last of these parts into halves towards its end, down to the shortest: of the
/// time from the jump to the end of its step, which is that of the error, at most half is left, whenever the jump was.
const FINER: u32 = 16;
/// But they are few: at most one of so many steps, and so many at least, those that may do most harm.
const RARE: usize = 32;
const FEWEST: usize = 8;
/// The shortest part of such a step, as a share of the run.
const SHORTEST: f64 = 1e-8;
/// A step that is shorter than this share of the next one is there for a time that had to be hit, such as that of a sample. It is not divided:
/// it does no harm, and a simulator with a tolerance for times may sample twice in its parts.
const SLIVER: f64 = 1e-3;
/// A step shorter than this share of the run is brief: what is not compared there weighs nothing.
const BRIEF: f64 = 1e-5;
/// Times that are this far apart, in s, or this share of them, simulators are sure to tell from each other.
const APART: f64 = 2e-7;
const APART_SHARE: f64 = 1e-7;

impl Trail {
    pub fn new(outputs: Vec<usize>) -> Self {
        Trail {
            steps: Steps::default(),
            changed: vec![usize::MAX; outputs.len()],
            unclear: Vec::new(),
            samples: Samples::of(outputs),
        }
    }

    /// Of a run that is over, in which samples are `known` to be at some times.
    pub fn note_known(&mut self, known: impl Fn(f64) -> bool) {
        let Steps { jumped, .. } = &mut self.steps;
        jumped.sort_unstable();
        jumped.dedup();
        let all = std::mem::take(jumped);
        let (steps, brief) = (&self.steps, self.steps.brief());
        let is_brief = |place: &usize| steps.ends[*place] - steps.begin(*place) <= brief;
        let jumped: Vec<usize> = all.into_iter().filter(is_brief).collect();
        let is_unclear = |place: &usize| !known(steps.begin(*place)) && !known(steps.ends[*place]);
        self.unclear = jumped.iter().copied().filter(is_unclear).collect();
        self.steps.jumped = jumped;
    }

    /// All steps in so many parts.
    pub fn in_parts(&self, parts: u32) -> FinerSteps {
        let steps = self.steps.cleared(&self.unclear, 0.5 * f64::from(parts));
        FinerSteps { ends: steps.parts(parts), events: steps.events() }
    }

    /// Whether half of every step is a multiple of `quantum`.
    pub fn has_halves_of(&self, quantum: f64) -> bool {
        let mut start = self.steps.start;
        self.steps.ends.iter().all(|&end| {
            let half = 0.5 * (end - std::mem::replace(&mut start, end)) / quantum;
            (half - half.round()).abs() < 1e-6
        })
    }
}

impl Steps {
    /// Steps that keep clear of samples. Where a step, or a part of it that a subsystem makes of it, begins too close to a sample, a simulator
    /// may sample twice or not at all, and a run with the same ends would do the same: no difference would tell. In which brief step
    /// something jumped is known, so that one whole step is put around each of those that are `unclear`, whose ends are apart from theirs and so from
    /// the sample, wherever that was: `rooms` times as far as times need to be, and so apart from those of the next finer run, too.
    fn cleared(&self, unclear: &[usize], rooms: f64) -> Steps {
        let (stop, brief) = (self.ends.last().copied().unwrap_or(self.start), self.brief());
        let mut around: Vec<[f64; 2]> = Vec::new();
        for &place in unclear {
            let (from, to) = (self.begin(place), self.ends[place]);
            let room = rooms * APART.max(APART_SHARE * to.abs()).min(brief);
            let (from, to) = ((from - room).max(self.start), (to + room).min(stop));
            if around.last().is_none_or(|before| before[1] <= from) {
                around.push([from, to]);
            }
        }
        let is_inside = |t: f64| {
            let place = around.partition_point(|[_, to]| *to <= t);
            around.get(place).is_some_and(|[from, _]| *from < t)
        };
        let mut ends: Vec<f64> = self.ends.iter().copied().filter(|&end| !is_inside(end)).collect();
        ends.extend(around.iter().flatten().filter(|&&t| t > self.start));
        ends.sort_unstable_by(f64::total_cmp);
        ends.dedup();
        // What is known of a step holds for the one that ends it now.
        let moved = |place: usize| ends.partition_point(|&end| end < self.ends[place]);
        let jumps = self.jumps.iter().map(|&(place, harm)| (moved(place), harm)).collect();
        let events = self.events.iter().map(|&(place, input)| (moved(place), input)).collect();
        let mut jumped: Vec<usize> = self.jumped.iter().copied().map(moved).collect();
        jumped.dedup();
        Steps { start: self.start, ends, jumps, events, jumped }
    }

    /// When the step at `place` begins, in s.
    fn begin(&self, place: usize) -> f64 {
        if place > 0 { self.ends[place - 1] } else { self.start }
    }

    /// The longest step that is brief, in s.
    fn brief(&self) -> f64 {
        BRIEF * (self.ends.last().copied().unwrap_or(self.start) - self.start)
    }

    /// All steps in so many equal parts, those over jumps in more: the ends of these.
    fn parts(&self, parts: u32) -> Arc<[f64]> {
        let mut ends = Vec::with_capacity(self.ends.len() * parts as usize);
        let jumps = self.worst_jumps();
        let mut jumps = jumps.iter().copied().peekable();
        let shortest = SHORTEST * (self.ends.last().copied().unwrap_or(self.start) - self.start);
        let mut start = self.start;
        for (k, &end) in self.ends.iter().enumerate() {
            let h = end - start;
            let is_over_jump = jumps.next_if_eq(&k).is_some();
            let is_sliver = self.ends.get(k + 1).is_some_and(|next| h < SLIVER * (next - end));
            let whole = self.jumped.binary_search(&k).is_ok() || (is_sliver && !is_over_jump);
            let count = match is_over_jump {
                _ if whole => 1,
                true => (h / shortest).clamp(f64::from(parts), f64::from(FINER * parts)) as u32,
                false => parts,
            };
            let inner = (1..count).map(|k| start + h * f64::from(k) / f64::from(count));
            ends.extend(inner.filter(|t| *t > start && *t < end));
            if is_over_jump && !whole {
                let mut rest = h / f64::from(count);
                while rest > 2.0 * shortest {
                    rest *= 0.5;
                    let pieces = parts / 2;
                    ends.extend(
                        (0..pieces).rev().map(|k| end - rest * (1.0 + f64::from(k) / f64::from(pieces))),
                    );
                }
            }
            ends.push(end);
            start = end;
        }
        ends.into()
    }

    /// The steps over jumps that may do most harm, in order.
    fn worst_jumps(&self) -> Vec<usize> {
        let mut jumps = self.jumps.clone();
        jumps.sort_by(|a, b| b.1.total_cmp(&a.1));
        jumps.truncate((self.ends.len() / RARE).max(FEWEST));
        let mut places: Vec<usize> = jumps.into_iter().map(|(place, _)| place).collect();
        places.sort_unstable();
        places.dedup();
        places
    }

    /// The ends of steps over jumps that were events then, and the inputs that jumped.
    fn events(&self) -> Arc<[(f64, usize)]> {
        self.events.iter().map(|&(place, input)| (self.ends[place], input)).collect()
    }
}

impl Observer for Trail {
    fn started(&mut self, start: &StartView<'_>) -> Flow {
        self.steps.start = start.t;
        Flow::Continue
    }

    fn accepted(&mut self, step: &StepView<'_>, report: &StepReport<'_>) -> Flow {
        let place = self.steps.ends.len();
        let norm = report.estimates.first().map_or(0.0, |estimate| estimate.norm);
        if norm > JUMP && norm.is_finite() {
            self.steps.jumps.push((place, norm * step.span.h));
            let input = report.limited_by.filter(|_| report.event_follows);
            self.steps.events.extend(input.map(|input| (place, input)));
        }
        for (changed, &o) in self.changed.iter_mut().zip(&self.samples.outputs) {
            if step.y_step[o] != step.y_prev[o] {
                *changed = changed.saturating_add(1);
                continue;
            }
            // One that samples twice jumps in two steps.
            if (1..=2).contains(changed) {
                self.steps.jumped.push(place - *changed);
            }
            *changed = 0;
        }
        self.steps.ends.push(step.span.end);
        self.samples.add(step.span.end, step.span.h, step.y_fresh);
        Flow::Continue
    }

    fn event(&mut self, _: &EventView<'_>) -> Flow {
        Flow::Continue
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(ends: &[f64]) -> Steps {
        Steps { start: 1.0, ends: ends.to_vec(), ..Steps::default() }
    }

    fn trail(steps: Steps) -> Trail {
        Trail { steps, ..Trail::new(Vec::new()) }
    }

    #[test]
    fn parts_of_steps_end_where_the_steps_do() {
        let trail = trail(steps(&[1.1, 1.7, 3.0]));
        let quarters = trail.in_parts(4).ends;
        assert_eq!(quarters.len(), 12);
        assert_eq!([quarters[3], quarters[7], quarters[11]], [1.1, 1.7, 3.0]);
        assert!(quarters.windows(2).all(|w| w[0] < w[1]));
        assert!(trail.has_halves_of(0.05) && !trail.has_halves_of(0.1));
    }

    /// The second step is over a jump: 32 parts, and 19 halves of the last of them down to 1e-8 of the run. The third one is tiny beside its next:
    /// whole. Whenever the jump was, the part that it is in leaves half of the time to the end of the step at most.
    #[test]
    fn steps_over_jumps_have_more_parts_and_those_that_hit_a_time_none() {
        let halves = Steps { jumps: vec![(1, 5.0)], ..steps(&[1.5, 2.0, 2.0001, 2.5]) }.parts(2);
        assert!(halves.windows(2).all(|w| w[0] < w[1]));
        let within = |from: f64, to: f64| halves.iter().filter(|t| **t > from && **t <= to).count();
        assert_eq!(within(1.0, 1.5), 2);
        assert_eq!(within(1.5, 2.0), 32 + 19);
        assert_eq!(within(2.0, 2.0001), 1);
        assert_eq!(within(2.0001, 2.5), 2);
        for k in 1..60 {
            let left = 0.5 * 0.7_f64.powi(k);
            let jump = 2.0 - left;
            let after = halves[halves.partition_point(|t| *t <= jump)] - jump;
            assert!(after <= 0.5 * left + 3e-8, "{left}: {after}");
        }
    }

    /// A step of 1 µs in which something jumped has 0.2 µs more on both sides in a finer run, and one 0.5 µs after it stays; so does one that begins or
    /// ends at a known sample. Nothing begins before the run.
    #[test]
    fn a_finer_run_keeps_steps_clear_of_samples() {
        let ends = [1e-6, 2.5e-6, 3e-6, 1.0, 1.0 + 1e-6, 1.0 + 1.5e-6, 1.5, 3.0].map(|t| 1.0 + t);
        let check = |jumped: &[usize], known: f64, expected: &[f64], places: &[usize]| {
            let mut trail = trail(Steps { jumped: jumped.to_vec(), ..steps(&ends) });
            trail.note_known(|t| t == known);
            let found = trail.steps.cleared(&trail.unclear, 1.0);
            let near = |(a, b): (&f64, &f64)| (a - (1.0 + b)).abs() < 1e-12;
            let is_equal = found.ends.len() == expected.len() && found.ends.iter().zip(expected).all(near);
            assert!(is_equal && found.jumped == places, "{jumped:?}: {:?} {:?}", found.ends, found.jumped);
        };
        let [first, rest] = [[1e-6, 2.5e-6, 3e-6], [1.5, 3.0, f64::NAN]];
        let old = [1.0, 1.0 + 1e-6, 1.0 + 1.5e-6];
        let list = |middle: &[f64]| [&first[..], middle, &rest[..2]].concat();
        check(&[5, 4], 0.0, &list(&[1.0 - 2e-7, 1.0 + 1.2e-6, 1.0 + 1.5e-6]), &[4, 5]);
        check(&[4], ends[4], &list(&old), &[4]);
        check(&[4], ends[3], &list(&old), &[4]);
        check(&[0], 0.0, &[&[1.2e-6, 2.5e-6, 3e-6], &old[..], &rest[..2]].concat(), &[0]);
        // Steps that are not brief are divided like all others.
        check(&[7], 0.0, &list(&old), &[]);
    }

    /// The second step, of 1 µs, is that of a sample: whole. If it were one over a jump of something that moves, it would have 32 parts, the
    /// last of them in halves; the third is a sliver.
    #[test]
    fn steps_that_located_a_sample_are_not_divided() {
        let count = |jumped: &[usize]| {
            let jumps = vec![(1, 5.0)];
            Steps { jumps, jumped: jumped.to_vec(), ..steps(&[1.5, 1.500_001, 1.500_01, 2.0]) }.parts(2).len()
        };
        assert_eq!((count(&[]), count(&[1])), (2 + 33 + 1 + 2, 2 + 1 + 1 + 2));
    }

    /// Two steps over jumps that are one now count once; around the same sample, quarters have ends of their own.
    #[test]
    fn what_is_known_of_steps_goes_along_when_ends_move() {
        let ends = [1.0, 1.0 + 1e-6, 1.0 + 1.1e-6, 2.0].map(|t| 1.0 + t);
        let (jumps, events) = (vec![(1, 2.0), (2, 3.0), (3, 1.0)], vec![(1, 7)]);
        let mut trail = trail(Steps { jumps, events, jumped: vec![1], ..steps(&ends) });
        trail.note_known(|_| false);
        let halves = trail.steps.cleared(&trail.unclear, 1.0);
        assert_eq!(halves.worst_jumps(), [1, 2]);
        assert_eq!(halves.events()[..], [(halves.ends[1], 7)]);
        assert!(halves.ends.len() == 3 && halves.ends[1] > ends[1]);
        let quarters = trail.steps.cleared(&trail.unclear, 2.0);
        assert!(quarters.ends[0] < halves.ends[0] - 1e-7 && quarters.ends[1] > halves.ends[1] + 1e-7);
    }

    /// Eight of a few steps, and those with most harm.
    #[test]
    fn only_the_worst_jumps_count() {
        let ends: Vec<f64> = (1..=20).map(|k| 1.0 + 0.1 * f64::from(k)).collect();
        let jumps = (0..20).map(|k| (k, k as f64)).collect();
        let places = Steps { jumps, ..steps(&ends) }.worst_jumps();
        assert_eq!(places, (12..20).collect::<Vec<_>>());
    }
}
