//! Earlier runs beside the newest one: named by when they began, the last few of them kept.

use super::lock::{Attempt, LOCK, Lock};
use super::own::Earlier;
use crate::date;
use crate::results::SUMMARY;
use std::io;
use std::path::{Path, PathBuf};

/// Earlier runs of a system that are kept.
const KEPT: usize = 5;

/// Renames the run in `folder` to `<base>-<when it began>`; where it is now.
pub fn rename(folder: &Path, base: &Path, marks: &[String]) -> io::Result<PathBuf> {
    let stamp = stamp(folder, marks);
    // After all others of that second, also where the first of them are gone: the order of names is that of the runs.
    let numbers = stamped(base).into_iter().filter(|((other, _), _)| *other == stamp).map(|((_, n), _)| n);
    let mut n = numbers.max().unwrap_or(0);
    loop {
        n += 1;
        let name = numbered(&suffixed(base, &stamp), n);
        // An empty folder would be replaced without a word.
        if std::fs::symlink_metadata(&name).is_ok() {
            continue;
        }
        match std::fs::rename(folder, &name) {
            Ok(()) => return Ok(name),
            Err(e) if matches!(e.kind(), io::ErrorKind::AlreadyExists | io::ErrorKind::DirectoryNotEmpty) => {
            }
            Err(error) => return Err(error),
        }
    }
}

/// Removes earlier runs of `system` beside `base` but for the last few. A folder with anything in it that its run did
/// not make stays. Returns what could not be removed.
pub fn prune(base: &Path, system: &str) -> Vec<String> {
    let mut runs = stamped(base);
    runs.retain(|(_, folder)| std::fs::symlink_metadata(folder).is_ok_and(|there| there.is_dir()));
    runs.sort();
    let older = runs.len().saturating_sub(KEPT);
    runs[..older].iter().filter_map(|(_, folder)| remove(folder, system).err()).collect()
}

/// What is called `<base>-<time>` or `<base>-<time>-<n>`, in no order.
fn stamped(base: &Path) -> Vec<((String, u32), PathBuf)> {
    let parent = base.parent().unwrap_or(Path::new(""));
    let listed = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
    let prefix = base.file_name().map(|name| format!("{}-", name.to_string_lossy())).unwrap_or_default();
    let names = std::fs::read_dir(listed).into_iter().flatten().flatten();
    let names = names.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter_map(|name| Some((parse(name.strip_prefix(&prefix)?)?, parent.join(&name)))).collect()
}

fn remove(folder: &Path, system: &str) -> Result<(), String> {
    let Some(earlier) = Earlier::read(folder).filter(|earlier| earlier.system == system) else {
        return Ok(());
    };
    let Some(names) = earlier.only(folder) else { return Ok(()) };
    let cannot = |error: io::Error| format!("cannot remove the earlier run {}: {error}", folder.display());
    let Attempt::Taken(lock) = Lock::attempt(folder).map_err(cannot)? else { return Ok(()) };
    // One by one: what appears in the meantime stays, and the folder with it. The summary goes last, so that what
    // could not be removed is still known as ours.
    let (summary, others): (Vec<_>, Vec<_>) =
        names.into_iter().filter(|name| name != LOCK).partition(|name| name == SUMMARY);
    for name in others.iter().chain(&summary) {
        unless_changed(std::fs::remove_file(folder.join(name))).map_err(cannot)?;
    }
    drop(lock);
    unless_changed(std::fs::remove_dir(folder)).map_err(cannot)
}

/// Another process may have removed it, too, or have put something into it.
fn unless_changed(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::DirectoryNotEmpty) => Ok(()),
        result => result,
    }
}

/// When the run in `folder` began, as a part of a file name: `2026-11-16T19-08-13Z`.
fn stamp(folder: &Path, marks: &[String]) -> String {
    let started = Earlier::read(folder).map(|earlier| earlier.started.replace(':', "-"));
    started.filter(|text| parse(text).is_some_and(|(stamp, _)| stamp == *text)).unwrap_or_else(|| {
        let modified = |path: &Path| std::fs::metadata(path).and_then(|m| m.modified()).ok();
        // That of the folder is when its lock was made.
        let newest = marks.iter().filter_map(|name| modified(&folder.join(name))).max();
        let time = newest.or_else(|| modified(folder)).unwrap_or(std::time::UNIX_EPOCH);
        date::utc(time).replace(':', "-")
    })
}

