//! `powerbond check` from end to end: what it prints, its JSON, its pictures, and what it refuses.

#[allow(dead_code)] // Shared with the tests of the other commands.
#[path = "cli/lab.rs"]
mod lab;

use lab::{Lab, edit, plain, root};
use serde_json::{Value, json};

/// The force–displacement quarter car.
const FD: &str = include_str!("../../../examples/quarter-car-fd/system.toml");

/// Three gains in a ring: a = 0.5 u + 1, b = g u + 2, c = 2 u, with `a.u = -c.y`.
fn ring(gain: f64) -> String {
    let block = |name: &str, parameters: &str| {
        format!("[subsystems.{name}]\nmodel = \"algebraic/gain\"\nparameters = {{ {parameters} }}\n")
    };
    let wire = |from: &str, to: &str| format!("[[connections]]\nfrom = \"{from}\"\nto = \"{to}\"\n");
    format!(
        "[simulation]\nstop = 0.01\nstep = 0.01\n{}{}{}{}{}{}gain = -1\n",
        block("a", "gain = 0.5, offset = 1"),
        block("b", &format!("gain = {gain:?}, offset = 2")),
        block("c", "gain = 2"),
        wire("a.y", "b.u"),
        wire("b.y", "c.u"),
        wire("c.y", "a.u")
    )
}

