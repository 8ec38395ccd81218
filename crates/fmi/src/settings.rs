//! Parameters and start values of one instance, checked against the description and ready to be set.

use crate::description::{Causality, Initial, Kind, ModelDescription, Variability, Variable};
use crate::error::{InstanceError, TextProblem};
use crate::machine::Machine;
use crate::numbers::Numbers;
use crate::value::Value;
use powerbond_core::subsystem::SubsystemError;
use powerbond_core::suggest::closest;
use std::collections::BTreeMap;
use std::ffi::{CString, c_char};

/// A value for one variable, in the FMU's types.
pub(crate) struct Setting {
    kind: Kind,
    reference: u32,
    payload: Payload,
}

enum Payload {
    Numbers(Numbers),
    Texts(Vec<CString>),
    Binaries(Vec<Vec<u8>>),
}

/// Everything that is set before initialization.
#[derive(Default)]
pub(crate) struct Settings {
    structural: Vec<Setting>,
    plain: Vec<Setting>,
}

impl Settings {
    /// Checks names, roles and types. `sizes` are the numbers of elements of the variables.
    pub fn new(
        description: &ModelDescription,
        parameters: &[(String, Value)],
        start: &[(String, Value)],
        sizes: &[u32],
    ) -> Result<Self, InstanceError> {
        let mut settings = Settings::default();
        for (name, value) in parameters {
            let v = find(description, name)?;
            let variable = &description.variables[v];
            let causality = variable.causality;
            if !matches!(causality, Causality::Parameter | Causality::StructuralParameter) {
                return Err(InstanceError::NotAParameter { name: name.clone(), causality: causality.noun() });
            }
            settings.add(description, variable, value, sizes[v])?;
        }
        for (name, value) in start {
            let v = find(description, name)?;
            settings.add(description, &description.variables[v], value, sizes[v])?;
        }
        Ok(settings)
    }

    fn add(
        &mut self,
        description: &ModelDescription,
        variable: &Variable,
        value: &Value,
        size: u32,
    ) -> Result<(), InstanceError> {
        let setting = Setting::new(description, variable, value, size)?;
        match variable.causality {
            Causality::StructuralParameter => self.structural.push(setting),
            _ => self.plain.push(setting),
        }
        Ok(())
    }

    /// Sets everything; structural parameters in configuration mode first.
    pub fn apply(&self, machine: &Machine) -> Result<(), SubsystemError> {
        if !self.structural.is_empty() {
            machine.check(machine.calls.enter_configuration(), "fmi3EnterConfigurationMode")?;
            self.structural.iter().try_for_each(|setting| setting.apply(machine))?;
            machine.check(machine.calls.exit_configuration(), "fmi3ExitConfigurationMode")?;
        }
        self.plain.iter().try_for_each(|setting| setting.apply(machine))
    }
}

/// The changed structural parameters, by value reference: they decide how large arrays are.
pub(crate) fn structural(
    description: &ModelDescription,
    parameters: &[(String, Value)],
) -> Result<BTreeMap<u32, u64>, InstanceError> {
    let mut sizes = BTreeMap::new();
    for (name, value) in parameters {
        let variable = &description.variables[find(description, name)?];
        if let (Causality::StructuralParameter, Some(x)) =
            (variable.causality, value.number(variable.kind, None))
        {
            sizes.insert(variable.reference, x.max(0.0) as u64);
        }
    }
    Ok(sizes)
}

/// Variables that are exchanged like outputs, by index and increasing. Outputs themselves are no others.
pub(crate) fn outputs(description: &ModelDescription, names: &[String]) -> Result<Vec<u32>, InstanceError> {
    let found = names.iter().map(|name| find(description, name));
    let mut found: Vec<u32> = found.map(|v| v.map(|v| v as u32)).collect::<Result<_, _>>()?;
    found.retain(|&v| description.variables[v as usize].causality != Causality::Output);
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

fn find(description: &ModelDescription, name: &str) -> Result<usize, InstanceError> {
    description.find(name).ok_or_else(|| InstanceError::NoVariable {
        name: name.to_owned(),
        suggestion: closest(name, description.variables.iter().map(|v| &*v.name)).map(str::to_owned),
    })
}

impl Setting {
    /// Checks that `variable` may be set and that `value` fits.
    pub fn new(
        description: &ModelDescription,
        variable: &Variable,
        value: &Value,
        size: u32,
    ) -> Result<Self, InstanceError> {
        let name = || variable.name.to_string();
        let refused = |reason: String| InstanceError::NotSettable { name: name(), reason };
        if variable.variability == Variability::Constant {
            return Err(refused("a constant".to_owned()));
        }
        if variable.initial == Initial::Calculated {
            return Err(refused(format!("{} that the model calculates", variable.causality.noun())));
        }
        if variable.causality == Causality::Independent {
            return Err(refused("the independent variable".to_owned()));
        }
        let elements = value.elements();
        if elements.len() != size as usize {
            let (expected, found) = (size as usize, elements.len());
            return Err(InstanceError::Length { name: name(), expected, found });
        }
        let unfit = |value: &Value| InstanceError::Type {
            name: name(),
            kind: variable.kind.name(),
            value: value.to_string(),
        };
        let definition = description.type_of(variable);
        let payload = match variable.kind {
            Kind::String => Payload::Texts(
                elements
                    .iter()
                    .map(|item| match item {
                        Value::Text(text) => CString::new(text.as_str()).map_err(|_| InstanceError::Text {
                            problem: TextProblem::ZeroByte { text: text.clone() },
                        }),
                        other => Err(unfit(other)),
                    })
                    .collect::<Result<_, _>>()?,
            ),
            Kind::Binary => Payload::Binaries(
                elements
                    .iter()
                    .map(|item| match item {
                        Value::Binary(bytes) => Ok(bytes.clone()),
                        other => Err(unfit(other)),
                    })
                    .collect::<Result<_, _>>()?,
            ),
            Kind::Clock => return Err(refused("a clock".to_owned())),
            kind => {
                let mut numbers = Numbers::new(description.version, kind, elements.len());
                for (i, item) in elements.iter().enumerate() {
                    let number = item.number(kind, definition).ok_or_else(|| unfit(item))?;
                    match item {
                        Value::Integer(whole) => numbers.write_whole(i, *whole),
                        _ => numbers.write(i, number),
                    }
                }
                Payload::Numbers(numbers)
            }
        };
        Ok(Setting { kind: variable.kind, reference: variable.reference, payload })
    }

    /// These numbers for a variable that has as many elements of their type.
    pub fn of_numbers(variable: &Variable, numbers: Numbers) -> Self {
        Setting { kind: variable.kind, reference: variable.reference, payload: Payload::Numbers(numbers) }
    }

    /// Sets the variable.
    pub fn apply(&self, machine: &Machine) -> Result<(), SubsystemError> {
        let (calls, names) = (&machine.calls, machine.calls.names());
        let (code, call) = match &self.payload {
            Payload::Numbers(numbers) => {
                (calls.set(self.kind, &[self.reference], numbers), calls.accessors(self.kind).1)
            }
            Payload::Texts(texts) => {
                let pointers: Vec<*const c_char> = texts.iter().map(|text| text.as_ptr()).collect();
                (calls.set_texts(self.reference, &pointers), names.set_packet)
            }
            Payload::Binaries(bytes) => {
                let sizes: Vec<usize> = bytes.iter().map(Vec::len).collect();
                let pointers: Vec<*const u8> = bytes.iter().map(|b| b.as_ptr()).collect();
                (calls.set_binaries(self.reference, &sizes, &pointers), names.set_packet)
            }
        };
        machine.check(code, call)
    }
}
