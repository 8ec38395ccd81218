//! `powerbond inspect`: what an FMU says about itself, without running it.

use crate::layout::table;
use crate::text::{print, say, show, significant};
use powerbond::core::subsystem::Subsystem;
use powerbond::fmi::description::{
    Causality, Dimension, Initial, ModelDescription, TypeDefinition, Variability, Variable,
};
use powerbond::fmi::probe::probe;
use powerbond::fmi::{Fmu, Options, Reread, printable};
use powerbond::system::{Connection, SimulatorSpec, SubsystemSpec};
use powerbond::{Error, System};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Options of `inspect`.
#[derive(clap::Args)]
pub struct Arguments {
    /// An FMU (a `.fmu` file or its unpacked folder), or a structure of SSP or OSP
    fmu: PathBuf,
    /// Show every variable, not only inputs, outputs and parameters
    #[arg(short, long)]
    all: bool,
    /// Also load the library, and list functions that it lacks
    #[arg(long)]
    load: bool,
    /// Also probe direct feed-through on a scratch instance
    #[arg(long)]
    probe: bool,
    /// Treat violations of the FMI standard as errors (exit code 3)
    #[arg(long)]
    strict: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

impl Arguments {
    /// Nothing of the FMU is run.
    pub fn only_reads(&self) -> bool {
        !self.load && !self.probe
    }
}

fn fail(e: powerbond::fmi::FmuError) -> Error {
    Error::input(None, e.to_string())
}

/// What `--json` prints of an FMU that is only read.
pub fn as_json(path: &Path) -> Result<String, Error> {
    let fmu = Fmu::open(path).map_err(fail)?;
    let description = fmu.description();
    Ok(with_variables(&document(&fmu, &findings(description)), description))
}

/// What its files have that the standard does not allow.
fn findings(description: &ModelDescription) -> Vec<String> {
    let mut findings: Vec<String> = description.findings.iter().map(ToString::to_string).collect();
    if description.more_findings > 0 {
        findings.push(format!("{} more findings", description.more_findings));
    }
    findings
}

/// Runs the command.
pub fn main(arguments: &Arguments) -> Result<u8, Error> {
    if System::is_structure(&arguments.fmu) {
        return structure(arguments);
    }
    let fmu = Fmu::open(&arguments.fmu).map_err(fail)?;
    let description = fmu.description();
    let mut findings = findings(description);
    // What cannot be loaded can still be described.
    let loaded = arguments.load.then(|| fmu.load());
    let lacks = loaded.as_ref().and_then(|loaded| loaded.as_ref().ok());
    findings.extend(lacks.into_iter().flatten().cloned());
    let probed = arguments.probe.then(|| Probe::of(&fmu));
    if arguments.json {
        let mut document = document(&fmu, &findings);
        if let Some(probed) = &probed {
            document["probe"] = probed.json();
        }
        if let Some(loaded) = &loaded {
            document["load"] = match loaded {
                Ok(lacks) => json!({ "lacks": lacks }),
                Err(error) => json!({ "error": error.to_string() }),
            };
        }
        print(&with_variables(&document, description))?;
    } else {
        let mut out = describe(&fmu, arguments.all);
        match &loaded {
            Some(Ok(lacks)) if lacks.is_empty() => {
                out += "\nload: the library has all functions that are declared\n"
            }
            Some(Ok(_)) => out += "\nload: the library lacks functions, see below\n",
            Some(Err(error)) => out += &format!("\nload failed: {}\n", error.problem),
            None => {}
        }
        show(&printable(&out))?;
        if let Some(probed) = &probed {
            show(&printable(&probed.text()))?;
        }
        findings.iter().for_each(|f| say("finding", f));
    }
    if let Some(Err(error)) = loaded {
        return Err(fail(error));
    }
    if arguments.strict && !findings.is_empty() {
        let message = format!("{}: {} finding(s) with --strict", arguments.fmu.display(), findings.len());
        return Err(Error::input(None, message));
    }
    Ok(0)
}

/// A structure of SSP or OSP: its systems, what is set and what is connected.
fn structure(arguments: &Arguments) -> Result<u8, Error> {
    let system = System::load(&arguments.fmu)?;
    let fmu = |simulator: &SimulatorSpec| match simulator {
        SimulatorSpec::Fmu(path, _) => {
            path.value.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
        }
        _ => String::new(),
    };
    let from = |c: &Connection| {
        c.from
            .iter()
            .map(|(name, gain)| json!({ "name": name.value.to_string(), "gain": gain }))
            .collect::<Vec<_>>()
    };
    let set = |spec: &SubsystemSpec| {
        let all = spec.parameters.iter().chain(&spec.start);
        all.map(|(name, value)| (name.value.clone(), value.to_json())).collect::<serde_json::Map<_, _>>()
    };
    if arguments.json {
        let subsystems = system.subsystems.iter();
        let subsystems =
            subsystems.map(|s| json!({ "name": s.name.value, "fmu": fmu(&s.simulator), "set": set(s) }));
        let connections = system.connections.iter();
        let connections =
            connections.map(|c| json!({ "from": from(c), "to": c.to.value.to_string(), "offset": c.offset }));
        let bonds = system.bonds.iter().map(|bond| bond.name.value.clone());
        let document = json!({
            "system": system.name,
            "experiment": {
                "start": system.simulation.start.value,
                "stop": system.simulation.stop.as_ref().map(|t| t.value),
                "step": system.simulation.step.as_ref().map(|t| t.value),
            },
            "subsystems": subsystems.collect::<Vec<_>>(),
            "connections": connections.collect::<Vec<_>>(),
            "bonds": bonds.collect::<Vec<_>>(),
            "findings": system.notes,
        });
        print(&format!("{document:#}\n"))?;
    } else {
        show(&printable(&describe_structure(&system, fmu, arguments.all)))?;
        system.notes.iter().for_each(|note| say("finding", note));
    }
    if arguments.strict && !system.notes.is_empty() {
        let message = format!("{}: {} finding(s) with --strict", arguments.fmu.display(), system.notes.len());
        return Err(Error::input(None, message));
    }
    Ok(0)
}

fn describe_structure(system: &System, fmu: impl Fn(&SimulatorSpec) -> String, all: bool) -> String {
    let mut out = format!("{}\n\n", system.name);
    let mut open: Vec<&str> = Vec::new();
    let mut sorted: Vec<&SubsystemSpec> = system.subsystems.iter().collect();
    sorted.sort_by(|a, b| a.name.value.cmp(&b.name.value));
    for spec in sorted {
        let parts: Vec<&str> = spec.name.value.split('/').collect();
        let (own, path) = parts.split_last().map_or(("", &[][..]), |(own, path)| (*own, path));
        let common = open.iter().zip(path).take_while(|(a, b)| a == b).count();
        for (depth, name) in path.iter().enumerate().skip(common) {
            out += &format!("{}{name}/\n", "  ".repeat(depth + 1));
        }
        open = path.to_vec();
        let indent = "  ".repeat(parts.len());
        out += &format!("{indent}{own}  {}\n", fmu(&spec.simulator));
        let set: Vec<String> = spec
            .parameters
            .iter()
            .chain(&spec.start)
            .map(|(name, value)| format!("{} = {}", name.value, value.to_json()))
            .collect();
        let shown = if all { set.len() } else { set.len().min(SHOWN) };
        set[..shown].iter().for_each(|line| out += &format!("{indent}  {line}\n"));
        if shown < set.len() {
            out += &format!("{indent}  … {} more values; `--all` shows them\n", set.len() - shown);
        }
    }
    out += &format!("\nConnections: {}\n", system.connections.len());
    let shown = if all { system.connections.len() } else { SHOWN };
    for connection in system.connections.iter().take(shown) {
        let sources: Vec<String> = connection
            .from
            .iter()
            .map(|(name, gain)| match gain {
                1.0 => name.value.to_string(),
                gain => format!("{}·{}", significant(*gain), name.value),
            })
            .collect();
        out += &format!("  {} = {}\n", connection.to.value, sources.join(" + "));
    }
    if system.connections.len() > shown {
        out += &format!("  … {} more; `--all` shows them\n", system.connections.len() - shown);
    }
    let names: Vec<&str> = system.bonds.iter().map(|bond| bond.name.value.as_str()).collect();
    if !names.is_empty() {
        out += &format!("\nPower bonds: {}\n", names.join(", "));
    }
    out
}

/// What a probe of an FMU found.
enum Probe {
    /// Pairs of output and input with their gains, how outputs are read again after a step, and whether that is called able.
    Found {
        pairs: Vec<(String, String, f64)>,
        reread: Reread,
        refresh: bool,
    },
    Failed(String),
}

impl Probe {
    fn of(fmu: &Fmu) -> Self {
        let options = Options::default();
        let probed = probe(fmu, &options, true);
        if let Some(failure) = probed.failure {
            return Probe::Failed(failure);
        }
        match fmu.instantiate("probe", &options) {
            Err(error) => Probe::Failed(error.to_string()),
            Ok(mut instance) => {
                instance.set_reread(probed.reread);
                let info = instance.info();
                let name = |v: usize| info.variables[v].name.clone();
                let pairs =
                    probed.responses.iter().map(|r| (name(r.output), name(r.input), r.gain)).collect();
                Probe::Found { pairs, reread: probed.reread, refresh: info.capabilities.can_refresh }
            }
        }
    }

