//! rodriguez2022: figures 9 to 37, the rules for μ, and the energy errors of all oscillators.
//!
//! The figures print no numbers: what is expected here was measured by two prototypes that follow the paper's text.

use crate::force_displacement::Star;
use crate::{Check, Models, Plan, Quantity};
use powerbond::Error;
use powerbond::core::correction::mu_by_rule;
use powerbond::models::oscillator::{Case, DOUBLE, MULTIPLE, Reference};
use powerbond::models::{crane, nonlinear_oscillator, pendula};

/// What came of an oscillator of 10 s.
struct Swing {
    /// Mean mechanical energy of the last second over that of the reference.
    energy_ratio: f64,
    /// The largest error of the position of the mass that forces act on, in m.
    position_error: f64,
    /// By how much its motion lags behind in the last second, in ms.
    delay: f64,
    /// Mean δP, in W.
    mean_residual: f64,
    /// Slope of the energy error over Σ δE (least squares): the bounded energy error of symplectic Euler is not in it.
    mu_effective: f64,
}

/// With the energies, of which the figures are.
fn linear(case: &Case) -> Star {
    Star { record: &["*.energy"], ..Star::oscillator(case) }
}

fn nonlinear(case: &nonlinear_oscillator::Case) -> Star {
    Star { record: &["*.energy"], ..Star::nonlinear(case) }
}

/// δP = f_k v_{k+1} - f_{k+1} v_k: the paper's manager takes inputs as unchanged over a macro step (below eq. 9).
fn paper_residual([f_old, f_new]: [f64; 2], [v_old, v_new]: [f64; 2]) -> f64 {
    f_old * v_new - f_new * v_old
}

fn swing(models: &Models, star: &Star, mut reference: Reference, method: &str) -> Result<Swing, Error> {
    let (mut energy, mut exact, mut worst, mut residual, mut steps) = (0.0, 0.0, 0.0f64, 0.0, 0.0);
    let (mut created, mut line) = (0.0, Line::default());
    let (mut path, mut exact_path) = (Vec::new(), Vec::new());
    star.run(models, method, &["motion.position", "giver1.force", "motion.velocity"], |seen| {
        let span = seen.step.span;
        reference.advance_to(span.end);
        let position = seen.output(0);
        worst = worst.max((position - reference.positions()[1]).abs());
        path.push(position);
        exact_path.push(reference.positions()[1]);
        residual += seen.step.flows[0].residual_power;
        steps += 1.0;
        created += span.h
            * paper_residual(
                [seen.output_before(1), seen.output(1)],
                [seen.output_before(2), seen.output(2)],
            );
        let error = seen.sum("energy") - reference.energy();
        line.add(created, error);
        if span.start > star.stop - 1.0 - 1e-9 {
            energy += seen.sum("energy");
            exact += reference.energy();
        }
    })?;
    Ok(Swing {
        energy_ratio: energy / exact,
        position_error: worst,
        delay: 1e3 * star.step * delay(&path, &exact_path, (1.0 / star.step).round() as usize),
        mean_residual: residual / steps,
        mu_effective: line.slope(),
    })
}

/// A line through points by least squares.
#[derive(Default)]
struct Line {
    n: f64,
    x: f64,
    y: f64,
    xx: f64,
    xy: f64,
}

impl Line {
    fn add(&mut self, x: f64, y: f64) {
        self.n += 1.0;
        self.x += x;
        self.y += y;
        self.xx += x * x;
        self.xy += x * y;
    }

    fn slope(&self) -> f64 {
        (self.n * self.xy - self.x * self.y) / (self.n * self.xx - self.x * self.x)
    }
}

/// The shift, in samples, by which `path` lags behind `exact` in its last `window` samples (least squares, parabola).
fn delay(path: &[f64], exact: &[f64], window: usize) -> f64 {
    let n = path.len();
    let reach = 60.min(n - window);
    let misfit = |shift: i64| {
        let range = n - window..n - reach;
        range.map(|i| (path[i] - exact[(i as i64 - shift) as usize]).powi(2)).sum::<f64>()
    };
    let reach = reach as i64;
    let Some(best) = (-reach + 1..reach).min_by(|&a, &b| misfit(a).total_cmp(&misfit(b))) else {
        return f64::NAN;
    };
    let (left, middle, right) = (misfit(best - 1), misfit(best), misfit(best + 1));
    best as f64 + 0.5 * (left - right) / (left - 2.0 * middle + right)
}

