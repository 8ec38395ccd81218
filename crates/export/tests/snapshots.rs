//! FMUs of models go on from a snapshot as before, and take what is set from outside as the models do.

mod common;
#[path = "../../core/tests/common/mod.rs"]
mod engine;

use common::{Folder, Given, VERSIONS, given, imported, native};
use engine::bits::{Bits, steps};
use engine::{Method, bond};
use powerbond_core::network::{Network, NetworkBuilder, VariableName};
use powerbond_core::observe::NoObserver;
use powerbond_core::run::{Disturbance, Engine, ParameterChange};
use powerbond_core::subsystem::Subsystem;
use powerbond_core::time::signal::Signal;
use powerbond_export::FmiVersion;

/// The quarter car as FMUs of `version`, or as models; `road` feeds it if there is one.
fn car(folder: &Folder, version: Option<FmiVersion>, road: Option<Signal>) -> Network {
    let member = |name: &str, parameters: &Given| -> Box<dyn Subsystem> {
        let Some(version) = version else { return native(name, parameters) };
        let spec = powerbond_models::find(name).expect("a built-in model");
        Box::new(imported(&folder.fmu(spec, version, parameters), name, &Given::new()))
    };
    let builder = NetworkBuilder::new()
        .subsystem("chassis", member("quarter-car/chassis", &given(&[])))
        .subsystem("wheel", member("quarter-car/wheel-suspension", &given(&[("damper", "square-root")])))
        .connect("chassis.velocity", "wheel.chassis_velocity", 1.0)
        .connect("wheel.suspension_force", "chassis.force", -1.0)
        .bond(bond(
            "suspension",
            [
                ("chassis.force", "chassis.velocity", -1.0),
                ("wheel.chassis_velocity", "wheel.suspension_force", -1.0),
            ],
        ))
        .record(VariableName::new("wheel", "position"));
    let builder = match road {
        Some(road) => builder.external(VariableName::new("wheel", "road"), road),
        None => builder,
    };
    builder.build().expect("a sound system").0
}

fn methods() -> Vec<Method> {
    let plain = Method::default();
    vec![
        plain.clone(),
        Method { hold: 2, refresh: true, ..plain.clone() },
        Method { rates: Some(vec![1, 3]), ..plain.clone() },
        Method { estimator: "energy", controller: "ecco", ..plain.clone() },
        Method { estimator: "all", controller: "rejecting", hold: 1, ..plain },
    ]
}

#[test]
fn runs_of_fmus_go_on_from_snapshots() {
    let folder = Folder::new("snapshots");
    for version in VERSIONS {
        for method in methods() {
            let road = Signal::Step { time: 0.02, from: 0.1, to: 0.0 };
            let mut engine = engine::engine(car(&folder, Some(version), Some(road)), 1.0, &method);
            engine.initialize(&mut NoObserver).expect("a sound start");
            steps(&mut engine, 10);
            let early = engine.snapshot().expect("FMUs of ours can");
            let first = steps(&mut engine, 20);
            let late = engine.snapshot().expect("FMUs of ours can");
            let second = steps(&mut engine, 20);
            for (snapshot, wanted) in [(&early, &first), (&late, &second), (&early, &first)] {
                engine.restore_snapshot(snapshot).expect("its own");
                assert!(steps(&mut engine, 20) == *wanted, "{version:?}, {method:?}");
                let input = engine.network().externals[0].input;
                let changes = Disturbance { inputs: vec![(input, 0.3)], variables: vec![] };
                engine.disturb(&changes, &mut NoObserver).expect("a sound change");
                steps(&mut engine, 3);
            }
            assert!(engine.finish().is_empty());
        }
    }
}

/// An input without a source is set at 0.0125 s, in a model and in its FMUs; and where it is fed with a constant, that is replaced.
#[test]
fn what_is_set_has_the_same_bits_everywhere() {
    const T: f64 = 0.0125;
    let folder = Folder::new("set");
    let outputs = |network: Network, method: &Method| -> (Vec<u64>, u64) {
        let mut engine: Engine = engine::engine(network, 0.05, method);
        let mut bits = Bits::default();
        engine.initialize(&mut bits).expect("a sound start");
        engine.land_at(T);
        let mut seen = Vec::new();
        while !engine.is_done() {
            engine.step(&mut bits).expect("a sound step");
            if engine.time() == T {
                let changes = match engine.network().externals.first() {
                    Some(road) => Disturbance { inputs: vec![(road.input, 0.125)], variables: vec![] },
                    None => {
                        let wheel = engine.network().members[1].simulator.info();
                        let variable = wheel.find("road").expect("an input");
                        let change = ParameterChange { member: 1, variable, value: 0.125 };
                        Disturbance { inputs: vec![], variables: vec![change] }
                    }
                };
                engine.disturb(&changes, &mut bits).expect("a sound change");
            }
            seen.extend(engine.outputs().iter().chain(engine.probes()).map(|y| y.to_bits()));
        }
        (seen, engine.statistics().events)
    };
    // Inputs that bend inside steps reach FMUs of version 3 with round-off only.
    for method in methods().into_iter().filter(|method| method.hold == 0 && method.rates.is_none()) {
        let wanted = outputs(car(&folder, None, Some(Signal::Constant(0.0))), &method);
        assert_eq!(wanted.1, 1);
        for version in [None, Some(FmiVersion::Fmi2), Some(FmiVersion::Fmi3)] {
            for road in [None, Some(Signal::Constant(0.0))] {
                let fed = road.is_some();
                let found = outputs(car(&folder, version, road), &method);
                assert!(found == wanted, "{version:?}, fed {fed}, {method:?}");
            }
        }
    }
}
