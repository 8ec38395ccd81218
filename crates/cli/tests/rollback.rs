//! Runs that take steps back, from end to end: estimates as drivers and monitors, with everything else they combine with.

#[allow(dead_code)] // Shared with the tests of the other commands.
#[path = "cli/lab.rs"]
mod lab;

use lab::{Csv, Lab, close, edit, root};
use serde_json::Value;

const FD: &str = include_str!("../../../examples/quarter-car-fd/system.toml");
const DD: &str = include_str!("../../../examples/quarter-car-dd/system.toml");

/// The system with another `[method]`.
fn with(system: &str, method: &str) -> String {
    format!("{}[method]\n{method}\n", system.split("[method]").next().unwrap())
}

fn count(summary: &Value, what: &str) -> u64 {
    summary["steps"][what].as_u64().unwrap()
}

const RICHARDSON: &str =
    "hold = 2\nestimator = { kind = \"richardson\", tolerance = 1e-4 }\ncontroller = \"rollback\"\n";

/// Numbers of the READMEs; `expected.csv` is the exact solution.
#[test]
fn the_examples_are_near_their_exact_solutions() {
    let check = |name: &str, system: &str, accepted: u64, rejected: u64, differences: &[(&str, f64)]| {
        let lab = Lab::with(system);
        let results = lab.runs(&["--output-interval", "0.05"]).results();
        let text = std::fs::read_to_string(root().join(format!("examples/{name}/expected.csv"))).unwrap();
        lab.write("expected.csv", text.replace("\r\n", "\n").replace('\n', "\r\n"));
        let expected = Csv::read(&lab.dir.join("expected.csv"));
        for &(column, difference) in differences {
            let pairs = results.column(column).into_iter().zip(expected.column(column));
            close(pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max), difference, 0.02);
        }
        let summary = lab.summary();
        assert_eq!(
            (count(&summary, "accepted"), count(&summary, "rejected")),
            (accepted, rejected),
            "{name}"
        );
        assert_eq!(count(&summary, "over_tolerance"), 0);
        assert_eq!(count(&summary, "events"), 1, "the jump of the road");
    };
    check(
        "quarter-car-fd",
        FD,
        320,
        26,
        &[("chassis.position", 7.69e-5), ("chassis.velocity", 3.41e-4), ("wheel.suspension_force", 1.103)],
    );
    check(
        "quarter-car-dd",
        DD,
        226,
        12,
        &[
            ("chassis.position", 1.075e-4),
            ("chassis.velocity", 8.41e-4),
            ("wheel.position", 1.896e-4),
            ("wheel.velocity", 4.887e-3),
        ],
    );
}

/// Rows are accepted steps; the subsystems made one big and two small steps for every pair, accepted or not.
#[test]
fn rows_are_accepted_steps_only() {
    let lab = Lab::with(FD);
    let summary = lab.runs(&[]).summary();
    let (accepted, rejected) = (count(&summary, "accepted"), count(&summary, "rejected"));
    let (results, energy) = (lab.results().right(), lab.energy());
    assert_eq!(results.rows.len() as u64, accepted + 1);
    assert_eq!(energy.rows.len() as u64, accepted);
    let times = results.column("time");
    assert!(times.windows(2).all(|w| w[0] < w[1]), "time never goes back");
    assert!(times.contains(&0.2), "the jump of the road is hit exactly");
    assert_eq!(times.last(), Some(&3.0));
    assert!(energy.column("error.richardson").iter().all(|&e| e <= 1.0));
    let taken_back: f64 = energy.column("rejected").iter().sum();
    assert!(
        rejected > 0 && taken_back == rejected as f64,
        "{taken_back} of {rejected} stand beside their steps"
    );
    for subsystem in summary["subsystems"].as_array().unwrap() {
        assert_eq!(subsystem["steps"], 3 * (accepted / 2 + rejected), "{subsystem}");
    }
}

