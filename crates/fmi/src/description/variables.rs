//! The variables, of all types and all three standards.

use super::types::{TypeDefinition, Units};
use super::xml::{Notes, elements};
use super::{BinaryFormat, Causality, ClockFormat, Dimension, Initial, Kind, Variability, Variable, Version};
use crate::error::{DescriptionError, DescriptionProblem};
use crate::value::{Value, hex};
use roxmltree::{Attribute, Node};
use std::collections::{HashMap, HashSet};

/// The type that an element of this name declares.
pub fn kind(element: &str) -> Option<Kind> {
    Some(match element {
        "Float64" | "Real" => Kind::Float64,
        "Float32" => Kind::Float32,
        "Int8" => Kind::Int8,
        "UInt8" => Kind::UInt8,
        "Int16" => Kind::Int16,
        "UInt16" => Kind::UInt16,
        "Int32" | "Integer" => Kind::Int32,
        "UInt32" => Kind::UInt32,
        "Int64" => Kind::Int64,
        "UInt64" => Kind::UInt64,
        "Boolean" => Kind::Boolean,
        "Enumeration" => Kind::Enumeration,
        "String" => Kind::String,
        "Binary" => Kind::Binary,
        "Clock" => Kind::Clock,
        _ => return None,
    })
}

/// What variables refer to.
pub struct Context<'a> {
    pub version: Version,
    pub units: &'a mut Units,
    pub types: &'a [TypeDefinition],
    types_by_name: HashMap<&'a str, u32>,
}

impl<'a> Context<'a> {
    pub fn new(version: Version, units: &'a mut Units, types: &'a [TypeDefinition]) -> Self {
        let types_by_name = types.iter().enumerate().map(|(i, t)| (t.name.as_str(), i as u32)).collect();
        Context { version, units, types, types_by_name }
    }
}

/// The variables, and for every element of the list the index of its variable (FMI 2 counts elements).
pub struct Variables {
    pub list: Vec<Variable>,
    pub index_of_element: Vec<u32>,
}

/// Reads `ModelVariables`.
pub fn read(
    parent: Node<'_, '_>,
    context: &mut Context<'_>,
    notes: &mut Notes<'_>,
) -> Result<Variables, DescriptionError> {
    let count = elements(parent).count();
    let mut variables =
        Variables { list: Vec::with_capacity(count), index_of_element: Vec::with_capacity(count) };
    for node in elements(parent) {
        let inner = match (context.version, node.tag_name().name()) {
            (Version::Fmi3, _) => Some(node),
            (_, "ScalarVariable") => elements(node).find(|n| kind(n.tag_name().name()).is_some()),
            _ => None,
        };
        let Some((inner, kind)) = inner.and_then(|n| Some((n, kind(n.tag_name().name())?))) else {
            if context.version != Version::Fmi3 && node.tag_name().name() == "ScalarVariable" {
                let element = "ScalarVariable".to_owned();
                return Err(notes.error(node, DescriptionProblem::NoAttribute { element, attribute: "type" }));
            }
            notes.unknown_element(node);
            continue;
        };
        let index = variables.list.len() as u32;
        variables.index_of_element.push(index);
        let variable = read_one(node, inner, kind, context, notes)?;
        check_start(inner, &variable, notes)?;
        if context.version != Version::Fmi1 {
            check_values(node, &variable, notes);
        }
        let aliases = (context.version == Version::Fmi3).then(|| read_aliases(node, index, &variable, notes));
        variables.list.push(variable);
        variables.list.extend(aliases.into_iter().flatten());
    }
    check_dimensions(parent, &variables, notes)?;
    Ok(variables)
}

/// The elements of the list that are variables, in its order.
pub fn nodes<'a, 'input>(list: Node<'a, 'input>, version: Version) -> Vec<Node<'a, 'input>> {
    let is_variable = |node: &Node<'_, '_>| match version {
        Version::Fmi3 => kind(node.tag_name().name()).is_some(),
        _ => node.tag_name().name() == "ScalarVariable",
    };
    elements(list).filter(is_variable).collect()
}

/// What is given to the FMU from outside has to be a number. A parameter may be infinite: tools write limits that do not limit so.
fn check_start(
    node: Node<'_, '_>,
    variable: &Variable,
    notes: &mut Notes<'_>,
) -> Result<(), DescriptionError> {
    let given = matches!(
        variable.causality,
        Causality::Input | Causality::Parameter | Causality::StructuralParameter
    );
    let starts = variable.start.as_ref().filter(|_| given).map_or(&[][..], Value::elements);
    let Some(x) = starts.iter().find_map(|value| match value {
        Value::Real(x) if !x.is_finite() => Some(*x),
        _ => None,
    }) else {
        return Ok(());
    };
    let what = format!("{} `{}`", variable.causality.noun(), variable.name);
    if x.is_nan() || variable.causality != Causality::Parameter {
        let (value, expected) = (x.to_string(), "a finite number");
        return Err(notes.error(node, DescriptionProblem::Start { what, value, expected }));
    }
    notes.doubt(node, || format!("the start value of {what} is {x}"));
    Ok(())
}

