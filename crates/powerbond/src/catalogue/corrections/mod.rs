//! How held inputs are corrected: one file per method, its entry beside its make.

mod energy;
mod nepce;

pub use energy::ENERGY;
pub use nepce::NEPCE;
pub use nepce::settle_gains;

use super::{Entry, Make, Nature};

/// None.
pub const NONE: Entry = Entry {
    name: "none",
    about: "inputs stay as they are held",
    paper: "",
    knobs: &[],
    uses: None,
    nature: Nature::Nothing,
    make: Make::Correction(|_, _| Ok(None)),
};
