//! Bounds of a step and of its change.

/// `min_rate ≤ h'/h ≤ max_rate`, then `min_step ≤ h' ≤ max_step` (sadjina2017 after eq. 15).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepBounds {
    /// In seconds.
    pub min_step: f64,
    /// In seconds.
    pub max_step: f64,
    /// Θ_min.
    pub min_rate: f64,
    /// Θ_max.
    pub max_rate: f64,
}

impl StepBounds {
    /// The step after `h` that a controller wants to change by `factor`. NaN shrinks the most.
    pub fn apply(&self, factor: f64, h: f64) -> f64 {
        let factor = if factor.is_nan() { self.min_rate } else { factor };
        (factor.clamp(self.min_rate, self.max_rate) * h).clamp(self.min_step, self.max_step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_then_steps_are_clamped() {
        let limits = StepBounds { min_step: 1e-4, max_step: 1e-2, min_rate: 0.2, max_rate: 1.5 };
        let check = |factor: f64, h: f64, expected: f64| {
            let got = limits.apply(factor, h);
            assert!((got - expected).abs() < 1e-15, "factor {factor}, h {h}: {got} instead of {expected}");
        };
        check(1.2, 1e-3, 1.2e-3);
        check(9.0, 1e-3, 1.5e-3);
        check(0.0, 1e-3, 2e-4);
        check(f64::INFINITY, 1e-3, 1.5e-3);
        check(f64::NAN, 1e-3, 2e-4);
        check(1.5, 9e-3, 1e-2);
        check(0.2, 2e-4, 1e-4);
    }
}
