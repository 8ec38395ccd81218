//! FMUs in the engine: rings, events that take everybody back, units, mixed versions.

mod common;

use common::{fmu, fmu_with, parameters};
use powerbond_core::controller::Fixed;
use powerbond_core::hold::Polynomial;
use powerbond_core::network::{ConnectionSpec, Names, Network, NetworkBuilder, VariableName};
use powerbond_core::observe::NoObserver;
use powerbond_core::run::{Engine, Policies, Settings};
use powerbond_core::step::{Schedule, ScheduleKind, Seen};
use powerbond_fmi::{Fmu, FmuSubsystem, Options};
use std::path::Path;

fn load(path: &Path, options: &Options) -> Box<FmuSubsystem> {
    Box::new(Fmu::open(path).unwrap().instantiate("x", options).unwrap())
}

fn engine(network: Network, h: f64, order: u8) -> Engine {
    engine_with(network, h, order, Settings::new(0.0, 1.0))
}

fn engine_with(network: Network, h: f64, order: u8, settings: Settings) -> Engine {
    let rates = vec![1; network.members.len()];
    let handed = |i: usize| network.members[network.owner_of_input[i]].capabilities.input_derivatives;
    let handed: Vec<u8> = (0..network.n_inputs).map(handed).collect();
    let policies = Policies {
        ceiling: None,
        identifier: None,
        sampled: None,
        schedule: Schedule::new(&network, &ScheduleKind::Jacobi { fast: Seen::Held }, &rates),
        extrapolation: Box::new(Polynomial::new(vec![order; network.n_inputs], handed)),
        correction: None,
        estimators: Vec::new(),
        controller: Box::new(Fixed { step: h }),
    };
    Engine::new(network, policies, settings)
}

fn output(engine: &Engine, names: &Names, name: &str) -> f64 {
    let wanted = VariableName::parse(name).unwrap();
    engine.outputs()[names.outputs.iter().position(|n| *n == wanted).unwrap()]
}

/// x₁' = x₂, x₂' = −x₁ as two integrators, with the Jacobi scheme of order 1 in h for constant inputs.
#[test]
fn an_oscillator_of_two_versions_converges() {
    let error = |h: f64, order: u8| {
        let (network, names) = NetworkBuilder::new()
            .subsystem("a", load(&fmu("integrator2"), &parameters(&[("x0", 1.0.into())])))
            .subsystem("b", load(&fmu("integrator3"), &Options::default()))
            .connect("b.x", "a.u", 1.0)
            .connect("a.x", "b.u", -1.0)
            .build()
            .unwrap();
        let mut engine = engine(network, h, order);
        engine.run(&mut NoObserver).unwrap();
        assert!(engine.finish().is_empty());
        (output(&engine, &names, "a.x") - 1f64.cos()).abs()
    };
    let ratio = error(0.01, 0) / error(0.005, 0);
    assert!((ratio - 2.0).abs() < 0.1, "{ratio}");
    assert!(error(0.01, 1) < error(0.01, 0));
}

#[test]
fn an_event_takes_everybody_back_and_the_step_ends_there() {
    let options = Options { events: true, ..parameters(&[("limit", 0.35.into()), ("k", 1.0.into())]) };
    let start = Options { start: vec![("u".to_owned(), 1.0.into())], ..options };
    let (network, names) = NetworkBuilder::new()
        .subsystem("bouncer", load(&fmu("integrator3"), &start))
        .subsystem("watcher", load(&fmu("integrator2"), &Options::default()))
        .connect("bouncer.x", "watcher.u", 1.0)
        .build()
        .unwrap();
    let mut engine = engine(network, 0.1, 0);
    engine.run(&mut NoObserver).unwrap();
    assert!((output(&engine, &names, "bouncer.x") - (0.35 - 0.65)).abs() < 1e-12);
    let statistics = engine.statistics();
    // The step from 0.3 was rejected once and ended at 0.35.
    assert_eq!((statistics.early_returns, statistics.events), (1, 1));
    assert!((statistics.min_step - 0.05).abs() < 1e-12);
}

