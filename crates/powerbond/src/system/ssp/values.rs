//! Parameter sets of SSP (`.ssv`, SSP 1.0 and 2.0): values of any type and their units.

use super::transformation::Transformation;
use crate::Error;
use crate::error::Collector;
use crate::number::LONGEST_IN_A_REAL;
use crate::source::At;
use crate::source::xml::{Node, Reader, child, elements, list, name};
use crate::system::Given;
use powerbond_core::suggest::hint;
use powerbond_core::units::{Conversion, Si, Unit};
use std::collections::BTreeMap;

/// The name of the root element.
pub const ROOT: &str = "ParameterSet";

/// What the standard calls its types; those with `true` may have a unit.
const TYPES: [(&str, bool); 16] = [
    ("Real", true),
    ("Float64", true),
    ("Float32", true),
    ("Integer", false),
    ("Int8", false),
    ("UInt8", false),
    ("Int16", false),
    ("UInt16", false),
    ("Int32", false),
    ("UInt32", false),
    ("Int64", false),
    ("UInt64", false),
    ("Boolean", false),
    ("String", false),
    ("Enumeration", false),
    ("Binary", false),
];

/// A value for a parameter.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// Its name, as it is to be looked up.
    pub name: At<String>,
    /// As it is written.
    pub value: Given,
    /// Its unit.
    pub unit: Option<Unit>,
    /// What becomes of it after its unit was converted.
    pub then: Option<Transformation>,
}

impl Parameter {
    /// The value in the unit `wanted`, transformed.
    pub fn in_unit(self, wanted: Option<&Unit>, warnings: &mut Vec<String>) -> Result<Given, Error> {
        let Parameter { name, value, unit, then } = self;
        let value = match &unit {
            Some(unit) => convert(&name, value, unit, wanted, warnings)?,
            None => value,
        };
        match then {
            Some(then) => then
                .apply(value)
                .map_err(|why| Error::input(name.place(), format!("`{}`: {why}", name.value))),
            None => Ok(value),
        }
    }
}

/// The value in the unit of its parameter.
fn convert(
    name: &At<String>,
    value: Given,
    unit: &Unit,
    wanted: Option<&Unit>,
    warnings: &mut Vec<String>,
) -> Result<Given, Error> {
    let Some(wanted) = wanted else {
        let place = name.prefix();
        warnings.push(format!(
            "{place}`{}` has no unit; the value in {} is not converted",
            name.value, unit.symbol
        ));
        return Ok(value);
    };
    if wanted.symbol == unit.symbol && (wanted.si.is_none() || unit.si.is_none()) {
        return Ok(value);
    }
    let fail = |why: &str| {
        let message =
            format!("a value in {} for `{}`, which is in {}: {why}", unit.symbol, name.value, wanted.symbol);
        Err(Error::input(name.place(), message))
    };
    match unit.conversion_to(wanted) {
        Conversion::Linear { gain, offset } => Ok(linear(value, gain, offset)),
        Conversion::Turns { .. } => fail("one counts revolutions, the other radians"),
        Conversion::Impossible => fail("units of different quantities"),
        Conversion::Unknown => fail("unknown conversion; define the unit in `Units`"),
    }
}

fn linear(value: Given, gain: f64, offset: f64) -> Given {
    match value {
        Given::Number(x) if gain != 1.0 || offset != 0.0 => Given::Number(gain * x + offset),
        Given::List(items) => Given::List(items.into_iter().map(|item| linear(item, gain, offset)).collect()),
        other => other,
    }
}

/// Reads `ssv:ParameterSet`, in its order.
pub fn read(reader: Reader<'_>, root: Node<'_, '_>) -> Result<Vec<Parameter>, Error> {
    if name(root) != ROOT {
        return reader.fail(root, format!("found `{}`, expected `ssv:{ROOT}`", name(root)));
    }
    let mut problems = Collector::new();
    let units = problems.keep_or(BTreeMap::new(), units(reader, root));
    if child(root, "Parameters").is_none() {
        problems.keep::<()>(reader.fail(root, "missing `Parameters` in `ParameterSet`"));
    }
    let read = |node| problems.keep(parameter(reader, node, &units));
    let parameters = list(root, "Parameters").filter_map(read).collect();
    problems.finish(parameters)
}

/// The `Units` that an element defines.
pub fn units(reader: Reader<'_>, root: Node<'_, '_>) -> Result<BTreeMap<String, Unit>, Error> {
    let mut units = BTreeMap::new();
    let mut problems = Collector::new();
    for node in list(root, "Units") {
        if let Some((symbol, unit)) = problems.keep(unit(reader, node)) {
            units.insert(symbol, unit);
        }
    }
    problems.finish(units)
}

