//! `powerbond new` and `powerbond bonds`: a first file from real FMUs, its signs from trials, and what is left to the user.

use crate::lab::{Lab, Ran, close, edit, plain, root};
use powerbond::models::quarter_car::{Damper, Reference};
use serde_json::Value;
use std::path::Path;

/// An integrator `x' = u` of FMI 2.0 under other names: a mass takes a force and gives a velocity. `(name, unit)`, no unit if empty.
fn part(lab: &Lab, folder: &str, input: (&str, &str), output: (&str, &str), x0: &str) {
    lab.place("integrator2", folder);
    let file = format!("{folder}/modelDescription.xml");
    let xml = std::fs::read_to_string(lab.dir.join(&file)).unwrap();
    let unit = |unit: &str| if unit.is_empty() { String::new() } else { format!(" unit=\"{unit}\"") };
    let xml = edit(&xml, "modelName=\"integrator\"", "modelName=\"part\"");
    let xml = edit(&xml, "name=\"u\"", &format!("name=\"{}\"", input.0));
    let xml =
        edit(&xml, "<Real start=\"0\" unit=\"m/s\"/>", &format!("<Real start=\"0\"{}/>", unit(input.1)));
    let xml = edit(&xml, "name=\"x\"", &format!("name=\"{}\"", output.0));
    let xml = edit(&xml, "<Real unit=\"m\" nominal=\"10\"/>", &format!("<Real{}/>", unit(output.1)));
    // The other output is of no use here.
    let xml = edit(
        &xml,
        "valueReference=\"2\" causality=\"output\" variability=\"continuous\" initial=\"calculated\"",
        "valueReference=\"2\" causality=\"local\" variability=\"continuous\"",
    );
    let xml = edit(&xml, "<Unknown index=\"3\" dependencies=\"1\"/>", "");
    let xml = edit(&xml, "<Unknown index=\"3\" dependencies=\"1 6\"/>", "");
    let xml = edit(&xml, "<Real start=\"0\" unit=\"m\"/>", &format!("<Real start=\"{x0}\" unit=\"m\"/>"));
    let xml = edit(&xml, "stopTime=\"1\"", "stopTime=\"2\"");
    lab.write(&file, xml);
}

fn new(lab: &Lab, arguments: &[&str]) -> Ran {
    lab.powerbond(&[&["new"], arguments].concat())
}

#[track_caller]
fn written(lab: &Lab, ran: &Ran) -> String {
    assert_eq!(ran.code, 0, "{}", ran.err);
    let checked = lab.powerbond(&["check", "system.toml"]);
    assert_eq!(checked.code, 0, "{}", checked.err);
    std::fs::read_to_string(lab.dir.join("system.toml")).unwrap()
}

#[track_caller]
fn has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "`{part}` in\n{text}");
    }
}

/// Against the monolithic reference of the benchmarks; the models of the FMUs integrate with Euler's method, which is off by 1 %.
#[test]
fn two_exported_fmus_become_a_system_that_runs_as_it_is() {
    let lab = Lab::new();
    for (model, fmi, file) in
        [("quarter-car/chassis", "2", "chassis.fmu"), ("quarter-car/wheel-suspension", "3", "wheel.fmu")]
    {
        let ran = lab.powerbond(&["export", model, "--fmi", fmi, "-o", file]);
        assert_eq!(ran.code, 0, "{}", ran.err);
    }
    let ran = new(&lab, &["chassis.fmu", "wheel.fmu"]);
    let text = written(&lab, &ran);
    has(
        &ran.out,
        &[
            "wheel.chassis_velocity = chassis.velocity",
            "chassis.force = −wheel.suspension_force",
            "signs by a trial of both sides",
            "wheel.road keeps its start value, 0 m",
            "Next:  powerbond run system.toml",
        ],
    );
    has(
        &text,
        &[
            "stop = 1.0 ",
            "fmu = \"chassis.fmu\"",
            "# mass = 400.0 ",
            "# kg",
            "gain = -1.0 ",
            "{ input = \"chassis.force\", output = \"chassis.velocity\", sign = -1 }",
            "{ input = \"wheel.chassis_velocity\", output = \"wheel.suspension_force\", sign = -1 }",
        ],
    );
    // What is a comment is right as it stands, too.
    let road = edit(&text, "# [inputs]\n# \"wheel.road\" = 0.0", "[inputs]\n\"wheel.road\" = 0.1");
    lab.write("system.toml", road);
    lab.runs(&[]);
    let mut reference = Reference::new(Damper::Linear(1000.0));
    reference.advance_to(1.0);
    close(lab.results().at(1.0, "chassis.velocity"), reference.chassis_velocity(), 0.05);
    assert_eq!(lab.summary()["bonds"][0]["name"], "chassis_wheel");
}

