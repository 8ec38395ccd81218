//! Power bonds: what each port sees, what the coupling invents or loses, and the running ledger of it.

use crate::checkpoint::{Checkpoint, Checkpointed};
use crate::subsystem::Span;
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
}

/// How the residual energy of a step is summed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Quadrature {
    /// Power at the end of each (sub-)step times its length.
    #[default]
    Rectangle,
    /// The mean of the powers at both ends times its length.
    Trapezoid,
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
}

/// Running sums of a bond since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BondSum {
    /// Σ δE, metered, in J.
    pub residual: f64,
    /// Σ |δE|, metered, in J.
    pub residual_abs: f64,
    /// Σ δP·h at the end points, in J: the papers' ΔE.
    pub endpoint_residual: f64,
    /// Σ |δP|·h at the end points, in J; half its mean is the error bar of the power (sadjina2017 eq. 13).
    pub endpoint_residual_abs: f64,
    /// Σ P_12·h, in J.
    pub transmitted: f64,
    /// Σ exchanged power · h, in J.
    pub exchanged: f64,
    /// The largest |δP| so far, in W.
    pub worst_power: f64,
    /// When it was, in s.
    pub worst_time: f64,
}

/// Measures every port and bond, every step.
#[derive(Clone, Debug)]
pub struct Meter {
    quadrature: Quadrature,
    /// Every port has one term, in order: the common case has a loop of its own.
    scalar: bool,
    /// Every bond has two ports, in order.
    pairs: bool,
    /// Which ports are summed sub-step by sub-step, because their subsystem makes several in one macro step.
    stepwise: Vec<bool>,
    any_stepwise: bool,
    /// The ports of each subsystem.
    ports_of: Vec<Vec<usize>>,
    /// What each port did in the current step.
    pub ports: Vec<PortFlow>,
    /// What each bond did in the current step.
    pub flows: Vec<BondFlow>,
    /// Power of each port at the end of the step, with inputs before correction.
    held_power: Vec<f64>,
    /// Power of each port at the start of the step.
    start_power: Vec<f64>,
    /// The ledger: sums per bond over accepted steps.
    pub sums: Vec<BondSum>,
    /// Energy that left through each port over accepted steps, in J.
    pub port_energy: Vec<f64>,
}

/// The values at the end of a step that powers are made of.
pub(crate) struct EndValues<'a> {
    pub held: &'a [f64],
    pub corrected: &'a [f64],
    pub fresh: &'a [f64],
    pub y_step: &'a [f64],
    pub y_fresh: &'a [f64],
}

impl Meter {
    /// A meter for `bonds`; `stepwise[s]` says that subsystem s makes several sub-steps in a macro step.
    pub fn new(bonds: &Bonds, quadrature: Quadrature, stepwise_subsystem: &[bool]) -> Self {
        let n = bonds.ports.len();
        let mut ports_of = vec![Vec::new(); stepwise_subsystem.len()];
        let stepwise: Vec<bool> = bonds.ports.iter().map(|p| stepwise_subsystem[p.subsystem]).collect();
        for (i, port) in bonds.ports.iter().enumerate() {
            ports_of[port.subsystem].push(i);
        }
        let in_pairs = |(k, ports): (usize, &Range<usize>)| *ports == (2 * k..2 * k + 2);
        Meter {
            quadrature,
            scalar: bonds.ports.iter().enumerate().all(|(i, p)| p.terms == (i..i + 1)),
            pairs: bonds.bonds.iter().enumerate().all(in_pairs),
            held_power: vec![0.0; n],
            any_stepwise: stepwise.contains(&true),
            stepwise,
            ports_of,
            ports: vec![PortFlow::default(); n],
            flows: vec![BondFlow::default(); bonds.bonds.len()],
            start_power: vec![0.0; n],
            sums: vec![BondSum::default(); bonds.bonds.len()],
            port_energy: vec![0.0; n],
        }
    }

    /// Starts a step: no energy has flown yet.
    pub(crate) fn begin(&mut self) {
        if self.any_stepwise {
            self.ports.iter_mut().for_each(|p| p.energy = 0.0);
        }
    }

    /// Notes the power at the start of a stage, which only the trapezoid rule needs.
    pub(crate) fn open(&mut self, bonds: &Bonds, members: &[usize], u: &[f64], y: &[f64]) {
        if self.quadrature == Quadrature::Rectangle {
            return;
        }
        for &s in members {
            for &i in &self.ports_of[s] {
                self.start_power[i] = power(&bonds.terms[bonds.ports[i].terms.clone()], u, y);
            }
        }
    }

    /// Adds the energy of one sub-step of the subsystems in `members`.
    pub(crate) fn sub_step(
        &mut self,
        bonds: &Bonds,
        members: &[usize],
        span: Span,
        u_end: &[f64],
        y: &[f64],
    ) {
        for &s in members {
            for &i in &self.ports_of[s] {
                let end = power(&bonds.terms[bonds.ports[i].terms.clone()], u_end, y);
                self.ports[i].energy += span.h * self.mean_power(i, end);
            }
        }
    }

