//! The system that a command is about: the one that is named, or that of the current folder; folders that are written into.

use powerbond::system::SYSTEM_FILE;
use powerbond::{Error, System};
use std::path::{Path, PathBuf};

/// Files that are listed.
const MOST: usize = 8;

/// The path that was given; without one the current folder, if it holds a `system.toml`. `verb` is what to type with a path.
pub fn system(given: Option<&PathBuf>, verb: &str) -> Result<PathBuf, Error> {
    let here = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
    match given {
        Some(path) => Ok(path.clone()),
        None if here.join(SYSTEM_FILE).is_file() || System::is_structure(&here) => Ok(here),
        None => Err(Error::input(None, missing(&here, verb))),
    }
}

/// A folder that files are to be written into: none yet, or one that is there.
pub fn may_be_folder(path: &Path) -> Result<(), Error> {
    if path.exists() && !path.is_dir() {
        let why = std::io::Error::other("a file of this name is there. Name a folder, or remove the file");
        return Err(Error::output(path, &why));
    }
    Ok(())
}

/// What could have been meant.
fn missing(here: &Path, verb: &str) -> String {
    let entries = std::fs::read_dir(here).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort_unstable();
    let is_system = |name: &String| {
        let path = Path::new(name);
        path.extension().is_some_and(|e| ["toml", "fmu", "ssp", "ssd"].iter().any(|known| e == *known))
            || here.join(path).join(SYSTEM_FILE).is_file()
            || here.join(path).is_dir() && System::is_structure(here.join(path))
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
            let fmus = several.iter().filter(|name| name.ends_with(".fmu")).count();
            let coupled = if fmus > 1 { "; `powerbond new` makes a system of FMUs" } else { "" };
            format!("{begin}. Name one of what is there: {}{more}{coupled}", shown.join(", "))
        }
    }
}
