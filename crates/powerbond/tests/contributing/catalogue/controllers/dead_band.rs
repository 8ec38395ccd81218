//! Steps are doubled or halved.

use super::{MAX_STEP, MIN_STEP, bounds};
use crate::Error;
use crate::catalogue::{Context, Domain, Entry, Knob, Make, Nature, PolicySpec};
use powerbond_core::controller::{DeadBand, StepController};

/// Doubling and halving.
pub const DEAD_BAND: Entry = Entry {
    name: "dead-band",
    about: "the step is doubled or halved, and left alone in between",
    paper: "",
    knobs: &[
        MIN_STEP,
        MAX_STEP,
        Knob {
            name: "low",
            domain: Domain::Number { min: 0.0, max: 1.0, open: true },
            default: "0.1",
            unit: "",
            about: "errors below it double the step",
        },
    ],
    uses: None,
    nature: Nature::Plain,
    make: Make::Controller(make),
};

fn make(spec: &PolicySpec, context: &Context<'_>) -> Result<Box<dyn StepController>, Error> {
    Ok(Box::new(DeadBand {
        first_step: context.step,
        low: spec.number("low").unwrap_or(0.1),
        bounds: bounds(spec, context, 2.0)?,
    }))
}
