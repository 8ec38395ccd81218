//! The side of the supervisor: it starts a worker, watches it, and says what happened to it.

use crate::black_box::{BlackBox, Layout, Progress, TIME_IS_UP};
use crate::blame::{Suspects, how};
use crate::worker::{Report, VARIABLE};
use crate::{os, rows};
use powerbond::fmi::trace::UnderWay;
use powerbond::results::{Posthumous, Reached};
use powerbond::{Error, Failure};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Between two looks at the worker.
const TICK: Duration = Duration::from_millis(20);
/// A worker that is asked to stop ends its step and its files in this time, or is killed.
const GRACE: Duration = Duration::from_millis(700);
/// Calls that take longer are shown, and again after each such time.
const PATIENCE: Duration = Duration::from_secs(5);

/// Lines of an FMU that are shown when it crashes.
const LAST_WORDS: usize = 4;

/// The exit code of a run whose results could not be written.
const OUTPUT: u8 = 8;

/// How long things may take, and how much; no limit where there is none.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// The whole run, from the start of the worker on.
    pub run: Option<Duration>,
    /// A single call of an FMU.
    pub call: Option<Duration>,
    /// Memory of the worker, in bytes: what it allocated and wrote to, in memory or swapped out.
    pub memory: Option<u64>,
}

/// Watches the watching.
pub trait Listener {
    /// How far the run is, about 50 times a second.
    fn progress(&mut self, progress: &Progress);
    /// Something that people should know now.
    fn say(&mut self, text: &str);
    /// The signal that asks the run to stop, if there was one.
    fn signal(&self) -> Option<u8>;
}

/// How a supervised run ended.
#[derive(Debug)]
pub enum Ending {
    /// The worker said what the run came to. After that something may have gone wrong with it.
    Reported {
        /// What it said.
        report: Report,
        /// What went wrong while FMUs were terminated and freed: results are complete.
        trouble: Option<Error>,
        /// The folder of the results.
        folder: Option<PathBuf>,
    },
    /// The worker died, or was killed because it hung, before results were complete.
    Failed {
        /// Who did what.
        error: Error,
        /// The folder with what was computed until then.
        folder: Option<PathBuf>,
    },
    /// The worker was killed because it did not stop when asked to.
    Stopped {
        /// The signal.
        signal: u8,
        /// The folder with what was computed until then.
        folder: Option<PathBuf>,
    },
}

/// Why a worker was killed.
enum Killed {
    Signal(u8),
    Hung(Box<Failure>),
    TooLarge(Box<Failure>),
}

