//! As a folder of OSP: what its schema can say, and a list of the rest.

use super::files::{self, Names};
use super::settings::number;
use super::ssp::{text_of, values};
use super::xml::Document;
use crate::Error;
use crate::catalogue::Method;
use crate::catalogue::controllers::{Controller, Ecco};
use crate::catalogue::estimators::Estimator;
use crate::number::short;
use crate::system::{
    Bond, Connection, OSP_FILE, OSP_LOG_CONFIG, ProcessSpec, Record, SignalSpec, System, VerdictSpec,
    variable_of,
};
use powerbond_core::network::VariableName;
use powerbond_core::units::Conversion;
use powerbond_fmi::Fmu;
use powerbond_fmi::description::{Causality, Kind, Variable};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Writes the folder, or the structure file at `path` with everything beside it.
pub fn write(system: &System, path: &Path) -> Result<Vec<String>, Error> {
    let fmus = files::fmus(system)?;
    let is_file = path.file_name().is_some_and(|name| name == OSP_FILE);
    let folder = if is_file { path.parent().unwrap_or(Path::new("")).to_owned() } else { path.to_owned() };
    let mut writer = Writer { system, fmus: &fmus, lost: Vec::new() };
    let mut names = Names::default();
    let sources: Vec<String> = fmus.iter().map(|fmu| names.of(fmu.path(), "fmu")).collect();
    let text = writer.structure(&sources);
    let log = writer.log_config();
    let lost = writer.lost;
    let copies: BTreeMap<&String, &Fmu> = sources.iter().zip(&fmus).collect();
    for (name, fmu) in copies {
        files::copy(fmu.path(), &folder.join(name))?;
    }
    if let Some(log) = log {
        files::write(&folder.join(OSP_LOG_CONFIG), log.as_bytes())?;
    }
    files::write(&folder.join(OSP_FILE), text.as_bytes())?;
    Ok(lost)
}

struct Writer<'a> {
    system: &'a System,
    fmus: &'a [Fmu],
    lost: Vec<String>,
}

