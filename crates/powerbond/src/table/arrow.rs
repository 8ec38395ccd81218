//! Arrow IPC streams and Parquet: the same columns as the text, as binary numbers, with units and what made them inside.

use super::Visit;
use super::writer::{Field, FieldKind, Metadata, Sink, put};
use crate::Error;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, Float64Array, Int64Array, RecordBatch, UInt64Array};
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, DataType, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::Compression;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::Path;
use std::sync::Arc;

/// Rows of a batch take about this many bytes.
const BATCH: usize = 1 << 20;
/// Rows of a row group of Parquet: it is kept in memory until it is full. Larger ones made the memory vary more (30 to 73 MB).
const GROUP: usize = 1 << 15;
/// Rows of a page. Pages of 64 kB are memory that the next row group can use again; larger ones of changing size leave holes
/// that grow with the run.
const PAGE: usize = 1 << 13;

/// Rows as record batches of an Arrow IPC stream.
pub(super) struct Stream {
    file: File,
    /// Of the file.
    bytes: u64,
    schema: SchemaRef,
    encoder: StreamWriter<Vec<u8>>,
    columns: Vec<Vec<f64>>,
    /// Rows of a full batch.
    full: usize,
}

impl Stream {
    /// Creates the file and writes its schema.
    pub fn create(path: &Path, fields: &[Field], about: &Metadata) -> io::Result<Self> {
        let field = |f: &Field| {
            let field = arrow_schema::Field::new(&f.name, data_type(f.kind), false);
            let unit = (!f.unit.is_empty()).then(|| ("unit".to_owned(), f.unit.clone()));
            field.with_metadata(unit.into_iter().collect::<HashMap<_, _>>())
        };
        let fields: Vec<arrow_schema::Field> = fields.iter().map(field).collect();
        let about: HashMap<String, String> = about.iter().cloned().collect();
        let schema = Arc::new(Schema::new_with_metadata(fields, about));
        let mut stream = Stream::new(File::create_new(path)?, schema)?;
        stream.write()?;
        Ok(stream)
    }

    /// Goes on at the end of the file at `path`, whose schema it has.
    pub fn append(file: File, path: &Path) -> io::Result<Self> {
        let reader = StreamReader::try_new_buffered(File::open(path)?, None).map_err(io::Error::other)?;
        let mut stream = Stream::new(file, reader.schema())?;
        // The schema is in the file already.
        stream.encoder.get_mut().clear();
        Ok(stream)
    }

    fn new(file: File, schema: SchemaRef) -> io::Result<Self> {
        let full = (BATCH / (8 * schema.fields().len().max(1))).max(64);
        let columns = schema.fields().iter().map(|_| Vec::with_capacity(full)).collect();
        let encoder = StreamWriter::try_new(Vec::new(), &schema).map_err(io::Error::other)?;
        let bytes = file.metadata()?.len();
        Ok(Stream { file, bytes, schema, encoder, columns, full })
    }

    /// Hands what was encoded to the system in one piece, so that a cut inside a batch is rare.
    fn write(&mut self) -> io::Result<()> {
        let written = put(&mut self.file, &mut self.bytes, self.encoder.get_ref(), |_| 0);
        self.encoder.get_mut().clear();
        written
    }
}

