//! Whatever an FMU does to its process: the run says who did it, keeps every row, and leaves nothing behind.

#![cfg(target_os = "linux")]

use crate::lab::{Lab, Ran};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A trap between healthy neighbours, steps of 0.1 s.
const SYSTEM: &str = r#"[simulation]
stop = 1.0
step = 0.1
[subsystems.before]
fmu = "healthy"
[subsystems.trap]
fmu = "trap"
parameters = { fault = FAULT, place = PLACE }
[subsystems.zafter]
fmu = "healthy"
[[connections]]
from = "before.x"
to = "trap.u"
convert_units = false
[[connections]]
from = "trap.x"
to = "zafter.u"
convert_units = false
[inputs]
"before.u" = 1.0
"#;

const IN_INITIALIZATION: u8 = 1;
const IN_A_STEP: u8 = 2;
const AT_THE_END: u8 = 3;
const WHEN_FREED: u8 = 4;

fn trap(fault: u8, place: u8) -> Lab {
    let system = SYSTEM.replace("FAULT", &fault.to_string()).replace("PLACE", &place.to_string());
    let lab = Lab::with(&system);
    lab.place("integrator2", "healthy");
    lab.place("trap2", "trap");
    std::fs::create_dir(lab.dir.join("tmp")).unwrap();
    lab
}

fn run(lab: &Lab, options: &[&str]) -> (Ran, Duration) {
    let arguments = [&["run", "system.toml", "--output-dir", "out", "--overwrite"], options].concat();
    let begun = Instant::now();
    let output = lab.command(&arguments).env("TMPDIR", lab.dir.join("tmp")).output().unwrap();
    (Ran::new(output), begun.elapsed())
}

/// Rows up to 0.5 s, a summary that says `failed`, no temporary folder.
#[track_caller]
fn everything_is_kept(lab: &Lab, ran: &Ran, words: &[&str], rows: usize) {
    for word in words {
        assert!(ran.err.contains(word), "`{word}` in\n{}", ran.err);
    }
    assert_eq!(lab.results().column("time").len(), rows, "{}", ran.err);
    assert!(lab.energy().rows.len() + 1 >= rows);
    let summary = lab.summary();
    assert_eq!(summary["outcome"], "failed", "{}", ran.err);
    assert_eq!(summary["verdict"]["word"], "unreliable");
    assert_eq!(summary["failure"]["subsystem"], "trap", "{}", summary["failure"]);
    assert!(ran.err.contains(summary["error"].as_str().unwrap()), "{}", ran.err);
    assert_eq!(std::fs::read_dir(lab.dir.join("tmp")).unwrap().count(), 0, "temporary folders");
}

#[test]
fn crashes_in_a_step_are_named_and_rows_are_kept() {
    for (fault, how) in [
        (1, "SIGSEGV"),
        (2, "SIGABRT"),
        (3, "SIGSEGV"),
        (4, "exit code 0"),
        (5, "exit code 0"),
        (6, "SIGKILL"),
        (10, "SIGFPE"),
        (11, "SIGILL"),
    ] {
        let lab = trap(fault, IN_A_STEP);
        let (ran, _) = run(&lab, &[]);
        assert_eq!(ran.code, 5, "fault {fault}: {}", ran.err);
        everything_is_kept(&lab, &ran, &["`trap`: `fmi2DoStep` at t = 0.5 s", how, "until then are in"], 6);
        assert_eq!(lab.summary()["time"]["reached"], 0.5);
        assert_eq!(lab.summary()["steps"]["accepted"], 5);
    }
}

#[test]
fn crashes_before_the_first_step_are_named() {
    let lab = trap(1, IN_INITIALIZATION);
    let (ran, _) = run(&lab, &[]);
    assert_eq!(ran.code, 5, "{}", ran.err);
    everything_is_kept(&lab, &ran, &["`trap`:", "fmi2EnterInitializationMode", "SIGSEGV"], 0);
    for (variable, who) in
        [("TRAP_LOAD", "`trap`: `dlopen`"), ("TRAP_INSTANTIATE", "`trap`: `fmi2Instantiate`")]
    {
        let lab = trap(0, 0);
        let arguments = ["run", "system.toml", "--output-dir", "out"];
        let ran = Ran::new(lab.command(&arguments).env(variable, "1").output().unwrap());
        assert_eq!(ran.code, 5, "{}", ran.err);
        assert!(ran.err.contains(who) && ran.err.contains("SIGSEGV"), "{}", ran.err);
        assert!(ran.err.contains("no results"), "{}", ran.err);
        assert!(!lab.dir.join("out/results.csv").exists());
    }
}

/// All rows are there, and the run did what it was asked for.
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
        assert!(ran.err.contains("warning: after the run was complete: `trap`"), "{}", ran.err);
        assert!(ran.err.contains(call), "{}", ran.err);
        assert!(ran.out.contains("results.csv"), "{}", ran.out);
        assert_eq!(lab.results().column("time").len(), 11);
        assert_eq!(lab.summary()["outcome"], "finished");
        assert!(lab.summary()["warnings"].to_string().contains(call));
    }
}

#[test]
fn hangs_end_at_their_deadline() {
    for (fault, option) in
        [(8, "--call-timeout"), (9, "--call-timeout"), (8, "--timeout"), (14, "--call-timeout")]
    {
        let lab = trap(fault, IN_A_STEP);
        let (ran, seconds) = run(&lab, &[option, "1"]);
        assert_eq!(ran.code, 6, "{}", ran.err);
        assert!(seconds < Duration::from_millis(2500), "fault {fault}, {option}: {seconds:?}");
        everything_is_kept(&lab, &ran, &["`trap`: `fmi2DoStep` at t = 0.5 s", option], 6);
    }
    let lab = trap(8, IN_INITIALIZATION);
    let (ran, _) = run(&lab, &["--call-timeout", "1"]);
    assert_eq!(ran.code, 6, "{}", ran.err);
    everything_is_kept(&lab, &ran, &["fmi2EnterInitializationMode"], 0);
}

