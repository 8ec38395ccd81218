//! After start-up nothing is allocated: counted for every combination of policies.

mod common;

use common::{Correction, Method, engine, quarter_car, ring};
use powerbond_core::correction::Form;
use powerbond_core::hold::Feed;
use powerbond_core::network::Network;
use powerbond_core::observe::Nobody;
use powerbond_core::observe::verdict::{Circumstances, Verdict};
use powerbond_core::step::{ScheduleKind, Seen};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every call goes to the system's allocator unchanged; counting touches a plain thread-local number.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = COUNT.try_with(|c| c.set(c.get() + 1));
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let _ = COUNT.try_with(|c| c.set(c.get() + 1));
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn no_policy_allocates_while_stepping() {
    let schedules = [
        ScheduleKind::Jacobi { fast: Seen::Held },
        ScheduleKind::Jacobi { fast: Seen::Latest },
        ScheduleKind::GaussSeidel { order: None, seen: Seen::Latest },
        ScheduleKind::GaussSeidel { order: None, seen: Seen::Between },
    ];
    let mut combinations = 0;
    for schedule in &schedules {
        for hold in 0..3 {
            for correction in [
                Correction::None,
                Correction::Nepce(0.5),
                Correction::NepceModel(0.5),
                Correction::Energy(Form::Power),
                Correction::Energy(Form::Difference),
            ] {
                for (estimator, controller) in [
                    ("none", "fixed"),
                    ("energy", "ecco"),
                    ("energy", "i"),
                    ("predictor", "ecco"),
                    ("both", "ecco"),
                    ("energy", "rejecting"),
                    ("richardson", "rejecting"),
                    ("all", "rejecting"),
                    ("all", "fixed"),
                ] {
                    for refresh in [false, true] {
                        for fast in [false, true] {
                            let method = Method {
                                schedule: schedule.clone(),
                                rates: None,
                                hold,
                                variable: None,
                                identify: false,
                                correction,
                                estimator,
                                controller,
                                refresh,
                                step: 1e-4,
                                threads: 0,
                            };
                            check(&method, fast);
                            combinations += 1;
                        }
                    }
                }
            }
        }
    }
    assert_eq!(combinations, 2160);
}

/// The default method and each of its parts: variable orders, however subsystems are fed, the jump norm, identified feed-through.
#[test]
fn no_part_of_the_default_method_allocates_while_stepping() {
    let feeds = [Feed::Derivatives(2), Feed::EndpointSubstep, Feed::Value, Feed::Mean, Feed::Dithered];
    let steers = [
        ("none", "fixed"),
        ("jump", "ecco"),
        ("jump", "rejecting"),
        ("energy", "ecco"),
        ("jump and richardson", "ecco"),
    ];
    let corrections = [Correction::None, Correction::NepceGated(0.5), Correction::Energy(Form::Difference)];
    for feed in feeds {
        for (estimator, controller) in steers {
            for correction in corrections {
                for identify in [false, true] {
                    for refresh in [false, true] {
                        let method = Method {
                            hold: 2,
                            variable: Some(feed),
                            identify,
                            correction,
                            estimator,
                            controller,
                            refresh,
                            step: 1e-4,
                            ..Method::default()
                        };
                        check(&method, false);
                        check(&method, true);
                    }
                }
            }
        }
    }
}

/// Simulators move to their threads and back; nothing is made for it.
#[test]
fn steps_side_by_side_allocate_nothing() {
    for threads in [1, 2, 3] {
        for estimator in ["energy", "all"] {
            let method = Method { threads, estimator, hold: 1, step: 1e-4, ..Method::default() };
            check(&method, false);
            check(&method, true);
        }
    }
}

fn check(method: &Method, fast: bool) {
    for (what, network) in [("quarter car", quarter_car(1, "square-root").0), ("ring", ring(5).0)] {
        let rates =
            fast.then(|| (0..network.members.len()).map(|s| if s % 2 == 0 { 1 } else { 3 }).collect());
        let method = Method { rates, ..method.clone() };
        let mut verdict = Verdict::new(&network, &circumstances(&network, &method));
        let mut engine = engine(network, 1e3, &method);
        engine.initialize(&mut Nobody).expect("a sound start");
        let before = COUNT.with(Cell::get);
        for _ in 0..30 {
            engine.step(&mut verdict).expect("a sound step");
        }
        let count = COUNT.with(Cell::get) - before;
        assert_eq!(
            count, 0,
            "{what}: hold {}, {} + {}, rates {:?}",
            method.hold, method.estimator, method.controller, method.rates
        );
    }
}

fn circumstances(network: &Network, method: &Method) -> Circumstances {
    Circumstances {
        holds: vec![method.hold; network.n_inputs],
        corrects: !matches!(method.correction, Correction::None),
        refresh: if method.refresh { (0..network.members.len()).collect() } else { Vec::new() },
        twins: vec![None; network.n_inputs],
        discrete: vec![false; network.n_inputs],
        start: 0.0,
        stop: 1e3,
    }
}
