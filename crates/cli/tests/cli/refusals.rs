//! What FMUs refuse in the middle of a run: inputs inside steps, states, events; and what scratch instances cost.

#![cfg(target_os = "linux")]

use crate::lab::{Lab, Ran, edit};
use crate::trap;

/// `trap` follows x = t of `before`, so that its own x is t²/2; what it refuses it refuses from t = 0.5 s on.
const SYSTEM: &str = r#"[simulation]
stop = 1.0
STEP
[subsystems.before]
fmu = "healthy"
[subsystems.trap]
fmu = "refuses"
parameters = { mode = MODE }
options = { events = EVENTS }
PROCESS
[[connections]]
from = "before.x"
to = "trap.u"
convert_units = false
[inputs]
"before.u" = 1.0
METHOD
"#;

const STEP: &str = "step = 0.1";
const FIRST_ORDER: &str = "[method]\nhold = 1";
const OWN: &str = "process = \"own\"";

fn refusing(mode: u8, [step, events, process, method]: [&str; 4]) -> (Lab, Ran) {
    let system = SYSTEM.replace("STEP", step).replace("MODE", &mode.to_string());
    let system = system.replace("EVENTS", events).replace("PROCESS", process).replace("METHOD", method);
    let lab = Lab::with(&system);
    lab.place("integrator3", "healthy");
    lab.place("refuses3", "refuses");
    if matches!(mode, 5 | 6) {
        // With values only it is stepped finer, and tried out more often.
        let description = std::fs::read_to_string(lab.dir.join("refuses/modelDescription.xml")).unwrap();
        let plain = edit(&description, "providesIntermediateUpdate=\"true\" ", "");
        lab.write("refuses/modelDescription.xml", plain);
    }
    std::fs::create_dir(lab.dir.join("tmp")).unwrap();
    let (ran, _) = trap::run(&lab, &[]);
    (lab, ran)
}

/// A call that failed inside a step went unnoticed: the FMU went on with old inputs, and was called after a fatal error.
#[test]
fn what_is_refused_inside_steps_ends_the_run_with_its_name() {
    let check = |mode: u8, events: &str, words: &[&str], rows: usize| {
        for process in ["", OWN] {
            let (lab, ran) = refusing(mode, [STEP, events, process, FIRST_ORDER]);
            assert_eq!(ran.code, 4, "mode {mode}: {}", ran.err);
            trap::everything_is_kept(&lab, &ran, words, rows);
        }
    };
    check(1, "false", &["step from t = 0.5 s", "`fmi3SetFloat64` returned fmi3Error"], 6);
    check(2, "false", &["step from t = 0.5 s", "`fmi3SetFloat64` returned fmi3Fatal"], 6);
    check(3, "false", &["`fmi3DoStep` asks for inputs at NaN s"], 6);
    check(4, "false", &["`fmi3DoStep` asks for inputs at 1000000000.5 s"], 6);
    check(7, "true", &["`fmi3EnterStepMode` returned fmi3Fatal"], 6);
    check(8, "false", &["`fmi3DoStep` returned fmi3OK: it reports 0.3 s as the last successful time"], 6);
}

