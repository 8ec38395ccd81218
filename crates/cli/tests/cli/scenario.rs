//! Scenarios: what happens to variables at known times.

use crate::lab::{EXAMPLE, Lab, Ran, close, edit, plain};

/// Runs the quarter car with a scenario; it must succeed.
#[track_caller]
fn played(system: &str, scenario: &str, options: &[&str]) -> Lab {
    let lab = Lab::with(system);
    lab.write("s.yml", scenario);
    lab.runs(&[&["--scenario", "s.yml"], options].concat());
    lab
}

#[test]
fn inputs_are_overridden_biased_and_released_at_exact_times() {
    let scenario = "
description: a road with a step
defaults: { model: wheel, variable: road, action: override }
events:
  - { time: 0.25, value: 0.5 }
  - { time: 0.35, action: bias, value: 1 }
  - { time: 0.55, action: bias, value: -1 }
  - { time: 0.75, action: reset }
  - { time: 0.85, value: 7 }
end: 0.95
";
    // Without the scenario the road rises from 0 to 1 in 1 s.
    let ramp = "\"wheel.road\" = { ramp = { start = 0.0, end = 1.0, to = 1.0 } }";
    let system = edit(plain(), "\"wheel.road\" = 0.1", ramp);
    let lab = played(&system, scenario, &["-e", "2", "-s", "0.1"]);
    let results = lab.results();
    for (t, road) in [
        (0.1 * 2.0, 0.2),
        (0.25, 0.5),
        (0.1 * 3.0, 0.5),
        (0.35, 1.35),
        (0.5, 1.5),
        (0.55, -0.45),
        (0.75, 0.75),
        (0.1 * 8.0, 0.8),
        (0.85, 7.0),
        (0.95, 0.95),
        (2.0, 1.0),
    ] {
        close(results.at(t, "wheel.road"), road, 1e-14);
    }
    assert_eq!(lab.summary()["config"]["simulation"]["scenario"], "s.yml");
    assert_eq!(lab.summary()["hashes"]["scenario"].as_str().map(str::len), Some(64));
}

/// Times count from the start of the run, as in libcosim.
#[test]
fn times_count_from_the_start() {
    let scenario = "events: [ { time: 0.5, model: wheel, variable: road, action: override, value: 9 } ]";
    let lab = played(plain(), scenario, &["-b", "10", "-e", "11", "-s", "0.1"]);
    assert_eq!(lab.results().at(10.5, "wheel.road"), 9.0);
    assert!(lab.results().column("wheel.road")[4] != 9.0);
}

/// An input that nothing feeds has its start value until something happens to it.
#[test]
fn an_input_that_nothing_feeds_can_be_driven() {
    let scenario = r#"{ "events": [ { "time": 0.5, "model": "wheel", "variable": "road", "action": "bias", "value": 2 } ] }"#;
    let system = edit(plain(), "\"wheel.road\" = 0.1\n", "");
    let lab = played(&system, scenario, &["-e", "1", "-s", "0.1"]);
    let road = lab.results().right().column("wheel.road");
    assert_eq!((road[0], road[4], road[5], road[10]), (0.0, 0.0, 2.0, 2.0));
}

