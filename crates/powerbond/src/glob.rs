//! Patterns of variable names: `*` stands for any text, `?` for one character.

/// What every name that fits begins with; `None` if there is no wildcard, so that one name fits alone.
pub fn beginning(pattern: &str) -> Option<&str> {
    pattern.find(['*', '?']).map(|end| &pattern[..end])
}

/// Whether `name` fits `pattern`.
pub fn fits(pattern: &str, name: &str) -> bool {
    let (p, n) = (pattern.as_bytes(), name.as_bytes());
    // After one more character; a star and a question mark always stand where one begins.
    let after = |j: usize| j + name[j..].chars().next().map_or(1, char::len_utf8);
    let (mut i, mut j) = (0, 0);
    // Where to go on when a star has to swallow one more character.
    let mut retry: Option<(usize, usize)> = None;
    while j < n.len() {
        match p.get(i) {
            Some(b'*') => {
                retry = Some((i, j));
                i += 1;
            }
            Some(b'?') => {
                i += 1;
                j = after(j);
            }
            Some(&c) if c == n[j] => {
                i += 1;
                j += 1;
            }
            _ => match retry {
                Some((star, swallowed)) => {
                    i = star + 1;
                    j = after(swallowed);
                    retry = Some((star, j));
                }
                None => return false,
            },
        }
    }
    p[i..].iter().all(|&c| c == b'*')
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn stars_and_question_marks() {
        for (pattern, name, expected) in [
            ("*", "a.b", true),
            ("wheel.*", "wheel.velocity", true),
            ("*.velocity", "wheel.velocity", true),
            ("*.v*y", "wheel.velocity", true),
            ("wheel.?", "wheel.ab", false),
            ("wheel", "wheel.a", false),
            ("a*b*c", "aXbYbZc", true),
            ("", "a", false),
            ("wheel.?", "wheel.ä", true),
            ("*??", "ä", false),
            ("*é.x", "aè.é.x", true),
        ] {
            assert_eq!(fits(pattern, name), expected, "{pattern} on {name}");
        }
    }
}
