//! Fewer points, same picture: the smallest and the largest value of every stretch of rows stay.

/// A line that becomes longer while it is thinned, in memory that does not: about two points per stretch of rows.
///
/// Spikes stay; a stretch with values that are not finite keeps one of them as a gap. Where a line jumps, both of its points at that
/// time stay or go together; the largest jump of every stretch stays, and so do both ends. When there are as many stretches as
/// asked for, every two become one.
pub struct Line {
    /// Even, so that two stretches always make one.
    most: usize,
    /// Rows of a stretch; 1 as long as all points are kept.
    width: u64,
    stretches: Vec<Stretch>,
    first: Option<Point>,
    /// The row that came last: what is beside it is known with the next one.
    last: Option<Point>,
    rows: u64,
}

/// A row of a line.
#[derive(Clone, Copy, Debug)]
struct Point {
    row: u64,
    t: f64,
    v: f64,
    /// On the other side of a jump: the value of the row before, and of the one after.
    before: Option<f64>,
    after: Option<f64>,
}

/// What stays of a stretch of rows.
#[derive(Clone, Copy, Default)]
struct Stretch {
    low: Option<Point>,
    high: Option<Point>,
    gap: Option<Point>,
    jump: Option<Point>,
}

impl Stretch {
    /// Adds what stays of rows that come later.
    fn add(&mut self, later: &Stretch) {
        let replace = |kept: &mut Option<Point>, found: Option<Point>, better: fn(&Point, &Point) -> bool| {
            if let Some(point) = found
                && kept.as_ref().is_none_or(|kept| better(&point, kept))
            {
                *kept = Some(point);
            }
        };
        replace(&mut self.low, later.low, |new, old| new.v < old.v);
        replace(&mut self.high, later.high, |new, old| new.v > old.v);
        replace(&mut self.gap, later.gap, |_, _| true);
        replace(&mut self.jump, later.jump, |new, old| new.jump() > old.jump());
    }

    fn of(point: Point) -> Self {
        if point.v.is_finite() {
            let jump = point.before.is_some().then_some(point);
            return Stretch { low: Some(point), high: Some(point), gap: None, jump };
        }
        Stretch { gap: Some(point), ..Stretch::default() }
    }
}

impl Point {
    /// How far it jumps at this row.
    fn jump(&self) -> f64 {
        self.before.map_or(0.0, |before| (self.v - before).abs())
    }
}

impl Line {
    /// Without points. Up to four times as many as there are `most` stretches are all kept; after that there are at least half of them.
    pub fn new(most: usize) -> Self {
        let (first, last) = (None, None);
        Line { most: most.next_multiple_of(2), width: 1, stretches: Vec::new(), first, last, rows: 0 }
    }

    /// Adds a row.
    pub fn push(&mut self, t: f64, v: f64) {
        let mut point = Point { row: self.rows, t, v, before: None, after: None };
        self.rows += 1;
        if let Some(mut last) = self.last.take() {
            if last.t == t && last.v.to_bits() != v.to_bits() {
                (last.after, point.before) = (Some(v), Some(last.v));
            }
            self.settle(last);
        }
        self.last = Some(point);
    }

    /// Adds a row whose neighbours are known.
    fn settle(&mut self, point: Point) {
        if point.row == 0 {
            self.first = Some(point);
        }
        let place = (point.row / self.width) as usize;
        match self.stretches.get_mut(place) {
            Some(stretch) => stretch.add(&Stretch::of(point)),
            None => self.stretches.push(Stretch::of(point)),
        }
        let (full, parts) = if self.width == 1 { (4 * self.most, 8) } else { (self.most, 2) };
        if self.stretches.len() >= full {
            let merge = |parts: &[Stretch]| {
                let mut sum = parts[0];
                parts[1..].iter().for_each(|part| sum.add(part));
                sum
            };
            self.stretches = self.stretches.chunks(parts).map(merge).collect();
            self.width *= parts as u64;
        }
    }

    /// Times and values of the points that stay.
    pub fn points(&self) -> (Vec<f64>, Vec<f64>) {
        let (mut t, mut v) = (Vec::new(), Vec::new());
        let mut next = 0;
        let mut keep = |point: Point| {
            let before = point.before.map(|v| (point.row - 1, v));
            let after = point.after.map(|v| (point.row + 1, v));
            for (row, value) in [before, Some((point.row, point.v)), after].into_iter().flatten() {
                if row >= next {
                    t.push(point.t);
                    v.push(value);
                    next = row + 1;
                }
            }
        };
        self.first.into_iter().for_each(&mut keep);
        for stretch in &self.stretches {
            let mut kept = [stretch.low, stretch.high, stretch.gap, stretch.jump];
            kept.sort_by_key(|point| point.map(|point| point.row));
            kept.into_iter().flatten().for_each(&mut keep);
        }
        self.last.into_iter().for_each(&mut keep);
        (t, v)
    }
}

