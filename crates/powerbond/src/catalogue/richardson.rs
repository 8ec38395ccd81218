//! The Richardson estimate as a user chooses it: tolerances by output, constants, big step.

use super::{Context, KnobValue, PolicySpec};
use crate::Error;
use crate::source::At;
use powerbond_core::estimator::{BigStep, Constants, Richardson, Tolerance};

/// `absolute + relative · |y|` for every output; absolute is `tolerance · nominal` where it is not given.
pub fn build(spec: &PolicySpec, context: &Context<'_>) -> Result<Richardson, Error> {
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
    let big = match spec.word("big_step", "modified") {
        "classic" => BigStep::Classic,
        _ => BigStep::Modified,
    };
    let mut estimator = Richardson::new(tolerance, context.holds.to_vec(), big);
    if spec.word("constants", "per-output") == "published" {
        estimator.constants = Constants::Published;
    }
    estimator.extrapolate = spec.number("extrapolate") == Some(1.0);
    Ok(estimator)
}
