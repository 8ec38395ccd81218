//! An instance of an FMU as a subsystem of the engine.

use crate::calls::{Direction, Experiment, Stage};
use crate::description::{Causality, ClockFormat, Kind, Variability, Variable, Version};
use crate::error::{FmuError, InstanceError};
use crate::fmi3::Intermediate;
use crate::fmu::{Fmu, Options, Role, Ticket};
use crate::lifecycle::State;
use crate::loaded::{Direct, Loaded, intermediate_inputs};
use crate::machine::Machine;
use crate::numbers::Numbers;
use crate::packets::Cell;
use crate::perturb::Trial;
use crate::ports::{Port, Ports};
use crate::reread::Reread;
use crate::settings::{Setting, Settings};
use crate::snapshot::{Book, FmuSnapshot, States};
use crate::start::Start;
use crate::status::OK;
use crate::stepping::{Crossed, Derivatives, StepRule, Stepper};
use crate::surroundings;
use crate::trace::Call;
use crate::transfer::{Incoming, OutputDerivatives, Route, Sent};
use crate::value::Value;
use powerbond_core::subsystem::{
    Advance, Binding, Capabilities, Digits, FeedThrough, Info, Inputs, Packet, Setup, Span, StateSnapshot,
    StepEvent, Subsystem, SubsystemError,
};
use powerbond_core::time::resolution;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{c_int, c_void};
use std::mem::offset_of;
use std::sync::Arc;

/// FMUs are told a stop time this share of the run beyond its end: steps end there up to round-off only, the last one
/// may overshoot, and some FMUs refuse to step past the time that they were told.
const BEYOND: f64 = 0.1;

/// How many variables that cannot be read are told apart from others.
const MOST_REFUSED: usize = 64;

/// A state beside that of rollback, with what belongs to it: see [`Subsystem::save_second`].
struct SecondSlot {
    state: *mut c_void,
    /// What the FMU had for its inputs.
    inputs: Vec<Sent>,
    /// In seconds.
    time: f64,
    next_event: Option<f64>,
    pending: bool,
}

impl Default for SecondSlot {
    fn default() -> Self {
        let state = std::ptr::null_mut();
        SecondSlot { state, inputs: Vec::new(), time: f64::NEG_INFINITY, next_event: None, pending: false }
    }
}

/// An instance of an FMU.
///
/// Value references are gathered once, in `bind`; a step is then one call each for inputs, their derivatives where the
/// FMU takes them, the step and the outputs, without allocation. A step that the FMU does not finish is given back to
/// the engine if the engine keeps states; otherwise it is continued to its end, and the event shows in the statistics.
///
/// What a plain step touches is in two cache lines, the head of `machine` and from `direct` to the head of `stepper`: with many instances
/// it is memory that costs.
#[repr(C, align(64))]
pub struct FmuSubsystem {
    machine: Machine,
    /// A step of any length is one call for inputs, one to step and one for outputs.
    direct: Option<Direct>,
    /// Derivatives of inputs make it more than that.
    follows: bool,
    /// How outputs are read again after a step.
    reread: Reread,
    time: f64,
    stepper: Stepper,
    inputs: Incoming,
    outputs: Route,
    state: *mut c_void,
    states: States,
    /// What the FMU had for its inputs when `state` was saved.
    saved_inputs: Vec<Sent>,
    second: SecondSlot,
    probes: Route,
    columns: Vec<Column>,
    derivatives: OutputDerivatives,
    /// How FMI 1 is initialized, and with what.
    start: Option<Start>,
    info: Arc<Info>,
    ports: Arc<Ports>,
    settings: Settings,
    options: Options,
    constant_step: bool,
    _ticket: Ticket,
    loaded: Arc<Loaded>,
    role: Role,
    fmu: Fmu,
}

const _: () = {
    let line = align_of::<FmuSubsystem>();
    let last = offset_of!(FmuSubsystem, stepper) + offset_of!(Stepper, has_snapshots);
    assert!(offset_of!(FmuSubsystem, direct) / line == last / line);
};

/// A column of ∂y/∂u: one input, all outputs that feed it through.
#[derive(Default)]
struct Column {
    known: u32,
    seed: Vec<f64>,
    unknowns: Vec<u32>,
    sensitivity: Vec<f64>,
    /// Places in the engine's list and in `sensitivity`.
    picks: Vec<(usize, usize)>,
}

