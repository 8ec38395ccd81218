//! When a sampler samples, from intervals of time in which its output changed.

/// An interval of time in which one sample lies, both ends included, in s, and which sample it is.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub(super) struct Bracket {
    pub from: f64,
    pub to: f64,
    /// Counted from an arbitrary one.
    pub number: f64,
}

impl Bracket {
    fn middle(&self) -> f64 {
        0.5 * (self.from + self.to)
    }

    pub fn width(&self) -> f64 {
        self.to - self.from
    }
}

/// How many brackets are kept: the narrowest.
const MOST: usize = 12;
/// So many are needed before a period is believed.
const FEWEST: usize = 3;
/// The last of them must be narrower than this share of the shortest distance between two, or their numbers are guesses.
const NARROW: f64 = 0.45;
/// Numbers with more digits than this are not round.
const DIGITS: f64 = 1e4;
/// Numbers with more decimals than this, in s, are not round.
const DECIMALS: i32 = 9;
/// How narrow the range of a round number must be, as a share of its last digit: so likely is one by chance.
const CLEAR: f64 = 0.02;

/// What is known of the times of samples: all `first + n·period` that lie in all brackets.
#[derive(Clone, Debug, Default)]
pub(super) struct Period {
    brackets: [Bracket; MOST],
    len: usize,
    /// The shortest and the longest possible period, in s.
    shortest: f64,
    longest: f64,
}

/// Times at equal distances, in s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Samples {
    /// One of them.
    pub at: f64,
    /// The distance of two.
    pub period: f64,
}

impl Samples {
    /// The first one after `t`.
    pub fn after(&self, t: f64) -> f64 {
        let n = ((t - self.at) / self.period).floor() + 1.0;
        let next = self.at + n * self.period;
        // Round-off of the division.
        if next <= t + 1e-9 * self.period { self.at + (n + 1.0) * self.period } else { next }
    }

    /// The one nearest to `t`.
    pub fn nearest(&self, t: f64) -> f64 {
        self.at + ((t - self.at) / self.period).round() * self.period
    }
}

impl Period {
    /// How many numbers [`Period::state`] takes.
    pub const STATE: usize = 3 * MOST + 3;

    /// Everything it remembers, for a checkpoint.
    pub fn state(&self) -> [f64; Self::STATE] {
        let mut list = [0.0; Self::STATE];
        for (place, b) in list.chunks_exact_mut(3).zip(&self.brackets) {
            place.copy_from_slice(&[b.from, b.to, b.number]);
        }
        list[3 * MOST..].copy_from_slice(&[self.len as f64, self.shortest, self.longest]);
        list
    }

    /// What [`Period::state`] gave.
    pub fn from_state(list: &[f64; Self::STATE]) -> Self {
        let bracket = |k: usize| Bracket { from: list[3 * k], to: list[3 * k + 1], number: list[3 * k + 2] };
        let [len, shortest, longest] = [0, 1, 2].map(|k| list[3 * MOST + k]);
        Period { brackets: std::array::from_fn(bracket), len: len as usize, shortest, longest }
    }

    fn list(&self) -> &[Bracket] {
        &self.brackets[..self.len]
    }

    /// Forgets everything but the last bracket.
    pub fn forget(&mut self) {
        if self.len > 0 {
            self.brackets[0] = Bracket { number: 0.0, ..self.brackets[self.len - 1] };
        }
        (self.len, self.shortest, self.longest) = (self.len.min(1), 0.0, 0.0);
    }

    /// Whether a period is known, exactly or not.
    pub fn is_known(&self) -> bool {
        self.longest > 0.0
    }

    /// The period, in s, if one is known.
    pub fn mean(&self) -> Option<f64> {
        self.is_known().then_some(0.5 * (self.shortest + self.longest))
    }

    /// A sample lies between `from` and `to`. False if that cannot be, given what was known; then only this one counts.
    pub fn add(&mut self, from: f64, to: f64) -> bool {
        let mut new = Bracket { from, to, number: 0.0 };
        if self.is_known() {
            let Some(number) = self.number_of(from, to) else {
                self.brackets[0] = new;
                self.len = 1;
                self.forget();
                return false;
            };
            new.number = number;
        }
        if self.len == MOST {
            // The last one stays: numbers are counted from it.
            let width = |k: &usize| self.brackets[*k].width();
            let widest = (0..MOST - 1).max_by(|a, b| width(a).total_cmp(&width(b))).unwrap_or(0);
            self.brackets.copy_within(widest + 1.., widest);
            self.len -= 1;
        }
        self.brackets[self.len] = new;
        self.len += 1;
        if !self.is_known() {
            self.begin();
            return true;
        }
        let fits = self.find_range();
        if !fits {
            self.forget();
        }
        fits
    }

