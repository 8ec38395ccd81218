//! FMI 3.0: types, arrays, events, early return, intermediate update.

mod common;

use common::{begin, fmu_with, instance, parameters, run};
use powerbond_core::subsystem::{Causality, FeedThrough, Inputs, Setup, Span, StepEvent, Subsystem};
use powerbond_fmi::{Fmu, Options, Value};

#[test]
fn an_integrator_integrates() {
    let mut s = instance("integrator3", &parameters(&[("k", 2.0.into()), ("x0", 1.0.into())]));
    assert_eq!(begin(&mut s, &["u"], &["x", "y", "position"], &[3.0]).unwrap(), [1.0, 2.5, 1.0]);
    assert_eq!(run(&mut s, &[3.0], 3, 0.25).unwrap(), [7.0, 8.5, 7.0]);
    let info = s.info();
    let index = |name: &str| info.find(name).unwrap();
    assert_eq!(info.feed_through, FeedThrough::Declared(vec![(index("y"), index("u"))]));
    assert_eq!(info.variables[index("direction")].causality, Causality::Local);
}

#[test]
fn states_come_back_and_derivatives_are_right() {
    let mut s = instance("integrator3", &Options::default());
    begin(&mut s, &["u"], &["x", "y"], &[1.0]).unwrap();
    let mut d = [0.0];
    s.feed_through(&mut d).unwrap();
    assert_eq!(d, [0.5]);
    let mut y = [0.0; 2];
    s.save().unwrap();
    s.advance(Span::new(0.0, 0.5), Inputs::constant(&[8.0]), &mut y).unwrap();
    s.restore().unwrap();
    s.advance(Span::new(0.0, 0.5), Inputs::constant(&[2.0]), &mut y).unwrap();
    assert_eq!(y, [1.0, 2.0]);
}

/// x rises at rate 1 from 0 to `limit` = 0.35 and falls after: x(1) = 0.7 − 1.
const FALLEN: f64 = 0.35 - 0.65;

#[test]
fn events_are_handled_inside_steps_by_default() {
    let mut s = instance("integrator3", &parameters(&[("limit", 0.35.into())]));
    assert!(!s.info().capabilities.may_return_early);
    begin(&mut s, &["u"], &["x"], &[1.0]).unwrap();
    let y = run(&mut s, &[1.0], 1, 0.25).unwrap();
    assert!((y[0] - FALLEN).abs() < 1e-12, "{y:?}");
}

#[test]
fn an_early_return_is_given_back_to_an_engine_that_can_go_back() {
    let mut s = instance("integrator3", &Options { events: true, ..parameters(&[("limit", 0.35.into())]) });
    assert!(s.info().capabilities.may_return_early);
    begin(&mut s, &["u"], &["x"], &[1.0]).unwrap();
    let mut y = [0.0];
    let u = Inputs::constant(&[1.0]);
    s.save().unwrap();
    assert_eq!(s.advance(Span::new(0.0, 0.25), u, &mut y).unwrap().reached, 0.25);
    s.save().unwrap();
    let early = s.advance(Span::new(0.25, 0.25), u, &mut y).unwrap();
    assert!((early.reached - 0.35).abs() < 1e-12, "{early:?}");
    s.restore().unwrap();
    let span = Span { start: 0.25, end: early.reached, h: early.reached - 0.25 };
    let to_the_event = s.advance(span, u, &mut y).unwrap();
    assert_eq!((to_the_event.reached, to_the_event.event), (early.reached, StepEvent::Pending));
    s.update(u, &mut y).unwrap();
    let rest = Span { start: early.reached, end: 1.0, h: 1.0 - early.reached };
    assert_eq!(s.advance(rest, u, &mut y).unwrap().event, StepEvent::None);
    assert!((y[0] - FALLEN).abs() < 1e-12, "{y:?}");
    assert_eq!(s.interrupted_steps(), 0);
}

