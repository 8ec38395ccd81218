//! An FMU: opened once, described, loaded when needed, instantiated as often as it allows.

use crate::archive::{Archive, Limits};
use crate::calls::{Calls, Instance};
use crate::description::{CoSimulation, ModelDescription};
use crate::error::{
    ArchiveError, DescriptionError, FmuError, InstanceError, LibraryError, Problem, TextProblem,
};
use crate::instance::FmuSubsystem;
use crate::lifecycle::Lifecycle;
use crate::loaded::{Api, Loaded, intermediate_inputs};
use crate::log::{Environment, Live, Log};
use crate::machine::Machine;
use crate::ports::Ports;
use crate::probe::Probed;
use crate::returning::returning;
use crate::settings::{self, Settings};
use crate::trace::{Call, Trace};
use crate::value::Value;
use crate::{fmi1, fmi2, fmi3, scratch, surroundings};
use powerbond_core::subsystem::{Capabilities, FeedThrough, Packet, Variables};
use std::collections::BTreeMap;
use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::SystemTime;

/// Whether an FMU is asked to log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Logging {
    /// No (`loggingOn` is false): some say nothing then, not even why a step failed.
    Off,
    /// Yes, as it sees fit (`loggingOn` is true).
    #[default]
    On,
    /// In the categories of [`Options::log_categories`], or in all, also those that it does not declare (`fmi2SetDebugLogging`).
    Categories,
}

/// How an instance is to be made and run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Parameters, by name.
    pub parameters: Vec<(String, Value)>,
    /// Start values of inputs and other variables, by name.
    pub start: Vec<(String, Value)>,
    /// Variables that are exchanged like outputs although the model keeps them inside, by name: local variables, calculated parameters.
    pub outputs: Vec<String>,
    /// Let the FMU show itself, if it can.
    pub visible: bool,
    /// Whether it is asked to log.
    pub logging: Logging,
    /// The categories to log in; empty: all, also those that the FMU does not declare.
    pub log_categories: Vec<String>,
    /// Where its log lines go.
    pub log: Log,
    /// The relative tolerance of the FMU's own solver; its default if `None`.
    pub tolerance: Option<f64>,
    /// Use event mode and early return of FMI 3 where they are offered; otherwise the FMU handles events inside steps.
    pub events: bool,
    /// How many derivatives of its inputs it is given; `None`: as many as it takes (1 for FMI 2, whose flag names no
    /// order; 2 with FMI 3's intermediate update).
    pub input_derivatives: Option<u8>,
    /// Cross every step in so many equal parts, with inputs at the middle of each: makes any FMU follow its inputs.
    pub sub_steps: u32,
    /// Vary the step size even if the FMU declares that it cannot.
    pub any_step_size: bool,
    /// No method may cross a step in several shorter ones: starting a step costs too much, or is not allowed.
    pub whole_steps: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            parameters: Vec::new(),
            start: Vec::new(),
            outputs: Vec::new(),
            visible: false,
            logging: Logging::default(),
            log_categories: Vec::new(),
            log: Log::silent(),
            tolerance: None,
            events: false,
            input_derivatives: None,
            sub_steps: 1,
            any_step_size: false,
            whole_steps: false,
        }
    }
}

impl Options {
    /// The same for a silent instance.
    pub(crate) fn unseen(&self) -> Self {
        Options { log: Log::silent(), logging: Logging::Off, visible: false, ..self.clone() }
    }
}

/// What an instance is for.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Role {
    OfTheRun,
    Scratch,
}

/// An FMU. Clones share one description, one unpacked copy and one loaded library.
#[derive(Clone)]
pub struct Fmu {
    shared: Arc<Shared>,
}

/// What all instances of an FMU share.
pub(crate) struct Shared {
    pub path: PathBuf,
    contents: Contents,
    limits: Limits,
    loaded: Mutex<Option<Arc<Loaded>>>,
    /// By the local variables that are outputs in them.
    ports: Mutex<Vec<(Vec<u32>, Arc<Ports>)>>,
    lists: Mutex<Vec<Arc<[u32]>>>,
    probed: Mutex<Vec<(Given, Probed)>>,
    curved: Mutex<Vec<(Given, bool)>>,
    is_python_based: OnceLock<bool>,
    instances: AtomicUsize,
}

