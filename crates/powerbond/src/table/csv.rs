//! CSV files: RFC 4180, one header, shortest digits that give the same number back.

use super::Table;
use super::writer::Sink;
use crate::Error;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// Rows as lines of text.
pub(super) struct Rows {
    file: File,
    buffer: Vec<u8>,
    digits: ryu::Buffer,
}

const BUFFER: usize = 1 << 16;
/// Of a file that is read, in bytes: it is kept in memory.
const MAX_SIZE: u64 = 4_000_000_000;

impl Rows {
    /// Creates the file and writes its header.
    pub fn create<S: AsRef<str>>(path: &Path, header: impl IntoIterator<Item = S>) -> io::Result<Self> {
        // Never through a link, never over what is there: whoever may replace it removes it first.
        let file = File::create_new(path)?;
        let mut rows = Rows { file, buffer: Vec::with_capacity(2 * BUFFER), digits: ryu::Buffer::new() };
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
}

const END: &[u8] = b"\r\n";

impl Sink for Rows {
    fn row(&mut self, values: &[f64]) -> io::Result<()> {
        for (i, &value) in values.iter().enumerate() {
            if i > 0 {
                self.buffer.push(b',');
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
        self.buffer.clear();
        Ok(())
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
    parse(path, &crate::source::read(path, MAX_SIZE)?.text)
}

/// As [`read`], of a file that may still be written, or whose writer was killed. Lines of this library end in CR LF; if
/// the last one of such a file does not, it was cut, and is left out.
pub fn read_written(path: &Path) -> Result<Table, Error> {
    let source = crate::source::read(path, MAX_SIZE)?;
    let text = &source.text;
    let ours = text.find('\n').is_some_and(|i| text[..i].ends_with('\r'));
    let end = text.rfind('\n').map_or(0, |i| i + 1);
    if !ours || end == text.len() {
        return parse(path, text);
    }
    let note = format!("{}: the last row was cut when its run ended, and is left out", path.display());
    Ok(Table { note: Some(note), ..parse(path, &text[..end])? })
}

fn parse(path: &Path, text: &str) -> Result<Table, Error> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut records = Records { rest: text, line: 1 };
    let fail =
        |line: usize, message: String| Error::input(None, format!("{}:{line}: {message}", path.display()));
    let Some((_, header)) = records.next() else { return Err(fail(1, "the file is empty".to_owned())) };
    if header.iter().all(|name| name.trim().parse::<f64>().is_ok()) {
        return Err(fail(1, "numbers, where a header with the names of the columns is needed".to_owned()));
    }
    if header.len() == 1 && header[0].contains([';', '\t']) {
        return Err(fail(
            1,
            "one column; values are separated by commas, and numbers have a point".to_owned(),
        ));
    }
    let mut columns = vec![Vec::new(); header.len()];
    let wrong_length = |line, found| fail(line, format!("{found} fields, the header has {}", header.len()));
    let number = |line, text: &str| -> Result<f64, Error> {
        text.trim().parse().map_err(|_| fail(line, format!("`{text}` is not a number")))
    };
    if records.rest.contains('"') {
        for (line, record) in records {
            if record.len() == 1 && record[0].trim().is_empty() {
                continue;
            }
            if record.len() != header.len() {
                return Err(wrong_length(line, record.len()));
            }
            for (column, text) in columns.iter_mut().zip(&record) {
                column.push(number(line, text)?);
            }
        }
        return Ok(Table { header, columns, ..Table::default() });
    }
    // Without quotes a line is a row: nothing is copied.
    for (k, row) in records.rest.lines().enumerate().filter(|(_, row)| !row.trim().is_empty()) {
        let line = records.line + k;
        let mut count = 0;
        for text in row.split(',') {
            let Some(column) = columns.get_mut(count) else {
                return Err(wrong_length(line, row.split(',').count()));
            };
            column.push(number(line, text)?);
            count += 1;
        }
        if count != header.len() {
            return Err(wrong_length(line, count));
        }
    }
    Ok(Table { header, columns, ..Table::default() })
}

/// Records of a CSV text with the line each begins on.
struct Records<'a> {
    rest: &'a str,
    line: usize,
}

impl Iterator for Records<'_> {
    type Item = (usize, Vec<String>);

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let start = self.line;
        let (mut fields, mut field, mut quoted) = (Vec::new(), String::new(), false);
        let mut characters = self.rest.char_indices().peekable();
        let mut end = self.rest.len();
        while let Some((i, c)) = characters.next() {
            match c {
                '"' if quoted && characters.peek().is_some_and(|&(_, n)| n == '"') => {
                    field.push('"');
                    characters.next();
                }
                '"' => quoted = !quoted,
                ',' if !quoted => fields.push(std::mem::take(&mut field)),
                '\n' if !quoted => {
                    end = i + 1;
                    break;
                }
                '\r' if !quoted => {}
                c => {
                    self.line += usize::from(c == '\n');
                    field.push(c);
                }
            }
        }
        fields.push(field);
        self.line += 1;
        self.rest = &self.rest[end..];
        Some((start, fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_odd_names_come_back_as_they_were() {
        let path = std::env::temp_dir().join(format!("powerbond-csv-{}.csv", std::process::id()));
        let values = [0.1, -0.0, 1e-300, f64::MAX, 1.0 / 3.0, 100.0, 5e-324];
        let mut rows = Rows::create(&path, ["time", "a \"quoted\"\nname, with comma"]).unwrap();
        for v in values {
            rows.row(&[v, -v]).unwrap();
        }
        rows.flush().unwrap();
        let table = read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(table.header[1], "a \"quoted\"\nname, with comma");
        assert!(table.columns[0].iter().zip(values).all(|(a, b)| a.to_bits() == b.to_bits()));
    }

    /// What a killed run leaves is read up to its last whole row; a table of somebody else needs no end of line.
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
}
