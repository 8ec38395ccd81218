//! Algebraic loops are solved at every communication point, or named.

mod common;

use common::block::{Block, runge_kutta};
use common::rows::{Rows, watch};
use common::{Method, engine, engine_with};
use powerbond_core::error::RunError;
use powerbond_core::network::{ConnectionSpec, Network, NetworkBuilder, VariableName};
use powerbond_core::observe::NoObserver;
use powerbond_core::run::StartUp;
use powerbond_core::step::{ScheduleKind, Seen};
use powerbond_core::time::signal::Signal;

fn name(text: &str) -> VariableName {
    VariableName::parse(text).expect("a full name")
}

/// `y = gain u + integral x + offset`, `ẋ = u`.
#[derive(Clone, Copy)]
struct Part {
    gain: f64,
    integral: f64,
    offset: f64,
    x: f64,
}

/// What a member of a loop can do.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Can {
    GiveDerivatives,
    BeReadAgain,
    Neither,
}

impl Part {
    fn block(self, can: Can) -> Block {
        let Part { gain, integral, offset, x } = self;
        let block = Block::new(1, 1, move |at, y| y[0] = gain * at.u[0] + integral * at.x[0] + offset)
            .rate(&[x], |at, dx| dx[0] = at.u[0])
            .feeding(&[(0, 0)]);
        match can {
            Can::GiveDerivatives => block.derivatives(move |_, d| d[0] = gain),
            Can::BeReadAgain => block,
            Can::Neither => block.deaf(),
        }
    }
}

/// The case `loop-gain`, gain −1.5.
const LOOP_GAIN: [Part; 2] = [
    Part { gain: 1.5, integral: 1.0, offset: 1.0, x: 0.0 },
    Part { gain: -1.0, integral: -1.0, offset: 0.0, x: 0.0 },
];

/// The case `loop-hold1`, gain 0.5.
const LOOP_HOLD1: [Part; 2] = [
    Part { gain: 0.5, integral: -0.6, offset: 0.0, x: 1.0 },
    Part { gain: 1.0, integral: -0.4, offset: 0.3, x: 0.0 },
];

/// Two parts that feed each other, `{prefix}a` and `{prefix}b`.
fn add_loop(builder: NetworkBuilder, prefix: &str, parts: [Part; 2], can: Can) -> NetworkBuilder {
    let [a, b] = ["a", "b"].map(|s| format!("{prefix}{s}"));
    builder
        .subsystem(&a, parts[0].block(can).boxed())
        .subsystem(&b, parts[1].block(can).boxed())
        .connect(&format!("{a}.y"), &format!("{b}.u"), 1.0)
        .connect(&format!("{b}.y"), &format!("{a}.u"), 1.0)
}

fn built(builder: NetworkBuilder) -> Network {
    builder.build().expect("a sound system").0
}

/// The inputs `[a.u, b.u]` for the states: two linear equations.
fn inputs([a, b]: [Part; 2], x: &[f64]) -> [f64; 2] {
    let [own_a, own_b] = [a.integral * x[0] + a.offset, b.integral * x[1] + b.offset];
    let u_a = (b.gain * own_a + own_b) / (1.0 - a.gain * b.gain);
    [u_a, a.gain * u_a + own_a]
}

/// The same at `t`, along the ordinary differential equation `ẋ = u(x)` with 1000 steps of order 4.
fn exact(parts: [Part; 2], t: f64) -> [f64; 2] {
    let mut x = vec![parts[0].x, parts[1].x];
    if t > 0.0 {
        for _ in 0..1000 {
            x = runge_kutta(&x, t / 1000.0, |_, x| inputs(parts, x).to_vec());
        }
    }
    inputs(parts, &x)
}

/// Values of the case, computed with scipy.
#[test]
fn the_reference_agrees_with_another_tool() {
    for (t, b_u) in [(0.0, 0.4), (0.5, 0.22830), (1.0, 0.10635)] {
        assert!((exact(LOOP_GAIN, t)[1] - b_u).abs() < 5e-6, "t = {t}: {}", exact(LOOP_GAIN, t)[1]);
    }
}

