//! A system made in a program: the same data, checks and messages as a file, without places.

use super::{
    Bond, BondPort, Connection, FeedThroughSpec, FmuOptions, Given, MadeOf, ProcessSpec, SharedFactory,
    SignalSpec, Simulation, SimulatorSpec, Site, SubsystemSpec, System,
};
use crate::Error;
use crate::catalogue::Method;
use crate::error::Collector;
use crate::scenario::{Action, Event, Scenario, Value};
use crate::source::{At, parse_name};
use powerbond_core::network::VariableName;
use powerbond_core::sampled::Samples;
use powerbond_core::subsystem::Subsystem;
use powerbond_core::suggest::hint;
use powerbond_models::ModelSpec;
use std::collections::HashMap;
use std::path::PathBuf;

/// Makes a [`System`]. Mistakes are collected; [`SystemBuilder::build`] tells all of them.
///
/// ```
/// use powerbond::System;
///
/// let system = System::builder()
///     .model("mass", "oscillator/mass")
///     .model("giver", "oscillator/force-giver")
///     .connect("giver.force", "mass.force")
///     .connect("mass.position", "giver.position")
///     .connect("mass.velocity", "giver.velocity")
///     .stop(1.0)
///     .build()?;
/// system.assemble()?;
/// # Ok::<(), powerbond::Error>(())
/// ```
#[derive(Debug)]
pub struct SystemBuilder {
    system: System,
    method: Option<Method>,
    tolerance: Option<f64>,
    places: HashMap<String, usize>,
    problems: Collector,
}

impl System {
    /// Begins a system in a program.
    pub fn builder() -> SystemBuilder {
        SystemBuilder {
            system: System::empty(MadeOf::Program),
            method: None,
            tolerance: None,
            places: HashMap::new(),
            problems: Collector::new(),
        }
    }
}

/// One name or several: `"plant.y"`, `["a.x", "a.y"]`.
pub trait Names {
    /// All of them.
    fn names(self) -> Vec<String>;
}

impl Names for &str {
    fn names(self) -> Vec<String> {
        vec![self.to_owned()]
    }
}

impl Names for String {
    fn names(self) -> Vec<String> {
        vec![self]
    }
}

impl<T: Into<String>> Names for Vec<T> {
    fn names(self) -> Vec<String> {
        self.into_iter().map(Into::into).collect()
    }
}

impl<T: Into<String>, const N: usize> Names for [T; N] {
    fn names(self) -> Vec<String> {
        self.into_iter().map(Into::into).collect()
    }
}

/// A connection to be made: `to = offset + Σ gain · from`.
#[derive(Clone, Debug)]
pub struct Connect {
    from: Vec<(String, f64)>,
    to: String,
    offset: f64,
    convert_units: bool,
}

impl Connect {
    /// An output feeds an input.
    pub fn new(from: impl Into<String>, to: impl Into<String>) -> Self {
        Connect { from: vec![(from.into(), 1.0)], to: to.into(), offset: 0.0, convert_units: true }
    }

    /// Multiplies the output that was named last.
    pub fn gain(mut self, gain: f64) -> Self {
        if let Some(last) = self.from.last_mut() {
            last.1 = gain;
        }
        self
    }

    /// Adds another output.
    pub fn plus(mut self, from: impl Into<String>) -> Self {
        self.from.push((from.into(), 1.0));
        self
    }

    /// Is added to the sum, in the unit of the input.
    pub fn offset(mut self, offset: f64) -> Self {
        self.offset = offset;
        self
    }

    /// Numbers are passed on as they are, whatever the units of both ends.
    pub fn without_units(mut self) -> Self {
        self.convert_units = false;
        self
    }
}

/// A side of a power bond: inputs and outputs of one subsystem whose products are power.
#[derive(Clone, Debug)]
pub struct Port {
    inputs: Vec<String>,
    outputs: Vec<String>,
    sign: f64,
    ratio: f64,
    from: Vec<String>,
}

