//! `powerbond compare`: run folders and tables against each other.

use crate::lab::{EXAMPLE, Lab, plain, root};

#[test]
fn a_run_is_near_its_exact_solution_and_the_table_says_how_near() {
    let lab = Lab::with(EXAMPLE);
    lab.runs(&[]);
    let expected = root().join("examples/quarter-car/expected.csv");
    let expected = expected.to_str().unwrap();
    let ran = lab.powerbond(&["compare", "out", expected, "--json"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let document = ran.json();
    assert!(document["variables"].as_array().unwrap().iter().all(|v| v["within"].is_null()));
    let ran = lab.powerbond(&["compare", "out", expected, "--rtol", "1e-9"]);
    assert_eq!(ran.code, 7, "{}", ran.err);
    assert!(ran.out.contains("EXCEEDED") && ran.out.contains("exceed the tolerance"), "{}", ran.out);
}

/// With half the step a zero-order hold is half as wrong.
#[test]
fn runs_at_different_steps_are_compared_on_a_common_grid() {
    let lab = Lab::with(plain());
    let at = |step: &str, folder: &str| {
        let ran = lab.powerbond(&["run", "system.toml", "-s", step, "--output-dir", folder]);
        assert_eq!(ran.code, 0, "{}", ran.err);
    };
    at("1e-3", "a");
    at("5e-4", "b");
    at("1e-5", "exact");
    let error = |folder: &str| {
        let ran = lab.powerbond(&["compare", folder, "exact", "--json"]);
        let list = ran.json()["variables"].as_array().unwrap().clone();
        let force = list.into_iter().find(|v| v["name"] == "chassis.force").unwrap();
        force["relative_rms"].as_f64().unwrap()
    };
    let ratio = error("a") / error("b");
    assert!((ratio - 2.0).abs() < 0.1, "{ratio}");
    assert_eq!(lab.powerbond(&["compare", "a", "a", "--rtol", "0"]).code, 0);
}

#[test]
fn tables_are_compared_where_both_have_values() {
    let lab = Lab::new();
    lab.write("a.csv", "time,x,\"y, too\",z\n0,0,1,5\n2,2,1,5\n4,4,nan,5\n");
    lab.write("b.csv", "time,\"y, too\",x,w\n0,1,0,5\n1,1,1.5,5\n3,1,3,5\n");
    let ran = lab.powerbond(&["compare", "a.csv", "b.csv", "--atol", "0.4", "--json"]);
    assert_eq!(ran.code, 7, "{}", ran.err);
    let document = ran.json();
    assert_eq!((&document["from"], &document["to"]), (&0.0.into(), &3.0.into()));
    assert_eq!(document["only_first"][0], "z");
    assert_eq!(document["only_reference"][0], "w");
    assert_eq!(document["different_times"], true);
    let variables = document["variables"].as_array().unwrap();
    let x = variables.iter().find(|v| v["name"] == "x").unwrap();
    assert_eq!((&x["max"], &x["time"], &x["within"]), (&0.5.into(), &1.0.into(), &false.into()));
    let y = variables.iter().find(|v| v["name"] == "y, too").unwrap();
    assert_eq!(y["within"], false, "a value that is not a number is nowhere near");
}

/// Two rows of one time are both limits of a discontinuity. A table with one row there has the one from the right.
#[test]
fn limits_are_compared_with_their_like() {
    let lab = Lab::new();
    lab.write("both.csv", "time,x,y\n0,0,1\n1,0,1\n1,10,1\n2,10,1\n");
    lab.write("same.csv", "time,x,y\n0,0,1\n0.5,0,1\n1,0,1\n1,10,1\n1.5,10,1\n2,10,1\n");
    lab.write("right.csv", "time,x,y\n0,0,1\n1,10,1\n2,10,1\n");
    lab.write("left.csv", "time,x,y\n0,0,1\n1,2,1\n1,10,1\n2,10,1\n");
    for (other, largest, points) in
        [("both.csv", 0.0, 4), ("same.csv", 0.0, 6), ("right.csv", 0.0, 3), ("left.csv", 2.0, 4)]
    {
        for pair in [["both.csv", other], [other, "both.csv"]] {
            let ran = lab.powerbond(&["compare", pair[0], pair[1], "--rtol", "0", "--json"]);
            assert_eq!(ran.code, if largest == 0.0 { 0 } else { 7 }, "{pair:?}: {}", ran.err);
            let document = ran.json();
            assert_eq!(document["variables"][0]["max"], largest, "{pair:?}");
            assert_eq!(
                (&document["points"], &document["variables"][1]["max"]),
                (&points.into(), &0.0.into())
            );
        }
    }
}

/// The quarter car at 1 ms against its exact solution over time: ΔP(t) is the difference of the power of a bond of two runs, which at the
/// finer one's times is what their tables of energies say.
#[test]
fn errors_over_time_are_tables_and_drawn() {
    let lab = Lab::with(plain());
    for (step, folder) in [("1e-3", "coarse"), ("1e-4", "fine")] {
        let ran = lab.powerbond(&["run", "system.toml", "-s", step, "--output-dir", folder]);
        assert_eq!(ran.code, 0, "{}", ran.err);
    }
    let ran = lab.powerbond(&["compare", "coarse", "fine", "--series", "errors", "--json"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let document = ran.json();
    let read = |file: &str| crate::lab::Csv::read(&lab.dir.join(file));
    let [errors, energies] = ["errors/errors.csv", "errors/energy-errors.csv"].map(read);
    // What the table of differences says is the largest one over time.
    let force =
        document["variables"].as_array().unwrap().iter().find(|v| v["name"] == "chassis.force").unwrap();
    let largest = errors.column("error.chassis.force").iter().fold(0.0f64, |most, x| most.max(x.abs()));
    assert_eq!(force["max"].as_f64().unwrap(), largest);
    let [coarse, fine] = ["coarse/energy.csv", "fine/energy.csv"].map(read);
    let power = "suspension.P.chassis";
    let expected = coarse.at(2.0, power) - fine.at(2.0, power);
    let found = energies.at(2.0, &format!("error.{power}"));
    assert!((found - expected).abs() <= 1e-12 * expected.abs().max(1.0), "{found} instead of {expected}");
    // Steps and error norms are no variables.
    assert!(
        !std::fs::read_to_string(lab.dir.join("errors/energy-errors.csv")).unwrap().contains("step_size")
    );
    // Again: tables of errors are replaced, others are not.
    assert_eq!(lab.powerbond(&["compare", "coarse", "fine", "--series", "errors"]).code, 0);
    lab.write("errors/errors.csv", "mine");
    let refused = lab.powerbond(&["compare", "coarse", "fine", "--series", "errors"]);
    assert_eq!(refused.code, 3, "{}", refused.err);
    assert!(refused.err.contains("errors.csv") && refused.err.contains("--overwrite"), "{}", refused.err);
    let ran = lab.powerbond(&["compare", "coarse", "fine", "--series", "coarse/results.csv"]);
    assert_eq!(ran.code, 8, "{}", ran.err);
    // And drawn: tests/python looks at the page.
    let ran = lab.powerbond(&["report", "coarse", "--reference", "fine", "-o", "page.html"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let page = std::fs::read_to_string(lab.dir.join("page.html")).unwrap();
    for part in ["\"reference\":\"fine\"", "\"errors\":{\"chassis.force\":[["] {
        assert!(page.contains(part), "`{part}`");
    }
    // The page has the differences at the rows of the first run, with 6 digits at times with 9; few rows are all kept.
    let (_, rest) = page.split_once("id=\"data\">").unwrap();
    let data: serde_json::Value = serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap();
    let drawn = &data["runs"][0]["energy_errors"];
    let written = energies.column("time");
    for column in [power, "suspension.dP", "suspension.E", "suspension.dE_sum"] {
        let [times, values] = [0, 1].map(|k| drawn[column][k].as_array().unwrap());
        assert_eq!(times.len(), coarse.rows.len(), "{column}");
        let errors = energies.column(&format!("error.{column}"));
        assert!(errors.iter().any(|x| *x != 0.0), "{column}");
        for (t, value) in times.iter().zip(values) {
            let (t, value) = (t.as_f64().unwrap(), value.as_f64().unwrap());
            let row = written.iter().rposition(|x| (x - t).abs() <= 1e-8 * t).unwrap();
            let expected = errors[row];
            assert!(
                (value - expected).abs() <= 1e-5 * expected.abs(),
                "{column} at {t}: {value}, {expected}"
            );
        }
    }
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let lab = Lab::new();
    lab.write("a.csv", "time,x\n0,0\n1,1\n");
    lab.write("later.csv", "time,x\n2,0\n3,1\n");
    lab.write("other.csv", "time,y\n0,0\n1,1\n");
    lab.write("back.csv", "time,x\n1,0\n0,1\n");
    lab.write("empty.csv", "time,x\n");
    for (other, said) in [
        ("later.csv", "do not overlap"),
        ("other.csv", "have no variable in common"),
        ("back.csv", "decreases; expected the time"),
        ("empty.csv", "no rows"),
        ("missing.csv", "cannot read missing.csv"),
    ] {
        let ran = lab.powerbond(&["compare", "a.csv", other]);
        assert_eq!(ran.code, 3, "{other}");
        assert!(ran.err.contains(said), "{other}: {}", ran.err);
    }
}
