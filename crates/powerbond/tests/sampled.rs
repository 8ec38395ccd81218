//! Samplers: outputs that stay as they are and jump at equal distances, without telling when.

use powerbond::core::subsystem::{
    Advance, Binding, Capabilities, Causality, FeedThrough, Info, Inputs, Setup, Span, Subsystem,
    SubsystemError, Variable,
};
use powerbond::models::variable;
use powerbond::{Done, Method, System, SystemBuilder};

/// What is sampled, and when: `y = gain (sin 2t − u)` every `period` from `offset` on.
#[derive(Clone, Copy)]
struct Clockwork {
    period: f64,
    offset: f64,
    gain: f64,
    /// What is sampled at the end of a step shows at the end of the next one only.
    late: bool,
}

impl Clockwork {
    fn time(&self, k: f64) -> f64 {
        self.offset + k * self.period
    }

    /// What it gives from `t` on, having seen `u`.
    fn answer(&self, t: f64, u: f64) -> f64 {
        self.gain * ((2.0 * t).sin() - u)
    }
}

/// A controller with a clockwork. It cannot go back.
#[derive(Clone)]
struct Sampler {
    info: Info,
    clockwork: Clockwork,
    next: f64,
    y: f64,
}

fn info(kind: &str, capabilities: Capabilities) -> Info {
    let variables: Vec<Variable> =
        vec![variable("u", Causality::Input, "", ""), variable("y", Causality::Output, "", "")];
    let feed_through = FeedThrough::Declared(Vec::new());
    Info { kind: kind.to_owned(), variables: variables.into(), feed_through, capabilities }
}

impl Sampler {
    fn new(clockwork: Clockwork) -> Self {
        let capabilities = Capabilities { sub_steps: true, input_derivatives: 2, ..Capabilities::default() };
        Sampler { info: info("sampler", capabilities), clockwork, next: 0.0, y: 0.0 }
    }
}

impl Subsystem for Sampler {
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
        y.fill(self.y);
        Ok(())
    }

    fn advance(&mut self, span: Span, u: Inputs<'_>, y: &mut [f64]) -> Result<Advance, SubsystemError> {
        let near = 1e-12 * span.end.abs();
        loop {
            let t = self.clockwork.time(self.next);
            let due = if self.clockwork.late { t < span.end - near } else { t <= span.end + near };
            if !due {
                break;
            }
            self.y = self.clockwork.answer(t, u.at(0, (t - span.start).max(0.0)));
            self.next += 1.0;
        }
        y.fill(self.y);
        Ok(Advance::whole(span))
    }

    fn probe(&mut self, z: &mut [f64]) -> Result<(), SubsystemError> {
        z.fill(self.y);
        Ok(())
    }
}

/// `ẋ = u − x`, exact for inputs that are constant in a step, which is all that it takes.
#[derive(Clone)]
struct Lag {
    info: Info,
    x: f64,
}

impl Lag {
    fn new() -> Self {
        Lag { info: info("lag", Capabilities { sub_steps: true, ..Capabilities::default() }), x: 0.0 }
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
        y.fill(self.x);
        Ok(())
    }

    fn advance(&mut self, span: Span, u: Inputs<'_>, y: &mut [f64]) -> Result<Advance, SubsystemError> {
        self.x = u.value[0] + (self.x - u.value[0]) * (-span.h).exp();
        y.fill(self.x);
        Ok(Advance::whole(span))
    }

    fn probe(&mut self, z: &mut [f64]) -> Result<(), SubsystemError> {
        z.fill(self.x);
        Ok(())
    }
}

const STOP: f64 = 10.0;

fn run(clockwork: Clockwork, tolerance: f64, samples: bool) -> Done {
    let mut method = Method::auto(tolerance);
    method.samples.value = samples;
    run_with(clockwork, |builder| builder.method(method))
}

fn run_with(clockwork: Clockwork, more: impl FnOnce(SystemBuilder) -> SystemBuilder) -> Done {
    let system = System::builder()
        .subsystem("controller", Sampler::new(clockwork))
        .subsystem("plant", Lag::new())
        .connect("controller.y", "plant.u")
        .connect("plant.y", "controller.u")
        .stop(STOP);
    let system = more(system).build().expect("a sound system");
    let mut session = system.start().expect("a start");
    session.run().expect("a sound run");
    session.finish().expect("the end")
}

