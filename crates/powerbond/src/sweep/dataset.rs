//! The folder of a sweep: a Parquet dataset that only grows, and survives whatever happens to who writes it.
//!
//! Every run that ends is a line of a journal at once, in `runs/.journal-…`. From time to time the lines become a file
//! `runs/part-….parquet`, written whole and renamed into place; then the journal begins anew. Whoever opens the folder
//! after a crash turns journals into parts, and of several rows with one id one counts: a run that went well, else the latest.

use super::identity::hex;
use super::parquet;
use super::plan::Plan;
use super::schema::{Cell, Column, ID, NUMBER, OK, Row, STARTED, STATUS, number_of, text_of};
use crate::table::durable;
use crate::{Error, Failure};
use fs4::{FileExt, TryLockError};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// What a sweep is, beside its runs.
pub const RECORD: &str = "sweep.json";
/// The folder of the dataset.
const RUNS: &str = "runs";
/// The folder of variables over time: a file for each run.
const SERIES: &str = "series";
/// A journal: this and the label of who writes it.
const JOURNAL: &str = ".journal-";
const PART: &str = "part-";
const END: &str = ".parquet";

/// The journal becomes a part after so many rows, or so much time.
const FULL: usize = 4096;
const EVERY: Duration = Duration::from_secs(5);
/// Rows of a part after a merge.
const MERGED: i64 = 50_000;

/// What is written once, when a sweep begins.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    /// Version of this schema.
    pub schema: u32,
    /// Name of the sweep.
    pub name: String,
    /// The plan's file, and its text.
    pub plan: PathBuf,
    /// Its text.
    pub text: String,
    /// How many runs there are.
    pub runs: u64,
    /// How many of them have the parameters of another one, and no row.
    #[serde(default)]
    pub repeated: u64,
    /// What a row holds.
    pub columns: Vec<Column>,
    /// Variables that are kept over time.
    pub series: bool,
    /// Hash of the system with its files and of what is put over it.
    pub base: String,
    /// Of powerbond.
    pub version: String,
}

impl Record {
    /// Of a plan whose runs have `base` in common, and of which so many are `repeated`.
    pub fn new(plan: &Plan, base: &str, repeated: u64) -> Self {
        Record {
            schema: 1,
            name: plan.name.clone(),
            plan: std::path::absolute(plan.file()).unwrap_or_else(|_| plan.file().to_owned()),
            text: plan.text().to_owned(),
            runs: plan.runs(),
            repeated,
            columns: Column::all(plan),
            series: plan.keeps_series(),
            base: base.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }

    /// Of the sweep in a folder.
    pub fn read(folder: &Path) -> Result<Self, Error> {
        let path = folder.join(RECORD);
        let text = std::fs::read_to_string(&path).map_err(|e| {
            Error::input(None, format!("cannot read {}: {e}; is this a sweep's folder?", path.display()))
        })?;
        serde_json::from_str(&text).map_err(|e| Error::input(None, format!("{}: {e}", path.display())))
    }

    fn write(&self, folder: &Path) -> Result<(), Error> {
        let path = folder.join(RECORD);
        let text = serde_json::to_string_pretty(self).map_err(|e| Error::output(&path, &e.into()))?;
        durable::replace(&path, &(text + "\n")).map_err(|e| Error::output(&path, &e))
    }
}

/// What is to become of runs that a folder holds already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// There must be none.
    Refuse,
    /// They count.
    Resume,
    /// They are removed.
    Overwrite,
}

/// The folder of a sweep, open for new rows.
#[derive(Debug)]
pub struct Dataset {
    folder: PathBuf,
    columns: Vec<Column>,
    journal: File,
    path: PathBuf,
    rows: Vec<Row>,
    turned: Instant,
}

