//! The project's own C FMUs in the command: what exporters do not do.

use crate::lab::{Lab, edit, root};
use std::process::Command;

/// Puts the FMU `name` of `crates/fmi/tests/fmus` into a lab, as an unpacked folder, its description changed by `change`.
fn place(lab: &Lab, name: &str, folder: &str, change: impl Fn(String) -> String) {
    let sources = root().join("crates/fmi/tests/fmus");
    let platform = if name.ends_with('3') { "x86_64-linux" } else { "linux64" };
    let binaries = lab.dir.join(folder).join("binaries").join(platform);
    std::fs::create_dir_all(&binaries).unwrap();
    let status = Command::new("cc")
        .args(["-O2", "-shared", "-fPIC", "-o"])
        .arg(binaries.join(format!("{name}.so")))
        .arg(sources.join(format!("{name}.c")))
        .arg("-lm")
        .status()
        .expect("a C compiler called `cc` is needed");
    assert!(status.success(), "{name}.c does not compile");
    let xml = std::fs::read_to_string(sources.join(format!("{name}.xml"))).unwrap();
    lab.write(&format!("{folder}/modelDescription.xml"), change(xml));
}

/// Two integrators in a ring: x' = y, y' = −x.
const RING: &str = r#"[simulation]
stop = 1.0
step = 0.1
[subsystems.a]
fmu = "a"
[subsystems.b]
fmu = "b"
[[connections]]
from = "a.x"
to = "b.u"
convert_units = false
[[connections]]
from = "b.x"
to = "a.u"
gain = -1.0
convert_units = false
"#;

#[test]
fn strict_checks_refuse_what_is_understood_all_the_same() {
    let lab = Lab::with(RING);
    place(&lab, "integrator2", "a", |xml| xml);
    place(&lab, "integrator3", "b", |xml| xml);
    let clean = lab.powerbond(&["check", "system.toml", "--strict"]);
    assert_eq!(clean.code, 0, "{}", clean.err);
    assert!(!clean.out.contains("finding"), "{}", clean.out);

    let odd = |xml: String| {
        let xml = edit(&xml, "<CoSimulation ", "<CoSimulation isFriendly=\"true\" ");
        edit(&xml, "nominal=\"10\"", "nominal=\"1,0\"")
    };
    place(&lab, "integrator2", "a", odd);
    let line = |part: &str| {
        let text = std::fs::read_to_string(lab.dir.join("a/modelDescription.xml")).unwrap();
        1 + text.lines().position(|l| l.contains(part)).unwrap()
    };
    let tolerant = lab.powerbond(&["check", "system.toml"]);
    assert_eq!(tolerant.code, 0, "{}", tolerant.err);
    assert!(tolerant.out.contains("2 finding(s)"), "{}", tolerant.out);
    let strict = lab.powerbond(&["check", "system.toml", "--strict"]);
    assert_eq!(strict.code, 3, "{}", strict.err);
    for wanted in [
        format!("finding: a: modelDescription.xml:{}: ", line("isFriendly")),
        format!("finding: a: modelDescription.xml:{}: `nominal` is `1,0`", line("1,0")),
        "system.toml: 2 finding(s) with --strict".to_owned(),
    ] {
        assert!(strict.err.contains(&wanted), "`{wanted}` in\n{}", strict.err);
    }
    let document = lab.powerbond(&["check", "system.toml", "--strict", "--json"]);
    assert_eq!((document.code, &document.json()["findings"][0]["line"]), (3, &line("isFriendly").into()));
}
