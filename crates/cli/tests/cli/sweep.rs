//! Sweeps: plans and their mistakes, datasets that survive crashes of runs and of the sweep, shards, the same bits from any number of workers.

use crate::lab::{EXAMPLE, Lab, Ran, plain, root};
use crate::trap;
use powerbond::sweep::schema::{MESSAGE, OK, Row, SECONDS, STARTED, STATUS, number_of, text_of};
use powerbond::sweep::{Record, scan};
use std::path::Path;
use std::time::{Duration, Instant};

/// Twelve runs of the quarter car.
const PLAN: &str = r#"system = "system.toml"
[run]
stop = 0.5
[parameters]
chassis.mass = [350, 400, 450]
"wheel.damping" = { from = 500, to = 2000, count = 4, scale = "log" }
[outputs]
peak = "max(abs(chassis.velocity))"
travel = "rms(chassis.position - wheel.position)"
"#;

fn lab(plan: &str) -> Lab {
    let lab = Lab::with(plain());
    lab.write("plan.toml", plan);
    lab
}

/// `sweep plan.toml --output-dir <folder>` and more.
fn sweep(lab: &Lab, folder: &str, options: &[&str]) -> Ran {
    lab.powerbond(&[&["sweep", "plan.toml", "--output-dir", folder], options].concat())
}

#[track_caller]
fn sweeps(lab: &Lab, folder: &str, options: &[&str]) -> String {
    let ran = sweep(lab, folder, options);
    assert_eq!(ran.code, 0, "{}", ran.err);
    ran.out
}

/// The rows of a dataset in the order of runs.
fn rows(folder: &Path) -> (Record, Vec<Row>) {
    let record = Record::read(folder).unwrap();
    let mut rows = Vec::new();
    scan(folder, &record.columns, &mut |row| rows.push(row)).unwrap();
    rows.sort_by_key(number_of);
    (record, rows)
}

/// A dataset but for when runs began and how long they took.
fn facts(lab: &Lab, folder: &str) -> Vec<Row> {
    let (_, mut rows) = rows(&lab.dir.join(folder));
    rows.iter_mut().for_each(|row| {
        row.remove(STARTED);
        row.remove(SECONDS);
    });
    rows
}

fn column(record: &Record, rows: &[Row], name: &str) -> Vec<f64> {
    let place = record.columns.iter().position(|c| c.name == name).unwrap();
    rows.iter().map(|row| row[place].number().unwrap()).collect()
}

#[test]
fn a_sweep_has_the_numbers_of_single_runs() {
    let lab = lab(PLAN);
    let said = sweeps(&lab, "grid", &[]);
    assert!(said.contains("runs      12 of 12: 12 ok") && said.contains("travel"), "{said}");
    let (record, rows) = rows(&lab.dir.join("grid"));
    let damping = column(&record, &rows, "wheel.damping");
    // Equal ratios: 500 · 4^(k/3).
    for (k, value) in damping.iter().take(4).enumerate() {
        assert!((value / (500.0 * 4f64.powf(k as f64 / 3.0)) - 1.0).abs() < 1e-12, "{value}");
    }
    // Run 6: mass 400, the second damping; its own results say the same.
    let set = format!("wheel.damping={:?}", damping[5]);
    lab.runs(&["-e", "0.5", "--set", "chassis.mass=400", "--set", &set]);
    let velocity = lab.results().column("chassis.velocity");
    let peak = velocity.iter().map(|v| v.abs()).fold(0.0, f64::max);
    assert_eq!(column(&record, &rows, "peak")[5].to_bits(), peak.to_bits());
}

