//! A coupled system as its author describes it: what every file format is read into.

mod builder;
mod factory;
mod fmu;
mod osp;
mod params;
mod process;
pub mod signals;
mod sound;
mod ssp;
mod structure;
mod toml;
mod verdict;

use crate::Error;
use crate::catalogue::Method;
use crate::scenario::Scenario;
use crate::source::{At, Place, Source};
use crate::table::Format;
use powerbond_core::network::{NameIndex, ValueTable, VariableName};
use powerbond_core::sampled::Samples;
use powerbond_core::step::LoopRules;
use powerbond_core::time::EndRule;
use powerbond_models::{ModelSpec, ParameterValue};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use builder::{Connect, Names, Port, SystemBuilder};
pub use factory::{Factory, Models, Order, SharedFactory};
pub(crate) use fmu::{fmu_error, fmu_problem, open_fmu};
pub use osp::{FILE as OSP_FILE, LOG_CONFIG as OSP_LOG_CONFIG, ROOT as OSP_ROOT};
pub(crate) use params::with_mappings;
pub(crate) use process::make_away;
pub use process::{Declared, FmuJob, Job, Made, NotMade, ProcessSpec, Processes, Remote, Site, install};
pub use signals::SignalSpec;
pub(crate) use signals::Tables;
pub(crate) use signals::{Items, items_of, misfit};
pub(crate) use sound::check_subsystem_name;
pub(crate) use ssp::variable as variable_of;
pub use ssp::{FILE as SSP_FILE, TYPE as SSP_SETTINGS, cache};
pub(crate) use verdict::verify;
pub use verdict::{OwnStepsBy, VerdictSpec, Verify};

/// A coupled system, an experiment and a method.
#[derive(Clone, Debug)]
pub struct System {
    /// What it was made of.
    pub made_of: MadeOf,
    /// Its name.
    pub name: String,
    /// The experiment.
    pub simulation: Simulation,
    /// Who takes part.
    pub subsystems: Vec<SubsystemSpec>,
    /// What is exchanged.
    pub connections: Vec<Connection>,
    /// Inputs that follow known signals.
    pub inputs: Vec<(At<VariableName>, SignalSpec)>,
    /// Where power flows.
    pub bonds: Vec<Bond>,
    /// How it is run.
    pub method: Method,
    /// What is kept.
    pub record: Record,
    /// How it is judged.
    pub verdict: VerdictSpec,
    /// How other hosts are reached.
    pub remote: Remote,
    /// What happens to variables at known times.
    pub scenario: Option<Scenario>,
    /// What was found while the files it names were read.
    pub notes: Vec<String>,
    /// Models that it may name beside the built-in ones.
    pub models: Models,
    /// What is kept so that it need not be made again.
    pub(crate) kept: Kept,
}

/// What was made while a system was read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kept {
    /// Of its FMUs: opening them again reads nothing.
    #[expect(dead_code, reason = "it is kept for what ends with it")]
    pub contents: Vec<powerbond_fmi::Contents>,
    /// Unpacked archives, which live as long as the system.
    #[expect(dead_code, reason = "it is kept for what ends with it")]
    pub folders: Vec<Arc<powerbond_fmi::Unpacked>>,
    /// Where the file is that it was read from, if it came in an archive.
    pub folder: Option<PathBuf>,
    /// Connectors of systems of SSP.
    pub doors: Option<Arc<ssp::Doors>>,
    /// What variables measure by the groups of OSP that they are in.
    pub quantities: BTreeMap<VariableName, String>,
}

/// What a system was made of.
#[derive(Clone, Debug)]
pub enum MadeOf {
    /// A file, or a text that stands for one.
    File(Arc<Source>),
    /// A structure file of SSP or OSP.
    Structure(Arc<Source>),
    /// A single FMU. What was read of it is kept, so that it is read once.
    Fmu(powerbond_fmi::Contents),
    /// A program.
    Program,
}

