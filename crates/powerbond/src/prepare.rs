//! From a description to something that runs: models are made, names become indices, methods become policies.

use crate::Error;
use crate::catalogue::{self, Ability, Class, Context, Kind, PolicySpec, Without, feeds_through};
use crate::check::loop_text;
use crate::declare;
use crate::glob;
use crate::number::short;
use crate::open_ends;
use crate::scenario::Effects;
use crate::simulators::{self, SharedLog};
use crate::source::{At, Place};
use crate::system::{FeedThroughSpec, Identify, MAX_RATE, Refresh, SimulatorSpec, System, misfit};
use crate::timing::{Timed, Timing};
use powerbond_core::clock::EndRule;
use powerbond_core::error::RunError;
use powerbond_core::estimator::Blame;
use powerbond_core::extrapolation::Feed;
use powerbond_core::identification::{Identifier, Role};
use powerbond_core::master::{Master, Outcome, Policies, Settings};
use powerbond_core::models;
use powerbond_core::network::{
    BondSpec, BuildError, ConnectionSpec, Names, Network, NetworkBuilder, PortSpec, Problem, Structure,
    Subject, VariableName,
};
use powerbond_core::observer::{Both, Observer};
use powerbond_core::subsystem::{Span, Subsystem, ValueKind};
use powerbond_core::suggest::hint;
use powerbond_core::verdict::{Circumstances, Verdict};
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
    pub master: Master,
    /// Names behind its indices.
    pub names: Names,
    /// Names of the ports of each bond, unique within it.
    pub ports: Vec<Vec<String>>,
    /// What is recorded, by name and place.
    pub columns: Vec<(VariableName, Column)>,
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
    pub feeds: Vec<Feed>,
    /// What FMUs said.
    pub log: SharedLog,
    /// Where the feed-through of each subsystem is declared, if the file does.
    declared_at: Vec<Option<Place>>,
}

impl Prepared {
    /// Makes the whole run; errors get names.
    pub fn run(&mut self, observer: &mut dyn Observer) -> Result<Outcome, Error> {
        let outcome = self.master.run(&mut Both(&mut self.verdict, observer));
        for &s in self.master.lowered() {
            self.refreshed.retain(|&r| r != s);
            self.classes[s] = self.classes[s].without_refresh();
            self.warnings.push(format!(
                "`{}` says that it recomputes its outputs while time stands still, and does not: it is not refreshed (class {})",
                self.names.subsystems[s],
                self.classes[s].name()
            ));
        }
        outcome.map_err(|error| self.explain(&error))
    }

    /// The unit of a variable, as its subsystem writes it; empty where nobody knows.
    pub fn unit(&self, name: &VariableName) -> &str {
        let place = self.names.subsystems.iter().position(|s| *s == name.subsystem);
        let info = place.map(|s| self.master.network().members[s].simulator.info());
        let unit = info.and_then(|i| i.variables[i.find(&name.variable)?].unit.as_ref());
        unit.map_or("", |u| u.symbol.as_str())
    }

