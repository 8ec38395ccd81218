//! Scenarios of the Open Simulation Platform: at known times, values of variables are replaced, shifted or released.
//!
//! The format is libcosim's (YAML or JSON): `description`, `defaults` (`model`, `variable`, `action`), `events` (`time`,
//! `model`, `variable`, `action`, `value`) and `end`. Times count from the start of the run. An event replaces what an
//! earlier one did to the same variable; at `end` everything is released.

use crate::Error;
use crate::error::Collector;
use crate::source::{At, Node, Source, Table, json, yaml};
use powerbond_core::network::VariableName;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A scenario as its author wrote it.
#[derive(Clone, Debug, Default)]
pub struct Scenario {
    /// The file, as the user named it; none if a program made it.
    pub file: Option<PathBuf>,
    /// In the order of the file.
    pub events: Vec<Event>,
    /// When everything is released, in s after the start.
    pub end: Option<At<f64>>,
}

/// Something that happens to a variable.
#[derive(Clone, Debug)]
pub struct Event {
    /// In s after the start.
    pub time: At<f64>,
    /// The subsystem.
    pub model: At<String>,
    /// The subsystem and its variable.
    pub variable: At<VariableName>,
    /// What happens.
    pub action: Action,
}

/// What happens to a variable.
#[derive(Clone, Debug)]
pub enum Action {
    /// Its value is replaced.
    Override(At<Value>),
    /// Something is added to it.
    Bias(At<Value>),
    /// It is itself again.
    Reset,
}

/// A value of an event.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A number.
    Number(f64),
    /// True or false.
    Flag(bool),
    /// An item of an enumeration.
    Item(String),
}

/// In bytes; more is not a scenario.
const MAX_SIZE: u64 = 16_000_000;

impl Scenario {
    /// Reads a file.
    pub fn load(path: &Path) -> Result<Scenario, Error> {
        Scenario::read(&crate::source::read(path, MAX_SIZE)?)
    }

    /// Reads a scenario from text; `name` stands for the file in messages, and one that ends in `.json` is JSON.
    pub fn parse(name: &str, text: &str) -> Result<Scenario, Error> {
        Scenario::read(&Source::file(name, text))
    }

    /// The error has everything that is wrong with it.
    fn read(source: &Arc<Source>) -> Result<Scenario, Error> {
        let is_json = source.path().extension().is_some_and(|e| e.eq_ignore_ascii_case("json"));
        let tree = if is_json { json::parse(source)? } else { yaml::parse(source)? };
        let mut problems = Collector::new();
        let known = ["description", "defaults", "events", "end"];
        let top = tree.root().table_with(&mut problems, "a scenario", &known)?;
        let defaults = top.get("defaults").and_then(|node| {
            let table = node.table_with(&mut problems, "`defaults`", &["model", "variable", "action"]);
            problems.keep(table)
        });
        let list = top.need(&mut problems, "events", "a scenario").and_then(|n| problems.keep(n.list()));
        let events = list.unwrap_or_default().into_iter().map(|node| event(node, defaults.as_ref()));
        let events: Vec<Event> = events.filter_map(|event| problems.keep(event)).collect();
        let end = top.get("end").and_then(|node| problems.keep(time(node)));
        let last = end.as_ref().map_or(f64::INFINITY, |end| end.value);
        for late in events.iter().filter(|event| event.time.value > last) {
            let message = format!("the event at {} s is after the end at {last} s", late.time.value);
            problems.add(Error::input(late.time.place(), message));
        }
        problems.finish(Scenario { file: Some(source.path().to_owned()), events, end })
    }
}

fn time(node: Node<'_>) -> Result<At<f64>, Error> {
    let time = node.number()?;
    if time.value < 0.0 { node.expected("a number of 0 or more, in s after the start") } else { Ok(time) }
}

fn event(node: Node<'_>, defaults: Option<&Table<'_>>) -> Result<Event, Error> {
    let mut problems = Collector::new();
    let event =
        node.table_with(&mut problems, "an event", &["time", "model", "variable", "action", "value"])?;
    let mut word = |key: &str| match event.get(key).or_else(|| defaults.and_then(|d| d.get(key))) {
        Some(node) => problems.keep(node.text()),
        None if event.is_known() => {
            problems.keep(event.fail(format!("the event lacks the key `{key}`, here or in `defaults`")))
        }
        None => None,
    };
    let (model, variable, action) = (word("model"), word("variable"), word("action"));
    let action = action.and_then(|kind| problems.keep(read_action(&event, &kind)));
    let time = event.need(&mut problems, "time", "an event").and_then(|node| problems.keep(time(node)));
    let parts = model.zip(variable).zip(action).zip(time);
    problems.finish_some(parts.map(|(((model, variable), action), time)| Event {
        time,
        variable: variable.with(VariableName::new(&model.value, &variable.value)),
        model,
        action,
    }))
}

