//! The quarter car of sadjina2017 §IV and sadjina2020 §5, split both ways, and its monolithic solution.
//!
//! `mc z̈c = -Fc`, `mw z̈w = Fc - Fw`, `Fc = kc (zc - zw) + damper(żc - żw)`, `Fw = kw (zw - road)`;
//! the damper follows `sign(v) dc |v|^(2/(1 + 2 nd))`: linear for nd = 0.5, a square root for nd = 1.5. All states start at 0.

use super::equations::{input, local, output};
use super::integrate::dormand_prince;
use super::micro::{EULER, Integrator, micro_steps};
use super::{Built, Capability, Domain, Equations, InputPolynomial, ModelSpec, ParameterSpec, Parameters};
use powerbond_core::subsystem::{SubsystemError, Variable};

/// Force law of the damper.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Damper {
    /// `d v`.
    Linear(f64),
    /// `sign(v) d sqrt|v|`.
    SquareRoot(f64),
    /// `sign(v) d |v|^e`.
    Power {
        /// d, in N (s/m)^e.
        damping: f64,
        /// e.
        exponent: f64,
    },
}

impl Damper {
    pub(super) fn of(p: &Parameters) -> Self {
        match p.choice("damper") {
            "square-root" => Damper::SquareRoot(p.number("damping")),
            "power" => Damper::power(p.number("damping"), p.number("linearity")),
            _ => Damper::Linear(p.number("damping")),
        }
    }

    /// The general law of sadjina2017 eq. 18c: the exponent is `2/(1 + 2 nd)`.
    pub fn power(damping: f64, nd: f64) -> Self {
        Damper::Power { damping, exponent: 2.0 / (1.0 + 2.0 * nd) }
    }

    /// In N, `v` in m/s.
    pub fn force(self, v: f64) -> f64 {
        match self {
            Damper::Linear(d) => d * v,
            Damper::SquareRoot(d) => v.signum() * d * v.abs().sqrt(),
            Damper::Power { damping, exponent } => v.signum() * damping * v.abs().powf(exponent),
        }
    }

    /// ∂force/∂v in Ns/m; 0 where a power below 1 has none.
    pub fn slope(self, v: f64) -> f64 {
        match self {
            Damper::Linear(d) => d,
            Damper::SquareRoot(_) if v == 0.0 => 0.0,
            Damper::SquareRoot(d) => d / (2.0 * v.abs().sqrt()),
            Damper::Power { exponent, .. } if v == 0.0 && exponent < 1.0 => 0.0,
            Damper::Power { damping, exponent } => damping * exponent * v.abs().powf(exponent - 1.0),
        }
    }
}

const MICRO_STEPS: ParameterSpec = micro_steps(10);
const STIFFNESS: ParameterSpec = ParameterSpec {
    name: "stiffness",
    unit: "N/m",
    domain: Domain::not_negative(15000.0),
    description: "Stiffness of the suspension spring",
};
pub(super) const DAMPING: ParameterSpec = ParameterSpec {
    name: "damping",
    unit: "N.s/m",
    domain: Domain::not_negative(1000.0),
    description: "Coefficient of the suspension damper (N.(s/m)^e where the force follows the power e)",
};
pub(super) const DAMPER: ParameterSpec = ParameterSpec {
    name: "damper",
    unit: "",
    domain: Domain::Choice(&["linear", "square-root", "power"]),
    description: "Force law of the suspension damper",
};
pub(super) const LINEARITY: ParameterSpec = ParameterSpec {
    name: "linearity",
    unit: "",
    domain: Domain::not_negative(1.5),
    description: "nd of the damper `power`, whose force follows |v|^(2/(1 + 2 nd)): 0.5 is linear, 1.5 a square root",
};
const TYRE_STIFFNESS: ParameterSpec = ParameterSpec {
    name: "tyre_stiffness",
    unit: "N/m",
    domain: Domain::not_negative(150_000.0),
    description: "Stiffness of the tyre",
};
const FAR_END: ParameterSpec = ParameterSpec {
    name: "far_end",
    unit: "",
    domain: Domain::Choice(&["continuous", "once"]),
    description: "Motion of the far end of the suspension within a step: with the held velocity, or at the start of \
                  the step (the papers' tables)",
};

