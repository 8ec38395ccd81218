//! Direct feed-through by trying: inputs of a scratch instance are perturbed at the current time. The run is not touched.

use super::{Evidence, FeedThroughPair, GainSource};
use crate::network::{InputScale, Network};
use crate::subsystem::{Inputs, Setup, Span, Subsystem, SubsystemError, ValueKind};

/// What probing a member came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Probe {
    /// Which member.
    pub member: usize,
    /// What was found.
    pub outcome: ProbeOutcome,
}

/// What a probe found.
#[derive(Clone, Debug, PartialEq)]
pub enum ProbeOutcome {
    /// Its feed-through, now part of the network.
    Found,
    /// What it declares is not contradicted.
    Agrees,
    /// An output depends on an input although that is declared not to be; both flat.
    Contradicts {
        /// The output.
        output: usize,
        /// The input.
        input: usize,
    },
    /// There cannot be a second instance: nothing was tried.
    NoScratch,
    /// A call failed: nothing is lost but the probe.
    Failed(SubsystemError),
}

/// Sizes of perturbations, relative to the larger of an input's value and its nominal value.
const SHARES: [f64; 2] = [1e-6, 1e-3];

/// A change below this share of an output is round-off.
const ROUND_OFF: f64 = 1e-13;

/// By how much an input with `value` is changed: `share` of the larger of its size and its nominal value, to the side that has room
/// between its bounds; integers and their like by one. 0 if it cannot change.
pub fn perturbation(value: f64, scale: &InputScale, share: f64) -> f64 {
    let size = match scale.kind {
        ValueKind::Real => share * value.abs().max(scale.nominal.abs()),
        _ => 1.0,
    };
    let room = |delta: f64| (scale.min..=scale.max).contains(&(value + delta));
    if room(size) {
        size
    } else if room(-size) {
        -size
    } else {
        0.0
    }
}

/// Finds the feed-through of `members` whose feed-through is unknown, and tests what others declare.
///
/// What it finds is evidence at the start values, no proof: an output that is insensitive there may not be elsewhere.
pub fn probe(network: &mut Network, members: &[usize], setup: &Setup) -> Vec<Probe> {
    let mut probes = Vec::new();
    let mut found = Vec::new();
    for &member in members {
        let outcome = match network.members[member].simulator.scratch() {
            None => ProbeOutcome::NoScratch,
            Some(scratch) => match try_out(network, member, scratch, setup) {
                Err(error) => ProbeOutcome::Failed(error),
                Ok(pairs) if network.members[member].evidence == Evidence::Unknown => {
                    found.push((member, pairs));
                    ProbeOutcome::Found
                }
                Ok(pairs) => agreement(network, member, &pairs),
            },
        };
        probes.push(Probe { member, outcome });
    }
    if !found.is_empty() {
        found.sort_by_key(|(member, _)| *member);
        network.learn_feed_through(found);
    }
    probes
}

/// Whether what was found of a member is among what it declares.
fn agreement(network: &Network, member: usize, found: &[(usize, usize)]) -> ProbeOutcome {
    let declared = &network.feed_through[network.members[member].feed_through.clone()];
    let is_declared = |&&(o, i): &&(usize, usize)| !declared.iter().any(|p| (p.output, p.input) == (o, i));
    match found.iter().find(is_declared) {
        Some(&(output, input)) => ProbeOutcome::Contradicts { output, input },
        None => ProbeOutcome::Agrees,
    }
}

/// A scratch instance at the start, bound as member `s` is, and its inputs there.
pub(super) fn entered(
    network: &Network,
    s: usize,
    scratch: &mut dyn Subsystem,
    setup: &Setup,
) -> Result<Vec<f64>, SubsystemError> {
    scratch.bind(&network.members[s].binding)?;
    scratch.enter(setup)?;
    let mut u = network.input_start.clone();
    network.externals_at(setup.start, &mut u);
    Ok(u[network.members[s].inputs.clone()].to_vec())
}

/// `(output, input)`, flat, of what responds.
fn try_out(
    network: &Network,
    s: usize,
    mut scratch: Box<dyn Subsystem>,
    setup: &Setup,
) -> Result<Vec<(usize, usize)>, SubsystemError> {
    let mut u = entered(network, s, scratch.as_mut(), setup)?;
    let pairs = responding(network, s, scratch.as_mut(), &mut u)?;
    scratch.finish()?;
    Ok(pairs)
}

