//! The second stage: subsystems are made and coupled, names become indices, feed-through is probed.

use super::experiment::Experiment;
use super::record::recorded;
use super::scenario::Effects;
use super::shares::Shares;
use super::sources::Sources;
use super::subsystems::{self, SharedLog, Trials};
use super::timing::{Timed, Timing};
use super::{declared, open_ends, rest, wide};
use crate::Error;
use crate::error::Collector;
use crate::number::short;
use crate::source::At;
use crate::system::{BondPort, OwnStepsBy, SimulatorSpec, Site, System, Tables, items_of, misfit, open_fmu};
use powerbond_core::network::{BondSpec, Names, Network, NetworkBuilder, PortSpec, VariableName};
use powerbond_core::subsystem::own_step::{Governor, OwnStepProbe, OwnSteps};
use powerbond_core::subsystem::twin::Twinned;
use powerbond_core::subsystem::{Causality, Setup, Subsystem, ValueKind};
use powerbond_core::time::signal::Signal;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A system whose subsystems exist and are coupled.
pub(super) struct Coupled<'a> {
    pub system: &'a System,
    pub experiment: Experiment,
    pub network: Network,
    pub names: Names,
    pub recorded: Vec<VariableName>,
    pub effects: Effects,
    /// Time per subsystem, in the order of names.
    pub timings: Vec<Arc<Timing>>,
    /// Own steps of each subsystem, in the same order, where they are probed.
    pub own: Vec<Option<OwnSteps>>,
    /// Where each subsystem runs, in the order of the system.
    pub sites: Vec<Site>,
    /// What FMUs say.
    pub log: SharedLog,
    pub warnings: Vec<String>,
    /// What is good to know, and no reason to doubt the run.
    pub notes: Vec<String>,
}

impl<'a> Coupled<'a> {
    /// The error has everything that is wrong.
    pub fn of(system: &'a System, experiment: Experiment, trials: Trials) -> Result<Self, Error> {
        let mut warnings = experiment.notes(system);
        warnings.extend(system.notes.iter().cloned());
        let log = SharedLog::default();
        let shares = Shares::of(system)?;
        let Simulators { builder, timings, own, sites } =
            simulators(system, &shares, trials, &log, &mut warnings)?;
        let mut problems = Collector::new();
        let mut recorded = problems.keep_or(Vec::new(), recorded(system, &builder));
        leave_out_unreadable(&builder, experiment, &mut recorded, &mut warnings);
        let mut effects = match &system.scenario {
            Some(scenario) => {
                let effects = Effects::new(system, scenario, &builder, experiment, &mut warnings);
                problems.keep_or(Effects::default(), effects)
            }
            None => Effects::default(),
        };
        let builder =
            couple(system, &shares, builder, &mut effects, experiment, &mut problems, &mut warnings);
        let notes = open_ends::missing_units(system, &builder);
        let rests = wide::records(&builder, &recorded);
        let builder = recorded.iter().cloned().chain(rests).fold(builder, NetworkBuilder::record);
        let built = builder.build().map_err(|errors| system.refused(&errors));
        let built = problems.keep(built);
        let (network, names) = problems.finish_some(built)?;
        warnings.extend(experiment.notes_on_members(system, &network, &names));
        warnings.extend(open_ends::rounded_gains(system, &network, &names));
        let mut coupled = Coupled {
            system,
            experiment,
            network,
            names,
            recorded,
            effects,
            timings,
            own,
            sites,
            log,
            warnings,
            notes,
        };
        coupled.probe_feed_through()?;
        coupled.probe_integrations();
        system.method.correction.settle_gains(&mut coupled.network, &coupled.names)?;
        Ok(coupled)
    }
}

/// Every subsystem, in name order.
struct Simulators {
    builder: NetworkBuilder,
    timings: Vec<Arc<Timing>>,
    own: Vec<Option<OwnSteps>>,
    /// In the order of the system.
    sites: Vec<Site>,
}

/// How finely the subsystem at a place in the order of names is sub-stepped for its own error, if it is: `auto` does, and a run that is
/// repeated does as before.
fn governor(system: &System, place: usize) -> Option<Governor> {
    if let Some(repeats) = &system.simulation.repeats {
        let rates = repeats.sub_steps.get(place).cloned().unwrap_or_default();
        return Some(Governor::Repeat { rates, parts: f64::from(repeats.parts) });
    }
    let is_auto = system.method.kind.is_some();
    system.method.jump_tolerance().filter(|_| is_auto).map(Governor::Tolerance)
}