const fn mass(default: f64) -> ParameterSpec {
    ParameterSpec { name: "mass", unit: "kg", domain: Domain::positive(default), description: "Its mass" }
}

/// `quarter-car/chassis`: a mass.
pub static CHASSIS: ModelSpec = ModelSpec {
    name: "quarter-car/chassis",
    description: "The chassis of a quarter car: a mass that a force moves",
    parameters: &[mass(400.0), MICRO_STEPS, EULER],
    make: |p| {
        let equations = Chassis { mass: p.number("mass"), integrator: Integrator::of(p), z: 0.0, v: 0.0 };
        Box::new(Built::new(CHASSIS.name, equations, Capability::of(p)))
    },
};

/// `quarter-car/wheel-suspension`: wheel, tyre and suspension.
pub static WHEEL_SUSPENSION: ModelSpec = ModelSpec {
    name: "quarter-car/wheel-suspension",
    description: "Wheel, tyre and suspension of a quarter car; direct feed-through from the chassis velocity to the \
                  suspension force",
    parameters: &[
        mass(40.0),
        STIFFNESS,
        TYRE_STIFFNESS,
        DAMPING,
        DAMPER,
        LINEARITY,
        FAR_END,
        MICRO_STEPS,
        EULER,
    ],
    make: |p| {
        let equations = WheelSuspension {
            mass: p.number("mass"),
            stiffness: p.number("stiffness"),
            tyre_stiffness: p.number("tyre_stiffness"),
            damper: Damper::of(p),
            once: p.choice("far_end") == "once",
            integrator: Integrator::of(p),
            x: [0.0; 3],
            guess: 0.0,
        };
        Box::new(Built::new(WHEEL_SUSPENSION.name, equations, Capability::of(p)))
    },
};

/// `quarter-car/chassis-suspension`: chassis and suspension.
pub static CHASSIS_SUSPENSION: ModelSpec = ModelSpec {
    name: "quarter-car/chassis-suspension",
    description: "Chassis and suspension of a quarter car; direct feed-through from the wheel velocity to the \
                  suspension force",
    parameters: &[mass(400.0), STIFFNESS, DAMPING, DAMPER, LINEARITY, FAR_END, MICRO_STEPS, EULER],
    make: |p| {
        let equations = ChassisSuspension {
            mass: p.number("mass"),
            stiffness: p.number("stiffness"),
            damper: Damper::of(p),
            once: p.choice("far_end") == "once",
            integrator: Integrator::of(p),
            x: [0.0; 3],
            guess: 0.0,
        };
        Box::new(Built::new(CHASSIS_SUSPENSION.name, equations, Capability::of(p)))
    },
};

/// `quarter-car/wheel`: wheel and tyre.
pub static WHEEL: ModelSpec = ModelSpec {
    name: "quarter-car/wheel",
    description: "Wheel and tyre of a quarter car; `force` acts on the suspension",
    parameters: &[mass(40.0), TYRE_STIFFNESS, MICRO_STEPS, EULER],
    make: |p| {
        let equations = Wheel {
            mass: p.number("mass"),
            tyre_stiffness: p.number("tyre_stiffness"),
            integrator: Integrator::of(p),
            x: [0.0; 2],
            guess: 0.0,
        };
        Box::new(Built::new(WHEEL.name, equations, Capability::of(p)))
    },
};

/// `m v̇ = u`.
#[derive(Clone)]
struct Chassis {
    mass: f64,
    integrator: Integrator,
    z: f64,
    v: f64,
}

impl Equations<1, 1> for Chassis {
    fn variables(&self) -> Vec<Variable> {
        vec![
            input("force", "N", "Force on the chassis, upwards"),
            output("velocity", "m/s", "Velocity of the chassis, upwards"),
            local("position", "m", "Position of the chassis"),
        ]
    }

    fn feed_through(&self) -> Vec<(usize, usize)> {
        Vec::new()
    }

