//! Rejected attempts leave every bit as it was; monitors that need big steps change nothing; and what happens where
//! nothing can be rolled back.

mod common;

use common::matrix::{Case, ESTIMATORS, HOLDS, SCHEDULES, corrections, row};
use common::random::Random;
use common::{Method, fed, policies};
use powerbond_core::checkpoint::{Checkpoint, Checkpointed};
use powerbond_core::controller::{Decision, Fixed, Pi, Rejecting, Retry, StepBounds, StepController};
use powerbond_core::energy::Quadrature;
use powerbond_core::error::RunError;
use powerbond_core::estimator::{
    BigStep, Blame, Energy, ErrorEstimator, Estimate, Residual, Richardson, Tolerance,
};
use powerbond_core::feed_through::identify::{Identifier, Role};
use powerbond_core::hold::Polynomial;
use powerbond_core::network::{BondSpec, Network, NetworkBuilder, PortSpec, VariableName};
use powerbond_core::observe::Statistics;
use powerbond_core::observe::{Flow, Observer, StepReport};
use powerbond_core::run::{Engine, Policies, Settings};
use powerbond_core::step::StepView;
use powerbond_core::step::{Schedule, ScheduleKind, Seen};
use powerbond_core::subsystem::{
    Advance, Binding, Capabilities, Causality, FeedThrough, Info, Inputs, Setup, Span, StepEvent, Subsystem,
    SubsystemError,
};
use powerbond_core::time::EndRule;
use powerbond_core::time::signal::Signal;
use powerbond_models::{self, ParameterValue};

/// A quarter car with feed-through and a bond: the suspension belongs to the chassis. After 0.06 s histories restart.
fn car(integrator: &str, restore: &str) -> Network {
    let text = |name: &str, value: &str| (name.to_owned(), ParameterValue::Text(value.to_owned()));
    let given = [text("integrator", integrator), text("restore", restore)];
    let model =
        |name: &str| powerbond_models::find(name).expect("a model").build(&given).expect("its parameters");
    let damper = [&given[..], &[text("damper", "square-root")]].concat();
    let chassis = powerbond_models::find("quarter-car/chassis-suspension").expect("a model");
    let port = |subsystem: &str, input: &str, output: &str| PortSpec {
        inputs: vec![VariableName::new(subsystem, input)],
        outputs: vec![VariableName::new(subsystem, output)],
        sign: 1.0,
        ratio: 1.0,
    };
    NetworkBuilder::new()
        .subsystem("chassis", chassis.build(&damper).expect("its parameters"))
        .subsystem("wheel", Box::new(Eventful { inner: model("quarter-car/wheel"), at: 0.06 }))
        .connect("wheel.velocity", "chassis.wheel_velocity", 1.0)
        .connect("chassis.suspension_force", "wheel.force", -1.0)
        .external(VariableName::new("wheel", "road"), Signal::Constant(0.1))
        .bond(BondSpec {
            name: "suspension".into(),
            ports: vec![
                port("chassis", "wheel_velocity", "suspension_force"),
                port("wheel", "force", "velocity"),
            ],
        })
        .record(VariableName::new("chassis", "position"))
        .record(VariableName::new("wheel", "position"))
        .build()
        .expect("a proper system")
        .0
}

/// A subsystem that reports a discontinuity in the step that crosses `at`.
struct Eventful {
    inner: Box<dyn Subsystem>,
    at: f64,
}

impl Subsystem for Eventful {
    fn info(&self) -> &Info {
        self.inner.info()
    }
    fn bind(&mut self, binding: &Binding) -> Result<(), SubsystemError> {
        self.inner.bind(binding)
    }
    fn enter(&mut self, setup: &Setup) -> Result<(), SubsystemError> {
        self.inner.enter(setup)
    }
    fn evaluate(&mut self, u: Inputs<'_>, y: &mut [f64]) -> Result<(), SubsystemError> {
        self.inner.evaluate(u, y)
    }
    fn advance(&mut self, span: Span, u: Inputs<'_>, y: &mut [f64]) -> Result<Advance, SubsystemError> {
        let advance = self.inner.advance(span, u, y)?;
        Ok(Advance { event: happened(span.start < self.at && self.at <= span.end), ..advance })
    }
    fn feed_through(&mut self, d: &mut [f64]) -> Result<(), SubsystemError> {
        self.inner.feed_through(d)
    }
    fn probe(&mut self, z: &mut [f64]) -> Result<(), SubsystemError> {
        self.inner.probe(z)
    }
    fn save(&mut self) -> Result<(), SubsystemError> {
        self.inner.save()
    }
    fn restore(&mut self) -> Result<(), SubsystemError> {
        self.inner.restore()
    }
}

