//! sadjina2020: tables 4 to 9, NEPCE alone and with ECCO, and what the text says of them.

mod figures;

pub use figures::FIGURES;

use crate::quarter_car::{CONTROL, Case, ERROR, Measured, Moved, POWER, RATIO, Reductions, Rule, Split};
use crate::{Models, Plan, Quantity, Source};
use Rule::{Deviates, Digit, Rounded, Within};
use Split::{R1, R2};
use powerbond::Error;

const MICRO_STEPS: u32 = 256;

/// A row: α (0: no correction), with the feed-through modification, tolerance (0: constant step).
#[derive(Clone, Copy)]
struct TableRow {
    id: &'static str,
    split: Split,
    nonlinear: bool,
    alpha: f64,
    modified: bool,
    tolerance: f64,
    /// The printed number of steps; of a constant step it says nothing.
    steps: Option<Rule>,
    numbers: [Rule; 3],
}

const fn row(
    id: &'static str,
    (split, nonlinear): (Split, bool),
    (alpha, modified, tolerance): (f64, bool, f64),
    steps: Option<Rule>,
    numbers: [Rule; 3],
) -> TableRow {
    TableRow { id, split, nonlinear, alpha, modified, tolerance, steps, numbers }
}

const NEPCE_R1: &str = "no reading of eq. 11 gives both this error and the residual energy of the same row";
const ECCO_R2: &str = "chaotic: a 10⁻¹³ part of the tolerance moves it between 0.43 and 0.49 W, tolerances that round to the printed one between 0.41 and 0.58 W";
/// Reductions in which the residual energy of Table 7 is.
const TABLE_7: &str = "as the residual energy of Table 7, which is smaller here";
/// NEPCE on the nonlinear car.
const NEPCE_R2: &str = "α is printed with one digit: 0.4 does not give it, 0.375 does (9/alpha)";

