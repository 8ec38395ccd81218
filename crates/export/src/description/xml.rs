//! A writer of XML: elements, attributes, escapes.

use std::fmt::Write;

/// A document in the making.
pub struct Xml {
    text: String,
    depth: usize,
}

/// An element whose attributes are being written.
pub struct Element<'a> {
    xml: &'a mut Xml,
    name: &'static str,
}

impl Xml {
    pub fn new() -> Self {
        Xml { text: "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".to_owned(), depth: 0 }
    }

    pub fn open(&mut self, name: &'static str) -> Element<'_> {
        self.indent();
        self.text += "<";
        self.text += name;
        Element { xml: self, name }
    }

    pub fn finish(self) -> String {
        self.text
    }

    fn indent(&mut self) {
        (0..self.depth).for_each(|_| self.text += "  ");
    }
}

impl Element<'_> {
    pub fn text(self, name: &str, value: &str) -> Self {
        let _infallible = write!(self.xml.text, " {name}=\"");
        for c in value.chars() {
            match c {
                '&' => self.xml.text += "&amp;",
                '<' => self.xml.text += "&lt;",
                '>' => self.xml.text += "&gt;",
                '"' => self.xml.text += "&quot;",
                // XML 1.0 has no other control characters, and these would be normalized to blanks.
                c if c.is_control() => self.xml.text.push(' '),
                c => self.xml.text.push(c),
            }
        }
        self.xml.text.push('"');
        self
    }

    /// The shortest digits that give the number back.
    pub fn number(self, name: &str, value: f64) -> Self {
        self.text(name, &format!("{value:?}"))
    }

    pub fn optional(self, name: &str, value: Option<f64>) -> Self {
        match value {
            Some(value) => self.number(name, value),
            None => self,
        }
    }

    pub fn flag(self, name: &str, value: bool) -> Self {
        self.text(name, if value { "true" } else { "false" })
    }

    /// Numbers with blanks between.
    pub fn list(self, name: &str, values: impl Iterator<Item = u32>) -> Self {
        let values: Vec<String> = values.map(|v| v.to_string()).collect();
        self.text(name, &values.join(" "))
    }

    pub fn close(self) {
        self.xml.text += "/>\n";
    }

    pub fn children(self, write: impl FnOnce(&mut Xml)) {
        self.xml.text += ">\n";
        self.xml.depth += 1;
        write(self.xml);
        self.xml.depth -= 1;
        self.xml.indent();
        let _infallible = writeln!(self.xml.text, "</{}>", self.name);
    }
}

#[cfg(test)]
mod tests {
    use super::Xml;

    #[test]
    fn values_are_escaped() {
        let mut xml = Xml::new();
        xml.open("a").text("b", "<&>\"\n'").number("c", 1e-300).list("d", [1, 2].into_iter()).children(
            |xml| {
                xml.open("e").flag("f", true).close();
            },
        );
        let expected = "<a b=\"&lt;&amp;&gt;&quot; '\" c=\"1e-300\" d=\"1 2\">\n  <e f=\"true\"/>\n</a>\n";
        assert_eq!(xml.finish().split_once('\n').expect("two lines").1, expected);
    }
}
