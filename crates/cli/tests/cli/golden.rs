//! The tables and the summary of a small run, as they were when this file was last blessed: nothing in them changes
//! unnoticed. That the numbers are right is shown elsewhere; `BLESS=1 cargo test -p powerbond-cli golden` writes them anew.

use crate::lab::{EXAMPLE, Lab, root};
use serde_json::Value;

/// Of the summary: what the wall clock decides.
const VOLATILE: &[&str] = &["seconds", "engine_seconds", "started"];

#[test]
fn tables_and_summary_are_as_they_were() {
    let lab = Lab::with(EXAMPLE);
    lab.runs(&["-e", "0.02", "-s", "1e-3", "--jumps"]);
    let golden = root().join("crates/cli/tests/golden");
    let bless = std::env::var("BLESS").is_ok();
    for table in ["results.csv", "energy.csv", "jumps.csv"] {
        let found = std::fs::read_to_string(lab.dir.join("out").join(table)).unwrap();
        if bless {
            std::fs::write(golden.join(table), &found).unwrap();
        }
        let wanted = std::fs::read_to_string(golden.join(table)).unwrap();
        assert_eq!(found.lines().count(), wanted.lines().count(), "rows of {table}");
        for (n, (found, wanted)) in found.lines().zip(wanted.lines()).enumerate() {
            let cells = || found.split(',').zip(wanted.split(','));
            let fits =
                found.matches(',').count() == wanted.matches(',').count() && cells().all(|(a, b)| cell(a, b));
            assert!(fits, "{table}, line {}:\n{found}\ninstead of\n{wanted}", n + 1);
        }
    }
    let mut found = lab.summary();
    without_clock(&mut found);
    let path = golden.join("summary.json");
    if bless {
        std::fs::write(&path, serde_json::to_string_pretty(&found).unwrap() + "\n").unwrap();
    }
    let wanted: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    same("", &found, &wanted);
}

fn without_clock(value: &mut Value) {
    match value {
        Value::Object(map) => {
            VOLATILE.iter().for_each(|key| drop(map.remove(*key)));
            map.values_mut().for_each(without_clock);
        }
        Value::Array(list) => list.iter_mut().for_each(without_clock),
        _ => {}
    }
}

/// Numbers may differ in their last digits: powers and logarithms are those of the system.
fn close(x: f64, y: f64) -> bool {
    (x - y).abs() <= 1e-9 * y.abs().max(1e-6)
}

fn cell(found: &str, wanted: &str) -> bool {
    found == wanted || matches!((found.parse(), wanted.parse()), (Ok(x), Ok(y)) if close(x, y))
}

fn same(place: &str, found: &Value, wanted: &Value) {
    match (found, wanted) {
        (Value::Object(a), Value::Object(b)) => {
            assert_eq!(a.keys().collect::<Vec<_>>(), b.keys().collect::<Vec<_>>(), "keys of {place}");
            a.iter().for_each(|(key, value)| same(&format!("{place}/{key}"), value, &b[key]));
        }
        (Value::Array(a), Value::Array(b)) => {
            assert_eq!(a.len(), b.len(), "{place}");
            a.iter().zip(b).enumerate().for_each(|(k, (x, y))| same(&format!("{place}/{k}"), x, y));
        }
        (Value::Number(a), Value::Number(b)) => {
            let (x, y) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            assert!(close(x, y), "{place}: {x} instead of {y}");
        }
        _ => assert_eq!(found, wanted, "{place}"),
    }
}
