//! The examples of rodriguez2022's systems: `expected.csv` is the monolithic solution, and a run of `system.toml` stays as
//! near to it as the example's README says.
//!
//! `BLESS=1 cargo test -p powerbond --test oscillating_examples` writes the expected files anew from the references.

use powerbond::models::oscillator::{DOUBLE, Reference};
use powerbond::models::{crane, pendula};
use powerbond::results::{Tolerance, compare};
use powerbond::table::{Field, Format, Writer, csv};
use powerbond::{RunOptions, System};
use std::path::{Path, PathBuf};

fn folder(example: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(example)
}

/// One row per `interval`, from the reference.
fn table(stop: f64, interval: f64, mut at: impl FnMut(f64) -> Vec<f64>) -> Vec<Vec<f64>> {
    let rows = (stop / interval).round() as usize;
    (0..=rows)
        .map(|i| {
            let t = i as f64 * interval;
            let mut row = vec![t];
            row.extend(at(t));
            row
        })
        .collect()
}

/// Compares a run with the reference by `compare`: the largest error of each variable relative to its largest value.
fn check(example: &str, names: &[&str], rows: Vec<Vec<f64>>, interval: f64, limit: f64) {
    let path = folder(example).join("expected.csv");
    let header = std::iter::once("time").chain(names.iter().copied());
    if std::env::var("BLESS").is_ok() {
        let fields: Vec<Field> = header.map(|name| Field::new(name, "")).collect();
        let mut writer = Writer::create(&path, Format::Csv, &fields, &Vec::new(), None).unwrap();
        rows.iter().for_each(|row| writer.row(row.iter().copied()).unwrap());
        writer.close().unwrap();
    }
    let expected = csv::read(&path).unwrap();
    assert_eq!(expected.columns[0].len(), rows.len(), "{example}: rows of expected.csv");
    for (i, row) in rows.iter().enumerate() {
        for (column, value) in expected.columns.iter().zip(row) {
            let off = (column[i] - value).abs();
            assert!(
                off <= 1e-8 * (1.0 + value.abs()),
                "{example}: expected.csv row {i} is {} , the reference {value}",
                column[i]
            );
        }
    }
    let output = std::env::temp_dir().join(format!("powerbond-example-{example}-{}", std::process::id()));
    let options = RunOptions {
        output_interval: Some(interval),
        output_dir: Some(output.clone()),
        ..RunOptions::default()
    };
    powerbond::run(&System::load(folder(example)).unwrap(), &options).unwrap();
    let compared = compare(&output, &path, Some(Tolerance { relative: limit, absolute: 0.0 })).unwrap();
    std::fs::remove_dir_all(&output).unwrap();
    assert_eq!(compared.variables.len(), names.len(), "{example}: {:?}", compared.only_reference);
    for v in compared.variables {
        assert_eq!(
            v.within,
            Some(true),
            "{example}: `{}` is off by {:.3} % of its largest value",
            v.name,
            100.0 * v.relative_max
        );
    }
}

#[test]
fn oscillator() {
    let mut reference = Reference::new(&DOUBLE[0]);
    let rows = table(10.0, 0.05, |t| {
        reference.advance_to(t);
        let [x1, x2] = reference.positions();
        vec![x1, x2]
    });
    // The tolerance is 1e-3 relative to the standard deviation; rows are interpolated between steps.
    check("oscillator", &["giver.own_position", "mass.position"], rows, 0.05, 0.002);
}

#[test]
fn pendula() {
    let mut reference = pendula::Reference::new(&pendula::CASES[0]);
    let rows = table(30.0, 0.1, |t| {
        reference.advance_to(t);
        let [a, b] = reference.angles();
        vec![a, b]
    });
    check("pendula", &["left.angle", "right.angle"], rows, 0.1, 0.001);
}

#[test]
fn crane() {
    let mut reference = crane::Reference::new(&crane::ARM, &crane::CIRCUIT);
    let rows = table(10.0, 0.05, |t| {
        reference.advance_to(t);
        vec![reference.length(), reference.angles()[0]]
    });
    check("crane", &["mechanics.length", "mechanics.angle1"], rows, 0.05, 1e-4);
}
