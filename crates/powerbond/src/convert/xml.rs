//! XML as text, indented.

use std::fmt::Write;

/// A document in the making.
pub struct Document {
    text: String,
    open: Vec<&'static str>,
}

/// Attributes of an element, in their order.
pub type Attributes<'a> = &'a [(&'a str, String)];

impl Document {
    /// With its declaration.
    pub fn new() -> Self {
        Document { text: "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".to_owned(), open: Vec::new() }
    }

    fn tag(&mut self, name: &str, attributes: Attributes<'_>, end: &str) {
        let indent = "  ".repeat(self.open.len());
        let _ = write!(self.text, "{indent}<{name}");
        for (key, value) in attributes {
            let _ = write!(self.text, " {key}=\"{}\"", escaped(value));
        }
        self.text += end;
    }

    /// An element without content.
    pub fn element(&mut self, name: &str, attributes: Attributes<'_>) {
        self.tag(name, attributes, "/>\n");
    }

    /// An element with a text.
    pub fn text(&mut self, name: &str, attributes: Attributes<'_>, text: &str) {
        self.tag(name, attributes, ">");
        self.text += &escaped(text);
        let _ = writeln!(self.text, "</{name}>");
    }

    /// An element with a text that stays as it is.
    pub fn verbatim(&mut self, name: &str, attributes: Attributes<'_>, text: &str) {
        self.tag(name, attributes, "><![CDATA[");
        self.text += &text.replace("]]>", "]]]]><![CDATA[>");
        let _ = writeln!(self.text, "]]></{name}>");
    }

    /// Begins an element.
    pub fn begin(&mut self, name: &'static str, attributes: Attributes<'_>) {
        self.tag(name, attributes, ">\n");
        self.open.push(name);
    }

    /// Ends the element that was begun last.
    pub fn end(&mut self) {
        if let Some(name) = self.open.pop() {
            let indent = "  ".repeat(self.open.len());
            let _ = writeln!(self.text, "{indent}</{name}>");
        }
    }

    /// The text.
    pub fn finish(mut self) -> String {
        while !self.open.is_empty() {
            self.end();
        }
        self.text
    }
}

/// With entities for what XML reads otherwise; what it cannot hold is a question mark.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\n' => out += "&#10;",
            '\r' => out += "&#13;",
            '\t' => out += "&#9;",
            c if c.is_control() => out.push('?'),
            c => out.push(c),
        }
    }
    out
}
