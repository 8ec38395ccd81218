//! The crane of rodriguez2022 §4.4 in a plain loop: of the models only the parameters and the exact solution are used, of the engine
//! nothing. The mechanics make one step of symplectic Euler per macro step, the hydraulics several of Euler's method with extrapolated inputs (first-order hold).

use super::crane::Lift;
use powerbond::models::crane::{ARM, CIRCUIT, Reference};

/// The largest correction beside a force, in N.
pub type Cap = fn(f64) -> f64;

/// How the text is read.
#[derive(Clone, Copy)]
pub struct Reading {
    /// H and how many steps the hydraulics make in it.
    pub steps: (f64, u32),
    /// The mechanics get the mean of the force over the last macro step instead of its last value.
    pub mean_force: bool,
    /// δP has the input that the hydraulics saw last instead of u_k.
    pub extrapolated: bool,
    /// μ and the largest correction; none: uncorrected. The cap is a share of the force and a force, of which one applies.
    pub correction: Option<(f64, Cap)>,
}

/// Runs 10 s and compares them with the exact solution.
pub fn run(reading: &Reading) -> Lift {
    let Reading { steps: (h, rate), mean_force, extrapolated, correction } = *reading;
    let c = &CIRCUIT;
    let dt = h / f64::from(rate);
    let mut exact = Reference::new(&ARM, c);
    let mut lift = Lift::default();
    let [mut a, mut b] = ARM.initial_angles;
    let (mut wa, mut wb) = (0.0, 0.0);
    let g = equilibrium();
    let mix = |x: f64, y: f64| (x * x * c.pump_pressure + y * y * c.tank_pressure) / (x * x + y * y);
    let (mut p1, mut p2) = (mix(g, 1.0 - g), mix(1.0 - g, g));
    let (mut s, _) = cylinder(a);
    let (mut v, mut s_last, mut v_last) = (0.0, s, 0.0);
    let mut f = c.piston_area * (p2 - p1);
    let mut f_corr = 0.0;
    let mut k = 0;
    while (f64::from(k) * h) < 10.0 - 1e-9 {
        let start = f64::from(k) * h;
        let line = if k > 0 { 1.0 } else { 0.0 };
        let (mut q1, mut q2, mut f_new, mut sum, mut seen) = (p1, p2, f, 0.0, v);
        for i in 0..rate {
            let share = line * f64::from(i) / f64::from(rate);
            let (si, vi) = (s + share * (s - s_last), v + share * (v - v_last));
            let [r1, r2] = pressures(q1, q2, spool(g, start + f64::from(i) * dt), si, vi);
            (q1, q2) = (q1 + dt * r1, q2 + dt * r2);
            f_new = c.piston_area * (q2 - q1) - c.friction * vi;
            (sum, seen) = (sum + f_new, vi);
        }
        if mean_force {
            f_new = sum / f64::from(rate);
        }
        let [aa, ab] = accelerations(a, b, wa, wb, f + f_corr);
        (wa, wb) = (wa + h * aa, wb + h * ab);
        (a, b) = (a + h * wa, b + h * wb);
        let (s_new, slope) = cylinder(a);
        let v_new = slope * wa;
        let residual = f * v_new - f_new * if extrapolated { seen } else { v };
        if let Some((mu, cap)) = correction {
            let most = cap(f_new.abs());
            f_corr = if v_new == 0.0 { 0.0 } else { (-mu * residual / v_new).clamp(-most, most) };
        }
        (s_last, v_last, s, v, f, p1, p2) = (s, v, s_new, v_new, f_new, q1, q2);
        k += 1;
        let t = f64::from(k) * h;
        exact.advance_to(t);
        lift.add(t, [s, exact.length()], energy(a, b, wa, wb) - exact.energy(), residual);
    }
    lift
}

/// Length of the cylinder between B and the middle of link 1, and its slope over θ1.
fn cylinder(a: f64) -> (f64, f64) {
    let half = 0.5 * ARM.link1_length;
    let (x, y) = (half * a.cos() - ARM.base[0], half * a.sin() - ARM.base[1]);
    let s = x.hypot(y);
    (s, (-x * half * a.sin() + y * half * a.cos()) / s)
}

