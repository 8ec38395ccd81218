//! The hydraulic crane of rodriguez2022 §4.4: an arm of two links, moved by a hydraulic cylinder.
//!
//! Link 1 (uniform, m1, l1) is pinned at the origin A, link 2 (massless, l2) hangs from its end Q, with point masses
//! m2 at Q and m3 at its end P. The cylinder pushes with `f` between B and the middle C of link 1; its length is
//! `s = |C - B|`. Angles count from the x axis (3π/2: link 2 hangs down):
//!
//! `J11 = m1 l1²/3 + (m2 + m3) l1²`, `J22 = m3 l2²`, `J12 = m3 l1 l2 cos(θ1 - θ2)`, `k = m3 l1 l2 sin(θ1 - θ2)`,
//! `J11 θ̈1 + J12 θ̈2 = f ∂s/∂θ1 - k θ̇2² - (m1/2 + m2 + m3) g l1 cos θ1`, `J12 θ̈1 + J22 θ̈2 = k θ̇1² - m3 g l2 cos θ2`.
//!
//! The hydraulics is eq. 25–33 of the paper. All is at rest at the start, where a force of
//! `(m1/2 + m2 + m3) g l1 cos θ1 / (∂s/∂θ1)` = 8829 N carries the arm; this equilibrium is statically unstable.

use super::equations::{input, local, output};
use super::integrate::dormand_prince;
use super::micro::{EULER, Integrator, SYMPLECTIC, micro_steps};
use super::{Built, Capability, Domain, Equations, InputPolynomial, ModelSpec, ParameterSpec, Parameters};
use powerbond_core::subsystem::{SubsystemError, Variable};
use std::f64::consts::{FRAC_PI_6, PI};

/// Links and masses of the crane.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arm {
    /// l1, m.
    pub link1_length: f64,
    /// l2, m.
    pub link2_length: f64,
    /// m1, uniform along link 1, kg.
    pub link1_mass: f64,
    /// m2 at Q, the end of link 1, kg.
    pub elbow_mass: f64,
    /// m3 at P, the end of link 2, kg.
    pub tip_mass: f64,
    /// B, where the cylinder is pinned to the ground, m.
    pub base: [f64; 2],
    /// g, m/s².
    pub gravity: f64,
    /// θ1 and θ2 at the start, rad.
    pub initial_angles: [f64; 2],
}

/// The arm of rodriguez2022 Table 5.
pub const ARM: Arm = Arm {
    link1_length: 1.0,
    link2_length: 0.5,
    link1_mass: 200.0,
    elbow_mass: 250.0,
    tip_mass: 100.0,
    base: [0.866_025_403_784_438_6, 0.0],
    gravity: 9.81,
    initial_angles: [FRAC_PI_6, 1.5 * PI],
};

impl Arm {
    /// s and ∂s/∂θ1, m and m/rad.
    fn cylinder(&self, angle: f64) -> (f64, f64) {
        let (sin, cos) = angle.sin_cos();
        let half = 0.5 * self.link1_length;
        let [x, y] = [half * cos - self.base[0], half * sin - self.base[1]];
        let s = x.hypot(y);
        (s, half * (y * cos - x * sin) / s)
    }

    /// θ̇1, θ̇2, θ̈1, θ̈2 while the cylinder pushes with `force`; `x` = θ1, θ2, θ̇1, θ̇2.
    fn rate(&self, x: &[f64; 4], force: f64) -> [f64; 4] {
        let &[a, b, wa, wb] = x;
        let (l1, l2, m3) = (self.link1_length, self.link2_length, self.tip_mass);
        let j11 = (self.link1_mass / 3.0 + self.elbow_mass + m3) * l1 * l1;
        let j22 = m3 * l2 * l2;
        let (sin, cos) = (a - b).sin_cos();
        let (j12, k) = (m3 * l1 * l2 * cos, m3 * l1 * l2 * sin);
        let weight = self.gravity * (0.5 * self.link1_mass + self.elbow_mass + m3) * l1 * a.cos();
        let q1 = force * self.cylinder(a).1 - k * wb * wb - weight;
        let q2 = k * wa * wa - m3 * self.gravity * l2 * b.cos();
        let det = j11 * j22 - j12 * j12;
        [wa, wb, (j22 * q1 - j12 * q2) / det, (j11 * q2 - j12 * q1) / det]
    }