/// Variables of the environment of a worker, and their values.
pub type Environment = Vec<(&'static str, OsString)>;

/// How the worker is started.
pub(crate) struct Manner {
    pub stdout: Stdio,
    pub stderr: Stdio,
    /// What its environment has beyond that of the supervisor.
    pub environment: Environment,
    /// Signals are passed on to it: it does not look for them in the black box.
    pub passes_signals: bool,
}

/// Runs this program with the arguments of `arguments` as a worker, and stays with it until it is gone. What the worker leaves
/// behind (processes, temporary folders, rows that are not in files) is cleared up.
///
/// `environment` is what its environment has beyond that of the supervisor, such as another folder for temporary files.
pub fn supervise(
    arguments: impl IntoIterator<Item = OsString>,
    limits: Limits,
    environment: Environment,
    listener: &mut dyn Listener,
) -> io::Result<Ending> {
    let manner =
        Manner { stdout: Stdio::null(), stderr: Stdio::inherit(), environment, passes_signals: false };
    let (watch, status, killed) = watch_over(arguments, manner, limits, listener)?;
    Ok(watch.end(status, killed))
}

/// Starts a worker, watches it, and clears up behind it.
fn watch_over(
    arguments: impl IntoIterator<Item = OsString>,
    manner: Manner,
    limits: Limits,
    listener: &mut dyn Listener,
) -> io::Result<(Watch, ExitStatus, Option<Killed>)> {
    let (fd, layout) = os::create::<Layout>()?;
    let black_box = BlackBox(layout.keep());
    os::adopt_orphans();
    let mut command = os::this_program();
    command.args(arguments).stdin(Stdio::null()).stdout(manner.stdout).stderr(manner.stderr);
    command.envs(manner.environment);
    command.env(VARIABLE, format!("{}:{}", os::number(&fd), std::process::id()));
    // Signals of the terminal reach the supervisor only, and everything that an FMU starts can be killed together.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let begun = Instant::now();
    let mut child = command.spawn()?;
    drop(fd);
    let id = child.id();
    let (gone, is_gone) = channel();
    // Waits for the worker; the supervisor itself has to look at the clock.
    std::thread::Builder::new().name("wait".to_owned()).spawn(move || gone.send(child.wait()))?;
    let mut watch = Watch {
        black_box,
        limits,
        begun,
        calls: BTreeMap::new(),
        asked: None,
        is_over: false,
        passes_signals: manner.passes_signals,
    };
    let mut killed = None;
    let mut noticed = false;
    let status = loop {
        match is_gone.recv_timeout(TICK) {
            Ok(status) => break status?,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(io::Error::other("the supervisor of this worker is gone"));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        if let Some(progress) = black_box.progress() {
            listener.progress(&progress);
        }
        if let Some(notice) = black_box.notice().filter(|_| !noticed) {
            noticed = true;
            listener.say(&notice);
        }
        if killed.is_none() {
            killed = watch.look(id, listener);
            if killed.is_some() {
                os::kill_group(id);
            }
        }
    };
    os::kill_group(id);
    os::end_orphans();
    powerbond::fmi::sweep_stale();
    Ok((watch, status, killed))
}

/// As [`supervise`], of a worker that prints to `stdout` and `stderr` by itself and leaves no results of a run: its exit code, or what
/// ended it.
pub fn attend(
    arguments: impl IntoIterator<Item = OsString>,
    [stdout, stderr]: [Stdio; 2],
    limits: Limits,
    listener: &mut dyn Listener,
) -> io::Result<Result<u8, Error>> {
    let manner = Manner { stdout, stderr, environment: Vec::new(), passes_signals: true };
    let (watch, status, killed) = watch_over(arguments, manner, limits, listener)?;
    Ok(match (killed, status.code(), listener.signal()) {
        (Some(Killed::Hung(failure)), ..) => Err(Error::Deadline(failure)),
        (None, Some(code), _) if watch.black_box.is_done() => Ok(code as u8),
        (_, _, Some(signal)) => Ok(128 + signal),
        _ => Err(watch.crash(status)),
    })
}

/// A call that was seen under way.
struct Seen {
    count: u64,
    since: Instant,
    /// How often it was shown.
    shown: u32,
}

struct Watch {
    black_box: BlackBox,
    limits: Limits,
    begun: Instant,
    calls: BTreeMap<usize, Seen>,
    /// When the worker was asked to stop.
    asked: Option<Instant>,
    /// The time of the whole run is over.
    is_over: bool,
    passes_signals: bool,
}

impl Watch {
    /// Whether the worker has to be killed, and why.
    fn look(&mut self, id: u32, listener: &mut dyn Listener) -> Option<Killed> {
        if let (Some(signal), None) = (listener.signal(), self.asked) {
            self.black_box.ask_to_stop(signal.into());
            if self.passes_signals {
                os::signal(id, signal);
            }
            self.asked = Some(Instant::now());
        }
        if self.limits.run.is_some_and(|limit| self.begun.elapsed() > limit) && !self.is_over {
            self.is_over = true;
            self.black_box.ask_to_stop(TIME_IS_UP);
            self.asked.get_or_insert(Instant::now());
        }
        if self.asked.is_some_and(|when| when.elapsed() > GRACE) {
            return Some(match listener.signal() {
                Some(signal) => Killed::Signal(signal),
                None => Killed::Hung(Box::new(self.too_long())),
            });
        }
        if os::is_stopped(id) {
            let who = self.suspects();
            let message =
                format!("{} was stopped by a signal and does not continue", who.text("the worker process"));
            return Some(Killed::Hung(Box::new(who.blame(Failure::new(message)))));
        }
        self.memory(id).or_else(|| self.calls(listener))
    }

    fn memory(&self, id: u32) -> Option<Killed> {
        let limit = self.limits.memory?;
        let bytes = os::memory(id).filter(|&bytes| bytes > limit)?;
        let who = self.suspects();
        let [bytes, limit] = [bytes, limit].map(|x| x as f64 / 1e6);
        let message = format!(
            "{}: the process has {bytes:.0} MB of memory, more than the {limit:.0} MB of --memory-limit",
            who.text("outside of any call of an FMU")
        );
        Some(Killed::TooLarge(Box::new(who.blame(Failure::new(message)))))
    }

    fn calls(&mut self, listener: &mut dyn Listener) -> Option<Killed> {
        let now = Instant::now();
        let under_way: Vec<(usize, UnderWay)> = self.black_box.calls().collect();
        self.calls.retain(|place, seen| under_way.iter().any(|(p, c)| p == place && c.count == seen.count));
        for (place, call) in under_way {
            let new = Seen { count: call.count, since: now, shown: 0 };
            let seen = self.calls.entry(place).or_insert(new);
            let elapsed = now - seen.since;
            if self.limits.call.is_some_and(|limit| elapsed > limit) {
                let limit = self.limits.call.unwrap_or_default().as_secs_f64();
                let who = Suspects(vec![call]);
                let message =
                    format!("{} takes longer than the {limit} s of --call-timeout", who.text("a call"));
                return Some(Killed::Hung(Box::new(who.blame(Failure::new(message)))));
            }
            if elapsed > PATIENCE * 2u32.pow(seen.shown.min(16)) {
                seen.shown += 1;
                let UnderWay { instance, call, .. } = &call;
                listener.say(&format!("`{instance}` is still in `{call}`, {} s", elapsed.as_secs()));
            }
        }
        None
    }

    fn too_long(&self) -> Failure {
        let limit = self.limits.run.unwrap_or_default().as_secs_f64();
        let message = format!("the run takes longer than the {limit} s of --timeout");
        let who = self.suspects();
        if who.0.is_empty() {
            Failure::new(message)
        } else {
            let message = format!("{message}; {} was under way", who.text("no call"));
            who.blame(Failure::new(message))
        }
    }

    fn suspects(&self) -> Suspects {
        Suspects(self.black_box.calls().map(|(_, call)| call).collect())
    }

    fn end(&self, status: ExitStatus, killed: Option<Killed>) -> Ending {
        let error = match killed {
            Some(Killed::Hung(failure)) => Some(Error::Deadline(failure)),
            Some(Killed::TooLarge(failure)) => Some(Error::Crash(failure)),
            Some(Killed::Signal(signal)) => {
                let failure =
                    Failure::new("the run was stopped, and a call of an FMU did not return in time");
                return self.failed(Error::Deadline(Box::new(failure)), Some(signal));
            }
            None => None,
        };
        match (self.black_box.report(), error) {
            (Some((OUTPUT, ..)), None) if self.could_write() => {
                self.failed(Error::Crash(Box::new(self.took_files())), None)
            }
            (Some((code, out, err)), error) => {
                let clean = self.black_box.is_done() && status.code() == Some(code.into());
                let trouble = error.or_else(|| (!clean).then(|| self.crash(status)));
                let report = Report { code, out, err };
                let folder = self.black_box.folder();
                if let (Some(trouble), Some(folder)) = (&trouble, &folder) {
                    // The summary is complete without it; the trouble is told on the terminal in any case.
                    let _ = Posthumous::read(folder).and_then(|mut summary| {
                        // The worker writes it last.
                        if !summary.has_log() {
                            summary.log(&self.black_box.logged())?;
                        }
                        summary.warn(&trouble.to_string())
                    });
                }
                let timed_out = self.is_over && code == 6;
                if timed_out && trouble.is_none() {
                    let trouble = Some(Error::Deadline(Box::new(self.too_long())));
                    return Ending::Reported { report, trouble, folder };
                }
                Ending::Reported { report, trouble, folder }
            }
            (None, error) => self.failed(error.unwrap_or_else(|| self.crash(status)), None),
        }
    }

    /// Who closed files of the process, or made them unwritable.
    fn took_files(&self) -> Failure {
        let who = Suspects(self.black_box.accused().collect());
        let what =
            "closed or limited the files of its process: results up to there could not be written by it";
        let message = format!("{} {what}", who.text("an FMU"));
        let cure = who.0.is_empty().then(|| {
            "Run the FMUs one by one (`powerbond run x.fmu`) to find out which one it is".to_owned()
        });
        Failure { cure, ..who.blame(Failure::new(message)) }
    }

    /// Whether rows that the worker could not write can be written: then the disk is not to blame.
    fn could_write(&self) -> bool {
        self.black_box.folder().is_some_and(|folder| folder.is_dir())
            && rows::recover_all(&self.black_box).is_ok()
    }

    /// The worker is gone before results were complete: rows go into their files, the summary says why.
    fn failed(&self, error: Error, signal: Option<u8>) -> Ending {
        let folder = self.black_box.folder();
        let progress = self.black_box.progress();
        if let Some(folder) = &folder {
            let reached = Reached {
                time: progress.map_or(0.0, |p| p.time),
                steps: progress.map_or(0, |p| p.steps),
                seconds: self.begun.elapsed().as_secs_f64(),
            };
            let complete = |mut summary: Posthumous<'_>| {
                if !summary.is_open() {
                    return Ok(());
                }
                rows::recover_all(&self.black_box)?;
                summary.log(&self.black_box.logged())?;
                summary.fail(&error, &reached)
            };
            if let Err(output) = Posthumous::read(folder).and_then(complete) {
                return Ending::Failed { error: output, folder: Some(folder.clone()) };
            }
        }
        match signal {
            Some(signal) => Ending::Stopped { signal, folder },
            None => Ending::Failed { error, folder },
        }
    }

    /// What the one that is to blame logged last.
    fn last_words(&self, who: &Suspects) -> Option<String> {
        let [UnderWay { instance, .. }] = who.0.as_slice() else { return None };
        let of_it = format!("{instance} [");
        let lines = self.black_box.logged();
        let lines: Vec<&str> =
            lines.iter().filter(|line| line.starts_with(&of_it)).map(String::as_str).collect();
        let last = &lines[lines.len().saturating_sub(LAST_WORDS)..];
        let words = |line: &&str| line.split_once("]: ").map_or(*line, |(_, words)| words).trim().to_owned();
        (!last.is_empty()).then(|| last.iter().map(words).collect::<Vec<_>>().join(" | "))
    }

    fn crash(&self, status: ExitStatus) -> Error {
        let who = self.suspects();
        let how = how(status);
        if who.0.is_empty() && self.black_box.accused().next().is_some() {
            let failure = self.took_files();
            let message = format!("{}; after that the process {how}", failure.message);
            return Error::Crash(Box::new(Failure { message, status: Some(how), ..failure }));
        }
        let mut message = format!("{} {how}", who.text("the worker process, outside of any call of an FMU,"));
        if let Some(words) = self.last_words(&who) {
            message += &format!("; its last messages: {words}");
        }
        let cure = match who.0.is_empty() {
            true => "`--in-process` runs without a worker, for a debugger",
            false => {
                "The fault is in the FMU: `--in-process` runs it under a debugger; its messages are shown by `-v`"
            }
        };
        let failure =
            Failure { cure: Some(cure.to_owned()), status: Some(how), ..who.blame(Failure::new(message)) };
        Error::Crash(Box::new(failure))
    }
}