    /// A run-time error in words.
    pub fn explain(&self, error: &RunError) -> Error {
        let names = &self.names;
        let when = |span: &Span| {
            if span.h == 0.0 {
                format!("at t = {} s", span.start)
            } else {
                format!("step from t = {} s by {} s", span.start, span.h)
            }
        };
        match error {
            RunError::Subsystem { member, phase, span, error } => {
                let name = &names.subsystems[*member];
                let doing = if *phase == "step" { when(span) } else { format!("{phase} {}", when(span)) };
                Error::Model { message: format!("{name}: {doing} failed: {error}") }
            }
            RunError::NonFinite { output, value, span } => Error::Model {
                message: format!(
                    "`{}` became {value} ({}). Smaller steps may help; `--allow-nonfinite` goes on regardless",
                    names.outputs[*output],
                    when(span)
                ),
            },
            RunError::EarlyReturn { member, span, reached } => Error::Model {
                message: format!(
                    "{}: {} ended early at t = {reached} s, and not every subsystem can go back to before it",
                    names.subsystems[*member],
                    when(span)
                ),
            },
            RunError::NoWayBack { member } => Error::input(
                None,
                format!(
                    "{}: the method takes steps back, and this subsystem cannot go back to a saved state. The energy and \
                     predictor estimates need no way back",
                    names.subsystems[*member]
                ),
            ),
            RunError::FeedThrough { output, input } => {
                let member = self.master.network().owner_of_output[*output];
                Error::input(
                    self.declared_at[member].clone(),
                    format!(
                        "`{}` depends on `{}` at the same instant: it changed with it at the start. Add the pair to `feed_through`",
                        names.outputs[*output], names.inputs[*input]
                    ),
                )
            }
            RunError::InitialLoop { inputs, change, passes } => {
                let structure = Structure::of(self.master.network());
                let known = structure.loops.iter().find(|l| inputs.iter().all(|i| l.inputs.contains(i)));
                let through = known.map_or_else(
                    || {
                        inputs
                            .iter()
                            .map(|&i| format!("`{}`", names.inputs[i]))
                            .collect::<Vec<_>>()
                            .join(", ")
                    },
                    |found| format!("`{}`", loop_text(found, names)),
                );
                Error::Accuracy {
                    message: format!(
                        "the initial values of the algebraic loop {through} do not settle: after {passes} passes they still \
                         change by {change:.1e} (relative). Either it has no solution (a loop gain of 1), or it needs better start \
                         values or a larger `initial = {{ tolerance = … }}` in `[simulation]`"
                    ),
                }
            }
            RunError::Rejections { span, norm, count, blame } => {
                let what = match blame {
                    Some(Blame::Output(output)) => format!(", most of it from `{}`", names.outputs[*output]),
                    Some(Blame::Input(input)) => format!(", most of it from `{}`", names.inputs[*input]),
                    Some(Blame::Bond(bond)) => format!(", most of it from bond `{}`", names.bonds[*bond]),
                    None => String::new(),
                };
                Error::Accuracy {
                    message: format!(
                        "{} failed {count} time(s); its error norm is still {norm:.4} (1 is allowed){what}. A larger tolerance or a \
                         smaller `min_step` may help; `at_floor = \"keep\"` goes on and counts such steps",
                        when(span)
                    ),
                }
            }
            RunError::Runaway { bond, span, power } => Error::Accuracy {
                message: format!(
                    "the coupling is unstable: the power through bond `{}` grows without bound ({power:.3e} W at t = {} s), and the \
                     coupling itself creates it. Take a smaller step, another split, or a method with less delay (`hold = 1`, \
                     `refresh = true`)",
                    names.bonds[*bond], span.end
                ),
            },
        }
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
        let mut builder = NetworkBuilder::new();
        let mut timings = Vec::new();
        let log = SharedLog::default();
        let mut ordered: Vec<_> = self.subsystems.iter().collect();
        ordered.sort_by(|a, b| a.name.value.cmp(&b.name.value));
        for spec in ordered {
            let simulator = simulators::make(self, spec, &log, &mut warnings)?;
            let (timed, timing) = Timed::new(declare::apply(spec, simulator)?);
            timings.push(timing);
            builder = builder.subsystem(&spec.name.value, Box::new(timed));
        }
        let recorded = self.recorded(&builder)?;
        let effects = match &self.scenario {
            Some(scenario) => Effects::new(self, scenario, &builder, start, stop, &mut warnings)?,
            None => Effects::default(),
        };
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
            let kind = kind_of(&builder, &name.value);
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
            let port = |p: &crate::system::BondPort| PortSpec {
                inputs: plain(&p.inputs),
                outputs: plain(&p.outputs),
                sign: p.sign.value,
                ratio: p.ratio,
            };
            let ports = bond.ports.iter().map(port).collect();
            builder = builder.bond(BondSpec { name: bond.name.value.clone(), ports });
        }
        for name in &recorded {
            builder = builder.record(name.clone());
        }
        let (mut network, names) =
            builder.build().map_err(|e| Error::input(self.place_of(&e), self.advise(&e)))?;

