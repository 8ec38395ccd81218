//! Files that may have been meant where there is none of a name.

use powerbond_core::suggest::closest;
use std::io;
use std::path::{Path, PathBuf};

/// What follows a sentence about a file that cannot be read: `. Did you mean `motor.fmu`?`; nothing unless it is missing and
/// something like it is there.
///
/// Looked for are a name of a few other letters in the folder, the same name with a letter more or less in its ending, and, if the
/// folder is missing, the same name in the nearest folder above.
pub fn hint(path: &Path, error: &io::Error) -> String {
    let found = (error.kind() == io::ErrorKind::NotFound).then(|| {
        let folder = here(path.parent()?);
        if folder.is_dir() {
            return Some(format!(". Did you mean `{}`?", like(path, folder)?.display()));
        }
        let (name, above) =
            (Path::new(path.file_name()?), folder.ancestors().map(here).find(|above| above.is_dir())?);
        let place =
            if above == Path::new(".") { "the current folder".into() } else { above.display().to_string() };
        above.join(name).is_file().then(|| format!(". There is a `{}` in {place}", name.display()))
    });
    found.flatten().unwrap_or_default()
}

/// The name of a file in the folder.
fn like(path: &Path, folder: &Path) -> Option<PathBuf> {
    let (stem, ending) = parts(path)?;
    let names: Vec<PathBuf> =
        folder.read_dir().ok()?.filter_map(|entry| Some(entry.ok()?.file_name().into())).collect();
    let others = || names.iter().filter_map(|name| Some((parts(name)?, name)));
    let alike = others().filter(|((_, e), _)| e.eq_ignore_ascii_case(ending)).map(|((s, _), _)| s);
    let near = match closest(stem, alike) {
        Some(near) => others().find(|((s, e), _)| *s == near && e.eq_ignore_ascii_case(ending)),
        None => others().find(|((s, e), _)| *s == stem && (lacks(ending, e) || lacks(e, ending))),
    };
    near.map(|(_, name)| name.clone())
}

/// Whether an ending is another one without one of its letters.
fn lacks(short: &str, whole: &str) -> bool {
    let mut left = whole.chars();
    !short.is_empty() && short.len() + 1 == whole.len() && short.chars().all(|c| left.any(|other| other == c))
}

/// The name of a file without and with nothing but its ending.
fn parts(path: &Path) -> Option<(&str, &str)> {
    let ending = path.extension().map_or(Some(""), |ending| ending.to_str())?;
    Some((path.file_stem()?.to_str()?, ending))
}

/// The current folder has an empty name in relative paths.
fn here(folder: &Path) -> &Path {
    if folder.as_os_str().is_empty() { Path::new(".") } else { folder }
}

#[cfg(test)]
mod tests {
    use super::hint;
    use std::io::{Error, ErrorKind};

    #[test]
    fn files_with_almost_that_name_are_found() {
        let folder = std::env::temp_dir().join(format!("powerbond-nearby-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("car")).unwrap();
        for name in ["motor.fmu", "load.fmu", "system.toml", "motor.csv"] {
            std::fs::write(folder.join(name), "").unwrap();
        }
        let check = |typed: &str, meant: Option<&str>| {
            let found = hint(&folder.join(typed), &Error::from(ErrorKind::NotFound));
            let wanted = meant.map_or(String::new(), |meant| format!(". Did you mean `{meant}`?"));
            assert_eq!(found, wanted, "{typed}");
        };
        check("moter.fmu", Some("motor.fmu"));
        check("Motor.FMU", Some("motor.fmu"));
        check("system.tml", Some("system.toml"));
        check("cra", Some("car"));
        check("gearbox.fmu", None);
        check("motor.png", None);
        check("fmus/moter.fmu", None);
        let moved = hint(&folder.join("fmus/motor.fmu"), &Error::from(ErrorKind::NotFound));
        assert_eq!(moved, format!(". There is a `motor.fmu` in {}", folder.display()));
        assert_eq!(hint(&folder.join("moter.fmu"), &Error::from(ErrorKind::PermissionDenied)), "");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
