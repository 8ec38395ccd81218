//! TOML values with their places, read with messages that say what was found and what would be right.

use crate::Error;
use crate::number::LONGEST_IN_A_REAL;
use crate::source::{At, Source};
use powerbond_core::suggest::hint;
use std::sync::Arc;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A value of the file.
#[derive(Clone, Copy)]
pub struct Node<'a> {
    source: &'a Arc<Source>,
    value: &'a Spanned<DeValue<'a>>,
    /// The key it stands under, for messages.
    key: &'a str,
}

/// A table whose keys have been checked against what is known.
#[derive(Clone, Copy)]
pub struct Table<'a> {
    source: &'a Arc<Source>,
    table: &'a DeTable<'a>,
    offset: usize,
}

/// The top table of a file.
pub fn top<'a>(
    source: &'a Arc<Source>,
    parsed: &'a Spanned<DeTable<'a>>,
    known: &[&str],
) -> Result<Table<'a>, Error> {
    let table = Table { source, table: parsed.get_ref(), offset: 0 };
    table.check_keys("the file", known)?;
    Ok(table)
}

/// What other tools call a key.
fn elsewhere(name: &str) -> Option<&'static str> {
    Some(match name.to_lowercase().replace(['_', '-'], "").as_str() {
        "end" | "endtime" | "stoptime" | "tend" | "tstop" | "duration" => "stop",
        "begin" | "begintime" | "starttime" | "tstart" => "start",
        "dt" | "h" | "stepsize" | "basestepsize" => "step",
        "source" | "src" => "from",
        "target" | "sink" | "destination" => "to",
        "factor" | "scale" => "gain",
        "simulators" | "components" | "fmus" | "models" | "slaves" => "subsystems",
        "initialvalues" | "startvalues" => "start",
        "signals" | "sources" => "inputs",
        "algorithm" => "method",
        "output" | "outputs" | "logging" => "record",
        _ => return None,
    })
}

impl<'a> Table<'a> {
    fn check_keys(&self, what: &str, known: &[&str]) -> Result<(), Error> {
        for key in self.table.keys() {
            let name: &str = key.get_ref();
            if !known.contains(&name) {
                let hint = match elsewhere(name).filter(|own| known.contains(own)) {
                    Some(own) => format!(" Did you mean `{own}`?"),
                    None => hint(name, known.iter().copied()),
                };
                let place = Some(self.source.place(key.span().start));
                return Err(Error::input(place, format!("{what} has no key `{name}`.{hint}")));
            }
        }
        Ok(())
    }