/// `[simulation]`.
#[derive(Clone, Debug)]
pub struct Simulation {
    /// In s.
    pub start: At<f64>,
    /// In s.
    pub stop: Option<At<f64>>,
    /// Constant step, or the first one, in s.
    pub step: Option<At<f64>>,
    /// In s; `None`: every step.
    pub output_interval: Option<At<f64>>,
    /// Output times are hit by shortening steps, instead of interpolated.
    pub land_on_output: At<bool>,
    /// What happens at the end.
    pub end: EndRule,
    /// How consistent initial values are found.
    pub initial: LoopRules,
    /// How algebraic loops are solved in the run.
    pub loops: LoopRules,
    /// Find undeclared feed-through, and test what the file declares, at the start.
    pub probe: bool,
    /// Parameter files (SSP's `.ssv`) that were read, in the order of precedence, the lowest first.
    pub params: Vec<PathBuf>,
    /// Seconds of the run per second of wall-clock time; `None`: as fast as it goes.
    pub real_time: Option<f64>,
    /// Threads that advance subsystems side by side; 0 and 1: none beside the one that runs everything.
    pub worker_threads: usize,
    /// Go on with NaN and infinite outputs.
    pub allow_nonfinite: bool,
    /// The method chooses no step: those of an earlier run are made, in parts.
    pub repeats: Option<Arc<Repeats>>,
}

/// The steps of an earlier run, to be made again.
#[derive(Clone, Debug)]
pub struct Repeats {
    /// Where they end, in s and increasing.
    pub ends: Arc<[f64]>,
    /// Steps per step of the earlier run.
    pub parts: u32,
    /// Ends of steps of the earlier run over discontinuities that nothing announced, in s and increasing, and the input that jumped.
    pub jumps: Arc<[(f64, usize)]>,
    /// Outputs that were found to be sampled.
    pub sampled: Arc<[usize]>,
    /// Of each subsystem in the order of names: its sub-steps per second of step of the earlier run, from each time in s on.
    pub sub_steps: Vec<Arc<[(f64, f64)]>>,
}

/// From 0 s, with nothing else said.
impl Default for Simulation {
    fn default() -> Self {
        Simulation {
            start: At::default(0.0),
            stop: None,
            step: None,
            output_interval: None,
            land_on_output: At::default(false),
            end: EndRule::Exact,
            initial: LoopRules::default(),
            loops: LoopRules::default(),
            probe: true,
            params: Vec::new(),
            real_time: None,
            worker_threads: 0,
            allow_nonfinite: false,
            repeats: None,
        }
    }
}

/// `[subsystems.name]`.
#[derive(Clone, Debug)]
pub struct SubsystemSpec {
    /// Its name.
    pub name: At<String>,
    /// What simulates it.
    pub simulator: SimulatorSpec,
    /// What was set.
    pub parameters: Vec<(At<String>, Given)>,
    /// Start values of other variables, for FMUs.
    pub start: Vec<(At<String>, Given)>,
    /// Sub-steps per macro step.
    pub rate: Option<At<u32>>,
    /// Its own step in s, an integer fraction of the macro step.
    pub step: Option<At<f64>>,
    /// Its feed-through, where the file says something about it.
    pub feed_through: Option<FeedThroughSpec>,
    /// When it samples, where the file says so.
    pub sampled: Option<Samples>,
    /// Where it runs.
    pub process: ProcessSpec,
}

impl SubsystemSpec {
    /// With nothing else said.
    pub fn new(name: At<String>, simulator: SimulatorSpec) -> Self {
        SubsystemSpec {
            name,
            simulator,
            parameters: Vec::new(),
            start: Vec::new(),
            rate: None,
            step: None,
            feed_through: None,
            sampled: None,
            process: ProcessSpec::default(),
        }
    }
}

/// `feed_through` of a subsystem.
#[derive(Clone, Debug)]
pub enum FeedThroughSpec {
    /// Unknown, and not probed.
    Unknown,
    /// It is found out at the start, whatever the model says.
    Probe,
    /// These pairs of output and input, and no others.
    Pairs(At<Vec<(At<String>, At<String>)>>),
}

/// What simulates a subsystem.
#[derive(Clone, Debug)]
pub enum SimulatorSpec {
    /// A built-in model.
    Model(At<String>),
    /// An FMU, relative to the folder of the file.
    Fmu(At<PathBuf>, FmuOptions),
    /// What a program makes itself.
    Own(SharedFactory),
}

/// How an FMU is used; see [`powerbond_fmi::Options`].
#[derive(Clone, Debug, Default)]
#[allow(missing_docs)]
pub struct FmuOptions {
    pub tolerance: Option<f64>,
    pub events: bool,
    pub input_derivatives: Option<u8>,
    pub sub_steps: Option<u32>,
    pub any_step_size: bool,
    pub whole_steps: bool,
    pub logging: powerbond_fmi::Logging,
    pub log_categories: Vec<String>,
}

/// A value of a parameter as it was written.
#[derive(Clone, Debug, PartialEq)]
pub enum Given {
    /// A number.
    Number(f64),
    /// A text in quotes.
    Text(String),
    /// True or false.
    Flag(bool),
    /// A list.
    List(Vec<Given>),
    /// Typed on the command line, or more digits than a real has: what it is depends on the variable.
    Typed(String),
}

