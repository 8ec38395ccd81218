//! Is the error that a run is said to have the one that it has? Verified runs, own steps, and errors that are asked for.

use powerbond::core::observe::NoObserver;
use powerbond::{Done, Output, OwnStepsBy, System, Verify, verify};

/// Two masses and three springs; the parameters of each subsystem end with `solver`, the simulation with `[method]`.
fn oscillator(solver: &str, step: f64, method: &str) -> System {
    let file = format!(
        r#"
        simulation = {{ stop = 2.0, step = {step} }}
        connections = [
            {{ from = "m.position", to = "g.position" }},
            {{ from = "m.velocity", to = "g.velocity" }},
            {{ from = "g.force", to = "m.force" }},
        ]
        [subsystems.g]
        model = "oscillator/force-giver"
        parameters = {{ mass = 1.0, stiffness = 10.0, damping = 0.0, coupling_stiffness = 100.0, coupling_damping = 0.0, initial_velocity = 100.0, {solver} }}
        [subsystems.m]
        model = "oscillator/mass"
        parameters = {{ mass = 1.0, stiffness = 1000.0, damping = 0.0, initial_velocity = -100.0, {solver} }}
        [bonds.b]
        ports = [{{ input = "m.force", output = "m.velocity", sign = -1 }}, {{ input = "g.velocity", output = "g.force", sign = 1 }}]
        [method]
        {method}
        "#
    );
    System::parse("oscillator", &file).unwrap()
}

const ACCURATE: &str = "integrator = \"accurate\"";
/// One step of Euler's method per communication step.
const ONCE: &str = "input_derivatives = 0";

fn run(mut system: System, by: Option<Verify>) -> Done {
    system.verdict.verify = by;
    verify::run(&system, Output::default(), &mut NoObserver).unwrap()
}

/// rms(y − exact)/std(exact) of each output, `exact` being a run with accurate subsystems and tiny steps: weights are the steps.
fn true_errors(done: &Done) -> Vec<(String, f64)> {
    let exact = run(oscillator(ACCURATE, 1e-4, "hold = 2\nrefresh = true"), None).table;
    let (times, fine) = (done.table.column("time").unwrap(), exact.column("time").unwrap());
    let mut list = Vec::new();
    for name in ["g.force", "m.position", "m.velocity"] {
        let (y, z) = (done.table.column(name).unwrap(), exact.column(name).unwrap());
        let at = |t: f64| {
            let k = fine.partition_point(|x| *x < t).clamp(1, fine.len() - 1);
            let share = (t - fine[k - 1]) / (fine[k] - fine[k - 1]);
            z[k - 1] + share * (z[k] - z[k - 1])
        };
        let (mut off, mut first, mut second, mut time) = (0.0, 0.0, 0.0, 0.0);
        for k in 1..times.len() {
            let (h, x) = (times[k] - times[k - 1], at(times[k]));
            off += h * (y[k] - x) * (y[k] - x);
            (first, second, time) = (first + h * x, second + h * x * x, time + h);
        }
        let variance = second / time - (first / time) * (first / time);
        list.push((name.to_owned(), (off / time / variance).sqrt()));
    }
    list
}

/// Expected: the bars that docs/accuracy.md promises, around the difference to a run that is a hundred times finer.
#[test]
fn the_error_of_every_output_is_inside_its_bar() {
    let check = |solver: &str, step: f64, method: &str, by: Verify| {
        let done = run(oscillator(solver, step, method), Some(by));
        let found = done.summary.verification.as_ref().expect("it was verified");
        for (name, error) in true_errors(&done) {
            let o = found.outputs.iter().find(|o| o.name == name).expect("every output is there");
            assert!(0.98 * o.low <= error && error <= 1.02 * o.high, "{method}, {by:?}: {error} in {o:?}");
        }
    };
    for by in [Verify::Halves, Verify::Quarters] {
        check(ACCURATE, 1e-3, "hold = 1", by);
        check(ACCURATE, 1e-3, "hold = 0", by);
        check(ONCE, 1e-4, "hold = 1", by);
        check(ACCURATE, 1e-3, "kind = \"auto\"", by);
    }
}