/// The largest error of x after `from`, in s; it moves by about 0.6 to both sides. By hand `x → y + (x − y) e^(−t)` between samples.
fn error_after(from: f64, done: &Done, clockwork: Clockwork) -> f64 {
    let [time, found] = ["time", "plant.y"].map(|name| done.table.column(name).expect("a column"));
    let (mut x, mut y, mut t, mut k) = (0.0f64, 0.0f64, 0.0f64, 0.0);
    let mut largest = 0.0f64;
    for (&end, found) in time.iter().zip(found) {
        // What is sampled at this very time does not move x yet.
        while clockwork.time(k) < end {
            let next = clockwork.time(k);
            x = y + (x - y) * (t - next).exp();
            (t, y, k) = (next, clockwork.answer(next, x), k + 1.0);
        }
        x = y + (x - y) * (t - end).exp();
        t = end;
        if end > from {
            largest = largest.max((found - x).abs());
        }
    }
    largest
}

/// When what the first samples did that were not known yet is forgotten.
fn error(done: &Done, clockwork: Clockwork) -> f64 {
    error_after(5.0, done, clockwork)
}

/// Round periods, others, and samplers that compute at the start of the next step: all are found, and nothing is crossed any more.
#[test]
fn samples_are_found_and_steps_end_there() {
    for (period, offset) in [(0.05, 0.0), (0.1, 0.03), (1.0 / 30.0, 0.0), (0.171_234_567, 0.012_345)] {
        for late in [false, true] {
            let clockwork = Clockwork { period, offset, gain: 2.0, late };
            let (done, without) = (run(clockwork, 1e-4, true), run(clockwork, 1e-4, false));
            let found = &done.summary.choices.sampled;
            let what = format!("every {period} s from {offset} s on, late {late}: {found:?}");
            assert_eq!(found.len(), 1, "{what}");
            assert_eq!(found[0].output, "controller.y", "{what}");
            assert!(
                (found[0].period / period - 1.0).abs() < 1e-4 && found[0].since < 20.0 * period,
                "{what}"
            );
            let [error, crossed] = [&done, &without].map(|done| error(done, clockwork));
            let [steps, more] = [&done, &without].map(|done| done.summary.steps.accepted);
            println!("{what}\n    error {error:.1e} in {steps} steps, {crossed:.1e} in {more} without");
            assert!(error < 1e-4 && error < 0.2 * crossed, "{what}: {error}, {crossed} without");
        }
    }
}

/// Periods that are given are met from the first sample on: the error stays within three tolerances of the range, which is about 1.2.
#[test]
fn given_samples_are_met_from_the_first_one_on() {
    for (period, offset) in [(0.05, 0.0), (0.171_234_567, 0.012_345)] {
        let clockwork = Clockwork { period, offset, gain: 2.0, late: false };
        let found = run(clockwork, 1e-4, true);
        let given = |samples: bool| {
            let mut method = Method::auto(1e-4);
            method.samples.value = samples;
            run_with(clockwork, |builder| builder.sampled("controller", period, offset).method(method))
        };
        for done in [given(true), given(false)] {
            let choice = &done.summary.choices.sampled;
            assert_eq!((choice.len(), choice[0].period, choice[0].since), (1, period, 0.0));
            let [exact, crossed] = [&done, &found].map(|done| error_after(0.0, done, clockwork));
            println!("every {period} s: error {exact:.1e} with the period, {crossed:.1e} without it");
            assert!(exact < 3.6e-4 && exact < 0.2 * crossed, "every {period} s: {exact}, {crossed}");
        }
    }
}

/// Constant steps that do not end at samples cross them as ever; those that do have no defect there.
#[test]
fn constant_steps_go_their_way_past_given_samples() {
    let clockwork = Clockwork { period: 0.05, offset: 0.0, gain: 2.0, late: false };
    for (step, sampled) in [(0.01, 0.05), (0.03, 0.05)] {
        let done = run_with(clockwork, |builder| builder.sampled("controller", sampled, 0.0).step(step));
        assert_eq!(done.summary.steps.accepted, (STOP / step).ceil() as u64);
    }
}
