//! The feed-through graph against brute force, algebraic loops at the start, and probing.

mod common;

use common::random::Random;
use powerbond_core::controller::Fixed;
use powerbond_core::error::RunError;
use powerbond_core::feed_through::{Asymptotics, ProbeOutcome, Structure, probe, probe_integrations};
use powerbond_core::hold::Polynomial;
use powerbond_core::network::{ConnectionSpec, Network, NetworkBuilder, VariableName};
use powerbond_core::observe::NoObserver;
use powerbond_core::run::{Engine, Policies, Settings};
use powerbond_core::step::{Schedule, ScheduleKind, Seen};
use powerbond_core::subsystem::{
    Advance, Binding, Capabilities, Causality, FeedThrough, Info, Inputs, Setup, Span, Subsystem,
    SubsystemError,
};
use powerbond_models::{self, variable};
use std::sync::Arc;

type Law = Arc<dyn Fn(&[f64], &mut [f64]) + Send + Sync>;

/// Outputs as a function of inputs, nothing else; `d` gives its derivatives by rows where it is not empty.
#[derive(Clone)]
struct Block {
    info: Info,
    law: Law,
    derivatives: Vec<f64>,
    binding: Binding,
    ni: usize,
    no: usize,
}

impl Block {
    fn new(ni: usize, no: usize, feed_through: FeedThrough, law: Law) -> Self {
        let inputs = (0..ni).map(|i| variable(&format!("u{i}"), Causality::Input, "1", ""));
        let outputs = (0..no).map(|o| variable(&format!("y{o}"), Causality::Output, "1", ""));
        let info = Info {
            kind: "block".into(),
            variables: inputs.chain(outputs).collect(),
            feed_through,
            capabilities: Capabilities::default(),
        };
        Block { info, law, derivatives: Vec::new(), binding: Binding::default(), ni, no }
    }

    /// A law of one input and one output that declares its feed-through.
    fn scalar(law: fn(f64) -> f64) -> Self {
        Block::new(1, 1, FeedThrough::Declared(vec![(1, 0)]), Arc::new(move |u, y| y[0] = law(u[0])))
    }

    fn with_derivatives(mut self, d: Vec<f64>) -> Self {
        self.derivatives = d;
        self.info.capabilities.feed_through_values = true;
        self
    }
}

impl Subsystem for Block {
    fn info(&self) -> &Info {
        &self.info
    }

    fn bind(&mut self, binding: &Binding) -> Result<(), SubsystemError> {
        self.binding = binding.clone();
        Ok(())
    }

    fn enter(&mut self, _setup: &Setup) -> Result<(), SubsystemError> {
        Ok(())
    }

    fn scratch(&self) -> Option<Box<dyn Subsystem>> {
        Some(Box::new(self.clone()))
    }

    fn evaluate(&mut self, u: Inputs<'_>, y: &mut [f64]) -> Result<(), SubsystemError> {
        let (mut all_u, mut all_y) = (vec![0.0; self.ni], vec![0.0; self.no]);
        self.binding.inputs.iter().zip(u.value).for_each(|(&i, &value)| all_u[i] = value);
        (self.law)(&all_u, &mut all_y);
        self.binding.outputs.iter().zip(y).for_each(|(&o, y)| *y = all_y[o - self.ni]);
        Ok(())
    }

    fn advance(&mut self, span: Span, u: Inputs<'_>, y: &mut [f64]) -> Result<Advance, SubsystemError> {
        self.evaluate(u, y)?;
        Ok(Advance::whole(span))
    }

    fn feed_through(&mut self, d: &mut [f64]) -> Result<(), SubsystemError> {
        for (d, &(o, i)) in d.iter_mut().zip(&self.binding.feed_through) {
            *d = self.derivatives[(self.binding.outputs[o] - self.ni) * self.ni + self.binding.inputs[i]];
        }
        Ok(())
    }

    fn probe(&mut self, _z: &mut [f64]) -> Result<(), SubsystemError> {
        Ok(())
    }
}

