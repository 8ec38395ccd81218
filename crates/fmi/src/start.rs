//! How an FMU of FMI 1.0 is initialized: `fmiInitializeSlave` computes its state, so what is known of its inputs is set before.

use crate::calls::Experiment;

/// What an instance is initialized with, until its first step.
pub(crate) struct Start {
    pub experiment: Experiment,
    /// The inputs that `fmiInitializeSlave` saw, and those that came after it.
    inputs: Vec<f64>,
    latest: Vec<f64>,
    /// Texts that came after it, by place in the list of packets.
    packets: Vec<(usize, Vec<u8>)>,
}

/// Numbers, and strings or binaries by their places.
pub(crate) type OtherInputs = (Vec<f64>, Vec<(usize, Vec<u8>)>);

impl Start {
    pub fn new(experiment: Experiment) -> Self {
        Start { experiment, inputs: Vec::new(), latest: Vec::new(), packets: Vec::new() }
    }

    /// It is initialized with `u`.
    pub fn begin_with(&mut self, u: &[f64]) {
        self.inputs = u.to_vec();
        self.latest = u.to_vec();
    }

    /// Inputs are `u` now.
    pub fn goes_on_with(&mut self, u: &[f64]) {
        self.latest.copy_from_slice(u);
    }

    /// An input that is not numeric is `bytes` now.
    pub fn note_packet(&mut self, packet: usize, bytes: &[u8]) {
        self.packets.retain(|(known, _)| *known != packet);
        self.packets.push((packet, bytes.to_vec()));
    }

    /// The inputs that it should have been initialized with, if it was initialized with others.
    pub fn other_inputs(&mut self) -> Option<OtherInputs> {
        let same = self.packets.is_empty() && self.inputs == self.latest;
        (!same).then(|| (self.latest.clone(), std::mem::take(&mut self.packets)))
    }
}
