//! What a session adds to a step of the engine, and how long it takes to build a large system in a program.
//!
//! `cargo bench -p powerbond --bench session`. "engine" is the engine with the verdict that watches it, "run" a session that
//! keeps no rows, "step" the same session stepped by hand, "rows" one that keeps every variable in memory.

use powerbond::{Output, Session, System};
use std::time::Instant;

fn main() {
    println!("a ring of integrators with a constant step; ns per macro step (best of 15)");
    println!("{:>10} {:>10} {:>10} {:>10} {:>10}", "subsystems", "engine", "run", "step", "rows");
    for n in [2, 10, 100, 1000] {
        let steps = (400_000 / n).clamp(200, 20_000);
        let system = ring(n, steps);
        let engine = best(steps, || {
            let mut assembled = system.assemble().expect("a sound system");
            let verdict = &mut assembled.verdict;
            assembled.engine.initialize(verdict).expect("a start");
            let begun = Instant::now();
            while !assembled.engine.is_done() {
                assembled.engine.step(verdict).expect("a step");
            }
            begun.elapsed().as_secs_f64()
        });
        let session = |output: fn() -> Output, by_hand: bool| {
            best(steps, || {
                let mut run = Session::open(&system, output()).expect("a session");
                run.start().expect("a start");
                let begun = Instant::now();
                if by_hand {
                    while run.step().expect("a step") == powerbond::State::Running {}
                } else {
                    run.run().expect("a run");
                }
                begun.elapsed().as_secs_f64()
            })
        };
        let (run, step) = (session(Output::nothing, false), session(Output::nothing, true));
        let rows = session(Output::default, false);
        println!("{n:>10} {engine:>10.0} {run:>10.0} {step:>10.0} {rows:>10.0}");
    }
    let begun = Instant::now();
    let system = ring(10_000, 10);
    let built = begun.elapsed().as_secs_f64();
    system.assemble().expect("a sound system");
    let assembled = begun.elapsed().as_secs_f64();
    println!(
        "10 000 subsystems: built in {built:.3} s, assembled after {assembled:.3} s   (0.5 s are allowed)"
    );
}

/// The shortest of several runs, in ns per step.
fn best(steps: usize, mut run: impl FnMut() -> f64) -> f64 {
    (0..15).map(|_| 1e9 * run() / steps as f64).fold(f64::INFINITY, f64::min)
}

/// `x' = u`, `y = −x/2`, each fed by the one before it.
fn ring(n: usize, steps: usize) -> System {
    let mut builder = System::builder().stop(1e-3 * steps as f64).step(1e-3);
    for i in 0..n {
        let name = format!("s{i}");
        builder = builder.model(&name, "algebraic/gain").parameter(&format!("{name}.gain"), 0.0);
        builder = builder.parameter(&format!("{name}.integral"), -0.5);
        builder = builder.parameter(&format!("{name}.initial_state"), 1.0);
    }
    for i in 0..n {
        builder = builder.connect(format!("s{i}.y"), format!("s{}.u", (i + 1) % n));
    }
    builder.build().expect("a sound system")
}
