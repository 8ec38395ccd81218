//! Figures 9, 10 and 20 to 31, and the energy errors of all linear oscillators.

use super::trace::{Oscillator, Setup, Trace};
use super::{plain, plan};
use crate::{Models, Plan, Quantity, Source};
use powerbond::Error;
use powerbond::models::nonlinear_oscillator::CASES;
use powerbond::models::oscillator::{DOUBLE, MULTIPLE};

/// Case `n` of Table 1, from 1.
pub const fn double(n: usize) -> Oscillator {
    Oscillator::Linear(&DOUBLE[n - 1])
}

/// Case `n` of Table 2, from 1.
pub const fn multiple(n: usize) -> Oscillator {
    Oscillator::Linear(&MULTIPLE[n - 1])
}

/// Case `n` of Table 3, from 1.
pub const fn nonlinear(n: usize) -> Oscillator {
    Oscillator::Nonlinear(&CASES[n - 1])
}

/// Case 1 with the mass at 0.1 ms, as in figures 20 and 21.
pub fn two_rates() -> Setup {
    Setup { rates: (1, 10), ..Setup::new(double(1)) }
}

/// How near the engine is to the plain loop: both compute the same, in another order.
const SAME: f64 = 1e-5;

/// Why so near.
pub const SAME_SCHEME: &str = "to 10⁻⁵: the same scheme by other code, in another order of operations";

/// A number of a run, held against the same number of the plain loop.
fn same(
    models: &Models,
    name: &str,
    unit: &'static str,
    setup: &Setup,
    number: fn(&Trace) -> f64,
) -> Result<Quantity, Error> {
    let measured = number(&setup.run(models, "")?);
    let looped = number(&plain::run(setup));
    Ok(Quantity::near(name, unit, Source::WrittenOut, looped, SAME, measured).because(SAME_SCHEME))
}

/// |E/E_ref − 1| of the last second.
fn energy_error(trace: &Trace) -> f64 {
    (trace.energy_ratio() - 1.0).abs()
}

/// Energy that is right to a percent.
const RIGHT: &str = "\"almost exact\", \"matches\": 1 %";
/// A delay that is small.
const SMALL_DELAY: &str = "\"small\": above 0, and below a tenth of the period of 0.19 s";