/// Everything that an observer sees, as bits.
#[derive(Default)]
struct Bits {
    rows: Vec<Vec<u64>>,
    times: Vec<f64>,
    rejections: u32,
    /// Leave out the estimates: runs with different estimators are compared.
    without_estimates: bool,
}

impl Observer for Bits {
    fn accepted(&mut self, step: &StepView<'_>, report: &StepReport<'_>) -> Flow {
        let mut row: Vec<f64> = vec![step.span.start, step.span.end, step.span.h];
        for part in [step.held_end, step.corrected_end, step.fresh, step.y_prev, step.y_step, step.y_fresh] {
            row.extend(part);
        }
        for port in step.ports {
            row.extend([port.power, port.consistent_power, port.energy]);
        }
        for flow in step.flows {
            row.extend([flow.residual_power, flow.held_residual_power, flow.residual_energy]);
            row.extend([flow.transmitted_power, flow.exchanged_power]);
        }
        row.extend(step.feed_through.unwrap_or(&[]));
        row.extend(report.probes);
        row.push(f64::from(u8::from(step.after_restart)));
        if !self.without_estimates {
            row.extend(report.estimates.iter().flat_map(|e| [e.norm, e.order]));
        }
        self.rows.push(row.iter().map(|v| v.to_bits()).collect());
        self.times.push(step.span.end);
        self.rejections += report.rejections;
        Flow::Continue
    }
}

/// Accepts exactly the steps of a plan; tries `3 h` and `2 h` first if `wasteful`.
#[derive(Clone)]
struct Planned {
    plan: Vec<f64>,
    wasteful: bool,
    next: usize,
}

impl Planned {
    fn wish(&self, n: usize) -> f64 {
        let h = self.plan[n.min(self.plan.len() - 1)];
        if self.wasteful { 3.0 * h } else { h }
    }
}

impl Checkpointed for Planned {
    fn save(&self, tape: &mut Checkpoint) {
        tape.push(self.next as f64);
    }

    fn load(&mut self, tape: &mut Checkpoint) {
        self.next = tape.pull() as usize;
    }
}

impl StepController for Planned {
    fn first(&self) -> f64 {
        self.wish(0)
    }

    fn may_reject(&self) -> bool {
        true
    }

    fn decide(&mut self, _estimate: Estimate, h: f64, _retry: Retry) -> Decision {
        let planned = self.plan[self.next.min(self.plan.len() - 1)];
        if h > 2.5 * planned {
            return Decision::Reject { retry_h: 2.0 * planned };
        }
        if h > 1.5 * planned {
            return Decision::Reject { retry_h: planned };
        }
        self.next += 1;
        Decision::Accept { next_h: self.wish(self.next) }
    }

    fn floor(&self) -> f64 {
        0.0
    }
}

/// One combination of policies.
#[derive(Clone, Debug)]
struct Combination {
    method: Method,
    estimators: Vec<&'static str>,
    extrapolate: bool,
    quadrature: Quadrature,
    integrator: &'static str,
}

fn estimators(combination: &Combination, network: &Network) -> Vec<Box<dyn ErrorEstimator>> {
    let Combination { method, extrapolate, .. } = combination;
    let case = Case { network, method, extrapolate: *extrapolate };
    combination.estimators.iter().map(|name| row(ESTIMATORS, name)(&case)).collect()
}

