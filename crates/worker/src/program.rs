//! How this program is started again, as a worker.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

/// A program and its first arguments.
static STARTED: OnceLock<(PathBuf, Vec<OsString>)> = OnceLock::new();

/// Where this is a library of an interpreter: from now on workers are started by `program` with `arguments` before their own. The first
/// call counts.
pub fn start_by(program: PathBuf, arguments: Vec<OsString>) {
    let _ = STARTED.set((program, arguments));
}

/// The program that runs now, with the arguments of a worker still to come.
pub fn this_program() -> Command {
    match STARTED.get() {
        Some((program, arguments)) => {
            let mut command = Command::new(program);
            command.args(arguments);
            command
        }
        None => crate::os::this_program(),
    }
}
