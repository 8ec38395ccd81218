//! Fault by fault: what the user gets. `docs/faults.md` is made of the rows of this test.

#![cfg(target_os = "linux")]

use crate::lab::{Lab, Ran, root};

/// What native code does, alone and between healthy neighbours.
struct Fault {
    /// As `trap2.c` numbers them.
    fault: u8,
    place: u8,
    what: &'static str,
    options: &'static [&'static str],
    code: i32,
    /// What the user is told.
    told: &'static str,
    /// Rows that are kept of the eleven of a whole run.
    rows: usize,
}

const INITIALIZATION: u8 = 1;
const STEP: u8 = 2;
const TERMINATE: u8 = 3;
const FREE: u8 = 4;
const EVERY_STEP: u8 = 5;

const fn fault(
    fault: u8,
    place: u8,
    what: &'static str,
    code: i32,
    told: &'static str,
    rows: usize,
) -> Fault {
    Fault { fault, place, what, options: &[], code, told, rows }
}

const fn limited(options: &'static [&'static str], fault: Fault) -> Fault {
    Fault { options, ..fault }
}

const IN_STEP: &str = "`trap`: `fmi2DoStep` at t = 0.5 s";

const FAULTS: &[Fault] = &[
    fault(1, STEP, "segmentation fault in a step", 5, "crashed with SIGSEGV", 6),
    fault(2, STEP, "`abort`, as by an uncaught C++ exception", 5, "crashed with SIGABRT", 6),
    fault(3, STEP, "stack overflow", 5, "stack overflow)", 6),
    fault(10, STEP, "division by zero", 5, "crashed with SIGFPE", 6),
    fault(11, STEP, "illegal instruction", 5, "crashed with SIGILL", 6),
    fault(4, STEP, "`exit(0)` in a step", 5, "ended the process with exit code 0", 6),
    fault(5, STEP, "`_exit(0)` in a step", 5, "ended the process with exit code 0", 6),
    fault(
        6,
        STEP,
        "killed with SIGKILL, also by the system when memory is short",
        5,
        "crashed with SIGKILL",
        6,
    ),
    fault(28, STEP, "`pthread_exit` in a step", 5, "crashed with SIGABRT", 6),
    fault(29, STEP, "an exception leaves the step", 5, "crashed with SIGABRT", 6),
    fault(31, STEP, "sends SIGTERM to its process", 5, "crashed with SIGTERM", 6),
    fault(25, STEP, "logs, then crashes", 5, "its last messages: one | two | three", 6),
    fault(16, STEP, "leaves a process behind, then crashes", 5, "crashed with SIGSEGV", 6),
    fault(
        1,
        INITIALIZATION,
        "segmentation fault in the initialization",
        5,
        "`trap`: `fmi2SetupExperiment or fmi2EnterInitializationMode` crashed with SIGSEGV",
        0,
    ),
    fault(
        1,
        TERMINATE,
        "segmentation fault in `fmi2Terminate`",
        0,
        "warning: after the run was complete: `trap`: `fmi2Terminate` crashed",
        11,
    ),
    fault(
        2,
        FREE,
        "`abort` in `fmi2FreeInstance`",
        0,
        "warning: after the run was complete: `trap`: `fmi2FreeInstance` crashed",
        11,
    ),
    limited(
        &["--call-timeout", "0.5"],
        fault(8, STEP, "hangs, busy", 6, "takes longer than the 0.5 s of --call-timeout", 6),
    ),
    limited(
        &["--timeout", "0.5"],
        fault(
            9,
            STEP,
            "hangs, asleep, with all signals blocked",
            6,
            "takes longer than the 0.5 s of --timeout",
            6,
        ),
    ),
    limited(
        &["--call-timeout", "0.5"],
        fault(
            14,
            STEP,
            "catches its own SIGSEGV and hangs there",
            6,
            "takes longer than the 0.5 s of --call-timeout",
            6,
        ),
    ),
    fault(7, STEP, "stops its process (SIGSTOP)", 6, "was stopped by a signal and does not continue", 6),
    limited(
        &["--memory-limit", "150MB"],
        fault(17, STEP, "takes memory for ever", 5, "more than the 150 MB of --memory-limit", 6),
    ),
    fault(
        12,
        STEP,
        "closes all files of the process",
        5,
        "closed, limited or damaged files of its process",
        6,
    ),
    fault(
        13,
        STEP,
        "sets the limit of file sizes to 0",
        5,
        "closed, limited or damaged files of its process",
        6,
    ),
    fault(
        32,
        STEP,
        "puts other files in the place of those of the process",
        5,
        "closed, limited or damaged files of its process",
        6,
    ),
    fault(
        37,
        STEP,
        "writes into files of the process",
        5,
        "closed, limited or damaged files of its process",
        6,
    ),
    fault(34, STEP, "writes over memory of the engine", 5, "wrote over memory of the engine", 7),
    fault(15, STEP, "leaves a process behind", 0, "", 11),
    fault(30, STEP, "forks, and its copy goes on", 0, "", 11),
    fault(38, EVERY_STEP, "starts another program and waits for it", 0, "", 11),
    fault(
        18,
        EVERY_STEP,
        "changes the rounding mode",
        0,
        "warning: `trap` changes the rounding mode, flushes denormals or traps exceptions; restored",
        11,
    ),
    fault(
        19,
        EVERY_STEP,
        "flushes denormals to zero",
        0,
        "warning: `trap` changes the rounding mode, flushes denormals or traps exceptions; restored",
        11,
    ),
    fault(
        33,
        EVERY_STEP,
        "traps floating-point exceptions",
        0,
        "warning: `trap` changes the rounding mode, flushes denormals or traps exceptions; restored",
        11,
    ),
    fault(
        20,
        EVERY_STEP,
        "changes the working directory",
        0,
        "warning: `trap` changes the working directory of the process; restored",
        11,
    ),
    fault(
        36,
        EVERY_STEP,
        "changes the permissions of new files",
        0,
        "warning: `trap` changes the permissions of new files (umask); restored",
        11,
    ),
    fault(21, EVERY_STEP, "changes the locale", 0, "warning: `trap` changes the locale of the process", 11),
    fault(
        22,
        EVERY_STEP,
        "ignores signals",
        0,
        "warning: `trap` changes what signals do to the process; restored",
        11,
    ),
    fault(24, EVERY_STEP, "blocks signals", 0, "warning: `trap` blocks signals; restored", 11),
    fault(
        23,
        EVERY_STEP,
        "handles SIGSEGV by itself",
        0,
        "warning: `trap` handles faults such as SIGSEGV by itself, which is left alone",
        11,
    ),
];