fn engine(combination: &Combination, controller: Box<dyn StepController>, stop: f64) -> Engine {
    let Combination { method, extrapolate, quadrature, integrator, .. } = combination;
    let network = fed(car(integrator, "yes"), method);
    let case = Case { network: &network, method, extrapolate: *extrapolate };
    let roles = [(0, Role::Improved), (1, Role::Known)];
    let policies = Policies {
        ceiling: None,
        sampled: None,
        identifier: method.identify.then(|| Identifier::new(&network, &roles, |_| true)),
        estimators: estimators(combination, &network),
        controller,
        ..policies(&case)
    };
    let mut settings = Settings::new(0.0, stop);
    settings.quadrature = *quadrature;
    // A step that is shortened may stand although the plan is shorter still.
    settings.end_rule = EndRule::Overshoot;
    settings.refresh = if method.refresh { vec![0] } else { Vec::new() };
    Engine::new(network, policies, settings)
}

fn random_combination(random: &mut Random) -> Combination {
    let (hold, variable) = HOLDS[random.below(HOLDS.len())].make;
    let corrections = corrections();
    let mut schedule = SCHEDULES[random.below(SCHEDULES.len())].make.clone();
    if let (ScheduleKind::GaussSeidel { order, .. }, true) = (&mut schedule, random.flip()) {
        *order = Some(vec![1, 0]);
    }
    let method = Method {
        schedule,
        rates: Some([[1, 1], [1, 3], [4, 1], [2, 2]][random.below(4)].to_vec()),
        hold,
        variable,
        identify: random.flip(),
        correction: corrections[random.below(corrections.len())],
        refresh: random.flip(),
        ..Method::default()
    };
    Combination {
        method,
        estimators: ESTIMATORS.iter().map(|row| row.name).filter(|_| random.flip()).collect(),
        extrapolate: random.flip(),
        quadrature: [Quadrature::Held, Quadrature::Rectangle, Quadrature::Trapezoid][random.below(3)],
        integrator: if random.flip() { "euler" } else { "accurate" },
    }
}

fn sums(engine: &Engine) -> Vec<u64> {
    let meter = engine.meter();
    let mut all: Vec<f64> = meter.port_energy.clone();
    for s in &meter.sums {
        all.extend([s.residual, s.residual_abs, s.endpoint_residual, s.endpoint_residual_abs]);
        all.extend([s.transmitted, s.exchanged, s.worst_power, s.worst_time]);
    }
    for s in engine.watch().spikes(0) {
        all.extend([s.start, s.end, s.peak, s.peak_time, s.level]);
    }
    for found in engine.identified() {
        all.extend([found.gain, found.confidence]);
    }
    all.extend(engine.order_counts().iter().flatten().map(|&n| n as f64));
    for (_, c) in engine.corrections() {
        all.extend([c.added, c.removed, c.uncorrected, c.steps, c.capped, c.idle]);
    }
    all.iter().map(|v| v.to_bits()).collect()
}

/// What the driving estimator found out, as bits.
fn told(engine: &Engine) -> Vec<u64> {
    let mut all = Vec::new();
    if let Some(driving) = engine.driving() {
        all.extend(driving.diagnostics().limited.iter().map(|&n| n as f64));
        all.extend(driving.diagnostics().noise);
        all.extend(
            driving.diagnostics().crossed.iter().flat_map(|(n, c)| [*n as f64, c.time, c.step, c.norm]),
        );
    }
    all.iter().map(|v| v.to_bits()).collect()
}

