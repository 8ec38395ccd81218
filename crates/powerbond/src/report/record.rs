//! A run as it lies in its folder, and what of it goes into the page.

use super::thin::{Line, number};
use crate::Error;
use crate::results::{FINER, Point, SUMMARY, SideBySide, distance, energy_of, is_power, table_of};
use crate::table::{Follower, Visit, scan};
use crate::{ENERGY, RESULTS};
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

/// What a run left behind.
pub struct Record {
    /// Its folder's name.
    pub label: String,
    /// `summary.json`.
    pub summary: Value,
    results: Lines,
    energy: Lines,
    errors: Option<Errors>,
}

/// How far the shown variables, powers and energies are from those of a reference, thinned.
struct Errors {
    /// A run folder or a table.
    reference: PathBuf,
    /// Its energies, if it is a run that has them.
    energy: Option<PathBuf>,
    /// What it is called.
    label: String,
    /// Variables that both have, and their differences.
    lines: Vec<(String, Line)>,
    /// The same of powers and energies of bonds.
    energy_lines: Vec<(String, Line)>,
    /// What is to be known of what was read.
    notes: Vec<String>,
}

/// Columns of a table that are shown, thinned while the table is read.
#[derive(Default)]
struct Lines {
    file: PathBuf,
    header: Vec<String>,
    /// The columns that are shown.
    shown: Vec<usize>,
    lines: Vec<Line>,
    rows: u64,
    /// Rows are wanted, not only the header.
    is_read: bool,
    /// What is to be known of what was read.
    note: Option<String>,
}

impl Visit for Lines {
    fn header(&mut self, names: Vec<String>) -> bool {
        self.header = names;
        self.is_read
    }

    fn row(&mut self, row: &[f64]) {
        self.rows += 1;
        self.lines.iter_mut().zip(&self.shown).for_each(|(line, &k)| line.push(row[0], row[k]));
    }
}

impl Lines {
    /// The header of a file.
    fn of(file: PathBuf) -> Result<Self, Error> {
        let mut lines = Lines::default();
        scan(&file, &mut lines)?;
        Ok(Lines { file, ..lines })
    }

    /// Makes room for the columns that are shown, with as many stretches each.
    fn prepare(&mut self, stretches: usize) {
        self.lines = self.shown.iter().map(|_| Line::new(stretches)).collect();
        self.is_read = true;
    }

    /// Reads the columns that are shown, with as many stretches each.
    fn read(&mut self, stretches: usize) -> Result<(), Error> {
        self.prepare(stretches);
        let file = self.file.clone();
        self.note = scan(&file, self)?;
        Ok(())
    }
}

impl Errors {
    /// Reads both tables beside those of the reference.
    fn read(&mut self, results: &Lines, energy: &Lines, stretches: usize) -> Result<(), Error> {
        self.lines = self.differences(results, &self.reference.clone(), |_| true, stretches)?;
        if self.lines.is_empty() {
            let message = format!(
                "{} and {} have no variable in common",
                results.file.display(),
                self.reference.display()
            );
            return Err(Error::input(None, message));
        }
        if let Some(reference) = self.energy.take() {
            // A run may have ended before its first step: what else there is to compare is shown.
            match self.differences(energy, &reference, is_power, stretches) {
                Ok(lines) => self.energy_lines = lines,
                Err(e) => self.notes.push(format!("powers and energies are not compared: {e}")),
            }
        }
        Ok(())
    }

    /// Differences of the shown columns that both have and are `wanted`.
    fn differences(
        &mut self,
        table: &Lines,
        reference: &Path,
        wanted: fn(&str) -> bool,
        stretches: usize,
    ) -> Result<Vec<(String, Line)>, Error> {
        let mut both = SideBySide::open(&table.file, reference)?;
        let known = both.reference.header();
        let places: HashMap<&str, usize> = known.iter().enumerate().map(|(k, n)| (n.as_str(), k)).collect();
        let (mut pairs, mut lines) = (Vec::new(), Vec::new());
        for &i in table.shown.iter().filter(|&&i| wanted(&table.header[i])) {
            if let Some(&k) = places.get(table.header[i].as_str()).filter(|&&k| k > 0) {
                pairs.push((i, k));
                lines.push((table.header[i].clone(), Line::new(stretches)));
            }
        }
        if pairs.is_empty() {
            return Ok(lines);
        }
        // Between its rows the difference would be that of a line, and not of the run.
        while let Some(Point { t, is_row, first, reference }) = both.point()? {
            if !is_row[0] {
                continue;
            }
            let lines = lines.iter_mut().zip(&pairs);
            lines.for_each(|((_, line), &(i, k))| line.push(t, distance(first[i], reference[k])));
        }
        self.notes.extend(both.reference.note().cloned());
        Ok(lines)
    }
}

/// The largest summary that is read, in bytes.
const MAX_SUMMARY: u64 = 500_000_000;
/// Points of all lines together take about this many bytes of the page.
const BUDGET: usize = 6_000_000;
/// The same of what is sent of a run that goes on, about twice a second.
const LIVE_BUDGET: usize = 400_000;
/// Bytes of a point: a time and a value.
const POINT: usize = 18;
/// Most variables and bonds that are shown.
const MAX_VARIABLES: usize = 300;
const MAX_BONDS: usize = 30;

