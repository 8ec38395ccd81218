//! What a system leaves open and a run would not show: inputs that nothing feeds, signals that do not move in the time of
//! the run, units without a conversion or without a partner, gains of bonds with few digits.

use crate::number::{percent, short};
use crate::source::At;
use crate::system::{SubsystemSpec, System};
use powerbond_core::network::{Names, Network, NetworkBuilder, VariableName};
use powerbond_core::subsystem::{Causality, Digits, Variable};
use powerbond_core::time::signal::Signal;
use powerbond_core::units::Conversion;
use std::collections::{BTreeMap, BTreeSet};

/// Inputs that are named in one warning.
const NAMED: usize = 8;

/// A warning about inputs that keep their start values although the file does not say so; `forced` are fed by a scenario.
pub fn unfed(system: &System, builder: &NetworkBuilder, forced: &[VariableName]) -> Option<String> {
    if system.is_fmu_alone() {
        return None;
    }
    let connected = system.connections.iter().map(|c| &c.to.value);
    let fed: BTreeSet<&VariableName> =
        connected.chain(system.inputs.iter().map(|(input, _)| &input.value)).chain(forced).collect();
    let specs: BTreeMap<&str, &SubsystemSpec> =
        system.subsystems.iter().map(|spec| (spec.name.value.as_str(), spec)).collect();
    let mut open = Vec::new();
    let outputs = std::cell::LazyCell::new(|| outputs_by_name(builder));
    for (subsystem, simulator) in builder.subsystems() {
        let set = specs.get(subsystem).map_or_else(BTreeSet::new, |spec| given(spec));
        let variables = simulator.info().variables.iter().filter(|v| v.digits != Digits::Rest);
        for variable in variables.filter(|v| v.causality == Causality::Input) {
            let name = VariableName::new(subsystem, &variable.name);
            if !fed.contains(&name) && !sets(&set, &variable.name) {
                // One output that has its name, and a unit that fits, was most likely meant.
                let is_likely =
                    |(owner, output): &&(&str, &Variable)| *owner != subsystem && fits(output, variable);
                let mut fitting = outputs.get(variable.name.as_str()).into_iter().flatten().filter(is_likely);
                let meant = match (fitting.next(), fitting.next()) {
                    (Some((owner, output)), None) => format!("; `{owner}.{}` has its name", output.name),
                    _ => String::new(),
                };
                open.push(format!("`{name}` (start value {}{meant})", start(variable)));
            }
        }
    }
    let more = open.len().saturating_sub(NAMED);
    open.truncate(NAMED);
    if open.is_empty() {
        return None;
    }
    let them = if open.len() == 1 { "it" } else { "them" };
    let more = if more == 0 { String::new() } else { format!("; and {more} more inputs") };
    Some(format!(
        "not connected: {}{more}. Connect {them}, or set {them} in `[inputs]` to silence this warning",
        open.join("; ")
    ))
}

/// All outputs of a system, by the names that they have in their subsystems.
fn outputs_by_name(builder: &NetworkBuilder) -> BTreeMap<&str, Vec<(&str, &Variable)>> {
    let mut outputs: BTreeMap<&str, Vec<(&str, &Variable)>> = BTreeMap::new();
    for (subsystem, simulator) in builder.subsystems() {
        let variables = simulator.info().variables.iter().filter(|v| v.digits != Digits::Rest);
        for variable in variables.filter(|v| v.causality == Causality::Output) {
            outputs.entry(&variable.name).or_default().push((subsystem, variable));
        }
    }
    outputs
}

/// Whether the output may feed the input as far as kinds and units tell.
fn fits(output: &Variable, input: &Variable) -> bool {
    let units_fit = match (&output.unit, &input.unit) {
        (Some(a), Some(b)) => {
            !matches!(a.conversion_to(b), Conversion::Impossible | Conversion::Turns { .. })
        }
        _ => true,
    };
    output.kind.may_feed(input.kind) && units_fit
}

/// What the file gives values to.
fn given(spec: &SubsystemSpec) -> BTreeSet<&str> {
    spec.start.iter().chain(&spec.parameters).map(|(name, _)| name.value.as_str()).collect()
}

/// Whether a variable of an FMU is among them, as a whole or as an element of an array.
fn sets(given: &BTreeSet<&str>, variable: &str) -> bool {
    given.contains(variable) || variable.split('[').next().is_some_and(|array| given.contains(array))
}

fn start(variable: &Variable) -> String {
    let unit = variable.unit.as_ref().map_or(String::new(), |unit| unit.suffix());
    format!("{}{unit}", short(variable.start))
}

