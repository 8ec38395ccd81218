//! Parquet, as much of it as a dataset needs, without Arrow: flat tables of numbers and texts that may lack values.

use super::schema::{Cell, Column, Kind, Role, Row};
use super::value::Value;
use crate::Error;
use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// Values of a column, and for each row 1 if there is one.
enum Values {
    Real(Vec<f64>, Vec<i16>),
    Integer(Vec<i64>, Vec<i16>),
    Text(Vec<ByteArray>, Vec<i16>),
    Flag(Vec<bool>, Vec<i16>),
}

/// Rows as the bytes of a file.
pub fn of_rows(columns: &[Column], rows: &[Row]) -> io::Result<Vec<u8>> {
    encode(columns, |c| {
        let cells = || rows.iter().map(move |row| &row[c]);
        let levels = |has: &dyn Fn(&Cell) -> bool| cells().map(|cell| i16::from(has(cell))).collect();
        match columns[c].kind {
            Kind::Real => Values::Real(
                cells().filter_map(Cell::number).collect(),
                levels(&|cell| cell.number().is_some()),
            ),
            Kind::Integer | Kind::Time => {
                let integer = |cell: &Cell| if let Cell::Integer(n) = cell { Some(*n) } else { None };
                Values::Integer(
                    cells().filter_map(integer).collect(),
                    levels(&|cell| integer(cell).is_some()),
                )
            }
            Kind::Text => Values::Text(
                cells().filter_map(Cell::text).map(ByteArray::from).collect(),
                levels(&|cell| cell.text().is_some()),
            ),
            Kind::Boolean => {
                let flag = |cell: &Cell| if let Cell::Flag(flag) = cell { Some(*flag) } else { None };
                Values::Flag(cells().filter_map(flag).collect(), levels(&|cell| flag(cell).is_some()))
            }
        }
    })
}

/// Numbers as the bytes of a file.
pub fn of_numbers(names: &[&str], columns: &[&[f64]]) -> io::Result<Vec<u8>> {
    let described: Vec<Column> =
        names.iter().map(|name| Column::new(name, Kind::Real, Role::Output)).collect();
    encode(&described, |c| Values::Real(columns[c].to_vec(), vec![1; columns[c].len()]))
}

fn encode(columns: &[Column], values: impl Fn(usize) -> Values) -> io::Result<Vec<u8>> {
    let fields = columns.iter().map(field).collect::<Result<Vec<_>, _>>().map_err(io::Error::other)?;
    let schema = Type::group_type_builder("schema").with_fields(fields).build().map_err(io::Error::other)?;
    let properties = WriterProperties::builder()
        .set_created_by(format!("powerbond {}", env!("CARGO_PKG_VERSION")))
        .set_compression(Compression::SNAPPY)
        .build();
    let mut writer = SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::new(properties))
        .map_err(io::Error::other)?;
    let write = |writer: &mut SerializedFileWriter<Vec<u8>>| -> Result<(), ParquetError> {
        let mut group = writer.next_row_group()?;
        let mut c = 0;
        while let Some(mut column) = group.next_column()? {
            match (column.untyped(), values(c)) {
                (ColumnWriter::DoubleColumnWriter(w), Values::Real(v, d)) => {
                    w.write_batch(&v, Some(&d), None)?
                }
                (ColumnWriter::Int64ColumnWriter(w), Values::Integer(v, d)) => {
                    w.write_batch(&v, Some(&d), None)?
                }
                (ColumnWriter::ByteArrayColumnWriter(w), Values::Text(v, d)) => {
                    w.write_batch(&v, Some(&d), None)?
                }
                (ColumnWriter::BoolColumnWriter(w), Values::Flag(v, d)) => {
                    w.write_batch(&v, Some(&d), None)?
                }
                _ => return Err(ParquetError::General(format!("column {c} has values of another type"))),
            };
            column.close()?;
            c += 1;
        }
        group.close().map(drop)
    };
    write(&mut writer).map_err(io::Error::other)?;
    writer.into_inner().map_err(io::Error::other)
}

fn field(column: &Column) -> Result<Arc<Type>, ParquetError> {
    let (physical, logical) = match column.kind {
        Kind::Real => (Physical::DOUBLE, None),
        Kind::Integer => (Physical::INT64, None),
        Kind::Time => (Physical::INT64, Some(LogicalType::timestamp(true, TimeUnit::MICROS))),
        Kind::Boolean => (Physical::BOOLEAN, None),
        Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
    };
    Type::primitive_type_builder(&column.name, physical)
        .with_repetition(Repetition::OPTIONAL)
        .with_logical_type(logical)
        .build()
        .map(Arc::new)
}

