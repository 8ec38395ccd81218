//! One tree for TOML, YAML and JSON, read with messages that say where, what was found and what would be right.

use super::{At, Source};
use crate::Error;
use crate::error::Collector;
use crate::number::LONGEST_IN_A_REAL;
use powerbond_core::suggest::hint;
use std::sync::Arc;

/// What stands in a text.
#[derive(Debug)]
pub struct Tree {
    source: Arc<Source>,
    words: &'static Words,
    root: Item,
}

/// How a format speaks of its values.
#[derive(Debug)]
pub(super) struct Words {
    pub text: &'static str,
    pub list: &'static str,
    pub table: &'static str,
}

/// A value and the byte it begins at.
#[derive(Debug)]
pub(super) struct Item {
    pub offset: usize,
    pub value: Value,
}

#[derive(Debug)]
pub(super) enum Value {
    Text(String),
    /// As it was written, and what it is; none where no real number can be made of it.
    Number {
        written: String,
        value: Option<f64>,
        whole: Option<i128>,
    },
    Flag(bool),
    /// Without quotes, in YAML: what it is depends on what is needed.
    Plain(String),
    /// Nothing that a reader asks for; how it is called in messages.
    Other(String),
    List(Vec<Item>),
    Table(Entries),
}

/// The entries of a table; no key is there twice.
pub(super) type Entries = Vec<(Key, Item)>;

#[derive(Debug)]
pub(super) struct Key {
    pub name: String,
    pub offset: usize,
}

/// A value of a tree.
#[derive(Clone, Copy)]
pub struct Node<'a> {
    tree: &'a Tree,
    item: &'a Item,
    /// The key it stands under, for messages.
    key: &'a str,
}

/// A table of a tree.
#[derive(Clone, Copy)]
pub struct Table<'a> {
    tree: &'a Tree,
    entries: &'a [(Key, Item)],
    offset: usize,
    /// Some keys are not known, and were told.
    strange: bool,
}

impl Tree {
    pub(super) fn new(source: &Arc<Source>, words: &'static Words, root: Item) -> Self {
        Tree { source: source.clone(), words, root }
    }

    /// All of it.
    pub fn root(&self) -> Node<'_> {
        Node { tree: self, item: &self.root, key: "" }
    }
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
    /// An error with every key that is not known.
    fn check_keys(&self, what: &str, known: &[&str]) -> Result<(), Error> {
        let mut problems = Collector::new();
        for (Key { name, offset }, _) in self.entries {
            if !known.contains(&name.as_str()) {
                let hint = match elsewhere(name).filter(|own| known.contains(own)) {
                    Some(own) => format!(" Did you mean `{own}`?"),
                    None => hint(name, known.iter().copied()),
                };
                let place = self.tree.source.place(*offset);
                problems.add(Error::input(Some(place), format!("unknown key `{name}` in {what}.{hint}")));
            }
        }
        problems.finish(())
    }

    fn node(&self, (key, item): &'a (Key, Item)) -> Node<'a> {
        Node { tree: self.tree, item, key: &key.name }
    }

    /// The value of `key`, if it is there.
    pub fn get(&self, key: &str) -> Option<Node<'a>> {
        self.entries.iter().find(|(k, _)| k.name == key).map(|entry| self.node(entry))
    }

    /// The value of `key`; an error that names `what` if it is missing.
    pub fn require(&self, key: &str, what: &str) -> Result<Node<'a>, Error> {
        self.get(key).map_or_else(|| self.fail(format!("{what} lacks the key `{key}`")), Ok)
    }

    /// As [`Table::require`], for a reader that goes on: what is missing is kept as a problem. Not where a key is not known,
    /// which is most likely the one that is missing.
    pub fn need(&self, problems: &mut Collector, key: &str, what: &str) -> Option<Node<'a>> {
        if self.strange { self.get(key) } else { problems.keep(self.require(key, what)) }
    }

    /// Every key is known: what is missing has no other name here.
    pub fn is_known(&self) -> bool {
        !self.strange
    }

    /// All entries: of TOML in the order of their keys, else in that of writing.
    pub fn entries(&self) -> Vec<(At<String>, Node<'a>)> {
        let at = |key: &Key| At::file(key.name.clone(), &self.tree.source, key.offset);
        self.entries.iter().map(|entry| (at(&entry.0), self.node(entry))).collect()
    }

    /// An error at the table.
    pub fn fail<T>(&self, message: impl Into<String>) -> Result<T, Error> {
        Err(Error::input(Some(self.tree.source.place(self.offset)), message))
    }
}

impl<'a> Node<'a> {
    /// An error at this value.
    pub fn fail<T>(&self, message: impl Into<String>) -> Result<T, Error> {
        Err(Error::input(Some(self.tree.source.place(self.item.offset)), message))
    }

    /// Something with the place of this value.
    pub fn at<T>(&self, value: T) -> At<T> {
        At::file(value, &self.tree.source, self.item.offset)
    }

    /// An error that says what was found here and what is needed.
    pub fn expected<T>(&self, wanted: &str) -> Result<T, Error> {
        let found = match &self.item.value {
            Value::Text(text) => format!("the string \"{text}\""),
            Value::Number { written, .. } => written.clone(),
            Value::Flag(flag) => flag.to_string(),
            Value::Plain(text) => format!("`{text}`"),
            Value::Other(what) => what.clone(),
            Value::List(_) => "a list".to_owned(),
            Value::Table(_) => self.tree.words.table.to_owned(),
        };
        let what = if self.key.is_empty() { "the file".to_owned() } else { format!("`{}`", self.key) };
        self.fail(format!("{what} is {found}; expected {wanted}"))
    }

