//! A private folder that is removed with its owner; folders that killed processes left behind are swept.

use crate::error::ArchiveError;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};

static NUMBER: AtomicU64 = AtomicU64::new(0);
static SWEEP: Once = Once::new();

/// A folder under the system's temporary folder, readable by this user only, removed on drop.
///
/// Its name is `powerbond-fmu-<process namespace>-<process id>-<number>`, so that the next process can tell whether
/// the owner still lives.
#[derive(Debug)]
pub struct PrivateFolder {
    path: PathBuf,
}

impl PrivateFolder {
    /// Makes a new, empty folder. The first call in a process sweeps stale ones.
    pub fn new() -> Result<Self, ArchiveError> {
        let root = std::env::temp_dir();
        SWEEP.call_once(|| sweep(&root));
        loop {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let path = root.join(format!("{}{}-{number}", prefix(), std::process::id()));
            match create_private(&path) {
                Ok(()) => return Ok(PrivateFolder { path }),
                // A process with this id lived before and left the folder: take the next number.
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists && number < 1 << 20 => {}
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

fn prefix() -> String {
    // Processes of another container have other numbers and must not be judged by ours.
    let namespace = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    let digits: String = namespace.to_string_lossy().chars().filter(char::is_ascii_digit).collect();
    format!("powerbond-fmu-{}-", if digits.is_empty() { "0" } else { &digits })
}

fn create_private(path: &Path) -> std::io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Removes what processes that are gone have left in the system's temporary folder.
pub fn sweep_stale() {
    sweep(&std::env::temp_dir());
}

/// Removes folders in `root` whose process is gone. Without `/proc`, those older than two days.
fn sweep(root: &Path) {
    let Ok(entries) = fs::read_dir(root) else { return };
    let prefix = prefix();
    let has_proc = Path::new("/proc/self").exists();
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(rest) = name.to_str().and_then(|name| name.strip_prefix(&prefix)) else { continue };
        let Some(id) = rest.split('-').next().and_then(|id| id.parse::<u32>().ok()) else { continue };
        let is_own_folder = entry.metadata().is_ok_and(|m| m.is_dir()) && id != std::process::id();
        let stale = if has_proc {
            !Path::new("/proc").join(id.to_string()).exists()
        } else {
            let age = entry.metadata().and_then(|m| m.modified()).ok().and_then(|t| t.elapsed().ok());
            age.is_some_and(|age| age.as_secs() > 2 * 86400)
        };
        if is_own_folder && stale {
            // Another user's folder refuses; that is right.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_goes_with_its_owner_and_stale_ones_are_swept() {
        let folder = PrivateFolder::new().unwrap();
        let path = folder.path().to_owned();
        fs::write(path.join("x"), "x").unwrap();
        drop(folder);
        assert!(!path.exists());

        // No process has the highest number that Linux allows.
        let root = PrivateFolder::new().unwrap();
        let stale = root.path().join(format!("{}4194304-0", prefix()));
        let live = root.path().join(format!("{}{}-77", prefix(), std::process::id()));
        let foreign = root.path().join("someone-else");
        for folder in [&stale, &live, &foreign] {
            fs::create_dir(folder).unwrap();
        }
        sweep(root.path());
        assert!(!stale.exists() && live.exists() && foreign.exists());
    }
}
