//! A draft as the text of a system file.

use super::names::{file_name, path_in_file, text_of};
use super::{Draft, Inclusion, Member};
use crate::Error;
use crate::number::short;
use crate::suggest::connections::Wire;
use crate::suggest::interface::{Signal, SignalKind};
use crate::suggest::write::{bond_text, comment, commented_out, key, quoted, sentence};
use powerbond_core::network::VariableName;
use powerbond_core::subsystem::ValueKind;
use powerbond_fmi::Value;
use powerbond_fmi::description::{Causality, ModelDescription, Variable};

/// Lines about parameters of one FMU, about unfed inputs, and about likely connections.
const MOST_PARAMETERS: usize = 12;
const MOST_INPUTS: usize = 24;
const MOST_LIKELY: usize = 24;

/// Stop time where no FMU proposes one, in s.
const STOP: f64 = 10.0;

impl Draft {
    /// Enough of the system for a trial: FMUs by their full names, and connections.
    pub fn text_for_trial(&self) -> Result<String, Error> {
        let (stop, start, _) = self.experiment();
        let mut out = format!("[simulation]\nstart = {start:?}\nstop = {stop:?}\n");
        for member in &self.members {
            let path = std::path::absolute(&member.path).unwrap_or_else(|_| member.path.clone());
            out += &format!("[subsystems.{}]\nfmu = {}\n", key(&member.name), quoted(text_of(&path)?));
        }
        self.active().for_each(|wire| out += &connection(wire, ""));
        Ok(out)
    }

    /// The whole file.
    pub fn text(&self) -> Result<String, Error> {
        let shown: Vec<String> = self.members.iter().map(|m| file_name(&m.path)).collect();
        let file = file_name(&self.file);
        let mut out = comment(&format!("A system of {}, begun by `powerbond new`.", listed(&shown)));
        out += &comment(&format!(
            "`powerbond run {file}` runs it as it is, `powerbond check {file}` shows what is coupled to what. What is likely or \
             optional is a comment: remove the `# ` in front of what you want."
        ));
        out += &self.simulation_text();
        for member in &self.members {
            out += &format!("\n{}", self.member_text(member)?);
        }
        out += &self.connections_text();
        out += &self.inputs_text();
        out += &self.bonds_text();
        Ok(out)
    }

    fn simulation_text(&self) -> String {
        let (stop, start, why) = self.experiment();
        let mut out = "\n[simulation]\n".to_owned();
        if start != 0.0 {
            out += &format!("start = {start:?}\n");
        }
        out += &with_remark(&format!("stop = {stop:?}"), &format!("s: {why}"));
        for m in &self.members {
            if let Some(step) =
                m.fmu.description().default_experiment.step_size.filter(|h| *h > 0.0 && h.is_finite())
            {
                let remark = format!("s: constant steps, as {} proposes", file_name(&m.path));
                out += &format!("# {}", with_remark(&format!("step = {step:?}"), &remark));
                break;
            }
        }
        out += "\n# Steps and method are chosen for this relative error:\n# [method]\n# kind = \"auto\"\n# tolerance = 1e-3\n";
        out
    }

    fn member_text(&self, member: &Member) -> Result<String, Error> {
        let description = member.fmu.description();
        let about = [&description.description, &description.generation_tool];
        let about = about.into_iter().filter(|text| !text.trim().is_empty());
        let about: Vec<&str> =
            [description.fmi_version.as_str()].into_iter().chain(about.map(String::as_str)).collect();
        let about = format!("FMI {}", about.join("; "));
        let mut out = comment(&about);
        out += &format!("[subsystems.{}]\n", key(&member.name));
        out += &format!("fmu = {}\n", quoted(&path_in_file(&member.path, &self.file)?));
        let tolerance = description.default_experiment.tolerance.filter(|t| *t > 0.0 && t.is_finite());
        if let Some(tolerance) = tolerance {
            let line = format!("options = {{ tolerance = {tolerance:?} }}");
            out += &format!("# {}", with_remark(&line, "of its own solver: its default experiment"));
        }
        let parameters: Vec<&Variable> = description.variables.iter().filter(|v| is_parameter(v)).collect();
        let lines: Vec<String> = parameters.iter().filter_map(|v| parameter(description, v)).collect();
        if !lines.is_empty() {
            out += &format!("# [subsystems.{}.parameters]\n", key(&member.name));
            lines.iter().take(MOST_PARAMETERS).for_each(|line| out += &format!("# {line}"));
            if lines.len() > MOST_PARAMETERS {
                out += &comment(&format!(
                    "… and {} more parameters: `powerbond inspect {}` lists them",
                    lines.len() - MOST_PARAMETERS,
                    file_name(&member.path)
                ));
            }
        }
        Ok(out)
    }

    fn connections_text(&self) -> String {
        let mut out = String::new();
        let mut left = MOST_LIKELY;
        let mut more = 0;
        for (wire, inclusion) in &self.wires {
            match inclusion {
                Inclusion::Active => {
                    out += &format!("\n{}", comment(&sentence(&wire.reason)));
                    let remark = match self.turned.contains(&wire.to) {
                        true => {
                            "by a trial: both sides give way to it, so one of them counts it the other way round"
                        }
                        false => "",
                    };
                    out += &connection(wire, remark);
                }
                Inclusion::Comment if left > 0 => {
                    left -= 1;
                    let state = if self.is_fed(&wire.to) { "Instead of another one" } else { "Likely" };
                    out += &format!("\n{}", comment(&format!("{state}: {}", wire.reason)));
                    out += &commented_out(&connection(wire, ""));
                }
                Inclusion::Comment => more += 1,
            }
        }
        if more > 0 {
            out += &format!("\n{}", comment(&format!("… and {more} more likely connections")));
        }
        out
    }

