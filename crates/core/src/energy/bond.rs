//! Power bonds: which products are powers, and what the coupling invents or loses of them in a step.

use std::ops::Range;

/// One product `factor · u · y` of a port's power; `factor` is sign times ratio, in W where units are known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Term {
    /// The input, flat.
    pub u: usize,
    /// The output, flat.
    pub y: usize,
    /// `s · ratio`: with s = +1, `u·y` is power that leaves the subsystem.
    pub factor: f64,
}

/// One side of a bond: a subsystem's inputs and outputs whose products are its power.
#[derive(Clone, Debug, PartialEq)]
pub struct Port {
    /// Which subsystem it belongs to.
    pub subsystem: usize,
    /// Its terms.
    pub terms: Range<usize>,
}

/// All bonds of a network, flat: bonds are ranges of ports, ports are ranges of terms.
#[derive(Clone, Debug, Default)]
pub struct Bonds {
    /// Every product.
    pub terms: Vec<Term>,
    /// Every port.
    pub ports: Vec<Port>,
    /// Every bond as a range of ports.
    pub bonds: Vec<Range<usize>>,
    /// Bonds whose products are no powers: "W" and "J" stand for their own unit and its integral.
    pub pseudo: Vec<bool>,
    /// What gains and ratios leave of the powers with exact coupling, relative to one of them: digits that were not written.
    pub imbalance: Vec<f64>,
}

impl Bonds {
    /// Whether the products of a port are powers.
    pub fn is_power(&self, port: usize) -> bool {
        !self.bonds.iter().zip(&self.pseudo).any(|(ports, pseudo)| *pseudo && ports.contains(&port))
    }
}

/// What a port did in one step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PortFlow {
    /// `P = s·ratio·ũ·y` at the end of the step with the input that really acted, in W.
    pub power: f64,
    /// `s·ratio·(L y)·y` at the end of the step: the power of consistent coupling, in W.
    pub consistent_power: f64,
    /// Energy that left the subsystem through the port, summed over its sub-steps, in J.
    pub energy: f64,
}

/// What a bond did in one step. A positive residual means that the coupling created energy.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BondFlow {
    /// `δP = -Σ P` at the end of the step with the inputs that really acted, in W.
    pub residual_power: f64,
    /// `δP` with the inputs before correction, in W.
    pub held_residual_power: f64,
    /// `δE` summed over the sub-steps of every rate, in J.
    pub residual_energy: f64,
    /// `P_12 = (P_1^c - P_2^c)/2`: power from the first to the second port (of more: what the first one gives), in W.
    pub transmitted_power: f64,
    /// `½ Σ |P^c|`, in W.
    pub exchanged_power: f64,
    /// `(E_1 - E_2)/2` of the energies that were metered at the ports in the step, in J; by the papers' sums `P_12·h`.
    pub transmitted_energy: f64,
    /// `½ Σ |E|` of these, in J; by the papers' sums the exchanged power times h.
    pub exchanged_energy: f64,
}
