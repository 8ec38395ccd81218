//! The lock of a folder: held by the operating system for a process, and gone with it, however it ends.

use super::own::is_same;
use fs4::{FileExt, TryLockError};
use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// The file that is locked. What a killed process leaves of it is not locked any more.
pub const LOCK: &str = ".powerbond.lock";

/// A folder that belongs to this process until it is dropped.
#[derive(Debug)]
pub struct Lock {
    file: File,
    path: PathBuf,
    /// Why nothing is locked: a file system without locks.
    pub missing: Option<io::Error>,
}

/// What became of the wish for a lock.
#[derive(Debug)]
pub enum Attempt {
    /// The folder is ours.
    Taken(Lock),
    /// It is another process's.
    Busy,
    /// It was renamed or removed in the meantime.
    Gone,
}

impl Lock {
    /// Tries to lock an existing folder.
    pub fn attempt(folder: &Path) -> io::Result<Attempt> {
        let path = folder.join(LOCK);
        // Not truncated, as opening alone must change nothing.
        match OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Attempt::Gone),
            Err(error) => Err(error),
            Ok(file) => Self::of(file, path, FileExt::try_lock),
        }
    }

    /// Whether another process has locked the folder; changes nothing.
    pub fn is_taken(folder: &Path) -> bool {
        let file = OpenOptions::new().read(true).write(true).open(folder.join(LOCK));
        file.is_ok_and(|file| matches!(FileExt::try_lock(&file), Err(TryLockError::WouldBlock)))
    }

    /// The folder has this path now.
    pub fn follow(&mut self, folder: &Path) {
        self.path = folder.join(LOCK);
    }

    fn of(
        file: File,
        path: PathBuf,
        lock: impl FnOnce(&File) -> Result<(), TryLockError>,
    ) -> io::Result<Attempt> {
        let missing = match lock(&file) {
            Ok(()) => None,
            Err(TryLockError::WouldBlock) => return Ok(Attempt::Busy),
            Err(TryLockError::Error(error)) => Some(error),
        };
        // Between opening and locking, the one before may have renamed the folder or removed the file.
        Ok(if is_at(&file, &path) { Attempt::Taken(Lock { file, path, missing }) } else { Attempt::Gone })
    }
}

impl Drop for Lock {
    /// Removed while it is locked: a process that opened it before finds that it is gone, and tries again.
    fn drop(&mut self) {
        if is_at(&self.file, &self.path) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Whether `path` is the name of an open file, and not of another one by now.
fn is_at(file: &File, path: &Path) -> bool {
    let (Ok(open), Ok(named)) = (file.metadata(), std::fs::symlink_metadata(path)) else { return false };
    is_same(&open, &named).unwrap_or(true)
}

#[cfg(test)]
mod tests {
    use super::super::tests::Desk;
    use super::*;

    #[test]
    fn a_folder_has_one_owner_until_that_is_dropped() {
        let desk = Desk::new();
        let Attempt::Taken(first) = Lock::attempt(&desk.0).unwrap() else { panic!("it is free") };
        assert!(matches!(Lock::attempt(&desk.0).unwrap(), Attempt::Busy));
        assert!(Lock::is_taken(&desk.0));
        drop(first);
        assert!(!desk.0.join(LOCK).exists() && !Lock::is_taken(&desk.0));
        assert!(matches!(Lock::attempt(&desk.0).unwrap(), Attempt::Taken(_)));
        assert!(matches!(Lock::attempt(&desk.0.join("nowhere")).unwrap(), Attempt::Gone));
    }

    /// A killed run leaves its file; a file that was replaced between opening and locking locks nothing.
    #[test]
    fn a_file_left_behind_locks_nothing_and_a_replaced_one_is_noticed() {
        let desk = Desk::new();
        desk.write(LOCK, "");
        let old = File::open(desk.0.join(LOCK)).unwrap();
        assert!(matches!(Lock::attempt(&desk.0).unwrap(), Attempt::Taken(_)));
        desk.write(LOCK, "");
        let attempt = Lock::of(old, desk.0.join(LOCK), FileExt::try_lock).unwrap();
        assert!(matches!(attempt, Attempt::Gone));
        assert!(desk.0.join(LOCK).exists(), "what another one made is left alone");
    }

    #[test]
    fn without_locks_there_is_a_reason_and_no_failure() {
        let desk = Desk::new();
        desk.write(LOCK, "");
        let file = File::open(desk.0.join(LOCK)).unwrap();
        let no_locks = |_: &File| Err(TryLockError::Error(io::ErrorKind::Unsupported.into()));
        let Attempt::Taken(lock) = Lock::of(file, desk.0.join(LOCK), no_locks).unwrap() else { panic!() };
        assert!(lock.missing.is_some());
    }
}
