//! Direct feed-through: what an output knows of an input at the same instant, and from where we know it.
//!
//! The network has one list of pairs. Every method that needs to know which outputs depend on which inputs, or how strongly, asks it;
//! each pair says where its existence ([`Evidence`]) and its gain ([`GainSource`]) come from.

mod structure;
mod probe;
mod integrations;
mod own_steps;
mod gains;
mod loop_gain;
mod reach;
pub mod identify;

pub(crate) use gains::GainReader;
pub use integrations::probe_integrations;
pub use loop_gain::LoopGain;
pub use own_steps::depends_on_steps;
pub use probe::{Probe, ProbeOutcome, perturbation, probe, probe_refresh};
pub(crate) use reach::Reach;
pub use reach::Reached;
pub use structure::{AlgebraicLoop, Asymptotics, Structure};

/// An output that depends on an input at the same instant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FeedThroughPair {
    /// The output, flat.
    pub output: usize,
    /// The input, flat.
    pub input: usize,
    /// Where ∂y/∂u comes from.
    pub gain: GainSource,
}

/// Where it is known from which outputs of a subsystem depend on which of its inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// Its description or its user says so.
    Declared,
    /// Inputs of a scratch instance were perturbed: evidence at the start, no proof.
    Probed,
    /// Nothing is known: every pair is possible.
    Unknown,
}

impl Evidence {
    /// As it is written.
    pub fn word(self) -> &'static str {
        match self {
            Evidence::Declared => "declared",
            Evidence::Probed => "probed",
            Evidence::Unknown => "unknown",
        }
    }
}

/// Where ∂y/∂u of a pair comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum GainSource {
    /// The user gives it.
    Given(f64),
    /// The subsystem gives it: directional derivatives.
    Derivative,
    /// Differences of outputs that are read again with other inputs at the current time.
    Probed,
    /// What the subsystem was given and what it answered.
    Identified,
    /// Nowhere: that there is one is all that is known.
    Unknown,
}

impl GainSource {
    /// As it is written.
    pub fn word(self) -> &'static str {
        match self {
            GainSource::Given(_) => "given",
            GainSource::Derivative => "derivative",
            GainSource::Probed => "probed",
            GainSource::Identified => "identified",
            GainSource::Unknown => "declared",
        }
    }
}
