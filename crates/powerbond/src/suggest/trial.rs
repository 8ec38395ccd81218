//! A short trial: which way an output moves first when an input is pushed, on scratch instances.

use super::bonds::BondSuggestion;
use crate::Error;
use crate::assemble::Trials;
use crate::source::At;
use crate::system::System;
use powerbond_core::feed_through::perturbation;
use powerbond_core::network::{NameIndex, Network, VariableName};
use powerbond_core::observe::NoObserver;
use powerbond_core::subsystem::{Capabilities, Inputs, Setup, Span, StepEvent, SubsystemError};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Sizes of pushes, relative to the larger of an input's value and its nominal value: large enough to stand out of the tolerance of a
/// solver, and larger ones where nothing moves.
const PUSHES: [f64; 3] = [1e-2, 1.0, 100.0];

/// Lengths of steps, relative to the run: a response is looked for at times of all sizes.
const STEPS: [f64; 5] = [1e-6, 1e-5, 1e-4, 1e-3, 1e-2];

/// Steps of a subsystem that makes steps of one length only, and that length relative to the run.
const EQUAL_STEPS: (usize, f64) = (20, 1e-3);

/// Of a system that does not say when it ends, in s: pushes are tried with steps from a millionth to a hundredth of it.
const DURATION: f64 = 1.0;

/// A change below this share of an output is round-off.
const ROUND_OFF: f64 = 1e-12;

/// Pushes every input of `bonds` and settles their signs. What could not be tried is told.
pub fn try_out(system: &System, bonds: &mut [BondSuggestion]) -> Result<Vec<String>, Error> {
    if bonds.is_empty() {
        return Ok(Vec::new());
    }
    let mut assembled = with_an_end(system).assemble_with(Trials::WithoutSteps)?;
    // Pushed from consistent initial values, or from start values where there are none.
    let is_consistent = assembled.engine.initialize(&mut NoObserver).is_ok();
    let start = match is_consistent {
        true => assembled.engine.inputs().to_vec(),
        false => assembled.engine.network().input_start.clone(),
    };
    let network = assembled.engine.network();
    let inputs: NameIndex<VariableName> = assembled.names.inputs.iter().cloned().collect();
    let outputs: NameIndex<VariableName> = assembled.names.outputs.iter().cloned().collect();
    let setup = Setup { start: assembled.start, stop: assembled.stop };
    let mut lab = Lab { network, setup, start, paths: BTreeMap::new(), troubles: Vec::new() };
    for port in bonds.iter_mut().flat_map(|bond| &mut bond.ports) {
        let mut found = Vec::new();
        for (input, output) in port.inputs.iter().zip(&port.outputs) {
            if let (Some(u), Some(y)) = (inputs.place(input), outputs.place(output)) {
                found.extend(lab.response(u, y, &input.subsystem));
            }
        }
        let first = found.first().copied();
        port.response = first.filter(|first| found.iter().all(|response| response == first));
    }
    let troubles = lab.troubles;
    assembled.engine.finish();
    bonds.iter_mut().for_each(BondSuggestion::settle);
    Ok(troubles)
}

/// The system with a stop time: pushes need the size of a run, not its end.
fn with_an_end(system: &System) -> Cow<'_, System> {
    let mut system = Cow::Borrowed(system);
    if system.simulation.stop.is_none() {
        let stop = system.simulation.start.value + DURATION;
        system.to_mut().simulation.stop = Some(At::default(stop));
    }
    system
}

/// All outputs of a member at one time after the other.
type Path = Vec<Vec<f64>>;

/// A member, and its pushed input with the bits of the value that it was given.
type Push = (usize, Option<(usize, u64)>);

/// What was tried so far.
struct Lab<'a> {
    network: &'a Network,
    setup: Setup,
    /// All inputs at the start.
    start: Vec<f64>,
    paths: BTreeMap<Push, Option<Path>>,
    troubles: Vec<String>,
}

