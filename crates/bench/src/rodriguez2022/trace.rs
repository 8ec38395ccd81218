//! Oscillators of rodriguez2022 over time: what the figures draw, and the numbers that rows take from it.

use crate::Models;
use crate::force_displacement::Star;
use powerbond::Error;
use powerbond::models::nonlinear_oscillator;
use powerbond::models::oscillator::{self, Reference};

/// An oscillator with the scheme that runs it.
#[derive(Clone, Copy)]
pub struct Setup {
    /// Which one.
    pub case: Oscillator,
    /// Sub-steps of force givers and of the mass.
    pub rates: (u32, u32),
    /// Hold order.
    pub hold: u8,
    /// The correction; none: uncorrected.
    pub correction: Option<Correction>,
    /// H, in s.
    pub step: f64,
    /// Length of the run, in s: durations are not printed.
    pub stop: f64,
}

/// With linear laws or others.
#[derive(Clone, Copy)]
pub enum Oscillator {
    /// Tables 1 and 2.
    Linear(&'static oscillator::Case),
    /// Table 3.
    Nonlinear(&'static nonlinear_oscillator::Case),
}

/// Knobs of eq. 13–17.
#[derive(Clone, Copy)]
pub struct Correction {
    /// μ.
    pub mu: f64,
    /// ν.
    pub nu: f64,
    /// Largest correction as a share of the force; infinite: none.
    pub cap: f64,
}

impl Correction {
    /// Its line of a system file.
    pub fn line(&self) -> String {
        let cap = if self.cap.is_finite() { self.cap.to_string() } else { "\"none\"".to_owned() };
        format!(
            "correction = {{ kind = \"energy\", mu = {}, nu = {}, cap = {cap}, beyond_limits = true }}",
            self.mu, self.nu
        )
    }
}

impl Setup {
    /// One rate, steps of 1 ms, 10 s, uncorrected.
    pub fn new(case: Oscillator) -> Self {
        Setup { case, rates: (1, 1), hold: 0, correction: None, step: 1e-3, stop: 10.0 }
    }

    /// The same with a correction.
    pub fn corrected(self, mu: f64, nu: f64, cap: f64) -> Self {
        Setup { correction: Some(Correction { mu, nu, cap }), ..self }
    }

    /// Masses, coefficients and initial values.
    pub fn oscillator(&self) -> &'static oscillator::Case {
        match self.case {
            Oscillator::Linear(case) => case,
            Oscillator::Nonlinear(case) => &case.oscillator,
        }
    }

    /// Whether springs follow a square root, and dampers a square.
    pub fn laws(&self) -> (bool, bool) {
        match self.case {
            Oscillator::Linear(_) => (false, false),
            Oscillator::Nonlinear(case) => (case.spring == "square-root", case.damper == "quadratic"),
        }
    }

    /// The exact solution.
    pub fn reference(&self) -> Reference {
        match self.case {
            Oscillator::Linear(case) => Reference::new(case),
            Oscillator::Nonlinear(case) => case.reference(),
        }
    }

    /// Runs it through the engine, with `more` lines of `[method]`.
    pub fn run(&self, models: &Models, more: &str) -> Result<Trace, Error> {
        let star = match self.case {
            Oscillator::Linear(case) => Star::oscillator(case),
            Oscillator::Nonlinear(case) => Star::nonlinear(case),
        };
        let star = Star {
            record: &["giver1.own_position", "giver1.own_velocity", "*.energy"],
            rates: self.rates,
            step: self.step,
            stop: self.stop,
            ..star
        };
        let mut method = format!("hold = {}\n{more}\n", self.hold);
        method += &self.correction.map(|c| c.line()).unwrap_or_default();
        let (mut trace, mut exact) = (Trace::new(self.step), self.reference());
        let givers = f64::from(self.oscillator().givers);
        star.run(models, &method, &["motion.position", "motion.velocity", "giver1.force"], |seen| {
            exact.advance_to(seen.step.span.end);
            let positions = [seen.value("giver1.own_position"), seen.output(0)];
            let velocities = [seen.value("giver1.own_velocity"), seen.output(1)];
            let energies = [exact.energy_of(positions, velocities), seen.sum("energy")];
            let residual = givers * seen.paper_residual(2, 1);
            trace.add(&exact, positions[1], energies, residual);
        })?;
        Ok(trace)
    }
}

/// A run at its communication points.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// H, in s.
    pub step: f64,
    /// η of the mass that forces act on, and the exact one, in m.
    pub position: [Vec<f64>; 2],
    /// Mechanical energy of the state, in J.
    pub energy: Vec<f64>,
    /// Energies that the subsystems count, each with its own input: the coupling spring's from the last one that was given, in J.
    pub own_energy: Vec<f64>,
    /// Of the exact solution, in J.
    pub exact_energy: Vec<f64>,
    /// δP = f_k v_{k+1} − f_{k+1} v_k, in W: the manager takes inputs as unchanged over a macro step (below eq. 9).
    pub residual: Vec<f64>,
}

