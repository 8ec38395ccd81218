//! Inputs without a source are set while a simulation runs.

mod common;

use common::{begin, instance};
use powerbond_core::subsystem::{Inputs, Span, Subsystem};
use powerbond_fmi::Options;

/// Sets `input` of an instance where nothing is bound but `output`, after a step; outputs after the next one.
fn check(fmu: &str, options: &Options, (input, output): (&str, &str), value: f64, expected: f64) {
    let mut s = instance(fmu, options);
    begin(&mut s, &[], &[output], &[]).unwrap();
    let mut y = [f64::NAN];
    s.advance(Span::new(0.0, 0.25), Inputs::constant(&[]), &mut y).unwrap();
    let variable = s.info().find(input).unwrap();
    Subsystem::set(&mut s, variable, value).unwrap();
    s.advance(Span::new(0.25, 0.25), Inputs::constant(&[]), &mut y).unwrap();
    assert_eq!(y, [expected], "{fmu}: {input} = {value}");
}

#[test]
fn inputs_of_all_kinds_and_versions_take_values() {
    let plain = Options::default();
    let events = Options { events: true, ..Options::default() };
    check("slave1", &plain, ("u", "x"), 4.0, 1.0);
    check("integrator2", &plain, ("u", "x"), 4.0, 1.0);
    check("types2", &plain, ("int_in", "int_out"), 40.7, 42.0);
    check("types2", &plain, ("bool_in", "bool_out"), 1.0, 0.0);
    check("types2", &plain, ("gear_in", "gear_out"), -1.0, -1.0);
    check("integrator3", &plain, ("u", "x"), 4.0, 1.0);
    check("integrator3", &events, ("u", "x"), 4.0, 1.0);
    for (kind, value) in [("float32", 0.5), ("int8", -7.0), ("uint64", 1e15), ("boolean", 1.0), ("gear", 1.0)]
    {
        check("types3", &plain, (&format!("{kind}_in"), &format!("{kind}_out")), value, value);
    }
    // A discrete input may change in event mode only; the rate was 1 before.
    check("timer3", &plain, ("setpoint", "x"), 3.0, 0.5);
    check("timer3", &events, ("setpoint", "x"), 3.0, 0.25 + 0.75);
    let mut s = instance("types2", &plain);
    begin(&mut s, &[], &["gear_out"], &[]).unwrap();
    let gear = s.info().find("gear_in").unwrap();
    assert!(Subsystem::set(&mut s, gear, 17.0).is_err(), "no item has this value");
}

/// An element of an array is set, others are fed: they are sent together from then on, and none is lost.
#[test]
fn elements_beside_those_that_are_fed_keep_their_values() {
    let mut s = instance("types3", &Options::default());
    let outputs = ["twice[1]", "twice[2]", "twice[3]"];
    assert_eq!(begin(&mut s, &["a[2]"], &outputs, &[1.0]).unwrap(), [0.0, 2.0, 14.0]);
    let last = s.info().find("a[3]").unwrap();
    Subsystem::set(&mut s, last, 4.0).unwrap();
    let mut y = [0.0; 3];
    for (k, u) in [1.0, 6.0].into_iter().enumerate() {
        s.advance(Span::new(0.5 * k as f64, 0.5), Inputs::constant(&[u]), &mut y).unwrap();
        assert_eq!(y, [0.0, 2.0 * u, 8.0]);
    }
}
