//! The side that asks: a process for runs, started when it is needed and replaced when it is gone.

use super::{Ask, Checked, Head, Say, Told, VARIABLE, VERB};
use crate::black_box::{BlackBox, Layout};
use crate::own::{End, Mailbox, Program, Spin, spawn};
use crate::supervisor::{Killed, Limits, Listener, Silent, Watch, damage};
use crate::{os, worker};
use powerbond::core::observe::Flow;
use powerbond::table::Table;
use powerbond::{Error, Failure, Question, Task};
use std::cell::Cell;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::process::{self, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A process that is not needed any more ends in this time, or is killed.
const GRACE: Duration = Duration::from_secs(1);
/// Between two looks at a process that sends row after row.
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

/// Does runs in another process, one after the other. The process is started with the first one.
///
/// ```no_run
/// use powerbond::{Described, RunOptions, Task};
/// use powerbond_worker::{Limits, Program, Runner};
///
/// let mut runner = Runner::new(Program::At("powerbond".into()));
/// for mass in [40.0, 45.0] {
///     let options = RunOptions { set: vec![format!("wheel.mass={mass}")], ..RunOptions::default() };
///     let task = Task { system: Described::Path("system.toml".into()), options };
///     let ended = runner.run(&task, Limits::default(), None, &mut powerbond_worker::Silent)?;
///     println!("{} rows", ended.tables.results.rows);
/// }
/// # Ok::<(), powerbond::Error>(())
/// ```
pub struct Runner {
    program: Program,
    process: Option<Process>,
}

/// Sees the rows of a run while it goes on.
pub trait RowListener {
    /// The names of the columns, once, before the first row.
    fn columns(&mut self, names: Vec<String>);
    /// A row; whether to go on.
    fn row(&mut self, values: &[f64]) -> Flow;
}

/// A run that came to an end, also one that failed on the way.
#[derive(Debug)]
pub struct Ended {
    /// As in `summary.json`.
    pub summary: String,
    /// Why it failed, if it did.
    pub error: Option<Error>,
    /// Limits of accuracy that were exceeded, in words.
    pub exceeded: Vec<String>,
    /// What it recorded.
    pub tables: Tables,
}

/// The tables of a run: their columns follow one another in a file, those of `results` first, as doubles of this machine.
#[derive(Debug)]
pub struct Tables {
    /// Recorded variables.
    pub results: Head,
    /// Powers, residuals, step sizes and error norms.
    pub energy: Head,
    /// The numbers, in memory; none if there are no rows.
    pub file: Option<File>,
}

impl Tables {
    /// The recorded variables, copied from where they are.
    pub fn read_results(&mut self) -> io::Result<Table> {
        let Head { names, units, rows } = self.results.clone();
        let mut columns = Vec::new();
        if let Some(file) = &mut self.file {
            file.seek(SeekFrom::Start(0))?;
            let mut bytes = vec![0; 8 * rows];
            for _ in &names {
                file.read_exact(&mut bytes)?;
                let numbers = bytes.chunks_exact(8).map(|eight| {
                    f64::from_ne_bytes([
                        eight[0], eight[1], eight[2], eight[3], eight[4], eight[5], eight[6], eight[7],
                    ])
                });
                columns.push(numbers.collect());
            }
        } else {
            columns.resize(names.len(), Vec::new());
        }
        Ok(Table { header: names, units, columns, ..Table::default() })
    }
}

/// There is no process.
fn begin(e: io::Error) -> Error {
    Error::Crash(Box::new(Failure::new(format!("cannot start a process for the run: {e}"))))
}

struct Process {
    child: process::Child,
    mailbox: os::Mapping<Mailbox>,
    memory: Option<Memory>,
    spin: Spin,
    bytes: Vec<u8>,
    /// It makes no scratch instances, since one of them ended the process before it: for this task only.
    is_for_one: bool,
    /// The columns of the task were told.
    has_told: bool,
}

/// What came of a task.
enum Attempt {
    Said(Process, Say),
    /// A scratch instance ended the process before the run: how.
    Tried(String),
}

/// Why there is no answer.
enum Gone {
    Ended(ExitStatus),
    Killed(Killed),
    Garbled,
}

/// A black box that is used again when its worker is dead: it is mapped for ever.
struct Memory {
    descriptor: os::Descriptor,
    black_box: BlackBox,
    /// The process that mapped it; a copy of that, made by `fork`, has not.
    owner: u32,
}

static UNUSED: Mutex<Vec<Memory>> = Mutex::new(Vec::new());

impl Memory {
    fn take() -> io::Result<Self> {
        let mut unused = UNUSED.lock().unwrap_or_else(PoisonError::into_inner);
        unused.retain(|memory| memory.owner == process::id());
        match unused.pop() {
            Some(memory) => {
                os::pass_on(&memory.descriptor, true)?;
                Ok(memory)
            }
            None => {
                let (descriptor, layout) = os::create::<Layout>()?;
                Ok(Memory { descriptor, black_box: BlackBox(layout.keep()), owner: process::id() })
            }
        }
    }

    /// Its worker is dead.
    fn free(self) {
        if os::clear::<Layout>(&self.descriptor).is_ok() {
            UNUSED.lock().unwrap_or_else(PoisonError::into_inner).push(self);
        }
    }
}

impl Runner {
    /// One that starts `program` when there is something to do: its `main` calls [`serve`](crate::serve).
    pub fn new(program: Program) -> Self {
        Runner { program, process: None }
    }

    /// The memory of its process, in bytes; none if there is no process, or this system does not tell.
    pub fn memory(&self) -> Option<u64> {
        os::memory(self.process.as_ref()?.child.id())
    }

    /// Does a task, and waits for it. Rows are shown to `rows` while it goes on. A signal that `listener` has stops the run where it
    /// is; the summary then says `stopped`.
    ///
    /// An error means that the run did not begin, that it was killed, or that its process died.
    pub fn run(
        &mut self,
        task: &Task,
        limits: Limits,
        rows: Option<&mut dyn RowListener>,
        listener: &mut dyn Listener,
    ) -> Result<Ended, Error> {
        let folder = std::env::current_dir().map_err(begin)?;
        let ask = Ask::Run { task: Box::new(task.clone()), folder, rows: rows.is_some() };
        let (mut process, said) = self.say(&ask, limits, rows, listener)?;
        let Say::Ended(told) = said else { return Err(process.garbled()) };
        let is_last = told.is_last;
        let ended = process.ended(*told).map_err(|e| Error::output("memory for results".as_ref(), &e));
        self.keep(process, is_last);
        ended
    }

    /// Makes everything that a run needs, FMUs too, and does not run it: what is wrong with it is the error.
    pub fn check(&mut self, task: &Task, limits: Limits) -> Result<Checked, Error> {
        let folder = std::env::current_dir().map_err(begin)?;
        let ask = Ask::Check { task: Box::new(task.clone()), folder };
        let (mut process, said) = self.say(&ask, limits, None, &mut Silent)?;
        let Say::Checked(checked, is_last) = said else { return Err(process.garbled()) };
        self.keep(process, is_last);
        Ok(checked)
    }

    /// Asks something about the system of a task; nothing if a signal that `listener` has stopped it.
    pub fn ask(
        &mut self,
        task: &Task,
        question: &Question,
        limits: Limits,
        listener: &mut dyn Listener,
    ) -> Result<Option<String>, Error> {
        let folder = std::env::current_dir().map_err(begin)?;
        let ask = Ask::Answer { task: Box::new(task.clone()), question: question.clone(), folder };
        let (mut process, said) = self.say(&ask, limits, None, listener)?;
        let Say::Answered(answer, is_last) = said else { return Err(process.garbled()) };
        self.keep(process, is_last);
        Ok(answer)
    }

    /// For the next task, unless this was its last.
    fn keep(&mut self, process: Process, is_last: bool) {
        self.process = Some(process).filter(|process| !is_last && !process.is_for_one);
    }

    /// Has something done; the process, which lives on, and what it said. Where a scratch instance of an FMU ends the process before the
    /// run, another one makes the run without any.
    fn say(
        &mut self,
        ask: &Ask,
        limits: Limits,
        mut rows: Option<&mut dyn RowListener>,
        listener: &mut dyn Listener,
    ) -> Result<(Process, Say), Error> {
        let begun = Instant::now();
        let process = match self.process.take() {
            Some(process) => process,
            None => Process::start(&self.program, None).map_err(begin)?,
        };
        let first = match &mut rows {
            Some(rows) => self.attempt(process, ask, limits, Some(&mut **rows), listener)?,
            None => self.attempt(process, ask, limits, None, listener)?,
        };
        let why = match first {
            Attempt::Said(process, said) => return Ok((process, said)),
            Attempt::Tried(why) => why,
        };
        let process = Process::start(&self.program, Some(&why)).map_err(begin)?;
        let run = limits.run.map(|limit| limit.saturating_sub(begun.elapsed()));
        match self.attempt(process, ask, Limits { run, ..limits }, rows, listener)? {
            Attempt::Said(process, said) => Ok((process, said)),
            Attempt::Tried(how) => Err(Error::Crash(Box::new(Failure::new(how)))),
        }
    }

    fn attempt(
        &mut self,
        mut process: Process,
        ask: &Ask,
        limits: Limits,
        rows: Option<&mut dyn RowListener>,
        listener: &mut dyn Listener,
    ) -> Result<Attempt, Error> {
        let black_box = process.memory.as_ref().map(|memory| memory.black_box);
        let Some(black_box) = black_box else { return Err(begin(io::ErrorKind::BrokenPipe.into())) };
        black_box.renew();
        black_box.seal();
        black_box.set_retries();
        process.has_told = false;
        let mut watch = Watch::new(black_box, limits);
        let worked = process.work(ask, black_box, rows, &mut watch, listener);
        if !black_box.is_intact() {
            process.kill();
            powerbond::fmi::sweep_stale();
            return Err(damage());
        }
        match worked {
            Ok(Say::Failed(error)) => {
                self.keep(process, false);
                Err(error)
            }
            Ok(Say::Ended(mut told)) => {
                told.error = told.error.or_else(|| watch.time_is_up());
                Ok(Attempt::Said(process, Say::Ended(told)))
            }
            Ok(said) => Ok(Attempt::Said(process, said)),
            Err(Gone::Garbled) => Err(process.garbled()),
            Err(Gone::Ended(status)) => {
                os::kill_group(process.child.id());
                powerbond::fmi::sweep_stale();
                match watch.tried(Ok(status)).filter(|_| !process.has_told) {
                    Some(why) => Ok(Attempt::Tried(why)),
                    None => Err(watch.crash(status)),
                }
            }
            Err(Gone::Killed(killed)) => {
                process.kill();
                powerbond::fmi::sweep_stale();
                if let Some(why) = watch.tried(Err(&killed)).filter(|_| !process.has_told) {
                    return Ok(Attempt::Tried(why));
                }
                Err(match killed {
                    Killed::Hung(failure) => Error::Deadline(failure),
                    Killed::TooLarge(failure) => Error::Crash(failure),
                    Killed::Signal(_) => Error::Deadline(Box::new(Failure::new(
                        "the run was stopped, and a call of an FMU did not return in time",
                    ))),
                })
            }
        }
    }
}

impl Process {
    /// Without scratch instances if there is a reason.
    fn start(program: &Program, without: Option<&str>) -> io::Result<Self> {
        let (mailbox_fd, mailbox) = os::create::<Mailbox>()?;
        let memory = Memory::take()?;
        let mut command = program.command();
        command.arg(VERB).stdin(Stdio::null()).stdout(Stdio::null());
        let id = process::id();
        command.env(VARIABLE, format!("{}:{id}", os::number(&mailbox_fd)));
        command.env(worker::VARIABLE, format!("{}:{id}", os::number(&memory.descriptor)));
        if let Some(why) = without {
            command.env(worker::NO_SCRATCH, why);
        }
        // Signals of the terminal are for the process that started it, and what an FMU starts ends with it.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let child = spawn(command)?;
        drop(mailbox_fd);
        os::pass_on(&memory.descriptor, false)?;
        Ok(Process {
            child,
            mailbox,
            memory: Some(memory),
            spin: Spin::new(),
            bytes: Vec::new(),
            is_for_one: without.is_some(),
            has_told: false,
        })
    }

    /// Sends a task and waits until it is done.
    fn work(
        &mut self,
        ask: &Ask,
        black_box: BlackBox,
        mut rows: Option<&mut dyn RowListener>,
        watch: &mut Watch,
        listener: &mut dyn Listener,
    ) -> Result<Say, Gone> {
        let Process { child, mailbox, spin, bytes, has_told, .. } = self;
        let id = child.id();
        // How long whoever sees rows had the process wait.
        let waited = Cell::new(Duration::ZERO);
        let mut tick = || {
            watch.excuse(waited.take());
            if let Ok(Some(status)) = child.try_wait() {
                return Err(Gone::Ended(status));
            }
            if let Some(progress) = black_box.progress() {
                listener.progress(&progress);
            }
            watch.look(id, listener).map_or(Ok(()), |killed| Err(Gone::Killed(killed)))
        };
        let send = |ask: &Ask, spin: &mut Spin, tick: &mut dyn FnMut() -> Result<(), Gone>| {
            let message = postcard::to_stdvec(ask).map_err(|_| Gone::Garbled)?;
            mailbox.send(End::Parent, &message, spin, tick)
        };
        send(ask, spin, &mut tick)?;
        let mut looked = Instant::now();
        loop {
            mailbox.receive(End::Parent, bytes, spin, &mut tick)?;
            match (postcard::from_bytes(bytes).map_err(|_| Gone::Garbled)?, &mut rows) {
                (Say::Columns(names), Some(rows)) => {
                    *has_told = true;
                    rows.columns(names);
                }
                (Say::Row(values), Some(rows)) => {
                    let begun = Instant::now();
                    let goes_on = rows.row(&values) == Flow::Continue;
                    waited.set(waited.get() + begun.elapsed());
                    // Where row follows row nobody waits, which is when others look.
                    if looked.elapsed() >= BETWEEN_LOOKS {
                        tick()?;
                        looked = Instant::now();
                    }
                    send(&Ask::GoOn(goes_on), spin, &mut tick)?;
                }
                (said, _) => return Ok(said),
            }
        }
    }

    fn ended(&self, told: Told) -> io::Result<Ended> {
        let open = |number| os::open_of(self.child.id(), number);
        let file = told.descriptor.map(open).transpose()?;
        let mut heads = told.tables.into_iter();
        let tables = Tables {
            results: heads.next().unwrap_or_default(),
            energy: heads.next().unwrap_or_default(),
            file,
        };
        Ok(Ended { summary: told.summary, error: told.error, exceeded: told.exceeded, tables })
    }

    /// It cannot be used any more.
    fn garbled(&mut self) -> Error {
        self.kill();
        let failure = Failure::new("the process of the run sent something that is not understood");
        Error::Crash(Box::new(failure))
    }

    fn kill(&mut self) {
        os::kill_group(self.child.id());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The process gets a moment to free what it has.
impl Drop for Process {
    fn drop(&mut self) {
        self.end();
        if let Some(memory) = self.memory.take() {
            memory.free();
        }
    }
}

impl Process {
    fn end(&mut self) {
        let begun = Instant::now();
        let Process { child, mailbox, spin, .. } = self;
        if !matches!(child.try_wait(), Ok(None)) {
            return;
        }
        let patience = &mut || if begun.elapsed() < GRACE { Ok(()) } else { Err(()) };
        if let Ok(quit) = postcard::to_stdvec(&Ask::Quit)
            && mailbox.send(End::Parent, &quit, spin, patience).is_ok()
        {
            while begun.elapsed() < GRACE && matches!(child.try_wait(), Ok(None)) {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        if matches!(child.try_wait(), Ok(None)) {
            self.kill();
        }
    }
}
