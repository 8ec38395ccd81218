//! An FMU as files: a zip file that is not trusted, or a folder that someone unpacked.

use crate::error::ArchiveError;
use crate::folder::PrivateFolder;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufReader, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use zip::ZipArchive;

/// How much a zip file may hold.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Entries.
    pub entries: usize,
    /// Bytes of one entry, unpacked.
    pub entry_bytes: u64,
    /// Bytes of all entries, unpacked.
    pub total_bytes: u64,
    /// Folders above an entry.
    pub depth: usize,
    /// Unpacked over packed size, of an entry and of all of them, where more than 16 MiB come out. Tables of zeros reach
    /// 1000, programs 5. Entries that overlap count as often as they are there: that is how small files grow large.
    pub ratio: u64,
    /// Bytes of an XML file.
    pub xml_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            entries: 100_000,
            entry_bytes: 4 << 30,
            total_bytes: 8 << 30,
            depth: 32,
            ratio: 500,
            xml_bytes: 512 << 20,
        }
    }
}

/// So many bytes of a library are searched for the names of others.
const SEARCHED: u64 = 64 << 20;

/// What is smaller than this may have any ratio.
const RATIO_COUNTS_FROM: u64 = 16 << 20;

impl Limits {
    /// How much may come out of `packed` bytes.
    fn most_of(&self, packed: u64) -> u64 {
        packed.max(1).saturating_mul(self.ratio).max(RATIO_COUNTS_FROM)
    }
}

/// What came out of a whole file so far.
struct Total {
    bytes: u64,
    /// The size of the file.
    packed: u64,
}

/// An FMU on disk. Opening it looks at all names; nothing is written before [`Archive::unpack`].
pub struct Archive {
    source: Source,
    limits: Limits,
}

enum Source {
    Zip { archive: Box<ZipArchive<BufReader<File>>>, entries: Vec<Entry>, bytes: u64 },
    Folder(PathBuf),
}

struct Entry {
    /// With `/` between folders, relative, checked.
    name: String,
    is_folder: bool,
}

/// Where the files of an FMU are while it is in use.
#[derive(Debug)]
pub enum Unpacked {
    /// Removed when the last user goes.
    Private(PrivateFolder),
    /// The user's own; left alone.
    Folder(PathBuf),
}

impl Unpacked {
    /// The folder that holds `modelDescription.xml`.
    pub fn path(&self) -> &Path {
        match self {
            Unpacked::Private(folder) => folder.path(),
            Unpacked::Folder(path) => path,
        }
    }
}

impl Archive {
    /// Opens a `.fmu` file or an unpacked folder and checks the names, kinds and number of its entries.
    pub fn open(path: &Path, limits: Limits) -> Result<Self, ArchiveError> {
        if path.is_dir() {
            let path = std::path::absolute(path).map_err(ArchiveError::open(path))?;
            return Ok(Archive { source: Source::Folder(path), limits });
        }
        // Before it is opened: a pipe would wait for somebody who writes to it.
        if !fs::metadata(path).map_err(ArchiveError::open(path))?.is_file() {
            return Err(ArchiveError::NoFile);
        }
        let file = File::open(path).map_err(ArchiveError::open(path))?;
        let bytes = file.metadata().map_err(ArchiveError::open(path))?.len();
        let mut archive =
            ZipArchive::new(BufReader::new(file)).map_err(|e| ArchiveError::NotZip(e.to_string()))?;
        if archive.len() > limits.entries {
            return Err(ArchiveError::TooMany { count: archive.len(), limit: limits.entries });
        }
        if let Some(entry) =
            repeated(path, archive.central_directory_start()).map_err(ArchiveError::open(path))?
        {
            return Err(ArchiveError::Twice { entry });
        }
        let mut entries = Vec::with_capacity(archive.len());
        let mut seen = BTreeSet::new();
        for index in 0..archive.len() {
            let entry = check_entry(&mut archive, index, &limits)?;
            // Others may take the one of two descriptions whose name is written in other letters.
            let is_description = entry.name.eq_ignore_ascii_case("modelDescription.xml");
            let name = if is_description { entry.name.to_ascii_lowercase() } else { entry.name.clone() };
            if !seen.insert(name) && !entry.is_folder {
                return Err(ArchiveError::Twice { entry: entry.name });
            }
            entries.push(entry);
        }
        Ok(Archive { source: Source::Zip { archive: Box::new(archive), entries, bytes }, limits })
    }

    /// The names of the folders in `binaries`, one per platform.
    pub fn platforms(&self) -> Vec<String> {
        let mut found = BTreeSet::new();
        match &self.source {
            Source::Folder(root) => {
                let folders = fs::read_dir(root.join("binaries")).into_iter().flatten().flatten();
                found.extend(folders.map(|folder| folder.file_name().to_string_lossy().into_owned()));
            }
            Source::Zip { entries, .. } => {
                let inside = entries.iter().filter_map(|entry| entry.name.strip_prefix("binaries/"));
                found.extend(
                    inside.filter_map(|path| path.split_once('/')).map(|(platform, _)| platform.to_owned()),
                );
            }
        }
        found.into_iter().collect()
    }

