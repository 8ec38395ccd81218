//! `system.toml` → [`System`]. Every key is checked; every message has a line.

use super::{
    Bond, BondPort, Connection, FeedThroughSpec, FmuOptions, Given, MadeOf, ProcessSpec, Record, Remote,
    SignalSpec, Simulation, SimulatorSpec, SubsystemSpec, System, VerdictSpec, check_subsystem_name,
};
use crate::Error;
use crate::catalogue::{Knob, Method, estimators};
use crate::error::Collector;
use crate::scenario::Scenario;
use crate::source::{self, At, Node, Source, Table, parse_key, parse_name};
use crate::table::Format;
use powerbond_core::network::VariableName;
use powerbond_core::sampled::Samples;
use powerbond_core::step::LoopRules;
use powerbond_core::suggest::hint;
use powerbond_core::time::EndRule;
use powerbond_fmi::Logging;
use std::path::Path;
use std::sync::Arc;

const TOP: &[&str] = &[
    "system",
    "simulation",
    "subsystems",
    "connections",
    "inputs",
    "bonds",
    "method",
    "record",
    "verdict",
    "remote",
];
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
const SUBSYSTEM: &[&str] = &[
    "model",
    "fmu",
    "parameters",
    "start",
    "options",
    "rate",
    "step",
    "feed_through",
    "sampled",
    "process",
    "host",
];
/// What may help with a line that is not valid.
fn advice(line: &str) -> &'static str {
    match line.split(['#', ' ']).next() {
        Some("[connections]") => ". Write each connection under its own `[[connections]]`",
        _ => "",
    }
}

/// Reads a system from its text. The error has everything that is wrong with it.
pub fn read(source: Arc<Source>) -> Result<System, Error> {
    let tree = source::toml::parse_with(&source, advice)?;
    let mut problems = Collector::new();
    let file = tree.root().table_with(&mut problems, "the file", TOP)?;

    let name = optional(&mut problems, file.get("system"), own_title);
    let name = name.unwrap_or_else(|| own_name(source.path()));
    let subsystems = file.need(&mut problems, "subsystems", "the file");
    let subsystems = optional(&mut problems, subsystems, subsystem_list);
    let connections = optional(&mut problems, file.get("connections"), connection_list);
    let inputs = optional(&mut problems, file.get("inputs"), input_list);
    let bonds = optional(&mut problems, file.get("bonds"), bond_list);
    let simulation = simulation(file.get("simulation"), &mut problems);
    let method = match file.get("method") {
        None => Method::by_default(simulation.step.is_some()),
        node => optional(&mut problems, node, Method::read),
    };
    let record = optional(&mut problems, file.get("record"), record);
    let verdict = optional(&mut problems, file.get("verdict"), VerdictSpec::read);
    let remote = optional(&mut problems, file.get("remote"), Remote::read);
    let of_simulation = |key| file.get("simulation")?.open_table().ok()?.get(key);
    let scenario = optional(&mut problems, of_simulation("scenario"), |n| {
        beside(&source, &n.text()?, Scenario::load).map(Some)
    });
    let params = optional(&mut problems, of_simulation("params"), |n| n.texts());
    let mut system = problems.finish(System {
        name,
        simulation,
        subsystems,
        connections,
        inputs,
        bonds,
        method,
        record,
        verdict,
        remote,
        scenario,
        ..System::empty(MadeOf::File(source.clone()))
    })?;
    // Later files override earlier ones; what stands in this file overrides all of them.
    let mut problems = Collector::new();
    for path in params.iter().rev() {
        let set = beside(&source, path, |file| Ok((file.to_owned(), system.set_from(file, true)?)));
        if let Some((file, notes)) = problems.keep(set) {
            system.notes.extend(notes);
            system.simulation.params.insert(0, file);
        }
    }
    problems.finish(system)
}

/// Reads the `[method]` of a file and the `step` that belongs to it; everything else in the file is left alone. A file without
/// sections is a method by itself.
pub fn read_method(source: &Arc<Source>) -> Result<(Method, Option<At<f64>>), Error> {
    let tree = source::toml::parse_with(source, advice)?;
    let file = tree.root().open_table()?;
    let is_section = |key: &&str| file.get(key).is_some_and(|n| n.is_table());
    if !TOP.iter().any(is_section) {
        return Ok((Method::read(tree.root())?, None));
    }
    let mut problems = Collector::new();
    let file = tree.root().table_with(&mut problems, "the file", TOP)?;
    let simulation = simulation(file.get("simulation"), &mut problems);
    let method = match file.get("method") {
        Some(node) => problems.keep_or(Method::default(), Method::read(node)),
        None => Method::by_default(simulation.step.is_some()),
    };
    problems.finish((method, simulation.step))
}

