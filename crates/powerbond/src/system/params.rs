//! Parameter values of SSP (`.ssv` files, SSP 1.0 and 2.0): `subsystem.parameter`, a value of any type and its unit.

use super::{Factory, Given, Models, SharedFactory, SimulatorSpec, SubsystemSpec, System};
use crate::Error;
use crate::error::Collector;
use crate::number::LONGEST_IN_A_REAL;
use crate::source::{At, Source};
use powerbond_core::network::NameIndex;
use powerbond_core::units::{Conversion, Si, Unit};
use powerbond_fmi::Fmu;
use powerbond_fmi::description::xml::{self, Node};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

/// In bytes; more is not a set of parameters.
const MAX_SIZE: u64 = 64_000_000;

/// What the standard calls its types; those with `true` may have a unit.
const TYPES: [(&str, bool); 16] = [
    ("Real", true),
    ("Float64", true),
    ("Float32", true),
    ("Integer", false),
    ("Int8", false),
    ("UInt8", false),
    ("Int16", false),
    ("UInt16", false),
    ("Int32", false),
    ("UInt32", false),
    ("Int64", false),
    ("UInt64", false),
    ("Boolean", false),
    ("String", false),
    ("Enumeration", false),
    ("Binary", false),
];

/// A value of the file.
struct Parameter {
    name: At<String>,
    value: Given,
    unit: Option<Unit>,
}

impl System {
    /// Sets what a parameter file (SSP's `.ssv`) says. `first`: it stands below the parameters that were set before,
    /// else above them. Values with a unit are converted to that of their parameter.
    pub fn set_from(&mut self, file: &Path, first: bool) -> Result<Vec<String>, Error> {
        let mut warnings = Vec::new();
        let mut fmus = BTreeMap::new();
        let mut set: BTreeMap<usize, Vec<(At<String>, Given)>> = BTreeMap::new();
        let specs = self.specs();
        let mut problems = Collector::new();
        for Parameter { name, value, unit } in read(file)? {
            let found = problems.keep(self.split_name(&specs, &name, "subsystem.parameter"));
            let Some((subsystem, parameter)) = found else { continue };
            let spec = &self.subsystems[subsystem];
            let value = unit.map_or(Ok(value.clone()), |unit| {
                let wanted = unit_of(&self.models, self.folder(), spec, &parameter, &mut fmus)?;
                convert(&name, value, &unit, wanted.as_deref(), &mut warnings)
            });
            if let Some(value) = problems.keep(value) {
                set.entry(subsystem).or_default().push((name.with(parameter), value));
            }
        }
        problems.finish(())?;
        for (subsystem, new) in set {
            let list = &mut self.subsystems[subsystem].parameters;
            let place = if first { 0 } else { list.len() };
            list.splice(place..place, new);
        }
        Ok(warnings)
    }

    /// The subsystem and the parameter of `subsystem.parameter`; the only subsystem needs no name.
    /// `form` says how it is written.
    pub(super) fn split_name(
        &self,
        specs: &NameIndex<&str>,
        name: &At<String>,
        form: &str,
    ) -> Result<(usize, String), Error> {
        let fail = |message: String| Err(Error::input(name.place(), message));
        if let Some((subsystem, parameter)) = name.value.split_once('.') {
            if let Some(s) = specs.place(subsystem) {
                return Ok((s, parameter.to_owned()));
            }
            if self.subsystems.len() > 1 {
                let names = self.subsystems.iter().map(|s| s.name.value.as_str());
                return fail(format!(
                    "unknown subsystem `{subsystem}`.{}",
                    powerbond_core::suggest::hint(subsystem, names)
                ));
            }
        }
        match self.subsystems.len() {
            1 => Ok((0, name.value.clone())),
            _ => fail(format!("`{}`: missing subsystem; write `{form}`", name.value)),
        }
    }
}

/// The unit of a parameter, if it has one and is known.
fn unit_of(
    models: &Models,
    folder: &Path,
    spec: &SubsystemSpec,
    parameter: &str,
    fmus: &mut BTreeMap<String, Fmu>,
) -> Result<Option<Arc<Unit>>, Error> {
    match &spec.simulator {
        SimulatorSpec::Model(model) => {
            Ok(models.find(&model.value).ok().and_then(|f| model_unit(&f, parameter)))
        }
        SimulatorSpec::Own(factory) => Ok(model_unit(factory, parameter)),
        SimulatorSpec::Fmu(path, _) => {
            let name = &spec.name.value;
            if !fmus.contains_key(name) {
                fmus.insert(name.clone(), super::open_fmu(folder, path)?);
            }
            let description = fmus[name].description();
            let variable = description.find(parameter).map(|v| &description.variables[v]);
            Ok(variable.and_then(|v| description.unit_of(v)))
        }
    }
}

