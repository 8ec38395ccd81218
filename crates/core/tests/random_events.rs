//! Random linear networks with random events against one big system of equations: errors shrink with the order of the hold.

mod common;

use common::block::{Block, runge_kutta};
use common::random::Random;
use common::{Method, engine_with};
use powerbond_core::network::{ConnectionSpec, Network, NetworkBuilder, Row, VariableName};
use powerbond_core::observe::NoObserver;
use powerbond_core::run::{Change, ParameterChange};
use powerbond_core::subsystem::StepEvent;
use powerbond_core::time::signal::Signal;

/// `ẋ = −a x + b u + w`, `y = c x + p + d u`; `w` is external, `p` a parameter.
#[derive(Clone, Debug)]
struct Member {
    a: f64,
    b: f64,
    c: f64,
    d: f64,
    x0: f64,
    /// `w` jumps from 0 to the second number at the first.
    step: Option<(f64, f64)>,
    /// `p` becomes the second number at the first.
    parameter: Option<(f64, f64)>,
    /// `x` becomes `−x` plus a number, reported as this.
    jump: Option<(f64, f64, StepEvent)>,
}

/// Members in a ring with some more connections; only odd ones feed through, and these are fed by even ones: no loops.
#[derive(Clone, Debug)]
struct System {
    members: Vec<Member>,
    /// `(source, gain)` of each input.
    feeds: Vec<Vec<(usize, f64)>>,
    /// All gains of an input are multiplied by a factor at a time.
    change: Option<(f64, usize, f64)>,
}

impl System {
    fn random(random: &mut Random) -> Self {
        let n = 2 * (1 + random.below(3));
        let members = (0..n).map(|i| Member::random(random, i % 2 == 1)).collect();
        let mut feeds = Vec::new();
        for i in 0..n {
            let mut sources = vec![(i + n - 1) % n];
            if n > 2 && random.flip() {
                // From a member of the same kind as the neighbour.
                sources.push((i + n - 3) % n);
            }
            feeds.push(sources.into_iter().map(|s| (s, random.uniform(-1.0, 1.0))).collect());
        }
        let change =
            random.flip().then(|| (random.uniform(0.1, 0.9), random.below(n), random.uniform(-1.5, 1.5)));
        System { members, feeds, change }
    }

    fn network(&self) -> (Network, Vec<Change>) {
        let name = |i: usize| format!("s{i}");
        let mut builder = NetworkBuilder::new();
        let mut changes = Vec::new();
        for (i, member) in self.members.iter().enumerate() {
            let block = member.block();
            if let Some((time, value)) = member.parameter {
                let parameter = ParameterChange { member: i, variable: block.parameter_index(), value };
                changes.push(Change { time, rows: vec![], parameters: vec![parameter] });
            }
            builder = builder.subsystem(&name(i), block.boxed());
            let from =
                self.feeds[i].iter().map(|&(s, gain)| (VariableName::new(&name(s), "y"), gain)).collect();
            let to = VariableName::new(&name(i), "u0");
            builder = builder.connection(ConnectionSpec { from, to, offset: 0.0, convert_units: false });
            let signal = match member.step {
                Some((time, to)) => Signal::Step { time, from: 0.0, to },
                None => Signal::Constant(0.0),
            };
            builder = builder.external(VariableName::new(&name(i), "u1"), signal);
        }
        let network = builder.build().expect("a sound network").0;
        if let Some((time, i, factor)) = self.change {
            let input = network.members[i].inputs.start;
            let sources = network.wiring.sources(input).map(|(o, gain)| (o, factor * gain)).collect();
            changes.push(Change {
                time,
                rows: vec![(input, Row { sources, offset: 0.0 })],
                parameters: vec![],
            });
        }
        changes.sort_by(|a, b| a.time.total_cmp(&b.time));
        (network, changes)
    }

    /// Times of all events.
    fn times(&self) -> Vec<f64> {
        let of = |m: &Member| [m.step.map(|s| s.0), m.parameter.map(|p| p.0), m.jump.map(|j| j.0)];
        let inside = self.members.iter().flat_map(of).chain([self.change.map(|c| c.0)]).flatten();
        let mut times: Vec<f64> = inside.collect();
        times.sort_by(f64::total_cmp);
        times
    }

    /// Inputs and outputs for states at a time inside a stretch without events.
    fn outputs(&self, t: f64, x: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let n = x.len();
        let gain = |i: usize| match self.change {
            Some((time, input, factor)) if input == i && t > time => factor,
            _ => 1.0,
        };
        let (mut u, mut y) = (vec![0.0; n], vec![0.0; n]);
        let fed = |i: usize, y: &[f64]| self.feeds[i].iter().map(|&(s, g)| gain(i) * g * y[s]).sum::<f64>();
        for parity in [0, 1, 0] {
            for i in (parity..n).step_by(2) {
                let m = &self.members[i];
                u[i] = fed(i, &y);
                let p = m.parameter.filter(|p| t > p.0).map_or(0.0, |p| p.1);
                y[i] = m.c * x[i] + p + m.d * u[i];
            }
        }
        (u, y)
    }

    /// All outputs at 1 s from one big system, integrated from event to event with steps of order 4.
    fn exact(&self) -> Vec<f64> {
        let mut x: Vec<f64> = self.members.iter().map(|m| m.x0).collect();
        let mut t = 0.0;
        for next in self.times().into_iter().chain([1.0]) {
            let middle = 0.5 * (t + next);
            let h = (next - t) / 400.0;
            for _ in 0..400 {
                x = runge_kutta(&x, h, |_, x| {
                    let (u, _) = self.outputs(middle, x);
                    let rate = |(i, m): (usize, &Member)| {
                        let w = m.step.filter(|s| middle > s.0).map_or(0.0, |s| s.1);
                        -m.a * x[i] + m.b * u[i] + w
                    };
                    self.members.iter().enumerate().map(rate).collect()
                });
            }
            for (x, member) in x.iter_mut().zip(&self.members) {
                if let Some((_, shift, _)) = member.jump.filter(|j| j.0 == next) {
                    *x = shift - *x;
                }
            }
            t = next;
        }
        self.outputs(1.0, &x).1
    }

