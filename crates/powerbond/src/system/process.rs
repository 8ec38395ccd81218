//! Where a subsystem runs: in the process of the run, in one of its own, or on another host; and what makes it there.

use super::{SimulatorSpec, System, open_fmu};
use crate::Error;
use crate::error::Collector;
use crate::source::{At, Node, Table};
use powerbond_core::subsystem::{FeedThrough, Lost, Subsystem};
use powerbond_core::suggest::hint;
use powerbond_fmi::{Fmu, FmuError, FmuSubsystem, Log, Options, Reread};
use powerbond_models::ParameterValue;
use std::path::PathBuf;
use std::sync::OnceLock;

/// `process` and `host` of a subsystem.
#[derive(Clone, Debug, Default)]
pub enum ProcessSpec {
    /// Nothing was said: the process of the run, or one of its own where that is needed.
    #[default]
    Automatic,
    /// The process of the run.
    Shared,
    /// A process of its own.
    Own(At<()>),
    /// Another host.
    Host(At<String>),
}

/// `[remote]`: how other hosts are reached.
#[derive(Clone, Debug, PartialEq)]
pub struct Remote {
    /// The program that starts a command on another host, and its first arguments; the host, `program` and its arguments follow.
    pub command: Vec<String>,
    /// powerbond on the other host, as a shell there finds it.
    pub program: String,
    /// A host from which nothing was heard for so long is lost, in s.
    pub heartbeat: f64,
}

/// ssh that asks nothing, powerbond in the path, ten seconds.
impl Default for Remote {
    fn default() -> Self {
        let command = ["ssh", "-o", "BatchMode=yes"].map(str::to_owned).to_vec();
        Remote { command, program: "powerbond".to_owned(), heartbeat: 10.0 }
    }
}

impl ProcessSpec {
    /// Reads `process` and `host` of `what`.
    pub(super) fn read(table: Table<'_>, what: &str) -> Result<Self, Error> {
        let process = match table.get("process") {
            None => ProcessSpec::Automatic,
            Some(node) => {
                let word = node.text()?;
                match word.value.as_str() {
                    "own" => ProcessSpec::Own(word.with(())),
                    "shared" => ProcessSpec::Shared,
                    other => {
                        let hint = hint(other, ["own", "shared"]);
                        return node.fail(format!("unknown process `{other}`.{hint}"));
                    }
                }
            }
        };
        let Some(node) = table.get("host") else { return Ok(process) };
        if matches!(process, ProcessSpec::Shared) {
            return node.fail(format!("{what} has a `host`, where it cannot share the process of the run"));
        }
        let host = node.text()?;
        // It becomes an argument of ssh: what looks like an option of it would be one.
        let is_odd = |c: char| c.is_whitespace() || c.is_control();
        if host.value.is_empty() || host.value.starts_with('-') || host.value.contains(is_odd) {
            return node.expected("a host as `ssh` takes it: \"machine\" or \"user@machine\"");
        }
        Ok(ProcessSpec::Host(host))
    }
}

/// Shorter heartbeats take a busy machine for a lost one, in s.
const MIN_HEARTBEAT: f64 = 0.1;
/// Longer ones are mistakes, in s.
const MAX_HEARTBEAT: f64 = 86_400.0;

impl Remote {
    /// Reads `[remote]`.
    pub(super) fn read(node: Node<'_>) -> Result<Self, Error> {
        let mut problems = Collector::new();
        let table = node.table_with(&mut problems, "`[remote]`", &["command", "program", "heartbeat"])?;
        let mut remote = Remote::default();
        if let Some(node) = table.get("command") {
            let words = problems.keep(node.texts()).unwrap_or_default();
            remote.command = words.into_iter().map(|word| word.value).collect();
            if remote.command.first().is_none_or(String::is_empty) {
                let wanted = "a program, or a list of it and its arguments: [\"ssh\", \"-p\", \"2222\"]";
                problems.keep::<()>(node.expected(wanted));
            }
        }
        if let Some(node) = table.get("program") {
            let program = problems.keep(node.text()).map(|text| text.value).unwrap_or_default();
            if program.is_empty() {
                problems.keep::<()>(node.expected("the command `powerbond` as a shell on the host finds it"));
            }
            remote.program = program;
        }
        if let Some(node) = table.get("heartbeat") {
            match problems.keep(node.number()).map(|x| x.value) {
                Some(x) if (MIN_HEARTBEAT..=MAX_HEARTBEAT).contains(&x) => remote.heartbeat = x,
                Some(_) => {
                    problems.keep::<()>(
                        node.expected(&format!("a number from {MIN_HEARTBEAT} to {MAX_HEARTBEAT}, in s")),
                    );
                }
                None => {}
            }
        }
        problems.finish(remote)
    }
}