/// All rows of a file, with a cell for each of `columns`: by their names, nothing where the file lacks them.
pub fn read_rows(path: &Path, columns: &[Column]) -> Result<Vec<Row>, Error> {
    let table = read(path).map_err(|error| unreadable(path, &error))?;
    let rows = table.first().map_or(0, |(_, cells)| cells.len());
    let mut cells: Vec<_> = columns
        .iter()
        .map(|column| {
            let found = table.iter().find(|(name, _)| *name == column.name);
            found.map(|(_, cells)| cells.iter())
        })
        .collect();
    let cell = |cells: &mut Option<std::slice::Iter<'_, Cell>>| {
        cells.as_mut().and_then(Iterator::next).cloned().unwrap_or(Cell::None)
    };
    Ok((0..rows).map(|_| cells.iter_mut().map(cell).collect()).collect())
}

/// The columns of a file as values of parameters.
pub fn read_values(path: &Path) -> Result<Vec<(String, Vec<Value>)>, Error> {
    let table = read(path).map_err(|error| {
        let text = error.to_string();
        let is_packed = text.contains("Disabled feature");
        let cure = if is_packed { "; write it with the compression `snappy`, or without" } else { "" };
        unreadable(path, &format!("{text}{cure}"))
    })?;
    let mut columns = Vec::new();
    for (name, cells) in table {
        let value = |cell: Cell| match cell {
            Cell::Text(text) => Some(Value::Text(text)),
            Cell::Flag(flag) => Some(Value::Flag(flag)),
            Cell::Integer(n) if n as f64 as i64 != n => Some(Value::Text(n.to_string())),
            cell => cell.number().map(Value::Number),
        };
        let values: Option<Vec<Value>> = cells.into_iter().map(value).collect();
        let Some(values) = values else {
            return Err(unreadable(path, &format!("the column `{name}` lacks values in some rows")));
        };
        columns.push((name, values));
    }
    Ok(columns)
}

fn unreadable(path: &Path, error: &dyn std::fmt::Display) -> Error {
    Error::input(None, format!("cannot read {}: {error}", path.display()))
}

/// All of a file, column by column.
fn read(path: &Path) -> Result<Vec<(String, Vec<Cell>)>, ParquetError> {
    let reader =
        SerializedFileReader::new(File::open(path).map_err(|e| ParquetError::External(Box::new(e)))?)?;
    let schema = reader.metadata().file_metadata().schema_descr_ptr();
    let mut table: Vec<(String, Vec<Cell>)> =
        schema.columns().iter().map(|column| (column.name().to_owned(), Vec::new())).collect();
    for column in schema.columns() {
        if column.max_rep_level() > 0 || column.max_def_level() > 1 {
            return Err(ParquetError::General(format!(
                "the column `{}` holds lists",
                column.path().string()
            )));
        }
    }
    for g in 0..reader.num_row_groups() {
        let group = reader.get_row_group(g)?;
        for (c, (name, cells)) in table.iter_mut().enumerate() {
            let optional = schema.column(c).max_def_level() == 1;
            column(group.as_ref(), c, optional, name, cells)?;
        }
    }
    Ok(table)
}

fn column(
    group: &dyn RowGroupReader,
    c: usize,
    optional: bool,
    name: &str,
    out: &mut Vec<Cell>,
) -> Result<(), ParquetError> {
    let rows = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
    let text = |bytes: ByteArray| Cell::Text(String::from_utf8_lossy(bytes.data()).into_owned());
    match group.get_column_reader(c)? {
        ColumnReader::DoubleColumnReader(r) => cells(r, rows, optional, Cell::real, out),
        ColumnReader::FloatColumnReader(r) => cells(r, rows, optional, |x| Cell::real(x.into()), out),
        ColumnReader::Int64ColumnReader(r) => cells(r, rows, optional, Cell::Integer, out),
        ColumnReader::Int32ColumnReader(r) => cells(r, rows, optional, |n| Cell::Integer(n.into()), out),
        ColumnReader::ByteArrayColumnReader(r) => cells(r, rows, optional, text, out),
        ColumnReader::BoolColumnReader(r) => cells(r, rows, optional, Cell::Flag, out),
        _ => Err(ParquetError::General(format!("the column `{name}` holds neither numbers nor texts"))),
    }
}

/// Appends `rows` cells.
fn cells<T: DataType>(
    mut reader: ColumnReaderImpl<T>,
    rows: usize,
    optional: bool,
    cell: impl Fn(T::T) -> Cell,
    out: &mut Vec<Cell>,
) -> Result<(), ParquetError> {
    let (mut values, mut levels) = (Vec::new(), Vec::new());
    let mut read = 0;
    while read < rows {
        let (n, ..) = reader.read_records(rows - read, optional.then_some(&mut levels), None, &mut values)?;
        if n == 0 {
            return Err(ParquetError::EOF(format!("{read} of {rows} rows")));
        }
        read += n;
    }
    let mut values = values.into_iter();
    let mut next = || values.next().map_or(Cell::None, &cell);
    match optional {
        true => out.extend(levels.into_iter().map(|level| if level == 1 { next() } else { Cell::None })),
        false => out.extend((0..rows).map(|_| next())),
    }
    Ok(())
}
