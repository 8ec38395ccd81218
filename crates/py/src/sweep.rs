//! Sweeps: plans, their runs wherever they are done, and datasets.

use crate::error::{Cause, raise};
use crate::member::Python as InPython;
use crate::options::{Members, members_of, system_of};
use crate::run::{Waiting, Watcher};
use numpy::PyReadonlyArray2;
use powerbond::sweep::schema::{Cell, Column, Kind, MESSAGE, NUMBER, OK, Role, Row, STATUS, text_of};
use powerbond::sweep::{self, Begun, Dataset, Draft, Existing, Record, Totals};
use powerbond::{Error, Output, Task, verify};
use powerbond_worker::{Checked, Pending, Prepared, Runners, Seen};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBool;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Between two looks at progress and Ctrl-C.
const TICK: Duration = Duration::from_millis(100);
/// Ctrl-C, as runs are told of it.
const SIGINT: u8 = 2;

/// Processes that stay for the next sweep or evaluation.
static RUNNERS: Runners = Runners::new();

/// Ends the processes that wait for the next sweep.
#[pyfunction]
pub fn end_sweep_workers(py: Python<'_>) {
    py.detach(|| RUNNERS.end());
}

/// A plan whose names and values are known to be right.
#[pyclass(frozen, name = "Plan", module = "powerbond._powerbond")]
pub struct PyPlan {
    prepared: Prepared,
    /// Subsystems in Python: their runs are done by this process, one after the other.
    members: Members,
    /// What goes wrong in them.
    cause: Cause,
}

#[pymethods]
impl PyPlan {
    /// Reads a plan from a file, or from a text that stands for it. `checked`: somebody did that before. `members` are subsystems in
    /// Python, by the names of their models.
    #[staticmethod]
    fn read(
        py: Python<'_>,
        file: PathBuf,
        text: Option<String>,
        checked: bool,
        members: Vec<(String, Py<PyAny>)>,
    ) -> PyResult<Self> {
        let cause = Cause::default();
        let members = members_of(members, &cause);
        let prepared = py.detach(|| {
            let draft = match &text {
                Some(text) => Draft::parse(&file, text)?,
                None => Draft::load(&file)?,
            };
            match (checked, members.is_empty()) {
                (true, _) => Prepared::unchecked(draft),
                (false, true) => Prepared::new(draft),
                (false, false) => Prepared::checked_by(draft, &mut |task, _| check_here(task, &members)),
            }
        });
        let prepared = prepared.map_err(|error| cause.raise(py, &error))?;
        Ok(PyPlan { prepared, members, cause })
    }

    /// The same plan with a row of values for each run.
    fn with_rows(&self, py: Python<'_>, rows: PyReadonlyArray2<'_, f64>) -> PyResult<Self> {
        let rows: Vec<Vec<f64>> = rows.as_array().rows().into_iter().map(|row| row.to_vec()).collect();
        let prepared = py.detach(|| self.prepared.with_rows(&rows)).map_err(|error| raise(py, &error))?;
        Ok(PyPlan { prepared, members: self.members.clone(), cause: self.cause.clone() })
    }

    #[getter]
    fn name(&self) -> &str {
        &self.prepared.plan().name
    }

    #[getter]
    fn text(&self) -> &str {
        self.prepared.plan().text()
    }

    /// Its file, from the root.
    #[getter]
    fn file(&self) -> PathBuf {
        let file = self.prepared.plan().file();
        std::path::absolute(file).unwrap_or_else(|_| file.to_owned())
    }

    /// Hash of the system with its files.
    #[getter]
    fn base(&self) -> &str {
        &self.prepared.identity().base
    }

    /// Whether its files are what they were when it was read.
    #[getter]
    fn is_current(&self) -> bool {
        self.prepared.identity().changed().is_none()
    }

    #[getter]
    fn runs(&self) -> u64 {
        self.prepared.plan().runs()
    }

    #[getter]
    fn parameters(&self) -> Vec<String> {
        self.prepared.plan().parameters().map(str::to_owned).collect()
    }

    #[getter]
    fn outputs(&self) -> Vec<String> {
        self.prepared.plan().outputs().iter().map(|output| output.name.clone()).collect()
    }

