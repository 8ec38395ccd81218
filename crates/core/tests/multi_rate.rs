//! Multi-rate steps against single-rate steps, against a loop written out by hand, and against a second meter.

mod common;
mod force_displacement;

use common::block::Block;
use common::rows::watch;
use common::{Method, engine};
use force_displacement::{ALONG, Given, Run, accurate, place, star, values_only};
use powerbond_core::energy::Quadrature;
use powerbond_core::network::{ConnectionSpec, Names, Network, NetworkBuilder, VariableName};
use powerbond_core::step::{ScheduleKind, Seen};
use powerbond_core::subsystem::{Advance, Binding, Info, Inputs, Setup, Span, Subsystem, SubsystemError};
use powerbond_models::oscillator::{DOUBLE, MULTIPLE, Reference};
use powerbond_models::{self, ParameterValue};
use std::sync::{Arc, Mutex};

/// A step that is a power of two: all times, and so all extrapolation weights, are exact.
const BINARY_STEP: f64 = 1.0 / 1024.0;

/// Three masses; the two force givers are not alike.
fn three_masses(derivatives: f64) -> (Network, Names) {
    let case = &MULTIPLE[1];
    let build = |name: &str, mut given: Given, extra: &[(&str, f64)]| {
        given.extend(ParameterValue::numbers(extra));
        given.extend(ParameterValue::numbers(&[("input_derivatives", derivatives)]));
        powerbond_models::find(name).expect(name).build(&given).expect(name)
    };
    let giver = |mass: f64| build("oscillator/force-giver", case.giver_parameters(), &[("mass", mass)]);
    let motion = build("oscillator/mass", case.mass_parameters(), &[]);
    star(vec![giver(1.0), giver(3.0)], motion, ALONG).build().expect("three masses")
}

/// The outputs after each step that ends on a multiple of `every`, bit by bit.
fn trace(run: &Run, derivatives: f64, every: f64) -> Vec<Vec<u64>> {
    let mut rows = Vec::new();
    run.make(three_masses(derivatives).0, |step, _| {
        if step.span.end % every == 0.0 {
            rows.push(step.y_step.iter().map(|y| y.to_bits()).collect());
        }
    });
    rows
}

fn kinds() -> Vec<ScheduleKind> {
    let mut kinds = vec![ScheduleKind::Jacobi { fast: Seen::Held }];
    // giver1, giver2, motion are members 0, 1, 2; one order is against the order of names.
    for order in [None, Some(vec![0, 1, 2]), Some(vec![2, 1, 0]), Some(vec![1, 2, 0])] {
        for seen in [Seen::Latest, Seen::Between] {
            kinds.push(ScheduleKind::GaussSeidel { order: order.clone(), seen });
        }
    }
    kinds
}

/// All members at the same rate r are a single-rate system with the step H/r.
///
/// This went wrong for sequences against the order of names: a binary search in an unsorted list took inputs inside
/// the group for inputs from outside, which see their sources at communication points only.
#[test]
fn equal_rates_are_a_single_rate_bit_for_bit() {
    for kind in kinds() {
        for order in 0..3 {
            for derivatives in [0.0, 2.0] {
                for rate in [1, 2, 8] {
                    let single = Run {
                        kind: kind.clone(),
                        order,
                        ..Run::new(&[1, 1, 1], BINARY_STEP / f64::from(rate), 0.5)
                    };
                    let multi =
                        Run { kind: kind.clone(), order, ..Run::new(&[rate, rate, rate], BINARY_STEP, 0.5) };
                    let expected = trace(&single, derivatives, BINARY_STEP);
                    assert_eq!(expected.len(), 512);
                    assert!(
                        trace(&multi, derivatives, BINARY_STEP) == expected,
                        "{kind:?}, order {order}, {derivatives} derivatives, rate {rate}"
                    );
                }
            }
        }
    }
}

