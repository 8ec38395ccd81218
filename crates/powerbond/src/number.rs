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

/// Four digits: `12.35`, `8.227e56`.
pub fn short4(x: f64) -> String {
    if x == 0.0 || !x.is_finite() {
        return short(x);
    }
    // What is rounded as text is the nearest number with these digits; a product with a power of ten is not.
    format!("{x:.3e}").parse().map_or_else(|_| short(x), short)
}

/// `0.42 %`, with two digits.
pub fn percent(share: f64) -> String {
    let x = 100.0 * share;
    if x == 0.0 || !x.is_finite() {
        return format!("{x} %");
    }
    let magnitude = x.abs().log10().floor() as i32;
    if !(-4..6).contains(&magnitude) {
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

/// A number of things: `2.4 million`.
pub fn count(n: f64) -> String {
    match n {
        n if n >= 1e9 => format!("{:.1} billion", n / 1e9),
        n if n >= 1e6 => format!("{:.1} million", n / 1e6),
        n => format!("{n:.0}"),
    }
}

/// A number of bytes: `196 MB`.
pub fn size(bytes: f64) -> String {
    let (scale, unit) = [(1e12, "TB"), (1e9, "GB"), (1e6, "MB")]
        .into_iter()
        .find(|(scale, _)| bytes >= 0.9995 * scale)
        .unwrap_or((1e3, "kB"));
    let x = bytes / scale;
    if x < 9.95 { format!("{x:.1} {unit}") } else { format!("{x:.0} {unit}") }
}

/// A time in one unit: `12 min`.
pub fn duration(seconds: f64) -> String {
    const UNITS: [(f64, &str); 5] =
        [(31_557_600.0, "years"), (86_400.0, "days"), (3600.0, "h"), (60.0, "min"), (1.0, "s")];
    let long = |(scale, _): &(f64, &str)| seconds >= 2.0 * scale;
    let (scale, unit) = UNITS.into_iter().find(long).unwrap_or((1.0, "s"));
    match seconds / scale {
        x if x >= 1e4 => format!("{x:.0e} {unit}"),
        x => format!("{x:.0} {unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{duration, percent, share, short, short4, size};

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
        for (x, text) in [(12.3456, "12.35"), (8.226999999999999e56, "8.227e56"), (-0.0, "-0"), (3.0, "3")] {
            assert_eq!(short4(x), text);
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
        assert_eq!(percent(9999.0), "999900 %");
        assert_eq!(percent(9.6760638449673e53), "9.7e55 %");
    }

    #[test]
    fn sizes_and_times_have_one_unit() {
        for (seconds, text) in
            [(3.2, "3 s"), (119.0, "119 s"), (180.0, "3 min"), (7200.0, "2 h"), (1e6, "12 days")]
        {
            assert_eq!(duration(seconds), text);
        }
        for (bytes, text) in [(1200.0, "1.2 kB"), (196e6, "196 MB"), (1.13e9, "1.1 GB"), (999.9e6, "1.0 GB")]
        {
            assert_eq!(size(bytes), text);
        }
    }
}
