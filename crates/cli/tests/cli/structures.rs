//! Systems of SSP and OSP: they run as they are, mistakes are told with their places, and each format becomes the others.

use crate::lab::{Lab, close, edit, plain, root};
use std::path::Path;
use std::process::Command;

/// A structure of SSP with these `Elements`, and what follows them in the system and behind it.
pub fn ssd(elements: &str, rest: &str, behind: &str) -> String {
    let ns = "http://ssp-standard.org/SSP1/SystemStructure";
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<ssd:SystemStructureDescription xmlns:ssd=\"{ns}Description\" \
         xmlns:ssc=\"{ns}Common\" xmlns:ssv=\"{ns}ParameterValues\" xmlns:ssm=\"{ns}ParameterMapping\" \
         xmlns:ssb=\"{ns}SignalDictionary\" version=\"1.0\" name=\"s\">\n<ssd:System name=\"s\">\n\
         <ssd:Elements>\n{elements}\n</ssd:Elements>\n{rest}</ssd:System>\n{behind}</ssd:SystemStructureDescription>\n"
    )
}

/// An FMU as a component.
pub fn component(name: &str, source: &str, inside: &str) -> String {
    format!("<ssd:Component name=\"{name}\" source=\"{source}\">{inside}</ssd:Component>\n")
}

/// Values inside of a binding.
pub fn binding(prefix: &str, parameters: &str, mapping: &str) -> String {
    format!(
        "<ssd:ParameterBindings><ssd:ParameterBinding prefix=\"{prefix}\"><ssd:ParameterValues><ssv:ParameterSet version=\"1.0\" \
         name=\"p\"><ssv:Parameters>{parameters}</ssv:Parameters><ssv:Units><ssc:Unit name=\"km\"><ssc:BaseUnit m=\"1\" \
         factor=\"1000\"/></ssc:Unit></ssv:Units></ssv:ParameterSet></ssd:ParameterValues>{mapping}</ssd:ParameterBinding>\
         </ssd:ParameterBindings>"
    )
}

pub fn real(name: &str, value: &str) -> String {
    format!("<ssv:Parameter name=\"{name}\"><ssv:Real value=\"{value}\"/></ssv:Parameter>")
}

pub fn wire(from: [&str; 2], to: [&str; 2], inside: &str) -> String {
    let end = |side: &str, [element, connector]: [&str; 2]| match element {
        "" => format!("{side}Connector=\"{connector}\""),
        element => format!("{side}Element=\"{element}\" {side}Connector=\"{connector}\""),
    };
    format!("<ssd:Connection {} {}>{inside}</ssd:Connection>\n", end("start", from), end("end", to))
}

pub fn connectors(list: &[(&str, &str, &str)]) -> String {
    let one = |(name, kind, typed): &(&str, &str, &str)| {
        format!("<ssd:Connector name=\"{name}\" kind=\"{kind}\"><ssc:{typed}/></ssd:Connector>")
    };
    format!("<ssd:Connectors>{}</ssd:Connectors>", list.iter().map(one).collect::<String>())
}

pub fn wires(list: &[String]) -> String {
    format!("<ssd:Connections>\n{}</ssd:Connections>\n", list.concat())
}

/// `x' = k u` from x0, in a folder of its own.
pub fn with_integrators(folders: &[&str]) -> Lab {
    let lab = Lab::new();
    folders.iter().for_each(|folder| lab.place("integrator2", folder));
    lab
}

impl Lab {
    /// Runs the structure in steps of 0.1 s to 1 s; it must succeed.
    pub fn integrates(&self, system: &str) {
        let ran =
            self.powerbond(&["run", system, "-s", "0.1", "-e", "1", "--output-dir", "out", "--overwrite"]);
        assert_eq!(ran.code, 0, "{}", ran.err);
    }

    /// The last value of a column.
    pub fn last(&self, column: &str) -> f64 {
        *self.results().column(column).last().expect("a row")
    }
}

