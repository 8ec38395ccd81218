//! The folder of a run: used by one run at a time, and nothing that is in it gets lost.

mod wanted;
mod lock;
mod own;
mod history;

use crate::Error;
use crate::table::durable;
use lock::{Attempt, Lock};
use own::Earlier;
use std::io;
use std::path::{Path, PathBuf};

pub use wanted::{Contents, Wanted};

/// A folder that belongs to this process until it is dropped.
///
/// Without a choice of the user the newest run is at `results/<name>`. An earlier one there gets the time of its start as a
/// part of its name, and the last five of these are kept; while another process has the folder, it is `results/<name>-2`.
/// A folder that the user chose is never renamed: if it holds results, or another process has it, it is refused.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    instead_of: Option<PathBuf>,
    earlier: Option<PathBuf>,
    warnings: Vec<String>,
    /// Removed again if nothing gets into it.
    created: bool,
    lock: Option<Lock>,
}

/// Writes a file under a new name: the first free one of `log.txt`, `log-2.txt`, … for the name `("log", "txt")`. Returns its name.
pub(super) fn add(folder: &Path, (stem, extension): (&str, &str), text: &str) -> Result<String, Error> {
    let mut n = 1;
    loop {
        let name = format!("{}.{extension}", history::numbered(Path::new(stem), n).display());
        let path = folder.join(&name);
        match std::fs::File::create_new(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => n += 1,
            created => {
                let write = |mut file: std::fs::File| {
                    io::Write::write_all(&mut file, text.as_bytes()).and_then(|()| durable::sync(&file))
                };
                return created.and_then(write).map(|()| name).map_err(|e| Error::output(&path, &e));
            }
        }
    }
}

