//! `[method]`: how a system is run, every part of it typed.

use super::controllers::{Controller, Ecco, Fixed};
use super::corrections::{self, Correction, GiveBack};
use super::estimators::{self, Estimator, Jump};
use super::holds::HoldOrder;
use super::methods::{AUTO, Auto, Whole};
use super::schedules::{Jacobi, Scheduling};
use super::{Choice, Chosen, Feeding, Part, StepCeiling, Word};
use crate::Error;
use crate::source::At;
use powerbond_core::energy::Quadrature;
use powerbond_core::network::VariableName;
use powerbond_core::run::StartUp;
use serde_json::{Value, json};

/// Who re-reads feed-through outputs with fresh inputs after each step.
#[derive(Clone, Debug)]
pub enum Refresh {
    /// No subsystem.
    Off,
    /// Every subsystem that has feed-through.
    All(At<()>),
    /// Every subsystem that has feed-through and can.
    Auto,
    /// These.
    Some(Vec<At<String>>),
}

/// Whose feed-through is identified as the run goes on, to improve outputs that were computed with old inputs.
#[derive(Clone, Debug)]
pub enum Identify {
    /// No subsystem.
    Off,
    /// Every subsystem that has feed-through and is not refreshed.
    All,
    /// These.
    Some(Vec<At<String>>),
}

/// `[method]`.
#[derive(Clone, Debug)]
pub struct Method {
    /// The whole method that the parts belong to, if one was chosen.
    pub kind: Option<Chosen<Whole>>,
    /// Not chosen: a `step` and nothing else makes it the one with a constant step.
    pub implicit: bool,
    /// Who steps when.
    pub schedule: Chosen<Scheduling>,
    /// How all inputs are held.
    pub hold: HoldOrder,
    /// What subsystems that take values only are given of a held input.
    pub values_only: At<Feeding>,
    /// Hold orders of single inputs.
    pub holds: Vec<(At<VariableName>, u8)>,
    /// How held inputs are corrected.
    pub correction: Chosen<Correction>,
    /// What drives the step size.
    pub estimator: Chosen<Estimator>,
    /// Estimators that only watch.
    pub monitors: Vec<Chosen<Estimator>>,
    /// The next step size.
    pub controller: Chosen<Controller>,
    /// What bounds the step size from above.
    pub ceiling: StepCeiling,
    /// Re-reading of feed-through outputs.
    pub refresh: Refresh,
    /// Feed-through that is identified.
    pub identify: Identify,
    /// Amplitude of the dither from which feed-through is identified with a fixed hold order, as a share of what an input changes by in
    /// a step; `None`: [`DITHER`] for inputs of identified subsystems that take values only.
    pub dither: Option<f64>,
    /// Outputs that are sampled are found, and steps end at their samples.
    pub samples: At<bool>,
    /// How metered energies are summed.
    pub quadrature: Quadrature,
    /// Derivatives of held inputs come from those of outputs, where a subsystem gives them.
    pub slopes: At<bool>,
    /// How a constant step begins where inputs have no past.
    pub start_up: StartUp,
}

/// The dither of inputs where feed-through is identified, as a share of what they change by in a step. Ten times less is lost in
/// round-off of differences of order 6, ten times more shows in the results.
pub const DITHER: f64 = 0.01;

/// A constant step, all subsystems at once, inputs constant over a step.
impl Default for Method {
    fn default() -> Self {
        Method {
            kind: None,
            implicit: false,
            schedule: Jacobi::default().into(),
            hold: HoldOrder::Fixed(0),
            values_only: At::default(Feeding::Value),
            holds: Vec::new(),
            correction: corrections::Off.into(),
            estimator: estimators::Off.into(),
            monitors: Vec::new(),
            controller: Fixed.into(),
            ceiling: StepCeiling::Off,
            refresh: Refresh::Off,
            identify: Identify::Off,
            dither: None,
            samples: At::default(false),
            quadrature: Quadrature::default(),
            slopes: At::default(false),
            start_up: StartUp::default(),
        }
    }
}

impl Method {
    /// The default: everything is chosen from what the subsystems can do, and the error follows the tolerance.
    pub fn auto(tolerance: f64) -> Self {
        Method {
            kind: Some(Whole::Auto(Auto { tolerance }).into()),
            hold: HoldOrder::Variable,
            values_only: At::default(Feeding::Auto),
            correction: GiveBack.into(),
            estimator: Jump { tolerance, ..Jump::default() }.into(),
            controller: Ecco::default().into(),
            ceiling: StepCeiling::Motion,
            refresh: Refresh::Auto,
            identify: Identify::All,
            samples: At::default(true),
            ..Method::default()
        }
    }

