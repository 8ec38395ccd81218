//! From a description to something that runs: models are made, names become indices, methods become policies.

mod experiment;
mod explain;
mod inputs;
mod members;
mod record;

pub(crate) use experiment::default_step;

use crate::Error;
use crate::catalogue::controllers::Controller;
use crate::catalogue::{self, Chosen, Class, Context, Method, is_discrete};
use crate::declare;
use crate::number::short;
use crate::open_ends;
use crate::scenario::Effects;
use crate::simulators::{self, SharedLog};
use crate::source::At;
use crate::system::{BondPort, System, misfit};
use crate::timing::{Timed, Timing};
use inputs::{followed, twins};
use powerbond_core::feed_through::identify::Identifier;
use powerbond_core::hold::InputFeed;
use powerbond_core::network::{BondSpec, ConnectionSpec, Names, NetworkBuilder, PortSpec, VariableName};
use powerbond_core::observe::verdict::{Circumstances, Verdict};
use powerbond_core::observe::{Both, Observer};
use powerbond_core::run::{Engine, Outcome, Policies, Settings};
use powerbond_core::subsystem::{Setup, ValueKind};
use powerbond_core::time::EndRule;
use record::{columns, port_names};
use std::sync::Arc;

/// Where the value of a recorded variable is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// Input i.
    Input(usize),
    /// Output i.
    Output(usize),
    /// Probe i.
    Probe(usize),
}

/// A system that is ready to run.
pub struct Prepared {
    /// The engine.
    pub engine: Engine,
    /// Names behind its indices.
    pub names: Names,
    /// Names of the ports of each bond, unique within it.
    pub ports: Vec<Vec<String>>,
    /// What is recorded, by name and place.
    pub columns: Vec<(VariableName, Column)>,
    /// The method with every knob as it is used.
    pub method: Method,
    /// Names of the estimators; the first one drives the step size.
    pub estimators: Vec<&'static str>,
    /// The first estimator drives the step size.
    pub adaptive: bool,
    /// Time per subsystem, in the order of `names.subsystems`.
    pub timings: Vec<Arc<Timing>>,
    /// Sub-steps of each subsystem in a macro step.
    pub rates: Vec<u32>,
    /// Start of the run, in s.
    pub start: f64,
    /// End of the run, in s.
    pub stop: f64,
    /// Constant or first step, in s.
    pub step: f64,
    /// Members that re-read their outputs after each step.
    pub refreshed: Vec<usize>,
    /// What the user should know before trusting the run.
    pub warnings: Vec<String>,
    /// Watches the run and judges it.
    pub verdict: Verdict,
    /// What each subsystem can do.
    pub classes: Vec<Class>,
    /// What the subsystem of each input is given.
    pub feeds: Vec<InputFeed>,
    /// What FMUs said.
    pub log: SharedLog,
}

impl Prepared {
    /// Makes the whole run; errors get names.
    pub fn run(&mut self, observer: &mut dyn Observer) -> Result<Outcome, Error> {
        let outcome = self.engine.run(&mut Both(&mut self.verdict, observer));
        for (s, share) in self.engine.shares_of_identified_use().into_iter().filter(|(_, share)| *share < 0.5)
        {
            self.warnings.push(format!(
                "the feed-through of `{}` could be identified with enough certainty in {:.0} % of the steps only: elsewhere the \
                 correction did without it. Constant steps with a zero-order hold and gains that vary hide it; where the subsystem \
                 gives ∂y/∂u or can be re-read, feed_through = \"model\" needs no identification",
                self.names.subsystems[s],
                100.0 * share
            ));
        }
        outcome.map_err(|error| self.explain(&error))
    }

    /// The unit of a variable, as its subsystem writes it; empty where nobody knows.
    pub fn unit(&self, column: Column) -> &str {
        let network = self.engine.network();
        let variable = match column {
            Column::Input(i) => network.input_variable(i),
            Column::Output(o) => network.output_variable(o),
            Column::Probe(p) => network.probe_variable(p),
        };
        variable.unit.as_ref().map_or("", |u| u.symbol.as_str())
    }
}

impl System {
    /// Checks everything and makes the engine.
    pub fn prepare(&self) -> Result<Prepared, Error> {
        self.prepare_with(false)
    }

