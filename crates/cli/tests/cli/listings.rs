//! `bench` and `methods`: tables for people, one JSON document for machines.

use crate::lab::Lab;
use powerbond::catalogue;
use serde_json::Value;

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().expect("an object").keys().map(String::as_str).collect()
}

/// Runs a suite and checks its document: what every number is held against, and that its verdict follows from its bounds; `ids`
/// are all its rows.
fn check_suite(suite: &str, ids: &[&str]) {
    let ran = Lab::new().powerbond(&["bench", suite, "--json"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let document = ran.json();
    let found = keys(&document);
    assert_eq!(
        found,
        ["anyway", "deviations", "failed", "held", "not_discriminating", "passed", "rows", "shown", "suite"]
    );
    assert_eq!(document["suite"], suite);
    let rows = document["rows"].as_array().unwrap();
    assert_eq!(rows.iter().map(|r| r["id"].as_str().unwrap()).collect::<Vec<_>>(), ids);
    let (mut passed, mut failed, mut deviations, mut shown, mut to_the_digit) = (0, 0, 0, 0, 0);
    for row in rows {
        assert_eq!(keys(row), ["case", "id", "quantities"]);
        for q in row["quantities"].as_array().unwrap() {
            let what = format!("{} {}", row["id"], q["name"]);
            let named = [
                "beside",
                "check",
                "high",
                "low",
                "measured",
                "name",
                "published",
                "reference",
                "unit",
                "verdict",
                "why",
            ];
            assert_eq!(keys(q), named, "{what}");
            let (check, kind) = (q["check"].as_str().unwrap(), q["reference"]["kind"].as_str());
            assert_eq!(q["reference"].is_null(), check == "shown", "{what}: what it is held against");
            // Published beside measured where something is published only, and without a reason to the last digit only.
            assert!(q["published"].is_null() || kind == Some("print"), "{what}");
            assert!(
                q["why"].is_string() || !["band", "deviation"].contains(&check),
                "{what}: a band says why"
            );
            let measured = q["measured"].as_f64().expect("a number");
            let within = |x: f64| {
                let low = q["low"].as_f64().is_none_or(|low| low <= x);
                low && q["high"].as_f64().is_none_or(|high| x <= high)
            };
            let anyway = q["beside"]["measured"].as_f64().is_some_and(within);
            let expected = match (check, within(measured), anyway) {
                ("shown", ..) => "shown",
                (_, false, _) => "fails",
                ("deviation", ..) => "deviates",
                (_, true, true) => "holds-anyway",
                (_, true, false) => "holds",
            };
            assert_eq!(q["verdict"], expected, "{what}");
            *(match expected {
                "shown" => &mut shown,
                "fails" => &mut failed,
                "deviates" => &mut deviations,
                _ => &mut passed,
            }) += 1;
            to_the_digit += u64::from(check == "digit" && expected.starts_with("holds"));
        }
    }
    let counted = ["passed", "failed", "deviations", "shown"].map(|key| document[key].as_u64().unwrap());
    assert_eq!(counted, [passed, failed, deviations, shown]);
    let held = document["held"].as_object().unwrap();
    let all: u64 =
        held.iter().filter(|(key, _)| *key != "to_the_digit").filter_map(|(_, n)| n.as_u64()).sum();
    assert_eq!(all, passed, "{held:?}");
    assert!(
        held["to_the_digit"].as_u64().unwrap() >= to_the_digit
            && held["print"].as_u64() >= Some(to_the_digit)
    );
}

#[test]
fn sadjina2017_has_its_rows() {
    check_suite(
        "sadjina2017",
        &[
            "III/constant",
            "III/2.8e-6",
            "III/3.1e-5",
            "V/constant",
            "V/7.5e-6",
            "V/1.0e-4",
            "VI/constant",
            "VI/9.1e-7",
            "VII/constant",
            "VII/2.4e-5",
            "VIII/constant",
            "VIII/1.0e-6",
            "IX/0.67",
            "X/2.1",
            "XI/0.60",
            "XII/6.5",
            "text/III/power",
            "text/III/energy",
            "text/V",
            "text/VI-VII",
            "text/VIII",
            "text/IX-X",
            "text/XI-XII",
            "text/III/steps",
            "text/V/steps",
            "stability/R1",
            "stability/R2",
            "text/ECCO",
            "text/VIII/nonlinear",
            "text/oscillatory",
            "text/scaling",
            "text/energy",
            "fig7",
            "fig9",
            "fig4/order",
            "fig4/0.1",
            "fig4/1",
            "fig4/10",
            "fig4/20",
            "fig4/30",
            "fig4/50",
        ],
    );
}

#[test]
fn sadjina2020_has_its_rows() {
    check_suite(
        "sadjina2020",
        &[
            "4/constant",
            "4/nepce",
            "4/nepce-mod",
            "5/constant",
            "5/nepce",
            "5/nepce-mod",
            "6/nepce",
            "6/nepce-mod",
            "7/nepce",
            "7/nepce-mod",
            "8/constant",
            "8/nepce",
            "8/nepce-mod",
            "8/ecco-nepce",
            "8/ecco-nepce-mod",
            "9/constant",
            "9/nepce",
            "9/nepce-mod",
            "9/ecco-nepce",
            "9/ecco-nepce-mod",
            "9/alpha",
            "text/4-5/nepce",
            "text/4-5/nepce-mod",
            "text/6",
            "text/7",
            "text/6-7/mod",
            "text/6-7/all",
            "text/8-9/nepce",
            "text/8-9/ecco",
            "text/8-9/mod",
            "text/4-7/energy",
            "text/gain",
            "text/micro",
        ],
    );
}

#[test]
fn arnold2013_has_its_rows_and_quantities() {
    check_suite(
        "arnold2013",
        &[
            "local/dd/k0",
            "local/dd/k1",
            "local/dd/k2",
            "local/fd/k0",
            "local/fd/k1",
            "local/fd/k2",
            "constants/k0",
            "constants/k1",
            "constants/k2",
            "starts/dd/k0",
            "starts/dd/k1",
            "starts/dd/k2",
            "starts/fd/k0",
            "starts/fd/k1",
            "starts/fd/k2",
            "local/both/k0",
            "local/both/k1",
            "local/both/k2",
            "global/dd/k0",
            "global/dd/k1",
            "global/dd/k2",
            "global/fd/k0",
            "global/fd/k1",
            "global/fd/k2",
            "global/both/k0",
            "global/both/k1",
            "global/both/k2",
            "structure/dd",
            "structure/fd",
            "adaptive/dd/k0",
            "adaptive/dd/k1",
            "adaptive/dd/k2",
            "adaptive/fd/k0",
            "adaptive/fd/k1",
            "adaptive/fd/k2",
        ],
    );
    let ran = Lab::new().powerbond(&["bench", "arnold2013", "--json"]);
    let document = ran.json();
    for row in document["rows"].as_array().unwrap() {
        let names: Vec<&str> =
            row["quantities"].as_array().unwrap().iter().map(|q| q["name"].as_str().unwrap()).collect();
        let id = row["id"].as_str().unwrap();
        let expected: &[&str] = match id.split('/').next().unwrap() {
            "local" if id.contains("both") => {
                &["ratio", "ratio_rich_of_the_chassis", "ratio_mod_of_the_chassis"]
            }
            "global" if id.contains("both") => &["ratio"],
            "local" => &["slope", "ratio_rich", "ratio_mod"],
            "constants" => &["c_rich", "c_mod"],
            "starts" => &["starts_that_hold"],
            "global" => &["slope"],
            "structure" => &["edges", "nilpotency"],
            _ => &["accepted_over_constant", "subsystem_steps", "accepted", "made", "constant_steps"],
        };
        assert_eq!(names, expected, "{}", row["id"]);
    }
    assert_eq!((&document["failed"], &document["deviations"]), (&0.into(), &0.into()));
}

#[test]
fn suites_are_listed_and_rows_can_be_chosen() {
    let lab = Lab::new();
    let list = lab.powerbond(&["bench", "list", "--json"]).json();
    let names: Vec<&str> =
        list["suites"].as_array().unwrap().iter().map(|s| s["name"].as_str().unwrap()).collect();
    assert!(names.starts_with(&["sadjina2017", "sadjina2020"]), "{names:?}");
    let text = lab.powerbond(&["bench", "list"]);
    assert!(names.iter().all(|n| text.out.contains(n)), "{}", text.out);
    let table = lab.powerbond(&["bench", "sadjina2017", "--only", "III/constant"]);
    assert_eq!(table.code, 0, "{}", table.err);
    for said in ["against", "published", "measured", "III/constant", "print, Table III", "ok", "0 failed"] {
        assert!(table.out.contains(said), "`{said}` in\n{}", table.out);
    }
    assert!(!table.out.contains("VI/constant"));
}

#[test]
fn methods_lists_the_catalogue_and_the_models() {
    let lab = Lab::new();
    let document = lab.powerbond(&["methods", "--json"]).json();
    assert_eq!(keys(&document), ["methods", "models"]);
    let (methods, models) = (document["methods"].as_array().unwrap(), document["models"].as_array().unwrap());
    for method in methods {
        assert_eq!(keys(method), ["about", "kind", "knobs", "name", "paper"]);
        for knob in method["knobs"].as_array().unwrap() {
            assert_eq!(keys(knob), ["about", "default", "name", "unit", "words"]);
        }
    }
    for model in models {
        assert_eq!(keys(model), ["about", "name", "parameters", "variables"]);
        for variable in model["variables"].as_array().unwrap() {
            assert_eq!(keys(variable), ["about", "causality", "name", "unit"]);
        }
    }
    let has = |list: &[Value], name: &str| list.iter().any(|e| e["name"] == name);
    let listed: Vec<_> = methods.iter().map(|m| (m["kind"].as_str(), m["name"].as_str())).collect();
    let known: Vec<_> = catalogue::ALL.iter().map(|e| (Some(e.kind.key()), Some(e.name))).collect();
    assert_eq!(listed, known);
    let text = lab.powerbond(&["methods"]);
    let is_method = |line: &&str| line.starts_with("  ") && !line.starts_with("   ");
    let printed = text.out.lines().take_while(|line| !line.starts_with("Models")).filter(is_method);
    let printed: Vec<_> = printed.filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(printed, catalogue::ALL.iter().map(|e| e.name).collect::<Vec<_>>());
    for name in ["chassis", "wheel-suspension", "chassis-suspension", "wheel"] {
        assert!(has(models, &format!("quarter-car/{name}")), "{name}");
    }
    let text = lab.powerbond(&["methods", "ecco"]);
    assert!(text.out.contains("safety") && text.out.contains("default: 0.8"), "{}", text.out);
    // The words that may be written, of methods and of models.
    let text = lab.powerbond(&["methods", "jacobi"]);
    assert!(text.out.contains("(`held`, `latest`, `between`; default: held)"), "{}", text.out);
    let text = lab.powerbond(&["methods", "quarter-car/wheel-dd"]);
    assert!(text.out.contains("(`yes`, `no`; default: yes)"), "{}", text.out);
    assert!(!text.out.contains("nepce"), "{}", text.out);
}

#[test]
fn help_and_version_are_there() {
    let lab = Lab::new();
    for (arguments, said) in [
        (&["--help"][..], "Exit codes"),
        (&["run", "--help"], "--output-interval"),
        (&["--version"], "powerbond "),
    ] {
        let ran = lab.powerbond(arguments);
        assert_eq!(ran.code, 0);
        assert!(ran.out.contains(said), "{arguments:?}:\n{}", ran.out);
    }
}

/// Also where the terminal is wider, so that lines stay readable.
#[test]
fn help_fits_80_columns() {
    let lab = Lab::new();
    let main = lab.powerbond(&["--help"]).out;
    let commands = main.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let verbs: Vec<&str> = commands
        .lines()
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|verb| *verb != "help")
        .collect();
    assert!(verbs.len() >= 9, "{verbs:?}");
    for arguments in verbs.iter().map(|verb| vec![*verb, "--help"]).chain([vec!["--help"], vec!["-h"]]) {
        let output = lab.command(&arguments).env("COLUMNS", "200").output().unwrap();
        for line in String::from_utf8(output.stdout).unwrap().lines() {
            assert!(line.chars().count() <= 80, "{arguments:?}: {line}");
        }
    }
}