/// Three independent error bars of one run: columns, and their medians, maxima and counts side by side.
#[test]
fn the_summary_compares_the_estimates_with_their_columns() {
    let lab = Lab::with(FD);
    let ran = lab.run(&[]);
    for said in ["error estimate", "richardson (steers)", "energy", "predictor"] {
        assert!(ran.out.contains(said), "`{said}` in\n{}", ran.out);
    }
    let (summary, energy) = (lab.summary(), lab.energy());
    let errors: Vec<&str> = energy.header.iter().filter_map(|h| h.strip_prefix("error.")).collect();
    assert_eq!(errors, ["richardson", "energy", "predictor"]);
    let estimates = summary["estimates"].as_array().unwrap();
    assert_eq!(estimates.len(), 3);
    for (k, (estimate, name)) in estimates.iter().zip(errors).enumerate() {
        let keys: Vec<&String> = estimate.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["drives", "max", "max_time", "median", "name", "over_tolerance"]);
        assert_eq!((estimate["name"].as_str(), &estimate["drives"]), (Some(name), &Value::from(k == 0)));
        let mut column = energy.column(&format!("error.{name}"));
        let largest = column.iter().copied().fold(0.0, f64::max);
        close(estimate["max"].as_f64().unwrap(), largest, 1e-15);
        let at = column.iter().position(|&e| e == largest).unwrap();
        close(estimate["max_time"].as_f64().unwrap(), energy.column("time")[at], 1e-15);
        assert_eq!(estimate["over_tolerance"], column.iter().filter(|&&e| e > 1.0).count());
        column.sort_by(f64::total_cmp);
        // In bins of 0.1 %; between the two middle values any number is a median.
        let n = column.len();
        let median = estimate["median"].as_f64().unwrap();
        assert!(median > 0.998 * column[n / 2 - 1] && median < 1.002 * column[n / 2], "{name}: {median}");
    }
}

/// A monitor looks on: the same steps, the same bits, with and without it.
#[test]
fn monitors_change_no_bit() {
    let bytes = |method: &str| {
        let lab = Lab::with(&with(FD, method));
        lab.runs(&["-s", "5e-3"]);
        std::fs::read(lab.dir.join("out/results.csv")).unwrap()
    };
    let plain = bytes("hold = 1\n");
    for monitors in [
        "[\"richardson\"]",
        "[{ kind = \"richardson\", big_step = \"classic\", constants = \"published\" }, \"energy\", \"predictor\"]",
    ] {
        assert!(plain == bytes(&format!("hold = 1\nmonitors = {monitors}\n")), "{monitors}");
    }
}

