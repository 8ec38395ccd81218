//! The quarter car of arnold2013 §5 with the ends of its suspension as signals, coupled in three ways, and its exact solution.
//!
//! `mc ẍc = F`, `mw ẍw = Ft - F`, `F = kc (xw - xc) + damper(ẋw - ẋc)`, `Ft = kw (z - xw) + dw (ż - ẋw)`, z the road. The dampers are
//! those of [`Damper`]. With the linear one both subsystems are linear; by default they are crossed exactly, so that a run shows
//! the coupling error only.
//!
//! - dd: chassis (in xw, ẋw; out xc, ẋc) and wheel (in xc, ẋc; out xw, ẋw) both know the suspension: no feed-through
//! - fd: chassis (in F; out xc, ẋc) and wheel with suspension (in xc, ẋc; out F): F feeds xc and ẋc through
//! - df: chassis with suspension (in xw, ẋw; out F) and wheel (in F; out xw, ẋw): F feeds xw and ẋw through
//!
//! fd and df are the reticulations 1 and 2 of sadjina2020 with the position of the suspension's far end sent beside the power bond
//! instead of integrated from its velocity (footnote 7 there; [`super::quarter_car`] integrates it).

use super::equations::{input, local, output};
use super::integrate::dormand_prince;
use super::linear::{Matrix, Propagator, Propagators};
use super::quarter_car::{DAMPER, DAMPING, Damper, LINEARITY};
use super::{Built, Capability, Domain, Equations, InputPolynomial, ModelSpec, ParameterSpec, Parameters};
use powerbond_core::subsystem::{SubsystemError, Variable};

const STIFFNESS: ParameterSpec = ParameterSpec {
    name: "stiffness",
    unit: "N/m",
    domain: Domain::not_negative(15000.0),
    description: "Stiffness of the suspension spring",
};
const TYRE_STIFFNESS: ParameterSpec = ParameterSpec {
    name: "tyre_stiffness",
    unit: "N/m",
    domain: Domain::not_negative(150_000.0),
    description: "Stiffness of the tyre",
};
const TYRE_DAMPING: ParameterSpec = ParameterSpec {
    name: "tyre_damping",
    unit: "N.s/m",
    domain: Domain::not_negative(0.0),
    description: "Damping of the tyre",
};
const POSITION: ParameterSpec = ParameterSpec {
    name: "initial_position",
    unit: "m",
    domain: Domain::any(0.0),
    description: "Position at the start",
};
const VELOCITY: ParameterSpec = ParameterSpec {
    name: "initial_velocity",
    unit: "m/s",
    domain: Domain::any(0.0),
    description: "Velocity at the start",
};
const INTEGRATOR: ParameterSpec = ParameterSpec {
    name: "integrator",
    unit: "",
    domain: Domain::Choice(&["exact", "euler"]),
    description: "The exact solution under the held inputs (with another damper than `linear` to a tolerance of 1e-12), or \
                  explicit Euler with `micro_steps`",
};
const MICRO_STEPS: ParameterSpec = ParameterSpec {
    name: "micro_steps",
    unit: "",
    domain: Domain::Count { default: 10, min: 1, max: 1_000_000 },
    description: "Euler steps of the subsystem within one step",
};

const fn mass(default: f64) -> ParameterSpec {
    ParameterSpec { name: "mass", unit: "kg", domain: Domain::positive(default), description: "Its mass" }
}

/// `quarter-car/chassis-dd`: chassis that sees the motion of the wheel.
pub static CHASSIS_DD: ModelSpec = ModelSpec {
    name: "quarter-car/chassis-dd",
    description: "Chassis and suspension of a quarter car, driven by the motion of the wheel (displacement-displacement)",
    parameters: &[
        mass(400.0),
        STIFFNESS,
        DAMPING,
        DAMPER,
        LINEARITY,
        POSITION,
        VELOCITY,
        INTEGRATOR,
        MICRO_STEPS,
    ],
    make: |p| Box::new(Built::new(CHASSIS_DD.name, ChassisDd(chassis(p)), Capability::of(p))),
};

