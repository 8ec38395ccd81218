//! What watches a run: tables on disk and in memory, the log, wall-clock time.

mod log;
mod pacing;
mod recorder;
#[cfg(test)]
pub(crate) mod script;

pub(crate) use log::{StepLog, begin};
pub(crate) use pacing::Pacing;
pub use pacing::RealTime;
pub use recorder::{ENERGY, JUMPS, Places, RESULTS, Row, TABLES, Tables};
pub(crate) use recorder::{Mark, Recorder, Sinks, numbered, results_fields};
