//! What is on disk when a run ends as no run should: killed, on a full disk, in a folder that may not be written.

use crate::lab::{Csv, Lab, plain};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Numbers between 0 and 1, the same in every test (Knuth's constants for 64 bits).
fn dice(seed: &mut u64) -> f64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 11) as f64 / (1u64 << 53) as f64
}

#[test]
fn a_killed_run_leaves_a_prefix_of_the_full_one_bit_for_bit() {
    let lab = Lab::with(plain());
    lab.runs(&["-s", "1e-5", "--jumps"]);
    let read = |folder: &str, file: &str| std::fs::read(lab.dir.join(folder).join(file)).unwrap_or_default();
    let full = ["results.csv", "energy.csv", "jumps.csv"].map(|file| (file, read("out", file)));
    let (mut seed, mut rows) = (1, 0);
    for _ in 0..50 {
        let arguments = ["run", "system.toml", "--output-dir", "killed", "-s", "1e-5", "--jumps", "--quiet"];
        let mut run = lab.command(&arguments).arg("--overwrite").spawn().unwrap();
        std::thread::sleep(Duration::from_secs_f64(0.01 + 0.25 * dice(&mut seed)));
        run.kill().unwrap();
        run.wait().unwrap();
        for (file, whole) in &full {
            let part = read("killed", file);
            assert!(whole.starts_with(&part), "{file}: {} of {} bytes", part.len(), whole.len());
            rows += part.iter().filter(|b| **b == b'\n').count();
        }
    }
    assert!(rows > 1000, "it was not killed too early: {rows} rows");
}

