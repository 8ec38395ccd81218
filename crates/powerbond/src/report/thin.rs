//! Fewer points, same picture: the smallest and the largest value of every stretch of rows stay.

/// Points of a line, thinned to about two per bucket. Spikes stay; a stretch with values that are not finite keeps one of
/// them as a gap.
pub fn thin(times: &[f64], values: &[f64], buckets: usize) -> (Vec<f64>, Vec<f64>) {
    let n = times.len().min(values.len());
    if n <= 4 * buckets {
        return (times[..n].to_vec(), values[..n].to_vec());
    }
    let (mut t, mut v) = (Vec::with_capacity(2 * buckets + 2), Vec::with_capacity(2 * buckets + 2));
    let mut keep = |i: usize| {
        t.push(times[i]);
        v.push(values[i]);
    };
    keep(0);
    for bucket in 0..buckets {
        let (a, b) = (1 + bucket * (n - 2) / buckets, 1 + (bucket + 1) * (n - 2) / buckets);
        let (mut low, mut high, mut gap) = (None, None, None);
        for i in a..b {
            let x = values[i];
            if !x.is_finite() {
                gap = Some(i);
                continue;
            }
            if low.is_none_or(|k: usize| x < values[k]) {
                low = Some(i);
            }
            if high.is_none_or(|k: usize| x > values[k]) {
                high = Some(i);
            }
        }
        let mut list = [low, high, gap];
        list.sort_unstable();
        let mut last = None;
        for i in list.into_iter().flatten().filter(|&i| last.replace(i) != Some(i)) {
            keep(i);
        }
    }
    keep(n - 1);
    (t, v)
}

/// Six significant digits, as short as possible; `null` for what is not finite.
pub fn number(x: f64, digits: i32, out: &mut String) {
    if !x.is_finite() {
        *out += "null";
        return;
    }
    let x = if x == 0.0 {
        0.0
    } else {
        let scale = 10f64.powi((digits - 1 - x.abs().log10().floor() as i32).clamp(-300, 300));
        (x * scale).round() / scale
    };
    let mut buffer = ryu::Buffer::new();
    let text = buffer.format(x);
    *out += text.strip_suffix(".0").unwrap_or(text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spikes_gaps_and_both_ends_stay() {
        let times: Vec<f64> = (0..100_000).map(f64::from).collect();
        let mut values: Vec<f64> = times.iter().map(|t| (t * 1e-3).sin()).collect();
        (values[4_321], values[77_777], values[50_000]) = (900.0, -800.0, f64::NAN);
        let (t, v) = thin(&times, &values, 500);
        assert!(t.len() <= 3 * 500 + 2 && t.windows(2).all(|w| w[0] < w[1]), "{}", t.len());
        let at = |time: f64| v[t.iter().position(|x| *x == time).unwrap()];
        assert_eq!((at(4_321.0), at(77_777.0)), (900.0, -800.0));
        assert!(at(50_000.0).is_nan());
        assert_eq!((t[0], t[t.len() - 1]), (0.0, 99_999.0));
    }

    #[test]
    fn few_points_stay_as_they_are() {
        let (t, v) = thin(&[0.0, 1.0], &[3.0, 4.0], 10);
        assert_eq!((t, v), (vec![0.0, 1.0], vec![3.0, 4.0]));
    }

    #[test]
    fn numbers_are_short() {
        for (x, text) in [
            (0.1 + 0.2, "0.3"),
            (1234567.0, "1234570"),
            (-1.0, "-1"),
            (f64::NAN, "null"),
            (1.2345678e-9, "1.23457e-9"),
            (0.0, "0"),
        ] {
            let mut out = String::new();
            number(x, 6, &mut out);
            assert_eq!(out, text);
        }
    }
}