/// Makes every subsystem, in name order, each with something that takes its time and, where several are coupled, probes its own steps.
fn simulators(
    system: &System,
    shares: &Shares,
    trials: Trials,
    log: &SharedLog,
    warnings: &mut Vec<String>,
) -> Result<Simulators, Error> {
    let mut builder = NetworkBuilder::new();
    let (mut timings, mut own) = (Vec::new(), Vec::new());
    let own_steps = system.verdict.own_steps;
    let probes = own_steps != OwnStepsBy::Nothing && system.subsystems.len() > 1;
    let (sites, sources) = (system.sites(), Sources::of(system));
    let mut ordered: Vec<_> = system.subsystems.iter().zip(&sites).collect();
    ordered.sort_by(|(a, _), (b, _)| a.name.value.cmp(&b.name.value));
    let (mut problems, mut broken) = (Collector::new(), BTreeSet::new());
    for (spec, site) in ordered {
        let made = subsystems::make(system, (spec, site), &sources, trials, log, warnings)
            .and_then(|made| declared::apply(spec, made));
        if let Some(simulator) = problems.keep(made) {
            let (simulator, found) = match probes.then(|| governor(system, timings.len())) {
                Some(governor) => {
                    // A run that is repeated in finer steps is compared itself.
                    let may_have_twin =
                        system.simulation.repeats.is_none() && Twinned::is_possible(simulator.as_ref());
                    let restores = simulator.info().capabilities.can_restore;
                    let wants_twin = may_have_twin && own_steps == OwnStepsBy::Twin;
                    let (probed, found): (Box<dyn Subsystem>, _) = if may_have_twin && !restores {
                        let (twinned, found) = Twinned::new(simulator);
                        (Box::new(twinned), found)
                    } else {
                        let (probe, found) = OwnStepProbe::new(simulator, governor);
                        match wants_twin {
                            true => (Box::new(Twinned::beside(probe, &found)), found),
                            false => (Box::new(probe), found),
                        }
                    };
                    if wants_twin {
                        found.want_twin();
                    }
                    (probed, Some(found))
                }
                None => (simulator, None),
            };
            own.push(found);
            let (timed, timing) = Timed::new(shares.apply(system, &spec.name.value, simulator));
            timings.push(timing);
            builder = builder.subsystem(&spec.name.value, Box::new(timed));
        } else {
            broken.insert(spec.name.value.clone());
        }
    }
    if !broken.is_empty() {
        rest::mistakes(system, &broken, &mut problems);
    }
    problems.finish(Simulators { builder, timings, own, sites })
}

/// Items of enumerations that inputs from tables and constants may name.
fn items_of_inputs(system: &System) -> Result<Tables, Error> {
    let (mut tables, specs) = (Tables::default(), system.specs());
    for (name, signal) in &system.inputs {
        let spec = specs.place(name.value.subsystem.as_str()).map(|s| &system.subsystems[s].simulator);
        if let Some(SimulatorSpec::Fmu(path, _)) = spec {
            let fmu = open_fmu(system.folder(), path)?;
            let items = items_of(fmu.description(), &name.value.variable);
            tables.know_items(signal, system.folder(), &name.value, items);
        }
    }
    Ok(tables)
}

/// Takes local variables out of what is recorded that a scratch instance refuses to read, and says so.
fn leave_out_unreadable(
    builder: &NetworkBuilder,
    Experiment { start, stop, .. }: Experiment,
    recorded: &mut Vec<VariableName>,
    warnings: &mut Vec<String>,
) {
    let mut locals: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for name in recorded.iter() {
        if let Some((v, Causality::Local)) = builder.variable_of(name).map(|(v, found)| (v, found.causality))
        {
            locals.entry(&name.subsystem).or_default().push(v);
        }
    }
    let mut refused: BTreeSet<VariableName> = BTreeSet::new();
    for (subsystem, variables) in locals {
        let Some(simulator) = builder.simulator(subsystem) else { continue };
        let found = simulator.unreadable(&variables, &Setup { start, stop });
        let names = found.iter().map(|&v| VariableName::new(subsystem, &simulator.info().variables[v].name));
        let names: Vec<VariableName> = names.collect();
        if let Some(first) = names.first() {
            let more = match names.len() {
                1 => String::new(),
                n => format!(" and {} more", n - 1),
            };
            warnings.push(format!("`{first}`{more}: not recorded, since the FMU refuses to read it"));
        }
        refused.extend(names);
    }
    if !refused.is_empty() {
        recorded.retain(|name| !refused.contains(name));
    }
}

