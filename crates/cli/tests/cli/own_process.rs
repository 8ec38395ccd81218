//! Subsystems in processes of their own: the same bits, and a fault takes nothing but itself along.

#![cfg(target_os = "linux")]

use crate::lab::{Lab, Ran, edit};
use crate::trap::{
    AT_THE_END, IN_A_STEP, IN_INITIALIZATION, MARK, SYSTEM, WHEN_FREED, everything_is_kept, living, run,
    trap_in,
};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The system with every FMU and every model in a process of its own.
fn apart(system: &str) -> String {
    let apart = system.replace("\nfmu =", "\nprocess = \"own\"\nfmu =");
    apart.replace("\nmodel =", "\nprocess = \"own\"\nmodel =")
}

/// Runs a system as it is, and with everything in processes of its own: results are equal to the last bit. `prepare` fills the folder.
#[track_caller]
fn same_bits(system: &str, options: &[&str], prepare: impl Fn(&Lab)) {
    let tables = |system: &str| {
        let lab = Lab::with(system);
        prepare(&lab);
        let ran = lab.run(options);
        assert_eq!(ran.code, 0, "{options:?}\n{system}\n{}", ran.err);
        let mut summary = lab.summary();
        // What depends on the clock, or says where subsystems run.
        for key in ["system", "seconds", "engine_seconds", "started", "files", "hashes"] {
            summary[key] = serde_json::Value::Null;
        }
        summary["config"]["processes"] = serde_json::Value::Null;
        summary["subsystems"].as_array_mut().unwrap().iter_mut().for_each(|s| s["seconds"] = 0.into());
        let log = std::fs::read_to_string(lab.dir.join("out/log.txt")).unwrap_or_default();
        let tables =
            ["results.csv", "energy.csv"].map(|t| std::fs::read(lab.dir.join("out").join(t)).unwrap());
        (tables, log, summary)
    };
    let (shared, own) = (tables(system), tables(&apart(system)));
    assert!(shared.0 == own.0, "{options:?}\n{system}");
    assert_eq!(shared.1, own.1, "log.txt");
    let (a, b) = (shared.2.as_object().unwrap(), own.2.as_object().unwrap());
    for (key, value) in a {
        let differs =
            ["verification", "host", "folder", "command", "version", "real_time"].contains(&key.as_str());
        assert!(differs || value == &b[key], "{key}: {value} and {}", b[key]);
    }
}

const EXAMPLES: &[&str] =
    &["quarter-car", "quarter-car-dd", "quarter-car-fd", "oscillator", "crane", "pendula"];

#[test]
fn examples_are_the_same_in_processes_of_their_own() {
    for name in EXAMPLES {
        let path = crate::lab::root().join("examples").join(name).join("system.toml");
        let system = std::fs::read_to_string(path).unwrap();
        same_bits(&system, &["-d", "0.5"], |_| {});
    }
}

#[test]
fn methods_that_go_back_are_the_same() {
    let plain = crate::lab::plain();
    for method in [
        "hold = 2\nestimator = { kind = \"richardson\", tolerance = 1e-4 }\ncontroller = \"rollback\"\n",
        "hold = 1\nestimator = { kind = \"richardson\", big_step = \"classic\" }\ncontroller = \"rollback\"\n",
        "kind = \"auto\"\n",
    ] {
        same_bits(&format!("{plain}[method]\n{method}"), &["-d", "1"], |_| {});
    }
    same_bits(plain, &["-d", "0.5", "--tolerance", "1e-4", "--verify"], |_| {});
    same_bits(plain, &["-d", "0.5", "--worker-threads", "2"], |_| {});
}

/// Two integrators in a ring, an FMU of each version.
const RING: &str = r#"[simulation]
stop = 1.0
step = 0.1
[subsystems.a]
fmu = "a"
parameters = { x0 = 1.0 }
[subsystems.b]
fmu = "b"
[[connections]]
from = "a.x"
to = "b.u"
convert_units = false
[[connections]]
from = "b.x"
to = "a.u"
gain = -1.0
convert_units = false
"#;

