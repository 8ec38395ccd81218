//! Two halves for a subsystem that takes values only: the right mean and the right moment.

use crate::subsystem::wrapper::{Wrapper, are_held, in_two_parts};
use crate::subsystem::{Advance, Binding, Info, Inputs, Span, StepEvent, Subsystem, SubsystemError};

/// Lets a subsystem that takes values only follow a polynomial `p(τ) = p0 + p1 τ + p2 τ²`: `h/2` with `v − Δ/2`, then `h/2` with `v + Δ/2`,
/// where `v = p0 + p1 h/2 + p2 h²/3` is its mean and `Δ = ⅔ h (p1 + h p2)`.
///
/// As with [Radau's sub-steps](super::radau::RadauSubstep) both constants together have the mean and the first moment of p over the step,
/// here in equal parts; but the last value is not `p(h)`. Outputs that feed the input through have to be read again at `p(h)`.
pub struct HalvesSubstep {
    inner: Box<dyn Subsystem>,
    info: Info,
    /// Outputs are read again at the end.
    reads: bool,
    first: Vec<f64>,
    second: Vec<f64>,
    end: Vec<f64>,
}

impl HalvesSubstep {
    /// Wraps a subsystem that can be sub-stepped and has `inputs` bound inputs; with `reads` its outputs are read again at the end.
    pub fn new(inner: Box<dyn Subsystem>, inputs: usize, reads: bool) -> Self {
        let mut info = inner.info().clone();
        info.capabilities.input_derivatives = 2;
        let empty = || vec![0.0; inputs];
        HalvesSubstep { inner, info, reads, first: empty(), second: empty(), end: empty() }
    }
}

impl Wrapper for HalvesSubstep {
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
        for list in [&mut self.first, &mut self.second, &mut self.end] {
            list.resize(binding.inputs.len(), 0.0);
        }
        self.inner.bind(binding)
    }

    fn advance(&mut self, span: Span, u: Inputs<'_>, y: &mut [f64]) -> Result<Advance, SubsystemError> {
        if are_held(u) {
            return self.inner.advance(span, Inputs::constant(u.value), y);
        }
        let h = span.h;
        for (i, &value) in u.value.iter().enumerate() {
            let (p1, p2) = (u.slope[i], 0.5 * u.curvature.get(i).copied().unwrap_or(0.0));
            if p1 == 0.0 && p2 == 0.0 {
                // To the last bit: it may be one that is never interpolated.
                (self.first[i], self.second[i], self.end[i]) = (value, value, value);
                continue;
            }
            let mean = value + h * (0.5 * p1 + h * p2 / 3.0);
            let half = h * (p1 + h * p2) / 3.0;
            (self.first[i], self.second[i]) = (mean - half, mean + half);
            self.end[i] = u.at(i, h);
        }
        let (one, two) = (span.part(0, 2), span.part(1, 2));
        let crossed = in_two_parts(self.inner.as_mut(), [(one, &self.first), (two, &self.second)], y)?;
        let whole = crossed.reached >= two.end - 1e-9 * two.h;
        if self.reads && whole && matches!(crossed.event, StepEvent::None | StepEvent::Handled) {
            self.inner.evaluate(Inputs::constant(&self.end), y)?;
        }
        Ok(crossed)
    }
}
