//! XML of unknown origin: decoding, limits, lenient numbers, and a list of what was forgiven.

use crate::error::{DescriptionError, DescriptionProblem, Finding};
use roxmltree::ParsingOptions;
use std::borrow::Cow;

pub use roxmltree::{Document, Node};

/// More nodes than any honest file has; each takes some 100 bytes.
const MAX_NODES: u32 = 20_000_000;

/// Deeper than any honest file.
const MAX_DEPTH: usize = 256;

/// More attributes than any honest element has. Each is compared with all others of its element.
const MAX_ATTRIBUTES: usize = 256;

/// More findings than anybody reads.
const MAX_FINDINGS: usize = 500;

/// The text of an XML file: UTF-8, UTF-16, or Latin-1 where its declaration says so.
pub fn decode<'a>(file: &'static str, bytes: &'a [u8]) -> Result<Cow<'a, str>, DescriptionError> {
    let refuse = || DescriptionError { file, line: 1, problem: DescriptionProblem::Encoding };
    let wide = |read: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = bytes[2..].chunks_exact(2).map(|pair| read([pair[0], pair[1]])).collect();
        String::from_utf16(&units).map(Cow::Owned).map_err(|_| refuse())
    };
    match bytes {
        [0xFF, 0xFE, ..] => return wide(u16::from_le_bytes),
        [0xFE, 0xFF, ..] => return wide(u16::from_be_bytes),
        _ => {}
    }
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Ok(Cow::Borrowed(text));
    }
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(200)]).to_ascii_lowercase();
    if head.contains("8859-1") || head.contains("latin") || head.contains("1252") {
        return Ok(Cow::Owned(bytes.iter().map(|&b| char::from(b)).collect()));
    }
    Err(refuse())
}

/// The tree of an XML file. Document type declarations are refused, and trees deeper than any honest one, and crowds of
/// attributes.
pub fn parse<'a>(file: &'static str, text: &'a str) -> Result<Document<'a>, DescriptionError> {
    if let Some(at) = crowded_tag(text) {
        let problem = DescriptionProblem::TooManyAttributes { limit: MAX_ATTRIBUTES };
        return Err(DescriptionError { file, line: line_at(text, at), problem });
    }
    let options = ParsingOptions { allow_dtd: false, nodes_limit: MAX_NODES, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options).map_err(|error| {
        let problem = match error {
            roxmltree::Error::DtdDetected => DescriptionProblem::Dtd,
            roxmltree::Error::NodesLimitReached => DescriptionProblem::TooManyNodes { limit: MAX_NODES },
            _ => DescriptionProblem::NotXml { message: error.to_string() },
        };
        let line = if problem == DescriptionProblem::Dtd { dtd_line(text) } else { error.pos().row };
        DescriptionError { file, line, problem }
    })?;
    // A walk with a counter: recursion would overflow the stack on the very files that this refuses.
    let (mut depth, mut node) = (0, Some(document.root()));
    while let Some(current) = node {
        node = current.first_child().or_else(|| {
            let mut up = current;
            while up.next_sibling().is_none() {
                up = up.parent()?;
                depth -= 1;
            }
            depth -= 1;
            up.next_sibling()
        });
        depth += 1;
        if depth > MAX_DEPTH {
            let problem = DescriptionProblem::TooDeep { limit: MAX_DEPTH };
            return Err(DescriptionError { file, line: line_at(text, position(text, current)), problem });
        }
    }
    Ok(document)
}

/// The prefix of a name that no namespace is declared for, which is why `text` is not well-formed.
pub fn undeclared_prefix(text: &str) -> Option<String> {
    let options = ParsingOptions { allow_dtd: false, nodes_limit: MAX_NODES, ..ParsingOptions::default() };
    match Document::parse_with_options(text, options) {
        Err(roxmltree::Error::UnknownNamespace(prefix, _)) => Some(prefix),
        _ => None,
    }
}

/// Where the first tag with too many attributes begins.
fn crowded_tag(text: &str) -> Option<usize> {
    // `<` stands before tags, comments and the like and nowhere else; an attribute takes five characters at least.
    let pieces = text.split('<').filter(|piece| piece.len() > 5 * MAX_ATTRIBUTES);
    let mut tags = pieces.filter(|piece| !piece.starts_with(['!', '?']));
    let crowded = tags.find(|tag| {
        let (mut quote, mut count) = (None, 0);
        for byte in tag.bytes() {
            match (quote, byte) {
                (None, b'"' | b'\'') => quote = Some(byte),
                (Some(q), _) if q == byte => quote = None,
                (None, b'=') => count += 1,
                (None, b'>') => break,
                _ => {}
            }
        }
        count > MAX_ATTRIBUTES
    })?;
    Some(crowded.as_ptr() as usize - text.as_ptr() as usize)
}