    fn json(&self) -> Value {
        match self {
            Probe::Failed(error) => json!({ "error": error }),
            Probe::Found { pairs, reread, refresh } => {
                let names: Vec<(&str, &str)> = pairs.iter().map(|(o, i, _)| (&**o, &**i)).collect();
                let gains: Vec<f64> = pairs.iter().map(|(_, _, gain)| *gain).collect();
                json!({ "feed_through": names, "gains": gains, "reread": reread.name(), "refresh": refresh })
            }
        }
    }

    fn text(&self) -> String {
        match self {
            Probe::Failed(error) => format!("\nprobe failed: {error}\n"),
            Probe::Found { pairs, .. } if pairs.is_empty() => {
                "\nprobe: no direct feed-through (at the start values)\n".to_owned()
            }
            Probe::Found { pairs, reread, .. } => {
                let mut out = "\nprobe, at the start values:\n".to_owned();
                for (output, input, gain) in pairs {
                    out += &format!(
                        "  direct feed-through from {input} to {output}, gain {}\n",
                        significant(*gain)
                    );
                }
                out + match reread {
                    Reread::Plain => "  also after a step: refresh is supported\n",
                    Reread::EventMode => "  also after a step, in Event Mode: refresh is supported\n",
                    Reread::No | Reread::NotSeen => "  not after a step: refresh is not supported\n",
                }
            }
        }
    }
}

/// `input`, `output`, … without an article.
fn causality(causality: Causality) -> &'static str {
    let noun = causality.noun();
    noun.strip_prefix("an ").or(noun.strip_prefix("a ")).unwrap_or(noun)
}

