//! The examples of the repository, inside of the command.

use powerbond::Error;
use powerbond::core::suggest::hint;
use std::fmt::Write;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;

/// A folder of `examples/`.
pub struct Example {
    /// The name of the folder.
    pub name: &'static str,
    /// What it shows, in a line.
    pub about: &'static str,
    /// Its files by their paths in it.
    pub files: &'static [(&'static str, &'static [u8])],
}

// Made by the build script: `pub static EXAMPLES: &[Example]`.
include!(concat!(env!("OUT_DIR"), "/examples.rs"));

/// One line each.
pub fn listed() -> String {
    let width = EXAMPLES.iter().map(|e| e.name.len()).max().unwrap_or(0);
    let mut out = "Examples, copied by `powerbond new --example <name>`:\n".to_owned();
    for example in EXAMPLES {
        let _ = writeln!(out, "  {:<width$}   {}", example.name, example.about);
    }
    out
}

/// Copies an example; how many files it has.
pub fn copy(name: &str, folder: &Path, overwrite: bool) -> Result<usize, Error> {
    let Some(example) = EXAMPLES.iter().find(|example| example.name == name) else {
        let hint = hint(name, EXAMPLES.iter().map(|example| example.name));
        let message = format!("unknown example `{name}`.{hint} `powerbond new --list` says what they show");
        return Err(Error::input(None, message));
    };
    let is_used = std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some());
    if is_used && !overwrite {
        let message = format!(
            "{} is there already. Choose another folder with `--output`, or replace its files with `--overwrite`",
            folder.display()
        );
        return Err(Error::input(None, message));
    }
    for (file, bytes) in example.files {
        let path = folder.join(file);
        // Its commands are typed beside the copy.
        let readme = std::str::from_utf8(bytes).ok().filter(|_| file.ends_with(".md"));
        let readme =
            readme.map(|text| text.replace(&format!("examples/{name}"), &folder.display().to_string()));
        let bytes = readme.as_deref().map_or(*bytes, str::as_bytes);
        let write = || {
            std::fs::create_dir_all(path.parent().unwrap_or(folder))?;
            let mut options = OpenOptions::new();
            options.write(true).create(true).truncate(true);
            // Scripts stay scripts.
            #[cfg(unix)]
            if bytes.starts_with(b"#!") {
                std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o755);
            }
            options.open(&path)?.write_all(bytes)
        };
        write().map_err(|e| Error::output(&path, &e))?;
    }
    Ok(example.files.len())
}