fn correction(mu: f64, nu: f64, cap: &str) -> String {
    format!("correction = {{ kind = \"energy\", mu = {mu}, nu = {nu}, cap = {cap} }}")
}

/// Within `share` of what the prototypes measured.
fn near(name: &str, unit: &'static str, expected: f64, share: f64, measured: f64) -> Quantity {
    let width = (share * expected).abs();
    Quantity::range(name, unit, "prototype", expected - width, expected + width, measured)
}

fn plan(
    id: impl Into<String>,
    case: impl Into<String>,
    measure: impl Fn(&Models) -> Result<Vec<Quantity>, Error> + 'static,
) -> Plan {
    Plan { id: id.into(), case: case.into(), measure: Box::new(measure) }
}

/// All rows of the suite.
pub fn rows() -> Vec<Plan> {
    let mut plans = figures();
    plans.extend(rules());
    plans.extend(energy_errors());
    plans
}

fn run(models: &Models, case: &Case, method: &str) -> Result<Swing, Error> {
    swing(models, &linear(case), Reference::new(case), method)
}

/// Case 1 with the mass at 0.1 ms.
fn two_rates(models: &Models, method: &str) -> Result<Swing, Error> {
    swing(models, &Star { rates: (1, 10), ..linear(&DOUBLE[0]) }, Reference::new(&DOUBLE[0]), method)
}

