//! ∂y/∂u of all feed-through pairs at the current point, each from its source.

use super::identify::Identifier;
use super::{GainSource, perturbation};
use crate::error::RunError;
use crate::network::Network;
use crate::subsystem::{Inputs, Span, SubsystemError};

/// Reads gains into a list with one number per pair; 0 where nothing is known. Nothing is allocated after `new`.
pub(crate) struct GainReader {
    /// Members that are asked for derivatives.
    asked: Vec<usize>,
    /// Members that are read again with other inputs.
    perturbed: Vec<usize>,
    u: Vec<f64>,
    base: Vec<f64>,
    moved: Vec<f64>,
}

impl GainReader {
    pub fn new(network: &Network) -> Self {
        let with = |source: GainSource| -> Vec<usize> {
            let has = |s: &usize| {
                let pairs = &network.feed_through[network.members[*s].feed_through.clone()];
                pairs.iter().any(|pair| pair.gain == source)
            };
            (0..network.members.len()).filter(has).collect()
        };
        let perturbed = with(GainSource::Probed);
        let widest = |f: fn(&crate::network::Member) -> usize| {
            perturbed.iter().map(|&s| f(&network.members[s])).max().unwrap_or(0)
        };
        let (nu, ny) = (widest(|m| m.inputs.len()), widest(|m| m.outputs.len()));
        GainReader {
            asked: with(GainSource::Derivative),
            perturbed,
            u: vec![0.0; nu],
            base: vec![0.0; ny],
            moved: vec![0.0; ny],
        }
    }

    /// Writes the gains that are given; they do not change.
    pub fn fill_given(network: &Network, gains: &mut [f64]) {
        for (gain, pair) in gains.iter_mut().zip(&network.feed_through) {
            if let GainSource::Given(value) = pair.gain {
                *gain = value;
            }
        }
    }

    /// What costs no more than a question: derivatives and what was identified.
    pub fn ask(
        &self,
        network: &mut Network,
        identifier: Option<&Identifier>,
        span: Span,
        gains: &mut [f64],
    ) -> Result<(), RunError> {
        for &s in &self.asked {
            let member = &mut network.members[s];
            let d = &mut gains[member.feed_through.clone()];
            member.simulator.feed_through(d).map_err(|error| failed(s, span, error))?;
        }
        if let Some(identifier) = identifier {
            identifier.fill(&network.feed_through, gains);
        }
        Self::fill_given(network, gains);
        Ok(())
    }

    /// Everything; members are read again around the inputs `u` (flat) that they have, and left with them.
    pub fn read(
        &mut self,
        network: &mut Network,
        identifier: Option<&Identifier>,
        u: impl Fn(usize) -> f64,
        span: Span,
        gains: &mut [f64],
    ) -> Result<(), RunError> {
        self.ask(network, identifier, span, gains)?;
        for k in 0..self.perturbed.len() {
            let s = self.perturbed[k];
            self.perturb(network, s, &u, gains).map_err(|error| failed(s, span, error))?;
        }
        Ok(())
    }

    /// `D = (y(u + δ) − y(u))/δ` of one member, input by input.
    fn perturb(
        &mut self,
        network: &mut Network,
        s: usize,
        at: impl Fn(usize) -> f64,
        gains: &mut [f64],
    ) -> Result<(), SubsystemError> {
        let Network { members, feed_through, input_scale, .. } = network;
        let member = &mut members[s];
        let u = &mut self.u[..member.inputs.len()];
        let (base, moved) = (&mut self.base[..member.outputs.len()], &mut self.moved[..member.outputs.len()]);
        u.iter_mut().zip(member.inputs.clone()).for_each(|(u, i)| *u = at(i));
        member.simulator.evaluate(Inputs::constant(u), base)?;
        for (k, i) in member.inputs.clone().enumerate() {
            let pairs = || member.feed_through.clone().filter(|&p| feed_through[p].input == i);
            if pairs().next().is_none() {
                continue;
            }
            let value = u[k];
            let delta = perturbation(value, &input_scale[i], 1e-6);
            u[k] = value + delta;
            // What it really is after rounding.
            let delta = u[k] - value;
            let read = member.simulator.evaluate(Inputs::constant(u), moved);
            u[k] = value;
            read?;
            for p in pairs() {
                let o = feed_through[p].output - member.outputs.start;
                gains[p] = if delta == 0.0 { 0.0 } else { (moved[o] - base[o]) / delta };
            }
        }
        member.simulator.evaluate(Inputs::constant(u), base)
    }
}

fn failed(member: usize, span: Span, error: SubsystemError) -> RunError {
    RunError::Subsystem { member, phase: "feed-through derivatives", span, error }
}
