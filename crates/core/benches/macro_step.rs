//! Cost of a macro step per subsystem: a ring of light subsystems with monitor, ECCO and NEPCE on.
//!
//! `cargo bench -p powerbond-core --bench macro_step`. "equations" is the bare cost of the models' own equations in the same
//! run; "two rates" lets every second half of the ring step four times as often and counts every sub-step.

#[path = "../tests/common/mod.rs"]
mod common;

use powerbond_core::observe::verdict::{Circumstances, Verdict};
use powerbond_core::observe::{NoObserver, Observer};
use powerbond_models::{Equations, InputPolynomial};
use std::hint::black_box;
use std::time::Instant;

fn main() {
    println!(
        "ring of light subsystems, one bond per neighbour, energy monitor + ECCO + NEPCE; ns per subsystem and step"
    );
    println!(
        "{:>10} {:>12} {:>12} {:>12} {:>12} {:>12} {:>8}",
        "subsystems", "equations", "everything", "engine", "verdict", "two rates", "ratio"
    );
    // `cargo bench --bench macro_step -- 10` measures one size.
    let wanted: Option<usize> = std::env::args().skip(1).find_map(|a| a.parse().ok());
    for n in [2, 10, 100, 1000, 10_000].into_iter().filter(|&n| wanted.is_none_or(|w| w == n)) {
        let bare = equations(n);
        let all = engine(n, None, false);
        let judged = engine(n, None, true);
        let rates: Vec<u32> = (0..n).map(|s| if s < n / 2 { 1 } else { 4 }).collect();
        let mixed = engine(n, Some(rates), false);
        println!(
            "{n:>10} {bare:>12.1} {all:>12.1} {:>12.1} {:>12.1} {mixed:>12.1} {:>8.2}",
            all - bare,
            judged - all,
            mixed / all
        );
    }
}

/// The best of several runs, in ns per subsystem and step.
fn best(n: usize, steps: usize, mut run: impl FnMut()) -> f64 {
    (0..40)
        .map(|_| {
            let begun = Instant::now();
            run();
            begun.elapsed().as_nanos() as f64 / (n * steps) as f64
        })
        .fold(f64::INFINITY, f64::min)
}

fn steps(n: usize) -> usize {
    (200_000 / n).clamp(20, 20_000)
}

fn equations(n: usize) -> f64 {
    let element = common::Element { inverse_mass: 1.0, stiffness: 100.0, damping: 0.1, v: 0.0, f: 0.0 };
    let mut elements = vec![element; n];
    let held = InputPolynomial { value: black_box([0.1, 0.2]), slope: [0.0; 2], curvature: [0.0; 2] };
    best(n, steps(n), || {
        for _ in 0..steps(n) {
            for e in &mut elements {
                e.step(0.0, 1e-4, black_box(&held)).expect("it never fails");
                black_box(e.output(&held.value));
            }
        }
    })
}

fn engine(n: usize, rates: Option<Vec<u32>>, judged: bool) -> f64 {
    let sub_steps: usize = rates.as_ref().map_or(n, |r| r.iter().map(|&r| r as usize).sum());
    let method = common::Method {
        correction: common::Correction::Nepce(0.5),
        estimator: "energy",
        controller: "ecco",
        step: 1e-4,
        rates,
        ..common::Method::default()
    };
    let network = common::ring(n).0;
    let run = Circumstances {
        holds: vec![0; network.n_inputs],
        corrects: true,
        refresh: Vec::new(),
        twins: vec![None; network.n_inputs],
        discrete: vec![false; network.n_inputs],
        means: vec![false; network.n_inputs],
        start: 0.0,
        stop: 1e9,
    };
    let mut verdict = Verdict::new(&network, &run);
    let observer: &mut dyn Observer = if judged { &mut verdict } else { &mut NoObserver };
    let mut engine = common::engine(network, 1e9, &method);
    engine.initialize(&mut NoObserver).expect("a sound start");
    best(sub_steps, steps(n), || {
        for _ in 0..steps(n) {
            engine.step(observer).expect("a sound step");
        }
    })
}
