//! `system.toml` → [`System`]. Every key is checked; every message has a line.

use super::reader::{Node, Table, top};
use super::{
    Bond, BondPort, Connection, FeedThroughSpec, FmuOptions, Given, MadeOf, Record, SignalSpec, Simulation,
    SimulatorSpec, SubsystemSpec, System, VerdictSpec, check_subsystem_name, parse_name,
};
use crate::Error;
use crate::catalogue::{Knob, Method, estimators};
use crate::scenario::Scenario;
use crate::source::{At, Source};
use crate::table::Format;
use ::toml::de::DeTable;
use powerbond_core::network::VariableName;
use powerbond_core::step::LoopRules;
use powerbond_core::suggest::hint;
use powerbond_core::time::EndRule;
use std::path::Path;
use std::sync::Arc;

const TOP: &[&str] =
    &["system", "simulation", "subsystems", "connections", "inputs", "bonds", "method", "record", "verdict"];
const SIMULATION: &[&str] = &[
    "start",
    "stop",
    "step",
    "output_interval",
    "output",
    "end",
    "initial",
    "loops",
    "probe",
    "scenario",
    "params",
];
const SUBSYSTEM: &[&str] =
    &["model", "fmu", "parameters", "start", "options", "rate", "step", "feed_through"];
/// The line that byte `offset` of a text is in.
fn line_at(text: &str, offset: usize) -> &str {
    let offset = offset.min(text.len());
    let start = text[..offset].rfind('\n').map_or(0, |i| i + 1);
    text[start..].lines().next().unwrap_or("")
}

/// Reads a system from its text.
pub fn read(source: Arc<Source>) -> Result<System, Error> {
    let parsed = DeTable::parse(&source.text).map_err(|error| {
        let place = error.span().map(|span| source.place(span.start));
        let line = error.span().map_or("", |span| line_at(&source.text, span.start));
        let advice = match line.split(['#', ' ']).next() {
            Some("[connections]") => ". Every connection is written below its own `[[connections]]`",
            _ => "",
        };
        let message = format!("not valid TOML: {}{advice}", error.message());
        Error::input(place.or(Some(source.place(0))), message)
    })?;
    let file = top(&source, &parsed, TOP)?;

    let name = match file.get("system") {
        Some(node) => {
            node.table("`[system]`", &["name", "description"])?.get("name").map(|n| n.text()).transpose()?
        }
        None => None,
    };
    let name = name.map_or_else(|| own_name(&source.path), |n| n.value);

    let mut subsystems = Vec::new();
    for (name, node) in file.require("subsystems", "the file")?.open_table()?.entries() {
        subsystems.push(subsystem(name, node)?);
    }
    if subsystems.is_empty() {
        return file.require("subsystems", "the file")?.fail("a system needs at least one subsystem");
    }
    let mut connections = Vec::new();
    if let Some(node) = file.get("connections") {
        if node.is_table() {
            return node.fail(
                "`connections` is a table; every connection is written below its own `[[connections]]`",
            );
        }
        for item in node.list()? {
            connections.push(connection(item)?);
        }
    }
    let mut inputs = Vec::new();
    if let Some(node) = file.get("inputs") {
        for (name, value) in node.open_table()?.entries() {
            inputs.push((parse_key(&name, value)?, SignalSpec::read(value)?));
        }
    }
    let mut bonds = Vec::new();
    if let Some(node) = file.get("bonds") {
        if node.is_list() || node.open_table()?.get("ports").is_some_and(|n| n.is_list()) {
            return node.fail("every bond has a name: write its `ports` below `[bonds.name]`");
        }
        for (name, value) in node.open_table()?.entries() {
            bonds.push(bond(name, value)?);
        }
    }
    let simulation = simulation(file.get("simulation"))?;
    let method = match file.get("method") {
        Some(node) => Method::read(node)?,
        None => Method::of_nobody(simulation.step.is_some()),
    };
    let record = record(file.get("record"))?;
    let verdict = file.get("verdict").map_or_else(|| Ok(VerdictSpec::default()), VerdictSpec::read)?;
    let scenario = simulation_key(&file, "scenario")?;
    let scenario = scenario.map(|n| n.text()).transpose()?.map(|path| beside(&source, &path, Scenario::load));
    let params = simulation_key(&file, "params")?.map_or(Ok(Vec::new()), |n| n.texts())?;
    let mut system = System {
        name,
        simulation,
        subsystems,
        connections,
        inputs,
        bonds,
        method,
        record,
        verdict,
        scenario: scenario.transpose()?,
        ..System::empty(MadeOf::File(source.clone()))
    };
    // Later files go over earlier ones, what stands in this file goes over all of them.
    for path in params.iter().rev() {
        let (file, notes) =
            beside(&source, path, |file| Ok((file.to_owned(), system.set_from(file, true)?)))?;
        system.notes.extend(notes);
        system.simulation.params.insert(0, file);
    }
    Ok(system)
}

