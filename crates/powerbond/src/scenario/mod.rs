//! Scenarios of the Open Simulation Platform: at known times, values of variables are replaced, shifted or released.
//!
//! The format is libcosim's (YAML or JSON): `description`, `defaults` (`model`, `variable`, `action`), `events` (`time`,
//! `model`, `variable`, `action`, `value`) and `end`. Times count from the start of the run. An event replaces what an
//! earlier one did to the same variable; at `end` everything is released.

mod effects;

pub use effects::Effects;

use crate::Error;
use crate::source::{At, Source};
use crate::yaml::{self, Map, Node};
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
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A number.
    Number(f64),
    /// True or false.
    Flag(bool),
}

/// In bytes; more is not a scenario.
const MAX_SIZE: u64 = 16_000_000;

impl Scenario {
    /// Reads a file.
    pub fn load(path: &Path) -> Result<Scenario, Error> {
        Scenario::read(&crate::source::read(path, MAX_SIZE)?)
    }

    fn read(source: &Arc<Source>) -> Result<Scenario, Error> {
        let root = yaml::parse(source)?;
        let top = root.map("a scenario", &["description", "defaults", "events", "end"])?;
        let defaults = match top.get("defaults") {
            Some(node) => Some(node.map("`defaults`", &["model", "variable", "action"])?),
            None => None,
        };
        let list = top.require("events", "a scenario")?.list("events")?;
        let events = list.iter().map(|node| event(node, defaults.as_ref())).collect::<Result<_, _>>()?;
        let end = top.get("end").map(|node| time(node, "end")).transpose()?;
        let scenario = Scenario { file: Some(source.path.clone()), events, end };
        if let Some(end) = &scenario.end
            && let Some(late) = scenario.events.iter().find(|e| e.time.value > end.value)
        {
            let message =
                format!("the event at {} s comes after the end at {} s", late.time.value, end.value);
            return Err(Error::input(late.time.place(), message));
        }
        Ok(scenario)
    }
}

fn time(node: &Node, key: &str) -> Result<At<f64>, Error> {
    let time = node.number(key)?;
    if time.value < 0.0 {
        node.expected(key, "a number of 0 or more, in s after the start")
    } else {
        Ok(time)
    }
}

fn event(node: &Node, defaults: Option<&Map<'_>>) -> Result<Event, Error> {
    let event = node.map("an event", &["time", "model", "variable", "action", "value"])?;
    let word = |key: &str| {
        let found = event.get(key).or_else(|| defaults.and_then(|d| d.get(key)));
        match found {
            Some(node) => Ok((node, node.text(key)?)),
            None => event.fail(format!("the event needs a key `{key}`, here or in `defaults`")),
        }
    };
    let (_, model) = word("model")?;
    let (at, variable) = word("variable")?;
    let (kind, action) = word("action")?;
    let value = || {
        let node = event.require("value", &format!("an event that is a `{}`", action.value))?;
        match (node.as_flag(), node.as_number()) {
            (Some(flag), _) => Ok(node.at(Value::Flag(flag))),
            (None, Some(x)) => Ok(node.at(Value::Number(x))),
            (None, None) => node.expected("value", "a finite number, `true` or `false`"),
        }
    };
    let action = match action.value.as_str() {
        "override" => Action::Override(value()?),
        "bias" => Action::Bias(value()?),
        "reset" => Action::Reset,
        other => {
            let hint = powerbond_core::suggest::hint(other, ["override", "bias", "reset"]);
            return kind.fail(format!("there is no action `{other}`.{hint}"));
        }
    };
    Ok(Event {
        time: time(event.require("time", "an event")?, "time")?,
        variable: at.at(VariableName::new(&model.value, &variable.value)),
        model,
        action,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Scenario, Error> {
        Scenario::read(&Arc::new(Source { path: "s.yml".into(), text: text.to_owned() }))
    }

    /// The scenario of the project's documentation, in both of its forms.
    #[test]
    fn yaml_and_json_say_the_same() {
        let yaml = "description: x\ndefaults:\n  model: a\n  action: override\nevents:\n  - time: 1\n    variable: u\n    value: 2.5\n  - {time: 2, variable: b, action: reset}\nend: 3\n";
        let json = r#"{ "description": "x", "defaults": { "model": "a", "action": "override" },
            "events": [ { "time": 1, "variable": "u", "value": 2.5 }, { "time": 2, "variable": "b", "action": "reset" } ],
            "end": 3 }"#;
        for text in [yaml, json] {
            let scenario = read(text).unwrap();
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
            "s.yml:3:5: an event has no key `modle`. Did you mean `model`?",
        );
        check("events:\n  - time: 1\n", "s.yml:2:5: the event needs a key `model`, here or in `defaults`");
        check("events: []\nend: -1\n", "s.yml:2:6: `end` is `-1`; a number of 0 or more");
        check("events: 3\n", "s.yml:1:9: `events` is `3`; a list is needed");
        let event = "events:\n  - {time: 1, model: a, variable: u, action: ";
        check(
            &format!("{event}overide, value: 1}}\n"),
            "s.yml:2:46: there is no action `overide`. Did you mean `override`?",
        );
        check(&format!("{event}bias}}\n"), "an event that is a `bias` needs a key `value`");
        check(&format!("{event}bias, value: much}}\n"), "`value` is `much`; a finite number");
        check(
            &format!("{event}reset}}\nend: 0.5\n"),
            "s.yml:2:12: the event at 1 s comes after the end at 0.5 s",
        );
        check("a: &x [1]\nevents: *x\n", "s.yml:2:9: aliases");
        check(&format!("events: {}", "[".repeat(100_000)), "not valid YAML or JSON");
        check("", "the file is empty");
        check("events: [\n", "not valid YAML or JSON");
    }
}