    fn as_number(&self) -> Option<f64> {
        match &self.item.value {
            Value::Number { value, .. } => *value,
            Value::Plain(text) => text.parse().ok(),
            _ => None,
        }
    }

    /// True or false; unquoted in YAML, in the words of YAML 1.1.
    fn as_flag(&self) -> Option<bool> {
        match &self.item.value {
            Value::Flag(flag) => Some(*flag),
            Value::Plain(text) => match text.to_ascii_lowercase().as_str() {
                "true" | "yes" | "on" => Some(true),
                "false" | "no" | "off" => Some(false),
                _ => None,
            },
            _ => None,
        }
    }

    /// A number, finite or not.
    pub fn any_number(&self) -> Result<f64, Error> {
        self.as_number().map_or_else(|| self.expected("a number"), Ok)
    }

    /// The digits of an integer that a real cannot hold.
    pub fn long_whole_number(&self) -> Option<String> {
        let Value::Number { whole: Some(n), .. } = self.item.value else { return None };
        (n.unsigned_abs() > u128::from(LONGEST_IN_A_REAL)).then(|| n.to_string())
    }

    /// An integer that a real cannot hold.
    pub fn long_integer(&self) -> Option<i128> {
        let Value::Number { whole: Some(n), .. } = self.item.value else { return None };
        (n as f64 as i128 != n).then_some(n)
    }

    /// A finite number.
    pub fn number(&self) -> Result<At<f64>, Error> {
        let x = self.any_number()?;
        if x.is_finite() { Ok(self.at(x)) } else { self.expected("a finite number") }
    }

    /// An integer from `min` to `max`.
    pub fn count(&self, min: u32, max: u32) -> Result<At<u32>, Error> {
        let x = self.any_number()?;
        if x.fract() == 0.0 && x >= f64::from(min) && x <= f64::from(max) {
            Ok(self.at(x as u32))
        } else {
            self.expected(&format!("an integer from {min} to {max}"))
        }
    }

    /// A text.
    pub fn text(&self) -> Result<At<String>, Error> {
        match &self.item.value {
            Value::Text(text) | Value::Plain(text) => Ok(self.at(text.clone())),
            _ => self.expected(self.tree.words.text),
        }
    }

    /// True or false.
    pub fn flag(&self) -> Result<At<bool>, Error> {
        self.as_flag().map_or_else(|| self.expected("`true` or `false`"), |flag| Ok(self.at(flag)))
    }

    /// One of a few words.
    pub fn one_of<T: Copy>(&self, words: &[(&str, T)]) -> Result<T, Error> {
        let listed: Vec<String> = words.iter().map(|(w, _)| format!("\"{w}\"")).collect();
        let wanted = format!("one of {}", listed.join(", "));
        if !self.is_text() {
            return self.expected(&wanted);
        }
        let text = self.text()?.value;
        let found = words.iter().find(|(w, _)| *w == text);
        found.map_or_else(|| self.expected(&wanted), |(_, value)| Ok(*value))
    }

    /// A list.
    pub fn list(&self) -> Result<Vec<Node<'a>>, Error> {
        match &self.item.value {
            Value::List(items) => {
                Ok(items.iter().map(|item| Node { tree: self.tree, item, key: self.key }).collect())
            }
            _ => self.expected(self.tree.words.list),
        }
    }

    /// A text or a list of texts.
    pub fn texts(&self) -> Result<Vec<At<String>>, Error> {
        match &self.item.value {
            Value::Text(_) | Value::Plain(_) => Ok(vec![self.text()?]),
            Value::List(_) => {
                let mut problems = Collector::new();
                let texts = self.list()?.iter().filter_map(|n| problems.keep(n.text())).collect();
                problems.finish(texts)
            }
            _ => self.expected("a string or a list of strings"),
        }
    }

    /// A table with known keys; `what` names it in messages. The error has all keys that are not known.
    pub fn table(&self, what: &str, known: &[&str]) -> Result<Table<'a>, Error> {
        let table = self.open_table()?;
        table.check_keys(what, known)?;
        Ok(table)
    }

    /// As [`Node::table`], for a reader that goes on: keys that are not known are kept as problems.
    pub fn table_with(
        &self,
        problems: &mut Collector,
        what: &str,
        known: &[&str],
    ) -> Result<Table<'a>, Error> {
        let table = self.open_table()?;
        let strange = problems.keep(table.check_keys(what, known)).is_none();
        Ok(Table { strange, ..table })
    }

    /// A table whose keys are the user's own names.
    pub fn open_table(&self) -> Result<Table<'a>, Error> {
        match &self.item.value {
            Value::Table(entries) => {
                Ok(Table { tree: self.tree, entries, offset: self.item.offset, strange: false })
            }
            _ => self.expected(self.tree.words.table),
        }
    }

    /// Which kind of value it is. Unquoted in YAML, a text is what is neither a number nor true or false.
    pub fn is_text(&self) -> bool {
        match &self.item.value {
            Value::Text(_) => true,
            Value::Plain(_) => self.as_number().is_none() && self.as_flag().is_none(),
            _ => false,
        }
    }

    /// Which kind of value it is.
    pub fn is_table(&self) -> bool {
        matches!(self.item.value, Value::Table(_))
    }

    /// Which kind of value it is.
    pub fn is_list(&self) -> bool {
        matches!(self.item.value, Value::List(_))
    }

    /// Which kind of value it is.
    pub fn is_flag(&self) -> bool {
        self.as_flag().is_some()
    }
}
