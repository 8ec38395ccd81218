//! The parts of the default method on signals whose answer is known: orders, means, tails, groups, noise, identified feed-through.

mod common;

use common::random::Random;
use powerbond_core::controller::{Fixed, Pi, StepBounds, StepController};
use powerbond_core::estimator::{ErrorEstimator, Jump};
use powerbond_core::feed_through::identify::{Identifier, Role};
use powerbond_core::hold::{InputFeed, VariableOrder};
use powerbond_core::network::{
    BondSpec, ConnectionSpec, Names, Network, NetworkBuilder, PortSpec, VariableName,
};
use powerbond_core::observe::{Flow, NoObserver, Observer, StepReport};
use powerbond_core::run::{Engine, Policies, Settings};
use powerbond_core::step::StepView;
use powerbond_core::step::{Schedule, ScheduleKind, Seen};
use powerbond_core::subsystem::compensated::CompensatedMean;
use powerbond_core::subsystem::halves::HalvesSubstep;
use powerbond_core::subsystem::radau::RadauSubstep;
use powerbond_core::subsystem::{
    Advance, Binding, Capabilities, Causality, FeedThrough, Info, Inputs, Setup, Span, Subsystem,
    SubsystemError, Variable,
};

fn variable(name: &str, causality: Causality) -> Variable {
    powerbond_models::variable(name, causality, "1", "")
}

/// `y = f(t)`: an output that knows its own course, whatever the steps.
struct Course {
    f: fn(f64) -> f64,
    t: f64,
    kept: f64,
    info: Info,
}

impl Course {
    fn boxed(f: fn(f64) -> f64) -> Box<dyn Subsystem> {
        let info = Info {
            kind: "course".into(),
            variables: vec![variable("y", Causality::Output)].into(),
            feed_through: FeedThrough::Declared(Vec::new()),
            capabilities: Capabilities {
                can_refresh: true,
                can_restore: true,
                input_derivatives: 2,
                ..Capabilities::default()
            },
        };
        Box::new(Course { f, t: 0.0, kept: 0.0, info })
    }
}

impl Subsystem for Course {
    fn info(&self) -> &Info {
        &self.info
    }
    fn bind(&mut self, _binding: &Binding) -> Result<(), SubsystemError> {
        Ok(())
    }
    fn enter(&mut self, setup: &Setup) -> Result<(), SubsystemError> {
        self.t = setup.start;
        Ok(())
    }
    fn evaluate(&mut self, _u: Inputs<'_>, y: &mut [f64]) -> Result<(), SubsystemError> {
        y[0] = (self.f)(self.t);
        Ok(())
    }
    fn advance(&mut self, span: Span, _u: Inputs<'_>, y: &mut [f64]) -> Result<Advance, SubsystemError> {
        self.t = span.end;
        y[0] = (self.f)(self.t);
        Ok(Advance::whole(span))
    }
    fn save(&mut self) -> Result<(), SubsystemError> {
        self.kept = self.t;
        Ok(())
    }
    fn restore(&mut self) -> Result<(), SubsystemError> {
        self.t = self.kept;
        Ok(())
    }
    fn probe(&mut self, _z: &mut [f64]) -> Result<(), SubsystemError> {
        Ok(())
    }
}

/// `x' = u`, exact for a parabola; `y = x + 0.5 u`, with the input at the end of the last (sub-)step.
struct Integrator {
    x: f64,
    u: f64,
    kept: (f64, f64),
    info: Info,
}

const GAIN: f64 = 0.5;

impl Integrator {
    fn boxed(derivatives: u8) -> Box<dyn Subsystem> {
        let info = Info {
            kind: "integrator".into(),
            variables: vec![variable("u", Causality::Input), variable("y", Causality::Output)].into(),
            feed_through: FeedThrough::Declared(vec![(1, 0)]),
            capabilities: Capabilities {
                can_restore: true,
                sub_steps: true,
                input_derivatives: derivatives,
                ..Capabilities::default()
            },
        };
        Box::new(Integrator { x: 0.0, u: 0.0, kept: (0.0, 0.0), info })
    }
}