/// Lengths of arrays are numbers, constants or structural parameters that are there, and start values as many.
fn check_dimensions(
    parent: Node<'_, '_>,
    variables: &Variables,
    notes: &Notes<'_>,
) -> Result<(), DescriptionError> {
    let known: HashSet<u32> =
        variables.list.iter().filter(|v| v.may_be_a_length()).map(|v| v.reference).collect();
    let lost = |d: &Dimension| match d {
        Dimension::Parameter(reference) if !known.contains(reference) => Some(*reference),
        _ => None,
    };
    let lost = |v: &Variable| v.dimensions.iter().find_map(lost);
    let lengths: HashMap<u32, u64> = variables
        .list
        .iter()
        .filter(|v| v.may_be_a_length())
        .filter_map(|v| match &v.start {
            Some(Value::Integer(n)) => Some((v.reference, u64::try_from(*n).ok()?)),
            _ => None,
        })
        .collect();
    let length = |d: &Dimension| match d {
        Dimension::Fixed(n) => Some(*n),
        Dimension::Parameter(reference) => lengths.get(reference).copied(),
    };
    let size = |v: &Variable| v.dimensions.iter().try_fold(1u64, |size, d| size.checked_mul(length(d)?));
    let miscounted = |v: &Variable| match &v.start {
        Some(Value::List(items)) => size(v).filter(|n| *n != items.len() as u64).map(|n| (n, items.len())),
        _ => None,
    };
    if variables.list.iter().all(|v| lost(v).is_none() && miscounted(v).is_none()) {
        return Ok(());
    }
    for (node, &v) in nodes(parent, Version::Fmi3).into_iter().zip(&variables.index_of_element) {
        if let Some(reference) = lost(&variables.list[v as usize]) {
            let name = variables.list[v as usize].name.to_string();
            let found = format!(
                "`valueReference` is `{reference}`, not a structural parameter or constant of type `UInt64`"
            );
            return Err(notes.error(node, DescriptionProblem::Dimension { name, found }));
        }
        if let Some((size, count)) = miscounted(&variables.list[v as usize]) {
            let name = variables.list[v as usize].name.to_string();
            return Err(notes.error(node, DescriptionProblem::StartCount { name, size, count }));
        }
    }
    Ok(())
}

/// Values that contradict each other, and start values that are missing.
fn check_values(node: Node<'_, '_>, variable: &Variable, notes: &mut Notes<'_>) {
    let Variable { name, min, max, start, .. } = variable;
    if let (Some(min), Some(max)) = (min, max)
        && min > max
    {
        notes.note(node, || format!("`{name}` has a `min` of {min} above its `max` of {max}"));
    }
    let number = match start {
        Some(Value::Real(x)) => Some(*x),
        Some(Value::Integer(i)) => Some(*i as f64),
        _ => None,
    };
    if let Some(x) = number.filter(|x| min.is_some_and(|m| *x < m) || max.is_some_and(|m| *x > m)) {
        notes.note(node, || format!("the start value {x} of `{name}` is not between its `min` and `max`"));
    }
    let needs_start = match variable.causality {
        Causality::Input | Causality::Parameter | Causality::StructuralParameter => {
            variable.kind != Kind::Clock && variable.initial != Initial::Calculated
        }
        _ => false,
    };
    if needs_start && start.is_none() {
        notes.note(node, || format!("`{name}` is {} without a start value", variable.causality.noun()));
    }
}

