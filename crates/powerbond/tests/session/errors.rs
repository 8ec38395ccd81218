//! What a session refuses, and what it says.

use super::{example, quarter_car, text};
use powerbond::{Error, Output, Session, System};

#[test]
fn names_values_and_moments_are_checked() {
    let mut run = Session::open(&example(), Output::default()).expect("a session");
    let before = text(run.value("chassis.velocity").expect_err("it has not started"));
    assert!(before.contains("before the run has started"), "{before}");
    run.start().expect("a start");
    let value = |name: &str, part: &str| {
        let error = text(run.value(name).expect_err(name));
        assert!(error.contains(part), "{error}");
    };
    value("chassis.velocty", "Did you mean `velocity`?");
    value("chasis.velocity", "Did you mean `chassis`?");
    value("velocity", "write it as \"subsystem.variable\"");
    let mut set = |name: &str, x: f64, part: &str| {
        let error = text(run.set(name, x).expect_err(name));
        assert!(error.contains(part), "{error}");
    };
    set("chassis.force", 1.0, "is connected to `wheel.suspension_force`");
    set("chassis.velocity", 1.0, "is an output");
    set("wheel.road", f64::NAN, "a finite number");
    set("wheel.rod", 1.0, "Did you mean `road`?");
    set("wheel.mass", 1.0, "unknown variable `mass`");
    run.run().expect("a sound run");
    let late = text(run.set("wheel.road", 0.0).expect_err("it has ended"));
    assert!(late.contains("has ended"), "{late}");
}

#[test]
fn what_is_not_recorded_is_told_so() {
    let system = quarter_car().record("wheel.*").build().expect("a sound system");
    let run = system.start().expect("a start");
    let error = text(run.value("chassis.position").expect_err("it is not recorded"));
    assert!(error.contains("recorded"), "{error}");
}

#[test]
fn a_run_that_fails_says_who_when_and_what_to_do() {
    let system =
        quarter_car().method(powerbond::Method::default()).step(0.5).stop(400.0).build().expect("sound");
    let mut run = system.start().expect("a start");
    let error = run.run().expect_err("the step is far too long");
    let failure = error.failure().expect("it is data");
    // Steps of 0.5 s make the values grow until one is not finite.
    assert_eq!(error.exit_code(), 4);
    assert!(failure.subsystem.is_some(), "{failure:?}");
    assert!(failure.time.is_some_and(|t| t > 0.0) && failure.step == Some(0.5), "{failure:?}");
    assert!(failure.cure.is_some() && error.to_string().starts_with(&failure.message), "{failure:?}");
    assert_eq!(text(run.step().expect_err("it has failed")), error.to_string());
    let done = run.finish().expect("results can be had");
    assert_eq!(done.summary.outcome, "failed");
    assert_eq!(done.summary.failure.as_ref(), Some(failure));
    assert!(done.table.rows() > 1 && matches!(done.error, Some(Error::Model(_))));
}

#[test]
fn what_cannot_be_saved_is_named() {
    let system = quarter_car().parameter("chassis.restore", "no").build().expect("a sound system");
    let mut run = system.start().expect("a start");
    let error = text(run.save().err().expect("the chassis says that it cannot"));
    assert!(error.contains("the state of `chassis` cannot be saved"), "{error}");
    let path = std::env::temp_dir().join(format!("powerbond-session-saved-{}", std::process::id()));
    let options = powerbond::RunOptions { output_dir: Some(path.clone()), ..Default::default() };
    let system: System = example();
    let mut run = Session::open(&system, Output::folder(options.wanted(&system))).expect("a session");
    let error = text(run.save().err().expect("files cannot go back"));
    assert!(error.contains("keep results in memory"), "{error}");
    drop(run);
    std::fs::remove_dir_all(&path).expect("the folder");
}
