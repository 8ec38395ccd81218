//! A run that a program steps through: reads values, sets inputs, goes back, and ends it when it likes. Everything that runs a
//! system runs it through this.

use crate::Error;
use crate::assemble::{Assembled, Column, engine_warnings};
use crate::number::short;
use crate::observe::{
    self, Foreseen, Foresight, Mark, Pacing, Places, Recorder, Row, Sinks, StepLog, Stride, Tables,
};
use crate::results::{
    BondSummary, EnergySummary, LOG, Origin, RunFolder, SUMMARY, Summary, VerdictSummary, Verification,
    Wanted, exceeded,
};
use crate::system::{SimulatorSpec, System, Verify};
use crate::table::Backups;
use powerbond_core::network::{NameIndex, VariableName};
use powerbond_core::observe::verdict::Verdict;
use powerbond_core::observe::{EventView, Flow, NoObserver, Observer, StartView, StepReport};
use powerbond_core::run::{Disturbance, ParameterChange};
use powerbond_core::step::StepView;
use powerbond_core::subsystem::own_step::{OwnSteps, Sums};
use powerbond_core::subsystem::{Causality, ValueKind};
use powerbond_core::suggest::hint;
use powerbond_fmi::surroundings::{Change, Surroundings};
use std::cell::{OnceCell, RefCell};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Where results go. By default they are kept in memory.
pub struct Output {
    /// Tables are kept in memory.
    pub memory: bool,
    /// Tables and a summary are written to a folder.
    pub folder: Option<Wanted>,
    /// Sees every row of results while the run goes on: time, then the recorded variables in the order of
    /// [`Session::columns`]. It may stop the run.
    pub rows: Option<Row>,
    /// Called with the names of the columns before the first row.
    pub columns: Option<Columns>,
    /// Keeps rows that are not in their files yet where they outlive the process.
    pub backups: Option<Arc<dyn Backups>>,
    /// Called with everything that should be known before the run.
    pub opened: Option<Opened>,
    /// Called at most once, while the run goes on, if it will take an hour or more, or 1 GB or more.
    pub foreseen: Option<Foreseen>,
    /// Called once results are complete, before subsystems are told that the run has ended.
    pub concluded: Option<Concluded>,
}

/// Sees the names of the columns: `time`, then the recorded variables.
pub type Columns = Box<dyn FnOnce(Vec<String>) + Send>;

/// Sees the warnings of before a run.
pub type Opened = Box<dyn FnOnce(&[String]) + Send>;

/// Sees what a run came to, the folder of its results and why it failed.
pub type Concluded = Box<dyn FnOnce(&Summary, Option<&RunFolder>, Option<&Error>) + Send>;

impl Default for Output {
    fn default() -> Self {
        Output {
            memory: true,
            folder: None,
            rows: None,
            columns: None,
            backups: None,
            opened: None,
            foreseen: None,
            concluded: None,
        }
    }
}

impl Output {
    /// Nothing is kept: values are read while the run goes on, and the summary at its end.
    pub fn nothing() -> Self {
        Output { memory: false, ..Output::default() }
    }

    /// Files in a folder, and nothing in memory.
    pub fn folder(wanted: Wanted) -> Self {
        Output { folder: Some(wanted), ..Output::nothing() }
    }
}

/// How far a run has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It can go on.
    Running,
    /// It has reached its stop time.
    Finished,
    /// An observer stopped it.
    Stopped,
    /// It failed.
    Failed,
}

/// Energy through all bonds so far.
#[derive(Clone, Debug)]
pub struct Ledger {
    /// Bond by bond.
    pub bonds: Vec<BondSummary>,
    /// All of them together.
    pub total: EnergySummary,
}

/// A state to go back to; see [`Session::save`].
pub struct Saved {
    engine: powerbond_core::run::Snapshot,
    verdict: Verdict,
    own: Vec<Option<Sums>>,
    recorder: Mark,
    pending: Disturbance,
    set: Vec<(usize, f64)>,
    state: State,
}

impl Saved {
    /// When it was saved, in s.
    pub fn time(&self) -> f64 {
        self.engine.time()
    }
}

