//! The shared library of an FMU: where it lies and how it is loaded.

use crate::description::Version;
use crate::elf;
use crate::error::LibraryError;
use crate::preload;
use crate::process::Threads;
use crate::returning::returning;
use crate::trace::{Call, Trace};
use libloading::Symbol;
use std::fs;
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};

/// Names of this platform's folder, FMI 3's and FMI 2's; none for platforms that neither standard names.
pub const FOLDERS: &[&str] = if cfg!(all(target_os = "linux", target_arch = "x86_64")) {
    &["x86_64-linux", "linux64"]
} else if cfg!(all(target_os = "linux", target_arch = "x86")) {
    &["x86-linux", "linux32"]
} else if cfg!(all(target_os = "linux", target_arch = "aarch64")) {
    // FMI 2 has no name for it; tools write one of these.
    &["aarch64-linux", "linuxaarch64", "linux-aarch64"]
} else if cfg!(all(target_os = "windows", target_arch = "x86_64")) {
    &["x86_64-windows", "win64"]
} else if cfg!(all(target_os = "windows", target_arch = "x86")) {
    &["x86-windows", "win32"]
} else if cfg!(all(target_os = "windows", target_arch = "aarch64")) {
    &["aarch64-windows"]
} else if cfg!(all(target_os = "macos", target_arch = "x86_64")) {
    &["x86_64-darwin", "darwin64"]
} else if cfg!(all(target_os = "macos", target_arch = "aarch64")) {
    // FMI 2's folder may hold a library for both.
    &["aarch64-darwin", "darwin64"]
} else {
    &[]
};

const EXTENSION: &str = if cfg!(windows) {
    "dll"
} else if cfg!(target_os = "macos") {
    "dylib"
} else {
    "so"
};

/// Finds the library of this platform in an unpacked FMU.
pub fn locate(root: &Path, identifier: &str) -> Result<PathBuf, LibraryError> {
    let binaries = root.join("binaries");
    let file = format!("{identifier}.{EXTENSION}");
    let here: Vec<PathBuf> = FOLDERS.iter().map(|folder| binaries.join(folder)).collect();
    if let Some(path) = here.iter().map(|folder| folder.join(&file)).find(|path| path.is_file()) {
        return Ok(path);
    }
    // Tools on Windows do not mind capitals.
    if let Some(path) = here.iter().find_map(|folder| ignoring_case(folder, &file)) {
        return Ok(path);
    }
    match here.iter().zip(FOLDERS).find(|(path, _)| path.is_dir()) {
        Some((path, folder)) => Err(LibraryError::Missing {
            expected: format!("binaries/{folder}/{file}"),
            found: listing(path, "nothing"),
        }),
        None => Err(LibraryError::Platform {
            wanted: FOLDERS.join(" or "),
            found: listing(&binaries, "no libraries at all (perhaps sources only)"),
        }),
    }
}

/// The only file in a folder whose name is `file` but for capitals.
fn ignoring_case(folder: &Path, file: &str) -> Option<PathBuf> {
    let entries = fs::read_dir(folder).ok()?.flatten();
    let mut same = entries.filter(|e| e.file_name().to_string_lossy().eq_ignore_ascii_case(file));
    let found = same.next()?.path();
    (same.next().is_none() && found.is_file()).then_some(found)
}

