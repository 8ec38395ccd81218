//! After start-up nothing is allocated: counted for every combination of policies.

mod common;

use common::matrix::{SCHEDULES, methods};
use common::{Correction, Method, engine, quarter_car, ring};
use powerbond_core::network::Network;
use powerbond_core::observe::NoObserver;
use powerbond_core::observe::verdict::{Circumstances, Verdict};
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
    for schedule in SCHEDULES {
        for method in methods() {
            let method = Method { schedule: schedule.make.clone(), step: 1e-4, ..method };
            check(&method, false);
            check(&method, true);
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
        engine.initialize(&mut NoObserver).expect("a sound start");
        let before = COUNT.with(Cell::get);
        for _ in 0..30 {
            engine.step(&mut verdict).expect("a sound step");
        }
        let count = COUNT.with(Cell::get) - before;
        assert_eq!(count, 0, "{what}: {method:?}");
        // Nor does a run that goes on from a snapshot.
        let snapshot = engine.snapshot().expect("everybody can");
        engine.restore_snapshot(&snapshot).expect("its own");
        let before = COUNT.with(Cell::get);
        for _ in 0..5 {
            engine.step(&mut verdict).expect("a sound step");
        }
        let count = COUNT.with(Cell::get) - before;
        assert_eq!(count, 0, "after a snapshot, {what}: {method:?}");
    }
}

fn circumstances(network: &Network, method: &Method) -> Circumstances {
    Circumstances {
        holds: vec![method.hold; network.n_inputs],
        corrects: !matches!(method.correction, Correction::None),
        refresh: if method.refresh { (0..network.members.len()).collect() } else { Vec::new() },
        twins: vec![None; network.n_inputs],
        discrete: vec![false; network.n_inputs],
        means: vec![false; network.n_inputs],
        start: 0.0,
        stop: 1e3,
    }
}