impl FmuSubsystem {
    #[allow(clippy::too_many_arguments)] // Called from one place, with everything that an instance is made of.
    pub(crate) fn new(
        fmu: Fmu,
        role: Role,
        loaded: Arc<Loaded>,
        machine: Machine,
        ticket: Ticket,
        ports: Arc<Ports>,
        settings: Settings,
        mut capabilities: Capabilities,
        options: &Options,
    ) -> Self {
        let mut info = ports.info.clone();
        capabilities.feed_through_values &= info.feed_through != FeedThrough::Unknown;
        if info.capabilities != capabilities {
            Arc::make_mut(&mut info).capabilities = capabilities;
        }
        let interface = fmu.description().co_simulation.clone().unwrap_or_default();
        let constant_step = !interface.can_handle_variable_step_size && !options.any_step_size;
        let rule = match (capabilities.fixed_step, constant_step) {
            (Some(step), _) => StepRule::MultiplesOf(step),
            (None, true) => StepRule::Constant(None),
            (None, false) => StepRule::Any,
        };
        FmuSubsystem {
            state: std::ptr::null_mut(),
            states: States::default(),
            saved_inputs: Vec::new(),
            second: SecondSlot::default(),
            inputs: Incoming::new(Route::empty()),
            outputs: Route::empty(),
            direct: None,
            follows: false,
            reread: Reread::default(),
            probes: Route::empty(),
            stepper: Stepper {
                rule,
                sub_steps: options.sub_steps.max(1),
                event_mode: machine.uses_event_mode(),
                pending: false,
                saved_pending: false,
                derivatives: None,
                intermediate: None,
                engine_goes_back: false,
                has_snapshots: false,
                saved_time: f64::NEG_INFINITY,
                saved_event: None,
                slack: 0.0,
                scratch: Vec::new(),
                middle: Vec::new(),
                interrupted: 0,
            },
            time: f64::NEG_INFINITY,
            columns: Vec::new(),
            derivatives: OutputDerivatives::default(),
            start: None,
            info,
            ports,
            settings,
            options: options.clone(),
            constant_step,
            _ticket: ticket,
            loaded,
            role,
            fmu,
            machine,
        }
    }

    /// The FMU that this is an instance of.
    pub fn fmu(&self) -> &Fmu {
        &self.fmu
    }

    /// What it was made with.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Whether all its steps must have one length (FMI's canHandleVariableCommunicationStepSize is false).
    pub fn needs_constant_step(&self) -> bool {
        self.constant_step
    }

    /// How many calls returned a warning.
    pub fn warnings(&self) -> u64 {
        self.machine.warnings()
    }

    /// How many steps the FMU did not finish at once.
    pub fn interrupted_steps(&self) -> u64 {
        self.stepper.interrupted
    }

    /// What the FMU has that is not used: clocks that never tick.
    pub fn unused(&self) -> Vec<String> {
        let variables = self.fmu.description().variables.iter();
        let clocks = variables.filter_map(|v| Some((v, v.clock.as_deref()?)));
        let text = |(v, clock): (&Variable, &ClockFormat)| match v.causality {
            Causality::Input => format!(
                "the clock `{}` ({}) is never activated, because clocks are not supported; what belongs to it does \
                 not change",
                v.name,
                clock.describe()
            ),
            _ => format!("activations of the clock `{}` ({}) are not propagated", v.name, clock.describe()),
        };
        clocks.map(text).collect()
    }

    /// Declares how outputs are read again after a step, and with it whether they can be; [`crate::probe`] finds out. Until then
    /// nothing is claimed.
    pub fn set_reread(&mut self, reread: Reread) {
        self.reread = reread;
        let can_refresh = reread.can_refresh(&self.info.feed_through);
        if self.info.capabilities.can_refresh != can_refresh {
            Arc::make_mut(&mut self.info).capabilities.can_refresh = can_refresh;
        }
    }

    /// How outputs are read again after a step.
    pub fn reread(&self) -> Reread {
        self.reread
    }

    /// Whether events are handled in Event Mode (FMI 3): offered, asked for, and there.
    pub fn uses_event_mode(&self) -> bool {
        self.machine.uses_event_mode()
    }

    /// Declares the feed-through graph of an FMU that does not; [`crate::probe`] finds it.
    pub fn set_feed_through(&mut self, pairs: Vec<(usize, usize)>) {
        Arc::make_mut(&mut self.info).feed_through = FeedThrough::Declared(pairs);
        self.set_reread(self.reread);
    }

    /// The inputs, by index of variable; of two that are one variable the first.
    pub(crate) fn distinct_inputs(&self) -> Vec<usize> {
        let mut known = BTreeSet::new();
        let variables = self.info.variables.iter().enumerate();
        let inputs = variables.filter(|(_, v)| {
            v.causality == powerbond_core::subsystem::Causality::Input && v.digits != Digits::Rest
        });
        inputs.map(|(v, _)| v).filter(|&v| known.insert(self.variable_key(v))).collect()
    }

    /// Values of an input to try out, around the one that it starts with.
    pub(crate) fn trial(&self, input: usize) -> Trial {
        let (description, place) = (self.fmu.description(), self.ports.places[input]);
        let variable = &description.variables[place.variable as usize];
        let given = self.options.start.iter().rev().find(|(name, _)| *name == *variable.name);
        let start = given.and_then(|(_, value)| {
            value.elements().get(place.element as usize)?.number(variable.kind, description.type_of(variable))
        });
        Trial::new(description, variable, start.unwrap_or(self.info.variables[input].start))
    }

