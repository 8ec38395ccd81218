//! What a run came to, in numbers; bounded memory whatever its length.

use crate::subsystem::SubsystemError;

/// Counts and step sizes of a run.
#[derive(Clone, Debug)]
pub struct Statistics {
    /// Accepted steps.
    pub accepted: u64,
    /// Attempts that were rejected because of their error.
    pub rejected: u64,
    /// Attempts that were cut because a subsystem stopped early.
    pub early_returns: u64,
    /// Sweeps: how often every subsystem was asked to cross a macro step, big steps and rejected ones included.
    pub sweeps: u64,
    /// Steps that could not be rolled back because saving failed.
    pub unsaved: u64,
    /// The first time that saving failed: the member, and why.
    pub refused: Option<(usize, SubsystemError)>,
    /// Steps that were kept although their error norm exceeds 1.
    pub over_tolerance: u64,
    /// Those of them at the start, before the driving estimator had a scale.
    pub without_scale: u64,
    /// Steps over tolerance at the smallest step size, once there is a scale.
    pub at_floor: u64,
    /// When the first step at the floor ended, in s.
    pub first_at_floor: Option<f64>,
    /// The length of all accepted steps, in s.
    pub time: f64,
    /// The length of those over tolerance, once there is a scale, in s.
    pub time_over: f64,
    /// The length of those at the smallest step size, in s.
    pub time_at_floor: f64,
    /// Discontinuities that were stepped to or reported.
    pub events: u64,
    /// The largest error norm, once there is a scale, and when it was.
    pub worst_norm: Peak,
    /// The smallest step, in s.
    pub min_step: f64,
    /// The largest step, in s.
    pub max_step: f64,
    /// One per estimator, in their order.
    pub estimates: Vec<NormStatistics>,
    /// Steps by size in bins of 0.1 %.
    bins: Bins,
}

/// The largest of some numbers, and when it was.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Peak {
    /// How large.
    pub value: f64,
    /// In s.
    pub time: f64,
}

/// What an estimator said of all accepted steps.
#[derive(Clone, Debug)]
pub struct NormStatistics {
    /// Accepted steps.
    pub steps: u64,
    /// Those with a norm above 1.
    pub over_tolerance: u64,
    /// The largest norm and when it was.
    pub worst: Peak,
    smallest: f64,
    bins: Bins,
}

/// Counts of steps; too many to print.
#[derive(Clone)]
struct Bins(Vec<u64>);

/// Statistics as they were, in little memory: most bins are empty.
pub(crate) struct SavedStatistics {
    /// Without bins.
    numbers: Statistics,
    /// Place and count of bins that are not empty: of steps, then of norms.
    bins: Vec<Vec<(u32, u64)>>,
}

impl std::fmt::Debug for Bins {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bins", self.0.len())
    }
}

const SMALLEST: f64 = 1e-15;
const LARGEST: f64 = 1e9;
/// Smaller norms count as this: they are round-off.
const SMALLEST_NORM: f64 = 1e-12;
const LARGEST_NORM: f64 = 1e12;
/// Of the bits of a positive number the exponent and ten bits of the mantissa are kept: bins of 0.05 to 0.1 %.
const DROPPED: u32 = 42;

fn bin(h: f64) -> u64 {
    h.to_bits() >> DROPPED
}

impl Bins {
    fn new(smallest: f64, largest: f64) -> Self {
        Bins(vec![0; (bin(largest) - bin(smallest) + 1) as usize])
    }

    fn count(&mut self, x: f64, smallest: f64) {
        let last = self.0.len() as u64 - 1;
        let place = bin(x.max(smallest)).saturating_sub(bin(smallest)).min(last);
        self.0[place as usize] += 1;
    }

    /// Those that are not empty.
    fn save(&self) -> Vec<(u32, u64)> {
        let counts = self.0.iter().enumerate().filter(|(_, count)| **count > 0);
        counts.map(|(place, &count)| (place as u32, count)).collect()
    }

    fn load(&mut self, saved: &[(u32, u64)]) {
        self.0.fill(0);
        saved.iter().for_each(|&(place, count)| self.0[place as usize] = count);
    }

    /// The middle of the bin that holds the median of `total` numbers.
    fn median(&self, total: u64, smallest: f64) -> f64 {
        let mut seen = 0;
        for (index, count) in self.0.iter().enumerate() {
            seen += count;
            if total > 0 && 2 * seen >= total {
                return f64::from_bits(((bin(smallest) + index as u64) << DROPPED) | (1 << (DROPPED - 1)));
            }
        }
        f64::NAN
    }
}

impl Default for NormStatistics {
    fn default() -> Self {
        NormStatistics {
            steps: 0,
            over_tolerance: 0,
            worst: Peak::default(),
            smallest: f64::INFINITY,
            bins: Bins::new(SMALLEST_NORM, LARGEST_NORM),
        }
    }
}

