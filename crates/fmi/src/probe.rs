//! What no flag tells: which output follows which input at the same instant, and how outputs are read again after a step.
//!
//! Both are found by trying, on a scratch instance, so that the run is not touched.

use crate::description::Version;
use crate::error::FmuError;
use crate::fmu::{Fmu, Options};
use crate::instance::FmuSubsystem;
pub use crate::perturb::Response;
use crate::perturb::{Trial, responses};
use crate::reread::Reread;
use powerbond_core::subsystem::{
    Binding, Causality, Inputs, Setup, Span, StepEvent, Subsystem, SubsystemError,
};

/// What a probe found.
#[derive(Clone, Debug, PartialEq)]
pub struct Probed {
    /// Outputs that responded to inputs, in initialization or after a step, sorted by output and input. One whose gain is zero at
    /// the start values is missed.
    pub responses: Vec<Response>,
    /// How outputs are read again after a step.
    pub reread: Reread,
    /// Why the probe ended before its time: a call failed. What it found until then is kept; nothing is claimed of re-reading.
    pub failure: Option<String>,
}

impl Probed {
    /// The pairs `(output, input)` that responded, by index of variable.
    pub fn pairs(&self) -> Vec<(usize, usize)> {
        self.responses.iter().map(Response::pair).collect()
    }
}

/// Why a probe failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProbeError {
    #[error(transparent)]
    Fmu(#[from] FmuError),
    #[error(transparent)]
    Call(#[from] SubsystemError),
}

/// Moves every input of an FMU in initialization and after a step, inside its range, and looks at all outputs. Done once for every
/// FMU with the same parameters, start values and use of Event Mode; later instances get the same answer.
///
/// Without `steps` the instance is initialized and no more, and what its version promises is taken for granted.
///
/// An FMU that can be instantiated only once per process must not have another instance at that time.
pub fn probe(fmu: &Fmu, options: &Options, steps: bool) -> Probed {
    fmu.probed_once(options, steps, || {
        let mut probed = Probed { responses: Vec::new(), reread: Reread::No, failure: None };
        if let Err(error) = try_out(fmu, options, steps, &mut probed) {
            probed.failure = Some(error.to_string());
        }
        probed
    })
}

fn try_out(fmu: &Fmu, options: &Options, steps: bool, probed: &mut Probed) -> Result<(), ProbeError> {
    let mut subsystem = fmu.scratch(&fmu.file_name(), options)?;
    let variables = &subsystem.info().variables;
    let outputs = (0..variables.len()).filter(|&v| variables[v].causality == Causality::Output);
    let binding =
        Binding { inputs: subsystem.distinct_inputs(), outputs: outputs.collect(), ..Binding::default() };
    let trials: Vec<Trial> = binding.inputs.iter().map(|&input| subsystem.trial(input)).collect();
    let experiment = fmu.description().default_experiment;
    let start = experiment.start.unwrap_or(0.0);
    let stop = experiment.stop.filter(|stop| *stop > start).unwrap_or(start + 1.0);
    subsystem.bind(&binding)?;
    subsystem.enter(&Setup { start, stop })?;
    let initial = responses(&mut subsystem, &binding, &trials)?;
    probed.responses.clone_from(&initial);
    if fmu.description().version == Version::Fmi1 {
        // Its outputs are those of the last step; what was seen is before the first one.
        return Ok(());
    }
    if !steps {
        probed.reread = match initial.is_empty() {
            true => Reread::NotSeen,
            false if subsystem.uses_event_mode() => Reread::EventMode,
            false => Reread::Plain,
        };
        return Ok(());
    }
    subsystem.start()?;
    // Before the first step an FMU may still have what it computed in initialization; afterwards it shows its habit.
    let own = subsystem.info().capabilities.fixed_step.or(experiment.step_size);
    let span = Span::new(start, own.unwrap_or(1e-3 * (stop - start)));
    step(&mut subsystem, span, &binding, &trials)?;
    subsystem.set_reread(Reread::Plain);
    let plain = responses(&mut subsystem, &binding, &trials)?;
    add(&mut probed.responses, &plain);
    let mut in_event = None;
    if decide(&initial, &plain, None) != Reread::Plain && subsystem.uses_event_mode() {
        subsystem.set_reread(Reread::EventMode);
        let found = responses(&mut subsystem, &binding, &trials)?;
        add(&mut probed.responses, &found);
        in_event = Some(found);
    }
    probed.reread = decide(&initial, &plain, in_event.as_deref());
    Ok(())
}

/// One step, and the event at its end, if there is one.
fn step(
    subsystem: &mut FmuSubsystem,
    span: Span,
    binding: &Binding,
    trials: &[Trial],
) -> Result<(), SubsystemError> {
    let u: Vec<f64> = trials.iter().map(|trial| trial.base).collect();
    let mut y = vec![0.0; binding.outputs.len()];
    let advance = subsystem.advance(span, Inputs::constant(&u), &mut y)?;
    if advance.event == StepEvent::Pending {
        subsystem.update(Inputs::constant(&u), &mut y)?;
    }
    Ok(())
}

/// Adds responses of pairs that are not in the list yet.
fn add(list: &mut Vec<Response>, more: &[Response]) {
    let known = list.len();
    for response in more {
        if !contains(&list[..known], response) {
            list.push(*response);
        }
    }
    list.sort_unstable_by_key(Response::pair);
}

fn contains(sorted: &[Response], response: &Response) -> bool {
    sorted.binary_search_by_key(&response.pair(), Response::pair).is_ok()
}

/// How outputs are read again, from what responded in initialization and after a step: in Step Mode, and in Event Mode where that
/// was tried. Event Mode shows all that there is to see (FMI 3.0.2); without it, initialization is the measure.
fn decide(initial: &[Response], plain: &[Response], in_event: Option<&[Response]>) -> Reread {
    let plain_shows = |all: &[Response]| !plain.is_empty() && all.iter().all(|r| contains(plain, r));
    match in_event {
        _ if plain_shows(initial) => Reread::Plain,
        Some(all) if !all.is_empty() => {
            if plain_shows(all) {
                Reread::Plain
            } else {
                Reread::EventMode
            }
        }
        _ if initial.is_empty() && plain.is_empty() => Reread::NotSeen,
        _ => Reread::No,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_responded_decides_how_outputs_are_read_again() {
        let responses =
            |n: usize| (0..n).map(|input| Response { output: 9, input, gain: 1.0 }).collect::<Vec<_>>();
        let check = |initial: usize, plain: usize, in_event: Option<usize>, wanted: Reread| {
            let in_event = in_event.map(responses);
            let found = decide(&responses(initial), &responses(plain), in_event.as_deref());
            assert_eq!(found, wanted, "{initial}, {plain}, {in_event:?}");
        };
        check(2, 2, None, Reread::Plain);
        check(0, 1, None, Reread::Plain);
        check(0, 0, None, Reread::NotSeen);
        check(2, 0, None, Reread::No);
        check(2, 1, None, Reread::No);
        check(2, 0, Some(2), Reread::EventMode);
        check(2, 0, Some(1), Reread::EventMode);
        // The gain of the second pair is zero after the step: Step Mode shows what Event Mode does.
        check(2, 1, Some(1), Reread::Plain);
        check(0, 0, Some(0), Reread::NotSeen);
        check(2, 0, Some(0), Reread::No);
    }
}