    /// The value of `key`, if it is there.
    pub fn get(&self, key: &'a str) -> Option<Node<'a>> {
        let (key, value) = self.table.get_key_value(key)?;
        Some(Node { source: self.source, value, key: key.get_ref() })
    }

    /// The value of `key`; an error that names `what` if it is missing.
    pub fn require(&self, key: &'a str, what: &str) -> Result<Node<'a>, Error> {
        self.get(key).ok_or_else(|| {
            Error::input(Some(self.source.place(self.offset)), format!("{what} needs a key `{key}`"))
        })
    }

    /// All entries in the order of their keys.
    pub fn entries(&self) -> Vec<(At<String>, Node<'a>)> {
        self.table
            .iter()
            .map(|(key, value)| {
                let name: &'a str = key.get_ref();
                let at = At::file(name.to_owned(), self.source, key.span().start);
                (at, Node { source: self.source, value, key: name })
            })
            .collect()
    }
}

impl<'a> Node<'a> {
    /// An error at this value.
    pub fn fail<T>(&self, message: impl Into<String>) -> Result<T, Error> {
        Err(Error::input(Some(self.source.place(self.value.span().start)), message))
    }

    /// This value with its place.
    pub fn at<T>(&self, value: T) -> At<T> {
        At::file(value, self.source, self.value.span().start)
    }

    fn found(&self) -> String {
        match self.value.get_ref() {
            DeValue::String(text) => format!("the text \"{text}\""),
            DeValue::Integer(n) => n.as_str().to_owned(),
            DeValue::Float(x) => x.as_str().to_owned(),
            DeValue::Boolean(b) => b.to_string(),
            DeValue::Array(_) => "a list".to_owned(),
            DeValue::Table(_) => "a table".to_owned(),
            DeValue::Datetime(d) => format!("the date {d}"),
        }
    }

    /// An error that says what was found here and what is needed.
    pub fn expected<T>(&self, wanted: &str) -> Result<T, Error> {
        self.fail(format!("`{}` is {}; {wanted} is needed", self.key, self.found()))
    }

    /// A number, finite or not.
    pub fn any_number(&self) -> Result<f64, Error> {
        let parsed = match self.value.get_ref() {
            DeValue::Integer(n) => {
                i64::from_str_radix(&n.as_str().replace('_', ""), n.radix()).ok().map(|n| n as f64)
            }
            DeValue::Float(x) => x.as_str().replace('_', "").parse().ok(),
            _ => None,
        };
        parsed.map_or_else(|| self.expected("a number"), Ok)
    }

    /// The digits of a whole number that a real cannot hold.
    pub fn long_whole_number(&self) -> Option<String> {
        let DeValue::Integer(n) = self.value.get_ref() else { return None };
        let n = i64::from_str_radix(&n.as_str().replace('_', ""), n.radix()).ok()?;
        (n.unsigned_abs() > LONGEST_IN_A_REAL).then(|| n.to_string())
    }

    /// A finite number.
    pub fn number(&self) -> Result<At<f64>, Error> {
        let x = self.any_number()?;
        if x.is_finite() { Ok(self.at(x)) } else { self.expected("a finite number") }
    }

    /// A whole number from `min` to `max`.
    pub fn count(&self, min: u32, max: u32) -> Result<At<u32>, Error> {
        let x = self.any_number()?;
        if x.fract() == 0.0 && x >= f64::from(min) && x <= f64::from(max) {
            Ok(self.at(x as u32))
        } else {
            self.expected(&format!("a whole number from {min} to {max}"))
        }
    }

    /// A text.
    pub fn text(&self) -> Result<At<String>, Error> {
        match self.value.get_ref() {
            DeValue::String(text) => Ok(self.at(text.to_string())),
            _ => self.expected("a text in quotes"),
        }
    }

    /// True or false.
    pub fn flag(&self) -> Result<At<bool>, Error> {
        match self.value.get_ref() {
            DeValue::Boolean(b) => Ok(self.at(*b)),
            _ => self.expected("`true` or `false`"),
        }
    }

    /// A list.
    pub fn list(&self) -> Result<Vec<Node<'a>>, Error> {
        match self.value.get_ref() {
            DeValue::Array(items) => {
                Ok(items.iter().map(|value| Node { source: self.source, value, key: self.key }).collect())
            }
            _ => self.expected("a list in [ ]"),
        }
    }

    /// A text or a list of texts.
    pub fn texts(&self) -> Result<Vec<At<String>>, Error> {
        match self.value.get_ref() {
            DeValue::String(_) => Ok(vec![self.text()?]),
            DeValue::Array(_) => self.list()?.iter().map(Node::text).collect(),
            _ => self.expected("a text or a list of texts"),
        }
    }

    /// A table with known keys; `what` names it in messages.
    pub fn table(&self, what: &str, known: &[&str]) -> Result<Table<'a>, Error> {
        let table = self.open_table()?;
        table.check_keys(what, known)?;
        Ok(table)
    }

    /// A table whose keys are the user's own names.
    pub fn open_table(&self) -> Result<Table<'a>, Error> {
        match self.value.get_ref() {
            DeValue::Table(table) => {
                Ok(Table { source: self.source, table, offset: self.value.span().start })
            }
            _ => self.expected("a table"),
        }
    }

    /// Which kind of value it is.
    pub fn is_text(&self) -> bool {
        self.value.get_ref().is_str()
    }

    /// Which kind of value it is.
    pub fn is_table(&self) -> bool {
        self.value.get_ref().is_table()
    }

    /// Which kind of value it is.
    pub fn is_list(&self) -> bool {
        self.value.get_ref().is_array()
    }

    /// Which kind of value it is.
    pub fn is_flag(&self) -> bool {
        self.value.get_ref().is_bool()
    }
}
