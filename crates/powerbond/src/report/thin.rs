//! Fewer points, same picture: the smallest and the largest value of every stretch of rows stay.

/// Points of a line, thinned to about two per bucket. Spikes stay; a stretch with values that are not finite keeps one of
/// them as a gap. Where a line jumps, both of its points at that time stay or go together; the largest jump of every stretch
/// stays.
pub fn thin(times: &[f64], values: &[f64], buckets: usize) -> (Vec<f64>, Vec<f64>) {
    let n = times.len().min(values.len());
    if n <= 4 * buckets {
        return (times[..n].to_vec(), values[..n].to_vec());
    }
    let jumps = |i: usize| times[i - 1] == times[i] && values[i - 1].to_bits() != values[i].to_bits();
    let (mut t, mut v) = (Vec::with_capacity(2 * buckets + 2), Vec::with_capacity(2 * buckets + 2));
    let mut next = 0;
    let mut keep = |i: usize| {
        // With what is on the other side of a jump.
        let (first, last) = (i - usize::from(i > 0 && jumps(i)), i + usize::from(i + 1 < n && jumps(i + 1)));
        for i in first.max(next)..=last {
            t.push(times[i]);
            v.push(values[i]);
            next = i + 1;
        }
    };
    keep(0);
    for bucket in 0..buckets {
        let (a, b) = (1 + bucket * (n - 2) / buckets, 1 + (bucket + 1) * (n - 2) / buckets);
        let (mut low, mut high, mut gap, mut jump) = (None, None, None, None);
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
            let size = |k: usize| (values[k] - values[k - 1]).abs();
            if jumps(i) && jump.is_none_or(|k: usize| size(i) > size(k)) {
                jump = Some(i);
            }
        }
        let mut list = [low, high, gap, jump];
        list.sort_unstable();
        list.into_iter().flatten().for_each(&mut keep);
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

    /// A line that goes up and jumps back, 2000 times on 50 000 points, and once far in a place where nothing else is special.
    #[test]
    fn both_sides_of_a_jump_stay_or_go_together() {
        let row = |i: u32| (f64::from(i - i % 25 / 24), if i % 25 == 24 { 0.0 } else { f64::from(i % 25) });
        let (times, mut values): (Vec<f64>, Vec<f64>) = (1..50_000).map(row).unzip();
        let twin = |t: &[f64], k: usize| k > 0 && t[k] == t[k - 1];
        let jump = (30_000..).find(|&k| twin(&times, k)).unwrap();
        (values[jump - 1], values[jump]) = (20.0, -10.0);
        let (t, v) = thin(&times, &values, 100);
        assert!(t.len() < 5 * 100 + 4 && t.is_sorted(), "{}", t.len());
        let place = t.iter().position(|&x| x == times[jump]).unwrap();
        assert_eq!(v[place..place + 2], [20.0, -10.0]);
        let alone = (0..t.len()).filter(|&k| {
            let row = times.iter().position(|&x| x == t[k]).unwrap();
            twin(&times, row + 1) != (twin(&t, k) || twin(&t, k + 1))
        });
        assert_eq!(alone.count(), 0);
        // The end may be one, too.
        let (t, v) = thin(&[0.0, 1.0, 2.0, 2.0], &[0.0, 0.0, 0.0, 5.0], 0);
        assert_eq!((t, v), (vec![0.0, 2.0, 2.0], vec![0.0, 0.0, 5.0]));
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
