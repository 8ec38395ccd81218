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

/// The word of the verdict on a run of an example, and the largest relative rms error against its `expected.csv`.
fn judged(lab: &Lab, example: &str, file: &str, interval: &str) -> (String, f64) {
    let folder = root().join("examples").join(example);
    let system = if lab.dir.join("build.sh").is_file() { lab.dir.join(file) } else { folder.join(file) };
    let options = ["--output-dir", "out", "--overwrite", "--quiet", "--output-interval", interval];
    let ran = lab.powerbond(&[&["run", system.to_str().unwrap()], &options[..]].concat());
    assert_eq!(ran.code, 0, "{example}/{file}: {}", ran.err);
    let expected = folder.join("expected.csv");
    let compared = lab.powerbond(&["compare", "out", expected.to_str().unwrap(), "--json"]).json();
    let errors =
        compared["variables"].as_array().unwrap().iter().map(|v| v["relative_rms"].as_f64().unwrap());
    let word = lab.summary()["verdict"]["word"].as_str().unwrap().to_owned();
    (word, errors.fold(0.0, f64::max))
}

/// `system.toml` names no method, and its verdict is what the monolithic solution says. The papers' methods beside it have the
/// errors that the READMEs list.
#[test]
fn the_default_method_is_trustworthy_where_its_models_are_accurate() {
    let check = |example: &str, file: &str, interval: &str, word: &str, low: f64, high: f64| {
        let (found, error) = judged(&Lab::new(), example, file, interval);
        assert_eq!(found, word, "{example}/{file}");
        assert!((low..high).contains(&error), "{example}/{file}: {error}");
    };
    check("oscillator", "system.toml", "0.05", "trustworthy", 0.0, 1e-3);
    check("oscillator", "uncorrected.toml", "0.05", "unreliable", 0.5, 0.8);
    check("oscillator", "energy-correction.toml", "0.05", "unreliable", 0.06, 0.09);
    check("oscillator", "refresh.toml", "0.05", "unreliable", 4e-3, 5e-3);
    check("crane", "system.toml", "0.05", "trustworthy", 0.0, 1e-4);
    check("crane", "uncorrected.toml", "0.05", "unreliable", 0.1, 0.3);
    check("crane", "refresh.toml", "0.05", "unreliable", 2e-3, 4e-3);
    check("pendula", "system.toml", "0.1", "trustworthy", 0.0, 1e-3);
    check("pendula", "refresh.toml", "0.1", "check", 0.0, 2e-3);
}

/// The folder of an example in a lab of its own, without what somebody built there.
fn copied(example: &str) -> Lab {
    let lab = Lab::new();
    for entry in std::fs::read_dir(root().join("examples").join(example)).unwrap().flatten() {
        let path = entry.path();
        if path.is_file() && path.extension().is_none_or(|ending| ending != "fmu") {
            std::fs::copy(path, lab.dir.join(entry.file_name())).unwrap();
        }
    }
    lab
}

/// The same with its FMUs, made by its own script.
fn built(example: &str) -> Lab {
    let lab = copied(example);
    let output = std::process::Command::new("sh").arg("build.sh").current_dir(&lab.dir).output().unwrap();
    assert!(output.status.success(), "{example}: {}", String::from_utf8_lossy(&output.stderr));
    lab
}

/// Examples whose FMUs need a C compiler only; `tests/python/test_examples.py` runs all of them. The errors are those of their
/// READMEs, against SciPy's solution of the whole.
#[test]
fn examples_with_fmus_are_as_right_as_their_verdict_says() {
    for (example, interval, error) in [("dc-motor", "0.01", 2e-3), ("hydraulic-cylinder", "0.01", 5e-3)] {
        let lab = built(example);
        let (word, found) = judged(&lab, example, "system.toml", interval);
        assert_eq!(word, "trustworthy", "{example}");
        assert!(found < error, "{example}: {found}");
    }
    let lab = built("hydraulic-cylinder");
    let ran = lab.run(&["-s", "5e-4"]);
    assert!(ran.code == 0 && ran.out.starts_with("UNRELIABLE: "), "{}{}", ran.err, ran.out);
    let ran = lab.run(&["-s", "1e-3"]);
    assert!(ran.code == 7 && ran.err.contains("the coupling is unstable"), "{}", ran.err);
}

/// A brake has the unit of the torque that drives the load, and is not fed by the motor for that: the system would stand still, and be
/// called trustworthy.
#[test]
fn new_couples_the_motor_to_its_load_and_not_to_the_brake() {
    let lab = built("dc-motor");
    let made = lab.powerbond(&["new", "motor.fmu", "load.fmu", "--yes", "--output", "mine.toml"]);
    assert_eq!(made.code, 0, "{}", made.err);
    let text = std::fs::read_to_string(lab.dir.join("mine.toml")).unwrap();
    assert!(text.contains("to = \"load.torque\"") && !text.contains("to = \"load.brake\""), "{text}");
    assert!(text.contains("\n[bonds."), "{text}");
    let ran = lab.powerbond(&["run", "mine.toml", "--output-dir", "out"]);
    assert!(ran.code == 0 && ran.out.starts_with("TRUSTWORTHY: "), "{}{}", ran.err, ran.out);
    // 24 V over k = 0.1 V.s, less what friction takes: 24 k/(k² + R d) rad/s.
    let speed = *lab.results().column("load.speed").last().unwrap();
    close(speed, 24.0 * 0.1 / (0.01 + 0.5 * 1e-4), 1e-3);
}

#[test]
fn fmus_that_are_not_built_yet_are_named_with_the_script() {
    let ran = copied("dc-motor").run(&[]);
    assert_eq!(ran.code, 3, "{}", ran.out);
    for part in
        ["system.toml:11:7: ", "motor.fmu: it cannot be opened", "build.sh` builds the FMUs of this folder"]
    {
        assert!(ran.err.contains(part), "`{part}` in\n{}", ran.err);
    }
}

#[test]
fn a_missing_compiler_is_named_with_its_cure() {
    let lab = Lab::new();
    let output = std::process::Command::new("sh")
        .args(["build.sh", lab.dir.to_str().unwrap()])
        .env("CC", "no-such-compiler")
        .current_dir(root().join("examples/dc-motor"))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        !output.status.success() && text.contains("`no-such-compiler` is missing, a C compiler: install gcc"),
        "{text}"
    );
}
