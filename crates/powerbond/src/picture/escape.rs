//! Names are the user's own: what they become in each language of pictures.

/// Text of an element or of a quoted attribute, in XML and in HTML. Control characters, which XML does not allow, are marked.
pub fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\'' => out += "&#39;",
            '\n' | '\t' => out.push(c),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// A quoted name as Graphviz reads it.
pub fn dot(name: &str) -> String {
    let plain: String = name.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    format!("\"{}\"", plain.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::{dot, xml};

    #[test]
    fn no_name_ends_its_text_or_its_quotes() {
        assert_eq!(xml("<b> & \"c\" 'd'\u{7}\n"), "&lt;b&gt; &amp; &quot;c&quot; &#39;d&#39;\u{fffd}\n");
        assert_eq!(dot("a\\\"b\nc"), "\"a\\\\\\\"b c\"");
    }
}
