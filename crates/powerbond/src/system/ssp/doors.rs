//! Connectors of systems by their names: options and parameter files give values to what is behind them.

use super::flat::{Flat, Port};
use super::parameters;
use super::signals::unit_at;
use super::values::Parameter;
use crate::Error;
use crate::error::Collector;
use crate::source::At;
use crate::system::Given;
use powerbond_core::network::VariableName;
use powerbond_core::units::{Conversion, Unit};
use powerbond_fmi::Fmu;
use std::collections::HashSet;
use std::fmt;

/// Names of variables and their values, each with the subsystem that it is for.
pub type Placed<T> = Vec<(T, At<String>, Given)>;

/// The connectors of a structure and its systems.
pub struct Doors {
    flat: Flat,
    fmus: Vec<Option<Fmu>>,
}

impl fmt::Debug for Doors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Doors").finish_non_exhaustive()
    }
}

impl Doors {
    /// Of everything in one level, with the FMUs of the leaves.
    pub fn new(flat: Flat, fmus: Vec<Option<Fmu>>) -> Self {
        Doors { flat, fmus }
    }

    /// The connector of a system that a name means, with dots or as a path.
    fn port(&self, name: &str) -> Option<Port> {
        let found = self.flat.named(0, name).or_else(|| self.flat.named(0, &name.replace('/', ".")))?;
        self.flat.owners[found.owner].leaf.is_none().then_some(found)
    }

    /// The names of the connectors at which values enter.
    pub fn names(&self) -> Vec<String> {
        self.flat.entrances().map(|port| self.flat.shown(&port)).collect()
    }

    /// Whether a name is that of a connector of a system.
    pub fn has(&self, name: &str) -> bool {
        self.port(name).is_some()
    }

    /// The values of the variables behind the connector of a system that a parameter names, each with its subsystem; none if it names no
    /// such connector.
    pub fn values(
        &self,
        parameter: &Parameter,
        notes: &mut Vec<String>,
    ) -> Option<Result<Placed<String>, Error>> {
        let port = self.port(&parameter.name.value)?;
        let mut problems = Collector::new();
        let found =
            parameters::behind(&self.flat, &self.fmus, &port, parameter.clone(), notes, &mut problems);
        let named = |(leaf, name, value): (usize, At<String>, Given)| {
            (self.flat.leaves[leaf].name.value.clone(), name, value)
        };
        Some(problems.finish(found.into_iter().map(named).collect()))
    }

    /// The inputs that the connector of a system feeds, or why a signal cannot go to them; none if the name is not of such a connector.
    pub fn inputs(&self, name: &str) -> Option<Result<Vec<VariableName>, String>> {
        let port = self.port(name)?;
        let mut inputs = Vec::new();
        let found = self.follow(&port, None, &mut inputs, &mut HashSet::new());
        Some(found.and_then(|()| match inputs.is_empty() {
            true => Err(format!("`{name}` feeds no input")),
            false => Ok(inputs),
        }))
    }

    /// Adds the inputs behind a connector at which values arrive in `unit`.
    fn follow(
        &self,
        port: &Port,
        unit: Option<Unit>,
        inputs: &mut Vec<VariableName>,
        seen: &mut HashSet<Port>,
    ) -> Result<(), String> {
        if !seen.insert(port.clone()) {
            return Ok(());
        }
        let leaf = self.flat.owners[port.owner].leaf;
        let own = unit_at(&self.flat, leaf.and_then(|leaf| self.fmus[leaf].as_ref()), port);
        let is_converted = match (&unit, &own) {
            (Some(a), Some(b)) => !matches!(
                a.conversion_to(b),
                Conversion::Linear { gain: 1.0, offset: 0.0 } | Conversion::Unknown
            ),
            _ => false,
        };
        if is_converted {
            return Err(format!(
                "units are converted on the way to `{}`; give it its own column",
                self.flat.shown(port)
            ));
        }
        if let Some(leaf) = leaf {
            inputs.push(VariableName::new(&self.flat.leaves[leaf].name.value, &port.name));
            return Ok(());
        }
        for edge in self.flat.onward(port) {
            if edge.then.is_some() || !edge.from_element.is_empty() || !edge.to_element.is_empty() {
                return Err(format!(
                    "values are transformed on the way to `{}`; give it its own column",
                    self.flat.shown(&edge.to)
                ));
            }
            let unit = own.clone().or_else(|| unit.clone()).filter(|_| !edge.suppress_units);
            self.follow(&edge.to, unit, inputs, seen)?;
        }
        Ok(())
    }
}
