//! A single FMU is a system, too: with its default experiment.

use super::{FmuOptions, MadeOf, SignalSpec, Simulation, SimulatorSpec, SubsystemSpec, System};
use crate::Error;
use crate::error::Place;
use crate::source::At;
use powerbond_core::network::{NameIndex, VariableName};
use powerbond_core::suggest::hint;
use powerbond_fmi::{Fmu, FmuError};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

/// By content: a zip file, or a folder with a model description.
pub fn is_fmu(path: &Path) -> bool {
    if path.is_dir() {
        return path.join("modelDescription.xml").is_file();
    }
    is_zip(path) || path.extension().is_some_and(|e| e == "fmu")
}

/// Whether a file is a zip archive, by content. Devices and pipes are none: to open one may wait for ever.
pub fn is_zip(path: &Path) -> bool {
    let mut magic = [0; 4];
    path.is_file()
        && std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut magic)).is_ok()
        && magic == *b"PK\x03\x04"
}

/// Opens an FMU that a file in `folder` names.
pub fn open_fmu(folder: &Path, path: &At<PathBuf>) -> Result<Fmu, Error> {
    let file = folder.join(&path.value);
    Fmu::open(&file).map_err(|e| match script(&file) {
        Some(script) => {
            let problem = format!("{}. `sh {}` builds the FMUs of this folder", e.problem, script.display());
            fmu_problem(path, &file, &problem)
        }
        None => fmu_error(path, &e),
    })
}

/// What makes an FMU that is missing: examples have sources and a script beside them.
fn script(fmu: &Path) -> Option<PathBuf> {
    let script = fmu.with_file_name("build.sh");
    (!fmu.exists() && script.is_file()).then_some(script)
}

/// What is wrong with an FMU that a file names at `path`, or that the user named alone: then its name is the place.
pub fn fmu_error(path: &At<PathBuf>, error: &FmuError) -> Error {
    fmu_problem(path, &error.file, &error.problem.to_string())
}

/// As [`fmu_error`], of an FMU that was opened as `file`.
pub fn fmu_problem(path: &At<PathBuf>, file: &Path, problem: &str) -> Error {
    match path.place() {
        place @ Some(Place::Option(_)) => Error::input(place, problem),
        place => Error::input(place, format!("{}: {problem}", file.display())),
    }
}

/// The FMU alone, with its default experiment.
pub fn system(path: &Path) -> Result<System, Error> {
    let fmu = Fmu::open(path).map_err(|e| Error::input(None, e.to_string()))?;
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().replace('.', "_");
    let name = if stem.is_empty() { "fmu".to_owned() } else { stem };
    let experiment = &fmu.description().default_experiment;
    let own_step = fmu.description().co_simulation.as_ref().and_then(|c| c.fixed_internal_step_size);
    // The FMU's path is as the user typed it: relative to the current folder.
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let simulator =
        SimulatorSpec::Fmu(At::option(absolute, path.display().to_string()), FmuOptions::default());
    Ok(System {
        name: name.clone(),
        simulation: Simulation {
            start: At::default(experiment.start.unwrap_or(0.0)),
            stop: experiment.stop.map(At::default),
            step: experiment.step_size.or(own_step).map(At::default),
            ..Simulation::default()
        },
        subsystems: vec![SubsystemSpec::new(At::default(name), simulator)],
        ..System::empty(MadeOf::Fmu(fmu.contents()))
    })
}

impl System {
    /// The input that a column is for.
    fn input_named(&self, specs: &NameIndex<&str>, column: &str) -> Option<VariableName> {
        let is_known = |v: &VariableName| specs.place(v.subsystem.as_str()).is_some();
        VariableName::parse(column).filter(is_known).or_else(|| match &self.subsystems[..] {
            [only] => Some(VariableName::new(&only.name.value, column)),
            _ => None,
        })
    }

    /// The inputs that the connector of a system of SSP feeds, or why none can be fed from there; none if the name is not of one.
    fn inputs_behind(&self, name: &str) -> Option<Result<Vec<VariableName>, String>> {
        self.kept.doors.as_ref()?.inputs(name)
    }

    /// Lets an input follow samples, whatever the file says of it. What is continuous is interpolated, everything else is held.
    pub(crate) fn feed(&mut self, input: &str, times: &[f64], values: &[f64]) -> Result<(), Error> {
        let option = format!("--input {input}");
        if let Some(found) = self.inputs_behind(input) {
            let names = found.map_err(|why| Error::input(Some(Place::Option(option.clone())), why))?;
            self.inputs.retain(|(other, _)| !names.contains(&other.value));
            let signal = |name| (At::option(name, option.clone()), SignalSpec::lines(times, values));
            self.inputs.extend(names.into_iter().map(signal));
            return Ok(());
        }
        let specs = self.specs();
        let Some(name) = self.input_named(&specs, input) else {
            let subsystem = VariableName::parse(input).map(|v| v.subsystem);
            let message = match subsystem {
                Some(unknown) => {
                    let known = self.subsystems.iter().map(|spec| spec.name.value.as_str());
                    format!("unknown subsystem `{unknown}`.{}", hint(&unknown, known))
                }
                None => "missing subsystem; write `subsystem.input`".to_owned(),
            };
            return Err(Error::input(Some(Place::Option(option)), message));
        };
        self.inputs.retain(|(other, _)| other.value != name);
        self.inputs.push((At::option(name, option), SignalSpec::lines(times, values)));
        Ok(())
    }

    /// Lets inputs follow the columns of a CSV file: `time`, then `subsystem.input`, or just `input` where there is one
    /// subsystem. What is continuous is interpolated, everything else is held; tunable parameters change where a row differs.
    pub fn feed_from(&mut self, file: &Path) -> Result<(), Error> {
        let option = format!("--input {}", file.display());
        let header = crate::table::csv::read_header(file)?;
        let absolute = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
        let specs = self.specs();
        let (mut signals, mut last) = (Vec::new(), BTreeMap::new());
        for column in header.iter().skip(1) {
            let fail = |why: String| {
                Error::input(Some(Place::Option(option.clone())), format!("column `{column}`: {why}"))
            };
            let names = match (self.inputs_behind(column), self.input_named(&specs, column)) {
                (Some(found), _) => found.map_err(fail)?,
                (None, Some(name)) => vec![name],
                (None, None) => return Err(fail("missing subsystem; write `subsystem.input`".to_owned())),
            };
            for name in names {
                let signal = SignalSpec::Table {
                    file: At::option(absolute.clone(), option.clone()),
                    column: Some(At::option(column.clone(), option.clone())),
                    // Where the input is continuous.
                    linear: true,
                };
                last.insert(name.clone(), signals.len());
                signals.push((At::option(name, option.clone()), signal));
            }
        }
        // A later column replaces an earlier one, and all of them what the file says.
        self.inputs.retain(|(other, _)| !last.contains_key(&other.value));
        let columns = signals.into_iter().enumerate();
        self.inputs
            .extend(columns.filter(|(n, (name, _))| last[&name.value] == *n).map(|(_, signal)| signal));
        Ok(())
    }
}
