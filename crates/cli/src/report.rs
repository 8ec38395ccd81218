//! `powerbond report`: one self-contained HTML file from run folders.

use crate::text::{print, say};
use powerbond::Error;
use powerbond::report::{REPORT, Report};
use std::path::PathBuf;

/// Options of `report`.
#[derive(clap::Args)]
pub struct Arguments {
    /// Run folders; several are overlaid
    #[arg(required = true)]
    folders: Vec<PathBuf>,
    /// Output file (default: report.html in the folder; for several runs, in the current one)
    #[arg(short, long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    output: Option<PathBuf>,
    /// Show the error over time against this: a run folder or a table (default: of a verified run, its finer run)
    #[arg(long, value_name = "RUN", value_hint = clap::ValueHint::AnyPath)]
    reference: Option<PathBuf>,
    /// Replace a file there that is not a report
    #[arg(long)]
    overwrite: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn main(arguments: &Arguments) -> Result<u8, Error> {
    let file = arguments.output.clone().unwrap_or_else(|| match &arguments.folders[..] {
        [one] => one.join(REPORT),
        _ => PathBuf::from(REPORT),
    });
    let report = Report { folders: &arguments.folders, reference: arguments.reference.as_deref() };
    for note in report.write(&file, arguments.overwrite)? {
        say("note", note);
    }
    if arguments.json {
        print(&format!("{}\n", serde_json::json!({ "report": file.display().to_string() })))?;
    } else {
        print(&format!("{}\n", file.display()))?;
    }
    Ok(0)
}
