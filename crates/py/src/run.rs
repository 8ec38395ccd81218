//! Whole runs: in this process, or in a worker that stays for the next one.

use crate::error::{Cause, raise};
use crate::options::Given;
use crate::session::results;
use numpy::{IntoPyArray, PyArray1};
use powerbond::core::observe::{Flow, Observer, StartView, StepReport};
use powerbond::core::step::StepView;
use powerbond::table::Table;
use powerbond::{Output, keep_open, verify};
use powerbond_worker::{Ended, Head, Limits, Listener, Program, Progress, RowListener, Runner};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use std::cell::{Cell, RefCell};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long Ctrl-C may have to wait, and between two looks at progress.
const TICK: Duration = Duration::from_millis(50);

/// Names, units and columns of a table.
pub type Columns<'py> = (Vec<String>, Vec<String>, Vec<Bound<'py, PyArray1<f64>>>);

pub fn columns_of(py: Python<'_>, table: Table) -> Columns<'_> {
    let columns = table.columns.into_iter().map(|column| column.into_pyarray(py)).collect();
    (table.header, table.units, columns)
}

/// What a run does in Python while it goes on: shows rows and progress, and looks for Ctrl-C.
pub struct Watcher {
    /// What is called with every row, and what it returns to end the run.
    callback: Option<(Py<PyAny>, Py<PyAny>)>,
    progress: Option<Py<PyAny>>,
    names: Vec<Py<PyString>>,
    /// The callback has ended the run: it sees no more rows.
    has_ended: bool,
    /// Rows so far, for a run whose process may die; column by column.
    kept: Option<Vec<Vec<f64>>>,
    /// What subsystems in Python raised.
    cause: Cause,
    /// What was raised on the way.
    pub raised: Option<PyErr>,
}

impl Watcher {
    /// Of something without rows.
    pub fn of(progress: Option<Py<PyAny>>, cause: &Cause) -> Self {
        let cause = cause.clone();
        Watcher {
            callback: None,
            progress,
            names: Vec::new(),
            has_ended: false,
            kept: None,
            cause,
            raised: None,
        }
    }

    fn row(&mut self, values: &[f64]) -> Flow {
        if let Some(kept) = &mut self.kept {
            kept.resize_with(values.len(), Vec::new);
            kept.iter_mut().zip(values).for_each(|(column, value)| column.push(*value));
        }
        let Some((callback, stop)) = &self.callback else { return Flow::Continue };
        if self.has_ended {
            return Flow::Stop;
        }
        let called = Python::attach(|py| {
            let row = PyDict::new(py);
            for (name, value) in self.names.iter().zip(values) {
                row.set_item(name, value)?;
            }
            let time = values.first().copied().unwrap_or(f64::NAN);
            Ok(callback.call1(py, (time, row))?.is(stop))
        });
        if let Ok(false) = called {
            return Flow::Continue;
        }
        self.has_ended = true;
        self.raised = self.raised.take().or(called.err());
        Flow::Stop
    }

    /// About 20 times a second.
    fn look(&mut self, [start, stop, time]: [f64; 3], steps: u64) -> Flow {
        let seen = Python::attach(|py| {
            self.cause.check_signals(py)?;
            self.progress.as_ref().map_or(Ok(()), |see| see.call1(py, (start, stop, time, steps)).map(drop))
        });
        match seen {
            Ok(()) => Flow::Continue,
            Err(raised) => {
                self.raised.get_or_insert(raised);
                Flow::Stop
            }
        }
    }

    fn set_names(&mut self, names: Vec<String>) {
        self.names =
            Python::attach(|py| names.iter().map(|name| PyString::intern(py, name).unbind()).collect());
    }
}

/// Watches what goes on in this process, about 20 times a second.
pub struct Waiting {
    watcher: Arc<Mutex<Watcher>>,
    span: [f64; 2],
    looked: Instant,
}

impl Waiting {
    pub fn new(watcher: Watcher) -> Self {
        Waiting { watcher: Arc::new(Mutex::new(watcher)), span: [0.0; 2], looked: Instant::now() }
    }

    pub fn look(&mut self, progress: [f64; 3], steps: u64) -> Flow {
        if self.looked.elapsed() < TICK {
            return Flow::Continue;
        }
        self.looked = Instant::now();
        lock(&self.watcher).look(progress, steps)
    }

    pub fn has_raised(&self) -> bool {
        lock(&self.watcher).raised.is_some()
    }

    /// What was raised on the way.
    pub fn raised(&self) -> Option<PyErr> {
        lock(&self.watcher).raised.take()
    }
}

impl Observer for Waiting {
    fn started(&mut self, start: &StartView<'_>) -> Flow {
        self.span = [start.t, start.stop];
        Flow::Continue
    }

    fn accepted(&mut self, step: &StepView<'_>, report: &StepReport<'_>) -> Flow {
        let [start, stop] = self.span;
        self.look([start, stop, step.span.end], report.number)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Watches what goes on in a worker.
pub struct There {
    watcher: RefCell<Watcher>,
    looked: Cell<Instant>,
}

impl Listener for &There {
    fn progress(&mut self, progress: &Progress) {
        // It is asked far more often, above all while a run that is to end puts its results together.
        if self.looked.get().elapsed() < TICK || self.watcher.borrow().raised.is_some() {
            return;
        }
        self.looked.set(Instant::now());
        let Progress { start, stop, time, steps, .. } = *progress;
        self.watcher.borrow_mut().look([start, stop, time], steps);
    }

    fn say(&mut self, _text: &str) {}

    fn signal(&self) -> Option<u8> {
        let mut watcher = self.watcher.borrow_mut();
        if watcher.raised.is_none() {
            watcher.raised = Python::attach(|py| py.check_signals()).err();
        }
        watcher.raised.is_some().then_some(SIGINT)
    }
}

/// Ctrl-C, as a run is told of it.
const SIGINT: u8 = 2;

impl RowListener for &There {
    fn columns(&mut self, names: Vec<String>) {
        self.watcher.borrow_mut().set_names(names);
    }

    fn row(&mut self, values: &[f64]) -> Flow {
        self.watcher.borrow_mut().row(values)
    }
}

/// Workers that wait for the next run, of the process with this number: a copy of it, made by `fork`, has none.
static IDLE: Mutex<(u32, Vec<Runner>)> = Mutex::new((0, Vec::new()));

fn take_runner() -> Runner {
    let mut idle = lock(&IDLE);
    if idle.0 != std::process::id() {
        // Those of another process must not even be ended.
        std::mem::forget(std::mem::take(&mut idle.1));
        idle.0 = std::process::id();
    }
    idle.1.pop().unwrap_or_else(|| Runner::new(Program::This))
}

/// Ends the workers that wait for the next run.
#[pyfunction]
pub fn end_workers(py: Python<'_>) {
    let idle = {
        let mut idle = lock(&IDLE);
        if idle.0 != std::process::id() { Vec::new() } else { std::mem::take(&mut idle.1) }
    };
    py.detach(|| drop(idle));
}

/// Limits of a worker: of the run and of a single call, in s of wall-clock time, and of its memory, in bytes.
pub type Bounds = (Option<f64>, Option<f64>, Option<u64>);

/// Runs a system to its end: summary, error, exceeded limits, recorded variables and energies. In a worker the columns of a table are
/// where they begin in the file whose descriptor comes last; it is the caller's. With `keep` the exception for a process that died has
/// the names and columns that were there as `rows`.
#[pyfunction]
pub fn run<'py>(
    py: Python<'py>,
    given: &Bound<'py, PyAny>,
    bounds: Bounds,
    callback: Option<(Py<PyAny>, Py<PyAny>)>,
    progress: Option<Py<PyAny>>,
    keep: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let given = Given::read(given)?;
    let watcher = Watcher { callback, kept: keep.then(Vec::new), ..Watcher::of(progress, &given.cause) };
    match given.runs_elsewhere() {
        true => there(py, &given, bounds, watcher),
        false => here(py, &given, watcher),
    }
}

fn here<'py>(py: Python<'py>, given: &Given, watcher: Watcher) -> PyResult<Bound<'py, PyAny>> {
    let has_callback = watcher.callback.is_some();
    let mut waiting = Waiting::new(watcher);
    let mut output = Output::default();
    if has_callback {
        let (names, rows) = (waiting.watcher.clone(), waiting.watcher.clone());
        output.columns = Some(Box::new(move |list| lock(&names).set_names(list)));
        output.rows = Some(Box::new(move |values| lock(&rows).row(values)));
    }
    let done = py.detach(|| {
        let system = given.system()?;
        keep_open(&system);
        verify::run(&system, output, &mut waiting)
    });
    if let Some(raised) = waiting.raised().or_else(|| given.cause.interruption(py)) {
        return Err(raised);
    }
    let done = done.map_err(|error| given.cause.raise(py, &error))?;
    Ok(results(py, done, &given.cause)?.into_pyobject(py)?.into_any())
}

