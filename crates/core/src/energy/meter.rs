//! Measures every port and bond in every step, and keeps the running ledger.

use super::bond::{BondFlow, Bonds, PortFlow, Term};
use crate::checkpoint::{Checkpoint, Checkpointed};
use crate::hold::HeldInputs;
use crate::step::StepRecord;
use crate::subsystem::Span;
use std::ops::Range;

/// How the energy of a (sub-)step of length h is computed from its power `s·ratio·ũ·y`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Quadrature {
    /// `∫ ũ y dτ` with the polynomial ũ that was held and y on the straight line between its values at both ends: exact in what was
    /// held, of second order in y.
    #[default]
    Held,
    /// Power at the end of each (sub-)step times its length (the papers' sums). Of first order: the residual of a zero-order hold
    /// comes out about twice as large as it is.
    Rectangle,
    /// The mean of the powers at both ends times its length.
    Trapezoid,
}

/// `∫ ũ (1 - τ/h) dτ / h` and `∫ ũ τ/h dτ / h` of input `i` over `h`: what y at the start and at the end is weighted with.
#[inline]
fn weights(held: &HeldInputs, i: usize, h: f64) -> [f64; 2] {
    let half = 0.5 * held.value[i];
    let Some(&slope) = held.slope.get(i) else { return [half; 2] };
    let curvature = held.curvature.get(i).copied().unwrap_or(0.0);
    [half + h * (slope / 6.0 + h * curvature / 24.0), half + h * (slope / 3.0 + h * curvature / 8.0)]
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
    /// Σ |δP|·h at the end points, in J; half its mean over time estimates the error of the power (sadjina2017 eq. 13).
    pub endpoint_residual_abs: f64,
    /// Σ transmitted energy, in J.
    pub transmitted: f64,
    /// Σ exchanged energy, in J.
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
    /// Power of each port at the end of the step, with inputs before correction.
    held_power: Vec<f64>,
    /// What the start of the (sub-)step has to do with its mean power, per port.
    start_power: Vec<f64>,
    /// The ledger: sums per bond over accepted steps.
    pub sums: Vec<BondSum>,
    /// Energy that left through each port over accepted steps, in J.
    pub port_energy: Vec<f64>,
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
            start_power: vec![0.0; n],
            sums: vec![BondSum::default(); bonds.bonds.len()],
            port_energy: vec![0.0; n],
        }
    }

    /// Starts a step: no energy has flown yet.
    pub(crate) fn begin(&self, ports: &mut [PortFlow]) {
        if self.any_stepwise {
            ports.iter_mut().for_each(|p| p.energy = 0.0);
        }
    }

    /// Notes what the start of a stage of length `h` has to do with its mean power: `held` is given, outputs are at `y`.
    pub(crate) fn open(&mut self, bonds: &Bonds, members: &[usize], held: &HeldInputs, h: f64, y: &[f64]) {
        let at_end = match self.quadrature {
            Quadrature::Rectangle => true,
            // Without sub-steps nothing is overwritten before the step is closed.
            Quadrature::Held => !self.any_stepwise,
            Quadrature::Trapezoid => false,
        };
        if at_end {
            return;
        }
        for &s in members {
            for &i in &self.ports_of[s] {
                let terms = &bonds.terms[bonds.ports[i].terms.clone()];
                self.start_power[i] = match self.quadrature {
                    Quadrature::Held => terms.iter().map(|t| start_of(t, held, h, y)).sum(),
                    _ => power(terms, &held.value, y),
                };
            }
        }
    }

    /// Adds the energy of the sub-step `part` of the subsystems in `members`, which were given `held`.
    pub(crate) fn sub_step(
        &self,
        bonds: &Bonds,
        members: &[usize],
        held: &HeldInputs,
        part: Span,
        record: &mut StepRecord,
    ) {
        for &s in members {
            for &i in &self.ports_of[s] {
                let terms = &bonds.terms[bonds.ports[i].terms.clone()];
                let end = || power(terms, record.corrected_end(), &record.y_step);
                let mean = match self.quadrature {
                    Quadrature::Rectangle => end(),
                    Quadrature::Trapezoid => 0.5 * (self.start_power[i] + end()),
                    Quadrature::Held => {
                        let end = |t: &Term| end_of(t, held, part.h, &record.y_step);
                        self.start_power[i] + terms.iter().map(end).sum::<f64>()
                    }
                };
                record.ports[i].energy += part.h * mean;
            }
        }
    }

    /// Closes the step: powers at its end, energies over it. `held` is what members were given last.
    pub(crate) fn close(&mut self, bonds: &Bonds, held: &HeldInputs, record: &mut StepRecord) {
        if record.flows.is_empty() {
            return;
        }
        self.fill_powers(bonds, record);
        let (h, ports) = (record.span.h, &mut record.ports);
        match self.quadrature {
            Quadrature::Rectangle => self.fill_energy(h, ports, |_, end| end),
            Quadrature::Trapezoid => self.fill_energy(h, ports, |start, end| 0.5 * (start + end)),
            Quadrature::Held => self.fill_held_energy(bonds, held, record),
        }
        let StepRecord { ports, flows, .. } = record;
        if self.pairs {
            let both = ports.chunks_exact(2).zip(self.held_power.chunks_exact(2));
            for (flow, (ports, held)) in flows.iter_mut().zip(both) {
                *flow = bond_flow(ports, held);
            }
        } else {
            for (flow, range) in flows.iter_mut().zip(&bonds.bonds) {
                *flow = bond_flow(&ports[range.clone()], &self.held_power[range.clone()]);
            }
        }
        if self.quadrature == Quadrature::Rectangle {
            for flow in flows {
                flow.transmitted_energy = flow.transmitted_power * h;
                flow.exchanged_energy = flow.exchanged_power * h;
            }
        }
    }

    /// Powers of all ports at the end of the step.
    fn fill_powers(&mut self, bonds: &Bonds, record: &mut StepRecord) {
        let StepRecord { ports, held_end, corrected_end, fresh, y_step, y_fresh, .. } = record;
        // As slices: the compiler does not know that writing to one list moves no other.
        let (held_end, fresh, y_step) = (&held_end[..], &fresh[..], &y_step[..]);
        let corrected = if corrected_end.is_empty() { held_end } else { &corrected_end[..] };
        let y_end = if y_fresh.is_empty() { y_step } else { &y_fresh[..] };
        if self.scalar {
            for ((port, held), term) in ports.iter_mut().zip(&mut self.held_power).zip(&bonds.terms) {
                let y = term.factor * y_step[term.y];
                port.power = corrected[term.u] * y;
                *held = held_end[term.u] * y;
                port.consistent_power = term.factor * fresh[term.u] * y_end[term.y];
            }
        } else {
            for ((port, held), spec) in ports.iter_mut().zip(&mut self.held_power).zip(&bonds.ports) {
                let terms = &bonds.terms[spec.terms.clone()];
                port.power = power(terms, corrected, y_step);
                *held = power(terms, held_end, y_step);
                port.consistent_power = power(terms, fresh, y_end);
            }
        }
    }

    /// Energies over the step of ports that were not summed sub-step by sub-step.
    fn fill_energy(&self, h: f64, ports: &mut [PortFlow], mean: impl Fn(f64, f64) -> f64) {
        let all = ports.iter_mut().zip(&self.start_power).zip(&self.stepwise);
        for ((port, &start), &stepwise) in all {
            if !stepwise {
                port.energy = h * mean(start, port.power);
            }
        }
    }

    /// The same by what was held.
    fn fill_held_energy(&self, bonds: &Bonds, held: &HeldInputs, record: &mut StepRecord) {
        let StepRecord { ports, y_prev, y_step, span, .. } = record;
        let (h, y_prev, y_step) = (span.h, &y_prev[..], &y_step[..]);
        for (i, (port, spec)) in ports.iter_mut().zip(&bonds.ports).enumerate() {
            if !self.stepwise[i] {
                let mean = |t: &Term| {
                    let [start, end] = weights(held, t.u, h);
                    t.factor * (start * y_prev[t.y] + end * y_step[t.y])
                };
                port.energy = h * bonds.terms[spec.terms.clone()].iter().map(mean).sum::<f64>();
            }
        }
    }

    /// Enters an accepted step into the ledger.
    pub(crate) fn commit(&mut self, record: &StepRecord) {
        let span = record.span;
        for (sum, flow) in self.sums.iter_mut().zip(&record.flows) {
            sum.residual += flow.residual_energy;
            sum.residual_abs += flow.residual_energy.abs();
            sum.endpoint_residual += flow.residual_power * span.h;
            sum.endpoint_residual_abs += flow.residual_power.abs() * span.h;
            sum.transmitted += flow.transmitted_energy;
            sum.exchanged += flow.exchanged_energy;
            if flow.residual_power.abs() > sum.worst_power {
                sum.worst_power = flow.residual_power.abs();
                sum.worst_time = span.end;
            }
        }
        for (total, port) in self.port_energy.iter_mut().zip(&record.ports) {
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
        flow.transmitted_energy += if i == 0 { 0.5 * port.energy } else { -0.5 * port.energy };
        flow.exchanged_energy += 0.5 * port.energy.abs();
    }
    flow
}

fn start_of(term: &Term, held: &HeldInputs, h: f64, y: &[f64]) -> f64 {
    term.factor * weights(held, term.u, h)[0] * y[term.y]
}

fn end_of(term: &Term, held: &HeldInputs, h: f64, y: &[f64]) -> f64 {
    term.factor * weights(held, term.u, h)[1] * y[term.y]
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
