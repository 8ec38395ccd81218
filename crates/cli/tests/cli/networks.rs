//! Connections and bonds beyond the plain pair: sums, offsets, gears, junctions, several rates.

use crate::lab::{EXAMPLE, Lab, close, edit, plain};

/// One chassis on two wheels; the left road is higher.
pub const TWO_WHEELS: &str = r#"
[simulation]
stop = 1.0
step = 1e-3

[subsystems.chassis]
model = "quarter-car/chassis"

[subsystems.left]
model = "quarter-car/wheel-suspension"

[subsystems.right]
model = "quarter-car/wheel-suspension"

[[connections]]
from = "chassis.velocity"
to = "left.chassis_velocity"

[[connections]]
from = "chassis.velocity"
to = "right.chassis_velocity"

[[connections]]
from = ["left.suspension_force", "right.suspension_force"]
to = "chassis.force"
gain = -1

[inputs]
"left.road" = 0.1
"right.road" = 0.02

[bonds.strut]
ports = [
  { input = "chassis.force", output = "chassis.velocity", sign = -1 },
  { input = "left.chassis_velocity", output = "left.suspension_force", sign = -1 },
  { input = "right.chassis_velocity", output = "right.suspension_force", sign = -1 },
]
"#;

#[test]
fn an_input_is_the_weighted_sum_of_outputs_and_an_offset() {
    let check = |gain: &str, a: f64, b: f64, offset: f64| {
        let system = edit(TWO_WHEELS, "gain = -1", &format!("gain = {gain}\noffset = {offset}"));
        let lab = Lab::with(system.split("[bonds").next().unwrap());
        let results = lab.runs(&[]).results();
        let [sum, left, right] =
            ["chassis.force", "left.suspension_force", "right.suspension_force"].map(|n| results.column(n));
        for i in 0..sum.len() {
            close(sum[i], offset + a * left[i] + b * right[i], 1e-12);
        }
        assert!(left.iter().any(|&f| f != 0.0) && left != right);
    };
    check("-1", -1.0, -1.0, 0.0);
    check("[-1.0, -0.5]", -1.0, -0.5, 0.0);
    check("-1", -1.0, -1.0, -250.0);
}

/// Power flows between three ports; with smaller steps the residual goes to zero, and so do all powers together.
#[test]
fn a_junction_balances_its_ports() {
    let residual = |step: &str| {
        let lab = Lab::with(TWO_WHEELS);
        let energy = lab.runs(&["-s", step]).energy();
        assert_eq!(
            energy.header.join(" "),
            "time step_size rejected over_tolerance strut.P.chassis strut.P.left strut.P.right strut.dP strut.dE strut.dE_sum strut.E \
             chassis.E_net left.E_net right.E_net system.dE_sum"
        );
        let ports = ["chassis", "left", "right"].map(|p| energy.column(&format!("strut.P.{p}")));
        for (i, dp) in energy.column("strut.dP").into_iter().enumerate() {
            close(dp, -(ports[0][i] + ports[1][i] + ports[2][i]), 1e-9);
        }
        lab.summary()["bonds"][0]["residual_abs"].as_f64().unwrap()
    };
    let ratio = residual("2e-3") / residual("1e-3");
    assert!((ratio - 2.0).abs() < 0.2, "first order with a zero-order hold: {ratio}");
}

/// Two pendula: force and velocity in a plane, one port each.
#[test]
fn a_vector_bond_sums_its_components() {
    let page = include_str!("../../../../docs/system-file.md");
    let pendula = page.split("```toml\n").find(|block| block.contains("pendula/pendulum\"")).unwrap();
    let lab = Lab::with(pendula.split("```").next().unwrap());
    let (results, energy) = {
        let lab = lab.runs(&[]);
        (lab.results(), lab.energy())
    };
    assert_eq!(
        energy.header.join(" "),
        "time step_size rejected over_tolerance spring.P.left spring.P.right spring.dP spring.dE spring.dE_sum spring.E left.E_net right.E_net \
         system.dE_sum"
    );
    let [vx, vy, fx, fy] =
        ["right.velocity_x", "right.velocity_y", "left.force_x", "left.force_y"].map(|n| results.column(n));
    let [left, right] = ["spring.P.left", "spring.P.right"].map(|n| energy.column(n));
    // Each side holds what the other returned one step before.
    for i in 0..left.len() {
        close(left[i], vx[i] * fx[i + 1] + vy[i] * fy[i + 1], 1e-9);
        close(right[i], -(fx[i] * vx[i + 1] + fy[i] * vy[i + 1]), 1e-9);
    }
    assert!(left.iter().any(|&p| p.abs() > 1.0));
}

/// A lever of 2: twice the velocity, half the force arm; power is the same on both sides.
#[test]
fn a_gear_is_a_pair_of_gains() {
    let geared =
        edit(plain(), "to = \"wheel.chassis_velocity\"", "to = \"wheel.chassis_velocity\"\ngain = 2.0");
    let geared = edit(&geared, "gain = -1.0", "gain = -2.0");
    let lab = Lab::with(&geared);
    let results = lab.runs(&["-s", "1e-3"]).results();
    for (a, b) in results.column("chassis.velocity").iter().zip(results.column("wheel.chassis_velocity")) {
        close(b, 2.0 * a, 1e-15);
    }
    // `ratio` scales the product of a port where a gain does not.
    let half = edit(plain(), "gain = -1.0", "gain = -0.5");
    let ratio = edit(&half, "\"chassis.velocity\", sign = -1", "\"chassis.velocity\", sign = -1, ratio = 2");
    Lab::with(&ratio).runs(&["-s", "1e-3"]);
}

#[test]
fn the_order_of_listing_changes_no_bit() {
    let (head, rest) = TWO_WHEELS.split_once("[subsystems.chassis]").unwrap();
    let (chassis, rest) = rest.split_once("[subsystems.left]").unwrap();
    let (left, rest) = rest.split_once("[subsystems.right]").unwrap();
    let (right, rest) = rest.split_once("[[connections]]").unwrap();
    let turned = format!(
        "{head}[subsystems.right]{right}[subsystems.left]{left}[subsystems.chassis]{chassis}[[connections]]{rest}"
    );
    let turned = edit(
        &turned,
        "[\"left.suspension_force\", \"right.suspension_force\"]",
        "[\"right.suspension_force\", \"left.suspension_force\"]",
    );
    let bytes = |system: &str| {
        let lab = Lab::with(system);
        lab.runs(&[]);
        std::fs::read(lab.dir.join("out/results.csv")).unwrap()
    };
    assert!(bytes(TWO_WHEELS) == bytes(&turned));
}

#[test]
fn a_subsystem_may_step_faster() {
    let fast = |key: &str| {
        let lab = Lab::with(&edit(
            EXAMPLE,
            "model = \"quarter-car/wheel-suspension\"",
            &format!("model = \"quarter-car/wheel-suspension\"\n{key}"),
        ));
        let summary = lab.runs(&[]).summary();
        assert_eq!(
            summary["config"]["method"]["rates"],
            serde_json::json!({ "chassis": 1, "wheel": 5 }),
            "{key}"
        );
        let steps = |i: usize| summary["subsystems"][i]["steps"].as_u64().unwrap();
        assert_eq!(steps(1), 5 * steps(0), "{key}");
    };
    fast("rate = 5");
    fast("step = 2e-5");
}