/// The name of a file, or that of its folder if the file is `system.toml`: results of two files in one folder stay apart.
fn own_name(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default();
    let folder = || path.parent()?.canonicalize().ok();
    let here = || std::env::current_dir().ok();
    let text = |name: &std::ffi::OsStr| name.to_string_lossy().into_owned();
    if path.file_name().is_none_or(|name| name != super::SYSTEM_FILE) {
        return text(stem);
    }
    let folder = folder().or_else(here);
    folder.and_then(|f| f.file_name().map(text)).unwrap_or_else(|| text(stem))
}

fn simulation_key<'a>(file: &Table<'a>, key: &'a str) -> Result<Option<Node<'a>>, Error> {
    Ok(match file.get("simulation") {
        Some(node) => node.open_table()?.get(key),
        None => None,
    })
}

/// Reads a file that is named relative to this one; if it cannot be read at all, the error stands where it is named.
fn beside<T>(
    source: &Source,
    name: &At<String>,
    read: impl FnOnce(&Path) -> Result<T, Error>,
) -> Result<T, Error> {
    let path = source.path.parent().unwrap_or(Path::new("")).join(&name.value);
    read(&path).map_err(|error| match error {
        Error::Input { place: None, message } => Error::Input { place: name.place(), message },
        other => other,
    })
}

/// A variable as a key. Without quotes, TOML takes its dot as a table in a table.
pub fn parse_key(name: &At<String>, value: Node<'_>) -> Result<At<VariableName>, Error> {
    if !name.value.contains('.')
        && let Ok(inner) = value.open_table()
        && let Some((variable, _)) = inner.entries().first()
    {
        let full = format!("{}.{}", name.value, variable.value);
        return Err(Error::input(name.place(), format!("`{full}` needs quotes: write \"{full}\" = …")));
    }
    parse_name(name)
}

/// One of a few words.
pub fn word<T: Copy>(node: Node<'_>, words: &[(&str, T)]) -> Result<T, Error> {
    let listed: Vec<String> = words.iter().map(|(w, _)| format!("\"{w}\"")).collect();
    let wanted = format!("one of {}", listed.join(", "));
    if !node.is_text() {
        return node.expected(&wanted);
    }
    let text = node.text()?.value;
    words.iter().find(|(w, _)| *w == text).map_or_else(|| node.expected(&wanted), |(_, value)| Ok(*value))
}

