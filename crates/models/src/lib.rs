//! Built-in models: benchmark systems with known answers, usable by name from a system file.

pub mod algebraic;
pub mod crane;
mod equations;
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

pub use equations::{Built, Capability, Equations, InputPolynomial, variable};
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
    &quarter_car_splits::CHASSIS_DF,
    &quarter_car_splits::WHEEL_DF,
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

/// A sentence about a model that does not exist, for the end of a message: those with this name after the stroke, else as in
/// [`powerbond_core::suggest::hint`].
pub fn hint(name: &str) -> String {
    let ends = |m: &&&ModelSpec| m.name.rsplit('/').next() == Some(name);
    let same: Vec<String> = ALL.iter().filter(ends).map(|m| format!("`{}`", m.name)).collect();
    match same.is_empty() {
        true => powerbond_core::suggest::hint(name, ALL.iter().map(|m| m.name)),
        false => format!(" Did you mean {}?", same.join(" or ")),
    }
}

#[cfg(test)]
mod tests {
    use super::{ALL, Domain, ModelSpec, ParameterValue};
    use powerbond_core::subsystem::{Binding, Causality, Info, Inputs, Setup, Span, Subsystem};

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

    fn everything(info: &Info) -> Binding {
        let of = |wanted| {
            let variables = info.variables.iter().enumerate();
            variables.filter(|(_, v)| v.causality == wanted).map(|(i, _)| i).collect()
        };
        let (inputs, outputs): (Vec<usize>, Vec<usize>) = (of(Causality::Input), of(Causality::Output));
        Binding { inputs, outputs, probes: (0..info.variables.len()).collect(), feed_through: Vec::new() }
    }

    fn begun(spec: &'static ModelSpec, given: &[(String, ParameterValue)]) -> Box<dyn Subsystem> {
        let mut model = spec.build(given).expect(spec.name);
        let binding = everything(model.info());
        model.bind(&binding).expect(spec.name);
        model.enter(&Setup { start: 0.0, stop: 1.0 }).expect(spec.name);
        model
    }

    /// Steps `from` to `to` of 1 ms with inputs that move, and everything that can be seen after each.
    fn seen(model: &mut dyn Subsystem, from: usize, to: usize) -> Vec<u64> {
        let start: Vec<f64> = model.info().variables.iter().map(|v| v.start).collect();
        let binding = everything(model.info());
        let (n, mut y) = (binding.inputs.len(), vec![0.0; binding.outputs.len()]);
        let (mut z, mut bits) = (vec![0.0; start.len()], Vec::new());
        for step in from..to {
            let wave = |i: usize| (0.7 * step as f64 + i as f64).sin();
            let value: Vec<f64> = (0..n).map(|i| start[i] + 0.01 * wave(i)).collect();
            let slope: Vec<f64> = (0..n).map(wave).collect();
            let inputs = Inputs { value: &value, slope: &slope, curvature: &slope };
            let h = if step % 3 == 0 { 1e-3 } else { 7e-4 };
            model.advance(Span::new(step as f64 * 1e-3, h), inputs, &mut y).expect("a sound step");
            model.probe(&mut z).expect("a sound probe");
            bits.extend(y.iter().chain(&z).map(|x| x.to_bits()));
        }
        bits
    }

    /// For every model with every integrator: numbers taken from one instance make another one go on like it.
    #[test]
    fn the_numbers_of_a_state_are_the_whole_state() {
        for spec in ALL {
            let integrator = spec.parameters.iter().find(|p| p.name == "integrator");
            let integrators = match integrator.map(|p| p.domain) {
                Some(Domain::Choice(words)) => words,
                _ => &[""],
            };
            for &integrator in integrators {
                let mut given = vec![("integrator".to_owned(), ParameterValue::Text(integrator.to_owned()))];
                given.retain(|(_, value)| *value != ParameterValue::Text(String::new()));
                let (mut one, mut other) = (begun(spec, &given), begun(spec, &given));
                seen(&mut *one, 0, 20);
                let mut numbers = Vec::new();
                one.state(&mut |x| numbers.push(*x)).expect(spec.name);
                let mut left = numbers.iter();
                other.state(&mut |x| *x = *left.next().expect("as many as before")).expect(spec.name);
                assert!(left.next().is_none(), "{}", spec.name);
                let now = |model: &mut dyn Subsystem| {
                    let mut z = vec![0.0; model.info().variables.len()];
                    model.probe(&mut z).expect("a sound probe");
                    z
                };
                assert_eq!(now(&mut *one), now(&mut *other), "{} {integrator}", spec.name);
                let (a, b) = (seen(&mut *one, 20, 40), seen(&mut *other, 20, 40));
                assert_eq!(a, b, "{} {integrator}", spec.name);
            }
        }
    }
}
