//! Springs and dampers of the oscillators: force, slope and energy of each law.

use super::Parameters;

/// A spring. `force` pulls back: it acts on whatever is displaced by `x` with `-force(x)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Spring {
    /// `κ x`, κ in N/m.
    Linear(f64),
    /// `κ sgn(x) sqrt|x|`, κ in N/m^0.5; rodriguez2022 eq. 22.
    SquareRoot(f64),
}

impl Spring {
    /// The law that the parameter `spring` names, with the stiffness that `stiffness` names.
    pub(super) fn of(p: &Parameters, stiffness: &str) -> Self {
        let k = p.number(stiffness);
        if p.choice("spring") == "square-root" { Spring::SquareRoot(k) } else { Spring::Linear(k) }
    }

    /// In N, `x` in m.
    pub fn force(self, x: f64) -> f64 {
        match self {
            Spring::Linear(k) => k * x,
            Spring::SquareRoot(k) => k * x.signum() * x.abs().sqrt(),
        }
    }

    /// ∂force/∂x in N/m; 0 where the square root has none.
    pub fn slope(self, x: f64) -> f64 {
        match self {
            Spring::Linear(k) => k,
            Spring::SquareRoot(_) if x == 0.0 => 0.0,
            Spring::SquareRoot(k) => k / (2.0 * x.abs().sqrt()),
        }
    }

    /// What it has stored, in J.
    pub fn energy(self, x: f64) -> f64 {
        match self {
            Spring::Linear(k) => 0.5 * k * x * x,
            Spring::SquareRoot(k) => 2.0 / 3.0 * k * x.abs() * x.abs().sqrt(),
        }
    }
}

/// A damper. `force` pulls back: it acts on whatever moves with `v` with `-force(v)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Damper {
    /// `c v`, c in N.s/m.
    Linear(f64),
    /// `c sgn(v) v²`, c in N.s²/m²; rodriguez2022 eq. 23.
    Quadratic(f64),
}

impl Damper {
    /// The law that the parameter `damper` names, with the coefficient that `damping` names.
    pub(super) fn of(p: &Parameters, damping: &str) -> Self {
        let c = p.number(damping);
        if p.choice("damper") == "quadratic" { Damper::Quadratic(c) } else { Damper::Linear(c) }
    }

    /// In N, `v` in m/s.
    pub fn force(self, v: f64) -> f64 {
        match self {
            Damper::Linear(c) => c * v,
            Damper::Quadratic(c) => c * v * v.abs(),
        }
    }

    /// ∂force/∂v in N.s/m.
    pub fn slope(self, v: f64) -> f64 {
        match self {
            Damper::Linear(c) => c,
            Damper::Quadratic(c) => 2.0 * c * v.abs(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Slopes and energies against central differences and the derivative of the energy.
    #[test]
    fn force_is_the_derivative_of_energy_and_slope_that_of_force() {
        let d = 1e-6;
        for spring in [Spring::Linear(10.0), Spring::SquareRoot(10.0)] {
            for x in [-2.5, 0.3, 7.0] {
                let force = (spring.energy(x + d) - spring.energy(x - d)) / (2.0 * d);
                assert!((force - spring.force(x)).abs() < 1e-6, "{spring:?} at {x}");
                let slope = (spring.force(x + d) - spring.force(x - d)) / (2.0 * d);
                assert!((slope - spring.slope(x)).abs() < 1e-6, "{spring:?} at {x}");
            }
        }
        for damper in [Damper::Linear(3.0), Damper::Quadratic(3.0)] {
            for v in [-2.5, 0.3, 7.0] {
                let slope = (damper.force(v + d) - damper.force(v - d)) / (2.0 * d);
                assert!((slope - damper.slope(v)).abs() < 1e-6, "{damper:?} at {v}");
                assert!(damper.force(v) * v > 0.0);
            }
        }
    }
}
