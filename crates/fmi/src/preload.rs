//! Libraries that FMUs need without saying so, made available to all of them.
//!
//! The mathematical library always is. FMUs that wrap Python code (pythonfmu) expect an interpreter in the process: the
//! first `libpython3` that the system's loader finds is taken when such an FMU does not load without. Anything else is
//! named in the environment variable `POWERBOND_PRELOAD`, as a list of paths.

use std::ffi::OsStr;
use std::sync::Once;

/// The environment variable that lists libraries.
pub const VARIABLE: &str = "POWERBOND_PRELOAD";

/// Loads the mathematical library and what the environment names, once.
pub fn always() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        if cfg!(target_os = "linux") {
            load(OsStr::new("libm.so.6"));
        }
        let list = std::env::var_os(VARIABLE).unwrap_or_default();
        std::env::split_paths(&list).filter(|path| !path.as_os_str().is_empty()).for_each(|path| {
            load(path.as_os_str());
        });
    });
}

/// After a failure: loads what the missing symbol in the loader's `message` belongs to. Whether to try again.
pub fn for_missing(message: &str) -> bool {
    let is_python =
        ["undefined symbol: Py", "undefined symbol: _Py"].iter().any(|text| message.contains(text));
    is_python && (8..=20).rev().any(|minor| load(OsStr::new(&format!("libpython3.{minor}.so.1.0"))))
}

/// What to do about a failure that is left.
pub fn advice(message: &str) -> &'static str {
    if message.contains("undefined symbol: Py") || message.contains("undefined symbol: _Py") {
        ". It needs a Python interpreter: put the path of your libpython3 library into POWERBOND_PRELOAD"
    } else if message.contains("undefined symbol") {
        ". It needs another library: put its path into POWERBOND_PRELOAD"
    } else if message.contains("cannot open shared object file") {
        ". It needs that library: install it, or put its folder into LD_LIBRARY_PATH"
    } else if message.contains("failed to map segment") {
        ". The folder may forbid execution: set TMPDIR to one that allows it"
    } else {
        ""
    }
}

/// Makes the symbols of a library available to all others, for the rest of the process.
#[cfg(unix)]
fn load(name: &OsStr) -> bool {
    use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};
    // Safety: initializers of a library of the system, or of one that the user asked for, run. No FMI rule: this serves
    // FMUs that do not bring all they need, as FMI 2.0.5 section 2.3 and FMI 3.0.2 section 2.5.1.2 want.
    unsafe { Library::open(Some(name), RTLD_NOW | RTLD_GLOBAL) }.map(std::mem::forget).is_ok()
}

/// As on Unix; symbols are found by library there, so that loading it is all.
#[cfg(not(unix))]
fn load(name: &OsStr) -> bool {
    // Safety: as on Unix.
    unsafe { libloading::Library::new(name) }.map(std::mem::forget).is_ok()
}
