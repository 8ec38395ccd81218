//! Systems of SSP 1.0 and 2.0: `.ssp` archives, folders and `.ssd` files.

mod archive;
mod description;
mod doors;
mod flat;
pub mod mapping;
mod parameters;
pub mod schema;
mod settings;
mod signals;
pub mod transformation;
pub mod values;

use super::fmu::is_zip;
use super::structure::{Fmus, Folder, Located, Steps};
use super::{FmuOptions, MadeOf, ProcessSpec, Simulation, SimulatorSpec, SubsystemSpec, System, toml};
use crate::Error;
use crate::catalogue::Method;
use crate::source::{At, Place};
use description::{Loader, Structure};
use flat::Flat;
use powerbond_core::suggest::hint;
use powerbond_fmi::{Archive, Limits};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use archive::cache;
pub use description::{FILE, ROOT};
pub use doors::{Doors, Placed};
pub use settings::TYPE;
pub use signals::variable;

/// Whether a file is an archive with a structure of SSP in it, by content.
pub fn is_package(path: &Path) -> bool {
    is_zip(path)
        && Archive::open(path, Limits::default()).is_ok_and(|archive| {
            let names = archive.names();
            !names.contains(&"modelDescription.xml") && names.iter().any(|name| is_variant(name))
        })
}

/// Whether a file is an archive that is called one of SSP and has neither a structure at its root nor an FMU.
fn is_odd_package(path: &Path) -> bool {
    path.extension().is_some_and(|e| e.eq_ignore_ascii_case("ssp"))
        && is_zip(path)
        && Archive::open(path, Limits::default())
            .is_ok_and(|archive| !archive.names().contains(&"modelDescription.xml"))
}

/// Whether a file of an archive is one of its systems: an `.ssd` file beside the others.
fn is_variant(name: &str) -> bool {
    !name.contains('/') && name.to_ascii_lowercase().ends_with(".ssd")
}

/// A structure by the path that the user named: an archive, a folder, an `.ssd` file, or one of the systems in an archive
/// (`archive.ssp/Name.ssd`). None if it is nothing of that.
pub fn find(path: &Path) -> Option<Found> {
    if path.is_dir() {
        return path.join(FILE).is_file().then(|| Found::File(path.join(FILE)));
    }
    if path.is_file() {
        if is_package(path) || is_odd_package(path) {
            return Some(Found::Archive(path.to_owned(), None));
        }
        let is_structure = crate::source::xml::root_name(path).is_some_and(|root| root == ROOT);
        let is_called = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("ssd"));
        return (is_structure || is_called).then(|| Found::File(path.to_owned()));
    }
    let archive = path.parent().filter(|parent| parent.is_file() && is_package(parent))?;
    let name = path.file_name()?.to_string_lossy().into_owned();
    Some(Found::Archive(archive.to_owned(), Some(name)))
}

/// Where a structure is.
pub enum Found {
    /// An `.ssd` file.
    File(PathBuf),
    /// An archive, and the system in it that was asked for by name.
    Archive(PathBuf, Option<String>),
}

/// Reads it; `only`: of the parameter sets of all bindings, those of this name count. That is how libcosim takes several sets: for
/// alternatives.
pub fn load(found: &Found, only: Option<&str>) -> Result<System, Error> {
    let mut loader = Loader::of(only);
    let (file, folder) = match found {
        Found::File(path) => {
            (Located { path: path.clone(), shown: path.clone(), own_process: false }, Folder::beside(path))
        }
        Found::Archive(path, name) => {
            let opened = archive::open(path, path)?;
            let folder =
                Folder { path: opened.path.clone(), shown: path.clone(), archive: Some(opened.path.clone()) };
            loader.keep.extend(opened.keep.clone());
            (variant(path, &folder, name.as_deref(), &mut loader.notes)?, folder)
        }
    };
    loader.enter(&file.path);
    let inside = folder.archive.is_some().then(|| folder.path.clone());
    let structure = loader.read(&file, &folder);
    let structure = loader.problems.keep(structure).flatten();
    if let Some(name) = only.filter(|name| !loader.sets.contains(*name)) {
        let hint = hint(name, loader.sets.iter().map(String::as_str));
        let place = Place::Option(format!("--parameter-set {name}"));
        loader.problems.add(Error::input(Some(place), format!("no parameter set has this name.{hint}")));
    }
    let Some(structure) = structure else { return loader.problems.finish_some(None) };
    system(structure, loader, inside)
}