/// Inputs are within the error of the hold of their exact values, and to round-off what feeds them.
fn check_run(what: &str, rows: &Rows, parts: [Part; 2], first: usize, tolerance: f64) {
    for row in &rows.0 {
        let expected = exact(parts, row.t);
        for (k, expected) in expected.into_iter().enumerate() {
            let off = (row.u[first + k] - expected).abs();
            assert!(off < tolerance, "{what}, t = {}: input {k} off by {off:e}", row.t);
            let fed = row.y[first + 1 - k];
            assert!((row.u[first + k] - fed).abs() < 1e-10, "{what}, t = {}: not solved", row.t);
        }
    }
}

#[test]
fn linear_loops_are_solved_along_the_run() {
    for (case, parts) in [("loop-gain", LOOP_GAIN), ("loop-hold1", LOOP_HOLD1)] {
        for can in [Can::GiveDerivatives, Can::BeReadAgain] {
            for hold in 0..3u8 {
                for seen in [None, Some(Seen::Latest), Some(Seen::Between)] {
                    let what = format!("{case}, {can:?}, hold {hold}, {seen:?}");
                    let schedule = match seen {
                        None => ScheduleKind::Jacobi { fast: Seen::Held },
                        Some(seen) => ScheduleKind::GaussSeidel { order: None, seen },
                    };
                    // Newest values, held constant, are of order 1, lines of order 2.
                    let order = match seen {
                        None => i32::from(hold) + 1,
                        Some(Seen::Latest) => 1,
                        Some(_) => (i32::from(hold) + 1).min(2),
                    };
                    let tolerance = 3.0 / 128f64.powi(order);
                    let network = built(add_loop(NetworkBuilder::new(), "", parts, can));
                    let method = Method { hold, step: 1.0 / 128.0, schedule, ..Method::default() };
                    let mut engine = engine(network, 1.0, &method);
                    assert!(engine.unsolved_loops().is_empty(), "{what}");
                    let rows = watch(&mut engine);
                    check_run(&what, &rows, parts, 0, tolerance);
                }
            }
        }
    }
}

#[test]
fn several_loops_at_once_are_solved_each_for_itself() {
    let builder = add_loop(NetworkBuilder::new(), "1", LOOP_GAIN, Can::GiveDerivatives);
    let network = built(add_loop(builder, "2", LOOP_HOLD1, Can::BeReadAgain));
    let mut engine = engine(network, 1.0, &Method { hold: 1, step: 1.0 / 128.0, ..Method::default() });
    assert_eq!(
        engine.solved_loops().map(|(inputs, _)| inputs.to_vec()).collect::<Vec<_>>(),
        [[0, 1], [2, 3]]
    );
    let rows = watch(&mut engine);
    check_run("first", &rows, LOOP_GAIN, 0, 3.0 / 128.0 / 128.0);
    check_run("second", &rows, LOOP_HOLD1, 2, 3.0 / 128.0 / 128.0);
}

/// A step of 1 at 0.5 s passes a gain of 2, a loop `a = w − 1.5 b`, `b = a` (so 0.4 w), and a gain of 3, all at one instant.
#[test]
fn loops_inside_chains_are_solved_when_what_feeds_them_is_known() {
    for refresh in [false, true] {
        let sum = Block::new(2, 1, |at, y| y[0] = at.u[0] - 1.5 * at.u[1]).feeding(&[(0, 0), (0, 1)]);
        let network = NetworkBuilder::new()
            .subsystem("z_first", Block::gain(2.0).boxed())
            .subsystem("m_sum", sum.boxed())
            .subsystem("k_back", Block::gain(1.0).boxed())
            .subsystem("a_last", Block::gain(3.0).boxed())
            .connect("z_first.y", "m_sum.u0", 1.0)
            .connect("m_sum.y", "k_back.u", 1.0)
            .connect("k_back.y", "m_sum.u1", 1.0)
            .connect("k_back.y", "a_last.u", 1.0)
            .record(name("a_last.y"))
            .external(name("z_first.u"), Signal::Step { time: 0.5, from: 1.0, to: 2.0 });
        let method = Method { refresh, step: 0.1, ..Method::default() };
        let rows = watch(&mut engine(built(network), 1.0, &method));
        for row in &rows.0 {
            let w = if row.t < 0.5 || (row.t == 0.5 && row.event_follows) { 1.0 } else { 2.0 };
            let expected = 3.0 * 0.4 * 2.0 * w;
            let found = row.probes[0];
            assert!((found - expected).abs() < 1e-10, "{refresh}, t = {}: {found} for {expected}", row.t);
        }
    }
}