impl Subsystem for Integrator {
    fn info(&self) -> &Info {
        &self.info
    }
    fn bind(&mut self, _binding: &Binding) -> Result<(), SubsystemError> {
        Ok(())
    }
    fn enter(&mut self, _setup: &Setup) -> Result<(), SubsystemError> {
        Ok(())
    }
    fn evaluate(&mut self, u: Inputs<'_>, y: &mut [f64]) -> Result<(), SubsystemError> {
        self.u = u.value[0];
        y[0] = self.x + GAIN * self.u;
        Ok(())
    }
    fn advance(&mut self, span: Span, u: Inputs<'_>, y: &mut [f64]) -> Result<Advance, SubsystemError> {
        let of = |list: &[f64]| list.first().copied().unwrap_or(0.0);
        self.x += span.h * (u.value[0] + span.h * (of(u.slope) / 2.0 + span.h * of(u.curvature) / 6.0));
        self.u = u.at(0, span.h);
        y[0] = self.x + GAIN * self.u;
        Ok(Advance::whole(span))
    }
    fn save(&mut self) -> Result<(), SubsystemError> {
        self.kept = (self.x, self.u);
        Ok(())
    }
    fn restore(&mut self) -> Result<(), SubsystemError> {
        (self.x, self.u) = self.kept;
        Ok(())
    }
    fn probe(&mut self, _z: &mut [f64]) -> Result<(), SubsystemError> {
        Ok(())
    }
}

/// Listens: an output without a listener is not read.
struct Listener(Info);

impl Listener {
    fn boxed() -> Box<dyn Subsystem> {
        Box::new(Listener(Info {
            kind: "listener".into(),
            variables: vec![variable("u", Causality::Input)].into(),
            feed_through: FeedThrough::Declared(Vec::new()),
            capabilities: Capabilities { can_restore: true, input_derivatives: 2, ..Capabilities::default() },
        }))
    }
}

impl Subsystem for Listener {
    fn info(&self) -> &Info {
        &self.0
    }
    fn bind(&mut self, _binding: &Binding) -> Result<(), SubsystemError> {
        Ok(())
    }
    fn enter(&mut self, _setup: &Setup) -> Result<(), SubsystemError> {
        Ok(())
    }
    fn evaluate(&mut self, _u: Inputs<'_>, _y: &mut [f64]) -> Result<(), SubsystemError> {
        Ok(())
    }
    fn advance(&mut self, span: Span, _u: Inputs<'_>, _y: &mut [f64]) -> Result<Advance, SubsystemError> {
        Ok(Advance::whole(span))
    }
    fn save(&mut self) -> Result<(), SubsystemError> {
        Ok(())
    }
    fn restore(&mut self) -> Result<(), SubsystemError> {
        Ok(())
    }
    fn probe(&mut self, _z: &mut [f64]) -> Result<(), SubsystemError> {
        Ok(())
    }
}

/// `f` feeds `b`, and a listener hears what that says: input 0 is `b.u`, output 1 is `b.y`.
fn fed_by(f: fn(f64) -> f64, b: Box<dyn Subsystem>) -> (Network, Names) {
    let all = [("a", Course::boxed(f)), ("b", b), ("c", Listener::boxed())];
    let builder =
        all.into_iter().fold(NetworkBuilder::new(), |builder, (name, s)| builder.subsystem(name, s));
    builder.connect("a.y", "b.u", 1.0).connect("b.y", "c.u", 1.0).build().expect("a sound system")
}

/// What is wanted of a run of one input.
struct Wanted {
    feed: InputFeed,
    jumps: bool,
    identify: bool,
    adaptive: Option<f64>,
    rejects_jumps: bool,
    step: f64,
    stop: f64,
}

