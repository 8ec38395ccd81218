//! The linear oscillators of rodriguez2022 §3.3 and §4.1, split into force givers and a mass, and their solution.
//!
//! `m1 ẍ1 = -κ1 x1 - c1 ẋ1 - f`, `m2 ẍ2 = -κ2 x2 - c2 ẋ2 + Σ f`, `f = -κc (x2 - x1) - cc (ẋ2 - ẋ1)`: a force giver
//! owns mass 1 and the coupling and gives the force on mass 2, which gives back its position and velocity. The
//! double oscillator has one force giver; in the multiple oscillator n - 1 of them pull at the same mass. Inputs are
//! sampled at the start of each micro step; the force and the energy of the coupling see the last one.

use super::equations::{input, local, output};
use super::force_laws::{Damper, Spring};
use super::integrate::dormand_prince;
use super::micro::{Integrator, SYMPLECTIC, micro_steps};
use super::{
    Built, Capability, Domain, Equations, InputPolynomial, ModelSpec, ParameterSpec, ParameterValue,
    Parameters,
};
use powerbond_core::subsystem::{SubsystemError, Variable};

/// A mass between a spring and a damper to the ground.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Body {
    /// m, kg.
    pub mass: f64,
    /// κ, N/m.
    pub stiffness: f64,
    /// c, N.s/m.
    pub damping: f64,
    /// x at the start, m.
    pub initial_position: f64,
    /// ẋ at the start, m/s.
    pub initial_velocity: f64,
}

impl Body {
    fn parameters(&self) -> Vec<(String, ParameterValue)> {
        ParameterValue::numbers(&[
            ("mass", self.mass),
            ("stiffness", self.stiffness),
            ("damping", self.damping),
            ("initial_position", self.initial_position),
            ("initial_velocity", self.initial_velocity),
        ])
    }
}

/// All parameters of an oscillator: equal force givers that pull at one mass.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Case {
    /// How many force givers there are: n - 1 with n masses in all.
    pub givers: u32,
    /// What each force giver owns: m1, κ1, c1.
    pub giver: Body,
    /// What they pull at: m2, κ2, c2.
    pub mass: Body,
    /// κc, N/m.
    pub coupling_stiffness: f64,
    /// cc, N.s/m.
    pub coupling_damping: f64,
}

impl Case {
    /// A row of a table of the paper: `m = [m1, m2]`, `k = [κ1, κc, κ2]`, `c = c1 = cc = c2`; the force givers start
    /// with 100 m/s, the mass with -100 m/s, all at 0.
    pub(super) const fn row(givers: u32, m: [f64; 2], k: [f64; 3], c: f64) -> Case {
        let [giver, mass] = [
            Body { mass: m[0], stiffness: k[0], damping: c, initial_position: 0.0, initial_velocity: 100.0 },
            Body { mass: m[1], stiffness: k[2], damping: c, initial_position: 0.0, initial_velocity: -100.0 },
        ];
        Case { givers, giver, mass, coupling_stiffness: k[1], coupling_damping: c }
    }

    /// The parameters of each force giver.
    pub fn giver_parameters(&self) -> Vec<(String, ParameterValue)> {
        let mut list = self.giver.parameters();
        list.extend(ParameterValue::numbers(&[
            ("coupling_stiffness", self.coupling_stiffness),
            ("coupling_damping", self.coupling_damping),
        ]));
        list
    }

    /// The parameters of the mass that they pull at.
    pub fn mass_parameters(&self) -> Vec<(String, ParameterValue)> {
        self.mass.parameters()
    }
}

/// The double linear oscillator, cases 1 to 8; rodriguez2022 Table 1.
pub const DOUBLE: [Case; 8] = [
    Case::row(1, [1.0, 1.0], [10.0, 100.0, 1000.0], 0.0),
    Case::row(1, [1.0, 1.0], [10.0, 100.0, 1000.0], 0.1),
    Case::row(1, [1.0, 1.0], [10.0, 1000.0, 100.0], 0.0),
    Case::row(1, [1.0, 1.0], [10.0, 1000.0, 100.0], 0.1),
    Case::row(1, [1.0, 1.0], [1000.0, 100.0, 10.0], 0.0),
    Case::row(1, [1.0, 1.0], [1000.0, 100.0, 10.0], 0.1),
    Case::row(1, [10.0, 1.0], [10.0, 100.0, 1000.0], 0.0),
    Case::row(1, [1.0, 10.0], [10.0, 100.0, 1000.0], 0.0),
];

