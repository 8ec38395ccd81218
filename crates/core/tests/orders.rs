//! Measured global orders in a table: hold 0, 1, 2, 3 give 1, 2, 3, 4, with and without feed-through, refresh, constant and adaptive steps.

mod common;

use common::block::{At, Block, runge_kutta};
use common::{Method, engine, engine_with};
use powerbond_core::controller::Rejecting;
use powerbond_core::estimator::{BigStep, Richardson, Tolerance};
use powerbond_core::hold::Polynomial;
use powerbond_core::network::{Network, NetworkBuilder};
use powerbond_core::observe::{Flow, Observer, StepReport};
use powerbond_core::run::{Engine, Policies, Settings, StartUp};
use powerbond_core::step::{Schedule, ScheduleKind, Seen, StepView};

/// How the two subsystems of the oscillator feed through.
#[derive(Clone, Copy, PartialEq)]
enum Through {
    Nothing,
    One,
    /// A chain of two: a memoryless member between them.
    Chain,
}

const D: f64 = 0.3;

/// `ẋ = −z`, `ż = 4 x` (+ damping by feed-through): nothing is at rest at the start.
fn system(through: Through) -> Network {
    let mass = Block::linear(-0.2, -1.0, 1.0, 0.0, 1.0);
    let builder = NetworkBuilder::new().subsystem("a", mass.boxed());
    let builder = match through {
        Through::Nothing => builder.subsystem("b", Block::linear(-0.1, 4.0, 1.0, 0.0, 0.5).boxed()),
        _ => builder.subsystem("b", Block::linear(-0.1, 4.0, 1.0, D, 0.5).boxed()),
    };
    let builder = match through {
        Through::Chain => builder
            .subsystem("m", Block::gain(1.0).boxed())
            .connect("a.y", "m.u", 1.0)
            .connect("m.y", "b.u", 1.0),
        _ => builder.connect("a.y", "b.u", 1.0),
    };
    builder.connect("b.y", "a.u", 1.0).build().expect("a sound system").0
}

/// The states `[a, b]` on one path of small steps of order 4; the outputs are `a` and `b + d a`.
struct Reference {
    x: Vec<f64>,
    t: f64,
    d: f64,
}

impl Reference {
    fn new(through: Through) -> Self {
        Reference { x: vec![1.0, 0.5], t: 0.0, d: if through == Through::Nothing { 0.0 } else { D } }
    }

    fn advance_to(&mut self, t: f64) -> [f64; 2] {
        let n = ((t - self.t) / 1e-3).ceil().max(1.0);
        let (h, d) = ((t - self.t) / n, self.d);
        for _ in 0..n as usize {
            let rate = |_: f64, x: &[f64]| {
                let at = At { t: 0.0, x, u: &[], p: &[] };
                vec![-0.2 * at.x[0] - (at.x[1] + d * at.x[0]), -0.1 * at.x[1] + 4.0 * at.x[0]]
            };
            self.x = runge_kutta(&self.x, h, rate);
        }
        self.t = t;
        [self.x[0], self.x[1] + d * self.x[0]]
    }
}

/// rms error of the outputs `a.y`, `b.y` in the second half of the run, weighted by the lengths of steps: the first outputs that feed
/// through are worse, but not what they leave behind.
struct Errors {
    reference: Reference,
    sum: f64,
    steps: f64,
}

impl Observer for Errors {
    fn accepted(&mut self, step: &StepView<'_>, _report: &StepReport<'_>) -> Flow {
        let exact = self.reference.advance_to(step.span.end);
        if step.span.end > 1.0 {
            for (y, exact) in step.y_fresh.iter().zip(exact) {
                self.sum += step.span.h * (y - exact).powi(2);
            }
        }
        self.steps += 1.0;
        Flow::Continue
    }
}

/// Error and mean step of a run of 2 s.
fn measure(engine: &mut Engine, through: Through) -> (f64, f64) {
    let mut errors = Errors { reference: Reference::new(through), sum: 0.0, steps: 0.0 };
    engine.run(&mut errors).expect("a sound run");
    (errors.sum.sqrt(), 2.0 / errors.steps)
}

fn check_order(what: &str, coarse: (f64, f64), fine: (f64, f64), expected: f64, margin: f64) {
    let order = (coarse.0 / fine.0).ln() / (coarse.1 / fine.1).ln();
    println!("{what}: {order:.3} ({:.1e} to {:.1e})", coarse.0, fine.0);
    assert!((order - expected).abs() < margin, "{what}: order {order:.3} instead of {expected}");
}

const THROUGH: [(&str, Through); 3] = [
    ("no feed-through", Through::Nothing),
    ("feed-through", Through::One),
    ("feed-through chain", Through::Chain),
];

