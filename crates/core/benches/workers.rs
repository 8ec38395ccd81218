//! What threads gain: subsystems of a given cost, advanced by one thread and by two.
//!
//! `cargo bench -p powerbond-core --bench workers`. Microseconds per macro step: the best of 30 medians.

#[path = "../tests/common/mod.rs"]
mod common;

use common::{Method, bare, engine};
use powerbond_core::network::{Network, NetworkBuilder};
use powerbond_core::observe::NoObserver;
use powerbond_core::subsystem::{Advance, Binding, Info, Inputs, Setup, Span, Subsystem, SubsystemError};
use std::hint::black_box;
use std::time::Instant;

fn main() {
    println!(
        "{:>10} {:>10} {:>12} {:>12} {:>8}",
        "subsystems", "cost/µs", "1 thread/µs", "2 threads/µs", "gain"
    );
    let per_round = rounds_per_microsecond();
    for n in [2, 10] {
        for cost in [0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 100.0, 1000.0] {
            let [one, two] = [1, 2].map(|threads| median(n, cost, per_round, threads));
            println!("{n:>10} {cost:>10} {one:>12.2} {two:>12.2} {:>8.2}", one / two);
        }
    }
}

/// Rounds of [`work`] in a microsecond, the best of several.
fn rounds_per_microsecond() -> f64 {
    let rounds = 100_000;
    let measure = |_| {
        let begun = Instant::now();
        black_box(work(rounds, 1.0));
        rounds as f64 / (1e6 * begun.elapsed().as_secs_f64())
    };
    (0..20).map(measure).fold(0.0, f64::max)
}

fn work(rounds: u64, x: f64) -> f64 {
    (0..rounds).fold(x, |x, _| black_box(x * 1.000001 + 1e-9))
}

/// The least of several medians: other work on the machine comes and goes.
fn median(n: usize, cost: f64, per_round: f64, threads: usize) -> f64 {
    let rounds = (cost * per_round) as u64;
    let mut engine = engine(network(n, rounds), 1e9, &Method { threads, ..Method::default() });
    engine.initialize(&mut NoObserver).expect("a sound start");
    let steps = (20_000.0 / (n as f64 * cost)).clamp(11.0, 501.0) as usize;
    let block = |_| {
        let step = |_| {
            let begun = Instant::now();
            engine.step(&mut NoObserver).expect("a sound step");
            1e6 * begun.elapsed().as_secs_f64()
        };
        let mut times: Vec<f64> = (0..steps).map(step).collect();
        times.sort_by(f64::total_cmp);
        times[steps / 2]
    };
    (0..30).map(block).fold(f64::INFINITY, f64::min)
}

fn network(n: usize, rounds: u64) -> Network {
    let mut builder = NetworkBuilder::new();
    for i in 0..n {
        let (from, to) = (format!("s{i}.y"), format!("s{}.u", (i + 1) % n));
        builder = builder.subsystem(&format!("s{i}"), Heavy::new(rounds)).connect(&from, &to, 1.0);
    }
    builder.build().expect("a sound system").0
}

/// A subsystem that costs what it is told to.
struct Heavy {
    info: Info,
    rounds: u64,
}

impl Heavy {
    fn new(rounds: u64) -> Box<Self> {
        Box::new(Heavy { info: bare("heavy"), rounds })
    }
}

impl Subsystem for Heavy {
    fn info(&self) -> &Info {
        &self.info
    }

    fn bind(&mut self, _: &Binding) -> Result<(), SubsystemError> {
        Ok(())
    }

    fn enter(&mut self, _: &Setup) -> Result<(), SubsystemError> {
        Ok(())
    }

    fn evaluate(&mut self, _: Inputs<'_>, y: &mut [f64]) -> Result<(), SubsystemError> {
        y.fill(0.0);
        Ok(())
    }

    fn advance(&mut self, span: Span, u: Inputs<'_>, y: &mut [f64]) -> Result<Advance, SubsystemError> {
        y.fill(1e-3 * work(self.rounds, u.value[0]).tanh());
        Ok(Advance::whole(span))
    }

    fn probe(&mut self, _: &mut [f64]) -> Result<(), SubsystemError> {
        Ok(())
    }
}