fn dtd_line(text: &str) -> u32 {
    line_at(text, text.find("<!DOCTYPE").unwrap_or(0))
}

/// Where a node begins, in bytes of the text. Its name is a piece of the text, which saves a quarter of the tree's memory for positions.
pub fn position(text: &str, node: Node<'_, '_>) -> usize {
    let name = node.tag_name().name();
    (name.as_ptr() as usize).checked_sub(text.as_ptr() as usize).filter(|at| *at <= text.len()).unwrap_or(0)
}

fn line_at(text: &str, position: usize) -> u32 {
    1 + text.as_bytes()[..position.min(text.len())].iter().filter(|&&b| b == b'\n').count() as u32
}

/// Collects what was forgiven while reading one file, and makes errors with lines.
pub struct Notes<'a> {
    file: &'static str,
    text: &'a str,
    findings: Vec<(usize, String, bool)>,
    more: usize,
}

impl<'a> Notes<'a> {
    /// Nothing yet.
    pub fn new(file: &'static str, text: &'a str) -> Self {
        Notes { file, text, findings: Vec::new(), more: 0 }
    }

    /// Something at `node` is not as it should be.
    pub fn note(&mut self, node: Node<'_, '_>, text: impl FnOnce() -> String) {
        self.add(node, text, false);
    }

    /// Something at `node` was read as what was probably meant.
    pub fn doubt(&mut self, node: Node<'_, '_>, text: impl FnOnce() -> String) {
        self.add(node, text, true);
    }

    fn add(&mut self, node: Node<'_, '_>, text: impl FnOnce() -> String, is_doubtful: bool) {
        if self.findings.len() < MAX_FINDINGS {
            self.findings.push((position(self.text, node), text(), is_doubtful));
        } else {
            self.more += 1;
        }
    }

    /// The line of a node.
    pub fn line(&self, node: Node<'_, '_>) -> u32 {
        line_at(self.text, position(self.text, node))
    }

    /// Something at `node` cannot be lived with.
    pub fn error(&self, node: Node<'_, '_>, problem: DescriptionProblem) -> DescriptionError {
        DescriptionError { file: self.file, line: line_at(self.text, position(self.text, node)), problem }
    }

    /// Everything noted, with lines, and how much more there was.
    pub fn finish(mut self) -> (Vec<Finding>, usize) {
        self.findings.sort_by_key(|&(position, ..)| position);
        let (mut line, mut from) = (1, 0);
        let findings = self.findings.into_iter().map(|(position, text, is_doubtful)| {
            line += line_at(&self.text[from..], position - from) - 1;
            from = position;
            Finding { file: self.file, line, text, is_doubtful }
        });
        (findings.collect(), self.more)
    }

    /// An attribute that must be there.
    pub fn required<'n>(
        &self,
        node: Node<'n, '_>,
        attribute: &'static str,
    ) -> Result<&'n str, DescriptionError> {
        node.attribute(attribute).ok_or_else(|| {
            let element = node.tag_name().name().to_owned();
            self.error(node, DescriptionProblem::NoAttribute { element, attribute })
        })
    }

    /// A number; what is none is noted and left out.
    pub fn real(&mut self, node: Node<'_, '_>, attribute: &str, text: &str) -> Option<f64> {
        match text.trim().parse() {
            Ok(x) => Some(x),
            Err(_) => {
                let value = odd_real(text);
                match value {
                    // Tools that print numbers as the locale of their user, an old Windows or Fortran does.
                    Some(x) => self.doubt(node, || format!("`{attribute}` is `{text}`, read as {x}")),
                    None => self.note(node, || {
                        format!("`{attribute}` is `{text}`, which is not a number; it is ignored")
                    }),
                }
                value
            }
        }
    }

    /// A truth value; what is none is noted and counts as false.
    pub fn boolean(&mut self, node: Node<'_, '_>, attribute: &str, text: &str) -> bool {
        match text.trim() {
            "true" | "1" => true,
            "false" | "0" => false,
            other => {
                let value = other.eq_ignore_ascii_case("true");
                self.note(node, || format!("`{attribute}` is `{text}`, read as {value}"));
                value
            }
        }
    }

    /// An attribute or element that the standard does not know. Those of other namespaces are ignored.
    pub fn unknown_attribute(&mut self, node: Node<'_, '_>, attribute: &roxmltree::Attribute<'_, '_>) {
        if attribute.namespace().is_none() {
            let (element, name) = (node.tag_name().name(), attribute.name());
            self.note(node, || format!("`{element}` has an unknown attribute `{name}`"));
        }
    }

    /// An element that the standard does not know.
    pub fn unknown_element(&mut self, node: Node<'_, '_>) {
        self.note(node, || format!("unknown element `{}`", node.tag_name().name()));
    }
}

