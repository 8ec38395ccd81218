//! A trap among healthy FMUs, for the tests of what a fault leaves: which one, when, and in whose process.

#![cfg(target_os = "linux")]

use crate::lab::{Lab, Ran};
use std::time::{Duration, Instant};

/// A trap between healthy neighbours, steps of 0.1 s.
pub const SYSTEM: &str = r#"[simulation]
stop = 1.0
step = 0.1
[subsystems.before]
fmu = "healthy"
[subsystems.trap]
fmu = "trap"
parameters = { fault = FAULT, place = PLACE }
[subsystems.zafter]
fmu = "healthy"
[[connections]]
from = "before.x"
to = "trap.u"
convert_units = false
[[connections]]
from = "trap.x"
to = "zafter.u"
convert_units = false
[inputs]
"before.u" = 1.0
"#;

pub const IN_INITIALIZATION: u8 = 1;
pub const IN_A_STEP: u8 = 2;
pub const AT_THE_END: u8 = 3;
pub const WHEN_FREED: u8 = 4;
pub const AFTER_EVERY_STEP: u8 = 5;
pub const IN_SET: u8 = 6;
pub const IN_GET: u8 = 7;
pub const IN_A_SHORT_STEP: u8 = 8;

/// A lab with [`SYSTEM`], or one made of it, whose trap has this fault at this place.
pub fn trap_in(system: &str, fault: u8, place: u8) -> Lab {
    let lab = Lab::with(&system.replace("FAULT", &fault.to_string()).replace("PLACE", &place.to_string()));
    lab.place("integrator2", "healthy");
    lab.place("trap2", "trap");
    std::fs::create_dir(lab.dir.join("tmp")).unwrap();
    lab
}

/// The name of what marks the processes of a lab in their environment; its value is the folder.
pub const MARK: &str = "POWERBOND_TEST_MARK";

/// Processes of a lab that were started with its [`MARK`].
pub fn living(lab: &Lab) -> usize {
    let marked = format!("{MARK}={}", lab.dir.display());
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let ours = processes.filter(|p| {
        let environment = std::fs::read(p.path().join("environ")).unwrap_or_default();
        environment.split(|b| *b == 0).any(|entry| entry == marked.as_bytes())
    });
    ours.count()
}

/// Runs it, and how long that took; nothing that it started lives on.
#[track_caller]
pub fn run(lab: &Lab, options: &[&str]) -> (Ran, Duration) {
    let arguments = [&["run", "system.toml", "--output-dir", "out", "--overwrite"], options].concat();
    let begun = Instant::now();
    let mut command = lab.command(&arguments);
    let output = command.env("TMPDIR", lab.dir.join("tmp")).env(MARK, &lab.dir).output().unwrap();
    let elapsed = begun.elapsed();
    assert_eq!(living(lab), 0, "{}", String::from_utf8_lossy(&output.stderr));
    (Ran::new(output), elapsed)
}

/// So many rows, a summary that says `failed`, no temporary folder.
#[track_caller]
pub fn everything_is_kept(lab: &Lab, ran: &Ran, words: &[&str], rows: usize) {
    for word in words {
        assert!(ran.err.contains(word), "`{word}` in\n{}", ran.err);
    }
    assert_eq!(lab.results().column("time").len(), rows, "{}", ran.err);
    assert!(lab.energy().rows.len() + 1 >= rows);
    let summary = lab.summary();
    assert_eq!(summary["outcome"], "failed", "{}", ran.err);
    assert_eq!(summary["verdict"]["word"], "unreliable");
    assert_eq!(summary["failure"]["subsystem"], "trap", "{}", summary["failure"]);
    assert!(ran.err.contains(summary["error"].as_str().unwrap()), "{}", ran.err);
    assert_eq!(std::fs::read_dir(lab.dir.join("tmp")).unwrap().count(), 0, "temporary folders");
}