impl NormStatistics {
    /// Counts the norm of an accepted step that ended at `t`.
    pub fn accept(&mut self, norm: f64, t: f64) {
        self.steps += 1;
        self.over_tolerance += u64::from(norm > 1.0);
        self.smallest = self.smallest.min(norm);
        if norm > self.worst.value {
            self.worst = Peak { value: norm, time: t };
        }
        self.bins.count(norm, SMALLEST_NORM);
    }

    /// The median norm to 0.1 %; NaN without steps.
    pub fn median(&self) -> f64 {
        if self.steps == 0 {
            return f64::NAN;
        }
        self.bins.median(self.steps, SMALLEST_NORM).clamp(self.smallest, self.worst.value.max(self.smallest))
    }
}

impl Statistics {
    /// Nothing yet, for a run with so many estimators.
    pub fn new(estimators: usize) -> Self {
        Statistics { estimates: vec![NormStatistics::default(); estimators], ..Statistics::default() }
    }

    /// All bins, those of steps first.
    fn bins(&self) -> impl Iterator<Item = &Bins> {
        std::iter::once(&self.bins).chain(self.estimates.iter().map(|norms| &norms.bins))
    }

    pub(crate) fn save(&self) -> SavedStatistics {
        let none = || Bins(Vec::new());
        let norms = |of: &NormStatistics| NormStatistics { bins: none(), ..*of };
        let estimates = self.estimates.iter().map(norms).collect();
        SavedStatistics {
            numbers: Statistics { estimates, bins: none(), refused: self.refused.clone(), ..*self },
            bins: self.bins().map(Bins::save).collect(),
        }
    }

    pub(crate) fn load(&mut self, saved: &SavedStatistics) {
        let mut kept = std::mem::take(&mut self.estimates).into_iter().map(|norms| norms.bins);
        let norms =
            |of: &NormStatistics| NormStatistics { bins: kept.next().unwrap_or(Bins(Vec::new())), ..*of };
        let estimates = saved.numbers.estimates.iter().map(norms).collect();
        let bins = std::mem::replace(&mut self.bins, Bins(Vec::new()));
        *self = Statistics { estimates, bins, refused: saved.numbers.refused.clone(), ..saved.numbers };
        let all =
            std::iter::once(&mut self.bins).chain(self.estimates.iter_mut().map(|norms| &mut norms.bins));
        all.zip(&saved.bins).for_each(|(bins, saved)| bins.load(saved));
    }
}

impl Default for Statistics {
    fn default() -> Self {
        Statistics {
            accepted: 0,
            rejected: 0,
            early_returns: 0,
            sweeps: 0,
            unsaved: 0,
            refused: None,
            over_tolerance: 0,
            without_scale: 0,
            at_floor: 0,
            time: 0.0,
            time_over: 0.0,
            time_at_floor: 0.0,
            first_at_floor: None,
            events: 0,
            worst_norm: Peak::default(),
            min_step: f64::INFINITY,
            max_step: 0.0,
            estimates: Vec::new(),
            bins: Bins::new(SMALLEST, LARGEST),
        }
    }
}

impl Statistics {
    /// Counts an accepted step of length `h`.
    pub fn accept(&mut self, h: f64) {
        self.accepted += 1;
        self.time += h;
        self.min_step = self.min_step.min(h);
        self.max_step = self.max_step.max(h);
        self.bins.count(h, SMALLEST);
    }

    /// The median step to 0.1 %, in s; NaN without steps.
    pub fn median_step(&self) -> f64 {
        if self.accepted == 0 {
            return f64::NAN;
        }
        self.bins.median(self.accepted, SMALLEST).clamp(self.min_step, self.max_step)
    }
}

#[cfg(test)]
mod tests {
    use super::{NormStatistics, Peak, Statistics};

    #[test]
    fn norms_have_a_median_a_worst_time_and_a_count_over_tolerance() {
        let mut s = NormStatistics::default();
        assert!(s.median().is_nan());
        (0..1000).for_each(|i| s.accept(f64::from(i) / 500.0, f64::from(i)));
        assert!((s.median() / 0.998 - 1.0).abs() < 1e-3, "{}", s.median());
        assert_eq!((s.over_tolerance, s.worst), (499, Peak { value: 1.998, time: 999.0 }));
        let mut s = NormStatistics::default();
        s.accept(0.0, 1.0);
        s.accept(f64::INFINITY, 2.0);
        s.accept(f64::INFINITY, 3.0);
        assert!(s.median() > 0.99e12, "{}", s.median());
        assert_eq!(s.worst, Peak { value: f64::INFINITY, time: 2.0 });
    }

    #[test]
    fn the_median_is_found_in_bins_and_exact_for_constant_steps() {
        let mut s = Statistics::default();
        (0..1000).for_each(|_| s.accept(1e-3));
        assert_eq!(s.median_step(), 1e-3);
        let mut s = Statistics::default();
        (1..=999).for_each(|i| s.accept(f64::from(i) * 1e-5));
        assert!((s.median_step() / 5e-3 - 1.0).abs() < 2e-3, "{}", s.median_step());
    }
}
