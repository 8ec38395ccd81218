//! Discontinuities have a limit from the left and one from the right, and reach what they reach at once.

mod common;

use common::block::{Block, Diary};
use common::rows::{Kind, Rows, watch};
use common::{Method, engine_with};
use powerbond_core::network::{Network, NetworkBuilder, Row, VariableName};
use powerbond_core::run::{Change, ParameterChange, Settings, StartUp};
use powerbond_core::subsystem::StepEvent;
use powerbond_core::time::signal::Signal;

const STEP_AT_HALF: Signal = Signal::Step { time: 0.5, from: 0.0, to: 1.0 };

fn name(text: &str) -> VariableName {
    VariableName::parse(text).expect("a full name")
}

/// `head` feeds `n` gains of 1 in a row, the last of which feeds an integrator `z`, whose state is recorded.
fn chain(head: Block, n: usize, input: Option<Signal>) -> Network {
    named_chain("a", head, n, input)
}

/// As [`chain`]; members are taken in the order of their names, and that of the head may be anywhere.
fn named_chain(first: &str, head: Block, n: usize, input: Option<Signal>) -> Network {
    let mut builder = NetworkBuilder::new()
        .subsystem(first, head.boxed())
        .subsystem("z", Block::integrator().boxed())
        .record(name("z.x0"));
    let mut from = format!("{first}.y");
    for k in 0..n {
        builder = builder.subsystem(&format!("g{k}"), Block::gain(1.0).boxed());
        builder = builder.connect(&from, &format!("g{k}.u"), 1.0);
        from = format!("g{k}.y");
    }
    builder = builder.connect(&from, "z.u", 1.0);
    if let Some(signal) = input {
        builder = builder.external(VariableName::new(first, "u"), signal);
    }
    builder.build().expect("a chain is sound").0
}

/// Parabolas through nodes that are 1e-4 of a step apart make of round-off some 1e-9 of the first step after an event; with a plain
/// start-up everything here is exact.
fn check_exact(what: &str, start_up: StartUp, found: f64, expected: f64) {
    let tolerance = if start_up == StartUp::RunUp { 2e-8 } else { 1e-12 };
    assert!((found - expected).abs() < tolerance, "{what}, {start_up:?}: {found} instead of {expected}");
}

const START_UPS: [StartUp; 2] = [StartUp::Plain, StartUp::RunUp];

fn fixed(hold: u8, refresh: bool) -> Method {
    Method { hold, refresh, step: 0.1, ..Method::default() }
}

/// Both limits at `t`: a step that says that an event follows, then the event.
fn limits(rows: &Rows, t: f64) -> [&common::rows::Seen; 2] {
    let found = rows.at(t);
    assert_eq!(found.iter().map(|r| r.kind).collect::<Vec<_>>(), [Kind::Step, Kind::Event], "at {t}");
    assert!(found[0].event_follows, "the step to {t} knows nothing of the event");
    [found[0], found[1]]
}

/// What every row of events must be: announced by the step before, and every input what feeds it.
fn check_rows(what: &str, rows: &Rows, network_row: impl Fn(usize, &[f64]) -> Option<f64>) {
    for pair in rows.0.windows(2) {
        let (before, row) = (&pair[0], &pair[1]);
        assert_eq!(before.event_follows, row.kind == Kind::Event, "{what}, t = {}", row.t);
        if row.kind == Kind::Event {
            for (i, &u) in row.u.iter().enumerate() {
                if let Some(fed) = network_row(i, &row.y) {
                    assert_eq!(u, fed, "{what}: input {i} after the event at {}", row.t);
                }
            }
        }
    }
}

/// Runs a network, checks the rows of its events and returns them with the integral of `z` at the end.
fn run(what: &str, network: Network, method: &Method, change: impl FnOnce(&mut Settings)) -> (Rows, f64) {
    let mut engine = engine_with(network, 1.0, method, change);
    let rows = watch(&mut engine);
    let network = engine.network();
    let fed = |i: usize, y: &[f64]| network.wiring.is_coupled(i).then(|| network.wiring.row(i, y));
    check_rows(what, &rows, fed);
    let integral = rows.last().probes[0];
    (rows, integral)
}