/// `a + b + c = 0`, `2a − 3b + 2c = s`, `a² + b² + c² = q`, each solved for one variable by a block.
fn nonlinear(q: Signal) -> Network {
    let from = |list: &[&str], to: &str| ConnectionSpec {
        from: list.iter().map(|s| (name(s), 1.0)).collect(),
        to: name(to),
        offset: 0.0,
        convert_units: false,
    };
    // a from the first, b from the second, c from the third equation; c is the larger one.
    let first = Block::new(2, 1, |at, y| y[0] = -at.u[0] - at.u[1]).feeding(&[(0, 0), (0, 1)]);
    let second = Block::new(2, 1, |at, y| y[0] = (2.0 * at.u[0] + 2.0 * at.u[1] - 9.0) / 3.0)
        .feeding(&[(0, 0), (0, 1)])
        .derivatives(|_, d| d.copy_from_slice(&[2.0 / 3.0; 2]));
    let third = Block::new(3, 1, |at, y| {
        let square = at.u[2] - at.u[0] * at.u[0] - at.u[1] * at.u[1];
        y[0] = square.max(1e-4).sqrt();
    })
    .feeding(&[(0, 0), (0, 1), (0, 2)]);
    let network = NetworkBuilder::new()
        .subsystem("a", first.boxed())
        .subsystem("b", second.boxed())
        .subsystem("c", third.boxed())
        .connection(from(&["b.y"], "a.u0"))
        .connection(from(&["c.y"], "a.u1"))
        .connection(from(&["a.y"], "b.u0"))
        .connection(from(&["c.y"], "b.u1"))
        .connection(from(&["a.y"], "c.u0"))
        .connection(from(&["b.y"], "c.u1"))
        .external(name("c.u2"), q);
    built(network)
}

/// b = −1.8, since 2(a + c) − 3b = −5b; then a and c are the roots of z² − 1.8 z + (1.8² + b² − q)/2.
fn nonlinear_solution(q: f64) -> [f64; 3] {
    let product = (1.8f64 * 1.8 + 1.8 * 1.8 - q) / 2.0;
    let root = (0.81 - product).sqrt();
    [0.9 - root, -1.8, 0.9 + root]
}

#[test]
fn a_nonlinear_loop_is_solved_at_the_start_and_followed() {
    let start = nonlinear_solution(5.0);
    assert!((start[0] - 0.635425).abs() < 1e-6 && (start[2] - 1.16458).abs() < 5e-6, "{start:?}");
    let network = nonlinear(Signal::Function(Box::new(|t| 5.0 + 0.2 * t)));
    let mut engine = engine(network, 1.0, &Method { hold: 1, step: 0.01, ..Method::default() });
    let rows = watch(&mut engine);
    for row in &rows.0 {
        let expected = nonlinear_solution(5.0 + 0.2 * row.t);
        for k in 0..3 {
            let off = (row.y[k] - expected[k]).abs();
            assert!(off < 1e-8, "t = {}: {:?} instead of {expected:?}", row.t, row.y);
        }
    }
}

