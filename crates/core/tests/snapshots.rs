//! A run that goes back to a snapshot does what it did the first time, to the last bit.

mod common;

use common::bits::{Bits, steps};
use common::block::Block;
use common::matrix::{SCHEDULES, methods};
use common::{Method, engine, engine_with, quarter_car, ring};
use powerbond_core::error::RunError;
use powerbond_core::network::{ConnectionSpec, Network, NetworkBuilder, Row, VariableName};
use powerbond_core::observe::{Flow, NoObserver};
use powerbond_core::run::{Change, Disturbance, Engine, ParameterChange, Settings, Snapshot};
use powerbond_core::subsystem::StepEvent;
use powerbond_core::time::signal::Signal;

/// States that jump, an algebraic loop, a parameter that changes, signals that jump and bend, inputs without a source.
fn eventful() -> (Network, Vec<Change>) {
    let jumping = Block::new(2, 1, |at, y| y[0] = at.x[0])
        .rate(&[1.0], |at, dx| dx[0] = -3.0 * at.x[0] + at.u[0] + at.u[1])
        .jump(0.033, StepEvent::Pending, |x, _| x[0] = 0.5 - x[0])
        .jump(0.051, StepEvent::Handled, |x, _| x[0] = 0.25 - x[0])
        .announcing();
    let looped = Block::new(3, 2, |at, y| {
        y[0] = at.x[0] + 0.4 * at.u[0] + at.p[0];
        y[1] = at.x[0] - 0.1 * at.u[2];
    })
    .rate(&[0.5], |at, dx| dx[0] = -at.x[0] + at.u[1])
    .parameter(0.1)
    .feeding(&[(0, 0), (1, 2)]);
    let parameter = looped.parameter_index();
    let name = VariableName::new;
    let (network, _) = NetworkBuilder::new()
        .subsystem("a", jumping.boxed())
        .subsystem("b", looped.boxed())
        .subsystem("c", Block::gain(-0.7).boxed())
        .connect("a.y", "b.u1", 1.0)
        .connection(ConnectionSpec {
            from: vec![(name("b", "y0"), 0.6), (name("b", "y1"), 0.3)],
            to: name("c", "u"),
            offset: 0.01,
            convert_units: false,
        })
        .connect("c.y", "b.u0", 1.0)
        .connect("b.y1", "a.u0", 0.5)
        .external(name("a", "u1"), Signal::Step { time: 0.045, from: 0.0, to: 2.0 })
        .external(name("b", "u2"), Signal::Ramp { start: 0.02, end: 0.057, from: 0.0, to: 1.0 })
        .record(name("a", "x0"))
        .record(name("b", "p0"))
        .build()
        .expect("a sound system");
    let input = network.members[2].inputs.start;
    let sources = network.wiring.sources(input).map(|(o, gain)| (o, 0.5 * gain)).collect();
    let changes = vec![
        Change { time: 0.039, rows: vec![(input, Row { sources, offset: 0.02 })], parameters: vec![] },
        Change {
            time: 0.047,
            rows: vec![],
            parameters: vec![ParameterChange { member: 1, variable: parameter, value: 0.4 }],
        },
    ];
    (network, changes)
}

/// Every external input and every parameter that there is, changed at once.
fn all_changed(engine: &Engine) -> Disturbance {
    let network = engine.network();
    let inputs = network.externals.iter().map(|e| (e.input, 0.75)).collect();
    let tunable = |member: usize| {
        let info = network.members[member].simulator.info();
        info.find("p0").map(|variable| ParameterChange { member, variable, value: -0.3 })
    };
    Disturbance { inputs, variables: (0..network.members.len()).filter_map(tunable).collect() }
}

