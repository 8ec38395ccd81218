//! Stands for `crates/powerbond/src/catalogue/controllers/mod.rs`.

pub use powerbond::catalogue::controllers::*;

mod dead_band;
pub use dead_band::{DEAD_BAND, DeadBand};