    fn step(&mut self, _t: f64, h: f64, u: &InputPolynomial<1>) -> Result<(), SubsystemError> {
        let [f, slope, curvature] = [u.value[0], u.slope[0], u.curvature[0]];
        match self.integrator {
            // Under a held force n Euler steps are v += h a, z += h v + h² a (n − 1)/(2n).
            Integrator::Micro(n) if slope == 0.0 && curvature == 0.0 => {
                let n = f64::from(n);
                self.z += h * (self.v + 0.5 * h * (f / self.mass) * (n - 1.0) / n);
                self.v += f * h / self.mass;
            }
            Integrator::Micro(n) => {
                let dt = h / f64::from(n);
                for i in 0..n {
                    self.z += dt * self.v;
                    self.v += u.at(0, f64::from(i) * dt) * dt / self.mass;
                }
            }
            // The integral of a polynomial is known.
            Integrator::Accurate => {
                self.z += h * (self.v + h * (f / 2.0 + h * (slope / 6.0 + h * curvature / 24.0)) / self.mass);
                self.v += h * (f + h * (slope / 2.0 + h * curvature / 6.0)) / self.mass;
            }
        }
        Ok(())
    }

    fn output(&self, _u: &[f64; 1]) -> [f64; 1] {
        [self.v]
    }

    fn local(&self, _k: usize, _u: &[f64; 1]) -> f64 {
        self.z
    }

    fn state(&mut self, visit: &mut dyn FnMut(&mut f64)) -> bool {
        [&mut self.z, &mut self.v].into_iter().for_each(visit);
        true
    }
}

/// States: wheel position, wheel velocity, chassis position.
#[derive(Clone)]
struct WheelSuspension {
    mass: f64,
    stiffness: f64,
    tyre_stiffness: f64,
    damper: Damper,
    once: bool,
    integrator: Integrator,
    x: [f64; 3],
    guess: f64,
}

impl WheelSuspension {
    fn force(&self, x: &[f64; 3], chassis_velocity: f64) -> f64 {
        self.stiffness * (x[2] - x[0]) + self.damper.force(chassis_velocity - x[1])
    }

    fn rate(&self, x: &[f64; 3], u: &[f64; 2], far_end: f64) -> [f64; 3] {
        let acceleration = (self.force(x, u[0]) - self.tyre_stiffness * (x[0] - u[1])) / self.mass;
        [x[1], acceleration, far_end]
    }
}

impl Equations<2, 1> for WheelSuspension {
    fn variables(&self) -> Vec<Variable> {
        vec![
            input("chassis_velocity", "m/s", "Velocity of the chassis, upwards"),
            input("road", "m", "Height of the road"),
            output("suspension_force", "N", "Force of the suspension, pulling the chassis down"),
            local("position", "m", "Position of the wheel"),
            local("velocity", "m/s", "Velocity of the wheel, upwards"),
            local("chassis_position", "m", "Position of the chassis, as integrated here"),
        ]
    }

    fn feed_through(&self) -> Vec<(usize, usize)> {
        vec![(0, 0)]
    }

    fn step(&mut self, _t: f64, h: f64, u: &InputPolynomial<2>) -> Result<(), SubsystemError> {
        let mut x = self.x;
        let moves = if self.once { 0.0 } else { 1.0 };
        if self.once {
            x[2] += far_end_travel(u, h);
        }
        let rate = |tau: f64, x: &[f64; 3]| {
            let u = u.all(tau);
            self.rate(x, &u, moves * u[0])
        };
        (self.x, self.guess) = self.integrator.euler((x, self.guess), h, rate);
        Ok(())
    }

    fn output(&self, u: &[f64; 2]) -> [f64; 1] {
        [self.force(&self.x, u[0])]
    }

    fn local(&self, k: usize, _u: &[f64; 2]) -> f64 {
        self.x[k]
    }

    fn derivatives(&self, u: &[f64; 2], d: &mut [f64]) -> bool {
        d[0] = self.damper.slope(u[0] - self.x[1]);
        true
    }

