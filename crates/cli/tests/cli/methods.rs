//! Every method of the catalogue in a real run: it is what the summary says it is, and it does what it is for.

use crate::lab::{EXAMPLE, Lab, plain};
use serde_json::{Value, json};

/// Runs the quarter car at 1 ms with a `[method]`; gives the summary and the energy columns.
fn run(method: &str) -> (Value, Vec<String>) {
    let lab = Lab::with(&format!("{}\n[method]\n{method}\n", plain()));
    lab.runs(&["-s", "1e-3", "-e", "2"]);
    (lab.summary(), lab.energy().header)
}

fn residual(method: &str) -> f64 {
    run(method).0["bonds"][0]["residual_abs"].as_f64().unwrap()
}

#[test]
fn what_was_asked_for_is_what_ran() {
    let check = |method: &str, pointer: &str, expected: Value| {
        let (summary, _) = run(method);
        let pointer = format!("/config/method/{pointer}");
        assert_eq!(summary.pointer(&pointer), Some(&expected), "{method}");
    };
    check("schedule = \"gauss-seidel\"", "schedule/kind", json!("gauss-seidel"));
    check(
        "schedule = { kind = \"gauss-seidel\", order = [\"wheel\", \"chassis\"], seen = \"between\" }",
        "schedule",
        json!({ "kind": "gauss-seidel", "order": ["wheel", "chassis"], "seen": "between" }),
    );
    check("hold = 2", "hold", json!(2));
    check("holds = { \"wheel.chassis_velocity\" = 1 }", "holds", json!({ "wheel.chassis_velocity": 1 }));
    check("correction = \"nepce\"", "correction/kind", json!("nepce"));
    check(
        "correction = { kind = \"nepce\", alpha = { \"chassis.force\" = 0.5, \"wheel.chassis_velocity\" = 0.25 }, feed_through = \"model\" }",
        "correction",
        // Every knob is there, also those that are not set.
        json!({
            "kind": "nepce",
            "alpha": { "chassis.force": 0.5, "wheel.chassis_velocity": 0.25, "wheel.road": 0.8 },
            "feed_through": "model",
            "quadrature": "end",
            "gated": false,
            "step_ratio": "growth"
        }),
    );
    check(
        "correction = { kind = \"nepce\", feed_through = { \"wheel.suspension_force/wheel.chassis_velocity\" = 1e3 } }",
        "correction/feed_through",
        json!({ "wheel.suspension_force/wheel.chassis_velocity": 1000.0 }),
    );
    check("correction = \"energy\"", "correction/kind", json!("energy"));
    check("refresh = true", "refresh", json!(true));
    check("refresh = [\"wheel\"]", "refresh", json!(["wheel"]));
    check(
        "estimator = { kind = \"predictor\", tolerance = { \"chassis.velocity\" = 1e-4 } }\ncontroller = \"i\"",
        "controller/kind",
        json!("i"),
    );
    check("estimator = \"energy\"\ncontroller = \"ecco\"", "estimator/kind", json!("energy"));
}

#[test]
fn monitors_watch_without_steering() {
    let (summary, header) =
        run("estimator = \"energy\"\nmonitors = [\"predictor\", { kind = \"energy\", tolerance = 1e-3 }]");
    let errors: Vec<&str> = header.iter().map(String::as_str).filter(|h| h.starts_with("error.")).collect();
    assert_eq!(errors, ["error.energy", "error.predictor", "error.energy2"]);
    assert_eq!(summary["steps"]["accepted"], 2000, "the step stays constant");
}

/// The claims of the papers, on the ledger of one run each.
#[test]
fn better_methods_leave_less_residual_energy() {
    let plain = residual("");
    let better = |method: &str, factor: f64| {
        let r = residual(method);
        assert!(r < factor * plain, "{method}: {r} J against {plain} J");
    };
    better("hold = 1", 0.1);
    better("correction = { kind = \"nepce\", alpha = 0.95 }", 0.6);
    better("correction = { kind = \"nepce\", alpha = 0.95, feed_through = \"model\" }", 0.6);
}

#[test]
fn ecco_spends_fewer_steps_for_less_residual() {
    let ecco = Lab::with(EXAMPLE);
    let summary = ecco.runs(&[]).summary();
    let fixed = Lab::with(plain());
    let constant = fixed.runs(&["-s", "1e-3"]).summary();
    let of = |s: &Value| (s["steps"]["accepted"].as_u64(), s["bonds"][0]["residual_abs"].as_f64());
    let ((n, r), (n_fixed, r_fixed)) = (of(&summary), of(&constant));
    assert!(n <= n_fixed && r < r_fixed, "{n:?} steps, {r:?} J against {n_fixed:?} steps, {r_fixed:?} J");
}

#[test]
fn the_meter_follows_the_chosen_rule() {
    let of = |method: &str| run(method).0["bonds"][0].clone();
    let (rectangle, trapezoid) = (of("meter = \"rectangle\""), of("meter = \"trapezoid\""));
    assert_eq!(of(""), of("meter = \"held\""), "what was held is the default");
    assert_eq!(of("")["endpoint_residual"], rectangle["endpoint_residual"]);
    assert_eq!(rectangle["endpoint_residual"], trapezoid["endpoint_residual"]);
    assert_ne!(rectangle["residual"], trapezoid["residual"]);
}

#[test]
fn a_hold_beyond_what_a_model_follows_is_said() {
    let lab = Lab::with(&format!("{}\n[method]\nhold = 2\n", plain()));
    let ran = lab.run(&["-s", "1e-3", "--set", "wheel.input_derivatives=0"]);
    assert_eq!(ran.code, 0);
    assert!(
        ran.err.contains("warning: `wheel.chassis_velocity`: hold order 2 is not supported"),
        "{}",
        ran.err
    );
}
