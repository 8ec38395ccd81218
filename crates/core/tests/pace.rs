//! Steps in multiples of a quantum: what is moved, what is kept, what ends a run, and what early returns are.

mod common;

use common::block::Block;
use common::rows::{Rows, watch};
use common::{Method, engine_with};
use powerbond_core::controller::{Rejecting, StepController};
use powerbond_core::error::RunError;
use powerbond_core::estimator::{OutputTolerance, Predictor};
use powerbond_core::hold::Polynomial;
use powerbond_core::network::{Network, NetworkBuilder, VariableName};
use powerbond_core::observe::NoObserver;
use powerbond_core::run::{Change, Engine, Policies, Settings};
use powerbond_core::step::{Schedule, ScheduleKind, Seen};
use powerbond_core::subsystem::{Span, SubsystemError};
use powerbond_core::time::signal::Signal;

const QUANTUM: f64 = 0.1;

/// A first-order lag that follows a signal, and an integrator that follows the lag; states are recorded.
fn lag(signal: Signal) -> Network {
    pair(Block::linear(-1.0, 1.0, 1.0, 0.0, 0.0), Some(signal))
}

fn pair(first: Block, signal: Option<Signal>) -> Network {
    let builder = NetworkBuilder::new()
        .subsystem("a", first.boxed())
        .subsystem("b", Block::integrator().boxed())
        .connect("a.y", "b.u", 1.0)
        .record(VariableName::new("b", "x0"));
    let builder = match signal {
        Some(signal) => builder.external(VariableName::new("a", "u"), signal),
        None => builder,
    };
    builder.build().expect("a sound pair").0
}

/// Every step is as long as it says and ends at a multiple of the quantum.
fn check_multiples(what: &str, rows: &Rows) {
    for row in rows.steps() {
        let Span { start, end, h } = row.span;
        assert!((end - start - h).abs() < 1e-12, "{what}: {:?}", row.span);
        for t in [end, h] {
            let n = t / QUANTUM;
            assert!((n - n.round()).abs() < 1e-9 && n.round() > 0.0, "{what}: {:?}", row.span);
        }
    }
}

fn with_quantum(s: &mut Settings) {
    s.quantum = Some(QUANTUM);
}

/// A jump at 5.04 s comes at 5.1 s: the run ended at 5 s.
#[test]
fn a_jump_off_the_quantum_is_moved_to_the_next_step_and_told() {
    for (controller, estimator, step) in [
        ("fixed", "none", QUANTUM),
        ("fixed", "none", 3.0 * QUANTUM),
        ("ecco", "predictor", QUANTUM),
        ("rejecting", "predictor", QUANTUM),
        ("rejecting", "richardson", QUANTUM),
        ("fixed", "richardson", QUANTUM),
    ] {
        let what = format!("{controller}, {estimator}, {step}");
        let network = lag(Signal::Step { time: 5.04, from: 0.0, to: 1.0 });
        let method = Method { controller, estimator, step, ..Method::default() };
        let mut engine = engine_with(network, 9.0, &method, with_quantum);
        let moved = engine.moved_jumps();
        assert_eq!((moved.len(), moved[0].from, moved[0].input.is_some()), (1, 5.04, true), "{what}");
        assert!((moved[0].to - 5.1).abs() < 1e-12, "{what}: {moved:?}");
        let rows = watch(&mut engine);
        check_multiples(&what, &rows);
        assert!((engine.time() - 9.0).abs() < 1e-12, "{what}: {}", engine.time());
        let events: Vec<f64> = rows.events().map(|r| r.t).collect();
        assert!(events.len() == 1 && (events[0] - 5.1).abs() < 1e-12, "{what}: {events:?}");
    }
}

#[test]
fn a_change_of_the_coupling_off_the_quantum_is_moved_as_well() {
    let network = lag(Signal::Constant(1.0));
    let row = powerbond_core::network::Row { sources: vec![(0, 2.0)], offset: 0.0 };
    let change = Change { time: 0.44, rows: vec![(1, row)], parameters: vec![] };
    let method = Method { step: QUANTUM, ..Method::default() };
    let mut engine = engine_with(network, 1.0, &method, |s| {
        (s.quantum, s.changes) = (Some(QUANTUM), vec![change]);
    });
    assert_eq!(engine.moved_jumps().iter().map(|m| (m.input, m.from)).collect::<Vec<_>>(), [(None, 0.44)]);
    let rows = watch(&mut engine);
    check_multiples("change", &rows);
    assert!((rows.events().next().expect("it comes").t - 0.5).abs() < 1e-12);
}

#[test]
fn a_stop_off_the_quantum_is_planned_before_the_run() {
    for (controller, estimator) in
        [("fixed", "none"), ("rejecting", "predictor"), ("rejecting", "richardson, classic")]
    {
        let method = Method { controller, estimator, step: QUANTUM, ..Method::default() };
        let mut engine = engine_with(lag(Signal::Constant(1.0)), 1.05, &method, with_quantum);
        assert!((engine.planned_end() - 1.0).abs() < 1e-12, "{controller}: {}", engine.planned_end());
        check_multiples(controller, &watch(&mut engine));
        assert_eq!(engine.time(), engine.planned_end(), "{controller}");
    }
}

/// Pairs beside a big step are whole quanta: two steps and one of both, 3 sweeps for 2 steps.
#[test]
fn richardson_pairs_are_whole_quanta() {
    for estimator in ["richardson", "richardson, classic"] {
        let signal = Signal::Sine { amplitude: 1.0, frequency: 0.1, phase: 0.0, offset: 0.0 };
        let method =
            Method { controller: "rejecting", estimator, hold: 1, step: QUANTUM, ..Method::default() };
        let mut engine = engine_with(lag(signal), 10.0, &method, with_quantum);
        let rows = watch(&mut engine);
        check_multiples(estimator, &rows);
        let longest = rows.steps().map(|r| r.span.h).fold(0.0, f64::max);
        assert!(longest > 1.5 * QUANTUM, "{estimator}: steps grow to {longest}");
    }
}