    fn inputs_text(&self) -> String {
        let unfed = self.unfed();
        let lines: Vec<String> = unfed.iter().filter_map(|(name, signal)| input_line(name, signal)).collect();
        if lines.is_empty() {
            return String::new();
        }
        let mut out = format!(
            "\n{}# [inputs]\n",
            comment(
                "Nothing feeds these inputs: they keep their start values. A signal may be a number, a `step`, `ramp`, `sine` or `table`."
            )
        );
        lines.iter().take(MOST_INPUTS).for_each(|line| out += &format!("# {line}"));
        if lines.len() > MOST_INPUTS {
            out += &comment(&format!(
                "… and {} more inputs: `powerbond check` names them",
                lines.len() - MOST_INPUTS
            ));
        }
        out
    }

    fn bonds_text(&self) -> String {
        if self.bonds.is_empty() {
            return String::new();
        }
        let mut out = format!(
            "\n{}",
            comment(
                "Power bonds: input times output is power; `sign` is -1 where it enters the subsystem, 1 where it leaves."
            )
        );
        if let Some(why) = &self.untried {
            out += &comment(&format!("There was no trial ({why}), so that signs are assumed."));
        }
        let texts: Vec<String> = self.bonds.iter().map(bond_text).collect();
        out + &texts.join("\n")
    }

    /// Stop and start time, and where they come from.
    pub(super) fn experiment(&self) -> (f64, f64, String) {
        let experiment = |m: &Member| m.fmu.description().default_experiment;
        let finite = |x: Option<f64>| x.filter(|x| x.is_finite());
        let start = self.members.iter().filter_map(|m| finite(experiment(m).start)).fold(f64::NAN, f64::min);
        let start = if start.is_nan() { 0.0 } else { start };
        let stops = self.members.iter().filter_map(|m| Some((finite(experiment(m).stop)?, m)));
        let longest = stops.filter(|(stop, _)| *stop > start).max_by(|a, b| a.0.total_cmp(&b.0));
        match longest {
            Some((stop, m)) if self.members.len() == 1 => {
                (stop, start, format!("the default experiment of {}", file_name(&m.path)))
            }
            Some((stop, m)) => {
                (stop, start, format!("the longest default experiment, that of {}", file_name(&m.path)))
            }
            None => (start + STOP, start, "chosen by `powerbond new`: no FMU proposes one".to_owned()),
        }
    }
}

/// `a`, `a and b`, `a, b and c`.
fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

fn connection(wire: &Wire, remark: &str) -> String {
    let mut out = format!(
        "[[connections]]\nfrom = {}\nto = {}\n",
        quoted(&wire.from.to_string()),
        quoted(&wire.to.to_string())
    );
    if wire.gain != 1.0 {
        out += &with_remark(&format!("gain = {:?}", wire.gain), remark);
    }
    out
}

/// A line with a comment behind it, on one line whatever the comment says.
fn with_remark(line: &str, remark: &str) -> String {
    let words: Vec<&str> =
        remark.split(|c: char| c.is_whitespace() || c.is_control()).filter(|w| !w.is_empty()).collect();
    let mut remark = words.join(" ");
    if remark.chars().count() > 100 {
        remark = remark.chars().take(99).chain(['…']).collect();
    }
    if remark.is_empty() { format!("{line}\n") } else { format!("{line:<28} # {remark}\n") }
}

fn is_parameter(variable: &Variable) -> bool {
    matches!(variable.causality, Causality::Parameter | Causality::StructuralParameter)
        && variable.alias_of.is_none()
}

fn unit_and_words(unit: &str, words: &str) -> String {
    [unit, words].into_iter().filter(|text| !text.trim().is_empty()).collect::<Vec<_>>().join(": ")
}

fn parameter(description: &ModelDescription, variable: &Variable) -> Option<String> {
    let items = description.type_of(variable).map_or(&[][..], |t| &t.items);
    let item = |x: i128| items.iter().find(|item| i128::from(item.value) == x).map(|item| quoted(&item.name));
    let value = match variable.start.as_ref()? {
        Value::Integer(x) => item(*x).unwrap_or_else(|| x.to_string()),
        other => toml_value(other)?,
    };
    let unit = variable.unit.map_or("", |u| description.units[u as usize].unit.symbol.as_str());
    let remark = unit_and_words(unit, &variable.description);
    Some(with_remark(&format!("{} = {value}", key(&variable.name)), &remark))
}

fn toml_value(value: &Value) -> Option<String> {
    Some(match value {
        Value::Real(x) => format!("{x:?}").replace("NaN", "nan"),
        Value::Integer(x) => x.to_string(),
        Value::Boolean(b) => b.to_string(),
        Value::Text(text) => quoted(text),
        Value::Binary(_) => return None,
        Value::List(list) => {
            format!("[{}]", list.iter().map(toml_value).collect::<Option<Vec<_>>>()?.join(", "))
        }
    })
}

fn input_line(name: &VariableName, signal: &Signal) -> Option<String> {
    let SignalKind::Number(kind) = signal.kind else { return None };
    let value = match kind {
        ValueKind::Real => format!("{:?}", signal.start).replace("NaN", "nan"),
        ValueKind::Boolean => (signal.start != 0.0).to_string(),
        ValueKind::Integer | ValueKind::Enumeration => short(signal.start),
    };
    let unit = signal.unit.as_ref().map_or("", |unit| unit.symbol.as_str());
    let remark = unit_and_words(unit, &signal.description);
    Some(with_remark(&format!("{} = {value}", quoted(&name.to_string())), &remark))
}
