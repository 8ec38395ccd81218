//! FMUs as other tools write them: odd but honest ones run, and what is wrong with the others is said.

mod common;

use common::{EXTENSION, PLATFORM_2, begin, description, fmu_with, library, run, zip};
use powerbond_core::subsystem::{FeedThrough, Subsystem};
use powerbond_fmi::{Fmu, FmuSubsystem, Options};
use std::path::PathBuf;

/// x' = u from 0 with u = 1: x(1) = 1, whatever the variables are called.
#[track_caller]
fn runs(path: PathBuf, input: &str, output: &str) -> FmuSubsystem {
    let mut s = Fmu::open(path).unwrap().instantiate("odd", &Options::default()).unwrap();
    begin(&mut s, &[input], &[output], &[1.0]).unwrap();
    let y = run(&mut s, &[1.0], 1, 0.25).unwrap();
    assert!((y[0] - 1.0).abs() < 1e-12, "{y:?}");
    s
}

/// What is odd about the files of an FMU that runs.
#[track_caller]
fn findings(edit: impl Fn(String) -> String, wanted: &[&str]) {
    let path = fmu_with("integrator2", edit);
    let s = runs(path, "u", "x");
    let found: Vec<String> = s.fmu().description().findings.iter().map(|f| f.text.clone()).collect();
    assert_eq!(found.len(), wanted.len(), "{found:?}");
    for (found, wanted) in found.iter().zip(wanted) {
        assert!(found.contains(wanted), "`{wanted}` in {found}");
    }
}

fn without_structure(xml: String) -> String {
    let end = xml.find("  <ModelStructure>").unwrap();
    format!("{}</fmiModelDescription>", &xml[..end])
}

#[test]
fn names_are_texts() {
    let path = fmu_with("integrator2", |xml| {
        xml.replace("name=\"u\"", "name=\"body.r[1].der(ü)\"")
            .replace("name=\"x\"", "name=\"'q.u' &lt;b&gt;&quot;, x&#10;\"")
    });
    runs(path, "body.r[1].der(ü)", "'q.u' <b>\", x\n");
}

#[test]
fn what_is_missing_or_unknown_is_noted_and_nothing_more() {
    findings(|xml| xml, &[]);
    findings(without_structure, &["missing `ModelStructure`"]);
    findings(
        |xml| xml.replace("<Unknown index=\"3\" dependencies=\"1\"/>", ""),
        &["the output `y` is missing in `ModelStructure`"],
    );
    findings(|xml| xml.replace(" modelName=\"integrator\"", ""), &["missing `modelName`"]);
    findings(
        |xml| xml.replace("fmiVersion=\"2.0\"", "fmiVersion=\"2.0.4\""),
        &["no version of the standard"],
    );
    findings(|xml| xml.replace("<Real start=\"0\" unit=\"m/s\"/>", "<Real/>"), &["without a start value"]);
    findings(
        |xml| xml.replace("min=\"0\"", "min=\"3\" max=\"2\""),
        &["a `min` of 3 above its `max` of 2", "the start value 1 of `k`"],
    );
    // Elements and attributes of other namespaces are ignored.
    findings(
        |xml| {
            let root = "<fmi:fmiModelDescription xmlns:fmi=\"urn:fmi\" xmlns:xsi=\"urn:xsi\" xsi:schemaLocation=\"x\"";
            xml.replace("<fmiModelDescription", root).replace("</fmiModel", "</fmi:fmiModel")
        },
        &[],
    );
    // Another interface beside co-simulation, with a library of its own that is not there.
    findings(
        |xml| {
            let other =
                "<ModelExchange modelIdentifier=\"other\" canNotUseMemoryManagementFunctions=\"true\"/>\n";
            let flags =
                "<CoSimulation canNotUseMemoryManagementFunctions=\"true\" needsExecutionTool=\"true\"";
            xml.replace("<CoSimulation", &format!("{other}{flags}"))
        },
        &[],
    );
}