fn unit<'a>(description: &'a ModelDescription, v: &Variable) -> &'a str {
    v.unit.map_or("", |u| description.units[u as usize].unit.symbol.as_str())
}

/// The document with all variables in it, one per line: as a tree, a large FMU's would fill the memory.
fn with_variables(document: &Value, d: &ModelDescription) -> String {
    let mut out = format!("{document:#}");
    out.truncate(out.trim_end_matches(['}', '\n']).len());
    out += ",\n  \"variables\": [";
    for (n, v) in d.variables.iter().enumerate() {
        let variable = json!({
            "name": v.name, "type": v.kind.name(), "causality": causality(v.causality), "unit": unit(d, v),
            "variability": variability(v.variability), "initial": initial(v.initial),
            "alias_of": v.alias_of.map(|other| &d.variables[other as usize].name), "quantity": d.quantity_of(v), "declared_type": v.declared_type.map(|t| &d.types[t as usize].name),
            "start": v.start.as_ref().map(ToString::to_string), "nominal": v.nominal, "min": v.min, "max": v.max,
            "description": v.description, "dimensions": v.dimensions.iter().map(|n| dimension(d, *n)).collect::<Vec<_>>(),
            "clock": v.clock.as_ref().map(|c| json!({ "variability": c.variability, "interval": c.interval, "shift": c.shift })),
        });
        out += &format!("{}\n    {variable}", if n > 0 { "," } else { "" });
    }
    out + "\n  ]\n}\n"
}

