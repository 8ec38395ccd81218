//! `modelDescription.xml` of FMI 3.0.

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
            .flag("providesIntermediateUpdate", takes_derivatives(interface))
            .flag("providesDirectionalDerivatives", interface.has_derivatives())
            .flag("hasEventMode", false)
            .close();
        write_units(xml, interface, FmiVersion::Fmi3);
        write_categories(xml);
        write_experiment(xml);
        xml.open("ModelVariables").children(|xml| {
            head(xml.open("Float64"), "time", 0, "Time")
                .text("causality", "independent")
                .text("variability", "continuous")
                .text("unit", "s")
                .close();
            for (v, variable) in interface.info.variables.iter().enumerate() {
                float(xml, variable, interface.reference(v), takes_derivatives(interface));
            }
            for k in 0..interface.parameters().len() {
                write_parameter(xml, interface, k);
            }
        });
        structure(xml, interface);
    });
    xml.finish()
}

fn head<'a>(element: Element<'a>, name: &str, reference: u32, description: &str) -> Element<'a> {
    element.text("name", name).text("valueReference", &reference.to_string()).text("description", description)
}

/// Whether the model follows inputs that change inside a step.
fn takes_derivatives(interface: &Interface) -> bool {
    interface.info.capabilities.input_derivatives > 0
}

fn float(xml: &mut Xml, variable: &Variable, reference: u32, asks: bool) {
    let mut element = head(xml.open("Float64"), &variable.name, reference, &variable.description);
    element = match variable.causality {
        Causality::Input => element.text("causality", "input"),
        Causality::Output => element.text("causality", "output"),
        Causality::Local => element.text("causality", "local"),
    };
    element = element.text("variability", "continuous");
    if asks && variable.causality == Causality::Input {
        element = element.text("intermediateUpdate", "true");
    }
    if variable.causality != Causality::Input {
        element = element.text("initial", "calculated");
    }
    if let Some(unit) = variable.unit.as_ref().filter(|u| !u.symbol.is_empty()) {
        element = element.text("unit", &unit.symbol);
    }
    element = element.optional("nominal", (variable.nominal != 1.0).then_some(variable.nominal));
    element.optional("start", (variable.causality == Causality::Input).then_some(variable.start)).close();
}

fn write_parameter(xml: &mut Xml, interface: &Interface, k: usize) {
    let (parameter, start) = (&interface.parameters()[k], interface.start[k]);
    let open = |xml: &mut Xml, kind: &'static str, rest: &dyn Fn(Element<'_>)| {
        let element =
            head(xml.open(kind), parameter.name, interface.parameter_reference(k), &about(parameter));
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
        Domain::Choice(_) => open(xml, "String", &|element| {
            element.children(|xml| xml.open("Start").text("value", interface.word(k, start)).close());
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
