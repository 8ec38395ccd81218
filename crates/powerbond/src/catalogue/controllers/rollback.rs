//! Steps over tolerance are taken back.

use super::{MAX_RATE, MAX_STEP, MIN_RATE, MIN_STEP, SAFETY, bounds};
use crate::Error;
use crate::catalogue::{Ability, Context, Domain, Entry, Knob, Make, Nature, PolicySpec, Without};
use powerbond_core::controller::{Rejecting, StepController};

/// Takes steps back.
pub const ROLLBACK: Entry = Entry {
    name: "rollback",
    about: "a step over tolerance is taken back and made again with a smaller size",
    paper: "arnold2013 §4",
    knobs: &[
        Knob { default: "0.9", ..SAFETY },
        MIN_STEP,
        MAX_STEP,
        MIN_RATE,
        Knob { default: "2", ..MAX_RATE },
        Knob {
            name: "at_floor",
            domain: Domain::Choice(&["stop", "keep"]),
            default: "stop; keep with the jump estimator",
            unit: "",
            about: "a step over tolerance at the smallest size ends the run, or is kept and counted",
        },
    ],
    uses: Some((Ability::Restore, Without::Refused)),
    nature: Nature::Plain,
    make: Make::Controller(make),
};

fn make(spec: &PolicySpec, context: &Context<'_>) -> Result<Box<dyn StepController>, Error> {
    Ok(Box::new(Rejecting {
        first_step: context.step,
        safety: spec.number("safety").unwrap_or(0.9),
        limits: bounds(spec, context, 2.0)?,
        // No step is short enough for a jump that nobody announced.
        keep_at_floor: spec.choice("at_floor", context.steered_by_jumps, &[("stop", false), ("keep", true)]),
    }))
}
