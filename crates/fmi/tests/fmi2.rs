//! FMI 2.0: the life of an instance, its types and its capabilities.

mod common;

use common::{begin, fmu, fmu_with, instance, parameters, run};
use powerbond_core::subsystem::{FeedThrough, Inputs, Span, StepEvent, Subsystem};
use powerbond_fmi::{Fmu, Options, Reread, Value, probe};

#[test]
fn an_integrator_integrates() {
    let mut s = instance("integrator2", &parameters(&[("k", 2.0.into()), ("x0", 1.0.into())]));
    assert_eq!(begin(&mut s, &["u"], &["x", "y"], &[3.0]).unwrap(), [1.0, 2.5]);
    let y = run(&mut s, &[3.0], 2, 0.25).unwrap();
    assert_eq!(y, [7.0, 8.5]);

    // Once more: entering again resets it.
    assert_eq!(begin(&mut s, &["u"], &["x", "y"], &[0.0]).unwrap(), [1.0, 1.0]);
}

#[test]
fn its_description_reaches_the_engine() {
    let s = instance("integrator2", &Options::default());
    let info = s.info();
    assert_eq!(info.kind, "integrator2.fmu");
    let x = &info.variables[info.find("x").unwrap()];
    assert_eq!(x.unit.as_ref().unwrap().symbol, "m");
    assert_eq!(x.nominal, 10.0);
    assert_eq!(info.feed_through, FeedThrough::Declared(vec![(2, 0)]));
    let c = info.capabilities;
    assert!(c.can_restore && c.feed_through_values && !c.can_refresh && !c.may_return_early);
    assert_eq!((c.input_derivatives, c.fixed_step), (1, None));
}

#[test]
fn inputs_are_followed_to_the_order_that_was_asked_for() {
    // ∫ (1 + 2t + 3t²/2) over [0, 1] = 1 + 1 + 1/2; the model is exact for what it is given.
    let check = |order: u8, wanted: f64| {
        let mut s =
            instance("integrator2", &Options { input_derivatives: Some(order), ..Options::default() });
        assert_eq!(s.info().capabilities.input_derivatives, order);
        begin(&mut s, &["u"], &["x"], &[1.0]).unwrap();
        let mut y = [0.0];
        let u = Inputs { value: &[1.0], slope: &[2.0], curvature: &[3.0] };
        s.advance(Span::new(0.0, 1.0), u, &mut y).unwrap();
        assert!((y[0] - wanted).abs() < 1e-15, "order {order}: {}", y[0]);
    };
    check(0, 1.0);
    check(1, 2.0);
    check(2, 2.5);
}

#[test]
fn sub_steps_follow_inputs_without_derivatives() {
    let path = fmu_with("integrator2", |xml| xml.replace("canInterpolateInputs=\"true\"", ""));
    let fmu = Fmu::open(path).unwrap();
    let plain = fmu.instantiate("a", &Options::default()).unwrap();
    assert_eq!(plain.info().capabilities.input_derivatives, 0);
    let mut s = fmu.instantiate("b", &Options { sub_steps: 10, ..Options::default() }).unwrap();
    assert_eq!(s.info().capabilities.input_derivatives, 2);
    begin(&mut s, &["u"], &["x"], &[1.0]).unwrap();
    let mut y = [0.0];
    let u = Inputs { value: &[1.0], slope: &[2.0], curvature: &[3.0] };
    let advance = s.advance(Span::new(0.0, 1.0), u, &mut y).unwrap();
    assert_eq!((advance.reached, advance.event), (1.0, StepEvent::None));
    // The midpoint rule with n = 10: exact for the line, 1/24 of curvature · h² short for the parabola.
    assert!((y[0] - (2.5 - 3.0 * 0.01 / 24.0)).abs() < 1e-14, "{}", y[0]);
}

#[test]
fn states_come_back_and_derivatives_are_right() {
    let mut s = instance("integrator2", &parameters(&[("d", 0.25.into())]));
    begin(&mut s, &["u"], &["x", "y"], &[1.0]).unwrap();
    let mut y = [0.0; 2];
    let mut d = [f64::NAN];
    s.feed_through(&mut d).unwrap();
    assert_eq!(d, [0.25]);
    for _ in 0..3 {
        s.save().unwrap();
        s.advance(Span::new(0.0, 0.5), Inputs::constant(&[8.0]), &mut y).unwrap();
        assert_eq!(y, [4.0, 6.0]);
        s.restore().unwrap();
    }
    s.advance(Span::new(0.0, 0.5), Inputs::constant(&[2.0]), &mut y).unwrap();
    assert_eq!(y, [1.0, 1.5]);
}

