//! YAML, and JSON as a part of it, with the place of every value. Aliases are refused: a few lines of them are gigabytes.

use crate::Error;
use crate::source::{At, Source};
use powerbond_core::suggest::hint;
use saphyr_parser::{Event, Marker, Parser, ScalarStyle};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Deeper than any honest file.
const MAX_DEPTH: usize = 32;

/// A value of the file.
#[derive(Debug)]
pub struct Node {
    source: Arc<Source>,
    offset: usize,
    value: Value,
}

#[derive(Debug)]
enum Value {
    /// `quoted`: it can only be a text.
    Scalar {
        text: String,
        quoted: bool,
    },
    List(Vec<Node>),
    Map(Vec<(At<String>, Node)>),
}

/// A mapping whose keys have been checked against what is known.
pub struct Map<'a> {
    node: &'a Node,
    entries: &'a [(At<String>, Node)],
}

/// Reads a file.
pub fn parse(source: &Arc<Source>) -> Result<Node, Error> {
    let mut line_starts = vec![0];
    line_starts.extend(source.text.match_indices('\n').map(|(i, _)| i + 1));
    let mut reader = Reader { source, line_starts, parser: Parser::new_from_str(&source.text) };
    loop {
        match reader.next()? {
            (Event::StreamStart | Event::DocumentStart(_) | Event::Nothing, _) => {}
            (Event::StreamEnd | Event::DocumentEnd, offset) => {
                return reader.fail(offset, "the file is empty");
            }
            (event, offset) => return reader.node(event, offset, 0),
        }
    }
}

struct Reader<'a> {
    source: &'a Arc<Source>,
    line_starts: Vec<usize>,
    parser: Parser<'a, saphyr_parser::StrInput<'a>>,
}

impl<'a> Reader<'a> {
    fn fail<T>(&self, offset: usize, message: impl Into<String>) -> Result<T, Error> {
        Err(Error::input(Some(self.source.place(offset)), message))
    }

    /// A place of the parser, which counts characters, in bytes.
    fn offset(&self, marker: &Marker) -> usize {
        let start = self.line_starts.get(marker.line().saturating_sub(1));
        let start = start.copied().unwrap_or(self.source.text.len());
        let line = &self.source.text[start..];
        start + line.char_indices().nth(marker.col()).map_or(line.len(), |(i, _)| i)
    }

    fn next(&mut self) -> Result<(Event<'a>, usize), Error> {
        match self.parser.next() {
            Some(Ok((event, span))) => Ok((event, self.offset(&span.start))),
            Some(Err(error)) => {
                let offset = self.offset(error.marker());
                self.fail(offset, format!("not valid YAML or JSON: {}", error.info()))
            }
            None => self.fail(self.source.text.len(), "the file ends too early"),
        }
    }

    fn node(&mut self, event: Event<'a>, offset: usize, depth: usize) -> Result<Node, Error> {
        if depth > MAX_DEPTH {
            return self.fail(offset, format!("nested more than {MAX_DEPTH} deep"));
        }
        let value = match event {
            Event::Scalar(text, style, ..) => {
                Value::Scalar { text: text.into_owned(), quoted: style != ScalarStyle::Plain }
            }
            Event::SequenceStart(..) => {
                let mut items = Vec::new();
                loop {
                    match self.next()? {
                        (Event::SequenceEnd, _) => break Value::List(items),
                        (event, at) => items.push(self.node(event, at, depth + 1)?),
                    }
                }
            }
            Event::MappingStart(..) => {
                let (mut entries, mut keys): (Vec<(At<String>, Node)>, _) = (Vec::new(), BTreeSet::new());
                loop {
                    let key = match self.next()? {
                        (Event::MappingEnd, _) => break Value::Map(entries),
                        (Event::Scalar(text, ..), at) => At::file(text.into_owned(), self.source, at),
                        (_, at) => return self.fail(at, "a key must be a plain word"),
                    };
                    if !keys.insert(key.value.clone()) {
                        return Err(Error::input(
                            key.place(),
                            format!("the key `{}` is there twice", key.value),
                        ));
                    }
                    let (event, at) = self.next()?;
                    entries.push((key, self.node(event, at, depth + 1)?));
                }
            }
            Event::Alias(_) => return self.fail(offset, "aliases (`*name`) are not supported; write it out"),
            _ => return self.fail(offset, "a value is missing here"),
        };
        Ok(Node { source: self.source.clone(), offset, value })
    }
}

