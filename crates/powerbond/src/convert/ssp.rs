//! As an archive of SSP 1.0: structure and values as the standard has them, everything else in our annotation.

use super::files::{self, Names, Packed};
use super::settings::{self, Context, number};
use super::toml::{connection_text, last_of_each};
use super::xml::{Attributes, Document};
use crate::Error;
use crate::catalogue::controllers::Controller;
use crate::suggest::key;
use crate::system::{
    Connection, Given, SSP_FILE, SSP_SETTINGS, SignalSpec, SubsystemSpec, System, variable_of,
};
use powerbond_core::network::VariableName;
use powerbond_fmi::Fmu;
use powerbond_fmi::description::{Causality, Kind};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The folder of everything but the structure.
const RESOURCES: &str = "resources";

/// Writes the archive.
pub fn write(system: &System, path: &Path) -> Result<Vec<String>, Error> {
    let fmus = files::fmus(system)?;
    let mut lost = Vec::new();
    let (mut names, mut copies) = (Names::default(), BTreeMap::new());
    let (text, sources) = structure(system, &fmus, &mut names, &mut copies, &mut lost);
    let mut archive = Packed::new();
    archive.add(SSP_FILE, text.as_bytes())?;
    copies.extend(sources);
    for (name, from) in &copies {
        archive.add(name, &files::bytes(from)?)?;
    }
    files::write(path, &archive.finish()?)?;
    Ok(lost)
}

/// The structure, and the FMUs by their names in the archive.
fn structure(
    system: &System,
    fmus: &[Fmu],
    names: &mut Names,
    copies: &mut BTreeMap<String, PathBuf>,
    lost: &mut Vec<String>,
) -> (String, BTreeMap<String, PathBuf>) {
    let mut sources = BTreeMap::new();
    let mut out = Document::new();
    let common = "http://ssp-standard.org/SSP1/SystemStructure";
    out.begin(
        "ssd:SystemStructureDescription",
        &[
            ("xmlns:ssc", format!("{common}Common")),
            ("xmlns:ssd", format!("{common}Description")),
            ("xmlns:ssv", format!("{common}ParameterValues")),
            ("version", "1.0".to_owned()),
            ("name", system.name.clone()),
            ("generationTool", format!("powerbond {}", env!("CARGO_PKG_VERSION"))),
        ],
    );
    out.begin("ssd:System", &[("name", system.name.clone())]);
    let plain: Vec<&Connection> = system.connections.iter().filter(|c| is_plain(c)).collect();
    out.begin("ssd:Elements", &[]);
    for (spec, fmu) in system.subsystems.iter().zip(fmus) {
        let name = format!("{RESOURCES}/{}", names.of(fmu.path(), "fmu"));
        sources.insert(name.clone(), fmu.path().to_owned());
        component(&mut out, system, spec, fmu, &name, &plain);
    }
    out.end();
    if !plain.is_empty() {
        out.begin("ssd:Connections", &[]);
        for connection in plain {
            wire(&mut out, system, fmus, connection);
        }
        out.end();
    }
    out.end();
    experiment(&mut out, system);
    let mut file = |path: &Path| {
        let extension = path.extension().map(|e| e.to_string_lossy().into_owned()).unwrap_or_default();
        let name = format!("{RESOURCES}/{}", names.of(path, &extension));
        copies.insert(name.clone(), path.to_owned());
        name
    };
    let text = own_settings(system, &mut Context { file: &mut file, lost });
    if !text.is_empty() {
        out.begin("ssd:Annotations", &[]);
        out.begin("ssc:Annotation", &[("type", SSP_SETTINGS.to_owned())]);
        out.verbatim("powerbond:Settings", &[("xmlns:powerbond", SSP_SETTINGS.to_owned())], &text);
        out.end();
        out.end();
    }
    for connection in system.connections.iter().filter(|c| !is_plain(c)) {
        lost.push(format!(
            "the sum that feeds `{}`: only powerbond reads it, from its annotation",
            connection.to.value
        ));
    }
    (out.finish(), sources)
}

/// All steps have the same length.
fn is_constant(system: &System) -> bool {
    matches!(system.method.controller.value, Controller::Fixed(_))
}

/// What the standard can say: one output for an input.
fn is_plain(connection: &Connection) -> bool {
    connection.from.len() == 1
}

/// Everything that stands in our annotation.
fn own_settings(system: &System, context: &mut Context<'_>) -> String {
    let mut text = settings::simulation(system, false, context);
    for spec in &system.subsystems {
        text += &settings::section(
            &format!("subsystems.{}", key(&spec.name.value)),
            &settings::how_it_runs(spec),
        );
    }
    for connection in system.connections.iter().filter(|c| !is_plain(c)) {
        text += &connection_text(connection);
    }
    text += &settings::inputs(system, context);
    for bond in &system.bonds {
        text += &settings::bond(bond);
    }
    text + &settings::rest(system)
}

