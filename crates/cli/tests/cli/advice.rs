//! Advice is what the subsystems at hand can do and what would help in this run, best first.

use crate::lab::{EXAMPLE, Lab, edit, plain};
use serde_json::Value;

/// Two integrators in C that make a circle: x'' = -x, as FMUs of FMI 2.
const CIRCLE: &str = "[simulation]\nstop = 10\n[subsystems.a]\nfmu = \"a\"\nparameters = { x0 = 1 }\n[subsystems.b]\nfmu = \"b\"\n\
    [[connections]]\nfrom = \"a.x\"\nto = \"b.u\"\nconvert_units = false\n\
    [[connections]]\nfrom = \"b.x\"\nto = \"a.u\"\ngain = -1\nconvert_units = false\n";

fn circle(system: &str) -> Lab {
    let lab = Lab::with(system);
    lab.place("integrator2", "a");
    lab.place("integrator2", "b");
    lab
}

/// Takes a capability away from both FMUs.
fn without(lab: &Lab, what: &str) {
    for folder in ["a", "b"] {
        let path = lab.dir.join(folder).join("modelDescription.xml");
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, edit(&text, &format!("{what}=\"true\""), &format!("{what}=\"false\"")))
            .unwrap();
    }
}

fn advice(summary: &Value) -> Vec<String> {
    let list = summary["verdict"]["advice"].as_array().unwrap();
    list.iter().map(|way| way.as_str().unwrap().to_owned()).collect()
}

fn advice_of(summary: &Value, code: &str) -> String {
    let reasons = summary["verdict"]["reasons"].as_array().unwrap();
    let found =
        reasons.iter().find(|r| r["code"] == code).unwrap_or_else(|| panic!("no `{code}` in {reasons:?}"));
    found["advice"].as_str().unwrap().to_owned()
}

#[test]
fn leaving_out_the_step_comes_first_and_does_help() {
    let lab = circle(&edit(CIRCLE, "stop = 10", "stop = 10\nstep = 0.1"));
    lab.runs(&[]);
    let summary = lab.summary();
    assert_ne!(summary["verdict"]["word"], "trustworthy");
    let ways = advice(&summary);
    assert!(ways[0].starts_with("leave out `step`: the default method"), "{ways:?}");
    assert!(ways[0].contains("`--tolerance 1e-3`"), "{ways:?}");
    assert_eq!(ways.last().unwrap(), "`--verify` measures the error");
    // As it is advised.
    lab.runs(&["--tolerance", "1e-3"]);
    assert_eq!(lab.summary()["verdict"]["word"], "trustworthy", "{}", lab.summary()["verdict"]);
    // The option is what is left out where it was given.
    let lab = circle(CIRCLE);
    lab.runs(&["--step-size", "0.1"]);
    assert!(advice(&lab.summary())[0].starts_with("leave out `--step-size`: "));
    lab.runs(&["--step-size", "0.1", "--verify"]);
    assert!(!advice(&lab.summary()).iter().any(|way| way.contains("--verify")));
}

#[test]
fn a_method_of_the_file_is_left_out_too() {
    let lab = Lab::with(EXAMPLE);
    lab.runs(&[]);
    let ways = advice(&lab.summary());
    assert!(ways[0].starts_with("leave out `step` and `[method]`: "), "{ways:?}");
    // Printed once, and not below each reason.
    assert_eq!(lab.run(&[]).out.matches("→ leave out").count(), 1);
}

/// With the default method the error goes with the tolerance: what is promised is what comes, within a factor of 2.
#[test]
fn a_smaller_tolerance_gives_the_error_that_was_promised() {
    let lab = Lab::with(EXAMPLE);
    lab.runs(&["--tolerance", "1e-3"]);
    let ways = advice(&lab.summary());
    let way = &ways[0];
    let part = |before: &str, after: &str| {
        let rest = way.split(before).nth(1).unwrap_or_else(|| panic!("no `{before}` in {way}"));
        rest.split(after).next().unwrap().to_owned()
    };
    let (tolerance, promised) = (part("`--tolerance ", "`"), part("an error of about ", " %"));
    let times: f64 = part("with about ", " times").parse().unwrap();
    let steps = lab.summary()["steps"]["accepted"].as_f64().unwrap();
    lab.runs(&["--tolerance", &tolerance]);
    let summary = lab.summary();
    let found = 100.0 * summary["verdict"]["error"]["estimate"].as_f64().unwrap();
    let ratio = found / promised.parse::<f64>().unwrap();
    assert!((0.5..2.0).contains(&ratio), "{way}: {found} %");
    let ratio = summary["steps"]["accepted"].as_f64().unwrap() / (times * steps);
    assert!((0.5..2.0).contains(&ratio), "{way}: {ratio} times as many steps as promised");
}

