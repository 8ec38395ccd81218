//! A coupling that was unstable while amplitudes were small, in a run that has grown far beyond them since.

use powerbond::core::subsystem::{Causality, SubsystemError, Variable};
use powerbond::models::{
    Built, Capability, Domain, Equations, InputPolynomial, ModelSpec, ParameterSpec, variable,
};
use powerbond::{Done, System};

const STOP: f64 = 16.0;

static SOURCE: ModelSpec = ModelSpec {
    name: "source",
    description: "An oscillation, then a climb",
    parameters: &[ParameterSpec {
        name: "omega", unit: "rad/s", domain: Domain::any(1.0), description: "ω"
    }],
    make: |p| {
        let source = Source { omega: p.number("omega"), t: 0.0 };
        Box::new(Built::new(SOURCE.name, source, Capability::of(p)))
    },
};

static SINK: ModelSpec = ModelSpec {
    name: "sink",
    description: "Takes it",
    parameters: &[],
    make: |p| Box::new(Built::new(SINK.name, Sink(0.0), Capability::of(p))),
};

/// `y = sin(ω t)`, and from the middle of the run on a slow and smooth climb to about 2000 on top of it.
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
        [(self.omega * self.t).sin() + 4.0 * later.powi(3)]
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
        .register(&SOURCE)
        .register(&SINK)
        .model("source", SOURCE.name)
        .parameter("source.omega", omega)
        .model("sink", SINK.name)
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
        (fast.summary.verdict.word, growth(&fast)),
        ("check", Some("check")),
        "{:?}",
        fast.summary.verdict
    );
    assert_eq!(
        (slow.summary.verdict.word, growth(&slow)),
        ("trustworthy", None),
        "{:?}",
        slow.summary.verdict
    );
}
