//! Radau's two sub-steps for a subsystem that takes values only: the right mean, the right moment, the right end.

use crate::subsystem::wrapper::{Wrapper, are_held, in_two_parts};
use crate::subsystem::{Advance, Binding, Info, Inputs, Span, Subsystem, SubsystemError};

/// The share of the step that the second sub-step has: Radau's nodes for two stages are 1/3 and 1 (Hairer, Wanner, IV.5).
const LAST: f64 = 1.0 / 3.0;

/// Lets a subsystem that takes values only follow a polynomial `p(τ) = p0 + p1 τ + p2 τ²`: `2h/3` with `p0 + p1 h/4`, then `h/3` with
/// `p(h)`.
///
/// Two constants with the mean and the first moment of p over the step: states at its end are right to the order that p itself gives,
/// where a held mean lacks the moment `h³ u'/12` and stays of second order. Outputs that feed the input through are read at `p(h)`.
pub struct RadauSubstep {
    inner: Box<dyn Subsystem>,
    info: Info,
    body: Vec<f64>,
    end: Vec<f64>,
}

impl RadauSubstep {
    /// Wraps a subsystem that can be sub-stepped and has `inputs` bound inputs.
    pub fn new(inner: Box<dyn Subsystem>, inputs: usize) -> Self {
        let mut info = inner.info().clone();
        info.capabilities.input_derivatives = 2;
        RadauSubstep { inner, info, body: vec![0.0; inputs], end: vec![0.0; inputs] }
    }
}

impl Wrapper for RadauSubstep {
    fn inner(&self) -> &dyn Subsystem {
        self.inner.as_ref()
    }

    fn inner_mut(&mut self) -> &mut dyn Subsystem {
        self.inner.as_mut()
    }

    fn info(&self) -> &Info {
        &self.info
    }

    fn bind(&mut self, binding: &Binding) -> Result<(), SubsystemError> {
        self.body.resize(binding.inputs.len(), 0.0);
        self.end.resize(binding.inputs.len(), 0.0);
        self.inner.bind(binding)
    }

    fn advance(&mut self, span: Span, u: Inputs<'_>, y: &mut [f64]) -> Result<Advance, SubsystemError> {
        if are_held(u) {
            return self.inner.advance(span, Inputs::constant(u.value), y);
        }
        let h = span.h;
        for i in 0..u.value.len() {
            if u.slope[i] == 0.0 && u.curvature.get(i).is_none_or(|c| *c == 0.0) {
                // To the last bit: it may be one that is never interpolated.
                (self.body[i], self.end[i]) = (u.value[i], u.value[i]);
                continue;
            }
            self.end[i] = u.at(i, h);
            self.body[i] = u.value[i] + 0.25 * h * u.slope[i];
        }
        let middle = span.end - LAST * h;
        let body = Span { start: span.start, end: middle, h: middle - span.start };
        let last = Span { start: middle, end: span.end, h: span.end - middle };
        in_two_parts(self.inner.as_mut(), [(body, &self.body), (last, &self.end)], y)
    }
}