    /// What is run without a method: `auto`, or constant steps if there is a step.
    pub fn by_default(has_step: bool) -> Self {
        if has_step {
            return Method::default();
        }
        Method { implicit: true, ..Method::auto(Auto::default().tolerance) }
    }

    /// Lets `auto` run with a tolerance: the parts of `auto` that were replaced stay, any other method does not. Whether it is
    /// `auto` already.
    pub fn set_tolerance(&mut self, tolerance: &At<f64>) -> Result<bool, Error> {
        AUTO.knobs[0].check_number(tolerance)?;
        let was_whole = self.kind.is_some();
        if !was_whole {
            *self = Method::auto(tolerance.value);
        }
        self.implicit = false;
        if let Some(whole) = &mut self.kind {
            let Whole::Auto(auto) = &mut whole.value;
            auto.tolerance = tolerance.value;
            whole.written.note("tolerance", tolerance.place());
        }
        if let Estimator::Jump(jump) = &mut self.estimator.value {
            jump.tolerance = tolerance.value;
            self.estimator.written.note("tolerance", tolerance.place());
        }
        Ok(was_whole)
    }

    /// Whether the jump norm steers the step size.
    pub fn is_steered_by_jumps(&self) -> bool {
        matches!(self.estimator.value, Estimator::Jump(_))
    }

    /// The bound of the jump norm follows what the jumps so far have come to.
    pub fn is_steered(&self) -> bool {
        matches!(&self.estimator.value, Estimator::Jump(jump) if jump.steered == Some(true))
    }

    /// The tolerance of the jump norm, if that steers.
    pub fn jump_tolerance(&self) -> Option<f64> {
        match &self.estimator.value {
            Estimator::Jump(jump) => Some(jump.tolerance),
            _ => None,
        }
    }

    /// All estimators, the driving one first.
    pub fn estimators(&self) -> impl Iterator<Item = &Chosen<Estimator>> {
        std::iter::once(&self.estimator).chain(&self.monitors)
    }

    /// Every chosen method that has an entry.
    pub fn parts(&self) -> Vec<&dyn Part> {
        let mut parts: Vec<&dyn Part> = Vec::new();
        parts.extend(self.kind.as_ref().map(|kind| kind.part()));
        parts.extend([self.schedule.part(), self.correction.part()]);
        parts.extend(self.estimators().map(|estimator| estimator.part()));
        parts.push(self.controller.part());
        parts
    }

    /// With every knob, as JSON.
    pub fn to_json(&self) -> Value {
        let names =
            |list: &[At<String>]| Value::from(list.iter().map(|n| n.value.clone()).collect::<Vec<_>>());
        let holds = self.holds.iter().map(|(name, order)| (name.value.to_string(), json!(order)));
        json!({
            "kind": self.kind.as_ref().map(|kind| kind.part().to_json()),
            "schedule": self.schedule.part().to_json(),
            "hold": self.hold.to_json(),
            "holds": holds.collect::<serde_json::Map<_, _>>(),
            "values_only": self.values_only.value.word(),
            "correction": self.correction.part().to_json(),
            "estimator": self.estimator.part().to_json(),
            "monitors": self.monitors.iter().map(|m| m.part().to_json()).collect::<Vec<_>>(),
            "controller": self.controller.part().to_json(),
            "ceiling": self.ceiling.word(),
            "refresh": match &self.refresh {
                Refresh::Auto => "auto".into(),
                Refresh::Off => json!(false),
                Refresh::All(_) => json!(true),
                Refresh::Some(list) => names(list),
            },
            "identify": match &self.identify {
                Identify::Off => json!(false),
                Identify::All => json!(true),
                Identify::Some(list) => names(list),
            },
            "dither": self.dither,
            "samples": self.samples.value,
            "meter": self.quadrature.word(),
            "slopes": if self.slopes.value { "outputs" } else { "differences" },
            "start": self.start_up.word(),
        })
    }
}

impl Word for Quadrature {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("held", Quadrature::Held),
        ("rectangle", Quadrature::Rectangle),
        ("trapezoid", Quadrature::Trapezoid),
    ];
}

impl Word for StartUp {
    const WORDS: &'static [(&'static str, Self)] = &[("run-up", StartUp::RunUp), ("plain", StartUp::Plain)];
}