/// `quarter-car/wheel-dd`: wheel that sees the motion of the chassis.
pub static WHEEL_DD: ModelSpec = ModelSpec {
    name: "quarter-car/wheel-dd",
    description: "Wheel, tyre and suspension of a quarter car, driven by the motion of the chassis (displacement-displacement)",
    parameters: &[
        mass(40.0),
        STIFFNESS,
        DAMPING,
        DAMPER,
        LINEARITY,
        TYRE_STIFFNESS,
        TYRE_DAMPING,
        POSITION,
        VELOCITY,
        INTEGRATOR,
        MICRO_STEPS,
    ],
    make: |p| Box::new(Built::new(WHEEL_DD.name, WheelDd(wheel(p)), Capability::of(p))),
};

/// `quarter-car/chassis-fd`: a mass that the suspension force moves.
pub static CHASSIS_FD: ModelSpec = ModelSpec {
    name: "quarter-car/chassis-fd",
    description: "The chassis of a quarter car: a mass that the suspension force moves (force-displacement)",
    parameters: &[mass(400.0), POSITION, VELOCITY, INTEGRATOR, MICRO_STEPS],
    make: |p| {
        let body = Body::of(p, [0.0, 0.0], [1.0 / p.number("mass")]);
        Box::new(Built::new(CHASSIS_FD.name, ChassisFd(body), Capability::of(p)))
    },
};

/// `quarter-car/wheel-fd`: wheel that answers the motion of the chassis with the suspension force.
pub static WHEEL_FD: ModelSpec = ModelSpec {
    name: "quarter-car/wheel-fd",
    description: "Wheel, tyre and suspension of a quarter car; direct feed-through from the motion of the chassis to \
                  the suspension force (force-displacement)",
    parameters: WHEEL_DD.parameters,
    make: |p| {
        let equations = WheelFd { body: wheel(p), suspension: Suspension::of(p) };
        Box::new(Built::new(WHEEL_FD.name, equations, Capability::of(p)))
    },
};

/// `quarter-car/chassis-df`: chassis that answers the motion of the wheel with the suspension force.
pub static CHASSIS_DF: ModelSpec = ModelSpec {
    name: "quarter-car/chassis-df",
    description: "Chassis and suspension of a quarter car; direct feed-through from the motion of the wheel to the \
                  suspension force (displacement-force)",
    parameters: CHASSIS_DD.parameters,
    make: |p| {
        let equations = ChassisDf { body: chassis(p), suspension: Suspension::of(p) };
        Box::new(Built::new(CHASSIS_DF.name, equations, Capability::of(p)))
    },
};

/// `quarter-car/wheel-df`: wheel and tyre that the suspension force moves.
pub static WHEEL_DF: ModelSpec = ModelSpec {
    name: "quarter-car/wheel-df",
    description: "Wheel and tyre of a quarter car, moved by the suspension force (displacement-force)",
    parameters: &[mass(40.0), TYRE_STIFFNESS, TYRE_DAMPING, POSITION, VELOCITY, INTEGRATOR, MICRO_STEPS],
    make: |p| {
        let (m, kw, dw) = (p.number("mass"), p.number("tyre_stiffness"), p.number("tyre_damping"));
        let body = Body::of(p, [-kw / m, -dw / m], [-1.0 / m, kw / m, dw / m]);
        Box::new(Built::new(WHEEL_DF.name, WheelDf(body), Capability::of(p)))
    },
};

/// The chassis with suspension; inputs xw, ẋw.
fn chassis(p: &Parameters) -> Body<2> {
    let (m, k) = (p.number("mass"), p.number("stiffness"));
    let (d, damper) = split_damper(p);
    Body { damper, ..Body::of(p, [-k / m, -d / m], [k / m, d / m]) }
}

/// The wheel with tyre and suspension; inputs xc, ẋc, z, ż.
fn wheel(p: &Parameters) -> Body<4> {
    let (m, k) = (p.number("mass"), p.number("stiffness"));
    let (kw, dw) = (p.number("tyre_stiffness"), p.number("tyre_damping"));
    let (d, damper) = split_damper(p);
    Body { damper, ..Body::of(p, [-(k + kw) / m, -(d + dw) / m], [k / m, d / m, kw / m, dw / m]) }
}

/// The linear part of the damper in Ns/m, and the damper over the mass if it is not linear.
fn split_damper(p: &Parameters) -> (f64, Option<(Damper, f64)>) {
    match Damper::of(p) {
        Damper::Linear(d) => (d, None),
        damper => (0.0, Some((damper, p.number("mass")))),
    }
}

/// Spring and damper between chassis and wheel.
#[derive(Clone)]
struct Suspension {
    stiffness: f64,
    damper: Damper,
}

