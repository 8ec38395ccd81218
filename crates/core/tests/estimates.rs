//! What estimators, corrections and identified members see: NaN, warm-ups, means, orders that are really held.

mod common;

use common::block::{Block, Diary};
use common::rows::{Rows, watch};
use common::{Correction, Method, engine, engine_with};
use powerbond_core::controller::{Fixed, StepController};
use powerbond_core::correction::{Nepce, StepRatio};
use powerbond_core::estimator::{ErrorEstimator, Jump};
use powerbond_core::hold::{InputFeed, Polynomial, VariableOrder};
use powerbond_core::network::{Network, NetworkBuilder, VariableName};
use powerbond_core::run::{Engine, Policies, Settings, StartUp};
use powerbond_core::step::{Schedule, ScheduleKind, Seen};
use powerbond_core::time::signal::Signal;

fn pair(first: Block, second: Block) -> Network {
    NetworkBuilder::new()
        .subsystem("a", first.boxed())
        .subsystem("b", second.boxed())
        .connect("a.y", "b.u", 1.0)
        .bond(common::bond("ab", [("a.u", "a.y", 1.0), ("b.u", "b.y", -1.0)]))
        .connect("b.y", "a.u", 1.0)
        .build()
        .expect("a sound pair")
        .0
}

/// A member whose output is not a number from 0.5 s on.
fn failing() -> Block {
    Block::new(1, 1, |at, y| y[0] = if at.t < 0.499 { at.x[0] } else { f64::NAN })
        .rate(&[1.0], |at, dx| dx[0] = -at.u[0])
}

/// Case `nan-is-zero`: every step whose outputs are not numbers has an infinite norm.
#[test]
fn a_nan_is_infinite_in_every_estimator() {
    for estimator in ["jump", "energy", "predictor", "richardson", "richardson, classic"] {
        for hold in 0..3 {
            let method = Method { estimator, hold, step: 1.0 / 64.0, ..Method::default() };
            let network = pair(failing(), Block::linear(-1.0, 1.0, 1.0, 0.0, 0.0));
            let mut engine = engine_with(network, 1.0, &method, |s| s.allow_nonfinite = true);
            let rows = watch(&mut engine);
            let norm = |from: f64, to: f64| {
                let steps = rows.steps().filter(move |r| r.t > from && r.t < to);
                steps.map(|r| r.estimates[0].norm).collect::<Vec<_>>()
            };
            // A pair has one norm: the step before may have that of the first NaN.
            let (before, after) = (norm(0.0, 0.48), norm(0.499, 0.6));
            assert!(before.iter().all(|n| n.is_finite()), "{estimator}, hold {hold}: {before:?}");
            assert!(after.len() > 3, "{estimator}");
            assert!(after.iter().all(|n| *n == f64::INFINITY), "{estimator}, hold {hold}: {after:?}");
            assert!(engine.statistics().over_tolerance >= after.len() as u64, "{estimator}");
        }
    }
}

/// Case `warm-up-hides`: a kink every 12 steps leaves the jump norm no time to warm up, but every step over tolerance counts.
#[test]
fn steps_over_tolerance_count_while_an_estimator_warms_up() {
    let run = |signal: Signal| {
        let lag = Block::new(2, 1, |at, y| y[0] = at.x[0])
            .rate(&[0.0], |at, dx| dx[0] = 30.0 * (at.u[1] - at.x[0]) - at.u[0]);
        let network = NetworkBuilder::new()
            .subsystem("a", lag.boxed())
            .subsystem("b", Block::linear(-1.0, 1.0, 1.0, 0.0, 0.0).boxed())
            .connect("a.y", "b.u", 1.0)
            .connect("b.y", "a.u0", 1.0)
            .external(VariableName::new("a", "u1"), signal)
            .build()
            .expect("a sound pair")
            .0;
        let method = Method { estimator: "jump", hold: 0, step: 1e-2, ..Method::default() };
        let mut engine = engine(network, 10.0, &method);
        let rows = watch(&mut engine);
        let over = rows.steps().filter(|r| r.estimates[0].norm > 1.0).count() as u64;
        assert_eq!(engine.statistics().over_tolerance, over);
        assert_eq!(rows.steps().filter(|r| r.over_tolerance).count() as u64, over);
        let statistics = engine.statistics();
        (over, statistics.without_scale, statistics.events)
    };
    let times: Vec<f64> = (0..80).map(|k| 0.12 * f64::from(k) + 0.06).collect();
    let values = (0..80).map(|k| f64::from(k % 2)).collect();
    let (over, without_scale, events) = run(Signal::Table { times, values, linear: false });
    assert!(events > 70, "{events} events");
    assert!(
        over - without_scale > 500,
        "{over} of 1000 steps over tolerance, {without_scale} without a scale"
    );
}

