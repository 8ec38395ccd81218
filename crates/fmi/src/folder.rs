//! A private folder that is removed with its owner; folders that killed processes left behind are swept.

use crate::error::ArchiveError;
use fs4::{FileExt, TryLockError};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

static NUMBER: AtomicU64 = AtomicU64::new(0);
static SWEEP: Once = Once::new();

/// Says who owns the folder that it is in, and is locked as long as the owner lives.
const OWNER: &str = ".powerbond-owner";

const PREFIX: &str = "powerbond-fmu-";

/// What cannot be told otherwise is stale after this time.
const OLD: Duration = Duration::from_secs(2 * 86400);

/// A folder under the system's temporary folder, readable by this user only, removed on drop.
///
/// Its name is `powerbond-fmu-<process namespace>-<process id>-<number>`. The temporary folder may be shared by containers and by
/// the machines of a cluster, where a process id says nothing: the file [`OWNER`] in it is locked by its owner, and names the machine
/// and when that was started.
#[derive(Debug)]
pub struct PrivateFolder {
    path: PathBuf,
    /// Closing it gives the lock back.
    _owner: File,
}

impl PrivateFolder {
    /// Makes a new, empty folder. The first call in a process sweeps stale ones.
    pub fn new() -> Result<Self, ArchiveError> {
        let root = std::env::temp_dir();
        SWEEP.call_once(|| sweep(&root));
        loop {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let path = root.join(format!("{PREFIX}{}-{}-{number}", namespace(), std::process::id()));
            match create_private(&path).and_then(|()| own(&path)) {
                Ok(_owner) => return Ok(PrivateFolder { path, _owner }),
                // A process with this id lived before and left the folder, or somebody sweeps it: take the next number.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < 1 << 20 => {}
                Err(error) => return Err(ArchiveError::Write { path, error }),
            }
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        // What cannot be removed now (a library that is still loaded) is swept by a later process.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Processes of another container have other numbers and must not be judged by ours.
fn namespace() -> String {
    let namespace = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    let digits: String = namespace.to_string_lossy().chars().filter(char::is_ascii_digit).collect();
    if digits.is_empty() { "0".to_owned() } else { digits }
}

/// The machine, and the start of its system: a line that no other machine has, nor this one after a restart.
fn machine() -> String {
    let read = |file: &str| fs::read_to_string(file).unwrap_or_default().trim().to_owned();
    format!("{} {}", read("/proc/sys/kernel/hostname"), read("/proc/sys/kernel/random/boot_id"))
}

fn create_private(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// The lock of a new folder. On a file system without locks it is only the name of the machine that counts.
fn own(folder: &Path) -> io::Result<File> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(folder.join(OWNER))?;
    if let Err(TryLockError::WouldBlock) = FileExt::try_lock(&file) {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    writeln!(file, "{}", machine())?;
    Ok(file)
}

/// Removes what processes that are gone have left in the system's temporary folder.
pub fn sweep_stale() {
    sweep(&std::env::temp_dir());
}

fn sweep(root: &Path) {
    let Ok(entries) = fs::read_dir(root) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(owner) = name.to_str().and_then(|name| name.strip_prefix(PREFIX)) else { continue };
        let is_folder = fs::symlink_metadata(entry.path()).is_ok_and(|m| m.is_dir());
        if is_folder && is_stale(&entry.path(), owner) {
            // Another user's folder refuses; that is right.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Whether the owner of a folder is gone. `owner` is `<process namespace>-<process id>-<number>`.
fn is_stale(folder: &Path, owner: &str) -> bool {
    let mut parts = owner.split('-');
    let (space, id) = (parts.next(), parts.next().and_then(|id| id.parse::<u32>().ok()));
    let Some(id) = id else { return false };
    if space == Some(namespace().as_str()) && id == std::process::id() {
        return false;
    }
    let is_old = || {
        let age = fs::metadata(folder).and_then(|m| m.modified()).ok().and_then(|t| t.elapsed().ok());
        age.is_some_and(|age| age > OLD)
    };
    let Ok(file) = OpenOptions::new().read(true).write(true).open(folder.join(OWNER)) else {
        // It is being made, or belongs to another user.
        return is_old();
    };
    match FileExt::try_lock(&file) {
        Err(TryLockError::WouldBlock) => return false,
        Err(TryLockError::Error(_)) => return is_old(),
        Ok(()) => {}
    }
    let owner = fs::read_to_string(folder.join(OWNER)).unwrap_or_default();
    let (host, boot) = owner.trim().split_once(' ').unwrap_or_default();
    let here = machine();
    match here.split_once(' ') {
        // Locks of other machines may be unknown to this one.
        Some((name, _)) if name != host || boot.is_empty() => is_old(),
        Some((_, now)) if now != boot => true,
        // An FMU may have closed the lock of a process that lives.
        _ if space == Some(namespace().as_str()) => !Path::new("/proc").join(id.to_string()).exists(),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder as a process leaves it: who it says to be, whether it holds the lock, and whether it is swept.
    #[test]
    #[cfg(target_os = "linux")]
    fn a_folder_goes_with_its_owner_and_stale_ones_are_swept() {
        let folder = PrivateFolder::new().unwrap();
        let path = folder.path().to_owned();
        fs::write(path.join("x"), "x").unwrap();
        drop(folder);
        assert!(!path.exists());

        let root = PrivateFolder::new().unwrap();
        let (here, other) = (namespace(), "4026531000".to_owned());
        let (host, _) = machine().split_once(' ').map(|(h, b)| (h.to_owned(), b.to_owned())).unwrap();
        let check = |space: &str, id: u32, owner: Option<&str>, locked: bool, is_swept: bool| {
            let folder = root.path().join(format!("{PREFIX}{space}-{id}-0"));
            fs::create_dir(&folder).unwrap();
            let file = owner.map(|owner| {
                fs::write(folder.join(OWNER), owner).unwrap();
                OpenOptions::new().write(true).open(folder.join(OWNER)).unwrap()
            });
            if let Some(file) = file.as_ref().filter(|_| locked) {
                FileExt::lock(file).unwrap();
            }
            sweep(root.path());
            assert_eq!(!folder.exists(), is_swept, "{space} {id} {owner:?} {locked}");
            let _ = fs::remove_dir_all(folder);
        };
        let now = machine();
        // No process has the highest number that Linux allows; process 1 lives.
        check(&here, 4_194_304, Some(&now), false, true);
        check(&here, 4_194_304, Some(&now), true, false);
        check(&here, 1, Some(&now), false, false);
        check(&other, 1, Some(&now), false, true);
        check(&other, 1, Some(&now), true, false);
        // Another machine, this one before its restart, one that is being made.
        check(&here, 4_194_304, Some("node17 1b4e28ba"), false, false);
        check(&here, 1, Some(&format!("{host} 1b4e28ba")), false, true);
        check(&here, 4_194_304, None, false, false);
        check(&here, 4_194_304, Some(""), false, false);
        let foreign = root.path().join("someone-else");
        fs::create_dir(&foreign).unwrap();
        sweep(root.path());
        assert!(foreign.exists());
    }
}
