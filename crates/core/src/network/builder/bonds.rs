//! Power bonds: ports find their variables, and the powers of all ports must be able to cancel.

use super::{NetworkBuilder, Place, Places};
use crate::energy::{Bonds, Port, Term};
use crate::network::{BuildError, Names, PortSpec, Problem, Subject, VariableName, Wiring};
use crate::subsystem::Causality;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

impl NetworkBuilder {
    /// Bonds in name order, with every check of them.
    pub(super) fn resolve_bonds(
        &self,
        wiring: &Wiring,
        places: &Places,
        names: &mut Names,
    ) -> Result<Bonds, BuildError> {
        let mut order: Vec<usize> = (0..self.bonds.len()).collect();
        order.sort_by(|&a, &b| self.bonds[a].name.cmp(&self.bonds[b].name));
        let mut bonds = Bonds::default();
        let mut bond_of_input: BTreeMap<usize, &str> = BTreeMap::new();
        for &b in &order {
            let spec = &self.bonds[b];
            if spec.ports.len() < 2 {
                let problem = Problem::TooFewPorts { bond: spec.name.clone(), ports: spec.ports.len() };
                return Err(BuildError { subject: Subject::Bond(b, None), problem });
            }
            let first_port = bonds.ports.len();
            for (p, port) in spec.ports.iter().enumerate() {
                let subject = || Subject::Bond(b, Some(p));
                let error = |problem| BuildError { subject: subject(), problem };
                check_port(port).map_err(error)?;
                let first_term = bonds.terms.len();
                let mut owner = None;
                for (input, output) in port.inputs.iter().zip(&port.outputs) {
                    let from = self.find(output, Some(Causality::Output), subject())?;
                    let to = self.find(input, Some(Causality::Input), subject())?;
                    if from.0 != to.0 || owner.is_some_and(|s| s != to.0) {
                        return Err(error(Problem::SplitPort {
                            input: input.clone(),
                            output: output.clone(),
                        }));
                    }
                    owner = Some(to.0);
                    let Some(&u) = places.inputs.get(&to).filter(|&&u| wiring.is_coupled(u)) else {
                        return Err(error(Problem::Unfed { input: input.clone() }));
                    };
                    let watts = self.watts((input, to), (output, from), port.ratio).map_err(error)?;
                    if let Some(other) = bond_of_input.insert(u, &spec.name) {
                        return Err(error(Problem::UsedTwice {
                            input: input.clone(),
                            bond: other.to_owned(),
                        }));
                    }
                    let factor = port.sign * port.ratio * watts;
                    bonds.terms.push(Term { u, y: places.outputs[&from], factor });
                }
                bonds
                    .ports
                    .push(Port { subsystem: owner.unwrap_or(0), terms: first_term..bonds.terms.len() });
                names.ports.push(port.inputs[0].subsystem.clone());
            }
            let ports = first_port..bonds.ports.len();
            self.check_balance(b, &bonds, ports.clone(), wiring, names)?;
            bonds.bonds.push(ports);
            names.bonds.push(spec.name.clone());
        }
        names.bond_order = order;
        Ok(bonds)
    }

    /// How many watts one input times one output is; 1 where a unit is not known.
    fn watts(
        &self,
        (input, to): (&VariableName, Place),
        (output, from): (&VariableName, Place),
        ratio: f64,
    ) -> Result<f64, Problem> {
        let (Some(a), Some(b)) = (self.unit(to), self.unit(from)) else { return Ok(1.0) };
        let (input_unit, output_unit) = (a.symbol.clone(), b.symbol.clone());
        if a.product_is_power(b) == Some(false) {
            let (input, output) = (input.clone(), output.clone());
            return Err(Problem::NotAPower { input, input_unit, output, output_unit });
        }
        let watts = a.watts(b).unwrap_or(1.0);
        // Somebody has converted by hand what is converted anyway: no gear has such a ratio by chance.
        if (watts - 1.0).abs() > 1e-9 && (ratio.abs() / watts - 1.0).abs() < 1e-3 {
            return Err(Problem::UnitTwice { ratio, input_unit, output_unit });
        }
        Ok(watts)
    }

    /// With exact coupling the powers of all ports must cancel for every y: the bilinear form Σ s·ratio·(L y)·y
    /// has to vanish. This finds a wrong sign, ratio or gain before the first step.
    fn check_balance(
        &self,
        b: usize,
        bonds: &Bonds,
        ports: Range<usize>,
        wiring: &Wiring,
        names: &Names,
    ) -> Result<(), BuildError> {
        let mut form: BTreeMap<(usize, usize), (f64, f64)> = BTreeMap::new();
        let terms = |p: usize| &bonds.terms[bonds.ports[p].terms.clone()];
        let mut ports_of: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        for (p, term) in ports.clone().flat_map(|p| terms(p).iter().map(move |term| (p, term))) {
            ports_of.entry(term.y).or_default().insert(p);
        }
        for p in ports.clone() {
            let others = |y: usize| ports_of.get(&y).is_some_and(|of| of.iter().any(|&q| q != p));
            for term in terms(p) {
                for (source, gain) in wiring.sources(term.u) {
                    if !others(source) {
                        let problem = Problem::Foreign {
                            input: names.inputs[term.u].clone(),
                            source: names.outputs[source].clone(),
                        };
                        return Err(BuildError { subject: Subject::Bond(b, Some(p - ports.start)), problem });
                    }
                    let entry = form.entry((source.min(term.y), source.max(term.y))).or_default();
                    entry.0 += term.factor * gain;
                    entry.1 += (term.factor * gain).abs();
                }
            }
        }
        // Gains that come from unit conversions carry round-off.
        match form.iter().find(|(_, (sum, size))| sum.abs() > 1e-9 * size) {
            None => Ok(()),
            Some((&(i, j), &(sum, _))) => {
                let problem = Problem::Unbalanced {
                    bond: self.bonds[b].name.clone(),
                    first: names.outputs[i].clone(),
                    second: names.outputs[j].clone(),
                    sum,
                };
                Err(BuildError { subject: Subject::Bond(b, None), problem })
            }
        }
    }
}

/// What can be seen of a port alone.
fn check_port(port: &PortSpec) -> Result<(), Problem> {
    let (inputs, outputs) = (port.inputs.len(), port.outputs.len());
    if inputs != outputs || inputs == 0 {
        return Err(Problem::PortLengths { inputs, outputs });
    }
    if port.sign.abs() != 1.0 {
        return Err(Problem::BadSign { sign: port.sign });
    }
    if !port.ratio.is_finite() || port.ratio == 0.0 {
        return Err(Problem::BadRatio { ratio: port.ratio });
    }
    Ok(())
}
