//! The steps of a run, and how a finer run divides them.

use super::compare::Samples;
use powerbond_core::observe::{EventView, Flow, Observer, StartView, StepReport};
use powerbond_core::step::StepView;
use std::sync::Arc;

/// The steps of a run, and its outputs.
pub(super) struct Trail {
    start: f64,
    ends: Vec<f64>,
    /// Steps over something that jumped: their places, and `norm · h`.
    jumps: Vec<(usize, f64)>,
    /// Those of them that were followed by an event, and the input that jumped.
    events: Vec<(usize, usize)>,
    /// In how many of the last steps each output changed without a pause.
    changed: Vec<usize>,
    /// Steps in which an output changed that had not in the step before, and did no more in that after the next one.
    jumped: Vec<usize>,
    pub samples: Samples,
}

/// A step with a norm above this is over something that jumped inside it, so that its inputs were wrong for a part of it. Two halves
/// say little about that part: if the jump is in the second one, both runs are wrong for the same time, and differ by nothing.
const JUMP: f64 = 10.0;
/// Such a step is divided so many times more finely, which leaves hardly anything of its error: the difference is the error.
const FINER: u32 = 16;
/// But they are few: at most one of so many steps, and so many at least, those that may do most harm.
const RARE: usize = 32;
const FEWEST: usize = 8;
/// The shortest part of such a step, as a share of the run.
const SHORTEST: f64 = 1e-8;
/// A step that is shorter than this share of the next one is there for a time that had to be hit, such as that of a sample. It is not divided:
/// it does no harm, and a simulator with a tolerance for times may sample twice in its parts.
const SLIVER: f64 = 1e-3;
/// Ends are moved if at most one of so many steps is one in which an output jumped.
const MOST_JUMPED: usize = 4;
/// Only those of steps shorter than this share of the run: what is not compared there weighs nothing. Such a step is not divided if an output
/// jumps in it, as slivers are not.
const BRIEF: f64 = 1e-5;
/// By this share of the shorter step beside them, so that no part of the new steps ends where an old one did; by no more than times need to be
/// apart that simulators are sure to tell from each other: this, in s, or this share of them.
const MOVED: f64 = 0.3;
const APART: f64 = 2e-7;
const APART_SHARE: f64 = 1e-7;

impl Trail {
    pub fn new(outputs: Vec<usize>) -> Self {
        Trail {
            start: 0.0,
            ends: Vec::new(),
            jumps: Vec::new(),
            events: Vec::new(),
            changed: vec![usize::MAX; outputs.len()],
            jumped: Vec::new(),
            samples: Samples::of(outputs),
        }
    }

    /// Moves both ends of steps in which an output that stands still jumped, a sampler's for one, a little: where a simulator samples twice, or not
    /// at all, as a step begins too close to its sample, a run with the same ends would do the same, and no difference would tell. Runs are
    /// compared at the others: those after long steps stay, and all of them if there are many. So do ends at which a sample is `known` to be.
    pub fn avoid(&mut self, known: impl Fn(f64) -> bool) {
        self.jumped.sort_unstable();
        self.jumped.dedup();
        if MOST_JUMPED * self.jumped.len() > self.ends.len() {
            return;
        }
        let (ends, longest) = (self.ends.clone(), self.brief());
        let mut moved = None;
        for &place in &self.jumped {
            for k in place.saturating_sub(1)..=place {
                let h = ends[k] - if k > 0 { ends[k - 1] } else { self.start };
                let movable = moved < Some(k) && h <= longest && !known(ends[k]);
                let Some(next) = ends.get(k + 1).filter(|_| movable) else { continue };
                moved = Some(k);
                let shorter = h.min(next - ends[k]);
                self.ends[k] += (MOVED * shorter).min(APART.max(APART_SHARE * ends[k].abs()));
            }
        }
    }

    /// The longest step that is brief, in s.
    fn brief(&self) -> f64 {
        BRIEF * (self.ends.last().copied().unwrap_or(self.start) - self.start)
    }

    /// All steps in so many equal parts: the ends of these.
    pub fn parts(&self, parts: u32) -> Arc<[f64]> {
        let mut ends = Vec::with_capacity(self.ends.len() * parts as usize);
        let jumps = self.worst_jumps();
        let mut jumps = jumps.iter().copied().peekable();
        let brief = self.brief();
        let shortest = SHORTEST * (self.ends.last().copied().unwrap_or(self.start) - self.start);
        let mut start = self.start;
        for (k, &end) in self.ends.iter().enumerate() {
            let h = end - start;
            let is_over_jump = jumps.next_if_eq(&k).is_some();
            let parts = if h <= brief && self.jumped.binary_search(&k).is_ok() {
                1
            } else if is_over_jump {
                let most = (h / shortest).clamp(f64::from(parts), f64::from(FINER * parts));
                most as u32
            } else if self.ends.get(k + 1).is_some_and(|next| h < SLIVER * (next - end)) {
                1
            } else {
                parts
            };
            let inner = (1..parts).map(|k| start + h * f64::from(k) / f64::from(parts));
            ends.extend(inner.filter(|t| *t > start && *t < end));
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
        places
    }

    /// The ends of steps over jumps that were events then, and the inputs that jumped.
    pub fn events(&self) -> Arc<[(f64, usize)]> {
        self.events.iter().map(|&(place, input)| (self.ends[place], input)).collect()
    }

    /// Whether half of every step is a multiple of `quantum`.
    pub fn has_halves_of(&self, quantum: f64) -> bool {
        let mut start = self.start;
        self.ends.iter().all(|&end| {
            let half = 0.5 * (end - std::mem::replace(&mut start, end)) / quantum;
            (half - half.round()).abs() < 1e-6
        })
    }
}

impl Observer for Trail {
    fn started(&mut self, start: &StartView<'_>) -> Flow {
        self.start = start.t;
        Flow::Continue
    }

