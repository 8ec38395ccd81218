//! A run as plain data: what is run and how. It can be sent to another process, and done there or here with the same result.

use crate::Error;
use crate::options::RunOptions;
use crate::session::{Done, Output};
use crate::system::{SimulatorSpec, System};
use crate::verify;
use powerbond_core::observe::Observer;
use powerbond_fmi::Fmu;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// What is run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Described {
    /// By a system file, a folder with `system.toml`, or an FMU.
    Path(PathBuf),
    /// By the text of a system file.
    Text {
        /// Stands for the file in messages; what the text names is relative to its folder.
        file: PathBuf,
        /// The text.
        text: String,
    },
}

/// A run that is asked for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Task {
    /// What is run.
    pub system: Described,
    /// What is put over it.
    pub options: RunOptions,
}

impl Task {
    /// The system with all options over it.
    pub fn system(&self) -> Result<System, Error> {
        let system = match &self.system {
            Described::Path(path) => System::load(path)?,
            Described::Text { file, text } => System::parse(&file.to_string_lossy(), text)?,
        };
        self.options.apply(&system)
    }

    /// Does it, verified if that is asked for. FMUs of it stay open for the next ones.
    pub fn run(&self, output: Output, observer: &mut dyn Observer) -> Result<Done, Error> {
        let system = self.system()?;
        keep_open(&system);
        verify::run(&system, output, observer)
    }
}

/// FMUs that stay open at most.
const MOST: usize = 32;

/// The last ones are at the end.
static KEPT: Mutex<Vec<Fmu>> = Mutex::new(Vec::new());

/// Keeps the FMUs of a system open, so that the next run of it does not unpack and load them again. What cannot be opened is told by
/// the run; what can be instantiated once per process is left to it, too.
pub fn keep_open(system: &System) {
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    for spec in &system.subsystems {
        let SimulatorSpec::Fmu(path, _) = &spec.simulator else { continue };
        let Ok(fmu) = Fmu::open(system.folder().join(&path.value)) else { continue };
        if fmu.is_once_per_process() {
            continue;
        }
        kept.retain(|other| !other.is_same_as(&fmu));
        kept.push(fmu);
    }
    let surplus = kept.len().saturating_sub(MOST);
    kept.drain(..surplus);
}

impl System {
    /// Whether another run in the same process may differ from one in a new process: an FMU of it can be instantiated once per process,
    /// or is based on Python, of which a process has one.
    pub fn leaves_traces(&self) -> bool {
        self.subsystems.iter().any(|spec| match &spec.simulator {
            SimulatorSpec::Fmu(path, _) => Fmu::open(self.folder().join(&path.value))
                .is_ok_and(|fmu| fmu.is_once_per_process() || fmu.is_python_based()),
            SimulatorSpec::Model(_) | SimulatorSpec::Own(_) => false,
        })
    }
}
