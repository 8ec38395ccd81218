//! The side of another host: passes messages on between stdin and stdout and a process of a subsystem there, and says that it lives.

use super::copies::Copies;
use super::frames::{self, GREETING, Kind};
use super::link::{Child, Link, Program};
use super::messages;
use crate::os;
use powerbond::core::subsystem::Lost;
use std::fs::File;
use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// A relay that heard nothing for so many heartbeats has lost its run, and ends.
const PATIENCE: u32 = 3;
/// Beats in a heartbeat: one or two may be late.
const BEATS: u32 = 4;

/// Serves a run on another host until that has enough, or is gone; the exit code. `heartbeat` is in s.
pub(crate) fn relay(heartbeat: f64) -> u8 {
    let heartbeat = Duration::try_from_secs_f64(heartbeat).unwrap_or(Duration::from_secs(10));
    // What belongs to nobody must not get between messages.
    let out = match powerbond::fmi::printed::divert() {
        Ok(Some(real)) => Arc::new(Mutex::new(real)),
        Ok(None) | Err(_) => return 1,
    };
    // What an FMU starts ends here.
    os::adopt_orphans();
    let heard = Arc::new(Heard { begun: Instant::now(), last: AtomicU64::new(0) });
    let mut relay = Relay { out: out.clone(), child: None, copies: None, seen: Arc::default() };
    if lock(&out).write_all(GREETING).is_err() {
        return 1;
    }
    let seen = relay.seen.clone();
    let beats = move || {
        loop {
            let image = seen.get().and_then(super::link::Seen::under_way);
            if frames::send(&mut *lock(&out), Kind::Beat, image.as_ref().map_or(&[], |i| i)).is_err() {
                powerbond::fmi::process::leave(0);
            }
            std::thread::sleep((heartbeat / BEATS).min(Duration::from_secs(1)));
        }
    };
    let watched = heard.clone();
    let watch = move || {
        loop {
            std::thread::sleep(heartbeat / BEATS);
            if watched.silence() > PATIENCE * heartbeat {
                // The process of the subsystem dies with this one.
                powerbond::fmi::process::leave(9);
            }
        }
    };
    let named = |name: &str| std::thread::Builder::new().name(name.to_owned());
    if named("beats").spawn(beats).is_err() || named("watch").spawn(watch).is_err() {
        return 1;
    }
    match relay.serve(&mut io::stdin().lock(), &heard) {
        Ok(()) => 0,
        Err(_) => 9,
    }
}

fn lock(out: &Mutex<File>) -> std::sync::MutexGuard<'_, File> {
    out.lock().unwrap_or_else(PoisonError::into_inner)
}

/// When something was heard last, in ms.
struct Heard {
    begun: Instant,
    last: AtomicU64,
}

impl Heard {
    fn now(&self) {
        self.last.store(self.begun.elapsed().as_millis() as u64, Ordering::Relaxed);
    }

    fn silence(&self) -> Duration {
        self.begun.elapsed().saturating_sub(Duration::from_millis(self.last.load(Ordering::Relaxed)))
    }
}

struct Relay {
    out: Arc<Mutex<File>>,
    child: Option<Child>,
    copies: Option<Copies>,
    /// What the process of the subsystem is doing.
    seen: Arc<OnceLock<super::link::Seen>>,
}

impl Relay {
    /// Until stdin is closed, or everything has ended.
    fn serve(&mut self, from: &mut impl Read, heard: &Arc<Heard>) -> io::Result<()> {
        // Beats are heard while the subsystem is at work, too.
        let mut answer = Vec::new();
        let (sender, messages) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            let heard = heard.clone();
            scope.spawn(move || {
                while let Ok(message) = messages.recv() {
                    let (kind, content): (Kind, Vec<u8>) = message;
                    if self.take(kind, &content, &mut answer).is_err() || kind == Kind::Close {
                        break;
                    }
                }
                // Reading from stdin cannot be interrupted: the process ends here.
                drop(self.child.take());
                os::end_orphans();
                powerbond::fmi::process::leave(0);
            });
            loop {
                let (kind, content) = frames::receive(from)?;
                heard.now();
                if kind != Kind::Beat && sender.send((kind, content)).is_err() {
                    return Ok(());
                }
            }
        })
    }

    fn send(&self, kind: Kind, content: &[u8]) -> io::Result<()> {
        frames::send(&mut *lock(&self.out), kind, content)
    }

    fn gone(&self, lost: &Lost) -> io::Result<()> {
        let mut content = Vec::new();
        messages::write_lost(&mut content, lost);
        self.send(Kind::Lost, &content)
    }

    fn take(&mut self, kind: Kind, content: &[u8], answer: &mut Vec<u8>) -> io::Result<()> {
        match kind {
            Kind::Have | Kind::File | Kind::Data | Kind::End => {
                let taken = match &mut self.copies {
                    Some(copies) => copies.take(kind, content),
                    None => Copies::new().and_then(|new| self.copies.insert(new).take(kind, content)),
                };
                match taken {
                    Ok(Some((kind, content))) => self.send(kind, &content),
                    Ok(None) => Ok(()),
                    Err(why) => self.send(Kind::Refused, why.as_bytes()),
                }
            }
            Kind::Ask => {
                if self.child.is_none() {
                    match Child::start(&Program::This, "") {
                        Ok(child) => {
                            let _ = self.seen.set(child.seen());
                            self.child = Some(child);
                        }
                        Err(error) => {
                            let why = format!("cannot start a process there: {error}");
                            return self.send(Kind::Refused, why.as_bytes());
                        }
                    }
                }
                let Some(child) = &mut self.child else { return Ok(()) };
                match child.exchange(content, answer) {
                    Ok(()) => self.send(Kind::Answer, answer),
                    Err(lost) => self.gone(&lost),
                }
            }
            Kind::Close => match self.child.as_mut().map_or(Ok(()), Child::close) {
                Ok(()) => self.send(Kind::Closed, &[]),
                Err(lost) => self.gone(&lost),
            },
            _ => Ok(()),
        }
    }
}
