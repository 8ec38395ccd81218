//! The project's own C FMUs in the command: what exporters do not do.

use crate::lab::{Lab, edit};

/// Puts the FMU `name` of `crates/fmi/tests/fmus` into a lab, as an unpacked folder, its description changed by `change`.
fn place(lab: &Lab, name: &str, folder: &str, change: impl Fn(String) -> String) {
    lab.place(name, folder);
    let description = format!("{folder}/modelDescription.xml");
    let xml = std::fs::read_to_string(lab.dir.join(&description)).unwrap();
    lab.write(&description, change(xml));
}

/// Two integrators in a ring: x' = y, y' = −x.
const RING: &str = r#"[simulation]
stop = 1.0
step = 0.1
[subsystems.a]
fmu = "a"
[subsystems.b]
fmu = "b"
[[connections]]
from = "a.x"
to = "b.u"
convert_units = false
[[connections]]
from = "b.x"
to = "a.u"
gain = -1.0
convert_units = false
"#;

#[test]
fn strict_checks_refuse_what_is_understood_all_the_same() {
    let lab = Lab::with(RING);
    place(&lab, "integrator2", "a", |xml| xml);
    place(&lab, "integrator3", "b", |xml| xml);
    let clean = lab.powerbond(&["check", "system.toml", "--strict"]);
    assert_eq!(clean.code, 0, "{}", clean.err);
    assert!(!clean.out.contains("finding"), "{}", clean.out);

    let odd = |xml: String| {
        let xml = edit(&xml, "<CoSimulation ", "<CoSimulation isFriendly=\"true\" ");
        edit(&xml, "nominal=\"10\"", "nominal=\"1,0\"")
    };
    place(&lab, "integrator2", "a", odd);
    let line = |part: &str| {
        let text = std::fs::read_to_string(lab.dir.join("a/modelDescription.xml")).unwrap();
        1 + text.lines().position(|l| l.contains(part)).unwrap()
    };
    let tolerant = lab.powerbond(&["check", "system.toml"]);
    assert_eq!(tolerant.code, 0, "{}", tolerant.err);
    assert!(tolerant.out.contains("2 finding(s)"), "{}", tolerant.out);
    let strict = lab.powerbond(&["check", "system.toml", "--strict"]);
    assert_eq!(strict.code, 3, "{}", strict.err);
    for wanted in [
        format!("finding: a: modelDescription.xml:{}: ", line("isFriendly")),
        format!("finding: a: modelDescription.xml:{}: `nominal` is `1,0`", line("1,0")),
        "system.toml: 2 finding(s) with --strict".to_owned(),
    ] {
        assert!(strict.err.contains(&wanted), "`{wanted}` in\n{}", strict.err);
    }
    let document = lab.powerbond(&["check", "system.toml", "--strict", "--json"]);
    assert_eq!((document.code, &document.json()["findings"][0]["line"]), (3, &line("isFriendly").into()));
}

/// Two FMUs that talk to each other, one of FMI 2.0, one of FMI 3.0.
const TALK: &str = r#"record.variables = "*"
[simulation]
stop = 1.0
step = 0.1
[subsystems.a]
fmu = "a"
parameters = { name = "Änne" }
[subsystems.b]
fmu = "b"
parameters = { name = "b" }
[[connections]]
from = "a.said"
to = "b.heard"
[[connections]]
from = "b.said"
to = "a.heard"
"#;

/// Both count the steps of the other as they hear of them: at the end of step n what was said at its beginning, n − 1.
#[test]
fn texts_travel_between_all_versions() {
    for (a, b) in [("words2", "words3"), ("words2", "words2"), ("words3", "words3"), ("words3", "words2")] {
        let lab = Lab::with(TALK);
        place(&lab, a, "a", |xml| xml);
        place(&lab, b, "b", |xml| xml);
        lab.runs(&[]);
        let results = lab.results();
        for column in ["a.number", "b.number"] {
            let wanted: Vec<f64> = (0..=10).map(|n| f64::from((n - 1).max(0))).collect();
            assert_eq!(results.column(column), wanted, "{a}, {b}: {column}");
        }
        assert!(!results.header.iter().any(|name| name.ends_with("said")), "texts are not recorded");
        // As many texts came as were new: one for the start and one per step.
        assert!(results.column("a.sets").last().unwrap() - 10.0 < 2.0, "{a}, {b}");
        let checked = lab.powerbond(&["check", "system.toml", "--graph", "g.svg"]);
        assert_eq!(checked.code, 0, "{}", checked.err);
        assert!(checked.out.contains("b.heard = a.said"), "{}", checked.out);
        let svg = std::fs::read_to_string(lab.dir.join("g.svg")).unwrap();
        assert!(svg.contains("heard") && svg.contains("said"));
    }
}

