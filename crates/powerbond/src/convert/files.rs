//! Files that go along with a converted system: FMUs, tables, scenarios.

use crate::Error;
use crate::system::{SimulatorSpec, System};
use powerbond_fmi::Fmu;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

/// Names for files in a folder, none of them twice, whatever the case of letters.
#[derive(Default)]
pub struct Names {
    taken: BTreeSet<String>,
    given: BTreeMap<PathBuf, String>,
}

impl Names {
    /// The name of `file` in the folder, with this extension.
    pub fn of(&mut self, file: &Path, extension: &str) -> String {
        if let Some(name) = self.given.get(file) {
            return name.clone();
        }
        let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let plain = |c: char| if c.is_alphanumeric() || "-_ ()+".contains(c) { c } else { '_' };
        let stem: String = stem.chars().map(plain).collect();
        let name = |n: usize| match n {
            0 => format!("{stem}.{extension}"),
            n => format!("{stem}-{}.{extension}", n + 1),
        };
        let is_free = |name: &String| !self.taken.contains(&name.to_lowercase());
        let name = (0..).map(name).find(is_free).unwrap_or_default();
        self.taken.insert(name.to_lowercase());
        self.given.insert(file.to_owned(), name.clone());
        name
    }
}

/// The FMU of every subsystem, in their order; an error names those that have none.
pub fn fmus(system: &System) -> Result<Vec<Fmu>, Error> {
    let mut problems = crate::error::Collector::new();
    let fmus = system.subsystems.iter().filter_map(|spec| match &spec.simulator {
        SimulatorSpec::Fmu(path, _) => problems.keep(crate::system::open_fmu(system.folder(), path)),
        _ => {
            let message = format!("`{}` is no FMU; other tools can simulate nothing else", spec.name.value);
            problems.add(Error::input(spec.name.place(), message));
            None
        }
    });
    let fmus = fmus.collect();
    problems.finish(fmus)
}

fn failed(path: &Path, error: &io::Error) -> Error {
    Error::output(path, error)
}

/// Copies a file, or packs a folder, to `to`. A file that is there already is that file.
pub fn copy(from: &Path, to: &Path) -> Result<(), Error> {
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent).map_err(|e| failed(parent, &e))?;
    }
    let same = |a: &Path, b: &Path| matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b);
    if same(from, to) {
        return Ok(());
    }
    let bytes = bytes(from)?;
    write(to, &bytes)
}

/// Writes a file whole.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        fs::create_dir_all(parent).map_err(|e| failed(parent, &e))?;
    }
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".part");
    let part = path.with_file_name(name);
    let written = File::create(&part).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    let renamed = written.and_then(|()| fs::rename(&part, path));
    renamed.map_err(|error| {
        let _ = fs::remove_file(&part);
        failed(path, &error)
    })
}

/// The bytes of a file; of a folder, those of an archive of it.
pub fn bytes(path: &Path) -> Result<Vec<u8>, Error> {
    let unreadable = |e: io::Error| Error::input(None, format!("cannot read {}: {e}", path.display()));
    if !path.is_dir() {
        return fs::read(path).map_err(unreadable);
    }
    let mut archive = Packed::new();
    let mut open = vec![PathBuf::new()];
    while let Some(folder) = open.pop() {
        let mut entries: Vec<_> = fs::read_dir(path.join(&folder))
            .map_err(unreadable)?
            .collect::<io::Result<_>>()
            .map_err(unreadable)?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let name = folder.join(entry.file_name());
            // What a link leads to is not followed: an archive holds files.
            let kind = entry.file_type().map_err(unreadable)?;
            if kind.is_dir() {
                open.push(name);
            } else if kind.is_file() {
                let text = name.to_string_lossy().replace('\\', "/");
                archive.add(&text, &fs::read(path.join(&name)).map_err(unreadable)?)?;
            }
        }
    }
    archive.finish()
}

/// An archive in memory; the same content gives the same bytes.
pub struct Packed {
    zip: ZipWriter<io::Cursor<Vec<u8>>>,
}

impl Packed {
    /// Empty.
    pub fn new() -> Self {
        Packed { zip: ZipWriter::new(io::Cursor::new(Vec::new())) }
    }

    /// Adds a file. What is packed already is not packed again.
    pub fn add(&mut self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        let method =
            if bytes.starts_with(b"PK") { CompressionMethod::Stored } else { CompressionMethod::Deflated };
        let options = SimpleFileOptions::default()
            .compression_method(method)
            .last_modified_time(DateTime::default())
            .large_file(bytes.len() > u32::MAX as usize / 2);
        let added = self.zip.start_file(name, options).map_err(io::Error::other);
        added.and_then(|()| self.zip.write_all(bytes)).map_err(|e| failed(Path::new(name), &e))
    }

    /// The bytes.
    pub fn finish(self) -> Result<Vec<u8>, Error> {
        let done = self.zip.finish().map_err(|e| failed(Path::new("archive"), &io::Error::other(e)))?;
        Ok(done.into_inner())
    }
}