impl Lab<'_> {
    /// 1 if output `y` first moves with input `u`, -1 if against it; none if it does not move, or not clearly.
    fn response(&mut self, u: usize, y: usize, name: &str) -> Option<f64> {
        let s = self.network.owner_of_input[u];
        let output = y.checked_sub(self.network.members[s].outputs.start)?;
        let value = self.start(s)[u - self.network.members[s].inputs.start];
        let scale = self.network.input_scale[u];
        let base = self.path(s, None, name)?;
        for share in PUSHES {
            let delta = perturbation(value, &scale, share);
            if delta == 0.0 {
                continue;
            }
            let back = value - delta;
            let pushed = self.path(s, Some((u, value + delta)), name)?;
            let pulled = match (scale.min..=scale.max).contains(&back) {
                true => Some(self.path(s, Some((u, back)), name)?),
                false => None,
            };
            let at = |n: usize| {
                let zero = base.get(n)?[output];
                let plus = pushed.get(n)?[output] - zero;
                let minus = match &pulled {
                    Some(path) => zero - path.get(n)?[output],
                    None => plus,
                };
                clear(zero, plus, minus).map(|sign| sign * delta.signum())
            };
            let signs: Vec<Option<f64>> = (0..base.len()).map(at).collect();
            // Noise of a solver does not say the same twice.
            let lasting = signs.windows(2).find(|pair| pair[0].is_some() && pair[0] == pair[1]);
            if let Some(pair) = lasting {
                return pair[0];
            }
        }
        None
    }

    /// The inputs of a member at the start.
    fn start(&self, s: usize) -> Vec<f64> {
        self.start[self.network.members[s].inputs.clone()].to_vec()
    }

    /// What a new instance does with one input changed. None if it fails, which is told once per subsystem.
    fn path(&mut self, s: usize, push: Option<(usize, f64)>, name: &str) -> Option<Path> {
        let key = (s, push.map(|(u, value)| (u, value.to_bits())));
        if let Some(known) = self.paths.get(&key) {
            return known.clone();
        }
        let tried = match push {
            Some(_) if self.paths.get(&(s, None)).is_some_and(Option::is_none) => return None,
            _ => self.try_path(s, push),
        };
        let path = tried.unwrap_or_else(|why| {
            self.troubles.push(format!("`{name}` could not be tried: {why}"));
            None
        });
        self.paths.insert(key, path.clone());
        path
    }

    fn try_path(&self, s: usize, push: Option<(usize, f64)>) -> Result<Option<Path>, SubsystemError> {
        let member = &self.network.members[s];
        let Some(mut scratch) = member.simulator.scratch() else { return Ok(None) };
        let mut u = self.start(s);
        if let Some((input, value)) = push {
            u[input - member.inputs.start] = value;
        }
        scratch.bind(&member.binding)?;
        scratch.enter(&self.setup)?;
        let mut y = vec![0.0; member.outputs.len()];
        scratch.evaluate(Inputs::constant(&u), &mut y)?;
        scratch.start()?;
        let mut path = vec![y.clone()];
        let mut t = self.setup.start;
        for h in steps(&member.capabilities, self.setup.stop - self.setup.start) {
            let span = Span::new(t, h);
            if span.end > self.setup.stop {
                break;
            }
            let step = scratch.advance(span, Inputs::constant(&u), &mut y)?;
            if step.event == StepEvent::Pending {
                scratch.update(Inputs::constant(&u), &mut y)?;
            }
            path.push(y.clone());
            if step.event == StepEvent::Terminated || step.reached <= t {
                break;
            }
            t = step.reached;
        }
        scratch.finish()?;
        Ok(Some(path))
    }
}

/// Steps that a subsystem can make in a run of this length.
fn steps(can: &Capabilities, length: f64) -> Vec<f64> {
    let bounded = |h: f64| h.max(can.min_step.unwrap_or(0.0)).min(can.max_step.unwrap_or(f64::INFINITY));
    match can.fixed_step {
        Some(fixed) => {
            let multiple = |share: &f64| fixed * (share * length / fixed).round().max(1.0);
            STEPS.iter().map(multiple).collect()
        }
        None if can.constant_step => vec![bounded(EQUAL_STEPS.1 * length); EQUAL_STEPS.0],
        None => STEPS.iter().map(|share| bounded(share * length)).collect(),
    }
}

/// The sign of a change, where pushing and pulling (turned round) agree and it is more than round-off.
fn clear(zero: f64, plus: f64, minus: f64) -> Option<f64> {
    let (small, large) = (plus.abs().min(minus.abs()), plus.abs().max(minus.abs()));
    let stands_out = small > ROUND_OFF * zero.abs() && small.is_finite() && large.is_finite();
    let agree = plus * minus > 0.0 && large <= 3.0 * small;
    (stands_out && small > 0.0 && agree).then(|| plus.signum())
}
