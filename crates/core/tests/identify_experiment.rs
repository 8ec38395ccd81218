//! The experiment that chose the constants of the identification: errors with and without it, on coupled systems.
//!
//! `cargo test --release -p powerbond-core --test identify_experiment -- --ignored --nocapture`

mod common;

use common::{ABLE, Method, engine};
use powerbond_core::hold::InputFeed;
use powerbond_core::network::{Network, NetworkBuilder};
use powerbond_core::observe::{Flow, Observer, StepReport};
use powerbond_core::step::StepView;
use powerbond_core::subsystem::{Causality, SubsystemError, Variable};
use powerbond_models::oscillator::DOUBLE;
use powerbond_models::{Built, Capability, Equations, InputPolynomial, ParameterValue, find, variable};

/// `ẋ = A x + b u`, `y = c x + d u`, by four steps of Runge and Kutta.
#[derive(Clone, Copy, Default)]
struct Block {
    a: [[f64; 2]; 2],
    b: [f64; 2],
    c: [f64; 2],
    d: f64,
    x: [f64; 2],
}

const PARTS: u32 = 4;

impl Equations<1, 1> for Block {
    fn variables(&self) -> Vec<Variable> {
        vec![variable("u", Causality::Input, "", ""), variable("y", Causality::Output, "", "")]
    }

    fn feed_through(&self) -> Vec<(usize, usize)> {
        vec![(0, 0)]
    }

    fn step(&mut self, _t: f64, h: f64, u: &InputPolynomial<1>) -> Result<(), SubsystemError> {
        let Block { a, b, .. } = *self;
        let rate =
            |x: [f64; 2], tau: f64| [0, 1].map(|i| a[i][0] * x[0] + a[i][1] * x[1] + b[i] * u.at(0, tau));
        let moved = |x: [f64; 2], k: [f64; 2], dt: f64| [x[0] + dt * k[0], x[1] + dt * k[1]];
        let dt = h / f64::from(PARTS);
        for part in 0..PARTS {
            let (t, x) = (f64::from(part) * dt, self.x);
            let k1 = rate(x, t);
            let k2 = rate(moved(x, k1, dt / 2.0), t + dt / 2.0);
            let k3 = rate(moved(x, k2, dt / 2.0), t + dt / 2.0);
            let k4 = rate(moved(x, k3, dt), t + dt);
            self.x = [0, 1].map(|i| x[i] + dt / 6.0 * (k1[i] + 2.0 * (k2[i] + k3[i]) + k4[i]));
        }
        Ok(())
    }

    fn output(&self, u: &[f64; 1]) -> [f64; 1] {
        [self.c[0] * self.x[0] + self.c[1] * self.x[1] + self.d * u[0]]
    }

    fn local(&self, _k: usize, _u: &[f64; 1]) -> f64 {
        f64::NAN
    }
}

/// `ẋ = 2 u`, `y = x`.
fn integrator(x: f64) -> Block {
    Block { b: [2.0, 0.0], c: [1.0, 0.0], x: [x, 0.0], ..Block::default() }
}

/// `ẋ = rate (u - x)`, `y = gain x`.
fn lag(rate: f64, gain: f64) -> Block {
    Block { a: [[-rate, 0.0], [0.0; 2]], b: [rate, 0.0], c: [gain, 0.0], x: [1.0, 0.0], ..Block::default() }
}

/// 1 kg on a spring and a damper; it gives its position (0) or its velocity (1).
fn mass(k: f64, c: f64, output: usize) -> Block {
    let mut block = Block { a: [[0.0, 1.0], [-k, -c]], b: [0.0, 1.0], x: [0.0, 1.0], ..Block::default() };
    block.c[output] = 1.0;
    block
}

/// `y = d u + k ∫u`.
fn spring_damper(k: f64, d: f64) -> Block {
    Block { b: [1.0, 0.0], c: [k, 0.0], d, ..Block::default() }
}

fn pair(one: Block, two: Block, derivatives: u8) -> Network {
    let able = Capability { input_derivatives: derivatives, ..ABLE };
    let builder = NetworkBuilder::new()
        .subsystem("a", Box::new(Built::new("block", one, able)))
        .subsystem("b", Box::new(Built::new("block", two, able)));
    builder.connect("b.y", "a.u", -1.0).connect("a.y", "b.u", 1.0).build().expect("a sound system").0
}

/// A case of rodriguez2022, with its feed-through declared or not.
fn oscillator(case: usize, declared: bool) -> Network {
    let case = &DOUBLE[case - 1];
    let build = |name: &str, mut parameters: Vec<(String, ParameterValue)>| {
        parameters.push(("integrator".to_owned(), ParameterValue::Text("accurate".to_owned())));
        find(name).expect("a model").build(&parameters).expect("its parameters")
    };
    let (mut network, _) = NetworkBuilder::new()
        .subsystem("giver", build("oscillator/force-giver", case.giver_parameters()))
        .subsystem("mass", build("oscillator/mass", case.mass_parameters()))
        .connect("mass.position", "giver.position", 1.0)
        .connect("mass.velocity", "giver.velocity", 1.0)
        .connect("giver.force", "mass.force", 1.0)
        .build()
        .expect("a sound system");
    network.members.iter_mut().for_each(|m| {
        if !declared {
            m.evidence = powerbond_core::feed_through::Evidence::Unknown;
        }
    });
    network
}

/// All outputs at all communication points.
#[derive(Default)]
struct Rows {
    t: Vec<f64>,
    y: Vec<Vec<f64>>,
}

