//! What a scenario does to a system: signals of inputs that nothing else feeds, connections and tunable parameters.

use super::experiment::Experiment;
use super::wide;
use crate::Error;
use crate::number::short;
use crate::scenario::{Action, Event, Scenario, Value};
use crate::source::At;
use crate::system::{Given, Items, SimulatorSpec, System, items_of, open_fmu};
use powerbond_core::network::{NameIndex, Names, Network, NetworkBuilder, Row, VariableName};
use powerbond_core::run::{Change, ParameterChange};
use powerbond_core::subsystem::{Causality, ValueKind, Variable};
use powerbond_core::suggest::hint;
use powerbond_core::time::signal::{Modifier, Signal};
use powerbond_fmi::description::{self, Variability};
use std::collections::{BTreeMap, BTreeSet};

/// The events of a scenario, checked, in the order of time.
#[derive(Default)]
pub struct Effects {
    effects: Vec<Effect>,
    /// What happens to each input that nothing feeds.
    of_inputs: BTreeMap<VariableName, Vec<(f64, Modifier)>>,
}

struct Effect {
    /// In s.
    time: f64,
    name: VariableName,
    target: Target,
    modifier: Modifier,
}

#[derive(Clone, Copy, PartialEq)]
enum Target {
    /// An input that nothing feeds; its start value.
    Free(f64),
    /// An input that outputs feed.
    Fed,
    Output,
    /// A tunable parameter: its index in the description of its subsystem, and its value at the start.
    Parameter(usize, f64),
}

impl Effects {
    /// Checks the events of `scenario` against the subsystems that `builder` has.
    pub fn new(
        system: &System,
        scenario: &Scenario,
        builder: &NetworkBuilder,
        Experiment { start, stop, .. }: Experiment,
        warnings: &mut Vec<String>,
    ) -> Result<Self, Error> {
        let mut effects = Vec::new();
        let specs = system.specs();
        let connected: BTreeSet<&VariableName> = system.connections.iter().map(|c| &c.to.value).collect();
        for event in &scenario.events {
            let target = target(system, &specs, &connected, builder, event)?;
            let time = start + event.time.value;
            if time >= stop {
                let place = event.time.prefix();
                warnings.push(format!(
                    "{place}the event at {} s after the start is not reached: the run is {} s long",
                    short(event.time.value),
                    short(stop - start)
                ));
            }
            let name = event.variable.value.clone();
            let (target, kind) = target;
            let items = items(system, &specs, &event.variable.value)?;
            effects.push(Effect { time, name, target, modifier: modifier(event, kind, &items)? });
        }
        // Events at one time happen in the order of the file.
        effects.sort_by(|a, b| a.time.total_cmp(&b.time));
        if let Some(end) = &scenario.end {
            let mut known: BTreeSet<&VariableName> = BTreeSet::new();
            let touched: Vec<(VariableName, Target)> = effects
                .iter()
                .filter(|effect| known.insert(&effect.name))
                .map(|effect| (effect.name.clone(), effect.target))
                .collect();
            let release =
                |(name, target)| Effect { time: start + end.value, name, target, modifier: Modifier::None };
            effects.extend(touched.into_iter().map(release));
        }
        let mut of_inputs: BTreeMap<VariableName, Vec<(f64, Modifier)>> = BTreeMap::new();
        for effect in effects.iter().filter(|e| matches!(e.target, Target::Free(_))) {
            let changes = of_inputs.entry(effect.name.clone()).or_default();
            match changes.last_mut().filter(|last| last.0 == effect.time) {
                Some(last) => last.1 = effect.modifier,
                None => changes.push((effect.time, effect.modifier)),
            }
        }
        Ok(Effects { effects, of_inputs })
    }

