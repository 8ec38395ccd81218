//! Groups, functions, vector bonds and step hints of OSP, against results by hand.
//!
//! The integrators are x' = k u from x0. Two in a ring with constant inputs in steps h are x ← x + h y, y ← y + h x: x + y grows by
//! 1 + h in a step and x − y by 1 − h, so from (1, 0) x is ((1 + h)ⁿ + (1 − h)ⁿ) / 2 after n steps.

use crate::lab::{Lab, Ran, close};
use crate::structures::with_integrators;

/// A folder of OSP: simulators as (name, source, attributes, x0).
fn osp(lab: &Lab, simulators: &[(&str, &str, &str, f64)], functions: &str, connections: &str) {
    let one = |(name, source, more, x0): &(&str, &str, &str, f64)| {
        format!(
            "<Simulator name=\"{name}\" source=\"{source}\" {more}><InitialValues><InitialValue variable=\"x0\"><Real value=\"{x0}\"/>\
             </InitialValue></InitialValues></Simulator>\n"
        )
    };
    let simulators: String = simulators.iter().map(one).collect();
    lab.write(
        "OspSystemStructure.xml",
        format!(
            "<OspSystemStructure xmlns=\"http://opensimulationplatform.com/MSMI/OSPSystemStructure\" version=\"0.1\">\n\
             <EndTime>1</EndTime><BaseStepSize>0.1</BaseStepSize><Algorithm>fixedStep</Algorithm>\n<Simulators>\n{simulators}\
             </Simulators>\n<Functions>\n{functions}</Functions>\n<Connections>\n{connections}</Connections>\n</OspSystemStructure>\n"
        ),
    );
}

