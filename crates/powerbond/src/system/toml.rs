//! `system.toml` → [`System`]. Every key is checked; every message has a line.

use super::params::with_mappings;
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
use std::path::{Path, PathBuf};
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
        let folder = source.path().parent().unwrap_or(Path::new(""));
        beside(folder, &n.text()?, Scenario::load).map(Some)
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
    let named: Vec<Beside> = params.into_iter().map(|name| Beside::of(system.folder(), name)).collect();
    for (file, mapping) in problems.keep_or(Vec::new(), with_mappings(&named)).into_iter().rev() {
        let set = system
            .set_from(&file.path, mapping.map(|m| &*m.path), true)
            .map_err(|e| e.placed(file.name.place()));
        if let Some(notes) = problems.keep(set) {
            system.notes.extend(notes);
            let files = [Some(file), mapping].into_iter().flatten().map(|file| file.path.clone());
            system.simulation.params.splice(0..0, files);
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

/// What a file in another format cannot say of a subsystem.
const SETTINGS_OF_SUBSYSTEM: &[&str] =
    &["options", "rate", "step", "feed_through", "sampled", "process", "host"];

/// What a file in another format cannot say.
const SETTINGS: &[&str] =
    &["simulation", "subsystems", "connections", "inputs", "bonds", "method", "record", "verdict", "remote"];

/// Puts settings over a system that was read from a file in another format: sections as in a system file, of which each replaces what
/// was there.
pub fn put_settings(system: &mut System, source: &Arc<Source>) -> Result<(), Error> {
    let tree = source::toml::parse_with(source, advice)?;
    let mut problems = Collector::new();
    let file = tree.root().table_with(&mut problems, "the settings", SETTINGS)?;
    if let Some(node) = file.get("simulation") {
        let old = std::mem::replace(&mut system.simulation, simulation(Some(node), &mut problems));
        let has = |key| node.open_table().is_ok_and(|table| table.get(key).is_some());
        let new = &mut system.simulation;
        if !has("start") {
            new.start = old.start;
        }
        (new.stop, new.params) = (new.stop.take().or(old.stop), old.params);
        if new.step.is_some() && file.get("method").is_none() {
            system.method = Method::by_default(true);
        }
        new.step = new.step.take().or(old.step);
        let table = node.open_table().ok();
        let scenario = table.and_then(|table| table.get("scenario"));
        if let Some(found) = scenario.and_then(|n| {
            problems.keep(n.text().and_then(|name| beside(system.folder(), &name, Scenario::load)))
        }) {
            system.scenario = Some(found);
        }
    }
    if let Some(node) = file.get("subsystems") {
        let table = problems.keep(node.open_table());
        for (name, node) in table.map(|table| table.entries()).unwrap_or_default() {
            problems.keep(put_subsystem(system, &name, node));
        }
    }
    if let Some(found) = file.get("method").and_then(|n| problems.keep(Method::read(n))) {
        system.method = found;
    }
    system.connections.extend(optional(&mut problems, file.get("connections"), connection_list));
    system.inputs.extend(optional(&mut problems, file.get("inputs"), input_list));
    system.bonds.extend(optional(&mut problems, file.get("bonds"), bond_list));
    if let Some(found) = file.get("record").and_then(|n| problems.keep(record(n))) {
        system.record = found;
    }
    if let Some(found) = file.get("verdict").and_then(|n| problems.keep(VerdictSpec::read(n))) {
        system.verdict = found;
    }
    if let Some(found) = file.get("remote").and_then(|n| problems.keep(Remote::read(n))) {
        system.remote = found;
    }
    problems.finish(())
}

fn put_subsystem(system: &mut System, name: &At<String>, node: Node<'_>) -> Result<(), Error> {
    let place = system.specs().place(name.value.as_str());
    let Some(place) = place else {
        let names = system.subsystems.iter().map(|spec| spec.name.value.as_str());
        let message = format!("unknown subsystem `{}`.{}", name.value, hint(&name.value, names));
        return Err(Error::input(name.place(), message));
    };
    let mut problems = Collector::new();
    let what = format!("subsystem `{}`", name.value);
    let table = node.table_with(&mut problems, &what, SETTINGS_OF_SUBSYSTEM)?;
    let spec = &mut system.subsystems[place];
    how_it_runs(spec, table, &what, &mut problems);
    if let (SimulatorSpec::Fmu(_, options), Some(_)) = (&mut spec.simulator, table.get("options"))
        && let Some(found) = problems.keep(fmu_options(table, &what))
    {
        *options = found;
    }
    problems.finish(())
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

/// A file that is named relative to another one.
struct Beside {
    name: At<String>,
    path: PathBuf,
}

impl Beside {
    fn of(folder: &Path, name: At<String>) -> Self {
        Beside { path: folder.join(&name.value), name }
    }
}

impl AsRef<Path> for Beside {
    fn as_ref(&self) -> &Path {
        &self.path
    }
}

/// Reads a file that is named relative to one in `folder`; if it cannot be read at all, the error stands where it is named.
fn beside<T>(
    folder: &Path,
    name: &At<String>,
    read: impl FnOnce(&Path) -> Result<T, Error>,
) -> Result<T, Error> {
    let file = Beside::of(folder, name.clone());
    read(&file.path).map_err(|error| error.placed(name.place()))
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
    let spec =
        simulator.map(|simulator| SubsystemSpec { parameters, start, ..SubsystemSpec::new(name, simulator) });
    let spec = spec.map(|mut spec| {
        how_it_runs(&mut spec, table, &what, &mut problems);
        spec
    });
    problems.finish_some(spec)
}

/// What is said of how a subsystem runs, whatever simulates it.
fn how_it_runs(spec: &mut SubsystemSpec, table: Table<'_>, what: &str, problems: &mut Collector) {
    let rate = table.get("rate").and_then(|n| problems.keep(n.count(1, super::MAX_RATE)));
    let step = table.get("step").and_then(|n| problems.keep(n.number()));
    if let (Some(_), Some(step)) = (table.get("rate"), table.get("step")) {
        problems.keep::<()>(step.fail(format!("{what} has both `rate` and `step`; expected one of them")));
    }
    if rate.is_some() || step.is_some() {
        (spec.rate, spec.step) = (rate, step);
    }
    if let Some(found) = table.get("feed_through").and_then(|n| problems.keep(feed_through(n))) {
        spec.feed_through = Some(found);
    }
    if let Some(found) = table.get("sampled").and_then(|n| problems.keep(samples(n))) {
        spec.sampled = Some(found);
    }
    if let Some(found) = problems.keep(ProcessSpec::read(table, what))
        && !matches!(found, ProcessSpec::Automatic)
    {
        spec.process = found;
    }
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
    let known = ["from", "to", "gain", "offset", "convert_units", "table"];
    let table = node.table_with(&mut problems, "a connection", &known)?;
    let names = table.need(&mut problems, "from", "a connection").and_then(|n| problems.keep(sources(n)));
    let gains = names.as_ref().and_then(|names| problems.keep(gains(table.get("gain"), names.len())));
    let from = names.as_ref().and_then(|names| problems.keep(every(names, parse_name)));
    let to = table.need(&mut problems, "to", "a connection").and_then(|n| problems.keep(n.text()));
    let to = to.and_then(|name| problems.keep(parse_name(&name)));
    let offset = table.get("offset").and_then(|n| problems.keep(n.number()));
    let convert_units = table.get("convert_units").and_then(|n| problems.keep(n.flag()));
    let values = table.get("table").and_then(|n| problems.keep(value_table(n)));
    let ends = from.zip(gains).zip(to);
    problems.finish_some(ends.map(|((from, gains), to)| Connection {
        from: from.into_iter().zip(gains).collect(),
        to,
        offset: offset.map_or(0.0, |x| x.value),
        convert_units: convert_units.is_none_or(|flag| flag.value),
        table: values,
    }))
}

/// `[[1, 3], [2, 4]]`: what integers become.
fn value_table(node: Node<'_>) -> Result<Arc<Vec<(f64, f64)>>, Error> {
    let pairs = every(node.list()?, |item| {
        let numbers = every(item.list()?, |n| Ok(n.number()?.value))?;
        match numbers[..] {
            [from, to] if from.fract() == 0.0 && to.fract() == 0.0 => Ok((from, to)),
            _ => item.fail("expected a pair of integers: [what arrives, what it becomes]"),
        }
    })?;
    Ok(Arc::new(pairs))
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