fn read_action(event: &Table<'_>, kind: &At<String>) -> Result<Action, Error> {
    let value = || {
        let node = event.require("value", &format!("an event that is a `{}`", kind.value))?;
        match (node.flag(), node.number()) {
            (Ok(flag), _) => Ok(flag.with(Value::Flag(flag.value))),
            (_, Ok(x)) => Ok(x.with(Value::Number(x.value))),
            // Nothing can be added to an item.
            _ if kind.value == "bias" => node.expected("a finite number"),
            _ => match node.text() {
                Ok(item) => Ok(item.with(Value::Item(item.value.clone()))),
                Err(_) => node.expected("a finite number, `true`, `false` or an item of an enumeration"),
            },
        }
    };
    match kind.value.as_str() {
        "override" => Ok(Action::Override(value()?)),
        "bias" => Ok(Action::Bias(value()?)),
        "reset" => Ok(Action::Reset),
        other => {
            let hint = powerbond_core::suggest::hint(other, ["override", "bias", "reset"]);
            Err(Error::input(kind.place(), format!("unknown action `{other}`.{hint}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Scenario, Error> {
        Scenario::parse("s.yml", text)
    }

    /// The scenario of the project's documentation, in both of its forms.
    #[test]
    fn yaml_and_json_say_the_same() {
        let yaml = "description: x\ndefaults:\n  model: a\n  action: override\nevents:\n  - time: 1\n    variable: u\n    value: 2.5\n  - {time: 2, variable: b, action: reset}\nend: 3\n";
        let json = r#"{ "description": "x", "defaults": { "model": "a", "action": "override" },
            "events": [ { "time": 1, "variable": "u", "value": 2.5 }, { "time": 2, "variable": "b", "action": "reset" } ],
            "end": 3 }"#;
        for (file, text) in [("s.yml", yaml), ("s.yml", json), ("s.json", json)] {
            let scenario = Scenario::parse(file, text).unwrap();
            assert_eq!(scenario.end.unwrap().value, 3.0);
            let [first, second] = &scenario.events[..] else { panic!("two events") };
            assert_eq!((first.time.value, first.variable.value.to_string()), (1.0, "a.u".to_owned()));
            assert!(matches!(&first.action, Action::Override(v) if v.value == Value::Number(2.5)));
            assert!(matches!(second.action, Action::Reset));
        }
    }

    #[test]
    fn mistakes_have_a_line_and_a_cure() {
        let check = |text: &str, wanted: &str| {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(wanted), "{error}");
        };
        check(
            "events:\n  - time: 1\n    modle: a\n",
            "s.yml:3:5: unknown key `modle` in an event. Did you mean `model`?",
        );
        check("events:\n  - time: 1\n", "s.yml:2:5: the event lacks the key `model`, here or in `defaults`");
        check("events: []\nend: -1\n", "s.yml:2:6: `end` is `-1`; expected a number of 0 or more");
        check("events: 3\n", "s.yml:1:9: `events` is `3`; expected a list");
        let event = "events:\n  - {time: 1, model: a, variable: u, action: ";
        check(
            &format!("{event}overide, value: 1}}\n"),
            "s.yml:2:46: unknown action `overide`. Did you mean `override`?",
        );
        check(&format!("{event}bias}}\n"), "an event that is a `bias` lacks the key `value`");
        check(&format!("{event}bias, value: much}}\n"), "`value` is `much`; expected a finite number");
        check(
            &format!("{event}reset}}\nend: 0.5\n"),
            "s.yml:2:12: the event at 1 s is after the end at 0.5 s",
        );
        check("a: &x [1]\nevents: *x\n", "s.yml:2:9: aliases");
        check(&format!("events: {}", "[".repeat(100_000)), "not valid YAML");
        check("", "the file is empty");
        check("events: [\n", "not valid YAML");
    }

    /// A second document used to be dropped without a word, and a pair of surrogates, which is how JSON writes an emoji, refused.
    #[test]
    fn nothing_of_a_file_is_dropped() {
        let check = |file: &str, text: &str, wanted: &[&str]| {
            let error = Scenario::parse(file, text).unwrap_err().to_string();
            assert_eq!(error.lines().collect::<Vec<_>>(), wanted);
        };
        let second = "a second document begins here; there can be one";
        check("s.yml", "events: []\n---\nevents: []\n", &[&format!("s.yml:2:1: {second}")]);
        assert!(read("---\nevents: []\n...\n# done\n").is_ok());
        check("s.yml", "end: 1\nevents: []\nend: 2\n", &["s.yml:3:1: duplicate key `end`"]);
        check("s.json", r#"{"events": [], "events": []}"#, &["s.json:1:16: duplicate key `events`"]);
        check(
            "s.json",
            "{\"events\": []} {}",
            &["s.json:1:16: not valid JSON: Text cannot contain more than one JSON value"],
        );
        let emoji =
            r#"{"events": [{"time": 0, "model": "\ud83d\ude00", "variable": "é", "action": "reset"}]}"#;
        let scenario = Scenario::parse("s.json", emoji).unwrap();
        assert_eq!(scenario.events[0].variable.value.to_string(), "\u{1f600}.é");
        let half = emoji.replace("\\ude00", "");
        assert!(Scenario::parse("s.json", &half).is_err());
    }

    #[test]
    fn all_mistakes_are_told_at_once() {
        let yaml = "defaults: {acton: bias}\nevents:\n  - {time: -1, model: a, variable: u, action: bais}\n  - {tiem: 1}\n  - 3\nend: soon\n";
        let error = read(yaml).unwrap_err().to_string();
        let wanted = [
            "s.yml:1:12: unknown key `acton` in `defaults`. Did you mean `action`?",
            "s.yml:3:12: `time` is `-1`; expected a number of 0 or more, in s after the start",
            "s.yml:3:47: unknown action `bais`. Did you mean `bias`?",
            "s.yml:4:6: unknown key `tiem` in an event. Did you mean `time`?",
            "s.yml:5:5: `events` is `3`; expected a mapping",
            "s.yml:6:6: `end` is `soon`; expected a number",
        ];
        assert_eq!(error.lines().collect::<Vec<_>>(), wanted);
    }
}
