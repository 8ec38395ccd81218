//! What people see: lines that fit the terminal, colours only where they are wanted, a bar that fits, the way to the report, and
//! tips for what was typed wrong.

use crate::lab::{EXAMPLE, Lab, Ran, plain, root};
use std::process::{Command, Stdio};

/// The longest line, in characters; escapes take no room.
fn widest(text: &str) -> (usize, String) {
    let lines = text.split(['\n', '\r']).map(bare);
    lines.map(|line| (line.chars().count(), line)).max().unwrap_or_default()
}

/// Without escape sequences.
fn bare(line: &str) -> String {
    let mut out = String::new();
    let mut letters = line.chars();
    while let Some(c) = letters.next() {
        if c == '\x1b' {
            letters.by_ref().find(|c| c.is_ascii_alphabetic());
        } else {
            out.push(c);
        }
    }
    out
}

/// Whether a program is there; tests that need it are skipped without, and say so.
fn is_there(program: &str) -> bool {
    let found =
        Command::new("sh").args(["-c", &format!("command -v {program}")]).stdout(Stdio::null()).status();
    let found = found.is_ok_and(|status| status.success());
    if !found {
        eprintln!("SKIPPED: `{program}` is not installed");
    }
    found
}

/// Everything that a command writes to a pseudo-terminal of 80 columns.
fn on_terminal(lab: &Lab, arguments: &str, variables: &[(&str, &str)]) -> Option<String> {
    if !is_there("script") {
        return None;
    }
    let typed = format!("stty cols 80 rows 24; {} {arguments}", env!("CARGO_BIN_EXE_powerbond"));
    let mut command = Command::new("script");
    command.args(["-qec", &typed, "/dev/null"]).current_dir(&lab.dir).stdin(Stdio::null());
    command.env("TERM", "xterm").env_remove("NO_COLOR").env_remove("COLUMNS").envs(variables.iter().copied());
    let output = command.output().unwrap();
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// In a pipe, with `COLUMNS=80`.
fn in_columns(lab: &Lab, arguments: &[&str]) -> Ran {
    Ran::new(lab.command(arguments).env("COLUMNS", "80").output().unwrap())
}

fn examples() -> String {
    root().join("examples").display().to_string()
}

#[test]
fn every_command_fits_80_columns() {
    let lab = Lab::new();
    // Paths are never broken: those in the output are short.
    std::os::unix::fs::symlink(examples(), lab.dir.join("e")).unwrap();
    let check = |arguments: &[&str]| {
        let ran = in_columns(&lab, arguments);
        for text in [&ran.out, &ran.err] {
            let (width, line) = widest(text);
            assert!(width <= 80, "{arguments:?}: {width} columns: {line}");
        }
        assert!(!ran.out.is_empty(), "{arguments:?}: {}", ran.err);
    };
    for example in ["quarter-car", "oscillator", "crane", "pendula"] {
        let path = format!("e/{example}");
        check(&["run", &path, "--output-dir", example]);
        check(&["run", &path, "--tolerance", "1e-2", "--output-dir", &format!("{example}-auto")]);
        check(&["check", &path]);
        check(&["compare", example, &format!("{example}-auto")]);
    }
    check(&["run", "e/quarter-car", "--verify=quarters", "--output-dir", "verified"]);
    check(&["methods"]);
    check(&["methods", "quarter-car/chassis"]);
    check(&["bench", "list"]);
    check(&["export", "quarter-car/chassis", "--output", "c.fmu"]);
    check(&["inspect", "c.fmu"]);
    check(&["inspect", "c.fmu", "--all", "--probe"]);
    check(&["tune", "e/oscillator", "--budget", "2", "--output-dir", "tuned"]);
    check(&["stability", "e/quarter-car", "--points", "3", "--output-dir", "stable"]);
    for verb in [
        "run",
        "check",
        "inspect",
        "report",
        "compare",
        "tune",
        "stability",
        "bench",
        "export",
        "methods",
        "man",
    ] {
        check(&[verb, "--help"]);
    }
}

/// What other programs search stays in whole lines.
#[test]
fn pipes_get_whole_lines() {
    let lab = Lab::with(EXAMPLE);
    let ran = Ran::new(lab.command(&["run", "system.toml"]).env_remove("COLUMNS").output().unwrap());
    assert!(widest(&ran.out).0 > 100, "{}", ran.out);
    assert!(!ran.out.contains('\x1b'));
    let header = ran.out.lines().find(|line| line.contains("transmitted")).unwrap();
    assert!(header.contains("worst |δP|"), "{header}");
}

#[test]
fn a_terminal_of_80_columns_is_not_overrun_and_gets_colours() {
    let lab = Lab::with(EXAMPLE);
    let Some(seen) = on_terminal(&lab, "run system.toml --output-dir out --overwrite", &[]) else { return };
    let (width, line) = widest(&seen);
    assert!(width <= 80, "{width} columns: {line}");
    assert!(seen.contains("\x1b[1;33mCHECK\x1b[0m: error about"), "{seen}");
    assert!(seen.contains("suspension"), "{seen}");
    for variables in [&[("NO_COLOR", "1")], &[("TERM", "dumb")], &[("CLICOLOR", "0")]] {
        let seen = on_terminal(&lab, "run system.toml --output-dir out --overwrite", variables).unwrap();
        assert!(seen.contains("CHECK: error about") && !seen.contains("\x1b[1;33m"), "{variables:?}: {seen}");
    }
    // JSON is for machines, also on a terminal.
    let seen = on_terminal(&lab, "run system.toml --output-dir out --overwrite --json", &[]).unwrap();
    let last = seen.lines().rev().find(|line| !line.trim().is_empty()).unwrap();
    assert!(serde_json::from_str::<serde_json::Value>(last.trim()).is_ok(), "{last}");
}

#[test]
fn colours_can_be_forced_and_are_those_of_the_word() {
    let lab = Lab::with(plain());
    let first = |options: &[&str], forced: &str| {
        let arguments = [&["run", "system.toml", "--output-dir", "out", "--overwrite"], options].concat();
        let mut command = lab.command(&arguments);
        Ran::new(command.env_remove("NO_COLOR").env("CLICOLOR_FORCE", forced).output().unwrap()).out
    };
    assert!(first(&["-s", "2e-2"], "1").starts_with("\x1b[1;31mUNRELIABLE\x1b[0m: "));
    assert!(first(&["-s", "1e-3", "-e", "0.005"], "1").starts_with("\x1b[1;36mNOT JUDGED\x1b[0m: "));
    assert!(first(&["-s", "2e-2"], "0").starts_with("UNRELIABLE: "));
}

/// The bar used to be longer than a line and to fill the terminal with copies of itself. As tmux shows it.
#[test]
fn the_bar_fits_80_columns_and_says_what_is_to_come() {
    if !is_there("tmux") {
        return;
    }
    let lab = Lab::with(EXAMPLE);
    let server = format!("powerbond-{}", std::process::id());
    let tmux = |arguments: &[&str]| {
        let output = Command::new("tmux")
            .args(["-L", &server])
            .args(arguments)
            .current_dir(&lab.dir)
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let typed = format!(
        "{} run system.toml --tolerance 1e-12 -e 4000 --timeout 60 --output-dir out; sleep 60",
        env!("CARGO_BIN_EXE_powerbond")
    );
    tmux(&["new-session", "-d", "-x", "80", "-y", "24", &typed]);
    let mut seen = String::new();
    for _ in 0..200 {
        std::thread::sleep(std::time::Duration::from_millis(50));
        seen = tmux(&["capture-pane", "-p"]);
        if seen.contains(" left") {
            break;
        }
    }
    // Some more frames.
    std::thread::sleep(std::time::Duration::from_millis(500));
    let later = tmux(&["capture-pane", "-p"]);
    tmux(&["kill-server"]);
    for text in [&seen, &later] {
        let bars: Vec<&str> = text.lines().filter(|line| line.contains("t = ")).collect();
        assert_eq!(bars.len(), 1, "{text}");
        for part in [" %  t = ", " left", "× real time", " rows, "] {
            assert!(bars[0].contains(part), "no `{part}` in {}", bars[0]);
        }
    }
}

#[test]
fn the_last_line_leads_to_the_report() {
    let lab = Lab::with(EXAMPLE);
    let last = |options: &[&str]| lab.run(options).out.lines().last().unwrap_or_default().to_owned();
    assert_eq!(last(&[]), "report: powerbond report out");
    assert_eq!(last(&["--report"]), "report: out/report.html");
    assert!(lab.dir.join("out/report.html").is_file());
    assert_eq!(last(&["--quiet"]), "");
}

#[test]
fn run_without_a_system_takes_the_folder_at_hand() {
    let lab = Lab::with(EXAMPLE);
    for verb in ["run", "check"] {
        let ran = lab.powerbond(&[verb]);
        assert_eq!(ran.code, 0, "{}", ran.err);
    }
    let lab = Lab::new();
    let said = |text: &str| {
        let ran = lab.powerbond(&["run"]);
        assert_eq!(ran.code, 3, "{}", ran.err);
        assert!(ran.err.contains("no system.toml in "), "{}", ran.err);
        assert!(ran.err.contains(text), "{}", ran.err);
    };
    said("Name a system file, a folder with a system.toml or an FMU");
    lab.write("pump.fmu", "");
    said("Did you mean `powerbond run pump.fmu`?");
    lab.write("two words.toml", "");
    said("Name one of what is there: `powerbond run pump.fmu`, `powerbond run \"two words.toml\"`");
    lab.write("valve.fmu", "");
    said("; `powerbond new` makes a system of FMUs");
}

#[test]
fn verbs_of_other_tools_and_typing_errors_get_a_tip() {
    let lab = Lab::with(EXAMPLE);
    for (typed, tip) in [
        ("simulate", "'run'"),
        ("start", "'run'"),
        ("rnu", "'run'"),
        ("compair", "'compare'"),
        ("chekc", "'check'"),
        ("plot", "'report'"),
        ("system.toml", "type 'powerbond run system.toml'"),
    ] {
        let ran = lab.powerbond(&[typed]);
        assert_eq!(ran.code, 2, "{typed}: {}", ran.err);
        assert!(ran.err.contains("tip: ") && ran.err.contains(tip), "{typed}: {}", ran.err);
    }
    let ran = lab.powerbond(&["run", "--tolerence", "1e-4"]);
    assert!(ran.code == 2 && ran.err.contains("'--tolerance'"), "{}", ran.err);
    assert_eq!(lab.powerbond(&["validate", "system.toml"]).code, 0);
}

/// Bash itself completes with it: verbs, options and files.
#[test]
fn completions_are_understood_by_their_shells() {
    let lab = Lab::with(EXAMPLE);
    let script = |shell: &str| {
        let ran = lab.powerbond(&["completions", shell]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        lab.write(shell, &ran.out);
        ran.out
    };
    for shell in ["bash", "zsh", "fish"] {
        script(shell);
        if is_there(shell) {
            let read = Command::new(shell).args(["-n", shell]).current_dir(&lab.dir).output().unwrap();
            assert!(read.status.success(), "{shell}: {}", String::from_utf8_lossy(&read.stderr));
        }
    }
    assert!(script("powershell").contains("Register-ArgumentCompleter -Native -CommandName 'powerbond'"));
    let complete = |line: &str| {
        let words = line.split(' ').map(|word| format!("'{word}'")).collect::<Vec<_>>();
        let (n, now) = (words.len() - 1, words.last().unwrap());
        let before = &words[words.len() - 2];
        let typed = format!(
            "source ./bash; COMP_WORDS=({}); COMP_CWORD={n}; _powerbond powerbond {now} {before}; \
             printf '%s\\n' \"${{COMPREPLY[@]}}\"",
            words.join(" ")
        );
        let done = Command::new("bash").args(["-c", &typed]).current_dir(&lab.dir).output().unwrap();
        String::from_utf8_lossy(&done.stdout).lines().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(complete("powerbond st"), ["stability"]);
    assert_eq!(complete("powerbond run --toler"), ["--tolerance"]);
    assert_eq!(complete("powerbond run --method sys"), ["system.toml"]);
    assert_eq!(complete("powerbond run --format p"), ["parquet"]);
    // Names of what is inside of the command, where files would be of no use.
    assert_eq!(complete("powerbond new --example dc"), ["dc-motor"]);
    assert_eq!(complete("powerbond export oscillator/m"), ["oscillator/mass"]);
    assert_eq!(complete("powerbond bench arn"), ["arnold2013"]);
}

#[test]
fn pages_of_the_manual_are_rendered_without_a_complaint() {
    let lab = Lab::new();
    let ran = lab.powerbond(&["man", "--output-dir", "man1"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    for page in ["powerbond.1", "powerbond-run.1", "powerbond-check.1"] {
        assert!(lab.dir.join("man1").join(page).is_file(), "no {page}");
    }
    let printed = lab.powerbond(&["man", "run"]).out;
    assert!(printed.contains("\\-\\-tolerance") && printed.contains(".SH OPTIONS"), "{printed}");
    assert!(lab.powerbond(&["man", "rum"]).err.contains("Did you mean `run`?"));
    if is_there("groff") {
        for page in ["powerbond.1", "powerbond-run.1"] {
            let arguments = ["-man", "-Tutf8", "-ww", &format!("man1/{page}")];
            let shown = Command::new("groff").args(arguments).current_dir(&lab.dir).output().unwrap();
            let complaints = String::from_utf8_lossy(&shown.stderr).into_owned();
            assert!(shown.status.success() && complaints.is_empty(), "{page}: {complaints}");
            assert!(String::from_utf8_lossy(&shown.stdout).contains("powerbond"), "{page}");
        }
    }
}

/// A tolerance of 1e-12 used to write millions of rows in silence. The oscillator never comes to rest.
#[test]
fn a_tolerance_that_is_out_of_reach_is_told_early() {
    let lab = Lab::new();
    let oscillator = format!("{}/oscillator", examples());
    let run = |more: &[&str]| {
        lab.powerbond(&[&["run", &oscillator, "--output-dir", "out", "--overwrite"], more].concat())
    };
    let ran = run(&["--tolerance", "1e-12", "-e", "4000", "--timeout", "8"]);
    assert_eq!(ran.code, 6, "{}", ran.err);
    let said = ran.err.lines().find(|line| line.contains("at the pace so far"));
    let said = said.unwrap_or_else(|| panic!("{}", ran.err));
    for part in [
        "warning: ",
        " steps, ",
        " rows, ",
        "GB: ",
        "the tolerance 1e-12 is out of reach",
        "`--tolerance ",
        "`--output-interval ",
    ] {
        assert!(said.contains(part), "no `{part}` in {said}");
    }
    assert_eq!(ran.err.matches("at the pace so far").count(), 1, "{}", ran.err);
    let warnings = lab.summary()["warnings"].to_string();
    assert!(warnings.contains("at the pace so far"), "{warnings}");
    // It is not said of a run that is within reach, nor to those who want silence.
    let ran = run(&["--tolerance", "1e-2"]);
    assert!(ran.code == 0 && !ran.err.contains("pace"), "{}", ran.err);
    let ran = run(&["--tolerance", "1e-12", "-e", "4000", "--timeout", "4", "--quiet"]);
    assert!(!ran.err.contains("pace"), "{}", ran.err);
}
