//! Parameter files of SSP (`.ssv`, with `.ssm`) that are put over a system: `subsystem.parameter`, a value of any type and its unit.

use super::ssp::{Placed, mapping, schema::KNOWN, values};
use super::structure::{path_name, strangers};
use super::{Factory, Given, Models, SharedFactory, SimulatorSpec, SubsystemSpec, System};
use crate::Error;
use crate::error::Collector;
use crate::source::At;
use crate::source::xml::{self, Text};
use powerbond_core::network::NameIndex;
use powerbond_core::units::Unit;
use powerbond_fmi::Fmu;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use values::Parameter;

impl System {
    /// Sets what a parameter file (SSP's `.ssv`) says, under the names of a mapping (`.ssm`) if there is one. `first`: it stands below
    /// the parameters that were set before, else above them. Values with a unit are converted to that of their parameter.
    pub fn set_from(&mut self, file: &Path, names: Option<&Path>, first: bool) -> Result<Vec<String>, Error> {
        let mut warnings = Vec::new();
        let mut fmus = BTreeMap::new();
        let mut set: BTreeMap<usize, Vec<(At<String>, Given)>> = BTreeMap::new();
        let specs = self.specs();
        let mut problems = Collector::new();
        for parameter in read(file, names, &mut warnings)? {
            if let Some(values) = self.behind(&parameter, &mut warnings) {
                for (subsystem, name, value) in problems.keep(values).unwrap_or_default() {
                    set.entry(subsystem).or_default().push((name, value));
                }
                continue;
            }
            let found = problems.keep(self.split_name(&specs, &parameter.name, "subsystem.parameter"));
            let Some((subsystem, own)) = found else { continue };
            let spec = &self.subsystems[subsystem];
            let place = parameter.name.with(own.clone());
            let wanted = match parameter.unit {
                Some(_) => {
                    problems.keep(unit_of(&self.models, self.folder(), spec, &own, &mut fmus)).flatten()
                }
                None => None,
            };
            if let Some(value) = problems.keep(parameter.in_unit(wanted.as_deref(), &mut warnings)) {
                set.entry(subsystem).or_default().push((place, value));
            }
        }
        problems.finish(())?;
        for (subsystem, new) in set {
            let list = &mut self.subsystems[subsystem].parameters;
            let place = if first { 0 } else { list.len() };
            list.splice(place..place, new);
        }
        Ok(warnings)
    }

    /// The values of the variables that a connector of a system of SSP feeds, each with its subsystem; none if the parameter names no such
    /// connector.
    pub(super) fn behind(
        &self,
        parameter: &Parameter,
        notes: &mut Vec<String>,
    ) -> Option<Result<Placed<usize>, Error>> {
        let found = self.kept.doors.as_ref()?.values(parameter, notes)?;
        let specs = self.specs();
        let placed =
            |(subsystem, name, value): (String, _, _)| Some((specs.place(subsystem.as_str())?, name, value));
        Some(found.map(|values| values.into_iter().filter_map(placed).collect()))
    }

    /// The subsystem and the parameter of `subsystem.parameter`; the only subsystem needs no name, and that of a nested system may be
    /// written with dots. `form` says how it is written.
    pub(super) fn split_name(
        &self,
        specs: &NameIndex<&str>,
        name: &At<String>,
        form: &str,
    ) -> Result<(usize, String), Error> {
        let fail = |message: String| Err(Error::input(name.place(), message));
        let dots = name.value.match_indices('.').map(|(dot, _)| (&name.value[..dot], &name.value[dot + 1..]));
        let whole = |(subsystem, parameter): (&str, &str)| {
            specs.place(path_name("", subsystem).as_str()).map(|s| (s, parameter.to_owned()))
        };
        // The longest name: a system may be called like the path of another one's part.
        if let Some(found) = dots.filter_map(whole).next_back() {
            return Ok(found);
        }
        if let Some((subsystem, _)) = name.value.split_once('.').filter(|_| self.subsystems.len() > 1) {
            let names = self.subsystems.iter().map(|s| s.name.value.as_str());
            return fail(format!(
                "unknown subsystem `{subsystem}`.{}",
                powerbond_core::suggest::hint(subsystem, names)
            ));
        }
        match self.subsystems.len() {
            1 => Ok((0, name.value.clone())),
            _ => fail(format!("`{}`: missing subsystem; write `{form}`", name.value)),
        }
    }
}

/// The parameter files of a list, each with the mapping that stands behind it.
pub(crate) fn with_mappings<T: AsRef<Path>>(files: &[T]) -> Result<Vec<(&T, Option<&T>)>, Error> {
    let mut pairs: Vec<(&T, Option<&T>)> = Vec::new();
    for file in files {
        let is_mapping = file.as_ref().extension().is_some_and(|e| e.eq_ignore_ascii_case("ssm"));
        match pairs.last_mut() {
            _ if !is_mapping => pairs.push((file, None)),
            Some((_, mapping @ None)) => *mapping = Some(file),
            _ => {
                let message = "a mapping stands behind the parameter file (`.ssv`) whose names it changes";
                return Err(Error::input(None, format!("{}: {message}", file.as_ref().display())));
            }
        }
    }
    Ok(pairs)
}

/// The unit of a parameter, if it has one and is known.
fn unit_of(
    models: &Models,
    folder: &Path,
    spec: &SubsystemSpec,
    parameter: &str,
    fmus: &mut BTreeMap<String, Fmu>,
) -> Result<Option<Arc<Unit>>, Error> {
    match &spec.simulator {
        SimulatorSpec::Model(model) => {
            Ok(models.find(&model.value).ok().and_then(|f| model_unit(&f, parameter)))
        }
        SimulatorSpec::Own(factory) => Ok(model_unit(factory, parameter)),
        SimulatorSpec::Fmu(path, _) => {
            let name = &spec.name.value;
            if !fmus.contains_key(name) {
                fmus.insert(name.clone(), super::open_fmu(folder, path)?);
            }
            let description = fmus[name].description();
            let variable = description.find(parameter).map(|v| &description.variables[v]);
            Ok(variable.and_then(|v| description.unit_of(v)))
        }
    }
}

fn model_unit(factory: &SharedFactory, parameter: &str) -> Option<Arc<Unit>> {
    let found = factory.model()?.all_parameters().find(|p| p.name == parameter)?;
    (!found.unit.is_empty()).then(|| Arc::new(Unit::parse(found.unit)))
}

/// All parameters of a file, in its order, under the names of a mapping.
fn read(file: &Path, names: Option<&Path>, notes: &mut Vec<String>) -> Result<Vec<Parameter>, Error> {
    let (set, found) = root(file, values::read)?;
    notes.extend(found);
    let Some(names) = names else { return Ok(set) };
    let (entries, found) = root(names, mapping::read)?;
    notes.extend(found);
    Ok(mapping::apply(&entries, set, notes))
}

/// What `read` makes of the root of a file, and what was forgiven.
fn root<T>(
    path: &Path,
    read: impl FnOnce(xml::Reader<'_>, xml::Node<'_, '_>) -> Result<T, Error>,
) -> Result<(T, Vec<String>), Error> {
    let text = Text::read(path, path)?;
    let document = text.parse()?;
    let found = read(text.reader(), document.root_element())?;
    let strange = strangers(text.reader(), document.root_element(), KNOWN);
    drop(document);
    Ok((found, text.notes.into_iter().chain(strange).collect()))
}
