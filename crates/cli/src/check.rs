//! `powerbond check`: a system before it runs: who feeds whom, in which order, what methods can use.

use crate::layout::table;
use crate::text::{print, quantity, say, show, significant};
use powerbond::check::{FeedThroughCheck, LoopCheck, SubsystemCheck};
use powerbond::fmi::printable;
use powerbond::table::{may_replace, write_file};
use powerbond::{Check, Error, RunOptions, System};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Options of `check`.
#[derive(clap::Args)]
pub struct Arguments {
    /// A system file, SSP, OSP, a folder with one of them, or a single FMU (default: the current folder)
    #[arg(value_hint = clap::ValueHint::AnyPath)]
    system: Option<PathBuf>,
    /// Treat violations of the FMI standard as errors (exit code 3), also where powerbond can read the file
    #[arg(long)]
    strict: bool,
    /// Write a picture of the system to this file (.svg or .dot)
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    graph: Option<PathBuf>,
    /// Replace a file there that powerbond did not draw
    #[arg(long, requires = "graph")]
    overwrite: bool,
    /// Set a parameter: subsystem.parameter=value (repeatable)
    #[arg(long, value_name = "SUB.PARAM=VALUE")]
    set: Vec<String>,
    /// Set parameters from an SSP parameter set (.ssv); --set overrides it (repeatable, later files override
    /// earlier ones)
    #[arg(long, value_name = "FILE.SSV", value_hint = clap::ValueHint::FilePath)]
    params: Vec<PathBuf>,
    /// Of the parameter sets in a structure of SSP use only those of this name (default: all of them)
    #[arg(long, value_name = "NAME")]
    parameter_set: Option<String>,
    /// End of the run, in s
    #[arg(short, long, alias = "stop-time", value_name = "S", allow_negative_numbers = true)]
    end_time: Option<f64>,
    /// Also step scratch instances of FMUs, as a run does at its start, to see whether outputs are recomputed after a
    /// step
    #[arg(long)]
    probe: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Runs the command: exit 7 if no consistent initial values are found.
pub fn main(arguments: &Arguments) -> Result<u8, Error> {
    let draw = arguments.graph.as_deref().map(drawing).transpose()?;
    if let Some((path, _, mark)) = draw {
        may_replace(path, mark, arguments.overwrite)?;
    }
    let options = RunOptions {
        set: arguments.set.clone(),
        params: arguments.params.clone(),
        parameter_set: arguments.parameter_set.clone(),
        end_time: arguments.end_time,
        ..RunOptions::default()
    };
    let path = crate::here::system(arguments.system.as_ref(), "check")?;
    let system = options.apply(&System::load(&path)?)?;
    let check = if arguments.probe { system.check_with_steps()? } else { system.check()? };
    if let Some((path, draw, mark)) = draw {
        write_file(path, &format!("{mark}\n{}", draw(&check)), mark, arguments.overwrite)?;
    }
    if arguments.json {
        let text = serde_json::to_string_pretty(&check)
            .map_err(|e| Error::output(Path::new("stdout"), &e.into()))?;
        print(&(text + "\n"))?;
    } else {
        show(&printable(&describe(&check)))?;
        check.notes.iter().for_each(|note| say("note", note));
        let failed = check.failure.as_ref().map(Error::to_string);
        let warnings = check.warnings.iter().filter(|w| Some(*w) != failed.as_ref());
        warnings.for_each(|warning| say("warning", warning));
        if arguments.strict {
            check.findings.iter().for_each(|finding| say("finding", finding));
        }
    }
    if arguments.strict && !check.findings.is_empty() {
        let message = format!("{}: {} finding(s) with --strict", path.display(), check.findings.len());
        return Err(Error::input(None, message));
    }
    if let Some(error) = &check.failure {
        say("error", error);
        return Ok(error.exit_code());
    }
    Ok(0)
}

type Drawing = fn(&Check) -> String;

/// How a file is drawn, by its ending, and its first line, by which it is known as ours.
fn drawing(path: &Path) -> Result<(&Path, Drawing, &'static str), Error> {
    match path.extension().and_then(|e| e.to_str()) {
        Some("svg") => Ok((path, Check::svg, "<!-- powerbond check -->")),
        Some("dot" | "gv") => Ok((path, Check::dot, "// powerbond check")),
        _ => Err(Error::input(
            None,
            format!("--graph {}: expected a file name ending in .svg or .dot", path.display()),
        )),
    }
}

/// The check in words.
fn describe(check: &Check) -> String {
    let mut out = format!("{}\n\n", check.system);
    let yes = |b: bool| if b { "yes" } else { "no" }.to_owned();
    let mut rows = vec![
        ["subsystem", "model", "step", "feed-through", "restore", "refresh", "input derivatives"]
            .map(str::to_owned)
            .to_vec(),
    ];
    for s in &check.subsystems {
        let rate = if s.rate == 1 { String::new() } else { format!(" ({}×)", s.rate) };
        rows.push(vec![
            s.name.clone(),
            s.model.clone(),
            if check.adaptive { "adaptive".to_owned() } else { quantity(s.step, "s") } + &rate,
            s.feed_through.to_owned(),
            yes(s.can.restore),
            yes(s.can.refresh),
            s.can.input_derivatives.to_string(),
        ]);
    }
    out += &table(&rows);
    out += "\nConnections\n";
    for c in &check.connections {
        let terms: Vec<String> =
            c.from
                .iter()
                .map(|s| {
                    if s.gain == 1.0 {
                        s.name.clone()
                    } else {
                        format!("{}·{}", significant(s.gain), s.name)
                    }
                })
                .collect();
        let offset = if c.offset == 0.0 { String::new() } else { format!(" + {}", significant(c.offset)) };
        out += &format!("  {} = {}{offset}\n", c.to, terms.join(" + "));
    }
    let signals = |s: &SubsystemCheck| {
        let fed = s.inputs.iter().filter(|i| i.fed_by == "signal");
        fed.map(|i| format!("  {}.{} follows a signal\n", s.name, i.name)).collect::<String>()
    };
    out += &check.subsystems.iter().map(signals).collect::<String>();
    if check.connections.is_empty() && check.subsystems.iter().all(|s| s.inputs.is_empty()) {
        out += "  none\n";
    }
    out += "\nBonds\n";
    for bond in &check.bonds {
        let port = |p: &powerbond::check::PortCheck| {
            let pairs: Vec<String> =
                p.inputs.iter().zip(&p.outputs).map(|(u, y)| format!("{u}·{y}")).collect();
            format!("{}({})", if p.factor < 0.0 { "−" } else { "+" }, pairs.join(" + "))
        };
        out += &format!("  {}: {}\n", bond.name, bond.ports.iter().map(port).collect::<Vec<_>>().join("  "));
    }
    if check.bonds.is_empty() {
        out += "  none: add `[bonds.name]` to measure whether the coupling conserves energy\n";
    }
    out += &structure(check);
    out += &methods(check);
    if !check.findings.is_empty() {
        out += &format!(
            "\n{} finding(s): violations of the standard in files of FMUs; `--strict` lists them and treats them as errors\n",
            check.findings.len()
        );
    }
    out
}

/// Where the feed-through of an output is known from, and its gains; `pairs` are its pairs.
fn known_from(pairs: &[&FeedThroughCheck]) -> String {
    let known = pairs.first().map_or("unknown", |pair| pair.known);
    let gains: Vec<String> = pairs
        .iter()
        .map(|pair| match pair.value {
            Some(value) => format!("{} by {}", significant(value), pair.gain),
            None => pair.gain.to_owned(),
        })
        .collect();
    match gains.iter().all(|gain| gain == "declared") {
        true => known.to_owned(),
        false => format!("{known}; ∂y/∂u {}", gains.join(", ")),
    }
}

/// The gain of a loop and what becomes of it.
fn loop_words(found: &LoopCheck) -> String {
    let number = |x: f64| significant(x);
    let gain = found.gain.map_or("unknown gain".to_owned(), |gain| format!("gain {}", number(gain)));
    if found.solved {
        return format!("{gain}; solved at every communication point");
    }
    let growth = found.growth.map_or(String::new(), |growth| {
        let one = |(order, growth): (usize, f64)| {
            let word = if growth < 1.0 { "stable" } else { "unstable" };
            format!("{} with hold {order} ({word})", number(growth))
        };
        let all: Vec<String> = growth.into_iter().enumerate().map(one).collect();
        format!(": a disturbance grows per step by a factor of {}", all.join(", "))
    });
    format!("{gain}; not solved during the run, every exchange lags one step behind{growth}")
}

/// Order, loops and what estimates are worth.
fn structure(check: &Check) -> String {
    let mut out = format!("\nEvaluation order\n  {}\n\nFeed-through\n", check.order.join(", "));
    let mut pairs: HashMap<&str, Vec<&FeedThroughCheck>> = HashMap::new();
    check.feed_through.iter().for_each(|pair| pairs.entry(&pair.output).or_default().push(pair));
    let known = |output: &str| known_from(pairs.get(output).map_or(&[], Vec::as_slice));
    for s in &check.subsystems {
        for o in s.outputs.iter().filter(|o| !o.feeds_through.is_empty()) {
            out += &format!(
                "  {}.{} has direct feed-through from {} ({})\n",
                s.name,
                o.name,
                o.feeds_through.join(", "),
                known(&format!("{}.{}", s.name, o.name))
            );
        }
        if s.feed_through == "unknown" {
            out += &format!("  {}: unknown\n", s.name);
        }
    }
    for found in &check.loops {
        let first = found.path.first().cloned().unwrap_or_default();
        out +=
            &format!("  algebraic loop: {} → {first}\n    {}\n", found.path.join(" → "), loop_words(found));
    }
    match check.nilpotency {
        Some(_) if check.subsystems.iter().any(|s| s.feed_through == "unknown") => {
            out += "  no algebraic loop in the known feed-through\n";
        }
        Some(m) => out += &format!("  no algebraic loop; nilpotency index {m}\n"),
        None => out += "  no nilpotency index because of the loop\n",
    }
    out += "\nA Richardson estimate\n";
    let outputs = || check.subsystems.iter().flat_map(|s| s.outputs.iter().map(move |o| (s, o)));
    let right: Vec<String> = outputs()
        .filter(|(_, o)| o.estimate == "right")
        .map(|(s, o)| format!("{}.{}", s.name, o.name))
        .collect();
    if !right.is_empty() {
        out += &format!("  tends to the true local error of {}\n", right.join(", "));
    }
    for (s, o) in outputs().filter(|(_, o)| o.estimate != "right") {
        let not = if o.estimate.starts_with("right") { "" } else { "not " };
        out += &format!("  {not}of {}.{}: {}\n", s.name, o.name, o.estimate);
    }
    if outputs().next().is_none() {
        out += "  no output is exchanged, so there is nothing to compare\n";
    }
    out
}

/// Subsystems that are named where a method misses something of each of them.
const NAMED: usize = 8;

/// What methods use and miss.
fn methods(check: &Check) -> String {
    let mut rows = vec![["method", "uses", "missing"].map(str::to_owned).to_vec()];
    let chosen = check.capabilities.iter().filter(|m| m.chosen);
    let other = check.capabilities.iter().filter(|m| !m.chosen && !m.uses.is_empty());
    for m in chosen.chain(other) {
        let named = m.lacks.iter().take(NAMED).map(|l| format!("{}: {}", l.subsystem, l.effect));
        let more = m.lacks.len().saturating_sub(NAMED);
        let lacks: Vec<String> = named.chain((more > 0).then(|| format!("and {more} more"))).collect();
        let name = if m.kind == m.method { m.kind.to_owned() } else { format!("{} {}", m.kind, m.method) };
        rows.push(vec![
            if m.chosen { format!("* {name}") } else { format!("  {name}") },
            if m.uses.is_empty() { "nothing".to_owned() } else { m.uses.join(", ") },
            if lacks.is_empty() { "nothing".to_owned() } else { lacks.join("; ") },
        ]);
    }
    format!("\nMethods (* selected) and the capabilities they use of every subsystem\n{}", table(&rows))
}
