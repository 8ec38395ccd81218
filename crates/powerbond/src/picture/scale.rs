//! An axis: where numbers stand on it, and which of them are written beside it.

/// An axis of a chart.
#[derive(Clone, Debug)]
pub struct Axis {
    /// What it shows, with its unit.
    pub label: String,
    /// How numbers are placed.
    pub scale: Scale,
    /// How a number is written beside it.
    pub words: fn(f64) -> String,
}

/// How numbers are placed on an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Evenly.
    Linear,
    /// By their logarithm, from one power of ten to another; only positive numbers have a place.
    Logarithmic,
}

/// A part of an axis that covers some numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    scale: Scale,
    low: f64,
    high: f64,
    /// Of linear axes.
    step: f64,
}

/// About as many marks as a linear axis has.
const MARKS: f64 = 5.0;

impl Scale {
    /// Whether a number has a place.
    pub(super) fn takes(self, x: f64) -> bool {
        x.is_finite() && (self == Scale::Linear || x > 0.0)
    }

    /// What covers all numbers that have a place, rounded outwards; none if none has.
    pub(super) fn span(self, numbers: impl Iterator<Item = f64>) -> Option<Span> {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for x in numbers.filter(|x| self.takes(*x)) {
            (low, high) = (low.min(x), high.max(x));
        }
        if low > high {
            return None;
        }
        let step = match self {
            Scale::Logarithmic => {
                (low, high) = (low.log10().floor(), high.log10().ceil());
                1.0
            }
            Scale::Linear => {
                let step = round_step((high - low) / MARKS, low.abs().max(high.abs()));
                (low, high) = ((low / step).floor(), (high / step).ceil());
                step
            }
        };
        Some(Span { scale: self, low, high: high.max(low + 1.0), step })
    }
}

/// 1, 2 or 5 times a power of ten, at least `x`; where all numbers are one, a tenth of its `size`.
fn round_step(x: f64, size: f64) -> f64 {
    let x = if x > 1e-12 * size { x } else { 0.1 * size };
    if x == 0.0 {
        return 1.0;
    }
    let power = 10f64.powf(x.log10().floor());
    [1.0, 2.0, 5.0, 10.0].map(|m| m * power).into_iter().find(|step| *step >= x * (1.0 - 1e-9)).unwrap_or(x)
}

impl Span {
    /// 0 at the low end, 1 at the high end.
    pub(super) fn place(&self, x: f64) -> f64 {
        let x = if self.scale == Scale::Logarithmic { x.log10() } else { x / self.step };
        ((x - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
    }

    /// Numbers that are written beside the axis, the low one first: at most a dozen or so.
    pub(super) fn marks(&self) -> impl Iterator<Item = f64> + '_ {
        let count = (self.high - self.low) as u32;
        let every = count / 12 + 1;
        (0..=count).step_by(every as usize).map(|n| self.mark(self.low + f64::from(n)))
    }

    /// The number whose place is nearest to `share` of the way, if it is a mark within `tolerance` of it.
    pub(super) fn mark_near(&self, share: f64, tolerance: f64) -> Option<f64> {
        let at = self.low + share * (self.high - self.low);
        let near = at.round();
        ((at - near).abs() < tolerance * (self.high - self.low)).then(|| self.mark(near))
    }

    fn mark(&self, n: f64) -> f64 {
        if self.scale == Scale::Logarithmic { 10f64.powi(n as i32) } else { n * self.step }
    }
}

/// `10³`: a power of ten as people write it.
pub fn power_of_ten(x: f64) -> String {
    let digit = |c: char| match c {
        '-' => '⁻',
        c => ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'][c.to_digit(10).unwrap_or(0) as usize],
    };
    let exponent = x.log10().round() as i32;
    format!("10{}", exponent.to_string().chars().map(digit).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::Scale::{Linear, Logarithmic};

    #[test]
    fn marks_are_round_numbers_around_all_that_has_a_place() {
        let check = |scale: super::Scale, numbers: &[f64], expected: &[f64]| {
            let span = scale.span(numbers.iter().copied()).expect("a span");
            let marks: Vec<f64> = span.marks().collect();
            let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-9 * b.abs();
            assert!(
                marks.len() == expected.len() && marks.iter().zip(expected).all(close),
                "{numbers:?}: {marks:?}"
            );
        };
        check(Logarithmic, &[0.02, 30.0, -1.0, f64::NAN], &[0.01, 0.1, 1.0, 10.0, 100.0]);
        check(Logarithmic, &[10.0], &[10.0, 100.0]);
        check(Linear, &[0.0, 1.0], &[0.0, 0.2, 0.4, 0.6, 0.8, 1.0]);
        check(Linear, &[-3.0, 4.0], &[-4.0, -2.0, 0.0, 2.0, 4.0]);
        check(Linear, &[7.0], &[7.0, 8.0]);
        check(Linear, &[0.0], &[0.0, 1.0]);
        assert_eq!(Logarithmic.span([0.0, f64::INFINITY].into_iter()), None);
    }

    #[test]
    fn powers_of_ten_have_raised_digits() {
        assert_eq!([1e-12, 1.0, 1e3].map(super::power_of_ten), ["10⁻¹²", "10⁰", "10³"]);
    }

    #[test]
    fn places_are_shares_of_the_way() {
        let span = Logarithmic.span([1.0, 100.0].into_iter()).expect("a span");
        assert_eq!([0.1, 1.0, 10.0, 100.0].map(|x| span.place(x)), [0.0, 0.0, 0.5, 1.0]);
        assert_eq!([0.0, 0.4, 0.5].map(|share| span.mark_near(share, 0.05)), [Some(1.0), None, Some(10.0)]);
    }
}