/// What was read of an FMU's file: cheap to clone. As long as one is kept, opening the same file again reads nothing.
#[derive(Clone)]
pub struct Contents(Arc<Read>);

struct Read {
    description: ModelDescription,
    platforms: Vec<String>,
}

impl std::fmt::Debug for Contents {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Contents({})", self.0.description.model_name)
    }
}

/// What an answer of a probe holds for: parameters, start values, local variables that are outputs, whether event mode is used, and
/// whether steps were made.
type Given = (Vec<(String, Value)>, Vec<(String, Value)>, Vec<String>, bool, bool);

/// FMUs that are in use, so that opening a file twice shares everything.
static OPEN: Mutex<Vec<(Identity, Weak<Shared>)>> = Mutex::new(Vec::new());

/// What was read and is in use, although the FMU may not be open any more.
static READ: Mutex<Vec<(Identity, Weak<Read>)>> = Mutex::new(Vec::new());

#[derive(Clone, PartialEq)]
struct Identity {
    path: PathBuf,
    bytes: u64,
    modified: Option<SystemTime>,
}

impl Identity {
    fn of(path: &Path) -> std::io::Result<Self> {
        let path = path.canonicalize()?;
        let described = if path.is_dir() { path.join("modelDescription.xml") } else { path.clone() };
        let metadata = described.metadata()?;
        Ok(Identity { path, bytes: metadata.len(), modified: metadata.modified().ok() })
    }
}

impl Shared {
    pub fn description(&self) -> &ModelDescription {
        self.contents.description()
    }
}

impl Contents {
    /// What the FMU says about itself.
    pub fn description(&self) -> &ModelDescription {
        &self.0.description
    }

    /// Of the file at `path`, read unless it is open already.
    fn of(path: &Path, identity: &Identity, limits: Limits) -> Result<Self, Problem> {
        let mut known = READ.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|(_, read)| read.strong_count() > 0);
        if let Some(read) = known.iter().find(|(i, _)| i == identity).and_then(|(_, read)| read.upgrade()) {
            return Ok(Contents(read));
        }
        let (description, platforms) = read_description(path, limits)?;
        let read = Arc::new(Read { description, platforms });
        known.push((identity.clone(), Arc::downgrade(&read)));
        Ok(Contents(read))
    }
}

