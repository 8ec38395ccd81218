//! Systems that a program makes: the same checks and messages as for files, and no panic whatever is called.

use super::{quarter_car, text};
use powerbond::core::subsystem::{
    Advance, Binding, Capabilities, Causality, FeedThrough, Info, Inputs, Setup, Span, Subsystem,
    SubsystemError,
};
use powerbond::models::variable;
use powerbond::system::{SharedFactory, SignalSpec};
use powerbond::{Connect, Port, System, SystemBuilder};

#[test]
fn all_mistakes_are_told_together_and_name_their_elements() {
    let error = System::builder()
        .model("a.b", "algebraic/gain")
        .model("c", "algebraic/gain")
        .model("c", "algebraic/gain")
        .rate("d", 2)
        .rate("c", 0)
        .parameter("stiffness", 3.0)
        .connect("c.y", "u")
        .connection(Connect::new("c.y", "c.u").gain(f64::NAN))
        .input("c.u", SignalSpec::lines([1.0, 0.0], [0.0, 1.0]))
        .override_at(-1.0, "c.u", 0.0)
        .tolerance(7.0)
        .build()
        .expect_err("many mistakes");
    let error = error.to_string();
    for part in [
        "`a.b` is not a valid name of a subsystem",
        "two subsystems `c`",
        "unknown subsystem `d`.",
        "`rate` of subsystem `c` is 0",
        "`stiffness` is not a variable",
        "`u` is not a variable",
        "`gain` for `c.u` is NaN",
        "the times of `c.u` decrease",
        "an event of `c.u` at -1 s",
        "`tolerance` is 7",
    ] {
        assert!(error.contains(part), "{part}:\n{error}");
    }
}

#[test]
fn what_a_file_is_told_a_program_is_told() {
    let check = |change: fn(SystemBuilder) -> SystemBuilder, wanted: &str| {
        let system = change(quarter_car()).build().expect("sound by itself");
        let error = text(system.assemble().err().expect(wanted));
        assert!(error.contains(wanted), "{wanted}:\n{error}");
    };
    check(|b| b.connect("chassis.velocty", "wheel.road"), "Did you mean `velocity`?");
    check(|b| b.parameter("chassis.mas", 1.0), "Did you mean `mass`?");
    check(|b| b.model("x", "quarter-car/chasis"), "quarter-car/chassis");
    check(|b| b.bond("x", [Port::leaving("chassis.force", "wheel.suspension_force")]), "`x`");
    check(|b| b.stop(-1.0), "the stop must be after the start");
    check(|b| b.record("nothing.*"), "nothing.*");
}

/// x' = u; y = x: the model of a program, without anything that it need not have.
#[derive(Clone)]
struct Integrator {
    info: Info,
    x: f64,
}

impl Integrator {
    fn new(x: f64) -> Self {
        let variables =
            vec![variable("u", Causality::Input, "1", "rate"), variable("y", Causality::Output, "1", "sum")];
        let feed_through = FeedThrough::Declared(Vec::new());
        let capabilities = Capabilities { sub_steps: true, ..Capabilities::default() };
        Integrator {
            info: Info {
                kind: "integrator".to_owned(),
                variables: variables.into(),
                feed_through,
                capabilities,
            },
            x,
        }
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

    fn evaluate(&mut self, _u: Inputs<'_>, y: &mut [f64]) -> Result<(), SubsystemError> {
        y.fill(self.x);
        Ok(())
    }

    fn advance(&mut self, span: Span, u: Inputs<'_>, y: &mut [f64]) -> Result<Advance, SubsystemError> {
        self.x += span.h * u.value.first().copied().unwrap_or(0.0);
        y.fill(self.x);
        Ok(Advance::whole(span))
    }

    fn probe(&mut self, z: &mut [f64]) -> Result<(), SubsystemError> {
        z.fill(self.x);
        Ok(())
    }
}

/// Every run begins with the model as it was given; a factory makes it from parameters.
#[test]
fn models_of_a_program_run_beside_built_in_ones() {
    let system = System::builder()
        .subsystem("sum", Integrator::new(2.0))
        .factory(
            "other",
            SharedFactory::function(|parameters| match parameters {
                [] => Ok(Integrator::new(0.0)),
                [(name, value)] if name == "x0" => Ok(Integrator::new(value.number().unwrap_or(0.0))),
                _ => Err("it has one parameter, `x0`".to_owned()),
            }),
        )
        .parameter("other.x0", 5.0)
        .model("gain", "algebraic/gain")
        .parameter("gain.gain", 0.0)
        .connect("gain.y", "other.u")
        .input("sum.u", SignalSpec::function(|_| 3.0))
        .stop(1.0)
        .step(0.125)
        .build()
        .expect("a sound system");
    for _ in 0..2 {
        let mut run = system.start().expect("a start");
        run.run().expect("a sound run");
        assert_eq!(run.value("sum.y").expect("an output"), 5.0);
        assert_eq!(run.value("other.y").expect("an output"), 5.0);
    }
    let wrong = System::builder().subsystem("sum", Integrator::new(0.0)).parameter("sum.x0", 1.0).stop(1.0);
    let error = text(wrong.build().expect("sound by itself").assemble().err().expect("no parameters"));
    assert!(error.contains("`sum`") && error.contains("`x0`"), "{error}");
}

#[test]
fn ten_thousand_subsystems_are_built_at_once() {
    const N: usize = 10_000;
    let begun = std::time::Instant::now();
    let mut builder = System::builder().stop(1.0).step(0.5);
    for i in 0..N {
        builder = builder.model(format!("s{i}"), "algebraic/gain").parameter(&format!("s{i}.gain"), 0.0);
    }
    for i in 0..N {
        builder = builder.connect(format!("s{i}.y"), format!("s{}.u", (i + 1) % N));
    }
    let system = builder.build().expect("a sound system");
    println!("built in {:?}", begun.elapsed());
    system.assemble().expect("a sound system");
    println!("assembled after {:?}", begun.elapsed());
}

/// The next number of a simple generator: a chain of them is enough to choose calls.
fn next(state: &mut u64) -> usize {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) as usize
}

