//! What a run leaves behind: the two tables, the summary and the text for people.

use crate::lab::{Lab, close, edit, plain, root};

#[test]
fn the_example_leaves_results_energy_and_a_summary() {
    let lab = Lab::new();
    let example = root().join("examples/quarter-car");
    let ran = lab.powerbond(&["run", example.to_str().unwrap(), "--output-dir", "out"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    for said in
        ["quarter car: 0 s to 4 s in ", "step size", "suspension", "created", "summary.json are in out"]
    {
        assert!(ran.out.contains(said), "`{said}` in\n{}", ran.out);
    }

    let results = lab.results();
    assert_eq!(
        results.header.join(" "),
        "time chassis.force chassis.velocity chassis.position wheel.chassis_velocity wheel.road \
         wheel.suspension_force wheel.position wheel.velocity wheel.chassis_position"
    );
    let energy = lab.energy();
    assert_eq!(
        energy.header.join(" "),
        "time step_size error.energy rejected over_tolerance suspension.P.chassis suspension.P.wheel suspension.dP suspension.dE \
         suspension.dE_sum suspension.E chassis.E_net wheel.E_net system.dE_sum"
    );
    let summary = lab.summary();
    let steps = summary["steps"]["accepted"].as_u64().unwrap() as usize;
    assert_eq!(results.rows.len(), steps + 1, "a row at the start and one per step");
    assert_eq!(energy.rows.len(), steps, "a row per step");
    let time = results.column("time");
    assert_eq!((time[0], time[steps]), (0.0, 4.0), "the end is exact");
    assert_eq!(time[1..], energy.column("time"));

    // The ledger: δP = -ΣP, its sum over the steps is dE_sum and the summary's residual.
    let [p1, p2, dp, de, sum] =
        ["P.chassis", "P.wheel", "dP", "dE", "dE_sum"].map(|c| energy.column(&format!("suspension.{c}")));
    let h = energy.column("step_size");
    let mut total = 0.0;
    for i in 0..steps {
        close(dp[i], -(p1[i] + p2[i]), 1e-9);
        // Constant inputs times straight lines of outputs: δE = h (v_old F_new − F_old v_new)/2, half of the rectangle's.
        close(de[i], 0.5 * dp[i] * h[i], 1e-6);
        total += de[i];
        close(sum[i], total, 1e-9);
    }
    let bond = &summary["bonds"][0];
    close(bond["residual"].as_f64().unwrap(), total, 1e-9);
    close(bond["transmitted"].as_f64().unwrap(), energy.column("suspension.E")[steps - 1], 1e-9);
    close(h.iter().sum(), 4.0, 1e-12);
    let sizes = &summary["step_size"];
    assert_eq!(sizes["max"], 0.01, "the largest step that the file allows");
    assert_eq!(sizes["min"], h.iter().copied().fold(f64::INFINITY, f64::min));
    // The median is kept in bins of 0.1 %.
    let mut sorted = h.clone();
    sorted.sort_by(f64::total_cmp);
    close(sizes["median"].as_f64().unwrap(), sorted[(steps - 1) / 2], 2e-3);
}

#[test]
fn the_summary_has_its_documented_fields() {
    let lab = Lab::with(plain());
    lab.runs(&["-s", "1e-3"]);
    let summary = lab.summary();
    let check = |at: &str, expected: &[&str]| {
        let value = summary.pointer(at).unwrap_or_else(|| panic!("no {at}"));
        let mut keys: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
        let mut expected = expected.to_vec();
        keys.sort_unstable();
        expected.sort_unstable();
        assert_eq!(keys, expected, "keys of {at}");
    };
    check(
        "",
        &[
            "schema",
            "loops",
            "feed_through",
            "system",
            "outcome",
            "error",
            "failure",
            "verdict",
            "verification",
            "exceeded",
            "time",
            "steps",
            "step_size",
            "real_time",
            "estimates",
            "bonds",
            "energy",
            "inputs",
            "choices",
            "subsystems",
            "engine_seconds",
            "seconds",
            "warnings",
            "started",
            "files",
            "units",
            "config",
            "versions",
            "hashes",
        ],
    );
    check("/time", &["start", "stop", "reached"]);
    check("/steps", &["accepted", "rejected", "over_tolerance", "at_floor", "events", "early_returns"]);
    check("/step_size", &["min", "median", "mean", "max"]);
    check(
        "/bonds/0",
        &[
            "name",
            "pseudo",
            "ports",
            "transmitted",
            "exchanged",
            "residual",
            "residual_abs",
            "residual_share",
            "endpoint_residual",
            "mean_power",
            "half_mean_residual_power",
            "worst_power",
            "worst_time",
            "spikes",
            "correction",
        ],
    );
    check("/verdict", &["word", "text", "score", "error", "blame", "reasons", "advice", "limits"]);
    check("/verdict/error", &["estimate", "low", "high", "coupling", "own", "large"]);
    check(
        "/verdict/reasons/0",
        &["code", "level", "bond", "connection", "time", "value", "limit", "text", "advice"],
    );
    check("/energy", &["exchanged", "residual", "residual_abs", "residual_share"]);
    check("/hashes", &["system"]);
    check("/bonds/0/ports/0", &["name", "subsystem", "inputs", "outputs", "energy"]);
    check("/subsystems/1", &["name", "kind", "steps", "seconds", "net_energy"]);
    check(
        "/config",
        &["simulation", "record", "method", "verdict", "connections", "parameters", "processes"],
    );
    check("/files", &["results", "energy"]);
    assert_eq!(summary["units"]["wheel.suspension_force"], "N");
    assert_eq!(summary["schema"], 1);
    assert_eq!(summary["outcome"], "finished");
    assert_eq!(summary["steps"]["accepted"], 4000);
    assert_eq!(summary["subsystems"][1]["kind"], "quarter-car/wheel-suspension");
    assert_eq!(summary["config"]["simulation"]["step"], 1e-3, "the option is in the effective configuration");
    assert_eq!(summary["config"]["method"]["controller"]["kind"], "fixed");
}

#[test]
fn record_chooses_the_columns() {
    let check = |record: &str, header: &str| {
        let lab = Lab::with(&format!("{}\n[record]\n{record}\n", plain()));
        lab.runs(&["-s", "0.01"]);
        assert_eq!(lab.results().header.join(" "), header, "{record}");
    };
    check("variables = [\"wheel.road\", \"*.velocity\"]", "time chassis.velocity wheel.road wheel.velocity");
    check("exclude = \"*position\"\nvariables = [\"chassis.*\"]", "time chassis.force chassis.velocity");
    check("variables = []", "time");
}

#[test]
fn results_go_below_the_current_folder_and_names_are_quoted() {
    let system = edit(plain(), "name = \"quarter car\"", "name = \"../a/b\"");
    let lab = Lab::with(&edit(&system, "[bonds.suspension]", "[bonds.\"a \\\"strut\\\", front\"]"));
    let ran = lab.powerbond(&["run", "system.toml", "-s", "0.01"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let energy = std::fs::read_to_string(lab.dir.join("results/a-b/energy.csv")).unwrap();
    assert!(energy.contains(",\"a \"\"strut\"\", front.dP\","), "{}", energy.lines().next().unwrap());
}

#[test]
fn no_bonds_are_said_not_hidden() {
    let system = plain().split("# Both products").next().unwrap();
    let ran = Lab::with(system).run(&["-s", "0.01"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("no power bonds"), "{}", ran.out);
}

/// Without its feature a format is refused, and the message says how to get it.
#[cfg(not(feature = "arrow"))]
#[test]
fn a_format_that_was_not_built_in_is_refused_with_the_feature_to_build() {
    let lab = Lab::with(&format!("{}\n[record]\nformat = \"parquet\"\n", plain()));
    let refused = |options: &[&str], place: &str| {
        let ran = lab.run(options);
        assert_eq!(ran.code, 3, "{}", ran.err);
        for part in [place, "the feature `arrow`", "`cargo install --path crates/cli --features arrow`"] {
            assert!(ran.err.contains(part), "`{part}` in\n{}", ran.err);
        }
        assert!(!lab.dir.join("out").exists(), "nothing was begun");
    };
    refused(&[], "system.toml:");
    refused(&["--format", "arrow"], "--format arrow: format `arrow` needs");
    refused(&["--output", "far/away.parquet"], "--output far/away.parquet: format `parquet` needs");
    assert_eq!(lab.run(&["-s", "0.01", "--format", "csv"]).code, 0);
    assert_eq!(lab.run(&["--format", "excel"]).code, 2);
    lab.write("table.parquet", "PAR1…");
    let ran = lab.powerbond(&["compare", "table.parquet", "out"]);
    assert!(ran.code == 3 && ran.err.contains("table.parquet needs the feature `arrow`"), "{}", ran.err);
}

/// Rows of one time go into the page as they are, in few rows and in many.
#[test]
fn a_report_shows_both_limits_of_a_discontinuity() {
    let lab = Lab::with(plain());
    for (end, step) in [("0.01", "1e-3"), ("4", "1e-4")] {
        lab.runs(&["-e", end, "-s", step]);
        let file = lab.dir.join("out/results.csv");
        let text = std::fs::read_to_string(&file).unwrap();
        // The last row twice, and all of its values are others.
        let last = text.lines().last().unwrap();
        let (time, values) = last.split_once(',').unwrap();
        let other = values.split(',').map(|_| "98765").collect::<Vec<_>>().join(",");
        std::fs::write(&file, format!("{text}{time},{other}\r\n")).unwrap();
        let ran = lab.powerbond(&["report", "out"]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        let page = std::fs::read_to_string(lab.dir.join("out/report.html")).unwrap();
        let data = page.split("\"wheel.position\":[[").nth(1).unwrap().split("]]").next().unwrap();
        let (times, values) = data.split_once("],[").unwrap();
        let [times, values] = [times, values].map(|list| list.split(',').collect::<Vec<_>>());
        let n = times.len();
        assert_eq!((times[n - 2], times[n - 1], n), (end, end, values.len()));
        assert!(values[n - 2].parse::<f64>().unwrap().abs() < 1.0 && values[n - 1] == "98765", "{end} s");
        assert!(n == 12 || n < 10_000, "{n} points");
    }
}
