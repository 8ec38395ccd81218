//! Constant steps.

use crate::Error;
use crate::catalogue::{Context, Entry, Kind, Make, Written, knobs};
use powerbond_core::controller::{self, StepController};

/// A constant step.
pub const FIXED: Entry = Entry {
    kind: Kind::Controller,
    name: "fixed",
    about: "constant step",
    paper: "",
    knobs: &[],
    uses: None,
    plain: || Box::new(Fixed),
};

/// A constant step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fixed;

knobs!(Fixed, FIXED);

impl Make<Box<dyn StepController>> for Fixed {
    fn make(&mut self, _written: &Written, context: &Context<'_>) -> Result<Box<dyn StepController>, Error> {
        Ok(Box::new(controller::Fixed { step: context.step }))
    }
}