    fn state(&mut self, visit: &mut dyn FnMut(&mut f64)) -> bool {
        self.x.iter_mut().chain([&mut self.guess]).for_each(visit);
        true
    }
}

/// States: chassis position, chassis velocity, wheel position.
#[derive(Clone)]
struct ChassisSuspension {
    mass: f64,
    stiffness: f64,
    damper: Damper,
    once: bool,
    integrator: Integrator,
    x: [f64; 3],
    guess: f64,
}

impl ChassisSuspension {
    fn force(&self, x: &[f64; 3], wheel_velocity: f64) -> f64 {
        self.stiffness * (x[0] - x[2]) + self.damper.force(x[1] - wheel_velocity)
    }
}

impl Equations<1, 1> for ChassisSuspension {
    fn variables(&self) -> Vec<Variable> {
        vec![
            input("wheel_velocity", "m/s", "Velocity of the wheel, upwards"),
            output("suspension_force", "N", "Force of the suspension, pulling the wheel up"),
            local("position", "m", "Position of the chassis"),
            local("velocity", "m/s", "Velocity of the chassis, upwards"),
            local("wheel_position", "m", "Position of the wheel, as integrated here"),
        ]
    }

    fn feed_through(&self) -> Vec<(usize, usize)> {
        vec![(0, 0)]
    }

    fn step(&mut self, _t: f64, h: f64, u: &InputPolynomial<1>) -> Result<(), SubsystemError> {
        let mut x = self.x;
        let moves = if self.once { 0.0 } else { 1.0 };
        if self.once {
            x[2] += far_end_travel(u, h);
        }
        let rate = |tau: f64, x: &[f64; 3]| {
            let wheel_velocity = u.at(0, tau);
            [x[1], -self.force(x, wheel_velocity) / self.mass, moves * wheel_velocity]
        };
        (self.x, self.guess) = self.integrator.euler((x, self.guess), h, rate);
        Ok(())
    }

    fn output(&self, u: &[f64; 1]) -> [f64; 1] {
        [self.force(&self.x, u[0])]
    }

    fn local(&self, k: usize, _u: &[f64; 1]) -> f64 {
        self.x[k]
    }

    fn derivatives(&self, u: &[f64; 1], d: &mut [f64]) -> bool {
        d[0] = -self.damper.slope(self.x[1] - u[0]);
        true
    }

    fn state(&mut self, visit: &mut dyn FnMut(&mut f64)) -> bool {
        self.x.iter_mut().chain([&mut self.guess]).for_each(visit);
        true
    }
}

/// States: wheel position, wheel velocity.
#[derive(Clone)]
struct Wheel {
    mass: f64,
    tyre_stiffness: f64,
    integrator: Integrator,
    x: [f64; 2],
    guess: f64,
}

impl Equations<2, 1> for Wheel {
    fn variables(&self) -> Vec<Variable> {
        vec![
            input("force", "N", "Force of the wheel on the suspension, upwards"),
            input("road", "m", "Height of the road"),
            output("velocity", "m/s", "Velocity of the wheel, upwards"),
            local("position", "m", "Position of the wheel"),
        ]
    }

    fn feed_through(&self) -> Vec<(usize, usize)> {
        Vec::new()
    }

    fn step(&mut self, _t: f64, h: f64, u: &InputPolynomial<2>) -> Result<(), SubsystemError> {
        let rate = |tau: f64, x: &[f64; 2]| {
            let [force, road] = u.all(tau);
            [x[1], (-force - self.tyre_stiffness * (x[0] - road)) / self.mass]
        };
        (self.x, self.guess) = self.integrator.euler((self.x, self.guess), h, rate);
        Ok(())
    }

    fn output(&self, _u: &[f64; 2]) -> [f64; 1] {
        [self.x[1]]
    }

    fn local(&self, _k: usize, _u: &[f64; 2]) -> f64 {
        self.x[0]
    }

    fn state(&mut self, visit: &mut dyn FnMut(&mut f64)) -> bool {
        self.x.iter_mut().chain([&mut self.guess]).for_each(visit);
        true
    }
}

