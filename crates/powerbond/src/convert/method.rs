//! `[method]` as lines of a system file: what differs from its defaults.

use super::settings::{number, value_text};
use crate::catalogue::{Choice, KnobValue, Method, Part};
use crate::suggest::{key, quoted};
use serde_json::Value;

/// The lines of `[method]`; none where the default for such a step is meant.
pub fn lines(method: &Method, has_step: bool) -> Option<Vec<String>> {
    let default = Method::by_default(has_step);
    if method.implicit || method.to_json() == default.to_json() && method.implicit == default.implicit {
        return None;
    }
    let base = match &method.kind {
        Some(kind) => Method::auto(kind.value.tolerance()),
        None => Method::default(),
    };
    let mut lines = Vec::new();
    if let Some(kind) = &method.kind {
        lines.push(format!("kind = {}", quoted(kind.part().entry().name)));
        lines.push(format!("tolerance = {}", number(kind.value.tolerance())));
    }
    let (mine, theirs) = (method.to_json(), base.to_json());
    let parts: [(&str, &dyn Part, &dyn Part); 4] = [
        ("schedule", method.schedule.part(), base.schedule.part()),
        ("correction", method.correction.part(), base.correction.part()),
        ("estimator", method.estimator.part(), base.estimator.part()),
        ("controller", method.controller.part(), base.controller.part()),
    ];
    for (key, part, other) in parts {
        if part.to_json() != other.to_json() || given(part) != given(other) {
            lines.push(format!("{key} = {}", part_text(part)));
        }
    }
    if !method.monitors.is_empty() {
        let monitors: Vec<String> = method.monitors.iter().map(|m| part_text(m.part())).collect();
        lines.push(format!("monitors = [{}]", monitors.join(", ")));
    }
    for key in [
        "hold",
        "holds",
        "values_only",
        "ceiling",
        "refresh",
        "identify",
        "dither",
        "samples",
        "meter",
        "slopes",
        "start",
    ] {
        let found = &mine[key];
        if *found != theirs[key] && !found.is_null() {
            lines.push(format!("{key} = {}", json_text(found)));
        }
    }
    if lines.is_empty() {
        // The plain method beside a system without a step: it has to be said.
        lines.push(format!("controller = {}", part_text(method.controller.part())));
    }
    Some(lines)
}

/// The knobs that are chosen, with their values.
fn given(part: &dyn Part) -> Vec<(&'static str, Option<KnobValue>)> {
    part.entry().knobs.iter().map(|knob| (knob.name, part.get(knob.name))).collect()
}

/// `"name"` or `{ kind = "name", knob = value }`.
fn part_text(part: &dyn Part) -> String {
    let entry = part.entry();
    let plain = (entry.plain)();
    let chosen = entry.knobs.iter().filter_map(|knob| {
        let value = part.get(knob.name)?;
        (plain.get(knob.name).as_ref() != Some(&value))
            .then(|| format!("{} = {}", knob.name, knob_text(&value)))
    });
    let chosen: Vec<String> = chosen.collect();
    if chosen.is_empty() {
        return quoted(entry.name);
    }
    format!("{{ kind = {}, {} }}", quoted(entry.name), chosen.join(", "))
}

fn knob_text(value: &KnobValue) -> String {
    match value {
        KnobValue::Number(x) => number(*x),
        KnobValue::Flag(flag) => flag.to_string(),
        KnobValue::Word(word) => quoted(word),
        KnobValue::ByName(list) => {
            let entries: Vec<String> =
                list.iter().map(|(name, x)| format!("{} = {}", key(name), number(*x))).collect();
            format!("{{ {} }}", entries.join(", "))
        }
        KnobValue::Names(names) => value_text(&Value::from(names.clone())),
    }
}

fn json_text(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let entries: Vec<String> =
                map.iter().map(|(name, x)| format!("{} = {}", key(name), json_text(x))).collect();
            format!("{{ {} }}", entries.join(", "))
        }
        other => value_text(other),
    }
}