    /// What a variable is for the FMU: two names of one variable have one key.
    fn variable_key(&self, v: usize) -> (Kind, u32, u32, bool) {
        let port = self.ports.places[v];
        let variable = &self.fmu.description().variables[port.variable as usize];
        let is_rest = self.info.variables[v].digits == Digits::Rest;
        (variable.kind, variable.reference, port.element, is_rest)
    }

    /// Sets a tunable parameter or an input while the simulation runs.
    pub fn set(&mut self, name: &str, value: &Value) -> Result<(), FmuError> {
        let description = self.fmu.description();
        let Some(v) = description.find(name) else {
            let names = description.variables.iter().map(|v| &*v.name);
            let suggestion = powerbond_core::suggest::closest(name, names).map(str::to_owned);
            return Err(self
                .fmu
                .fail(InstanceError::NoVariable { name: name.to_owned(), suggestion }.into()));
        };
        let variable = &description.variables[v];
        self.refuse_fixed(variable)?;
        let setting = Setting::new(description, variable, value, self.ports.sizes[v])
            .map_err(|error| self.fmu.fail(error.into()))?;
        self.apply(&setting).map_err(|error| self.status_error(name, error))
    }

    fn refuse_fixed(&self, variable: &Variable) -> Result<(), FmuError> {
        let stepping = matches!(self.machine.state(), State::Step | State::Event);
        if stepping && variable.variability == Variability::Fixed {
            let (name, reason) = (variable.name.to_string(), "fixed while the simulation runs".to_owned());
            return Err(self.fmu.fail(InstanceError::NotSettable { name, reason }.into()));
        }
        Ok(())
    }

    /// Sets a variable at the current time. FMI 3.0.2, variability `tunable` and `discrete`: with `eventModeUsed` such variables
    /// change at events only; all inputs may be set there.
    fn apply(&self, setting: &Setting) -> Result<(), SubsystemError> {
        let apply = || setting.apply(&self.machine);
        if self.machine.has_event_mode() {
            self.machine.at_event((self.time, self.stepper.slack), apply, || Ok(()))
        } else {
            apply()
        }
    }

    /// Sets one element of an array; the others stay what the FMU has, since arrays are set as a whole.
    fn set_element(&mut self, Port { variable, element }: Port, value: f64) -> Result<(), SubsystemError> {
        let (calls, size) = (&self.machine.calls, self.ports.sizes[variable as usize]);
        let description = self.fmu.description();
        let variable = &description.variables[variable as usize];
        let refused = |error: FmuError| SubsystemError::Infeasible { message: error.to_string() };
        self.refuse_fixed(variable).map_err(refused)?;
        let mut numbers = Numbers::new(description.version, variable.kind, size as usize);
        let code = calls.get(variable.kind, &[variable.reference], &mut numbers);
        self.machine.check(code, calls.accessors(variable.kind).0)?;
        numbers.write(element as usize, value);
        self.apply(&Setting::of_numbers(variable, numbers))?;
        // Elements that are bound are sent together with this one.
        self.inputs.numbers.fill_gaps(&self.machine)
    }

    /// Reads a text variable.
    pub fn text(&self, name: &str) -> Option<String> {
        let description = self.fmu.description();
        let v = description.find(name).filter(|&v| description.variables[v].kind == Kind::String)?;
        let mut cell = Cell::new(description, &self.ports, v as u32);
        let bytes = cell.read(&self.machine, 0).ok()?;
        Some(String::from_utf8_lossy(bytes).into_owned())
    }

    /// The buffers of a text or a binary, made at its first use, and its place in them.
    fn cell(&mut self, packet: usize) -> (usize, usize) {
        let port = self.ports.packet_places[packet];
        let cells = &mut self.inputs.cells;
        let known = cells.iter().position(|cell| cell.variable == port.variable);
        let place = known.unwrap_or_else(|| {
            cells.push(Cell::new(self.fmu.description(), &self.ports, port.variable));
            cells.len() - 1
        });
        (place, port.element as usize)
    }

    fn status_error(&self, name: &str, error: SubsystemError) -> FmuError {
        let (call, status, log) = match error {
            SubsystemError::Status { call, status, message } => (call, status, message),
            other => ("set", other.to_string(), String::new()),
        };
        let log = if log.is_empty() { log } else { format!(": {log}") };
        self.fmu.fail(InstanceError::Status { name: name.to_owned(), call, status, log }.into())
    }

    /// Two inputs of FMI 1 and 2 may be names of one variable: the value that is set last would count, without a word.
    fn refuse_one_input_twice(&self, binding: &Binding) -> Result<(), SubsystemError> {
        let variables = &self.fmu.description().variables;
        let mut known = BTreeMap::new();
        for &input in &binding.inputs {
            let variable = &variables[self.ports.places[input].variable as usize];
            if let Some(other) = known.insert(self.variable_key(input), &variable.name) {
                let (name, reference) = (&variable.name, variable.reference);
                let message = format!(
                    "inputs `{other}` and `{name}` are the same variable (value reference {reference}); only one can \
                     be connected"
                );
                return Err(SubsystemError::Infeasible { message });
            }
        }
        Ok(())
    }

