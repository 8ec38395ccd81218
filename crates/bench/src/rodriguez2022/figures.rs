//! Figures 9 to 12 and 20 to 37 of rodriguez2022.

use super::crane::{EXTRAPOLATED, FIG35, FIG36, LARGER, MEAN35, WRITTEN, lift};
use super::oscillators::{double, multiple, nonlinear, two_rates};
use super::pendula::{Swing, corrected, swing};
use super::plain_crane::{self, Reading};
use super::rules::{RATIOS, points as rule_points};
use super::trace::{Setup, Trace};
use crate::Models;
use crate::figure::{Drawing, Figure, dashes, line, points};
use powerbond::Error;
use powerbond::core::correction::mu_by_rule;
use powerbond::picture::{Drawn, Series};

/// All of them.
pub const FIGURES: &[Drawing] = &[
    Drawing { id: "fig9", draw: |models| balance(models, "Fig. 9", "case 1, no damping", double_setup(1)) },
    Drawing {
        id: "fig10",
        draw: |models| balance(models, "Fig. 10", "case 2, with damping", double_setup(2)),
    },
    Drawing { id: "fig11", draw: |_| coefficients("Fig. 11", true) },
    Drawing { id: "fig12", draw: |_| coefficients("Fig. 12", false) },
    Drawing { id: "fig20", draw: |models| energies(models, "Fig. 20", CASE1_TWO_RATES, &fig20()) },
    Drawing { id: "fig21", draw: |models| motion(models, "Fig. 21", CASE1_TWO_RATES, "η2 in m", &fig20()) },
    Drawing { id: "fig22", draw: |models| motion(models, "Fig. 22", CASE7, "η2 in m", &fig22()) },
    Drawing { id: "fig23", draw: |models| energies(models, "Fig. 23", CASE7, &fig22()) },
    Drawing {
        id: "fig24",
        draw: |models| energies(models, "Fig. 24", "case 7, μ = 0.5, ν = 0.25", &fig24()),
    },
    Drawing { id: "fig25", draw: |models| energies(models, "Fig. 25", THREE, &fig25()) },
    Drawing { id: "fig26", draw: |models| motion(models, "Fig. 26", THREE, "η3 in m", &fig25()) },
    Drawing {
        id: "fig27",
        draw: |models| energies(models, "Fig. 27", "nonlinear 1, ν = 0, cap 100 %", &fig27()),
    },
    Drawing { id: "fig28", draw: |models| energies(models, "Fig. 28", NONLINEAR, &fig28()) },
    Drawing { id: "fig29", draw: |models| motion(models, "Fig. 29", NONLINEAR, "η2 in m", &fig28()) },
    Drawing {
        id: "fig30",
        draw: |models| energies(models, "Fig. 30", "nonlinear 2, μ = 0.5, cap 100 %", &fig30()),
    },
    Drawing { id: "fig31", draw: fig31 },
    Drawing { id: "fig32", draw: |models| pendula(models, "Fig. 32", "x2 in m", |s| &s.x) },
    Drawing { id: "fig33", draw: |models| pendula(models, "Fig. 33", "energy in J", |s| &s.energy) },
    Drawing { id: "fig34", draw: fig34 },
    Drawing { id: "fig35", draw: fig35 },
    Drawing { id: "fig35-error", draw: fig35_error },
    Drawing { id: "fig36", draw: fig36 },
    Drawing { id: "fig37", draw: fig37 },
];

const CASE1_TWO_RATES: &str = "case 1, H = 1 ms, mass at 0.1 ms, ZOH, μ = 0.725, cap 100 %";
const CASE7: &str = "case 7, H = 1 ms, μ = 0.5, cap 100 %";
const THREE: &str = "n = 3, case 1, H = 1 ms, μ = 0.5, cap 25 %";
const NONLINEAR: &str = "nonlinear 1, H = 1 ms, μ = 0.5, cap 100 %";

/// Curves of a figure: a name, and how it is run.
type Curves = Vec<(String, Setup)>;

fn double_setup(n: usize) -> Setup {
    Setup::new(double(n))
}

fn both(without: Setup, with: Setup) -> Curves {
    vec![("without correction".to_owned(), without), ("with correction".to_owned(), with)]
}

fn fig20() -> Curves {
    both(two_rates(), two_rates().corrected(0.725, 0.0, 1.0))
}

