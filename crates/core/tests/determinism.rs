//! Same system, same bits: the order in which subsystems, connections and bonds are listed changes nothing.

mod common;

use common::matrix::methods;
use common::{ABLE, Element, Method, bond, engine, ring_listed};
use powerbond_core::network::{ConnectionSpec, Network, NetworkBuilder, VariableName};
use powerbond_core::observe::NoObserver;
use powerbond_models::Built;

/// Five elements, each pulled by two others, listed in the order of `listing`.
fn star(listing: &[usize]) -> Network {
    let names = ["alpha", "bravo", "charlie", "delta", "echo"];
    let mut builder = NetworkBuilder::new();
    for &i in listing {
        let element = Element {
            inverse_mass: 1.0 / (1.0 + i as f64),
            stiffness: 50.0,
            damping: 0.3,
            v: 0.1 * i as f64,
            f: 0.0,
        };
        builder = builder.subsystem(names[i], Box::new(Built::new("element", element, ABLE)));
    }
    for &i in listing {
        let [near, far] = [names[(i + 1) % 5], names[(i + 2) % 5]];
        let mut from =
            vec![(VariableName::new(near, "spring"), 0.3), (VariableName::new(far, "spring"), 0.1)];
        if listing[0] % 2 == 1 {
            from.reverse();
        }
        let to = VariableName::new(names[i], "force");
        builder = builder.connection(ConnectionSpec { from, to, offset: 0.0, convert_units: true }).connect(
            &format!("{near}.velocity"),
            &format!("{}.neighbour", names[i]),
            1.0,
        );
    }
    builder.build().expect("a sound system").0
}

/// Five elements with bonds.
fn ring(listing: &[usize]) -> Network {
    ring_listed(listing, |i| 0.1 * i as f64).0
}

#[test]
fn listing_order_changes_no_bit() {
    for (n, method) in methods().into_iter().enumerate() {
        let rates = (n % 7 < 3).then(|| vec![1, 2, 2, 1, 4]);
        let method = Method { rates, ..method };
        for (what, network) in [("star", star as fn(&[usize]) -> Network), ("ring", ring)] {
            let run = |listing: &[usize]| {
                let mut engine = engine(network(listing), 0.03, &method);
                engine.run(&mut NoObserver).expect("a sound run");
                let bits: Vec<u64> = engine.outputs().iter().map(|y| y.to_bits()).collect();
                (engine.statistics().accepted, bits)
            };
            let straight = run(&[0, 1, 2, 3, 4]);
            assert_eq!(straight, run(&[4, 3, 2, 1, 0]), "{what}, {method:?}");
            assert_eq!(straight, run(&[3, 0, 4, 1, 2]), "{what}, {method:?}");
        }
    }
}

/// A rate of 1 for all is no rate at all, and a bond more or less changes no output.
#[test]
fn monitoring_changes_no_bit() {
    let run = |bonds: bool| {
        let (network, _) = if bonds { common::quarter_car(1, "linear") } else { without_bonds() };
        let mut engine = engine(network, 1.0, &Method { hold: 1, ..Method::default() });
        engine.run(&mut NoObserver).expect("a sound run");
        engine.outputs().iter().map(|y| y.to_bits()).collect::<Vec<_>>()
    };
    assert_eq!(run(true), run(false));
}

fn without_bonds() -> (Network, powerbond_core::network::Names) {
    use powerbond_models::{ParameterValue::Text, find};
    let accurate = [("integrator".to_owned(), Text("accurate".to_owned()))];
    let build = |name: &str| find(name).expect("a model").build(&accurate).expect("good parameters");
    NetworkBuilder::new()
        .subsystem("chassis", build("quarter-car/chassis"))
        .subsystem("wheel", build("quarter-car/wheel-suspension"))
        .connect("chassis.velocity", "wheel.chassis_velocity", 1.0)
        .connect("wheel.suspension_force", "chassis.force", -1.0)
        .external(VariableName::new("wheel", "road"), powerbond_core::time::signal::Signal::Constant(0.1))
        .build()
        .expect("a sound system")
}

/// Bonds of a chain of three: a bond that is listed twice as two scalar bonds or once as a vector gives the same sum.
#[test]
fn a_vector_bond_is_the_sum_of_its_parts() {
    use powerbond_core::network::{BondSpec, PortSpec};
    let pair = |vector: bool| {
        let element = |v: f64| Element { inverse_mass: 1.0, stiffness: 20.0, damping: 0.0, v, f: 0.0 };
        let builder = NetworkBuilder::new()
            .subsystem("a", Box::new(Built::new("element", element(1.0), ABLE)))
            .subsystem("b", Box::new(Built::new("element", element(0.0), ABLE)))
            .connect("a.spring", "b.force", 1.0)
            .connect("b.velocity", "a.neighbour", 1.0)
            .connect("b.spring", "a.force", 1.0)
            .connect("a.velocity", "b.neighbour", 1.0);
        let name = |text: &str| VariableName::parse(text).expect("a full name");
        let builder = if vector {
            builder.bond(BondSpec {
                name: "both".to_owned(),
                ports: vec![
                    PortSpec {
                        inputs: vec![name("a.neighbour")],
                        outputs: vec![name("a.spring")],
                        sign: 1.0,
                        ratio: 1.0,
                    },
                    PortSpec {
                        inputs: vec![name("b.force")],
                        outputs: vec![name("b.velocity")],
                        sign: -1.0,
                        ratio: 1.0,
                    },
                    PortSpec {
                        inputs: vec![name("a.force")],
                        outputs: vec![name("a.velocity")],
                        sign: -1.0,
                        ratio: 1.0,
                    },
                    PortSpec {
                        inputs: vec![name("b.neighbour")],
                        outputs: vec![name("b.spring")],
                        sign: 1.0,
                        ratio: 1.0,
                    },
                ],
            })
        } else {
            builder
                .bond(bond("first", [("a.neighbour", "a.spring", 1.0), ("b.force", "b.velocity", -1.0)]))
                .bond(bond("second", [("a.force", "a.velocity", -1.0), ("b.neighbour", "b.spring", 1.0)]))
        };
        let mut engine = engine(builder.build().expect("a sound system").0, 1.0, &Method::default());
        engine.run(&mut NoObserver).expect("a sound run");
        engine.meter().sums.iter().map(|s| s.residual).sum::<f64>()
    };
    let (junction, parts) = (pair(true), pair(false));
    assert!((junction - parts).abs() < 1e-12 * parts.abs(), "{junction} {parts}");
}