    /// Changes a tunable parameter as `signal` does; none if that is not piecewise constant. `variable` is its index and its start value.
    pub fn tune(
        &mut self,
        name: &VariableName,
        (variable, value): (usize, f64),
        signal: &Signal,
        Experiment { start, .. }: Experiment,
    ) -> Option<()> {
        let mut changes: Vec<(f64, f64)> = match signal {
            Signal::Constant(_) => Vec::new(),
            Signal::Step { time, to, .. } => vec![(*time, *to)],
            Signal::Table { times, values, linear: false } => {
                let rows = times.iter().copied().zip(values.iter().copied());
                rows.filter(|(time, _)| *time > start).collect()
            }
            _ => return None,
        };
        changes.retain(|(time, _)| *time > start);
        let mut last = signal.at(start);
        let effect = |time: f64, x: f64| Effect {
            time,
            name: name.clone(),
            target: Target::Parameter(variable, value),
            modifier: Modifier::Override(x),
        };
        let mut effects = vec![effect(start, last)];
        for (time, x) in changes {
            if x != last {
                effects.push(effect(time, x));
                last = x;
            }
        }
        // At one time a scenario has the last word.
        effects.append(&mut self.effects);
        effects.sort_by(|a, b| a.time.total_cmp(&b.time));
        self.effects = effects;
        Some(())
    }

    /// The signal of an input, with what happens to it.
    pub fn change(&self, input: &VariableName, signal: Signal) -> Signal {
        match self.of_inputs.get(input).cloned() {
            Some(changes) => Signal::Changed { base: Box::new(signal), changes },
            None => signal,
        }
    }

    /// Inputs that nothing feeds but the scenario, with their start values.
    pub fn inputs(&self, system: &System) -> Vec<(VariableName, Signal)> {
        let mut known: BTreeSet<&VariableName> = system.inputs.iter().map(|(name, _)| &name.value).collect();
        let mut inputs = Vec::new();
        for effect in &self.effects {
            if let Target::Free(start) = effect.target
                && known.insert(&effect.name)
            {
                inputs.push((effect.name.clone(), Signal::Constant(start)));
            }
        }
        inputs
    }

    /// Changes of connections and parameters, in the order of time.
    pub fn changes(&self, network: &Network, names: &Names, warnings: &mut Vec<String>) -> Vec<Change> {
        let rows: Vec<Row> = (0..network.n_inputs)
            .map(|i| Row { sources: network.wiring.sources(i).collect(), offset: network.wiring.offset(i) })
            .collect();
        let mut fed_by: Vec<Vec<usize>> = vec![Vec::new(); network.n_outputs];
        for (i, row) in rows.iter().enumerate() {
            let sources: BTreeSet<usize> = row.sources.iter().map(|s| s.0).collect();
            sources.into_iter().for_each(|o| fed_by[o].push(i));
        }
        let [inputs, outputs] =
            [&names.inputs, &names.outputs].map(|list| list.iter().collect::<NameIndex<&VariableName>>());
        let members: NameIndex<&str> = names.subsystems.iter().map(String::as_str).collect();
        let mut feed_nothing: BTreeSet<&VariableName> = BTreeSet::new();
        let mut of_inputs = vec![Modifier::None; network.n_inputs];
        let mut of_outputs = vec![Modifier::None; network.n_outputs];
        let mut changes: Vec<Change> = Vec::new();
        for effect in &self.effects {
            let mut change = Change { time: effect.time, rows: Vec::new(), parameters: Vec::new() };
            let mut touched: Vec<usize> = Vec::new();
            match effect.target {
                Target::Free(_) => continue,
                Target::Fed => {
                    let Some(i) = inputs.place(&effect.name) else { continue };
                    of_inputs[i] = effect.modifier;
                    touched.push(i);
                }
                Target::Output => {
                    let output = outputs.place(&effect.name);
                    touched = output.map_or(Vec::new(), |o| fed_by[o].clone());
                    match output.filter(|_| !touched.is_empty()) {
                        Some(o) => of_outputs[o] = effect.modifier,
                        None => {
                            if feed_nothing.insert(&effect.name) {
                                warnings.push(format!(
                                    "scenario: `{}` is not connected: events on it have no effect",
                                    effect.name
                                ));
                            }
                            continue;
                        }
                    }
                }
                Target::Parameter(variable, start) => {
                    let member = members.place(effect.name.subsystem.as_str());
                    let setting = member.map(|member| ParameterChange {
                        member,
                        variable,
                        value: effect.modifier.apply(start),
                    });
                    change.parameters.extend(setting);
                }
            }
            for i in touched {
                change.rows.push((i, changed(&rows[i], of_inputs[i], &of_outputs)));
            }
            changes.push(change);
        }
        changes
    }
}

