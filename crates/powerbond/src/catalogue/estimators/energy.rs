//! The residual energy of bonds.

use crate::Error;
use crate::catalogue::knob::NOT_NEGATIVE;
use crate::catalogue::{Context, Domain, Entry, Knob, Make, Nature, PolicySpec};
use powerbond_core::estimator::{Energy, ErrorEstimator, Residual};

/// The energy estimator.
pub const ENERGY: Entry = Entry {
    name: "energy",
    about: "residual energy of every bond against a scale",
    paper: "sadjina2017 eq. 14",
    knobs: &[
        Knob {
            name: "tolerance",
            // Below the round-off of a double there is nothing to see.
            domain: Domain::Number { min: 1e-16, max: 1e6, open: false },
            default: "1e-5",
            unit: "",
            about: "r; a bond may have its own",
        },
        Knob {
            name: "energy_scale",
            domain: NOT_NEGATIVE,
            default: "exchange so far, projected to the whole run",
            unit: "J",
            about: "E0; a bond may have its own",
        },
        Knob {
            name: "residual",
            domain: Domain::Choice(&["held", "corrected", "metered"]),
            default: "held",
            unit: "",
            about: "inputs before correction, with it (the papers' tables), or summed over all sub-steps",
        },
    ],
    uses: None,
    nature: Nature::Plain,
    make: Make::Estimator(make),
};

fn make(spec: &PolicySpec, context: &Context<'_>) -> Result<Option<Box<dyn ErrorEstimator>>, Error> {
    if context.bonds.is_empty() {
        return Err(Error::input(
            spec.entry.place(),
            "the energy estimator needs at least one bond; add `[bonds.name]`, or use `estimator = \"predictor\"`",
        ));
    }
    let common = spec.number("tolerance").unwrap_or(1e-5);
    let tolerance = context.bonds.iter().map(|b| b.0.unwrap_or(common)).collect();
    let scale = context.bonds.iter().map(|b| b.1.or(spec.number("energy_scale"))).collect();
    let residuals =
        [("held", Residual::Held), ("corrected", Residual::Corrected), ("metered", Residual::Metered)];
    let residual = spec.choice("residual", Residual::Held, &residuals);
    let energy = Energy::new(tolerance, scale, residual, context.hold_order());
    Ok(Some(Box::new(energy.over(context.start, context.start + context.duration))))
}
