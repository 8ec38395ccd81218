//! Co-simulation that follows the energy through the coupling.
//!
//! A [`System`] of models and FMUs is built, stepped and ended; inputs are set while it runs:
//!
//! ```
//! use powerbond::{Connect, Port, State, System};
//!
//! fn main() -> Result<(), powerbond::Error> {
//!     let system = System::builder()
//!         .model("chassis", "quarter-car/chassis")
//!         .model("wheel", "quarter-car/wheel-suspension")
//!         .connect("chassis.velocity", "wheel.chassis_velocity")
//!         .connection(Connect::new("wheel.suspension_force", "chassis.force").gain(-1.0))
//!         .bond("suspension", [
//!             Port::entering("chassis.force", "chassis.velocity"),
//!             Port::entering("wheel.chassis_velocity", "wheel.suspension_force"),
//!         ])
//!         .input("wheel.road", 0.0)
//!         .stop(4.0)
//!         .tolerance(1e-3)
//!         .build()?;
//!     let mut run = system.start()?;
//!     while run.step()? == State::Running {
//!         if run.time() >= 1.0 && run.value("wheel.road")? == 0.0 {
//!             run.set("wheel.road", 0.1)?; // the curb
//!         }
//!     }
//!     let height = run.value("chassis.position")?;
//!     let done = run.finish()?;
//!     println!("{}, {height:.3} m, {} rows", done.verdict.word, done.table.rows());
//!     Ok(())
//! }
//! ```
//!
//! # Guide
//!
//! 1. **A system** is plain data. It is made with [`System::builder`] as above or read from a file with [`System::load`];
//!    both do the same checks and give the same messages, and all mistakes are reported at once. A subsystem is a built-in
//!    [model](models), an FMU ([`SystemBuilder::fmu`]) or a model of one's own: any `impl`
//!    [`Subsystem`](core::subsystem::Subsystem) with [`SystemBuilder::subsystem`], or a [`ModelSpec`](models::ModelSpec) that
//!    is [registered](System::register), so that files may say `model = "mine/pump"`. The crate in `examples/own-model` is a
//!    template.
//! 2. **A method** is a [`Method`]: a schedule, a hold, a correction, estimators and a controller, each an enum with typed
//!    parameters ([`catalogue`]). [`SystemBuilder::tolerance`] chooses all of it automatically.
//! 3. **A run** is a [`Session`]: [`System::start`] keeps results in memory, [`Session::open`] also writes files or calls a
//!    function for every row ([`Output`]). [`Session::step`], [`Session::run_until`] and [`Session::run`] give the same bits.
//!    [`Session::value`] reads and [`Session::set`] changes variables by their names; [`Session::save`] and
//!    [`Session::restore`] go back in time; [`Session::verdict`] and [`Session::ledger`] can be asked for at any time.
//! 4. **Results** are in [`Done`]: tables as columns, the verdict (how far the results can be trusted), the energy ledger of
//!    every bond, and the [summary](results::Summary). [`run`] does all of this for a file, as the command does, and writes
//!    the folder of results.
//! 5. **Errors** are data: an [`Error`] has a place in a file, an exit code and, for a run that failed, a [`Failure`] with
//!    subsystem, time, call, status and cure.
//! 6. **Tools** on top: [`check`] (structure before a run), [`suggest`] (connections and bonds
//!    that are missing), [`tune`] (error against cost of all methods), [`report`] (one
//!    HTML page), [`picture`], [`results::compare`]. They use only what is public here.
//!
//! Nothing is printed. Log messages go to [`tracing`](https://docs.rs/tracing), with the targets `powerbond::run`,
//! `powerbond::config`, `powerbond::steps` and `powerbond::fmu`.

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
pub mod suggest;
pub mod convert;
mod observe;
pub mod results;
mod session;
pub mod verify;
mod options;
mod task;
pub mod report;
pub mod sweep;
pub mod tune;
pub mod stability;
mod question;

/// The README's code compiles.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

pub use assemble::{Assembled, Column, SharedLog, Timing};
pub use catalogue::Method;
pub use check::Check;
pub use error::{Collector, Error, Failure, Place, Problem, Problems};
pub use glob::fits;
pub use observe::{
    ENERGY, Expected, Forecast, Foreseen, JUMPS, RESULTS, Reach, RealTime, Row, TABLES, Tables,
};
pub use options::{RunOptions, Samples, run};
pub use powerbond_core as core;
pub use powerbond_fmi as fmi;
pub use powerbond_models as models;
pub use question::Question;
pub use session::{Columns, Concluded, Done, Ledger, Output, Saved, Session, State};
pub use system::{Connect, OwnStepsBy, Port, System, SystemBuilder, Verify};
pub use task::{Described, Task, keep_open};
