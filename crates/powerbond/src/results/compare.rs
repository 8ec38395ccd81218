//! Results against results: how far two runs, or two tables, are apart, variable by variable.

use super::summary::results_of;
use super::table::{Table, read};
use crate::Error;
use serde::Serialize;
use std::collections::HashMap;
use std::path::Path;

/// What is allowed: the largest difference of a variable may be `absolute + relative · max |reference|`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Tolerance {
    /// As a share of the largest value of the reference.
    pub relative: f64,
    /// In the unit of the variable.
    pub absolute: f64,
}

/// How far two results are apart.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// The stretch of time that both have, in s.
    pub from: f64,
    /// Its end, in s.
    pub to: f64,
    /// Points at which they were compared: all times of both.
    pub points: usize,
    /// Every variable that both have, in the order of the reference.
    pub variables: Vec<Difference>,
    /// What only the first one has.
    pub only_first: Vec<String>,
    /// What only the reference has.
    pub only_reference: Vec<String>,
    /// One of them goes on where the other one has ended.
    pub different_times: bool,
    /// What is to be known of what was read: rows that were cut and left out.
    pub notes: Vec<String>,
    /// What was allowed, if anything was.
    pub tolerance: Option<Tolerance>,
    /// How many variables are farther apart than allowed.
    pub exceeded: usize,
}

/// How far a variable is apart.
#[derive(Clone, Debug, Serialize)]
pub struct Difference {
    /// Its name.
    pub name: String,
    /// The largest difference, in its unit.
    pub max: f64,
    /// When it was, in s.
    pub time: f64,
    /// Root of the mean square over time, in its unit.
    pub rms: f64,
    /// `max` over the largest value of the reference.
    pub relative_max: f64,
    /// `rms` over the rms of the reference.
    pub relative_rms: f64,
    /// Whether it is within what was allowed; none if nothing was said.
    pub within: Option<bool>,
}

/// Compares `first` with `reference`: each a run folder or a table (CSV, Arrow, Parquet) whose first column is the time.
/// Between rows both are lines.
pub fn compare(first: &Path, reference: &Path, tolerance: Option<Tolerance>) -> Result<Comparison, Error> {
    let (a, b) = (load(first)?, load(reference)?);
    let (ta, tb) = (times(&a, first)?, times(&b, reference)?);
    let (from, to) = (ta[0].max(tb[0]), ta[ta.len() - 1].min(tb[tb.len() - 1]));
    if from > to {
        return Err(Error::input(
            None,
            format!(
                "{} and {} have no time in common: {} s to {} s, and {} s to {} s",
                first.display(),
                reference.display(),
                ta[0],
                ta[ta.len() - 1],
                tb[0],
                tb[tb.len() - 1]
            ),
        ));
    }
    let grid = grid(ta, tb, from, to);
    let places: HashMap<&str, usize> = a.header.iter().enumerate().map(|(i, n)| (n.as_str(), i)).collect();
    let (mut variables, mut only_reference) = (Vec::new(), Vec::new());
    for (k, name) in b.header.iter().enumerate().skip(1) {
        match places.get(name.as_str()) {
            Some(&i) => {
                let pair = [(ta, &a.columns[i][..]), (tb, &b.columns[k][..])];
                variables.push(difference(name, &grid, pair, tolerance));
            }
            None => only_reference.push(name.clone()),
        }
    }
    if variables.is_empty() {
        return Err(Error::input(
            None,
            format!("{} and {} have no variable in common", first.display(), reference.display()),
        ));
    }
    let only_first = a.header[1..].iter().filter(|n| !b.header.contains(n)).cloned().collect();
    let far = |x: f64, y: f64| (x - y).abs() > 1e-9 * (to - from).max(f64::MIN_POSITIVE);
    Ok(Comparison {
        from,
        to,
        points: grid.len(),
        only_first,
        only_reference,
        notes: [&a.note, &b.note].into_iter().flatten().cloned().collect(),
        different_times: far(ta[0], tb[0]) || far(ta[ta.len() - 1], tb[tb.len() - 1]),
        exceeded: variables.iter().filter(|v| v.within == Some(false)).count(),
        variables,
        tolerance,
    })
}

fn load(path: &Path) -> Result<Table, Error> {
    if path.is_dir() { read(&results_of(path)) } else { read(path) }
}

