//! Many runs on all cores: as many processes as there are workers, each of which does one run after the other.

use crate::runs::{Checked, Ended, Runner};
use crate::supervisor::{Limits, Listener};
use crate::{Program, Progress};
use powerbond::sweep::schema::{Column, Outcome, Row, row};
use powerbond::sweep::{self, Begun, Dataset, Draft, Identity, Known, Plan, Record};
use powerbond::table::Table;
use powerbond::{Described, Done, Error, RunOptions, Task};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Runs that a process does before a new one takes its place: FMUs leak.
const RECYCLED: u32 = 1000;
/// What a process may have gained since its first run, in bytes, before a new one takes its place.
const GAINED: u64 = 256_000_000;
/// That is looked at after so many runs, one by one, and then after every so many.
const WEIGHED: u32 = 8;
/// Between two looks at what is asked for.
const TICK: Duration = Duration::from_millis(50);

/// A plan that is ready to run: its system, its runs and what it writes are known to be right.
#[derive(Clone, Debug)]
pub struct Prepared {
    plan: Plan,
    identity: Identity,
    columns: Vec<Column>,
    /// Paths in messages and tasks do not depend on who does a run.
    system: PathBuf,
}

impl Prepared {
    /// Checks a plan: names of parameters and variables, the first run and those with the smallest and the largest value of each
    /// parameter, times. Everything that is wrong is told with its line. FMUs are instantiated, in another process, and nothing is run.
    pub fn new(draft: Draft) -> Result<Self, Error> {
        let mut runner = Runner::new(Program::This);
        Self::checked_by(draft, &mut |task, limits| runner.check(task, limits))
    }

    /// Checks a plan, too; `check` makes everything that a task needs, wherever that is.
    pub fn checked_by(
        draft: Draft,
        check: &mut dyn FnMut(&Task, Limits) -> Result<Checked, Error>,
    ) -> Result<Self, Error> {
        // What could be read is looked at, whatever is wrong with the rest.
        let (plan, mut problems) = draft.take();
        let Some((system, unknown)) = plan.try_system(&mut problems) else {
            return Err(problems.into_error());
        };
        let prepared = Self::trusted(plan, &system)?;
        let Prepared { plan, .. } = &prepared;
        for run in plan.samples() {
            let task = prepared.task_without(run, &unknown);
            let checked = check(&task, prepared.limits()).map_err(|error| plan.in_plan(error));
            let fits = |checked: Checked| plan.fits(checked.start, checked.stop, &checked.columns);
            problems.keep(checked.and_then(fits));
        }
        if !problems.is_clean() {
            // What is wrong with parameters hides what is wrong with the names of variables, and that with times.
            let mut task = prepared.task_without(0, &unknown);
            let fixed = plan.options.set.iter().filter(|assignment| !is_among(assignment, &unknown));
            task.options.set = fixed.cloned().collect();
            let mut look = |task: &Task| check(task, prepared.limits()).map_err(|error| plan.in_plan(error));
            if problems.keep(look(&task)).is_none() {
                task.options.set.clear();
                let record = task.options.record.clone();
                let options = RunOptions { record, ..RunOptions::default() };
                let bare = Task { system: task.system.clone(), options };
                if let Some(error) = look(&bare).err().and_then(|error| plan.of_plan(error)) {
                    problems.add(error);
                }
            }
            task.options.record = None;
            if let Ok(Checked { start, stop, .. }) = look(&task) {
                problems.keep(plan.times_fit(start, stop));
            }
        }
        problems.finish(())?;
        Ok(prepared)
    }

    /// A plan that was checked before, by this process or another one.
    pub fn unchecked(draft: Draft) -> Result<Self, Error> {
        let plan = draft.finish()?;
        let system = plan.system()?;
        Self::trusted(plan, &system)
    }

