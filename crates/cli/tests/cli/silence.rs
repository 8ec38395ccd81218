//! Slips that a run would hide: what was forgotten, taken for something else, or not listened to, is said.

use crate::lab::{EXAMPLE, Lab, edit, plain};

/// The quarter car with the default method and no step of its own.
fn automatic() -> String {
    edit(plain(), "step = 1e-4", "")
}

/// What a run of `system` warns of.
#[track_caller]
fn warned(system: &str, options: &[&str]) -> String {
    let lab = Lab::with(system);
    let ran = lab.run(options);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let warnings = lab.summary()["warnings"].clone();
    assert_eq!(ran.err.lines().count(), warnings.as_array().unwrap().len(), "{}", ran.err);
    ran.err
}

#[test]
fn an_input_that_nothing_feeds_is_named_with_its_value() {
    assert_eq!(warned(plain(), &[]), "");
    let road = edit(plain(), "\"wheel.road\" = 0.1", "");
    let said = warned(&road, &[]);
    assert!(said.contains("not connected: `wheel.road` (start value 0 m). Connect it, or"), "{said}");
    let cut = plain().split("[bonds").next().unwrap();
    let cut =
        edit(cut, "[[connections]]\nfrom = \"chassis.velocity\"\nto = \"wheel.chassis_velocity\"\n", "");
    let said = warned(&cut, &[]);
    assert!(said.contains("not connected: `wheel.chassis_velocity` (start value 0 m/s)"), "{said}");
    // The output that was most likely forgotten has the same name.
    let forgotten = "[simulation]\nstop = 1.0\n[subsystems.a]\nmodel = \"oscillator/mass\"\n\
        [subsystems.b]\nmodel = \"oscillator/force-giver\"\n\
        [[connections]]\nfrom = \"a.position\"\nto = \"b.position\"\n\
        [[connections]]\nfrom = \"a.velocity\"\nto = \"b.velocity\"\n";
    let said = warned(forgotten, &[]);
    assert!(said.contains("`a.force` (start value 0 N; `b.force` has its name)"), "{said}");
    let lab = Lab::with(&road);
    let checked = lab.powerbond(&["check", "system.toml"]);
    assert!(checked.err.contains("not connected: `wheel.road`"), "{}\n{}", checked.err, checked.out);
}

#[test]
fn a_scenario_or_a_table_feeds_an_input() {
    let road = edit(plain(), "\"wheel.road\" = 0.1", "");
    let lab = Lab::with(&road);
    lab.write(
        "s.yml",
        "events:\n  - { time: 1, model: wheel, variable: road, action: override, value: 0.1 }\n",
    );
    assert_eq!(lab.run(&["--scenario", "s.yml"]).err, "");
    lab.write("in.csv", "time,wheel.road\n0,0\n1,0.1\n");
    assert_eq!(lab.run(&["--input", "in.csv"]).err, "");
}

#[test]
fn nothing_that_moved_is_no_proof() {
    let lab = Lab::with(&edit(plain(), "\"wheel.road\" = 0.1", ""));
    let ran = lab.run(&[]);
    assert!(
        ran.out.contains("all coupled variables are constant: an error of the coupling would not show"),
        "{}",
        ran.out
    );
}

/// With a tolerance the step bounds the first one, which is 1e-8 of the run of 4 s; without, it is constant.
#[test]
fn a_step_beside_a_tolerance_bounds_the_first_one() {
    let lab = Lab::with(EXAMPLE);
    let first = |options: &[&str]| lab.runs(options).energy().column("step_size")[0];
    assert_eq!(first(&["--tolerance", "1e-3", "--step-size", "1e-9"]), 1e-9);
    assert_eq!(first(&["--tolerance", "1e-3", "--step-size", "1e-5"]), 4e-8);
    assert_eq!(first(&["--tolerance", "1e-3"]), 4e-8);
    let lab = Lab::with(&automatic());
    let steps = lab.runs(&["--step-size", "1e-3"]).energy().column("step_size");
    assert!(steps.iter().all(|h| (h - 1e-3).abs() < 1e-12));
}

#[test]
fn a_tolerance_may_be_in_percent() {
    let lab = Lab::with(EXAMPLE);
    let tolerance = |text: &str| {
        lab.runs(&["--tolerance", text]).summary()["config"]["method"]["estimator"]["tolerance"].clone()
    };
    assert_eq!(tolerance("0.1%"), tolerance("1e-3"));
    let written = |text: &str| {
        let lab = Lab::with(&format!("{}[method]\nkind = \"auto\"\ntolerance = {text}\n", automatic()));
        lab.runs(&[]).summary()["config"]["method"]["estimator"]["tolerance"].clone()
    };
    assert_eq!(written("\"0.1%\""), written("1e-3"));
}

