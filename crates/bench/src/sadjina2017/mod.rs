//! sadjina2017: tables III and V to XII, what the text says of them, both stability limits, and figure 4.

mod figures;
mod plain;

pub use figures::FIGURES;

use crate::quarter_car::{
    CONTROL, Case, ERROR, Measured, Moved, POWER, Reductions, Rule, Split, energy, reference,
};
use crate::{Models, Plan, Quantity, Source};
use Rule::{Deviates, Digit, Rounded, Unit, Within};
use powerbond::Error;

const MICRO_STEPS: u32 = 10;

/// A row: id, quarter car, method, printed mean step in ms, P12, ΔP, ΔE.
#[derive(Clone, Copy)]
struct TableRow {
    id: &'static str,
    split: Split,
    nonlinear: bool,
    method: Method,
    mean_step: &'static str,
    p12: Rule,
    dp: Rule,
    de: Rule,
}

#[derive(Clone, Copy)]
enum Method {
    Constant,
    Ecco(f64),
    Predictor(f64),
}

const fn row(
    id: &'static str,
    split: Split,
    nonlinear: bool,
    method: Method,
    mean_step: &'static str,
    [p12, dp, de]: [Rule; 3],
) -> TableRow {
    TableRow { id, split, nonlinear, method, mean_step, p12, dp, de }
}

use Method::{Constant, Ecco, Predictor};
use Split::{R1, R2};

/// Tables of reticulation 2 are printed in 10² W and 10² J, hence `e2`.
const TABLE: &[TableRow] = &[
    row("III/constant", R1, false, Constant, "1.0", [Digit("0.4"), Digit("1.3"), Digit("6.4")]),
    row("III/2.8e-6", R1, false, Ecco(2.8e-6), "1.0", [Digit("0.0"), Digit("0.4"), Digit("1.6")]),
    row("III/3.1e-5", R1, false, Ecco(3.1e-5), "2.9", [Digit("0.1"), Digit("1.3"), Digit("5.0")]),
    row("V/constant", R1, true, Constant, "1.0", [Digit("1"), Digit("4"), Digit("5")]),
    row("V/7.5e-6", R1, true, Ecco(7.5e-6), "1.0", [Digit("0.0"), Digit("1.1"), Digit("1.6")]),
    row("V/1.0e-4", R1, true, Ecco(1.0e-4), "3.1", [Digit("0"), Digit("4"), Digit("6")]),
    row("VI/constant", R2, false, Constant, "1.0", [Digit("-1.92e2"), Digit("0.12e2"), Digit("0.23e2")]),
    row(
        "VI/9.1e-7",
        R2,
        false,
        Ecco(9.1e-7),
        "1.0",
        [Rounded("-1.879e2", POWER), Deviates("0.013e2", 1.201, 0.02, CONTROL), Digit("0.016e2")],
    ),
    row("VII/constant", R2, true, Constant, "1.0", [Digit("-3.9e2"), Digit("0.3e2"), Digit("0.5e2")]),
    row("VII/2.4e-5", R2, true, Ecco(2.4e-5), "1.0", [Digit("-3.77e2"), Digit("0.05e2"), Digit("0.05e2")]),
    row("VIII/constant", R2, false, Constant, "1.0", [Digit("-2.2e2"), Digit("0.4e2"), Digit("0.3e2")]),
    row(
        "VIII/1.0e-6",
        R2,
        false,
        Ecco(1.0e-6),
        "1.0",
        [Digit("-1.90e2"), Rounded("0.04e2", ERROR), Digit("0.02e2")],
    ),
    row(
        "IX/0.67",
        R1,
        false,
        Predictor(0.67),
        "1.0",
        [Rounded("0.3", ERROR), Rounded("0.7", ERROR), Rounded("2.9", ERROR)],
    ),
    row(
        "X/2.1",
        R1,
        true,
        Predictor(2.1),
        "1.0",
        [Rounded("0.4", ERROR), Rounded("1.9", ERROR), Rounded("3.1", ERROR)],
    ),
    row(
        "XI/0.60",
        R2,
        false,
        Predictor(0.60),
        "1.0",
        [Rounded("-1.877e2", POWER), Rounded("0.013e2", ERROR), Rounded("0.017e2", ERROR)],
    ),
    row(
        "XII/6.5",
        R2,
        true,
        Predictor(6.5),
        "1.0",
        [Rounded("-3.92e2", POWER), Rounded("0.18e2", ERROR), Rounded("0.21e2", ERROR)],
    ),
];

