//! FMUs from end to end: exported, inspected, run alone and coupled.

use crate::lab::{Lab, edit, plain};

#[track_caller]
fn export(lab: &Lab, arguments: &[&str]) {
    let ran = lab.powerbond(&[&["export"], arguments].concat());
    assert_eq!(ran.code, 0, "{}", ran.err);
}

/// The quarter car of the example with both models as FMUs in the same folder.
fn as_fmus() -> String {
    let system = edit(plain(), "model = \"quarter-car/chassis\"", "fmu = \"chassis.fmu\"");
    edit(&system, "model = \"quarter-car/wheel-suspension\"", "fmu = \"wheel.fmu\"")
}

#[test]
fn a_system_of_fmus_gives_the_same_rows_as_the_built_in_models() {
    let models = Lab::with(plain());
    assert_eq!(models.run(&["-s", "1e-3"]).code, 0);
    for version in ["2", "3"] {
        let fmus = Lab::with(&format!("record.variables = \"*\"\n{}", as_fmus()));
        export(&fmus, &["quarter-car/chassis", "--fmi", version, "-o", "chassis.fmu"]);
        export(&fmus, &["quarter-car/wheel-suspension", "--fmi", version, "-o", "wheel.fmu"]);
        let ran = fmus.run(&["-s", "1e-3"]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        for column in ["time", "chassis.velocity", "wheel.suspension_force", "wheel.position"] {
            let (a, b) = (models.results().column(column), fmus.results().column(column));
            assert!(a.iter().zip(&b).all(|(a, b)| a.to_bits() == b.to_bits()), "{column}, FMI {version}");
            assert_eq!(a.len(), 4001);
        }
    }
}

#[test]
fn the_tables_come_out_bit_for_bit_from_fmus() {
    let lab = Lab::new();
    let rows = |more: &[&str]| {
        let ran = lab.powerbond(&[&["bench", "sadjina2017", "--only", "VI", "--json"], more].concat());
        assert_eq!(ran.code, 0, "{}", ran.err);
        ran.out
    };
    let native = rows(&[]);
    assert!(native.contains("VIII/1.0e-6"));
    assert_eq!(rows(&["--fmu"]), native);
    assert_eq!(rows(&["--fmu", "3"]), native);
    let refused = lab.powerbond(&["bench", "arnold2013", "--fmu"]);
    assert_eq!(refused.code, 3, "{}", refused.err);
}

#[test]
fn a_single_fmu_runs_with_start_values_and_a_table() {
    let lab = Lab::new();
    export(&lab, &["quarter-car/chassis", "-o", "mass.fmu"]);
    let shown = lab.powerbond(&["inspect", "mass.fmu"]);
    assert_eq!(shown.code, 0, "{}", shown.err);
    for part in ["FMI 2.0", "force", "velocity", "get and set state", "input derivatives"] {
        assert!(shown.out.contains(part), "`{part}` in\n{}", shown.out);
    }
    let json = lab.powerbond(&["inspect", "mass.fmu", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!((&json["fmi"], &json["co_simulation"]["state"]), (&"2.0".into(), &true.into()));

    lab.write("in.csv", "time,force\n0,100\n1,100\n");
    let ran = lab.powerbond(&[
        "run",
        "mass.fmu",
        "-e",
        "1",
        "-s",
        "0.1",
        "--set",
        "mass=50",
        "--input",
        "in.csv",
        "--output-dir",
        "out",
    ]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    // v = F t / m.
    let v = *lab.results().column("mass.velocity").last().unwrap();
    assert!((v - 2.0).abs() < 1e-12, "{v}");
}

#[test]
fn what_is_wrong_with_an_fmu_is_said() {
    let lab = Lab::with(&as_fmus());
    let check = |says: &[&str]| {
        let ran = lab.run(&[]);
        assert_eq!(ran.code, 3, "{}", ran.err);
        for part in says {
            assert!(ran.err.contains(part), "`{part}` in\n{}", ran.err);
        }
    };
    check(&["system.toml:", "chassis.fmu"]);
    lab.write("chassis.fmu", "no zip at all");
    check(&["system.toml:", "chassis.fmu"]);
    export(&lab, &["quarter-car/chassis", "-o", "chassis.fmu"]);
    export(&lab, &["quarter-car/wheel", "-o", "wheel.fmu"]);
    check(&["system.toml:", "`quarter-car/wheel`: unknown variable `damper`"]);
    let unknown = lab.powerbond(&["export", "quarter-car/weel", "-o", "x.fmu"]);
    assert_eq!(unknown.code, 3, "{}", unknown.err);
    assert!(unknown.err.contains("Did you mean `quarter-car/wheel`?"), "{}", unknown.err);
    let set = lab.powerbond(&["run", "chassis.fmu", "-e", "1", "--set", "mas=1"]);
    assert_eq!(set.code, 3, "{}", set.err);
    assert!(set.err.contains("--set mas=1: ") && set.err.contains("Did you mean `mass`?"), "{}", set.err);
}
