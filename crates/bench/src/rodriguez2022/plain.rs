//! The scheme of rodriguez2022 §2–3 for its oscillators in a plain loop: of the models only the parameters and the exact solution are
//! used, of the engine nothing.
//!
//! Both sides integrate by symplectic Euler with their inputs sampled at the start of each micro step; the force of a step is
//! computed with the last one (below eq. 9). Equal force givers with equal initial values move alike.

use super::trace::{Setup, Trace};

/// `κ x` or `κ sgn(x) √|x|` (eq. 22), and its energy.
fn spring(k: f64, root: bool, x: f64) -> (f64, f64) {
    if root {
        (k * x.abs().sqrt().copysign(x), k * x.abs().powf(1.5) / 1.5)
    } else {
        (k * x, k * x * x / 2.0)
    }
}

/// `c v` or `c sgn(v) v²` (eq. 23).
fn damper(c: f64, square: bool, v: f64) -> f64 {
    if square { c * v * v.abs() } else { c * v }
}

/// Runs `setup` and compares it with its exact solution at every communication point.
pub fn run(setup: &Setup) -> Trace {
    let case = setup.oscillator();
    let (root, square) = setup.laws();
    let (m1, m2, n) = (case.giver.mass, case.mass.mass, f64::from(case.givers));
    let (h, (r1, r2)) = (setup.step, setup.rates);
    let mut exact = setup.reference();
    let mut trace = Trace::new(h);

    // The force of all givers on the mass, seen from positions and velocities of both ends.
    let force = |x1: f64, v1: f64, x2: f64, v2: f64| {
        -n * (spring(case.coupling_stiffness, root, x2 - x1).0
            + damper(case.coupling_damping, square, v2 - v1))
    };
    let ground = |k: f64, c: f64, x: f64, v: f64| spring(k, root, x).0 + damper(c, square, v);
    let (mut x1, mut v1) = (case.giver.initial_position, case.giver.initial_velocity);
    let (mut x2, mut v2) = (case.mass.initial_position, case.mass.initial_velocity);
    let mut f = force(x1, v1, x2, v2);
    let (mut f_past, mut x2_past, mut v2_past) = ([f; 2], [x2; 2], [v2; 2]);
    let (mut f_corr, mut zeta, mut uncorrected) = (0.0, 0.0, 0.0);
    let steps = (setup.stop / h).round() as usize;
    for k in 0..steps {
        // In the first step there is no past: everything is held; in the second one a line is all that there is.
        let order = usize::from(setup.hold).min(k);
        let at = |now: f64, [old, older]: [f64; 2], share: f64| match order {
            0 => now,
            1 => now + share * (now - old),
            _ => now + share * (now - old) + 0.5 * share * (share + 1.0) * (now - 2.0 * old + older),
        };
        let (mut y1, mut w1, mut y2, mut w2) = (x1, v1, x2, v2);
        let mut seen = (x2, v2);
        for i in 0..r1 {
            let share = f64::from(i) / f64::from(r1);
            seen = (at(x2, x2_past, share), at(v2, v2_past, share));
            let pull = -force(y1, w1, seen.0, seen.1) / n;
            let dt = h / f64::from(r1);
            w1 += dt * (pull - ground(case.giver.stiffness, case.giver.damping, y1, w1)) / m1;
            y1 += dt * w1;
        }
        for i in 0..r2 {
            let held = at(f, f_past, f64::from(i) / f64::from(r2)) + f_corr;
            let dt = h / f64::from(r2);
            w2 += dt * (held - ground(case.mass.stiffness, case.mass.damping, y2, w2)) / m2;
            y2 += dt * w2;
        }
        let f_new = force(y1, w1, seen.0, seen.1);
        let residual = f * w2 - f_new * v2;
        if let Some(c) = setup.correction {
            uncorrected += zeta + f_corr * w2 * h;
            zeta = c.mu * h * residual;
            f_corr = if w2 == 0.0 { 0.0 } else { -(zeta + c.nu * uncorrected) / (w2 * h) };
            let cap = c.cap * f_new.abs();
            f_corr = f_corr.clamp(-cap, cap);
        }
        let older = |past: [f64; 2], now: f64| [now, past[0]];
        (f_past, x2_past, v2_past) = (older(f_past, f), older(x2_past, x2), older(v2_past, v2));
        (x1, v1, x2, v2, f) = (y1, w1, y2, w2, f_new);

        let own = |mass: f64, v: f64| 0.5 * mass * v * v;
        let rest = n * (own(m1, v1) + spring(case.giver.stiffness, root, x1).1)
            + own(m2, v2)
            + spring(case.mass.stiffness, root, x2).1;
        let coupling = |x2: f64| n * spring(case.coupling_stiffness, root, x2 - x1).1;
        exact.advance_to((k + 1) as f64 * h);
        trace.add(&exact, x2, [rest + coupling(x2), rest + coupling(seen.0)], residual);
    }
    trace
}