/// Six significant digits, as short as possible; `null` for what is not finite.
pub fn number(x: f64, digits: i32, out: &mut String) {
    if !x.is_finite() {
        *out += "null";
        return;
    }
    let x = if x == 0.0 {
        0.0
    } else {
        let scale = 10f64.powi((digits - 1 - x.abs().log10().floor() as i32).clamp(-300, 300));
        (x * scale).round() / scale
    };
    let mut buffer = ryu::Buffer::new();
    let text = buffer.format(x);
    *out += text.strip_suffix(".0").unwrap_or(text);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thin(times: &[f64], values: &[f64], most: usize) -> (Vec<f64>, Vec<f64>) {
        let mut line = Line::new(most);
        times.iter().zip(values).for_each(|(&t, &v)| line.push(t, v));
        line.points()
    }

    #[test]
    fn spikes_gaps_and_both_ends_stay() {
        let times: Vec<f64> = (0..100_000).map(f64::from).collect();
        let mut values: Vec<f64> = times.iter().map(|t| (t * 1e-3).sin()).collect();
        (values[4_321], values[77_777], values[50_000]) = (900.0, -800.0, f64::NAN);
        let (t, v) = thin(&times, &values, 500);
        assert!(t.len() <= 3 * 500 + 2 && t.len() >= 500 && t.windows(2).all(|w| w[0] < w[1]), "{}", t.len());
        let at = |time: f64| v[t.iter().position(|x| *x == time).unwrap()];
        assert_eq!((at(4_321.0), at(77_777.0)), (900.0, -800.0));
        assert!(at(50_000.0).is_nan());
        assert_eq!((t[0], t[t.len() - 1]), (0.0, 99_999.0));
    }

    /// A line that goes up and jumps back, 2000 times on 50 000 points, and once far in a place where nothing else is special.
    #[test]
    fn both_sides_of_a_jump_stay_or_go_together() {
        let row = |i: u32| (f64::from(i - i % 25 / 24), if i % 25 == 24 { 0.0 } else { f64::from(i % 25) });
        let (times, mut values): (Vec<f64>, Vec<f64>) = (1..50_000).map(row).unzip();
        let twin = |t: &[f64], k: usize| k > 0 && t[k] == t[k - 1];
        let jump = (30_000..).find(|&k| twin(&times, k)).unwrap();
        (values[jump - 1], values[jump]) = (20.0, -10.0);
        let (t, v) = thin(&times, &values, 100);
        assert!(t.len() < 5 * 100 + 4 && t.is_sorted(), "{}", t.len());
        let place = t.iter().position(|&x| x == times[jump]).unwrap();
        assert_eq!(v[place..place + 2], [20.0, -10.0]);
        let alone = (0..t.len()).filter(|&k| {
            let row = times.iter().position(|&x| x == t[k]).unwrap();
            twin(&times, row + 1) != (twin(&t, k) || twin(&t, k + 1))
        });
        assert_eq!(alone.count(), 0);
        // The end may be one, too.
        let times: Vec<f64> = (0..99).map(f64::from).chain([98.0]).collect();
        let values: Vec<f64> = times.iter().map(|_| 0.0).take(99).chain([5.0]).collect();
        let (t, v) = thin(&times, &values, 2);
        assert_eq!((t[0], &t[t.len() - 2..], &v[v.len() - 2..]), (0.0, &[98.0, 98.0][..], &[0.0, 5.0][..]));
    }

    #[test]
    fn few_points_stay_as_they_are() {
        for n in [0, 1, 2, 3, 30] {
            let times: Vec<f64> = (0..n).map(f64::from).collect();
            let values: Vec<f64> = times.iter().map(|t| t * t - 5.0 * t).collect();
            assert_eq!(thin(&times, &values, 10), (times, values));
        }
    }

    #[test]
    fn numbers_are_short() {
        for (x, text) in [
            (0.1 + 0.2, "0.3"),
            (1234567.0, "1234570"),
            (-1.0, "-1"),
            (f64::NAN, "null"),
            (1.2345678e-9, "1.23457e-9"),
            (0.0, "0"),
        ] {
            let mut out = String::new();
            number(x, 6, &mut out);
            assert_eq!(out, text);
        }
    }
}