#[test]
fn more_than_the_whole_is_written_in_percent() {
    let lab = Lab::with(EXAMPLE);
    for option in ["--max-error", "--max-energy-residual"] {
        let ran = lab.run(&[option, "5"]);
        assert_eq!(ran.code, 2, "{}", ran.err);
        assert!(ran.err.contains("5 would be 500 %; write 5% or 500%"), "{}", ran.err);
        assert_eq!(lab.run(&[option, "500%"]).code, 0);
    }
    for value in ["5", "\"5\""] {
        let ran = Lab::with(&format!("{EXAMPLE}\n[verdict]\nmax_error = {value}\n")).run(&[]);
        assert_eq!(ran.code, 3, "{}", ran.err);
        assert!(ran.err.contains("5 would be 500 %; write 5% or 500%"), "{}", ran.err);
    }
}

#[test]
fn tables_whose_first_column_is_no_time_in_s_are_refused() {
    let system = edit(plain(), "\"wheel.road\" = 0.1", "\"wheel.road\" = { table = \"road.csv\" }");
    let lab = Lab::with(&system);
    for (text, said) in [
        ("0,0\n1,0.1\n2,0.1\n", "road.csv:1: found numbers, expected a header"),
        ("z,time\n0,0\n1,1\n", "the first column is `z`; expected `time` first"),
        ("time [ms],z\n0,0\n1000,0.1\n", "the first column is `time [ms]`; expected times in s"),
        ("time;z\n0;0\n1;0,1\n", "road.csv:1: found one column, expected values separated by commas"),
    ] {
        lab.write("road.csv", text);
        let ran = lab.run(&[]);
        assert_eq!(ran.code, 3, "{text}");
        assert!(ran.err.contains(said), "{}", ran.err);
    }
    // What spreadsheets write is read.
    lab.write("road.csv", "\u{feff}time (s),z\r\n0,0\r\n1,0.1\r\n");
    assert_eq!(lab.run(&[]).err, "");
}

#[test]
fn signals_beyond_the_run_are_named() {
    let check = |signal: &str, said: &str| {
        let system = edit(plain(), "\"wheel.road\" = 0.1", &format!("\"wheel.road\" = {signal}"));
        let lab = Lab::with(&system);
        lab.write("road.csv", "time,z\n10,0\n11,0.1\n");
        let ran = lab.run(&[]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        assert!(ran.err.contains(&format!("`wheel.road` is constant during the run: {said}")), "{}", ran.err);
    };
    check("{ step = { time = 10, to = 0.1 } }", "its step is at 10 s, the run is from 0 s to 4 s");
    check("{ ramp = { start = 4, end = 5, to = 0.1 } }", "its ramp begins at 4 s");
    check("{ ramp = { start = -2, end = -1, to = 0.1 } }", "its ramp ends at -1 s");
    check("{ table = \"road.csv\" }", "its table goes from 10 s to 11 s");
    assert_eq!(warned(&edit(plain(), "= 0.1", "= { step = { time = 0, to = 0.1 } }"), &[]), "");
}

/// Two files in one folder do not share a folder of results.
#[test]
fn results_have_the_name_of_the_file_or_of_its_folder() {
    let lab = Lab::new();
    let nameless = edit(EXAMPLE, "name = \"quarter car\"", "");
    std::fs::create_dir(lab.dir.join("car")).unwrap();
    for file in ["car/system.toml", "car/stiff.toml", "soft.toml"] {
        lab.write(file, &nameless);
    }
    for (system, name) in [("car", "car"), ("car/stiff.toml", "stiff"), ("soft.toml", "soft")] {
        assert_eq!(lab.powerbond(&["run", system, "--quiet"]).code, 0);
        assert!(lab.dir.join("results").join(name).join("summary.json").is_file(), "{name}");
    }
    let mut inside = lab.command(&["run", ".", "--quiet"]);
    assert!(inside.current_dir(lab.dir.join("car")).status().unwrap().success());
    assert!(lab.dir.join("car/results/car/summary.json").is_file());
}

/// Whole numbers and booleans of FMUs are not rounded to what was not written.
#[test]
fn inputs_take_values_that_fit_them() {
    let lab = Lab::new();
    lab.place("types2", "a");
    let run = |inputs: &str| {
        let text = "[simulation]\nstop = 1.0\nstep = 0.1\n[subsystems.a]\nfmu = \"a\"\n[inputs]\n";
        lab.write("system.toml", format!("{text}\"a.real_in\" = 0.5\n{inputs}\n"));
        lab.run(&[])
    };
    for (inputs, said) in [
        ("\"a.int_in\" = 2.5", "system.toml:8:1: `a.int_in` is an integer; 2.5 is not a value of this type"),
        ("\"a.bool_in\" = 3", "`a.bool_in` is a boolean; 3 is not a value of this type"),
        ("\"a.gear_in\" = { step = { time = 0.5, to = 1.5 } }", "`a.gear_in` is an enumeration; 1.5"),
    ] {
        let ran = run(inputs);
        assert_eq!(ran.code, 3, "{inputs}");
        assert!(ran.err.contains(said), "{}", ran.err);
    }
    let ran = run("\"a.int_in\" = 2\n\"a.bool_in\" = true");
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(lab.results().column("a.bool_in")[3], 1.0);
    assert!(ran.err.contains("not connected: `a.gear_in` (start value 0"), "{}", ran.err);
}