/// Tables of reticulation 2 are printed in 10² W and 10² J, hence `e2`.
const TABLE: &[TableRow] = &[
    row("4/constant", (R1, false), (0.0, false, 0.0), None, [Digit("0.4"), Digit("1.0"), Digit("6.3")]),
    row(
        "4/nepce",
        (R1, false),
        (0.95, false, 0.0),
        None,
        [Digit("0.01"), Deviates("0.14", 0.2117, 0.01, NEPCE_R1), Digit("3.20")],
    ),
    row(
        "4/nepce-mod",
        (R1, false),
        (0.95, true, 0.0),
        None,
        [Digit("0.01"), Deviates("0.11", 0.1511, 0.01, NEPCE_R1), Digit("3.20")],
    ),
    row(
        "5/constant",
        (R2, false),
        (0.0, false, 0.0),
        None,
        [Digit("-1.89e2"), Digit("0.10e2"), Digit("0.22e2")],
    ),
    row(
        "5/nepce",
        (R2, false),
        (0.85, false, 0.0),
        None,
        [Digit("-1.88e2"), Digit("0.04e2"), Digit("0.11e2")],
    ),
    row(
        "5/nepce-mod",
        (R2, false),
        (0.85, true, 0.0),
        None,
        [Digit("-1.88e2"), Digit("0.03e2"), Digit("0.10e2")],
    ),
    row(
        "6/nepce",
        (R1, false),
        (0.95, false, 1.6e-6),
        Some(Rounded("3930", ERROR)),
        [Digit("-0.05"), Digit("0.08"), Deviates("0.83", 0.8055, 0.02, CONTROL)],
    ),
    row(
        "6/nepce-mod",
        (R1, false),
        (0.95, true, 1.6e-6),
        Some(Deviates("4002", 3904.0, 0.02, CONTROL)),
        [Deviates("-0.04", -0.0527, 0.03, CONTROL), Rounded("0.06", ERROR), Rounded("0.81", ERROR)],
    ),
    row(
        "7/nepce",
        (R2, false),
        (0.85, false, 1.4e-6),
        Some(Deviates("3921", 3617.0, 0.02, CONTROL)),
        [
            Rounded("-1.872e2", POWER),
            Deviates("0.003e2", 0.45, 0.15, ECCO_R2),
            Deviates("0.004e2", 0.321, 0.06, CONTROL),
        ],
    ),
    row(
        "7/nepce-mod",
        (R2, false),
        (0.85, true, 1.4e-6),
        Some(Rounded("3958", ERROR)),
        [Rounded("-1.871e2", POWER), Digit("0.002e2"), Deviates("0.004e2", 0.298, 0.07, CONTROL)],
    ),
    row("8/constant", (R1, true), (0.0, false, 0.0), None, [Digit("0.6"), Digit("1.3"), Digit("4.7")]),
    row("8/nepce", (R1, true), (0.6, false, 0.0), None, [Digit("0.1"), Digit("0.5"), Digit("2.9")]),
    row("8/nepce-mod", (R1, true), (0.6, true, 0.0), None, [Digit("0.1"), Digit("0.5"), Digit("2.9")]),
    row(
        "8/ecco-nepce",
        (R1, true),
        (0.6, false, 4.7e-6),
        Some(Deviates("1991", 1979.0, 0.003, CONTROL)),
        [Digit("-0.1"), Digit("0.2"), Digit("1.0")],
    ),
    row(
        "8/ecco-nepce-mod",
        (R1, true),
        (0.6, true, 4.6e-6),
        Some(Rounded("2010", ERROR)),
        [Digit("-0.1"), Digit("0.2"), Digit("1.0")],
    ),
    row("9/constant", (R2, true), (0.0, false, 0.0), None, [Digit("-3.8e2"), Digit("0.2e2"), Digit("0.4e2")]),
    row(
        "9/nepce",
        (R2, true),
        (0.4, false, 0.0),
        None,
        [Digit("-3.78e2"), Deviates("0.14e2", 13.447, 0.01, NEPCE_R2), Digit("0.30e2")],
    ),
    row(
        "9/nepce-mod",
        (R2, true),
        (0.4, true, 0.0),
        None,
        [
            Deviates("-3.78e2", -377.46, 1e-4, NEPCE_R2),
            Deviates("0.12e2", 11.145, 0.01, NEPCE_R2),
            Deviates("0.30e2", 29.235, 0.01, NEPCE_R2),
        ],
    ),
    row(
        "9/ecco-nepce",
        (R2, true),
        (0.4, false, 2.6e-5),
        Some(Rounded("1986", ERROR)),
        [Digit("-3.77e2"), Digit("0.04e2"), Digit("0.04e2")],
    ),
    row(
        "9/ecco-nepce-mod",
        (R2, true),
        (0.4, true, 2.7e-5),
        Some(Rounded("1989", ERROR)),
        [Rounded("-3.77e2", POWER), Digit("0.03e2"), Digit("0.04e2")],
    ),
];