/// The multiple linear oscillator, cases 1 to 4: n = 3, 3, 5, 5; rodriguez2022 Table 2.
pub const MULTIPLE: [Case; 4] = [
    Case::row(2, [1.0, 1.0], [10.0, 100.0, 1000.0], 0.0),
    Case::row(2, [1.0, 1.0], [10.0, 100.0, 1000.0], 0.1),
    Case::row(4, [1.0, 1.0], [10.0, 100.0, 1000.0], 0.0),
    Case::row(4, [1.0, 1.0], [10.0, 100.0, 1000.0], 0.1),
];

pub(super) const MASS_PARAMETER: ParameterSpec =
    ParameterSpec { name: "mass", unit: "kg", domain: Domain::positive(1.0), description: "Its mass" };
pub(super) const fn stiffness(default: f64) -> ParameterSpec {
    ParameterSpec {
        name: "stiffness",
        unit: "N/m",
        domain: Domain::not_negative(default),
        description: "Stiffness of the spring to the ground (N/m^0.5 for the square root)",
    }
}
pub(super) const DAMPING: ParameterSpec = ParameterSpec {
    name: "damping",
    unit: "N.s/m",
    domain: Domain::not_negative(0.0),
    description: "Coefficient of the damper to the ground (N.s2/m2 for the quadratic one)",
};
pub(super) const COUPLING_STIFFNESS: ParameterSpec = ParameterSpec {
    name: "coupling_stiffness",
    unit: "N/m",
    domain: Domain::not_negative(100.0),
    description: "Stiffness of the spring between the masses (N/m^0.5 for the square root)",
};
pub(super) const COUPLING_DAMPING: ParameterSpec = ParameterSpec {
    name: "coupling_damping",
    unit: "N.s/m",
    domain: Domain::not_negative(0.0),
    description: "Coefficient of the damper between the masses (N.s2/m2 for the quadratic one)",
};
pub(super) const INITIAL_POSITION: ParameterSpec = ParameterSpec {
    name: "initial_position",
    unit: "m",
    domain: Domain::any(0.0),
    description: "Its position at the start",
};
pub(super) const fn initial_velocity(default: f64) -> ParameterSpec {
    ParameterSpec {
        name: "initial_velocity",
        unit: "m/s",
        domain: Domain::any(default),
        description: "Its velocity at the start",
    }
}

/// `oscillator/force-giver`: mass 1 and the coupling.
pub static FORCE_GIVER: ModelSpec = ModelSpec {
    name: "oscillator/force-giver",
    description: "A mass on a spring, and the spring and damper that couple it to another mass; `force` acts on the \
                  other mass, with direct feed-through from its position and velocity",
    parameters: &[
        MASS_PARAMETER,
        stiffness(10.0),
        DAMPING,
        COUPLING_STIFFNESS,
        COUPLING_DAMPING,
        INITIAL_POSITION,
        initial_velocity(100.0),
        micro_steps(1),
        SYMPLECTIC,
    ],
    make: |p| {
        let linear =
            |stiffness, damping| (Spring::Linear(p.number(stiffness)), Damper::Linear(p.number(damping)));
        let ground = linear("stiffness", "damping");
        let equations = ForceGiver::new(p, ground, linear("coupling_stiffness", "coupling_damping"));
        Box::new(Built::new(FORCE_GIVER.name, equations, Capability::of(p)))
    },
};

/// `oscillator/mass`: mass 2.
pub static MASS: ModelSpec = ModelSpec {
    name: "oscillator/mass",
    description: "A mass on a spring that a force pulls at; it gives its position and velocity",
    parameters: &[
        MASS_PARAMETER,
        stiffness(1000.0),
        DAMPING,
        INITIAL_POSITION,
        initial_velocity(-100.0),
        micro_steps(1),
        SYMPLECTIC,
    ],
    make: |p| {
        let ground = (Spring::Linear(p.number("stiffness")), Damper::Linear(p.number("damping")));
        Box::new(Built::new(MASS.name, Mass::new(p, ground), Capability::of(p)))
    },
};