pub fn figures() -> Vec<Plan> {
    let corrected20 = two_rates().corrected(0.725, 0.0, 1.0);
    let case7 = Setup::new(double(7));
    let corrected7 = case7.corrected(0.5, 0.0, 1.0);
    let three = Setup::new(multiple(1));
    let corrected3 = three.corrected(0.5, 0.0, 0.25);
    let first = Setup::new(nonlinear(1));
    let second = Setup::new(nonlinear(2));
    vec![
        plan("fig9", "case 1 uncorrected: energy grows", |models| {
            let setup = Setup::new(double(1));
            let trace = setup.run(models, "")?;
            Ok(vec![
                Quantity::at_least("growth", "", Source::Claim("Fig. 9"), 1.01, trace.growth())
                    .because("\"increase\": by a hundredth at least"),
                Quantity::at_least(
                    "residual_energy",
                    "J",
                    Source::Claim("Fig. 9"),
                    0.0,
                    trace.created().last().unwrap_or(f64::NAN),
                ),
                same(models, "energy_ratio", "", &setup, Trace::energy_ratio)?,
            ])
        }),
        plan("fig10", "case 2 uncorrected: stable, not accurate", |models| {
            let setup = Setup::new(double(2));
            let trace = setup.run(models, "")?;
            Ok(vec![
                Quantity::at_most("growth", "", Source::Claim("Fig. 10"), 1.0, trace.growth()),
                Quantity::at_least("energy_error", "", Source::Claim("Fig. 10"), 0.1, energy_error(&trace))
                    .because("\"not accurate\": 10 %"),
                Quantity::at_most(
                    "energy_error_over_case_1",
                    "",
                    Source::Claim("Fig. 10"),
                    1.0,
                    energy_error(&trace) / energy_error(&Setup::new(double(1)).run(models, "")?),
                )
                .because("damping \"decreases the severity of the energy errors\""),
                same(models, "energy_ratio", "", &setup, Trace::energy_ratio)?,
            ])
        }),
        plan("fig20", "case 1, mass at 0.1 ms, μ = 0.725, cap 100 %: energy is right", move |models| {
            restored(models, "Fig. 20", &two_rates(), &corrected20)
        }),
        plan(
            "fig21",
            "case 1, mass at 0.1 ms, μ = 0.725, cap 100 %: right amplitude, small delay",
            move |models| motion(models, "Fig. 21", &two_rates(), &corrected20),
        ),
        plan("fig22", "case 7, μ = 0.5, cap 100 %: right amplitude, small delay", move |models| {
            motion(models, "Fig. 22", &case7, &corrected7)
        }),
        plan("fig23", "case 7, μ = 0.5, cap 100 %: better, less so than case 1", move |models| {
            let left = |before: &Setup, after: &Setup| {
                Ok::<f64, Error>(
                    energy_error(&after.run(models, "")?) / energy_error(&before.run(models, "")?),
                )
            };
            let first = Setup::new(double(1));
            let case1 = left(&first, &first.corrected(0.5, 0.0, 1.0))?;
            Ok(vec![
                Quantity::range(
                    "error_left",
                    "",
                    Source::Claim("Fig. 23"),
                    case1,
                    1.0,
                    left(&case7, &corrected7)?,
                )
                .because("more than what is left of case 1, less than all")
                .beside("without correction", 1.0 + 1e-9),
                same(models, "energy_ratio", "", &corrected7, Trace::energy_ratio)?,
                same(models, "energy_ratio_uncorrected", "", &case7, Trace::energy_ratio)?,
            ])
        }),
        plan("fig24", "case 7, μ = 0.5, ν = 0.25: too large a cap hurts", fig24),
        plan("fig25", "n = 3, μ = 0.5, cap 25 %: energy is corrected", move |models| {
            improved(models, "Fig. 25", &three, &corrected3, energy_error)
        }),
        plan("fig26", "n = 3, μ = 0.5, cap 25 %: motion is corrected", move |models| {
            improved(models, "Fig. 26", &three, &corrected3, Trace::position_error)
        }),
        plan("fig27", "nonlinear 1: μ = 0 grows, 0.5 drifts, 0.75 dissipates too much", move |models| {
            let at = |mu: f64| first.corrected(mu, 0.0, 1.0);
            let none = first.run(models, "")?.energy_ratio();
            let half = at(0.5).run(models, "")?.energy_ratio();
            Ok(vec![
                Quantity::at_least("energy_ratio_mu0", "", Source::Claim("Fig. 27"), 1.0, none),
                Quantity::range("energy_ratio_mu0.5", "", Source::Claim("Fig. 27"), 1.0, none, half)
                    .because("it grows, and less than without"),
                Quantity::at_most(
                    "energy_ratio_mu0.75",
                    "",
                    Source::Claim("Fig. 27"),
                    1.0,
                    at(0.75).run(models, "")?.energy_ratio(),
                )
                .beside("μ = 0.5", half),
                same(models, "mu0", "", &first, Trace::energy_ratio)?,
                same(models, "mu0.5", "", &at(0.5), Trace::energy_ratio)?,
                same(models, "mu0.75", "", &at(0.75), Trace::energy_ratio)?,
            ])
        }),
        plan("fig28", "nonlinear 1, μ = 0.5, ν = 0.25: ν removes what μ leaves", move |models| {
            let at = |nu: f64| first.corrected(0.5, nu, 1.0);
            let error = |nu: f64| Ok::<f64, Error>(energy_error(&at(nu).run(models, "")?));
            let mut list = vec![
                Quantity::deviation(
                    "energy_error_left",
                    "",
                    Source::Claim("Fig. 28"),
                    (0.0167, 0.0005),
                    "\"remove\": ν halves what μ leaves, and does not remove it",
                    error(0.25)?,
                ),
                same(models, "energy_ratio", "", &at(0.25), Trace::energy_ratio)?,
            ];
            let mut tried = Vec::new();
            for nu in [0.0, 0.1, 0.25, 0.5, 1.0] {
                tried.push((nu, error(nu)?));
            }
            let best = tried.iter().min_by(|a, b| a.1.total_cmp(&b.1)).map_or(f64::NAN, |(nu, _)| *nu);
            let optimal = "\"the optimal value\": of those tried here ν = 1 leaves least";
            list.push(
                Quantity::deviation("best_nu", "", Source::Print("Sec. 5"), (1.0, 0.0), optimal, best)
                    .published("0.25"),
            );
            list.extend(tried.iter().map(|(nu, e)| Quantity::shown(&format!("energy_error_nu{nu}"), "", *e)));
            Ok(list)
        }),
        plan("fig29", "nonlinear 1, μ = 0.5, ν = 0.25: motion is corrected", move |models| {
            improved(models, "Fig. 29", &first, &first.corrected(0.5, 0.25, 1.0), Trace::position_error)
        }),
        plan("fig30", "nonlinear 2, μ = 0.5: energy is right without ν", move |models| {
            let mut list = restored(models, "Fig. 30", &second, &second.corrected(0.5, 0.0, 1.0))?;
            let severity = energy_error(&second.run(models, "")?) / energy_error(&first.run(models, "")?);
            list.push(Quantity::deviation(
                "energy_error_over_case_1",
                "",
                Source::Claim("Sec. 5"),
                (5.782, 0.01),
                "\"the severity of the energy deviations was reduced\": without correction it is larger than in case 1",
                severity,
            ));
            Ok(list)
        }),
        plan("fig31", "nonlinear 1 uncorrected: δP is positive in the mean", move |models| {
            let mean = |trace: &Trace| trace.residual.iter().sum::<f64>() / trace.residual.len() as f64;
            let measured = mean(&first.run(models, "")?);
            Ok(vec![
                Quantity::at_least("mean_residual_power", "W", Source::Claim("Fig. 31"), 0.0, measured),
                same(models, "value", "W", &first, mean)?,
            ])
        }),
    ]
}

