//! Suggestions as text of a system file.

use super::bonds::BondSuggestion;
use crate::Error;
use crate::error::Place;
use crate::system::{MadeOf, System};
use powerbond_core::network::VariableName;

/// `"text"`, with escapes, as TOML reads it.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => out += &format!("\\U{:08X}", u32::from(c)),
            c => out.push(c),
        }
    }
    out + "\""
}

/// A key, in quotes where it needs them.
pub(crate) fn key(name: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !name.is_empty() && name.chars().all(is_bare) { name.to_owned() } else { quoted(name) }
}

/// Longest line of a comment.
const WIDTH: usize = 100;

/// A text as lines of a comment. What FMUs are called does not leave it.
pub(super) fn comment(text: &str) -> String {
    let mut out = String::new();
    let mut line = String::from("#");
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()) {
        if line.len() > 1 && line.chars().count() + 1 + word.chars().count() > WIDTH {
            out += &line;
            out.push('\n');
            line = String::from("#");
        }
        line.push(' ');
        line += word;
    }
    out + &line + "\n"
}

/// Every line of `text` as a comment.
pub(super) fn commented_out(text: &str) -> String {
    text.lines().map(|line| if line.is_empty() { "#\n".to_owned() } else { format!("# {line}\n") }).collect()
}

fn names(names: &[VariableName]) -> String {
    let all: Vec<String> = names.iter().map(|name| quoted(&name.to_string())).collect();
    match all.as_slice() {
        [one] => one.clone(),
        several => format!("[{}]", several.join(", ")),
    }
}

/// `[bonds.name]` with its reasons as comments; all of it a comment if it is not certain.
pub fn bond_text(bond: &BondSuggestion) -> String {
    let mut out = comment(&format!("{}. Signs {}.", sentence(&bond.reason), bond.signs));
    if let Some(doubt) = &bond.doubt {
        out += &comment(&format!("Doubt: {doubt}."));
    }
    let mut text = format!("[bonds.{}]\nports = [\n", key(&bond.name));
    for port in &bond.ports {
        let mut more = String::new();
        if port.ratio != 1.0 {
            more += &format!(", ratio = {:?}", port.ratio);
        }
        if !port.from.is_empty() {
            more += &format!(", from = {}", names(&port.from));
        }
        text += &format!(
            "  {{ input = {}, output = {}, sign = {}{more} }},\n",
            names(&port.inputs),
            names(&port.outputs),
            port.sign as i32
        );
    }
    text += "]\n";
    out + &if bond.certain { text } else { commented_out(&text) }
}

/// With a capital letter.
pub(super) fn sentence(text: &str) -> String {
    let mut characters = text.chars();
    let first = characters.next().map(|c| c.to_uppercase().collect::<String>()).unwrap_or_default();
    first + characters.as_str()
}

/// The text of the file that `system` was read from, with `bonds` at its end; everything else in it stays as it is. The result is
/// read again before anybody relies on it.
pub fn with_bonds(system: &System, bonds: &[BondSuggestion]) -> Result<String, Error> {
    let MadeOf::File(source) = &system.made_of else {
        let message = "bonds are written to system files, and this is not one; `powerbond convert` makes one of it (.toml)";
        return Err(Error::input(None, message));
    };
    let mut text = source.text.clone();
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    for bond in bonds {
        text += &format!("\n{}", bond_text(bond));
    }
    let name = source.path().display().to_string();
    System::parse(&name, &text).map_err(|error| {
        let message = format!(
            "bonds cannot be added to this file, as it would not be valid any more ({error}). Write `bonds` as \
             `[bonds.name]`, or add what `powerbond bonds` prints by hand"
        );
        Error::input(Some(Place::Option(name.clone())), message)
    })?;
    Ok(text)
}
