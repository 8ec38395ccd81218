//! What feeds each input: connections and external inputs, texts and binaries among them.

use super::{NetworkBuilder, Place};
use crate::network::{BuildError, Names, Packets, Problem, Subject, VariableName};
use crate::subsystem::{Causality, Packet};
use crate::units::Conversion;
use std::collections::{BTreeMap, BTreeSet};

/// What feeds an input.
pub(super) enum Fed {
    /// `offset + Σ gain · output`.
    Outputs { sources: Vec<(Place, f64)>, offset: f64 },
    /// The n-th external input.
    External(usize),
}

impl NetworkBuilder {
    /// The connections of texts and binaries.
    pub(super) fn resolve_packets(&self, names: &mut Names) -> Result<Packets, BuildError> {
        let mut links: Vec<(Place, Place)> = Vec::new();
        let mut fed: BTreeSet<Place> = BTreeSet::new();
        for (n, spec) in self.connections.iter().enumerate() {
            let error = |problem| BuildError { subject: Subject::Connection(n), problem };
            let to = self.packet(&spec.to);
            for (name, gain) in &spec.from {
                let from = self.packet(name);
                if from.is_none() && to.is_none() {
                    continue;
                }
                // The side that is a number, or whatever is wrong with it.
                let number = |name: &VariableName, wanted| {
                    let place = self.find(name, Some(wanted), Subject::Connection(n))?;
                    Ok(self.variable(place).kind.noun().to_owned())
                };
                let kind = |found: Option<(Place, &Packet)>, name: &VariableName, wanted| match found {
                    None => number(name, wanted),
                    Some((_, packet)) if packet.causality == wanted => Ok(packet.kind.noun()),
                    Some((_, packet)) => {
                        let (name, found) = (name.clone(), packet.causality);
                        Err(error(Problem::WrongCausality { name, wanted, found }))
                    }
                };
                let from_kind = kind(from, name, Causality::Output)?;
                let to_kind = kind(to, &spec.to, Causality::Input)?;
                let (from, to) = match (from, to) {
                    (Some(from), Some(to)) if from.1.kind.may_feed(&to.1.kind) => (from.0, to.0),
                    _ => {
                        let (from, to) = (name.clone(), spec.to.clone());
                        return Err(error(Problem::Types { from, from_kind, to, to_kind }));
                    }
                };
                if spec.from.len() > 1 || *gain != 1.0 || spec.offset != 0.0 {
                    return Err(error(Problem::NotAsItIs { from: name.clone(), kind: from_kind }));
                }
                if !fed.insert(to) {
                    let (input, other) = (spec.to.clone(), "another connection");
                    return Err(error(Problem::FedTwice { input, other }));
                }
                links.push((from, to));
                names.packets.push((name.clone(), spec.to.clone()));
            }
        }
        Ok(Packets::new(links))
    }

    /// What feeds each input; sums in name order.
    pub(super) fn resolve_feeds(&self) -> Result<BTreeMap<Place, Fed>, BuildError> {
        let mut feeds = BTreeMap::new();
        for (n, spec) in self.connections.iter().enumerate() {
            if self.packet(&spec.to).is_some() {
                continue;
            }
            let subject = || Subject::Connection(n);
            let fail = |problem| Err(BuildError { subject: subject(), problem });
            let to = self.find(&spec.to, Some(Causality::Input), subject())?;
            let mut offset = spec.offset;
            let mut sources = Vec::new();
            let mut sorted = spec.from.clone();
            sorted.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
            for (name, gain) in &sorted {
                let from = self.find(name, Some(Causality::Output), subject())?;
                let (from_kind, to_kind) = (self.variable(from).kind, self.variable(to).kind);
                if !from_kind.may_feed(to_kind) {
                    return fail(Problem::Types {
                        from: name.clone(),
                        from_kind: from_kind.noun().to_owned(),
                        to: spec.to.clone(),
                        to_kind: to_kind.noun().to_owned(),
                    });
                }
                let mut gain = *gain;
                if let (true, Some(a), Some(b)) = (spec.convert_units, self.unit(from), self.unit(to)) {
                    match a.conversion_to(b) {
                        Conversion::Linear { gain: factor, offset: shift } => {
                            offset += gain * shift;
                            gain *= factor;
                        }
                        Conversion::Unknown => {}
                        Conversion::Turns { gain } => {
                            return fail(Problem::Turns {
                                from: name.clone(),
                                from_unit: a.symbol.clone(),
                                to: spec.to.clone(),
                                to_unit: b.symbol.clone(),
                                gain,
                            });
                        }
                        Conversion::Impossible => {
                            return fail(Problem::Units {
                                from: name.clone(),
                                from_unit: a.symbol.clone(),
                                to: spec.to.clone(),
                                to_unit: b.symbol.clone(),
                            });
                        }
                    }
                }
                if !gain.is_finite() {
                    return fail(Problem::NotFinite { what: format!("the gain of `{name}`"), value: gain });
                }
                sources.push((from, gain));
            }
            if !offset.is_finite() {
                return fail(Problem::NotFinite { what: "the offset".to_owned(), value: offset });
            }
            if feeds.insert(to, Fed::Outputs { sources, offset }).is_some() {
                return fail(Problem::FedTwice { input: spec.to.clone(), other: "another connection" });
            }
        }
        for (n, (name, _)) in self.externals.iter().enumerate() {
            let subject = Subject::External(n);
            let to = self.find(name, Some(Causality::Input), subject.clone())?;
            match feeds.insert(to, Fed::External(n)) {
                None => {}
                Some(Fed::Outputs { .. }) => {
                    let problem = Problem::FedTwice { input: name.clone(), other: "a connection" };
                    return Err(BuildError { subject, problem });
                }
                Some(Fed::External(_)) => {
                    let problem = Problem::FedTwice { input: name.clone(), other: "another external input" };
                    return Err(BuildError { subject, problem });
                }
            }
        }
        Ok(feeds)
    }

    /// Which outputs are exchanged: those that are connected or part of a bond.
    pub(super) fn outputs_used(&self, feeds: &BTreeMap<Place, Fed>) -> Result<Vec<Vec<usize>>, BuildError> {
        let mut used = vec![Vec::new(); self.subsystems.len()];
        for feed in feeds.values() {
            if let Fed::Outputs { sources, .. } = feed {
                sources.iter().for_each(|&((s, v), _)| used[s].push(v));
            }
        }
        for (b, bond) in self.bonds.iter().enumerate() {
            for (p, port) in bond.ports.iter().enumerate() {
                for name in &port.outputs {
                    let (s, v) = self.find(name, Some(Causality::Output), Subject::Bond(b, Some(p)))?;
                    used[s].push(v);
                }
            }
        }
        used.iter_mut().for_each(|list| {
            list.sort_unstable();
            list.dedup();
        });
        Ok(used)
    }
}
