//! Cost of a step of a subsystem in a process of its own, beside the same step in this process.
//!
//! `cargo bench -p powerbond-worker --bench own_process`. A step sets all inputs, steps and reads all outputs: one message there, one
//! back. "pause" is what the engine does between two steps: other subsystems, for one.

use powerbond::core::subsystem::{Binding, Causality, Inputs, Setup, Span, Subsystem};
use powerbond::fmi::Log;
use powerbond::models;
use powerbond::system::{Job, Processes};
use powerbond_worker::Workers;
use std::hint::black_box;
use std::time::{Duration, Instant};

const STEPS: usize = 100_000;
const H: f64 = 1e-4;

fn main() {
    if let Some(code) = powerbond_worker::serve(&std::env::args_os().skip(1).collect::<Vec<_>>()) {
        powerbond::fmi::process::leave(code);
    }
    println!("µs per step, of {STEPS} steps; load of the machine {}", load());
    println!(
        "{:<30} {:>9} {:>12} {:>12} {:>12} {:>12}",
        "model", "pause", "in process", "own, best", "own, median", "own, 99 %"
    );
    for name in ["algebraic/gain", "quarter-car/chassis", "quarter-car/wheel-suspension"] {
        for pause in [0, 5, 100].map(Duration::from_micros) {
            let steps = if pause > Duration::from_micros(50) { STEPS / 10 } else { STEPS };
            let here = measure(models::find(name).and_then(|m| m.build(&[]).ok()), steps, pause);
            let job = Job::Model { name: name.to_owned(), parameters: Vec::new() };
            let away = Workers::default().make("bench", None, &job, &Log::silent()).ok();
            let away = measure(away.map(|made| made.simulator), steps, pause);
            println!(
                "{name:<30} {:>9} {:>12.2} {:>12.2} {:>12.2} {:>12.2}",
                format!("{} µs", pause.as_micros()),
                here[1],
                away[0],
                away[1],
                away[2]
            );
        }
    }
}

/// Smallest, median and 99th percentile of the time of a step, in µs.
fn measure(simulator: Option<Box<dyn Subsystem>>, steps: usize, pause: Duration) -> [f64; 3] {
    let mut simulator = simulator.expect("the model can be made");
    let with = |causality: Causality| {
        let variables = simulator.info().variables.iter().enumerate();
        variables.filter(|(_, v)| v.causality == causality).map(|(v, _)| v).collect::<Vec<usize>>()
    };
    let binding =
        Binding { inputs: with(Causality::Input), outputs: with(Causality::Output), ..Binding::default() };
    let (u, mut y) = (vec![0.1; binding.inputs.len()], vec![0.0; binding.outputs.len()]);
    let u = Inputs::constant(&u);
    simulator.bind(&binding).expect("bound");
    simulator.enter(&Setup { start: 0.0, stop: 1e3 }).expect("entered");
    simulator.evaluate(u, &mut y).expect("evaluated");
    simulator.start().expect("started");
    let mut times = Vec::with_capacity(steps);
    for n in 0..steps {
        let begun = Instant::now();
        simulator.advance(Span::new(n as f64 * H, H), black_box(u), &mut y).expect("a step");
        times.push(begun.elapsed().as_nanos() as f64 / 1e3);
        let ended = Instant::now();
        while ended.elapsed() < pause {
            std::hint::spin_loop();
        }
    }
    simulator.finish().expect("finished");
    times.sort_by(f64::total_cmp);
    [0, steps / 2, steps * 99 / 100].map(|place| times[place])
}

/// The load of the machine, where the system tells.
fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().unwrap_or("unknown").to_owned()
}
