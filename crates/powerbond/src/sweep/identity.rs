//! The id of a run: a hash of what its results are a function of. The system with all files that it reads, what is put over it, and
//! its parameters; not where files are, how long a run may take, or what is kept of it.

use super::plan::{Plan, Point};
use crate::{Error, RunOptions, System};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// What all runs of a plan have in common, as a hash, and the files behind it.
#[derive(Clone, Debug)]
pub struct Identity {
    /// Of the common part, in hexadecimal digits.
    pub base: String,
    files: Vec<(PathBuf, Stamp)>,
}

/// How a file looks from outside.
#[derive(Clone, Debug, PartialEq)]
struct Stamp {
    length: u64,
    modified: Option<SystemTime>,
}

impl Identity {
    /// Reads all files that runs of a plan read.
    pub fn of(plan: &Plan, system: &System) -> Result<Self, Error> {
        let mut files = Vec::new();
        let mut read: Vec<PathBuf> = system.files();
        read.push(plan.system.clone());
        read.extend(beside(&plan.system));
        read.extend([&plan.options.method, &plan.options.input].into_iter().flatten().cloned());
        // In the order in which the system names them, and by their contents: they may lie anywhere.
        let mut all = Sha256::new_with_prefix("powerbond run 2\n");
        let mut seen: Vec<PathBuf> = Vec::new();
        for path in &read {
            let Some((file, inside)) = on_disk(path) else { continue };
            if let Some(inside) = inside {
                all.update(format!("inside {}\n", inside.display()));
            }
            // One file may be named in several ways.
            let real = file.canonicalize().unwrap_or_else(|_| file.clone());
            if seen.contains(&real) {
                continue;
            }
            let cannot = |e: io::Error| Error::input(None, format!("cannot read {}: {e}", file.display()));
            all.update(format!("file {}\n", hash_of(&file, &mut files).map_err(cannot)?));
            seen.push(real);
        }
        all.update(common(&plan.options));
        if plan.verify_share != 1.0 {
            all.update(format!("verified {:016x}\n", plan.verify_share.to_bits()));
        }
        Ok(Identity { base: hex(all), files })
    }

    /// The id of a run: 32 hexadecimal digits.
    pub fn run(&self, point: &Point) -> String {
        let mut set: Vec<String> =
            point.set.iter().map(|(name, value)| format!("{name}={value}\n")).collect();
        set.sort();
        let mut hash = Sha256::new_with_prefix(&self.base);
        set.iter().for_each(|line| hash.update(line));
        let mut id = hex(hash);
        id.truncate(32);
        id
    }

    /// A file that is not what it was when the hash was taken.
    pub fn changed(&self) -> Option<&Path> {
        let changed = |(path, stamp): &&(PathBuf, Stamp)| !stamp_of(path).is_ok_and(|now| now == *stamp);
        self.files.iter().find(changed).map(|(path, _)| path.as_path())
    }
}

/// The file or the unpacked FMU of a path; of a file in an archive the archive, and where it is in there. None for folders that hold a
/// system: what of them is read has paths of its own.
fn on_disk(path: &Path) -> Option<(PathBuf, Option<PathBuf>)> {
    if path.is_dir() {
        return path.join(FMU_DESCRIPTION).is_file().then(|| (path.to_owned(), None));
    }
    let archive = path.ancestors().skip(1).find(|folder| folder.is_file());
    match archive {
        Some(archive) => Some((archive.to_owned(), path.strip_prefix(archive).ok().map(Path::to_owned))),
        None => Some((path.to_owned(), None)),
    }
}

/// What an unpacked FMU has.
const FMU_DESCRIPTION: &str = "modelDescription.xml";

/// Parameters, mappings and nested structures that a structure of SSP or OSP may name: all that lie beside or below it.
fn beside(system: &Path) -> Vec<PathBuf> {
    if !System::is_structure(system) {
        return Vec::new();
    }
    let folder = match system.is_dir() {
        true => Some(system),
        // An archive is hashed as a whole.
        false => system.parent().filter(|_| system.is_file() && !System::is_archive(system)),
    };
    let mut found = Vec::new();
    if let Some(folder) = folder {
        structures(folder, DEPTH, &mut found);
    }
    found.sort();
    found
}

/// Folders below a structure that are looked at.
const DEPTH: u32 = 3;

fn structures(folder: &Path, depth: u32, found: &mut Vec<PathBuf>) {
    for path in std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
        let is_one = |e: &std::ffi::OsStr| STRUCTURES.iter().any(|known| e.eq_ignore_ascii_case(known));
        if path.is_dir() {
            if depth > 0 && !path.join(FMU_DESCRIPTION).is_file() {
                structures(&path, depth - 1, found);
            }
        } else if path.extension().is_some_and(is_one) {
            found.push(path);
        }
    }
}

/// Extensions of the files of a structure.
const STRUCTURES: [&str; 6] = ["ssd", "ssv", "ssm", "ssb", "ssp", "xml"];

/// What is put over the system, apart from files.
fn common(options: &RunOptions) -> String {
    let RunOptions { begin_time, end_time, duration, step_size, output_interval, tolerance, .. } = options;
    let numbers = [begin_time, end_time, duration, step_size, output_interval, tolerance];
    let mut text = String::new();
    for number in numbers {
        text += &number.map_or("-\n".to_owned(), |x| format!("{:016x}\n", x.to_bits()));
    }
    let mut set = options.set.clone();
    set.sort();
    text += &format!("{:?} {} {:?}\n", set, options.allow_nonfinite, options.verify);
    text += &format!("{:?} {:?} {:?}\n", options.max_error, options.max_energy_residual, options.error);
    text
}

/// Of a file, or of all files below a folder with their names.
fn hash_of(path: &Path, files: &mut Vec<(PathBuf, Stamp)>) -> io::Result<String> {
    let mut hash = Sha256::new();
    if path.is_dir() {
        let mut names: Vec<PathBuf> =
            std::fs::read_dir(path)?.map(|entry| entry.map(|e| e.path())).collect::<io::Result<_>>()?;
        names.sort();
        for inner in names {
            let name = inner.file_name().unwrap_or_default().to_string_lossy().into_owned();
            hash.update(format!("{name} {}\n", hash_of(&inner, files)?));
        }
        return Ok(hex(hash));
    }
    files.push((path.to_owned(), stamp_of(path)?));
    let mut file = File::open(path)?;
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hex(hash)),
            n => hash.update(&buffer[..n]),
        }
    }
}

fn stamp_of(path: &Path) -> io::Result<Stamp> {
    let metadata = std::fs::metadata(path)?;
    Ok(Stamp { length: metadata.len(), modified: metadata.modified().ok() })
}

/// In hexadecimal digits.
pub fn hex(hash: Sha256) -> String {
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
