//! `OspSystemStructure.xml` as its author wrote it.

use crate::Error;
use crate::error::Collector;
use crate::source::At;
use crate::source::xml::{Node, Reader, child, elements, list, name};
use crate::system::Given;
use crate::system::structure::{Known, strangers};
use powerbond_core::suggest::hint;
use std::collections::HashSet;

/// The name of the root element.
pub const ROOT: &str = "OspSystemStructure";
/// The namespace of the standard.
const NAMESPACE: &str = "http://opensimulationplatform.com/MSMI/OSPSystemStructure";

/// Of the root element.
const PARTS: &[&str] = &[
    "StartTime",
    "EndTime",
    "BaseStepSize",
    "Algorithm",
    "Description",
    "Simulators",
    "Functions",
    "Connections",
    "EccoConfiguration",
];
const VALUE: &[&str] = &["value"];

/// What may stand in a file, by the schema.
const KNOWN: &[Known] = &[
    (ROOT, PARTS, &["version"]),
    ("Simulators", &["Simulator"], &[]),
    ("Simulator", &["InitialValues"], &["name", "source", "stepSize"]),
    ("InitialValues", &["InitialValue"], &[]),
    ("InitialValue", &["Real", "Integer", "Boolean", "String", "Enumeration"], &["variable"]),
    ("Real", &[], VALUE),
    ("Integer", &[], VALUE),
    ("Boolean", &[], VALUE),
    ("String", &[], VALUE),
    ("Enumeration", &[], VALUE),
    ("Functions", &["LinearTransformation", "Sum", "VectorSum"], &[]),
    ("LinearTransformation", &[], &["name", "factor", "offset"]),
    ("Sum", &[], &["name", "inputCount"]),
    ("VectorSum", &[], &["name", "inputCount", "dimension"]),
    (
        "Connections",
        &["VariableConnection", "VariableGroupConnection", "SignalConnection", "SignalGroupConnection"],
        &[],
    ),
    ("VariableConnection", &["Variable"], &["powerBond"]),
    ("VariableGroupConnection", &["VariableGroup"], &["powerBond"]),
    ("SignalConnection", &["Variable", "Signal"], &[]),
    ("SignalGroupConnection", &["VariableGroup", "SignalGroup"], &[]),
    ("Variable", &[], &["simulator", "name", "causality"]),
    ("VariableGroup", &[], &["simulator", "name", "causality"]),
    ("Signal", &[], &["function", "name"]),
    ("SignalGroup", &[], &["function", "name"]),
    (
        "EccoConfiguration",
        &[
            "SafetyFactor",
            "StepSize",
            "MinimumStepSize",
            "MaximumStepSize",
            "MinimumChangeRate",
            "MaximumChangeRate",
            "ProportionalGain",
            "IntegralGain",
            "RelativeTolerance",
            "AbsoluteTolerance",
        ],
        &[],
    ),
];

/// A whole file.
pub struct Structure<'a> {
    /// In s.
    pub start: Option<At<f64>>,
    /// In s.
    pub end: Option<At<f64>>,
    /// In s.
    pub base: Option<At<f64>>,
    /// The name of the algorithm.
    pub algorithm: Option<At<String>>,
    /// Who takes part.
    pub simulators: Vec<Simulator<'a>>,
    /// What is computed between them.
    pub functions: Vec<Function>,
    /// What is connected.
    pub connections: Vec<Wire>,
    /// Settings of ECCO.
    pub ecco: Option<Ecco>,
    /// Names of functions that could not be read, which was told.
    pub unread: HashSet<String>,
}

/// An FMU.
pub struct Simulator<'a> {
    /// Its name.
    pub name: At<String>,
    /// Where it stands.
    pub node: Node<'a, 'a>,
    /// Where its file is; none if that could not be read.
    pub source: Option<String>,
    /// In s.
    pub step: Option<At<f64>>,
    /// What is set.
    pub values: Vec<(At<String>, Given)>,
}