fn random_network(random: &mut Random) -> Network {
    let n = 2 + random.below(4);
    let mut builder = NetworkBuilder::new();
    let mut outputs = Vec::new();
    let mut inputs = Vec::new();
    let density = random.below(60);
    for s in 0..n {
        let (ni, no) = (1 + random.below(3), 1 + random.below(3));
        let mut pairs = Vec::new();
        for o in 0..no {
            pairs.extend((0..ni).filter(|_| random.chance(density)).map(|i| (ni + o, i)));
        }
        let known = if random.chance(85) { FeedThrough::Declared(pairs) } else { FeedThrough::Unknown };
        let name = format!("s{s}");
        builder = builder.subsystem(&name, Box::new(Block::new(ni, no, known, Arc::new(|_, _| {}))));
        outputs.extend((0..no).map(|o| (s, VariableName::new(&name, &format!("y{o}")))));
        inputs.extend((0..ni).map(|i| (s, VariableName::new(&name, &format!("u{i}")))));
    }
    for (_, to) in inputs {
        let mut from = Vec::new();
        for _ in 0..1 + random.below(2) {
            from.push((outputs[random.below(outputs.len())].1.clone(), 1.0));
        }
        if random.chance(90) {
            builder = builder.connection(ConnectionSpec { from, to, offset: 0.0, convert_units: false });
        }
    }
    builder.build().expect("it is a proper network").0
}

fn multiply(a: &[Vec<u64>], b: &[Vec<u8>]) -> Vec<Vec<u64>> {
    let n = a.len();
    let cell = |i: usize, j: usize| u64::from((0..n).any(|k| a[i][k] > 0 && b[k][j] > 0));
    (0..n).map(|i| (0..n).map(|j| cell(i, j)).collect()).collect()
}

#[test]
fn random_networks_agree_with_brute_force() {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let (mut with_loops, mut without) = (0, 0);
    for case in 0..2000 {
        let network = random_network(&mut random);
        let structure = Structure::of(&network);
        let has = |o: usize, i: usize| network.feed_through.iter().any(|p| (p.output, p.input) == (o, i));
        // Edges by definition: some source of u_ν feeds u_μ through.
        let depends = |a: usize, b: usize| {
            network.wiring.sources(a).any(|(o, _)| has(o, b)) && network.wiring.is_coupled(b)
        };
        let coupled = &structure.coupled;
        let n = coupled.len();
        let a = structure.adjacency();
        for i in 0..n {
            for j in 0..n {
                assert_eq!(a[i][j] == 1, depends(coupled[i], coupled[j]), "case {case}");
            }
        }
        // Reachability by powers of A; A^M = 0 for the first time at the nilpotency index.
        let mut power: Vec<Vec<u64>> = (0..n).map(|i| (0..n).map(|j| u64::from(i == j)).collect()).collect();
        let mut reaches = vec![vec![false; n]; n];
        let mut nilpotency = None;
        for m in 1..=n + 1 {
            power = multiply(&power, &a);
            if nilpotency.is_none() && power.iter().flatten().all(|&v| v == 0) {
                nilpotency = Some(m);
            }
            for i in 0..n {
                for j in 0..n {
                    reaches[i][j] |= power[i][j] > 0;
                }
            }
        }
        if n > 0 {
            assert_eq!(structure.nilpotency, nilpotency, "case {case}");
        }
        // A loop is a maximal set of inputs that reach each other.
        let mut loops: Vec<Vec<usize>> = Vec::new();
        for i in (0..n).filter(|&i| reaches[i][i]) {
            let set: Vec<usize> =
                (0..n).filter(|&j| reaches[i][j] && reaches[j][i]).map(|j| coupled[j]).collect();
            if !loops.contains(&set) {
                loops.push(set);
            }
        }
        let mut found: Vec<Vec<usize>> = structure.loops.iter().map(|l| l.inputs.clone()).collect();
        found.sort();
        loops.sort();
        assert_eq!(found, loops, "case {case}");
        if loops.is_empty() {
            without += 1
        } else {
            with_loops += 1
        }
        for l in &structure.loops {
            assert_eq!(l.path[0].0, l.inputs[0]);
            for (k, &(input, output)) in l.path.iter().enumerate() {
                assert!(has(output, input), "case {case}: a link that is no feed-through");
                let (next, _) = l.path[(k + 1) % l.path.len()];
                let mut sources = network.wiring.sources(next);
                assert!(sources.any(|(o, _)| o == output), "case {case}: a link that is no connection");
                assert!(l.inputs.contains(&input));
            }
            let distinct: std::collections::BTreeSet<_> = l.path.iter().map(|p| p.0).collect();
            assert_eq!(distinct.len(), l.path.len(), "case {case}: the path crosses itself");
        }
        // Without loops every component comes after what it depends on.
        let place = |i: usize| structure.components.iter().position(|c| c.contains(&i));
        for i in 0..network.n_inputs {
            for &j in &structure.edges[i] {
                assert!(place(j) <= place(i), "case {case}");
            }
        }
        let mut order = structure.order.clone();
        order.sort_unstable();
        assert_eq!(order, (0..network.members.len()).collect::<Vec<_>>());
    }
    assert!(with_loops > 200 && without > 200, "{with_loops} with loops, {without} without");
}

