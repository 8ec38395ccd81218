//! Measured orders of convergence: every hold order and schedule, on a system whose exact solution is known.

mod common;

use common::{ABLE, Correction, Method, bond, engine};
use powerbond_core::network::{Network, NetworkBuilder};
use powerbond_core::observe::{Flow, Observer, StepReport};
use powerbond_core::step::StepView;
use powerbond_core::step::{ScheduleKind, Seen};
use powerbond_core::subsystem::{Causality, SubsystemError, Variable};
use powerbond_models::{Built, Equations, InputPolynomial, variable};

/// The exact state and its derivative: smooth, and so flat at t = 0 that the short history of the first steps does not
/// spoil the order.
fn exact(omega: f64, t: f64) -> (f64, f64) {
    let (s, c) = (omega * t).sin_cos();
    (s.powi(4), 4.0 * omega * s.powi(3) * c)
}

/// The exact outputs of both subsystems.
fn outputs(t: f64) -> (f64, f64) {
    let (a, b) = (exact(2.0, t).0, exact(3.0, t).0);
    (a, b + 0.5 * a)
}

/// `ẋ = -x + b u + g(t)` with g such that x = exact if u = the other one's exact output; `y = x + d u`.
#[derive(Clone)]
struct Manufactured {
    b: f64,
    d: f64,
    omega: f64,
    /// The exact input.
    input: fn(f64) -> f64,
    x: f64,
}

impl Equations<1, 1> for Manufactured {
    fn variables(&self) -> Vec<Variable> {
        let [input, output] = if self.d != 0.0 { ["m/s", "N"] } else { ["N", "m/s"] };
        vec![variable("u", Causality::Input, input, ""), variable("y", Causality::Output, output, "")]
    }

    fn feed_through(&self) -> Vec<(usize, usize)> {
        if self.d != 0.0 { vec![(0, 0)] } else { vec![] }
    }

    fn step(&mut self, t: f64, h: f64, u: &InputPolynomial<1>) -> Result<(), SubsystemError> {
        let rate = |tau: f64, x: f64| {
            let (f, df) = exact(self.omega, t + tau);
            -x + self.b * u.at(0, tau) + df + f - self.b * (self.input)(t + tau)
        };
        let n = 20;
        let dt = h / f64::from(n);
        for i in 0..n {
            let tau = f64::from(i) * dt;
            let k1 = rate(tau, self.x);
            let k2 = rate(tau + dt / 2.0, self.x + dt / 2.0 * k1);
            let k3 = rate(tau + dt / 2.0, self.x + dt / 2.0 * k2);
            let k4 = rate(tau + dt, self.x + dt * k3);
            self.x += dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4);
        }
        Ok(())
    }

    fn output(&self, u: &[f64; 1]) -> [f64; 1] {
        [self.x + self.d * u[0]]
    }

    fn local(&self, _k: usize, _u: &[f64; 1]) -> f64 {
        self.x
    }
}

fn system() -> Network {
    let a = Manufactured { b: 0.7, d: 0.0, omega: 2.0, input: |t| -outputs(t).1, x: 0.0 };
    let b = Manufactured { b: -0.4, d: 0.5, omega: 3.0, input: |t| outputs(t).0, x: 0.0 };
    NetworkBuilder::new()
        .subsystem("a", Box::new(Built::new("manufactured", a, ABLE)))
        .subsystem("b", Box::new(Built::new("manufactured", b, ABLE)))
        .connect("a.y", "b.u", 1.0)
        .connect("b.y", "a.u", -1.0)
        .bond(bond("ab", [("a.u", "a.y", 1.0), ("b.u", "b.y", 1.0)]))
        .build()
        .expect("a sound system")
        .0
}

#[derive(Default)]
struct Errors {
    outputs: f64,
    residual: f64,
    n: f64,
}

