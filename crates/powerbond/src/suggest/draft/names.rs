//! What the parts of a draft are called in its file: subsystems, and paths of FMUs.

use crate::Error;
use powerbond_fmi::Fmu;
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

/// A name for each: of its file, or of its model where files are called alike; unique, and without what names may not have.
pub fn names(fmus: &[(PathBuf, Fmu)]) -> Vec<String> {
    let clean = |text: &str| {
        let parts = text.split(|c: char| !c.is_alphanumeric() && c != '-').filter(|part| !part.is_empty());
        parts.collect::<Vec<_>>().join("_")
    };
    let stem = |path: &Path| {
        let name = file_name(path);
        clean(name.strip_suffix(".fmu").or(name.strip_suffix(".FMU")).unwrap_or(&name))
    };
    let count = |list: &[String], name: &String| list.iter().filter(|other| *other == name).count();
    let stems: Vec<String> = fmus.iter().map(|(path, _)| stem(path)).collect();
    let plain: Vec<String> = fmus
        .iter()
        .zip(&stems)
        .map(|((path, fmu), name)| {
            let model = clean(&fmu.description().model_name);
            let alike = fmus.iter().zip(&stems).any(|((other, _), n)| n == name && other != path);
            match () {
                () if (alike || name.is_empty()) && !model.is_empty() => model,
                () if name.is_empty() => "fmu".to_owned(),
                () => name.clone(),
            }
        })
        .collect();
    let mut taken: BTreeSet<String> = plain.iter().filter(|name| count(&plain, name) == 1).cloned().collect();
    let unique = |name: &String| {
        if count(&plain, name) == 1 {
            return name.clone();
        }
        let mut numbered = (1..).map(|n| format!("{name}_{n}"));
        numbered.find(|candidate| taken.insert(candidate.clone())).unwrap_or_default()
    };
    plain.iter().map(unique).collect()
}

/// A path as a file in `file`'s folder names it: relative to that folder, where that is possible.
pub fn path_in_file(path: &Path, file: &Path) -> Result<String, Error> {
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let (path, file) = (absolute(path), absolute(file));
    let folder = file.parent().unwrap_or(Path::new(""));
    Ok(match relative(&path, folder) {
        Some(relative) => text_of(&relative)?.to_owned(),
        None => text_of(&path)?.to_owned(),
    })
}

/// `path` as seen from `folder`, both absolute; none where `..` would lead through a link or another drive is meant.
fn relative(path: &Path, folder: &Path) -> Option<PathBuf> {
    let (there, here): (Vec<Component>, Vec<Component>) =
        (path.components().collect(), folder.components().collect());
    let common = there.iter().zip(&here).take_while(|(a, b)| a == b).count();
    let ups = here.len() - common;
    // Up and down again is the same place only without links.
    let is_plain = |p: &Path| p.ancestors().all(|a| !a.is_symlink());
    if common == 0 || here[common..].contains(&Component::ParentDir) || ups > 0 && !is_plain(folder) {
        return None;
    }
    let down = there[common..].iter().map(|c| c.as_os_str());
    Some(std::iter::repeat_n(std::ffi::OsStr::new(".."), ups).chain(down).collect())
}

/// As a text.
pub fn text_of(path: &Path) -> Result<&str, Error> {
    let message = || {
        format!("{}: the name of the file is not UTF-8, so that no system file can name it", path.display())
    };
    path.to_str().ok_or_else(|| Error::input(None, message()))
}

/// The last part of a path.
pub fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}
