//! A first system file of some FMUs: what is certain stands in it, what is likely as a comment, and everything with its reason.

use super::bonds::{BondSuggestion, bonds};
use super::connections::{Wire, connections};
use super::interface::{Interface, Signal, SignalKind};
use super::write::{bond_text, comment, commented_out, key, quoted, sentence};
use crate::Error;
use crate::error::Collector;
use crate::number::short;
use crate::system::System;
use powerbond_core::network::VariableName;
use powerbond_core::subsystem::ValueKind;
use powerbond_fmi::description::{Causality, ModelDescription, Variable};
use powerbond_fmi::{Fmu, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

/// What becomes of a suggested connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inclusion {
    /// It is made.
    Active,
    /// It is a comment.
    Comment,
}

/// A system file in the making.
pub struct Draft {
    file: PathBuf,
    members: Vec<Member>,
    interfaces: Vec<Interface>,
    wires: Vec<(Wire, Inclusion)>,
    bonds: Vec<BondSuggestion>,
    /// Why there was no trial.
    untried: Option<String>,
    /// Connections whose gain a trial turned.
    turned: BTreeSet<VariableName>,
}

struct Member {
    name: String,
    path: PathBuf,
    fmu: Fmu,
}

/// Lines about parameters of one FMU, about unfed inputs, and about likely connections.
const MOST_PARAMETERS: usize = 12;
const MOST_INPUTS: usize = 24;
const MOST_LIKELY: usize = 24;

/// Stop time where no FMU proposes one, in s.
const STOP: f64 = 10.0;

impl Draft {
    /// Of FMUs that are to be named relative to the folder of `file`. The error has everything that is wrong with them.
    pub fn new(fmus: &[PathBuf], file: &Path) -> Result<Draft, Error> {
        let mut problems = Collector::new();
        let mut open = Vec::new();
        for path in fmus {
            let fmu = Fmu::open(path).map_err(|e| Error::input(None, e.to_string()));
            let fmu = fmu.and_then(|fmu| match &fmu.description().co_simulation {
                Some(_) => Ok(fmu),
                None => {
                    Err(Error::input(None, format!("{}: the FMU offers no co-simulation", path.display())))
                }
            });
            open.extend(problems.keep(fmu).map(|fmu| (path.clone(), fmu)));
        }
        let open = problems.finish(open)?;
        let names = names(&open);
        let members: Vec<Member> =
            open.into_iter().zip(names).map(|((path, fmu), name)| Member { name, path, fmu }).collect();
        let interface =
            |m: &Member| Interface::of_fmu(&m.name, &m.fmu).map_err(|e| Error::input(None, e.to_string()));
        let interfaces = members.iter().map(interface).collect::<Result<Vec<_>, _>>()?;
        let wires = connections(&interfaces, &BTreeSet::new())
            .into_iter()
            .map(|wire| match wire.certain {
                true => (wire, Inclusion::Active),
                false => (wire, Inclusion::Comment),
            })
            .collect();
        let mut draft = Draft {
            file: file.to_owned(),
            members,
            interfaces,
            wires,
            bonds: Vec::new(),
            untried: None,
            turned: BTreeSet::new(),
        };
        draft.find_bonds()?;
        Ok(draft)
    }

    /// Suggested connections, and what becomes of them.
    pub fn wires(&self) -> &[(Wire, Inclusion)] {
        &self.wires
    }

    /// The names of the subsystems and the files of their FMUs.
    pub fn members(&self) -> impl Iterator<Item = (&str, &Path)> {
        self.members.iter().map(|m| (m.name.as_str(), m.path.as_path()))
    }

    /// Makes connection `n`, and no other one to the same input.
    pub fn include(&mut self, n: usize) -> Result<(), Error> {
        let to = self.wires[n].0.to.clone();
        for (wire, inclusion) in self.wires.iter_mut().filter(|(wire, _)| wire.to == to) {
            wire.certain = false;
            *inclusion = Inclusion::Comment;
        }
        self.wires[n].1 = Inclusion::Active;
        self.find_bonds()
    }

    /// Whether an input is fed by now.
    pub fn is_fed(&self, input: &VariableName) -> bool {
        self.wires.iter().any(|(wire, inclusion)| wire.to == *input && *inclusion == Inclusion::Active)
    }

    /// Inputs that nothing feeds.
    pub fn unfed(&self) -> Vec<(VariableName, &Signal)> {
        let all = self.interfaces.iter().flat_map(|i| i.inputs.iter().map(|s| (i.full(&s.name), s)));
        let fed: BTreeSet<&VariableName> = self.active().map(|wire| &wire.to).collect();
        all.filter(|(name, _)| !fed.contains(name)).collect()
    }

    /// Suggested bonds.
    pub fn bonds(&self) -> &[BondSuggestion] {
        &self.bonds
    }

    /// Connections whose gain was turned to -1, since a trial says so.
    pub fn turned(&self) -> &BTreeSet<VariableName> {
        &self.turned
    }

    fn active(&self) -> impl Iterator<Item = &Wire> {
        self.wires.iter().filter(|(_, inclusion)| *inclusion == Inclusion::Active).map(|(wire, _)| wire)
    }

    fn find_bonds(&mut self) -> Result<(), Error> {
        let system = System::parse(&self.file.display().to_string(), &self.text_for_trial()?)?;
        self.bonds = bonds(&system, &self.interfaces);
        Ok(())
    }