/// A controller that takes steps back, and a norm of the outputs with this tolerance.
fn rejecting(network: Network, stop: f64, tolerance: f64, keep: bool, first: f64, longest: f64) -> Engine {
    let (n, ny) = (network.n_inputs, network.n_outputs);
    let schedule = Schedule::new(&network, &ScheduleKind::Jacobi { fast: Seen::Held }, &[1, 1]);
    let mut controller = Rejecting::new(first, 1e-6, longest);
    controller.keep_at_floor = keep;
    let controller: Box<dyn StepController> = Box::new(controller);
    let predictor = Predictor::new(vec![OutputTolerance { absolute: tolerance, rho: 0.0 }; ny], 0);
    let policies = Policies {
        ceiling: None,
        schedule,
        extrapolation: Box::new(Polynomial::new(vec![0; n], vec![2; n])),
        correction: None,
        estimators: vec![Box::new(predictor)],
        controller,
        identifier: None,
        sampled: None,
    };
    Engine::new(network, policies, Settings { quantum: Some(QUANTUM), ..Settings::new(0.0, stop) })
}

/// A curve that is over tolerance in every step: kept and counted, or one error at once.
#[test]
fn a_step_of_one_quantum_over_tolerance_is_kept_or_ends_the_run_at_once() {
    let curve = || pair(Block::source(|t| (3.0 * t).sin()), None);
    let mut kept = rejecting(curve(), 2.0, 1e-9, true, QUANTUM, QUANTUM);
    check_multiples("kept", &watch(&mut kept));
    let statistics = kept.statistics();
    // The first step has one node only: no norm.
    assert_eq!((statistics.accepted, statistics.over_tolerance, statistics.at_floor), (20, 19, 19));
    assert_eq!((statistics.rejected, statistics.sweeps), (0, 20));
    let mut ended = rejecting(curve(), 2.0, 1e-9, false, QUANTUM, QUANTUM);
    match ended.run(&mut NoObserver) {
        Err(RunError::Rejections { count, norm, cause, span, .. }) => {
            assert_eq!((count, cause), (1, None));
            assert!(norm > 1.0 && (span.end - 0.2).abs() < 1e-12, "{norm}, {span:?}");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(ended.statistics().sweeps, 2, "one proposal, not 61");
}

/// A model that refuses steps above 0.2 s is asked with less; one that refuses even a quantum is told in its own words.
#[test]
fn the_refusal_of_a_model_is_retried_or_told() {
    let source = |h: f64| pair(Block::source(|t| t).refusing_above(h), None);
    let mut engine = rejecting(source(0.2), 2.0, 1.0, false, 0.4, 1.0);
    let rows = watch(&mut engine);
    check_multiples("refused", &rows);
    assert!(engine.statistics().rejected > 0 && rows.steps().all(|r| r.span.h < 0.2 + 1e-9));
    match rejecting(source(0.05), 2.0, 1.0, false, 0.4, 1.0).run(&mut NoObserver) {
        Err(RunError::Subsystem { member: 0, error: SubsystemError::Infeasible { message }, .. }) => {
            assert!(message.contains("too long"), "{message}");
        }
        other => panic!("{other:?}"),
    }
    // The second step is refused at two quanta, then over tolerance at one: both are told.
    let curve = pair(Block::source(|t| (3.0 * t).sin()).refusing_above(0.15), None);
    let mut engine = rejecting(curve, 2.0, 1e-9, false, 0.1, 1.0);
    match engine.run(&mut NoObserver) {
        Err(RunError::Rejections { cause: Some(cause), .. }) => {
            assert!(matches!(*cause, RunError::Subsystem { member: 0, .. }), "{cause:?}");
        }
        other => panic!("{other:?}"),
    }
}

/// Output times are hit to the bit, with any controller.
#[test]
fn landing_times_are_hit() {
    for (controller, estimator) in [("fixed", "none"), ("ecco", "predictor"), ("rejecting", "richardson")] {
        let method = Method { controller, estimator, step: 0.03, ..Method::default() };
        let network = lag(Signal::Constant(1.0));
        let rows = watch(&mut engine_with(network, 1.0, &method, |s| s.land_on = Some(0.125)));
        for n in 1..=8 {
            let t = 0.125 * f64::from(n);
            assert!(rows.ends().contains(&t), "{controller}: {t} is missing");
        }
        assert_eq!(rows.events().count(), 0, "{controller}: landing is no event");
    }
}

/// `b` stops at 0.33 and 0.71 s: the step is made again up to there, counted as what it is.
#[test]
fn early_returns_are_counted_as_such_and_no_rejections() {
    for estimator in ["none", "predictor", "richardson", "richardson, classic"] {
        let block = Block::integrator().stopping(&[0.33, 0.71]);
        let network = pair(block, Some(Signal::Constant(1.0)));
        let method = Method { estimator, step: 0.1, ..Method::default() };
        let mut engine = engine_with(network, 1.0, &method, |_| {});
        let rows = watch(&mut engine);
        let statistics = engine.statistics();
        assert_eq!((statistics.early_returns, statistics.rejected), (2, 0), "{estimator}");
        assert!(rows.ends().contains(&0.33) && rows.ends().contains(&0.71), "{estimator}: {:?}", rows.ends());
        assert!(rows.steps().all(|row| row.rejections == 0), "{estimator}");
        assert_eq!(engine.time(), 1.0, "{estimator}");
    }
}
