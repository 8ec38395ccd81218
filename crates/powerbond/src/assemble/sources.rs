//! Variables that FMUs keep inside and connections read all the same: local variables and calculated parameters become outputs.

use crate::Error;
use crate::error::Collector;
use crate::source::At;
use crate::system::{System, variable_of};
use powerbond_core::network::VariableName;
use powerbond_fmi::Fmu;
use powerbond_fmi::description::Causality;
use std::collections::{BTreeMap, BTreeSet};

/// What connections and sides of bonds read of each subsystem.
pub(super) struct Sources<'a>(BTreeMap<&'a str, Vec<&'a At<VariableName>>>);

impl<'a> Sources<'a> {
    /// Of all connections and bonds.
    pub fn of(system: &'a System) -> Self {
        let connected = system.connections.iter().flat_map(|c| c.from.iter().map(|(name, _)| name));
        let sides = system.bonds.iter().flat_map(|bond| &bond.ports).flat_map(|port| &port.outputs);
        let mut found: BTreeMap<&str, Vec<&At<VariableName>>> = BTreeMap::new();
        for name in connected.chain(sides) {
            found.entry(&name.value.subsystem).or_default().push(name);
        }
        Sources(found)
    }

    /// The variables of `fmu`, which simulates `subsystem`, that are read and are no outputs, by the names that its description has.
    /// What names no variable, or an input, is told where names become indices.
    pub fn inside(&self, subsystem: &str, fmu: &Fmu) -> Result<Vec<String>, Error> {
        let (mut inside, mut problems) = (BTreeSet::new(), Collector::new());
        for name in self.0.get(subsystem).into_iter().flatten() {
            let Some(variable) = variable_of(fmu, &name.value.variable) else { continue };
            match variable.causality {
                Causality::Input | Causality::Output => {}
                Causality::Local | Causality::CalculatedParameter | Causality::Independent => {
                    inside.insert(variable.name.to_string());
                }
                Causality::Parameter | Causality::StructuralParameter => {
                    let message = format!(
                        "`{}` is {}, which has the value that it is given; a connection begins at what the model computes. Give \
                         this value to the input, too",
                        name.value,
                        variable.causality.noun()
                    );
                    problems.add(Error::input(name.place(), message));
                }
            }
        }
        problems.finish(inside.into_iter().collect())
    }
}