#[test]
fn fmus_are_the_same_in_processes_of_their_own() {
    let ring = |lab: &Lab| {
        lab.place("integrator2", "a");
        lab.place("integrator3", "b");
    };
    for method in ["", "[method]\nhold = 2\ncontroller = \"rollback\"\nestimator = \"richardson\"\n"] {
        same_bits(&format!("{RING}{method}"), &[], ring);
    }
    same_bits(RING, &["--tolerance", "1e-4"], ring);
    let talk = r#"record.variables = "*"
[simulation]
stop = 1.0
step = 0.1
[subsystems.a]
fmu = "a"
parameters = { name = "Änne" }
[subsystems.b]
fmu = "b"
options = { events = true }
parameters = { name = "b" }
[[connections]]
from = "a.said"
to = "b.heard"
[[connections]]
from = "b.said"
to = "a.heard"
[subsystems.c]
model = "algebraic/gain"
[[connections]]
from = "a.steps"
to = "c.u"
[method]
monitors = ["richardson"]
"#;
    same_bits(talk, &[], |lab| {
        lab.place("words2", "a");
        lab.place("words3", "b");
    });
}

/// A trap in a process of its own, between healthy neighbours that share one.
fn system() -> String {
    edit(SYSTEM, "fmu = \"trap\"", "fmu = \"trap\"\nprocess = \"own\"")
}

fn trap(fault: u8, place: u8) -> Lab {
    trap_in(&system(), fault, place)
}

#[test]
fn a_crash_in_a_step_is_named_and_rows_are_kept() {
    for (fault, how) in [
        (1, "SIGSEGV"),
        (2, "SIGABRT"),
        // The stack overflows: a guard page may be met, and Rust says so, or not.
        (3, "crashed with SIG"),
        (4, "exit code 0"),
        (5, "exit code 0"),
        (6, "SIGKILL"),
        (10, "SIGFPE"),
        (11, "SIGILL"),
        (16, "SIGSEGV"),
    ] {
        let lab = trap(fault, IN_A_STEP);
        let (ran, _) = run(&lab, &[]);
        assert_eq!(ran.code, 5, "fault {fault}: {}", ran.err);
        everything_is_kept(&lab, &ran, &["`trap`: `fmi2DoStep` at t = 0.5 s", how, "until then are in"], 6);
        let summary = lab.summary();
        assert_eq!((&summary["time"]["reached"], &summary["failure"]["time"]), (&0.5.into(), &0.5.into()));
        assert_eq!(summary["failure"]["call"], "fmi2DoStep");
        if fault != 1 {
            continue;
        }
        // Also without a worker of the run.
        let (ran, _) = run(&lab, &["--in-process"]);
        assert_eq!(ran.code, 5, "fault {fault}: {}", ran.err);
        everything_is_kept(&lab, &ran, &["`trap`: `fmi2DoStep` at t = 0.5 s", how], 6);
    }
}

#[test]
fn a_crash_before_the_first_step_is_named() {
    let lab = trap(1, IN_INITIALIZATION);
    let (ran, _) = run(&lab, &[]);
    assert_eq!(ran.code, 5, "{}", ran.err);
    everything_is_kept(&lab, &ran, &["`trap`:", "fmi2EnterInitializationMode", "SIGSEGV"], 0);
    for (variable, call) in [("TRAP_LOAD", "`dlopen`"), ("TRAP_INSTANTIATE", "`fmi2Instantiate`")] {
        let lab = trap(0, 0);
        for verb in ["run", "check"] {
            let ran = Ran::new(lab.command(&[verb, "system.toml"]).env(variable, "1").output().unwrap());
            assert_eq!(ran.code, 5, "{}", ran.err);
            assert!(ran.err.contains(&format!("`trap`: {call} crashed with SIGSEGV")), "{}", ran.err);
        }
        assert!(!lab.dir.join("results").exists());
    }
}

