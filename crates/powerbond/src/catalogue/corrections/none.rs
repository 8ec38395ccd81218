//! None.

use crate::Error;
use crate::catalogue::{Context, Entry, Kind, Make, Written, knobs};
use powerbond_core::correction::InputCorrection;

/// None.
pub const NONE: Entry = Entry {
    kind: Kind::Correction,
    name: "none",
    about: "held inputs are not corrected",
    paper: "",
    knobs: &[],
    uses: None,
    plain: || Box::new(Off),
};

/// Inputs stay as they are held.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Off;

knobs!(Off, NONE);

impl Make<Option<Box<dyn InputCorrection>>> for Off {
    fn make(
        &mut self,
        _written: &Written,
        _context: &Context<'_>,
    ) -> Result<Option<Box<dyn InputCorrection>>, Error> {
        Ok(None)
    }
}