fn check_near(what: &str, found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-12, "{what}: {found} instead of {expected}");
}

/// The follower integrates 0 for half a second and 1 for the other half: case `right-limit`. Where the head came last in the order of
/// names, what it feeds was read before it.
#[test]
fn a_step_of_an_external_input_passes_through_chains_at_once() {
    for n in [0, 1, 3] {
        for hold in 0..3 {
            for refresh in [false, true] {
                for (start_up, head) in START_UPS.into_iter().flat_map(|s| [(s, "a"), (s, "zz")]) {
                    let what = format!("{head}, {n} gains, hold {hold}, refresh {refresh}");
                    let network = named_chain(head, Block::gain(1.0), n, Some(STEP_AT_HALF));
                    let method = fixed(hold, refresh);
                    let (rows, integral) = run(&what, network, &method, |s| s.start_up = start_up);
                    let [left, right] = limits(&rows, 0.5);
                    assert!(left.y.iter().all(|&y| y == 0.0), "{what}: from the left {:?}", left.y);
                    assert!(right.y.iter().all(|&y| y == 1.0), "{what}: from the right {:?}", right.y);
                    check_exact(&what, start_up, integral, 0.5);
                    assert_eq!(rows.events().count(), 1, "{what}");
                }
            }
        }
    }
}

/// A gain that cannot be read again gives 1 from the end of the step after the jump on: 0.4 of 0.5.
#[test]
fn members_that_cannot_be_read_again_are_listed_and_lag_a_step_behind() {
    let method = fixed(0, false);
    let deaf = |block: Block, input| engine_with(chain(block, 0, input), 1.0, &method, |_| {});
    let mut lagging = deaf(Block::gain(1.0).deaf(), Some(STEP_AT_HALF));
    assert_eq!(lagging.deaf_to_events(), [0]);
    let rows = watch(&mut lagging);
    assert!(limits(&rows, 0.5)[1].y.iter().all(|&y| y == 0.0), "it lags");
    check_near("one step behind", rows.last().probes[0], 0.4);
    let able = Block::gain(1.0).deaf().able(|c| c.can_update = true);
    let mut updated = deaf(able, Some(STEP_AT_HALF));
    assert_eq!(updated.deaf_to_events(), [0; 0], "it can be read again at events");
    check_near("at once", watch(&mut updated).last().probes[0], 0.5);
    let quiet = deaf(Block::gain(1.0).deaf(), Some(Signal::Constant(1.0)));
    assert_eq!(quiet.deaf_to_events(), [0; 0], "nothing jumps");
    let slow = deaf(Block::integrator().deaf(), Some(STEP_AT_HALF));
    assert_eq!(slow.deaf_to_events(), [0; 0], "an integrator has nothing to answer");
}

/// 1 until 0.5 s, then `gain · 1 + offset` = 3.5: 2.25 in all.
#[test]
fn a_changed_connection_has_both_limits() {
    for hold in 0..3 {
        for to in ["g0.u", "z.u"] {
            let network = chain(Block::source(|_| 1.0), 1, None);
            let input = if to == "g0.u" { 0 } else { 1 };
            let source = network.wiring.sources(input).next().expect("it is fed").0;
            let row = Row { sources: vec![(source, 3.0)], offset: 0.5 };
            let change = Change { time: 0.5, rows: vec![(input, row)], parameters: vec![] };
            let what = format!("hold {hold}, {to}");
            let (rows, integral) = run(&what, network, &fixed(hold, false), |s| {
                (s.changes, s.start_up) = (vec![change], StartUp::Plain)
            });
            let [left, right] = limits(&rows, 0.5);
            check_near(&what, left.u[1], 1.0);
            check_near(&what, right.u[1], 3.5);
            check_near(&what, integral, 0.5 + 0.5 * 3.5);
        }
    }
}

