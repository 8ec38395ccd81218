//! The scheme of rodriguez2022 §2–3 for its pendula in a plain loop: of the models only the parameters are used, of the engine nothing.
//!
//! One angle per pendulum, symplectic Euler, inputs sampled at the start of a step; the force of a step is computed with the last one.

use powerbond::models::pendula::Case;

/// μ and ν of a correction whose cap is the force itself.
pub type Knobs = (f64, f64);

/// What came out, step by step.
pub struct Run {
    /// Mechanical energy of the state over that of the start, in J.
    pub gained: Vec<f64>,
    /// Position of tip 2, in m.
    pub tip: Vec<[f64; 2]>,
    /// δP, in W.
    pub residual: Vec<f64>,
}

fn dot(a: [f64; 2], b: [f64; 2]) -> f64 {
    a[0] * b[0] + a[1] * b[1]
}

/// 30 s with steps of 1 ms. Without damping the exact energy is that of the start.
pub fn run(case: &Case, correction: Option<Knobs>) -> Run {
    let (h, link) = (1e-3, case.link);
    let tip = |i: usize, angle: f64| {
        let rod = &case.rods[i];
        [rod.pivot[0] + rod.length * angle.sin(), rod.pivot[1] - rod.length * angle.cos()]
    };
    let along = |i: usize, angle: f64| {
        let length = case.rods[i].length;
        [length * angle.cos(), length * angle.sin()]
    };
    let tension = |p: [f64; 2], q: [f64; 2]| {
        let d = [q[0] - p[0], q[1] - p[1]];
        let length = dot(d, d).sqrt();
        d.map(|x| -link.stiffness * (length - link.natural_length) * x / length)
    };
    let energy = |angle: [f64; 2], speed: [f64; 2]| {
        let own = |i: usize| {
            let rod = &case.rods[i];
            let height = rod.length * (1.0 - angle[i].cos());
            rod.mass * (0.5 * (rod.length * speed[i]).powi(2) + rod.gravity * height)
        };
        let [p, q] = [tip(0, angle[0]), tip(1, angle[1])];
        let stretch = (q[0] - p[0]).hypot(q[1] - p[1]) - link.natural_length;
        own(0) + own(1) + 0.5 * link.stiffness * stretch * stretch
    };
    let (mut angle, mut speed) = (case.initial_angles, [0.0; 2]);
    let start = energy(angle, speed);
    let mut force = tension(tip(0, angle[0]), tip(1, angle[1]));
    let (mut added, mut zeta, mut uncorrected) = ([0.0; 2], 0.0, 0.0);
    let mut run = Run { gained: Vec::new(), tip: Vec::new(), residual: Vec::new() };
    for _ in 0..30_000 {
        let (seen, given) = (tip(1, angle[1]), force);
        let v = along(1, angle[1]).map(|x| x * speed[1]);
        let pull = tension(tip(0, angle[0]), seen).map(|f| -f);
        for (i, f) in [pull, [force[0] + added[0], force[1] + added[1]]].into_iter().enumerate() {
            let rod = &case.rods[i];
            let torque = dot(f, along(i, angle[i])) / rod.length - rod.mass * rod.gravity * angle[i].sin();
            speed[i] += h * torque / (rod.mass * rod.length);
            angle[i] += h * speed[i];
        }
        force = tension(tip(0, angle[0]), seen);
        let v_new = along(1, angle[1]).map(|x| x * speed[1]);
        let residual = dot(given, v_new) - dot(force, v);
        if let Some((mu, nu)) = correction {
            uncorrected += zeta + dot(added, v_new) * h;
            zeta = mu * h * residual;
            let square = dot(v_new, v_new);
            let share = if square == 0.0 { 0.0 } else { -(zeta + nu * uncorrected) / (square * h) };
            let (size, cap) = ((share * share * square).sqrt(), dot(force, force).sqrt());
            let factor = if size > cap { share * cap / size } else { share };
            added = v_new.map(|x| factor * x);
        }
        run.gained.push(energy(angle, speed) - start);
        run.tip.push(tip(1, angle[1]));
        run.residual.push(residual);
    }
    run
}

impl Run {
    /// Mean energy error of the last second, in J.
    pub fn energy_error(&self) -> f64 {
        let last = &self.gained[self.gained.len() - 1000..];
        last.iter().sum::<f64>() / last.len() as f64
    }

    /// Share of the steps in which δP is not above zero.
    pub fn share_not_above_zero(&self) -> f64 {
        self.residual.iter().filter(|p| **p <= 0.0).count() as f64 / self.residual.len() as f64
    }
}
