//! Tables as files, as the command writes them.

use crate::error::raise;
use numpy::{PyReadonlyArray1, PyUntypedArrayMethods};
use powerbond::Error;
use powerbond::table::{Field, Format, Metadata, Writer};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::path::PathBuf;

/// Writes columns as CSV. A file there is replaced.
#[pyfunction]
pub fn write_csv(
    py: Python<'_>,
    path: PathBuf,
    names: Vec<String>,
    columns: Vec<PyReadonlyArray1<'_, f64>>,
) -> PyResult<()> {
    let rows = columns.first().map_or(0, |column| column.len());
    if columns.len() != names.len() || columns.iter().any(|column| column.len() != rows) {
        return Err(PyValueError::new_err("columns of a table have as many names, and as many rows"));
    }
    let views: Vec<_> = columns.iter().map(|column| column.as_array()).collect();
    py.detach(|| {
        if path.is_file() {
            std::fs::remove_file(&path).map_err(|e| Error::output(&path, &e))?;
        }
        let fields: Vec<Field> = names.iter().map(|name| Field::new(name, "")).collect();
        let mut writer = Writer::create(&path, Format::Csv, &fields, &Metadata::default(), None)?;
        for row in 0..rows {
            writer.row(views.iter().map(|view| view[row]))?;
        }
        writer.close()
    })
    .map_err(|error| raise(py, &error))
}
