//! `powerbond bonds`: declared power bonds, and those that could be declared, with reasons.

use crate::text::{print, say, show};
use powerbond::core::network::VariableName;
use powerbond::fmi::printable;
use powerbond::source::At;
use powerbond::suggest::{
    BondSuggestion, Interface, PortSuggestion, bonds, try_out, with_bonds, write_to_structure,
};
use powerbond::system::{Bond, MadeOf};
use powerbond::table::write_file;
use powerbond::{Error, System};
use serde_json::json;
use std::path::PathBuf;

/// Options of `bonds`.
#[derive(clap::Args)]
pub struct Arguments {
    /// A system file, SSP, OSP, or a folder with one of them (default: the current folder)
    #[arg(value_hint = clap::ValueHint::AnyPath)]
    system: Option<PathBuf>,
    /// Add the suggested bonds to the system file or structure, uncertain ones as comments; everything else in it stays as
    /// it is
    #[arg(long)]
    write: bool,
    /// Load no FMU: signs are assumed instead of found by a short trial
    #[arg(long)]
    no_trial: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn main(arguments: &Arguments) -> Result<u8, Error> {
    let system = System::load(&crate::here::system(arguments.system.as_ref(), "bonds")?)?;
    let mut found = bonds(&system, &Interface::of(&system)?);
    let troubles = match arguments.no_trial {
        true => Vec::new(),
        false => try_out(&system, &mut found)?,
    };
    let left_out = if arguments.write && !found.is_empty() { write(&system, &found)? } else { Vec::new() };
    let written = arguments.write && left_out.len() < found.len();
    if arguments.json {
        let document = json!({
            "declared": system.bonds.iter().map(declared).collect::<Vec<_>>(),
            "suggested": found,
            "troubles": troubles,
            "left_out": left_out,
        });
        return print(&format!("{document:#}\n")).map(|()| 0);
    }
    show(&printable(&describe(&system, &found, arguments, written)))?;
    troubles.iter().for_each(|trouble| say("warning", trouble));
    left_out.iter().for_each(|bond| say("warning", format!("not written: {bond}")));
    for bond in &found {
        if let Some(doubt) = &bond.doubt {
            say("warning", format!("bond `{}`: {doubt}", bond.name));
        }
    }
    Ok(0)
}

/// Adds bonds to the file, if the system is valid with them. What the file cannot say is left out, and told.
fn write(system: &System, found: &[BondSuggestion]) -> Result<Vec<String>, Error> {
    if let MadeOf::Structure(source) = &system.made_of {
        return write_to_structure(system, source, found);
    }
    let text = with_bonds(system, found)?;
    let MadeOf::File(source) = &system.made_of else { return Ok(Vec::new()) };
    let path = source.path();
    System::parse(&path.display().to_string(), &text)?.check()?;
    write_file(path, &text, "", true).map(|()| Vec::new())
}

fn texts<'a>(names: impl IntoIterator<Item = &'a VariableName>) -> Vec<String> {
    names.into_iter().map(ToString::to_string).collect()
}

fn declared(bond: &Bond) -> serde_json::Value {
    let ports = bond.ports.iter().map(|port| {
        let names = |list: &[At<VariableName>]| texts(list.iter().map(|name| &name.value));
        json!({ "inputs": names(&port.inputs), "outputs": names(&port.outputs), "sign": port.sign.value, "ratio": port.ratio })
    });
    json!({ "name": bond.name.value, "ports": ports.collect::<Vec<_>>() })
}

/// `input · output + …`, and where its power goes.
fn product(inputs: &[String], outputs: &[String], sign: f64) -> String {
    let pairs: Vec<String> = inputs.iter().zip(outputs).map(|(u, y)| format!("{u} · {y}")).collect();
    let way = if sign < 0.0 { "enters, sign = -1" } else { "leaves, sign = 1" };
    format!("    {}   {way}\n", pairs.join(" + "))
}

fn describe(system: &System, found: &[BondSuggestion], arguments: &Arguments, written: bool) -> String {
    let mut out = format!("{}\n\nDeclared bonds\n", system.name);
    for bond in &system.bonds {
        out += &format!("  {}\n", bond.name.value);
        for port in &bond.ports {
            let names = |list: &[At<VariableName>]| texts(list.iter().map(|name| &name.value));
            out += &product(&names(&port.inputs), &names(&port.outputs), port.sign.value);
        }
    }
    if system.bonds.is_empty() {
        out += "  none\n";
    }
    for (certain, title) in [(true, "Suggested bonds"), (false, "Uncertain bonds")] {
        let list: Vec<&BondSuggestion> = found.iter().filter(|bond| bond.certain == certain).collect();
        if list.is_empty() {
            continue;
        }
        out += &format!("\n{title}\n");
        for bond in list {
            out += &format!("  {}: {}; signs {}\n", bond.name, bond.reason, bond.signs);
            for PortSuggestion { inputs, outputs, sign, .. } in &bond.ports {
                out += &product(&texts(inputs), &texts(outputs), *sign);
            }
        }
    }
    let named = arguments.system.as_ref().map_or_else(String::new, |path| format!("{} ", path.display()));
    if found.is_empty() {
        out += "\nNo other connections between two subsystems, there and back, multiply to a power\n";
    } else if written {
        out += "\nwritten to the file\n";
    } else {
        out += &format!("\n`powerbond bonds {named}--write` adds them to the file\n");
    }
    out
}
