//! Runs of powerbond in a process of their own.
//!
//! FMUs are other people's code: they crash, hang, call `exit` or close descriptors. A run therefore takes two processes. The
//! *worker* runs the session with all FMUs in it at native speed and writes the files of the results. The *supervisor* owns the
//! terminal, deadlines, signals and the exit code. They share one piece of memory, the [`BlackBox`]: how far the run is, which call
//! of which FMU is under way, and the rows that are not in their files yet. There is no message per step. If the worker dies or
//! hangs, the supervisor puts these rows into the files, says who did what, and completes `summary.json`.
//!
//! A supervisor that is killed takes the worker with it. We contain faults, not malice: a worker has all rights of its user, unless it
//! enters a sandbox, in which it writes to its own folders only and has no network.

#![deny(unsafe_op_in_unsafe_fn)]
#![warn(missing_docs)]

mod black_box;
mod blame;
#[cfg(target_os = "linux")]
#[path = "os_linux.rs"]
mod os;
#[cfg(not(target_os = "linux"))]
#[path = "os_other.rs"]
mod os;
mod own;
mod program;
mod ring;
mod rows;
mod runs;
#[cfg(target_os = "linux")]
mod sandbox;
#[cfg(not(target_os = "linux"))]
#[path = "sandbox_other.rs"]
mod sandbox;
mod supervisor;
mod sweep;
mod words;
mod worker;

pub use black_box::{BlackBox, Progress};
pub use own::{Program, Workers, serve};
pub use program::{start_by, this_program};
pub use runs::{Checked, Ended, Head, RowListener, Runner, Tables};
pub use sandbox::{enter as enter_sandbox, is_possible as sandbox_is_possible};
pub use supervisor::{Ending, Environment, Limits, Listener, Silent, attend, supervise};
pub use sweep::{Pending, Prepared, Runners, Seen};
pub use worker::{Report, Worker};

/// Whether a supervisor started this process.
pub fn is_worker() -> bool {
    std::env::var_os(worker::VARIABLE).is_some()
}

/// Whether runs can be supervised on this system.
pub fn is_supported() -> bool {
    os::SUPPORTED
}
