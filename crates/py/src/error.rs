//! Errors as exceptions, in the words of Python.

use powerbond::{Error, Place};
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::PyType;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pyo3::create_exception!(
    powerbond,
    PowerbondError,
    PyException,
    "A run that failed, or an input that is refused."
);

/// The class of exceptions; what is not known of one is None, also if a program makes it.
pub fn exception(py: Python<'_>) -> PyResult<Bound<'_, PyType>> {
    let class = py.get_type::<PowerbondError>();
    for name in ["subsystem", "time", "call", "file", "line", "hint"] {
        class.setattr(name, py.None())?;
    }
    class.setattr("exit_code", 1)?;
    Ok(class)
}

/// Options of the command and what they are called here. A longer one stands before one that it begins with.
const WORDS: [(&str, &str); 28] = [
    ("--begin-time ", "start="),
    ("--end-time ", "stop="),
    ("--duration ", "duration="),
    ("--step-size ", "step="),
    ("--tolerance ", "tolerance="),
    ("--output-interval ", "output_interval="),
    ("--max-energy-residual ", "max_energy_residual="),
    ("--max-error ", "max_error="),
    ("--error ", "error="),
    ("--set ", "set "),
    ("--input ", "inputs "),
    ("--record ", "record "),
    ("--params ", "params "),
    ("--scenario ", "scenario "),
    ("--method ", "method "),
    ("--in-process", "isolate=False"),
    ("--call-timeout", "call_timeout"),
    ("--memory-limit", "memory_limit"),
    ("--worker-threads", "worker_threads"),
    ("--allow-nonfinite", "allow_nonfinite=True"),
    ("--timeout", "timeout"),
    ("--resume", "resume=True"),
    ("--overwrite", "overwrite=True"),
    ("--output-dir", "output_dir"),
    ("--verify", "verify=True"),
    ("--tolerance", "tolerance"),
    ("--output-interval", "output_interval"),
    ("`-v`", "`powerbond run -v`"),
];

/// A message with the names that options have in Python.
#[pyfunction]
pub fn in_python(text: &str) -> String {
    let mut text = text.to_owned();
    for (command, python) in WORDS.iter().chain(&[
        ("--end-time", "stop"),
        ("--begin-time", "start"),
        ("--step-size", "step"),
        ("--set", "set"),
    ]) {
        if text.contains(command) {
            text = text.replace(command, python);
        }
    }
    text
}

/// The sentence that says what was meant.
fn suggestion(message: &str) -> Option<String> {
    let begin = message.find("Did you mean")?;
    let end = message[begin..].find('?')?;
    Some(message[begin..=begin + end].to_owned())
}

/// What a subsystem in Python did wrong in a run, until the error that the run ended with is raised. Runs in several threads have one
/// each.
#[derive(Clone, Default)]
pub struct Cause(Arc<Mutex<Option<PyErr>>>);

fn is_interruption(py: Python<'_>, exception: &PyErr) -> bool {
    !exception.is_instance_of::<PyException>(py)
}

impl Cause {
    fn lock(&self) -> MutexGuard<'_, Option<PyErr>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps an exception, unless there was one before; an interruption comes before all others.
    pub fn keep(&self, py: Python<'_>, exception: PyErr) {
        let interrupts = is_interruption(py, &exception);
        let mut kept = self.lock();
        let dropped = match &*kept {
            Some(_) if !interrupts => Some(exception),
            _ => kept.replace(exception),
        };
        // What is dropped may run Python, which may wait for another thread that waits here.
        drop(kept);
        drop(dropped);
    }

    /// Nothing has gone wrong yet.
    pub fn forget(&self) {
        self.lock().take();
    }

    /// What ended a run in a subsystem in Python and is no failure of it: Ctrl-C, or the end of the program.
    pub fn interruption(&self, py: Python<'_>) -> Option<PyErr> {
        self.lock().take_if(|cause| is_interruption(py, cause))
    }

    /// Raises Ctrl-C, also one in a subsystem whose error ended no run: in a probe, or in a twin that the run can do without.
    pub fn check_signals(&self, py: Python<'_>) -> PyResult<()> {
        py.check_signals()?;
        self.interruption(py).map_or(Ok(()), Err)
    }

    /// The exception for an error of the run, with what went wrong in Python as its cause.
    pub fn raise(&self, py: Python<'_>, error: &Error) -> PyErr {
        if let Some(interruption) = self.interruption(py) {
            return interruption;
        }
        let exception = raise(py, error);
        let cause = self.lock().take();
        if cause.is_some() {
            exception.set_cause(py, cause);
        }
        exception
    }
}

/// The exception for an error, with what is known about it as attributes.
pub fn raise(py: Python<'_>, error: &Error) -> PyErr {
    let message = in_python(&error.to_string());
    let failure = error.failure();
    let hint = failure.and_then(|f| f.cure.as_deref().map(in_python)).or_else(|| suggestion(&message));
    let exception = PowerbondError::new_err(message);
    let (file, line) = match error.place() {
        Some(Place::File { path, line, .. }) => (Some(path.display().to_string()), Some(*line)),
        Some(Place::Option(_)) | None => (None, None),
    };
    let value = exception.value(py);
    let set = || -> PyResult<()> {
        value.setattr("subsystem", failure.and_then(|f| f.subsystem.as_deref()))?;
        value.setattr("time", failure.and_then(|f| f.time))?;
        value.setattr("call", failure.and_then(|f| f.call.as_deref()))?;
        value.setattr("hint", hint)?;
        value.setattr("exit_code", error.exit_code())?;
        value.setattr("file", file)?;
        value.setattr("line", line)
    };
    if let Err(other) = set() {
        return other;
    }
    exception
}

/// The exception for a limit of accuracy that was exceeded.
#[pyfunction]
pub fn exceeded(py: Python<'_>, message: &str) -> Py<PyAny> {
    raise(py, &Error::accuracy(message)).into_value(py).into_any()
}