/// A connection that needs a function.
struct Through<'a> {
    name: String,
    kind: &'static str,
    attributes: Vec<(&'static str, String)>,
    inputs: Vec<(String, &'a VariableName)>,
    to: &'a VariableName,
}

impl<'a> Writer<'a> {
    fn lose(&mut self, what: impl Into<String>) {
        let what = what.into();
        if !self.lost.contains(&what) {
            self.lost.push(what);
        }
    }

    fn structure(&mut self, sources: &[String]) -> String {
        let system = self.system;
        let mut out = Document::new();
        let namespace = "http://opensimulationplatform.com/MSMI/OSPSystemStructure";
        out.begin("OspSystemStructure", &[("xmlns", namespace.to_owned()), ("version", "0.1".to_owned())]);
        out.text("StartTime", &[], &number(system.simulation.start.value));
        if let Some(stop) = &system.simulation.stop {
            out.text("EndTime", &[], &number(stop.value));
        }
        let ecco = libcosim(&system.method);
        let most =
            system.subsystems.iter().filter_map(|spec| spec.rate.as_ref()).map(|rate| rate.value).max();
        let base = system.simulation.step.as_ref().map(|step| step.value / f64::from(most.unwrap_or(1)));
        match base {
            Some(base) => out.text("BaseStepSize", &[], &number(base)),
            None => self.lose("`BaseStepSize`, which libcosim needs: the default method chooses its steps itself. `step` in `[simulation]` sets one"),
        }
        out.text("Algorithm", &[], if ecco.is_some() { "ecco" } else { "fixedStep" });
        self.lose_method(ecco.is_some());
        let bonds = self.bonds();
        out.begin("Simulators", &[]);
        for (n, spec) in system.subsystems.iter().enumerate() {
            let file = sources[n].replace('%', "%25").replace(' ', "%20");
            let source = match spec.process {
                ProcessSpec::Own(_) => format!("proxyfmu://localhost?file={file}"),
                _ => file,
            };
            let mut attributes = vec![("name", spec.name.value.clone()), ("source", source)];
            if let (Some(step), true) = (&system.simulation.step, most.is_some()) {
                let rate = spec.rate.as_ref().map_or(1, |rate| rate.value);
                attributes.push(("stepSize", number(step.value / f64::from(rate))));
            }
            let values = values(system, spec);
            if values.is_empty() {
                out.element("Simulator", &attributes);
                continue;
            }
            out.begin("Simulator", &attributes);
            out.begin("InitialValues", &[]);
            for (name, value) in values {
                let fmu = &self.fmus[n];
                let kind = variable_of(fmu, &name).map_or(Kind::Float64, |v| v.kind);
                let number_of = |item: &str| {
                    let d = fmu.description();
                    let items =
                        variable_of(fmu, &name).and_then(|v| d.type_of(v)).map_or(&[][..], |t| &t.items);
                    items.iter().find(|known| *known.name == *item).map(|known| known.value.to_string())
                };
                let mut text = text_of(&value, kind);
                let element = match kind {
                    Kind::Float64 | Kind::Float32 => "Real",
                    Kind::Boolean => "Boolean",
                    Kind::String => "String",
                    Kind::Binary | Kind::Clock => {
                        self.lose(format!("the value of `{}.{name}`, which is binary", spec.name.value));
                        continue;
                    }
                    Kind::Enumeration => {
                        text = number_of(&text).unwrap_or(text);
                        "Integer"
                    }
                    _ => "Integer",
                };
                if text.split_whitespace().count() > 1 && element != "String" {
                    self.lose(format!("the value of `{}.{name}`, which is an array", spec.name.value));
                    continue;
                }
                out.begin("InitialValue", &[("variable", name.clone())]);
                out.element(element, &[("value", text)]);
                out.end();
            }
            out.end();
            out.end();
        }
        out.end();
        let (plain, through) = self.wires();
        if !through.is_empty() {
            out.begin("Functions", &[]);
            // The schema wants them by kind.
            for kind in ["LinearTransformation", "Sum"] {
                for function in through.iter().filter(|function| function.kind == kind) {
                    let mut attributes = vec![("name", function.name.clone())];
                    attributes.extend(function.attributes.iter().cloned());
                    out.element(kind, &attributes);
                }
            }
            out.end();
        }
        if !plain.is_empty() || !through.is_empty() {
            out.begin("Connections", &[]);
            for (from, to) in plain {
                let bond = bonds.get(&(from, to));
                let attributes: Vec<_> =
                    bond.map(|(name, _)| ("powerBond", name.clone())).into_iter().collect();
                out.begin("VariableConnection", &attributes);
                // As seen from the bond.
                let mut ends = [(from, "input"), (to, "output")];
                if bond.is_some_and(|(_, first)| to.subsystem == *first) {
                    ends.reverse();
                }
                ends.into_iter().for_each(|(name, side)| variable(&mut out, name, bond.map(|_| side)));
                out.end();
            }
            for function in &through {
                let ends = function.inputs.iter().map(|(signal, name)| (signal.clone(), *name));
                for (signal, name) in ends.chain([("out".to_owned(), function.to)]) {
                    out.begin("SignalConnection", &[]);
                    variable(&mut out, name, None);
                    out.element("Signal", &[("function", function.name.clone()), ("name", signal)]);
                    out.end();
                }
            }
            out.end();
        }
        if let Some((controller, relative, absolute)) = ecco {
            configuration(&mut out, system, controller, relative, absolute);
        }
        self.lose_rest();
        out.finish()
    }

    /// Plain connections, and those that need a function.
    fn wires(&mut self) -> (Vec<(&'a VariableName, &'a VariableName)>, Vec<Through<'a>>) {
        let (mut plain, mut through) = (Vec::new(), Vec::new());
        let taken: BTreeSet<&str> =
            self.system.subsystems.iter().map(|spec| spec.name.value.as_str()).collect();
        for connection in &self.system.connections {
            let to = &connection.to.value;
            if connection.table.is_some() {
                self.lose(format!("the connection to `{to}`, which has a table"));
                continue;
            }
            let inside =
                |name: &VariableName| self.variable(name).filter(|v| v.causality != Causality::Output);
            let mut sources = connection.from.iter();
            if let Some((from, v)) = sources.find_map(|(name, _)| Some((&name.value, inside(&name.value)?))) {
                let what = v.causality.noun();
                self.lose(format!(
                    "the connection from `{from}`, {what}, to `{to}`: libcosim connects outputs only"
                ));
                continue;
            }
            let (gains, offset) = self.converted(connection);
            let is_real = self.kind(to).is_none_or(Kind::is_real);
            let number_of = through.len() + 1;
            let name =
                || (number_of..).map(|n| format!("function{n}")).find(|name| !taken.contains(name.as_str()));
            let inputs = |signal: &dyn Fn(usize) -> String| {
                connection.from.iter().enumerate().map(|(i, (name, _))| (signal(i), &name.value)).collect()
            };
            match gains.as_slice() {
                [1.0] if offset == 0.0 => plain.push((&connection.from[0].0.value, to)),
                _ if !is_real => self.lose(format!(
                    "the gain of the connection to `{to}`: functions of OSP are for real numbers"
                )),
                [gain] => through.push(Through {
                    name: name().unwrap_or_default(),
                    kind: "LinearTransformation",
                    attributes: vec![("factor", number(*gain)), ("offset", number(offset))],
                    inputs: inputs(&|_| "in".to_owned()),
                    to,
                }),
                gains if offset == 0.0 && gains.iter().all(|gain| *gain == 1.0) => through.push(Through {
                    name: name().unwrap_or_default(),
                    kind: "Sum",
                    attributes: vec![("inputCount", gains.len().to_string())],
                    inputs: inputs(&|i| format!("in[{i}]")),
                    to,
                }),
                _ => self.lose(format!("the connection to `{to}`: a sum with gains or an offset")),
            }
        }
        (plain, through)
    }

    fn place(&self, name: &VariableName) -> Option<usize> {
        self.system.subsystems.iter().position(|spec| spec.name.value == name.subsystem)
    }

    fn variable(&self, name: &VariableName) -> Option<&Variable> {
        variable_of(&self.fmus[self.place(name)?], &name.variable)
    }

    fn kind(&self, name: &VariableName) -> Option<Kind> {
        Some(self.variable(name)?.kind)
    }

    /// The gains of a connection and its offset with the conversion of units, which OSP leaves to functions.
    fn converted(&self, connection: &Connection) -> (Vec<f64>, f64) {
        let unit = |name: &VariableName| {
            let fmu = &self.fmus[self.place(name)?];
            fmu.description().unit_of(variable_of(fmu, &name.variable)?)
        };
        let mut offset = connection.offset;
        let gains = connection.from.iter().map(|(name, gain)| {
            let units =
                unit(&name.value).zip(unit(&connection.to.value)).filter(|_| connection.convert_units);
            match units.map(|(a, b)| a.conversion_to(&b)) {
                Some(Conversion::Linear { gain: factor, offset: shift }) => {
                    offset += gain * shift;
                    gain * factor
                }
                _ => *gain,
            }
        });
        (gains.collect(), offset)
    }

    /// The names of bonds by their connections, and the subsystem that power leaves, which is named first. Those that the schema cannot
    /// say are lost.
    fn bonds(&mut self) -> BTreeMap<(&'a VariableName, &'a VariableName), (String, &'a str)> {
        let mut found = BTreeMap::new();
        let sources: BTreeMap<&VariableName, &Connection> =
            self.system.connections.iter().map(|c| (&c.to.value, c)).collect();
        for bond in &self.system.bonds {
            match self.bond(bond, &sources) {
                Some(wires) => {
                    let first =
                        bond.ports.iter().find(|port| port.sign.value > 0.0).unwrap_or(&bond.ports[0]);
                    let first = first.inputs.first().map_or("", |input| input.value.subsystem.as_str());
                    found.extend(wires.into_iter().map(|wire| (wire, (bond.name.value.clone(), first))));
                }
                None => self.lose(format!(
                    "the bond `{}`: OSP knows those of two simulators whose values are connected as they are",
                    bond.name.value
                )),
            }
        }
        found
    }

    fn bond(
        &mut self,
        bond: &'a Bond,
        sources: &BTreeMap<&'a VariableName, &'a Connection>,
    ) -> Option<Vec<(&'a VariableName, &'a VariableName)>> {
        let [first, second] = &bond.ports[..] else { return None };
        let mut wires = Vec::new();
        for (port, other) in [(first, second), (second, first)] {
            for (input, output) in port.inputs.iter().zip(&other.outputs) {
                let connection = sources.get(&input.value)?;
                let (gains, offset) = self.converted(connection);
                if gains != [1.0] || offset != 0.0 || connection.from[0].0.value != output.value {
                    return None;
                }
                wires.push((&output.value, &input.value));
            }
        }
        let own = bond.energy_scale.is_some() || bond.tolerance.is_some() || bond.pseudo;
        if own || first.ratio != 1.0 || second.ratio != 1.0 {
            self.lose(format!("scale, tolerance, ratio or kind of the bond `{}`", bond.name.value));
        }
        Some(wires)
    }

    fn lose_method(&mut self, is_ecco: bool) {
        let method = &self.system.method;
        let has_step = self.system.simulation.step.is_some();
        if !is_ecco && (!has_step || method.to_json() != Method::default().to_json()) {
            self.lose("the method; OSP has constant steps and libcosim's ECCO");
        }
    }

    /// What no element stands for.
    fn lose_rest(&mut self) {
        let system = self.system;
        for (name, signal) in &system.inputs {
            let is_constant =
                matches!(signal, SignalSpec::Constant(_) | SignalSpec::Integer(_) | SignalSpec::Item(_));
            if !is_constant {
                self.lose(format!("the signal that `{}` follows", name.value));
            }
        }
        for spec in &system.subsystems {
            let name = &spec.name.value;
            if spec.step.is_some() {
                self.lose(format!("`step` of `{name}`"));
            }
            if matches!(spec.process, ProcessSpec::Host(_)) {
                self.lose(format!("the host of `{name}`"));
            }
            if spec.feed_through.is_some() || spec.sampled.is_some() {
                self.lose(format!("`feed_through` and `sampled` of `{name}`"));
            }
        }
        if system.scenario.is_some() {
            self.lose("the scenario; it is chosen when a system of OSP is run");
        }
        if format!("{:?}", system.verdict) != format!("{:?}", VerdictSpec::default()) {
            self.lose("`[verdict]`");
        }
        if system.record.jumps
            || system.record.details
            || system.record.format.value != Record::default().format.value
        {
            self.lose("`jumps`, `details` and `format` of `[record]`");
        }
    }

    /// `LogConfig.xml`, where something else than everything is recorded.
    fn log_config(&mut self) -> Option<String> {
        let (system, record) = (self.system, &self.system.record);
        let step = system.simulation.step.as_ref().map(|step| step.value);
        let decimation = system.simulation.output_interval.as_ref().and_then(|interval| {
            let factor = interval.value / step?;
            let whole = factor.round().max(1.0);
            ((factor / whole - 1.0).abs() < 1e-9).then_some(whole as u64)
        });
        if let (Some(interval), None) = (&system.simulation.output_interval, decimation) {
            self.lose(format!(
                "the output interval of {} s, which is not a multiple of the step",
                short(interval.value)
            ));
        }
        if !record.exclude.is_empty() {
            self.lose("`exclude` of `[record]`");
        }
        if record.variables.is_none() && decimation.is_none() {
            return None;
        }
        let mut out = Document::new();
        out.begin("simulators", &[("xmlns", "http://opensimulationplatform.com/LogConfig".to_owned())]);
        for (spec, fmu) in system.subsystems.iter().zip(self.fmus) {
            let own = &spec.name.value;
            let mut variables = BTreeSet::new();
            let mut is_all = record.variables.is_none();
            for pattern in record.variables.iter().flatten() {
                is_all |= pattern.value == format!("{own}.*") || pattern.value == "*";
                let numbers = fmu.description().variables.iter().filter(|v| v.kind.is_numeric());
                let names = numbers.map(|v| &*v.name);
                variables
                    .extend(names.filter(|name| crate::glob::fits(&pattern.value, &format!("{own}.{name}"))));
            }
            if variables.is_empty() && !is_all {
                continue;
            }
            let mut attributes = vec![("name", own.clone())];
            attributes.extend(decimation.map(|factor| ("decimationFactor", factor.to_string())));
            if is_all {
                out.element("simulator", &attributes);
                continue;
            }
            out.begin("simulator", &attributes);
            variables.into_iter().for_each(|name| out.element("variable", &[("name", name.to_owned())]));
            out.end();
        }
        Some(out.finish())
    }
}

fn variable(out: &mut Document, name: &VariableName, causality: Option<&str>) {
    let mut attributes = vec![("simulator", name.subsystem.clone()), ("name", name.variable.clone())];
    attributes.extend(causality.map(|word| ("causality", word.to_owned())));
    out.element("Variable", &attributes);
}

/// The controller and the tolerances, if this is libcosim's ECCO.
fn libcosim(method: &Method) -> Option<(&Ecco, f64, f64)> {
    match (&method.controller.value, &method.estimator.value) {
        (Controller::Ecco(controller), Estimator::Libcosim(norm)) => {
            Some((controller, norm.relative_tolerance, norm.absolute_tolerance))
        }
        _ => None,
    }
}

/// `EccoConfiguration`; what the file leaves to defaults has libcosim's.
fn configuration(out: &mut Document, system: &System, ecco: &Ecco, relative: f64, absolute: f64) {
    let step = system.simulation.step.as_ref().map_or(1e-4, |step| step.value);
    out.begin("EccoConfiguration", &[]);
    for (name, value) in [
        ("SafetyFactor", ecco.safety.unwrap_or(0.8)),
        ("StepSize", step),
        ("MinimumStepSize", ecco.min_step.unwrap_or(step / 100.0)),
        ("MaximumStepSize", ecco.max_step.unwrap_or(step * 100.0)),
        ("MinimumChangeRate", ecco.min_rate),
        ("MaximumChangeRate", ecco.max_rate),
        ("ProportionalGain", ecco.proportional_gain.unwrap_or(0.2)),
        ("IntegralGain", ecco.integral_gain.unwrap_or(0.3)),
        ("RelativeTolerance", relative),
        ("AbsoluteTolerance", absolute),
    ] {
        out.text(name, &[], &number(value));
    }
    out.end();
}
