//! The template does what it says: the same results in Rust and as FMUs, by hand and from a file.

use own_model::PUMP;
use powerbond::System;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The pressure of the tank when the speed is halved, `then` s, and at 10 s: the classical Runge–Kutta method with steps of 0.1 ms.
fn reference(then: f64) -> [f64; 2] {
    let rate =
        |speed: f64, [q, p]: [f64; 2]| [(1e5 * speed * speed - 1e9 * q * q.abs() - p) / 1e6, 9.81e5 * q];
    let mut x = [0.0; 2];
    [(1.0, then), (0.5, 10.0 - then)].map(|(speed, time)| {
        let h = time / 50_000.0;
        for _ in 0..50_000 {
            let at = |c: f64, k: [f64; 2]| [x[0] + c * h * k[0], x[1] + c * h * k[1]];
            let k1 = rate(speed, x);
            let k2 = rate(speed, at(0.5, k1));
            let k3 = rate(speed, at(0.5, k2));
            let k4 = rate(speed, at(1.0, k3));
            x = std::array::from_fn(|i| x[i] + h / 6.0 * (k1[i] + 2.0 * (k2[i] + k3[i]) + k4[i]));
        }
        x[1]
    })
}

/// A folder with the FMUs that the program writes, and what it printed.
fn written() -> (PathBuf, String) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("own-model-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let ran = Command::new(env!("CARGO_BIN_EXE_own-model")).arg(&folder).output().expect("the program");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    (folder, String::from_utf8(ran.stdout).expect("text"))
}

#[test]
fn the_model_is_the_same_in_rust_as_an_fmu_and_in_a_file() {
    let (folder, printed) = written();
    let lines: Vec<(&str, &str)> = printed.lines().filter_map(|line| line.split_once(": ")).collect();
    assert_eq!(
        lines.iter().map(|(pump, _)| *pump).collect::<Vec<_>>(),
        ["mine/pump", "pump2.fmu", "pump3.fmu"]
    );
    assert_eq!(lines[0].1, lines[1].1, "FMI 2.0: the same bits");
    assert_eq!(printed.matches("trustworthy").count(), 3, "{printed}");
    let pressures = |line: usize| {
        let words = lines[line].1.split(' ').collect::<Vec<_>>();
        [0, 5, 3].map(|place| words[place].parse::<f64>().expect("a number"))
    };
    let numbers = pressures(0);
    // The first communication point at or after 5 s.
    assert!((5.0..5.5).contains(&numbers[2]), "{printed}");
    let [full, end] = reference(numbers[2]);
    for (rust, fmi3) in pressures(0).into_iter().zip(pressures(2)) {
        assert!((rust - fmi3).abs() < 1e-12 * full, "FMI 3.0 rounds inputs inside steps: {printed}");
    }
    // The tolerance is 1e-4 of the range of the variables.
    let check =
        |found: f64, expected: f64| assert!((found - expected).abs() < 1e-3 * full, "{found}, {expected}");
    check(numbers[0], full);
    check(numbers[1], end);

    let file = folder.join("system.toml");
    std::fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("system.toml"), &file).expect("a copy");
    let mut system = System::load(&file).expect("a sound file");
    let unknown = system.assemble().err().expect("the pump is not registered").to_string();
    assert!(unknown.contains("system.toml:7:9: unknown model `mine/pump`"), "{unknown}");
    system.register(&PUMP).expect("a free name");
    let mut run = system.start().expect("a start");
    run.run().expect("a sound run");
    check(run.value("tank.y").expect("an output"), reference(5.0)[1]);
    let again = system.register(&PUMP).expect_err("the name is taken").to_string();
    assert!(again.contains("mine/pump"), "{again}");
    std::fs::remove_dir_all(&folder).expect("it is ours");
}

#[test]
fn the_code_in_the_docs_is_that_of_the_template() {
    let read = |file: &str| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    let sources = read("src/lib.rs") + &read("src/main.rs");
    let page = read("../../docs/export.md");
    let blocks: Vec<&str> =
        page.split("```rust\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(blocks.len() >= 2);
    for block in blocks {
        assert!(sources.contains(block), "not in examples/own-model/src:\n{block}");
    }
}