impl Record {
    /// Reads a run folder: its summary, and which columns there are.
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
        let [results, energy] = [RESULTS, ENERGY].map(|table| Lines::of(table_of(folder, &summary, table)));
        let mut record = Record { label, summary, results: results?, energy: energy?, errors: None };
        record.results.shown = record.variables();
        record.energy.shown = record.energies();
        Ok(record)
    }

    /// The lines are also compared with a reference: a run folder or a table. Without one, with the finer run that verified this one.
    pub fn compare_with(&mut self, reference: Option<&Path>, folder: &Path) {
        let finer = || {
            let file = folder.join(self.summary["files"][FINER].as_str()?);
            file.is_file().then(|| (file, "the run in finer steps".to_owned()))
        };
        let given = reference.map(|path| (path.to_owned(), path.display().to_string()));
        self.errors = given.or_else(finer).map(|(reference, label)| Errors {
            energy: energy_of(&reference),
            reference,
            label,
            lines: Vec::new(),
            energy_lines: Vec::new(),
            notes: Vec::new(),
        });
    }

    /// Reads the lines of all records, so that they fit into one page.
    pub fn fill(records: &mut [Record]) -> Result<(), Error> {
        let stretches = stretches(BUDGET, records.iter().map(Record::lines).sum());
        for record in records {
            record.results.read(stretches)?;
            record.energy.read(stretches)?;
            if let Some(errors) = &mut record.errors {
                errors.read(&record.results, &record.energy, stretches)?;
            }
        }
        Ok(())
    }

    /// Makes room for lines that are still to come, and says where from.
    pub fn follow(&mut self) -> [Follower; 2] {
        let stretches = stretches(LIVE_BUDGET, self.lines());
        [&mut self.results, &mut self.energy].map(|table| {
            table.prepare(stretches);
            Follower::new(&table.file)
        })
    }

    /// Adds rows that have come; whether there were any.
    pub fn look(&mut self, followers: &mut [Follower; 2]) -> Result<bool, Error> {
        let before = self.results.rows + self.energy.rows;
        let [results, energy] = followers;
        results.look(&mut self.results)?;
        energy.look(&mut self.energy)?;
        Ok(self.results.rows + self.energy.rows > before)
    }

    /// How many lines there will be.
    fn lines(&self) -> usize {
        let tables = |compared: bool| if compared { 2 } else { 1 };
        let with_energy = self.errors.as_ref().is_some_and(|errors| errors.energy.is_some());
        tables(self.errors.is_some()) * self.results.shown.len()
            + tables(with_energy) * self.energy.shown.len()
    }

    /// What is to be known of what was read: rows that were cut and left out.
    pub fn notes(&self) -> impl Iterator<Item = &String> {
        let own = [&self.results.note, &self.energy.note].into_iter().flatten();
        own.chain(self.errors.iter().flat_map(|errors| &errors.notes))
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

/// As many stretches per line as fit.
fn stretches(budget: usize, lines: usize) -> usize {
    (budget / (2 * POINT * lines.max(1))).clamp(40, 1500)
}

/// Writes the data of all runs as JSON that may stand inside a `<script>` element.
pub fn json(records: &[Record], live: bool, page: &mut String) {
    let mut out = format!("{{\"live\":{live},\"runs\":[");
    for (k, record) in records.iter().enumerate() {
        if k > 0 {
            out.push(',');
        }
        out += &format!("{{\"label\":{},\"summary\":{},", Value::from(&*record.label), record.summary);
        tables(record, &mut out);
        if let Some(Errors { label, lines, energy_lines, .. }) = &record.errors {
            out += &format!(",\"reference\":{}", Value::from(&**label));
            for (key, lines) in [("errors", lines), ("energy_errors", energy_lines)] {
                out += &format!(",\"{key}\":");
                object(lines.iter().map(|(name, line)| (name, line)), &mut out);
            }
        }
        out += &format!(
            ",\"notes\":{},\"hidden\":{}}}",
            Value::from(record.notes().map(|note| note.as_str()).collect::<Vec<_>>()),
            record.results.header.len().saturating_sub(1 + record.results.shown.len())
        );
    }
    out += "]}";
    // No text can end the element: `<` is written as an escape, which JSON knows.
    *page += &out.replace('<', "\\u003c");
}

/// Writes the lines of a run, without braces around them.
pub fn tables(record: &Record, out: &mut String) {
    for (key, table) in [("results", &record.results), ("energy", &record.energy)] {
        *out += &format!("\"{key}\":");
        object(table.shown.iter().map(|&c| &table.header[c]).zip(&table.lines), out);
        out.push(',');
    }
    *out += &format!("\"rows\":{}", record.results.rows);
}

/// Names, and of each its times and values.
fn object<'a>(lines: impl Iterator<Item = (&'a String, &'a Line)>, out: &mut String) {
    out.push('{');
    for (n, (name, line)) in lines.enumerate() {
        if n > 0 {
            out.push(',');
        }
        let (times, values) = line.points();
        *out += &format!("{}:[[", Value::from(&**name));
        list(&times, 9, out);
        *out += "],[";
        list(&values, 6, out);
        *out += "]]";
    }
    out.push('}');
}

fn list(values: &[f64], digits: i32, out: &mut String) {
    for (i, &x) in values.iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        number(x, digits, out);
    }
}
