//! The numerical tests of arnold2013 §5 as functions: local errors, global errors and error-controlled runs of the
//! quarter car in both splits.

use powerbond::core::controller::{Fixed, Rejecting, StepController};
use powerbond::core::error::RunError;
use powerbond::core::estimator::{BigStep, Constants, ErrorEstimator, Richardson, Tolerance};
use powerbond::core::feed_through::probe_integrations;
use powerbond::core::hold::Polynomial;
use powerbond::core::network::{Network, NetworkBuilder, VariableName};
use powerbond::core::observe::{Flow, NoObserver, Observer, StepReport};
use powerbond::core::run::{Engine, PastInputs, Policies, Settings};
use powerbond::core::step::StepView;
use powerbond::core::step::{Schedule, ScheduleKind, Seen};
use powerbond::core::subsystem::Setup;
use powerbond::core::time::signal::Signal;
use powerbond::models::linear::Propagators;
use powerbond::models::quarter_car_splits::Exact;
use powerbond::models::{ParameterValue, find};

/// How the quarter car is coupled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// Displacement–displacement: outputs xc, ẋc, xw, ẋw.
    Dd,
    /// Force–displacement: outputs xc, ẋc, F; F has feed-through.
    Fd,
}

impl Split {
    /// The outputs in state `x` = (xc, ẋc, xw, ẋw).
    pub fn outputs(self, car: &Exact, x: &[f64; 4]) -> Vec<f64> {
        match self {
            Split::Dd => x.to_vec(),
            Split::Fd => vec![x[0], x[1], car.force(x)],
        }
    }

    /// The inputs of the network in state `x`.
    fn inputs(self, car: &Exact, x: &[f64; 4]) -> Vec<f64> {
        match self {
            Split::Dd => vec![x[2], x[3], x[0], x[1], car.road],
            Split::Fd => vec![car.force(x), x[0], x[1], car.road],
        }
    }

    /// Typical magnitudes of the outputs: 0.1 m, 1 m/s, 1000 N.
    pub fn nominal(self) -> &'static [f64] {
        match self {
            Split::Dd => &[0.1, 1.0, 0.1, 1.0],
            Split::Fd => &[0.1, 1.0, 1000.0],
        }
    }

    /// The coupled system from state `x`, on a road of 0.1 m.
    pub fn network(self, x: &[f64; 4]) -> Network {
        let suffix = if self == Split::Dd { "dd" } else { "fd" };
        let model = |name: &str, x: f64, v: f64| {
            let given = [("initial_position", x), ("initial_velocity", v)];
            let given = given.map(|(name, value)| (name.to_owned(), ParameterValue::Number(value)));
            let spec = find(&format!("quarter-car/{name}-{suffix}"));
            spec.and_then(|s| s.build(&given).ok()).expect("a built-in model takes its own parameters")
        };
        let builder = NetworkBuilder::new()
            .subsystem("chassis", model("chassis", x[0], x[1]))
            .subsystem("wheel", model("wheel", x[2], x[3]))
            .connect("chassis.position", "wheel.chassis_position", 1.0)
            .connect("chassis.velocity", "wheel.chassis_velocity", 1.0)
            .external(VariableName::new("wheel", "road"), Signal::Constant(Exact::default().road));
        let builder = match self {
            Split::Dd => builder.connect("wheel.position", "chassis.wheel_position", 1.0).connect(
                "wheel.velocity",
                "chassis.wheel_velocity",
                1.0,
            ),
            Split::Fd => builder.connect("wheel.suspension_force", "chassis.force", 1.0),
        };
        builder.build().expect("the quarter car is a proper system").0
    }

    fn tolerance(self, tolerance: f64) -> Vec<Tolerance> {
        let absolute = self.nominal().iter().map(|n| tolerance * n);
        absolute.map(|absolute| Tolerance { absolute, relative: 0.0 }).collect()
    }
}

fn policies(
    network: &Network,
    k: u8,
    estimators: Vec<Box<dyn ErrorEstimator>>,
    controller: Box<dyn StepController>,
) -> Policies {
    Policies {
        ceiling: None,
        identifier: None,
        sampled: None,
        schedule: Schedule::new(network, &ScheduleKind::Jacobi { fast: Seen::Held }, &[1, 1]),
        extrapolation: Box::new(Polynomial::new(vec![k; network.n_inputs], vec![2; network.n_inputs])),
        correction: None,
        estimators,
        controller,
    }
}

