//! How a model crosses a step: equal micro steps as in the papers, or an accurate integrator.

use super::integrate::dormand_prince;
use super::{Domain, ParameterSpec, Parameters};

/// Relative and absolute error of the accurate integrator per step and state.
const ACCURATE: f64 = 1e-10;

/// The choice of a model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Integrator {
    /// This many equal micro steps; the model says of which kind.
    Micro(u32),
    /// Dormand–Prince with a tolerance of 1e-10.
    Accurate,
}

impl Integrator {
    /// From the parameters `integrator` and `micro_steps`.
    pub fn of(p: &Parameters) -> Self {
        match p.choice("integrator") {
            "accurate" => Integrator::Accurate,
            _ => Integrator::Micro(p.count("micro_steps")),
        }
    }

    /// When the input is sampled last, in seconds after the start of a step of length `h`: at the start of the last
    /// micro step, or at the end of an accurate step. rodriguez2022 evaluates outputs with that input.
    pub fn last_input(self, h: f64) -> f64 {
        match self {
            Integrator::Micro(n) => f64::from(n - 1) * (h / f64::from(n)),
            Integrator::Accurate => h,
        }
    }

    /// The states x and the guessed inner step after `h`, by explicit Euler: `x += dt·rate(τ, x)`, τ the time since the
    /// start of the step.
    pub fn euler<const N: usize>(
        self,
        (mut x, mut guess): ([f64; N], f64),
        h: f64,
        rate: impl Fn(f64, &[f64; N]) -> [f64; N],
    ) -> ([f64; N], f64) {
        match self {
            Integrator::Micro(n) => {
                let dt = h / f64::from(n);
                for i in 0..n {
                    let d = rate(f64::from(i) * dt, &x);
                    for (x, d) in x.iter_mut().zip(d) {
                        *x += dt * d;
                    }
                }
            }
            Integrator::Accurate => dormand_prince(&mut x, 0.0, h, ACCURATE, &mut guess, rate),
        }
        (x, guess)
    }

    /// As [`Integrator::euler`], by symplectic Euler: `v += dt·a; q += dt·v`. The first half of `x` are the coordinates q, the
    /// second half their velocities v; `rate` is the derivative of all of `x`.
    pub fn symplectic<const N: usize>(
        self,
        (mut x, mut guess): ([f64; N], f64),
        h: f64,
        rate: impl Fn(f64, &[f64; N]) -> [f64; N],
    ) -> ([f64; N], f64) {
        match self {
            Integrator::Micro(n) => {
                let dt = h / f64::from(n);
                for i in 0..n {
                    let d = rate(f64::from(i) * dt, &x);
                    for k in N / 2..N {
                        x[k] += dt * d[k];
                    }
                    for k in 0..N / 2 {
                        x[k] += dt * x[N / 2 + k];
                    }
                }
            }
            Integrator::Accurate => dormand_prince(&mut x, 0.0, h, ACCURATE, &mut guess, rate),
        }
        (x, guess)
    }
}

/// As [`Integrator::symplectic`], by `n` equal steps of Newmark's method with γ = 1/2 and β = 1/4 (the trapezoid rule for coordinates and
/// velocities): `x⁺ = x + dt (rate(τ, x) + rate(τ + dt, x⁺))/2`, solved by substitution. It takes the inputs at the end of each micro
/// step as they are held there. `None` if that does not converge: the step is too long.
///
/// N. M. Newmark, doi 10.1061/jmcea3.0000098; rodriguez2022 §2 names it where outputs and states need the input at the end.
pub(super) fn newmark<const N: usize>(
    mut x: [f64; N],
    n: u32,
    h: f64,
    rate: impl Fn(f64, &[f64; N]) -> [f64; N],
) -> Option<[f64; N]> {
    let dt = h / f64::from(n);
    for i in 0..n {
        let tau = f64::from(i) * dt;
        let start = rate(tau, &x);
        let mut next: [f64; N] = std::array::from_fn(|k| x[k] + dt * start[k]);
        let converged = (0..SUBSTITUTIONS).any(|_| {
            let end = rate(tau + dt, &next);
            let better: [f64; N] = std::array::from_fn(|k| x[k] + 0.5 * dt * (start[k] + end[k]));
            let change = |k: usize| (better[k] - next[k]).abs() / (1.0 + better[k].abs());
            let largest = (0..N).map(change).fold(0.0, f64::max);
            next = better;
            largest <= SUBSTITUTED
        });
        if !converged {
            return None;
        }
        x = next;
    }
    Some(x)
}

/// How often [`newmark`] substitutes at most, and the relative change at which it is done: what is left is that change times the
/// contraction of a substitution.
const SUBSTITUTIONS: u32 = 60;
const SUBSTITUTED: f64 = 1e-12;

/// The parameter `micro_steps`.
pub(super) const fn micro_steps(default: u32) -> ParameterSpec {
    ParameterSpec {
        name: "micro_steps",
        unit: "",
        domain: Domain::Count { default, min: 1, max: 1_000_000 },
        description: "Euler steps of the subsystem within one step",
    }
}

/// The parameter `integrator` of models whose micro steps are explicit Euler.
pub(super) const EULER: ParameterSpec = ParameterSpec {
    name: "integrator",
    unit: "",
    domain: Domain::Choice(&["euler", "accurate"]),
    description: "Explicit Euler as in the papers, or an adaptive method of order 5",
};

/// The parameter `integrator` of models whose micro steps are symplectic Euler.
pub(super) const SYMPLECTIC: ParameterSpec = ParameterSpec {
    name: "integrator",
    unit: "",
    domain: Domain::Choice(&["symplectic", "accurate"]),
    description: "Symplectic Euler as in rodriguez2022, or an adaptive method of order 5",
};

#[cfg(test)]
mod tests {
    use super::{Integrator, newmark};

    /// x'' = -x. The trapezoid rule is Cayley's map, which keeps x² + v² and turns by 2 atan(h/2) per step.
    #[test]
    fn newmark_is_the_trapezoid_rule() {
        let h = 0.3f64;
        let [q, v] = newmark([1.0, 0.0], 1000, 1000.0 * h, |_, x| [x[1], -x[0]]).expect("it converges");
        let angle = 2000.0 * (h / 2.0).atan();
        assert!((q - angle.cos()).abs() < 1e-10 && (v + angle.sin()).abs() < 1e-10, "{q} {v}");
        assert_eq!(newmark([1.0, 0.0], 1, 3.0, |_, x| [x[1], -x[0]]), None, "h/2 > 1: substitution diverges");
    }

    /// x'' = -x. One symplectic step is the map v' = v - h x, x' = x + h v', which keeps x² + v² - h x v.
    #[test]
    fn symplectic_steps_keep_the_invariant_of_their_map() {
        let (mut x, h) = (([1.0, 0.0], 0.0), 0.3);
        for _ in 0..1000 {
            x = Integrator::Micro(1).symplectic(x, h, |_, x| [x[1], -x[0]]);
        }
        let ([q, v], _): ([f64; 2], f64) = x;
        assert!((q * q + v * v - h * q * v - 1.0).abs() < 1e-10, "{x:?}");
    }

    #[test]
    fn the_last_input_is_that_of_the_last_micro_step() {
        assert_eq!(Integrator::Micro(1).last_input(0.5), 0.0);
        assert_eq!(Integrator::Micro(4).last_input(0.5), 0.375);
        assert_eq!(Integrator::Accurate.last_input(0.5), 0.5);
    }
}
