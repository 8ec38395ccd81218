//! A method with its knobs as a user chose them, checked against the catalogue.

use super::{Domain, Entry, Kind, find, of_kind};
use crate::Error;
use crate::number::short;
use crate::source::At;
use crate::system::reader::Node;
use powerbond_core::suggest::hint;

/// The value of a knob.
#[derive(Clone, Debug, PartialEq)]
pub enum KnobValue {
    /// A number.
    Number(f64),
    /// A word.
    Word(String),
    /// Numbers by name; places are kept in [`PolicySpec`].
    ByName(Vec<(String, f64)>),
    /// Names.
    Names(Vec<String>),
}

/// A chosen method.
#[derive(Clone, Debug)]
pub struct PolicySpec {
    /// Which one.
    pub entry: At<&'static Entry>,
    /// What was set, in the order of writing.
    pub knobs: Vec<(&'static str, At<KnobValue>)>,
}

impl PolicySpec {
    /// A method with all knobs at their defaults. The name must be in the catalogue.
    pub fn named(kind: Kind, name: &str) -> Self {
        let entry =
            find(kind, name).unwrap_or_else(|| panic!("the catalogue has no {} `{name}`", kind.key()));
        PolicySpec { entry: At::default(entry), knobs: Vec::new() }
    }

    /// Reads `"name"` or `{ kind = "name", knob = … }`.
    pub fn read(kind: Kind, node: Node<'_>) -> Result<Self, Error> {
        let name_node = if node.is_table() {
            node.open_table()?.require("kind", &format!("`{}`", kind.key()))?
        } else {
            node
        };
        if !node.is_table() && !node.is_text() {
            return node.expected("a name in quotes or a table with `kind`");
        }
        let name = name_node.text()?;
        let Some(entry) = find(kind, &name.value) else {
            let hint = hint(&name.value, of_kind(kind).map(|e| e.name));
            return name_node.fail(format!("there is no {} `{}`.{hint}", kind.key(), name.value));
        };
        let mut spec = PolicySpec { entry: name.with(entry), knobs: Vec::new() };
        if node.is_table() {
            let known: Vec<&str> =
                std::iter::once("kind").chain(entry.knobs.iter().map(|k| k.name)).collect();
            let table = node.table(&format!("{} `{}`", kind.key(), entry.name), &known)?;
            for knob in entry.knobs {
                if let Some(value) = table.get(knob.name) {
                    spec.knobs.push((knob.name, value.at(read_knob(value, knob.domain)?)));
                }
            }
        }
        Ok(spec)
    }

    /// The knob `name`, if it was set.
    pub fn knob(&self, name: &str) -> Option<&At<KnobValue>> {
        self.knobs.iter().find(|(n, _)| *n == name).map(|(_, v)| v)
    }

    /// A number, if it was set as one.
    pub fn number(&self, name: &str) -> Option<f64> {
        match self.knob(name)?.value {
            KnobValue::Number(x) => Some(x),
            _ => None,
        }
    }

    /// A word, or `default`.
    pub fn word<'a>(&'a self, name: &str, default: &'a str) -> &'a str {
        match self.knob(name).map(|k| &k.value) {
            Some(KnobValue::Word(word)) => word,
            _ => default,
        }
    }

    /// The name of the method.
    pub fn name(&self) -> &'static str {
        self.entry.value.name
    }

    /// As JSON, for the record of what was run.
    pub fn to_json(&self) -> serde_json::Value {
        let mut map = serde_json::Map::new();
        map.insert("kind".to_owned(), self.name().into());
        for (name, value) in &self.knobs {
            let json = match &value.value {
                KnobValue::Number(x) => serde_json::json!(x),
                KnobValue::Word(word) => word.as_str().into(),
                KnobValue::ByName(list) => {
                    list.iter().map(|(k, v)| (k.clone(), serde_json::json!(v))).collect()
                }
                KnobValue::Names(names) => names.clone().into(),
            };
            map.insert((*name).to_owned(), json);
        }
        map.into()
    }
}

