//! CSV files: RFC 4180, one header, shortest digits that give the same number back.

use crate::Error;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Writes rows of numbers. What is older than a second is on disk; memory is bounded.
pub struct Writer {
    path: PathBuf,
    file: File,
    buffer: Vec<u8>,
    flushed: Instant,
    digits: ryu::Buffer,
}

const BUFFER: usize = 1 << 16;
/// Of a file that is read, in bytes: it is kept in memory.
const MAX_SIZE: u64 = 4_000_000_000;

impl Writer {
    /// Creates the file and writes its header.
    pub fn create<S: AsRef<str>>(path: &Path, header: impl IntoIterator<Item = S>) -> Result<Self, Error> {
        let file = File::create(path).map_err(|e| Error::output(path, &e))?;
        let mut writer = Writer {
            path: path.to_owned(),
            file,
            buffer: Vec::with_capacity(2 * BUFFER),
            flushed: Instant::now(),
            digits: ryu::Buffer::new(),
        };
        for (i, name) in header.into_iter().enumerate() {
            if i > 0 {
                writer.buffer.push(b',');
            }
            quote(name.as_ref(), &mut writer.buffer);
        }
        writer.end_row()?;
        writer.flush()?;
        Ok(writer)
    }

    /// Adds a field to the current row; `first` starts a row.
    #[inline]
    pub fn field(&mut self, value: f64, first: bool) {
        if !first {
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

    /// Ends the row; writes to disk when enough has gathered or a second has passed.
    pub fn end_row(&mut self) -> Result<(), Error> {
        self.buffer.extend_from_slice(b"\r\n");
        if self.buffer.len() >= BUFFER || self.flushed.elapsed() >= Duration::from_secs(1) {
            self.flush()?;
        }
        Ok(())
    }

    /// Adds a whole row.
    pub fn row(&mut self, values: impl IntoIterator<Item = f64>) -> Result<(), Error> {
        for (i, value) in values.into_iter().enumerate() {
            self.field(value, i == 0);
        }
        self.end_row()
    }

    /// Writes everything to disk.
    pub fn flush(&mut self) -> Result<(), Error> {
        self.file.write_all(&self.buffer).map_err(|e| Error::output(&self.path, &e))?;
        self.buffer.clear();
        self.flushed = Instant::now();
        Ok(())
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

/// A table of numbers, column by column.
pub struct Table {
    /// Names of the columns.
    pub header: Vec<String>,
    /// One vector per column.
    pub columns: Vec<Vec<f64>>,
}

impl Table {
    /// The column called `name`.
    pub fn column(&self, name: &str) -> Option<Vec<f64>> {
        self.header.iter().position(|h| h == name).map(|i| self.columns[i].clone())
    }
}

/// Reads a CSV file of numbers with a header.
pub fn read(path: &Path) -> Result<Table, Error> {
    parse(path, &crate::source::read(path, MAX_SIZE)?.text)
}

/// As [`read`], of a file that may still be written, or whose writer was killed: a last row without its end is left out.
pub fn read_prefix(path: &Path) -> Result<Table, Error> {
    let source = crate::source::read(path, MAX_SIZE)?;
    let end = source.text.rfind('\n').map_or(0, |i| i + 1);
    parse(path, &source.text[..end])
}

fn parse(path: &Path, text: &str) -> Result<Table, Error> {
    let mut records = Records { rest: text, line: 1 };
    let fail =
        |line: usize, message: String| Error::input(None, format!("{}:{line}: {message}", path.display()));
    let Some((_, header)) = records.next() else { return Err(fail(1, "the file is empty".to_owned())) };
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
        return Ok(Table { header, columns });
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
    Ok(Table { header, columns })
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
        let mut writer = Writer::create(&path, ["time", "a \"quoted\"\nname, with comma"]).unwrap();
        for v in values {
            writer.row([v, -v]).unwrap();
        }
        writer.flush().unwrap();
        let table = read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(table.header[1], "a \"quoted\"\nname, with comma");
        assert!(table.columns[0].iter().zip(values).all(|(a, b)| a.to_bits() == b.to_bits()));
    }
}
