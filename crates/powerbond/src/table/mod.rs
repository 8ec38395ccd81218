//! Tables of numbers on disk: `writer` puts rows there in time, `csv` and `arrow` are their formats, [`read`] reads any of them.

#[cfg(feature = "arrow")]
mod arrow;
mod backup;
pub mod csv;
pub(crate) mod durable;
mod format;
mod writer;

pub use backup::{Backup, Backups, recover};
pub use durable::{may_replace, write_file};
pub use format::{Format, find};
pub use writer::{Field, FieldKind, Flusher, Metadata, Writer};

use crate::Error;
use std::io::Read;
use std::path::Path;

/// A table of numbers, column by column.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// Names of the columns.
    pub header: Vec<String>,
    /// Units of the columns, where they are known; empty, or as many as there are columns.
    pub units: Vec<String>,
    /// One vector per column.
    pub columns: Vec<Vec<f64>>,
    /// What integers in it are more than the numbers in `columns`, which hold 53 binary digits.
    pub rests: Vec<Rest>,
    /// What the user should know: a last row that was cut and left out.
    pub note: Option<String>,
}

/// What an integer is more than the nearest number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rest {
    /// Its column.
    pub column: usize,
    /// Its row.
    pub row: usize,
    /// The difference.
    pub value: f64,
}

impl Table {
    /// Without rows.
    pub fn of(fields: &[Field]) -> Self {
        Table {
            header: fields.iter().map(|field| field.name.clone()).collect(),
            units: fields.iter().map(|field| field.unit.clone()).collect(),
            columns: vec![Vec::new(); fields.len()],
            rests: Vec::new(),
            note: None,
        }
    }

    /// The column called `name`.
    pub fn column(&self, name: &str) -> Option<Vec<f64>> {
        self.header.iter().position(|h| h == name).map(|i| self.columns[i].clone())
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, Vec::len)
    }
}

/// Reads a table of any format, by what is in the file. What a killed run left unfinished at its end is left out, and the
/// note of the table says so.
pub fn read(path: &Path) -> Result<Table, Error> {
    let mut start = [0; 8];
    let cannot = |e: std::io::Error| Error::input(None, format!("cannot read {}: {e}", path.display()));
    let mut file = std::fs::File::open(path).map_err(cannot)?;
    let mut known = 0;
    while known < start.len() {
        match file.read(&mut start[known..]).map_err(cannot)? {
            0 => break,
            n => known += n,
        }
    }
    let format = Format::detect(&start[..known]);
    format.require(path.display())?;
    match format {
        Format::Csv => csv::read_written(path),
        #[cfg(feature = "arrow")]
        Format::Arrow => arrow::read(path, start.starts_with(b"ARROW1")),
        #[cfg(feature = "arrow")]
        Format::Parquet => arrow::read_parquet(path),
        #[cfg(not(feature = "arrow"))]
        Format::Arrow | Format::Parquet => Err(Error::input(None, "the feature `arrow` is not built in")),
    }
}
