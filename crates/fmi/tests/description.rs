//! Model descriptions: what they say, what is forgiven, what is refused.

mod common;

use common::description;
use powerbond_core::subsystem::FeedThrough;
use powerbond_fmi::Value;
use powerbond_fmi::description::{
    Causality, Dimension, Initial, Kind, ModelDescription, Variability, Version,
};

fn parse(xml: &str) -> ModelDescription {
    ModelDescription::parse(xml.as_bytes()).unwrap()
}

#[test]
fn the_projects_own_files_are_clean() {
    for name in ["integrator2", "faulty2", "types2", "integrator3", "types3", "slave1"] {
        let model = parse(&description(name));
        assert_eq!(model.findings, [], "{name}");
        assert_eq!(model.version as u8 + 1, name.as_bytes()[name.len() - 1] - b'0');
    }
}

#[test]
fn everything_is_read() {
    let model = parse(&description("integrator2"));
    assert_eq!((model.version, model.token.as_str()), (Version::Fmi2, "{integrator}"));
    assert_eq!(model.default_experiment.step_size, Some(0.01));
    assert_eq!(model.log_categories, ["logStatusError"]);
    assert_eq!(model.units[0].display_units, ["km/h"]);
    let variable = |name: &str| &model.variables[model.find(name).unwrap()];
    let u = variable("u");
    assert_eq!(
        (u.causality, u.initial, u.start.clone()),
        (Causality::Input, Initial::Given, Some(Value::Real(0.0)))
    );
    let k = variable("k");
    assert_eq!((k.variability, k.initial, k.min), (Variability::Tunable, Initial::Exact, Some(0.0)));

    let types = parse(&description("types2"));
    let gear = &types.types[0];
    assert_eq!((gear.kind, gear.items[0].value, &*gear.items[0].name), (Kind::Enumeration, -1, "reverse"));
    let force = &types.variables[types.find("real_in").unwrap()];
    assert_eq!(types.units[force.unit.unwrap() as usize].unit.symbol, "kN");

    let arrays = parse(&description("types3"));
    let b = &arrays.variables[arrays.find("b").unwrap()];
    assert_eq!(*b.dimensions, [Dimension::Fixed(2), Dimension::Parameter(53)]);
    let a = &arrays.variables[arrays.find("a").unwrap()];
    assert_eq!(a.start, Some(Value::List(vec![0.0.into(), 5.0.into(), 7.0.into()])));
    let blob = &arrays.variables[arrays.find("blob").unwrap()];
    assert_eq!(blob.start, Some(Value::Binary(vec![0, 255])));
    let alias = parse(&description("integrator3"));
    assert_eq!(alias.variables[alias.find("position").unwrap()].alias_of, Some(2));
}

#[test]
fn feed_through_is_declared_or_unknown() {
    let base = description("integrator2");
    assert_eq!(parse(&base).feed_through(), FeedThrough::Declared(vec![(2, 0)]));
    let silent = base.replace("index=\"3\" dependencies=\"1\"", "index=\"3\"");
    assert_eq!(parse(&silent).feed_through(), FeedThrough::Unknown);
    let unlisted = base.replace("<Unknown index=\"3\" dependencies=\"1\"/>", "");
    assert_eq!(parse(&unlisted).feed_through(), FeedThrough::Unknown);
    // Without inputs nothing is fed through, whatever is said.
    let closed = silent.replace("causality=\"input\"", "causality=\"local\"");
    assert_eq!(parse(&closed).feed_through(), FeedThrough::Declared(vec![]));
}

#[test]
fn imperfect_files_are_read_with_findings() {
    let check = |from: &str, to: &str, line: u32, wanted: &str| {
        let xml = description("integrator2").replace(from, to);
        let model = parse(&xml);
        let found = model.findings.iter().any(|f| f.line == line && f.text.contains(wanted));
        assert!(found, "`{wanted}` is not in {:?}", model.findings);
    };
    check("start=\"0.5\"", "start=\"1.#INF\"", 16, "read as inf");
    check("min=\"0\"", "min=\"0\" colour=\"red\"", 15, "unknown attribute `colour`");
    check("<LogCategories>", "<Extras/><LogCategories>", 9, "unknown element `Extras`");
    check("variability=\"tunable\"", "variability=\"often\"", 15, "`variability` is `often`");
    check("modelIdentifier=\"integrator2\"", "modelIdentifier=\"my-model.2\"", 3, "not a valid C identifier");
    check("canInterpolateInputs=\"true\"", "canInterpolateInputs=\"True\"", 3, "read as true");
    check("nominal=\"10\"", "nominal=\"10\" declaredType=\"Lost\"", 13, "`Lost` is not defined");
}

