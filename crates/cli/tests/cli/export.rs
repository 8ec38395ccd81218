//! `powerbond export`: an FMU for every model, and what is refused.

use crate::lab::{Lab, Ran};

#[track_caller]
fn says(ran: &Ran, code: i32, parts: &[&str]) {
    assert_eq!(ran.code, code, "{}", ran.err);
    assert!(ran.err.starts_with("error: ") && ran.out.is_empty(), "{}{}", ran.err, ran.out);
    for part in parts {
        assert!(ran.err.contains(part), "`{part}` in\n{}", ran.err);
    }
}

#[test]
fn a_model_becomes_a_file_and_the_same_one_every_time() {
    let lab = Lab::new();
    let ran = lab.powerbond(&["export", "quarter-car/wheel"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(
        ran.out.starts_with("quarter_car_wheel.fmu: quarter-car/wheel as an FMU of FMI 2.0 co-simulation"),
        "{}",
        ran.out
    );
    let read = |name: &str| std::fs::read(lab.dir.join(name)).expect(name);
    let again = lab.powerbond(&["export", "quarter-car/wheel", "--fmi", "2", "-o", "again.fmu", "--quiet"]);
    assert_eq!((again.code, &*again.out), (0, ""), "{}", again.err);
    assert!(read("quarter_car_wheel.fmu") == read("again.fmu"));
    let three =
        lab.powerbond(&["export", "quarter-car/wheel", "--fmi", "3", "--set", "mass=41", "-o", "three.fmu"]);
    assert_eq!(three.code, 0, "{}", three.err);
    assert!(read("three.fmu").starts_with(b"PK"));
    let left: Vec<_> =
        std::fs::read_dir(&lab.dir).expect("the folder").flatten().map(|e| e.file_name()).collect();
    assert_eq!(left.len(), 3, "{left:?}");
}

#[test]
fn what_does_not_fit_is_refused_with_a_cure() {
    let lab = Lab::new();
    let check = |code, arguments: &[&str], parts: &[&str]| {
        says(&lab.powerbond(&[&["export"], arguments].concat()), code, parts);
    };
    check(
        3,
        &["quarter-car/weel"],
        &["unknown model `quarter-car/weel`", "Did you mean `quarter-car/wheel`?"],
    );
    check(3, &["quarter-car/wheel", "--set", "mas=1"], &["unknown parameter `mas`", "Did you mean `mass`?"]);
    check(3, &["quarter-car/wheel", "--set", "mass=-1"], &["`mass` is -1; expected a number above 0"]);
    check(3, &["quarter-car/wheel", "--set", "mass"], &["`--set mass`", "mass=45"]);
    check(2, &["quarter-car/wheel", "--fmi", "1"], &["'1' for '--fmi <VERSION>'", "2, 3"]);
    check(3, &["quarter-car/wheel", "--library", "nowhere.so"], &["cannot read nowhere.so"]);
    lab.write("other.so", "something else");
    check(3, &["quarter-car/wheel", "--library", "other.so"], &["other.so is not a library of models"]);
    check(8, &["quarter-car/wheel", "-o", "no/such/folder.fmu"], &["cannot write no/such/folder.fmu"]);
    let many = [
        "pump_pressure",
        "tank_pressure",
        "valve_area",
        "piston_area",
        "cylinder_length",
        "density",
        "discharge",
    ];
    let sets: Vec<String> = many.iter().map(|name| format!("--set={name}=0.12345678901234567")).collect();
    let mut arguments = vec!["crane/hydraulics"];
    arguments.extend(sets.iter().map(String::as_str));
    check(3, &arguments, &["too many start values", "Set some of them in the importer"]);
    assert_eq!(std::fs::read_dir(&lab.dir).expect("the folder").count(), 1);
}

/// A command without the library beside it says where it looked.
#[test]
fn a_missing_library_is_named_with_its_places() {
    let lab = Lab::new();
    let alone = lab.dir.join("powerbond");
    let here = env!("CARGO_BIN_EXE_powerbond");
    if std::fs::hard_link(here, &alone).is_err() {
        std::fs::copy(here, &alone).expect("a copy of the command");
    }
    let mut command = std::process::Command::new(&alone);
    let output = command.args(["export", "quarter-car/wheel"]).current_dir(&lab.dir).output();
    let ran = Ran::new(output.expect("the command starts"));
    let place = lab.dir.canonicalize().expect("the folder").join("libpowerbond_models_fmu.so");
    says(
        &ran,
        3,
        &[
            "missing library of the models, libpowerbond_models_fmu.so",
            &place.display().to_string(),
            "`--library`",
        ],
    );
}

/// The verdict on a run of FMUs is that on the run of the models that they were made of. FMI 3 has no input derivatives:
/// what is held with order 0 is compared there.
#[test]
fn fmus_get_the_verdict_of_their_models() {
    let lab = Lab::new();
    let check = |method: &str, versions: &[&str]| {
        let only = format!("quarter-car-r1-linear/{method}/0.00");
        let rows = |more: &[&str]| {
            let ran = lab.powerbond(&[&["bench", "verdict", "--only", &only, "--json"], more].concat());
            assert_eq!(ran.code, 0, "{}", ran.err);
            ran.json()["rows"].clone()
        };
        let models = rows(&[]);
        assert_eq!(models.as_array().unwrap().len(), 3);
        versions.iter().for_each(|version| assert_eq!(rows(&["--fmu", version]), models, "FMI {version}"));
    };
    check("zoh", &["2", "3"]);
    check("foh", &["2"]);
}
