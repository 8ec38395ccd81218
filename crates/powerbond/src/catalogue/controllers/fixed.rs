//! Constant steps.

use crate::catalogue::{Entry, Make, Nature};
use powerbond_core::controller::Fixed;

/// A constant step.
pub const FIXED: Entry = Entry {
    name: "fixed",
    about: "constant step",
    paper: "",
    knobs: &[],
    uses: None,
    nature: Nature::ConstantStep,
    make: Make::Controller(|_, context| Ok(Box::new(Fixed { step: context.step }))),
};
