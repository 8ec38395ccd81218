//! The frame of `modelDescription.xml`: versions, interfaces, experiment, and the order in which parts are read.

use super::xml::{self, Notes, child, elements};
use super::{
    Causality, CoSimulation, DefaultExperiment, ModelDescription, Variable, Version, structure, types,
    variables,
};
use crate::error::{DescriptionError, DescriptionProblem};
use roxmltree::Node;
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

const FILE: &str = "modelDescription.xml";

/// Reads `modelDescription.xml`.
pub fn model_description(bytes: &[u8]) -> Result<ModelDescription, DescriptionError> {
    let text = xml::decode(FILE, bytes)?;
    let document = xml::parse(FILE, &text)?;
    let mut notes = Notes::new(FILE, &text);
    let notes_ref = &mut notes;
    let root = document.root_element();
    if root.tag_name().name() != "fmiModelDescription" {
        let found = root.tag_name().name().to_owned();
        return Err(notes.error(root, DescriptionProblem::Root { found, expected: "fmiModelDescription" }));
    }
    let fmi_version = notes_ref.required(root, "fmiVersion")?;
    let version = match fmi_version.trim().split('.').next() {
        Some("1") => Version::Fmi1,
        Some("2") => Version::Fmi2,
        Some("3") => Version::Fmi3,
        _ => {
            let version = fmi_version.to_owned();
            return Err(notes.error(root, DescriptionProblem::Version { version }));
        }
    };
    if !matches!(fmi_version.trim(), "1.0" | "2.0" | "3.0") {
        let known =
            if fmi_version.contains('-') { "a draft of the standard" } else { "no version of the standard" };
        notes_ref.note(root, || format!("`fmiVersion` is `{fmi_version}`, {known}; read as {version}"));
    }
    if root.attribute("modelName").is_none_or(str::is_empty) {
        notes_ref.note(root, || "missing `modelName`".to_owned());
    }
    let token = if version == Version::Fmi3 { "instantiationToken" } else { "guid" };
    let token = notes_ref.required(root, token)?.to_owned();
    header(root, notes_ref)?;
    let interfaces = Interfaces::read(root, version, notes_ref)?;
    let mut units = types::Units::read(root, notes_ref);
    let types = types::read(root, &mut units, notes_ref);
    let variables = match child(root, "ModelVariables") {
        Some(list) => {
            variables::read(list, &mut variables::Context::new(version, &mut units, &types), notes_ref)?
        }
        None if version == Version::Fmi1 => {
            variables::Variables { list: Vec::new(), index_of_element: Vec::new() }
        }
        None => return Err(notes.error(root, DescriptionProblem::NoElement { element: "ModelVariables" })),
    };
    let outputs = structure::read(root, version, &variables, notes_ref)?;
    let list = child(root, "ModelVariables").unwrap_or(root);
    let by_name = by_name(&variables, list, version, notes_ref)?;
    let attribute = |name: &str| root.attribute(name).unwrap_or("").to_owned();
    let log_categories = child(root, "LogCategories").into_iter().flat_map(elements);
    let mut description = ModelDescription {
        version,
        fmi_version: fmi_version.to_owned(),
        model_name: attribute("modelName"),
        token,
        description: attribute("description"),
        author: attribute("author"),
        model_version: attribute("version"),
        copyright: attribute("copyright"),
        license: attribute("license"),
        generation_tool: attribute("generationTool"),
        generation_time: attribute("generationDateAndTime"),
        co_simulation: interfaces.co_simulation,
        has_model_exchange: interfaces.model_exchange,
        has_scheduled_execution: interfaces.scheduled_execution,
        units: units.list,
        types,
        log_categories: log_categories.filter_map(|n| n.attribute("name")).map(str::to_owned).collect(),
        default_experiment: child(root, "DefaultExperiment").map_or_else(
            DefaultExperiment::default,
            |node| {
                let mut real = |name: &str, fits: fn(f64) -> bool| {
                    let x = node.attribute(name).and_then(|text| notes.real(node, name, text))?;
                    if !fits(x) {
                        notes.note(node, || format!("`{name}` is {x}, which is invalid; ignored"));
                    }
                    fits(x).then_some(x)
                };
                let positive = |x: f64| x > 0.0 && x.is_finite();
                DefaultExperiment {
                    start: real("startTime", f64::is_finite),
                    stop: real("stopTime", f64::is_finite),
                    tolerance: real("tolerance", positive),
                    step_size: real("stepSize", positive),
                }
            },
        ),
        variables: variables.list,
        outputs,
        terminals: Vec::new(),
        findings: Vec::new(),
        more_findings: 0,
        by_name,
    };
    (description.findings, description.more_findings) = notes.finish();
    Ok(description)
}