/// Steps in pairs are rolled back and repeated; texts come back with them.
#[test]
fn texts_are_taken_back_with_their_steps() {
    let method = "[method]\nmonitors = [\"richardson\"]\n";
    let rows = |method: &str, events: &str| {
        let system = edit(TALK, "fmu = \"b\"", &format!("fmu = \"b\"\noptions = {{ events = {events} }}"));
        // The estimate needs a number to compare.
        let number =
            "[subsystems.c]\nmodel = \"algebraic/gain\"\n[[connections]]\nfrom = \"a.steps\"\nto = \"c.u\"\n";
        let lab = Lab::with(&format!("{system}{number}{method}"));
        place(&lab, "words2", "a", |xml| xml);
        place(&lab, "words3", "b", |xml| xml);
        lab.runs(&[]);
        // With event mode, each new text is an event.
        let results = lab.results().right();
        ["a.number", "b.number"].map(|name| results.column(name))
    };
    let plain = rows("", "false");
    assert_eq!(rows(method, "false"), plain);
    assert_eq!(rows(method, "true"), plain);
    assert_eq!(rows("", "true"), plain, "with event mode, discrete inputs change in it");
}

#[test]
fn binaries_and_elements_of_arrays_travel() {
    let wires = "[[connections]]\nfrom = \"a.bytes_out\"\nto = \"b.bytes_in\"\n\
                 [[connections]]\nfrom = \"a.said\"\nto = \"b.pair[2]\"\n\
                 [[connections]]\nfrom = \"b.swapped[1]\"\nto = \"a.heard\"\n";
    let lab = Lab::with(&format!("{}{wires}", TALK.split("[[connections]]").next().unwrap()));
    place(&lab, "words3", "a", |xml| xml);
    place(&lab, "words3", "b", |xml| xml);
    lab.runs(&[]);
    let results = lab.results();
    // At the end of step n its inputs are those of its beginning: n − 1 bytes.
    let wanted: Vec<f64> = (0..=10).map(|n| f64::from((n - 1).max(0))).collect();
    assert_eq!(results.column("b.size"), wanted);
    // a hears its own words from the second element of b's pair, another step later.
    let wanted: Vec<f64> = (0..=10).map(|n| f64::from((n - 2).max(0))).collect();
    assert_eq!(results.column("a.number"), wanted);
}

#[test]
fn texts_and_binaries_connect_to_their_like_only() {
    let check = |from: &str, to: &str, more: &str, says: &[&str]| {
        let head = TALK.split("[[connections]]").next().unwrap();
        let head = edit(head, "record.variables = \"*\"\n", "");
        let lab = Lab::with(&format!("{head}[[connections]]\nfrom = {from}\nto = \"{to}\"\n{more}"));
        place(&lab, "words3", "a", |xml| xml);
        place(&lab, "words3", "b", |xml| {
            edit(
                &xml,
                "<UInt64 name=\"size\"",
                "<Float64 name=\"u\" valueReference=\"20\" causality=\"input\" start=\"0\"/><UInt64 name=\"size\"",
            )
        });
        let ran = lab.run(&[]);
        assert_eq!(ran.code, 3, "{from} → {to}: {}", ran.err);
        for part in ["system.toml:"].iter().chain(says) {
            assert!(ran.err.contains(part), "`{part}` in\n{}", ran.err);
        }
    };
    check(
        "\"a.said\"",
        "b.bytes_in",
        "",
        &["`a.said` is a string", "`b.bytes_in` is a binary of type text/csv"],
    );
    check("\"a.steps\"", "b.heard", "", &["`a.steps` is a real number", "`b.heard` is a string"]);
    check("\"a.said\"", "b.u", "", &["`a.said` is a string", "`b.u` is a real number"]);
    check("\"a.heard\"", "b.heard", "", &["`a.heard` is an input, expected an output"]);
    check("\"a.said\"", "b.said", "", &["`b.said` is an output, expected an input"]);
    check("\"a.said\"", "b.heard", "gain = 2", &["expected one source, without gain and offset"]);
    let twice = "[[connections]]\nfrom = \"b.said\"\nto = \"b.heard\"\n";
    check("\"a.said\"", "b.heard", twice, &["has a source already"]);
    check("\"a.sad\"", "b.heard", "", &[": unknown output `sad`"]);
    let recorded = "[record]\nvariables = [\"a.said\"]\n";
    check(
        "\"a.said\"",
        "b.heard",
        recorded,
        &["`a.said` is a string or a binary; only numbers are recorded"],
    );
    let external = "[inputs]\n\"b.heard\" = 1.0\n";
    check("\"a.said\"", "b.heard", external, &["`b.heard` is a string; expected a numeric variable"]);
}

