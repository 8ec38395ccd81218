//! The own model as an FMU, in a system next to an FMU, stepped by hand.

use own_model::PUMP;
use powerbond::models::{ParameterValue, algebraic};
use powerbond::{Port, System, SystemBuilder};
use powerbond_export::{Export, FmiVersion, Library};
use std::error::Error;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| ".".to_owned());
    let folder = Path::new(&folder);

    // The library that this crate is built as makes FMUs of FMI 2.0 and 3.0.
    let library = Library::named("own_model")?;
    Export::new(&PUMP, FmiVersion::Fmi2, &[])?.write(&library, &folder.join("pump2.fmu"))?;
    Export::new(&PUMP, FmiVersion::Fmi3, &[])?.write(&library, &folder.join("pump3.fmu"))?;
    // A tank of 0.01 m²: its pressure is 1000 kg/m³ · 9.81 m/s² / 0.01 m² times what has flown into it.
    let tank = ParameterValue::numbers(&[("gain", 0.0), ("integral", 9.81e5)]);
    Export::new(&algebraic::GAIN, FmiVersion::Fmi3, &tank)?.write(&library, &folder.join("tank.fmu"))?;

    // The pump as it is in Rust and as an FMU fills the tank in the same way.
    for pump in ["mine/pump", "pump2.fmu", "pump3.fmu"] {
        let builder = System::builder().register(&PUMP);
        let builder = match pump.ends_with(".fmu") {
            true => builder.fmu("pump", folder.join(pump)),
            false => builder.model("pump", pump),
        };
        let mut run = filled(builder.fmu("tank", folder.join("tank.fmu"))).build()?.start()?;
        while run.time() < 5.0 {
            run.step()?;
        }
        let (then, full) = (run.time(), run.value("tank.y")?);
        run.set("pump.speed", 0.5)?;
        run.run()?;
        let (end, done) = (run.value("tank.y")?, run.finish()?);
        println!("{pump}: {full:?} Pa after {then:?} s, {end:?} Pa after 10 s; {}", done.verdict.word);
    }
    Ok(())
}

/// A pump that fills a tank, and the power between them.
fn filled(subsystems: SystemBuilder) -> SystemBuilder {
    subsystems
        .connect("pump.flow", "tank.u")
        .connect("tank.y", "pump.pressure")
        .bond("pipe", [Port::leaving("pump.pressure", "pump.flow"), Port::entering("tank.u", "tank.y")])
        .stop(10.0)
        .tolerance(1e-4)
}
