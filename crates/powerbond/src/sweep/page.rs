//! The report of a sweep: one self-contained HTML file with a table, scatter plots, parallel coordinates and response curves.

use super::dataset::{Record, scan};
use super::schema::{Cell, OK, Row, STATUS, number_of, text_of};
use crate::Error;
use crate::picture::xml;
use crate::report::MARK;
use crate::table::write_file;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The file of the report.
pub const REPORT: &str = "report.html";

/// Runs that a page shows; of more, evenly chosen ones and all that failed.
const SHOWN: u64 = 20_000;

/// Writes the page of the sweep in a folder.
pub fn write(folder: &Path, overwrite: bool) -> Result<PathBuf, Error> {
    let file = folder.join(REPORT);
    write_file(&file, &page(folder)?, MARK, overwrite)?;
    Ok(file)
}

/// Where the report of a single run lies, in the folder of a sweep.
pub fn detail(folder: &Path, id: &str) -> PathBuf {
    folder.join(DETAILS).join(id)
}

const DETAILS: &str = "details";

/// Ids of runs that have a report of their own.
fn details(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder.join(DETAILS)).into_iter().flatten().flatten();
    let has_report = |path: &Path| path.join(crate::report::REPORT).is_file();
    let with_report = entries.filter(|entry| has_report(&entry.path()));
    let mut ids: Vec<String> = with_report.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    ids.sort();
    ids
}

fn page(folder: &Path) -> Result<String, Error> {
    let record = Record::read(folder)?;
    let every = record.runs.div_ceil(SHOWN).max(1) as i64;
    let (mut rows, mut total): (Vec<Row>, u64) = (Vec::new(), 0);
    scan(folder, &record.columns, &mut |row| {
        let number = number_of(&row);
        if number == 0 {
            return;
        }
        total += 1;
        if number % every == 0 || text_of(&row, STATUS) != OK {
            rows.push(row);
        }
    })?;
    rows.sort_by_key(number_of);
    let cell = |cell: &Cell| match cell {
        Cell::None => Value::Null,
        Cell::Integer(n) => json!(n),
        Cell::Text(text) => json!(text),
        Cell::Flag(flag) => json!(flag.to_string()),
        cell => {
            cell.number().map_or(Value::Null, |x| if x.is_finite() { json!(x) } else { json!(x.to_string()) })
        }
    };
    let rows: Vec<Value> = rows.iter().map(|row| row.iter().map(cell).collect()).collect();
    let data = json!({
        "name": record.name, "planned": record.runs, "repeated": record.repeated, "done": total, "columns": record.columns, "rows": rows,
        "text": record.text, "version": record.version, "links": details(folder),
    });
    // Inside a script element only `</` and `<!--` matter.
    let data = data.to_string().replace('<', "\\u003c");
    let mut page = String::with_capacity(data.len() + (1 << 16));
    let mut rest = include_str!("page/page.html");
    while let Some((before, after)) = rest.split_once("{{") {
        page += before;
        let Some((name, after)) = after.split_once("}}") else { break };
        match name {
            "title" => page += &xml(&format!("{} – powerbond sweep", record.name)),
            "style" => {
                page += concat!(include_str!("../report/page/page.css"), include_str!("page/page.css"))
            }
            "script" => page += include_str!("page/page.js"),
            "data" => page += &data,
            _ => {}
        }
        rest = after;
    }
    Ok(page + rest)
}
