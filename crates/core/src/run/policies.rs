//! What decides how a run is made; each part is independent of the others. The loop names each of them once, here.

use super::settings::Settings;
use crate::checkpoint::{Checkpoint, Checkpointed};
use crate::controller::StepController;
use crate::correction::InputCorrection;
use crate::estimator::{ErrorEstimator, Estimate, Tells};
use crate::feed_through::Reached;
use crate::feed_through::identify::Identifier;
use crate::hold::Hold;
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
    /// Identifies feed-through while the run goes on.
    pub identifier: Option<Identifier>,
}

impl Policies {
    /// Whether one of them learns from accepted steps.
    pub(super) fn learn(&self) -> bool {
        self.extrapolation.learns()
            || self.correction.is_some()
            || !self.estimators.is_empty()
            || self.identifier.is_some()
    }

    /// Whether one of them asks for the defects of all hold orders.
    pub(super) fn need_defects(&self) -> bool {
        self.extrapolation.needs_defects() || self.estimators.iter().any(|e| e.needs_defects())
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
        for (estimator, own) in self.estimators.iter_mut().zip(&record.estimates) {
            estimator.commit(step, own);
        }
        if let Some(identifier) = &mut self.identifier {
            let acted = |i: usize| exchange.input_at_end(record, i);
            identifier.commit(step.span, acted, |i| exchange.mean(i, step.span.h), step.y_step);
        }
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
        let hold = [self.extrapolation.as_ref() as &dyn Checkpointed, self.controller.as_ref()];
        hold.into_iter().chain(correction).chain(estimators).chain(identifier)
    }

    fn all_mut(&mut self) -> impl Iterator<Item = &mut dyn Checkpointed> {
        let correction = self.correction.iter_mut().map(|c| c.as_mut() as &mut dyn Checkpointed);
        let estimators = self.estimators.iter_mut().map(|e| e.as_mut() as &mut dyn Checkpointed);
        let identifier = self.identifier.iter_mut().map(|i| i as &mut dyn Checkpointed);
        let hold = [self.extrapolation.as_mut() as &mut dyn Checkpointed, self.controller.as_mut()];
        hold.into_iter().chain(correction).chain(estimators).chain(identifier)
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
