//! What is asked about systems, FMUs and results beside runs: answers are JSON documents.

use crate::error::raise;
use crate::options::Given;
use crate::run::{Bounds, Waiting, Watcher, run_elsewhere};
use powerbond::results::{Tolerance, compare};
use powerbond::{Error, Question, tune};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use std::path::PathBuf;

/// The system as it is before it runs.
#[pyfunction]
pub fn check(py: Python<'_>, given: &Bound<'_, PyAny>, bounds: Bounds, probe: bool) -> PyResult<String> {
    ask(py, given, bounds, &Question::Check { probe }, None)
}

/// All methods on a system.
#[pyfunction]
pub fn tuned(
    py: Python<'_>,
    given: &Bound<'_, PyAny>,
    bounds: Bounds,
    error: f64,
    budget: f64,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    ask(py, given, bounds, &Question::Tune { error, budget }, progress)
}

fn ask(
    py: Python<'_>,
    given: &Bound<'_, PyAny>,
    bounds: Bounds,
    question: &Question,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let given = Given::read(given)?;
    let watcher = Watcher::of(progress, &given.cause);
    let (answer, raised) = if given.runs_elsewhere() {
        let (answer, watcher) = run_elsewhere(py, bounds, watcher, |runner, limits, there| {
            let mut listener = there;
            runner.ask(&given.task, question, limits, &mut listener)
        });
        (answer, watcher.raised)
    } else {
        py.detach(|| {
            let mut here = Waiting::new(watcher);
            let answer = given.system().and_then(|system| question.answer(&system, &mut here));
            (answer, here.raised())
        })
    };
    match (raised.or_else(|| given.cause.interruption(py)), answer) {
        (Some(raised), _) => Err(raised),
        (None, Ok(Some(answer))) => Ok(answer),
        (None, Ok(None)) => Err(PyKeyboardInterrupt::new_err(())),
        (None, Err(error)) => Err(given.cause.raise(py, &error)),
    }
}

/// How far `done` of all the time is, about 20 times a second.
impl tune::Listener for Waiting {
    fn at(&mut self, done: f64, _what: &str) {
        self.look([0.0, 1.0, done], 0);
    }

    fn interrupted(&self) -> bool {
        self.has_raised()
    }
}

/// What an FMU says about itself.
#[pyfunction]
pub fn inspected(py: Python<'_>, fmu: PathBuf) -> PyResult<String> {
    py.detach(|| powerbond_cli::inspected(&fmu)).map_err(|error| raise(py, &error))
}

/// Results against results: run folders or tables.
#[pyfunction]
pub fn compared(
    py: Python<'_>,
    first: PathBuf,
    reference: PathBuf,
    tolerance: Option<(f64, f64)>,
) -> PyResult<String> {
    let tolerance = tolerance.map(|(relative, absolute)| Tolerance { relative, absolute });
    let compare = || {
        let comparison = compare(&first, &reference, tolerance)?;
        serde_json::to_string(&comparison).map_err(|e| Error::output("the answer".as_ref(), &e.into()))
    };
    py.detach(compare).map_err(|error| raise(py, &error))
}

/// ` Did you mean …?`, or nothing.
#[pyfunction]
pub fn hint(name: &str, known: Vec<String>) -> String {
    powerbond::core::suggest::hint(name, known.iter().map(String::as_str))
}

/// Those of `names` that fit a pattern with `*` and `?`.
#[pyfunction]
pub fn matching(pattern: &str, names: Vec<String>) -> Vec<String> {
    names.into_iter().filter(|name| powerbond::fits(pattern, name)).collect()
}
