//! The settings of methods: what they may be, and how they are told.

/// What a knob may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Domain {
    /// A number in `[min, max]`, or `(min, max]` if `open`.
    Number {
        /// Least.
        min: f64,
        /// Greatest.
        max: f64,
        /// `min` itself is refused.
        open: bool,
    },
    /// As `Number`, or a table of such numbers by variable name.
    NumberByName {
        /// Least.
        min: f64,
        /// Greatest.
        max: f64,
        /// `min` itself is refused.
        open: bool,
    },
    /// As `Number`, or one of these words.
    NumberOrWord {
        /// Least.
        min: f64,
        /// Greatest.
        max: f64,
        /// The words.
        words: &'static [&'static str],
    },
    /// One of these words.
    Choice(&'static [&'static str]),
    /// `true` or `false`.
    Flag,
    /// A list of names.
    Names,
    /// "none", "model", "identified" or a table `"sub.output/sub.input" = number`.
    FeedThrough,
}

/// A number above zero.
pub const POSITIVE: Domain = Domain::Number { min: 0.0, max: f64::MAX, open: true };
/// Zero or more, as long as its square is a number.
pub const NOT_NEGATIVE: Domain = Domain::Number { min: 0.0, max: LARGEST, open: false };
/// Squares of numbers up to it are numbers.
pub const LARGEST: f64 = 1e100;

/// A setting of a method.
#[derive(Clone, Copy, Debug)]
pub struct Knob {
    /// Its key.
    pub name: &'static str,
    /// What it may be.
    pub domain: Domain,
    /// What holds if it is not given, as text for people.
    pub default: &'static str,
    /// Its unit; empty for none.
    pub unit: &'static str,
    /// One line.
    pub about: &'static str,
}