/// x' = k u from x0 with constant u: x(1) = x0 + k u.
#[test]
fn parameters_are_set_through_bindings_mappings_prefixes_and_units() {
    let lab = with_integrators(&["a.fmu"]);
    let check = |inside: &str, rest: &str, x: f64| {
        let elements = component("a", "a.fmu", inside);
        // Bindings stand before the elements.
        let text = ssd(&elements, "", "").replace("<ssd:Elements>", &format!("{rest}<ssd:Elements>"));
        lab.write("s.ssd", text);
        lab.integrates("s.ssd");
        close(lab.last("a.x"), x, 1e-12);
    };
    let values = real("u", "1") + &real("x0", "2") + &real("k", "3");
    check(&binding("", &values, ""), "", 5.0);
    let kilometres =
        real("u", "1") + "<ssv:Parameter name=\"x0\"><ssv:Real value=\"0.002\" unit=\"km\"/></ssv:Parameter>";
    check(&binding("", &kilometres, ""), "", 3.0);
    // The outer binding over the inner one, by the hierarchical name, here made by a prefix.
    check(&binding("", &values, ""), &binding("a.", &real("k", "4"), ""), 6.0);
    // Two names and a factor behind a mapping; what it does not name is not used.
    let mapping = "<ssd:ParameterMapping><ssm:ParameterMapping version=\"1.0\">\
        <ssm:MappingEntry source=\"start\" target=\"a.x0\"><ssc:LinearTransformation factor=\"2\" offset=\"1\"/></ssm:MappingEntry>\
        <ssm:MappingEntry source=\"speed\" target=\"a.u\"/></ssm:ParameterMapping></ssd:ParameterMapping>";
    let named = real("start", "3") + &real("speed", "1") + &real("a.k", "100");
    check("", &binding("", &named, mapping), 8.0);
}

