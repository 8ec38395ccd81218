//! The double nonlinear oscillator of rodriguez2022 §4.2: square-root springs or quadratic dampers.
//!
//! The split and the signs are those of the linear oscillator; springs pull with `κ sgn(x) sqrt|x|` (eq. 22), dampers
//! with `c sgn(v) v²` (eq. 23), or linearly. The energy of a square-root spring is `2/3 κ |x|^1.5`.

use super::force_laws::{Damper, Spring};
use super::micro::{SYMPLECTIC, micro_steps};
use super::oscillator::{self, ForceGiver, Mass, Reference};
use super::oscillator::{COUPLING_DAMPING, COUPLING_STIFFNESS, DAMPING, INITIAL_POSITION, MASS_PARAMETER};
use super::{Built, Capability, Domain, ModelSpec, ParameterSpec, ParameterValue};

/// All parameters of a nonlinear oscillator.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Case {
    /// Masses, coefficients and initial values.
    pub oscillator: oscillator::Case,
    /// The law of all three springs: "square-root" or "linear".
    pub spring: &'static str,
    /// The law of all three dampers: "quadratic" or "linear".
    pub damper: &'static str,
}

impl Case {
    /// The parameters of the force giver.
    pub fn giver_parameters(&self) -> Vec<(String, ParameterValue)> {
        self.with_laws(self.oscillator.giver_parameters())
    }

    /// The parameters of the mass.
    pub fn mass_parameters(&self) -> Vec<(String, ParameterValue)> {
        self.with_laws(self.oscillator.mass_parameters())
    }

    fn with_laws(&self, mut list: Vec<(String, ParameterValue)>) -> Vec<(String, ParameterValue)> {
        for (name, law) in [("spring", self.spring), ("damper", self.damper)] {
            list.push((name.to_owned(), ParameterValue::Text(law.to_owned())));
        }
        list
    }

    /// The monolithic solution.
    pub fn reference(&self) -> Reference {
        let spring = if self.spring == "square-root" { Spring::SquareRoot } else { Spring::Linear };
        let damper = if self.damper == "quadratic" { Damper::Quadratic } else { Damper::Linear };
        Reference::with_laws(&self.oscillator, spring, damper)
    }
}

/// Cases 1 and 2; rodriguez2022 Table 3. In the second one the springs are linear.
pub const CASES: [Case; 2] = [
    Case {
        oscillator: oscillator::Case::row(1, [1.0, 1.0], [10.0, 100.0, 1000.0], 0.0),
        spring: "square-root",
        damper: "quadratic",
    },
    Case {
        oscillator: oscillator::Case::row(1, [1.0, 1.0], [10.0, 100.0, 1000.0], 0.001),
        spring: "linear",
        damper: "quadratic",
    },
];

const SPRING: ParameterSpec = ParameterSpec {
    name: "spring",
    unit: "",
    domain: Domain::Choice(&["square-root", "linear"]),
    description: "Force law of the springs",
};
const DAMPER: ParameterSpec = ParameterSpec {
    name: "damper",
    unit: "",
    domain: Domain::Choice(&["quadratic", "linear"]),
    description: "Force law of the dampers",
};

/// `nonlinear-oscillator/force-giver`: mass 1 and the coupling.
pub static FORCE_GIVER: ModelSpec = ModelSpec {
    name: "nonlinear-oscillator/force-giver",
    description: "A mass on a nonlinear spring, and the nonlinear spring and damper that couple it to another mass; \
                  `force` acts on the other mass, with direct feed-through from its position and velocity",
    parameters: &[
        MASS_PARAMETER,
        oscillator::stiffness(10.0),
        DAMPING,
        COUPLING_STIFFNESS,
        COUPLING_DAMPING,
        SPRING,
        DAMPER,
        INITIAL_POSITION,
        oscillator::initial_velocity(100.0),
        micro_steps(1),
        SYMPLECTIC,
    ],
    make: |p| {
        let ground = (Spring::of(p, "stiffness"), Damper::of(p, "damping"));
        let coupling = (Spring::of(p, "coupling_stiffness"), Damper::of(p, "coupling_damping"));
        Box::new(Built::new(FORCE_GIVER.name, ForceGiver::new(p, ground, coupling), Capability::of(p)))
    },
};

/// `nonlinear-oscillator/mass`: mass 2.
pub static MASS: ModelSpec = ModelSpec {
    name: "nonlinear-oscillator/mass",
    description: "A mass on a nonlinear spring that a force pulls at; it gives its position and velocity",
    parameters: &[
        MASS_PARAMETER,
        oscillator::stiffness(1000.0),
        DAMPING,
        SPRING,
        DAMPER,
        INITIAL_POSITION,
        oscillator::initial_velocity(-100.0),
        micro_steps(1),
        SYMPLECTIC,
    ],
    make: |p| {
        let ground = (Spring::of(p, "stiffness"), Damper::of(p, "damping"));
        Box::new(Built::new(MASS.name, Mass::new(p, ground), Capability::of(p)))
    },
};

#[cfg(test)]
mod tests {
    use super::CASES;

    /// Square-root springs have an infinite slope at 0, which the reference passes many times.
    #[test]
    fn the_reference_keeps_its_energy_across_the_kinks() {
        let mut reference = CASES[0].reference();
        let start = reference.energy();
        reference.advance_to(10.0);
        assert!((reference.energy() / start - 1.0).abs() < 1e-9, "{}", reference.energy());
    }
}
