//! Progress of a run: a bar on a terminal, JSON lines for machines, and the way out on Ctrl-C.

use crate::live;
use crate::text::{quantity, significant};
use indicatif::{ProgressBar, ProgressStyle};
use powerbond::core::observe::{Flow, Observer, StartView, StepReport};
use powerbond::core::step::StepView;
use powerbond::number::{count, duration, size};
use powerbond::tune;
use powerbond::{Error, Expected, Forecast, Reach};
use powerbond_worker::{Listener, Progress};
use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Shows how far a run is, and knows whether the user wants it to stop.
pub struct Watch {
    bar: Option<ProgressBar>,
    json: bool,
    quiet: bool,
    begun: Instant,
    shown: Instant,
    signal: Arc<AtomicUsize>,
    /// Of the run in this process.
    span: (f64, f64),
    /// Which run it is, of several that verify one.
    run: u32,
    forecast: Forecast,
    /// Who looks from a browser.
    live: Option<Arc<live::Shared>>,
}

/// Steps between two looks at the clock.
const STRIDE: u64 = 64;
const BAR_EVERY: Duration = Duration::from_millis(100);
const JSON_EVERY: Duration = Duration::from_millis(500);

/// The signal that asked the command to stop, as soon as there is one; 0 until then.
pub fn caught() -> Result<Arc<AtomicUsize>, Error> {
    use signal_hook::consts::{SIGINT, SIGTERM};
    let signal = Arc::new(AtomicUsize::new(0));
    #[cfg(unix)]
    let numbers = [SIGINT, SIGTERM, signal_hook::consts::SIGHUP];
    #[cfg(not(unix))]
    let numbers = [SIGINT, SIGTERM];
    for number in numbers {
        signal_hook::flag::register_usize(number, signal.clone(), number as usize)
            .map_err(|e| Error::input(None, format!("cannot handle signal {number}: {e}")))?;
    }
    Ok(signal)
}

/// A bar of 1000 parts, on a terminal.
fn bar(wanted: bool) -> Option<ProgressBar> {
    (wanted && std::io::stderr().is_terminal()).then(|| {
        let style = ProgressStyle::with_template("{bar:12} {percent:>3} %  {wide_msg}");
        let bar = ProgressBar::new(1000);
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar
    })
}

impl Watch {
    /// Watches a run. A bar appears on a terminal unless `json` or `quiet`.
    pub fn new(json: bool, quiet: bool) -> Result<Self, Error> {
        let signal = caught()?;
        let bar = bar(!json && !quiet);
        let now = Instant::now();
        let forecast = Forecast::new(0.0, 0.0);
        Ok(Watch {
            bar,
            json,
            quiet,
            begun: now,
            shown: now,
            signal,
            span: (0.0, 0.0),
            run: 0,
            forecast,
            live: None,
        })
    }

