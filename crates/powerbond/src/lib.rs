//! Co-simulation that follows the energy through the coupling.
//!
//! A [`System`] is read from a file, assembled and run:
//!
//! ```no_run
//! let system = powerbond::System::load("examples/quarter-car")?;
//! let summary = powerbond::run(&system, &powerbond::RunOptions::default())?;
//! println!("{} steps", summary.steps.accepted);
//! # Ok::<(), powerbond::Error>(())
//! ```

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod error;
pub mod number;
mod glob;
mod date;
pub mod source;
pub mod table;
pub mod picture;
pub mod catalogue;
pub mod scenario;
pub mod system;
mod assemble;
pub mod check;
mod observe;
pub mod results;
mod session;
pub mod verify;
mod options;
pub mod report;
pub mod tune;

/// The README's code compiles.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

pub use assemble::{Assembled, Column, SharedLog, Timing};
pub use catalogue::Method;
pub use check::Check;
pub use error::{Collector, Error, Failure, Place, Problem, Problems};
pub use observe::{ENERGY, JUMPS, RESULTS, RealTime, Row, TABLES, Tables};
pub use options::{RunOptions, run};
pub use powerbond_core as core;
pub use powerbond_fmi as fmi;
pub use powerbond_models as models;
pub use session::{Concluded, Done, Ledger, Output, Saved, Session, State};
pub use system::{Connect, Port, System, SystemBuilder, Verify};
