//! The coupled pendula of rodriguez2022 §4.3: two point masses on rods, a spring and a damper between their tips.
//!
//! One angle θ per pendulum, counted from hanging down: tip `p = pivot + l (sin θ, -cos θ)`, and
//! `m l² θ̈ = -m g l sin θ + F·∂p/∂θ`. The force on tip 2 is `F = -T e` with `e = (p2 - p1)/L`, `L = |p2 - p1|` and
//! `T = κ (L - l0) + c (ṗ2 - ṗ1)·e`. It crosses the coupling as two components: a vector bond. Potential energy counts from
//! hanging down; the force giver counts that of the spring at the input it saw last.
//!
//! The paper's own formulation describes the same motion by the coordinates q of the tip under the constraint
//! `Φ = (|q - pivot|² - l²)/2 = 0`: the augmented Lagrangian of Bayo et al. (doi 10.1016/0045-7825(88)90085-0),
//! `(m + α Φqᵀ Φq) q̈ = Q - α Φqᵀ (Φ̇q q̇ + 2 ζ ω Φ̇ + ω² Φ) - Φqᵀ λ`, with `λ += α (Φ̈ + 2 ζ ω Φ̇ + ω² Φ)` until it stays.

use super::equations::{input, local, output};
use super::integrate::dormand_prince;
use super::micro::{Integrator, micro_steps, newmark};
use super::{
    Built, Capability, Domain, Equations, InputPolynomial, ModelSpec, ParameterSpec, ParameterValue,
    Parameters,
};
use powerbond_core::subsystem::{SubsystemError, Variable};
use std::f64::consts::PI;

/// A point mass on a massless rod.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rod {
    /// m, kg.
    pub mass: f64,
    /// l, m.
    pub length: f64,
    /// Where it is pinned to the ground: x and y (upwards), m.
    pub pivot: [f64; 2],
    /// g, m/s².
    pub gravity: f64,
}

impl Rod {
    /// x and y of the tip at the angle θ, m.
    pub fn tip(&self, angle: f64) -> [f64; 2] {
        let (sin, cos) = angle.sin_cos();
        [self.pivot[0] + self.length * sin, self.pivot[1] - self.length * cos]
    }

    /// Velocity of the tip, m/s; `x` = θ, θ̇.
    fn tip_velocity(&self, x: &[f64; 2]) -> [f64; 2] {
        let (sin, cos) = x[0].sin_cos();
        [self.length * cos * x[1], self.length * sin * x[1]]
    }

    /// θ̈ while `force` pulls at the tip, rad/s².
    fn acceleration(&self, angle: f64, force: [f64; 2]) -> f64 {
        let (sin, cos) = angle.sin_cos();
        (-self.gravity * sin + (force[0] * cos + force[1] * sin) / self.mass) / self.length
    }

    /// Acceleration of the tip at `p` with velocity `v` while `force` pulls at it, m/s²: by the augmented Lagrangian.
    fn tip_acceleration(&self, p: [f64; 2], v: [f64; 2], force: [f64; 2]) -> [f64; 2] {
        let dot = |a: [f64; 2], b: [f64; 2]| a[0] * b[0] + a[1] * b[1];
        let d = minus(p, self.pivot);
        let square = dot(d, d);
        let pull = [force[0], force[1] - self.mass * self.gravity];
        // Φ̇q q̇ + 2 ζ ω Φ̇ + ω² Φ
        let rest = dot(v, v)
            + 2.0 * ZETA * OMEGA * dot(d, v)
            + OMEGA * OMEGA * 0.5 * (square - self.length * self.length);
        let mut lambda = 0.0;
        let mut a = [0.0; 2];
        for _ in 0..ITERATIONS {
            let w: [f64; 2] = std::array::from_fn(|k| pull[k] - d[k] * (PENALTY * rest + lambda));
            // (m + α d dᵀ)⁻¹ by Sherman and Morrison.
            let share = PENALTY * dot(d, w) / (self.mass + PENALTY * square);
            a = std::array::from_fn(|k| (w[k] - d[k] * share) / self.mass);
            let missed = PENALTY * (dot(d, a) + rest);
            lambda += missed;
            if missed.abs() <= 1e-12 * lambda.abs() {
                break;
            }
        }
        a
    }

    /// Kinetic and potential, J, of the tip at `p` with velocity `v`.
    fn tip_energy(&self, p: [f64; 2], v: [f64; 2]) -> f64 {
        let height = p[1] - self.pivot[1] + self.length;
        self.mass * (0.5 * (v[0] * v[0] + v[1] * v[1]) + self.gravity * height)
    }