#[test]
fn slopes_from_outputs_are_offered_and_refused() {
    let method = "[method]\nhold = 1\nslopes = \"outputs\"\n";
    let knows = |xml: String| {
        edit(&xml, "canInterpolateInputs", "maxOutputDerivativeOrder=\"1\" canInterpolateInputs")
    };
    let lab = Lab::with(&format!("{RING}{method}"));
    place(&lab, "integrator2", "a", knows);
    place(&lab, "integrator2", "b", |xml| xml);
    let ran = lab.run(&[]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(
        ran.err.contains("derivative of `a.u` is a difference of past values: `b` does not support"),
        "{}",
        ran.err
    );
    assert_eq!(lab.summary()["config"]["method"]["slopes"], "outputs");
    let shown = lab.powerbond(&["inspect", "a"]);
    assert!(shown.out.contains("output derivatives"), "{}", shown.out);
    let checked = lab.powerbond(&["check", "system.toml"]);
    assert!(checked.out.contains("* slopes outputs"), "{}", checked.out);
    let refused = |text: &str, says: &str| {
        lab.write("system.toml", text);
        let ran = lab.run(&[]);
        assert_eq!(ran.code, 3, "{}", ran.err);
        assert!(ran.err.contains("system.toml:") && ran.err.contains(says), "{}", ran.err);
    };
    refused(&format!("{RING}[method]\nslopes = \"outputs\"\n"), "set `hold = 1` or 2");
    refused(&format!("{RING}[method]\nhold = 1\nslopes = \"yes\"\n"), "one of \"differences\", \"outputs\"");
    place(&lab, "integrator2", "a", |xml| xml);
    refused(&format!("{RING}{method}"), "no connected subsystem supports output derivatives");
}

/// x rises at rate 1 to 0.35, where an event turns it round: x(1) = 0.35 − 0.65. Its clocks have no part in that.
#[test]
fn an_fmu_with_clocks_runs_and_says_which_never_tick() {
    let lab = Lab::with(
        "record.variables = \"*\"\n[simulation]\nstop = 1.0\nstep = 0.1\n[subsystems.a]\nfmu = \"a\"\nparameters = { limit = 0.35 }\n\
         start = { u = 1.0 }\noptions = { events = true }\n",
    );
    let clocks = "<Clock name=\"tick\" valueReference=\"30\" causality=\"input\" intervalVariability=\"constant\" intervalDecimal=\"0.1\" shiftDecimal=\"0.05\"/>\
                  <Clock name=\"counted\" valueReference=\"31\" causality=\"input\" intervalVariability=\"fixed\" resolution=\"1000\" intervalCounter=\"20\" supportsFraction=\"true\"/>\
                  <Clock name=\"hit\" valueReference=\"32\" causality=\"output\" intervalVariability=\"triggered\"/>";
    place(&lab, "integrator3", "a", |xml| {
        edit(&xml, "</ModelVariables>", &format!("{clocks}</ModelVariables>"))
    });
    let shown = lab.powerbond(&["inspect", "a"]);
    for part in [
        "tick (input, constant, every 0.1 s from 0.05 s on)",
        "counted (input, fixed, every 0.02 s)",
        "hit (output, triggered)",
    ] {
        assert!(shown.out.contains(part), "`{part}` in\n{}", shown.out);
    }
    let document = lab.powerbond(&["inspect", "a", "--json"]).json();
    let tick = document["variables"].as_array().unwrap().iter().find(|v| v["name"] == "tick").unwrap();
    assert_eq!((&tick["type"], &tick["clock"]["interval"]), (&"Clock".into(), &0.1.into()));
    let ran = lab.run(&[]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    for part in [
        "a: the clock `tick` (constant, every 0.1 s from 0.05 s on) is never activated",
        "a: activations of the clock `hit` (triggered) are not propagated",
    ] {
        assert!(ran.err.contains(part), "`{part}` in\n{}", ran.err);
    }
    let x = *lab.results().column("a.x").last().unwrap();
    assert!((x - (0.35 - 0.65)).abs() < 1e-12, "{x}");
}

/// The command jumps to 3 at 0.5, where the sixth step begins. In event mode it is set when it changes and never else.
#[test]
fn discrete_inputs_change_in_event_mode_where_it_is_used() {
    let run = |events: bool| {
        let lab = Lab::with(&format!(
            "record.variables = \"*\"\n[simulation]\nstop = 1.0\nstep = 0.1\n[subsystems.b]\nfmu = \"b\"\noptions = {{ events = {events} }}\n\
             [inputs]\n\"b.command\" = {{ step = {{ time = 0.5, to = 3.0 }} }}\n"
        ));
        place(&lab, "words3", "b", |xml| xml);
        lab.runs(&[]);
        (lab.results().column("b.obeyed"), *lab.results().column("b.sets").last().unwrap())
    };
    // Two rows at 0.5 s: the command jumps there, and is obeyed in the next step.
    let wanted = |first: usize| (0..12).map(|n| if n >= first { 3.0 } else { 0.0 }).collect::<Vec<f64>>();
    let (plain, often) = run(false);
    let (eventful, seldom) = run(true);
    assert_eq!((plain, eventful), (wanted(7), wanted(7)));
    // Ten steps, and one change.
    assert!(often - seldom >= 9.0, "{often}, {seldom}");
}

/// y = x + d u: the integrators compute it whenever they are asked; `cached2` only in initialization and in steps.
#[test]
fn whether_outputs_follow_inputs_is_tried_out() {
    let lab = Lab::new();
    place(&lab, "integrator2", "a", |xml| xml);
    let probed = lab.powerbond(&["inspect", "a", "--probe"]);
    assert_eq!(probed.code, 0, "{}", probed.err);
    for part in ["direct feed-through from u to y", "also after a step: refresh is supported"] {
        assert!(probed.out.contains(part), "`{part}` in\n{}", probed.out);
    }
    let document = lab.powerbond(&["inspect", "a", "--probe", "--json"]).json();
    let found = &document["probe"];
    assert_eq!(found["feed_through"], serde_json::json!([["y", "u"]]));
    assert_eq!((&found["reread"], &found["refresh"]), (&"plain".into(), &true.into()));
    assert!((found["gains"][0].as_f64().unwrap() - 0.5).abs() < 1e-9, "{found}");
    place(&lab, "cached2", "c", |xml| xml);
    let probed = lab.powerbond(&["inspect", "c", "--probe"]);
    assert!(probed.out.contains("not after a step: refresh is not supported"), "{}", probed.out);
}

/// y = 2 · 0.45 y' twice has the solution 0, and inputs start at 1. Residuals were relative to values that became as small, and the loop was
/// said to have no solution.
#[test]
fn an_algebraic_loop_whose_solution_is_zero_is_solved() {
    let lab = Lab::with(
        "[simulation]\nstop = 1.0\nstep = 0.1\n[subsystems.a]\nfmu = \"a\"\n[subsystems.b]\nfmu = \"b\"\n\
         [[connections]]\nfrom = \"a.y\"\nto = \"b.u\"\ngain = 0.45\n[[connections]]\nfrom = \"b.y\"\nto = \"a.u\"\ngain = 0.45\n",
    );
    place(&lab, "cached2", "a", |xml| xml);
    place(&lab, "cached2", "b", |xml| xml);
    lab.runs(&[]);
    for name in ["a.y", "b.y"] {
        let most = lab.results().column(name).iter().fold(0.0f64, |most, y| most.max(y.abs()));
        assert!(most < 1e-15, "{name}: {most}");
    }
}

/// x' = u = 1 in the background: x(1) = 1, also over a step that is discarded half-way. What it prints goes to the log.
#[test]
fn steps_in_the_background_are_waited_for_and_stdout_stays_ours() {
    for name in ["async2", "async1"] {
        let lab = Lab::new();
        place(&lab, name, "x", |xml| xml);
        let ran = lab.powerbond(&[
            "run",
            "x",
            "-e",
            "1",
            "-s",
            "0.1",
            "--set",
            "u=1",
            "--output-dir",
            "out",
            "--json",
        ]);
        assert_eq!(ran.code, 0, "{name}: {}", ran.err);
        let x = *lab.results().column("x.x").last().unwrap();
        assert!((x - 1.0).abs() < 1e-12, "{name}: {x}");
        for line in ran.out.lines() {
            let value: serde_json::Value = serde_json::from_str(line).expect("JSON lines only");
            assert!(value["hello"].is_null(), "{line}");
        }
    }
    let lab = Lab::new();
    place(&lab, "async2", "x", |xml| xml);
    let ran = lab.powerbond(&["run", "x", "-e", "1", "-s", "0.1", "--output-dir", "out"]);
    assert!(ran.out.starts_with("CHECK") || ran.out.contains("x: 0 s to 1 s"), "{}", ran.out);
    assert!(!ran.out.contains("step from") && !ran.err.contains("step from"), "{}{}", ran.out, ran.err);
    let log = std::fs::read_to_string(lab.dir.join("out/log.txt")).unwrap();
    for part in
        ["printed: {\"hello\": \"x\"}", "printed: step from 0.9", "printed: goodbye, without an end of line"]
    {
        assert!(log.contains(part), "`{part}` in\n{log}");
    }
    let shown = lab.powerbond(&["inspect", "x", "--probe", "--json"]);
    assert_eq!(shown.json()["co_simulation"]["asynchronous"], true);
}

/// `timer3` tells its first alarm (0.137 s) when initialization ends and the next one (0.25 s later) at each: the steps
/// end there, with every kind of step size control, and whether or not the FMU asks for event mode again.
#[test]
fn announced_events_are_hit_from_the_start_on() {
    let methods = [
        "",
        "[method]\nestimator = { kind = \"richardson\", tolerance = 1e-3 }\ncontroller = { kind = \"rollback\", min_step = 1e-6, max_step = 0.1 }\n",
        "[method]\nkind = \"auto\"\n",
    ];
    for silent in [false, true] {
        for method in methods {
            let lab = Lab::with(&format!(
                "record.variables = \"*\"\n[simulation]\nstop = 0.5\nstep = 0.1\n[subsystems.a]\nfmu = \"a\"\noptions = {{ events = true }}\n\
                 parameters = {{ silent = {silent} }}\n[subsystems.b]\nfmu = \"b\"\n\
                 [[connections]]\nfrom = \"a.x\"\nto = \"b.u\"\nconvert_units = false\n{method}"
            ));
            place(&lab, "timer3", "a", |xml| xml);
            place(&lab, "integrator2", "b", |xml| xml);
            lab.runs(&[]);
            let results = lab.results();
            let times = results.column("time");
            for alarm in [0.137, 0.387] {
                assert!(times.contains(&alarm), "silent = {silent}, {method}: {times:?}");
            }
            assert_eq!(results.column("a.at").last(), Some(&0.387), "{method}");
            assert_eq!(results.column("a.events").last(), Some(&2.0), "{method}");
        }
    }
}

/// Alarms that fall on the grid of steps but for round-off, and alarms between the sub-steps of a fast subsystem: each counts
/// once and none is late. The FMU takes its times seriously to the last bit (`time >= next`) and adds its period up.
#[test]
fn announced_events_are_not_lost_to_round_off_nor_to_sub_steps() {
    for (silent, first, rate) in
        [(false, 0.1, 1), (true, 0.1, 1), (false, 0.063, 1), (true, 0.063, 10), (false, 0.1, 4)]
    {
        let lab = Lab::with(&format!(
            "record.variables = \"*\"\n[simulation]\nstop = 20.05\nstep = 0.1\n[subsystems.a]\nfmu = \"a\"\nrate = {rate}\noptions = {{ events = true }}\n\
             parameters = {{ silent = {silent}, first = {first}, period = {first} }}\n[subsystems.b]\nfmu = \"b\"\n\
             [[connections]]\nfrom = \"a.x\"\nto = \"b.u\"\nconvert_units = false\n"
        ));
        place(&lab, "timer3", "a", |xml| xml);
        place(&lab, "integrator2", "b", |xml| xml);
        lab.runs(&[]);
        let results = lab.results();
        let what = format!("silent = {silent}, first = {first}, rate {rate}");
        let wanted = (20.05f64 / first).floor();
        assert_eq!(results.column("a.events").last(), Some(&wanted), "{what}");
        let at = *results.column("a.at").last().unwrap();
        assert!((at - wanted * first).abs() < 1e-11, "{what}: the last alarm at {at}");
        let times = results.right().column("time");
        let shortest = times.windows(2).fold(1.0f64, |a, t| a.min(t[1] - t[0]));
        assert!(shortest > 1e-4, "{what}: a step of {shortest} s");
    }
}

/// A neighbour that takes steps of one length only keeps them: alarms are handled at the ends of the steps that pass them,
/// that of 0.137 s at 0.2 s, and the one of 0.45 s, a period of 0.25 s later, at 0.5 s.
#[test]
fn announced_events_do_not_cut_steps_of_one_length() {
    let lab = Lab::with(
        "record.variables = \"*\"\n[simulation]\nstop = 0.6\nstep = 0.1\n[subsystems.a]\nfmu = \"a\"\noptions = { events = true }\n\
         [subsystems.b]\nfmu = \"b\"\n[[connections]]\nfrom = \"a.x\"\nto = \"b.u\"\nconvert_units = false\n",
    );
    place(&lab, "timer3", "a", |xml| xml);
    place(&lab, "integrator2", "b", |xml| edit(&xml, "canHandleVariableCommunicationStepSize=\"true\"", ""));
    lab.runs(&[]);
    let results = lab.results().right();
    assert_eq!(results.column("time").len(), 7);
    let at = results.column("a.at");
    assert!((at[2] - 0.2).abs() < 1e-12 && (at[6] - 0.5).abs() < 1e-12, "{at:?}");
}

/// The set point of `timer3` is a real that may change at events only: x' = 1 until 0.3 s and 3 from there on.
#[test]
fn discrete_reals_change_in_event_mode_where_it_is_used() {
    for events in [false, true] {
        let lab = Lab::with(&format!(
            "record.variables = \"*\"\n[simulation]\nstop = 0.5\nstep = 0.1\n[subsystems.a]\nfmu = \"a\"\noptions = {{ events = {events} }}\n\
             [inputs]\n\"a.setpoint\" = {{ step = {{ time = 0.3, from = 1.0, to = 3.0 }} }}\n"
        ));
        place(&lab, "timer3", "a", |xml| xml);
        lab.runs(&[]);
        let x = *lab.results().column("a.x").last().unwrap();
        // Without event mode the FMU looks at its set point at the ends of steps: one step of 0.1 s too late.
        let wanted = if events { 0.3 + 3.0 * 0.2 } else { 0.4 + 3.0 * 0.1 };
        assert!((x - wanted).abs() < 1e-12, "events = {events}: {x}");
    }
}

/// The period of `timer3` is tunable and may change in event mode only. Alarms at 0.1 s, a period of 0.25 s later at 0.35 s, then
/// every 0.05 s: the scenario made it shorter at 0.12 s.
#[test]
fn tunable_parameters_change_in_event_mode_where_it_is_used() {
    let lab = Lab::with(
        "record.variables = \"*\"\n[simulation]\nstop = 0.48\nstep = 0.1\n[subsystems.a]\nfmu = \"a\"\noptions = { events = true }\n\
         parameters = { first = 0.1 }\n",
    );
    place(&lab, "timer3", "a", |xml| xml);
    lab.write(
        "s.yml",
        "events: [ { time: 0.12, model: a, variable: period, action: override, value: 0.05 } ]",
    );
    lab.runs(&["--scenario", "s.yml"]);
    let results = lab.results();
    assert_eq!(results.column("a.events").last(), Some(&4.0));
    let at = *results.column("a.at").last().unwrap();
    assert!((at - 0.45).abs() < 1e-12, "{at}");
}

/// `faulty2` in one of its modes, alone, with u = 0.
fn faulty(mode: u32) -> Lab {
    let lab = Lab::with(&format!(
        "record.variables = \"*\"\n[simulation]\nstop = 1.0\nstep = 0.1\n[subsystems.a]\nfmu = \"a\"\nparameters = {{ mode = {mode} }}\n"
    ));
    place(&lab, "faulty2", "a", |xml| xml);
    lab
}

#[test]
fn a_model_that_ends_the_process_does_not_end_it_well() {
    let lab = faulty(17);
    let run = lab.powerbond(&["run", "system.toml", "--output-dir", "out"]);
    assert_eq!(run.code, 5, "{}", run.err);
    assert!(run.err.contains("ended the process with exit code 0"), "{}", run.err);
    assert_eq!(lab.summary()["outcome"], "failed");
    // The start and the steps up to 0.5 s.
    assert_eq!(lab.results().column("time").len(), 6);
}

#[test]
fn results_stay_where_they_belong_when_a_model_goes_to_another_folder() {
    for mode in [18, 19] {
        let lab = faulty(mode);
        let run = lab.powerbond(&["run", "system.toml", "--output-dir", "out", "--report"]);
        assert_eq!(run.code, 0, "{}", run.err);
        for file in ["results.csv", "summary.json", "report.html"] {
            assert!(lab.dir.join("out").join(file).is_file(), "mode {mode}: {file}");
        }
        let said = std::fs::read_to_string(lab.dir.join("out/log.txt")).unwrap_or_default();
        assert!((said + &run.err).contains("working directory"), "mode {mode}: {}", run.err);
    }
}

#[test]
fn a_thread_that_a_model_leaves_behind_does_no_harm() {
    let run = faulty(20).powerbond(&["run", "system.toml", "--output-dir", "out"]);
    assert_eq!(run.code, 0, "{}", run.err);
}

/// ECCO was refused where an FMU supports one step size only: it crosses each step in several of that size. x' = −y, y' = x
/// from (1, 0) is (cos t, sin t).
#[test]
fn ecco_steps_in_multiples_of_what_an_fmu_supports() {
    let adaptive =
        "\n[method]\nestimator = { kind = \"predictor\", tolerance = 1e-3 }\ncontroller = \"ecco\"\n";
    let handles = "canHandleVariableCommunicationStepSize=\"true\"";
    let ring = |step: &str| {
        let system = edit(RING, "fmu = \"a\"", "fmu = \"a\"\nparameters = { x0 = 1.0 }");
        let lab = Lab::with(&(edit(&system, "step = 0.1", step) + adaptive));
        place(&lab, "integrator2", "a", |xml| edit(&xml, handles, ""));
        place(&lab, "integrator2", "b", |xml| xml);
        lab
    };
    let lab = ring("step = 1e-3");
    lab.runs(&[]);
    let lengths: Vec<f64> = lab.energy().column("step_size").iter().map(|h| h / 1e-3).collect();
    assert!(lengths.iter().all(|n| (n - n.round()).abs() < 1e-6 && *n > 0.5), "{lengths:?}");
    assert!(lengths.iter().any(|n| *n > 1.5), "{lengths:?}");
    let calls = lab.summary()["subsystems"][0]["steps"].as_u64().expect("a count");
    assert_eq!(calls, 1000, "steps of 1 ms");
    let x = *lab.results().column("a.x").last().expect("a row");
    assert!((x - 1f64.cos()).abs() < 0.01, "{x}");
    let ran = ring("").run(&[]);
    assert_eq!(ran.code, 3, "{}", ran.err);
    for part in ["`a` supports one step size only", "Set `step` in `[simulation]`"] {
        assert!(ran.err.contains(part), "`{part}` in {}", ran.err);
    }
}
