//! Reading CSV files row by row: whatever their size, one row is in memory.

use crate::Error;
use crate::source::unreadable;
use crate::table::{Gather, Table, Visit};
use csv::{ReaderBuilder, StringRecord};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

/// Of one row, in bytes; the names of the columns are one.
const MAX_ROW: usize = 100_000_000;
/// Of a file whose columns are kept in memory, in bytes.
const MAX_SIZE: u64 = 4_000_000_000;
/// What is asked of the system at once, in bytes.
const PIECE: usize = 1 << 18;

/// Reads a CSV file of numbers with a header.
pub fn read(path: &Path) -> Result<Table, Error> {
    read_with(path, |_, text| Err(not_a_number(text)))
}

/// Why a text is refused.
pub fn not_a_number(text: &str) -> String {
    format!("`{text}` is not a number")
}

/// As [`read`]; `word` gives the number that a word stands for in a column, or says why it stands for none.
pub fn read_with(path: &Path, word: impl Fn(&str, &str) -> Result<f64, String>) -> Result<Table, Error> {
    let mut all = Gather::default();
    Rows { path, word: &word, cut_rows: false }.visit(open(path, MAX_SIZE)?, &mut all)?;
    Ok(all.table)
}

/// As [`read`], of a file that may still be written, or whose writer was killed. Lines of this library end in CR LF; if
/// the last one of such a file does not, it was cut, and is left out.
pub fn read_written(path: &Path) -> Result<Table, Error> {
    let mut all = Gather::default();
    let note = scan_within(path, MAX_SIZE, &mut all)?;
    Ok(Table { note, ..all.table })
}

/// The names of the columns of a CSV file; the rest is not read.
pub fn read_header(path: &Path) -> Result<Vec<String>, Error> {
    struct Header(Vec<String>);
    impl Visit for Header {
        fn header(&mut self, names: Vec<String>) -> bool {
            self.0 = names;
            false
        }

        fn row(&mut self, _: &[f64]) {}
    }
    let mut header = Header(Vec::new());
    scan(path, &mut header)?;
    Ok(header.0)
}

/// Shows all rows but one that was cut at the end; says so if there was one.
pub(in crate::table) fn scan(path: &Path, visit: &mut dyn Visit) -> Result<Option<String>, Error> {
    scan_within(path, u64::MAX, visit)
}

fn scan_within(path: &Path, limit: u64, visit: &mut dyn Visit) -> Result<Option<String>, Error> {
    let rows = Rows { path, word: &|_, text| Err(not_a_number(text)), cut_rows: true };
    let cut = rows.visit(open(path, limit)?, visit)?;
    Ok(cut.then(|| format!("{}: the last row is incomplete and is skipped", path.display())))
}

fn open(path: &Path, limit: u64) -> Result<impl BufRead, Error> {
    let cannot = |e: io::Error| unreadable(path, &e);
    let file = File::open(path).map_err(cannot)?;
    if file.metadata().map_err(cannot)?.len() > limit {
        let message = format!("{} is larger than {} MB", path.display(), limit / 1_000_000);
        return Err(Error::input(None, message));
    }
    // What has no size, such as a device, ends there, too.
    Ok(BufReader::with_capacity(PIECE, file.take(limit)))
}

/// Gives the number that a word stands for in a column, or says why it stands for none.
type Word<'a> = &'a dyn Fn(&str, &str) -> Result<f64, String>;

/// How a file is read.
struct Rows<'a> {
    path: &'a Path,
    word: Word<'a>,
    /// The last row may be cut.
    cut_rows: bool,
}