/// A run that was ended.
#[derive(Debug)]
pub struct Done {
    /// Recorded variables in memory; empty if they were not kept.
    pub table: crate::table::Table,
    /// Powers, residuals, step sizes and error norms in memory; empty if they were not kept.
    pub energy: crate::table::Table,
    /// Prediction defects of coupled inputs in memory, if they were recorded.
    pub jumps: Option<crate::table::Table>,
    /// Recorded variables of the finest run in memory, if it was verified and they are kept.
    pub finer: Option<crate::table::Table>,
    /// Whether it can be trusted.
    pub verdict: VerdictSummary,
    /// Energy through its bonds.
    pub ledger: Ledger,
    /// What the user should know.
    pub warnings: Vec<String>,
    /// Everything that `summary.json` says.
    pub summary: Summary,
    /// Why it failed, if it did.
    pub error: Option<Error>,
    /// The folder of its results, if they were written; it belongs to this process until it is dropped.
    pub folder: Option<RunFolder>,
}

impl Done {
    /// It was verified: from now on this is what the verdict says.
    pub(crate) fn verified(&mut self, system: &System, verification: Verification) {
        self.summary.verdict.verify(system, &verification);
        self.summary.verification = Some(verification);
        self.summary.exceeded = exceeded(system, &self.summary.verdict, &self.summary.bonds);
        self.verdict = self.summary.verdict.clone();
    }

    /// Says in the summary on disk that it is not verified yet: if the finer run takes the process along, that stays.
    pub(crate) fn about_to_be_verified(&self, system: &System, by: Verify) -> Result<(), Error> {
        let Some(folder) = &self.folder else { return Ok(()) };
        let open = Verification::open(by);
        let mut summary = self.summary.clone();
        summary.verdict.verify(system, &open);
        summary.verification = Some(open);
        write_summary(folder, &summary)
    }

    /// Writes the summary again, where it is written.
    pub(crate) fn rewrite(&self) -> Result<(), Error> {
        self.folder.as_ref().map_or(Ok(()), |folder| write_summary(folder, &self.summary))
    }
}

/// A run that is stepped.
///
/// ```
/// let system = powerbond::System::load("../../examples/quarter-car")?;
/// let mut run = system.start()?;
/// while run.time() < 1.0 {
///     run.step()?;
/// }
/// println!("{} m/s", run.value("chassis.velocity")?);
/// let done = run.finish()?;
/// println!("{}: {} rows", done.verdict.word, done.table.rows());
/// # Ok::<(), powerbond::Error>(())
/// ```
pub struct Session {
    system: System,
    assembled: Assembled,
    recorder: Recorder,
    pacing: Option<Pacing>,
    foresight: Foresight,
    origin: Origin,
    folder: Option<RunFolder>,
    outside: Option<std::path::PathBuf>,
    phase: Phase,
    pending: Disturbance,
    /// Inputs that were set, and to what.
    set: Vec<(usize, f64)>,
    error: Option<Error>,
    /// What an FMU changed for everybody in some step; restored.
    changes: Vec<Change>,
    seconds: f64,
    names: OnceCell<Readable>,
    /// What was said when results were complete, until subsystems are told of the end.
    concluded: Option<Summary>,
    on_conclusion: Option<Concluded>,
    /// Warnings of before the run.
    told: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Not initialized.
    Ready,
    /// Initialized.
    Begun(State),
    /// Everything is on disk.
    Closed,
}

/// Everything that can be read by its name.
struct Readable {
    columns: Vec<Column>,
    places: NameIndex<String>,
    members: NameIndex<String>,
}

impl System {
    /// Begins a run whose results are kept in memory.
    pub fn start(&self) -> Result<Session, Error> {
        let mut session = Session::open(self, Output::default())?;
        session.start()?;
        Ok(session)
    }
}