/// v' = -F, F' = v from v = 1, F = 0: v = cos t. Both FMUs count the force as pushing: only a trial tells that one has to be turned.
#[test]
fn without_units_names_and_a_trial_find_gain_and_signs() {
    let lab = Lab::new();
    part(&lab, "mass", ("force", ""), ("velocity", ""), "1");
    part(&lab, "spring", ("velocity", ""), ("force", ""), "0");
    let ran = new(&lab, &["mass", "spring"]);
    let text = written(&lab, &ran);
    has(&text, &["gain = -1.0", "by names; SI units are assumed", "stop = 2.0", "sign = -1"]);
    let start = edit(&text, "# [subsystems.mass.parameters]", "[subsystems.mass.parameters]");
    lab.write("system.toml", edit(&start, "# x0 = 1.0", "x0 = 1.0"));
    lab.runs(&["--tolerance", "1e-5"]);
    close(lab.results().at(2.0, "mass.velocity"), 2.0f64.cos(), 1e-3);
    let checked = lab.powerbond(&["check", "system.toml"]);
    has(
        &checked.err,
        &["note: `mass.force`, `mass.velocity`, `spring.force`, `spring.velocity` have no unit"],
    );
    // The energy of the spring comes from the mass: ½ sin² 2 has left it, whatever the steps are.
    lab.runs(&[]);
    let bond = &lab.summary()["bonds"][0];
    close(bond["transmitted"].as_f64().unwrap(), 0.5 * 2.0f64.sin().powi(2), 1e-3);
    assert!(lab.summary()["notes"][0].as_str().unwrap().contains("SI units"));
    let quiet = lab.run(&["--quiet"]);
    assert_eq!((quiet.out.as_str(), quiet.err.as_str()), ("", ""));
}

#[test]
fn a_unit_on_one_side_only_is_noted() {
    let lab = Lab::new();
    part(&lab, "mass", ("force", "N"), ("velocity", "m/s"), "1");
    part(&lab, "spring", ("velocity", ""), ("force", ""), "0");
    let ran = new(&lab, &["mass", "spring"]);
    written(&lab, &ran);
    let checked = lab.powerbond(&["check", "system.toml"]);
    has(
        &checked.err,
        &["`spring.force` (taken as N), `spring.velocity` (fed in m/s) have no unit", "passed on as it is"],
    );
    let strange = Lab::new();
    part(&strange, "mass", ("force", "N"), ("velocity", "m/s"), "1");
    part(&strange, "spring", ("velocity", "m"), ("force", "N"), "0");
    let ran = new(&strange, &["mass", "spring"]);
    let text = written(&strange, &ran);
    assert!(!text.contains("to = \"spring.velocity\"") && !text.contains("[bonds"), "{text}");
}

/// What a motor calls its load is a hint, and no more.
#[test]
fn an_input_that_is_named_after_a_subsystem_is_offered_its_outputs() {
    let lab = Lab::new();
    part(&lab, "motor", ("load", ""), ("speed", ""), "1");
    part(&lab, "Load", ("speed", ""), ("torque", ""), "0");
    let ran = new(&lab, &["motor", "Load", "--yes"]);
    let text = written(&lab, &ran);
    has(
        &text,
        &["\nfrom = \"motor.speed\"", "# from = \"Load.torque\"\n# to = \"motor.load\"", "amed after `Load`"],
    );
}