/// What the text says of the tables.
const TEXT: &[Reductions] = &[
    Reductions {
        id: "text/III/power",
        place: "Sec. IV A",
        case: "linear, ECCO: the error of the power is reduced by 70 %",
        rows: &[("III/2.8e-6", "III/constant")],
        power: true,
        energy: false,
        least: Within("70", 5.0, TENS),
        greatest: None,
    },
    Reductions {
        id: "text/III/energy",
        place: "Sec. IV A",
        case: "linear, ECCO: 25 % of the residual energy are left",
        rows: &[("III/2.8e-6", "III/constant")],
        power: false,
        energy: true,
        least: Digit("75"),
        greatest: None,
    },
    Reductions {
        id: "text/V",
        place: "Sec. IV B",
        case: "nonlinear, ECCO: both errors are reduced by 70 %",
        rows: &[("V/7.5e-6", "V/constant")],
        power: true,
        energy: true,
        least: Within("70", 5.0, TENS),
        greatest: None,
    },
    Reductions {
        id: "text/VI-VII",
        place: "Sec. IV C",
        case: "R2, ECCO: errors are reduced by between 80 and 93 %",
        rows: &[("VI/9.1e-7", "VI/constant"), ("VII/2.4e-5", "VII/constant")],
        power: true,
        energy: true,
        least: Within("80", 5.0, TENS),
        greatest: Some(Digit("93")),
    },
    Reductions {
        id: "text/VIII",
        place: "Sec. IV C",
        case: "R2 with one micro step in the wheel, ECCO: the residual energy is reduced by 90 %",
        rows: &[("VIII/1.0e-6", "VIII/constant")],
        power: false,
        energy: true,
        least: Within("90", 5.0, TENS),
        greatest: None,
    },
    Reductions {
        id: "text/IX-X",
        place: "Sec. V",
        case: "R1, predictor/corrector: errors are reduced by 40 to 55 %",
        rows: &[("IX/0.67", "III/constant"), ("X/2.1", "V/constant")],
        power: true,
        energy: true,
        least: Deviates(
            "40",
            30.66,
            0.12,
            "a chaotic run: the residual energy of the nonlinear car is reduced less; `stays` as `moved` of X/2.1 moves it",
        ),
        greatest: Some(Within("55", 5.0, MOVED)),
    },
    Reductions {
        id: "text/XI-XII",
        place: "Sec. V",
        case: "R2, predictor/corrector: errors are reduced by between 40 and 93 %",
        rows: &[("XI/0.60", "VI/constant"), ("XII/6.5", "VII/constant")],
        power: true,
        energy: true,
        least: Within("40", 5.0, TENS),
        greatest: Some(Within("93", 1.0, MOVED)),
    },
];

/// Numbers of the text that end with a zero.
const TENS: &str = "printed as a round number: to half of ten";
/// Reductions by runs that are chaotic.
const MOVED: &str = "a chaotic run: as much as `moved` of the row moves it";

/// Largest stable steps that the text prints.
const STABILITY: [(Split, Rule); 2] = [
    (R1, Unit("58.5", "the text says \"around\": a unit of the last digit")),
    (R2, Unit("11.3", "the text says \"around\": a unit of the last digit")),
];

fn find(id: &str) -> Option<&'static TableRow> {
    TABLE.iter().find(|r| r.id == id)
}

fn measure_row(models: &Models, id: &str) -> Result<Measured, Error> {
    match find(id) {
        Some(row) => row.measure(models, 1.0),
        None => Err(Error::input(None, format!("no row `{id}`"))),
    }
}

