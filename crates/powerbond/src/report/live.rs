//! The page of a run that goes on: it reads what is in the files so far, and the run knows nothing of it.

use super::record::{self, Record};
use super::render;
use crate::Error;
use crate::results::SUMMARY;
use crate::table::Follower;
use std::path::{Path, PathBuf};

/// A run that is looked at while it goes on.
pub struct Live {
    folder: PathBuf,
    found: Option<(Record, [Follower; 2])>,
}

impl Live {
    /// Of the run that writes to this folder.
    pub fn new(folder: &Path) -> Self {
        Live { folder: folder.to_owned(), found: None }
    }

    /// Reads what has come since the last time; whether there is anything new.
    pub fn look(&mut self) -> Result<bool, Error> {
        let Some((record, followers)) = &mut self.found else {
            // The summary comes first, then the tables with their headers.
            if !self.folder.join(SUMMARY).is_file() {
                return Ok(false);
            }
            let Ok(mut record) = Record::read(&self.folder) else { return Ok(false) };
            let followers = record.follow();
            self.found = Some((record, followers));
            return Ok(true);
        };
        record.look(followers)
    }

    /// The page with what was read so far; none as long as the run has not begun.
    pub fn page(&self) -> Option<String> {
        self.found.as_ref().map(|(record, _)| render(std::slice::from_ref(record), true))
    }

    /// What was read so far, for a page that is open: one line of JSON.
    pub fn lines(&self) -> Option<String> {
        let (record, _) = self.found.as_ref()?;
        let mut text = String::from("{");
        record::tables(record, &mut text);
        Some(text + "}")
    }
}