impl Dataset {
    /// Opens or makes a folder for the sweep of `record`. `label` tells apart who writes to it at the same time.
    pub fn open(folder: &Path, record: &Record, existing: Existing, label: &str) -> Result<Self, Error> {
        let cannot = |e: io::Error| Error::output(folder, &e);
        let is_there = folder.join(RECORD).exists();
        if is_there && existing == Existing::Refuse {
            let message = format!(
                "{} holds a sweep already. Continue it with `--resume`, choose another `--output-dir`, or replace it with \
                 `--overwrite`",
                folder.display()
            );
            return Err(Error::input(None, message));
        }
        std::fs::create_dir_all(folder.join(RUNS)).map_err(cannot)?;
        let path = folder.join(RUNS).join(format!("{JOURNAL}{label}"));
        let journal = lock(&path)?;
        if is_there {
            match existing {
                Existing::Refuse => {}
                Existing::Resume => Record::read(folder)?.must_fit(record, folder)?,
                Existing::Overwrite => remove(folder, &path)?,
            }
        }
        if record.series {
            std::fs::create_dir_all(folder.join(SERIES)).map_err(cannot)?;
        }
        record.write(folder)?;
        let mut dataset = Dataset {
            folder: folder.to_owned(),
            columns: record.columns.clone(),
            journal,
            path,
            rows: Vec::new(),
            turned: Instant::now(),
        };
        dataset.rows = dataset.left_over()?;
        dataset.turn()?;
        Ok(dataset)
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What a row holds.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Rows that a killed process left in this journal; a last one that is cut counts for nothing.
    fn left_over(&mut self) -> Result<Vec<Row>, Error> {
        let cannot = |e: io::Error| Error::output(&self.path, &e);
        let mut text = Vec::new();
        self.journal.seek(SeekFrom::Start(0)).map_err(cannot)?;
        self.journal.read_to_end(&mut text).map_err(cannot)?;
        let lines = text.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n"));
        let rows = lines.filter_map(|line| serde_json::from_slice::<Row>(line).ok());
        Ok(rows.filter(|row| row.len() == self.columns.len()).collect())
    }

    /// Adds a run that has ended: from now on it is not lost, whatever happens to this process.
    pub fn add(&mut self, row: Row) -> Result<(), Error> {
        let cannot = |e: io::Error| Error::output(&self.path, &e);
        let mut line = serde_json::to_vec(&row).map_err(|e| cannot(e.into()))?;
        line.push(b'\n');
        self.journal.write_all(&line).map_err(cannot)?;
        self.rows.push(row);
        if self.rows.len() >= FULL || self.turned.elapsed() >= EVERY { self.turn() } else { Ok(()) }
    }

    /// Turns the journal into a part.
    pub fn turn(&mut self) -> Result<(), Error> {
        let cannot = |e: io::Error| Error::output(&self.path, &e);
        self.turned = Instant::now();
        if !self.rows.is_empty() {
            self.rows.sort_by_key(number_of);
            write_part(&self.folder, &self.columns, &self.rows)?;
            self.rows.clear();
        }
        self.journal.set_len(0).and_then(|()| self.journal.seek(SeekFrom::Start(0))).map_err(cannot)?;
        Ok(())
    }

    /// Writes variables over time of a run.
    pub fn series(folder: &Path, id: &str, names: &[&str], columns: &[&[f64]]) -> Result<(), Error> {
        let path = folder.join(SERIES).join(format!("{id}{END}"));
        let bytes = parquet::of_numbers(names, columns);
        bytes.and_then(|bytes| durable::replace_quickly(&path, &bytes)).map_err(|e| Error::output(&path, &e))
    }

    /// Closes it: everything is in parts.
    pub fn close(mut self) -> Result<(), Error> {
        self.turn()?;
        std::fs::remove_file(&self.path).map_err(|e| Error::output(&self.path, &e))
    }

    /// Closes it and, if nobody else writes to the folder, merges its parts: each run once, in order, with these numbers.
    pub fn close_and_merge(self, numbers: &HashMap<String, i64>) -> Result<(), Error> {
        let (folder, columns) = (self.folder.clone(), self.columns.clone());
        self.close()?;
        if journals(&folder)?.is_empty() { merge_parts(&folder, &columns, numbers) } else { Ok(()) }
    }
}

impl Record {
    /// The same system with other points may go on in this folder.
    fn must_fit(&self, new: &Record, folder: &Path) -> Result<(), Error> {
        if self.base != new.base {
            let message = format!(
                "the sweep in {} is of another system: the system, a file that it reads or `[run]` has changed since. Choose \
                 another `--output-dir`",
                folder.display()
            );
            return Err(Error::input(None, message));
        }
        if self.columns == new.columns {
            return Ok(());
        }
        let name = |c: &Column| match &c.expression {
            Some(text) => format!("`{}` = \"{text}\"", c.name),
            None => format!("`{}`", c.name),
        };
        let only = |a: &Record, b: &Record| -> Vec<String> {
            a.columns.iter().filter(|c| !b.columns.contains(c)).map(name).collect()
        };
        let mut words = Vec::new();
        for (list, what) in [(only(self, new), "only there"), (only(new, self), "only in the plan")] {
            if !list.is_empty() {
                words.push(format!("{what}: {}", list.join(", ")));
            }
        }
        let message = format!(
            "the sweep in {} has other columns than the plan ({}). Choose another `--output-dir`",
            folder.display(),
            if words.is_empty() { "in another order".to_owned() } else { words.join("; ") }
        );
        Err(Error::input(None, message))
    }
}

/// Opens a journal that nobody else has.
fn lock(path: &Path) -> Result<File, Error> {
    let cannot = |e: io::Error| Error::output(path, &e);
    let file =
        OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).map_err(cannot)?;
    match FileExt::try_lock(&file) {
        // A file system without locks: who shares a folder there has to know it.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            let folder = path.parent().and_then(Path::parent).unwrap_or(path);
            let message = format!(
                "another sweep is writing to {}; wait for it, or choose another folder",
                folder.display()
            );
            Err(Error::input(None, message))
        }
    }
}

