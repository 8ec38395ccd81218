//! What Python hands over: a system, options, and members that are written in Python.

use crate::error::Cause;
use crate::member::Python as InPython;
use numpy::PyReadonlyArray1;
use powerbond::system::{ProcessSpec, SharedFactory, SimulatorSpec};
use powerbond::{Described, Error, RunOptions, Samples, System, Task, Verify};
use pyo3::prelude::*;
use std::path::PathBuf;

/// The keys of the dictionary that the package makes; all of them are there.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Keys<'py> {
    path: Option<PathBuf>,
    file: Option<PathBuf>,
    text: Option<String>,
    members: Vec<(String, Py<PyAny>)>,
    start: Option<f64>,
    stop: Option<f64>,
    tolerance: Option<f64>,
    step: Option<f64>,
    output_interval: Option<f64>,
    set: Vec<String>,
    params: Vec<PathBuf>,
    scenario: Option<PathBuf>,
    method: Option<PathBuf>,
    record: Option<Vec<String>>,
    samples: Vec<(String, PyReadonlyArray1<'py, f64>, PyReadonlyArray1<'py, f64>)>,
    input: Option<PathBuf>,
    worker_threads: usize,
    allow_nonfinite: bool,
    verify: Option<bool>,
    error: Option<f64>,
    max_error: Option<f64>,
    max_energy_residual: Option<f64>,
    real_time: Option<f64>,
    isolate: bool,
}

/// A task, and the subsystems of it that are written in Python.
pub struct Given {
    pub task: Task,
    /// What goes wrong in these subsystems.
    pub cause: Cause,
    members: Members,
    /// What crashes must not take this process along.
    isolate: bool,
}

impl Given {
    pub fn read(given: &Bound<'_, PyAny>) -> PyResult<Self> {
        let keys: Keys<'_> = given.extract()?;
        let cause = Cause::default();
        let members = members_of(keys.members, &cause);
        let samples = keys.samples.iter().map(|(input, times, values)| {
            let column = |array: &PyReadonlyArray1<'_, f64>| array.as_array().to_vec();
            Samples { input: input.clone(), times: column(times), values: column(values) }
        });
        let options = RunOptions {
            begin_time: keys.start,
            end_time: keys.stop,
            tolerance: keys.tolerance,
            step_size: keys.step,
            output_interval: keys.output_interval,
            set: keys.set,
            params: keys.params,
            scenario: keys.scenario,
            method: keys.method,
            record: keys.record,
            samples: samples.collect(),
            input: keys.input,
            worker_threads: keys.worker_threads,
            allow_nonfinite: keys.allow_nonfinite,
            // `False` in Python is quarters: see `_options.py`.
            verify: keys.verify.map(|halves| if halves { Verify::Halves } else { Verify::Quarters }),
            error: keys.error,
            max_error: keys.max_error,
            max_energy_residual: keys.max_energy_residual,
            real_time: keys.real_time,
            ..RunOptions::default()
        };
        let system = match (keys.path, keys.text) {
            (Some(path), _) => Described::Path(path),
            (None, text) => {
                Described::Text { file: keys.file.unwrap_or_default(), text: text.unwrap_or_default() }
            }
        };
        Ok(Given { task: Task { system, options }, cause, members, isolate: keys.isolate })
    }

    /// Whether another process is to run it, and can: members are in this one.
    pub fn runs_elsewhere(&self) -> bool {
        self.isolate && self.members.is_empty()
    }

    /// The system with all options over it, and with its members, to be run in this process. FMUs that are to be isolated have
    /// processes of their own.
    pub fn system(&self) -> Result<System, Error> {
        let mut system = system_of(&self.task, &self.members)?;
        if self.isolate {
            for subsystem in &mut system.subsystems {
                if let (SimulatorSpec::Fmu(path, _), ProcessSpec::Automatic) =
                    (&subsystem.simulator, &subsystem.process)
                {
                    subsystem.process = ProcessSpec::Own(path.with(()));
                }
            }
        }
        Ok(system)
    }
}

/// Subsystems that are written in Python, by the names of their models.
pub type Members = Vec<(String, InPython)>;

/// Members of what makes them; their exceptions are kept in `cause`.
pub fn members_of(makers: Vec<(String, Py<PyAny>)>, cause: &Cause) -> Members {
    makers.into_iter().map(|(name, make)| (name, InPython::new(make, cause))).collect()
}

/// The system of a task, with its members.
pub fn system_of(task: &Task, members: &[(String, InPython)]) -> Result<System, Error> {
    let mut system = task.system()?;
    for (name, member) in members {
        system.models.register(name, SharedFactory::new(member.clone()))?;
    }
    Ok(system)
}
