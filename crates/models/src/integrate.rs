//! An accurate integrator for models and reference solutions: Dormand–Prince 5(4) with error control.

/// Crosses `h` seconds from `t` with relative and absolute error `tolerance` per step and component.
///
/// `f(t, x)` is the derivative. The step that worked last is kept in `guess` (0 at first), so that following calls
/// start with it. Where the right-hand side is not smooth the step goes down to a 10^-7 part of `h` and is kept.
pub fn dormand_prince<const N: usize>(
    x: &mut [f64; N],
    t: f64,
    h: f64,
    tolerance: f64,
    guess: &mut f64,
    mut f: impl FnMut(f64, &[f64; N]) -> [f64; N],
) {
    let mut done = 0.0;
    if *guess <= 0.0 {
        *guess = h;
    }
    let floor = h * 1e-7;
    while done < h {
        let rest = h - done;
        let step = if *guess >= rest * (1.0 - 1e-12) { rest } else { *guess };
        let (next, error) = stage(x, t + done, step, &mut f);
        let norm = (0..N)
            .map(|i| (error[i] / (tolerance * (1.0 + x[i].abs().max(next[i].abs())))).powi(2))
            .sum::<f64>()
            .sqrt();
        let accepted = norm <= 1.0 || step <= floor || !norm.is_finite();
        if accepted {
            *x = next;
            done = if step == rest { h } else { done + step };
        }
        let factor = if norm == 0.0 { 5.0 } else { (0.9 * norm.powf(-0.2)).clamp(0.2, 5.0) };
        // The last step of a span is often cut short and says nothing against the guess.
        if !accepted || step == *guess || factor * step > *guess {
            *guess = (factor * step).max(floor);
        }
    }
}

const C: [f64; 7] = [0.0, 0.2, 0.3, 0.8, 8.0 / 9.0, 1.0, 1.0];
const A: [[f64; 6]; 7] = [
    [0.0; 6],
    [0.2, 0.0, 0.0, 0.0, 0.0, 0.0],
    [3.0 / 40.0, 9.0 / 40.0, 0.0, 0.0, 0.0, 0.0],
    [44.0 / 45.0, -56.0 / 15.0, 32.0 / 9.0, 0.0, 0.0, 0.0],
    [19372.0 / 6561.0, -25360.0 / 2187.0, 64448.0 / 6561.0, -212.0 / 729.0, 0.0, 0.0],
    [9017.0 / 3168.0, -355.0 / 33.0, 46732.0 / 5247.0, 49.0 / 176.0, -5103.0 / 18656.0, 0.0],
    [35.0 / 384.0, 0.0, 500.0 / 1113.0, 125.0 / 192.0, -2187.0 / 6784.0, 11.0 / 84.0],
];
const E: [f64; 7] =
    [71.0 / 57600.0, 0.0, -71.0 / 16695.0, 71.0 / 1920.0, -17253.0 / 339200.0, 22.0 / 525.0, -1.0 / 40.0];

/// One step: the solution of order 5 and its difference to that of order 4.
fn stage<const N: usize>(
    x: &[f64; N],
    t: f64,
    h: f64,
    f: &mut impl FnMut(f64, &[f64; N]) -> [f64; N],
) -> ([f64; N], [f64; N]) {
    let mut k = [[0.0; N]; 7];
    let mut at = *x;
    for s in 0..7 {
        for i in 0..N {
            at[i] = x[i] + h * (0..s).map(|j| A[s][j] * k[j][i]).sum::<f64>();
        }
        k[s] = f(t + C[s] * h, &at);
    }
    let error = std::array::from_fn(|i| h * (0..7).map(|s| E[s] * k[s][i]).sum::<f64>());
    (at, error)
}

/// Crosses `steps` steps of length `h` by the classical method of order 4: an independent judge of the other one.
#[cfg(test)]
pub(super) fn runge_kutta<const N: usize>(
    x: &mut [f64; N],
    h: f64,
    steps: u32,
    f: impl Fn(f64, &[f64; N]) -> [f64; N],
) {
    for n in 0..steps {
        let t = f64::from(n) * h;
        let along = |d: &[f64; N], h: f64| std::array::from_fn(|i| x[i] + h * d[i]);
        let a = f(t, x);
        let b = f(t + 0.5 * h, &along(&a, 0.5 * h));
        let c = f(t + 0.5 * h, &along(&b, 0.5 * h));
        let d = f(t + h, &along(&c, h));
        *x = std::array::from_fn(|i| x[i] + h / 6.0 * (a[i] + 2.0 * (b[i] + c[i]) + d[i]));
    }
}

#[cfg(test)]
mod tests {
    use super::dormand_prince;

    /// x'' = -x: after ten turns the exact answer is known.
    #[test]
    fn a_harmonic_oscillator_comes_back() {
        let (mut x, mut guess) = ([1.0, 0.0], 0.0);
        let period = std::f64::consts::TAU;
        for turn in 0..10 {
            dormand_prince(&mut x, f64::from(turn) * period, period, 1e-12, &mut guess, |_, x| [x[1], -x[0]]);
        }
        assert!((x[0] - 1.0).abs() < 1e-9 && x[1].abs() < 1e-9, "{x:?}");
    }
}
