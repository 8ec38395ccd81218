//! Systems without a sandbox.

use std::path::PathBuf;

/// Why there is no sandbox.
pub fn is_possible() -> Result<(), String> {
    Err("it needs Linux".to_owned())
}

/// Fails.
pub fn enter(_writable: &[PathBuf]) -> Result<(), String> {
    is_possible()
}