/// After a state that was not saved, probes went back to an older one; after one that was not restored the run went on from somewhere:
/// x(1) = 0.05 and 0.5002 instead of 0.5, with exit code 0.
#[test]
fn states_that_are_not_saved_or_restored_cost_no_digit() {
    for process in ["", OWN] {
        let (lab, ran) = refusing(5, ["", "false", process, ""]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        // x = t²/2, and the trapezoidal rule is exact for a straight line.
        let x = lab.last("trap.x");
        assert!((x - 0.5).abs() < 1e-9, "{x}");

        let (lab, ran) = refusing(6, ["", "false", process, ""]);
        assert_eq!(ran.code, 4, "{}", ran.err);
        assert!(ran.err.contains("trap: step from t = 0."), "{}", ran.err);
        assert!(ran.err.contains("`fmi3SetFMUState` returned fmi3Discard"), "{}", ran.err);
        assert_eq!(lab.summary()["failure"]["subsystem"], "trap");
        let rows = lab.results();
        let (times, x) = (rows.column("time"), rows.column("trap.x"));
        for (t, x) in times.iter().zip(&x) {
            assert!((x - 0.5 * t * t).abs() < 1e-9, "x({t}) = {x}");
        }
    }
}

#[test]
fn rollback_without_states_is_a_warning() {
    let rollback = "[method]\nestimator = { kind = \"jump\", tolerance = 1e-3 }\n\
                    controller = { kind = \"rollback\", min_step = 1e-6, max_step = 0.01 }";
    let (lab, ran) = refusing(5, [STEP, "false", "", rollback]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let told = "`trap`: saving its state failed (`fmi3GetFMUState` returned fmi3Discard";
    assert!(ran.err.contains(told), "{}", ran.err);
    assert!(lab.summary()["warnings"].to_string().contains(told), "{}", ran.err);
}

#[test]
fn warnings_of_functions_are_warnings_of_the_run() {
    for process in ["", OWN] {
        let (lab, ran) = refusing(9, [STEP, "false", process, ""]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        let told = "`trap` returns fmi3Warning from `fmi3DoStep`";
        assert_eq!(lab.summary()["warnings"].to_string().matches(told).count(), 1, "{}", ran.err);
    }
}

/// A slave of FMI 1 that is tried out is made twice where its inputs move: the second one counted as that of the run, so that its crash
/// left no results. In a process of its own, and in sweeps and runs from Python, every scratch instance did.
#[test]
fn scratch_instances_cost_no_run() {
    for place in ["initialize", "step", "terminate", "free"] {
        // In a process of their own scratch instances are freed without being terminated.
        let processes = if place == "terminate" { &[""][..] } else { &["", OWN] };
        for process in processes {
            let lab = with_trap_in_second_instances(process);
            let ran = run_with_trap(&lab, place, &["run", "system.toml", "--output-dir", "out"]);
            assert_eq!(ran.code, 0, "{place}, `{process}`: {}", ran.err);
            assert_eq!(lab.results().column("time").len(), 11, "{place}, `{process}`: {}", ran.err);
            let told = "of a scratch instance crashed with SIGSEGV";
            assert!(ran.err.contains(told), "{place}, `{process}`: {}", ran.err);
            assert_eq!(std::fs::read_dir(lab.dir.join("tmp")).unwrap().count(), 0, "temporary folders");
        }
    }
    let lab = with_trap_in_second_instances("");
    let plan = "system = \"system.toml\"\n[parameters]\nbefore.k = [1.0, 2.0]\n[outputs]\nlast = \"final(trap.x)\"\n";
    lab.write("plan.toml", plan);
    let ran = run_with_trap(&lab, "step", &["sweep", "plan.toml", "--workers", "1"]);
    assert!(ran.code == 0 && ran.out.contains("2 of 2: 2 ok"), "{}{}", ran.out, ran.err);
}

fn with_trap_in_second_instances(process: &str) -> Lab {
    let of_refuses = "parameters = { mode = MODE }\noptions = { events = EVENTS }\n";
    let system = SYSTEM.replace(of_refuses, "").replace("METHOD", "").replace("STEP", STEP);
    let lab = Lab::with(&system.replace("PROCESS", process));
    lab.place("integrator3", "healthy");
    lab.place("trap1", "refuses");
    std::fs::create_dir(lab.dir.join("tmp")).unwrap();
    lab
}

fn run_with_trap(lab: &Lab, place: &str, arguments: &[&str]) -> Ran {
    let mut command = lab.command(arguments);
    Ran::new(command.env("TMPDIR", lab.dir.join("tmp")).env("TRAP1", place).output().unwrap())
}
