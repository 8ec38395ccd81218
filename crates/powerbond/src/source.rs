//! Where a value was written: file, line and column, or the command line.

use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A text with the name of its file.
#[derive(Debug)]
pub struct Source {
    /// The file, as the user named it.
    pub path: PathBuf,
    /// Its text.
    pub text: String,
}

impl Source {
    /// The place of byte `offset`.
    pub fn place(&self, offset: usize) -> Place {
        let before = &self.text[..offset.min(self.text.len())];
        let line_start = before.rfind('\n').map_or(0, |i| i + 1);
        Place::File {
            path: self.path.clone(),
            line: 1 + before.matches('\n').count(),
            column: 1 + before[line_start..].chars().count(),
        }
    }
}

/// Where something stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// In a file.
    File {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
    },
    /// In an option, as it was typed.
    Option(String),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::File { path, line, column } => write!(f, "{}:{line}:{column}", path.display()),
            Place::Option(text) => write!(f, "{text}"),
        }
    }
}

/// A value that remembers where it was written.
#[derive(Debug, Clone)]
pub struct At<T> {
    /// The value.
    pub value: T,
    place: Option<Written>,
}

#[derive(Debug, Clone)]
enum Written {
    File(Arc<Source>, usize),
    Option(String),
}

impl<T> At<T> {
    /// A value from byte `offset` of a file.
    pub fn file(value: T, source: &Arc<Source>, offset: usize) -> Self {
        At { value, place: Some(Written::File(source.clone(), offset)) }
    }

    /// A value from the command line.
    pub fn option(value: T, text: impl Into<String>) -> Self {
        At { value, place: Some(Written::Option(text.into())) }
    }

    /// A value that nobody wrote.
    pub fn default(value: T) -> Self {
        At { value, place: None }
    }

    /// Where it stands.
    pub fn place(&self) -> Option<Place> {
        match self.place.as_ref()? {
            Written::File(source, offset) => Some(source.place(*offset)),
            Written::Option(text) => Some(Place::Option(text.clone())),
        }
    }

    /// Where it stands, as the beginning of a message about it; nothing if nobody wrote it.
    pub fn prefix(&self) -> String {
        crate::error::prefix(&self.place())
    }

    /// Another value from the same place.
    pub fn with<U>(&self, value: U) -> At<U> {
        At { value, place: self.place.clone() }
    }
}

/// Reads a text file of at most `limit` bytes; one that is missing, unreadable or endless is an input error that
/// says which.
pub fn read(path: &Path, limit: u64) -> Result<Arc<Source>, crate::Error> {
    let fail = |message: String| Err(crate::Error::input(None, message));
    let mut bytes = Vec::new();
    match std::fs::File::open(path).and_then(|file| file.take(limit + 1).read_to_end(&mut bytes)) {
        Err(error) => fail(format!("cannot read {}: {error}", path.display())),
        Ok(n) if n as u64 > limit => {
            fail(format!("{} is larger than {} MB", path.display(), limit / 1_000_000))
        }
        Ok(_) => match String::from_utf8(bytes) {
            Ok(text) => Ok(Arc::new(Source { path: path.to_owned(), text })),
            Err(_) => fail(format!("{} is not a text file (UTF-8)", path.display())),
        },
    }
}