/// A step that a model refuses is made again with less, also while the norm finds its scale: that was the end of the run.
#[test]
fn a_refused_step_is_made_again_while_an_estimator_warms_up() {
    for estimator in ["jump", "predictor"] {
        let network = pair(
            Block::linear(-0.3, -1.0, 1.0, 0.0, 1.0).refusing_above(0.03),
            Block::linear(-0.1, 2.0, 1.0, 0.0, 0.5),
        );
        let method = Method { estimator, controller: "rejecting", step: 0.1, ..Method::default() };
        let mut engine = engine(network, 1.0, &method);
        let rows = watch(&mut engine);
        assert!(rows.steps().all(|r| r.span.h <= 0.03 * (1.0 + 1e-9)), "{estimator}");
        assert!(engine.statistics().rejected > 0, "{estimator}");
    }
}

/// A subsystem that takes values only sees the mean of a line between old and new: what was held at the end is the end of the line.
#[test]
fn lines_between_old_and_new_values_fill_the_lift_of_means() {
    let network = pair(
        Block::linear(-0.3, -1.0, 1.0, 0.0, 1.0),
        Block::linear(-0.1, 2.0, 1.0, 0.0, 0.5).able(|c| c.input_derivatives = 0),
    );
    let schedule = ScheduleKind::GaussSeidel { order: Some(vec![0, 1]), seen: Seen::Between };
    let (n, ny) = (network.n_inputs, network.n_outputs);
    assert_eq!((n, ny), (2, 2));
    let feeds = vec![InputFeed::Derivatives(2), InputFeed::Mean];
    let estimators: Vec<Box<dyn ErrorEstimator>> =
        vec![Box::new(Jump::new(1e-3, &Jump::groups(&network, |_| false), vec![false, true]))];
    let policies = Policies {
        ceiling: None,
        schedule: Schedule::new(&network, &schedule, &[1, 1]),
        extrapolation: Box::new(VariableOrder::new(vec![2; n], feeds, vec![false; n])),
        correction: None,
        estimators,
        controller: Box::new(Fixed { step: 0.1 }) as Box<dyn StepController>,
        identifier: None,
        sampled: None,
    };
    let rows = watch(&mut Engine::new(network, policies, Settings::new(0.0, 2.0)));
    for row in rows.steps() {
        // b steps after a: the line ends at what a has made.
        assert!((row.held_end[1] - row.y_step[0]).abs() < 1e-14, "{row:?}");
        assert!((row.held_end[1] - row.u[1]).abs() < 1e-14, "{row:?}");
    }
}

/// The corrections `δu` of input 1 (`b.u`) in every step.
fn corrections(rows: &Rows) -> Vec<f64> {
    rows.steps().map(|r| r.corrected_end[1] - r.held_end[1]).collect()
}

