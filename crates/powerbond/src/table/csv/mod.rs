//! CSV files: RFC 4180, one header, shortest digits that give the same number back.

mod read;

pub(super) use read::{first_row, scan};
pub use read::{not_a_number, read, read_header, read_with, read_written};

use super::writer::{FieldKind, Sink, put};
use std::fs::File;
use std::io::{self, Write};
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

/// The end of a line.
pub(crate) const END: &[u8] = b"\r\n";

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
            self.buffer.extend_from_slice(number(&mut self.digits, value).as_bytes());
        }
        self.buffer.extend_from_slice(END);
        if self.buffer.len() >= BUFFER { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        let whole = |bytes: &[u8]| bytes.iter().rposition(|b| *b == b'\n').map_or(0, |end| end + 1);
        let written = put(&mut self.file, &mut self.bytes, &self.buffer, whole);
        self.buffer.clear();
        written
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn file(&self) -> &File {
        &self.file
    }
}

/// A number with the fewest digits from which it can be read back.
pub(crate) fn number(digits: &mut ryu::Buffer, value: f64) -> &str {
    if value.is_finite() {
        let text = digits.format_finite(value);
        text.strip_suffix(".0").unwrap_or(text)
    } else if value.is_nan() {
        "nan"
    } else if value > 0.0 {
        "inf"
    } else {
        "-inf"
    }
}

/// A name as a cell of the header, in quotes where it needs them.
pub(crate) fn quote(name: &str, out: &mut Vec<u8>) {
    if name.contains([',', '"', '\n', '\r']) {
        out.push(b'"');
        out.extend_from_slice(name.replace('"', "\"\"").as_bytes());
        out.push(b'"');
    } else {
        out.extend_from_slice(name.as_bytes());
    }
}

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
}
