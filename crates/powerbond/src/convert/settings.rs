//! What a system says beside its structure, as sections of a system file: how it runs, bonds, signals, what is kept and judged.

use super::method;
use crate::source::At;
use crate::suggest::{key, quoted};
use crate::system::{
    Bond, FeedThroughSpec, FmuOptions, OwnStepsBy, ProcessSpec, Remote, SignalSpec, SimulatorSpec,
    SubsystemSpec, System, VerdictSpec,
};
use powerbond_core::network::VariableName;
use powerbond_core::step::LoopRules;
use powerbond_core::time::EndRule;
use powerbond_fmi::Logging;
use serde_json::Value;
use std::path::Path;

/// How a file is named in the text, and what cannot be said.
pub struct Context<'a> {
    /// Gives a file that the system names a name in the target.
    pub file: &'a mut dyn FnMut(&Path) -> String,
    /// What cannot be said.
    pub lost: &'a mut Vec<String>,
}

/// A number as TOML and XML read it, with all of its digits.
pub fn number(x: f64) -> String {
    if x.is_nan() {
        return "nan".to_owned();
    }
    if x.is_infinite() {
        return if x > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    format!("{x:?}")
}

/// A plain value of JSON as TOML.
pub fn value_text(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Number(x) => x.as_i64().map_or_else(|| number(x.as_f64().unwrap_or(0.0)), |n| n.to_string()),
        Value::Array(items) => format!("[{}]", items.iter().map(value_text).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    }
}

fn names(list: &[At<VariableName>]) -> String {
    let all: Vec<String> = list.iter().map(|name| quoted(&name.value.to_string())).collect();
    match all.as_slice() {
        [one] => one.clone(),
        several => format!("[{}]", several.join(", ")),
    }
}

/// A section with lines; nothing if there are none.
pub fn section(title: &str, lines: &[String]) -> String {
    if lines.is_empty() { String::new() } else { format!("\n[{title}]\n{}\n", lines.join("\n")) }
}

/// `[simulation]`, with times only if `times`.
pub fn simulation(system: &System, times: bool, context: &mut Context<'_>) -> String {
    let s = &system.simulation;
    let mut lines = Vec::new();
    if times && s.start.value != 0.0 {
        lines.push(format!("start = {}", number(s.start.value)));
    }
    let mut time =
        |key: &str, value: Option<f64>| lines.extend(value.map(|x| format!("{key} = {}", number(x))));
    time("stop", s.stop.as_ref().map(|x| x.value).filter(|_| times));
    time("step", s.step.as_ref().map(|x| x.value));
    time("output_interval", s.output_interval.as_ref().map(|x| x.value));
    if s.land_on_output.value {
        lines.push("output = \"land\"".to_owned());
    }
    if s.end == EndRule::Overshoot {
        lines.push("end = \"overshoot\"".to_owned());
    }
    for (key, rules) in [("initial", s.initial), ("loops", s.loops)] {
        let LoopRules { tolerance, iterations, passes } = rules;
        if rules != LoopRules::default() {
            let tolerance = number(tolerance);
            lines.push(format!(
                "{key} = {{ tolerance = {tolerance}, iterations = {iterations}, passes = {passes} }}"
            ));
        }
    }
    if !s.probe {
        lines.push("probe = false".to_owned());
    }
    if let Some(scenario) = &system.scenario {
        match &scenario.file {
            Some(file) => lines.push(format!("scenario = {}", quoted(&(context.file)(file)))),
            None => context.lost.push("the scenario, which a program made".to_owned()),
        }
    }
    section("simulation", &lines)
}

/// How a subsystem runs.
pub fn how_it_runs(spec: &SubsystemSpec) -> Vec<String> {
    let mut lines = Vec::new();
    lines.extend(spec.rate.as_ref().map(|rate| format!("rate = {}", rate.value)));
    lines.extend(spec.step.as_ref().map(|step| format!("step = {}", number(step.value))));
    match &spec.feed_through {
        None => {}
        Some(FeedThroughSpec::Unknown) => lines.push("feed_through = \"unknown\"".to_owned()),
        Some(FeedThroughSpec::Probe) => lines.push("feed_through = \"probe\"".to_owned()),
        Some(FeedThroughSpec::Pairs(pairs)) => {
            let pair = |(output, input): &(At<String>, At<String>)| {
                format!("[{}, {}]", quoted(&output.value), quoted(&input.value))
            };
            let pairs: Vec<String> = pairs.value.iter().map(pair).collect();
            lines.push(format!("feed_through = [{}]", pairs.join(", ")));
        }
    }
    if let Some(samples) = &spec.sampled {
        let (period, offset) = (number(samples.period), number(samples.at));
        lines.push(format!("sampled = {{ period = {period}, offset = {offset} }}"));
    }
    match &spec.process {
        ProcessSpec::Automatic => {}
        ProcessSpec::Shared => lines.push("process = \"shared\"".to_owned()),
        ProcessSpec::Own(_) => lines.push("process = \"own\"".to_owned()),
        ProcessSpec::Host(host) => lines.push(format!("host = {}", quoted(&host.value))),
    }
    if let SimulatorSpec::Fmu(_, options) = &spec.simulator {
        lines.extend(fmu_options(options));
    }
    lines
}

fn fmu_options(options: &FmuOptions) -> Option<String> {
    let mut entries = Vec::new();
    entries.extend(options.tolerance.map(|x| format!("tolerance = {}", number(x))));
    entries.extend(options.input_derivatives.map(|n| format!("input_derivatives = {n}")));
    entries.extend(options.sub_steps.map(|n| format!("sub_steps = {n}")));
    let flags = [
        ("events", options.events),
        ("any_step_size", options.any_step_size),
        ("whole_steps", options.whole_steps),
    ];
    entries.extend(flags.into_iter().filter(|(_, on)| *on).map(|(key, _)| format!("{key} = true")));
    match options.logging {
        Logging::On => {}
        Logging::Off => entries.push("logging = false".to_owned()),
        Logging::Categories => entries.push("logging = true".to_owned()),
    }
    if !options.log_categories.is_empty() {
        entries
            .push(format!("log_categories = {}", value_text(&Value::from(options.log_categories.clone()))));
    }
    (!entries.is_empty()).then(|| format!("options = {{ {} }}", entries.join(", ")))
}

/// `[inputs]`.
pub fn inputs(system: &System, context: &mut Context<'_>) -> String {
    let mut lines = Vec::new();
    for (name, signal) in &system.inputs {
        let x = |x: f64| number(x);
        let text = match signal {
            SignalSpec::Constant(value) => x(*value),
            SignalSpec::Integer(n) => n.to_string(),
            SignalSpec::Item(item) => quoted(&item.value),
            SignalSpec::Step { time, from, to } => {
                format!("{{ step = {{ time = {}, from = {}, to = {} }} }}", x(*time), x(*from), x(*to))
            }
            SignalSpec::Ramp { start, end, from, to } => format!(
                "{{ ramp = {{ start = {}, end = {}, from = {}, to = {} }} }}",
                x(*start),
                x(*end),
                x(*from),
                x(*to)
            ),
            SignalSpec::Sine { amplitude, frequency, phase, offset } => format!(
                "{{ sine = {{ amplitude = {}, frequency = {}, phase = {}, offset = {} }} }}",
                x(*amplitude),
                x(*frequency),
                x(*phase),
                x(*offset)
            ),
            SignalSpec::Table { file, column, linear } => {
                let file = (context.file)(&system.folder().join(&file.value));
                let column =
                    column.as_ref().map_or(String::new(), |c| format!(", column = {}", quoted(&c.value)));
                let held = if *linear { "" } else { ", interpolation = \"hold\"" };
                format!("{{ table = {}{column}{held} }}", quoted(&file))
            }
            SignalSpec::Samples { .. } | SignalSpec::Function(_) => {
                context
                    .lost
                    .push(format!("what `{}` follows, which a program or an option gave", name.value));
                continue;
            }
        };
        lines.push(format!("{} = {text}", quoted(&name.value.to_string())));
    }
    section("inputs", &lines)
}

/// `[bonds.name]`.
pub fn bond(bond: &Bond) -> String {
    let mut lines = vec!["ports = [".to_owned()];
    for port in &bond.ports {
        let mut more = String::new();
        if port.ratio != 1.0 {
            more += &format!(", ratio = {}", number(port.ratio));
        }
        if !port.from.is_empty() {
            more += &format!(", from = {}", names(&port.from));
        }
        let (input, output, sign) = (names(&port.inputs), names(&port.outputs), port.sign.value as i32);
        lines.push(format!("  {{ input = {input}, output = {output}, sign = {sign}{more} }},"));
    }
    lines.push("]".to_owned());
    lines.extend(bond.energy_scale.map(|x| format!("energy_scale = {}", number(x))));
    lines.extend(bond.tolerance.map(|x| format!("tolerance = {}", number(x))));
    if bond.pseudo {
        lines.push("pseudo = true".to_owned());
    }
    section(&format!("bonds.{}", key(&bond.name.value)), &lines)
}

/// `[method]`, `[record]`, `[verdict]`, `[remote]`.
pub fn rest(system: &System) -> String {
    let method = method::lines(&system.method, system.simulation.step.is_some()).unwrap_or_default();
    section("method", &method) + &record(system) + &verdict(&system.verdict) + &remote(&system.remote)
}

fn record(system: &System) -> String {
    let record = &system.record;
    let list = |names: &[At<String>]| {
        let names: Vec<String> = names.iter().map(|name| quoted(&name.value)).collect();
        format!("[{}]", names.join(", "))
    };
    let mut lines = Vec::new();
    lines.extend(record.variables.as_ref().map(|names| format!("variables = {}", list(names))));
    if !record.exclude.is_empty() {
        lines.push(format!("exclude = {}", list(&record.exclude)));
    }
    let flags = [("jumps", record.jumps), ("details", record.details)];
    lines.extend(flags.into_iter().filter(|(_, on)| *on).map(|(key, _)| format!("{key} = true")));
    if record.format.value != Default::default() {
        lines.push(format!("format = {}", quoted(record.format.value.name())));
    }
    section("record", &lines)
}

fn verdict(spec: &VerdictSpec) -> String {
    let plain = VerdictSpec::default();
    let (limits, other) = (&spec.limits, &plain.limits);
    let numbers = [
        ("trustworthy", limits.trustworthy, other.trustworthy),
        ("unreliable", limits.unreliable, other.unreliable),
        ("roughness", limits.roughness, other.roughness),
        ("ringing", limits.ringing, other.ringing),
        ("growth", limits.growth, other.growth),
        ("residual", spec.residual, plain.residual),
        ("over_tolerance", spec.over_tolerance, plain.over_tolerance),
        ("capped", spec.capped, plain.capped),
    ];
    let changed = numbers.into_iter().filter(|(_, mine, theirs)| mine != theirs);
    let mut lines: Vec<String> = changed.map(|(key, x, _)| format!("{key} = {}", number(x))).collect();
    if limits.min_steps != other.min_steps {
        lines.push(format!("min_steps = {}", limits.min_steps));
    }
    // More than the whole is written in percent.
    let share = |x: &At<f64>| format!("\"{}%\"", x.value * 100.0);
    lines.extend(spec.max_error.as_ref().map(|x| format!("max_error = {}", share(x))));
    lines.extend(spec.max_energy_residual.as_ref().map(|x| format!("max_energy_residual = {}", share(x))));
    lines.extend(spec.error.as_ref().map(|x| format!("error = {}", share(x))));
    if spec.own_steps != OwnStepsBy::default() {
        lines.push(format!("own_steps = {}", spec.own_steps.text()));
    }
    lines.extend(spec.verify.map(|by| format!("verify = {}", quoted(by.text()))));
    section("verdict", &lines)
}

fn remote(remote: &Remote) -> String {
    let plain = Remote::default();
    let mut lines = Vec::new();
    if remote.command != plain.command {
        lines.push(format!("command = {}", value_text(&Value::from(remote.command.clone()))));
    }
    if remote.program != plain.program {
        lines.push(format!("program = {}", quoted(&remote.program)));
    }
    if remote.heartbeat != plain.heartbeat {
        lines.push(format!("heartbeat = {}", number(remote.heartbeat)));
    }
    section("remote", &lines)
}