/// `δu = α (h/h_last)^(m+1) e` with m the order that was really held: 0 in the first step, 1 in the second, 2 then.
#[test]
fn nepce_scales_with_the_order_that_was_really_held() {
    // Landing times make every second step a third as long.
    const ALPHA: f64 = 0.5;
    let network = pair(Block::linear(-0.3, -1.0, 1.0, 0.0, 1.0), Block::linear(-0.1, 2.0, 1.0, 0.0, 0.5));
    let n = network.n_inputs;
    let nepce = Nepce::new(&network, vec![ALPHA; n], StepRatio::Growth, &[]);
    let policies = Policies {
        ceiling: None,
        schedule: Schedule::new(&network, &ScheduleKind::Jacobi { fast: Seen::Held }, &[1, 1]),
        extrapolation: Box::new(Polynomial::new(vec![2; n], vec![2; n])),
        correction: Some(Box::new(nepce)),
        estimators: Vec::new(),
        controller: Box::new(Fixed { step: 0.1 }),
        identifier: None,
        sampled: None,
    };
    let settings = Settings { land_on: Some(0.075), start_up: StartUp::Plain, ..Settings::new(0.0, 1.0) };
    let rows = watch(&mut Engine::new(network, policies, settings));
    let steps: Vec<_> = rows.steps().collect();
    let found = corrections(&rows);
    assert_eq!(found[0], 0.0, "nothing is known yet");
    for k in 1..steps.len() {
        let (before, now) = (steps[k - 1], steps[k]);
        let defect = before.u[1] - before.corrected_end[1];
        let held = (k as i32 - 1).min(2);
        let expected = ALPHA * (now.span.h / before.span.h).powi(held + 1) * defect;
        assert!(
            (found[k] - expected).abs() < 1e-12 * (1.0 + expected.abs()),
            "step {k}: {} for {expected}",
            found[k]
        );
    }
    assert!(steps.iter().any(|s| s.span.h < 0.04) && steps.iter().any(|s| s.span.h > 0.06));
}

/// `δu = α (1/h)∫(L y − ũ) dτ`: outputs by the trapezoid rule over the ends of all sub-steps of their subsystem, what was held exactly.
/// Expected: the same sums, written out.
#[test]
fn the_mean_defect_is_taken_over_all_outputs_inside_a_step() {
    const ALPHA: f64 = 0.5;
    let h = 0.125;
    let courses: [fn(f64) -> f64; 2] = [|t| 3.0 * t - 1.0, |t| (5.0 * t).cos()];
    for (course, y) in courses.into_iter().enumerate() {
        // How often both exchange in a step is the greatest common divisor of their parts.
        for (parts, receiver, exchanges, hold) in
            [(1, 1, 1, 0), (4, 1, 1, 0), (4, 8, 4, 0), (1, 1, 1, 1), (2, 6, 2, 1), (3, 2, 1, 1)]
        {
            let sink = Block::new(1, 1, |at, y| y[0] = at.x[0]).rate(&[0.0], |at, dx| dx[0] = at.u[0]);
            let network = NetworkBuilder::new()
                .subsystem("a", Block::source(y).boxed())
                .subsystem("b", sink.boxed())
                .connect("a.y", "b.u", 1.0)
                .build()
                .expect("a source and an integrator")
                .0;
            let method = Method {
                correction: Correction::Row("nepce, mean"),
                rates: Some(vec![parts, receiver]),
                hold,
                step: h,
                ..Method::default()
            };
            let rows = watch(&mut engine(network, 2.0, &method));
            let mut last = 0.0;
            for (k, row) in rows.steps().enumerate() {
                let what = format!("course {course}, {parts} and {receiver} parts, hold {hold}, step {k}");
                let found = row.corrected_end[0] - row.held_end[0];
                assert!((found - last).abs() < 1e-13, "{what}: {found} for {last}");
                let start = row.t - h;
                let point = |j: u32| y(start + h * f64::from(j) / f64::from(parts));
                let mean =
                    (0..parts).map(|j| 0.5 * (point(j) + point(j + 1))).sum::<f64>() / f64::from(parts);
                let between = h / f64::from(exchanges);
                let held = |j: u32| {
                    let t = start + between * f64::from(j);
                    let slope =
                        if hold == 1 && k + j as usize > 0 { (y(t) - y(t - between)) / between } else { 0.0 };
                    y(t) + slope * between / 2.0
                };
                let given = (0..exchanges).map(held).sum::<f64>() / f64::from(exchanges);
                last = ALPHA * (mean - (given + last));
            }
            // A constant under a line of slope 3 lacks 3h/2, of which α/(1 + α) is given.
            if course == 0 && hold == 0 {
                let lack = 3.0 * h / f64::from(2 * exchanges);
                assert!((last - lack * ALPHA / (1.0 + ALPHA)).abs() < 1e-5, "{last}");
            }
        }
    }
}

