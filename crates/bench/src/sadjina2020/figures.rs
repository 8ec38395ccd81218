//! Figures 4 to 6 of sadjina2020: the average error of the power over time, reticulation 2, linear.

use super::find;
use crate::Models;
use crate::figure::{Drawing, Figure, points};
use powerbond::Error;
use powerbond::picture::Drawn;

/// All of them.
pub const FIGURES: &[Drawing] = &[
    Drawing { id: "fig4", draw: |models| figure(models, "Fig. 4", &[MODIFIED, NEPCE, NONE]) },
    Drawing { id: "fig5", draw: |models| figure(models, "Fig. 5", &[ECCO, NEPCE, NONE]) },
    Drawing { id: "fig6", draw: |models| figure(models, "Fig. 6", &[ECCO_MODIFIED, ECCO, NONE]) },
];

/// Row, and what the legend calls it.
type Curve = (&'static str, &'static str);
const NONE: Curve = ("5/constant", "constant step, no correction");
const NEPCE: Curve = ("5/nepce", "constant step, NEPCE");
const MODIFIED: Curve = ("5/nepce-mod", "constant step, NEPCE mod.");
const ECCO: Curve = ("7/nepce", "ECCO, NEPCE");
const ECCO_MODIFIED: Curve = ("7/nepce-mod", "ECCO, NEPCE mod.");

/// Solid, dashed and dotted, as in the paper.
fn figure(models: &Models, figure: &str, curves: &[Curve]) -> Result<Figure, Error> {
    let mut series = Vec::new();
    for (id, name) in curves {
        let row = find(id)?;
        let (step, method) = row.method(row.tolerance);
        let run = row.case().trace(models, step, &method)?;
        let drawn = [Drawn::Line, Drawn::Dashes, Drawn::Dotted][series.len().min(2)];
        series.push(points(name, run.t.into_iter().zip(run.mean_error).collect(), drawn));
    }
    let about = "average error of the power so far (eq. 15a), R2 linear";
    let figure = Figure::new(&format!("sadjina2020, {figure}"), about, ["t in s", "ΔP in W"], series);
    // The last step may go beyond the end.
    Ok(figure.between(0.0, 4.0))
}
