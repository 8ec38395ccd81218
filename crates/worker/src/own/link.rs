//! The process of a subsystem, from the side that started it.

use super::VERB;
use super::mailbox::{End, Mailbox, Spin};
use super::wire::Garbled;
use crate::blame::how;
use crate::program::this_program;
use crate::words::{Words, is_its_own, last_of};
use crate::{os, worker};
use powerbond::core::subsystem::{Loss, Lost};
use powerbond::fmi::printed::PRINTED;
use powerbond::fmi::trace::{Image, Mirror, Slot, UnderWay};
use std::io;
use std::path::PathBuf;
use std::process::{self, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Where a subsystem finds its mailbox: `<descriptor>:<id of the process that started it>`.
pub(crate) const VARIABLE: &str = "POWERBOND_MAILBOX";
/// A process that is not needed any more ends in this time, or is killed.
const GRACE: Duration = Duration::from_secs(1);
/// Looks at a silent process until it is asked whether it is stopped.
const LOOKS: u32 = 5;

/// The way to a subsystem that runs elsewhere.
pub(crate) trait Link: Send {
    /// Sends `request` and waits for the answer, which takes the place of what is in `answer`.
    fn exchange(&mut self, request: &[u8], answer: &mut Vec<u8>) -> Result<(), Lost>;

    /// The last answer has come: waits until everything there has ended.
    fn close(&mut self) -> Result<(), Lost>;

    /// Ends it: `quit` asks it to, and it gets a moment to free what it has.
    fn end(&mut self, quit: &[u8]);

    /// Ends it at once.
    fn kill(&mut self);

    /// What to say of an answer that is not understood.
    fn garbled(&self, garbled: Garbled) -> Lost;
}

/// The program that runs a subsystem.
#[derive(Clone, Debug, Default)]
pub enum Program {
    /// The one that runs now.
    #[default]
    This,
    /// The command `powerbond`, or another program that serves subsystems.
    At(PathBuf),
}

impl Program {
    /// To start it.
    pub(crate) fn command(&self) -> Command {
        match self {
            Program::This => this_program(),
            Program::At(path) => Command::new(path),
        }
    }
}

/// A process of this machine.
pub(crate) struct Child {
    process: process::Child,
    mailbox: Arc<os::Mapping<Mailbox>>,
    words: Words,
    spin: Spin,
    watch: Watch,
}

/// What a process is doing, for another thread.
pub(crate) struct Seen(Arc<os::Mapping<Mailbox>>);

impl Seen {
    /// The call that is under way there.
    pub fn under_way(&self) -> Option<Image> {
        under_way(&self.0)
    }
}

/// Looks after a process while it is at work.
struct Watch {
    mirror: Mirror,
    /// It shows something.
    is_shown: bool,
    looks: u32,
    /// It was killed, or has ended and was waited for.
    is_gone: bool,
}

impl Child {
    /// Starts `program` for the subsystem called `name`.
    pub fn start(program: &Program, name: &str) -> io::Result<Self> {
        let (fd, mailbox) = os::create::<Mailbox>()?;
        let mut command = program.command();
        let (words, stdout) = Words::new()?;
        command.arg(VERB).stdin(Stdio::null()).stdout(stdout);
        command.env(VARIABLE, format!("{}:{}", os::number(&fd), process::id())).env_remove(worker::VARIABLE);
        // Signals of the terminal are for the process that started it, and what an FMU starts ends with it.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let process = spawn(command)?;
        drop(fd);
        let watch = Watch { mirror: Mirror::new(name), is_shown: false, looks: 0, is_gone: false };
        Ok(Child { process, mailbox: Arc::new(mailbox), words, spin: Spin::new(), watch })
    }

    /// For a look at it from another thread.
    pub fn seen(&self) -> Seen {
        Seen(self.mailbox.clone())
    }

    /// Waits until it has ended, but no longer than `limit`.
    fn wait(&mut self, limit: Duration) -> Option<ExitStatus> {
        let begun = Instant::now();
        loop {
            if let Ok(Some(status)) = self.process.try_wait() {
                self.watch.is_gone = true;
                return Some(status);
            }
            if begun.elapsed() > limit {
                return None;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

fn under_way(mailbox: &Mailbox) -> Option<Image> {
    mailbox.slots().iter().find(|slot| slot.under_way().is_some()).map(Slot::image)
}

impl Watch {
    /// Whether the process still works.
    fn look(&mut self, process: &mut process::Child, mailbox: &Mailbox, words: &Words) -> Result<(), Lost> {
        if let Ok(Some(status)) = process.try_wait() {
            self.is_gone = true;
            words.rest().iter().for_each(|line| mailbox.log().add(line));
            return Err(lost(mailbox, Loss::Crashed, how(status)));
        }
        self.looks += 1;
        if self.looks.is_multiple_of(LOOKS) && os::is_stopped(process.id()) {
            let how = "was stopped by a signal and does not continue".to_owned();
            return Err(lost(mailbox, Loss::Stopped, how));
        }
        if !mailbox.is_intact() {
            let how = "overwrote the memory through which it talks to the run".to_owned();
            return Err(lost(mailbox, Loss::Crashed, how));
        }
        // From now on a supervisor sees the call as one of this process, and deadlines hold for it.
        self.mirror.show(under_way(mailbox).as_ref());
        self.is_shown = true;
        Ok(())
    }

    fn rest(&mut self) {
        self.looks = 0;
        if std::mem::take(&mut self.is_shown) {
            self.mirror.show(None);
        }
    }
}

/// What to say of a process that is gone.
fn lost(mailbox: &Mailbox, loss: Loss, how: String) -> Lost {
    let seen = under_way(mailbox).and_then(|image| Slot::of(&image).under_way());
    if let Some(UnderWay { instance, call, .. }) = seen.as_ref().filter(|call| call.is_of_scratch) {
        worker::lost_a_scratch_instance(&format!(
            "`{instance}`: `{call}` of a scratch instance {how} before the run"
        ));
    }
    let time = seen.as_ref().and_then(|call| call.time);
    let (call, how) = match seen {
        Some(seen) => (Some(seen.call.to_owned()), how),
        None => (None, format!("its process, outside of any call of an FMU, {how}")),
    };
    let (lines, mut log) = match mailbox.is_intact() {
        true => (mailbox.log().lines(), mailbox.log().untold()),
        false => Default::default(),
    };
    // What is printed is told of at the end only.
    let printed = |line: &String| line.starts_with(PRINTED);
    log.retain(|line| !printed(line));
    log.extend(lines.iter().filter(|line| printed(line)).cloned());
    let its: Vec<&str> = lines.iter().map(String::as_str).filter(|line| is_its_own(line)).collect();
    let said = last_of(&its).unwrap_or_default();
    Lost { loss, call, time, how, said, log }
}

impl Link for Child {
    fn exchange(&mut self, request: &[u8], answer: &mut Vec<u8>) -> Result<(), Lost> {
        let Child { process, mailbox, words, spin, watch } = self;
        let mut look = || watch.look(process, mailbox, words);
        let sent = mailbox.send(End::Parent, request, spin, &mut look);
        let done = sent.and_then(|()| mailbox.receive(End::Parent, answer, spin, &mut look));
        watch.rest();
        done
    }

    fn close(&mut self) -> Result<(), Lost> {
        match self.wait(GRACE) {
            Some(status) if status.success() => Ok(()),
            Some(status) => Err(lost(&self.mailbox, Loss::Crashed, how(status))),
            // Threads of an FMU may go on for ever; results do not depend on them.
            None => {
                self.kill();
                Ok(())
            }
        }
    }

    fn end(&mut self, quit: &[u8]) {
        let Child { process, mailbox, words, spin, watch } = self;
        let begun = Instant::now();
        let mut patience = || match begun.elapsed() < GRACE {
            true => watch.look(process, mailbox, words).map_err(drop),
            false => Err(()),
        };
        let asked = mailbox.send(End::Parent, quit, spin, &mut patience);
        let answered =
            asked.and_then(|()| mailbox.receive(End::Parent, &mut Vec::new(), spin, &mut patience));
        if answered.is_ok() {
            let _ = self.wait(GRACE);
        }
        self.kill();
    }

    fn kill(&mut self) {
        self.watch.rest();
        if !std::mem::replace(&mut self.watch.is_gone, true) {
            // What an FMU started goes, too; its number is free once it has been waited for.
            os::kill_group(self.process.id());
            let _ = self.process.kill();
            let _ = self.process.wait();
        }
    }

    fn garbled(&self, garbled: Garbled) -> Lost {
        lost(&self.mailbox, Loss::Crashed, garbled.to_string())
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.kill();
    }
}

type Order = (Command, Sender<io::Result<process::Child>>);

/// Starts a process from a thread that lives as long as this process: with the thread that starts it a process is told that its parent
/// has died. A copy of this process, made by `fork`, has a thread of its own.
pub(crate) fn spawn(command: Command) -> io::Result<process::Child> {
    static SPAWNER: Mutex<Option<(u32, Sender<Order>)>> = Mutex::new(None);
    let gone = || io::Error::other("the thread that starts processes is gone");
    let mut spawner = SPAWNER.lock().unwrap_or_else(PoisonError::into_inner);
    let (_, orders) = match spawner.take().filter(|(owner, _)| *owner == process::id()) {
        Some(known) => spawner.insert(known),
        None => {
            let (sender, orders) = channel::<Order>();
            let work = move || {
                for (mut command, answer) in orders {
                    let _ = answer.send(command.spawn());
                }
            };
            std::thread::Builder::new().name("spawner".to_owned()).spawn(work)?;
            spawner.insert((process::id(), sender))
        }
    };
    let (sender, answer) = channel();
    orders.send((command, sender)).map_err(|_| gone())?;
    drop(spawner);
    answer.recv().map_err(|_| gone())?
}
