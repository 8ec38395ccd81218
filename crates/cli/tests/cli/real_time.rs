//! Runs that are paced to wall-clock time, and threads.

use crate::lab::{EXAMPLE, Lab, plain};
use std::time::{Duration, Instant};

#[test]
fn a_run_takes_its_own_time() {
    for (factor, stop) in [("--real-time", "0.5"), ("--real-time=4", "2")] {
        let lab = Lab::with(plain());
        let begun = Instant::now();
        let ran = lab.run(&["-s", "0.01", "-e", stop, factor]);
        let took = begun.elapsed().as_secs_f64();
        assert_eq!(ran.code, 0, "{}", ran.err);
        assert!((0.5..5.0).contains(&took), "{factor}: {took}");
        assert!(ran.out.contains("\n  real time   "), "{}", ran.out);
        let summary = lab.summary();
        let real = |key: &str| summary["real_time"][key].as_f64().unwrap();
        assert_eq!(real("factor"), if stop == "2" { 4.0 } else { 1.0 });
        assert!(real("waited") <= summary["seconds"].as_f64().unwrap());
        assert!(real("max_lateness") >= 0.0 && (0.0..=1.0).contains(&real("late_share")));
        assert!(summary["engine_seconds"].as_f64().unwrap() < 0.5 * took, "waiting is no work");
    }
    let lab = Lab::with(plain());
    lab.runs(&["-e", "0.01"]);
    assert!(lab.summary()["real_time"].is_null());
}

/// A run that cannot keep up is late in every step.
#[test]
fn lateness_is_told() {
    let lab = Lab::with(plain());
    let ran = lab.run(&["-s", "1e-3", "--real-time=1e9"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(
        ran.out.contains("1.000e9 times real time, 100 % of the steps were late, by at most "),
        "{}",
        ran.out
    );
    let lateness = lab.summary()["real_time"]["max_lateness"].as_f64().unwrap();
    assert!(lateness > 0.0 && lateness <= lab.summary()["seconds"].as_f64().unwrap());
}

#[test]
fn factors_that_are_none_are_usage() {
    let lab = Lab::with(EXAMPLE);
    for factor in ["0", "-1", "nan", "inf", "fast", ""] {
        let ran = lab.run(&[&format!("--real-time={factor}")]);
        assert_eq!(ran.code, 2, "{factor}: {}", ran.err);
    }
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_a_wait() {
    let lab = Lab::with(plain());
    let arguments = ["run", "system.toml", "--output-dir", "out", "-s", "0.1", "--real-time=1e-3", "-q"];
    let child = lab.command(&arguments).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(500));
    let sent = Instant::now();
    let kill = format!("kill -INT {}", child.id());
    assert!(std::process::Command::new("sh").args(["-c", &kill]).status().unwrap().success());
    let code = child.wait_with_output().unwrap().status.code();
    assert!(sent.elapsed() < Duration::from_secs(1), "{:?}", sent.elapsed());
    assert_eq!(code, Some(130));
    assert_eq!(lab.summary()["outcome"], "stopped");
}

#[test]
fn threads_change_no_digit() {
    let rows = |threads: &str| {
        let lab = Lab::with(EXAMPLE);
        lab.runs(&["--worker-threads", threads]);
        assert_eq!(lab.summary()["config"]["simulation"]["worker_threads"].to_string(), threads);
        ["results.csv", "energy.csv"].map(|name| std::fs::read(lab.dir.join("out").join(name)).unwrap())
    };
    let alone = rows("0");
    for threads in ["1", "2", "5"] {
        assert!(rows(threads) == alone, "{threads}");
    }
    let lab = Lab::with(EXAMPLE);
    for wrong in ["-1", "many", "99999"] {
        assert_eq!(lab.run(&[&format!("--worker-threads={wrong}")]).code, 2);
    }
}

#[test]
fn fmus_step_on_other_threads() {
    let lab = Lab::with(
        "[simulation]\nstop = 1.0\nstep = 0.01\n[subsystems.a]\nfmu = \"a\"\n[subsystems.b]\nfmu = \"b\"\n[[connections]]\nfrom = \"a.x\"\nto = \"b.u\"\nconvert_units = false\n[[connections]]\nfrom = \"b.x\"\nto = \"a.u\"\ngain = -1.0\nconvert_units = false\n",
    );
    lab.place("integrator2", "a");
    lab.place("integrator3", "b");
    let rows = |threads: &str| {
        lab.runs(&["--set", "a.x0=1", "--worker-threads", threads]);
        std::fs::read(lab.dir.join("out/results.csv")).unwrap()
    };
    let alone = rows("0");
    assert!(rows("2") == alone);
}