fn read_one(
    node: Node<'_, '_>,
    inner: Node<'_, '_>,
    kind: Kind,
    context: &mut Context<'_>,
    notes: &mut Notes<'_>,
) -> Result<Variable, DescriptionError> {
    let mut draft = Draft::default();
    for attribute in node.attributes() {
        draft.take(node, &attribute, kind, context, notes)?;
    }
    if inner != node {
        for attribute in inner.attributes() {
            draft.take(inner, &attribute, kind, context, notes)?;
        }
    }
    let missing = |attribute| {
        let element = node.tag_name().name().to_owned();
        notes.error(node, DescriptionProblem::NoAttribute { element, attribute })
    };
    let name = draft.name.ok_or_else(|| missing("name"))?;
    let reference = draft.reference.ok_or_else(|| missing("valueReference"))?;
    let (causality, variability) = draft.roles(kind, node, context.version, notes);
    let initial = draft.initial.unwrap_or(default_initial(causality, variability));
    let (start, dimensions) = if context.version == Version::Fmi3 {
        let dimensions = read_dimensions(inner, name, notes)?;
        (read_start(inner, draft.start, kind, (name, !dimensions.is_empty()), notes)?, dimensions)
    } else {
        let start = draft.start.map(|text| scalar(inner, text, kind, name, notes)).transpose()?;
        (start.flatten(), Box::default())
    };
    let declared = draft.declared_type.map(|t| &context.types[t as usize]);
    Ok(Variable {
        name: name.into(),
        reference,
        kind,
        causality,
        variability,
        initial,
        start,
        min: draft.min.or(declared.and_then(|t| t.min)),
        max: draft.max.or(declared.and_then(|t| t.max)),
        nominal: draft.nominal.or(declared.and_then(|t| t.nominal)),
        unit: draft.unit.or(declared.and_then(|t| t.unit)),
        quantity: draft.quantity.map(Into::into),
        relative_quantity: draft.relative.unwrap_or(declared.is_some_and(|t| t.relative_quantity)),
        declared_type: draft.declared_type,
        dimensions,
        intermediate_update: draft.intermediate,
        binary: draft.binary,
        clock: (kind == Kind::Clock).then(|| read_clock(inner, notes)),
        alias_of: None,
        negated: draft.negated,
        description: draft.description.unwrap_or("").into(),
    })
}

/// The attributes of a variable as they come.
#[derive(Default)]
struct Draft<'n> {
    name: Option<&'n str>,
    reference: Option<u32>,
    description: Option<&'n str>,
    causality: Option<&'n str>,
    variability: Option<&'n str>,
    initial: Option<Initial>,
    start: Option<&'n str>,
    min: Option<f64>,
    max: Option<f64>,
    nominal: Option<f64>,
    unit: Option<u32>,
    quantity: Option<&'n str>,
    declared_type: Option<u32>,
    relative: Option<bool>,
    intermediate: bool,
    negated: bool,
    binary: Option<Box<BinaryFormat>>,
}

impl<'n> Draft<'n> {
    fn take(
        &mut self,
        node: Node<'n, '_>,
        attribute: &Attribute<'n, '_>,
        kind: Kind,
        context: &mut Context<'_>,
        notes: &mut Notes<'_>,
    ) -> Result<(), DescriptionError> {
        let (name, text) = (attribute.name(), attribute.value());
        if attribute.namespace().is_some() {
            return Ok(());
        }
        match name {
            "name" => self.name = Some(text),
            "valueReference" => match text.trim().parse() {
                Ok(reference) => self.reference = Some(reference),
                Err(_) => {
                    let value = text.to_owned();
                    return Err(notes.error(node, DescriptionProblem::Reference { value }));
                }
            },
            "description" => self.description = Some(text),
            "causality" => self.causality = Some(text),
            "variability" => self.variability = Some(text),
            "initial" => {
                self.initial = match text {
                    "exact" => Some(Initial::Exact),
                    "approx" => Some(Initial::Approx),
                    "calculated" => Some(Initial::Calculated),
                    _ => {
                        notes.note(node, || format!("`initial` is `{text}`, which is unknown; ignored"));
                        None
                    }
                }
            }
            "start" => self.start = Some(text),
            // Limits of strings and booleans mean nothing.
            "min" if kind.is_numeric() => self.min = notes.real(node, name, text),
            "max" if kind.is_numeric() => self.max = notes.real(node, name, text),
            "nominal" => self.nominal = notes.real(node, name, text).filter(|x| *x != 0.0),
            "quantity" if !text.is_empty() => self.quantity = Some(text),
            "unit" if !text.is_empty() => self.unit = Some(context.units.index(text)),
            "declaredType" => {
                self.declared_type = context.types_by_name.get(text).copied();
                if self.declared_type.is_none() {
                    notes.note(node, || format!("the declared type `{text}` is not defined"));
                }
            }
            "relativeQuantity" => self.relative = Some(notes.boolean(node, name, text)),
            "intermediateUpdate" => self.intermediate = notes.boolean(node, name, text),
            // The default says nothing about what the bytes are.
            "mimeType" if text != "application/octet-stream" => {
                self.binary.get_or_insert_default().mime_type = Some(text.to_owned());
            }
            "maxSize" => match text.trim().parse() {
                Ok(size) => self.binary.get_or_insert_default().max_size = Some(size),
                Err(_) => notes.note(node, || format!("`maxSize` is `{text}`, not a valid size; ignored")),
            },
            "alias" => {
                self.negated = text == "negatedAlias";
                if self.negated {
                    notes.note(node, || {
                        "a negated alias is not available for recording; use its other name".into()
                    });
                }
            }
            "unit"
            | "displayUnit"
            | "quantity"
            | "unbounded"
            | "derivative"
            | "reinit"
            | "previous"
            | "clocks"
            | "canHandleMultipleSetPerTimeInstant"
            | "mimeType"
            | "fixed"
            | "min"
            | "max"
            | "canBeDeactivated"
            | "priority"
            | "intervalVariability"
            | "intervalDecimal"
            | "shiftDecimal"
            | "supportsFraction"
            | "resolution"
            | "intervalCounter"
            | "shiftCounter" => {}
            _ => notes.unknown_attribute(node, attribute),
        }
        Ok(())
    }

