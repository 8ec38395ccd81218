//! What can go wrong, with what the user needs to mend it, and the exit code of each kind.

mod problem;

pub use problem::{Collector, Place, Problem, Problems};

pub(crate) use problem::prefix;

use std::path::{Path, PathBuf};

/// An error of the library. [`Error::exit_code`] is what the command ends with.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// The input is refused: a file, a value or their combination. Everything that was found wrong with it.
    #[error("{0}")]
    Input(Problems),
    /// A model failed: a bad status, a value that is not finite.
    #[error("{message}")]
    Model {
        /// Who, when, which call, what.
        message: String,
    },
    /// Something did not converge, or a limit of accuracy was exceeded.
    #[error("{message}")]
    Accuracy {
        /// What, where, how much.
        message: String,
    },
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

    /// 3 input refused · 4 model error · 7 accuracy · 8 output.
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::Input(_) => 3,
            Error::Model { .. } => 4,
            Error::Accuracy { .. } => 7,
            Error::Output { .. } => 8,
        }
    }
}
