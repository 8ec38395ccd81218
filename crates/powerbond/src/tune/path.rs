//! Outputs over time, and how far a run is from them.

use super::Listener;
use crate::Assembled;
use powerbond_core::observe::{EventView, Flow, Observer, StartView, StepReport};
use powerbond_core::step::StepView;
use std::rc::Rc;
use std::time::Instant;

/// Numbers that are kept of a reference.
const KEPT: usize = 20_000_000;

/// The outputs of a run at some of its communication points; at a discontinuity twice: from the left, then from the right.
#[derive(Clone, Debug, Default)]
pub struct Path {
    times: Vec<f64>,
    /// Row by row.
    values: Vec<f64>,
    outputs: usize,
    /// Standard deviation of each output, weighted by steps; zero where it is constant.
    spread: Vec<f64>,
}

/// An observer with a result.
pub trait Watch: Observer {
    /// What was recorded.
    fn path(&self) -> Option<Path> {
        None
    }

    /// The error against a reference.
    fn error(&self) -> Option<f64> {
        None
    }
}

/// Records the outputs of a run.
pub struct Recorded {
    path: Path,
    stride: u64,
    weight: f64,
    mean: Vec<f64>,
    m2: Vec<f64>,
    /// The last step, in case it is not due.
    last: (f64, Vec<f64>),
}

impl Recorded {
    /// For a run that is about to be made.
    pub fn new(assembled: &Assembled) -> Self {
        let outputs = assembled.engine.network().n_outputs;
        let steps = (assembled.stop - assembled.start) / assembled.step;
        let stride = (steps * outputs as f64 / KEPT as f64).ceil().max(1.0) as u64;
        Recorded {
            path: Path { outputs, ..Path::default() },
            stride,
            weight: 0.0,
            mean: vec![0.0; outputs],
            m2: vec![0.0; outputs],
            last: (f64::NEG_INFINITY, Vec::new()),
        }
    }
}

impl Path {
    fn push(&mut self, t: f64, y: &[f64]) {
        self.times.push(t);
        self.values.extend_from_slice(y);
    }

    /// Standard deviation of each output.
    pub fn spreads(&self) -> impl Iterator<Item = f64> {
        self.spread.iter().copied()
    }

    /// Whether any output does.
    pub fn moves(&self) -> bool {
        self.spread.iter().any(|s| *s > 0.0)
    }

    fn row(&self, k: usize) -> &[f64] {
        &self.values[k * self.outputs..(k + 1) * self.outputs]
    }

    /// The rows on both sides of `t` and the share of the way between them, from the row `at` on; at a discontinuity with
    /// the limit from the left or from the right. Times that differ by round-off are the same.
    fn around(&self, at: usize, t: f64, left: bool) -> (usize, usize, f64) {
        let (times, last) = (&self.times, self.times.len() - 1);
        let near = 1e-12 * t.abs().max(times[last] - times[0]);
        let passed = |x: &&f64| if left { **x < t - near } else { **x <= t + near };
        let k = at + times[at + 1..].iter().take_while(passed).count();
        let next = (k + 1).min(last);
        let gap = times[next] - times[k];
        let share = if gap > 0.0 { ((t - times[k]) / gap).clamp(0.0, 1.0) } else { 0.0 };
        (k, next, if left && (times[next] - t).abs() <= near { 1.0 } else { share })
    }
}

impl Observer for Recorded {
    fn started(&mut self, start: &StartView<'_>) -> Flow {
        self.path.push(start.t, start.outputs);
        Flow::Continue
    }

    fn accepted(&mut self, step: &StepView<'_>, report: &StepReport<'_>) -> Flow {
        // Welford, weighted by steps.
        self.weight += step.span.h;
        for ((mean, m2), &y) in self.mean.iter_mut().zip(&mut self.m2).zip(step.y_fresh) {
            let before = y - *mean;
            *mean += before * step.span.h / self.weight;
            *m2 += step.span.h * before * (y - *mean);
        }
        let room = self.path.values.len() < 2 * KEPT;
        if report.number.is_multiple_of(self.stride) || (report.event_follows && room) {
            self.path.push(step.span.end, step.y_fresh);
        } else {
            self.last.0 = step.span.end;
            self.last.1.clear();
            self.last.1.extend_from_slice(step.y_fresh);
        }
        Flow::Continue
    }

    fn event(&mut self, event: &EventView<'_>) -> Flow {
        let path = &mut self.path;
        if path.times.last() != Some(&event.t) {
            self.last.1.copy_from_slice(event.outputs);
        } else if path.row(path.times.len() - 1) != event.outputs {
            path.push(event.t, event.outputs);
        }
        Flow::Continue
    }
}

impl Watch for Recorded {
    fn path(&self) -> Option<Path> {
        let mut path = self.path.clone();
        if path.times.last().is_some_and(|&t| t < self.last.0) {
            path.push(self.last.0, &self.last.1);
        }
        let still = |k: usize| 1e-12 * self.mean[k].abs();
        let spread = |k: usize| {
            let spread = (self.m2[k].max(0.0) / self.weight).sqrt();
            if spread > still(k) { spread } else { 0.0 }
        };
        path.spread = (0..path.outputs).map(spread).collect();
        (self.weight > 0.0).then_some(path)
    }
}

/// Compares a run with a reference at its own communication points.
pub struct Compared {
    reference: Rc<Path>,
    /// The row of the reference at or before now.
    cursor: usize,
    weight: f64,
    sums: Vec<f64>,
}