    /// Tells `live`, too.
    pub fn tell(&mut self, live: Arc<live::Shared>) {
        self.live = Some(live);
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

    fn is_due(&self) -> bool {
        let every = if self.json { JSON_EVERY } else { BAR_EVERY };
        (self.bar.is_some() || self.json) && self.shown.elapsed() >= every
    }

    fn show(&mut self, progress: &Progress) {
        self.shown = Instant::now();
        let Progress { run, start, stop, time: t, step_size, norm, steps, rows, bytes } = *progress;
        if run != self.run {
            (self.run, self.begun) = (run, Instant::now());
            self.forecast = Forecast::new(start, stop);
        }
        let done = ((t - start) / (stop - start)).clamp(0.0, 1.0);
        let seconds = self.begun.elapsed().as_secs_f64();
        let expected = self.forecast.at(Reach { seconds, time: t, steps, rows, bytes });
        if let Some(bar) = &self.bar {
            bar.set_position((1000.0 * done) as u64);
            bar.set_message(message(progress, seconds, expected));
        }
        if self.json {
            let line = serde_json::json!({
                "event": "progress", "run": run, "time": t, "done": done, "steps": steps, "step_size": step_size,
                "error": norm, "seconds": seconds,
            });
            // A full disk behind stdout is reported with the summary.
            let _ = crate::text::print(&format!("{line}\n"));
        }
    }
}

/// What is said beside the bar, the most important first: what has no room on a narrow terminal is cut off.
fn message(progress: &Progress, seconds: f64, expected: Option<Expected>) -> String {
    let Progress { run, start, time: t, step_size, norm, .. } = *progress;
    let mut parts = Vec::new();
    if run > 1 {
        parts.push(format!("run {run}"));
    }
    parts.push(format!("t = {}", quantity(t, "s")));
    parts.extend(expected.map(|e| format!("{} left", duration(e.left))));
    parts.push(format!("{}× real time", rounded((t - start) / seconds)));
    if let Some(e) = expected.filter(|e| e.bytes > 0.0) {
        let rows = count(e.rows).replace(" million", " M").replace(" billion", " G");
        parts.push(format!("{rows} rows, {}", size(e.bytes)));
    }
    parts.push(format!("h = {}", quantity(step_size, "s")));
    parts.extend(norm.map(|e| format!("error {}", significant(e))));
    parts.join("  ")
}

/// Two digits are enough for what changes all the time.
fn rounded(x: f64) -> String {
    if !(0.01..1e5).contains(&x) {
        return format!("{x:.0e}");
    }
    let scale = 10f64.powi(1 - x.log10().floor() as i32);
    significant((x * scale).round() / scale)
}

/// Of a run in this process.
impl Observer for Watch {
    fn started(&mut self, start: &StartView<'_>) -> Flow {
        self.span = (start.t, start.stop);
        (self.run, self.begun) = (self.run + 1, Instant::now());
        self.forecast = Forecast::new(start.t, start.stop);
        if self.interrupted() { Flow::Stop } else { Flow::Continue }
    }

    fn accepted(&mut self, step: &StepView<'_>, report: &StepReport<'_>) -> Flow {
        if self.interrupted() {
            return Flow::Stop;
        }
        if report.number.is_multiple_of(STRIDE) && self.is_due() {
            self.show(&Progress {
                run: self.run,
                start: self.span.0,
                stop: self.span.1,
                time: step.span.end,
                step_size: step.span.h,
                norm: report.estimates.first().map(|e| e.norm),
                steps: report.number,
                rows: 0,
                bytes: 0,
            });
        }
        Flow::Continue
    }

    fn interrupted(&self) -> bool {
        self.signal.load(Ordering::Relaxed) != 0
    }
}

/// Of a run in a worker process.
impl Listener for Watch {
    fn progress(&mut self, progress: &Progress) {
        if let Some(live) = &self.live {
            live.progress(progress);
        }
        if progress.steps > 0 && self.is_due() {
            self.show(progress);
        }
    }

    fn folder(&mut self, folder: &Path) {
        if let Some(live) = &self.live {
            live.folder(folder);
        }
    }

    fn say(&mut self, text: &str) {
        if let Some(live) = &self.live {
            live.say(text);
        }
        match &self.bar {
            Some(bar) => bar.println(crate::layout::wrap_for_errors(text.trim_end())),
            None if self.quiet => {}
            None => eprintln!("{}", text.trim_end()),
        }
    }

    fn signal(&self) -> Option<u8> {
        Some(self.signal.load(Ordering::Relaxed) as u8).filter(|&signal| signal != 0)
    }
}

/// Watches many runs: a bar on a terminal, and the way out on Ctrl-C.
pub struct Bar {
    bar: Option<ProgressBar>,
    signal: Arc<AtomicUsize>,
}

impl Bar {
    /// A bar appears on a terminal if it is wanted.
    pub fn new(wanted: bool) -> Result<Self, Error> {
        Ok(Bar { bar: bar(wanted), signal: caught()? })
    }

    /// Takes the bar away.
    pub fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    /// The signal that asked to stop, if there was one.
    pub fn stopped_by(&self) -> Option<u8> {
        Some(self.signal.load(Ordering::Relaxed) as u8).filter(|&signal| signal != 0)
    }

    /// The exit code after the user stopped everything.
    pub fn exit_code(&self) -> u8 {
        128 + self.signal.load(Ordering::Relaxed) as u8
    }
}

impl tune::Listener for Bar {
    fn at(&mut self, done: f64, what: &str) {
        if let Some(bar) = &self.bar {
            bar.set_position((1000.0 * done) as u64);
            bar.set_message(what.to_owned());
        }
    }

    fn interrupted(&self) -> bool {
        self.signal.load(Ordering::Relaxed) != 0
    }
}
