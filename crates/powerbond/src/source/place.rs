//! Texts with their origin, and values that remember where they were written.

use crate::Error;
use crate::error::Place;
use powerbond_fmi::nearby;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// A text and where it comes from.
#[derive(Debug)]
pub struct Source {
    /// Where it comes from.
    pub origin: Origin,
    /// The text.
    pub text: String,
    lines: OnceLock<Lines>,
}

/// Where a text comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// A file, as the user named it.
    File(PathBuf),
    /// An option of the command line, as it was typed.
    Option(String),
}

impl Source {
    /// The text of a file.
    pub fn file(path: impl Into<PathBuf>, text: impl Into<String>) -> Arc<Self> {
        Source::new(Origin::File(path.into()), text.into())
    }

    /// A text that an option says; `typed` is the option with its value, and the place of everything in the text.
    pub fn option(typed: impl Into<String>, text: impl Into<String>) -> Arc<Self> {
        Source::new(Origin::Option(typed.into()), text.into())
    }

    fn new(origin: Origin, text: String) -> Arc<Self> {
        Arc::new(Source { origin, text, lines: OnceLock::new() })
    }

    /// The file; of an option, an empty path.
    pub fn path(&self) -> &Path {
        match &self.origin {
            Origin::File(path) => path,
            Origin::Option(_) => Path::new(""),
        }
    }

    /// The place of byte `offset`.
    pub fn place(&self, offset: usize) -> Place {
        match &self.origin {
            Origin::File(path) => {
                let (line, column) = self.lines().position(&self.text, offset);
                Place::File { path: path.clone(), line, column }
            }
            Origin::Option(typed) => Place::Option(typed.clone()),
        }
    }

    /// The byte of a character: line from 1, column from 0. The end of the text if there is none.
    pub(super) fn offset(&self, line: usize, column: usize) -> usize {
        self.lines().offset(&self.text, line, column)
    }

    fn lines(&self) -> &Lines {
        self.lines.get_or_init(|| Lines::of(&self.text))
    }
}

/// Where lines begin and how many characters there are up to every [`STRIDE`] bytes: a file may have many mistakes, and one
/// long line.
#[derive(Debug)]
struct Lines {
    starts: Vec<usize>,
    characters: Vec<usize>,
}

const STRIDE: usize = 4096;

impl Lines {
    fn of(text: &str) -> Self {
        let mut starts = vec![0];
        starts.extend(text.match_indices('\n').map(|(i, _)| i + 1));
        let mut characters = vec![0];
        for part in text.as_bytes().chunks(STRIDE) {
            characters.push(characters.last().unwrap_or(&0) + count(part));
        }
        Lines { starts, characters }
    }

    /// Line and column of byte `offset`, both from 1.
    fn position(&self, text: &str, offset: usize) -> (usize, usize) {
        let offset = offset.min(text.len());
        let line = self.starts.partition_point(|&start| start <= offset);
        (line, 1 + self.before(text, offset) - self.before(text, self.starts[line - 1]))
    }

    /// The characters that begin before byte `end`.
    fn before(&self, text: &str, end: usize) -> usize {
        let whole = end / STRIDE;
        self.characters[whole] + count(&text.as_bytes()[whole * STRIDE..end])
    }

    fn offset(&self, text: &str, line: usize, column: usize) -> usize {
        let Some(&start) = self.starts.get(line.saturating_sub(1)) else { return text.len() };
        let wanted = self.before(text, start) + column;
        let whole = self.characters.partition_point(|&n| n <= wanted) - 1;
        let first = (whole * STRIDE).min(text.len());
        let mut characters = text.as_bytes()[first..].iter().enumerate().filter(|(_, byte)| begins(byte));
        let found = characters.nth(wanted - self.characters[whole]);
        found.map_or(text.len(), |(i, _)| first + i)
    }
}

/// The characters that begin in these bytes.
fn count(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| begins(byte)).count()
}

/// Whether a character of UTF-8 begins with this byte.
fn begins(byte: &u8) -> bool {
    (*byte & 0xC0) != 0x80
}

/// A value that remembers where it was written.
#[derive(Debug, Clone)]
pub struct At<T> {
    /// The value.
    pub value: T,
    place: Option<Written>,
}