/// `y = p`, p from 1 to 3 at 0.5 s: 2 in all. It went unseen where an output follows a parameter and no input.
#[test]
fn a_changed_parameter_has_both_limits() {
    for hold in 0..3 {
        let head = Block::new(0, 1, |at, y| y[0] = at.p[0]).parameter(1.0);
        let parameter = ParameterChange { member: 0, variable: head.parameter_index(), value: 3.0 };
        let change = Change { time: 0.5, rows: vec![], parameters: vec![parameter] };
        let what = format!("hold {hold}");
        let network = chain(head, 2, None);
        let (rows, integral) = run(&what, network, &fixed(hold, false), |s| {
            (s.changes, s.start_up) = (vec![change], StartUp::Plain)
        });
        let [left, right] = limits(&rows, 0.5);
        left.u.iter().for_each(|&u| check_near(&what, u, 1.0));
        assert_eq!(right.u, [3.0; 3], "{what}");
        check_near(&what, integral, 2.0);
    }
}

/// An unused output follows its input at the event, too. Recorded, it showed the limit from the left twice.
#[test]
fn what_is_only_recorded_has_both_limits() {
    let network = NetworkBuilder::new()
        .subsystem("a", Block::gain(3.0).boxed())
        .external(name("a.u"), STEP_AT_HALF)
        .record(name("a.y"));
    let network = network.build().expect("it is sound").0;
    let rows = watch(&mut engine_with(network, 1.0, &fixed(0, false), |_| {}));
    assert_eq!(limits(&rows, 0.5).map(|row| row.probes[0]), [0.0, 3.0]);
}

#[test]
fn a_parameter_of_a_member_that_cannot_be_read_again_is_told() {
    let head = Block::new(0, 1, |at, y| y[0] = at.p[0]).parameter(1.0).deaf();
    let parameter = ParameterChange { member: 0, variable: head.parameter_index(), value: 3.0 };
    let change = Change { time: 0.5, rows: vec![], parameters: vec![parameter] };
    let mut engine = engine_with(chain(head, 0, None), 1.0, &fixed(0, false), |s| s.changes = vec![change]);
    assert_eq!(engine.deaf_to_events(), [0]);
    // One step of 0.1 s with 1 instead of 3.
    check_near("one step behind", watch(&mut engine).last().probes[0], 2.0 - 0.2);
}

/// A state that is 1 becomes -2 at `time`.
fn jumping(time: f64, report: StepEvent) -> Block {
    Block::new(0, 1, |at, y| y[0] = at.x[0])
        .rate(&[1.0], |_, dx| dx[0] = 0.0)
        .jump(time, report, |x, _| x[0] = -2.0)
}

/// The follower gets 1 until the event and -2 after it. An event that is not announced is over at the end of its step, 0.6 s.
#[test]
fn an_event_inside_a_subsystem_reaches_others_at_once() {
    let (pending, handled) = (StepEvent::Pending, StepEvent::Handled);
    for hold in 0..3 {
        for (report, announced, seen_at) in
            [(pending, true, 0.53), (handled, true, 0.53), (pending, false, 0.6)]
        {
            let what = format!("hold {hold}, {report:?}, announced: {announced}");
            let head = jumping(0.53, report);
            let head = if announced { head.announcing() } else { head };
            let (rows, integral) =
                run(&what, chain(head, 2, None), &fixed(hold, false), |s| s.start_up = StartUp::Plain);
            let at = rows.events().next().expect(&what).t;
            check_near(&what, at, seen_at);
            let [left, right] = limits(&rows, at);
            let before = if report == pending { 1.0 } else { -2.0 };
            assert_eq!((left.y[0], right.u.clone()), (before, vec![-2.0; 3]), "{what}");
            check_near(&what, integral, seen_at - 2.0 * (1.0 - seen_at));
            assert_eq!(rows.events().count(), 1, "{what}");
        }
    }
}