impl Suspension {
    fn of(p: &Parameters) -> Self {
        Suspension { stiffness: p.number("stiffness"), damper: Damper::of(p) }
    }

    /// On the chassis, upwards, where the wheel is `x` above the chassis and moves away from it with `v`.
    fn force(&self, x: f64, v: f64) -> f64 {
        self.stiffness * x + self.damper.force(v)
    }
}

/// A body with one degree of freedom: `ẍ = a·(x, ẋ) + b·u`, and `+ damper(u₁ - ẋ)/m` where the damper is not linear.
#[derive(Clone)]
struct Body<const NI: usize> {
    a: Matrix<2>,
    b: [f64; NI],
    x: [f64; 2],
    /// With the mass, in kg.
    damper: Option<(Damper, f64)>,
    /// The last inner step of the integration with it, in s.
    guess: f64,
    /// Euler steps; `None`: exact.
    micro_steps: Option<u32>,
    propagators: Propagators<2>,
}

impl<const NI: usize> Body<NI> {
    fn of(p: &Parameters, a: [f64; 2], b: [f64; NI]) -> Self {
        Body {
            a: [[0.0, 1.0], a],
            b,
            x: [p.number("initial_position"), p.number("initial_velocity")],
            damper: None,
            guess: 0.0,
            micro_steps: (p.choice("integrator") == "euler").then(|| p.count("micro_steps")),
            propagators: Propagators::default(),
        }
    }

    fn cross(&mut self, h: f64, u: &InputPolynomial<NI>) {
        let drive = |u: &[f64; NI]| self.b.iter().zip(u).map(|(b, u)| b * u).sum::<f64>();
        let acceleration = |tau: f64, [x, v]: [f64; 2]| {
            let u = u.all(tau);
            let damper = self.damper.map_or(0.0, |(damper, mass)| damper.force(u[1] - v) / mass);
            self.a[1][0] * x + self.a[1][1] * v + drive(&u) + damper
        };
        match self.micro_steps {
            None if self.damper.is_some() => {
                let (mut x, mut guess) = (self.x, self.guess);
                dormand_prince(&mut x, 0.0, h, 1e-12, &mut guess, |tau, x| [x[1], acceleration(tau, *x)]);
                (self.x, self.guess) = (x, guess);
            }
            None => {
                let b = [[0.0, drive(&u.value)], [0.0, drive(&u.slope)], [0.0, drive(&u.curvature)]];
                self.x = self.propagators.of(&self.a, h).cross(&self.x, &b);
            }
            Some(n) => {
                let dt = h / f64::from(n);
                let mut state = self.x;
                for i in 0..n {
                    let [x, v] = state;
                    state = [x + dt * v, v + dt * acceleration(f64::from(i) * dt, state)];
                }
                self.x = state;
            }
        }
    }

    fn state(&mut self, visit: &mut dyn FnMut(&mut f64)) -> bool {
        self.x.iter_mut().chain([&mut self.guess]).for_each(visit);
        true
    }
}

fn motion_inputs(of: &str) -> [Variable; 2] {
    [
        input(&format!("{of}_position"), "m", &format!("Position of the {of}")),
        input(&format!("{of}_velocity"), "m/s", &format!("Velocity of the {of}, upwards")),
    ]
}

fn road_inputs() -> [Variable; 2] {
    [
        input("road", "m", "Height of the road"),
        input("road_velocity", "m/s", "Vertical velocity of the road; used by the damping of the tyre only"),
    ]
}

fn motion_outputs() -> [Variable; 2] {
    [output("position", "m", "Position"), output("velocity", "m/s", "Velocity, upwards")]
}

#[derive(Clone)]
struct ChassisDd(Body<2>);

impl Equations<2, 2> for ChassisDd {
    fn variables(&self) -> Vec<Variable> {
        motion_inputs("wheel").into_iter().chain(motion_outputs()).collect()
    }

    fn feed_through(&self) -> Vec<(usize, usize)> {
        Vec::new()
    }

    fn step(&mut self, _t: f64, h: f64, u: &InputPolynomial<2>) -> Result<(), SubsystemError> {
        self.0.cross(h, u);
        Ok(())
    }

    fn output(&self, _u: &[f64; 2]) -> [f64; 2] {
        self.0.x
    }

    fn local(&self, k: usize, _u: &[f64; 2]) -> f64 {
        self.0.x[k]
    }