fn header(root: Node<'_, '_>, notes: &mut Notes<'_>) -> Result<(), DescriptionError> {
    for attribute in root.attributes() {
        match attribute.name() {
            "fmiVersion"
            | "modelName"
            | "modelIdentifier"
            | "guid"
            | "instantiationToken"
            | "description"
            | "author"
            | "version"
            | "copyright"
            | "license"
            | "generationTool"
            | "generationDateAndTime"
            | "variableNamingConvention"
            | "numberOfEventIndicators"
            | "numberOfContinuousStates" => {}
            _ => notes.unknown_attribute(root, &attribute),
        }
    }
    let mut known: BTreeMap<&str, Node<'_, '_>> = BTreeMap::new();
    for element in elements(root) {
        let name = element.tag_name().name();
        match name {
            "ModelExchange" | "CoSimulation" | "ScheduledExecution" | "Implementation"
            | "UnitDefinitions" | "TypeDefinitions" | "LogCategories" | "DefaultExperiment"
            | "VendorAnnotations" | "Annotations" | "ModelVariables" | "ModelStructure" => {
                // Only the first one would be read.
                if let Some(first) = known.insert(name, element) {
                    let first = notes.line(first);
                    let problem = DescriptionProblem::Twice { element: name.to_owned(), first };
                    return Err(notes.error(element, problem));
                }
            }
            _ => notes.unknown_element(element),
        }
    }
    Ok(())
}

/// Which interfaces an FMU has.
struct Interfaces {
    co_simulation: Option<CoSimulation>,
    model_exchange: bool,
    scheduled_execution: bool,
}

impl Interfaces {
    fn read(root: Node<'_, '_>, version: Version, notes: &mut Notes<'_>) -> Result<Self, DescriptionError> {
        // FMI 1: one library name for the model; co-simulation is an `Implementation` with capabilities inside.
        let node = match version {
            Version::Fmi1 => child(root, "Implementation")
                .and_then(|n| elements(n).find(|n| n.tag_name().name().starts_with("CoSimulation"))),
            _ => child(root, "CoSimulation"),
        };
        let mut co_simulation = None;
        if let Some(node) = node {
            let named = if version == Version::Fmi1 { root } else { node };
            let identifier = notes.required(named, "modelIdentifier")?;
            check_identifier(identifier, named, notes)?;
            let mut interface =
                CoSimulation { model_identifier: identifier.to_owned(), ..CoSimulation::default() };
            let capabilities =
                if version == Version::Fmi1 { child(node, "Capabilities") } else { Some(node) };
            if let Some(node) = capabilities {
                read_capabilities(node, &mut interface, notes);
            }
            // FMI 1.0 for co-simulation, section 4.3: such a library only talks to the tool.
            interface.needs_execution_tool |= node.tag_name().name() == "CoSimulation_Tool";
            interface.max_input_derivative_order = annotated_order(root);
            co_simulation = Some(interface);
        }
        let model_exchange = match version {
            Version::Fmi1 => co_simulation.is_none(),
            _ => child(root, "ModelExchange").is_some(),
        };
        let scheduled_execution = child(root, "ScheduledExecution").is_some();
        Ok(Interfaces { co_simulation, model_exchange, scheduled_execution })
    }
}

/// `<Tool name="powerbond"><InputDerivatives maxOrder="2"/></Tool>` among the vendor annotations.
fn annotated_order(root: Node<'_, '_>) -> Option<u8> {
    let mut tools = elements(child(root, "VendorAnnotations")?);
    let tool = tools.find(|tool| tool.attribute("name") == Some("powerbond"))?;
    child(tool, "InputDerivatives")?.attribute("maxOrder")?.trim().parse().ok()
}

