//! Inputs that several connections feed and whose ports name one of them: each connection gets an input of its own.

use crate::Error;
use crate::error::Collector;
use crate::system::{BondPort, Connection, System};
use powerbond_core::network::{ConnectionSpec, VariableName};
use powerbond_core::subsystem::Subsystem;
use powerbond_core::subsystem::shared_inputs::{Share, SharedInputs};
use powerbond_core::suggest::hint;
use std::collections::{BTreeMap, BTreeSet};

/// Which connections of an input have an input of their own.
#[derive(Default)]
pub(super) struct Shares {
    of: BTreeMap<VariableName, BTreeSet<VariableName>>,
}

/// The name of what the other connections of a shared input feed.
const REST: &str = "rest";

impl Shares {
    /// Those that the ports of a system name.
    pub fn of(system: &System) -> Result<Self, Error> {
        let mut problems = Collector::new();
        let connections: BTreeMap<&VariableName, &Connection> =
            system.connections.iter().map(|c| (&c.to.value, c)).collect();
        let mut shares = Shares::default();
        for port in system.bonds.iter().flat_map(|bond| &bond.ports) {
            for (input, from) in port.inputs.iter().zip(&port.from) {
                let Some(connection) = connections.get(&input.value) else { continue };
                if connection.from.iter().any(|(name, _)| name.value == from.value) {
                    shares.of.entry(input.value.clone()).or_default().insert(from.value.clone());
                    continue;
                }
                let sources: Vec<String> = connection.from.iter().map(|(n, _)| n.value.to_string()).collect();
                let hint = hint(&from.value.to_string(), sources.iter().map(String::as_str));
                let message = format!(
                    "`{}` does not feed `{}`, which is connected to {}.{hint}",
                    from.value,
                    input.value,
                    listed(&sources)
                );
                problems.add(Error::input(from.place(), message));
            }
        }
        for bond in &system.bonds {
            for (p, port) in bond.ports.iter().enumerate().filter(|(_, port)| port.from.is_empty()) {
                for input in port.inputs.iter().filter(|input| shares.of.contains_key(&input.value)) {
                    let message = format!(
                        "port {} of bond `{}`: another port takes a share of `{}`; name the connection of this one, too, \
                         with `from`",
                        p + 1,
                        bond.name.value,
                        input.value
                    );
                    problems.add(Error::input(input.place(), message));
                }
            }
        }
        problems.finish(shares)
    }

    /// Whether an input is taken apart.
    pub fn is_shared(&self, input: &VariableName) -> bool {
        self.of.contains_key(input)
    }

    /// A subsystem with its shared inputs taken apart.
    pub fn apply(&self, system: &System, name: &str, made: Box<dyn Subsystem>) -> Box<dyn Subsystem> {
        let mut list = Vec::new();
        for (v, variable) in made.info().variables.iter().enumerate() {
            let whole = VariableName { subsystem: name.to_owned(), variable: variable.name.clone() };
            let Some(sources) = self.of.get(&whole) else { continue };
            let parts = sources.iter().map(|source| share_name(&whole, source));
            list.extend(parts.map(|part| Share { input: v, name: part.variable }));
            if self.rest(system, &whole).is_some() {
                list.push(Share { input: v, name: rest_name(&whole).variable });
            }
        }
        if list.is_empty() { made } else { Box::new(SharedInputs::new(made, list)) }
    }

    /// The connections that stand for one of a file.
    pub fn split(&self, connection: &Connection) -> Vec<ConnectionSpec> {
        let to = &connection.to.value;
        let spec = |from: Vec<(VariableName, f64)>, to: VariableName, offset: f64| ConnectionSpec {
            from,
            to,
            offset,
            convert_units: connection.convert_units,
        };
        let all = connection.from.iter().map(|(name, gain)| (name.value.clone(), *gain));
        let Some(sources) = self.of.get(to) else {
            return vec![spec(all.collect(), to.clone(), connection.offset)];
        };
        let (shared, rest): (Vec<_>, Vec<_>) = all.partition(|(name, _)| sources.contains(name));
        let mut offset = if rest.is_empty() { connection.offset } else { 0.0 };
        let mut specs = Vec::new();
        for source in sources {
            let of_source = shared.iter().filter(|(name, _)| name == source).cloned().collect();
            specs.push(spec(of_source, share_name(to, source), std::mem::take(&mut offset)));
        }
        if !rest.is_empty() {
            specs.push(spec(rest, rest_name(to), connection.offset));
        }
        specs
    }

    /// The connection of the file from which the `n`-th one that [`Shares::split`] made comes.
    pub fn origin(&self, system: &System, n: usize) -> Option<usize> {
        let made = |c: &Connection| self.split(c).len();
        let mut left = n;
        system.connections.iter().position(|c| {
            let here = left < made(c);
            left = left.saturating_sub(made(c));
            here
        })
    }

    /// The inputs of a port: shares of those that are taken apart.
    pub fn inputs(&self, port: &BondPort) -> Vec<VariableName> {
        let share = |(i, input): (usize, &VariableName)| match port.from.get(i) {
            Some(from) if self.is_shared(input) => share_name(input, &from.value),
            _ => input.clone(),
        };
        port.inputs.iter().map(|input| &input.value).enumerate().map(share).collect()
    }

    /// Something beside the named connections feeds a shared input.
    fn rest(&self, system: &System, input: &VariableName) -> Option<()> {
        let sources = self.of.get(input)?;
        let connection = system.connections.iter().find(|c| c.to.value == *input)?;
        connection.from.iter().any(|(name, _)| !sources.contains(&name.value)).then_some(())
    }
}

fn share_name(input: &VariableName, source: &VariableName) -> VariableName {
    VariableName { variable: format!("{}[{source}]", input.variable), ..input.clone() }
}

fn rest_name(input: &VariableName) -> VariableName {
    VariableName { variable: format!("{}[{REST}]", input.variable), ..input.clone() }
}

fn listed(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
