//! The variables of an FMU as the engine sees them: numbers, one per element of an array.

use crate::description::{Causality, Dimension, Kind, ModelDescription, Variability, Variable};
use crate::error::{DescriptionError, DescriptionProblem};
use crate::value::Value;
use powerbond_core::subsystem::{
    self, Capabilities, Digits, FeedThrough, Info, Packet, PacketKind, ValueKind, rest_name,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// More elements than a co-simulation exchanges one by one.
const MAX_ELEMENTS: u64 = 10_000_000;

/// More pairs than a feed-through graph is worth.
const MAX_PAIRS: usize = 5_000_000;

/// Where a variable of the engine lies in the FMU.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Port {
    /// Index into [`ModelDescription::variables`].
    pub variable: u32,
    /// Which element of it, row by row.
    pub element: u32,
}

/// The engine's view of an FMU.
///
/// All numeric variables are in it: reals, integers, booleans and enumerations, all of them as `f64`, those of 64 bits as two.
/// Strings and binaries are packets; clocks are in the description only. Elements of arrays are called `x[1]` or `a[1,2]`.
pub(crate) struct Ports {
    /// For each variable of `info` its place in the FMU.
    pub places: Vec<Port>,
    /// For each variable of the description its number of elements.
    pub sizes: Vec<u32>,
    /// What the engine is told.
    pub info: Arc<Info>,
    /// Texts and binaries as the engine sees them, one per element of an array.
    pub packets: Vec<Packet>,
    /// For each of `packets` its place in the FMU.
    pub packet_places: Vec<Port>,
}

impl Ports {
    /// `structural` holds changed structural parameters, by value reference, `outputs` indices of variables that are exchanged like
    /// outputs, increasing.
    pub fn new(
        kind: &str,
        description: &ModelDescription,
        structural: &BTreeMap<u32, u64>,
        outputs: &[u32],
        capabilities: Capabilities,
    ) -> Result<Self, DescriptionError> {
        let lengths = Lengths::new(description, structural);
        let causality = |v: usize| match outputs.binary_search(&(v as u32)) {
            Ok(_) => subsystem::Causality::Output,
            Err(_) => causality(&description.variables[v]),
        };
        let sizes = sizes(description, &lengths)?;
        let elements: usize = sizes.iter().map(|&n| n as usize).sum();
        let mut places = Vec::with_capacity(elements);
        let mut variables = Vec::with_capacity(elements);
        let mut first = vec![u32::MAX; description.variables.len()];
        for (v, variable) in description.variables.iter().enumerate() {
            // An element of the engine has one sign; the value itself is there under its other name.
            if !variable.kind.is_numeric() || variable.negated {
                continue;
            }
            first[v] = variables.len() as u32;
            let shape: Vec<u64> = variable.dimensions.iter().map(|d| lengths.of(d)).collect();
            for element in 0..sizes[v] {
                places.push(Port { variable: v as u32, element });
                variables.push(as_engine_variable(description, variable, causality(v), element, &shape));
            }
        }
        // The rest of an integer has the same place in the FMU; it comes after all others.
        let rests: Vec<Option<usize>> = add_rests(description, &mut variables, &mut places);
        let (mut packets, mut packet_places) = (Vec::new(), Vec::new());
        for (v, variable) in description.variables.iter().enumerate() {
            let Some(kind) = packet_kind(variable) else { continue };
            let shape: Vec<u64> = variable.dimensions.iter().map(|d| lengths.of(d)).collect();
            for element in 0..sizes[v] {
                packet_places.push(Port { variable: v as u32, element });
                let name = element_name(&variable.name, element, &shape);
                packets.push(Packet { name, causality: causality(v), kind: kind.clone() });
            }
        }
        let feed_through = with_rests(expand(description, outputs, &first, &sizes), &rests);
        let info = Info { kind: kind.to_owned(), variables: variables.into(), feed_through, capabilities };
        Ok(Ports { places, sizes, info: Arc::new(info), packets, packet_places })
    }
}

/// The start value of element `element` as a number, if there is one.
pub(crate) fn start_number(description: &ModelDescription, variable: &Variable, element: u32) -> Option<f64> {
    let value = match variable.start.as_ref()? {
        Value::List(items) => items.get(element as usize)?,
        single => single,
    };
    value.number(variable.kind, description.type_of(variable))
}