/// How a slow member sees a fast one makes no difference if none is faster.
#[test]
fn with_one_rate_all_jacobi_schedules_are_the_same() {
    let run =
        |fast| Run { kind: ScheduleKind::Jacobi { fast }, order: 1, ..Run::new(&[1; 3], BINARY_STEP, 0.5) };
    let expected = trace(&run(Seen::Held), 2.0, BINARY_STEP);
    for fast in [Seen::Latest, Seen::Between] {
        assert_eq!(trace(&run(fast), 2.0, BINARY_STEP), expected);
    }
}

/// The largest error of the mass in the middle within a second, m. Subsystems are accurate and take derivatives.
fn coupling_error(kind: &ScheduleKind, rates: &[u32], order: u8, step: f64) -> f64 {
    let case = &MULTIPLE[0];
    let giver = || accurate("oscillator/force-giver", case.giver_parameters());
    let motion = accurate("oscillator/mass", case.mass_parameters());
    let (network, names) = star(vec![giver(), giver()], motion, ALONG).build().expect("three masses");
    let position = place(&names.outputs, "motion.position");
    let (mut reference, mut worst) = (Reference::new(case), 0.0f64);
    let run = Run { kind: kind.clone(), order, ..Run::new(rates, step, 1.0) };
    run.make(network, |step, _| {
        reference.advance_to(step.span.end);
        worst = worst.max((step.y_step[position] - reference.positions()[1]).abs());
    });
    worst
}

/// The measured order for each hold order: the error at two steps.
fn check_orders(kind: &ScheduleKind, rates: [u32; 3]) {
    for order in 0..3 {
        let [coarse, fine] = [5e-4, 2.5e-4].map(|step| coupling_error(kind, &rates, order, step));
        let (measured, expected) = ((coarse / fine).log2(), f64::from(order + 1).min(2.0));
        assert!(measured > expected - 0.3, "{kind:?}, {rates:?}: {measured}, expected {expected}");
    }
}

/// A hold of order m gives global order m + 1 (arnold2013 §3), whichever is fast; but the first step, which has no
/// past, is held with order 0 and leaves an error of order 2. Faster members make no mixture worse than all slow.
///
/// This went wrong where a fast member adds up a fast and a slow force: the slow one's change over a macro step was
/// taken for a change over one sub-step, and the order fell to 1.
#[test]
fn every_mixture_of_rates_has_the_order_of_its_hold() {
    let kind = ScheduleKind::Jacobi { fast: Seen::Held };
    for rates in [[1, 1, 1], [10, 10, 10], [10, 1, 10], [1, 10, 10], [1, 1, 10], [10, 10, 1], [4, 1, 2]] {
        check_orders(&kind, rates);
        for order in 0..3 {
            let [mixture, slow] = [rates, [1; 3]].map(|rates| coupling_error(&kind, &rates, order, 5e-4));
            assert!(mixture < 1.001 * slow, "{rates:?}: {mixture}, {slow} with one rate");
        }
    }
}

/// A line from the old to the newest value is as good as a first-order hold.
///
/// This went wrong where an input adds up one source that has stepped and one that has not: the latter was held with
/// order 0, and the order fell to 1.
#[test]
fn lines_between_old_and_new_values_keep_the_order() {
    for rates in [[10, 1, 1], [10, 10, 1], [4, 1, 2]] {
        check_orders(&ScheduleKind::Jacobi { fast: Seen::Between }, rates);
    }
    for sequence in [[0, 1, 2], [0, 2, 1], [2, 0, 1], [1, 2, 0]] {
        for rates in [[1, 1, 1], [10, 10, 10], [10, 1, 10], [1, 10, 1], [4, 1, 2]] {
            let order = Some(sequence.to_vec());
            check_orders(&ScheduleKind::GaussSeidel { order, seen: Seen::Between }, rates);
        }
    }
}

