//! How long each subsystem takes, measured on a sample of its calls so that the clock costs next to nothing.

use powerbond_core::subsystem::wrapper::Wrapper;
use powerbond_core::subsystem::{Advance, Inputs, Span, Subsystem, SubsystemError};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Calls of `advance` and the time of a sample of them. One thread counts; any may read.
#[derive(Debug, Default)]
pub struct Timing {
    calls: AtomicU64,
    sampled: AtomicU64,
    sampled_nanoseconds: AtomicU64,
}

impl Timing {
    /// All calls.
    pub fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    /// Estimated time of all calls, in s.
    pub fn seconds(&self) -> f64 {
        match self.sampled.load(Ordering::Relaxed) {
            0 => 0.0,
            sampled => {
                let time = self.sampled_nanoseconds.load(Ordering::Relaxed);
                1e-9 * time as f64 * self.calls() as f64 / sampled as f64
            }
        }
    }
}

/// Adds to a counter with one writer: cheaper than an atomic addition.
fn add(counter: &AtomicU64, more: u64) -> u64 {
    let sum = counter.load(Ordering::Relaxed) + more;
    counter.store(sum, Ordering::Relaxed);
    sum
}

/// One call in this many is timed; slow subsystems are timed always.
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
        if add(&self.timing.calls, 1) % EVERY != 1 && !self.slow {
            return self.inner.advance(span, u, y);
        }
        let start = Instant::now();
        let result = self.inner.advance(span, u, y);
        let took = start.elapsed();
        add(&self.timing.sampled, 1);
        add(&self.timing.sampled_nanoseconds, took.as_nanos() as u64);
        self.slow = took >= SLOW;
        result
    }
}
