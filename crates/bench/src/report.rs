//! What a suite found: numbers, what each is held against, the bounds and why they are that wide, and the verdict on each.

use serde::Serialize;

/// What a number is held against.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", content = "place", rename_all = "kebab-case")]
pub enum Source {
    /// A number that the paper prints: where.
    Print(&'static str),
    /// What the paper says in words, without a number for it: where.
    Claim(&'static str),
    /// A formula: which.
    Formula(&'static str),
    /// The paper's scheme in a plain loop that shares no code with the engine.
    WrittenOut,
    /// An exact solution, or the same with smaller steps.
    FinerRun,
    /// What came out before: it guards against changes, and says nothing about the paper.
    Earlier,
    /// A limit that this project has set itself: where it is from.
    Limit(&'static str),
}

impl Source {
    /// One word or two, and the place.
    pub fn words(&self) -> String {
        match self {
            Source::Print(place) => format!("print, {place}"),
            Source::Claim(place) => format!("words, {place}"),
            Source::Formula(which) => format!("formula, {which}"),
            Source::WrittenOut => "plain loop".to_owned(),
            Source::FinerRun => "finer run".to_owned(),
            Source::Earlier => "earlier number".to_owned(),
            Source::Limit(from) => format!("limit, {from}"),
        }
    }
}

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
    /// No reading of the paper gives the printed number or the claim: it stays the deviation that it was, within its bounds.
    Deviation,
    /// Not judged.
    Shown,
}

/// What is said of a number in the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It is within its bounds.
    Holds,
    /// It is, and so is what the simpler run gives: it says nothing about the method.
    HoldsAnyway,
    /// It is not.
    Fails,
    /// It deviates from the paper, as it did.
    Deviates,
    /// Nothing is.
    Shown,
}

impl Verdict {
    /// It is within its bounds, whatever that says.
    fn holds(self) -> bool {
        matches!(self, Verdict::Holds | Verdict::HoldsAnyway)
    }
}

/// The same number of a simpler run: without the correction, the control or the modification that the row is about.
#[derive(Clone, Debug, Serialize)]
pub struct Beside {
    /// What is simpler.
    pub what: &'static str,
    /// What came out there.
    pub measured: f64,
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
    /// What it is held against; none if it is only shown.
    pub reference: Option<Source>,
    /// Least that passes.
    pub low: Option<f64>,
    /// Greatest that passes.
    pub high: Option<f64>,
    /// Why the bounds are where they are, if the reference does not say it; of a deviation, what is known of it.
    pub why: Option<&'static str>,
    /// What came out.
    pub measured: f64,
    /// The same without what the row is about.
    pub beside: Option<Beside>,
    /// How it is judged.
    pub check: Check,
    /// What is said of it.
    pub verdict: Verdict,
}

impl Quantity {
    fn judged(
        name: &str,
        unit: &'static str,
        reference: Source,
        check: Check,
        [low, high]: [Option<f64>; 2],
        measured: f64,
    ) -> Self {
        let within = low.is_none_or(|low| measured >= low) && high.is_none_or(|high| measured <= high);
        let holds = if check == Check::Deviation { Verdict::Deviates } else { Verdict::Holds };
        Quantity {
            name: name.to_owned(),
            unit,
            published: None,
            reference: Some(reference),
            low,
            high,
            why: None,
            measured,
            beside: None,
            check,
            verdict: if within && !measured.is_nan() { holds } else { Verdict::Fails },
        }
    }

    /// Within bounds that come from `reference`.
    pub fn range(
        name: &str,
        unit: &'static str,
        reference: Source,
        low: f64,
        high: f64,
        measured: f64,
    ) -> Self {
        Quantity::judged(name, unit, reference, Check::Range, [Some(low), Some(high)], measured)
    }

    /// At least `low`.
    pub fn at_least(name: &str, unit: &'static str, reference: Source, low: f64, measured: f64) -> Self {
        Quantity::judged(name, unit, reference, Check::Range, [Some(low), None], measured)
    }

    /// At most `high`.
    pub fn at_most(name: &str, unit: &'static str, reference: Source, high: f64, measured: f64) -> Self {
        Quantity::judged(name, unit, reference, Check::Range, [None, Some(high)], measured)
    }

    /// Within `share` of what `reference` gives.
    pub fn near(
        name: &str,
        unit: &'static str,
        reference: Source,
        expected: f64,
        share: f64,
        measured: f64,
    ) -> Self {
        let width = (share * expected).abs();
        Quantity::range(name, unit, reference, expected - width, expected + width, measured)
    }

    /// A number that is not judged.
    pub fn shown(name: &str, unit: &'static str, measured: f64) -> Self {
        let any = Quantity::range(name, unit, Source::Earlier, 0.0, 0.0, measured);
        let (check, verdict) = (Check::Shown, Verdict::Shown);
        Quantity { reference: None, low: None, high: None, check, verdict, ..any }
    }

    /// Within half a unit of the last printed digit. `printed` is text such as `-1.92e2`.
    pub fn digit(name: &str, unit: &'static str, place: &'static str, printed: &str, measured: f64) -> Self {
        let (value, half) = digits(printed);
        // A tie, such as 0.05 printed from 0.045, is within.
        let slack = half * (1.0 + 1e-9);
        let bounds = [Some(value - slack), Some(value + slack)];
        let q = Quantity::judged(name, unit, Source::Print(place), Check::Digit, bounds, measured);
        Quantity { published: Some(printed.to_owned()), ..q }
    }

    /// Within `width` of the printed value, in its unit, and why that much.
    pub fn band(
        name: &str,
        unit: &'static str,
        place: &'static str,
        printed: &str,
        (width, why): (f64, &'static str),
        measured: f64,
    ) -> Self {
        let (value, _) = digits(printed);
        let bounds = [Some(value - width), Some(value + width)];
        let q = Quantity::judged(name, unit, Source::Print(place), Check::Band, bounds, measured);
        Quantity { published: Some(printed.to_owned()), why: Some(why), ..q }
    }

    /// Another number than the paper's print or claim, which no reading gives: it stays within `width` of what it was.
    pub fn deviation(
        name: &str,
        unit: &'static str,
        reference: Source,
        (was, width): (f64, f64),
        why: &'static str,
        measured: f64,
    ) -> Self {
        let bounds = [Some(was - width), Some(was + width)];
        let q = Quantity::judged(name, unit, reference, Check::Deviation, bounds, measured);
        Quantity { why: Some(why), ..q }
    }

    /// What is printed, to half a unit of its last digit.
    fn is_to_the_digit(&self) -> bool {
        let (value, half) = digits(self.published.as_deref().unwrap_or_default());
        (self.measured - value).abs() <= half * (1.0 + 1e-9)
    }

    /// With the text that the paper prints.
    pub fn published(self, printed: &str) -> Self {
        Quantity { published: Some(printed.to_owned()), ..self }
    }

    /// With the reason for its bounds.
    pub fn because(self, why: &'static str) -> Self {
        Quantity { why: Some(why), ..self }
    }

    /// Beside the simpler run: what that passes, too, says nothing about the method.
    pub fn beside(self, what: &'static str, measured: f64) -> Self {
        let anyway =
            self.low.is_none_or(|low| measured >= low) && self.high.is_none_or(|high| measured <= high);
        let verdict = match self.verdict {
            Verdict::Holds if anyway => Verdict::HoldsAnyway,
            other => other,
        };
        Quantity { beside: Some(Beside { what, measured }), verdict, ..self }
    }
}

/// The value of a printed number and half a unit of its last digit.
pub(crate) fn digits(printed: &str) -> (f64, f64) {
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
    /// Its numbers; none if its run failed.
    pub quantities: Vec<Quantity>,
    /// Why its run failed, if it did: a coupling that became unstable, a value that is not finite.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

impl Row {
    /// It was run beside a simpler one, and no number of it tells the two apart.
    pub fn tells_nothing(&self) -> bool {
        let beside = || self.quantities.iter().filter(|q| q.beside.is_some());
        let judged = || beside().filter(|q| q.verdict.holds());
        judged().next().is_some() && judged().all(|q| q.verdict == Verdict::HoldsAnyway)
    }
}

/// How many numbers hold, by what they are held against.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Held {
    /// Printed in the paper.
    pub print: usize,
    /// Of these, how many are within half a unit of the last printed digit.
    pub to_the_digit: usize,
    /// Said in the paper.
    pub claim: usize,
    /// Formulas.
    pub formula: usize,
    /// The scheme in a plain loop.
    pub written_out: usize,
    /// Exact solutions and finer runs.
    pub finer_run: usize,
    /// Numbers that came out before.
    pub earlier: usize,
    /// Limits of this project.
    pub limit: usize,
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
    /// Of these, how many hold for a simpler run, too: they say nothing about the method.
    pub anyway: usize,
    /// The same by what they are held against.
    pub held: Held,
    /// Quantities that do not, and rows whose run failed.
    pub failed: usize,
    /// Known deviations from the paper, as they were.
    pub deviations: usize,
    /// Quantities that are not judged.
    pub shown: usize,
    /// Ids of rows that a simpler run passes, too.
    pub not_discriminating: Vec<String>,
}

impl Report {
    /// Counts the verdicts.
    pub fn new(suite: &'static str, rows: Vec<Row>) -> Self {
        let all = || rows.iter().flat_map(|r| &r.quantities);
        let count = |verdict: Verdict| all().filter(|q| q.verdict == verdict).count();
        let mut held = Held::default();
        for q in all().filter(|q| q.verdict.holds()) {
            *match q.reference {
                Some(Source::Print(_)) => &mut held.print,
                Some(Source::Claim(_)) => &mut held.claim,
                Some(Source::Formula(_)) => &mut held.formula,
                Some(Source::WrittenOut) => &mut held.written_out,
                Some(Source::FinerRun) => &mut held.finer_run,
                Some(Source::Limit(_)) => &mut held.limit,
                Some(Source::Earlier) | None => &mut held.earlier,
            } += 1;
        }
        held.to_the_digit = all().filter(|q| q.verdict.holds() && q.is_to_the_digit()).count();
        Report {
            suite,
            passed: count(Verdict::Holds) + count(Verdict::HoldsAnyway),
            anyway: count(Verdict::HoldsAnyway),
            held,
            failed: count(Verdict::Fails) + rows.iter().filter(|r| r.failure.is_some()).count(),
            deviations: count(Verdict::Deviates),
            shown: count(Verdict::Shown),
            not_discriminating: rows.iter().filter(|r| r.tells_nothing()).map(|r| r.id.clone()).collect(),
            rows,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digit(printed: &str, measured: f64) -> Quantity {
        Quantity::digit("x", "W", "Table 1", printed, measured)
    }

    #[test]
    fn printed_digits_give_the_bounds() {
        assert_eq!(digits("-1.92e2"), (-192.0, 0.5));
        assert_eq!(digits("0.4"), (0.4, 0.05));
        assert_eq!(digits("4"), (4.0, 0.5));
        assert_eq!(digit("0.4", 0.449).verdict, Verdict::Holds);
        assert_eq!(digit("0.4", 0.451).verdict, Verdict::Fails);
        assert_eq!(digit("0.4", f64::NAN).verdict, Verdict::Fails);
    }

    /// 3.20 is printed with and without the modification; ΔP deviates, so that nothing is left that tells them apart.
    #[test]
    fn what_the_simpler_run_passes_is_told() {
        let same = digit("3.20", 3.204).beside("without", 3.196);
        assert_eq!(same.verdict, Verdict::HoldsAnyway);
        assert_eq!(digit("3.20", 3.204).beside("without", 6.3).verdict, Verdict::Holds);
        assert_eq!(digit("3.20", 3.3).beside("without", 3.2).verdict, Verdict::Fails);
        let off = Quantity::deviation("y", "W", Source::Print("Table 1"), (0.21, 0.01), "", 0.212);
        assert_eq!(off.verdict, Verdict::Deviates);
        let row = |quantities| Row { id: "a".to_owned(), case: String::new(), quantities, failure: None };
        let rows = vec![row(vec![same, off]), row(vec![Quantity::shown("z", "", f64::NAN)])];
        let report = Report::new("s", rows);
        assert_eq!((report.passed, report.failed, report.deviations, report.shown), (1, 0, 1, 1));
        assert_eq!(report.anyway, 1);
        assert_eq!((report.held.print, report.held.to_the_digit), (1, 1));
        assert_eq!(report.not_discriminating, ["a"]);
        let unstable = Row { failure: Some("unstable".to_owned()), ..row(Vec::new()) };
        let report = Report::new("s", vec![unstable]);
        assert_eq!((report.passed, report.failed), (0, 1));
        assert!(report.not_discriminating.is_empty());
    }

    /// A deviation that moves is noticed, to the better or to the worse.
    #[test]
    fn deviations_can_fail() {
        let at = |x| Quantity::deviation("y", "", Source::Claim("Fig. 1"), (0.21, 0.01), "", x).verdict;
        assert_eq!([0.19, 0.21, 0.23, f64::NAN].map(at), {
            use Verdict::{Deviates, Fails};
            [Fails, Deviates, Fails, Fails]
        });
    }
}