impl Compared {
    /// With a reference.
    pub fn new(reference: Rc<Path>) -> Self {
        let sums = vec![0.0; reference.outputs];
        Compared { reference, cursor: 0, weight: 0.0, sums }
    }
}

impl Observer for Compared {
    fn accepted(&mut self, step: &StepView<'_>, report: &StepReport<'_>) -> Flow {
        let (r, h) = (&*self.reference, step.span.h);
        let (k, next, share) = r.around(self.cursor, step.span.end, report.event_follows);
        self.cursor = k;
        let pairs = r.row(k).iter().zip(r.row(next));
        for ((sum, (a, b)), y) in self.sums.iter_mut().zip(pairs).zip(step.y_fresh) {
            let difference = y - if share == 1.0 { *b } else { a + share * (b - a) };
            *sum += h * difference * difference;
        }
        self.weight += h;
        Flow::Continue
    }
}

impl Watch for Compared {
    fn error(&self) -> Option<f64> {
        let moving = || self.reference.spread.iter().zip(&self.sums).filter(|(spread, _)| **spread > 0.0);
        let n = moving().count();
        if n == 0 || self.weight == 0.0 {
            return None;
        }
        let squares: f64 = moving().map(|(spread, sum)| sum / self.weight / (spread * spread)).sum();
        Some((squares / n as f64).sqrt())
    }
}

/// Ends a run whose time is over, or that the user stops.
pub struct Limited<'a> {
    inner: &'a mut dyn Watch,
    deadline: Instant,
    listener: &'a dyn Listener,
    /// Its time was over.
    pub late: bool,
}

/// Steps between two looks at the clock.
const STRIDE: u64 = 16;

impl<'a> Limited<'a> {
    /// Until `deadline`.
    pub fn new(inner: &'a mut dyn Watch, deadline: Instant, listener: &'a dyn Listener) -> Self {
        Limited { inner, deadline, listener, late: false }
    }
}

impl Observer for Limited<'_> {
    fn started(&mut self, start: &StartView<'_>) -> Flow {
        self.inner.started(start)
    }

    fn accepted(&mut self, step: &StepView<'_>, report: &StepReport<'_>) -> Flow {
        if report.number.is_multiple_of(STRIDE) {
            self.late = Instant::now() >= self.deadline;
            if self.late || self.listener.interrupted() {
                return Flow::Stop;
            }
        }
        self.inner.accepted(step, report)
    }

    fn event(&mut self, event: &EventView<'_>) -> Flow {
        self.inner.event(event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::script::{Point, Point::*, play};

    type Points<'a> = &'a [(Point, f64, f64)];

    fn told(observer: &mut dyn Observer, points: Points<'_>) {
        play(observer, points.iter().map(|&(point, t, y)| (point, t, vec![], vec![y])));
    }

    fn recorded(stride: u64, points: Points<'_>) -> Path {
        let path = Path { outputs: 1, ..Path::default() };
        let last = (f64::NEG_INFINITY, Vec::new());
        let mut recorded = Recorded { path, stride, weight: 0.0, mean: vec![0.0], m2: vec![0.0], last };
        told(&mut recorded, points);
        recorded.path().unwrap()
    }

    /// t up to 1 s, from there on 10.
    const JUMP: Points<'_> = &[
        (Start, 0.0, 0.0),
        (Step, 0.25, 0.25),
        (Step, 0.5, 0.5),
        (Left, 1.0, 1.0),
        (Right, 1.0, 10.0),
        (Step, 1.5, 10.0),
        (Step, 2.0, 10.0),
    ];

    #[test]
    fn both_limits_are_recorded_whatever_the_stride() {
        let check = |stride: u64, rows: &[(f64, f64)]| {
            let path = recorded(stride, JUMP);
            assert_eq!(
                path.times.iter().copied().zip(path.values).collect::<Vec<_>>(),
                rows,
                "stride {stride}"
            );
        };
        let all = [(0.0, 0.0), (0.25, 0.25), (0.5, 0.5), (1.0, 1.0), (1.0, 10.0), (1.5, 10.0), (2.0, 10.0)];
        check(1, &all);
        check(5, &[(0.0, 0.0), (1.0, 1.0), (1.0, 10.0), (2.0, 10.0)]);
    }

    /// A run is compared with the limit that it reports; at the end of a step that no event follows, that is the right one.
    #[test]
    fn a_jump_in_both_is_no_error() {
        let reference = Rc::new(recorded(1, JUMP));
        let check = |points: Points<'_>, square: f64| {
            let mut compared = Compared::new(reference.clone());
            told(&mut compared, points);
            assert_eq!(compared.sums, [square], "{points:?}");
        };
        let late = 1.0 + 1e-14;
        check(JUMP, 0.0);
        check(&[(Start, 0.0, 0.0), (Left, 1.0, 1.0), (Right, 1.0, 10.0), (Step, 2.0, 10.0)], 0.0);
        check(&[(Start, 0.0, 0.0), (Left, late, 1.0), (Right, late, 10.0), (Step, 2.0, 10.0)], 0.0);
        check(&[(Start, 0.0, 0.0), (Step, 0.75, 0.75), (Step, 1.25, 10.0), (Step, 2.0, 10.0)], 0.0);
        check(&[(Start, 0.0, 0.0), (Step, 1.0, 10.0), (Step, 2.0, 10.0)], 0.0);
        check(&[(Start, 0.0, 0.0), (Left, 1.0, 3.0), (Right, 1.0, 7.0), (Step, 1.5, 9.0)], 4.0 + 0.5);
    }
}