impl RunFolder {
    /// Makes the folder and locks it; an earlier run is renamed, or removed if it may be overwritten.
    pub fn claim(wanted: &Wanted) -> Result<Self, Error> {
        wanted.check()?;
        let claimed = if wanted.chosen { Self::chosen(wanted) } else { Self::first_free(wanted) }?;
        if let Some(output) = &wanted.output {
            let folder = output.parent().unwrap_or(Path::new(""));
            std::fs::create_dir_all(folder).map_err(|e| Error::output(folder, &e))?;
            remove(&wanted.replaced_outputs()?)?;
        }
        Ok(claimed)
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The folder that was wanted, if another process has it.
    pub fn instead_of(&self) -> Option<&Path> {
        self.instead_of.as_deref()
    }

    /// Where the run is now that was here before.
    pub fn earlier(&self) -> Option<&Path> {
        self.earlier.as_deref()
    }

    /// What the user should know: no locks, earlier runs that could not be removed.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Lets others have it; it is known by its path only from now on.
    pub fn release(&mut self) {
        (self.lock, self.created) = (None, false);
    }

    /// It takes the place of `first`, which was claimed for the same run: what that found there is what the user should know.
    pub fn inherit(&mut self, first: &RunFolder) {
        (self.instead_of, self.earlier) = (first.instead_of.clone(), first.earlier.clone());
    }

    /// Writes a file whole: after a crash there is the old or the new one, and never half of it.
    pub fn replace(&self, name: &str, text: &str) -> Result<(), Error> {
        let path = self.path.join(name);
        durable::replace(&path, text).map_err(|e| Error::output(&path, &e))
    }

    /// Writes a file under a new name: see [`add`].
    pub fn add(&self, name: (&str, &str), text: &str) -> Result<String, Error> {
        add(&self.path, name, text)
    }

    /// Puts the names of all files on disk, those of `outside`, too.
    pub fn sync(&self, outside: Option<&Path>) -> Result<(), Error> {
        for folder in outside.and_then(Path::parent).into_iter().chain([self.path()]) {
            durable::sync_folder(folder).map_err(|e| Error::output(folder, &e))?;
        }
        Ok(())
    }

    /// A folder that the user chose.
    fn chosen(wanted: &Wanted) -> Result<Self, Error> {
        let folder = &wanted.folder;
        let Some(claimed) = Self::take(folder)? else { return Err(wanted.in_use()) };
        if !wanted.overwrite && !wanted.held(folder).is_empty() {
            return Err(wanted.refused());
        }
        remove(&wanted.replaced(folder)?)?;
        Ok(claimed)
    }

    /// The default folder, or the first one beside it that no other process has.
    fn first_free(wanted: &Wanted) -> Result<Self, Error> {
        let mut n = 1;
        loop {
            match Self::numbered(n, wanted)? {
                Some(claimed) => return Ok(claimed),
                None => n += 1,
            }
        }
    }

    /// The default folder, or the n-th one beside it; `None`: another process has it, or it is something else.
    fn numbered(n: u32, wanted: &Wanted) -> Result<Option<Self>, Error> {
        let base = &wanted.folder;
        let folder = history::numbered(base, n);
        let mut moved = None;
        loop {
            let Some(mut claimed) = Self::take(&folder)? else { return Ok(None) };
            let held = wanted.held(&folder);
            // The first one is this system's by its name. Others may be anything.
            let ours = n == 1
                || is_empty(&folder)
                || Earlier::read(&folder).is_some_and(|earlier| earlier.system == wanted.system);
            if !ours {
                return Ok(None);
            }
            if wanted.overwrite || held.is_empty() {
                remove(&wanted.replaced(&folder)?)?;
                if moved.is_some() {
                    claimed.warnings.extend(history::prune(base, &wanted.system));
                }
                claimed.earlier = moved;
                claimed.instead_of = (n > 1).then(|| base.clone());
                return Ok(Some(claimed));
            }
            if cfg!(windows) {
                // No folder is renamed there while a file in it is open.
                claimed.lock = None;
            }
            let to = history::rename(&folder, base, &held).map_err(|e| Error::output(&folder, &e))?;
            claimed.created = false;
            if let Some(lock) = &mut claimed.lock {
                lock.follow(&to);
            }
            moved = Some(to);
        }
    }

    /// Makes and locks a folder; `None` if another process has it.
    fn take(folder: &Path) -> Result<Option<Self>, Error> {
        let cannot = |e: io::Error| Error::output(folder, &e);
        for _ in 0..ATTEMPTS {
            let created = !folder.exists();
            match std::fs::create_dir_all(folder) {
                // It was there, and was renamed before it was seen to be a folder.
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists && may_be_folder(folder) => continue,
                made => made.map_err(cannot)?,
            }
            match Lock::attempt(folder).map_err(cannot)? {
                Attempt::Busy => return Ok(None),
                Attempt::Gone => {}
                Attempt::Taken(lock) => {
                    let missing = lock.missing.as_ref().map(|e| {
                        format!(
                            "{} cannot be locked ({e}): another run that writes there at the same time would \
                             not be noticed",
                            folder.display()
                        )
                    });
                    return Ok(Some(RunFolder {
                        path: folder.to_owned(),
                        instead_of: None,
                        earlier: None,
                        warnings: missing.into_iter().collect(),
                        created,
                        lock: Some(lock),
                    }));
                }
            }
        }
        Err(cannot(io::Error::other("other processes keep renaming or removing this folder")))
    }
}

/// How often others may rename a folder between making and locking it.
const ATTEMPTS: usize = 100;

impl Drop for RunFolder {
    fn drop(&mut self) {
        self.lock = None;
        if self.created {
            // Fails if there is anything in it, as is meant.
            let _ = std::fs::remove_dir(&self.path);
        }
    }
}

/// Whether it is a folder, or nothing.
fn may_be_folder(path: &Path) -> bool {
    path.symlink_metadata().map_or_else(|e| e.kind() == io::ErrorKind::NotFound, |found| found.is_dir())
}

/// Nothing is in it, but for a lock.
fn is_empty(folder: &Path) -> bool {
    let mut entries = std::fs::read_dir(folder).into_iter().flatten();
    entries.all(|entry| entry.is_ok_and(|entry| entry.file_name() == lock::LOCK))
}

fn remove(files: &[PathBuf]) -> Result<(), Error> {
    files.iter().try_for_each(|file| std::fs::remove_file(file).map_err(|e| Error::output(file, &e)))
}

#[cfg(test)]
mod tests;