impl Observer for Rows {
    fn accepted(&mut self, step: &StepView<'_>, _report: &StepReport<'_>) -> Flow {
        self.t.push(step.span.end);
        self.y.push(step.y_fresh.to_vec());
        Flow::Continue
    }
}

impl Rows {
    /// The run and the gains that were found.
    fn of(network: Network, stop: f64, method: &Method) -> (Rows, String) {
        let mut rows = Rows::default();
        let mut engine = engine(network, stop, method);
        if let Err(error) = engine.run(&mut rows) {
            return (rows, format!("{error:?}"));
        }
        let found = engine.identified();
        let list =
            found.iter().map(|f| format!("{}←{} {:.4} ({:.3})", f.output, f.input, f.gain, f.confidence));
        (rows, list.collect::<Vec<_>>().join(" "))
    }

    /// Root mean square of y - y_ref over the standard deviation of y_ref, of the worst output.
    fn error(&self, reference: &Rows) -> f64 {
        let n = reference.y.len() as f64;
        let of_output = |o: usize| {
            let mean = reference.y.iter().map(|y| y[o]).sum::<f64>() / n;
            let variance = reference.y.iter().map(|y| (y[o] - mean).powi(2)).sum::<f64>() / n;
            let (mut sum, mut last, mut j) = (0.0, 0.0, 0);
            for (&t, y) in self.t.iter().zip(&self.y) {
                while j + 2 < reference.t.len() && reference.t[j + 1] < t {
                    j += 1;
                }
                let part = (t - reference.t[j]) / (reference.t[j + 1] - reference.t[j]);
                let exact = reference.y[j][o] * (1.0 - part) + reference.y[j + 1][o] * part;
                sum += (y[o] - exact).powi(2) * (t - last);
                last = t;
            }
            (sum / last / variance).sqrt()
        };
        (0..reference.y[0].len()).map(of_output).fold(0.0, f64::max)
    }
}

#[test]
#[ignore = "prints a table to choose constants by"]
fn errors_with_and_without_identification() {
    type Make = fn(u8) -> Network;
    let systems: [(&str, f64, f64, Make); 15] = [
        ("two integrators", 10.0, 0.02, |k| pair(integrator(1.0), integrator(0.0), k)),
        ("integrator, lag", 10.0, 0.02, |k| pair(integrator(1.0), lag(1.0, 1.0), k)),
        ("position, lag", 10.0, 0.02, |k| pair(mass(3.0, 0.5, 0), lag(5.0, 2.0), k)),
        ("velocity, spring", 10.0, 0.02, |k| pair(mass(1.0, 0.2, 1), spring_damper(10.0, 0.0), k)),
        ("velocity, damper", 10.0, 0.02, |k| pair(mass(4.0, 0.0, 1), spring_damper(0.0, 0.5), k)),
        ("velocity, both", 10.0, 0.02, |k| pair(mass(1.0, 0.0, 1), spring_damper(10.0, 0.8), k)),
        ("case 1", 5.0, 0.004, |_| oscillator(1, true)),
        ("case 1, undeclared", 5.0, 0.004, |_| oscillator(1, false)),
        ("case 2", 5.0, 0.004, |_| oscillator(2, true)),
        ("case 2, undeclared", 5.0, 0.004, |_| oscillator(2, false)),
        ("case 3", 5.0, 0.004, |_| oscillator(3, true)),
        ("case 8, undeclared", 5.0, 0.004, |_| oscillator(8, false)),
        ("quarter car R1", 10.0, 0.005, |_| common::quarter_car(1, "linear").0),
        ("quarter car R2", 10.0, 0.005, |_| common::quarter_car(2, "linear").0),
        ("square-root damper", 10.0, 0.005, |_| common::quarter_car(2, "square-root").0),
    ];
    for (name, stop, step, make) in systems {
        let fine = Method { hold: 2, refresh: true, step: step / 40.0, ..Method::default() };
        let (reference, _) = Rows::of(make(2), stop, &fine);
        let base = Method { step, ..Method::default() };
        let fixed = |feed| Method { variable: Some(feed), ..base.clone() };
        let varying = |feed| Method { estimator: "jump", controller: "ecco", ..fixed(feed) };
        println!("{name}");
        for (way, derivatives, method) in [
            ("fixed 0", 2, Method { hold: 0, ..base.clone() }),
            ("fixed 1", 2, Method { hold: 1, ..base.clone() }),
            ("fixed 2", 2, Method { hold: 2, ..base.clone() }),
            ("fixed mean", 0, fixed(InputFeed::Mean)),
            ("fixed dithered", 0, fixed(InputFeed::Dithered)),
            ("class B", 2, varying(InputFeed::Derivatives(2))),
            ("class D", 0, varying(InputFeed::Radau)),
            ("mean", 0, varying(InputFeed::Mean)),
            ("class Da", 0, varying(InputFeed::Dithered)),
        ] {
            let (without, _) = Rows::of(make(derivatives), stop, &method);
            let (with, found) = Rows::of(make(derivatives), stop, &Method { identify: true, ..method });
            let (off, on) = (without.error(&reference), with.error(&reference));
            let steps = with.t.len() as f64 / without.t.len() as f64;
            println!(
                "  {way:15} error {off:8.2e} → {on:8.2e} ×{:6.3}, steps ×{steps:4.2}: {found}",
                on / off
            );
        }
    }
}
