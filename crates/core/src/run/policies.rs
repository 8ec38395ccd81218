//! What decides how a run is made; each part is independent of the others. The loop names each of them once, here.

use super::settings::Settings;
use crate::checkpoint::{Checkpoint, Checkpointed};
use crate::controller::{Ceiling, StepController};
use crate::correction::InputCorrection;
use crate::estimator::{ErrorEstimator, Estimate, Tells};
use crate::feed_through::Reached;
use crate::feed_through::identify::Identifier;
use crate::hold::Hold;
use crate::sampled::SampledOutputs;
use crate::step::{Exchange, Schedule, StepRecord, StepView};

/// The parts of a method.
pub struct Policies {
    /// Who steps when.
    pub schedule: Schedule,
    /// How inputs are held.
    pub extrapolation: Box<dyn Hold>,
    /// How held inputs are corrected.
    pub correction: Option<Box<dyn InputCorrection>>,
    /// The first one drives the controller; the others only watch.
    pub estimators: Vec<Box<dyn ErrorEstimator>>,
    /// How the step size is chosen.
    pub controller: Box<dyn StepController>,
    /// The longest step that the motion of inputs allows.
    pub ceiling: Option<Ceiling>,
    /// Identifies feed-through while the run goes on.
    pub identifier: Option<Identifier>,
    /// Finds outputs that are sampled.
    pub sampled: Option<SampledOutputs>,
}

/// What the step size is multiplied with, at least, where an event only curves the motion of coupled inputs.
const AFTER_A_BEND: f64 = 0.1;

impl Policies {
    /// Whether one of them learns from accepted steps.
    pub(super) fn learn(&self) -> bool {
        self.extrapolation.learns()
            || self.correction.is_some()
            || !self.estimators.is_empty()
            || self.identifier.is_some()
            || self.ceiling.is_some()
            || self.sampled.is_some()
    }

    /// Whether one of them asks for the defects of all hold orders.
    pub(super) fn need_defects(&self) -> bool {
        self.extrapolation.needs_defects()
            || self.ceiling.is_some()
            || self.correction.as_ref().is_some_and(|c| c.needs_defects())
            || self.estimators.iter().any(|e| e.needs_defects())
    }

    /// The errors that some estimator knows one by one, where details are recorded.
    pub(super) fn told(&self, settings: &Settings) -> Tells {
        let any = |knows: fn(Tells) -> bool| {
            settings.details && self.estimators.iter().any(|estimator| knows(estimator.tells()))
        };
        Tells { bonds: any(|tells| tells.bonds), outputs: any(|tells| tells.outputs) }
    }

    /// Errors of bonds and outputs, by the first estimator that knows them.
    pub(super) fn tell(&self, step: &StepView<'_>, bonds: &mut [f64], outputs: &mut [f64]) {
        if let Some(estimator) = self.estimators.iter().find(|e| e.tells().bonds) {
            estimator.bond_errors(step, bonds);
        }
        if let Some(estimator) = self.estimators.iter().find(|e| e.tells().outputs) {
            estimator.output_errors(step, outputs);
        }
    }

    /// The estimator that drives the step size.
    pub(super) fn driving(&self) -> Option<&dyn ErrorEstimator> {
        self.estimators.first().map(Box::as_ref)
    }

    /// Whether the driving estimator still finds its scales.
    pub(super) fn is_warming_up(&self) -> bool {
        self.driving().is_some_and(|e| e.is_warming_up())
    }

    /// The norms of an attempted step; NaN counts as infinite.
    pub(super) fn estimate(&self, step: &StepView<'_>, estimates: &mut [Estimate]) {
        for (estimate, estimator) in estimates.iter_mut().zip(&self.estimators) {
            *estimate = estimator.estimate(step);
            if estimate.norm.is_nan() {
                estimate.norm = f64::INFINITY;
            }
        }
    }