fn model_unit(factory: &SharedFactory, parameter: &str) -> Option<Arc<Unit>> {
    let found = factory.model()?.all_parameters().find(|p| p.name == parameter)?;
    (!found.unit.is_empty()).then(|| Arc::new(Unit::parse(found.unit)))
}

/// The value in the unit of its parameter.
fn convert(
    name: &At<String>,
    value: Given,
    unit: &Unit,
    wanted: Option<&Unit>,
    warnings: &mut Vec<String>,
) -> Result<Given, Error> {
    let Some(wanted) = wanted else {
        let place = name.prefix();
        warnings.push(format!(
            "{place}`{}` has no unit; the value in {} is not converted",
            name.value, unit.symbol
        ));
        return Ok(value);
    };
    if wanted.symbol == unit.symbol && (wanted.si.is_none() || unit.si.is_none()) {
        return Ok(value);
    }
    let fail = |why: &str| {
        let message =
            format!("a value in {} for `{}`, which is in {}: {why}", unit.symbol, name.value, wanted.symbol);
        Err(Error::input(name.place(), message))
    };
    match unit.conversion_to(wanted) {
        Conversion::Linear { gain, offset } => Ok(linear(value, gain, offset)),
        Conversion::Turns { .. } => fail("one counts revolutions, the other radians"),
        Conversion::Impossible => fail("units of different quantities"),
        Conversion::Unknown => fail("unknown conversion; define the unit in `Units`"),
    }
}

fn linear(value: Given, gain: f64, offset: f64) -> Given {
    match value {
        Given::Number(x) if gain != 1.0 || offset != 0.0 => Given::Number(gain * x + offset),
        Given::List(items) => Given::List(items.into_iter().map(|item| linear(item, gain, offset)).collect()),
        other => other,
    }
}

/// All parameters of a file, in its order.
fn read(path: &Path) -> Result<Vec<Parameter>, Error> {
    let mut bytes = Vec::new();
    let unreadable = |reason: String| Error::input(None, format!("cannot read {}: {reason}", path.display()));
    let file = std::fs::File::open(path).map_err(|e| unreadable(e.to_string()))?;
    file.take(MAX_SIZE + 1).read_to_end(&mut bytes).map_err(|e| unreadable(e.to_string()))?;
    if bytes.len() as u64 > MAX_SIZE {
        return Err(unreadable(format!("it is larger than {} MB", MAX_SIZE / 1_000_000)));
    }
    let at_line = |line: u32, message: String| {
        let place = crate::source::Place::File { path: path.to_owned(), line: line as usize, column: 1 };
        Error::input(Some(place), message)
    };
    let text = xml::decode("", &bytes).map_err(|e| at_line(e.line, e.problem.to_string()))?.into_owned();
    let source = Source::file(path, text);
    let document = xml::parse("", &source.text).map_err(|e| at_line(e.line, e.problem.to_string()))?;
    let reader = Reader { source: &source };
    let root = document.root_element();
    if root.tag_name().name() != "ParameterSet" {
        let name = root.tag_name().name();
        return reader.fail(root, format!("found `{name}`, expected `ssv:ParameterSet`"));
    }
    let units = reader.units(root)?;
    let Some(list) = xml::child(root, "Parameters") else {
        return reader.fail(root, "missing `Parameters` in `ParameterSet`".to_owned());
    };
    let mut problems = Collector::new();
    let read = |node| problems.keep(reader.parameter(node, &units));
    let parameters = xml::elements(list).filter_map(read).collect();
    problems.finish(parameters)
}

struct Reader<'a> {
    source: &'a Arc<Source>,
}

