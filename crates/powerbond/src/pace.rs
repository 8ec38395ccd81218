//! Runs as fast as the clock on the wall: a step is not over before its time has come.

use powerbond_core::observe::{EventView, Flow, Observer, StartView, StepReport};
use powerbond_core::step::StepView;
use serde::Serialize;
use std::time::{Duration, Instant};

/// The longest sleep between two looks at whether the user wants to stop.
const SLICE: Duration = Duration::from_millis(100);

/// What became of a run in real time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct RealTime {
    /// Seconds of the run per second on the wall.
    pub factor: f64,
    /// The longest time by which a step ended late, in s.
    pub max_lateness: f64,
    /// When that was, in s of the run.
    pub max_lateness_time: f64,
    /// Share of steps that ended late.
    pub late_share: f64,
    /// Time that the run waited, in s.
    pub waited: f64,
}

/// Passes steps on to another observer and then waits until the time of their end has come: `begun + (t − start)/factor`,
/// whatever happened before, so that delays do not add up.
pub struct Paced<'a> {
    watcher: &'a mut dyn Observer,
    start: f64,
    begun: Instant,
    steps: u64,
    late: u64,
    outcome: RealTime,
}

impl<'a> Paced<'a> {
    /// `factor` seconds of the run per second on the wall.
    pub fn new(factor: f64, watcher: &'a mut dyn Observer) -> Self {
        let outcome = RealTime { factor, ..RealTime::default() };
        Paced { watcher, start: 0.0, begun: Instant::now(), steps: 0, late: 0, outcome }
    }

    /// What became of it.
    pub fn outcome(&self) -> RealTime {
        RealTime { late_share: self.late as f64 / self.steps.max(1) as f64, ..self.outcome }
    }

    fn wait_for(&mut self, t: f64) -> Flow {
        let due = (t - self.start) / self.outcome.factor;
        let arrived = self.begun.elapsed().as_secs_f64();
        self.steps += 1;
        let lateness = arrived - due;
        if lateness > 0.0 {
            self.late += 1;
            if lateness > self.outcome.max_lateness {
                self.outcome.max_lateness = lateness;
                self.outcome.max_lateness_time = t;
            }
            return Flow::Continue;
        }
        loop {
            let rest = due - self.begun.elapsed().as_secs_f64();
            if rest <= 0.0 {
                self.outcome.waited += self.begun.elapsed().as_secs_f64() - arrived;
                return Flow::Continue;
            }
            if self.watcher.interrupted() {
                return Flow::Stop;
            }
            // A wait of years does not fit into a duration.
            std::thread::sleep(Duration::try_from_secs_f64(rest).map_or(SLICE, |rest| rest.min(SLICE)));
        }
    }
}

impl Observer for Paced<'_> {
    fn started(&mut self, start: &StartView<'_>) -> Flow {
        (self.start, self.begun) = (start.t, Instant::now());
        self.watcher.started(start)
    }

    fn accepted(&mut self, step: &StepView<'_>, report: &StepReport<'_>) -> Flow {
        match self.watcher.accepted(step, report) {
            Flow::Continue => self.wait_for(step.span.end),
            Flow::Stop => Flow::Stop,
        }
    }

    fn event(&mut self, event: &EventView<'_>) -> Flow {
        self.watcher.event(event)
    }

    fn interrupted(&self) -> bool {
        self.watcher.interrupted()
    }
}