fn run(lab: &Lab) -> Ran {
    let ran = lab.powerbond(&["run", ".", "--output-dir", "out", "--overwrite"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    ran
}

fn end(what: &str, simulator: &str, name: &str) -> String {
    let owner = if what.starts_with("Signal") { "function" } else { "simulator" };
    format!("<{what} {owner}=\"{simulator}\" name=\"{name}\"/>")
}

/// A connection of two variables.
fn pair(a: [&str; 2], b: [&str; 2]) -> String {
    format!(
        "<VariableConnection>{}{}</VariableConnection>\n",
        end("Variable", a[0], a[1]),
        end("Variable", b[0], b[1])
    )
}

/// A connection of a variable and a signal of the function `f`.
fn signal(simulator: [&str; 2], signal: &str) -> String {
    format!(
        "<SignalConnection>{}{}</SignalConnection>\n",
        end("Variable", simulator[0], simulator[1]),
        end("Signal", "f", signal)
    )
}

/// A connection of a group of variables and a group of signals of the function `f`.
fn signals(simulator: [&str; 2], signal: &str) -> String {
    format!(
        "<SignalGroupConnection>{}{}</SignalGroupConnection>\n",
        end("SignalGroup", "f", signal),
        end("VariableGroup", simulator[0], simulator[1])
    )
}

/// The groups of the model of this name.
fn describe(lab: &Lab, model: &str, groups: &str) {
    lab.write(
        &format!("{model}_OspModelDescription.xml"),
        format!(
            "<?xml version=\"1.0\"?>\n<OspModelDescription xmlns=\"http://opensimulationplatform.com/MSMI/OSPModelDescription\" \
             version=\"1.0\"><UnitDefinitions/>\n<VariableGroups>\n{groups}</VariableGroups></OspModelDescription>\n"
        ),
    );
}

fn generic(name: &str, variables: &[&str], inside: &str) -> String {
    let variables: String = variables.iter().map(|v| format!("<Variable ref=\"{v}\"/>")).collect();
    format!("<Generic name=\"{name}\">{inside}{variables}</Generic>\n")
}

/// Changes what an FMU says of itself.
fn described(lab: &Lab, fmu: &str, changes: &[(&str, &str)]) {
    let path = format!("{fmu}/modelDescription.xml");
    let mut text = std::fs::read_to_string(lab.dir.join(&path)).expect("a description");
    for (old, new) in changes {
        assert!(text.contains(old), "no `{old}`");
        text = text.replacen(old, new, 1);
    }
    lab.write(&path, text);
}

/// After n steps of h in the ring.
fn ring(n: i32, h: f64) -> f64 {
    ((1.0 + h).powi(n) + (1.0 - h).powi(n)) / 2.0
}

/// A speed for an effort, so that the product of both is a power; x and u have the units of the other end.
const POWER: [&[(&str, &str)]; 2] = [
    &[
        ("<Unit name=\"m\"><BaseUnit m=\"1\"/>", "<Unit name=\"N\"><BaseUnit kg=\"1\" m=\"1\" s=\"-2\"/>"),
        ("unit=\"m\" nominal", "unit=\"N\" nominal"),
        ("<Real unit=\"m\"/>", "<Real unit=\"N\"/>"),
        ("start=\"0\" unit=\"m\"", "start=\"0\" unit=\"N\""),
    ],
    &[
        ("<Unit name=\"m\"><BaseUnit m=\"1\"/>", "<Unit name=\"N\"><BaseUnit kg=\"1\" m=\"1\" s=\"-2\"/>"),
        ("start=\"0\" unit=\"m/s\"", "start=\"0\" unit=\"N\""),
        ("unit=\"m\" nominal", "unit=\"m/s\" nominal"),
        ("<Real unit=\"m\"/>", "<Real unit=\"m/s\"/>"),
        ("start=\"0\" unit=\"m\"/>", "start=\"0\" unit=\"m/s\"/>"),
    ],
];

/// A plug (u, x) in a socket (x, u), in a bond; with groups inside of a group, and with the group missing.
#[test]
fn groups_connect_a_plug_with_a_socket_and_make_a_bond() {
    let lab = with_integrators(&["a.fmu", "b.fmu"]);
    described(
        &lab,
        "a.fmu",
        &[POWER[0], &[("modelName=\"integrator\"", "modelName=\"plug model\"")]].concat(),
    );
    described(&lab, "b.fmu", &[POWER[1], &[("modelName=\"integrator\"", "modelName=\"socket\"")]].concat());
    let simulators = [("a", "a.fmu", "", 1.0), ("b", "b.fmu", "", 0.0)];
    let groups = format!(
        "<VariableGroupConnection powerBond=\"shaft\">{}{}</VariableGroupConnection>\n",
        end("VariableGroup", "a", "plug"),
        end("VariableGroup", "b", "socket")
    );
    let flat = [generic("plug", &["u", "x"], ""), generic("socket", &["x", "u"], "")];
    let nested = [
        generic("plug", &[], &(generic("speed", &["u"], "") + &generic("force", &["x"], ""))),
        generic("socket", &[], &(generic("v", &["x"], "") + &generic("f", &["u"], ""))),
    ];
    for [plug, socket] in [flat, nested] {
        describe(&lab, "plug model", &plug);
        describe(&lab, "socket", &socket);
        osp(&lab, &simulators, "", &groups);
        let ran = run(&lab);
        close(lab.last("a.x"), ring(10, 0.1), 1e-12);
        // Power counts from the simulator that is named first.
        let bonds = lab.powerbond(&["bonds", ".", "--no-trial"]);
        let lines: Vec<Vec<&str>> = bonds.out.lines().map(|line| line.split_whitespace().collect()).collect();
        assert!(
            lines.contains(&"a.u · a.x leaves, sign = 1".split(' ').collect()),
            "{}{}",
            bonds.out,
            ran.err
        );
    }
    osp(&lab, &simulators, "", &groups.replace("\"socket\"", "\"sockt\""));
    let ran = lab.powerbond(&["check", "."]);
    assert_eq!(ran.code, 3);
    assert!(
        ran.err.contains("OspSystemStructure.xml:10:")
            && ran.err.contains("no group `sockt`. Did you mean `socket`?"),
        "{}",
        ran.err
    );
    describe(&lab, "plug model", &generic("plug", &["u", "x"], ""));
    describe(&lab, "socket", &generic("socket", &["x"], ""));
    osp(&lab, &simulators, "", &groups);
    let ran = lab.powerbond(&["check", "."]);
    assert!(ran.code == 3 && ran.err.contains("`plug` has 2 variables, `socket` has 1"), "{}", ran.err);
    describe(&lab, "socket", &generic("socket", &[], &generic("v", &["x"], "")));
    let ran = lab.powerbond(&["check", "."]);
    assert!(ran.code == 3 && ran.err.contains("`plug` has 0 groups, `socket` has 1"), "{}", ran.err);
    std::fs::remove_file(lab.dir.join("socket_OspModelDescription.xml")).expect("removed");
    let ran = lab.powerbond(&["check", "."]);
    assert!(ran.code == 3 && ran.err.contains("there is no `socket_OspModelDescription.xml`"), "{}", ran.err);
}

/// x(1) of `b` is the sum of the constants 3 and 4; one output may feed two inputs of the sum, and a missing one counts as 0.
#[test]
fn sums_add_their_inputs() {
    let lab = with_integrators(&["a.fmu"]);
    let simulators = [("a", "a.fmu", "", 3.0), ("c", "a.fmu", "", 4.0), ("b", "a.fmu", "", 0.0)];
    let sum = |inputs: &[(&str, usize)]| {
        let inputs: String = inputs.iter().map(|(s, i)| signal([s, "x"], &format!("in[{i}]"))).collect();
        osp(
            &lab,
            &simulators,
            "<Sum name=\"f\" inputCount=\"3\"/>\n",
            &(inputs + &signal(["b", "u"], "out")),
        );
        run(&lab)
    };
    let ran = sum(&[("a", 0), ("c", 1)]);
    close(lab.last("b.x"), 7.0, 1e-12);
    assert!(ran.err.contains("1 of 3 inputs of the function `f` are not connected"), "{}", ran.err);
    sum(&[("a", 0), ("c", 1), ("a", 2)]);
    close(lab.last("b.x"), 10.0, 1e-12);
    let outside = signal(["a", "x"], "in[3]") + &signal(["b", "u"], "out");
    osp(&lab, &simulators, "<Sum name=\"f\" inputCount=\"3\"/>\n", &outside);
    let ran = lab.powerbond(&["check", "."]);
    assert!(
        ran.code == 3 && ran.err.contains("no signal `in[3]`; there are `in[0]` to `in[2]` and `out`"),
        "{}",
        ran.err
    );
}

/// `b` takes both elements of the sum of (3, 3) and (4, 4): u = 7 and k = 7, so x(1) = 49.
#[test]
fn vector_sums_add_groups_by_element() {
    let lab = with_integrators(&["a.fmu", "b.fmu"]);
    described(
        &lab,
        "b.fmu",
        &[
            ("modelName=\"integrator\"", "modelName=\"product\""),
            (
                "causality=\"parameter\" variability=\"tunable\"",
                "causality=\"input\" variability=\"continuous\"",
            ),
        ],
    );
    describe(&lab, "integrator", &generic("pair", &["x", "y"], ""));
    describe(&lab, "product", &generic("two", &["u", "k"], ""));
    let simulators = [("a", "a.fmu", "", 3.0), ("c", "a.fmu", "", 4.0), ("b", "b.fmu", "", 0.0)];
    let function = "<VectorSum name=\"f\" inputCount=\"2\" dimension=\"2\"/>\n";
    let grouped =
        signals(["a", "pair"], "in[0]") + &signals(["c", "pair"], "in[1]") + &signals(["b", "two"], "out");
    osp(&lab, &simulators, function, &grouped);
    run(&lab);
    close(lab.last("b.x"), 49.0, 1e-12);
    // By element: u = 3 + 4, k = 3.
    let single = signal(["a", "x"], "in[0][0]")
        + &signal(["c", "x"], "in[1][0]")
        + &signal(["a", "y"], "in[0][1]")
        + &signal(["b", "u"], "out[0]")
        + &signal(["b", "k"], "out[1]");
    osp(&lab, &simulators, function, &single);
    run(&lab);
    close(lab.last("b.x"), 21.0, 1e-12);
    osp(&lab, &simulators, &function.replace("dimension=\"2\"", "dimension=\"3\""), &grouped);
    let ran = lab.powerbond(&["check", "."]);
    assert!(
        ran.code == 3 && ran.err.contains("`pair` has 2 variables, `in[0]` of `f` has 3 elements"),
        "{}",
        ran.err
    );
}

/// Two pairs of connections of one name are a bond with two efforts and two flows.
#[test]
fn a_bond_may_have_several_efforts_and_flows() {
    let lab = with_integrators(&["a.fmu", "b.fmu"]);
    // A second input and output beside u and x: k and y.
    let second = |unit: &'static str, other: &'static str| {
        [
            (
                "name=\"k\" valueReference=\"3\" causality=\"parameter\" variability=\"tunable\"><Real start=\"1\" min=\"0\"/>",
                if unit == "N" {
                    "name=\"k\" valueReference=\"3\" causality=\"input\" variability=\"continuous\"><Real start=\"1\" unit=\"N\"/>"
                } else {
                    "name=\"k\" valueReference=\"3\" causality=\"input\" variability=\"continuous\"><Real start=\"1\" unit=\"m/s\"/>"
                },
            ),
            ("modelName=\"integrator\"", other),
        ]
    };
    described(&lab, "a.fmu", &[POWER[0], &second("m/s", "modelName=\"plug\"")].concat());
    described(&lab, "b.fmu", &[POWER[1], &second("N", "modelName=\"socket\"")].concat());
    describe(&lab, "plug", &generic("p", &["x", "y", "u", "k"], ""));
    describe(&lab, "socket", &generic("p", &["u", "k", "x", "y"], ""));
    let groups = format!(
        "<VariableGroupConnection powerBond=\"shaft\">{}{}</VariableGroupConnection>\n",
        end("VariableGroup", "a", "p"),
        end("VariableGroup", "b", "p")
    );
    // At rest: all inputs are 0 and stay so for b; with d = 0, a gives (1, 1) and gets (x_b, x_b).
    osp(&lab, &[("a", "a.fmu", "", 1.0), ("b", "b.fmu", "", 0.0)], "", &groups);
    let text = std::fs::read_to_string(lab.dir.join("OspSystemStructure.xml")).expect("written");
    let still = "<InitialValues><InitialValue variable=\"d\"><Real value=\"0\"/></InitialValue>";
    lab.write("OspSystemStructure.xml", text.replace("<InitialValues>", still));
    run(&lab);
    // x ← x + h y², y ← y + h x².
    let (mut x, mut y) = (1.0, 0.0);
    for _ in 0..10 {
        (x, y) = (x + 0.1 * y * y, y + 0.1 * x * x);
    }
    close(lab.last("a.x"), x, 1e-12);
    close(lab.last("b.x"), y, 1e-12);
    let ran = lab.powerbond(&["bonds", ".", "--no-trial"]);
    assert!(ran.code == 0 && ran.out.contains("shaft"), "{}{}", ran.out, ran.err);
}

/// `b` steps 0.2 s: the ring of both is one of five steps of 0.2 s. A pair beside a slower simulator exchanges
/// its values every 0.1 s still.
#[test]
fn hints_of_steps_are_followed() {
    let lab = with_integrators(&["a.fmu"]);
    let ring_of = |a: &'static str, b: &'static str| pair([a, "x"], [b, "u"]) + &pair([b, "x"], [a, "u"]);
    osp(&lab, &[("a", "a.fmu", "", 1.0), ("b", "a.fmu", "stepSize=\"0.2\"", 0.0)], "", &ring_of("a", "b"));
    run(&lab);
    close(lab.last("a.x"), ring(5, 0.2), 1e-12);
    osp(
        &lab,
        &[("a", "a.fmu", "", 1.0), ("c", "a.fmu", "", 0.0), ("b", "a.fmu", "stepSize=\"0.25\"", 0.0)],
        "",
        &(ring_of("a", "c") + &pair(["a", "x"], ["b", "u"])),
    );
    let ran = run(&lab);
    assert!(ran.err.contains("is not a multiple of the base step"), "{}", ran.err);
    close(lab.last("a.x"), ring(10, 0.1), 1e-12);
}

/// An input has one source, and a file that says two says so with both places.
/// A log may name strings, which libcosim records, and arrays.
#[test]
fn what_is_no_number_is_left_out_of_the_log() {
    let lab = Lab::new();
    lab.place("types3", "t.fmu");
    lab.write(
        "OspSystemStructure.xml",
        "<OspSystemStructure xmlns=\"http://opensimulationplatform.com/MSMI/OSPSystemStructure\" version=\"0.1\"><EndTime>1</EndTime>\
         <BaseStepSize>0.1</BaseStepSize><Simulators><Simulator name=\"t\" source=\"t.fmu\"/></Simulators></OspSystemStructure>",
    );
    let variables = ["text", "twice", "gear_out"].map(|name| format!("<variable name=\"{name}\"/>")).concat();
    lab.write(
        "LogConfig.xml",
        format!("<simulators><simulator name=\"t\">{variables}</simulator></simulators>"),
    );
    let ran = run(&lab);
    assert!(ran.err.contains("`t.text` is of type String and is not recorded"), "{}", ran.err);
    let results = lab.results();
    // twice = 2 a, and a starts as 0, 5, 7.
    for (column, x) in [("t.twice[1]", 0.0), ("t.twice[2]", 10.0), ("t.twice[3]", 14.0), ("t.gear_out", 0.0)]
    {
        close(*results.column(column).last().expect("a row"), x, 0.0);
    }
}

/// What is wrong with numbers, files, connections and the log is told in one go, and nothing follows from another mistake.
#[test]
fn mistakes_in_all_parts_are_told_together() {
    let lab = with_integrators(&["a.fmu"]);
    lab.place("types2", "t.fmu");
    let simulators =
        [("a", "a.fmu", "stepSize=\"soon\"", 0.0), ("m", "gone.fmu", "", 0.0), ("t", "t.fmu", "", 0.0)];
    let function = "<Sum name=\"f\"/>\n";
    let bond = |text: String| text.replace("<VariableConnection>", "<VariableConnection powerBond=\"p\">");
    let connections = bond(pair(["a", "x"], ["m", "u"]))
        + &bond(pair(["m", "x"], ["a", "u"]))
        + &signal(["a", "x"], "in[0]")
        + &pair(["a", "x"], ["t", "int_in"])
        + &pair(["a", "nothing"], ["t", "int_in"]);
    osp(&lab, &simulators, function, &connections);
    lab.write("LogConfig.xml", "<simulators><simulator name=\"b\"/></simulators>");
    let ran = lab.powerbond(&["check", "."]);
    assert_eq!(ran.code, 3);
    let parts = [
        "`stepSize` is `soon`",
        "missing file `gone.fmu`",
        "`Sum` lacks `inputCount`",
        "`a.x` is a real number and `t.int_in` is an integer: they cannot be connected",
        "`a` has no variable `nothing`",
        "unknown simulator `b`",
    ];
    for part in parts {
        assert!(ran.err.contains(part), "`{part}` in\n{}", ran.err);
    }
    // The FMU of types has no `x0`, which is told when it is opened.
    assert_eq!(ran.err.matches("error: ").count(), parts.len(), "{}", ran.err);
}

#[test]
fn an_input_with_two_sources_is_refused_with_both_places() {
    let lab = with_integrators(&["a.fmu"]);
    let simulators = [("a", "a.fmu", "", 1.0), ("b", "a.fmu", "", 0.0), ("c", "a.fmu", "", 0.0)];
    osp(&lab, &simulators, "", &(pair(["a", "x"], ["b", "u"]) + &pair(["b", "u"], ["c", "x"])));
    let ran = lab.powerbond(&["check", "."]);
    assert_eq!(ran.code, 3);
    for part in [
        "OspSystemStructure.xml:12:2: `b.u` is connected twice",
        "OspSystemStructure.xml:11:2. A function `Sum`",
    ] {
        assert!(ran.err.contains(part), "`{part}` in {}", ran.err);
    }
}

/// Suggested bonds become `powerBond` of their connections, and everything else in the file stays as it is.
#[test]
fn bonds_are_written_to_connections() {
    let lab = with_integrators(&["a.fmu", "b.fmu"]);
    described(&lab, "a.fmu", POWER[0]);
    described(&lab, "b.fmu", POWER[1]);
    let simulators = [("a", "a.fmu", "", 1.0), ("b", "b.fmu", "", 0.0)];
    osp(&lab, &simulators, "", &(pair(["a", "x"], ["b", "u"]) + &pair(["a", "u"], ["b", "x"])));
    let before = std::fs::read_to_string(lab.dir.join("OspSystemStructure.xml")).expect("written");
    let wrote = lab.powerbond(&["bonds", ".", "--write"]);
    assert!(wrote.code == 0 && wrote.out.contains("written to the file"), "{}{}", wrote.out, wrote.err);
    let after = std::fs::read_to_string(lab.dir.join("OspSystemStructure.xml")).expect("written");
    let bond = after.split("powerBond=\"").nth(1).and_then(|rest| rest.split('"').next()).expect("a bond");
    let attribute = format!(" powerBond=\"{bond}\"");
    assert_eq!(after.matches(&attribute).count(), 2, "{after}");
    assert_eq!(after.replace(&attribute, ""), before);
    let again = lab.powerbond(&["bonds", ".", "--no-trial"]);
    assert!(again.out.contains(bond) && again.out.contains("No other connections"), "{}", again.out);
    run(&lab);
    close(lab.last("a.x"), ring(10, 0.1), 1e-12);
    // Groups that are connected whole are one bond, whatever number of pairs was found in them.
    let group = |name: &str, variables: [&str; 2]| generic(name, &variables, "");
    describe(&lab, "integrator", &(group("plug", ["u", "x"]) + &group("socket", ["x", "u"])));
    let groups = format!(
        "<VariableGroupConnection>{}{}</VariableGroupConnection>\n",
        end("VariableGroup", "a", "plug"),
        end("VariableGroup", "b", "socket")
    );
    osp(&lab, &simulators, "", &groups);
    let wrote = lab.powerbond(&["bonds", ".", "--write"]);
    assert!(wrote.code == 0 && wrote.out.contains("written to the file"), "{}{}", wrote.out, wrote.err);
    let after = std::fs::read_to_string(lab.dir.join("OspSystemStructure.xml")).expect("written");
    assert!(after.contains(&format!("<VariableGroupConnection powerBond=\"{bond}\">")), "{after}");
    // Through a function there is no bond that the format could say.
    let through = signal(["a", "x"], "in") + &signal(["b", "u"], "out") + &pair(["a", "u"], ["b", "x"]);
    osp(&lab, &simulators, "<LinearTransformation name=\"f\" factor=\"-1\"/>\n", &through);
    let before = std::fs::read_to_string(lab.dir.join("OspSystemStructure.xml")).expect("written");
    let wrote = lab.powerbond(&["bonds", ".", "--write", "--no-trial"]);
    assert!(wrote.code == 0 && wrote.err.contains("not written: `"), "{}{}", wrote.out, wrote.err);
    assert_eq!(std::fs::read_to_string(lab.dir.join("OspSystemStructure.xml")).expect("written"), before);
    // What the groups are called tells what names and units do not.
    let nameless = |lab: &Lab, fmu: &str| {
        let path = format!("{fmu}/modelDescription.xml");
        let text = std::fs::read_to_string(lab.dir.join(&path)).expect("a description");
        let no_units = text.split(" unit=\"").map(|part| part.split_once('"').map_or(part, |(_, rest)| rest));
        let (head, _) = text.split_once(" unit=\"").expect("a unit");
        lab.write(&path, format!("{head}{}", no_units.skip(1).collect::<String>()));
    };
    nameless(&lab, "a.fmu");
    nameless(&lab, "b.fmu");
    let port = |name: &str, force: &str, velocity: &str| {
        format!(
            "<LinearMechanicalPort name=\"{name}\"><Force name=\"{name} 1\"><Variable ref=\"{force}\"/></Force><LinearVelocity \
             name=\"{name} 2\"><Variable ref=\"{velocity}\"/></LinearVelocity></LinearMechanicalPort>\n"
        )
    };
    let found = |groups: &str| {
        describe(&lab, "integrator", groups);
        osp(&lab, &simulators, "", &(pair(["a", "x"], ["b", "u"]) + &pair(["a", "u"], ["b", "x"])));
        lab.powerbond(&["bonds", ".", "--no-trial"]).out
    };
    let told = found(&port("plug", "x", "u"));
    assert!(told.contains("force and velocity, by declared quantities"), "{told}");
    let told = found(&generic("plug", &["u", "x"], ""));
    assert!(told.contains("No other connections"), "{told}");
}