/// All rows of the suite.
pub fn rows() -> Vec<Plan> {
    let mut plans: Vec<Plan> = TABLE
        .iter()
        .map(|r| Plan {
            id: r.id.to_owned(),
            case: describe(r),
            measure: Box::new(|models| table_row(models, r)),
        })
        .collect();
    for text in TEXT {
        plans.push(Plan {
            id: text.id.to_owned(),
            case: text.case.to_owned(),
            measure: Box::new(|models| text.judge(|id| measure_row(models, id))),
        });
    }
    for (id, constant, place) in
        [("III/3.1e-5", "III/constant", "Sec. IV A"), ("V/1.0e-4", "V/constant", "Sec. IV B")]
    {
        plans.push(Plan {
            id: format!("text/{}/steps", id.split('/').next().unwrap_or(id)),
            case: "ECCO with the error of a constant step needs about 1/3 of its steps".to_owned(),
            measure: Box::new(move |models| {
                let share = measure_row(models, id)?.steps / measure_row(models, constant)?.steps;
                let rule = Within("0.333", 0.017, "the text says \"about\": to a twentieth of it");
                Ok(vec![rule.judge("share_of_steps", "", place, share).published("1/3")])
            }),
        });
    }
    for (split, rule) in STABILITY {
        plans.push(Plan {
            id: format!("stability/{split:?}"),
            case: format!("{split:?} linear: largest stable constant step"),
            measure: Box::new(move |models| {
                Ok(vec![rule.judge("limit", "ms", "Sec. IV C", 1e3 * stability_limit(models, split)?)])
            }),
        });
    }
    plans.push(Plan {
        id: "text/ECCO".to_owned(),
        case: "ECCO reduces residual energies more than the predictor/corrector, but for R2 linear"
            .to_owned(),
        measure: Box::new(against_predictor),
    });
    plans.push(Plan {
        id: "text/VIII/nonlinear".to_owned(),
        case: "R2 nonlinear with one micro step in the wheel, ECCO r = 2.4e-5: the situation is similar"
            .to_owned(),
        measure: Box::new(low_accuracy),
    });
    plans.push(Plan {
        id: "text/oscillatory".to_owned(),
        case: "step sizes oscillate with the predictor/corrector, and do not with ECCO".to_owned(),
        measure: Box::new(|models| {
            let ecco = turns(models, "III/2.8e-6")?;
            let found = turns(models, "IX/0.67")?;
            let claim = Quantity::at_least("turns", "%", Source::Claim("Sec. V"), 25.0, found);
            let why = "\"highly oscillatory\": the step size turns back in at least a quarter of the steps";
            Ok(vec![claim.because(why).beside("ECCO", ecco)])
        }),
    });
    plans.push(Plan {
        id: "text/scaling".to_owned(),
        case:
            "R2 nonlinear, predictor/corrector with a tolerance of its own for the velocity: higher accuracy"
                .to_owned(),
        measure: Box::new(scaled),
    });
    plans.push(Plan {
        id: "text/energy".to_owned(),
        case: "linear: the energy that is in the tyre at first is dissipated in the end".to_owned(),
        measure: Box::new(|_| {
            let mut car = reference(false);
            let stored = energy(&car);
            car.advance_to(Case::new(R1, false, MICRO_STEPS).stop);
            Ok(vec![Quantity::digit("dissipated", "J", "Sec. IV", "750", stored - energy(&car))])
        }),
    });
    plans.push(Plan {
        id: "fig7".to_owned(),
        case: "R1 linear, constant 1 ms: energy goes from S2 to S1 first".to_owned(),
        measure: Box::new(|models| {
            let run = Case::new(R1, false, MICRO_STEPS).trace(models, 1e-3, "")?;
            let power: Vec<f64> = run.power.into_iter().skip_while(|p| *p == 0.0).collect();
            let first = power.iter().take_while(|p| p.signum() == power[0].signum());
            let energy = 1e-3 * first.sum::<f64>();
            Ok(vec![Quantity::at_most("first_to_S2", "J", Source::Claim("Sec. IV"), 0.0, energy)])
        }),
    });
    plans.push(Plan {
        id: "fig9".to_owned(),
        case: "nonlinear: both masses return to their equilibrium much faster".to_owned(),
        measure: Box::new(|_| {
            let (linear, nonlinear) = (settled(false), settled(true));
            let claim = Source::Claim("Sec. IV B");
            Ok(vec![
                Quantity::at_most("time_of_linear", "", claim, 0.5, nonlinear / linear).because(
                    "\"much faster\": in half the time, until both are within 5 % of the road's step",
                ),
                Quantity::shown("settled", "s", nonlinear),
                Quantity::shown("settled_linear", "s", linear),
            ])
        }),
    });
    plans.push(Plan {
        id: "fig4/order".to_owned(),
        case: "R1 linear: error of the power and its estimate shrink with the step".to_owned(),
        measure: Box::new(|models| {
            let at = |step| Case::new(R1, false, MICRO_STEPS).measure(models, step, "");
            let (double, single) = (at(2e-4)?, at(1e-4)?);
            let slope = |name: &str, of: fn(&Measured) -> f64| {
                let slope = (of(&double) / of(&single)).log2();
                Quantity::near(name, "", Source::Formula("Sec. III B, m = 0"), 1.0, 0.05, slope)
                    .because("the formula holds for Δt → 0; at 0.1 ms the next order is still seen")
            };
            Ok(vec![slope("error", |m| m.dp), slope("estimate", |m| m.error_bar)])
        }),
    });
    for &(id, step) in FIGURE_4 {
        plans.push(Plan {
            id: format!("fig4/{id}"),
            case: format!("R1 linear, {id} ms: error bar of the power over its true error"),
            measure: Box::new(move |models| {
                let m = Case::new(R1, false, MICRO_STEPS).measure(models, step, "")?;
                let ratio = m.error_bar / m.dp;
                let looped = plain::estimate_over_error(step, MICRO_STEPS);
                Ok(vec![
                    Quantity::range("ratio", "", Source::Claim("Fig. 4"), 0.5, 2.0, ratio)
                        .because("an \"estimate\" of the error: within a factor of two"),
                    Quantity::near("value", "", Source::WrittenOut, looped, 1e-6, ratio)
                        .because("to 10⁻⁶: the same scheme by other code, in another order of operations"),
                ])
            }),
        });
    }
    plans
}

