//! `modelDescription.xml` of FMI 2.0.

use super::xml::{Element, Xml};
use super::{
    FmiVersion, TOOL, about, bounds, model_identifier, write_categories, write_experiment, write_units,
};
use crate::interface::Interface;
use powerbond_core::subsystem::{Causality, Variable};
use powerbond_models::Domain;

pub fn describe(interface: &Interface) -> String {
    let mut xml = Xml::new();
    let root = xml
        .open("fmiModelDescription")
        .text("fmiVersion", "2.0")
        .text("modelName", interface.spec.name)
        .text("guid", &interface.token())
        .text("description", interface.spec.description)
        .text("generationTool", TOOL)
        .text("variableNamingConvention", "flat")
        .text("numberOfEventIndicators", "0");
    root.children(|xml| {
        xml.open("CoSimulation")
            .text("modelIdentifier", &model_identifier(interface))
            .flag("canHandleVariableCommunicationStepSize", true)
            .flag("canInterpolateInputs", interface.info.capabilities.input_derivatives > 0)
            .text("maxOutputDerivativeOrder", "0")
            .flag("canNotUseMemoryManagementFunctions", true)
            .flag("canGetAndSetFMUstate", interface.has_state)
            .flag("canSerializeFMUstate", interface.has_state)
            .flag("providesDirectionalDerivative", interface.has_derivatives())
            .close();
        write_units(xml, interface, FmiVersion::Fmi2);
        write_categories(xml);
        write_experiment(xml);
        write_order(xml, interface);
        xml.open("ModelVariables").children(|xml| {
            for (v, variable) in interface.info.variables.iter().enumerate() {
                head(xml, &variable.name, interface.reference(v), &variable.description, variable.causality)
                    .children(|xml| real(xml, variable));
            }
            for (k, parameter) in interface.parameters().iter().enumerate() {
                xml.open("ScalarVariable")
                    .text("name", parameter.name)
                    .text("valueReference", &interface.parameter_reference(k).to_string())
                    .text("description", &about(parameter))
                    .text("causality", "parameter")
                    .text("variability", "fixed")
                    .text("initial", "exact")
                    .children(|xml| parameter_type(xml, interface, k));
            }
        });
        structure(xml, interface);
    });
    xml.finish()
}

/// FMI 2 cannot tell how many derivatives of inputs an FMU follows: an annotation does, for importers that know it.
fn write_order(xml: &mut Xml, interface: &Interface) {
    let order = interface.info.capabilities.input_derivatives;
    if order > 0 {
        xml.open("VendorAnnotations").children(|xml| {
            xml.open("Tool").text("name", "powerbond").children(|xml| {
                xml.open("InputDerivatives").text("maxOrder", &order.to_string()).close();
            });
        });
    }
}

fn head<'a>(
    xml: &'a mut Xml,
    name: &str,
    reference: u32,
    description: &str,
    causality: Causality,
) -> Element<'a> {
    let element = xml
        .open("ScalarVariable")
        .text("name", name)
        .text("valueReference", &reference.to_string())
        .text("description", description);
    let element = match causality {
        Causality::Input => element.text("causality", "input"),
        Causality::Output => element.text("causality", "output"),
        Causality::Local => element.text("causality", "local"),
    };
    let element = element.text("variability", "continuous");
    if causality == Causality::Input { element } else { element.text("initial", "calculated") }
}

fn real(xml: &mut Xml, variable: &Variable) {
    let mut element = xml.open("Real");
    if let Some(unit) = variable.unit.as_ref().filter(|u| !u.symbol.is_empty()) {
        element = element.text("unit", &unit.symbol);
    }
    element = element.optional("nominal", (variable.nominal != 1.0).then_some(variable.nominal));
    element.optional("start", (variable.causality == Causality::Input).then_some(variable.start)).close();
}

fn parameter_type(xml: &mut Xml, interface: &Interface, k: usize) {
    let (parameter, start) = (&interface.parameters()[k], interface.start[k]);
    match parameter.domain {
        Domain::Number { min, max, .. } => {
            let (min, max) = bounds(min, max);
            let mut element = xml.open("Real");
            if !parameter.unit.is_empty() {
                element = element.text("unit", parameter.unit);
            }
            element.optional("min", min).optional("max", max).number("start", start).close();
        }
        Domain::Count { min, max, .. } => xml
            .open("Integer")
            .text("min", &min.to_string())
            .text("max", &max.min(i32::MAX as u32).to_string())
            .text("start", &(start as i64).to_string())
            .close(),
        Domain::Choice(_) => xml.open("String").text("start", interface.word(k, start)).close(),
    }
}

/// Indices count variables from 1, in the order of their list: that is their value reference.
fn structure(xml: &mut Xml, interface: &Interface) {
    let outputs = || interface.binding.outputs.iter().enumerate();
    xml.open("ModelStructure").children(|xml| {
        if interface.binding.outputs.is_empty() {
            return;
        }
        let fed = |k: usize| interface.inputs_of(k).map(|i| interface.reference(interface.binding.inputs[i]));
        let parameters = || (0..interface.parameters().len()).map(|k| interface.parameter_reference(k));
        xml.open("Outputs").children(|xml| {
            for (k, &v) in outputs() {
                let index = interface.reference(v).to_string();
                xml.open("Unknown").text("index", &index).list("dependencies", fed(k)).close();
            }
        });
        xml.open("InitialUnknowns").children(|xml| {
            for (k, &v) in outputs() {
                let index = interface.reference(v).to_string();
                let known = fed(k).chain(parameters());
                xml.open("Unknown").text("index", &index).list("dependencies", known).close();
            }
        });
    });
}