#[test]
fn workers_shards_and_merges_change_no_bit() {
    let lab = lab(PLAN);
    sweeps(&lab, "one", &["--workers", "1"]);
    let one = facts(&lab, "one");
    assert_eq!(one.len(), 12);
    sweeps(&lab, "three", &["--workers", "3"]);
    assert_eq!(facts(&lab, "three"), one);
    for shard in ["1/2", "2/2"] {
        let said = sweeps(&lab, "shared", &["--shard", shard]);
        assert!(said.contains("6 runs") && said.contains("sweep merge"), "{said}");
        sweeps(&lab, &format!("apart-{}", &shard[..1]), &["--shard", shard]);
    }
    let merged = lab.powerbond(&["sweep", "merge", "shared"]);
    assert_eq!(merged.code, 0, "{}", merged.err);
    assert_eq!(facts(&lab, "shared"), one);
    let merged = lab.powerbond(&["sweep", "merge", "apart-1", "apart-2", "--output-dir", "together"]);
    assert_eq!(merged.code, 0, "{}", merged.err);
    assert_eq!(facts(&lab, "together"), one);
    let parts = |folder: &str| std::fs::read_dir(lab.dir.join(folder).join("runs")).unwrap().count();
    assert_eq!([parts("one"), parts("shared"), parts("together")], [1, 1, 1]);
    lab.write("plan.toml", PLAN.replace("350", "360"));
    sweeps(&lab, "other", &[]);
    lab.write("system.toml", plain().replace("mass = 40.0", "mass = 41.0"));
    sweeps(&lab, "heavier", &[]);
    let refused = lab.powerbond(&["sweep", "merge", "one", "heavier", "--output-dir", "mixed"]);
    assert_eq!(refused.code, 3);
    assert!(refused.err.contains("different plans or systems"), "{}", refused.err);
}

