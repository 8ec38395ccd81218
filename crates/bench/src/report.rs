//! What a suite found: numbers, the bounds they are held against, and the verdict on each.

use serde::Serialize;

/// How a number is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Check {
    /// Within half a unit of the last printed digit.
    Digit,
    /// Within a band around the published value.
    Band,
    /// Within bounds.
    Range,
    /// Several numbers are in the published order.
    Order,
    /// Not reproducible from what the paper says; shown, neither passed nor failed.
    Known,
}

/// One number of a row.
#[derive(Clone, Debug, Serialize)]
pub struct Quantity {
    /// Its name.
    pub name: String,
    /// Its unit.
    pub unit: &'static str,
    /// The printed text, if there is one.
    pub published: Option<String>,
    /// Where the expectation comes from: `paper`, `formula`, `prototype`, `finer run`, `monolithic solution`, …
    pub reference: &'static str,
    /// Least that passes.
    pub low: Option<f64>,
    /// Greatest that passes.
    pub high: Option<f64>,
    /// What came out.
    pub measured: f64,
    /// How it is judged.
    pub check: Check,
    /// The verdict; none for known deviations.
    pub pass: Option<bool>,
}

impl Quantity {
    fn judged(
        name: &str,
        unit: &'static str,
        reference: &'static str,
        check: Check,
        low: f64,
        high: f64,
        measured: f64,
    ) -> Self {
        Quantity {
            name: name.to_owned(),
            unit,
            published: None,
            reference,
            low: Some(low),
            high: Some(high),
            measured,
            check,
            pass: Some(measured >= low && measured <= high),
        }
    }

    /// Within bounds that come from `reference`.
    pub fn range(
        name: &str,
        unit: &'static str,
        reference: &'static str,
        low: f64,
        high: f64,
        measured: f64,
    ) -> Self {
        Quantity::judged(name, unit, reference, Check::Range, low, high, measured)
    }

    /// A number that a finer run gave, shown and not judged.
    pub fn shown(name: &str, unit: &'static str, measured: f64) -> Self {
        let any = Quantity::range(name, unit, "finer run", 0.0, f64::MAX, measured);
        Quantity { low: None, high: None, pass: Some(true), ..any }
    }

    /// Within half a unit of the last printed digit. `printed` is text such as `-1.92e2`.
    pub fn digit(name: &str, unit: &'static str, printed: &str, measured: f64) -> Self {
        let (value, half) = digits(printed);
        // A tie, such as 0.05 printed from 0.045, is within.
        let slack = half * (1.0 + 1e-9);
        let q = Quantity::judged(name, unit, "paper", Check::Digit, value - slack, value + slack, measured);
        Quantity { published: Some(printed.to_owned()), ..q }
    }

    /// Within `share` of the printed value.
    pub fn band(name: &str, unit: &'static str, printed: &str, share: f64, measured: f64) -> Self {
        let (value, _) = digits(printed);
        let width = share * value.abs();
        let q = Quantity::judged(name, unit, "paper", Check::Band, value - width, value + width, measured);
        Quantity { published: Some(printed.to_owned()), ..q }
    }

    /// A published value that no reading of the paper reproduces.
    pub fn known(name: &str, unit: &'static str, printed: Option<&str>, measured: f64) -> Self {
        Quantity {
            name: name.to_owned(),
            unit,
            published: printed.map(str::to_owned),
            reference: "paper",
            low: None,
            high: None,
            measured,
            check: Check::Known,
            pass: None,
        }
    }
}

/// The value of a printed number and half a unit of its last digit.
fn digits(printed: &str) -> (f64, f64) {
    let value = printed.parse().unwrap_or(f64::NAN);
    let (mantissa, exponent) = printed.split_once('e').unwrap_or((printed, "0"));
    let decimals = mantissa.split_once('.').map_or(0, |(_, d)| d.len() as i32);
    (value, 0.5 * 10f64.powi(exponent.parse::<i32>().unwrap_or(0) - decimals))
}

/// A row of a table, or a point of a figure.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Its id.
    pub id: String,
    /// What it is, in words.
    pub case: String,
    /// Its numbers.
    pub quantities: Vec<Quantity>,
}

/// A whole suite.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Its name.
    pub suite: &'static str,
    /// Its rows.
    pub rows: Vec<Row>,
    /// Quantities that hold.
    pub passed: usize,
    /// Quantities that do not.
    pub failed: usize,
    /// Known deviations.
    pub known: usize,
}

impl Report {
    /// Counts the verdicts.
    pub fn new(suite: &'static str, rows: Vec<Row>) -> Self {
        let count =
            |pass: Option<bool>| rows.iter().flat_map(|r| &r.quantities).filter(|q| q.pass == pass).count();
        let (passed, failed, known) = (count(Some(true)), count(Some(false)), count(None));
        Report { suite, rows, passed, failed, known }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_digits_give_the_bounds() {
        assert_eq!(digits("-1.92e2"), (-192.0, 0.5));
        assert_eq!(digits("0.4"), (0.4, 0.05));
        assert_eq!(digits("4"), (4.0, 0.5));
        assert_eq!(Quantity::digit("x", "W", "0.4", 0.449).pass, Some(true));
        assert_eq!(Quantity::digit("x", "W", "0.4", 0.451).pass, Some(false));
        assert_eq!(Quantity::digit("x", "W", "0.4", f64::NAN).pass, Some(false));
    }
}
