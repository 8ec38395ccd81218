//! What the FMU around a model costs: ns per step of `quarter-car/chassis` as a built-in model and as an FMU of both
//! versions through powerbond's own import, and the time to make 1000 instances.
//!
//! `cargo run --release -p powerbond-export --example step_cost`

use powerbond_core::subsystem::{Binding, Inputs, Setup, Span, Subsystem};
use powerbond_export::{Export, FmiVersion, Library};
use powerbond_fmi::{Fmu, Options};
use std::time::Instant;

const STEPS: u32 = 1_000_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let model = powerbond_models::find("quarter-car/chassis").expect("a built-in model");
    let folder = std::env::temp_dir().join(format!("powerbond-step-cost-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    println!("built-in   {:6.1} ns per step", best(&mut *model.build(&[])?)?);
    for version in [FmiVersion::Fmi2, FmiVersion::Fmi3] {
        let path = folder.join(format!("{version:?}.fmu"));
        Export::new(model, version, &[])?.write(&Library::find()?, &path)?;
        let fmu = Fmu::open(&path)?;
        fmu.load()?;
        let cost = best(&mut fmu.instantiate("x", &Options::default())?)?;
        let start = Instant::now();
        let many: Result<Vec<_>, _> = (0..1000).map(|_| fmu.instantiate("x", &Options::default())).collect();
        let made = start.elapsed();
        println!("{version:?}       {cost:6.1} ns per step, {} instances in {made:.1?}", many?.len());
    }
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}

/// The best of seven runs.
fn best(subsystem: &mut dyn Subsystem) -> Result<f64, Box<dyn std::error::Error>> {
    let index = |name| subsystem.info().find(name).expect("a variable of the chassis");
    let binding = Binding {
        inputs: vec![index("force")],
        outputs: vec![index("velocity")],
        probes: Vec::new(),
        feed_through: Vec::new(),
    };
    subsystem.bind(&binding)?;
    subsystem.enter(&Setup { start: 0.0, stop: 1e3 })?;
    subsystem.start()?;
    let (mut y, mut n, mut best) = ([0.0], 0, f64::INFINITY);
    for _ in 0..7 {
        let start = Instant::now();
        for _ in 0..STEPS {
            subsystem.advance(Span::new(1e-4 * f64::from(n), 1e-4), Inputs::constant(&[1.0]), &mut y)?;
            n += 1;
        }
        best = best.min(start.elapsed().as_nanos() as f64 / f64::from(STEPS));
    }
    Ok(best)
}
