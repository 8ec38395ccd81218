//! Where the files are that a structure file names: beside it, and inside of its archive if it has one.

use crate::Error;
use crate::source::xml::{Node, Reader};
use powerbond_core::suggest::closest;
use std::path::{Component, Path, PathBuf};

/// The folder of a structure file.
#[derive(Clone, Debug)]
pub struct Folder {
    /// Where it is.
    pub path: PathBuf,
    /// How it is called in messages.
    pub shown: PathBuf,
    /// The folder that an archive was unpacked into: nothing outside of it belongs to the system.
    pub archive: Option<PathBuf>,
}

/// A file that was named.
#[derive(Clone, Debug)]
pub struct Located {
    /// Where it is.
    pub path: PathBuf,
    /// How it is called in messages.
    pub shown: PathBuf,
    /// It is to run in a process of its own.
    pub own_process: bool,
}

/// What an address of `proxyfmu` begins with, now and in older files.
const PROXIES: [&str; 2] = ["proxyfmu://", "proxy-fmu://"];

impl Folder {
    /// That of a file outside of archives.
    pub fn beside(file: &Path) -> Folder {
        let shown = file.parent().unwrap_or(Path::new("")).to_owned();
        let here = || std::env::current_dir().map(|here| here.join(&shown)).unwrap_or_default();
        Folder { path: std::path::absolute(&shown).unwrap_or_else(|_| here()), shown, archive: None }
    }

    /// The file that the address `source` of an element stands for; it exists.
    pub fn locate(&self, reader: Reader<'_>, node: Node<'_, '_>, source: &str) -> Result<Located, Error> {
        let fail = |message: String| reader.fail(node, message);
        let mut text = source.trim().replace('\\', "/");
        let proxy = PROXIES.iter().find_map(|prefix| text.strip_prefix(prefix));
        let own_process = proxy.is_some();
        if let Some(rest) = proxy {
            text = match proxied(rest) {
                Ok(file) => file,
                Err(reason) => return fail(format!("`{source}`: {reason}")),
            };
        }
        if let Some(reason) = foreign(&text) {
            return fail(format!("`{source}` is {reason}; expected a path relative to this file"));
        }
        let decoded = decoded(&text);
        let mut tries = vec![decoded.clone()];
        if decoded != text {
            tries.push(text.clone());
        }
        for name in &tries {
            let Some(path) = joined(&self.path, name) else {
                return fail(format!("`{source}` is not a valid path"));
            };
            if self.archive.as_ref().is_some_and(|root| !path.starts_with(root)) {
                return fail(format!(
                    "`{source}` is outside of the archive; it must hold everything that it uses"
                ));
            }
            if path.exists() {
                let shown = joined(&self.shown, name).unwrap_or_else(|| path.clone());
                return Ok(Located { path, shown, own_process });
            }
        }
        let path = joined(&self.path, &decoded).unwrap_or_default();
        let hint = similar(&path).map_or_else(String::new, |found| {
            let shown = found.strip_prefix(&self.path).unwrap_or(&found).display().to_string();
            format!(". Did you mean `{shown}`?")
        });
        fail(format!("missing file `{source}`{hint}"))
    }

    /// A folder in it.
    pub fn inside(&self, folder: &Located) -> Folder {
        Folder { path: folder.path.clone(), shown: folder.shown.clone(), archive: self.archive.clone() }
    }

    /// The folder of a file in it.
    pub fn of(&self, file: &Located) -> Folder {
        let parent = |path: &Path| path.parent().unwrap_or(Path::new("")).to_owned();
        Folder { path: parent(&file.path), shown: parent(&file.shown), archive: self.archive.clone() }
    }
}

