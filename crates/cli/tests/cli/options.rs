//! Options of `run` that change what is run: they go over the file.

use crate::lab::{EXAMPLE, Lab, close, edit, plain};

#[test]
fn times_and_steps_go_over_the_file() {
    let check = |options: &[&str], first: f64, last: f64, steps: usize| {
        let lab = Lab::with(plain());
        lab.runs(options);
        let time = lab.results().column("time");
        assert_eq!((time[0], time[time.len() - 1], time.len() - 1), (first, last, steps), "{options:?}");
    };
    check(&["-s", "0.01"], 0.0, 4.0, 400);
    check(&["-b", "1", "--step-size", "0.01"], 1.0, 4.0, 300);
    check(&["--begin-time=-1", "-d", "2", "-s", "0.01"], -1.0, 1.0, 200);
    check(&["-e", "0.5", "-s", "0.3"], 0.0, 0.5, 2);
    check(&["--stop-time", "0.9", "-s", "0.3"], 0.0, 0.9, 3);
    check(&["--duration", "0.002"], 0.0, 0.002, 20);
}

/// After two steps the chassis has the velocity F·h/m, with the force F of a wheel that it has not yet moved.
#[test]
fn set_changes_a_parameter() {
    let velocity = |options: &[&str]| {
        let lab = Lab::with(plain());
        lab.runs(&[&["-s", "1e-3", "-e", "2e-3"], options].concat());
        lab.results().column("chassis.velocity")[2]
    };
    let v = velocity(&[]);
    assert!(v > 0.0);
    close(velocity(&["--set", "chassis.mass=200"]), 2.0 * v, 1e-15);
    close(velocity(&["--set", "chassis.mass=200", "--set", "chassis.mass = 800"]), 0.5 * v, 1e-15);
    assert_ne!(velocity(&["--set", "wheel.damper=square-root"]), v);
    assert_ne!(velocity(&["--set", "wheel.integrator=accurate"]), v);
}

#[test]
fn output_on_a_grid_is_interpolated_at_exact_times() {
    let lab = Lab::with(EXAMPLE);
    let every = lab.runs(&[]).results();
    let steps = lab.summary()["steps"]["accepted"].clone();
    let grid = lab.runs(&["--output-interval", "0.3"]).results();
    assert_eq!(lab.summary()["steps"]["accepted"], steps, "recording changes no step");
    let expected: Vec<f64> = (0..=13).map(|n| f64::from(n) * 0.3).collect();
    assert_eq!(grid.column("time"), expected);
    let time = every.column("time");
    for name in ["chassis.velocity", "wheel.suspension_force", "wheel.position"] {
        let (all, few) = (every.column(name), grid.column(name));
        for (k, &t) in expected.iter().enumerate() {
            let i = time.partition_point(|&x| x < t).max(1);
            let weight = (t - time[i - 1]) / (time[i] - time[i - 1]);
            close(few[k], all[i - 1] + weight * (all[i] - all[i - 1]), 1e-9);
        }
    }
    // Energies are not lost between rows: a row holds what came since the last one.
    let energy = lab.energy();
    close(energy.column("suspension.dE").iter().sum(), energy.column("suspension.dE_sum")[12], 1e-9);
}

#[test]
fn landing_shortens_steps_instead() {
    let lab = Lab::with(&edit(EXAMPLE, "stop = 4.0", "stop = 4.0\noutput_interval = 0.3\noutput = \"land\""));
    lab.runs(&[]);
    let time = lab.results().column("time");
    assert_eq!(time, (0..=13).map(|n| f64::from(n) * 0.3).collect::<Vec<f64>>());
    assert_eq!(time[1..], lab.energy().column("time"), "every row is the end of a step");
}

#[test]
fn a_constant_step_may_end_late_if_asked_to() {
    let check = |end: &str, last: f64| {
        let lab = Lab::with(&edit(plain(), "stop = 4.0", &format!("stop = 4.0\nend = \"{end}\"")));
        lab.runs(&["-s", "0.3"]);
        assert_eq!(lab.results().column("time").last(), Some(&last), "{end}");
    };
    check("exact", 4.0);
    check("overshoot", 14.0 * 0.3);
}

#[test]
fn quiet_says_nothing() {
    let lab = Lab::with(EXAMPLE);
    let loud = lab.run(&["-s", "0.02"]);
    assert!(loud.err.starts_with("warning: "), "of a first step beyond the limits: {}", loud.err);
    let quiet = lab.run(&["--quiet", "-s", "0.02"]);
    assert_eq!((quiet.code, quiet.out.as_str(), quiet.err.as_str()), (0, "", ""));
    assert!(lab.dir.join("out/results.csv").exists());
}

#[test]
fn json_is_one_object_per_line_and_ends_with_the_summary() {
    let lab = Lab::with(plain());
    let ran = lab.run(&["--json", "-s", "1e-3"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let lines: Vec<serde_json::Value> = ran.out.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let (last, before) = lines.split_last().unwrap();
    assert!(before.iter().all(|line| line["event"] == "progress"));
    assert_eq!(*last, lab.summary_with_folder());
}
