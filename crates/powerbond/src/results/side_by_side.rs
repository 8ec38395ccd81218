//! Two tables of results at the same times, read row by row: what `compare` and the report look at.

use super::summary::results_of;
use crate::Error;
use crate::table::Stream;
use std::path::{Path, PathBuf};

/// Two tables whose first columns are times, walked along together over the stretch of time that both have.
///
/// Looked at are all times of both, once each, or as often as they have limits to compare: rows of one time are a discontinuity, the
/// first one is the limit from the left, the last one that from the right, and each is beside its like. Where the other table has
/// one row at that time, that is beside the limit from the right. Between rows both are lines.
pub struct SideBySide {
    /// The one that is looked at.
    pub first: Walk,
    /// What it is compared with.
    pub reference: Walk,
    /// Where both have begun, in s.
    pub from: f64,
    /// Pairs of rows at the current time that are still to come: places in both.
    left: std::vec::IntoIter<(usize, usize)>,
    t: f64,
    /// Which of the tables have rows at this time.
    has_rows: [bool; 2],
}

/// A time, and what both tables have there, column by column.
pub struct Point<'a> {
    /// In s.
    pub t: f64,
    /// Whether the first table and the reference have a row at this time, and not only a line past it.
    pub is_row: [bool; 2],
    /// Of the first table.
    pub first: &'a [f64],
    /// Of the reference.
    pub reference: &'a [f64],
}

/// A table on the way along its times.
pub struct Walk {
    stream: Stream,
    path: PathBuf,
    /// The time of its first row.
    begin: f64,
    /// The last row that is behind.
    before: Vec<f64>,
    /// The first row that is ahead; empty after the last one.
    ahead: Vec<f64>,
    /// What it has at the current time: rows, or a point of the line between two.
    here: Vec<f64>,
}

impl Walk {
    fn open(path: &Path) -> Result<Self, Error> {
        let file = if path.is_dir() { results_of(path) } else { path.to_owned() };
        let stream = Stream::open(&file)?;
        let (before, here) = (Vec::new(), Vec::new());
        let mut walk =
            Walk { stream, path: path.to_owned(), begin: f64::NAN, before, ahead: Vec::new(), here };
        walk.step()?;
        match walk.ahead.first() {
            Some(&t) if !t.is_nan() => walk.begin = t,
            Some(_) => return Err(walk.fail(&walk.decreases())),
            None => return Err(walk.fail("no rows")),
        }
        Ok(walk)
    }

    /// The names of the columns; the first one is the time.
    pub fn header(&self) -> &[String] {
        &self.stream.header
    }

    /// What is to be known of what was read, once everything was.
    pub fn note(&self) -> Option<&String> {
        self.stream.note.as_ref()
    }

    fn fail(&self, message: &str) -> Error {
        Error::input(None, format!("{}: {message}", self.path.display()))
    }

    fn decreases(&self) -> String {
        format!("the first column, `{}`, decreases; expected the time", self.header()[0])
    }

    /// The row that was ahead is behind.
    fn step(&mut self) -> Result<(), Error> {
        std::mem::swap(&mut self.before, &mut self.ahead);
        self.ahead.clear();
        if let Some(row) = self.stream.row()? {
            self.ahead.extend_from_slice(row);
        }
        match (self.before.first(), self.ahead.first()) {
            (Some(a), Some(b)) if a.is_nan() || b.is_nan() || b < a => Err(self.fail(&self.decreases())),
            _ => Ok(()),
        }
    }

    /// The time of the row that is ahead.
    fn next(&self) -> Option<f64> {
        self.ahead.first().copied()
    }