/// The polynomial of order `order` through the last values (newest first), `s` steps after the newest one.
fn extrapolated(past: &[f64], order: usize, s: f64) -> f64 {
    match order.min(past.len() - 1) {
        0 => past[0],
        1 => past[0] + s * (past[0] - past[1]),
        _ => {
            let curvature = past[0] - 2.0 * past[1] + past[2];
            past[0] + s * (past[0] - past[1]) + 0.5 * s * (s + 1.0) * curvature
        }
    }
}

/// Case 1 written out: the loop of rodriguez2022 §2 and §3.3 with symplectic Euler, f as the output of the last input.
/// Returns x2 and f after each macro step.
fn by_hand(h: f64, steps: usize, [r1, r2]: [u32; 2], order: usize) -> Vec<[f64; 2]> {
    let (k1, kc, k2) = (10.0, 100.0, 1000.0);
    let ([mut x1, mut v1], [mut x2, mut v2]) = ([0.0, 100.0], [0.0, -100.0]);
    let mut motion = vec![[x2, v2]];
    let mut forces = vec![-kc * (x2 - x1)];
    let mut rows = Vec::new();
    for _ in 0..steps {
        for i in 0..r2 {
            let f = extrapolated(&forces, order, f64::from(i) / f64::from(r2));
            v2 += h / f64::from(r2) * (f - k2 * x2);
            x2 += h / f64::from(r2) * v2;
        }
        let positions: Vec<f64> = motion.iter().map(|m| m[0]).collect();
        let mut seen = 0.0;
        for i in 0..r1 {
            seen = extrapolated(&positions, order, f64::from(i) / f64::from(r1));
            v1 += h / f64::from(r1) * (kc * (seen - x1) - k1 * x1);
            x1 += h / f64::from(r1) * v1;
        }
        forces.insert(0, -kc * (seen - x1));
        motion.insert(0, [x2, v2]);
        forces.truncate(3);
        motion.truncate(3);
        rows.push([x2, forces[0]]);
    }
    rows
}

fn case1() -> (Network, Names) {
    let giver = values_only("oscillator/force-giver", DOUBLE[0].giver_parameters());
    let motion = values_only("oscillator/mass", DOUBLE[0].mass_parameters());
    star(vec![giver], motion, ALONG).build().expect("case 1")
}

#[test]
fn two_rates_agree_with_the_loop_written_out() {
    for rates in [[1, 1], [1, 10], [10, 1], [2, 5]] {
        for order in 0..3 {
            let expected = by_hand(1e-3, 2000, rates, order);
            let (network, names) = case1();
            let places = ["motion.position", "giver1.force"].map(|n| place(&names.outputs, n));
            let mut rows = expected.iter();
            let run = Run { order: order as u8, ..Run::new(&rates, 1e-3, 2.0) };
            run.make(network, |step, _| {
                let expected = rows.next().expect("a row");
                for (place, expected) in places.iter().zip(expected) {
                    let off = (step.y_step[*place] - expected).abs();
                    assert!(
                        off < 1e-8 * (1.0 + expected.abs()),
                        "{rates:?}, order {order}, t = {}",
                        step.span.end
                    );
                }
            });
            assert!(rows.next().is_none());
        }
    }
}