/// After the first instants an inverse that is kept and improved is enough: a prediction, and one or two corrections.
#[test]
fn a_loop_that_was_solved_before_takes_few_evaluations() {
    let check = |what: &str, network: Network, per_instant: f64, jacobians: u64| {
        let mut engine = engine(network, 1.0, &Method { hold: 1, step: 1e-3, ..Method::default() });
        engine.run(&mut NoObserver).expect("a sound run");
        for (_, statistics) in engine.solved_loops() {
            let mean = statistics.evaluations as f64 / statistics.solved as f64;
            assert_eq!((statistics.solved, statistics.loose), (1000, 0), "{what}");
            assert!(mean <= per_instant, "{what}: {mean} evaluations per instant");
            assert!(statistics.jacobians <= jacobians, "{what}: {statistics:?}");
        }
        assert_eq!(engine.solved_loops().count(), 1, "{what}");
    };
    let linear = |can| built(add_loop(NetworkBuilder::new(), "", LOOP_GAIN, can));
    check("linear with derivatives", linear(Can::GiveDerivatives), 2.01, 1);
    check("linear, read again", linear(Can::BeReadAgain), 2.01, 1);
    let moving = Signal::Function(Box::new(|t| 5.0 + 0.2 * t));
    check("nonlinear", nonlinear(moving), 3.0, 20);
}

/// A ring of 300, `u = g u + 0.1 x + 1` and `ẋ = u` for each of them. Where an exchange halves the residual, nothing of the order of 300² is
/// computed.
#[test]
fn a_weak_loop_of_many_is_solved_without_an_inverse() {
    for (gain, is_weak) in [(0.1, true), (-0.4, true), (0.8, false)] {
        let part = Part { gain, integral: 0.1, offset: 1.0, x: 0.0 };
        let n = 300;
        let mut builder = NetworkBuilder::new();
        for k in 0..n {
            builder = builder.subsystem(&format!("s{k}"), part.block(Can::BeReadAgain).boxed());
        }
        for k in 0..n {
            builder = builder.connect(&format!("s{k}.y"), &format!("s{}.u", (k + 1) % n), 1.0);
        }
        let mut engine = engine(built(builder), 1.0, &Method { hold: 0, step: 0.25, ..Method::default() });
        let rows = watch(&mut engine);
        let start = 1.0 / (1.0 - gain);
        assert!(rows.0[0].u.iter().all(|u| (u - start).abs() < 1e-9 * start), "{gain}: {:?}", rows.0[0].u);
        for row in &rows.0 {
            // All are alike: what one gives is what all take.
            assert!(row.u.iter().all(|u| (u - row.y[0]).abs() < 1e-9 * u.abs()), "{gain}: {:?}", row.u);
        }
        let (_, statistics) = engine.solved_loops().next().expect("a loop");
        assert_eq!(statistics.jacobians == 0, is_weak, "{gain}: {statistics:?}");
    }
}

/// `u = u + 1` and `u = u² + 1`. The second one ran away, and an output that is not finite was told instead.
#[test]
fn a_loop_without_solution_names_its_inputs() {
    let parallel = |y: fn(f64) -> f64| {
        let block = Block::new(1, 1, move |at, out| out[0] = y(at.u[0])).feeding(&[(0, 0)]);
        let network = NetworkBuilder::new()
            .subsystem("a", block.boxed())
            .subsystem("b", Block::gain(1.0).boxed())
            .subsystem("c", Block::gain(1.0).boxed())
            .connect("a.y", "b.u", 1.0)
            .connect("b.y", "a.u", 1.0)
            .connect("b.y", "c.u", 1.0);
        engine(built(network), 1.0, &Method { step: 0.1, ..Method::default() }).run(&mut NoObserver)
    };
    for (what, y) in [("a line", (|u| u + 1.0) as fn(f64) -> f64), ("a parabola", |u| u * u + 1.0)] {
        match parallel(y) {
            Err(RunError::Loop { inputs, change, .. }) => {
                assert_eq!(inputs, [0, 1], "{what}");
                assert!(change > 1e-6, "{what}: {change}");
            }
            other => panic!("{what}: {other:?}"),
        }
    }
}

