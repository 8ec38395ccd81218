//! As a system file: everything can be said.

use super::files::{self, Names};
use super::settings::{self, Context, number};
use crate::Error;
use crate::source::At;
use crate::suggest::{key, quoted};
use crate::system::{Connection, Given, SimulatorSpec, System};
use std::path::{Path, PathBuf};

/// The folder of FMUs and tables beside a system file.
const FILES: &str = "files";

/// Writes the file, and what it names into a folder beside it.
pub fn write(system: &System, path: &Path) -> Result<Vec<String>, Error> {
    let mut lost = Vec::new();
    let (text, copies) = text(system, &mut lost)?;
    let folder = path.parent().unwrap_or(Path::new(""));
    for (from, name) in copies {
        files::copy(&from, &folder.join(name))?;
    }
    System::parse(&path.display().to_string(), &text)
        .map_err(|error| Error::input(None, format!("the converted system would not be valid: {error}")))?;
    files::write(path, text.as_bytes())?;
    Ok(lost)
}

/// The text, and the files that are to be copied, each with its name in the text.
fn text(system: &System, lost: &mut Vec<String>) -> Result<(String, Vec<(PathBuf, String)>), Error> {
    let (mut names, mut copies) = (Names::default(), Vec::new());
    let mut file = |path: &Path, extension: Option<&str>| {
        let own = path.extension().map(|e| e.to_string_lossy().into_owned()).unwrap_or_default();
        let name = format!("{FILES}/{}", names.of(path, extension.unwrap_or(&own)));
        let copy = (path.to_owned(), name.clone());
        if !copies.contains(&copy) {
            copies.push(copy);
        }
        name
    };
    let mut out = format!("[system]\nname = {}\n", quoted(&system.name));
    {
        let mut plain = |path: &Path| file(path, None);
        let mut context = Context { file: &mut plain, lost };
        out += &settings::simulation(system, true, &mut context);
    }
    for spec in &system.subsystems {
        let mut lines = Vec::new();
        match &spec.simulator {
            SimulatorSpec::Model(name) => lines.push(format!("model = {}", quoted(&name.value))),
            SimulatorSpec::Fmu(path, _) => {
                let name = file(&system.folder().join(&path.value), Some("fmu"));
                lines.push(format!("fmu = {}", quoted(&name)));
            }
            SimulatorSpec::Own(_) => {
                let message = format!("`{}` is made by a program and cannot be written", spec.name.value);
                return Err(Error::input(spec.name.place(), message));
            }
        }
        let of = |list: &[(At<String>, Given)]| {
            let entries: Vec<String> =
                list.iter().map(|(name, value)| format!("{} = {}", key(&name.value), given(value))).collect();
            format!("{{ {} }}", entries.join(", "))
        };
        for (name, list) in [("parameters", &spec.parameters), ("start", &spec.start)] {
            let list = last_of_each(list);
            if !list.is_empty() {
                lines.push(format!("{name} = {}", of(&list)));
            }
        }
        lines.extend(settings::how_it_runs(spec));
        out += &settings::section(&format!("subsystems.{}", key(&spec.name.value)), &lines);
    }
    for connection in &system.connections {
        out += &connection_text(connection);
    }
    {
        let mut plain = |path: &Path| file(path, None);
        let mut context = Context { file: &mut plain, lost };
        out += &settings::inputs(system, &mut context);
    }
    for bond in &system.bonds {
        out += &settings::bond(bond);
    }
    out += &settings::rest(system);
    Ok((out, copies))
}

/// Later values override earlier ones, and a key stands once in a table.
pub fn last_of_each(list: &[(At<String>, Given)]) -> Vec<(At<String>, Given)> {
    let mut kept: Vec<(At<String>, Given)> = Vec::new();
    for (name, value) in list {
        kept.retain(|(other, _)| other.value != name.value);
        kept.push((name.clone(), value.clone()));
    }
    kept
}

/// `[[connections]]`.
pub fn connection_text(connection: &Connection) -> String {
    let Connection { from, to, offset, convert_units, table } = connection;
    let list = |items: Vec<String>| match items.as_slice() {
        [one] => one.clone(),
        several => format!("[{}]", several.join(", ")),
    };
    let mut lines = vec![
        format!("from = {}", list(from.iter().map(|(name, _)| quoted(&name.value.to_string())).collect())),
        format!("to = {}", quoted(&to.value.to_string())),
    ];
    if from.iter().any(|(_, gain)| *gain != 1.0) {
        lines.push(format!("gain = {}", list(from.iter().map(|(_, gain)| number(*gain)).collect())));
    }
    if *offset != 0.0 {
        lines.push(format!("offset = {}", number(*offset)));
    }
    if !convert_units {
        lines.push("convert_units = false".to_owned());
    }
    if let Some(table) = table {
        let pairs: Vec<String> = table.iter().map(|(a, b)| format!("[{a}, {b}]")).collect();
        lines.push(format!("table = [{}]", pairs.join(", ")));
    }
    format!("\n[[connections]]\n{}\n", lines.join("\n"))
}

/// A value as TOML.
pub fn given(value: &Given) -> String {
    match value {
        Given::Number(x) => number(*x),
        Given::Text(text) => quoted(text),
        Given::Flag(flag) => flag.to_string(),
        Given::List(items) => format!("[{}]", items.iter().map(given).collect::<Vec<_>>().join(", ")),
        Given::Typed(text) => match text.trim().parse::<i128>() {
            Ok(n) => n.to_string(),
            Err(_) => text.trim().parse::<f64>().map_or_else(|_| quoted(text), number),
        },
    }
}
