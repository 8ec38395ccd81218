//! Random linear networks against their monolithic solution, and random oscillators against energy conservation.

mod common;

use common::block::runge_kutta;
use common::random::Random;
use common::{Method, engine};
use powerbond_core::network::{BondSpec, ConnectionSpec, Network, NetworkBuilder, PortSpec, VariableName};
use powerbond_core::observe::{Flow, NoObserver, Observer, StepReport};
use powerbond_core::step::StepView;
use powerbond_core::step::{ScheduleKind, Seen};
use powerbond_core::subsystem::{
    Advance, Binding, Capabilities, Causality, FeedThrough, Info, Inputs, Setup, Span, Subsystem,
    SubsystemError, Variable,
};
use powerbond_models::oscillator::{Body, Case, Reference};
use powerbond_models::{ParameterValue, find};

/// `ẋ = A x + B u`, `y = C x + D u`; row-major matrices.
#[derive(Clone)]
struct Linear {
    a: Vec<f64>,
    b: Vec<f64>,
    c: Vec<f64>,
    d: f64,
    x0: Vec<f64>,
}

impl Linear {
    /// Stable, with `n` states, one input and one output.
    fn random(random: &mut Random, n: usize, feeds_through: bool) -> Self {
        let mut some =
            |count: usize, size: f64| (0..count).map(|_| random.uniform(-size, size)).collect::<Vec<_>>();
        let (mut a, b, c, x0) = (some(n * n, 2.0), some(n, 1.0), some(n, 1.0), some(n, 1.0));
        for i in 0..n {
            a[i * n + i] = -3.0 - a[i * n + i].abs();
        }
        let d = if feeds_through { some(1, 0.5)[0] } else { 0.0 };
        Linear { a, b, c, d, x0 }
    }

    fn rate(&self, x: &[f64], u: f64) -> Vec<f64> {
        let n = x.len();
        (0..n).map(|i| (0..n).map(|j| self.a[i * n + j] * x[j]).sum::<f64>() + self.b[i] * u).collect()
    }

    fn output(&self, x: &[f64], u: f64) -> f64 {
        self.c.iter().zip(x).map(|(c, x)| c * x).sum::<f64>() + self.d * u
    }
}

struct Simulator {
    equations: Linear,
    x: Vec<f64>,
    u: f64,
    info: Info,
}

impl Simulator {
    fn new(equations: Linear) -> Box<Self> {
        let variable = |name: &str, causality| Variable {
            name: name.to_owned(),
            causality,
            kind: powerbond_core::subsystem::ValueKind::Real,
            unit: None,
            start: 0.0,
            nominal: 1.0,
            min: f64::NEG_INFINITY,
            max: f64::INFINITY,
            discrete: false,
            settable: false,
            digits: Default::default(),
            description: String::new(),
        };
        let pairs = if equations.d != 0.0 { vec![(1, 0)] } else { vec![] };
        let info = Info {
            kind: "linear".to_owned(),
            variables: vec![variable("u", Causality::Input), variable("y", Causality::Output)].into(),
            feed_through: FeedThrough::Declared(pairs),
            capabilities: Capabilities { can_refresh: true, input_derivatives: 2, ..Capabilities::default() },
        };
        Box::new(Simulator { x: equations.x0.clone(), u: 0.0, equations, info })
    }
}

impl Subsystem for Simulator {
    fn info(&self) -> &Info {
        &self.info
    }

    fn bind(&mut self, _binding: &Binding) -> Result<(), SubsystemError> {
        Ok(())
    }

    fn enter(&mut self, _setup: &Setup) -> Result<(), SubsystemError> {
        Ok(())
    }

    fn evaluate(&mut self, u: Inputs<'_>, y: &mut [f64]) -> Result<(), SubsystemError> {
        self.u = u.value.first().copied().unwrap_or(0.0);
        if let Some(y) = y.first_mut() {
            *y = self.equations.output(&self.x, self.u);
        }
        Ok(())
    }

    fn advance(&mut self, span: Span, u: Inputs<'_>, y: &mut [f64]) -> Result<Advance, SubsystemError> {
        let at = |tau: f64| if u.value.is_empty() { 0.0 } else { u.at(0, tau) };
        let micro = 4;
        let h = span.h / f64::from(micro);
        for i in 0..micro {
            let tau = f64::from(i) * h;
            self.x = runge_kutta(&self.x, h, |c, x| self.equations.rate(x, at(tau + c * h)));
        }
        self.u = at(span.h);
        if let Some(y) = y.first_mut() {
            *y = self.equations.output(&self.x, self.u);
        }
        Ok(Advance::whole(span))
    }