#[test]
fn announced_events_are_hit_to_the_bit() {
    let times = [0.1 + 0.2, 1.0 / 3.0, 0.123_456_789, std::f64::consts::FRAC_1_PI, 0.7];
    for controller in ["fixed", "ecco", "rejecting"] {
        for estimator in ["none", "jump", "richardson", "richardson, classic"] {
            let mut sorted = times.to_vec();
            sorted.sort_by(f64::total_cmp);
            let mut head = Block::new(0, 1, |at, y| y[0] = at.x[0]).rate(&[1.0], |_, dx| dx[0] = 1.0);
            for &t in &sorted {
                head = head.jump(t, StepEvent::Pending, |x, _| x[0] = -x[0]);
            }
            let method = Method { estimator, controller, hold: 1, step: 0.01, ..Method::default() };
            let what = format!("{controller}, {estimator}");
            let (rows, _) = run(&what, chain(head.announcing(), 1, None), &method, |_| {});
            assert_eq!(rows.events().map(|r| r.t).collect::<Vec<_>>(), sorted, "{what}");
        }
    }
}

/// Two oscillators that do not know each other: `{prefix}a` (a velocity that feeds its road through) and `{prefix}b` (a spring).
fn oscillator(builder: NetworkBuilder, prefix: &str, road: Signal, diary: &Diary) -> NetworkBuilder {
    let [a, b] = ["a", "b"].map(|s| format!("{prefix}{s}"));
    let mass = Block::new(2, 1, |at, y| y[0] = at.x[0] + 0.1 * at.u[1])
        .rate(&[1.0], |at, dx| dx[0] = -at.u[0])
        .feeding(&[(0, 1)]);
    let spring = Block::linear(0.0, 4.0, 1.0, 0.0, 0.0).with_diary(diary);
    builder
        .subsystem(&a, mass.boxed())
        .subsystem(&b, spring.boxed())
        .connect(&format!("{a}.y"), &format!("{b}.u"), 1.0)
        .connect(&format!("{b}.y"), &format!("{a}.u0"), 1.0)
        .external(VariableName::new(&a, "u1"), road)
}

/// The inputs of the second oscillator have the same bits whether or not the first one has an event, in single steps and in pairs
/// (case `pairs-forget-all`).
#[test]
fn only_what_an_event_reaches_forgets_its_past() {
    for estimator in ["none", "jump", "richardson", "richardson, classic"] {
        for hold in 0..3 {
            let all_bits = |first: Signal| {
                let diary = Diary::default();
                let builder = oscillator(NetworkBuilder::new(), "1", first, &Diary::default());
                let builder = oscillator(builder, "2", Signal::Constant(0.0), &diary);
                let network = builder.build().expect("two oscillators are sound").0;
                let method = Method { hold, estimator, step: 0.0625, ..Method::default() };
                let plain = |s: &mut Settings| s.start_up = StartUp::Plain;
                let rows = watch(&mut engine_with(network, 1.0, &method, plain));
                let bits = |list: &[f64]| list.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
                let own = |s: &common::rows::Seen| [bits(&s.held_end[3..]), bits(&s.y[2..])];
                (rows.steps().map(own).collect::<Vec<_>>(), rows.events().count())
            };
            let (calm, none) = all_bits(Signal::Constant(0.0));
            let (shaken, one) = all_bits(Signal::Step { time: 0.5, from: 0.0, to: 1e-6 });
            assert_eq!((none, one), (0, 1));
            assert_eq!(calm, shaken, "{estimator}, hold {hold}");
        }
    }
}

/// The slopes of what the spring is given in the steps that start at or after `t`.
fn slope_after(diary: &Diary, t: f64) -> f64 {
    let calls = diary.lock().expect("no thread panicked");
    let first = calls.iter().find(|c| c.name == "advance" && c.t > t).expect("there is a step");
    first.slope[0]
}