impl Observer for Errors {
    fn accepted(&mut self, step: &StepView<'_>, _report: &StepReport<'_>) -> Flow {
        let (a, b) = outputs(step.span.end);
        self.outputs += (step.y_fresh[0] - a).powi(2) + (step.y_fresh[1] - b).powi(2);
        self.residual += (step.flows[0].residual_power * step.span.h).powi(2);
        self.n += 1.0;
        Flow::Continue
    }
}

/// rms errors of outputs and of the residual energy per step.
fn errors(method: &Method, step: f64) -> (f64, f64) {
    let mut errors = Errors::default();
    let mut engine = engine(system(), 1.0, &Method { step, ..method.clone() });
    engine.run(&mut errors).expect("a sound run");
    ((errors.outputs / errors.n).sqrt(), (errors.residual / errors.n).sqrt())
}

/// The slope of log error over log step between 1/400 s and 1/800 s.
fn slopes(method: &Method) -> (f64, f64) {
    let (coarse, fine) = (errors(method, 1.0 / 400.0), errors(method, 1.0 / 800.0));
    ((coarse.0 / fine.0).log2(), (coarse.1 / fine.1).log2())
}

fn check(what: &str, method: &Method, expected: f64) {
    let (slope, _) = slopes(method);
    assert!((slope - expected).abs() < 0.15, "{what}: order {slope:.3} instead of {expected}");
}

/// Global order m + 1 for a hold of order m (arnold2013, theorem on convergence; also with feed-through).
#[test]
fn outputs_converge_with_order_hold_plus_one() {
    for hold in 0..3u8 {
        let expected = f64::from(hold) + 1.0;
        let jacobi = Method { hold, ..Method::default() };
        check(&format!("jacobi, hold {hold}"), &jacobi, expected);
        let schedule = ScheduleKind::GaussSeidel { order: None, seen: Seen::Latest };
        // The latest value, held constant, limits every hold to order 1.
        check(&format!("gauss-seidel latest, hold {hold}"), &Method { schedule, ..jacobi.clone() }, 1.0);
        let schedule = ScheduleKind::GaussSeidel { order: None, seen: Seen::Between };
        check(
            &format!("gauss-seidel between, hold {hold}"),
            &Method { schedule, ..jacobi.clone() },
            expected.min(2.0),
        );
        check(&format!("refresh, hold {hold}"), &Method { refresh: true, ..jacobi }, expected);
    }
}

/// A line or a parabola through past values of a fast neighbour keeps the order on several rates.
#[test]
fn multi_rate_keeps_the_order() {
    for (rates, what) in [(vec![1, 4], "fast b"), (vec![4, 1], "fast a"), (vec![3, 3], "both fast")] {
        for hold in 0..3u8 {
            let method = Method { hold, rates: Some(rates.clone()), ..Method::default() };
            check(&format!("{what}, hold {hold}"), &method, f64::from(hold) + 1.0);
        }
    }
}

/// The jump of a held input is O(h^(m+1)), so the residual energy of a step is O(h^(m+2)) (sadjina2017, after eq. 11).
#[test]
fn residual_energy_of_a_step_has_order_hold_plus_two() {
    for hold in 0..3u8 {
        let (_, slope) = slopes(&Method { hold, ..Method::default() });
        let expected = f64::from(hold) + 2.0;
        assert!((slope - expected).abs() < 0.15, "hold {hold}: {slope:.3} instead of {expected}");
    }
}

/// NEPCE with α = 1/(m+1) gives back the mean defect of the last step.
#[test]
fn nepce_more_than_halves_the_error_of_a_line() {
    let method = Method { correction: Correction::Nepce(0.5), hold: 1, refresh: true, ..Method::default() };
    let (with, _) = errors(&method, 1.0 / 400.0);
    let (without, _) = errors(&Method { correction: Correction::None, ..method }, 1.0 / 400.0);
    assert!(with < 0.5 * without, "NEPCE {with:e}, alone {without:e}");
}