/// The file of a `proxyfmu` address on this host, or why it is refused; `rest` is what follows its beginning.
fn proxied(rest: &str) -> Result<String, String> {
    let (host, query) = rest.split_once('?').unwrap_or((rest, ""));
    let host = host.trim_end_matches('/');
    if !matches!(host, "localhost" | "127.0.0.1" | "[::1]") {
        return Err(format!(
            "the host `{host}` would have to run proxyfmu, whose protocol is not supported. Name the FMU by its file, and \
             the host in `host` of the subsystem: powerbond runs it there by ssh"
        ));
    }
    let file = query.split('&').find_map(|part| part.strip_prefix("file="));
    file.map(str::to_owned).ok_or_else(|| "expected `proxyfmu://localhost?file=` and the file".to_owned())
}

/// Why an address is not one of a file beside the structure file.
fn foreign(text: &str) -> Option<String> {
    let scheme = text.split_once(':').map(|(scheme, _)| scheme).filter(|scheme| {
        !scheme.is_empty() && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    });
    match scheme {
        _ if text.is_empty() => Some("empty".to_owned()),
        Some(drive) if drive.len() == 1 => Some("an absolute path".to_owned()),
        Some("file") => Some("an absolute address".to_owned()),
        Some(scheme) if text[scheme.len()..].starts_with("://") => {
            Some(format!("a remote address ({scheme})"))
        }
        _ if text.starts_with('/') => Some("an absolute path".to_owned()),
        _ => None,
    }
}

/// With `%20` and the like replaced.
pub fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let digits = tail.get(..2).filter(|_| *first == b'%');
        let code =
            digits.and_then(|d| std::str::from_utf8(d).ok()).and_then(|d| u8::from_str_radix(d, 16).ok());
        match code {
            Some(byte) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

/// `folder/name` without `.` and `..`; none where it holds a zero or climbs above a relative folder's end.
fn joined(folder: &Path, name: &str) -> Option<PathBuf> {
    if name.contains('\0') {
        return None;
    }
    let mut path = PathBuf::new();
    for part in folder.join(name).components() {
        match part {
            Component::CurDir => {}
            // Above a relative folder that is all gone, `..` stays.
            Component::ParentDir if matches!(path.components().next_back(), Some(Component::Normal(_))) => {
                path.pop();
            }
            part => path.push(part),
        }
    }
    Some(path)
}

/// A file that is called alike: it differs in the case of letters, as on another system, or by a typing error.
fn similar(path: &Path) -> Option<PathBuf> {
    let parent = match path.parent()? {
        parent if parent.as_os_str().is_empty() => PathBuf::from("."),
        parent if parent.is_dir() => parent.to_owned(),
        parent => similar(parent)?,
    };
    let wanted = path.file_name()?.to_string_lossy().into_owned();
    let names: Vec<String> = std::fs::read_dir(&parent)
        .ok()?
        .flatten()
        .map(|e| e.file_name().to_string_lossy().into_owned())
        .collect();
    let same = names.iter().find(|name| name.to_lowercase() == wanted.to_lowercase());
    let found = same.map(String::as_str).or_else(|| closest(&wanted, names.iter().map(String::as_str)))?;
    Some(parent.join(found))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_are_no_files_beside_are_told_from_those_that_are() {
        for text in ["C:/a.fmu", "/a.fmu", "file:///a.fmu", "http://x/a.fmu", "ssh+x://y/a", ""] {
            assert!(foreign(text).is_some(), "{text}");
        }
        for text in ["a.fmu", "../a.fmu", "a b:c.fmu", "resources/a.fmu"] {
            assert_eq!(foreign(text), None, "{text}");
        }
        assert_eq!(proxied("localhost?file=../x.fmu").unwrap(), "../x.fmu");
        assert!(proxied("10.0.0.1:9090?file=x.fmu").is_err());
        assert_eq!(decoded("a%20b%zz%"), "a b%zz%");
        assert_eq!(joined(Path::new("a/b"), "../c.fmu").unwrap(), Path::new("a/c.fmu"));
        assert_eq!(joined(Path::new(""), "../c.fmu").unwrap(), Path::new("../c.fmu"));
    }
}