impl Rows<'_> {
    fn fail(&self, line: u64, message: impl std::fmt::Display) -> Error {
        Error::input(None, format!("{}:{line}: {message}", self.path.display()))
    }

    /// Shows header and rows; whether the last one is cut.
    fn visit(&self, reader: impl BufRead, visit: &mut dyn Visit) -> Result<bool, Error> {
        let mut lines = Lines { reader, path: self.path, text: Vec::new(), ended: 0 };
        let Some(Record { text, .. }) = lines.record()? else {
            return Err(self.fail(1, "the file is empty"));
        };
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let ours = text.ends_with("\r\n");
        let header: Vec<String> =
            fields(text).map_err(|e| self.fail(1, e))?.iter().map(str::to_owned).collect();
        if header.iter().all(|name| name.trim().parse::<f64>().is_ok()) {
            return Err(self.fail(1, "found numbers, expected a header with the names of the columns"));
        }
        if header.len() == 1 && header[0].contains([';', '\t']) {
            let message = "found one column, expected values separated by commas with decimal points";
            return Err(self.fail(1, message));
        }
        if !visit.header(header.clone()) {
            return Ok(false);
        }
        let mut row = Vec::with_capacity(header.len());
        while let Some(Record { text, line }) = lines.record()? {
            if self.cut_rows && ours && !text.ends_with('\n') {
                return Ok(true);
            }
            row.clear();
            // Without quotes a line is a row, and nothing is copied.
            if text.contains('"') {
                let fields = fields(text).map_err(|e| self.fail(line, e))?;
                self.add(&header, &mut row, fields.iter(), visit)
            } else {
                self.add(&header, &mut row, text.split(','), visit)
            }
            .map_err(|message| self.fail(line, message))?;
            visit.row(&row);
        }
        Ok(false)
    }

    /// Adds the numbers of a row, or says why not.
    fn add<'a>(
        &self,
        header: &[String],
        row: &mut Vec<f64>,
        fields: impl Iterator<Item = &'a str>,
        visit: &mut dyn Visit,
    ) -> Result<(), String> {
        let (mut count, mut strange) = (0, None);
        for text in fields {
            let text = text.trim();
            if let Some(name) = header.get(count) {
                match text.parse() {
                    Ok(number) => {
                        if let Some(value) = rest(number, text) {
                            visit.rest(count, value);
                        }
                        row.push(number);
                    }
                    Err(_) => match (self.word)(name, text) {
                        Ok(number) => row.push(number),
                        Err(why) => strange = strange.or(Some(why)),
                    },
                }
            }
            count += 1;
        }
        match strange {
            _ if count != header.len() => Err(format!("{count} fields, the header has {}", header.len())),
            Some(why) => Err(why),
            None => Ok(()),
        }
    }
}

/// The fields of one record.
fn fields(text: &str) -> Result<StringRecord, String> {
    let mut reader = ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text.as_bytes());
    let mut record = StringRecord::new();
    reader.read_record(&mut record).map_err(|e| e.to_string())?;
    let rest = &text[reader.position().byte() as usize..];
    if rest.trim().is_empty() {
        return Ok(record);
    }
    Err("lines end in CR alone; expected LF, or CR and LF".to_owned())
}

/// The fields of the first row of a text, and the bytes that it takes; none as long as it is not whole.
pub(in crate::table) fn first_row(text: &[u8]) -> Result<Option<(Vec<String>, usize)>, String> {
    let mut quotes = 0;
    let end = text.iter().position(|&byte| {
        quotes += usize::from(byte == b'"');
        byte == b'\n' && quotes % 2 == 0
    });
    let Some(end) = end.map(|i| i + 1) else { return Ok(None) };
    let row = std::str::from_utf8(&text[..end]).map_err(|e| e.to_string())?;
    Ok(Some((fields(row)?.iter().map(str::to_owned).collect(), end)))
}

/// A row as text, and the line on which it begins.
struct Record<'a> {
    text: &'a str,
    line: u64,
}

/// A file, record by record.
struct Lines<'a, R> {
    reader: R,
    path: &'a Path,
    text: Vec<u8>,
    /// Lines that have been read.
    ended: u64,
}

impl<R: BufRead> Lines<'_, R> {
    /// The next record with its line end: a line that is not blank, or several where a quoted text has line ends in it.
    fn record(&mut self) -> Result<Option<Record<'_>>, Error> {
        let fail = |message: String| Err(Error::input(None, message));
        let (mut line, mut quotes) = (self.ended + 1, 0);
        self.text.clear();
        loop {
            let before = self.text.len();
            if let Err(error) = read_line(&mut self.reader, &mut self.text) {
                return fail(format!("cannot read {}: {error}", self.path.display()));
            }
            let read = &self.text[before..];
            if read.last() == Some(&0) {
                return fail(crate::source::no_text(self.path));
            }
            if self.text.len() >= MAX_ROW {
                let most = MAX_ROW / 1_000_000;
                return fail(format!("{}:{line}: longer than {most} MB", self.path.display()));
            }
            quotes += read.iter().filter(|&&b| b == b'"').count();
            let at_end = read.is_empty();
            self.ended += 1;
            if at_end || quotes % 2 == 0 {
                if at_end || !self.text.trim_ascii().is_empty() {
                    break;
                }
                self.text.clear();
                line = self.ended + 1;
            }
        }
        match std::str::from_utf8(&self.text) {
            Ok("") => Ok(None),
            Ok(text) => Ok(Some(Record { text, line })),
            Err(_) => fail(crate::source::no_text(self.path)),
        }
    }
}