#[test]
fn odd_names_stay_in_their_quotes_and_comments() {
    let lab = Lab::new();
    part(&lab, "The shaft (v1.2)", ("load torque [N.m]", "N.m"), ("flange.w", "rad/s"), "1");
    part(&lab, "load #2", ("flange.w", "rad/s"), ("a &quot;load&quot; \\ torque", "N.m"), "0");
    let ran = new(&lab, &["The shaft (v1.2)", "load #2", "--yes"]);
    let text = written(&lab, &ran);
    has(
        &text,
        &[
            "[subsystems.The_shaft_v1_2]\nfmu = \"The shaft (v1.2)\"",
            "[subsystems.load_2]",
            "from = \"The_shaft_v1_2.flange.w\"",
            "to = \"load_2.flange.w\"",
            "load_2.a \\\"load\\\" \\\\ torque",
            "torque and speed, by units",
        ]
        .map(|part| if part.starts_with("torque") { "Torque and speed, by units" } else { part }),
    );
    lab.runs(&[]);
}

#[test]
fn copies_are_told_apart_and_not_connected_by_guess() {
    let lab = Lab::new();
    part(&lab, "mass", ("x_in", "m/s"), ("x_out", "m/s"), "1");
    let ran = new(&lab, &["mass", "mass"]);
    let text = written(&lab, &ran);
    has(
        &text,
        &["[subsystems.mass_1]", "[subsystems.mass_2]", "# [[connections]]", "both are the same model"],
    );
    assert!(!text.contains("\n[[connections]]"), "{text}");
    has(&ran.out, &["likely, as a comment: mass_1.x_in = mass_2.x_out"]);
    // Comments are right as they stand.
    lab.write(
        "system.toml",
        text.replace("# [[", "[[").replace("# from =", "from =").replace("# to =", "to ="),
    );
    lab.runs(&[]);
}

#[test]
fn terminals_connect_their_members_and_tell_signs() {
    const TERMINALS: &str = r#"<fmiTerminalsAndIcons fmiVersion="3.0"><Terminals>
      <Terminal name="pin" matchingRule="plug" terminalKind="org.example.pin">
        <TerminalMemberVariable variableName="EFFORT" memberName="v" variableKind="signal"/>
        <TerminalMemberVariable variableName="FLOW" memberName="i" variableKind="inflow"/>
      </Terminal></Terminals></fmiTerminalsAndIcons>"#;
    let lab = Lab::new();
    // A coil takes a voltage and gives a current, a capacitor the other way round; names tell nothing.
    for (folder, input, output, flow) in [("coil", "V", "A", "x"), ("plates", "A", "V", "u")] {
        lab.place("integrator3", folder);
        let file = format!("{folder}/modelDescription.xml");
        let xml = std::fs::read_to_string(lab.dir.join(&file)).unwrap();
        let xml = edit(&xml, "start=\"0\" unit=\"m/s\"", &format!("start=\"0\" unit=\"{input}\""));
        let xml = edit(
            &xml,
            "unit=\"m\" initial=\"calculated\"><Alias",
            &format!("unit=\"{output}\" initial=\"calculated\"><Alias"),
        );
        lab.write(&file, xml);
        std::fs::create_dir_all(lab.dir.join(folder).join("terminalsAndIcons")).unwrap();
        let effort = if flow == "x" { "u" } else { "x" };
        lab.write(
            &format!("{folder}/terminalsAndIcons/terminalsAndIcons.xml"),
            TERMINALS.replace("EFFORT", effort).replace("FLOW", flow),
        );
    }
    let ran = new(&lab, &["coil", "plates", "--no-trial"]);
    let text = written(&lab, &ran);
    has(
        &text,
        &[
            "Terminals `pin` of coil and `pin` of plates fit",
            "from = \"coil.x\"\nto = \"plates.u\"\ngain = -1.0",
            "from = \"plates.x\"\nto = \"coil.u\"\n",
            "[bonds.pin]",
            "Signs by the flows of the terminal",
            "{ input = \"coil.u\", output = \"coil.x\", sign = -1 }",
            "{ input = \"plates.u\", output = \"plates.x\", sign = -1 }",
        ],
    );
}