fn quarter_car(split: &str) -> Network {
    let model = |name: &str| {
        powerbond_models::find(&format!("quarter-car/{name}-{split}"))
            .expect("a model")
            .build(&[])
            .expect("defaults")
    };
    let builder = NetworkBuilder::new()
        .subsystem("chassis", model("chassis"))
        .subsystem("wheel", model("wheel"))
        .connect("chassis.position", "wheel.chassis_position", 1.0)
        .connect("chassis.velocity", "wheel.chassis_velocity", 1.0)
        .external(VariableName::new("wheel", "road"), powerbond_core::time::signal::Signal::Constant(0.1));
    let builder = match split {
        "dd" => builder.connect("wheel.position", "chassis.wheel_position", 1.0).connect(
            "wheel.velocity",
            "chassis.wheel_velocity",
            1.0,
        ),
        _ => builder.connect("wheel.suspension_force", "chassis.force", 1.0),
    };
    builder.build().expect("a proper system").0
}

/// arnold2013 example 2.
#[test]
fn the_quarter_car_has_the_published_adjacency() {
    let dd = Structure::of(&quarter_car("dd"));
    assert_eq!(dd.adjacency(), vec![vec![0; 4]; 4]);
    assert_eq!((dd.nilpotency, dd.loops.len()), (Some(1), 0));
    let setup = Setup { start: 0.0, stop: 4.0 };
    let mut network = quarter_car("fd");
    let fd = Structure::of(&network);
    assert_eq!(fd.adjacency(), [[0, 1, 1], [0, 0, 0], [0, 0, 0]]);
    assert_eq!((fd.nilpotency, fd.loops.len()), (Some(2), 0));
    assert_eq!(fd.order, [0, 1]);
    use Asymptotics::{
        DownstreamOfFeedThrough as Downstream, PublishedConstants as Published, Right,
        RightAfterOneIntegration as OfOne,
    };
    assert_eq!(fd.asymptotics(&network, &[], false), [Downstream, Downstream, Right]);
    assert_eq!(fd.asymptotics(&network, &[1], false), [OfOne; 3]);
    probe_integrations(&mut network, &[0, 1], &setup);
    // Positions follow forces through two integrations; the force follows the position of the wheel and its velocity.
    assert_eq!(network.integrations, [Some(2), Some(1), Some(1)]);
    assert_eq!(fd.asymptotics(&network, &[1], false), [Right; 3]);
    assert_eq!(fd.asymptotics(&network, &[], true), [Downstream, Downstream, Published]);
    let mut network = quarter_car("dd");
    assert_eq!(dd.asymptotics(&network, &[], false), [OfOne; 4]);
    probe_integrations(&mut network, &[0, 1], &setup);
    assert_eq!(network.integrations, [Some(2), Some(1), Some(2), Some(1)]);
    assert_eq!(dd.asymptotics(&network, &[], false), [Right; 4]);
    assert_eq!(dd.asymptotics(&network, &[], true), [Published, Right, Published, Right]);
}