    fn roles(
        &self,
        kind: Kind,
        node: Node<'_, '_>,
        version: Version,
        notes: &mut Notes<'_>,
    ) -> (Causality, Variability) {
        let mut odd = |what: &str, text: &str| {
            notes.note(node, || format!("`{what}` is `{text}`, which is unknown; the default is used"));
        };
        let causality = match self.causality {
            Some("parameter") => Causality::Parameter,
            Some("calculatedParameter") => Causality::CalculatedParameter,
            Some("structuralParameter") => Causality::StructuralParameter,
            Some("input") => Causality::Input,
            Some("output") => Causality::Output,
            Some("independent") => Causality::Independent,
            // FMI 1 has no causality `parameter`: it is a variability there.
            Some("internal" | "none") | None
                if version == Version::Fmi1 && self.variability == Some("parameter") =>
            {
                Causality::Parameter
            }
            Some("local" | "internal" | "none") | None => Causality::Local,
            Some(other) => {
                odd("causality", other);
                Causality::Local
            }
        };
        let parameter = matches!(
            causality,
            Causality::Parameter | Causality::CalculatedParameter | Causality::StructuralParameter
        );
        let default = match (parameter, kind.is_real()) {
            (true, _) => Variability::Fixed,
            (false, true) => Variability::Continuous,
            (false, false) => Variability::Discrete,
        };
        let variability = match self.variability {
            Some("constant") => Variability::Constant,
            Some("fixed" | "parameter") => Variability::Fixed,
            Some("tunable") => Variability::Tunable,
            Some("discrete") => Variability::Discrete,
            Some("continuous") if parameter => default,
            Some("continuous") => Variability::Continuous,
            None => default,
            Some(other) => {
                odd("variability", other);
                default
            }
        };
        (causality, variability)
    }
}

/// The table of FMI 2.0.5 section 2.2.7 and FMI 3.0.2 section 2.4.7.5.
fn default_initial(causality: Causality, variability: Variability) -> Initial {
    match causality {
        Causality::Parameter | Causality::StructuralParameter => Initial::Exact,
        Causality::Input | Causality::Independent => Initial::Given,
        _ if variability == Variability::Constant => Initial::Exact,
        _ => Initial::Calculated,
    }
}

/// A start value; nothing where there is none. What is not a value of its type is refused: guessing would change the model.
fn scalar(
    node: Node<'_, '_>,
    text: &str,
    kind: Kind,
    name: &str,
    notes: &mut Notes<'_>,
) -> Result<Option<Value>, DescriptionError> {
    let trimmed = text.trim();
    let is_text = matches!(kind, Kind::String | Kind::Binary);
    if kind == Kind::Clock || trimmed.is_empty() && !is_text {
        notes.note(node, || format!("`{name}` has an empty start value"));
        return Ok(None);
    }
    let (value, expected) = match kind {
        Kind::Float64 | Kind::Float32 => (notes.real(node, "start", text).map(Value::Real), "a number"),
        Kind::Boolean => {
            let is_known = ["true", "false", "0", "1"].iter().any(|k| k.eq_ignore_ascii_case(trimmed));
            let value = is_known.then(|| Value::Boolean(notes.boolean(node, "start", text)));
            (value, "`true` or `false`")
        }
        Kind::String => (Some(Value::Text(text.to_owned())), ""),
        Kind::Binary => (hex(trimmed).map(Value::Binary), "a list of bytes in hexadecimal digits"),
        _ => match trimmed.parse() {
            Ok(whole) => (Some(Value::Integer(whole)), ""),
            Err(_) => {
                let real = notes.real(node, "start", text).filter(|x| x.fract() == 0.0);
                (real.map(Value::Real), "an integer")
            }
        },
    };
    match value {
        Some(value) => Ok(Some(value)),
        None => {
            let (what, value) = (format!("`{name}`"), text.to_owned());
            Err(notes.error(node, DescriptionProblem::Start { what, value, expected }))
        }
    }
}

