//! The Richardson estimate as a user chooses it: tolerances by output, constants, big step.

use crate::Error;
use crate::catalogue::knob::LARGEST;
use crate::catalogue::{Ability, Context, Domain, Entry, Knob, KnobValue, Make, Nature, PolicySpec, Without};
use crate::source::At;
use powerbond_core::estimator::{BigStep, Constants, ErrorEstimator, Richardson, Tolerance};

/// The Richardson estimate.
pub const RICHARDSON: Entry = Entry {
    name: "richardson",
    about: "two steps against one of twice the size, from a saved state; the error of every output",
    paper: "arnold2013 eq. 24, 26",
    knobs: &[
        Knob {
            name: "tolerance",
            domain: Domain::NumberByName { min: 1.0 / LARGEST, max: LARGEST, open: false },
            default: "1e-3",
            unit: "",
            about: "error of a pair of steps relative to the nominal value; a number, or a table by output",
        },
        Knob {
            name: "nominal",
            domain: Domain::NumberByName { min: 1.0 / LARGEST, max: LARGEST, open: false },
            default: "that of the model",
            unit: "the unit of the output",
            about: "typical magnitude; a number, or a table by output",
        },
        Knob {
            name: "absolute",
            domain: Domain::NumberByName { min: 1.0 / LARGEST, max: LARGEST, open: false },
            default: "tolerance times nominal",
            unit: "the unit of the output",
            about: "absolute tolerance; a number, or a table by output",
        },
        Knob {
            name: "relative",
            domain: Domain::NumberByName { min: 0.0, max: 1.0, open: false },
            default: "0",
            unit: "",
            about: "is added times the size of the output; a number, or a table by output",
        },
        Knob {
            name: "big_step",
            domain: Domain::Choice(&["modified", "classic"]),
            default: "modified",
            unit: "",
            about: "inputs of the big step: through the nodes of the first small one (eq. 26), or of big steps (eq. 24)",
        },
        Knob {
            name: "constants",
            domain: Domain::Choice(&["per-output", "published"]),
            default: "per-output",
            unit: "",
            about: "outputs with feed-through have a constant of their own, or that of the others as published",
        },
        Knob {
            name: "extrapolate",
            domain: Domain::Flag,
            default: "false",
            unit: "",
            about: "local extrapolation: the estimate is taken off outputs with feed-through",
        },
    ],
    uses: Some((Ability::Restore, Without::Refused)),
    nature: Nature::PairsOfSteps,
    make: Make::Estimator(make),
};

/// `absolute + relative · |y|` for every output; absolute is `tolerance · nominal` where it is not given.
fn make(spec: &PolicySpec, context: &Context<'_>) -> Result<Option<Box<dyn ErrorEstimator>>, Error> {
    let outputs = &context.names.outputs;
    if outputs.is_empty() {
        let message = "the Richardson estimate compares outputs, and none is exchanged; connect some";
        return Err(Error::input(spec.entry.place(), message));
    }
    let common = |knob: &str| matches!(spec.knob(knob).map(|k| &k.value), Some(KnobValue::Number(_)));
    if let (true, true, Some(absolute)) = (common("tolerance"), common("absolute"), spec.knob("absolute")) {
        let message = "`absolute` stands for `tolerance` times the nominal value; give one of them, or tables by output";
        return Err(Error::input(absolute.place(), message));
    }
    let numbers = |knob: &str, default: &dyn Fn(usize) -> f64| {
        context.per_variable(spec.knob(knob), outputs, "output", default)
    };
    let nominal = numbers("nominal", &|o| context.nominal(o))?;
    let tolerance = numbers("tolerance", &|_| 1e-3)?;
    let absolute = numbers("absolute", &|o| tolerance[o] * nominal[o])?;
    let relative = numbers("relative", &|_| 0.0)?;
    if let Some(o) = (0..outputs.len()).find(|&o| absolute[o] < f64::MIN_POSITIVE) {
        let place = spec.knob("tolerance").or(spec.knob("nominal")).map_or(spec.entry.place(), At::place);
        let message = format!(
            "the tolerance of `{}` is {}; a number above 0 is needed. Give `nominal` or `absolute` for it",
            outputs[o], absolute[o]
        );
        return Err(Error::input(place, message));
    }
    let both = absolute.iter().zip(&relative);
    let tolerance = both.map(|(&absolute, &relative)| Tolerance { absolute, relative }).collect();
    let bigs = [("modified", BigStep::Modified), ("classic", BigStep::Classic)];
    let big = spec.choice("big_step", BigStep::Modified, &bigs);
    let mut estimator = Richardson::new(tolerance, context.holds.to_vec(), big);
    let constants = [("per-output", Constants::PerOutput), ("published", Constants::Published)];
    estimator.constants = spec.choice("constants", estimator.constants, &constants);
    estimator.extrapolate = spec.flag("extrapolate");
    Ok(Some(Box::new(estimator)))
}