/// The models make one step of Euler's method per communication step: 27 % of the energy was lost at a tolerance of 1e-3, and the run was
/// called trustworthy with 0.21 %.
#[test]
fn own_steps_of_subsystems_are_seen_and_sub_stepped() {
    let seen = run(oscillator(ONCE, 1e-3, "hold = 1"), None);
    let error = true_errors(&seen).into_iter().map(|(_, e)| e).fold(0.0, f64::max);
    assert!(error > 0.05, "{error}");
    assert_ne!(seen.verdict.word, "trustworthy");
    assert!(seen.verdict.reasons.iter().any(|r| r.code == "own_step"), "{:?}", seen.verdict.reasons);
    let own = seen.verdict.error.own.expect("probed");
    assert!(own > error / 15.0 && own < 6.0 * error, "own {own}, true {error}");

    let auto = run(oscillator(ONCE, 1e-3, "kind = \"auto\"\ntolerance = 1e-2"), None);
    let finer = true_errors(&auto).into_iter().map(|(_, e)| e).fold(0.0, f64::max);
    assert!(finer < 0.05, "sub-steps: {finer} instead of {error}");
}

/// Accurate subsystems have no own error worth a word, and probing them changes no bit of the results.
#[test]
fn probes_of_accurate_subsystems_find_nothing_and_change_nothing() {
    let probed = run(oscillator(ACCURATE, 1e-3, "hold = 1"), None);
    assert!(probed.verdict.error.own.expect("probed") < 1e-4, "{:?}", probed.verdict.error);
    assert!(
        !probed.verdict.reasons.iter().any(|r| r.code.starts_with("own")),
        "{:?}",
        probed.verdict.reasons
    );
    let mut plain = oscillator(ACCURATE, 1e-3, "hold = 1");
    plain.verdict.own_steps = OwnStepsBy::Nothing;
    let plain = run(plain, None);
    let bits = |done: &Done| done.table.columns.iter().flatten().map(|x| x.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&probed), bits(&plain));
    assert!(plain.verdict.reasons.iter().any(|r| r.code == "own_not_covered"));
}

/// The same models, which now cannot be restored: nothing can be probed, and a good word was the best that could be said. That their
/// outputs depend on the length of steps shows before the run; a twin finds what probes find, and changes no bit of the results.
#[test]
fn a_twin_shows_own_steps_of_what_cannot_be_restored() {
    const BARE: &str = "input_derivatives = 0, restore = \"no\"";
    let bits = |done: &Done| done.table.columns.iter().flatten().map(|x| x.to_bits()).collect::<Vec<_>>();
    let seen_by = |by: OwnStepsBy, solver: &str, method: &str| {
        let mut system = oscillator(solver, 1e-3, method);
        system.verdict.own_steps = by;
        run(system, None)
    };
    let plain = seen_by(OwnStepsBy::Nothing, BARE, "hold = 1");
    let open = plain.verdict.reasons.iter().find(|r| r.code == "own_not_covered").expect("it is said");
    assert!(open.text.contains("own_steps = \"twin\"") && open.advice.contains("--verify"), "{open:?}");
    assert_eq!(plain.verdict.error.own, None);

    for by in [OwnStepsBy::Needed, OwnStepsBy::Twin] {
        let seen = seen_by(by, BARE, "hold = 1");
        assert_eq!(bits(&seen), bits(&plain));
        let reasons = &seen.verdict.reasons;
        assert!(!reasons.iter().any(|r| r.code == "own_not_covered"), "{reasons:?}");
        let error = true_errors(&seen).into_iter().map(|(_, e)| e).fold(0.0, f64::max);
        let own = seen.verdict.error.own.expect("compared");
        assert!(error > 0.05 && own > error / 15.0 && own < 6.0 * error, "own {own}, true {error}");
        assert!(reasons.iter().any(|r| r.code == "own_step" && r.text.contains("twin")), "{reasons:?}");
        assert_ne!(seen.verdict.word, "trustworthy");
    }

    // Of an accurate one there is nothing to say, and the default method takes the same steps.
    const GOOD: &str = "integrator = \"accurate\", restore = \"no\"";
    let auto = "kind = \"auto\"\ntolerance = 1e-3";
    let [good, alone] = [OwnStepsBy::Twin, OwnStepsBy::Needed].map(|by| seen_by(by, GOOD, auto));
    assert_eq!(bits(&good), bits(&alone));
    assert!(good.verdict.error.own.expect("compared") < 1e-4, "{:?}", good.verdict.error);
    let open = alone.verdict.reasons.iter().find(|r| r.code == "own_not_covered").expect("it is said");
    assert!(open.text.contains("showed nothing before it"), "{open:?}");
}