impl Session {
    /// Makes everything that a run needs; nothing is initialized yet.
    pub fn open(system: &System, output: Output) -> Result<Self, Error> {
        let Output { memory, folder, rows, columns, backups, opened, foreseen, concluded } = output;
        folder.as_ref().map_or(Ok(()), Wanted::check)?;
        let mut assembled = system.assemble()?;
        if let Some(why) = powerbond_fmi::scratch::forbidden() {
            assembled.warnings.push(format!("no FMU is tried out: {why}. What only that finds is not known"));
        }
        let folder = folder.as_ref().map(RunFolder::claim).transpose()?;
        assembled.warnings.extend(folder.iter().flat_map(RunFolder::warnings).cloned());
        let places = folder.as_ref().map(|folder| Places {
            format: system.record.format.value,
            folder: folder.path().to_owned(),
            results: system.record.file.clone(),
        });
        let origin = Origin::new(system, &assembled, places.as_ref());
        let about = origin.metadata(system);
        if let Some(folder) = &folder {
            // What a killed run leaves says how it was begun, and that it never ended.
            let unended = Some("not ended: still running, or killed".to_owned());
            write_summary(folder, &Summary::new(system, &assembled, &origin, "running", unended, 0.0, None))?;
        }
        let interval = system.simulation.output_interval.as_ref().map(|d| d.value);
        let files = places.as_ref().map(|p| (p, &about));
        if let (Some(backups), Some(folder)) = (&backups, &folder) {
            backups.folder(folder.path());
        }
        let sinks = Sinks { files, memory, rows, waits: folder.is_none(), backups: backups.as_deref() };
        let recorder = Recorder::create(sinks, &assembled, interval, &system.record)?;
        let paced = system.simulation.real_time.is_some();
        let foresight = Foresight::new(&assembled, interval, paced, foreseen);
        let mut session = Session {
            system: system.clone(),
            recorder,
            pacing: system.simulation.real_time.map(Pacing::new),
            foresight,
            origin,
            outside: places.and_then(|p| p.results),
            folder,
            assembled,
            phase: Phase::Ready,
            pending: Disturbance::default(),
            set: Vec::new(),
            error: None,
            changes: Vec::new(),
            seconds: 0.0,
            names: OnceCell::new(),
            concluded: None,
            on_conclusion: concluded,
            told: Vec::new(),
        };
        session.told = session.warnings();
        if let Some(see) = opened {
            see(&session.told);
        }
        if let Some(see) = columns {
            let names = session.columns().map(ToString::to_string);
            see(std::iter::once("time".to_owned()).chain(names).collect());
        }
        Ok(session)
    }

    /// Initializes all subsystems. The first step does it, too.
    pub fn start(&mut self) -> Result<State, Error> {
        self.start_with(&mut NoObserver)
    }

    fn start_with(&mut self, observer: &mut dyn Observer) -> Result<State, Error> {
        match self.phase {
            Phase::Begun(state) => return self.again(state),
            Phase::Closed => return Err(ended()),
            Phase::Ready => {}
        }
        observe::begin(&self.assembled, self.origin.config());
        self.phase = Phase::Begun(State::Running);
        let flow = self.timed(observer, |engine, watch| engine.initialize(watch))?;
        self.settle(flow)
    }

    /// Makes one step, or a pair of them if the method makes pairs.
    pub fn step(&mut self) -> Result<State, Error> {
        self.advance(&mut NoObserver, |_| false)
    }

    /// Runs up to the first communication point at or after `t`, in s. Nothing about the run depends on where it pauses.
    pub fn run_until(&mut self, t: f64) -> Result<State, Error> {
        self.start()?;
        if self.time() >= t {
            return self.state_or_error();
        }
        self.run_while(|now| now < t)
    }

    /// Makes a step, and more of them while `more` says so at their ends: it gets the time there, in s. Nothing about the run depends
    /// on where it pauses.
    pub fn run_while(&mut self, more: impl Fn(f64) -> bool) -> Result<State, Error> {
        self.guarded(&mut NoObserver, more)
    }

    /// Runs up to `t`, in s, where a step ends: unlike [`Session::run_until`] this changes the steps. Where a subsystem steps in
    /// multiples of its own step only, the next one ends the step; the time that was reached is [`Session::time`].
    pub fn land_on(&mut self, t: f64) -> Result<State, Error> {
        let t = self.land_at(t)?;
        self.run_until(t)
    }

    /// Plans a step to end at `t`, in s, without making it; where it will end, which is now if that is `t` up to round-off.
    pub fn land_at(&mut self, t: f64) -> Result<f64, Error> {
        self.start()?;
        Ok(if self.time() >= t { t } else { self.assembled.engine.land_at(t) })
    }

    /// Runs to the end.
    pub fn run(&mut self) -> Result<State, Error> {
        self.run_with(&mut NoObserver)
    }

    /// As [`Session::run`], with an observer that may stop it.
    pub fn run_with(&mut self, observer: &mut dyn Observer) -> Result<State, Error> {
        self.start_with(observer)?;
        self.foresight.begin(self.time(), self.assembled.stop);
        self.guarded(observer, |_| true)
    }

