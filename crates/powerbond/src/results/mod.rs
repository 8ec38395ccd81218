//! What a run leaves behind: `results.csv`, `energy.csv`, `summary.json` and, on request, `jumps.csv`.

mod compare;
pub mod csv;
mod recorder;
mod summary;
mod verdict;

pub use compare::{Comparison, Difference, Tolerance, compare};
pub use recorder::{ENERGY, JUMPS, RESULTS, Recorder};
pub use summary::{BondSummary, EstimateSummary, SUMMARY, Steps, Summary, config};
pub use verdict::{ErrorEstimate, InputSummary, Reason, VerdictSummary};
