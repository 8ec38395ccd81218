//! Figures 4 and 6 to 10 of sadjina2017.

use super::{MICRO_STEPS, find};
use crate::Models;
use crate::figure::{Drawing, Figure, dashes, line, points};
use crate::quarter_car::{Case, Split, Trace, reference};
use powerbond::Error;
use powerbond::picture::Drawn;

/// All of them.
pub const FIGURES: &[Drawing] = &[
    Drawing { id: "fig4", draw: fig4 },
    Drawing { id: "fig6", draw: |_| displacements("Fig. 6", false, 4.0) },
    Drawing { id: "fig7-left", draw: |models| power(models, "Fig. 7, left", "III/constant") },
    Drawing { id: "fig7-right", draw: |models| residual(models, "Fig. 7, right", "III/constant", None) },
    Drawing { id: "fig8", draw: |models| residual(models, "Fig. 8", "III/constant", Some("III/2.8e-6")) },
    Drawing { id: "fig9", draw: |_| displacements("Fig. 9", true, 2.0) },
    Drawing { id: "fig10-left", draw: |models| power(models, "Fig. 10, left", "V/constant") },
    Drawing {
        id: "fig10-right",
        draw: |models| residual(models, "Fig. 10, right", "V/constant", Some("V/7.5e-6")),
    },
];

/// Eight steps per decade, up to the limit of stability.
fn fig4(models: &Models) -> Result<Figure, Error> {
    let (mut errors, mut estimates) = (Vec::new(), Vec::new());
    for k in 0..=22 {
        let step = 10f64.powf(-4.0 + f64::from(k) / 8.0);
        let m = Case::new(Split::R1, false, MICRO_STEPS).measure(models, step, "")?;
        errors.push((step, m.dp));
        estimates.push((step, m.error_bar));
    }
    let series = vec![
        points("mean |ΔP|, true error", errors, Drawn::Dashes),
        points("mean |δP|/2, estimate", estimates, Drawn::Line),
    ];
    let about = "error of the power and its estimate by the residual, R1 linear, 4 s";
    Ok(Figure::new("sadjina2017, Fig. 4", about, ["Δt in s", "ΔP in W"], series).logarithmic())
}

fn displacements(figure: &str, nonlinear: bool, stop: f64) -> Result<Figure, Error> {
    let mut car = reference(nonlinear);
    let t: Vec<f64> = (0..=2000).map(|k| stop * f64::from(k) / 2000.0).collect();
    let z: Vec<[f64; 2]> = t
        .iter()
        .map(|&t| {
            car.advance_to(t);
            car.positions()
        })
        .collect();
    let series =
        vec![line("wheel", &t, z.iter().map(|z| z[1])), dashes("chassis", &t, z.iter().map(|z| z[0]))];
    let damping = if nonlinear { "nonlinear" } else { "linear" };
    let about = format!("displacements, {damping} damping, monolithic solution");
    Ok(Figure::new(&format!("sadjina2017, {figure}"), &about, ["t in s", "z in m"], series))
}

fn trace(models: &Models, id: &str) -> Result<Trace, Error> {
    let row = find(id).ok_or_else(|| Error::input(None, format!("no row `{id}`")))?;
    let (step, method) = row.method(1.0);
    row.case().trace(models, step, &method)
}

fn power(models: &Models, figure: &str, id: &str) -> Result<Figure, Error> {
    let run = trace(models, id)?;
    let series = vec![
        line("co-simulation, Δt = 1 ms", &run.t, run.power),
        dashes("monolithic solution", &run.t, run.exact_power),
    ];
    let about = "power transmitted from S1 to S2, R1, constant step";
    Ok(Figure::new(&format!("sadjina2017, {figure}"), about, ["t in s", "P_12 in W"], series))
}

fn residual(models: &Models, figure: &str, constant: &str, adaptive: Option<&str>) -> Result<Figure, Error> {
    let mut series = Vec::new();
    if let Some(id) = adaptive {
        let run = trace(models, id)?;
        series.push(line(
            &format!("ECCO, r = {}", id.split('/').nth(1).unwrap_or(id)),
            &run.t,
            run.residual_energy,
        ));
    }
    let run = trace(models, constant)?;
    let drawn = if adaptive.is_some() { Drawn::Dashes } else { Drawn::Line };
    let all = run.t.into_iter().zip(run.residual_energy).collect();
    series.push(points("constant step, 1 ms", all, drawn));
    let about = "residual energy accumulated over time, R1";
    let figure = Figure::new(&format!("sadjina2017, {figure}"), about, ["t in s", "∫δP dt in J"], series);
    // The last step may go beyond the end.
    Ok(figure.between(0.0, find(constant).map_or(f64::INFINITY, |row| row.case().stop)))
}
