//! The side of the supervisor: it starts a worker, watches it, and says what happened to it.

use crate::black_box::{BlackBox, Layout, Progress, TIME_IS_UP};
use crate::blame::{Suspects, how};
use crate::program::this_program;
use crate::words::{Words, is_its_own, last_of};
use crate::worker::{NO_SCRATCH, NO_TRIAL, Report, VARIABLE};
use crate::{os, rows};
use powerbond::fmi::printed::PRINTED;
use powerbond::fmi::trace::UnderWay;
use powerbond::results::{Posthumous, Reached};
use powerbond::{Error, Failure};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Between two looks at the worker.
const TICK: Duration = Duration::from_millis(20);
/// A worker that is asked to stop ends its step and its files in this time, or is killed.
const GRACE: Duration = Duration::from_millis(700);
/// Calls that take longer are shown, and again after each such time.
const PATIENCE: Duration = Duration::from_secs(5);

/// The exit code of a run whose results could not be written.
const OUTPUT: u8 = 8;

const ONE_BY_ONE: &str = "Run the FMUs one by one (`powerbond run x.fmu`) to find out which one it is";

/// How long things may take, and how much; no limit where there is none.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// The whole run, from the start of the worker on.
    pub run: Option<Duration>,
    /// A single call of an FMU.
    pub call: Option<Duration>,
    /// Memory of the worker and of the processes that it started, in bytes: what they allocated and wrote to, in memory or swapped out.
    pub memory: Option<u64>,
}

/// Watches the watching.
pub trait Listener {
    /// How far the run is, about 50 times a second.
    fn progress(&mut self, progress: &Progress);
    /// Where the results of the run are, as soon as that is known.
    fn folder(&mut self, _folder: &Path) {}
    /// Something that people should know now.
    fn say(&mut self, text: &str);
    /// The signal that asks the run to stop, if there was one.
    fn signal(&self) -> Option<u8>;
}

/// Shows nothing, and lets everything go on.
pub struct Silent;

impl Listener for Silent {
    fn progress(&mut self, _progress: &Progress) {}

    fn say(&mut self, _text: &str) {}

    fn signal(&self) -> Option<u8> {
        None
    }
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
        /// The run itself is complete: this was one that verifies it.
        complete: bool,
    },
    /// The worker was killed because it did not stop when asked to.
    Stopped {
        /// The signal.
        signal: u8,
        /// The folder with what was computed until then.
        folder: Option<PathBuf>,
        /// The run itself is complete: this was one that verifies it.
        complete: bool,
    },
}

impl Ending {
    /// The folder of the results, if the run had begun.
    pub fn folder(&self) -> Option<&Path> {
        match self {
            Ending::Reported { folder, .. }
            | Ending::Failed { folder, .. }
            | Ending::Stopped { folder, .. } => folder.as_deref(),
        }
    }
}

/// Why a worker was killed.
pub(crate) enum Killed {
    Signal(u8),
    Hung(Box<Failure>),
    TooLarge(Box<Failure>),
}

