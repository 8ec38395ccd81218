//! Threads that advance the members of a stage side by side. Who advances a member changes no bit of a result.
//!
//! A stage is a list of jobs. Simulators move into them and back (a swap of pointers), inputs and outputs are copied: no
//! `unsafe`, no allocation. Every thread, the caller included, takes the next job that is free; so a thread that
//! is busy elsewhere delays no other, and unequal jobs are shared out evenly. Who finds nothing looks for a while, since
//! waking up costs more than most steps; then it sleeps.

use super::schedule::{Schedule, Stage};
use crate::hold::HeldInputs;
use crate::network::{Member, Network};
use crate::subsystem::{
    Advance, Binding, Capabilities, FeedThrough, Info, Inputs, Setup, Span, Subsystem, SubsystemError,
};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{JoinHandle, Thread};

/// How often a thread looks before it sleeps; some tens of microseconds.
const LOOKS: u32 = 2000;

/// In bytes; FMUs are written for the stack of a main thread.
const STACK: usize = 8 << 20;

/// What a member came to.
type Advanced = Result<Advance, SubsystemError>;

/// The threads, and what the members of the current stage came to.
pub(crate) struct Workers {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    outcomes: Vec<Option<Advanced>>,
}

struct Shared {
    lists: Vec<List>,
    /// The list that was opened last.
    current: AtomicUsize,
    /// How many lists were opened so far.
    round: AtomicUsize,
    quit: AtomicBool,
    /// Who waits for the end of the current list.
    caller: Mutex<Option<Thread>>,
}

/// The jobs of a stage with several members.
struct List {
    /// Its first member: tells stages apart.
    first: usize,
    /// The next job to be taken; beyond the last one while the list is closed.
    next: AtomicUsize,
    done: AtomicUsize,
    jobs: Vec<Mutex<Job>>,
}

/// A member that is advanced.
struct Job {
    member: usize,
    span: Span,
    /// The simulator while the list is open, a stand-in else.
    simulator: Box<dyn Subsystem>,
    value: Vec<f64>,
    slope: Vec<f64>,
    curvature: Vec<f64>,
    y: Vec<f64>,
    outcome: Option<Advanced>,
    panic: Option<Box<dyn Any + Send>>,
}

impl Workers {
    /// `threads` of them, the caller included; none where no stage has two members.
    pub fn new(network: &Network, schedule: &Schedule, held: &HeldInputs, threads: usize) -> Option<Self> {
        let wide = schedule.stages.iter().filter(|s| s.part == 0 && s.members.len() > 1);
        let lists: Vec<List> = wide.map(|stage| List::new(network, stage, held)).collect();
        let most = lists.iter().map(|list| list.jobs.len()).max()?;
        if threads.min(most) < 2 {
            return None;
        }
        let shared = Arc::new(Shared {
            lists,
            current: AtomicUsize::new(0),
            round: AtomicUsize::new(0),
            quit: AtomicBool::new(false),
            caller: Mutex::new(None),
        });
        let spawn = |_| {
            let own = shared.clone();
            let builder = std::thread::Builder::new().name("powerbond worker".to_owned()).stack_size(STACK);
            // A thread that cannot be had leaves its work to the others.
            builder.spawn(move || own.serve()).ok()
        };
        let threads = (1..threads.min(most)).filter_map(spawn).collect();
        let outcomes = network.members.iter().map(|_| None).collect();
        Some(Workers { shared, threads, outcomes })
    }

    /// Advances all members of a stage; [`Workers::outcome`] says what each came to.
    pub fn advance(
        &mut self,
        members: &mut [Member],
        stage: &Stage,
        span: Span,
        held: &HeldInputs,
        y: &mut [f64],
    ) {
        let shared = &*self.shared;
        let found = shared.lists.iter().position(|list| list.first == stage.members[0]);
        let Some(list) = found.map(|k| &shared.lists[k]) else { return };
        list.jobs.iter().for_each(|job| locked(job).begin(members, span, held, y));
        *locked(&shared.caller) = Some(std::thread::current());
        list.done.store(0, Ordering::Relaxed);
        list.next.store(0, Ordering::Release);
        shared.current.store(found.unwrap_or(0), Ordering::Relaxed);
        shared.round.fetch_add(1, Ordering::Release);
        self.threads.iter().for_each(|thread| thread.thread().unpark());
        list.work(&shared.caller);
        wait(|| list.done.load(Ordering::Acquire) == list.jobs.len());
        // All of them come home before anything else may panic.
        let mut panic = None;
        for job in &list.jobs {
            let mut job = locked(job);
            let member = &mut members[job.member];
            std::mem::swap(&mut job.simulator, &mut member.simulator);
            y[member.outputs.clone()].copy_from_slice(&job.y);
            self.outcomes[job.member] = job.outcome.take();
            panic = job.panic.take().or(panic);
        }
        if let Some(payload) = panic {
            resume_unwind(payload);
        }
    }