    /// Kinetic and potential, J.
    fn energy(&self, x: &[f64; 2]) -> f64 {
        let speed = self.length * x[1];
        self.mass * (0.5 * speed * speed + self.gravity * self.length * (1.0 - x[0].cos()))
    }
}

/// α, ζ and ω in 1/s of the augmented Lagrangian, and how often λ is improved at most. The constraint is stabilized critically, within
/// a tenth of a second. Each improvement of λ is worth a factor m/(m + α l²): what it ends with does not depend on α, but
/// round-off in accelerations grows with it.
const PENALTY: f64 = 1e5;
const ZETA: f64 = 1.0;
const OMEGA: f64 = 10.0;
const ITERATIONS: u32 = 10;

/// The spring and damper between the tips.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// κ, N/m.
    pub stiffness: f64,
    /// c, N.s/m.
    pub damping: f64,
    /// l0, m.
    pub natural_length: f64,
}

impl Link {
    /// The force on the far tip, N, from the vector between the tips and its rate.
    fn force(&self, d: [f64; 2], rate: [f64; 2]) -> [f64; 2] {
        let length = d[0].hypot(d[1]);
        let e = d.map(|x| x / length);
        let tension = self.stiffness * (length - self.natural_length)
            + self.damping * (rate[0] * e[0] + rate[1] * e[1]);
        e.map(|x| -tension * x)
    }

    /// ∂F/∂d and ∂F/∂ḋ, row by row: for each component of the force by dx, dy, ḋx, ḋy.
    fn slopes(&self, d: [f64; 2], rate: [f64; 2]) -> [[f64; 4]; 2] {
        let length = d[0].hypot(d[1]);
        let e = d.map(|x| x / length);
        let along = rate[0] * e[0] + rate[1] * e[1];
        let tension = self.stiffness * (length - self.natural_length) + self.damping * along;
        let unit = |i: usize, j: usize| if i == j { 1.0 } else { 0.0 };
        std::array::from_fn(|i| {
            std::array::from_fn(|k| {
                let j = k % 2;
                if k >= 2 {
                    return -self.damping * e[i] * e[j];
                }
                let tension_by_d = self.stiffness * e[j] + self.damping * (rate[j] - along * e[j]) / length;
                -e[i] * tension_by_d - tension * (unit(i, j) - e[i] * e[j]) / length
            })
        })
    }

    /// J.
    fn energy(&self, d: [f64; 2]) -> f64 {
        let stretch = d[0].hypot(d[1]) - self.natural_length;
        0.5 * self.stiffness * stretch * stretch
    }
}

fn minus(a: [f64; 2], b: [f64; 2]) -> [f64; 2] {
    [a[0] - b[0], a[1] - b[1]]
}

/// All parameters of the coupled pendula; both start at rest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Case {
    /// The pendulum that owns the link, and the other one.
    pub rods: [Rod; 2],
    /// θ at the start, rad.
    pub initial_angles: [f64; 2],
    /// What is between their tips.
    pub link: Link,
}

impl Case {
    const fn row(stiffness: f64) -> Case {
        Case {
            rods: [
                Rod { mass: 1.0, length: 2.5, pivot: [0.0, 0.0], gravity: 9.81 },
                Rod { mass: 2.0, length: 3.5, pivot: [7.0, 0.0], gravity: 9.81 },
            ],
            initial_angles: [PI / 4.0, PI / 18.0],
            link: Link { stiffness, damping: 0.0, natural_length: UNLOADED },
        }
    }

    /// Of both pendula, from hanging down, and of the spring, J; from angles and angular velocities.
    pub fn energy(&self, angles: [f64; 2], velocities: [f64; 2]) -> f64 {
        let [p1, p2] = [0, 1].map(|i| self.rods[i].tip(angles[i]));
        let rods: f64 = (0..2).map(|i| self.rods[i].energy(&[angles[i], velocities[i]])).sum();
        rods + self.link.energy(minus(p2, p1))
    }

    /// The parameters of the pendulum that gives the force.
    pub fn giver_parameters(&self) -> Vec<(String, ParameterValue)> {
        let mut list = self.parameters(0);
        list.extend(ParameterValue::numbers(&[
            ("stiffness", self.link.stiffness),
            ("damping", self.link.damping),
            ("natural_length", self.link.natural_length),
        ]));
        list
    }