/// The connection of an input with what happens to it and to its sources.
fn changed(row: &Row, input: Modifier, outputs: &[Modifier]) -> Row {
    let mut new = row.clone();
    for (output, gain) in &mut new.sources {
        match outputs[*output] {
            Modifier::None => {}
            Modifier::Bias(more) => new.offset += *gain * more,
            Modifier::Override(instead) => {
                new.offset += *gain * instead;
                *gain = 0.0;
            }
        }
    }
    match input {
        Modifier::None => {}
        Modifier::Bias(more) => new.offset += more,
        Modifier::Override(instead) => {
            new.sources.iter_mut().for_each(|(_, gain)| *gain = 0.0);
            new.offset = instead;
        }
    }
    new
}

fn modifier(event: &Event, kind: ValueKind, items: &Items) -> Result<Modifier, Error> {
    let is_item = |x: f64| items.is_empty() || items.values().any(|item| *item == x);
    let number = |value: &At<Value>| match (&value.value, kind) {
        (Value::Flag(b), ValueKind::Boolean) => Ok(f64::from(u8::from(*b))),
        (Value::Number(x), ValueKind::Boolean) if *x == 0.0 || *x == 1.0 => Ok(*x),
        (Value::Number(x), ValueKind::Real) => Ok(*x),
        (Value::Number(x), ValueKind::Integer) if x.fract() == 0.0 && x.abs() < wide::EXACT => Ok(*x),
        (Value::Number(x), ValueKind::Integer) if x.fract() == 0.0 => {
            let message = format!(
                "`{}`: integers from 2^53 on would be rounded in a scenario; use a table in `[inputs]`",
                event.variable.value
            );
            Err(Error::input(value.place(), message))
        }
        (Value::Number(x), ValueKind::Enumeration) if x.fract() == 0.0 && is_item(*x) => Ok(*x),
        (Value::Item(name), ValueKind::Enumeration) if items.contains_key(name) => Ok(items[name]),
        (Value::Item(name), ValueKind::Enumeration) => {
            let hint = hint(name, items.keys().map(String::as_str));
            let message = format!("`{}` has no item `{name}`.{hint}", event.variable.value);
            Err(Error::input(value.place(), message))
        }
        (found, _) => {
            let found = match found {
                Value::Number(x) => short(*x),
                Value::Flag(b) => b.to_string(),
                Value::Item(name) => format!("\"{name}\""),
            };
            let message =
                format!("`{}` is {}; {found} is not a value of this type", event.variable.value, kind.noun());
            Err(Error::input(value.place(), message))
        }
    };
    Ok(match &event.action {
        Action::Override(value) => Modifier::Override(number(value)?),
        Action::Bias(value) if matches!(kind, ValueKind::Real | ValueKind::Integer) => {
            Modifier::Bias(number(value)?)
        }
        Action::Bias(value) => {
            let message = format!(
                "`{}` is {}: `bias` is not supported; use `override`",
                event.variable.value,
                kind.noun()
            );
            return Err(Error::input(value.place(), message));
        }
        Action::Reset => Modifier::None,
    })
}