    /// Kinetic and potential energy, the latter from A, J.
    fn energy(&self, x: &[f64; 4]) -> f64 {
        let &[a, b, wa, wb] = x;
        let (l1, l2, m3) = (self.link1_length, self.link2_length, self.tip_mass);
        let j11 = (self.link1_mass / 3.0 + self.elbow_mass + m3) * l1 * l1;
        let j12 = m3 * l1 * l2 * (a - b).cos();
        let kinetic = 0.5 * (j11 * wa * wa + m3 * l2 * l2 * wb * wb) + j12 * wa * wb;
        let lever = (0.5 * self.link1_mass + self.elbow_mass + m3) * l1;
        kinetic + self.gravity * (lever * a.sin() + m3 * l2 * b.sin())
    }

    /// s and ṡ.
    fn motion(&self, x: &[f64; 4]) -> [f64; 2] {
        let (s, slope) = self.cylinder(x[0]);
        [s, slope * x[2]]
    }
}

/// Cylinder, valve and fluid of the crane.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Circuit {
    /// a_p, m².
    pub piston_area: f64,
    /// l3, m; the piston starts in the middle.
    pub cylinder_length: f64,
    /// c, N.s/m.
    pub friction: f64,
    /// a of eq. 28, 1/Pa.
    pub compressibility: f64,
    /// b of eq. 28, 1/Pa².
    pub compressibility_slope: f64,
    /// c_d.
    pub discharge: f64,
    /// ρ, kg/m³.
    pub density: f64,
    /// p_P, Pa.
    pub pump_pressure: f64,
    /// p_T, Pa.
    pub tank_pressure: f64,
    /// Of the fully open valve, m²; eq. 31, 32.
    pub valve_area: f64,
    /// A of eq. 33 between 1 s and 8 s.
    pub spool_amplitude: f64,
    /// ω of eq. 33, which the paper multiplies by 2π, Hz.
    pub spool_frequency: f64,
    /// s at the start, m.
    pub initial_length: f64,
    /// Its force at rest at the start, N.
    pub initial_force: f64,
}

/// The circuit of rodriguez2022 Table 5 and eq. 31–33, in equilibrium with [`ARM`].
pub const CIRCUIT: Circuit = Circuit {
    piston_area: 65e-4,
    cylinder_length: 0.442,
    friction: 1e5,
    compressibility: 6.53e-10,
    compressibility_slope: -1.19e-18,
    discharge: 0.67,
    density: 850.0,
    pump_pressure: 7.6e6,
    tank_pressure: 1e5,
    valve_area: 5e-4,
    spool_amplitude: 0.1,
    spool_frequency: 2.0,
    initial_length: 0.5,
    initial_force: 8829.0,
};

impl Circuit {
    /// γ0, the spool position in equilibrium with the initial force.
    ///
    /// At rest both chambers let as much in as out, `p1 = (γ² p_P + (1-γ)² p_T)/(γ² + (1-γ)²)` and p2 mirrored, so
    /// that with d = 1 - 2γ the force is `a_p (p_P - p_T) · 2d/(1 + d²)`.
    pub fn initial_spool(&self) -> f64 {
        let q = self.initial_force / (self.piston_area * (self.pump_pressure - self.tank_pressure));
        // The solution with |d| ≤ 1, in a form that keeps its digits near 0.
        let d = q / (1.0 + (1.0 - q * q).sqrt());
        0.5 * (1.0 - d)
    }

    fn initial_pressures(&self) -> [f64; 2] {
        let g = self.initial_spool();
        let (open, shut) = (g * g, (1.0 - g) * (1.0 - g));
        let [pump, tank] = [self.pump_pressure, self.tank_pressure];
        [(open * pump + shut * tank) / (open + shut), (shut * pump + open * tank) / (open + shut)]
    }

    /// γ(t); eq. 33.
    pub fn spool(&self, t: f64) -> f64 {
        let fade = if t < 1.0 { t } else { (9.0 - t).clamp(0.0, 1.0) };
        let swing = (2.0 * PI * self.spool_frequency * t).sin();
        self.initial_spool() * (1.0 - self.spool_amplitude * fade * swing)
    }