    /// The parameters of the other pendulum.
    pub fn pendulum_parameters(&self) -> Vec<(String, ParameterValue)> {
        self.parameters(1)
    }

    fn parameters(&self, i: usize) -> Vec<(String, ParameterValue)> {
        let rod = &self.rods[i];
        ParameterValue::numbers(&[
            ("mass", rod.mass),
            ("length", rod.length),
            ("pivot_x", rod.pivot[0]),
            ("pivot_y", rod.pivot[1]),
            ("gravity", rod.gravity),
            ("initial_angle", self.initial_angles[i]),
        ])
    }
}

/// Cases 1 and 2; rodriguez2022 Table 4 and §4.3, with the link unloaded at the start.
pub const CASES: [Case; 2] = [Case::row(6.0), Case::row(50.0)];

/// Distance of the tips at θ1 = π/4 and θ2 = π/18, m.
///
/// The paper prints 8.756 m, which would be their distance if θ2 were counted from the horizontal, against its words.
const UNLOADED: f64 = 6.076583134385069;

const fn number(
    name: &'static str,
    unit: &'static str,
    domain: Domain,
    description: &'static str,
) -> ParameterSpec {
    ParameterSpec { name, unit, domain, description }
}

const GRAVITY: ParameterSpec =
    number("gravity", "m/s2", Domain::any(9.81), "Acceleration of gravity, downwards");
const PIVOT_Y: ParameterSpec =
    number("pivot_y", "m", Domain::any(0.0), "Height at which it is pinned to the ground");
const INITIAL_SPEED: ParameterSpec =
    number("initial_speed", "rad/s", Domain::any(0.0), "Angular velocity at the start");

const INTEGRATOR: ParameterSpec = number(
    "integrator",
    "",
    Domain::Choice(&["symplectic", "accurate", "newmark"]),
    "Symplectic Euler as in rodriguez2022, an adaptive method of order 5, or Newmark's implicit method (trapezoid rule)",
);
const FORMULATION: ParameterSpec = number(
    "formulation",
    "",
    Domain::Choice(&["minimal", "augmented-lagrangian"]),
    "One angle, or two coordinates of the tip with a constraint (augmented Lagrangian, as in rodriguez2022)",
);

const fn mass(default: f64) -> ParameterSpec {
    number("mass", "kg", Domain::positive(default), "Mass of its tip")
}

const fn length(default: f64) -> ParameterSpec {
    number("length", "m", Domain::positive(default), "Length of its rod")
}

const fn pivot_x(default: f64) -> ParameterSpec {
    number("pivot_x", "m", Domain::any(default), "Where it is pinned to the ground, sideways")
}

const fn initial_angle(default: f64) -> ParameterSpec {
    number("initial_angle", "rad", Domain::any(default), "Angle at the start, from hanging down towards x")
}

/// `pendula/force-giver`: the first pendulum and the link.
pub static FORCE_GIVER: ModelSpec = ModelSpec {
    name: "pendula/force-giver",
    description: "A pendulum, and the spring and damper from its tip to another one; the force acts on the other \
                  one, with direct feed-through from its position and velocity",
    parameters: &[
        mass(1.0),
        length(2.5),
        pivot_x(0.0),
        PIVOT_Y,
        GRAVITY,
        initial_angle(PI / 4.0),
        INITIAL_SPEED,
        number("stiffness", "N/m", Domain::not_negative(6.0), "Stiffness of the spring between the tips"),
        number("damping", "N.s/m", Domain::not_negative(0.0), "Coefficient of the damper between the tips"),
        number("natural_length", "m", Domain::not_negative(UNLOADED), "Length of the unloaded spring"),
        micro_steps(1),
        INTEGRATOR,
        FORMULATION,
    ],
    make: |p| {
        let link = Link {
            stiffness: p.number("stiffness"),
            damping: p.number("damping"),
            natural_length: p.number("natural_length"),
        };
        let equations = ForceGiver { own: Pendulum::new(p), link };
        Box::new(Built::new(FORCE_GIVER.name, equations, Capability::of(p)))
    },
};

/// `pendula/pendulum`: the second pendulum.
pub static PENDULUM: ModelSpec = ModelSpec {
    name: "pendula/pendulum",
    description: "A pendulum whose tip a force pulls at; it gives position and velocity of the tip",
    parameters: &[
        mass(2.0),
        length(3.5),
        pivot_x(7.0),
        PIVOT_Y,
        GRAVITY,
        initial_angle(PI / 18.0),
        INITIAL_SPEED,
        micro_steps(1),
        INTEGRATOR,
        FORMULATION,
    ],
    make: |p| Box::new(Built::new(PENDULUM.name, Pendulum::new(p), Capability::of(p))),
};

