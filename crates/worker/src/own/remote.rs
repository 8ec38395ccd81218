//! A subsystem on another host, from the side of the run: `ssh` is started, and what comes through it is read by a thread.

use super::copies::Parcel;
use super::frames::{self, GREETING, Kind, MARK};
use super::link::Link;
use super::messages;
use super::wire::{Garbled, Reader};
use powerbond::core::subsystem::{Loss, Lost};
use powerbond::fmi::trace::{Image, Mirror, Slot};
use powerbond::system::{Job, NotMade, Remote};
use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The argument with which this program passes messages on.
pub(crate) const VERB: &str = "relay";
/// Until a host must have greeted: connecting and starting take their time.
const CONNECTING: Duration = Duration::from_secs(30);
/// What may stand before the greeting, in bytes.
const NOISE: usize = 1 << 16;
/// Between two looks while a host is at work.
const TICK: Duration = Duration::from_millis(50);
/// After the last message everything has ended in this time, or is killed.
const GRACE: Duration = Duration::from_secs(1);
/// Messages that wait to be written: large FMUs go through it in parts.
const QUEUE: usize = 64;
/// Lines of stderr that are told, and their bytes.
const LINES: usize = 8;
const LINE: usize = 400;

/// A host.
pub(crate) struct Host {
    name: String,
    heartbeat: Duration,
    process: Child,
    /// To the thread that writes: a pipe that nobody empties must not stop the run.
    out: SyncSender<Vec<u8>>,
    inbox: Arc<Inbox>,
    mirror: Mirror,
    is_gone: bool,
}

#[derive(Default)]
struct Inbox {
    heard: Mutex<Heard>,
    changed: Condvar,
}

#[derive(Default)]
struct Heard {
    messages: VecDeque<(Kind, Vec<u8>)>,
    /// When something came last; none before the greeting.
    last: Option<Instant>,
    /// The call that is under way there.
    call: Option<Image>,
    /// Why nothing will come any more.
    end: Option<Silence>,
    /// What was said on stderr last.
    said: VecDeque<String>,
    /// Nothing more will be said there.
    is_quiet: bool,
}

#[derive(Clone, Debug)]
enum Silence {
    /// The connection was closed.
    Closed,
    /// What came is no message.
    Garbage(String),
    /// Another version.
    Version(String),
}

impl Inbox {
    fn lock(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Heard)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }
}

impl Host {
    /// Reaches `host` and copies the FMU of `job` there, if it is not there yet; the job with the path of the copy.
    pub fn reach(host: &str, remote: &Remote, job: &Job, subsystem: &str) -> Result<(Self, Job), NotMade> {
        let mut reached = Host::connect(host, remote, subsystem)?;
        let mut job = job.clone();
        if let Job::Fmu { path, .. } = &mut job {
            *path = reached.copy(path)?;
        }
        Ok((reached, job))
    }