impl Node {
    /// An error at this value.
    pub fn fail<T>(&self, message: impl Into<String>) -> Result<T, Error> {
        Err(Error::input(Some(self.source.place(self.offset)), message))
    }

    /// Something with the place of this value.
    pub fn at<T>(&self, value: T) -> At<T> {
        At::file(value, &self.source, self.offset)
    }

    fn found(&self) -> String {
        match &self.value {
            Value::Scalar { text, quoted: true } => format!("the text \"{text}\""),
            Value::Scalar { text, .. } if text.is_empty() => "empty".to_owned(),
            Value::Scalar { text, .. } => format!("`{text}`"),
            Value::List(_) => "a list".to_owned(),
            Value::Map(_) => "a mapping".to_owned(),
        }
    }

    /// An error that says what was found under `key` and what is needed.
    pub fn expected<T>(&self, key: &str, wanted: &str) -> Result<T, Error> {
        self.fail(format!("`{key}` is {}; {wanted} is needed", self.found()))
    }

    /// A text.
    pub fn text(&self, key: &str) -> Result<At<String>, Error> {
        match &self.value {
            Value::Scalar { text, .. } if !text.is_empty() => Ok(self.at(text.clone())),
            _ => self.expected(key, "a text"),
        }
    }

    /// A finite number, or none where it is something else.
    pub fn as_number(&self) -> Option<f64> {
        match &self.value {
            Value::Scalar { text, quoted: false } => text.parse().ok().filter(|x: &f64| x.is_finite()),
            _ => None,
        }
    }

    /// A finite number.
    pub fn number(&self, key: &str) -> Result<At<f64>, Error> {
        self.as_number().map_or_else(|| self.expected(key, "a finite number"), |x| Ok(self.at(x)))
    }

    /// True or false in the words of YAML 1.1, or none where it is something else.
    pub fn as_flag(&self) -> Option<bool> {
        match &self.value {
            Value::Scalar { text, quoted: false } => match text.to_ascii_lowercase().as_str() {
                "true" | "yes" | "on" => Some(true),
                "false" | "no" | "off" => Some(false),
                _ => None,
            },
            _ => None,
        }
    }

    /// A list.
    pub fn list(&self, key: &str) -> Result<&[Node], Error> {
        match &self.value {
            Value::List(items) => Ok(items),
            _ => self.expected(key, "a list"),
        }
    }

    /// A mapping with known keys; `what` names it in messages.
    pub fn map(&self, what: &str, known: &[&str]) -> Result<Map<'_>, Error> {
        let Value::Map(entries) = &self.value else {
            return self.fail(format!("{what} is {}; a mapping is needed", self.found()));
        };
        for (key, _) in entries {
            if !known.contains(&key.value.as_str()) {
                let hint = hint(&key.value, known.iter().copied());
                return Err(Error::input(key.place(), format!("{what} has no key `{}`.{hint}", key.value)));
            }
        }
        Ok(Map { node: self, entries })
    }
}

impl<'a> Map<'a> {
    /// The value of `key`, if it is there.
    pub fn get(&self, key: &str) -> Option<&'a Node> {
        self.entries.iter().find(|(k, _)| k.value == key).map(|(_, node)| node)
    }

    /// The value of `key`; an error that names `what` if it is missing.
    pub fn require(&self, key: &str, what: &str) -> Result<&'a Node, Error> {
        self.get(key).map_or_else(|| self.node.fail(format!("{what} needs a key `{key}`")), Ok)
    }

    /// An error at the mapping.
    pub fn fail<T>(&self, message: impl Into<String>) -> Result<T, Error> {
        self.node.fail(message)
    }
}