impl Default for Wanted {
    fn default() -> Self {
        Wanted {
            feed: InputFeed::Derivatives(2),
            jumps: false,
            identify: false,
            adaptive: None,
            rejects_jumps: false,
            step: 0.01,
            stop: 1.0,
        }
    }
}

fn engine((network, _): (Network, Names), wanted: &Wanted) -> Engine {
    let n = network.n_inputs;
    let values_only = vec![!matches!(wanted.feed, InputFeed::Derivatives(_)); n];
    let tolerance = wanted.adaptive.unwrap_or(1e-3);
    let jump = Jump::new(tolerance, &Jump::groups(&network, |_| false), values_only);
    let estimators: Vec<Box<dyn ErrorEstimator>> =
        if wanted.jumps || wanted.adaptive.is_some() { vec![Box::new(jump)] } else { Vec::new() };
    let limits = StepBounds {
        min_step: 1e-7 * wanted.stop,
        max_step: 1e-3 * wanted.stop,
        min_rate: 0.2,
        max_rate: 1.5,
    };
    let controller: Box<dyn StepController> = match wanted.adaptive {
        Some(_) => {
            let mut pi = Pi::ecco(1e-6 * wanted.stop, limits);
            (pi.safety, pi.opening_rate) = (0.9, Some(2.0));
            pi.rejects_jumps = wanted.rejects_jumps;
            Box::new(pi)
        }
        None => Box::new(Fixed { step: wanted.step }),
    };
    let members: Vec<(usize, Role)> = (0..network.members.len()).map(|s| (s, Role::Improved)).collect();
    let policies = Policies {
        ceiling: None,
        sampled: None,
        identifier: wanted.identify.then(|| Identifier::new(&network, &members, |_| true)),
        schedule: Schedule::new(
            &network,
            &ScheduleKind::Jacobi { fast: Seen::Held },
            &vec![1; network.members.len()],
        ),
        extrapolation: Box::new(VariableOrder::new(vec![2; n], vec![wanted.feed; n], vec![false; n])),
        correction: None,
        estimators,
        controller,
    };
    Engine::new(network, policies, Settings::new(0.0, wanted.stop))
}

fn orders(f: fn(f64) -> f64, feed: InputFeed) -> [u64; 3] {
    let takes = if let InputFeed::Derivatives(k) = feed { k } else { 0 };
    let mut engine = engine(fed_by(f, Integrator::boxed(takes)), &Wanted { feed, ..Wanted::default() });
    engine.run(&mut NoObserver).expect("a sound run");
    engine.order_counts()[0]
}

/// A number in -1 … 1 that looks random, the same for the same t.
fn dice(t: f64) -> f64 {
    Random(t.to_bits()).uniform(-1.0, 1.0)
}

#[test]
fn the_order_follows_the_signal() {
    // Of 100 steps the first ones look for the order: two to have nodes enough, some for the memory of 0.8.
    let [_, _, second] = orders(|t| 1.0 + 2.0 * t + 3.0 * t * t, InputFeed::Derivatives(2));
    assert!(second >= 85, "a parabola: {second}");
    let [_, first, second] = orders(|t| (3.0 * t).sin(), InputFeed::Derivatives(2));
    assert!(second >= 80 && first < 20, "a sine: {first} {second}");
    // A predictor of order m makes of white noise sqrt(2), sqrt(6), sqrt(20) times the noise.
    let [zeroth, _, _] = orders(dice, InputFeed::Derivatives(2));
    assert!(zeroth >= 80, "noise: {zeroth}");
    // A staircase with a step at every fifth point.
    let [zeroth, _, _] = orders(|t| (t / 0.05 + 1e-6).floor(), InputFeed::Derivatives(2));
    assert!(zeroth >= 80, "a staircase: {zeroth}");
    // What a subsystem does not take, it is not given.
    assert_eq!(orders(|t| t * t, InputFeed::Value), [100, 0, 0]);
    assert_eq!(orders(|t| t * t, InputFeed::Derivatives(1))[2], 0);
}