    /// Which sample may lie between `from` and `to`.
    fn number_of(&self, from: f64, to: f64) -> Option<f64> {
        let last = self.brackets[self.len - 1];
        let period = 0.5 * (self.shortest + self.longest);
        let guess = last.number + ((to - last.middle()) / period).round();
        let slack = 1e-9 * period;
        let overlaps = |n: &f64| {
            let (earliest, latest) = self.window_of(*n);
            *n > last.number && earliest <= to + slack && latest >= from - slack
        };
        [guess, guess - 1.0, guess + 1.0].into_iter().find(overlaps)
    }

    /// Numbers the first brackets, if they are narrow enough and fit.
    fn begin(&mut self) {
        let Some(last) = self.len.checked_sub(FEWEST) else { return };
        let gap = |pair: &[Bracket]| pair[1].middle() - pair[0].middle();
        let shortest = self.list().windows(2).map(gap).fold(f64::INFINITY, f64::min);
        if self.list()[last..].iter().any(|b| b.width() > NARROW * shortest) {
            return;
        }
        for k in 1..self.len {
            let distance = self.brackets[k].middle() - self.brackets[k - 1].middle();
            self.brackets[k].number = self.brackets[k - 1].number + (distance / shortest).round();
        }
        self.brackets[0].number = 0.0;
        if !self.find_range() {
            // The oldest may be from before something else began.
            self.brackets.copy_within(1.., 0);
            self.len -= 1;
            (self.shortest, self.longest) = (0.0, 0.0);
        }
    }

    /// The range of periods with which every pair of brackets agrees; false if there is none.
    fn find_range(&mut self) -> bool {
        let (mut shortest, mut longest) = (0.0f64, f64::INFINITY);
        for (k, late) in self.list().iter().enumerate() {
            for early in &self.list()[..k] {
                let n = late.number - early.number;
                if n < 1.0 {
                    return false;
                }
                shortest = shortest.max((late.from - early.to) / n);
                longest = longest.min((late.to - early.from) / n);
            }
        }
        // Times themselves are rounded.
        let slack = 1e-15 * self.brackets[self.len - 1].to.abs();
        if !(longest > 0.0 && longest.is_finite() && shortest <= longest + slack) {
            return false;
        }
        (self.shortest, self.longest) = (shortest.min(longest), longest.max(shortest));
        true
    }

    /// The earliest and the latest time of the first sample after `t`, if a period is known.
    pub fn window(&self, t: f64) -> Option<(f64, f64)> {
        if !self.is_known() {
            return None;
        }
        let last = self.brackets[self.len - 1];
        let period = 0.5 * (self.shortest + self.longest);
        let mut number = last.number + 1.0;
        if t > last.to {
            number = number.max(last.number + ((t - last.middle()) / period).round());
        }
        for _ in 0..3 {
            let window = self.window_of(number);
            if window.1 > t {
                return Some(window);
            }
            number += 1.0;
        }
        None
    }

    /// The earliest and the latest time of a sample that is later than all brackets: the ends of what the lines through two
    /// opposite ends of brackets reach there, if they pass through all others.
    fn window_of(&self, number: f64) -> (f64, f64) {
        let slack = 1e-9 * self.shortest + 1e-15 * self.brackets[self.len - 1].to.abs();
        let fits = |at: f64, of: f64, period: f64| {
            self.list().iter().all(|b| {
                let t = at + (b.number - of) * period;
                t >= b.from - slack && t <= b.to + slack
            })
        };
        let (mut earliest, mut latest) = (f64::INFINITY, f64::NEG_INFINITY);
        for (k, late) in self.list().iter().enumerate() {
            for early in &self.list()[..k] {
                let n = late.number - early.number;
                for (first, second) in [(early.to, late.from), (early.from, late.to)] {
                    let period = (second - first) / n;
                    if fits(second, late.number, period) {
                        let t = second + (number - late.number) * period;
                        (earliest, latest) = (earliest.min(t), latest.max(t));
                    }
                }
            }
        }
        if earliest <= latest {
            return (earliest, latest);
        }
        // Brackets that touch in single points: any line will do.
        let last = self.brackets[self.len - 1];
        let steps = number - last.number;
        (last.from + steps * self.shortest, last.to + steps * self.longest)
    }

    /// The samples, if exactly one pair of a period and a first time after `start` with few decimals fits.
    pub fn exact(&self, start: f64) -> Option<Samples> {
        if !self.is_known() {
            return None;
        }
        let period = rounded(self.shortest, self.longest)?;
        let shift = |b: &Bracket| b.number * period;
        let earliest = self.list().iter().map(|b| b.from - shift(b)).fold(f64::NEG_INFINITY, f64::max);
        let latest = self.list().iter().map(|b| b.to - shift(b)).fold(f64::INFINITY, f64::min);
        let slack = 1e-12 * (period + latest.abs());
        if earliest > latest + slack {
            return None;
        }
        // Most begin with the run.
        let n = ((earliest - slack - start) / period).ceil();
        if start + n * period <= latest + slack {
            return Some(Samples { at: start, period });
        }
        let whole = ((earliest - start) / period).floor() * period;
        let offset = rounded(earliest - start - whole, latest - start - whole)?;
        Some(Samples { at: start + offset, period })
    }
}

