//! Power bonds: ports find their variables, and the powers of all ports must be able to cancel.

use super::{Errors, NetworkBuilder, Place, Places};
use crate::energy::{Bonds, Port, Term};
use crate::network::{BuildError, Imbalance, Names, PortSpec, Problem, Subject, VariableName, Wiring};
use crate::subsystem::Causality;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Numbers such as 9.549 (for 30/π) are rounded by hand to three digits or more: above this share it is another number.
const ROUNDED: f64 = 1e-3;

/// An input and an output of a port whose product is a power.
pub(super) struct Sides {
    pub input: Place,
    pub output: Place,
}

impl NetworkBuilder {
    /// The sides of every port of every bond, with the checks that need no connections.
    pub(super) fn resolve_sides(&self, errors: &mut Errors) -> Vec<Vec<Vec<Sides>>> {
        let mut bonds = Vec::new();
        for (b, spec) in self.bonds.iter().enumerate() {
            if spec.ports.len() < 2 {
                let problem = Problem::TooFewPorts { bond: spec.name.clone(), ports: spec.ports.len() };
                errors.0.push(BuildError { subject: Subject::Bond(b, None), problem });
            }
            let mut ports = Vec::new();
            for (p, port) in spec.ports.iter().enumerate() {
                let subject = Subject::Bond(b, Some(p));
                let error = |problem| BuildError { subject: subject.clone(), problem };
                errors.keep(check_port(port).map_err(error));
                let mut sides: Vec<Sides> = Vec::new();
                for (input, output) in port.inputs.iter().zip(&port.outputs) {
                    let owner = sides.first().map(|s| s.input.0);
                    let found = self.sides((input, output), owner, &subject);
                    sides.extend(errors.keep(found));
                }
                ports.push(sides);
            }
            bonds.push(ports);
        }
        bonds
    }

    fn sides(
        &self,
        (input, output): (&VariableName, &VariableName),
        owner: Option<usize>,
        subject: &Subject,
    ) -> Result<Sides, BuildError> {
        let from = self.find(output, Some(Causality::Output), subject.clone())?;
        let to = self.find(input, Some(Causality::Input), subject.clone())?;
        if from.0 != to.0 || owner.is_some_and(|s| s != to.0) {
            let problem = Problem::SplitPort { input: input.clone(), output: output.clone() };
            return Err(BuildError { subject: subject.clone(), problem });
        }
        Ok(Sides { input: to, output: from })
    }

    /// Bonds in name order, with the checks of what feeds them.
    pub(super) fn resolve_bonds(
        &self,
        sides: &[Vec<Vec<Sides>>],
        wiring: &Wiring,
        places: &Places,
        names: &mut Names,
        errors: &mut Errors,
    ) -> Bonds {
        let mut order: Vec<usize> = (0..self.bonds.len()).collect();
        order.sort_by(|&a, &b| self.bonds[a].name.cmp(&self.bonds[b].name));
        let mut bonds = Bonds::default();
        let mut bond_of_input: BTreeMap<usize, &str> = BTreeMap::new();
        for &b in &order {
            let spec = &self.bonds[b];
            let (first_port, known) = (bonds.ports.len(), errors.0.len());
            let mut told = BTreeSet::new();
            for (p, (port, sides)) in spec.ports.iter().zip(&sides[b]).enumerate() {
                let error = |problem| BuildError { subject: Subject::Bond(b, Some(p)), problem };
                let first_term = bonds.terms.len();
                for ((input, output), side) in port.inputs.iter().zip(&port.outputs).zip(sides) {
                    let Some(&u) = places.inputs.get(&side.input).filter(|&&u| wiring.is_coupled(u)) else {
                        errors.0.push(error(Problem::Unfed { input: input.clone() }));
                        continue;
                    };
                    let watts = match self.pseudo.contains(&b) {
                        true => Ok(1.0),
                        false => self.watts((input, side.input), (output, side.output), port.ratio),
                    };
                    let Some(watts) = errors.keep(watts.map_err(error)) else { continue };
                    if let Some(other) = bond_of_input.insert(u, &spec.name)
                        && told.insert(u)
                    {
                        let (input, bond) = (input.clone(), other.to_owned());
                        errors.0.push(error(Problem::UsedTwice { input, bond }));
                    }
                    let factor = port.sign * port.ratio * watts;
                    bonds.terms.push(Term { u, y: places.outputs[&side.output], factor });
                }
                let subsystem = sides.first().map_or(0, |s| s.input.0);
                bonds.ports.push(Port { subsystem, terms: first_term..bonds.terms.len() });
                names.ports.push(port.inputs[0].subsystem.clone());
            }
            let ports = first_port..bonds.ports.len();
            let mut imbalance = None;
            if errors.0.len() == known {
                imbalance = errors.keep(self.check_balance(b, &bonds, ports.clone(), wiring, names));
            }
            bonds.imbalance.push(imbalance.unwrap_or(0.0));
            bonds.bonds.push(ports);
            bonds.pseudo.push(self.pseudo.contains(&b));
            names.bonds.push(spec.name.clone());
        }
        names.bond_order = order;
        bonds
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
        // A unit was converted by hand that is converted anyway: no gear has such a ratio by chance.
        if (watts - 1.0).abs() > 1e-9 && (ratio.abs() / watts - 1.0).abs() < 1e-3 {
            return Err(Problem::UnitTwice { ratio, input_unit, output_unit });
        }
        Ok(watts)
    }