/// Errors of symplectic steps come and go, and probes can only bound what adds up: the estimate was hundreds of times the error.
#[test]
fn a_twin_beside_probes_tells_how_much_of_their_bound_adds_up() {
    let seen_by = |by: OwnStepsBy| {
        let mut system = oscillator("input_derivatives = 2", 1e-3, "kind = \"auto\"\ntolerance = 1e-3");
        system.simulation.step = None;
        system.verdict.own_steps = by;
        run(system, None)
    };
    let [probed, twinned] = [OwnStepsBy::Needed, OwnStepsBy::Twin].map(seen_by);
    let bits = |done: &Done| done.table.columns.iter().flatten().map(|x| x.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&probed), bits(&twinned), "it changes nothing");
    let error = true_errors(&probed).into_iter().map(|(_, e)| e).fold(0.0, f64::max);
    let [bound, own] = [&probed, &twinned].map(|done| done.verdict.error.own.expect("seen"));
    assert!(bound > 10.0 * error, "0.3 S1 {bound}, true {error}");
    assert!(own < 6.0 * error && own > error / 15.0, "{own}, true {error}");
    assert_eq!((probed.verdict.word, twinned.verdict.word), ("check", "trustworthy"));
}

#[test]
fn an_error_that_is_asked_for_is_reached_or_it_is_said_that_it_is_not() {
    let reach = |solver: &str, goal: f64| {
        let mut system = oscillator(solver, 1e-3, "kind = \"auto\"");
        system.verdict.error = Some(powerbond::source::At::default(goal));
        system.set_tolerance(&powerbond::source::At::default(goal)).unwrap();
        verify::run(&system, Output::default(), &mut NoObserver).unwrap()
    };
    let done = reach(ACCURATE, 0.01);
    let found = done.summary.verification.as_ref().expect("it was verified");
    let error = found.error.expect("an error");
    let truth = true_errors(&done).into_iter().map(|(_, e)| e).fold(0.0, f64::max);
    assert!(error <= 0.01 && truth <= 0.015, "{error}, {truth}");
    assert!((1..=3).contains(&found.rounds.len()), "{:?}", found.rounds);
    // Far below what steps of Euler's method can give in three rounds.
    let done = reach(ONCE, 1e-6);
    assert_eq!(done.summary.exceeded.len(), 1, "{:?}", done.summary.verification.map(|v| v.rounds));
}

/// One subsystem, and two that nothing connects: the verdict used to call them trustworthy.
#[test]
fn where_nothing_is_coupled_nothing_is_judged() {
    let alone = "simulation = { stop = 1, step = 0.1 }\n[subsystems.a]\nmodel = \"algebraic/gain\"\n";
    let done = run(System::parse("alone", alone).unwrap(), None);
    assert_eq!((done.verdict.word, done.verdict.error.estimate), ("not judged", None));
    let done = run(System::parse("alone", alone).unwrap(), Some(Verify::Halves));
    // Its output is constant: the finer run has nothing to show.
    assert_eq!(done.verdict.word, "not judged", "{}", done.verdict.text);
}

/// An algebraic loop with a gain of −1.2 that nothing solves: what is wrong grows by that with every exchange, so that each finer run is wrong by more.
/// Their differences were said to be the error.
#[test]
fn of_runs_that_do_not_come_together_no_error_is_claimed() {
    let file = r#"
        simulation = { stop = 0.4, step = 0.01 }
        connections = [{ from = "a.y", to = "b.u" }, { from = "b.y", to = "a.u" }]
        subsystems.a = { model = "algebraic/gain", parameters = { gain = 1.2, integral = 1.0, offset = 1.0, refresh = "no" } }
        subsystems.b = { model = "algebraic/gain", parameters = { gain = -1.0, refresh = "no" } }
        method = { hold = 0 }
        "#;
    let system = System::parse("loop", file).unwrap();
    for by in [Verify::Halves, Verify::Quarters] {
        let done = run(system.clone(), Some(by));
        let found = done.summary.verification.as_ref().expect("it was tried");
        let why = found.failure.as_deref().expect("nothing is claimed");
        assert!(why.contains("do not converge") && why.contains("more than 100 %"), "{why}");
        assert!(found.error.is_none() && found.outputs.is_empty());
        assert_ne!(done.verdict.word, "trustworthy");
        assert!(done.verdict.reasons.iter().any(|r| r.code == "not_verified"), "{:?}", done.verdict.reasons);
    }
}
