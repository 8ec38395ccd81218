//! Whether scratch instances may be made: instances that are tried out before a run, to find out what no flag tells.

use std::sync::OnceLock;

static FORBIDDEN: OnceLock<String> = OnceLock::new();

/// From now on none is made in this process, and why: one of them ended the process before this one, for instance. What would be
/// found out by trying stays unknown. Only the first call has an effect.
pub fn forbid(why: String) {
    let _ = FORBIDDEN.set(why);
}

/// Why none is made.
pub fn forbidden() -> Option<&'static str> {
    FORBIDDEN.get().map(String::as_str)
}