/// A source, a gain that is read again, and one whose gain is identified: once it is found, its output belongs to what the refreshed gain
/// gives at the same instant.
#[test]
fn identified_members_are_improved_after_the_refresh_of_those_that_feed_them() {
    let diary = Diary::default();
    let wave = |t: f64| (2.0 * t).sin() + 0.5 * (5.0 * t).cos() + 0.3 * (7.3 * t).sin();
    let network = NetworkBuilder::new()
        .subsystem("s", Block::source(wave).boxed())
        .subsystem("r", Block::gain(2.0).boxed())
        .subsystem("i", Block::gain(1.5).deaf().boxed())
        .subsystem("z", Block::integrator().with_diary(&diary).boxed())
        .connect("s.y", "r.u", 1.0)
        .connect("r.y", "i.u", 1.0)
        .connect("i.y", "z.u", 1.0)
        .build()
        .expect("a sound chain")
        .0;
    let method = Method { hold: 0, identify: true, refresh: true, step: 0.01, ..Method::default() };
    let mut engine = engine_with(network, 5.0, &method, |s| s.refresh.retain(|&m| m == 1));
    let rows = watch(&mut engine);
    // Members in name order: i, r, s, z; outputs the same.
    let late: Vec<_> = rows.steps().filter(|r| r.t > 4.0).collect();
    for row in &late {
        let (i, r, s) = (row.y[0], row.y[1], row.y[2]);
        assert!((r - 2.0 * s).abs() < 1e-12, "t = {}: read again", row.t);
        assert!((i - 1.5 * r).abs() < 1e-3, "t = {}: {i} for {}", row.t, 1.5 * r);
    }
    // Without it the output is that of the held input, one step old.
    assert!(late.iter().any(|row| (row.y_step[0] - 1.5 * row.y[1]).abs() > 0.05));
}

/// Corrections and identified gains leave what they do not know alone.
#[test]
fn a_correction_does_nothing_to_known_signals() {
    let network = NetworkBuilder::new()
        .subsystem("a", Block::integrator().boxed())
        .subsystem("b", Block::integrator().boxed())
        .connect("a.y", "b.u", 1.0)
        .external(VariableName::new("a", "u"), Signal::Function(Box::new(f64::sin)))
        .build()
        .expect("a sound pair")
        .0;
    let method = Method { correction: Correction::Nepce(0.8), step: 0.1, ..Method::default() };
    let rows = watch(&mut engine(network, 1.0, &method));
    assert!(rows.steps().all(|r| r.corrected_end[0] == r.held_end[0]));
    assert!(rows.steps().any(|r| r.corrected_end[1] != r.held_end[1]));
}

/// Two members that may keep a second state, or only one.
fn slots(block: Block, second: bool) -> Block {
    if second { block } else { block.without_second_slot() }
}

