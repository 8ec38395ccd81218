//! CSV files: RFC 4180, one header, shortest digits that give the same number back.

use super::writer::{FieldKind, Sink};
use super::{Rest, Table};
use crate::Error;
use csv::{ReaderBuilder, StringRecord};
use std::fs::File;
use std::io::{self, BufRead, Read, Write};
use std::path::Path;

/// Rows as lines of text.
pub(super) struct Rows {
    file: File,
    /// Of the file.
    bytes: u64,
    buffer: Vec<u8>,
    digits: ryu::Buffer,
    /// What the columns hold; reals where nothing is said.
    kinds: Vec<FieldKind>,
}

const BUFFER: usize = 1 << 16;
/// Of the names of the columns, in bytes.
const MAX_HEADER: u64 = 100_000_000;
/// Of a file that is read, in bytes: it is kept in memory.
const MAX_SIZE: u64 = 4_000_000_000;

impl Rows {
    /// Creates the file and writes its header.
    pub fn create<S: AsRef<str>>(
        path: &Path,
        header: impl IntoIterator<Item = S>,
        kinds: Vec<FieldKind>,
    ) -> io::Result<Self> {
        // Never through a link, never over what is there: a file that may be replaced is removed first.
        let file = File::create_new(path)?;
        let mut rows = Rows::append(file, kinds);
        for (i, name) in header.into_iter().enumerate() {
            if i > 0 {
                rows.buffer.push(b',');
            }
            quote(name.as_ref(), &mut rows.buffer);
        }
        rows.buffer.extend_from_slice(END);
        rows.flush()?;
        Ok(rows)
    }

    /// Goes on at the end of a file.
    pub fn append(file: File, kinds: Vec<FieldKind>) -> Self {
        let bytes = file.metadata().map_or(0, |m| m.len());
        Rows { file, bytes, buffer: Vec::with_capacity(2 * BUFFER), digits: ryu::Buffer::new(), kinds }
    }
}

const END: &[u8] = b"\r\n";

impl Sink for Rows {
    fn row(&mut self, values: &[f64]) -> io::Result<()> {
        for (i, &value) in values.iter().enumerate() {
            if i > 0 {
                self.buffer.push(b',');
            }
            if let Some(whole) = self.kinds.get(i).and_then(|kind| kind.integer(value)) {
                // Nothing is allocated, and a buffer in memory does not fail.
                write!(self.buffer, "{whole}")?;
                continue;
            }
            let text = if value.is_finite() {
                let text = self.digits.format_finite(value);
                text.strip_suffix(".0").unwrap_or(text)
            } else if value.is_nan() {
                "nan"
            } else if value > 0.0 {
                "inf"
            } else {
                "-inf"
            };
            self.buffer.extend_from_slice(text.as_bytes());
        }
        self.buffer.extend_from_slice(END);
        if self.buffer.len() >= BUFFER { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.write_all(&self.buffer)?;
        self.bytes += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn file(&self) -> &File {
        &self.file
    }
}

fn quote(name: &str, out: &mut Vec<u8>) {
    if name.contains([',', '"', '\n', '\r']) {
        out.push(b'"');
        out.extend_from_slice(name.replace('"', "\"\"").as_bytes());
        out.push(b'"');
    } else {
        out.extend_from_slice(name.as_bytes());
    }
}

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
    parse(path, &crate::source::read(path, MAX_SIZE)?.text, &word)
}

/// The names of the columns of a CSV file; the rest is not read.
pub fn read_header(path: &Path) -> Result<Vec<String>, Error> {
    let cannot = |message: String| Error::input(None, format!("cannot read {}: {message}", path.display()));
    let file = File::open(path).map_err(|e| cannot(e.to_string()))?;
    let mut start = Vec::new();
    let mut reader = io::BufReader::new(file.take(MAX_HEADER));
    // A quoted name may have line ends in it. A line without an end is known by its first zero, or by its length.
    let mut quotes = 0;
    loop {
        let n = read_line(&mut reader, &mut start).map_err(|e| cannot(e.to_string()))?;
        let line = &start[start.len() - n..];
        if line.last() == Some(&0) {
            return Err(Error::input(None, crate::source::no_text(path)));
        }
        if start.len() as u64 == MAX_HEADER {
            return Err(cannot(format!("its header is longer than {} MB", MAX_HEADER / 1_000_000)));
        }
        quotes += line.iter().filter(|&&b| b == b'"').count();
        if n == 0 || quotes.is_multiple_of(2) {
            break;
        }
    }
    let text = String::from_utf8(start).map_err(|_| cannot("it is not a text file (UTF-8)".to_owned()))?;
    Ok(parse(path, &text, &|_, text| Err(not_a_number(text)))?.header)
}

/// Adds a line, or what comes before a zero byte and that byte; returns how much.
fn read_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<usize> {
    let before = line.len();
    loop {
        let piece = reader.fill_buf()?;
        let end = piece.iter().position(|byte| matches!(byte, 0 | b'\n')).map(|i| i + 1);
        let n = end.unwrap_or(piece.len());
        line.extend_from_slice(&piece[..n]);
        reader.consume(n);
        if end.is_some() || n == 0 {
            return Ok(line.len() - before);
        }
    }
}

/// As [`read`], of a file that may still be written, or whose writer was killed. Lines of this library end in CR LF; if
/// the last one of such a file does not, it was cut, and is left out.
pub fn read_written(path: &Path) -> Result<Table, Error> {
    let source = crate::source::read(path, MAX_SIZE)?;
    let text = &source.text;
    let ours = text.find('\n').is_some_and(|i| text[..i].ends_with('\r'));
    let end = text.rfind('\n').map_or(0, |i| i + 1);
    if !ours || end == text.len() {
        return parse(path, text, &|_, text| Err(not_a_number(text)));
    }
    let note = format!("{}: the last row is incomplete and is skipped", path.display());
    Ok(Table { note: Some(note), ..parse(path, &text[..end], &|_, text| Err(not_a_number(text)))? })
}

fn parse(path: &Path, text: &str, word: Word<'_>) -> Result<Table, Error> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let fail =
        |line: u64, message: String| Error::input(None, format!("{}:{line}: {message}", path.display()));
    let mut reader = ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text.as_bytes());
    let mut record = StringRecord::new();
    if !reader.read_record(&mut record).map_err(|e| fail(1, e.to_string()))? {
        return Err(fail(1, "the file is empty".to_owned()));
    }
    let header: Vec<String> = record.iter().map(str::to_owned).collect();
    if header.iter().all(|name| name.trim().parse::<f64>().is_ok()) {
        return Err(fail(1, "found numbers, expected a header with the names of the columns".to_owned()));
    }
    if header.len() == 1 && header[0].contains([';', '\t']) {
        return Err(fail(
            1,
            "found one column, expected values separated by commas with decimal points".to_owned(),
        ));
    }
    let (mut columns, mut rests) = (vec![Vec::new(); header.len()], Vec::new());
    let rest = &text[reader.position().byte() as usize..];
    if rest.contains('"') {
        while reader.read_record(&mut record).map_err(|e| fail(1, e.to_string()))? {
            if record.len() > 1 || !record[0].trim().is_empty() {
                let line = record.position().map_or(1, |p| p.line());
                add(&header, &mut columns, &mut rests, record.iter(), word)
                    .map_err(|message| fail(line, message))?;
            }
        }
    } else {
        // Without quotes a line is a row; nothing is copied, which takes a third less time.
        let lines = (reader.position().line()..).zip(rest.lines());
        for (line, row) in lines.filter(|(_, row)| !row.trim().is_empty()) {
            add(&header, &mut columns, &mut rests, row.split(','), word)
                .map_err(|message| fail(line, message))?;
        }
    }
    Ok(Table { header, columns, rests, ..Table::default() })
}