impl Port {
    /// Input times output is power that leaves the subsystem.
    pub fn leaving(inputs: impl Names, outputs: impl Names) -> Self {
        Port { inputs: inputs.names(), outputs: outputs.names(), sign: 1.0, ratio: 1.0, from: Vec::new() }
    }

    /// Input times output is power that enters the subsystem.
    pub fn entering(inputs: impl Names, outputs: impl Names) -> Self {
        Port { sign: -1.0, ..Port::leaving(inputs, outputs) }
    }

    /// The port has the shares of its inputs that these outputs feed, one for each input.
    pub fn share_of(mut self, outputs: impl Names) -> Self {
        self.from = outputs.names();
        self
    }

    /// Multiplies the product: a gear ratio.
    pub fn ratio(mut self, ratio: f64) -> Self {
        self.ratio = ratio;
        self
    }
}

impl SystemBuilder {
    /// Its name: that of the folder of results.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.system.name = name.into();
        self
    }

    /// Adds a model by its name in the catalogue, such as `quarter-car/chassis`, or of [`SystemBuilder::register`].
    pub fn model(self, name: impl Into<String>, model: impl Into<String>) -> Self {
        self.add(name.into(), SimulatorSpec::Model(At::default(model.into())))
    }

    /// Adds an FMU: a file or its unpacked folder, relative to the current folder.
    pub fn fmu(self, name: impl Into<String>, path: impl Into<PathBuf>) -> Self {
        self.add(name.into(), SimulatorSpec::Fmu(At::default(path.into()), FmuOptions::default()))
    }

    /// Adds a model of one's own. Every run steps a copy of it.
    pub fn subsystem<S: Subsystem + Clone + 'static>(self, name: impl Into<String>, own: S) -> Self {
        self.factory(name, SharedFactory::copies_of(own))
    }

    /// Adds what a factory makes.
    pub fn factory(self, name: impl Into<String>, factory: SharedFactory) -> Self {
        self.add(name.into(), SimulatorSpec::Own(factory))
    }

    /// Makes a model of one's own known by its name, for [`SystemBuilder::model`].
    pub fn register(mut self, model: &'static ModelSpec) -> Self {
        let registered = self.system.models.register(model.name, SharedFactory::new(model));
        self.problems.keep(registered);
        self
    }

    fn add(mut self, name: String, simulator: SimulatorSpec) -> Self {
        self.places.insert(name.clone(), self.system.subsystems.len());
        self.system.subsystems.push(SubsystemSpec::new(At::default(name), simulator));
        self
    }

    /// Changes the subsystem called `name`.
    fn with(mut self, name: &str, change: impl FnOnce(&mut SubsystemSpec)) -> Self {
        match self.places.get(name) {
            Some(&s) => change(&mut self.system.subsystems[s]),
            None => {
                let known = self.system.subsystems.iter().map(|s| s.name.value.as_str());
                let message = format!("unknown subsystem `{name}`.{}", hint(name, known));
                self.problems.add(Error::input(None, message));
            }
        }
        self
    }

    fn with_variable(mut self, name: &str, change: impl FnOnce(&mut SubsystemSpec, At<String>)) -> Self {
        match parse_name(&At::default(name.to_owned())) {
            Ok(found) => {
                let VariableName { subsystem, variable } = found.value;
                self.with(&subsystem, |spec| change(spec, At::default(variable)))
            }
            Err(error) => {
                self.problems.add(error);
                self
            }
        }
    }

    /// Sets a parameter: `"wheel.stiffness"`.
    pub fn parameter(self, name: &str, value: impl Into<Given>) -> Self {
        let value = value.into();
        self.with_variable(name, |spec, variable| spec.parameters.push((variable, value)))
    }

    /// Sets the start value of a variable of an FMU.
    pub fn start_value(self, name: &str, value: impl Into<Given>) -> Self {
        let value = value.into();
        self.with_variable(name, |spec, variable| spec.start.push((variable, value)))
    }

    /// How an FMU is used.
    pub fn fmu_options(mut self, name: &str, options: FmuOptions) -> Self {
        let mut is_fmu = true;
        self = self.with(name, |spec| match &mut spec.simulator {
            SimulatorSpec::Fmu(_, own) => *own = options,
            SimulatorSpec::Model(_) | SimulatorSpec::Own(_) => is_fmu = false,
        });
        if !is_fmu {
            self.problems
                .add(Error::input(None, format!("`{name}` is not an FMU, so options of FMUs do not apply")));
        }
        self
    }

    /// Where a subsystem runs: in the process of the program, in one of its own, or on another host. Other processes need something
    /// that makes them ([`install`](crate::system::install)).
    pub fn site(self, name: &str, site: Site) -> Self {
        self.with(name, |spec| {
            spec.process = match site {
                Site::Shared => ProcessSpec::Shared,
                Site::Own => ProcessSpec::Own(At::default(())),
                Site::Host(host) => ProcessSpec::Host(At::default(host)),
            }
        })
    }

    /// Sub-steps of a subsystem in a macro step.
    pub fn rate(self, name: &str, rate: u32) -> Self {
        self.with(name, |spec| spec.rate = Some(At::default(rate)))
    }

    /// A subsystem samples every `period` seconds, at `offset + n·period`: steps end there.
    pub fn sampled(self, name: &str, period: f64, offset: f64) -> Self {
        self.with(name, |spec| spec.sampled = Some(Samples { at: offset, period }))
    }

    /// The direct feed-through of a subsystem: pairs of output and input, and no others.
    pub fn feed_through<'a>(self, name: &str, pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let at = |text: &str| At::default(text.to_owned());
        let pairs = pairs.into_iter().map(|(output, input)| (at(output), at(input))).collect();
        self.with(name, |spec| spec.feed_through = Some(FeedThroughSpec::Pairs(At::default(pairs))))
    }

    fn variable(&mut self, name: &str) -> Option<At<VariableName>> {
        self.problems.keep(parse_name(&At::default(name.to_owned())))
    }

    fn variables(&mut self, names: &[String]) -> Vec<At<VariableName>> {
        names.iter().filter_map(|name| self.variable(name)).collect()
    }

    /// Lets an output feed an input.
    pub fn connect(self, from: impl Into<String>, to: impl Into<String>) -> Self {
        self.connection(Connect::new(from, to))
    }

    /// Makes a connection with gains, several outputs or an offset.
    pub fn connection(mut self, connection: Connect) -> Self {
        let mut from = Vec::new();
        for (name, gain) in &connection.from {
            from.extend(self.variable(name).map(|name| (name, *gain)));
        }
        if let Some(to) = self.variable(&connection.to) {
            let Connect { offset, convert_units, .. } = connection;
            self.system.connections.push(Connection { from, to, offset, convert_units, table: None });
        }
        self
    }

    /// Lets an input follow a signal: a number, a [`SignalSpec`] or a function of time in s.
    pub fn input(mut self, name: &str, signal: impl Into<SignalSpec>) -> Self {
        if let Some(name) = self.variable(name) {
            self.system.inputs.push((name, signal.into()));
        }
        self
    }

    /// Adds a power bond: the powers of its ports must cancel.
    pub fn bond(mut self, name: impl Into<String>, ports: impl IntoIterator<Item = Port>) -> Self {
        let mut made = Vec::new();
        for port in ports {
            let (inputs, outputs) = (self.variables(&port.inputs), self.variables(&port.outputs));
            let (from, sign) = (self.variables(&port.from), At::default(port.sign));
            made.push(BondPort { inputs, outputs, sign, ratio: port.ratio, from });
        }
        let name = At::default(name.into());
        let (energy_scale, tolerance) = (None, None);
        self.system.bonds.push(Bond { name, ports: made, energy_scale, tolerance, pseudo: false });
        self
    }

    /// Adds a pseudo-bond, such as of temperature and heat flow: its products must cancel, but they are no powers.
    pub fn pseudo_bond(mut self, name: impl Into<String>, ports: impl IntoIterator<Item = Port>) -> Self {
        self = self.bond(name, ports);
        self.system.bonds.last_mut().into_iter().for_each(|bond| bond.pseudo = true);
        self
    }

    fn event(mut self, time: f64, name: &str, action: Action) -> Self {
        if !(time.is_finite() && time >= 0.0) {
            let message = format!(
                "an event of `{name}` at {time} s; expected a number of 0 or more, in s after the start"
            );
            self.problems.add(Error::input(None, message));
        }
        if let Some(variable) = self.variable(name) {
            let model = At::default(variable.value.subsystem.clone());
            let event = Event { time: At::default(time), model, variable, action };
            self.system.scenario.get_or_insert_with(Scenario::default).events.push(event);
        }
        self
    }

    /// From `time` on, in s after the start, a variable has this value, whatever feeds it.
    pub fn override_at(self, time: f64, name: &str, value: f64) -> Self {
        self.event(time, name, Action::Override(At::default(Value::Number(value))))
    }

    /// From `time` on, in s after the start, this is added to a variable.
    pub fn bias_at(self, time: f64, name: &str, value: f64) -> Self {
        self.event(time, name, Action::Bias(At::default(Value::Number(value))))
    }

    /// From `time` on, in s after the start, a variable is itself again.
    pub fn release_at(self, time: f64, name: &str) -> Self {
        self.event(time, name, Action::Reset)
    }

    /// A scenario from a file; it replaces events that were given before.
    pub fn scenario(mut self, scenario: Scenario) -> Self {
        self.system.scenario = Some(scenario);
        self
    }

    /// Start of the run, in s; 0 unless given.
    pub fn start_time(mut self, time: f64) -> Self {
        self.system.simulation.start = At::default(time);
        self
    }

    /// End of the run, in s.
    pub fn stop(mut self, time: f64) -> Self {
        self.system.simulation.stop = Some(At::default(time));
        self
    }

    /// Constant step, or the first one of an adaptive method, in s.
    pub fn step(mut self, step: f64) -> Self {
        self.system.simulation.step = Some(At::default(step));
        self
    }

    /// Rows of results at multiples of this, in s; at every step unless given.
    pub fn output_interval(mut self, interval: f64) -> Self {
        self.system.simulation.output_interval = Some(At::default(interval));
        self
    }

    /// Everything about the experiment.
    pub fn simulation(mut self, simulation: Simulation) -> Self {
        self.system.simulation = simulation;
        self
    }

    /// How it is run. Without it: `auto`, or constant steps if there is a step.
    pub fn method(mut self, method: Method) -> Self {
        self.method = Some(method);
        self
    }

    /// Lets the default method choose everything for this relative error.
    pub fn tolerance(mut self, tolerance: f64) -> Self {
        self.tolerance = Some(tolerance);
        self
    }

    /// What is recorded, by patterns of `subsystem.variable`; everything unless given.
    pub fn record(mut self, patterns: impl Names) -> Self {
        self.system.record.variables = Some(patterns.names().into_iter().map(At::default).collect());
        self
    }

    /// What is left out of it.
    pub fn exclude(mut self, patterns: impl Names) -> Self {
        self.system.record.exclude = patterns.names().into_iter().map(At::default).collect();
        self
    }

    /// The prediction defects of all coupled inputs are recorded, too.
    pub fn record_jumps(mut self) -> Self {
        self.system.record.jumps = true;
        self
    }

    /// Adds what is known of bonds, outputs and corrections one by one to the table of energies.
    pub fn record_details(mut self) -> Self {
        self.system.record.details = true;
        self
    }

    /// The system, or everything that is wrong with its description.
    pub fn build(self) -> Result<System, Error> {
        let SystemBuilder { mut system, method, tolerance, mut problems, .. } = self;
        system.method = method
            .unwrap_or_else(|| Method::by_default(system.simulation.step.is_some() && tolerance.is_none()));
        if let Some(tolerance) = tolerance {
            problems.keep(system.method.set_tolerance(&At::default(tolerance)));
        }
        problems.keep(system.validate());
        problems.finish(system)
    }
}