    /// Steps while it is told to. What FMUs change for everybody is restored, at the end and about every second on the way.
    fn guarded(&mut self, observer: &mut dyn Observer, more: impl Fn(f64) -> bool) -> Result<State, Error> {
        if self.fmus().next().is_none() {
            return self.advance(observer, more);
        }
        let mut look = Look::new();
        let watch = RefCell::new(&mut look);
        let outcome = self.advance(observer, |now| {
            watch.borrow_mut().at_step();
            more(now)
        });
        self.changes.extend(look.end());
        outcome
    }

    /// The names of subsystems that are FMUs.
    fn fmus(&self) -> impl Iterator<Item = &str> {
        let specs = self.system.subsystems.iter();
        specs.filter(|s| matches!(s.simulator, SimulatorSpec::Fmu(..))).map(|s| s.name.value.as_str())
    }

    /// What FMUs did to each other and to the process, in words.
    fn remarks(&self) -> Vec<String> {
        let mut remarks = self.assembled.log.remarks();
        let fmus: Vec<String> = self.fmus().map(|name| format!("`{name}`")).collect();
        let who = match fmus.as_slice() {
            [one] => one.clone(),
            several => format!("one of {}", several.join(", ")),
        };
        let mut changes = self.changes.clone();
        changes.sort_unstable();
        changes.dedup();
        // Whose change it is may be known already.
        changes.retain(|change| !remarks.iter().any(|known| known.ends_with(&change.to_string())));
        remarks.extend(changes.iter().map(|change| format!("{who} {change}")));
        remarks
    }

    /// Makes a step, and more of them while `more` says so at their ends.
    fn advance(&mut self, observer: &mut dyn Observer, more: impl Fn(f64) -> bool) -> Result<State, Error> {
        if self.start_with(observer)? != State::Running {
            return self.state_or_error();
        }
        let mut pending = std::mem::take(&mut self.pending);
        // A program may say the same before every step: that is no event.
        let inputs = self.assembled.engine.inputs();
        pending.inputs.retain(|new| !(self.set.contains(new) && inputs[new.0] == new.1));
        for (input, value) in &pending.inputs {
            self.set.retain(|(other, _)| other != input);
            self.set.push((*input, *value));
        }
        let flow = self.timed(observer, |engine, watch| {
            if !pending.is_empty() && engine.disturb(&pending, watch)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
            loop {
                if engine.step(watch)? == Flow::Stop {
                    return Ok(Flow::Stop);
                }
                if engine.is_done() || !more(engine.time()) {
                    return Ok(Flow::Continue);
                }
            }
        })?;
        self.settle(flow)
    }

    /// Lets the engine do something, watched by everybody, and explains what goes wrong.
    fn timed(
        &mut self,
        observer: &mut dyn Observer,
        work: impl FnOnce(
            &mut powerbond_core::run::Engine,
            &mut dyn Observer,
        ) -> Result<Flow, powerbond_core::error::RunError>,
    ) -> Result<Flow, Error> {
        let begun = Instant::now();
        let Assembled { engine, verdict, .. } = &mut self.assembled;
        let pacing = self.pacing.as_mut();
        let foresight = &mut self.foresight;
        let mut watch = Watch { verdict, recorder: &mut self.recorder, pacing, foresight, observer };
        let done = work(engine, &mut watch);
        self.seconds += begun.elapsed().as_secs_f64();
        done.map_err(|error| {
            let error = self.assembled.explain(&error);
            self.phase = Phase::Begun(State::Failed);
            self.error = Some(error.clone());
            error
        })
    }

    fn settle(&mut self, flow: Flow) -> Result<State, Error> {
        let state = match flow {
            _ if self.assembled.engine.is_done() => State::Finished,
            Flow::Stop => State::Stopped,
            Flow::Continue => State::Running,
        };
        self.phase = Phase::Begun(state);
        Ok(state)
    }

    fn again(&self, state: State) -> Result<State, Error> {
        match &self.error {
            Some(error) => Err(error.clone()),
            None => Ok(state),
        }
    }

    fn state_or_error(&self) -> Result<State, Error> {
        self.again(self.state())
    }

