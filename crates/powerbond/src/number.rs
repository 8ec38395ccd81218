//! Numbers in messages: the digits that were written, and an exponent where zeros would fill the line.

/// Integers up to this one are exact as reals: 2⁵³.
pub const LONGEST_IN_A_REAL: u64 = 1 << 53;

/// `4`, `0.001`, `1e-30`.
pub fn short(x: f64) -> String {
    let size = x.abs();
    if size == 0.0 || !size.is_finite() || (1e-6..1e9).contains(&size) {
        format!("{x}")
    } else {
        format!("{x:e}")
    }
}

/// `0.42 %`, with two digits.
pub fn percent(share: f64) -> String {
    let x = 100.0 * share;
    if x == 0.0 || !x.is_finite() {
        return format!("{x} %");
    }
    let magnitude = x.abs().log10().floor() as i32;
    if magnitude < -4 {
        return format!("{x:.1e} %");
    }
    let decimals = (1 - magnitude).max(0) as usize;
    let text = format!("{x:.decimals$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} %")
}

/// `0.005` or `0.5%`; none if it is neither, or not finite.
pub fn share(text: &str) -> Option<f64> {
    let text = text.trim();
    let value: f64 = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().ok()? / 100.0,
        None => text.parse().ok()?,
    };
    value.is_finite().then_some(value)
}

/// As [`share`], of 0 or more, where a whole is the most that makes sense: `5` is more likely 5 % than 500 %, so that has to be
/// written out. The error says what would be right.
pub fn small_share(text: &str) -> Result<f64, String> {
    match share(text).filter(|x| *x >= 0.0) {
        Some(x) if x >= 1.0 && !text.contains('%') => {
            let (x, text) = (short(100.0 * x), text.trim());
            Err(format!("{text} would be {x} %; write {text}% or {x}%"))
        }
        Some(x) => Ok(x),
        None => Err("expected a number of 0 or more, such as 0.005 or 0.5%".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::{percent, share, short};

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

    #[test]
    fn shares_are_numbers_or_percent() {
        assert_eq!(share("0.5%"), Some(0.005));
        assert_eq!(share(" 2 % "), Some(0.02));
        assert_eq!(share("1e-3"), Some(1e-3));
        assert_eq!(share("much"), None);
        assert_eq!(share("inf%"), None);
        assert_eq!(percent(0.00421), "0.42 %");
        assert_eq!(percent(0.5), "50 %");
        assert_eq!(percent(0.0), "0 %");
    }
}
