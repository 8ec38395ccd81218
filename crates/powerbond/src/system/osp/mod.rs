//! Systems of the Open Simulation Platform: `OspSystemStructure.xml` and the files beside it.

mod bonds;
mod groups;
mod log_config;
mod signals;
mod structure;

use super::structure::{Fmus, Folder, Steps, path_name};
use super::{FmuOptions, MadeOf, ProcessSpec, Record, Simulation, SimulatorSpec, SubsystemSpec, System};
use crate::Error;
use crate::catalogue::controllers::Ecco;
use crate::catalogue::{Method, estimators};
use crate::error::Collector;
use crate::source::At;
use crate::source::xml::Text;
use powerbond_core::network::VariableName;
use powerbond_core::suggest::hint;
use signals::Known;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use structure::Structure;

pub use log_config::FILE as LOG_CONFIG;
pub use structure::ROOT;

/// The file in a folder that describes the system.
pub const FILE: &str = "OspSystemStructure.xml";

/// A structure by the path that the user named: the file, or a folder with it.
pub fn find(path: &Path) -> Option<PathBuf> {
    if path.is_dir() {
        return path.join(FILE).is_file().then(|| path.join(FILE));
    }
    let is_structure = crate::source::xml::root_name(path).is_some_and(|root| root == ROOT);
    is_structure.then(|| path.to_owned())
}

/// Reads it.
pub fn load(path: &Path) -> Result<System, Error> {
    let text = Text::read(path, path)?;
    let document = text.parse()?;
    let mut notes = text.notes.clone();
    let mut problems = Collector::new();
    let structure = structure::read(text.reader(), document.root_element(), &mut notes, &mut problems)?;
    let parent = path.parent().unwrap_or(Path::new("")).to_owned();
    let folder = Folder::beside(path);
    let mut fmus = Fmus::default();
    let (mut specs, mut known, mut hints) = (Vec::new(), Vec::new(), Vec::new());
    for simulator in structure.simulators.iter() {
        let located = simulator
            .source
            .as_ref()
            .and_then(|source| problems.keep(folder.locate(text.reader(), simulator.node, source)));
        let path = located.as_ref().map(|file| simulator.name.with(file.path.clone()));
        let fmu = path.as_ref().and_then(|path| problems.keep(fmus.open(path)));
        let described = fmu
            .as_ref()
            .zip(path.as_ref())
            .and_then(|(fmu, path)| groups::file(&fmu.description().model_name, &path.value, &parent));
        let groups = described.and_then(|file| problems.keep(groups::read(&file, &mut notes)));
        let name = path_name("", &simulator.name.value);
        if let (Some(path), Some(fmu), Some(located)) = (path, &fmu, &located) {
            let what = format!("simulator `{}`", simulator.name.value);
            problems.keep(Fmus::need_co_simulation(fmu, &what, &path));
            let spec = SimulatorSpec::Fmu(path, FmuOptions::default());
            let [parameters, start] = signals::values(fmu, simulator.values.clone());
            let process = if located.own_process {
                ProcessSpec::Own(simulator.name.with(()))
            } else {
                ProcessSpec::default()
            };
            let named = simulator.name.with(name.clone());
            specs.push(SubsystemSpec { parameters, start, process, ..SubsystemSpec::new(named, spec) });
            hints.push(simulator.step.clone());
        }
        known.push(Known { written: simulator.name.value.clone(), name, fmu, groups });
    }
    if structure.simulators.is_empty() && problems.is_clean() {
        problems.add(Error::input(Some(text.source().place(0)), "the system has no simulator"));
    }
    let found = signals::connect(&structure, &known, &mut notes, &mut problems);
    let bonds = bonds::bonds(&found, &known, &mut problems);
    let base = structure.base.clone();
    let (method, first) = method(&structure, &mut notes, &mut problems);
    let step = match first {
        Some(first) => Some(first),
        None => Steps { base }.apply(&mut specs, &hints, &mut notes),
    };
    if step.is_none() {
        notes.push(format!("{}: no `BaseStepSize`: the default method chooses the steps", path.display()));
    }
    let mut simulation = Simulation {
        start: structure.start.unwrap_or(At::default(0.0)),
        stop: structure.end,
        step,
        ..Simulation::default()
    };
    let mut record = Record::default();
    let log = parent.join(LOG_CONFIG);
    if log.is_file()
        && let Some(logged) = problems.keep(log_config::read(&log, &known, &mut notes))
    {
        record.variables = Some(logged.variables);
        let interval = structure.base.as_ref().map(|base| base.value * f64::from(logged.decimation.value));
        simulation.output_interval =
            interval.filter(|_| logged.decimation.value > 1).map(|dt| logged.decimation.with(dt));
    }
    let name = system_name(path);
    let mut quantities = BTreeMap::new();
    for known in &known {
        let mut of_groups = Vec::new();
        groups::quantities(known.groups.as_deref().unwrap_or_default(), &mut of_groups);
        let named =
            |(variable, kind): (&str, &str)| (VariableName::new(&known.name, variable), kind.to_owned());
        quantities.extend(of_groups.into_iter().map(named));
    }
    problems.finish(System {
        name,
        simulation,
        subsystems: specs,
        connections: found.connections,
        bonds,
        method: method.unwrap_or_default(),
        record,
        notes,
        kept: super::Kept { contents: fmus.contents(), quantities, ..super::Kept::default() },
        ..System::empty(MadeOf::Structure(text.source().clone()))
    })
}