    /// l4 and l5, m; eq. 29, 30.
    fn chambers(&self, s: f64) -> [f64; 2] {
        let moved = s - self.initial_length;
        [0.5 * self.cylinder_length - moved, 0.5 * self.cylinder_length + moved]
    }

    /// ṗ1 and ṗ2; eq. 26–28.
    fn rate(&self, p: [f64; 2], spool: f64, motion: [f64; 2]) -> [f64; 2] {
        let [s, speed] = motion;
        let flow = |area: f64, drop: f64| area * self.discharge * (2.0 * drop.max(0.0) / self.density).sqrt();
        let (a_i, a_o) = (self.valve_area * spool, self.valve_area * (1.0 - spool));
        let (a, b) = (self.compressibility, self.compressibility_slope);
        let bulk = |p: f64| (1.0 + a * p + b * p * p) / (a + 2.0 * b * p);
        let [l4, l5] = self.chambers(s);
        let swept = self.piston_area * speed;
        let [pump, tank] = [self.pump_pressure, self.tank_pressure];
        [
            bulk(p[0]) / (self.piston_area * l4) * (swept + flow(a_i, pump - p[0]) - flow(a_o, p[0] - tank)),
            bulk(p[1]) / (self.piston_area * l5) * (-swept + flow(a_o, pump - p[1]) - flow(a_i, p[1] - tank)),
        ]
    }

    /// `f = a_p (p2 - p1) - c ṡ`; eq. 25.
    fn force(&self, p: [f64; 2], speed: f64) -> f64 {
        self.piston_area * (p[1] - p[0]) - self.friction * speed
    }
}

const fn parameter(
    name: &'static str,
    unit: &'static str,
    domain: Domain,
    description: &'static str,
) -> ParameterSpec {
    ParameterSpec { name, unit, domain, description }
}

/// `crane/hydraulics`: cylinder, valve and fluid.
pub static HYDRAULICS: ModelSpec = ModelSpec {
    name: "crane/hydraulics",
    description: "The hydraulic cylinder of a crane; `force` pushes its ends apart, with direct feed-through from the speed",
    parameters: &[
        parameter("piston_area", "m2", Domain::positive(CIRCUIT.piston_area), "Area of the piston"),
        parameter(
            "cylinder_length",
            "m",
            Domain::positive(CIRCUIT.cylinder_length),
            "Inner length of the cylinder",
        ),
        parameter("friction", "N.s/m", Domain::not_negative(CIRCUIT.friction), "Friction of the piston"),
        parameter(
            "compressibility",
            "1/Pa",
            Domain::any(CIRCUIT.compressibility),
            "Coefficient a of the fluid",
        ),
        parameter(
            "compressibility_slope",
            "1/Pa2",
            Domain::any(CIRCUIT.compressibility_slope),
            "Coefficient b of the fluid",
        ),
        parameter(
            "discharge",
            "",
            Domain::not_negative(CIRCUIT.discharge),
            "Discharge coefficient of the valves",
        ),
        parameter("density", "kg/m3", Domain::positive(CIRCUIT.density), "Density of the fluid"),
        parameter("pump_pressure", "Pa", Domain::not_negative(CIRCUIT.pump_pressure), "Pressure at the pump"),
        parameter("tank_pressure", "Pa", Domain::not_negative(CIRCUIT.tank_pressure), "Pressure at the tank"),
        parameter("valve_area", "m2", Domain::not_negative(CIRCUIT.valve_area), "Area of a fully open valve"),
        parameter(
            "spool_amplitude",
            "",
            Domain::not_negative(CIRCUIT.spool_amplitude),
            "Relative amplitude of the spool",
        ),
        parameter(
            "spool_frequency",
            "Hz",
            Domain::not_negative(CIRCUIT.spool_frequency),
            "Frequency of the spool",
        ),
        parameter(
            "initial_length",
            "m",
            Domain::positive(CIRCUIT.initial_length),
            "Length of the cylinder at the start",
        ),
        parameter(
            "initial_force",
            "N",
            Domain::any(CIRCUIT.initial_force),
            "Force that it holds at the start",
        ),
        micro_steps(1),
        EULER,
    ],
    make: |p| Box::new(Built::new(HYDRAULICS.name, Hydraulics::new(p), Capability::of(p))),
};

