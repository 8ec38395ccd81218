//! The README and the books: commands work, printed output is what comes out, every block of a system file is accepted.

use crate::lab::{EXAMPLE, Lab, edit, root};
use powerbond::catalogue;
use powerbond::core::subsystem::Causality;
use powerbond::models;
use std::path::Path;

const PAGES: &[&str] = &[
    "README.md",
    "docs/system-file.md",
    "docs/default-method.md",
    "docs/results.md",
    "docs/run.md",
    "docs/bonds.md",
    "docs/verdict.md",
    "docs/report.md",
    "docs/commands.md",
    "docs/exit-codes.md",
    "docs/how-to/tolerance.md",
    "docs/how-to/slow-fmus.md",
    "docs/how-to/noisy-fmus.md",
    "docs/how-to/events.md",
    "docs/how-to/multi-rate.md",
    "docs/how-to/ci.md",
    "docs/how-to/real-time.md",
    "docs/how-to/troubleshooting.md",
    "examples/quarter-car/README.md",
];
const MORE: &[&str] = &[
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "docs/faults.md",
    "docs/concepts.md",
    "docs/glossary.md",
    "docs/error-control.md",
    "docs/verdict-study.md",
    "docs/export.md",
    "docs/performance.md",
    "docs/python.md",
    "docs/stability.md",
    "docs/sweeps.md",
    "docs/tune.md",
    "examples/quarter-car/ssp/README.md",
    "examples/quarter-car/osp/README.md",
    "examples/quarter-car-dd/README.md",
    "examples/quarter-car-fd/README.md",
    "examples/oscillator/README.md",
    "examples/pendula/README.md",
    "examples/crane/README.md",
    "examples/own-model/README.md",
    "examples/dc-motor/README.md",
    "examples/hydraulic-cylinder/README.md",
    "examples/sampled-control/README.md",
    "examples/heated-tank/README.md",
    "examples/drive-train/README.md",
    "docs/tutorial.md",
    "docs/ssp-osp.md",
    "docs/SUMMARY.md",
    "docs/examples.md",
    "docs/accuracy.md",
    "docs/fmi.md",
    "docs/python.md",
    "docs/papers/README.md",
    "docs/migration/README.md",
    "docs/migration/fmpy.md",
    "docs/migration/libcosim.md",
    "docs/migration/omsimulator.md",
];

fn page(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).unwrap()
}

/// The fenced blocks of a language.
fn blocks(text: &str, language: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line == format!("```{language}") {
            let block: Vec<&str> = lines.by_ref().take_while(|l| *l != "```").collect();
            found.push(block.join("\n") + "\n");
        }
    }
    found
}

/// The system of the README.
fn readme_system() -> String {
    blocks(&page("README.md"), "toml").into_iter().next().expect("a system in the README")
}

/// A folder as a reader has it: the examples, a road, a system that is unstable with long steps.
fn desk() -> Lab {
    let lab = Lab::new();
    std::fs::create_dir_all(lab.dir.join("unstable")).unwrap();
    for example in ["quarter-car", "oscillator"].map(|name| format!("examples/{name}/system.toml")) {
        std::fs::create_dir_all(lab.dir.join(&example).parent().unwrap()).unwrap();
        lab.write(&example, page(&example));
    }
    lab.write("unstable/system.toml", readme_system().split("# input times").next().unwrap());
    lab.write("road.csv", "time,z\n0,0\n0.5,0\n0.6,0.1\n");
    for (language, file) in [("yaml", "scenario.yml"), ("xml", "heavy.ssv")] {
        lab.write(file, blocks(&page("docs/run.md"), language).concat());
    }
    lab
}

/// Whether printed lines fit shown ones: `…` is any text, alone on a line any number of lines.
fn fits(shown: &[&str], printed: &[&str]) -> bool {
    match (shown.split_first(), printed.split_first()) {
        (None, None) => true,
        (Some((&"…", rest)), _) => (0..=printed.len()).any(|n| fits(rest, &printed[n..])),
        (Some((line, rest)), Some((text, others))) => line_fits(line, text) && fits(rest, others),
        _ => false,
    }
}

