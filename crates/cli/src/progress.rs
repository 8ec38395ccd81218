//! Progress of a run: a bar on a terminal, JSON lines for machines, and the way out on Ctrl-C.

use indicatif::{ProgressBar, ProgressStyle};
use powerbond::core::observe::{Flow, Observer, StartView, StepReport};
use powerbond::core::step::StepView;
use powerbond::{Error, System, Verify};
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Watches a run: shows how far it is and stops it when the user asks.
pub struct Watch {
    start: f64,
    stop: f64,
    /// Runs that are planned, and those that have begun.
    runs: u32,
    begun_runs: u32,
    bar: Option<ProgressBar>,
    json: bool,
    begun: Instant,
    shown: Instant,
    signal: Arc<AtomicUsize>,
}

/// Steps between two looks at the clock.
const STRIDE: u64 = 64;
const BAR_EVERY: Duration = Duration::from_millis(100);
const JSON_EVERY: Duration = Duration::from_millis(500);

/// The signal that asked the command to stop, as soon as there is one; 0 until then.
pub fn caught() -> Result<Arc<AtomicUsize>, Error> {
    let signal = Arc::new(AtomicUsize::new(0));
    for number in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register_usize(number, signal.clone(), number as usize)
            .map_err(|e| Error::input(None, format!("cannot handle Ctrl-C: {e}")))?;
    }
    Ok(signal)
}

impl Watch {
    /// Watches the runs of `system`: one, or those that verify it. A bar appears on a terminal unless `json` or `quiet`.
    pub fn new(system: &System, json: bool, quiet: bool) -> Result<Self, Error> {
        let signal = caught()?;
        let bar = (!json && !quiet && std::io::stderr().is_terminal()).then(|| {
            let style = ProgressStyle::with_template("{bar:30} {percent:>3} %  {msg}");
            let bar = ProgressBar::new(1000);
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar
        });
        let now = Instant::now();
        let runs = match system.verdict.verify_by() {
            None => 1,
            Some(Verify::Halves) => 2,
            Some(Verify::Quarters) => 3,
        };
        Ok(Watch {
            start: system.simulation.start.value,
            stop: f64::NAN,
            runs,
            begun_runs: 0,
            bar,
            json,
            begun: now,
            shown: now,
            signal,
        })
    }

    /// The exit code if the user stopped the run.
    pub fn stopped_by(&self) -> Option<u8> {
        match self.signal.load(Ordering::Relaxed) {
            0 => None,
            signal => Some(128 + signal as u8),
        }
    }

    /// Takes the bar away.
    pub fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn show(&mut self, step: &StepView<'_>, report: &StepReport<'_>) {
        let t = step.span.end;
        let done = ((t - self.start) / (self.stop - self.start)).clamp(0.0, 1.0);
        let seconds = self.begun.elapsed().as_secs_f64();
        let norm = report.estimates.first().map(|e| e.norm);
        if let Some(bar) = &self.bar {
            bar.set_position((1000.0 * done) as u64);
            let error = norm.map_or(String::new(), |e| format!("  error {}", crate::text::significant(e)));
            bar.set_message(format!(
                "{}t = {}  h = {}{error}  {}× real time  {} left",
                if self.runs > 1 { format!("run {}  ", self.begun_runs) } else { String::new() },
                crate::text::quantity(t, "s"),
                crate::text::quantity(step.span.h, "s"),
                crate::text::significant((t - self.start) / seconds),
                // At the pace of the whole run so far.
                indicatif::HumanDuration(
                    Duration::try_from_secs_f64(seconds / done - seconds).unwrap_or(Duration::MAX)
                ),
            ));
        }
        if self.json {
            let line = serde_json::json!({
                "event": "progress", "run": self.begun_runs, "time": t, "done": done, "steps": report.number, "step_size": step.span.h,
                "error": norm, "seconds": seconds,
            });
            // A full disk behind stdout is reported with the summary.
            let _ = crate::text::print(&format!("{line}\n"));
        }
    }
}

impl Observer for Watch {
    fn started(&mut self, start: &StartView<'_>) -> Flow {
        (self.start, self.stop, self.begun) = (start.t, start.stop, Instant::now());
        self.begun_runs += 1;
        if self.interrupted() { Flow::Stop } else { Flow::Continue }
    }

    fn accepted(&mut self, step: &StepView<'_>, report: &StepReport<'_>) -> Flow {
        if self.signal.load(Ordering::Relaxed) != 0 {
            return Flow::Stop;
        }
        let every = if self.json { JSON_EVERY } else { BAR_EVERY };
        if (self.bar.is_some() || self.json)
            && report.number.is_multiple_of(STRIDE)
            && self.shown.elapsed() >= every
        {
            self.shown = Instant::now();
            self.show(step, report);
        }
        Flow::Continue
    }

    fn interrupted(&self) -> bool {
        self.signal.load(Ordering::Relaxed) != 0
    }
}