/// The energy is right with the correction, and not without.
fn restored(
    models: &Models,
    figure: &'static str,
    without: &Setup,
    with: &Setup,
) -> Result<Vec<Quantity>, Error> {
    let plain = energy_error(&without.run(models, "")?);
    Ok(vec![
        Quantity::at_most(
            "energy_error",
            "",
            Source::Claim(figure),
            0.01,
            energy_error(&with.run(models, "")?),
        )
        .because(RIGHT)
        .beside("without correction", plain),
        same(models, "energy_ratio", "", with, Trace::energy_ratio)?,
        same(models, "energy_ratio_uncorrected", "", without, Trace::energy_ratio)?,
    ])
}

/// The amplitude is right with the correction, and the motion a little late.
fn motion(
    models: &Models,
    figure: &'static str,
    without: &Setup,
    with: &Setup,
) -> Result<Vec<Quantity>, Error> {
    let (plain, trace) = (without.run(models, "")?, with.run(models, "")?);
    Ok(vec![
        Quantity::range("amplitude_ratio", "", Source::Claim(figure), 0.97, 1.03, trace.amplitude_ratio())
            .because("\"matches\": the rms of the motion to 3 %, as far as a figure shows")
            .beside("without correction", plain.amplitude_ratio()),
        Quantity::range("delay", "ms", Source::Claim(figure), 1e-3, 19.0, trace.delay()).because(SMALL_DELAY),
        same(models, "delay_value", "ms", with, Trace::delay)?,
    ])
}

/// An error is at most half of what it was.
fn improved(
    models: &Models,
    figure: &'static str,
    without: &Setup,
    with: &Setup,
    error: fn(&Trace) -> f64,
) -> Result<Vec<Quantity>, Error> {
    let plain = error(&without.run(models, "")?);
    Ok(vec![
        Quantity::at_most("error", "", Source::Claim(figure), 0.5 * plain, error(&with.run(models, "")?))
            .because("\"possible to correct\": at most half of what it was")
            .beside("without correction", plain),
        same(models, "value", "", with, error)?,
        same(models, "value_uncorrected", "", without, error)?,
    ])
}

/// Larger caps do more harm; without one the run diverges. All four are one claim.
fn fig24(models: &Models) -> Result<Vec<Quantity>, Error> {
    let at = |cap: f64| Setup::new(double(7)).corrected(0.5, 0.25, cap);
    let error = |cap: f64| match at(cap).run(models, "") {
        Ok(trace) if trace.energy_ratio().is_nan() => Ok(f64::INFINITY),
        Ok(trace) => Ok(energy_error(&trace)),
        Err(Error::Accuracy(_) | Error::Model(_)) => Ok(f64::INFINITY),
        Err(other) => Err(other),
    };
    let errors = [error(1.0)?, error(2.0)?, error(5.0)?, error(f64::INFINITY)?];
    let in_order = errors.windows(2).filter(|w| w[0] < w[1]).count() as f64;
    let claim =
        Quantity::range("larger_caps_that_are_worse", "", Source::Claim("Fig. 24"), 3.0, 3.0, in_order);
    let mut list =
        vec![claim.because("caps of 1, 2, 5 times the force and none: each worse than the one before")];
    for (cap, error) in ["1", "2", "5", "none"].iter().zip(errors) {
        list.push(Quantity::shown(&format!("energy_error_cap_{cap}"), "", error));
    }
    let (small, without_nu) =
        (error(0.1)?, energy_error(&Setup::new(double(7)).corrected(0.5, 0.0, 1.0).run(models, "")?));
    list.push(
        Quantity::at_least("energy_error_cap_0.1", "", Source::Claim("Fig. 24"), 1.1 * errors[0], small)
            .because("\"insufficient\": more is left than with a cap of 1, by a tenth at least")
            .beside("cap of 1", errors[0]),
    );
    list.push(
        Quantity::at_most(
            "energy_error_cap_1_nu0.25",
            "",
            Source::Claim("Fig. 23"),
            0.9 * without_nu,
            errors[0],
        )
        .because("\"more effective\" with ν: by a tenth at least")
        .beside("with ν = 0", without_nu),
    );
    list.push(same(models, "energy_ratio_cap1", "", &at(1.0), Trace::energy_ratio)?);
    Ok(list)
}