impl From<f64> for Given {
    fn from(x: f64) -> Self {
        Given::Number(x)
    }
}

impl From<i32> for Given {
    fn from(x: i32) -> Self {
        Given::Number(x.into())
    }
}

/// Every digit counts, also those that a real cannot hold.
impl From<i64> for Given {
    fn from(x: i64) -> Self {
        Given::Typed(x.to_string())
    }
}

impl From<bool> for Given {
    fn from(x: bool) -> Self {
        Given::Flag(x)
    }
}

impl From<&str> for Given {
    fn from(text: &str) -> Self {
        Given::Text(text.to_owned())
    }
}

impl From<String> for Given {
    fn from(text: String) -> Self {
        Given::Text(text)
    }
}

impl<T: Into<Given>> From<Vec<T>> for Given {
    fn from(list: Vec<T>) -> Self {
        Given::List(list.into_iter().map(Into::into).collect())
    }
}

impl Given {
    /// As a number, if it is one.
    pub fn number(&self) -> Option<f64> {
        match self {
            Given::Number(x) => Some(*x),
            Given::Flag(b) => Some(f64::from(u8::from(*b))),
            Given::Typed(text) => text.parse().ok().or_else(|| text.parse().ok().map(|b: bool| b.into())),
            Given::Text(_) | Given::List(_) => None,
        }
    }

    /// As it was written.
    pub fn to_json(&self) -> serde_json::Value {
        match self {
            Given::Number(x) => (*x).into(),
            Given::Text(text) | Given::Typed(text) => text.clone().into(),
            Given::Flag(b) => (*b).into(),
            Given::List(items) => items.iter().map(Given::to_json).collect(),
        }
    }

    /// For a built-in model.
    pub fn parameter(&self) -> Option<ParameterValue> {
        match self {
            Given::Number(x) => Some(ParameterValue::Number(*x)),
            Given::Text(text) => Some(ParameterValue::Text(text.clone())),
            Given::Flag(b) => Some(ParameterValue::Text(if *b { "yes" } else { "no" }.to_owned())),
            Given::Typed(text) => Some(match text.parse() {
                Ok(x) => ParameterValue::Number(x),
                Err(_) => ParameterValue::Text(text.trim_matches('"').to_owned()),
            }),
            Given::List(_) => None,
        }
    }
}

/// `[[connections]]`.
#[derive(Clone, Debug)]
pub struct Connection {
    /// Outputs and gains.
    pub from: Vec<(At<VariableName>, f64)>,
    /// The input.
    pub to: At<VariableName>,
    /// Is added.
    pub offset: f64,
    /// Convert units where both ends know theirs.
    pub convert_units: bool,
    /// What integers become: pairs of what arrives and what it stands for.
    pub table: Option<ValueTable>,
}

/// `[bonds.name]`.
#[derive(Clone, Debug)]
pub struct Bond {
    /// Its name.
    pub name: At<String>,
    /// Its sides.
    pub ports: Vec<BondPort>,
    /// Its own E0, in J.
    pub energy_scale: Option<f64>,
    /// Its own r.
    pub tolerance: Option<f64>,
    /// Its products are no powers (temperature and heat flow): they are followed in their own units.
    pub pseudo: bool,
}

/// A side of a bond.
#[derive(Clone, Debug)]
pub struct BondPort {
    /// Inputs.
    pub inputs: Vec<At<VariableName>>,
    /// Outputs.
    pub outputs: Vec<At<VariableName>>,
    /// +1: input times output leaves the subsystem.
    pub sign: At<f64>,
    /// Multiplies the product.
    pub ratio: f64,
    /// The outputs whose shares of the inputs the port has, one per input; empty: the whole inputs.
    pub from: Vec<At<VariableName>>,
}

/// `[record]`.
#[derive(Clone, Debug)]
pub struct Record {
    /// Patterns of `subsystem.variable`; none: inputs and outputs of FMUs, and all variables of other models.
    pub variables: Option<Vec<At<String>>>,
    /// Patterns of what is left out.
    pub exclude: Vec<At<String>>,
    /// The jumps of all coupled inputs are written, too.
    pub jumps: bool,
    /// The table of energies has what is known of bonds, outputs and corrections one by one, too.
    pub details: bool,
    /// How tables are written.
    pub format: At<Format>,
    /// The file of recorded variables, if it is not in the folder of the results.
    pub file: Option<PathBuf>,
}

