//! Integers of 64 bits have more digits than a number of the engine: their rests are connected and recorded beside them.

use crate::system::System;
use powerbond_core::network::{ConnectionSpec, NetworkBuilder, VariableName};
use powerbond_core::subsystem::{Digits, rest_name};

/// Integers below this are numbers of the engine.
pub(super) const EXACT: f64 = 9_007_199_254_740_992.0;

/// The name of the rest of `name`.
pub(super) fn rest_of(name: &VariableName) -> VariableName {
    VariableName::new(&name.subsystem, &rest_name(&name.variable))
}

/// Whether it is the name of a rest.
pub(super) fn is_rest(name: &VariableName) -> bool {
    name.variable.ends_with(&rest_name(""))
}

/// Whether a variable has a rest.
pub(super) fn is_wide(builder: &NetworkBuilder, name: &VariableName) -> bool {
    builder.variable_of(name).is_some_and(|(_, v)| matches!(v.digits, Digits::First { .. }))
}

/// Whether a scenario changes a variable, by numbers of the engine.
pub(super) fn is_changed(system: &System, name: &VariableName) -> bool {
    system.scenario.iter().flat_map(|scenario| &scenario.events).any(|event| event.variable.value == *name)
}

/// The connections of rests that belong to `specs`, and warnings where all digits cannot be passed on: what is multiplied or added is a
/// number of the engine.
pub(super) fn connections(
    system: &System,
    builder: &NetworkBuilder,
    specs: &[ConnectionSpec],
) -> (Vec<ConnectionSpec>, Vec<String>) {
    let (mut rests, mut warnings) = (Vec::new(), Vec::new());
    for spec in specs.iter().filter(|spec| is_wide(builder, &spec.to)) {
        let unit = |name: &VariableName| builder.variable_of(name).and_then(|(_, v)| v.unit.clone());
        let why = match &spec.from[..] {
            // What the source has, arrives.
            [(from, _)] if !is_wide(builder, from) => continue,
            [(_, gain)] if *gain != 1.0 || spec.offset != 0.0 => "it has a gain or an offset",
            [(from, _)] if spec.convert_units && unit(from) != unit(&spec.to) => "its unit is converted",
            [(from, _)] if is_changed(system, &spec.to) || is_changed(system, from) => {
                "a scenario changes it"
            }
            [(from, _)] => {
                let from = vec![(rest_of(from), 1.0)];
                let to = rest_of(&spec.to);
                rests.push(ConnectionSpec { from, to, offset: 0.0, convert_units: false });
                continue;
            }
            _ => "it is a sum",
        };
        warnings.push(format!("`{}`: integers beyond 2^53 are rounded, since {why}", spec.to));
    }
    (rests, warnings)
}

/// The names of what is recorded beside `recorded`.
pub(super) fn records(builder: &NetworkBuilder, recorded: &[VariableName]) -> Vec<VariableName> {
    recorded.iter().filter(|name| is_wide(builder, name)).map(rest_of).collect()
}
