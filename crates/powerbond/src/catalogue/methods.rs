//! Whole methods: a choice of all the others.

use super::estimators::TOLERANCE;
use super::{Entry, Make, Nature};
use crate::system::Method;

/// Everything from what subsystems can do.
pub const AUTO: Entry = Entry {
    name: "auto",
    about: "steps, holds, refresh and feed-through from what each subsystem can do; the error follows the tolerance",
    paper: "",
    knobs: &[TOLERANCE],
    uses: None,
    nature: Nature::Plain,
    make: Make::Method(Method::auto),
};
