//! What is coloured in a picture of a system: ports and wires of bonds, and algebraic loops.

use super::Check;
use powerbond_core::network::NameIndex;
use std::collections::BTreeSet;

/// Bonds and loops by the full names of variables.
pub struct Marks<'a> {
    /// The first bond of every variable that is a side of one; an input belongs to no second.
    bonds: NameIndex<&'a str>,
    /// A bond and an output of one of its ports.
    outputs: BTreeSet<(usize, &'a str)>,
    /// From and to, along all loops.
    loops: BTreeSet<(&'a str, &'a str)>,
}

impl<'a> Marks<'a> {
    /// Of a system.
    pub fn of(check: &'a Check) -> Self {
        let (mut bonds, mut outputs) = (NameIndex::default(), BTreeSet::new());
        for (k, bond) in check.bonds.iter().enumerate() {
            for port in &bond.ports {
                port.inputs.iter().chain(&port.outputs).for_each(|name| bonds.insert(name.as_str(), k));
                outputs.extend(port.outputs.iter().map(|name| (k, name.as_str())));
            }
        }
        let steps = |path: &'a [String]| {
            let next = path.iter().cycle().skip(1);
            path.iter().zip(next).map(|(a, b)| (a.as_str(), b.as_str()))
        };
        Marks { bonds, outputs, loops: check.loops.iter().flat_map(|found| steps(&found.path)).collect() }
    }

    /// The bond that a port belongs to.
    pub fn of_port(&self, name: &str) -> Option<usize> {
        self.bonds.place(name)
    }

    /// The bond that a wire belongs to.
    pub fn of_wire(&self, source: &str, target: &str) -> Option<usize> {
        self.bonds.place(target).filter(|&k| self.outputs.contains(&(k, source)))
    }

    /// Whether values of a loop travel from `a` to `b`.
    pub fn in_loop(&self, a: &str, b: &str) -> bool {
        self.loops.contains(&(a, b))
    }
}