#[test]
fn an_early_return_is_continued_where_nothing_can_go_back() {
    let mut s = instance("integrator3", &Options { events: true, ..parameters(&[("limit", 0.35.into())]) });
    begin(&mut s, &["u"], &["x", "direction", "steps"], &[1.0]).unwrap();
    let mut y = [0.0; 3];
    let advance = s.advance(Span::new(0.0, 1.0), Inputs::constant(&[1.0]), &mut y).unwrap();
    assert_eq!((advance.reached, advance.event), (1.0, StepEvent::Handled));
    assert!((y[0] - FALLEN).abs() < 1e-12, "{y:?}");
    assert_eq!((y[1], y[2]), (-1.0, 2.0));
    assert_eq!(s.interrupted_steps(), 1);
}

/// The description promises event mode, the library lacks its functions: the instance is made and run without.
#[test]
fn event_mode_that_is_not_there_is_not_used() {
    let path = fmu_with("types3", |xml| xml.replace("<CoSimulation", "<CoSimulation hasEventMode=\"true\""));
    let fmu = Fmu::open(path).unwrap();
    assert_eq!(fmu.load().unwrap().len(), 1);
    let mut s = fmu.instantiate("t", &Options { events: true, ..Options::default() }).unwrap();
    assert!(!s.uses_event_mode() && !s.info().capabilities.may_return_early);
    begin(&mut s, &["int8_in"], &["int8_out"], &[3.0]).unwrap();
    assert_eq!(run(&mut s, &[4.0], 1, 0.5).unwrap(), [4.0]);
}

#[test]
fn intermediate_updates_follow_inputs() {
    let path = fmu_with("integrator3", |xml| {
        xml.replace("hasEventMode", "providesIntermediateUpdate=\"true\" hasEventMode")
    });
    let mut s = Fmu::open(path).unwrap().instantiate("t", &Options::default()).unwrap();
    assert_eq!(s.info().capabilities.input_derivatives, 2);
    begin(&mut s, &["u"], &["x", "y"], &[1.0]).unwrap();
    let mut y = [0.0; 2];
    let u = Inputs { value: &[1.0], slope: &[2.0], curvature: &[3.0] };
    s.advance(Span::new(0.0, 1.0), u, &mut y).unwrap();
    // Simpson's rule is exact for the parabola; the input ends at 4.5.
    assert!((y[0] - 2.5).abs() < 1e-14 && (y[1] - (2.5 + 0.5 * 4.5)).abs() < 1e-14, "{y:?}");
}

#[test]
fn all_types_travel() {
    let kinds = [
        ("float64", 0.1),
        ("float32", 0.5),
        ("int8", -7.0),
        ("uint8", 200.0),
        ("int16", -300.0),
        ("uint16", 60000.0),
        ("int32", -70000.0),
        ("uint32", 4e9),
        ("int64", -1e15),
        ("uint64", 1e15),
        ("boolean", 1.0),
        ("gear", 1.0),
    ];
    let inputs: Vec<String> = kinds.iter().map(|(kind, _)| format!("{kind}_in")).collect();
    let outputs: Vec<String> = kinds.iter().map(|(kind, _)| format!("{kind}_out")).collect();
    let values: Vec<f64> = kinds.iter().map(|(_, value)| *value).collect();
    let name = |list: &[String]| list.iter().map(|s| s.clone().leak() as &str).collect::<Vec<_>>();
    let mut s = instance("types3", &Options::default());
    assert_eq!(begin(&mut s, &name(&inputs), &name(&outputs), &values).unwrap(), values);
    assert_eq!(run(&mut s, &values, values.len(), 0.5).unwrap(), values);
    for hidden in ["text", "blob", "tick"] {
        assert_eq!(s.info().find(hidden), None);
        assert!(s.fmu().description().find(hidden).is_some());
    }
}

