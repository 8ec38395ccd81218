//! Which crate may use which: what the command does, everybody can do with the public library.

use std::path::{Path, PathBuf};

/// Every crate and the other crates of the workspace that it may depend on, those of its tests included.
const CRATES: &[(&str, &[&str])] = &[
    ("core", &["models"]),
    ("models", &["core"]),
    ("fmi", &["core"]),
    ("export", &["core", "models", "fmi", "models-fmu"]),
    ("models-fmu", &["export", "models"]),
    ("powerbond", &["core", "fmi", "models"]),
    ("worker", &["powerbond"]),
    ("bench", &["powerbond"]),
    ("py", &["powerbond", "worker", "cli"]),
    ("cli", &["powerbond", "worker", "bench", "export", "models-fmu"]),
];

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Folders and files in a folder, by name.
fn listed(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths
}

/// All source files below a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for path in listed(folder) {
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
    found
}

/// What a manifest calls other crates of the workspace: `powerbond` or what follows `powerbond-`.
fn dependencies(manifest: &str) -> Vec<&str> {
    let names = manifest.lines().filter_map(|line| line.split([' ', '.', '=']).next());
    names
        .filter(|name| name.starts_with("powerbond"))
        .map(|n| n.strip_prefix("powerbond-").unwrap_or(n))
        .collect()
}

#[test]
fn crates_depend_on_each_other_as_listed_and_only_the_command_on_bench() {
    let mut found = Vec::new();
    for folder in listed(&crates()) {
        let name = folder.file_name().expect("a name").to_string_lossy().into_owned();
        let Some((_, allowed)) = CRATES.iter().find(|(known, _)| *known == name) else {
            panic!("which crates may `{name}` depend on?");
        };
        for other in dependencies(&read(&folder.join("Cargo.toml"))) {
            assert!(allowed.contains(&other), "`{name}` must not depend on `{other}`");
        }
        found.push(name);
    }
    assert_eq!(found.len(), CRATES.len(), "{found:?}");
}

/// `powerbond::core`, `powerbond::models` and `powerbond::fmi` are public; the crates behind them are not the command's business.
#[test]
fn the_command_and_the_suites_use_the_public_library_only() {
    for folder in ["cli/src", "bench/src", "bench/tests"] {
        for path in sources(&crates().join(folder)) {
            for inner in ["powerbond_core", "powerbond_models::", "powerbond_fmi"] {
                assert!(!read(&path).contains(inner), "{}: `{inner}`", path.display());
            }
        }
    }
}

/// The caller says what is drawn, in plain data.
#[test]
fn pictures_know_nothing_of_the_library() {
    for path in sources(&crates().join("powerbond/src/picture")) {
        for outside in ["crate::", "powerbond_"] {
            assert!(!read(&path).contains(outside), "{}: `{outside}`", path.display());
        }
    }
}

/// A module of the library uses those that stand before it in `lib.rs` only: there are no cycles.
#[test]
fn modules_of_the_library_use_earlier_ones_only() {
    let source = crates().join("powerbond/src");
    let lib = read(&source.join("lib.rs"));
    let name = |line: &str| {
        let rest = line.strip_prefix("pub mod ").or_else(|| line.strip_prefix("mod "))?;
        rest.strip_suffix(';').map(str::to_owned)
    };
    let modules: Vec<String> = lib.lines().filter_map(name).collect();
    assert!(modules.len() > 12, "{modules:?}");
    for (place, module) in modules.iter().enumerate() {
        let folder = source.join(module);
        let file = source.join(format!("{module}.rs"));
        let files = if folder.is_dir() { sources(&folder) } else { vec![file] };
        for path in files.iter().filter(|path| path.file_stem().is_none_or(|stem| stem != "tests")) {
            let text = read(path);
            // Tests at the end of a file may use anything.
            let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
            for used in code.split("crate::").skip(1) {
                let used = used.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
                if let Some(other) = modules.iter().position(|m| m == used) {
                    assert!(other <= place, "{}: `{used}` stands after `{module}`", path.display());
                }
            }
        }
    }
}

/// What reports and tuning do, everybody can do: they use what the library shows.
#[test]
fn reports_and_tuning_use_what_is_public() {
    let lib = read(&crates().join("powerbond/src/lib.rs"));
    let hidden: Vec<&str> =
        lib.lines().filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';')).collect();
    for folder in ["tune", "report"] {
        for path in sources(&crates().join("powerbond/src").join(folder)) {
            let text = read(&path);
            let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
            for module in &hidden {
                assert!(!code.contains(&format!("crate::{module}::")), "{}: `{module}`", path.display());
            }
        }
    }
}
