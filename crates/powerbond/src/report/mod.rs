//! The report: one self-contained HTML file made from run records, with no need of a network.

mod diagram;
mod live;
mod record;
mod thin;

use crate::Error;
use crate::picture::xml;
use crate::table::{may_replace, write_file};
use record::Record;
use std::path::{Path, PathBuf};

pub use crate::results::{MARK, REPORT};
pub use live::Live;

/// Runs beyond this number are refused: colours run out long before.
const MAX_RUNS: usize = 12;

/// The page's own script; its files share one function.
const SCRIPT: &str = concat!(
    include_str!("page/words.js"),
    include_str!("page/verdict.js"),
    include_str!("page/plots.js"),
    include_str!("page/variables.js"),
    include_str!("page/coupling.js"),
    include_str!("page/tables.js"),
    include_str!("page/live.js"),
    include_str!("page/end.js"),
);

/// Makes one page of all runs, overlaid, and writes it to `file`. It reads what the runs left in their folders only.
/// A file that is there is replaced if it is a report, too, or if it may be overwritten. Returns what is to be known of
/// what was read.
pub fn write(folders: &[PathBuf], file: &Path, overwrite: bool) -> Result<Vec<String>, Error> {
    Report { folders, reference: None }.write(file, overwrite)
}

/// The page as text, and what is to be known of what was read.
pub fn page(folders: &[PathBuf]) -> Result<(String, Vec<String>), Error> {
    Report { folders, reference: None }.page()
}

/// What is to be in a page.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    /// Folders of runs.
    pub folders: &'a [PathBuf],
    /// A run folder or a table that all of them are compared with over time. Without one a verified run is compared with the
    /// finest run that verified it.
    pub reference: Option<&'a Path>,
}

impl Report<'_> {
    /// As [`write`](fn@write).
    pub fn write(&self, file: &Path, overwrite: bool) -> Result<Vec<String>, Error> {
        may_replace(file, MARK, overwrite)?;
        let (page, notes) = self.page()?;
        write_file(file, &page, MARK, overwrite)?;
        Ok(notes)
    }

    /// As [`page`].
    pub fn page(&self) -> Result<(String, Vec<String>), Error> {
        let Report { folders, reference } = *self;
        if folders.is_empty() || folders.len() > MAX_RUNS {
            return Err(Error::input(None, format!("{} runs; expected 1 to {MAX_RUNS}", folders.len())));
        }
        let read = |folder: &PathBuf| {
            let mut record = Record::read(folder)?;
            record.compare_with(reference, folder);
            Ok(record)
        };
        let mut records: Vec<Record> = folders.iter().map(read).collect::<Result<_, Error>>()?;
        Record::fill(&mut records)?;
        let notes = records.iter().flat_map(Record::notes).cloned().collect();
        Ok((render(&records, false), notes))
    }
}

/// The page of some records; one that is live asks the server that it came from for more.
fn render(records: &[Record], live: bool) -> String {
    let title = match records {
        [one] => format!("{} – powerbond report", one.system()),
        many => format!("{} runs – powerbond report", many.len()),
    };
    let mut page = String::with_capacity(1 << 20);
    let mut rest = include_str!("page/page.html");
    while let Some((before, after)) = rest.split_once("{{") {
        page += before;
        let Some((name, after)) = after.split_once("}}") else { break };
        match name {
            "title" => page += &xml(&title),
            "connect" if live => page += "; connect-src 'self'",
            "style" => {
                page += concat!(include_str!("page/uplot/uPlot.min.css"), include_str!("page/page.css"))
            }
            "license" => page += include_str!("page/uplot/LICENSE"),
            "uplot" => page += include_str!("page/uplot/uPlot.iife.min.js"),
            "script" => page += SCRIPT,
            "diagram" => page += &diagram::element(&records[0].summary),
            "data" => record::json(records, live, &mut page),
            _ => {}
        }
        rest = after;
    }
    page + rest
}
