//! `LogConfig.xml`: what is recorded, and how often.

use super::signals::Known;
use crate::Error;
use crate::error::Collector;
use crate::source::At;
use crate::source::xml::{Text, elements, name};
use crate::system::structure::{self as schema, path_name};
use powerbond_core::suggest::hint;
use std::path::Path;

/// The file beside the structure.
pub const FILE: &str = "LogConfig.xml";

/// What may stand in it, by the schema.
const SCHEMA: &[schema::Known] = &[
    ("simulators", &["simulator"], &[]),
    ("simulator", &["variable"], &["name", "decimationFactor"]),
    ("variable", &[], &["name"]),
];

/// What is recorded.
pub struct Logged {
    /// Patterns of `subsystem.variable`.
    pub variables: Vec<At<String>>,
    /// Every so many steps.
    pub decimation: At<u32>,
}

/// Reads a file.
pub fn read(path: &Path, known: &[Known], notes: &mut Vec<String>) -> Result<Logged, Error> {
    let text = Text::read(path, path)?;
    notes.extend(text.notes.iter().cloned());
    let document = text.parse()?;
    let (reader, root) = (text.reader(), document.root_element());
    reader.expect(root, "simulators")?;
    notes.extend(schema::strangers(reader, root, SCHEMA));
    let mut problems = Collector::new();
    let mut variables = Vec::new();
    let mut factors: Vec<At<u32>> = Vec::new();
    for node in elements(root) {
        if let Err(error) = reader.expect(node, "simulator") {
            problems.add(error);
            continue;
        }
        let factor = match problems.keep(reader.number(node, "decimationFactor")).flatten() {
            None => 1.0,
            Some(x) if x.fract() == 0.0 && (1.0..=1e9).contains(&x) => x,
            Some(x) => {
                let message = format!("`decimationFactor` is {x}; expected an integer of 1 or more");
                problems.keep::<()>(reader.fail(node, message));
                1.0
            }
        };
        let Some(simulator) = problems.keep(reader.attribute(node, "name")) else { continue };
        let Some(found) = known.iter().find(|k| k.written == simulator) else {
            let hint = hint(simulator, known.iter().map(|k| k.written.as_str()));
            problems.keep::<()>(reader.fail(node, format!("unknown simulator `{simulator}`.{hint}")));
            continue;
        };
        factors.push(reader.at(node, factor as u32));
        let own = path_name("", simulator);
        let mut is_empty = true;
        for variable in elements(node).filter(|n| name(*n) == "variable") {
            is_empty = false;
            let Some(wanted) = problems.keep(reader.attribute(variable, "name")) else { continue };
            let Some(fmu) = &found.fmu else { continue };
            let Some(recorded) = crate::system::variable_of(fmu, wanted) else {
                let hint = hint(wanted, fmu.description().variables.iter().map(|v| &*v.name));
                problems.keep::<()>(
                    reader.fail(variable, format!("`{simulator}` has no variable `{wanted}`.{hint}")),
                );
                continue;
            };
            if !recorded.kind.is_numeric() {
                notes.push(format!(
                    "{}`{simulator}.{wanted}` is of type {} and is not recorded: only numbers are",
                    reader.prefix(variable),
                    recorded.kind.name()
                ));
                continue;
            }
            // All elements of an array.
            let is_whole = !recorded.dimensions.is_empty() && *recorded.name == *wanted;
            let elements = if is_whole { "[*]" } else { "" };
            variables.push(reader.at(variable, format!("{own}.{wanted}{elements}")));
        }
        if is_empty {
            variables.push(reader.at(node, format!("{own}.*")));
        }
    }
    let decimation = factors.iter().min_by_key(|factor| factor.value).cloned().unwrap_or(At::default(1));
    if let Some(other) = factors.iter().find(|factor| factor.value != decimation.value) {
        notes.push(format!(
            "{}decimation factors differ; all simulators are recorded with the smallest one, {}",
            other.prefix(),
            decimation.value
        ));
    }
    problems.finish(Logged { variables, decimation })
}