    fn connect(host: &str, remote: &Remote, subsystem: &str) -> Result<Self, NotMade> {
        let [program, arguments @ ..] = remote.command.as_slice() else {
            return Err(NotMade::Unable("`command` in `[remote]` is empty".to_owned()));
        };
        let mut command = Command::new(program);
        command.args(arguments).arg(host).arg(&remote.program).arg(VERB).arg(remote.heartbeat.to_string());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let cannot = |error: io::Error| {
            let how = "see `command` in `[remote]`";
            NotMade::Unable(format!("cannot start `{program}` to reach {host}: {error}; {how}"))
        };
        let mut process = command.spawn().map_err(cannot)?;
        let inbox: Arc<Inbox> = Arc::default();
        let (out, outgoing) = sync_channel::<Vec<u8>>(QUEUE);
        let pipes = (process.stdin.take(), process.stdout.take(), process.stderr.take());
        let (Some(mut stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(cannot(io::ErrorKind::BrokenPipe.into()));
        };
        let write = move || {
            for frame in outgoing {
                if stdin.write_all(&frame).and_then(|()| stdin.flush()).is_err() {
                    return;
                }
            }
        };
        let (to, back) = (inbox.clone(), out.clone());
        let read = move || listen(BufReader::new(stdout), &to, &back);
        let to = inbox.clone();
        let note = move || note(BufReader::new(stderr), &to);
        let thread = |name: &str, work: Box<dyn FnOnce() + Send>| {
            std::thread::Builder::new().name(name.to_owned()).spawn(work).map(drop)
        };
        let started = thread("to host", Box::new(write))
            .and_then(|()| thread("from host", Box::new(read)))
            .and_then(|()| thread("host says", Box::new(note)));
        let heartbeat = Duration::try_from_secs_f64(remote.heartbeat).unwrap_or(CONNECTING);
        let mirror = Mirror::new(subsystem);
        let mut found =
            Host { name: host.to_owned(), heartbeat, process, out, inbox, mirror, is_gone: false };
        started.map_err(cannot)?;
        found.greet(&remote.program)?;
        Ok(found)
    }

    /// Waits for the greeting.
    fn greet(&mut self, program: &str) -> Result<(), NotMade> {
        let begun = Instant::now();
        loop {
            let heard = self.inbox.lock();
            if let Some(end) = heard.end.clone() {
                drop(heard);
                return Err(self.not_reached(&end, program));
            }
            if heard.last.is_some() {
                return Ok(());
            }
            if begun.elapsed() > CONNECTING {
                let how = format!("{} did not answer in {} s", self.name, CONNECTING.as_secs());
                drop(heard);
                return Err(NotMade::Lost(self.unreachable(how)));
            }
            drop(self.inbox.changed.wait_timeout(heard, TICK));
        }
    }

    fn not_reached(&mut self, end: &Silence, program: &str) -> NotMade {
        let host = &self.name;
        match end {
            Silence::Version(other) => NotMade::Unable(format!(
                "{host} has another version of powerbond, {other}; this one is {}",
                version(GREETING)
            )),
            Silence::Closed | Silence::Garbage(_) => {
                let status = self.wait();
                // What shells answer where there is no such program, or it may not be executed.
                if let Some(126 | 127) = status.and_then(|status| status.code()) {
                    let said = self.said();
                    return NotMade::Unable(format!(
                        "{} has no command `{program}`{said}. Set `program` in `[remote]`",
                        self.name
                    ));
                }
                let how = match end {
                    Silence::Garbage(text) => format!("{} answered what is not powerbond: {text}", self.name),
                    _ => format!("{} cannot be reached", self.name),
                };
                NotMade::Lost(self.unreachable(how))
            }
        }
    }

    /// Sends an FMU, unless it is there; its path there.
    fn copy(&mut self, path: &std::path::Path) -> Result<PathBuf, NotMade> {
        let cannot =
            |error: io::Error| NotMade::Refused(format!("it cannot be copied to another host: {error}"));
        let parcel = Parcel::new(path).map_err(cannot)?;
        self.send(Kind::Have, &parcel.question());
        let mut answer = self.wait_for_any().map_err(NotMade::Lost)?;
        if answer.0 == Kind::Missing {
            let host = &self.name;
            tracing::info!(target: "powerbond::run", host, path = %path.display(), "copying an FMU");
            let mut send = |kind: Kind, content: &[u8]| match self.send(kind, content) {
                true => Ok(()),
                false => Err(io::ErrorKind::BrokenPipe.into()),
            };
            match parcel.send(&mut send) {
                Err(error) if error.kind() != io::ErrorKind::BrokenPipe => return Err(cannot(error)),
                // What is wrong with the connection is told by the answer that does not come.
                _ => answer = self.wait_for_any().map_err(NotMade::Lost)?,
            }
        }
        match answer {
            (Kind::Stored, path) => messages::path_of(&path)
                .map_err(|garbled| NotMade::Lost(self.unreachable(format!("{} {garbled}", self.name)))),
            (Kind::Refused, why) => {
                Err(NotMade::Unable(format!("{}: {}", self.name, String::from_utf8_lossy(&why))))
            }
            _ => Err(NotMade::Lost(self.unreachable(format!("{} {Garbled}", self.name)))),
        }
    }

    /// Sends a message as soon as there is room for it; false if the host is gone before. Why, the next answer says.
    fn send(&self, kind: Kind, content: &[u8]) -> bool {
        let mut frame = frames::frame(kind, content);
        loop {
            match self.out.try_send(frame) {
                Ok(()) => return true,
                Err(TrySendError::Disconnected(_)) => return false,
                Err(TrySendError::Full(back)) => frame = back,
            }
            let heard = self.inbox.lock();
            if heard.end.is_some() || heard.last.is_none_or(|last| last.elapsed() > self.heartbeat) {
                return false;
            }
            drop(heard);
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// The next message, while the host is heard.
    fn wait_for_any(&mut self) -> Result<(Kind, Vec<u8>), Lost> {
        let inbox = self.inbox.clone();
        let begun = Instant::now();
        let mut heard = inbox.lock();
        loop {
            if let Some(message) = heard.messages.pop_front() {
                drop(heard);
                self.mirror.show(None);
                return Ok(message);
            }
            let how = match &heard.end {
                Some(Silence::Garbage(text)) => {
                    Some(format!("{} sent what is not a message: {text}", self.name))
                }
                Some(_) => Some(format!("the connection to {} was lost", self.name)),
                None if heard.last.is_none_or(|last| last.elapsed() > self.heartbeat) => Some(format!(
                    "nothing was heard from {} for {} s",
                    self.name,
                    self.heartbeat.as_secs_f64()
                )),
                None => None,
            };
            if let Some(how) = how {
                let call = heard.call;
                drop(heard);
                return Err(self.lost(how, call.as_ref()));
            }
            // A call is seen as one of this process, and deadlines hold for it.
            if begun.elapsed() > TICK {
                self.mirror.show(heard.call.as_ref());
            }
            heard = match inbox.changed.wait_timeout(heard, TICK) {
                Ok((heard, _)) => heard,
                Err(poisoned) => poisoned.into_inner().0,
            };
        }
    }

    fn unreachable(&mut self, how: String) -> Lost {
        self.lost(how, None)
    }

    /// Ends the connection, and says why.
    fn lost(&mut self, how: String, call: Option<&Image>) -> Lost {
        self.mirror.show(None);
        let _ = self.wait();
        let said = self.said();
        self.kill();
        let seen = call.and_then(|image| Slot::of(image).under_way());
        let time = seen.as_ref().and_then(|call| call.time);
        let call = seen.map(|call| call.call.to_owned());
        let how = match call {
            Some(_) => format!("was under way when {how}{said}"),
            None => format!("{how}{said}"),
        };
        unreachable(how, call, time)
    }

    /// What was said on stderr, as an addition to a message: empty or `: …`.
    fn said(&self) -> String {
        let is_speaking = |heard: &mut Heard| heard.end.is_some() && !heard.is_quiet;
        let waited = self.inbox.changed.wait_timeout_while(self.inbox.lock(), GRACE / 4, is_speaking);
        let heard = waited.map_or_else(|poisoned| poisoned.into_inner().0, |(heard, _)| heard);
        let lines: Vec<&str> = heard.said.iter().map(String::as_str).collect();
        if lines.is_empty() { String::new() } else { format!(": {}", lines.join(" | ")) }
    }

    /// Waits a moment for the end of the connection that is closed.
    fn wait(&mut self) -> Option<std::process::ExitStatus> {
        let begun = Instant::now();
        let is_closed = self.inbox.lock().end.is_some();
        while is_closed && begun.elapsed() < GRACE / 2 {
            if let Ok(Some(status)) = self.process.try_wait() {
                return Some(status);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        None
    }
}

impl Link for Host {
    fn exchange(&mut self, request: &[u8], answer: &mut Vec<u8>) -> Result<(), Lost> {
        self.send(Kind::Ask, request);
        match self.wait_for_any()? {
            (Kind::Answer, content) => {
                *answer = content;
                Ok(())
            }
            (Kind::Lost, content) => Err(match messages::read_lost(&mut Reader::new(&content)) {
                Ok(lost) => lost,
                Err(garbled) => self.unreachable(format!("{} {garbled}", self.name)),
            }),
            (Kind::Refused, why) => {
                let how = format!("{}: {}", self.name, String::from_utf8_lossy(&why));
                Err(self.unreachable(how))
            }
            _ => Err(self.unreachable(format!("{} {Garbled}", self.name))),
        }
    }

    fn close(&mut self) -> Result<(), Lost> {
        self.send(Kind::Close, &[]);
        let closed = match self.wait_for_any()? {
            (Kind::Lost, content) => Err(messages::read_lost(&mut Reader::new(&content))
                .unwrap_or_else(|garbled| self.garbled(garbled))),
            _ => Ok(()),
        };
        self.kill();
        closed
    }

    fn end(&mut self, _quit: &[u8]) {
        // The relay ends with its stdin, and the process of the subsystem with the relay.
        self.kill();
    }

    fn kill(&mut self) {
        if !std::mem::replace(&mut self.is_gone, true) {
            crate::os::kill_group(self.process.id());
            let _ = self.process.kill();
            let _ = self.process.wait();
        }
    }

    fn garbled(&self, garbled: Garbled) -> Lost {
        unreachable(format!("{} {garbled}", self.name), None, None)
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.kill();
    }
}

fn version(greeting: &[u8]) -> String {
    let text = greeting.strip_prefix(MARK).unwrap_or(greeting);
    String::from_utf8_lossy(text).trim().to_owned()
}

/// Reads what a host sends until that ends. Beats are answered, so that the host knows that somebody is here.
fn listen(mut from: impl BufRead, inbox: &Inbox, out: &SyncSender<Vec<u8>>) {
    let end = match greeting(&mut from) {
        Ok(()) => loop {
            inbox.change(|heard| heard.last = Some(Instant::now()));
            match frames::receive(&mut from) {
                Ok((Kind::Beat, image)) => {
                    inbox.change(|heard| heard.call = image.try_into().ok());
                    // Where there is no room, other messages show it.
                    let _ = out.try_send(frames::frame(Kind::Beat, &[]));
                }
                Ok(message) => inbox.change(|heard| heard.messages.push_back(message)),
                Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                    break Silence::Garbage(error.to_string());
                }
                Err(_) => break Silence::Closed,
            }
        },
        Err(end) => end,
    };
    inbox.change(|heard| heard.end = Some(end));
}

/// Reads up to the end of the greeting; a shell may print something before it.
fn greeting(from: &mut impl BufRead) -> Result<(), Silence> {
    let mut seen = Vec::new();
    let mut byte = [0];
    loop {
        if from.read_exact(&mut byte).is_err() {
            return Err(match seen.is_empty() {
                true => Silence::Closed,
                false => Silence::Garbage(shown(&seen)),
            });
        }
        seen.push(byte[0]);
        if byte[0] == b'\n' && seen.ends_with(GREETING) {
            return Ok(());
        }
        let line = if byte[0] == b'\n' { seen.as_slice() } else { &[] };
        if let Some(begin) = line.windows(MARK.len()).rposition(|part| part == MARK) {
            return Err(Silence::Version(version(&line[begin..])));
        }
        if seen.len() > NOISE {
            return Err(Silence::Garbage(shown(&seen)));
        }
    }
}

/// The beginning of what is not a message, for people.
fn shown(bytes: &[u8]) -> String {
    let text: String = String::from_utf8_lossy(bytes).chars().take(80).collect();
    format!("\"{}\"", powerbond::fmi::printable(text.trim_end()))
}

/// Whatever an FMU said there is lost with the host.
fn unreachable(how: String, call: Option<String>, time: Option<f64>) -> Lost {
    Lost { loss: Loss::Unreachable, call, time, how, said: String::new(), log: Vec::new() }
}

/// Keeps the last lines of stderr.
fn note(mut from: impl BufRead, inbox: &Inbox) {
    let mut line = Vec::new();
    while let Ok(1..) = (&mut from).take(LINE as u64).read_until(b'\n', &mut line) {
        let text = powerbond::fmi::printable(String::from_utf8_lossy(&line).trim());
        if !text.is_empty() {
            tracing::warn!(target: "powerbond::run", "{text}");
            inbox.change(|heard| {
                heard.said.push_back(text);
                if heard.said.len() > LINES {
                    heard.said.pop_front();
                }
            });
        }
        line.clear();
    }
    inbox.change(|heard| heard.is_quiet = true);
}