impl Default for Record {
    fn default() -> Self {
        Record {
            variables: None,
            exclude: Vec::new(),
            jumps: false,
            details: false,
            format: At::default(Format::default()),
            file: None,
        }
    }
}

/// Sub-steps of a subsystem in one macro step: each is a stage that is kept in memory.
pub(crate) const MAX_RATE: u32 = 100_000;

/// The file in a folder that describes a system.
pub const SYSTEM_FILE: &str = "system.toml";
/// In bytes; more is not a description.
const MAX_SIZE: u64 = 64_000_000;

/// The system files of a folder that has no [`SYSTEM_FILE`], as a hint.
fn other_files(folder: &Path) -> String {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut names: Vec<String> = entries
        .filter(|file| {
            file.extension().is_some_and(|e| ["toml", "fmu", "ssp", "ssd"].iter().any(|known| e == *known))
        })
        .map(|file| file.display().to_string())
        .collect();
    names.sort();
    names.truncate(8);
    if names.is_empty() { String::new() } else { format!("; name the file: {}", names.join(", ")) }
}

impl System {
    /// Lets `auto` run it with a tolerance: the parts of `auto` that the file replaces stay, any other method does not.
    pub fn set_tolerance(&mut self, tolerance: &At<f64>) -> Result<(), Error> {
        if !self.method.set_tolerance(tolerance)? {
            self.simulation.step = None;
        }
        Ok(())
    }

    /// Reads a system file, `system.toml` in a folder, a structure of SSP (an archive, an `.ssd` file, a folder) or
    /// of OSP (`OspSystemStructure.xml`, a folder), or a single FMU (a `.fmu`
    /// file or its unpacked folder). What it is, its content tells.
    pub fn load(path: impl AsRef<Path>) -> Result<System, Error> {
        let path = path.as_ref();
        if let Some(found) = ssp::find(path) {
            return ssp::load(&found, None);
        }
        if let Some(file) = osp::find(path) {
            return osp::load(&file);
        }
        if fmu::is_fmu(path) {
            return fmu::system(path);
        }
        let file: PathBuf = if path.is_dir() { path.join(SYSTEM_FILE) } else { path.to_owned() };
        if path.is_dir() && !file.is_file() {
            let (folder, others) = (path.display(), other_files(path));
            return Err(Error::input(
                None,
                format!("missing `{SYSTEM_FILE}` in the folder {folder}{others}"),
            ));
        }
        toml::read(crate::source::read(&file, MAX_SIZE)?)
    }

    /// The same structure of SSP with one of its parameter sets, by name, instead of all of them.
    pub fn with_parameter_set(&self, name: &str) -> Result<System, Error> {
        let typed = || Some(Place::Option(format!("--parameter-set {name}")));
        let MadeOf::Structure(source) = &self.made_of else {
            return Err(Error::input(typed(), "only structures of SSP have parameter sets"));
        };
        match ssp::find(source.path()) {
            Some(found) => ssp::load(&found, Some(name)),
            None => Err(Error::input(typed(), "this is not an SSP structure, and has no parameter sets")),
        }
    }

    /// Whether a path is a structure of SSP or OSP, by content.
    pub fn is_structure(path: impl AsRef<Path>) -> bool {
        ssp::find(path.as_ref()).is_some() || osp::find(path.as_ref()).is_some()
    }

    /// Whether a path is a structure in a zip archive.
    pub fn is_archive(path: impl AsRef<Path>) -> bool {
        ssp::is_package(path.as_ref())
    }

    /// Whether a path is a single FMU, by content.
    pub fn is_single_fmu(path: impl AsRef<Path>) -> bool {
        fmu::is_fmu(path.as_ref()) && !Self::is_structure(path)
    }

    /// Reads a system from text; `name` stands for the file in messages.
    pub fn parse(name: &str, text: &str) -> Result<System, Error> {
        toml::read(Source::file(name, text))
    }

    /// Whether it was made of a single FMU, without a file.
    pub(crate) fn is_fmu_alone(&self) -> bool {
        matches!(self.made_of, MadeOf::Fmu(_))
    }

    /// Whether inputs of a subsystem are connected, or follow signals or a scenario.
    pub(crate) fn feeds(&self, subsystem: &str) -> bool {
        self.scenario.is_some()
            || self.connections.iter().any(|c| c.to.value.subsystem == subsystem)
            || self.inputs.iter().any(|(name, _)| name.value.subsystem == subsystem)
    }