#[test]
fn a_stopped_process_is_a_hang() {
    let lab = trap(7, IN_A_STEP);
    let (ran, seconds) = run(&lab, &[]);
    assert_eq!(ran.code, 6, "{}", ran.err);
    assert!(seconds < Duration::from_secs(2), "{seconds:?}");
    everything_is_kept(&lab, &ran, &["`trap`: `fmi2DoStep`", "stopped by a signal"], 6);
}

/// The user used to have to kill it: the flag that Ctrl-C sets was looked at between steps only.
#[test]
fn signals_end_a_run_whose_fmu_hangs() {
    for (signal, code) in [("INT", 130), ("TERM", 143), ("HUP", 129)] {
        let lab = trap(9, IN_A_STEP);
        let run = lab
            .command(&["run", "system.toml", "--output-dir", "out"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let begun = Instant::now();
        while !lab.dir.join("out/results.csv").exists() && begun.elapsed() < Duration::from_secs(10) {
            std::thread::sleep(Duration::from_millis(10));
        }
        std::thread::sleep(Duration::from_millis(300));
        let asked = Instant::now();
        Command::new("kill").args([format!("-{signal}"), run.id().to_string()]).status().unwrap();
        let ran = Ran::new(run.wait_with_output().unwrap());
        assert_eq!(ran.code, code, "{}", ran.err);
        assert!(asked.elapsed() < Duration::from_millis(1500), "{:?}", asked.elapsed());
        assert_eq!(lab.results().column("time").len(), 6, "{}", ran.err);
    }
}

/// A child that an FMU leaves in a session of its own used to stay for ever.
#[test]
fn processes_that_an_fmu_starts_end_with_the_run() {
    for (fault, code) in [(15, 0), (16, 5)] {
        let lab = trap(fault, IN_A_STEP);
        let marked = format!("POWERBOND_TEST_MARK={}", lab.dir.display());
        let mut command = lab.command(&["run", "system.toml", "--output-dir", "out"]);
        let ran = Ran::new(command.env("POWERBOND_TEST_MARK", &lab.dir).output().unwrap());
        assert_eq!(ran.code, code, "{}", ran.err);
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        let left = processes.filter(|p| {
            let environment = std::fs::read(p.path().join("environ")).unwrap_or_default();
            environment.split(|b| *b == 0).any(|entry| entry == marked.as_bytes())
        });
        assert_eq!(left.count(), 0, "fault {fault}");
    }
}

/// The supervisor still has its descriptors and its limits: it writes what the worker cannot.
#[test]
fn an_fmu_that_makes_files_unwritable_loses_no_row() {
    for fault in [12, 13] {
        let lab = trap(fault, IN_A_STEP);
        let (ran, _) = run(&lab, &[]);
        assert_eq!(ran.code, 5, "fault {fault}: {}", ran.err);
        // In a build with debug assertions the standard library aborts over a descriptor that was closed elsewhere.
        let aborts = fault == 12 && cfg!(debug_assertions);
        let how = if aborts { "SIGABRT" } else { "closed or limited the files of its process" };
        assert!(ran.err.contains(how), "{}", ran.err);
        assert!(lab.results().column("time").len() >= 6, "{}", ran.err);
        assert_eq!(lab.summary()["outcome"], "failed");
    }
}

#[test]
fn a_worker_dies_with_its_supervisor() {
    let lab = trap(9, IN_A_STEP);
    let mut command = lab.command(&["run", "system.toml", "--output-dir", "out"]);
    let mut run = command.env("POWERBOND_TEST_MARK", &lab.dir).stderr(Stdio::null()).spawn().unwrap();
    let marked = format!("POWERBOND_TEST_MARK={}", lab.dir.display());
    let living = || {
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        let ours = processes.filter(|p| {
            let environment = std::fs::read(p.path().join("environ")).unwrap_or_default();
            environment.split(|b| *b == 0).any(|entry| entry == marked.as_bytes())
        });
        ours.count()
    };
    let begun = Instant::now();
    while living() < 2 && begun.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(10));
    }
    run.kill().unwrap();
    run.wait().unwrap();
    let killed = Instant::now();
    while living() > 0 && killed.elapsed() < Duration::from_secs(2) {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(living(), 0);
}

/// The files are those of a run without a worker, bit for bit.
#[test]
fn a_worker_changes_no_bit() {
    let lab = trap(0, 0);
    let (ran, _) = run(&lab, &[]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let read = |file: &str| std::fs::read(lab.dir.join("out").join(file)).unwrap();
    let supervised = ["results.csv", "energy.csv"].map(read);
    let (alone, _) = run(&lab, &["--in-process"]);
    assert_eq!((alone.code, ["results.csv", "energy.csv"].map(read)), (0, supervised), "{}", alone.err);
}

#[test]
fn deadlines_need_a_worker_and_a_positive_number() {
    let lab = trap(0, 0);
    let (ran, _) = run(&lab, &["--in-process", "--timeout", "1"]);
    assert_eq!(ran.code, 3, "{}", ran.err);
    assert!(ran.err.contains("`--timeout` needs a worker process"), "{}", ran.err);
    let (ran, _) = run(&lab, &["--call-timeout", "-1"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
}
