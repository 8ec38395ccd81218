//! Co-simulation that follows the energy through the coupling.
//!
//! A [`System`] is read from a file, prepared and run:
//!
//! ```no_run
//! let system = powerbond::System::load("examples/quarter-car")?;
//! let summary = powerbond::run(&system, &powerbond::RunOptions::default())?;
//! println!("{} steps", summary.steps.accepted);
//! # Ok::<(), powerbond::Error>(())
//! ```

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod catalogue;
pub mod check;
mod date;
mod declare;
mod diary;
mod error;
mod glob;
pub mod number;
mod open_ends;
mod pace;
pub mod picture;
mod prepare;
pub mod report;
pub mod results;
mod run;
pub mod scenario;
#[cfg(test)]
mod script;
mod simulators;
pub mod source;
pub mod system;
pub mod table;
mod timing;
pub mod tune;

/// The README's code compiles.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

pub use check::Check;
pub use error::{Collector, Error, Problem, Problems};
pub use pace::RealTime;
pub use powerbond_core as core;
pub use powerbond_fmi as fmi;
pub use powerbond_models as models;
pub use prepare::{Column, Prepared};
pub use run::{Run, RunOptions, run, run_prepared};
pub use simulators::SharedLog;
pub use system::System;
pub use timing::Timing;