    /// As [`System::prepare`]; `allow_nonfinite` lets a run go on with NaN and infinite outputs.
    pub fn prepare_with(&self, allow_nonfinite: bool) -> Result<Prepared, Error> {
        let (start, stop, step) = self.experiment()?;
        let mut warnings = self.notes.clone();
        let log = SharedLog::default();
        let (builder, timings) = self.simulators(&log, &mut warnings)?;
        let recorded = self.recorded(&builder)?;
        let effects = match &self.scenario {
            Some(scenario) => Effects::new(self, scenario, &builder, start, stop, &mut warnings)?,
            None => Effects::default(),
        };
        let builder = self.couple(builder, &effects, (start, stop), &mut warnings)?;
        let builder = recorded.iter().cloned().fold(builder, NetworkBuilder::record);
        let (mut network, names) =
            builder.build().map_err(|e| Error::input(self.place_of(&e), self.advise(&e)))?;

        self.probe_feed_through(&mut network, &names, &Setup { start, stop }, &mut warnings)?;
        self.method.correction.settle_gains(&mut network, &names)?;
        let holds = self.holds(&network, &names)?;
        let rates = self.rates(&names, step)?;
        self.warn_of_holds(&network, &names, &holds, &rates, &mut warnings);
        if self.method.slopes.value {
            warnings.extend(self.slope_warnings(&network, &names, &holds)?);
        }
        self.warn_of_first_step(step, &mut warnings);
        let (controller, step) = self.steering(&network, &names, (stop - start, step), &mut warnings);
        let adaptive = !controller.is_constant();
        let quantum = self.own_steps(&network, &names, &rates, step, adaptive)?;
        let refresh = self.refreshed(&network, &names)?;
        let classes = network.members.iter().map(Class::of).collect();
        let feeds = catalogue::feeds(&mut network, &names, &self.method.values_only, &refresh)?;
        let identifier = self.identifier(&network, &names, &refresh, &mut warnings)?;
        let context = Context {
            network: &network,
            names: &names,
            holds: &holds,
            variable_hold: self.method.hold.varies(),
            feeds: &feeds,
            rates: &rates,
            start,
            duration: stop - start,
            step,
            steered_by_jumps: self.method.is_steered_by_jumps(),
            bonds: names
                .bond_order
                .iter()
                .map(|&b| (self.bonds[b].tolerance, self.bonds[b].energy_scale))
                .collect(),
        };
        let (policies, estimators, method) = self.policies(controller, identifier, &context)?;
        let verdict = Verdict::new(
            &network,
            &Circumstances {
                holds: (0..holds.len()).map(|i| followed(&network, &rates, i, holds[i])).collect(),
                corrects: policies.correction.is_some(),
                refresh: refresh.clone(),
                twins: twins(&network),
                discrete: (0..holds.len()).map(|i| is_discrete(&network, i)).collect(),
                start,
                stop,
            },
        );
        let settings = Settings {
            changes: effects.changes(&network, &names, &mut warnings),
            quantum,
            refresh: refresh.clone(),
            allow_nonfinite,
            ..self.settings(start, stop)
        };
        let columns = columns(&names, recorded);
        Ok(Prepared {
            refreshed: refresh,
            ports: port_names(&network, &names),
            engine: Engine::new(network, policies, settings),
            names,
            columns,
            method,
            estimators,
            adaptive,
            timings,
            rates,
            start,
            stop,
            step,
            warnings,
            verdict,
            classes,
            feeds,
            log,
        })
    }

    /// Makes every subsystem, in name order, each with something that takes its time.
    fn simulators(
        &self,
        log: &SharedLog,
        warnings: &mut Vec<String>,
    ) -> Result<(NetworkBuilder, Vec<Arc<Timing>>), Error> {
        let mut builder = NetworkBuilder::new();
        let mut timings = Vec::new();
        let mut ordered: Vec<_> = self.subsystems.iter().collect();
        ordered.sort_by(|a, b| a.name.value.cmp(&b.name.value));
        for spec in ordered {
            let simulator = simulators::make(self, spec, log, warnings)?;
            let (timed, timing) = Timed::new(declare::apply(spec, simulator)?);
            timings.push(timing);
            builder = builder.subsystem(&spec.name.value, Box::new(timed));
        }
        Ok((builder, timings))
    }