    fn mean_power(&self, port: usize, end: f64) -> f64 {
        match self.quadrature {
            Quadrature::Rectangle => end,
            Quadrature::Trapezoid => 0.5 * (self.start_power[port] + end),
        }
    }

    /// Closes the step: powers at its end, energies over it.
    pub(crate) fn close(&mut self, bonds: &Bonds, span: Span, end: &EndValues<'_>) {
        if self.flows.is_empty() {
            return;
        }
        if self.scalar {
            for ((port, held), term) in self.ports.iter_mut().zip(&mut self.held_power).zip(&bonds.terms) {
                let y = term.factor * end.y_step[term.y];
                port.power = end.corrected[term.u] * y;
                *held = end.held[term.u] * y;
                port.consistent_power = term.factor * end.fresh[term.u] * end.y_fresh[term.y];
            }
        } else {
            for ((port, held), spec) in self.ports.iter_mut().zip(&mut self.held_power).zip(&bonds.ports) {
                let terms = &bonds.terms[spec.terms.clone()];
                port.power = power(terms, end.corrected, end.y_step);
                *held = power(terms, end.held, end.y_step);
                port.consistent_power = power(terms, end.fresh, end.y_fresh);
            }
        }
        match self.quadrature {
            Quadrature::Rectangle => self.fill_energy(span.h, |_, end| end),
            Quadrature::Trapezoid => self.fill_energy(span.h, |start, end| 0.5 * (start + end)),
        }
        if self.pairs {
            let ports = self.ports.chunks_exact(2).zip(self.held_power.chunks_exact(2));
            for (flow, (ports, held)) in self.flows.iter_mut().zip(ports) {
                *flow = bond_flow(ports, held);
            }
        } else {
            for (flow, range) in self.flows.iter_mut().zip(&bonds.bonds) {
                *flow = bond_flow(&self.ports[range.clone()], &self.held_power[range.clone()]);
            }
        }
    }

    /// Energies over the step of ports that were not summed sub-step by sub-step.
    fn fill_energy(&mut self, h: f64, mean: impl Fn(f64, f64) -> f64) {
        let all = self.ports.iter_mut().zip(&self.start_power).zip(&self.stepwise);
        for ((port, &start), &stepwise) in all {
            if !stepwise {
                port.energy = h * mean(start, port.power);
            }
        }
    }

    /// Enters an accepted step into the ledger.
    pub(crate) fn commit(&mut self, span: Span) {
        for (sum, flow) in self.sums.iter_mut().zip(&self.flows) {
            sum.residual += flow.residual_energy;
            sum.residual_abs += flow.residual_energy.abs();
            sum.endpoint_residual += flow.residual_power * span.h;
            sum.endpoint_residual_abs += flow.residual_power.abs() * span.h;
            sum.transmitted += flow.transmitted_power * span.h;
            sum.exchanged += flow.exchanged_power * span.h;
            if flow.residual_power.abs() > sum.worst_power {
                sum.worst_power = flow.residual_power.abs();
                sum.worst_time = span.end;
            }
        }
        for (total, port) in self.port_energy.iter_mut().zip(&self.ports) {
            *total += port.energy;
        }
    }
}

/// What a bond did, from its ports; `held` are the ports' powers before correction.
#[inline]
fn bond_flow(ports: &[PortFlow], held: &[f64]) -> BondFlow {
    let mut flow = BondFlow::default();
    for (i, (port, held)) in ports.iter().zip(held).enumerate() {
        flow.residual_power -= port.power;
        flow.held_residual_power -= held;
        flow.residual_energy -= port.energy;
        flow.transmitted_power +=
            if i == 0 { 0.5 * port.consistent_power } else { -0.5 * port.consistent_power };
        flow.exchanged_power += 0.5 * port.consistent_power.abs();
    }
    flow
}

fn power(terms: &[Term], u: &[f64], y: &[f64]) -> f64 {
    terms.iter().map(|t| t.factor * u[t.u] * y[t.y]).sum()
}

impl Checkpointed for Meter {
    fn save(&self, tape: &mut Checkpoint) {
        for s in &self.sums {
            tape.extend(&[
                s.residual,
                s.residual_abs,
                s.endpoint_residual,
                s.endpoint_residual_abs,
                s.transmitted,
                s.exchanged,
                s.worst_power,
                s.worst_time,
            ]);
        }
        tape.extend(&self.port_energy);
    }

    fn load(&mut self, tape: &mut Checkpoint) {
        for s in &mut self.sums {
            *s = BondSum {
                residual: tape.pull(),
                residual_abs: tape.pull(),
                endpoint_residual: tape.pull(),
                endpoint_residual_abs: tape.pull(),
                transmitted: tape.pull(),
                exchanged: tape.pull(),
                worst_power: tape.pull(),
                worst_time: tape.pull(),
            };
        }
        tape.fill(&mut self.port_energy);
    }
}
