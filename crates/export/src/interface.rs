//! What an FMU of a model looks like from outside: variables, value references, start values, abilities.
//!
//! Value references are the same in both versions of FMI: 0 is the time, then come inputs, outputs and locals in the
//! model's order, then its parameters. What decides which abilities are declared ([`Capability::PARAMETERS`]) is fixed
//! when the FMU is written and no parameter of it.

use crate::error::Refusal;
use powerbond_core::subsystem::{Binding, Causality, FeedThrough, Info, Subsystem};
use powerbond_models::{Capability, Domain, ModelSpec, ParameterError, ParameterSpec, ParameterValue};

/// What is behind a value reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// The time.
    Time,
    /// Input k.
    Input(usize),
    /// Output k.
    Output(usize),
    /// Local variable k.
    Local(usize),
    /// Parameter k of [`Interface::parameters`].
    Parameter(usize),
}

/// The types of variables that FMUs of ours have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// Real, Float64.
    Number,
    /// Integer, Int32.
    Count,
    /// String: one of several words. Not an enumeration, which libcosim passes over.
    Choice,
}

/// A model with the parameters it is exported with.
pub struct Interface {
    /// The model.
    pub spec: &'static ModelSpec,
    /// Its variables and abilities, with these parameters.
    pub info: Info,
    /// What was given, in the order of the model's list.
    pub given: Vec<(String, ParameterValue)>,
    /// The start value of each parameter: a number, a count, or the place of a choice from 1.
    pub start: Vec<f64>,
    /// By value reference.
    pub slots: Vec<Slot>,
    /// All variables, as the model is bound to them.
    pub binding: Binding,
    /// Whether the state can be taken out and put back.
    pub has_state: bool,
}

impl Interface {
    /// Checks `given` and looks at the model with these parameters. Also gives the model itself, bound to everything.
    pub fn new(
        spec: &'static ModelSpec,
        given: &[(String, ParameterValue)],
    ) -> Result<(Self, Box<dyn Subsystem>), Refusal> {
        let mut model = spec.build(given)?;
        let in_order =
            spec.all_parameters().filter_map(|p| given.iter().rev().find(|(name, _)| name == p.name));
        let given: Vec<_> = in_order.cloned().collect();
        let start = spec.parameters.iter().map(|p| {
            let value = given.iter().find(|(name, _)| name == p.name);
            value.map_or(default_of(p.domain), |(_, value)| number_of(p.domain, value))
        });
        let start: Vec<f64> = start.collect();
        let info = model.info().clone();
        let binding = everything(&info);
        let mut slots = vec![Slot::Time];
        let mut counts = [0; 3];
        for variable in &info.variables {
            let next = |count: &mut usize| std::mem::replace(count, *count + 1);
            slots.push(match variable.causality {
                Causality::Input => Slot::Input(next(&mut counts[0])),
                Causality::Output => Slot::Output(next(&mut counts[1])),
                Causality::Local => Slot::Local(next(&mut counts[2])),
            });
        }
        slots.extend((0..spec.parameters.len()).map(Slot::Parameter));
        model.bind(&binding)?;
        let has_state = info.capabilities.can_restore && model.state(&mut |_| {}).is_ok();
        Ok((Interface { spec, info, given, start, slots, binding, has_state }, model))
    }

