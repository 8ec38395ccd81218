//! Terminals: variables that belong together, from `terminalsAndIcons/terminalsAndIcons.xml` (FMI 3).

use super::ModelDescription;
use super::xml::{self, Notes, child, elements};
use crate::error::{DescriptionError, DescriptionProblem, Finding};
use roxmltree::Node;

const FILE: &str = "terminalsAndIcons.xml";

/// A variable of a terminal.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// The name of the variable.
    pub variable: String,
    /// What it is called in the terminal.
    pub member: String,
    /// `signal`, `inflow`, `outflow` or a kind of the terminal's own.
    pub kind: String,
}

/// A group of variables, possibly with groups inside.
#[derive(Clone, Debug, PartialEq)]
pub struct Terminal {
    /// Its name.
    pub name: String,
    /// `plug`, `bus`, `sequence` or a rule of its own.
    pub matching_rule: String,
    /// What it stands for, as a reverse domain name.
    pub kind: String,
    /// One line for people.
    pub description: String,
    /// Its variables.
    pub members: Vec<Member>,
    /// Terminals inside.
    pub terminals: Vec<Terminal>,
}

/// Reads the file; variables that the model does not have are noted.
pub fn read(
    bytes: &[u8],
    model: &ModelDescription,
) -> Result<(Vec<Terminal>, Vec<Finding>), DescriptionError> {
    let text = xml::decode(FILE, bytes)?;
    let document = xml::parse(FILE, &text)?;
    let mut notes = Notes::new(FILE, &text);
    let root = document.root_element();
    if root.tag_name().name() != "fmiTerminalsAndIcons" {
        let found = root.tag_name().name().to_owned();
        return Err(notes.error(root, DescriptionProblem::Root { found, expected: "fmiTerminalsAndIcons" }));
    }
    let list = child(root, "Terminals").into_iter().flat_map(elements);
    let terminals = list
        .filter(|n| n.tag_name().name() == "Terminal")
        .map(|node| read_one(node, model, &mut notes))
        .collect::<Result<_, _>>()?;
    Ok((terminals, notes.finish().0))
}

/// Nesting is limited where the tree is read, so recursion is safe.
fn read_one(
    node: Node<'_, '_>,
    model: &ModelDescription,
    notes: &mut Notes<'_>,
) -> Result<Terminal, DescriptionError> {
    let text = |attribute: &str| node.attribute(attribute).unwrap_or("").to_owned();
    let mut terminal = Terminal {
        name: notes.required(node, "name")?.to_owned(),
        matching_rule: text("matchingRule"),
        kind: text("terminalKind"),
        description: text("description"),
        members: Vec::new(),
        terminals: Vec::new(),
    };
    for inner in elements(node) {
        let mut member = |variable: &str, member: &str, kind: &str| {
            let variable = inner.attribute(variable).unwrap_or("").to_owned();
            if model.find(&variable).is_none() {
                notes.note(inner, || format!("terminal `{}`: unknown variable `{variable}`", terminal.name));
            }
            let member = inner.attribute(member).unwrap_or(&variable).to_owned();
            terminal.members.push(Member { variable, member, kind: kind.to_owned() });
        };
        match inner.tag_name().name() {
            "TerminalMemberVariable" => {
                member("variableName", "memberName", inner.attribute("variableKind").unwrap_or("signal"));
            }
            "TerminalStreamMemberVariable" => {
                member("inStreamVariableName", "inStreamMemberName", "inStream");
                member("outStreamVariableName", "outStreamMemberName", "outStream");
            }
            "Terminal" => {
                let inside = read_one(inner, model, notes)?;
                terminal.terminals.push(inside);
            }
            _ => {}
        }
    }
    Ok(terminal)
}
