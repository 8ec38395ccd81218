//! What no flag tells: whether outputs follow inputs while time stands still, and which output follows which input.
//!
//! Both are found by trying, on an instance of their own that is thrown away, so that the run is not touched.

use crate::error::FmuError;
use crate::fmu::{Fmu, Options};
use crate::log::Log;
use powerbond_core::subsystem::{Binding, Causality, Inputs, Setup, Span, Subsystem, SubsystemError};

/// What a probe found.
#[derive(Clone, Debug, PartialEq)]
pub struct Probed {
    /// Pairs `(output, input)` of variable indices where a change of the input showed in the output at once. A pair
    /// whose derivative is zero at the start values is missed.
    pub feed_through: Vec<(usize, usize)>,
    /// Outputs followed their inputs also after a step: `evaluate` refreshes them. False where nothing feeds through.
    pub refresh: bool,
}

/// Why a probe failed.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// No instance could be made.
    #[error(transparent)]
    Fmu(#[from] FmuError),
    /// A call failed.
    #[error(transparent)]
    Call(#[from] SubsystemError),
}

/// Perturbs every input of an FMU in initialization and after a step and looks at all outputs. Done once for every FMU
/// with the same parameters and start values; later instances get the same answer.
///
/// An FMU that can be instantiated only once per process must not have another instance at that time.
pub fn probe(fmu: &Fmu, options: &Options) -> Result<Probed, ProbeError> {
    fmu.probed_once(options, || try_out(fmu, &Options { log: Log::silent(), ..options.clone() }))
}

fn try_out(fmu: &Fmu, options: &Options) -> Result<Probed, ProbeError> {
    let mut subsystem = fmu.instantiate("probe", options)?;
    let variables = &subsystem.info().variables;
    let of = |causality| (0..variables.len()).filter(move |&v| variables[v].causality == causality);
    let binding = Binding {
        inputs: of(Causality::Input).collect(),
        outputs: of(Causality::Output).collect(),
        ..Binding::default()
    };
    let u: Vec<f64> = binding.inputs.iter().map(|&v| variables[v].start).collect();
    let nominal: Vec<f64> = binding.inputs.iter().map(|&v| variables[v].nominal).collect();
    let start = fmu.description().default_experiment.start.unwrap_or(0.0);
    let stop = fmu.description().default_experiment.stop.filter(|stop| *stop > start).unwrap_or(start + 1.0);
    subsystem.bind(&binding)?;
    subsystem.enter(&Setup { start, stop })?;
    let mut follow = |u: &[f64]| -> Result<Vec<(usize, usize)>, SubsystemError> {
        perturb(&mut subsystem, &binding, u, &nominal)
    };
    let feed_through = follow(&u)?;
    subsystem.start()?;
    // Before the first step an FMU may still have what it computed in initialization; afterwards it shows its habit.
    let own = subsystem.info().capabilities.fixed_step;
    let h = own.or(fmu.description().default_experiment.step_size).unwrap_or(1e-3 * (stop - start));
    let mut y = vec![0.0; binding.outputs.len()];
    subsystem.advance(Span::new(start, h), Inputs::constant(&u), &mut y)?;
    let refresh = perturb(&mut subsystem, &binding, &u, &nominal)?;
    subsystem.finish()?;
    Ok(Probed { refresh: !refresh.is_empty() && refresh == feed_through, feed_through })
}

fn perturb(
    subsystem: &mut dyn Subsystem,
    binding: &Binding,
    u: &[f64],
    nominal: &[f64],
) -> Result<Vec<(usize, usize)>, SubsystemError> {
    let mut y = vec![0.0; binding.outputs.len()];
    let mut moved = y.clone();
    let mut u = u.to_vec();
    let mut pairs = Vec::new();
    for i in 0..u.len() {
        subsystem.evaluate(Inputs::constant(&u), &mut y)?;
        let kept = u[i];
        // A whole number moves by one, a real by a tenth of its magnitude.
        u[i] += if nominal[i] == 1.0 { 1.0 } else { 0.1 * nominal[i] };
        subsystem.evaluate(Inputs::constant(&u), &mut moved)?;
        u[i] = kept;
        let changed = y.iter().zip(&moved).enumerate().filter(|(_, (a, b))| a.to_bits() != b.to_bits());
        pairs.extend(changed.map(|(o, _)| (binding.outputs[o], binding.inputs[i])));
    }
    subsystem.evaluate(Inputs::constant(&u), &mut y)?;
    pairs.sort_unstable();
    Ok(pairs)
}