fn as_engine_variable(
    description: &ModelDescription,
    variable: &Variable,
    causality: subsystem::Causality,
    element: u32,
    lengths: &[u64],
) -> subsystem::Variable {
    subsystem::Variable {
        name: element_name(&variable.name, element, lengths),
        causality,
        kind: value_kind(variable.kind),
        unit: description.unit_of(variable),
        start: start_number(description, variable, element).unwrap_or(0.0),
        nominal: variable.nominal.map_or(1.0, f64::abs),
        min: variable.min.unwrap_or(f64::NEG_INFINITY),
        max: variable.max.unwrap_or(f64::INFINITY),
        discrete: variable.variability != Variability::Continuous,
        settable: variable.causality == Causality::Input
            || variable.causality == Causality::Parameter && variable.variability == Variability::Tunable,
        digits: match variable.kind {
            Kind::Int64 => Digits::First { signed: true },
            Kind::UInt64 => Digits::First { signed: false },
            _ => Digits::All,
        },
        description: variable.description.to_string(),
    }
}

/// What a numeric variable holds.
fn value_kind(kind: Kind) -> ValueKind {
    match kind {
        kind if kind.is_real() => ValueKind::Real,
        Kind::Boolean => ValueKind::Boolean,
        Kind::Enumeration => ValueKind::Enumeration,
        _ => ValueKind::Integer,
    }
}

/// What each of two variables holds, in words, if the first one cannot feed the second one.
pub fn unlike(from: &Variable, to: &Variable) -> Option<[String; 2]> {
    let noun = |variable: &Variable| match packet_kind(variable) {
        Some(packet) => packet.noun(),
        None => value_kind(variable.kind).noun().to_owned(),
    };
    let fits = match (packet_kind(from), packet_kind(to)) {
        (Some(a), Some(b)) => a.may_feed(&b),
        (None, None) => value_kind(from.kind).may_feed(value_kind(to.kind)),
        _ => false,
    };
    (!fits).then(|| [noun(from), noun(to)])
}

/// Adds a variable for the rest of every integer of 64 bits, and tells which: for every variable its rest.
fn add_rests(
    description: &ModelDescription,
    variables: &mut Vec<subsystem::Variable>,
    places: &mut Vec<Port>,
) -> Vec<Option<usize>> {
    let mut rests = vec![None; variables.len()];
    for (v, rest) in rests.iter_mut().enumerate() {
        if variables[v].digits == Digits::All {
            continue;
        }
        let Port { variable, element } = places[v];
        *rest = Some(variables.len());
        places.push(places[v]);
        variables.push(subsystem::Variable {
            name: rest_name(&variables[v].name),
            start: start_rest(&description.variables[variable as usize], element),
            unit: None,
            min: f64::NEG_INFINITY,
            max: f64::INFINITY,
            settable: false,
            digits: Digits::Rest,
            ..variables[v].clone()
        });
    }
    rests
}

/// What the start value of an element is more than the nearest number of the engine.
fn start_rest(variable: &Variable, element: u32) -> f64 {
    let value = match &variable.start {
        Some(Value::List(items)) => items.get(element as usize),
        other => other.as_ref(),
    };
    match value {
        Some(Value::Integer(i)) => (i - *i as f64 as i128) as f64,
        _ => 0.0,
    }
}

/// Feed-through of integers in two parts: both of an output may follow both of an input.
fn with_rests(feed_through: FeedThrough, rests: &[Option<usize>]) -> FeedThrough {
    let FeedThrough::Declared(mut pairs) = feed_through else { return FeedThrough::Unknown };
    for k in 0..pairs.len() {
        let (output, input) = pairs[k];
        let (second_output, second_input) = (rests[output], rests[input]);
        pairs.extend(second_output.map(|o| (o, input)));
        pairs.extend(second_input.map(|i| (output, i)));
        pairs.extend(second_output.zip(second_input));
    }
    FeedThrough::Declared(pairs)
}

fn causality(variable: &Variable) -> subsystem::Causality {
    match variable.causality {
        Causality::Input => subsystem::Causality::Input,
        Causality::Output => subsystem::Causality::Output,
        _ => subsystem::Causality::Local,
    }
}