#[test]
fn arrays_travel_element_by_element() {
    let mut s = instance("types3", &Options::default());
    let outputs = ["twice[1]", "twice[2]", "twice[3]", "b[1,2]", "b[2,1]"];
    // Only the middle element is set; the FMU's own values stay in the others.
    let y = begin(&mut s, &["a[2]"], &outputs, &[1.0]).unwrap();
    assert_eq!(y, [0.0, 2.0, 14.0, 12.0, 21.0]);
    let a = s.info().find("a[3]").unwrap();
    assert_eq!(s.info().variables[a].start, 7.0);
    assert_eq!(s.info().find("b[1,3]"), None);
}

#[test]
fn structural_parameters_size_arrays() {
    let options =
        parameters(&[("n", 3.into()), ("text", "hi".into()), ("blob", Value::Binary(vec![1, 2, 3, 4]))]);
    let mut s = instance("types3", &options);
    let y = begin(&mut s, &[], &["b[1,3]", "b[2,1]", "blob_size"], &[]).unwrap();
    assert_eq!(y, [13.0, 21.0, 4.0]);
    assert_eq!(s.text("text").as_deref(), Some("hi"));
    let start = |value: Value| Options { start: vec![("a".to_owned(), value)], ..Options::default() };
    let fmu = s.fmu().clone();
    let error = fmu.instantiate("x", &start(1.0.into())).unwrap_err().to_string();
    assert!(error.contains("`a` has 3 element(s), found 1"), "{error}");
    let list = Value::List(vec![1.0.into(), 2.0.into(), 3.0.into()]);
    let mut s = fmu.instantiate("x", &start(list)).unwrap();
    assert_eq!(begin(&mut s, &["a[1]"], &["twice[1]", "twice[3]"], &[9.0]).unwrap(), [18.0, 6.0]);
}

#[test]
fn a_fixed_internal_step_takes_multiples_only() {
    let path = fmu_with("integrator3", |xml| {
        let fixed = xml.replace("hasEventMode", "fixedInternalStepSize=\"0.1\" hasEventMode");
        fixed.replace("canHandleVariableCommunicationStepSize=\"true\"", "")
    });
    let fmu = Fmu::open(path).unwrap();
    let mut s = fmu.instantiate("t", &Options::default()).unwrap();
    assert_eq!(s.info().capabilities.fixed_step, Some(0.1));
    assert!(s.needs_constant_step());
    begin(&mut s, &["u"], &["x"], &[1.0]).unwrap();
    let mut y = [0.0];
    s.advance(Span::new(0.0, 0.2), Inputs::constant(&[1.0]), &mut y).unwrap();
    let error = s.advance(Span::new(0.2, 0.25), Inputs::constant(&[1.0]), &mut y).unwrap_err();
    assert!(error.to_string().contains("fixed internal step of 0.1 s"), "{error}");
    let mut free = fmu.instantiate("t", &Options { any_step_size: true, ..Options::default() }).unwrap();
    begin(&mut free, &["u"], &["x"], &[1.0]).unwrap();
    free.advance(Span::new(0.0, 0.25), Inputs::constant(&[1.0]), &mut y).unwrap();
}

#[test]
fn calls_out_of_order_are_refused() {
    let mut s = instance("integrator3", &Options::default());
    let mut y = [0.0; 0];
    assert!(s.evaluate(Inputs::constant(&[]), &mut y).is_err());
    assert!(s.start().is_err());
    s.enter(&Setup { start: 0.0, stop: 1.0 }).unwrap();
    assert!(s.advance(Span::new(0.0, 0.1), Inputs::constant(&[]), &mut y).is_err());
    s.start().unwrap();
    s.advance(Span::new(0.0, 0.1), Inputs::constant(&[]), &mut y).unwrap();
    s.finish().unwrap();
    assert!(s.advance(Span::new(0.1, 0.1), Inputs::constant(&[]), &mut y).is_err());
}