    /// How far it has come.
    pub fn state(&self) -> State {
        match self.phase {
            Phase::Ready => State::Running,
            Phase::Begun(state) => state,
            Phase::Closed if self.error.is_some() => State::Failed,
            Phase::Closed => State::Finished,
        }
    }

    /// Now, in s.
    pub fn time(&self) -> f64 {
        self.assembled.engine.time()
    }

    /// Start and stop of the run, in s.
    pub fn span(&self) -> (f64, f64) {
        (self.assembled.start, self.assembled.stop)
    }

    /// The system that is run.
    pub fn system(&self) -> &System {
        &self.system
    }

    /// The engine and everything around it.
    pub fn assembled(&self) -> &Assembled {
        &self.assembled
    }

    /// Why it failed, if it did.
    pub fn error(&self) -> Option<&Error> {
        self.error.as_ref()
    }

    /// Where results are written, if they are.
    pub fn folder(&self) -> Option<&RunFolder> {
        self.folder.as_ref()
    }

    /// The recorded variables, in the order of the columns after `time`.
    pub fn columns(&self) -> impl Iterator<Item = &VariableName> {
        self.assembled.columns.iter().map(|(name, _)| name)
    }

    fn names(&self) -> &Readable {
        self.names.get_or_init(|| {
            let names = &self.assembled.names;
            let lists = [
                (&names.outputs, Column::Output as fn(usize) -> Column),
                (&names.inputs, Column::Input),
                (&names.probes, Column::Probe),
            ];
            let all = lists
                .iter()
                .flat_map(|(list, column)| list.iter().enumerate().map(move |(i, n)| (n, column(i))));
            let (texts, columns): (Vec<String>, Vec<Column>) =
                all.map(|(name, c)| (name.to_string(), c)).unzip();
            Readable {
                columns,
                places: texts.into_iter().collect(),
                members: names.subsystems.iter().cloned().collect(),
            }
        })
    }

    /// The value of a variable now; at a discontinuity the one after it. An input or a parameter that was set and not stepped with
    /// yet has its new value, everything that depends on it still the old one.
    pub fn value(&self, name: &str) -> Result<f64, Error> {
        if self.phase == Phase::Ready {
            return Err(Error::input(None, format!("`{name}` has no value before the run has started")));
        }
        let readable = self.names();
        let engine = &self.assembled.engine;
        let column = readable.places.place(name).map(|i| readable.columns[i]);
        if let Some(x) = self.pending_value(name, column) {
            return Ok(x);
        }
        match column {
            Some(Column::Output(i)) => Ok(engine.outputs()[i]),
            Some(Column::Input(i)) => Ok(engine.inputs()[i]),
            Some(Column::Probe(i)) => Ok(engine.probes()[i]),
            None => {
                let found = self.find(name)?;
                let message = match found.causality {
                    Causality::Input => format!(
                        "`{name}` is not a connected input; connect it or give it a signal to read it"
                    ),
                    Causality::Output | Causality::Local => {
                        format!("`{name}` is neither exchanged nor recorded; record it to read it")
                    }
                };
                Err(Error::input(None, message))
            }
        }
    }

    fn pending_value(&self, name: &str, column: Option<Column>) -> Option<f64> {
        if let Some(Column::Input(i)) = column {
            return self.pending.inputs.iter().find(|(input, _)| *input == i).map(|(_, x)| *x);
        }
        if self.pending.variables.is_empty() {
            return None;
        }
        let found = self.find(name).ok()?;
        let same = |c: &&ParameterChange| (c.member, c.variable) == (found.member, found.variable);
        self.pending.variables.iter().find(same).map(|c| c.value)
    }

    /// A variable of a subsystem by its name.
    fn find(&self, name: &str) -> Result<Found, Error> {
        let fail = |message: String| Err(Error::input(None, message));
        let Some(VariableName { subsystem, variable }) = VariableName::parse(name) else {
            return fail(format!("`{name}` is not a variable; write it as \"subsystem.variable\""));
        };
        let readable = self.names();
        let Some(member) = readable.members.place(&subsystem) else {
            let known = self.assembled.names.subsystems.iter().map(String::as_str);
            return fail(format!("unknown subsystem `{subsystem}`.{}", hint(&subsystem, known)));
        };
        let info = self.assembled.engine.network().members[member].simulator.info();
        let Some(v) = info.find(&variable) else {
            let hint = hint(&variable, info.variables.iter().map(|v| v.name.as_str()));
            return fail(format!("`{subsystem}` ({}): unknown variable `{variable}`.{hint}", info.kind));
        };
        let found = &info.variables[v];
        Ok(Found {
            member,
            variable: v,
            causality: found.causality,
            kind: found.kind,
            settable: found.settable,
        })
    }

