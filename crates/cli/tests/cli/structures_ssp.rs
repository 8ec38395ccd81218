//! Archives, external files and oddities of SSP as other tools write them, against results by hand.
//!
//! The integrator is x' = k u from x0 with constant u, so x(1) = x0 + k u.

use crate::lab::{Lab, close, edit, root};
use crate::structures::{binding, component, connectors, real, ssd, wire, wires, with_integrators};
use std::process::Command;

/// A parameter set in a file of its own.
fn ssv(parameters: &str) -> String {
    format!(
        "<ssv:ParameterSet xmlns:ssv=\"http://ssp-standard.org/SSP1/SystemStructureParameterValues\" version=\"1.0\" \
         name=\"p\"><ssv:Parameters>{parameters}</ssv:Parameters></ssv:ParameterSet>\n"
    )
}

/// u = 1, k = 2 and x0 = 3: x(1) = 5.
fn values() -> String {
    real("u", "1") + &real("k", "2") + &real("x0", "3")
}

/// A binding to a file.
fn bound(attributes: &str, inside: &str) -> String {
    format!(
        "<ssd:ParameterBindings><ssd:ParameterBinding {attributes}>{inside}</ssd:ParameterBinding></ssd:ParameterBindings>"
    )
}

/// An archive of files, by names as they are to be in it.
fn archive(lab: &Lab, name: &str, files: &[(&str, &str)]) {
    let script = "import sys, zipfile, os\nz = zipfile.ZipFile(sys.argv[1], 'w')\n\
        for a in sys.argv[2:]:\n    to, at = a.split('=', 1)\n    i = zipfile.ZipInfo('x'); i.filename = to\n    z.writestr(i, open(at, 'rb').read())\nz.close()\n";
    let pairs = files.iter().map(|(to, at)| format!("{to}={at}"));
    let status =
        Command::new("python3").args(["-c", script, name]).args(pairs).current_dir(&lab.dir).status();
    assert!(status.expect("python3").success());
}

/// An FMU as one file.
fn packed(lab: &Lab, folder: &str, name: &str, more: &[(&str, &str)]) {
    let inside = ["modelDescription.xml", "binaries/linux64/integrator2.so"];
    let at: Vec<String> = inside.iter().map(|file| format!("{folder}/{file}")).collect();
    let files: Vec<(&str, &str)> =
        inside.iter().zip(&at).map(|(to, at)| (*to, &**at)).chain(more.iter().copied()).collect();
    archive(lab, name, &files);
}

/// Runs with archives unpacked in a folder of the test.
fn integrates(lab: &Lab, system: &str) -> String {
    let mut command =
        lab.command(&["run", system, "-s", "0.1", "-e", "1", "--output-dir", "out", "--overwrite"]);
    let ran = crate::lab::Ran::new(
        command.env("POWERBOND_CACHE", lab.dir.join("cache")).output().expect("started"),
    );
    assert_eq!(ran.code, 0, "{system}: {}", ran.err);
    ran.err
}

#[test]
fn values_and_mappings_stand_in_files_of_their_own() {
    let lab = with_integrators(&["a.fmu"]);
    lab.write("p.ssv", ssv(&values()));
    lab.write("named.ssv", ssv(&(real("start", "3") + &real("speed", "1"))));
    lab.write(
        "m.ssm",
        "<ssm:ParameterMapping xmlns:ssm=\"http://ssp-standard.org/SSP1/SystemStructureParameterMapping\" \
         xmlns:ssc=\"http://ssp-standard.org/SSP1/SystemStructureCommon\" version=\"1.0\">\
         <ssm:MappingEntry source=\"start\" target=\"x0\"><ssc:LinearTransformation factor=\"2\"/></ssm:MappingEntry>\
         <ssm:MappingEntry source=\"speed\" target=\"u\"/></ssm:ParameterMapping>",
    );
    std::fs::create_dir_all(lab.dir.join("a.fmu/resources")).expect("a folder");
    lab.write("a.fmu/resources/p.ssv", ssv(&values()));
    packed(&lab, "a.fmu", "packed.fmu", &[("resources/p.ssv", "p.ssv")]);
    let mapped = bound("source=\"named.ssv\"", "<ssd:ParameterMapping source=\"m.ssm\"/>");
    let foreign = ssv(&values()).replace("SSP1/SystemStructureParameterValues", "SSP1/ParameterValues");
    lab.write("foreign.ssv", foreign);
    let inside = "source=\"resources/p.ssv\" sourceBase=\"component\"";
    for (name, fmu, binding, x, said) in [
        ("a file", "a.fmu", bound("source=\"p.ssv\"", ""), 5.0, ""),
        ("with a mapping", "a.fmu", mapped, 7.0, ""),
        ("in an unpacked FMU", "a.fmu", bound(inside, ""), 5.0, ""),
        ("in an FMU", "packed.fmu", bound(inside, ""), 5.0, ""),
        (
            "foreign namespace",
            "a.fmu",
            bound("source=\"foreign.ssv\"", ""),
            5.0,
            "foreign.ssv:1:6: the namespace of `ParameterSet` is",
        ),
    ] {
        lab.write("s.ssd", ssd(&component("a", fmu, &binding), "", ""));
        let err = integrates(&lab, "s.ssd");
        println!("{name}");
        close(lab.last("a.x"), x, 1e-12);
        assert!(err.contains(said), "{name}: {err}");
    }
    for (source, said) in [
        ("source=\"P.ssv\"", "missing file `P.ssv`. Did you mean `p.ssv`?"),
        ("source=\"resources/q.ssv\" sourceBase=\"component\"", "missing file in the component"),
        ("source=\"../p.ssv\" sourceBase=\"component\"", "is outside of the component"),
    ] {
        lab.write("s.ssd", ssd(&component("a", "a.fmu", &bound(source, "")), "", ""));
        let ran = lab.powerbond(&["check", "s.ssd"]);
        assert_eq!(ran.code, 3, "{source}");
        assert!(ran.err.contains("s.ssd:5:") && ran.err.contains(said), "{source}: {}", ran.err);
    }
}

