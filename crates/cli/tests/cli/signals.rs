//! External inputs: every kind of signal, recorded as the input that it feeds.

use crate::lab::{EXAMPLE, Lab, close, edit, plain};

/// Runs 1 s with steps of 0.1 s and compares the road at some of the recorded times.
#[track_caller]
fn check(signal: &str, expected: &[(f64, f64)]) {
    let lab = Lab::with(&edit(plain(), "\"wheel.road\" = 0.1", &format!("\"wheel.road\" = {signal}")));
    lab.write("road.csv", "time,z,wheel.road\n0.05,0,7\n0.35,0.3,8\n0.35,0.6,8\n0.95,0,9\n");
    lab.write("two.csv", "t,height\r\n0,1\r\n1,3\r\n");
    lab.runs(&["-e", "1", "-s", "0.1"]);
    let results = lab.results();
    for &(t, value) in expected {
        close(results.at(t, "wheel.road"), value, 1e-14);
    }
}

/// The n-th step of 0.1 s ends here.
fn grid(n: u32) -> f64 {
    f64::from(n) * 0.1
}

#[test]
fn constants_stay() {
    check("0.05", &[(0.0, 0.05), (grid(5), 0.05), (1.0, 0.05)]);
    check("-3", &[(0.0, -3.0), (1.0, -3.0)]);
}

#[test]
fn a_step_is_hit_exactly_and_the_grid_goes_on() {
    check(
        "{ step = { time = 0.25, from = 1.0, to = 2.0 } }",
        &[(0.0, 1.0), (grid(2), 1.0), (0.25, 2.0), (grid(3), 2.0), (1.0, 2.0)],
    );
    check("{ step = { time = 0.25, to = 2.0 } }", &[(0.0, 0.0), (0.25, 2.0)]);
}

#[test]
fn an_adaptive_run_steps_to_the_jump() {
    let lab = Lab::with(&edit(
        EXAMPLE,
        "\"wheel.road\" = 0.1",
        "\"wheel.road\" = { step = { time = 0.123456789, to = 0.1 } }",
    ));
    lab.runs(&["-e", "0.5"]);
    let results = lab.results();
    assert_eq!(results.at(0.123456789, "wheel.road"), 0.1);
    let before = results.column("time").partition_point(|&t| t < 0.123456789) - 1;
    assert_eq!(results.column("wheel.road")[before], 0.0);
    assert_eq!(results.column("wheel.position")[before], 0.0, "nothing moves before the jump");
    assert_eq!(lab.summary()["steps"]["events"], 1);
}

#[test]
fn a_ramp_is_a_line_between_two_kinks_that_are_hit() {
    check(
        "{ ramp = { start = 0.15, end = 0.35, from = 1.0, to = 2.0 } }",
        &[(grid(1), 1.0), (0.15, 1.0), (grid(2), 1.25), (grid(3), 1.75), (0.35, 2.0), (1.0, 2.0)],
    );
}

#[test]
fn a_sine_has_amplitude_frequency_phase_and_offset() {
    let value = |t: f64| 0.2 + 0.1 * (2.0 * std::f64::consts::PI * 1.5 * t + 0.5).sin();
    let at: Vec<(f64, f64)> = (0..=10).map(|n| (grid(n), value(grid(n)))).collect();
    check("{ sine = { amplitude = 0.1, frequency = 1.5, phase = 0.5, offset = 0.2 } }", &at);
    check("{ sine = { frequency = 0.25 } }", &[(0.0, 0.0), (1.0, 1.0)]);
}

#[test]
fn a_table_is_interpolated_or_held_and_may_jump() {
    check(
        "{ table = \"road.csv\", column = \"z\" }",
        &[(0.0, 0.0), (grid(2), 0.15), (0.35, 0.6), (grid(5), 0.45), (1.0, 0.0)],
    );
    check(
        "{ table = \"road.csv\", column = \"z\", interpolation = \"hold\" }",
        &[(0.0, 0.0), (grid(3), 0.0), (0.35, 0.6), (grid(9), 0.6), (0.95, 0.0), (1.0, 0.0)],
    );
    // Without a name: the column of the input, or the only one.
    check("{ table = \"road.csv\", interpolation = \"hold\" }", &[(0.0, 7.0), (0.35, 8.0), (1.0, 9.0)]);
    check("{ table = \"two.csv\" }", &[(0.0, 1.0), (grid(5), 2.0), (1.0, 3.0)]);
}

/// Results of one run are the input of another: two rows of one time are a discontinuity, for those that jump there.
#[test]
fn results_with_both_limits_of_a_discontinuity_are_an_input() {
    let lab = Lab::with(&edit(plain(), "\"wheel.road\" = 0.1\n", ""));
    lab.write("road.csv", "time,wheel.road\r\n0,1\r\n0.25,2\r\n0.25,-2\r\n0.5,-3\r\n0.5,-3\r\n1,-5\r\n");
    lab.runs(&["-e", "1", "-s", "0.1", "--input", "road.csv"]);
    let results = lab.results();
    for (t, value) in [(0.0, 1.0), (grid(2), 1.8), (0.25, -2.0), (grid(5), -3.0), (1.0, -5.0)] {
        close(results.at(t, "wheel.road"), value, 1e-14);
    }
    assert_eq!(lab.summary()["steps"]["events"], 1, "the rows at 0.5 s are equal");
}

/// A held input takes the value at the start of a step; a first-order hold follows the line within it.
#[test]
fn hold_orders_follow_known_signals_within_a_step() {
    let position = |hold: u8| {
        let ramp = "\"wheel.road\" = { ramp = { start = 0.0, end = 1.0, to = 0.1 } }";
        let system = edit(plain(), "\"wheel.road\" = 0.1", ramp);
        let lab = Lab::with(&format!("{system}\n[method]\nholds = {{ \"wheel.road\" = {hold} }}\n"));
        lab.runs(&["-s", "1e-3", "-e", "0.01", "--set", "wheel.integrator=accurate"]);
        lab.results().at(0.01, "wheel.position")
    };
    // Half a step of 1 ms late is 5 % of 10 ms; the wheel answers with z ~ t^3 at first.
    let lag = position(0) / position(1);
    assert!(lag > 0.7 && lag < 0.95, "{lag}");
    close(position(2), position(1), 1e-6);
}