/// What a variable that is not numeric holds; `None` for numbers and clocks.
fn packet_kind(variable: &Variable) -> Option<PacketKind> {
    match variable.kind {
        Kind::String => Some(PacketKind::Text),
        Kind::Binary => {
            Some(PacketKind::Binary(variable.binary.as_ref().and_then(|format| format.mime_type.clone())))
        }
        _ => None,
    }
}

fn element_name(name: &str, element: u32, lengths: &[u64]) -> String {
    if lengths.is_empty() {
        return name.to_owned();
    }
    let mut rest = u64::from(element);
    let mut indices: Vec<String> = Vec::with_capacity(lengths.len());
    for &length in lengths.iter().rev() {
        indices.push((rest % length + 1).to_string());
        rest /= length;
    }
    indices.reverse();
    format!("{name}[{}]", indices.join(","))
}

/// Values of structural parameters, by value reference.
struct Lengths(BTreeMap<u32, u64>);

impl Lengths {
    fn new(description: &ModelDescription, changed: &BTreeMap<u32, u64>) -> Self {
        let started = description
            .variables
            .iter()
            .filter(|v| v.may_be_a_length())
            .map(|v| (v.reference, start_number(description, v, 0).map_or(0, |x| x.max(0.0) as u64)));
        let mut lengths: BTreeMap<u32, u64> = started.collect();
        lengths.extend(changed);
        Lengths(lengths)
    }

    fn of(&self, dimension: &Dimension) -> u64 {
        match dimension {
            Dimension::Fixed(length) => *length,
            Dimension::Parameter(reference) => self.0.get(reference).copied().unwrap_or(0),
        }
    }
}

fn sizes(description: &ModelDescription, lengths: &Lengths) -> Result<Vec<u32>, DescriptionError> {
    let mut total = 0u64;
    let size = |variable: &Variable| {
        let size = variable.dimensions.iter().map(|d| lengths.of(d)).fold(1u64, u64::saturating_mul);
        total = total.saturating_add(size);
        if total > MAX_ELEMENTS + description.variables.len() as u64 {
            let name = variable.name.to_string();
            let problem = DescriptionProblem::ArraySize { name, size, limit: MAX_ELEMENTS };
            return Err(DescriptionError { file: "modelDescription.xml", line: 1, problem });
        }
        Ok(size as u32)
    };
    description.variables.iter().map(size).collect()
}

/// Feed-through between elements: every element of an output may depend on every element of an input.
fn expand(description: &ModelDescription, outputs: &[u32], first: &[u32], sizes: &[u32]) -> FeedThrough {
    let FeedThrough::Declared(mut pairs) = description.feed_through_with(outputs) else {
        return FeedThrough::Unknown;
    };
    let mut others = Vec::new();
    // Other names of an output follow the same inputs.
    pairs.sort_unstable();
    for (v, variable) in description.variables.iter().enumerate() {
        let is_output = variable.causality == Causality::Output || outputs.binary_search(&(v as u32)).is_ok();
        if let (Some(of), true) = (variable.alias_of, is_output) {
            let first = pairs.partition_point(|p| p.0 < of as usize);
            let same = pairs[first..].iter().take_while(|p| p.0 == of as usize).map(|p| (v, p.1));
            others.extend(same);
        }
        if others.len() > MAX_PAIRS {
            return FeedThrough::Unknown;
        }
    }
    pairs.extend(others);
    let mut expanded = Vec::with_capacity(pairs.len());
    for (output, input) in pairs {
        if first[output] == u32::MAX || first[input] == u32::MAX {
            continue;
        }
        for o in 0..sizes[output] {
            expanded.extend(
                (0..sizes[input]).map(|i| ((first[output] + o) as usize, (first[input] + i) as usize)),
            );
        }
        if expanded.len() > MAX_PAIRS {
            return FeedThrough::Unknown;
        }
    }
    FeedThrough::Declared(expanded)
}

#[cfg(test)]
mod tests {
    use super::element_name;

    #[test]
    fn elements_are_counted_from_one_and_row_by_row() {
        assert_eq!(element_name("x", 0, &[]), "x");
        assert_eq!(element_name("x", 2, &[4]), "x[3]");
        assert_eq!(element_name("a", 4, &[2, 3]), "a[2,2]");
    }
}
