//! Writing results beside a plain C loop of `fprintf("%.17g")` over the same numbers, in the same run, as a ratio.
//!
//! `cargo bench -p powerbond --features arrow --bench tables`; needs a C compiler called `cc`.

use powerbond::table::{Field, Format, Writer};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

const ROWS: usize = 100_000;
const COLUMNS: usize = 20;

/// Numbers of all sizes with all their digits, the same here and in C.
fn value(row: usize, column: usize) -> f64 {
    let mut x = (row as u64).wrapping_mul(COLUMNS as u64).wrapping_add(column as u64 + 1);
    x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (x >> 11) as f64 / (1u64 << 53) as f64 * [1e-3, 1.0, 1e3, 1e6][column % 4]
}

const C: &str = r#"
#include <stdint.h>
#include <stdio.h>
#include <time.h>
enum { ROWS = 100000, COLUMNS = 20 };
static double values[ROWS][COLUMNS];
int main(int argc, char **argv) {
    static const double scale[4] = {1e-3, 1.0, 1e3, 1e6};
    for (uint64_t r = 0; r < ROWS; r++)
        for (uint64_t c = 0; c < COLUMNS; c++) {
            uint64_t x = r * COLUMNS + c + 1;
            x = x * 6364136223846793005ull + 1442695040888963407ull;
            values[r][c] = (double)(x >> 11) / (double)(1ull << 53) * scale[c % 4];
        }
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    FILE *file = fopen(argv[1], "w");
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < COLUMNS; c++)
            fprintf(file, "%.17g%c", values[r][c], c + 1 < COLUMNS ? ',' : '\n');
    fclose(file);
    clock_gettime(CLOCK_MONOTONIC, &b);
    printf("%.9f\n", (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec));
    return argc - 2;
}
"#;

fn main() {
    let folder = std::env::temp_dir().join(format!("powerbond-bench-tables-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let program = compile(&folder);
    let rows: Vec<Vec<f64>> = (0..ROWS).map(|r| (0..COLUMNS).map(|c| value(r, c)).collect()).collect();
    let theirs = best(|| run(&program, &folder.join("theirs.csv")));
    let size = |name: &str| std::fs::metadata(folder.join(name)).expect("a file").len() as f64 / 1e6;
    println!("{ROWS} rows of {COLUMNS} numbers");
    println!("  C fprintf(%.17g)   {:7.1} ms  {:5.1} MB", 1e3 * theirs, size("theirs.csv"));
    for (format, allowed) in [(Format::Csv, "1.5"), (Format::Arrow, "0.2"), (Format::Parquet, "no limit")] {
        if !format.is_built_in() {
            println!("  {:<18} needs `--features arrow`", format.name());
            continue;
        }
        let name = format.file("ours");
        let ours = best(|| write(&folder.join(&name), format, &rows));
        let (time, ratio) = (1e3 * ours, ours / theirs);
        println!(
            "  {:<18} {time:7.1} ms  {:5.1} MB  ratio {ratio:.3} ({allowed})",
            format.name(),
            size(&name)
        );
    }
    std::fs::remove_dir_all(&folder).expect("the folder goes");
}

fn best(mut run: impl FnMut() -> f64) -> f64 {
    (0..5).map(|_| run()).fold(f64::INFINITY, f64::min)
}

fn write(path: &Path, format: Format, rows: &[Vec<f64>]) -> f64 {
    let _ = std::fs::remove_file(path);
    let begun = Instant::now();
    let fields: Vec<Field> = (0..COLUMNS).map(|c| Field::new(format!("x{c}"), "")).collect();
    let mut writer = Writer::create(path, format, &fields, &Vec::new(), None).expect("a file");
    for row in rows {
        writer.row(row.iter().copied()).expect("a row");
    }
    writer.close().and_then(|()| writer.convert()).expect("all rows");
    begun.elapsed().as_secs_f64()
}

fn compile(folder: &Path) -> std::path::PathBuf {
    let (source, program) = (folder.join("loop.c"), folder.join("loop"));
    std::fs::write(&source, C).expect("the source");
    let made =
        Command::new("cc").arg("-O2").arg("-o").arg(&program).arg(&source).status().expect("a C compiler");
    assert!(made.success(), "cc failed");
    program
}

fn run(program: &Path, file: &Path) -> f64 {
    let out = Command::new(program).arg(file).output().expect("the C loop");
    String::from_utf8_lossy(&out.stdout).trim().parse().expect("a time")
}
