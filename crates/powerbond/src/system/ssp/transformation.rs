//! Transformations of SSP: of a number by factor and offset, or by a table of booleans, integers or items.

use crate::Error;
use crate::error::Collector;
use crate::source::xml::{Node, Reader, elements, name};
use crate::system::Given;

/// What becomes of a value on its way, after its unit was converted.
#[derive(Clone, Debug, PartialEq)]
pub enum Transformation {
    /// `factor · value + offset`.
    Linear {
        /// Multiplies.
        factor: f64,
        /// Is added.
        offset: f64,
    },
    /// `(source, target)`.
    Booleans(Vec<(bool, bool)>),
    /// `(source, target)`, of integers or of the numbers of items.
    Integers(Vec<(i64, i64)>),
    /// `(source, target)`, names of items.
    Items(Vec<(String, String)>),
}

const NAMES: [&str; 4] = [
    "LinearTransformation",
    "BooleanMappingTransformation",
    "IntegerMappingTransformation",
    "EnumerationMappingTransformation",
];

impl Transformation {
    /// The transformation inside of `node`, if there is one.
    pub fn read(reader: Reader<'_>, node: Node<'_, '_>) -> Result<Option<Self>, Error> {
        let Some(found) = elements(node).find(|n| NAMES.contains(&name(*n))) else { return Ok(None) };
        Ok(Some(match name(found) {
            "LinearTransformation" => Transformation::Linear {
                factor: reader.number(found, "factor")?.unwrap_or(1.0),
                offset: reader.number(found, "offset")?.unwrap_or(0.0),
            },
            "BooleanMappingTransformation" => {
                Transformation::Booleans(entries(reader, found, |text| match text.trim() {
                    "true" | "1" => Some(true),
                    "false" | "0" => Some(false),
                    _ => None,
                })?)
            }
            "IntegerMappingTransformation" => {
                Transformation::Integers(entries(reader, found, |text| text.trim().parse().ok())?)
            }
            _ => Transformation::Items(entries(reader, found, |text| Some(text.to_owned()))?),
        }))
    }

    /// Of a value of a parameter; an error says in words what does not fit.
    pub fn apply(&self, value: Given) -> Result<Given, String> {
        if let Given::List(items) = value {
            return Ok(Given::List(
                items.into_iter().map(|item| self.apply(item)).collect::<Result<_, _>>()?,
            ));
        }
        let number =
            |value: &Given| value.number().ok_or_else(|| format!("{} is not a number", value.to_json()));
        match self {
            Transformation::Linear { factor, offset } if *factor == 1.0 && *offset == 0.0 => Ok(value),
            Transformation::Linear { factor, offset } => Ok(Given::Number(factor * number(&value)? + offset)),
            Transformation::Booleans(map) => {
                let x = number(&value)? != 0.0;
                Ok(Given::Flag(target(map, x)))
            }
            Transformation::Integers(map) => {
                let x = number(&value)? as i64;
                let y = target(map, x);
                // Every digit of what the table does not name is kept.
                Ok(if y == x { value } else { Given::from(y) })
            }
            Transformation::Items(map) => {
                let item = match &value {
                    Given::Text(item) | Given::Typed(item) => item.clone(),
                    other => other.to_json().to_string(),
                };
                Ok(Given::Typed(target(map, item)))
            }
        }
    }
}

/// What a table makes of a value: what it does not name stays as it is.
fn target<T: PartialEq + Clone>(map: &[(T, T)], value: T) -> T {
    map.iter().find(|(source, _)| *source == value).map_or(value, |(_, target)| target.clone())
}

fn entries<T: PartialEq>(
    reader: Reader<'_>,
    node: Node<'_, '_>,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<Vec<(T, T)>, Error> {
    let mut problems = Collector::new();
    let mut map: Vec<(T, T)> = Vec::new();
    for entry in elements(node) {
        let side = |attribute| {
            let text = reader.attribute(entry, attribute)?;
            let unfit = || {
                reader.fail(entry, format!("`{attribute}` is `{text}`, which does not fit `{}`", name(node)))
            };
            parse(text).map_or_else(unfit, Ok)
        };
        let pair = reader.expect(entry, "MapEntry").and_then(|()| Ok((side("source")?, side("target")?)));
        let Some((source, target)) = problems.keep(pair) else { continue };
        if map.iter().any(|(other, _)| *other == source) {
            let text = entry.attribute("source").unwrap_or_default();
            problems.keep::<()>(reader.fail(entry, format!("two entries for `{text}`")));
            continue;
        }
        map.push((source, target));
    }
    problems.finish(map)
}
