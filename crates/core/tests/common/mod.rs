//! Systems that several tests share.
#![allow(dead_code)]

pub mod block;
pub mod matrix;
pub mod random;
pub mod rows;
pub mod bits;

use matrix::Case;
use powerbond_core::controller::Ceiling;
use powerbond_core::correction::{EffortGiver, EffortSide, EffortTerm, Form};
use powerbond_core::energy::Term;
use powerbond_core::feed_through::identify::{Identifier, Role};
use powerbond_core::hold::{Hold, InputFeed, Polynomial, VariableOrder};
use powerbond_core::network::{BondSpec, Member, Names, Network, NetworkBuilder, PortSpec, VariableName};
use powerbond_core::run::{Engine, Policies, Settings};
use powerbond_core::sampled::{KnownSamples, SampledOutputs};
use powerbond_core::step::{Schedule, ScheduleKind, Seen};
use powerbond_core::subsystem::halves::HalvesSubstep;
use powerbond_core::subsystem::radau::RadauSubstep;
use powerbond_core::subsystem::{
    Capabilities, Causality, FeedThrough, Info, Subsystem, SubsystemError, Variable,
};
use powerbond_models::{Built, Capability, Equations, InputPolynomial, variable};

pub const ABLE: Capability =
    Capability { input_derivatives: 2, refresh: true, restore: true, sub_steps: true, dependencies: true };

/// A mass and the spring to its right neighbour: `m v̇ = f_left - f - c v`, `ḟ = k (v - v_right)`, exact enough by
/// Heun's method. Inputs `force` (from the left spring) and `neighbour` (velocity), outputs `velocity` and `spring`.
#[derive(Clone)]
pub struct Element {
    pub inverse_mass: f64,
    pub stiffness: f64,
    pub damping: f64,
    pub v: f64,
    pub f: f64,
}

impl Equations<2, 2> for Element {
    fn variables(&self) -> Vec<Variable> {
        vec![
            variable("force", Causality::Input, "N", ""),
            variable("neighbour", Causality::Input, "m/s", ""),
            variable("velocity", Causality::Output, "m/s", ""),
            variable("spring", Causality::Output, "N", ""),
        ]
    }

    fn feed_through(&self) -> Vec<(usize, usize)> {
        Vec::new()
    }

    fn step(&mut self, _t: f64, h: f64, u: &InputPolynomial<2>) -> Result<(), SubsystemError> {
        let rate = |v: f64, f: f64, tau: f64| {
            ((u.at(0, tau) - f - self.damping * v) * self.inverse_mass, self.stiffness * (v - u.at(1, tau)))
        };
        let (a, b) = rate(self.v, self.f, 0.0);
        let (c, d) = rate(self.v + h * a, self.f + h * b, h);
        self.v += 0.5 * h * (a + c);
        self.f += 0.5 * h * (b + d);
        Ok(())
    }

    fn output(&self, _u: &[f64; 2]) -> [f64; 2] {
        [self.v, self.f]
    }

    fn local(&self, _k: usize, _u: &[f64; 2]) -> f64 {
        f64::NAN
    }
}

/// A ring of `n` elements with a bond between neighbours.
pub fn ring(n: usize) -> (Network, Names) {
    ring_listed(&(0..n).collect::<Vec<_>>(), |i| if i == 0 { 1.0 } else { 0.0 })
}

/// A ring whose elements, connections and bonds are listed in this order; `v` is how fast each element moves at the start, in m/s.
pub fn ring_listed(listing: &[usize], v: impl Fn(usize) -> f64) -> (Network, Names) {
    let name = |i: usize| format!("e{:05}", i % listing.len());
    let mut builder = NetworkBuilder::new();
    for &i in listing {
        let element = Element { inverse_mass: 1.0, stiffness: 100.0, damping: 0.1, v: v(i), f: 0.0 };
        builder = builder.subsystem(&name(i), Box::new(Built::new("element", element, ABLE)));
    }
    for &i in listing {
        let (left, right) = (name(i), name(i + 1));
        builder = builder
            .connect(&format!("{left}.spring"), &format!("{right}.force"), 1.0)
            .connect(&format!("{right}.velocity"), &format!("{left}.neighbour"), 1.0)
            .bond(bond(
                &format!("b{i:05}"),
                [
                    (&format!("{left}.neighbour"), &format!("{left}.spring"), 1.0),
                    (&format!("{right}.force"), &format!("{right}.velocity"), -1.0),
                ],
            ));
    }
    builder.build().expect("a ring is sound")
}