impl Trace {
    /// Nothing yet.
    pub fn new(step: f64) -> Self {
        Trace { step, ..Trace::default() }
    }

    /// Another communication point; energies of the state, and as subsystems count them.
    pub fn add(&mut self, exact: &Reference, position: f64, [energy, own]: [f64; 2], residual: f64) {
        self.position[0].push(position);
        self.position[1].push(exact.positions()[1]);
        self.energy.push(energy);
        self.own_energy.push(own);
        self.exact_energy.push(exact.energy());
        self.residual.push(residual);
    }

    /// Communication points in a second.
    fn second(&self) -> usize {
        ((1.0 / self.step).round() as usize).min(self.energy.len())
    }

    /// Mean energy of the last second over that of the exact solution.
    pub fn energy_ratio(&self) -> f64 {
        let last = self.energy.len() - self.second();
        self.energy[last..].iter().sum::<f64>() / self.exact_energy[last..].iter().sum::<f64>()
    }

    /// Mean energy of the last second over that of the first.
    pub fn growth(&self) -> f64 {
        let (n, second) = (self.energy.len(), self.second());
        self.energy[n - second..].iter().sum::<f64>() / self.energy[..second].iter().sum::<f64>()
    }

    /// The largest error of η, in m.
    pub fn position_error(&self) -> f64 {
        let [own, exact] = &self.position;
        own.iter().zip(exact).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
    }

    /// rms of η in the second half over that of the exact solution.
    pub fn amplitude_ratio(&self) -> f64 {
        let half = self.energy.len() / 2;
        let square = |i: usize| self.position[i][half..].iter().map(|x| x * x).sum::<f64>();
        (square(0) / square(1)).sqrt()
    }

    /// By how much η lags behind in the last second, in ms (least squares, parabola between samples).
    pub fn delay(&self) -> f64 {
        let [path, exact] = &self.position;
        let (n, window) = (path.len(), self.second());
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
        1e3 * self.step * (best as f64 + 0.5 * (left - right) / (left - 2.0 * middle + right))
    }

    /// δE(t) = Σ H δP, in J.
    pub fn created(&self) -> impl Iterator<Item = f64> + '_ {
        self.residual.iter().scan(0.0, |sum, p| {
            *sum += self.step * p;
            Some(*sum)
        })
    }

    /// Slope of the energy error over δE (least squares): the bounded energy error of symplectic Euler is not in it.
    pub fn mu(&self) -> f64 {
        self.slope(&self.energy)
    }

    /// The same with the energies that the subsystems count.
    pub fn own_mu(&self) -> f64 {
        self.slope(&self.own_energy)
    }

    fn slope(&self, energy: &[f64]) -> f64 {
        let (mut n, mut x, mut y, mut xx, mut xy) = (0.0, 0.0, 0.0, 0.0, 0.0);
        for ((created, energy), exact) in self.created().zip(energy).zip(&self.exact_energy) {
            let error = energy - exact;
            n += 1.0;
            x += created;
            y += error;
            xx += created * created;
            xy += created * error;
        }
        (n * xy - x * y) / (n * xx - x * x)
    }
}