#[test]
fn without_a_way_back_the_event_is_handled_inside() {
    let options = Options { events: true, ..parameters(&[("limit", 0.35.into())]) };
    let start = Options { start: vec![("u".to_owned(), 1.0.into())], ..options };
    let stateless = fmu_with("integrator2", |xml| xml.replace("canGetAndSetFMUstate=\"true\"", ""));
    let (network, names) = NetworkBuilder::new()
        .subsystem("bouncer", load(&fmu("integrator3"), &start))
        .subsystem("watcher", load(&stateless, &Options::default()))
        .connect("bouncer.x", "watcher.u", 1.0)
        .build()
        .unwrap();
    let mut engine = engine(network, 0.1, 0);
    engine.run(&mut NoObserver).unwrap();
    assert!((output(&engine, &names, "bouncer.x") - (0.35 - 0.65)).abs() < 1e-12);
    assert_eq!((engine.statistics().rejected, engine.statistics().events), (0, 1));
}

#[test]
fn units_are_converted_between_fmus() {
    let in_kilometres = fmu_with("integrator2", |xml| {
        xml.replace(
            "<Unit name=\"m/s\"><BaseUnit m=\"1\" s=\"-1\"/>",
            "<Unit name=\"v\"><BaseUnit m=\"1\" s=\"-1\" factor=\"1000\"/>",
        )
        .replace("unit=\"m/s\"", "unit=\"v\"")
    });
    let name = |text: &str| VariableName::parse(text).unwrap();
    let source = fmu_with("integrator2", |xml| {
        xml.replace("<Real unit=\"m\" nominal=\"10\"/>", "<Real unit=\"m/s\"/>")
    });
    let build = |target: &Path| {
        NetworkBuilder::new()
            .subsystem("a", load(&source, &parameters(&[("x0", 500.0.into())])))
            .subsystem("b", load(target, &Options::default()))
            .connection(ConnectionSpec {
                from: vec![(name("a.x"), 1.0)],
                to: name("b.u"),
                offset: 0.0,
                convert_units: true,
            })
            .record(name("b.x"))
            .build()
            .map_err(|error| error.to_string())
    };
    let (network, _) = build(&in_kilometres).unwrap();
    assert_eq!(network.wiring.row(0, &[500.0]), 0.5);
    let wrong = fmu_with("integrator2", |xml| xml.replace("unit=\"m/s\"", "unit=\"m\""));
    let error = build(&wrong).err().unwrap();
    assert!(error.contains("`a.x` is in m/s and `b.u` in m"), "{error}");
}

/// With lines of exact slope in both integrators a step leaves h³u''/6 out, so that x₁'' = −x₁ turns with the frequency
/// 1 + h²/6: at t = 1 it is wrong by −h² sin(1)/6, from the first step on.
#[test]
fn output_derivatives_give_slopes_without_a_past() {
    let with_derivatives = |name: &str| {
        fmu_with(name, |xml| {
            let more = "maxOutputDerivativeOrder=\"1\"";
            match name {
                "integrator2" => xml.replace("canInterpolateInputs", &format!("{more} canInterpolateInputs")),
                _ => xml.replace(
                    "hasEventMode",
                    &format!("{more} providesIntermediateUpdate=\"true\" hasEventMode"),
                ),
            }
        })
    };
    let error = |h: f64| {
        let (network, names) = NetworkBuilder::new()
            .subsystem("a", load(&with_derivatives("integrator2"), &parameters(&[("x0", 1.0.into())])))
            .subsystem("b", load(&with_derivatives("integrator3"), &Options::default()))
            .connect("b.x", "a.u", 1.0)
            .connect("a.x", "b.u", -1.0)
            .build()
            .unwrap();
        assert!(network.members.iter().all(|m| m.capabilities.output_derivatives == 1));
        let mut engine =
            engine_with(network, h, 1, Settings { output_derivatives: true, ..Settings::new(0.0, 1.0) });
        engine.run(&mut NoObserver).unwrap();
        output(&engine, &names, "a.x") - 1f64.cos()
    };
    for h in [0.01, 0.005] {
        let expected = -h * h * 1f64.sin() / 6.0;
        let found = error(h);
        assert!((found / expected - 1.0).abs() < 2.0 * h, "h = {h}: {found} instead of {expected}");
    }
}