    /// Everybody learns from an accepted step.
    pub(super) fn commit(&mut self, step: &StepView<'_>, record: &StepRecord, exchange: &Exchange) {
        if let Some(correction) = &mut self.correction {
            correction.commit(&StepView { identified: self.identifier.as_ref(), ..*step });
        }
        self.extrapolation.commit(step);
        let crossings = self.crossings();
        for (estimator, own) in self.estimators.iter_mut().zip(&record.estimates) {
            estimator.commit(step, own);
        }
        let crossed = self.crossings() > crossings || self.controller.has_located();
        if let Some(ceiling) = &mut self.ceiling {
            ceiling.commit(step, self.estimators.first().map_or(&[], |e| e.diagnostics().noise), crossed);
        }
        if let Some(sampled) = &mut self.sampled {
            sampled.commit(step, record.estimates.first());
        }
        if let Some(identifier) = &mut self.identifier {
            let acted = |i: usize| exchange.input_at_end(record, i);
            identifier.commit(step.span, acted, |i| exchange.mean(i, step.span.h), step.y_step);
            self.correction.iter_mut().for_each(|correction| correction.heed(identifier));
        }
    }

    /// Steps over discontinuities that were not announced.
    fn crossings(&self) -> u64 {
        self.estimators.first().and_then(|e| e.diagnostics().crossed).map_or(0, |(count, _)| count)
    }

    /// What the controller wishes after a step for which `before` had been wished, no longer than the ceiling.
    pub(super) fn limit(&mut self, wish: f64, before: f64) -> f64 {
        self.ceiling.as_mut().map_or(wish, |ceiling| ceiling.limit(wish, before))
    }

    /// The size to go on with after an event, where `wish` was the size before it; `sharp` if a value or a slope of a coupled input
    /// jumps, else their motion only curves.
    pub(super) fn size_after_event(&mut self, wish: f64, sharp: bool) -> f64 {
        let h = self.controller.restart(wish);
        match &self.ceiling {
            _ if !sharp => h.max(AFTER_A_BEND * wish),
            Some(ceiling) => ceiling.restart(h, self.controller.floor()),
            None => h,
        }
    }

    /// The shortest step that is wished for, in s.
    pub(super) fn floor(&self) -> f64 {
        self.controller.floor().max(self.ceiling.as_ref().map_or(0.0, Ceiling::shortest))
    }

    /// Everybody forgets the past of what a discontinuity reaches.
    pub(super) fn restart(&mut self, reached: &Reached<'_>) {
        self.extrapolation.restart(reached);
        if let Some(correction) = &mut self.correction {
            correction.restart(reached);
        }
        self.estimators.iter_mut().for_each(|e| e.restart(reached));
        if let Some(identifier) = &mut self.identifier {
            identifier.restart(reached);
        }
    }

    /// Everything that remembers.
    fn all(&self) -> impl Iterator<Item = &dyn Checkpointed> {
        let correction = self.correction.iter().map(|c| c.as_ref() as &dyn Checkpointed);
        let estimators = self.estimators.iter().map(|e| e.as_ref() as &dyn Checkpointed);
        let identifier = self.identifier.iter().map(|i| i as &dyn Checkpointed);
        let ceiling = self.ceiling.iter().map(|c| c as &dyn Checkpointed);
        let sampled = self.sampled.iter().map(|s| s as &dyn Checkpointed);
        let hold = [self.extrapolation.as_ref() as &dyn Checkpointed, self.controller.as_ref()];
        hold.into_iter().chain(correction).chain(estimators).chain(identifier).chain(ceiling).chain(sampled)
    }

    fn all_mut(&mut self) -> impl Iterator<Item = &mut dyn Checkpointed> {
        let correction = self.correction.iter_mut().map(|c| c.as_mut() as &mut dyn Checkpointed);
        let estimators = self.estimators.iter_mut().map(|e| e.as_mut() as &mut dyn Checkpointed);
        let identifier = self.identifier.iter_mut().map(|i| i as &mut dyn Checkpointed);
        let ceiling = self.ceiling.iter_mut().map(|c| c as &mut dyn Checkpointed);
        let sampled = self.sampled.iter_mut().map(|s| s as &mut dyn Checkpointed);
        let hold = [self.extrapolation.as_mut() as &mut dyn Checkpointed, self.controller.as_mut()];
        hold.into_iter().chain(correction).chain(estimators).chain(identifier).chain(ceiling).chain(sampled)
    }
}

impl Checkpointed for Policies {
    fn save(&self, checkpoint: &mut Checkpoint) {
        self.all().for_each(|policy| policy.save(checkpoint));
    }

    fn load(&mut self, checkpoint: &mut Checkpoint) {
        self.all_mut().for_each(|policy| policy.load(checkpoint));
    }
}
