//! Looks at the clock every few steps: that costs as much as a light step.

use std::time::{Duration, Instant};

/// Tells the time after some steps: after each one where they are slow, after every 64th where they are quick.
pub struct Stride {
    asked: Instant,
    stride: u32,
    left: u32,
}

impl Stride {
    /// Steps between two looks at most.
    const MOST: u32 = 64;

    /// From now on.
    pub fn new() -> Self {
        Stride { asked: Instant::now(), stride: 1, left: 1 }
    }

    /// At the end of a step: the time, if it is due.
    #[inline]
    pub fn at_step(&mut self) -> Option<Instant> {
        self.left -= 1;
        if self.left > 0 { None } else { Some(self.ask()) }
    }

    #[cold]
    fn ask(&mut self) -> Instant {
        let now = Instant::now();
        // Slow steps are counted one by one.
        let quick = now - self.asked < Duration::from_millis(10);
        self.stride = if quick { Stride::MOST.min(2 * self.stride) } else { 1 };
        (self.asked, self.left) = (now, self.stride);
        now
    }
}