/// What was read as what was probably meant is a warning of the run.
#[test]
fn doubtful_values_are_told_from_other_findings() {
    let check = |from: &str, to: &str, line: u32, wanted: &str| {
        let model = parse(&description("integrator2").replace(from, to));
        let doubts: Vec<_> = model.findings.iter().filter(|f| f.is_doubtful).collect();
        assert_eq!(doubts.len(), 1, "{:?}", model.findings);
        assert!(doubts[0].line == line && doubts[0].text.contains(wanted), "{:?}", doubts[0]);
    };
    check("start=\"0.5\"", "start=\"0,5\"", 16, "`start` is `0,5`, read as 0.5");
    check("start=\"0.5\"", "start=\"5D-1\"", 16, "read as 0.5");
    check("start=\"0.5\"", "start=\"INF\"", 16, "the start value of a parameter `d` is inf");
    let local = |name: &str, r: u32| {
        format!("<ScalarVariable name=\"{name}\" valueReference=\"{r}\"><Real/></ScalarVariable>\n")
    };
    let twice = format!("{}{}</ModelVariables>", local("z", 77), local("z", 78));
    check("</ModelVariables>", &twice, 19, "duplicate variable name `z`; the first one is used");
}

/// Start values that are none used to be left out, or read as false, with a note that nobody saw; of two variables of one name, or
/// two lists of variables, the first one counted.
#[test]
fn files_that_could_mean_two_things_are_refused() {
    let check = |name: &str, from: &str, to: &str, line: u32, wanted: &str| {
        let xml = description(name);
        assert!(xml.contains(from), "{from}");
        let error = ModelDescription::parse(xml.replacen(from, to, 1).as_bytes()).unwrap_err();
        assert!(error.to_string().contains(wanted), "{error}");
        assert_eq!(error.line, line, "{error}");
    };
    let two = "integrator2";
    check(two, "start=\"0.5\"", "start=\"half\"", 16, "the start value `half` of `d` is not a number");
    check(two, "start=\"0.5\"", "start=\"NaN\"", 16, "is not a finite number");
    check(two, "name=\"d\"", "name=\"k\"", 16, "duplicate variable name `k`: a parameter, and in line 15");
    check(two, "name=\"d\"", "name=\"&#0;\"", 16, "not well-formed");
    let twice = "</ModelVariables><ModelVariables></ModelVariables>";
    check(two, "</ModelVariables>", twice, 18, "duplicate element `ModelVariables`");
    let three = "types3";
    let xml = description(three);
    let line = |text: &str| 1 + xml[..xml.find(text).unwrap()].matches('\n').count() as u32;
    check(
        three,
        "start=\"0 5 7\"",
        "start=\"0 5 7 9\"",
        line("start=\"0 5 7\""),
        "3 elements and 4 start values",
    );
    check(
        three,
        "start=\"0 5 7\"",
        "start=\"0 five 7\"",
        line("start=\"0 5 7\""),
        "`five` of `a` is not a number",
    );
}

#[test]
fn foreign_namespaces_and_encodings_do_no_harm() {
    let xml = description("integrator2")
        .replace("<fmiModelDescription ", "<fmiModelDescription xmlns:v=\"urn:vendor\" v:secret=\"1\" ")
        .replace("<ModelVariables>", "<VendorAnnotations><v:x/></VendorAnnotations><ModelVariables>")
        .replace("canInterpolateInputs", "v:x=\"y\" canInterpolateInputs");
    assert_eq!(parse(&xml).findings, []);
    let latin: Vec<u8> = description("integrator2")
        .replace("UTF-8", "ISO-8859-1")
        .replace("speed", "Höhe")
        .chars()
        .map(|c| u8::try_from(u32::from(c)).unwrap())
        .collect();
    assert_eq!(&*ModelDescription::parse(&latin).unwrap().variables[0].description, "Höhe");
}

#[test]
fn broken_files_are_refused_with_their_line() {
    let check = |from: &str, to: &str, line: u32, wanted: &str| {
        let xml = description("integrator2").replace(from, to);
        let error = ModelDescription::parse(xml.as_bytes()).unwrap_err();
        assert_eq!(error.line, line, "{error}");
        assert!(error.to_string().contains(wanted), "{error}");
    };
    check("valueReference=\"4\"", "valueReference=\"-4\"", 16, "value reference `-4`");
    check("name=\"d\" ", "", 16, "lacks the attribute `name`");
    check(
        "index=\"3\" dependencies=\"1\"",
        "index=\"3\" dependencies=\"99\"",
        20,
        "variable 99, but there are 6",
    );
    check("index=\"3\" dependencies=\"1 6\"", "index=\"0\" dependencies=\"1 6\"", 21, "variable 0");
    check("guid=\"{integrator}\"", "", 2, "lacks the attribute `guid`");
    check("fmiModelDescription", "html", 2, "root element is `html`");
    check("</ModelVariables>", "", 23, "not well-formed");
    let three = description("integrator3").replace("dependencies=\"1\"", "dependencies=\"77\"");
    let error = ModelDescription::parse(three.as_bytes()).unwrap_err();
    assert!(error.to_string().contains("value reference 77, which no variable has"), "{error}");
}

