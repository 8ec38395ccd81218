//! Results against results: how far two runs, or two tables, are apart, variable by variable.

use super::summary::results_of;
use crate::Error;
use crate::table::{Table, read};
use powerbond_core::network::NameIndex;
use serde::Serialize;
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
    /// Points at which they were compared: all times of both, discontinuities twice.
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
///
/// Rows of one time are a discontinuity: the first one is the limit from the left, the last one that from the right, and each
/// is compared with its like. Where the other table has one row at that time, it is compared with the limit from the right.
pub fn compare(first: &Path, reference: &Path, tolerance: Option<Tolerance>) -> Result<Comparison, Error> {
    let (a, b) = (load(first)?, load(reference)?);
    let (ta, tb) = (times(&a, first)?, times(&b, reference)?);
    let (from, to) = (ta[0].max(tb[0]), ta[ta.len() - 1].min(tb[tb.len() - 1]));
    if from > to {
        return Err(Error::input(
            None,
            format!(
                "the time ranges of {} and {} do not overlap: {} s to {} s, and {} s to {} s",
                first.display(),
                reference.display(),
                ta[0],
                ta[ta.len() - 1],
                tb[0],
                tb[tb.len() - 1]
            ),
        ));
    }
    let points = points(ta, tb, from, to);
    let [places, known] =
        [&a, &b].map(|table| table.header.iter().map(String::as_str).collect::<NameIndex<&str>>());
    let (mut variables, mut only_reference) = (Vec::new(), Vec::new());
    for (k, name) in b.header.iter().enumerate().skip(1) {
        match places.place(name.as_str()) {
            Some(i) => {
                variables.push(difference(name, &points, [&a.columns[i], &b.columns[k]], tolerance));
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
    let only_first = a.header[1..].iter().filter(|n| known.place(n.as_str()).is_none()).cloned().collect();
    let far = |x: f64, y: f64| (x - y).abs() > 1e-9 * (to - from).max(f64::MIN_POSITIVE);
    Ok(Comparison {
        from,
        to,
        points: points.len(),
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
        None | Some([]) => fail("no rows"),
        Some(t) if t.windows(2).any(|w| w[0].is_nan() || w[1].is_nan() || w[1] < w[0]) => {
            fail(&format!("the first column, `{}`, decreases; expected the time", table.header[0]))
        }
        Some(t) => Ok(t),
    }
}

/// Where both tables are looked at, whatever the variable.
struct Point {
    t: f64,
    first: Place,
    reference: Place,
}

/// A place in a table: a row, or a share of the way to the next one.
#[derive(Clone, Copy)]
struct Place {
    row: usize,
    share: f64,
}

impl Place {
    fn of(self, values: &[f64]) -> f64 {
        let value = values[self.row];
        if self.share == 0.0 { value } else { value + self.share * (values[self.row + 1] - value) }
    }
}

/// Walks along the times of a table.
struct Walk<'a> {
    times: &'a [f64],
    next: usize,
}

/// What a table has at a time.
enum Found {
    /// Nothing: it is between two rows.
    Between(Place),
    /// This many rows, from this one on.
    Rows(usize, usize),
}

impl Walk<'_> {
    /// What there is at `t`, which increases and lies within the table; rows up to `near` later count as well.
    fn to(&mut self, t: f64, near: f64) -> Found {
        let advance =
            |from: usize, to: f64| from + self.times[from..].iter().take_while(|&&x| x <= to).count();
        let first = advance(self.next, t.next_down());
        self.next = advance(first, t + near);
        if self.next > first {
            return Found::Rows(first, self.next - first);
        }
        // The last row before a line is a limit from the right, the first one after it a limit from the left.
        let (a, b) = (self.times[first - 1], self.times[first]);
        Found::Between(Place { row: first - 1, share: (t - a) / (b - a) })
    }
}

/// All times of both between `from` and `to`, once each, or as often as they have limits to compare.
fn points(a: &[f64], b: &[f64], from: f64, to: f64) -> Vec<Point> {
    let inside = |t: &&f64| (from..=to).contains(*t);
    let mut all: Vec<f64> = a.iter().chain(b).filter(inside).copied().collect();
    all.sort_by(f64::total_cmp);
    // Times that differ by round-off are the same.
    let near = 1e-12 * (to - from).max(to.abs()).max(from.abs());
    all.dedup_by(|later, earlier| *later - *earlier <= near);
    let (mut a, mut b) = (Walk { times: a, next: 0 }, Walk { times: b, next: 0 });
    let mut points = Vec::with_capacity(all.len());
    for t in all {
        let mut add = |first, reference| points.push(Point { t, first, reference });
        let row = |row| Place { row, share: 0.0 };
        match (a.to(t, near), b.to(t, near)) {
            (Found::Between(x), Found::Between(y)) => add(x, y),
            (Found::Rows(x, n), Found::Between(y)) => (x..x + n).for_each(|x| add(row(x), y)),
            (Found::Between(x), Found::Rows(y, n)) => (y..y + n).for_each(|y| add(x, row(y))),
            (Found::Rows(x, n), Found::Rows(y, m)) if n == m => {
                (0..n).for_each(|k| add(row(x + k), row(y + k)))
            }
            (Found::Rows(x, n), Found::Rows(y, m)) => {
                if n > 1 && m > 1 {
                    add(row(x), row(y));
                }
                add(row(x + n - 1), row(y + m - 1));
            }
        }
    }
    points
}

fn difference(
    name: &str,
    points: &[Point],
    [first, reference]: [&[f64]; 2],
    tolerance: Option<Tolerance>,
) -> Difference {
    let (mut max, mut time, mut largest) = (0.0f64, points[0].t, 0.0f64);
    let (mut squares, mut size, mut last) = (0.0, 0.0, None);
    for point in points {
        let (t, x, y) = (point.t, point.first.of(first), point.reference.of(reference));
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
    let span = points[points.len() - 1].t - points[0].t;
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

    /// A table: times and values.
    type Rows<'a> = &'a [(f64, f64)];

    fn columns(rows: Rows<'_>) -> (Vec<f64>, Vec<f64>) {
        rows.iter().copied().unzip()
    }

    fn between(first: Rows<'_>, reference: Rows<'_>, tolerance: Option<Tolerance>) -> (usize, Difference) {
        let ((ta, a), (tb, b)) = (columns(first), columns(reference));
        let points = points(&ta, &tb, ta[0].max(tb[0]), ta[ta.len() - 1].min(tb[tb.len() - 1]));
        (points.len(), difference("x", &points, [&a, &b], tolerance))
    }

    /// Lines 0 and t from 0 to 1: the largest difference is 1, its rms 1/√3, whatever the grids are.
    #[test]
    fn lines_are_compared_exactly() {
        let (zero, line): (Rows<'_>, Rows<'_>) =
            (&[(0.0, 0.0), (1.0, 0.0)], &[(0.0, 0.0), (0.25, 0.25), (0.5, 0.5), (1.0, 1.0)]);
        let d = between(line, zero, None).1;
        assert_eq!((d.max, d.time), (1.0, 1.0));
        assert!((d.rms - (1.0f64 / 3.0).sqrt()).abs() < 1e-15, "{}", d.rms);
        let d = between(zero, line, Some(Tolerance { relative: 1.0, absolute: 0.0 })).1;
        assert_eq!((d.relative_max, d.relative_rms, d.within), (1.0, 1.0, Some(true)));
    }

    /// 0 up to 1 s, from there on 10: with two rows there, with one, or with none.
    #[test]
    fn limits_at_a_discontinuity_are_compared_with_their_like() {
        const JUMP: Rows<'_> = &[(0.0, 0.0), (1.0, 0.0), (1.0, 10.0), (2.0, 10.0)];
        let check = |what: &str, first: Rows<'_>, reference: Rows<'_>, points: usize, max: f64, time: f64| {
            for (a, b) in [(first, reference), (reference, first)] {
                let (n, d) = between(a, b, None);
                assert_eq!((n, d.max, d.time), (points, max, time), "{what}");
            }
        };
        check("itself", JUMP, JUMP, 4, 0.0, 0.0);
        let late = 1.0 + 1e-14;
        check("round-off", JUMP, &[(0.0, 0.0), (late, 0.0), (late, 10.0), (2.0, 10.0)], 4, 0.0, 0.0);
        check(
            "finer",
            JUMP,
            &[(0.0, 0.0), (0.5, 0.0), (1.0, 0.0), (1.0, 10.0), (1.5, 10.0), (2.0, 10.0)],
            6,
            0.0,
            0.0,
        );
        check("another left", JUMP, &[(0.0, 0.0), (1.0, 3.0), (1.0, 10.0), (2.0, 10.0)], 4, 3.0, 1.0);
        check("another right", JUMP, &[(0.0, 0.0), (1.0, 0.0), (1.0, 4.0), (2.0, 10.0)], 4, 6.0, 1.0);
        check(
            "three rows",
            JUMP,
            &[(0.0, 0.0), (1.0, 0.0), (1.0, 5.0), (1.0, 10.0), (2.0, 10.0)],
            4,
            0.0,
            0.0,
        );
        check("one row", JUMP, &[(0.0, 0.0), (1.0, 10.0), (2.0, 10.0)], 3, 0.0, 0.0);
        check("it begins there", JUMP, &[(1.0, 10.0), (2.0, 10.0)], 2, 0.0, 1.0);
        check("it ends there", JUMP, &[(0.0, 0.0), (1.0, 10.0)], 2, 0.0, 0.0);
        check("no row", JUMP, &[(0.0, 0.0), (2.0, 10.0)], 4, 5.0, 1.0);
        check("lines do not lean", JUMP, &[(0.0, 0.0), (0.5, 0.0), (1.5, 10.0), (2.0, 10.0)], 6, 5.0, 1.0);
        check(
            "at the end",
            &[(0.0, 0.0), (1.0, 0.0), (1.0, 10.0)],
            &[(0.0, 0.0), (1.0, 0.0), (1.0, 9.0)],
            3,
            1.0,
            1.0,
        );
    }
}