/// Position and velocity of a mass between a spring and a damper to the ground.
#[derive(Clone)]
pub(super) struct Mass {
    mass: f64,
    spring: Spring,
    damper: Damper,
    integrator: Integrator,
    x: [f64; 2],
    guess: f64,
}

impl Mass {
    pub fn new(p: &Parameters, (spring, damper): (Spring, Damper)) -> Self {
        Mass {
            mass: p.number("mass"),
            spring,
            damper,
            integrator: Integrator::of(p),
            x: [p.number("initial_position"), p.number("initial_velocity")],
            guess: 0.0,
        }
    }

    /// Crosses `h` while `force(τ, x)` pulls.
    fn cross(&mut self, h: f64, force: impl Fn(f64, &[f64; 2]) -> f64) {
        let rate = |tau: f64, x: &[f64; 2]| {
            let ground = self.spring.force(x[0]) + self.damper.force(x[1]);
            [x[1], (force(tau, x) - ground) / self.mass]
        };
        (self.x, self.guess) = self.integrator.symplectic((self.x, self.guess), h, rate);
    }

    /// Kinetic, and of the spring to the ground.
    fn energy(&self) -> f64 {
        0.5 * self.mass * self.x[1] * self.x[1] + self.spring.energy(self.x[0])
    }
}

impl Equations<1, 2> for Mass {
    fn variables(&self) -> Vec<Variable> {
        vec![
            input("force", "N", "Force on the mass"),
            output("position", "m", "Position of the mass"),
            output("velocity", "m/s", "Velocity of the mass"),
            local(
                "energy",
                "J",
                "Kinetic energy of the mass and potential energy of the spring to the ground",
            ),
        ]
    }

    fn feed_through(&self) -> Vec<(usize, usize)> {
        Vec::new()
    }

    fn step(&mut self, _t: f64, h: f64, u: &InputPolynomial<1>) -> Result<(), SubsystemError> {
        self.cross(h, |tau, _| u.at(0, tau));
        Ok(())
    }

    fn output(&self, _u: &[f64; 1]) -> [f64; 2] {
        self.x
    }

    fn output_time(&self, h: f64) -> f64 {
        self.integrator.last_input(h)
    }

    fn local(&self, _k: usize, _u: &[f64; 1]) -> f64 {
        self.energy()
    }

    fn state(&mut self, visit: &mut dyn FnMut(&mut f64)) -> bool {
        self.x.iter_mut().chain([&mut self.guess]).for_each(visit);
        true
    }
}

/// A mass and the spring and damper that couple it to another one, whose position and velocity are the inputs.
#[derive(Clone)]
pub(super) struct ForceGiver {
    own: Mass,
    spring: Spring,
    damper: Damper,
}

impl ForceGiver {
    pub fn new(p: &Parameters, ground: (Spring, Damper), (spring, damper): (Spring, Damper)) -> Self {
        ForceGiver { own: Mass::new(p, ground), spring, damper }
    }
}

/// What pulls a far end at `far = [position, velocity]` towards the near end, N.
fn pull(spring: Spring, damper: Damper, far: [f64; 2], near: &[f64; 2]) -> f64 {
    -spring.force(far[0] - near[0]) - damper.force(far[1] - near[1])
}

impl Equations<2, 1> for ForceGiver {
    fn variables(&self) -> Vec<Variable> {
        vec![
            input("position", "m", "Position of the other mass"),
            input("velocity", "m/s", "Velocity of the other mass"),
            output("force", "N", "Force on the other mass"),
            local("own_position", "m", "Position of the own mass"),
            local("own_velocity", "m/s", "Velocity of the own mass"),
            local(
                "energy",
                "J",
                "Kinetic energy of the own mass and potential energy of its spring and the coupling",
            ),
        ]
    }

