//! What watches a run: tables on disk and in memory, the log, wall-clock time and how much of it is left.

mod forecast;
mod log;
mod pacing;
mod recorder;
mod stride;
#[cfg(test)]
pub(crate) mod script;

pub(crate) use forecast::Foresight;
pub use forecast::{Expected, Forecast, Foreseen, Reach};
pub(crate) use log::{StepLog, begin};
pub(crate) use pacing::Pacing;
pub use pacing::RealTime;
pub use recorder::{ENERGY, JUMPS, Places, RESULTS, Row, TABLES, Tables};
pub(crate) use recorder::{Mark, Recorder, Sinks, numbered, results_fields};
pub(crate) use stride::Stride;