    /// Adds connections, external inputs and bonds.
    fn couple(
        &self,
        mut builder: NetworkBuilder,
        effects: &Effects,
        (start, stop): (f64, f64),
        warnings: &mut Vec<String>,
    ) -> Result<NetworkBuilder, Error> {
        for c in &self.connections {
            builder = builder.connection(ConnectionSpec {
                from: c.from.iter().map(|(name, gain)| (name.value.clone(), *gain)).collect(),
                to: c.to.value.clone(),
                offset: c.offset,
                convert_units: c.convert_units,
            });
        }
        for (name, signal) in &self.inputs {
            let signal = signal.signal(self.folder(), &name.value.to_string())?;
            warnings.extend(open_ends::still(name, &signal, start, stop));
            // What has no such variable is refused when the network is built.
            let kind = builder.variable_of(&name.value).map_or(ValueKind::Real, |(_, v)| v.kind);
            if let Some(x) = misfit(&signal, kind) {
                let message = format!("`{}` is {}; {} does not fit", name.value, kind.noun(), short(x));
                return Err(Error::input(name.place(), message));
            }
            builder = builder.external(name.value.clone(), effects.change(&name.value, signal));
        }
        let forced = effects.inputs(self);
        let forced_names: Vec<VariableName> = forced.iter().map(|(name, _)| name.clone()).collect();
        warnings.extend(open_ends::unfed(self, &builder, &forced_names));
        warnings.extend(open_ends::unknown_units(self, &builder));
        for (name, start) in forced {
            let signal = effects.change(&name, start);
            builder = builder.external(name, signal);
        }
        let plain = |names: &[At<VariableName>]| names.iter().map(|n| n.value.clone()).collect();
        for bond in &self.bonds {
            let port = |p: &BondPort| PortSpec {
                inputs: plain(&p.inputs),
                outputs: plain(&p.outputs),
                sign: p.sign.value,
                ratio: p.ratio,
            };
            let ports = bond.ports.iter().map(port).collect();
            builder = builder.bond(BondSpec { name: bond.name.value.clone(), ports });
        }
        Ok(builder)
    }

    /// The policies, the names of the estimators among them, and the method with every knob as it is used.
    fn policies(
        &self,
        controller: Chosen<Controller>,
        identifier: Option<Identifier>,
        context: &Context<'_>,
    ) -> Result<(Policies, Vec<&'static str>, Method), Error> {
        let mut method = Method { controller, ..self.method.clone() };
        self.check_way_back(context.network, context.names)?;
        let (mut estimators, mut names) = (Vec::new(), Vec::new());
        for chosen in std::iter::once(&mut method.estimator).chain(&mut method.monitors) {
            if let Some(estimator) = chosen.make(context)? {
                estimators.push(estimator);
                names.push(chosen.name());
            }
        }
        if !method.controller.is_constant() && method.estimator.is_none() {
            return Err(Error::input(
                method.controller.written.entry.clone(),
                format!(
                    "controller `{}` needs an estimator to steer by; add `estimator = {{ kind = \"energy\", … }}`, \"predictor\", \"jump\" or \"richardson\"",
                    method.controller.name()
                ),
            ));
        }
        let policies = Policies {
            schedule: method.schedule.make(context)?,
            extrapolation: method.hold.make(context),
            correction: method.correction.make(context)?,
            estimators,
            controller: method.controller.make(context)?,
            identifier,
        };
        Ok((policies, names, method))
    }

    /// What the file alone decides of the engine's settings.
    fn settings(&self, start: f64, stop: f64) -> Settings {
        let s = &self.simulation;
        Settings {
            worker_threads: s.worker_threads,
            end_rule: match s.end {
                EndRule::Exact if self.method.is_steered_by_jumps() => EndRule::Halved,
                rule => rule,
            },
            land_on: s.output_interval.as_ref().filter(|_| s.land_on_output.value).map(|d| d.value),
            quadrature: self.method.quadrature,
            initial: s.initial,
            loops: s.loops,
            start_up: self.method.start_up,
            sample_feed_through: true,
            output_derivatives: self.method.slopes.value,
            ..Settings::new(start, stop)
        }
    }
}