fn experiment(out: &mut Document, system: &System) {
    let simulation = &system.simulation;
    let mut attributes = vec![("startTime", number(simulation.start.value))];
    attributes.extend(simulation.stop.as_ref().map(|stop| ("stopTime", number(stop.value))));
    let constant = simulation.step.as_ref().filter(|_| is_constant(system));
    let Some(step) = constant else { return out.element("ssd:DefaultExperiment", &attributes) };
    let rate = system.subsystems.iter().filter_map(|spec| spec.rate.as_ref()).map(|rate| rate.value).max();
    let base = step.value / f64::from(rate.unwrap_or(1));
    out.begin("ssd:DefaultExperiment", &attributes);
    out.begin("ssd:Annotations", &[]);
    out.begin("ssc:Annotation", &[("type", "com.opensimulationplatform".to_owned())]);
    out.begin("osp:Algorithm", &[osp()]);
    out.element("osp:FixedStepAlgorithm", &[("baseStepSize", number(base))]);
    for _ in 0..4 {
        out.end();
    }
}

/// The namespace of OSP's annotations.
fn osp() -> (&'static str, String) {
    ("xmlns:osp", "http://opensimulationplatform.com/SSP/OSPAnnotations".to_owned())
}

fn component(
    out: &mut Document,
    system: &System,
    spec: &SubsystemSpec,
    fmu: &Fmu,
    source: &str,
    plain: &[&Connection],
) {
    let description = fmu.description();
    let attributes: Attributes<'_> = &[
        ("name", spec.name.value.clone()),
        ("type", "application/x-fmu-sharedlibrary".to_owned()),
        ("source", source.replace('%', "%25").replace(' ', "%20")),
        ("implementation", "CoSimulation".to_owned()),
    ];
    out.begin("ssd:Component", attributes);
    let mut connectors: Vec<(String, Causality, Kind)> = Vec::new();
    let is_new =
        |list: &[(String, Causality, Kind)], name: &str| !list.iter().any(|(other, ..)| other == name);
    for v in &description.variables {
        if matches!(v.causality, Causality::Input | Causality::Output)
            && v.dimensions.is_empty()
            && v.kind != Kind::Clock
        {
            connectors.push((v.name.to_string(), v.causality, v.kind));
        }
    }
    // Elements of arrays have connectors of their own.
    let ends = plain.iter().flat_map(|c| c.from.iter().map(|(name, _)| name).chain([&c.to]));
    for name in ends.filter(|name| name.value.subsystem == spec.name.value).map(|name| &name.value.variable) {
        if is_new(&connectors, name)
            && let Some(v) = variable_of(fmu, name)
        {
            connectors.push((name.clone(), v.causality, v.kind));
        }
    }
    let values = values(system, spec);
    if !connectors.is_empty() {
        out.begin("ssd:Connectors", &[]);
        for (name, causality, kind) in connectors {
            let side = match causality {
                Causality::Input => "input",
                Causality::CalculatedParameter => "calculatedParameter",
                // SSP 1.0 has no word for local variables; as sources they are outputs.
                _ => "output",
            };
            out.begin("ssd:Connector", &[("name", name.clone()), ("kind", side.to_owned())]);
            let typed = match kind {
                // An enumeration would have to be defined once more.
                Kind::Enumeration => "ssc:Integer",
                kind => of_kind(kind).1,
            };
            out.element(typed, &[]);
            out.end();
        }
        out.end();
    }
    if !values.is_empty() {
        out.begin("ssd:ParameterBindings", &[]);
        out.begin("ssd:ParameterBinding", &[]);
        out.begin("ssd:ParameterValues", &[]);
        // One name for all components: Ecos takes sets of the same name for one.
        out.begin("ssv:ParameterSet", &[("version", "1.0".to_owned()), ("name", "initialValues".to_owned())]);
        out.begin("ssv:Parameters", &[]);
        for (name, value) in values {
            let kind = variable_of(fmu, &name).map_or(Kind::Float64, |v| v.kind);
            for (name, value) in scalars(&name, &value) {
                out.begin("ssv:Parameter", &[("name", name)]);
                out.element(of_kind(kind).0, &[("value", text_of(&value, kind))]);
                out.end();
            }
        }
        for _ in 0..5 {
            out.end();
        }
    }
    let constant = system.simulation.step.as_ref().filter(|_| is_constant(system));
    if let (Some(step), Some(rate)) = (constant, &spec.rate) {
        out.begin("ssd:Annotations", &[]);
        out.begin("ssc:Annotation", &[("type", "com.opensimulationplatform".to_owned())]);
        out.element("osp:StepSizeHint", &[osp(), ("value", number(step.value / f64::from(rate.value)))]);
        out.end();
        out.end();
    }
    out.end();
}