/// The same accepted steps, with and without two larger attempts before each: the same bits in every row, in the
/// ledger and at the end, for random combinations of all policies.
#[test]
fn a_rejected_attempt_leaves_every_bit_as_it_was() {
    let mut random = Random(0x2545_F491_4F6C_DD1D);
    for case in 0..300 {
        let method = random_combination(&mut random);
        let plan: Vec<f64> = (0..40).map(|_| 5e-4 + 1e-6 * random.below(2500) as f64).collect();
        let run = |wasteful: bool| {
            let controller = Planned { plan: plan.clone(), wasteful, next: 0 };
            let mut engine = engine(&method, Box::new(controller), 0.1);
            let mut bits = Bits::default();
            engine.run(&mut bits).unwrap_or_else(|e| panic!("case {case}, {method:?}: {e:?}"));
            let sums = [sums(&engine), told(&engine)];
            (bits, sums, engine.statistics().clone())
        };
        let (straight, straight_sums, straight_count) = run(false);
        let (wasteful, wasteful_sums, wasteful_count) = run(true);
        assert_eq!(straight.times, wasteful.times, "case {case}, {method:?}");
        let different = straight.rows.iter().zip(&wasteful.rows).position(|(a, b)| a != b);
        assert_eq!(different, None, "case {case}, {method:?}: the first row that differs");
        assert_eq!(straight_sums, wasteful_sums, "case {case}, {method:?}");
        assert_eq!(straight_count.accepted, wasteful_count.accepted);
        assert_eq!((straight_count.events, wasteful_count.events), (1, 1), "case {case}, {method:?}");
        assert_eq!((straight_count.rejected, straight.rejections), (0, 0));
        assert!(wasteful_count.rejected >= 40, "case {case}: {wasteful_count:?}");
        assert_eq!(wasteful.rejections as u64, wasteful_count.rejected);
    }
}

/// Richardson estimates as monitors beside a fixed step: the run is the same, bit for bit.
#[test]
fn a_monitor_changes_no_bit() {
    let mut random = Random(0x1234_5678_9ABC_DEF1);
    let alone = car("accurate", "yes");
    for case in 0..100 {
        let mut method = random_combination(&mut random);
        method.extrapolate = false;
        let run = |method: &Combination| {
            let mut engine = engine(method, Box::new(Fixed { step: 1.3e-3 }), 0.1);
            let mut bits = Bits { without_estimates: true, ..Bits::default() };
            engine.run(&mut bits).unwrap_or_else(|e| panic!("case {case}, {method:?}: {e:?}"));
            (bits.rows, sums(&engine), engine.statistics().clone())
        };
        let pairs = |name: &&'static str| {
            let one = Combination { estimators: vec![*name], ..method.clone() };
            estimators(&one, &alone)[0].big_step().is_some()
        };
        let (monitors, others): (Vec<_>, Vec<_>) = ESTIMATORS.iter().map(|row| row.name).partition(pairs);
        let others: Vec<_> = others.into_iter().filter(|name| method.estimators.contains(name)).collect();
        let (plain, plain_sums, plain_count) =
            run(&Combination { estimators: others.clone(), ..method.clone() });
        method.estimators = [monitors, others].concat();
        let (watched, watched_sums, watched_count) = run(&method);
        assert_eq!(plain.len(), watched.len(), "case {case}, {method:?}");
        assert!(plain == watched, "case {case}, {method:?}");
        assert_eq!(plain_sums, watched_sums, "case {case}, {method:?}");
        assert_eq!(plain_count.sweeps, plain_count.accepted);
        assert!(watched_count.sweeps > plain_count.sweeps && watched_count.rejected == 0);
    }
}

/// Three independent error bars in one run: energy drives, the others watch.
#[test]
fn richardson_energy_and_predictor_work_in_one_run() {
    struct Worst([f64; 3]);
    impl Observer for Worst {
        fn accepted(&mut self, _step: &StepView<'_>, report: &StepReport<'_>) -> Flow {
            for (worst, e) in self.0.iter_mut().zip(report.estimates) {
                *worst = worst.max(e.norm);
            }
            Flow::Continue
        }
    }
    let network = car("accurate", "yes");
    let combination = Combination {
        method: Method { hold: 1, ..Method::default() },
        estimators: vec!["energy, projected", "predictor", "richardson"],
        extrapolate: false,
        quadrature: Quadrature::Rectangle,
        integrator: "accurate",
    };
    let limits = StepBounds { min_step: 1e-5, max_step: 1e-2, min_rate: 0.2, max_rate: 1.5 };
    let case = Case { network: &network, method: &combination.method, extrapolate: false };
    let policies = Policies {
        ceiling: None,
        estimators: estimators(&combination, &network),
        controller: Box::new(Pi::ecco(1e-5, limits)),
        ..policies(&case)
    };
    let mut engine = Engine::new(network, policies, Settings::new(0.0, 0.5));
    let mut worst = Worst([0.0; 3]);
    engine.run(&mut worst).expect("it runs");
    assert!(worst.0.iter().all(|e| *e > 0.0 && e.is_finite()), "{:?}", worst.0);
    assert_eq!(engine.statistics().rejected, 0);
    assert_eq!(engine.statistics().sweeps * 2, engine.statistics().accepted * 3);
}

