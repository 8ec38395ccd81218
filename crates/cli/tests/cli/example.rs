//! The examples against their expected results.

use crate::lab::{Csv, EXAMPLE, Lab, close, root};
use powerbond::models::quarter_car::{Damper, Reference};

/// `expected.csv` holds the exact solution (matrix exponential, 40 digits); the README lists these differences.
#[test]
fn the_quarter_car_is_near_its_exact_solution() {
    let lab = Lab::with(EXAMPLE);
    lab.runs(&["--output-interval", "0.05"]);
    let expected = root().join("examples/quarter-car/expected.csv");
    let compared = lab.powerbond(&["compare", "out", expected.to_str().unwrap(), "--json"]).json();
    let variables = compared["variables"].as_array().unwrap();
    let check = |name: &str, difference: f64| {
        let found = variables.iter().find(|v| v["name"] == name).unwrap();
        close(found["max"].as_f64().unwrap(), difference, 0.02);
    };
    assert_eq!(compared["points"], 81);
    check("chassis.position", 0.626e-3);
    check("chassis.velocity", 3.29e-3);
    check("wheel.position", 0.0848e-3);
    check("wheel.velocity", 2.10e-3);
    check("wheel.suspension_force", 8.12);
}

/// The monolithic reference of the benchmarks is an independent way to the same numbers.
#[test]
fn the_monolithic_reference_agrees_with_the_exact_solution() {
    let expected = Csv::read(&root().join("examples/quarter-car/expected.csv"));
    let mut reference = Reference::new(Damper::Linear(1000.0));
    for &t in &expected.column("time") {
        reference.advance_to(t);
        for (name, value) in [
            ("chassis.velocity", reference.chassis_velocity()),
            ("wheel.velocity", reference.wheel_velocity()),
            ("wheel.suspension_force", 1e-3 * reference.force()),
        ] {
            let scale = if name == "wheel.suspension_force" { 1e-3 } else { 1.0 };
            assert!((value - scale * expected.at(t, name)).abs() < 1e-9, "{name} at {t} s: {value}");
        }
    }
}
