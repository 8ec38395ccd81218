//! Inputs that change inside a step: FMI 3's counterpart of FMI 2's input derivatives.
//!
//! An importer that offers intermediate updates is asked for the inputs in the middle `u(t + h/2)` and at the end `u(t + h)` of
//! a step. With `u_0`, which was set at its start, they lie on one parabola: with `a = u_m - u_0` and `b = u_1 - u_0`,
//! `u' = (4 a - b)/h` and `u'' = 4 (b - 2 a)/h²` at the start. A model that follows slopes only is asked at the end, `u' = b/h`.
//! Inputs that do not change have no slope, to the last bit.

use crate::error::Refusal;
use crate::instance::{Instance, Phase};

/// Inputs at points of a step.
pub(crate) struct Samples {
    start: Vec<f64>,
    middle: Vec<f64>,
    end: Vec<f64>,
}

impl Samples {
    /// Of `n` inputs.
    pub fn new(n: usize) -> Self {
        Samples { start: vec![0.0; n], middle: vec![0.0; n], end: vec![0.0; n] }
    }
}

/// A point of a step at which inputs are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// Half way.
    Middle,
    /// At its end.
    End,
}

impl Instance {
    /// Where in a step inputs are asked for: as many points as the model follows derivatives.
    pub fn points(&self) -> &'static [Point] {
        match self.interface.info.capabilities.input_derivatives {
            0 => &[],
            1 => &[Point::End],
            _ => &[Point::Middle, Point::End],
        }
    }

    /// Whether `reference` is an input that may be asked for inside steps.
    pub fn is_asked_for(&self, reference: u32) -> bool {
        !self.points().is_empty() && self.interface.is_input(reference)
    }

    /// A step from `t` over `h` is possible; what is set now holds at its start.
    pub fn begin_samples(&mut self, t: f64, h: f64) -> Result<(), Refusal> {
        self.may_step(t, h)?;
        self.samples.start.copy_from_slice(&self.u);
        Ok(())
    }

    /// What is set now holds at `point`.
    pub fn take_sample(&mut self, point: Point) {
        let sample = match point {
            Point::Middle => &mut self.samples.middle,
            Point::End => &mut self.samples.end,
        };
        sample.copy_from_slice(&self.u);
    }

    /// Crosses a step of `h` seconds from `t` with inputs through the samples.
    pub fn step_through_samples(&mut self, t: f64, h: f64) -> Result<(), Refusal> {
        let Samples { start, middle, end } = &self.samples;
        let bends = self.points().len() > 1;
        for k in 0..start.len() {
            let b = end[k] - start[k];
            self.slope[k] = b / h;
            if bends {
                let a = middle[k] - start[k];
                self.slope[k] = (4.0 * a - b) / h;
                self.curvature[k] = 4.0 * (b - 2.0 * a) / (h * h);
            }
        }
        self.u.copy_from_slice(start);
        self.follows = true;
        let stepped = self.step(t, h);
        self.u.copy_from_slice(&self.samples.end);
        stepped
    }

    /// Refuses a step that does not go on where the last one ended.
    pub(crate) fn may_step(&self, t: f64, h: f64) -> Result<(), Refusal> {
        self.require(&[Phase::Stepping])?;
        // Importers sum their time up in different ways, so that only a gap that is more than round-off counts.
        let apart = (t - self.time).abs() <= 1e-6 * (h + t.abs());
        if h > 0.0 && h.is_finite() && apart { Ok(()) } else { Err(Refusal::Step { t, h, time: self.time }) }
    }
}