fn fig22() -> Curves {
    both(double_setup(7), double_setup(7).corrected(0.5, 0.0, 1.0))
}

fn fig24() -> Curves {
    let caps = [0.1, 1.0, 2.0, 5.0];
    caps.map(|cap| (format!("limit {} %", 100.0 * cap), double_setup(7).corrected(0.5, 0.25, cap))).into()
}

fn fig25() -> Curves {
    let setup = Setup::new(multiple(1));
    both(setup, setup.corrected(0.5, 0.0, 0.25))
}

fn fig27() -> Curves {
    let setup = Setup::new(nonlinear(1));
    [0.0, 0.5, 0.75].map(|mu| (format!("μ = {mu}"), setup.corrected(mu, 0.0, 1.0))).into()
}

fn fig28() -> Curves {
    let setup = Setup::new(nonlinear(1));
    both(setup, setup.corrected(0.5, 0.25, 1.0))
}

fn fig30() -> Curves {
    let setup = Setup::new(nonlinear(2));
    both(setup, setup.corrected(0.5, 0.0, 1.0))
}

fn named(figure: &str) -> String {
    format!("rodriguez2022, {figure}")
}

/// Times of a trace, from the first step's end.
fn times(trace: &Trace) -> Vec<f64> {
    (1..=trace.energy.len()).map(|k| k as f64 * trace.step).collect()
}

/// E, E_ref and δE.
fn balance(models: &Models, figure: &str, case: &str, setup: Setup) -> Result<Figure, Error> {
    let trace = setup.run(models, "")?;
    let t = times(&trace);
    let created: Vec<f64> = trace.created().collect();
    let series = vec![
        line("E, co-simulation", &t, trace.energy),
        dashes("E_ref, exact", &t, trace.exact_energy),
        line("δE, residual energy", &t, created),
    ];
    let about = format!("double linear oscillator, {case}, H = 1 ms, uncorrected");
    Ok(Figure::new(&named(figure), &about, ["t in s", "energy in J"], series))
}

/// μ by eq. 20 or 21, and the μ that keeps the energy.
fn coefficients(figure: &str, slow: bool) -> Result<Figure, Error> {
    let place = |ratio: u32| if slow { f64::from(ratio) } else { 1.0 / f64::from(ratio) };
    let mut series: Vec<Series> = Vec::new();
    for (word, hold) in [("ZOH", 0), ("FOH", 1)] {
        let all = (1..=RATIOS[RATIOS.len() - 1]).map(|r| {
            let (giver, mass) = if slow { (1, r) } else { (r, 1) };
            (place(r), mu_by_rule(true, giver, mass, hold))
        });
        series.push(points(&format!("{word}, rule"), all.collect(), Drawn::Line));
        let found = rule_points().filter(|p| p.slow == slow && p.hold == hold);
        let found = found.map(|p| (place(p.ratio), p.best())).collect();
        series.push(points(&format!("{word}, keeps the energy"), found, Drawn::Apart));
    }
    let (side, equation) = if slow { ("largest", "eq. 20") } else { ("smallest", "eq. 21") };
    let about =
        format!("μ by {equation}: the side with feed-through has the {side} step; points: case 1 over 10 s");
    Ok(Figure::new(&named(figure), &about, ["R = h_df / h_ndf", "correction factor μ"], series))
}

/// The exact solution first, then all curves.
fn over_time(
    models: &Models,
    curves: &Curves,
    exact: fn(&Trace) -> &Vec<f64>,
    own: fn(&Trace) -> &Vec<f64>,
) -> Result<Vec<Series>, Error> {
    let mut series = Vec::new();
    let mut reference = None;
    for (name, setup) in curves {
        let trace = setup.run(models, "")?;
        let t = times(&trace);
        series.push(line(name, &t, own(&trace).iter().copied()));
        reference.get_or_insert_with(|| dashes("exact", &t, exact(&trace).iter().copied()));
    }
    // On top: where a curve is right, its dashes show.
    series.extend(reference);
    Ok(series)
}

fn energies(models: &Models, figure: &str, about: &str, curves: &Curves) -> Result<Figure, Error> {
    let series = over_time(models, curves, |t| &t.exact_energy, |t| &t.energy)?;
    Ok(Figure::new(&named(figure), about, ["t in s", "energy in J"], series))
}