/// A function between simulators.
pub struct Function {
    /// Its name.
    pub name: At<String>,
    /// What it computes.
    pub kind: FunctionKind,
}

/// What a function computes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FunctionKind {
    /// `out = factor · in + offset`.
    Linear {
        /// Multiplies.
        factor: f64,
        /// Is added.
        offset: f64,
    },
    /// `out = Σ in[i]`.
    Sum {
        /// How many inputs there are.
        inputs: usize,
    },
    /// `out[j] = Σ in[i][j]`.
    VectorSum {
        /// How many inputs there are.
        inputs: usize,
        /// Elements of each.
        dimension: usize,
    },
}

/// What connections join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WireKind {
    /// Two variables.
    Variables,
    /// Two groups of variables.
    Groups,
    /// A variable and a signal of a function.
    Signal,
    /// A group of variables and one of signals.
    SignalGroup,
}

/// A connection.
pub struct Wire {
    /// Where it stands.
    pub place: At<()>,
    /// What it joins.
    pub kind: WireKind,
    /// Variables and groups of simulators, in the order of the file.
    pub ends: Vec<End>,
    /// The function and its signal.
    pub signal: Option<(At<String>, String)>,
    /// The power bond that it belongs to.
    pub bond: Option<String>,
}

/// An end of a connection at a simulator.
pub struct End {
    /// The simulator.
    pub simulator: At<String>,
    /// Its variable or group.
    pub name: String,
    /// `input` or `output`, as seen from the bond.
    pub causality: Option<String>,
}

/// `EccoConfiguration`.
#[allow(missing_docs)]
pub struct Ecco {
    pub place: At<()>,
    pub safety: Option<f64>,
    pub step: Option<At<f64>>,
    pub min_step: Option<f64>,
    pub max_step: Option<f64>,
    pub min_rate: Option<f64>,
    pub max_rate: Option<f64>,
    pub proportional: Option<f64>,
    pub integral: Option<f64>,
    pub relative: Option<f64>,
    pub absolute: Option<f64>,
}

/// More inputs than a function has.
const MOST_INPUTS: f64 = 10_000.0;

/// Reads the file, and goes on after a mistake; the error is that it is another file.
pub fn read<'a>(
    reader: Reader<'_>,
    root: Node<'a, 'a>,
    notes: &mut Vec<String>,
    problems: &mut Collector,
) -> Result<Structure<'a>, Error> {
    reader.expect(root, ROOT)?;
    let found = root.tag_name().namespace().unwrap_or("");
    if found != NAMESPACE {
        notes.push(format!(
            "{}the namespace of `{ROOT}` is `{found}`; it is read as `{NAMESPACE}`",
            reader.prefix(root)
        ));
    }
    notes.extend(strangers(reader, root, KNOWN));
    for node in elements(root).filter(|n| !PARTS.contains(&name(*n))) {
        let hint = hint(name(node), PARTS.iter().copied());
        problems.keep::<()>(reader.fail(node, format!("unknown element `{}`.{hint}", name(node))));
    }
    let mut number = |what| child(root, what).and_then(|node| problems.keep(reader.content(node)));
    let (start, end, base) = (number("StartTime"), number("EndTime"), number("BaseStepSize"));
    if let Some(base) = base.as_ref().filter(|base| base.value <= 0.0) {
        let message = format!("`BaseStepSize` is {}; expected a step above 0, in s", base.value);
        problems.add(Error::input(base.place(), message));
    }
    let algorithm = child(root, "Algorithm")
        .map(|node| reader.at(node, node.text().unwrap_or_default().trim().to_owned()));
    let (mut names, mut simulators, mut functions) = (HashSet::new(), Vec::new(), Vec::new());
    if child(root, "Simulators").is_none() {
        problems.keep::<()>(reader.fail(root, format!("missing `Simulators` in `{ROOT}`")));
    }
    let mut is_new = |name: &At<String>, what: &str, problems: &mut Collector| {
        if !names.insert(name.value.clone()) {
            problems.add(Error::input(name.place(), format!("two {what}s are called `{}`", name.value)));
        }
    };
    for node in list(root, "Simulators") {
        let Some(found) = simulator(reader, node, problems) else { continue };
        is_new(&found.name, "simulator", problems);
        simulators.push(found);
    }
    let mut unread = HashSet::new();
    for node in list(root, "Functions") {
        let Some(found) = problems.keep(function(reader, node)) else {
            unread.extend(node.attribute("name").map(str::to_owned));
            continue;
        };
        is_new(&found.name, "simulators or function", problems);
        functions.push(found);
    }
    let wires = list(root, "Connections").filter_map(|node| problems.keep(wire(reader, node)));
    let connections = wires.collect();
    let ecco = child(root, "EccoConfiguration").and_then(|node| problems.keep(ecco(reader, node)));
    Ok(Structure { start, end, base, algorithm, simulators, functions, connections, ecco, unread })
}

