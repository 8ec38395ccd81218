//! Cost of a macro step per subsystem: a ring of light subsystems with monitor, ECCO and NEPCE on.
//!
//! `cargo bench -p powerbond-core`. "subsystem" is the bare cost of the models' own equations in the same run.

#[path = "../tests/common/mod.rs"]
mod common;

use powerbond_core::models::{Equations, Held};
use powerbond_core::observer::{Nobody, Observer};
use powerbond_core::verdict::{Circumstances, Verdict};
use std::hint::black_box;
use std::time::Instant;

fn main() {
    println!(
        "ring of light subsystems, one bond per neighbour, energy monitor + ECCO + NEPCE; ns per subsystem and step"
    );
    println!(
        "{:>10} {:>12} {:>12} {:>12} {:>12}",
        "subsystems", "equations", "everything", "engine", "verdict"
    );
    for n in [2, 10, 100, 1000, 10_000] {
        let bare = equations(n);
        let all = engine(n, false);
        let judged = engine(n, true);
        println!("{n:>10} {bare:>12.1} {all:>12.1} {:>12.1} {:>12.1}", all - bare, judged - all);
    }
}

/// The best of several runs, in ns per subsystem and step.
fn best(n: usize, steps: usize, mut run: impl FnMut()) -> f64 {
    (0..7)
        .map(|_| {
            let begun = Instant::now();
            run();
            begun.elapsed().as_nanos() as f64 / (n * steps) as f64
        })
        .fold(f64::INFINITY, f64::min)
}

fn steps(n: usize) -> usize {
    (1_000_000 / n).clamp(100, 100_000)
}

fn equations(n: usize) -> f64 {
    let element = common::Element { inverse_mass: 1.0, stiffness: 100.0, damping: 0.1, v: 0.0, f: 0.0 };
    let mut elements = vec![element; n];
    let held = Held { value: black_box([0.1, 0.2]), slope: [0.0; 2], curvature: [0.0; 2] };
    best(n, steps(n), || {
        for _ in 0..steps(n) {
            for e in &mut elements {
                e.step(0.0, 1e-4, black_box(&held)).expect("it never fails");
                black_box(e.output(&held.value));
            }
        }
    })
}

fn engine(n: usize, judged: bool) -> f64 {
    let method = common::Method {
        nepce: Some(0.5),
        estimator: "energy",
        controller: "ecco",
        step: 1e-4,
        ..common::Method::default()
    };
    let network = common::ring(n).0;
    let run = Circumstances {
        holds: vec![0; network.n_inputs],
        corrects: true,
        refresh: Vec::new(),
        twins: vec![None; network.n_inputs],
        start: 0.0,
        stop: 1e9,
    };
    let mut verdict = Verdict::new(&network, &run);
    let observer: &mut dyn Observer = if judged { &mut verdict } else { &mut Nobody };
    let mut master = common::master(network, 1e9, &method);
    master.initialize(&mut Nobody).expect("a sound start");
    best(n, steps(n), || {
        for _ in 0..steps(n) {
            master.step(observer).expect("a sound step");
        }
    })
}