fn read_clock(node: Node<'_, '_>, notes: &mut Notes<'_>) -> Box<ClockFormat> {
    let mut real = |name: &str| node.attribute(name).and_then(|text| notes.real(node, name, text));
    // Intervals are decimal, or counted in ticks of a resolution per second.
    let resolution = real("resolution").filter(|r| *r > 0.0);
    let counted = |count: Option<f64>| count.zip(resolution).map(|(count, resolution)| count / resolution);
    let interval = real("intervalDecimal").or(counted(real("intervalCounter")));
    let shift = real("shiftDecimal").filter(|s| *s != 0.0).or(counted(real("shiftCounter"))).unwrap_or(0.0);
    let variability = node.attribute("intervalVariability").unwrap_or("");
    const KNOWN: [&str; 6] = ["constant", "fixed", "tunable", "changing", "countdown", "triggered"];
    if !KNOWN.contains(&variability) {
        notes.note(node, || format!("`intervalVariability` of a clock is `{variability}`, which is unknown"));
    }
    Box::new(ClockFormat { variability: variability.to_owned(), interval, shift })
}

/// The start value of an FMI 3 variable: a list in the attribute, or `Start` elements for strings and binaries.
fn read_start(
    node: Node<'_, '_>,
    attribute: Option<&str>,
    kind: Kind,
    (name, is_array): (&str, bool),
    notes: &mut Notes<'_>,
) -> Result<Option<Value>, DescriptionError> {
    let mut items: Vec<Value> = Vec::new();
    match kind {
        Kind::String | Kind::Binary => {
            for n in elements(node).filter(|n| n.tag_name().name() == "Start") {
                items.extend(scalar(n, n.attribute("value").unwrap_or(""), kind, name, notes)?);
            }
        }
        _ => {
            for text in attribute.into_iter().flat_map(str::split_whitespace) {
                items.extend(scalar(node, text, kind, name, notes)?);
            }
        }
    }
    if !is_array && items.len() > 1 {
        let (name, count) = (name.to_owned(), items.len());
        return Err(notes.error(node, DescriptionProblem::StartCount { name, size: 1, count }));
    }
    let is_given = attribute.is_some() || !items.is_empty();
    Ok(if is_array && is_given && items.len() != 1 { Some(Value::List(items)) } else { items.pop() })
}

/// Guessing a length would let the FMU write past our buffers.
fn read_dimensions(
    node: Node<'_, '_>,
    name: &str,
    notes: &Notes<'_>,
) -> Result<Box<[Dimension]>, DescriptionError> {
    let dimension = |n: Node<'_, '_>| {
        let (start, reference) = (n.attribute("start"), n.attribute("valueReference"));
        let read = match (start, reference) {
            (Some(length), None) => length.trim().parse().ok().map(Dimension::Fixed),
            (None, Some(reference)) => reference.trim().parse().ok().map(Dimension::Parameter),
            _ => None,
        };
        read.ok_or_else(|| {
            let quoted = |what: &str, text: Option<&str>| text.map(|text| format!("`{what}` is `{text}`"));
            let parts = [quoted("start", start), quoted("valueReference", reference)];
            let found = parts.into_iter().flatten().collect::<Vec<_>>().join(" and ");
            let found = if found.is_empty() { "none of both".to_owned() } else { found };
            notes.error(n, DescriptionProblem::Dimension { name: name.to_owned(), found })
        })
    };
    elements(node).filter(|n| n.tag_name().name() == "Dimension").map(dimension).collect()
}

/// Other names of a variable. Only the first name of an input is one; a signal has one feeder.
fn read_aliases(node: Node<'_, '_>, index: u32, variable: &Variable, notes: &mut Notes<'_>) -> Vec<Variable> {
    let mut aliases = Vec::new();
    for alias in elements(node).filter(|n| n.tag_name().name() == "Alias") {
        let Some(name) = alias.attribute("name") else {
            notes.note(alias, || "an alias lacks its name".to_owned());
            continue;
        };
        let causality = match variable.causality {
            Causality::Input => Causality::Local,
            other => other,
        };
        aliases.push(Variable {
            name: name.into(),
            causality,
            alias_of: Some(index),
            description: alias.attribute("description").unwrap_or("").into(),
            ..variable.clone()
        });
    }
    aliases
}
