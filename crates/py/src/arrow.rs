//! Columns as a stream of Arrow's C data interface, where they are: data frames read them without copies.

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{ArrayRef, Float64Array, RecordBatch, RecordBatchIterator};
use arrow_buffer::{Buffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use numpy::{PyArray1, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::ptr::NonNull;
use std::sync::Arc;

/// A capsule `arrow_array_stream` of one batch; every field has its unit as metadata.
#[pyfunction]
pub fn arrow_stream<'py>(
    py: Python<'py>,
    names: Vec<String>,
    units: Vec<String>,
    columns: Vec<Bound<'py, PyArray1<f64>>>,
) -> PyResult<Bound<'py, PyCapsule>> {
    let fail = |error: ArrowError| PyValueError::new_err(error.to_string());
    let fields: Vec<Field> = names
        .iter()
        .enumerate()
        .map(|(n, name)| {
            let unit = units.get(n).filter(|unit| !unit.is_empty());
            let metadata = unit.map(|unit| ("unit".to_owned(), unit.clone()));
            Field::new(name, DataType::Float64, false)
                .with_metadata(metadata.into_iter().collect::<HashMap<_, _>>())
        })
        .collect();
    let arrays = columns.iter().map(array).collect::<PyResult<Vec<ArrayRef>>>()?;
    let schema = Arc::new(Schema::new(fields));
    let batch = RecordBatch::try_new(schema.clone(), arrays).map_err(fail)?;
    let stream = FFI_ArrowArrayStream::new(Box::new(RecordBatchIterator::new([Ok(batch)], schema)));
    PyCapsule::new(py, stream, Some(c"arrow_array_stream".to_owned()))
}

/// The memory of an array, which lives until Arrow has done with it.
fn array(column: &Bound<'_, PyArray1<f64>>) -> PyResult<ArrayRef> {
    if column.is_empty() {
        return Ok(Arc::new(Float64Array::from(Vec::<f64>::new())));
    }
    if !column.is_c_contiguous() {
        return Err(PyValueError::new_err("columns of a solution are contiguous"));
    }
    let Some(start) = NonNull::new(column.data().cast::<u8>()) else {
        return Err(PyValueError::new_err("a column has no memory"));
    };
    // Nobody sees it through the buffer: a panic leaves nothing half done.
    let owner = Arc::new(AssertUnwindSafe(column.clone().unbind()));
    // Safety: `start` is the beginning of `len` doubles without gaps, which live as long as the array, and the buffer owns a reference to
    // it. Nothing is freed or moved before: an array that is referenced cannot be resized.
    let buffer = unsafe { Buffer::from_custom_allocation(start, column.len() * size_of::<f64>(), owner) };
    Ok(Arc::new(Float64Array::new(ScalarBuffer::new(buffer, 0, column.len()), None)))
}
