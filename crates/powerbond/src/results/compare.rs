//! Results against results: how far two runs, or two tables, are apart, variable by variable.

use super::side_by_side::{Point, SideBySide};
use crate::Error;
use crate::number::short4;
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

/// Compares `first` with `reference`: each a run folder or a table (CSV, Arrow, Parquet) whose first column is the time. They are read
/// row by row, whatever their size.
///
/// Rows of one time are a discontinuity: the first one is the limit from the left, the last one that from the right, and each
/// is compared with its like. Where the other table has one row at that time, it is compared with the limit from the right.
pub fn compare(first: &Path, reference: &Path, tolerance: Option<Tolerance>) -> Result<Comparison, Error> {
    let mut both = SideBySide::open(first, reference)?;
    let [known, wanted] = [both.first.header(), both.reference.header()].map(<[String]>::to_vec);
    let [places, others] =
        [&known, &wanted].map(|header| header.iter().map(String::as_str).collect::<NameIndex<&str>>());
    let (mut common, mut only_reference) = (Vec::new(), Vec::new());
    for (k, name) in wanted.iter().enumerate().skip(1) {
        match places.place(name.as_str()) {
            Some(i) => common.push((i, k)),
            None => only_reference.push(name.clone()),
        }
    }
    if common.is_empty() {
        return Err(Error::input(
            None,
            format!("{} and {} have no variable in common", first.display(), reference.display()),
        ));
    }
    let mut apart = vec![Apart::default(); common.len()];
    let (mut points, mut rows, mut last) = (0, [0; 2], None);
    while let Some(Point { t, is_row, first, reference }) = both.point()? {
        let h = last.map(|before| t - before);
        let each = apart.iter_mut().zip(&common);
        each.for_each(|(apart, &(i, k))| apart.add(t, h, is_row, first[i], reference[k]));
        points += 1;
        rows.iter_mut().zip(is_row).for_each(|(n, is_row)| *n += usize::from(is_row));
        last = Some(t);
    }
    let (begins, ends, from) = (both.begins(), both.ends()?, both.from);
    let to = ends[0].min(ends[1]);
    let of = |(apart, &(_, k)): (&Apart, &(usize, usize))| apart.difference(&wanted[k], to - from, tolerance);
    let variables: Vec<Difference> = apart.iter().zip(&common).map(of).collect();
    let only_first = known[1..].iter().filter(|n| others.place(n.as_str()).is_none()).cloned().collect();
    let lines = between_rows([first, reference], points, rows, &apart, &variables);
    let notes = [both.first.note(), both.reference.note()].into_iter().flatten().cloned().chain(lines);
    let far = |[x, y]: [f64; 2]| (x - y).abs() > 1e-9 * (to - from).max(f64::MIN_POSITIVE);
    Ok(Comparison {
        from,
        to,
        points,
        only_first,
        only_reference,
        notes: notes.collect(),
        different_times: far(begins) || far(ends),
        exceeded: variables.iter().filter(|v| v.within == Some(false)).count(),
        variables,
        tolerance,
    })
}

/// Differences at the rows of the coarser table that are a smaller share of those in between are not what was found.
const AT_ROWS: f64 = 1.0 / 3.0;

/// A note where one table has so few rows that the lines between them are most of what was found.
fn between_rows(
    paths: [&Path; 2],
    points: usize,
    rows: [usize; 2],
    apart: &[Apart],
    variables: &[Difference],
) -> Option<String> {
    let coarse = usize::from(rows[1] < rows[0]);
    if 2 * rows[coarse] >= points {
        return None;
    }
    let by_lines = |(apart, _): &(&Apart, &Difference)| apart.at_rows[coarse] < AT_ROWS * apart.max;
    let affected: Vec<_> = apart.iter().zip(variables).filter(by_lines).collect();
    let largest = |a: &&(&Apart, &Difference), b: &&(&Apart, &Difference)| {
        a.1.relative_max.total_cmp(&b.1.relative_max)
    };
    let (apart, worst) = affected.iter().max_by(largest)?;
    let more = match affected.len() {
        1 => String::new(),
        n => format!(", and of {} more", n - 1),
    };
    Some(format!(
        "{} has rows at {} of these {points} times and is a line in between, which makes most of the difference of `{}`{more}: \
         at its rows that is {} at most. Rows at the same times (`--output-interval`) leave it out",
        paths[coarse].display(),
        rows[coarse],
        worst.name,
        short4(apart.at_rows[coarse])
    ))
}

