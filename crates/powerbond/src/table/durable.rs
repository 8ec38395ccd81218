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
    replace_by(path, &part(path.parent().unwrap_or(Path::new(""))), text.as_bytes())
}

/// As [`replace`], by way of a file `part` that nobody else uses.
pub fn replace_by(path: &Path, part: &Path, bytes: &[u8]) -> io::Result<()> {
    write_by(path, part, bytes, sync)?;
    sync_folder(path.parent().unwrap_or(Path::new("")))
}

/// As [`replace`], but not safe from a power cut: for files by the thousand that can be made again. The name of `path` is nobody else's.
pub fn replace_quickly(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut part = path.as_os_str().to_owned();
    part.push(PART_END);
    write_by(path, Path::new(&part), bytes, |_| Ok(()))
}

fn write_by(
    path: &Path,
    part: &Path,
    bytes: &[u8],
    settle: impl Fn(&File) -> io::Result<()>,
) -> io::Result<()> {
    let fill = |file: &mut File| {
        file.write_all(bytes)?;
        settle(file)
    };
    fill_by(path, part, fill, |e| e)
}

/// Opens `part`, has it filled, and gives it its name; `failed` makes an error of those of the file system.
fn fill_by<E>(
    path: &Path,
    part: &Path,
    fill: impl FnOnce(&mut File) -> Result<(), E>,
    failed: impl Fn(io::Error) -> E,
) -> Result<(), E> {
    let write = || {
        let _ = std::fs::remove_file(part);
        let mut file = OpenOptions::new().write(true).create_new(true).open(part).map_err(&failed)?;
        fill(&mut file)?;
        std::fs::rename(part, path).map_err(&failed)
    };
    write().inspect_err(|_| {
        let _ = std::fs::remove_file(part);
    })
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

/// As [`write_file`], piece by piece: `fill` is given what takes the bytes, so that a file of any size needs no memory.
pub fn write_pieces(
    path: &Path,
    mark: &str,
    overwrite: bool,
    fill: impl FnOnce(&mut dyn FnMut(&[u8]) -> Result<(), Error>) -> Result<(), Error>,
) -> Result<(), Error> {
    may_replace(path, mark, overwrite)?;
    let failed = |e: io::Error| Error::output(path, &e);
    let folder = path.parent().unwrap_or(Path::new(""));
    let write = |file: &mut File| {
        let mut buffered = io::BufWriter::with_capacity(PIECE, file);
        fill(&mut |bytes| buffered.write_all(bytes).map_err(failed))?;
        buffered.flush().map_err(failed)?;
        sync(buffered.get_ref()).map_err(failed)
    };
    fill_by(path, &part(folder), write, failed)?;
    sync_folder(folder).map_err(failed)
}

/// Bytes that are written in one go.
const PIECE: usize = 1 << 16;

#[cfg(test)]
mod tests {
    use super::*;

    /// What fails half-way leaves the file as it was, and nothing beside it.
    #[test]
    fn pieces_are_a_whole_file_or_none() {
        let folder = std::env::temp_dir().join(format!("powerbond-pieces-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("table.csv");
        let long = "x".repeat(3 * PIECE);
        write_pieces(&file, "mark", false, |put| {
            put(b"mark")?;
            put(long.as_bytes())
        })
        .unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), format!("mark{long}"));
        let broken = write_pieces(&file, "mark", false, |put| {
            put(long.as_bytes())?;
            Err(Error::input(None, "no more"))
        });
        assert!(broken.unwrap_err().to_string().contains("no more"));
        assert_eq!(std::fs::metadata(&file).unwrap().len(), long.len() as u64 + 4);
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
