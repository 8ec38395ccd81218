//! A method with its knobs as a user chose them, checked against the catalogue.

use super::{Domain, Entry, Kind, Make, Nature, find, of_kind};
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
    /// A method with all knobs at their defaults.
    pub fn of(entry: &'static Entry) -> Self {
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

    /// What the word of a knob stands for, or `default` if it was not set. `words` are all that the knob allows.
    pub fn choice<T: Copy>(&self, name: &str, default: T, words: &[(&str, T)]) -> T {
        let Some(KnobValue::Word(word)) = self.knob(name).map(|k| &k.value) else { return default };
        match words.iter().find(|(known, _)| known == word) {
            Some((_, meant)) => *meant,
            None => panic!("knob `{name}` of `{}` allows \"{word}\", but nothing is made of it", self.name()),
        }
    }

    /// Whether a flag is set.
    pub fn flag(&self, name: &str) -> bool {
        self.number(name) == Some(1.0)
    }

    /// Whether the method is of this nature.
    pub fn is(&self, nature: Nature) -> bool {
        self.entry.value.nature == nature
    }

    /// How it becomes a policy.
    pub fn make(&self) -> Make {
        self.entry.value.make
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
pub fn knob_number(entry: &Entry, knob: &str, node: Node<'_>) -> Result<f64, Error> {
    let (min, max, open) = range(entry, knob);
    number(node, min, max, open)
}

/// The range of a knob that is a number, and whether its least is refused.
fn range(entry: &Entry, knob: &str) -> (f64, f64, bool) {
    let domain = entry.knobs.iter().find(|k| k.name == knob).map(|k| k.domain);
    let Some(Domain::Number { min, max, open }) = domain else {
        panic!("`{}` has no knob `{knob}` that is a number", entry.name)
    };
    (min, max, open)
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
pub fn check_knob(entry: &Entry, knob: &str, given: &At<f64>) -> Result<(), Error> {
    let (min, max, open) = range(entry, knob);
    if within(given.value, min, max, open) {
        return Ok(());
    }
    Err(Error::input(given.place(), format!("`{knob}` must be {}", wanted(min, max, open))))
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