    /// What a trial found: for the first input of every port 1 if its output moves with it, -1 if against it. Where both sides of a bond
    /// give way like passive parts and their powers could not cancel, the force (torque, current, volume flow) gets `gain = -1`.
    pub fn learn(&mut self, responses: &BTreeMap<String, f64>) -> Result<(), Error> {
        let apply = |draft: &mut Draft| {
            for bond in &mut draft.bonds {
                for port in &mut bond.ports {
                    port.response = responses.get(&port.inputs[0].to_string()).copied();
                }
                bond.settle();
            }
        };
        apply(self);
        let wrong = |bond: &BondSuggestion| -> Vec<VariableName> {
            let Some(input) = bond.wrong_gain() else { return Vec::new() };
            bond.ports
                .iter()
                .find(|port| port.inputs.contains(input))
                .map_or(Vec::new(), |p| p.inputs.clone())
        };
        let certain = self.bonds.iter().filter(|bond| bond.certain);
        self.turned = certain.flat_map(wrong).collect();
        for (wire, _) in self.wires.iter_mut().filter(|(wire, _)| self.turned.contains(&wire.to)) {
            wire.gain = -wire.gain;
        }
        self.find_bonds()?;
        apply(self);
        Ok(())
    }

    /// There was no trial.
    pub fn not_tried(&mut self, why: &str) {
        self.untried = Some(why.to_owned());
    }

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

    /// Stop and start time, and where they come from.
    fn experiment(&self) -> (f64, f64, String) {
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
        let mut about = format!("FMI {}", description.fmi_version);
        for text in [&description.description, &description.generation_tool] {
            if !text.trim().is_empty() {
                about += &format!(", {text}");
            }
        }
        let mut out = comment(&about);
        out += &format!("[subsystems.{}]\n", key(&member.name));
        out += &format!("fmu = {}\n", quoted(&self.path_in_file(&member.path)?));
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
                            "by a trial: both sides gave way to a push, so that one counts against the other"
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

    /// Relative to the folder of the file, where that is possible.
    fn path_in_file(&self, path: &Path) -> Result<String, Error> {
        let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let (path, file) = (absolute(path), absolute(&self.file));
        let folder = file.parent().unwrap_or(Path::new(""));
        Ok(match relative(&path, folder) {
            Some(relative) => text_of(&relative)?.to_owned(),
            None => text_of(&path)?.to_owned(),
        })
    }
}

/// `path` as seen from `folder`, both absolute; none where `..` would lead through a link or another drive is meant.
fn relative(path: &Path, folder: &Path) -> Option<PathBuf> {
    let (there, here): (Vec<Component>, Vec<Component>) =
        (path.components().collect(), folder.components().collect());
    let common = there.iter().zip(&here).take_while(|(a, b)| a == b).count();
    let ups = here.len() - common;
    // Up and down again is the same place only without links.
    let is_plain = |p: &Path| p.ancestors().all(|a| !a.is_symlink());
    if common == 0 || here[common..].contains(&Component::ParentDir) || ups > 0 && !is_plain(folder) {
        return None;
    }
    let down = there[common..].iter().map(|c| c.as_os_str());
    Some(std::iter::repeat_n(std::ffi::OsStr::new(".."), ups).chain(down).collect())
}

fn text_of(path: &Path) -> Result<&str, Error> {
    let message = || {
        format!("{}: the name of the file is not UTF-8, so that no system file can name it", path.display())
    };
    path.to_str().ok_or_else(|| Error::input(None, message()))
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// `a`, `a and b`, `a, b and c`.
fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

/// A name for each: of its file, or of its model where files are called alike; unique, and without what names may not have.
fn names(fmus: &[(PathBuf, Fmu)]) -> Vec<String> {
    let clean = |text: &str| {
        let parts = text.split(|c: char| !c.is_alphanumeric() && c != '-').filter(|part| !part.is_empty());
        parts.collect::<Vec<_>>().join("_")
    };
    let stem = |path: &Path| {
        let name = file_name(path);
        clean(name.strip_suffix(".fmu").or(name.strip_suffix(".FMU")).unwrap_or(&name))
    };
    let count = |list: &[String], name: &String| list.iter().filter(|other| *other == name).count();
    let stems: Vec<String> = fmus.iter().map(|(path, _)| stem(path)).collect();
    let plain: Vec<String> = fmus
        .iter()
        .zip(&stems)
        .map(|((path, fmu), name)| {
            let model = clean(&fmu.description().model_name);
            let alike = fmus.iter().zip(&stems).any(|((other, _), n)| n == name && other != path);
            match () {
                () if (alike || name.is_empty()) && !model.is_empty() => model,
                () if name.is_empty() => "fmu".to_owned(),
                () => name.clone(),
            }
        })
        .collect();
    let mut taken: BTreeSet<String> = plain.iter().filter(|name| count(&plain, name) == 1).cloned().collect();
    let unique = |name: &String| {
        if count(&plain, name) == 1 {
            return name.clone();
        }
        let mut numbered = (1..).map(|n| format!("{name}_{n}"));
        numbered.find(|candidate| taken.insert(candidate.clone())).unwrap_or_default()
    };
    plain.iter().map(unique).collect()
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
