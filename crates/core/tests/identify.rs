//! Feed-through that is identified is that of the equations: integration, noise and rest are no feed-through.

mod common;

use common::{ABLE, Method, engine};
use powerbond_core::feed_through::identify::Identified;
use powerbond_core::hold::InputFeed;
use powerbond_core::network::{Network, NetworkBuilder, VariableName};
use powerbond_core::observe::{Flow, NoObserver, Observer, StepReport};
use powerbond_core::step::StepView;
use powerbond_core::subsystem::{Causality, SubsystemError, Variable};
use powerbond_core::time::signal::Signal;
use powerbond_models::oscillator::DOUBLE;
use powerbond_models::{Built, Capability, Equations, InputPolynomial, ParameterValue, find, variable};

/// What a plant makes of one input: `y = d u + b ∫u + a ∫∫u`.
#[derive(Clone, Copy, Default)]
struct Gains {
    d: f64,
    b: f64,
    a: f64,
}

const DAMPER: Gains = Gains { d: 0.8, b: 0.0, a: 0.0 };
const SPRING: Gains = Gains { d: 0.0, b: 10.0, a: 0.0 };
const SPRING_DAMPER: Gains = Gains { d: 0.8, b: 10.0, a: 0.0 };
const POSITION: Gains = Gains { d: 0.0, b: 0.0, a: 5.0 };
const MIXTURE: Gains = Gains { d: -0.3, b: 2.0, a: 5.0 };

/// `y = Σ (1 + drift·t) d u + b ∫u + a ∫∫u + noise + bump max(0, t − 4)`, exact for parabolas; noise is even in ±`noise`.
#[derive(Clone)]
struct Plant<const N: usize> {
    gains: [Gains; N],
    noise: f64,
    drift: f64,
    bump: f64,
    t: f64,
    integral: [f64; N],
    second: [f64; N],
}

impl<const N: usize> Plant<N> {
    fn new(gains: [Gains; N]) -> Self {
        Plant { gains, noise: 0.0, drift: 0.0, bump: 0.0, t: 0.0, integral: [0.0; N], second: [0.0; N] }
    }
}