/// The first column, which must go forwards.
fn times<'a>(table: &'a Table, path: &Path) -> Result<&'a [f64], Error> {
    let fail = |message: &str| Err(Error::input(None, format!("{}: {message}", path.display())));
    match table.columns.first().map(Vec::as_slice) {
        None | Some([]) => fail("there are no rows"),
        Some(t) if t.windows(2).any(|w| w[0].is_nan() || w[1].is_nan() || w[1] < w[0]) => fail(&format!(
            "the first column, `{}`, does not go forwards; it must be the time",
            table.header[0]
        )),
        Some(t) => Ok(t),
    }
}

/// All times of both between `from` and `to`, once each.
fn grid(a: &[f64], b: &[f64], from: f64, to: f64) -> Vec<f64> {
    let inside = |t: &&f64| (from..=to).contains(*t);
    let mut all: Vec<f64> = a.iter().chain(b).filter(inside).copied().collect();
    all.sort_by(f64::total_cmp);
    // Times that differ by round-off are the same.
    let near = 1e-12 * (to - from).max(to.abs()).max(from.abs());
    all.dedup_by(|later, earlier| *later - *earlier <= near);
    all
}

/// Walks along a table of one variable.
struct Line<'a> {
    times: &'a [f64],
    values: &'a [f64],
    at: usize,
}

impl Line<'_> {
    /// The value at `t`, which never goes back.
    fn value(&mut self, t: f64) -> f64 {
        while self.at + 1 < self.times.len() && self.times[self.at + 1] <= t {
            self.at += 1;
        }
        let (t0, v0) = (self.times[self.at], self.values[self.at]);
        let (Some(&t1), Some(&v1)) = (self.times.get(self.at + 1), self.values.get(self.at + 1)) else {
            return v0;
        };
        if t <= t0 { v0 } else { v0 + (t - t0) / (t1 - t0) * (v1 - v0) }
    }
}

fn difference(
    name: &str,
    grid: &[f64],
    [first, reference]: [(&[f64], &[f64]); 2],
    tolerance: Option<Tolerance>,
) -> Difference {
    let line = |(times, values)| Line { times, values, at: 0 };
    let (mut a, mut b) = (line(first), line(reference));
    let (mut max, mut time, mut largest) = (0.0f64, grid[0], 0.0f64);
    let (mut squares, mut size, mut last) = (0.0, 0.0, None);
    for &t in grid {
        let (x, y) = (a.value(t), b.value(t));
        // Both not a number, or the same infinity: no difference.
        let d = if x.to_bits() == y.to_bits() || (x.is_nan() && y.is_nan()) { 0.0 } else { (x - y).abs() };
        let d = if d.is_nan() { f64::INFINITY } else { d };
        if d > max {
            (max, time) = (d, t);
        }
        if y.is_finite() {
            largest = largest.max(y.abs());
        }
        if let Some((t0, d0, y0)) = last {
            // The square of a line, integrated.
            let part = |p: f64, q: f64| (t - t0) / 3.0 * (p * p + p * q + q * q);
            squares += part(d0, d);
            size += part(y0, y);
        }
        last = Some((t, d, y));
    }
    let span = grid[grid.len() - 1] - grid[0];
    let rms = |sum: f64| if span > 0.0 { (sum / span).sqrt() } else { 0.0 };
    let share = |x: f64, of: f64| if x == 0.0 { 0.0 } else { x / of };
    Difference {
        name: name.to_owned(),
        max,
        time,
        rms: if span > 0.0 { rms(squares) } else { max },
        relative_max: share(max, largest),
        relative_rms: if span > 0.0 { share(rms(squares), rms(size)) } else { share(max, largest) },
        within: tolerance.map(|t| max <= t.absolute + t.relative * largest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines 0 and t from 0 to 1: the largest difference is 1, its rms 1/√3, whatever the grids are.
    #[test]
    fn lines_are_compared_exactly() {
        let (coarse, fine) = ([0.0, 1.0], [0.0, 0.25, 0.5, 1.0]);
        let (t, zero) = ([0.0, 0.25, 0.5, 1.0], [0.0, 0.0]);
        let points = grid(&fine, &coarse, 0.0, 1.0);
        let d = difference("x", &points, [(&fine, &t), (&coarse, &zero)], None);
        assert_eq!((d.max, d.time), (1.0, 1.0));
        assert!((d.rms - (1.0f64 / 3.0).sqrt()).abs() < 1e-15, "{}", d.rms);
        let d = difference(
            "x",
            &points,
            [(&coarse, &zero), (&fine, &t)],
            Some(Tolerance { relative: 1.0, absolute: 0.0 }),
        );
        assert_eq!((d.relative_max, d.relative_rms, d.within), (1.0, 1.0, Some(true)));
    }
}
