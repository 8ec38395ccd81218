//! `powerbond convert`: a system in another format, and what that cannot say.

use crate::fmus::Fmus;
use crate::text::{print, say, show};
use powerbond::convert::{Target, convert};
use powerbond::fmi::printable;
use powerbond::system::SimulatorSpec;
use powerbond::{Error, System};
use serde_json::json;
use std::path::PathBuf;

/// Options of `convert`.
#[derive(clap::Args)]
pub struct Arguments {
    /// A system: system file, SSP, OSP, or a folder with one of them
    #[arg(value_hint = clap::ValueHint::AnyPath)]
    system: PathBuf,
    /// What to write: `.toml`, `.ssp`, or a folder for OSP
    #[arg(value_hint = clap::ValueHint::AnyPath)]
    output: PathBuf,
    /// The format (default: by the name of what is written)
    #[arg(long, value_name = "FORMAT", value_parser = ["toml", "ssp", "osp"])]
    to: Option<String>,
    /// FMI version of FMUs that are made of built-in models
    #[arg(long, value_name = "VERSION", default_value = "2", value_parser = ["2", "3"])]
    fmi: String,
    /// Replace what is there
    #[arg(long)]
    overwrite: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn main(arguments: &Arguments) -> Result<u8, Error> {
    let Arguments { output, .. } = arguments;
    let target = match arguments.to.as_deref() {
        Some("toml") => Target::Toml,
        Some("ssp") => Target::Ssp,
        Some(_) => Target::Osp,
        // A folder, and no other format has one.
        None => Target::of(output).unwrap_or(Target::Osp),
    };
    let mut system = System::load(&arguments.system)?;
    system.notes.iter().for_each(|note| say("warning", note));
    if target == Target::Osp && output.is_file() {
        let message = format!("{} is a file; OSP has a folder", output.display());
        return Err(Error::input(None, message));
    }
    let taken = match target {
        Target::Osp => {
            output.join(powerbond::system::OSP_FILE).exists()
                || output.ends_with(powerbond::system::OSP_FILE) && output.exists()
        }
        Target::Toml | Target::Ssp => output.exists(),
    };
    if taken && !arguments.overwrite {
        let message = format!("{} is there already; `--overwrite` replaces it", output.display());
        return Err(Error::input(None, message));
    }
    // Other tools simulate FMUs; a system file keeps its models.
    let is_model = |simulator: &SimulatorSpec| matches!(simulator, SimulatorSpec::Model(_));
    let mut made = None;
    if target != Target::Toml && system.subsystems.iter().any(|spec| is_model(&spec.simulator)) {
        let fmus = Fmus::of_version(&arguments.fmi)?;
        system = fmus.exchange()(system)?;
        made = Some(fmus);
    }
    let lost = convert(&system, target, output)?;
    drop(made);
    if arguments.json {
        let document =
            json!({ "output": output, "format": target.name(), "lost": lost, "notes": system.notes });
        return print(&format!("{document:#}\n")).map(|()| 0);
    }
    let mut text =
        format!("{}: {} with {} subsystems\n", output.display(), target.name(), system.subsystems.len());
    if !lost.is_empty() {
        text += "\nNot in the result, since the format cannot say it:\n";
        lost.iter().for_each(|line| text += &format!("  {line}\n"));
    }
    show(&printable(&text)).map(|()| 0)
}