fn unit(reader: Reader<'_>, node: Node<'_, '_>) -> Result<(String, Unit), Error> {
    let symbol = reader.attribute(node, "name")?;
    let Some(base) = child(node, "BaseUnit") else {
        return reader.fail(node, format!("the unit `{symbol}` lacks `BaseUnit`"));
    };
    let number = |name: &str, default: f64| match base.attribute(name) {
        None => Ok(default),
        Some(text) => text.trim().parse::<f64>().or_else(|_| {
            reader.fail(base, format!("`{name}` of the unit `{symbol}` is `{text}`; expected a number"))
        }),
    };
    let mut dimensions = [0; 8];
    for (place, name) in ["kg", "m", "s", "A", "K", "mol", "cd", "rad"].into_iter().enumerate() {
        dimensions[place] = number(name, 0.0)? as i8;
    }
    let si = Si { dimensions, factor: number("factor", 1.0)?, offset: number("offset", 0.0)? };
    Ok((symbol.to_owned(), Unit { symbol: symbol.to_owned(), si: Some(si) }))
}

/// The unit of a value or a connector; an empty one is none.
pub fn unit_of(units: &BTreeMap<String, Unit>, typed: Node<'_, '_>) -> Option<Unit> {
    let symbol = typed.attribute("unit").filter(|symbol| !symbol.trim().is_empty())?;
    Some(units.get(symbol).cloned().unwrap_or_else(|| Unit::parse(symbol)))
}

/// Whether an element is one of the types.
pub fn is_type(node: Node<'_, '_>) -> bool {
    TYPES.iter().any(|(kind, _)| *kind == name(node))
}

/// The type of this name.
pub fn type_named(name: &str) -> Option<&'static str> {
    TYPES.iter().map(|(kind, _)| *kind).find(|kind| *kind == name)
}

fn parameter(
    reader: Reader<'_>,
    node: Node<'_, '_>,
    units: &BTreeMap<String, Unit>,
) -> Result<Parameter, Error> {
    reader.expect(node, "Parameter")?;
    let of = reader.attribute(node, "name")?;
    let Some(typed) = elements(node).find(|n| is_type(*n)) else {
        let names: Vec<&str> = TYPES.iter().map(|(kind, _)| *kind).collect();
        let found = elements(node).next().map_or("", name);
        return reader.fail(node, format!("`{of}` lacks a value.{}", hint(found, names)));
    };
    let kind = name(typed);
    let measured = TYPES.iter().any(|(name, unit)| *name == kind && *unit);
    let unit = unit_of(units, typed).filter(|_| measured);
    let value = value(reader, typed, of, kind)?;
    Ok(Parameter { name: reader.at(node, of.to_owned()), value, unit, then: None })
}

/// One value, or a list of them: in SSP 2.0 arrays are written with spaces, texts as `Value` elements.
fn value(reader: Reader<'_>, node: Node<'_, '_>, of: &str, kind: &str) -> Result<Given, Error> {
    let inner: Vec<Node<'_, '_>> = elements(node).filter(|n| name(*n) == "Value").collect();
    let texts: Vec<&str> = match (inner.is_empty(), kind) {
        (false, _) => inner.iter().map(|n| reader.attribute(*n, "value")).collect::<Result<_, _>>()?,
        (true, "String" | "Enumeration" | "Binary") => vec![reader.attribute(node, "value")?],
        (true, _) => reader.attribute(node, "value")?.split_whitespace().collect(),
    };
    let unfit = |text: &str, wanted: &str| {
        reader.fail(node, format!("`{of}` is `{text}`; expected {wanted} in `{kind}`"))
    };
    let mut values = Vec::new();
    for text in &texts {
        values.push(match kind {
            "String" => Given::Text((*text).to_owned()),
            "Enumeration" | "Binary" => Given::Typed((*text).to_owned()),
            "Boolean" => match *text {
                "true" | "1" => Given::Flag(true),
                "false" | "0" => Given::Flag(false),
                _ => return unfit(text, "`true` or `false`"),
            },
            "Real" | "Float64" | "Float32" => match text.parse() {
                Ok(x) => Given::Number(x),
                Err(_) => return unfit(text, "a number"),
            },
            _ => match text.parse::<i128>() {
                Ok(x) if x < i64::MIN.into() || x > u64::MAX.into() => {
                    return unfit(text, "an integer of at most 64 bits");
                }
                Ok(x) if x.unsigned_abs() > LONGEST_IN_A_REAL.into() => Given::Typed(x.to_string()),
                Ok(x) => Given::Number(x as f64),
                Err(_) => return unfit(text, "an integer"),
            },
        });
    }
    match values.len() {
        0 => unfit("", "a value"),
        1 => Ok(values.swap_remove(0)),
        _ => Ok(Given::List(values)),
    }
}
