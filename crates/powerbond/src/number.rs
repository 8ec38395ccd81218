//! Numbers in messages: the digits that were written, and an exponent where zeros would fill the line.

/// `4`, `0.001`, `1e-30`.
pub fn short(x: f64) -> String {
    let size = x.abs();
    if size == 0.0 || !size.is_finite() || (1e-6..1e9).contains(&size) {
        format!("{x}")
    } else {
        format!("{x:e}")
    }
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn very_large_and_very_small_numbers_have_exponents() {
        for (x, text) in [
            (4.0, "4"),
            (0.0, "0"),
            (-0.25, "-0.25"),
            (1e-30, "1e-30"),
            (1.5e300, "1.5e300"),
            (f64::NAN, "NaN"),
        ] {
            assert_eq!(short(x), text);
        }
    }
}
