//! The report: one self-contained HTML file made from run records, with no need of a network.

mod diagram;
mod record;
mod thin;

use crate::Error;
use crate::picture::xml;
use crate::table::{may_replace, write_file};
use record::Record;
use std::path::{Path, PathBuf};

pub use crate::results::{MARK, REPORT};

/// Runs beyond this number are refused: colours run out long before.
const MAX_RUNS: usize = 12;

/// Makes one page of all runs, overlaid, and writes it to `file`. It reads what the runs left in their folders only.
/// A file that is there is replaced if it is a report, too, or if it may be overwritten. Returns what is to be known of
/// what was read.
pub fn write(folders: &[PathBuf], file: &Path, overwrite: bool) -> Result<Vec<String>, Error> {
    may_replace(file, MARK, overwrite)?;
    let (page, notes) = page(folders)?;
    write_file(file, &page, MARK, overwrite)?;
    Ok(notes)
}

/// The page as text, and what is to be known of what was read.
pub fn page(folders: &[PathBuf]) -> Result<(String, Vec<String>), Error> {
    if folders.is_empty() || folders.len() > MAX_RUNS {
        return Err(Error::input(None, format!("{} runs; expected 1 to {MAX_RUNS}", folders.len())));
    }
    let records: Vec<Record> = folders.iter().map(|f| Record::read(f)).collect::<Result<_, Error>>()?;
    let title = match &records[..] {
        [one] => format!("{} – powerbond report", one.system()),
        many => format!("{} runs – powerbond report", many.len()),
    };
    let mut page = String::with_capacity(1 << 20);
    let mut rest = include_str!("page.html");
    while let Some((before, after)) = rest.split_once("{{") {
        page += before;
        let Some((name, after)) = after.split_once("}}") else { break };
        match name {
            "title" => page += &xml(&title),
            "style" => page += concat!(include_str!("uplot/uPlot.min.css"), include_str!("page.css")),
            "license" => page += include_str!("uplot/LICENSE"),
            "uplot" => page += include_str!("uplot/uPlot.iife.min.js"),
            "script" => page += include_str!("page.js"),
            "diagram" => page += &diagram::element(&records[0].summary),
            "data" => record::json(&records, &mut page),
            _ => {}
        }
        rest = after;
    }
    let notes = records.iter().flat_map(Record::notes).cloned().collect();
    Ok((page + rest, notes))
}
