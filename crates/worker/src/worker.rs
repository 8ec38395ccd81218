//! The side of the worker: it says how far it is, and in the end what the run came to.

use crate::black_box::{BlackBox, Layout, TIME_IS_UP};
use crate::os;
use crate::rows::Rings;
use powerbond::core::observe::{Flow, Observer, StartView, StepReport};
use powerbond::core::step::StepView;
use powerbond::table::Backups;
use powerbond::tune;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Where a worker finds its black box: `<descriptor>:<id of the supervisor>`.
pub(crate) const VARIABLE: &str = "POWERBOND_BLACK_BOX";
/// In the environment of a worker and of the processes that it starts: no scratch instances are made, and why.
pub(crate) const NO_SCRATCH: &str = "POWERBOND_NO_SCRATCH";

/// Does as the environment says.
pub(crate) fn obey() {
    if let Ok(why) = std::env::var(NO_SCRATCH) {
        powerbond::fmi::scratch::forbid(why);
    }
}

/// In the place of an exit code: a scratch instance in a process of its own was lost before the run, and how.
pub(crate) const NO_TRIAL: u8 = 255;

/// The black box of this process.
static HERE: OnceLock<BlackBox> = OnceLock::new();

/// A scratch instance in a process of its own was lost. Before the run this ends the worker, as it would have if it had been in its
/// process: the supervisor starts another one, which makes no scratch instances.
pub(crate) fn lost_a_scratch_instance(why: &str) {
    if let Some(black_box) = HERE.get().filter(|black_box| black_box.may_retry()) {
        black_box.set_report(NO_TRIAL, "", why);
        std::process::exit(NO_TRIAL.into());
    }
}

/// What a run came to, for the supervisor to print.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The exit code.
    pub code: u8,
    /// For stdout.
    pub out: String,
    /// For stderr.
    pub err: String,
}

/// A process that runs a system for a supervisor.
#[derive(Clone, Copy)]
pub struct Worker {
    black_box: BlackBox,
}

impl Worker {
    /// If this process was started by a supervisor that still lives. From now on it is killed when the supervisor dies.
    pub fn here() -> Option<Self> {
        let value = std::env::var(VARIABLE).ok()?;
        let (number, parent) = value.split_once(':')?;
        let parent = parent.parse().ok()?;
        if !os::die_with(parent) {
            // Its supervisor died before it could see that: there is nothing to run for. What an FMU starts has a living one.
            if !os::lives(parent) {
                std::process::exit(1);
            }
            return None;
        }
        let black_box = BlackBox(os::attach::<Layout>(number.parse().ok()?).ok()?.keep());
        let _ = HERE.set(black_box);
        obey();
        powerbond::fmi::trace::install(black_box.slots());
        let log = Mutex::new(black_box.log());
        powerbond::fmi::copy_log_to(move |line| log.lock().unwrap_or_else(PoisonError::into_inner).add(line));
        if black_box.has_words() {
            powerbond::fmi::printed::is_heard();
        }
        Some(Worker { black_box })
    }

    /// For the output of a session: rows outlive this process.
    pub fn backups(&self) -> Arc<dyn Backups> {
        Arc::new(Rings { black_box: self.black_box })
    }

    /// Says something that people should know while the run goes on; once.
    pub fn notice(&self, text: &str) {
        self.black_box.set_notice(text);
    }

    /// Says what the run came to, or mends what was said before.
    pub fn report(&self, report: &Report) {
        if !self.black_box.set_report(report.code, &report.out, &report.err) {
            let left_out = "warning: the summary is too long to be shown; see summary.json\n";
            self.black_box.set_report(report.code, "", left_out);
        }
    }

    /// Nothing of an FMU is called any more: the process ends now, with the code of the last report.
    pub fn end(&self) {
        self.black_box.set_done();
    }

    /// The exit code of a run that the supervisor asked to stop.
    pub fn stopped_by(&self) -> Option<u8> {
        match self.black_box.wanted_stop() {
            0 => None,
            TIME_IS_UP => Some(6),
            // Whatever an FMU wrote there.
            signal => Some(128 | (signal as u8 & 127)),
        }
    }
}

impl Observer for Worker {
    fn started(&mut self, start: &StartView<'_>) -> Flow {
        self.black_box.begin(start.t, start.stop);
        if self.interrupted() { Flow::Stop } else { Flow::Continue }
    }

    fn accepted(&mut self, step: &StepView<'_>, report: &StepReport<'_>) -> Flow {
        let norm = report.estimates.first().map(|e| e.norm);
        self.black_box.advance(step.span.end, step.span.h, norm, report.number);
        if self.interrupted() { Flow::Stop } else { Flow::Continue }
    }

    fn interrupted(&self) -> bool {
        self.black_box.wanted_stop() != 0 || !self.black_box.is_intact()
    }
}

/// Progress as a share of 1.
impl tune::Listener for Worker {
    fn at(&mut self, done: f64, _what: &str) {
        if self.black_box.progress().is_none() {
            self.black_box.begin(0.0, 1.0);
        }
        self.black_box.advance(done, 0.0, None, 0);
    }

    fn interrupted(&self) -> bool {
        self.black_box.wanted_stop() != 0
    }
}