fn engine(network: Network, settings: Settings) -> Engine {
    let kind = ScheduleKind::Jacobi { fast: Seen::Held };
    let schedule = Schedule::new(&network, &kind, &vec![1; network.members.len()]);
    let policies = Policies {
        ceiling: None,
        identifier: None,
        sampled: None,
        schedule,
        extrapolation: Box::new(Polynomial::new(vec![0; network.n_inputs], vec![0; network.n_inputs])),
        correction: None,
        estimators: Vec::new(),
        controller: Box::new(Fixed { step: 1.0 }),
    };
    Engine::new(network, policies, settings)
}

fn ring(blocks: Vec<Block>) -> Network {
    let n = blocks.len();
    let mut builder = NetworkBuilder::new();
    for (s, block) in blocks.into_iter().enumerate() {
        builder = builder.subsystem(&format!("s{s}"), Box::new(block));
    }
    for s in 0..n {
        builder = builder.connect(&format!("s{s}.y0"), &format!("s{}.u0", (s + 1) % n), 1.0);
    }
    builder.build().expect("a ring").0
}

fn outputs_at_start(network: Network) -> Result<Vec<f64>, RunError> {
    let mut engine = engine(network, Settings::new(0.0, 1.0));
    engine.initialize(&mut NoObserver)?;
    Ok(engine.outputs().to_vec())
}

fn check_ring(what: &str, blocks: Vec<Block>, expected: &[f64]) {
    let y = outputs_at_start(ring(blocks)).unwrap_or_else(|e| panic!("{what}: {e:?}"));
    for (y, expected) in y.iter().zip(expected) {
        assert!((y - expected).abs() <= 1e-10 * (1.0 + expected.abs()), "{what}: {y}, not {expected}");
    }
}

/// Expected values by hand: y0 = f0(y1), y1 = f1(y0).
#[test]
fn loops_of_two_and_three_subsystems_are_solved() {
    // y0 = 3 y1 + 1, y1 = 2 y0 - 4: a loop gain of 6, where passes diverge. y0 = 11/5, y1 = 2/5.
    check_ring(
        "linear, two",
        vec![Block::scalar(|u| 3.0 * u + 1.0), Block::scalar(|u| 2.0 * u - 4.0)],
        &[11.0 / 5.0, 2.0 / 5.0],
    );
    check_ring(
        "linear, two, given derivatives",
        vec![
            Block::scalar(|u| 3.0 * u + 1.0).with_derivatives(vec![3.0]),
            Block::scalar(|u| 2.0 * u - 4.0).with_derivatives(vec![2.0]),
        ],
        &[11.0 / 5.0, 2.0 / 5.0],
    );
    // y0 = -2 y2, y1 = y0 + 1, y2 = 5 y1: y0 = -10 y0 - 10.
    check_ring(
        "linear, three",
        vec![Block::scalar(|u| -2.0 * u), Block::scalar(|u| u + 1.0), Block::scalar(|u| 5.0 * u)],
        &[-10.0 / 11.0, 1.0 / 11.0, 5.0 / 11.0],
    );
    // y0 = cos(y1), y1 = y0: the fixed point of the cosine.
    let dottie = 0.739_085_133_215_160_6;
    check_ring("cosine, two", vec![Block::scalar(f64::cos), Block::scalar(|u| u)], &[dottie, dottie]);
    // y0 = 4 - y2³, y1 = y0 + 1, y2 = y1 - 2: y0 = 4 - (y0 - 1)³ has the root y0 = 2.213411662762…
    let mut root = 2.0f64;
    for _ in 0..50 {
        root -= (root - 4.0 + (root - 1.0).powi(3)) / (1.0 + 3.0 * (root - 1.0).powi(2));
    }
    check_ring(
        "cubic, three",
        vec![Block::scalar(|u| 4.0 - u.powi(3)), Block::scalar(|u| u + 1.0), Block::scalar(|u| u - 2.0)],
        &[root, root + 1.0, root - 1.0],
    );
    // y0 = 1e6 (y1 - 1), y1 = 1 - 1e-9 y0: stiff, y0 = 0.
    check_ring(
        "stiff, two",
        vec![Block::scalar(|u| 1e6 * (u - 1.0)), Block::scalar(|u| 1.0 - 1e-9 * u)],
        &[0.0, 1.0],
    );
}

