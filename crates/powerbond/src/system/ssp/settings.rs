//! Annotations in structures of SSP: our settings, and the steps that other tools write down.

use crate::Error;
use crate::source::xml::{Node, Reader, elements, name};
use crate::source::{At, Source};
use std::sync::Arc;

/// The type of our annotation.
pub const TYPE: &str = "io.github.powerbond";

/// All elements below `node`, itself first.
fn below<'n, 'i: 'n>(node: Node<'n, 'i>) -> impl Iterator<Item = Node<'n, 'i>> {
    node.descendants().filter(Node::is_element)
}

/// The positive number in an attribute of the first element below an annotation that has one of these names.
fn step(
    reader: Reader<'_>,
    annotation: Node<'_, '_>,
    names: &[(&str, &str)],
) -> Result<Option<At<f64>>, Error> {
    for node in below(annotation) {
        let Some((_, attribute)) = names.iter().find(|(element, _)| *element == name(node)) else { continue };
        return match reader.number(node, attribute)? {
            Some(x) if x > 0.0 => Ok(Some(reader.at(node, x))),
            Some(x) => reader.fail(node, format!("`{attribute}` is {x}; expected a step above 0, in s")),
            None => continue,
        };
    }
    Ok(None)
}

/// The step of all components, in s: OSP's and Ecos' `FixedStepAlgorithm`, OpenModelica's `FixedStepMaster`.
pub fn base_step(reader: Reader<'_>, annotation: Node<'_, '_>) -> Result<Option<At<f64>>, Error> {
    step(reader, annotation, &[("FixedStepAlgorithm", "baseStepSize"), ("FixedStepMaster", "stepSize")])
}

/// The step of one component, in s: OSP's, Ecos' and Vico's `StepSizeHint`.
pub fn step_hint(reader: Reader<'_>, annotation: Node<'_, '_>) -> Result<Option<At<f64>>, Error> {
    step(reader, annotation, &[("StepSizeHint", "value")])
}

/// Our settings in an annotation: the text of a system file, at its place in the file, so that messages name the right lines.
pub fn settings(source: &Arc<Source>, annotation: Node<'_, '_>) -> Option<Arc<Source>> {
    if annotation.attribute("type").map(str::trim) != Some(TYPE) {
        return None;
    }
    let holder = elements(annotation).next().unwrap_or(annotation);
    let texts: Vec<&str> =
        holder.children().filter_map(|n| if n.is_text() { n.text() } else { None }).collect();
    let whole = &source.text;
    // A text with entities is no piece of the file.
    let start = |text: &str| {
        (text.as_ptr() as usize)
            .checked_sub(whole.as_ptr() as usize)
            .filter(|at| at + text.len() <= whole.len())
    };
    if let [text] = texts[..]
        && let Some(start) = start(text)
    {
        // As many bytes as before: positions stay.
        let before = whole[..start].bytes().map(|b| if b == b'\n' { '\n' } else { ' ' }).collect::<String>();
        return Some(Source::file(source.path(), before + text));
    }
    Some(Source::file(source.path(), texts.concat()))
}
