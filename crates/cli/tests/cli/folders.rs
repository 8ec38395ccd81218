//! Nothing of the user's is lost: run folders, files that are there already, links.

use crate::lab::{Csv, EXAMPLE, Lab, Ran, plain};
use serde_json::Value;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

const STEP: &[&str] = &["run", "system.toml", "-s", "1e-3"];

/// A run of 4 s that takes two, and one row per step.
const SLOW: &[&str] = &["run", "system.toml", "-s", "1e-2", "--real-time=2"];

/// Names in a folder, in order.
fn names(lab: &Lab, folder: &str) -> Vec<String> {
    let entries = std::fs::read_dir(lab.dir.join(folder)).unwrap();
    let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn started(lab: &Lab, folder: &str) -> String {
    let text = std::fs::read_to_string(lab.dir.join(folder).join("summary.json")).unwrap();
    let summary: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(summary["outcome"], "finished", "{folder}");
    summary["started"].as_str().unwrap().to_owned()
}

fn rows(lab: &Lab, folder: &str) -> usize {
    Csv::read(&lab.dir.join(folder).join("results.csv")).rows.len()
}

/// Starts a slow run, and waits until it has begun its tables in `folder`.
fn begun(lab: &Lab, options: &[&str], folder: &str) -> Child {
    let child = lab.command(&[SLOW, options].concat()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let child = child.expect("it starts");
    let since = Instant::now();
    while !lab.dir.join(folder).join("energy.csv").exists() {
        assert!(since.elapsed() < Duration::from_secs(60), "no tables in {folder}");
        std::thread::sleep(Duration::from_millis(5));
    }
    child
}

#[track_caller]
fn refused(ran: &Ran, parts: &[&str]) {
    assert_eq!(ran.code, 3, "{}", ran.err);
    assert!(ran.out.is_empty(), "{}", ran.out);
    for part in parts {
        assert!(ran.err.contains(part), "`{part}` in\n{}", ran.err);
    }
}

/// Four at once used to mix their rows in one folder, and to end with 0.
#[test]
fn four_runs_at_once_have_a_folder_each() {
    let lab = Lab::with(plain());
    let start = || {
        let command = &mut lab.command(SLOW);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let runs: Vec<Child> = (0..4).map(|_| start()).collect();
    let ran: Vec<Ran> = runs.into_iter().map(|run| Ran::new(run.wait_with_output().unwrap())).collect();
    let folders = ["quarter-car", "quarter-car-2", "quarter-car-3", "quarter-car-4"];
    assert_eq!(names(&lab, "results"), folders);
    // The last line but one: the last one leads to the report.
    let mut last: Vec<&str> = Vec::new();
    for run in &ran {
        assert_eq!(run.code, 0, "{}", run.err);
        last.push(run.out.lines().rev().nth(1).unwrap());
    }
    last.sort_unstable();
    let base = "results.csv, energy.csv and summary.json are in results/quarter-car";
    let beside = |n: u32| format!("{base}-{n}, as another run writes to results/quarter-car");
    assert_eq!(last, [base.to_owned(), beside(2), beside(3), beside(4)]);
    for folder in folders {
        let folder = format!("results/{folder}");
        assert_eq!(rows(&lab, &folder), 401, "{folder}");
        assert_eq!(names(&lab, &folder), ["energy.csv", "results.csv", "summary.json"]);
        started(&lab, &folder);
    }
}

#[test]
fn the_run_before_gets_the_time_of_its_start() {
    let lab = Lab::with(plain());
    assert_eq!(lab.powerbond(STEP).code, 0);
    let first = started(&lab, "results/quarter-car");
    lab.write("results/quarter-car/notes.md", "mine");
    let table = std::fs::read(lab.dir.join("results/quarter-car/results.csv")).unwrap();
    let ran = lab.powerbond(&[STEP, &["-e", "1"]].concat());
    assert_eq!(ran.code, 0, "{}", ran.err);
    let stamped = format!("results/quarter-car-{}", first.replace(':', "-"));
    let lines: Vec<&str> = ran.out.lines().rev().skip(1).take(2).collect();
    assert_eq!(lines[0], "results.csv, energy.csv and summary.json are in results/quarter-car");
    assert_eq!(lines[1], format!("the run before it is now in {stamped}"));
    assert_eq!(std::fs::read(lab.dir.join(&stamped).join("results.csv")).unwrap(), table);
    assert_eq!(names(&lab, &stamped), ["energy.csv", "notes.md", "results.csv", "summary.json"]);
    assert_eq!(names(&lab, "results/quarter-car"), ["energy.csv", "results.csv", "summary.json"]);
    assert_eq!(rows(&lab, "results/quarter-car"), 1001);
    // Both are still runs for the other commands.
    for folder in [&*stamped, "results/quarter-car"] {
        assert_eq!(lab.powerbond(&["report", folder]).code, 0);
    }
    // In place, if one wants it.
    assert_eq!(lab.powerbond(&[STEP, &["--overwrite", "-q"]].concat()).code, 0);
    assert_eq!(names(&lab, "results").len(), 2);
    assert_eq!(names(&lab, "results/quarter-car"), ["energy.csv", "results.csv", "summary.json"]);
}

#[test]
fn five_earlier_runs_are_kept_and_all_with_other_files() {
    let lab = Lab::with(plain());
    let run = || assert_eq!(lab.powerbond(&["run", "system.toml", "-s", "0.1", "-q"]).code, 0);
    run();
    lab.write("results/quarter-car/notes.md", "mine");
    let with_notes = format!("quarter-car-{}", started(&lab, "results/quarter-car").replace(':', "-"));
    (0..6).for_each(|_| run());
    assert_eq!(names(&lab, "results").len(), 1 + 6, "the newest, five before it, one with notes");
    (0..3).for_each(|_| run());
    let left = names(&lab, "results");
    assert_eq!(left.len(), 1 + 6, "{left:?}");
    assert_eq!(left.iter().filter(|name| **name == with_notes).count(), 1, "{left:?}");
    assert_eq!(
        std::fs::read_to_string(lab.dir.join("results").join(&with_notes).join("notes.md")).unwrap(),
        "mine"
    );
    assert!(lab.dir.join("results").join(&with_notes).join("results.csv").exists());
}

/// The lock of a killed run is gone with it.
#[test]
fn a_killed_run_blocks_no_other() {
    let lab = Lab::with(plain());
    let mut run = begun(&lab, &[], "results/quarter-car");
    run.kill().unwrap();
    run.wait().unwrap();
    assert!(lab.dir.join("results/quarter-car/.powerbond.lock").exists());
    let ran = lab.powerbond(STEP);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("are in results/quarter-car\n"), "{}", ran.out);
    let folders = names(&lab, "results");
    assert!(folders.len() == 2 && folders[1].starts_with("quarter-car-2"), "{folders:?}");
    assert!(names(&lab, &format!("results/{}", folders[1])).contains(&"results.csv".to_owned()));
    // The same with a folder of the user's choice.
    let mut run = begun(&lab, &["--output-dir", "out"], "out");
    run.kill().unwrap();
    run.wait().unwrap();
    refused(
        &lab.powerbond(&[STEP, &["--output-dir", "out"]].concat()),
        &["earlier results", "`--overwrite`"],
    );
    lab.runs(&["-s", "1e-3"]);
    assert_eq!(names(&lab, "out"), ["energy.csv", "results.csv", "summary.json"]);
}

#[test]
fn a_chosen_folder_with_results_is_refused_and_other_files_are_left_alone() {
    let lab = Lab::with(plain());
    std::fs::create_dir(lab.dir.join("out")).unwrap();
    for foreign in ["report.html", "log.txt", "notes.md"] {
        lab.write(&format!("out/{foreign}"), "mine");
    }
    let options = [STEP, &["--output-dir", "out"]].concat();
    let ran = lab.powerbond(&options);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let table = std::fs::read(lab.dir.join("out/results.csv")).unwrap();
    let again = lab.powerbond(&[&*options, &["-e", "1"]].concat());
    refused(
        &again,
        &[
            "--output-dir out: the folder holds earlier results (results.csv, energy.csv, summary.json)",
            "Choose another one, or replace them with `--overwrite`",
        ],
    );
    assert_eq!(std::fs::read(lab.dir.join("out/results.csv")).unwrap(), table);
    // A foreign page is not replaced by a report, and that is said before the run.
    std::fs::create_dir(lab.dir.join("new")).unwrap();
    lab.write("new/report.html", "mine");
    let run = lab.powerbond(&[STEP, &["--output-dir", "new", "--report"]].concat());
    refused(&run, &["new/report.html: this file was not made by powerbond"]);
    assert_eq!(names(&lab, "new"), ["report.html"]);
    let report = lab.powerbond(&["report", "out"]);
    refused(&report, &["out/report.html: this file was not made by powerbond", "`--overwrite`"]);
    lab.runs(&["-s", "0.1"]);
    for foreign in ["report.html", "log.txt", "notes.md"] {
        assert_eq!(std::fs::read_to_string(lab.dir.join("out").join(foreign)).unwrap(), "mine");
    }
    assert_eq!(lab.powerbond(&["report", "out", "--overwrite"]).code, 0);
    assert_eq!(lab.powerbond(&["report", "out"]).code, 0, "a report may be made again");
    lab.runs(&["-s", "0.1"]);
    assert!(
        !lab.dir.join("out/report.html").exists(),
        "the report of another run would be taken for this one's"
    );
}

#[test]
fn a_chosen_folder_in_use_is_refused() {
    let lab = Lab::with(plain());
    let run = begun(&lab, &["--output-dir", "out"], "out");
    for options in [&["--output-dir", "out"][..], &["--output-dir", "out", "--overwrite"]] {
        let ran = lab.powerbond(&[STEP, options].concat());
        refused(&ran, &["--output-dir out: another run writes to this folder now"]);
    }
    let ran = Ran::new(run.wait_with_output().unwrap());
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(rows(&lab, "out"), 401);
}

#[test]
fn machines_are_told_the_folder() {
    let lab = Lab::with(plain());
    let run = begun(&lab, &[], "results/quarter-car");
    let ran = lab.powerbond(&[STEP, &["--json"]].concat());
    let last: Value = serde_json::from_str(ran.out.lines().last().unwrap()).unwrap();
    assert_eq!((&last["folder"], &last["outcome"]), (&"results/quarter-car-2".into(), &"finished".into()));
    assert_eq!(Ran::new(run.wait_with_output().unwrap()).code, 0);
}

/// Used to leave a road of no rows behind.
#[test]
fn what_a_run_reads_is_never_its_output() {
    let lab = Lab::with(plain());
    let road = "time,wheel.road\n0,0\n0.5,0.1\n";
    lab.write("road.csv", road);
    lab.write("old.csv", "mine");
    let run = |options: &[&str]| lab.powerbond(&[STEP, &["-q"], options].concat());
    let same = &["road.csv: this run reads that file", "it would be lost"];
    for overwrite in [&[][..], &["--overwrite"]] {
        refused(&run(&[&["--input", "road.csv", "--output", "road.csv"], overwrite].concat()), same);
        let absolute = lab.dir.join("road.csv");
        refused(
            &run(&[&["--input", "road.csv", "--output", absolute.to_str().unwrap()], overwrite].concat()),
            same,
        );
    }
    #[cfg(unix)]
    {
        std::fs::hard_link(lab.dir.join("road.csv"), lab.dir.join("hard.csv")).unwrap();
        std::os::unix::fs::symlink("road.csv", lab.dir.join("soft.csv")).unwrap();
        for overwrite in [&[][..], &["--overwrite"]] {
            let with = |output| run(&[&["--input", "road.csv", "--output", output], overwrite].concat());
            refused(&with("hard.csv"), &["hard.csv: this run reads that file"]);
            refused(&with("soft.csv"), &["soft.csv: nothing is written through a symbolic link"]);
        }
    }
    refused(
        &run(&["--output", "old.csv"]),
        &["--output old.csv: this file is there already", "`--overwrite`"],
    );
    assert!(!lab.dir.join("results").exists(), "nothing was begun");
    assert_eq!(std::fs::read_to_string(lab.dir.join("road.csv")).unwrap(), road);
    assert_eq!(std::fs::read_to_string(lab.dir.join("old.csv")).unwrap(), "mine");
    assert_eq!(run(&["--input", "road.csv", "--output", "new.csv"]).code, 0);
    refused(&run(&["--output", "new.csv"]), &["--output new.csv: this file is there already"]);
    assert_eq!(run(&["--output", "new.csv", "--overwrite"]).code, 0);
    assert_eq!(Csv::read(&lab.dir.join("new.csv")).rows.len(), 4001);
    // A table of the run before may be read by the next one.
    let table = "results/quarter-car/results.csv";
    assert_eq!(run(&[]).code, 0);
    assert_eq!(run(&["--input", table, "--output-dir", "results/quarter-car", "--overwrite"]).code, 3);
    assert_eq!(rows(&lab, "results/quarter-car"), 4001);
}

#[test]
fn the_files_of_the_system_are_never_its_output() {
    let lab = Lab::with(plain());
    let table = "time,z\n0,0\n0.5,0.1\n";
    lab.write("road.csv", table);
    lab.write("system.csv", EXAMPLE);
    lab.write("scenario.csv", "events: []\n");
    let inputs = "\n[inputs.\"wheel.road\"]\ntable = \"road.csv\"\n";
    lab.write("fed.toml", plain().split("[inputs").next().unwrap().to_owned() + inputs);
    let check = |arguments: &[&str], output: &str| {
        let ran = lab.powerbond(&[&["run"], arguments, &["--output", output, "--overwrite"]].concat());
        refused(&ran, &["this run reads that file", output]);
    };
    check(&["system.csv"], "system.csv");
    check(&["system.toml", "--scenario", "scenario.csv"], "scenario.csv");
    check(&["fed.toml"], "road.csv");
    assert_eq!(std::fs::read_to_string(lab.dir.join("road.csv")).unwrap(), table);
}

#[cfg(unix)]
#[test]
fn nothing_is_written_through_links_in_a_folder() {
    let lab = Lab::with(plain());
    std::fs::create_dir(lab.dir.join("out")).unwrap();
    lab.write("far.csv", "mine");
    for name in ["results.csv", "energy.csv", "summary.json"] {
        std::os::unix::fs::symlink("../far.csv", lab.dir.join("out").join(name)).unwrap();
        refused(
            &lab.run(&["-s", "0.1"]),
            &[&format!("out/{name}: nothing is written through a symbolic link")],
        );
        std::fs::remove_file(lab.dir.join("out").join(name)).unwrap();
    }
    // A folder may be elsewhere.
    std::os::unix::fs::symlink("out", lab.dir.join("link")).unwrap();
    assert_eq!(lab.powerbond(&[STEP, &["--output-dir", "link", "-q"]].concat()).code, 0);
    std::os::unix::fs::symlink("../far.csv", lab.dir.join("out/report.html")).unwrap();
    refused(
        &lab.powerbond(&["report", "out", "--overwrite"]),
        &["out/report.html: nothing is written through"],
    );
    assert_eq!(rows(&lab, "out"), 4001);
    assert_eq!(std::fs::read_to_string(lab.dir.join("far.csv")).unwrap(), "mine");
}

/// `tuned.toml` is there to be edited.
#[test]
fn tune_replaces_nothing_either() {
    let lab = Lab::with(plain());
    let tune = |options: &[&str]| {
        lab.powerbond(
            &[&["tune", "system.toml", "-e", "0.2", "--budget", "2", "--error", "50%"], options].concat(),
        )
    };
    let first = tune(&[]);
    assert_eq!(first.code, 0, "{}", first.err);
    let said = "tuned.toml and tune.svg are in results/quarter-car-tune\n\
                run it with: powerbond run system.toml --method results/quarter-car-tune/tuned.toml\n";
    assert!(first.out.ends_with(said), "{}", first.out);
    lab.write("results/quarter-car-tune/tuned.toml", "mine");
    assert_eq!(tune(&[]).code, 0);
    let folders = names(&lab, "results");
    assert!(folders.len() == 2 && folders[1].starts_with("quarter-car-tune-2"), "{folders:?}");
    let edited = lab.dir.join("results").join(&folders[1]).join("tuned.toml");
    assert_eq!(std::fs::read_to_string(edited).unwrap(), "mine");
    refused(
        &tune(&["--output-dir", "results/quarter-car-tune"]),
        &["holds earlier results (tuned.toml, tune.svg)", "`--overwrite`"],
    );
    assert_eq!(tune(&["--output-dir", "results/quarter-car-tune", "--overwrite"]).code, 0);
}
