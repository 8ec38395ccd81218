//! Parameters of built-in models: names, defaults, units and limits in one place.

use super::Capability;
use powerbond_core::subsystem::Subsystem;
use powerbond_core::suggest::closest;
use std::fmt;

/// What a parameter may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Domain {
    /// A number between two bounds (inclusive) with a default.
    Number {
        /// Default.
        default: f64,
        /// Least.
        min: f64,
        /// Greatest.
        max: f64,
    },
    /// An integer with a default.
    Count {
        /// Default.
        default: u32,
        /// Least.
        min: u32,
        /// Greatest.
        max: u32,
    },
    /// One of several words; the first is the default.
    Choice(&'static [&'static str]),
}

impl Domain {
    /// Any finite number.
    pub const fn any(default: f64) -> Self {
        Domain::Number { default, min: f64::MIN, max: f64::MAX }
    }

    /// A number above zero.
    pub const fn positive(default: f64) -> Self {
        Domain::Number { default, min: f64::MIN_POSITIVE, max: f64::MAX }
    }

    /// Zero or more.
    pub const fn not_negative(default: f64) -> Self {
        Domain::Number { default, min: 0.0, max: f64::MAX }
    }
}

/// A parameter of a model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ParameterSpec {
    /// Its name.
    pub name: &'static str,
    /// Its unit; empty for none.
    pub unit: &'static str,
    /// What it may be.
    pub domain: Domain,
    /// One line for people.
    pub description: &'static str,
}

/// A value as a user gives it.
#[derive(Clone, Debug, PartialEq)]
pub enum ParameterValue {
    /// A number.
    Number(f64),
    /// A word.
    Text(String),
}

impl ParameterValue {
    /// Numbers by name, as [`ModelSpec::build`] takes them.
    pub fn numbers(list: &[(&str, f64)]) -> Vec<(String, ParameterValue)> {
        list.iter().map(|&(name, x)| (name.to_owned(), ParameterValue::Number(x))).collect()
    }
}

impl fmt::Display for ParameterValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParameterValue::Number(x) => write!(f, "{x}"),
            ParameterValue::Text(text) => write!(f, "\"{text}\""),
        }
    }
}

/// Why a parameter was refused.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)] // The fields are what the message prints.
pub enum ParameterError {
    Unknown { model: &'static str, name: String, suggestion: Option<&'static str>, known: Vec<&'static str> },
    Unfit { name: String, value: ParameterValue, wanted: String },
}

impl fmt::Display for ParameterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParameterError::Unknown { model, name, suggestion: Some(s), .. } => {
                write!(f, "model `{model}`: unknown parameter `{name}`. Did you mean `{s}`?")
            }
            ParameterError::Unknown { model, name, known, .. } => {
                write!(f, "model `{model}`: unknown parameter `{name}`. It has: {}", known.join(", "))
            }
            ParameterError::Unfit { name, value, wanted } => {
                write!(f, "`{name}` is {value}; expected {wanted}")
            }
        }
    }
}

impl std::error::Error for ParameterError {}

/// A model that can be built by name.
pub struct ModelSpec {
    /// Its name, as a system file writes it.
    pub name: &'static str,
    /// One line for people.
    pub description: &'static str,
    /// Its own parameters; every model also has [`Capability::PARAMETERS`].
    pub parameters: &'static [ParameterSpec],
    /// Makes a subsystem from complete, checked parameters.
    pub make: fn(&Parameters) -> Box<dyn Subsystem>,
}

impl ModelSpec {
    /// All parameters: the model's own and those of every built-in model.
    pub fn all_parameters(&self) -> impl Iterator<Item = &'static ParameterSpec> {
        self.parameters.iter().chain(Capability::PARAMETERS)
    }

    /// Checks `given`, adds defaults and makes the subsystem.
    pub fn build(
        &'static self,
        given: &[(String, ParameterValue)],
    ) -> Result<Box<dyn Subsystem>, ParameterError> {
        for (name, value) in given {
            self.check(name, value)?;
        }
        Ok((self.make)(&Parameters { spec: self, given: given.to_vec() }))
    }

    /// Checks one parameter.
    pub fn check(&'static self, name: &str, value: &ParameterValue) -> Result<(), ParameterError> {
        let Some(spec) = self.all_parameters().find(|p| p.name == name) else {
            return Err(ParameterError::Unknown {
                model: self.name,
                name: name.to_owned(),
                suggestion: closest(name, self.all_parameters().map(|p| p.name)),
                known: self.all_parameters().map(|p| p.name).collect(),
            });
        };
        let unfit = |wanted: String| {
            Err(ParameterError::Unfit { name: name.to_owned(), value: value.clone(), wanted })
        };
        match (spec.domain, value) {
            (Domain::Number { min, max, .. }, &ParameterValue::Number(x)) => {
                if !x.is_finite() {
                    unfit("a finite number".to_owned())
                } else if x < min || x > max {
                    unfit(match (min, max) {
                        (f64::MIN_POSITIVE, f64::MAX) => "a number above 0".to_owned(),
                        (0.0, f64::MAX) => "a number of 0 or more".to_owned(),
                        _ => format!("a number from {min} to {max}"),
                    })
                } else {
                    Ok(())
                }
            }
            (Domain::Count { min, max, .. }, &ParameterValue::Number(x)) => {
                if x.fract() == 0.0 && x >= f64::from(min) && x <= f64::from(max) {
                    Ok(())
                } else {
                    unfit(format!("an integer from {min} to {max}"))
                }
            }
            (Domain::Choice(words), ParameterValue::Text(text)) if words.contains(&text.as_str()) => Ok(()),
            (Domain::Choice(words), _) => {
                let quoted: Vec<String> = words.iter().map(|w| format!("\"{w}\"")).collect();
                unfit(format!("one of {}", quoted.join(", ")))
            }
            (_, ParameterValue::Text(_)) => unfit("a number".to_owned()),
        }
    }
}

/// Complete parameters of a model: what was given, and defaults for the rest.
pub struct Parameters {
    spec: &'static ModelSpec,
    given: Vec<(String, ParameterValue)>,
}

impl Parameters {
    fn find(&self, name: &str) -> (Domain, Option<&ParameterValue>) {
        // A name that the spec does not list is a slip in our own model; a number of 0 would hide it.
        let spec = self.spec.all_parameters().find(|p| p.name == name);
        let spec = spec.unwrap_or_else(|| {
            panic!("model {} asks for a parameter `{name}` that it does not list", self.spec.name)
        });
        (spec.domain, self.given.iter().rev().find(|(n, _)| n == name).map(|(_, v)| v))
    }

    /// A number or count.
    pub fn number(&self, name: &str) -> f64 {
        match self.find(name) {
            (_, Some(ParameterValue::Number(x))) => *x,
            (Domain::Number { default, .. }, _) => default,
            (Domain::Count { default, .. }, _) => f64::from(default),
            (Domain::Choice(_), _) => f64::NAN,
        }
    }

    /// A count.
    pub fn count(&self, name: &str) -> u32 {
        self.number(name) as u32
    }

    /// The chosen word.
    pub fn choice(&self, name: &str) -> &str {
        match self.find(name) {
            (_, Some(ParameterValue::Text(text))) => text,
            (Domain::Choice(words), _) => words[0],
            _ => "",
        }
    }
}
