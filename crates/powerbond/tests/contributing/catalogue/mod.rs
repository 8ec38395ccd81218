//! Stands for `crates/powerbond/src/catalogue/mod.rs`.

pub use powerbond::catalogue::*;

pub mod controllers;

/// Every method.
pub const ALL: &[Entry] = &[
    // In the library: after those that are there.
    controllers::DEAD_BAND,
];