fn run_with(
    network: Network,
    estimators: Vec<Box<dyn ErrorEstimator>>,
    controller: Rejecting,
) -> (Result<(), RunError>, Statistics, Vec<f64>) {
    let (nu, ns) = (network.n_inputs, network.members.len());
    let policies = Policies {
        ceiling: None,
        identifier: None,
        sampled: None,
        schedule: Schedule::new(&network, &ScheduleKind::Jacobi { fast: Seen::Held }, &vec![1; ns]),
        extrapolation: Box::new(Polynomial::new(vec![1; nu], vec![2; nu])),
        correction: None,
        estimators,
        controller: Box::new(controller),
    };
    let mut engine = Engine::new(network, policies, Settings::new(0.0, 0.2));
    let mut bits = Bits::default();
    let outcome = engine.run(&mut bits).map(|_| ());
    (outcome, engine.statistics().clone(), bits.times)
}

fn richardson(network: &Network, absolute: f64) -> Vec<Box<dyn ErrorEstimator>> {
    let tolerance = vec![Tolerance { absolute, relative: 0.0 }; network.n_outputs];
    vec![Box::new(Richardson::new(tolerance, vec![1; network.n_inputs], BigStep::Modified))]
}

fn energy() -> Vec<Box<dyn ErrorEstimator>> {
    vec![Box::new(Energy::new(vec![1e-6], vec![Some(750.0)], Residual::Held, 1))]
}

#[test]
fn rejecting_works_with_single_steps_too() {
    let network = car("accurate", "yes");
    let (outcome, count, _) = run_with(network, energy(), Rejecting::new(1e-5, 1e-9, 1e-2));
    outcome.expect("it runs");
    assert!(count.rejected > 0 && count.over_tolerance == 0, "{count:?}");
    assert_eq!(count.sweeps, count.accepted + count.rejected);
}

#[test]
fn what_cannot_go_back_is_kept_and_counted() {
    let network = car("accurate", "no");
    let (outcome, count, _) = run_with(network, energy(), Rejecting::new(1e-2, 1e-7, 1e-2));
    outcome.expect("it runs");
    assert!(count.rejected == 0 && count.over_tolerance > 0, "{count:?}");
    assert!(count.min_step < 1e-3, "it goes on with smaller steps: {count:?}");
}

#[test]
fn big_steps_need_a_way_back() {
    let network = car("accurate", "no");
    let estimators = richardson(&network, 1e-3);
    let (outcome, ..) = run_with(network, estimators, Rejecting::new(1e-3, 1e-7, 1e-2));
    assert_eq!(outcome, Err(RunError::NoRestore { member: 0 }));
}

/// A tolerance that no step of the allowed size can keep: kept and counted, or the end with the output named.
#[test]
fn a_floor_is_kept_and_counted_or_ends_the_run_naming_the_output() {
    let network = car("accurate", "yes");
    let estimators = richardson(&network, 1e-12);
    let (outcome, count, _) = run_with(network, estimators, Rejecting::new(1e-3, 1e-3, 1e-2));
    outcome.expect("it runs");
    assert_eq!((count.at_floor, count.over_tolerance), (count.accepted, count.accepted), "{count:?}");

    let network = car("accurate", "yes");
    let estimators = richardson(&network, 1e-12);
    let strict = Rejecting { keep_at_floor: false, ..Rejecting::new(1e-3, 1e-3, 1e-2) };
    let (outcome, ..) = run_with(network, estimators, strict);
    match outcome {
        // The force in N is wrong by more than the velocity in m/s.
        Err(RunError::Rejections { blame, norm, .. }) => {
            assert_eq!(blame, Some(Blame::Output(0)));
            assert!(norm > 1.0);
        }
        other => panic!("{other:?}"),
    }
}

