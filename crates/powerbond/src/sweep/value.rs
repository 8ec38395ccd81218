//! Values of parameters, as they are written in a plan.

use crate::Error;
use crate::source::Node;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A value of a parameter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Value {
    /// A number.
    Number(f64),
    /// A text, or an integer that has more digits than a number holds.
    Text(String),
    /// True or false.
    Flag(bool),
}

impl Value {
    pub(super) fn read(node: Node<'_>) -> Result<Self, Error> {
        if node.is_text() {
            return Ok(Value::Text(node.text()?.value));
        }
        if node.is_flag() {
            return Ok(Value::Flag(node.flag()?.value));
        }
        if node.is_list() || node.is_table() {
            return node.expected("a number, a string, `true` or `false`");
        }
        if let Some(whole) = node.long_integer() {
            return Ok(Value::Text(whole.to_string()));
        }
        Ok(Value::Number(node.number()?.value))
    }

    /// As it was written.
    pub fn to_json(&self) -> serde_json::Value {
        match self {
            Value::Number(x) => (*x).into(),
            Value::Text(text) => text.clone().into(),
            Value::Flag(flag) => (*flag).into(),
        }
    }

    /// As a number, if it is one.
    pub fn number(&self) -> Option<f64> {
        match self {
            Value::Number(x) => Some(*x),
            Value::Text(_) | Value::Flag(_) => None,
        }
    }
}

/// As it is typed after `--set name=`: every bit of a number, and no point in an integer.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Number(x) if x.fract() == 0.0 && x.abs() < 1e15 && (*x != 0.0 || x.is_sign_positive()) => {
                write!(f, "{x}")
            }
            Value::Number(x) => write!(f, "{x:?}"),
            Value::Text(text) => f.write_str(text),
            Value::Flag(flag) => write!(f, "{flag}"),
        }
    }
}
