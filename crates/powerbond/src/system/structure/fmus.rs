//! The FMUs of a structure file, each opened once, and kept so that nothing of them is read twice.

use crate::Error;
use crate::source::At;
use powerbond_fmi::{Contents, Fmu};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// FMUs by their file.
#[derive(Default)]
pub struct Fmus {
    open: BTreeMap<PathBuf, Result<Fmu, String>>,
}

impl Fmus {
    /// The FMU at `path`, which stands at a place of the structure file; an FMU that cannot be used is told at each of its places.
    pub fn open(&mut self, path: &At<PathBuf>) -> Result<Fmu, Error> {
        let open = |path: &Path| Fmu::open(path).map_err(|e| e.problem.to_string());
        let found = self.open.entry(path.value.clone()).or_insert_with(|| open(&path.value));
        found.clone().map_err(|problem| {
            let file = path.value.file_name().unwrap_or_default().to_string_lossy();
            Error::input(path.place(), format!("{file}: {problem}"))
        })
    }

    /// Refuses an FMU that cannot be run, by the name that the structure file gives to it (`component `a``).
    pub fn need_co_simulation(fmu: &Fmu, what: &str, place: &At<PathBuf>) -> Result<(), Error> {
        if fmu.description().co_simulation.is_some() {
            return Ok(());
        }
        let message = format!(
            "the FMU of the {what} has no interface for co-simulation; Model Exchange and Scheduled Execution are not supported \
             yet. Export it again for co-simulation"
        );
        Err(Error::input(place.place(), message))
    }

    /// What was read of them.
    pub fn contents(self) -> Vec<Contents> {
        self.open.into_values().flatten().map(|fmu| fmu.contents()).collect()
    }
}
