//! What a probe finds out on a scratch instance, and what it leaves alone.

mod common;

use common::{begin, fmu, fmu_with, parameters};
use powerbond_core::subsystem::{FeedThrough, Inputs, Span, Subsystem};
use powerbond_fmi::probe::{Probed, probe};
use powerbond_fmi::{Fmu, FmuSubsystem, Options, Reread, Value};

/// The pairs that responded, by name, with their gains.
fn named(fmu: &Fmu, probed: &Probed) -> Vec<(String, String, f64)> {
    let s = fmu.instantiate("names", &Options::default()).unwrap();
    let name = |v: usize| s.info().variables[v].name.clone();
    probed.responses.iter().map(|r| (name(r.output), name(r.input), (r.gain * 1e6).round() / 1e6)).collect()
}

fn probed_instance(fmu: &Fmu, options: &Options) -> (Probed, FmuSubsystem) {
    let probed = probe(fmu, options, true);
    let mut s = fmu.instantiate("t", options).unwrap();
    s.set_reread(probed.reread);
    (probed, s)
}

/// y = u + 2 v + w with u in 0.9995..1, v in 0..5 (nominal 1000) and w in 3..3; n = i + 10 g + 100 b with i in 0..3 and g one of 1, 4, 9.
/// `ranged2` refuses anything else.
#[test]
fn probing_finds_gains_inside_the_ranges() {
    let fmu = Fmu::open(fmu("ranged2")).unwrap();
    let probed = probe(&fmu, &Options::default(), true);
    assert_eq!((probed.reread, &probed.failure), (Reread::Plain, &None));
    let wanted = [("y", "u", 1.0), ("y", "v", 2.0), ("n", "i", 1.0), ("n", "g", 10.0), ("n", "b", 100.0)];
    assert_eq!(named(&fmu, &probed), wanted.map(|(o, i, gain)| (o.to_owned(), i.to_owned(), gain)));
    let mut s = fmu.instantiate("t", &Options::default()).unwrap();
    let seen = ["least_u", "largest_u", "least_v", "largest_v", "least_w", "largest_w", "strange"];
    // |v| = 5 and the nominal value is 1000: it moves by 1.
    assert_eq!(begin(&mut s, &[], &seen, &[]).unwrap(), [0.9995, 1.0, 4.0, 5.0, 3.0, 3.0, 0.0]);
}

/// A gain of zero at these parameters is no reason to be called unable.
#[test]
fn feed_through_of_gain_zero_keeps_its_class() {
    let path = fmu_with("ranged2", |xml| xml.replace("<Unknown index=\"8\" dependencies=\"6 7 9\"/>", ""));
    let path_of_reals = fmu_with("ranged2", |xml| {
        let from = xml.find("<ScalarVariable name=\"n\"").unwrap();
        let to = from + xml[from..].find("</ScalarVariable>").unwrap();
        let local = xml[from..to].replace("causality=\"output\"", "causality=\"local\"");
        xml.replace(&xml[from..to], &local).replace("<Unknown index=\"8\" dependencies=\"6 7 9\"/>", "")
    });
    let silent = parameters(&[("gain", 0.0.into())]);
    let (probed, s) = probed_instance(&Fmu::open(path_of_reals).unwrap(), &silent);
    assert_eq!((probed.reread, probed.responses.len()), (Reread::NotSeen, 0));
    assert!(s.info().capabilities.can_refresh);
    // n still follows: re-reading is seen to work.
    let (probed, s) = probed_instance(&Fmu::open(path).unwrap(), &silent);
    assert_eq!((probed.reread, probed.responses.len()), (Reread::Plain, 3));
    assert!(s.info().capabilities.can_refresh);
    // Where nothing is declared, nothing is believed.
    assert!(!Reread::NotSeen.can_refresh(&FeedThrough::Unknown));
    assert!(!Reread::NotSeen.can_refresh(&FeedThrough::Declared(Vec::new())));
}

#[test]
fn outputs_of_steps_only_are_not_read_again() {
    let (probed, s) = probed_instance(&Fmu::open(fmu("cached2")).unwrap(), &Options::default());
    assert_eq!((probed.reread, probed.pairs().len()), (Reread::No, 1));
    assert!(!s.info().capabilities.can_refresh);
}

/// z of `latch3` follows u in event mode only; without it there is no way.
#[test]
fn event_mode_is_used_where_plain_reading_does_not_help() {
    let fmu = Fmu::open(fmu("latch3")).unwrap();
    for (events, wanted) in [(true, Reread::EventMode), (false, Reread::No)] {
        // The step of the probe ends at an alarm.
        let options = Options { events, ..parameters(&[("first", 0.1.into())]) };
        let (probed, mut s) = probed_instance(&fmu, &options);
        assert_eq!((probed.reread, &probed.failure), (wanted, &None), "events = {events}");
        assert_eq!(named(&fmu, &probed), [("z".to_owned(), "u".to_owned(), 2.0)]);
        assert_eq!(s.info().capabilities.can_refresh, events);
        begin(&mut s, &["u"], &["z"], &[1.0]).unwrap();
        let mut y = [0.0];
        s.advance(Span::new(0.0, 0.05), Inputs::constant(&[1.0]), &mut y).unwrap();
        s.evaluate(Inputs::constant(&[3.0]), &mut y).unwrap();
        assert_eq!(y, [if events { 6.0 } else { 2.0 }]);
    }
}