/// Step in ms and in s. The figure has curves, no numbers.
const FIGURE_4: &[(&str, f64)] =
    &[("0.1", 1e-4), ("1", 1e-3), ("10", 1e-2), ("20", 2e-2), ("30", 3e-2), ("50", 5e-2)];

/// "Generally leads to a more substantial reduction in the energy errors", and for R2 linear both are as good.
fn against_predictor(models: &Models) -> Result<Vec<Quantity>, Error> {
    let pairs = [
        ("R1_linear", "III/2.8e-6", "IX/0.67"),
        ("R1_nonlinear", "V/7.5e-6", "X/2.1"),
        ("R2_nonlinear", "VII/2.4e-5", "XII/6.5"),
    ];
    let mut list = Vec::new();
    for (name, ecco, predictor) in pairs {
        let share = measure_row(models, ecco)?.de / measure_row(models, predictor)?.de;
        let claim = Quantity::at_most(name, "", Source::Claim("Sec. V"), 0.9, share);
        list.push(claim.because("\"more substantial\": what ECCO leaves is smaller by a tenth at least"));
    }
    let both = measure_row(models, "VI/9.1e-7")?.de / measure_row(models, "XI/0.60")?.de;
    let claim = Quantity::range("R2_linear", "", Source::Claim("Sec. V"), 0.5, 2.0, both);
    list.push(claim.because("\"both achieve relatively very high accuracies\": within a factor of two"));
    Ok(list)
}

/// When chassis and wheel are within 5 mm of the road for good, in s.
fn settled(nonlinear: bool) -> f64 {
    let (mut car, mut settled) = (reference(nonlinear), f64::NAN);
    for t in (1..=6000).map(|k| 1e-3 * f64::from(k)) {
        car.advance_to(t);
        if car.positions().iter().any(|z| (z - 0.1).abs() > 5e-3) {
            settled = t;
        }
    }
    settled
}

/// Outputs of other sizes with tolerances of their own; the paper prints none. With one for both the velocity counts for nothing.
fn scaled(models: &Models) -> Result<Vec<Quantity>, Error> {
    let row = find("XII/6.5").ok_or_else(|| Error::input(None, "no row `XII/6.5`"))?;
    let common = row.measure(models, 1.0)?;
    let tolerances = "{ \"chassis.suspension_force\" = 10, \"wheel.velocity\" = 1e-3 }";
    let own = row.case().measure(models, 1e-4, &predictor(tolerances))?;
    let left = |name: &str, share: f64| {
        Quantity::at_most(name, "", Source::Claim("Sec. V"), 0.9, share)
            .because("\"higher accuracies\": smaller by a tenth at least")
            .beside("one tolerance", 1.0)
    };
    Ok(vec![
        left("dp_left", own.dp / common.dp),
        left("de_left", own.de / common.de),
        Quantity::at_most("steps_left", "", Source::Claim("Sec. V"), 1.0, own.steps / common.steps),
    ])
}