/// A number that stands elsewhere in the file but obeys the rules of a knob: a bond's own tolerance.
pub fn knob_number(kind: Kind, method: &str, knob: &str, node: Node<'_>) -> Result<f64, Error> {
    match find(kind, method).and_then(|e| e.knobs.iter().find(|k| k.name == knob)).map(|k| k.domain) {
        Some(Domain::Number { min, max, open }) => number(node, min, max, open),
        _ => Ok(node.number()?.value),
    }
}

fn read_knob(node: Node<'_>, domain: Domain) -> Result<KnobValue, Error> {
    match domain {
        Domain::Number { min, max, open } => Ok(KnobValue::Number(number(node, min, max, open)?)),
        Domain::NumberByName { min, max, open } if node.is_table() => by_name(node, min, max, open),
        Domain::NumberByName { min, max, open } => Ok(KnobValue::Number(number(node, min, max, open)?)),
        Domain::NumberOrWord { words, .. } if node.is_text() => word(node, words),
        Domain::NumberOrWord { min, max, .. } => Ok(KnobValue::Number(number(node, min, max, false)?)),
        Domain::Choice(words) => word(node, words),
        Domain::Flag => Ok(KnobValue::Number(f64::from(u8::from(node.flag()?.value)))),
        Domain::Names => Ok(KnobValue::Names(
            node.list()?.iter().map(|n| Ok(n.text()?.value)).collect::<Result<_, Error>>()?,
        )),
        Domain::FeedThrough if node.is_table() => by_name(node, f64::MIN, f64::MAX, false),
        Domain::FeedThrough => word(node, &["none", "model", "identified"]),
    }
}

fn word(node: Node<'_>, words: &[&str]) -> Result<KnobValue, Error> {
    let listed = || words.iter().map(|w| format!("\"{w}\"")).collect::<Vec<_>>().join(", ");
    if !node.is_text() {
        return node.expected(&format!("one of {}", listed()));
    }
    let text = node.text()?.value;
    if words.contains(&text.as_str()) {
        Ok(KnobValue::Word(text))
    } else {
        node.expected(&format!("one of {}", listed()))
    }
}

fn by_name(node: Node<'_>, min: f64, max: f64, open: bool) -> Result<KnobValue, Error> {
    let mut list = Vec::new();
    for (name, value) in node.open_table()?.entries() {
        list.push((name.value, number(value, min, max, open)?));
    }
    Ok(KnobValue::ByName(list))
}

/// Checks a number that was given elsewhere, such as in an option, against the rules of a knob.
pub fn check_knob(kind: Kind, method: &str, knob: &str, given: &At<f64>) -> Result<(), Error> {
    let rules = find(kind, method).and_then(|e| e.knobs.iter().find(|k| k.name == knob)).map(|k| k.domain);
    match rules {
        Some(Domain::Number { min, max, open }) if !within(given.value, min, max, open) => {
            Err(Error::input(given.place(), format!("`{knob}` must be {}", wanted(min, max, open))))
        }
        _ => Ok(()),
    }
}

fn within(x: f64, min: f64, max: f64, open: bool) -> bool {
    x >= min && x <= max && !(open && x == min)
}

fn wanted(min: f64, max: f64, open: bool) -> String {
    match (min, max, open) {
        (0.0, f64::MAX, true) => "a number above 0".to_owned(),
        (0.0, f64::MAX, false) => "a number of 0 or more".to_owned(),
        (_, f64::MAX, _) => format!("a number of {} or more", short(min)),
        (_, _, true) => format!("a number above {}, at most {}", short(min), short(max)),
        (_, _, false) => format!("a number from {} to {}", short(min), short(max)),
    }
}

fn number(node: Node<'_>, min: f64, max: f64, open: bool) -> Result<f64, Error> {
    let x = node.number()?.value;
    if within(x, min, max, open) { Ok(x) } else { node.expected(&wanted(min, max, open)) }
}