    /// The real inputs among `bound`: references and places.
    fn real_inputs(&self, bound: &[usize]) -> (Vec<u32>, Vec<u32>) {
        let variables = &self.fmu.description().variables;
        let real = bound.iter().enumerate().filter_map(|(place, &v)| {
            let variable = &variables[self.ports.places[v].variable as usize];
            let continuous = variable.variability == Variability::Continuous;
            (variable.kind == Kind::Float64 && continuous && variable.dimensions.is_empty())
                .then_some((variable.reference, place as u32))
        });
        real.unzip()
    }

    fn columns(&self, binding: &Binding) -> Vec<Column> {
        let variables = &self.fmu.description().variables;
        let port = |v: usize| self.ports.places[v];
        let is_real = |v: usize| variables[port(v).variable as usize].kind == Kind::Float64;
        let mut columns: BTreeMap<usize, Column> = BTreeMap::new();
        for (place, &(o, i)) in binding.feed_through.iter().enumerate() {
            let (output, input) = (binding.outputs[o], binding.inputs[i]);
            // Integers and booleans have no derivative; their place stays zero.
            if !is_real(output) || !is_real(input) {
                continue;
            }
            let known = port(input);
            let column = columns.entry(input).or_insert_with(|| {
                let mut seed = vec![0.0; self.ports.sizes[known.variable as usize] as usize];
                seed[known.element as usize] = 1.0;
                Column { known: variables[known.variable as usize].reference, seed, ..Column::default() }
            });
            let (unknown, first) = (port(output), column.sensitivity.len());
            column.unknowns.push(variables[unknown.variable as usize].reference);
            let size = self.ports.sizes[unknown.variable as usize] as usize;
            column.sensitivity.resize(first + size, 0.0);
            column.picks.push((place, first + unknown.element as usize));
        }
        columns.into_values().collect()
    }

    /// A step after which it is looked what it changed for everybody.
    #[cold]
    fn advance_guarded(
        &mut self,
        span: Span,
        u: Inputs<'_>,
        y: &mut [f64],
    ) -> Result<Advance, SubsystemError> {
        let (advanced, changes) = surroundings::guard(|| self.advance_now(span, u, y));
        self.machine.restore_mode();
        self.machine.remark(Call::Step, &changes);
        advanced
    }

    #[inline(always)]
    fn advance_now(&mut self, span: Span, u: Inputs<'_>, y: &mut [f64]) -> Result<Advance, SubsystemError> {
        if let Some(Direct { inputs, outputs }) = &self.direct
            && (u.slope.is_empty() || !self.follows)
        {
            let is_final = |t| self.stepper.is_final(t);
            let calls = &self.machine.calls;
            let answer = calls.set_step_get((inputs, u.value), &span, is_final, (outputs, y));
            return match answer {
                Ok(()) => {
                    self.time = span.end;
                    Ok(Advance::whole(span))
                }
                Err((stage, code)) => self.resume(stage, code, span, u, y),
            };
        }
        self.advance_in_calls(span, u, y)
    }

    /// A step with derivatives of inputs, other types than reals, or a rule for its length. Kept out of the way of plain
    /// steps, which would save registers for it.
    #[inline(never)]
    fn advance_in_calls(
        &mut self,
        span: Span,
        u: Inputs<'_>,
        y: &mut [f64],
    ) -> Result<Advance, SubsystemError> {
        if self.machine.has_terminated() {
            return Ok(Advance { reached: span.start, event: StepEvent::Terminated, next_event: None });
        }
        if self.machine.state() != State::Step && !self.machine.is_at_event() {
            return Err(self.machine.wrong_phase("advance"));
        }
        self.machine.calls.step_at(span.start);
        let crossed = self.stepper.cross(&self.machine, &mut self.inputs, span, u, self.state)?;
        self.arrive(crossed, y)
    }

    /// Goes on with a plain step after one of its calls answered something else than OK.
    #[cold]
    fn resume(
        &mut self,
        stage: Stage,
        code: c_int,
        span: Span,
        u: Inputs<'_>,
        y: &mut [f64],
    ) -> Result<Advance, SubsystemError> {
        let machine = &self.machine;
        let code = match stage {
            Stage::State => return self.advance_in_calls(span, u, y),
            Stage::Inputs => {
                machine.check(code, machine.calls.names().set_real)?;
                machine.calls.step(span.start, span.h, self.stepper.is_final(span.start))
            }
            Stage::Step => code,
            Stage::Outputs => {
                machine.check(code, machine.calls.names().get_real)?;
                OK
            }
        };
        let crossed = self.stepper.follow_up(machine, &mut self.inputs, span, u, self.state, code)?;
        self.arrive(crossed, y)
    }

    fn arrive(&mut self, crossed: Crossed, y: &mut [f64]) -> Result<Advance, SubsystemError> {
        let Crossed { reached, event } = crossed;
        self.outputs.receive(&self.machine, y)?;
        self.time = reached;
        Ok(Advance { reached, event, next_event: self.next_event() })
    }