/// A bend that no step had to end at is over when something else happens later: it was counted as part of the next event.
#[test]
fn a_bend_that_was_crossed_is_no_part_of_a_later_event() {
    let (first, second) = (Diary::default(), Diary::default());
    let ramp = Signal::Ramp { start: 0.21, end: 0.43, from: 0.0, to: 1.0 };
    let builder = oscillator(NetworkBuilder::new(), "1", ramp, &first);
    let builder = oscillator(builder, "2", Signal::Step { time: 0.7, from: 0.0, to: 1.0 }, &second);
    let network = builder.build().expect("two oscillators are sound").0;
    let method =
        Method { hold: 1, estimator: "predictor", controller: "ecco", step: 1e-2, ..Method::default() };
    // Steps of any length may cross these bends.
    let mut engine = engine_with(network, 1.0, &method, |s| s.bend_tolerance = 1e3);
    let rows = watch(&mut engine);
    assert_eq!(rows.events().map(|r| r.t).collect::<Vec<_>>(), [0.7]);
    assert_eq!(slope_after(&second, 0.7), 0.0, "what jumps has no past");
    assert!(slope_after(&first, 0.7).abs() > 0.1, "what does not jump has one: {}", slope_after(&first, 0.7));
}

fn ramp_and_table() -> [Signal; 2] {
    let (times, values) = (vec![0.0, 0.31, 0.62, 2.0], vec![0.0, 0.0, 1.0, 1.0]);
    [
        Signal::Ramp { start: 0.31, end: 0.62, from: 0.0, to: 1.0 },
        Signal::Table { times, values, linear: true },
    ]
}

/// A ramp and a linear table of the same shape are one: the same steps, the same bits.
#[test]
fn a_ramp_and_a_table_of_the_same_shape_give_the_same_steps() {
    for controller in ["fixed", "ecco", "rejecting"] {
        let [ramp, table] = ramp_and_table().map(|signal| {
            let method =
                Method { hold: 1, estimator: "predictor", controller, step: 0.05, ..Method::default() };
            run(controller, chain(Block::gain(1.0), 1, Some(signal)), &method, |_| {})
        });
        assert_eq!(ramp.0.ends(), table.0.ends(), "{controller}");
        assert!((ramp.1 - table.1).abs() < 1e-14, "{controller}: {} and {}", ramp.1, table.1);
        assert!(ramp.0.ends().contains(&0.31) && ramp.0.ends().contains(&0.62), "{controller}");
    }
}

/// A line over a bend of 1/0.31 per second misses it by h/4 times that; 1e-4 of the range allows steps of 0.124 ms.
#[test]
fn a_bend_is_stepped_to_by_steps_that_are_too_long_for_it() {
    for (tolerance, is_hit) in [(1e-4, true), (0.1, false)] {
        let [ramp, _] = ramp_and_table();
        let method =
            Method { hold: 1, estimator: "predictor", controller: "ecco", step: 0.01, ..Method::default() };
        let network = chain(Block::gain(1.0), 1, Some(ramp));
        let mut engine = engine_with(network, 1.0, &method, |s| s.bend_tolerance = tolerance);
        let rows = watch(&mut engine);
        assert_eq!(rows.ends().contains(&0.31), is_hit, "tolerance {tolerance}: {:?}", rows.ends());
    }
}

#[test]
fn a_table_that_is_finer_than_a_constant_step_does_not_shorten_it() {
    let times: Vec<f64> = (0..100).map(|k| 0.03 * f64::from(k)).collect();
    let values = times.iter().map(|t| (9.0 * t).sin()).collect();
    let table = Signal::Table { times, values, linear: true };
    let (rows, _) = run("dense", chain(Block::gain(1.0), 1, Some(table)), &fixed(1, false), |_| {});
    let grid: Vec<f64> = (1..=10).map(|n| if n == 10 { 1.0 } else { f64::from(n) * 0.1 }).collect();
    assert_eq!(rows.ends(), grid);
}

/// A bend between the two steps of a pair, which may cross it: no row says that an event follows where none does.
#[test]
fn rows_of_pairs_tell_the_truth_about_bends_between_them() {
    for estimator in ["none", "richardson", "richardson, classic"] {
        for controller in ["fixed", "rejecting"] {
            let [ramp, _] = ramp_and_table();
            let method = Method { hold: 1, estimator, controller, step: 0.31, ..Method::default() };
            run(
                &format!("{estimator}, {controller}"),
                chain(Block::gain(1.0), 1, Some(ramp)),
                &method,
                |s| {
                    s.bend_tolerance = 1e3;
                },
            );
        }
    }
}
