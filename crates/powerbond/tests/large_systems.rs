//! Large system files are assembled in time that grows with their size, not with its square: searching lists of names, these
//! tests would take minutes.

use powerbond::System;

const N: usize = 20_000;

/// A ring of subsystems that records what `record` says.
fn ring(record: &str) -> String {
    let mut text = "[simulation]\nstop = 1.0\nstep = 1.0\n".to_owned();
    for i in 0..N {
        text += &format!(
            "[subsystems.s{i:05}]\nmodel = \"algebraic/gain\"\nparameters = {{ gain = 0.0 }}\nrate = 2\n"
        );
    }
    for i in 0..N {
        text += &format!("[[connections]]\nfrom = \"s{i:05}.y\"\nto = \"s{:05}.u\"\n", (i + 1) % N);
    }
    text + "[record]\n" + record
}

/// A list of texts, one for each subsystem.
fn list(one: impl Fn(usize) -> String) -> String {
    (0..N).map(|i| format!("\"{}\", ", one(i))).collect()
}

fn recorded(record: &str) -> Vec<String> {
    let system = System::parse("system.toml", &ring(record)).expect("a sound file");
    let assembled = system.assemble().unwrap_or_else(|e| panic!("{e}"));
    assembled.columns.iter().map(|(name, _)| name.to_string()).collect()
}

#[test]
fn every_variable_by_its_name() {
    let names = recorded(&format!(
        "variables = [{}{}{}]",
        list(|i| format!("s{i:05}.x")),
        list(|i| format!("s{i:05}.u")),
        list(|i| format!("s{:05}.y", N - 1 - i))
    ));
    let expected = (0..N).flat_map(|i| ["u", "y", "x"].map(|v| format!("s{i:05}.{v}")));
    assert!(names.into_iter().eq(expected));
}

#[test]
fn patterns_among_names() {
    let names = recorded(&format!(
        "variables = [{} \"*.x\"]\nexclude = [{} \"s0000?.*\"]",
        list(|i| format!("s{i:05}.{}", if i % 2 == 0 { "*" } else { "y" })),
        list(|i| format!("s{i:05}.{}", if i % 4 == 0 { "u" } else { "x" }))
    ));
    let expected = (10..N).flat_map(|i| {
        let kept: &[&str] = match i % 4 {
            0 => &["y", "x"],
            2 => &["u", "y"],
            _ => &["y"],
        };
        kept.iter().map(move |v| format!("s{i:05}.{v}"))
    });
    assert!(names.into_iter().eq(expected));
}

#[test]
fn a_name_that_is_wrong_is_told_with_the_one_that_is_meant() {
    let text = ring(&format!("variables = [{} \"s12345.yy\"]", list(|i| format!("s{i:05}.y"))));
    let error = System::parse("system.toml", &text).and_then(|s| s.assemble()).map(|_| ()).unwrap_err();
    assert!(
        error.to_string().ends_with("no variable matches `s12345.yy`. Did you mean `s12345.y`?"),
        "{error}"
    );
}