/// A length, or the structural parameter that has it.
fn dimension(d: &ModelDescription, dimension: Dimension) -> Value {
    match dimension {
        Dimension::Fixed(n) => json!(n),
        Dimension::Parameter(reference) => {
            json!(d.variables.iter().find(|v| v.reference == reference).map(|v| &v.name))
        }
    }
}

fn variability(variability: Variability) -> &'static str {
    match variability {
        Variability::Constant => "constant",
        Variability::Fixed => "fixed",
        Variability::Tunable => "tunable",
        Variability::Discrete => "discrete",
        Variability::Continuous => "continuous",
    }
}

/// How a variable gets its first value; nothing for inputs and the independent variable.
fn initial(initial: Initial) -> Option<&'static str> {
    match initial {
        Initial::Exact => Some("exact"),
        Initial::Approx => Some("approx"),
        Initial::Calculated => Some("calculated"),
        Initial::Given => None,
    }
}

/// A declared type, with the items of an enumeration.
fn declared(d: &ModelDescription, t: &TypeDefinition) -> Value {
    let items: Vec<Value> = t
        .items
        .iter()
        .map(|i| json!({ "name": i.name, "value": i.value, "description": i.description }))
        .collect();
    json!({
        "name": t.name, "type": t.kind.name(), "description": t.description, "quantity": t.quantity,
        "unit": t.unit.map_or("", |u| d.units[u as usize].unit.symbol.as_str()),
        "min": t.min, "max": t.max, "nominal": t.nominal, "items": items,
    })
}

fn document(fmu: &Fmu, findings: &[String]) -> Value {
    let d = fmu.description();
    let co_simulation = d.co_simulation.as_ref().map(|c| {
        json!({
            "model_identifier": c.model_identifier, "variable_step_size": c.can_handle_variable_step_size,
            "fixed_internal_step_size": c.fixed_internal_step_size, "input_derivatives": c.can_interpolate_inputs,
            "output_derivatives": c.max_output_derivative_order,
            "state": c.can_get_and_set_state, "serialized_state": c.can_serialize_state,
            "directional_derivatives": c.provides_directional_derivatives, "once_per_process": c.only_once_per_process,
            "event_mode": c.has_event_mode, "asynchronous": c.can_run_asynchronously, "early_return": c.might_return_early,
            "intermediate_update": c.provides_intermediate_update,
        })
    });
    let e = &d.default_experiment;
    json!({
        "fmi": d.version.to_string(), "model": d.model_name, "description": d.description, "tool": d.generation_tool,
        "generated": d.generation_time,
        "version": d.model_version, "author": d.author, "copyright": d.copyright, "license": d.license, "token": d.token,
        "co_simulation": co_simulation, "model_exchange": d.has_model_exchange,
        "scheduled_execution": d.has_scheduled_execution,
        "default_experiment": { "start": e.start, "stop": e.stop, "step": e.step_size, "tolerance": e.tolerance },
        "platforms": fmu.platforms(), "runs_here": runs_here(fmu),
        "terminals": d.terminals.iter().map(|t| t.name.to_string()).collect::<Vec<_>>(),
        "types": d.types.iter().map(|t| declared(d, t)).collect::<Vec<_>>(),
        "findings": findings,
    })
}

/// Whether there is a library for this platform.
fn runs_here(fmu: &Fmu) -> bool {
    fmu.platforms().iter().any(|platform| powerbond::fmi::PLATFORM.contains(&platform.as_str()))
}

/// Lines of text have at most so many characters: a terminal's usual width.
const WIDTH: usize = 80;

/// Variables of a kind on the first screen.
const SHOWN: usize = 12;