/// Where a subsystem runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Site {
    /// In the process of the run.
    Shared,
    /// In a process of its own.
    Own,
    /// On this host.
    Host(String),
}

/// What a simulator is made of, wherever that happens.
#[derive(Clone, Debug)]
pub enum Job {
    /// A built-in model with its parameters, which were checked.
    Model {
        /// Its name.
        name: String,
        /// What was set.
        parameters: Vec<(String, ParameterValue)>,
    },
    /// An FMU.
    Fmu {
        /// Its file or folder.
        path: PathBuf,
        /// How it is made.
        job: FmuJob,
    },
}

/// How an instance of an FMU is made, with what is found out about it before.
#[derive(Clone, Debug)]
pub struct FmuJob {
    /// The name of the instance.
    pub instance: String,
    /// How it is to be made and run.
    pub options: Options,
    /// Scratch instances may make steps.
    pub steps: bool,
    /// Feed-through is declared outside of the FMU: pairs, whatever a probe sees.
    pub declared: Declared,
    /// Find out whether second derivatives of inputs are followed.
    pub curvature: bool,
}

/// What a system file says of the feed-through of an FMU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Declared {
    /// Nothing.
    No,
    /// Something, but not which pairs.
    Something,
    /// Pairs.
    Pairs,
}

/// A simulator, and what was seen when it was made.
pub struct Made<S: ?Sized = dyn Subsystem> {
    /// What it lacks of what it declares, and what of it is not used.
    pub remarks: Vec<String>,
    /// Why its feed-through could not be probed.
    pub failure: Option<String>,
    /// The simulator.
    pub simulator: Box<S>,
}

impl FmuJob {
    /// Makes the instance. Scratch instances show before whether outputs follow inputs at the current time, which no flag tells:
    /// refresh, algebraic loops and events need to know.
    pub fn make(&self, fmu: &Fmu) -> Result<Made<FmuSubsystem>, FmuError> {
        let mut options = self.options.clone();
        let mut remarks = fmu.load()?;
        let follows_nothing =
            matches!(fmu.feed_through(&options)?, FeedThrough::Declared(pairs) if pairs.is_empty());
        let nothing_to_refresh = follows_nothing && self.declared == Declared::No;
        let wanted = !fmu.is_once_per_process() && !nothing_to_refresh;
        let probed = wanted.then(|| powerbond_fmi::probe::probe(fmu, &options, self.steps));
        if self.curvature && powerbond_fmi::curvature::follows_curvature(fmu, &options) {
            options.input_derivatives = Some(2);
        }
        let mut instance = fmu.instantiate(&self.instance, &options)?;
        remarks.extend(instance.unused());
        let mut failure = None;
        if let Some(probed) = probed {
            // Gains of zero at the start: what the file declares is believed as much as what the FMU does.
            let declared = self.declared == Declared::Pairs;
            instance.set_reread(match probed.reread {
                Reread::NotSeen if declared && instance.uses_event_mode() => Reread::EventMode,
                Reread::NotSeen if declared => Reread::Plain,
                found => found,
            });
            failure = probed.failure;
        }
        Ok(Made { remarks, failure, simulator: Box::new(instance) })
    }
}

/// Why a simulator could not be made elsewhere.
#[derive(Clone, Debug)]
pub enum NotMade {
    /// What is wrong with the FMU or the model.
    Refused(String),
    /// What was to run it is gone.
    Lost(Lost),
    /// Processes cannot be started, or the host has no fitting powerbond.
    Unable(String),
}

