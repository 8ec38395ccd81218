//! Which files are powerbond's own: by the list in `summary.json`, by a mark inside, by their names.

use super::lock::LOCK;
use crate::results::{MARK, REPORT, SUMMARY};
use crate::table::Format;
use crate::table::durable::{has_mark, is_part};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs::Metadata;
use std::path::{Component, Path};

/// What the summary of an earlier run says about it.
pub struct Earlier {
    /// The name of its system.
    pub system: String,
    /// When it began.
    pub started: String,
    /// Names of the files in its folder that it made.
    files: BTreeSet<String>,
}

/// The largest summary that is read, in bytes.
const MAX_SUMMARY: u64 = 500_000_000;

impl Earlier {
    /// The run whose summary is in a folder; `None` if there is none, or if it is not powerbond's.
    pub fn read(folder: &Path) -> Option<Self> {
        let path = folder.join(SUMMARY);
        std::fs::symlink_metadata(&path).ok().filter(Metadata::is_file)?;
        let text = crate::source::read(&path, MAX_SUMMARY).ok()?;
        let summary: Value = serde_json::from_str(&text.text).ok()?;
        summary["versions"]["powerbond"].as_str()?;
        let mut files: BTreeSet<String> = [SUMMARY, LOCK].map(str::to_owned).into();
        for name in summary["files"].as_object()?.values().filter_map(Value::as_str) {
            // What lies elsewhere is not a part of the folder.
            if let [Component::Normal(_)] = Path::new(name).components().collect::<Vec<_>>()[..] {
                files.insert(name.to_owned());
                let unfinished = Format::unfinished(Path::new(name)).into_iter();
                files.extend(unfinished.map(|path| path.to_string_lossy().into_owned()));
            }
        }
        if has_mark(&folder.join(REPORT), MARK) {
            files.insert(REPORT.to_owned());
        }
        let text = |key: &str| summary[key].as_str().map(str::to_owned);
        Some(Earlier { system: text("system")?, started: text("started")?, files })
    }

    /// Names of the files in its folder that it made, whether they are there or not.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(String::as_str)
    }

    /// The regular files of the folder, if there is nothing in it that the run did not make.
    pub fn only(&self, folder: &Path) -> Option<Vec<String>> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(folder).ok()? {
            let entry = entry.ok()?;
            let name = entry.file_name().into_string().ok()?;
            if !entry.file_type().ok()?.is_file() || !(self.files.contains(&name) || is_part(&name)) {
                return None;
            }
            names.push(name);
        }
        Some(names)
    }
}

/// Whether two paths lead to one file, also through symbolic and hard links. Missing files are none.
pub fn is_same_file(a: &Path, b: &Path) -> bool {
    let (Ok(of_a), Ok(of_b)) = (std::fs::metadata(a), std::fs::metadata(b)) else { return false };
    let canonical = || a.canonicalize().is_ok_and(|a| b.canonicalize().is_ok_and(|b| a == b));
    is_same(&of_a, &of_b).unwrap_or_else(canonical)
}

/// Whether these are of one file, where the system tells.
#[cfg(unix)]
pub fn is_same(a: &Metadata, b: &Metadata) -> Option<bool> {
    use std::os::unix::fs::MetadataExt;
    Some((a.dev(), a.ino()) == (b.dev(), b.ino()))
}

/// Whether these are of one file, where the system tells.
#[cfg(not(unix))]
pub fn is_same(_: &Metadata, _: &Metadata) -> Option<bool> {
    None
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Desk, summary};
    use super::*;

    #[test]
    fn own_files_are_those_of_the_summary_and_marked_reports() {
        let desk = Desk::new();
        assert!(Earlier::read(&desk.0).is_none(), "nothing there");
        for text in ["", "{}", "[1]", r#"{"schema": 1, "files": {}, "versions": {"other": "1"}}"#] {
            desk.write(SUMMARY, text);
            assert!(Earlier::read(&desk.0).is_none(), "{text}");
        }
        desk.write(SUMMARY, &summary("car", &["results.parquet", "../../far.csv", "/etc/passwd"]));
        desk.write("report.html", "mine");
        let earlier = Earlier::read(&desk.0).unwrap();
        let files: Vec<&str> = earlier.files().collect();
        assert_eq!(
            files,
            [LOCK, "results.arrows", "results.parquet", "results.parquet.part", "summary.json"]
        );
        assert!(earlier.only(&desk.0).is_none(), "a foreign report");
        desk.write("report.html", &format!("<!doctype html>\n{}", MARK));
        let earlier = Earlier::read(&desk.0).unwrap();
        assert_eq!(earlier.only(&desk.0).map(|names| names.len()), Some(2));
        std::fs::create_dir(desk.0.join("results.parquet")).unwrap();
        assert!(earlier.only(&desk.0).is_none(), "a folder that is called like a table");
    }

    #[cfg(unix)]
    #[test]
    fn a_file_is_the_same_through_links() {
        let desk = Desk::new();
        desk.write("a", "");
        desk.write("b", "");
        let at = |name: &str| desk.0.join(name);
        std::os::unix::fs::symlink(at("a"), at("soft")).unwrap();
        std::fs::hard_link(at("a"), at("hard")).unwrap();
        for (name, same) in
            [("a", true), ("./a", true), ("soft", true), ("hard", true), ("b", false), ("c", false)]
        {
            assert_eq!(is_same_file(&at("a"), &at(name)), same, "{name}");
        }
    }
}
