//! What feeds each input: connections and external inputs, texts and binaries among them.

use super::bonds::Sides;
use super::{Errors, NetworkBuilder, Place};
use crate::network::{BuildError, ConnectionSpec, Names, Packets, Problem, Subject, VariableName};
use crate::subsystem::{Causality, Packet};
use crate::units::{Conversion, Unit};
use std::collections::{BTreeMap, BTreeSet};

/// What feeds an input.
pub(super) enum Fed {
    /// `offset + Σ gain · output`.
    Outputs { sources: Vec<(Place, f64)>, offset: f64 },
    /// The n-th external input.
    External(usize),
}

impl NetworkBuilder {
    /// The connections of texts and binaries, and for every connection whether it failed.
    pub(super) fn resolve_packets(&self, names: &mut Names, errors: &mut Errors) -> (Packets, Vec<bool>) {
        let mut links: Vec<(Place, Place)> = Vec::new();
        let mut fed: BTreeSet<Place> = BTreeSet::new();
        let mut failed = vec![false; self.connections.len()];
        for (n, spec) in self.connections.iter().enumerate() {
            let to = self.packet(&spec.to);
            for source @ (name, _) in &spec.from {
                if self.packet(name).is_none() && to.is_none() {
                    continue;
                }
                let link = self.link(n, spec, source).and_then(|link| match fed.insert(link.1) {
                    true => Ok(link),
                    false => {
                        let (input, other) = (spec.to.clone(), "another connection");
                        let problem = Problem::FedTwice { input, other };
                        Err(BuildError { subject: Subject::Connection(n), problem })
                    }
                });
                match errors.keep(link) {
                    Some(link) => {
                        links.push(link);
                        names.packets.push((name.clone(), spec.to.clone()));
                    }
                    None => failed[n] = true,
                }
            }
        }
        (Packets::new(links), failed)
    }

    /// From where to where the text or binary of connection `n` goes.
    fn link(
        &self,
        n: usize,
        spec: &ConnectionSpec,
        (name, gain): &(VariableName, f64),
    ) -> Result<(Place, Place), BuildError> {
        let error = |problem| BuildError { subject: Subject::Connection(n), problem };
        let (from, to) = (self.packet(name), self.packet(&spec.to));
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
        Ok((from, to))
    }

    /// What feeds each input; sums in name order. Connections that `failed` are left out.
    pub(super) fn resolve_feeds(&self, failed: &[bool], errors: &mut Errors) -> BTreeMap<Place, Fed> {
        let mut feeds = BTreeMap::new();
        for (n, spec) in self.connections.iter().enumerate() {
            if failed[n] || self.packet(&spec.to).is_some() {
                continue;
            }
            let error = |problem| BuildError { subject: Subject::Connection(n), problem };
            let to = errors.keep(self.find(&spec.to, Some(Causality::Input), Subject::Connection(n)));
            let mut offset = spec.offset;
            let mut sources = Vec::new();
            let mut sorted = spec.from.clone();
            sorted.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
            for source in &sorted {
                let found = self.find(&source.0, Some(Causality::Output), Subject::Connection(n));
                if let (Some(from), Some(to)) = (errors.keep(found), to)
                    && let Some((gain, shift)) =
                        errors.keep(self.converted(spec, source, from, to).map_err(error))
                {
                    offset += shift;
                    sources.push((from, gain));
                }
            }
            if !offset.is_finite() {
                let problem = Problem::NotFinite { what: "the offset".to_owned(), value: offset };
                errors.0.push(error(problem));
            }
            if let Some(to) = to
                && feeds.insert(to, Fed::Outputs { sources, offset }).is_some()
            {
                let (input, other) = (spec.to.clone(), "another connection");
                errors.0.push(error(Problem::FedTwice { input, other }));
            }
        }
        for (n, (name, _)) in self.externals.iter().enumerate() {
            let subject = Subject::External(n);
            let found = self.find(name, Some(Causality::Input), subject.clone());
            let Some(to) = errors.keep(found) else { continue };
            let other = match feeds.insert(to, Fed::External(n)) {
                None => continue,
                Some(Fed::Outputs { .. }) => "a connection",
                Some(Fed::External(_)) => "another external input",
            };
            let problem = Problem::FedTwice { input: name.clone(), other };
            errors.0.push(BuildError { subject, problem });
        }
        feeds
    }

    /// The gain of a source and what it adds to the offset, in the unit of the input.
    fn converted(
        &self,
        spec: &ConnectionSpec,
        (name, gain): &(VariableName, f64),
        source: Place,
        target: Place,
    ) -> Result<(f64, f64), Problem> {
        let (from_kind, to_kind) = (self.variable(source).kind, self.variable(target).kind);
        if !from_kind.may_feed(to_kind) {
            return Err(Problem::Types {
                from: name.clone(),
                from_kind: from_kind.noun().to_owned(),
                to: spec.to.clone(),
                to_kind: to_kind.noun().to_owned(),
            });
        }
        let (mut gain, mut shift) = (*gain, 0.0);
        if let (true, Some(a), Some(b)) = (spec.convert_units, self.unit(source), self.unit(target)) {
            let (from, to) = (name.clone(), spec.to.clone());
            let (from_unit, to_unit) = (a.symbol.clone(), b.symbol.clone());
            match a.conversion_to(b) {
                Conversion::Linear { gain: factor, offset } => {
                    shift = gain * offset;
                    gain *= factor;
                }
                Conversion::Unknown => {}
                Conversion::Turns { gain } => {
                    return Err(Problem::Turns { from, from_unit, to, to_unit, gain });
                }
                Conversion::Impossible => {
                    let outputs = self.fitting(&name.subsystem, source, Causality::Output, b);
                    let inputs = || self.fitting(&spec.to.subsystem, target, Causality::Input, a);
                    let fitting = outputs.or_else(inputs);
                    return Err(Problem::Units { from, from_unit, to, to_unit, fitting });
                }
            }
        }
        if !gain.is_finite() {
            return Err(Problem::NotFinite { what: format!("the gain of `{name}`"), value: gain });
        }
        Ok((gain, shift))
    }

    /// The variable beside `place` that has a unit of the same quantity as `unit`, if there is exactly one.
    fn fitting(
        &self,
        subsystem: &str,
        place: Place,
        causality: Causality,
        unit: &Unit,
    ) -> Option<(VariableName, String)> {
        let beside = self.subsystems[place.0].simulator.info().variables.iter();
        let mut fitting = beside.filter(|v| v.causality == causality).filter_map(|v| {
            let own = v.unit.as_deref()?;
            matches!(own.conversion_to(unit), Conversion::Linear { .. })
                .then(|| (VariableName::new(subsystem, &v.name), own.symbol.clone()))
        });
        let first = fitting.next();
        first.filter(|_| fitting.next().is_none())
    }

    /// Which outputs are exchanged: those that are connected or part of a bond.
    pub(super) fn outputs_used(
        &self,
        feeds: &BTreeMap<Place, Fed>,
        sides: &[Vec<Vec<Sides>>],
    ) -> Vec<Vec<usize>> {
        let mut used = vec![Vec::new(); self.subsystems.len()];
        for feed in feeds.values() {
            if let Fed::Outputs { sources, .. } = feed {
                sources.iter().for_each(|&((s, v), _)| used[s].push(v));
            }
        }
        for &Sides { output: (s, v), .. } in sides.iter().flatten().flatten() {
            used[s].push(v);
        }
        used.iter_mut().for_each(|list| {
            list.sort_unstable();
            list.dedup();
        });
        used
    }
}