/// Table VIII with the nonlinear damper; its tolerance is not printed, that of Table VII is taken.
fn low_accuracy(models: &Models) -> Result<Vec<Quantity>, Error> {
    let mut row = *find("VII/2.4e-5").ok_or_else(|| Error::input(None, "no row `VII/2.4e-5`"))?;
    let at = |row: &TableRow| {
        let case = Case { wheel_micro_steps: 1, ..row.case() };
        let (step, method) = row.method(1.0);
        case.measure(models, step, &method)
    };
    let with = at(&row)?;
    row.method = Constant;
    let without = at(&row)?;
    Ok(vec![
        Quantity::at_least(
            "reduction",
            "%",
            Source::Claim("Sec. IV C"),
            80.0,
            100.0 * (1.0 - with.de / without.de),
        )
        .because("\"similar\" to 90 %: 80 % at least, as for R2 with ten micro steps"),
        Quantity::shown("mean_step", "ms", with.mean_step),
    ])
}

/// The share of steps after which the step size turns back, in %.
fn turns(models: &Models, id: &str) -> Result<f64, Error> {
    let row = find(id).ok_or_else(|| Error::input(None, format!("no row `{id}`")))?;
    let (step, method) = row.method(1.0);
    let t = row.case().trace(models, step, &method)?.t;
    let h: Vec<f64> = t.windows(2).map(|t| t[1] - t[0]).collect();
    let back = h.windows(3).filter(|h| (h[1] - h[0]) * (h[2] - h[1]) < 0.0).count();
    Ok(100.0 * back as f64 / h.len() as f64)
}

fn describe(r: &TableRow) -> String {
    let damper = if r.nonlinear { "nonlinear" } else { "linear" };
    let low = if r.id.starts_with("VIII") { ", one micro step in the wheel" } else { "" };
    match r.method {
        Constant => format!("{:?} {damper}, constant 1 ms{low}", r.split),
        Ecco(tolerance) => format!("{:?} {damper}, ECCO r = {tolerance:e}{low}", r.split),
        Predictor(tolerance) => format!("{:?} {damper}, predictor/corrector TOL = {tolerance}", r.split),
    }
}

/// Table I.
const CONTROLLER: &str = "controller = { kind = \"ecco\", safety = 0.8, min_step = 1e-4, max_step = 1e-2, min_rate = 0.2, max_rate = 1.5, error_floor = 0, at_rest = \"grow\" }";

/// The predictor/corrector with this tolerance, a number or a table.
fn predictor(tolerance: &str) -> String {
    format!("estimator = {{ kind = \"predictor\", tolerance = {tolerance}, rho = 1e-4 }}\n{CONTROLLER}")
}

impl TableRow {
    fn case(&self) -> Case {
        let mut case = Case::new(self.split, self.nonlinear, MICRO_STEPS);
        if self.id.starts_with("VIII") {
            case.wheel_micro_steps = 1;
        }
        case
    }

    /// The first step and the method, with `factor` times the printed tolerance.
    fn method(&self, factor: f64) -> (f64, String) {
        match self.method {
            Constant => (1e-3, String::new()),
            Ecco(tolerance) => (
                1e-4,
                format!(
                    "estimator = {{ kind = \"energy\", tolerance = {:e}, energy_scale = 750, residual = \"corrected\" }}\n{CONTROLLER}",
                    factor * tolerance
                ),
            ),
            Predictor(tolerance) => (1e-4, predictor(&format!("{:e}", factor * tolerance))),
        }
    }

    fn measure(&self, models: &Models, factor: f64) -> Result<Measured, Error> {
        let (step, method) = self.method(factor);
        self.case().measure(models, step, &method)
    }

    /// Where it is printed.
    fn place(&self) -> &'static str {
        PLACES.iter().find(|(table, _)| self.id.starts_with(table)).map_or("", |(_, place)| place)
    }
}

