//! Corrections of held inputs: what the last step got wrong is given back in the next.

mod energy;
mod give_back;
mod nepce;

pub use energy::{
    EffortGiver, EffortSide, EffortTerm, EnergyCorrection, Flow, Form, GiverRule, ResidualInputs, ZetaRule,
    mu_by_rule,
};
pub use give_back::GiveBack;
pub use nepce::{DefectRule, Nepce, StepRatio};

use crate::checkpoint::{Checkpoint, Checkpointed};
use crate::feed_through::Reached;
use crate::feed_through::identify::Identifier;
use crate::step::StepView;
use crate::subsystem::Span;
use std::ops::Range;

/// Adds `δu` to held inputs. `apply` only looks; `commit` remembers accepted steps.
pub trait InputCorrection: Checkpointed + Send {
    /// Whether `commit` needs ∂y/∂u of the subsystems.
    fn needs_feed_through(&self) -> bool {
        false
    }

    /// Whether `commit` needs the defects of all hold orders.
    fn needs_defects(&self) -> bool {
        false
    }

    /// Whether `commit` needs the mean of defects over the step.
    fn needs_mean_defect(&self) -> bool {
        false
    }

    /// Writes the correction of `inputs` for the stage `stage_span` of the macro step into `delta`.
    fn apply(&self, macro_span: Span, stage_span: Span, inputs: Range<usize>, delta: &mut [f64]);

    /// Learns from an accepted step.
    fn commit(&mut self, step: &StepView<'_>);

    /// Looks at what feed-through is known by identification, after every accepted step.
    fn heed(&mut self, _identifier: &Identifier) {}

    /// Forgets the past of the inputs that an event reaches.
    fn restart(&mut self, reached: &Reached<'_>);

    /// What it did in the last accepted step and remembers of it, by bond; appended to `list`, whose capacity is enough.
    fn states(&self, _list: &mut Vec<(usize, CorrectionState)>) {}

    /// The share of steps in which each input was corrected; empty if that is not counted.
    fn shares_of_use(&self) -> Vec<f64> {
        Vec::new()
    }

    /// What was done to each corrected bond, for corrections that work on bonds.
    fn reports(&self) -> Vec<(usize, CorrectionReport)> {
        Vec::new()
    }
}

/// What an energy correction did to a bond in a step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CorrectionState {
    /// |f_corr| in the step, in the unit of the effort.
    pub force: f64,
    /// ζ of the step, in J (rodriguez2022 eq. 13).
    pub zeta: f64,
    /// 𝒰 at its end, in J (eq. 16).
    pub uncorrected: f64,
    /// The mean μ of those that give the effort.
    pub mu: f64,
    /// A cap or the rate limit cut the correction.
    pub capped: bool,
}

/// What an energy correction did to a bond. Counts are numbers, so that they fit on a tape.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CorrectionReport {
    /// Energy that the correction put in, in J.
    pub added: f64,
    /// Energy that it took out, in J.
    pub removed: f64,
    /// 𝒰: energy that it wanted to correct and could not, in J (rodriguez2022 eq. 16).
    pub uncorrected: f64,
    /// Steps.
    pub steps: f64,
    /// Steps in which a cap or the rate limit cut the correction.
    pub capped: f64,
    /// Steps without correction, because nothing moved.
    pub idle: f64,
}

impl Checkpointed for CorrectionReport {
    fn save(&self, tape: &mut Checkpoint) {
        tape.extend(&[self.added, self.removed, self.uncorrected, self.steps, self.capped, self.idle]);
    }

    fn load(&mut self, tape: &mut Checkpoint) {
        let mut values = [0.0; 6];
        tape.fill(&mut values);
        let [added, removed, uncorrected, steps, capped, idle] = values;
        *self = CorrectionReport { added, removed, uncorrected, steps, capped, idle };
    }
}
