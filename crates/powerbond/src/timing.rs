//! How long each subsystem takes, measured on a sample of its calls so that the clock costs next to nothing.

use powerbond_core::subsystem::{
    Advance, Binding, Info, Inputs, Packet, Setup, Span, Subsystem, SubsystemError,
};
use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Calls of `advance` and the time of a sample of them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Timing {
    /// All calls.
    pub calls: u64,
    sampled: u64,
    sampled_time: Duration,
}

impl Timing {
    /// Estimated time of all calls, in s.
    pub fn seconds(&self) -> f64 {
        if self.sampled == 0 {
            0.0
        } else {
            self.sampled_time.as_secs_f64() * self.calls as f64 / self.sampled as f64
        }
    }
}

/// One call in this many is timed; slow subsystems are timed always.
const EVERY: u64 = 64;
const SLOW: Duration = Duration::from_micros(20);

/// A subsystem with a stop-watch.
pub struct Timed {
    inner: Box<dyn Subsystem>,
    timing: Rc<Cell<Timing>>,
    slow: bool,
}

impl Timed {
    /// Wraps a subsystem; the timing can be read at any time.
    pub fn new(inner: Box<dyn Subsystem>) -> (Self, Rc<Cell<Timing>>) {
        let timing = Rc::new(Cell::new(Timing::default()));
        (Timed { inner, timing: timing.clone(), slow: false }, timing)
    }
}

impl Subsystem for Timed {
    fn info(&self) -> &Info {
        self.inner.info()
    }

    fn bind(&mut self, binding: &Binding) -> Result<(), SubsystemError> {
        self.inner.bind(binding)
    }

    fn enter(&mut self, setup: &Setup) -> Result<(), SubsystemError> {
        self.inner.enter(setup)
    }

    fn evaluate(&mut self, u: Inputs<'_>, y: &mut [f64]) -> Result<(), SubsystemError> {
        self.inner.evaluate(u, y)
    }

    fn start(&mut self) -> Result<(), SubsystemError> {
        self.inner.start()
    }

    fn advance(&mut self, span: Span, u: Inputs<'_>, y: &mut [f64]) -> Result<Advance, SubsystemError> {
        let mut timing = self.timing.get();
        timing.calls += 1;
        if !self.slow && timing.calls % EVERY != 1 {
            self.timing.set(timing);
            return self.inner.advance(span, u, y);
        }
        let start = Instant::now();
        let result = self.inner.advance(span, u, y);
        let took = start.elapsed();
        timing.sampled += 1;
        timing.sampled_time += took;
        self.slow = took >= SLOW;
        self.timing.set(timing);
        result
    }

    fn feed_through(&mut self, d: &mut [f64]) -> Result<(), SubsystemError> {
        self.inner.feed_through(d)
    }

    fn output_derivatives(&mut self, dy: &mut [f64]) -> Result<(), SubsystemError> {
        self.inner.output_derivatives(dy)
    }

    fn probe(&mut self, z: &mut [f64]) -> Result<(), SubsystemError> {
        self.inner.probe(z)
    }

    fn save(&mut self) -> Result<(), SubsystemError> {
        self.inner.save()
    }

    fn restore(&mut self) -> Result<(), SubsystemError> {
        self.inner.restore()
    }

    fn packets(&self) -> &[Packet] {
        self.inner.packets()
    }

    fn read_packet(&mut self, packet: usize, bytes: &mut Vec<u8>) -> Result<(), SubsystemError> {
        self.inner.read_packet(packet, bytes)
    }

    fn write_packet(&mut self, packet: usize, bytes: &[u8]) -> Result<(), SubsystemError> {
        self.inner.write_packet(packet, bytes)
    }

    fn finish(&mut self) -> Result<(), SubsystemError> {
        self.inner.finish()
    }
}
