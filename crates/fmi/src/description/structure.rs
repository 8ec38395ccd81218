//! What outputs depend on: `ModelStructure` of FMI 2 and 3, `DirectDependency` of FMI 1.

use super::variables::Variables;
use super::xml::{Notes, child, elements};
use super::{Causality, Kind, ModelDescription, Variability, Version};
use crate::error::{DescriptionError, DescriptionProblem};
use powerbond_core::subsystem::FeedThrough;
use roxmltree::Node;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// An output and the variables that it depends on at the same instant.
#[derive(Clone, Debug, PartialEq)]
pub struct Unknown {
    /// Index of the output.
    pub variable: u32,
    /// Indices of variables, inputs among them; `None` where the file does not say.
    pub dependencies: Option<Vec<u32>>,
}

/// Reads the outputs of `ModelStructure`.
pub fn read(
    root: Node<'_, '_>,
    version: Version,
    variables: &Variables,
    notes: &mut Notes<'_>,
) -> Result<Vec<Unknown>, DescriptionError> {
    let Some(structure) = child(root, "ModelStructure") else {
        if version != Version::Fmi1 {
            notes.note(root, || "missing `ModelStructure`".to_owned());
        }
        return match version {
            Version::Fmi1 => read_direct(root, variables, notes),
            _ => Ok(Vec::new()),
        };
    };
    let unknowns = read_outputs(structure, version, variables, notes)?;
    // Another name of a listed output is listed, too.
    let key = |v: u32| (variables.list[v as usize].kind, variables.list[v as usize].reference);
    let listed: BTreeSet<(Kind, u32)> = unknowns.iter().map(|unknown| key(unknown.variable)).collect();
    for &v in &variables.index_of_element {
        let variable = &variables.list[v as usize];
        if variable.causality == Causality::Output && !listed.contains(&key(v)) {
            notes
                .note(structure, || format!("the output `{}` is missing in `ModelStructure`", variable.name));
        }
    }
    Ok(unknowns)
}

fn read_outputs(
    structure: Node<'_, '_>,
    version: Version,
    variables: &Variables,
    notes: &mut Notes<'_>,
) -> Result<Vec<Unknown>, DescriptionError> {
    if version == Version::Fmi3 {
        let first = |v: &u32| variables.list[*v as usize].reference;
        let by_reference: HashMap<u32, u32> =
            variables.index_of_element.iter().map(|v| (first(v), *v)).collect();
        let find = |node: Node<'_, '_>, reference: u64, notes: &Notes<'_>| {
            let index = u32::try_from(reference).ok().and_then(|r| by_reference.get(&r)).copied();
            let element = node.tag_name().name().to_owned();
            index.ok_or_else(|| notes.error(node, DescriptionProblem::NoReference { element, reference }))
        };
        let outputs = elements(structure).filter(|n| n.tag_name().name() == "Output");
        read_unknowns(outputs, "valueReference", find, notes)
    } else {
        let count = variables.index_of_element.len();
        let find = |node: Node<'_, '_>, index: u64, notes: &Notes<'_>| {
            let place = usize::try_from(index).ok().and_then(|i| i.checked_sub(1));
            let found = place.and_then(|i| variables.index_of_element.get(i)).copied();
            let element = node.tag_name().name().to_owned();
            found.ok_or_else(|| notes.error(node, DescriptionProblem::Index { element, index, count }))
        };
        let lists = ["Outputs", "Derivatives", "InitialUnknowns"].map(|name| child(structure, name));
        // The other lists are not used, but an index out of range shows that the file is broken.
        for list in lists.iter().skip(1).flatten() {
            read_unknowns(elements(*list), "index", find, notes)?;
        }
        read_unknowns(lists[0].into_iter().flat_map(elements), "index", find, notes)
    }
}

fn read_unknowns<'a, 'i: 'a>(
    nodes: impl Iterator<Item = Node<'a, 'i>>,
    attribute: &'static str,
    find: impl Fn(Node<'_, '_>, u64, &Notes<'_>) -> Result<u32, DescriptionError>,
    notes: &mut Notes<'_>,
) -> Result<Vec<Unknown>, DescriptionError> {
    let mut unknowns = Vec::new();
    for node in nodes {
        let number = |text: &str| {
            let value = || DescriptionProblem::Reference { value: text.to_owned() };
            text.parse::<u64>().map_err(|_| notes.error(node, value()))
        };
        let variable = find(node, number(notes.required(node, attribute)?.trim())?, notes)?;
        let dependencies = match node.attribute("dependencies") {
            Some(text) => {
                Some(text.split_whitespace().map(|item| find(node, number(item)?, notes)).collect::<Result<
                    Vec<u32>,
                    _,
                >>(
                )?)
            }
            None => None,
        };
        unknowns.push(Unknown { variable, dependencies });
    }
    Ok(unknowns)
}

