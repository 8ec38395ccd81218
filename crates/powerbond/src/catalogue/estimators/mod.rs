//! How wrong a step was: one file per method, its entry beside its make.

mod energy;
mod jump;
mod predictor;
mod richardson;

pub use energy::ENERGY;
pub use jump::{FIRST_STEP, JUMP, TOLERANCE};
pub use predictor::PREDICTOR;
pub use richardson::RICHARDSON;

use super::{Entry, Make, Nature};

/// None.
pub const NONE: Entry = Entry {
    name: "none",
    about: "no estimate",
    paper: "",
    knobs: &[],
    uses: None,
    nature: Nature::Nothing,
    make: Make::Estimator(|_, _| Ok(None)),
};
