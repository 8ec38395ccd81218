//! What the Python package is built on: runs here and in another process, a session that is stepped, questions, results as arrays, and the command.

#![deny(unsafe_op_in_unsafe_fn)]

#[cfg(feature = "arrow")]
mod arrow;
mod ask;
mod error;
mod member;
mod options;
mod run;
mod session;
mod start;
mod sweep;
mod table;

use pyo3::prelude::*;

#[pymodule]
fn _powerbond(module: &Bound<'_, PyModule>) -> PyResult<()> {
    powerbond::system::install(powerbond_worker::Workers::default());
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("PowerbondError", error::exception(module.py())?)?;
    module.add_class::<session::PySession>()?;
    module.add_class::<session::PySaved>()?;
    module.add_function(wrap_pyfunction!(run::run, module)?)?;
    module.add_function(wrap_pyfunction!(run::end_workers, module)?)?;
    module.add_function(wrap_pyfunction!(run::report, module)?)?;
    module.add_function(wrap_pyfunction!(ask::check, module)?)?;
    module.add_function(wrap_pyfunction!(ask::tuned, module)?)?;
    module.add_function(wrap_pyfunction!(ask::inspected, module)?)?;
    module.add_function(wrap_pyfunction!(ask::compared, module)?)?;
    module.add_function(wrap_pyfunction!(ask::hint, module)?)?;
    module.add_function(wrap_pyfunction!(ask::matching, module)?)?;
    module.add_function(wrap_pyfunction!(error::in_python, module)?)?;
    module.add_function(wrap_pyfunction!(table::write_csv, module)?)?;
    module.add_function(wrap_pyfunction!(error::exceeded, module)?)?;
    module.add_function(wrap_pyfunction!(start::prepare, module)?)?;
    module.add_function(wrap_pyfunction!(start::command, module)?)?;
    module.add_function(wrap_pyfunction!(start::main, module)?)?;
    module.add_class::<sweep::PyPlan>()?;
    module.add_class::<sweep::PyDataset>()?;
    module.add_function(wrap_pyfunction!(sweep::end_sweep_workers, module)?)?;
    module.add_function(wrap_pyfunction!(sweep::sweep_totals, module)?)?;
    module.add_function(wrap_pyfunction!(sweep::sweep_columns, module)?)?;
    module.add_function(wrap_pyfunction!(sweep::sweep_report, module)?)?;
    module.add_function(wrap_pyfunction!(sweep::sweep_merge, module)?)?;
    #[cfg(feature = "arrow")]
    module.add_function(wrap_pyfunction!(arrow::arrow_stream, module)?)?;
    Ok(())
}
