//! Whether an FMU follows second derivatives of its inputs: FMI 2.0 lets it say that it interpolates, not with which order.

use crate::description::Version;
use crate::fmu::{Fmu, Options};
use crate::probe::ProbeError;
use powerbond_core::subsystem::{Binding, Causality, Inputs, Setup, Span, Subsystem};

/// Parts of the step in which values alone follow the parabola.
const PARTS: u32 = 32;
/// One step with the second derivative comes this close to the same parabola in parts, relative to what the parabola changes.
const CLOSE: f64 = 0.1;
/// Changes below this share of an output are round-off.
const ROUND_OFF: f64 = 1e-12;

/// Whether one step with `u'' ≠ 0` does what the same parabola does in many steps with values only. Tried on scratch instances: all
/// real inputs go along a parabola by a tenth of their nominal value. What is ignored shows no change, what is taken for something else
/// another one; an error counts as no. Done once for every FMU with the same parameters and start values.
pub fn follows_curvature(fmu: &Fmu, options: &Options) -> bool {
    let Ok(interface) = fmu.interface() else { return false };
    let may = fmu.description().version == Version::Fmi2
        && interface.can_interpolate_inputs
        && !interface.only_once_per_process
        && interface.can_handle_variable_step_size;
    let curved = Options { input_derivatives: Some(2), ..options.unseen() };
    may && fmu.curved_once(options, || tried(fmu, &curved).unwrap_or(false))
}

fn tried(fmu: &Fmu, options: &Options) -> Result<bool, ProbeError> {
    let [whole, still_whole] = [outputs(fmu, options, 1, true)?, outputs(fmu, options, 1, false)?];
    let [parts, still_parts] = [outputs(fmu, options, PARTS, true)?, outputs(fmu, options, PARTS, false)?];
    let mut seen = false;
    for (o, &still) in still_whole.iter().enumerate() {
        let (one, many) = (whole[o] - still, parts[o] - still_parts[o]);
        if one.abs().max(many.abs()) <= ROUND_OFF * still.abs() {
            continue;
        }
        let off = (one - many).abs();
        if off.is_nan() || off > CLOSE * many.abs() {
            return Ok(false);
        }
        seen = true;
    }
    Ok(seen)
}

/// Outputs after one step from the start, in `parts`: with inputs that stay, or go along a parabola from rest.
fn outputs(fmu: &Fmu, options: &Options, parts: u32, moves: bool) -> Result<Vec<f64>, ProbeError> {
    let mut subsystem = fmu.scratch(&fmu.file_name(), options)?;
    let variables = &subsystem.info().variables;
    let outputs = (0..variables.len()).filter(|&v| variables[v].causality == Causality::Output);
    let binding =
        Binding { inputs: subsystem.distinct_inputs(), outputs: outputs.collect(), ..Binding::default() };
    let kinds: Vec<_> = binding.inputs.iter().map(|&v| variables[v].kind).collect();
    let experiment = fmu.description().default_experiment;
    let start = experiment.start.unwrap_or(0.0);
    let stop = experiment.stop.filter(|stop| *stop > start).unwrap_or(start + 1.0);
    let span = Span::new(start, experiment.step_size.unwrap_or(1e-3 * (stop - start)));
    let trials: Vec<_> = binding.inputs.iter().map(|&input| subsystem.trial(input)).collect();
    let base: Vec<f64> = trials.iter().map(|trial| trial.base).collect();
    let to =
        trials.iter().zip(&kinds).map(|(trial, kind)| match trial.values.iter().rev().flatten().next() {
            Some(value) if moves && *kind == powerbond_core::subsystem::ValueKind::Real => value - trial.base,
            _ => 0.0,
        });
    let curvature: Vec<f64> = to.map(|moved| 2.0 * moved / (span.h * span.h)).collect();
    subsystem.bind(&binding)?;
    subsystem.enter(&Setup { start, stop })?;
    let mut y = vec![0.0; binding.outputs.len()];
    subsystem.evaluate(Inputs::constant(&base), &mut y)?;
    subsystem.start()?;
    let zero = vec![0.0; base.len()];
    for k in 0..parts {
        let part = span.part(k, parts);
        let middle = 0.5 * (part.start + part.end) - start;
        let values: Vec<f64> =
            base.iter().zip(&curvature).map(|(u, c)| u + 0.5 * c * middle * middle).collect();
        let u = match parts {
            1 => Inputs { value: &base, slope: &zero, curvature: &curvature },
            _ => Inputs::constant(&values),
        };
        subsystem.advance(part, u, &mut y)?;
    }
    Ok(y)
}
