//! `powerbond inspect`: what an FMU says about itself, without running it.

use crate::text::{print, significant, table};
use powerbond::Error;
use powerbond::core::subsystem::Subsystem;
use powerbond::fmi::description::{Causality, ModelDescription, Variable};
use powerbond::fmi::probe::probe;
use powerbond::fmi::{Fmu, Options, Reread};
use serde_json::{Value, json};
use std::path::PathBuf;

/// Options of `inspect`.
#[derive(clap::Args)]
pub struct Arguments {
    /// An FMU: a `.fmu` file or its unpacked folder
    fmu: PathBuf,
    /// Show every variable, not only inputs, outputs and parameters
    #[arg(short, long)]
    all: bool,
    /// Also load the library and list missing functions
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

/// Runs the command.
pub fn main(arguments: &Arguments) -> Result<u8, Error> {
    let fail = |e: powerbond::fmi::FmuError| Error::input(None, e.to_string());
    let fmu = Fmu::open(&arguments.fmu).map_err(fail)?;
    let description = fmu.description();
    let mut findings: Vec<String> = description.findings.iter().map(ToString::to_string).collect();
    if description.more_findings > 0 {
        findings.push(format!("{} more findings", description.more_findings));
    }
    if arguments.load {
        findings.extend(fmu.load().map_err(fail)?);
    }
    let probed = arguments.probe.then(|| Probe::of(&fmu));
    if arguments.json {
        let mut document = document(description, &findings);
        if let Some(probed) = &probed {
            document["probe"] = probed.json();
        }
        print(&format!("{document:#}\n"))?;
    } else {
        print(&describe(description, arguments.all))?;
        if let Some(probed) = &probed {
            print(&probed.text())?;
        }
        findings.iter().for_each(|f| eprintln!("finding: {f}"));
    }
    if arguments.strict && !findings.is_empty() {
        let message = format!("{}: {} finding(s) with --strict", arguments.fmu.display(), findings.len());
        return Err(Error::input(None, message));
    }
    Ok(0)
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
        let probed = probe(fmu, &options);
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

fn document(d: &ModelDescription, findings: &[String]) -> Value {
    let variable = |v: &Variable| {
        json!({
            "name": v.name, "type": v.kind.name(), "causality": causality(v.causality), "unit": unit(d, v),
            "start": v.start.as_ref().map(ToString::to_string), "nominal": v.nominal, "min": v.min, "max": v.max,
            "description": v.description,
            "clock": v.clock.as_ref().map(|c| json!({ "variability": c.variability, "interval": c.interval, "shift": c.shift })),
        })
    };
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
        "version": d.model_version, "author": d.author, "license": d.license, "token": d.token,
        "co_simulation": co_simulation, "model_exchange": d.has_model_exchange,
        "scheduled_execution": d.has_scheduled_execution,
        "default_experiment": { "start": e.start, "stop": e.stop, "step": e.step_size, "tolerance": e.tolerance },
        "variables": d.variables.iter().map(variable).collect::<Vec<_>>(),
        "terminals": d.terminals.iter().map(|t| t.name.to_string()).collect::<Vec<_>>(),
        "findings": findings,
    })
}

fn describe(d: &ModelDescription, all: bool) -> String {
    let mut out = format!("{} (FMI {}", d.model_name, d.version);
    if !d.generation_tool.is_empty() {
        out += &format!(", generated by {}", d.generation_tool);
    }
    out += ")\n";
    if !d.description.is_empty() {
        out += &format!("  {}\n", d.description);
    }
    let e = &d.default_experiment;
    let mut experiment = Vec::new();
    for (word, value) in [("start", e.start), ("stop", e.stop), ("step", e.step_size)] {
        experiment.extend(value.map(|x| format!("{word} {x} s")));
    }
    experiment.extend(e.tolerance.map(|x| format!("tolerance {x}")));
    if !experiment.is_empty() {
        out += &format!("  experiment    {}\n", experiment.join(", "));
    }
    match &d.co_simulation {
        None => out += "  no co-simulation interface: powerbond cannot run it (model exchange only)\n",
        Some(c) => {
            let mut can = vec![match (c.fixed_internal_step_size, c.can_handle_variable_step_size) {
                (Some(step), _) => format!("steps in multiples of {step} s"),
                (None, true) => "any step size".to_owned(),
                (None, false) => "constant step size only".to_owned(),
            }];
            for (flag, word) in [
                (c.can_interpolate_inputs, "input derivatives"),
                (c.max_output_derivative_order > 0, "output derivatives"),
                (c.can_get_and_set_state, "get and set state"),
                (c.provides_directional_derivatives, "directional derivatives"),
                (c.has_event_mode, "Event Mode"),
                (c.might_return_early, "early return"),
                (c.provides_intermediate_update, "intermediate update"),
                (c.can_run_asynchronously, "asynchronous steps"),
                (c.needs_execution_tool, "needs its execution tool"),
                (c.only_once_per_process, "once per process"),
            ] {
                if flag {
                    can.push(word.to_owned());
                }
            }
            out += &format!("  can           {}\n", can.join(", "));
        }
    }
    let counts: Vec<String> = [Causality::Input, Causality::Output, Causality::Parameter, Causality::Local]
        .into_iter()
        .map(|c| format!("{} {}s", d.variables.iter().filter(|v| v.causality == c).count(), causality(c)))
        .collect();
    out += &format!("  variables     {} ({})\n", d.variables.len(), counts.join(", "));
    for v in &d.variables {
        if let Some(clock) = &v.clock {
            out +=
                &format!("  clock         {} ({}, {})\n", v.name, causality(v.causality), clock.describe());
        }
    }
    if !d.terminals.is_empty() {
        let names: Vec<String> = d.terminals.iter().map(|t| t.name.to_string()).collect();
        out += &format!("  terminals     {}\n", names.join(", "));
    }
    let shown = |v: &&Variable| {
        all || matches!(
            v.causality,
            Causality::Input | Causality::Output | Causality::Parameter | Causality::StructuralParameter
        )
    };
    let mut rows =
        vec![["variable", "causality", "type", "start", "unit", "description"].map(str::to_owned).to_vec()];
    for v in d.variables.iter().filter(shown) {
        rows.push(vec![
            v.name.to_string(),
            causality(v.causality).to_owned(),
            v.kind.name().to_owned(),
            v.start.as_ref().map_or(String::new(), ToString::to_string),
            unit(d, v).to_owned(),
            v.description.to_string(),
        ]);
    }
    if rows.len() > 1 {
        out += "\n";
        out += &table(&rows);
    }
    out
}
