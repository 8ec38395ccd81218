//! States of FMUs that are put away: many at once, with everything that decides how an instance goes on.

mod common;

use common::{begin, fmu, instance, parameters};
use powerbond_core::controller::Fixed;
use powerbond_core::hold::Polynomial;
use powerbond_core::network::{NetworkBuilder, VariableName};
use powerbond_core::observe::NoObserver;
use powerbond_core::run::{Engine, Policies, Settings, Snapshot};
use powerbond_core::step::{Schedule, ScheduleKind, Seen};
use powerbond_core::subsystem::{Inputs, Span, StateSnapshot, Subsystem, SubsystemError};
use powerbond_core::time::signal::Signal;
use powerbond_fmi::{Fmu, FmuSubsystem, Options};

/// `n` steps of 0.05 s from `t` with an input that moves.
fn steps(s: &mut FmuSubsystem, t: f64, n: u32, scale: f64) -> Vec<u64> {
    let mut bits = Vec::new();
    for k in 0..n {
        let start = t + 0.05 * f64::from(k);
        let (mut y, span) = ([0.0; 2], Span { start, end: start + 0.05, h: 0.05 });
        let advance = s.advance(span, Inputs::constant(&[scale * (1.0 + start)]), &mut y).unwrap();
        bits.extend([y[0].to_bits(), y[1].to_bits(), advance.reached.to_bits(), advance.event as u64]);
        bits.push(s.next_event().unwrap_or(0.0).to_bits());
        s.update(Inputs::constant(&[scale * (1.0 + start)]), &mut y).unwrap();
        bits.extend(y.map(f64::to_bits));
    }
    bits
}

#[test]
fn states_live_beside_each_other_and_beside_the_rollback() {
    let check = |name: &str, options: Options, names: (&str, [&str; 2])| {
        let mut s = instance(name, &options);
        assert!(s.can_snapshot());
        begin(&mut s, &[names.0], &names.1, &[1.0]).unwrap();
        steps(&mut s, 0.0, 3, 1.0);
        let a = s.snapshot().unwrap();
        let first = steps(&mut s, 0.15, 4, 1.0);
        s.save().unwrap();
        let b = s.snapshot().unwrap();
        let second = steps(&mut s, 0.35, 4, 1.0);
        s.restore().unwrap();
        let again = steps(&mut s, 0.35, 4, 1.0);
        // A rollback does not count on what the FMU has of discrete inputs, and sets them once more.
        assert!(again == second || names.1.contains(&"visits"), "{name}: the rollback is untouched");
        for _ in 0..2 {
            s.load_snapshot(&a).unwrap();
            assert_eq!(steps(&mut s, 0.15, 4, 1.0), first, "{name}");
            steps(&mut s, 0.35, 2, -3.0);
            s.load_snapshot(&b).unwrap();
            assert_eq!(steps(&mut s, 0.35, 4, 1.0), second, "{name}");
        }
        drop(a);
        s.load_snapshot(&b).unwrap();
        assert_eq!(steps(&mut s, 0.35, 4, 1.0), second, "{name}");
    };
    let events = || Options { events: true, ..Options::default() };
    check("integrator2", Options::default(), ("u", ["x", "y"]));
    check("integrator3", Options::default(), ("u", ["x", "y"]));
    check("timer3", Options::default(), ("setpoint", ["x", "events"]));
    check("timer3", events(), ("setpoint", ["x", "events"]));
    check("latch3", events(), ("u", ["y", "visits"]));
    check("latch3", events(), ("order", ["y", "visits"]));
}

/// The FMU counts the states that it keeps: those that were dropped are freed at the next snapshot, all with the instance.
#[test]
fn states_are_freed() {
    let file = Fmu::open(fmu("timer3")).unwrap();
    let mut s = file.instantiate("one", &Options::default()).unwrap();
    let mut watcher = file.instantiate("two", &Options::default()).unwrap();
    begin(&mut s, &["setpoint"], &["x"], &[1.0]).unwrap();
    begin(&mut watcher, &[], &["kept"], &[]).unwrap();
    let mut kept = || {
        let mut y = [f64::NAN];
        watcher.evaluate(Inputs::constant(&[]), &mut y).unwrap();
        y[0]
    };
    let mut list: Vec<StateSnapshot> = (0..10).map(|_| s.snapshot().unwrap()).collect();
    assert_eq!(kept(), 10.0);
    list.truncate(4);
    assert_eq!(kept(), 10.0, "no function was called");
    list.push(s.snapshot().unwrap());
    assert_eq!(kept(), 5.0);
    // Another thread may drop them.
    let last = list.pop().unwrap();
    std::thread::spawn(move || drop(list)).join().unwrap();
    s.load_snapshot(&last).unwrap();
    assert_eq!(kept(), 1.0);
    s.save().unwrap();
    drop(s);
    assert_eq!(kept(), 0.0);
    drop(last);
}

