//! The spectral radius of a linear recurrence, from a sequence of its values alone.
//!
//! A linear system with constant steps is `x_{k+1} = A x_k`, whatever its members keep to themselves: what is seen of it,
//! `d_k = C x_k`, stacked to `z_k = (d_k, d_{k+1}, …, d_{k+p−1})`, obeys `z_{k+1} = B z_k` with the eigenvalues of A that are
//! excited and seen. B is found by least squares in the space that the singular vectors of all `z_k / |z_k|` span.

use powerbond_core::numerics::spectral_radius;

/// A sequence of differences between two runs.
#[derive(Clone, Debug, Default)]
pub struct Sequence {
    /// How many numbers are seen at a time.
    pub width: usize,
    /// One after the other.
    pub values: Vec<f64>,
}

/// Numbers in `z` at most, and at least where there is enough to see.
const ROWS: usize = 24;
/// Columns per row.
const COLUMNS: usize = 5;
/// What `B` predicts may miss this share of what comes.
const LINEAR: f64 = 1e-5;
/// Ranks whose residual is this many times the smallest one are as good; the lowest of them has the least noise.
const AS_GOOD: f64 = 10.0;
/// Singular values below this share of the largest are rounding, of which differences have a billionth: what is fitted to it has
/// eigenvalues of any size.
const ROUNDING: f64 = 1e-7;
/// Sweeps of Jacobi's method; it ends earlier.
const SWEEPS: usize = 30;

impl Sequence {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.values.len() / self.width.max(1)
    }

    fn at(&self, k: usize) -> &[f64] {
        &self.values[k * self.width..(k + 1) * self.width]
    }

    /// Keeps the first ones.
    pub fn truncate(&mut self, count: usize) {
        self.values.truncate(count * self.width);
    }

    /// The largest of the absolute values at `k`.
    pub fn size(&self, k: usize) -> f64 {
        self.at(k).iter().fold(0.0, |m: f64, x| if x.is_nan() { f64::INFINITY } else { m.max(x.abs()) })
    }

    /// Growth per step: the largest value of the last third over the largest of the first third, two thirds apart.
    pub fn growth(&self) -> Option<f64> {
        let third = self.len() / 3;
        let largest = |from: usize| (from..from + third).map(|k| self.size(k)).fold(0.0, f64::max);
        let (first, last) = (largest(0), largest(2 * third));
        (third > 0 && first > 0.0).then(|| (last / first).powf(0.5 / third as f64))
    }

    /// The spectral radius of the recurrence, per step; none where no recurrence of its length fits.
    pub fn spectral_radius(&self) -> Option<f64> {
        let blocks = ROWS.div_ceil(self.width.max(1)).max(2);
        let fitting = |blocks: usize| {
            let rows = blocks * self.width;
            // Far apart, so that slow modes can be told from each other; A^s has the s-th powers of the eigenvalues.
            let stride = (self.len() / (blocks + COLUMNS * rows)).max(1);
            let columns = (self.len().div_ceil(stride)).saturating_sub(blocks + 1);
            (columns >= 2 * rows).then_some((rows, columns, stride))
        };
        let (blocks, (rows, columns, stride)) =
            (2..=blocks).rev().find_map(|blocks| Some((blocks, fitting(blocks)?)))?;
        // z_k / |z_k| and z_{k+1} / |z_k|.
        let mut now = vec![vec![0.0; columns]; rows];
        let mut next = vec![vec![0.0; columns]; rows];
        for k in 0..columns {
            let size = (0..blocks).map(|b| self.size((k + b) * stride)).fold(0.0, f64::max);
            if !(size > 0.0 && size.is_finite()) {
                return None;
            }
            for b in 0..blocks {
                for (w, (x, y)) in
                    self.at((k + b) * stride).iter().zip(self.at((k + b + 1) * stride)).enumerate()
                {
                    now[b * self.width + w][k] = x / size;
                    next[b * self.width + w][k] = y / size;
                }
            }
        }
        let total = square(next.iter().flatten());
        let Directions { left, right, values } = directions(now);
        let usable = values.iter().take_while(|s| **s > ROUNDING * values[0]).count();
        // B in the space of the first r directions: bᵢⱼ = lᵢ · Z₁ rⱼ / σⱼ.
        let image: Vec<Vec<f64>> =
            right[..usable].iter().map(|r| next.iter().map(|row| dot(row, r)).collect()).collect();
        // Z₁ without what the first r directions explain, row by row.
        let residual = |r: usize| {
            let coefficients: Vec<Vec<f64>> =
                left[..r].iter().map(|l| image[..r].iter().map(|column| dot(l, column)).collect()).collect();
            let mut missed = 0.0;
            for (i, row) in next.iter().enumerate() {
                let weight = |j: usize| (0..r).map(|m| left[m][i] * coefficients[m][j]).sum::<f64>();
                let weights: Vec<f64> = (0..r).map(weight).collect();
                for (k, x) in row.iter().enumerate() {
                    let explained: f64 = weights.iter().zip(&right).map(|(w, r)| w * r[k]).sum();
                    missed += (x - explained) * (x - explained);
                }
            }
            (missed / total).sqrt()
        };
        let residuals: Vec<f64> = (1..=usable).map(residual).collect();
        let best = residuals.iter().copied().fold(f64::INFINITY, f64::min);
        if best.is_nan() || best > LINEAR {
            return None;
        }
        let rank = 1 + residuals.iter().position(|r| *r <= AS_GOOD * best)?;
        let b: Vec<f64> =
            (0..rank * rank).map(|k| dot(&left[k / rank], &image[k % rank]) / values[k % rank]).collect();
        let radius = spectral_radius(&b, rank).powf(1.0 / stride as f64);
        radius.is_finite().then_some(radius)
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

fn square<'a>(values: impl Iterator<Item = &'a f64>) -> f64 {
    values.map(|x| x * x).sum()
}