/// What the text says of the tables.
const TEXT: &[Reductions] = &[
    Reductions {
        id: "text/4-5/nepce",
        place: "Sec. 5.1",
        case: "linear, NEPCE: errors are reduced by 49 to 86 %",
        rows: &[("4/nepce", "4/constant"), ("5/nepce", "5/constant")],
        power: true,
        energy: true,
        least: Digit("49"),
        greatest: Some(Deviates("86", 77.9, 0.01, NEPCE_R1)),
    },
    Reductions {
        id: "text/4-5/nepce-mod",
        place: "Sec. 5.1",
        case: "linear, NEPCE: the modification reduces the error of the power by another 17 to 33 %",
        rows: &[("4/nepce-mod", "4/nepce"), ("5/nepce-mod", "5/nepce")],
        power: true,
        energy: false,
        least: Deviates("17", 26.3, 0.01, MODIFIED),
        greatest: Some(Deviates("33", 28.6, 0.01, MODIFIED)),
    },
    Reductions {
        id: "text/6",
        place: "Sec. 5.2",
        case: "R1 linear, ECCO with NEPCE: errors are reduced by 87 to 92 %",
        rows: &[("6/nepce", "4/constant")],
        power: true,
        energy: true,
        least: Digit("87"),
        greatest: Some(Within("92", 1.0, RATIO)),
    },
    Reductions {
        id: "text/7",
        place: "Sec. 5.2",
        case: "R2 linear, ECCO with NEPCE: errors are reduced by 97 to 98 %",
        rows: &[("7/nepce", "5/constant")],
        power: true,
        energy: true,
        least: Deviates("97", 95.6, 0.01, ECCO_R2),
        greatest: Some(Deviates("98", 98.56, 0.002, TABLE_7)),
    },
    Reductions {
        id: "text/6-7/mod",
        place: "Sec. 5.2",
        case: "linear, ECCO with NEPCE: the modification reduces the error of the power by another 26 to 36 %",
        rows: &[("6/nepce-mod", "6/nepce"), ("7/nepce-mod", "7/nepce")],
        power: true,
        energy: false,
        least: Deviates("26", 19.8, 0.05, MODIFIED),
        greatest: Some(Deviates("36", 48.0, 0.15, ECCO_R2)),
    },
    Reductions {
        id: "text/6-7/all",
        place: "Sec. 5.2",
        case: "linear, ECCO with modified NEPCE: errors are reduced by between 87 and 98 %",
        rows: &[("6/nepce-mod", "4/constant"), ("7/nepce-mod", "5/constant")],
        power: true,
        energy: true,
        least: Digit("87"),
        greatest: Some(Deviates("98", 98.67, 0.002, TABLE_7)),
    },
    Reductions {
        id: "text/8-9/nepce",
        place: "Sec. 5.3",
        case: "nonlinear, NEPCE: errors are reduced by 32 to 60 %",
        rows: &[("8/nepce", "8/constant"), ("9/nepce", "9/constant")],
        power: true,
        energy: true,
        least: Digit("32"),
        greatest: Some(Digit("60")),
    },
    Reductions {
        id: "text/8-9/ecco",
        place: "Sec. 5.3",
        case: "nonlinear, ECCO with NEPCE: errors are reduced by 79 to 91 %",
        rows: &[("8/ecco-nepce", "8/constant"), ("9/ecco-nepce", "9/constant")],
        power: true,
        energy: true,
        least: Digit("79"),
        greatest: Some(Digit("91")),
    },
    Reductions {
        id: "text/8-9/mod",
        place: "Sec. 5.3",
        case: "nonlinear, ECCO with NEPCE: the modification reduces errors by another 0 to 19 %",
        rows: &[("8/ecco-nepce-mod", "8/ecco-nepce"), ("9/ecco-nepce-mod", "9/ecco-nepce")],
        power: true,
        energy: true,
        least: Within("0", 1.0, RATIO),
        greatest: Some(Deviates("19", 24.2, 0.05, MODIFIED)),
    },
];
const MODIFIED: &str = "a ratio of two small errors, of which the paper prints one or two digits";

/// All rows of the suite.
pub fn rows() -> Vec<Plan> {
    let table = TABLE.iter().map(|r| Plan {
        id: r.id.to_owned(),
        case: describe(r),
        measure: Box::new(|models| table_row(models, r)),
    });
    let text = TEXT.iter().map(|text| Plan {
        id: text.id.to_owned(),
        case: text.case.to_owned(),
        measure: Box::new(|models| text.judge(|id| measure_row(models, id))),
    });
    let energy = Plan {
        id: "text/4-7/energy".to_owned(),
        case: "linear: the modification leaves the residual energy as it is".to_owned(),
        measure: Box::new(unaffected),
    };
    let gain = Plan {
        id: "text/gain".to_owned(),
        case: "ECCO with NEPCE and kI = 0.3/(m+3), ε in the mean as before: little to no dependence"
            .to_owned(),
        measure: Box::new(other_gain),
    };
    let micro = Plan {
        id: "text/micro".to_owned(),
        case: "constant 1 ms with 1024 instead of 256 micro steps: only marginal effects".to_owned(),
        measure: Box::new(finer_micro_steps),
    };
    let alpha = Plan {
        id: "9/alpha".to_owned(),
        case: "R2 nonlinear, constant 1 ms, NEPCE α = 0.375, which rounds to 0.4".to_owned(),
        measure: Box::new(other_alpha),
    };
    table.chain([alpha]).chain(text).chain([energy, gain, micro]).collect()
}

fn find(id: &str) -> Result<&'static TableRow, Error> {
    TABLE.iter().find(|r| r.id == id).ok_or_else(|| Error::input(None, format!("no row `{id}`")))
}