/// A length that was not understood was left out: the FMU wrote an array past the place of a single number.
#[test]
fn lengths_of_arrays_are_not_guessed() {
    let with = |dimension: &str, variables: &str| {
        let array =
            format!("<Float64 name=\"a\" valueReference=\"20\" causality=\"output\">{dimension}</Float64>");
        let xml = description("integrator3")
            .replace("</ModelVariables>", &format!("{variables}{array}</ModelVariables>"));
        let outputs = "<ModelStructure><Output valueReference=\"20\"/>";
        ModelDescription::parse(xml.replace("<ModelStructure>", outputs).as_bytes())
    };
    let check = |dimension: &str, variables: &str, wanted: &str| {
        let error = with(dimension, variables).unwrap_err().to_string();
        assert!(error.contains("a dimension of `a`") && error.contains(wanted), "{error}");
    };
    let n = |attributes: &str| format!("<UInt64 name=\"n\" valueReference=\"21\" {attributes} start=\"3\"/>");
    let structural = n("causality=\"structuralParameter\" variability=\"fixed\"");
    check("<Dimension start=\"-3\"/>", "", "found `start` is `-3`");
    check("<Dimension/>", "", "found none of both");
    check(
        "<Dimension start=\"3\" valueReference=\"21\"/>",
        &structural,
        "`start` is `3` and `valueReference` is `21`",
    );
    check("<Dimension valueReference=\"21\"/>", &structural.replace("UInt64", "Float64"), "of type `UInt64`");
    check(
        "<Dimension valueReference=\"21\"/>",
        &n("causality=\"parameter\" variability=\"fixed\""),
        "of type `UInt64`",
    );
    for known in [&structural, &n("causality=\"local\" variability=\"constant\"")] {
        let model = with("<Dimension valueReference=\"21\"/>", known).expect("a length that is known");
        let array = &model.variables[model.find("a").expect("the array")];
        assert_eq!(*array.dimensions, [Dimension::Parameter(21)]);
    }
}

#[test]
fn terminals_are_read() {
    let mut model = parse(&description("integrator3"));
    let xml = r#"<?xml version="1.0"?>
<fmiTerminalsAndIcons fmiVersion="3.0"><Terminals>
  <Terminal name="flange" matchingRule="bus" terminalKind="org.modelica.flange">
    <TerminalMemberVariable variableName="u" memberName="v" variableKind="signal"/>
    <TerminalMemberVariable variableName="lost" memberName="f" variableKind="inflow"/>
    <Terminal name="inner" matchingRule="plug"><TerminalMemberVariable variableName="x" variableKind="signal"/></Terminal>
  </Terminal>
</Terminals></fmiTerminalsAndIcons>"#;
    model.add_terminals(xml.as_bytes()).unwrap();
    let flange = &model.terminals[0];
    assert_eq!(
        (flange.name.as_str(), flange.members.len(), flange.members[0].member.as_str()),
        ("flange", 2, "v")
    );
    assert_eq!(flange.terminals[0].members[0].variable, "x");
    assert_eq!(
        model.findings[0].to_string(),
        "terminalsAndIcons.xml:5: terminal `flange`: unknown variable `lost`"
    );
}

#[test]
fn no_file_makes_the_reader_panic() {
    let mut read = 0;
    for name in ["integrator2", "types2", "integrator3", "types3", "slave1"] {
        let xml = description(name);
        for seed in 0..2000 {
            if let Ok(model) = ModelDescription::parse(&common::mutate(xml.as_bytes(), seed)) {
                model.feed_through();
                read += 1;
            }
        }
    }
    // Most mutations break the XML, many only its contents.
    assert!(read > 500, "{read}");
}

/// 200 000 variables in less than a second and 300 MB; the time is asserted where nothing slows the machine down.
#[test]
fn large_descriptions_are_read_fast() {
    let mut xml = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<fmiModelDescription fmiVersion=\"2.0\" modelName=\"large\" guid=\"{x}\">\
         <CoSimulation modelIdentifier=\"large\"/>\n<ModelVariables>\n",
    );
    for i in 0..200_000 {
        xml.push_str(&format!(
            "  <ScalarVariable name=\"plant.unit[{}].body.frame_a.R.T[{i}]\" valueReference=\"{i}\" description=\"an element of \
             something\" causality=\"local\" variability=\"continuous\">\n    <Real unit=\"m/s\" start=\"{}.5\" \
             min=\"-1e60\"/>\n  </ScalarVariable>\n",
            i / 9,
            i
        ));
    }
    xml.push_str("</ModelVariables><ModelStructure/></fmiModelDescription>");
    let before = peak_memory() - xml.len() as u64;
    let started = std::time::Instant::now();
    let model = parse(&xml);
    let seconds = started.elapsed().as_secs_f64();
    let mega = (peak_memory() - before) as f64 / 1e6;
    println!("{:.1} MB of XML read in {seconds:.3} s with {mega:.0} MB", xml.len() as f64 / 1e6);
    assert_eq!(model.variables.len(), 200_000);
    assert_eq!(model.find("plant.unit[22222].body.frame_a.R.T[199999]"), Some(199_999));
    assert!(mega < 300.0, "{mega} MB");
    assert!(seconds < 3.0, "{seconds} s");
}

/// The highest amount of memory that this process has had, in bytes.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kilobytes =
        line.and_then(|line| line.split_whitespace().nth(1)).and_then(|text| text.parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}