/// A simulator, if it has a name.
fn simulator<'a>(reader: Reader<'_>, node: Node<'a, 'a>, problems: &mut Collector) -> Option<Simulator<'a>> {
    problems.keep(reader.expect(node, "Simulator"))?;
    let own = problems.keep(reader.text(node, "name"));
    let source = problems.keep(reader.attribute(node, "source")).map(str::to_owned);
    let step = problems.keep(reader.number(node, "stepSize")).flatten().map(|h| reader.at(node, h));
    let values = list(node, "InitialValues").filter_map(|node| problems.keep(initial_value(reader, node)));
    let values = values.collect();
    Some(Simulator { name: own?, node, source, step, values })
}

fn initial_value(reader: Reader<'_>, node: Node<'_, '_>) -> Result<(At<String>, Given), Error> {
    reader.expect(node, "InitialValue")?;
    let variable = reader.text(node, "variable")?;
    let Some(typed) = elements(node).next() else {
        return reader.fail(
            node,
            format!("`{}` lacks a value: `Real`, `Integer`, `Boolean` or `String`", variable.value),
        );
    };
    let text = reader.attribute(typed, "value")?;
    let unfit =
        |wanted: &str| reader.fail(typed, format!("`{}` is `{text}`; expected {wanted}", variable.value));
    let value = match name(typed) {
        "Real" => match text.trim().parse::<f64>() {
            Ok(x) if x.is_finite() => Given::Number(x),
            _ => return unfit("a finite number"),
        },
        "Integer" | "Enumeration" => match text.trim().parse::<i64>() {
            Ok(x) => Given::from(x),
            Err(_) => return unfit("an integer"),
        },
        "Boolean" => match text.trim() {
            "true" | "1" => Given::Flag(true),
            "false" | "0" => Given::Flag(false),
            _ => return unfit("`true` or `false`"),
        },
        "String" => Given::Text(text.to_owned()),
        other => {
            let hint = hint(other, ["Real", "Integer", "Boolean", "String"]);
            return reader.fail(typed, format!("unknown type `{other}`.{hint}"));
        }
    };
    Ok((variable, value))
}

fn function(reader: Reader<'_>, node: Node<'_, '_>) -> Result<Function, Error> {
    let own = reader.text(node, "name")?;
    let count = |attribute: &str| {
        reader.attribute(node, attribute)?;
        match reader.number(node, attribute)? {
            Some(x) if x.fract() == 0.0 && (1.0..=MOST_INPUTS).contains(&x) => Ok(x as usize),
            x => reader.fail(
                node,
                format!(
                    "`{attribute}` is {}; expected an integer from 1 to {MOST_INPUTS}",
                    x.unwrap_or(f64::NAN)
                ),
            ),
        }
    };
    let kind = match name(node) {
        "LinearTransformation" => FunctionKind::Linear {
            factor: reader.number(node, "factor")?.unwrap_or(1.0),
            offset: reader.number(node, "offset")?.unwrap_or(0.0),
        },
        "Sum" => FunctionKind::Sum { inputs: count("inputCount")? },
        "VectorSum" => {
            FunctionKind::VectorSum { inputs: count("inputCount")?, dimension: count("dimension")? }
        }
        other => {
            let hint = hint(other, ["LinearTransformation", "Sum", "VectorSum"]);
            return reader.fail(node, format!("unknown function `{other}`.{hint}"));
        }
    };
    Ok(Function { name: own, kind })
}