/// What of Table 9 does not come out with α = 0.4.
fn other_alpha(models: &Models) -> Result<Vec<Quantity>, Error> {
    let at = |id: &str| {
        let row = TableRow { alpha: 0.375, ..*find(id)? };
        row.measure(models, row.tolerance)
    };
    let (constant, plain, modified) =
        (measure_row(models, "9/constant")?, at("9/nepce")?, at("9/nepce-mod")?);
    let digit = |name: &str, unit, printed: &str, measured: f64| {
        Quantity::digit(name, unit, "Table 9", printed, measured)
    };
    let without = "without the modification";
    Ok(vec![
        digit("dp", "W", "0.14e2", plain.dp).beside("without correction", constant.dp),
        digit("p12_mod", "W", "-3.78e2", modified.p12).beside(without, plain.p12),
        digit("dp_mod", "W", "0.12e2", modified.dp).beside(without, plain.dp),
        digit("de_mod", "J", "0.30e2", modified.de).beside(without, plain.de),
        Quantity::shown("reduction_of_de", "%", 100.0 * (1.0 - plain.de / constant.de)),
    ])
}

/// Footnote 5. In the mean a step stays as it is, so that `α_s ε^-kI = 1`: with another kI the same tolerance is another ε, and
/// with it other steps. The tolerance is chosen such that ε, and so the number of steps, is as before.
fn other_gain(models: &Models) -> Result<Vec<Quantity>, Error> {
    let (before, now) = (0.15, 0.1);
    let factor = 0.8f64.powf(1.0 / before - 1.0 / now);
    let mut list = Vec::new();
    for id in ["6/nepce", "7/nepce", "8/ecco-nepce", "9/ecco-nepce"] {
        let row = find(id)?;
        let base = row.measure(models, row.tolerance)?;
        let with = |tolerance: f64| {
            let (step, method) = row.method_with(tolerance, &format!("integral_gain = {now}, "));
            row.case().measure(models, step, &method)
        };
        let (same_error, same_tolerance) = (with(factor * row.tolerance)?, with(row.tolerance)?);
        for (name, of) in ERRORS {
            let (name, change) = (format!("{name}_{id}"), 100.0 * (of(&same_error) / of(&base) - 1.0));
            list.push(if id == "7/nepce" {
                Quantity::shown(&name, "%", change).because(ECCO_R2)
            } else {
                Quantity::range(&name, "%", Source::Claim("Sec. 4"), -10.0, 10.0, change)
                    .because("\"little to no dependence\": by a tenth at most")
            });
        }
        let more = 100.0 * (same_tolerance.steps / base.steps - 1.0);
        list.push(Quantity::shown(&format!("steps_at_the_same_tolerance_{id}"), "%", more));
    }
    Ok(list)
}

/// A number of a run.
type Number = fn(&Measured) -> f64;
/// What both papers call errors.
const ERRORS: [(&str, Number); 2] = [("dp", |m| m.dp), ("de", |m| m.de)];

/// Footnote 8.
fn finer_micro_steps(models: &Models) -> Result<Vec<Quantity>, Error> {
    let mut list = Vec::new();
    for id in ["4/constant", "5/constant", "8/constant", "9/constant"] {
        let row = find(id)?;
        let finer = Case::new(row.split, row.nonlinear, 4 * MICRO_STEPS);
        let (coarse, fine) = (row.measure(models, 0.0)?, finer.measure(models, 1e-3, "")?);
        for (name, of) in ERRORS {
            let (name, change) = (format!("{name}_{id}"), 100.0 * (of(&fine) / of(&coarse) - 1.0));
            let claim = Quantity::range(&name, "%", Source::Claim("Sec. 5"), -5.0, 5.0, change);
            list.push(claim.because("\"only marginally\": by a twentieth at most"));
        }
    }
    Ok(list)
}

/// "Does not significantly influence", "almost unaffected" (Sec. 5.1 and 5.2): each pair is a claim of its own.
fn unaffected(models: &Models) -> Result<Vec<Quantity>, Error> {
    let mut list = Vec::new();
    for (id, place) in
        [("4/nepce", "Sec. 5.1"), ("5/nepce", "Sec. 5.1"), ("6/nepce", "Sec. 5.2"), ("7/nepce", "Sec. 5.2")]
    {
        let (plain, modified) = (measure_row(models, id)?, measure_row(models, &format!("{id}-mod"))?);
        let change = 100.0 * (modified.de / plain.de - 1.0);
        let claim = Quantity::range(id, "%", Source::Claim(place), -10.0, 10.0, change);
        list.push(claim.because("\"not significantly\": by a tenth at most"));
    }
    Ok(list)
}

fn measure_row(models: &Models, id: &str) -> Result<Measured, Error> {
    let row = find(id)?;
    row.measure(models, row.tolerance)
}