/// Counts down to an instant at which it stops, and from then on follows its input.
struct Alarm {
    info: Info,
    at: f64,
    t: f64,
    x: f64,
    saved: (f64, f64),
}

impl Alarm {
    fn new(at: f64, early: bool) -> Self {
        let variables = vec![
            powerbond_models::variable("u", Causality::Input, "1", ""),
            powerbond_models::variable("y", Causality::Output, "1", ""),
        ];
        let capabilities = Capabilities {
            can_restore: true,
            may_return_early: early,
            input_derivatives: 2,
            ..Capabilities::default()
        };
        let feed_through = FeedThrough::Declared(vec![]);
        let info = Info { kind: "alarm".into(), variables: variables.into(), feed_through, capabilities };
        Alarm { info, at, t: 0.0, x: 1.0, saved: (0.0, 0.0) }
    }
}

impl Subsystem for Alarm {
    fn info(&self) -> &Info {
        &self.info
    }

    fn bind(&mut self, _binding: &Binding) -> Result<(), SubsystemError> {
        Ok(())
    }

    fn enter(&mut self, setup: &Setup) -> Result<(), SubsystemError> {
        (self.t, self.x) = (setup.start, 1.0);
        Ok(())
    }

    fn evaluate(&mut self, _u: Inputs<'_>, y: &mut [f64]) -> Result<(), SubsystemError> {
        y.fill(self.x);
        Ok(())
    }

    fn advance(&mut self, span: Span, u: Inputs<'_>, y: &mut [f64]) -> Result<Advance, SubsystemError> {
        let crosses = self.t < self.at && span.end >= self.at;
        let stops = crosses && self.info.capabilities.may_return_early && span.end > self.at;
        let end = if stops { self.at } else { span.end };
        // x' = u before, x' = -5 x after; exact for lines as inputs.
        let h = end - span.start;
        self.x = if span.start < self.at { self.x + h * u.at(0, 0.5 * h) } else { self.x * (-5.0 * h).exp() };
        self.t = end;
        y.fill(self.x);
        Ok(Advance { reached: end, event: happened(crosses), next_event: None })
    }

    fn probe(&mut self, _z: &mut [f64]) -> Result<(), SubsystemError> {
        Ok(())
    }

    fn save(&mut self) -> Result<(), SubsystemError> {
        self.saved = (self.t, self.x);
        Ok(())
    }

    fn restore(&mut self) -> Result<(), SubsystemError> {
        (self.t, self.x) = self.saved;
        Ok(())
    }
}

fn alarms(at: f64, early: bool) -> Network {
    NetworkBuilder::new()
        .subsystem("a", Box::new(Alarm::new(at, early)))
        .subsystem("b", Box::new(Alarm::new(1e9, false)))
        .connect("b.y", "a.u", -1.0)
        .connect("a.y", "b.u", -1.0)
        .build()
        .expect("a proper system")
        .0
}

/// An early return inside a pair takes the pair back and ends it exactly there; an event that is only reported restarts
/// the histories wherever it falls.
#[test]
fn events_work_in_pairs() {
    let network = alarms(0.0731, true);
    let estimators = richardson(&network, 1e-4);
    let (outcome, count, times) = run_with(network, estimators, Rejecting::new(1e-3, 1e-9, 0.05));
    outcome.expect("it runs");
    assert!(times.contains(&0.0731), "{times:?}");
    assert_eq!(count.events, 1);
    assert!(times.windows(2).all(|w| w[0] < w[1]));
    assert_eq!(times.last(), Some(&0.2));

    for at in [0.05, 0.0501, 0.051, 0.0523, 0.0538, 0.055] {
        let network = alarms(at, false);
        let estimators = richardson(&network, 1e-4);
        let (outcome, count, times) = run_with(network, estimators, Rejecting::new(1e-3, 1e-9, 0.05));
        outcome.expect("it runs");
        assert_eq!(count.events, 1, "event at {at}");
        assert_eq!(times.last(), Some(&0.2));
    }
}