/// The files of a folder of the dataset whose names begin like this.
fn files(folder: &Path, begin: &str, end: &str) -> Result<Vec<PathBuf>, Error> {
    let runs = folder.join(RUNS);
    let entries = match std::fs::read_dir(&runs) {
        Ok(entries) => entries,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(Error::input(None, format!("cannot read {}: {e}", runs.display()))),
    };
    let fits = |path: &PathBuf| {
        path.file_name().and_then(|n| n.to_str()).is_some_and(|n| n.starts_with(begin) && n.ends_with(end))
    };
    let mut found: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).filter(fits).collect();
    found.sort();
    Ok(found)
}

fn parts(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    files(folder, PART, END)
}

fn journals(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    files(folder, JOURNAL, "")
}

/// Removes what a sweep left, apart from the journal that is open.
fn remove(folder: &Path, open: &Path) -> Result<(), Error> {
    let mut all = parts(folder)?;
    let others: Vec<PathBuf> = journals(folder)?.into_iter().filter(|path| path != open).collect();
    // Not under the hands of a shard that is at work.
    for path in &others {
        lock(path)?;
    }
    all.extend(others);
    if Record::read(folder).is_ok_and(|record| record.series) {
        let series = std::fs::read_dir(folder.join(SERIES)).into_iter().flatten();
        all.extend(
            series
                .filter_map(|e| Some(e.ok()?.path()))
                .filter(|p| p.extension().is_some_and(|e| e == "parquet")),
        );
    }
    for path in all {
        std::fs::remove_file(&path).map_err(|e| Error::output(&path, &e))?;
    }
    File::options()
        .write(true)
        .open(open)
        .and_then(|file| file.set_len(0))
        .map_err(|e| Error::output(open, &e))
}

/// Writes rows as a part, whole, and named by its contents: nobody's part has the name of another one.
fn write_part(folder: &Path, columns: &[Column], rows: &[Row]) -> Result<PathBuf, Error> {
    let runs = folder.join(RUNS);
    let bytes = parquet::of_rows(columns, rows).map_err(|e| Error::output(&runs, &e))?;
    let hash = hex(Sha256::new_with_prefix(&bytes));
    let number = rows.first().map_or(0, number_of);
    let path = runs.join(format!("{PART}{number:08}-{}{END}", &hash[..12]));
    durable::replace_by(&path, &runs.join(format!(".{}.part", &hash[..12])), &bytes)
        .map_err(|e| Error::output(&path, &e))?;
    Ok(path)
}

/// Which of two rows of one run counts.
fn is_better(new: &Row, old: &Row) -> bool {
    let rank = |row: &Row| {
        let started = if let Cell::Integer(n) = row[STARTED] { n } else { 0 };
        (text_of(row, STATUS) == OK, started)
    };
    rank(new) > rank(old)
}

/// How a run stands: its number, and whether it went well.
pub type Known = HashMap<String, bool>;

/// Shows every run of a folder once, part by part.
pub fn scan(folder: &Path, columns: &[Column], see: &mut dyn FnMut(Row)) -> Result<(), Error> {
    // Which part has the row that counts, by id: only where there are several.
    let mut best: HashMap<String, (usize, Row)> = HashMap::new();
    let mut times: HashMap<String, u8> = HashMap::new();
    let parts = parts(folder)?;
    for path in &parts {
        for row in parquet::read_rows(path, columns)? {
            let n = times.entry(text_of(&row, ID).to_owned()).or_default();
            *n = n.saturating_add(1);
        }
    }
    times.retain(|_, n| *n > 1);
    for (p, path) in parts.iter().enumerate() {
        for row in parquet::read_rows(path, columns)? {
            let id = text_of(&row, ID);
            if !times.contains_key(id) {
                see(row);
                continue;
            }
            match best.get(id) {
                Some((_, old)) if !is_better(&row, old) => {}
                _ => {
                    best.insert(id.to_owned(), (p, row));
                }
            }
        }
    }
    let mut rest: Vec<Row> = best.into_values().map(|(_, row)| row).collect();
    rest.sort_by_key(number_of);
    rest.into_iter().for_each(see);
    Ok(())
}