    /// The parameters that an importer may set.
    pub fn parameters(&self) -> &'static [ParameterSpec] {
        self.spec.parameters
    }

    /// The value reference of variable `v` of the model.
    pub fn reference(&self, v: usize) -> u32 {
        1 + v as u32
    }

    /// The value reference of parameter `k`.
    pub fn parameter_reference(&self, k: usize) -> u32 {
        (1 + self.info.variables.len() + k) as u32
    }

    /// What is behind a reference, if it has this type.
    pub fn slot(&self, reference: u32, wanted: Type) -> Result<Slot, Refusal> {
        match self.slots.get(reference as usize) {
            Some(&slot) if self.type_of(slot) == wanted => Ok(slot),
            _ => {
                let wanted = match wanted {
                    Type::Number => "real variable",
                    Type::Count => "integer variable",
                    Type::Choice => "string variable",
                };
                Err(Refusal::Reference { reference, wanted })
            }
        }
    }

    /// Whether an input is behind a reference.
    pub fn is_input(&self, reference: u32) -> bool {
        matches!(self.slots.get(reference as usize), Some(Slot::Input(_)))
    }

    /// The type of what is behind a reference.
    pub fn type_of(&self, slot: Slot) -> Type {
        match slot {
            Slot::Parameter(k) => match self.spec.parameters[k].domain {
                Domain::Number { .. } => Type::Number,
                Domain::Count { .. } => Type::Count,
                Domain::Choice(_) => Type::Choice,
            },
            _ => Type::Number,
        }
    }

    /// The name of what is behind a reference.
    pub fn name(&self, reference: u32) -> &str {
        match self.slots.get(reference as usize) {
            Some(Slot::Parameter(k)) => self.spec.parameters[*k].name,
            Some(Slot::Time) | None => "time",
            Some(_) => &self.info.variables[reference as usize - 1].name,
        }
    }

    /// The parameters of the model for these numbers, what is fixed in the FMU included.
    pub fn parameter_values(&self, numbers: &[f64]) -> Vec<(String, ParameterValue)> {
        let own = self.spec.parameters.iter().zip(numbers);
        let own = own.map(|(p, &x)| (p.name.to_owned(), value_of(p.domain, x)));
        own.chain(self.fixed().cloned()).collect()
    }

    /// What was given and is fixed in the FMU.
    pub fn fixed(&self) -> impl Iterator<Item = &(String, ParameterValue)> {
        self.given.iter().filter(|(name, _)| Capability::PARAMETERS.iter().any(|p| p.name == name))
    }

    /// Checks a number for parameter `k`.
    pub fn check(&self, k: usize, x: f64) -> Result<(), ParameterError> {
        let p = &self.spec.parameters[k];
        self.spec.check(p.name, &value_of(p.domain, x))
    }

    /// The word of choice `k` at a place; empty if there is none.
    pub fn word(&self, k: usize, place: f64) -> &'static str {
        match self.spec.parameters[k].domain {
            Domain::Choice(words) => words.get((place as usize).wrapping_sub(1)).copied().unwrap_or(""),
            _ => "",
        }
    }

    /// The place of a word of choice `k`, from 1.
    pub fn place(&self, k: usize, word: &str) -> Result<f64, ParameterError> {
        let p = &self.spec.parameters[k];
        let value = ParameterValue::Text(word.to_owned());
        self.spec.check(p.name, &value)?;
        Ok(number_of(p.domain, &value))
    }

    /// Whether ∂y/∂u is known: it is, or there is none.
    pub fn has_derivatives(&self) -> bool {
        self.binding.feed_through.is_empty() || self.info.capabilities.feed_through_values
    }

    /// Which inputs output `k` depends on at the same instant, by position.
    pub fn inputs_of(&self, k: usize) -> impl Iterator<Item = usize> {
        self.binding.feed_through.iter().filter(move |(o, _)| *o == k).map(|&(_, i)| i)
    }
}

/// All inputs, outputs, locals and feed-through pairs.
pub(crate) fn everything(info: &Info) -> Binding {
    let of = |wanted: Causality| -> Vec<usize> {
        let variables = info.variables.iter().enumerate();
        variables.filter(|(_, v)| v.causality == wanted).map(|(i, _)| i).collect()
    };
    let (inputs, outputs) = (of(Causality::Input), of(Causality::Output));
    let place = |list: &[usize], v: usize| list.iter().position(|&x| x == v);
    let feed_through = match &info.feed_through {
        FeedThrough::Declared(pairs) => {
            let known = pairs.iter().filter_map(|&(o, i)| Some((place(&outputs, o)?, place(&inputs, i)?)));
            known.collect()
        }
        // Every output may depend on every input.
        FeedThrough::Unknown => {
            (0..outputs.len()).flat_map(|o| (0..inputs.len()).map(move |i| (o, i))).collect()
        }
    };
    Binding { inputs, outputs, probes: of(Causality::Local), feed_through }
}

fn default_of(domain: Domain) -> f64 {
    match domain {
        Domain::Number { default, .. } => default,
        Domain::Count { default, .. } => f64::from(default),
        Domain::Choice(_) => 1.0,
    }
}

fn number_of(domain: Domain, value: &ParameterValue) -> f64 {
    match (domain, value) {
        (_, ParameterValue::Number(x)) => *x,
        (Domain::Choice(words), ParameterValue::Text(text)) => {
            words.iter().position(|w| w == text).map_or(f64::NAN, |i| 1.0 + i as f64)
        }
        _ => f64::NAN,
    }
}

/// A choice that does not exist becomes a text that no model takes.
fn value_of(domain: Domain, x: f64) -> ParameterValue {
    match domain {
        Domain::Choice(words) => {
            let word = words.iter().enumerate().find(|(i, _)| *i as f64 + 1.0 == x);
            ParameterValue::Text(word.map_or_else(|| format!("{x}"), |(_, word)| (*word).to_owned()))
        }
        _ => ParameterValue::Number(x),
    }
}