fn figures() -> Vec<Plan> {
    let [case1, case2, ..] = &DOUBLE;
    let case7 = &DOUBLE[6];
    let [first, second] = &nonlinear_oscillator::CASES;
    let swing_nonlinear = |models: &Models, case: &nonlinear_oscillator::Case, method: &str| {
        swing(models, &nonlinear(case), case.reference(), method)
    };
    vec![
        plan("fig9", "case 1 uncorrected: energy grows", |models| {
            Ok(vec![near("energy_ratio", "", 1.939, 0.02, run(models, case1, "")?.energy_ratio)])
        }),
        plan("fig10", "case 2 uncorrected: stable, not accurate", |models| {
            Ok(vec![near("energy_ratio", "", 1.793, 0.02, run(models, case2, "")?.energy_ratio)])
        }),
        plan("fig20", "case 1, mass at 0.1 ms, μ = 0.725, cap 100 %", |models| {
            let corrected = two_rates(models, &correction(0.725, 0.0, "1"))?;
            Ok(vec![
                near("energy_ratio", "", 0.9961, 0.01, corrected.energy_ratio),
                near("energy_ratio_uncorrected", "", 2.834, 0.01, two_rates(models, "")?.energy_ratio),
            ])
        }),
        // "Small delay" in the paper, 3 ms by the prototype: to the millisecond of the sampling.
        plan("fig21", "case 1, mass at 0.1 ms, μ = 0.725, cap 100 %: small delay", |models| {
            let measured = two_rates(models, &correction(0.725, 0.0, "1"))?.delay;
            Ok(vec![Quantity::range("delay", "ms", "prototype", 2.5, 3.5, measured)])
        }),
        plan("fig22", "case 7, μ = 0.5, cap 100 %: small delay", |models| {
            let measured = run(models, case7, &correction(0.5, 0.0, "1"))?.delay;
            Ok(vec![Quantity::range("delay", "ms", "prototype", 11.5, 12.5, measured)])
        }),
        plan("fig23", "case 7, μ = 0.5, cap 100 %: better, not fully", |models| {
            Ok(vec![
                near(
                    "energy_ratio",
                    "",
                    1.0140,
                    0.01,
                    run(models, case7, &correction(0.5, 0.0, "1"))?.energy_ratio,
                ),
                near("energy_ratio_uncorrected", "", 1.1725, 0.01, run(models, case7, "")?.energy_ratio),
            ])
        }),
        plan("fig24", "case 7, ν = 0.25: too large a cap hurts", |models| fig24(models, case7)),
        plan("fig25", "n = 3, μ = 0.5, cap 25 %", |models| {
            Ok(vec![
                near(
                    "energy_ratio",
                    "",
                    1.0455,
                    0.02,
                    run(models, &MULTIPLE[0], &correction(0.5, 0.0, "0.25"))?.energy_ratio,
                ),
                near(
                    "energy_ratio_uncorrected",
                    "",
                    3.529,
                    0.02,
                    run(models, &MULTIPLE[0], "")?.energy_ratio,
                ),
            ])
        }),
        plan("fig26", "n = 3, μ = 0.5, cap 25 %", |models| {
            let corrected = run(models, &MULTIPLE[0], &correction(0.5, 0.0, "0.25"))?;
            Ok(vec![
                near("max_position_error", "m", 0.176, 0.02, corrected.position_error),
                near(
                    "max_position_error_uncorrected",
                    "m",
                    5.50,
                    0.02,
                    run(models, &MULTIPLE[0], "")?.position_error,
                ),
            ])
        }),
        plan("fig27", "nonlinear 1: μ = 0 grows, 0.5 drifts, 0.75 over-dissipates", move |models| {
            let at = |mu: f64| swing_nonlinear(models, first, &correction(mu, 0.0, "1"));
            Ok(vec![
                near("energy_ratio_mu0", "", 1.090, 0.02, swing_nonlinear(models, first, "")?.energy_ratio),
                near("energy_ratio_mu0.5", "", 1.033, 0.02, at(0.5)?.energy_ratio),
                near("energy_ratio_mu0.75", "", 0.983, 0.02, at(0.75)?.energy_ratio),
            ])
        }),
        plan("fig28", "nonlinear 1, μ = 0.5, ν = 0.25", move |models| {
            let measured = swing_nonlinear(models, first, &correction(0.5, 0.25, "1"))?.energy_ratio;
            Ok(vec![near("energy_ratio", "", 1.0167, 0.02, measured)])
        }),
        plan("fig30", "nonlinear 2, μ = 0.5", move |models| {
            Ok(vec![
                near(
                    "energy_ratio",
                    "",
                    1.0036,
                    0.01,
                    swing_nonlinear(models, second, &correction(0.5, 0.0, "1"))?.energy_ratio,
                ),
                near(
                    "energy_ratio_uncorrected",
                    "",
                    1.518,
                    0.01,
                    swing_nonlinear(models, second, "")?.energy_ratio,
                ),
            ])
        }),
        plan("fig31", "nonlinear 1 uncorrected: δP is positive in the mean", move |models| {
            Ok(vec![near(
                "mean_residual_power",
                "W",
                163.9,
                0.05,
                swing_nonlinear(models, first, "")?.mean_residual,
            )])
        }),
        plan("fig33", "pendula 1, μ = 0.5, ν = 1", |models| {
            let (corrected, worst) = swing_pendula(models, &correction(0.5, 1.0, "1"))?;
            let (plain, plain_worst) = swing_pendula(models, "")?;
            Ok(vec![
                near("energy_error", "J", 0.130, 0.05, corrected),
                near("energy_error_uncorrected", "J", 0.357, 0.05, plain),
                near("max_position_error", "m", 0.024, 0.05, worst),
                near("max_position_error_uncorrected", "m", 0.052, 0.05, plain_worst),
                // The paper says that ν helps; the energy error without it shows that it does not.
                Quantity::known(
                    "energy_error_nu0",
                    "J",
                    None,
                    swing_pendula(models, &correction(0.5, 0.0, "1"))?.0,
                ),
            ])
        }),
        plan("fig35", "crane, 10 ms and 0.25 ms, first-order hold", |models| {
            let plain = lift(models, 10e-3, 40, "hold = 1")?;
            let corrected = lift(
                models,
                10e-3,
                40,
                "hold = 1\ncorrection = { kind = \"energy\", mu = \"rule\", cap = 0.1, absolute_cap = 100 }",
            )?;
            Ok(vec![
                near("max_position_error", "m", 1.17e-3, 0.05, plain.position_error),
                near("energy_error", "J", -11.6, 0.05, plain.energy_error),
                Quantity::known("max_position_error_corrected", "m", None, corrected.position_error),
                Quantity::known("energy_error_corrected", "J", None, corrected.energy_error),
            ])
        }),
        plan(
            "fig36",
            "crane, 11.5 ms and 0.1 ms, first-order hold: spurious oscillation from 3 to 5 s",
            |models| {
                let lift = lift(models, 11.5e-3, 115, "hold = 1")?;
                let (start, end) = lift.oscillation();
                Ok(vec![
                    Quantity::range("oscillation_start", "s", "paper", 2.5, 3.5, start),
                    Quantity::range("oscillation_end", "s", "paper", 4.5, 5.5, end),
                ])
            },
        ),
        plan("fig37", "crane, 11.5 ms and 0.1 ms, first-order hold: spike of δP", |models| {
            let lift = lift(models, 11.5e-3, 115, "hold = 1")?;
            let worst = |from: f64, to: f64| {
                let inside = lift.residuals.iter().filter(|(t, _)| (from..to).contains(t));
                inside.map(|(_, p)| p.abs()).fold(0.0, f64::max)
            };
            let (ratio, first, third) = (worst(3.0, 5.0) / worst(0.0, 1.0), worst(0.0, 1.0), worst(3.0, 4.0));
            Ok(vec![
                Quantity {
                    check: Check::Range,
                    high: None,
                    pass: Some(ratio > 100.0),
                    ..near("spike_ratio", "", 100.0, 0.0, ratio)
                },
                near("residual_power_second1", "W", 108.0, 0.05, first),
                near("residual_power_second4", "W", 64_200.0, 0.05, third),
            ])
        }),
    ]
}