/// Variables without units and with names that tell nothing: a flow makes a bond likely, names of members say of what. A structure
/// without an end has bonds, too.
#[test]
fn terminals_alone_suggest_bonds() {
    let lab = Lab::new();
    let terminal = |folder: &str, input: [&str; 2], output: [&str; 2]| {
        lab.place("integrator3", folder);
        let file = format!("{folder}/modelDescription.xml");
        let xml = std::fs::read_to_string(lab.dir.join(&file)).unwrap();
        let xml = xml.replace(" unit=\"m/s\"", "").replace(" unit=\"m\"", "");
        let xml = xml.replace("name=\"u\"", "name=\"in17\"").replace("name=\"x\"", "name=\"val4\"");
        lab.write(&file, xml);
        let member = |variable: &str, [name, kind]: [&str; 2]| {
            format!(
                "<TerminalMemberVariable variableName=\"{variable}\" memberName=\"{name}\" variableKind=\"{kind}\"/>"
            )
        };
        std::fs::create_dir_all(lab.dir.join(folder).join("terminalsAndIcons")).unwrap();
        lab.write(
            &format!("{folder}/terminalsAndIcons/terminalsAndIcons.xml"),
            format!(
                "<fmiTerminalsAndIcons fmiVersion=\"3.0\"><Terminals><Terminal name=\"joint\" matchingRule=\"plug\">{}{}\
                 </Terminal></Terminals></fmiTerminalsAndIcons>",
                member("in17", input),
                member("val4", output)
            ),
        );
    };
    let wire = |from: &str, to: &str, inside: &str| {
        format!(
            "<ssd:Connection startElement=\"{from}\" startConnector=\"val4\" endElement=\"{to}\" endConnector=\"in17\">{inside}</ssd:Connection>"
        )
    };
    let turned = "<ssc:LinearTransformation factor=\"-1\"/>";
    let elements =
        ["a", "b"].map(|name| crate::structures::component(name, &format!("{name}.fmu"), "")).concat();
    let wires =
        format!("<ssd:Connections>{}{}</ssd:Connections>", wire("a", "b", ""), wire("b", "a", turned));
    lab.write("s.ssd", crate::structures::ssd(&elements, &wires, ""));
    for (names, kinds, said) in [
        (
            ["e", "f"],
            ["signal", "inflow"],
            "Uncertain bonds\n  joint: a flow and its potential, by a terminal",
        ),
        (["speed", "torque"], ["signal", "signal"], "Suggested bonds\n  a_b: torque and speed, by names"),
        (["e", "f"], ["signal", "signal"], "No other connections"),
    ] {
        let [effort, flow] = [[names[0], kinds[0]], [names[1], kinds[1]]];
        terminal("a.fmu", effort, flow);
        terminal("b.fmu", flow, effort);
        for more in [&[][..], &["--no-trial"]] {
            let ran = lab.powerbond(&[&["bonds", "s.ssd"], more].concat());
            assert!(ran.code == 0 && ran.out.contains(said), "`{said}` in {}{}", ran.out, ran.err);
        }
    }
}