    /// Gives an input that no output feeds, or a tunable parameter, another value from now on. All that is set between two steps is
    /// one event; an input that follows a signal stops following it. Saying the same again is no event.
    pub fn set(&mut self, name: &str, value: f64) -> Result<(), Error> {
        let fail = |message: String| Err(Error::input(None, message));
        match self.state_or_error()? {
            _ if self.phase == Phase::Closed => return Err(ended()),
            State::Running => {}
            _ => return fail(format!("`{name}` cannot be set: the run has ended")),
        }
        if !value.is_finite() {
            return fail(format!("`{name}` cannot be set to {value}; expected a finite number"));
        }
        let found = self.find(name)?;
        let fits = match found.kind {
            ValueKind::Real => true,
            ValueKind::Boolean => value == 0.0 || value == 1.0,
            ValueKind::Integer | ValueKind::Enumeration => value.fract() == 0.0,
        };
        if !fits {
            return fail(format!(
                "`{name}` is {}; {} is not a value of this type",
                found.kind.noun(),
                short(value)
            ));
        }
        let place = self.names().places.place(name).map(|i| self.names().columns[i]);
        let network = self.assembled.engine.network();
        match (found.causality, place) {
            (Causality::Output, _) => fail(format!(
                "`{name}` is an output, computed by its subsystem. Unconnected inputs and tunable parameters can be set"
            )),
            (Causality::Input, Some(Column::Input(i))) if network.wiring.is_coupled(i) => {
                let from: Vec<String> = network
                    .wiring
                    .sources(i)
                    .map(|(o, _)| format!("`{}`", self.assembled.names.outputs[o]))
                    .collect();
                fail(format!(
                    "`{name}` is connected to {}: it cannot be set. Leave the connection out, or override it at a known time in a scenario",
                    from.join(", ")
                ))
            }
            (Causality::Input, Some(Column::Input(i))) => {
                self.pending.inputs.retain(|(input, _)| *input != i);
                self.pending.inputs.push((i, value));
                if let Some(rest) = self.assembled.rest_of_input(i) {
                    self.pending.inputs.retain(|(input, _)| *input != rest);
                    self.pending.inputs.push((rest, 0.0));
                }
                Ok(())
            }
            _ if !found.settable => fail(match found.causality {
                Causality::Input => format!(
                    "`{name}` cannot be set as it is: its model takes no values for inputs that are not bound. Give it a signal \
                     in the system, such as a constant, and set that"
                ),
                _ => format!(
                    "`{name}` is not a tunable parameter: it cannot change during the run. Unconnected inputs and \
                     tunable parameters can be set"
                ),
            }),
            _ => {
                let Found { member, variable, .. } = found;
                self.pending.variables.retain(|c| (c.member, c.variable) != (member, variable));
                self.pending.variables.push(ParameterChange { member, variable, value });
                Ok(())
            }
        }
    }

    /// Saves the whole state: subsystems, what the method has learned, energies, verdict and results in memory. Going on from it
    /// gives the same bits every time.
    pub fn save(&mut self) -> Result<Saved, Error> {
        self.start()?;
        if self.recorder.writes_files() {
            let message = "a run that writes files does not support `restore`, which would write rows twice; keep \
                           results in memory";
            return Err(Error::input(None, message));
        }
        if let Err(member) = self.assembled.engine.can_snapshot() {
            let name = &self.assembled.names.subsystems[member];
            let message = format!(
                "the state of `{name}` cannot be saved and restored, so that of the run cannot be saved"
            );
            return Err(Error::input(None, message));
        }
        let engine = self.assembled.engine.snapshot().map_err(|error| self.assembled.explain(&error))?;
        Ok(Saved {
            engine,
            verdict: self.assembled.verdict.clone(),
            own: self.assembled.own.iter().map(|own| own.as_ref().map(OwnSteps::copy)).collect(),
            recorder: self.recorder.mark(),
            pending: self.pending.clone(),
            set: self.set.clone(),
            state: self.state(),
        })
    }