/// The loop has a solution until 0.5 s: u = w + u²/4 until w = 1. A step of Newton's method that went far made the scale of u so large
/// that every residual was small: the run went on to its end with 2.3 instead of nothing.
#[test]
fn a_loop_that_loses_its_solution_in_the_run_is_named_with_the_time() {
    let block =
        Block::new(2, 1, |at, y| y[0] = at.u[0] + 0.25 * at.u[1] * at.u[1]).feeding(&[(0, 0), (0, 1)]);
    let network = NetworkBuilder::new()
        .subsystem("a", block.boxed())
        .subsystem("b", Block::gain(1.0).boxed())
        .connect("a.y", "b.u", 1.0)
        .connect("b.y", "a.u1", 1.0)
        .external(name("a.u0"), Signal::Function(Box::new(|t| 2.0 * t)));
    let mut engine = engine(built(network), 1.0, &Method { step: 0.02, ..Method::default() });
    match engine.run(&mut NoObserver) {
        Err(RunError::Loop { inputs, span, .. }) => {
            assert_eq!(inputs, [1, 2]);
            assert!(span.start >= 0.48 - 1e-9 && span.end <= 0.54 + 1e-9, "{span:?}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_loop_with_a_member_that_cannot_be_read_again_is_not_solved_and_said() {
    let builder = add_loop(NetworkBuilder::new(), "1", LOOP_HOLD1, Can::Neither);
    let network = built(add_loop(builder, "2", LOOP_HOLD1, Can::BeReadAgain));
    let engine = engine(network, 1.0, &Method { step: 0.01, ..Method::default() });
    let unsolved: Vec<_> = engine.unsolved_loops().iter().map(|l| l.inputs.clone()).collect();
    assert_eq!(unsolved, [[0, 1]]);
    assert_eq!(engine.solved_loops().map(|(inputs, _)| inputs.to_vec()).collect::<Vec<_>>(), [[2, 3]]);
}

/// By what factor a disturbance of an unsolved loop of two gains really grows in a step, over 200 steps.
fn real_growth(gains: [f64; 2], hold: u8, schedule: &ScheduleKind) -> (f64, [f64; 3]) {
    let deaf = |g: f64| Block::gain(g).derivatives(move |_, d| d[0] = g).deaf();
    // One block is disturbed at the second step; everything else is linear.
    let disturbed = Block::new(1, 1, {
        let g = gains[0];
        move |at, y| y[0] = g * at.u[0] + if (0.95..1.05).contains(&at.t) { 1.0 } else { 0.0 }
    })
    .feeding(&[(0, 0)])
    .derivatives({
        let g = gains[0];
        move |_, d| d[0] = g
    })
    .deaf();
    let network = NetworkBuilder::new()
        .subsystem("a", disturbed.boxed())
        .subsystem("b", deaf(gains[1]).boxed())
        .connect("a.y", "b.u", 1.0)
        .connect("b.y", "a.u", 1.0);
    let method = Method { hold, schedule: schedule.clone(), step: 0.1, ..Method::default() };
    let mut engine = engine_with(built(network), 40.0, &method, |s| s.start_up = StartUp::Plain);
    let rows = watch(&mut engine);
    let gains = engine.read_gains().expect("they can be read");
    let growth = engine.loop_gains(&gains)[0].expect("the gains are known").growth;
    let size = |from: usize| {
        let part = &rows.0[from..from + 40];
        part.iter().flat_map(|row| &row.y).fold(0.0f64, |m, y| m.max(y.abs()))
    };
    ((size(260) / size(60)).powf(1.0 / 200.0), growth)
}

/// The predicted factor is that of the run, to 2 %, for stable and unstable gains.
#[test]
fn the_growth_of_unsolved_loops_is_predicted() {
    let jacobi = ScheduleKind::Jacobi { fast: Seen::Held };
    let latest = ScheduleKind::GaussSeidel { order: Some(vec![0, 1]), seen: Seen::Latest };
    for schedule in [jacobi, latest] {
        for gains in [[0.9, 1.0], [1.1, 1.0], [-0.9, 1.0], [-1.1, 1.0], [0.3, 0.3], [0.5, 0.3], [-0.2, 0.5]] {
            for hold in 0..3u8 {
                let (real, predicted) = real_growth(gains, hold, &schedule);
                let expected = predicted[usize::from(hold)];
                let what = format!("{schedule:?}, gains {gains:?}, hold {hold}");
                assert_eq!(real > 1.0, expected > 1.0, "{what}: {real} and {expected}");
                assert!((real / expected - 1.0).abs() < 0.02, "{what}: {real} and {expected}");
            }
        }
    }
}