/// A warning about a signal that moves before or after the run only.
pub fn still(name: &At<VariableName>, signal: &Signal, start: f64, stop: f64) -> Option<String> {
    let what = match signal {
        Signal::Step { time, .. } if *time > stop => format!("its step is at {} s", short(*time)),
        Signal::Ramp { start: begin, .. } if *begin >= stop => {
            format!("its ramp begins at {} s", short(*begin))
        }
        Signal::Ramp { end, .. } if *end < start => format!("its ramp ends at {} s", short(*end)),
        Signal::Table { times, .. } => {
            let (first, last) = (*times.first()?, *times.last()?);
            // A table of one row is a constant.
            if times.len() == 1 || (first < stop && last > start) {
                return None;
            }
            format!("its table goes from {} s to {} s", short(first), short(last))
        }
        _ => return None,
    };
    let (place, name, start, stop) = (name.prefix(), &name.value, short(start), short(stop));
    Some(format!("{place}`{name}` is constant during the run: {what}, the run is from {start} s to {stop} s"))
}

/// A warning for every connection between units of which one is not understood: the number is passed on as it is.
pub fn unknown_units(system: &System, builder: &NetworkBuilder) -> Vec<String> {
    let unit = |name: &VariableName| {
        builder.variable_of(name)?.1.unit.as_ref().filter(|unit| !unit.symbol.is_empty())
    };
    let mut warnings = Vec::new();
    for connection in system.connections.iter().filter(|c| c.convert_units) {
        let to = &connection.to.value;
        for (from, _) in &connection.from {
            let (Some(a), Some(b)) = (unit(&from.value), unit(to)) else { continue };
            if a.conversion_to(b) == Conversion::Unknown && a.symbol != b.symbol {
                warnings.push(format!(
                    "{}`{}` has the unit {} and `{to}` {}: unknown conversion, so the value is not converted. Set \
                     `gain` and `convert_units = false`",
                    from.prefix(), from.value, a.symbol, b.symbol
                ));
            }
        }
    }
    warnings
}

/// Gains and ratios up to this share from each other differ by round-off of unit conversions only.
const ROUND_OFF: f64 = 1e-9;

/// A warning for every bond whose gains and ratios cancel to a few digits only.
pub fn rounded_gains(system: &System, network: &Network, names: &Names) -> Vec<String> {
    let bonds = network.bonds.imbalance.iter().zip(&names.bond_order);
    let rounded = bonds.filter(|(share, _)| **share > ROUND_OFF);
    let warning = |(share, &b): (&f64, &usize)| {
        let name = &system.bonds[b].name;
        format!(
            "{}the powers of bond `{}` cancel up to {} of them: a rounded `gain` or `ratio`, which counts as residual. \
             Write more digits",
            name.prefix(),
            name.value,
            percent(*share)
        )
    };
    rounded.map(warning).collect()
}

/// Notes about units that are missing: where a connection has one on one side only, and where bonds are taken to be in SI.
pub fn missing_units(system: &System, builder: &NetworkBuilder) -> Vec<String> {
    let unit = |name: &VariableName| {
        builder.variable_of(name).map(|(_, v)| v.unit.as_ref().filter(|unit| !unit.symbol.is_empty()))
    };
    let mut halves = Vec::new();
    for connection in system.connections.iter().filter(|c| c.convert_units) {
        for (from, _) in &connection.from {
            let (a, b) = (&from.value, &connection.to.value);
            match (unit(a), unit(b)) {
                (Some(Some(known)), Some(None)) => halves.push(format!("`{b}` (fed in {})", known.symbol)),
                (Some(None), Some(Some(known))) => halves.push(format!("`{a}` (taken as {})", known.symbol)),
                _ => {}
            }
        }
    }
    let ports = system.bonds.iter().filter(|bond| !bond.pseudo).flat_map(|bond| &bond.ports);
    let variables = ports.flat_map(|port| port.inputs.iter().chain(&port.outputs));
    let without: BTreeSet<String> = variables
        .filter(|name| matches!(unit(&name.value), Some(None)))
        .map(|name| format!("`{}`", name.value))
        .collect();
    let without: Vec<String> = without.into_iter().collect();
    let mut notes = Vec::new();
    if !without.is_empty() {
        let (have, it) = if without.len() == 1 { ("has", "it") } else { ("have", "they") };
        notes.push(format!("{} {have} no unit: {it} count in SI units in power bonds", cut(&without)));
    }
    if !halves.is_empty() {
        let (have, other) =
            if halves.len() == 1 { ("has", "the other end") } else { ("have", "their other ends") };
        notes.push(format!(
            "{} {have} no unit, {other} of the connection has one: the number is passed on as it is",
            cut(&halves)
        ));
    }
    notes
}

/// The first few of a list.
fn cut(list: &[String]) -> String {
    let more = list.len().saturating_sub(NAMED);
    let named = list[..list.len() - more].join(", ");
    if more == 0 { named } else { format!("{named} and {more} more") }
}
