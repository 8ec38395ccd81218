//! The folder of a run: used by one run at a time, and nothing that is in it gets lost.

mod history;
mod lock;
mod own;

use super::SUMMARY;
use crate::Error;
use crate::observe::{JUMPS, RESULTS, TABLES};
use crate::report;
use crate::source::Place;
use crate::table::{Format, durable};
use lock::{Attempt, Lock};
use own::{Earlier, is_same_file};
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

/// Where a command wants to put what, and what it may replace.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The folder.
    pub folder: PathBuf,
    /// The user chose it: it is that one or none. Otherwise an earlier run there is renamed, and another folder is taken
    /// beside one that is in use.
    pub chosen: bool,
    /// The name of the system: earlier runs of others are left alone.
    pub system: String,
    /// What will be written there.
    pub contents: Contents,
    /// The table of recorded variables, if the user chose a file for it.
    pub output: Option<PathBuf>,
    /// A report will be made there, too.
    pub report: bool,
    /// Files that are read: they are never written.
    pub reads: Vec<PathBuf>,
    /// What an earlier run left at the same place is replaced.
    pub overwrite: bool,
}

/// What will be written to a folder.
#[derive(Clone, Debug, PartialEq)]
pub enum Contents {
    /// The tables of a run, and its summary.
    Run {
        /// Of all tables.
        format: Format,
        /// With the table of jumps.
        jumps: bool,
    },
    /// Files of these names.
    Files(&'static [&'static str]),
}

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

    /// Writes a file whole: after a crash there is the old or the new one, and never half of it.
    pub fn replace(&self, name: &str, text: &str) -> Result<(), Error> {
        let path = self.path.join(name);
        durable::replace(&path, text).map_err(|e| Error::output(&path, &e))
    }

    /// Writes a file under a new name: the first free one of `log.txt`, `log-2.txt`, … Returns its name.
    pub fn add(&self, stem: &str, extension: &str, text: &str) -> Result<String, Error> {
        let mut n = 1;
        loop {
            let name = format!("{}.{extension}", history::numbered(Path::new(stem), n).display());
            let path = self.path.join(&name);
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
            std::fs::create_dir_all(folder).map_err(cannot)?;
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

impl Wanted {
    /// Refuses what [`RunFolder::claim`] would refuse, as far as that is known before; changes nothing.
    pub fn check(&self) -> Result<(), Error> {
        self.replaced_outputs()?;
        let folder = &self.folder;
        match (self.overwrite || self.held(folder).is_empty(), self.chosen) {
            (true, _) => self.replaced(folder).map(|_| ()),
            (false, false) => self.check_rename(),
            (false, true) if Lock::is_taken(folder) => Err(self.in_use()),
            (false, true) => Err(self.refused()),
        }
    }

    /// What must not move lies in a folder that would be renamed. Tables are read before that.
    fn check_rename(&self) -> Result<(), Error> {
        let (folder, marks) = (&self.folder, self.marks());
        let inside = |file: &&PathBuf| {
            let name = file.file_name().unwrap_or_default();
            let (Ok(file), Ok(folder)) = (file.canonicalize(), folder.canonicalize()) else { return false };
            file.starts_with(folder) && !marks.iter().any(|mark| name == mark.as_str())
        };
        let Some(file) = self.reads.iter().find(inside) else { return Ok(()) };
        let message = format!(
            "{} holds an earlier run, which would be renamed, and {}, which this run needs there. Choose a folder \
             with `--output-dir`",
            folder.display(),
            file.display()
        );
        Err(Error::input(None, message))
    }

    /// Names of files that say: a folder holds results.
    fn marks(&self) -> Vec<String> {
        match &self.contents {
            Contents::Run { .. } => {
                let tables = TABLES.iter().flat_map(|table| Format::ALL.map(|format| format.file(table)));
                let parts = TABLES.iter().map(|table| format!("{table}.parquet.part"));
                tables.chain(parts).chain([SUMMARY.to_owned()]).collect()
            }
            Contents::Files(names) => names.iter().map(|name| (*name).to_owned()).collect(),
        }
    }

    /// Names of files that will be written to the folder.
    fn written(&self) -> Vec<PathBuf> {
        let Contents::Run { format, jumps } = &self.contents else {
            return self.marks().into_iter().map(PathBuf::from).collect();
        };
        let wanted = |table: &&str| match *table {
            JUMPS => *jumps,
            RESULTS => self.output.is_none(),
            _ => true,
        };
        let tables = TABLES.into_iter().filter(wanted).map(|table| PathBuf::from(format.file(table)));
        tables.chain([PathBuf::from(SUMMARY)]).collect()
    }

    /// What a folder holds of results.
    fn held(&self, folder: &Path) -> Vec<String> {
        let there = |name: &String| std::fs::symlink_metadata(folder.join(name)).is_ok();
        self.marks().into_iter().filter(there).collect()
    }

    /// Files in `folder` that go before this run begins: what it writes, and what an earlier one made and would be
    /// taken for a part of this one. Nothing that powerbond did not make, unless this run needs its name.
    fn replaced(&self, folder: &Path) -> Result<Vec<PathBuf>, Error> {
        if self.report {
            durable::may_replace(&folder.join(report::REPORT), report::MARK, self.overwrite)?;
        }
        let mut files: BTreeSet<PathBuf> = BTreeSet::new();
        let earlier = match self.contents {
            Contents::Run { .. } => Earlier::read(folder),
            Contents::Files(_) => None,
        };
        let known = |path: &Path| {
            let name = path.file_name().and_then(|name| name.to_str());
            earlier.iter().flat_map(Earlier::files).any(|own| Some(own) == name)
        };
        for path in self.written().iter().map(|name| folder.join(name)) {
            files.extend(self.replaceable(&path, None)?);
            for part in Format::unfinished(&path) {
                files.extend(self.replaceable(&part, None)?);
                if !known(&part) {
                    check_part(&part, None)?;
                }
            }
        }
        let own = earlier.iter().flat_map(Earlier::files).filter(|name| *name != lock::LOCK);
        for path in own.map(|name| folder.join(name)) {
            if std::fs::symlink_metadata(&path).is_ok_and(|there| there.is_file()) {
                files.extend(self.replaceable(&path, None)?);
            }
        }
        Ok(files.into_iter().collect())
    }

    /// The same for the file that the user chose for recorded variables.
    fn replaced_outputs(&self) -> Result<Vec<PathBuf>, Error> {
        let Some(output) = &self.output else { return Ok(Vec::new()) };
        let place = || Some(Place::Option(format!("--output {}", output.display())));
        let folder = &self.folder;
        let whole = |path: &Path| std::path::absolute(path).ok();
        let parent = output.parent().unwrap_or(Path::new(""));
        let there = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
        let taken = self.written().iter().any(|name| output.file_name() == Some(name.as_os_str()));
        if taken && (whole(there) == whole(folder) || is_same_file(there, folder)) {
            return Err(Error::input(place(), "another file of this run has that name. Choose another one"));
        }
        let mut files = Vec::new();
        for path in [output.clone()].into_iter().chain(Format::unfinished(output)) {
            let Some(path) = self.replaceable(&path, place())? else { continue };
            if !self.overwrite {
                let what = if path == *output { "this file".into() } else { path.to_string_lossy() };
                let cure = "is there already. Choose another name, or replace it with `--overwrite`";
                return Err(Error::input(place(), format!("{what} {cure}")));
            }
            if path != *output {
                check_part(&path, place())?;
            }
            files.push(path);
        }
        Ok(files)
    }

    /// A file that is there and may go; `None` if there is none.
    fn replaceable(&self, path: &Path, place: Option<Place>) -> Result<Option<PathBuf>, Error> {
        let Ok(there) = std::fs::symlink_metadata(path) else { return Ok(None) };
        let refuse = |why: &str| {
            let named = self.output.as_deref() == Some(path);
            let message = if named { why.to_owned() } else { format!("{}: {why}", path.display()) };
            Err(Error::input(place.clone(), message))
        };
        if there.is_symlink() {
            return refuse(durable::LINK);
        }
        if there.is_dir() {
            return Err(Error::output(path, &io::ErrorKind::IsADirectory.into()));
        }
        if !there.is_file() {
            return refuse("this is not a regular file");
        }
        if let Some(read) = self.reads.iter().find(|read| is_same_file(read, path)) {
            let why = format!(
                "this run reads that file ({}): it would be lost. Choose another name",
                read.display()
            );
            return refuse(&why);
        }
        Ok(Some(path.to_owned()))
    }

    fn refused(&self) -> Error {
        let held = self.held(&self.folder).join(", ");
        let message = format!(
            "the folder holds earlier results ({held}). Choose another one, or replace them with `--overwrite`"
        );
        Error::input(Some(Place::Option(format!("--output-dir {}", self.folder.display()))), message)
    }

    fn in_use(&self) -> Error {
        let message = "another run writes to this folder now. Wait for its end, or choose another folder";
        Error::input(Some(Place::Option(format!("--output-dir {}", self.folder.display()))), message)
    }
}

/// Nobody named the stream of which Parquet is made: `--overwrite` does not mean one that powerbond did not write.
fn check_part(path: &Path, place: Option<Place>) -> Result<(), Error> {
    let is_stream = Format::of(path) == Some(Format::Arrow);
    if !is_stream || !path.exists() || durable::has_mark(path, TABLE_MARK) {
        return Ok(());
    }
    let message = format!(
        "{}: this run needs that name until its end, and powerbond did not make the file. Rename one of them",
        path.display()
    );
    Err(Error::input(place, message))
}

/// A key in the metadata of every Arrow stream of powerbond.
const TABLE_MARK: &str = "powerbond.started";

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
