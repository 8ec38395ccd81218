//! XML files of other tools: read with limits, every element with its place; what can be forgiven is forgiven with a note.

use super::{At, Source};
use crate::Error;
use crate::error::Place;
use powerbond_core::suggest::hint;
use powerbond_fmi::description::xml;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

pub use powerbond_fmi::description::xml::{Document, Node, child, elements};

/// In bytes; more is not a description of a system.
const MAX_SIZE: u64 = 64_000_000;

/// Prefixes without a declaration that are forgiven in one file.
const MOST_PREFIXES: usize = 8;

/// The text of an XML file.
pub struct Text {
    source: Arc<Source>,
    /// What was forgiven.
    pub notes: Vec<String>,
}

impl Text {
    /// Reads a file that is called `shown` in messages.
    pub fn read(path: &Path, shown: &Path) -> Result<Text, Error> {
        let fail =
            |reason: String| Err(Error::input(None, format!("cannot read {}: {reason}", shown.display())));
        let mut bytes = Vec::new();
        let file = match std::fs::metadata(path).and_then(|m| Ok((m.is_file(), std::fs::File::open(path)?))) {
            Ok((true, file)) => file,
            Ok((false, _)) => return fail("it is not a file".to_owned()),
            Err(error) => return fail(error.to_string()),
        };
        if let Err(error) = file.take(MAX_SIZE + 1).read_to_end(&mut bytes) {
            return fail(error.to_string());
        }
        if bytes.len() as u64 > MAX_SIZE {
            return fail(format!("it is larger than {} MB", MAX_SIZE / 1_000_000));
        }
        Text::of(shown, &bytes)
    }

    /// Of the bytes of a file that is called `shown` in messages.
    pub fn of(shown: &Path, bytes: &[u8]) -> Result<Text, Error> {
        let text = xml::decode("", bytes).map_err(|e| at_line(shown, e.line, &e.problem.to_string()))?;
        let (text, prefixes) = declared(text.into_owned());
        let notes = prefixes.iter().map(|prefix| {
            format!(
                "{}: the prefix `{prefix}:` has no namespace (`xmlns:{prefix}`); it is read all the same",
                shown.display()
            )
        });
        let notes = notes.collect();
        Ok(Text { source: Source::file(shown, text), notes })
    }

    /// Its tree.
    pub fn parse(&self) -> Result<Document<'_>, Error> {
        let failed = |line, problem: String| at_line(self.source.path(), line, &problem);
        xml::parse("", &self.source.text).map_err(|e| failed(e.line, e.problem.to_string()))
    }

    /// What reads its elements.
    pub fn reader(&self) -> Reader<'_> {
        Reader { source: &self.source }
    }

    /// Text and origin.
    pub fn source(&self) -> &Arc<Source> {
        &self.source
    }
}

/// The local name of the first element of a file; none if it is no XML.
pub fn root_name(path: &Path) -> Option<String> {
    // To open a pipe may wait for ever.
    if !path.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    std::fs::File::open(path).ok()?.take(HEAD).read_to_end(&mut bytes).ok()?;
    let text = match bytes.as_slice() {
        [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..] => {
            xml::decode("", &bytes[..bytes.len() / 2 * 2]).ok()?.into_owned()
        }
        _ => {
            let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&bytes);
            // An archive is seen at once, and need not become text.
            if bytes.trim_ascii_start().first() != Some(&b'<') {
                return None;
            }
            String::from_utf8_lossy(bytes).into_owned()
        }
    };
    if !text.trim_start().starts_with('<') {
        return None;
    }
    let end = root_name_end(&text)?;
    let name = &text[text[..end].rfind('<')? + 1..end];
    Some(name.rsplit(':').next().unwrap_or(name).to_owned())
}

/// The first element begins within so many bytes.
const HEAD: u64 = 1 << 16;

fn at_line(path: &Path, line: u32, message: &str) -> Error {
    let place = Place::File { path: path.to_owned(), line: line as usize, column: 1 };
    Error::input(Some(place), message)
}

/// The text with a declaration for every prefix that lacks one, and these prefixes. Lines stay what they are.
fn declared(mut text: String) -> (String, Vec<String>) {
    let mut prefixes: Vec<String> = Vec::new();
    while prefixes.len() < MOST_PREFIXES {
        let Some(prefix) = xml::undeclared_prefix(&text).filter(|prefix| !prefixes.contains(prefix)) else {
            break;
        };
        let Some(end) = root_name_end(&text) else { break };
        text.insert_str(end, &format!(" xmlns:{prefix}=\"urn:undeclared:{prefix}\""));
        prefixes.push(prefix);
    }
    (text, prefixes)
}