/// Numbers as some tools write them: `1.#INF`, `-1.#IND`, `1.5D+3`, `1,5`, `2.0f`.
fn odd_real(text: &str) -> Option<f64> {
    let text = text.trim().to_ascii_lowercase();
    let (sign, magnitude) = text.strip_prefix('-').map_or((1.0, text.as_str()), |rest| (-1.0, rest));
    if magnitude.starts_with("1.#inf") {
        return Some(sign * f64::INFINITY);
    }
    if magnitude.starts_with("1.#") {
        return Some(f64::NAN);
    }
    let plain = magnitude.trim_end_matches('f').replace('d', "e").replace(',', ".");
    plain.parse::<f64>().ok().map(|x| sign * x)
}

/// The element children of a node.
pub fn elements<'a, 'input: 'a>(node: Node<'a, 'input>) -> impl Iterator<Item = Node<'a, 'input>> {
    node.children().filter(Node::is_element)
}

/// The first child element called `name`.
pub fn child<'a, 'input: 'a>(node: Node<'a, 'input>, name: &str) -> Option<Node<'a, 'input>> {
    elements(node).find(|n| n.tag_name().name() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_numbers_are_understood() {
        let check = |text: &str, value: f64| {
            let found = odd_real(text).unwrap();
            assert!(found == value || found.is_nan() && value.is_nan(), "{text} read as {found}");
        };
        check("1.#INF", f64::INFINITY);
        check("-1.#INF", f64::NEG_INFINITY);
        check("-1.#IND", f64::NAN);
        check("1.5D+3", 1500.0);
        check("-2,5", -2.5);
        check("2.0f", 2.0);
        assert_eq!(odd_real("about 3"), None);
    }

    #[test]
    fn hostile_trees_are_refused() {
        let check = |text: &str, line: u32, wanted: &str| {
            let error = parse("x.xml", text).unwrap_err();
            assert_eq!(error.line, line, "{error}");
            assert!(error.to_string().contains(wanted), "{error}");
        };
        let laughs = "<?xml version='1.0'?>\n<!DOCTYPE a [<!ENTITY l 'l'><!ENTITY m '&l;&l;'>]>\n<a>&m;</a>";
        check(laughs, 2, "document type");
        check("<a>\n<b></a>", 2, "not well-formed");
        let deep = format!("{}\n{}", "<a>".repeat(200_000), "</a>".repeat(200_000));
        check(&deep, 1, "nested");
        check("<a>\n&undefined;</a>", 2, "not well-formed");
        let attributes = |n: u32| (0..n).map(|k| format!(" a{k}='='")).collect::<String>();
        check(&format!("<a>\n<b{}/></a>", attributes(100_000)), 2, "more than 256 attributes");
        assert!(parse("x.xml", &format!("<a{}>{}</a>", attributes(250), "=".repeat(9999))).is_ok());
        assert!(parse("x.xml", &format!("<a>{}</a>", "<b>x<c/></b>\n".repeat(1000))).is_ok());
    }

    #[test]
    fn encodings_are_read() {
        assert_eq!(decode("x", b"\xEF\xBB\xBF<a/>").unwrap(), "<a/>");
        assert_eq!(
            decode("x", b"<?xml encoding='ISO-8859-1'?><a b='\xe9'/>").unwrap().chars().last(),
            Some('>')
        );
        let wide: Vec<u8> =
            [0xFF, 0xFE].into_iter().chain("<a/>".encode_utf16().flat_map(u16::to_le_bytes)).collect();
        assert_eq!(decode("x", &wide).unwrap(), "<a/>");
        assert!(decode("x", b"<a b='\xe9'/>").is_err());
    }
}
