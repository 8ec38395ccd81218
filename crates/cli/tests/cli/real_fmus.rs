//! What real FMUs do and a user must get right numbers or a word for, with the project's own C FMUs.

use crate::lab::{Lab, edit};

/// Puts the FMU `name` of `crates/fmi/tests/fmus` into a lab, its description changed by `change`.
fn place(lab: &Lab, name: &str, folder: &str, change: impl Fn(String) -> String) {
    lab.place(name, folder);
    let description = format!("{folder}/modelDescription.xml");
    let xml = std::fs::read_to_string(lab.dir.join(&description)).unwrap();
    lab.write(&description, change(xml));
}

fn alone(name: &str) -> Lab {
    let lab = Lab::new();
    place(&lab, name, name, |xml| xml);
    lab
}

/// x = u + 10 i + 100 b + 1000 (length of s), computed in `fmiInitializeSlave` and never again. The source gives u = 4 · 0.5.
#[test]
fn inputs_of_fmi_1_are_set_before_it_initializes() {
    let system = |inputs: &str, more: &str| {
        let lab = Lab::with(&format!(
            "[simulation]\nstop = 0.2\nstep = 0.1\n[subsystems.a]\nfmu = \"a\"\n{more}[inputs]\n{inputs}"
        ));
        place(&lab, "init1", "a", |xml| xml);
        lab
    };
    let check = |lab: Lab, wanted: f64| {
        lab.runs(&[]);
        let x = lab.results().column("a.x");
        assert!(x.iter().all(|x| *x == wanted), "{x:?}, wanted {wanted}");
    };
    check(system("\"a.u\" = 2.5\n\"a.i\" = 3\n\"a.b\" = true\n", ""), 132.5);
    check(system("\"a.u\" = { step = { time = 0.15, from = 2, to = 9 } }\n", ""), 2.0);
    let table = system("\"a.u\" = { table = \"t.csv\" }\n", "");
    table.write("t.csv", "time,u\n0,7\n1,9\n");
    check(table, 7.0);
    let source = "[subsystems.g]\nmodel = \"algebraic/gain\"\nparameters = { gain = 4 }\n\
                  [[connections]]\nfrom = \"g.y\"\nto = \"a.u\"\n";
    check(system("\"g.u\" = 0.5\n", source), 2.0);
    // In a ring none is known before the other: the second instance is initialized with what the first one led to.
    let ring =
        "[subsystems.b]\nfmu = \"a\"\nstart = { i = 2 }\n[[connections]]\nfrom = \"b.x\"\nto = \"a.u\"\n";
    check(system("", ring), 20.0);
}

