//! A table that still grows: the rows that have come since it was last looked at.

use super::{Format, Visit, csv, format_of, scan};
use crate::Error;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// What is read of a file at a time, in bytes: whoever looks now and then is never long at it.
const MOST: u64 = 8 << 20;

/// Looks at a table while a run writes it.
///
/// Of CSV what is new is read. The other formats are read from the start, which is fast, and what was seen is left out.
pub struct Follower {
    path: PathBuf,
    /// Bytes of a CSV file that were read, and what of a row is among them.
    offset: u64,
    rest: Vec<u8>,
    columns: usize,
    /// Rows that were seen.
    rows: u64,
}

impl Follower {
    /// Of a file that need not be there yet.
    pub fn new(path: &Path) -> Self {
        Follower { path: path.to_owned(), offset: 0, rest: Vec::new(), columns: 0, rows: 0 }
    }

    /// Shows the header when it is there, once, and rows that were not shown yet, some at a time.
    pub fn look(&mut self, visit: &mut dyn Visit) -> Result<(), Error> {
        if !self.path.is_file() {
            return Ok(());
        }
        if format_of(&self.path)? == Format::Csv {
            let text = self.more().map_err(|e| self.unreadable(&e))?;
            return self.lines(&text, visit);
        }
        let mut new = New { visit, skip: self.rows, seen: 0, header: self.columns > 0 };
        scan(&self.path, &mut new)?;
        (self.rows, self.columns) = (self.rows.max(new.seen), 1);
        Ok(())
    }

    fn unreadable(&self, error: &dyn std::fmt::Display) -> Error {
        Error::input(None, format!("cannot read {}: {error}", self.path.display()))
    }

    /// What was written since the last time, up to the end of its last row.
    fn more(&mut self) -> io::Result<Vec<u8>> {
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(self.offset))?;
        let mut text = std::mem::take(&mut self.rest);
        self.offset += file.take(MOST).read_to_end(&mut text)? as u64;
        let end = text.windows(2).rposition(|two| two == b"\r\n").map_or(0, |i| i + 2);
        self.rest = text.split_off(end);
        Ok(text)
    }

    fn lines(&mut self, mut text: &[u8], visit: &mut dyn Visit) -> Result<(), Error> {
        if self.columns == 0 && !text.is_empty() {
            let Some((names, bytes)) = csv::first_row(text).map_err(|e| self.unreadable(&e))? else {
                self.rest.splice(..0, text.iter().copied());
                return Ok(());
            };
            self.columns = names.len();
            text = &text[bytes..];
            if !visit.header(names) {
                return Ok(());
            }
        }
        let text = std::str::from_utf8(text).map_err(|e| self.unreadable(&e))?;
        let mut row = Vec::with_capacity(self.columns);
        for line in text.lines() {
            row.clear();
            row.extend(line.split(',').map_while(|number| number.parse::<f64>().ok()));
            if row.len() != self.columns {
                return Err(self.unreadable(&format!(
                    "row {} is not {} numbers",
                    self.rows + 1,
                    self.columns
                )));
            }
            visit.row(&row);
            self.rows += 1;
        }
        Ok(())
    }
}

/// Leaves out what was seen before.
struct New<'a> {
    visit: &'a mut dyn Visit,
    skip: u64,
    seen: u64,
    header: bool,
}

impl Visit for New<'_> {
    fn header(&mut self, names: Vec<String>) -> bool {
        self.header || self.visit.header(names)
    }

    fn row(&mut self, row: &[f64]) {
        self.seen += 1;
        if self.seen > self.skip {
            self.visit.row(row);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[derive(Default)]
    struct Seen(Vec<String>, Vec<Vec<f64>>);

    impl Visit for Seen {
        fn header(&mut self, names: Vec<String>) -> bool {
            self.0 = names;
            true
        }

        fn row(&mut self, row: &[f64]) {
            self.1.push(row.to_vec());
        }
    }

    /// Whatever is cut where, every row is shown once and whole.
    #[test]
    fn rows_that_come_are_shown_once() {
        let path = std::env::temp_dir().join(format!("powerbond-follow-{}.csv", std::process::id()));
        let text = "time,\"a \"\"b\"\"\r\n,c\"\r\n0,1\r\n0.5,nan\r\n1,-inf\r\n";
        let mut file = File::create(&path).unwrap();
        let (mut follower, mut seen) = (Follower::new(&path), Seen::default());
        for byte in text.as_bytes() {
            file.write_all(&[*byte]).unwrap();
            follower.look(&mut seen).unwrap();
        }
        std::fs::remove_file(&path).unwrap();
        follower.look(&mut seen).unwrap();
        assert_eq!(seen.0, ["time", "a \"b\"\r\n,c"]);
        assert_eq!(seen.1.len(), 3);
        assert!(seen.1[1][1].is_nan() && seen.1[2] == [1.0, f64::NEG_INFINITY]);
    }
}
