//! A subsystem that claims to recompute its outputs at the current time, and does not, is found out at the start.

mod common;

use powerbond_core::controller::{Pi, StepBounds};
use powerbond_core::estimator::Jump;
use powerbond_core::feed_through::identify::{Identifier, Role};
use powerbond_core::feed_through::probe_refresh;
use powerbond_core::hold::{InputFeed, VariableOrder};
use powerbond_core::network::{Network, NetworkBuilder};
use powerbond_core::observe::NoObserver;
use powerbond_core::run::{Engine, Policies, Settings};
use powerbond_core::step::{Schedule, ScheduleKind, Seen};
use powerbond_core::subsystem::wrapper::Wrapper;
use powerbond_core::subsystem::{
    Advance, Causality, Inputs, Setup, Span, Subsystem, SubsystemError, Variable as Described,
};
use powerbond_core::time::EndRule;
use powerbond_models::{Built, Capability, Equations, InputPolynomial, variable};

/// A damper: `force = -c · velocity`, fed through.
#[derive(Clone)]
struct Damper;

impl Equations<1, 1> for Damper {
    fn variables(&self) -> Vec<Described> {
        vec![variable("velocity", Causality::Input, "m/s", ""), variable("force", Causality::Output, "N", "")]
    }

    fn feed_through(&self) -> Vec<(usize, usize)> {
        vec![(0, 0)]
    }

    fn step(&mut self, _t: f64, _h: f64, _u: &InputPolynomial<1>) -> Result<(), SubsystemError> {
        Ok(())
    }

    fn output(&self, u: &[f64; 1]) -> [f64; 1] {
        [-0.8 * u[0]]
    }

    fn local(&self, _k: usize, _u: &[f64; 1]) -> f64 {
        f64::NAN
    }
}

/// A mass of 1 kg under a force.
#[derive(Clone)]
struct Mass(f64);

impl Equations<1, 1> for Mass {
    fn variables(&self) -> Vec<Described> {
        vec![variable("force", Causality::Input, "N", ""), variable("velocity", Causality::Output, "m/s", "")]
    }

    fn feed_through(&self) -> Vec<(usize, usize)> {
        Vec::new()
    }

    fn step(&mut self, _t: f64, h: f64, u: &InputPolynomial<1>) -> Result<(), SubsystemError> {
        // The integral of a parabola.
        self.0 += h * (u.value[0] + h * (0.5 * u.slope[0] + h * u.curvature[0] / 6.0));
        Ok(())
    }

    fn output(&self, _u: &[f64; 1]) -> [f64; 1] {
        [self.0]
    }

    fn local(&self, _k: usize, _u: &[f64; 1]) -> f64 {
        f64::NAN
    }
}

/// Answers `evaluate` with the outputs of the last step once it has started.
struct Lazy {
    inner: Box<dyn Subsystem>,
    last: Vec<f64>,
    started: bool,
}

impl Wrapper for Lazy {
    fn scratch(&self) -> Option<Box<dyn Subsystem>> {
        let inner = self.inner.scratch()?;
        Some(Box::new(Lazy { inner, last: Vec::new(), started: false }))
    }

    fn inner(&self) -> &dyn Subsystem {
        self.inner.as_ref()
    }

    fn inner_mut(&mut self) -> &mut dyn Subsystem {
        self.inner.as_mut()
    }

    fn evaluate(&mut self, u: Inputs<'_>, y: &mut [f64]) -> Result<(), SubsystemError> {
        if self.started {
            y.copy_from_slice(&self.last);
            return Ok(());
        }
        self.inner.evaluate(u, y)?;
        self.last = y.to_vec();
        Ok(())
    }

    fn start(&mut self) -> Result<(), SubsystemError> {
        self.started = true;
        self.inner.start()
    }

    fn advance(&mut self, span: Span, u: Inputs<'_>, y: &mut [f64]) -> Result<Advance, SubsystemError> {
        let advance = self.inner.advance(span, u, y)?;
        self.last.copy_from_slice(y);
        Ok(advance)
    }
}

fn network(lazy: bool) -> Network {
    let able = Capability { ..common::ABLE };
    let damper: Box<dyn Subsystem> = Box::new(Built::new("damper", Damper, able));
    let damper =
        if lazy { Box::new(Lazy { inner: damper, last: Vec::new(), started: false }) } else { damper };
    let builder = NetworkBuilder::new()
        .subsystem("damper", damper)
        .subsystem("mass", Box::new(Built::new("mass", Mass(1.0), able)))
        .connect("mass.velocity", "damper.velocity", 1.0)
        .connect("damper.force", "mass.force", 1.0);
    builder.build().expect("a sound network").0
}

fn run(lazy: bool) -> (Vec<usize>, f64) {
    let mut network = network(lazy);
    let stop = 5.0;
    let claims = probe_refresh(&mut network, &[0], &Setup { start: 0.0, stop }, 1e-3);
    let refresh = if claims.is_empty() { vec![0] } else { Vec::new() };
    let identified: Vec<(usize, Role)> = claims.iter().map(|&s| (s, Role::Improved)).collect();
    let limits = StepBounds { min_step: 1e-7 * stop, max_step: 1e-3 * stop, min_rate: 0.2, max_rate: 1.5 };
    let mut controller = Pi::ecco(1e-6 * stop, limits);
    (controller.safety, controller.opening_rate) = (0.9, Some(2.0));
    let groups = Jump::groups(&network, |_| false);
    let policies = Policies {
        ceiling: None,
        schedule: Schedule::new(&network, &ScheduleKind::Jacobi { fast: Seen::Held }, &[1, 1]),
        extrapolation: Box::new(VariableOrder::new(
            vec![2; 2],
            vec![InputFeed::Derivatives(2); 2],
            vec![false; 2],
        )),
        correction: None,
        estimators: vec![Box::new(Jump::new(1e-3, &groups, vec![false; 2]))],
        controller: Box::new(controller),
        sampled: None,
        identifier: Some(Identifier::new(&network, &identified, |_| true)),
    };
    let settings = Settings { refresh, end_rule: EndRule::Halved, ..Settings::new(0.0, stop) };
    let mut engine = Engine::new(network, policies, settings);
    engine.run(&mut NoObserver).expect("a sound run");
    let velocity = engine.outputs()[1];
    (claims, (velocity / (-0.8 * stop).exp() - 1.0).abs())
}

/// v̇ = -0.8 v has the solution exp(-0.8 t).
#[test]
fn a_false_claim_is_found_and_an_honest_one_believed() {
    let (claims, error) = run(false);
    assert!(claims.is_empty());
    assert!(error < 1e-3, "{error}");
    let (claims, error) = run(true);
    assert_eq!(claims, [0], "the damper");
    assert!(error < 1e-3, "{error}");
}
