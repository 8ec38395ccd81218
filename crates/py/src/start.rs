//! The command inside of the module, and how workers are started: by the interpreter, which loads the module and nothing else.

use pyo3::prelude::*;
use std::ffi::OsString;
use std::path::PathBuf;

/// Loads the module from its file, without the package and NumPy around it, and is the command.
const BOOT: &str = "\
import sys, importlib.util as u
s = u.spec_from_file_location('powerbond._powerbond', sys.argv[1])
m = u.module_from_spec(s)
s.loader.exec_module(m)
m.main(sys.executable, sys.argv[1], sys.argv[2:])";

/// What the interpreter is started with, before the words of the command. `-P`: modules of the current folder are nobody's business.
fn arguments(file: &str) -> Vec<String> {
    ["-P", "-c", BOOT, file].map(str::to_owned).to_vec()
}

/// Says how workers are started: by this interpreter, from the file of this module.
#[pyfunction]
pub fn prepare(executable: PathBuf, file: &str) {
    powerbond_worker::start_by(executable, arguments(file).into_iter().map(OsString::from).collect());
}

/// What runs the command in another process, without its words.
#[pyfunction]
pub fn command(executable: String, file: &str) -> Vec<String> {
    std::iter::once(executable).chain(arguments(file)).collect()
}

/// Is the command, and ends the process.
#[pyfunction]
pub fn main(py: Python<'_>, executable: PathBuf, file: &str, words: Vec<OsString>) {
    prepare(executable, file);
    py.detach(|| powerbond::fmi::process::leave(powerbond_cli::main_with(words)))
}
