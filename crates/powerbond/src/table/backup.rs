//! Rows that are not in their file yet, kept where they outlive the process: its supervisor writes them there.

use super::format::Format;
use super::writer::{FieldKind, Sink};
use super::{csv, durable};
use crate::Error;
use std::fs::OpenOptions;
use std::io::{self, Seek};
use std::path::Path;

/// Rows of one table that are not in its file yet.
pub trait Backup: Send {
    /// A row that is about to be buffered. False: there is no room for another one, and all of them have to be written now.
    fn row(&mut self, values: &[f64]) -> bool;
    /// All rows so far are in the file, which has `bytes` bytes.
    fn written(&mut self, bytes: u64);
}

/// Makes a backup for every table of a run, and of those that replace it.
pub trait Backups: Send + Sync {
    /// Results are written to this folder from now on.
    fn folder(&self, folder: &Path);
    /// For the table in `file`, which has `bytes` bytes and no rows yet, by the kinds of its columns; `None` if there is no room for it.
    fn table(
        &self,
        file: &Path,
        format: Format,
        columns: &[FieldKind],
        bytes: u64,
    ) -> Option<Box<dyn Backup>>;
}

/// Puts rows of a backup into the file of a process that died: what is behind the first `bytes` bytes is only a part of them.
/// `file` is the one that the backup was made for; Parquet is made of it if that is the format.
pub fn recover<'a>(
    file: &Path,
    format: Format,
    bytes: u64,
    columns: Vec<FieldKind>,
    rows: impl IntoIterator<Item = &'a [f64]>,
) -> Result<(), Error> {
    let fail = |e: io::Error| Error::output(file, &e);
    let mut open = OpenOptions::new().read(true).append(true).open(file).map_err(fail)?;
    open.set_len(bytes).map_err(fail)?;
    open.seek(io::SeekFrom::End(0)).map_err(fail)?;
    let mut sink: Box<dyn Sink> = match format {
        Format::Csv => Box::new(csv::Rows::append(open, columns)),
        #[cfg(feature = "arrow")]
        _ => Box::new(super::arrow::Stream::append(open, file).map_err(fail)?),
        #[cfg(not(feature = "arrow"))]
        _ => return format.require(file.display()),
    };
    rows.into_iter().try_for_each(|row| sink.row(row)).and_then(|()| sink.finish()).map_err(fail)?;
    durable::sync(sink.file()).map_err(fail)?;
    #[cfg(feature = "arrow")]
    if format == Format::Parquet {
        let parquet = file.with_extension(Format::Parquet.extension());
        super::arrow::convert(file, &parquet).map_err(|e| Error::output(&parquet, &e))?;
    }
    Ok(())
}