const ALONE: &str = r#"[simulation]
stop = 1.0
step = 0.1
[subsystems.trap]
fmu = "trap"
parameters = { fault = FAULT, place = PLACE }
[inputs]
"trap.u" = 1.0
"#;

const NEIGHBOURS: &str = r#"
[subsystems.before]
fmu = "healthy"
[subsystems.zafter]
fmu = "healthy"
[[connections]]
from = "trap.x"
to = "zafter.u"
convert_units = false
"#;

impl Fault {
    fn check(&self, lab: &Lab, arrangement: &str) {
        let system =
            arrangement.replace("FAULT", &self.fault.to_string()).replace("PLACE", &self.place.to_string());
        lab.write("system.toml", system);
        let ran = lab.run(self.options);
        let what = self.what;
        assert_eq!(ran.code, self.code, "{what}: {}", ran.err);
        // In a build with debug assertions the standard library aborts over a descriptor that was closed elsewhere.
        let aborts = self.fault == 12 && cfg!(debug_assertions) && ran.err.contains("SIGABRT");
        assert!(aborts || ran.err.contains(self.told), "{what}: `{}` in {}", self.told, ran.err);
        assert!(!self.told.is_empty() || !ran.err.contains("`trap`"), "{what}: {}", ran.err);
        // Who wrote over what says who it was is unknown, and whose line is in a file.
        if self.place == STEP && self.code != 0 && !matches!(self.fault, 34 | 37) {
            assert!(ran.err.contains(IN_STEP), "{what}: {}", ran.err);
        }
        // Without files rows are still computed, and kept.
        let (kept, without_files) =
            (lab.results().column("time").len(), matches!(self.fault, 12 | 13 | 32 | 37));
        assert!(kept == self.rows || without_files && kept > self.rows, "{what}: {kept} rows, {}", ran.err);
        assert_eq!(lab.summary()["outcome"] == "finished", self.code == 0, "{what}");
    }
}