/// The spool's position at which the force of the cylinder carries the arm.
fn equilibrium() -> f64 {
    let [a, _] = ARM.initial_angles;
    let weight = ARM.gravity * (0.5 * ARM.link1_mass + ARM.elbow_mass + ARM.tip_mass);
    let force = weight * ARM.link1_length * a.cos() / cylinder(a).1;
    let drop = CIRCUIT.pump_pressure - CIRCUIT.tank_pressure;
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let g = 0.5 * (low + high);
        let (open, shut) = (g * g, (1.0 - g) * (1.0 - g));
        // The force falls as the valve opens.
        let pushes = CIRCUIT.piston_area * drop * (shut - open) / (shut + open) > force;
        *(if pushes { &mut low } else { &mut high }) = g;
    }
    0.5 * (low + high)
}

/// Eq. 33.
fn spool(at_rest: f64, t: f64) -> f64 {
    let amplitude = match t {
        t if t < 1.0 => 0.1 * t,
        t if t < 8.0 => 0.1,
        t if t < 9.0 => 0.1 * (9.0 - t),
        _ => 0.0,
    };
    at_rest * (1.0 - amplitude * (4.0 * std::f64::consts::PI * t).sin())
}

/// Eq. 26–32.
fn pressures(p1: f64, p2: f64, spool: f64, s: f64, v: f64) -> [f64; 2] {
    let c = &CIRCUIT;
    let flow = |area: f64, drop: f64| {
        if drop < 0.0 { 0.0 } else { area * c.discharge * (2.0 * drop / c.density).sqrt() }
    };
    let bulk = |p: f64| {
        (1.0 + p * (c.compressibility + c.compressibility_slope * p))
            / (c.compressibility + 2.0 * c.compressibility_slope * p)
    };
    let (inlet, outlet) = (c.valve_area * spool, c.valve_area * (1.0 - spool));
    let (l4, l5) =
        (0.5 * c.cylinder_length + c.initial_length - s, 0.5 * c.cylinder_length + s - c.initial_length);
    let swept = c.piston_area * v;
    [
        bulk(p1) / (c.piston_area * l4)
            * (swept + flow(inlet, c.pump_pressure - p1) - flow(outlet, p1 - c.tank_pressure)),
        bulk(p2) / (c.piston_area * l5)
            * (flow(outlet, c.pump_pressure - p2) - flow(inlet, p2 - c.tank_pressure) - swept),
    ]
}

/// Lagrange's equations of both links: link 1 uniform, masses at its end and at that of link 2.
fn accelerations(a: f64, b: f64, wa: f64, wb: f64, f: f64) -> [f64; 2] {
    let (l1, l2, m1, m2, m3, g) =
        (ARM.link1_length, ARM.link2_length, ARM.link1_mass, ARM.elbow_mass, ARM.tip_mass, ARM.gravity);
    let (j1, j2, j) = ((m1 / 3.0 + m2 + m3) * l1 * l1, m3 * l2 * l2, m3 * l1 * l2);
    let (coupled, turned) = (j * (a - b).cos(), j * (a - b).sin());
    let q1 = f * cylinder(a).1 - turned * wb * wb - g * (0.5 * m1 + m2 + m3) * l1 * a.cos();
    let q2 = turned * wa * wa - m3 * g * l2 * b.cos();
    let determinant = j1 * j2 - coupled * coupled;
    [(j2 * q1 - coupled * q2) / determinant, (j1 * q2 - coupled * q1) / determinant]
}

/// Kinetic and potential, in J.
fn energy(a: f64, b: f64, wa: f64, wb: f64) -> f64 {
    let (l1, l2, m1, m2, m3, g) =
        (ARM.link1_length, ARM.link2_length, ARM.link1_mass, ARM.elbow_mass, ARM.tip_mass, ARM.gravity);
    let elbow = l1 * wa;
    // The velocity of the tip: that of the elbow and its own, at the angle a − b.
    let tip = elbow * elbow + l2 * wb * (l2 * wb + 2.0 * elbow * (a - b).cos());
    let kinetic = m1 * elbow * elbow / 6.0 + 0.5 * m2 * elbow * elbow + 0.5 * m3 * tip;
    kinetic + g * (0.5 * m1 * l1 * a.sin() + m2 * l1 * a.sin() + m3 * (l1 * a.sin() + l2 * b.sin()))
}
