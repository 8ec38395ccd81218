//! What is recorded, by the names that tables give it.

use super::Column;
use crate::Error;
use crate::glob;
use crate::source::At;
use crate::system::System;
use powerbond_core::network::{Names, Network, NetworkBuilder, VariableName};
use powerbond_core::subsystem::Subsystem;
use powerbond_core::suggest::hint;

impl System {
    /// Variables that fit the patterns of `[record]`, subsystem by subsystem.
    pub(super) fn recorded(&self, builder: &NetworkBuilder) -> Result<Vec<VariableName>, Error> {
        let mut all = Vec::new();
        for (name, simulator) in builder.subsystems() {
            all.extend(simulator.info().variables.iter().map(|v| VariableName::new(name, &v.name)));
        }
        let texts: Vec<String> = all.iter().map(VariableName::to_string).collect();
        for pattern in self.record.variables.iter().chain(&self.record.exclude) {
            if pattern.value != "*" && !texts.iter().any(|t| glob::fits(&pattern.value, t)) {
                let is_packet = |(name, simulator): (&str, &dyn Subsystem)| {
                    simulator
                        .packets()
                        .iter()
                        .any(|p| glob::fits(&pattern.value, &format!("{name}.{}", p.name)))
                };
                if builder.subsystems().any(is_packet) {
                    let message =
                        format!("`{}` is a text or a binary; only numbers are recorded", pattern.value);
                    return Err(Error::input(pattern.place(), message));
                }
                let hint = hint(&pattern.value, texts.iter().map(String::as_str));
                return Err(Error::input(
                    pattern.place(),
                    format!("no variable fits `{}`.{hint}", pattern.value),
                ));
            }
        }
        let any = |patterns: &[At<String>], text: &str| patterns.iter().any(|p| glob::fits(&p.value, text));
        let keep = |text: &str| any(&self.record.variables, text) && !any(&self.record.exclude, text);
        Ok(all.into_iter().zip(&texts).filter(|(_, t)| keep(t)).map(|(name, _)| name).collect())
    }
}

/// Where the value of a variable is found.
pub(super) fn column(names: &Names, name: &VariableName) -> Option<Column> {
    let find = |list: &[VariableName]| list.iter().position(|n| n == name);
    find(&names.outputs)
        .map(Column::Output)
        .or_else(|| find(&names.inputs).map(Column::Input))
        .or_else(|| find(&names.probes).map(Column::Probe))
}

/// Ports by the name of their subsystem; with a number where it has several in one bond.
pub(super) fn port_names(network: &Network, names: &Names) -> Vec<Vec<String>> {
    let mut result = Vec::new();
    for range in &network.bonds.bonds {
        let plain = &names.ports[range.clone()];
        let unique = |i: usize| {
            let same = plain.iter().filter(|n| **n == plain[i]).count();
            if same == 1 {
                plain[i].clone()
            } else {
                format!("{}{}", plain[i], 1 + plain[..i].iter().filter(|n| **n == plain[i]).count())
            }
        };
        result.push((0..plain.len()).map(unique).collect());
    }
    result
}
