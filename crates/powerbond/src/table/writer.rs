//! Tables that grow on disk while a run goes on: what is older than a second is there, whatever the run is waiting for.

use super::backup::{Backup, Backups};
use super::csv;
use super::durable;
use super::format::Format;
use crate::Error;
use powerbond_fmi::surroundings::{Protected, protect};
use std::fs::File;
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// A column.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its unit; empty where it is unknown.
    pub unit: String,
    /// What its values are.
    pub kind: FieldKind,
}

/// What the values of a column are. Rows are numbers; an integer of 64 bits is in a row by its bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum FieldKind {
    /// Double-precision numbers.
    #[default]
    Real,
    /// Signed integers of 64 bits.
    Int64,
    /// Unsigned ones.
    UInt64,
}

impl FieldKind {
    /// All of them; their places are their numbers.
    pub const ALL: [FieldKind; 3] = [FieldKind::Real, FieldKind::Int64, FieldKind::UInt64];

    /// An integer as it is in a row; one that the type does not have becomes the nearest that it has.
    pub fn value(self, whole: i128) -> f64 {
        match self {
            FieldKind::Real => whole as f64,
            FieldKind::Int64 => {
                f64::from_bits((whole.clamp(i64::MIN.into(), i64::MAX.into()) as i64).cast_unsigned())
            }
            FieldKind::UInt64 => f64::from_bits(whole.clamp(0, u64::MAX.into()) as u64),
        }
    }

    /// The integer that a value of a row stands for, if it stands for one.
    pub fn integer(self, value: f64) -> Option<i128> {
        match self {
            FieldKind::Real => None,
            FieldKind::Int64 => Some(value.to_bits().cast_signed().into()),
            FieldKind::UInt64 => Some(value.to_bits().into()),
        }
    }
}

impl Field {
    /// A column called `name` with values in `unit`.
    pub fn new(name: impl Into<String>, unit: impl Into<String>) -> Self {
        Field { name: name.into(), unit: unit.into(), kind: FieldKind::Real }
    }

    /// The same with values of another kind.
    pub fn of_kind(self, kind: FieldKind) -> Self {
        Field { kind, ..self }
    }
}

/// What is said about a table as a whole, as keys and values, where its format has a place for it.
pub type Metadata = Vec<(String, String)>;

/// Where rows go.
pub(super) trait Sink: Send {
    /// Adds a row; may keep it for a while, in bounded memory.
    fn row(&mut self, values: &[f64]) -> io::Result<()>;
    /// Hands all rows to the system, so that they survive the process.
    fn flush(&mut self) -> io::Result<()>;
    /// Hands all rows to the system and ends the file.
    fn finish(&mut self) -> io::Result<()> {
        self.flush()
    }
    /// Of the file: what was handed to the system.
    fn bytes(&self) -> u64;
    /// The file.
    fn file(&self) -> &File;
}

struct Open {
    /// An FMU that closes the file, or puts another one in its place, is found out.
    protected: Protected,
    sink: Box<dyn Sink>,
    /// Rows that the sink has not handed to the system.
    backup: Option<Box<dyn Backup>>,
    failure: Option<io::Error>,
    /// Why nothing is written any more: what came after a gap would be taken for what comes next.
    broken: Option<(io::ErrorKind, String)>,
}

const WRITTEN_INTO: &str = "an FMU wrote into it";

