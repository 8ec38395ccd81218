//! sadjina2020: tables 4 to 9, NEPCE alone and with ECCO.

use crate::quarter_car::{Case, POWER, Rule, SMALL, STEPS, Split};
use crate::{Models, Plan, Quantity};
use Rule::{Band, Digit, Known};
use Split::{R1, R2};
use powerbond::Error;

const MICRO_STEPS: u32 = 256;

/// A row: α (0: no correction), with the feed-through modification, tolerance (0: constant step).
struct TableRow {
    id: &'static str,
    split: Split,
    nonlinear: bool,
    alpha: f64,
    modified: bool,
    tolerance: f64,
    steps: &'static str,
    numbers: [Rule; 3],
}

const fn row(
    id: &'static str,
    (split, nonlinear): (Split, bool),
    (alpha, modified, tolerance): (f64, bool, f64),
    steps: &'static str,
    numbers: [Rule; 3],
) -> TableRow {
    TableRow { id, split, nonlinear, alpha, modified, tolerance, steps, numbers }
}

/// Tables of reticulation 2 are printed in 10² W and 10² J, hence `e2`.
const TABLE: &[TableRow] = &[
    row("4/constant", (R1, false), (0.0, false, 0.0), "4000", [Digit("0.4"), Digit("1.0"), Digit("6.3")]),
    row("4/nepce", (R1, false), (0.95, false, 0.0), "4000", [Digit("0.01"), Known("0.14"), Digit("3.20")]),
    row("4/nepce-mod", (R1, false), (0.95, true, 0.0), "4000", [Digit("0.01"), Known("0.11"), Digit("3.20")]),
    row(
        "5/constant",
        (R2, false),
        (0.0, false, 0.0),
        "4000",
        [Digit("-1.89e2"), Digit("0.10e2"), Digit("0.22e2")],
    ),
    row(
        "5/nepce",
        (R2, false),
        (0.85, false, 0.0),
        "4000",
        [Digit("-1.88e2"), Digit("0.04e2"), Digit("0.11e2")],
    ),
    row(
        "5/nepce-mod",
        (R2, false),
        (0.85, true, 0.0),
        "4000",
        [Digit("-1.88e2"), Digit("0.03e2"), Digit("0.10e2")],
    ),
    row(
        "6/nepce",
        (R1, false),
        (0.95, false, 1.6e-6),
        "3930",
        [Band("-0.05", SMALL), Band("0.08", SMALL), Band("0.83", SMALL)],
    ),
    row(
        "6/nepce-mod",
        (R1, false),
        (0.95, true, 1.6e-6),
        "4002",
        [Band("-0.04", SMALL), Band("0.06", SMALL), Band("0.81", SMALL)],
    ),
    row(
        "7/nepce",
        (R2, false),
        (0.85, false, 1.4e-6),
        "3921",
        [Band("-1.872e2", POWER), Known("0.003e2"), Band("0.004e2", SMALL)],
    ),
    row(
        "7/nepce-mod",
        (R2, false),
        (0.85, true, 1.4e-6),
        "3958",
        [Band("-1.871e2", POWER), Band("0.002e2", SMALL), Band("0.004e2", SMALL)],
    ),
    row("8/constant", (R1, true), (0.0, false, 0.0), "2000", [Digit("0.6"), Digit("1.3"), Digit("4.7")]),
    row("8/nepce", (R1, true), (0.6, false, 0.0), "2000", [Digit("0.1"), Digit("0.5"), Digit("2.9")]),
    row("8/nepce-mod", (R1, true), (0.6, true, 0.0), "2000", [Digit("0.1"), Digit("0.5"), Digit("2.9")]),
    row(
        "8/ecco-nepce",
        (R1, true),
        (0.6, false, 4.7e-6),
        "1991",
        [Digit("-0.1"), Digit("0.2"), Digit("1.0")],
    ),
    row(
        "8/ecco-nepce-mod",
        (R1, true),
        (0.6, true, 4.6e-6),
        "2010",
        [Digit("-0.1"), Digit("0.2"), Digit("1.0")],
    ),
    row(
        "9/constant",
        (R2, true),
        (0.0, false, 0.0),
        "2000",
        [Digit("-3.8e2"), Digit("0.2e2"), Digit("0.4e2")],
    ),
    row(
        "9/nepce",
        (R2, true),
        (0.4, false, 0.0),
        "2000",
        [Band("-3.78e2", POWER), Band("0.14e2", SMALL), Band("0.30e2", SMALL)],
    ),
    row(
        "9/nepce-mod",
        (R2, true),
        (0.4, true, 0.0),
        "2000",
        [Band("-3.78e2", POWER), Band("0.12e2", SMALL), Band("0.30e2", SMALL)],
    ),
    row(
        "9/ecco-nepce",
        (R2, true),
        (0.4, false, 2.6e-5),
        "1986",
        [Digit("-3.77e2"), Digit("0.04e2"), Digit("0.04e2")],
    ),
    row(
        "9/ecco-nepce-mod",
        (R2, true),
        (0.4, true, 2.7e-5),
        "1989",
        [Band("-3.77e2", POWER), Digit("0.03e2"), Digit("0.04e2")],
    ),
];

/// All rows of the suite.
pub fn rows() -> Vec<Plan> {
    TABLE
        .iter()
        .map(|r| Plan {
            id: r.id.to_owned(),
            case: describe(r),
            measure: Box::new(|models| table_row(models, r)),
        })
        .collect()
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

/// The tables want the residual with corrected inputs, the error of the step before, and the step ratio h/h_last.
fn table_row(models: &Models, r: &TableRow) -> Result<Vec<Quantity>, Error> {
    let case = Case::new(r.split, r.nonlinear, MICRO_STEPS);
    let mut method = String::new();
    if r.alpha > 0.0 {
        let feed_through = if r.modified { "model" } else { "none" };
        method += &format!(
            "correction = {{ kind = \"nepce\", alpha = {}, feed_through = \"{feed_through}\", step_ratio = \"growth\" }}\n",
            r.alpha
        );
    }
    let adaptive = r.tolerance > 0.0;
    if adaptive {
        let max_step = if r.split == R2 && r.nonlinear { 2.5e-3 } else { 1e-2 };
        method += &format!(
            "estimator = {{ kind = \"energy\", tolerance = {:e}, energy_scale = 750, residual = \"corrected\" }}\n\
             controller = {{ kind = \"i\", safety = 0.8, min_step = 1e-5, max_step = {max_step}, min_rate = 0.2, max_rate = 1.5, \
             age = \"previous\", at_rest = \"grow\" }}",
            r.tolerance
        );
    }
    let m = case.measure(models, if adaptive { 1e-5 } else { 1e-3 }, &method)?;
    let steps = if adaptive { Band(r.steps, STEPS) } else { Digit(r.steps) }.judge("steps", "", m.steps);
    let expected = 1e3 * case.stop / r.steps.parse::<f64>().unwrap_or(f64::NAN);
    let width = expected * if adaptive { STEPS / (1.0 - STEPS) } else { 1e-9 };
    let mean_step =
        Quantity::range("mean_step", "ms", "formula", expected - width, expected + width, m.mean_step);
    let [p12, dp, de] = r.numbers;
    Ok(vec![
        steps,
        mean_step,
        p12.judge("p12", "W", m.p12),
        dp.judge("dp", "W", m.dp),
        de.judge("de", "J", m.de),
    ])
}
