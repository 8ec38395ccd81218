//! Wrong options and paths: 2 for what cannot be understood, 3 for what does not fit the system, 8 for output.

use crate::lab::{EXAMPLE, Lab, Ran};

#[track_caller]
fn says(ran: &Ran, code: i32, parts: &[&str]) {
    assert_eq!(ran.code, code, "{}", ran.err);
    assert!(ran.err.starts_with("error: "), "{}", ran.err);
    assert!(ran.out.is_empty(), "{}", ran.out);
    for part in parts {
        assert!(ran.err.contains(part), "`{part}` in\n{}", ran.err);
    }
}

#[test]
fn what_cannot_be_understood_is_usage() {
    let lab = Lab::with(EXAMPLE);
    let check = |options: &[&str], parts: &[&str]| says(&lab.run(options), 2, parts);
    check(&["--bogus"], &["'--bogus'"]);
    check(&["--stpe-size", "1"], &["'--stpe-size'", "'--step-size'"]);
    check(&["-s", "fast"], &["'fast' for '--step-size <S>'"]);
    check(&["-s", "1ms"], &["'1ms' for '--step-size <S>'", "a number of seconds", "such as 0.001"]);
    check(&["--tolerance", "fine"], &["such as 1e-3 or 0.1%"]);
    check(&["--end-time"], &["a value is required for '--end-time <S>'"]);
    check(&["-e", "1", "-d", "2"], &["'--end-time <S>' cannot be used with '--duration <S>'"]);
    says(&lab.powerbond(&["rnu", "system.toml"]), 2, &["'rnu'"]);
    says(&lab.powerbond(&["bench"]), 2, &["<SUITE>"]);
}

#[test]
fn values_that_do_not_fit_the_system_are_refused_by_the_option_they_came_from() {
    let lab = Lab::with(EXAMPLE);
    let check = |options: &[&str], parts: &[&str]| {
        says(&lab.run(options), 3, parts);
        assert!(!lab.dir.join("out").exists());
    };
    check(&["-s", "0"], &["--step-size 0: the step is 0 s; expected a number above 0"]);
    check(&["-s", "-1"], &["--step-size -1:"]);
    check(&["-s", "nan"], &["--step-size NaN:", "above 0"]);
    check(&["-s", "inf"], &["--step-size inf:", "longer than the run"]);
    check(&["-s", "5"], &["--step-size 5:", "longer than the run of 4 s"]);
    check(&["-s", "1e-300"], &["--step-size", "too small for a run of"]);
    check(&["-e", "-1"], &["--end-time -1:", "stop -1 s"]);
    check(&["-e", "nan"], &["--end-time NaN:", "finite"]);
    check(&["-d", "0"], &["--duration 0:", "after the start"]);
    check(&["-d", "-1"], &["--duration -1:"]);
    check(&["-b", "5"], &["--begin-time 5:", "start 5 s, stop 4 s"]);
    check(&["-b", "nan"], &["--begin-time NaN:", "finite"]);
    check(&["--output-interval", "0"], &["--output-interval 0:", "above 0"]);
    check(&["--output-interval", "9"], &["--output-interval 9:", "longer than the run"]);
    check(&["--set", "mass"], &["--set mass:", "`subsystem.parameter=value`"]);
    check(&["--set", "mass=3"], &["--set mass=3:", "`subsystem.parameter=value`"]);
    check(&["--set", "chassis.mass"], &["`subsystem.parameter=value`"]);
    check(&["--set", "chasis.mass=3"], &["--set chasis.mass=3:", "Did you mean `chassis`?"]);
    check(&["--set", "chassis.maas=3"], &["--set chassis.maas=3:", "Did you mean `mass`?"]);
    check(&["--set", "chassis.mass=heavy"], &["--set chassis.mass=heavy:", "expected a number"]);
    check(&["--set", "chassis.mass=-1"], &["`mass` is -1", "above 0"]);
    check(&["--set", "chassis.mass="], &["--set chassis.mass=:", "a number"]);
    check(&["--set", "wheel.damper=lineer"], &["one of \"linear\", \"square-root\""]);
    check(&["--set", "=3"], &["--set =3:"]);
}

#[test]
fn paths_that_cannot_be_read_are_named() {
    let lab = Lab::new();
    std::fs::create_dir(lab.dir.join("empty")).unwrap();
    let check = |path: &str, parts: &[&str]| says(&lab.powerbond(&["run", path]), 3, parts);
    check("empty", &["missing `system.toml` in the folder empty"]);
    lab.write("empty/car.toml", "");
    check("empty", &["missing `system.toml` in the folder empty; name the file: empty/car.toml"]);
    check("nope.toml", &["cannot read nope.toml", "No such file"]);
    check("empty/cra.toml", &["cannot read empty/cra.toml", "Did you mean `car.toml`?"]);
    check("nope/system.toml", &["cannot read nope/system.toml"]);
    #[cfg(target_os = "linux")]
    check("/dev/zero", &["/dev/zero is not a text file"]);
}

/// What is typed first with two FMUs.
#[test]
fn two_fmus_on_the_command_line_get_a_tip() {
    let ran = Lab::new().powerbond(&["run", "motor.fmu", "load.fmu"]);
    says(&ran, 2, &["unexpected argument 'load.fmu'", "'powerbond new first.fmu second.fmu'"]);
    let ran = Lab::new().powerbond(&["run", "motor.fmu", "load"]);
    says(&ran, 2, &["unexpected argument 'load'"]);
    assert!(!ran.err.contains("tip"), "{}", ran.err);
}

#[test]
fn names_that_do_not_exist_elsewhere() {
    let lab = Lab::new();
    says(
        &lab.powerbond(&["bench", "sadjina2018"]),
        3,
        &["unknown suite `sadjina2018`", "Did you mean `sadjina2017`?"],
    );
    says(&lab.powerbond(&["bench", "tables"]), 3, &["unknown suite `tables`", "There are: sadjina2017"]);
    says(&lab.powerbond(&["bench", "sadjina2017", "--only", "XX"]), 3, &["no row of sadjina2017"]);
    says(
        &lab.powerbond(&["methods", "nepec"]),
        3,
        &["unknown method or model `nepec`", "Did you mean `nepce`?"],
    );
}

#[test]
fn output_that_cannot_be_written_is_8() {
    let lab = Lab::with(EXAMPLE);
    lab.write("file", "");
    let check = |folder: &str| {
        let ran = lab.powerbond(&["run", "system.toml", "--output-dir", folder]);
        says(&ran, 8, &[&format!("cannot write {folder}")]);
    };
    check("file");
    check("file/out");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_8() {
    let lab = Lab::with(EXAMPLE);
    std::fs::create_dir_all(lab.dir.join("out/summary.json")).unwrap();
    says(&lab.run(&[]), 8, &["cannot write out/summary.json"]);
    // Standard output counts, too: half a JSON document must not look like success.
    for arguments in [&["methods", "--json"][..], &["bench", "list"], &["run", "system.toml", "--json"]] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let output = lab.command(arguments).stdout(full).output().unwrap();
        says(&Ran::new(output), 8, &["cannot write stdout"]);
    }
}
