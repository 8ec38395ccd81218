//! What a run leaves behind: `results.csv`, `energy.csv` and `summary.json`.

pub mod csv;
mod recorder;
mod summary;

pub use recorder::{ENERGY, RESULTS, Recorder};
pub use summary::{BondSummary, EstimateSummary, SUMMARY, Steps, Summary, config};
