//! What users get when an FMU misbehaves.

mod common;

use common::{begin, fmu, fmu_with, instance, parameters, run};
use powerbond_core::subsystem::{Inputs, Span, StepEvent, Subsystem, SubsystemError};
use powerbond_fmi::{Fmu, FmuSubsystem, Log, LogLine, Options, Status};
use std::sync::{Arc, Mutex};

fn faulty(mode: i64) -> FmuSubsystem {
    instance("faulty2", &parameters(&[("mode", mode.into())]))
}

/// Runs mode `mode` with u = 1 and steps of 0.2; the error's text.
fn failure(mode: i64) -> String {
    let mut s = faulty(mode);
    begin(&mut s, &["u"], &["x"], &[1.0]).unwrap();
    run(&mut s, &[1.0], 1, 0.2).unwrap_err().to_string()
}

#[test]
fn discarded_steps_are_continued_or_halved() {
    for mode in [1, 2] {
        let mut s = faulty(mode);
        begin(&mut s, &["u"], &["x"], &[1.0]).unwrap();
        let y = run(&mut s, &[1.0], 1, 0.2).unwrap();
        assert!((y[0] - 1.0).abs() < 1e-12, "mode {mode}: {y:?}");
        assert_eq!(s.interrupted_steps(), if mode == 1 { 1 } else { 5 });
    }
}

#[test]
fn a_continued_step_takes_its_inputs_at_the_new_time() {
    let mut s = faulty(1);
    begin(&mut s, &["u"], &["x"], &[0.0]).unwrap();
    let mut y = [0.0];
    let u = Inputs { value: &[1.0], slope: &[4.0], curvature: &[] };
    let advance = s.advance(Span::new(0.0, 1.0), u, &mut y).unwrap();
    assert_eq!((advance.reached, advance.event), (1.0, StepEvent::Handled));
    // 0.25 s with 1, 0.75 s with the input at 0.25 s, which is 2.
    assert_eq!(y, [0.25 * 1.0 + 0.75 * 2.0]);
}

#[test]
fn a_discarded_step_is_given_back_to_an_engine_that_can_go_back() {
    let path = fmu_with("faulty2", |xml| {
        xml.replace("canGetAndSetFMUstate=\"false\"", "canGetAndSetFMUstate=\"true\"")
    });
    let mut s = Fmu::open(path).unwrap().instantiate("t", &parameters(&[("mode", 1.into())])).unwrap();
    begin(&mut s, &["u"], &["x"], &[1.0]).unwrap();
    let mut y = [0.0];
    let u = Inputs::constant(&[1.0]);
    s.save().unwrap();
    assert_eq!(s.advance(Span::new(0.0, 0.4), u, &mut y).unwrap().reached, 0.25);
    s.restore().unwrap();
    assert_eq!(s.advance(Span::new(0.0, 0.25), u, &mut y).unwrap().reached, 0.25);
    assert_eq!(y, [0.25]);
}

#[test]
fn errors_name_call_status_and_reason() {
    let check = |mode: i64, wanted: &[&str]| {
        let text = failure(mode);
        for part in wanted {
            assert!(text.contains(part), "mode {mode}: {text}");
        }
    };
    check(3, &["`fmi2DoStep` returned fmi2Discard", "no progress at t = 0.5"]);
    check(4, &["fmi2Discard", "last successful time of a step from 0.4"]);
    check(6, &["`fmi2DoStep` returned fmi2Error", "the solver failed at 0.4"]);
    check(7, &["fmi2Fatal"]);
    check(8, &["invalid status 42"]);
    check(12, &["fmi2Pending", "asynchronously"]);
    check(14, &["`fmi2Terminate` returned fmi2Error"]);
}

/// `faulty2` ends it with a discarded step that begins at 0.4 s.
#[test]
fn an_fmu_ends_the_simulation_where_it_says() {
    let mut s = faulty(11);
    begin(&mut s, &["u"], &["x"], &[1.0]).unwrap();
    let mut y = [0.0];
    for n in 0..2 {
        let advance =
            s.advance(Span::new(0.2 * f64::from(n), 0.2), Inputs::constant(&[1.0]), &mut y).unwrap();
        assert_eq!(advance.event, StepEvent::None);
    }
    let advance = s.advance(Span::new(0.4, 0.2), Inputs::constant(&[1.0]), &mut y).unwrap();
    assert_eq!(advance.event, StepEvent::Terminated);
    assert!((advance.reached - 0.4).abs() < 1e-12, "{advance:?}");
}

/// The library is lost for the instance that failed and its neighbours; another copy of it runs.
#[test]
fn a_fatal_error_of_a_scratch_instance_does_not_end_a_run() {
    let fmu = Fmu::open(fmu("faulty2")).unwrap();
    let mut runs = fmu.instantiate("runs", &Options::default()).unwrap();
    let mut scratch = fmu.instantiate("scratch", &parameters(&[("mode", 7.into())])).unwrap();
    begin(&mut scratch, &["u"], &["x"], &[1.0]).unwrap();
    run(&mut scratch, &[1.0], 1, 0.2).unwrap_err();
    begin(&mut runs, &["u"], &["x"], &[1.0]).unwrap();
    let y = run(&mut runs, &[1.0], 1, 0.25).unwrap();
    assert!((y[0] - 1.0).abs() < 1e-12, "{y:?}");
}

#[test]
fn an_error_in_initialization_is_told_and_can_be_tried_again() {
    let mut s = faulty(15);
    let error = begin(&mut s, &["u"], &["x"], &[1.0]).unwrap_err().to_string();
    assert!(error.contains("fmi2EnterInitializationMode"), "{error}");
}