    fn probe(&mut self, _z: &mut [f64]) -> Result<(), SubsystemError> {
        Ok(())
    }
}

/// Subsystems 0..n; `feeds[i]` lists (source, gain). Only subsystems with an odd number feed through, and these are fed by
/// even ones, so that there is no algebraic loop.
struct RandomNetwork {
    members: Vec<Linear>,
    feeds: Vec<Vec<(usize, f64)>>,
}

impl RandomNetwork {
    fn new(seed: u64) -> Self {
        let mut random = Random(seed);
        let n = 2 + random.below(6);
        let members: Vec<Linear> = (0..n)
            .map(|i| {
                let states = 1 + random.below(3);
                Linear::random(&mut random, states, i % 2 == 1)
            })
            .collect();
        let feeds = (0..n)
            .map(|i| {
                let mut sources: Vec<usize> = (0..1 + random.below(2)).map(|_| random.below(n)).collect();
                if i % 2 == 1 {
                    sources.iter_mut().for_each(|s| *s -= *s % 2);
                }
                sources.sort_unstable();
                sources.dedup();
                sources.into_iter().map(|s| (s, random.uniform(-1.0, 1.0))).collect()
            })
            .collect();
        RandomNetwork { members, feeds }
    }

    fn network(&self) -> Network {
        let name = |i: usize| format!("s{i}");
        let mut builder = NetworkBuilder::new();
        for (i, equations) in self.members.iter().enumerate() {
            builder = builder.subsystem(&name(i), Simulator::new(equations.clone()));
        }
        for (i, sources) in self.feeds.iter().enumerate() {
            let from = sources.iter().map(|&(s, gain)| (VariableName::new(&name(s), "y"), gain)).collect();
            let to = VariableName::new(&name(i), "u");
            builder = builder.connection(ConnectionSpec { from, to, offset: 0.0, convert_units: true });
        }
        builder.build().expect("a sound network").0
    }

    /// Outputs of all subsystems for their states: even ones first, which feed nothing through.
    fn outputs(&self, states: &[Vec<f64>]) -> (Vec<f64>, Vec<f64>) {
        let n = self.members.len();
        let (mut y, mut u) = (vec![0.0; n], vec![0.0; n]);
        for parity in [0, 1] {
            for i in (0..n).filter(|i| i % 2 == parity) {
                u[i] = self.feeds[i].iter().map(|&(s, gain)| gain * y[s]).sum();
                y[i] = self.members[i].output(&states[i], u[i]);
            }
        }
        for (u, sources) in u.iter_mut().zip(&self.feeds) {
            *u = sources.iter().map(|&(s, gain)| gain * y[s]).sum();
        }
        (y, u)
    }

    /// All outputs at `t` from one big system of equations with small steps.
    fn monolithic(&self, t: f64) -> Vec<f64> {
        let mut x: Vec<f64> = self.members.iter().flat_map(|m| m.x0.clone()).collect();
        let split = |x: &[f64]| {
            let mut rest = x;
            let part = |m: &Linear| {
                let (own, others) = rest.split_at(m.x0.len());
                rest = others;
                own.to_vec()
            };
            self.members.iter().map(part).collect::<Vec<_>>()
        };
        let steps = 2000;
        for _ in 0..steps {
            x = runge_kutta(&x, t / f64::from(steps), |_, x| {
                let states = split(x);
                let (_, u) = self.outputs(&states);
                (0..states.len()).flat_map(|i| self.members[i].rate(&states[i], u[i])).collect()
            });
        }
        self.outputs(&split(&x)).0
    }

    /// The largest error of any exchanged output at t = 1 s.
    fn error(&self, method: &Method, exact: &[f64]) -> f64 {
        let network = self.network();
        let owners = network.owner_of_output.clone();
        let mut engine = engine(network, 1.0, method);
        engine.run(&mut NoObserver).expect("a sound run");
        owners.iter().zip(engine.outputs()).map(|(&s, y)| (y - exact[s]).abs()).fold(0.0, f64::max)
    }
}