/// With a constant force F on a mass m, v grows by F Δt/m whatever the method: an event must cut the coupling exactly,
/// and nothing of the past may reach beyond it.
#[test]
fn a_coupled_input_is_overridden_under_every_method() {
    let scenario = "
events:
  - { time: 0.3, model: chassis, variable: force, action: override, value: 100 }
  - { time: 0.7, model: chassis, variable: force, action: reset }
";
    let rate = edit(plain(), "quarter-car/chassis\"", "quarter-car/chassis\"\nrate = 4");
    let weak = plain()
        .replace("mass = 400.0", "mass = 400.0, input_derivatives = 0, refresh = \"no\"")
        .replace("micro_steps = 10", "micro_steps = 10, input_derivatives = 0, refresh = \"no\"");
    for (system, method) in [
        (plain(), ""),
        (plain(), "hold = 2"),
        (plain(), "schedule = { kind = \"gauss-seidel\", seen = \"latest\" }"),
        (plain(), "schedule = { kind = \"gauss-seidel\", seen = \"between\" }\nhold = 1"),
        (plain(), "hold = 1\ncorrection = { kind = \"nepce\", alpha = 0.5 }\nrefresh = true"),
        (
            plain(),
            "hold = 1\nestimator = { kind = \"richardson\", tolerance = 1e-2 }\ncontroller = { kind = \"rollback\", min_step = 1e-8, max_step = 1e-2 }",
        ),
        (
            plain(),
            "hold = 1\nestimator = { kind = \"energy\", tolerance = 1e-5, energy_scale = 750.0 }\ncontroller = { kind = \"ecco\", min_step = 1e-5, max_step = 1e-2 }",
        ),
        (&rate, "hold = 1"),
        (plain(), "kind = \"auto\""),
        (&weak, "kind = \"auto\""),
    ] {
        let lab = played(&format!("{system}\n[method]\n{method}\n"), scenario, &["-e", "1", "-s", "1e-3"]);
        let results = lab.results().right();
        let gained = results.at(0.7, "chassis.velocity") - results.at(0.3, "chassis.velocity");
        assert!((gained - 100.0 * 0.4 / 400.0).abs() < 1e-12, "{method}: {gained}");
        let (time, force) = (results.column("time"), results.column("chassis.force"));
        let spring = results.column("wheel.suspension_force");
        for (i, &t) in time.iter().enumerate() {
            let cut = (0.3..0.7).contains(&t);
            let expected = if cut { 100.0 } else { -spring[i] };
            assert_eq!(force[i], expected, "{method}: t = {t}");
        }
        assert_eq!(lab.summary()["steps"]["events"], 2, "{method}");
    }
}

/// The receivers of an output get the changed value; its own column keeps what the model computed.
#[test]
fn a_biased_output_reaches_its_receivers() {
    let scenario = "
events:
  - { time: 0.5, model: wheel, variable: suspension_force, action: bias, value: 10 }
  - { time: 0.75, model: wheel, variable: suspension_force, action: override, value: 3 }
";
    let lab = played(plain(), scenario, &["-e", "1", "-s", "0.01"]);
    let results = lab.results();
    let sum = |t| results.at(t, "chassis.force") + results.at(t, "wheel.suspension_force");
    close(sum(0.5), -10.0, 1e-9);
    assert_eq!(results.at(0.75, "chassis.force"), -3.0);
    assert_eq!(results.at(1.0, "chassis.force"), -3.0);
}

/// x' = k u with u = 1: the integral of k.
#[test]
fn a_tunable_parameter_of_an_fmu_changes() {
    for version in [2, 3] {
        let lab = Lab::with(
            "[simulation]\nstop = 1.0\nstep = 0.1\n[subsystems.a]\nfmu = \"a\"\nparameters = { k = 2.0 }\n[inputs]\n\"a.u\" = 1.0\n",
        );
        lab.place(&format!("integrator{version}"), "a");
        lab.write(
            "s.yml",
            "defaults: { model: a, variable: k }\nevents:\n  - { time: 0.25, action: override, value: 6 }\n  - { time: 0.5, action: bias, value: 1 }\nend: 0.75\n",
        );
        lab.runs(&["--scenario", "s.yml"]);
        // k = 2, 6, 2 + 1, 2, a quarter of a second each.
        close(*lab.results().column("a.x").last().unwrap(), 0.25 * (2.0 + 6.0 + 3.0 + 2.0), 1e-12);
    }
}

