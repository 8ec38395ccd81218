//! What can go wrong, with what the user needs to mend it, and the exit code of each kind.

use crate::source::Place;
use std::path::{Path, PathBuf};

/// An error of the library. [`Error::exit_code`] is what the command ends with.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// The input is refused: a file, a value or their combination.
    #[error("{}{message}", prefix(.place))]
    Input {
        /// Where it stands.
        place: Option<Place>,
        /// What was found and what would be right.
        message: String,
    },
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

/// A place as the beginning of a message about it; nothing if there is none.
pub(crate) fn prefix(place: &Option<Place>) -> String {
    place.as_ref().map_or(String::new(), |p| format!("{p}: "))
}

impl Error {
    /// An input error at a place.
    pub fn input(place: Option<Place>, message: impl Into<String>) -> Self {
        Error::Input { place, message: message.into() }
    }

    /// All of several errors as one; none if there are none.
    pub fn all(errors: Vec<Error>) -> Option<Error> {
        errors.into_iter().next()
    }

    /// An output error.
    pub fn output(path: &Path, error: &std::io::Error) -> Self {
        Error::Output { path: path.to_owned(), reason: error.to_string() }
    }

    /// 3 input refused · 4 model error · 7 accuracy · 8 output.
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::Input { .. } => 3,
            Error::Model { .. } => 4,
            Error::Accuracy { .. } => 7,
            Error::Output { .. } => 8,
        }
    }
}