/// A subsystem that has an input `u`, an output `y`, no feed-through and no ability.
pub fn bare(kind: &str) -> Info {
    Info {
        kind: kind.to_owned(),
        variables: vec![variable("u", Causality::Input, "", ""), variable("y", Causality::Output, "", "")]
            .into(),
        feed_through: FeedThrough::Declared(Vec::new()),
        capabilities: Capabilities::default(),
    }
}

pub fn bond(name: &str, ports: [(&str, &str, f64); 2]) -> BondSpec {
    let variable = |text: &str| VariableName::parse(text).expect("a full name");
    let port = |(input, output, sign): (&str, &str, f64)| PortSpec {
        inputs: vec![variable(input)],
        outputs: vec![variable(output)],
        sign,
        ratio: 1.0,
    };
    BondSpec { name: name.to_owned(), ports: ports.map(port).to_vec() }
}

/// How held inputs are corrected.
#[derive(Clone, Copy, Debug)]
pub enum Correction {
    None,
    /// α, feed-through ignored.
    Nepce(f64),
    /// α, feed-through from the models.
    NepceModel(f64),
    /// α, weighed by how long defects last; feed-through from the models or as identified.
    NepceGated(f64),
    Energy(Form),
    /// That row of the matrix.
    Row(&'static str),
}

/// The last port of every bond takes the force, with μ = 0.5, ν = 0.25 and a cap of 100 %.
fn effort_sides(network: &Network) -> Vec<EffortSide> {
    let side = |(bond, ports): (usize, &std::ops::Range<usize>)| {
        let terms = &network.bonds.terms[network.bonds.ports[ports.end - 1].terms.clone()];
        let giver = EffortGiver { mu: 0.5, belongs: true, flow_input: None };
        let givers = |input: usize| vec![giver; network.wiring.sources(input).count()];
        let term = |t: &Term| EffortTerm { effort: t.u, flow: t.y, factor: -t.factor, givers: givers(t.u) };
        EffortSide {
            bond,
            terms: terms.iter().map(term).collect(),
            nu: 0.25,
            relative_cap: 1.0,
            absolute_cap: f64::INFINITY,
            rate_limit: f64::INFINITY,
        }
    };
    network.bonds.bonds.iter().enumerate().map(side).collect()
}

/// What a test wants of a run.
#[derive(Clone, Debug)]
pub struct Method {
    pub schedule: ScheduleKind,
    pub rates: Option<Vec<u32>>,
    pub hold: u8,
    /// The order of the hold varies, and every subsystem is fed like this.
    pub variable: Option<InputFeed>,
    /// The feed-through of all members is identified.
    pub identify: bool,
    pub correction: Correction,
    /// A row of the matrix, or several: "both", "all", "none" (see `matrix`).
    pub estimator: &'static str,
    /// A row of the matrix.
    pub controller: &'static str,
    pub refresh: bool,
    pub step: f64,
    pub threads: usize,
}

impl Default for Method {
    fn default() -> Self {
        Method {
            schedule: ScheduleKind::Jacobi { fast: Seen::Held },
            rates: None,
            hold: 0,
            variable: None,
            identify: false,
            correction: Correction::None,
            estimator: "none",
            controller: "fixed",
            refresh: false,
            step: 1e-3,
            threads: 0,
        }
    }
}

/// An engine for `network` from 0 to `stop`.
pub fn engine(network: Network, stop: f64, method: &Method) -> Engine {
    engine_with(network, stop, method, |_| {})
}

/// As [`engine`], with other settings.
pub fn engine_with(
    network: Network,
    stop: f64,
    method: &Method,
    change: impl FnOnce(&mut Settings),
) -> Engine {
    let network = fed(network, method);
    let has_feed_through = |s: &usize| !network.members[*s].feed_through.is_empty();
    let refresh =
        network.evaluation_order.iter().copied().filter(|s| method.refresh && has_feed_through(s)).collect();
    let case = Case { network: &network, method, extrapolate: true };
    let policies = policies(&case);
    let mut settings = Settings { refresh, worker_threads: method.threads, ..Settings::new(0.0, stop) };
    change(&mut settings);
    Engine::new(network, policies, settings)
}

/// The network with its members wrapped as the method feeds them.
pub fn fed(mut network: Network, method: &Method) -> Network {
    if let Some(feed @ (InputFeed::Radau | InputFeed::Halves)) = method.variable {
        let wrapped = |member: Member| {
            let (n, reads) = (member.inputs.len(), member.capabilities.can_refresh);
            member.wrapped(|inner| match feed {
                InputFeed::Radau => Box::new(RadauSubstep::new(inner, n)),
                _ => Box::new(HalvesSubstep::new(inner, n, reads)),
            })
        };
        network.members = network.members.into_iter().map(wrapped).collect();
    }
    network
}

/// The policies of a method.
pub fn policies(case: &Case<'_>) -> Policies {
    let (network, method) = (case.network, case.method);
    let n = network.n_inputs;
    let handed =
        (0..n).map(|i| network.members[network.owner_of_input[i]].capabilities.input_derivatives).collect();
    let mut known = vec![false; n];
    network.externals.iter().for_each(|e| known[e.input] = true);
    let extrapolation: Box<dyn Hold> = match method.variable {
        Some(feed) => Box::new(VariableOrder::new(vec![2; n], vec![feed; n], known)),
        None => Box::new(Polynomial::new(vec![method.hold; n], handed)),
    };
    let members: Vec<(usize, Role)> = (0..network.members.len()).map(|s| (s, Role::Improved)).collect();
    let rates = method.rates.clone().unwrap_or_else(|| vec![1; network.members.len()]);
    Policies {
        // As in the default method.
        ceiling: method.estimator.starts_with("jump").then(|| Ceiling::new(0..n, 1e-3, 0.0)),
        sampled: SampledOutputs::new(
            network,
            0.0,
            &KnownSamples {
                given: &[],
                certain: &[],
                finds: method.estimator.starts_with("jump"),
                lands: true,
            },
        ),
        identifier: method.identify.then(|| Identifier::new(network, &members, |_| true)),
        schedule: Schedule::new(network, &method.schedule, &rates),
        extrapolation,
        correction: case.correction(),
        estimators: case.estimators(),
        controller: case.controller(),
    }
}

/// The quarter car, suspension at the wheel (1) or at the chassis (2), with accurate micro steps.
pub fn quarter_car(split: u8, damper: &str) -> (Network, Names) {
    use powerbond_models::{ParameterValue::Text, find};
    let accurate = ("integrator".to_owned(), Text("accurate".to_owned()));
    let damper = ("damper".to_owned(), Text(damper.to_owned()));
    let build =
        |name: &str, parameters: &[(String, powerbond_models::ParameterValue)]| -> Box<dyn Subsystem> {
            find(name).expect("a model").build(parameters).expect("good parameters")
        };
    let builder = NetworkBuilder::new();
    let builder = match split {
        1 => builder
            .subsystem("chassis", build("quarter-car/chassis", std::slice::from_ref(&accurate)))
            .subsystem("wheel", build("quarter-car/wheel-suspension", &[accurate.clone(), damper]))
            .connect("chassis.velocity", "wheel.chassis_velocity", 1.0)
            .connect("wheel.suspension_force", "chassis.force", -1.0)
            .bond(bond(
                "suspension",
                [
                    ("chassis.force", "chassis.velocity", -1.0),
                    ("wheel.chassis_velocity", "wheel.suspension_force", -1.0),
                ],
            )),
        2 => builder
            .subsystem("chassis", build("quarter-car/chassis-suspension", &[accurate.clone(), damper]))
            .subsystem("wheel", build("quarter-car/wheel", std::slice::from_ref(&accurate)))
            .connect("wheel.velocity", "chassis.wheel_velocity", 1.0)
            .connect("chassis.suspension_force", "wheel.force", -1.0)
            .bond(bond(
                "suspension",
                [
                    ("chassis.wheel_velocity", "chassis.suspension_force", 1.0),
                    ("wheel.force", "wheel.velocity", 1.0),
                ],
            )),
        other => panic!("the quarter car has no split {other}"),
    };
    let road = powerbond_core::time::signal::Signal::Constant(0.1);
    builder.external(VariableName::new("wheel", "road"), road).build().expect("a sound system")
}