    fn state(&mut self, visit: &mut dyn FnMut(&mut f64)) -> bool {
        self.0.state(visit)
    }
}

#[derive(Clone)]
struct WheelDd(Body<4>);

impl Equations<4, 2> for WheelDd {
    fn variables(&self) -> Vec<Variable> {
        motion_inputs("chassis").into_iter().chain(road_inputs()).chain(motion_outputs()).collect()
    }

    fn feed_through(&self) -> Vec<(usize, usize)> {
        Vec::new()
    }

    fn step(&mut self, _t: f64, h: f64, u: &InputPolynomial<4>) -> Result<(), SubsystemError> {
        self.0.cross(h, u);
        Ok(())
    }

    fn output(&self, _u: &[f64; 4]) -> [f64; 2] {
        self.0.x
    }

    fn local(&self, k: usize, _u: &[f64; 4]) -> f64 {
        self.0.x[k]
    }

    fn state(&mut self, visit: &mut dyn FnMut(&mut f64)) -> bool {
        self.0.state(visit)
    }
}

#[derive(Clone)]
struct ChassisFd(Body<1>);

impl Equations<1, 2> for ChassisFd {
    fn variables(&self) -> Vec<Variable> {
        let force = input("force", "N", "Force of the suspension on the chassis, upwards");
        [force].into_iter().chain(motion_outputs()).collect()
    }

    fn feed_through(&self) -> Vec<(usize, usize)> {
        Vec::new()
    }

    fn step(&mut self, _t: f64, h: f64, u: &InputPolynomial<1>) -> Result<(), SubsystemError> {
        self.0.cross(h, u);
        Ok(())
    }

    fn output(&self, _u: &[f64; 1]) -> [f64; 2] {
        self.0.x
    }

    fn local(&self, k: usize, _u: &[f64; 1]) -> f64 {
        self.0.x[k]
    }

    fn state(&mut self, visit: &mut dyn FnMut(&mut f64)) -> bool {
        self.0.state(visit)
    }
}

#[derive(Clone)]
struct WheelFd {
    body: Body<4>,
    suspension: Suspension,
}

impl Equations<4, 1> for WheelFd {
    fn variables(&self) -> Vec<Variable> {
        let force = output("suspension_force", "N", "Force of the suspension on the chassis, upwards");
        let locals = [
            local("position", "m", "Position of the wheel"),
            local("velocity", "m/s", "Velocity of the wheel, upwards"),
        ];
        let inputs = motion_inputs("chassis").into_iter().chain(road_inputs());
        inputs.chain([Variable { nominal: 1000.0, ..force }]).chain(locals).collect()
    }

    fn feed_through(&self) -> Vec<(usize, usize)> {
        vec![(0, 0), (0, 1)]
    }

    fn step(&mut self, _t: f64, h: f64, u: &InputPolynomial<4>) -> Result<(), SubsystemError> {
        self.body.cross(h, u);
        Ok(())
    }

    fn output(&self, u: &[f64; 4]) -> [f64; 1] {
        let [x, v] = self.body.x;
        [self.suspension.force(x - u[0], v - u[1])]
    }

    fn local(&self, k: usize, _u: &[f64; 4]) -> f64 {
        self.body.x[k]
    }

    fn derivatives(&self, u: &[f64; 4], d: &mut [f64]) -> bool {
        let Suspension { stiffness, damper } = self.suspension;
        d.copy_from_slice(&[-stiffness, -damper.slope(self.body.x[1] - u[1])]);
        true
    }

    fn state(&mut self, visit: &mut dyn FnMut(&mut f64)) -> bool {
        self.body.state(visit)
    }
}

#[derive(Clone)]
struct ChassisDf {
    body: Body<2>,
    suspension: Suspension,
}

impl Equations<2, 1> for ChassisDf {
    fn variables(&self) -> Vec<Variable> {
        let force = output("suspension_force", "N", "Force of the suspension on the chassis, upwards");
        let locals = [
            local("position", "m", "Position of the chassis"),
            local("velocity", "m/s", "Velocity of the chassis, upwards"),
        ];
        motion_inputs("wheel")
            .into_iter()
            .chain([Variable { nominal: 1000.0, ..force }])
            .chain(locals)
            .collect()
    }

    fn feed_through(&self) -> Vec<(usize, usize)> {
        vec![(0, 0), (0, 1)]
    }

