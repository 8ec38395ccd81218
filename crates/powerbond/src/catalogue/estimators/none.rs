//! None.

use crate::Error;
use crate::catalogue::{Context, Entry, Kind, Make, Written, knobs};
use powerbond_core::estimator::ErrorEstimator;

/// None.
pub const NONE: Entry = Entry {
    kind: Kind::Estimator,
    name: "none",
    about: "no estimate",
    paper: "",
    knobs: &[],
    uses: None,
    plain: || Box::new(Off),
};

/// No estimate.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Off;

knobs!(Off, NONE);

impl Make<Option<Box<dyn ErrorEstimator>>> for Off {
    fn make(
        &mut self,
        _written: &Written,
        _context: &Context<'_>,
    ) -> Result<Option<Box<dyn ErrorEstimator>>, Error> {
        Ok(None)
    }
}
