//! Figures 35 to 37: the hydraulic crane.

use super::oscillators::SAME_SCHEME;
use super::plain_crane::{self, Reading};
use super::plan;
use crate::force_displacement::Star;
use crate::{Models, Plan, Quantity, Source};
use powerbond::Error;
use powerbond::models::crane::{ARM, CIRCUIT, Reference};

/// The crane at its communication points over 10 s.
#[derive(Default)]
pub struct Lift {
    /// In s.
    pub t: Vec<f64>,
    /// Length of the cylinder, and the exact one, in m.
    pub length: [Vec<f64>; 2],
    /// δP, in W.
    pub residual: Vec<f64>,
    /// The largest error of the length, in m.
    pub position_error: f64,
    /// Error of the mechanical energy at the end, in J.
    pub energy_error: f64,
}

impl Lift {
    /// Another communication point: lengths, the energy error so far, δP.
    pub fn add(&mut self, t: f64, [length, exact]: [f64; 2], energy_error: f64, residual: f64) {
        self.t.push(t);
        self.length[0].push(length);
        self.length[1].push(exact);
        self.position_error = self.position_error.max((length - exact).abs());
        self.energy_error = energy_error;
        self.residual.push(residual);
    }

    /// When |δP| is above a tenth of its maximum for the first and the last time.
    fn oscillation(&self) -> (f64, f64) {
        let peak = self.residual.iter().fold(0.0, |a: f64, p| a.max(p.abs()));
        let above =
            || self.t.iter().zip(&self.residual).filter(|(_, p)| p.abs() > 0.1 * peak).map(|(t, _)| *t);
        (above().fold(f64::INFINITY, f64::min), above().fold(0.0, f64::max))
    }

    /// The largest |δP| between two times, in W.
    fn worst(&self, from: f64, to: f64) -> f64 {
        let inside = self.t.iter().zip(&self.residual).filter(|(t, _)| (from..to).contains(*t));
        inside.map(|(_, p)| p.abs()).fold(0.0, f64::max)
    }
}

/// Mechanics with steps of `step`, hydraulics `rate` times as fast, first-order hold, and `method`.
pub fn lift(models: &Models, step: f64, rate: u32, method: &str) -> Result<Lift, Error> {
    let star = Star { record: &["motion.energy"], rates: (rate, 1), step, ..Star::crane() };
    let mut reference = Reference::new(&ARM, &CIRCUIT);
    let mut lift = Lift::default();
    let method = format!("hold = 1\n{method}");
    star.run(models, &method, &["giver1.force", "motion.length", "motion.speed"], |seen| {
        let t = seen.step.span.end;
        reference.advance_to(t);
        let lengths = [seen.output(1), reference.length()];
        lift.add(t, lengths, seen.sum("energy") - reference.energy(), seen.paper_residual(0, 2));
    })?;
    Ok(lift)
}

/// Steps of figure 35.
pub const FIG35: (f64, u32) = (10e-3, 40);
/// Steps of figures 36 and 37.
pub const FIG36: (f64, u32) = (11.5e-3, 115);
/// The correction as it is written: μ by eq. 21, the smaller of both caps, u_k in δP.
pub const WRITTEN: &str = "correction = { kind = \"energy\", mu = \"rule\", cap = 0.1, absolute_cap = 100 }";
/// δP with the extrapolated input ũ_{k+1} of eq. 9.
pub const EXTRAPOLATED: &str =
    "correction = { kind = \"energy\", mu = \"rule\", cap = 0.1, absolute_cap = 100, residual = \"held\" }";

/// Figure 35 in the plain loop, uncorrected; and with the mean of the force.
const PLAIN35: Reading = Reading { steps: FIG35, mean_force: false, extrapolated: false, correction: None };
/// See [`PLAIN35`].
pub const MEAN35: Reading = Reading { mean_force: true, extrapolated: true, ..PLAIN35 };
/// μ of figure 35 with the larger of both caps.
pub const LARGER: (f64, fn(f64) -> f64) = (0.0125, |force| (0.1 * force).max(100.0));
/// What other readings are worth.
const READINGS: &str = "better than without correction, by a hundredth at least; against this reading eq. 21 comes out with u_k in δP only";
/// The reading that the engine does not run.
const MEAN: &str = "better than without correction, by a hundredth at least; the mean of a force is run in the plain loop only";

