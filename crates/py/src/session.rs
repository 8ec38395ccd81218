//! A run that is stepped, in this process.

use crate::error::Cause;
use crate::options::Given;
use crate::run::{Columns, columns_of};
use powerbond::{Done, Error, Saved, Session, State};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long Ctrl-C may have to wait.
const BETWEEN_SIGNALS: Duration = Duration::from_millis(50);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A state of a run to go back to.
#[pyclass(frozen, name = "Saved", module = "powerbond._powerbond")]
pub struct PySaved(Mutex<Saved>);

#[pymethods]
impl PySaved {
    #[getter]
    fn time(&self) -> f64 {
        lock(&self.0).time()
    }

    fn __repr__(&self) -> String {
        format!("<Saved at {} s>", lock(&self.0).time())
    }
}

/// A run that is stepped; its subsystems are initialized.
#[pyclass(frozen, name = "Session", module = "powerbond._powerbond")]
pub struct PySession {
    session: Mutex<Option<Session>>,
    /// The thread that has the session: a mark of [`HERE`], or 0.
    user: AtomicUsize,
    cause: Cause,
}

thread_local! {
    /// Its address is one of this thread only.
    static HERE: u8 = const { 0 };
}

impl PySession {
    /// Does something with the run while other threads of Python go on.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        act: impl FnOnce(&mut Session) -> Result<T, Error> + Send,
    ) -> PyResult<T> {
        let done: PyResult<_> = py.detach(|| Ok(self.claim()?.as_mut().map(act)));
        let done = done?.ok_or_else(ended)?.map_err(|error| self.cause.raise(py, &error))?;
        self.cause.interruption(py).map_or(Ok(done), Err)
    }

    /// The session, once no other thread has it. Who waits for himself, in a subsystem in Python, would wait for ever.
    fn claim(&self) -> PyResult<Claim<'_>> {
        let here = HERE.with(|mark| std::ptr::from_ref(mark).addr());
        if self.user.load(Ordering::Relaxed) == here {
            return Err(PyRuntimeError::new_err(
                "the run is in the middle of this: a subsystem gets what it needs as inputs, and cannot use the run that it is in",
            ));
        }
        let session = lock(&self.session);
        self.user.store(here, Ordering::Relaxed);
        Ok(Claim { session, user: &self.user })
    }
}

/// The session, while a thread has it.
struct Claim<'a> {
    session: MutexGuard<'a, Option<Session>>,
    user: &'a AtomicUsize,
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        self.user.store(0, Ordering::Relaxed);
    }
}

impl Deref for Claim<'_> {
    type Target = Option<Session>;

    fn deref(&self) -> &Option<Session> {
        &self.session
    }
}

impl DerefMut for Claim<'_> {
    fn deref_mut(&mut self) -> &mut Option<Session> {
        &mut self.session
    }
}

fn ended() -> PyErr {
    PyRuntimeError::new_err("the run was finished; open the system again for another one")
}

#[pymethods]
impl PySession {
    #[new]
    fn new(py: Python<'_>, given: &Bound<'_, PyAny>) -> PyResult<Self> {
        let given = Given::read(given)?;
        let session = py.detach(|| {
            let system = given.system()?;
            powerbond::keep_open(&system);
            system.start()
        });
        let session = session.map_err(|error| given.cause.raise(py, &error))?;
        given.cause.check_signals(py)?;
        Ok(PySession { session: Mutex::new(Some(session)), user: AtomicUsize::new(0), cause: given.cause })
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
                // Once more, for the error of a run that failed before.
                return self.with(py, |s| s.run_until(time)).map(|state| state == State::Running);
            }
            let pause = Instant::now() + BETWEEN_SIGNALS;
            self.with(py, |s| s.run_while(|now| now < time && Instant::now() < pause))?;
            py.check_signals()?;
        }
    }

    /// To `time`, where a step ends; whether the run can go on. Ctrl-C pauses it.
    fn land_on(&self, py: Python<'_>, time: f64) -> PyResult<bool> {
        let time = self.with(py, |s| s.land_at(time))?;
        self.run_until(py, time)
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
        self.with(py, |s| s.restore(&lock(&saved.0)))
    }

    /// Ends the run and hands its results over: the summary, the error if there is one, and tables; nothing if that was done before.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Option<Results<'py>>> {
        let done = py.detach(|| PyResult::Ok(self.claim()?.take().map(Session::finish)))?;
        let Some(done) = done else { return Ok(None) };
        let done = done.map_err(|error| self.cause.raise(py, &error))?;
        results(py, done, &self.cause).map(Some)
    }
}

/// Of a run in this process: summary, error, limits that were exceeded, recorded variables, energies.
pub type Results<'py> = (String, Option<PyErr>, Vec<String>, Columns<'py>, Columns<'py>);

/// What a run came to, for the package.
pub fn results<'py>(py: Python<'py>, done: Done, cause: &Cause) -> PyResult<Results<'py>> {
    let Done { table, energy, summary, error, .. } = done;
    let text = serde_json::to_string(&summary).map_err(|e| PyRuntimeError::new_err(e.to_string()))?;
    let error = error.map(|error| cause.raise(py, &error));
    Ok((text, error, summary.exceeded, columns_of(py, table), columns_of(py, energy)))
}