fn line_fits(shown: &str, text: &str) -> bool {
    match shown.split_once('…') {
        None => shown == text,
        Some((before, after)) => text.strip_prefix(before).is_some_and(|rest| {
            rest.char_indices().map(|(i, _)| i).chain([rest.len()]).any(|i| line_fits(after, &rest[i..]))
        }),
    }
}

#[test]
fn console_blocks_print_what_they_show() {
    for name in PAGES {
        let lab = desk();
        for block in blocks(&page(name), "console") {
            let mut code = 0;
            for part in block.split("$ ").filter(|p| !p.trim().is_empty()) {
                let (command, shown) = part.split_once('\n').unwrap();
                let shown: Vec<&str> = shown.lines().collect();
                let arguments =
                    command.strip_prefix("cargo run --release -- ").or(command.strip_prefix("powerbond "));
                let printed = match (command, arguments) {
                    ("./test", _) => {
                        assert!(root().join("test").is_file());
                        continue;
                    }
                    ("echo $?", _) => format!("{code}\n"),
                    (_, Some(arguments)) => {
                        let ran = lab.powerbond(&arguments.split(' ').collect::<Vec<_>>());
                        code = ran.code;
                        ran.out + &ran.err
                    }
                    _ => panic!("{name}: this test cannot run `{command}`"),
                };
                let printed: Vec<&str> = printed.lines().collect();
                assert!(fits(&shown, &printed), "{name}: `{command}` printed\n{}", printed.join("\n"));
            }
        }
    }
}

/// A block that is no whole system replaces the tables of the same names in the README's system.
#[test]
fn blocks_of_system_files_run() {
    let base = readme_system();
    for name in PAGES {
        for block in blocks(&page(name), "toml") {
            let whole = block.starts_with("# system.toml\n");
            let lab = desk();
            lab.write("system.toml", if whole { block.clone() } else { merged(&base, &block) });
            let ran = lab.run(&[]);
            assert_eq!(ran.code, 0, "{name}: {}\n{block}", ran.err);
        }
    }
}

fn merged(base: &str, part: &str) -> String {
    let is_header = |line: &str| line.starts_with('[');
    let replaced: Vec<&str> = part.lines().filter(|l| is_header(l)).collect();
    assert!(!replaced.is_empty(), "no table in\n{part}");
    let mut keep = true;
    let mut text = String::new();
    for line in base.lines() {
        if is_header(line) {
            keep = !replaced.contains(&line);
        }
        if keep {
            text += line;
            text.push('\n');
        }
    }
    text + part
}

#[test]
fn the_table_of_methods_of_the_quarter_car_is_measured() {
    let readme = page("examples/quarter-car/README.md");
    let check = |method: &str, system: &str, options: &[&str]| {
        let lab = Lab::with(system);
        let ran = lab.run(options);
        assert_eq!(ran.code, 0, "{}", ran.err);
        let words: Vec<&str> =
            ran.out.lines().find(|l| l.contains("suspension ")).unwrap().split_whitespace().collect();
        let steps = &lab.summary()["steps"]["accepted"];
        let row = format!("| {method} | {steps} | {} {} | {} % |", words[5], words[6], words[8]);
        assert!(readme.contains(&row), "the table needs the row\n{row}");
    };
    let system = readme_system();
    check("constant step of 1 ms", &system, &["-s", "1e-3"]);
    check("ECCO", EXAMPLE, &[]);
    check("ECCO, inputs extrapolated (`hold = 1`)", &edit(EXAMPLE, "[method]", "[method]\nhold = 1"), &[]);
    let tolerance = ["--tolerance", "1e-3"];
    check("`--tolerance 1e-3`", EXAMPLE, &tolerance);
    let accurate = ["--set", "chassis.integrator=accurate", "--set", "wheel.integrator=accurate"];
    check("the same with accurate models", EXAMPLE, &[&tolerance[..], &accurate].concat());
}

