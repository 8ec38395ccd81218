//! Threads that advance the members of a stage side by side. Who advances a member changes no bit of a result.
//!
//! Every member of a stage has its place in a fixed partition and stays on its thread. For a stage the simulators are
//! moved to their threads and back (a swap of pointers), inputs and outputs are copied: no `unsafe`, no allocation. A
//! thread waits in a short loop first, since waking one up costs more than most steps; then it sleeps.

use crate::extrapolation::Held;
use crate::network::{Member, Network, Schedule, Stage};
use crate::subsystem::{
    Advance, Binding, Capabilities, FeedThrough, Info, Inputs, Setup, Span, Subsystem, SubsystemError,
};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{JoinHandle, Thread};

/// How often a thread looks before it sleeps; some tens of microseconds.
const LOOKS: u32 = 2000;

/// In bytes; FMUs are written for the stack of a main thread.
const STACK: usize = 8 << 20;

const IDLE: u8 = 0;
const WORK: u8 = 1;
const QUIT: u8 = 2;

type Outcome = Result<Advance, SubsystemError>;

/// The threads, and what the members of the current stage came to.
pub(crate) struct Workers {
    seats: Vec<Seat>,
    /// Whether each member is advanced by another thread.
    away: Vec<bool>,
    outcomes: Vec<Option<Outcome>>,
}

/// A thread with its work.
struct Seat {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    turn: AtomicU8,
    work: Mutex<Work>,
}

struct Work {
    span: Span,
    /// The first member of the stage: tells stages apart.
    stage: usize,
    jobs: Vec<Job>,
    caller: Thread,
    panic: Option<Box<dyn Any + Send>>,
}

/// A member that is advanced elsewhere.
struct Job {
    member: usize,
    stage: usize,
    /// The simulator during a stage, a stand-in else.
    simulator: Box<dyn Subsystem>,
    value: Vec<f64>,
    slope: Vec<f64>,
    curvature: Vec<f64>,
    y: Vec<f64>,
    outcome: Option<Outcome>,
}

impl Workers {
    /// `threads` of them, the caller included; none where no stage has two members.
    pub fn new(network: &Network, schedule: &Schedule, held: &Held, threads: usize) -> Option<Self> {
        let wide = schedule.stages.iter().filter(|s| s.part == 0 && s.members.len() > 1);
        let most = wide.clone().map(|s| s.members.len()).max()?;
        let threads = threads.min(most);
        if threads < 2 {
            return None;
        }
        let mut away = vec![false; network.members.len()];
        let mut jobs: Vec<Vec<Job>> = (1..threads).map(|_| Vec::new()).collect();
        for stage in wide {
            for (place, &s) in stage.members.iter().enumerate() {
                if let Some(seat) = (place % threads).checked_sub(1) {
                    away[s] = true;
                    jobs[seat].push(Job::new(&network.members[s], s, stage.members[0], held));
                }
            }
        }
        let seats = jobs.into_iter().map(Seat::new).collect();
        Some(Workers { seats, outcomes: away.iter().map(|_| None).collect(), away })
    }

    /// Advances all members of a stage; [`Workers::outcome`] says what each came to.
    pub fn advance(&mut self, members: &mut [Member], stage: &Stage, span: Span, held: &Held, y: &mut [f64]) {
        self.seats.iter().for_each(|seat| seat.begin(members, stage, span, held, y));
        for &s in stage.members.iter().filter(|&&s| !self.away[s]) {
            let member = &mut members[s];
            let outcome = member.simulator.advance(
                span,
                inputs_of(held, &member.inputs),
                &mut y[member.outputs.clone()],
            );
            self.outcomes[s] = Some(outcome);
        }
        // All of them come home before anything else may panic.
        let mut panic = None;
        for seat in &self.seats {
            panic = seat.end(members, stage, y, &mut self.outcomes).or(panic);
        }
        if let Some(payload) = panic {
            resume_unwind(payload);
        }
    }

    /// What a member came to in the stage that was advanced last.
    pub fn outcome(&mut self, member: usize) -> Outcome {
        self.outcomes[member].take().unwrap_or(Err(SubsystemError::Unsupported { call: "advance" }))
    }
}

/// The inputs of one member.
pub(crate) fn inputs_of<'a>(held: &'a Held, range: &std::ops::Range<usize>) -> Inputs<'a> {
    let part = |values: &'a [f64]| values.get(range.clone()).unwrap_or(&[]);
    Inputs { value: &held.value[range.clone()], slope: part(&held.slope), curvature: part(&held.curvature) }
}

impl Job {
    fn new(member: &Member, s: usize, stage: usize, held: &Held) -> Self {
        let n = member.inputs.len();
        let sized = |values: &[f64]| vec![0.0; if values.is_empty() { 0 } else { n }];
        Job {
            member: s,
            stage,
            simulator: Box::new(Away::default()),
            value: vec![0.0; n],
            slope: sized(&held.slope),
            curvature: sized(&held.curvature),
            y: vec![0.0; member.outputs.len()],
            outcome: None,
        }
    }