#[test]
fn after_an_error_an_instance_can_be_started_again() {
    let mut s = faulty(6);
    begin(&mut s, &["u"], &["x"], &[1.0]).unwrap();
    run(&mut s, &[1.0], 1, 0.2).unwrap_err();
    let mut y = [0.0];
    let error = s.advance(Span::new(0.4, 0.1), Inputs::constant(&[1.0]), &mut y).unwrap_err();
    let told = "`fmi2DoStep` returned fmi2Error: the solver failed at 0.4; the instance can only be reset";
    assert_eq!(error.to_string(), told);
    s.finish().unwrap();
    begin(&mut s, &["u"], &["x"], &[1.0]).unwrap();
    s.advance(Span::new(0.0, 0.1), Inputs::constant(&[1.0]), &mut y).unwrap();
    assert_eq!(y, [0.1]);
}

#[test]
fn after_a_fatal_error_no_instance_is_called_any_more() {
    // faulty2.c aborts the process if an instance in mode 7 is freed.
    let fmu = Fmu::open(fmu("faulty2")).unwrap();
    let options = parameters(&[("mode", 7.into())]);
    let mut bad = fmu.instantiate("bad", &options).unwrap();
    let mut neighbour = fmu.instantiate("neighbour", &options).unwrap();
    begin(&mut neighbour, &["u"], &["x"], &[1.0]).unwrap();
    begin(&mut bad, &["u"], &["x"], &[1.0]).unwrap();
    run(&mut bad, &[1.0], 1, 0.2).unwrap_err();
    let mut y = [0.0];
    let error = neighbour.advance(Span::new(0.0, 0.1), Inputs::constant(&[1.0]), &mut y).unwrap_err();
    assert!(error.to_string().contains("fatal error in another instance"), "{error}");
}

#[test]
fn warnings_are_counted_and_the_run_goes_on() {
    let mut s = faulty(9);
    begin(&mut s, &["u"], &["x"], &[1.0]).unwrap();
    let y = run(&mut s, &[1.0], 1, 0.2).unwrap();
    assert!((y[0] - 1.0).abs() < 1e-12);
    assert_eq!(s.warnings(), 5);
}

fn logged(mode: i64, steps: u32) -> Vec<LogLine> {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let sink = lines.clone();
    let log = Log::to(move |line| sink.lock().unwrap().push(line));
    let mut s = instance("faulty2", &Options { log, ..parameters(&[("mode", mode.into())]) });
    begin(&mut s, &["u"], &["x"], &[1.0]).unwrap();
    run(&mut s, &[1.0], 1, 1.0 / f64::from(steps)).unwrap();
    Arc::try_unwrap(lines.clone()).map_or_else(|l| l.lock().unwrap().clone(), |l| l.into_inner().unwrap())
}

#[test]
fn malformed_log_formats_are_harmless() {
    let lines = logged(10, 1);
    assert_eq!(lines.len(), 5);
    assert_eq!(lines[0].instance, "test");
    assert!(lines[0].message.starts_with("100"), "{:?}", lines[0]);
    assert_eq!(lines[1].category, "(null)");
    assert_eq!((lines[2].category.as_str(), lines[2].message.as_str()), ("(unreadable)", "(unreadable)"));
    assert_eq!(lines[3].message, "(unreadable)");
    assert_eq!(lines[4].message, "7    | 2.50|text|ff|1099511627776|3");
}

#[test]
fn too_many_log_lines_are_cut() {
    let lines = logged(13, 2);
    assert_eq!(lines.len(), 10_001);
    assert_eq!((lines[0].message.as_str(), lines[0].status), ("line 0", Status::Ok));
    assert!(lines[10_000].message.contains("the rest is skipped"));
}

#[test]
#[cfg(target_arch = "x86_64")]
fn the_rounding_mode_is_restored_and_told_once() {
    let lines = logged(16, 4);
    assert_eq!(lines.len(), 1);
    assert!(lines[0].message.contains("rounding mode"), "{:?}", lines[0]);
    let (small, one) = (std::hint::black_box(1e-310), std::hint::black_box(1.0));
    assert!(small * 0.5 > 0.0 && one + 1e-20 == 1.0);
}

#[test]
fn a_wrong_guid_is_named() {
    for name in ["integrator2", "integrator3"] {
        let path = fmu_with(name, |xml| xml.replace("{integrator}", "{stranger}"));
        let error =
            Fmu::open(path).unwrap().instantiate("left", &Options::default()).unwrap_err().to_string();
        assert!(
            error.contains("wrong") && error.contains("{stranger}") && error.contains("`left`"),
            "{error}"
        );
    }
}

#[test]
fn steps_of_one_length_only() {
    let path = fmu_with("faulty2", |xml| xml.replace("canHandleVariableCommunicationStepSize=\"true\"", ""));
    let fmu = Fmu::open(path).unwrap();
    let mut s = fmu.instantiate("t", &Options::default()).unwrap();
    begin(&mut s, &["u"], &["x"], &[1.0]).unwrap();
    let mut y = [0.0];
    s.advance(Span::new(0.0, 0.2), Inputs::constant(&[1.0]), &mut y).unwrap();
    s.advance(Span::new(0.2, 0.2), Inputs::constant(&[1.0]), &mut y).unwrap();
    let error = s.advance(Span::new(0.4, 0.1), Inputs::constant(&[1.0]), &mut y).unwrap_err();
    assert!(
        matches!(&error, SubsystemError::Infeasible { message } if message.contains("one step size only")),
        "{error}"
    );
}
