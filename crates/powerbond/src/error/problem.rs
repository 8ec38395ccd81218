//! What is wrong with an input, and where: all of it together, in the order of the file.

use super::Error;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::fmt;
use std::ops::Deref;
use std::path::PathBuf;

/// Where something stands.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
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

/// A place as the beginning of a message about it; nothing if there is none.
pub(crate) fn prefix(place: &Option<Place>) -> String {
    place.as_ref().map_or(String::new(), |p| format!("{p}: "))
}

/// One mistake.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Problem {
    /// Where it stands.
    pub place: Option<Place>,
    /// What was found and what would be right.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", prefix(&self.place), self.message)
    }
}

/// One mistake or several: sorted by place, those without one at the end, and none of them twice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problems(Vec<Problem>);

/// More than anybody mends before the next try.
const SHOWN: usize = 20;

impl Problems {
    pub(super) fn one(problem: Problem) -> Self {
        Problems(vec![problem])
    }

    fn several(mut list: Vec<Problem>) -> Self {
        // Stable: what stands at one place stays in the order in which it was found.
        list.sort_by(|a, b| (a.place.is_none(), &a.place).cmp(&(b.place.is_none(), &b.place)));
        let mut told = HashSet::new();
        list.retain(|problem| told.insert(problem.clone()));
        Problems(list)
    }

    pub(super) fn placed(self, place: Option<Place>) -> Self {
        let at = |p: Problem| Problem { place: p.place.or_else(|| place.clone()), ..p };
        Problems::several(self.0.into_iter().map(at).collect())
    }

    /// What is shown of them, one line each: the first 20, and how many more there are.
    pub fn lines(&self) -> impl Iterator<Item = String> {
        let more = self.0.len().saturating_sub(SHOWN);
        let rest = (more > 0).then(|| format!("… and {more} more"));
        self.0.iter().take(SHOWN).map(Problem::to_string).chain(rest)
    }
}

impl Deref for Problems {
    type Target = [Problem];

    fn deref(&self) -> &[Problem] {
        &self.0
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, line) in self.lines().enumerate() {
            let end = if i > 0 { "\n" } else { "" };
            write!(f, "{end}{line}")?;
        }
        Ok(())
    }
}

/// Goes on after a mistake: keeps what is wrong until everything has been looked at.
///
/// An error that is not about the input ends the matter: it hides what was found before.
#[derive(Debug, Default)]
#[must_use = "what it has kept is told by `finish`"]
pub struct Collector {
    problems: Vec<Problem>,
    other: Option<Error>,
}

impl Collector {
    /// Nothing wrong yet.
    pub fn new() -> Self {
        Collector::default()
    }

    /// The value, or none and its error is kept.
    pub fn keep<T>(&mut self, result: Result<T, Error>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                self.add(error);
                None
            }
        }
    }

    /// The value; or `instead`, so that reading can go on, and its error is kept.
    pub fn keep_or<T>(&mut self, instead: T, result: Result<T, Error>) -> T {
        self.keep(result).unwrap_or(instead)
    }

    /// Keeps an error.
    pub fn add(&mut self, error: Error) {
        match error {
            Error::Input(problems) => self.problems.extend(problems.0),
            other => {
                self.other.get_or_insert(other);
            }
        }
    }

    /// Nothing was wrong so far.
    pub fn is_clean(&self) -> bool {
        self.problems.is_empty() && self.other.is_none()
    }

    /// `value` if nothing was wrong, else everything that was.
    pub fn finish<T>(self, value: T) -> Result<T, Error> {
        if self.is_clean() { Ok(value) } else { Err(self.into_error()) }
    }

    /// The error. Something must have been wrong.
    pub fn into_error(self) -> Error {
        debug_assert!(!self.is_clean(), "an error that says nothing");
        self.other.unwrap_or_else(|| Error::Input(Problems::several(self.problems)))
    }

    /// As [`Collector::finish`], of a value that is there whenever nothing was wrong.
    pub fn finish_some<T>(self, value: Option<T>) -> Result<T, Error> {
        match value {
            Some(value) => self.finish(value),
            None => Err(self.into_error()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(line: usize, column: usize) -> Option<Place> {
        Some(Place::File { path: "s.toml".into(), line, column })
    }

    fn collected(list: &[(Option<Place>, &str)]) -> Error {
        let mut collector = Collector::new();
        for (place, message) in list {
            assert_eq!(collector.keep::<()>(Err(Error::input(place.clone(), *message))), None);
        }
        collector.finish(()).unwrap_err()
    }

    #[test]
    fn problems_are_told_in_the_order_of_the_file_and_once() {
        let option = Some(Place::Option("--set a.b=1".to_owned()));
        let error = collected(&[
            (None, "nowhere"),
            (option, "typed"),
            (at(10, 1), "late"),
            (at(9, 30), "z"),
            (at(9, 30), "a"),
            (at(9, 30), "z"),
            (at(9, 4), "early"),
        ]);
        let told = "s.toml:9:4: early\ns.toml:9:30: z\ns.toml:9:30: a\ns.toml:10:1: late\n--set a.b=1: typed\nnowhere";
        assert_eq!(error.to_string(), told);
        assert_eq!(error.problems().len(), 6);
        assert_eq!(error.exit_code(), 3);
    }

    #[test]
    fn more_than_twenty_are_counted() {
        let many: Vec<_> = (1..=23).map(|line| (at(line, 1), "wrong")).collect();
        let text = collected(&many).to_string();
        assert_eq!(text.lines().count(), 21);
        assert!(text.ends_with("s.toml:20:1: wrong\n… and 3 more"), "{text}");
    }

    #[test]
    fn what_is_not_about_the_input_is_told_alone() {
        let mut collector = Collector::new();
        collector.add(Error::input(None, "a mistake"));
        collector.add(Error::Model(Box::new(crate::error::Failure::new("a model failed"))));
        assert_eq!(collector.finish(()).unwrap_err().to_string(), "a model failed");
    }
}