    fn trusted(plan: Plan, system: &powerbond::System) -> Result<Self, Error> {
        let identity = Identity::of(&plan, system)?;
        let system = std::path::absolute(&plan.system).unwrap_or_else(|_| plan.system.clone());
        Ok(Prepared { columns: Column::all(&plan), identity, plan, system })
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// What a row of its dataset holds.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// What makes ids of its runs.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// What is written of it when a sweep begins.
    pub fn record(&self) -> Record {
        let ids: HashSet<String> = (0..self.plan.runs()).map(|run| self.id(run)).collect();
        Record::new(&self.plan, &self.identity.base, self.plan.runs() - ids.len() as u64)
    }

    /// The runs that are still to be done: those that are not `known` to have gone well, of the `i`-th of `n` shards if there is one.
    pub fn pending(&self, known: &Known, shard: Option<(u64, u64)>) -> Pending {
        let mut pending = Pending::default();
        for run in 0..self.plan.runs() {
            let id = self.id(run);
            let is_good = known.get(&id).copied().unwrap_or(false);
            // Runs with the same parameters are one.
            if *pending.numbers.entry(id).or_insert(run as i64 + 1) != run as i64 + 1 {
                continue;
            }
            if shard.is_some_and(|(i, n)| run % n != i - 1) {
                continue;
            }
            if is_good {
                pending.there += 1;
            } else {
                pending.runs.push(run);
            }
        }
        pending
    }

    /// The id of a run, from 0.
    pub fn id(&self, run: u64) -> String {
        self.identity.run(&self.plan.point(run))
    }

    /// The run as a task that leaves out some parameters.
    fn task_without(&self, run: u64, names: &BTreeSet<String>) -> Task {
        let mut task = self.task(run);
        task.options.set.retain(|assignment| !is_among(assignment, names));
        task
    }

    /// The run as a task.
    pub fn task(&self, run: u64) -> Task {
        let options = self.plan.options_of(run);
        Task { system: Described::Path(self.system.clone()), options }
    }

    /// The row of a run that was done in this process; none if it was stopped. Variables over time go to `folder`.
    pub fn row(
        &self,
        run: u64,
        folder: Option<&Path>,
        begun: Begun,
        done: Result<Done, Error>,
    ) -> Result<Option<Row>, Error> {
        let Prepared { plan, columns, identity, .. } = self;
        let point = plan.point(run);
        let id = identity.run(&point);
        let outcome = match done {
            Ok(Done { table, summary, error, .. }) => {
                self.keep_series(folder, &id, &table)?;
                let text = serde_json::to_string(&summary)
                    .map_err(|e| Error::output("the summary of a run".as_ref(), &e.into()))?;
                sweep::measured(plan, begun, &text, error.as_ref(), &summary.exceeded, &table)
            }
            Err(error) => Some(sweep::failed(begun, &error)),
        };
        Ok(outcome.map(|outcome| row(columns, run, &id, &point, outcome)))
    }

    fn keep_series(&self, folder: Option<&Path>, id: &str, table: &Table) -> Result<(), Error> {
        let plan = &self.plan;
        let Some(folder) = folder.filter(|_| plan.keeps_series()) else { return Ok(()) };
        let kept = (0..table.header.len()).filter(|&c| c == 0 || plan.keeps(&table.header[c]));
        let kept: Vec<usize> = kept.collect();
        let names: Vec<&str> = kept.iter().map(|&c| table.header[c].as_str()).collect();
        let columns: Vec<&[f64]> = kept.iter().map(|&c| table.columns[c].as_slice()).collect();
        Dataset::series(folder, id, &names, &columns)
    }

    fn limits(&self) -> Limits {
        let sweep::Limits { run, call, memory } = self.plan.limits;
        // Longer than clocks count is no limit.
        let duration = |seconds: f64| Duration::try_from_secs_f64(seconds).ok();
        Limits { run: run.and_then(duration), call: call.and_then(duration), memory }
    }

    /// The same plan with a row of values for each run.
    pub fn with_rows(&self, rows: &[Vec<f64>]) -> Result<Self, Error> {
        Ok(Prepared { plan: self.plan.with_rows(rows)?, ..self.clone() })
    }

    /// Does runs, from 0, on `workers` processes, and shows the rows in the order in which they end. Variables over time go to `folder`. A
    /// `signal` that is not 0 ends all of it: runs under way then have no rows.
    /// Processes come from `runners` and go back there.
    pub fn run(
        &self,
        runs: &[u64],
        (workers, runners): (usize, &Runners),
        folder: Option<&Path>,
        signal: &AtomicU8,
        see: &mut dyn FnMut(Seen) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let next = AtomicUsize::new(0);
        // A worker begins its next run when its row was taken: whoever is killed loses no more than what is under way.
        let (sender, receiver) = sync_channel::<Result<Row, Error>>(0);
        std::thread::scope(|scope| {
            for _ in 0..workers.clamp(1, runs.len().max(1)) {
                let (sender, next) = (sender.clone(), &next);
                scope.spawn(move || {
                    let mut hand =
                        Hand { prepared: self, folder, signal, runners, runner: None, done: 0, memory: None };
                    while signal.load(Ordering::Relaxed) == 0 {
                        let Some(&run) = runs.get(next.fetch_add(1, Ordering::Relaxed)) else { break };
                        let Some(row) = hand.run(run).transpose() else { break };
                        if sender.send(row).is_err() {
                            break;
                        }
                    }
                });
            }
            drop(sender);
            // Owned here: a worker whose row nobody takes any more must not wait for ever.
            let receiver = receiver;
            let result = loop {
                let seen = match receiver.recv_timeout(TICK) {
                    Ok(Ok(row)) => Seen::Row(row),
                    Ok(Err(error)) => break Err(error),
                    Err(RecvTimeoutError::Timeout) => Seen::Nothing,
                    Err(RecvTimeoutError::Disconnected) => break Ok(()),
                };
                if let Err(error) = see(seen) {
                    break Err(error);
                }
            };
            if result.is_err() {
                // Whoever is still at work has no reason to go on.
                signal.store(END, Ordering::Relaxed);
            }
            drop(receiver);
            result
        })
    }
}

/// Whether `name=value` is about one of these.
fn is_among(assignment: &str, names: &BTreeSet<String>) -> bool {
    assignment.split_once('=').is_some_and(|(name, _)| names.contains(name))
}

/// What is to be done of a sweep.
#[derive(Clone, Debug, Default)]
pub struct Pending {
    /// The runs, from 0.
    pub runs: Vec<u64>,
    /// How many are there already.
    pub there: u64,
    /// The number of every run, from 1, by its id.
    pub numbers: HashMap<String, i64>,
}

/// As if somebody had stopped it: SIGTERM.
const END: u8 = 15;

/// What is shown while runs go on.
#[derive(Debug)]
pub enum Seen {
    /// A run has ended.
    Row(Row),
    /// Some time has passed.
    Nothing,
}

/// One worker and its process.
struct Hand<'a> {
    prepared: &'a Prepared,
    folder: Option<&'a Path>,
    signal: &'a AtomicU8,
    runners: &'a Runners,
    runner: Option<Runner>,
    /// Runs of the process.
    done: u32,
    /// Its memory after the first one, in bytes.
    memory: Option<u64>,
}