/// Exact inputs at four points `h` apart before `t`, where the state is `x`: the solution continued backwards.
fn past(split: Split, car: &Exact, t: f64, x: &[f64; 4], h: f64) -> Vec<PastInputs> {
    let before = (1..=4).rev().map(|n| -f64::from(n) * h);
    before.map(|dt| PastInputs { time: t + dt, inputs: split.inputs(car, &car.after(x, dt)) }).collect()
}

/// The local error of two steps and what was estimated of it, per output.
#[derive(Clone, Debug, Default)]
pub struct LocalErrors {
    /// `y - y_exact` after two steps H from exact values.
    pub error: Vec<f64>,
    /// EST_Rich with a constant of its own for outputs with feed-through and for those behind several integrations.
    pub rich: Vec<f64>,
    /// EST_mod with such constants.
    pub modified: Vec<f64>,
    /// EST_Rich and EST_mod with the published constants (arnold2013 eq. 24 and 26).
    pub published: [Vec<f64>; 2],
    /// The published constants as they are used: what the difference of both solutions is divided by, plus 1.
    pub constants: [f64; 2],
}

/// Two steps of `h` with hold order `k` from exact values at `t`, all nodes exact (arnold2013 Fig. 5 and 6); members in
/// `refresh` (0 chassis, 1 wheel) re-read their outputs, which the paper does not do.
pub fn local_errors(split: Split, k: u8, t: f64, h: f64, refresh: &[usize]) -> Result<LocalErrors, RunError> {
    let car = Exact::default();
    let x = car.after(&[0.0; 4], t);
    let mut network = split.network(&x);
    probe_integrations(&mut network, &[0, 1], &Setup { start: 0.0, stop: 1.0 });
    let mut settings = Settings::new(t, t + 2.0 * h);
    settings.past = past(split, &car, t, &x, h);
    settings.refresh = refresh.to_vec();
    let orders = vec![k; network.n_inputs];
    let estimator = |big| Richardson::new(split.tolerance(1.0), orders.clone(), big);
    let mut rich = estimator(BigStep::Classic);
    let mut modified = estimator(BigStep::Modified);
    let structure = powerbond::core::feed_through::Structure::of(&network);
    rich.prepare(&network, &structure, refresh);
    modified.prepare(&network, &structure, refresh);
    let estimators: Vec<Box<dyn ErrorEstimator>> = vec![Box::new(rich.clone()), Box::new(modified.clone())];
    let policies = policies(&network, k, estimators, Box::new(Fixed { step: h }));
    let mut pair = PairWatch { split, rich, modified, exact: Vec::new(), seen: LocalErrors::default() };
    pair.exact = split.outputs(&car, &car.after(&x, 2.0 * h));
    Engine::new(network, policies, settings).run(&mut pair)?;
    Ok(pair.seen)
}

struct PairWatch {
    split: Split,
    rich: Richardson,
    modified: Richardson,
    exact: Vec<f64>,
    seen: LocalErrors,
}

impl Observer for PairWatch {
    fn accepted(&mut self, step: &StepView<'_>, _report: &StepReport<'_>) -> Flow {
        let n = self.split.nominal().len();
        let estimate = |estimator: &Richardson, constants| {
            let mut out = vec![0.0; n];
            let mut estimator = estimator.clone();
            estimator.constants = constants;
            if estimator.errors(step, &mut out) { out } else { Vec::new() }
        };
        let published = [&self.rich, &self.modified].map(|e| estimate(e, Constants::Published));
        let pair = step.doubled;
        let big = [pair.and_then(|p| p.classic), pair.and_then(|p| p.modified)];
        // Of the second output: a velocity, of which nothing is near zero.
        let constant = |i: usize| {
            let difference = big[i].map(|big| big.y[1] - step.y_fresh[1]);
            difference.zip(published[i].get(1)).map_or(f64::NAN, |(d, estimate)| 1.0 + d / estimate)
        };
        let constants = [constant(0), constant(1)];
        self.seen = LocalErrors {
            error: step.y_fresh.iter().zip(&self.exact).map(|(y, e)| y - e).collect(),
            rich: estimate(&self.rich, Constants::PerOutput),
            modified: estimate(&self.modified, Constants::PerOutput),
            published,
            constants,
        };
        Flow::Continue
    }
}

/// What a whole run came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunErrors {
    /// Accepted steps.
    pub accepted: u64,
    /// Sweeps: steps of every subsystem, big and rejected ones included.
    pub sweeps: u64,
    /// Attempts that were rejected.
    pub rejected: u64,
    /// Time-weighted rms over the run and over the outputs of `(y - y_exact)/nominal`.
    pub rms: f64,
    /// The same of the first two outputs, position and velocity of the chassis, which both splits have.
    pub chassis: f64,
}

