//! A table that still grows: the rows that have come since it was last looked at.

use super::{Format, Visit, csv, format_of, scan};
use crate::Error;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// What is read of a file at a time, in bytes: whoever looks now and then is never long at it.
const LEAST: u64 = 256 << 10;
/// As much as that where rows are long.
const MOST: u64 = 8 << 20;
/// Where more is new, it is read in as many pieces at even distances, the last one at the end, each of some rows.
const PIECES: u64 = 16;
const ROWS: u64 = 4;

/// Looks at a table while a run writes it.
///
/// Of CSV what is new is read; of much that is new a part, so that what is shown is never behind. The other formats are read from the
/// start, which is fast, and what was seen is left out.
pub struct Follower {
    path: PathBuf,
    /// Where in a CSV file comes what is new, how many bytes of it were read, and what of a row is among the last ones.
    offset: u64,
    bytes: u64,
    rest: Vec<u8>,
    /// What follows begins within a row, whose beginning was left out.
    is_cut: bool,
    columns: usize,
    /// Rows that were seen.
    rows: u64,
}

impl Follower {
    /// Of a file that need not be there yet.
    pub fn new(path: &Path) -> Self {
        Follower {
            path: path.to_owned(),
            offset: 0,
            bytes: 0,
            rest: Vec::new(),
            is_cut: false,
            columns: 0,
            rows: 0,
        }
    }

    /// Shows the header when it is there, once, and rows that have come: all of them, or some from everywhere if there are many.
    pub fn look(&mut self, visit: &mut dyn Visit) -> Result<(), Error> {
        if !self.path.is_file() {
            return Ok(());
        }
        if format_of(&self.path)? == Format::Csv {
            for text in self.more().map_err(|e| self.unreadable(&e))? {
                self.lines(&text, visit)?;
            }
            return Ok(());
        }
        let mut new = New { visit, skip: self.rows, seen: 0, header: self.columns > 0 };
        scan(&self.path, &mut new)?;
        (self.rows, self.columns) = (self.rows.max(new.seen), 1);
        Ok(())
    }

    fn unreadable(&self, error: &dyn std::fmt::Display) -> Error {
        Error::input(None, format!("cannot read {}: {error}", self.path.display()))
    }

    /// What was written since the last time, up to the end of its last row, or pieces of whole rows of it.
    fn more(&mut self) -> io::Result<Vec<Vec<u8>>> {
        let mut file = File::open(&self.path)?;
        let new = file.metadata()?.len().saturating_sub(self.offset);
        // The header is read from the start, since names may have line ends in them.
        let row = self.bytes.checked_div(self.rows);
        let most = row.map_or(LEAST, |row| (PIECES * ROWS * row).clamp(LEAST, MOST));
        let piece = most / PIECES;
        if new <= most || row.is_none_or(|row| piece < ROWS * row) {
            return Ok(vec![self.next(&mut file, most)?]);
        }
        let mut pieces = vec![self.next(&mut file, piece)?];
        let from = self.offset;
        for k in 1..PIECES {
            self.offset = from + (new - 2 * piece) * k / (PIECES - 1);
            self.rest.clear();
            self.is_cut = true;
            pieces.push(self.next(&mut file, piece)?);
        }
        Ok(pieces)
    }

    /// The next bytes: whole rows.
    fn next(&mut self, file: &mut File, most: u64) -> io::Result<Vec<u8>> {
        file.seek(SeekFrom::Start(self.offset))?;
        let mut text = std::mem::take(&mut self.rest);
        let bytes = file.take(most).read_to_end(&mut text)? as u64;
        self.offset += bytes;
        self.bytes += bytes;
        let begin = match text.windows(2).position(|two| two == b"\r\n") {
            Some(end) if self.is_cut => end + 2,
            Some(_) => 0,
            None => text.len(),
        };
        let end = text.windows(2).rposition(|two| two == b"\r\n").map_or(0, |i| i + 2);
        self.is_cut &= end == 0;
        self.rest = text.split_off(end);
        Ok(text.split_off(begin.min(end)))
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

    /// A run that writes more than is read is followed in pieces: never behind, in whole rows, and with all of them as soon as there are few.
    #[test]
    fn much_that_is_new_is_shown_in_pieces() {
        let path = std::env::temp_dir().join(format!("powerbond-follow-much-{}.csv", std::process::id()));
        let mut file = File::create(&path).unwrap();
        let (mut follower, mut seen, mut written) = (Follower::new(&path), Seen::default(), 0_u32);
        let mut write = |file: &mut File, n: u32| {
            let rows = (written..written + n).map(|k| format!("{k},{}\r\n", f64::from(k) / 3.0));
            file.write_all(rows.collect::<String>().as_bytes()).unwrap();
            written += n;
            f64::from(written - 1)
        };
        file.write_all(b"time,x\r\n").unwrap();
        let mut look = |seen: &mut Seen| follower.look(seen).unwrap();
        write(&mut file, 10);
        look(&mut seen);
        assert_eq!(seen.1.len(), 10);
        for _ in 0..3 {
            let last = write(&mut file, 300_000);
            let before = seen.1.len();
            look(&mut seen);
            assert_eq!(seen.1.last().unwrap()[0], last);
            let new = &seen.1[before..];
            assert!((5_000..50_000).contains(&new.len()), "{} of 300 000", new.len());
            let widest = new.windows(2).map(|two| two[1][0] - two[0][0]).fold(0.0, f64::max);
            assert!(widest < 25_000.0, "{widest}");
        }
        let (last, before) = (write(&mut file, 100), seen.1.len());
        look(&mut seen);
        std::fs::remove_file(&path).unwrap();
        assert_eq!((seen.1.len() - before, seen.1.last().unwrap()[0]), (100, last));
        assert!(seen.1.windows(2).all(|two| two[0][0] < two[1][0]));
        assert!(seen.1.iter().all(|row| row[1] == row[0] / 3.0));
    }
}
