//! Runs one after another in a process that stays: it starts once, keeps FMUs open between runs, and is replaced when it dies.
//!
//! A [`Runner`] has such a process. Tasks and answers go through a [mailbox](crate::own::Mailbox), how far a run is and which call is
//! under way through the black box, and tables through memory that the process writes once and that is read where it is. A crash of
//! an FMU is an [`Error`](powerbond::Error) of its run; the next run gets a new process.

mod runner;
mod server;

pub use runner::{Ended, RowListener, Runner, Tables};
pub(crate) use server::serve;

use powerbond::{Error, Question, Task};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The argument with which this program does runs.
pub(crate) const VERB: &str = "runs";

/// Where such a process finds its mailbox: `<descriptor>:<id of the process that started it>`.
const VARIABLE: &str = "POWERBOND_RUNS";

/// To the process.
#[derive(Serialize, Deserialize)]
enum Ask {
    /// Do this, in this folder.
    Run {
        task: Box<Task>,
        folder: PathBuf,
        /// Show every row, and wait for [`Ask::GoOn`].
        rows: bool,
    },
    /// Answer this about the system of a task, in this folder.
    Answer { task: Box<Task>, question: Question, folder: PathBuf },
    /// A row was seen: whether to go on.
    GoOn(bool),
    /// Make everything that a run needs, and do not run it.
    Check { task: Box<Task>, folder: PathBuf },
    /// That is all.
    Quit,
}

/// From the process.
#[derive(Serialize, Deserialize)]
enum Say {
    /// The names of the columns of rows to come.
    Columns(Vec<String>),
    /// A row.
    Row(Vec<f64>),
    /// The run has ended.
    Ended(Box<Told>),
    /// What a run would be, and whether the next one needs another process.
    Checked(Checked, bool),
    /// The answer, if it was not stopped, and whether the next task needs another process.
    Answered(Option<String>, bool),
    /// The run did not begin, or its results could not be written.
    Failed(Error),
}

/// What is known of a run before it begins.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Checked {
    /// When it begins, in s.
    pub start: f64,
    /// When it ends, in s.
    pub stop: f64,
    /// The variables that it records.
    pub columns: Vec<String>,
}

/// What a run came to. The columns of all tables follow one another in the memory behind `descriptor`.
#[derive(Serialize, Deserialize)]
struct Told {
    /// As in `summary.json`.
    summary: String,
    error: Option<Error>,
    exceeded: Vec<String>,
    tables: Vec<Head>,
    /// Of the process; none if there are no rows.
    descriptor: Option<i32>,
    /// The next run needs another process.
    is_last: bool,
}

/// A table without its numbers.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Head {
    /// Names of the columns.
    pub names: Vec<String>,
    /// Units of the columns; empty where there is none.
    pub units: Vec<String>,
    /// How many rows there are.
    pub rows: usize,
}
