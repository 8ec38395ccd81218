//! Small dense linear systems.

/// Gauss elimination with row pivoting of an n × (n+1) system in place; false if it is singular.
pub(crate) fn solve(m: &mut [f64], n: usize) -> bool {
    let w = n + 1;
    for k in 0..n {
        let Some(p) = (k..n).max_by(|&a, &b| m[a * w + k].abs().total_cmp(&m[b * w + k].abs())) else {
            return false;
        };
        if m[p * w + k].abs() < 1e-12 {
            return false;
        }
        for c in 0..w {
            m.swap(k * w + c, p * w + c);
        }
        for r in (0..n).filter(|&r| r != k) {
            let factor = m[r * w + k] / m[k * w + k];
            for c in k..w {
                m[r * w + c] -= factor * m[k * w + c];
            }
        }
    }
    for k in 0..n {
        m[k * w + n] /= m[k * w + k];
    }
    true
}

/// Gauss–Jordan elimination with row pivoting of an n × 2n matrix `[A | 1]` in place: `[1 | A⁻¹]`; false if A is singular.
pub(crate) fn invert(m: &mut [f64], n: usize) -> bool {
    let w = 2 * n;
    let largest = m.chunks(w).flat_map(|row| &row[..n]).fold(0.0f64, |a, x| a.max(x.abs()));
    for k in 0..n {
        let Some(p) = (k..n).max_by(|&a, &b| m[a * w + k].abs().total_cmp(&m[b * w + k].abs())) else {
            return false;
        };
        // Entries may be differences with eight digits.
        if m[p * w + k].abs() <= 1e-8 * largest.min(1.0) {
            return false;
        }
        for c in 0..w {
            m.swap(k * w + c, p * w + c);
        }
        let pivot = m[k * w + k];
        m[k * w..(k + 1) * w].iter_mut().for_each(|x| *x /= pivot);
        for r in (0..n).filter(|&r| r != k) {
            let factor = m[r * w + k];
            if factor != 0.0 {
                for c in 0..w {
                    m[r * w + c] -= factor * m[k * w + c];
                }
            }
        }
    }
    true
}

/// The spectral radius of an n × n matrix: `‖A^p‖^(1/p)` for p = 2^k, by squaring with rescaling.
pub fn spectral_radius(a: &[f64], n: usize) -> f64 {
    let (mut power, mut log, mut weight) = (a.to_vec(), 0.0, 1.0);
    for _ in 0..40 {
        let norm = power.iter().fold(0.0f64, |m, x| if x.is_nan() { f64::INFINITY } else { m.max(x.abs()) });
        if norm == 0.0 {
            return 0.0;
        }
        if !norm.is_finite() {
            return f64::INFINITY;
        }
        power.iter_mut().for_each(|x| *x /= norm);
        log += weight * norm.ln();
        weight *= 0.5;
        let at = |r: usize, c: usize| (0..n).map(|k| power[r * n + k] * power[k * n + c]).sum();
        power = (0..n * n).map(|k| at(k / n, k % n)).collect();
    }
    log.exp()
}

/// The spectral radius of the matrix of size n that `apply` multiplies a vector with, from how the length of a vector grows in a thousand
/// products: for large sparse matrices, to about 1 %.
pub fn spectral_radius_of(n: usize, mut apply: impl FnMut(&mut [f64])) -> f64 {
    const PRODUCTS: u32 = 1000;
    // Something that is not orthogonal to what grows most.
    let mut vector: Vec<f64> = (0..n).map(|k| 1.0 + (k as f64 * 0.754_877_666).fract()).collect();
    // What grows for a while only is left behind first.
    let mut grown = 0.0;
    for product in 0..2 * PRODUCTS {
        apply(&mut vector);
        let length = vector.iter().map(|x| x * x).sum::<f64>().sqrt();
        if length == 0.0 {
            return 0.0;
        }
        if !length.is_finite() {
            return f64::INFINITY;
        }
        vector.iter_mut().for_each(|x| *x /= length);
        if product >= PRODUCTS {
            grown += length.ln();
        }
    }
    (grown / f64::from(PRODUCTS)).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inverses_and_spectral_radii() {
        let mut m = vec![2.0, 1.0, 1.0, 0.0, 1.0, 1.0, 0.0, 1.0];
        assert!(invert(&mut m, 2));
        assert_eq!(m, [1.0, 0.0, 1.0, -1.0, 0.0, 1.0, -1.0, 2.0]);
        assert!(!invert(&mut [1.0, 2.0, 1.0, 0.0, 2.0, 4.0, 0.0, 1.0], 2));
        // A rotation by 90° times 3; a Jordan block of eigenvalue 0.5; nilpotent.
        let check = |a: &[f64], expected: f64| {
            let got = spectral_radius(a, 2);
            assert!((got - expected).abs() < 1e-6, "{got} instead of {expected}");
        };
        check(&[0.0, -3.0, 3.0, 0.0], 3.0);
        check(&[0.5, 1.0, 0.0, 0.5], 0.5);
        check(&[0.0, 1.0, 0.0, 0.0], 0.0);
    }
}