/// Perturbs every input of `scratch`, an instance of member `s`, around `u`.
fn responding(
    network: &Network,
    s: usize,
    scratch: &mut dyn Subsystem,
    u: &mut [f64],
) -> Result<Vec<(usize, usize)>, SubsystemError> {
    let member = &network.members[s];
    let mut base = vec![0.0; member.outputs.len()];
    let mut moved = base.clone();
    let mut pairs = Vec::new();
    for (k, input) in member.inputs.clone().enumerate() {
        scratch.evaluate(Inputs::constant(u), &mut base)?;
        let value = u[k];
        let mut depends = vec![false; base.len()];
        for share in SHARES {
            let delta = perturbation(value, &network.input_scale[input], share);
            let other = value - delta;
            let scale = &network.input_scale[input];
            let sides = [value + delta, if (scale.min..=scale.max).contains(&other) { other } else { value }];
            for side in sides.into_iter().filter(|&side| side != value) {
                u[k] = side;
                let read = scratch.evaluate(Inputs::constant(u), &mut moved);
                u[k] = value;
                read?;
                for (depends, (a, b)) in depends.iter_mut().zip(base.iter().zip(&moved)) {
                    *depends |= b.is_finite() && (a - b).abs() > ROUND_OFF * a.abs();
                }
            }
        }
        let found = (0..base.len()).filter(|&o| depends[o]);
        pairs.extend(found.map(|o| (member.outputs.start + o, input)));
    }
    pairs.sort_unstable();
    Ok(pairs)
}

/// Members among those that claim to recompute outputs at the current time and do not: on a scratch instance their outputs
/// follow inputs during initialization and no longer after a step of `h` seconds. What cannot be tried is believed.
pub fn probe_refresh(network: &mut Network, members: &[usize], setup: &Setup, h: f64) -> Vec<usize> {
    let is_false = |s: &usize| {
        let scratch = network.members[*s].simulator.scratch();
        scratch.is_some_and(|scratch| try_refresh(network, *s, scratch, setup, h).unwrap_or(false))
    };
    let claims: Vec<usize> = members.iter().copied().filter(is_false).collect();
    for &s in &claims {
        network.members[s].capabilities.can_refresh = false;
        network.settle_gain_sources(s);
    }
    claims
}

/// Whether outputs that follow inputs in initialization no longer do so after a step.
fn try_refresh(
    network: &Network,
    s: usize,
    mut scratch: Box<dyn Subsystem>,
    setup: &Setup,
    h: f64,
) -> Result<bool, SubsystemError> {
    let mut u = entered(network, s, scratch.as_mut(), setup)?;
    let before = responding(network, s, scratch.as_mut(), &mut u)?;
    scratch.start()?;
    let h = network.members[s].capabilities.fixed_step.unwrap_or(h);
    let mut y = vec![0.0; network.members[s].outputs.len()];
    scratch.advance(Span::new(setup.start, h), Inputs::constant(&u), &mut y)?;
    let after = responding(network, s, scratch.as_mut(), &mut u)?;
    scratch.finish()?;
    Ok(!before.is_empty() && after.is_empty())
}

impl Network {
    /// Enters what was found of members whose feed-through was unknown.
    fn learn_feed_through(&mut self, found: Vec<(usize, Vec<(usize, usize)>)>) {
        let old = std::mem::take(&mut self.feed_through);
        let mut found = found.into_iter().peekable();
        for s in 0..self.members.len() {
            let first = self.feed_through.len();
            match found.next_if(|(member, _)| *member == s) {
                None => self.feed_through.extend_from_slice(&old[self.members[s].feed_through.clone()]),
                Some((_, pairs)) => {
                    let pair = |(output, input)| FeedThroughPair { output, input, gain: GainSource::Unknown };
                    self.feed_through.extend(pairs.into_iter().map(pair));
                    self.members[s].evidence = Evidence::Probed;
                }
            }
            self.members[s].feed_through = first..self.feed_through.len();
            self.settle_gain_sources(s);
        }
        self.find_evaluation_order();
    }
}
