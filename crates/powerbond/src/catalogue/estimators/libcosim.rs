//! The norm of libcosim's ECCO.

use crate::Error;
use crate::catalogue::{Context, Domain, Entry, Kind, Knob, Make, Written, knobs};
use powerbond_core::estimator::{self, ErrorEstimator};

/// libcosim's norm.
pub const LIBCOSIM: Entry = Entry {
    kind: Kind::Estimator,
    name: "libcosim",
    about: "residual energy of every bond in a step against absolute tolerances, as libcosim's ECCO has it",
    paper: "",
    knobs: &[
        Knob {
            name: "relative_tolerance",
            domain: Domain::Number { min: 0.0, max: 1e6, open: false },
            rule: None,
            unit: "",
            about: "r, share of the larger power of the bond",
        },
        Knob {
            name: "absolute_tolerance",
            domain: Domain::Number { min: 0.0, max: 1e30, open: true },
            rule: None,
            unit: "J",
            about: "a, energy of a step",
        },
    ],
    uses: None,
    plain: || Box::new(Libcosim::default()),
};

/// `ε = sqrt(mean (|δP| h / (a + r max|P| h))²)`: for files that were tuned for it. [`Energy`](super::Energy) scales itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Libcosim {
    /// r.
    pub relative_tolerance: f64,
    /// a, in J.
    pub absolute_tolerance: f64,
}

/// As in libcosim.
impl Default for Libcosim {
    fn default() -> Self {
        Libcosim { relative_tolerance: 1e-6, absolute_tolerance: 1e-6 }
    }
}

knobs!(Libcosim, LIBCOSIM, relative_tolerance, absolute_tolerance);

impl Make<Option<Box<dyn ErrorEstimator>>> for Libcosim {
    fn make(
        &mut self,
        written: &Written,
        context: &Context<'_>,
    ) -> Result<Option<Box<dyn ErrorEstimator>>, Error> {
        if context.bonds.is_empty() {
            return Err(Error::input(
                written.entry.clone(),
                "the estimator `libcosim` needs at least one bond; add `[bonds.name]`, or use `estimator = \"predictor\"`",
            ));
        }
        let norm =
            estimator::Libcosim::new(self.relative_tolerance, self.absolute_tolerance, context.hold_order());
        Ok(Some(Box::new(norm)))
    }
}
