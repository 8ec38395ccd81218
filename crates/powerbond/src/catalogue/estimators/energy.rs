//! The residual energy of bonds.

use crate::Error;
use crate::catalogue::knob::NOT_NEGATIVE;
use crate::catalogue::{Context, Domain, Entry, Kind, Knob, Make, Word, Written, knobs};
use powerbond_core::estimator::{self, ErrorEstimator, Residual};

/// r; a bond may have its own.
pub const ENERGY_TOLERANCE: Knob = Knob {
    name: "tolerance",
    // Below the round-off of a double there is nothing to see.
    domain: Domain::Number { min: 1e-16, max: 1e6, open: false },
    rule: None,
    unit: "",
    about: "r; a bond may have its own",
};
/// E0; a bond may have its own.
pub const ENERGY_SCALE: Knob = Knob {
    name: "energy_scale",
    domain: NOT_NEGATIVE,
    rule: Some(|| "exchanged energy so far, extrapolated to the whole run".to_owned()),
    unit: "J",
    about: "E0; a bond may have its own",
};

/// The energy estimator.
pub const ENERGY: Entry = Entry {
    kind: Kind::Estimator,
    name: "energy",
    about: "residual energy of every bond relative to a scale",
    paper: "sadjina2017 eq. 14",
    knobs: &[
        ENERGY_TOLERANCE,
        ENERGY_SCALE,
        Knob {
            name: "residual",
            domain: Domain::Choice(&["held", "corrected", "metered"]),
            rule: None,
            unit: "",
            about: "with inputs before correction, after correction (the papers' tables), or summed over all sub-steps",
        },
    ],
    uses: None,
    plain: || Box::new(Energy::default()),
};

/// Residual energy of every bond against a scale: `ε = |δE| / (r (E0 + |E|))`. Sadjina 2017, eq. 14.
#[derive(Clone, Debug, PartialEq)]
pub struct Energy {
    /// r; a bond may have its own.
    pub tolerance: f64,
    /// E0, in J; a bond may have its own. `None`: the exchange so far, projected to the whole run.
    pub energy_scale: Option<f64>,
    /// With which inputs the residual is computed.
    pub residual: Residual,
}

impl Default for Energy {
    fn default() -> Self {
        Energy { tolerance: 1e-5, energy_scale: None, residual: Residual::Held }
    }
}

knobs!(Energy, ENERGY, tolerance, energy_scale, residual);

impl Word for Residual {
    const WORDS: &'static [(&'static str, Self)] =
        &[("held", Residual::Held), ("corrected", Residual::Corrected), ("metered", Residual::Metered)];
}

impl Make<Option<Box<dyn ErrorEstimator>>> for Energy {
    fn make(
        &mut self,
        written: &Written,
        context: &Context<'_>,
    ) -> Result<Option<Box<dyn ErrorEstimator>>, Error> {
        if context.bonds.is_empty() {
            return Err(Error::input(
                written.entry.clone(),
                "the energy estimator needs at least one bond; add `[bonds.name]`, or use `estimator = \"predictor\"`",
            ));
        }
        let tolerance = context.bonds.iter().map(|b| b.0.unwrap_or(self.tolerance)).collect();
        let scale = context.bonds.iter().map(|b| b.1.or(self.energy_scale)).collect();
        let energy = estimator::Energy::new(tolerance, scale, self.residual, context.hold_order());
        Ok(Some(Box::new(energy.over(context.start, context.start + context.duration))))
    }
}