/// The runs that a folder has, and whether they went well.
pub fn known(folder: &Path, columns: &[Column]) -> Result<Known, Error> {
    let mut known = Known::new();
    for path in parts(folder)? {
        for row in parquet::read_rows(&path, columns)? {
            *known.entry(text_of(&row, ID).to_owned()).or_default() |= text_of(&row, STATUS) == OK;
        }
    }
    Ok(known)
}

/// Merges all parts: each run once, in order. What is new is written before what is old is removed.
fn merge_parts(folder: &Path, columns: &[Column], numbers: &HashMap<String, i64>) -> Result<(), Error> {
    let old = parts(folder)?;
    let mut written: Vec<PathBuf> = Vec::new();
    let mut rows: Vec<Row> = Vec::new();
    scan(folder, columns, &mut |mut row| {
        if !numbers.is_empty() {
            // Runs that are not in the plan any more have no number.
            let number = numbers.get(text_of(&row, ID));
            row[NUMBER] = number.map_or(Cell::None, |n| Cell::Integer(*n));
        }
        rows.push(row);
    })?;
    rows.sort_by_key(number_of);
    for chunk in rows.chunks(MERGED as usize) {
        written.push(write_part(folder, columns, chunk)?);
    }
    for path in old.iter().filter(|path| !written.contains(path)) {
        std::fs::remove_file(path).map_err(|e| Error::output(path, &e))?;
    }
    Ok(())
}

/// Merges the sweeps of several folders, shards of one plan, into `target`, which may be the only one of them. How many runs there are
/// then, and how many the plan has.
pub fn merge(folders: &[PathBuf], target: &Path, overwrite: bool) -> Result<(u64, u64), Error> {
    let first = folders.first().ok_or_else(|| Error::input(None, "no folder to merge"))?;
    let record = Record::read(first)?;
    for folder in folders {
        let other = Record::read(folder)?;
        if other.columns != record.columns || other.base != record.base {
            let message = format!(
                "{} and {} are sweeps of different plans or systems: only shards of one plan are merged",
                first.display(),
                folder.display()
            );
            return Err(Error::input(None, message));
        }
        // What killed shards left in their journals.
        for path in journals(folder)? {
            let label =
                path.file_name().and_then(|n| n.to_str()).and_then(|n| n.strip_prefix(JOURNAL)).unwrap_or("");
            let mut dataset = Dataset::open(folder, &other, Existing::Resume, label)?;
            dataset.turn()?;
            std::fs::remove_file(&path).map_err(|e| Error::output(&path, &e))?;
        }
    }
    if !folders.iter().any(|folder| folder == target) {
        let existing = if overwrite { Existing::Overwrite } else { Existing::Refuse };
        drop(Dataset::open(target, &record, existing, "merge")?);
        for path in journals(target)? {
            std::fs::remove_file(&path).map_err(|e| Error::output(&path, &e))?;
        }
    }
    for folder in folders.iter().filter(|folder| *folder != target) {
        for (list, below) in [(parts(folder)?, RUNS), (series_of(folder), SERIES)] {
            for path in list {
                let to = target.join(below).join(path.file_name().unwrap_or_default());
                let copied = std::fs::read(&path).and_then(|bytes| {
                    std::fs::create_dir_all(target.join(below))?;
                    durable::replace_quickly(&to, &bytes)
                });
                copied.map_err(|e| Error::output(&to, &e))?;
            }
        }
    }
    merge_parts(target, &record.columns, &HashMap::new())?;
    let mut runs = 0;
    scan(target, &record.columns, &mut |_| runs += 1)?;
    Ok((runs, record.runs))
}

fn series_of(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder.join(SERIES)).into_iter().flatten();
    let mut list: Vec<PathBuf> = entries.filter_map(|e| Some(e.ok()?.path())).collect();
    list.retain(|path| path.extension().is_some_and(|e| e == "parquet"));
    list.sort();
    list
}

/// The error of a sweep whose files changed on the way.
pub fn changed(path: &Path) -> Error {
    let message = format!(
        "{} was changed while the sweep was going on: later runs would not be comparable. Undo the change and continue \
         with `--resume`, or begin a sweep in another `--output-dir`",
        path.display()
    );
    Error::Model(Box::new(Failure::new(message)))
}
