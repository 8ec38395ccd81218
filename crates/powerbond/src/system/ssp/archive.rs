//! A system in a zip file: unpacked once, and kept by its content.

use crate::Error;
use powerbond_fmi::{Archive, Limits, Unpacked};
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The folder of an unpacked archive; a private one is removed with the last clone.
#[derive(Clone, Debug)]
pub struct Opened {
    /// Where the files are.
    pub path: PathBuf,
    /// Keeps a private folder.
    pub keep: Option<Arc<Unpacked>>,
}

/// Of nested archives: a name of its own for each that is being unpacked.
static NUMBER: AtomicU64 = AtomicU64::new(0);

/// The folder of the user for what can be made again.
pub fn cache() -> Option<PathBuf> {
    let set = |variable: &str| std::env::var_os(variable).filter(|v| !v.is_empty()).map(PathBuf::from);
    let found = set("POWERBOND_CACHE")
        .or_else(|| Some(set("XDG_CACHE_HOME")?.join("powerbond")))
        .or_else(|| Some(set("HOME")?.join(".cache/powerbond")))?;
    // What is in it is named from elsewhere, too.
    std::path::absolute(found).ok()
}

/// Unpacks the archive at `path`, called `shown` in messages, unless that was done before.
pub fn open(path: &Path, shown: &Path) -> Result<Opened, Error> {
    let fail = |reason: String| Error::input(None, format!("{}: {reason}", shown.display()));
    let archive = || Archive::open(path, Limits::default()).map_err(|e| fail(e.to_string()));
    if let Some(folder) = cache().map(|cache| cache.join("ssp")) {
        let hash = hash(path).map_err(|e| fail(format!("cannot read it: {e}")))?;
        let place = folder.join(&hash);
        if place.is_dir() {
            return Ok(Opened { path: place, keep: None });
        }
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let fresh = folder.join(format!(".{hash}-{}-{number}", std::process::id()));
        if fs::create_dir_all(&fresh).is_ok() {
            let unpacked =
                archive().and_then(|archive| archive.unpack_into(&fresh).map_err(|e| fail(e.to_string())));
            // Somebody else may have been as quick; what is there then is the same.
            let moved = unpacked.map(|()| fs::rename(&fresh, &place).is_ok() || place.is_dir());
            if !matches!(moved, Ok(true)) || fresh.is_dir() {
                let _ = fs::remove_dir_all(&fresh);
            }
            if moved? {
                return Ok(Opened { path: place, keep: None });
            }
        }
    }
    // Without a folder to keep it in, it lives as long as the system.
    let unpacked = archive()?.unpack().map_err(|e| fail(e.to_string()))?;
    Ok(Opened { path: unpacked.path().to_owned(), keep: Some(Arc::new(unpacked)) })
}

/// SHA-256 of a file.
fn hash(path: &Path) -> io::Result<String> {
    let (mut hash, mut file, mut buffer) = (Sha256::new(), File::open(path)?, vec![0; 1 << 20]);
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()),
            n => hash.update(&buffer[..n]),
        }
    }
}
