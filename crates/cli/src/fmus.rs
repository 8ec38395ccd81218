//! Built-in models as FMUs for `bench --fmu` and `convert`: each written once.

use crate::export::{explain, library};
use powerbond::Error;
use powerbond::fmi::PrivateFolder;
use powerbond::models::{self, Capability, ParameterValue};
use powerbond::system::{FmuOptions, SimulatorSpec, SubsystemSpec};
use powerbond_bench::{Exchange, Suite};
use powerbond_export::{Export, FmiVersion};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// The folder of the FMUs, which goes with it.
pub struct Fmus {
    folder: PrivateFolder,
    version: FmiVersion,
}

impl Fmus {
    /// For the models of `suite`; `version` is "2" or "3".
    pub fn new(suite: &Suite, version: &str) -> Result<Self, Error> {
        if !suite.exchangeable {
            let message =
                format!("`{}` measures single steps of its models and does not support FMUs", suite.name);
            return Err(Error::input(None, message));
        }
        Fmus::of_version(version)
    }

    /// Of FMI "2" or "3".
    pub fn of_version(version: &str) -> Result<Self, Error> {
        let folder = PrivateFolder::new()
            .map_err(|e| Error::output(&std::env::temp_dir(), &std::io::Error::other(e)))?;
        let version = if version == "3" { FmiVersion::Fmi3 } else { FmiVersion::Fmi2 };
        Ok(Fmus { folder, version })
    }

    /// Exchanges every built-in model of a system for its FMU.
    pub fn exchange(&self) -> Exchange {
        let (folder, version) = (self.folder.path().to_owned(), self.version);
        let written: Mutex<BTreeMap<String, PathBuf>> = Mutex::default();
        Box::new(move |mut system| {
            let mut written = written.lock().unwrap_or_else(PoisonError::into_inner);
            for spec in &mut system.subsystems {
                let SimulatorSpec::Model(name) = spec.simulator.clone() else { continue };
                let given = abilities(spec);
                let no = ParameterValue::Text("no".to_owned());
                let whole_steps = given.iter().any(|(name, value)| name == "sub_steps" && *value == no);
                let key = format!("{} {given:?}", name.value);
                let known = written.get(&key).cloned();
                let path = match known {
                    Some(path) => path,
                    None => {
                        let missing =
                            || Error::input(name.place(), format!("unknown model `{}`", name.value));
                        let model = models::find(&name.value).ok_or_else(missing)?;
                        let export = Export::new(model, version, &given).map_err(explain)?;
                        let name = export.file_name();
                        let count = written.len();
                        let path = match folder.join(&name) {
                            path if path.exists() => folder.join(format!("{count}_{name}")),
                            path => path,
                        };
                        export.write(&library().map_err(explain)?, &path).map_err(explain)?;
                        written.insert(key, path.clone());
                        path
                    }
                };
                // As much as the model itself follows, FMI's flag names no order; and no flag tells that a model is not to be
                // sub-stepped.
                let options = FmuOptions { input_derivatives: Some(2), whole_steps, ..FmuOptions::default() };
                spec.simulator = SimulatorSpec::Fmu(name.with(path), options);
            }
            Ok(system)
        })
    }
}

/// Takes out what is decided when a model is exported: what it is able to do. The rest stays a parameter of the FMU.
fn abilities(spec: &mut SubsystemSpec) -> Vec<(String, ParameterValue)> {
    let is_ability = |key: &str| Capability::PARAMETERS.iter().any(|p| p.name == key);
    let (fixed, free) = std::mem::take(&mut spec.parameters)
        .into_iter()
        .partition::<Vec<_>, _>(|(key, _)| is_ability(&key.value));
    spec.parameters = free;
    fixed.into_iter().filter_map(|(key, value)| Some((key.value, value.parameter()?))).collect()
}
