//! Two sub-steps instead of one for a subsystem that takes values only: it ends with the right input.

use crate::subsystem::wrapper::Wrapper;
use crate::subsystem::{Advance, Binding, Info, Inputs, Span, StepEvent, Subsystem, SubsystemError};

/// The share of the step that is left for the tail.
const TAIL: f64 = 0.1;

/// Lets a subsystem that takes values only follow a polynomial p: `0.9 h` with the value that gives the whole step the mean of p,
/// then `0.1 h` with `p(h)`, so that what feeds through is read at the right input.
pub struct EndpointSubstep {
    inner: Box<dyn Subsystem>,
    info: Info,
    body: Vec<f64>,
    end: Vec<f64>,
}

impl EndpointSubstep {
    /// Wrapper a subsystem that can be sub-stepped and has `inputs` bound inputs.
    pub fn new(inner: Box<dyn Subsystem>, inputs: usize) -> Self {
        let mut info = inner.info().clone();
        info.capabilities.input_derivatives = 2;
        EndpointSubstep { inner, info, body: vec![0.0; inputs], end: vec![0.0; inputs] }
    }
}

impl Wrapper for EndpointSubstep {
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
        let still = |list: &[f64]| list.iter().all(|&x| x == 0.0);
        if still(u.slope) && still(u.curvature) {
            return self.inner.advance(span, Inputs::constant(u.value), y);
        }
        let h = span.h;
        for i in 0..u.value.len() {
            let curvature = u.curvature.get(i).copied().unwrap_or(0.0);
            let mean = u.value[i] + h * (0.5 * u.slope[i] + h * curvature / 6.0);
            self.end[i] = u.at(i, h);
            self.body[i] = (mean - TAIL * self.end[i]) / (1.0 - TAIL);
        }
        let middle = span.end - TAIL * h;
        let body = Span { start: span.start, end: middle, h: middle - span.start };
        let tail = Span { start: middle, end: span.end, h: span.end - middle };
        let first = self.inner.advance(body, Inputs::constant(&self.body), y)?;
        if first.reached < body.end - 1e-9 * body.h {
            return Ok(first);
        }
        let second = self.inner.advance(tail, Inputs::constant(&self.end), y)?;
        let next_event = second.next_event.or(first.next_event.filter(|&t| t > span.end));
        // An event at the end of the first sub-step has been handled in the second one.
        let event = second.event.max(first.event.min(StepEvent::Handled));
        Ok(Advance { event, next_event, ..second })
    }
}
