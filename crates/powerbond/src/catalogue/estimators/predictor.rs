//! Outputs against what the past predicts.

use crate::Error;
use crate::catalogue::knob::LARGEST;
use crate::catalogue::{Context, Domain, Entry, Knob, Make, Nature, PolicySpec};
use powerbond_core::estimator::{ErrorEstimator, OutputTolerance, Predictor};

/// The predictor.
pub const PREDICTOR: Entry = Entry {
    name: "predictor",
    about: "what a step returned against what the past foretold",
    paper: "sadjina2017 eq. 16–17",
    knobs: &[
        Knob {
            name: "tolerance",
            domain: Domain::NumberByName { min: 1.0 / LARGEST, max: LARGEST, open: false },
            default: "1e-3 of the output's nominal value",
            unit: "the unit of the output",
            about: "TOL; a number, or a table by output",
        },
        Knob {
            name: "rho",
            domain: Domain::NumberByName { min: 0.0, max: LARGEST, open: false },
            default: "1e-4",
            unit: "1/unit of the output",
            about: "ρ, weight of the output's size; a number, or a table by output",
        },
    ],
    uses: None,
    nature: Nature::Plain,
    make: Make::Estimator(make),
};

fn make(spec: &PolicySpec, context: &Context<'_>) -> Result<Option<Box<dyn ErrorEstimator>>, Error> {
    let outputs = &context.names.outputs;
    let tolerance =
        context.per_variable(spec.knob("tolerance"), outputs, "output", |o| 1e-3 * context.nominal(o))?;
    let rho = context.per_variable(spec.knob("rho"), outputs, "output", |_| 1e-4)?;
    let both = tolerance.iter().zip(&rho).map(|(&absolute, &rho)| OutputTolerance { absolute, rho });
    Ok(Some(Box::new(Predictor::new(both.collect(), context.hold_order()))))
}