#[test]
fn constant_steps_have_the_order_of_the_hold_plus_one() {
    for (text, through) in THROUGH {
        for hold in 0..4u8 {
            for refresh in [false, true] {
                if hold == 3 && through == Through::Chain && !refresh {
                    // What alternates from step to step is amplified 15 times by every cubic, and three of them follow each other
                    // around: stable only for d h 15³ < 1, where errors are those of round-off.
                    continue;
                }
                for start_up in [StartUp::Plain, StartUp::RunUp] {
                    let run = |n: f64| {
                        let method = Method { hold, refresh, step: 1.0 / n, ..Method::default() };
                        let mut engine =
                            engine_with(system(through), 2.0, &method, |s| s.start_up = start_up);
                        (measure(&mut engine, through).0, 1.0 / n)
                    };
                    // Without a run-up the first step, held with order 0, limits everything to order 2.
                    let first_step = if start_up == StartUp::Plain { 2.0 } else { 4.0 };
                    let expected = (f64::from(hold) + 1.0).min(first_step);
                    let what = format!("jacobi / hold {hold} / {text} / refresh {refresh} / {start_up:?}");
                    // The tiny steps of a run-up leave an error of second order, 1e-6 of that of a step: below that of a cubic while
                    // steps are not too short.
                    let n = if hold == 3 { 50.0 } else { 400.0 };
                    check_order(&what, run(n), run(2.0 * n), expected, 0.15);
                }
            }
        }
    }
}

/// Newest values are of order 1, lines between old and new ones of order 2 (with hold 0 for the first member: 1).
#[test]
fn gauss_seidel_has_the_order_of_what_is_seen() {
    for (text, through) in THROUGH {
        for hold in 0..3u8 {
            for seen in [Seen::Latest, Seen::Between] {
                let run = |n: f64| {
                    let schedule = ScheduleKind::GaussSeidel { order: None, seen };
                    let method = Method { hold, schedule, refresh: true, step: 1.0 / n, ..Method::default() };
                    (measure(&mut engine(system(through), 2.0, &method), through).0, 1.0 / n)
                };
                let most = if seen == Seen::Latest { 1.0 } else { 2.0 };
                let what = format!("gauss-seidel {seen:?} / hold {hold} / {text}");
                check_order(&what, run(400.0), run(800.0), (f64::from(hold) + 1.0).min(most), 0.2);
            }
        }
    }
}

/// Steps chosen by Richardson's estimate for a tolerance.
fn adaptive(through: Through, hold: u8, refresh: bool, big: BigStep, tolerance: f64) -> Engine {
    let network = system(through);
    let (n, ny) = (network.n_inputs, network.n_outputs);
    let refreshed = (0..network.members.len()).filter(|&s| !network.members[s].feed_through.is_empty());
    let refresh: Vec<usize> = refreshed.filter(|_| refresh).collect();
    let rates = vec![1; network.members.len()];
    let schedule = Schedule::new(&network, &ScheduleKind::Jacobi { fast: Seen::Held }, &rates);
    let tolerances = vec![Tolerance { absolute: tolerance, relative: 0.0 }; ny];
    let policies = Policies {
        ceiling: None,
        schedule,
        extrapolation: Box::new(Polynomial::new(vec![hold; n], vec![2; n])),
        correction: None,
        estimators: vec![Box::new(Richardson::new(tolerances, vec![hold; n], big))],
        controller: Box::new(Rejecting::new(1e-5, 1e-9, 1.0)),
        identifier: None,
        sampled: None,
    };
    Engine::new(network, policies, Settings { refresh, ..Settings::new(0.0, 2.0) })
}

/// Tolerances apart by 8: error against mean step.
#[test]
fn adaptive_steps_have_the_order_of_the_hold_plus_one() {
    for (text, through) in THROUGH {
        for hold in 0..4u8 {
            for refresh in [false, true] {
                if hold == 3 && through == Through::Chain && !refresh {
                    continue;
                }
                for big in [BigStep::Classic, BigStep::Modified] {
                    // Stale feed-through makes the estimate an order larger.
                    let stale = through != Through::Nothing && !refresh;
                    let base = [[1e-5, 1e-6, 1e-7, 1e-9], [1e-3, 1e-5, 1e-6, 1e-8]][usize::from(stale)]
                        [usize::from(hold)];
                    let run = |share: f64| {
                        measure(&mut adaptive(through, hold, refresh, big, base * share), through)
                    };
                    let what = format!("adaptive {big:?} / hold {hold} / {text} / refresh {refresh}");
                    check_order(&what, run(1.0), run(1.0 / 16.0), f64::from(hold) + 1.0, 0.3);
                }
            }
        }
    }
}