/// Adds a line, or what comes before a zero byte and that byte, which no text has: a device is known by its first one. Too long a line
/// is cut.
fn read_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<()> {
    loop {
        let piece = match reader.fill_buf() {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            piece => piece?,
        };
        let end = piece.iter().position(|byte| matches!(byte, 0 | b'\n')).map(|i| i + 1);
        let n = end.unwrap_or(piece.len());
        line.extend_from_slice(&piece[..n]);
        reader.consume(n);
        if end.is_some() || n == 0 || line.len() >= MAX_ROW {
            return Ok(());
        }
    }
}

/// What an integer that is written as `text` is more than `number`, the nearest one.
#[inline]
fn rest(number: f64, text: &str) -> Option<f64> {
    if number.abs() < MOST_DIGITS {
        return None;
    }
    let whole: i128 = text.parse().ok()?;
    Some((whole - number as i128) as f64).filter(|rest| *rest != 0.0)
}

/// Integers below it are numbers: 2⁵³.
const MOST_DIGITS: f64 = 9_007_199_254_740_992.0;

#[cfg(test)]
mod tests {
    use super::*;

    /// What a killed run leaves is read up to its last whole row; a foreign table needs no end of line.
    #[test]
    fn a_cut_row_is_left_out_and_said() {
        let path = std::env::temp_dir().join(format!("powerbond-cut-{}.csv", std::process::id()));
        for (text, rows, cut) in [
            ("time,x\r\n0,1\r\n1,2.5\r\n", 2, false),
            ("time,x\r\n0,1\r\n1,2.5", 1, true),
            ("time,x\r\n0,1\r\n1", 1, true),
            ("time,x\r\n", 0, false),
            ("time,x\n0,1\n1,2.5", 2, false),
        ] {
            std::fs::write(&path, text).unwrap();
            let table = read_written(&path).unwrap();
            assert_eq!((table.rows(), table.note.is_some()), (rows, cut), "{text:?}");
        }
        std::fs::remove_file(&path).unwrap();
    }

    /// With and without quotes, which are read in two ways.
    #[test]
    fn rows_and_their_mistakes_have_lines() {
        let parse = |text: &str| {
            let mut all = Gather::default();
            let rows = Rows { path: Path::new("t.csv"), word: &|_, t| Err(not_a_number(t)), cut_rows: false };
            rows.visit(text.as_bytes(), &mut all).map(|_| all.table)
        };
        for text in [
            "\u{feff}time,x\r\n0,1\r\n\r\n 1 , 2.5 \r\n",
            "\n \ntime,x\n0,1\n\n1,2.5",
            "\"time\",\"x\"\n\"0\",1\n  \n1,\"2.5\"\n",
        ] {
            let table = parse(text).unwrap();
            assert_eq!(table.header, ["time", "x"], "{text:?}");
            assert_eq!(table.columns, [[0.0, 1.0], [1.0, 2.5]], "{text:?}");
        }
        for (text, wanted) in [
            ("", "t.csv:1: the file is empty"),
            ("0,1\n1,2\n", "t.csv:1: found numbers, expected a header"),
            ("time;x\n0;1\n", "t.csv:1: found one column, expected values separated by commas"),
            ("time,x\r\n0,1\r\n1\r\n", "t.csv:3: 1 fields, the header has 2"),
            ("time,x\n0,1\n\n1,2,3\n", "t.csv:4: 3 fields, the header has 2"),
            ("\"a\nb\",x\n0,1\n1,y\n", "t.csv:4: `y` is not a number"),
            ("time,x\n\"0\",1\n1,\"y\"\n", "t.csv:3: `y` is not a number"),
            ("time,x\r0,1\r1,2\r", "t.csv:1: lines end in CR alone"),
            ("time,x\n\"0\",1\n\"1\"\n", "t.csv:3: 1 fields, the header has 2"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.starts_with(wanted), "{text:?}: {error}");
        }
    }
}
