//! Several steps instead of one for a subsystem that takes one length only: macro steps may be multiples of it.

use crate::subsystem::wrapper::Wrapper;
use crate::subsystem::{Advance, Binding, Info, Inputs, Span, StepEvent, Subsystem, SubsystemError};

/// Crosses a span of n steps of one length, one by one; what is held goes on through all of them.
pub struct WholeSteps {
    inner: Box<dyn Subsystem>,
    info: Info,
    /// In seconds.
    step: f64,
    value: Vec<f64>,
    slope: Vec<f64>,
}

impl WholeSteps {
    /// Wraps a subsystem with `inputs` bound inputs all of whose steps are to have the length `step`, in seconds.
    pub fn new(inner: Box<dyn Subsystem>, inputs: usize, step: f64) -> Self {
        let mut info = inner.info().clone();
        info.capabilities.constant_step = false;
        info.capabilities.fixed_step = Some(step);
        info.capabilities.sub_steps = false;
        WholeSteps { inner, info, step, value: vec![0.0; inputs], slope: vec![0.0; inputs] }
    }
}

impl Wrapper for WholeSteps {
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
        self.value.resize(binding.inputs.len(), 0.0);
        self.slope.resize(binding.inputs.len(), 0.0);
        self.inner.bind(binding)
    }

    fn advance(&mut self, span: Span, u: Inputs<'_>, y: &mut [f64]) -> Result<Advance, SubsystemError> {
        // A number that is out of range or not finite becomes 1, and the inner subsystem says what it thinks of that step.
        let count = (span.h / self.step).round().clamp(1.0, 1e9) as u32;
        if count <= 1 {
            return self.inner.advance(span, u, y);
        }
        let (mut event, mut next_event) = (StepEvent::None, None);
        for k in 0..count {
            let part = span.part(k, count);
            let tau = part.start - span.start;
            for i in 0..u.value.len() {
                self.value[i] = u.at(i, tau);
                if let Some(slope) = u.slope.get(i) {
                    self.slope[i] = slope + tau * u.curvature.get(i).copied().unwrap_or(0.0);
                }
            }
            let slope = if u.slope.is_empty() { &[][..] } else { &self.slope[..u.value.len()] };
            let inputs = Inputs { value: &self.value[..u.value.len()], slope, curvature: u.curvature };
            let advance = self.inner.advance(part, inputs, y)?;
            if advance.reached < part.end - 1e-9 * part.h {
                return Ok(advance);
            }
            // An event at the end of an earlier one has been handled in the next.
            event = advance.event.max(event.min(StepEvent::Handled));
            next_event = advance.next_event.or(next_event);
        }
        Ok(Advance { reached: span.end, event, next_event: next_event.filter(|&t| t > span.end) })
    }
}
