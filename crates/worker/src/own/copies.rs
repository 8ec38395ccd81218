//! FMUs on another host: each is sent once, and found again by its content.

use super::frames::Kind;
use super::wire::{Garbled, Reader, Write};
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::{self, Read, Write as _};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of a file in one message.
const PART: usize = 1 << 18;
/// Folders in folders.
const DEEPEST: usize = 32;

/// An FMU as it is sent: its name, its files, and what it is known by.
pub(crate) struct Parcel {
    root: PathBuf,
    name: String,
    /// Relative to the root, sorted; a single empty one where the root is a file.
    files: Vec<PathBuf>,
    hash: String,
}

impl Parcel {
    /// Reads all of it once, for its hash.
    pub fn new(root: &Path) -> io::Result<Self> {
        let root = std::path::absolute(root)?;
        let name = root.file_name().and_then(|name| name.to_str());
        let name = name.ok_or_else(|| io::Error::other("its name is not a text"))?.to_owned();
        let mut files = Vec::new();
        if root.is_dir() {
            list(&root, Path::new(""), 0, &mut files)?
        } else {
            files.push(PathBuf::new())
        }
        files.sort();
        let mut hash = Sha256::new();
        let mut buffer = vec![0; PART];
        for file in &files {
            let path = root.join(file);
            let path = if file.as_os_str().is_empty() { &root } else { &path };
            let mut from = File::open(path)?;
            head(&mut hash, file, from.metadata()?.len());
            loop {
                match from.read(&mut buffer)? {
                    0 => break,
                    n => hash.update(&buffer[..n]),
                }
            }
        }
        Ok(Parcel { root, name, files, hash: hex(hash) })
    }

    /// What the other side is asked for.
    pub fn question(&self) -> Vec<u8> {
        let mut out = Vec::new();
        out.text(&self.hash);
        out.text(&self.name);
        out
    }

    /// Sends all files through `send`.
    pub fn send(&self, send: &mut dyn FnMut(Kind, &[u8]) -> io::Result<()>) -> io::Result<()> {
        let mut buffer = vec![0; PART];
        for file in &self.files {
            let path = if file.as_os_str().is_empty() { self.root.clone() } else { self.root.join(file) };
            let mut from = File::open(path)?;
            let mut content = Vec::new();
            content.text(&file.to_string_lossy());
            content.u64(from.metadata()?.len());
            send(Kind::File, &content)?;
            loop {
                match from.read(&mut buffer)? {
                    0 => break,
                    n => send(Kind::Data, &buffer[..n])?,
                }
            }
        }
        send(Kind::End, &[])
    }
}

fn list(root: &Path, folder: &Path, depth: usize, files: &mut Vec<PathBuf>) -> io::Result<()> {
    if depth > DEEPEST {
        return Err(io::Error::other("its folders are too deep"));
    }
    for entry in fs::read_dir(root.join(folder))? {
        let entry = entry?;
        let path = folder.join(entry.file_name());
        let kind = fs::metadata(entry.path())?;
        if kind.is_dir() {
            list(root, &path, depth + 1, files)?;
        } else if kind.is_file() {
            files.push(path);
        }
    }
    Ok(())
}

/// What a hash is made of beside the bytes of files.
fn head(hash: &mut Sha256, file: &Path, bytes: u64) {
    let name = file.to_string_lossy();
    hash.update((name.len() as u64).to_le_bytes());
    hash.update(name.as_bytes());
    hash.update(bytes.to_le_bytes());
}