#[test]
fn a_crash_after_the_run_is_a_warning() {
    for (fault, place, call) in [
        (1, AT_THE_END, "fmi2Terminate"),
        (5, AT_THE_END, "fmi2Terminate"),
        (2, WHEN_FREED, "fmi2FreeInstance"),
    ] {
        let lab = trap(fault, place);
        let (ran, _) = run(&lab, &[]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        assert!(ran.err.contains("warning: trap: terminating the simulation failed: `fmi2"), "{}", ran.err);
        assert!(ran.err.contains(call), "{}", ran.err);
        assert_eq!(lab.results().column("time").len(), 11);
        assert_eq!(lab.summary()["outcome"], "finished");
        assert!(lab.summary()["warnings"].to_string().contains(call));
    }
}

#[test]
fn what_an_fmu_does_to_its_own_process_leaves_its_neighbours_alone() {
    // In a build with debug assertions the standard library aborts over a descriptor that was closed elsewhere.
    let faults: &[u8] = if cfg!(debug_assertions) { &[13, 15] } else { &[12, 13, 15] };
    for &fault in faults {
        let lab = trap(fault, IN_A_STEP);
        let (ran, _) = run(&lab, &[]);
        assert_eq!(ran.code, 0, "fault {fault}: {}", ran.err);
        assert_eq!(lab.results().column("time").len(), 11);
    }
}

/// It wrote over the messages, and the run waited for an answer for ever.
/// What it said in the call that it did not survive was lost with its process.
#[test]
fn last_words_are_kept() {
    let printed = ("printed: no licence \\u{1b}[2J", "printed: no licence \\u{1b}[2J\n");
    let logged = (
        "one | two | three",
        "trap [Warning, trap]: one\ntrap [Warning, trap]: two\ntrap [Warning, trap]: three\n",
    );
    for (fault, (words, log)) in [(35, printed), (25, logged)] {
        let lab = trap(fault, IN_A_STEP);
        let (ran, _) = run(&lab, &[]);
        let words = format!("; its last messages: {words}. The fault is in the FMU");
        everything_is_kept(&lab, &ran, &["`trap`: `fmi2DoStep` at t = 0.5 s", &words], 6);
        let text = std::fs::read_to_string(lab.dir.join("out/log.txt")).unwrap();
        assert!(text.ends_with(log), "{text}");
    }
}

/// The limit used to hold for the process of the run alone.
#[test]
fn memory_has_a_limit() {
    let lab = trap(17, IN_A_STEP);
    let (ran, _) = run(&lab, &["--memory-limit", "200MB"]);
    assert_eq!(ran.code, 5, "{}", ran.err);
    everything_is_kept(&lab, &ran, &["`trap`: `fmi2DoStep` at t = 0.5 s", "the 200 MB of --memory-limit"], 6);
}

#[test]
fn an_fmu_that_writes_over_its_messages_is_lost() {
    let lab = trap(34, IN_A_STEP);
    let (ran, _) = run(&lab, &["--timeout", "20"]);
    assert_eq!(ran.code, 5, "{}", ran.err);
    everything_is_kept(&lab, &ran, &["`trap`", "overwrote the memory through which it talks to the run"], 6);
}

#[test]
fn a_hang_ends_at_its_deadline() {
    for (fault, option) in
        [(8, "--call-timeout"), (9, "--call-timeout"), (8, "--timeout"), (14, "--call-timeout")]
    {
        let lab = trap(fault, IN_A_STEP);
        let (ran, seconds) = run(&lab, &[option, "1"]);
        assert_eq!(ran.code, 6, "{}", ran.err);
        assert!(seconds < Duration::from_millis(2500), "fault {fault}, {option}: {seconds:?}");
        everything_is_kept(&lab, &ran, &["`trap`: `fmi2DoStep` at t = 0.5 s", option], 6);
    }
    let lab = trap(7, IN_A_STEP);
    let (ran, seconds) = run(&lab, &[]);
    assert_eq!(ran.code, 6, "{}", ran.err);
    assert!(seconds < Duration::from_secs(2), "{seconds:?}");
    everything_is_kept(&lab, &ran, &["`trap`: `fmi2DoStep`", "stopped by a signal"], 6);
}

/// Ctrl-C on a terminal goes to the whole group: the process of the subsystem must not take it for its own.
#[test]
fn signals_and_the_end_of_the_run_reach_everybody() {
    for (signal, code) in [("INT", Some(130)), ("TERM", Some(143)), ("KILL", None)] {
        let lab = trap(9, IN_A_STEP);
        let mut command = lab.command(&["run", "system.toml", "--output-dir", "out"]);
        command.env(MARK, &lab.dir).stdout(Stdio::null()).stderr(Stdio::null());
        let mut run = command.spawn().unwrap();
        let begun = Instant::now();
        while living(&lab) < 3 && begun.elapsed() < Duration::from_secs(10) {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(living(&lab), 3, "supervisor, worker and the trap");
        std::thread::sleep(Duration::from_millis(300));
        let asked = Instant::now();
        Command::new("kill").args([format!("-{signal}"), run.id().to_string()]).status().unwrap();
        assert_eq!(run.wait().unwrap().code(), code, "{signal}");
        while living(&lab) > 0 && asked.elapsed() < Duration::from_secs(2) {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(living(&lab), 0, "{signal}");
        assert!(asked.elapsed() < Duration::from_millis(2000), "{:?}", asked.elapsed());
    }
}

#[test]
fn mistakes_are_told_with_their_line() {
    let check = |line: &str, wanted: &str| {
        let lab = Lab::with(
            &edit(&system(), "process = \"own\"", line).replace("FAULT", "0").replace("PLACE", "0"),
        );
        lab.place("integrator2", "healthy");
        lab.place("trap2", "trap");
        let ran = lab.powerbond(&["check", "system.toml"]);
        assert_eq!(ran.code, 3, "{line}: {}", ran.err);
        assert!(ran.err.contains("system.toml:8:") && ran.err.contains(wanted), "{line}: {}", ran.err);
    };
    check("process = \"onw\"", "unknown process `onw`. Did you mean `own`?");
    check("process = 1", "`process`");
    check("proces = \"own\"", "Did you mean `process`?");
    check("host = \"-oProxyCommand=x\"", "\"user@machine\"");
    check("host = \"a b\"", "\"user@machine\"");
}

/// What is wrong with an FMU is told as if it were opened here.
#[test]
fn an_fmu_that_cannot_be_loaded_is_refused_alike() {
    let refused = |process: &str| {
        let lab = Lab::with(&edit(&system(), "own", process).replace("FAULT", "0").replace("PLACE", "0"));
        lab.place("integrator2", "healthy");
        lab.place("trap2", "trap");
        lab.write("trap/binaries/linux64/trap2.so", "no library");
        let ran = lab.run(&[]);
        (ran.code, ran.err.replace(&lab.dir.display().to_string(), ""))
    };
    let (code, err) = refused("own");
    assert_eq!((code, err.clone()), refused("shared"));
    assert!(code == 3 && err.contains("system.toml:7:"), "{err}");
}

/// Two of an FMU, in a ring.
fn twins(name: &str) -> Lab {
    let fmu = format!("fmu = \"{name}\"");
    let lab = Lab::with(&RING.replace("fmu = \"a\"", &fmu).replace("fmu = \"b\"", &fmu));
    lab.place("integrator2", name);
    lab
}

#[test]
fn an_fmu_that_can_be_there_only_once_gets_a_process_for_each() {
    let lab = twins("once");
    let xml = std::fs::read_to_string(lab.dir.join("once/modelDescription.xml")).unwrap();
    let plain = lab.runs(&[]).results().rows;
    assert_eq!(lab.summary()["config"]["processes"], serde_json::json!({}));
    let once = "<CoSimulation canBeInstantiatedOnlyOncePerProcess=\"true\" ";
    lab.write("once/modelDescription.xml", edit(&xml, "<CoSimulation ", once));
    assert_eq!(lab.runs(&[]).results().rows, plain);
    assert_eq!(lab.summary()["config"]["processes"], serde_json::json!({ "a": "own", "b": "own" }));
    let budget = ["system.toml", "--budget", "1"];
    for (verb, options) in [("check", &budget[..1]), ("stability", &budget), ("tune", &budget)] {
        let ran = lab.powerbond(&[&[verb], options].concat());
        assert_eq!(ran.code, 0, "{verb}: {}", ran.err);
    }
    // On request both share a process, which the FMU does not allow.
    let text = std::fs::read_to_string(lab.dir.join("system.toml")).unwrap();
    lab.write("system.toml", text.replace("fmu = \"once\"", "fmu = \"once\"\nprocess = \"shared\""));
    let ran = lab.run(&[]);
    assert_eq!(ran.code, 3, "{}", ran.err);
    assert!(ran.err.contains("only once per process"), "{}", ran.err);
}

#[test]
fn python_based_fmus_get_a_process_each() {
    let lab = twins("snake");
    // What makes it one: a library that names Python's among those that it needs.
    let sources = crate::lab::root().join("crates/fmi/tests/fmus");
    let out = lab.dir.join("snake/binaries/linux64/integrator2.so");
    let named = "-Wl,-rpath,/nowhere/libpython3.so";
    let mut cc = Command::new("cc");
    cc.args(["-O2", "-shared", "-fPIC", named, "-o"]).arg(&out).arg(sources.join("integrator2.c")).arg("-lm");
    assert!(cc.status().unwrap().success());
    lab.runs(&[]);
    assert_eq!(lab.summary()["config"]["processes"], serde_json::json!({ "a": "own", "b": "own" }));
    lab.write(
        "alone.toml",
        "[simulation]\nstop = 1.0\n[subsystems.a]\nfmu = \"snake\"\n[inputs]\n\"a.u\" = 1.0\n",
    );
    let ran = lab.powerbond(&["run", "alone.toml", "--output-dir", "out", "--overwrite"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(lab.summary()["config"]["processes"], serde_json::json!({}));
}

/// A program of one's own, with the command as what runs subsystems: states are saved in their processes, and go back with the run.
#[test]
fn a_session_goes_back_with_subsystems_elsewhere() {
    use powerbond::System;
    use powerbond::system::{Site, install};
    use powerbond_worker::{Program, Workers};
    install(Workers { program: Program::At(env!("CARGO_BIN_EXE_powerbond").into()) });
    let values = |site: Site| {
        let mut system = System::load(crate::lab::root().join("examples/quarter-car")).unwrap();
        for spec in &mut system.subsystems {
            spec.process = match site {
                Site::Own => powerbond::system::ProcessSpec::Own(powerbond::source::At::default(())),
                _ => powerbond::system::ProcessSpec::Shared,
            };
        }
        let mut run = system.start().unwrap();
        let mut seen = Vec::new();
        let mut look = |run: &powerbond::Session| {
            seen.push((run.time().to_bits(), run.value("chassis.position").unwrap().to_bits()));
        };
        run.run_until(0.3).unwrap();
        let saved = [run.save().unwrap(), run.save().unwrap()];
        run.run_until(0.6).unwrap();
        look(&run);
        run.set("wheel.road", 0.05).unwrap();
        run.run_until(0.9).unwrap();
        look(&run);
        for saved in &saved {
            run.restore(saved).unwrap();
            look(&run);
            run.run_until(0.6).unwrap();
            look(&run);
        }
        drop(saved);
        run.run_until(0.7).unwrap();
        look(&run);
        let done = run.finish().unwrap();
        assert!(done.warnings.iter().all(|w| !w.contains("terminating")), "{:?}", done.warnings);
        seen
    };
    let own = values(Site::Own);
    assert_eq!(own, values(Site::Shared));
    // After going back it is as it was before, twice.
    assert!(own[0] == own[3] && own[3] == own[5] && own[2] == own[4], "{own:?}");
}