/// y = x + 0.5 u of the integrators follows at any time, whatever mode is used.
#[test]
fn plain_reading_is_taken_where_it_works() {
    for (name, events) in [("integrator2", false), ("integrator3", false), ("integrator3", true)] {
        let fmu = Fmu::open(fmu(name)).unwrap();
        let (probed, s) = probed_instance(&fmu, &Options { events, ..Options::default() });
        assert_eq!(probed.reread, Reread::Plain, "{name}");
        assert_eq!(named(&fmu, &probed), [("y".to_owned(), "u".to_owned(), 0.5)]);
        assert!(s.info().capabilities.can_refresh);
    }
}

/// With d = 0 nothing is seen to follow. What is declared is believed, and read in event mode where FMI 3 promises it.
#[test]
fn what_was_not_seen_is_read_as_the_standard_promises() {
    let fmu = Fmu::open(fmu("integrator3")).unwrap();
    for events in [false, true] {
        let (probed, mut s) = probed_instance(&fmu, &Options { events, ..parameters(&[("d", 0.0.into())]) });
        assert_eq!((probed.reread, probed.responses.len()), (Reread::NotSeen, 0));
        assert!(s.info().capabilities.can_refresh);
        begin(&mut s, &["u"], &["x", "y"], &[1.0]).unwrap();
        let mut y = [0.0; 2];
        s.advance(Span::new(0.0, 0.5), Inputs::constant(&[1.0]), &mut y).unwrap();
        s.evaluate(Inputs::constant(&[3.0]), &mut y).unwrap();
        assert_eq!(y, [0.5, 0.5]);
    }
}

#[test]
fn fmi_1_is_never_read_again() {
    let (probed, s) = probed_instance(&Fmu::open(fmu("slave1")).unwrap(), &Options::default());
    assert_eq!((probed.reread, &probed.failure), (Reread::No, &None));
    assert!(!s.info().capabilities.can_refresh);
}

/// v starts at 2.5 instead of 5, where there is room above: it moves by 1e-3 of its nominal value.
#[test]
fn given_start_values_are_probed_around() {
    let fmu = Fmu::open(fmu("ranged2")).unwrap();
    let start = vec![("v".to_owned(), Value::Real(2.5))];
    assert_eq!(probe(&fmu, &Options { start, ..Options::default() }, true).failure, None);
    let mut s = fmu.instantiate("t", &Options::default()).unwrap();
    let y = begin(&mut s, &[], &["least_v", "largest_v"], &[]).unwrap();
    assert_eq!(y, [2.5, 3.5]);
}

/// An FMU that refuses what a probe does: the run has everything but re-reading.
#[test]
fn a_failed_probe_costs_nothing_but_its_answer() {
    let fmu = Fmu::open(fmu("ranged2")).unwrap();
    for (moody, responses) in [(1, 5), (2, 0)] {
        let options = parameters(&[("moody", moody.into())]);
        let (probed, mut s) = probed_instance(&fmu, &options);
        assert_eq!((probed.reread, probed.responses.len()), (Reread::No, responses), "moody = {moody}");
        assert!(probed.failure.as_ref().is_some_and(|f| f.contains("fmi2SetReal")), "{probed:?}");
        let plain = fmu.instantiate("t", &Options::default()).unwrap().info().capabilities;
        assert_eq!(s.info().capabilities, plain);
        assert_eq!(begin(&mut s, &["v"], &["y"], &[4.0]).unwrap(), [12.0]);
        assert_eq!(common::run(&mut s, &[2.0], 1, 0.5).unwrap(), [8.0]);
        // The answer is kept: nothing is tried twice.
        assert_eq!(probe(&fmu, &options, true), probed);
    }
}

/// Two inputs may be names of one variable: one of them is moved.
#[test]
fn other_names_of_an_input_are_no_trouble() {
    let path = fmu_with("integrator2", |xml| {
        let other = "<ScalarVariable name=\"u2\" valueReference=\"0\" causality=\"input\"><Real start=\"0\"/></ScalarVariable>";
        xml.replace("  </ModelVariables>", &format!("{other}</ModelVariables>"))
    });
    let fmu = Fmu::open(path).unwrap();
    let probed = probe(&fmu, &Options::default(), true);
    assert_eq!((probed.reread, probed.failure.clone()), (Reread::Plain, None));
    assert_eq!(named(&fmu, &probed), [("y".to_owned(), "u".to_owned(), 0.5)]);
}
