//! The coupled system: subsystems, wiring, external inputs, bonds; names have become indices.

mod builder;
mod description;
pub mod graph;
mod name_index;
mod packets;
mod problem;
mod wiring;

pub use builder::{Names, NetworkBuilder};
pub use description::{BondSpec, ConnectionSpec, PortSpec, VariableName};
pub use name_index::NameIndex;
pub use packets::Packets;
pub use problem::{BuildError, BuildErrors, Imbalance, Problem, Subject};
pub use wiring::{Row, ValueTable, Wiring};

use crate::energy::Bonds;
use crate::error::RunError;
use crate::feed_through::{Evidence, FeedThroughPair, GainSource};
use crate::subsystem::{Binding, Capabilities, Span, Subsystem, ValueKind, Variable};
use crate::time::signal::Signal;
use std::ops::Range;

/// A subsystem with its place in the flat arrays.
// What a step needs is in the first cache line.
#[repr(C, align(64))]
pub struct Member {
    /// The simulator.
    pub simulator: Box<dyn Subsystem>,
    /// Its inputs.
    pub inputs: Range<usize>,
    /// Its outputs.
    pub outputs: Range<usize>,
    /// Its probes.
    pub probes: Range<usize>,
    /// Which of its variables these are.
    pub binding: Binding,
    /// Its feed-through pairs, as a range of [`Network::feed_through`].
    pub feed_through: Range<usize>,
    /// Where its feed-through is known from.
    pub evidence: Evidence,
    /// What it can do.
    pub capabilities: Capabilities,
}

impl Member {
    /// Whether it is known which of its outputs depend on which of its inputs at the same instant.
    pub fn knows_feed_through(&self) -> bool {
        self.evidence != Evidence::Unknown
    }

    /// Whether an output depends, or may depend, on an input at the same instant.
    pub fn may_feed_through(&self) -> bool {
        match self.evidence {
            Evidence::Unknown => !self.inputs.is_empty() && !self.outputs.is_empty(),
            _ => !self.feed_through.is_empty(),
        }
    }

    /// Puts something around the simulator, which has the same variables; its capabilities count from then on.
    pub fn wrapped(self, around: impl FnOnce(Box<dyn Subsystem>) -> Box<dyn Subsystem>) -> Self {
        let simulator = around(self.simulator);
        Member { capabilities: simulator.info().capabilities, simulator, ..self }
    }

    fn variable(&self, v: usize) -> &Variable {
        &self.simulator.info().variables[v]
    }
}

/// The magnitude and the bounds of an input.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InputScale {
    /// What kind of value it has.
    pub kind: ValueKind,
    /// A typical magnitude.
    pub nominal: f64,
    /// The smallest value it takes.
    pub min: f64,
    /// The largest value it takes.
    pub max: f64,
}

/// An input that follows a known signal.
pub struct External {
    /// The input, flat.
    pub input: usize,
    /// What it follows.
    pub signal: Signal,
}

/// The coupled system after build: no names, only indices.
pub struct Network {
    /// The subsystems, in name order.
    pub members: Vec<Member>,
    /// `u = L y + offset`.
    pub wiring: Wiring,
    /// Known inputs.
    pub externals: Vec<External>,
    /// The place of each input in `externals`, if it follows a known signal.
    pub external_of_input: Vec<Option<usize>>,
    /// Whether it does.
    pub is_external: Vec<bool>,
    /// Connections of texts and binaries.
    pub packets: Packets,
    /// Power bonds.
    pub bonds: Bonds,
    /// Every feed-through pair that is declared or was probed, member by member.
    pub feed_through: Vec<FeedThroughPair>,
    /// The fewest integrations between a connected input and each output, where that is known; see
    /// [`probe_integrations`](crate::feed_through::probe_integrations).
    pub integrations: Vec<Option<u8>>,
    /// The start value of every input: a first guess where something feeds it.
    pub input_start: Vec<f64>,
    /// Magnitude and bounds of every input.
    pub input_scale: Vec<InputScale>,
    /// How many inputs there are.
    pub n_inputs: usize,
    /// How many outputs there are.
    pub n_outputs: usize,
    /// How many probes there are.
    pub n_probes: usize,
    /// Which member owns each input.
    pub owner_of_input: Vec<usize>,
    /// Which member owns each output.
    pub owner_of_output: Vec<usize>,
    /// Members in feed-through order: each after those whose outputs it feeds through; loops in name order.
    pub evaluation_order: Vec<usize>,
}

impl Network {
    /// Passes texts and binaries on; whether anything was new to its receiver.
    pub(crate) fn pass_packets(&mut self, span: Span) -> Result<bool, RunError> {
        if self.packets.is_empty() {
            return Ok(false);
        }
        let phase = "exchange of strings and binaries";
        let fail = |(member, error)| RunError::Subsystem { member, phase, span, error };
        self.packets.pass(&mut self.members).map_err(fail)
    }

    /// The variable behind an input.
    pub fn input_variable(&self, input: usize) -> &Variable {
        let member = &self.members[self.owner_of_input[input]];
        member.variable(member.binding.inputs[input - member.inputs.start])
    }

    /// The variable behind an output.
    pub fn output_variable(&self, output: usize) -> &Variable {
        let member = &self.members[self.owner_of_output[output]];
        member.variable(member.binding.outputs[output - member.outputs.start])
    }

    /// The variable behind a probe.
    pub fn probe_variable(&self, probe: usize) -> &Variable {
        let member = &self.members[self.members.partition_point(|m| m.probes.end <= probe)];
        member.variable(member.binding.probes[probe - member.probes.start])
    }

    /// For every member the members whose outputs it feeds through: it must be evaluated after them.
    pub fn feed_through_edges(&self) -> Vec<Vec<usize>> {
        let mut edges = vec![Vec::new(); self.members.len()];
        for (m, member) in self.members.iter().enumerate() {
            for pair in &self.feed_through[member.feed_through.clone()] {
                edges[m]
                    .extend(self.wiring.sources(pair.input).map(|(output, _)| self.owner_of_output[output]));
            }
            edges[m].sort_unstable();
            edges[m].dedup();
        }
        edges
    }

    /// Members in feed-through order, once all of it is known.
    pub(crate) fn find_evaluation_order(&mut self) {
        self.evaluation_order = graph::components(&self.feed_through_edges()).concat();
    }

    /// Where the gains of a member's pairs come from, by what it can do; what is given stays.
    pub(crate) fn settle_gain_sources(&mut self, s: usize) {
        let Member { capabilities, evidence, feed_through, .. } = &self.members[s];
        // What was probed is in no order that the subsystem knows of.
        let source = if capabilities.feed_through_values && *evidence == Evidence::Declared {
            GainSource::Derivative
        } else if capabilities.can_refresh {
            GainSource::Probed
        } else {
            GainSource::Unknown
        };
        for pair in &mut self.feed_through[feed_through.clone()] {
            if !matches!(pair.gain, GainSource::Given(_)) {
                pair.gain = source;
            }
        }
    }

    /// Sets the inputs that follow known signals to their limit from the left at `t`.
    pub(crate) fn externals_before(&self, t: f64, u: &mut [f64]) {
        for external in &self.externals {
            u[external.input] = external.signal.before(t);
        }
    }

    /// Sets the inputs that follow known signals to their value at `t`; at a jump the one after it.
    pub(crate) fn externals_at(&self, t: f64, u: &mut [f64]) {
        for external in &self.externals {
            u[external.input] = external.signal.at(t);
        }
    }
}
