//! What the default method costs above ECCO with a first-order hold: a ring of light subsystems, two inputs each.
//!
//! `cargo bench -p powerbond-core --bench auto_step`. "ECCO + FOH" is a line through past inputs, the energy estimate and ECCO;
//! "auto" is variable orders, the jump norm and the same controller. Both meter the same bonds.

#[path = "../tests/common/mod.rs"]
mod common;

use powerbond_core::hold::InputFeed;
use powerbond_core::observe::NoObserver;
use powerbond_core::run::Engine;
use std::time::Instant;

const INPUTS: usize = 2;

fn main() {
    println!("ring of light subsystems with two inputs each, one bond per neighbour; ns per input and step");
    println!("{:>10} {:>12} {:>12} {:>12} {:>12}", "subsystems", "ECCO + FOH", "auto", "above it", "class D");
    // `cargo bench --bench auto_step -- 10` measures one size.
    let wanted: Option<usize> = std::env::args().skip(1).find_map(|a| a.parse().ok());
    for n in [2, 10, 100, 1000, 10_000].into_iter().filter(|&n| wanted.is_none_or(|w| w == n)) {
        let classic = common::Method {
            hold: 1,
            estimator: "energy",
            controller: "ecco",
            step: 1e-4,
            ..common::Method::default()
        };
        let auto = |feed| common::Method {
            hold: 2,
            variable: Some(feed),
            identify: feed == InputFeed::Radau,
            estimator: "jump",
            ..classic.clone()
        };
        // Turn by turn, so that other work on the machine meets all of them.
        let [foh, auto, radau] =
            best(n, [&classic, &auto(InputFeed::Derivatives(2)), &auto(InputFeed::Radau)]);
        println!("{n:>10} {foh:>12.1} {auto:>12.1} {:>12.1} {radau:>12.1}", auto - foh);
    }
}

/// The best of several runs of each method, in ns per input and step.
fn best(n: usize, methods: [&common::Method; 3]) -> [f64; 3] {
    let steps = (200_000 / n).clamp(20, 20_000);
    let mut masters: [Engine; 3] = methods.map(|method| {
        let mut engine = common::engine(common::ring(n).0, 1e9, method);
        engine.initialize(&mut NoObserver).expect("a sound start");
        engine
    });
    let mut best = [f64::INFINITY; 3];
    for _ in 0..40 {
        for (engine, best) in masters.iter_mut().zip(&mut best) {
            let begun = Instant::now();
            for _ in 0..steps {
                engine.step(&mut NoObserver).expect("a sound step");
            }
            *best = best.min(begun.elapsed().as_nanos() as f64 / (INPUTS * n * steps) as f64);
        }
    }
    best
}
