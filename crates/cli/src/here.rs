//! The system that a command is about: the one that is named, or that of the folder at hand.

use powerbond::Error;
use powerbond::system::SYSTEM_FILE;
use std::path::{Path, PathBuf};

/// Files that are listed.
const MOST: usize = 8;

/// The path that was given; without one the current folder, if it holds a `system.toml`. `verb` is what to type with a path.
pub fn system(given: Option<&PathBuf>, verb: &str) -> Result<PathBuf, Error> {
    let here = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
    match given {
        Some(path) => Ok(path.clone()),
        None if here.join(SYSTEM_FILE).is_file() => Ok(here),
        None => Err(Error::input(None, missing(&here, verb))),
    }
}

/// What could have been meant.
fn missing(here: &Path, verb: &str) -> String {
    let entries = std::fs::read_dir(here).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort_unstable();
    let is_system = |name: &String| {
        let path = Path::new(name);
        path.extension().is_some_and(|e| e == "toml" || e == "fmu")
            || here.join(path).join(SYSTEM_FILE).is_file()
    };
    names.retain(is_system);
    let typed = |name: &str| {
        let quote =
            if name.contains(|c: char| c.is_whitespace() || "'\"$&;()".contains(c)) { "\"" } else { "" };
        format!("`powerbond {verb} {quote}{name}{quote}`")
    };
    let begin = format!("no system is named, and there is no {SYSTEM_FILE} in {}", here.display());
    match names.as_slice() {
        [] => format!(
            "{begin}. Name a system file, a folder with a {SYSTEM_FILE} or an FMU: {}",
            typed("path/to/system.toml")
        ),
        [one] => format!("{begin}. Did you mean {}?", typed(one)),
        several => {
            let shown: Vec<String> = several.iter().take(MOST).map(|name| typed(name)).collect();
            let more = several.len().saturating_sub(MOST);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            format!("{begin}. Name one of what is there: {}{more}", shown.join(", "))
        }
    }
}