fn check(system: &str) -> Value {
    let ran = Lab::with(system).powerbond(&["check", "system.toml", "--json"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    ran.json()
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().expect("an object").keys().map(String::as_str).collect()
}

#[test]
fn the_document_has_its_keys_and_the_structure_of_the_paper() {
    let document = check(FD);
    assert_eq!(
        keys(&document),
        [
            "adaptive",
            "adjacency",
            "bonds",
            "capabilities",
            "connections",
            "feed_through",
            "findings",
            "loops",
            "nilpotency",
            "order",
            "subsystems",
            "warnings"
        ]
    );
    // arnold2013 §5: the force depends on both motions of the chassis, nothing on the force; A² = 0.
    assert_eq!(
        document["adjacency"],
        json!({
            "inputs": ["chassis.force", "wheel.chassis_position", "wheel.chassis_velocity"],
            "rows": [[0, 1, 1], [0, 0, 0], [0, 0, 0]],
        })
    );
    assert_eq!((&document["nilpotency"], &document["loops"]), (&json!(2), &json!([])));
    assert_eq!(document["order"], json!(["chassis", "wheel"]));
    let wheel = &document["subsystems"][1];
    assert_eq!(
        keys(wheel),
        ["can", "feed_through", "inputs", "model", "name", "outputs", "rate", "refreshed", "step"]
    );
    assert_eq!(wheel["outputs"][0]["feeds_through"], json!(["chassis_position", "chassis_velocity"]));
    assert_eq!(wheel["outputs"][0]["estimate"], "right");
    assert_ne!(document["subsystems"][0]["outputs"][0]["estimate"], "right", "downstream of feed-through");
    assert_eq!(wheel["inputs"][2]["fed_by"], "signal");
    assert_eq!(
        document["connections"][0],
        json!({ "from": [{ "name": "wheel.suspension_force", "gain": 1.0 }], "to": "chassis.force", "offset": 0.0 })
    );
    assert_eq!(keys(&document["bonds"][0]), ["name", "ports"]);
    assert_eq!(document["bonds"][0]["ports"][1]["factor"], 1.0);
    let methods = document["capabilities"].as_array().unwrap();
    for method in methods {
        assert_eq!(keys(method), ["chosen", "kind", "lacks", "method", "uses"]);
    }
    let richardson = methods.iter().find(|m| m["method"] == "richardson").unwrap();
    assert_eq!((&richardson["chosen"], &richardson["uses"]), (&json!(true), &json!(["restore"])));
}

/// Refresh takes the feed-through error away: then the estimate is right for every output.
#[test]
fn refresh_makes_the_estimate_right_for_all_outputs() {
    let warned = check(FD)["warnings"].to_string();
    assert!(warned.contains("chassis.velocity") && warned.contains("refresh = [\\\"wheel\\\"]"), "{warned}");
    let refreshed = check(&edit(FD, "hold = 2", "hold = 2\nrefresh = [\"wheel\"]"));
    assert_eq!(refreshed["warnings"], json!([]));
    for subsystem in refreshed["subsystems"].as_array().unwrap() {
        for output in subsystem["outputs"].as_array().unwrap() {
            assert_eq!(output["estimate"], "right", "{output}");
        }
    }
}

#[test]
fn what_methods_lack_is_named_with_its_effect() {
    let poor =
        "parameters = { restore = \"no\", input_derivatives = 0, refresh = \"no\", dependencies = \"no\" }\n";
    let system = edit(plain(), "parameters = { mass = 400.0 }\n", poor);
    let document = check(&system);
    let lacks = |method: &str| {
        let methods = document["capabilities"].as_array().unwrap();
        methods.iter().find(|m| m["method"] == method).unwrap_or_else(|| panic!("{method}"))["lacks"].clone()
    };
    let lack = |capability: &str, effect: &str| json!([{ "subsystem": "chassis", "capability": capability, "effect": effect }]);
    assert_eq!(lacks("richardson"), lack("restore", "refused"));
    assert_eq!(lacks("rollback"), lack("restore", "refused"));
    assert_eq!(lacks("1"), lack("first input derivative", "held with a lower order"));
    assert_eq!(lacks("energy"), json!([]), "what was probed is known");
    assert_eq!(lacks("refresh"), json!([]), "nothing feeds through: there is nothing to refresh");
    assert_eq!(lacks("jacobi"), json!([]));
    assert_eq!(document["subsystems"][0]["feed_through"], "probed", "not declared");
    assert_eq!(document["nilpotency"], 2, "the probe found that the chassis feeds nothing through");
}

#[test]
fn loops_of_two_and_three_are_named_and_solved() {
    let document = check(&ring(3.0));
    assert_eq!(
        document["loops"],
        json!([{
            "inputs": ["a.u", "b.u", "c.u"],
            "path": ["a.u", "a.y", "b.u", "b.y", "c.u", "c.y"],
            "solved": true,
            // 3 · 2 · (-1/2); unsolved, a disturbance would grow by its cube root per step.
            "gain": -3.0,
            "growth": document["loops"][0]["growth"].clone(),
        }])
    );
    let growth = document["loops"][0]["growth"][0].as_f64().unwrap();
    assert!((growth - 3f64.cbrt()).abs() < 1e-9, "{growth}");
    assert_eq!(document["nilpotency"], Value::Null);
    // a = 1 - c/2, b = 2 + 3a, c = 2b: a = 1 - (2 + 3a), so a = -1/4, b = 5/4, c = 5/2.
    let lab = Lab::with(&ring(3.0));
    let results = lab.runs(&[]).results();
    for (name, expected) in [("a.y", -0.25), ("b.y", 1.25), ("c.y", 2.5)] {
        let found = results.at(0.0, name);
        assert!((found - expected).abs() < 1e-10, "{name}: {found} instead of {expected}");
    }
    // Without c: a = 1 - b/2, b = 2 + 3a: a = 0, b = 2.
    let two = edit(&ring(3.0), "from = \"b.y\"\nto = \"c.u\"", "from = \"b.y\"\nto = \"a.u\"\ngain = -1");
    let two = two.split("[[connections]]\nfrom = \"c.y\"").next().unwrap();
    assert_eq!(check(two)["loops"][0]["path"], json!(["a.u", "a.y", "b.u", "b.y"]));
    let lab = Lab::with(two);
    let results = lab.runs(&[]).results();
    assert!(results.at(0.0, "a.y").abs() < 1e-10 && (results.at(0.0, "b.y") - 2.0).abs() < 1e-10);
}

/// The loop gain is 1 here and the offsets do not cancel: there is no solution.
#[test]
fn a_loop_without_solution_ends_with_7_and_its_name() {
    let lab = Lab::with(&ring(-1.0));
    let said = "algebraic loop `a.u → a.y → b.u → b.y → c.u → c.y → a.u` was not solved";
    for arguments in
        [&["check", "system.toml"][..], &["check", "system.toml", "--json"], &["run", "system.toml"]]
    {
        let ran = lab.powerbond(arguments);
        assert_eq!(ran.code, 7, "{arguments:?}: {}", ran.err);
        assert!(ran.err.contains(said), "{arguments:?}: {}", ran.err);
        assert!(ran.out.is_empty() || ran.out.contains("a.u"), "the structure is shown all the same");
    }
    // A looser tolerance is obeyed: the residual of the linear loop stays at about 0.3.
    let loose = edit(
        &ring(-1.0),
        "stop = 0.01",
        "stop = 0.01\ninitial = { tolerance = 0.9 }\nloops = { tolerance = 0.9 }",
    );
    assert_eq!(Lab::with(&loose).powerbond(&["run", "system.toml"]).code, 0);
}

#[test]
fn people_get_a_readable_page() {
    let ran = Lab::with(FD).powerbond(&["validate", "system.toml"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    for said in [
        "chassis     quarter-car/chassis-fd",
        "chassis.force = wheel.suspension_force",
        "wheel.road follows a signal",
        "suspension: −(chassis.force·chassis.velocity)  +(wheel.chassis_velocity·wheel.suspension_force)",
        "suspension_force has direct feed-through from chassis_position, chassis_velocity",
        "no algebraic loop; nilpotency index 2",
        "tends to the true local error of wheel.suspension_force",
        "not of chassis.velocity: an output with feed-through is connected to its subsystem",
        "* controller rollback",
    ] {
        assert!(ran.out.contains(said), "`{said}` in\n{}", ran.out);
    }
    let fast = edit(FD, "model = \"quarter-car/wheel-fd\"", "model = \"quarter-car/wheel-fd\"\nrate = 5");
    let ran = Lab::with(&fast).powerbond(&["check", "system.toml"]);
    assert!(ran.out.contains("adaptive (5×)"), "{}", ran.out);
    let looped = Lab::with(&ring(3.0)).powerbond(&["check", "system.toml"]);
    assert!(
        looped.out.contains(
            "algebraic loop: a.u → a.y → b.u → b.y → c.u → c.y → a.u\n    gain -3; solved at every communication point"
        ),
        "{}",
        looped.out
    );
    // c cannot be re-read: 3 = √… with a hold of order 0 every way round triples what is wrong.
    let deaf = edit(&ring(3.0), "[subsystems.c]\n", "[subsystems.c]\n# deaf\n");
    let deaf = deaf.replace(
        "# deaf\nmodel = \"algebraic/gain\"\nparameters = { ",
        "model = \"algebraic/gain\"\nparameters = { refresh = \"no\", ",
    );
    let looped = Lab::with(&deaf).powerbond(&["check", "system.toml"]);
    assert!(looped.out.contains("not solved during the run"), "{}", looped.out);
    assert!(looped.out.contains("1.442 with hold 0 (unstable)"), "{}", looped.out);
    assert!(looped.err.contains("outputs of `c` cannot be evaluated without a step"), "{}", looped.err);
}

#[test]
fn nothing_is_run_and_nothing_is_written() {
    let lab = Lab::with(FD);
    assert_eq!(lab.powerbond(&["check", "system.toml"]).code, 0);
    let left: Vec<_> = std::fs::read_dir(&lab.dir).unwrap().map(|f| f.unwrap().file_name()).collect();
    assert_eq!(left, ["system.toml"]);
}

#[test]
fn pictures_show_every_part() {
    let lab = Lab::with(FD);
    assert_eq!(lab.powerbond(&["check", "system.toml", "--graph", "car.svg"]).code, 0);
    assert_eq!(lab.powerbond(&["check", "system.toml", "--graph", "car.dot"]).code, 0);
    let read = |name: &str| std::fs::read_to_string(lab.dir.join(name)).unwrap();
    let (svg, dot) = (read("car.svg"), read("car.dot"));
    assert!(
        svg.starts_with("<!-- powerbond check -->\n<svg ") && svg.ends_with("</svg>\n") && svg.len() < 20_000
    );
    for said in
        [">chassis<", ">quarter-car/wheel-fd<", ">suspension_force<", ">signal<", "bond suspension", "dark"]
    {
        assert!(svg.contains(said), "`{said}`");
    }
    // Two feed-through curves and their sample in the legend; three wires, two of them in a bond, and two
    // signals.
    let count = |part: &str| svg.matches(part).count();
    assert_eq!((count("class=\"through\""), count("class=\"wire\""), count("class=\"band\"")), (3, 5, 3));
    for said in [
        "\"wheel.suspension_force\" -> \"chassis.force\" [color",
        "\"wheel.chassis_velocity\" -> \"wheel.suspension_force\" [style = dashed]",
        "subgraph cluster_1",
        "penwidth",
    ] {
        assert!(dot.contains(said), "`{said}` in\n{dot}");
    }
    let lab = Lab::with(&ring(3.0));
    assert_eq!(lab.powerbond(&["check", "system.toml", "--graph", "ring.svg"]).code, 0);
    let svg = std::fs::read_to_string(lab.dir.join("ring.svg")).unwrap();
    assert!(svg.contains("class=\"wire loop\"") && svg.contains("class=\"through loop\""));
}

/// Every name is the user's own: it must not break the picture.
#[test]
fn odd_names_are_escaped_in_pictures() {
    let odd = "<b> & \\\"c\\\"";
    let system = ring(3.0).replace("[subsystems.a]", &format!("[subsystems.\"{odd}\"]"));
    let system = system.replace("\"a.", &format!("\"{odd}."));
    let lab = Lab::with(&system);
    for (file, said) in [("x.svg", "&lt;b&gt; &amp; &quot;c&quot;"), ("x.dot", "\"<b> & \\\"c\\\".u\"")] {
        let ran = lab.powerbond(&["check", "system.toml", "--graph", file]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        let text = std::fs::read_to_string(lab.dir.join(file)).unwrap();
        assert!(text.contains(said), "`{said}` in\n{text}");
    }
}

#[test]
fn bad_options_and_files_are_refused() {
    let lab = Lab::with(FD);
    let ran = lab.powerbond(&["check", "system.toml", "--graph", "car.png"]);
    assert_eq!(ran.code, 3);
    assert!(ran.err.contains(".svg or .dot"), "{}", ran.err);
    assert_eq!(lab.powerbond(&["check", "system.toml", "--graph", "no/such/car.svg"]).code, 8);
    // A picture may be drawn again, but not over a foreign one.
    for (file, mine) in [("car.svg", "<svg/>"), ("car.dot", "digraph {}")] {
        lab.write(file, mine);
        let draw =
            |options: &[&str]| lab.powerbond(&[&["check", "system.toml", "--graph", file], options].concat());
        let ran = draw(&[]);
        assert!(ran.code == 3 && ran.err.contains("was not made by powerbond"), "{}", ran.err);
        assert_eq!(std::fs::read_to_string(lab.dir.join(file)).unwrap(), mine);
        assert_eq!((draw(&["--overwrite"]).code, draw(&[]).code), (0, 0));
    }
    assert_eq!(lab.powerbond(&["check", "nothing.toml"]).code, 3);
    let ran = lab.powerbond(&["check", "system.toml", "--set", "wheel.mas=3"]);
    assert_eq!(ran.code, 3);
    assert!(ran.err.contains("`mass`?"), "{}", ran.err);
}

/// Refused by `check` and `run` alike, at the line that has `at`, with these words.
#[track_caller]
fn refuses(system: &str, old: &str, new: &str, at: &str, says: &[&str]) {
    let text = edit(system, old, new);
    let line = 1 + text.lines().position(|l| l.contains(at)).expect("the line is there");
    let lab = Lab::with(&text);
    for verb in ["check", "run"] {
        let ran = lab.powerbond(&[verb, "system.toml"]);
        assert_eq!(ran.code, 3, "{verb} with {new}: {}", ran.err);
        assert!(ran.err.contains(&format!("system.toml:{line}:")), "line {line} in {}", ran.err);
        for said in says {
            assert!(ran.err.contains(said), "`{said}` in {}", ran.err);
        }
    }
}

#[test]
fn declarations_of_feed_through_are_checked() {
    let model = "model = \"quarter-car/wheel-fd\"";
    let declare = |list: &str, says: &[&str]| {
        refuses(FD, model, &format!("{model}\nfeed_through = {list}"), "feed_through =", says);
    };
    declare(
        "[[\"suspensionforce\", \"road\"]]",
        &["unknown output `suspensionforce`", "`suspension_force`?"],
    );
    declare("[[\"suspension_force\", \"rod\"]]", &["unknown input `rod`", "`road`?"]);
    declare("[[\"road\", \"suspension_force\"]]", &["unknown output `road`"]);
    declare("[[\"suspension_force\"]]", &["a pair [\"output\", \"input\"]"]);
    declare("\"maybe\"", &["\"unknown\"", "\"probe\""]);
    declare("3", &["`feed_through` is 3"]);
    declare("[]", &["declares direct feed-through to `suspension_force` from `chassis_position`"]);
    let both = "[\"suspension_force\", \"chassis_position\"], [\"suspension_force\", \"chassis_velocity\"]";
    declare(
        &format!("[{both}, [\"suspension_force\", \"road\"]]"),
        &["has no direct feed-through from `road`"],
    );
    declare(&format!("[{both}, {both}]"), &["declared twice"]);
    // What repeats the model is fine.
    let same = edit(FD, model, &format!("{model}\nfeed_through = [{both}]"));
    assert_eq!(check(&same)["nilpotency"], 2);
    // A model that says nothing can be declared; what the probe finds beyond that is a contradiction.
    let silent = format!("{model}\nparameters = {{ dependencies = \"no\" }}");
    assert_eq!(check(&edit(FD, model, &silent))["subsystems"][1]["feed_through"], "probed");
    let declared = edit(FD, model, &format!("{silent}\nfeed_through = [{both}]"));
    assert_eq!(check(&declared)["subsystems"][1]["feed_through"], "declared");
    let short = format!("{silent}\nfeed_through = [[\"suspension_force\", \"chassis_position\"]]");
    let says = &["feed-through from `wheel.chassis_velocity` to `wheel.suspension_force`", "Add the pair"];
    refuses(FD, model, &short, "feed_through =", says);
    let trusted = edit(&edit(FD, model, &short), "stop = 3.0", "stop = 3.0\nprobe = false");
    assert_eq!(check(&trusted)["adjacency"]["rows"][0], json!([0, 1, 0]), "without probing it is believed");
}

#[test]
fn what_is_unknown_is_a_warning_and_never_a_loop() {
    let ring = ring(3.0)
        .replace("model = \"algebraic/gain\"\n", "model = \"algebraic/gain\"\nfeed_through = \"unknown\"\n");
    let document = check(&ring);
    assert_eq!((&document["loops"], &document["nilpotency"]), (&json!([]), &json!(1)));
    let warnings = document["warnings"].to_string();
    assert_eq!(warnings.matches("the direct feed-through of `").count(), 3, "{warnings}");
    let lab = Lab::with(&ring);
    let ran = lab.run(&[]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.err.contains("the direct feed-through of `b` is unknown"), "{}", ran.err);
    assert!((lab.results().at(0.0, "c.y") - 2.5).abs() < 1e-10, "initial values are consistent all the same");
    // Without probing, a silent model is as unknown.
    let silent = self::ring(3.0).replace("offset = 2", "offset = 2, dependencies = \"no\"");
    assert_eq!(check(&silent)["loops"].as_array().unwrap().len(), 1, "probed by default");
    let unprobed = edit(&silent, "stop = 0.01", "stop = 0.01\nprobe = false");
    assert_eq!(check(&unprobed)["loops"], json!([]));
}

#[test]
fn rules_for_initial_values_are_checked() {
    let initial = |value: &str, says: &[&str]| {
        refuses(FD, "stop = 3.0", &format!("stop = 3.0\ninitial = {value}"), "initial =", says);
    };
    initial("{ tolerance = 0 }", &["`tolerance` is 0", "above 0"]);
    initial("{ tolerance = -1e-6 }", &["-1e-6"]);
    initial("{ iterations = 1.5 }", &["an integer"]);
    initial("{ tolerence = 1 }", &["`tolerance`?"]);
    initial("3", &["a table"]);
    refuses(FD, "stop = 3.0", "stop = 3.0\nprobe = 1", "probe =", &["`true` or `false`"]);
}

#[test]
fn every_example_passes() {
    for entry in std::fs::read_dir(root().join("examples")).unwrap() {
        let folder = entry.unwrap().path();
        // The model of the template is that of its own program, FMUs are built first: tests of their own run these.
        if folder.join("Cargo.toml").is_file() || folder.join("build.sh").is_file() {
            continue;
        }
        let ran = Lab::new().powerbond(&["check", folder.to_str().unwrap(), "--json"]);
        assert_eq!(ran.code, 0, "{}: {}", folder.display(), ran.err);
        assert_eq!(ran.json()["loops"], json!([]));
    }
}