/// `first`, then words with blanks between them; lines that do not fit go on at `indent`.
fn wrapped(first: &str, words: impl IntoIterator<Item = String>, indent: usize) -> String {
    let mut out = first.to_owned();
    let mut column = indent;
    for word in words {
        let length = word.chars().count() + 1;
        if column > indent && column + length > WIDTH {
            out = out.trim_end().to_owned() + &format!("\n{}", " ".repeat(indent));
            column = indent;
        }
        out += &format!("{word} ");
        column += length;
    }
    out.trim_end().to_owned() + "\n"
}

/// A text in lines that fit, each indented.
fn paragraph(text: &str, indent: usize) -> String {
    wrapped(&" ".repeat(indent), text.split_whitespace().map(str::to_owned), indent)
}

/// `  label         words, words`.
fn entry(label: &str, words: &[String]) -> String {
    let last = words.len().saturating_sub(1);
    let with_comma = |(n, word): (usize, &String)| format!("{word}{}", if n < last { "," } else { "" });
    wrapped(&format!("  {label:<14}"), words.iter().enumerate().map(with_comma), 16)
}

/// An entry of the words that hold; nothing if none does.
fn entry_of(label: &str, words: &[(bool, &str)]) -> String {
    let holding: Vec<String> = words.iter().filter(|w| w.0).map(|w| w.1.to_owned()).collect();
    if holding.is_empty() { String::new() } else { entry(label, &holding) }
}

fn describe(fmu: &Fmu, all: bool) -> String {
    let d = fmu.description();
    let mut title = format!("{} (FMI {}", d.model_name, d.version);
    if !d.generation_tool.is_empty() {
        title += &format!(", generated by {}", d.generation_tool);
    }
    let mut out = paragraph(&(title + ")"), 0);
    if !d.description.is_empty() {
        out += &paragraph(&cut(&d.description, LONGEST), 2);
    }
    let kinds = [
        (d.co_simulation.is_some(), "co-simulation"),
        (d.has_model_exchange, "model exchange"),
        (d.has_scheduled_execution, "scheduled execution"),
    ];
    let mut kinds: Vec<String> = kinds.iter().filter(|k| k.0).map(|k| k.1.to_owned()).collect();
    if d.co_simulation.is_none() {
        kinds.push("powerbond runs co-simulation only".to_owned());
    }
    out += &entry("interfaces", &kinds);
    let mut platforms = fmu.platforms().to_vec();
    if !runs_here(fmu) {
        platforms.push(format!("none for this platform ({})", powerbond::fmi::PLATFORM.join(" or ")));
    }
    out += &entry("platforms", &platforms);
    let e = &d.default_experiment;
    let mut experiment = Vec::new();
    for (word, value) in [("start", e.start), ("stop", e.stop), ("step", e.step_size)] {
        experiment.extend(value.map(|x| format!("{word} {x} s")));
    }
    experiment.extend(e.tolerance.map(|x| format!("tolerance {x}")));
    if !experiment.is_empty() {
        out += &entry("experiment", &experiment);
    }
    if let Some(c) = &d.co_simulation {
        let mut steps = vec![match (c.fixed_internal_step_size, c.can_handle_variable_step_size) {
            (Some(step), _) => format!("multiples of {step} s"),
            (None, true) => "any step size".to_owned(),
            (None, false) => "constant step size only".to_owned(),
        }];
        for (flag, word) in
            [(c.might_return_early, "early return"), (c.can_run_asynchronously, "asynchronous steps")]
        {
            if flag {
                steps.push(word.to_owned());
            }
        }
        out += &entry("steps", &steps);
        out += &entry_of(
            "can",
            &[
                (c.can_interpolate_inputs, "input derivatives"),
                (c.max_output_derivative_order > 0, "output derivatives"),
                (c.can_get_and_set_state, "get and set state"),
                (c.provides_directional_derivatives, "directional derivatives"),
                (c.has_event_mode, "Event Mode"),
                (c.provides_intermediate_update, "intermediate update"),
            ],
        );
        out += &entry_of(
            "needs",
            &[
                (c.needs_execution_tool, "the tool that made it"),
                (c.only_once_per_process, "a process for each instance"),
            ],
        );
    }
    let always = [Causality::Input, Causality::Output, Causality::Parameter];
    let others = [
        Causality::StructuralParameter,
        Causality::CalculatedParameter,
        Causality::Local,
        Causality::Independent,
    ];
    let counts: Vec<String> = always
        .into_iter()
        .chain(others)
        .map(|c| (c, d.variables.iter().filter(|v| v.causality == c).count()))
        .filter(|(c, count)| *count > 0 || always.contains(c))
        .map(|(c, count)| format!("{count} {}{}", causality(c), if count == 1 { "" } else { "s" }))
        .collect();
    let of = format!("{} (", d.variables.len());
    let last = counts.len() - 1;
    let counts: Vec<String> = counts
        .into_iter()
        .enumerate()
        .map(|(n, text)| {
            format!("{}{text}{}", if n == 0 { &of } else { "" }, if n == last { ")" } else { "" })
        })
        .collect();
    out += &entry("variables", &counts);
    for v in &d.variables {
        if let Some(clock) = &v.clock {
            out +=
                &format!("  clock         {} ({}, {})\n", v.name, causality(v.causality), clock.describe());
        }
    }
    if !d.terminals.is_empty() {
        let names: Vec<String> = d.terminals.iter().map(|t| t.name.to_string()).collect();
        out += &entry("terminals", &names);
    }
    out + &listing(d, all)
}