    /// Does runs, from 0; their rows as texts. `progress` is called with how many have ended.
    fn run(
        &self,
        py: Python<'_>,
        runs: Vec<u64>,
        workers: usize,
        folder: Option<PathBuf>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Vec<String>> {
        let mut rows = Vec::new();
        self.work(py, &runs, workers, folder, progress, &mut |row| {
            rows.push(text_of_row(&row)?);
            Ok(())
        })?;
        Ok(rows)
    }

    /// Does runs into a dataset.
    fn run_into(
        &self,
        py: Python<'_>,
        dataset: &PyDataset,
        runs: Vec<u64>,
        workers: usize,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<()> {
        self.work(py, &runs, workers, Some(dataset.folder.clone()), progress, &mut |row| dataset.put(row))
    }

    /// Number, status, message and outputs of a row.
    fn outcome(&self, row: &str) -> PyResult<(i64, String, String, Vec<f64>)> {
        let row = row_of_text(row)?;
        let columns = self.prepared.columns();
        let outputs = row.iter().zip(columns).filter(|(_, column)| column.role == Role::Output);
        let values = outputs.map(|(cell, _)| cell.number().unwrap_or(f64::NAN)).collect();
        let number = row.get(NUMBER).and_then(Cell::number).unwrap_or(0.0) as i64;
        Ok((number, text_of(&row, STATUS).to_owned(), text_of(&row, MESSAGE).to_owned(), values))
    }
}

impl PyPlan {
    fn work(
        &self,
        py: Python<'_>,
        runs: &[u64],
        workers: usize,
        folder: Option<PathBuf>,
        progress: Option<Py<PyAny>>,
        keep: &mut (dyn FnMut(Row) -> Result<(), Error> + Send),
    ) -> PyResult<()> {
        if !self.members.is_empty() {
            return self.work_here(py, runs, folder, progress, keep);
        }
        let signal = AtomicU8::new(0);
        let mut raised = None;
        let (mut done, mut failed, mut looked) = (0u64, 0u64, Instant::now());
        let ended = py.detach(|| {
            self.prepared.run(runs, (workers, &RUNNERS), folder.as_deref(), &signal, &mut |seen| {
                if let Seen::Row(row) = seen {
                    done += 1;
                    failed += u64::from(text_of(&row, STATUS) != OK);
                    keep(row)?;
                }
                if looked.elapsed() >= TICK || done == runs.len() as u64 {
                    looked = Instant::now();
                    let look = Python::attach(|py| {
                        py.check_signals()?;
                        progress.as_ref().map_or(Ok(()), |see| see.call1(py, (done, failed)).map(drop))
                    });
                    if let Err(exception) = look {
                        raised.get_or_insert(exception);
                        signal.store(SIGINT, Ordering::Relaxed);
                    }
                    if let Some(file) = self.prepared.identity().changed() {
                        return Err(sweep::changed(file));
                    }
                }
                Ok(())
            })
        });
        match raised {
            Some(exception) => Err(exception),
            None => ended.map_err(|error| raise(py, &error)),
        }
    }
}

impl PyPlan {
    /// Does runs in this process, one after the other.
    fn work_here(
        &self,
        py: Python<'_>,
        runs: &[u64],
        folder: Option<PathBuf>,
        progress: Option<Py<PyAny>>,
        keep: &mut (dyn FnMut(Row) -> Result<(), Error> + Send),
    ) -> PyResult<()> {
        let (mut done, mut failed, mut looked) = (0u64, 0u64, Instant::now());
        for &run in runs {
            self.cause.forget();
            let mut waiting = Waiting::new(Watcher::of(None, &self.cause));
            let row = py.detach(|| {
                let begun = Begun::now();
                let ended = system_of(&self.prepared.task(run), &self.members).and_then(|system| {
                    powerbond::keep_open(&system);
                    verify::run(&system, Output::default(), &mut waiting)
                });
                self.prepared.row(run, folder.as_deref(), begun, ended)
            });
            // Ctrl-C, between two steps or in a subsystem.
            if let Some(raised) = waiting.raised().or_else(|| self.cause.interruption(py)) {
                return Err(raised);
            }
            if let Some(row) = row.map_err(|error| raise(py, &error))? {
                done += 1;
                failed += u64::from(text_of(&row, STATUS) != OK);
                keep(row).map_err(|error| raise(py, &error))?;
            }
            if looked.elapsed() >= TICK || done == runs.len() as u64 {
                looked = Instant::now();
                py.check_signals()?;
                if let Some(see) = &progress {
                    see.call1(py, (done, failed))?;
                }
                if let Some(file) = self.prepared.identity().changed() {
                    return Err(raise(py, &sweep::changed(file)));
                }
            }
        }
        Ok(())
    }
}

/// Makes everything that a run in this process needs.
fn check_here(task: &Task, members: &[(String, InPython)]) -> Result<Checked, Error> {
    let assembled = system_of(task, members)?.assemble()?;
    let columns = assembled.columns.iter().map(|(name, _)| name.to_string()).collect();
    Ok(Checked { start: assembled.start, stop: assembled.stop, columns })
}

fn text_of_row(row: &Row) -> Result<String, Error> {
    serde_json::to_string(row).map_err(|e| Error::output("memory for results".as_ref(), &e.into()))
}

fn row_of_text(text: &str) -> PyResult<Row> {
    serde_json::from_str(text).map_err(|e| PyValueError::new_err(format!("not a row of a sweep: {e}")))
}

/// The folder of a sweep, open for rows.
#[pyclass(frozen, name = "Dataset", module = "powerbond._powerbond")]
pub struct PyDataset {
    dataset: Mutex<Option<Dataset>>,
    folder: PathBuf,
    pending: Pending,
}

#[pymethods]
impl PyDataset {
    #[new]
    fn new(
        py: Python<'_>,
        plan: &PyPlan,
        folder: PathBuf,
        resume: bool,
        overwrite: bool,
        shard: Option<(u64, u64)>,
    ) -> PyResult<Self> {
        let existing = match (resume || shard.is_some(), overwrite) {
            (true, _) => Existing::Resume,
            (_, true) => Existing::Overwrite,
            _ => Existing::Refuse,
        };
        let label = shard.map_or("all".to_owned(), |(i, n)| format!("{i}-of-{n}"));
        let opened = py.detach(|| {
            let dataset = Dataset::open(&folder, &plan.prepared.record(), existing, &label)?;
            let known = sweep::known(&folder, plan.prepared.columns())?;
            Ok((dataset, plan.prepared.pending(&known, shard)))
        });
        let (dataset, pending) = opened.map_err(|error: Error| raise(py, &error))?;
        Ok(PyDataset { dataset: Mutex::new(Some(dataset)), folder, pending })
    }

    /// Runs that are missing or failed, from 0.
    #[getter]
    fn pending(&self) -> Vec<u64> {
        self.pending.runs.clone()
    }

    /// Adds rows.
    fn add(&self, py: Python<'_>, rows: Vec<String>) -> PyResult<()> {
        for row in rows {
            self.put(row_of_text(&row)?).map_err(|error| raise(py, &error))?;
        }
        Ok(())
    }

    /// Closes it; `merge`: its parts become one.
    fn close(&self, py: Python<'_>, merge: bool) -> PyResult<()> {
        let taken = self.dataset.lock().unwrap_or_else(PoisonError::into_inner).take();
        let closed = py.detach(|| match taken {
            Some(dataset) if merge => dataset.close_and_merge(&self.pending.numbers),
            Some(dataset) => dataset.close(),
            None => Ok(()),
        });
        closed.map_err(|error| raise(py, &error))
    }
}

impl PyDataset {
    fn put(&self, row: Row) -> Result<(), Error> {
        match &mut *self.dataset.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(dataset) => dataset.add(row),
            None => Err(Error::input(None, "the dataset is closed")),
        }
    }
}

/// What the sweep in a folder came to, as JSON.
#[pyfunction]
pub fn sweep_totals(py: Python<'_>, folder: PathBuf) -> PyResult<String> {
    let totals = py.detach(|| Totals::of(&folder)).map_err(|error| raise(py, &error))?;
    serde_json::to_string(&totals).map_err(|e| PyValueError::new_err(e.to_string()))
}

/// The columns of the sweep in a folder, in the order of runs.
#[pyfunction]
pub fn sweep_columns(py: Python<'_>, folder: PathBuf) -> PyResult<Vec<(String, Vec<Py<PyAny>>)>> {
    let read = py.detach(|| {
        let record = Record::read(&folder)?;
        let mut rows: Vec<Row> = Vec::new();
        sweep::scan(&folder, &record.columns, &mut |row| rows.push(row))?;
        rows.sort_by_key(sweep::schema::number_of);
        Ok((record.columns, rows))
    });
    let (columns, rows) = read.map_err(|error: Error| raise(py, &error))?;
    let cell = |column: &Column, cell: &Cell| -> PyResult<Py<PyAny>> {
        Ok(match cell {
            Cell::Integer(n) if column.kind == Kind::Time => {
                (*n as f64 * 1e-6).into_pyobject(py)?.into_any().unbind()
            }
            Cell::Integer(n) => n.into_pyobject(py)?.into_any().unbind(),
            Cell::Text(text) => text.into_pyobject(py)?.into_any().unbind(),
            Cell::Flag(flag) => PyBool::new(py, *flag).to_owned().into_any().unbind(),
            Cell::Real(_) => cell.number().unwrap_or(f64::NAN).into_pyobject(py)?.into_any().unbind(),
            Cell::None => py.None(),
        })
    };
    let column = |(c, column): (usize, &Column)| {
        let cells = rows.iter().map(|row| cell(column, &row[c])).collect::<PyResult<Vec<_>>>()?;
        Ok((column.name.clone(), cells))
    };
    columns.iter().enumerate().map(column).collect()
}

/// Writes the report of the sweep in a folder; its path.
#[pyfunction]
pub fn sweep_report(py: Python<'_>, folder: PathBuf, overwrite: bool) -> PyResult<PathBuf> {
    py.detach(|| sweep::write_report(&folder, overwrite)).map_err(|error| raise(py, &error))
}

/// Merges the shards of a sweep.
#[pyfunction]
pub fn sweep_merge(py: Python<'_>, folders: Vec<PathBuf>, target: PathBuf, overwrite: bool) -> PyResult<()> {
    let merged = py.detach(|| sweep::merge(&folders, &target, overwrite));
    merged.map(drop).map_err(|error| raise(py, &error))
}
