//! Patterns of variable names: `*` stands for any text, `?` for one character.

/// Whether `name` fits `pattern`.
pub fn fits(pattern: &str, name: &str) -> bool {
    let (p, n): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut i, mut j) = (0, 0);
    // Where to go on when a star has to swallow one more character.
    let mut retry: Option<(usize, usize)> = None;
    while j < n.len() {
        match p.get(i) {
            Some('*') => {
                retry = Some((i, j));
                i += 1;
            }
            Some(&c) if c == '?' || c == n[j] => {
                i += 1;
                j += 1;
            }
            _ => match retry {
                Some((star, swallowed)) => {
                    i = star + 1;
                    j = swallowed + 1;
                    retry = Some((star, j));
                }
                None => return false,
            },
        }
    }
    p[i..].iter().all(|&c| c == '*')
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
        ] {
            assert_eq!(fits(pattern, name), expected, "{pattern} on {name}");
        }
    }
}