/// A split that is unstable at large steps: attempts that blow up are rejected, not the end of the run.
#[test]
fn an_attempt_that_blows_up_is_made_again_smaller() {
    struct Fragile(Alarm);
    impl Subsystem for Fragile {
        fn info(&self) -> &Info {
            self.0.info()
        }
        fn bind(&mut self, binding: &Binding) -> Result<(), SubsystemError> {
            self.0.bind(binding)
        }
        fn enter(&mut self, setup: &Setup) -> Result<(), SubsystemError> {
            self.0.enter(setup)
        }
        fn evaluate(&mut self, u: Inputs<'_>, y: &mut [f64]) -> Result<(), SubsystemError> {
            self.0.evaluate(u, y)
        }
        fn advance(&mut self, span: Span, u: Inputs<'_>, y: &mut [f64]) -> Result<Advance, SubsystemError> {
            let advance = self.0.advance(span, u, y)?;
            if span.h > 2.1e-3 {
                y[0] = f64::NAN;
            }
            if span.h > 8e-3 {
                return Err(SubsystemError::Infeasible { message: "too far".into() });
            }
            Ok(advance)
        }
        fn probe(&mut self, z: &mut [f64]) -> Result<(), SubsystemError> {
            self.0.probe(z)
        }
        fn save(&mut self) -> Result<(), SubsystemError> {
            self.0.save()
        }
        fn restore(&mut self) -> Result<(), SubsystemError> {
            self.0.restore()
        }
    }
    for double in [true, false] {
        let network = NetworkBuilder::new()
            .subsystem("a", Box::new(Fragile(Alarm::new(1e9, false))))
            .subsystem("b", Box::new(Alarm::new(1e9, false)))
            .connect("b.y", "a.u", -1.0)
            .connect("a.y", "b.u", -1.0)
            .build()
            .expect("a proper system")
            .0;
        let estimators = if double { richardson(&network, 1e-2) } else { Vec::new() };
        let (outcome, count, times) = run_with(network, estimators, Rejecting::new(2e-2, 1e-9, 0.05));
        outcome.expect("it runs");
        assert!(count.rejected > 1 && count.max_step <= 2.1e-3, "{count:?}");
        assert_eq!(times.last(), Some(&0.2));
    }
}

/// Both small steps of a pair are rows; the last pair ends exactly at the stop.
#[test]
fn rows_are_the_small_steps() {
    let model = |name: &str| powerbond_models::find(name).expect("a model").build(&[]).expect("its defaults");
    let network = NetworkBuilder::new()
        .subsystem("chassis", model("quarter-car/chassis-dd"))
        .subsystem("wheel", model("quarter-car/wheel-dd"))
        .connect("chassis.position", "wheel.chassis_position", 1.0)
        .connect("chassis.velocity", "wheel.chassis_velocity", 1.0)
        .connect("wheel.position", "chassis.wheel_position", 1.0)
        .connect("wheel.velocity", "chassis.wheel_velocity", 1.0)
        .external(VariableName::new("wheel", "road"), Signal::Constant(0.1))
        .build()
        .expect("a proper system")
        .0;
    let estimators = richardson(&network, 1e-3);
    let (outcome, count, times) = run_with(network, estimators, Rejecting::new(1e-4, 1e-7, 0.05));
    outcome.expect("it runs");
    assert_eq!(times.len() as u64, count.accepted);
    assert_eq!(times.len() % 2, 0);
    for pair in std::iter::once(0.0).chain(times.iter().copied()).collect::<Vec<_>>().windows(3).step_by(2) {
        let (first, second) = (pair[1] - pair[0], pair[2] - pair[1]);
        assert!((first - second).abs() < 1e-12, "{pair:?}");
    }
    assert_eq!(times.last(), Some(&0.2));
}

fn happened(event: bool) -> StepEvent {
    if event { StepEvent::Handled } else { StepEvent::None }
}
