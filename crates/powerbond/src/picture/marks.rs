//! What is coloured in a picture of a system: ports and wires of bonds, and algebraic loops.

use super::Diagram;
use std::collections::{BTreeMap, BTreeSet};

/// Bonds and loops by the full names of variables.
pub struct Marks<'a> {
    /// The first bond of every variable that is a side of one; an input belongs to no second.
    bonds: BTreeMap<&'a str, usize>,
    /// A bond and an output of one of its ports.
    outputs: BTreeSet<(usize, &'a str)>,
    /// From and to, along all loops.
    loops: BTreeSet<(&'a str, &'a str)>,
}

impl<'a> Marks<'a> {
    /// Of a system.
    pub fn of(diagram: &'a Diagram) -> Self {
        let (mut bonds, mut outputs) = (BTreeMap::new(), BTreeSet::new());
        for (k, bond) in diagram.bonds.iter().enumerate() {
            for name in bond.inputs.iter().chain(&bond.outputs) {
                bonds.entry(name.as_str()).or_insert(k);
            }
            outputs.extend(bond.outputs.iter().map(|name| (k, name.as_str())));
        }
        let steps = diagram.loops.iter().flat_map(|found| &found.steps);
        Marks { bonds, outputs, loops: steps.map(|(a, b)| (a.as_str(), b.as_str())).collect() }
    }

    /// The bond that a port belongs to.
    pub fn of_port(&self, name: &str) -> Option<usize> {
        self.bonds.get(name).copied()
    }

    /// The bond that a wire belongs to.
    pub fn of_wire(&self, source: &str, target: &str) -> Option<usize> {
        self.of_port(target).filter(|&k| self.outputs.contains(&(k, source)))
    }

    /// Whether values of a loop travel from `a` to `b`.
    pub fn in_loop(&self, a: &str, b: &str) -> bool {
        self.loops.contains(&(a, b))
    }
}
