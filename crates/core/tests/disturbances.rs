//! What is set from outside while a run goes on is an event, as if it had been known before.

mod common;

use common::bits::{Bits, state};
use common::block::Block;
use common::matrix::methods;
use common::rows::{Kind, Rows};
use common::{Correction, Method, engine, engine_with};
use powerbond_core::error::RunError;
use powerbond_core::network::{Network, NetworkBuilder, VariableName};
use powerbond_core::observe::{Flow, NoObserver};
use powerbond_core::run::{Change, Disturbance, Engine, ParameterChange};
use powerbond_core::step::{ScheduleKind, Seen};
use powerbond_core::subsystem::{Subsystem, SubsystemError};
use powerbond_core::time::signal::Signal;
use powerbond_models::{ParameterValue, find};

fn model(name: &str, parameters: &[(&str, &str)]) -> Box<dyn Subsystem> {
    let text = |&(name, value): &(&str, &str)| (name.to_owned(), ParameterValue::Text(value.to_owned()));
    let parameters: Vec<_> = parameters.iter().map(text).collect();
    find(name).expect("a model").build(&parameters).expect("good parameters")
}

/// The quarter car; `road` is what it drives on, or an input without a source.
fn car(road: Option<Signal>) -> Network {
    let suspension = common::bond(
        "suspension",
        [
            ("chassis.force", "chassis.velocity", -1.0),
            ("wheel.chassis_velocity", "wheel.suspension_force", -1.0),
        ],
    );
    let builder = NetworkBuilder::new()
        .subsystem("chassis", model("quarter-car/chassis", &[]))
        .subsystem("wheel", model("quarter-car/wheel-suspension", &[]))
        .connect("chassis.velocity", "wheel.chassis_velocity", 1.0)
        .connect("wheel.suspension_force", "chassis.force", -1.0)
        .bond(suspension)
        .record(VariableName::new("wheel", "position"));
    let builder = match road {
        Some(road) => builder.external(VariableName::new("wheel", "road"), road),
        None => builder,
    };
    builder.build().expect("a sound system").0
}

/// An oscillator with a tunable parameter in its output and a gain behind it that feeds through.
fn tunable() -> (Network, ParameterChange) {
    let block = Block::new(1, 2, |at, y| (y[0], y[1]) = (at.x[0] + at.p[0], at.x[1]))
        .rate(&[1.0, 0.0], |at, dx| (dx[0], dx[1]) = (at.x[1], at.u[0] - 4.0 * at.x[0]))
        .parameter(0.0);
    let variable = block.parameter_index();
    let builder = NetworkBuilder::new()
        .subsystem("a", block.boxed())
        .subsystem("b", Block::gain(-0.5).boxed())
        .connect("a.y0", "b.u", 1.0)
        .connect("b.y", "a.u", 1.0)
        .record(VariableName::new("a", "p0"));
    (builder.build().expect("a sound system").0, ParameterChange { member: 0, variable, value: 0.25 })
}

const T: f64 = 0.0125;

/// Runs to the end; at `T` something is done with the engine.
fn run(mut engine: Engine, at: impl Fn(&mut Engine, &mut Bits)) -> (Bits, String) {
    let mut bits = Bits::default();
    engine.initialize(&mut bits).expect("a sound start");
    engine.land_at(T);
    while !engine.is_done() {
        engine.step(&mut bits).expect("a sound step");
        if engine.time() == T {
            at(&mut engine, &mut bits);
        }
    }
    let state = state(&engine);
    (bits, state)
}

fn same(found: &(Bits, String), wanted: &(Bits, String), what: &str) {
    let differ = found.0.0.iter().zip(&wanted.0.0).position(|(a, b)| a != b);
    assert!(found == wanted, "{what}: row {differ:?}\n{}\n{}", found.1, wanted.1);
}