    fn run(&mut self, span: Span) {
        let inputs = Inputs { value: &self.value, slope: &self.slope, curvature: &self.curvature };
        self.outcome = Some(self.simulator.advance(span, inputs, &mut self.y));
    }
}

impl Seat {
    fn new(jobs: Vec<Job>) -> Self {
        let work =
            Work { span: Span::new(0.0, 0.0), stage: 0, jobs, caller: std::thread::current(), panic: None };
        let shared = Arc::new(Shared { turn: AtomicU8::new(IDLE), work: Mutex::new(work) });
        let own = shared.clone();
        let name = "powerbond worker".to_owned();
        // A thread that cannot be had leaves its work to the caller.
        let builder = std::thread::Builder::new().name(name).stack_size(STACK);
        let thread = builder.spawn(move || own.serve()).ok();
        Seat { shared, thread }
    }

    /// Moves the simulators of a stage here and lets the thread begin.
    fn begin(&self, members: &mut [Member], stage: &Stage, span: Span, held: &Held, y: &[f64]) {
        let mut work = self.shared.work();
        work.span = span;
        work.stage = stage.members[0];
        work.caller = std::thread::current();
        let mut busy = false;
        for job in work.jobs.iter_mut().filter(|job| job.stage == stage.members[0]) {
            let member = &mut members[job.member];
            std::mem::swap(&mut job.simulator, &mut member.simulator);
            let inputs = inputs_of(held, &member.inputs);
            job.value.copy_from_slice(inputs.value);
            job.slope.copy_from_slice(inputs.slope);
            job.curvature.copy_from_slice(inputs.curvature);
            job.y.copy_from_slice(&y[member.outputs.clone()]);
            busy = true;
        }
        drop(work);
        match &self.thread {
            Some(thread) if busy => {
                self.shared.turn.store(WORK, Ordering::Release);
                thread.thread().unpark();
            }
            None if busy => self.shared.run(),
            _ => {}
        }
    }

    /// Waits for the thread and moves everything back.
    fn end(
        &self,
        members: &mut [Member],
        stage: &Stage,
        y: &mut [f64],
        outcomes: &mut [Option<Outcome>],
    ) -> Option<Box<dyn Any + Send>> {
        wait(|| self.shared.turn.load(Ordering::Acquire) != WORK);
        let mut work = self.shared.work();
        for job in work.jobs.iter_mut().filter(|job| job.stage == stage.members[0]) {
            let member = &mut members[job.member];
            std::mem::swap(&mut job.simulator, &mut member.simulator);
            y[member.outputs.clone()].copy_from_slice(&job.y);
            outcomes[job.member] = job.outcome.take();
        }
        work.panic.take()
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.shared.turn.store(QUIT, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // It catches the panics of its work; there is nothing to say about its end.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn work(&self) -> MutexGuard<'_, Work> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The life of a thread.
    fn serve(&self) {
        loop {
            wait(|| self.turn.load(Ordering::Acquire) != IDLE);
            if self.turn.load(Ordering::Acquire) == QUIT {
                return;
            }
            self.run();
            let caller = self.work().caller.clone();
            self.turn.store(IDLE, Ordering::Release);
            caller.unpark();
        }
    }

    fn run(&self) {
        let mut work = self.work();
        let Work { span, stage, jobs, .. } = &mut *work;
        let all = || jobs.iter_mut().filter(|job| job.stage == *stage).for_each(|job| job.run(*span));
        work.panic = catch_unwind(AssertUnwindSafe(all)).err();
    }
}

/// Looks for a while, then sleeps until it is woken up.
fn wait(done: impl Fn() -> bool) {
    for _ in 0..LOOKS {
        if done() {
            return;
        }
        std::hint::spin_loop();
    }
    while !done() {
        std::thread::park();
    }
}

/// Stands in for a simulator that is on its thread.
struct Away {
    info: Info,
}

impl Default for Away {
    fn default() -> Self {
        let info = Info {
            kind: String::new(),
            variables: Vec::new(),
            feed_through: FeedThrough::Unknown,
            capabilities: Capabilities::default(),
        };
        Away { info }
    }
}

impl Subsystem for Away {
    fn info(&self) -> &Info {
        &self.info
    }

    fn bind(&mut self, _: &Binding) -> Result<(), SubsystemError> {
        Err(SubsystemError::Unsupported { call: "bind" })
    }

    fn enter(&mut self, _: &Setup) -> Result<(), SubsystemError> {
        Err(SubsystemError::Unsupported { call: "enter" })
    }

    fn evaluate(&mut self, _: Inputs<'_>, _: &mut [f64]) -> Result<(), SubsystemError> {
        Err(SubsystemError::Unsupported { call: "evaluate" })
    }

    fn advance(&mut self, _: Span, _: Inputs<'_>, _: &mut [f64]) -> Outcome {
        Err(SubsystemError::Unsupported { call: "advance" })
    }

    fn probe(&mut self, _: &mut [f64]) -> Result<(), SubsystemError> {
        Err(SubsystemError::Unsupported { call: "probe" })
    }
}
