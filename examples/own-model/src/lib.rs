//! A model of one's own: the equations, a description, and one line that makes a library of FMUs of it.

use powerbond::core::subsystem::{Causality, SubsystemError, Variable};
use powerbond::models::{
    Built, Capability, Domain, Equations, InputPolynomial, ModelSpec, ParameterSpec, algebraic, variable,
};

/// A centrifugal pump and the water in its pipe: `inertia · q' = head · speed² − resistance · q |q| − pressure`.
#[derive(Clone)]
struct Pump {
    /// Pressure at full speed and no flow, in Pa.
    head: f64,
    /// In Pa·s²/m⁶.
    resistance: f64,
    /// Of the water: density times length over area, in kg/m⁴.
    inertia: f64,
    /// The state: flow, in m³/s.
    q: f64,
}

impl Equations<2, 1> for Pump {
    fn variables(&self) -> Vec<Variable> {
        vec![
            variable("pressure", Causality::Input, "Pa", "Pressure at the outlet"),
            Variable { start: 1.0, ..variable("speed", Causality::Input, "1", "Share of the full speed") },
            variable("flow", Causality::Output, "m3/s", "Flow through the outlet"),
        ]
    }

    /// The flow is a state: it depends on no input at the same instant.
    fn feed_through(&self) -> Vec<(usize, usize)> {
        Vec::new()
    }

    /// Ten steps of the midpoint rule; inputs are polynomials of the time since the start of the step.
    fn step(&mut self, _t: f64, h: f64, u: &InputPolynomial<2>) -> Result<(), SubsystemError> {
        let rate = |tau: f64, q: f64| {
            let [pressure, speed] = u.all(tau);
            (self.head * speed * speed - self.resistance * q * q.abs() - pressure) / self.inertia
        };
        let dt = h / 10.0;
        let mut q = self.q;
        for k in 0..10 {
            let tau = f64::from(k) * dt;
            q += dt * rate(tau + dt / 2.0, q + dt / 2.0 * rate(tau, q));
        }
        self.q = q;
        Ok(())
    }

    fn output(&self, _u: &[f64; 2]) -> [f64; 1] {
        [self.q]
    }

    /// There are no local variables.
    fn local(&self, _k: usize, _u: &[f64; 2]) -> f64 {
        f64::NAN
    }

    /// Everything that `step` changes, so that the state can be saved and restored.
    fn state(&mut self, visit: &mut dyn FnMut(&mut f64)) -> bool {
        visit(&mut self.q);
        true
    }
}

const fn parameter(
    name: &'static str,
    unit: &'static str,
    default: f64,
    text: &'static str,
) -> ParameterSpec {
    ParameterSpec { name, unit, domain: Domain::positive(default), description: text }
}

/// `model = "mine/pump"`, once it is registered.
pub static PUMP: ModelSpec = ModelSpec {
    name: "mine/pump",
    description: "A centrifugal pump and the water in its pipe",
    parameters: &[
        parameter("head", "Pa", 1e5, "Pressure at full speed and no flow"),
        parameter("resistance", "Pa.s2/m6", 1e9, "Of pump and pipe, times the square of the flow"),
        parameter("inertia", "kg/m4", 1e6, "Of the water: density times length over area"),
    ],
    make: |p| {
        let (head, resistance) = (p.number("head"), p.number("resistance"));
        let pump = Pump { head, resistance, inertia: p.number("inertia"), q: 0.0 };
        Box::new(Built::new(PUMP.name, pump, Capability::of(p)))
    },
};

// The library of FMUs: the own model, and a built-in one beside it.
powerbond_export::fmu_library!(&[&PUMP, &algebraic::GAIN]);