    fn feed_through(&self) -> Vec<(usize, usize)> {
        vec![(0, 0), (0, 1)]
    }

    fn step(&mut self, _t: f64, h: f64, u: &InputPolynomial<2>) -> Result<(), SubsystemError> {
        let (spring, damper) = (self.spring, self.damper);
        self.own.cross(h, |tau, x| -pull(spring, damper, u.all(tau), x));
        Ok(())
    }

    fn output(&self, u: &[f64; 2]) -> [f64; 1] {
        [pull(self.spring, self.damper, *u, &self.own.x)]
    }

    fn output_time(&self, h: f64) -> f64 {
        self.own.integrator.last_input(h)
    }

    fn local(&self, k: usize, u: &[f64; 2]) -> f64 {
        match k {
            0 | 1 => self.own.x[k],
            _ => self.own.energy() + self.spring.energy(u[0] - self.own.x[0]),
        }
    }

    fn derivatives(&self, u: &[f64; 2], d: &mut [f64]) -> bool {
        d[0] = -self.spring.slope(u[0] - self.own.x[0]);
        d[1] = -self.damper.slope(u[1] - self.own.x[1]);
        true
    }

    fn state(&mut self, visit: &mut dyn FnMut(&mut f64)) -> bool {
        self.own.x.iter_mut().chain([&mut self.own.guess]).for_each(visit);
        true
    }
}

/// The longest stretch that the reference crosses at once, in s: where a square-root spring passes its zero the
/// integrator goes down to a 10^-7 part of it.
const STRETCH: f64 = 1e-3;

/// The monolithic oscillator: no coupling, no coupling error. Equal force givers with equal initial values move
/// alike, so that two masses stand for any number.
#[derive(Clone, Debug)]
pub struct Reference {
    case: Case,
    springs: [Spring; 3],
    dampers: [Damper; 3],
    t: f64,
    /// x1, x2, v1, v2.
    x: [f64; 4],
    guess: f64,
}

impl Reference {
    /// The linear oscillator.
    pub fn new(case: &Case) -> Self {
        Reference::with_laws(case, Spring::Linear, Damper::Linear)
    }

    /// With other laws than linear ones, made of the coefficients of `case`.
    pub fn with_laws(case: &Case, spring: fn(f64) -> Spring, damper: fn(f64) -> Damper) -> Self {
        let (giver, mass) = (case.giver, case.mass);
        Reference {
            case: *case,
            springs: [giver.stiffness, case.coupling_stiffness, mass.stiffness].map(spring),
            dampers: [giver.damping, case.coupling_damping, mass.damping].map(damper),
            t: 0.0,
            x: [giver.initial_position, mass.initial_position, giver.initial_velocity, mass.initial_velocity],
            guess: 0.0,
        }
    }

    /// Integrates to `t`, which must not lie in the past.
    pub fn advance_to(&mut self, t: f64) {
        let stretches = ((t - self.t) / STRETCH).ceil().max(0.0);
        let h = (t - self.t) / stretches;
        let (mut x, mut guess) = (self.x, self.guess);
        for _ in 0..stretches as u64 {
            dormand_prince(&mut x, 0.0, h, 1e-14, &mut guess, |_, x| self.rate(x));
        }
        self.x = x;
        self.guess = guess;
        self.t = t;
    }

    fn rate(&self, &[x1, x2, v1, v2]: &[f64; 4]) -> [f64; 4] {
        let force = pull(self.springs[1], self.dampers[1], [x2, v2], &[x1, v1]);
        let ground = |i: usize, x: f64, v: f64| self.springs[i].force(x) + self.dampers[i].force(v);
        let givers = f64::from(self.case.givers);
        [
            v1,
            v2,
            (-force - ground(0, x1, v1)) / self.case.giver.mass,
            (givers * force - ground(2, x2, v2)) / self.case.mass.mass,
        ]
    }

    /// Of each force giver's mass and of the mass they pull at, m.
    pub fn positions(&self) -> [f64; 2] {
        [self.x[0], self.x[1]]
    }

    /// Of each force giver's mass and of the mass they pull at, m/s.
    pub fn velocities(&self) -> [f64; 2] {
        [self.x[2], self.x[3]]
    }