/// Energy errors of all linear oscillators in percent: without correction, with μ = 0.5, and with refresh and a line.
pub fn energy_errors() -> Vec<Plan> {
    let linear = (1..=8).map(|n| (format!("osc/{n}"), double(n)));
    // Case 1 of Table 2 is that of figures 25 and 26.
    let more = (2..=4).map(|n| (format!("mosc/{n}"), multiple(n)));
    let percent = |trace: &Trace| 100.0 * (trace.energy_ratio() - 1.0);
    // Energies, not their differences: of these round-off is a larger share.
    let ratio = Trace::energy_ratio;
    let row = move |(id, case): (String, Oscillator)| {
        let wrong = WRONG.iter().find(|(wrong, ..)| *wrong == id);
        let words = "energy error of the last second: uncorrected, μ = 0.5, refresh with first-order hold";
        plan(id.clone(), words, move |models| {
            let setup = Setup::new(case);
            // The paper caps the multiple oscillator at 25 %.
            let cap = if setup.oscillator().givers > 1 { 0.25 } else { 1.0 };
            let corrected = setup.corrected(0.5, 0.0, cap);
            let [before, after] =
                [&setup, &corrected].map(|s| s.run(models, "").map(|trace| percent(&trace)));
            let (before, after) = (before?, after?);
            let improved = match wrong {
                Some(&(_, was, why)) => {
                    Quantity::deviation("corrected", "%", Source::Claim("Sec. 5"), was, why, after)
                }
                None => {
                    let most = (0.2 * before.abs()).min(20.0);
                    Quantity::range("corrected", "%", Source::Claim("Sec. 5"), -most, most, after).because(
                        "\"verified with the rest of cases\": at most a fifth is left, and at most 20 %",
                    )
                }
            };
            let value = |name: &str, setup: &Setup| {
                if ELSEWHERE.contains(&(id.as_str(), name)) {
                    return Ok(Quantity::shown(name, "", ratio(&setup.run(models, "")?)));
                }
                same(models, name, "", setup, ratio)
            };
            let refresh = Setup { hold: 1, ..setup }.run(models, "refresh = true")?;
            Ok(vec![
                improved.beside("without correction", before),
                value("ratio_uncorrected", &setup)?,
                match CHAOTIC.contains(&id.as_str()) {
                    true => Quantity::shown(
                        "ratio_corrected_plain_loop",
                        "",
                        plain::run(&corrected).energy_ratio(),
                    ),
                    false => value("ratio_corrected", &corrected)?,
                },
                Quantity::range("refresh", "%", Source::FinerRun, -2.0, 2.0, percent(&refresh))
                    .because("beyond the paper: the error of the integrator alone")
                    .beside("without correction", before),
            ])
        })
    };
    linear.chain(more).map(row).collect()
}

/// Numbers that are judged in rows of figures, and only shown here.
const ELSEWHERE: [(&str, &str); 4] = [
    ("osc/1", "ratio_uncorrected"),
    ("osc/2", "ratio_uncorrected"),
    ("osc/7", "ratio_uncorrected"),
    ("osc/7", "ratio_corrected"),
];
/// Why μ = 0.5 does not serve.
const NOT_GENERAL: &str =
    "μ = 0.5 is not general: the share is 0.5⟨v2²⟩/(⟨v2²⟩ − ⟨v1 v2⟩), 0.26 in case 3 and 0.16 in case 8";
/// With the correction they are chaotic: its cap is reached in most steps, and round-off decides in which.
const CHAOTIC: [&str; 2] = ["osc/3", "osc/4"];
/// Five masses with dampers.
const A_THIRD: &str =
    "\"verified with the rest of cases\": a third of the energy error is left, which is 18 %";
/// Cases that μ = 0.5 makes worse or spoils, or in which it leaves much: what is left in percent, and how far that may move.
const WRONG: &[(&str, (f64, f64), &str)] = &[
    ("osc/3", (-97.0, 1.5), NOT_GENERAL),
    ("osc/4", (-98.0, 1.5), NOT_GENERAL),
    ("osc/8", (-8.05, 0.05), NOT_GENERAL),
    ("mosc/4", (17.74, 0.05), A_THIRD),
];
