//! Parameter mappings of SSP (`.ssm`): under which names the values of a parameter set are used, and what becomes of them.

use super::transformation::Transformation;
use super::values::Parameter;
use crate::Error;
use crate::error::Collector;
use crate::source::At;
use crate::source::xml::{Node, Reader, elements, name};
use std::collections::HashMap;

/// The name of the root element.
pub const ROOT: &str = "ParameterMapping";

/// A line of a mapping.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The name in the parameter set.
    pub source: At<String>,
    /// The name in the system.
    pub target: At<String>,
    /// After the conversion of units.
    pub transformation: Option<Transformation>,
    /// The unit of the value does not count.
    pub suppress_units: bool,
}

/// Reads `ssm:ParameterMapping`.
pub fn read(reader: Reader<'_>, root: Node<'_, '_>) -> Result<Vec<Entry>, Error> {
    reader.expect(root, ROOT)?;
    let mut problems = Collector::new();
    let entries = elements(root).filter(|node| name(*node) == "MappingEntry").filter_map(|node| {
        let (source, target) = (reader.text(node, "source"), reader.text(node, "target"));
        let (source, target) = (problems.keep(source), problems.keep(target));
        let transformation = problems.keep(Transformation::read(reader, node));
        let suppress_units = problems.keep(reader.flag(node, "suppressUnitConversion"));
        Some(Entry {
            source: source?,
            target: target?,
            transformation: transformation?,
            suppress_units: suppress_units?,
        })
    });
    let entries = entries.collect();
    problems.finish(entries)
}

/// The values of a set under the names of a mapping: what the mapping does not name is not used, and what it names and the set lacks is
/// noted.
pub fn apply(entries: &[Entry], set: Vec<Parameter>, notes: &mut Vec<String>) -> Vec<Parameter> {
    let places: HashMap<&str, &Parameter> = set.iter().map(|p| (p.name.value.as_str(), p)).collect();
    let mut mapped = Vec::new();
    for entry in entries {
        let Some(parameter) = places.get(entry.source.value.as_str()) else {
            notes.push(format!(
                "{}the parameter set has no `{}`; this entry of the mapping is not used",
                entry.source.prefix(),
                entry.source.value
            ));
            continue;
        };
        mapped.push(Parameter {
            name: entry.target.clone(),
            value: parameter.value.clone(),
            unit: parameter.unit.clone().filter(|_| !entry.suppress_units),
            then: entry.transformation.clone(),
        });
    }
    mapped
}
