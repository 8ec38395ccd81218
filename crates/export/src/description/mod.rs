//! `modelDescription.xml` of an FMU, for both versions of FMI.

mod fmi2;
mod fmi3;
mod xml;

use crate::interface::Interface;
use powerbond_core::units::Unit;
use powerbond_models::{Domain, ParameterSpec};
use xml::Xml;

/// A version of FMI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FmiVersion {
    /// FMI 2.0.
    Fmi2,
    /// FMI 3.0.
    Fmi3,
}

/// The text of `modelDescription.xml`. It has no date, so that the same model gives the same bytes.
pub fn describe(interface: &Interface, version: FmiVersion) -> String {
    match version {
        FmiVersion::Fmi2 => fmi2::describe(interface),
        FmiVersion::Fmi3 => fmi3::describe(interface),
    }
}

const TOOL: &str = concat!("powerbond ", env!("CARGO_PKG_VERSION"));

/// The name of the library inside the FMU: a C identifier.
pub(crate) fn model_identifier(interface: &Interface) -> String {
    let legal = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let name: String = interface.spec.name.chars().map(legal).collect();
    if name.starts_with(|c: char| c.is_ascii_digit()) { format!("_{name}") } else { name }
}

/// The units that are used, each once, in order of appearance. Without a symbol there is no unit.
fn units(interface: &Interface, version: FmiVersion) -> Vec<Unit> {
    let of_variables = interface.info.variables.iter().filter_map(|v| v.unit.as_deref().cloned());
    // FMI 3 has the time as a variable.
    let time = version == FmiVersion::Fmi3;
    let of_parameters = interface.parameters().iter().map(|p| Unit::parse(p.unit));
    let mut units: Vec<Unit> = Vec::new();
    for unit in of_variables
        .chain(of_parameters)
        .chain(time.then(|| Unit::parse("s")))
        .filter(|u| !u.symbol.is_empty())
    {
        if units.iter().all(|u| u.symbol != unit.symbol) {
            units.push(unit);
        }
    }
    units
}

/// `<UnitDefinitions>`, the same in both versions.
fn write_units(xml: &mut Xml, interface: &Interface, version: FmiVersion) {
    let units = units(interface, version);
    if units.is_empty() {
        return;
    }
    xml.open("UnitDefinitions").children(|xml| {
        for unit in units {
            let element = xml.open("Unit").text("name", &unit.symbol);
            let Some(si) = unit.si else {
                element.close();
                continue;
            };
            element.children(|xml| {
                let names = ["kg", "m", "s", "A", "K", "mol", "cd", "rad"];
                let mut base = xml.open("BaseUnit");
                for (name, exponent) in names.into_iter().zip(si.dimensions).filter(|(_, e)| *e != 0) {
                    base = base.text(name, &exponent.to_string());
                }
                if si.factor != 1.0 {
                    base = base.number("factor", si.factor);
                }
                if si.offset != 0.0 {
                    base = base.number("offset", si.offset);
                }
                base.close();
            });
        }
    });
}

/// What a parameter is for; a choice with its words, since a string has no list of them.
fn about(parameter: &ParameterSpec) -> String {
    match parameter.domain {
        Domain::Choice(words) => format!("{} (one of: {})", parameter.description, words.join(", ")),
        _ => parameter.description.to_owned(),
    }
}

/// Bounds of a number; `None` where there is none. Bounds are inclusive, so that "above 0" is 0 here and the rest is
/// checked when the parameter is set.
fn bounds(min: f64, max: f64) -> (Option<f64>, Option<f64>) {
    let min = if min == f64::MIN_POSITIVE { 0.0 } else { min };
    ((min > f64::MIN).then_some(min), (max < f64::MAX).then_some(max))
}

/// The default experiment: a second in steps of a millisecond.
fn write_experiment(xml: &mut Xml) {
    xml.open("DefaultExperiment")
        .text("startTime", "0")
        .text("stopTime", "1")
        .text("stepSize", "0.001")
        .close();
}

fn write_categories(xml: &mut Xml) {
    xml.open("LogCategories").children(|xml| {
        xml.open("Category").text("name", "logStatusError").text("description", "Errors").close();
    });
}