/// The last second and a half, in which single oscillations can be seen.
fn motion(models: &Models, figure: &str, about: &str, label: &str, curves: &Curves) -> Result<Figure, Error> {
    let series = over_time(models, curves, |t| &t.position[1], |t| &t.position[0])?;
    Ok(Figure::new(&named(figure), about, ["t in s", label], series).between(8.5, 10.0))
}

fn fig31(models: &Models) -> Result<Figure, Error> {
    let trace = Setup::new(nonlinear(1)).run(models, "")?;
    let series = vec![line("δP", &times(&trace), trace.residual)];
    Ok(Figure::new(&named("Fig. 31"), "nonlinear 1, H = 1 ms, uncorrected", ["t in s", "δP in W"], series))
}

fn pendula(
    models: &Models,
    figure: &str,
    label: &str,
    of: fn(&Swing) -> &[Vec<f64>; 2],
) -> Result<Figure, Error> {
    let (plain, with) = (swing(models, "")?, swing(models, &corrected(1.0))?);
    let series = vec![
        line("without correction", &plain.t, of(&plain)[0].iter().copied()),
        line("with correction", &with.t, of(&with)[0].iter().copied()),
        dashes("exact", &plain.t, of(&plain)[1].iter().copied()),
    ];
    let about = "pendula, case 1, H = 1 ms, μ = 0.5, ν = 1, cap 100 %";
    Ok(Figure::new(&named(figure), about, ["t in s", label], series))
}

fn fig34(models: &Models) -> Result<Figure, Error> {
    let plain = swing(models, "")?;
    let series = vec![line("δP", &plain.t, plain.residual)];
    Ok(Figure::new(
        &named("Fig. 34"),
        "pendula, case 1, H = 1 ms, uncorrected",
        ["t in s", "δP in W"],
        series,
    ))
}

const CRANE35: &str = "crane, H = 10 ms, hydraulics at 0.25 ms, FOH, μ = 0.0125";

fn fig35(models: &Models) -> Result<Figure, Error> {
    let (plain, with) = (lift(models, FIG35.0, FIG35.1, "")?, lift(models, FIG35.0, FIG35.1, EXTRAPOLATED)?);
    let [own, exact] = plain.length;
    let [corrected, _] = with.length;
    let series = vec![
        line("without correction", &plain.t, own),
        line("with correction", &with.t, corrected),
        dashes("exact", &plain.t, exact),
    ];
    Ok(Figure::new(&named("Fig. 35"), CRANE35, ["t in s", "s_c in m"], series).between(0.0, 10.0))
}

/// The same as errors, for all readings of the correction: in figure 35 itself they can hardly be told apart.
fn fig35_error(models: &Models) -> Result<Figure, Error> {
    let at = |method: &str| lift(models, FIG35.0, FIG35.1, method);
    let mean = |correction| plain_crane::run(&Reading { correction, ..MEAN35 });
    let runs = [
        ("without correction", at("")?),
        ("as written", at(WRITTEN)?),
        ("extrapolated input in δP", at(EXTRAPOLATED)?),
        ("mean force, without correction", mean(None)),
        ("mean force, extrapolated, larger cap", mean(Some(LARGER))),
    ];
    let curve = |(name, lift): &(&str, super::crane::Lift)| {
        let [own, exact] = &lift.length;
        line(name, &lift.t, own.iter().zip(exact).map(|(a, b)| 1e3 * (a - b)))
    };
    let series = runs.iter().map(curve).collect();
    Ok(Figure::new(&named("Fig. 35 as errors"), CRANE35, ["t in s", "error of s_c in mm"], series)
        .between(0.0, 10.0))
}

const CRANE36: &str = "crane, H = 11.5 ms, hydraulics at 0.1 ms, FOH, uncorrected";

fn fig36(models: &Models) -> Result<Figure, Error> {
    let run = lift(models, FIG36.0, FIG36.1, "")?;
    let [own, exact] = run.length;
    let series = vec![line("co-simulation", &run.t, own), dashes("exact", &run.t, exact)];
    Ok(Figure::new(&named("Fig. 36"), CRANE36, ["t in s", "s_c in m"], series).between(0.0, 10.0))
}

fn fig37(models: &Models) -> Result<Figure, Error> {
    let run = lift(models, FIG36.0, FIG36.1, "")?;
    let series = vec![line("δP", &run.t, run.residual)];
    Ok(Figure::new(&named("Fig. 37"), CRANE36, ["t in s", "δP in W"], series).between(0.0, 10.0))
}
