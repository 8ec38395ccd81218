//! The log: on stderr, on request, and never in the way of what is printed for people or machines.

use crate::lab::{EXAMPLE, Lab};

#[test]
fn verbosity_shows_the_configuration_once_and_the_rest_by_degrees() {
    let lab = Lab::with(EXAMPLE);
    let quiet = lab.run(&[]);
    assert_eq!(quiet.err, "", "without a wish there is no log");
    let check = |options: &[&str], said: &[&str], unsaid: &[&str]| {
        let ran = lab.run(options);
        assert_eq!(ran.code, 0, "{}", ran.err);
        assert!(!ran.out.contains("INFO"), "{}", ran.out);
        said.iter().for_each(|s| assert!(ran.err.contains(s), "{options:?}: `{s}` in\n{}", ran.err));
        unsaid.iter().for_each(|s| assert!(!ran.err.contains(s), "{options:?}: `{s}` in\n{}", ran.err));
        ran
    };
    let one = check(
        &["-v"],
        &["INFO powerbond::config: method = {", "\"max_step\":0.01", "the run has ended t=4.0"],
        &["DEBUG", "TRACE"],
    );
    assert_eq!(one.err.matches("INFO powerbond::config: simulation = ").count(), 1);
    check(&["-vv"], &["DEBUG powerbond::steps: step accepted over tolerance t=0.313"], &["TRACE"]);
    check(&["-vvv"], &["TRACE powerbond::steps: step 3990 t=4.0"], &[]);
    let json = check(&["-v", "--json"], &["INFO"], &[]);
    json.out.lines().for_each(|line| drop(serde_json::from_str::<serde_json::Value>(line).expect(line)));
}

#[test]
fn rust_log_chooses_parts() {
    let lab = Lab::with(EXAMPLE);
    let logged = |directives: &str, options: &[&str]| {
        let all = [&["run", "system.toml", "--output-dir", "out", "--overwrite"], options].concat();
        let output = lab.command(&all).env("RUST_LOG", directives).output().unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    let config = logged("powerbond::config=info", &[]);
    assert!(config.contains("powerbond::config: method") && !config.contains("has ended"), "{config}");
    assert_eq!(logged("error", &[]), "");
    assert!(logged("nonsense=loud", &[]).starts_with("warning: RUST_LOG=`nonsense=loud` is ignored"));
    assert!(logged("error", &["-v"]).contains("has ended"), "the command line goes over the environment");
}

/// The example takes steps back.
#[test]
fn attempts_that_were_taken_back_are_logged() {
    let lab = Lab::with(include_str!("../../../../examples/quarter-car-fd/system.toml"));
    let ran = lab.run(&["-vv"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let rejected = lab.energy().column("rejected");
    let (steps, attempts) = (rejected.iter().filter(|&&n| n > 0.0).count(), rejected.iter().sum::<f64>());
    assert_eq!(lab.summary()["steps"]["rejected"].as_f64(), Some(attempts));
    assert_eq!(ran.err.matches("step accepted after rejected attempts").count(), steps);
    assert!(steps > 0);
}