/// How far the far end of the suspension moves in a step: the integral of the held velocity (input 0).
fn far_end_travel<const N: usize>(u: &InputPolynomial<N>, h: f64) -> f64 {
    h * (u.value[0] + h * (u.slope[0] / 2.0 + h * u.curvature[0] / 6.0))
}

/// The monolithic quarter car: no coupling, no coupling error.
#[derive(Clone, Debug)]
pub struct Reference {
    /// mc, kg.
    pub chassis_mass: f64,
    /// mw, kg.
    pub wheel_mass: f64,
    /// kc, N/m.
    pub stiffness: f64,
    /// kw, N/m.
    pub tyre_stiffness: f64,
    /// The damper.
    pub damper: Damper,
    /// Height of the road from t = 0 on, m.
    pub road: f64,
    t: f64,
    /// zc, vc, zw, vw.
    x: [f64; 4],
    guess: f64,
}

impl Reference {
    /// The parameters of both papers.
    pub fn new(damper: Damper) -> Self {
        Reference {
            chassis_mass: 400.0,
            wheel_mass: 40.0,
            stiffness: 15000.0,
            tyre_stiffness: 150_000.0,
            damper,
            road: 0.1,
            t: 0.0,
            x: [0.0; 4],
            guess: 0.0,
        }
    }

    /// Integrates to `t`, which must not lie in the past.
    pub fn advance_to(&mut self, t: f64) {
        let mut x = self.x;
        let mut guess = self.guess;
        if t > self.t {
            dormand_prince(&mut x, 0.0, t - self.t, 1e-12, &mut guess, |_, x| self.rate(x));
        }
        self.x = x;
        self.guess = guess;
        self.t = t;
    }

    fn rate(&self, x: &[f64; 4]) -> [f64; 4] {
        let force = self.stiffness * (x[0] - x[2]) + self.damper.force(x[1] - x[3]);
        let tyre = self.tyre_stiffness * (x[2] - self.road);
        [x[1], -force / self.chassis_mass, x[3], (force - tyre) / self.wheel_mass]
    }

    /// The suspension force, N.
    pub fn force(&self) -> f64 {
        self.stiffness * (self.x[0] - self.x[2]) + self.damper.force(self.x[1] - self.x[3])
    }

    /// Displacements of the chassis and of the wheel, m.
    pub fn positions(&self) -> [f64; 2] {
        [self.x[0], self.x[2]]
    }

    /// Velocity of the chassis, m/s.
    pub fn chassis_velocity(&self) -> f64 {
        self.x[1]
    }

    /// Velocity of the wheel, m/s.
    pub fn wheel_velocity(&self) -> f64 {
        self.x[3]
    }
}

#[cfg(test)]
mod tests {
    use super::Damper;

    /// sadjina2017 eq. 18c: nd = 0.5 is the linear damper, nd = 1.5 the square root; slopes against differences.
    #[test]
    fn the_general_damper_contains_both_others() {
        for v in [-2.0, -0.3, 0.01, 1.7f64] {
            for (nd, other) in [(0.5, Damper::Linear(900.0)), (1.5, Damper::SquareRoot(900.0))] {
                let general = Damper::power(900.0, nd);
                assert!(
                    (general.force(v) - other.force(v)).abs() <= 1e-12 * other.force(v).abs(),
                    "{nd} {v}"
                );
                assert!((general.slope(v) - other.slope(v)).abs() <= 1e-12 * other.slope(v), "{nd} {v}");
            }
            for nd in [0.0, 0.8, 3.0] {
                let (damper, d) = (Damper::power(900.0, nd), 1e-6 * v.abs());
                let difference = (damper.force(v + d) - damper.force(v - d)) / (2.0 * d);
                assert!((damper.slope(v) - difference).abs() <= 1e-6 * difference, "{nd} {v}");
            }
        }
        assert_eq!([0.0, 0.5, 1.5].map(|nd| Damper::power(900.0, nd).slope(0.0)), [0.0, 900.0, 0.0]);
    }
}