/// held = d as it was at the start of the last step: with d held between rows, that is a value of the table.
#[test]
fn discrete_reals_are_held_whatever_feeds_them() {
    let lab = alone("odd2");
    lab.write("in.csv", "time,d\n0,1\n0.45,2\n0.8,4\n");
    let ran =
        lab.powerbond(&["run", "odd2", "-e", "1", "-s", "0.1", "--input", "in.csv", "--output-dir", "out"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let held = lab.results().column("odd2.held");
    assert!(held.iter().all(|x| [0.0, 1.0, 2.0, 4.0].contains(x)), "{held:?}");
    // Coupled to a smooth source with a line as hold: d is what the source was at the last communication point, 0.1 (n - 1).
    let lab = Lab::with(
        "[simulation]\nstop = 1.0\nstep = 0.1\n[method]\nhold = 1\n[subsystems.a]\nfmu = \"a\"\n[subsystems.g]\nmodel = \"algebraic/gain\"\n\
         [[connections]]\nfrom = \"g.y\"\nto = \"a.d\"\n[inputs]\n\"g.u\" = { ramp = { start = 0, end = 1, to = 1 } }\n",
    );
    place(&lab, "odd2", "a", |xml| xml);
    lab.runs(&[]);
    let held = lab.results().right().column("a.held");
    for (n, x) in held.iter().enumerate().skip(1) {
        assert!((x - 0.1 * (n as f64 - 1.0)).abs() < 1e-12, "step {n}: {x}");
    }
}

/// x' = k u with u = 1: k is 1, from 0.35 s on 3 and from 0.7 s on 0, so x(1) = 0.35 + 3 · 0.35.
#[test]
fn tunable_parameters_follow_tables_as_events() {
    let lab = alone("odd2");
    lab.write("in.csv", "time,k,u\n0,1,1\n0.35,3,1\n0.7,0,1\n");
    let ran =
        lab.powerbond(&["run", "odd2", "-e", "1", "-s", "0.1", "--input", "in.csv", "--output-dir", "out"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let x = *lab.results().column("odd2.x").last().unwrap();
    assert!((x - 1.4).abs() < 1e-12, "{x}");
    let lab = Lab::with(
        "[simulation]\nstop = 1.0\nstep = 0.1\n[subsystems.a]\nfmu = \"a\"\n[inputs]\n\"a.k\" = { sine = { frequency = 1 } }\n",
    );
    place(&lab, "odd2", "a", |xml| xml);
    let ran = lab.run(&[]);
    assert_eq!(ran.code, 3, "{}", ran.err);
    assert!(ran.err.contains("system.toml:7:1: `a.k` is a tunable parameter"), "{}", ran.err);
}

#[test]
fn enumerations_are_fed_by_name() {
    let lab = alone("odd2");
    lab.write("in.csv", "time,gear\n0,low\n0.45,high\n");
    let ran =
        lab.powerbond(&["run", "odd2", "-e", "1", "-s", "0.1", "--input", "in.csv", "--output-dir", "out"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let given = lab.results().column("odd2.given");
    assert_eq!((given[0], *given.last().unwrap()), (1.0, 9.0));
    let system = "[simulation]\nstop = 1.0\n[subsystems.a]\nfmu = \"a\"\n[inputs]\n\"a.gear\" = \"middle\"\n";
    let lab = Lab::with(system);
    place(&lab, "odd2", "a", |xml| xml);
    lab.runs(&[]);
    assert!(lab.results().column("a.given").iter().all(|x| *x == 4.0));
    lab.write("system.toml", edit(system, "middle", "midle"));
    let ran = lab.run(&[]);
    assert_eq!(ran.code, 3, "{}", ran.err);
    assert!(ran.err.contains("no item `midle`. Did you mean `middle`?"), "{}", ran.err);
    lab.write("system.toml", edit(system, "\"middle\"", "5"));
    let ran = lab.run(&[]);
    assert_eq!(ran.code, 3, "{}", ran.err);
    assert!(ran.err.contains("system.toml:6:1: `a.gear` has no item with the value 5"), "{}", ran.err);
}

/// low is 1, middle 4 and high 9: the input starts with one name, a scenario overrides it by another one and releases it.
#[test]
fn enumerations_are_named_in_scenarios_and_typing_errors_in_tables_are_found() {
    let lab = Lab::with(
        "[simulation]\nstop = 1.0\nstep = 0.1\n[subsystems.a]\nfmu = \"a\"\nstart = { gear = \"middle\" }\n",
    );
    place(&lab, "odd2", "a", |xml| xml);
    let event = |time: f64, what: &str| format!("  - {{ time: {time}, model: a, variable: gear, {what} }}\n");
    let scenario = |name: &str| {
        let events = [event(0.3, &format!("action: override, value: {name}")), event(0.6, "action: reset")];
        lab.write("s.yml", format!("events:\n{}{}", events[0], events[1]));
        lab.run(&["--scenario", "s.yml"])
    };
    let ran = scenario("high");
    assert_eq!(ran.code, 0, "{}", ran.err);
    let results = lab.results();
    assert_eq!([0.1, 0.5, 0.9].map(|t| results.at(t, "a.given")), [4.0, 9.0, 4.0]);
    for (name, says) in [
        ("hihg", "`a.gear` has no item `hihg`. Did you mean `high`?"),
        ("5", "5 is not a value of this type"),
    ] {
        let ran = scenario(name);
        assert_eq!(ran.code, 3, "{}", ran.err);
        assert!(ran.err.contains("s.yml:2") && ran.err.contains(says), "{}", ran.err);
    }
    lab.write("in.csv", "time,gear\n0,low\n0.5,hgh\n");
    let ran = lab.powerbond(&["run", "a", "--input", "in.csv"]);
    assert_eq!(ran.code, 3, "{}", ran.err);
    assert!(ran.err.contains("in.csv:3: column `gear`: no item `hgh`. Did you mean `high`?"), "{}", ran.err);
}

/// 2⁵³ + 1 and 2⁶⁴ − 1 are no reals.
#[test]
fn parameters_of_64_bits_keep_their_digits() {
    for (value, fits) in
        [("9007199254740993", true), ("18446744073709551615", true), ("18446744073709551616", false)]
    {
        let lab = Lab::with(&format!(
            "[simulation]\nstop = 1.0\n[subsystems.a]\nfmu = \"a\"\nparameters = {{ big = {value} }}\n"
        ));
        place(&lab, "events3", "a", |xml| xml);
        let ran = lab.run(&[]);
        assert_eq!(ran.code, if fits { 0 } else { 3 }, "{value}: {}", ran.err);
    }
}

/// FMI 2: a discarded step with `fmi2Terminated` ends at 0.55 s; FMI 3: `terminateSimulation` in a step, and at an event at 0.5 s.
#[test]
fn an_fmu_may_end_the_simulation() {
    for (name, mode, end) in [("odd2", 5, 0.55), ("events3", 5, 0.55), ("events3", 3, 0.5)] {
        let lab = alone(name);
        let set = format!("mode={mode}");
        let ran = lab.powerbond(&["run", name, "-e", "1", "-s", "0.1", "--set", &set, "--output-dir", "out"]);
        assert_eq!(ran.code, 0, "{name} {mode}: {}", ran.err);
        assert!(
            ran.err.contains(&format!("`{name}` ended the simulation at {end} s")),
            "{name} {mode}: {}",
            ran.err
        );
        let time = lab.results().column("time");
        assert!((time.last().unwrap() - end).abs() < 1e-12, "{name} {mode}: {time:?}");
        assert_eq!(lab.summary()["outcome"], "finished");
    }
    // Beside another subsystem the run ends at the last communication point of both.
    let lab = Lab::with(
        "[simulation]\nstop = 1.0\nstep = 0.1\n[subsystems.a]\nfmu = \"a\"\nparameters = { mode = 5 }\n\
         [subsystems.b]\nmodel = \"algebraic/gain\"\n[[connections]]\nfrom = \"a.x\"\nto = \"b.u\"\n",
    );
    place(&lab, "odd2", "a", |xml| xml);
    let ran = lab.run(&[]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.err.contains("`a` ended the simulation at 0.55 s"), "{}", ran.err);
    assert!((lab.results().column("time").last().unwrap() - 0.5).abs() < 1e-12);
}

/// A run of 1 s in steps of 0.3 s has no whole number of them: the rest is left out, and said, instead of failing at its end.
#[test]
fn fmus_that_take_one_step_length_are_never_asked_for_another() {
    let lab = Lab::new();
    place(&lab, "odd2", "odd2", |xml| {
        edit(
            &xml,
            "canHandleVariableCommunicationStepSize=\"true\"",
            "canHandleVariableCommunicationStepSize=\"false\"",
        )
    });
    let ran =
        lab.powerbond(&["run", "odd2", "-e", "1", "-s", "0.3", "--set", "mode=7", "--output-dir", "out"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(
        ran.err.contains("the run ends at 0.9 s instead of 1 s: a subsystem takes steps of one size only"),
        "{}",
        ran.err
    );
    lab.write("in.csv", "time,u\n0,1\n0.35,1\n0.35,2\n1,2\n");
    let ran = lab.powerbond(&[
        "run",
        "odd2",
        "-e",
        "1",
        "-s",
        "0.3",
        "--set",
        "mode=7",
        "--input",
        "in.csv",
        "--output-dir",
        "out",
        "--overwrite",
    ]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.err.contains("is moved to 0.6 s"), "{}", ran.err);
}

/// Everything changes at 0.5 s: that is one event, whatever the types. rate = r + i + b + p = 2 + 3 + 1 + 4 from there on.
#[test]
fn inputs_that_change_together_are_one_event() {
    let step = |to: &str| format!("{{ step = {{ time = 0.5, to = {to} }} }}");
    let lab = Lab::with(&format!(
        "[simulation]\nstop = 1.0\nstep = 0.1\n[subsystems.a]\nfmu = \"a\"\n[inputs]\n\"a.r\" = {}\n\"a.i\" = {}\n\"a.b\" = {}\n\"a.p\" = {}\n",
        step("2"),
        step("3"),
        step("1"),
        step("4")
    ));
    place(&lab, "events3", "a", |xml| xml);
    lab.runs(&[]);
    let results = lab.results();
    // `events` counts calls of `fmi3EnterEventMode`. Initialization ends in Event Mode without one, so the first row has 0.
    let events = results.column("a.events");
    assert_eq!((events[0], events[events.len() - 1]), (0.0, 1.0));
    let x = *results.column("a.x").last().unwrap();
    assert!((x - 0.5 * 10.0).abs() < 1e-12, "{x}");
    assert_eq!(lab.summary()["steps"]["events"], 1);
}

/// After each of its ten steps the source has another string, "somebody n", and another count of steps n, which go to a string and a
/// discrete real. They arrive together before the next step: one event at each of the nine communication points 0.1, …, 0.9, and none
/// at the end, where no step follows. With rate = r + (length of s) = n + 10 from 0.1 n on, and r = 0 with "somebody 0" before,
/// x(1) = 0.1 Σ (n + 10) = 0.1 (45 + 100).
#[test]
fn strings_and_numbers_of_one_communication_point_are_one_event() {
    let lab = Lab::with(
        "[simulation]\nstop = 1.0\nstep = 0.1\n[subsystems.a]\nfmu = \"a\"\n[subsystems.w]\nfmu = \"w\"\n\
         [[connections]]\nfrom = \"w.said\"\nto = \"a.s\"\n[[connections]]\nfrom = \"w.steps\"\nto = \"a.r\"\n",
    );
    place(&lab, "events3", "a", |xml| xml);
    place(&lab, "words3", "w", |xml| xml);
    lab.runs(&[]);
    let results = lab.results();
    assert_eq!(results.column("a.events").last(), Some(&9.0));
    let x = *results.column("a.x").last().unwrap();
    assert!((x - 14.5).abs() < 1e-12, "{x}");
}

#[test]
fn events_that_cannot_be_are_errors_with_a_name() {
    for (mode, says) in [
        (1, "`fmi3UpdateDiscreteStates` returned a nextEventTime in the past"),
        (2, "`fmi3UpdateDiscreteStates` returned discreteStatesNeedUpdate without end"),
    ] {
        let lab = alone("events3");
        let set = format!("mode={mode}");
        let ran =
            lab.powerbond(&["run", "events3", "-e", "1", "-s", "0.1", "--set", &set, "--output-dir", "out"]);
        assert_eq!(ran.code, 4, "mode {mode}: {}", ran.err);
        assert!(ran.err.contains("error: events3: ") && ran.err.contains(says), "mode {mode}: {}", ran.err);
    }
}

/// The first step beyond 0.25 s comes back early with an event there; x(1) = i · 1 all the same.
#[test]
fn early_return_with_events_works() {
    let lab = Lab::with(
        "[simulation]\nstop = 1.0\nstep = 0.1\n[subsystems.a]\nfmu = \"a\"\nparameters = { mode = 4 }\noptions = { events = true }\n\
         [inputs]\n\"a.i\" = 2\n",
    );
    place(&lab, "events3", "a", |xml| xml);
    lab.runs(&[]);
    let results = lab.results();
    // As above; the event is handled inside the step that it interrupted, and the end of that step is no event of the FMU.
    let events = results.column("a.events");
    assert_eq!((events[0], events[events.len() - 1]), (0.0, 1.0));
    let x = *results.column("a.x").last().unwrap();
    assert!((x - 2.0).abs() < 1e-12, "{x}");
}

/// FMUs of one exporter call the logger with `componentEnvironment = 0x1`.
#[test]
fn a_hostile_environment_pointer_is_not_followed() {
    let lab = alone("odd2");
    let ran =
        lab.powerbond(&["run", "odd2", "-e", "1", "-s", "0.1", "--set", "mode=1", "--output-dir", "out"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let log = std::fs::read_to_string(lab.dir.join("out/log.txt")).unwrap();
    assert_eq!(
        log.lines().filter(|line| line.starts_with("odd2 [Warning, hostile]: step from")).count(),
        10,
        "{log}"
    );
}

/// The thread of an instance that is lost logs on while the process ends: nothing that it uses may be gone.
#[test]
fn threads_of_a_lost_instance_do_no_harm() {
    let lab = alone("odd2");
    for _ in 0..12 {
        let ran = lab.powerbond(&[
            "run",
            "odd2",
            "-e",
            "1",
            "-s",
            "0.1",
            "--set",
            "mode=2",
            "--output-dir",
            "out",
            "--overwrite",
        ]);
        assert_eq!(ran.code, 4, "{}", ran.err);
        assert!(ran.err.contains("`fmi2DoStep` returned fmi2Fatal"), "{}", ran.err);
    }
}

#[test]
fn a_local_variable_that_cannot_be_read_is_left_out() {
    let lab = Lab::with(
        "[simulation]\nstop = 1.0\nstep = 0.1\n[subsystems.a]\nfmu = \"a\"\n[record]\nvariables = [\"a.*\"]\n",
    );
    place(&lab, "odd2", "a", |xml| xml);
    let ran = lab.run(&[]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.err.contains("`a.refused`: not recorded, since the FMU refuses to read it"), "{}", ran.err);
    let header = lab.results().header;
    assert!(header.contains(&"a.sets".to_owned()) && !header.contains(&"a.refused".to_owned()), "{header:?}");
}

/// Inputs and outputs are recorded by default; parameters and local variables are not.
#[test]
fn inputs_and_outputs_are_recorded_by_default() {
    let lab = alone("odd2");
    let ran = lab.powerbond(&["run", "odd2", "-s", "0.1", "--output-dir", "out"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(
        lab.results().header,
        ["time", "odd2.u", "odd2.d", "odd2.x", "odd2.held", "odd2.given", "odd2.gear"].map(str::to_owned)
    );
    // No stop time anywhere: one second, said in one line.
    assert!(ran.err.contains("the FMU has no default stop time: the run ends at 1 s"), "{}", ran.err);
    assert_eq!(lab.summary()["time"]["reached"], 1.0);
}

/// An FMU without outputs shows what changes inside it: x and y of x' = k u, u = 0, so that x stays at x0 = 0; not its parameters.
#[test]
fn local_variables_are_recorded_where_there_are_no_outputs() {
    let lab = Lab::new();
    place(&lab, "integrator2", "a", |xml| {
        edit(&xml.replace("causality=\"output\"", "causality=\"local\""), "<Outputs><Unknown index=\"2\" dependencies=\"\"/><Unknown index=\"3\" dependencies=\"1\"/></Outputs>", "")
            .replace("<InitialUnknowns><Unknown index=\"2\" dependencies=\"6\"/><Unknown index=\"3\" dependencies=\"1 6\"/></InitialUnknowns>", "")
    });
    let ran = lab.powerbond(&["run", "a", "--output-dir", "out"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(lab.results().header, ["time", "a.u", "a.x", "a.y"].map(str::to_owned));
    let shown = lab.powerbond(&["inspect", "a"]);
    assert!(shown.out.contains("  x          local       Float64"), "{}", shown.out);
}

/// The first screen of an FMU with long words of its own: it fits, descriptions stand to the left, and settings of the tool
/// that made it are left for `--all`.
#[test]
fn the_first_screen_fits_whatever_the_tool_writes() {
    let lab = Lab::new();
    place(&lab, "integrator2", "a", |xml| {
        let long =
            "a model with a description that goes on and on, as those that people generate from comments do";
        let xml = edit(&xml, "x' = k u", long);
        let xml = edit(
            &xml,
            "description=\"speed\"",
            "description=\"2 of 3 speeds that a  long\nsentence is about\"",
        );
        let xml = xml.replace("\"m/s\"", "\"kilogram * meter ** 2 / second\"");
        edit(&xml, "name=\"d\"", "name=\"_block_solver_experimental_mode\"")
    });
    let shown = lab.powerbond(&["inspect", "a"]);
    assert!(shown.out.lines().all(|line| line.chars().count() <= 80), "{}", shown.out);
    let row = "  u          input       Float64     0.0   kilogram * me…   2 of 3 speeds that …";
    assert!(shown.out.contains(row), "{}", shown.out);
    assert!(!shown.out.contains("_block"), "{}", shown.out);
    assert!(shown.out.contains("… 1 more parameter; `--all` shows every variable"), "{}", shown.out);
    assert!(lab.powerbond(&["inspect", "a", "--all"]).out.contains("_block_solver_experimental_mode"));
}

#[test]
fn words_in_undeclared_categories_arrive_without_orders_for_the_terminal() {
    for (mode, options) in
        [(3, "logging = true"), (4, "logging = true"), (3, "log_categories = [\"secret\"]")]
    {
        let lab = Lab::with(&format!(
            "[simulation]\nstop = 1.0\nstep = 0.1\n[subsystems.a]\nfmu = \"a\"\nparameters = {{ mode = {mode} }}\noptions = {{ {options} }}\n"
        ));
        place(&lab, "odd2", "a", |xml| xml);
        let ran = lab.run(&[]);
        assert_eq!(ran.code, 4, "{}", ran.err);
        assert!(ran.err.contains("the bearing broke"), "{}", ran.err);
        assert!(!ran.err.contains('\u{1b}') && !ran.err.contains('\u{7}'), "{:?}", ran.err);
    }
}

/// x becomes NaN after 0.5 s; nothing is connected to it.
#[test]
fn what_is_not_a_number_is_found_in_outputs_that_nothing_is_connected_to() {
    let lab = alone("odd2");
    let run = |more: &[&str]| {
        let common =
            ["run", "odd2", "-e", "1", "-s", "0.1", "--set", "mode=6", "--output-dir", "out", "--overwrite"];
        lab.powerbond(&[&common[..], more].concat())
    };
    let ran = run(&[]);
    assert_eq!(ran.code, 4, "{}", ran.err);
    // The coupling of an FMU alone is not the cause: it used to be said to be.
    let told = "`odd2.x` became NaN (step from t = 0.5 s by 0.1 s). `--allow-nonfinite` continues";
    assert!(ran.err.contains(told), "{}", ran.err);
    assert_eq!(run(&["--allow-nonfinite"]).code, 0);
}

/// `check` initializes and makes no step: an FMU that fails in its first step is seen with `--probe` only.
#[test]
fn check_steps_nothing_unless_asked() {
    let lab = Lab::with("[simulation]\nstop = 1.0\nstep = 0.1\n[subsystems.a]\nfmu = \"a\"\n");
    place(&lab, "ranged2", "a", |xml| edit(&xml, "name=\"moody\"", "name=\"mood\""));
    let plain = lab.powerbond(&["check", "system.toml", "--set", "a.mood=1"]);
    assert_eq!(plain.code, 0, "{}", plain.err);
    assert!(!plain.err.contains("could not be probed"), "{}", plain.err);
    let probed = lab.powerbond(&["check", "system.toml", "--set", "a.mood=1", "--probe"]);
    assert_eq!(probed.code, 0, "{}", probed.err);
    assert!(probed.err.contains("could not be probed"), "{}", probed.err);
}

/// An FMU alone exchanges nothing: whatever its steps, there is nothing to judge, and a limit for errors is not checked.
#[test]
fn an_fmu_alone_is_not_judged() {
    let lab = alone("odd2");
    let common = ["run", "odd2", "-e", "1", "--output-dir", "out", "--overwrite"];
    for more in [&["-s", "0.1"][..], &["-s", "0.5"], &["-s", "0.1", "--max-error", "1%"]] {
        let ran = lab.powerbond(&[&common[..], more].concat());
        assert_eq!(ran.code, 0, "{}", ran.err);
        assert!(
            ran.out.starts_with("NOT JUDGED: nothing is coupled\n  - one subsystem alone"),
            "{}",
            ran.out
        );
        assert!(ran.out.contains("→ `--verify` runs it again"), "{}", ran.out);
        let verdict = &lab.summary()["verdict"];
        assert_eq!((&verdict["word"], &verdict["score"]), (&"not judged".into(), &serde_json::Value::Null));
        assert_eq!(verdict["reasons"][0]["code"], "nothing_coupled", "{verdict}");
        assert_eq!(
            ran.err.contains("for the error was not checked"),
            more.contains(&"--max-error"),
            "{}",
            ran.err
        );
    }
    // One that can be restored, moves, and integrates with its step exactly: what it is checked against says nothing of it.
    let lab = alone("integrator2");
    for more in [&["-s", "0.1"][..], &["-s", "0.1", "--verify"], &["--tolerance", "1e-3"]] {
        let ran = lab.powerbond(
            &[&["run", "integrator2", "-e", "1", "--output-dir", "out", "--overwrite"], more].concat(),
        );
        assert_eq!(ran.code, 0, "{}", ran.err);
        assert_eq!(lab.summary()["verdict"]["word"], "not judged", "{more:?}: {}", lab.summary()["verdict"]);
    }
    let page = lab.powerbond(&["report", "out"]);
    assert_eq!(page.code, 0, "{}", page.err);
    assert!(std::fs::read_to_string(lab.dir.join("out/report.html")).unwrap().contains("not judged"));
}

/// 1e11 steps of its own take hours whatever the step size; a default step is one of these. That is said before the run.
#[test]
fn tiny_steps_are_announced_before_the_run() {
    let lab = Lab::new();
    place(&lab, "integrator3", "tiny", |xml| {
        edit(
            &xml,
            "modelIdentifier=\"integrator3\"",
            "modelIdentifier=\"integrator3\" fixedInternalStepSize=\"1e-11\"",
        )
    });
    let ran = lab.powerbond(&["run", "tiny", "-s", "0.1", "--output-dir", "out"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let says = "warning: the FMU has a fixed internal step of 1e-11 s: 1e11 internal steps in this run, which may take hours";
    assert!(ran.err.starts_with(says), "{}", ran.err);
    // Of coupled FMUs, too, once.
    lab.write(
        "two.toml",
        "[simulation]\nstop = 1.0\nstep = 0.1\n[subsystems.a]\nfmu = \"tiny\"\n[subsystems.b]\nfmu = \"tiny\"\n\
         [[connections]]\nfrom = \"a.x\"\nto = \"b.u\"\nconvert_units = false\n",
    );
    let ran = lab.powerbond(&["run", "two.toml", "--output-dir", "two"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let says = "warning: `a` has a fixed internal step of 1e-11 s: 1e11 internal steps in this run, which may take hours";
    assert_eq!(ran.err.matches(says).count(), 1, "{}", ran.err);
    place(&lab, "odd2", "small", |xml| {
        edit(&xml, "<ModelVariables>", "<DefaultExperiment stepSize=\"1e-9\"/><ModelVariables>")
    });
    let ran = lab.powerbond(&["check", "small"]);
    assert!(ran.err.contains("the FMU proposes a step of 1e-9 s: 1e9 steps"), "{}", ran.err);
}

/// What `column` of `out/results.csv` says, as it is written.
fn written(lab: &Lab, column: &str) -> Vec<String> {
    let text = std::fs::read_to_string(lab.dir.join("out/results.csv")).unwrap();
    let mut lines = text.lines();
    let place = lines.next().unwrap().split(',').position(|name| name == column).expect(column);
    lines.map(|line| line.split(',').nth(place).unwrap().to_owned()).collect()
}

/// wide_out = wide + 1 and big_out = big. Numbers of double precision near 2⁶⁰ are 256 apart, near 2⁶⁴ 2048.
#[test]
fn integers_of_64_bits_keep_their_digits_from_end_to_end() {
    let first = (1i64 << 60) + 1;
    let system = |input: &str, more: &str| {
        let lab = Lab::with(&format!(
            "[simulation]\nstop = 0.4\nstep = 0.1\n[subsystems.a]\nfmu = \"a\"\nparameters = {{ big = {} }}\n\
             [subsystems.b]\nfmu = \"a\"\n{more}[[connections]]\nfrom = \"a.wide_out\"\nto = \"b.wide\"\n\
             [inputs]\n\"a.wide\" = {input}\n",
            u64::MAX
        ));
        place(&lab, "events3", "a", |xml| xml);
        lab
    };
    let constant = system(&first.to_string(), "");
    constant.runs(&[]);
    for (column, value) in
        [("a.wide", first), ("a.wide_out", first + 1), ("b.wide", first + 1), ("b.wide_out", first + 2)]
    {
        let found = written(&constant, column);
        assert!(found.iter().all(|text| *text == value.to_string()), "{column}: {found:?}, wanted {value}");
    }
    assert!(written(&constant, "a.big_out").iter().all(|text| *text == u64::MAX.to_string()));
    let header = constant.results().header;
    assert!(!header.iter().any(|name| name.contains("digits")), "{header:?}");
    // A table: negative, and different in its last digits only.
    let table = system("{ table = \"t.csv\" }", "");
    table.write("t.csv", format!("time,a.wide\n0,{}\n0.2,{}\n", -first, -first - 1));
    table.runs(&[]);
    let found = written(&table, "b.wide_out");
    assert_eq!((&found[0], found.last().unwrap()), (&(-first + 2).to_string(), &(-first + 1).to_string()));
    // What is changed on the way is a number of double precision, and that is said.
    let sum = system(
        "1",
        "[[connections]]\nfrom = \"a.wide_out\"\nto = \"c.wide\"\ngain = 2\n[subsystems.c]\nfmu = \"a\"\n",
    );
    let ran = sum.run(&[]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let says = "`c.wide`: integers beyond 2^53 are rounded, since it has a gain or an offset";
    assert!(ran.err.contains(says), "{}", ran.err);
    assert!(written(&sum, "c.wide").iter().all(|text| text == "4"));
    // A step and a scenario have numbers of double precision only.
    let step = system("{ step = { time = 0.2, to = 9007199254740993 } }", "").run(&[]);
    assert_eq!(step.code, 3, "{}", step.err);
    assert!(
        step.err.contains("`a.wide`: integers from 2^53 on would be rounded in a `step`"),
        "{}",
        step.err
    );
    let changed = system("1", "");
    let event = "{ time: 0.2, model: a, variable: wide, action: override, value: 9007199254740993 }";
    changed.write("s.yml", format!("events:\n  - {event}\n"));
    let ran = changed.run(&["--scenario", "s.yml"]);
    assert_eq!(ran.code, 3, "{}", ran.err);
    assert!(ran.err.contains("integers from 2^53 on would be rounded in a scenario"), "{}", ran.err);
}

/// Coupled, an FMU that can neither go back nor have a second instance is stepped no further than it proposes, since nothing would show
/// errors of its own steps. The method alone would come to longer steps, as it does where there may be two instances.
#[test]
fn a_proposed_step_is_the_longest_where_nothing_else_can_tell() {
    let longest = |once: &str| {
        let lab = Lab::with(
            "[simulation]\nstop = 10.0\n[subsystems.a]\nfmu = \"a\"\n[subsystems.g]\nmodel = \"algebraic/gain\"\n\
             parameters = { gain = -1 }\n[[connections]]\nfrom = \"a.x\"\nto = \"g.u\"\n[[connections]]\nfrom = \"g.y\"\nto = \"a.u\"\n",
        );
        place(&lab, "odd2", "a", |xml| {
            let once = format!("modelIdentifier=\"odd2\" canBeInstantiatedOnlyOncePerProcess=\"{once}\"");
            let xml = edit(&xml, "modelIdentifier=\"odd2\"", &once);
            edit(&xml, "<ModelVariables>", "<DefaultExperiment stepSize=\"0.0005\"/><ModelVariables>")
        });
        lab.runs(&[]);
        lab.summary()["step_size"]["max"].as_f64().unwrap()
    };
    assert!(longest("true") <= 0.0005);
    assert!(longest("false") > 0.0005);
}

/// Rows that are not in their file when an FMU crashes at 0.5 s are put there by the supervisor, with all digits.
#[test]
fn integers_of_64_bits_survive_a_crash() {
    let lab = Lab::with(&format!(
        "[simulation]\nstop = 1.0\nstep = 0.1\n[subsystems.a]\nfmu = \"a\"\nparameters = {{ big = {} }}\n\
         [subsystems.t]\nfmu = \"t\"\nparameters = {{ fault = 6, place = 2 }}\n",
        u64::MAX
    ));
    place(&lab, "events3", "a", |xml| xml);
    place(&lab, "trap2", "t", |xml| xml);
    let ran = lab.run(&[]);
    assert!(ran.err.contains("SIGKILL"), "{}", ran.err);
    assert_eq!(written(&lab, "a.big_out"), vec![u64::MAX.to_string(); 6]);
}