fn read_capabilities(node: Node<'_, '_>, interface: &mut CoSimulation, notes: &mut Notes<'_>) {
    for attribute in node.attributes() {
        let (name, text) = (attribute.name(), attribute.value());
        if attribute.namespace().is_some() {
            continue;
        }
        let flag = match name {
            "needsExecutionTool" => &mut interface.needs_execution_tool,
            "canHandleVariableCommunicationStepSize" => &mut interface.can_handle_variable_step_size,
            "canInterpolateInputs" => &mut interface.can_interpolate_inputs,
            "canRunAsynchronuously" | "canRunAsynchronously" => &mut interface.can_run_asynchronously,
            "canBeInstantiatedOnlyOncePerProcess" => &mut interface.only_once_per_process,
            "canGetAndSetFMUstate" | "canGetAndSetFMUState" => &mut interface.can_get_and_set_state,
            "canSerializeFMUstate" | "canSerializeFMUState" => &mut interface.can_serialize_state,
            "providesDirectionalDerivative" | "providesDirectionalDerivatives" => {
                &mut interface.provides_directional_derivatives
            }
            "providesIntermediateUpdate" => &mut interface.provides_intermediate_update,
            "mightReturnEarlyFromDoStep" => &mut interface.might_return_early,
            "hasEventMode" => &mut interface.has_event_mode,
            "fixedInternalStepSize" => {
                interface.fixed_internal_step_size = notes.real(node, name, text).filter(|h| *h > 0.0);
                continue;
            }
            "maxOutputDerivativeOrder" => {
                interface.max_output_derivative_order = notes.real(node, name, text).unwrap_or(0.0) as u32;
                continue;
            }
            "modelIdentifier"
            | "canNotUseMemoryManagementFunctions"
            | "providesAdjointDerivatives"
            | "providesPerElementDependencies"
            | "recommendedIntermediateInputSmoothness"
            | "canReturnEarlyAfterIntermediateUpdate"
            | "providesEvaluateDiscreteStates"
            | "canHandleEvents"
            | "canRejectSteps"
            | "canSignalEvents" => continue,
            _ => {
                notes.unknown_attribute(node, &attribute);
                continue;
            }
        };
        *flag = notes.boolean(node, name, text);
    }
}

/// The identifier becomes a file name: anything that could leave its folder is refused.
fn check_identifier(
    identifier: &str,
    node: Node<'_, '_>,
    notes: &mut Notes<'_>,
) -> Result<(), DescriptionError> {
    let bad = identifier.is_empty()
        || identifier.len() > 200
        || identifier.starts_with('.')
        || identifier.contains(|c: char| c.is_control() || "/\\:*?\"<>|$`;&".contains(c));
    if bad {
        let identifier = identifier.to_owned();
        return Err(notes.error(node, DescriptionProblem::Identifier { identifier }));
    }
    let is_c_name = identifier.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !identifier.starts_with(|c: char| c.is_ascii_digit());
    if !is_c_name {
        notes.note(node, || format!("modelIdentifier `{identifier}` is not a valid C identifier"));
    }
    Ok(())
}

/// The same in every run.
pub fn hash(name: &str) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    name.hash(&mut hasher);
    hasher.finish()
}

/// The places of names. Two variables of one name are refused where it would matter which one is meant: of local variables, and of
/// two that are one variable, the first is the one that is found.
fn by_name(
    variables: &variables::Variables,
    list: Node<'_, '_>,
    version: Version,
    notes: &mut Notes<'_>,
) -> Result<Vec<(u64, u32)>, DescriptionError> {
    let variable = |v: u32| &variables.list[v as usize];
    let name = |v: u32| &*variable(v).name;
    let mut order: Vec<(u64, u32)> = (0..variables.list.len() as u32).map(|v| (hash(name(v)), v)).collect();
    order.sort_unstable();
    let same = |pair: &&[(u64, u32)]| pair[0].0 == pair[1].0 && name(pair[0].1) == name(pair[1].1);
    let mut nodes = None;
    for pair in order.windows(2).filter(same) {
        let nodes = nodes.get_or_insert_with(|| variables::nodes(list, version));
        // Aliases follow their variable.
        let node = |v: u32| nodes.get(variables.index_of_element.partition_point(|&i| i <= v) - 1);
        let (first, second) =
            (node(pair[0].1).copied().unwrap_or(list), node(pair[1].1).copied().unwrap_or(list));
        let (one, other) = (variable(pair[0].1), variable(pair[1].1));
        let role = |v: &Variable| (v.kind, v.reference, v.causality);
        let is_local = [one, other].iter().all(|v| v.causality == Causality::Local);
        if role(one) != role(other) && !is_local {
            let problem = DescriptionProblem::SameName {
                name: one.name.to_string(),
                first: notes.line(first),
                one: one.causality.noun(),
                other: other.causality.noun(),
            };
            return Err(notes.error(second, problem));
        }
        notes.doubt(second, || format!("duplicate variable name `{}`; the first one is used", one.name));
    }
    Ok(order)
}
