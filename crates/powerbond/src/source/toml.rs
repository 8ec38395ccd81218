//! TOML as a tree with places.

use super::Source;
use super::node::{Entries, Item, Key, Tree, Value, Words};
use crate::Error;
use crate::error::Collector;
use ::toml::Spanned;
use ::toml::de::{DeString, DeTable, DeValue};
use std::sync::Arc;

static WORDS: Words = Words { text: "a string in quotes", list: "a list in [ ]", table: "a table" };

/// Reads a text. The error has all that is not valid TOML.
pub fn parse(source: &Arc<Source>) -> Result<Tree, Error> {
    parse_with(source, |_| "")
}

/// As [`parse`]; `advice` adds to the message about what is wrong with a line.
pub fn parse_with(source: &Arc<Source>, advice: impl Fn(&str) -> &'static str) -> Result<Tree, Error> {
    let (table, errors) = DeTable::parse_recoverable(&source.text);
    let mut problems = Collector::new();
    let mut last_line = None;
    for error in errors {
        let offset = error.span().map_or(0, |span| span.start);
        let start = line_start(&source.text, offset);
        // What follows a mistake in the same line is its consequence.
        if last_line.replace(start) != Some(start) {
            let line = source.text[start..].lines().next().unwrap_or("");
            let message = format!("not valid TOML: {}{}", error.message(), advice(line));
            problems.add(Error::input(Some(source.place(offset)), message));
        }
    }
    problems.finish(())?;
    Ok(Tree::new(source, &WORDS, Item { offset: 0, value: Value::Table(entries(table.get_ref())) }))
}

/// Where the line of byte `offset` begins.
fn line_start(text: &str, offset: usize) -> usize {
    text.as_bytes()[..offset.min(text.len())].iter().rposition(|&b| b == b'\n').map_or(0, |i| i + 1)
}

fn entries(table: &DeTable<'_>) -> Entries {
    let key = |k: &Spanned<DeString<'_>>| Key { name: k.get_ref().to_string(), offset: k.span().start };
    table.iter().map(|(k, value)| (key(k), item(value))).collect()
}

fn item(node: &Spanned<DeValue<'_>>) -> Item {
    let value = match node.get_ref() {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Integer(n) => {
            let whole = i128::from_str_radix(&n.as_str().replace('_', ""), n.radix()).ok();
            Value::Number { written: n.to_string(), value: whole.map(|n| n as f64), whole }
        }
        DeValue::Float(x) => {
            let value = x.as_str().replace('_', "").parse().ok();
            Value::Number { written: x.as_str().to_owned(), value, whole: None }
        }
        DeValue::Boolean(flag) => Value::Flag(*flag),
        DeValue::Datetime(date) => Value::Other(format!("the date {date}")),
        DeValue::Array(items) => Value::List(items.iter().map(item).collect()),
        DeValue::Table(table) => Value::Table(entries(table)),
    };
    Item { offset: node.span().start, value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_that_is_not_toml_is_told() {
        let text = "a = 1\nb = = 2\n[c]\nd = 'x\ne = 5\na.b = 3\ne = 6\n";
        let error = parse(&Source::file("f.toml", text)).unwrap_err();
        let lines: Vec<String> = error.problems().iter().map(|p| p.to_string()).collect();
        assert_eq!(lines.len(), 3, "{error}");
        for (line, start) in
            lines.iter().zip(["f.toml:2:", "f.toml:4:", "f.toml:7:1: not valid TOML: duplicate key"])
        {
            assert!(line.starts_with(start), "{error}");
        }
    }

    #[test]
    fn what_an_option_says_is_told_at_the_option() {
        let source = Source::option("--set method.hold=3", "method.hold=3");
        let tree = parse(&source).unwrap();
        let hold = tree.root().open_table().unwrap().get("method").unwrap().open_table().unwrap().get("hold");
        let error = hold.unwrap().count(0, 2).unwrap_err().to_string();
        assert_eq!(error, "--set method.hold=3: `hold` is 3; expected an integer from 0 to 2");
    }
}