impl Fmu {
    /// Opens a `.fmu` file or an unpacked folder and reads its description. Nothing is unpacked or loaded yet.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, FmuError> {
        Fmu::open_with(path, Limits::default())
    }

    /// As [`Fmu::open`], with other limits for what a file may hold.
    pub fn open_with(path: impl AsRef<Path>, limits: Limits) -> Result<Self, FmuError> {
        let path = path.as_ref();
        let fail = |problem: Problem| FmuError { file: path.to_owned(), problem };
        let identity = Identity::of(path).map_err(|e| fail(ArchiveError::open(path)(e).into()))?;
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|(_, shared)| shared.strong_count() > 0);
        if let Some(shared) = open.iter().find(|(i, _)| *i == identity).and_then(|(_, s)| s.upgrade()) {
            return Ok(Fmu { shared });
        }
        let contents = Contents::of(path, &identity, limits).map_err(fail)?;
        let shared = Arc::new(Shared {
            path: path.to_owned(),
            contents,
            limits,
            loaded: Mutex::new(None),
            ports: Mutex::new(Vec::new()),
            lists: Mutex::new(Vec::new()),
            probed: Mutex::new(Vec::new()),
            curved: Mutex::new(Vec::new()),
            is_python_based: OnceLock::new(),
            instances: AtomicUsize::new(0),
        });
        open.push((identity, Arc::downgrade(&shared)));
        Ok(Fmu { shared })
    }

    /// What it says about itself.
    pub fn description(&self) -> &ModelDescription {
        self.shared.description()
    }

    /// What was read of its file.
    pub fn contents(&self) -> Contents {
        self.shared.contents.clone()
    }

    /// The platforms that it has libraries for, as the standards name their folders.
    pub fn platforms(&self) -> &[String] {
        &self.shared.contents.0.platforms
    }

    /// Whether it can be instantiated only once per process.
    pub fn is_once_per_process(&self) -> bool {
        self.description().co_simulation.as_ref().is_some_and(|c| c.only_once_per_process)
    }

    /// Whether both were opened from the same file, and share its library.
    pub fn is_same_as(&self, other: &Fmu) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// Whether its libraries for this platform need Python's. A process has one Python, and modules of equal names in it are one.
    pub fn is_python_based(&self) -> bool {
        *self.shared.is_python_based.get_or_init(|| {
            Archive::open(&self.shared.path, self.shared.limits)
                .is_ok_and(|mut archive| archive.binaries_name(crate::library::FOLDERS, "libpython"))
        })
    }

    /// The file or folder it was opened from.
    pub fn path(&self) -> &Path {
        &self.shared.path
    }

    /// Its variables as a run sees them, numbers and others, without unpacking or loading anything.
    pub fn variables(&self) -> Result<(Variables, Vec<Packet>), FmuError> {
        let ports = self.ports(&BTreeMap::new(), &[], Capabilities::default());
        let ports = ports.map_err(|e| self.fail(e.into()))?;
        Ok((ports.info.variables.clone(), ports.packets.clone()))
    }

    /// Unpacks it and loads its library, which the first instance would do otherwise. Returns what the library lacks
    /// of what the description promises; such capabilities are not used.
    pub fn load(&self) -> Result<Vec<String>, FmuError> {
        Ok(self.loaded()?.shortcomings.clone())
    }

    /// Makes an instance. Parameters and start values are checked now and set when the run begins.
    pub fn instantiate(&self, name: &str, options: &Options) -> Result<FmuSubsystem, FmuError> {
        self.instance(name, options, Role::OfTheRun)
    }

    /// An instance that is tried out before the run, silent and unseen; calls of it count as those of `name`.
    pub(crate) fn scratch(&self, name: &str, options: &Options) -> Result<FmuSubsystem, FmuError> {
        match scratch::forbidden() {
            Some(why) => Err(self.fail(InstanceError::NoScratch { why: why.to_owned() }.into())),
            None => self.instance(name, &options.unseen(), Role::Scratch),
        }
    }

    fn instance(&self, name: &str, options: &Options, role: Role) -> Result<FmuSubsystem, FmuError> {
        let loaded = self.loaded()?;
        let description = self.description();
        let interface = self.interface()?;
        let structural =
            settings::structural(description, &options.parameters).map_err(|e| self.fail(e.into()))?;
        let capabilities = loaded.capabilities(description, interface, options);
        let outputs = self.outputs(options)?;
        let ports = self.ports(&structural, &outputs, capabilities).map_err(|e| self.fail(e.into()))?;
        let settings = Settings::new(description, &options.parameters, &options.start, &ports.sizes)
            .map_err(|e| self.fail(e.into()))?;
        let ticket = Ticket::take(&self.shared, interface, name).map_err(|e| self.fail(e.into()))?;
        let (calls, changes) = surroundings::guard(|| self.make(&loaded, name, options, role));
        let machine = Machine::new(calls.map_err(|e| self.fail(e.into()))?, loaded.guarded_steps());
        machine.remark(Call::Instantiate, &changes);
        let fmu = self.clone();
        Ok(FmuSubsystem::new(fmu, role, loaded, machine, ticket, ports, settings, capabilities, options))
    }

    /// Lists of value references that instances have in common, so that they are in memory once.
    pub(crate) fn intern(&self, references: Vec<u32>) -> Arc<[u32]> {
        let mut lists = self.shared.lists.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(list) = lists.iter().rev().take(16).find(|list| ***list == *references) {
            return list.clone();
        }
        lists.push(references.into());
        lists[lists.len() - 1].clone()
    }

    /// What a probe with these parameters and start values found before, or finds now.
    pub(crate) fn probed_once(
        &self,
        options: &Options,
        steps: bool,
        probe: impl FnOnce() -> Probed,
    ) -> Probed {
        once(&self.shared.probed, options, steps, probe)
    }

    /// Likewise for second derivatives of inputs.
    pub(crate) fn curved_once(&self, options: &Options, probe: impl FnOnce() -> bool) -> bool {
        once(&self.shared.curved, options, true, probe)
    }

    /// An instance without anything around it, for one of this role that it takes the place of.
    pub(crate) fn another(
        &self,
        role: Role,
        name: &str,
        options: &Options,
    ) -> Result<(Arc<Loaded>, Calls), FmuError> {
        let loaded = self.loaded()?;
        let calls = self.make(&loaded, name, options, role).map_err(|e| self.fail(e.into()))?;
        Ok((loaded, calls))
    }

    /// Its name without folders.
    pub(crate) fn file_name(&self) -> String {
        self.shared.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    pub(crate) fn fail(&self, problem: Problem) -> FmuError {
        FmuError { file: self.shared.path.clone(), problem }
    }

    pub(crate) fn interface(&self) -> Result<&CoSimulation, FmuError> {
        let description = self.description();
        description.co_simulation.as_ref().ok_or_else(|| {
            let offers = match (description.has_model_exchange, description.has_scheduled_execution) {
                (true, true) => "model exchange and scheduled execution",
                (false, true) => "scheduled execution",
                _ => "model exchange",
            };
            self.fail(LibraryError::NotCoSimulation { offers: offers.to_owned() }.into())
        })
    }

    fn loaded(&self) -> Result<Arc<Loaded>, FmuError> {
        let mut slot = self.shared.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        // A library in which an instance had a fatal error is lost. Another copy of it is not: it has memory of its own.
        if let Some(loaded) = slot.as_ref().filter(|loaded| !loaded.fatal.load(Ordering::Relaxed)) {
            return Ok(loaded.clone());
        }
        let interface = self.interface()?;
        let load = || -> Result<Loaded, Problem> {
            let files = Archive::open(&self.shared.path, self.shared.limits)?.unpack()?;
            let file = self.file_name();
            let trace = Trace::new(&file, self.description().version);
            let loaded = trace
                .marks()
                .during(Call::Load, || returning(|| Loaded::new(files, self.description(), interface)));
            Ok(loaded?)
        };
        let loaded = Arc::new(load().map_err(|problem| self.fail(problem))?);
        *slot = Some(loaded.clone());
        Ok(loaded)
    }

    /// The local variables that are outputs, by index.
    fn outputs(&self, options: &Options) -> Result<Vec<u32>, FmuError> {
        settings::outputs(self.description(), &options.outputs).map_err(|e| self.fail(e.into()))
    }

    /// Direct feed-through as the description declares it, of indices of its variables. With a local variable among the outputs that
    /// may follow inputs, it is unknown.
    pub fn feed_through(&self, options: &Options) -> Result<FeedThrough, FmuError> {
        Ok(self.description().feed_through_with(&self.outputs(options)?))
    }

    /// The engine's view; shared by all instances unless structural parameters differ.
    fn ports(
        &self,
        structural: &BTreeMap<u32, u64>,
        outputs: &[u32],
        capabilities: Capabilities,
    ) -> Result<Arc<Ports>, DescriptionError> {
        let kind = self.file_name();
        let make = || Ports::new(&kind, self.description(), structural, outputs, capabilities).map(Arc::new);
        if !structural.is_empty() {
            return make();
        }
        let mut known = self.shared.ports.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, ports)) = known.iter().find(|(of, _)| of == outputs) {
            return Ok(ports.clone());
        }
        let ports = make()?;
        known.push((outputs.to_vec(), ports.clone()));
        Ok(ports)
    }

    fn make(
        &self,
        loaded: &Loaded,
        name: &str,
        options: &Options,
        role: Role,
    ) -> Result<Calls, InstanceError> {
        let description = self.description();
        let c_name = c_string(if role == Role::Scratch { "scratch" } else { name })?;
        let token = c_string(&description.token)?;
        let resources = &loaded.resources;
        let environment = Live::new(Environment::new(name, description.version, options.log.clone()));
        if role == Role::Scratch {
            environment.trace.is_of_scratch();
        }
        environment.trace.marks().begin(Call::Instantiate);
        let event_mode = description
            .co_simulation
            .as_ref()
            .is_some_and(|i| loaded.uses_event_mode(description, i, options));
        let (visible, logging) = (options.visible, options.logging != Logging::Off);
        let made = match &loaded.api {
            Api::Fmi1(api) => {
                fmi1::Instance::new(api.clone(), &c_name, &token, resources, environment, visible, logging)
                    .map(Instance::Fmi1)
            }
            Api::Fmi2(api) => {
                fmi2::Instance::new(api.clone(), &c_name, &token, resources, environment, visible, logging)
                    .map(Instance::Fmi2)
            }
            Api::Fmi3(api) => {
                let interface = description.co_simulation.as_ref();
                let request = fmi3::Request {
                    name: &c_name,
                    token: &token,
                    resources,
                    visible,
                    logging,
                    event_mode,
                    early_return: options.events && interface.is_some_and(|i| i.might_return_early),
                    intermediate: &intermediate_inputs(description),
                };
                fmi3::Instance::new(api.clone(), &request, environment).map(Instance::Fmi3)
            }
        };
        let instance = made.map_err(|environment| InstanceError::Refused {
            name: name.to_owned(),
            call: match loaded.api {
                Api::Fmi1(_) => fmi1::NAMES.instantiate,
                Api::Fmi2(_) => fmi2::NAMES.instantiate,
                Api::Fmi3(_) => fmi3::NAMES.instantiate,
            },
            guid: description.token.clone(),
            tool: description.co_simulation.as_ref().filter(|c| c.needs_execution_tool).map(|_| {
                match &*description.generation_tool {
                    "" => String::new(),
                    tool => format!(": {tool}"),
                }
            }),
            log: environment.take_recent(),
        })?;
        let calls = Calls::new(instance, Lifecycle::new(event_mode, loaded.fatal.clone()));
        let _ = calls.restore_mode();
        calls.environment().trace.marks().end();
        if options.logging == Logging::Categories {
            let categories: Vec<CString> =
                options.log_categories.iter().filter_map(|c| CString::new(c.as_str()).ok()).collect();
            // What it answers does not matter: a run without extra lines is a run.
            let _status = calls.log_categories(&categories);
        }
        Ok(calls)
    }
}

