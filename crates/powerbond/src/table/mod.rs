//! Tables of numbers on disk: `writer` puts rows there in time, `csv` and `arrow` are their formats, [`read`] reads any of them.

#[cfg(feature = "arrow")]
mod arrow;
mod backup;
pub mod csv;
pub(crate) mod durable;
mod follow;
mod format;
mod stream;
mod writer;

pub use backup::{Backup, Backups, recover};
pub(crate) use durable::write_pieces;
pub use durable::{may_replace, write_file};
pub use follow::Follower;
pub use format::{Format, find};
pub use stream::Stream;
pub use writer::{Field, FieldKind, Flusher, Metadata, Writer};

use crate::Error;
use crate::source::unreadable;
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

/// What is shown a table, row by row.
pub trait Visit {
    /// The names of the columns, before everything else; whether rows are wanted.
    fn header(&mut self, names: Vec<String>) -> bool;

    /// What the integer in a column of the next row is more than the nearest number.
    fn rest(&mut self, _column: usize, _value: f64) {}

    /// A row, with a number for each column.
    fn row(&mut self, row: &[f64]);
}

/// All of a table.
#[derive(Default)]
struct Gather {
    table: Table,
}

impl Visit for Gather {
    fn header(&mut self, names: Vec<String>) -> bool {
        self.table.columns = vec![Vec::new(); names.len()];
        self.table.header = names;
        true
    }

    fn rest(&mut self, column: usize, value: f64) {
        self.table.rests.push(Rest { column, row: self.table.rows(), value });
    }

    fn row(&mut self, row: &[f64]) {
        self.table.columns.iter_mut().zip(row).for_each(|(column, &value)| column.push(value));
    }
}

/// Reads a table of any format, by what is in the file. What a killed run left unfinished at its end is left out, and the
/// note of the table says so.
pub fn read(path: &Path) -> Result<Table, Error> {
    match format_of(path)? {
        Format::Csv => csv::read_written(path),
        _ => {
            let mut all = Gather::default();
            let note = scan(path, &mut all)?;
            Ok(Table { note, ..all.table })
        }
    }
}

/// Shows a table of any format and size row by row; what a killed run left unfinished at its end is left out, and said.
pub fn scan(path: &Path, visit: &mut dyn Visit) -> Result<Option<String>, Error> {
    match format_of(path)? {
        Format::Csv => csv::scan(path, visit),
        #[cfg(feature = "arrow")]
        Format::Arrow => arrow::scan(path, visit),
        #[cfg(feature = "arrow")]
        Format::Parquet => arrow::scan_parquet(path, visit).map(|()| None),
        #[cfg(not(feature = "arrow"))]
        Format::Arrow | Format::Parquet => Err(Error::input(None, "the feature `arrow` is not built in")),
    }
}

/// By what is in the file; refused where it is not built in.
fn format_of(path: &Path) -> Result<Format, Error> {
    let mut start = Vec::new();
    let cannot = |e: std::io::Error| unreadable(path, &e);
    let file = std::fs::File::open(path).map_err(cannot)?;
    file.take(8).read_to_end(&mut start).map_err(cannot)?;
    let format = Format::detect(&start);
    format.require(path.display())?;
    Ok(format)
}
