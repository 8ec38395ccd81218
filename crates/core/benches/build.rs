//! Cost of building a network: a ring of light subsystems, two connections and a bond per neighbour.
//!
//! `cargo bench -p powerbond-core --bench build`.

#[path = "../tests/common/mod.rs"]
mod common;

use std::hint::black_box;
use std::time::Instant;

fn main() {
    println!("ring of light subsystems, two connections and one bond per neighbour");
    println!("{:>10} {:>12} {:>16}", "subsystems", "build, ms", "µs per subsystem");
    for n in [10, 100, 1000, 10_000, 100_000] {
        let once = |_| {
            let begun = Instant::now();
            black_box(common::ring(n));
            begun.elapsed().as_secs_f64()
        };
        let best = (0..(100_000 / n).clamp(3, 100)).map(once).fold(f64::INFINITY, f64::min);
        println!("{n:>10} {:>12.2} {:>16.2}", 1e3 * best, 1e6 * best / n as f64);
    }
}