/// `crane/mechanics`: both links.
pub static MECHANICS: ModelSpec = ModelSpec {
    name: "crane/mechanics",
    description: "The arm of a crane that a cylinder pushes; it gives length and speed of the cylinder",
    parameters: &[
        parameter("link1_length", "m", Domain::positive(ARM.link1_length), "Length of link 1"),
        parameter("link2_length", "m", Domain::positive(ARM.link2_length), "Length of link 2"),
        parameter("link1_mass", "kg", Domain::positive(ARM.link1_mass), "Mass of link 1, uniform along it"),
        parameter("elbow_mass", "kg", Domain::not_negative(ARM.elbow_mass), "Point mass between the links"),
        parameter("tip_mass", "kg", Domain::positive(ARM.tip_mass), "Point mass at the end of link 2"),
        parameter(
            "base_x",
            "m",
            Domain::any(ARM.base[0]),
            "Where the cylinder is pinned to the ground, sideways",
        ),
        parameter(
            "base_y",
            "m",
            Domain::any(ARM.base[1]),
            "Where the cylinder is pinned to the ground, upwards",
        ),
        parameter("gravity", "m/s2", Domain::any(ARM.gravity), "Acceleration of gravity, downwards"),
        parameter(
            "initial_angle1",
            "rad",
            Domain::any(ARM.initial_angles[0]),
            "Angle of link 1 at the start",
        ),
        parameter(
            "initial_angle2",
            "rad",
            Domain::any(ARM.initial_angles[1]),
            "Angle of link 2 at the start",
        ),
        micro_steps(1),
        SYMPLECTIC,
    ],
    make: |p| Box::new(Built::new(MECHANICS.name, Mechanics::new(p), Capability::of(p))),
};

/// States: p1, p2.
#[derive(Clone)]
struct Hydraulics {
    circuit: Circuit,
    integrator: Integrator,
    t: f64,
    p: [f64; 2],
    guess: f64,
}

impl Hydraulics {
    fn new(p: &Parameters) -> Self {
        let circuit = Circuit {
            piston_area: p.number("piston_area"),
            cylinder_length: p.number("cylinder_length"),
            friction: p.number("friction"),
            compressibility: p.number("compressibility"),
            compressibility_slope: p.number("compressibility_slope"),
            discharge: p.number("discharge"),
            density: p.number("density"),
            pump_pressure: p.number("pump_pressure"),
            tank_pressure: p.number("tank_pressure"),
            valve_area: p.number("valve_area"),
            spool_amplitude: p.number("spool_amplitude"),
            spool_frequency: p.number("spool_frequency"),
            initial_length: p.number("initial_length"),
            initial_force: p.number("initial_force"),
        };
        Hydraulics {
            integrator: Integrator::of(p),
            t: 0.0,
            p: circuit.initial_pressures(),
            guess: 0.0,
            circuit,
        }
    }
}

impl Equations<2, 1> for Hydraulics {
    fn variables(&self) -> Vec<Variable> {
        let mut length = input("length", "m", "Length of the cylinder");
        length.start = self.circuit.initial_length;
        vec![
            length,
            input("speed", "m/s", "Its rate"),
            output("force", "N", "Force that pushes the ends of the cylinder apart"),
            local("pressure1", "Pa", "Pressure in the chamber that shrinks as the cylinder extends"),
            local("pressure2", "Pa", "Pressure in the other chamber"),
            local("spool", "", "Position of the valve spool, 0 to 1"),
        ]
    }

    fn feed_through(&self) -> Vec<(usize, usize)> {
        vec![(0, 1)]
    }

    fn step(&mut self, t: f64, h: f64, u: &InputPolynomial<2>) -> Result<(), SubsystemError> {
        let circuit = &self.circuit;
        for tau in [0.0, h] {
            let s = u.at(0, tau);
            if circuit.chambers(s).iter().any(|&l| l <= 0.0) {
                let [least, most] = [-0.5, 0.5].map(|k| circuit.initial_length + k * circuit.cylinder_length);
                let message =
                    format!("the cylinder cannot be {s} m long: it reaches from {least} m to {most} m");
                return Err(SubsystemError::Infeasible { message });
            }
        }
        let rate = |tau: f64, p: &[f64; 2]| circuit.rate(*p, circuit.spool(t + tau), u.all(tau));
        (self.p, self.guess) = self.integrator.euler((self.p, self.guess), h, rate);
        self.t = t + h;
        Ok(())
    }