/// Has something done by a worker, and keeps that for the next time; what was raised on the way.
pub fn run_elsewhere<T: Send>(
    py: Python<'_>,
    bounds: Bounds,
    watcher: Watcher,
    act: impl FnOnce(&mut Runner, Limits, &There) -> T + Send,
) -> (T, Watcher) {
    let seconds = |limit: Option<f64>| limit.and_then(|s| Duration::try_from_secs_f64(s).ok());
    let limits = Limits { run: seconds(bounds.0), call: seconds(bounds.1), memory: bounds.2 };
    py.detach(|| {
        let there = There { watcher: RefCell::new(watcher), looked: Cell::new(Instant::now()) };
        let mut runner = take_runner();
        let done = act(&mut runner, limits, &there);
        lock(&IDLE).1.push(runner);
        (done, there.watcher.into_inner())
    })
}

fn there<'py>(
    py: Python<'py>,
    given: &Given,
    bounds: Bounds,
    watcher: Watcher,
) -> PyResult<Bound<'py, PyAny>> {
    let needs_rows = watcher.callback.is_some() || watcher.kept.is_some();
    let (ended, watcher) = run_elsewhere(py, bounds, watcher, |runner, limits, there| {
        let (mut rows, mut listener) = (there, there);
        let rows: Option<&mut dyn RowListener> = if needs_rows { Some(&mut rows) } else { None };
        runner.run(&given.task, limits, rows, &mut listener)
    });
    let Watcher { raised, kept, names, .. } = watcher;
    if let Some(raised) = raised {
        return Err(raised);
    }
    let ended = match ended {
        Ok(ended) => ended,
        Err(error) => {
            let exception = raise(py, &error);
            if let Some(kept) = kept {
                let columns: Vec<_> = kept.into_iter().map(|column| column.into_pyarray(py)).collect();
                exception.value(py).setattr("rows", (names, columns))?;
            }
            return Err(exception);
        }
    };
    let Ended { summary, error, exceeded, tables } = ended;
    let error = error.map(|error| raise(py, &error));
    let head = |head: Head| (head.names, head.units, head.rows);
    let descriptor = tables.file.map(into_descriptor);
    let told = (summary, error, exceeded, head(tables.results), head(tables.energy), descriptor);
    Ok(told.into_pyobject(py)?.into_any())
}

#[cfg(unix)]
fn into_descriptor(file: std::fs::File) -> i32 {
    std::os::fd::IntoRawFd::into_raw_fd(file)
}

/// Elsewhere there are no workers.
#[cfg(not(unix))]
fn into_descriptor(_file: std::fs::File) -> i32 {
    -1
}

/// Writes the report of the run in a folder.
#[pyfunction]
pub fn report(py: Python<'_>, folder: PathBuf, file: PathBuf, overwrite: bool) -> PyResult<()> {
    let written = py.detach(|| powerbond::report::write(&[folder], &file, overwrite));
    written.map(drop).map_err(|error| raise(py, &error))
}
