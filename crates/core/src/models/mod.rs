//! Built-in models: benchmark systems with known answers, usable by name from a system file.

mod equations;
pub mod error_study;
pub mod integrate;
pub mod linear;
mod parameters;
pub mod quarter_car;
pub mod quarter_car_splits;

pub use equations::{Built, Capability, Equations, Held, variable};
pub use parameters::{Domain, ModelSpec, ParameterError, ParameterSpec, ParameterValue, Parameters};

/// Every built-in model. A new model is a file and a line here.
pub const ALL: &[&ModelSpec] = &[
    &quarter_car::CHASSIS,
    &quarter_car::WHEEL_SUSPENSION,
    &quarter_car::CHASSIS_SUSPENSION,
    &quarter_car::WHEEL,
    &quarter_car_splits::CHASSIS_DD,
    &quarter_car_splits::WHEEL_DD,
    &quarter_car_splits::CHASSIS_FD,
    &quarter_car_splits::WHEEL_FD,
];

/// The model called `name`.
pub fn find(name: &str) -> Option<&'static ModelSpec> {
    ALL.iter().copied().find(|m| m.name == name)
}