    /// Goes to a state that this session has saved, as often as wanted.
    pub fn restore(&mut self, saved: &Saved) -> Result<(), Error> {
        if self.phase == Phase::Closed {
            return Err(ended());
        }
        let restored = self.assembled.engine.restore_snapshot(&saved.engine);
        restored.map_err(|error| self.assembled.explain(&error))?;
        self.assembled.verdict = saved.verdict.clone();
        for (own, saved) in self.assembled.own.iter().zip(&saved.own) {
            own.iter().zip(saved).for_each(|(own, saved)| own.set(saved));
        }
        self.recorder.go_back(&saved.recorder);
        self.pending = saved.pending.clone();
        self.set = saved.set.clone();
        self.phase = Phase::Begun(saved.state);
        self.error = None;
        Ok(())
    }

    /// What should be known before the run.
    pub fn warnings(&self) -> Vec<String> {
        let Assembled { warnings, engine, names, .. } = &self.assembled;
        warnings.iter().cloned().chain(engine_warnings(engine, names)).collect()
    }

    /// Everything that `summary.json` would say of the run so far.
    pub fn summary(&self) -> Summary {
        let outcome = match self.state() {
            State::Running => "running",
            State::Finished => "finished",
            State::Stopped => "stopped",
            State::Failed => "failed",
        };
        let error = self.error.as_ref().map(Error::to_string);
        let real_time = self.pacing.as_ref().map(Pacing::outcome);
        let (system, assembled, origin) = (&self.system, &self.assembled, &self.origin);
        let mut summary = Summary {
            failure: self.error.as_ref().and_then(Error::failure).cloned(),
            told: self.told.clone(),
            ..Summary::new(system, assembled, origin, outcome, error, self.seconds, real_time)
        };
        if let Some((said, was_heard)) = self.foresight.said() {
            summary.warnings.push(said.to_owned());
            summary.told.extend(was_heard.then(|| said.to_owned()));
        }
        summary
    }

    /// Whether the run so far can be trusted.
    pub fn verdict(&self) -> VerdictSummary {
        self.summary().verdict
    }

    /// Energy through all bonds so far.
    pub fn ledger(&self) -> Ledger {
        let Summary { bonds, energy, .. } = self.summary();
        Ledger { bonds, total: energy }
    }

    /// The tables in memory so far.
    pub fn tables(&self) -> Tables {
        self.recorder.in_memory()
    }

    /// Ends the run, wherever it is, and tells all subsystems so. A run that failed is told in [`Done::error`]; an error here means
    /// that results could not be written.
    pub fn finish(mut self) -> Result<Done, Error> {
        let summary = self.close()?;
        let Tables { results, energy, jumps } = self.recorder.take();
        Ok(Done {
            table: results,
            energy,
            jumps,
            finer: None,
            verdict: summary.verdict.clone(),
            ledger: Ledger { bonds: summary.bonds.clone(), total: summary.energy.clone() },
            warnings: summary.warnings.clone(),
            error: self.error.take(),
            folder: self.folder.take(),
            summary,
        })
    }

    /// Ends the run, wherever it is, and completes its results. Subsystems are not told of it before [`Session::finish`]: one that
    /// fails then changes nothing that was computed.
    pub fn conclude(&mut self) -> Result<&Summary, Error> {
        if self.concluded.is_none() {
            let summary = self.complete()?;
            if let Some(see) = self.on_conclusion.take() {
                see(&summary, self.folder.as_ref(), self.error.as_ref());
            }
            self.concluded = Some(summary);
        }
        self.concluded.as_ref().ok_or_else(ended)
    }

    fn complete(&mut self) -> Result<Summary, Error> {
        if self.phase == Phase::Closed {
            return Err(ended());
        }
        tracing::info!(target: "powerbond::run", t = self.time(), seconds = self.seconds, "the run has ended");
        let stopped = self.state() == State::Running;
        let closed = self.recorder.close().and_then(|()| self.recorder.convert());
        // All rows are on disk before a summary says how the run ended.
        let outside = self.outside.as_deref();
        let closed = closed.and_then(|()| self.folder.as_ref().map_or(Ok(()), |folder| folder.sync(outside)));
        let mut summary = self.summary();
        self.phase = Phase::Closed;
        if let Err(error) = closed {
            let failed = Summary { outcome: "failed", error: Some(error.to_string()), ..summary };
            // The disk may be full: then the summary stays as it was at the start.
            let _ = self.folder.as_ref().map(|folder| write_summary(folder, &failed));
            return Err(error);
        }
        if stopped {
            summary.outcome = "stopped";
        }
        summary.warnings.extend(self.remarks());
        self.folder.as_ref().map_or(Ok(()), |folder| write_summary(folder, &summary))?;
        Ok(summary)
    }