    /// Goes to `t`, which lies within the table; rows up to `near` later count as well. How many rows it has there: none between two.
    fn to(&mut self, t: f64, near: f64) -> Result<usize, Error> {
        self.here.clear();
        while self.next().is_some_and(|next| next <= t + near) {
            self.here.extend_from_slice(&self.ahead);
            self.step()?;
        }
        if !self.here.is_empty() {
            return Ok(self.here.len() / self.header().len());
        }
        // The last row before a line is a limit from the right, the first one after it a limit from the left.
        let share = (t - self.before[0]) / (self.ahead[0] - self.before[0]);
        let line = |(&a, &b): (&f64, &f64)| if share == 0.0 { a } else { a + share * (b - a) };
        self.here.extend(self.before.iter().zip(&self.ahead).map(line));
        Ok(0)
    }

    fn row(&self, k: usize) -> &[f64] {
        let n = self.header().len();
        &self.here[k * n..(k + 1) * n]
    }

    /// Goes to the end; the time of the last row.
    fn end(&mut self) -> Result<f64, Error> {
        while !self.ahead.is_empty() {
            self.step()?;
        }
        Ok(self.before[0])
    }
}

impl SideBySide {
    /// Opens two tables, each a file or the results of a run folder.
    pub fn open(first: &Path, reference: &Path) -> Result<Self, Error> {
        let (mut first, mut reference) = (Walk::open(first)?, Walk::open(reference)?);
        let from = first.begin.max(reference.begin);
        for walk in [&mut first, &mut reference] {
            while walk.next().is_some_and(|t| t < from) {
                walk.step()?;
            }
        }
        if first.next().is_none() || reference.next().is_none() {
            let mut said = [String::new(), String::new()];
            for (walk, text) in [&mut first, &mut reference].into_iter().zip(&mut said) {
                let end = walk.end()?;
                *text = format!("{} s to {end} s", walk.begin);
            }
            let [a, b] = [&first, &reference].map(|walk| walk.path.display());
            let message =
                format!("the time ranges of {a} and {b} do not overlap: {}, and {}", said[0], said[1]);
            return Err(Error::input(None, message));
        }
        Ok(SideBySide { first, reference, from, left: Vec::new().into_iter(), t: from, has_rows: [false; 2] })
    }

    /// What both have at the next time or limit; nothing after the end of one of them.
    pub fn point(&mut self) -> Result<Option<Point<'_>>, Error> {
        let (a, b) = match self.left.next() {
            Some(pair) => pair,
            None => {
                let (Some(x), Some(y)) = (self.first.next(), self.reference.next()) else { return Ok(None) };
                self.t = x.min(y);
                // Times that differ by round-off are the same.
                let near = 1e-12 * self.t.abs().max(self.from.abs());
                let (n, m) = (self.first.to(self.t, near)?, self.reference.to(self.t, near)?);
                (self.has_rows, self.left) = ([n > 0, m > 0], pairs(n, m));
                self.left.next().unwrap_or_default()
            }
        };
        let (first, reference) = (self.first.row(a), self.reference.row(b));
        Ok(Some(Point { t: self.t, is_row: self.has_rows, first, reference }))
    }

    /// Reads on to the ends of both: the times of their last rows.
    pub fn ends(&mut self) -> Result<[f64; 2], Error> {
        Ok([self.first.end()?, self.reference.end()?])
    }

    /// The times of their first rows.
    pub fn begins(&self) -> [f64; 2] {
        [self.first.begin, self.reference.begin]
    }
}

/// Which of `n` rows of one table are beside which of `m` of the other; none: there is a point of a line.
fn pairs(n: usize, m: usize) -> std::vec::IntoIter<(usize, usize)> {
    let list = match (n, m) {
        (0, 0) => vec![(0, 0)],
        (n, 0) => (0..n).map(|k| (k, 0)).collect(),
        (0, m) => (0..m).map(|k| (0, k)).collect(),
        (n, m) if n == m => (0..n).map(|k| (k, k)).collect(),
        (n, m) if n > 1 && m > 1 => vec![(0, 0), (n - 1, m - 1)],
        (n, m) => vec![(n - 1, m - 1)],
    };
    list.into_iter()
}
