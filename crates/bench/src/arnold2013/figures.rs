//! Figures 4 to 6 of arnold2013: the exact motion, and local errors and their estimates over the communication step.

use super::{START, STOP, explain, norm};
use crate::error_study::{LocalErrors, Split, local_errors};
use crate::figure::{Drawing, Figure, line, points};
use powerbond::Error;
use powerbond::models::quarter_car_splits::Exact;
use powerbond::picture::Drawn;

/// All of them; of figures 5 and 6 one picture per hold order k.
pub const FIGURES: &[Drawing] = &[
    Drawing { id: "fig4", draw: |_| Ok(displacements()) },
    Drawing { id: "fig5-k0", draw: |_| figure(Split::Dd, 0) },
    Drawing { id: "fig5-k1", draw: |_| figure(Split::Dd, 1) },
    Drawing { id: "fig5-k2", draw: |_| figure(Split::Dd, 2) },
    Drawing { id: "fig6-k0", draw: |_| figure(Split::Fd, 0) },
    Drawing { id: "fig6-k1", draw: |_| figure(Split::Fd, 1) },
    Drawing { id: "fig6-k2", draw: |_| figure(Split::Fd, 2) },
];

/// Chassis and wheel after the jump of the road; the length is not printed.
fn displacements() -> Figure {
    let car = Exact::default();
    let t: Vec<f64> = (0..=1500).map(|k| STOP * f64::from(k) / 1500.0).collect();
    let x: Vec<[f64; 4]> = t.iter().map(|&t| car.after(&[0.0; 4], t)).collect();
    let series = vec![
        line("wheel, x_w", &t, x.iter().map(|x| x[2])),
        line("chassis, x_c", &t, x.iter().map(|x| x[0])),
    ];
    let about = "vertical displacements, exact";
    Figure::new("arnold2013, Fig. 4", about, ["t in s", "displacement in m"], series)
}

/// From 0.1 ms to 10 ms. Both estimates fall on the error and on each other: their points alternate.
fn figure(split: Split, k: u8) -> Result<Figure, Error> {
    let curve = |first: i32, of: fn(&LocalErrors) -> &Vec<f64>| {
        let steps =
            (0..=8).map(|n| 10f64.powf(-4.0 + f64::from(4 * n + first) / 16.0)).filter(|h| *h < 1.01e-2);
        steps
            .map(|h| Ok((h, norm(of(&local_errors(split, k, START, h, &[]).map_err(explain)?)))))
            .collect::<Result<Vec<_>, Error>>()
    };
    let series = vec![
        points("local error", curve(0, |e| &e.error)?, Drawn::Line),
        points("EST_Rich", curve(0, |e| &e.published[0])?, Drawn::Apart),
        points("EST_mod", curve(2, |e| &e.published[1])?, Drawn::Apart),
    ];
    let (number, words) = match split {
        Split::Dd => (5, "displacement–displacement"),
        Split::Fd => (6, "force–displacement"),
    };
    let title = format!("arnold2013, Fig. {number}, k = {k}");
    let about = format!("two steps H from {START} s, {words} coupling, hold order {k}");
    Ok(Figure::new(&title, &about, ["H in s", "‖error of y‖"], series).logarithmic())
}