/// What an event is about, and what kind of value that has.
fn target(
    system: &System,
    specs: &NameIndex<&str>,
    connected: &BTreeSet<&VariableName>,
    builder: &NetworkBuilder,
    event: &Event,
) -> Result<(Target, ValueKind), Error> {
    let VariableName { subsystem, variable } = &event.variable.value;
    let fail = |message: String| Err(Error::input(event.variable.place(), message));
    let spec = specs.place(subsystem.as_str()).map(|s| &system.subsystems[s]);
    let (Some(spec), Some(simulator)) = (spec, builder.simulator(subsystem)) else {
        let names: Vec<&str> = system.subsystems.iter().map(|s| s.name.value.as_str()).collect();
        let message = format!("unknown subsystem `{subsystem}`.{}", hint(subsystem, names));
        return Err(Error::input(event.model.place(), message));
    };
    let info = simulator.info();
    let Some((v, found)) = builder.variable_of(&event.variable.value) else {
        if let SimulatorSpec::Model(name) = &spec.simulator
            && let Some(model) = powerbond_models::find(&name.value)
            && model.all_parameters().any(|p| p.name == variable)
        {
            return fail(format!(
                "`{variable}` is a parameter of the built-in model `{}`, which cannot change while it runs",
                name.value
            ));
        }
        let hint = hint(variable, info.variables.iter().map(|v| v.name.as_str()));
        return fail(format!("`{subsystem}` ({}): unknown variable `{variable}`.{hint}", info.kind));
    };
    let target = match found.causality {
        Causality::Output => Target::Output,
        Causality::Input if connected.contains(&event.variable.value) => Target::Fed,
        Causality::Input => {
            Target::Free(start_of(spec, found, &items(system, specs, &event.variable.value)?))
        }
        Causality::Local => match &spec.simulator {
            SimulatorSpec::Fmu(path, _) => {
                let fmu = open_fmu(system.folder(), path)?;
                Target::Parameter(v, parameter(fmu.description(), spec, event, found)?)
            }
            // Whether it can be set is known to the program alone.
            SimulatorSpec::Own(_) => Target::Parameter(v, start_of(spec, found, &Items::new())),
            SimulatorSpec::Model(_) => {
                return fail(format!(
                    "`{}` is computed by the model; events change inputs, outputs and tunable parameters",
                    event.variable.value
                ));
            }
        },
    };
    Ok((target, found.kind))
}

/// The items of a variable of an FMU that is an enumeration; none of others.
fn items(system: &System, specs: &NameIndex<&str>, name: &VariableName) -> Result<Items, Error> {
    match specs.place(name.subsystem.as_str()).map(|s| &system.subsystems[s].simulator) {
        Some(SimulatorSpec::Fmu(path, _)) => {
            Ok(items_of(open_fmu(system.folder(), path)?.description(), &name.variable))
        }
        _ => Ok(Items::new()),
    }
}

/// The start value of an input that nothing feeds.
fn start_of(spec: &crate::system::SubsystemSpec, variable: &Variable, items: &Items) -> f64 {
    let given = spec.parameters.iter().chain(&spec.start).rev().find(|(name, _)| name.value == variable.name);
    let number = |value: &Given| match value {
        Given::Text(name) | Given::Typed(name) if items.contains_key(name) => Some(items[name]),
        other => other.number(),
    };
    given.and_then(|(_, value)| number(value)).unwrap_or(variable.start)
}

/// The value at the start of a parameter that may be changed while the FMU runs.
fn parameter(
    description: &description::ModelDescription,
    spec: &crate::system::SubsystemSpec,
    event: &Event,
    variable: &Variable,
) -> Result<f64, Error> {
    let name = &event.variable.value;
    let fail = |message: String| Err(Error::input(event.variable.place(), message));
    let Some(v) = description.find(&name.variable) else {
        return fail(format!("`{name}` is an element of an array; events change scalars"));
    };
    let found = &description.variables[v];
    if found.causality != description::Causality::Parameter {
        return fail(format!(
            "`{name}` is {}; events change inputs, outputs and tunable parameters",
            found.causality.noun()
        ));
    }
    if found.variability != Variability::Tunable {
        return fail(format!(
            "`{name}` is a parameter that is not tunable: it cannot change while the FMU runs"
        ));
    }
    Ok(start_of(spec, variable, &items_of(description, &name.variable)))
}