    /// From the start values into initialization mode.
    fn enter_initialization(&mut self, setup: &Setup) -> Result<(), SubsystemError> {
        // A probe on a scratch instance may have cost the library. Nothing has been asked of this instance yet: it is made anew.
        if self.machine.state() == State::Fatal && self.time == f64::NEG_INFINITY {
            self.remake()?;
        }
        self.machine.reset()?;
        self.stepper.engine_goes_back = false;
        self.stepper.pending = false;
        self.stepper.slack = resolution(setup.start, setup.stop);
        self.inputs.cells.clear();
        self.inputs.settings.clear();
        self.inputs.numbers.forget();
        if let StepRule::Constant(first) = &mut self.stepper.rule {
            *first = None;
        }
        self.settings.apply(&self.machine)?;
        let stop = setup.stop + BEYOND * (setup.stop - setup.start);
        let experiment = Experiment { tolerance: self.options.tolerance, start: setup.start, stop };
        self.time = setup.start;
        if self.machine.calls.version() == Version::Fmi1 {
            // Initializing it waits for the inputs.
            self.start = Some(Start::new(experiment));
            return Ok(());
        }
        let code = self.machine.calls.enter_initialization(&experiment);
        self.machine.check(code, self.machine.calls.names().enter)?;
        self.inputs.numbers.fill_gaps(&self.machine)
    }

    /// Another instance takes the place of this one, in the state after instantiation.
    fn remake(&mut self) -> Result<(), SubsystemError> {
        let name = self.machine.calls.environment().instance().to_owned();
        let refused = |error: FmuError| SubsystemError::Infeasible { message: error.to_string() };
        self.machine.calls.free();
        let (loaded, calls) = self.fmu.another(self.role, &name, &self.options).map_err(refused)?;
        self.machine.calls = calls;
        self.loaded = loaded;
        Ok(())
    }

    /// FMI 1: sets the inputs and initializes; `fmiInitializeSlave` computes the state from them.
    fn initialize(&mut self, u: &[f64]) -> Result<(), SubsystemError> {
        let Some(start) = &mut self.start else { return Ok(()) };
        self.inputs.send(&self.machine, u)?;
        let code = self.machine.calls.enter_initialization(&start.experiment);
        self.machine.check(code, self.machine.calls.names().enter)?;
        start.begin_with(u);
        Ok(())
    }

    /// FMI 1: inputs that came to other values after `fmiInitializeSlave`, as connections may, are set before it in another instance.
    fn initialize_again(&mut self) -> Result<(), SubsystemError> {
        let Some((u, packets)) = self.start.as_mut().and_then(Start::other_inputs) else { return Ok(()) };
        // What it answers does not matter: it is freed.
        let _status = self.machine.calls.terminate();
        self.remake()?;
        self.settings.apply(&self.machine)?;
        self.inputs.cells.clear();
        self.inputs.numbers.forget();
        for (packet, bytes) in packets {
            let (place, element) = self.cell(packet);
            self.inputs.cells[place].stage(&self.machine, element, &bytes)?;
        }
        self.initialize(&u)
    }

    /// Whether outputs are read again in event mode. Where nothing was seen to follow, FMI 3's promise counts.
    fn rereads_in_event_mode(&self) -> bool {
        match self.reread {
            Reread::EventMode | Reread::NotSeen => self.machine.has_event_mode(),
            Reread::Plain | Reread::No => false,
        }
    }

    /// Sets inputs and reads outputs in event mode, time standing still.
    fn visit_event(&mut self, u: Inputs<'_>, y: &mut [f64]) -> Result<(), SubsystemError> {
        let (machine, outputs) = (&self.machine, &mut self.outputs);
        let get = || outputs.receive(machine, y);
        self.stepper.update(machine, &mut self.inputs, u.value, self.time, get)
    }
}

impl Subsystem for FmuSubsystem {
    fn info(&self) -> &Info {
        &self.info
    }

    fn bind(&mut self, binding: &Binding) -> Result<(), SubsystemError> {
        self.refuse_one_input_twice(binding)?;
        let description = self.fmu.description();
        let events = self.stepper.event_mode;
        let route = |bound: &[usize]| Route::new(&self.fmu, &self.ports, bound, events);
        self.inputs = Incoming::new(route(&binding.inputs));
        self.outputs = route(&binding.outputs);
        self.saved_inputs = self.inputs.numbers.sent();
        self.second.inputs = self.inputs.numbers.sent();
        self.probes = route(&binding.probes);
        self.columns = self.columns(binding);
        if self.info.capabilities.output_derivatives > 0 {
            self.derivatives = OutputDerivatives::new(description, &self.ports, &binding.outputs);
        }
        self.stepper.scratch = vec![0.0; binding.inputs.len()];
        self.stepper.middle = vec![0.0; binding.inputs.len()];
        let (references, places) = self.real_inputs(&binding.inputs);
        let order = self.info.capabilities.input_derivatives;
        if order == 0 || references.is_empty() || self.stepper.sub_steps > 1 {
            // It takes values only.
        } else if description.version == Version::Fmi3 {
            if !intermediate_inputs(description).is_empty() {
                let scratch = vec![0.0; references.len()];
                self.stepper.intermediate = Some(Intermediate { references, places, scratch });
            }
        } else {
            let n = references.len();
            let count = n * usize::from(order);
            self.stepper.derivatives = Some(Derivatives {
                references: references.iter().copied().cycle().take(count).collect(),
                places: places.iter().copied().cycle().take(count).collect(),
                orders: (0..count).map(|k| 1 + (k / n) as c_int).collect(),
                values: vec![0.0; count],
            });
        }
        let is_plain = self.stepper.rule == StepRule::Any && !self.stepper.event_mode;
        self.direct = match (&self.inputs.numbers, &self.outputs) {
            (Route::Direct(inputs), Route::Direct(outputs)) if is_plain => {
                Some(self.loaded.share(Direct { inputs: inputs.clone(), outputs: outputs.clone() }))
            }
            _ => None,
        };
        self.follows = self.stepper.follows();
        Ok(())
    }