/// Marsaglia's xorshift of the bits of t: a number in -1 … 1 that looks random.
fn dice(t: f64) -> f64 {
    let mut x = t.to_bits() | 1;
    for _ in 0..3 {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    (x >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

impl<const N: usize> Equations<N, 1> for Plant<N> {
    fn variables(&self) -> Vec<Variable> {
        let mut list: Vec<Variable> =
            (0..N).map(|i| variable(&format!("u{i}"), Causality::Input, "", "")).collect();
        list.push(variable("y", Causality::Output, "", ""));
        list
    }

    fn feed_through(&self) -> Vec<(usize, usize)> {
        (0..N).map(|i| (0, i)).collect()
    }

    fn step(&mut self, t: f64, h: f64, u: &InputPolynomial<N>) -> Result<(), SubsystemError> {
        self.t = t + h;
        for i in 0..N {
            let (p, s, c) = (u.value[i], u.slope[i], u.curvature[i]);
            self.second[i] += h * self.integral[i] + h * h * (p / 2.0 + h * (s / 6.0 + h * c / 24.0));
            self.integral[i] += h * (p + h * (s / 2.0 + h * c / 6.0));
        }
        Ok(())
    }

    fn output(&self, u: &[f64; N]) -> [f64; 1] {
        let of = |i: usize| {
            let Gains { d, b, a } = self.gains[i];
            (1.0 + self.drift * self.t) * d * u[i] + b * self.integral[i] + a * self.second[i]
        };
        [(0..N).map(of).sum::<f64>() + self.noise * dice(self.t) + self.bump * (self.t - 4.0).max(0.0)]
    }

    fn local(&self, _k: usize, _u: &[f64; N]) -> f64 {
        f64::NAN
    }
}

/// `y = f(t)`.
#[derive(Clone)]
struct Course {
    t: f64,
    f: fn(f64, usize) -> f64,
    number: usize,
}

impl Equations<0, 1> for Course {
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
        [(self.f)(self.t, self.number)]
    }

    fn local(&self, _k: usize, _u: &[f64; 0]) -> f64 {
        f64::NAN
    }
}

fn sine(t: f64, k: usize) -> f64 {
    (5.0 * t + k as f64).sin()
}

fn two_sines(t: f64, k: usize) -> f64 {
    let shift = k as f64;
    ((2.0 + 0.13 * shift) * t + shift).sin() + 0.5 * ((7.3 + 0.71 * shift) * t - 2.0 * shift).cos()
}

/// Nothing moves in the second half of 8 s.
fn comes_to_rest(t: f64, k: usize) -> f64 {
    if t < 4.0 { two_sines(t, k) * (4.0 - t).powi(3) } else { 0.0 }
}

/// Every input of the plant follows a course of its own; an observer listens, as what is not observed is not read.
fn fed<const N: usize>(
    plant: Plant<N>,
    f: fn(f64, usize) -> f64,
    derivatives: u8,
    declared: bool,
) -> Network {
    let able = Capability { input_derivatives: derivatives, ..ABLE };
    let mut builder = NetworkBuilder::new()
        .subsystem("plant", Box::new(Built::new("plant", plant, able)))
        .subsystem("listener", Box::new(Built::new("plant", Plant::new([SPRING]), able)))
        .connect("plant.y", "listener.u0", 1.0);
    for number in 0..N {
        let course = Course { t: 0.0, f, number };
        let name = format!("s{number}");
        builder = builder.subsystem(&name, Box::new(Built::new("course", course, ABLE))).connect(
            &format!("{name}.y"),
            &format!("plant.u{number}"),
            1.0,
        );
    }
    let (mut network, _) = builder.build().expect("a sound system");
    network.members.iter_mut().for_each(|m| {
        if !declared {
            m.evidence = powerbond_core::feed_through::Evidence::Unknown;
        }
    });
    network
}

/// How inputs are fed and steps are chosen.
#[derive(Clone, Copy, Debug)]
enum Way {
    Fixed(u8),
    FixedMean,
    FixedDithered,
    Varying,
    VaryingMean,
    VaryingDithered,
}

const WAYS: [Way; 8] = [
    Way::Fixed(0),
    Way::Fixed(1),
    Way::Fixed(2),
    Way::FixedMean,
    Way::FixedDithered,
    Way::Varying,
    Way::VaryingMean,
    Way::VaryingDithered,
];

impl Way {
    fn derivatives(self) -> u8 {
        if matches!(self, Way::Fixed(_) | Way::Varying) { 2 } else { 0 }
    }

    fn method(self, step: f64, identify: bool) -> Method {
        let base = Method { step, identify, ..Method::default() };
        let varying =
            |feed| Method { variable: Some(feed), estimator: "jump", controller: "ecco", ..base.clone() };
        match self {
            Way::Fixed(hold) => Method { hold, ..base },
            Way::FixedMean => Method { variable: Some(InputFeed::Mean), ..base },
            Way::FixedDithered => Method { variable: Some(InputFeed::Dithered), ..base },
            Way::Varying => varying(InputFeed::Derivatives(2)),
            Way::VaryingMean => varying(InputFeed::Mean),
            Way::VaryingDithered => varying(InputFeed::Dithered),
        }
    }
}

/// What has to be found of a plant.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Claim {
    /// Every gain to this relative error, and none that is 0.
    Found(f64),
    /// Not necessarily any; what is found is right to this relative error.
    RightIfFound(f64),
}

/// Gains of the plant that are found in a run of 8 s.
fn found<const N: usize>(
    plant: Plant<N>,
    f: fn(f64, usize) -> f64,
    way: Way,
    declared: bool,
) -> Vec<Identified> {
    let network = fed(plant, f, way.derivatives(), declared);
    // Members are in the order of their names: listener, plant, s0, …
    let s = 1;
    let outputs = network.members[s].outputs.clone();
    let first = network.members[s].inputs.start;
    let mut engine = engine(network, 8.0, &way.method(0.01, true));
    engine.run(&mut NoObserver).expect("a sound run");
    let mut list = engine.identified();
    list.retain(|one| outputs.contains(&one.output));
    list.iter_mut().for_each(|one| one.input -= first);
    list
}

fn check<const N: usize>(name: &str, plant: &Plant<N>, f: fn(f64, usize) -> f64, way: Way, claim: Claim) {
    for declared in [true, false] {
        let list = found(plant.clone(), f, way, declared);
        let at_end = 1.0 + 8.0 * plant.drift;
        let (Claim::Found(error) | Claim::RightIfFound(error)) = claim;
        for one in &list {
            let d = at_end * plant.gains[one.input].d;
            assert!((one.gain - d).abs() <= error * d.abs(), "{name}, {way:?}: {one:?} instead of {d}");
            assert!(one.confidence > 0.0 && one.confidence <= 1.0, "{name}, {way:?}: {one:?}");
        }
        if matches!(claim, Claim::Found(_)) {
            let wanted: Vec<usize> = (0..N).filter(|&i| plant.gains[i].d != 0.0).collect();
            let inputs: Vec<usize> = list.iter().map(|one| one.input).collect();
            assert_eq!(inputs, wanted, "{name}, {way:?}");
        }
    }
}

#[test]
fn integration_is_no_feed_through() {
    for way in WAYS {
        for f in [sine, two_sines, comes_to_rest] {
            check("∫u", &Plant::new([SPRING]), f, way, Claim::Found(0.0));
            check("∫∫u", &Plant::new([POSITION]), f, way, Claim::Found(0.0));
        }
        check("∫u and ∫∫u", &Plant::new([SPRING, POSITION]), two_sines, way, Claim::Found(0.0));
    }
}

#[test]
fn feed_through_is_told_from_integration() {
    for way in WAYS {
        for (name, gains) in [("damper", DAMPER), ("spring and damper", SPRING_DAMPER), ("mixture", MIXTURE)]
        {
            check(name, &Plant::new([gains]), two_sines, way, Claim::Found(2e-3));
            check(name, &Plant::new([gains]), comes_to_rest, way, Claim::Found(2e-3));
            // ∫∫u of a sine is the sine again: only the first steps tell them apart.
            check(name, &Plant::new([gains]), sine, way, Claim::RightIfFound(0.05));
        }
    }
}

/// Gains of 4.5, 8.5 and 12.5 in between of integrals.
#[test]
fn each_input_has_its_own_gain() {
    let three = [SPRING_DAMPER, SPRING, DAMPER];
    let many: [Gains; 16] = std::array::from_fn(|i| {
        let d = if i > 0 && i % 4 == 0 { 0.5 + i as f64 } else { 0.0 };
        Gains { d, b: 1.0, a: 0.0 }
    });
    for way in WAYS {
        check("three inputs", &Plant::new(three), two_sines, way, Claim::Found(2e-3));
        // 48 unknowns remember 240 of 800 steps; smooth motion has too few frequencies for them.
        let claim = match way {
            Way::FixedDithered | Way::Varying => Claim::Found(2e-3),
            _ => Claim::RightIfFound(2e-3),
        };
        check("16 inputs", &Plant::new(many), two_sines, way, claim);
    }
}

/// Outputs move by about 1. Differences of smooth inputs are below 1e-6: only dither and means at varying steps are above.
#[test]
fn noise_hides_feed_through_but_makes_none() {
    for way in WAYS {
        for noise in [1e-6, 1e-3] {
            let noisy = |gains| Plant { noise, ..Plant::new([gains]) };
            check("noisy spring", &noisy(SPRING), two_sines, way, Claim::Found(0.0));
            check("noisy position", &noisy(POSITION), two_sines, way, Claim::Found(0.0));
            let is_rough = matches!(way, Way::FixedDithered | Way::VaryingMean | Way::VaryingDithered);
            let claim = if is_rough && noise < 1e-5 { Claim::Found(0.1) } else { Claim::RightIfFound(0.1) };
            check("noisy spring and damper", &noisy(SPRING_DAMPER), two_sines, way, claim);
        }
    }
}

/// From 0.8 to 1.44 in 8 s: 20 steps remember the gain of 0.1 s before, 0.7 % less.
#[test]
fn a_gain_that_changes_is_followed() {
    for way in WAYS {
        let plant = Plant { drift: 0.1, ..Plant::new([SPRING_DAMPER]) };
        let claim = match way {
            Way::FixedDithered | Way::Varying => Claim::Found(0.03),
            _ => Claim::RightIfFound(0.03),
        };
        check("drift", &plant, two_sines, way, claim);
    }
}

/// Almost at rest until 4 s, and then moved by something else.
fn moves_late(t: f64, k: usize) -> f64 {
    1e-6 * two_sines(t, k) + 1e-3 * (t - 4.0).max(0.0).powi(2)
}

/// The output bends at 4 s by itself, and the input begins to move then: that first difference outweighs all before it and would make
/// a gain of some thousands of it, at once and with full confidence.
#[test]
fn a_bend_inside_the_subsystem_is_no_feed_through() {
    for way in [Way::Fixed(1), Way::Fixed(2), Way::Varying] {
        let plant = Plant { bump: 50.0, ..Plant::new([SPRING_DAMPER]) };
        let network = fed(plant, moves_late, 2, true);
        let outputs = network.members[1].outputs.clone();
        let mut engine = engine(network, 8.0, &way.method(0.01, true));
        engine.initialize(&mut NoObserver).expect("a start");
        let (mut known, mut largest) = (0, 0.0f64);
        while engine.time() < 7.99 {
            engine.step(&mut NoObserver).expect("a sound step");
            let found = engine.identified();
            let used = found.iter().filter(|one| outputs.contains(&one.output));
            let used = used.map(|one| one.confidence * one.gain).fold(0.0, f64::max);
            known += usize::from(used > 0.7 && engine.time() < 4.0);
            largest = largest.max(used);
        }
        assert!(known > 50, "{way:?}: before the bend it is known, in {known} steps");
        assert!((largest / SPRING_DAMPER.d - 1.0).abs() < 0.05, "{way:?}: {largest}");
    }
}

/// Grows about fourfold in every step of 0.01 s from 4 s on, by 1e18 in all, and unevenly, so that integrals do not grow alike.
fn explodes(t: f64, k: usize) -> f64 {
    let late = t - 4.0;
    let growth = if late > 0.0 {
        1e-12 * 4.0_f64.powf(100.0 * late) * (1.0 + 0.5 * (1e4 * late * late).sin())
    } else {
        0.0
    };
    1e-6 * two_sines(t, k) + growth
}

/// Differences that are far larger than all before them test nothing, as they make their prediction themselves. The tests before were
/// forgotten meanwhile, so that a gain that was known to six digits was not used any more: in an algebraic loop that was what made it grow.
#[test]
fn a_gain_is_not_forgotten_while_inputs_grow() {
    for way in [Way::Fixed(1), Way::Fixed(2)] {
        let network = fed(Plant::new([DAMPER]), explodes, 2, true);
        let outputs = network.members[1].outputs.clone();
        let mut engine = engine(network, 8.0, &way.method(0.01, true));
        engine.initialize(&mut NoObserver).expect("a start");
        while engine.time() < 4.29 {
            engine.step(&mut NoObserver).expect("a sound step");
            let t = engine.time();
            let found = engine.identified();
            let used: f64 = found
                .iter()
                .filter(|one| outputs.contains(&one.output))
                .map(|one| one.confidence * one.gain)
                .sum();
            assert!(t < 3.5 || (used / DAMPER.d - 1.0).abs() < 0.05, "{way:?}: {used} at {t}");
        }
    }
}

/// Jumps every 5 steps: a difference of 7 points never has an unbroken past, unless events elsewhere do not break it.
#[test]
fn an_event_elsewhere_breaks_no_past() {
    let able = Capability { input_derivatives: 2, ..ABLE };
    let times: Vec<f64> = (1..100).map(|k| 0.05 * f64::from(k)).collect();
    let values: Vec<f64> = (1..100).map(|k| f64::from(k % 2)).collect();
    let run = |jumping: &str, other: &str| {
        let course = Course { t: 0.0, f: two_sines, number: 0 };
        let plant = |gains: [Gains; 2]| Box::new(Built::new("plant", Plant::new(gains), able));
        let signal = Signal::Table { times: times.clone(), values: values.clone(), linear: false };
        let (network, names) = NetworkBuilder::new()
            .subsystem("course", Box::new(Built::new("course", course, ABLE)))
            .subsystem("near", plant([SPRING_DAMPER, DAMPER]))
            .subsystem("far", plant([SPRING, SPRING]))
            .subsystem("end", plant([SPRING, SPRING]))
            .connect("course.y", "near.u0", 1.0)
            .connect("near.y", "end.u0", 1.0)
            .connect("far.y", "end.u1", 1.0)
            .external(VariableName::new(jumping, "u1"), signal)
            .external(VariableName::new(other, "u1"), Signal::Constant(0.0))
            .external(VariableName::new("far", "u0"), Signal::Constant(1.0))
            .build()
            .expect("a sound system");
        let output = names.outputs.iter().position(|name| name.to_string() == "near.y").expect("an output");
        let mut engine = engine(network, 5.0, &Way::Fixed(1).method(0.01, true));
        engine.run(&mut NoObserver).expect("a sound run");
        assert_eq!(engine.statistics().events, 98, "all but the first row of the table");
        let list = engine.identified();
        list.iter().filter(|one| one.output == output).map(|one| one.gain).collect::<Vec<_>>()
    };
    let found = run("far", "near");
    assert!(found.len() == 1 && (found[0] - SPRING_DAMPER.d).abs() < 2e-3, "{found:?}");
    assert_eq!(run("near", "far"), [], "an event at the member itself");
}

/// Largest error of outputs against a solution, relative to its amplitude of 1.
struct Error<F: Fn(f64) -> Vec<f64>> {
    exact: F,
    largest: f64,
}

impl<F: Fn(f64) -> Vec<f64>> Observer for Error<F> {
    fn accepted(&mut self, step: &StepView<'_>, _report: &StepReport<'_>) -> Flow {
        for (y, exact) in step.y_fresh.iter().zip((self.exact)(step.span.end)) {
            self.largest = self.largest.max((y - exact).abs());
        }
        Flow::Continue
    }
}

/// ẋ1 = -2 x2, ẋ2 = 2 x1 from (1, 0): x1 = cos 2t, x2 = sin 2t. Gains of h were found here, and the error was up to 2.6 times larger.
#[test]
fn two_integrators_stay_as_they_are() {
    let error = |way: Way, identify: bool, declared: bool| {
        let able = Capability { input_derivatives: way.derivatives(), ..ABLE };
        let started = |x: f64| {
            let mut plant = Plant::new([Gains { b: 2.0, ..Gains::default() }]);
            plant.integral[0] = x / 2.0;
            Box::new(Built::new("plant", plant, able))
        };
        let (mut network, _) = NetworkBuilder::new()
            .subsystem("a", started(1.0))
            .subsystem("b", started(0.0))
            .connect("b.y", "a.u0", -1.0)
            .connect("a.y", "b.u0", 1.0)
            .build()
            .expect("a sound system");
        network.members.iter_mut().for_each(|m| {
            if !declared {
                m.evidence = powerbond_core::feed_through::Evidence::Unknown;
            }
        });
        let exact = |t: f64| vec![(2.0 * t).cos(), (2.0 * t).sin()];
        let mut error = Error { exact, largest: 0.0 };
        let mut engine = engine(network, 10.0, &way.method(0.02, identify));
        engine.run(&mut error).expect("a sound run");
        assert_eq!(engine.identified(), [], "{way:?}");
        error.largest
    };
    for way in WAYS {
        for declared in [true, false] {
            let (off, on) = (error(way, false, declared), error(way, true, declared));
            assert!(on < 1.02 * off, "{way:?}: {off} {on}");
        }
    }
}

/// The largest value of each output.
struct Range(Vec<f64>);

impl Observer for Range {
    fn accepted(&mut self, step: &StepView<'_>, _report: &StepReport<'_>) -> Flow {
        self.0.iter_mut().zip(step.y_fresh).for_each(|(largest, y)| *largest = largest.max(y.abs()));
        Flow::Continue
    }
}

/// The force giver of rodriguez2022, case 2: -κc = -100 N/m from the position, -cc = -0.1 N.s/m from the velocity, which makes
/// less than 5 % of the force's differences. Errors are those at the end, relative to the largest value of each output, against steps
/// of 0.1 ms with refresh.
#[test]
fn an_oscillator_is_identified_and_gains_by_it() {
    let case = &DOUBLE[1];
    let end = |method: &Method, identify: bool| {
        let accurate = ("integrator".to_owned(), ParameterValue::Text("accurate".to_owned()));
        let build = |name: &str, mut parameters: Vec<(String, ParameterValue)>| {
            parameters.push(accurate.clone());
            find(name).expect("a model").build(&parameters).expect("its parameters")
        };
        let (network, _) = NetworkBuilder::new()
            .subsystem("giver", build("oscillator/force-giver", case.giver_parameters()))
            .subsystem("mass", build("oscillator/mass", case.mass_parameters()))
            .connect("mass.position", "giver.position", 1.0)
            .connect("mass.velocity", "giver.velocity", 1.0)
            .connect("giver.force", "mass.force", 1.0)
            .build()
            .expect("a sound system");
        let mut engine = engine(network, 5.0, &Method { identify, ..method.clone() });
        let mut range = Range(vec![0.0; 3]);
        engine.run(&mut range).expect("a sound run");
        for one in engine.identified() {
            let gain = [-case.coupling_stiffness, -case.coupling_damping][one.input];
            assert!((one.gain / gain - 1.0).abs() < 0.01, "{one:?}");
        }
        (engine.outputs().to_vec(), range.0, engine.identified().len())
    };
    let (exact, range, _) = end(&Method { hold: 2, refresh: true, step: 1e-4, ..Method::default() }, false);
    let off = |y: &[f64]| (0..3).map(|o| (y[o] - exact[o]).abs() / range[o]).fold(0.0, f64::max);
    for (way, gained) in [(Way::FixedDithered, 0.1), (Way::VaryingMean, 0.1)] {
        let method = way.method(0.004, false);
        let ((without, ..), (with, _, count)) = (end(&method, false), end(&method, true));
        assert!(
            count > 0 && off(&with) < gained * off(&without),
            "{way:?}: {} {}",
            off(&without),
            off(&with)
        );
    }
}

/// Relative error of the mechanical energy of oscillator `case` of rodriguez2022 Table 1 in the mean of the last 2 of 10 s, written out:
/// both masses make one symplectic step of 1 ms with what the other one gave before, and the force is put right with its exact gain
/// from step `known` on, by `f_{k+1} - f_k` before that if `corrected`.
fn energy_by_hand(case: usize, known: usize, corrected: bool) -> f64 {
    let case = &DOUBLE[case - 1];
    let (m1, m2, k1) = (case.giver.mass, case.mass.mass, case.giver.stiffness);
    let (kc, k2) = (case.coupling_stiffness, case.mass.stiffness);
    let h = 1e-3;
    let [mut x1, mut v1, mut x2, mut v2] = [0.0, 100.0, 0.0, -100.0];
    let (mut last, mut acting, mut sum) = (0.0, 0.0, 0.0);
    let first = 0.5 * (m1 * v1 * v1 + m2 * v2 * v2);
    for step in 0..10_000 {
        let seen = x2;
        v1 += h * (kc * (seen - x1) - k1 * x1) / m1;
        x1 += h * v1;
        v2 += h * (acting - k2 * x2) / m2;
        x2 += h * v2;
        let force = -kc * (seen - x1);
        acting = match (step >= known, corrected) {
            (true, _) => force - kc * (x2 - seen),
            (false, true) => 2.0 * force - last,
            (false, false) => force,
        };
        last = force;
        if step >= 8000 {
            let springs = k1 * x1 * x1 + k2 * x2 * x2 + kc * (x2 - x1) * (x2 - x1);
            sum += 0.5 * (m1 * v1 * v1 + m2 * v2 * v2 + springs);
        }
    }
    sum / (2000.0 * first) - 1.0
}

/// What `identify` leaves of the energy error (docs/system-file.md) is what a gain leaves that is exact from step 35 on.
#[test]
fn what_is_left_of_an_identified_oscillator_is_its_start() {
    for (case, none, difference) in [(1, 0.23, -0.24), (3, 1.78, -1.59), (7, 0.04, -0.04), (8, 0.05, -0.07)] {
        let percent = |known, corrected| 100.0 * energy_by_hand(case, known, corrected);
        assert!(percent(0, false).abs() < 0.05, "case {case} from the first step on: {}", percent(0, false));
        for (corrected, expected) in [(false, none), (true, difference)] {
            let found = percent(35, corrected);
            assert!((found - expected).abs() < 0.006, "case {case}: {found}, expected {expected}");
        }
    }
}