/// ∫ 1 + 2t + 3t² from 0 to 1 is 3. After its order is found every step is exact, however the subsystem is fed.
#[test]
fn a_parabola_is_integrated_exactly_whatever_a_subsystem_takes() {
    struct Late {
        from: f64,
        feed: f64,
        end: f64,
    }
    impl Observer for Late {
        fn accepted(&mut self, step: &StepView<'_>, _report: &StepReport<'_>) -> Flow {
            if step.span.start >= self.from {
                // What the step adds to x, less what the parabola adds: y - u/2 at both ends.
                let x = |t: f64| t * (1.0 + t * (1.0 + t));
                let u = |t: f64| 1.0 + t * (2.0 + 3.0 * t);
                let (a, b) = (step.span.start, step.span.end);
                let moved = step.y_step[1] - step.y_prev[1];
                self.feed = self.feed.max((moved - (x(b) - x(a)) - GAIN * (u(b) - u(a))).abs());
                self.end = self.end.max((step.held_end[0] - u(b)).abs());
            }
            Flow::Continue
        }
    }
    for (feed, owed) in [
        (InputFeed::Derivatives(2), 0.0),
        (InputFeed::Radau, 0.0),
        // The output feeds the mean through, not the end: half of u(t+h) - mean = h(1 + 3t) + 2h², once at each end of a step;
        // the difference of both is at most (3h + …)·h/2.
        (InputFeed::Mean, 0.5 * (3.0 * 0.01 * 0.01 + 1e-9)),
    ] {
        let sink = Integrator::boxed(if feed == InputFeed::Derivatives(2) { 2 } else { 0 });
        let (mut network, names) = fed_by(|t| 1.0 + t * (2.0 + 3.0 * t), sink);
        if feed == InputFeed::Radau {
            network.members = network
                .members
                .into_iter()
                .map(|m| {
                    let n = m.inputs.len();
                    if n > 0 { m.wrapped(|inner| Box::new(RadauSubstep::new(inner, n))) } else { m }
                })
                .collect();
        }
        let mut engine = engine((network, names), &Wanted { feed, ..Wanted::default() });
        let mut late = Late { from: 0.3, feed: 0.0, end: 0.0 };
        engine.run(&mut late).expect("a sound run");
        assert!(late.feed <= owed + 1e-12, "{feed:?}: {}", late.feed);
        assert!(late.end < 1e-12, "{feed:?}: the end of the hold is that of the parabola: {}", late.end);
    }
}

/// Two parts: 2h/3 with p0 + p1 h/4, then h/3 with p(h). Of p = 1 + 2τ + 3τ² over h = 0.5: mean 1.75, p(h) = 2.75.
#[test]
fn radau_sub_steps_have_the_mean_of_the_hold_and_end_with_its_end() {
    let mut radau = RadauSubstep::new(Integrator::boxed(0), 1);
    assert_eq!(radau.info().capabilities.input_derivatives, 2);
    radau.enter(&Setup { start: 0.0, stop: 1.0 }).expect("it starts");
    let mut y = [0.0];
    let span = Span { start: 0.0, end: 0.5, h: 0.5 };
    let u = Inputs { value: &[1.0], slope: &[2.0], curvature: &[6.0] };
    let advance = radau.advance(span, u, &mut y).expect("it steps");
    assert_eq!(advance.reached, 0.5);
    // x = 0.5 · 1.75, and y = x + 0.5 · 2.75.
    assert!((y[0] - (0.875 + 0.5 * 2.75)).abs() < 1e-15, "{}", y[0]);
    // A constant needs no second part: one call, the same result.
    radau.advance(Span { start: 0.5, end: 1.0, h: 0.5 }, Inputs::constant(&[2.0]), &mut y).expect("it steps");
    assert!((y[0] - (0.875 + 1.0 + 0.5 * 2.0)).abs() < 1e-15, "{}", y[0]);
}

