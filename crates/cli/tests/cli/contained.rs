//! Whatever an FMU does to its process: the run says who did it, keeps every row, and leaves nothing behind.

#![cfg(target_os = "linux")]

use crate::lab::{Lab, Ran};
use crate::trap::{
    AFTER_EVERY_STEP, AT_THE_END, IN_A_SHORT_STEP, IN_A_STEP, IN_GET, IN_INITIALIZATION, IN_SET, MARK,
    SYSTEM, WHEN_FREED, everything_is_kept, living, run, trap_in,
};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn trap(fault: u8, place: u8) -> Lab {
    trap_in(SYSTEM, fault, place)
}

#[test]
fn crashes_in_a_step_are_named_and_rows_are_kept() {
    for (fault, how) in [
        (1, "SIGSEGV"),
        (2, "SIGABRT"),
        // In the guard page of a thread it is seen by the runtime, which aborts.
        (3, "stack overflow"),
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

/// What was written after the cut filled the gap with zeros, and the run was called complete.
#[test]
fn results_that_an_fmu_cuts_are_not_called_complete() {
    let lab = trap(40, IN_A_STEP);
    let (ran, _) = run(&lab, &[]);
    assert_eq!(ran.code, 5, "{}", ran.err);
    assert!(ran.err.contains("closed, limited or damaged files of its process"), "{}", ran.err);
    assert_eq!(lab.summary()["outcome"], "failed");
}

/// The run in halves crashed or hung: the summary said `trustworthy` without a word of it, and the message that rows ended there.
#[test]
fn a_crash_in_the_run_that_verifies_leaves_the_run_complete_and_unverified() {
    for (fault, options, code) in
        [(1, &["--verify"][..], 5), (9, &["--verify=quarters", "--call-timeout", "0.5"], 6)]
    {
        let lab = trap(fault, IN_A_SHORT_STEP);
        let (ran, _) = run(&lab, options);
        assert_eq!(ran.code, code, "{}", ran.err);
        assert!(ran.err.contains("`trap`: `fmi2DoStep` at t = 0.5 s"), "{}", ran.err);
        assert!(ran.err.contains("its own results are complete"), "{}", ran.err);
        let summary = lab.summary();
        assert_eq!(summary["outcome"], "finished");
        assert_ne!(summary["verdict"]["word"], "trustworthy");
        let why = summary["verification"]["failure"].as_str().unwrap();
        assert!(why.contains("smaller steps did not come to its end: ") && why.contains("`trap`"), "{why}");
        assert!(summary["verdict"]["reasons"][0]["text"].as_str().unwrap().contains(why), "{summary}");
        assert_eq!(summary["verdict"]["reasons"][0]["code"], "not_verified");
        assert_eq!(lab.results().column("time").len(), 11);
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
        let mut command = lab.command(&["run", "system.toml", "--output-dir", "out"]);
        let ran = Ran::new(command.env(MARK, &lab.dir).output().unwrap());
        assert_eq!(ran.code, code, "{}", ran.err);
        assert_eq!(living(&lab), 0, "fault {fault}");
    }
}

/// The time of calls around a step was not told, and what left `fmi2Instantiate` as an exception was blamed on nobody.
#[test]
fn calls_around_a_step_are_named_with_its_time() {
    for (place, call, rows) in [(IN_SET, "fmi2SetReal", 6), (IN_GET, "fmi2GetReal", 5)] {
        let lab = trap(1, place);
        let (ran, _) = run(&lab, &[]);
        assert_eq!(ran.code, 5, "{}", ran.err);
        let time = if rows == 6 { "0.5" } else { "0.4" };
        let told = format!("`trap`: `{call}` of the step at t = {time} s crashed with SIGSEGV");
        everything_is_kept(&lab, &ran, &[told.as_str()], rows);
        assert_eq!(lab.summary()["failure"]["time"].to_string(), time);
    }
    let lab = trap(0, 0);
    let mut command = lab.command(&["run", "system.toml"]);
    let ran = Ran::new(command.env("TRAP_INSTANTIATE", "throw").output().unwrap());
    assert_eq!(ran.code, 5, "{}", ran.err);
    assert!(ran.err.contains("`trap`: `fmi2Instantiate` crashed with SIGABRT"), "{}", ran.err);
}

/// The supervisor still has its descriptors and its limits: it writes what the worker cannot.
#[test]
fn an_fmu_that_makes_files_unwritable_loses_no_row() {
    for fault in [12, 13, 32] {
        let lab = trap(fault, IN_A_STEP);
        let (ran, _) = run(&lab, &[]);
        assert_eq!(ran.code, 5, "fault {fault}: {}", ran.err);
        assert!(ran.err.contains("`trap`: `fmi2DoStep` at t = 0.5 s"), "{}", ran.err);
        assert_eq!(lab.summary()["failure"]["subsystem"], "trap");
        // In a build with debug assertions the standard library aborts over a descriptor that was closed elsewhere.
        let aborts = fault == 12 && cfg!(debug_assertions);
        let how = if aborts { "SIGABRT" } else { "closed, limited or damaged files of its process" };
        assert!(ran.err.contains(how), "{}", ran.err);
        assert!(lab.results().column("time").len() >= 6, "{}", ran.err);
        assert_eq!(lab.summary()["outcome"], "failed");
    }
}

#[test]
fn a_worker_dies_with_its_supervisor() {
    let lab = trap(9, IN_A_STEP);
    let mut command = lab.command(&["run", "system.toml", "--output-dir", "out"]);
    let mut run = command.env(MARK, &lab.dir).stderr(Stdio::null()).spawn().unwrap();
    let begun = Instant::now();
    while living(&lab) < 2 && begun.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(10));
    }
    run.kill().unwrap();
    run.wait().unwrap();
    let killed = Instant::now();
    while living(&lab) > 0 && killed.elapsed() < Duration::from_secs(2) {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(living(&lab), 0);
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

/// A process that takes all memory used to take the machine along.
#[test]
fn memory_has_a_limit() {
    let lab = trap(17, IN_A_STEP);
    let (ran, seconds) = run(&lab, &["--memory-limit", "200MB"]);
    assert_eq!(ran.code, 5, "{}", ran.err);
    assert!(seconds < Duration::from_secs(20), "{seconds:?}");
    everything_is_kept(&lab, &ran, &["`trap`: `fmi2DoStep` at t = 0.5 s", "the 200 MB of --memory-limit"], 6);
    let (ran, _) = run(&lab, &["--memory-limit", "200"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.err.contains("such as 512MB"), "{}", ran.err);
    let (ran, _) = run(&trap(0, 0), &["--memory-limit", "1GiB"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
}

/// One FMU used to change the numbers of the others, in 63 of 64 steps without a word.
#[test]
fn what_an_fmu_changes_for_everybody_changes_no_number_of_its_neighbours() {
    let results = |lab: &Lab| std::fs::read(lab.dir.join("out/results.csv")).unwrap();
    let healthy = trap(0, 0);
    assert_eq!(run(&healthy, &[]).0.code, 0);
    for (fault, what) in [
        (18, "changes the rounding mode, flushes denormals or traps exceptions; restored after every call"),
        (19, "changes the rounding mode, flushes denormals or traps exceptions; restored after every call"),
        (20, "changes the working directory of the process; restored"),
        (21, "changes the locale of the process, and with it how others write numbers; restored"),
        (22, "changes what signals do to the process; restored"),
        (23, "handles faults such as SIGSEGV by itself, which is left alone"),
        (24, "blocks signals; restored"),
        (36, "changes the permissions of new files (umask); restored"),
    ] {
        let lab = trap(fault, AFTER_EVERY_STEP);
        let (ran, _) = run(&lab, &[]);
        assert_eq!(ran.code, 0, "fault {fault}: {}", ran.err);
        let warnings = lab.summary()["warnings"].to_string();
        assert_eq!(warnings.matches(&format!("`trap` {what}")).count(), 1, "fault {fault}: {warnings}");
        assert!(ran.err.contains(&format!("warning: `trap` {what}")), "{}", ran.err);
        assert!(results(&lab) == results(&healthy), "fault {fault}");
        // Later than the steps that are watched one by one, and with many of them.
        let (ran, _) = run(&lab, &["-s", "0.001"]);
        assert_eq!(ran.code, 0, "fault {fault}: {}", ran.err);
        let warnings = lab.summary()["warnings"].to_string();
        assert!(warnings.contains(what), "fault {fault}: {warnings}");
        healthy.runs(&["-s", "0.001"]);
        assert!(results(&lab) == results(&healthy), "fault {fault}, small steps");
        healthy.runs(&[]);
    }
}

/// What an FMU said before it crashed used to be lost.
#[test]
fn last_words_are_kept() {
    let lab = trap(25, IN_A_STEP);
    let (ran, _) = run(&lab, &[]);
    assert_eq!(ran.code, 5, "{}", ran.err);
    everything_is_kept(&lab, &ran, &["`trap`: `fmi2DoStep`", "its last messages: one | two | three"], 6);
    let log = std::fs::read_to_string(lab.dir.join("out/log.txt")).unwrap();
    assert!(log.ends_with("one\ntrap [Warning, trap]: two\ntrap [Warning, trap]: three\n"), "{log}");
    assert_eq!(lab.summary()["files"]["log"], "log.txt");
}

/// A line that is not ours used to stand among the rows, and the run was said to be a success.
#[test]
fn an_fmu_that_writes_into_results_loses_no_row() {
    let lab = trap(37, IN_A_STEP);
    let (ran, _) = run(&lab, &[]);
    assert_eq!(ran.code, 5, "{}", ran.err);
    let healthy = trap(0, 0);
    assert_eq!(run(&healthy, &[]).0.code, 0);
    let [rows, whole] =
        [&lab, &healthy].map(|lab| std::fs::read_to_string(lab.dir.join("out/results.csv")).unwrap());
    assert!(whole.starts_with(&rows), "{rows}");
    assert!(rows.lines().count() >= 7, "{rows}");
}

/// What it printed was lost with it, and orders for the terminal were kept in the log as they came.
#[test]
fn last_printed_words_are_kept() {
    let lab = trap(35, IN_A_STEP);
    let (ran, _) = run(&lab, &[]);
    let words = "its last messages: printed: no licence \\u{1b}[2J";
    everything_is_kept(&lab, &ran, &["`trap`: `fmi2DoStep`", words], 6);
    let log = std::fs::read_to_string(lab.dir.join("out/log.txt")).unwrap();
    assert_eq!(log, "printed: no licence \\u{1b}[2J\n");
}

#[test]
fn sizes_of_binaries_are_claims() {
    let system = r#"[simulation]
stop = 1.0
step = 0.1
[subsystems.liar]
fmu = "liar"
[subsystems.zlistener]
fmu = "listener"
[[connections]]
from = "liar.bytes_out"
to = "zlistener.bytes_in"
"#;
    let lab = Lab::with(system);
    lab.place("words3", "liar");
    lab.place("words3", "listener");
    let xml = std::fs::read_to_string(lab.dir.join("liar/modelDescription.xml")).unwrap();
    let check = |claim: &str, max_size: bool, code: i32, words: &[&str]| {
        let new = if max_size { xml.clone() } else { xml.replace(" maxSize=\"64\"", "") };
        lab.write("liar/modelDescription.xml", new);
        let mut command = lab.command(&["run", "system.toml", "--output-dir", "out", "--overwrite"]);
        let ran = Ran::new(command.env("WORDS_CLAIM", claim).output().unwrap());
        assert_eq!(ran.code, code, "{claim}: {}", ran.err);
        assert!(words.iter().all(|word| ran.err.contains(word)), "{claim}: {}", ran.err);
    };
    check(
        "1099511627776",
        false,
        4,
        &["liar", "a size of 1099511627776 bytes, above the limit of 1073741824"],
    );
    check("65", true, 4, &["liar", "a size of 65 bytes, above its maxSize of 64 bytes"]);
    check("1000000000", false, 5, &["`liar`: `fmi3GetString or fmi3GetBinary`", "SIGSEGV"]);
}

/// Endless files used to fill the memory, and `--input /dev/zero` was accepted; a pipe was waited for.
#[test]
fn endless_and_special_files_are_refused() {
    let lab = trap(0, 0);
    lab.write("big.csv", "time,before.u\n");
    std::fs::File::options().write(true).open(lab.dir.join("big.csv")).unwrap().set_len(1 << 42).unwrap();
    assert!(Command::new("mkfifo").arg(lab.dir.join("pipe.fmu")).status().unwrap().success());
    let check = |arguments: &[&str], wanted: &str| {
        let begun = Instant::now();
        let ran = lab.powerbond(arguments);
        assert_eq!(ran.code, 3, "{arguments:?}: {}", ran.err);
        assert!(ran.err.contains(wanted), "{arguments:?}: {}", ran.err);
        assert!(begun.elapsed() < Duration::from_secs(5), "{arguments:?}: {:?}", begun.elapsed());
    };
    check(&["run", "system.toml", "--input", "/dev/zero"], "/dev/zero is not a text file");
    check(&["run", "system.toml", "--input", "big.csv"], "big.csv is larger than 4000 MB");
    check(&["run", "system.toml", "--params", "/dev/zero"], "/dev/zero");
    check(&["run", "system.toml", "--scenario", "/dev/zero"], "/dev/zero");
    check(&["run", "/dev/zero"], "/dev/zero is not a text file");
    check(&["compare", "/dev/zero", "/dev/zero"], "/dev/zero is not a text file");
    // Row by row: what is no text is found before its size matters.
    check(&["compare", "big.csv", "big.csv"], "big.csv is not a text file");
    check(&["inspect", "pipe.fmu"], "a device or a pipe");
    check(&["inspect", "/dev/zero"], "a device or a pipe");
}

/// They used to die with the FMU, without a word.
#[test]
fn other_commands_survive_a_crash_and_name_it() {
    let lab = trap(1, IN_A_STEP);
    let check = |arguments: &[&str], variable: &str, words: &[&str]| {
        let ran = Ran::new(lab.command(arguments).env(variable, "1").output().unwrap());
        assert_eq!(ran.code, 5, "{arguments:?}: {}", ran.err);
        assert!(words.iter().all(|word| ran.err.contains(word)), "{arguments:?}: {}", ran.err);
    };
    check(&["check", "system.toml"], "TRAP_INSTANTIATE", &["`trap`: `fmi2Instantiate`", "SIGSEGV"]);
    check(&["inspect", "trap", "--load"], "TRAP_LOAD", &["`trap`: `dlopen`", "SIGSEGV"]);
    check(&["inspect", "trap", "--load"], "TRAP_UNLOAD", &["`trap2.so`: `dlclose`", "SIGSEGV"]);
    check(&["inspect", "trap", "--probe"], "TRAP_INSTANTIATE", &["`fmi2Instantiate`", "SIGSEGV"]);
    check(&["tune", "system.toml", "--budget", "5"], "NOTHING", &["`trap`: `fmi2DoStep`", "SIGSEGV"]);
    check(&["stability", "system.toml"], "NOTHING", &["`trap`: `fmi2DoStep`", "SIGSEGV"]);
    let healthy = trap(0, 0);
    let ran = healthy.powerbond(&["check", "system.toml", "--json"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let alone = healthy.powerbond(&["check", "system.toml", "--json", "--in-process"]);
    assert_eq!((ran.json(), ran.err), (alone.json(), alone.err));
}

/// A worker that is killed at any time: what it has written and what it had not are in the files, bit for bit a beginning of the whole.
#[test]
fn a_worker_may_be_killed_at_any_time() {
    let lab = trap(0, 0);
    let mark = lab.dir.display().to_string();
    lab.runs(&["-s", "1e-5"]);
    let whole = std::fs::read(lab.dir.join("out/results.csv")).unwrap();
    // Other times in every run of the test; the seed is told if it fails.
    let seed = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().subsec_nanos();
    let (mut kills, mut dice) = (0, u64::from(seed));
    for n in 0..12 {
        let mut command =
            lab.command(&["run", "system.toml", "-s", "1e-5", "--output-dir", "out", "--overwrite"]);
        let run = command.env(MARK, &mark).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        std::thread::sleep(Duration::from_millis(20 + 25 * n + (dice >> 33) % 25));
        let children = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", run.id()));
        let children = children.unwrap_or_default();
        for child in children.split_whitespace() {
            let _ = Command::new("kill").args(["-9", child]).stderr(Stdio::null()).status();
        }
        let ran = Ran::new(run.wait_with_output().unwrap());
        assert!(ran.code == 0 || ran.code == 5, "{}", ran.err);
        if ran.code == 5 && lab.dir.join("out/results.csv").exists() && ran.err.contains("until then") {
            kills += 1;
            let part = std::fs::read(lab.dir.join("out/results.csv")).unwrap();
            assert!(whole.starts_with(&part), "seed {seed}: {} of {} bytes", part.len(), whole.len());
            assert_eq!(lab.summary()["outcome"], "failed", "seed {seed}");
            let reached = lab.summary()["time"]["reached"].as_f64().unwrap();
            let last = lab.results().column("time").last().copied().unwrap_or(0.0);
            assert!((last - reached).abs() < 3e-5, "seed {seed}: {last} {reached}");
        }
    }
    assert!(kills > 0, "it was killed too early or too late");
}

#[test]
fn results_whose_folder_is_removed_are_an_output_error() {
    let lab = trap(26, IN_A_STEP);
    let mut command = lab.command(&["run", "system.toml", "--output-dir", "out"]);
    let ran = Ran::new(command.env("TRAP_REMOVE", lab.dir.join("out")).output().unwrap());
    assert_eq!(ran.code, 8, "{}", ran.err);
    assert!(ran.err.contains("summary.json") || ran.err.contains("out"), "{}", ran.err);
}

#[test]
fn a_sandbox_leaves_only_the_folders_of_the_run() {
    let lab = trap(27, IN_A_STEP);
    let outside = lab.dir.join("outside");
    let run = |options: &[&str]| {
        let arguments = [&["run", "system.toml", "--output-dir", "out", "--overwrite"], options].concat();
        let ran = Ran::new(lab.command(&arguments).env("TRAP_WRITE", &outside).output().unwrap());
        let log = std::fs::read_to_string(lab.dir.join("out/log.txt")).unwrap_or_default();
        (ran, log)
    };
    let (ran, log) = run(&[]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(outside.exists() && log.contains("file: yes") && log.contains("network: yes"), "{log}");
    std::fs::remove_file(&outside).unwrap();
    let (ran, log) = run(&["--sandbox"]);
    if ran.code == 3 && ran.err.contains("--sandbox is not possible here") {
        eprintln!("skipped: {}", ran.err);
        return;
    }
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(!outside.exists() && log.contains("file: no") && log.contains("network: no"), "{log}");
    assert_eq!(lab.results().column("time").len(), 11);
    // The default folder, an earlier run in it, and a table elsewhere.
    std::fs::create_dir(lab.dir.join("far")).unwrap();
    for _ in 0..2 {
        let options = ["run", "system.toml", "--sandbox", "--output", "far/x.csv", "--overwrite"];
        let ran = Ran::new(lab.command(&options).env("TRAP_WRITE", &outside).output().unwrap());
        assert_eq!(ran.code, 0, "{}", ran.err);
    }
    assert!(lab.dir.join("far/x.csv").exists() && !outside.exists());
    let (ran, _) = run(&["--sandbox", "--in-process"]);
    assert_eq!(ran.code, 3, "{}", ran.err);
}