impl Sink for Stream {
    fn row(&mut self, values: &[f64]) -> io::Result<()> {
        self.columns.iter_mut().zip(values).for_each(|(column, &value)| column.push(value));
        if self.columns.first().is_some_and(|c| c.len() >= self.full) { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.columns.first().is_none_or(Vec::is_empty) {
            return Ok(());
        }
        let full = self.full;
        let take = |(column, field): (&mut Vec<f64>, &Arc<arrow_schema::Field>)| -> ArrayRef {
            let values = std::mem::replace(column, Vec::with_capacity(full));
            let bits = values.iter().map(|value| value.to_bits());
            match field.data_type() {
                DataType::Int64 => Arc::new(bits.map(u64::cast_signed).collect::<Int64Array>()),
                DataType::UInt64 => Arc::new(bits.collect::<UInt64Array>()),
                _ => Arc::new(Float64Array::from(values)),
            }
        };
        let columns = self.columns.iter_mut().zip(self.schema.fields()).map(take).collect();
        let batch = RecordBatch::try_new(self.schema.clone(), columns).map_err(io::Error::other)?;
        self.encoder.write(&batch).map_err(io::Error::other)?;
        self.write()
    }

    fn finish(&mut self) -> io::Result<()> {
        self.flush()?;
        self.encoder.finish().map_err(io::Error::other)?;
        self.write()
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn file(&self) -> &File {
        &self.file
    }
}

fn data_type(kind: FieldKind) -> DataType {
    match kind {
        FieldKind::Real => DataType::Float64,
        FieldKind::Int64 => DataType::Int64,
        FieldKind::UInt64 => DataType::UInt64,
    }
}

/// Makes Parquet of a stream, batch by batch, and removes the stream once that is done. Otherwise only the stream is left.
pub(super) fn convert(stream: &Path, parquet: &Path) -> io::Result<()> {
    let part = parquet.with_extension("parquet.part");
    let made = write_parquet(stream, &part).and_then(|()| std::fs::rename(&part, parquet));
    if made.is_err() {
        let _ = std::fs::remove_file(&part);
    }
    made?;
    std::fs::remove_file(stream)
}

fn write_parquet(stream: &Path, part: &Path) -> io::Result<()> {
    let reader = StreamReader::try_new_buffered(File::open(stream)?, None).map_err(io::Error::other)?;
    let schema = reader.schema();
    let mut about: Vec<KeyValue> =
        schema.metadata().iter().map(|(key, value)| KeyValue::new(key.clone(), value.clone())).collect();
    about.sort_by(|a, b| a.key.cmp(&b.key));
    let properties = WriterProperties::builder()
        .set_created_by(format!("powerbond {}", env!("CARGO_PKG_VERSION")))
        .set_compression(Compression::SNAPPY)
        // Numbers of a simulation hardly ever repeat.
        .set_dictionary_enabled(false)
        .set_max_row_group_row_count(Some(GROUP))
        .set_data_page_row_count_limit(PAGE)
        .set_write_batch_size(PAGE)
        .set_key_value_metadata(Some(about))
        .build();
    let file = File::create_new(part)?;
    let mut writer =
        ArrowWriter::try_new(file.try_clone()?, schema, Some(properties)).map_err(io::Error::other)?;
    for batch in reader {
        writer.write(&batch.map_err(io::Error::other)?).map_err(io::Error::other)?;
    }
    writer.close().map_err(io::Error::other)?;
    super::durable::sync(&file)
}

/// Shows an Arrow IPC stream, or a file of the other IPC format.
pub(super) fn scan(path: &Path, visit: &mut dyn Visit) -> Result<Option<String>, Error> {
    let mut file = File::open(path).map_err(|e| unreadable(path, &e))?;
    let mut start = [0; 6];
    let is_file = file.read_exact(&mut start).is_ok() && start == *b"ARROW1";
    file.rewind().map_err(|e| unreadable(path, &e))?;
    if is_file {
        let reader = FileReader::try_new_buffered(file, None).map_err(|e| unreadable(path, &e))?;
        return show(path, &reader.schema(), reader, visit).map(|()| None);
    }
    let reader = StreamReader::try_new_buffered(file, None).map_err(|e| unreadable(path, &e))?;
    let schema = reader.schema();
    let mut cut = false;
    let whole = reader.take_while(|batch| {
        cut = batch.as_ref().is_err_and(is_cut);
        !cut
    });
    show(path, &schema, whole, visit)?;
    Ok(cut.then(|| format!("{}: the last rows are incomplete and are skipped", path.display())))
}

/// The stream ends inside a message.
fn is_cut(error: &ArrowError) -> bool {
    match error {
        ArrowError::IoError(_, e) => e.kind() == io::ErrorKind::UnexpectedEof,
        ArrowError::ParseError(text) => text.starts_with("Unexpected end of stream"),
        _ => false,
    }
}

/// Shows Parquet.
pub(super) fn scan_parquet(path: &Path, visit: &mut dyn Visit) -> Result<(), Error> {
    let file = File::open(path).map_err(|e| unreadable(path, &e))?;
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(|e| unreadable(path, &e))?;
    let schema = builder.schema().clone();
    let reader = builder.with_batch_size(PAGE).build().map_err(|e| unreadable(path, &e))?;
    show(path, &schema, reader, visit)
}

fn unreadable(path: &Path, error: &dyn std::fmt::Display) -> Error {
    Error::input(None, format!("cannot read {}: {error}", path.display()))
}

/// Shows all batches, row by row.
fn show(
    path: &Path,
    schema: &Schema,
    batches: impl IntoIterator<Item = Result<RecordBatch, ArrowError>>,
    visit: &mut dyn Visit,
) -> Result<(), Error> {
    let header: Vec<String> = schema.fields().iter().map(|f| f.name().clone()).collect();
    if !visit.header(header.clone()) {
        return Ok(());
    }
    let (mut columns, mut row) = (vec![Vec::new(); header.len()], Vec::with_capacity(header.len()));
    for batch in batches {
        let batch = batch.map_err(|e| unreadable(path, &e))?;
        for (k, column) in columns.iter_mut().enumerate() {
            column.clear();
            if !numbers(batch.column(k), column) {
                let message = format!(
                    "{}: column `{}` has values of type {}; expected numbers",
                    path.display(),
                    header[k],
                    batch.column(k).data_type()
                );
                return Err(Error::input(None, message));
            }
        }
        for i in 0..batch.num_rows() {
            row.clear();
            row.extend(columns.iter().map(|column| column[i]));
            visit.row(&row);
        }
    }
    Ok(())
}

/// Appends an array of numbers or booleans; missing values are not a number. False if it has neither.
fn numbers(array: &dyn Array, out: &mut Vec<f64>) -> bool {
    match array.data_type() {
        DataType::Float64 => append::<Float64Type>(array, |x| x, out),
        DataType::Float32 => append::<Float32Type>(array, f64::from, out),
        DataType::Int64 => append::<Int64Type>(array, |x| x as f64, out),
        DataType::Int32 => append::<Int32Type>(array, f64::from, out),
        DataType::Int16 => append::<Int16Type>(array, f64::from, out),
        DataType::Int8 => append::<Int8Type>(array, f64::from, out),
        DataType::UInt64 => append::<UInt64Type>(array, |x| x as f64, out),
        DataType::UInt32 => append::<UInt32Type>(array, f64::from, out),
        DataType::UInt16 => append::<UInt16Type>(array, f64::from, out),
        DataType::UInt8 => append::<UInt8Type>(array, f64::from, out),
        DataType::Boolean => {
            out.extend(array.as_boolean().iter().map(|x| x.map_or(f64::NAN, |b| f64::from(u8::from(b)))));
        }
        _ => return false,
    }
    true
}

fn append<T: ArrowPrimitiveType>(array: &dyn Array, number: impl Fn(T::Native) -> f64, out: &mut Vec<f64>) {
    let array = array.as_primitive::<T>();
    if array.null_count() == 0 {
        out.extend(array.values().iter().map(|&x| number(x)));
    } else {
        out.extend(array.iter().map(|x| x.map_or(f64::NAN, &number)));
    }
}