/// The system of an archive that is asked for, or the one that is there.
fn variant(
    archive: &Path,
    folder: &Folder,
    name: Option<&str>,
    notes: &mut Vec<String>,
) -> Result<Located, Error> {
    let entries = std::fs::read_dir(&folder.path).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .map(|e| e.file_name().to_string_lossy().into_owned())
        .filter(|name| is_variant(name))
        .collect();
    names.sort();
    let located = |name: &str| Located {
        path: folder.path.join(name),
        shown: folder.shown.join(name),
        own_process: false,
    };
    let fail = |message: String| Err(Error::input(None, format!("{}: {message}", archive.display())));
    let listed = || {
        names.iter().map(|name| format!("`{}`", archive.join(name).display())).collect::<Vec<_>>().join(", ")
    };
    let Some(wanted) = name else {
        return match names.as_slice() {
            _ if names.iter().any(|name| name == FILE) => {
                if names.len() > 1 {
                    notes.push(format!(
                        "{} has {} systems: {}; this is `{FILE}`",
                        archive.display(),
                        names.len(),
                        listed()
                    ));
                }
                Ok(located(FILE))
            }
            [only] => Ok(located(only)),
            [] => fail(format!("there is no `{FILE}` at the root of the archive{}", below(&folder.path))),
            _ => fail(format!("there is no `{FILE}` but several systems; name one of them: {}", listed())),
        };
    };
    let stem = |name: &str| name.rsplit_once('.').map_or(name, |(stem, _)| stem).to_owned();
    match names.iter().find(|name| *name == wanted || stem(name) == wanted) {
        Some(name) => Ok(located(name)),
        None => {
            fail(format!("there is no system `{wanted}`.{}", hint(wanted, names.iter().map(String::as_str))))
        }
    }
}

/// Where a structure is that was packed with the folder around it, as the end of a message.
fn below(folder: &Path) -> String {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter(|entry| entry.path().join(FILE).is_file())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names.first().map_or_else(String::new, |name| {
        format!(", but in its folder `{name}`. Pack what is in this folder, not the folder itself")
    })
}

/// A structure as a system.
/// `inside`: the folder of a structure that was in an archive.
fn system(mut structure: Structure, loader: Loader, inside: Option<PathBuf>) -> Result<System, Error> {
    let Loader { mut notes, mut problems, keep, .. } = loader;
    let mut flat = Flat::of(&mut structure, &mut problems);
    let mut fmus = Fmus::default();
    let opened: Vec<_> = flat.leaves.iter().map(|leaf| problems.keep(fmus.open(&leaf.path))).collect();
    for (leaf, fmu) in flat.leaves.iter().zip(&opened) {
        let what = format!("component `{}`", leaf.name.value);
        problems.keep(fmu.as_ref().map_or(Ok(()), |fmu| Fmus::need_co_simulation(fmu, &what, &leaf.path)));
    }
    flat.direct(&opened, &mut problems);
    let mut specs: Vec<SubsystemSpec> = flat.leaves.iter().map(spec).collect();
    if specs.is_empty() && problems.is_clean() {
        let place = structure.root.name.place();
        problems.add(Error::input(place, "the system has no component; nothing can be simulated"));
    }
    for (connector, other) in flat.ambiguous(&opened) {
        let place = flat.connector(&connector).map_or_else(String::new, |found| found.place.prefix());
        notes.push(format!(
            "{place}`{}` is a connector of a system and a variable of its element `{}`; where both could be meant, the connector \
             counts",
            flat.shown(&connector),
            flat.owners[other.owner].path
        ));
    }
    parameters::set(&mut flat, &opened, &mut specs, &mut notes, &mut problems);
    let connections = signals::connections(&flat, &opened, &mut notes, &mut problems);
    let hints: Vec<Option<At<f64>>> = flat.leaves.iter().map(|leaf| leaf.hint.clone()).collect();
    let doors = Arc::new(Doors::new(flat, opened));
    let step = Steps { base: structure.step.clone() }.apply(&mut specs, &hints, &mut notes);
    let [start, stop] = structure.experiment;
    let mut system = System {
        name: structure.name,
        simulation: Simulation {
            start: start.unwrap_or(At::default(0.0)),
            stop,
            step: step.clone(),
            ..Simulation::default()
        },
        subsystems: specs,
        connections,
        method: Method::by_default(step.is_some()),
        kept: super::Kept {
            contents: fmus.contents(),
            folders: keep,
            folder: inside,
            doors: Some(doors),
            ..super::Kept::default()
        },
        ..System::empty(MadeOf::Structure(structure.source.clone()))
    };
    match &structure.settings {
        Some(settings) => {
            problems.keep(toml::put_settings(&mut system, settings));
        }
        None if step.is_some() => {}
        None => notes.push(format!(
            "{}: no settings of ours (an annotation `{TYPE}`) and no step: the default method chooses the steps",
            structure.source.path().display()
        )),
    }
    system.notes = notes;
    problems.finish(system)
}

fn spec(leaf: &flat::Leaf) -> SubsystemSpec {
    let fmu = SimulatorSpec::Fmu(leaf.path.clone(), FmuOptions::default());
    let process =
        if leaf.own_process { ProcessSpec::Own(leaf.path.with(())) } else { ProcessSpec::default() };
    SubsystemSpec { process, ..SubsystemSpec::new(leaf.name.clone(), fmu) }
}