/// What the user gives: the arguments, the exit code and what is told.
struct Given {
    what: &'static str,
    arguments: &'static [&'static str],
    /// What is replaced in the model description of `bad`, by what.
    edit: Option<(&'static str, &'static str)>,
    code: i32,
    told: &'static str,
}

const fn given(
    what: &'static str,
    arguments: &'static [&'static str],
    code: i32,
    told: &'static str,
) -> Given {
    Given { what, arguments, edit: None, code, told }
}

const fn edited(
    what: &'static str,
    from: &'static str,
    to: &'static str,
    code: i32,
    told: &'static str,
) -> Given {
    let arguments = &["run", "bad", "-d", "0.1", "--output-dir", "out", "--overwrite"];
    Given { what, arguments, edit: Some((from, to)), code, told }
}

const GIVEN: &[Given] = &[
    given(
        "an endless file as a table",
        &["run", "bad", "--input", "/dev/zero"],
        3,
        "/dev/zero is not a text file (UTF-8)",
    ),
    given("an endless file as a system", &["run", "/dev/zero"], 3, "/dev/zero is not a text file (UTF-8)"),
    given(
        "a table of 4 TB of zeros",
        &["compare", "huge.csv", "huge.csv"],
        3,
        "huge.csv is not a text file (UTF-8)",
    ),
    given("a pipe as an FMU", &["inspect", "pipe.fmu"], 3, "it is a device or a pipe"),
    given(
        "something else as an FMU",
        &["inspect", "bad/modelDescription.xml"],
        3,
        "it is not a readable zip file",
    ),
    edited(
        "a start value that is no number",
        "start=\"0.5\"",
        "start=\"half\"",
        3,
        "modelDescription.xml:16: the start value `half` of `d` is not a number",
    ),
    edited(
        "a start value NaN of a parameter or an input",
        "start=\"0.5\"",
        "start=\"NaN\"",
        3,
        "modelDescription.xml:16: the start value `NaN` of a parameter `d` is not a finite number",
    ),
    edited(
        "a start value with a decimal comma",
        "start=\"0.5\"",
        "start=\"0,5\"",
        0,
        "modelDescription.xml:16: `start` is `0,5`, read as 0.5",
    ),
    edited(
        "an infinite parameter",
        "start=\"0.5\"",
        "start=\"INF\"",
        0,
        "modelDescription.xml:16: the start value of a parameter `d` is inf",
    ),
    edited(
        "two variables of one name",
        "name=\"d\"",
        "name=\"k\"",
        3,
        "modelDescription.xml:16: duplicate variable name `k`",
    ),
    edited(
        "two lists of variables",
        "</ModelVariables>",
        "</ModelVariables><ModelVariables/>",
        3,
        "duplicate element `ModelVariables`",
    ),
    edited(
        "a null character in a name",
        "name=\"d\"",
        "name=\"&#0;\"",
        3,
        "modelDescription.xml:16: not well-formed XML",
    ),
    edited(
        "a document type declaration",
        "<fmiModelDescription",
        "<!DOCTYPE x>\n<fmiModelDescription",
        3,
        "document type declarations are not supported",
    ),
    edited(
        "a name of a library that leaves its folder",
        "modelIdentifier=\"integrator2\"",
        "modelIdentifier=\"../x\"",
        3,
        "is not a file name",
    ),
];