/// Everything that is set before the start: parameters, start values and inputs that stay constant.
pub fn values(system: &System, spec: &SubsystemSpec) -> Vec<(String, Given)> {
    let set = spec.start.iter().chain(&spec.parameters).cloned().collect::<Vec<_>>();
    let mut all: Vec<(String, Given)> =
        last_of_each(&set).into_iter().map(|(name, value)| (name.value, value)).collect();
    for (name, signal) in system.inputs.iter().filter(|(name, _)| name.value.subsystem == spec.name.value) {
        let value = match signal {
            SignalSpec::Constant(x) => Given::Number(*x),
            SignalSpec::Integer(n) => Given::Typed(n.to_string()),
            SignalSpec::Item(item) => Given::Text(item.value.clone()),
            _ => continue,
        };
        all.retain(|(other, _)| *other != name.value.variable);
        all.push((name.value.variable.clone(), value));
    }
    all
}

/// An array as its elements: SSP 1.0 has no others.
fn scalars(name: &str, value: &Given) -> Vec<(String, Given)> {
    match value {
        Given::List(items) => {
            items.iter().enumerate().map(|(n, item)| (format!("{name}[{}]", n + 1), item.clone())).collect()
        }
        other => vec![(name.to_owned(), other.clone())],
    }
}

/// The elements of values and of connectors for a type.
fn of_kind(kind: Kind) -> (&'static str, &'static str) {
    match kind {
        Kind::Float64 | Kind::Float32 => ("ssv:Real", "ssc:Real"),
        Kind::Boolean => ("ssv:Boolean", "ssc:Boolean"),
        Kind::String => ("ssv:String", "ssc:String"),
        Kind::Binary => ("ssv:Binary", "ssc:Binary"),
        Kind::Enumeration => ("ssv:Enumeration", "ssc:Enumeration"),
        _ => ("ssv:Integer", "ssc:Integer"),
    }
}

/// A value for a variable of this type, as it is written.
pub fn text_of(value: &Given, kind: Kind) -> String {
    match (value, kind) {
        (_, Kind::Boolean) => (value.number().unwrap_or(0.0) != 0.0).to_string(),
        (Given::Number(x), Kind::Float64 | Kind::Float32) => match x {
            x if x.is_infinite() => if *x > 0.0 { "INF" } else { "-INF" }.to_owned(),
            x => number(*x),
        },
        (Given::Number(x), _) => format!("{x}"),
        (Given::Flag(flag), _) => u8::from(*flag).to_string(),
        (Given::Text(text) | Given::Typed(text), _) => text.clone(),
        (Given::List(items), _) => items.iter().map(|item| text_of(item, kind)).collect::<Vec<_>>().join(" "),
    }
}

/// A connection of one output.
fn wire(out: &mut Document, system: &System, fmus: &[Fmu], connection: &Connection) {
    let Some((from, gain)) = connection.from.first() else { return };
    let end = |name: &VariableName| (name.subsystem.clone(), name.variable.clone());
    let ((start_element, start), (end_element, ended)) = (end(&from.value), end(&connection.to.value));
    let mut attributes = vec![
        ("startElement", start_element),
        ("startConnector", start),
        ("endElement", end_element),
        ("endConnector", ended),
    ];
    if !connection.convert_units {
        attributes.push(("suppressUnitConversion", "true".to_owned()));
    }
    let offset = connection.offset;
    if *gain == 1.0 && offset == 0.0 && connection.table.is_none() {
        return out.element("ssd:Connection", &attributes);
    }
    out.begin("ssd:Connection", &attributes);
    match &connection.table {
        None => {
            out.element("ssc:LinearTransformation", &[("factor", number(*gain)), ("offset", number(offset))])
        }
        Some(table) => {
            let fmu =
                system.subsystems.iter().position(|spec| spec.name.value == connection.to.value.subsystem);
            let kind = fmu.and_then(|n| Some(variable_of(&fmus[n], &connection.to.value.variable)?.kind));
            let is_boolean = kind == Some(Kind::Boolean);
            let name = if is_boolean {
                "ssc:BooleanMappingTransformation"
            } else {
                "ssc:IntegerMappingTransformation"
            };
            out.begin(name, &[]);
            for (a, b) in table.iter() {
                let text = |x: f64| if is_boolean { (x != 0.0).to_string() } else { format!("{x}") };
                out.element("ssc:MapEntry", &[("source", text(*a)), ("target", text(*b))]);
            }
            out.end();
        }
    }
    out.end();
}
