//! Time and size of the report of a long run.
//!
//! `cargo bench -p powerbond --bench report`.

use powerbond::{RunOptions, System};
use std::path::Path;
use std::time::Instant;

fn main() {
    let folder = std::env::temp_dir().join(format!("powerbond-bench-report-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    report(&folder);
    std::fs::remove_dir_all(&folder).expect("it was ours");
}

fn report(folder: &Path) {
    let text = include_str!("../../../examples/quarter-car/system.toml");
    let plain = text.split("[method]").next().expect("a method");
    let system = System::parse("bench/system.toml", plain).expect("a system");
    let run = folder.join("run");
    let options = RunOptions {
        step_size: Some(4e-6),
        output_dir: Some(run.clone()),
        overwrite: true,
        ..RunOptions::default()
    };
    let begun = Instant::now();
    powerbond::run(&system, &options).expect("a run");
    let running = begun.elapsed().as_secs_f64();
    let begun = Instant::now();
    let (page, _) = powerbond::report::page(std::slice::from_ref(&run)).expect("a report");
    println!("a run of 1 000 000 rows, 22 columns in two files: {running:.2} s");
    println!(
        "its report: {:.2} s, {:.2} MB   (3 s and 10 MB are allowed)",
        begun.elapsed().as_secs_f64(),
        1e-6 * page.len() as f64
    );
}