/// Reads what may be missing, or may be wrong: then it is as if it were missing, and what is wrong is kept.
fn optional<'a, T: Default>(
    problems: &mut Collector,
    node: Option<Node<'a>>,
    read: impl FnOnce(Node<'a>) -> Result<T, Error>,
) -> T {
    node.and_then(|node| problems.keep(read(node))).unwrap_or_default()
}

/// The name that `[system]` gives.
fn own_title(node: Node<'_>) -> Result<Option<String>, Error> {
    let mut problems = Collector::new();
    let table = node.table_with(&mut problems, "`[system]`", &["name", "description"])?;
    let name = table.get("name").and_then(|n| problems.keep(n.text()));
    problems.finish(name.map(|n| n.value))
}

fn subsystem_list(node: Node<'_>) -> Result<Vec<SubsystemSpec>, Error> {
    let entries = node.open_table()?.entries();
    if entries.is_empty() {
        return node.fail("a system needs at least one subsystem");
    }
    every(entries, |(name, node)| subsystem(name, node))
}

fn connection_list(node: Node<'_>) -> Result<Vec<Connection>, Error> {
    if node.is_table() {
        return node.fail("`connections` is a table; write each connection under its own `[[connections]]`");
    }
    every(node.list()?, connection)
}

fn input_list(node: Node<'_>) -> Result<Vec<(At<VariableName>, SignalSpec)>, Error> {
    every(node.open_table()?.entries(), |(name, value)| {
        Ok((parse_key(&name, value)?, SignalSpec::read(value)?))
    })
}

fn bond_list(node: Node<'_>) -> Result<Vec<Bond>, Error> {
    if node.is_list() || node.open_table()?.get("ports").is_some_and(|n| n.is_list()) {
        return node.fail("missing name of a bond: write its `ports` under `[bonds.name]`");
    }
    every(node.open_table()?.entries(), |(name, node)| bond(name, node))
}

