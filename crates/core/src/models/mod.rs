//! Built-in models: benchmark systems with known answers, usable by name from a system file.

pub mod algebraic;
pub mod crane;
mod equations;
pub mod error_study;
pub mod force_laws;
pub mod integrate;
pub mod linear;
mod micro;
pub mod nonlinear_oscillator;
pub mod oscillator;
mod parameters;
pub mod pendula;
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
    &oscillator::FORCE_GIVER,
    &oscillator::MASS,
    &nonlinear_oscillator::FORCE_GIVER,
    &nonlinear_oscillator::MASS,
    &pendula::FORCE_GIVER,
    &pendula::PENDULUM,
    &crane::HYDRAULICS,
    &crane::MECHANICS,
    &algebraic::GAIN,
];

/// The model called `name`.
pub fn find(name: &str) -> Option<&'static ModelSpec> {
    ALL.iter().copied().find(|m| m.name == name)
}

#[cfg(test)]
mod tests {
    use super::ALL;

    #[test]
    fn every_model_is_found_by_its_name_and_built_from_defaults() {
        for spec in ALL {
            assert!(
                std::ptr::eq(super::find(spec.name).expect(spec.name), *spec),
                "{} is listed twice",
                spec.name
            );
            let subsystem = spec.build(&[]).expect(spec.name);
            assert_eq!(subsystem.info().kind, spec.name);
        }
    }
}
