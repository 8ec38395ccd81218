//! `powerbond new`: a first system file from FMUs, or a copy of an example.

use crate::embedded;
use crate::terminal::is_terminal;
use crate::text::{print, say, show};
use crate::{contain, layout};
use powerbond::Error;
use powerbond::fmi::{PrivateFolder, printable};
use powerbond::number::short;
use powerbond::suggest::{Draft, Inclusion, SignalKind, Wire};
use powerbond::system::SYSTEM_FILE;
use powerbond::table::{may_replace, write_file};
use std::collections::BTreeMap;
use std::io::{BufRead, IsTerminal};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Options of `new`.
#[derive(clap::Args)]
pub struct Arguments {
    /// FMUs: `.fmu` files or unpacked folders; one that is named twice becomes two subsystems
    #[arg(required_unless_present_any = ["example", "list"], conflicts_with_all = ["example", "list"])]
    fmus: Vec<PathBuf>,
    /// The file to write (default: system.toml), or the folder of an example
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace what is there
    #[arg(long)]
    overwrite: bool,
    /// Ask nothing: what is uncertain is written as a comment
    #[arg(short, long)]
    yes: bool,
    /// Load no FMU: signs of power bonds are assumed instead of found by a short trial
    #[arg(long)]
    no_trial: bool,
    /// Copy this example to a folder of its name
    #[arg(long, value_name = "NAME")]
    example: Option<String>,
    /// List the examples
    #[arg(long, conflicts_with = "example")]
    list: bool,
}

/// What a trial may take; a file without it is written, too.
const TRIAL: Duration = Duration::from_secs(30);

/// Runs the command.
pub fn main(arguments: &Arguments, in_process: bool) -> Result<u8, Error> {
    if arguments.list {
        return show(&embedded::listed()).map(|()| 0);
    }
    if let Some(name) = &arguments.example {
        let folder = arguments.output.clone().unwrap_or_else(|| PathBuf::from(name));
        let files = embedded::copy(name, &folder, arguments.overwrite)?;
        // Examples with FMUs have their sources.
        let build = if folder.join("build.sh").is_file() {
            format!("sh {}/build.sh && ", folder.display())
        } else {
            String::new()
        };
        let folder = folder.display();
        print(&format!(
            "{files} files in {folder}, its README.md first\n\nNext:  {build}powerbond run {folder}\n"
        ))?;
        return Ok(0);
    }
    let file = arguments.file()?;
    let mut draft = Draft::new(&arguments.fmus, &file)?;
    let asks = !arguments.yes && std::io::stdin().is_terminal() && is_terminal();
    if asks && !ask(&mut draft)? {
        say("error", format!("no answer: {} was not written", file.display()));
        return Ok(130);
    }
    if let Some(code) = arguments.trial(&mut draft, in_process)? {
        return Ok(code);
    }
    write_file(&file, &draft.text()?, "", true)?;
    show(&printable(&describe(&draft, &file)))?;
    Ok(0)
}

impl Arguments {
    /// Where to write, if that is allowed.
    fn file(&self) -> Result<PathBuf, Error> {
        let given = self.output.clone().unwrap_or_else(|| PathBuf::from(SYSTEM_FILE));
        let file = if given.is_dir() { given.join(SYSTEM_FILE) } else { given };
        // Links and what is no file are refused in any case.
        may_replace(&file, "", true)?;
        if file.exists() && !self.overwrite {
            let message = format!(
                "{} is there already. Choose another name with `--output`, or replace it with `--overwrite`",
                file.display()
            );
            return Err(Error::input(None, message));
        }
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
        if let Some(folder) = folder {
            std::fs::read_dir(folder).map_err(|e| Error::output(folder, &e))?;
        }
        Ok(file)
    }

    /// Finds the signs of bonds, or only whether FMUs start, in a process of its own: whatever FMUs do there, a file is written. The exit
    /// code if the user stopped it.
    fn trial(&self, draft: &mut Draft, in_process: bool) -> Result<Option<u8>, Error> {
        if self.no_trial {
            draft.not_tried("with `--no-trial`");
            return Ok(None);
        }
        let folder = PrivateFolder::new().map_err(|e| Error::input(None, e.to_string()))?;
        let system = folder.path().join("trial.toml");
        std::fs::write(&system, draft.text_for_trial()?).map_err(|e| Error::output(&system, &e))?;
        let has_bonds = !draft.bonds().is_empty();
        let verb = if has_bonds { "bonds" } else { "check" };
        let words = [verb.into(), system.into_os_string(), "--json".into()];
        match contain::ask(in_process, &words, folder.path(), TRIAL)? {
            contain::Answer::Text(json) if has_bonds => draft.learn(&responses(&json))?,
            contain::Answer::Text(_) => {}
            contain::Answer::Stopped(code) => return Ok(Some(code)),
            contain::Answer::Failed(why) => {
                let why = without_place(&why);
                let signs = if has_bonds { ", and signs of power bonds are assumed" } else { "" };
                say("warning", format!("a trial of the FMUs failed{signs}: {why}"));
                draft.not_tried(why);
            }
        }
        Ok(None)
    }
}

/// Without the place in the file of the trial, which is gone.
fn without_place(why: &str) -> &str {
    let place = why.split_once("trial.toml:").and_then(|(_, rest)| rest.split_once(": "));
    place.map_or(why, |(_, rest)| rest)
}