    fn close(&mut self) -> Result<Summary, Error> {
        self.conclude()?;
        let mut summary = self.concluded.take().ok_or_else(ended)?;
        let said = summary.warnings.len();
        for (member, error) in self.assembled.engine.finish() {
            let name = &self.assembled.names.subsystems[member];
            summary.warnings.push(format!("{name}: terminating the simulation failed: {error}"));
        }
        let log = self.assembled.log.text();
        if let Some(folder) = &self.folder {
            if !log.is_empty() {
                summary.files[LOG.0] = folder.add(LOG, &log)?.into();
            }
            if !log.is_empty() || summary.warnings.len() > said {
                write_summary(folder, &summary)?;
            }
        }
        Ok(summary)
    }
}

/// A session that is not finished is stopped where it is.
impl Drop for Session {
    fn drop(&mut self) {
        if matches!(self.phase, Phase::Begun(_)) || self.concluded.is_some() {
            let _ = self.close();
        }
    }
}

fn write_summary(folder: &RunFolder, summary: &Summary) -> Result<(), Error> {
    let path = || folder.path().join(Path::new(SUMMARY));
    let text = serde_json::to_string_pretty(summary).map_err(|e| Error::output(&path(), &e.into()))?;
    folder.replace(SUMMARY, &(text + "\n"))
}

fn ended() -> Error {
    Error::input(None, "the run was finished; start the system again for another one")
}

/// Looks about every second what FMUs have changed for everybody.
struct Look {
    before: Surroundings,
    found: Vec<Change>,
    looked: Instant,
    stride: Stride,
}

impl Look {
    fn new() -> Self {
        let before = Surroundings::now();
        Look { before, found: Vec::new(), looked: Instant::now(), stride: Stride::new() }
    }

    #[inline]
    fn at_step(&mut self) {
        if let Some(now) = self.stride.at_step()
            && now - self.looked >= Duration::from_secs(1)
        {
            self.looked = now;
            self.found.extend(self.before.restore());
        }
    }

    fn end(mut self) -> Vec<Change> {
        self.found.extend(self.before.restore());
        self.found
    }
}

struct Found {
    member: usize,
    variable: usize,
    causality: Causality,
    kind: ValueKind,
    settable: bool,
}

/// Everybody who watches a run.
struct Watch<'a> {
    verdict: &'a mut Verdict,
    recorder: &'a mut Recorder,
    pacing: Option<&'a mut Pacing>,
    foresight: &'a mut Foresight,
    observer: &'a mut dyn Observer,
}

fn join<const N: usize>(flows: [Flow; N]) -> Flow {
    if flows.contains(&Flow::Stop) { Flow::Stop } else { Flow::Continue }
}

impl Observer for Watch<'_> {
    fn started(&mut self, start: &StartView<'_>) -> Flow {
        let flow =
            join([self.verdict.started(start), self.recorder.started(start), self.observer.started(start)]);
        if let Some(pacing) = &mut self.pacing {
            pacing.begin(start.t);
        }
        flow
    }

    fn accepted(&mut self, step: &StepView<'_>, report: &StepReport<'_>) -> Flow {
        let flow = join([
            self.verdict.accepted(step, report),
            self.recorder.accepted(step, report),
            StepLog.accepted(step, report),
            self.observer.accepted(step, report),
        ]);
        let recorder = &self.recorder;
        self.foresight.at_step(step, report.number, || recorder.size());
        match &mut self.pacing {
            Some(pacing) if flow == Flow::Continue => {
                let observer = &self.observer;
                pacing.wait_for(step.span.end, || observer.interrupted())
            }
            _ => flow,
        }
    }

    fn event(&mut self, event: &EventView<'_>) -> Flow {
        join([self.verdict.event(event), self.recorder.event(event), self.observer.event(event)])
    }

    fn interrupted(&self) -> bool {
        self.observer.interrupted()
    }
}