/// How far a variable is apart so far.
#[derive(Clone, Debug, Default)]
struct Apart {
    max: f64,
    /// When that was; none as long as there is no difference.
    time: Option<f64>,
    /// The largest difference at rows of the first table, and at those of the reference.
    at_rows: [f64; 2],
    /// The largest value of the reference.
    largest: f64,
    /// Integrals of the squares of the difference and of the reference.
    squares: f64,
    size: f64,
    /// The difference and the reference at the last point.
    last: (f64, f64),
}

impl Apart {
    /// Adds a point that is `h` later than the one before, if there is one.
    fn add(&mut self, t: f64, h: Option<f64>, is_row: [bool; 2], x: f64, y: f64) {
        let d = distance(x, y).abs();
        let d = if d.is_nan() { f64::INFINITY } else { d };
        if d > self.max || self.time.is_none() {
            (self.max, self.time) = (d, Some(t));
        }
        for (at_rows, _) in self.at_rows.iter_mut().zip(is_row).filter(|(_, is_row)| *is_row) {
            *at_rows = at_rows.max(d);
        }
        if y.is_finite() {
            self.largest = self.largest.max(y.abs());
        }
        if let Some(h) = h {
            // The square of a line, integrated.
            let part = |p: f64, q: f64| h / 3.0 * (p * p + p * q + q * q);
            self.squares += part(self.last.0, d);
            self.size += part(self.last.1, y);
        }
        self.last = (d, y);
    }

    fn difference(&self, name: &str, span: f64, tolerance: Option<Tolerance>) -> Difference {
        let &Apart { max, largest, squares, size, .. } = self;
        let rms = |sum: f64| if span > 0.0 { (sum / span).sqrt() } else { 0.0 };
        let share = |x: f64, of: f64| if x == 0.0 { 0.0 } else { x / of };
        Difference {
            name: name.to_owned(),
            max,
            time: self.time.unwrap_or_default(),
            rms: if span > 0.0 { rms(squares) } else { max },
            relative_max: share(max, largest),
            relative_rms: if span > 0.0 { share(rms(squares), rms(size)) } else { share(max, largest) },
            within: tolerance.map(|t| max <= t.absolute + t.relative * largest),
        }
    }
}

/// How far `x` is from `y`. Both not a number, or the same infinity: no difference.
pub(crate) fn distance(x: f64, y: f64) -> f64 {
    if x.to_bits() == y.to_bits() || (x.is_nan() && y.is_nan()) { 0.0 } else { x - y }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A table: times and values.
    type Rows<'a> = &'a [(f64, f64)];

    /// Through files, as users compare them.
    fn between(first: Rows<'_>, reference: Rows<'_>, tolerance: Option<Tolerance>) -> (usize, Difference) {
        let folder = std::env::temp_dir().join(format!("powerbond-compare-{}", std::process::id()));
        let folder = folder.join(format!("{:?}", std::thread::current().id()));
        std::fs::create_dir_all(&folder).unwrap();
        let write = |name: &str, rows: Rows<'_>| {
            let rows = rows.iter().map(|(t, x)| format!("{t},{x}\n"));
            std::fs::write(folder.join(name), "time,x\n".to_owned() + &rows.collect::<String>()).unwrap();
            folder.join(name)
        };
        let (a, b) = (write("a.csv", first), write("b.csv", reference));
        let mut compared = compare(&a, &b, tolerance).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        (compared.points, compared.variables.remove(0))
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

    /// A parabola with rows every 0.1 s, beside its own values every second: the line between these is off by up to 0.25, their rows by 0.
    #[test]
    fn lines_between_few_rows_are_told() {
        let folder = std::env::temp_dir().join(format!("powerbond-compare-lines-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let write = |name: &str, n: u32, h: f64, shift: f64| {
            let row = |k: u32| format!("{},{}\n", f64::from(k) * h, (f64::from(k) * h).powi(2) + shift);
            std::fs::write(folder.join(name), "time,x\n".to_owned() + &(0..=n).map(row).collect::<String>())
                .unwrap();
            folder.join(name)
        };
        let fine = write("fine.csv", 40, 0.1, 0.0);
        let (coarse, wrong) = (write("coarse.csv", 4, 1.0, 0.0), write("wrong.csv", 4, 1.0, 0.5));
        let notes = |a: &Path, b: &Path| compare(a, b, None).unwrap().notes.join("; ");
        for note in [notes(&fine, &coarse), notes(&coarse, &fine)] {
            assert!(note.contains("coarse.csv has rows at 5 of these 41 times"), "{note}");
            assert!(note.contains("of `x`: at its rows that is 0 at most"), "{note}");
        }
        // An error that is there at the rows, too, is none of lines.
        assert_eq!(notes(&fine, &wrong), "");
        assert_eq!(notes(&fine, &fine), "");
        std::fs::remove_dir_all(&folder).unwrap();
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
