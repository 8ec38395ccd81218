//! What else is wrong with a system of which a part cannot be made: names of the rest are looked up all the same, so that one run
//! of the program tells all of them.

use super::coupled::Coupled;
use super::experiment::Experiment;
use super::subsystems::Trials;
use crate::Error;
use crate::error::Collector;
use crate::source::At;
use crate::system::{Connection, Record, Simulation, System};
use powerbond_core::network::VariableName;
use std::collections::BTreeSet;

/// Adds the mistakes of `system` without the subsystems in `broken` and everything that touches them. Its times are not looked at.
pub(super) fn mistakes(system: &System, broken: &BTreeSet<String>, problems: &mut Collector) {
    let gone = |name: &At<VariableName>| broken.contains(&name.value.subsystem);
    let mut rest = System {
        simulation: Simulation { stop: Some(At::default(1.0)), ..Simulation::default() },
        scenario: None,
        record: Record { variables: Some(Vec::new()), ..Record::default() },
        ..system.clone()
    };
    rest.subsystems.retain(|spec| !broken.contains(&spec.name.value));
    if rest.subsystems.is_empty() {
        return;
    }
    let touched = |c: &Connection| gone(&c.to) || c.from.iter().any(|(name, _)| gone(name));
    let unfed: BTreeSet<VariableName> =
        rest.connections.iter().filter(|c| touched(c)).map(|c| c.to.value.clone()).collect();
    rest.connections.retain(|c| !touched(c));
    rest.inputs.retain(|(name, _)| !gone(name));
    // The powers of a bond are compared through its connections: without one of them there is nothing to compare.
    rest.bonds.retain(|bond| {
        let mut inputs = bond.ports.iter().flat_map(|port| &port.inputs);
        let mut outputs = bond.ports.iter().flat_map(|port| &port.outputs);
        !inputs.any(|name| gone(name) || unfed.contains(&name.value)) && !outputs.any(gone)
    });
    let coupled =
        Experiment::of(&rest).and_then(|experiment| Coupled::of(&rest, experiment, Trials::WithoutSteps));
    // What fails while something runs is not a mistake of the description.
    if let Err(error @ Error::Input(_)) = coupled {
        problems.add(error);
    }
}