#[test]
fn whole_numbers_and_booleans_take_their_own_values() {
    let lab = Lab::with("[simulation]\nstop = 1.0\nstep = 0.25\n[subsystems.a]\nfmu = \"a\"\n");
    lab.place("types2", "a");
    let play = |events: &str| {
        lab.write("s.yml", format!("defaults: {{ model: a, action: override }}\nevents:\n{events}"));
        lab.run(&["--scenario", "s.yml"])
    };
    let ran = play(
        "  - { time: 0.5, variable: bool_in, value: true }\n  - { time: 0.5, variable: int_in, value: 3 }\n  - { time: 0.75, variable: int_in, action: bias, value: -4 }\n",
    );
    assert_eq!(ran.code, 0, "{}", ran.err);
    let results = lab.results();
    // Two rows at 0.5 s and at 0.75 s: before and after.
    assert_eq!(results.column("a.bool_in"), [0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0]);
    assert_eq!(results.column("a.int_in"), [0.0, 0.0, 0.0, 3.0, 3.0, -4.0, -4.0]);
    let check = |event: &str, wanted: &str| says(&play(&format!("  - {event}\n")), wanted);
    check(
        "{ time: 0, variable: int_in, value: 1.5 }",
        "s.yml:3:41: `a.int_in` is an integer; 1.5 is not a value of this type",
    );
    check(
        "{ time: 0, variable: bool_in, value: 3 }",
        "`a.bool_in` is a boolean; 3 is not a value of this type",
    );
    check(
        "{ time: 0, variable: real_in, value: yes }",
        "`a.real_in` is a real number; true is not a value of this type",
    );
    check(
        "{ time: 0, variable: bool_in, action: bias, value: true }",
        "`bias` is not supported; use `override`",
    );
}

#[track_caller]
fn says(ran: &Ran, wanted: &str) {
    assert_eq!(ran.code, 3, "{}", ran.err);
    assert!(ran.err.contains(wanted), "`{wanted}` in\n{}", ran.err);
}

#[test]
fn what_does_not_fit_the_system_is_said_with_file_and_line() {
    let lab = Lab::with(EXAMPLE);
    let check = |event: &str, wanted: &str| {
        lab.write("s.yml", format!("events:\n  - {{ time: 1, action: override, value: 1, {event} }}\n"));
        says(&lab.run(&["--scenario", "s.yml"]), wanted);
        assert!(!lab.dir.join("out").exists());
    };
    check("model: weel, variable: road", "s.yml:2:51: unknown subsystem `weel`. Did you mean `wheel`?");
    check("model: wheel, variable: raod", ": unknown variable `raod`. Did you mean `road`?");
    check("model: wheel, variable: mass", "cannot change while it runs");
    check("model: wheel, variable: position", "computed by the model");
    lab.write("s.yml", "events: [");
    says(&lab.run(&["--scenario", "s.yml"]), "s.yml:");
    says(&lab.run(&["--scenario", "none.yml"]), "cannot read none.yml");
    lab.write("s.yml", [0xff, 0xfe, 0x00]);
    says(&lab.run(&["--scenario", "s.yml"]), "not a text file");
}

#[test]
fn a_fixed_parameter_of_an_fmu_does_not_change() {
    let lab = Lab::with("[simulation]\nstop = 1.0\n[subsystems.a]\nfmu = \"a\"\n");
    lab.place("integrator2", "a");
    for (variable, wanted) in [("d", "not tunable"), ("x0", "not tunable")] {
        lab.write(
            "s.yml",
            format!(
                "events: [ {{ time: 0.5, model: a, variable: {variable}, action: override, value: 1 }} ]"
            ),
        );
        says(&lab.run(&["--scenario", "s.yml"]), wanted);
    }
}

#[test]
fn events_without_effect_are_warned_of() {
    let lab = Lab::with(EXAMPLE);
    lab.write("s.yml", "events: [ { time: 9, model: wheel, variable: road, action: override, value: 1 } ]");
    let ran = lab.run(&["--scenario", "s.yml"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.err.contains("s.yml:1:19: the event at 9 s after the start is not reached"), "{}", ran.err);
}

#[test]
fn the_system_file_may_name_the_scenario() {
    let system = edit(plain(), "stop = 4.0", "stop = 1.0\nscenario = \"s.yml\"");
    let lab = Lab::with(&system);
    says(&lab.run(&[]), "system.toml:");
    lab.write("s.yml", "events: [ { time: 0.5, model: wheel, variable: road, action: override, value: 9 } ]");
    lab.write("t.yml", "events: [ { time: 0.5, model: wheel, variable: road, action: override, value: 8 } ]");
    lab.runs(&["-s", "0.1"]);
    assert_eq!(lab.results().at(0.5, "wheel.road"), 9.0);
    lab.runs(&["-s", "0.1", "--scenario", "t.yml"]);
    assert_eq!(lab.results().at(0.5, "wheel.road"), 8.0);
}