/// Killed many times, at any time; what ended is kept, and the rest is done in the end.
#[test]
#[cfg(target_os = "linux")]
fn a_killed_sweep_is_continued_to_equal_data() {
    let design = "[design]\nkind = \"monte-carlo\"\nruns = 60\n";
    let plan =
        PLAN.replace("[350, 400, 450]", "{ distribution = \"normal\", mean = 400, std = 20 }") + design;
    let lab = lab(&plan.replace("stop = 0.5", "stop = 2.0"));
    sweeps(&lab, "whole", &[]);
    let whole = facts(&lab, "whole");
    assert_eq!(whole.len(), 60);
    let journal = lab.dir.join("killed/runs/.journal-all");
    let runs = lab.dir.join("killed/runs");
    let is_written = || {
        let files = std::fs::read_dir(&runs).into_iter().flatten().flatten();
        files.filter(|file| file.metadata().is_ok_and(|m| m.len() > 0)).count() > 0
    };
    for (round, wait) in [20, 0, 150, 60, 250, 30].into_iter().enumerate() {
        let arguments =
            ["sweep", "plan.toml", "--output-dir", "killed", "--resume", "--quiet", "--workers", "2"];
        let mut command = lab.command(&arguments);
        let mut running = command.env(trap::MARK, &lab.dir).spawn().unwrap();
        let begun = Instant::now();
        // The first time, a run has ended; later it may be killed before anything else has.
        while round == 0 && !is_written() {
            assert!(begun.elapsed() < Duration::from_secs(60), "no run has ended");
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_millis(wait));
        running.kill().unwrap();
        running.wait().unwrap();
        let begun = Instant::now();
        while trap::living(&lab) > 0 {
            assert!(begun.elapsed() < Duration::from_secs(5), "workers outlive the sweep");
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(is_written(), "what has ended is kept");
    }
    // The journal ends in half a line: a power cut, or a full disk.
    let mut text = std::fs::read(&journal).unwrap_or_default();
    text.extend(b"[{\"i\":3},{\"t\":\"beef");
    std::fs::write(&journal, text).unwrap();
    sweeps(&lab, "killed", &["--resume"]);
    assert_eq!(facts(&lab, "killed"), whole);
    let again = sweeps(&lab, "killed", &["--resume"]);
    assert!(again.contains("plan: 0 runs") && again.contains("60 were there"), "{again}");
    let refused = sweep(&lab, "killed", &[]);
    assert_eq!(refused.code, 3);
    assert!(refused.err.contains("--resume"), "{}", refused.err);
}

#[test]
#[cfg(target_os = "linux")]
fn a_crash_and_a_hang_among_healthy_runs_are_rows() {
    let lab = trap::trap_in(trap::SYSTEM, 0, trap::IN_A_STEP);
    // No fault, a bad pointer, an endless loop, `_exit(0)`, no fault again.
    lab.write(
        "plan.toml",
        "system = \"system.toml\"\n[run]\ntimeout = 1.5\n[design]\nkind = \"list\"\n[parameters]\ntrap.fault = [0, 1, 8, 5, 0]\n\
         trap.place = [2, 2, 2, 2, 1]\n[outputs]\nend = \"final(zafter.x)\"\n",
    );
    let mut command = lab.command(&["sweep", "plan.toml", "--output-dir", "out", "--workers", "2"]);
    let ran =
        Ran::new(command.env("TMPDIR", lab.dir.join("tmp")).env(trap::MARK, &lab.dir).output().unwrap());
    assert_eq!(ran.code, 10, "{}", ran.err);
    assert_eq!(trap::living(&lab), 0);
    let (record, rows) = rows(&lab.dir.join("out"));
    let status: Vec<&str> = rows.iter().map(|row| text_of(row, STATUS)).collect();
    assert_eq!(status, [OK, "crashed", "timeout", "crashed", OK]);
    for (row, said) in [(1, "SIGSEGV"), (2, "1.5 s"), (3, "`trap`")] {
        assert!(text_of(&rows[row], MESSAGE).contains(said), "{}", text_of(&rows[row], MESSAGE));
        assert!(ran.out.contains(&format!("run {} ", row + 1)), "{}", ran.out);
    }
    let end = record.columns.iter().position(|c| c.name == "end").unwrap();
    assert_eq!(rows[0][end].number(), rows[4][end].number());
    assert!(rows[0][end].number().is_some() && rows[2][end].number().is_none());
    // Only what failed is repeated.
    let before: Vec<Row> = [0, 4].map(|k| rows[k].clone()).into();
    let again = sweep(&lab, "out", &["--resume", "--json"]);
    assert_eq!((again.code, again.json()["new"].as_u64()), (10, Some(3)));
    let (_, rows) = self::rows(&lab.dir.join("out"));
    assert_eq!([0, 4].map(|k| rows[k].clone()).to_vec(), before);
    assert_eq!(rows.len(), 5);
}

/// A run that took too long although none of its calls did was taken for one that somebody had stopped: it had no row, and its worker did
/// nothing any more.
#[test]
#[cfg(target_os = "linux")]
fn runs_that_take_too_long_in_many_short_steps_are_rows() {
    let lab = lab(
        "system = \"system.toml\"\n[run]\nstop = 1e7\ntimeout = 1.0\n[parameters]\nchassis.mass = [300, 310]\n\
         [outputs]\nend = \"final(chassis.position)\"\n",
    );
    let ran = sweep(&lab, "out", &["--workers", "2"]);
    assert_eq!(ran.code, 10, "{}", ran.err);
    let (_, rows) = rows(&lab.dir.join("out"));
    let status: Vec<&str> = rows.iter().map(|row| text_of(row, STATUS)).collect();
    assert_eq!(status, ["timeout"; 2]);
    assert!(text_of(&rows[0], MESSAGE).contains("than the 1 s"), "{}", text_of(&rows[0], MESSAGE));
    // To look at one of them does not take longer, either.
    let begun = Instant::now();
    let detail = lab.powerbond(&["sweep", "report", "out", "--run", "2"]);
    assert!(detail.err.contains("run 2 failed again"), "{}", detail.err);
    assert!(begun.elapsed() < Duration::from_secs(60));
}

#[test]
#[cfg(target_os = "linux")]
fn a_process_that_is_killed_from_outside_loses_no_run() {
    let lab = lab(&PLAN.replace("stop = 0.5", "stop = 20.0").replace("count = 4", "count = 8"));
    let arguments = ["sweep", "plan.toml", "--output-dir", "out", "--workers", "1", "--quiet"];
    let mut running = lab.command(&arguments).spawn().unwrap();
    let journal = lab.dir.join("out/runs/.journal-all");
    let begun = Instant::now();
    // After some runs, so that the process has done others before: then a run that dies with it is done again.
    while !std::fs::metadata(&journal).is_ok_and(|m| m.len() > 2000) {
        assert!(begun.elapsed() < Duration::from_secs(60), "no run has ended");
        assert!(running.try_wait().unwrap().is_none(), "it ended before a process was killed");
        std::thread::sleep(Duration::from_millis(1));
    }
    let threads = std::fs::read_dir(format!("/proc/{}/task", running.id())).unwrap();
    let children = |thread: std::path::PathBuf| std::fs::read_to_string(thread.join("children"));
    let workers: String = threads.flatten().filter_map(|thread| children(thread.path()).ok()).collect();
    let worker = workers.trim();
    assert!(
        std::process::Command::new("kill").args(["-KILL", worker]).status().unwrap().success(),
        "{workers}"
    );
    assert_eq!(running.wait().unwrap().code(), Some(0));
    let (_, rows) = rows(&lab.dir.join("out"));
    assert_eq!(rows.len(), 24);
    assert!(rows.iter().all(|row| text_of(row, STATUS) == OK));
}

/// What an FMU leaks in a thousand runs, no machine has: 12 runs that leak 100 MB each had one process.
#[test]
#[cfg(target_os = "linux")]
fn a_process_that_gains_memory_is_replaced() {
    let lab = trap::trap_in(trap::SYSTEM, 39, trap::IN_A_STEP);
    lab.write(
        "plan.toml",
        "system = \"system.toml\"\n[parameters]\nzafter.x0 = { from = 0, to = 1, count = 12 }\n[outputs]\nend = \"final(zafter.x)\"\n",
    );
    let mut command =
        lab.command(&["sweep", "plan.toml", "--output-dir", "out", "--workers", "1", "--quiet"]);
    let mut running = command.env("TMPDIR", lab.dir.join("tmp")).spawn().unwrap();
    let mut largest = 0;
    while running.try_wait().unwrap().is_none() {
        let threads =
            std::fs::read_dir(format!("/proc/{}/task", running.id())).into_iter().flatten().flatten();
        for thread in threads {
            let children = std::fs::read_to_string(thread.path().join("children")).unwrap_or_default();
            for child in children.split_whitespace() {
                let status = std::fs::read_to_string(format!("/proc/{child}/status")).unwrap_or_default();
                let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
                let kilobytes =
                    line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
                largest = largest.max(kilobytes.unwrap_or(0) / 1000);
            }
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    let (_, rows) = rows(&lab.dir.join("out"));
    assert!(rows.len() == 12 && rows.iter().all(|row| text_of(row, STATUS) == OK));
    assert!((200..700).contains(&largest), "{largest} MB");
}

/// Words, and what cases set, were looked at when their run began; and the first case was told to be wrong instead of the one that was.
#[test]
fn words_and_cases_are_tried_before_the_first_run() {
    let lab = lab("");
    let check = |plan: &str, said: &str| {
        lab.write(
            "plan.toml",
            format!(
                "system = \"system.toml\"\nrun.stop = 0.1\n{plan}\n[outputs]\np = \"max(chassis.velocity)\"\n"
            ),
        );
        let told = sweep(&lab, "out", &[]);
        assert_eq!(told.code, 3, "{plan}: {}", told.out);
        assert!(told.err.contains(said), "`{said}` in\n{}", told.err);
        assert!(!lab.dir.join("out").exists(), "nothing was begun");
    };
    let sampled = "[design]\nkind = \"monte-carlo\"\nruns = 40\n[parameters]\n";
    check(
        "[parameters]\nwheel.damper = [\"linear\", \"power\", \"foo\"]",
        "plan.toml:4:7: `damper` is \"foo\"",
    );
    check("[parameters]\nchassis.mass = [400, \"a\"]", "plan.toml:4:9: `mass` is \"a\"; expected a number");
    check(&format!("{sampled}wheel.damper = [\"linear\", \"foo\"]"), "plan.toml:7:7: `damper` is \"foo\"");
    let cases = |name: &str, values: [&str; 3]| {
        let case = |value: &str| format!("[[cases]]\nname = \"{value}\"\nset = {{ {name} = {value:?} }}\n");
        values.map(case).concat()
    };
    check(&cases("wheel.damper", ["linear", "foo", "power"]), "plan.toml:8:15: `damper` is \"foo\"");
    let heavy = cases("chassis.mass", ["300", "-5", "310"]).replace("= \"-5\" }", "= -5 }");
    check(&heavy, "plan.toml:8:17: `mass` is -5");
}

/// What could not be read hid what the system does not have, and a subsystem that is unknown hid unknown parameters and variables.
#[test]
fn mistakes_of_all_kinds_are_told_together() {
    let lab = lab(r#"system = "system.toml"
name = "../out"
series = ["nope"]
[run]
stop = 1
timeot = 3
set = { wheel.mas = 3, x.y = 4 }
[parameters]
chassis.mas = [3]
wheel.damping = { min = 3, max = 1 }
y.z = [1]
[design]
kind = "sobol"
[outputs]
p = "maxx(x)"
q = "max(nope.x)"
r = "max(chassis.velocity, 0, 2 * 1.5)"
"#);
    let told = sweep(&lab, "out", &[]);
    assert_eq!(told.code, 3);
    for said in [
        "plan.toml:2:8: `name` is \"../out\"; expected what a file may be called",
        "plan.toml:3:11: no variable matches `nope`",
        "plan.toml:6:1: unknown key `timeot`",
        "plan.toml:7:15: model `quarter-car/wheel-suspension`: unknown parameter `mas`",
        "plan.toml:7:26: unknown subsystem `x`",
        "plan.toml:9:9: model `quarter-car/chassis`: unknown parameter `mas`",
        "plan.toml:10:17: `min` is 3 and `max` is 1",
        "plan.toml:11:3: unknown subsystem `y`",
        "plan.toml:12:1: the design lacks the key `runs`",
        "plan.toml:15:5: `p` = \"maxx(x)\": unknown function `maxx`",
        "plan.toml:16:5: no variable matches `nope.x`",
        "plan.toml:17:5: `r`: 3 s is outside of the run",
    ] {
        assert!(told.err.contains(said), "`{said}` in\n{}", told.err);
    }
    // Times that are wrong hide no names, either.
    lab.write(
        "plan.toml",
        PLAN.replace("stop = 0.5", "stop = -1").replace("max(abs(chassis.velocity))", "max(chassis.vel)"),
    );
    let told = sweep(&lab, "out", &[]);
    for said in ["plan.toml:3:8: start 0 s, stop -1 s", "plan.toml:8:8: no variable matches `chassis.vel`"] {
        assert!(told.err.contains(said), "`{said}` in\n{}", told.err);
    }
    // What `powerbond run` calls an option is a key here.
    for (change, said) in [
        (("system.toml", "nope"), "plan.toml:1:10: cannot read nope"),
        (("stop = 0.5", "start = 1\nstop = 0.5"), "plan.toml:4:8: start 1 s, stop 0.5 s"),
        (("stop = 0.5", "params = [\"no.ssv\"]"), "plan.toml:3:11: missing file: no.ssv"),
        (("stop = 0.5", "stop = 0.5\nset = { wheel.mass = -1 }"), "plan.toml:4:15: `mass` is -1"),
        (("stop = 0.5", "memory_limit = 0.5"), "plan.toml:3:16: `memory_limit` is 0.5"),
    ] {
        lab.write("plan.toml", PLAN.replace(change.0, change.1));
        let told = sweep(&lab, "out", &[]);
        assert_eq!(told.code, 3);
        assert!(told.err.contains(said), "`{said}` in\n{}", told.err);
    }
    // Longer than clocks count: it was a panic.
    lab.write("plan.toml", PLAN.replace("stop = 0.5", "stop = 0.1\ntimeout = 1e300\ncall_timeout = 1e30"));
    sweeps(&lab, "out", &[]);
    let ran = lab.powerbond(&["run", "system.toml", "--end-time", "0.1", "--timeout", "1e300", "--quiet"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
}

/// Two equal rows of a table looked like a run that was missing.
#[test]
fn runs_with_equal_parameters_are_counted() {
    let lab = lab(&PLAN.replace("[350, 400, 450]", "[350, 350, 400]").replace(", count = 4", ", count = 2"));
    let said = sweeps(&lab, "out", &[]);
    assert!(
        said.contains("runs      4 of 6: 4 ok; 2 of the plan have the parameters of another one"),
        "{said}"
    );
    for shard in ["1/2", "2/2"] {
        sweeps(&lab, "shards", &["--shard", shard]);
    }
    let merged = lab.powerbond(&["sweep", "merge", "shards"]);
    assert!(merged.code == 0 && !merged.err.contains("missing"), "{}", merged.err);
    assert_eq!(facts(&lab, "shards"), facts(&lab, "out"));
}

#[test]
fn a_share_of_the_runs_is_verified_and_no_result_changes() {
    let verified = PLAN.replace("stop = 0.5", "stop = 0.5\nverify = true\nverify_share = 0.25");
    let lab = lab(&verified);
    sweeps(&lab, "verified", &[]);
    let (record, rows_of) = rows(&lab.dir.join("verified"));
    let [error, high] = ["error", "error_high"].map(|name| column(&record, &rows_of, name));
    for k in 0..12 {
        // A measured error is 1.5 D, at most 2.2 D; the range of an estimate is wider.
        let is_measured = (high[k] / error[k] - 2.2 / 1.5).abs() < 1e-9;
        assert_eq!(is_measured, k % 4 == 3, "run {}: {} to {}", k + 1, error[k], high[k]);
    }
    lab.write("plan.toml", PLAN);
    sweeps(&lab, "plain", &[]);
    let (plain_record, plain_rows) = rows(&lab.dir.join("plain"));
    assert_eq!(column(&record, &rows_of, "peak"), column(&plain_record, &plain_rows, "peak"));
    for (share, wanted) in
        [("verify_share = 0.25", "needs `verify`"), ("verify = \"halves\"\nverify_share = 2", "at most 1")]
    {
        lab.write("plan.toml", PLAN.replace("stop = 0.5", share));
        let ran = sweep(&lab, "bad", &[]);
        assert!(ran.code == 3 && ran.err.contains(wanted) && ran.err.contains("plan.toml:"), "{}", ran.err);
    }
}

#[test]
fn mistakes_of_a_plan_are_told_together_before_the_first_run() {
    let lab = lab(r#"system = "system.toml"
sytem = 1
[run]
stop = "x"
timeot = 3
[parameters]
wheel.mass = { from = 50, to = 30, count = 1 }
wheel.damping = { min = 3, max = 1 }
chassis.mass = { distribution = "normal", mean = 1, std = -1 }
[design]
kind = "gridd"
[outputs]
p = "maxx(chassis.velocity)"
q = "chassis.velocity"
status = "max(chassis.velocity)"
"#);
    let told = sweep(&lab, "out", &[]);
    assert_eq!(told.code, 3);
    for said in [
        "plan.toml:2:1: unknown key `sytem` in the plan. Did you mean `system`?",
        "plan.toml:4:8: `stop` is the string \"x\"",
        "plan.toml:5:1: unknown key `timeot` in `[run]`. Did you mean `timeout`?",
        "plan.toml:7:14: one value from 50 to 30",
        "plan.toml:8:17: `min` is 3 and `max` is 1",
        "plan.toml:9:16: `std` is -1; expected a number above 0",
        "plan.toml:11:8: `kind` is the string \"gridd\"",
        "plan.toml:13:5: `p` = \"maxx(chassis.velocity)\": unknown function `maxx`. Did you mean `max`?",
        "plan.toml:14:5: `q` = \"chassis.velocity\": this has a value for each time",
        "plan.toml:15:10: the name `status` is taken",
    ] {
        assert!(told.err.contains(said), "`{said}` in\n{}", told.err);
    }
    // A system in place of a plan.
    let told = lab.powerbond(&["sweep", "system.toml"]);
    assert!(told.code == 3 && told.err.contains("this is a system, not a plan"), "{}", told.err);
    assert!(told.err.contains("`system = \"system.toml\"`") && told.err.lines().count() == 1, "{}", told.err);
    // What only the system knows.
    lab.write(
        "plan.toml",
        r#"system = "system.toml"
[run]
stop = 1
[parameters]
chassis.mas = [1, 2]
wheel.damping = [100, -5]
[outputs]
p = "max(chassis.velocty)"
q = "at(chassis.velocity, 3)"
"#,
    );
    let told = sweep(&lab, "out", &[]);
    assert_eq!(told.code, 3);
    for said in ["plan.toml:5:9: ", "`mas`. Did you mean `mass`?", "plan.toml:8:5: ", "chassis.velocty"] {
        assert!(told.err.contains(said), "`{said}` in\n{}", told.err);
    }
    lab.write(
        "plan.toml",
        PLAN.replace("max(abs(chassis.velocity))", "at(chassis.velocity, 3)").replace("350", "-3"),
    );
    let told = sweep(&lab, "out", &[]);
    assert!(told.err.contains("plan.toml:5:9: `mass` is -3; expected a number above 0"), "{}", told.err);
    lab.write("plan.toml", PLAN.replace("max(abs(chassis.velocity))", "at(chassis.velocity, 3)"));
    let told = sweep(&lab, "out", &[]);
    assert!(
        told.err.contains("plan.toml:8:8: `peak`: 3 s is outside of the run, 0 s to 0.5 s"),
        "{}",
        told.err
    );
    assert!(!lab.dir.join("out").exists(), "nothing was begun");
}

/// Names of parameters that are also words of ranges: `motor.mode = [1, 2]` was "unknown key `mode` in a range".
#[test]
fn parameters_may_be_called_like_the_words_of_a_range() {
    let lab = lab(r#"system = "system.toml"
run = { stop = 0.1 }
[parameters]
chassis.mode = [1, 2]
wheel.max = 3
wheel.damping = { min = 900, max = 1000 }
[design]
kind = "monte-carlo"
runs = 4
[outputs]
peak = "max(chassis.velocity)"
"#);
    let told = sweep(&lab, "out", &[]);
    assert_eq!(told.code, 3);
    for said in ["plan.toml:4:9: ", "unknown parameter `mode`", "plan.toml:5:7: ", "unknown parameter `max`"]
    {
        assert!(told.err.contains(said), "`{said}` in\n{}", told.err);
    }
    assert!(!told.err.contains("in a range"), "{}", told.err);
}

/// A range with values that the model refuses began, and a part of its runs was refused.
#[test]
fn bounds_of_samples_are_tried_before_the_first_run() {
    let plan = |kind: &str, mass: &str| {
        format!(
            "system = \"system.toml\"\nrun = {{ stop = 0.1 }}\n[parameters]\nchassis.mass = {mass}\n[design]\nkind = \"{kind}\"\n\
             runs = 20\n[outputs]\npeak = \"max(chassis.velocity)\"\n"
        )
    };
    let lab = lab(PLAN);
    for kind in ["monte-carlo", "sobol", "latin-hypercube"] {
        for mass in ["{ min = -400, max = 400 }", "[300, -1]"] {
            lab.write("plan.toml", plan(kind, mass));
            let told = sweep(&lab, "out", &[]);
            assert_eq!(told.code, 3, "{kind}: {}", told.out);
            assert!(told.err.contains("plan.toml:4:9: `mass` is -"), "{kind}: {}", told.err);
            assert!(!lab.dir.join("out").exists(), "nothing was begun");
        }
    }
    // What has no bounds has rare samples that no model takes: rows like others.
    lab.write("plan.toml", plan("sobol", "{ distribution = \"normal\", mean = 1, std = 1 }"));
    assert_eq!(sweep(&lab, "out", &[]).code, 10);
}

#[test]
fn cases_lists_and_tables_are_designs() {
    let lab = lab(r#"system = "system.toml"
run = { stop = 0.1, step = 1e-3 }
[parameters]
chassis.mass = [350, 450]
[[cases]]
name = "soft"
set = { wheel.stiffness = 10000, wheel.damper = "linear" }
[[cases]]
name = "hard"
like = "soft"
set = { wheel.stiffness = 30000 }
[outputs]
peak = "max(chassis.velocity)"
"#);
    sweeps(&lab, "cases", &[]);
    let (record, rows) = rows(&lab.dir.join("cases"));
    let names: Vec<&str> = record.columns.iter().skip(11).map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["case", "wheel.stiffness", "wheel.damper", "chassis.mass", "peak"]);
    let case: Vec<&str> = rows.iter().map(|row| text_of(row, 11)).collect();
    assert_eq!(case, ["soft", "soft", "hard", "hard"]);
    assert_eq!(column(&record, &rows, "wheel.stiffness"), [10000.0, 10000.0, 30000.0, 30000.0]);
    lab.write("points.csv", "chassis.mass,wheel.damping\n400,1000\n410,900\n420,800.5\n");
    lab.write(
        "plan.toml",
        "system = \"system.toml\"\nrun = { stop = 0.1 }\ndesign = { file = \"points.csv\" }\n[outputs]\np = \"max(chassis.velocity)\"\n",
    );
    sweeps(&lab, "table", &[]);
    let (record, rows) = self::rows(&lab.dir.join("table"));
    assert_eq!(column(&record, &rows, "wheel.damping"), [1000.0, 900.0, 800.5]);
    // Words; and lines that end as those of powerbond do, of which the last one was taken for one that was cut.
    lab.write("points.csv", "wheel.damper,chassis.mass\r\nlinear,400\r\npower,410\r\nlinear,420");
    sweeps(&lab, "words", &[]);
    let (_, rows) = self::rows(&lab.dir.join("words"));
    assert_eq!(rows.iter().map(|row| text_of(row, 11)).collect::<Vec<_>>(), ["linear", "power", "linear"]);
    lab.write("points.csv", "wheel.damper,chassis.mass\nlinear,400\npower,41O\n");
    let refused = sweep(&lab, "again", &[]);
    assert!(refused.err.contains("points.csv:3: `41O` is not a number"), "{}", refused.err);
    // A dataset with columns that are no parameters.
    let part = std::fs::read_dir(lab.dir.join("table/runs")).unwrap().next().unwrap().unwrap().path();
    lab.write("plan.toml", format!(
        "system = \"system.toml\"\nrun = {{ stop = 0.1 }}\ndesign = {{ file = {:?} }}\n[outputs]\np = \"max(chassis.velocity)\"\n",
        part.display().to_string()
    ));
    let refused = sweep(&lab, "again", &[]);
    assert_eq!(refused.code, 3);
    assert!(
        refused.err.contains("plan.toml:3:19: ") && refused.err.contains("lacks values"),
        "{}",
        refused.err
    );
}

/// Runs whose results depend on nothing else have ids that depend on nothing else, wherever the files lie.
#[test]
fn an_id_is_that_of_system_parameters_and_method() {
    let ids = |lab: &Lab| -> Vec<String> {
        let listed = lab.powerbond(&["sweep", "plan.toml", "--dry-run", "--json"]);
        assert_eq!(listed.code, 0, "{}", listed.err);
        listed.json()["runs"]
            .as_array()
            .unwrap()
            .iter()
            .map(|run| run["id"].as_str().unwrap().to_owned())
            .collect()
    };
    let first = lab(PLAN);
    let original = ids(&first);
    assert_eq!(original.len(), 12);
    let second = lab(&PLAN.replace("travel = ", "other = ").replace("stop = 0.5", "stop = 0.5\ntimeout = 9"));
    assert_eq!(ids(&second), original, "what is kept and how long it may take changes no run");
    let longer = lab(&PLAN.replace("stop = 0.5", "stop = 0.6"));
    assert!(ids(&longer).iter().all(|id| !original.contains(id)));
    let adaptive = lab(PLAN);
    adaptive.write("system.toml", EXAMPLE);
    assert!(ids(&adaptive).iter().all(|id| !original.contains(id)));
    let reordered = lab(&PLAN.replace("[350, 400, 450]", "[450, 400, 350]"));
    let mut sorted = [ids(&reordered), original];
    sorted.iter_mut().for_each(|list| list.sort());
    assert_eq!(sorted[0], sorted[1]);
}

/// Every plan of the page is one, and the first sweep prints what it shows.
#[test]
fn plans_of_the_page_about_sweeps_run() {
    let page = std::fs::read_to_string(root().join("docs/sweeps.md")).unwrap();
    let plans: Vec<&str> =
        page.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert_eq!(plans.len(), 3);
    let lab = Lab::new();
    std::fs::create_dir_all(lab.dir.join("examples/quarter-car")).unwrap();
    lab.write("examples/quarter-car/system.toml", EXAMPLE);
    for plan in &plans {
        lab.write("plan.toml", plan);
        let listed = lab.powerbond(&["sweep", "plan.toml", "--dry-run"]);
        assert_eq!(listed.code, 0, "{}\n{plan}", listed.err);
    }
    lab.write("plan.toml", plans[0]);
    let said = lab.powerbond(&["sweep", "plan.toml"]);
    assert_eq!(said.code, 0, "{}", said.err);
    let console =
        page.split("$ powerbond sweep plan.toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    for line in console.lines().filter(|line| !line.contains('…')) {
        assert!(said.out.contains(line), "`{line}` in\n{}", said.out);
    }
    let detail = lab.powerbond(&["sweep", "report", "results/plan", "--run", "7"]);
    assert_eq!(detail.code, 0, "{}", detail.err);
    let folder =
        std::fs::read_dir(lab.dir.join("results/plan/details")).unwrap().next().unwrap().unwrap().path();
    assert!(folder.join("report.html").is_file() && folder.join("results.csv").is_file());
    let sweep_page = std::fs::read_to_string(lab.dir.join("results/plan/report.html")).unwrap();
    assert!(sweep_page.contains(&*folder.file_name().unwrap().to_string_lossy()));
}