    fn enter(&mut self, setup: &Setup) -> Result<(), SubsystemError> {
        let (entered, changes) = surroundings::guard(|| self.enter_initialization(setup));
        self.machine.remark(Call::EnterInitialization, &changes);
        entered
    }

    fn evaluate(&mut self, u: Inputs<'_>, y: &mut [f64]) -> Result<(), SubsystemError> {
        match (self.machine.state(), &mut self.start) {
            (State::Instantiated, Some(_)) => self.initialize(u.value)?,
            (State::Initialization, start) => {
                if let Some(start) = start {
                    start.goes_on_with(u.value);
                }
                self.inputs.send(&self.machine, u.value)?;
            }
            // Event mode would handle the event, and outputs would be those after it.
            (State::Step, _) if self.stepper.pending => self.inputs.send(&self.machine, u.value)?,
            (State::Step | State::Event, _) if !self.machine.has_terminated() => {
                if self.rereads_in_event_mode() || self.inputs.needs_event(&self.machine, u.value) {
                    return self.visit_event(u, y);
                }
                self.machine.leave_event()?;
                self.inputs.send(&self.machine, u.value)?;
            }
            // It ended the simulation at an event: what it has is all that there is.
            (State::Event, _) => {}
            _ => return Err(self.machine.wrong_phase("evaluate")),
        }
        self.outputs.receive(&self.machine, y)
    }

    /// With Event Mode, inputs of all kinds take their limit from the right in it, and what is read there is the right limit of the
    /// outputs (FMI 3.0.2, Event Mode). Other FMUs handle events inside steps: for them it is `evaluate`.
    fn update(&mut self, u: Inputs<'_>, y: &mut [f64]) -> Result<(), SubsystemError> {
        if self.machine.has_event_mode() { self.visit_event(u, y) } else { self.evaluate(u, y) }
    }

    fn start(&mut self) -> Result<(), SubsystemError> {
        if self.start.is_some() && self.machine.state() == State::Instantiated {
            self.initialize(&[])?;
        }
        self.initialize_again()?;
        if self.machine.state() != State::Initialization {
            return Err(self.machine.wrong_phase("start"));
        }
        self.machine.check(self.machine.calls.exit_initialization(), self.machine.calls.names().exit)?;
        self.machine.leave_initialization((self.time, self.stepper.slack))?;
        self.start = None;
        Ok(())
    }

    fn next_event(&self) -> Option<f64> {
        self.stepper.next_event(&self.machine, self.time)
    }

    fn advance(&mut self, span: Span, u: Inputs<'_>, y: &mut [f64]) -> Result<Advance, SubsystemError> {
        if self.machine.guards_step() {
            return self.advance_guarded(span, u, y);
        }
        self.advance_now(span, u, y)
    }

    fn feed_through(&mut self, d: &mut [f64]) -> Result<(), SubsystemError> {
        if !self.info.capabilities.feed_through_values {
            return Err(SubsystemError::Unsupported { call: "feed_through" });
        }
        d.fill(0.0);
        for column in &mut self.columns {
            let code = self.machine.calls.directional(Direction {
                unknowns: &column.unknowns,
                knowns: std::slice::from_ref(&column.known),
                seed: &column.seed,
                sensitivity: &mut column.sensitivity,
            });
            self.machine.check(code, self.machine.calls.names().directional)?;
            for &(to, from) in &column.picks {
                d[to] = column.sensitivity[from];
            }
        }
        Ok(())
    }