/// Two halves: v ∓ Δ/2, v the mean of p, Δ = ⅔ h (p1 + h p2). Of p = 1 + 2τ + 3τ² over h = 0.5: v = 1.75, Δ = 7/6, p(h) = 2.75; both
/// together have the moment ∫p (τ − h/2) = h³ (p1 + h p2)/12.
#[test]
fn halves_have_the_mean_and_the_moment_of_the_hold() {
    let span = Span { start: 0.0, end: 0.5, h: 0.5 };
    let u = Inputs { value: &[1.0], slope: &[2.0], curvature: &[6.0] };
    // y = x + 0.5 u, read at what is held at last, or again at p(h).
    for (reads, end) in [(false, 1.75 + 7.0 / 12.0), (true, 2.75)] {
        let mut halves = HalvesSubstep::new(Integrator::boxed(0), 1, reads);
        assert_eq!(halves.info().capabilities.input_derivatives, 2);
        halves.enter(&Setup { start: 0.0, stop: 1.0 }).expect("it starts");
        let mut y = [0.0];
        let advance = halves.advance(span, u, &mut y).expect("it steps");
        assert_eq!(advance.reached, 0.5);
        assert!((y[0] - (0.875 + 0.5 * end)).abs() < 1e-15, "{}", y[0]);
    }
    let moment = 0.5f64.powi(2) / 4.0 * (7.0 / 6.0) / 2.0;
    assert!((moment - 0.5f64.powi(3) * (2.0 + 0.5 * 3.0) / 12.0).abs() < 1e-15);
}

/// x' = u, y = x + u/2 of p = 1 + 2τ + 3τ² over h = 0.5: mean 1.75, G = h²/12 (p1 + 2 h p2) = 5/48, held is 1.75 − G/h, and y is what the
/// polynomial itself gives, 0.875 + 0.5 p(h), p(h) = 2.75. In the next step, half as long, G of a parabola is another one.
#[test]
fn a_compensated_mean_gives_the_outputs_of_the_polynomial() {
    let mut compensated = CompensatedMean::new(Integrator::boxed(0), 1, vec![true], true);
    assert_eq!(compensated.info().capabilities.input_derivatives, 2);
    compensated.enter(&Setup { start: 0.0, stop: 1.0 }).expect("it starts");
    let (span, next) = (Span { start: 0.0, end: 0.5, h: 0.5 }, Span { start: 0.5, end: 0.75, h: 0.25 });
    let u = Inputs { value: &[1.0], slope: &[2.0], curvature: &[6.0] };
    let later = Inputs { value: &[2.75], slope: &[5.0], curvature: &[6.0] };
    let mut y = [0.0];
    compensated.advance(span, u, &mut y).expect("it steps");
    assert!((y[0] - (0.875 + 0.5 * 2.75)).abs() < 1e-12, "{}", y[0]);
    // ∫p = t + t² + t³ to 0.75, p(0.75) = 4.1875; after a step that was taken back, too.
    let end = 0.75 + 0.5625 + 0.421_875 + 0.5 * 4.1875;
    compensated.save().expect("it saves");
    for _ in 0..2 {
        compensated.advance(next, later, &mut y).expect("it steps");
        assert!((y[0] - end).abs() < 1e-12, "{} instead of {end}", y[0]);
        compensated.restore().expect("it goes back");
    }
}

/// `x' = u − x`, exact for constants; takes values only.
struct Lag {
    x: f64,
    kept: f64,
    info: Info,
}

impl Lag {
    fn boxed() -> Box<dyn Subsystem> {
        let info = Info {
            kind: "lag".into(),
            variables: vec![variable("u", Causality::Input), variable("y", Causality::Output)].into(),
            feed_through: FeedThrough::Declared(Vec::new()),
            capabilities: Capabilities { can_restore: true, sub_steps: true, ..Capabilities::default() },
        };
        Box::new(Lag { x: 0.0, kept: 0.0, info })
    }
}