    /// What a member came to in the stage that was advanced last.
    pub fn outcome(&mut self, member: usize) -> Advanced {
        self.outcomes[member].take().unwrap_or(Err(SubsystemError::Unsupported { call: "advance" }))
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.shared.quit.store(true, Ordering::Release);
        for thread in self.threads.drain(..) {
            thread.thread().unpark();
            // It catches the panics of its work; there is nothing to say about its end.
            let _ = thread.join();
        }
    }
}

/// The inputs of one member.
pub(crate) fn inputs_of<'a>(held: &'a HeldInputs, range: &std::ops::Range<usize>) -> Inputs<'a> {
    let value = &held.value[range.clone()];
    if held.slope.is_empty() {
        return Inputs::constant(value);
    }
    let curvature = held.curvature.get(range.clone()).unwrap_or(&[]);
    Inputs { value, slope: &held.slope[range.clone()], curvature }
}

impl List {
    fn new(network: &Network, stage: &Stage, held: &HeldInputs) -> Self {
        let jobs = stage.members.iter().map(|&s| Mutex::new(Job::new(&network.members[s], s, held)));
        List {
            first: stage.members[0],
            next: AtomicUsize::new(stage.members.len()),
            done: AtomicUsize::new(0),
            jobs: jobs.collect(),
        }
    }

    /// Does jobs until none is left; who does the last one wakes the caller.
    fn work(&self, caller: &Mutex<Option<Thread>>) {
        // Looked at first, so that the counter of a closed list does not grow.
        while self.next.load(Ordering::Relaxed) < self.jobs.len() {
            let Some(job) = self.jobs.get(self.next.fetch_add(1, Ordering::AcqRel)) else { return };
            locked(job).run();
            if self.done.fetch_add(1, Ordering::AcqRel) + 1 == self.jobs.len()
                && let Some(caller) = &*locked(caller)
            {
                caller.unpark();
            }
        }
    }
}

impl Job {
    fn new(member: &Member, s: usize, held: &HeldInputs) -> Self {
        let n = member.inputs.len();
        let sized = |values: &[f64]| vec![0.0; if values.is_empty() { 0 } else { n }];
        Job {
            member: s,
            span: Span::new(0.0, 0.0),
            simulator: Box::new(Away::default()),
            value: vec![0.0; n],
            slope: sized(&held.slope),
            curvature: sized(&held.curvature),
            y: vec![0.0; member.outputs.len()],
            outcome: None,
            panic: None,
        }
    }

    fn begin(&mut self, members: &mut [Member], span: Span, held: &HeldInputs, y: &[f64]) {
        let member = &mut members[self.member];
        std::mem::swap(&mut self.simulator, &mut member.simulator);
        let inputs = inputs_of(held, &member.inputs);
        self.value.copy_from_slice(inputs.value);
        self.slope.copy_from_slice(inputs.slope);
        self.curvature.copy_from_slice(inputs.curvature);
        self.y.copy_from_slice(&y[member.outputs.clone()]);
        self.span = span;
    }

    fn run(&mut self) {
        let inputs = Inputs { value: &self.value, slope: &self.slope, curvature: &self.curvature };
        let advance = || self.simulator.advance(self.span, inputs, &mut self.y);
        match catch_unwind(AssertUnwindSafe(advance)) {
            Ok(outcome) => self.outcome = Some(outcome),
            Err(payload) => self.panic = Some(payload),
        }
    }
}

impl Shared {
    /// The life of a thread.
    fn serve(&self) {
        let mut seen = 0;
        loop {
            wait(|| self.round.load(Ordering::Acquire) != seen || self.quit.load(Ordering::Acquire));
            if self.quit.load(Ordering::Acquire) {
                return;
            }
            seen = self.round.load(Ordering::Acquire);
            self.lists[self.current.load(Ordering::Relaxed)].work(&self.caller);
        }
    }
}

/// What a panic left behind is complete: simulators catch theirs.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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
            variables: Default::default(),
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

    fn advance(&mut self, _: Span, _: Inputs<'_>, _: &mut [f64]) -> Advanced {
        Err(SubsystemError::Unsupported { call: "advance" })
    }

    fn probe(&mut self, _: &mut [f64]) -> Result<(), SubsystemError> {
        Err(SubsystemError::Unsupported { call: "probe" })
    }
}