/// The date of `2026-11-16T19-08-13Z` and, in `2026-11-16T19-08-13Z-2`, its number.
fn parse(text: &str) -> Option<(String, u32)> {
    const FORM: &str = "0000-00-00T00-00-00Z";
    let (stamp, rest) = text.split_at_checked(FORM.len())?;
    let fits = |(c, form): (char, char)| if form == '0' { c.is_ascii_digit() } else { c == form };
    if !stamp.chars().zip(FORM.chars()).all(fits) {
        return None;
    }
    let number = match rest.strip_prefix('-') {
        Some(digits) => digits.parse().ok().filter(|&n| n < u32::MAX)?,
        None if rest.is_empty() => 1,
        None => return None,
    };
    Some((stamp.to_owned(), number))
}

/// `<path>-<n>`; the first one has no number.
pub fn numbered(path: &Path, n: u32) -> PathBuf {
    if n == 1 { path.to_owned() } else { suffixed(path, &n.to_string()) }
}

fn suffixed(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-");
    name.push(suffix);
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Desk, summary};
    use super::*;

    #[test]
    fn stamps_are_dates_and_nothing_else() {
        let check = |text: &str, n: Option<u32>| assert_eq!(parse(text).map(|(_, n)| n), n, "{text}");
        check("2026-11-16T19-08-13Z", Some(1));
        check("2026-11-16T19-08-13Z-12", Some(12));
        for text in ["", "2", "tune", "2026-11-16T19-08-13", "2026-11-16T19-08-13Zx", "2026-11-16T19:08:13Z"]
        {
            check(text, None);
        }
        check("2026-11-16T19-08-13Z-", None);
        check("../../../etc/passwd-and-more", None);
        check("ääääääääääääääääääää", None);
    }

    /// A `started` that is not a date does not become a part of a path.
    #[test]
    fn a_run_is_renamed_by_its_start_and_never_onto_another() {
        let desk = Desk::new();
        let base = desk.0.join("car");
        let rename_one = |text: &str| {
            std::fs::create_dir(&base).unwrap();
            desk.write("car/summary.json", text);
            let to = rename(&base, &base, &["summary.json".to_owned()]).unwrap();
            to.strip_prefix(&desk.0).unwrap().to_string_lossy().into_owned()
        };
        let text = summary("car", &[]);
        std::fs::create_dir(desk.0.join("car-2026-11-16T19-08-13Z-2")).unwrap();
        assert_eq!(rename_one(&text), "car-2026-11-16T19-08-13Z-3");
        assert_eq!(rename_one(&text), "car-2026-11-16T19-08-13Z-4");
        let year = date::utc(std::time::SystemTime::now())[..4].to_owned();
        for text in ["{}".to_owned(), text.replace("2026-11-16T19:08:13Z", "../../x")] {
            assert!(rename_one(&text).starts_with(&format!("car-{year}-")));
        }
    }

    #[test]
    fn only_folders_of_this_system_with_nothing_else_in_them_are_removed() {
        let desk = Desk::new();
        let run = |name: &str, system: &str| {
            std::fs::create_dir(desk.0.join(name)).unwrap();
            desk.write(&format!("{name}/summary.json"), &summary(system, &["results.csv"]));
            desk.write(&format!("{name}/results.csv"), "time\r\n");
        };
        let day = |d: u32| format!("car-2026-11-{d:02}T00-00-00Z");
        (1..=9).for_each(|d| run(&day(d), if d == 3 { "another" } else { "car" }));
        desk.write(&format!("{}/notes.md", day(2)), "mine");
        desk.write(&format!("{}/.powerbond.lock", day(4)), "");
        for name in ["car", "car-2", "car-old", "cargo-2026-11-01T00-00-00Z"] {
            run(name, "car");
        }
        let Attempt::Taken(_live) = Lock::attempt(&desk.0.join(day(1))).unwrap() else { panic!() };
        assert_eq!(prune(&desk.0.join("car"), "car"), Vec::<String>::new());
        let left = |d: u32| desk.0.join(day(d)).exists();
        let kept: Vec<u32> = (1..=9).filter(|&d| left(d)).collect();
        assert_eq!(kept, [1, 2, 3, 5, 6, 7, 8, 9], "in use, with a note, of another system, the last five");
        assert!(desk.0.join(day(2)).join("results.csv").exists());
        for name in ["car", "car-2", "car-old", "cargo-2026-11-01T00-00-00Z"] {
            assert!(desk.0.join(name).join("summary.json").exists(), "{name}");
        }
    }
}