    /// With exact coupling the powers of all ports must cancel for every y: the bilinear form Σ s·ratio·(L y)·y
    /// has to vanish. This finds a wrong sign, ratio or gain before the first step. What is left of digits that were not written is
    /// returned, relative to one of the powers.
    fn check_balance(
        &self,
        b: usize,
        bonds: &Bonds,
        ports: Range<usize>,
        wiring: &Wiring,
        names: &Names,
    ) -> Result<f64, BuildError> {
        let mut form: BTreeMap<(usize, usize), (f64, f64)> = BTreeMap::new();
        // What each port adds to the form.
        let mut powers: Vec<BTreeMap<(usize, usize), f64>> = vec![BTreeMap::new(); ports.len()];
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
                    let product = (source.min(term.y), source.max(term.y));
                    *powers[p - ports.start].entry(product).or_default() += term.factor * gain;
                    let entry = form.entry(product).or_default();
                    entry.0 += term.factor * gain;
                    entry.1 += (term.factor * gain).abs();
                }
            }
        }
        let share = |(sum, size): (f64, f64)| if size == 0.0 { 0.0 } else { 2.0 * sum.abs() / size };
        let worst = form.iter().max_by(|a, b| share(*a.1).total_cmp(&share(*b.1)));
        match worst.filter(|(_, entry)| share(**entry) > ROUNDED) {
            None => Ok(worst.map_or(0.0, |(_, entry)| share(*entry))),
            Some((&(i, j), &(sum, _))) => {
                let problem = Problem::Unbalanced {
                    bond: self.bonds[b].name.clone(),
                    first: names.outputs[i].clone(),
                    second: names.outputs[j].clone(),
                    sum,
                    cause: self.imbalance(b, &powers),
                };
                Err(BuildError { subject: Subject::Bond(b, None), problem })
            }
        }
    }

    /// What two ports whose `powers` do not cancel have to do with each other: one is the same multiple of the other in all products.
    fn imbalance(&self, b: usize, powers: &[BTreeMap<(usize, usize), f64>]) -> Imbalance {
        let [one, other] = powers else { return Imbalance::Other };
        let multiples =
            || one.iter().map(|(product, power)| power / other.get(product).copied().unwrap_or(0.0));
        let times = multiples().next().unwrap_or(f64::NAN);
        let same = |a: f64, b: f64| (a - b).abs() <= ROUNDED * b.abs();
        if one.len() != other.len()
            || !times.is_finite()
            || times == 0.0
            || multiples().any(|m| !same(m, times))
        {
            return Imbalance::Other;
        }
        if same(times, 1.0) {
            return Imbalance::Sign;
        }
        if times > 0.0 {
            return Imbalance::Other;
        }
        let (p, times) = if times < -1.0 { (0, -times) } else { (1, -1.0 / times) };
        let port = &self.bonds[b].ports[p];
        Imbalance::Ratio { input: port.inputs[0].clone(), times, ratio: port.ratio / times }
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
