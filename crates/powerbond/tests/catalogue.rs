//! Every method of the catalogue can be chosen in a file, made and run, with its knobs at their defaults and with every word that
//! they allow.

use powerbond::System;
use powerbond::catalogue::{ALL, Domain, Entry, Kind, of_kind};
use powerbond::core::observe::NoObserver;
use serde_json::json;
use std::collections::BTreeSet;

/// The quarter car with these lines as its `[method]`.
fn system(method: &str) -> System {
    let example = include_str!("../../../examples/quarter-car/system.toml");
    let (parts, _) = example.split_once("[method]").expect("the example has a method");
    let text = format!("{parts}[method]\n{method}\n").replace("stop = 4.0", "stop = 0.1");
    System::parse("system.toml", &text).unwrap_or_else(|e| panic!("{method}: {e}"))
}

fn check(entry: &Entry, value: &str) {
    let mut method = format!("{} = {value}", entry.kind.key());
    if entry.kind == Kind::Controller {
        method += "\nestimator = { kind = \"energy\", tolerance = 1e-3, energy_scale = 750.0 }";
    }
    let system = system(&method);
    let chosen = match entry.kind {
        Kind::Method => system.method.kind.as_ref().map(|kind| kind.name()),
        Kind::Schedule => Some(system.method.schedule.name()),
        Kind::Hold => None,
        Kind::Correction => Some(system.method.correction.name()),
        Kind::Estimator => Some(system.method.estimator.name()),
        Kind::Controller => Some(system.method.controller.name()),
    };
    assert_eq!(chosen.unwrap_or(entry.name), entry.name);
    let mut assembled = system.assemble().unwrap_or_else(|e| panic!("{method}: {e}"));
    assembled.run(&mut NoObserver).unwrap_or_else(|e| panic!("{method}: {e}"));
}

#[test]
fn every_method_runs_with_its_defaults() {
    for entry in ALL {
        let name = entry.name;
        let is_order = entry.kind == Kind::Hold && name.parse::<u8>().is_ok();
        check(entry, &if is_order { name.to_owned() } else { format!("\"{name}\"") });
    }
}

#[test]
fn every_word_of_every_knob_has_a_meaning() {
    for entry in ALL.iter().filter(|e| e.kind != Kind::Method) {
        for knob in entry.knobs {
            let quoted = |words: &[&str]| words.iter().map(|w| format!("\"{w}\"")).collect();
            let values: Vec<String> = match knob.domain {
                Domain::Choice(words)
                | Domain::NumberOrWord { words, .. }
                | Domain::NumberByNameOrWord { words, .. }
                | Domain::WordOrNumbersByName(words) => quoted(words),
                Domain::Flag => vec!["false".to_owned(), "true".to_owned()],
                Domain::Number { .. } | Domain::NumberByName { .. } | Domain::Names => Vec::new(),
            };
            for value in values {
                check(entry, &format!("{{ kind = \"{}\", {} = {value} }}", entry.name, knob.name));
            }
        }
    }
}

#[test]
fn methods_are_listed_by_kind_and_no_name_is_there_twice() {
    let names = |e: &Entry| (e.kind, e.name);
    let by_kind: Vec<_> = Kind::ALL.into_iter().flat_map(of_kind).map(names).collect();
    assert_eq!(by_kind, ALL.iter().map(names).collect::<Vec<_>>());
    assert_eq!(by_kind.iter().collect::<BTreeSet<_>>().len(), ALL.len());
    for entry in ALL {
        let knobs: BTreeSet<_> = entry.knobs.iter().map(|knob| knob.name).collect();
        assert_eq!(knobs.len(), entry.knobs.len(), "{}", entry.name);
    }
}

/// `--set method.estimator.tolerance=1e-4`, for all of them; the last part of the summary's `config` shows what was set.
#[test]
fn every_knob_can_be_set_from_outside_and_is_in_the_configuration() {
    let mut set = 0;
    for entry in ALL.iter().filter(|e| !matches!(e.kind, Kind::Method | Kind::Hold)) {
        for knob in entry.knobs {
            let (typed, shown) = match knob.domain {
                Domain::Number { min, max, .. }
                | Domain::NumberByName { min, max, .. }
                | Domain::NumberOrWord { min, max, .. }
                | Domain::NumberByNameOrWord { min, max, .. } => {
                    let x = 0.625_f64.clamp(min, max);
                    (x.to_string(), json!(x))
                }
                Domain::Choice(words) | Domain::WordOrNumbersByName(words) => {
                    let last = *words.last().expect("a word");
                    (last.to_owned(), json!(last))
                }
                Domain::Flag => ("true".to_owned(), json!(true)),
                Domain::Names => ("[\"a\", \"b\"]".to_owned(), json!(["a", "b"])),
            };
            let key = entry.kind.key();
            let mut system = system(&format!("{key} = \"{}\"", entry.name));
            let assignment = format!("method.{key}.{}={typed}", knob.name);
            system.set(&assignment).unwrap_or_else(|e| panic!("{assignment}: {e}"));
            assert_eq!(system.method.to_json()[key][knob.name], shown, "{assignment} of {}", entry.name);
            let wrong = format!("method.{key}.{}x=1", knob.name);
            let error = system.set(&wrong).expect_err(&wrong).to_string();
            assert!(error.starts_with(&format!("--set {wrong}: unknown key")), "{error}");
            assert!(error.contains(&format!("Did you mean `{}`?", knob.name)), "{error}");
            set += 1;
        }
    }
    assert!(set > 30, "{set} knobs");
}