/// Adds connections, external inputs and bonds.
fn couple(
    system: &System,
    shares: &Shares,
    mut builder: NetworkBuilder,
    effects: &mut Effects,
    experiment: Experiment,
    problems: &mut Collector,
    warnings: &mut Vec<String>,
) -> NetworkBuilder {
    // Connections of rests come after all others, which are known by their places.
    let specs: Vec<_> = system.connections.iter().flat_map(|c| shares.split(c)).collect();
    let (rests, rounded) = wide::connections(system, &builder, &specs);
    warnings.extend(rounded);
    builder = specs.into_iter().chain(rests).fold(builder, NetworkBuilder::connection);
    for (to, table) in system.connections.iter().filter_map(|c| Some((&c.to, c.table.as_ref()?))) {
        if builder.variable_of(&to.value).is_some_and(|(_, v)| v.kind == ValueKind::Real) {
            let message = format!(
                "`{}` is a real number; tables are for integers, booleans and enumerations",
                to.value
            );
            problems.add(Error::input(to.place(), message));
        }
        builder = builder.table(to.value.clone(), table.clone());
    }
    for event in system.scenario.iter().flat_map(|scenario| &scenario.events) {
        if shares.is_shared(&event.variable.value) {
            let message = format!(
                "the connections of `{}` are shares of bonds: change the outputs that feed it instead",
                event.variable.value
            );
            problems.add(Error::input(event.variable.place(), message));
        }
    }
    let mut tables = problems.keep_or(Tables::default(), items_of_inputs(system));
    for (name, signal) in &system.inputs {
        let rest = tables.rest(signal, system.folder(), &name.value);
        let signal = tables.signal(signal, system.folder(), &name.value);
        // Goes on with something, so that nothing else is missed.
        let mut signal = problems.keep_or(Signal::Constant(0.0), signal);
        warnings.extend(open_ends::still(name, &signal, experiment.start, experiment.stop));
        // What has no such variable is refused when the network is built.
        let variable = builder.variable_of(&name.value);
        let kind = variable.map_or(ValueKind::Real, |(_, v)| v.kind);
        if let (Signal::Table { linear, .. }, Some((_, v))) = (&mut signal, variable) {
            *linear &= v.kind == ValueKind::Real && !v.discrete;
        }
        let tunable = variable.filter(|(_, v)| v.causality == Causality::Local && v.settable);
        let tunable = tunable.map(|(place, v)| (place, v.start));
        let is_wide = wide::is_wide(&builder, &name.value);
        if let Some(x) = misfit(&signal, kind) {
            let message =
                format!("`{}` is {}; {} is not a value of this type", name.value, kind.noun(), short(x));
            problems.add(Error::input(name.place(), message));
        }
        if let Some(x) = tables.no_item(&name.value, &signal) {
            let message = format!("`{}` has no item with the value {}", name.value, short(x));
            problems.add(Error::input(name.place(), message));
        }
        if let (true, &Signal::Step { from, to, .. }) = (is_wide, &signal)
            && from.abs().max(to.abs()) >= wide::EXACT
        {
            let message =
                format!("`{}`: integers from 2^53 on would be rounded in a `step`; use a table", name.value);
            problems.add(Error::input(name.place(), message));
        }
        let rest = rest.filter(|_| is_wide && !wide::is_changed(system, &name.value));
        match tunable {
            Some(_) if rest.is_some() => {
                let message = format!(
                    "`{}` is a tunable parameter: integers beyond 2^53 cannot be set during the run",
                    name.value
                );
                problems.add(Error::input(name.place(), message));
            }
            Some(tunable) => {
                let tuned = effects.tune(&name.value, tunable, &signal, experiment);
                let message = || {
                    format!(
                        "`{}` is a tunable parameter, which changes at events only; use a constant, `step` or a table",
                        name.value
                    )
                };
                problems.keep(tuned.ok_or_else(|| Error::input(name.place(), message())));
            }
            None => {
                builder = builder.external(name.value.clone(), effects.change(&name.value, signal));
                if let Some(rest) = rest {
                    builder = builder.external(wide::rest_of(&name.value), rest);
                }
            }
        }
    }
    let forced = effects.inputs(system);
    let connected = system.connections.iter().flat_map(|c| shares.split(c)).map(|spec| spec.to);
    let forced_names: Vec<VariableName> =
        forced.iter().map(|(name, _)| name.clone()).chain(connected).collect();
    warnings.extend(open_ends::unfed(system, &builder, &forced_names));
    warnings.extend(open_ends::unknown_units(system, &builder));
    for (name, start) in forced {
        let signal = effects.change(&name, start);
        builder = builder.external(name, signal);
    }
    let plain = |names: &[At<VariableName>]| names.iter().map(|n| n.value.clone()).collect();
    for bond in &system.bonds {
        let port = |p: &BondPort| PortSpec {
            inputs: shares.inputs(p),
            outputs: plain(&p.outputs),
            sign: p.sign.value,
            ratio: p.ratio,
        };
        let ports = bond.ports.iter().map(port).collect();
        let spec = BondSpec { name: bond.name.value.clone(), ports };
        builder = if bond.pseudo { builder.pseudo_bond(spec) } else { builder.bond(spec) };
    }
    builder
}
