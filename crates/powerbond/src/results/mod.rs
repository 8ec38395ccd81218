//! What a run leaves behind: tables of results, energies and, on request, jumps, and `summary.json`.

mod choices;
mod compare;
mod folder;
mod posthumous;
mod summary;
mod verdict;
mod verification;

pub use choices::Choices;
pub use compare::{Comparison, Difference, Tolerance, compare};
pub use folder::{Contents, RunFolder, Wanted};
pub use posthumous::{Posthumous, Reached};
pub use summary::{
    BondSummary, EnergySummary, EstimateSummary, LOG, Origin, SUMMARY, Steps, Summary, config, table_of,
};
pub use verdict::NOT_JUDGED;
pub(crate) use verdict::exceeded;
pub use verdict::{ErrorEstimate, InputSummary, Reason, VerdictSummary};
pub use verification::{FINER, OutputError, Round, Verification};

/// The file of a report in the folder of a run.
pub const REPORT: &str = "report.html";

/// What says that powerbond made a page: it is in the first lines of every report.
pub const MARK: &str = "<meta name=\"generator\" content=\"powerbond\">";