fn wire(reader: Reader<'_>, node: Node<'_, '_>) -> Result<Wire, Error> {
    let kind = match name(node) {
        "VariableConnection" => WireKind::Variables,
        "VariableGroupConnection" => WireKind::Groups,
        "SignalConnection" => WireKind::Signal,
        "SignalGroupConnection" => WireKind::SignalGroup,
        other => {
            let known = [
                "VariableConnection",
                "VariableGroupConnection",
                "SignalConnection",
                "SignalGroupConnection",
            ];
            return reader.fail(node, format!("unknown connection `{other}`.{}", hint(other, known)));
        }
    };
    let mut problems = Collector::new();
    let (mut ends, mut signals) = (Vec::new(), Vec::new());
    for node in elements(node) {
        match name(node) {
            "Variable" | "VariableGroup" => {
                let parts = (reader.text(node, "simulator"), reader.attribute(node, "name"));
                let (simulator, variable) = (problems.keep(parts.0), problems.keep(parts.1));
                let causality = node.attribute("causality").map(str::to_owned);
                ends.extend(simulator.zip(variable).map(|(simulator, name)| End {
                    simulator,
                    name: name.to_owned(),
                    causality,
                }));
            }
            "Signal" | "SignalGroup" => {
                let parts = (reader.text(node, "function"), reader.attribute(node, "name"));
                let (function, signal) = (problems.keep(parts.0), problems.keep(parts.1));
                signals.extend(function.zip(signal).map(|(function, name)| (function, name.to_owned())));
            }
            other => {
                problems.keep::<()>(reader.fail(node, format!("unknown element `{other}`")));
            }
        }
    }
    let (variables, functions) = match kind {
        WireKind::Variables | WireKind::Groups => (2, 0),
        WireKind::Signal | WireKind::SignalGroup => (1, 1),
    };
    if problems.is_clean() && (ends.len() != variables || signals.len() != functions) {
        let message = match functions {
            0 => format!("`{}` has {} ends at simulators; expected 2", name(node), ends.len()),
            _ => format!("`{}` needs one end at a simulator and one at a function", name(node)),
        };
        problems.keep::<()>(reader.fail(node, message));
    }
    let bond = node.attribute("powerBond").filter(|name| !name.is_empty()).map(str::to_owned);
    problems.finish(Wire { place: reader.at(node, ()), kind, ends, signal: signals.pop(), bond })
}

fn ecco(reader: Reader<'_>, node: Node<'_, '_>) -> Result<Ecco, Error> {
    let mut problems = Collector::new();
    let mut get = |what| child(node, what).and_then(|n| problems.keep(reader.content(n)));
    let mut value = |what| get(what).map(|x| x.value);
    let [safety, min_step, max_step, min_rate, max_rate, proportional, integral, relative, absolute] = [
        "SafetyFactor",
        "MinimumStepSize",
        "MaximumStepSize",
        "MinimumChangeRate",
        "MaximumChangeRate",
        "ProportionalGain",
        "IntegralGain",
        "RelativeTolerance",
        "AbsoluteTolerance",
    ]
    .map(&mut value);
    let step = get("StepSize");
    let place = reader.at(node, ());
    problems.finish(Ecco {
        place,
        safety,
        step,
        min_step,
        max_step,
        min_rate,
        max_rate,
        proportional,
        integral,
        relative,
        absolute,
    })
}