    fn step(&mut self, _t: f64, h: f64, u: &InputPolynomial<2>) -> Result<(), SubsystemError> {
        self.body.cross(h, u);
        Ok(())
    }

    fn output(&self, u: &[f64; 2]) -> [f64; 1] {
        let [x, v] = self.body.x;
        [self.suspension.force(u[0] - x, u[1] - v)]
    }

    fn local(&self, k: usize, _u: &[f64; 2]) -> f64 {
        self.body.x[k]
    }

    fn derivatives(&self, u: &[f64; 2], d: &mut [f64]) -> bool {
        let Suspension { stiffness, damper } = self.suspension;
        d.copy_from_slice(&[stiffness, damper.slope(u[1] - self.body.x[1])]);
        true
    }

    fn state(&mut self, visit: &mut dyn FnMut(&mut f64)) -> bool {
        self.body.state(visit)
    }
}

#[derive(Clone)]
struct WheelDf(Body<3>);

impl Equations<3, 2> for WheelDf {
    fn variables(&self) -> Vec<Variable> {
        let force =
            input("force", "N", "Force of the suspension on the chassis, upwards: it pulls the wheel down");
        [force].into_iter().chain(road_inputs()).chain(motion_outputs()).collect()
    }

    fn feed_through(&self) -> Vec<(usize, usize)> {
        Vec::new()
    }

    fn step(&mut self, _t: f64, h: f64, u: &InputPolynomial<3>) -> Result<(), SubsystemError> {
        self.0.cross(h, u);
        Ok(())
    }

    fn output(&self, _u: &[f64; 3]) -> [f64; 2] {
        self.0.x
    }

    fn local(&self, k: usize, _u: &[f64; 3]) -> f64 {
        self.0.x[k]
    }

    fn state(&mut self, visit: &mut dyn FnMut(&mut f64)) -> bool {
        self.0.state(visit)
    }
}

/// The monolithic quarter car on a level road: its exact solution.
#[derive(Clone, Debug)]
pub struct Exact {
    /// mc, kg.
    pub chassis_mass: f64,
    /// mw, kg.
    pub wheel_mass: f64,
    /// kc, N/m.
    pub stiffness: f64,
    /// dc, Ns/m.
    pub damping: f64,
    /// kw, N/m.
    pub tyre_stiffness: f64,
    /// dw, Ns/m.
    pub tyre_damping: f64,
    /// Height of the road, m.
    pub road: f64,
}

impl Default for Exact {
    /// The parameters of arnold2013 Fig. 4.
    fn default() -> Self {
        Exact {
            chassis_mass: 400.0,
            wheel_mass: 40.0,
            stiffness: 15000.0,
            damping: 1000.0,
            tyre_stiffness: 150_000.0,
            tyre_damping: 0.0,
            road: 0.1,
        }
    }
}

impl Exact {
    /// `ẋ = A x + b` of the state `xc, ẋc, xw, ẋw`.
    fn system(&self) -> (Matrix<4>, [[f64; 4]; 3]) {
        let (mc, mw, k, d) = (self.chassis_mass, self.wheel_mass, self.stiffness, self.damping);
        let (kw, dw) = (self.tyre_stiffness, self.tyre_damping);
        let a = [
            [0.0, 1.0, 0.0, 0.0],
            [-k / mc, -d / mc, k / mc, d / mc],
            [0.0, 0.0, 0.0, 1.0],
            [k / mw, d / mw, -(k + kw) / mw, -(d + dw) / mw],
        ];
        (a, [[0.0, 0.0, 0.0, kw * self.road / mw], [0.0; 4], [0.0; 4]])
    }

    /// The state at `h` seconds (which may be negative) from the state `x`.
    pub fn after(&self, x: &[f64; 4], h: f64) -> [f64; 4] {
        let (a, b) = self.system();
        Propagator::new(&a, h).cross(x, &b)
    }

    /// The same, with propagators kept for the next call.
    pub fn next(&self, x: &[f64; 4], h: f64, kept: &mut Propagators<4>) -> [f64; 4] {
        let (a, b) = self.system();
        kept.of(&a, h).cross(x, &b)
    }

    /// The suspension force on the chassis in N, in state `x`.
    pub fn force(&self, x: &[f64; 4]) -> f64 {
        self.stiffness * (x[2] - x[0]) + self.damping * (x[3] - x[1])
    }
}