/// Every network converges to its monolithic solution, and faster with a higher hold order. Errors are relative to outputs
/// of size 1; a network whose outputs are all tiny at the end has tiny errors, too.
#[test]
fn random_networks_converge_to_their_monolithic_solution() {
    let mut better = 0;
    for seed in 0..60 {
        let random = RandomNetwork::new(seed);
        let exact = random.monolithic(1.0);
        for schedule in [
            ScheduleKind::Jacobi { fast: Seen::Held },
            ScheduleKind::GaussSeidel { order: None, seen: Seen::Between },
        ] {
            let at = |hold: u8, step: f64| {
                random.error(&Method { hold, step, schedule: schedule.clone(), ..Method::default() }, &exact)
            };
            // An error that passes through zero as steps change is small by chance: twice the step tells.
            let coarse = |hold: u8| at(hold, 4e-3).max(at(hold, 8e-3) / f64::from(2 << hold));
            let errors: Vec<[f64; 2]> = (0..3).map(|hold| [coarse(hold), at(hold, 1e-3)]).collect();
            for (hold, [coarse, fine]) in errors.iter().enumerate() {
                // Order 1 gains a factor 4, order 2 a factor 16, order 3 a factor 64. Lines between old and new values are of order 2.
                let parabolas = matches!(schedule, ScheduleKind::Jacobi { .. });
                let gain = [2.5, 6.0, if parabolas { 20.0 } else { 6.0 }][hold];
                assert!(
                    *fine < coarse / gain || *fine < 1e-9,
                    "seed {seed}, {schedule:?}, hold {hold}: {coarse:e} to {fine:e}"
                );
                assert!(*fine < 1e-2, "seed {seed}, hold {hold}: {fine:e}");
            }
            better += usize::from(errors[1][1] < errors[0][1]);
        }
    }
    assert!(better >= 115, "a line is better than a constant in {better} of 120");
}

/// Mean of the mechanical energy over the last second.
#[derive(Default)]
struct LastSecond {
    from: f64,
    sum: f64,
    n: f64,
}

impl Observer for LastSecond {
    fn accepted(&mut self, step: &StepView<'_>, report: &StepReport<'_>) -> Flow {
        if step.span.start >= self.from {
            self.sum += report.probes.iter().sum::<f64>();
            self.n += 1.0;
        }
        Flow::Continue
    }
}

/// Energy error in percent of a random oscillator after 5 s, H = 1 ms.
fn energy_error(case: &Case, hold: u8, refresh: bool) -> f64 {
    let build =
        |name: &str, given: Vec<(String, ParameterValue)>| find(name).expect(name).build(&given).expect(name);
    let name = |s: &str, v: &str| VariableName::new(s, v);
    let port = |s: &str, input: &str, output: &str, sign: f64| PortSpec {
        inputs: vec![name(s, input)],
        outputs: vec![name(s, output)],
        sign,
        ratio: 1.0,
    };
    let (network, _) = NetworkBuilder::new()
        .subsystem("giver", build("oscillator/force-giver", case.giver_parameters()))
        .subsystem("mass", build("oscillator/mass", case.mass_parameters()))
        .connect("giver.force", "mass.force", 1.0)
        .connect("mass.position", "giver.position", 1.0)
        .connect("mass.velocity", "giver.velocity", 1.0)
        .bond(BondSpec {
            name: "coupling".to_owned(),
            ports: vec![port("mass", "force", "velocity", -1.0), port("giver", "velocity", "force", 1.0)],
        })
        .record(name("giver", "energy"))
        .record(name("mass", "energy"))
        .build()
        .expect("a sound system");
    let method = Method { hold, refresh, ..Method::default() };
    let mut energy = LastSecond { from: 4.0 - 1e-9, ..LastSecond::default() };
    engine(network, 5.0, &method).run(&mut energy).expect("a sound run");
    let mut reference = Reference::new(case);
    let mut exact = 0.0;
    for i in 1..=1000 {
        reference.advance_to(4.0 + 1e-3 * f64::from(i));
        exact += reference.energy() / 1000.0;
    }
    100.0 * (energy.sum / energy.n / exact - 1.0)
}

/// Random double oscillators: where plain coupling invents more than 2 % of the energy, refresh with a first-order hold
/// keeps it below 2 %.
#[test]
fn refresh_keeps_the_energy_of_random_oscillators() {
    let mut random = Random(2022);
    let mut wrong = 0;
    for i in 0..40 {
        let mut body = |velocity: f64| Body {
            mass: random.uniform(0.5, 5.0),
            stiffness: 10f64.powf(random.uniform(1.0, 3.0)),
            damping: 0.0,
            initial_position: 0.0,
            initial_velocity: velocity,
        };
        let (giver, mass) = (body(100.0), body(-100.0));
        let coupling_stiffness = 10f64.powf(random.uniform(1.0, 3.0));
        let case = Case { givers: 1, giver, mass, coupling_stiffness, coupling_damping: 0.0 };
        let plain = energy_error(&case, 0, false);
        if plain.abs() > 2.0 {
            wrong += 1;
            let refreshed = energy_error(&case, 1, true);
            assert!(refreshed.abs() < 2.0, "oscillator {i}: {refreshed} % instead of {plain} %, {case:?}");
        }
    }
    assert!(wrong >= 20, "only {wrong} of 40 plain runs were wrong: the test says little");
}