/// Singular vectors and values of a matrix, the largest first.
struct Directions {
    left: Vec<Vec<f64>>,
    right: Vec<Vec<f64>>,
    values: Vec<f64>,
}

/// Jacobi's one-sided method: rows are rotated in pairs until all are orthogonal.
fn directions(mut rows: Vec<Vec<f64>>) -> Directions {
    let n = rows.len();
    let mut turned: Vec<Vec<f64>> =
        (0..n).map(|i| (0..n).map(|j| f64::from(u8::from(i == j))).collect()).collect();
    for _ in 0..SWEEPS {
        let mut turns = 0;
        for i in 0..n {
            for j in i + 1..n {
                let (a, b, c) = (dot(&rows[i], &rows[i]), dot(&rows[j], &rows[j]), dot(&rows[i], &rows[j]));
                if c.abs() <= f64::EPSILON * (a * b).sqrt() || c == 0.0 {
                    continue;
                }
                turns += 1;
                let zeta = (b - a) / (2.0 * c);
                let t = zeta.signum() / (zeta.abs() + zeta.hypot(1.0));
                let cosine = 1.0 / t.hypot(1.0);
                for list in [&mut rows, &mut turned] {
                    let (head, tail) = list.split_at_mut(j);
                    rotate(&mut head[i], &mut tail[0], cosine, cosine * t);
                }
            }
        }
        if turns == 0 {
            break;
        }
    }
    let lengths: Vec<f64> = rows.iter().map(|row| square(row.iter()).sqrt()).collect();
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&a, &b| lengths[b].total_cmp(&lengths[a]));
    let unit = |i: &usize| rows[*i].iter().map(|x| x / lengths[*i].max(f64::MIN_POSITIVE)).collect();
    Directions {
        left: order.iter().map(|&i| turned[i].clone()).collect(),
        right: order.iter().map(unit).collect(),
        values: order.iter().map(|&i| lengths[i]).collect(),
    }
}

fn rotate(a: &mut [f64], b: &mut [f64], cosine: f64, sine: f64) {
    for (x, y) in a.iter_mut().zip(b) {
        (*x, *y) = (cosine * *x - sine * *y, sine * *x + cosine * *y);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sums of `ρ^k cos(φ k)`, whose spectral radius is the largest ρ.
    fn modes(list: &[(f64, f64)], width: usize, count: usize) -> Sequence {
        let value = |k: usize, w: usize| {
            let mode = |(m, (rho, phi)): (usize, &(f64, f64))| {
                rho.powi(k as i32) * (phi * k as f64 + (m * width + w) as f64).cos()
            };
            list.iter().enumerate().map(mode).sum::<f64>()
        };
        Sequence { width, values: (0..count * width).map(|n| value(n / width, n % width)).collect() }
    }

    #[test]
    fn the_radius_is_that_of_the_largest_mode() {
        let check = |list: &[(f64, f64)], width: usize, count: usize, tolerance: f64| {
            let largest = list.iter().map(|m| m.0).fold(0.0, f64::max);
            let found = modes(list, width, count).spectral_radius().expect("linear");
            assert!((found - largest).abs() <= tolerance, "{found} instead of {largest}");
        };
        check(&[(0.9, 0.3)], 1, 200, 1e-9);
        check(&[(1.2, 3.0), (0.99, 0.0)], 2, 300, 1e-9);
        check(&[(1.001, 1.0), (0.999, 0.9), (0.5, 2.0)], 2, 400, 1e-8);
        // Slow modes of small steps, of which thousands are seen.
        check(&[(1.0 - 1e-4, 1e-3), (1.0 - 2e-3, 6e-3)], 2, 5000, 1e-8);
    }

    #[test]
    fn what_is_not_linear_has_no_radius() {
        // The logistic map.
        let mut x = 0.3;
        let values = (0..300).map(|_| {
            x = 3.9 * x * (1.0 - x);
            x
        });
        assert_eq!(Sequence { width: 1, values: values.collect() }.spectral_radius(), None);
        assert_eq!(Sequence { width: 2, values: vec![0.0; 400] }.spectral_radius(), None);
        assert_eq!(Sequence { width: 1, values: vec![1.0; 3] }.spectral_radius(), None);
    }

    #[test]
    fn growth_is_per_step() {
        let found = modes(&[(1.05, 0.7)], 2, 300).growth().expect("a growth");
        assert!((found - 1.05).abs() < 1e-3, "{found}");
        assert_eq!(Sequence { width: 1, values: vec![] }.growth(), None);
    }
}
