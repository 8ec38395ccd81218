//! Runs a single FMU with constant inputs and prints its numeric outputs as CSV.
//!
//!     cargo run -p powerbond-fmi --example run_fmu -- model.fmu --stop 1 --step 0.01 --set u=2 --set label=spring

use powerbond_core::subsystem::{Binding, Causality, Inputs, Setup, Span, Subsystem};
use powerbond_fmi::{Fmu, Log, Options, Value};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("the path of an FMU is needed")?;
    let fmu = Fmu::open(&path)?;
    let (mut stop, mut step) = (1.0, 0.1);
    let mut options = Options { log: Log::to(|line| eprintln!("{line}")), ..Options::default() };
    while let Some(argument) = arguments.next() {
        let value = arguments.next().ok_or("an option needs a value")?;
        match argument.as_str() {
            "--stop" => stop = value.parse()?,
            "--step" => step = value.parse()?,
            "--set" => {
                let (name, text) = value.split_once('=').ok_or("--set needs name=value")?;
                let kind = fmu.description().find(name).map(|v| fmu.description().variables[v].kind);
                let kind = kind.ok_or_else(|| format!("there is no variable {name}"))?;
                let value =
                    Value::parse(text, kind).ok_or_else(|| format!("{text} is not a {}", kind.name()))?;
                options.start.push((name.to_owned(), value));
            }
            other => return Err(format!("unknown option {other}").into()),
        }
    }
    let mut subsystem = fmu.instantiate("model", &options)?;
    let variables = &subsystem.info().variables;
    let outputs = (0..variables.len()).filter(|&v| variables[v].causality == Causality::Output);
    let binding = Binding { outputs: outputs.collect(), ..Binding::default() };
    let names: Vec<&str> = binding.outputs.iter().map(|&v| variables[v].name.as_str()).collect();
    println!("time,{}", names.join(","));
    let mut y = vec![0.0; names.len()];
    subsystem.bind(&binding)?;
    subsystem.enter(&Setup { start: 0.0, stop })?;
    subsystem.start()?;
    subsystem.evaluate(Inputs::constant(&[]), &mut y)?;
    print(0.0, &y);
    for n in 0..(stop / step).round() as u32 {
        let span = Span { start: f64::from(n) * step, end: f64::from(n + 1) * step, h: step };
        subsystem.advance(span, Inputs::constant(&[]), &mut y)?;
        print(span.end, &y);
    }
    subsystem.finish()?;
    Ok(())
}

fn print(t: f64, y: &[f64]) {
    let values: Vec<String> = y.iter().map(ToString::to_string).collect();
    println!("{t},{}", values.join(","));
}
