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

/// Below 1e-10 prediction defects are round-off: neither smaller steps nor rejected ones would help, and defects that alternate are no
/// ringing, although `b.x` grows from 0 by itself.
#[test]
fn a_tolerance_below_round_off_is_told_to_be_larger_and_nothing_else() {
    let lab = circle(&edit(CIRCLE, "stop = 10", "stop = 0.01"));
    lab.runs(&["--tolerance", "1e-12"]);
    let summary = lab.summary();
    let larger = "`--tolerance 1e-10`: below it prediction defects are round-off";
    let over = advice_of(&summary, "over_tolerance");
    assert_eq!(over, larger);
    // Also where the result is good: the tolerance only costs steps.
    assert_eq!(advice(&summary)[0], larger);
    let told = summary["verdict"].to_string();
    for wrong in ["rollback", "max_rate", "lower `min_step`", "use smaller steps", "grows"] {
        assert!(!told.contains(wrong), "`{wrong}` in {told}");
    }
    lab.runs(&["--tolerance", "1e-10"]);
    assert!(!lab.summary()["verdict"].to_string().contains("round-off"), "{}", lab.summary()["verdict"]);
}

/// A C FMU whose output cannot be predicted, into an integrator.
fn signal(parameters: &str) -> Lab {
    let lab = Lab::with(&format!(
        "[simulation]\nstop = 10.0\n[subsystems.a]\nfmu = \"a\"\nparameters = {{ {parameters} }}\n[subsystems.b]\nfmu = \"b\"\n\
         parameters = {{ d = 0.0 }}\n[[connections]]\nfrom = \"a.y\"\nto = \"b.u\"\nconvert_units = false\n"
    ));
    lab.place("signal2", "a");
    lab.place("integrator2", "b");
    lab
}

/// Smaller tolerances were advised, which make the steps next to a discontinuity smaller and not the one that goes over it.
#[test]
fn a_discontinuity_that_nobody_announces_is_met_by_a_largest_step() {
    let lab = signal("f = 0.1, jump = 5.003, height = 20");
    lab.runs(&["--tolerance", "1e-2"]);
    let ways = advice(&lab.summary());
    assert!(!ways.iter().any(|way| way.starts_with("`--tolerance")), "{ways:?}");
    let option = ways[0].split('`').nth(1).expect("an option");
    let (set, knob) = option.split_once(' ').expect("a value");
    assert!(set == "--set" && knob.starts_with("method.controller.max_step="), "{ways:?}");
    // x(10) = ∫ sin(0.2 π t) + 20 from 5.003 on; the sine goes through one period.
    let error = || (lab.results().column("b.x").last().unwrap() - 20.0 * (10.0 - 5.003)).abs();
    let before = error();
    lab.runs(&["--tolerance", "1e-2", set, knob]);
    assert!(error() < 0.2 * before, "{before} became {}", error());
}

/// Noise was said to ring, and to become smaller with the tolerance.
#[test]
fn noise_is_not_met_by_smaller_steps() {
    let lab = signal("f = 0.3, noise = 0.2");
    lab.runs(&["--tolerance", "1e-2"]);
    let summary = lab.summary();
    let ways = advice(&summary);
    assert!(ways.contains(&"use a larger tolerance, or a more accurate subsystem".to_owned()), "{ways:?}");
    let told = summary["verdict"].to_string();
    for wrong in ["`--tolerance", "max_rate", " rings", "too few points"] {
        assert!(!told.contains(wrong), "`{wrong}` in {told}");
    }
}

/// A signal that is switched on in the second half of the run, far larger than before, stays as it is: nothing is unstable.
#[test]
fn what_has_grown_and_stays_is_not_said_to_grow() {
    let lab = signal("f = 1, jump = 5.5, height = 20");
    lab.runs(&["--step-size", "0.05"]);
    let summary = lab.summary();
    assert_ne!(summary["verdict"]["word"], "trustworthy");
    assert!(summary["inputs"][0]["growth"].as_f64().unwrap() > 10.0, "{}", summary["inputs"]);
    assert!(!summary["verdict"].to_string().contains("grows"), "{}", summary["verdict"]);
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
