//! What inputs jump by at communication points.

use crate::Error;
use crate::catalogue::{Context, DEFAULT_TOLERANCE, Domain, Entry, Knob, Make, Nature, PolicySpec};
use crate::prepare::is_discrete;
use powerbond_core::estimator::{ErrorEstimator, Jump};
use powerbond_core::hold::InputFeed;

/// Of the jump norm, and of the whole method that it steers.
pub const TOLERANCE: Knob = Knob {
    name: "tolerance",
    domain: Domain::Number { min: 0.0, max: 0.999, open: true },
    default: "1e-3",
    unit: "",
    about: "wanted error of the coupled outputs, relative to how far they move",
};

/// The jump norm.
pub const JUMP: Entry = Entry {
    name: "jump",
    about: "what inputs jump by at communication points against the range they have moved in",
    paper: "",
    knobs: &[TOLERANCE],
    uses: None,
    nature: Nature::JumpNorm,
    make: Make::Estimator(make),
};

/// The first step of a run that the jump norm steers, over its length: it has to find the scales of all inputs.
pub const FIRST_STEP: f64 = 1e-6;

fn make(spec: &PolicySpec, context: &Context<'_>) -> Result<Option<Box<dyn ErrorEstimator>>, Error> {
    let tolerance = spec.number("tolerance").unwrap_or(DEFAULT_TOLERANCE);
    let values_only = context.feeds.iter().map(|f| !matches!(f, InputFeed::Derivatives(_))).collect();
    let groups = Jump::groups(context.network, |i| is_discrete(context.network, i));
    let small = 10.0 * FIRST_STEP * context.duration;
    Ok(Some(Box::new(Jump::new(tolerance, &groups, values_only, small))))
}