    /// Numbers that a type does not have are rounded, as everywhere; an enumeration has its items and no other values.
    fn set(&mut self, variable: usize, value: f64) -> Result<(), SubsystemError> {
        let port = self.ports.places[variable];
        if self.ports.sizes[port.variable as usize] != 1 {
            return self.set_element(port, value);
        }
        let v = &self.fmu.description().variables[port.variable as usize];
        let value = match v.kind {
            kind if kind.is_real() => Value::Real(value),
            Kind::Boolean => Value::Boolean(value >= 0.5),
            _ => Value::Integer(value.round() as i128),
        };
        let refused = |error: FmuError| SubsystemError::Infeasible { message: error.to_string() };
        self.refuse_fixed(v).map_err(refused)?;
        let setting = Setting::new(self.fmu.description(), v, &value, 1)
            .map_err(|error| refused(self.fmu.fail(error.into())))?;
        if self.machine.has_event_mode() {
            // All that is set between two steps is one event: `update` or the next step handles it.
            self.inputs.settings.push(setting);
            return Ok(());
        }
        setting.apply(&self.machine)
    }

    fn output_derivatives(&mut self, dy: &mut [f64]) -> Result<(), SubsystemError> {
        if self.info.capabilities.output_derivatives == 0 {
            return Err(SubsystemError::Unsupported { call: "output_derivatives" });
        }
        self.machine.leave_event()?;
        self.derivatives.receive(&self.machine, dy)
    }

    fn probe(&mut self, z: &mut [f64]) -> Result<(), SubsystemError> {
        self.probes.receive(&self.machine, z)
    }

    fn save(&mut self) -> Result<(), SubsystemError> {
        if !self.info.capabilities.can_restore {
            return Err(SubsystemError::Unsupported { call: "save" });
        }
        self.machine.leave_event()?;
        self.machine
            .check(self.machine.calls.get_state(&mut self.state), self.machine.calls.names().get_state)?;
        self.stepper.engine_goes_back = true;
        self.stepper.saved_time = self.time;
        self.stepper.saved_event = self.machine.next_event();
        self.stepper.saved_pending = self.stepper.pending;
        self.inputs.keep(&mut self.saved_inputs);
        Ok(())
    }

    fn release(&mut self) {
        self.stepper.engine_goes_back = false;
    }

    fn restore(&mut self) -> Result<(), SubsystemError> {
        if self.state.is_null() {
            return Err(SubsystemError::Unsupported { call: "restore" });
        }
        self.machine.leave_event()?;
        self.machine.check(self.machine.calls.set_state(self.state), self.machine.calls.names().set_state)?;
        self.inputs.go_back(&self.saved_inputs);
        self.machine.set_next_event(self.stepper.saved_event);
        self.stepper.pending = self.stepper.saved_pending;
        self.time = self.stepper.saved_time;
        Ok(())
    }

    /// An FMU keeps any number of states (FMI 2.0.5 section 2.1.8, FMI 3.0.2 section 2.2.10).
    fn save_second(&mut self) -> Result<(), SubsystemError> {
        if !self.info.capabilities.can_restore {
            return Err(SubsystemError::Unsupported { call: "save_second" });
        }
        self.machine.leave_event()?;
        let got = self.machine.calls.get_state(&mut self.second.state);
        self.machine.check(got, self.machine.calls.names().get_state)?;
        self.second.time = self.time;
        self.second.next_event = self.machine.next_event();
        self.second.pending = self.stepper.pending;
        self.inputs.keep_second(&mut self.second.inputs);
        Ok(())
    }

    fn restore_second(&mut self) -> Result<(), SubsystemError> {
        if self.second.state.is_null() {
            return Err(SubsystemError::Unsupported { call: "restore_second" });
        }
        self.machine.leave_event()?;
        let set = self.machine.calls.set_state(self.second.state);
        self.machine.check(set, self.machine.calls.names().set_state)?;
        self.inputs.go_back_to_second(&self.second.inputs);
        self.machine.set_next_event(self.second.next_event);
        self.stepper.pending = self.second.pending;
        self.time = self.second.time;
        Ok(())
    }

    fn snapshot(&mut self) -> Result<StateSnapshot, SubsystemError> {
        if !self.info.capabilities.can_restore {
            return Err(SubsystemError::Unsupported { call: "snapshot" });
        }
        self.machine.leave_event()?;
        if self.machine.state() != State::Step {
            return Err(self.machine.wrong_phase("snapshot"));
        }
        let book = Book {
            time: self.time,
            next_event: self.machine.next_event(),
            pending: self.stepper.pending,
            rule: self.stepper.rule,
            interrupted: self.stepper.interrupted,
            inputs: self.inputs.numbers.sent(),
            cells: self.inputs.cells.iter().map(|cell| (cell.variable, cell.content())).collect(),
        };
        let snapshot = self.states.save(&self.machine, book);
        self.stepper.has_snapshots = self.states.are_needed();
        snapshot.map(StateSnapshot::new)
    }

