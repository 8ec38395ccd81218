//! What can go wrong, with what the user needs to mend it, and the exit code of each kind.

mod failure;
mod problem;

pub use failure::Failure;
pub use problem::{Collector, Place, Problem, Problems};

pub(crate) use problem::prefix;

use powerbond_core::subsystem::{Loss, Lost};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// An error of the library. [`Error::exit_code`] is what the command ends with.
#[derive(Debug, Clone, thiserror::Error, Serialize, Deserialize)]
pub enum Error {
    /// The input is refused: a file, a value or their combination. Everything that was found wrong with it.
    #[error("{0}")]
    Input(Problems),
    /// A model failed: a bad status, a value that is not finite.
    #[error("{0}")]
    Model(Box<Failure>),
    /// A model ended the process that ran it.
    #[error("{0}")]
    Crash(Box<Failure>),
    /// A call or the run took longer than allowed, or stopped.
    #[error("{0}")]
    Deadline(Box<Failure>),
    /// Something did not converge, or a limit of accuracy was exceeded.
    #[error("{0}")]
    Accuracy(Box<Failure>),
    /// The host of a subsystem cannot be reached, or not any more.
    #[error("{0}")]
    Remote(Box<Failure>),
    /// Results could not be written.
    #[error("cannot write {}: {reason}", path.display())]
    Output {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        reason: String,
    },
}

impl Error {
    /// An input error at a place.
    pub fn input(place: Option<Place>, message: impl Into<String>) -> Self {
        Error::Input(Problems::one(Problem { place, message: message.into() }))
    }

    /// Something did not converge, or a limit of accuracy was exceeded.
    pub fn accuracy(message: impl Into<String>) -> Self {
        Error::Accuracy(Box::new(Failure::new(message)))
    }

    /// The process or the host that ran `subsystem` is gone.
    pub fn lost(subsystem: &str, lost: &Lost) -> Self {
        let (kind, cure): (fn(Box<Failure>) -> Error, _) = match lost.loss {
            Loss::Crashed => (Error::Crash, Some("The fault is in the FMU; its messages are shown by `-v`")),
            Loss::Stopped => (Error::Deadline, None),
            Loss::Unreachable => (
                Error::Remote,
                Some(
                    "Old values are never used in its place: check the host and the connection, then run again",
                ),
            ),
        };
        let failure = Failure::new(format!("`{subsystem}`: {lost}")).of(subsystem);
        kind(Box::new(Failure {
            cure: cure.map(str::to_owned),
            time: lost.time,
            call: lost.call.clone(),
            status: Some(lost.how.clone()),
            ..failure
        }))
    }

    /// What failed in a run; nothing for errors of other kinds.
    pub fn failure(&self) -> Option<&Failure> {
        match self {
            Error::Model(failure)
            | Error::Crash(failure)
            | Error::Deadline(failure)
            | Error::Accuracy(failure)
            | Error::Remote(failure) => Some(failure),
            Error::Input(_) | Error::Output { .. } => None,
        }
    }

    /// Where the first problem of the input stands, if that is known.
    pub fn place(&self) -> Option<&Place> {
        self.problems().iter().find_map(|problem| problem.place.as_ref())
    }

    /// An output error.
    pub fn output(path: &Path, error: &std::io::Error) -> Self {
        Error::Output { path: path.to_owned(), reason: error.to_string() }
    }

    /// What is wrong with the input, in the order of places; nothing for errors of other kinds.
    pub fn problems(&self) -> &[Problem] {
        match self {
            Error::Input(problems) => problems,
            _ => &[],
        }
    }

    /// The same error; problems without a place get this one.
    pub fn placed(self, place: Option<Place>) -> Self {
        match self {
            Error::Input(problems) => Error::Input(problems.placed(place)),
            other => other,
        }
    }

    /// 3 input refused · 4 model error · 5 crash · 6 deadline · 7 accuracy · 8 output · 9 remote lost.
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::Input(_) => 3,
            Error::Model(_) => 4,
            Error::Crash(_) => 5,
            Error::Deadline(_) => 6,
            Error::Accuracy(_) => 7,
            Error::Output { .. } => 8,
            Error::Remote(_) => 9,
        }
    }
}