fn describe(r: &TableRow) -> String {
    let mut text = format!("{:?} {}", r.split, if r.nonlinear { "nonlinear" } else { "linear" });
    text += &if r.tolerance > 0.0 {
        format!(", ECCO r = {:e}", r.tolerance)
    } else {
        ", constant 1 ms".to_owned()
    };
    if r.alpha > 0.0 {
        text += &format!(", NEPCE α = {}", r.alpha);
    }
    if r.modified {
        text += " with feed-through";
    }
    text
}

impl TableRow {
    fn case(&self) -> Case {
        Case::new(self.split, self.nonlinear, MICRO_STEPS)
    }

    /// The first step and the method. The tables want the residual with corrected inputs, the error of the step before, and
    /// the step ratio h/h_last.
    fn method(&self, tolerance: f64) -> (f64, String) {
        self.method_with(tolerance, "")
    }

    /// The same with `more` knobs of the controller.
    fn method_with(&self, tolerance: f64, more: &str) -> (f64, String) {
        let mut method = String::new();
        if self.alpha > 0.0 {
            let feed_through = if self.modified { "model" } else { "none" };
            method += &format!(
                "correction = {{ kind = \"nepce\", alpha = {}, feed_through = \"{feed_through}\", step_ratio = \"growth\" }}\n",
                self.alpha
            );
        }
        if self.tolerance == 0.0 {
            return (1e-3, method);
        }
        let max_step = if self.split == R2 && self.nonlinear { 2.5e-3 } else { 1e-2 };
        method += &format!(
            "estimator = {{ kind = \"energy\", tolerance = {:e}, energy_scale = 750, residual = \"corrected\" }}\n\
             controller = {{ kind = \"i\", {more}safety = 0.8, min_step = 1e-5, max_step = {max_step}, min_rate = 0.2, max_rate = 1.5, \
             age = \"previous\", at_rest = \"grow\" }}",
            tolerance
        );
        (1e-5, method)
    }

    /// With `tolerance` instead of the printed one.
    fn measure(&self, models: &Models, tolerance: f64) -> Result<Measured, Error> {
        let (step, method) = self.method(tolerance);
        self.case().measure(models, step, &method)
    }

    /// Where it is printed.
    fn place(&self) -> &'static str {
        let tables = ["Table 4", "Table 5", "Table 6", "Table 7", "Table 8", "Table 9"];
        tables.into_iter().find(|t| self.id.as_bytes()[0] == t.as_bytes()[6]).unwrap_or_default()
    }

    /// The same without the modification, the control or the correction that it adds; none where it adds nothing.
    fn simpler(&self) -> Option<(&'static str, TableRow)> {
        if self.modified {
            Some(("without the modification", TableRow { modified: false, ..*self }))
        } else if self.tolerance > 0.0 {
            Some(("constant step", TableRow { tolerance: 0.0, ..*self }))
        } else if self.alpha > 0.0 {
            Some(("without correction", TableRow { alpha: 0.0, ..*self }))
        } else {
            None
        }
    }
}

fn table_row(models: &Models, r: &TableRow) -> Result<Vec<Quantity>, Error> {
    let (m, place) = (r.measure(models, r.tolerance)?, r.place());
    let moved = if r.tolerance > 0.0 {
        Moved::by_rounding(r.tolerance, &m, |tolerance| r.measure(models, tolerance))?
    } else {
        Moved::default()
    };
    let [p12, dp, de] = r.numbers;
    let mut list = vec![
        p12.judge_moved("p12", "W", place, m.p12, moved.p12),
        dp.judge_moved("dp", "W", place, m.dp, moved.dp),
        de.judge_moved("de", "J", place, m.de, moved.de),
    ];
    if let Some((what, simpler)) = r.simpler() {
        let plain = simpler.measure(models, simpler.tolerance)?;
        let beside = [plain.p12, plain.dp, plain.de];
        list = list.into_iter().zip(beside).map(|(q, x)| q.beside(what, x)).collect();
    }
    list.push(match r.steps {
        Some(rule) => rule.judge_moved("steps", "", place, m.steps, moved.steps),
        None => Quantity::shown("steps", "", m.steps),
    });
    list.push(Quantity::shown("mean_step", "ms", m.mean_step));
    Ok(list)
}
