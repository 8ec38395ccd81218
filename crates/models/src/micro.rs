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
    use super::Integrator;

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