/// Writes `bytes` at the end of a file, which has `size` bytes. Where that fails, on a full disk, the file ends with the last of them that
/// is whole: `whole` says how many of those that were written are.
pub(super) fn put(
    file: &mut File,
    size: &mut u64,
    bytes: &[u8],
    whole: impl Fn(&[u8]) -> usize,
) -> io::Result<()> {
    // The gap that is left where an FMU cut the file would be filled with zeros.
    if [file.metadata()?.len(), file.stream_position()?] != [*size; 2] {
        return Err(io::Error::other(WRITTEN_INTO));
    }
    let mut rest = bytes;
    while !rest.is_empty() {
        let error = match file.write(rest) {
            Ok(0) => io::ErrorKind::WriteZero.into(),
            Ok(n) => {
                rest = &rest[n..];
                continue;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => error,
        };
        *size += whole(&bytes[..bytes.len() - rest.len()]) as u64;
        // Cutting needs no room. Where it is not possible, the error is told all the same.
        let _ = file.set_len(*size);
        return Err(error);
    }
    *size += bytes.len() as u64;
    Ok(())
}

impl Open {
    /// Does something that writes, unless that has failed before.
    fn try_to(&mut self, write: impl FnOnce(&mut Self) -> io::Result<()>) -> io::Result<()> {
        if let Some((kind, text)) = &self.broken {
            return Err(io::Error::new(*kind, text.clone()));
        }
        write(self).inspect_err(|error| self.broken = Some((error.kind(), error.to_string())))
    }

    fn row(&mut self, values: &[f64]) -> io::Result<()> {
        let room = self.backup.as_mut().is_none_or(|backup| backup.row(values));
        let before = self.sink.bytes();
        self.sink.row(values)?;
        if !room {
            self.sink.flush()?;
        }
        if self.sink.bytes() != before {
            self.written()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sink.flush()?;
        self.written()
    }

    fn finish(&mut self) -> io::Result<()> {
        self.sink.finish()?;
        self.written()
    }

    /// A sink hands over all of its rows or none.
    fn written(&mut self) -> io::Result<()> {
        if !self.protected.is_intact() {
            return Err(io::Error::other("an FMU put another file in its place"));
        }
        // Whoever writes to a descriptor that is not its own, or cuts its file, moves the end or the place where it is written to.
        let mut file = self.sink.file();
        if [file.metadata()?.len(), file.stream_position()?] != [self.sink.bytes(); 2] {
            return Err(io::Error::other(WRITTEN_INTO));
        }
        if let Some(backup) = &mut self.backup {
            backup.written(self.sink.bytes());
        }
        Ok(())
    }
}

/// Writes rows of numbers; memory is bounded.
pub struct Writer {
    path: PathBuf,
    open: Arc<Mutex<Open>>,
    row: Vec<f64>,
    /// Becomes this file at the end.
    #[cfg(feature = "arrow")]
    parquet: Option<PathBuf>,
}

impl Writer {
    /// Creates the table, whose file must not be there. Parquet is written as an Arrow IPC stream beside `path` until [`Writer::convert`].
    pub fn create(
        path: &Path,
        format: Format,
        fields: &[Field],
        about: &Metadata,
        backups: Option<&dyn Backups>,
    ) -> Result<Self, Error> {
        format.require(path.display())?;
        let file = match format {
            Format::Parquet => path.with_extension(Format::Arrow.extension()),
            _ => path.to_owned(),
        };
        let kinds: Vec<FieldKind> = fields.iter().map(|field| field.kind).collect();
        let created = match format {
            Format::Csv => csv::Rows::create(&file, fields.iter().map(|f| &f.name), kinds.clone()).map(boxed),
            #[cfg(feature = "arrow")]
            _ => super::arrow::Stream::create(&file, fields, about).map(boxed),
            #[cfg(not(feature = "arrow"))]
            _ => Err(io::Error::other(format!("no {} in this build: {about:?}", format.name()))),
        };
        let sink = created.map_err(|e| Error::output(&file, &e))?;
        let backup = backups.and_then(|b| b.table(&file, format, &kinds, sink.bytes()));
        Ok(Writer {
            path: file,
            open: Arc::new(Mutex::new(Open {
                protected: protect(sink.file()),
                sink,
                backup,
                failure: None,
                broken: None,
            })),
            row: Vec::with_capacity(fields.len()),
            #[cfg(feature = "arrow")]
            parquet: (format == Format::Parquet).then(|| path.to_owned()),
        })
    }

    /// Adds a value to the current row.
    #[inline]
    pub fn field(&mut self, value: f64) {
        self.row.push(value);
    }

    /// Ends the current row.
    pub fn end_row(&mut self) -> Result<(), Error> {
        let mut open = lock(&self.open);
        let done = match open.failure.take() {
            Some(error) => Err(error),
            None => open.try_to(|open| open.row(&self.row)),
        };
        self.row.clear();
        done.map_err(|e| Error::output(&self.path, &e))
    }

    /// Adds a whole row.
    pub fn row(&mut self, values: impl IntoIterator<Item = f64>) -> Result<(), Error> {
        self.row.extend(values);
        self.end_row()
    }

    /// Of the file: what was handed to the system so far.
    pub fn bytes(&self) -> u64 {
        lock(&self.open).sink.bytes()
    }

    /// Hands everything to the system and ends the file.
    pub fn close(&mut self) -> Result<(), Error> {
        let mut open = lock(&self.open);
        let done = match open.failure.take() {
            Some(error) => Err(error),
            None => open.try_to(Open::finish),
        };
        done.map_err(|e| Error::output(&self.path, &e))
    }

    /// After [`Writer::close`]: waits until everything is on disk.
    pub fn sync(&self) -> Result<(), Error> {
        durable::sync(lock(&self.open).sink.file()).map_err(|e| Error::output(&self.path, &e))
    }

    /// After [`Writer::close`]: makes Parquet of the stream, if that was asked for. The stream stays if it fails.
    pub fn convert(&self) -> Result<(), Error> {
        #[cfg(feature = "arrow")]
        if let Some(parquet) = &self.parquet {
            super::arrow::convert(&self.path, parquet).map_err(|e| Error::output(parquet, &e))?;
        }
        Ok(())
    }
}

fn boxed(sink: impl Sink + 'static) -> Box<dyn Sink> {
    Box::new(sink)
}

fn lock(open: &Mutex<Open>) -> MutexGuard<'_, Open> {
    open.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Twice a second, so that nothing waits longer than one.
const EVERY: Duration = Duration::from_millis(500);

/// Puts rows on disk from a thread of its own: a step that hangs keeps no row before it from getting there.
pub struct Flusher {
    done: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Flusher {
    /// Begins to look after `writers`, until it is dropped.
    pub fn begin<'a>(writers: impl IntoIterator<Item = &'a Writer>) -> io::Result<Self> {
        let tables: Vec<Arc<Mutex<Open>>> = writers.into_iter().map(|w| w.open.clone()).collect();
        let done = Arc::new(AtomicBool::new(false));
        let over = done.clone();
        let work = move || {
            while !over.load(Ordering::Acquire) {
                std::thread::park_timeout(EVERY);
                for table in &tables {
                    let mut open = lock(table);
                    if open.failure.is_none() {
                        open.failure = open.try_to(Open::flush).err();
                    }
                }
            }
        };
        let thread = std::thread::Builder::new().name("results".to_owned()).spawn(work)?;
        Ok(Flusher { done, thread: Some(thread) })
    }
}

impl Drop for Flusher {
    fn drop(&mut self) {
        self.done.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows used to wait for the next row before they were looked at: a step that hung kept them from the disk.
    #[test]
    fn rows_get_to_the_disk_while_nothing_else_happens() {
        let path = std::env::temp_dir().join(format!("powerbond-flusher-{}.csv", std::process::id()));
        let fields = [Field::new("time", "s"), Field::new("x", "")];
        let mut writer = Writer::create(&path, Format::Csv, &fields, &Vec::new(), None).unwrap();
        let flusher = Flusher::begin([&writer]).unwrap();
        writer.row([0.0, 0.5]).unwrap();
        std::thread::sleep(2 * EVERY);
        let text = std::fs::read_to_string(&path).unwrap();
        drop(flusher);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(text, "time,x\r\n0,0.5\r\n");
    }
}
