//! What a run came to, in numbers; bounded memory whatever its length.

/// Counts and step sizes of a run.
#[derive(Clone, Debug)]
pub struct Statistics {
    /// Accepted steps.
    pub accepted: u64,
    /// Attempts that were taken back.
    pub rejected: u64,
    /// Sweeps: how often every subsystem was asked to cross a macro step, big steps and rejected ones included.
    pub sweeps: u64,
    /// Steps that could not be taken back because saving failed.
    pub unsaved: u64,
    /// Steps that were kept although their error norm exceeds 1.
    pub over_tolerance: u64,
    /// Steps over tolerance at the smallest step size.
    pub at_floor: u64,
    /// When the first step at the floor ended, in s.
    pub first_at_floor: Option<f64>,
    /// Discontinuities that were stepped to or reported.
    pub events: u64,
    /// The largest error norm and when it was.
    pub worst_norm: (f64, f64),
    /// The smallest step, in s.
    pub min_step: f64,
    /// The largest step, in s.
    pub max_step: f64,
    /// Steps by size in bins of 0.1 %.
    bins: Bins,
}

/// Counts of steps; too many to print.
#[derive(Clone)]
struct Bins(Vec<u64>);

impl std::fmt::Debug for Bins {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bins", self.0.len())
    }
}

const SMALLEST: f64 = 1e-15;
const LARGEST: f64 = 1e9;
/// Of the bits of a positive number the exponent and ten bits of the mantissa are kept: bins of 0.05 to 0.1 %.
const DROPPED: u32 = 42;

fn bin(h: f64) -> u64 {
    h.to_bits() >> DROPPED
}

impl Default for Statistics {
    fn default() -> Self {
        let bins = vec![0; (bin(LARGEST) - bin(SMALLEST) + 1) as usize];
        Statistics {
            accepted: 0,
            rejected: 0,
            sweeps: 0,
            unsaved: 0,
            over_tolerance: 0,
            at_floor: 0,
            first_at_floor: None,
            events: 0,
            worst_norm: (0.0, 0.0),
            min_step: f64::INFINITY,
            max_step: 0.0,
            bins: Bins(bins),
        }
    }
}

impl Statistics {
    /// Counts an accepted step of length `h`.
    pub fn accept(&mut self, h: f64) {
        self.accepted += 1;
        self.min_step = self.min_step.min(h);
        self.max_step = self.max_step.max(h);
        let bin = bin(h).clamp(bin(SMALLEST), bin(LARGEST)) - bin(SMALLEST);
        self.bins.0[bin as usize] += 1;
    }

    /// The median step to 0.1 %, in s; NaN without steps.
    pub fn median_step(&self) -> f64 {
        if self.accepted == 0 {
            return f64::NAN;
        }
        let mut seen = 0;
        for (index, count) in self.bins.0.iter().enumerate() {
            seen += count;
            if 2 * seen >= self.accepted {
                let middle =
                    f64::from_bits(((bin(SMALLEST) + index as u64) << DROPPED) | (1 << (DROPPED - 1)));
                return middle.clamp(self.min_step, self.max_step);
            }
        }
        f64::NAN
    }
}

#[cfg(test)]
mod tests {
    use super::Statistics;

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