impl Subsystem for Lag {
    fn info(&self) -> &Info {
        &self.info
    }
    fn bind(&mut self, _binding: &Binding) -> Result<(), SubsystemError> {
        Ok(())
    }
    fn enter(&mut self, _setup: &Setup) -> Result<(), SubsystemError> {
        Ok(())
    }
    fn evaluate(&mut self, _u: Inputs<'_>, y: &mut [f64]) -> Result<(), SubsystemError> {
        y[0] = self.x;
        Ok(())
    }
    fn advance(&mut self, span: Span, u: Inputs<'_>, y: &mut [f64]) -> Result<Advance, SubsystemError> {
        self.x = u.value[0] + (self.x - u.value[0]) * (-span.h).exp();
        y[0] = self.x;
        Ok(Advance::whole(span))
    }
    fn save(&mut self) -> Result<(), SubsystemError> {
        self.kept = self.x;
        Ok(())
    }
    fn restore(&mut self) -> Result<(), SubsystemError> {
        self.x = self.kept;
        Ok(())
    }
    fn probe(&mut self, _z: &mut [f64]) -> Result<(), SubsystemError> {
        Ok(())
    }
}

/// u = t² feeds x' = u − x from 0: x(t) = t² − 2t + 2 − 2 e^−t by hand. The polynomial itself is exact, so that only its feeding errs:
/// halved steps divide the error by 2³ with Radau's sub-steps and with a compensated mean, by 2⁴ with halves, by 2² with the mean.
#[test]
fn sub_steps_are_of_third_order_where_the_mean_is_of_second() {
    let end = |n: u32, feed: InputFeed| {
        let inner = Lag::boxed();
        let mut lag: Box<dyn Subsystem> = match feed {
            InputFeed::Radau => Box::new(RadauSubstep::new(inner, 1)),
            InputFeed::Halves => Box::new(HalvesSubstep::new(inner, 1, false)),
            InputFeed::Compensated => Box::new(CompensatedMean::new(inner, 1, vec![true], false)),
            _ => inner,
        };
        let mut y = [0.0];
        for k in 0..n {
            let span = Span { start: 0.0, end: 1.0, h: 1.0 }.part(k, n);
            let (t, h) = (span.start, span.h);
            let mean = [t * t + t * h + h * h / 3.0];
            let (value, slope) = ([t * t], [2.0 * t]);
            let polynomial = Inputs { value: &value, slope: &slope, curvature: &[2.0] };
            let u = if feed == InputFeed::Mean { Inputs::constant(&mean) } else { polynomial };
            lag.advance(span, u, &mut y).expect("it steps");
        }
        (y[0] - (1.0 - 2.0 * (-1f64).exp())).abs()
    };
    let orders = [
        (InputFeed::Radau, 3.0),
        // What two equal halves lack of a parabola is even about the middle: h⁵ in a step.
        (InputFeed::Halves, 4.0),
        (InputFeed::Compensated, 3.0),
        (InputFeed::Mean, 2.0),
    ];
    for (feed, order) in orders {
        let measured = (end(20, feed) / end(40, feed)).log2();
        assert!((measured - order).abs() < 0.1, "{feed:?}: order {measured}");
    }
}

