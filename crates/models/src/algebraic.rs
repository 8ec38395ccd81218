//! A gain with direct feed-through and, if wanted, an integral part: the block that algebraic loops are made of.
//!
//! `y = gain u + integral x + offset`, `ẋ = u`. Held inputs are polynomials, so that x is exact.

use super::equations::{input, local, output};
use super::{Built, Capability, Domain, Equations, InputPolynomial, ModelSpec, ParameterSpec};
use powerbond_core::subsystem::{SubsystemError, Variable};

/// `algebraic/gain`: an output that depends on its input at the same instant.
pub static GAIN: ModelSpec = ModelSpec {
    name: "algebraic/gain",
    description: "A proportional and integral block: y = gain u + integral x + offset, x' = u. Direct feed-through \
                  unless gain = 0",
    parameters: &[
        ParameterSpec {
            name: "gain",
            unit: "",
            domain: Domain::any(1.0),
            description: "Direct feed-through: change of y with u",
        },
        ParameterSpec {
            name: "integral",
            unit: "1/s",
            domain: Domain::any(0.0),
            description: "Weight of the integral of u",
        },
        ParameterSpec { name: "offset", unit: "", domain: Domain::any(0.0), description: "Is added" },
        ParameterSpec {
            name: "initial_state",
            unit: "s",
            domain: Domain::any(0.0),
            description: "The integral of u at the start",
        },
    ],
    make: |p| {
        let equations = Gain {
            gain: p.number("gain"),
            integral: p.number("integral"),
            offset: p.number("offset"),
            x: p.number("initial_state"),
        };
        Box::new(Built::new(GAIN.name, equations, Capability::of(p)))
    },
};

#[derive(Clone)]
struct Gain {
    gain: f64,
    integral: f64,
    offset: f64,
    x: f64,
}

impl Equations<1, 1> for Gain {
    fn variables(&self) -> Vec<Variable> {
        // Without units: it may stand between any two quantities.
        let plain = |variable: Variable| Variable { unit: None, ..variable };
        [input("u", "", "Input"), output("y", "", "Output"), local("x", "", "Integral of the input")]
            .map(plain)
            .to_vec()
    }

    fn feed_through(&self) -> Vec<(usize, usize)> {
        if self.gain == 0.0 { Vec::new() } else { vec![(0, 0)] }
    }

    fn step(&mut self, _t: f64, h: f64, u: &InputPolynomial<1>) -> Result<(), SubsystemError> {
        self.x += h * (u.value[0] + h * (u.slope[0] / 2.0 + h * u.curvature[0] / 6.0));
        Ok(())
    }

    fn output(&self, u: &[f64; 1]) -> [f64; 1] {
        [self.gain * u[0] + self.integral * self.x + self.offset]
    }

    fn local(&self, _k: usize, _u: &[f64; 1]) -> f64 {
        self.x
    }

    fn state(&mut self, visit: &mut dyn FnMut(&mut f64)) -> bool {
        visit(&mut self.x);
        true
    }

    fn derivatives(&self, _u: &[f64; 1], d: &mut [f64]) -> bool {
        d.fill(self.gain);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ∫(1 + 2τ + 3τ²) from 0 to 2 is 2 + 4 + 8.
    #[test]
    fn the_integral_of_a_parabola_is_exact() {
        let mut block = Gain { gain: 3.0, integral: 0.5, offset: 1.0, x: 0.0 };
        let held = InputPolynomial { value: [1.0], slope: [2.0], curvature: [6.0] };
        assert!(block.step(0.0, 2.0, &held).is_ok());
        assert_eq!(block.x, 14.0);
        assert_eq!(block.output(&[2.0]), [3.0 * 2.0 + 0.5 * 14.0 + 1.0]);
    }
}
