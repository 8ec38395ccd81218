//! How long each subsystem takes, measured on a sample of its calls so that the clock costs next to nothing.

use powerbond_core::subsystem::wrapper::Wrapper;
use powerbond_core::subsystem::{Advance, Inputs, Span, Subsystem, SubsystemError};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Calls of `advance` and the time of some of them. One thread counts; any may read.
#[derive(Debug, Default)]
pub struct Timing {
    calls: AtomicU64,
    /// Timed one by one: they stand for themselves.
    each: Sum,
    /// Timed as a sample: they stand for all others.
    sample: Sum,
}

/// How many calls, and how long they took together.
#[derive(Debug, Default)]
struct Sum {
    calls: AtomicU64,
    nanoseconds: AtomicU64,
}

impl Sum {
    fn add(&self, time: Duration) {
        add(&self.calls, 1);
        add(&self.nanoseconds, time.as_nanos() as u64);
    }

    fn calls(&self) -> f64 {
        self.calls.load(Ordering::Relaxed) as f64
    }

    fn seconds(&self) -> f64 {
        1e-9 * self.nanoseconds.load(Ordering::Relaxed) as f64
    }
}

impl Timing {
    /// All calls.
    pub fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    /// Estimated time of all calls, in s.
    pub fn seconds(&self) -> f64 {
        let Timing { each, sample, .. } = self;
        let of = if sample.calls() > 0.0 { sample } else { each };
        let others = self.calls() as f64 - each.calls();
        each.seconds() + if others > 0.0 { of.seconds() / of.calls() * others } else { 0.0 }
    }
}

/// Adds to a counter with one writer: cheaper than an atomic addition.
fn add(counter: &AtomicU64, more: u64) -> u64 {
    let sum = counter.load(Ordering::Relaxed) + more;
    counter.store(sum, Ordering::Relaxed);
    sum
}

/// The first calls are timed one by one, as they are often slower than all others; then one in this many is, and slow subsystems always.
const FIRST: u64 = 16;
const EVERY: u64 = 64;
const SLOW: Duration = Duration::from_micros(20);

/// A subsystem with a stop-watch.
pub struct Timed {
    inner: Box<dyn Subsystem>,
    timing: Arc<Timing>,
    slow: bool,
}

impl Timed {
    /// Wraps a subsystem; the timing can be read at any time.
    pub fn new(inner: Box<dyn Subsystem>) -> (Self, Arc<Timing>) {
        let timing = Arc::new(Timing::default());
        (Timed { inner, timing: timing.clone(), slow: false }, timing)
    }
}

impl Wrapper for Timed {
    fn inner(&self) -> &dyn Subsystem {
        self.inner.as_ref()
    }

    fn inner_mut(&mut self) -> &mut dyn Subsystem {
        self.inner.as_mut()
    }

    fn advance(&mut self, span: Span, u: Inputs<'_>, y: &mut [f64]) -> Result<Advance, SubsystemError> {
        let call = add(&self.timing.calls, 1);
        let each = self.slow || call <= FIRST;
        if !call.is_multiple_of(EVERY) && !each {
            return self.inner.advance(span, u, y);
        }
        let start = Instant::now();
        let result = self.inner.advance(span, u, y);
        let took = start.elapsed();
        if each { &self.timing.each } else { &self.timing.sample }.add(took);
        self.slow = took >= SLOW;
        result
    }
}