    /// The largest error of an output at 1 s.
    fn error(&self, method: &Method, exact: &[f64]) -> f64 {
        let (network, changes) = self.network();
        let mut engine = engine_with(network, 1.0, method, |s| s.changes = changes);
        engine.run(&mut NoObserver).expect("a sound run");
        engine.outputs().iter().zip(exact).map(|(y, e)| (y - e).abs()).fold(0.0, f64::max)
    }
}

impl Member {
    fn random(random: &mut Random, feeds_through: bool) -> Self {
        let mut some = |size: f64| random.uniform(-size, size);
        let (b, c, d, x0) = (some(1.5), some(1.5), some(0.6), some(1.0));
        let (step, parameter, shift) = (some(2.0), some(2.0), some(2.0));
        let mut time = || random.chance(40).then(|| random.uniform(0.05, 0.95));
        let times = [time(), time(), time()];
        let report = if random.flip() { StepEvent::Pending } else { StepEvent::Handled };
        Member {
            a: random.uniform(0.5, 3.0),
            b,
            c,
            d: if feeds_through { d } else { 0.0 },
            x0,
            step: times[0].map(|t| (t, step)),
            parameter: times[1].map(|t| (t, parameter)),
            jump: times[2].map(|t| (t, shift, report)),
        }
    }

    fn block(&self) -> Block {
        let Member { a, b, c, d, x0, jump, .. } = *self;
        let block = Block::new(2, 1, move |at, y| y[0] = c * at.x[0] + at.p[0] + d * at.u[0])
            .rate(&[x0], move |at, dx| dx[0] = -a * at.x[0] + b * at.u[0] + at.u[1])
            .parameter(0.0);
        let block = if d == 0.0 { block } else { block.feeding(&[(0, 0)]) };
        match jump {
            Some((time, shift, report)) => {
                block.jump(time, report, move |x, _| x[0] = shift - x[0]).announcing()
            }
            None => block,
        }
    }
}

/// The order between steps of 4 ms and 1 ms (1/64 and 1/256 s with hold 2). A step after an event is as long as the grid leaves it, and so is its error: the order of a
/// single run varies, that of all of them does not.
#[test]
fn constant_steps_keep_their_order_whatever_happens_when() {
    let mut random = Random(12);
    let systems: Vec<System> = (0..40).map(|_| System::random(&mut random)).collect();
    let events: usize = systems.iter().map(|s| s.times().len()).sum();
    assert!(events > 100, "only {events} events");
    for refresh in [false, true] {
        for hold in 0..3u8 {
            let order = f64::from(hold) + 1.0;
            let mut mean = 0.0;
            for (case, system) in systems.iter().enumerate() {
                let exact = system.exact();
                let at =
                    |step: f64| system.error(&Method { hold, step, refresh, ..Method::default() }, &exact);
                let h = [1e-3, 1e-3, 1.0 / 256.0][usize::from(hold)];
                let (coarse, fine) = (at(4.0 * h), at(h));
                let found = (coarse / fine).log2() / 2.0;
                let what = format!("case {case}, hold {hold}, refresh {refresh}");
                assert!(fine < (1e2 * h).powf(order) * 0.1, "{what}: {fine:e}, {system:?}");
                mean += found / systems.len() as f64;
            }
            assert!((mean - order).abs() < 0.2, "hold {hold}, refresh {refresh}: order {mean}");
        }
    }
}

/// Steps are chosen by Richardson's estimate: the error stays near the tolerance, and all events are hit.
#[test]
fn adaptive_steps_keep_to_their_tolerance_whatever_happens_when() {
    let mut random = Random(2013);
    for case in 0..30 {
        let system = System::random(&mut random);
        let exact = system.exact();
        for hold in 0..3u8 {
            let method = Method {
                hold,
                refresh: true,
                estimator: "richardson",
                controller: "rejecting",
                step: 1e-3,
                ..Method::default()
            };
            let error = system.error(&method, &exact);
            assert!(error < 1e-2, "case {case}, hold {hold}: {error:e} at 1e-3, {system:?}");
        }
    }
}

/// An event 1e-6 s before a grid point, 5e-4 of a step: the run-up splits that rest, and the next whole step begins with nodes that are
/// far too close. Another grid tells how large the error should be.
#[test]
fn an_event_just_before_a_grid_point_does_no_harm() {
    let calm =
        Member { a: 2.0, b: -0.78, c: -0.37, d: 0.51, x0: 0.85, step: None, parameter: None, jump: None };
    let jump = Some((0.306 - 1e-6, -0.71, StepEvent::Pending));
    let jumping = Member { a: 2.5, b: 1.29, c: 0.9, d: 0.0, x0: -0.41, jump, ..calm.clone() };
    let feeds = vec![vec![(1, -0.38)], vec![(0, 0.62)]];
    let system = System { members: vec![jumping, calm], feeds, change: Some((0.1791, 0, -1.3)) };
    let exact = system.exact();
    let error = |n: f64| system.error(&Method { hold: 2, step: 1.0 / n, ..Method::default() }, &exact);
    let (unlucky, usual) = (error(500.0), error(512.0));
    assert!(unlucky < 3.0 * usual, "{unlucky:e} instead of {usual:e}");
}