    fn accepted(&mut self, step: &StepView<'_>, report: &StepReport<'_>) -> Flow {
        let norm = report.estimates.first().map_or(0.0, |estimate| estimate.norm);
        if norm > JUMP && norm.is_finite() {
            self.jumps.push((self.ends.len(), norm * step.span.h));
            let input = report.limited_by.filter(|_| report.event_follows);
            self.events.extend(input.map(|input| (self.ends.len(), input)));
        }
        for (changed, &o) in self.changed.iter_mut().zip(&self.samples.outputs) {
            if step.y_step[o] != step.y_prev[o] {
                *changed = changed.saturating_add(1);
                continue;
            }
            // One that samples twice jumps in two steps.
            if (1..=2).contains(changed) {
                self.jumped.push(self.ends.len() - *changed);
            }
            *changed = 0;
        }
        self.ends.push(step.span.end);
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

    fn trail(ends: &[f64]) -> Trail {
        Trail { start: 1.0, ends: ends.to_vec(), ..Trail::new(Vec::new()) }
    }

    #[test]
    fn parts_of_steps_end_where_the_steps_do() {
        let trail = trail(&[1.1, 1.7, 3.0]);
        let quarters = trail.parts(4);
        assert_eq!(quarters.len(), 12);
        assert_eq!([quarters[3], quarters[7], quarters[11]], [1.1, 1.7, 3.0]);
        assert!(quarters.windows(2).all(|w| w[0] < w[1]));
        assert!(trail.has_halves_of(0.05) && !trail.has_halves_of(0.1));
    }

    /// The second step is over a jump: 32 parts. The third one is tiny beside its next: whole.
    #[test]
    fn steps_over_jumps_have_more_parts_and_those_that_hit_a_time_none() {
        let trail = Trail { jumps: vec![(1, 5.0)], ..trail(&[1.5, 2.0, 2.0001, 2.5]) };
        let halves = trail.parts(2);
        let within = |from: f64, to: f64| halves.iter().filter(|t| **t > from && **t <= to).count();
        assert_eq!(within(1.0, 1.5), 2);
        assert_eq!(within(1.5, 2.0), 32);
        assert_eq!(within(2.0, 2.0001), 1);
        assert_eq!(within(2.0001, 2.5), 2);
    }

    /// Steps of 1 µs and less are those of samples: their ends are moved by 0.3 of them, or of a shorter one after them, by 0.2 µs at most. An
    /// end at which the sample is known to be stays, and so does one after a long step.
    #[test]
    fn a_finer_run_does_not_begin_steps_where_the_run_did_at_samples() {
        let ends = [1e-6, 2.5e-6, 3e-6, 1.0, 1.0 + 1e-6, 1.0 + 1.5e-6, 1.5, 2.0, 2.5, 3.0].map(|t| 1.0 + t);
        let moved = |jumped: &[usize], known: f64| {
            let mut trail = Trail { jumped: jumped.to_vec(), ..trail(&ends) };
            trail.avoid(|t| t == known);
            trail.ends.iter().zip(ends).map(|(to, from)| (1e9 * (to - from)).round()).collect::<Vec<_>>()
        };
        assert_eq!(moved(&[4, 5], 0.0), [0.0, 0.0, 0.0, 0.0, 150.0, 150.0, 0.0, 0.0, 0.0, 0.0]);
        assert_eq!(moved(&[4, 5], ends[4]), [0.0, 0.0, 0.0, 0.0, 0.0, 150.0, 0.0, 0.0, 0.0, 0.0]);
        assert_eq!(moved(&[9, 0], 0.0), [200.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        assert_eq!(moved(&[2], 0.0), [0.0, 150.0, 150.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        assert_eq!(moved(&[0, 3, 5], 0.0), [0.0; 10]);
    }

    /// The second step, of 1 µs, is that of a sample: whole. If it were one over a jump of something that moves, it would have 32 parts; the third
    /// is a sliver.
    #[test]
    fn steps_that_located_a_sample_are_not_divided() {
        let count = |jumped: &[usize]| {
            let jumps = vec![(1, 5.0)];
            Trail { jumps, jumped: jumped.to_vec(), ..trail(&[1.5, 1.500_001, 1.500_01, 2.0]) }.parts(2).len()
        };
        assert_eq!((count(&[]), count(&[1])), (2 + 32 + 1 + 2, 2 + 1 + 1 + 2));
    }

    /// Eight of a few steps, and those with most harm.
    #[test]
    fn only_the_worst_jumps_count() {
        let ends: Vec<f64> = (1..=20).map(|k| 1.0 + 0.1 * f64::from(k)).collect();
        let jumps = (0..20).map(|k| (k, k as f64)).collect();
        let places = Trail { jumps, ..trail(&ends) }.worst_jumps();
        assert_eq!(places, (12..20).collect::<Vec<_>>());
    }
}