    /// The force of each force giver on the mass, N.
    pub fn force(&self) -> f64 {
        let [x1, x2, v1, v2] = self.x;
        pull(self.springs[1], self.dampers[1], [x2, v2], &[x1, v1])
    }

    /// Kinetic and potential energy of all masses and springs, J.
    pub fn energy(&self) -> f64 {
        let [x1, x2, v1, v2] = self.x;
        self.energy_of([x1, x2], [v1, v2])
    }

    /// The same energy in another state: positions and velocities of each force giver's mass and of the mass they pull at.
    pub fn energy_of(&self, [x1, x2]: [f64; 2], [v1, v2]: [f64; 2]) -> f64 {
        let giver = 0.5 * self.case.giver.mass * v1 * v1
            + self.springs[0].energy(x1)
            + self.springs[1].energy(x2 - x1);
        f64::from(self.case.givers) * giver + 0.5 * self.case.mass.mass * v2 * v2 + self.springs[2].energy(x2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Matrix = [[f64; 4]; 4];

    fn product(a: &Matrix, b: &Matrix) -> Matrix {
        std::array::from_fn(|i| std::array::from_fn(|j| (0..4).map(|k| a[i][k] * b[k][j]).sum()))
    }

    /// e^A by its series for A/2^20 and twenty squarings.
    fn exponential(a: &Matrix) -> Matrix {
        let small = a.map(|row| row.map(|x| x / f64::from(1 << 20)));
        // e^A - 1 keeps the small digits: (1 + e)² - 1 = 2e + e².
        let mut power = small;
        let mut sum = small;
        for k in 2..8 {
            power = product(&power, &small).map(|row| row.map(|x| x / f64::from(k)));
            sum = std::array::from_fn(|i| std::array::from_fn(|j| sum[i][j] + power[i][j]));
        }
        for _ in 0..20 {
            let square = product(&sum, &sum);
            sum = std::array::from_fn(|i| std::array::from_fn(|j| 2.0 * sum[i][j] + square[i][j]));
        }
        std::array::from_fn(|i| std::array::from_fn(|j| sum[i][j] + if i == j { 1.0 } else { 0.0 }))
    }

    /// The matrix exponential of the equations of motion is exact, with and without damping.
    #[test]
    fn the_reference_agrees_with_the_matrix_exponential() {
        for (k, case) in DOUBLE.iter().chain(&MULTIPLE).enumerate() {
            let (m1, m2, n) = (case.giver.mass, case.mass.mass, f64::from(case.givers));
            let (kc, cc) = (case.coupling_stiffness, case.coupling_damping);
            let (k1, c1) = (case.giver.stiffness + kc, case.giver.damping + cc);
            let (k2, c2) = (case.mass.stiffness + n * kc, case.mass.damping + n * cc);
            let t = 10.0;
            let a = [
                [0.0, 0.0, 1.0, 0.0],
                [0.0, 0.0, 0.0, 1.0],
                [-k1 / m1, kc / m1, -c1 / m1, cc / m1],
                [n * kc / m2, -k2 / m2, n * cc / m2, -c2 / m2],
            ];
            let flow = exponential(&a.map(|row| row.map(|x| x * t)));
            let exact: [f64; 4] = std::array::from_fn(|i| 100.0 * (flow[i][2] - flow[i][3]));
            let mut reference = Reference::new(case);
            reference.advance_to(t);
            for i in 0..4 {
                let error = (reference.x[i] - exact[i]).abs() / (1.0 + exact[i].abs());
                assert!(error < 1e-9, "row {k}: {:?} against {exact:?}", reference.x);
            }
        }
    }

    /// Without damping nothing is lost: 10 000 J with two masses of 1 kg at 100 m/s.
    #[test]
    fn the_reference_keeps_its_energy() {
        let mut reference = Reference::new(&DOUBLE[0]);
        assert_eq!(reference.energy(), 10_000.0);
        reference.advance_to(10.0);
        assert!((reference.energy() - 10_000.0).abs() < 1e-6, "{}", reference.energy());
    }
}