    /// The bytes of an XML file, or `None` if there is no such entry.
    pub fn xml(&mut self, name: &str) -> Result<Option<Vec<u8>>, ArchiveError> {
        let limit = self.limits.xml_bytes;
        let too_big = || ArchiveError::TooBig { entry: name.to_owned(), limit };
        let failed =
            |e: std::io::Error| ArchiveError::Entry { entry: name.to_owned(), message: e.to_string() };
        let mut bytes = Vec::new();
        match &mut self.source {
            Source::Folder(root) => {
                let file = match File::open(root.join(name)) {
                    // A link to a device or a pipe.
                    Ok(file) if !file.metadata().map_err(failed)?.is_file() => {
                        return Err(ArchiveError::Special { entry: name.to_owned() });
                    }
                    Ok(file) => file,
                    Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
                    Err(error) => return Err(failed(error)),
                };
                file.take(limit + 1).read_to_end(&mut bytes).map_err(failed)?;
            }
            Source::Zip { archive, entries, .. } => {
                let Some(index) = entries.iter().position(|e| e.name == name) else { return Ok(None) };
                let file = archive
                    .by_index(index)
                    .map_err(|e| ArchiveError::Entry { entry: name.to_owned(), message: e.to_string() })?;
                let packed = file.compressed_size();
                bytes.reserve(file.size().min(RATIO_COUNTS_FROM) as usize);
                let most = self.limits.most_of(packed).min(limit);
                file.take(most + 1).read_to_end(&mut bytes).map_err(failed)?;
                if bytes.len() as u64 > most && most < limit {
                    let (entry, bytes) = (name.to_owned(), bytes.len() as u64);
                    return Err(ArchiveError::Ratio { entry, bytes, limit: self.limits.ratio });
                }
            }
        }
        if bytes.len() as u64 > limit { Err(too_big()) } else { Ok(Some(bytes)) }
    }

    /// Whether a file in one of these folders of `binaries` names `word`: in its own name, or in its bytes, where a library has the
    /// names of those that it needs. What cannot be read does not.
    pub fn binaries_name(&mut self, folders: &[&str], word: &str) -> bool {
        let is_in = |file: &mut dyn Read| {
            let mut bytes = Vec::new();
            file.take(SEARCHED).read_to_end(&mut bytes).is_ok()
                && bytes.windows(word.len()).any(|part| part == word.as_bytes())
        };
        match &mut self.source {
            Source::Folder(root) => folders.iter().any(|folder| {
                let files = fs::read_dir(root.join("binaries").join(folder)).into_iter().flatten().flatten();
                files.map(|file| file.path()).filter(|path| path.is_file()).any(|path| {
                    path.file_name().is_some_and(|name| name.to_string_lossy().contains(word))
                        || File::open(&path).is_ok_and(|mut file| is_in(&mut file))
                })
            }),
            Source::Zip { archive, entries, .. } => entries.iter().enumerate().any(|(index, entry)| {
                let inside = entry.name.strip_prefix("binaries/").and_then(|path| path.split_once('/'));
                let Some((folder, file)) = inside.filter(|_| !entry.is_folder) else { return false };
                folders.contains(&folder)
                    && (file.contains(word) || archive.by_index(index).is_ok_and(|mut file| is_in(&mut file)))
            }),
        }
    }

    /// The names of the files of a zip file, with `/` between folders.
    pub fn names(&self) -> Vec<&str> {
        match &self.source {
            Source::Folder(_) => Vec::new(),
            Source::Zip { entries, .. } => {
                entries.iter().filter(|entry| !entry.is_folder).map(|entry| entry.name.as_str()).collect()
            }
        }
    }

    /// A folder in the archive that holds `name`, if it is not where it belongs.
    pub fn folder_of(&self, name: &str) -> Option<String> {
        let Source::Zip { entries, .. } = &self.source else { return None };
        entries.iter().find_map(|e| e.name.strip_suffix(name)?.strip_suffix('/').map(str::to_owned))
    }

    /// Writes all entries into a private folder; an unpacked folder is used where it is.
    pub fn unpack(self) -> Result<Unpacked, ArchiveError> {
        if let Source::Folder(path) = self.source {
            return Ok(Unpacked::Folder(path));
        }
        let folder = PrivateFolder::new()?;
        self.unpack_into(folder.path())?;
        // Both standards let an FMU without resources be given the folder's name all the same.
        let resources = folder.path().join("resources");
        fs::create_dir_all(&resources).map_err(|error| ArchiveError::Write { path: resources, error })?;
        Ok(Unpacked::Private(folder))
    }

