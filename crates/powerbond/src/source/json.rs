//! JSON as a tree with places.

use super::Source;
use super::node::{Entries, Item, Key, Tree, Value, Words};
use crate::Error;
use crate::error::Collector;
use jsonc_parser::ast;
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use std::collections::HashSet;
use std::sync::Arc;

static WORDS: Words = Words { text: "a string in quotes", list: "a list in [ ]", table: "an object in { }" };

/// The standard (RFC 8259) and nothing beyond it.
const STRICT: ParseOptions = ParseOptions {
    allow_comments: false,
    allow_loose_object_property_names: false,
    allow_trailing_commas: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// Reads a text.
pub fn parse(source: &Arc<Source>) -> Result<Tree, Error> {
    let text = source.text.strip_prefix('\u{feff}').unwrap_or(&source.text);
    let mut reader = Reader { source, skipped: source.text.len() - text.len(), problems: Collector::new() };
    let parsed = match parse_to_ast(text, &CollectOptions::default(), &STRICT) {
        Ok(parsed) => parsed.value,
        Err(error) => return reader.fail(error.range().start, format!("not valid JSON: {}", error.kind())),
    };
    let Some(value) = parsed else { return reader.fail(0, "the file is empty".to_owned()) };
    let root = reader.item(value);
    reader.problems.finish(Tree::new(source, &WORDS, root))
}

struct Reader<'a> {
    source: &'a Arc<Source>,
    /// Bytes before the text: a byte order mark.
    skipped: usize,
    problems: Collector,
}

impl Reader<'_> {
    fn error(&self, offset: usize, message: String) -> Error {
        Error::input(Some(self.source.place(self.skipped + offset)), message)
    }

    fn fail<T>(&self, offset: usize, message: String) -> Result<T, Error> {
        Err(self.error(offset, message))
    }

    /// The parser limits how deep this goes.
    fn item(&mut self, value: ast::Value<'_>) -> Item {
        let offset = self.skipped + value.range().start;
        let value = match value {
            ast::Value::StringLit(text) => Value::Text(text.value.into_owned()),
            ast::Value::NumberLit(number) => Value::Number {
                written: number.value.to_owned(),
                value: number.value.parse().ok(),
                whole: number.value.parse().ok(),
            },
            ast::Value::BooleanLit(flag) => Value::Flag(flag.value),
            ast::Value::NullKeyword(_) => Value::Other("`null`".to_owned()),
            ast::Value::Array(list) => Value::List(list.elements.into_iter().map(|v| self.item(v)).collect()),
            ast::Value::Object(object) => Value::Table(self.entries(object)),
        };
        Item { offset, value }
    }

    fn entries(&mut self, object: ast::Object<'_>) -> Entries {
        let (mut entries, mut keys) = (Entries::new(), HashSet::new());
        for property in object.properties {
            let (at, name) = (property.range.start, property.name.into_string());
            if !keys.insert(name.clone()) {
                self.problems.add(self.error(at, format!("duplicate key `{name}`")));
            }
            let item = self.item(property.value);
            entries.push((Key { name, offset: self.skipped + at }, item));
        }
        entries
    }
}