/// A step of a signal that is known before the run, and the same from outside at the same time.
#[test]
fn an_input_that_is_set_jumps_as_if_that_had_been_known() {
    for (n, method) in methods().into_iter().enumerate() {
        let method = Method { rates: (n % 3 == 0).then(|| vec![1, 3]), ..method };
        let step = Signal::Step { time: T, from: 0.1, to: 0.3 };
        let wanted = run(engine(car(Some(step)), 0.025, &method), |_, _| ());
        let found = run(engine(car(Some(Signal::Constant(0.1))), 0.025, &method), |engine, bits| {
            let input = engine.network().externals[0].input;
            let changes = Disturbance { inputs: vec![(input, 0.3)], variables: vec![] };
            assert_eq!(engine.disturb(&changes, bits), Ok(Flow::Continue));
            assert_eq!(engine.inputs()[input], 0.3, "the limit from the right");
        });
        same(&found, &wanted, &format!("{method:?}"));
    }
}

/// The same for a parameter, which a scenario changes.
#[test]
fn a_parameter_that_is_set_changes_as_in_a_scenario() {
    for method in methods() {
        // It has no bonds.
        if !matches!(method.correction, Correction::None) || method.estimator.contains("energy") {
            continue;
        }
        let (network, parameter) = tunable();
        let change = Change { time: T, rows: vec![], parameters: vec![parameter] };
        let known = engine_with(network, 0.025, &method, |s| s.changes = vec![change]);
        let wanted = run(known, |_, _| ());
        let found = run(engine(tunable().0, 0.025, &method), |engine, bits| {
            let changes = Disturbance { inputs: vec![], variables: vec![parameter] };
            assert_eq!(engine.disturb(&changes, bits), Ok(Flow::Continue));
            assert_eq!(engine.probes(), [0.25]);
        });
        same(&found, &wanted, &format!("{method:?}"));
    }
}

/// An input without a source, and the same input fed with a constant: both are set to another value. Numbers are such that thrice
/// a number is exact, since a polynomial through three equal values has a slope of round-off else.
#[test]
fn an_input_without_a_source_can_be_set_as_one_that_is_constant() {
    let gauss_seidel = ScheduleKind::GaussSeidel { order: None, seen: Seen::Between };
    let mut list = Vec::new();
    for hold in 0..3 {
        let method = Method { hold, ..Method::default() };
        list.push(Method { refresh: true, ..method.clone() });
        list.push(Method { schedule: gauss_seidel.clone(), ..method.clone() });
        list.push(Method { rates: Some(vec![1, 4]), ..method.clone() });
        list.push(Method { correction: Correction::NepceModel(0.5), ..method.clone() });
        list.push(Method { estimator: "energy", controller: "ecco", ..method.clone() });
        list.push(Method { estimator: "richardson", controller: "rejecting", ..method.clone() });
        list.push(Method { identify: true, ..method.clone() });
        list.push(method);
    }
    for method in list {
        let outputs = |road: Option<Signal>, start: bool| {
            let mut seen = Vec::new();
            let mut engine = engine(car(road), 0.025, &method);
            engine.initialize(&mut NoObserver).expect("a sound start");
            engine.land_at(T);
            let set = |engine: &mut Engine, value: f64| {
                let changes = match engine.network().externals.first() {
                    Some(external) => {
                        Disturbance { inputs: vec![(external.input, value)], variables: vec![] }
                    }
                    None => {
                        let info = engine.network().members[1].simulator.info();
                        let variable = info.find("road").expect("an input");
                        let change = ParameterChange { member: 1, variable, value };
                        Disturbance { inputs: vec![], variables: vec![change] }
                    }
                };
                assert_eq!(engine.disturb(&changes, &mut NoObserver), Ok(Flow::Continue));
            };
            if start {
                set(&mut engine, 0.5);
            }
            while !engine.is_done() {
                engine.step(&mut NoObserver).expect("a sound step");
                if engine.time() == T {
                    set(&mut engine, 0.125);
                }
                let values = engine.outputs().iter().chain(engine.probes());
                seen.push(values.map(|y| y.to_bits()).collect::<Vec<_>>());
            }
            assert!(engine.statistics().events == 1 + u64::from(start));
            (seen, format!("{:?}", engine.meter().sums))
        };
        for start in [false, true] {
            let [unfed, fed] = [None, Some(Signal::Constant(0.0))].map(|road| outputs(road, start));
            assert!(unfed == fed, "{method:?}, start {start}");
        }
    }
}

