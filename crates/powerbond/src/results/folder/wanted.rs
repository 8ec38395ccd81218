//! What a command wants to write where, and what of what is there already it may replace.

use super::lock::{LOCK, Lock};
use super::own::{Earlier, is_same_file};
use crate::Error;
use crate::observe::{JUMPS, RESULTS, TABLES};
use crate::results::{FINER, MARK, REPORT, SUMMARY};
use crate::source::Place;
use crate::table::{Format, durable};
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
        /// With the table of a finer run.
        finer: bool,
    },
    /// Files of these names.
    Files(&'static [&'static str]),
}

impl Wanted {
    /// Refuses what [`RunFolder::claim`](super::RunFolder::claim) would refuse, as far as that is known before; changes nothing.
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

    /// Folders below which everything is that will be written; they are made if they are missing. A folder that was not chosen may
    /// get another name or number: then it is the one around it.
    pub fn written_below(&self) -> Result<Vec<PathBuf>, Error> {
        let around = |path: &Path| match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
            _ => PathBuf::from("."),
        };
        let folder = if self.chosen { self.folder.clone() } else { around(&self.folder) };
        let folders: Vec<PathBuf> = self.output.iter().map(|file| around(file)).chain([folder]).collect();
        for folder in &folders {
            std::fs::create_dir_all(folder).map_err(|e| Error::output(folder, &e))?;
        }
        Ok(folders)
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
                let tables = TABLES
                    .iter()
                    .chain([&FINER])
                    .flat_map(|table| Format::ALL.map(|format| format.file(table)));
                let parts = TABLES.iter().chain([&FINER]).map(|table| format!("{table}.parquet.part"));
                tables.chain(parts).chain([SUMMARY.to_owned()]).collect()
            }
            Contents::Files(names) => names.iter().map(|name| (*name).to_owned()).collect(),
        }
    }

    /// Names of files that will be written to the folder.
    fn written(&self) -> Vec<PathBuf> {
        let Contents::Run { format, jumps, finer } = &self.contents else {
            return self.marks().into_iter().map(PathBuf::from).collect();
        };
        let wanted = |table: &&str| match *table {
            JUMPS => *jumps,
            RESULTS => self.output.is_none(),
            _ => true,
        };
        let tables = TABLES.into_iter().filter(wanted).chain(finer.then_some(FINER));
        let tables = tables.map(|table| PathBuf::from(format.file(table)));
        tables.chain([PathBuf::from(SUMMARY)]).collect()
    }

    /// What a folder holds of results.
    pub(super) fn held(&self, folder: &Path) -> Vec<String> {
        let there = |name: &String| std::fs::symlink_metadata(folder.join(name)).is_ok();
        self.marks().into_iter().filter(there).collect()
    }

    /// Files in `folder` that go before this run begins: what it writes, and what an earlier one made and would be
    /// taken for a part of this one. Nothing that powerbond did not make, unless this run needs its name.
    pub(super) fn replaced(&self, folder: &Path) -> Result<Vec<PathBuf>, Error> {
        if self.report {
            durable::may_replace(&folder.join(REPORT), MARK, self.overwrite)?;
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
        let own = earlier.iter().flat_map(Earlier::files).filter(|name| *name != LOCK);
        for path in own.map(|name| folder.join(name)) {
            if std::fs::symlink_metadata(&path).is_ok_and(|there| there.is_file()) {
                files.extend(self.replaceable(&path, None)?);
            }
        }
        Ok(files.into_iter().collect())
    }

    /// The same for the file that the user chose for recorded variables.
    pub(super) fn replaced_outputs(&self) -> Result<Vec<PathBuf>, Error> {
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

    pub(super) fn refused(&self) -> Error {
        let held = self.held(&self.folder).join(", ");
        let message = format!(
            "the folder holds earlier results ({held}). Choose another one, or replace them with `--overwrite`"
        );
        Error::input(Some(Place::Option(format!("--output-dir {}", self.folder.display()))), message)
    }

    pub(super) fn in_use(&self) -> Error {
        let message = "another run writes to this folder now. Wait for its end, or choose another folder";
        Error::input(Some(Place::Option(format!("--output-dir {}", self.folder.display()))), message)
    }
}

/// The stream was not named of which Parquet is made: `--overwrite` does not mean one that powerbond did not write.
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