#[test]
fn groups_are_bonds_then_pairs_and_skip_what_is_not_judged() {
    let name = |text: &str| VariableName::parse(text).expect("a full name");
    let model =
        |name: &str| powerbond_models::find(name).expect("a model").build(&[]).expect("its parameters");
    let port = |subsystem: &str, input: &str, output: &str, sign: f64| PortSpec {
        inputs: vec![VariableName::new(subsystem, input)],
        outputs: vec![VariableName::new(subsystem, output)],
        sign,
        ratio: 1.0,
    };
    // Two oscillators: force and velocity are a bond, the position goes the same way beside it; a watcher listens to both.
    let (network, names) = NetworkBuilder::new()
        .subsystem("giver", model("oscillator/force-giver"))
        .subsystem("mass", model("oscillator/mass"))
        .subsystem("one", model("algebraic/gain"))
        .subsystem("two", model("algebraic/gain"))
        .connect("mass.position", "giver.position", 1.0)
        .connect("mass.velocity", "giver.velocity", 1.0)
        .connect("giver.force", "mass.force", 1.0)
        .connection(ConnectionSpec {
            from: vec![(name("mass.velocity"), 1.0)],
            to: name("one.u"),
            offset: 0.0,
            convert_units: false,
        })
        .connect("one.y", "two.u", 1.0)
        .bond(BondSpec {
            name: "spring".into(),
            ports: vec![port("mass", "force", "velocity", -1.0), port("giver", "velocity", "force", 1.0)],
        })
        .build()
        .expect("a sound system");
    let named = |skip: &str| -> Vec<Vec<String>> {
        let groups = Jump::groups(&network, |i| names.inputs[i].to_string() == skip);
        let group = |g: Vec<usize>| g.into_iter().map(|i| names.inputs[i].to_string()).collect();
        groups.into_iter().map(group).collect()
    };
    assert_eq!(
        named(""),
        [vec!["mass.force", "giver.velocity", "giver.position"], vec!["one.u"], vec!["two.u"]]
    );
    assert_eq!(named("one.u"), [vec!["mass.force", "giver.velocity", "giver.position"], vec!["two.u"]]);
}

/// The first looks at noise are at the first steps: 1e-6 of the run.
#[test]
fn noise_is_found_and_a_kink_is_none() {
    let noise = |f: fn(f64) -> f64| {
        let wanted = Wanted { adaptive: Some(1e-3), stop: 10.0, ..Wanted::default() };
        let mut engine = engine(fed_by(f, Integrator::boxed(2)), &wanted);
        let mut largest = 0.0f64;
        engine.initialize(&mut NoObserver).expect("it starts");
        while engine.time() < 10.0 {
            engine.step(&mut NoObserver).expect("a sound step");
            largest = largest.max(engine.driving().expect("an estimator").diagnostics().noise[0]);
        }
        largest
    };
    let found = noise(|t| t.sin() + 1e-3 * dice(t));
    // The median of the smallest of three jumps of noise that is even in ±1e-3.
    assert!((1e-4..2e-3).contains(&found), "{found}");
    assert_eq!(noise(f64::sin), 0.0, "a smooth signal");
    // Of lines a parabola makes nothing but round-off, which is noise.
    assert!(noise(|t| (t - 5.0).abs()) < 1e-14, "a kink");
    assert_eq!(noise(|t| (t * 0.7).sin().abs()), 0.0, "several kinks");
    assert_eq!(noise(|t| if t < 5.0 { t.sin() } else { 3.0 }), 0.0, "a jump");
}

/// After a quiet phase the step is at its largest, and the jump is not announced.
#[test]
fn a_jump_that_is_not_announced_is_told_with_its_time() {
    let wanted = Wanted { adaptive: Some(1e-3), stop: 10.0, ..Wanted::default() };
    let smooth = |t: f64| (0.2 * t).sin();
    let mut engine =
        engine(fed_by(|t| if t < 7.003 { (0.2 * t).sin() } else { 2.0 }, Integrator::boxed(2)), &wanted);
    engine.run(&mut NoObserver).expect("a sound run");
    let (count, worst) = engine.driving().and_then(|e| e.diagnostics().crossed).expect("a crossing");
    assert_eq!((count, worst.input), (1, 0));
    assert!(worst.time >= 7.003 && worst.time - worst.step < 7.003, "{worst:?}");
    // The jump of 2 - sin(1.4006) against half of the range 0 … 2, over κ·tolerance = 3e-4.
    let expected = (2.0 - smooth(7.003)) / 1.0 / 3e-4;
    assert!((worst.norm / expected - 1.0).abs() < 0.05, "{} {expected}", worst.norm);
    let quiet = Wanted { adaptive: Some(1e-3), stop: 10.0, ..Wanted::default() };
    let mut engine = super_smooth(&quiet);
    engine.run(&mut NoObserver).expect("a sound run");
    assert_eq!(engine.driving().and_then(|e| e.diagnostics().crossed), None);
}