/// Goes on from a snapshot again and again, with something else in between.
fn check(what: &str, make: &dyn Fn() -> Engine) {
    let mut plain = make();
    plain.initialize(&mut NoObserver).expect("a sound start");
    let undisturbed = [30, 20, 20].map(|n| steps(&mut plain, n));
    let mut engine = make();
    engine.initialize(&mut NoObserver).expect("a sound start");
    let start = engine.snapshot().expect("everybody can");
    let before = steps(&mut engine, 30);
    let early = engine.snapshot().expect("everybody can");
    let middle = steps(&mut engine, 20);
    let late = engine.snapshot().expect("everybody can");
    let end = steps(&mut engine, 20);
    assert!(
        [before, middle.clone(), end.clone()] == undisturbed,
        "{what}: taking snapshots changed something"
    );
    let mut again = |snapshot: &Snapshot, n: usize, wanted: &(Bits, String), how: &str| {
        engine.restore_snapshot(snapshot).unwrap_or_else(|e| panic!("{what}, {how}: {e:?}"));
        let found = steps(&mut engine, n);
        let differ = found.0.0.iter().zip(&wanted.0.0).position(|(a, b)| a != b);
        assert!(found == *wanted, "{what}, {how}: row {differ:?}\n{}\n{}", found.1, wanted.1);
        let changes = all_changed(&engine);
        engine.disturb(&changes, &mut NoObserver).unwrap_or_else(|e| panic!("{what}, {how}: {e:?}"));
        steps(&mut engine, 7);
    };
    again(&early, 20, &middle, "back");
    again(&late, 20, &end, "forth");
    again(&early, 20, &middle, "back again");
    again(&start, 30, &undisturbed[0], "to the start");
    drop(early);
    again(&late, 20, &end, "forth again");
}

#[test]
fn every_method_goes_on_from_a_snapshot_as_before() {
    for (n, method) in methods().into_iter().enumerate() {
        let rates = |members: usize| {
            (n % 3 == 1).then(|| (0..members).map(|s| if s % 2 == 0 { 1 } else { 3 }).collect())
        };
        let schedule = SCHEDULES[n % SCHEDULES.len()].make.clone();
        let with = |members: usize| Method {
            rates: rates(members),
            schedule: schedule.clone(),
            threads: if n % 50 == 0 { 2 } else { 0 },
            ..method.clone()
        };
        check(&format!("quarter car, {method:?}"), &|| {
            engine(quarter_car(1, "square-root").0, 1.0, &with(2))
        });
        check(&format!("ring, {method:?}"), &|| engine(ring(4).0, 1.0, &with(4)));
        check(&format!("events, {method:?}"), &|| {
            let (network, changes) = eventful();
            engine_with(network, 0.2, &with(3), |s| s.changes = changes)
        });
    }
}

