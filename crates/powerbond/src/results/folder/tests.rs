//! What becomes of a folder with something in it.

use super::*;
use crate::results::SUMMARY;
use crate::table::Format;
use std::sync::atomic::{AtomicU32, Ordering};

/// A folder that is removed in the end.
pub struct Desk(pub PathBuf);

impl Desk {
    pub fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name =
            format!("powerbond-folder-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Desk(path)
    }

    pub fn write(&self, name: &str, text: &str) {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// All files and empty folders with what is in them, in order.
    fn files(&self) -> Vec<String> {
        fn list(folder: &Path, root: &Path, out: &mut Vec<String>) {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    list(&path, root, out);
                } else {
                    let text = std::fs::read_to_string(&path).unwrap();
                    let first = text.split_whitespace().next().unwrap_or("").to_owned();
                    out.push(format!("{} {first}", path.strip_prefix(root).unwrap().display()));
                }
            }
        }
        let mut out = Vec::new();
        list(&self.0, &self.0, &mut out);
        out.sort();
        out
    }

    /// A run of `car` with its results in `folder`.
    fn ran(&self, folder: &str) {
        self.write(&format!("{folder}/summary.json"), &summary("car", &["results.csv", "energy.csv"]));
        self.write(&format!("{folder}/results.csv"), "old");
        self.write(&format!("{folder}/energy.csv"), "old");
    }

    fn wanted(&self, folder: &str, chosen: bool, overwrite: bool) -> Wanted {
        Wanted {
            folder: self.0.join(folder),
            chosen,
            system: "car".to_owned(),
            contents: Contents::Run { format: Format::Csv, jumps: false, finer: false },
            output: None,
            report: false,
            reads: Vec::new(),
            overwrite,
        }
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A summary of `system`, whose run began at a certain time.
pub fn summary(system: &str, files: &[&str]) -> String {
    let files: serde_json::Map<_, _> =
        files.iter().enumerate().map(|(i, file)| (i.to_string(), (*file).into())).collect();
    serde_json::json!({
        "system": system, "started": "2026-11-16T19:08:13Z", "files": files, "versions": { "powerbond": "0" },
    })
    .to_string()
}

const STAMPED: &str = "car-2026-11-16T19-08-13Z";

#[track_caller]
fn refused(wanted: &Wanted, part: &str) {
    for result in [wanted.check(), RunFolder::claim(wanted).map(|_| ())] {
        let error = result.expect_err("it is refused");
        assert!(error.exit_code() == 3 && error.to_string().contains(part), "{error}");
    }
}

#[test]
fn a_default_folder_is_new_and_the_run_before_has_the_time_of_its_start() {
    let desk = Desk::new();
    desk.ran("car");
    desk.write("car/notes.md", "mine");
    let claimed = RunFolder::claim(&desk.wanted("car", false, false)).unwrap();
    assert_eq!(claimed.path(), desk.0.join("car"));
    assert_eq!(claimed.earlier(), Some(&*desk.0.join(STAMPED)));
    assert_eq!(claimed.instead_of(), None);
    assert!(is_empty(claimed.path()));
    drop(claimed);
    assert!(!desk.0.join("car").exists(), "a folder that stayed empty goes again");
    let moved = ["energy.csv old", "notes.md mine", "results.csv old"];
    let files = desk.files();
    assert_eq!(files.len(), 4);
    moved.iter().for_each(|name| assert!(files.contains(&format!("{STAMPED}/{name}")), "{files:?}"));
}

/// Four runs at the same time used to mix their rows in one folder.
#[test]
fn a_folder_in_use_has_others_beside_it() {
    let desk = Desk::new();
    // Neither of these is taken: one is another system's, the other one is no run at all.
    desk.write("car-2/summary.json", &summary("another car", &[]));
    desk.write("car-3/letters.txt", "mine");
    desk.ran("car-5");
    let claims: Vec<RunFolder> =
        (0..4).map(|_| RunFolder::claim(&desk.wanted("car", false, false)).unwrap()).collect();
    let paths: Vec<&str> = claims.iter().map(|c| c.path().file_name().unwrap().to_str().unwrap()).collect();
    assert_eq!(paths, ["car", "car-4", "car-5", "car-6"]);
    assert_eq!(claims[0].instead_of(), None);
    assert!(claims[1..].iter().all(|c| c.instead_of() == Some(&desk.0.join("car"))));
    assert_eq!(claims[2].earlier(), Some(&*desk.0.join(STAMPED)), "among the earlier runs of the system");
    drop(claims);
    let claimed = RunFolder::claim(&desk.wanted("car", false, false)).unwrap();
    assert_eq!(claimed.path(), desk.0.join("car"));
}

#[test]
fn many_at_once_never_share_a_folder_and_lose_nothing() {
    let desk = Desk::new();
    desk.ran("car");
    let work = || {
        for _ in 0..20 {
            let claimed = RunFolder::claim(&desk.wanted("car", false, false)).unwrap();
            let path = claimed.path().join("results.csv");
            std::fs::File::create_new(&path).expect("only this test is here");
            let text = summary("car", &["results.csv"]);
            claimed.replace(SUMMARY, &text).unwrap();
            assert!(path.exists(), "it is still there");
        }
    };
    std::thread::scope(|scope| (0..6).for_each(|_| drop(scope.spawn(work))));
    let stamped = std::fs::read_dir(&desk.0).unwrap().flatten();
    let stamped = stamped.filter(|e| e.file_name().to_string_lossy().starts_with(STAMPED)).count();
    assert_eq!(stamped, 5);
}

#[test]
fn a_chosen_folder_with_results_is_refused_and_with_anything_else_is_taken() {
    let desk = Desk::new();
    for name in ["results.csv", "energy.arrows", "jumps.parquet", "results.parquet.part", "summary.json"] {
        let folder = format!("with {name}");
        desk.write(&format!("{folder}/{name}"), "mine");
        refused(&desk.wanted(&folder, true, false), &format!("holds earlier results ({name})"));
        assert_eq!(std::fs::read_dir(desk.0.join(&folder)).unwrap().count(), 1, "{name}");
    }
    for name in ["report.html", "log.txt", "other.csv", "system.toml"] {
        desk.write(&format!("free/{name}"), "mine");
    }
    refused(&Wanted { report: true, ..desk.wanted("free", true, false) }, "not made by powerbond");
    let claimed = RunFolder::claim(&desk.wanted("free", true, false)).unwrap();
    for overwrite in [false, true] {
        let error = RunFolder::claim(&desk.wanted("free", true, overwrite)).unwrap_err().to_string();
        assert!(error.contains("another run writes to this folder now"), "{error}");
    }
    desk.write("free/summary.json", "");
    refused(&desk.wanted("free", true, false), "another run writes to this folder now");
    std::fs::remove_file(desk.0.join("free/summary.json")).unwrap();
    drop(claimed);
    assert_eq!(std::fs::read_dir(desk.0.join("free")).unwrap().count(), 4);
}

#[test]
fn overwriting_removes_what_the_run_before_made_and_nothing_else() {
    for chosen in [true, false] {
        let desk = Desk::new();
        desk.ran("car");
        let listed = ["results.csv", "energy.parquet", "jumps.csv", "log.txt"];
        desk.write("car/summary.json", &summary("car", &listed));
        for name in ["results.parquet", "report.html", "log-2.txt"] {
            desk.write(&format!("car/{name}"), "mine");
        }
        for name in ["energy.arrows", "energy.parquet.part", "jumps.csv", "log.txt"] {
            desk.write(&format!("car/{name}"), "old");
        }
        let claimed = RunFolder::claim(&desk.wanted("car", chosen, true)).unwrap();
        assert_eq!((claimed.path(), claimed.earlier()), (&*desk.0.join("car"), None));
        // A log of ours gets the first name that is free.
        assert_eq!(claimed.add(("log", "txt"), "new").unwrap(), "log.txt");
        assert_eq!(claimed.add(("log", "txt"), "new").unwrap(), "log-3.txt");
        drop(claimed);
        let left =
            ["log-2.txt mine", "log-3.txt new", "log.txt new", "report.html mine", "results.parquet mine"];
        assert_eq!(desk.files(), left.map(|name| format!("car/{name}")));
    }
}

#[test]
fn what_is_read_is_not_written() {
    let desk = Desk::new();
    desk.ran("car");
    let mut wanted = desk.wanted("car", true, true);
    wanted.reads = vec![desk.0.join("car/results.csv")];
    refused(&wanted, "this run reads that file");
    wanted.contents = Contents::Run { format: Format::Arrow, jumps: false, finer: false };
    refused(&wanted, "this run reads that file");
    // A table of the run before is in memory when that is renamed; an FMU must stay where it is.
    wanted = Wanted { chosen: false, overwrite: false, ..wanted };
    wanted.check().unwrap();
    desk.write("car/wheel.fmu", "");
    wanted.reads.push(desk.0.join("car/wheel.fmu"));
    refused(&wanted, "which this run needs there");
    assert_eq!(desk.files().len(), 4);
}

#[test]
fn an_output_file_that_is_there_is_refused() {
    let desk = Desk::new();
    desk.write("road.csv", "mine");
    let wanted = |output: &str, overwrite: bool| Wanted {
        output: Some(desk.0.join(output)),
        reads: vec![desk.0.join("road.csv")],
        contents: Contents::Run {
            format: Format::of(Path::new(output)).unwrap(),
            jumps: false,
            finer: false,
        },
        ..desk.wanted("out", true, overwrite)
    };
    refused(&wanted("road.csv", false), "this run reads that file");
    refused(&wanted("road.csv", true), "this run reads that file");
    desk.write("old.csv", "mine");
    refused(&wanted("old.csv", false), "replace it with `--overwrite`");
    // Parquet needs the name of the stream that it is made of.
    desk.write("old.arrows", "mine");
    refused(&wanted("old.parquet", false), "old.arrows is there already");
    refused(&wanted("out/energy.csv", true), "another file of this run has that name");
    assert_eq!(desk.files(), ["old.arrows mine", "old.csv mine", "road.csv mine"]);
    RunFolder::claim(&wanted("new/a.csv", false)).unwrap();
    refused(&wanted("old.parquet", true), "old.arrows: this run needs that name until its end");
    desk.write("old.arrows", "powerbond.started");
    RunFolder::claim(&wanted("old.parquet", true)).unwrap();
    assert_eq!(desk.files(), ["old.csv mine", "road.csv mine"]);
    // The same in the folder of the run, where a summary may know it.
    let wanted = Wanted {
        contents: Contents::Run { format: Format::Parquet, jumps: false, finer: false },
        ..desk.wanted("out", true, true)
    };
    desk.write("out/energy.arrows", "mine");
    refused(&wanted, "energy.arrows: this run needs that name until its end");
    desk.write("out/summary.json", &summary("car", &["energy.arrows"]));
    RunFolder::claim(&wanted).unwrap();
    assert_eq!(desk.files(), ["old.csv mine", "road.csv mine"]);
}

#[cfg(unix)]
#[test]
fn nothing_goes_through_links() {
    let desk = Desk::new();
    desk.write("far.csv", "mine");
    let link = |name: &str| {
        std::fs::create_dir_all(desk.0.join("out")).unwrap();
        std::os::unix::fs::symlink(desk.0.join("far.csv"), desk.0.join(name)).unwrap();
    };
    link("link.csv");
    for overwrite in [false, true] {
        let wanted = Wanted { output: Some(desk.0.join("link.csv")), ..desk.wanted("out", true, overwrite) };
        refused(&wanted, "symbolic link");
    }
    for name in ["results.csv", "energy.csv", "summary.json"] {
        link(&format!("out/{name}"));
        refused(&desk.wanted("out", true, true), "symbolic link");
        std::fs::remove_file(desk.0.join("out").join(name)).unwrap();
    }
    // A hard link keeps what its other name has; a link that is not written to stays.
    std::fs::hard_link(desk.0.join("far.csv"), desk.0.join("out/results.csv")).unwrap();
    link("out/results.parquet");
    let claimed = RunFolder::claim(&desk.wanted("out", true, true)).unwrap();
    std::fs::write(claimed.path().join("results.csv"), "new").unwrap();
    assert!(desk.0.join("out/results.parquet").is_symlink());
    assert_eq!(std::fs::read_to_string(desk.0.join("far.csv")).unwrap(), "mine");
}