/// How a step is crossed.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Scheme {
    Explicit(Integrator),
    /// So many steps.
    Newmark(u32),
}

impl Scheme {
    fn of(p: &Parameters) -> Self {
        match p.choice("integrator") {
            "newmark" => Scheme::Newmark(p.count("micro_steps")),
            _ => Scheme::Explicit(Integrator::of(p)),
        }
    }

    /// See [`Integrator::last_input`].
    fn last_input(self, h: f64) -> f64 {
        match self {
            Scheme::Explicit(integrator) => integrator.last_input(h),
            Scheme::Newmark(_) => h,
        }
    }

    /// See [`Integrator::symplectic`].
    fn cross<const N: usize>(
        self,
        (x, guess): ([f64; N], f64),
        h: f64,
        rate: impl Fn(f64, &[f64; N]) -> [f64; N],
    ) -> Result<([f64; N], f64), SubsystemError> {
        match self {
            Scheme::Explicit(integrator) => Ok(integrator.symplectic((x, guess), h, rate)),
            Scheme::Newmark(n) => {
                let too_long = || SubsystemError::Infeasible {
                    message: format!(
                        "Newmark's method does not converge with {n} steps in {h} s. Raise `micro_steps`, or make shorter steps"
                    ),
                };
                newmark(x, n, h, rate).map(|x| (x, guess)).ok_or_else(too_long)
            }
        }
    }
}

/// A pendulum in one of two formulations.
#[derive(Clone)]
struct Pendulum {
    rod: Rod,
    scheme: Scheme,
    /// Position and velocity of the tip are its states, instead of the angle.
    augmented: bool,
    /// Angle, angular velocity.
    x: [f64; 2],
    /// Position and velocity of the tip.
    tip: [f64; 4],
    guess: f64,
}

impl Pendulum {
    fn new(p: &Parameters) -> Self {
        let rod = Rod {
            mass: p.number("mass"),
            length: p.number("length"),
            pivot: [p.number("pivot_x"), p.number("pivot_y")],
            gravity: p.number("gravity"),
        };
        let x = [p.number("initial_angle"), p.number("initial_speed")];
        let ([px, py], [vx, vy]) = (rod.tip(x[0]), rod.tip_velocity(&x));
        let augmented = p.choice("formulation") == "augmented-lagrangian";
        Pendulum { rod, scheme: Scheme::of(p), augmented, x, tip: [px, py, vx, vy], guess: 0.0 }
    }

    /// Crosses `h` while `force(τ, p, ṗ)` pulls at the tip.
    fn cross(
        &mut self,
        h: f64,
        force: impl Fn(f64, [f64; 2], [f64; 2]) -> [f64; 2],
    ) -> Result<(), SubsystemError> {
        let rod = self.rod;
        if self.augmented {
            let rate = |tau: f64, &[x, y, vx, vy]: &[f64; 4]| {
                let (p, v) = ([x, y], [vx, vy]);
                let [ax, ay] = rod.tip_acceleration(p, v, force(tau, p, v));
                [vx, vy, ax, ay]
            };
            (self.tip, self.guess) = self.scheme.cross((self.tip, self.guess), h, rate)?;
            return Ok(());
        }
        let rate = |tau: f64, x: &[f64; 2]| {
            [x[1], rod.acceleration(x[0], force(tau, rod.tip(x[0]), rod.tip_velocity(x)))]
        };
        (self.x, self.guess) = self.scheme.cross((self.x, self.guess), h, rate)?;
        Ok(())
    }

    /// Position and velocity of the tip.
    fn motion(&self) -> ([f64; 2], [f64; 2]) {
        match (self.augmented, self.tip) {
            (true, [x, y, vx, vy]) => ([x, y], [vx, vy]),
            (false, _) => (self.rod.tip(self.x[0]), self.rod.tip_velocity(&self.x)),
        }
    }

    /// Angle and angular velocity.
    fn angles(&self) -> [f64; 2] {
        if !self.augmented {
            return self.x;
        }
        let (p, v) = self.motion();
        let d = minus(p, self.rod.pivot);
        [d[0].atan2(-d[1]), (d[0] * v[1] - d[1] * v[0]) / (d[0] * d[0] + d[1] * d[1])]
    }

