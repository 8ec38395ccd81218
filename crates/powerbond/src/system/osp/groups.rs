//! `…_OspModelDescription.xml`: which variables of a model belong together.

use crate::Error;
use crate::error::Collector;
use crate::source::At;
use crate::source::xml::{Node, Reader, Text, elements, list, name};
use powerbond_core::suggest::hint;
use std::path::{Path, PathBuf};

/// The end of the name of the file; before it stands the name of the model.
const SUFFIX: &str = "_OspModelDescription.xml";

/// A group of anything.
const GENERIC: &str = "Generic";

/// A group of variables, possibly with groups inside.
#[derive(Clone, Debug)]
pub struct Group {
    /// Its name.
    pub name: At<String>,
    /// What it is, such as `Force`.
    pub kind: String,
    /// Names of variables.
    pub variables: Vec<String>,
    /// In the order of the file.
    pub groups: Vec<Group>,
}

/// The file that describes the groups of a model: beside its FMU, else beside the structure.
pub fn file(model: &str, fmu: &Path, structure: &Path) -> Option<PathBuf> {
    let name = format!("{model}{SUFFIX}");
    let beside = fmu.parent().map(|folder| folder.join(&name));
    beside.into_iter().chain([structure.join(&name)]).find(|path| path.is_file())
}

/// The name that is looked for.
pub fn file_name(model: &str) -> String {
    format!("{model}{SUFFIX}")
}

/// Reads the groups of a file.
pub fn read(path: &Path, notes: &mut Vec<String>) -> Result<Vec<Group>, Error> {
    let text = Text::read(path, path)?;
    notes.extend(text.notes.iter().cloned());
    let document = text.parse()?;
    let (reader, root) = (text.reader(), document.root_element());
    reader.expect(root, "OspModelDescription")?;
    groups(reader, list(root, "VariableGroups"))
}

/// Nesting is limited where the tree is read, so recursion is safe.
fn groups<'n, 'i: 'n>(
    reader: Reader<'_>,
    nodes: impl Iterator<Item = Node<'n, 'i>>,
) -> Result<Vec<Group>, Error> {
    let mut problems = Collector::new();
    let mut found: Vec<Group> = Vec::new();
    for node in nodes {
        let Some(group) = problems.keep(group(reader, node)) else { continue };
        if found.iter().any(|other| other.name.value == group.name.value) {
            problems.keep::<()>(reader.fail(node, format!("two groups are called `{}`", group.name.value)));
            continue;
        }
        found.push(group);
    }
    problems.finish(found)
}

fn group(reader: Reader<'_>, node: Node<'_, '_>) -> Result<Group, Error> {
    let mut problems = Collector::new();
    let own = problems.keep(reader.text(node, "name"));
    let (variables, inner): (Vec<_>, Vec<_>) = elements(node).partition(|n| name(*n) == "Variable");
    let names = variables.into_iter().filter_map(|n| problems.keep(reader.attribute(n, "ref")));
    let variables = names.map(str::to_owned).collect();
    let inner = problems.keep(groups(reader, inner.into_iter()));
    let parts = own.zip(inner);
    let kind = name(node).to_owned();
    problems.finish_some(parts.map(|(own, groups)| Group { name: own, kind, variables, groups }))
}

/// What variables measure by the groups that they are in.
pub fn quantities<'a>(groups: &'a [Group], found: &mut Vec<(&'a str, &'a str)>) {
    for group in groups {
        if group.kind != GENERIC {
            found.extend(group.variables.iter().map(|variable| (variable.as_str(), group.kind.as_str())));
        }
        quantities(&group.groups, found);
    }
}

/// The group of this name: an outer one, else the first one inside of another.
pub fn find<'a>(groups: &'a [Group], name: &str) -> Option<&'a Group> {
    let outer = groups.iter().find(|group| group.name.value == name);
    outer.or_else(|| groups.iter().find_map(|group| find(&group.groups, name)))
}

/// An error that says which groups there are.
pub fn unknown(groups: &[Group], name: &str, place: &At<String>) -> Error {
    let hint = hint(name, groups.iter().map(|group| group.name.value.as_str()));
    Error::input(place.place(), format!("`{}` has no group `{name}`.{hint}", place.value))
}

/// The variables of both groups in pairs: those of the groups inside first, each in the order of its file.
pub fn pairs(a: &Group, b: &Group) -> Result<Vec<(String, String)>, String> {
    let sizes = |what: &str, m: usize, n: usize| {
        format!("`{}` has {m} {what}, `{}` has {n}; connected groups are alike", a.name.value, b.name.value)
    };
    if a.groups.len() != b.groups.len() {
        return Err(sizes("groups", a.groups.len(), b.groups.len()));
    }
    if a.variables.len() != b.variables.len() {
        return Err(sizes("variables", a.variables.len(), b.variables.len()));
    }
    let mut all = Vec::new();
    for (a, b) in a.groups.iter().zip(&b.groups) {
        all.extend(pairs(a, b)?);
    }
    all.extend(a.variables.iter().cloned().zip(b.variables.iter().cloned()));
    Ok(all)
}