    /// Writes all entries of a zip file into an empty folder.
    pub fn unpack_into(self, folder: &Path) -> Result<(), ArchiveError> {
        let limits = self.limits;
        let (mut archive, entries, packed) = match self.source {
            Source::Folder(_) => return Ok(()),
            Source::Zip { archive, entries, bytes } => (archive, entries, bytes),
        };
        let mut total = Total { bytes: 0, packed };
        for (index, entry) in entries.iter().enumerate() {
            let path = folder.join(&entry.name);
            let write_error = |error: std::io::Error| match error.kind() {
                // The folder is new: what is in the way comes from the file, too.
                ErrorKind::AlreadyExists | ErrorKind::NotADirectory => {
                    ArchiveError::Twice { entry: entry.name.clone() }
                }
                _ => ArchiveError::Write { path: path.clone(), error },
            };
            if entry.is_folder {
                fs::create_dir_all(&path).map_err(write_error)?;
                continue;
            }
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent).map_err(write_error)?;
            }
            let mut out = File::create_new(&path).map_err(write_error)?;
            copy_entry(&mut archive, index, &entry.name, &mut out, &path, &limits, &mut total)?;
        }
        Ok(())
    }
}

/// The first name that two entries of a zip file have, if there is one: its reader shows the last of them, other tools the first. `start`
/// is where the list of entries begins.
fn repeated(path: &Path, start: u64) -> std::io::Result<Option<String>> {
    const SIGNATURE: [u8; 4] = *b"PK\x01\x02";
    let mut file = BufReader::new(File::open(path)?);
    file.seek(SeekFrom::Start(start))?;
    let mut seen = BTreeSet::new();
    let mut head = [0; 46];
    while file.read_exact(&mut head).is_ok() && head.starts_with(&SIGNATURE) {
        let length = |at: usize| usize::from(u16::from_le_bytes([head[at], head[at + 1]]));
        let (mut name, rest) = (vec![0; length(28)], length(30) + length(32));
        file.read_exact(&mut name)?;
        file.seek_relative(rest as i64)?;
        let is_folder = name.ends_with(b"/");
        if let Some(name) = seen.replace(name).filter(|_| !is_folder) {
            return Ok(Some(String::from_utf8_lossy(&name).into_owned()));
        }
    }
    Ok(None)
}

fn check_entry(
    archive: &mut ZipArchive<BufReader<File>>,
    index: usize,
    limits: &Limits,
) -> Result<Entry, ArchiveError> {
    let file = archive.by_index_raw(index).map_err(|e| ArchiveError::NotZip(e.to_string()))?;
    let raw = String::from_utf8_lossy(file.name_raw()).into_owned();
    // Some tools on Windows write `\` between folders.
    let name = raw.replace('\\', "/");
    let is_folder = name.ends_with('/');
    let parts: Vec<&str> = name.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    let escapes = name.starts_with('/')
        || parts.is_empty() && !is_folder
        || parts
            .iter()
            .any(|part| *part == ".." || part.contains('\0') || cfg!(windows) && part.contains(':'))
        || parts.first().is_some_and(|part| part.as_bytes().get(1) == Some(&b':'));
    if escapes {
        return Err(ArchiveError::Escapes { entry: raw });
    }
    let kind = file.unix_mode().map_or(0, |mode| mode & 0o170_000);
    if file.is_symlink() || !matches!(kind, 0 | 0o040_000 | 0o100_000) {
        return Err(ArchiveError::Special { entry: raw });
    }
    if parts.len() > limits.depth {
        return Err(ArchiveError::TooDeep { entry: raw, depth: parts.len() - 1, limit: limits.depth });
    }
    Ok(Entry { name: parts.join("/"), is_folder })
}

/// Copies one entry and counts what really comes out of it: sizes in headers are claims.
fn copy_entry(
    archive: &mut ZipArchive<BufReader<File>>,
    index: usize,
    name: &str,
    out: &mut File,
    path: &Path,
    limits: &Limits,
    total: &mut Total,
) -> Result<(), ArchiveError> {
    let damaged = |message: String| ArchiveError::Entry { entry: name.to_owned(), message };
    let mut file = archive.by_index(index).map_err(|e| damaged(e.to_string()))?;
    let (most, most_in_all) = (limits.most_of(file.compressed_size()), limits.most_of(total.packed));
    let mut buffer = vec![0; 1 << 16];
    let mut bytes = 0;
    loop {
        let n = file.read(&mut buffer).map_err(|e| damaged(e.to_string()))?;
        if n == 0 {
            return Ok(());
        }
        bytes += n as u64;
        total.bytes += n as u64;
        let entry = || name.to_owned();
        if bytes > limits.entry_bytes {
            return Err(ArchiveError::TooBig { entry: entry(), limit: limits.entry_bytes });
        }
        if total.bytes > limits.total_bytes {
            return Err(ArchiveError::TooBigInAll { entry: entry(), limit: limits.total_bytes });
        }
        if bytes > most {
            return Err(ArchiveError::Ratio { entry: entry(), bytes, limit: limits.ratio });
        }
        if total.bytes > most_in_all {
            let bytes = total.bytes;
            return Err(ArchiveError::RatioInAll { entry: entry(), bytes, limit: limits.ratio });
        }
        out.write_all(&buffer[..n]).map_err(|error| ArchiveError::Write { path: path.to_owned(), error })?;
    }
}
