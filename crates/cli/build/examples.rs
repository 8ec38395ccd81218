//! The examples of the repository: every folder of `examples/` with a system in it, without what is built there.

use std::fmt::Write;
use std::path::{Path, PathBuf};

/// What tools make in an example, and what belongs to a crate.
const MADE: [&str; 6] = ["target", "results", "build", "__pycache__", "binaries", ".git"];

/// Writes `examples.rs` for `src/embedded.rs`.
pub fn embed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    println!("cargo::rerun-if-changed={}", root.display());
    let mut text = "pub static EXAMPLES: &[Example] = &[\n".to_owned();
    let is_example =
        |path: &PathBuf| ["system.toml", "SystemStructure.ssd"].iter().any(|file| path.join(file).is_file());
    for folder in entries(&root).into_iter().filter(is_example) {
        // A crate has paths to its neighbours in the repository.
        if folder.join("Cargo.toml").is_file() {
            continue;
        }
        let about = about(&folder);
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        writeln!(text, "    Example {{ name: {name:?}, about: {about:?}, files: &[").expect("memory");
        for file in files(&folder) {
            println!("cargo::rerun-if-changed={}", file.display());
            let inside =
                file.strip_prefix(&folder).expect("below the folder").to_string_lossy().replace('\\', "/");
            let full = file.canonicalize().expect("a file");
            writeln!(text, "        ({inside:?}, include_bytes!({full:?})),").expect("memory");
        }
        text += "    ] },\n";
    }
    text += "];\n";
    let out = std::env::var_os("OUT_DIR").expect("set by Cargo");
    std::fs::write(Path::new(&out).join("examples.rs"), text)
        .expect("the folder of the build can be written");
}

/// What is in a folder, by name.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths
}

/// All files below a folder that were written by people.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for path in entries(folder) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let is_made = MADE.contains(&name.as_str())
            || [".fmu", ".ssp", ".so", ".o"].iter().any(|end| name.ends_with(end));
        match path.is_dir() {
            _ if is_made => {}
            true => found.extend(files(&path)),
            false => found.push(path),
        }
    }
    found
}

/// The first sentence of the README.
fn about(folder: &Path) -> String {
    let readme = std::fs::read_to_string(folder.join("README.md")).unwrap_or_default();
    let paragraph: Vec<&str> = readme
        .lines()
        .skip_while(|line| line.is_empty() || line.starts_with('#'))
        .take_while(|line| !line.is_empty())
        .collect();
    let text = paragraph.join(" ");
    let end = [". ", " (", ": ", "; "].iter().filter_map(|end| text.find(end)).min().unwrap_or(text.len());
    plain(text[..end].trim_end_matches('.'))
}

/// Without links: `[text](address)` is `text`.
fn plain(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('[') {
        let Some((words, address)) = after.split_once("](") else { break };
        out += before;
        out += words;
        rest = address.split_once(')').map_or("", |(_, rest)| rest);
    }
    out + rest
}