impl Given {
    fn check(&self, lab: &Lab) {
        let xml = std::fs::read_to_string(root().join("crates/fmi/tests/fmus/integrator2.xml")).unwrap();
        let (from, to) = self.edit.unwrap_or_default();
        assert!(xml.contains(from), "{from}");
        lab.write("bad/modelDescription.xml", if from.is_empty() { xml } else { xml.replacen(from, to, 1) });
        let Ran { code, err, .. } = lab.powerbond(self.arguments);
        assert_eq!(code, self.code, "{}: {err}", self.what);
        assert!(err.contains(self.told), "{}: `{}` in {err}", self.what, self.told);
    }
}

/// `docs/faults.md` from the line of its first table on.
fn page() -> String {
    let mut page = String::from(
        "| what an FMU does | options | exit code | what you are told | rows kept |\n|---|---|---|---|---|\n",
    );
    for Fault { fault, what, options, code, told, rows, .. } in FAULTS {
        let rows = match rows {
            11 => "all".to_owned(),
            0 => "there are none yet".to_owned(),
            // That step returned, and the worker ended after it.
            _ if *fault == 34 => "all up to the end of that step".to_owned(),
            _ => "all up to the failure".to_owned(),
        };
        let options = if options.is_empty() { String::new() } else { format!("`{}`", options.join(" ")) };
        let told = match (told.is_empty(), fault) {
            (true, 38) => "nothing".to_owned(),
            (true, _) => "nothing: they are ended with the run".to_owned(),
            (false, _) => quoted(told),
        };
        page += &format!("| {what} | {options} | {code} | {told} | {rows} |\n");
    }
    page += "\n| what you give | exit code | what you are told |\n|---|---|---|\n";
    for Given { what, code, told, .. } in GIVEN {
        page += &format!("| {what} | {code} | {} |\n", quoted(told));
    }
    page
}

fn quoted(text: &str) -> String {
    format!("{}, …", text.replace('|', "\\|"))
}

/// With the environment variable `POWERBOND_WRITE_DOCS` the page is written instead.
#[test]
fn the_page_of_faults_is_what_the_tests_check() {
    let path = root().join("docs/faults.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let start = text.find("| what an FMU does").expect("the first table");
    if std::env::var_os("POWERBOND_WRITE_DOCS").is_some() {
        std::fs::write(&path, format!("{}{}", &text[..start], page())).unwrap();
        return;
    }
    assert!(text[start..] == page(), "run this test with POWERBOND_WRITE_DOCS=1 to write docs/faults.md");
}

#[test]
fn faults_between_healthy_neighbours_are_contained() {
    let lab = Lab::new();
    lab.place("integrator2", "healthy");
    lab.place("trap2", "trap");
    let between = format!("{ALONE}{NEIGHBOURS}").replace("[inputs]\n\"trap.u\" = 1.0\n", "")
        + "[[connections]]\nfrom = \"before.x\"\nto = \"trap.u\"\nconvert_units = false\n[inputs]\n\"before.u\" = 1.0\n";
    FAULTS.iter().for_each(|fault| fault.check(&lab, &between));
}

#[test]
fn faults_of_an_fmu_alone_are_contained() {
    let lab = Lab::new();
    lab.place("trap2", "trap");
    FAULTS.iter().for_each(|fault| fault.check(&lab, ALONE));
}

#[test]
fn files_that_are_wrong_are_refused_or_warned_of() {
    let lab = Lab::new();
    lab.place("integrator2", "bad");
    lab.write("huge.csv", "time,x\n0,1\n");
    let huge = std::fs::File::options().write(true).open(lab.dir.join("huge.csv")).unwrap();
    huge.set_len(4 << 40).unwrap();
    let fifo = std::process::Command::new("mkfifo").arg(lab.dir.join("pipe.fmu")).status().unwrap();
    assert!(fifo.success());
    GIVEN.iter().for_each(|given| given.check(&lab));
}