#[test]
fn rollback_is_for_subsystems_that_can_be_restored() {
    let method = "[method]\nestimator = { kind = \"predictor\", tolerance = 1e-5 }\ncontroller = \"ecco\"\n";
    let lab = circle(&format!("{}{method}", edit(CIRCLE, "stop = 10", "stop = 10\nstep = 0.05")));
    lab.runs(&[]);
    let said = advice_of(&lab.summary(), "over_tolerance");
    assert!(said.starts_with("leave out `step` and `[method]`") && said.contains("rollback"), "{said}");
    without(&lab, "canGetAndSetFMUstate");
    lab.runs(&[]);
    let summary = lab.summary();
    let said = advice_of(&summary, "over_tolerance");
    assert!(said.contains("`max_rate`"), "{said}");
    assert!(!summary["verdict"].to_string().contains("rollback"), "{}", summary["verdict"]);
}

#[test]
fn a_higher_hold_is_for_subsystems_that_take_input_derivatives() {
    let method = "[method]\nhold = 0\nestimator = { kind = \"predictor\", tolerance = 1e-9 }\n\
                  controller = { kind = \"ecco\", min_step = 0.1, max_step = 0.1 }\n";
    let lab = circle(&format!("{}{method}", edit(CIRCLE, "stop = 10", "stop = 10\nstep = 0.1")));
    lab.runs(&[]);
    assert!(advice(&lab.summary()).contains(&"`hold = 1`".to_owned()), "{:?}", advice(&lab.summary()));
    without(&lab, "canInterpolateInputs");
    lab.runs(&[]);
    assert!(!advice(&lab.summary()).contains(&"`hold = 1`".to_owned()), "{:?}", advice(&lab.summary()));
}

/// An FMU that does not declare its dependencies, and must not be probed: its outputs are read again after every step.
#[test]
fn unknown_feed_through_is_said_to_cost_calls_and_does() {
    let with = |key: &str| {
        let text = edit(CIRCLE, "fmu = \"a\"\n", &format!("fmu = \"a\"\n{key}\n"));
        let lab = circle(&edit(&text, "fmu = \"b\"\n", &format!("fmu = \"b\"\n{key}\n")));
        for folder in ["a", "b"] {
            let path = lab.dir.join(folder).join("modelDescription.xml");
            let text = std::fs::read_to_string(&path).unwrap();
            let text = edit(&text, "index=\"2\" dependencies=\"\"", "index=\"2\"");
            std::fs::write(&path, edit(&text, "index=\"3\" dependencies=\"1\"", "index=\"3\"")).unwrap();
        }
        lab.runs(&["--tolerance", "1e-3"]);
        lab.summary()
    };
    let kept = |summary: &Value| summary["choices"]["subsystems"][0]["feed_through"].clone();
    let summary = with("feed_through = \"unknown\"");
    assert_eq!(advice_of(&summary, "feed_through"), "`feed_through = []`");
    assert_eq!(kept(&summary), "refreshed");
    let declared = with("feed_through = []");
    assert!(!declared["verdict"].to_string().contains("feed_through"), "{}", declared["verdict"]);
    assert_eq!(kept(&declared), "none");
}

/// The message of a run that fails advises alike.
#[test]
fn errors_advise_what_the_default_method_does_better() {
    let lab = Lab::with(plain());
    let ran = lab.run(&["-s", "0.1", "-e", "1000"]);
    assert_eq!(ran.code, 4, "{}", ran.err);
    assert!(ran.err.contains("leave out `--step-size`: the default method"), "{}", ran.err);
    assert_eq!(lab.run(&["--tolerance", "1e-2", "-e", "1000"]).code, 0);
}