/// The outer binding of a nested archive counts more than that inside; its connectors pass a signal through, with a factor.
#[test]
fn archives_contain_archives_and_several_systems() {
    let lab = with_integrators(&["a.fmu"]);
    packed(&lab, "a.fmu", "packed.fmu", &[]);
    lab.write("p.ssv", ssv(&values()));
    let inner = |k: &str| {
        let own = connectors(&[("speed", "input", "Real")]);
        let passed = wires(&[wire(["", "speed"], ["a", "u"], "<ssc:LinearTransformation factor=\"2\"/>")]);
        let elements = component("a", "resources/a b.fmu", &binding("", &real("k", k), ""));
        ssd(&elements, &passed, "").replace("<ssd:Elements>", &format!("{own}<ssd:Elements>"))
    };
    lab.write("inner.ssd", inner("10"));
    archive(&lab, "inner.ssp", &[("SystemStructure.ssd", "inner.ssd"), ("resources/a b.fmu", "packed.fmu")]);
    // c gives 5 to the inner one, unit for unit: m is no m/s, so units are suppressed at this connection.
    let elements =
        component("in", "resources/inner.ssp", &binding("a.", &(real("k", "3") + &real("x0", "1")), ""))
            + &component("c", "c.fmu", &binding("", &real("x0", "5"), ""));
    let across = wires(&[wire(["c", "x"], ["in", "speed"], "")
        .replace("<ssd:Connection ", "<ssd:Connection suppressUnitConversion=\"true\" ")]);
    lab.write("outer.ssd", ssd(&elements, &across, ""));
    lab.write("sport.ssd", ssd(&component("c", "c.fmu", &bound("source=\"resources\\p.ssv\"", "")), "", ""));
    archive(
        &lab,
        "s.ssp",
        &[
            ("SystemStructure.ssd", "outer.ssd"),
            ("Sport.ssd", "sport.ssd"),
            ("c.fmu", "packed.fmu"),
            ("resources\\inner.ssp", "inner.ssp"),
            ("resources\\p.ssv", "p.ssv"),
        ],
    );
    let err = integrates(&lab, "s.ssp");
    // 1 + 3 · 2 · 5.
    close(lab.last("in/a.x"), 31.0, 1e-12);
    assert!(err.contains("s.ssp has 2 systems"), "{err}");
    for name in ["s.ssp/Sport.ssd", "s.ssp/Sport"] {
        integrates(&lab, name);
        close(lab.last("c.x"), 5.0, 1e-12);
    }
    let ran = lab.powerbond(&["check", "s.ssp/Spot.ssd"]);
    assert!(
        ran.code == 3 && ran.err.contains("no system `Spot.ssd`. Did you mean `Sport.ssd`?"),
        "{}",
        ran.err
    );
    // The graph shows the system around `a`.
    let ran = lab.powerbond(&["check", "s.ssp", "--end-time", "1", "--graph", "graph.dot"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let graph = std::fs::read_to_string(lab.dir.join("graph.dot")).expect("a graph");
    let around = graph.find("subgraph \"cluster in\" {\n    label = \"in\"").expect("a cluster");
    assert!(graph[around..].contains("label = \"a (a b.fmu)\""), "{graph}");
}

/// What Dymola, easySSP and others write: connectors that the FMU does not have, values for inputs and outputs, Integer for Real.
#[test]
fn oddities_of_other_tools_are_forgiven_and_said() {
    let lab = with_integrators(&["a.fmu"]);
    let whole = |name: &str, x: &str| {
        format!("<ssv:Parameter name=\"{name}\"><ssv:Integer value=\"{x}\"/></ssv:Parameter>")
    };
    let odd = values() + &real("x", "9") + &real("q", "1");
    for (inside, said) in [
        (binding("", &(real("u", "1") + &whole("k", "2") + &whole("x0", "3")), ""), ""),
        // An empty unit is none.
        (binding("", &values().replace("value=\"3\"", "value=\"3\" unit=\"\""), ""), ""),
        (
            connectors(&[("ghost", "output", "Real"), ("u", "input", "Real")]) + &binding("", &values(), ""),
            "`ghost`",
        ),
        (binding("", &odd, ""), "`a.x` is an output, which cannot be set; its value is not used"),
        (binding("", &odd, ""), "the FMU of `a` has no `q`; its value is not used"),
    ] {
        lab.write("s.ssd", ssd(&component("a", "a.fmu", &inside), "", ""));
        let err = integrates(&lab, "s.ssd");
        close(lab.last("a.x"), 5.0, 1e-12);
        assert!(err.contains(said), "`{said}` in {err}");
    }
}

/// A connector may have another type in the file than in the FMU, an integer all digits of 64 bits, an address the old name of proxyfmu,
/// and an archive may hold its folder instead of what is in it, which is told.
#[test]
fn more_oddities_are_forgiven_or_told() {
    let lab = with_integrators(&["a.fmu"]);
    let connectors =
        connectors(&[("k", "parameter", "Integer"), ("u", "input", "Boolean"), ("x", "output", "Real")]);
    let source = "proxy-fmu://localhost?file=a.fmu";
    lab.write("s.ssd", ssd(&component("a", source, &(connectors + &binding("", &values(), ""))), "", ""));
    let err = integrates(&lab, "s.ssd");
    close(lab.last("a.x"), 5.0, 1e-12);
    let said =
        "`a.k` is called Integer in the file and is Float64 in the FMU, which counts; 1 more connectors";
    assert!(err.contains(said), "{err}");
    lab.place("types3", "t.fmu");
    let digits =
        "<ssv:Parameter name=\"uint64_in\"><ssv:UInt64 value=\"18446744073709551615\"/></ssv:Parameter>";
    lab.write("t.ssd", ssd(&component("t", "t.fmu", &binding("", digits, "")), "", ""));
    let ran = lab.powerbond(&["check", "t.ssd", "-e", "1"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let beyond = digits.replace("551615", "551616");
    lab.write("t.ssd", ssd(&component("t", "t.fmu", &binding("", &beyond, "")), "", ""));
    let ran = lab.powerbond(&["check", "t.ssd", "-e", "1"]);
    assert!(ran.code == 3 && ran.err.contains("an integer of at most 64 bits"), "{}", ran.err);
    archive(&lab, "deep.ssp", &[("van/SystemStructure.ssd", "s.ssd")]);
    let ran = lab.powerbond(&["check", "deep.ssp"]);
    let told = "there is no `SystemStructure.ssd` at the root of the archive, but in its folder `van`";
    assert!(ran.code == 3 && ran.err.contains(told), "{}", ran.err);
}

/// A connection may begin at a local variable or a calculated parameter. y = x + u/2 and d = 1/2 are such here: with u = 1 and
/// x = t, b gets y at 0, 0.1, …, 0.9 s, and c gets d. Where y feeds its own u, u = 2 x and x(1) = (1 + 2 · 0.1)^10.
#[test]
fn connections_begin_at_local_variables_and_calculated_parameters() {
    let lab = with_integrators(&["a.fmu", "b.fmu"]);
    let file = lab.dir.join("a.fmu/modelDescription.xml");
    let mut text = std::fs::read_to_string(&file).expect("a description");
    for (old, new) in [
        ("valueReference=\"2\" causality=\"output\"", "valueReference=\"2\" causality=\"local\""),
        (
            "causality=\"parameter\" variability=\"fixed\"><Real start=\"0.5\"/>",
            "causality=\"calculatedParameter\" variability=\"fixed\"><Real/>",
        ),
        ("<Unknown index=\"3\" dependencies=\"1\"/></Outputs>", "</Outputs>"),
    ] {
        text = edit(&text, old, new);
    }
    std::fs::write(&file, text).expect("written");
    let plain = |from, to| {
        wire(from, to, "").replace("<ssd:Connection ", "<ssd:Connection suppressUnitConversion=\"true\" ")
    };
    let inner =
        connectors(&[("y", "local", "Real"), ("d", "calculatedParameter", "Real"), ("u", "input", "Real")]);
    let elements = component("a", "a.fmu", &(inner + &binding("", &real("u", "1"), "")))
        + &component("b", "b.fmu", "")
        + &component("c", "b.fmu", "");
    let both = [plain(["a", "y"], ["b", "u"]), plain(["c", "u"], ["a", "d"])];
    lab.write("s.ssd", ssd(&elements, &wires(&both), ""));
    let mut found = Vec::new();
    for (to, lost) in [
        ("s.ssd", ""),
        ("s.toml", ""),
        ("s.ssp", ""),
        ("osp", "`a.y`, a local variable, to `b.u`: libcosim connects outputs only"),
    ] {
        if to != "s.ssd" {
            let ran = lab.powerbond(&["convert", "s.ssd", to]);
            assert!(ran.code == 0 && ran.out.contains(lost), "{to}: {}{}", ran.out, ran.err);
        }
        integrates(&lab, to);
        if lost.is_empty() {
            close(lab.last("c.x"), 0.5, 1e-12);
            found.push(lab.last("b.x"));
        }
    }
    close(found[0], 0.95, 1e-12);
    assert!(found.iter().all(|x| x.to_bits() == found[0].to_bits()), "{found:?}");
    let toml = std::fs::read_to_string(lab.dir.join("s.toml")).expect("converted");
    lab.write("own.toml", toml.replace("[subsystems.a]\n", "[subsystems.a]\nprocess = \"own\"\n"));
    integrates(&lab, "own.toml");
    assert_eq!(lab.last("b.x").to_bits(), found[0].to_bits());
    // Its feed-through is found, although the file cannot declare it.
    let a = component("a", "a.fmu", &binding("", &real("x0", "1"), ""));
    lab.write("loop.ssd", ssd(&a, &wires(&[plain(["a", "y"], ["a", "u"])]), ""));
    integrates(&lab, "loop.ssd");
    close(lab.last("a.x"), 1.2f64.powi(10), 1e-9);
    // A parameter keeps what it was given.
    lab.write("s.toml", toml.replace("a.d", "a.k"));
    let ran = lab.powerbond(&["check", "s.toml", "-e", "1"]);
    assert!(
        ran.code == 3 && ran.err.contains("`a.k` is a parameter, which has the value that it is given"),
        "{}",
        ran.err
    );
}

/// `Conections` was left out without a word, and so was a unit that was called `uint`.
#[test]
fn what_is_not_read_of_a_file_is_told() {
    let lab = with_integrators(&["a.fmu"]);
    let values =
        real("u", "1") + "<ssv:Parameter name=\"x0\"><ssv:Real value=\"2\" uint=\"km\"/></ssv:Parameter>";
    lab.write("p.ssv", ssv(&values));
    let elements = component("a", "a.fmu", &bound("source=\"p.ssv\"", "<ssd:ParameterMaping/>"));
    let wires = wires(&[wire(["a", "x"], ["a", "u"], "")]).replace("Connections", "Conections");
    let text = ssd(&elements, &wires, "")
        .replace("<ssd:System name", "<ssd:System xml:space=\"default\" colour=\"red\" name");
    lab.write("s.ssd", text);
    let err = integrates(&lab, "s.ssd");
    close(lab.last("a.x"), 3.0, 1e-12);
    for said in [
        "s.ssd:3:6: unknown attribute `colour` of `System`, which is not read",
        "unknown element `ParameterMaping` of `ParameterBinding`, which is not read. Did you mean `ParameterMapping`?",
        "s.ssd:8:6: unknown element `Conections` of `System`, which is not read. Did you mean `Connections`?",
        "unknown attribute `uint` of `Real`, which is not read. Did you mean `unit`?",
    ] {
        assert!(err.contains(said), "`{said}` in {err}");
    }
    assert!(!err.contains("space"), "{err}");
    let many: String = (0..20).map(|n| format!("<ssd:Extra{n}/>")).collect();
    lab.write("s.ssd", ssd(&elements, &many, ""));
    let err = integrates(&lab, "s.ssd");
    assert!(err.contains("s.ssd:2:6: 13 more unknown elements and attributes are not read"), "{err}");
}

/// The connector `a.k` of the structure feeds b, and a has a parameter `k`: the connector is meant, which is told.
#[test]
fn a_name_with_two_meanings_is_told() {
    let lab = with_integrators(&["a.fmu"]);
    let driven = binding("", &real("u", "1"), "");
    let elements = component("a", "a.fmu", &driven) + &component("b", "a.fmu", &driven);
    for (name, is_told) in [("a.k", true), ("a.gain", false), ("a", false)] {
        let passed = wires(&[wire(["", name], ["b", "k"], "")]);
        let outside = connectors(&[(name, "parameter", "Real")]) + &binding("", &real(name, "3"), "");
        let text = ssd(&elements, &passed, "").replace("<ssd:Elements>", &format!("{outside}<ssd:Elements>"));
        lab.write("s.ssd", text);
        let err = integrates(&lab, "s.ssd");
        close(lab.last("a.x"), 1.0, 1e-12);
        close(lab.last("b.x"), 3.0, 1e-12);
        let said =
            "`a.k` is a connector of a system and a variable of its element `a`; where both could be meant";
        assert_eq!(err.contains(said), is_told, "{name}: {err}");
    }
}

/// Elements of an array by their names, in any order: twice = 2 a. `convert` writes arrays so, which could not be read back.
#[test]
fn arrays_are_set_by_their_elements() {
    let lab = Lab::new();
    lab.place("types3", "t.fmu");
    let element =
        |n: u8, x: f64| format!("<ssv:Parameter name=\"a[{n}]\"><ssv:Real value=\"{x}\"/></ssv:Parameter>");
    let all = [(3, 30.0), (1, 10.0), (2, 20.0)];
    let elements: String = all.iter().map(|&(n, x)| element(n, x)).collect();
    // Names of elements of matrices have commas in them.
    let record = "[record]\nvariables = [\"t.twice*\"]\n";
    let annotation = format!(
        "<ssd:Annotations><ssc:Annotation type=\"io.github.powerbond\"><p:S xmlns:p=\"x\">\n{record}</p:S></ssc:Annotation>\
         </ssd:Annotations>\n"
    );
    lab.write("s.ssd", ssd(&component("t", "t.fmu", &binding("", &elements, "")), "", &annotation));
    let run = |system: &str| {
        let ran =
            lab.powerbond(&["run", system, "-s", "0.1", "-e", "1", "--output-dir", "out", "--overwrite"]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        [1, 2, 3].map(|n| lab.last(&format!("t.twice[{n}]")))
    };
    assert_eq!(run("s.ssd"), [20.0, 40.0, 60.0]);
    lab.write(
        "s.toml",
        format!(
            "[simulation]\nstop = 1.0\nstep = 0.1\n{record}[subsystems.t]\nfmu = \"t.fmu\"\n[subsystems.t.start]\na = [1.0, 2.0, 3.0]\n"
        ),
    );
    for (from, to) in [("s.toml", "c.ssp"), ("c.ssp", "c.toml")] {
        let ran = lab.powerbond(&["convert", from, to]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        assert_eq!(run(to), [2.0, 4.0, 6.0], "{to}");
    }
    lab.write(
        "s.ssd",
        ssd(&component("t", "t.fmu", &binding("", &(element(1, 1.0) + &element(3, 3.0)), "")), "", ""),
    );
    let ran = lab.powerbond(&["check", "s.ssd", "-e", "1"]);
    let told = "the array `a` is set as a whole; 2 of its elements up to [3] have values";
    assert!(ran.code == 3 && ran.err.contains(told), "{}", ran.err);
}

/// A table that an input follows goes along into the archive, and is found there: the same bits.
#[test]
fn tables_of_inputs_are_converted_with_their_system() {
    let lab = with_integrators(&["a.fmu"]);
    packed(&lab, "a.fmu", "packed.fmu", &[]);
    lab.write("in.csv", "time,u\n0,0\n1,2\n");
    lab.write(
        "s.toml",
        "[simulation]\nstop = 1.0\nstep = 0.1\n[subsystems.a]\nfmu = \"packed.fmu\"\n[inputs]\n\
         \"a.u\" = { table = \"in.csv\", column = \"u\" }\n",
    );
    let ran = lab.powerbond(&["convert", "s.toml", "s.ssp"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let mut found = Vec::new();
    for system in ["s.toml", "s.ssp"] {
        integrates(&lab, system);
        found.push(lab.last("a.x"));
    }
    assert_eq!(found[0].to_bits(), found[1].to_bits());
    // u is held in steps of 0.1 s: 2 · 0.1 · (0 + 0.1 + … + 0.9).
    close(found[0], 0.9, 1e-12);
}

/// The quarter car as SSP and as OSP, with FMUs made by their scripts. The errors against the exact solution are those of the READMEs, in
/// percent and to their last digit: what changes them changes the READMEs.
#[test]
fn the_quarter_car_runs_as_ssp_and_as_osp() {
    let example = root().join("examples/quarter-car");
    for (folder, [velocity, force]) in [("ssp", [0.26, 0.29]), ("osp", [0.13, 0.15])] {
        let lab = Lab::new();
        for entry in std::fs::read_dir(example.join(folder)).expect("an example").flatten() {
            if entry.path().extension().is_none_or(|ending| ending != "fmu") && entry.path().is_file() {
                std::fs::copy(entry.path(), lab.dir.join(entry.file_name())).expect("copied");
            }
        }
        let mut build = Command::new("sh");
        let built = build
            .arg("build.sh")
            .env("POWERBOND", env!("CARGO_BIN_EXE_powerbond"))
            .current_dir(&lab.dir)
            .output();
        let built = built.expect("sh");
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        let ran = lab.powerbond(&["run", ".", "--output-interval", "0.05", "--output-dir", "out"]);
        assert_eq!(ran.code, 0, "{folder}: {}", ran.err);
        let expected = example.join("expected.csv");
        let compared = lab.powerbond(&["compare", "out", expected.to_str().expect("UTF-8"), "--json"]).json();
        let variables = compared["variables"].as_array().expect("variables");
        assert_eq!(variables.len(), 2, "{folder}");
        for variable in variables {
            let found = variable["relative_rms"].as_f64().expect("a number");
            let expected = if variable["name"] == "chassis.velocity" { velocity } else { force };
            assert!((100.0 * found - expected).abs() <= 0.005, "{folder}: {variable}");
        }
    }
}

/// Parts of arrays of SSP 2.0: twice = 2 a, and b\[row, column\] = 10 row + column.
#[test]
fn elements_of_arrays_are_connected_by_their_indices() {
    let lab = Lab::new();
    lab.place("types3", "t.fmu");
    let a = component(
        "a",
        "t.fmu",
        &binding(
            "",
            "<ssv:Parameter name=\"a\"><ssv:Float64 value=\"1 2 3\"/><ssv:Dimension size=\"3\"/></ssv:Parameter>",
            "",
        ),
    );
    let part = |from: [&str; 2], to: [&str; 2], indices: &str| {
        wire(from, to, "").replace("<ssd:Connection ", &format!("<ssd:Connection {indices} "))
    };
    let run = |elements: &str, connections: &[String]| {
        // Names of elements of matrices have commas in them.
        let record = "<ssd:Annotations><ssc:Annotation type=\"io.github.powerbond\"><p:S xmlns:p=\"x\">\n[record]\n\
            variables = [\"*b.a*\", \"*b.float64_in\"]\n</p:S></ssc:Annotation></ssd:Annotations>\n";
        let text = ssd(&(a.clone() + elements), &wires(connections), record);
        lab.write("s.ssd", text.replace("version=\"1.0\" name=\"s\"", "version=\"2.0\" name=\"s\""));
        lab.powerbond(&["run", "s.ssd", "-s", "0.1", "-e", "1", "--output-dir", "out", "--overwrite"])
    };
    let b = component("b", "t.fmu", "");
    let ran = run(
        &b,
        &[
            part(["a", "twice"], ["b", "a"], "startIndices=\"2\" endIndices=\"1\""),
            part(["a", "twice"], ["b", "a"], "startIndices=\"1\" endIndices=\"3\""),
            part(["a", "b"], ["b", "float64_in"], "startIndices=\"2 1\""),
        ],
    );
    assert_eq!(ran.code, 0, "{}", ran.err);
    // The second element keeps its start value.
    assert_eq!(
        ["b.a[1]", "b.a[2]", "b.a[3]", "b.float64_in"].map(|name| lab.last(name)),
        [4.0, 5.0, 2.0, 21.0]
    );
    // Element by element into a system, whole in it.
    let vector = "<ssd:Connectors><ssd:Connector name=\"v\" kind=\"input\"><ssc:Float64/><ssc:Dimension size=\"3\"/></ssd:Connector></ssd:Connectors>";
    let inner = format!(
        "<ssd:System name=\"n\">{vector}<ssd:Elements>{b}</ssd:Elements>{}</ssd:System>\n",
        wires(&[wire(["", "v"], ["b", "a"], "")])
    );
    let ran = run(
        &inner,
        &[
            part(["a", "twice"], ["n", "v"], "startIndices=\"3\" endIndices=\"1\""),
            part(["a", "twice"], ["n", "v"], "startIndices=\"1\" endIndices=\"2\""),
        ],
    );
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(["n/b.a[1]", "n/b.a[2]", "n/b.a[3]"].map(|name| lab.last(name)), [6.0, 2.0, 7.0]);
    assert!(ran.err.contains("nothing feeds the element [3] of `n/b.a`"), "{}", ran.err);
    let ran = run(
        &b,
        &[
            part(["a", "twice"], ["b", "a"], "startIndices=\"0\" endIndices=\"1\""),
            part(["a", "twice"], ["b", "a"], "startIndices=\"2\" endIndices=\"2\""),
            wire(["a", "twice"], ["b", "a"], ""),
        ],
    );
    assert_eq!(ran.code, 3);
    for said in
        ["`startIndices` is `0`; expected indices from 1 on", "the connector `b.a` is connected twice"]
    {
        assert!(ran.err.contains(said), "`{said}` in {}", ran.err);
    }
}

/// A system of the file several times by its `id`, and one of an archive by its name, as the standard has it.
#[test]
fn fragments_name_systems() {
    let lab = with_integrators(&["a.fmu"]);
    packed(&lab, "a.fmu", "packed.fmu", &[]);
    let one = format!(
        "<ssd:System name=\"one\" id=\"it\">{}<ssd:Elements>{}</ssd:Elements></ssd:System>\n",
        binding("", &real("a.k", "2"), ""),
        component("a", "a.fmu", &binding("", &(real("u", "1") + &real("k", "9")), ""))
    );
    let two = component("two", "#it", &binding("", &real("a.k", "5"), ""));
    lab.write("s.ssd", ssd(&(one.clone() + &two), "", ""));
    integrates(&lab, "s.ssd");
    close(lab.last("one/a.x"), 2.0, 1e-12);
    close(lab.last("two/a.x"), 5.0, 1e-12);
    let variant =
        |k: &str| ssd(&component("a", "a.fmu", &binding("", &(real("u", "1") + &real("k", k)), "")), "", "");
    lab.write("standard.ssd", variant("3"));
    lab.write("sport.ssd", variant("4"));
    lab.write("p.ssv", ssv(&real("a.x0", "10")));
    archive(
        &lab,
        "inner.ssp",
        &[
            ("SystemStructure.ssd", "standard.ssd"),
            ("Sport.ssd", "sport.ssd"),
            ("a.fmu", "packed.fmu"),
            ("p.ssv", "p.ssv"),
        ],
    );
    // The values of the second one stand in its archive.
    let inside = bound("source=\"p.ssv\" sourceBase=\"component\"", "");
    let elements = component("one", "inner.ssp", "") + &component("two", "inner.ssp#Sport.ssd", &inside);
    lab.write("s.ssd", ssd(&elements, "", ""));
    integrates(&lab, "s.ssd");
    close(lab.last("one/a.x"), 3.0, 1e-12);
    close(lab.last("two/a.x"), 14.0, 1e-12);
    let around = "<ssd:System name=\"o\" id=\"o\"><ssd:Elements>".to_owned()
        + &component("p", "#p", "")
        + "</ssd:Elements></ssd:System>\n<ssd:System name=\"p\" id=\"p\"><ssd:Elements>"
        + &component("o", "#o", "")
        + "</ssd:Elements></ssd:System>\n";
    for (elements, said) in [
        (component("x", "#its", "") + &one, "no system of this file has the `id` `its`. Did you mean `it`?"),
        (around, "the system `o` contains itself"),
        (component("x", "inner.ssp#Spot.ssd", ""), "no system `Spot.ssd`. Did you mean `Sport.ssd`?"),
        (component("x", "a.fmu#Sport.ssd", ""), "only an archive of SSP has several systems"),
    ] {
        lab.write("s.ssd", ssd(&elements, "", ""));
        let ran = lab.powerbond(&["check", "s.ssd", "-e", "1"]);
        assert!(ran.code == 3 && ran.err.contains(said), "`{said}` in {}", ran.err);
    }
}

/// Thirty files, each with two of the next one, are a thousand million systems.
#[test]
fn systems_that_double_are_refused_in_time() {
    let lab = with_integrators(&["a.fmu"]);
    for n in 0..30 {
        let next = format!("{}.ssd", n + 1);
        lab.write(
            &format!("{n}.ssd"),
            ssd(&(component("a", &next, "") + &component("b", &next, "")), "", ""),
        );
    }
    lab.write("30.ssd", ssd(&component("a", "a.fmu", ""), "", ""));
    let start = std::time::Instant::now();
    let ran = lab.powerbond(&["check", "0.ssd", "-e", "1"]);
    assert!(
        ran.code == 3 && ran.err.contains("more than 10000 systems in files of their own"),
        "{}",
        ran.err
    );
    assert!(start.elapsed().as_secs() < 30 && ran.err.len() < 2000, "{:?}: {}", start.elapsed(), ran.err);
    let level = |n: usize| {
        let next = format!("#s{}", n + 1);
        let inside = component("a", &next, "") + &component("b", &next, "");
        format!("<ssd:System name=\"s{n}\" id=\"s{n}\"><ssd:Elements>{inside}</ssd:Elements></ssd:System>\n")
    };
    let last = format!(
        "<ssd:System name=\"s30\" id=\"s30\"><ssd:Elements>{}</ssd:Elements></ssd:System>\n",
        component("a", "a.fmu", "")
    );
    lab.write("ids.ssd", ssd(&((0..30).map(level).collect::<String>() + &last), "", ""));
    let ran = lab.powerbond(&["check", "ids.ssd", "-e", "1"]);
    assert!(ran.code == 3 && ran.err.contains("more than 100000 elements"), "{}", ran.err);
    assert!(start.elapsed().as_secs() < 40 && ran.err.len() < 2000, "{:?}: {}", start.elapsed(), ran.err);
}

/// By the standard all sets count, later ones most; libcosim takes them for alternatives.
#[test]
fn one_of_several_parameter_sets_can_be_chosen() {
    let lab = with_integrators(&["a.fmu"]);
    let set = |name: &str, values: &str| {
        let one = binding("", values, "").replace("name=\"p\"", &format!("name=\"{name}\""));
        one.replace("<ssd:ParameterBindings>", "").replace("</ssd:ParameterBindings>", "")
    };
    let both = set("slow", &(real("u", "1") + &real("x0", "5"))) + &set("fast", &real("u", "7"));
    let a = component("a", "a.fmu", &format!("<ssd:ParameterBindings>{both}</ssd:ParameterBindings>"));
    lab.write("s.ssd", ssd(&a, "", ""));
    for (option, x) in [(None, 12.0), (Some("slow"), 6.0), (Some("fast"), 7.0)] {
        let mut words = vec!["run", "s.ssd", "-s", "0.1", "-e", "1", "--output-dir", "out", "--overwrite"];
        words.extend(option.iter().flat_map(|name| ["--parameter-set", *name]));
        let ran = lab.powerbond(&words);
        assert_eq!(ran.code, 0, "{}", ran.err);
        close(lab.last("a.x"), x, 1e-12);
    }
    let ran = lab.powerbond(&["check", "s.ssd", "-e", "1", "--parameter-set", "fats"]);
    assert!(
        ran.code == 3
            && ran.err.contains("--parameter-set fats: no parameter set has this name. Did you mean `fast`?"),
        "{}",
        ran.err
    );
}

/// Suggested bonds are written to our annotation, made or continued, in a file and in an archive; the result passes the schema.
#[test]
fn bonds_are_written_to_the_annotation() {
    let lab = Lab::new();
    for entry in std::fs::read_dir(root().join("examples/quarter-car/ssp")).expect("an example").flatten() {
        if entry.path().is_file() && entry.path().extension().is_none_or(|ending| ending != "fmu") {
            std::fs::copy(entry.path(), lab.dir.join(entry.file_name())).expect("copied");
        }
    }
    let mut build = Command::new("sh");
    let built = build
        .arg("build.sh")
        .env("POWERBOND", env!("CARGO_BIN_EXE_powerbond"))
        .current_dir(&lab.dir)
        .status();
    assert!(built.expect("sh").success());
    let whole = std::fs::read_to_string(lab.dir.join("SystemStructure.ssd")).expect("a structure");
    let begin = whole.find("  <ssd:Annotations>").expect("an annotation");
    let end = whole.find("</ssd:Annotations>").expect("an annotation") + "</ssd:Annotations>\n".len();
    let bare = format!("{}{}", &whole[..begin], &whole[end..]);
    let others = "  <ssd:Annotations>\n    <ssc:Annotation type=\"org.example\"><x/></ssc:Annotation>\n  </ssd:Annotations>\n";
    let foreign = format!("{}{others}{}", &whole[..begin], &whole[end..]);
    let settings = "<powerbond:Settings xmlns:powerbond=\"io.github.powerbond\">\n[simulation]\noutput_interval = 0.5\n</powerbond:Settings>";
    let ours = foreign.replace("org.example", "io.github.powerbond").replace("<x/>", settings);
    let verbatim = ours.replace("\n[simulation]", "<![CDATA[\n[simulation]").replace("0.5\n<", "0.5\n]]><");
    for text in [&bare, &foreign, &ours, &verbatim] {
        lab.write("SystemStructure.ssd", text);
        let wrote = lab.powerbond(&["bonds", ".", "--write"]);
        assert!(
            wrote.code == 0 && wrote.out.contains("written to the file"),
            "{text}\n{}{}",
            wrote.out,
            wrote.err
        );
        let again = lab.powerbond(&["bonds", ".", "--no-trial"]);
        assert!(again.out.contains("No other connections"), "{}{}", again.out, again.err);
        crate::structures::validates(
            &lab.dir.join("SystemStructure.ssd"),
            "ssp1/SystemStructureDescription.xsd",
        );
        let ran = lab.powerbond(&["run", ".", "--output-dir", "out", "--overwrite"]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        assert_eq!(lab.summary()["bonds"].as_array().map(Vec::len), Some(1));
        assert!(!lab.dir.join(".SystemStructure.ssd.part").exists());
    }
    lab.write("SystemStructure.ssd", &bare);
    let files = ["SystemStructure.ssd", "chassis.fmu", "wheel.fmu", "parameters.ssv"];
    archive(&lab, "car.ssp", &files.map(|name| (name, name)));
    let mut command = lab.command(&["bonds", "car.ssp", "--write"]);
    let output = command.env("POWERBOND_CACHE", lab.dir.join("cache")).output().expect("started");
    let wrote = crate::lab::Ran::new(output);
    assert!(wrote.code == 0 && wrote.out.contains("written to the file"), "{}{}", wrote.out, wrote.err);
    let mut command = lab.command(&["run", "car.ssp", "--output-dir", "out", "--overwrite"]);
    let output = command.env("POWERBOND_CACHE", lab.dir.join("cache")).output().expect("started");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(lab.summary()["bonds"].as_array().map(Vec::len), Some(1));
}

/// Nested systems, parameters with units and a mapping, connections with units: against SciPy's solution of the whole, in which all of
/// them are converted by hand; and the same numbers from a folder, an archive, a system file and OSP.
#[test]
fn the_drive_train_is_right_in_every_format() {
    let lab = Lab::new();
    let example = root().join("examples/drive-train");
    let copied = Command::new("cp").arg("-rL").arg(&example).arg(lab.dir.join("van")).status();
    assert!(copied.expect("cp").success());
    let van = lab.dir.join("van");
    let built = Command::new("sh").arg("build.sh").current_dir(&van).output().expect("sh");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    for (file, schema) in [
        ("SystemStructure.ssd", "Description"),
        ("Loaded.ssd", "Description"),
        ("parameters/van.ssv", "ParameterValues"),
        ("parameters/supplier.ssv", "ParameterValues"),
        ("parameters/supplier.ssm", "ParameterMapping"),
    ] {
        crate::structures::validates(&van.join(file), &format!("ssp1/SystemStructure{schema}.xsd"));
    }
    let powerbond = |words: &[&str]| {
        let mut command = lab.command(words);
        let ran = crate::lab::Ran::new(
            command.env("POWERBOND_CACHE", lab.dir.join("cache")).output().expect("started"),
        );
        assert_eq!(ran.code, 0, "{words:?}: {}", ran.err);
        ran
    };
    let ran = powerbond(&["run", "van", "--output-interval", "0.05", "--output-dir", "out"]);
    assert!(ran.out.starts_with("TRUSTWORTHY: "), "{}", ran.out);
    let compared =
        powerbond(&["compare", "out", example.join("expected.csv").to_str().expect("UTF-8"), "--json"]);
    let compared = compared.json();
    let variables = compared["variables"].as_array().expect("variables");
    assert_eq!(variables.len(), 7);
    for variable in variables {
        assert!(variable["relative_rms"].as_f64().expect("a number") < 5e-4, "{variable}");
    }
    let lost = powerbond(&["convert", "van", "osp"]).out;
    assert!(lost.contains("the bond `shaft`"), "{lost}");
    powerbond(&["convert", "van", "van.toml"]);
    powerbond(&["convert", "van.toml", "again.ssp"]);
    let rows = |system: &str| {
        powerbond(&["run", system, "-s", "1e-3", "-e", "2", "--output-dir", "out", "--overwrite"]);
        let names = ["driver.demand", "powertrain/motor.load_torque", "vehicle.velocity"];
        let results = lab.results();
        names.map(|name| results.column(name))
    };
    let first = rows("van");
    assert_eq!(first[0].len(), 2001);
    for system in ["van/drive-train.ssp", "van.toml", "again.ssp", "osp"] {
        assert!(rows(system) == first, "{system} differs");
    }
    let loaded = powerbond(&["inspect", "van/drive-train.ssp/Loaded"]).out;
    assert!(loaded.contains("mass = 4400.0") && loaded.contains("stiffness = 105.997"), "{loaded}");
}