/// Calls in any order with any names and numbers: an error or a system that runs, never a panic.
#[test]
fn random_calls_never_panic() {
    let names = ["a", "b", "", "a.b", "ä", "a.u", "b.u", "a.y", "b.y", "a.x", "c.u", ".", "a.", "*", "mass"];
    let numbers = [0.0, 1.0, -1.0, 0.5, 0.01, 1e300, f64::NAN, f64::INFINITY, -0.0, 3.0];
    let models = ["algebraic/gain", "oscillator/mass", "quarter-car/chassis", "nothing", ""];
    let (mut built, mut ran) = (0, 0);
    for seed in 0..3000_u64 {
        let mut state = seed;
        let s = &mut state;
        let mut builder =
            System::builder().model("a", "algebraic/gain").model("b", "algebraic/gain").stop(0.2).step(0.1);
        for _ in 0..next(s) % 7 {
            let (name, other) = (names[next(s) % names.len()], names[next(s) % names.len()]);
            let x = numbers[next(s) % numbers.len()];
            builder = match next(s) % 17 {
                0 => builder.model(name, models[next(s) % models.len()]),
                1 => builder.parameter(name, x),
                2 => builder.parameter(name, other),
                3 | 4 => builder.connect(name, other),
                5 => builder.connection(Connect::new(name, other).gain(x).offset(x).plus(name)),
                6 => builder.input(name, x),
                7 => builder.input(name, SignalSpec::lines(vec![0.0, x], vec![x, 1.0])),
                8 => builder.bond(other, [Port::leaving(name, other).ratio(x), Port::entering(other, name)]),
                9 => builder.rate(name, next(s) as u32 % 4),
                10 => builder.step(x),
                11 => builder.stop(x),
                12 => builder.tolerance(x),
                13 => builder.record([name, other]),
                14 => builder.override_at(x, name, x),
                15 => builder.subsystem(name, Integrator::new(x)),
                _ => builder.feed_through(name, [(name, other)]),
            };
        }
        let Ok(system) = builder.build() else { continue };
        built += 1;
        let Ok(mut run) = system.start() else { continue };
        for _ in 0..next(s) % 8 {
            let (name, x) = (names[next(s) % names.len()], numbers[next(s) % numbers.len()]);
            let _ = match next(s) % 6 {
                0 => run.set(name, x).err(),
                1 => run.value(name).err(),
                2 => run.run_until(x).err(),
                3 => run.step().err(),
                4 => run.save().and_then(|saved| run.restore(&saved)).err(),
                _ => run.land_on(x).err(),
            };
        }
        ran += usize::from(run.run().is_ok());
        let _ = (run.verdict(), run.ledger(), run.finish());
    }
    assert!(built > 100 && ran > 50, "{built} were built, {ran} ran: too few to say something");
}