#[test]
fn an_fmu_that_crashes_in_the_trial_costs_the_trial_only() {
    let lab = Lab::new();
    part(&lab, "mass", ("force", "N"), ("velocity", "m/s"), "1");
    lab.place("trap2", "trap");
    let xml = std::fs::read_to_string(lab.dir.join("trap/modelDescription.xml")).unwrap();
    let xml = edit(&xml, "name=\"u\"", "name=\"velocity\"");
    let xml = edit(&xml, "name=\"x\"", "name=\"force\"");
    lab.write("trap/modelDescription.xml", xml);
    // A segmentation fault in initialization, without any parameter.
    let sources = root().join("crates/fmi/tests/fmus");
    let source = std::fs::read_to_string(sources.join("trap2.c")).unwrap();
    let made = "Model *m = calloc(1, sizeof(Model));";
    lab.write("trap2.c", edit(&source, made, &format!("{made} m->fault = 1; m->place = 1;")));
    let compiled = std::process::Command::new("cc")
        .args(["-O2", "-shared", "-fPIC", "-o", "trap/binaries/linux64/trap2.so", "trap2.c", "-lm", "-I"])
        .arg(&sources)
        .current_dir(&lab.dir)
        .status();
    assert!(compiled.unwrap().success());
    let ran = new(&lab, &["mass", "trap"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    has(&ran.err, &["warning: a trial of the FMUs failed, and signs of power bonds are assumed: ", "trap"]);
    let text = std::fs::read_to_string(lab.dir.join("system.toml")).unwrap();
    has(&text, &["There was no trial", "[bonds.mass_trap]", "assumed"]);
    assert_eq!(lab.powerbond(&["check", "system.toml"]).code, 5);
}

#[test]
fn what_cannot_be_is_refused_and_nothing_is_lost() {
    let lab = Lab::with("# mine\n");
    part(&lab, "mass", ("force", "N"), ("velocity", "m/s"), "1");
    let check = |arguments: &[&str], code: i32, parts: &[&str]| {
        let ran = new(&lab, arguments);
        assert_eq!(ran.code, code, "{arguments:?}: {}", ran.err);
        has(&ran.err, parts);
        assert_eq!(std::fs::read_to_string(lab.dir.join("system.toml")).unwrap(), "# mine\n");
    };
    check(&["mass"], 3, &["system.toml is there already", "`--overwrite`", "`--output`"]);
    lab.write("text.fmu", "no zip");
    check(&["text.fmu", "gone.fmu", "-o", "a.toml"], 3, &["text.fmu: ", "gone.fmu: "]);
    check(&["mass", "-o", "nowhere/a.toml"], 8, &["nowhere"]);
    check(&["mass", "-o", "system.toml/a.toml"], 8, &["system.toml"]);
    check(&[], 2, &["<FMUS>"]);
    check(&["--example", "quarter-cra"], 3, &["Did you mean `quarter-car`?"]);
    check(&["mass", "--list"], 2, &["cannot be used with"]);
    // What does not start here may start elsewhere: the file is written, and nothing is hidden.
    part(&lab, "far", ("force", "N"), ("velocity", "m/s"), "1");
    std::fs::rename(lab.dir.join("far/binaries/linux64"), lab.dir.join("far/binaries/win64")).unwrap();
    check(&["far", "-o", "far.toml"], 0, &["warning: a trial of the FMUs failed: ", "win64"]);
    assert!(lab.dir.join("far.toml").is_file());
    // One FMU alone is a system, too, and a folder gets a `system.toml`.
    std::fs::create_dir(lab.dir.join("alone")).unwrap();
    let ran = new(&lab, &["mass", "--output", "alone"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    has(&std::fs::read_to_string(lab.dir.join("alone/system.toml")).unwrap(), &["fmu = \"../mass\""]);
    assert_eq!(lab.powerbond(&["run", "alone", "--quiet"]).code, 0);
    let ran = new(&lab, &["mass", "--overwrite"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
}

#[test]
fn an_fmu_of_fmi_1_has_its_parameters_and_inputs_listed() {
    let lab = Lab::new();
    lab.place("slave1", "slave");
    let ran = new(&lab, &["slave"]);
    let text = written(&lab, &ran);
    has(&text, &["# k = 1.0", "# \"slave.u\" = 0.0 ", "# m/s", "# \"slave.on\" = true"]);
    lab.write("system.toml", text.replace("# [inputs]", "[inputs]").replace("# \"slave", "\"slave"));
    lab.runs(&[]);
}

#[test]
fn every_example_is_in_the_command() {
    let lab = Lab::new();
    let listed = new(&lab, &["--list"]).out;
    let folders = std::fs::read_dir(root().join("examples")).unwrap().flatten().map(|e| e.path());
    let mut found = 0;
    let file =
        |f: &Path| ["system.toml", "SystemStructure.ssd"].into_iter().find(|file| f.join(file).is_file());
    for folder in folders.filter(|f| file(f).is_some() && !f.join("Cargo.toml").is_file()) {
        let file = file(&folder).unwrap();
        let name = folder.file_name().unwrap().to_str().unwrap();
        has(&listed, &[&format!("\n  {name} ")]);
        let ran = new(&lab, &["--example", name]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        assert_eq!(new(&lab, &["--example", name]).code, 3, "a folder that is there is not written to");
        let text = |path: std::path::PathBuf| std::fs::read_to_string(path).unwrap();
        let system = text(lab.dir.join(name).join(file));
        assert_eq!(system, text(folder.join(file)));
        // Those of FMUs are built first.
        if !system.contains("fmu = ") && file == "system.toml" {
            assert_eq!(lab.powerbond(&["check", name]).code, 0, "{name}");
        }
        found += 1;
    }
    assert!(found >= 6 && listed.lines().count() == found + 1, "{listed}");
    assert_eq!(lab.powerbond(&["run", "quarter-car", "--quiet"]).code, 0);
}

/// Two springs on one mass: each connection of the sum gets a bond of its own, with the signs of docs/system-file.md.
#[test]
fn shared_inputs_get_a_bond_for_each_of_their_connections() {
    let page = std::fs::read_to_string(root().join("docs/system-file.md")).unwrap();
    let start = page.find("[subsystems.left]\nmodel = \"oscillator/force-giver\"").unwrap();
    let system = &page[start..start + page[start..].find("[bonds.left]").unwrap()];
    let lab = Lab::with(&format!("# mine\n[simulation]\nstop = 1.0 # s\nstep = 1e-3\n{system}"));
    let before = std::fs::read_to_string(lab.dir.join("system.toml")).unwrap();
    let run = lab.run(&[]);
    has(&run.out, &["no power bonds, but 2 could be declared: see `powerbond bonds system.toml`"]);
    let found: Value = lab.powerbond(&["bonds", "system.toml", "--json"]).json();
    for (bond, side, sign) in [(0, "left", 1.0), (1, "right", 1.0)] {
        let bond = &found["suggested"][bond];
        assert_eq!(bond["certain"], true, "{bond}");
        let ports = bond["ports"].as_array().unwrap();
        let port =
            |input: &str| ports.iter().find(|p| p["inputs"][0] == input).unwrap_or_else(|| panic!("{bond}"));
        assert_eq!(port(&format!("{side}.velocity"))["sign"], sign, "{bond}");
        assert_eq!(port("mass.force")["sign"], -1.0, "{bond}");
        assert_eq!(port("mass.force")["from"][0], format!("{side}.force"), "{bond}");
    }
    let wrote = lab.powerbond(&["bonds", "system.toml", "--write"]);
    assert_eq!(wrote.code, 0, "{}", wrote.err);
    let after = std::fs::read_to_string(lab.dir.join("system.toml")).unwrap();
    assert!(after.starts_with(&before), "{after}");
    lab.runs(&[]);
    assert_eq!(lab.summary()["bonds"].as_array().unwrap().len(), 2);
    let again = lab.powerbond(&["bonds", "system.toml"]);
    has(&again.out, &["Declared bonds\n  left_mass", "No other connections"]);
}

#[test]
fn components_of_a_vector_are_one_bond_and_a_wrong_gain_is_doubted() {
    let page = std::fs::read_to_string(root().join("docs/system-file.md")).unwrap();
    let start = page.find("[subsystems.left]\nmodel = \"pendula/force-giver\"").unwrap();
    let system = &page[start..start + page[start..].find("[bonds.spring]").unwrap()];
    let lab = Lab::with(&format!("[simulation]\nstop = 1.0\nstep = 1e-3\n{system}"));
    let found = lab.powerbond(&["bonds", "system.toml", "--json"]).json();
    let bonds = found["suggested"].as_array().unwrap();
    assert_eq!(bonds.len(), 1, "{found}");
    assert_eq!(bonds[0]["ports"][0]["inputs"].as_array().unwrap().len(), 2, "{found}");

    let car = plain().split("# Both products").next().unwrap().to_owned();
    let wrong = Lab::with(&edit(&car, "gain = -1.0", "gain = 1.0"));
    let ran = wrong.powerbond(&["bonds", "system.toml"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    has(&ran.err, &["cannot cancel with these gains", "`chassis.force`", "`gain = -1.0`"]);
}

/// 30/π with five digits was refused as if it were a mistake.
#[test]
fn rounded_gains_are_warned_about_and_wrong_ones_refused() {
    let check = |gain: &str| {
        let system = edit(
            plain(),
            "to = \"wheel.chassis_velocity\"",
            &format!("to = \"wheel.chassis_velocity\"\ngain = {gain}"),
        );
        let port = "output = \"wheel.suspension_force\", sign = -1";
        let lab = Lab::with(&edit(&system, port, &format!("{port}, ratio = 0.10472")));
        lab.powerbond(&["check", "system.toml"])
    };
    let rounded = check("9.5493");
    assert_eq!(rounded.code, 0, "{}", rounded.err);
    has(&rounded.err, &["warning: ", "system.toml:", "bond `suspension` cancel up to", "more digits"]);
    let wrong = check("9.56");
    assert_eq!(wrong.code, 3, "{}", wrong.err);
    has(&wrong.err, &["the powers of bond `suspension` cannot cancel"]);
    let exact = Lab::with(plain()).powerbond(&["check", "system.toml"]);
    assert!(!exact.err.contains("cancel"), "{}", exact.err);
}