fn simulation(node: Option<Node<'_>>) -> Result<Simulation, Error> {
    let table = node.map(|n| n.table("`[simulation]`", SIMULATION)).transpose()?;
    let get = |key| table.and_then(|t: Table<'_>| t.get(key));
    let number = |key| get(key).map(|n| n.number()).transpose();
    if let Some(n) = get("end").filter(|n| !n.is_text()) {
        return n
            .fail("`end` says how the run ends, \"exact\" or \"overshoot\"; when it ends is said by `stop`");
    }
    let rule = |key, words: &[(&str, bool)]| {
        get(key).map_or(Ok(At::default(false)), |n| Ok::<_, Error>(n.at(word(n, words)?)))
    };
    Ok(Simulation {
        start: number("start")?.unwrap_or(At::default(0.0)),
        stop: number("stop")?,
        step: number("step")?,
        output_interval: number("output_interval")?,
        land_on_output: rule("output", &[("interpolate", false), ("land", true)])?,
        end: if rule("end", &[("exact", false), ("overshoot", true)])?.value {
            EndRule::Overshoot
        } else {
            EndRule::Exact
        },
        initial: get("initial").map_or_else(|| Ok(LoopRules::default()), |n| loop_rules(n, "`initial`"))?,
        loops: get("loops").map_or_else(|| Ok(LoopRules::default()), |n| loop_rules(n, "`loops`"))?,
        probe: get("probe").map_or(Ok(true), |n| Ok(n.flag()?.value))?,
        ..Simulation::default()
    })
}

/// How algebraic loops are solved, at the start or in the run.
fn loop_rules(node: Node<'_>, name: &str) -> Result<LoopRules, Error> {
    let table = node.table(name, &["tolerance", "iterations", "passes"])?;
    let mut rules = LoopRules::default();
    if let Some(tolerance) = table.get("tolerance") {
        rules.tolerance = tolerance.number()?.value;
        if rules.tolerance <= 0.0 || rules.tolerance >= 1.0 {
            return tolerance.expected("a number above 0 and below 1");
        }
    }
    let count = |key, limit: &mut usize| {
        if let Some(n) = table.get(key) {
            *limit = n.count(0, 1_000_000)?.value as usize;
        }
        Ok::<(), Error>(())
    };
    count("iterations", &mut rules.iterations)?;
    count("passes", &mut rules.passes)?;
    Ok(rules)
}

fn subsystem(name: At<String>, node: Node<'_>) -> Result<SubsystemSpec, Error> {
    check_subsystem_name(&name)?;
    let what = format!("subsystem `{}`", name.value);
    let table = node.table(&what, SUBSYSTEM)?;
    let mut parameters = Vec::new();
    if let Some(list) = table.get("parameters") {
        for (key, value) in list.open_table()?.entries() {
            parameters.push((key, given(value)?));
        }
    }
    let rate = table.get("rate").map(|n| n.count(1, super::MAX_RATE)).transpose()?;
    let step = table.get("step").map(|n| n.number()).transpose()?;
    if let (Some(_), Some(step)) = (&rate, &step) {
        return Err(Error::input(
            step.place(),
            format!("{what} has both `rate` and `step`; one of them is enough"),
        ));
    }
    let simulator = match (table.get("model"), table.get("fmu")) {
        (Some(model), None) => SimulatorSpec::Model(model.text()?),
        (None, Some(fmu)) => {
            let path = fmu.text()?;
            SimulatorSpec::Fmu(path.with(path.value.clone().into()), fmu_options(table, &what)?)
        }
        (Some(_), Some(fmu)) => {
            return fmu.fail(format!("{what} has both `model` and `fmu`; one of them is enough"));
        }
        (None, None) => {
            return Err(Error::input(
                name.place(),
                format!("{what} needs a key `model` (built in) or `fmu` (a file)"),
            ));
        }
    };
    let mut start = Vec::new();
    if let Some(list) = table.get("start") {
        if let SimulatorSpec::Model(_) = simulator {
            return list.fail(format!("{what} is a built-in model, whose start values are `parameters`"));
        }
        for (key, value) in list.open_table()?.entries() {
            start.push((key, given(value)?));
        }
    }
    let feed_through = table.get("feed_through").map(feed_through).transpose()?;
    Ok(SubsystemSpec { parameters, start, rate, step, feed_through, ..SubsystemSpec::new(name, simulator) })
}

/// A value of any type.
fn given(node: Node<'_>) -> Result<Given, Error> {
    Ok(if node.is_text() {
        Given::Text(node.text()?.value)
    } else if node.is_flag() {
        Given::Flag(node.flag()?.value)
    } else if node.is_list() {
        Given::List(node.list()?.into_iter().map(given).collect::<Result<_, Error>>()?)
    } else if let Some(digits) = node.long_whole_number() {
        Given::Typed(digits)
    } else {
        Given::Number(node.any_number()?)
    })
}

/// Keys that only FMUs have.
fn fmu_options(table: Table<'_>, what: &str) -> Result<FmuOptions, Error> {
    let Some(node) = table.get("options") else { return Ok(FmuOptions::default()) };
    let known =
        ["tolerance", "events", "input_derivatives", "sub_steps", "any_step_size", "whole_steps", "logging"];
    let options = node.table(&format!("`options` of {what}"), &known)?;
    let flag = |key| options.get(key).map_or(Ok(false), |n: Node<'_>| Ok::<bool, Error>(n.flag()?.value));
    let tolerance = match options.get("tolerance") {
        None => None,
        Some(n) => {
            let x = n.number()?.value;
            if x <= 0.0 || x >= 1.0 {
                return n.expected("a number above 0 and below 1");
            }
            Some(x)
        }
    };
    Ok(FmuOptions {
        tolerance,
        events: flag("events")?,
        input_derivatives: options
            .get("input_derivatives")
            .map(|n| Ok::<u8, Error>(n.count(0, 2)?.value as u8))
            .transpose()?,
        sub_steps: options
            .get("sub_steps")
            .map(|n| Ok::<u32, Error>(n.count(1, super::MAX_RATE)?.value))
            .transpose()?,
        any_step_size: flag("any_step_size")?,
        whole_steps: flag("whole_steps")?,
        logging: flag("logging")?,
    })
}

/// `"unknown"`, `"probe"` or a list of `["output", "input"]`.
fn feed_through(node: Node<'_>) -> Result<FeedThroughSpec, Error> {
    let wanted = "\"unknown\", \"probe\" or a list of pairs [\"output\", \"input\"]";
    if node.is_text() {
        return match node.text()?.value.as_str() {
            "unknown" => Ok(FeedThroughSpec::Unknown),
            "probe" => Ok(FeedThroughSpec::Probe),
            _ => node.expected(wanted),
        };
    }
    if !node.is_list() {
        return node.expected(wanted);
    }
    let mut pairs = Vec::new();
    for item in node.list()? {
        let mut names = item.texts()?;
        match (names.pop(), names.pop(), names.is_empty()) {
            (Some(input), Some(output), true) => pairs.push((output, input)),
            _ => return item.fail("a pair [\"output\", \"input\"] is needed"),
        }
    }
    Ok(FeedThroughSpec::Pairs(node.at(pairs)))
}

fn connection(node: Node<'_>) -> Result<Connection, Error> {
    let table = node.table("a connection", &["from", "to", "gain", "offset", "convert_units"])?;
    let sources = table.require("from", "a connection")?;
    let names = sources.texts()?;
    if names.is_empty() {
        return sources.fail("`from` is empty; name at least one output");
    }
    let gains = match table.get("gain") {
        None => vec![1.0; names.len()],
        Some(gain) if gain.is_list() => {
            let gains =
                gain.list()?.iter().map(|g| Ok(g.number()?.value)).collect::<Result<Vec<f64>, Error>>()?;
            if gains.len() != names.len() {
                return gain.fail(format!("there are {} gains for {} sources", gains.len(), names.len()));
            }
            gains
        }
        Some(gain) => vec![gain.number()?.value; names.len()],
    };
    let from = names.iter().zip(gains).map(|(n, g)| Ok((parse_name(n)?, g))).collect::<Result<_, Error>>()?;
    Ok(Connection {
        from,
        to: parse_name(&table.require("to", "a connection")?.text()?)?,
        offset: table.get("offset").map_or(Ok(0.0), |n| Ok(n.number()?.value))?,
        convert_units: table.get("convert_units").map_or(Ok(true), |n| Ok(n.flag()?.value))?,
    })
}

fn bond(name: At<String>, node: Node<'_>) -> Result<Bond, Error> {
    let what = format!("bond `{}`", name.value);
    let table = node.table(&what, &["ports", "energy_scale", "tolerance"])?;
    let list = table.require("ports", &what)?;
    let mut ports = Vec::new();
    for (i, port) in list.list()?.iter().enumerate() {
        let what = format!("port {} of {what}", i + 1);
        let table = port.table(&what, &["input", "output", "sign", "ratio"])?;
        let Some(sign) = table.get("sign") else {
            return port.fail(format!(
                "{what} lacks `sign`. Write 1 if input times output is power that leaves the subsystem, -1 if it enters; \
                 the connections alone cannot tell"
            ));
        };
        let names = |key| {
            let texts = table.require(key, &what)?.texts()?;
            texts.iter().map(parse_name).collect::<Result<Vec<_>, Error>>()
        };
        ports.push(BondPort {
            inputs: names("input")?,
            outputs: names("output")?,
            sign: sign.number()?,
            ratio: table.get("ratio").map_or(Ok(1.0), |n| Ok(n.number()?.value))?,
        });
    }
    let number = |knob: Knob| table.get(knob.name).map(|n| knob.read_number(n)).transpose();
    Ok(Bond {
        energy_scale: number(estimators::ENERGY_SCALE)?,
        tolerance: number(estimators::ENERGY_TOLERANCE)?,
        name,
        ports,
    })
}

fn record(node: Option<Node<'_>>) -> Result<Record, Error> {
    let mut record = Record::default();
    let Some(node) = node else { return Ok(record) };
    let table = node.table("`[record]`", &["variables", "exclude", "jumps", "format"])?;
    if let Some(node) = table.get("variables") {
        record.variables = node.texts()?;
    }
    if let Some(node) = table.get("exclude") {
        record.exclude = node.texts()?;
    }
    if let Some(node) = table.get("jumps") {
        record.jumps = node.flag()?.value;
    }
    if let Some(node) = table.get("format") {
        record.format = format(node)?;
    }
    Ok(record)
}

fn format(node: Node<'_>) -> Result<At<Format>, Error> {
    let name = node.text()?;
    match Format::named(&name.value) {
        Some(format) => Ok(name.with(format)),
        None => {
            let known = Format::ALL.map(Format::name);
            node.fail(format!("there is no format `{}`.{}", name.value, hint(&name.value, known)))
        }
    }
}
