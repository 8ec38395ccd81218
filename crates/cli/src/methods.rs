//! `powerbond methods`: the catalogue, as the program itself uses it.

use crate::text::{print, show};
use powerbond::Error;
use powerbond::catalogue::{self, Kind};
use powerbond::core::subsystem::{Causality, Variable};
use powerbond::models::{self, Domain, ModelSpec};
use serde_json::json;

/// Options of `methods`.
#[derive(clap::Args)]
pub struct Arguments {
    /// Show only names that contain this
    name: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn main(arguments: &Arguments) -> Result<u8, Error> {
    let wanted = |name: &str| arguments.name.as_ref().is_none_or(|part| name.contains(part.as_str()));
    let methods: Vec<_> = catalogue::ALL.iter().filter(|e| wanted(e.name)).collect();
    let models: Vec<_> = models::ALL.iter().filter(|m| wanted(m.name)).collect();
    if methods.is_empty() && models.is_empty() {
        let name = arguments.name.as_deref().unwrap_or("");
        let names = catalogue::ALL.iter().map(|e| e.name).chain(models::ALL.iter().map(|m| m.name));
        let hint = powerbond::core::suggest::hint(name, names);
        return Err(Error::input(None, format!("unknown method or model `{name}`.{hint}")));
    }
    if arguments.json {
        let method = |e: &&catalogue::Entry| {
            json!({
                "kind": e.kind.key(), "name": e.name, "about": e.about, "paper": e.paper,
                "knobs": e.knobs.iter().map(|k| json!({
                    "name": k.name, "default": e.default_of(k), "words": k.domain.words(), "unit": k.unit, "about": k.about,
                })).collect::<Vec<_>>(),
            })
        };
        let model = |m: &&&'static ModelSpec| {
            json!({
                "name": m.name, "about": m.description,
                "variables": variables(m).iter().map(|v| json!({
                    "name": v.name, "causality": causality(v.causality), "unit": unit(v), "about": v.description,
                })).collect::<Vec<_>>(),
                "parameters": m.all_parameters().map(|p| json!({
                    "name": p.name, "default": default_of(p.domain), "words": words_of(p.domain), "unit": p.unit,
                    "about": p.description,
                })).collect::<Vec<_>>(),
            })
        };
        let document = json!({
            "methods": methods.iter().map(method).collect::<Vec<_>>(),
            "models": models.iter().map(model).collect::<Vec<_>>(),
        });
        print(&format!("{document:#}\n"))?;
        return Ok(0);
    }
    let mut out = String::new();
    for kind in Kind::ALL {
        let entries: Vec<_> = methods.iter().filter(|e| e.kind == kind).collect();
        if entries.is_empty() {
            continue;
        }
        out += &format!("{} (`{} = …` in [method])\n", title(kind), kind.key());
        for entry in entries {
            let paper = if entry.paper.is_empty() { String::new() } else { format!("  [{}]", entry.paper) };
            out += &format!("  {:<13} {}{paper}\n", entry.name, entry.about);
            for knob in entry.knobs {
                out += &line(
                    knob.name,
                    knob.about,
                    knob.unit,
                    &values(knob.domain.words(), &entry.default_of(knob)),
                );
            }
        }
        out.push('\n');
    }
    if !models.is_empty() {
        out += "Models (`model = \"…\"` in [subsystems.name])\n";
        for model in models {
            out += &format!("  {}\n      {}\n", model.name, model.description);
            for v in variables(model) {
                let what = format!("{}: {}", causality(v.causality), v.description);
                out += &line(&v.name, &what, unit(&v), "");
            }
            for p in model.all_parameters() {
                out +=
                    &line(p.name, p.description, p.unit, &values(words_of(p.domain), &default_of(p.domain)));
            }
        }
    }
    show(&out)?;
    Ok(0)
}

/// The variables of a model with default parameters.
fn variables(model: &'static ModelSpec) -> Vec<Variable> {
    model.build(&[]).map_or(Vec::new(), |subsystem| subsystem.info().variables.to_vec())
}

fn causality(causality: Causality) -> &'static str {
    match causality {
        Causality::Input => "input",
        Causality::Output => "output",
        Causality::Local => "local",
    }
}

fn unit(variable: &Variable) -> &str {
    variable.unit.as_ref().map_or("", |u| &u.symbol)
}

/// One line about a knob, a parameter or a variable.
fn line(name: &str, about: &str, unit: &str, values: &str) -> String {
    let unit = if unit.is_empty() { String::new() } else { format!(", in {unit}") };
    format!("      {name:<18}  {about}{unit}{values}\n")
}

/// The words that may be written, and what holds without one.
fn values(words: &[&str], default: &str) -> String {
    let words = words.iter().map(|word| format!("`{word}`, ")).collect::<String>();
    let words = words.strip_suffix(", ").map_or(String::new(), |words| format!("{words}; "));
    format!(" ({words}default: {default})")
}

fn words_of(domain: Domain) -> &'static [&'static str] {
    match domain {
        Domain::Choice(words) => words,
        Domain::Number { .. } | Domain::Count { .. } => &[],
    }
}

fn title(kind: Kind) -> &'static str {
    match kind {
        Kind::Method => "Complete methods",
        Kind::Schedule => "Schedules",
        Kind::Hold => "Holds",
        Kind::Correction => "Corrections",
        Kind::Estimator => "Estimators",
        Kind::Controller => "Controllers",
    }
}

fn default_of(domain: Domain) -> String {
    match domain {
        Domain::Number { default, .. } if default != 0.0 && !(1e-4..1e7).contains(&default.abs()) => {
            format!("{default:e}")
        }
        Domain::Number { default, .. } => default.to_string(),
        Domain::Count { default, .. } => default.to_string(),
        Domain::Choice(words) => words[0].to_owned(),
    }
}