/// FMI 1: every output lists the inputs that it depends on by name.
fn read_direct(
    root: Node<'_, '_>,
    variables: &Variables,
    notes: &mut Notes<'_>,
) -> Result<Vec<Unknown>, DescriptionError> {
    let names: HashMap<&str, u32> =
        variables.list.iter().enumerate().map(|(i, v)| (&*v.name, i as u32)).collect();
    let nodes = child(root, "ModelVariables").into_iter().flat_map(elements);
    let mut unknowns = Vec::new();
    for (node, &variable) in nodes.zip(&variables.index_of_element) {
        if variables.list[variable as usize].causality != Causality::Output {
            continue;
        }
        let mut dependencies = child(node, "DirectDependency").map(|_| Vec::new());
        for name in child(node, "DirectDependency").into_iter().flat_map(elements) {
            match name.text().and_then(|text| names.get(text.trim())) {
                Some(&input) => dependencies.get_or_insert_default().push(input),
                None => notes.note(name, || "a dependency on an unknown variable".to_owned()),
            }
        }
        unknowns.push(Unknown { variable, dependencies });
    }
    Ok(unknowns)
}

impl ModelDescription {
    /// Pairs `(output, input)` of variable indices with direct feed-through; unknown as soon as one output that can
    /// be connected does not say what it depends on.
    pub fn feed_through(&self) -> FeedThrough {
        self.feed_through_with(&[])
    }

    /// Likewise with other variables that are exchanged like outputs, by index and increasing. The standards let outputs say what they
    /// depend on, and no others: what stays as it is during a step follows no input, and another name of an output what that one does.
    pub(crate) fn feed_through_with(&self, outputs: &[u32]) -> FeedThrough {
        let is_extra = |v: usize| outputs.binary_search(&(v as u32)).is_ok();
        let connectable = |v: usize, causality| {
            let is_one = causality == Causality::Output && is_extra(v);
            (is_one || self.variables[v].causality == causality) && self.variables[v].kind.is_numeric()
        };
        let stays = |v: usize| {
            let variable = &self.variables[v];
            let is_fixed = !matches!(variable.variability, Variability::Discrete | Variability::Continuous);
            is_extra(v) && (is_fixed || variable.causality == Causality::Independent)
        };
        let all = || 0..self.variables.len();
        if !all().any(|v| connectable(v, Causality::Input)) {
            return FeedThrough::Declared(Vec::new());
        }
        let mut known: Vec<bool> = all().map(stays).collect();
        let mut pairs = Vec::new();
        for unknown in &self.outputs {
            let output = unknown.variable as usize;
            let Some(dependencies) = &unknown.dependencies else { continue };
            known[output] = true;
            let inputs =
                dependencies.iter().map(|&d| d as usize).filter(|&d| connectable(d, Causality::Input));
            pairs.extend(inputs.map(|input| (output, input)));
        }
        // FMI 1 and 2 have no element for other names: two variables have one reference.
        if self.version != Version::Fmi3 {
            let key = |v: usize| (self.variables[v].kind, self.variables[v].reference);
            let listed: BTreeMap<(Kind, u32), usize> =
                all().filter(|&v| known[v]).map(|v| (key(v), v)).collect();
            let others = all().filter(|&v| !known[v] && connectable(v, Causality::Output));
            let others: Vec<(usize, usize)> =
                others.filter_map(|v| Some((v, *listed.get(&key(v))?))).collect();
            pairs.sort_unstable();
            let mut more = Vec::new();
            for &(v, of) in &others {
                known[v] = true;
                let first = pairs.partition_point(|&(output, _)| output < of);
                more.extend(pairs[first..].iter().take_while(|p| p.0 == of).map(|p| (v, p.1)));
            }
            pairs.extend(more);
        }
        let is_known = |v: usize| known[self.variables[v].alias_of.map_or(v, |of| of as usize)];
        if all().filter(|&v| connectable(v, Causality::Output)).all(is_known) {
            FeedThrough::Declared(pairs)
        } else {
            FeedThrough::Unknown
        }
    }
}