/// By the first input and output of each port.
fn responses(json: &str) -> BTreeMap<(String, String), f64> {
    let document: serde_json::Value = serde_json::from_str(json).unwrap_or_default();
    let bonds = document["suggested"].as_array().cloned().unwrap_or_default();
    let ports = bonds.iter().flat_map(|bond| bond["ports"].as_array().cloned().unwrap_or_default());
    let response = |port: serde_json::Value| {
        let name = |key: &str| port[key][0].as_str().map(str::to_owned);
        Some(((name("inputs")?, name("outputs")?), port["response"].as_f64()?))
    };
    ports.filter_map(response).collect()
}

/// Asks about likely connections one by one; false if there is no answer.
fn ask(draft: &mut Draft) -> Result<bool, Error> {
    let likely: Vec<(usize, Wire)> = draft
        .wires()
        .iter()
        .enumerate()
        .filter(|(_, (_, inclusion))| *inclusion == Inclusion::Comment)
        .map(|(n, (wire, _))| (n, wire.clone()))
        .collect();
    if !likely.is_empty() {
        print("Likely connections: y makes one, Enter leaves it as a comment in the file.\n")?;
    }
    let mut answers = std::io::stdin().lock();
    for (n, wire) in likely {
        if draft.is_fed(&wire.to) {
            continue;
        }
        loop {
            print(&printable(&format!("  {} = {}   ({})? [y/N] ", wire.to, wire.from, wire.reason)))?;
            let mut answer = String::new();
            let read = answers.read_line(&mut answer).map_err(|e| Error::output(Path::new("stdin"), &e))?;
            if read == 0 {
                print("\n")?;
                return Ok(false);
            }
            match answer.trim().to_lowercase().as_str() {
                "y" | "yes" => draft.include(n)?,
                "" | "n" | "no" => {}
                _ => continue,
            }
            break;
        }
    }
    Ok(true)
}

/// What was written, what is left, and what to do next.
fn describe(draft: &Draft, file: &Path) -> String {
    let members: Vec<String> =
        draft.members().map(|(name, path)| format!("{name} ({})", path.display())).collect();
    let mut out = format!("{}: {}\n", file.display(), members.join(", "));
    let active: Vec<&Wire> =
        draft.wires().iter().filter(|(_, i)| *i == Inclusion::Active).map(|(wire, _)| wire).collect();
    if !active.is_empty() {
        out += "\nConnected\n";
        let mut rows = vec![vec![String::new(); 2]];
        for wire in active {
            let gain = match wire.gain {
                1.0 => String::new(),
                -1.0 => "−".to_owned(),
                gain => format!("{gain}·"),
            };
            let turned = match draft.turned().contains(&wire.to) {
                true => "; `gain = -1` by a trial",
                false => "",
            };
            rows.push(vec![format!("{} = {gain}{}", wire.to, wire.from), format!("{}{turned}", wire.reason)]);
        }
        out += layout::table(&rows).trim_start_matches('\n');
    }
    let bonds: Vec<_> = draft.bonds().iter().filter(|bond| bond.certain).collect();
    if !bonds.is_empty() {
        out += "\nPower bonds\n";
        for bond in bonds {
            out += &format!("  {}: {}; signs {}\n", bond.name, bond.reason, bond.signs);
        }
    }
    out += &left(draft);
    out + &format!("\nNext:  powerbond run {}\n", file.display())
}

/// What is left to the user.
fn left(draft: &Draft) -> String {
    const NAMED: usize = 8;
    let mut lines = Vec::new();
    let likely = draft.wires().iter().filter(|(wire, i)| *i == Inclusion::Comment && !draft.is_fed(&wire.to));
    let likely: Vec<String> = likely
        .map(|(wire, _)| format!("likely, as a comment: {} = {} ({})", wire.to, wire.from, wire.reason))
        .collect();
    let uncertain = draft.bonds().iter().filter(|bond| !bond.certain);
    let uncertain =
        uncertain.map(|bond| format!("uncertain, as a comment: bond {}: {}", bond.name, bond.reason));
    let unfed = draft.unfed();
    let start = |signal: &powerbond::suggest::Signal| match (&signal.kind, &signal.unit) {
        (SignalKind::Packet(_), _) => String::new(),
        (_, unit) => {
            let unit = unit.as_ref().map_or(String::new(), |unit| unit.suffix());
            format!(", {}{unit}", short(signal.start))
        }
    };
    let unfed = unfed.iter().map(|(name, signal)| format!("{name} keeps its start value{}", start(signal)));
    let cut = |lines: &mut Vec<String>, all: Vec<String>, what: &str| {
        let more = all.len().saturating_sub(NAMED);
        lines.extend(all.into_iter().take(NAMED));
        if more > 0 {
            lines.push(format!("… and {more} more {what}"));
        }
    };
    cut(&mut lines, likely, "likely connections");
    cut(&mut lines, uncertain.collect(), "uncertain bonds");
    cut(&mut lines, unfed.collect(), "inputs");
    if lines.is_empty() {
        return String::new();
    }
    format!("\nLeft to you\n{}", lines.iter().map(|line| format!("  {line}\n")).collect::<String>())
}