/// Larger caps do more harm; without one the run diverges.
fn fig24(models: &Models, case: &Case) -> Result<Vec<Quantity>, Error> {
    let at = |cap: &str| run(models, case, &correction(0.5, 0.25, cap));
    let ratios = [at("1")?.energy_ratio, at("2")?.energy_ratio, at("5")?.energy_ratio];
    let diverges = match at("\"none\"") {
        Ok(swing) => swing.energy_ratio.is_nan() || swing.energy_ratio > 10.0,
        Err(Error::Accuracy(_) | Error::Model(_)) => true,
        Err(other) => return Err(other),
    };
    let off = ratios.map(|r| (r - 1.0).abs());
    let ordered = off[0] < off[1] && off[1] < off[2] && diverges;
    let expected =
        [("energy_ratio_cap1", 1.0011), ("energy_ratio_cap2", 0.991), ("energy_ratio_cap5", 0.715)];
    let order = |name: &str, measured: f64, expected: f64| Quantity {
        check: Check::Order,
        low: None,
        high: None,
        pass: Some(ordered),
        ..near(name, "", expected, 0.0, measured)
    };
    let mut list: Vec<Quantity> =
        expected.iter().zip(ratios).map(|((name, e), r)| order(name, r, *e)).collect();
    list.push(order("diverges_uncapped", f64::from(u8::from(diverges)), 1.0));
    Ok(list)
}

/// Mean energy error of the last second, in J, and the largest distance of tip 2 from where it should be, in m; 30 s.
fn swing_pendula(models: &Models, method: &str) -> Result<(f64, f64), Error> {
    let case = &pendula::CASES[0];
    let star = Star { record: &["*.angle", "*.angular_velocity"], ..Star::pendula(case) };
    let mut reference = pendula::Reference::new(case);
    let (mut gain, mut steps, mut worst) = (0.0, 0.0, 0.0f64);
    star.run(models, method, &["motion.position_x", "motion.position_y"], |seen| {
        let span = seen.step.span;
        reference.advance_to(span.end);
        let [_, exact] = reference.positions();
        worst = worst.max((seen.output(0) - exact[0]).hypot(seen.output(1) - exact[1]));
        if span.start > 29.0 - 1e-9 {
            let angles = [seen.value("giver1.angle"), seen.value("motion.angle")];
            let speeds = [seen.value("giver1.angular_velocity"), seen.value("motion.angular_velocity")];
            gain += case.energy(angles, speeds) - reference.energy();
            steps += 1.0;
        }
    })?;
    Ok((gain / steps, worst))
}

/// What came of the crane in 10 s.
struct Lift {
    /// The largest error of the cylinder's length, in m.
    position_error: f64,
    /// Error of the mechanical energy at the end, in J.
    energy_error: f64,
    /// (t, δP).
    residuals: Vec<(f64, f64)>,
}

impl Lift {
    /// When |δP| is above a tenth of its maximum for the first and the last time.
    fn oscillation(&self) -> (f64, f64) {
        let peak = self.residuals.iter().map(|(_, p)| p.abs()).fold(0.0, f64::max);
        let above = || self.residuals.iter().filter(|(_, p)| p.abs() > 0.1 * peak).map(|(t, _)| *t);
        (above().fold(f64::INFINITY, f64::min), above().fold(0.0, f64::max))
    }
}

