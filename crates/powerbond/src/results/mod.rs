//! What a run leaves behind: tables of results, energies and, on request, jumps, and `summary.json`.

mod choices;
mod compare;
mod folder;
mod recorder;
mod summary;
mod verdict;

pub use choices::Choices;
pub use compare::{Comparison, Difference, Tolerance, compare};
pub use folder::{Contents, RunFolder, Wanted};
pub use recorder::{ENERGY, JUMPS, Places, RESULTS, Recorder, TABLES};
pub(crate) use summary::table_of;
pub use summary::{BondSummary, EstimateSummary, Origin, SUMMARY, Steps, Summary, config};
pub use verdict::{ErrorEstimate, InputSummary, Reason, VerdictSummary};