/// The name of the file, or that of its folder.
fn system_name(path: &Path) -> String {
    let text = |name: &std::ffi::OsStr| name.to_string_lossy().into_owned();
    let folder = path.canonicalize().ok().and_then(|path| path.parent()?.file_name().map(text));
    match path.file_name() {
        Some(name) if name == FILE => folder.unwrap_or_else(|| "system".to_owned()),
        _ => path.file_stem().map_or_else(|| "system".to_owned(), text),
    }
}

/// What the algorithm of the file is here, and the first step if it chooses others.
fn method(
    structure: &Structure<'_>,
    notes: &mut Vec<String>,
    problems: &mut Collector,
) -> (Option<Method>, Option<At<f64>>) {
    let by_default = || Some(Method::by_default(structure.base.is_some()));
    let Some(algorithm) = &structure.algorithm else { return (by_default(), None) };
    match algorithm.value.as_str() {
        "" | "fixedStep" => (by_default(), None),
        "ecco" if structure.connections.iter().all(|wire| wire.bond.is_none()) => {
            let message = "`ecco` needs a power bond: two connections, there and back, with `powerBond`";
            problems.add(Error::input(algorithm.place(), message));
            (None, None)
        }
        "ecco" => {
            notes.push(format!(
                "{}the step size is controlled by libcosim's norm, whose tolerances are absolute energies of a step. The estimator \
                 `energy` scales itself, and `--tolerance 1e-3` follows the error of all couplings",
                algorithm.prefix()
            ));
            let ecco = structure.ecco.as_ref();
            let first = ecco.and_then(|e| e.step.clone()).or_else(|| structure.base.clone());
            (Some(ecco_method(structure)), first)
        }
        other => {
            let hint = hint(other, ["fixedStep", "ecco"]);
            problems.add(Error::input(algorithm.place(), format!("unknown algorithm `{other}`.{hint}")));
            (None, None)
        }
    }
}

fn ecco_method(structure: &Structure<'_>) -> Method {
    let (mut controller, mut norm) = (Ecco::default(), estimators::Libcosim::default());
    if let Some(ecco) = &structure.ecco {
        controller = Ecco {
            safety: ecco.safety,
            min_step: ecco.min_step,
            max_step: ecco.max_step,
            min_rate: ecco.min_rate.unwrap_or(controller.min_rate),
            max_rate: ecco.max_rate.unwrap_or(controller.max_rate),
            proportional_gain: ecco.proportional,
            integral_gain: ecco.integral,
            ..controller
        };
        norm.relative_tolerance = ecco.relative.unwrap_or(norm.relative_tolerance);
        norm.absolute_tolerance = ecco.absolute.unwrap_or(norm.absolute_tolerance);
    }
    let place = structure.ecco.as_ref().and_then(|ecco| ecco.place.place());
    let mut method = Method { controller: controller.into(), estimator: norm.into(), ..Method::default() };
    (method.controller.written.entry, method.estimator.written.entry) = (place.clone(), place);
    method
}
