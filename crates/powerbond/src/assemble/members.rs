//! What is done with single subsystems: refresh, identification, probing, going back.

use super::Coupled;
use super::decided::Decided;
use super::experiment::DEFAULT_STEPS;
use crate::Error;
use crate::catalogue::corrections::Gains;
use crate::catalogue::{
    self, Ability, Choice, Identify, Kind, Part, Refresh, Without, Written, feeds_through, is_discrete,
};
use crate::source::{At, Place};
use crate::system::{FeedThroughSpec, OwnStepsBy, SimulatorSpec};
use powerbond_core::feed_through::identify::{Identifier, Role};
use powerbond_core::feed_through::{Probe, ProbeOutcome, depends_on_steps, probe, probe_integrations};
use powerbond_core::network::{NameIndex, Names};
use powerbond_core::subsystem::Setup;
use powerbond_core::suggest::hint;
use std::collections::BTreeSet;

impl Coupled<'_> {
    /// Members that re-read feed-through outputs, in feed-through order.
    pub(super) fn refreshed(&self) -> Result<Vec<usize>, Error> {
        let (network, names) = (&self.network, &self.names);
        let fed = (0..network.members.len()).filter(|&s| feeds_through(&network.members[s]));
        let wanted: Vec<usize> = match &self.system.method.refresh {
            Refresh::Off => Vec::new(),
            Refresh::All(_) => fed.collect(),
            Refresh::Auto => fed.filter(|&s| network.members[s].capabilities.can_refresh).collect(),
            Refresh::Some(list) => subsystems(names, list)?,
        };
        for (n, s) in wanted.iter().enumerate() {
            if !network.members[*s].capabilities.can_refresh {
                let place = match &self.system.method.refresh {
                    Refresh::All(at) => at.place(),
                    Refresh::Some(list) => list[n].place(),
                    _ => None,
                };
                return Err(Error::input(
                    place,
                    format!(
                        "`{}` does not recompute its outputs without a step, so refresh is not supported. List those \
                         that do: refresh = [\"…\"]",
                        names.subsystems[*s]
                    ),
                ));
            }
        }
        let wanted: BTreeSet<usize> = wanted.into_iter().collect();
        Ok(network.evaluation_order.iter().copied().filter(|s| wanted.contains(s)).collect())
    }

    /// Finds out feed-through while the run goes on, where that is wanted.
    pub(super) fn identifier(&mut self, refresh: &[usize]) -> Result<Option<Identifier>, Error> {
        let Coupled { network, names, warnings, .. } = self;
        let network = &*network;
        let refreshed: BTreeSet<usize> = refresh.iter().copied().collect();
        let fed = |s: &usize| feeds_through(&network.members[*s]) && !refreshed.contains(s);
        let improved: Vec<usize> = match &self.system.method.identify {
            Identify::Off => Vec::new(),
            Identify::All => (0..network.members.len()).filter(fed).collect(),
            Identify::Some(list) => subsystems(names, list)?,
        };
        let known = match self.system.method.correction.gains() {
            Gains::Identified => (0..network.members.len()).filter(fed).collect(),
            _ => Vec::new(),
        };
        for &s in improved.iter().filter(|&&s| catalogue::too_wide(network, s)) {
            warnings.push(format!(
                "`{}` has too many coupled inputs to identify its feed-through",
                names.subsystems[s]
            ));
        }
        let mut members: Vec<(usize, Role)> = improved.iter().map(|&s| (s, Role::Improved)).collect();
        let improved: BTreeSet<usize> = improved.into_iter().collect();
        members.extend(known.into_iter().filter(|s| !improved.contains(s)).map(|s| (s, Role::Known)));
        let usable = |i: usize| !is_discrete(network, i);
        let identifier = Identifier::new(network, &members, usable);
        Ok((!identifier.is_empty()).then_some(identifier))
    }

    /// Probes the feed-through of subsystems on scratch instances: found where it is unknown, tested where the file declares it.
    pub(super) fn probe_feed_through(&mut self) -> Result<(), Error> {
        let setup = Setup { start: self.experiment.start, stop: self.experiment.stop };
        let probed = self.probed();
        for Probe { member, outcome } in probe(&mut self.network, &probed, &setup) {
            let names = &self.names;
            let name = &names.subsystems[member];
            match outcome {
                ProbeOutcome::Found | ProbeOutcome::Agrees | ProbeOutcome::NoScratch => {}
                ProbeOutcome::Contradicts { output, input } => {
                    let place = self.declared_at(member);
                    let (output, input) = (&names.outputs[output], &names.inputs[input]);
                    let message = format!(
                        "the probe detected direct feed-through from `{input}` to `{output}`. Add the pair to \
                         `feed_through`"
                    );
                    return Err(Error::input(place, message));
                }
                ProbeOutcome::Failed(error) => {
                    // Of an FMU it may have been said already.
                    let probed = format!("{name}: direct feed-through could not be probed");
                    if !self.warnings.iter().any(|warning| warning.starts_with(&probed)) {
                        self.warnings.push(format!("{probed}: {error}"));
                    }
                }
            }
        }
        Ok(())
    }

    /// Finds out on scratch instances of built-in models how many integrations lie between inputs and outputs. FMUs are not stepped
    /// before the run.
    pub(super) fn probe_integrations(&mut self) {
        let specs = self.system.specs();
        let is_model = |s: &usize| {
            let spec = specs.place(self.names.subsystems[*s].as_str());
            spec.is_some_and(|n| matches!(self.system.subsystems[n].simulator, SimulatorSpec::Model(_)))
        };
        let models: Vec<usize> = (0..self.network.members.len()).filter(is_model).collect();
        let setup = Setup { start: self.experiment.start, stop: self.experiment.stop };
        probe_integrations(&mut self.network, &models, &setup);
    }

    /// Subsystems that cannot be restored, and whose outputs depend on the length of their steps, get a twin: scratch instances make steps
    /// as long as those of the run may become. A run that is verified needs none.
    pub(super) fn want_twins(&self, decided: &Decided) {
        let system = self.system;
        if system.verdict.own_steps != OwnStepsBy::Needed || system.verdict.verify_by().is_some() {
            return;
        }
        // Where a subsystem takes values only, steps are no longer than this share of a run.
        let longest = if decided.controller.is_constant() {
            decided.step
        } else {
            self.experiment.duration() / DEFAULT_STEPS
        };
        let setup = Setup { start: self.experiment.start, stop: self.experiment.stop };
        for (s, own) in self.own.iter().enumerate() {
            let Some(own) = own.as_ref().filter(|own| own.lacks_twin()) else { continue };
            match depends_on_steps(&self.network, s, &setup, longest / f64::from(decided.rates[s])) {
                Some(true) => own.want_twin(),
                Some(false) => own.found_steady(),
                None => {}
            }
        }
    }

    /// Members whose feed-through is probed.
    fn probed(&self) -> Vec<usize> {
        let (network, names) = (&self.network, &self.names);
        let specs = self.system.specs();
        let wanted = |s: &usize| {
            let spec = specs.place(names.subsystems[*s].as_str()).map(|n| &self.system.subsystems[n]);
            match spec.and_then(|spec| spec.feed_through.as_ref()) {
                Some(FeedThroughSpec::Probe) => true,
                Some(FeedThroughSpec::Unknown) => false,
                Some(FeedThroughSpec::Pairs(_)) => self.system.simulation.probe,
                None => self.system.simulation.probe && !network.members[*s].knows_feed_through(),
            }
        };
        (0..network.members.len()).filter(wanted).collect()
    }

    /// Methods that take steps back need every subsystem to be able to.
    pub(super) fn check_rollback(&self) -> Result<(), Error> {
        let (network, names) = (&self.network, &self.names);
        let m = &self.system.method;
        let needs = |(part, _): &(&dyn Part, &Written)| {
            part.entry().uses == Some((Ability::Restore, Without::Refused))
        };
        let stuck = network.members.iter().position(|member| !Ability::Restore.is_in(member));
        let mut chosen: Vec<(&dyn Part, &Written)> =
            m.estimators().map(|estimator| (estimator.part(), &estimator.written)).collect();
        chosen.push((m.controller.part(), &m.controller.written));
        let needy = chosen.into_iter().find(needs);
        let (Some(stuck), Some((part, written))) = (stuck, needy) else { return Ok(()) };
        let without = |kind: Kind| catalogue::without(kind, Ability::Restore);
        Err(Error::input(
            written.entry.clone(),
            format!(
                "`{}` cannot save and restore its state, which {} `{}` needs for rollback. Estimators without \
                 rollback: {}; controllers: {}",
                names.subsystems[stuck],
                part.entry().kind.key(),
                part.entry().name,
                without(Kind::Estimator),
                without(Kind::Controller)
            ),
        ))
    }

    /// Where the feed-through of a member is declared, if the file does.
    fn declared_at(&self, member: usize) -> Option<Place> {
        let spec = self.system.specs().place(self.names.subsystems[member].as_str())?;
        match self.system.subsystems[spec].feed_through.as_ref()? {
            FeedThroughSpec::Pairs(at) => at.place(),
            _ => None,
        }
    }
}

/// The places of subsystems that were named.
fn subsystems(names: &Names, list: &[At<String>]) -> Result<Vec<usize>, Error> {
    let places: NameIndex<&str> = names.subsystems.iter().map(String::as_str).collect();
    let place = |name: &At<String>| {
        places.place(name.value.as_str()).ok_or_else(|| {
            let hint = hint(&name.value, names.subsystems.iter().map(String::as_str));
            Error::input(name.place(), format!("unknown subsystem `{}`.{hint}", name.value))
        })
    };
    list.iter().map(place).collect()
}
