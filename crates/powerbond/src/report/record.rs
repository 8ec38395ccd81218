//! A run as it lies in its folder, and what of it goes into the page.

use super::thin::{number, thin};
use crate::Error;
use crate::results::{SUMMARY, table_of};
use crate::table::{Table, read};
use crate::{ENERGY, RESULTS};
use serde_json::Value;
use std::collections::HashSet;
use std::path::Path;

/// What a run left behind.
pub struct Record {
    /// Its folder's name.
    pub label: String,
    /// `summary.json`.
    pub summary: Value,
    results: Table,
    energy: Table,
}

/// The largest summary that is read, in bytes.
const MAX_SUMMARY: u64 = 500_000_000;
/// Points of all lines together take about this many bytes of the page.
const BUDGET: usize = 6_000_000;
/// Bytes of a point: a time and a value.
const POINT: usize = 18;
/// Most variables and bonds that are shown.
const MAX_VARIABLES: usize = 300;
const MAX_BONDS: usize = 30;

impl Record {
    /// Reads a run folder.
    pub fn read(folder: &Path) -> Result<Self, Error> {
        let file = folder.join(SUMMARY);
        if !file.is_file() {
            let message = format!(
                "{} is not a run folder, or its run has not ended: `{SUMMARY}` is missing",
                folder.display()
            );
            return Err(Error::input(None, message));
        }
        let text = crate::source::read(&file, MAX_SUMMARY)?;
        let summary: Value = serde_json::from_str(&text.text)
            .map_err(|e| Error::input(None, format!("{}: {e}", file.display())))?;
        if summary["schema"] != 1 || !summary["bonds"].is_array() {
            return Err(Error::input(
                None,
                format!("{}: unsupported version of the summary", file.display()),
            ));
        }
        let absolute = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
        let label = absolute.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let [results, energy] = [RESULTS, ENERGY].map(|table| read(&table_of(folder, &summary, table)));
        Ok(Record { label, summary, results: results?, energy: energy? })
    }

    /// What is to be known of what was read: rows that were cut and left out.
    pub fn notes(&self) -> impl Iterator<Item = &String> {
        [&self.results.note, &self.energy.note].into_iter().flatten()
    }

    /// The name of the system.
    pub fn system(&self) -> &str {
        self.summary["system"].as_str().unwrap_or("system")
    }

    /// Recorded variables that are shown: coupled ones first if there are too many.
    fn variables(&self) -> Vec<usize> {
        let all: Vec<usize> = (1..self.results.header.len()).collect();
        if all.len() <= MAX_VARIABLES {
            return all;
        }
        let empty = Vec::new();
        let inputs = self.summary["inputs"].as_array().unwrap_or(&empty);
        let sources = inputs.iter().flat_map(|i| i["sources"].as_array().into_iter().flatten());
        let coupled: HashSet<&str> = sources.filter_map(Value::as_str).collect();
        let (mut first, others): (Vec<usize>, Vec<usize>) =
            all.into_iter().partition(|&k| coupled.contains(self.results.header[k].as_str()));
        first.extend(others);
        first.truncate(MAX_VARIABLES);
        first
    }

    /// Columns of `energy.csv` that are shown: of the bonds with the largest residuals if there are many.
    fn energies(&self) -> Vec<usize> {
        let empty = Vec::new();
        let bonds = self.summary["bonds"].as_array().unwrap_or(&empty);
        let mut ranked: Vec<&Value> = bonds.iter().collect();
        let size = |b: &Value| b["residual_abs"].as_f64().unwrap_or(f64::INFINITY);
        ranked.sort_by(|a, b| size(b).total_cmp(&size(a)));
        let hidden: Vec<String> =
            ranked.iter().skip(MAX_BONDS).filter_map(|b| Some(format!("{}.", b["name"].as_str()?))).collect();
        let shown = |name: &str| !name.ends_with(".E_net") && !hidden.iter().any(|h| name.starts_with(h));
        (1..self.energy.header.len()).filter(|&k| shown(&self.energy.header[k])).collect()
    }
}

/// Writes the data of all runs as JSON that may stand inside a `<script>` element.
pub fn json(records: &[Record], page: &mut String) {
    let lines: usize = records.iter().map(|r| r.variables().len() + r.energies().len()).sum();
    let buckets = (BUDGET / (2 * POINT * lines.max(1))).clamp(40, 1500);
    let mut out = String::from("{\"runs\":[");
    for (k, record) in records.iter().enumerate() {
        if k > 0 {
            out.push(',');
        }
        out += &format!("{{\"label\":{},\"summary\":{}", Value::from(&*record.label), record.summary);
        for (key, table, columns) in
            [("results", &record.results, record.variables()), ("energy", &record.energy, record.energies())]
        {
            out += &format!(",\"{key}\":{{");
            for (n, &c) in columns.iter().enumerate() {
                if n > 0 {
                    out.push(',');
                }
                let (times, values) = thin(&table.columns[0], &table.columns[c], buckets);
                out += &format!("{}:[[", Value::from(&*table.header[c]));
                list(&times, 9, &mut out);
                out += "],[";
                list(&values, 6, &mut out);
                out += "]]";
            }
            out.push('}');
        }
        out += &format!(
            ",\"notes\":{},\"rows\":{},\"hidden\":{}}}",
            Value::from(record.notes().map(|note| note.as_str()).collect::<Vec<_>>()),
            record.results.rows(),
            record.results.header.len() - 1 - record.variables().len()
        );
    }
    out += "]}";
    // No text can end the element: `<` is written as an escape, which JSON knows.
    *page += &out.replace('<', "\\u003c");
}

fn list(values: &[f64], digits: i32, out: &mut String) {
    for (i, &x) in values.iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        number(x, digits, out);
    }
}