/// Members exchange whenever sub-steps of both end together, whatever others do: `ẋ_i = u_i` and `u_i = Σ w_ij x_j + 1`, x_j being held since
/// the last such time, against that loop written out on the finest grid. Members exchanged at communication points only where their rates
/// differed, so that three steps of 0.1, 0.2 and 0.3 s had new values every 0.6 s.
#[test]
fn different_rates_exchange_at_their_common_times() {
    let common = |mut a: usize, mut b: usize| {
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    let weight = |i: usize, j: usize| if i == j { 0.0 } else { 0.1 + 0.2 * i as f64 - 0.15 * j as f64 };
    for rates in
        [&[4u32, 2][..], &[6, 4], &[6, 3, 2, 6], &[1, 2, 4, 8], &[12, 8, 6, 1], &[5, 3, 1], &[4, 4, 2, 6, 9]]
    {
        let n = rates.len();
        let mut builder = NetworkBuilder::new();
        for i in 0..n {
            let block =
                Block::new(1, 1, |at, y| y[0] = at.x[0]).rate(&[0.2 * i as f64], |at, dx| dx[0] = at.u[0]);
            builder = builder.subsystem(&format!("s{i}"), block.boxed());
        }
        let name = |i: usize, variable: &str| VariableName::new(&format!("s{i}"), variable);
        for i in 0..n {
            let from = (0..n).filter(|&j| j != i).map(|j| (name(j, "y"), weight(i, j))).collect();
            builder = builder.connection(ConnectionSpec {
                from,
                to: name(i, "u"),
                offset: 1.0,
                convert_units: false,
            });
        }
        let (step, steps) = (0.5, 4);
        let method = Method { rates: Some(rates.to_vec()), step, ..Method::default() };
        let mut engine = engine(builder.build().expect("a sound system").0, step * f64::from(steps), &method);
        let rows = watch(&mut engine);

        let grid = rates.iter().fold(1, |all, &r| all / common(all, r as usize) * r as usize);
        let h = step / grid as f64;
        let mut x: Vec<f64> = (0..n).map(|i| 0.2 * i as f64).collect();
        let mut held: Vec<Vec<f64>> = vec![x.clone(); n];
        let mut u = vec![0.0; n];
        for k in 0..grid * steps as usize {
            let now = x.clone();
            for i in 0..n {
                for j in 0..n {
                    if k % (grid / common(rates[i] as usize, rates[j] as usize)) == 0 {
                        held[i][j] = now[j];
                    }
                }
                if k % (grid / rates[i] as usize) == 0 {
                    u[i] = 1.0 + (0..n).map(|j| weight(i, j) * held[i][j]).sum::<f64>();
                }
            }
            x.iter_mut().zip(&u).for_each(|(x, u)| *x += h * u);
        }
        for (i, x) in x.iter().enumerate() {
            let y = rows.last().y[i];
            assert!((y - x).abs() < 1e-12 * x.abs(), "{rates:?}: s{i} is {y} instead of {x}");
        }
    }
}

/// Micro steps under a polynomial input are sub-steps with its values: the force is that of the last micro input.
#[test]
fn micro_steps_are_sub_steps() {
    let outputs = |derivatives: f64, micro_steps: f64, rate: u32| {
        let mut given = DOUBLE[1].giver_parameters();
        given.extend(ParameterValue::numbers(&[
            ("input_derivatives", derivatives),
            ("micro_steps", micro_steps),
        ]));
        let giver = powerbond_models::find("oscillator/force-giver")
            .expect("the model")
            .build(&given)
            .expect("a giver");
        let motion = values_only("oscillator/mass", DOUBLE[1].mass_parameters());
        let (network, _) = star(vec![giver], motion, ALONG).build().expect("case 2");
        let mut rows = Vec::new();
        let run = Run { order: 2, ..Run::new(&[rate, 1], 1e-3, 1.0) };
        run.make(network, |step, _| rows.extend_from_slice(step.y_step));
        rows
    };
    let (micro, sub) = (outputs(2.0, 4.0, 1), outputs(0.0, 1.0, 4));
    for (micro, sub) in micro.iter().zip(&sub) {
        assert!((micro - sub).abs() < 1e-9 * (1.0 + sub.abs()), "{micro} {sub}");
    }
}

/// Sums the energy through a port by itself, over each call, by all rules.
struct SecondMeter {
    inner: Box<dyn Subsystem>,
    /// Places of the port's input and output among the bound ones.
    port: [usize; 2],
    last_y: f64,
    /// Rectangle, trapezoid, and exact in what was held: Simpson's rule is exact for a polynomial of third degree.
    energy: Arc<Mutex<[f64; 3]>>,
}

impl Subsystem for SecondMeter {
    fn info(&self) -> &Info {
        self.inner.info()
    }

    fn bind(&mut self, binding: &Binding) -> Result<(), SubsystemError> {
        let info = self.inner.info();
        let find = |list: &[usize], names: [&str; 2]| {
            list.iter().position(|&v| names.contains(&info.variables[v].name.as_str())).expect("a port")
        };
        self.port =
            [find(&binding.inputs, ["force", "velocity"]), find(&binding.outputs, ["force", "velocity"])];
        self.inner.bind(binding)
    }

    fn enter(&mut self, setup: &Setup) -> Result<(), SubsystemError> {
        self.inner.enter(setup)
    }

    fn evaluate(&mut self, u: Inputs<'_>, y: &mut [f64]) -> Result<(), SubsystemError> {
        self.inner.evaluate(u, y)?;
        self.last_y = y[self.port[1]];
        Ok(())
    }

    fn advance(&mut self, span: Span, u: Inputs<'_>, y: &mut [f64]) -> Result<Advance, SubsystemError> {
        let [i, o] = self.port;
        let advance = self.inner.advance(span, u, y)?;
        let (start, end) = (u.at(i, 0.0) * self.last_y, u.at(i, span.h) * y[o]);
        let mut energy = self.energy.lock().unwrap();
        energy[0] += span.h * end;
        energy[1] += span.h * 0.5 * (start + end);
        let middle = u.at(i, 0.5 * span.h) * 0.5 * (self.last_y + y[o]);
        energy[2] += span.h * (start + 4.0 * middle + end) / 6.0;
        self.last_y = y[o];
        Ok(advance)
    }

    fn probe(&mut self, z: &mut [f64]) -> Result<(), SubsystemError> {
        self.inner.probe(z)
    }
}

#[test]
fn metered_energy_is_the_sum_over_all_sub_steps() {
    for rates in [[1, 1], [1, 10], [10, 1], [3, 2]] {
        for order in 0..3 {
            for derivatives in [0.0, 2.0] {
                for (rule, quadrature) in
                    [Quadrature::Rectangle, Quadrature::Trapezoid, Quadrature::Held].into_iter().enumerate()
                {
                    let energies: [Arc<Mutex<[f64; 3]>>; 2] = Default::default();
                    let metered = |name: &str, mut given: Given, i: usize| {
                        given.extend(ParameterValue::numbers(&[("input_derivatives", derivatives)]));
                        let inner = powerbond_models::find(name).expect(name).build(&given).expect(name);
                        let energy = Arc::clone(&energies[i]);
                        Box::new(SecondMeter { inner, port: [0, 0], last_y: 0.0, energy })
                    };
                    let giver = metered("oscillator/force-giver", DOUBLE[1].giver_parameters(), 0);
                    let motion = metered("oscillator/mass", DOUBLE[1].mass_parameters(), 1);
                    let (network, names) = star(vec![giver], motion, ALONG).build().expect("case 2");
                    let mut run = Run { order, ..Run::new(&rates, 1e-3, 1.0) };
                    run.settings.quadrature = quadrature;
                    let engine = run.make(network, |_, _| {});
                    // What leaves the giver is +f v, what leaves the mass -f v.
                    let expected = [energies[0].lock().unwrap()[rule], -energies[1].lock().unwrap()[rule]];
                    let meter = engine.meter();
                    for (port, name) in names.ports.iter().enumerate() {
                        let expected = expected[usize::from(name == "motion")];
                        let off = (meter.port_energy[port] - expected).abs();
                        assert!(
                            off <= 1e-10 * expected.abs(),
                            "{name}: {rates:?}, order {order}, {derivatives} derivatives, {quadrature:?}: {} {expected}",
                            meter.port_energy[port]
                        );
                    }
                    let residual = -(expected[0] + expected[1]);
                    assert!((meter.sums[0].residual - residual).abs() <= 1e-9 * expected[0].abs());
                }
            }
        }
    }
}
