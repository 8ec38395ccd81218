//! Values of parameter bindings find their variables: by hierarchical names, and through connectors of systems.

use super::flat::{Flat, Port};
use super::signals::{is_parameter, variable};
use super::values::Parameter;
use crate::error::Collector;
use crate::source::At;
use crate::system::{Given, SubsystemSpec};
use powerbond_fmi::Fmu;
use powerbond_fmi::description::{Causality, Initial, Variability, Variable};
use std::collections::HashSet;

/// Sets what the bindings of all elements say. Those of outer systems stand over those of inner ones, later over earlier ones.
pub fn set(
    flat: &mut Flat,
    fmus: &[Option<Fmu>],
    specs: &mut [SubsystemSpec],
    notes: &mut Vec<String>,
    problems: &mut Collector,
) {
    let mut order: Vec<usize> = (0..flat.owners.len()).collect();
    order.sort_by_key(|&owner| std::cmp::Reverse(flat.owners[owner].depth));
    for owner in order {
        for parameter in std::mem::take(&mut flat.owners[owner].bindings) {
            let Some(port) = flat.named(owner, &parameter.name.value) else {
                notes.push(format!(
                    "{}there is no `{}` in {}; its value is not used",
                    parameter.name.prefix(),
                    parameter.name.value,
                    match flat.owners[owner].path.as_str() {
                        "" => "the system".to_owned(),
                        path => format!("`{path}`"),
                    }
                ));
                continue;
            };
            let mut seen = HashSet::new();
            let mut to = Setting { flat, fmus, specs, notes, problems };
            to.give(&port, parameter, &mut seen);
        }
    }
}

/// The values that variables behind a connector of a system get, each with the FMU that it belongs to.
pub fn behind(
    flat: &Flat,
    fmus: &[Option<Fmu>],
    port: &Port,
    parameter: Parameter,
    notes: &mut Vec<String>,
    problems: &mut Collector,
) -> Vec<(usize, At<String>, Given)> {
    let mut specs: Vec<SubsystemSpec> = flat.leaves.iter().map(super::spec).collect();
    let mut to = Setting { flat, fmus, specs: &mut specs, notes, problems };
    to.give(port, parameter, &mut HashSet::new());
    let values = specs.into_iter().enumerate().flat_map(|(leaf, spec)| {
        spec.parameters.into_iter().chain(spec.start).map(move |(name, value)| (leaf, name, value))
    });
    values.collect()
}

/// What a value is given to.
struct Setting<'a> {
    flat: &'a Flat,
    fmus: &'a [Option<Fmu>],
    specs: &'a mut [SubsystemSpec],
    notes: &'a mut Vec<String>,
    problems: &'a mut Collector,
}

impl Setting<'_> {
    /// Gives a value to a variable, or to all that a connector of a system feeds.
    fn give(&mut self, port: &Port, parameter: Parameter, seen: &mut HashSet<Port>) {
        if !seen.insert(port.clone()) {
            return;
        }
        if let Some(leaf) = self.flat.owners[port.owner].leaf {
            self.set(leaf, port, parameter);
            return;
        }
        let own = self.flat.unit(port).cloned();
        let unit = own.clone().or_else(|| parameter.unit.clone());
        let Some(value) = self.problems.keep(match own {
            Some(own) => parameter.clone().in_unit(Some(&own), self.notes),
            None => Parameter { unit: None, ..parameter.clone() }.in_unit(None, self.notes),
        }) else {
            return;
        };
        let edges: Vec<_> = self.flat.onward(port).collect();
        if edges.is_empty() {
            self.notes.push(format!(
                "{}`{}` feeds nothing; its value is not used",
                parameter.name.prefix(),
                self.flat.shown(port)
            ));
        }
        for edge in edges {
            let unit = unit.clone().filter(|_| !edge.suppress_units);
            let then = edge.then.clone();
            let onward = Parameter { name: parameter.name.clone(), value: value.clone(), unit, then };
            self.give(&edge.to, onward, seen);
        }
    }

    /// Sets a variable of an FMU.
    fn set(&mut self, leaf: usize, port: &Port, parameter: Parameter) {
        let Some(fmu) = &self.fmus[leaf] else { return };
        let (spec, place) = (&mut self.specs[leaf], parameter.name.prefix());
        let Some(found) = variable(fmu, &port.name) else {
            self.notes.push(format!(
                "{place}the FMU of `{}` has no `{}`; its value is not used",
                spec.name.value, port.name
            ));
            return;
        };
        if let Some(reason) = fixed(found) {
            self.notes.push(format!(
                "{place}`{}.{}` is {reason}, which cannot be set; its value is not used",
                spec.name.value, port.name
            ));
            return;
        }
        let name = parameter.name.with(port.name.clone());
        let wanted = fmu
            .description()
            .unit_of(found)
            .map(|unit| (*unit).clone())
            .or_else(|| self.flat.unit(port).cloned());
        let Some(value) = self.problems.keep(parameter.in_unit(wanted.as_ref(), self.notes)) else { return };
        let list = if is_parameter(found) { &mut spec.parameters } else { &mut spec.start };
        list.retain(|(other, _)| other.value != name.value);
        list.push((name, value));
    }
}

/// Why a variable cannot be set; none if it can.
fn fixed(variable: &Variable) -> Option<&'static str> {
    if variable.variability == Variability::Constant {
        return Some("a constant");
    }
    let calculated = variable.initial == Initial::Calculated || variable.causality == Causality::Independent;
    calculated.then(|| variable.causality.noun())
}
