//! A coupling that was unstable while amplitudes were small, in a run that has grown far beyond them since.

use powerbond::core::subsystem::{Causality, SubsystemError, Variable};
use powerbond::models::{Built, Capability, Equations, InputPolynomial, variable};
use powerbond::{Done, System};

const STOP: f64 = 16.0;
const CAPABILITY: Capability =
    Capability { input_derivatives: 0, refresh: true, restore: false, sub_steps: true, dependencies: true };

/// `y = sin(ω t)` for half of the run, then a slow and smooth climb to about 2000.
#[derive(Clone)]
struct Source {
    omega: f64,
    t: f64,
}

impl Equations<0, 1> for Source {
    fn variables(&self) -> Vec<Variable> {
        vec![variable("y", Causality::Output, "", "")]
    }

    fn feed_through(&self) -> Vec<(usize, usize)> {
        Vec::new()
    }

    fn step(&mut self, t: f64, h: f64, _u: &InputPolynomial<0>) -> Result<(), SubsystemError> {
        self.t = t + h;
        Ok(())
    }

    fn output(&self, _u: &[f64; 0]) -> [f64; 1] {
        let later = (self.t - 0.5 * STOP).max(0.0);
        [if later > 0.0 { 4.0 * later.powi(3) } else { (self.omega * self.t).sin() }]
    }

    fn local(&self, _k: usize, _u: &[f64; 0]) -> f64 {
        0.0
    }
}

/// Takes it.
#[derive(Clone)]
struct Sink(f64);

impl Equations<1, 1> for Sink {
    fn variables(&self) -> Vec<Variable> {
        vec![variable("u", Causality::Input, "", ""), variable("x", Causality::Output, "", "")]
    }

    fn feed_through(&self) -> Vec<(usize, usize)> {
        Vec::new()
    }

    fn step(&mut self, _t: f64, h: f64, u: &InputPolynomial<1>) -> Result<(), SubsystemError> {
        self.0 += h * u.at(0, 0.5 * h);
        Ok(())
    }

    fn output(&self, _u: &[f64; 1]) -> [f64; 1] {
        [self.0]
    }

    fn local(&self, _k: usize, _u: &[f64; 1]) -> f64 {
        0.0
    }
}

fn run(omega: f64) -> Done {
    let system = System::builder()
        .subsystem("source", Built::new("source", Source { omega, t: 0.0 }, CAPABILITY))
        .subsystem("sink", Built::new("sink", Sink(0.0), CAPABILITY))
        .connect("source.y", "sink.u")
        .stop(STOP)
        .step(0.005)
        .build()
        .expect("a sound system");
    let mut session = system.start().expect("a start");
    session.run().expect("a sound run");
    session.finish().expect("the end")
}

/// Defects of steps of ω h = 0.25 are 12 % of the oscillation, and nothing beside what came later.
#[test]
fn what_explodes_is_not_trusted_if_its_defects_were_large_before() {
    let (fast, slow) = (run(50.0), run(0.5));
    let growth = |done: &Done| {
        let reasons = &done.summary.verdict.reasons;
        reasons.iter().find(|reason| reason.code == "growth").map(|reason| reason.level)
    };
    assert_eq!(
        (fast.verdict.word.text(), growth(&fast)),
        ("check", Some("check")),
        "{:?}",
        fast.summary.verdict
    );
    assert_eq!(
        (slow.verdict.word.text(), growth(&slow)),
        ("trustworthy", Some("note")),
        "{:?}",
        slow.summary.verdict
    );
}
