//! What a run leaves behind: tables of results, energies and, on request, jumps, and `summary.json`.

#[cfg(feature = "arrow")]
mod arrow;
mod choices;
mod compare;
pub mod csv;
mod format;
mod recorder;
mod summary;
mod table;
mod verdict;
mod writer;

pub use choices::Choices;
pub use compare::{Comparison, Difference, Tolerance, compare};
pub use format::{Format, find};
pub use recorder::{ENERGY, JUMPS, Places, RESULTS, Recorder, TABLES};
pub(crate) use summary::table_of;
pub use summary::{BondSummary, EstimateSummary, Origin, SUMMARY, Steps, Summary, config};
pub use table::{Table, read};
pub use verdict::{ErrorEstimate, InputSummary, Reason, VerdictSummary};
pub use writer::{Field, Flusher, Metadata, Writer};