fn hex(hash: Sha256) -> String {
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The side that keeps copies.
pub(crate) struct Copies {
    folder: PathBuf,
    incoming: Option<Incoming>,
}

/// A copy that is being made.
struct Incoming {
    hash: String,
    name: String,
    folder: PathBuf,
    file: Option<File>,
    /// Bytes of the file that are missing.
    rest: u64,
    sum: Sha256,
}

/// A copy that is not completed leaves nothing.
impl Drop for Incoming {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl Copies {
    /// In the folder of the user for what can be made again.
    pub fn new() -> Result<Self, String> {
        let folder = powerbond::system::cache();
        let missing =
            "there is no folder for copies of FMUs: set HOME, XDG_CACHE_HOME or POWERBOND_CACHE there";
        Ok(Copies { folder: folder.ok_or(missing)?.join("fmus"), incoming: None })
    }

    /// Does what a message asks for; what to answer, if that is anything.
    pub fn take(&mut self, kind: Kind, content: &[u8]) -> Result<Option<(Kind, Vec<u8>)>, String> {
        let garbled = |garbled: Garbled| garbled.to_string();
        match kind {
            Kind::Have => {
                let mut from = Reader::new(content);
                let (hash, name) = (from.text().map_err(garbled)?, from.text().map_err(garbled)?);
                self.have(hash, name).map(Some)
            }
            Kind::File => {
                let mut from = Reader::new(content);
                let (path, bytes) = (from.text().map_err(garbled)?, from.u64().map_err(garbled)?);
                self.begin_file(Path::new(&path), bytes).map(|()| None)
            }
            Kind::Data => self.data(content).map(|()| None),
            _ => self.end().map(Some),
        }
    }

    fn have(&mut self, hash: String, name: String) -> Result<(Kind, Vec<u8>), String> {
        let is_hash = hash.len() == 64 && hash.bytes().all(|b| b.is_ascii_hexdigit());
        if !is_hash || !is_inside(Path::new(&name)) || Path::new(&name).components().count() != 1 {
            return Err(format!("`{name}` is not the name of an FMU"));
        }
        let path = self.folder.join(&hash).join(&name);
        if path.exists() {
            return Ok((Kind::Stored, path.as_os_str().as_encoded_bytes().to_vec()));
        }
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = self.folder.join(format!("new-{}-{number}", std::process::id()));
        let mut builder = fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.recursive(true).create(&folder).map_err(|e| cannot(&folder, &e))?;
        let sum = Sha256::new();
        self.incoming = Some(Incoming { hash, name, folder, file: None, rest: 0, sum });
        Ok((Kind::Missing, Vec::new()))
    }

    fn incoming(&mut self) -> Result<&mut Incoming, String> {
        self.incoming.as_mut().ok_or_else(|| Garbled.to_string())
    }

    fn begin_file(&mut self, file: &Path, bytes: u64) -> Result<(), String> {
        let incoming = self.incoming()?;
        if incoming.rest > 0 || !(file.as_os_str().is_empty() || is_inside(file)) {
            return Err(Garbled.to_string());
        }
        head(&mut incoming.sum, file, bytes);
        let mut path = incoming.folder.join(&incoming.name);
        if !file.as_os_str().is_empty() {
            path.push(file);
        }
        let made = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| File::create_new(&path));
        incoming.file = Some(made.map_err(|e| cannot(&path, &e))?);
        incoming.rest = bytes;
        Ok(())
    }

    fn data(&mut self, bytes: &[u8]) -> Result<(), String> {
        let incoming = self.incoming()?;
        let Some(rest) = incoming.rest.checked_sub(bytes.len() as u64) else {
            return Err(Garbled.to_string());
        };
        incoming.rest = rest;
        incoming.sum.update(bytes);
        let folder = incoming.folder.clone();
        let file = incoming.file.as_mut().ok_or_else(|| Garbled.to_string())?;
        file.write_all(bytes).map_err(|e| cannot(&folder, &e))
    }

    fn end(&mut self) -> Result<(Kind, Vec<u8>), String> {
        let incoming = self.incoming.take().ok_or_else(|| Garbled.to_string())?;
        let found = hex(incoming.sum.clone());
        if incoming.rest > 0 || found != incoming.hash {
            return Err("the copy of the FMU differs: its file changed while it was sent".to_owned());
        }
        let place = self.folder.join(&incoming.hash);
        let path = place.join(&incoming.name);
        // Another run may have been faster: then it is there, and ours is removed.
        let _ = fs::create_dir(&place);
        let moved = fs::rename(incoming.folder.join(&incoming.name), &path);
        match moved {
            Err(error) if !path.exists() => Err(cannot(&path, &error)),
            _ => Ok((Kind::Stored, path.as_os_str().as_encoded_bytes().to_vec())),
        }
    }
}

fn is_inside(path: &Path) -> bool {
    path.components().next().is_some() && path.components().all(|part| matches!(part, Component::Normal(_)))
}

fn cannot(path: &Path, error: &io::Error) -> String {
    format!("cannot write {} there: {error}", path.display())
}

#[cfg(test)]
mod tests {
    use super::super::frames;
    use super::*;

    /// Sends what is missing.
    fn send_all(parcel: &Parcel, copies: &mut Copies) -> Result<(Kind, Vec<u8>), String> {
        let mut last = copies.take(Kind::Have, &parcel.question())?;
        if last.as_ref().is_some_and(|(kind, _)| *kind == Kind::Missing) {
            let mut refused = Ok(());
            let mut take = |kind: Kind, content: &[u8]| {
                let frame = frames::frame(kind, content);
                let (kind, content) = frames::receive(&mut frame.as_slice())?;
                match copies.take(kind, &content) {
                    Ok(answer) => last = answer,
                    Err(why) => refused = Err(why),
                }
                Ok(())
            };
            parcel.send(&mut take).map_err(|e| e.to_string())?;
            refused?;
        }
        last.ok_or_else(|| "no answer".to_owned())
    }

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("powerbond-copies-{}-{name}", std::process::id()));
            fs::create_dir_all(&path).unwrap();
            Folder(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn files_and_folders_are_copied_once_and_found_by_content() {
        let work = Folder::new("once");
        let file = work.0.join("plant.fmu");
        let bytes: Vec<u8> = (0..3 * PART as u32 + 17).map(|i| (i % 253) as u8).collect();
        fs::write(&file, &bytes).unwrap();
        let folder = work.0.join("open");
        fs::create_dir_all(folder.join("binaries/linux64")).unwrap();
        fs::write(folder.join("modelDescription.xml"), "<x/>").unwrap();
        fs::write(folder.join("binaries/linux64/x.so"), "").unwrap();
        let mut copies = Copies { folder: work.0.join("cache/fmus"), incoming: None };
        let path_of = |answer: (Kind, Vec<u8>)| {
            assert_eq!(answer.0, Kind::Stored);
            PathBuf::from(String::from_utf8(answer.1).unwrap())
        };
        let first = path_of(send_all(&Parcel::new(&file).unwrap(), &mut copies).unwrap());
        assert_eq!(fs::read(&first).unwrap(), bytes);
        let open = path_of(send_all(&Parcel::new(&folder).unwrap(), &mut copies).unwrap());
        assert_eq!(fs::read(open.join("modelDescription.xml")).unwrap(), b"<x/>");
        assert!(open.join("binaries/linux64/x.so").is_file());
        // Once more: nothing is asked for. Another content: another copy.
        let again = copies.take(Kind::Have, &Parcel::new(&file).unwrap().question()).unwrap().unwrap();
        assert_eq!(path_of(again), first);
        fs::write(&file, "other").unwrap();
        assert_ne!(path_of(send_all(&Parcel::new(&file).unwrap(), &mut copies).unwrap()), first);
        let left = fs::read_dir(&copies.folder).unwrap().flatten();
        assert!(!left.into_iter().any(|entry| entry.file_name().to_string_lossy().starts_with("new-")));
    }

    #[test]
    fn nothing_is_written_elsewhere_and_what_differs_is_refused() {
        let work = Folder::new("outside");
        let mut copies = Copies { folder: work.0.join("fmus"), incoming: None };
        let question = |hash: &str, name: &str| {
            let mut out = Vec::new();
            out.text(hash);
            out.text(name);
            out
        };
        let hash = "0".repeat(64);
        for (hash, name) in [("../../x", "a.fmu"), (&*hash, "../a.fmu"), (&hash, ""), (&hash, "/etc/x")] {
            assert!(copies.take(Kind::Have, &question(hash, name)).is_err(), "{hash}, {name}");
        }
        let missing = copies.take(Kind::Have, &question(&hash, "a.fmu")).unwrap();
        assert_eq!(missing.map(|(kind, _)| kind), Some(Kind::Missing));
        let mut escapes = Vec::new();
        escapes.text("../../out");
        escapes.u64(0);
        assert!(copies.take(Kind::File, &escapes).is_err());
        assert!(copies.take(Kind::Data, b"x").is_err());
        assert!(copies.take(Kind::End, &[]).unwrap_err().contains("differs"));
        assert!(!work.0.join("out").exists());
        assert_eq!(fs::read_dir(&copies.folder).unwrap().count(), 0);
    }
}