/// With everything that it may meet, a run ends at its end, in tolerance, and near to the plain one.
#[test]
fn rollback_combines_with_the_other_methods() {
    let reference = {
        let lab = Lab::with(&with(FD, "hold = 2\n"));
        lab.runs(&["-s", "1e-4", "--output-interval", "0.1"]).results()
    };
    let check = |system: &str, what: &str, error: f64| {
        let lab = Lab::with(system);
        let results = lab.runs(&["--output-interval", "0.1"]).results();
        let summary = lab.summary();
        assert_eq!((count(&summary, "over_tolerance"), count(&summary, "events")), (0, 1), "{what}");
        assert!(count(&summary, "rejected") > 0, "{what}: something was rejected");
        assert!(summary["bonds"][0]["exchanged"].as_f64().unwrap() > 100.0, "{what}: energy is metered");
        let pairs = results.column("chassis.position").into_iter().zip(reference.column("chassis.position"));
        let found = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(found < error, "{what}: {found} m");
    };
    let method = |more: &str| with(FD, &format!("{RICHARDSON}{more}"));
    check(&method(""), "alone", 1e-3);
    check(&method("schedule = \"gauss-seidel\""), "Gauss–Seidel", 1e-3);
    check(&method("correction = \"nepce\""), "NEPCE", 1e-3);
    // The correction has an error of its own at this hold: 13 mm at a constant step of 5 ms.
    check(&method("correction = \"energy\""), "energy correction", 4e-3);
    check(&method("refresh = true"), "refresh", 1e-3);
    check(&method("meter = \"trapezoid\""), "trapezoid", 1e-3);
    let fast =
        edit(&method(""), "model = \"quarter-car/wheel-fd\"", "model = \"quarter-car/wheel-fd\"\nrate = 4");
    check(&fast, "several rates", 1e-3);
    let knobs = |estimator: &str| {
        with(
            FD,
            &format!(
                "hold = 1\nestimator = {{ kind = \"richardson\", {estimator} }}\ncontroller = \"rollback\""
            ),
        )
    };
    check(&knobs("tolerance = 1e-3, big_step = \"classic\""), "classic", 2e-3);
    check(&knobs("tolerance = 1e-3, constants = \"published\""), "published constants", 2e-3);
    check(&knobs("tolerance = 1e-3, extrapolate = true"), "local extrapolation", 2e-3);
    check(&knobs("absolute = 1e-4, relative = 1e-3"), "absolute and relative", 2e-3);
    check(&knobs("tolerance = { \"wheel.suspension_force\" = 1e-4 }"), "one output's own", 2e-3);
    let driver =
        |estimator: &str| with(FD, &format!("hold = 1\nestimator = {estimator}\ncontroller = \"rollback\""));
    check(&driver("{ kind = \"energy\", tolerance = 1e-5, energy_scale = 750 }"), "energy drives", 2e-3);
    let predictor = "{ kind = \"predictor\", tolerance = { \"wheel.suspension_force\" = 50.0 } }";
    check(&driver(predictor), "predictor drives", 3e-3);
}

/// A smaller tolerance is a smaller error, a rejecting run is never over tolerance.
#[test]
fn tolerances_are_met_in_every_kind() {
    let steps = |knobs: &str| {
        let method = format!(
            "hold = 2\nestimator = {{ kind = \"richardson\", {knobs} }}\ncontroller = {{ kind = \"rollback\", max_step = 0.1 }}"
        );
        let lab = Lab::with(&with(DD, &method));
        count(&lab.runs(&[]).summary(), "accepted")
    };
    // Built-in nominal values are 1: a tolerance of 1e-4 is an absolute one of 1e-4.
    assert_eq!(steps("tolerance = 1e-4"), steps("absolute = 1e-4"));
    assert_eq!(steps("tolerance = 1e-3, nominal = 0.1"), steps("tolerance = 1e-4"));
    assert!(steps("tolerance = 1e-6") > 2 * steps("tolerance = 1e-4"));
    assert!(steps("absolute = 1e-6, relative = 1e-3") < steps("absolute = 1e-6"));
}

