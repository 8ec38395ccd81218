//! Values of variables as people write them, and whether they fit a variable.

use crate::description::{Kind, TypeDefinition};
use std::fmt;

/// A value for a variable of any type.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A real number.
    Real(f64),
    /// An integer, signed or not, of up to 64 bits; also the value of an enumeration.
    Integer(i128),
    /// True or false.
    Boolean(bool),
    /// A text; also the name of an enumeration's item.
    Text(String),
    /// Bytes.
    Binary(Vec<u8>),
    /// The elements of an array, row by row.
    List(Vec<Value>),
}

impl Value {
    /// Reads what was typed for a variable of type `kind`: `1.5`, `true`, `Item`, `[1, 2, 3]`, or any text for a string.
    pub fn parse(text: &str, kind: Kind) -> Option<Value> {
        let trimmed = text.trim();
        if let Some(list) = trimmed.strip_prefix('[').and_then(|t| t.strip_suffix(']')) {
            let items = list.split(',').map(|item| Value::parse(item, kind));
            return items.collect::<Option<Vec<_>>>().map(Value::List);
        }
        match kind {
            Kind::Float64 | Kind::Float32 => trimmed.parse().ok().map(Value::Real),
            Kind::Boolean | Kind::Clock => match trimmed {
                "true" | "1" => Some(Value::Boolean(true)),
                "false" | "0" => Some(Value::Boolean(false)),
                _ => None,
            },
            Kind::String => Some(Value::Text(text.to_owned())),
            Kind::Binary => hex(trimmed).map(Value::Binary),
            Kind::Enumeration => {
                Some(trimmed.parse().map_or_else(|_| Value::Text(trimmed.to_owned()), Value::Integer))
            }
            _ => trimmed.parse().ok().map(Value::Integer),
        }
    }

    /// As a number for a variable of type `kind` (of `definition`), if it fits: reals take integers, integers
    /// take reals without a fraction, enumerations take the name of an item, booleans take 0 and 1.
    pub fn number(&self, kind: Kind, definition: Option<&TypeDefinition>) -> Option<f64> {
        let range = kind.range();
        // An enumeration has its items and no other values; a type without items says nothing.
        let items = definition.map_or(&[][..], |d| &d.items);
        let is_item = |x: f64| items.is_empty() || items.iter().any(|item| item.value as f64 == x);
        let whole = |x: f64| {
            let fits = x.fract() == 0.0 && range.is_none_or(|(low, high)| low <= x && x <= high);
            (fits && is_item(x)).then_some(x)
        };
        match (self, kind) {
            (Value::Real(x), Kind::Float64 | Kind::Float32) => Some(*x),
            (Value::Integer(i), Kind::Float64 | Kind::Float32) => Some(*i as f64),
            (Value::Boolean(b), Kind::Boolean) => Some(f64::from(*b)),
            (Value::Integer(i @ (0 | 1)), Kind::Boolean) => Some(*i as f64),
            (Value::Real(x), Kind::Boolean) if *x == 0.0 || *x == 1.0 => Some(*x),
            (Value::Text(name), Kind::Enumeration) => {
                items.iter().find(|item| *item.name == **name).map(|item| item.value as f64)
            }
            // The limits of 64 bits are no reals: what would be rounded to them is compared as it is.
            (Value::Integer(i), Kind::UInt64) if !(0..=i128::from(u64::MAX)).contains(i) => None,
            (Value::Integer(i), Kind::Int64) if i64::try_from(*i).is_err() => None,
            (Value::Integer(i), _) if range.is_some() => whole(*i as f64),
            (Value::Real(x), _) if range.is_some() => whole(*x),
            _ => None,
        }
    }

    /// The elements: a list's, or the value itself.
    pub fn elements(&self) -> &[Value] {
        match self {
            Value::List(items) => items,
            single => std::slice::from_ref(single),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Real(x) => write!(f, "{x:?}"),
            Value::Integer(i) => write!(f, "{i}"),
            Value::Boolean(b) => write!(f, "{b}"),
            Value::Text(text) => write!(f, "\"{}\"", text.escape_debug()),
            Value::Binary(bytes) => bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}")),
            Value::List(items) => {
                write!(f, "[")?;
                for (i, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", if i > 0 { ", " } else { "" })?;
                }
                write!(f, "]")
            }
        }
    }
}

impl From<f64> for Value {
    fn from(x: f64) -> Self {
        Value::Real(x)
    }
}

impl From<i64> for Value {
    fn from(i: i64) -> Self {
        Value::Integer(i.into())
    }
}

impl From<bool> for Value {
    fn from(b: bool) -> Self {
        Value::Boolean(b)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::Text(text.to_owned())
    }
}

/// Bytes written as hexadecimal digits.
pub(crate) fn hex(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u32> = text.chars().map(|c| c.to_digit(16)).collect::<Option<_>>()?;
    digits.len().is_multiple_of(2).then(|| digits.chunks(2).map(|d| (d[0] * 16 + d[1]) as u8).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_fit_or_are_refused() {
        let number = |value: Value, kind| value.number(kind, None);
        assert_eq!(number(Value::Integer(3), Kind::Float64), Some(3.0));
        assert_eq!(number(Value::Real(3.0), Kind::Int32), Some(3.0));
        assert_eq!(number(Value::Real(3.5), Kind::Int32), None);
        assert_eq!(number(Value::Integer(300), Kind::UInt8), None);
        assert_eq!(number(Value::Integer(-1), Kind::UInt16), None);
        assert_eq!(number(Value::Boolean(true), Kind::Float64), None);
        assert_eq!(number(Value::Integer(1), Kind::Boolean), Some(1.0));
        assert_eq!(number(Value::Text("x".into()), Kind::Int32), None);
        let item =
            |name: &str, value| crate::description::Item { name: name.into(), value, description: "".into() };
        let gear = TypeDefinition {
            name: "Gear".into(),
            kind: Kind::Enumeration,
            unit: None,
            quantity: None,
            relative_quantity: false,
            min: None,
            max: None,
            nominal: None,
            items: vec![item("reverse", -1), item("first", 1)],
            description: String::new(),
        };
        let gear = |value: Value| value.number(Kind::Enumeration, Some(&gear));
        assert_eq!(gear(Value::Text("reverse".into())), Some(-1.0));
        assert_eq!((gear(Value::Integer(1)), gear(Value::Integer(0))), (Some(1.0), None));
        assert_eq!(Value::parse("[1, 2.5]", Kind::Float64).unwrap().to_string(), "[1.0, 2.5]");
        assert_eq!(Value::parse("0aFF", Kind::Binary), Some(Value::Binary(vec![10, 255])));
        assert_eq!(Value::parse("yes", Kind::Boolean), None);
    }
}
