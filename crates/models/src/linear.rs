//! Linear systems under polynomial inputs, crossed exactly.

/// A square matrix by rows.
pub type Matrix<const N: usize> = [[f64; N]; N];

/// What carries `ẋ = A x + b(t)`, `b(τ) = b0 + b1 τ + b2 τ²/2`, over `h` without error:
/// `x(h) = E x + Γ1 b0 + Γ2 b1 + Γ3 b2`, `E = exp(A h)`, `Γj = ∫_0^h exp(A (h-τ)) τ^(j-1)/(j-1)! dτ`.
///
/// These are the blocks of the exponential of the augmented system `(x, b, ḃ, b̈)`.
#[derive(Clone, Copy, Debug)]
pub struct Propagator<const N: usize> {
    h: f64,
    e: Matrix<N>,
    gamma: [Matrix<N>; 3],
}

impl<const N: usize> Propagator<N> {
    /// For steps of `h` seconds, which may be negative: Taylor series on a `2^-s` part of the step, then doubled s
    /// times.
    pub fn new(a: &Matrix<N>, h: f64) -> Self {
        let norm = (0..N).map(|j| (0..N).map(|i| a[i][j].abs()).sum::<f64>()).fold(0.0, f64::max) * h.abs();
        let doublings = if norm > 0.25 { (norm / 0.25).log2().ceil() as u32 } else { 0 };
        let mut h_part = h / 2f64.powi(doublings as i32);
        let mut blocks = [[[0.0; N]; N]; 4];
        for (j, block) in blocks.iter_mut().enumerate() {
            // Σ_n A^n h^(n+j)/(n+j)!
            let mut term = scaled(&identity(), (1..=j).map(|k| h_part / k as f64).product());
            for n in 1..=TERMS {
                add(block, &term);
                term = scaled(&product(a, &term), h_part / (n + j) as f64);
            }
        }
        let [mut e, mut g1, mut g2, mut g3] = blocks;
        for _ in 0..doublings {
            let mut next = [product(&e, &g1), product(&e, &g2), product(&e, &g3)];
            add(&mut next[0], &g1);
            add(&mut next[1], &g2);
            add(&mut next[1], &scaled(&g1, h_part));
            add(&mut next[2], &g3);
            add(&mut next[2], &scaled(&g2, h_part));
            add(&mut next[2], &scaled(&g1, 0.5 * h_part * h_part));
            [g1, g2, g3] = next;
            e = product(&e, &e);
            h_part *= 2.0;
        }
        Propagator { h, e, gamma: [g1, g2, g3] }
    }

    /// `x(h)` from `x(0)` and the coefficients of `b`.
    pub fn cross(&self, x: &[f64; N], b: &[[f64; N]; 3]) -> [f64; N] {
        std::array::from_fn(|i| {
            let mut sum = dot(&self.e[i], x);
            for (gamma, b) in self.gamma.iter().zip(b) {
                sum += dot(&gamma[i], b);
            }
            sum
        })
    }
}

/// Enough for the last term to vanish in double precision at a norm of 1/4.
const TERMS: usize = 14;

/// Propagators of the step lengths used last: a run with a constant step needs one, double steps need two.
#[derive(Clone, Copy, Debug)]
pub struct Propagators<const N: usize> {
    kept: [Option<Propagator<N>>; 2],
    next: usize,
}

impl<const N: usize> Default for Propagators<N> {
    fn default() -> Self {
        Propagators { kept: [None; 2], next: 0 }
    }
}

impl<const N: usize> Propagators<N> {
    /// The propagator for `h`, made if it is not there.
    pub fn of(&mut self, a: &Matrix<N>, h: f64) -> &Propagator<N> {
        let found = self.kept.iter().position(|p| p.is_some_and(|p| p.h == h));
        let place = found.unwrap_or_else(|| {
            self.next = (self.next + 1) % self.kept.len();
            self.kept[self.next] = None;
            self.next
        });
        self.kept[place].get_or_insert_with(|| Propagator::new(a, h))
    }
}

fn identity<const N: usize>() -> Matrix<N> {
    std::array::from_fn(|i| std::array::from_fn(|j| f64::from(u8::from(i == j))))
}

fn dot<const N: usize>(a: &[f64; N], b: &[f64; N]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn product<const N: usize>(a: &Matrix<N>, b: &Matrix<N>) -> Matrix<N> {
    std::array::from_fn(|i| std::array::from_fn(|j| (0..N).map(|k| a[i][k] * b[k][j]).sum()))
}

fn scaled<const N: usize>(a: &Matrix<N>, factor: f64) -> Matrix<N> {
    a.map(|row| row.map(|v| v * factor))
}

fn add<const N: usize>(a: &mut Matrix<N>, b: &Matrix<N>) {
    for (a, b) in a.iter_mut().flatten().zip(b.iter().flatten()) {
        *a += b;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// x'' = -w² x + t²/2 has the solution x = cos(wt) + (t²/2 - (1 - cos(wt))/w²)/w² from x = 1, x' = 0.
    #[test]
    fn an_oscillator_under_a_parabola_is_crossed_exactly() {
        let w = 7.0f64;
        let a = [[0.0, 1.0], [-w * w, 0.0]];
        let b = [[0.0; 2], [0.0; 2], [0.0, 1.0]];
        for h in [1e-3, 0.1, 2.0, -0.3] {
            let x = Propagator::new(&a, h).cross(&[1.0, 0.0], &b);
            let exact = (w * h).cos() + (0.5 * h * h - (1.0 - (w * h).cos()) / (w * w)) / (w * w);
            assert!((x[0] - exact).abs() < 1e-14, "h {h}: {} instead of {exact}", x[0]);
        }
    }

    #[test]
    fn propagators_are_kept_by_step_length() {
        let a = [[-2.0]];
        let mut kept = Propagators::default();
        for h in [0.1, 0.2, 0.1, 0.3, 0.2, 0.1] {
            let x = kept.of(&a, h).cross(&[1.0], &[[0.0]; 3])[0];
            assert!((x - (-2.0 * h).exp()).abs() < 1e-15, "h {h}: {x}");
        }
    }
}