/// ∫u to the end is (1 − cos 1.4006)/.2 + 2 (10 − 7.003). The jump of 1 half range has a norm of about 1/3e-4; what is left of it may do the
/// harm of ten usual steps, 10 · 3e-4 · .01 s; without rejections the input is wrong up to the end of a step of .01 s.
#[test]
fn steps_over_a_jump_that_is_not_announced_are_rejected_until_it_does_little_harm() {
    let jump = |t: f64| if t < 7.003 { (0.2 * t).sin() } else { 2.0 };
    let exact = (1.0 - 1.4006f64.cos()) / 0.2 + 2.0 * (10.0 - 7.003);
    let run = |rejects_jumps: bool| {
        let wanted = Wanted { adaptive: Some(1e-3), rejects_jumps, stop: 10.0, ..Wanted::default() };
        let mut engine = engine(fed_by(jump, Integrator::boxed(2)), &wanted);
        engine.run(&mut NoObserver).expect("a sound run");
        ((engine.outputs()[1] - GAIN * 2.0 - exact).abs(), engine.statistics().clone())
    };
    let (crossed, plain) = run(false);
    let (located, statistics) = run(true);
    assert!(crossed > 1e-3 && located < 4e-5, "{crossed:e} {located:e}");
    assert!(statistics.rejected > 0 && statistics.rejected <= 8, "{statistics:?}");
    assert!(statistics.accepted < plain.accepted + 60, "{} {}", statistics.accepted, plain.accepted);
    // Outputs of `b` follow its input at once, but cannot be read again: the jump comes to the listener with the next step.
    assert_eq!(statistics.events, 2, "what was located is an event");
}

fn super_smooth(wanted: &Wanted) -> Engine {
    engine(fed_by(|t| (3.0 * t).sin(), Integrator::boxed(2)), wanted)
}

/// The feed-through of a linear subsystem is found as it is, 0.5, and trusted; the output then is that of the fresh input.
#[test]
fn identified_feed_through_is_that_of_the_equations() {
    // A dithered mean differs from the hold in every step; without dither the first steps, whose order changes, tell D from ∫∫u.
    for feed in [InputFeed::Dithered, InputFeed::Mean] {
        let wanted = Wanted { feed, identify: true, stop: 4.0, ..Wanted::default() };
        let mut engine = engine(fed_by(|t| (5.0 * t).sin(), Integrator::boxed(0)), &wanted);
        struct Off {
            stepped: f64,
            improved: f64,
        }
        impl Observer for Off {
            fn accepted(&mut self, step: &StepView<'_>, _report: &StepReport<'_>) -> Flow {
                if step.span.end > 2.0 {
                    // y = x + 0.5 u with x = ∫ sin 5t = (1 - cos 5t)/5.
                    let t = step.span.end;
                    let y = (1.0 - (5.0 * t).cos()) / 5.0 + GAIN * (5.0 * t).sin();
                    self.stepped = self.stepped.max((step.y_step[1] - y).abs());
                    self.improved = self.improved.max((step.y_fresh[1] - y).abs());
                }
                Flow::Continue
            }
        }
        let mut off = Off { stepped: 0.0, improved: 0.0 };
        engine.run(&mut off).expect("a sound run");
        let found = engine.identified();
        let [one] = &found[..] else { panic!("one pair: {found:?}") };
        assert!((one.gain - GAIN).abs() < 0.01 * GAIN, "{feed:?}: {one:?}");
        assert!(one.confidence > 0.99, "{feed:?}: {one:?}");
        // Without it the output owes 0.5 (u(t+h) - mean), up to 0.5 · 5 · h/2 = 0.0125, and the dither.
        assert!((0.012..0.0135).contains(&off.stepped), "{feed:?}: {}", off.stepped);
        assert!(off.improved < 1e-3, "{feed:?}: {}", off.improved);
    }
}