#[test]
fn what_is_foreign_or_impossible_is_refused() {
    let make = || {
        let mut s = instance("integrator2", &Options::default());
        begin(&mut s, &["u"], &["x"], &[1.0]).unwrap();
        s
    };
    let (mut one, mut other) = (make(), make());
    let (own, foreign) = (one.snapshot().unwrap(), other.snapshot().unwrap());
    let refused = Err(SubsystemError::Unsupported { call: "load_snapshot" });
    assert_eq!(one.load_snapshot(&foreign), refused);
    assert_eq!(one.load_snapshot(&StateSnapshot::new(vec![0.0])), refused);
    one.load_snapshot(&own).unwrap();
    one.finish().unwrap();
    assert!(one.snapshot().is_err() && one.load_snapshot(&own).is_err(), "it has ended");
    let mut slave = instance("slave1", &Options::default());
    begin(&mut slave, &["u"], &["x"], &[1.0]).unwrap();
    assert!(!slave.can_snapshot() && slave.snapshot().is_err(), "FMI 1 has no states");
}

/// Events, early returns, integers and strings in one engine: also how often event mode was visited and inputs were set.
#[test]
fn a_coupled_run_goes_on_as_before() {
    let load = |name: &str, options: Options| -> Box<FmuSubsystem> {
        Box::new(Fmu::open(fmu(name)).unwrap().instantiate(name, &options).unwrap())
    };
    let events = |options: Options| Options { events: true, ..options };
    let builder = NetworkBuilder::new()
        .subsystem("latch", load("latch3", events(parameters(&[("first", 0.31.into())]))))
        .subsystem("bouncer", load("integrator3", events(parameters(&[("limit", 0.3537.into())]))))
        .subsystem("one", load("words3", events(Options::default())))
        .subsystem("two", load("words3", events(Options::default())))
        .subsystem("old", load("integrator2", Options::default()))
        .connect("one.said", "two.heard", 1.0)
        .connect("two.said", "one.heard", 1.0)
        .connect("bouncer.x", "old.u", 1.0)
        .connect("old.y", "latch.u", 1.0)
        .external(VariableName::new("latch", "order"), Signal::Step { time: 0.45, from: 1.0, to: 3.0 })
        .external(VariableName::new("bouncer", "u"), Signal::Constant(1.0));
    let local = |name: &str| VariableName::parse(name).unwrap();
    let builder =
        ["latch.visits", "latch.y", "latch.alarms", "one.sets", "two.sets", "bouncer.direction", "old.x"]
            .into_iter()
            .fold(builder, |builder, name| builder.record(local(name)));
    let (network, _) = builder.build().unwrap();
    let n = network.n_inputs;
    let policies = Policies {
        ceiling: None,
        identifier: None,
        sampled: None,
        schedule: Schedule::new(&network, &ScheduleKind::Jacobi { fast: Seen::Held }, &[1; 5]),
        extrapolation: Box::new(Polynomial::new(vec![0; n], vec![0; n])),
        correction: None,
        estimators: Vec::new(),
        controller: Box::new(Fixed { step: 0.01 }),
    };
    let mut engine = Engine::new(network, policies, Settings::new(0.0, 2.0));
    engine.initialize(&mut NoObserver).unwrap();
    let run = |engine: &mut Engine, n: u32| -> Vec<Vec<u64>> {
        let row = |engine: &Engine| {
            let values = engine.inputs().iter().chain(engine.outputs()).chain(engine.probes());
            values.map(|v| v.to_bits()).chain([engine.time().to_bits(), engine.statistics().events]).collect()
        };
        (0..n)
            .map(|_| {
                engine.step(&mut NoObserver).unwrap();
                row(engine)
            })
            .collect()
    };
    let list: Vec<(Snapshot, Vec<Vec<u64>>)> =
        (0..4).map(|_| (engine.snapshot().unwrap(), run(&mut engine, 20))).collect();
    let statistics = engine.statistics();
    assert!(statistics.events >= 3 && statistics.early_returns > 0, "{statistics:?}");
    for k in [3, 0, 2, 1, 0, 3, 3] {
        let (snapshot, wanted) = &list[k];
        engine.restore_snapshot(snapshot).unwrap();
        let found = run(&mut engine, 20);
        let differ = found.iter().zip(wanted).position(|(a, b)| a != b);
        assert!(found == *wanted, "part {k}, step {differ:?}");
        run(&mut engine, 3);
    }
    assert!(engine.finish().is_empty());
}