/// Jumps and bends that a replaced signal would have made cause no events and cut no steps; those of others do.
#[test]
fn what_a_replaced_signal_would_have_done_does_not_happen() {
    let table = |from: f64| Signal::Table {
        times: vec![0.0, 0.2, 0.2, 0.43, 0.71],
        values: vec![from, from + 0.1, from + 0.5, from, from + 1.0],
        linear: true,
    };
    let network = |first: Signal, second: Signal| {
        let block = Block::new(3, 1, |at, y| y[0] = at.x[0])
            .rate(&[0.0], |at, dx| dx[0] = at.u[0] + at.u[1] - at.u[2] - at.x[0]);
        let builder = NetworkBuilder::new()
            .subsystem("a", block.boxed())
            .subsystem("b", Block::gain(0.5).boxed())
            .connect("a.y", "b.u", 1.0)
            .connect("b.y", "a.u2", 1.0)
            .external(VariableName::new("a", "u0"), first)
            .external(VariableName::new("a", "u1"), second);
        builder.build().expect("a sound system").0
    };
    for (estimator, controller) in [("none", "fixed"), ("predictor", "ecco"), ("richardson", "rejecting")] {
        let method = Method { hold: 1, step: 0.01, estimator, controller, ..Method::default() };
        let run = |first: Signal, set: bool| {
            let mut rows = Rows::default();
            let mut engine =
                engine(network(first, Signal::Step { time: 0.55, from: 0.0, to: 1.0 }), 1.0, &method);
            engine.initialize(&mut rows).expect("a sound start");
            if set {
                let changes = Disturbance { inputs: vec![(0, 0.25)], variables: vec![] };
                engine.disturb(&changes, &mut rows).expect("a sound change");
            }
            while !engine.is_done() {
                engine.step(&mut rows).expect("a sound step");
            }
            rows
        };
        let events = |rows: &Rows| rows.events().map(|row| row.t).collect::<Vec<_>>();
        let (calm, replaced) = (run(Signal::Constant(0.25), true), run(table(-3.0), true));
        assert_eq!((events(&calm), events(&replaced)), (vec![0.0, 0.55], vec![0.0, 0.55]), "{controller}");
        assert_eq!(calm.ends(), replaced.ends(), "{controller}");
        assert!(events(&run(table(-3.0), false)).contains(&0.2), "{controller}");
        let both: Vec<_> = replaced.at(0.0).iter().map(|row| (row.kind, row.u[0])).collect();
        assert_eq!(both, [(Kind::Start, -3.0), (Kind::Event, 0.25)], "{controller}");
    }
}

/// All changes of a call are one event, several calls at one instant several; none is no event, and after the end nothing happens.
#[test]
fn one_call_is_one_event() {
    let mut rows = Rows::default();
    let mut engine = engine(car(Some(Signal::Constant(0.1))), 0.01, &Method::default());
    engine.initialize(&mut rows).expect("a sound start");
    let input = engine.network().externals[0].input;
    let to = |value: f64| Disturbance { inputs: vec![(input, value)], variables: vec![] };
    assert_eq!(engine.disturb(&Disturbance::default(), &mut rows), Ok(Flow::Continue));
    for value in [0.2, 0.3] {
        engine.disturb(&to(value), &mut rows).expect("a sound change");
    }
    while !engine.is_done() {
        engine.step(&mut rows).expect("a sound step");
    }
    let events: Vec<_> = rows.events().map(|row| (row.t, row.u[input])).collect();
    assert_eq!(events, [(0.0, 0.2), (0.0, 0.3)]);
    assert_eq!(engine.statistics().events, 2);
    let before = state(&engine);
    assert_eq!(engine.step(&mut rows), Ok(Flow::Stop));
    assert_eq!(engine.disturb(&to(0.7), &mut rows), Ok(Flow::Stop));
    assert_eq!(state(&engine), before);
}

