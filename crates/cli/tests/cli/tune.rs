//! `tune`: methods on one's own system.

use crate::lab::{EXAMPLE, Lab, close, edit, plain};
use serde_json::Value;

fn curve<'a>(tuning: &'a Value, name: &str) -> &'a Value {
    let methods = tuning["methods"].as_array().unwrap();
    methods.iter().find(|m| m["name"] == name).unwrap_or_else(|| panic!("no {name}"))
}

/// The error of the run whose step is `level` times that of the system.
fn error_at(tuning: &Value, name: &str, level: f64) -> f64 {
    let runs = curve(tuning, name)["runs"].as_array().unwrap();
    runs.iter().find(|run| run["level"] == level).unwrap()["error"].as_f64().unwrap()
}

/// Steps of a second, so that debug builds are quick; accurate subsystems, so that only the coupling errs.
fn car() -> String {
    let system = edit(plain(), "stop = 4.0", "stop = 1.0");
    let system = edit(&system, "step = 1e-4", "step = 2e-3");
    let system = edit(&system, "mass = 400.0", "mass = 400.0, integrator = \"accurate\"");
    edit(&system, "micro_steps = 10", "integrator = \"accurate\"")
}

#[test]
fn the_quarter_car_is_tuned() {
    let lab = Lab::with(&car());
    let ran = lab.powerbond(&["tune", "system.toml", "--output-dir", "out", "--json", "--error", "0.1%"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let tuning = ran.json();
    assert!(tuning["reference"]["error"].as_f64().unwrap() < 1e-4, "{}", tuning["reference"]);
    let errors = |name: &str| -> Vec<f64> {
        let runs = curve(&tuning, name)["runs"].as_array().unwrap();
        runs.iter().filter_map(|run| run["error"].as_f64()).collect()
    };
    // A constant hold has order 1, a line order 2: a fourth of the step, a fourth and a sixteenth of the error.
    let gain = |name| error_at(&tuning, name, 1.0) / error_at(&tuning, name, 0.25);
    close(gain("constant"), 4.0, 0.25);
    close(gain("constant, hold 1"), 16.0, 0.35);
    assert!(errors("ECCO").len() >= 4 && errors("ECCO + NEPCE").len() >= 4);
    assert!(errors("auto").iter().all(|e| *e < 0.1), "{:?}", errors("auto"));
    // The choice is the cheapest of those that are good enough.
    let chosen = &tuning["choice"];
    let run =
        &curve(&tuning, chosen["name"].as_str().unwrap())["runs"][chosen["run"].as_u64().unwrap() as usize];
    assert!(run["error"].as_f64().unwrap() <= 1e-3);
    for method in tuning["methods"].as_array().unwrap() {
        for other in method["runs"].as_array().unwrap() {
            let good = other["error"].as_f64().is_some_and(|e| e <= 1e-3);
            assert!(!good || other["calls"].as_u64() >= run["calls"].as_u64(), "{other}");
        }
    }
    // What was written is used as it is, and does what was promised.
    let ran = lab.powerbond(&["run", "system.toml", "--method", "out/tuned.toml", "--output-dir", "tuned"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let summary: Value =
        serde_json::from_str(&std::fs::read_to_string(lab.dir.join("tuned/summary.json")).unwrap()).unwrap();
    assert_eq!(summary["steps"]["accepted"], run["steps"]);
    // It is a part of a system file, too.
    let tuned = std::fs::read_to_string(lab.dir.join("out/tuned.toml")).unwrap();
    assert!(tuned.contains(chosen["block"].as_str().unwrap()));
    let system = edit(&car(), "step = 2e-3", "");
    let system = match tuned.split_once("[method]").unwrap() {
        (head, method) if head.contains("step = ") => {
            let step = head.lines().find(|l| l.starts_with("step = ")).unwrap();
            edit(&system, "stop = 1.0", &format!("stop = 1.0\n{step}")) + "\n[method]" + method
        }
        (_, method) => system + "\n[method]" + method,
    };
    lab.write("system.toml", system);
    lab.runs(&[]);
    assert_eq!(lab.summary()["steps"]["accepted"], run["steps"]);
    let picture = std::fs::read_to_string(lab.dir.join("out/tune.svg")).unwrap();
    assert!(picture.starts_with("<svg ") && picture.contains("class=\"ring\""));
}

#[test]
fn the_table_says_what_could_not_be_run() {
    // Without bonds nothing steers by energy.
    let lab = Lab::with(car().split("# Both products").next().unwrap());
    let ran = lab.powerbond(&["tune", "system.toml", "--budget", "5", "--output-dir", "out"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("c  ECCO "), "{}", ran.out);
    assert_eq!(ran.out.matches("needs power bonds; the system has none").count(), 7, "{}", ran.out);
    assert!(
        ran.out.contains("← chosen") && ran.out.contains("tuned.toml and tune.svg are in out"),
        "{}",
        ran.out
    );
    // The coarse runs of an unstable split fail or are far off; that is a result, not an error.
    let lab = Lab::with(&car());
    let ran = lab.powerbond(&[
        "tune",
        "system.toml",
        "-s",
        "0.02",
        "--json",
        "--output-dir",
        "out",
        "--error",
        "5%",
    ]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let tuning = ran.json();
    let coarse = &curve(&tuning, "constant")["runs"][0];
    assert!(coarse["failure"].is_string() || coarse["error"].as_f64().unwrap() > 0.2, "{coarse}");
}

#[test]
fn a_wish_that_nothing_fulfils_ends_with_7() {
    let lab = Lab::with(&car());
    let ran = lab.powerbond(&["tune", "system.toml", "--error", "0", "--output-dir", "out"]);
    assert_eq!(ran.code, 7, "{}", ran.err);
    assert!(ran.err.contains("no run has an error of 0 % or less"), "{}", ran.err);
    assert!(ran.out.contains("the most accurate; none has an error of 0 % or less"), "{}", ran.out);
    assert!(lab.dir.join("out/tuned.toml").exists());
}

#[test]
fn fmus_are_made_anew_for_every_run() {
    let lab = Lab::with(
        "[simulation]\nstop = 1.0\nstep = 0.01\n[subsystems.a]\nfmu = \"a\"\nparameters = { x0 = 1.0 }\n[subsystems.b]\nfmu = \"b\"\n[[connections]]\nfrom = \"a.x\"\nto = \"b.u\"\nconvert_units = false\n[[connections]]\nfrom = \"b.x\"\nto = \"a.u\"\ngain = -1.0\nconvert_units = false\n",
    );
    lab.place("integrator2", "a");
    lab.place("integrator3", "b");
    let ran = lab.powerbond(&["tune", "system.toml", "--json", "--output-dir", "out", "--budget", "10"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let tuning = ran.json();
    // x' = y, y' = -x with zero-order holds: order 1.
    close(error_at(&tuning, "constant", 1.0) / error_at(&tuning, "constant", 0.25), 4.0, 0.2);
}

#[test]
fn what_cannot_be_tuned_is_refused() {
    let lab = Lab::with("[simulation]\nstop = 1.0\n[subsystems.a]\nmodel = \"quarter-car/chassis\"\n");
    let ran = lab.powerbond(&["tune", "system.toml"]);
    assert_eq!(ran.code, 3, "{}", ran.err);
    assert!(ran.err.contains("all methods give the same result"), "{}", ran.err);
    // Nothing moves without a road.
    let lab = Lab::with(&edit(&car(), "\"wheel.road\" = 0.1", "\"wheel.road\" = 0.0"));
    let ran = lab.powerbond(&["tune", "system.toml"]);
    assert_eq!(ran.code, 3, "{}", ran.err);
    assert!(ran.err.contains("all coupled outputs are constant"), "{}", ran.err);
    let lab = Lab::with(EXAMPLE);
    for wrong in [["--budget", "0"], ["--error", "-1"], ["--error", "good"]] {
        assert_eq!(lab.powerbond(&[&["tune", "system.toml"], &wrong[..]].concat()).code, 2, "{wrong:?}");
    }
    assert_eq!(lab.powerbond(&["tune", "system.toml", "--set", "chassis.mas=1"]).code, 3);
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_it() {
    let lab = Lab::with(EXAMPLE);
    let child = lab.command(&["tune", "system.toml", "-s", "1e-6", "--budget", "600"]).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(500));
    let kill = format!("kill -INT {}", child.id());
    assert!(std::process::Command::new("sh").args(["-c", &kill]).status().unwrap().success());
    let sent = std::time::Instant::now();
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(130));
    assert!(sent.elapsed() < std::time::Duration::from_secs(1));
}

/// A thousandth of the run, not the first step of `auto`: methods are compared at steps that people would take.
#[test]
fn a_system_without_a_step_is_tuned_around_a_thousandth_of_the_run() {
    let lab = Lab::with(&edit(&car(), "step = 2e-3", ""));
    let ran = lab.powerbond(&["tune", "system.toml", "--output-dir", "out", "--json"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let tuning = ran.json();
    let runs = curve(&tuning, "constant")["runs"].as_array().unwrap();
    let middle = runs.iter().find(|run| run["level"] == 1.0).unwrap();
    close(middle["value"].as_f64().unwrap(), 1e-3, 1e-12);
}
