//! What the Python package is built on: a session that is stepped, and its results as arrays.

#![forbid(unsafe_code)]

use numpy::{IntoPyArray, PyArray1};
use powerbond::{Done, Error, Place, RunOptions, Saved, Session, State, System};
use pyo3::exceptions::{PyException, PyRuntimeError};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long Ctrl-C may have to wait.
const BETWEEN_SIGNALS: Duration = Duration::from_millis(50);

pyo3::create_exception!(
    powerbond,
    PowerbondError,
    PyException,
    "A run that failed, or an input that is refused."
);

/// The exception for an error, with what is known about it as attributes.
fn raise(py: Python<'_>, error: &Error) -> PyErr {
    let exception = PowerbondError::new_err(error.to_string());
    let failure = error.failure();
    let (file, line) = match error.place() {
        Some(Place::File { path, line, .. }) => (Some(path.display().to_string()), Some(*line)),
        Some(Place::Option(_)) | None => (None, None),
    };
    let value = exception.value(py);
    let set = || -> PyResult<()> {
        value.setattr("subsystem", failure.and_then(|f| f.subsystem.as_deref()))?;
        value.setattr("time", failure.and_then(|f| f.time))?;
        value.setattr("call", failure.and_then(|f| f.call.as_deref()))?;
        value.setattr("hint", failure.and_then(|f| f.cure.as_deref()))?;
        value.setattr("file", file)?;
        value.setattr("line", line)
    };
    set().err().unwrap_or(exception)
}

/// What a run recorded: names, units, columns, and the summary as JSON.
type Results<'py> = (Vec<String>, Vec<String>, Vec<Bound<'py, PyArray1<f64>>>, String);

/// A state of a run to go back to.
#[pyclass(frozen, name = "Saved", module = "powerbond._powerbond")]
struct PySaved(Mutex<Saved>);

#[pymethods]
impl PySaved {
    #[getter]
    fn time(&self) -> f64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).time()
    }
}

/// A run that is stepped, in this process.
#[pyclass(frozen, name = "Session", module = "powerbond._powerbond")]
struct PySession(Mutex<Option<Session>>);

impl PySession {
    /// Does something with the run while other threads of Python go on.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        act: impl FnOnce(&mut Session) -> Result<T, Error> + Send,
    ) -> PyResult<T> {
        let done = py.detach(|| {
            let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            held.as_mut().map(act)
        });
        done.ok_or_else(ended)?.map_err(|error| raise(py, &error))
    }
}

fn ended() -> PyErr {
    PyRuntimeError::new_err("the run was finished; open the system again for another one")
}

#[pymethods]
impl PySession {
    #[new]
    #[pyo3(signature = (path, *, stop=None, tolerance=None, step=None, output_interval=None, set=Vec::new()))]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        stop: Option<f64>,
        tolerance: Option<f64>,
        step: Option<f64>,
        output_interval: Option<f64>,
        set: Vec<String>,
    ) -> PyResult<Self> {
        let options = RunOptions {
            end_time: stop,
            tolerance,
            step_size: step,
            output_interval,
            set,
            ..RunOptions::default()
        };
        let session =
            py.detach(|| System::load(path).and_then(|s| options.apply(&s)).and_then(|s| s.start()));
        session.map(|s| PySession(Mutex::new(Some(s)))).map_err(|error| raise(py, &error))
    }

    /// Initializes all subsystems; whether the run can go on.
    fn start(&self, py: Python<'_>) -> PyResult<bool> {
        self.with(py, |s| s.start()).map(|state| state == State::Running)
    }

    fn time(&self, py: Python<'_>) -> PyResult<f64> {
        self.with(py, |s| Ok(s.time()))
    }

    fn value(&self, py: Python<'_>, name: &str) -> PyResult<f64> {
        self.with(py, |s| s.value(name))
    }

    fn set(&self, py: Python<'_>, name: &str, value: f64) -> PyResult<()> {
        self.with(py, |s| s.set(name, value))
    }

    /// One step; whether the run can go on.
    fn step(&self, py: Python<'_>) -> PyResult<bool> {
        self.with(py, |s| s.step()).map(|state| state == State::Running)
    }

    /// To the first communication point at or after `time`; whether the run can go on. Ctrl-C pauses it.
    fn run_until(&self, py: Python<'_>, time: f64) -> PyResult<bool> {
        loop {
            let (now, state) = self.with(py, |s| Ok((s.time(), s.state())))?;
            if now >= time || state != State::Running {
                return Ok(state == State::Running);
            }
            let pause = Instant::now() + BETWEEN_SIGNALS;
            self.with(py, |s| s.run_while(|now| now < time && Instant::now() < pause))?;
            py.check_signals()?;
        }
    }

    /// When the run begins and ends, in s.
    fn span(&self, py: Python<'_>) -> PyResult<(f64, f64)> {
        self.with(py, |s| Ok(s.span()))
    }

    /// What should be known before the run.
    fn warnings(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.with(py, |s| Ok(s.warnings()))
    }

    fn save(&self, py: Python<'_>) -> PyResult<PySaved> {
        self.with(py, |s| s.save()).map(|saved| PySaved(Mutex::new(saved)))
    }

    fn restore(&self, py: Python<'_>, saved: &PySaved) -> PyResult<()> {
        self.with(py, |s| s.restore(&saved.0.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    /// Ends the run and hands its results over; nothing if that was done before.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Option<Results<'py>>> {
        let done = py.detach(|| {
            let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            held.take().map(Session::finish)
        });
        let Some(done) = done else { return Ok(None) };
        let Done { table, summary, .. } = done.map_err(|error| raise(py, &error))?;
        let summary = serde_json::to_string(&summary).map_err(|e| PyRuntimeError::new_err(e.to_string()))?;
        let columns = table.columns.into_iter().map(|column| column.into_pyarray(py)).collect();
        Ok(Some((table.header, table.units, columns, summary)))
    }
}

#[pymodule]
fn _powerbond(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("PowerbondError", module.py().get_type::<PowerbondError>())?;
    module.add_class::<PySession>()?;
    module.add_class::<PySaved>()
}