impl<T> At<T> {
    /// Where it begins in its text, in bytes.
    pub fn offset(&self) -> Option<usize> {
        match &self.place {
            Some(Written::Text(_, offset)) => Some(*offset),
            _ => None,
        }
    }
}

#[derive(Debug, Clone)]
enum Written {
    Text(Arc<Source>, usize),
    Option(String),
}

impl<T> At<T> {
    /// A value from byte `offset` of a text.
    pub fn file(value: T, source: &Arc<Source>, offset: usize) -> Self {
        At { value, place: Some(Written::Text(source.clone(), offset)) }
    }

    /// A value from the command line.
    pub fn option(value: T, text: impl Into<String>) -> Self {
        At { value, place: Some(Written::Option(text.into())) }
    }

    /// A value without a place.
    pub fn default(value: T) -> Self {
        At { value, place: None }
    }

    /// Where it stands.
    pub fn place(&self) -> Option<Place> {
        match self.place.as_ref()? {
            Written::Text(source, offset) => Some(source.place(*offset)),
            Written::Option(text) => Some(Place::Option(text.clone())),
        }
    }

    /// Where it stands, as the beginning of a message about it; nothing if it has no place.
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
pub fn read(path: &Path, limit: u64) -> Result<Arc<Source>, Error> {
    let fail = |message: String| Err(Error::input(None, message));
    match bytes(path, limit) {
        Err(error) => Err(unreadable(path, &error)),
        Ok(Bytes::TooMany) => fail(format!("{} is larger than {} MB", path.display(), limit / 1_000_000)),
        Ok(Bytes::NoText) => fail(no_text(path)),
        Ok(Bytes::All(bytes)) => match String::from_utf8(bytes) {
            Ok(text) => Ok(Source::file(path, text)),
            Err(_) => fail(no_text(path)),
        },
    }
}

/// A file that cannot be read, and what was meant if it is missing.
pub fn unreadable(path: &Path, error: &std::io::Error) -> Error {
    Error::input(None, format!("cannot read {}: {error}{}", path.display(), nearby::hint(path, error)))
}

/// Why a file is refused that holds something else than text.
pub fn no_text(path: &Path) -> String {
    format!("{} is not a text file (UTF-8)", path.display())
}

enum Bytes {
    All(Vec<u8>),
    TooMany,
    /// There is a zero byte, which no text has.
    NoText,
}

/// Reads piece by piece: a device or a file full of holes is known by its first zero, before it fills the memory.
fn bytes(path: &Path, limit: u64) -> std::io::Result<Bytes> {
    let mut file = std::fs::File::open(path)?;
    if file.metadata()?.len() > limit {
        return Ok(Bytes::TooMany);
    }
    let mut bytes = Vec::new();
    loop {
        let seen = bytes.len();
        if Read::by_ref(&mut file).take(PIECE).read_to_end(&mut bytes)? == 0 {
            return Ok(Bytes::All(bytes));
        }
        if bytes[seen..].contains(&0) {
            return Ok(Bytes::NoText);
        }
        if bytes.len() as u64 > limit {
            return Ok(Bytes::TooMany);
        }
    }
}

/// Bytes that are read between two looks at them.
const PIECE: u64 = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_count_characters() {
        let text = format!("a\n{}é{}b\n\nc", "ü".repeat(3000), "x".repeat(5000));
        let source = Source::file("f", text.as_str());
        for (offset, _) in text.char_indices().chain([(text.len(), ' ')]) {
            let before = &text[..offset];
            let start = before.rfind('\n').map_or(0, |i| i + 1);
            let (line, column) = (1 + before.matches('\n').count(), 1 + before[start..].chars().count());
            assert_eq!(source.place(offset), Place::File { path: "f".into(), line, column });
            assert_eq!(source.offset(line, column - 1), offset);
        }
        assert_eq!(source.place(usize::MAX).to_string(), "f:4:2");
    }

    #[test]
    fn what_stands_in_an_option_is_told_as_the_option() {
        let source = Source::option("--set method.hold=3", "method.hold=3");
        assert_eq!(At::file((), &source, 12).prefix(), "--set method.hold=3: ");
    }
}