/// Where the name of the first element ends.
fn root_name_end(text: &str) -> Option<usize> {
    let mut from = 0;
    loop {
        let start = from + text[from..].find('<')?;
        let rest = &text[start..];
        let skip = |end: &str| rest.find(end).map(|at| start + at + end.len());
        from = if rest.starts_with("<!--") {
            skip("-->")?
        } else if rest.starts_with("<?") {
            skip("?>")?
        } else {
            let end = rest.find(|c: char| c.is_whitespace() || c == '>' || c == '/')?;
            return Some(start + end);
        };
    }
}

/// Reads elements of one text.
#[derive(Clone, Copy)]
pub struct Reader<'a> {
    source: &'a Arc<Source>,
}

/// The local name of an element.
pub fn name<'n>(node: Node<'n, '_>) -> &'n str {
    node.tag_name().name()
}

/// The child elements of the child that is called `list`, which may be missing.
pub fn list<'n, 'input: 'n>(node: Node<'n, 'input>, name: &str) -> impl Iterator<Item = Node<'n, 'input>> {
    child(node, name).into_iter().flat_map(elements)
}

impl<'a> Reader<'a> {
    /// A value with the place of an element.
    pub fn at<T>(&self, node: Node<'_, '_>, value: T) -> At<T> {
        At::file(value, self.source, xml::position(&self.source.text, node))
    }

    /// The place of an element, as the beginning of a note.
    pub fn prefix(&self, node: Node<'_, '_>) -> String {
        self.at(node, ()).prefix()
    }

    /// An error at an element.
    pub fn fail<T>(&self, node: Node<'_, '_>, message: impl Into<String>) -> Result<T, Error> {
        Err(Error::input(self.at(node, ()).place(), message))
    }

    /// An attribute that must be there.
    pub fn attribute<'n>(&self, node: Node<'n, '_>, attribute: &str) -> Result<&'n str, Error> {
        let missing = || {
            let known = node.attributes().map(|a| a.name()).collect::<Vec<_>>();
            self.fail(node, format!("`{}` lacks `{attribute}`.{}", name(node), hint(attribute, known)))
        };
        node.attribute(attribute).map_or_else(missing, Ok)
    }

    /// As [`Reader::attribute`], with its place.
    pub fn text(&self, node: Node<'_, '_>, attribute: &str) -> Result<At<String>, Error> {
        Ok(self.at(node, self.attribute(node, attribute)?.to_owned()))
    }

    /// A finite number in an attribute, if it is there.
    pub fn number(&self, node: Node<'_, '_>, attribute: &str) -> Result<Option<f64>, Error> {
        node.attribute(attribute).map(|text| self.parse_number(node, attribute, text)).transpose()
    }

    /// A finite number in the text of an element.
    pub fn content(&self, node: Node<'_, '_>) -> Result<At<f64>, Error> {
        let x = self.parse_number(node, name(node), node.text().unwrap_or(""))?;
        Ok(self.at(node, x))
    }

    fn parse_number(&self, node: Node<'_, '_>, what: &str, text: &str) -> Result<f64, Error> {
        match text.trim().parse::<f64>() {
            Ok(x) if x.is_finite() => Ok(x),
            _ => self.fail(node, format!("`{what}` is `{text}`; expected a finite number")),
        }
    }

    /// A truth value in an attribute; false if it is not there.
    pub fn flag(&self, node: Node<'_, '_>, attribute: &str) -> Result<bool, Error> {
        match node.attribute(attribute).map(str::trim) {
            None | Some("false" | "0") => Ok(false),
            Some("true" | "1") => Ok(true),
            Some(text) => self.fail(node, format!("`{attribute}` is `{text}`; expected `true` or `false`")),
        }
    }

    /// Refuses an element that is not called `wanted`.
    pub fn expect(&self, node: Node<'_, '_>, wanted: &str) -> Result<(), Error> {
        match name(node) {
            found if found == wanted => Ok(()),
            found => self.fail(node, format!("found `{found}`, expected `{wanted}`")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_undeclared_prefix_is_forgiven_and_told() {
        let text = "<?xml version='1.0'?>\n<!-- <no:element/> -->\n<a>\n<osp:b osp:c='1'/><x:d/></a>";
        let read = Text::of(Path::new("f.xml"), text.as_bytes()).unwrap();
        assert_eq!(read.notes.len(), 2);
        let document = read.parse().unwrap();
        let b = child(document.root_element(), "b").unwrap();
        assert_eq!(read.reader().prefix(b), "f.xml:4:6: ");
    }

    #[test]
    fn what_is_no_xml_is_refused_with_its_line() {
        let refused = |text: &str| {
            let read = Text::of(Path::new("f.xml"), text.as_bytes()).unwrap();
            read.parse().unwrap_err().to_string()
        };
        assert!(refused("<a>\n<b></a>").starts_with("f.xml:2:1: "));
        assert!(refused("<!DOCTYPE a><a/>").contains("document type"));
        assert!(refused("").starts_with("f.xml:1:1: "));
    }
}