pub fn figures() -> Vec<Plan> {
    let fig35 = |models: &Models, method: &str| lift(models, FIG35.0, FIG35.1, method);
    let fig36 = |models: &Models, method: &str| lift(models, FIG36.0, FIG36.1, method);
    vec![
        plan("crane/spool", "position of the spool in equilibrium", |_| {
            let spool = CIRCUIT.initial_spool();
            Ok(vec![Quantity::digit("gamma0", "", "Sec. 4.4", "0.45435", spool)])
        }),
        plan(
            "fig35",
            "crane, 10 ms and 0.25 ms: within 2 mm, energy is lost, the correction helps",
            move |models| {
                let plain = fig35(models, "")?;
                let loop35 = plain_crane::run(&PLAIN35);
                let mut list = vec![
                    Quantity::at_most(
                        "max_position_error",
                        "mm",
                        Source::Print("Sec. 5"),
                        2.0,
                        1e3 * plain.position_error,
                    )
                    .published("2"),
                    Quantity::at_most("energy_error", "J", Source::Claim("Sec. 5"), 0.0, plain.energy_error),
                    same("value_position", "mm", 1e3 * loop35.position_error, 1e3 * plain.position_error),
                    same("value_energy", "J", loop35.energy_error, plain.energy_error),
                ];
                let written = fig35(models, WRITTEN)?;
                let claim = || Source::Claim("Fig. 35");
                list.push(Quantity::deviation(
                    "position_as_written",
                    "mm",
                    claim(),
                    (2.981, 0.01),
                    "u_k in δP, with which eq. 21 holds, and the smaller cap: the correction makes it worse",
                    1e3 * written.position_error,
                ));
                list.push(Quantity::deviation(
                    "energy_as_written",
                    "J",
                    claim(),
                    (-29.59, 0.1),
                    "u_k in δP, with which eq. 21 holds, and the smaller cap: the correction makes it worse",
                    written.energy_error,
                ));
                let mean = plain_crane::run(&MEAN35);
                let readings = [
                    ("extrapolated_input", fig35(models, EXTRAPOLATED)?, &plain, READINGS),
                    (
                        "mean_force",
                        plain_crane::run(&Reading { correction: Some(LARGER), ..MEAN35 }),
                        &mean,
                        MEAN,
                    ),
                ];
                for (name, with, without, why) in readings {
                    let (mm, joule) = (1e3 * with.position_error, with.energy_error);
                    let (mm_before, joule_before) = (1e3 * without.position_error, without.energy_error);
                    let names = [format!("position_{name}"), format!("energy_{name}")];
                    let position = Quantity::at_most(&names[0], "mm", claim(), 0.99 * mm_before, mm);
                    let energy = Quantity::at_least(&names[1], "J", claim(), 0.99 * joule_before, joule);
                    list.push(position.because(why).beside("without correction", mm_before));
                    list.push(energy.because(why).beside("without correction", joule_before));
                }
                Ok(list)
            },
        ),
        plan("fig36", "crane, 11.5 ms and 0.1 ms: spurious oscillation from 3 to 5 s", move |models| {
            let lift = fig36(models, "")?;
            let (start, end) = lift.oscillation();
            let error_at_end = match &lift.length {
                [own, exact] => 1e3 * (own[own.len() - 1] - exact[exact.len() - 1]),
            };
            let about = (0.5, "\"approximately\": to the half second");
            Ok(vec![
                Quantity::band("oscillation_start", "s", "Sec. 5", "3", about, start),
                Quantity::band("oscillation_end", "s", "Sec. 5", "5", about, end),
                Quantity::deviation(
                    "error_at_end",
                    "mm",
                    Source::Claim("Sec. 5"),
                    (-98.4, 1.0),
                    "\"recovers and remains stable\": the oscillation ends; what it has left grows, since the equilibrium is unstable",
                    error_at_end,
                ),
            ])
        }),
        plan("fig37", "crane, 11.5 ms and 0.1 ms: spike of δP during the oscillation", move |models| {
            let (lift, looped) = (fig36(models, "")?, plain_crane::run(&Reading { steps: FIG36, ..PLAIN35 }));
            Ok(vec![
                Quantity::at_least(
                    "spike_ratio",
                    "",
                    Source::Claim("Fig. 37"),
                    100.0,
                    lift.worst(3.0, 5.0) / lift.worst(0.0, 1.0),
                )
                .because("\"a clear spike\": a hundred times the first second"),
                same("residual_power_second1", "W", looped.worst(0.0, 1.0), lift.worst(0.0, 1.0)),
                same("residual_power_second4", "W", looped.worst(3.0, 4.0), lift.worst(3.0, 4.0)),
            ])
        }),
    ]
}

/// What the plain loop gives. The start is an unstable equilibrium, in which round-off grows by 0.24 per second.
fn same(name: &str, unit: &'static str, expected: f64, measured: f64) -> Quantity {
    Quantity::near(name, unit, Source::WrittenOut, expected, 1e-5, measured).because(SAME_SCHEME)
}