#[test]
fn a_floor_that_is_too_high_ends_with_7_and_names_the_output() {
    let strict = |estimator: &str, floor: &str| {
        let controller = format!("{{ kind = \"rollback\", min_step = 1e-3{floor} }}");
        with(FD, &format!("hold = 2\nestimator = {estimator}\ncontroller = {controller}"))
    };
    let tight = "{ kind = \"richardson\", tolerance = 1e-8 }";
    for (estimator, blamed) in [
        (tight, "`chassis.velocity`"),
        ("{ kind = \"predictor\", tolerance = 1e-9 }", "`wheel.suspension_force`"),
        ("{ kind = \"energy\", tolerance = 1e-12, energy_scale = 1 }", "bond `suspension`"),
    ] {
        let lab = Lab::with(&strict(estimator, ""));
        let ran = lab.run(&["-s", "1e-3"]);
        assert_eq!(ran.code, 7, "{estimator}: {}", ran.err);
        assert!(ran.err.contains("its error norm is still"), "{}", ran.err);
        assert!(ran.err.contains(&format!("most of it from {blamed}")), "{blamed} in {}", ran.err);
        assert!(ran.err.contains("`at_floor = \"keep\"`"), "{}", ran.err);
        let summary = lab.summary();
        assert_eq!(summary["outcome"], "failed");
        let rows = lab.results().right().rows.len() as u64;
        assert_eq!(rows, 1 + count(&summary, "accepted"), "rows are kept");
    }
    let lab = Lab::with(&strict(tight, ", at_floor = \"keep\""));
    let ran = lab.run(&["-s", "1e-3"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(count(&lab.summary(), "at_floor") > 0);
    assert!(ran.out.contains("over tolerance at the smallest step size"), "{}", ran.out);
}

/// Refused with a line and these words.
#[track_caller]
fn refuses(system: &str, at: &str, says: &[&str]) {
    let line = 1 + system.lines().position(|l| l.contains(at)).expect("the line is there");
    let ran = Lab::with(system).run(&[]);
    assert_eq!(ran.code, 3, "{}", ran.err);
    assert!(ran.err.contains(&format!("system.toml:{line}:")), "line {line} in {}", ran.err);
    for said in says {
        assert!(ran.err.contains(said), "`{said}` in {}", ran.err);
    }
}

#[test]
fn a_subsystem_without_a_way_back_is_refused_with_what_would_work() {
    let stuck = edit(
        FD,
        "model = \"quarter-car/wheel-fd\"",
        "model = \"quarter-car/wheel-fd\"\nparameters = { restore = \"no\" }",
    );
    let says = &[
        "`wheel` cannot save and restore its state",
        "\"energy\", \"predictor\"",
        "\"fixed\", \"ecco\", \"i\"",
    ];
    refuses(&stuck, "kind = \"richardson\"", &[says.as_slice(), &["estimator `richardson`"]].concat());
    let energy = with(&stuck, "estimator = \"energy\"\ncontroller = \"rollback\"");
    refuses(&energy, "controller =", &[says.as_slice(), &["controller `rollback`"]].concat());
    let monitor = with(&stuck, "monitors = [\"richardson\"]");
    refuses(&monitor, "monitors =", &[says.as_slice(), &["estimator `richardson`"]].concat());
    // What the message names does work.
    for method in
        ["estimator = \"energy\"\ncontroller = \"ecco\"", "estimator = \"predictor\"\ncontroller = \"i\"", ""]
    {
        Lab::with(&with(&stuck, method)).runs(&[]);
    }
}

#[test]
fn tolerances_that_make_no_sense_are_refused() {
    let knob = |knobs: &str, says: &[&str]| {
        refuses(&with(FD, &format!("estimator = {{ kind = \"richardson\", {knobs} }}")), "estimator =", says);
    };
    knob("tolerance = 0", &["`tolerance` is 0"]);
    knob("tolerance = -1e-3", &["`tolerance` is -1e-3"]);
    knob("tolerance = nan", &["finite"]);
    knob("tolerance = { \"chassis.position\" = 0 }", &["`chassis.position` is 0"]);
    knob("tolerance = { \"chassis.positon\" = 1 }", &["`chassis.position`?"]);
    knob("absolute = 0", &["`absolute` is 0"]);
    knob("relative = -1", &["`relative` is -1"]);
    knob("nominal = 0", &["`nominal` is 0"]);
    knob("tolerance = 1e-3, absolute = 1e-3", &["set one of them"]);
    knob("big_step = \"small\"", &["\"modified\", \"classic\""]);
    knob("constants = \"mine\"", &["\"per-output\", \"published\""]);
    knob("extrapolate = 1", &["`true` or `false`"]);
    knob("tolerence = 1", &["`tolerance`?"]);
    let controller = |knobs: &str, says: &[&str]| {
        let method = format!("estimator = \"richardson\"\ncontroller = {{ kind = \"rollback\", {knobs} }}");
        refuses(&with(FD, &method), "controller =", says);
    };
    controller("at_floor = \"hold\"", &["\"stop\", \"keep\""]);
    controller("safety = 1.5", &["`safety` is 1.5"]);
    controller("min_step = 1, max_step = 0.1", &["larger than `max_step`"]);
    refuses(
        &with(FD, "controller = \"rollback\""),
        "controller =",
        &["needs an estimator", "\"richardson\""],
    );
}
