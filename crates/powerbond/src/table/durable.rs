//! Files that are on disk, whole, before anybody is told that they are there.

use crate::Error;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// A file on its way to its name, one per process: `.powerbond-<id>.part`.
fn part(folder: &Path) -> PathBuf {
    folder.join(format!("{PART}{}{PART_END}", std::process::id()))
}

const PART: &str = ".powerbond-";
const PART_END: &str = ".part";

/// Whether a file of this name was on its way to another one when its process was killed.
pub fn is_part(name: &str) -> bool {
    let id = name.strip_prefix(PART).and_then(|rest| rest.strip_suffix(PART_END));
    id.is_some_and(|id| !id.is_empty() && id.bytes().all(|b| b.is_ascii_digit()))
}

/// Puts what was written to a file on disk, and not only into the memory of the system.
pub fn sync(file: &File) -> io::Result<()> {
    tolerated(file.sync_all())
}

/// Puts the names of the files in a folder on disk.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    // Elsewhere folders are no files that can be opened.
    if cfg!(unix) { tolerated(File::open(folder)?.sync_all()) } else { Ok(()) }
}

/// Some file systems cannot, which is no failure.
fn tolerated(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(e) if matches!(e.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => Ok(()),
        result => result,
    }
}

/// Writes a file in one go: half of it is never seen, and after a power cut it is the old or the new one. Nothing is
/// written through links: a link of that name is replaced, a hard link keeps its other names' content.
pub fn replace(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let part = part(folder);
    let write = || {
        let _ = std::fs::remove_file(&part);
        let mut file = OpenOptions::new().write(true).create_new(true).open(&part)?;
        file.write_all(text.as_bytes())?;
        sync(&file)?;
        std::fs::rename(&part, path)
    };
    write().inspect_err(|_| {
        let _ = std::fs::remove_file(&part);
    })?;
    sync_folder(folder)
}

/// The start of a file, in which a mark must be.
const START: u64 = 1 << 16;

/// Whether a file has a mark in its first bytes. Links have none.
pub fn has_mark(path: &Path, mark: &str) -> bool {
    let mut start = Vec::new();
    std::fs::symlink_metadata(path).is_ok_and(|m| m.is_file())
        && File::open(path).is_ok_and(|file| file.take(START).read_to_end(&mut start).is_ok())
        && String::from_utf8_lossy(&start).contains(mark)
}

/// Whether a file may be written: one that is there must have `mark`, which says that powerbond made it, or it may be
/// overwritten. Links are refused.
pub fn may_replace(path: &Path, mark: &str, overwrite: bool) -> Result<(), Error> {
    let refuse = |why: &str| Err(Error::input(None, format!("{}: {why}", path.display())));
    match std::fs::symlink_metadata(path) {
        Err(_) => Ok(()),
        Ok(there) if there.is_symlink() => refuse(LINK),
        Ok(there) if there.is_dir() => Err(Error::output(path, &io::ErrorKind::IsADirectory.into())),
        Ok(there) if !there.is_file() => refuse("this is not a regular file"),
        Ok(_) if overwrite || has_mark(path, mark) => Ok(()),
        Ok(_) => refuse(
            "this file was not made by powerbond. Choose another name, or replace it with `--overwrite`",
        ),
    }
}

/// Why a link is refused.
pub const LINK: &str =
    "nothing is written through a symbolic link. Name the file that it leads to, or remove the link";

/// [`may_replace`], then writes the file, whole or not at all.
pub fn write_file(path: &Path, text: &str, mark: &str, overwrite: bool) -> Result<(), Error> {
    may_replace(path, mark, overwrite)?;
    replace(path, text).map_err(|e| Error::output(path, &e))
}