    fn output(&self, u: &[f64; 2]) -> [f64; 1] {
        [self.circuit.force(self.p, u[1])]
    }

    fn output_time(&self, h: f64) -> f64 {
        self.integrator.last_input(h)
    }

    fn local(&self, k: usize, _u: &[f64; 2]) -> f64 {
        if k < 2 { self.p[k] } else { self.circuit.spool(self.t) }
    }

    fn derivatives(&self, _u: &[f64; 2], d: &mut [f64]) -> bool {
        d[0] = -self.circuit.friction;
        true
    }

    fn state(&mut self, visit: &mut dyn FnMut(&mut f64)) -> bool {
        self.p.iter_mut().chain([&mut self.t, &mut self.guess]).for_each(visit);
        true
    }
}

/// States: θ1, θ2, θ̇1, θ̇2.
#[derive(Clone)]
struct Mechanics {
    arm: Arm,
    integrator: Integrator,
    x: [f64; 4],
    guess: f64,
}

impl Mechanics {
    fn new(p: &Parameters) -> Self {
        let arm = Arm {
            link1_length: p.number("link1_length"),
            link2_length: p.number("link2_length"),
            link1_mass: p.number("link1_mass"),
            elbow_mass: p.number("elbow_mass"),
            tip_mass: p.number("tip_mass"),
            base: [p.number("base_x"), p.number("base_y")],
            gravity: p.number("gravity"),
            initial_angles: [p.number("initial_angle1"), p.number("initial_angle2")],
        };
        let [a, b] = arm.initial_angles;
        Mechanics { arm, integrator: Integrator::of(p), x: [a, b, 0.0, 0.0], guess: 0.0 }
    }
}

impl Equations<1, 2> for Mechanics {
    fn variables(&self) -> Vec<Variable> {
        vec![
            input("force", "N", "Force of the cylinder, pushing its ends apart"),
            output("length", "m", "Length of the cylinder"),
            output("speed", "m/s", "Its rate"),
            local("angle1", "rad", "Angle of link 1 from the x axis"),
            local("angle2", "rad", "Angle of link 2 from the x axis"),
            local("angular_velocity1", "rad/s", "Rate of angle1"),
            local("angular_velocity2", "rad/s", "Rate of angle2"),
            local("energy", "J", "Kinetic and potential energy, the latter from the joint at the ground"),
        ]
    }

    fn feed_through(&self) -> Vec<(usize, usize)> {
        Vec::new()
    }

    fn step(&mut self, _t: f64, h: f64, u: &InputPolynomial<1>) -> Result<(), SubsystemError> {
        let rate = |tau: f64, x: &[f64; 4]| self.arm.rate(x, u.at(0, tau));
        (self.x, self.guess) = self.integrator.symplectic((self.x, self.guess), h, rate);
        Ok(())
    }

    fn output(&self, _u: &[f64; 1]) -> [f64; 2] {
        self.arm.motion(&self.x)
    }

    fn output_time(&self, h: f64) -> f64 {
        self.integrator.last_input(h)
    }

    fn local(&self, k: usize, _u: &[f64; 1]) -> f64 {
        if k < 4 { self.x[k] } else { self.arm.energy(&self.x) }
    }

    fn state(&mut self, visit: &mut dyn FnMut(&mut f64)) -> bool {
        self.x.iter_mut().chain([&mut self.guess]).for_each(visit);
        true
    }
}

/// The monolithic crane: no coupling, no coupling error.
#[derive(Clone, Debug)]
pub struct Reference {
    arm: Arm,
    circuit: Circuit,
    t: f64,
    /// θ1, θ2, θ̇1, θ̇2, p1, p2.
    x: [f64; 6],
    guess: f64,
}