/// Reads all items; the error has what is wrong with each of them.
fn every<T, U>(
    items: impl IntoIterator<Item = T>,
    read: impl Fn(T) -> Result<U, Error>,
) -> Result<Vec<U>, Error> {
    let mut problems = Collector::new();
    let list = items.into_iter().filter_map(|item| problems.keep(read(item))).collect();
    problems.finish(list)
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

/// Reads a file that is named relative to this one; if it cannot be read at all, the error stands where it is named.
fn beside<T>(
    source: &Source,
    name: &At<String>,
    read: impl FnOnce(&Path) -> Result<T, Error>,
) -> Result<T, Error> {
    let path = source.path().parent().unwrap_or(Path::new("")).join(&name.value);
    read(&path).map_err(|error| error.placed(name.place()))
}

fn simulation(node: Option<Node<'_>>, problems: &mut Collector) -> Simulation {
    let table = node.map(|n| n.table_with(problems, "`[simulation]`", SIMULATION));
    let table = table.and_then(|table| problems.keep(table));
    let get = |key| table.and_then(|t: Table<'_>| t.get(key));
    let mut number = |key| get(key).and_then(|n| problems.keep(n.number()));
    let (start, stop, step) = (number("start"), number("stop"), number("step"));
    let output_interval = number("output_interval");
    let mut rule = |key, words: &[(&str, bool)]| {
        let chosen = get(key).and_then(|n| Some(n.at(problems.keep(n.one_of(words))?)));
        chosen.unwrap_or(At::default(false))
    };
    let land_on_output = rule("output", &[("interpolate", false), ("land", true)]);
    let overshoot = match get("end").filter(|n| !n.is_text()) {
        None => rule("end", &[("exact", false), ("overshoot", true)]).value,
        Some(n) => {
            let message = "`end` is \"exact\" or \"overshoot\"; the stop time is `stop`";
            problems.keep_or(false, n.fail(message))
        }
    };
    let mut rules = |key, name| {
        let rules = get(key).and_then(|n| problems.keep(loop_rules(n, name)));
        rules.unwrap_or_default()
    };
    Simulation {
        start: start.unwrap_or(At::default(0.0)),
        stop,
        step,
        output_interval,
        land_on_output,
        end: if overshoot { EndRule::Overshoot } else { EndRule::Exact },
        initial: rules("initial", "`initial`"),
        loops: rules("loops", "`loops`"),
        probe: get("probe").and_then(|n| problems.keep(n.flag())).is_none_or(|flag| flag.value),
        ..Simulation::default()
    }
}

/// How algebraic loops are solved, at the start or in the run.
fn loop_rules(node: Node<'_>, name: &str) -> Result<LoopRules, Error> {
    let mut problems = Collector::new();
    let table = node.table_with(&mut problems, name, &["tolerance", "iterations", "passes"])?;
    let mut rules = LoopRules::default();
    if let Some(tolerance) = table.get("tolerance").and_then(|n| problems.keep(fraction(n))) {
        rules.tolerance = tolerance;
    }
    let mut count = |key, limit: &mut usize| {
        if let Some(n) = table.get(key).and_then(|n| problems.keep(n.count(0, 1_000_000))) {
            *limit = n.value as usize;
        }
    };
    count("iterations", &mut rules.iterations);
    count("passes", &mut rules.passes);
    problems.finish(rules)
}

fn fraction(node: Node<'_>) -> Result<f64, Error> {
    let x = node.number()?.value;
    if x > 0.0 && x < 1.0 { Ok(x) } else { node.expected("a number above 0 and below 1") }
}

fn subsystem(name: At<String>, node: Node<'_>) -> Result<SubsystemSpec, Error> {
    let mut problems = Collector::new();
    let what = format!("subsystem `{}`", name.value);
    problems.keep(check_subsystem_name(&name));
    let table = match node.table_with(&mut problems, &what, SUBSYSTEM) {
        Ok(table) => table,
        Err(error) => {
            problems.add(error);
            return problems.finish_some(None);
        }
    };
    let mut values = |key| {
        let list = table.get(key).and_then(|list| problems.keep(list.open_table()));
        let list = list.map_or(Vec::new(), |list| list.entries());
        list.into_iter().filter_map(|(key, value)| Some((key, problems.keep(given(value))?))).collect()
    };
    let (parameters, start) = (values("parameters"), values("start"));
    let rate = table.get("rate").and_then(|n| problems.keep(n.count(1, super::MAX_RATE)));
    let step = table.get("step").and_then(|n| problems.keep(n.number()));
    if let (Some(_), Some(step)) = (table.get("rate"), table.get("step")) {
        problems.keep::<()>(step.fail(format!("{what} has both `rate` and `step`; expected one of them")));
    }
    let simulator = match (table.get("model"), table.get("fmu")) {
        (Some(model), None) => {
            if let Some(list) = table.get("start") {
                let message = format!("{what} is a built-in model: set start values in `parameters`");
                problems.keep::<()>(list.fail(message));
            }
            problems.keep(model.text()).map(SimulatorSpec::Model)
        }
        (None, Some(fmu)) => {
            let options = problems.keep(fmu_options(table, &what));
            let path = problems.keep(fmu.text());
            path.zip(options)
                .map(|(path, options)| SimulatorSpec::Fmu(path.with(path.value.clone().into()), options))
        }
        (Some(_), Some(fmu)) => {
            problems.keep(fmu.fail(format!("{what} has both `model` and `fmu`; expected one of them")))
        }
        (None, None) => {
            if table.is_known() {
                let message = format!("{what} lacks `model` (built in) or `fmu` (a file)");
                problems.add(Error::input(name.place(), message));
            }
            None
        }
    };
    let feed_through = table.get("feed_through").and_then(|n| problems.keep(feed_through(n)));
    let sampled = table.get("sampled").and_then(|n| problems.keep(samples(n)));
    let process = problems.keep(ProcessSpec::read(table, &what)).unwrap_or_default();
    let spec = simulator.map(|simulator| SubsystemSpec {
        process,
        parameters,
        start,
        rate,
        step,
        feed_through,
        sampled,
        ..SubsystemSpec::new(name, simulator)
    });
    problems.finish_some(spec)
}

/// `0.01` or `{ period = 0.01, offset = 0.002 }`, in s.
fn samples(node: Node<'_>) -> Result<Samples, Error> {
    let positive = |node: Node<'_>| {
        let x = node.number()?.value;
        if x > 0.0 { Ok(x) } else { node.expected("a period in seconds, above 0") }
    };
    if !node.is_table() {
        return Ok(Samples { at: 0.0, period: positive(node)? });
    }
    let table = node.table("`sampled`", &["period", "offset"])?;
    let Some(period) = table.get("period") else {
        return node.fail("`sampled` lacks `period`, the time between two samples in seconds");
    };
    let at = table.get("offset").map_or(Ok(0.0), |offset| Ok(offset.number()?.value))?;
    Ok(Samples { at, period: positive(period)? })
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
    let known = [
        "tolerance",
        "events",
        "input_derivatives",
        "sub_steps",
        "any_step_size",
        "whole_steps",
        "logging",
        "log_categories",
    ];
    let mut problems = Collector::new();
    let options_of = node.table_with(&mut problems, &format!("`options` of {what}"), &known)?;
    let tolerance = options_of.get("tolerance").and_then(|n| problems.keep(fraction(n)));
    let mut count = |key, min, max| {
        let count = options_of.get(key).and_then(|n| problems.keep(n.count(min, max)));
        count.map(|n| n.value)
    };
    let input_derivatives = count("input_derivatives", 0, 2).map(|n| n as u8);
    let sub_steps = count("sub_steps", 1, super::MAX_RATE);
    let mut flag = |key| {
        let flag = options_of.get(key).and_then(|n| problems.keep(n.flag()));
        flag.is_some_and(|flag| flag.value)
    };
    let options = FmuOptions {
        tolerance,
        events: flag("events"),
        input_derivatives,
        sub_steps,
        any_step_size: flag("any_step_size"),
        whole_steps: flag("whole_steps"),
        logging: Logging::default(),
        log_categories: Vec::new(),
    };
    let wanted = options_of.get("logging").and_then(|n| problems.keep(n.flag())).map(|flag| flag.value);
    let categories = options_of.get("log_categories").and_then(|n| problems.keep(n.texts()));
    let log_categories: Vec<String> = categories.into_iter().flatten().map(|name| name.value).collect();
    // Naming categories asks for their lines.
    let logging = match wanted {
        Some(true) => Logging::Categories,
        _ if !log_categories.is_empty() => Logging::Categories,
        Some(false) => Logging::Off,
        None => Logging::On,
    };
    problems.finish(FmuOptions { logging, log_categories, ..options })
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
    let pairs = every(node.list()?, |item| {
        let mut names = item.texts()?;
        match (names.pop(), names.pop(), names.is_empty()) {
            (Some(input), Some(output), true) => Ok((output, input)),
            _ => item.fail("expected a pair [\"output\", \"input\"]"),
        }
    })?;
    Ok(FeedThroughSpec::Pairs(node.at(pairs)))
}

fn connection(node: Node<'_>) -> Result<Connection, Error> {
    let mut problems = Collector::new();
    let known = ["from", "to", "gain", "offset", "convert_units"];
    let table = node.table_with(&mut problems, "a connection", &known)?;
    let names = table.need(&mut problems, "from", "a connection").and_then(|n| problems.keep(sources(n)));
    let gains = names.as_ref().and_then(|names| problems.keep(gains(table.get("gain"), names.len())));
    let from = names.as_ref().and_then(|names| problems.keep(every(names, parse_name)));
    let to = table.need(&mut problems, "to", "a connection").and_then(|n| problems.keep(n.text()));
    let to = to.and_then(|name| problems.keep(parse_name(&name)));
    let offset = table.get("offset").and_then(|n| problems.keep(n.number()));
    let convert_units = table.get("convert_units").and_then(|n| problems.keep(n.flag()));
    let ends = from.zip(gains).zip(to);
    problems.finish_some(ends.map(|((from, gains), to)| Connection {
        from: from.into_iter().zip(gains).collect(),
        to,
        offset: offset.map_or(0.0, |x| x.value),
        convert_units: convert_units.is_none_or(|flag| flag.value),
    }))
}

fn sources(node: Node<'_>) -> Result<Vec<At<String>>, Error> {
    let names = node.texts()?;
    if names.is_empty() { node.fail("`from` is empty; name at least one output") } else { Ok(names) }
}

/// One gain for all sources, or one for each.
fn gains(node: Option<Node<'_>>, sources: usize) -> Result<Vec<f64>, Error> {
    match node {
        None => Ok(vec![1.0; sources]),
        Some(node) if node.is_list() => {
            let gains = every(node.list()?, |n| Ok(n.number()?.value))?;
            if gains.len() != sources {
                return node.fail(format!("{} gains for {sources} sources", gains.len()));
            }
            Ok(gains)
        }
        Some(node) => Ok(vec![node.number()?.value; sources]),
    }
}

fn bond(name: At<String>, node: Node<'_>) -> Result<Bond, Error> {
    let mut problems = Collector::new();
    let what = format!("bond `{}`", name.value);
    let table = node.table_with(&mut problems, &what, &["ports", "energy_scale", "tolerance", "pseudo"])?;
    let ports = table.need(&mut problems, "ports", &what).and_then(|list| {
        let ports = problems.keep(list.list())?.into_iter().enumerate();
        problems.keep(every(ports, |(i, node)| port(node, &format!("port {} of {what}", i + 1))))
    });
    let mut number = |knob: Knob| table.get(knob.name).and_then(|n| problems.keep(knob.read_number(n)));
    let (energy_scale, tolerance) = (number(estimators::ENERGY_SCALE), number(estimators::ENERGY_TOLERANCE));
    let pseudo = table.get("pseudo").and_then(|n| problems.keep(n.flag())).is_some_and(|flag| flag.value);
    problems.finish_some(ports.map(|ports| Bond { energy_scale, tolerance, name, ports, pseudo }))
}

fn port(node: Node<'_>, what: &str) -> Result<BondPort, Error> {
    let mut problems = Collector::new();
    let table = node.table_with(&mut problems, what, &["input", "output", "sign", "ratio", "from"])?;
    let sign = match table.get("sign") {
        Some(sign) => problems.keep(sign.number()),
        None => {
            if table.is_known() {
                problems.keep::<()>(node.fail(format!(
                    "{what} lacks `sign`. Set 1 if input times output is power that leaves the subsystem, -1 if it \
                     enters; it does not follow from the connections"
                )));
            }
            None
        }
    };
    let mut names = |key| {
        let texts = table.need(&mut problems, key, what).and_then(|n| problems.keep(n.texts()))?;
        problems.keep(every(&texts, parse_name))
    };
    let sides = names("input").zip(names("output"));
    let ratio = table.get("ratio").and_then(|n| problems.keep(n.number()));
    let ratio = ratio.map_or(1.0, |x| x.value);
    let from = table.get("from").and_then(|n| {
        let texts = problems.keep(n.texts())?;
        problems.keep(every(&texts, parse_name))
    });
    let from = from.unwrap_or_default();
    if let (Some((inputs, _)), Some(n)) = (&sides, table.get("from"))
        && !from.is_empty()
        && from.len() != inputs.len()
    {
        let message = format!("{what}: {} connections in `from` for {} inputs", from.len(), inputs.len());
        problems.keep::<()>(n.fail(message));
    }
    let port =
        sides.zip(sign).map(|((inputs, outputs), sign)| BondPort { inputs, outputs, sign, ratio, from });
    problems.finish_some(port)
}

fn record(node: Node<'_>) -> Result<Record, Error> {
    let mut record = Record::default();
    let mut problems = Collector::new();
    let known = ["variables", "exclude", "jumps", "details", "format"];
    let table = node.table_with(&mut problems, "`[record]`", &known)?;
    if let Some(names) = table.get("variables").and_then(|n| problems.keep(n.texts())) {
        record.variables = Some(names);
    }
    record.exclude = optional(&mut problems, table.get("exclude"), |n| n.texts());
    record.jumps = optional(&mut problems, table.get("jumps"), |n| Ok(n.flag()?.value));
    record.details = optional(&mut problems, table.get("details"), |n| Ok(n.flag()?.value));
    if let Some(format) = table.get("format").and_then(|n| problems.keep(format(n))) {
        record.format = format;
    }
    problems.finish(record)
}

fn format(node: Node<'_>) -> Result<At<Format>, Error> {
    let name = node.text()?;
    match Format::named(&name.value) {
        Some(format) => Ok(name.with(format)),
        None => {
            let known = Format::ALL.map(Format::name);
            node.fail(format!("unknown format `{}`.{}", name.value, hint(&name.value, known)))
        }
    }
}