        let mut holds = self.hold_orders(&names)?;
        for (i, hold) in holds.iter_mut().enumerate() {
            if is_discrete(&network, &names, i) {
                *hold = 0;
            }
        }
        let rates = self.rates(&names, step)?;
        for (i, &order) in holds.iter().enumerate() {
            let owner = network.owner_of_input[i];
            let takes = network.members[owner].capabilities.input_derivatives;
            if order > takes
                && !self.method.variable_hold
                && network.wiring.is_coupled(i)
                && rates[owner] == 1
            {
                warnings.push(format!(
                    "`{}` is held with order {order}, but `{}` follows {takes} derivative(s) of its inputs: it is held with order {takes}",
                    names.inputs[i], names.subsystems[owner]
                ));
            }
        }
        if self.method.slopes.value {
            warnings.extend(self.slope_warnings(&network, &names, &holds)?);
        }
        if let (Some(at), Some((bound, limit))) =
            (&self.simulation.step, catalogue::clamps(&self.method.controller, step))
        {
            let place = at.place().map_or(String::new(), |p| format!("{p}: "));
            warnings.push(format!(
                "{place}the first step, {} s, is beyond `{bound}`; the run starts with {} s",
                short(step),
                short(limit)
            ));
        }
        let (controller, step) = self.steering(&network, &names, (stop - start, step), &mut warnings);
        let adaptive = controller.name() != "fixed";
        let quantum = self.own_steps(&network, &names, &rates, step, adaptive)?;
        let refresh = self.refreshed(&network, &names)?;
        let classes = network.members.iter().map(Class::of).collect();
        let feeds = catalogue::feeds(&mut network, &names, &self.method.values_only, &refresh)?;
        let identifier = self.identifier(&network, &names, &refresh, &mut warnings)?;
        let context = Context {
            network: &network,
            names: &names,
            holds: &holds,
            feeds: &feeds,
            rates: &rates,
            start,
            duration: stop - start,
            step,
            bonds: names
                .bond_order
                .iter()
                .map(|&b| (self.bonds[b].tolerance, self.bonds[b].energy_scale))
                .collect(),
        };
        let method = &self.method;
        let steered_by_jumps = method.estimator.name() == "jump";
        self.check_way_back(&network, &names)?;
        let (mut estimators, mut estimator_names) = (Vec::new(), Vec::new());
        for spec in std::iter::once(&method.estimator).chain(&method.monitors) {
            if let Some(estimator) = catalogue::estimator(spec, &context)? {
                estimators.push(estimator);
                estimator_names.push(spec.name());
            }
        }
        if adaptive && method.estimator.name() == "none" {
            return Err(Error::input(
                method.controller.entry.place(),
                format!(
                    "controller `{}` needs an estimator to steer by; add `estimator = {{ kind = \"energy\", … }}`, \"predictor\", \"jump\" or \"richardson\"",
                    method.controller.name()
                ),
            ));
        }
        let policies = Policies {
            schedule: catalogue::schedule(&method.schedule, method.variable_hold, &context)?,
            extrapolation: catalogue::extrapolation(method.variable_hold, &context),
            correction: catalogue::correction(&method.correction, &context)?,
            estimators,
            controller: catalogue::controller(&controller, steered_by_jumps, &context)?,
            identifier,
        };
        let verdict = Verdict::new(
            &network,
            &Circumstances {
                holds: (0..holds.len()).map(|i| followed(&network, &rates, i, holds[i])).collect(),
                corrects: policies.correction.is_some(),
                refresh: refresh.clone(),
                twins: twins(&network, &names),
                discrete: (0..holds.len()).map(|i| is_discrete(&network, &names, i)).collect(),
                start,
                stop,
            },
        );
        let changes = effects.changes(&network, &names, &mut warnings);
        let settings = Settings {
            changes,
            worker_threads: self.simulation.worker_threads,
            end_rule: match self.simulation.end {
                EndRule::Exact if steered_by_jumps => EndRule::Halved,
                rule => rule,
            },
            quantum,
            land_on: self
                .simulation
                .output_interval
                .as_ref()
                .filter(|_| self.simulation.land_on_output.value)
                .map(|d| d.value),
            quadrature: method.quadrature,
            refresh,
            initial: self.simulation.initial,
            probe: self.probed(&network, &names),
            sample_feed_through: true,
            slopes: method.slopes.value,
            allow_nonfinite,
            ..Settings::new(start, stop)
        };
        let columns =
            recorded.into_iter().filter_map(|name| column(&names, &name).map(|c| (name, c))).collect();
        let ports = port_names(&network, &names);
        let declared_at = names.subsystems.iter().map(|name| {
            let spec = self.subsystems.iter().find(|s| s.name.value == *name)?;
            match spec.feed_through.as_ref()? {
                FeedThroughSpec::Pairs(at) => at.place(),
                _ => None,
            }
        });
        Ok(Prepared {
            refreshed: settings.refresh.clone(),
            declared_at: declared_at.collect(),
            master: Master::new(network, policies, settings),
            names,
            ports,
            columns,
            estimators: estimator_names,
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

    /// Start, stop and step, checked.
    fn experiment(&self) -> Result<(f64, f64, f64), Error> {
        let s = &self.simulation;
        let start = s.start.value;
        let Some(stop) = &s.stop else {
            if self.is_fmu_alone() {
                return Err(Error::input(None, "the FMU proposes no stop time; give `--end-time`"));
            }
            let message = "there is no stop time; write `stop` into `[simulation]` or give `--end-time`";
            return Err(Error::input(Some(self.source.place(0)), message));
        };
        for time in [&s.start, stop] {
            if !time.value.is_finite() {
                return Err(Error::input(
                    time.place(),
                    format!("a time of {} s; a finite number is needed", time.value),
                ));
            }
        }
        let duration = stop.value - start;
        if duration <= 0.0 || !duration.is_finite() {
            // An option is younger than the file: it is what the user has to look at.
            let option = [stop, &s.start].into_iter().find(|t| matches!(t.place(), Some(Place::Option(_))));
            let message = format!(
                "the run would start at {} s and stop at {} s; the stop must come after the start",
                short(start),
                short(stop.value)
            );
            return Err(Error::input(option.unwrap_or(stop).place(), message));
        }
        let check = |name: &str, value: &At<f64>| {
            let fail = |message: String| Err(Error::input(value.place(), message));
            let (x, run) = (value.value, short(duration));
            if x.is_nan() || x <= 0.0 {
                fail(format!("{name} is {x} s; a number above 0 is needed"))
            } else if x > duration * (1.0 + 1e-9) {
                fail(format!("{name} is {} s, longer than the run of {run} s", short(x)))
            } else if never_ends(start, duration, x) {
                fail(format!("{name} is {} s: a run of {run} s would never end", short(x)))
            } else {
                Ok(x)
            }
        };
        match &s.output_interval {
            None if s.land_on_output.value => {
                let message = "`output = \"land\"` needs an `output_interval` to land on";
                return Err(Error::input(s.land_on_output.place(), message));
            }
            None => {}
            Some(interval) => {
                let rows = duration / check("the output interval", interval)?;
                if rows > MAX_ROWS {
                    let message = format!(
                        "the output interval is {} s: {rows:.0e} rows in a run of {} s",
                        short(interval.value),
                        short(duration)
                    );
                    return Err(Error::input(interval.place(), message));
                }
            }
        }
        let by_default = stop.with(duration / DEFAULT_STEPS);
        let step = check("the step", s.step.as_ref().unwrap_or(&by_default))?;
        Ok((start, stop.value, step))
    }

    /// Where the subject of a build error stands.
    /// An error of the description in words, with what is known of built-in models.
    fn advise(&self, error: &BuildError) -> String {
        let parameter = |name: &VariableName| {
            let spec = self.subsystems.iter().find(|s| s.name.value == name.subsystem)?;
            let SimulatorSpec::Model(model) = &spec.simulator else { return None };
            models::find(&model.value)?.all_parameters().find(|p| p.name == name.variable)
        };
        match &error.problem {
            Problem::NoVariable { name, .. } if parameter(name).is_some() => {
                format!("`{name}` is a parameter: it has a value in `parameters` and cannot be connected")
            }
            problem => problem.to_string(),
        }
    }

    fn place_of(&self, error: &BuildError) -> Option<Place> {
        let named = |mut written: Box<dyn Iterator<Item = &At<VariableName>> + '_>| {
            written.find(|name| is_about(&error.problem, &name.value)).and_then(At::place)
        };
        match &error.subject {
            Subject::Subsystem(name) => self.subsystems.iter().find(|s| s.name.value == *name)?.name.place(),
            Subject::Connection(n) => {
                let c = &self.connections[*n];
                named(Box::new(c.from.iter().map(|(name, _)| name))).or_else(|| c.to.place())
            }
            Subject::External(n) => self.inputs.get(*n)?.0.place(),
            Subject::Bond(n, None) => self.bonds[*n].name.place(),
            Subject::Bond(n, Some(p)) => {
                let port = &self.bonds[*n].ports[*p];
                named(Box::new(port.inputs.iter().chain(&port.outputs))).or_else(|| port.sign.place())
            }
            Subject::Record(_) => None,
        }
    }

    /// Variables that fit the patterns of `[record]`, subsystem by subsystem.
    fn recorded(&self, builder: &NetworkBuilder) -> Result<Vec<VariableName>, Error> {
        let mut all = Vec::new();
        for (name, simulator) in builder.subsystems() {
            all.extend(simulator.info().variables.iter().map(|v| VariableName::new(name, &v.name)));
        }
        let texts: Vec<String> = all.iter().map(VariableName::to_string).collect();
        for pattern in self.record.variables.iter().chain(&self.record.exclude) {
            if pattern.value != "*" && !texts.iter().any(|t| glob::fits(&pattern.value, t)) {
                let is_packet = |(name, simulator): (&str, &dyn Subsystem)| {
                    simulator
                        .packets()
                        .iter()
                        .any(|p| glob::fits(&pattern.value, &format!("{name}.{}", p.name)))
                };
                if builder.subsystems().any(is_packet) {
                    let message =
                        format!("`{}` is a text or a binary; only numbers are recorded", pattern.value);
                    return Err(Error::input(pattern.place(), message));
                }
                let hint = hint(&pattern.value, texts.iter().map(String::as_str));
                return Err(Error::input(
                    pattern.place(),
                    format!("no variable fits `{}`.{hint}", pattern.value),
                ));
            }
        }
        let any = |patterns: &[At<String>], text: &str| patterns.iter().any(|p| glob::fits(&p.value, text));
        let keep = |text: &str| any(&self.record.variables, text) && !any(&self.record.exclude, text);
        Ok(all.into_iter().zip(&texts).filter(|(_, t)| keep(t)).map(|(name, _)| name).collect())
    }

    fn hold_orders(&self, names: &Names) -> Result<Vec<u8>, Error> {
        let mut holds = vec![self.method.hold; names.inputs.len()];
        for (name, order) in &self.method.holds {
            let Some(i) = names.inputs.iter().position(|n| *n == name.value) else {
                let texts: Vec<String> = names.inputs.iter().map(VariableName::to_string).collect();
                let hint = hint(&name.value.to_string(), texts.iter().map(String::as_str));
                return Err(Error::input(
                    name.place(),
                    format!("`{}` is no input that is fed.{hint}", name.value),
                ));
            };
            holds[i] = *order;
        }
        Ok(holds)
    }

    /// Sub-steps of each subsystem in a macro step.
    fn rates(&self, names: &Names, macro_step: f64) -> Result<Vec<u32>, Error> {
        let mut rates = vec![1; names.subsystems.len()];
        for spec in &self.subsystems {
            let Some(s) = names.subsystems.iter().position(|n| *n == spec.name.value) else { continue };
            if let Some(rate) = &spec.rate {
                rates[s] = rate.value;
            }
            if let Some(step) = &spec.step {
                let ratio = macro_step / step.value;
                let whole = ratio.round();
                if !((1.0..=f64::from(MAX_RATE)).contains(&whole) && (ratio / whole - 1.0).abs() < 1e-6) {
                    let cure = if step.value <= 0.0 {
                        "A number above 0 is needed".to_owned()
                    } else if ratio < 1.0 {
                        "It cannot be longer".to_owned()
                    } else if whole > f64::from(MAX_RATE) {
                        format!("At most {MAX_RATE} of them fit into one")
                    } else {
                        let nearest = |n: f64| short(macro_step / n);
                        format!(
                            "The nearest are {} s and {} s",
                            nearest(ratio.floor()),
                            nearest(ratio.floor() + 1.0)
                        )
                    };
                    return Err(Error::input(
                        step.place(),
                        format!(
                            "the step of `{}`, {} s, is not an integer fraction of the macro step {} s. {cure}",
                            spec.name.value,
                            short(step.value),
                            short(macro_step)
                        ),
                    ));
                }
                rates[s] = whole as u32;
            }
        }
        Ok(rates)
    }

    /// Subsystems that step in multiples of their own step need a macro step that fits: what adaptive steps have to be multiples of.
    fn own_steps(
        &self,
        network: &Network,
        names: &Names,
        rates: &[u32],
        step: f64,
        adaptive: bool,
    ) -> Result<Option<f64>, Error> {
        let own = |s: usize| network.members[s].capabilities.fixed_step.map(|own| own * f64::from(rates[s]));
        let multiple =
            |x: f64, of: f64| (x / of).round() >= 1.0 && (x / of / (x / of).round() - 1.0).abs() < 1e-6;
        let members = 0..network.members.len();
        let longest = members.clone().filter_map(|s| Some((own(s)?, s))).max_by(|a, b| a.0.total_cmp(&b.0));
        let place = self.simulation.step.as_ref().and_then(At::place);
        if let Some((quantum, of)) = longest.filter(|_| adaptive) {
            return match members.clone().find(|&s| own(s).is_some_and(|o| !multiple(quantum, o))) {
                Some(other) => Err(Error::input(
                    place,
                    format!(
                        "`{}` and `{}` step in multiples of {} s and {} s only, which have no common step: use a constant step that \
                         is a multiple of both",
                        names.subsystems[of],
                        names.subsystems[other],
                        short(quantum),
                        short(own(other).unwrap_or(quantum))
                    ),
                )),
                None => Ok(Some(quantum)),
            };
        }
        for s in members {
            let Some(own) = own(s).filter(|&own| !multiple(step, own)) else { continue };
            return Err(Error::input(
                place,
                format!(
                    "`{}` steps in multiples of {} s only: use a constant step of, for example, {} s",
                    names.subsystems[s],
                    short(own / f64::from(rates[s])),
                    short(own * (step / own).floor().max(1.0))
                ),
            ));
        }
        Ok(None)
    }

    /// The controller that the system can be run with, and the constant or first step; a note where that is not the wanted one.
    fn steering(
        &self,
        network: &Network,
        names: &Names,
        (duration, step): (f64, f64),
        warnings: &mut Vec<String>,
    ) -> (PolicySpec, f64) {
        let wanted = &self.method.controller;
        if self.method.estimator.name() != "jump" || wanted.name() == "fixed" {
            return (wanted.clone(), step);
        }
        let exchanged = |i: usize| network.wiring.is_coupled(i) && !is_discrete(network, names, i);
        let why = if !(0..network.n_inputs).any(exchanged) {
            "no number is exchanged between subsystems, so there is no coupling error".to_owned()
        } else if let Some(s) = network.members.iter().position(|m| m.capabilities.constant_step) {
            format!("`{}` takes steps of one length only", names.subsystems[s])
        } else {
            let given = self.simulation.step.as_ref().map(|at| at.value);
            return (wanted.clone(), given.unwrap_or(catalogue::FIRST_STEP * duration));
        };
        // Nobody chose this step: it may as well be a multiple of what a subsystem steps in.
        let step = if self.simulation.step.is_none() { whole_steps(network, step) } else { step };
        warnings.push(format!(
            "{why}: the step is constant, {} s; `step` in `[simulation]` sets another",
            short(step)
        ));
        (PolicySpec::named(Kind::Controller, "fixed"), step)
    }

    /// Finds out feed-through while the run goes on, where that is wanted.
    fn identifier(
        &self,
        network: &Network,
        names: &Names,
        refresh: &[usize],
        warnings: &mut Vec<String>,
    ) -> Result<Option<Identifier>, Error> {
        let fed = |s: &usize| feeds_through(&network.members[*s]) && !refresh.contains(s);
        let improved: Vec<usize> = match &self.method.identify {
            Identify::Off => Vec::new(),
            Identify::All => (0..network.members.len()).filter(fed).collect(),
            Identify::Some(list) => {
                list.iter().map(|name| subsystem(names, name)).collect::<Result<_, _>>()?
            }
        };
        let known = match self.method.correction.word("feed_through", "none") {
            "identified" => (0..network.members.len()).filter(fed).collect(),
            _ => Vec::new(),
        };
        for &s in improved.iter().filter(|&&s| catalogue::too_wide(network, s)) {
            warnings.push(format!(
                "`{}` has too many coupled inputs for its feed-through to be found out",
                names.subsystems[s]
            ));
        }
        let mut members: Vec<(usize, Role)> = improved.iter().map(|&s| (s, Role::Improved)).collect();
        members.extend(known.into_iter().filter(|s| !improved.contains(s)).map(|s| (s, Role::Known)));
        if matches!(self.method.identify, Identify::All) {
            members.extend(refresh.iter().map(|&s| (s, Role::Waiting)));
        }
        let usable = |i: usize| !is_discrete(network, names, i);
        let identifier = Identifier::new(network, &members, usable);
        Ok((!identifier.is_empty()).then_some(identifier))
    }

    /// Members whose feed-through is found out, or tested against the file, at the start.
    fn probed(&self, network: &Network, names: &Names) -> Vec<usize> {
        let wanted = |s: &usize| {
            let spec = self.subsystems.iter().find(|spec| spec.name.value == names.subsystems[*s]);
            match spec.and_then(|spec| spec.feed_through.as_ref()) {
                Some(FeedThroughSpec::Probe) => true,
                Some(FeedThroughSpec::Unknown) => false,
                Some(FeedThroughSpec::Pairs(_)) => self.simulation.probe,
                None => self.simulation.probe && !network.members[*s].feed_through_known,
            }
        };
        (0..network.members.len()).filter(wanted).collect()
    }

    /// `slopes = "outputs"` needs inputs that are held with a slope, and says which sources give none.
    fn slope_warnings(&self, network: &Network, names: &Names, holds: &[u8]) -> Result<Vec<String>, Error> {
        let place = self.method.slopes.place();
        if self.method.variable_hold {
            let message = "`slopes = \"outputs\"` goes with a hold order of its own, not with one that varies; write `hold = 1` or 2";
            return Err(Error::input(place, message));
        }
        let sloped: Vec<usize> =
            (0..network.n_inputs).filter(|&i| holds[i] > 0 && network.wiring.is_coupled(i)).collect();
        if sloped.is_empty() {
            let message = "`slopes = \"outputs\"` is about inputs that follow a line or a parabola; write `hold = 1` or 2";
            return Err(Error::input(place, message));
        }
        let gives = |s: usize| network.members[s].capabilities.output_derivatives > 0;
        let mut warnings = Vec::new();
        for &i in &sloped {
            let owners = network.wiring.sources(i).map(|(output, _)| network.owner_of_output[output]);
            if let Some(s) = owners.into_iter().find(|&s| !gives(s)) {
                warnings.push(format!(
                    "the slope of `{}` is a difference of its last values: `{}` gives no derivatives of its outputs",
                    names.inputs[i], names.subsystems[s]
                ));
            }
        }
        if warnings.len() == sloped.len() {
            let message =
                "`slopes = \"outputs\"`: no subsystem that feeds others gives derivatives of its outputs";
            return Err(Error::input(place, message));
        }
        Ok(warnings)
    }

    /// Methods that take steps back need every subsystem to be able to.
    fn check_way_back(&self, network: &Network, names: &Names) -> Result<(), Error> {
        let m = &self.method;
        let needs =
            |spec: &&PolicySpec| spec.entry.value.uses() == Some((Ability::Restore, Without::Refused));
        let stuck = network.members.iter().position(|member| !Ability::Restore.is_in(member));
        let mut chosen = std::iter::once(&m.estimator).chain(&m.monitors).chain([&m.controller]);
        let (Some(stuck), Some(spec)) = (stuck, chosen.find(needs)) else { return Ok(()) };
        let without = |kind: Kind| catalogue::without(kind, Ability::Restore);
        Err(Error::input(
            spec.entry.place(),
            format!(
                "`{}` cannot go back to a saved state, and {} `{}` takes steps back. Without that work the estimators {} with the \
                 controllers {}",
                names.subsystems[stuck],
                spec.entry.value.kind.key(),
                spec.name(),
                without(Kind::Estimator),
                without(Kind::Controller)
            ),
        ))
    }

    /// Members that re-read feed-through outputs, in feed-through order.
    fn refreshed(&self, network: &Network, names: &Names) -> Result<Vec<usize>, Error> {
        let fed = (0..network.members.len()).filter(|&s| feeds_through(&network.members[s]));
        let mut wanted = Vec::new();
        match &self.method.refresh {
            Refresh::Off => {}
            Refresh::All(at) => fed.for_each(|s| wanted.push((s, at.place()))),
            Refresh::Auto => {
                let can = fed.filter(|&s| network.members[s].capabilities.can_refresh);
                can.for_each(|s| wanted.push((s, None)));
            }
            Refresh::Some(list) => {
                for name in list {
                    wanted.push((subsystem(names, name)?, name.place()));
                }
            }
        }
        for (s, place) in &wanted {
            if !network.members[*s].capabilities.can_refresh {
                return Err(Error::input(
                    place.clone(),
                    format!(
                        "`{}` does not recompute its outputs while time stands still, so it cannot be refreshed. Name those that \
                         can: refresh = [\"…\"]",
                        names.subsystems[*s]
                    ),
                ));
            }
        }
        let listed = |s: &usize| wanted.iter().any(|(w, _)| w == s);
        Ok(network.evaluation_order.iter().copied().filter(listed).collect())
    }
}

/// What kind of value a variable has; a real number if there is no such variable.
fn kind_of(builder: &NetworkBuilder, name: &VariableName) -> ValueKind {
    let found = builder.subsystems().find(|(s, _)| *s == name.subsystem).and_then(|(_, simulator)| {
        let info = simulator.info();
        Some(info.variables[info.find(&name.variable)?].kind)
    });
    found.unwrap_or_default()
}

/// The place of a subsystem that was named.
fn subsystem(names: &Names, name: &At<String>) -> Result<usize, Error> {
    names.subsystems.iter().position(|n| *n == name.value).ok_or_else(|| {
        let hint = hint(&name.value, names.subsystems.iter().map(String::as_str));
        Error::input(name.place(), format!("there is no subsystem `{}`.{hint}", name.value))
    })
}

/// Steps of a run with a constant step that nobody chose.
const DEFAULT_STEPS: f64 = 1000.0;

/// The constant step of a run of `duration` in which nobody chose one.
pub(crate) fn default_step(network: &Network, duration: f64) -> f64 {
    whole_steps(network, duration / DEFAULT_STEPS)
}

/// A step that is a multiple of what a subsystem steps in, at most `step` if that is possible.
fn whole_steps(network: &Network, step: f64) -> f64 {
    let own = network.members.iter().filter_map(|m| m.capabilities.fixed_step).fold(0.0, f64::max);
    if own > 0.0 { own * (step / own).floor().max(1.0) } else { step }
}

/// More rows than this are a slip, not a wish.
const MAX_ROWS: f64 = 1e9;

/// Whether steps of `h` would take for ever, or do not move the clock at all.
pub(crate) fn never_ends(start: f64, duration: f64, h: f64) -> bool {
    let end = start + duration;
    duration / h > 1e13 || start + h == start || end - h == end
}

/// Whether a problem is about the variable that was written as `name`.
fn is_about(problem: &Problem, name: &VariableName) -> bool {
    match problem {
        Problem::NoSubsystem { name: subsystem, .. } => name.subsystem == *subsystem,
        Problem::NoVariable { name: n, .. } | Problem::WrongCausality { name: n, .. } => n == name,
        Problem::Units { from, .. } | Problem::Turns { from, .. } => from == name,
        Problem::Unfed { input } | Problem::Foreign { input, .. } | Problem::UsedTwice { input, .. } => {
            input == name
        }
        Problem::NotAPower { input, .. } | Problem::SplitPort { input, .. } => input == name,
        _ => false,
    }
}

/// The hold order that the subsystem of an input follows: within a macro step by derivatives or in sub-steps.
fn followed(network: &Network, rates: &[u32], input: usize, order: u8) -> u8 {
    let owner = network.owner_of_input[input];
    if rates[owner] > 1 { order } else { order.min(network.members[owner].capabilities.input_derivatives) }
}

/// For every input the one that carries the same quantity the other way between the same two subsystems.
fn twins(network: &Network, names: &Names) -> Vec<Option<usize>> {
    let unit = |i: usize| {
        let info = network.members[network.owner_of_input[i]].simulator.info();
        let variable = info.find(&names.inputs[i].variable)?;
        info.variables[variable].unit.as_ref().map(|unit| unit.symbol.clone())
    };
    let from = |i: usize| match network.wiring.sources(i).collect::<Vec<_>>()[..] {
        [(output, _)] => Some(network.owner_of_output[output]),
        _ => None,
    };
    let ends: Vec<Option<(usize, usize, String)>> = (0..network.n_inputs)
        .map(|i| Some((from(i)?, network.owner_of_input[i], unit(i).filter(|u| !u.is_empty())?)))
        .collect();
    let mut backward: std::collections::HashMap<(usize, usize, &str), usize> = Default::default();
    for (i, end) in ends.iter().enumerate() {
        if let Some((from, to, unit)) = end {
            backward.entry((*from, *to, unit)).or_insert(i);
        }
    }
    let twin = |end: &Option<(usize, usize, String)>| {
        end.as_ref().and_then(|(from, to, unit)| backward.get(&(*to, *from, unit.as_str())).copied())
    };
    ends.iter().map(twin).collect()
}

/// Whether an input is a whole number, a boolean or an enumeration: such inputs are held, never extrapolated.
pub(crate) fn is_discrete(network: &Network, names: &Names, input: usize) -> bool {
    let info = network.members[network.owner_of_input[input]].simulator.info();
    info.find(&names.inputs[input].variable).is_some_and(|v| info.variables[v].kind != ValueKind::Real)
}

fn column(names: &Names, name: &VariableName) -> Option<Column> {
    let find = |list: &[VariableName]| list.iter().position(|n| n == name);
    find(&names.outputs)
        .map(Column::Output)
        .or_else(|| find(&names.inputs).map(Column::Input))
        .or_else(|| find(&names.probes).map(Column::Probe))
}

/// Ports by the name of their subsystem; with a number where it has several in one bond.
fn port_names(network: &Network, names: &Names) -> Vec<Vec<String>> {
    let mut result = Vec::new();
    for range in &network.bonds.bonds {
        let plain = &names.ports[range.clone()];
        let unique = |i: usize| {
            let same = plain.iter().filter(|n| **n == plain[i]).count();
            if same == 1 {
                plain[i].clone()
            } else {
                format!("{}{}", plain[i], 1 + plain[..i].iter().filter(|n| **n == plain[i]).count())
            }
        };
        result.push((0..plain.len()).map(unique).collect());
    }
    result
}