    /// The fixed internal step of the single FMU that it was made of, in s, if it has one.
    pub(crate) fn own_step(&self) -> Option<f64> {
        match &self.made_of {
            MadeOf::Fmu(contents) => contents.description().co_simulation.as_ref()?.fixed_internal_step_size,
            MadeOf::File(_) | MadeOf::Structure(_) | MadeOf::Program => None,
        }
    }

    /// The text it was read from, if there is one.
    pub(crate) fn source(&self) -> Option<&Arc<Source>> {
        match &self.made_of {
            MadeOf::File(source) | MadeOf::Structure(source) => Some(source),
            MadeOf::Fmu(_) | MadeOf::Program => None,
        }
    }

    /// The folder of the file; paths in it are relative to this.
    pub fn folder(&self) -> &Path {
        let beside = || self.source().and_then(|source| source.path().parent());
        self.kept.folder.as_deref().or_else(beside).unwrap_or(Path::new(""))
    }

    /// The connectors of systems of SSP that stand for what they feed, by their names.
    pub(crate) fn entrances(&self) -> Vec<String> {
        self.kept.doors.as_ref().map_or(Vec::new(), |doors| doors.names())
    }

    /// What a variable measures by the file beside its FMU, if there is one that says so.
    pub(crate) fn quantity(&self, subsystem: &str, variable: &str) -> Option<&str> {
        if self.kept.quantities.is_empty() {
            return None;
        }
        self.kept.quantities.get(&VariableName::new(subsystem, variable)).map(String::as_str)
    }

    /// With nothing in it.
    fn empty(made_of: MadeOf) -> Self {
        System {
            made_of,
            name: "system".to_owned(),
            simulation: Simulation::default(),
            subsystems: Vec::new(),
            connections: Vec::new(),
            inputs: Vec::new(),
            bonds: Vec::new(),
            method: Method::default(),
            record: Record::default(),
            verdict: VerdictSpec::default(),
            remote: Remote::default(),
            scenario: None,
            notes: Vec::new(),
            models: Models::default(),
            kept: Kept::default(),
        }
    }

    /// Lets files name a model of one's own: `model = "mine/pump"`.
    pub fn register(&mut self, model: &'static ModelSpec) -> Result<(), Error> {
        self.models.register(model.name, SharedFactory::new(model))
    }

    /// Runs it with the `[method]` of another file, and with the `step` in `[simulation]` there.
    pub fn method_from(&mut self, file: &Path) -> Result<(), Error> {
        let (method, step) = toml::read_method(&crate::source::read(file, MAX_SIZE)?)?;
        (self.method, self.simulation.step) = (method, step);
        Ok(())
    }

    /// Applies `subsystem.parameter=value` or `method.knob=value` from the command line.
    pub fn set(&mut self, assignment: &str) -> Result<(), Error> {
        let form = "subsystem.parameter=value";
        let typed = At::option((), format!("--set {assignment}"));
        let Some((name, value)) = assignment.split_once('=') else {
            return Err(Error::input(typed.place(), format!("write it as `{form}`")));
        };
        let name = typed.with(name.trim().to_owned());
        if let Some(key) =
            name.value.strip_prefix("method.").filter(|_| self.specs().place("method").is_none())
        {
            return self.method.set(&format!("--set {assignment}"), key, value.trim());
        }
        let value = value.trim();
        if let Some(doors) = &self.kept.doors
            && doors.has(&name.value)
        {
            // In the unit of the connector, which need not be that of what it feeds.
            let value = value.parse().map_or_else(|_| Given::Typed(value.to_owned()), Given::Number);
            let parameter = ssp::values::Parameter { name, value, unit: None, then: None };
            let found = self.behind(&parameter, &mut Vec::new()).unwrap_or_else(|| Ok(Vec::new()))?;
            if found.is_empty() {
                let message = format!("`{}` feeds nothing that can be set", parameter.name.value);
                return Err(Error::input(typed.place(), message));
            }
            for (subsystem, name, value) in found {
                self.subsystems[subsystem].parameters.push((name, value));
            }
            return Ok(());
        }
        let (subsystem, parameter) = self.split_name(&self.specs(), &name, form)?;
        let value = Given::Typed(value.to_owned());
        self.subsystems[subsystem].parameters.push((name.with(parameter), value));
        Ok(())
    }

    /// Where each subsystem stands in [`System::subsystems`].
    pub(crate) fn specs(&self) -> NameIndex<&str> {
        self.subsystems.iter().map(|spec| spec.name.value.as_str()).collect()
    }
}