/// A pair of steps made each step of its big step twice: 4 H of work for two accepted steps of H, where 3 H do.
#[test]
fn the_modified_big_step_begins_with_the_first_small_one() {
    let h = 1.0 / 32.0;
    for (second, ends) in [(true, [1.0, 2.0, 2.0]), (false, [2.0, 1.0, 2.0])] {
        for controller in ["fixed", "rejecting"] {
            let diary = Diary::default();
            let a = slots(Block::linear(-0.3, -1.0, 1.0, 0.0, 1.0).with_diary(&diary), second);
            let network = pair(a, Block::linear(-0.1, 2.0, 1.0, 0.0, 0.5));
            let method =
                Method { estimator: "richardson", controller, hold: 1, step: h, ..Method::default() };
            let mut engine = engine_with(network, 4.0 * h, &method, |s| s.start_up = StartUp::Plain);
            let rows = watch(&mut engine);
            let calls = diary.lock().expect("no thread panicked");
            let steps: Vec<_> = calls.iter().filter(|call| call.name == "advance").collect();
            let times: Vec<f64> = steps.iter().map(|call| call.t).collect();
            if controller == "rejecting" {
                assert!(engine.statistics().rejected > 0);
                let halves = |t: &[f64]| if second { t[0] < t[1] } else { t[1] < t[0] };
                assert!(times.chunks(3).all(halves), "{times:?}");
                continue;
            }
            let expected: Vec<f64> = [0.0, 2.0].iter().flat_map(|t| ends.map(|e| (t + e) * h)).collect();
            assert_eq!(times, expected, "{controller}, second slot: {second}");
            // The big step of the second pair ends where the line through its first two nodes, at H and 2 H, is at 4 H.
            let line = |t: f64| {
                let u = |n: usize| rows.steps().nth(n).expect("four steps").u[0];
                u(1) + (u(1) - u(0)) / h * (t - 2.0 * h)
            };
            let big = steps.iter().skip(3).find(|call| call.t == 4.0 * h).expect("a big step");
            assert!((big.u[0] - line(4.0 * h)).abs() < 1e-14, "{} {}", big.u[0], line(4.0 * h));
        }
    }
}

/// Expected: the same estimates as with a big step in one, up to the integration of members (order 4), for every hold and for members
/// that take fewer derivatives than it has.
#[test]
fn a_shared_first_half_gives_the_same_estimates() {
    for hold in 0..3 {
        for takes in 0..3 {
            let norms = |second: bool| {
                let a = Block::linear(-0.3, -1.0, 1.0, 0.0, 1.0).able(|c| c.input_derivatives = takes);
                let b = Block::linear(-0.1, 2.0, 1.0, 0.2, 0.5);
                let network = pair(slots(a, second), slots(b, second));
                let method = Method { estimator: "richardson", hold, step: 1.0 / 64.0, ..Method::default() };
                let rows = watch(&mut engine(network, 1.0, &method));
                rows.steps().map(|r| r.estimates[0].norm).collect::<Vec<f64>>()
            };
            let (shared, whole) = (norms(true), norms(false));
            assert!(shared.len() >= 64 && whole.len() == shared.len(), "hold {hold}, {takes} derivatives");
            for (k, (a, b)) in shared.iter().zip(&whole).enumerate() {
                // 1e-12: round-off of outputs over the tolerance of 1e-3.
                assert!(
                    (a - b).abs() <= 1e-6 * b + 1e-12,
                    "hold {hold}, {takes} derivatives, step {k}: {a} {b}"
                );
            }
        }
    }
}

/// A known signal is held over its own span: in the second half the big step has the curve over both. For `t²` and lines the errors
/// are ∫ s(s − 2H) ds = −(2H)³/6 in one and −H³/6 − 2H³/3 in two halves, that of the small steps −H³/3, so that the difference
/// is half of it; held constant there is no difference.
#[test]
fn the_error_of_a_known_signal_is_in_the_estimate() {
    for (hold, expected) in [(0, 1.0), (1, 0.5)] {
        let norms = |second: bool| {
            let network = NetworkBuilder::new()
                .subsystem("a", slots(Block::integrator(), second).boxed())
                .subsystem("b", Block::new(1, 0, |_, _| {}).boxed())
                .external(VariableName::new("a", "u"), Signal::Function(Box::new(|t| t * t)))
                .connect("a.y", "b.u", 1.0)
                .build()
                .expect("a sound pair")
                .0;
            let method = Method { estimator: "richardson", hold, step: 1.0 / 16.0, ..Method::default() };
            let rows = watch(&mut engine(network, 1.0, &method));
            rows.steps().map(|r| r.estimates[0].norm).collect::<Vec<f64>>()
        };
        let ratio = norms(true)[8] / norms(false)[8];
        assert!((ratio - expected).abs() < 1e-9, "hold {hold}: {ratio}");
    }
}