/// Output derivatives, quanta, landings, rules of the meter, sampled feed-through.
#[test]
fn settings_of_all_kinds_are_kept() {
    type Rule = (&'static str, fn(&mut Settings));
    let rules: [Rule; 5] = [
        ("quantum", |s| s.quantum = Some(5e-4)),
        ("landing", |s| s.land_on = Some(7e-4)),
        ("trapezoid", |s| s.quadrature = powerbond_core::energy::Quadrature::Trapezoid),
        ("rectangle", |s| s.quadrature = powerbond_core::energy::Quadrature::Rectangle),
        ("sampled", |s| s.sample_feed_through = true),
    ];
    for (what, change) in rules {
        for (estimator, controller) in [("none", "fixed"), ("energy", "ecco"), ("all", "rejecting")] {
            let method = Method { estimator, controller, hold: 1, ..Method::default() };
            check(&format!("{what}, {controller}"), &|| {
                engine_with(quarter_car(1, "linear").0, 1.0, &method, change)
            });
        }
    }
    let given = || {
        let block = || {
            Block::linear(-1.0, 2.0, 1.0, 0.0, 1.0)
                .output_rates(|at, dy| dy[0] = -at.x[0] + 2.0 * at.u[0])
                .boxed()
        };
        let builder = NetworkBuilder::new().subsystem("a", block()).subsystem("b", block());
        builder.connect("a.y", "b.u", 1.0).connect("b.y", "a.u", -1.0).build().expect("a sound system").0
    };
    let method = Method { hold: 2, ..Method::default() };
    check("output derivatives", &|| engine_with(given(), 1.0, &method, |s| s.output_derivatives = true));
}

/// A landing that was asked for after a snapshot is not in it.
#[test]
fn landings_are_part_of_the_state() {
    let method = Method { estimator: "energy", controller: "ecco", ..Method::default() };
    let mut engine = engine(quarter_car(1, "linear").0, 1.0, &method);
    engine.initialize(&mut NoObserver).expect("a sound start");
    steps(&mut engine, 10);
    let snapshot = engine.snapshot().expect("everybody can");
    let free = steps(&mut engine, 20);
    engine.restore_snapshot(&snapshot).expect("its own");
    let t = snapshot.time() + 1.3e-3;
    assert_eq!(engine.land_at(t), t);
    let with = engine.snapshot().expect("everybody can");
    let landed = steps(&mut engine, 20);
    assert_ne!(free, landed);
    engine.restore_snapshot(&snapshot).expect("its own");
    assert_eq!(steps(&mut engine, 20), free);
    engine.restore_snapshot(&with).expect("its own");
    assert_eq!(steps(&mut engine, 20), landed);
}

/// A member that gives NaN from 0.05 s on ends the run; a snapshot from before takes it up again.
#[test]
fn after_a_failed_step_a_snapshot_helps() {
    for estimator in ["none", "richardson"] {
        let broken = Block::new(1, 1, |at, y| y[0] = if at.t > 0.05 { f64::NAN } else { at.x[0] })
            .rate(&[1.0], |at, dx| dx[0] = at.u[0] - at.x[0]);
        let builder = NetworkBuilder::new().subsystem("a", broken.boxed());
        let builder = builder.subsystem("b", Block::gain(0.5).boxed());
        let builder = builder.connect("a.y", "b.u", 1.0).connect("b.y", "a.u", 1.0);
        let method = Method { step: 1e-2, estimator, ..Method::default() };
        let mut engine = engine(builder.build().expect("a sound system").0, 1.0, &method);
        engine.initialize(&mut NoObserver).expect("a sound start");
        let snapshot = engine.snapshot().expect("everybody can");
        let first = steps(&mut engine, 2);
        let failed = (0..10).find_map(|_| engine.step(&mut NoObserver).err());
        assert!(matches!(failed, Some(RunError::NonFinite { .. })), "{failed:?}");
        assert!(engine.has_failed() && engine.is_done());
        assert_eq!(engine.step(&mut NoObserver), Ok(Flow::Stop), "nothing is stepped any more");
        engine.restore_snapshot(&snapshot).expect("its own");
        assert!(!engine.is_done());
        assert_eq!(steps(&mut engine, 2), first);
    }
}

#[test]
fn who_cannot_is_named_and_what_is_foreign_is_refused() {
    let network = || {
        let unable = Block::integrator().able(|c| c.can_restore = false).boxed();
        let builder =
            NetworkBuilder::new().subsystem("a", Block::integrator().boxed()).subsystem("b", unable);
        builder.connect("a.y", "b.u", 1.0).connect("b.y", "a.u", 1.0).build().expect("sound").0
    };
    let mut unable = engine(network(), 1.0, &Method::default());
    unable.initialize(&mut NoObserver).expect("a sound start");
    assert_eq!(unable.can_snapshot(), Err(1));
    assert_eq!(unable.snapshot().err(), Some(RunError::NoRestore { member: 1 }));
    let make = || {
        let mut engine = engine(ring(3).0, 1.0, &Method::default());
        engine.initialize(&mut NoObserver).expect("a sound start");
        engine
    };
    let (mut one, mut other) = (make(), make());
    assert_eq!(one.can_snapshot(), Ok(()));
    let snapshot = other.snapshot().expect("everybody can");
    let before = common::bits::state(&one);
    assert_eq!(one.restore_snapshot(&snapshot), Err(RunError::ForeignSnapshot));
    assert_eq!(common::bits::state(&one), before);
}
