//! Runs no faster than wall-clock time: a step is not over before its time has come.

use powerbond_core::observe::Flow;
use serde::Serialize;
use std::time::{Duration, Instant};

/// The longest sleep between two looks at whether the user wants to stop.
const SLICE: Duration = Duration::from_millis(100);

/// What became of a run in real time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct RealTime {
    /// Seconds of the run per second of wall-clock time.
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

/// Waits after each step until the time of its end has come: `begun + (t − start)/factor`, whatever happened before, so that delays
/// do not add up.
#[derive(Clone, Debug)]
pub struct Pacing {
    start: f64,
    begun: Instant,
    steps: u64,
    late: u64,
    outcome: RealTime,
}

impl Pacing {
    /// `factor` seconds of the run per second of wall-clock time.
    pub fn new(factor: f64) -> Self {
        let outcome = RealTime { factor, ..RealTime::default() };
        Pacing { start: 0.0, begun: Instant::now(), steps: 0, late: 0, outcome }
    }

    /// What became of it.
    pub fn outcome(&self) -> RealTime {
        RealTime { late_share: self.late as f64 / self.steps.max(1) as f64, ..self.outcome }
    }

    /// The run begins now, at `t`.
    pub fn begin(&mut self, t: f64) {
        (self.start, self.begun) = (t, Instant::now());
    }

    /// Waits until `t` has come, or until `interrupted`.
    pub fn wait_for(&mut self, t: f64, interrupted: impl Fn() -> bool) -> Flow {
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
            if interrupted() {
                return Flow::Stop;
            }
            // A wait of years does not fit into a duration.
            std::thread::sleep(Duration::try_from_secs_f64(rest).map_or(SLICE, |rest| rest.min(SLICE)));
        }
    }
}
