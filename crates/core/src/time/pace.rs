//! Which lengths of steps there are: the one place that proposals, pairs, cuts and floors ask.

/// A rest shorter than this share of a step is merged into it; times that close to a multiple are that multiple.
pub(super) const MERGE: f64 = 1e-6;

/// The lengths that steps may have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// Any.
    Free,
    /// Steps end at `start + n·step`, and at times that must be hit.
    Grid {
        /// In seconds.
        step: f64,
        /// All steps are multiples of this, in seconds, also those that are cut: a subsystem takes no others.
        quantum: Option<f64>,
    },
    /// Whatever is wished, in multiples of this, in seconds: a subsystem has an internal step.
    Multiples(f64),
}

impl Pace {
    /// What every step is a multiple of, in seconds.
    pub fn quantum(self) -> Option<f64> {
        match self {
            Pace::Free => None,
            Pace::Grid { quantum, .. } => quantum,
            Pace::Multiples(quantum) => Some(quantum),
        }
    }

    /// Whether a step may end `span` seconds after the start of the run.
    pub fn allows(self, span: f64) -> bool {
        self.quantum().is_none_or(|q| (span / q - (span / q).round()).abs() <= MERGE)
    }

    /// The nearest possible end of a step that is not before `span` seconds after the start of the run.
    pub fn not_before(self, span: f64) -> f64 {
        match self.quantum() {
            Some(q) if !self.allows(span) => (span / q).ceil() * q,
            _ => span,
        }
    }

    /// The nearest possible end of a step that is not after `span` seconds after the start of the run.
    pub fn not_after(self, span: f64) -> f64 {
        match self.quantum() {
            Some(q) if !self.allows(span) => (span / q).floor() * q,
            _ => span,
        }
    }

    /// The step to retry with where one of length `h` failed and `wish` would be better; `None` if no step is shorter.
    pub fn shorter(self, h: f64, wish: f64) -> Option<f64> {
        match self {
            Pace::Free => (wish < h).then_some(wish),
            Pace::Grid { .. } => None,
            Pace::Multiples(q) => {
                let most = (h / q).round() - 1.0;
                (most >= 1.0).then(|| (wish / q).floor().clamp(1.0, most) * q)
            }
        }
    }

    /// The shortest step that can be wished for, in seconds; 0 if there is none, or if steps are not chosen at all.
    pub fn floor(self) -> f64 {
        match self {
            Pace::Free | Pace::Grid { .. } => 0.0,
            Pace::Multiples(q) => q,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_off_the_multiples_are_moved_and_others_are_not() {
        let pace = Pace::Multiples(0.1);
        assert!(pace.allows(5.0) && pace.allows(0.3) && !pace.allows(5.04));
        assert!((pace.not_before(5.04) - 5.1).abs() < 1e-12 && (pace.not_after(5.04) - 5.0).abs() < 1e-12);
        assert_eq!((pace.not_before(0.3), pace.not_after(0.3)), (0.3, 0.3));
        let grid = Pace::Grid { step: 0.5, quantum: None };
        assert!(grid.allows(5.04) && grid.not_before(5.04) == 5.04);
    }

    /// A failed step of one quantum has no shorter one; of several, the nearest below the wish, and at least one.
    #[test]
    fn retries_are_shorter_or_there_are_none() {
        let check = |pace: Pace, h: f64, wish: f64, expected: Option<f64>| {
            let got = pace.shorter(h, wish);
            let same = match (got, expected) {
                (Some(a), Some(b)) => (a - b).abs() < 1e-12,
                (a, b) => a == b,
            };
            assert!(same, "{pace:?}, h {h}, wish {wish}: {got:?} instead of {expected:?}");
        };
        check(Pace::Multiples(0.1), 0.1, 0.02, None);
        check(Pace::Multiples(0.1), 0.5, 0.27, Some(0.2));
        check(Pace::Multiples(0.1), 0.5, 0.01, Some(0.1));
        check(Pace::Multiples(0.1), 0.2, 0.2, Some(0.1));
        check(Pace::Free, 0.2, 0.05, Some(0.05));
        check(Pace::Free, 0.2, 0.2, None);
        check(Pace::Grid { step: 0.2, quantum: None }, 0.2, 0.1, None);
    }
}