/// The error against the exact solution, step by step.
struct ErrorWatch {
    split: Split,
    car: Exact,
    x: [f64; 4],
    propagators: Propagators<4>,
    sum: f64,
    chassis: f64,
    time: f64,
}

impl Observer for ErrorWatch {
    fn accepted(&mut self, step: &StepView<'_>, _report: &StepReport<'_>) -> Flow {
        self.x = self.car.next(&self.x, step.span.h, &mut self.propagators);
        let exact = self.split.outputs(&self.car, &self.x);
        let nominal = self.split.nominal();
        let errors = || step.y_fresh.iter().zip(&exact).zip(nominal).map(|((y, e), n)| ((y - e) / n).powi(2));
        self.sum += step.span.h * errors().sum::<f64>() / nominal.len() as f64;
        self.chassis += step.span.h * errors().take(2).sum::<f64>() / 2.0;
        self.time += step.span.h;
        Flow::Continue
    }
}

fn run(
    split: Split,
    k: u8,
    stop: f64,
    estimators: Vec<Box<dyn ErrorEstimator>>,
    controller: Box<dyn StepController>,
) -> Result<RunErrors, RunError> {
    let network = split.network(&[0.0; 4]);
    let policies = policies(&network, k, estimators, controller);
    let car = Exact::default();
    let mut settings = Settings::new(0.0, stop);
    settings.past = past(split, &car, 0.0, &[0.0; 4], policies.controller.first());
    let mut watch = ErrorWatch {
        split,
        car,
        x: [0.0; 4],
        propagators: Propagators::default(),
        sum: 0.0,
        chassis: 0.0,
        time: 0.0,
    };
    let mut engine = Engine::new(network, policies, settings);
    engine.run(&mut watch)?;
    let statistics = engine.statistics();
    Ok(RunErrors {
        accepted: statistics.accepted,
        sweeps: statistics.sweeps,
        rejected: statistics.rejected,
        rms: (watch.sum / watch.time).sqrt(),
        chassis: (watch.chassis / watch.time).sqrt(),
    })
}

/// A run of `stop` seconds with `steps` equal steps and hold order `k` after the road has jumped.
pub fn constant_run(split: Split, k: u8, stop: f64, steps: u32) -> Result<RunErrors, RunError> {
    run(split, k, stop, Vec::new(), Box::new(Fixed { step: stop / f64::from(steps) }))
}

/// How a run is controlled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Control {
    /// Of the local error of each pair of steps, relative to the nominal values.
    pub tolerance: f64,
    /// Which estimate.
    pub big: BigStep,
    /// Local extrapolation of outputs with feed-through.
    pub extrapolate: bool,
}

/// A run of `stop` seconds that keeps the estimated local error of each pair of steps in tolerance and takes steps back.
pub fn adaptive_run(split: Split, k: u8, stop: f64, control: Control) -> Result<RunErrors, RunError> {
    let network = split.network(&[0.0; 4]);
    let Control { tolerance, big, extrapolate } = control;
    let mut estimator = Richardson::new(split.tolerance(tolerance), vec![k; network.n_inputs], big);
    estimator.extrapolate = extrapolate;
    let controller = Rejecting::new(1e-4, 1e-9, stop);
    run(split, k, stop, vec![Box::new(estimator)], Box::new(controller))
}

/// How many equal steps give an rms error of at most `rms`, to 1 %; none if a million does not.
pub fn constant_steps_for(split: Split, k: u8, stop: f64, rms: f64) -> Result<Option<u32>, RunError> {
    let enough = |n: u32| Ok(constant_run(split, k, stop, n)?.rms <= rms);
    let (mut low, mut high) = (8, 16);
    while !enough(high)? {
        if high >= MOST_STEPS {
            return Ok(None);
        }
        low = high;
        high *= 2;
    }
    while high - low > (high / 100).max(1) {
        let middle = low + (high - low) / 2;
        if enough(middle)? { high = middle } else { low = middle }
    }
    Ok(Some(high))
}

/// More are not tried.
const MOST_STEPS: u32 = 1 << 20;

/// `log2(error(2h)/error(h))` of a rising error.
pub fn slope(at_double: f64, at_single: f64) -> f64 {
    (at_double / at_single).log2()
}

/// A run that only starts: for looking at the structure of the network.
pub fn started(split: Split) -> Result<Engine, RunError> {
    let network = split.network(&[0.0; 4]);
    let policies = policies(&network, 0, Vec::new(), Box::new(Fixed { step: 1e-3 }));
    let mut engine = Engine::new(network, policies, Settings::new(0.0, 1.0));
    engine.initialize(&mut NoObserver)?;
    Ok(engine)
}