#[test]
fn all_types_travel() {
    let options = Options {
        start: vec![("text_in".to_owned(), "good evening".into()), ("gear_in".to_owned(), "reverse".into())],
        ..Options::default()
    };
    let mut s = instance("types2", &options);
    // Text inputs are in the description only.
    assert_eq!(s.info().find("text_in"), None);
    assert_eq!(s.info().feed_through, FeedThrough::Unknown);
    let names = ["real_in", "int_in", "gear_in", "bool_in"];
    let outputs = ["real_out", "int_out", "gear_out", "bool_out"];
    let y = begin(&mut s, &names, &outputs, &[1.5, 41.0, 1.0, 1.0]).unwrap();
    assert_eq!(y, [3.0, 42.0, 1.0, 0.0]);
    assert_eq!(s.text("text_out").as_deref(), Some("good evening"));
    assert_eq!(s.text("greeting").as_deref(), Some("good morning"));
    let force = &s.info().variables[s.info().find("real_in").unwrap()];
    assert_eq!(force.unit.as_ref().unwrap().si.unwrap().factor, 1000.0);
    assert_eq!(force.nominal, 100.0);
    // Read back as probes, inputs included.
    let mut again = instance("types2", &options);
    begin(&mut again, &[], &["gear_in", "gear_out"], &[]).map(|y| assert_eq!(y, [-1.0, -1.0])).unwrap();
}

#[test]
fn what_a_library_lacks_is_not_used() {
    // types2.c has neither states nor input derivatives, whatever its description says.
    let fmu = Fmu::open(fmu("types2")).unwrap();
    let shortcomings = fmu.load().unwrap();
    assert_eq!(shortcomings.len(), 2, "{shortcomings:?}");
    let c = fmu.instantiate("t", &Options::default()).unwrap().info().capabilities;
    assert!(!c.can_restore && c.input_derivatives == 0);
}

#[test]
fn probing_finds_feed_through_and_refresh() {
    let fmu = Fmu::open(fmu("types2")).unwrap();
    let probed = probe::probe(&fmu, &Options::default(), true);
    let info = fmu.instantiate("t", &Options::default()).unwrap().info().clone();
    let index = |name: &str| info.find(name).unwrap();
    let pairs = ["real", "int", "gear", "bool"]
        .map(|kind| (index(&format!("{kind}_out")), index(&format!("{kind}_in"))));
    assert_eq!(probed.pairs(), pairs);
    assert_eq!(probed.reread, Reread::Plain);
}

#[test]
fn one_library_serves_many_instances() {
    let path = fmu("integrator2");
    let fmu = Fmu::open(&path).unwrap();
    let started = std::time::Instant::now();
    let mut all: Vec<_> =
        (0..1000).map(|i| fmu.instantiate(&format!("i{i}"), &Options::default()).unwrap()).collect();
    println!("1000 instances in {:?}", started.elapsed());
    let again = Fmu::open(&path).unwrap().instantiate("again", &Options::default()).unwrap();
    assert!(std::ptr::eq(all[0].fmu().description(), again.fmu().description()));
    for (i, s) in all.iter_mut().enumerate() {
        begin(s, &["u"], &["x"], &[i as f64]).unwrap();
    }
    for (i, s) in all.iter_mut().enumerate() {
        assert_eq!(run(s, &[i as f64], 1, 0.5).unwrap(), [i as f64]);
    }
}

#[test]
fn once_per_process_is_detected() {
    let path = fmu_with("integrator2", |xml| {
        xml.replace(
            "canInterpolateInputs",
            "canBeInstantiatedOnlyOncePerProcess=\"true\" canInterpolateInputs",
        )
    });
    let fmu = Fmu::open(&path).unwrap();
    let first = fmu.instantiate("first", &Options::default()).unwrap();
    let error = fmu.instantiate("second", &Options::default()).unwrap_err().to_string();
    assert!(error.contains("only once per process") && error.contains("`second`"), "{error}");
    drop(first);
    fmu.instantiate("third", &Options::default()).unwrap();
}

#[test]
fn tunable_parameters_change_and_fixed_ones_do_not() {
    let mut s = instance("integrator2", &Options::default());
    begin(&mut s, &["u"], &["x"], &[1.0]).unwrap();
    s.set("k", &Value::Real(4.0)).unwrap();
    let mut y = [0.0];
    s.advance(Span::new(0.0, 0.5), Inputs::constant(&[1.0]), &mut y).unwrap();
    assert_eq!(y, [2.0]);
    let refused = |s: &mut powerbond_fmi::FmuSubsystem, name: &str, value: Value, wanted: &str| {
        let error = s.set(name, &value).unwrap_err().to_string();
        assert!(error.contains(wanted), "{error}");
    };
    refused(&mut s, "d", 1.0.into(), "fixed while");
    refused(&mut s, "x", 1.0.into(), "calculates");
    refused(&mut s, "kk", 1.0.into(), "Did you mean `k`?");
    refused(&mut s, "k", "fast".into(), "Float64");
    refused(&mut s, "k", Value::Real(-1.0), "k = -1 is negative");
}

#[test]
fn an_unpacked_folder_is_used_where_it_is() {
    let folder = common::scratch().join("a b ü");
    let binaries = folder.join("binaries").join(common::PLATFORM_2);
    std::fs::create_dir_all(&binaries).unwrap();
    std::fs::create_dir_all(folder.join("resources")).unwrap();
    std::fs::write(folder.join("modelDescription.xml"), common::description("types2")).unwrap();
    std::fs::write(folder.join("resources/greeting.txt"), "from a folder").unwrap();
    std::fs::write(binaries.join(format!("types2.{}", common::EXTENSION)), common::library("types2"))
        .unwrap();
    let s = Fmu::open(&folder).unwrap().instantiate("t", &Options::default()).unwrap();
    assert_eq!(s.text("greeting").as_deref(), Some("from a folder"));
    drop(s);
    assert!(folder.join("modelDescription.xml").exists());
}