#[test]
fn a_loop_without_solution_is_named() {
    // y0 = y1 + 1, y1 = y0.
    let network = ring(vec![Block::scalar(|u| u + 1.0), Block::scalar(|u| u)]);
    match outputs_at_start(network) {
        Err(RunError::Loop { inputs, .. }) => assert_eq!(inputs, [0, 1]),
        other => panic!("{other:?}"),
    }
}

/// An undeclared loop: passes diverge (gain 6), the possible loop is solved all the same.
#[test]
fn unknown_feed_through_is_solved_without_inventing_a_loop() {
    let unknown = |law: fn(f64) -> f64| {
        Block::new(1, 1, FeedThrough::Unknown, Arc::new(move |u: &[f64], y: &mut [f64]| y[0] = law(u[0])))
    };
    let network = ring(vec![unknown(|u| 3.0 * u + 1.0), unknown(|u| 2.0 * u - 4.0)]);
    let structure = Structure::of(&network);
    assert!(structure.loops.is_empty());
    assert_eq!(structure.unknown, [0, 1]);
    let y = outputs_at_start(network).expect("it has a solution");
    assert!((y[0] - 2.2).abs() < 1e-10 && (y[1] - 0.4).abs() < 1e-10, "{y:?}");
}

#[test]
fn probing_finds_what_depends_on_what() {
    // y0 = u0² (flat at 0), y1 = constant, y2 = 1e5 + u1.
    let law = |u: &[f64], y: &mut [f64]| {
        y[0] = u[0] * u[0];
        y[1] = 7.0;
        y[2] = 1e5 + u[1];
    };
    let probed = Block::new(2, 3, FeedThrough::Unknown, Arc::new(law));
    let source = Block::new(0, 2, FeedThrough::Declared(vec![]), Arc::new(|_, y| y.fill(0.0)));
    let sink = Block::new(3, 1, FeedThrough::Declared(vec![]), Arc::new(|_, _| {}));
    let mut builder = NetworkBuilder::new()
        .subsystem("a", Box::new(probed))
        .subsystem("b", Box::new(source))
        .subsystem("c", Box::new(sink))
        .connect("b.y0", "a.u0", 1.0)
        .connect("b.y1", "a.u1", 1.0);
    for o in 0..3 {
        builder = builder.connect(&format!("a.y{o}"), &format!("c.u{o}"), 1.0);
    }
    let network = builder.build().expect("a proper system").0;
    let mut network = network;
    let all: Vec<usize> = (0..network.members.len()).collect();
    let probes = probe(&mut network, &all, &Setup { start: 0.0, stop: 1.0 });
    assert_eq!(probes[0].outcome, ProbeOutcome::Found);
    let pairs: Vec<(usize, usize)> = network.feed_through.iter().map(|p| (p.output, p.input)).collect();
    assert_eq!(pairs, [(0, 0), (2, 1)]);
    let engine = engine(network, Settings::new(0.0, 1.0));
    let structure = engine.structure();
    assert!(structure.unknown.is_empty());
    assert_eq!(structure.feeds_through[..3], [vec![0], vec![], vec![1]]);
}

/// A declaration that leaves a dependency out is found where its subsystem is asked to be probed.
#[test]
fn a_declaration_that_is_too_short_is_contradicted() {
    let build = || {
        let law = |u: &[f64], y: &mut [f64]| y[0] = 2.0 * u[0];
        let liar = Block::new(1, 1, FeedThrough::Declared(vec![]), Arc::new(law));
        let builder = NetworkBuilder::new().subsystem("a", Box::new(liar)).subsystem(
            "b",
            Box::new(Block::new(1, 1, FeedThrough::Declared(vec![]), Arc::new(|_, y| y[0] = 1.0))),
        );
        let builder = builder.connect("a.y0", "b.u0", 1.0).connect("b.y0", "a.u0", 1.0);
        builder.build().expect("a proper system").0
    };
    let settings = Settings::new(0.0, 1.0);
    assert!(engine(build(), settings).initialize(&mut NoObserver).is_ok(), "declarations are trusted");
    let found = probe(&mut build(), &[0, 1], &Setup { start: 0.0, stop: 1.0 });
    assert_eq!(found[0].outcome, ProbeOutcome::Contradicts { output: 0, input: 0 });
    assert_eq!(found[1].outcome, ProbeOutcome::Agrees);
}