/// Variables of the environment of a worker, and their values.
pub type Environment = Vec<(&'static str, OsString)>;

/// How the worker is started.
pub(crate) struct Manner {
    pub stdout: Stdio,
    /// Where stdout leads, if that is to this process.
    pub words: Option<Words>,
    pub stderr: Stdio,
    /// What its environment has beyond that of the supervisor.
    pub environment: Environment,
    /// Signals are passed on to it: it does not look for them in the black box.
    pub passes_signals: bool,
}

/// Runs this program with the arguments of `arguments` as a worker, and stays with it until it is gone. What the worker leaves
/// behind (processes, temporary folders, rows that are not in files) is cleared up. Where a scratch instance of an FMU ends the worker
/// before the run, another worker makes the run without any.
///
/// `environment` is what its environment has beyond that of the supervisor, such as another folder for temporary files.
pub fn supervise(
    arguments: impl IntoIterator<Item = OsString>,
    limits: Limits,
    environment: Environment,
    listener: &mut dyn Listener,
) -> io::Result<Ending> {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let begun = Instant::now();
    let mut once = |environment: Environment, limits: Limits| {
        let (words, stdout) = Words::new()?;
        let (words, stderr) = (Some(words), Stdio::inherit());
        let manner = Manner { stdout, words, stderr, environment, passes_signals: false };
        watch_over(arguments.iter().cloned(), manner, limits, listener)
    };
    let (watch, status, killed) = once(environment.clone(), limits)?;
    let tried = watch.tried(killed.as_ref().map_or(Ok(status), Err));
    let Some(why) = tried else { return Ok(watch.end(status, killed)) };
    let environment = environment.into_iter().chain([(NO_SCRATCH, why.into())]).collect();
    let run = limits.run.map(|limit| limit.saturating_sub(begun.elapsed()));
    let (watch, status, killed) = once(environment, Limits { run, ..limits })?;
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
    black_box.seal();
    if manner.words.is_some() {
        black_box.set_words();
        black_box.set_retries();
    }
    os::adopt_orphans();
    let mut command = this_program();
    command.args(arguments).stdin(Stdio::null()).stdout(manner.stdout).stderr(manner.stderr);
    command.envs(manner.environment);
    command.env(VARIABLE, format!("{}:{}", os::number(&fd), std::process::id()));
    // Signals of the terminal reach the supervisor only, and everything that an FMU starts can be killed together.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let begun = Instant::now();
    let mut child = command.spawn()?;
    // With what it was given: of a pipe the worker alone has the writing end.
    drop((fd, command));
    let id = child.id();
    let (gone, is_gone) = channel();
    // Waits for the worker; the supervisor itself has to look at the clock.
    std::thread::Builder::new().name("wait".to_owned()).spawn(move || gone.send(child.wait()))?;
    let mut watch = Watch { begun, passes_signals: manner.passes_signals, ..Watch::new(black_box, limits) };
    let mut killed = None;
    let mut noticed = false;
    let mut damaged = None;
    let status = loop {
        match is_gone.recv_timeout(TICK) {
            Ok(status) => break status?,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(io::Error::other("the supervisor of this worker is gone"));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        if !black_box.is_intact() {
            // The worker sees it, too, and has a moment to end where it is.
            if damaged.get_or_insert_with(Instant::now).elapsed() > GRACE {
                os::kill_group(id);
            }
            continue;
        }
        if let Some(folder) = watch.folder.is_none().then(|| black_box.folder()).flatten() {
            listener.folder(&folder);
            watch.folder = Some(folder);
        }
        if let Some(progress) = black_box.progress() {
            listener.progress(&progress);
            watch.progress = Some(progress);
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
    if let Some(words) = manner.words.filter(|_| black_box.is_intact()) {
        words.rest().iter().for_each(|line| black_box.log().add(line));
    }
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
    let manner = Manner { stdout, words: None, stderr, environment: Vec::new(), passes_signals: true };
    let (watch, status, killed) = watch_over(arguments, manner, limits, listener)?;
    if !watch.black_box.is_intact() {
        return Ok(Err(damage()));
    }
    Ok(match (killed, status.code(), listener.signal()) {
        (Some(Killed::Hung(failure)), ..) => Err(Error::Deadline(failure)),
        (None, Some(code), _) if watch.black_box.is_done() => Ok(code as u8),
        (_, _, Some(signal)) => Ok(128 + signal),
        _ => Err(watch.crash(status)),
    })
}

/// What worker and supervisor share was written over.
pub(crate) fn damage() -> Error {
    let message =
        "an FMU wrote over memory of the engine: results up to there may be damaged and are not complete";
    Error::Crash(Box::new(Failure { cure: Some(ONE_BY_ONE.to_owned()), ..Failure::new(message) }))
}

/// A call that was seen under way.
struct Seen {
    call: &'static str,
    count: u64,
    since: Instant,
    /// How often it was shown.
    shown: u32,
}

pub(crate) struct Watch {
    black_box: BlackBox,
    limits: Limits,
    begun: Instant,
    calls: BTreeMap<usize, Seen>,
    /// When the worker was asked to stop.
    asked: Option<Instant>,
    /// The time of the whole run is over.
    is_over: bool,
    passes_signals: bool,
    /// What was seen of the run while what it shares could be believed.
    folder: Option<PathBuf>,
    progress: Option<Progress>,
}

impl Watch {
    /// From now on.
    pub fn new(black_box: BlackBox, limits: Limits) -> Self {
        Watch {
            black_box,
            limits,
            begun: Instant::now(),
            calls: BTreeMap::new(),
            asked: None,
            is_over: false,
            passes_signals: false,
            folder: None,
            progress: None,
        }
    }

    /// A process that had to wait so long could not end in that time.
    pub fn excuse(&mut self, waited: Duration) {
        if let Some(when) = &mut self.asked {
            *when += waited;
        }
    }

    /// Whether the worker has to be killed, and why.
    pub fn look(&mut self, id: u32, listener: &mut dyn Listener) -> Option<Killed> {
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
            "{}: the run has {bytes:.0} MB of memory, more than the {limit:.0} MB of --memory-limit",
            who.text("outside of any call of an FMU")
        );
        Some(Killed::TooLarge(Box::new(who.blame(Failure::new(message)))))
    }

    fn calls(&mut self, listener: &mut dyn Listener) -> Option<Killed> {
        let now = Instant::now();
        let under_way: Vec<(usize, UnderWay)> = self.black_box.calls().collect();
        let same = |call: &UnderWay, seen: &Seen| (call.count, call.call) == (seen.count, seen.call);
        self.calls.retain(|place, seen| under_way.iter().any(|(p, c)| p == place && same(c, seen)));
        for (place, call) in under_way {
            let new = Seen { call: call.call, count: call.count, since: now, shown: 0 };
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

    /// The error of a run that was asked to stop because it took too long.
    pub fn time_is_up(&self) -> Option<Error> {
        self.is_over.then(|| Error::Deadline(Box::new(self.too_long())))
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

    /// How a scratch instance ended the worker before the run had begun, if that is what happened.
    pub fn tried(&self, ended: Result<ExitStatus, &Killed>) -> Option<String> {
        let black_box = &self.black_box;
        if !black_box.is_intact() || self.is_over || !black_box.may_retry() {
            return None;
        }
        if let Some((code, _, why)) = black_box.report() {
            return (code == NO_TRIAL).then_some(why);
        }
        let suspects = self.suspects();
        if suspects.0.is_empty() || !suspects.0.iter().all(|call| call.is_of_scratch) {
            return None;
        }
        let who = suspects.text("");
        match ended {
            Ok(status) => Some(format!("{who} of a scratch instance {} before the run", how(status))),
            Err(Killed::Hung(_)) => {
                Some(format!("{who} of a scratch instance did not return before the run"))
            }
            Err(Killed::TooLarge(_) | Killed::Signal(_)) => None,
        }
    }

    fn suspects(&self) -> Suspects {
        Suspects(self.black_box.calls().map(|(_, call)| call).collect())
    }

    fn end(&self, status: ExitStatus, killed: Option<Killed>) -> Ending {
        if !self.black_box.is_intact() {
            return self.damaged();
        }
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
                            summary.log(&self.black_box.log().lines())?;
                        }
                        summary.warn(&trouble.to_string())
                    });
                }
                let timed_out = self.is_over && code == 6;
                if timed_out && trouble.is_none() {
                    return Ending::Reported { report, trouble: self.time_is_up(), folder };
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
            "closed, limited or damaged files of its process: results up to there could not be written by it";
        let message = format!("{} {what}", who.text("an FMU"));
        let cure = who.0.is_empty().then(|| ONE_BY_ONE.to_owned());
        Failure { cure, ..who.blame(Failure::new(message)) }
    }

    /// Whether rows that the worker could not write can be written: then the disk is not to blame.
    fn could_write(&self) -> bool {
        self.black_box.folder().is_some_and(|folder| folder.is_dir())
            && rows::recover_all(&self.black_box).is_ok()
    }

    /// Who wrote over what worker and supervisor share is unknown, and how far the run came is not believed: what is in the files stays.
    fn damaged(&self) -> Ending {
        let error = damage();
        let folder = self.folder.clone().or_else(|| self.black_box.second_folder());
        if let Some(folder) = &folder {
            let reached = self.reached(self.progress);
            if let Err(error) = Posthumous::read(folder).and_then(|summary| summary.fail(&error, &reached)) {
                return Ending::Failed { error, folder: Some(folder.clone()), complete: false };
            }
        }
        Ending::Failed { error, folder, complete: false }
    }

    fn reached(&self, progress: Option<Progress>) -> Reached {
        Reached {
            time: progress.map_or(0.0, |p| p.time),
            steps: progress.map_or(0, |p| p.steps),
            seconds: self.begun.elapsed().as_secs_f64(),
        }
    }

    /// The worker is gone before results were complete: rows go into their files, the summary says why.
    fn failed(&self, error: Error, signal: Option<u8>) -> Ending {
        let folder = self.black_box.folder();
        let progress = self.black_box.progress();
        let mut complete = false;
        if let Some(folder) = &folder {
            let reached = self.reached(progress);
            let conclude = |mut summary: Posthumous<'_>| {
                complete = summary.is_being_verified();
                if complete {
                    summary.log(&self.black_box.log().lines())?;
                    return summary.not_verified(&error);
                }
                if !summary.is_open() {
                    return Ok(());
                }
                rows::recover_all(&self.black_box)?;
                summary.log(&self.black_box.log().lines())?;
                summary.fail(&error, &reached)
            };
            if let Err(output) = Posthumous::read(folder).and_then(conclude) {
                return Ending::Failed { error: output, folder: Some(folder.clone()), complete };
            }
        }
        match signal {
            Some(signal) => Ending::Stopped { signal, folder, complete },
            None => Ending::Failed { error, folder, complete },
        }
    }

    /// What the one that is to blame logged last.
    fn last_words(&self, who: &Suspects) -> Option<String> {
        let [UnderWay { instance, .. }] = who.0.as_slice() else { return None };
        let of_it = format!("{instance} [");
        let lines = self.black_box.log().lines();
        // Whose lines on stdout are is unknown: they are shown as what they are.
        let is_its =
            |line: &&String| (line.starts_with(PRINTED) || line.starts_with(&of_it)) && is_its_own(line);
        let lines: Vec<&str> = lines.iter().filter(is_its).map(String::as_str).collect();
        last_of(&lines)
    }

    /// What to say of a worker that ended without being asked to.
    pub fn crash(&self, status: ExitStatus) -> Error {
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
            true => format!(
                "An FMU may have written over memory of the engine before, or a thread of one crashed. {ONE_BY_ONE}; \
                 `--in-process` runs without a worker, for a debugger"
            ),
            false => {
                "The fault is in the FMU: `--in-process` runs it under a debugger; its messages are shown by \
                      `-v`"
                    .to_owned()
            }
        };
        let failure = Failure { cure: Some(cure), status: Some(how), ..who.blame(Failure::new(message)) };
        Error::Crash(Box::new(failure))
    }
}
