//! YAML as a tree with places. Aliases are refused: a few lines of them are gigabytes.

use super::Source;
use super::node::{Entries, Item, Key, Tree, Value, Words};
use crate::Error;
use crate::error::Collector;
use saphyr_parser::{Event, Parser, ScalarStyle, StrInput};
use std::collections::HashSet;
use std::sync::Arc;

/// Deeper than any honest file.
const MAX_DEPTH: usize = 32;

static WORDS: Words = Words { text: "a string", list: "a list", table: "a mapping" };

/// Reads a text with one document.
pub fn parse(source: &Arc<Source>) -> Result<Tree, Error> {
    let parser = Parser::new_from_str(&source.text);
    let mut reader = Reader { source, parser, problems: Collector::new() };
    let root = loop {
        match reader.next()? {
            (Event::StreamStart | Event::DocumentStart(_) | Event::Nothing, _) => {}
            (Event::StreamEnd | Event::DocumentEnd, offset) => {
                return reader.fail(offset, "the file is empty");
            }
            (event, offset) => break reader.item(event, offset, 0)?,
        }
    };
    loop {
        match reader.next()? {
            (Event::DocumentStart(_), offset) => {
                let message = "a second document begins here; there can be one";
                reader.problems.keep(reader.fail::<()>(offset, message));
                break;
            }
            (Event::StreamEnd, _) => break,
            _ => {}
        }
    }
    reader.problems.finish(Tree::new(source, &WORDS, root))
}

struct Reader<'a> {
    source: &'a Arc<Source>,
    parser: Parser<'a, StrInput<'a>>,
    problems: Collector,
}

impl<'a> Reader<'a> {
    fn fail<T>(&self, offset: usize, message: impl Into<String>) -> Result<T, Error> {
        Err(Error::input(Some(self.source.place(offset)), message))
    }

    fn next(&mut self) -> Result<(Event<'a>, usize), Error> {
        let offset = |at: &saphyr_parser::Marker| self.source.offset(at.line(), at.col());
        match self.parser.next() {
            Some(Ok((event, span))) => Ok((event, offset(&span.start))),
            Some(Err(error)) => {
                self.fail(offset(error.marker()), format!("not valid YAML: {}", error.info()))
            }
            None => self.fail(self.source.text.len(), "the file ends too early"),
        }
    }

    fn item(&mut self, event: Event<'a>, offset: usize, depth: usize) -> Result<Item, Error> {
        if depth > MAX_DEPTH {
            return self.fail(offset, format!("nested more than {MAX_DEPTH} deep"));
        }
        let value = match event {
            Event::Scalar(text, style, ..) => scalar(text.into_owned(), style),
            Event::SequenceStart(..) => {
                let mut items = Vec::new();
                loop {
                    match self.next()? {
                        (Event::SequenceEnd, _) => break Value::List(items),
                        (event, at) => items.push(self.item(event, at, depth + 1)?),
                    }
                }
            }
            Event::MappingStart(..) => Value::Table(self.entries(depth)?),
            Event::Alias(_) => return self.fail(offset, "aliases (`*name`) are not supported; write it out"),
            _ => return self.fail(offset, "missing value"),
        };
        Ok(Item { offset, value })
    }

    fn entries(&mut self, depth: usize) -> Result<Entries, Error> {
        let (mut entries, mut keys) = (Entries::new(), HashSet::new());
        loop {
            let key = match self.next()? {
                (Event::MappingEnd, _) => return Ok(entries),
                (Event::Scalar(text, ..), offset) => Key { name: text.into_owned(), offset },
                (_, at) => return self.fail(at, "expected a string as key"),
            };
            if !keys.insert(key.name.clone()) {
                let message = format!("duplicate key `{}`", key.name);
                self.problems.add(Error::input(Some(self.source.place(key.offset)), message));
            }
            let (event, at) = self.next()?;
            entries.push((key, self.item(event, at, depth + 1)?));
        }
    }
}

/// What stands in quotes can only be a text.
fn scalar(text: String, style: ScalarStyle) -> Value {
    match (style, text.as_str()) {
        (ScalarStyle::Plain, "") => Value::Other("empty".to_owned()),
        (ScalarStyle::Plain, "~" | "null" | "Null" | "NULL") => Value::Other(format!("`{text}`")),
        (ScalarStyle::Plain, _) => Value::Plain(text),
        _ => Value::Text(text),
    }
}