#[test]
fn an_fmu_without_structure_has_unknown_feed_through() {
    let s = runs(fmu_with("integrator2", without_structure), "u", "x");
    assert_eq!(s.info().feed_through, FeedThrough::Unknown);
}

/// FMI 2 has no element for other names: two variables have one reference.
#[test]
fn other_names_of_a_variable_have_its_value_and_its_dependencies() {
    let path = fmu_with("integrator2", |xml| {
        let other = |name: &str, reference: u32| {
            let start = format!("<ScalarVariable name=\"{name}\" valueReference=\"{reference}\"");
            format!("{start} causality=\"output\"><Real/></ScalarVariable>")
        };
        xml.replace("  </ModelVariables>", &format!("{}{}</ModelVariables>", other("x2", 1), other("y2", 2)))
    });
    let s = runs(path, "u", "x2");
    assert!(s.fmu().description().findings.is_empty());
    let index = |name: &str| s.info().find(name).unwrap();
    let pairs = vec![(index("y"), index("u")), (index("y2"), index("u"))];
    assert_eq!(s.info().feed_through, FeedThrough::Declared(pairs));
}

#[test]
fn two_inputs_that_are_one_variable_are_not_fed_together() {
    let path = fmu_with("integrator2", |xml| {
        let other = "<ScalarVariable name=\"u2\" valueReference=\"0\" causality=\"input\"><Real start=\"0\"/></ScalarVariable>";
        xml.replace("  </ModelVariables>", &format!("{other}</ModelVariables>"))
    });
    let mut s = runs(path, "u2", "x");
    let error = begin(&mut s, &["u", "u2"], &["x"], &[1.0, 2.0]).unwrap_err().to_string();
    assert!(error.contains("`u` and `u2` are the same variable"), "{error}");
}

#[test]
fn an_experiment_that_makes_no_sense_is_noted() {
    let experiment =
        "<DefaultExperiment startTime=\"0\" stopTime=\"INF\" stepSize=\"-1\" tolerance=\"NaN\"/>";
    let path = fmu_with("integrator2", |xml| {
        let from = xml.find("<DefaultExperiment").unwrap();
        let to = from + xml[from..].find("/>").unwrap() + 2;
        xml.replace(&xml[from..to], experiment)
    });
    let fmu = Fmu::open(path).unwrap();
    let found = fmu.description().default_experiment;
    assert_eq!((found.start, found.stop, found.step_size, found.tolerance), (Some(0.0), None, None, None));
    assert_eq!(fmu.description().findings.len(), 3);
}

#[test]
fn libraries_are_found_whatever_their_capitals() {
    let entry = format!("binaries/{PLATFORM_2}/Integrator2.{}", EXTENSION.to_uppercase());
    let xml = description("integrator2");
    runs(
        zip("x.fmu", &[("modelDescription.xml", xml.as_bytes()), (&entry, &library("integrator2"))]),
        "u",
        "x",
    );
}

#[test]
fn what_cannot_be_lived_with_is_said() {
    let check = |path: PathBuf, wanted: &str| {
        let error = match Fmu::open(path) {
            Err(error) => error,
            Ok(fmu) => fmu.instantiate("x", &Options::default()).unwrap_err(),
        };
        assert!(error.to_string().contains(wanted), "`{wanted}` in {error}");
    };
    let xml = description("integrator2");
    check(zip("x.fmu", &[("model/modelDescription.xml", xml.as_bytes())]), "only one in `model/`");
    check(
        fmu_with("types3", |xml| {
            xml.replace("<Dimension valueReference=\"53\"/>", "<Dimension valueReference=\"99\"/>")
        }),
        "found `valueReference` is `99`, not a structural parameter or constant",
    );
    check(
        fmu_with("integrator2", |xml| {
            xml.replace("guid=\"{integrator}\"", "guid=\"{x}\"")
                .replace("<CoSimulation", "<CoSimulation needsExecutionTool=\"true\"")
        }),
        "It needs the tool that made it: powerbond tests",
    );
}
