//! Cost of recording: our CSV writer beside a plain C loop with `fprintf("%.17g")`, same numbers, same disk, same run.
//!
//! `cargo bench -p powerbond --bench csv`. Needs a C compiler (`cc`). Also the time and size of the report of a long run.

use powerbond::results::csv::Writer;
use powerbond::{RunOptions, System};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

const ROWS: usize = 200_000;
const COLUMNS: usize = 20;

const C: &str = r#"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
int main(int argc, char **argv) {
    long rows = atol(argv[2]), columns = atol(argv[3]);
    FILE *file = fopen(argv[1], "w");
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    for (long i = 0; i < rows; i++) {
        for (long k = 0; k < columns; k++)
            fprintf(file, k ? ",%.17g" : "%.17g", sin(1e-3 * i + k) * (k + 1));
        fputs("\r\n", file);
    }
    if (fclose(file)) return 1;
    clock_gettime(CLOCK_MONOTONIC, &b);
    printf("%.9f\n", b.tv_sec - a.tv_sec + 1e-9 * (b.tv_nsec - a.tv_nsec));
    return 0;
}
"#;

fn main() {
    let folder = std::env::temp_dir().join(format!("powerbond-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    writing(&folder);
    report(&folder);
    std::fs::remove_dir_all(&folder).expect("it was ours");
}

fn writing(folder: &Path) {
    let source = folder.join("plain.c");
    let program = folder.join("plain");
    std::fs::write(&source, C).expect("a file");
    let built = Command::new("cc").arg("-O2").arg(&source).arg("-o").arg(&program).arg("-lm").status();
    assert!(built.expect("a C compiler").success(), "the C loop does not compile");
    let c = || {
        let ran = Command::new(&program)
            .arg(folder.join("c.csv"))
            .args([ROWS.to_string(), COLUMNS.to_string()])
            .output()
            .expect("it runs");
        String::from_utf8_lossy(&ran.stdout).trim().parse::<f64>().expect("seconds")
    };
    let ours = || {
        let begun = Instant::now();
        let header = (0..COLUMNS).map(|k| format!("c{k}"));
        let mut writer = Writer::create(&folder.join("ours.csv"), header).expect("a file");
        for i in 0..ROWS {
            let value = |k: usize| (1e-3 * i as f64 + k as f64).sin() * (k + 1) as f64;
            writer.row((0..COLUMNS).map(value)).expect("a row");
        }
        writer.flush().expect("the rest");
        begun.elapsed().as_secs_f64()
    };
    let best = |run: &dyn Fn() -> f64| (0..5).map(|_| run()).fold(f64::INFINITY, f64::min);
    let (c, ours) = (best(&c), best(&ours));
    println!("{ROWS} rows of {COLUMNS} columns, best of 5");
    println!("  C, fprintf(\"%.17g\")   {:8.1} ms", 1e3 * c);
    println!("  powerbond             {:8.1} ms", 1e3 * ours);
    println!("  ratio                 {:8.2}   (1.5 is allowed)", ours / c);
}

fn report(folder: &Path) {
    let text = include_str!("../../../examples/quarter-car/system.toml");
    let plain = text.split("[method]").next().expect("a method");
    let system = System::parse("bench/system.toml", plain).expect("a system");
    let run = folder.join("run");
    let options =
        RunOptions { step_size: Some(4e-6), output_dir: Some(run.clone()), ..RunOptions::default() };
    let begun = Instant::now();
    powerbond::run(&system, &options).expect("a run");
    let running = begun.elapsed().as_secs_f64();
    let begun = Instant::now();
    let page = powerbond::report::page(std::slice::from_ref(&run)).expect("a report");
    println!("a run of 1 000 000 rows, 22 columns in two files: {running:.2} s");
    println!(
        "its report: {:.2} s, {:.2} MB   (3 s and 10 MB are allowed)",
        begun.elapsed().as_secs_f64(),
        1e-6 * page.len() as f64
    );
}