    /// Also after an error, unless it was fatal (FMI 2.0.5 section 2.1.3, FMI 3.0.2 section 2.2.4).
    fn load_snapshot(&mut self, snapshot: &StateSnapshot) -> Result<(), SubsystemError> {
        let Some(snapshot) = snapshot.get::<FmuSnapshot>() else {
            return Err(SubsystemError::Unsupported { call: "load_snapshot" });
        };
        self.machine.leave_event()?;
        if !matches!(self.machine.state(), State::Step | State::Failed) {
            return Err(self.machine.wrong_phase("load_snapshot"));
        }
        self.states.load(&self.machine, snapshot)?;
        let Book { time, next_event, pending, rule, interrupted, inputs, cells } = &snapshot.book;
        self.time = *time;
        self.machine.set_next_event(*next_event);
        self.inputs.numbers.load(inputs);
        self.inputs.cells.clear();
        for (variable, content) in cells {
            let mut cell = Cell::new(self.fmu.description(), &self.ports, *variable);
            cell.load(content);
            self.inputs.cells.push(cell);
        }
        self.inputs.settings.clear();
        self.stepper.pending = *pending;
        self.stepper.rule = *rule;
        self.stepper.interrupted = *interrupted;
        self.stepper.has_snapshots = self.states.are_needed();
        // The state of the rollback is one of another past.
        self.stepper.saved_time = f64::NEG_INFINITY;
        Ok(())
    }

    fn can_snapshot(&mut self) -> bool {
        self.info.capabilities.can_restore
    }

    /// Another instance from the library that is loaded already, silent and unseen. None of an FMU that can be instantiated only
    /// once per process.
    fn scratch(&self) -> Option<Box<dyn Subsystem>> {
        if self.fmu.interface().ok()?.only_once_per_process {
            return None;
        }
        let name = self.machine.calls.environment().instance();
        let mut other = self.fmu.scratch(name, &self.options).ok()?;
        other.info = self.info.clone();
        other.reread = self.reread;
        Some(Box::new(other))
    }

    /// One call for all that can be read; else halves are tried, down to single variables. What fails otherwise is seen in the run.
    fn unreadable(&self, variables: &[usize], setup: &Setup) -> Vec<usize> {
        let refused = |variables: &[usize]| {
            let mut scratch = self.scratch()?;
            let inputs: Vec<usize> = self.distinct_inputs();
            let u: Vec<f64> = inputs.iter().map(|&input| self.trial(input).base).collect();
            let binding = Binding { inputs, probes: variables.to_vec(), ..Binding::default() };
            scratch.bind(&binding).ok()?;
            scratch.enter(setup).ok()?;
            scratch.evaluate(Inputs::constant(&u), &mut []).ok()?;
            scratch.start().ok()?;
            Some(scratch.probe(&mut vec![0.0; variables.len()]).is_err())
        };
        let (mut found, mut waiting) = (Vec::new(), vec![variables.to_vec()]);
        while let Some(list) = waiting.pop() {
            match refused(&list) {
                Some(true) if list.len() == 1 => found.extend(list),
                // Many: that is no oversight of a few variables, and every try costs an instance.
                Some(true) if found.len() >= MOST_REFUSED => found.extend(list),
                Some(true) => {
                    let (low, high) = list.split_at(list.len() / 2);
                    waiting.extend([high.to_vec(), low.to_vec()]);
                }
                Some(false) | None => {}
            }
        }
        found
    }

    fn packets(&self) -> &[Packet] {
        &self.ports.packets
    }

    fn read_packet(&mut self, packet: usize, bytes: &mut Vec<u8>) -> Result<(), SubsystemError> {
        let (place, element) = self.cell(packet);
        bytes.extend_from_slice(self.inputs.cells[place].read(&self.machine, element)?);
        Ok(())
    }

    fn write_packet(&mut self, packet: usize, bytes: &[u8]) -> Result<(), SubsystemError> {
        if let Some(start) = &mut self.start {
            start.note_packet(packet, bytes);
        }
        let (place, element) = self.cell(packet);
        let (machine, cell) = (&self.machine, &mut self.inputs.cells[place]);
        cell.stage(machine, element, bytes)?;
        // Strings and binaries are discrete: with `eventModeUsed` they change at events only. They join the one that is being handled,
        // else they wait for it, or for the next step.
        if !cell.is_staged() || machine.is_between_events() {
            Ok(())
        } else if machine.is_at_event() {
            machine.at_event((self.time, self.stepper.slack), || cell.send(machine), || Ok(()))
        } else {
            cell.send(machine)
        }
    }

    fn finish(&mut self) -> Result<(), SubsystemError> {
        if !matches!(self.machine.state(), State::Step | State::Event) {
            return Ok(());
        }
        self.machine.check(self.machine.calls.terminate(), self.machine.calls.names().terminate)
    }
}

// Safety: its pointers are the instance, its saved states and its environment, which belong to it alone, and the functions
// of its library. The standards ask an FMU to stand calls from any thread as long as no two calls on one instance overlap,
// which `&mut` rules out. What instances of one FMU share on our side (`Shared`, `Loaded`) is atomic or constant.
unsafe impl Send for FmuSubsystem {}

impl Drop for FmuSubsystem {
    fn drop(&mut self) {
        self.machine.calls.free_state(&mut self.state);
        self.machine.calls.free_state(&mut self.second.state);
        self.states.free(&self.machine);
    }
}

impl std::fmt::Debug for FmuSubsystem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "FmuSubsystem({}, FMI {})", self.fmu.path().display(), self.machine.calls.version())
    }
}