fn lift(models: &Models, step: f64, rate: u32, method: &str) -> Result<Lift, Error> {
    let star = Star { record: &["motion.energy"], rates: (rate, 1), step, ..Star::crane() };
    let mut reference = crane::Reference::new(&crane::ARM, &crane::CIRCUIT);
    let mut lift = Lift { position_error: 0.0, energy_error: 0.0, residuals: Vec::new() };
    star.run(models, method, &["giver1.force", "motion.length", "motion.speed"], |seen| {
        let t = seen.step.span.end;
        reference.advance_to(t);
        lift.position_error = lift.position_error.max((seen.output(1) - reference.length()).abs());
        lift.energy_error = seen.sum("energy") - reference.energy();
        let residual =
            paper_residual([seen.output_before(0), seen.output(0)], [seen.output_before(2), seen.output(2)]);
        lift.residuals.push((t, residual));
    })?;
    Ok(lift)
}

/// μ that the energy error really has, beside eq. 20 and 21: case 1 over 1 s.
fn rules() -> Vec<Plan> {
    let mut plans = Vec::new();
    for (equation, slow_giver) in [("eq20", true), ("eq21", false)] {
        for ratio in [1u32, 2, 5, 10, 20, 50] {
            for (word, hold) in [("ZOH", 0u8), ("FOH", 1)] {
                let rates = if slow_giver { (1, ratio) } else { (ratio, 1) };
                let expected = mu_by_rule(true, rates.0, rates.1, hold);
                let side = if slow_giver { "slow" } else { "fast" };
                plans.push(plan(
                    format!("{equation}/R={ratio}/{word}"),
                    format!("case 1, force giver {side} by {ratio}, {word}: μ = {expected}"),
                    move |models| {
                        let star = Star { rates, stop: 1.0, ..linear(&DOUBLE[0]) };
                        let swing =
                            swing(models, &star, Reference::new(&DOUBLE[0]), &format!("hold = {hold}"))?;
                        let rule = near("mu_effective", "", expected, 0.05, swing.mu_effective);
                        Ok(vec![Quantity { reference: "formula", ..rule }])
                    },
                ));
            }
        }
    }
    plans
}

/// Energy errors of all linear oscillators in percent: without correction, with μ = 0.5, and with refresh and a line.
fn energy_errors() -> Vec<Plan> {
    let double = DOUBLE.iter().enumerate().map(|(i, case)| (format!("osc/{}", i + 1), case));
    let multiple = [("mosc/3".to_owned(), &MULTIPLE[0]), ("mosc/5".to_owned(), &MULTIPLE[2])];
    double
        .chain(multiple)
        .map(|(id, case)| {
            let name = id.clone();
            plan(
                id,
                "energy error of the last second: uncorrected, μ = 0.5, refresh with first-order hold",
                move |models| {
                    let percent = |method: &str| {
                        Ok::<f64, Error>(100.0 * (run(models, case, method)?.energy_ratio - 1.0))
                    };
                    // The paper caps the multiple oscillator at 25 %.
                    let cap = if case.givers > 1 { "0.25" } else { "1" };
                    let [plain, corrected, refreshed] = [
                        percent("")?,
                        percent(&correction(0.5, 0.0, cap))?,
                        percent("hold = 1\nrefresh = true")?,
                    ];
                    let quantity = |word: &str, measured: f64| {
                        let label = format!("energy_error_percent_{word}");
                        match EXPECTED.iter().find(|(id, w, ..)| *id == name && *w == word) {
                            Some(&(_, _, expected, width)) => Quantity::range(
                                &label,
                                "%",
                                "prototype",
                                expected - width,
                                expected + width,
                                measured,
                            ),
                            None => Quantity::known(&label, "%", None, measured),
                        }
                    };
                    Ok(vec![
                        quantity("uncorrected", plain),
                        quantity("corrected", corrected),
                        Quantity::range(
                            "energy_error_percent_refresh",
                            "%",
                            "prototype",
                            -2.0,
                            2.0,
                            refreshed,
                        ),
                    ])
                },
            )
        })
        .collect()
}

/// What the prototypes measured, with half a unit of the last digit or 2 % of it. With μ = 0.5, cases 3, 4 and 8 are known
/// not to come out right: μ = 0.5 is not general.
const EXPECTED: &[(&str, &str, f64, f64)] = &[
    ("osc/1", "uncorrected", 94.0, 2.0),
    ("osc/3", "uncorrected", 14_000.0, 500.0),
    ("osc/7", "uncorrected", 17.0, 0.5),
    ("osc/8", "uncorrected", 4.8, 0.1),
    ("mosc/5", "uncorrected", 1340.0, 30.0),
    ("osc/1", "corrected", -0.79, 0.05),
    ("osc/7", "corrected", 1.4, 0.05),
    ("mosc/5", "corrected", 14.7, 0.5),
];