fn listing(folder: &Path, nothing: &str) -> String {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.map(|e| e.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    if names.is_empty() { nothing.to_owned() } else { names.join(", ") }
}

/// A loaded library; unloaded when dropped, unless there are threads that may be in its code.
pub struct Library {
    handle: ManuallyDrop<libloading::Library>,
    /// Those that it needs and brings along.
    neighbours: ManuallyDrop<Vec<libloading::Library>>,
    name: String,
    /// Those that ran before it was loaded.
    threads: Threads,
}

impl Drop for Library {
    fn drop(&mut self) {
        if !self.threads.have_more() {
            // Its destructors run now, which is a call of its code like others.
            let trace = Trace::new(&self.name, Version::Fmi3);
            // Safety: `ManuallyDrop::drop`: this is the end of the only owner, and nothing uses the handles after it.
            let unload = || unsafe {
                ManuallyDrop::drop(&mut self.handle);
                ManuallyDrop::drop(&mut self.neighbours);
            };
            trace.marks().during(Call::Unload, || returning(unload));
        }
    }
}

impl Library {
    /// Loads a library with all its symbols bound at once, so that a missing one shows now and not in a step.
    pub fn open(path: &Path) -> Result<Self, LibraryError> {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if let Some(message) = elf::damage(path) {
            return Err(LibraryError::Load { library: name, message });
        }
        preload::always();
        let threads = Threads::now();
        let mut neighbours = Vec::new();
        let mut opened = open_with_neighbours(path, &mut neighbours, 0);
        if opened.as_ref().is_err_and(|message| preload::for_missing(message)) {
            opened = open_with_neighbours(path, &mut neighbours, 0);
        }
        match opened {
            Ok(handle) => Ok(Library {
                handle: ManuallyDrop::new(handle),
                neighbours: ManuallyDrop::new(neighbours),
                name,
                threads,
            }),
            Err(message) => {
                let message = format!("{message}{}", preload::advice(&message));
                Err(LibraryError::Load { library: name, message })
            }
        }
    }

    /// A function that the standard requires. `F` must be its type in the standard's headers.
    pub fn required<F: Copy>(&self, symbol: &str) -> Result<F, LibraryError> {
        self.optional(symbol)
            .ok_or_else(|| LibraryError::Symbol { library: self.name.clone(), symbol: symbol.to_owned() })
    }

    /// A function that may be missing. `F` must be its type in the standard's headers.
    pub fn optional<F: Copy>(&self, symbol: &str) -> Option<F> {
        // Safety: the FMI standards fix the type of the function behind each name; the tables in fmi1.rs, fmi2.rs and
        // fmi3.rs, which alone call this, follow their headers.
        let found: Result<Symbol<'_, F>, _> = unsafe { self.handle.get(symbol) };
        found.ok().map(|f| *f)
    }
}

/// How many libraries may be loaded for one that needs them, and how deep that goes.
const MOST_NEIGHBOURS: usize = 64;
const MOST_DEEP: usize = 8;

/// Opens a library. What the loader misses is loaded first if it lies in the same folder: some FMUs bring libraries along
/// without telling the loader where they are, and rely on a search path that their own tool sets.
fn open_with_neighbours(
    path: &Path,
    found: &mut Vec<libloading::Library>,
    depth: usize,
) -> Result<libloading::Library, String> {
    loop {
        let message = match open_now(path) {
            Ok(handle) => return Ok(handle),
            Err(error) => text(&error),
        };
        let may = depth < MOST_DEEP && found.len() < MOST_NEIGHBOURS;
        let Some(neighbour) = missing_neighbour(path, &message).filter(|_| may) else { return Err(message) };
        if let Some(damage) = elf::damage(&neighbour) {
            return Err(format!("{}: {damage}", neighbour.display()));
        }
        let handle = open_with_neighbours(&neighbour, found, depth + 1)?;
        found.push(handle);
    }
}

/// The library that the loader's `message` says is missing, if it lies beside `path`.
fn missing_neighbour(path: &Path, message: &str) -> Option<PathBuf> {
    let (name, _) = message.split_once(": cannot open shared object file")?;
    let neighbour = path.with_file_name(Path::new(name).file_name().filter(|file| *file == name)?);
    neighbour.is_file().then_some(neighbour)
}

#[cfg(unix)]
fn open_now(path: &Path) -> Result<libloading::Library, libloading::Error> {
    use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
    // Safety: loading runs the library's initializers. That is what a user asks for by running an FMU; FMI 2.0.5
    // section 2.1 and FMI 3.0.2 section 2.5.1.2 have the importer load it.
    unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) }.map(Into::into)
}

#[cfg(windows)]
fn open_now(path: &Path) -> Result<libloading::Library, libloading::Error> {
    use libloading::os::windows::{LOAD_WITH_ALTERED_SEARCH_PATH, Library};
    // Safety: as on Unix; libraries beside the FMU's are found too, as FMI 2.0.5 section 2.3 asks.
    unsafe { Library::load_with_flags(path, LOAD_WITH_ALTERED_SEARCH_PATH) }.map(Into::into)
}

/// The loader's own text is in the source; libloading prints only its summary.
fn text(error: &libloading::Error) -> String {
    std::error::Error::source(error).map_or(error.to_string(), ToString::to_string)
}

/// The folder of resources as FMI 1 and 2 want it: a URI.
pub fn uri(path: &Path) -> String {
    let text = path.to_string_lossy().replace('\\', "/");
    let mut uri = String::from(if text.starts_with('/') { "file://" } else { "file:///" });
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' | b':' => {
                uri.push(byte.into())
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources_become_uris() {
        assert_eq!(uri(Path::new("/tmp/a b/ä")), "file:///tmp/a%20b/%C3%A4");
        assert_eq!(uri(Path::new("C:\\x\\y")), "file:///C:/x/y");
    }
}