fn read_description(path: &Path, limits: Limits) -> Result<(ModelDescription, Vec<String>), Problem> {
    let mut archive = Archive::open(path, limits)?;
    let entry = "modelDescription.xml";
    let xml = archive
        .xml(entry)?
        .ok_or_else(|| ArchiveError::Missing { entry: entry.to_owned(), folder: archive.folder_of(entry) })?;
    let mut description = ModelDescription::parse(&xml)?;
    if let Some(xml) = archive.xml("terminalsAndIcons/terminalsAndIcons.xml")? {
        description.add_terminals(&xml)?;
    }
    Ok((description, archive.platforms()))
}

fn c_string(text: &str) -> Result<CString, InstanceError> {
    CString::new(text)
        .map_err(|_| InstanceError::Text { problem: TextProblem::ZeroByte { text: text.to_owned() } })
}

/// Counts a living instance.
pub(crate) struct Ticket(Arc<Shared>);

impl Ticket {
    fn take(shared: &Arc<Shared>, interface: &CoSimulation, name: &str) -> Result<Self, InstanceError> {
        let ticket = Ticket(shared.clone());
        let others = shared.instances.fetch_add(1, Ordering::Relaxed);
        if others > 0 && interface.only_once_per_process {
            return Err(InstanceError::OncePerProcess { name: name.to_owned() });
        }
        Ok(ticket)
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.0.instances.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What `probe` found before with these options, or finds now.
fn once<T: Clone>(
    known: &Mutex<Vec<(Given, T)>>,
    options: &Options,
    steps: bool,
    probe: impl FnOnce() -> T,
) -> T {
    let Options { parameters, start, outputs, events, .. } = options;
    let given = (parameters.clone(), start.clone(), outputs.clone(), *events, steps);
    let known = || known.lock().unwrap_or_else(PoisonError::into_inner);
    let before = known().iter().find(|(g, _)| *g == given).map(|(_, found)| found.clone());
    before.unwrap_or_else(|| {
        let found = probe();
        known().push((given, found.clone()));
        found
    })
}