impl Reference {
    /// At the start of the manoeuvre; [`ARM`] and [`CIRCUIT`] are those of the paper.
    pub fn new(arm: &Arm, circuit: &Circuit) -> Self {
        let ([a, b], [p1, p2]) = (arm.initial_angles, circuit.initial_pressures());
        Reference { arm: *arm, circuit: *circuit, t: 0.0, x: [a, b, 0.0, 0.0, p1, p2], guess: 0.0 }
    }

    /// Integrates to `t`, which must not lie in the past.
    pub fn advance_to(&mut self, t: f64) {
        let (mut x, mut guess) = (self.x, self.guess);
        if t > self.t {
            dormand_prince(&mut x, self.t, t - self.t, 1e-13, &mut guess, |t, x| self.rate(t, x));
        }
        self.x = x;
        self.guess = guess;
        self.t = t;
    }

    fn rate(&self, t: f64, &[a, b, wa, wb, p1, p2]: &[f64; 6]) -> [f64; 6] {
        let (x, p) = ([a, b, wa, wb], [p1, p2]);
        let motion = self.arm.motion(&x);
        let [a, b, wa, wb] = self.arm.rate(&x, self.circuit.force(p, motion[1]));
        let [p1, p2] = self.circuit.rate(p, self.circuit.spool(t), motion);
        [a, b, wa, wb, p1, p2]
    }

    fn arm_state(&self) -> [f64; 4] {
        let [a, b, wa, wb, ..] = self.x;
        [a, b, wa, wb]
    }

    /// θ1 and θ2, rad.
    pub fn angles(&self) -> [f64; 2] {
        [self.x[0], self.x[1]]
    }

    /// Length of the cylinder, m.
    pub fn length(&self) -> f64 {
        self.arm.motion(&self.arm_state())[0]
    }

    /// Its rate, m/s.
    pub fn speed(&self) -> f64 {
        self.arm.motion(&self.arm_state())[1]
    }

    /// Force of the cylinder, N.
    pub fn force(&self) -> f64 {
        self.circuit.force([self.x[4], self.x[5]], self.speed())
    }

    /// Kinetic and potential energy of the arm, the latter from the joint at the ground, J.
    pub fn energy(&self) -> f64 {
        self.arm.energy(&self.arm_state())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::integrate::runge_kutta;

    /// 0.45435 is the published spool position; 8829 N = (m1/2 + m2 + m3) g l1 cos θ1 / (∂s/∂θ1).
    #[test]
    fn the_crane_starts_in_the_published_equilibrium() {
        assert!((CIRCUIT.initial_spool() - 0.45435).abs() < 5e-6, "{}", CIRCUIT.initial_spool());
        let reference = Reference::new(&ARM, &CIRCUIT);
        assert!((reference.length() - CIRCUIT.initial_length).abs() < 1e-15);
        assert!((reference.force() - CIRCUIT.initial_force).abs() < 1e-8, "{}", reference.force());
        let rate = reference.rate(0.0, &reference.x);
        assert!(rate[..4].iter().all(|r| r.abs() < 1e-12), "{rate:?}");
        assert!(rate[4..].iter().all(|r| r.abs() < 1e-2), "{rate:?}");
    }

    #[test]
    fn the_reference_agrees_with_another_method() {
        let mut reference = Reference::new(&ARM, &CIRCUIT);
        let mut x = reference.x;
        reference.advance_to(10.0);
        runge_kutta(&mut x, 2e-5, 500_000, |t, x| reference.rate(t, x));
        for (i, x) in x.iter().enumerate() {
            let error = (reference.x[i] - x).abs() / (1.0 + x.abs());
            assert!(error < 1e-9, "state {i}: {} against {x}", reference.x[i]);
        }
    }

    /// Power balance of the arm: what the cylinder does is what the energy gains. Central differences along the rate.
    #[test]
    fn the_energy_of_the_arm_changes_by_the_work_of_the_cylinder() {
        let (x, force, d) = ([0.7, 4.1, 0.8, -1.3], 5000.0, 1e-6);
        let rate = ARM.rate(&x, force);
        let moved = |by: f64| ARM.energy(&std::array::from_fn(|i| x[i] + by * rate[i]));
        let gain = (moved(d) - moved(-d)) / (2.0 * d);
        let work = force * ARM.motion(&x)[1];
        assert!((gain - work).abs() < 1e-4 * work.abs(), "{gain} {work}");
    }
}