/// Gives the number that a word stands for in a column, or says why it stands for none.
type Word<'a> = &'a dyn Fn(&str, &str) -> Result<f64, String>;

/// Adds a row of numbers, or says why not.
fn add<'a>(
    header: &[String],
    columns: &mut [Vec<f64>],
    rests: &mut Vec<Rest>,
    fields: impl Iterator<Item = &'a str>,
    word: Word<'_>,
) -> Result<(), String> {
    let (mut count, mut strange) = (0, None);
    for text in fields {
        match (columns.get_mut(count), text.trim().parse()) {
            (Some(column), Ok(number)) => {
                if let Some(value) = rest(number, text) {
                    rests.push(Rest { column: count, row: column.len(), value });
                }
                column.push(number);
            }
            (Some(column), Err(_)) => match word(&header[count], text.trim()) {
                Ok(number) => column.push(number),
                Err(why) => strange = strange.or(Some(why)),
            },
            (None, _) => {}
        }
        count += 1;
    }
    match strange {
        _ if count != columns.len() => Err(format!("{count} fields, the header has {}", columns.len())),
        Some(why) => Err(why),
        None => Ok(()),
    }
}

/// What an integer that is written as `text` is more than `number`, the nearest one.
#[inline]
fn rest(number: f64, text: &str) -> Option<f64> {
    if number.abs() < MOST_DIGITS {
        return None;
    }
    let whole: i128 = text.trim().parse().ok()?;
    Some((whole - number as i128) as f64).filter(|rest| *rest != 0.0)
}

/// Integers below it are numbers: 2⁵³.
const MOST_DIGITS: f64 = 9_007_199_254_740_992.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_odd_names_come_back_as_they_were() {
        let path = std::env::temp_dir().join(format!("powerbond-csv-{}.csv", std::process::id()));
        let values = [0.1, -0.0, 1e-300, f64::MAX, 1.0 / 3.0, 100.0, 5e-324];
        let mut rows = Rows::create(&path, ["time", "a \"quoted\"\nname, with comma"], Vec::new()).unwrap();
        for v in values {
            rows.row(&[v, -v]).unwrap();
        }
        rows.flush().unwrap();
        let table = read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(table.header[1], "a \"quoted\"\nname, with comma");
        assert!(table.columns[0].iter().zip(values).all(|(a, b)| a.to_bits() == b.to_bits()));
    }

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
        let path = Path::new("t.csv");
        for text in [
            "\u{feff}time,x\r\n0,1\r\n\r\n 1 , 2.5 \r\n",
            "time,x\n0,1\n\n1,2.5",
            "\"time\",\"x\"\n\"0\",1\n  \n1,\"2.5\"\n",
        ] {
            let table = parse(path, text, &|_, text| Err(not_a_number(text))).unwrap();
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
            ("time,x\n\"0\",1\n\"1\"\n", "t.csv:3: 1 fields, the header has 2"),
        ] {
            let error = parse(path, text, &|_, text| Err(not_a_number(text))).unwrap_err().to_string();
            assert!(error.starts_with(wanted), "{text:?}: {error}");
        }
    }
}
