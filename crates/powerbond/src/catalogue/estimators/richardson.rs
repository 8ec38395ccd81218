//! The Richardson estimate as a user chooses it: tolerances by output, constants, big step.

use crate::Error;
use crate::catalogue::knob::LARGEST;
use crate::catalogue::{
    Ability, Context, Domain, Entry, Kind, Knob, Make, PerVariable, Without, Word, Written, knobs,
};
use powerbond_core::estimator::{self, BigStep, Constants, ErrorEstimator, Tolerance};

/// The Richardson estimate.
pub const RICHARDSON: Entry = Entry {
    kind: Kind::Estimator,
    name: "richardson",
    about: "two steps compared with one of twice the size, from a saved state; the error of every output",
    paper: "arnold2013 eq. 24, 26",
    knobs: &[
        Knob {
            name: "tolerance",
            domain: Domain::NumberByName { min: 1.0 / LARGEST, max: LARGEST, open: false },
            rule: Some(|| format!("{RELATIVE:e}")),
            unit: "",
            about: "error of a pair of steps relative to the nominal value; a number, or a table by output",
        },
        Knob {
            name: "nominal",
            domain: Domain::NumberByName { min: 1.0 / LARGEST, max: LARGEST, open: false },
            rule: Some(|| "that of the model".to_owned()),
            unit: "the unit of the output",
            about: "typical magnitude; a number, or a table by output",
        },
        Knob {
            name: "absolute",
            domain: Domain::NumberByName { min: 1.0 / LARGEST, max: LARGEST, open: false },
            rule: Some(|| "tolerance times nominal".to_owned()),
            unit: "the unit of the output",
            about: "absolute tolerance; a number, or a table by output",
        },
        Knob {
            name: "relative",
            domain: Domain::NumberByName { min: 0.0, max: 1.0, open: false },
            rule: Some(|| "0".to_owned()),
            unit: "",
            about: "relative tolerance, times the magnitude of the output, added to `absolute`; a number, or a table \
                    by output",
        },
        Knob {
            name: "big_step",
            domain: Domain::Choice(&["modified", "classic"]),
            rule: None,
            unit: "",
            about: "inputs of the big step: through the nodes of the first small one (eq. 26), or of big steps (eq. 24)",
        },
        Knob {
            name: "constants",
            domain: Domain::Choice(&["per-output", "published"]),
            rule: None,
            unit: "",
            about: "outputs with feed-through have a constant of their own, or that of the others as published",
        },
        Knob {
            name: "extrapolate",
            domain: Domain::Flag,
            rule: None,
            unit: "",
            about: "local extrapolation: the estimate is subtracted from outputs with feed-through",
        },
    ],
    uses: Some((Ability::Restore, Without::Refused)),
    plain: || Box::new(Richardson::default()),
};

/// Error of a pair of steps over the nominal value, where none is given.
const RELATIVE: f64 = 1e-3;

/// Two steps against one of twice the size, from a saved state. Arnold 2013, eq. 24, 26.
#[derive(Clone, Debug, PartialEq)]
pub struct Richardson {
    /// Error of a pair of steps relative to the nominal value.
    pub tolerance: Option<PerVariable>,
    /// Typical magnitude, in the unit of the output; `None`: that of the model.
    pub nominal: Option<PerVariable>,
    /// Absolute tolerance, in the unit of the output; `None`: `tolerance` times `nominal`.
    pub absolute: Option<PerVariable>,
    /// Is added times the size of the output.
    pub relative: Option<PerVariable>,
    /// Inputs of the big step.
    pub big_step: BigStep,
    /// Constants of outputs with feed-through.
    pub constants: Constants,
    /// The estimate is taken off outputs with feed-through.
    pub extrapolate: bool,
}

impl Default for Richardson {
    fn default() -> Self {
        Richardson {
            tolerance: None,
            nominal: None,
            absolute: None,
            relative: None,
            big_step: BigStep::Modified,
            constants: Constants::PerOutput,
            extrapolate: false,
        }
    }
}

knobs!(Richardson, RICHARDSON, tolerance, nominal, absolute, relative, big_step, constants, extrapolate,);

impl Word for BigStep {
    const WORDS: &'static [(&'static str, Self)] =
        &[("modified", BigStep::Modified), ("classic", BigStep::Classic)];
}

impl Word for Constants {
    const WORDS: &'static [(&'static str, Self)] =
        &[("per-output", Constants::PerOutput), ("published", Constants::Published)];
}

impl Make<Option<Box<dyn ErrorEstimator>>> for Richardson {
    /// `absolute + relative · |y|` for every output; absolute is `tolerance · nominal` where it is not given.
    fn make(
        &mut self,
        written: &Written,
        context: &Context<'_>,
    ) -> Result<Option<Box<dyn ErrorEstimator>>, Error> {
        let outputs = &context.names.outputs;
        if outputs.is_empty() {
            let message = "the Richardson estimate compares connected outputs; there are none";
            return Err(Error::input(written.entry.clone(), message));
        }
        let is_common = |knob: &Option<PerVariable>| matches!(knob, Some(PerVariable::All(_)));
        if is_common(&self.tolerance) && is_common(&self.absolute) {
            let message = "`absolute` replaces `tolerance` times the nominal value; set one of them, or tables by output";
            return Err(Error::input(written.knob("absolute"), message));
        }
        let numbers = |field: &mut Option<PerVariable>, knob: &str, default: &dyn Fn(usize) -> f64| {
            context.per_variable(field, written.knob(knob), outputs, "output", default)
        };
        let nominal = numbers(&mut self.nominal, "nominal", &|o| context.nominal(o))?;
        let tolerance = numbers(&mut self.tolerance, "tolerance", &|_| RELATIVE)?;
        let absolute = numbers(&mut self.absolute, "absolute", &|o| tolerance[o] * nominal[o])?;
        let relative = numbers(&mut self.relative, "relative", &|_| 0.0)?;
        if let Some(o) = (0..outputs.len()).find(|&o| absolute[o] < f64::MIN_POSITIVE) {
            let place = written.own("tolerance").or(written.knob("nominal"));
            let message = format!(
                "the tolerance of `{}` is {}; expected a number above 0. Set `nominal` or `absolute` for it",
                outputs[o], absolute[o]
            );
            return Err(Error::input(place, message));
        }
        let both = absolute.iter().zip(&relative);
        let tolerance = both.map(|(&absolute, &relative)| Tolerance { absolute, relative }).collect();
        let mut estimator = estimator::Richardson::new(tolerance, context.holds.to_vec(), self.big_step);
        estimator.constants = self.constants;
        estimator.extrapolate = self.extrapolate;
        Ok(Some(Box::new(estimator)))
    }
}
