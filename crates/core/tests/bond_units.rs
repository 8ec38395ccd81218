//! The power of a bond is in W, whatever the units of its variables.

mod common;

use common::ABLE;
use powerbond_core::network::{
    BondSpec, BuildErrors, ConnectionSpec, Names, Network, NetworkBuilder, PortSpec, VariableName,
};
use powerbond_core::subsystem::{Causality, SubsystemError, Variable};
use powerbond_models::{Built, Equations, InputPolynomial, variable};
use std::f64::consts::TAU;

/// One input and one output, in any unit.
#[derive(Clone)]
struct Side {
    input: &'static str,
    output: &'static str,
}

impl Equations<1, 1> for Side {
    fn variables(&self) -> Vec<Variable> {
        vec![
            variable("u", Causality::Input, self.input, ""),
            variable("y", Causality::Output, self.output, ""),
        ]
    }

    fn feed_through(&self) -> Vec<(usize, usize)> {
        Vec::new()
    }

    fn step(&mut self, _t: f64, _h: f64, _u: &InputPolynomial<1>) -> Result<(), SubsystemError> {
        Ok(())
    }

    fn output(&self, _u: &[f64; 1]) -> [f64; 1] {
        [0.0]
    }

    fn local(&self, _k: usize, _u: &[f64; 1]) -> f64 {
        f64::NAN
    }
}

/// A giver of torque `a` and its load `b`, which turns at `speeds`: as the giver takes it and as the load gives it.
fn shaft(
    torque: &'static str,
    speeds: [&'static str; 2],
    ratio: f64,
) -> Result<(Network, Names), BuildErrors> {
    let name = |text: &str| VariableName::parse(text).unwrap();
    let connection = |from: &str, to: &str| ConnectionSpec {
        from: vec![(name(from), 1.0)],
        to: name(to),
        offset: 0.0,
        convert_units: true,
    };
    let port = |s: &str, sign: f64| PortSpec {
        inputs: vec![name(&format!("{s}.u"))],
        outputs: vec![name(&format!("{s}.y"))],
        sign,
        ratio,
    };
    let giver = Side { input: speeds[0], output: torque };
    let load = Side { input: "N.m", output: speeds[1] };
    NetworkBuilder::new()
        .subsystem("a", Box::new(Built::new("giver", giver, ABLE)))
        .subsystem("b", Box::new(Built::new("load", load, ABLE)))
        .connection(connection("a.y", "b.u"))
        .connection(connection("b.y", "a.u"))
        .bond(BondSpec { name: "shaft".to_owned(), ports: vec![port("a", 1.0), port("b", -1.0)] })
        .build()
}

/// By definition 1 rpm is 2π/60 rad/s, and 1 kN·m · 1 rad/s is 1 kW.
#[test]
fn products_become_watts() {
    let rpm = TAU / 60.0;
    for (torque, speeds, expected) in [
        ("N.m", ["rad/s", "rad/s"], [1.0, -1.0]),
        ("N.m", ["rpm", "rpm"], [rpm, -rpm]),
        ("N.m", ["rad/s", "rpm"], [1.0, -rpm]),
        ("kN.m", ["rpm", "rad/s"], [1e3 * rpm, -1.0]),
        ("N.m", ["1/min", "1/min"], [rpm, -rpm]),
        ("", ["rad/s", "rpm"], [1.0, -rpm]),
    ] {
        let (network, _) = shaft(torque, speeds, 1.0).unwrap();
        for (term, factor) in network.bonds.terms.iter().zip(expected) {
            assert!((term.factor / factor - 1.0).abs() < 1e-12, "{torque} {speeds:?}: {}", term.factor);
        }
    }
}

#[test]
fn a_gear_beside_units_stays() {
    let (network, _) = shaft("N.m", ["rpm", "rpm"], 2.0).unwrap();
    assert!((network.bonds.terms[0].factor - 2.0 * TAU / 60.0).abs() < 1e-12);
}

#[test]
fn what_was_converted_by_hand_is_not_converted_again() {
    let error = shaft("N.m", ["rpm", "rpm"], 0.10472).err().unwrap().to_string();
    assert!(error.contains("`ratio` = 0.10472 converts rpm times N.m to watts. Remove it"), "{error}");
}

#[test]
fn turns_are_no_radians() {
    for (from, gain) in [("Hz", TAU), ("1/min", TAU / 60.0)] {
        let error = shaft("N.m", ["rad/s", from], 1.0).err().unwrap().to_string();
        let expected =
            format!("`b.y` is in {from} and `a.u` in rad/s: one counts revolutions, the other radians");
        assert!(error.contains(&expected), "{error}");
        let named: f64 =
            error.split("right `gain`, ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
        assert!((named / gain - 1.0).abs() < 1e-12, "{error}");
    }
}