/// A slow model: its rows do not fill a buffer in a second, and are on disk all the same.
#[test]
fn rows_older_than_a_second_are_on_disk() {
    let system = plain().replace("micro_steps = 10", "micro_steps = 200000");
    let lab = Lab::with(&system);
    let mut run = lab
        .command(&["run", "system.toml", "--output-dir", "killed", "-s", "1e-5", "--json"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    let mut seen: Vec<(Duration, f64)> = Vec::new();
    for line in BufReader::new(run.stdout.take().unwrap()).lines() {
        let line: serde_json::Value = serde_json::from_str(&line.unwrap()).unwrap();
        seen.push((begun.elapsed(), line["time"].as_f64().unwrap()));
        if begun.elapsed() > Duration::from_millis(3500) {
            break;
        }
    }
    run.kill().unwrap();
    run.wait().unwrap();
    let now = begun.elapsed();
    let times = Csv::read(&lab.dir.join("killed/results.csv")).column("time");
    let (_, old) = seen.iter().rfind(|(at, _)| now - *at > Duration::from_millis(1200)).expect("progress");
    let last = *times.last().unwrap();
    assert!(last >= *old, "rows up to {last} s, progress said {old} s long ago");
}

/// What an earlier run left in the folder is not taken for a part of the next one, and foreign files stays.
#[test]
fn nothing_of_an_earlier_run_stays() {
    let lab = Lab::with(plain());
    lab.runs(&["-s", "1e-3", "--jumps", "--report"]);
    for foreign in ["results.parquet", "log.txt"] {
        lab.write(&format!("out/{foreign}"), "mine");
    }
    // A run that is killed has left nothing but what it began.
    let slow = plain().replace("micro_steps = 10", "micro_steps = 1000000");
    lab.write("slow.toml", &slow);
    let arguments = ["run", "slow.toml", "--output-dir", "out", "--overwrite", "-s", "2e-3"];
    let mut run = lab.command(&arguments).spawn().unwrap();
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(20) && lab.dir.join("out/jumps.csv").exists() {
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::sleep(Duration::from_millis(200));
    run.kill().unwrap();
    run.wait().unwrap();
    let mut left: Vec<String> = std::fs::read_dir(lab.dir.join("out"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    let lock = ".powerbond.lock";
    assert_eq!(left, [lock, "energy.csv", "log.txt", "results.csv", "results.parquet", "summary.json"]);
    let summary = lab.summary();
    assert_eq!(summary["outcome"], "running");
    assert_eq!(summary["verdict"]["word"], "unreliable");
    assert_eq!(summary["config"]["simulation"]["step"], 2e-3, "the effective configuration is there");
    assert!(lab.energy().rows.len() < 2000);
    let reported = lab.powerbond(&["report", "out"]);
    assert_eq!(reported.code, 0, "{}", reported.err);
}

/// A cut row, as `kill -9` inside a write can leave it, is left out, and that is said.
#[test]
fn a_cut_last_row_is_left_out_with_a_note() {
    let lab = Lab::with(plain());
    lab.runs(&["-s", "1e-3"]);
    std::fs::copy(lab.dir.join("out/results.csv"), lab.dir.join("full.csv")).unwrap();
    let whole = std::fs::read(lab.dir.join("out/results.csv")).unwrap();
    // Inside the last number: what is left is a number, but another one.
    std::fs::write(lab.dir.join("out/results.csv"), &whole[..whole.len() - 5]).unwrap();
    for cut in ["out", "out/results.csv"] {
        let ran = lab.powerbond(&["compare", cut, "full.csv", "--rtol", "0"]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        assert!(ran.err.contains("note: out/results.csv: the last row is incomplete"), "{}", ran.err);
    }
    let ran = lab.powerbond(&["report", "out"]);
    assert!(
        ran.code == 0 && ran.err.contains("note: out/results.csv: the last row is incomplete"),
        "{}",
        ran.err
    );
    let page = std::fs::read_to_string(lab.dir.join("out/report.html")).unwrap();
    assert!(page.contains("the last row is incomplete") && page.contains("\"rows\":4000,"));
}

/// As a user who may not write there.
#[cfg(target_os = "linux")]
#[test]
fn a_folder_that_may_not_be_written_is_8() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let lab = Lab::with(plain());
    let mode = |name: &str, mode: u32| {
        std::fs::set_permissions(lab.dir.join(name), std::fs::Permissions::from_mode(mode)).unwrap();
    };
    std::fs::create_dir(lab.dir.join("locked")).unwrap();
    std::fs::copy(env!("CARGO_BIN_EXE_powerbond"), lab.dir.join("powerbond")).unwrap();
    mode("locked", 0o555);
    mode("powerbond", 0o755);
    mode("system.toml", 0o644);
    // Root may write everywhere: become nobody.
    let root = std::fs::metadata("/proc/self").unwrap().uid() == 0;
    let become_nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    let prefix = if root { &become_nobody[..] } else { &["env"] };
    for folder in ["locked", "locked/out"] {
        let ran = Command::new(prefix[0])
            .args(&prefix[1..])
            .args(["./powerbond", "run", "system.toml", "--output-dir", folder])
            .current_dir(&lab.dir)
            .output()
            .unwrap();
        let err = String::from_utf8_lossy(&ran.stderr);
        assert_eq!(ran.status.code(), Some(8), "{err}");
        assert!(err.contains("cannot write locked") && err.contains("Permission denied"), "{err}");
    }
    assert_eq!(std::fs::read_dir(lab.dir.join("locked")).unwrap().count(), 0);
    mode("locked", 0o755);
}

/// A limit on the size of files, which needs no rights, stands for a full disk; the next test has a real one.
#[test]
fn a_full_disk_ends_with_8_and_keeps_a_prefix() {
    let lab = Lab::with(plain());
    lab.runs(&["-s", "1e-4"]);
    let full = std::fs::read(lab.dir.join("out/results.csv")).unwrap();
    let script = format!(
        "trap '' XFSZ; ulimit -f 1000; exec '{}' run system.toml --output-dir small -s 1e-4",
        env!("CARGO_BIN_EXE_powerbond")
    );
    let ran = Command::new("sh").args(["-c", &script]).current_dir(&lab.dir).output().unwrap();
    let err = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(8), "{err}");
    assert!(err.contains("cannot write small/"), "{err}");
    let part = std::fs::read(lab.dir.join("small/results.csv")).unwrap();
    assert!(part.len() > 100_000 && full.starts_with(&part), "{} of {} bytes", part.len(), full.len());
    // A row that ends in the middle of a number used to be the last one: other tools read it as another number.
    assert!(part.ends_with(b"\r\n"));
    let compared = lab.powerbond(&["compare", "small", "out", "--rtol", "0"]);
    assert_eq!(compared.code, 0, "{}", compared.err);
}

/// A file system of 600 kB is full before the run is over. Mounting one takes a namespace of mounts, which root may make.
#[test]
fn a_real_disk_that_is_full_ends_with_8_and_keeps_a_prefix() {
    let lab = Lab::with(plain());
    lab.runs(&["-s", "1e-4"]);
    let full = std::fs::read(lab.dir.join("out/results.csv")).unwrap();
    std::fs::create_dir(lab.dir.join("disk")).unwrap();
    let script = format!(
        "mount -t tmpfs -o size=600k tmpfs disk || exit 77; \
         '{}' run system.toml --output-dir disk/out -s 1e-4; code=$?; cp -r disk/out kept; exit $code",
        env!("CARGO_BIN_EXE_powerbond")
    );
    let run = |script: &str| {
        let ran = Command::new("unshare").args(["-m", "sh", "-c", script]).current_dir(&lab.dir).output();
        let ran = ran.map_err(|error| eprintln!("SKIPPED: a full disk: no `unshare`: {error}")).ok()?;
        let err = String::from_utf8_lossy(&ran.stderr).into_owned();
        if ran.status.code() == Some(77) || err.contains("unshare failed") {
            eprintln!("SKIPPED: a full disk: {err}");
            return None;
        }
        assert_eq!(ran.status.code(), Some(8), "{err}");
        assert!(err.contains("cannot write disk/out/"), "{err}");
        Some(())
    };
    let Some(()) = run(&script) else { return };
    let part = std::fs::read(lab.dir.join("kept/results.csv")).unwrap();
    assert!(part.len() > 100_000 && full.starts_with(&part), "{} of {} bytes", part.len(), full.len());
    assert!(part.ends_with(b"\r\n"));
    // Rows that were not written used to count as written, so that an FMU was said to have closed the files.
    if cfg!(feature = "arrow") {
        std::fs::remove_dir_all(lab.dir.join("kept")).unwrap();
        run(&script.replace("-s 1e-4", "-s 1e-4 --format arrow"));
        let compared = lab.powerbond(&["compare", "kept", "kept"]);
        assert_eq!(compared.code, 0, "{}", compared.err);
    }
}
