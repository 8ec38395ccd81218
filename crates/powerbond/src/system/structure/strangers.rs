//! Elements and attributes that a format does not know: they would be left out without a word.

use crate::source::xml::{Node, Reader, elements, name};
use powerbond_core::suggest::closest;
use std::collections::HashMap;

/// What an element may hold: its name, the names of elements in it, its attributes.
pub type Known = (&'static str, &'static [&'static str], &'static [&'static str]);

/// How many are told of one file.
const NAMED: usize = 8;

/// Notes about what `known` does not list, in `root` and below. Elements that it does not name may hold anything: annotations, geometry.
/// Attributes with a namespace belong to others.
pub fn strangers(reader: Reader<'_>, root: Node<'_, '_>, known: &[Known]) -> Vec<String> {
    let known: HashMap<&str, &Known> = known.iter().map(|entry| (entry.0, entry)).collect();
    let (mut notes, mut more, mut open) = (Vec::new(), 0, vec![root]);
    while let Some(node) = open.pop() {
        let Some((of, inside, attributes)) = known.get(name(node)) else { continue };
        let unknown_attributes = node.attributes().filter(|a| a.namespace().is_none());
        let unknown_attributes = unknown_attributes.map(|a| ("attribute", node, a.name(), *attributes));
        let unknown_elements = elements(node).map(|n| ("element", n, name(n), *inside));
        for (what, at, found, fitting) in unknown_attributes.chain(unknown_elements) {
            if fitting.contains(&found) {
                continue;
            }
            if notes.len() == NAMED {
                more += 1;
                continue;
            }
            let near = closest(found, fitting.iter().copied());
            let near = near.map_or_else(String::new, |near| format!(". Did you mean `{near}`?"));
            let place = reader.prefix(at);
            notes.push(format!("{place}unknown {what} `{found}` of `{of}`, which is not read{near}"));
        }
        let inner: Vec<Node<'_, '_>> = elements(node).filter(|n| inside.contains(&name(*n))).collect();
        open.extend(inner.into_iter().rev());
    }
    if more > 0 {
        notes
            .push(format!("{}{more} more unknown elements and attributes are not read", reader.prefix(root)));
    }
    notes
}