/// Tables by how ids begin.
const PLACES: [(&str, &str); 9] = [
    ("III/", "Table III"),
    ("V/", "Table V"),
    ("VI/", "Table VI"),
    ("VII/", "Table VII"),
    ("VIII/", "Table VIII"),
    ("IX/", "Table IX"),
    ("X/", "Table X"),
    ("XI/", "Table XI"),
    ("XII/", "Table XII"),
];

fn table_row(models: &Models, r: &TableRow) -> Result<Vec<Quantity>, Error> {
    let m = r.measure(models, 1.0)?;
    let place = r.place();
    let moved_by = match r.method {
        Constant => Moved::default(),
        Ecco(tolerance) | Predictor(tolerance) => {
            Moved::by_rounding(tolerance, &m, |other| r.measure(models, other / tolerance))?
        }
    };
    let mut list = vec![
        r.p12.judge_moved("p12", "W", place, m.p12, moved_by.p12),
        r.dp.judge_moved("dp", "W", place, m.dp, moved_by.dp),
        r.de.judge_moved("de", "J", place, m.de, moved_by.de),
    ];
    // A constant step is what it was told to be.
    let mean_step = if matches!(r.method, Constant) {
        Quantity::shown("mean_step", "ms", m.mean_step)
    } else {
        Digit(r.mean_step).judge("mean_step", "ms", place, m.mean_step)
    };
    if !matches!(r.method, Constant) {
        let plain = r.case().measure(models, 1e-3, "")?;
        let beside = [plain.p12, plain.dp, plain.de];
        list = list.into_iter().zip(beside).map(|(q, x)| q.beside("constant step", x)).collect();
    }
    list.push(mean_step);
    list.push(Quantity::shown("steps", "", m.steps));
    if matches!(r.method, Predictor(_)) {
        list.push(Quantity::shown("moved", "%", 100.0 * moved(models, r, &m)?));
    }
    Ok(list)
}

/// The largest share by which an error moves with the tolerance changed by up to 10 times its 10⁻¹² part.
fn moved(models: &Models, r: &TableRow, unmoved: &Measured) -> Result<f64, Error> {
    let mut worst = 0.0f64;
    for n in 1..=10 {
        let m = r.measure(models, 1.0 + 1e-12 * f64::from(n))?;
        worst = worst.max((m.dp / unmoved.dp - 1.0).abs()).max((m.de / unmoved.de - 1.0).abs());
    }
    Ok(worst)
}

/// The largest constant step with which the energy that crosses the bond dies out, in s, to 0.01 %.
fn stability_limit(models: &Models, split: Split) -> Result<f64, Error> {
    let (mut stable, mut unstable) = (1e-3, 0.2);
    while unstable - stable > 1e-4 * stable {
        let step = 0.5 * (stable + unstable);
        if dies_out(models, split, step)? {
            stable = step;
        } else {
            unstable = step;
        }
    }
    Ok(stable)
}

/// Runs long enough for a growth of 0.01 % per step to show, and compares the exchange of the last two quarters. What
/// has fallen to round-off has died out.
fn dies_out(models: &Models, split: Split, step: f64) -> Result<bool, Error> {
    let steps = 20_000.0;
    let case = Case { stop: steps * step, ..Case::new(split, false, MICRO_STEPS) };
    let mut assembled = models.assemble("quarter car", &case.file(step, ""))?;
    let mut quarters = Quarters { length: steps * step / 4.0, exchanged: [0.0; 5] };
    match assembled.run(&mut quarters) {
        Ok(_) => {
            let [first, _, third, fourth, _] = quarters.exchanged;
            Ok(fourth <= third || fourth <= 1e-20 * first)
        }
        // A runaway and values beyond the range of numbers are growth, too.
        Err(Error::Model(_) | Error::Accuracy(_)) => Ok(false),
        Err(other) => Err(other),
    }
}

struct Quarters {
    length: f64,
    exchanged: [f64; 5],
}

impl powerbond::core::observe::Observer for Quarters {
    fn accepted(
        &mut self,
        step: &powerbond::core::step::StepView<'_>,
        _report: &powerbond::core::observe::StepReport<'_>,
    ) -> powerbond::core::observe::Flow {
        let quarter = (step.span.start / self.length) as usize;
        self.exchanged[quarter.min(4)] += step.flows[0].exchanged_power * step.span.h;
        powerbond::core::observe::Flow::Continue
    }
}
