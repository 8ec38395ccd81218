//! A subsystem whose state cannot be restored and that integrates with the communication step is found on scratch instances.

mod common;

use powerbond_core::feed_through::depends_on_steps;
use powerbond_core::network::NetworkBuilder;
use powerbond_core::subsystem::{Causality, Setup, SubsystemError, Variable as Described};
use powerbond_models::{Built, Capability, Equations, InputPolynomial, variable};

/// How x' = λ (u - x) is integrated with constant u.
#[derive(Clone, Copy)]
enum Solver {
    Exact,
    Euler,
    Midpoint,
    /// Exact but for an error of this share, whatever the step.
    Noisy(f64),
    /// Its step fails.
    Failing,
}

#[derive(Clone)]
struct Lag {
    rate: f64,
    solver: Solver,
    x: f64,
    calls: u32,
}

impl Equations<1, 1> for Lag {
    fn variables(&self) -> Vec<Described> {
        vec![variable("u", Causality::Input, "", ""), variable("x", Causality::Output, "", "")]
    }

    fn feed_through(&self) -> Vec<(usize, usize)> {
        Vec::new()
    }

    fn step(&mut self, _t: f64, h: f64, u: &InputPolynomial<1>) -> Result<(), SubsystemError> {
        let (z, gap) = (self.rate * h, u.value[0] - self.x);
        let exact = -(-z).exp_m1();
        self.calls += 1;
        // The golden ratio's multiples are spread evenly.
        let random = (f64::from(self.calls) * 0.618_033_988_75 / h).fract() - 0.5;
        self.x += gap
            * match self.solver {
                Solver::Exact => exact,
                Solver::Euler => z,
                Solver::Midpoint => z - 0.5 * z * z,
                Solver::Noisy(share) => exact * (1.0 + share * random),
                Solver::Failing => {
                    return Err(SubsystemError::Infeasible { message: "no".to_owned() });
                }
            };
        Ok(())
    }

    fn output(&self, _u: &[f64; 1]) -> [f64; 1] {
        [self.x]
    }

    fn local(&self, _k: usize, _u: &[f64; 1]) -> f64 {
        f64::NAN
    }
}

/// Steps of 1 ms, as with a run of 1 s.
fn depends(rate: f64, solver: Solver) -> Option<bool> {
    let able = Capability { restore: false, ..common::ABLE };
    let lag = |x| Lag { rate, solver, x, calls: 0 };
    let builder = NetworkBuilder::new()
        .subsystem("a", Box::new(Built::new("lag", lag(0.0), able)))
        .subsystem(
            "b",
            Box::new(Built::new("lag", Lag { solver: Solver::Exact, rate: 2.0, ..lag(1.0) }, able)),
        )
        .connect("a.x", "b.u", 1.0)
        .connect("b.x", "a.u", 1.0);
    let network = builder.build().expect("a sound network").0;
    let setup = Setup { start: 0.0, stop: 1.0 };
    assert_eq!(depends_on_steps(&network, 1, &setup, 1e-3), Some(false), "an exact one");
    depends_on_steps(&network, 0, &setup, 1e-3)
}

#[test]
fn steps_that_integrate_are_found_and_accurate_solvers_are_not() {
    for (what, rate, solver, expected) in [
        ("exact", 2.0, Solver::Exact, Some(false)),
        ("Euler", 2.0, Solver::Euler, Some(true)),
        ("Euler, fast", 300.0, Solver::Euler, Some(true)),
        ("Euler, unstable", 5000.0, Solver::Euler, Some(true)),
        // λh/4 = 2.5e-6 of the motion.
        ("Euler, so slow that it does no harm", 0.01, Solver::Euler, Some(false)),
        ("midpoint rule", 100.0, Solver::Midpoint, Some(true)),
        ("a solver with a tolerance of 1e-6", 2.0, Solver::Noisy(1e-6), Some(false)),
        ("a failing one", 2.0, Solver::Failing, None),
        ("one that stands still", 0.0, Solver::Exact, None),
    ] {
        assert_eq!(depends(rate, solver), expected, "{what}");
    }
}