impl Reader<'_> {
    fn at<T>(&self, node: Node<'_, '_>, value: T) -> At<T> {
        At::file(value, self.source, xml::position(&self.source.text, node))
    }

    fn fail<T>(&self, node: Node<'_, '_>, message: String) -> Result<T, Error> {
        Err(Error::input(self.at(node, ()).place(), message))
    }

    fn attribute<'n>(&self, node: Node<'n, '_>, name: &str) -> Result<&'n str, Error> {
        let missing = || self.fail(node, format!("`{}` lacks `{name}`", node.tag_name().name()));
        node.attribute(name).map_or_else(missing, Ok)
    }

    /// The units that the file defines.
    fn units(&self, root: Node<'_, '_>) -> Result<BTreeMap<String, Unit>, Error> {
        let mut units = BTreeMap::new();
        for node in xml::child(root, "Units").into_iter().flat_map(xml::elements) {
            let symbol = self.attribute(node, "name")?;
            let Some(base) = xml::child(node, "BaseUnit") else {
                return self.fail(node, format!("the unit `{symbol}` lacks `BaseUnit`"));
            };
            let number = |name: &str, default: f64| match base.attribute(name) {
                None => Ok(default),
                Some(text) => text.trim().parse::<f64>().or_else(|_| {
                    self.fail(base, format!("`{name}` of the unit `{symbol}` is `{text}`; expected a number"))
                }),
            };
            let mut dimensions = [0; 8];
            for (place, name) in ["kg", "m", "s", "A", "K", "mol", "cd", "rad"].into_iter().enumerate() {
                dimensions[place] = number(name, 0.0)? as i8;
            }
            let si = Si { dimensions, factor: number("factor", 1.0)?, offset: number("offset", 0.0)? };
            units.insert(symbol.to_owned(), Unit { symbol: symbol.to_owned(), si: Some(si) });
        }
        Ok(units)
    }

    fn parameter(&self, node: Node<'_, '_>, units: &BTreeMap<String, Unit>) -> Result<Parameter, Error> {
        if node.tag_name().name() != "Parameter" {
            return self.fail(node, format!("found `{}`, expected `Parameter`", node.tag_name().name()));
        }
        let name = self.attribute(node, "name")?;
        let known = |n: &Node<'_, '_>| TYPES.iter().any(|(kind, _)| *kind == n.tag_name().name());
        let Some(typed) = xml::elements(node).find(known) else {
            let names: Vec<&str> = TYPES.iter().map(|(kind, _)| *kind).collect();
            let found = xml::elements(node).next().map_or("", |n| n.tag_name().name());
            return self.fail(
                node,
                format!("`{name}` lacks a value.{}", powerbond_core::suggest::hint(found, names)),
            );
        };
        let kind = typed.tag_name().name();
        let measured = TYPES.iter().any(|(name, unit)| *name == kind && *unit);
        let unit = typed.attribute("unit").filter(|_| measured);
        let unit = unit.map(|symbol| units.get(symbol).cloned().unwrap_or_else(|| Unit::parse(symbol)));
        Ok(Parameter { name: self.at(node, name.to_owned()), value: self.value(typed, name, kind)?, unit })
    }

    /// One value, or a list of them: in SSP 2.0 arrays are written with spaces, texts as `Value` elements.
    fn value(&self, node: Node<'_, '_>, name: &str, kind: &str) -> Result<Given, Error> {
        let inner: Vec<Node<'_, '_>> =
            xml::elements(node).filter(|n| n.tag_name().name() == "Value").collect();
        let texts: Vec<&str> = match (inner.is_empty(), kind) {
            (false, _) => inner.iter().map(|n| self.attribute(*n, "value")).collect::<Result<_, _>>()?,
            (true, "String" | "Enumeration" | "Binary") => vec![self.attribute(node, "value")?],
            (true, _) => self.attribute(node, "value")?.split_whitespace().collect(),
        };
        let unfit = |text: &str, wanted: &str| {
            self.fail(node, format!("`{name}` is `{text}`; expected {wanted} in `{kind}`"))
        };
        let mut values = Vec::new();
        for text in &texts {
            values.push(match kind {
                "String" => Given::Text((*text).to_owned()),
                "Enumeration" | "Binary" => Given::Typed((*text).to_owned()),
                "Boolean" => match *text {
                    "true" | "1" => Given::Flag(true),
                    "false" | "0" => Given::Flag(false),
                    _ => return unfit(text, "`true` or `false`"),
                },
                "Real" | "Float64" | "Float32" => match text.parse() {
                    Ok(x) => Given::Number(x),
                    Err(_) => return unfit(text, "a number"),
                },
                _ => match text.parse::<i64>() {
                    Ok(x) if x.unsigned_abs() > LONGEST_IN_A_REAL => Given::Typed(x.to_string()),
                    Ok(x) => Given::Number(x as f64),
                    Err(_) => return unfit(text, "an integer"),
                },
            });
        }
        match values.len() {
            0 => unfit("", "a value"),
            1 => Ok(values.swap_remove(0)),
            _ => Ok(Given::List(values)),
        }
    }
}