#[test]
fn what_cannot_be_set_is_refused_and_who_lags_behind_is_named() {
    let mut one = engine(car(Some(Signal::Constant(0.1))), 0.01, &Method::default());
    one.initialize(&mut NoObserver).expect("a sound start");
    let coupled = (0..one.network().n_inputs).find(|&i| one.network().wiring.is_coupled(i)).expect("one");
    let changes = Disturbance { inputs: vec![(coupled, 1.0)], variables: vec![] };
    let refused = one.disturb(&changes, &mut NoObserver);
    let unsupported = SubsystemError::Unsupported { call: "set" };
    assert!(matches!(refused, Err(RunError::Subsystem { error, .. }) if error == unsupported));
    assert!(!one.has_failed(), "nothing was changed");
    // A bound input and an output of a model.
    for variable in [0, 2] {
        let variables = vec![ParameterChange { member: 1, variable, value: 1.0 }];
        let mut two = engine(car(Some(Signal::Constant(0.1))), 0.01, &Method::default());
        two.initialize(&mut NoObserver).expect("a sound start");
        assert!(two.disturb(&Disturbance { inputs: vec![], variables }, &mut NoObserver).is_err());
        assert!(two.has_failed() && two.is_done());
    }
    let deaf = |block: Block| {
        let builder = NetworkBuilder::new()
            .subsystem("a", block.boxed())
            .subsystem("b", Block::integrator().boxed())
            .connect("a.y", "b.u", 1.0)
            .connect("b.y", "a.u0", 1.0);
        let engine = engine(builder.build().expect("a sound system").0, 1.0, &Method::default());
        let variables = vec![ParameterChange { member: 0, variable: 1, value: 1.0 }];
        engine.deaf_to(&Disturbance { inputs: vec![], variables })
    };
    let block = |feeds: bool| {
        let block = Block::new(2, 1, |at, y| y[0] = at.x[0] + at.u[1]).rate(&[0.0], |at, dx| dx[0] = at.u[0]);
        if feeds { block.feeding(&[(0, 1)]) } else { block }
    };
    assert_eq!(deaf(block(true)), [0usize; 0]);
    assert_eq!(deaf(block(true).deaf()), [0]);
    assert_eq!(deaf(block(false).deaf()), [0usize; 0], "nothing follows it at once");
}

/// Steps end where they are asked to: exactly, or at the next multiple; the end of the run comes before what is beyond it.
#[test]
fn steps_end_where_they_are_asked_to() {
    let check = |method: &Method, quantum: Option<f64>, t: f64, lands: f64| {
        let network = car(Some(Signal::Constant(0.1)));
        let mut engine = engine_with(network, 0.05, method, |s| s.quantum = quantum);
        let mut rows = Rows::default();
        engine.initialize(&mut rows).expect("a sound start");
        (0..3).for_each(|_| assert_eq!(engine.step(&mut rows), Ok(Flow::Continue)));
        let found = engine.land_at(t);
        assert!((found - lands).abs() < 1e-12, "{found} instead of {lands}, {method:?}");
        while !engine.is_done() {
            engine.step(&mut rows).expect("a sound step");
        }
        assert!(rows.ends().contains(&found), "{method:?}: {:?}", rows.ends());
        assert_eq!((rows.events().count(), engine.time()), (0, 0.05));
    };
    for (estimator, controller) in [("none", "fixed"), ("energy", "ecco"), ("richardson", "rejecting")] {
        let method = Method { estimator, controller, ..Method::default() };
        check(&method, None, 0.03217, 0.03217);
        check(&method, None, 0.7, 0.05);
        check(&method, None, f64::NAN, 0.05);
        check(&method, Some(1e-3), 0.03217, 0.033);
        check(&method, Some(1e-3), 0.031, 0.031);
    }
    let mut engine = engine(car(Some(Signal::Constant(0.1))), 0.05, &Method::default());
    engine.initialize(&mut NoObserver).expect("a sound start");
    engine.step(&mut NoObserver).expect("a sound step");
    assert_eq!(engine.land_at(1e-4), engine.time(), "it is over");
}