    fn energy(&self) -> f64 {
        match self.motion() {
            (p, v) if self.augmented => self.rod.tip_energy(p, v),
            _ => self.rod.energy(&self.x),
        }
    }

    fn numbers(&mut self, visit: &mut dyn FnMut(&mut f64)) -> bool {
        self.x.iter_mut().chain(&mut self.tip).chain([&mut self.guess]).for_each(visit);
        true
    }
}

impl Equations<2, 4> for Pendulum {
    fn variables(&self) -> Vec<Variable> {
        vec![
            input("force_x", "N", "Force on the tip, sideways"),
            input("force_y", "N", "Force on the tip, upwards"),
            output("position_x", "m", "Position of the tip, sideways"),
            output("position_y", "m", "Position of the tip, upwards"),
            output("velocity_x", "m/s", "Velocity of the tip, sideways"),
            output("velocity_y", "m/s", "Velocity of the tip, upwards"),
            local("angle", "rad", "Angle from hanging down"),
            local("angular_velocity", "rad/s", "Its rate"),
            local("energy", "J", "Kinetic and potential energy of the tip, from hanging down"),
        ]
    }

    fn feed_through(&self) -> Vec<(usize, usize)> {
        Vec::new()
    }

    fn step(&mut self, _t: f64, h: f64, u: &InputPolynomial<2>) -> Result<(), SubsystemError> {
        self.cross(h, |tau, _, _| u.all(tau))
    }

    fn output(&self, _u: &[f64; 2]) -> [f64; 4] {
        let ([x, y], [vx, vy]) = self.motion();
        [x, y, vx, vy]
    }

    fn output_time(&self, h: f64) -> f64 {
        self.scheme.last_input(h)
    }

    fn local(&self, k: usize, _u: &[f64; 2]) -> f64 {
        if k < 2 { self.angles()[k] } else { self.energy() }
    }

    fn state(&mut self, visit: &mut dyn FnMut(&mut f64)) -> bool {
        self.numbers(visit)
    }
}

/// A pendulum and the link from its tip to another one, whose position and velocity are the inputs.
#[derive(Clone)]
struct ForceGiver {
    own: Pendulum,
    link: Link,
}

/// The vector from a tip at `p` with velocity `v` to the other one, and its rate.
fn gap((p, v): ([f64; 2], [f64; 2]), u: &[f64; 4]) -> ([f64; 2], [f64; 2]) {
    (minus([u[0], u[1]], p), minus([u[2], u[3]], v))
}

impl Equations<4, 2> for ForceGiver {
    fn variables(&self) -> Vec<Variable> {
        vec![
            input("position_x", "m", "Position of the other tip, sideways"),
            input("position_y", "m", "Position of the other tip, upwards"),
            input("velocity_x", "m/s", "Velocity of the other tip, sideways"),
            input("velocity_y", "m/s", "Velocity of the other tip, upwards"),
            output("force_x", "N", "Force on the other tip, sideways"),
            output("force_y", "N", "Force on the other tip, upwards"),
            local("angle", "rad", "Own angle from hanging down"),
            local("angular_velocity", "rad/s", "Its rate"),
            local(
                "energy",
                "J",
                "Energy of the own tip, from hanging down, and of the spring between the tips",
            ),
        ]
    }

    fn feed_through(&self) -> Vec<(usize, usize)> {
        (0..2).flat_map(|o| (0..4).map(move |i| (o, i))).collect()
    }

    fn step(&mut self, _t: f64, h: f64, u: &InputPolynomial<4>) -> Result<(), SubsystemError> {
        let link = self.link;
        self.own.cross(h, |tau, p, v| {
            let (d, rate) = gap((p, v), &u.all(tau));
            link.force(d, rate).map(|f| -f)
        })
    }

    fn output(&self, u: &[f64; 4]) -> [f64; 2] {
        let (d, rate) = gap(self.own.motion(), u);
        self.link.force(d, rate)
    }

    fn output_time(&self, h: f64) -> f64 {
        self.own.scheme.last_input(h)
    }

    fn local(&self, k: usize, u: &[f64; 4]) -> f64 {
        match k {
            0 | 1 => self.own.angles()[k],
            _ => self.own.energy() + self.link.energy(gap(self.own.motion(), u).0),
        }
    }

    fn derivatives(&self, u: &[f64; 4], d: &mut [f64]) -> bool {
        let (distance, rate) = gap(self.own.motion(), u);
        let slopes = self.link.slopes(distance, rate);
        d.iter_mut().zip(slopes.iter().flatten()).for_each(|(d, &s)| *d = s);
        true
    }

