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
