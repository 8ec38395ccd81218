//! `modelDescription.xml` of FMI 3.0.

use super::xml::{Element, Xml};
use super::{
    FmiVersion, TOOL, bounds, choice_type, choices, model_identifier, write_categories, write_experiment,
    write_units,
};
use crate::interface::Interface;
use powerbond_core::models::{Domain, ParameterSpec};
use powerbond_core::subsystem::{Causality, Variable};

pub fn describe(interface: &Interface) -> String {
    let mut xml = Xml::new();
    let root = xml
        .open("fmiModelDescription")
        .text("fmiVersion", "3.0")
        .text("modelName", interface.spec.name)
        .text("instantiationToken", &interface.token())
        .text("description", interface.spec.description)
        .text("generationTool", TOOL)
        .text("variableNamingConvention", "flat");
    root.children(|xml| {
        xml.open("CoSimulation")
            .text("modelIdentifier", &model_identifier(interface))
            .flag("canHandleVariableCommunicationStepSize", true)
            .text("maxOutputDerivativeOrder", "0")
            .flag("canGetAndSetFMUState", interface.has_state)
            .flag("canSerializeFMUState", interface.has_state)
            .flag("providesDirectionalDerivatives", interface.has_derivatives())
            .flag("hasEventMode", false)
            .close();
        write_units(xml, interface, FmiVersion::Fmi3);
        if choices(interface).next().is_some() {
            xml.open("TypeDefinitions").children(|xml| {
                for (name, words) in choices(interface) {
                    xml.open("EnumerationType").text("name", &name).children(|xml| {
                        for (word, place) in words.iter().zip(1..) {
                            xml.open("Item")
                                .text("name", word)
                                .text("value", &i64::to_string(&place))
                                .close();
                        }
                    });
                }
            });
        }
        write_categories(xml);
        write_experiment(xml);
        xml.open("ModelVariables").children(|xml| {
            head(xml.open("Float64"), "time", 0, "Time")
                .text("causality", "independent")
                .text("variability", "continuous")
                .text("unit", "s")
                .close();
            for (v, variable) in interface.info.variables.iter().enumerate() {
                float(xml, variable, interface.reference(v));
            }
            for (k, parameter) in interface.parameters().iter().enumerate() {
                write_parameter(xml, parameter, interface.parameter_reference(k), interface.start[k]);
            }
        });
        structure(xml, interface);
    });
    xml.finish()
}

fn head<'a>(element: Element<'a>, name: &str, reference: u32, description: &str) -> Element<'a> {
    element.text("name", name).text("valueReference", &reference.to_string()).text("description", description)
}

fn float(xml: &mut Xml, variable: &Variable, reference: u32) {
    let mut element = head(xml.open("Float64"), &variable.name, reference, &variable.description);
    element = match variable.causality {
        Causality::Input => element.text("causality", "input"),
        Causality::Output => element.text("causality", "output"),
        Causality::Local => element.text("causality", "local"),
    };
    element = element.text("variability", "continuous");
    if variable.causality != Causality::Input {
        element = element.text("initial", "calculated");
    }
    if let Some(unit) = variable.unit.as_ref().filter(|u| !u.symbol.is_empty()) {
        element = element.text("unit", &unit.symbol);
    }
    element = element.optional("nominal", (variable.nominal != 1.0).then_some(variable.nominal));
    element.optional("start", (variable.causality == Causality::Input).then_some(variable.start)).close();
}

fn write_parameter(xml: &mut Xml, parameter: &ParameterSpec, reference: u32, start: f64) {
    let open = |xml: &mut Xml, kind: &'static str, rest: &dyn Fn(Element<'_>)| {
        let element = head(xml.open(kind), parameter.name, reference, parameter.description);
        let element = element.text("causality", "parameter").text("variability", "fixed");
        rest(element.text("initial", "exact"));
    };
    match parameter.domain {
        Domain::Number { min, max, .. } => open(xml, "Float64", &|mut element| {
            let (min, max) = bounds(min, max);
            if !parameter.unit.is_empty() {
                element = element.text("unit", parameter.unit);
            }
            element.optional("min", min).optional("max", max).number("start", start).close();
        }),
        Domain::Count { min, max, .. } => open(xml, "Int32", &|element| {
            element
                .text("min", &min.to_string())
                .text("max", &max.min(i32::MAX as u32).to_string())
                .text("start", &(start as i64).to_string())
                .close();
        }),
        Domain::Choice(_) => open(xml, "Enumeration", &|element| {
            element
                .text("declaredType", &choice_type(parameter.name))
                .text("start", &(start as i64).to_string())
                .close();
        }),
    }
}

fn structure(xml: &mut Xml, interface: &Interface) {
    let outputs = || interface.binding.outputs.iter().enumerate();
    xml.open("ModelStructure").children(|xml| {
        let fed = |k: usize| interface.inputs_of(k).map(|i| interface.reference(interface.binding.inputs[i]));
        let parameters = || (0..interface.parameters().len()).map(|k| interface.parameter_reference(k));
        for (k, &v) in outputs() {
            let reference = interface.reference(v).to_string();
            xml.open("Output").text("valueReference", &reference).list("dependencies", fed(k)).close();
        }
        for (k, &v) in outputs() {
            let reference = interface.reference(v).to_string();
            let known = fed(k).chain(parameters());
            xml.open("InitialUnknown").text("valueReference", &reference).list("dependencies", known).close();
        }
    });
}