    fn state(&mut self, visit: &mut dyn FnMut(&mut f64)) -> bool {
        self.own.numbers(visit)
    }
}

/// The monolithic pendula: no coupling, no coupling error.
#[derive(Clone, Debug)]
pub struct Reference {
    case: Case,
    t: f64,
    /// θ1, θ2, θ̇1, θ̇2.
    x: [f64; 4],
    guess: f64,
}

impl Reference {
    /// At the start of a case.
    pub fn new(case: &Case) -> Self {
        let [a, b] = case.initial_angles;
        Reference { case: *case, t: 0.0, x: [a, b, 0.0, 0.0], guess: 0.0 }
    }

    /// Integrates to `t`, which must not lie in the past.
    pub fn advance_to(&mut self, t: f64) {
        let (mut x, mut guess) = (self.x, self.guess);
        if t > self.t {
            dormand_prince(&mut x, 0.0, t - self.t, 1e-13, &mut guess, |_, x| self.rate(x));
        }
        self.x = x;
        self.guess = guess;
        self.t = t;
    }

    fn rate(&self, x: &[f64; 4]) -> [f64; 4] {
        let [p1, p2] = [0, 1].map(|i| self.case.rods[i].tip(x[i]));
        let [v1, v2] = [0, 1].map(|i| self.case.rods[i].tip_velocity(&[x[i], x[i + 2]]));
        let force = self.case.link.force(minus(p2, p1), minus(v2, v1));
        let [rod1, rod2] = &self.case.rods;
        [x[2], x[3], rod1.acceleration(x[0], force.map(|f| -f)), rod2.acceleration(x[1], force)]
    }

    /// Both angles, rad.
    pub fn angles(&self) -> [f64; 2] {
        [self.x[0], self.x[1]]
    }

    /// x and y of both tips, m.
    pub fn positions(&self) -> [[f64; 2]; 2] {
        [0, 1].map(|i| self.case.rods[i].tip(self.x[i]))
    }

    /// Velocities of both tips, m/s.
    pub fn velocities(&self) -> [[f64; 2]; 2] {
        [0, 1].map(|i| self.case.rods[i].tip_velocity(&[self.x[i], self.x[i + 2]]))
    }

    /// Both angular velocities, rad/s.
    pub fn angular_velocities(&self) -> [f64; 2] {
        [self.x[2], self.x[3]]
    }

    /// Of both pendula, from hanging down, and of the spring, J.
    pub fn energy(&self) -> f64 {
        self.case.energy(self.angles(), self.angular_velocities())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::integrate::runge_kutta;

    #[test]
    fn the_link_is_unloaded_at_the_start() {
        for case in &CASES {
            let [p1, p2] = Reference::new(case).positions();
            let d = minus(p2, p1);
            assert!((d[0].hypot(d[1]) - case.link.natural_length).abs() < 1e-14);
        }
    }

    #[test]
    fn the_reference_agrees_with_another_method_and_keeps_its_energy() {
        for case in &CASES {
            let mut reference = Reference::new(case);
            let (mut x, start) = (reference.x, reference.energy());
            reference.advance_to(30.0);
            runge_kutta(&mut x, 1e-4, 300_000, |_, x| reference.rate(x));
            for (i, x) in x.iter().enumerate() {
                assert!((reference.x[i] - x).abs() < 1e-9, "{:?} against {x:?}", reference.x);
            }
            assert!((reference.energy() / start - 1.0).abs() < 1e-9);
        }
    }

    /// The eight derivatives of the force against central differences.
    #[test]
    fn the_derivatives_are_those_of_the_force() {
        let link = Link { stiffness: 6.0, damping: 0.7, natural_length: 6.0 };
        let at = [5.0, -1.5, 0.4, -0.9];
        let force = |z: [f64; 4]| link.force([z[0], z[1]], [z[2], z[3]]);
        let slopes = link.slopes([at[0], at[1]], [at[2], at[3]]);
        for j in 0..4 {
            let shifted = |by: f64| std::array::from_fn(|k| at[k] + if k == j { by } else { 0.0 });
            let (up, down) = (force(shifted(1e-6)), force(shifted(-1e-6)));
            for (i, row) in slopes.iter().enumerate() {
                let slope = (up[i] - down[i]) / 2e-6;
                assert!((slope - row[j]).abs() < 1e-7, "∂F{i}/∂{j}: {slope} {}", row[j]);
            }
        }
    }
}