#[test]
fn the_system_file_page_names_every_method_knob_and_model() {
    let page = page("docs/system-file.md");
    let check = |name: &str, of: &str| assert!(page.contains(&format!("`{name}`")), "`{name}` of {of}");
    for entry in catalogue::ALL.iter().filter(|e| e.kind != catalogue::Kind::Hold) {
        check(entry.name, entry.kind.key());
        entry.knobs.iter().for_each(|knob| check(knob.name, entry.name));
    }
    for model in models::ALL {
        let subsystem = model.build(&[]).unwrap();
        let list = |causality: Causality| {
            let wanted = subsystem.info().variables.iter().filter(|v| v.causality == causality);
            wanted.map(|v| format!("`{}`", v.name)).collect::<Vec<_>>().join(", ")
        };
        let [inputs, outputs, locals] = [Causality::Input, Causality::Output, Causality::Local].map(list);
        let row = format!("| `{}` | {inputs} | {outputs} | {locals} |", model.name);
        assert!(page.contains(&row), "the page needs the row\n{row}");
    }
}

/// The page about results names every key of a real summary.
/// `sweep` was missing in the list once.
#[test]
fn the_page_of_commands_names_every_verb() {
    let listed = page("docs/commands.md");
    let help = Lab::new().powerbond(&["--help"]).out;
    let verbs =
        help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let verb = |line: &str| {
        line.strip_prefix("  ")
            .filter(|line| !line.starts_with(' '))
            .map(|l| l.split(' ').next().unwrap().to_owned())
    };
    let verbs: Vec<String> = verbs.filter_map(verb).filter(|verb| verb != "help").collect();
    assert!(verbs.len() > 10, "{help}");
    for verb in verbs {
        assert!(
            listed.lines().any(|line| line.starts_with('|') && line.contains(&format!("`{verb}`"))),
            "{verb}"
        );
    }
}

#[test]
fn the_results_page_names_every_key() {
    let lab = Lab::with(EXAMPLE);
    lab.runs(&[]);
    let page = page("docs/results.md");
    let summary = lab.summary();
    for part in
        ["", "/time", "/steps", "/step_size", "/estimates/0", "/bonds/0", "/bonds/0/ports/0", "/subsystems/0"]
    {
        for key in summary.pointer(part).unwrap().as_object().unwrap().keys() {
            assert!(page.contains(&format!("`{key}`")), "{part}/{key}");
        }
    }
}

/// The anchor of a heading: lower case, hyphens for spaces, without punctuation.
fn anchor_of(heading: &str) -> String {
    let kept = |c: &char| c.is_alphanumeric() || " -_".contains(*c);
    heading
        .trim_start_matches(['#', ' '])
        .to_lowercase()
        .chars()
        .filter(kept)
        .collect::<String>()
        .replace(' ', "-")
}

/// Pages below a folder, by their names from the root.
fn pages_below(folder: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(root().join(folder)).unwrap() {
        let name = format!("{folder}/{}", entry.unwrap().file_name().to_string_lossy());
        if root().join(&name).is_dir() {
            found.extend(pages_below(&name));
        } else if name.ends_with(".md") {
            found.push(name);
        }
    }
    found
}

/// A page that is in no chapter is found by nobody, and one that is in no list here is checked by nobody.
#[test]
fn every_page_is_a_chapter_of_the_book_and_is_checked() {
    let summary = page("docs/SUMMARY.md");
    for name in pages_below("docs").iter().filter(|name| *name != "docs/SUMMARY.md") {
        let link = name.strip_prefix("docs/").unwrap();
        assert!(summary.contains(&format!("]({link})")), "{name} is missing in docs/SUMMARY.md");
        assert!(
            PAGES.iter().chain(MORE).any(|known| known == name),
            "{name} is in none of the lists of this file"
        );
    }
}

#[test]
fn links_lead_somewhere() {
    for name in PAGES.iter().chain(MORE) {
        let text = page(name);
        let folder = root().join(name);
        let folder = folder.parent().unwrap();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            assert!(path.starts_with("http") || Path::new(&folder.join(path)).exists(), "{name}: {link}");
            let heading = |line: &str| line.starts_with("##") && anchor_of(line) == anchor;
            let target = if path.is_empty() {
                text.clone()
            } else {
                std::fs::read_to_string(folder.join(path)).unwrap_or_default()
            };
            assert!(anchor.is_empty() || target.lines().any(heading), "{name}: {link}");
        }
    }
}
