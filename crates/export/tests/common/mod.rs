//! FMUs of the built-in models, written once per test, and models of both kinds.
#![allow(dead_code)]

use powerbond_core::subsystem::Subsystem;
use powerbond_export::{Export, FmiVersion, Library};
use powerbond_fmi::{Fmu, FmuSubsystem, Options, Reread, Value};
use powerbond_models::{self, ModelSpec, ParameterValue};
use std::path::PathBuf;

pub const VERSIONS: [FmiVersion; 2] = [FmiVersion::Fmi2, FmiVersion::Fmi3];

pub type Given = Vec<(String, ParameterValue)>;

/// Parameters as a user types them.
pub fn given(list: &[(&str, &str)]) -> Given {
    let value = |text: &str| {
        text.parse().map_or_else(|_| ParameterValue::Text(text.to_owned()), ParameterValue::Number)
    };
    list.iter().map(|(name, text)| ((*name).to_owned(), value(text))).collect()
}

/// A folder for FMUs that goes away at the end.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("powerbond-export-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a writable temporary folder");
        Folder(path)
    }

    pub fn path(&self) -> &PathBuf {
        &self.0
    }

    /// Writes an FMU and opens it.
    pub fn fmu(&self, spec: &'static ModelSpec, version: FmiVersion, given: &Given) -> Fmu {
        let export = Export::new(spec, version, given).expect("good parameters");
        let path = self.0.join(format!("{version:?}-{}", export.file_name()));
        export.write(&Library::find().expect("the library of the models"), &path).expect("a writable folder");
        Fmu::open(&path).expect("a sound FMU")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Whatever cannot be removed stays for the system to clean up.
        let _left = std::fs::remove_dir_all(&self.0);
    }
}

/// Whether an FMU did what its model does: the same bits; with FMI 3 and inputs that change inside steps the same numbers up
/// to `round_off`, since there derivatives of inputs are taken from values at three points.
pub fn same(version: FmiVersion, round_off: f64, ours: &[f64], theirs: &[f64]) -> bool {
    let is_same = |a: f64, b: f64| {
        let near = version == FmiVersion::Fmi3 && (a - b).abs() <= round_off * a.abs().max(1.0);
        near || a.to_bits() == b.to_bits()
    };
    ours.len() == theirs.len() && ours.iter().zip(theirs).all(|(&a, &b)| is_same(a, b))
}

/// An instance of an FMU of ours, with parameters set through FMI.
pub fn imported(fmu: &Fmu, name: &str, parameters: &Given) -> FmuSubsystem {
    let value = |value: &ParameterValue| match value {
        ParameterValue::Number(x) => Value::Real(*x),
        ParameterValue::Text(text) => Value::Text(text.clone()),
    };
    let parameters = parameters.iter().map(|(name, v)| (name.clone(), value(v))).collect();
    let options = Options { parameters, input_derivatives: Some(2), ..Options::default() };
    let mut subsystem = fmu.instantiate(name, &options).expect("an instance");
    subsystem.set_reread(Reread::Plain);
    subsystem
}

/// The same model without an FMU around it, that takes as many derivatives of inputs.
pub fn native(name: &str, parameters: &Given) -> Box<dyn Subsystem> {
    let mut parameters = parameters.clone();
    parameters.extend(given(&[("input_derivatives", "2")]));
    powerbond_models::find(name).expect("a built-in model").build(&parameters).expect("good parameters")
}