/// The number of fewest decimals between `low` and `high`, if it is round and the range narrow enough.
fn rounded(low: f64, high: f64) -> Option<f64> {
    for decimals in 0..=DECIMALS {
        let scale = 10f64.powi(decimals);
        let slack = 1e-9;
        let (first, last) = ((low * scale - slack).ceil(), (high * scale + slack).floor());
        if first <= last && last > 0.0 {
            let is_clear = first == last && first < DIGITS && (high - low) * scale < CLEAR;
            return is_clear.then_some(first / scale);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Brackets of `width` around samples, at places that vary.
    fn seen(period: f64, offset: f64, width: f64, numbers: &[f64]) -> Period {
        let mut known = Period::default();
        for (k, n) in numbers.iter().enumerate() {
            let t = offset + n * period;
            let share = [0.2, 0.9, 0.5, 0.7][k % 4];
            assert!(known.add(t - share * width, t + (1.0 - share) * width), "{known:?}");
        }
        known
    }

    #[test]
    fn the_next_sample_lies_in_its_window() {
        for (period, offset) in [(0.05, 0.0), (0.037_124_91, 0.011), (2.0, 0.3)] {
            let known = seen(period, offset, 0.1 * period, &[1.0, 2.0, 3.0, 5.0, 6.0]);
            for n in [7.0, 8.0, 20.0] {
                let t = offset + n * period;
                let (from, to) = known.window(t - 0.5 * period).expect("a period");
                assert!(from <= t && t <= to && to - from < period, "{period}, {n}: {from} … {to} for {t}");
            }
        }
    }

    #[test]
    fn round_periods_are_recognised_and_others_are_not() {
        let numbers: Vec<f64> = (1..12).map(f64::from).collect();
        let exact = |period: f64, offset: f64| seen(period, offset, 0.05 * period, &numbers).exact(0.0);
        assert_eq!(exact(0.05, 0.0), Some(Samples { at: 0.0, period: 0.05 }));
        assert_eq!(exact(0.2, 0.0), Some(Samples { at: 0.0, period: 0.2 }));
        let shifted = seen(0.05, 0.02, 1e-4, &numbers).exact(0.0).expect("0.05 s from 0.02 s on");
        assert!((shifted.period - 0.05).abs() < 1e-15 && (shifted.at - 0.02).abs() < 1e-12, "{shifted:?}");
        assert_eq!(exact(0.037_124_913_7, 0.0), None);
    }

    /// Every third of 1 s, from windows in eight parts: sixteen samples give six digits.
    #[test]
    fn windows_that_are_divided_narrow_down() {
        let (period, offset) = (1.0 / 3.0, 0.123_456);
        let mut known = seen(period, offset, 0.1, &[1.0, 2.0, 3.0]);
        for n in 4..20 {
            let t = offset + f64::from(n) * period;
            let (from, to) = known.window(t - 0.5 * period).expect("a period");
            assert!(from <= t + 1e-12 && t <= to + 1e-12, "{n}: {from} … {to} for {t}");
            let part = ((t - from) / (to - from) * 8.0).floor().clamp(0.0, 7.0);
            let width = (to - from) / 8.0;
            assert!(known.add(from + part * width, from + (part + 1.0) * width));
        }
        let (from, to) = known.window(offset + 20.5 * period).expect("a period");
        assert!(to - from < 1e-6, "{}", to - from);
    }

    #[test]
    fn what_is_not_periodic_is_not_called_so() {
        let mut known = Period::default();
        let times = [0.1, 0.25, 0.31, 0.52, 0.59, 0.83, 0.99, 1.3];
        let unfit = times.iter().filter(|&&t| !known.add(t - 1e-4, t + 1e-4)).count();
        assert!(unfit > 0 || !known.is_known(), "{known:?}");
    }

    #[test]
    fn the_state_comes_back() {
        let known = seen(0.05, 0.0, 0.004, &[1.0, 2.0, 4.0]);
        let again = Period::from_state(&known.state());
        assert_eq!(again.window(0.21), known.window(0.21));
    }

    #[test]
    fn samples_come_one_after_the_other() {
        let samples = Samples { at: 0.0, period: 0.1 };
        let mut t = 0.0;
        for k in 1..50 {
            t = samples.after(t);
            assert!((t - 0.1 * f64::from(k)).abs() < 1e-12, "{k}: {t}");
        }
    }
}
