//! Threads that advance subsystems side by side: same bits, same errors, no hang.

mod common;

use common::{Correction, Method, bare, engine, ring};
use powerbond_core::error::RunError;
use powerbond_core::network::{Network, NetworkBuilder};
use powerbond_core::observe::NoObserver;
use powerbond_core::step::{ScheduleKind, Seen};
use powerbond_core::subsystem::{Advance, Binding, Info, Inputs, Setup, Span, Subsystem, SubsystemError};

#[test]
fn the_number_of_threads_changes_no_bit() {
    let seidel = ScheduleKind::GaussSeidel { order: None, seen: Seen::Latest };
    for (schedule, estimator, controller) in [
        (ScheduleKind::Jacobi { fast: Seen::Held }, "energy", "ecco"),
        (ScheduleKind::Jacobi { fast: Seen::Between }, "richardson", "rejecting"),
        (ScheduleKind::Jacobi { fast: Seen::Latest }, "all", "fixed"),
        (seidel, "predictor", "ecco"),
    ] {
        for rates in [None, Some(vec![1, 2, 2, 1, 4, 1, 2])] {
            for correction in [Correction::None, Correction::NepceModel(0.3)] {
                let method = Method {
                    schedule: schedule.clone(),
                    rates: rates.clone(),
                    hold: 1,
                    correction,
                    estimator,
                    controller,
                    ..Method::default()
                };
                let run = |threads| {
                    let mut engine = engine(ring(7).0, 0.5, &Method { threads, ..method.clone() });
                    engine.run(&mut NoObserver).expect("a sound run");
                    let outputs: Vec<u64> = engine.outputs().iter().map(|y| y.to_bits()).collect();
                    let residuals: Vec<u64> =
                        engine.meter().sums.iter().map(|s| s.residual.to_bits()).collect();
                    (outputs, residuals, engine.statistics().accepted, engine.statistics().rejected)
                };
                let alone = run(0);
                for threads in [1, 2, 3, 64] {
                    assert_eq!(
                        run(threads),
                        alone,
                        "{estimator}, {controller}, {rates:?}, {threads} threads"
                    );
                }
            }
        }
    }
}

/// Something that does not go on after one second.
struct Mortal {
    info: Info,
    panics: bool,
}

impl Mortal {
    fn new(panics: bool) -> Box<Self> {
        Box::new(Mortal { info: bare("mortal"), panics })
    }
}

impl Subsystem for Mortal {
    fn info(&self) -> &Info {
        &self.info
    }

    fn bind(&mut self, _: &Binding) -> Result<(), SubsystemError> {
        Ok(())
    }

    fn enter(&mut self, _: &Setup) -> Result<(), SubsystemError> {
        Ok(())
    }

    fn evaluate(&mut self, _: Inputs<'_>, y: &mut [f64]) -> Result<(), SubsystemError> {
        y.fill(0.0);
        Ok(())
    }

    fn advance(&mut self, span: Span, _: Inputs<'_>, y: &mut [f64]) -> Result<Advance, SubsystemError> {
        y.fill(span.end);
        if span.end < 1.0 {
            return Ok(Advance::whole(span));
        }
        assert!(!self.panics, "it panics here");
        Err(SubsystemError::Infeasible { message: "it ends".to_owned() })
    }

    fn probe(&mut self, _: &mut [f64]) -> Result<(), SubsystemError> {
        Ok(())
    }
}

fn mortals(n: usize, panics: bool) -> Network {
    let mut builder = NetworkBuilder::new();
    for i in 0..n {
        builder = builder.subsystem(&format!("m{i}"), Mortal::new(panics)).connect(
            &format!("m{i}.y"),
            &format!("m{}.u", (i + 1) % n),
            1.0,
        );
    }
    builder.build().expect("a sound system").0
}

#[test]
fn errors_are_those_of_one_thread() {
    let run = |threads| {
        let method = Method { threads, step: 0.1, ..Method::default() };
        engine(mortals(5, false), 2.0, &method).run(&mut NoObserver).unwrap_err()
    };
    assert!(matches!(run(0), RunError::Subsystem { member: 0, phase: "step", .. }));
    for threads in [1, 2, 3, 5] {
        assert_eq!(run(threads), run(0), "{threads} threads");
    }
}

#[test]
fn a_panic_on_another_thread_arrives() {
    let method = Method { threads: 2, step: 0.1, ..Method::default() };
    let run = || {
        let _ = engine(mortals(2, true), 2.0, &method).run(&mut NoObserver);
    };
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).is_err());
}

#[test]
fn a_system_of_one_needs_no_threads() {
    let method = Method { threads: 4, step: 0.1, ..Method::default() };
    let mut engine = engine(mortals(1, false), 0.5, &method);
    engine.run(&mut NoObserver).expect("a sound run");
    assert_eq!(engine.outputs(), [0.5]);
}