/// A system in a system passes an input and a parameter on, each with a factor: by hand, b.x(1) = b.x0 + ∫ -2 a.k dt.
#[test]
fn nested_systems_pass_signals_and_parameters_on() {
    let lab = with_integrators(&["a.fmu", "b.fmu"]);
    // The output of the first has the unit of the input of the second.
    let description = lab.dir.join("b.fmu/modelDescription.xml");
    let text = std::fs::read_to_string(&description).expect("a description");
    std::fs::write(&description, edit(&text, "start=\"0\" unit=\"m/s\"", "start=\"0\" unit=\"m\""))
        .expect("written");
    let inner = format!(
        "<ssd:System name=\"in ner\">{}{}<ssd:Elements>{}</ssd:Elements>{}</ssd:System>\n",
        connectors(&[("speed", "input", "Real"), ("start", "parameter", "Real")]),
        binding("", &real("start", "5"), ""),
        component("b.1", "b.fmu", ""),
        wires(&[
            wire(["", "speed"], ["b.1", "u"], "<ssc:LinearTransformation factor=\"-1\"/>"),
            wire(["", "start"], ["b.1", "x0"], "<ssc:LinearTransformation factor=\"1\" offset=\"0.5\"/>"),
        ]),
    );
    let elements = component("a", "a.fmu", &binding("", &real("x0", "3"), "")) + &inner;
    let outer = wires(&[wire(["a", "x"], ["in ner", "speed"], "<ssc:LinearTransformation factor=\"2\"/>")]);
    lab.write("s.ssd", ssd(&elements, &outer, ""));
    lab.integrates("s.ssd");
    close(lab.last("in ner/b/1.x"), 5.5 - 2.0 * 3.0, 1e-12);
    // By its path, with dots as well.
    let ran = lab.powerbond(&[
        "run",
        "s.ssd",
        "-s",
        "0.1",
        "-e",
        "1",
        "--set",
        "in ner.b.1.x0=1",
        "--output-dir",
        "out",
        "--overwrite",
    ]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    close(lab.last("in ner/b/1.x"), 1.0 - 6.0, 1e-12);
    // By the connector of its system, behind which 0.5 is added; by an option and in a parameter set, where the option counts more.
    let ns = "http://ssp-standard.org/SSP1/SystemStructureParameterValues";
    let named = real("in ner.start", "2") + &real("a.k", "0");
    lab.write(
        "p.ssv",
        format!("<ssv:ParameterSet xmlns:ssv=\"{ns}\" version=\"1.0\" name=\"p\"><ssv:Parameters>{named}</ssv:Parameters></ssv:ParameterSet>"),
    );
    for (more, x) in [
        (&["--set", "in ner.start=2"][..], 2.5 - 6.0),
        (&["--set", "in ner/start=4"], 4.5 - 6.0),
        (&["--params", "p.ssv"], 2.5 - 6.0),
        (&["--params", "p.ssv", "--set", "in ner.start=3"], 3.5 - 6.0),
    ] {
        let words = ["run", "s.ssd", "-s", "0.1", "-e", "1", "--output-dir", "out", "--overwrite"];
        let ran = lab.powerbond(&[&words[..], more].concat());
        assert_eq!(ran.code, 0, "{}", ran.err);
        close(lab.last("in ner/b/1.x"), x, 1e-12);
    }
    // Other formats have no such names, which is told.
    let lost = lab.powerbond(&["convert", "s.ssd", "flat/s.toml"]);
    let told = "connectors of systems, which stand for what they feed: `in ner.speed` and 1 more";
    assert!(lost.code == 0 && lost.out.contains(told), "{}{}", lost.out, lost.err);
    // A signal has no factor on its way.
    lab.write("in.csv", "time,in ner.speed\n0,1\n1,1\n");
    let words =
        ["run", "s.ssd", "-s", "0.1", "-e", "1", "--input", "in.csv", "--output-dir", "out", "--overwrite"];
    let ran = lab.powerbond(&words);
    assert!(
        ran.code == 3 && ran.err.contains("values are transformed on the way to `in ner/b/1.u`"),
        "{}",
        ran.err
    );
}

/// Inputs of a structure are fed under its own names: x(1) = x0 + k ∫ u dt, once with each of both components.
#[test]
fn connectors_of_a_structure_are_fed_by_name() {
    let lab = with_integrators(&["a.fmu"]);
    let elements = component("a", "a.fmu", "") + &component("b", "a.fmu", &binding("", &real("k", "3"), ""));
    let both = wires(&[wire(["", "drive"], ["a", "u"], ""), wire(["", "drive"], ["b", "u"], "")]);
    let own = connectors(&[("drive", "input", "Real")]);
    lab.write("s.ssd", ssd(&elements, &both, "").replace("<ssd:Elements>", &format!("{own}<ssd:Elements>")));
    lab.write("in.csv", "time,drive\n0,2\n1,2\n");
    let ran = lab.powerbond(&[
        "run",
        "s.ssd",
        "-s",
        "0.1",
        "-e",
        "1",
        "--input",
        "in.csv",
        "--output-dir",
        "out",
        "--overwrite",
    ]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let alone = lab.last("a.x");
    close(lab.last("b.x"), 3.0 * alone, 1e-12);
    close(alone, 2.0, 1e-12);
}

/// Whole numbers, booleans and items of enumerations become others: int_out = int_in + 1, bool_out = !bool_in, gear_out = gear_in.
#[test]
fn tables_map_what_is_no_real_number() {
    let lab = Lab::new();
    ["a.fmu", "b.fmu"].iter().for_each(|folder| lab.place("types2", folder));
    let entry = |a: &str, b: &str| format!("<ssc:MapEntry source=\"{a}\" target=\"{b}\"/>");
    let table = |name: &str, entries: &[String]| format!("<ssc:{name}>{}</ssc:{name}>", entries.concat());
    let map = wires(&[
        wire(
            ["a", "int_out"],
            ["b", "int_in"],
            &table("IntegerMappingTransformation", &[entry("1", "40"), entry("2", "7")]),
        ),
        wire(
            ["a", "bool_out"],
            ["b", "bool_in"],
            &table("BooleanMappingTransformation", &[entry("true", "false"), entry("false", "true")]),
        ),
        wire(
            ["a", "gear_out"],
            ["b", "gear_in"],
            &table(
                "EnumerationMappingTransformation",
                &[entry("neutral", "first"), entry("first", "reverse")],
            ),
        ),
    ]);
    lab.write("s.ssd", ssd(&(component("a", "a.fmu", "") + &component("b", "b.fmu", "")), &map, ""));
    lab.integrates("s.ssd");
    // int_in = 0 becomes 1, 40 and 41; bool_in = 0 becomes 1, 0 and 1; gear_in = 0 (neutral) becomes 1 (first).
    assert_eq!(["b.int_out", "b.bool_out", "b.gear_out"].map(|name| lab.last(name)), [41.0, 1.0, 1.0]);
    let text = std::fs::read_to_string(lab.dir.join("s.ssd")).expect("s.ssd");
    // What a table does not name arrives as it is, in connections and in values.
    let mapping = "<ssd:ParameterMapping><ssm:ParameterMapping version=\"1.0\"><ssm:MappingEntry source=\"n\" target=\"int_in\">\
        <ssc:IntegerMappingTransformation><ssc:MapEntry source=\"3\" target=\"7\"/></ssc:IntegerMappingTransformation>\
        </ssm:MappingEntry></ssm:ParameterMapping></ssd:ParameterMapping>";
    for (value, int_out) in [(3, 9.0), (4, 6.0), (0, 41.0)] {
        let set = format!("<ssv:Parameter name=\"n\"><ssv:Integer value=\"{value}\"/></ssv:Parameter>");
        let a = component("a", "a.fmu", &binding("", &set, mapping));
        lab.write("partial.ssd", edit(&text, &component("a", "a.fmu", ""), &a));
        lab.integrates("partial.ssd");
        assert_eq!(lab.last("b.int_out"), int_out, "{value}");
    }
    lab.write("t.ssd", edit(&text, "\"neutral\"", "\"neutrl\""));
    let ran = lab.powerbond(&["check", "t.ssd"]);
    assert_eq!(ran.code, 3);
    assert!(
        ran.err.contains("unknown item `neutrl` of `a.gear_out`. Did you mean `neutral`?"),
        "{}",
        ran.err
    );
}

/// Values go from outputs to inputs, whatever end of a connection is called start: in a system, into one and out of it.
#[test]
fn connections_may_name_the_input_first() {
    let lab = with_integrators(&["a.fmu", "b.fmu"]);
    let description = lab.dir.join("b.fmu/modelDescription.xml");
    let text = std::fs::read_to_string(&description).expect("a description");
    std::fs::write(&description, edit(&text, "start=\"0\" unit=\"m/s\"", "start=\"0\" unit=\"m\""))
        .expect("written");
    let linear = |factor: &str| format!("<ssc:LinearTransformation factor=\"{factor}\"/>");
    let inner = format!(
        "<ssd:System name=\"in\">{}<ssd:Elements>{}</ssd:Elements>{}</ssd:System>\n",
        connectors(&[("speed", "input", "Real"), ("place", "output", "Real")]),
        component("b", "b.fmu", ""),
        wires(&[wire(["b", "u"], ["", "speed"], &linear("3")), wire(["", "place"], ["b", "x"], "")]),
    );
    let elements =
        component("a", "a.fmu", &binding("", &real("x0", "2"), "")) + &inner + &component("c", "b.fmu", "");
    let outer = [wire(["in", "speed"], ["a", "x"], &linear("0.5")), wire(["c", "u"], ["in", "place"], "")];
    lab.write("s.ssd", ssd(&elements, &wires(&outer), ""));
    lab.integrates("s.ssd");
    // b: x' = 3 · 2 / 2; c: x' = the x of b, held for every tenth: 0.3 (0 + 1 + … + 9) / 10.
    close(lab.last("in/b.x"), 3.0, 1e-12);
    close(lab.last("c.x"), 1.35, 1e-12);
    let both = wire(["a", "x"], ["c", "x"], "") + &wire(["c", "u"], ["a", "u"], "");
    lab.write("s.ssd", ssd(&elements, &wires(&[both]), ""));
    let ran = lab.powerbond(&["check", "s.ssd"]);
    assert_eq!(ran.code, 3);
    for part in ["`a.x` and `c.x` both give one", "`c.u` and `a.u` both take a value"] {
        assert!(ran.err.contains(part), "`{part}` in {}", ran.err);
    }
}

/// The quarter car with a constant step as a system file, an archive of SSP and a folder of OSP, and back.
#[test]
fn one_system_in_three_formats_gives_the_same_bits() {
    let lab = Lab::with(plain());
    let convert = |from: &str, to: &str| {
        let ran = lab.powerbond(&["convert", from, to]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        ran.out
    };
    convert("system.toml", "car.ssp");
    let lost = convert("system.toml", "osp");
    assert!(lost.contains("the bond `suspension`"), "{lost}");
    convert("car.ssp", "again/system.toml");
    convert("osp", "from-osp.toml");
    convert("from-osp.toml", "twice.ssp");
    let table = |system: &str| {
        let ran =
            lab.powerbond(&["run", system, "-s", "1e-3", "-e", "0.5", "--output-dir", "out", "--overwrite"]);
        assert_eq!(ran.code, 0, "{system}: {}", ran.err);
        std::fs::read_to_string(lab.dir.join("out/results.csv")).expect("results")
    };
    // FMUs leave out what the built-in models show beside inputs and outputs.
    let first = table("car.ssp");
    assert!(first.lines().count() > 500 && first.starts_with("time,chassis."), "{}", &first[..80]);
    for system in ["car.ssp/SystemStructure", "again"] {
        assert!(table(system) == first, "{system} differs");
    }
    // In OSP the road is a start value and no input that follows a signal: a zero may have another sign.
    let rows = |system: &str| {
        table(system);
        lab.results().rows
    };
    let of_ssp = rows("car.ssp");
    for system in ["osp", "from-osp.toml", "twice.ssp"] {
        assert!(rows(system) == of_ssp, "{system} differs");
    }
    let ran = lab.powerbond(&["bonds", "car.ssp", "--no-trial"]);
    assert!(ran.out.contains("suspension"), "{}{}", ran.out, ran.err);
    validates(&lab.dir.join("osp/OspSystemStructure.xml"), "osp/OspSystemStructure.xsd");
    let unpacked =
        Command::new("unzip").args(["-q", "car.ssp", "-d", "unpacked"]).current_dir(&lab.dir).status();
    if unpacked.is_ok_and(|status| status.success()) {
        validates(&lab.dir.join("unpacked/SystemStructure.ssd"), "ssp1/SystemStructureDescription.xsd");
    }
}

/// What we write passes the schema.
pub fn validates(file: &Path, schema: &str) {
    let schema = root().join("crates/cli/tests/schemas").join(schema);
    match Command::new("xmllint")
        .arg("--noout")
        .arg("--nonet")
        .arg("--schema")
        .arg(&schema)
        .arg(file)
        .output()
    {
        Ok(found) => assert!(found.status.success(), "{}", String::from_utf8_lossy(&found.stderr)),
        Err(_) => println!("SKIPPED: xmllint is not installed; {} was not validated", file.display()),
    }
}

/// As libcosim's files are: groups, functions, hints, bonds whose sides the models tell.
#[test]
fn structures_of_osp_run_as_they_are() {
    let lab = with_integrators(&["a.fmu", "b.fmu"]);
    let description = lab.dir.join("b.fmu/modelDescription.xml");
    let text = std::fs::read_to_string(&description).expect("a description");
    std::fs::write(&description, edit(&text, "start=\"0\" unit=\"m/s\"", "start=\"0\" unit=\"m\""))
        .expect("written");
    let system = |functions: &str, connections: &str| {
        format!(
            "<OspSystemStructure xmlns=\"http://opensimulationplatform.com/MSMI/OSPSystemStructure\" version=\"0.1\">\n\
             <EndTime>1</EndTime><BaseStepSize>0.1</BaseStepSize>\n<Simulators>\n\
             <Simulator name=\"a\" source=\"a.fmu\"><InitialValues><InitialValue variable=\"x0\"><Real value=\"3\"/>\
             </InitialValue></InitialValues></Simulator>\n<Simulator name=\"b\" source=\"b.fmu\"/>\n</Simulators>\n\
             {functions}<Connections>\n{connections}</Connections>\n</OspSystemStructure>\n"
        )
    };
    let run = |text: String| {
        lab.write("OspSystemStructure.xml", text);
        lab.powerbond(&["run", ".", "--output-dir", "out", "--overwrite"])
    };
    // Whatever the order of the ends. b.x(1) = 3 and, through the function, 2·3 + 1.
    let pair = "<VariableConnection><Variable simulator=\"b\" name=\"u\"/><Variable simulator=\"a\" name=\"x\"/></VariableConnection>\n";
    let ran = run(system("", pair));
    assert_eq!(ran.code, 0, "{}", ran.err);
    close(lab.last("b.x"), 3.0, 1e-12);
    let function = "<Functions><LinearTransformation name=\"f\" factor=\"2\" offset=\"1\"/></Functions>\n";
    let through = "<SignalConnection><Variable simulator=\"a\" name=\"x\"/><Signal function=\"f\" name=\"in\"/></SignalConnection>\n\
        <SignalConnection><Signal function=\"f\" name=\"out\"/><Variable simulator=\"b\" name=\"u\"/></SignalConnection>\n";
    let ran = run(system(function, through));
    assert_eq!(ran.code, 0, "{}", ran.err);
    close(lab.last("b.x"), 7.0, 1e-12);
    // All mistakes at once, with their lines.
    let wrong =
        pair.replace("name=\"u\"", "name=\"v\"") + &through.replace("function=\"f\"", "function=\"g\"");
    let ran = run(system("", &wrong).replace("b.fmu", "B.fmu"));
    assert_eq!(ran.code, 3);
    for part in [":5:", "missing file `B.fmu`. Did you mean `b.fmu`?", "unknown function `g`"] {
        assert!(ran.err.contains(part), "`{part}` in\n{}", ran.err);
    }
}

#[test]
fn mistakes_of_structures_are_told_with_line_and_element_all_at_once() {
    let lab = with_integrators(&["a.fmu"]);
    let refused = |text: String, parts: &[&str]| {
        lab.write("s.ssd", text);
        let ran = lab.powerbond(&["check", "s.ssd"]);
        assert_eq!(ran.code, 3, "{}{}", ran.out, ran.err);
        for part in parts {
            assert!(ran.err.contains(part), "`{part}` in\n{}", ran.err);
        }
    };
    let a = component("a", "a.fmu", "");
    let elements = a.clone()
        + &a
        + &component("r", "http://example.org/r.fmu", "")
        + &component("p", "/a.fmu", "")
        + &component("h", "proxyfmu://10.0.0.1:9090?file=a.fmu", "")
        + &component("m", "A.fmu", "")
        + &component("e", "a.fmu", "").replace("source", "implementation=\"ModelExchange\" source");
    let twice = wires(&[
        wire(["a", "x"], ["a", "u"], ""),
        wire(["a", "y"], ["a", "u"], ""),
        wire(["b", "x"], ["a", "u"], ""),
        // What cannot be read is there.
        wire(["m", "x"], ["a", "u"], ""),
    ]);
    refused(
        ssd(&elements, &twice, ""),
        &[
            "s.ssd:6:",
            "two elements `a`",
            "remote address (http)",
            "an absolute path",
            "10.0.0.1",
            "missing file `A.fmu`. Did you mean `a.fmu`?",
            "the component `e` is to be run as Model Exchange",
            "unknown element `b`. Did you mean `a`?",
            "connected twice",
        ],
    );
    assert!(!lab.powerbond(&["check", "s.ssd"]).err.contains("unknown element `m`"));
    refused(ssd(&component("self", "s.ssd", ""), "", ""), &["s.ssd contains itself"]);
    // Both ways to be for Model Exchange: what the file asks for, and what the FMU is.
    let description =
        std::fs::read_to_string(lab.dir.join("a.fmu/modelDescription.xml")).expect("a description");
    let begin = description.find("<CoSimulation").expect("an interface");
    let end = begin + description[begin..].find("/>").expect("its end") + 2;
    let exchange = "<ModelExchange modelIdentifier=\"integrator2\"/>";
    std::fs::create_dir_all(lab.dir.join("me.fmu")).expect("a folder");
    lab.write(
        "me.fmu/modelDescription.xml",
        format!("{}{exchange}{}", &description[..begin], &description[end..]),
    );
    let exchanged = component("pump", "me.fmu", "").replace("source", "implementation=\"any\" source")
        + &component("e", "a.fmu", "").replace("source", "implementation=\"ModelExchange\" source");
    refused(
        ssd(&exchanged, "", ""),
        &[
            "s.ssd:6:6: the component `e` is to be run as Model Exchange",
            "s.ssd:5:6: the FMU of the component `pump` has no interface for co-simulation",
        ],
    );
    refused("<!DOCTYPE x [<!ENTITY a \"b\">]><x>&a;</x>".to_owned(), &["document type"]);
    // Units and types as well, beside a file that is missing, and two mistakes in one connection.
    lab.place("types2", "t.fmu");
    let elements = a + &component("t", "t.fmu", "") + &component("m", "missing.fmu", "");
    let table = "<ssc:BooleanMappingTransformation><ssc:MapEntry source=\"2\" target=\"1\"/></ssc:BooleanMappingTransformation>";
    let list = [
        wire(["a", "x"], ["a", "u"], ""),
        wire(["a", "x"], ["t", "int_in"], ""),
        wire(["a", "x"], ["a", "k"], ""),
        wire(["a", "x"], ["t", "bool_in"], table)
            .replace("<ssd:Connection ", "<ssd:Connection suppressUnitConversion=\"maybe\" "),
    ];
    refused(
        ssd(&elements, &wires(&list), ""),
        &[
            "missing file `missing.fmu`",
            "s.ssd:11:6: `a.x` is in m, `a.u` in m/s: units of different quantities. With `suppressUnitConversion",
            "s.ssd:12:6: `a.x` is a real number and `t.int_in` is an integer: they cannot be connected",
            "s.ssd:13:6: `a.k` is a parameter",
            "`source` is `2`",
            "`suppressUnitConversion`",
        ],
    );
}

/// Our settings in an annotation, and the steps of others; a prefix without a namespace is forgiven.
#[test]
fn settings_stand_in_annotations() {
    let lab = with_integrators(&["a.fmu"]);
    let annotation = |kind: &str, inside: &str| {
        format!(
            "<ssd:DefaultExperiment startTime=\"0\" stopTime=\"2\"/>\n<ssd:Annotations><ssc:Annotation type=\"{kind}\">{inside}</ssc:Annotation></ssd:Annotations>\n"
        )
    };
    let run = |behind: &str| {
        lab.write("s.ssd", ssd(&component("a", "a.fmu", ""), "", behind));
        lab.powerbond(&["run", "s.ssd", "--output-dir", "out", "--overwrite"])
    };
    let steps = || lab.summary()["steps"]["accepted"].as_u64();
    let osp = "<osp:Algorithm><osp:FixedStepAlgorithm baseStepSize=\"0.25\"/></osp:Algorithm>";
    let ran = run(&annotation("com.opensimulationplatform", osp));
    assert_eq!((ran.code, steps()), (0, Some(8)), "{}", ran.err);
    assert!(ran.err.contains("the prefix `osp:` has no namespace"), "{}", ran.err);
    let own = |text: &str| {
        annotation(
            "io.github.powerbond",
            &format!("<p:Settings xmlns:p=\"io.github.powerbond\">{text}</p:Settings>"),
        )
    };
    let ran = run(&own("\n[simulation]\nstep = 0.5\n[inputs]\n\"a.u\" = 1.0\n"));
    assert_eq!((ran.code, steps()), (0, Some(4)), "{}", ran.err);
    close(lab.last("a.x"), 2.0, 1e-12);
    let ran = run(&own("\n[simulation]\nstpe = 0.5\n"));
    assert_eq!(ran.code, 3);
    assert!(ran.err.contains("s.ssd:12:1: unknown key `stpe`"), "{}", ran.err);
    let ran = run("<ssd:DefaultExperiment stopTime=\"2\"/>\n");
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.err.contains("no settings of ours"), "{}", ran.err);
}