impl Hand<'_> {
    /// The row of a run; none if it was stopped.
    fn run(&mut self, run: u64) -> Result<Option<Row>, Error> {
        let Prepared { plan, columns, identity, .. } = self.prepared;
        let point = plan.point(run);
        let id = identity.run(&point);
        let begun = Begun::now();
        let outcome = match self.end(run) {
            Ok(ended) => self.measure(begun, &id, ended)?,
            Err(_) if self.signal.load(Ordering::Relaxed) != 0 => None,
            Err(error) => Some(sweep::failed(begun, &error)),
        };
        Ok(outcome.map(|outcome| row(columns, run, &id, &point, outcome)))
    }

    /// A run that crashes in a process that has done others may have died of what they left: it gets a new one, once.
    fn end(&mut self, run: u64) -> Result<Ended, Error> {
        if self.done >= RECYCLED || self.has_grown() {
            self.renew();
        }
        if self.runner.is_none() && self.done == 0 {
            self.runner = self.runners.take();
            // It has done something before.
            self.done = u32::from(self.runner.is_some());
        }
        let fresh = self.done == 0;
        let ended = match self.attempt(run) {
            Err(Error::Crash(_)) if !fresh && self.signal.load(Ordering::Relaxed) == 0 => {
                self.renew();
                self.attempt(run)
            }
            other => other,
        };
        match &ended {
            Ok(_) => self.done += 1,
            // The process may be gone.
            Err(_) => (self.done, self.memory) = (0, None),
        }
        ended
    }

    fn attempt(&mut self, run: u64) -> Result<Ended, Error> {
        let runner = self.runner.get_or_insert_with(|| Runner::new(Program::This));
        let mut stop = Stop(self.signal);
        runner.run(&self.prepared.task(run), self.prepared.limits(), None, &mut stop)
    }

    /// Whether its process has gained much memory: what an FMU leaks in a thousand runs, no machine has.
    fn has_grown(&mut self) -> bool {
        let is_due = (1..=WEIGHED).contains(&self.done) || self.done % WEIGHED == 1;
        let runner = self.runner.as_ref().filter(|_| is_due);
        let Some(now) = runner.and_then(Runner::memory) else { return false };
        now > *self.memory.get_or_insert(now) + GAINED
    }

    /// The next run has a new process.
    fn renew(&mut self) {
        (self.runner, self.done, self.memory) = (None, 0, None);
    }

    fn measure(&self, begun: Begun, id: &str, mut ended: Ended) -> Result<Option<Outcome>, Error> {
        let table =
            ended.tables.read_results().map_err(|e| Error::output("memory for results".as_ref(), &e))?;
        self.prepared.keep_series(self.folder, id, &table)?;
        let plan = &self.prepared.plan;
        Ok(sweep::measured(plan, begun, &ended.summary, ended.error.as_ref(), &ended.exceeded, &table))
    }
}

impl Drop for Hand<'_> {
    fn drop(&mut self) {
        if let Some(runner) = self.runner.take() {
            self.runners.put(runner);
        }
    }
}

/// Processes that wait for their next run.
#[derive(Default)]
pub struct Runners {
    /// Of the process with this number: a copy of it, made by `fork`, has none.
    idle: Mutex<(u32, Vec<Runner>)>,
}

impl Runners {
    /// None so far.
    pub const fn new() -> Self {
        Runners { idle: Mutex::new((0, Vec::new())) }
    }

    /// Ends all of them.
    pub fn end(&self) {
        while let Some(runner) = self.take() {
            drop(runner);
        }
    }

    fn take(&self) -> Option<Runner> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.0 != std::process::id() {
            // Those of another process must not even be ended.
            std::mem::forget(std::mem::take(&mut idle.1));
            idle.0 = std::process::id();
        }
        idle.1.pop()
    }

    fn put(&self, runner: Runner) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).1.push(runner);
    }
}

/// Passes a signal on to runs.
struct Stop<'a>(&'a AtomicU8);

impl Listener for Stop<'_> {
    fn progress(&mut self, _progress: &Progress) {}

    fn say(&mut self, _text: &str) {}

    fn signal(&self) -> Option<u8> {
        Some(self.0.load(Ordering::Relaxed)).filter(|&signal| signal != 0)
    }
}
