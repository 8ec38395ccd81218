//! Stands for `crates/core/src/controller/mod.rs`.

pub use powerbond::core::controller::*;

mod dead_band;
pub use dead_band::DeadBand;
