//! What a run leaves behind: tables of results, energies and, on request, jumps, and `summary.json`.

mod choices;
mod compare;
mod errors;
mod folder;
mod posthumous;
mod side_by_side;
mod summary;
mod verdict;
mod verification;

pub use choices::Choices;
pub(crate) use compare::distance;
pub use compare::{Comparison, Difference, Tolerance, compare};
pub use errors::{ENERGY_ERRORS, ERRORS, Errors, ErrorsOverTime, errors, may_write, write_errors};
pub(crate) use errors::{energy_of, is_power};
pub use folder::{Contents, RunFolder, Wanted};
pub use posthumous::{Posthumous, Reached};
pub use side_by_side::{Point, SideBySide, Walk};
pub use summary::{
    BondSummary, EnergySummary, EstimateSummary, LOG, Origin, SUMMARY, Steps, Summary, config, table_of,
};
pub use verdict::NOT_JUDGED;
pub(crate) use verdict::exceeded;
pub use verdict::{ErrorEstimate, InputSummary, Reason, VerdictSummary};
pub(crate) use verification::converges;
pub use verification::{FINER, OutputError, Round, Verification};

/// The file of a report in the folder of a run.
pub const REPORT: &str = "report.html";

/// What says that powerbond made a page: it is in the first lines of every report.
pub const MARK: &str = "<meta name=\"generator\" content=\"powerbond\">";