/// Makes simulators in other processes and on other hosts. The library defines it, `powerbond-worker` has one.
pub trait Processes: Send + Sync {
    /// Makes the simulator of `subsystem` in a process of its own, on a host if there is one. What an FMU says goes to `log`.
    fn make(
        &self,
        subsystem: &str,
        host: Option<(&str, &Remote)>,
        job: &Job,
        log: &Log,
    ) -> Result<Made, NotMade>;
}

static INSTALLED: OnceLock<Box<dyn Processes>> = OnceLock::new();

/// From now on subsystems of this program may run in other processes. Only the first call has an effect.
pub fn install(processes: impl Processes + 'static) {
    let _ = INSTALLED.set(Box::new(processes));
}

/// What makes simulators in other processes, if this program has something that does.
pub(crate) fn installed() -> Option<&'static dyn Processes> {
    INSTALLED.get().map(|processes| &**processes)
}

impl System {
    /// Where each subsystem runs, in the order of [`System::subsystems`]. FMUs that cannot be instantiated twice in one process, and
    /// Python-based ones, get a process each where there are several: one process has one Python.
    pub fn sites(&self) -> Vec<Site> {
        let mut sites: Vec<Site> = self.subsystems.iter().map(|spec| site(&spec.process)).collect();
        if installed().is_none() || self.subsystems.len() < 2 {
            return sites;
        }
        let automatic = |n: &usize| matches!(self.subsystems[*n].process, ProcessSpec::Automatic);
        let open = |n: usize| match &self.subsystems[n].simulator {
            // What cannot be opened is refused later.
            SimulatorSpec::Fmu(path, _) => Some((n, open_fmu(self.folder(), path).ok()?)),
            SimulatorSpec::Model(_) | SimulatorSpec::Own(_) => None,
        };
        let shared = (0..sites.len()).filter(|n| sites[*n] == Site::Shared);
        let fmus: Vec<(usize, Fmu)> = shared.filter_map(open).collect();
        let mut known: Vec<(&Fmu, bool)> = Vec::new();
        for (_, fmu) in &fmus {
            if !known.iter().any(|(other, _)| other.is_same_as(fmu)) {
                known.push((fmu, fmus.len() > 1 && fmu.is_python_based()));
            }
        }
        let needs_python = |fmu: &Fmu| known.iter().any(|(other, python)| *python && other.is_same_as(fmu));
        let pythons = fmus.iter().filter(|(_, fmu)| needs_python(fmu)).count();
        for (n, fmu) in fmus.iter().filter(|(n, _)| automatic(n)) {
            let others = fmus.iter().filter(|(_, other)| other.is_same_as(fmu)).count() - 1;
            if (others > 0 && fmu.is_once_per_process()) || (pythons > 1 && needs_python(fmu)) {
                sites[*n] = Site::Own;
            }
        }
        sites
    }
}

fn site(process: &ProcessSpec) -> Site {
    match process {
        ProcessSpec::Automatic | ProcessSpec::Shared => Site::Shared,
        ProcessSpec::Own(_) => Site::Own,
        ProcessSpec::Host(host) => Site::Host(host.value.clone()),
    }
}

/// Makes a simulator where it is to run.
pub(crate) fn make_away(
    system: &System,
    subsystem: &At<String>,
    site: &Site,
    job: &Job,
    log: &Log,
) -> Result<Made, Result<String, Error>> {
    let Some(processes) = installed() else {
        let message = format!(
            "`{}` is to run in another process, which this program does not support: install \
             `powerbond_worker::Workers` in it, or use the command `powerbond`",
            subsystem.value
        );
        return Err(Err(Error::input(subsystem.place(), message)));
    };
    let host = match site {
        Site::Host(host) => Some((host.as_str(), &system.remote)),
        Site::Shared | Site::Own => None,
    };
    processes.make(&subsystem.value, host, job, log).map_err(|why| match why {
        NotMade::Refused(text) => Ok(text),
        NotMade::Lost(lost) => Err(Error::lost(&subsystem.value, &lost)),
        NotMade::Unable(text) => {
            Err(Error::input(subsystem.place(), format!("`{}`: {text}", subsystem.value)))
        }
    })
}
