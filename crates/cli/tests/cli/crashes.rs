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
        let mut run = lab.command(&arguments).spawn().unwrap();
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

/// A limit on the size of files stands for a full disk.
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
    // What was written can be read: a last row without its end is left out.
    let compared = lab.powerbond(&["compare", "small", "out", "--rtol", "0"]);
    assert_eq!(compared.code, 0, "{}", compared.err);
}
