//! The coupled system: subsystems, wiring, external inputs, bonds; names have become indices.

mod builder;
mod description;
pub mod graph;
mod packets;
mod problem;
mod wiring;

pub use builder::{Names, NetworkBuilder};
pub use description::{BondSpec, ConnectionSpec, PortSpec, VariableName};
pub use packets::Packets;
pub use problem::{BuildError, Problem, Subject};
pub use wiring::{Row, Wiring};

use crate::energy::Bonds;
use crate::error::RunError;
use crate::subsystem::{Capabilities, Span, Subsystem};
use crate::time::signal::Signal;
use std::ops::Range;

/// A subsystem with its place in the flat arrays.
pub struct Member {
    /// The simulator.
    pub simulator: Box<dyn Subsystem>,
    /// Its inputs.
    pub inputs: Range<usize>,
    /// Its outputs.
    pub outputs: Range<usize>,
    /// Its probes.
    pub probes: Range<usize>,
    /// Its feed-through pairs, as a range of [`Network::feed_through`].
    pub feed_through: Range<usize>,
    /// Whether its feed-through is declared; if not, every pair of its inputs and outputs is possible.
    pub feed_through_known: bool,
    /// `(output, input)`, flat, of the feed-through that was found by perturbing inputs, if that was done.
    pub probed: Option<Vec<(usize, usize)>>,
    /// What it can do.
    pub capabilities: Capabilities,
}

impl Member {
    /// Puts something around the simulator, which has the same variables; its capabilities count from then on.
    pub fn wrapped(self, around: impl FnOnce(Box<dyn Subsystem>) -> Box<dyn Subsystem>) -> Self {
        let simulator = around(self.simulator);
        Member { capabilities: simulator.info().capabilities, simulator, ..self }
    }
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
    /// Connections of texts and binaries.
    pub packets: Packets,
    /// Power bonds.
    pub bonds: Bonds,
    /// `(output, input)`, flat, of every declared feed-through pair, member by member.
    pub feed_through: Vec<(usize, usize)>,
    /// The start value of every input: a first guess where something feeds it.
    pub input_start: Vec<f64>,
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
        let phase = "exchange of texts and binaries";
        let fail = |(member, error)| RunError::Subsystem { member, phase, span, error };
        self.packets.pass(&mut self.members).map_err(fail)
    }

    /// For every member the members whose outputs it feeds through: it must be evaluated after them.
    pub fn feed_through_edges(&self) -> Vec<Vec<usize>> {
        let mut edges = vec![Vec::new(); self.members.len()];
        for (m, member) in self.members.iter().enumerate() {
            for &(_, input) in &self.feed_through[member.feed_through.clone()] {
                edges[m].extend(self.wiring.sources(input).map(|(output, _)| self.owner_of_output[output]));
            }
            edges[m].sort_unstable();
            edges[m].dedup();
        }
        edges
    }

    /// `(output, input)`, flat, of all feed-through that is declared or was probed.
    pub fn feed_through_pairs(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let probed = self.members.iter().filter_map(|m| m.probed.as_deref()).flatten();
        self.feed_through.iter().chain(probed).copied()
    }

    /// Sets the inputs that follow known signals to their value at `t`.
    pub(crate) fn externals_at(&self, t: f64, u: &mut [f64]) {
        for external in &self.externals {
            u[external.input] = external.signal.at(t);
        }
    }
}