/// Of a description on the first screen, in characters: some tools put whole documents there.
const LONGEST: usize = 1000;

/// At most so many characters of a text.
fn cut(text: &str, most: usize) -> String {
    match text.chars().count() > most {
        true => text.chars().take(most - 1).chain(['…']).collect(),
        false => text.to_owned(),
    }
}

/// Inputs, outputs and parameters; the first of each, or every variable. Without outputs, local variables are what there is to see.
fn listing(d: &ModelDescription, all: bool) -> String {
    /// Of starts and units on the first screen, so that the columns behind them are seen.
    const NARROW: usize = 14;
    let header = ["variable", "causality", "type", "start", "unit", "description"];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    let mut left = Vec::new();
    let row = |v: &Variable| {
        let (start, unit) = (v.start.as_ref().map_or(String::new(), ToString::to_string), unit(d, v));
        let words: Vec<&str> = v.description.split_whitespace().collect();
        vec![
            v.name.to_string(),
            causality(v.causality).trim_end_matches(" variable").to_owned(),
            v.kind.name().to_owned(),
            if all { start } else { cut(&start, NARROW) },
            if all { unit.to_owned() } else { cut(unit, NARROW) },
            words.join(" "),
        ]
    };
    if all {
        rows.extend(d.variables.iter().map(row));
    } else {
        let has_outputs = d.variables.iter().any(|v| v.causality == Causality::Output);
        let groups: [&[Causality]; 4] = [
            &[Causality::Input],
            &[Causality::Output],
            if has_outputs { &[] } else { &[Causality::Local] },
            &[Causality::Parameter, Causality::StructuralParameter],
        ];
        for group in groups {
            let mut of_group: Vec<&Variable> =
                d.variables.iter().filter(|v| group.contains(&v.causality)).collect();
            // Some tools put their own settings among the parameters of the model, with names that begin with an underscore.
            of_group.sort_by_key(|v| v.name.starts_with('_'));
            let own = of_group.iter().take_while(|v| !v.name.starts_with('_')).count();
            let shown = if own > 0 { own } else { of_group.len() }.min(SHOWN);
            rows.extend(of_group[..shown].iter().map(|v| row(v)));
            if of_group.len() > shown {
                let more = of_group.len() - shown;
                let plural = if more == 1 { "" } else { "s" };
                left.push(format!("{more} more {}{plural}", causality(group[0])));
            }
        }
    }
    if rows.len() == 1 {
        return String::new();
    }
    let lines = table(&rows);
    let mut out = String::from("\n");
    for line in lines.lines() {
        // Names are never cut with `--all`: they are there to be copied.
        out += &if all { line.to_owned() } else { cut(line, WIDTH) };
        out.push('\n');
    }
    if !left.is_empty() {
        out += &format!("  … {}; `--all` shows every variable\n", left.join(", "));
    }
    out
}
