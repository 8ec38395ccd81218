//! Outputs of two runs at the same times, and how far they are apart.

use powerbond_core::observe::{Flow, Observer, StepReport};
use powerbond_core::step::StepView;

/// Outputs at some of the communication points of a run: at all of them, or, in a long run, at every 2ⁿ-th.
#[derive(Default)]
pub(super) struct Samples {
    pub outputs: Vec<usize>,
    times: Vec<f64>,
    /// Seconds since the sample before.
    weights: Vec<f64>,
    values: Vec<f64>,
    /// Communication points per sample, and those since the last one.
    stride: u64,
    passed: u64,
    waiting: f64,
}

/// Numbers that are kept at most: 32 MB, whatever the length of the run.
const MOST_VALUES: usize = 4_000_000;
/// Samples that are kept at least, whatever the number of outputs.
const FEWEST_SAMPLES: usize = 1000;

/// A fifth of all |x| of a normal distribution with an rms of 1 is below this.
const QUIETEST_FIFTH: f64 = 0.253;
/// So many samples on each side tell what the one between them would be without noise; curvature counts less with more, and noise as much.
const REACH: std::ops::RangeInclusive<usize> = 1..=3;

impl Samples {
    pub fn of(outputs: Vec<usize>) -> Self {
        Samples { outputs, stride: 1, ..Samples::default() }
    }

    pub fn add(&mut self, t: f64, h: f64, y: &[f64]) {
        self.passed += 1;
        self.waiting += h;
        if self.passed < self.stride {
            return;
        }
        self.times.push(t);
        self.weights.push(self.waiting);
        self.values.extend(self.outputs.iter().map(|&o| y[o]));
        (self.passed, self.waiting) = (0, 0.0);
        if self.values.len() > MOST_VALUES && self.times.len() > 2 * FEWEST_SAMPLES {
            self.thin();
        }
    }

    /// The most that noise of output `k` can be, as its rms: what a sample is off the polynomial through those beside it, in the quietest
    /// fifth of the run. Noise is in all of it; curvature is less there than anywhere else.
    pub fn roughness(&self, k: usize) -> f64 {
        let last = self.times.len().saturating_sub(1);
        let of = |reach: usize| {
            let middles = reach..(last + 1).saturating_sub(reach);
            let mut off: Vec<f64> = middles.map(|i| self.off(k, i, reach)).collect();
            if off.is_empty() {
                return f64::INFINITY;
            }
            let place = off.len() / 5;
            *off.select_nth_unstable_by(place, f64::total_cmp).1 / QUIETEST_FIFTH
        };
        REACH.map(of).fold(f64::INFINITY, f64::min)
    }

    /// How far output `k` in sample i is off the polynomial through `reach` samples on each side, as the rms of noise that would do it.
    fn off(&self, k: usize, i: usize, reach: usize) -> f64 {
        let n = self.outputs.len();
        let nodes = || (i - reach..=i + reach).filter(move |&j| j != i);
        let (mut off, mut squares) = (self.values[i * n + k], 1.0);
        for j in nodes() {
            let share = |m: usize| (self.times[i] - self.times[m]) / (self.times[j] - self.times[m]);
            let weight: f64 = nodes().filter(|&m| m != j).map(share).product();
            off -= weight * self.values[j * n + k];
            squares += weight * weight;
        }
        off.abs() / squares.sqrt()
    }

    /// The standard deviation of output `k`.
    pub fn spread(&self, k: usize) -> f64 {
        let values = || self.values.iter().skip(k).step_by(self.outputs.len()).zip(&self.weights);
        let time: f64 = self.weights.iter().sum();
        let mean = values().map(|(y, w)| w * y).sum::<f64>() / time;
        (values().map(|(y, w)| w * (y - mean) * (y - mean)).sum::<f64>() / time).sqrt()
    }

    /// rms of the difference of output `k` to that of a `finer` run, at the times that both have.
    pub fn difference(&self, finer: &Samples, k: usize) -> f64 {
        let (sum, time) = self.squares(finer, k).fold((0.0, 0.0), |(s, t), (w, off)| (s + w * off, t + w));
        if time > 0.0 { (sum / time).sqrt() } else { f64::NAN }
    }

    /// The least share of the time in which half of the squared difference of output `k` to that of a `finer` run lies.
    pub fn concentration(&self, finer: &Samples, k: usize) -> f64 {
        let mut list: Vec<(f64, f64)> = self.squares(finer, k).collect();
        let whole = list.iter().fold((0.0, 0.0), |(s, t), (w, off)| (s + w * off, t + w));
        list.sort_unstable_by(|a, b| b.1.total_cmp(&a.1));
        let (mut sum, mut time) = (0.0, 0.0);
        for (w, off) in list {
            (sum, time) = (sum + w * off, time + w);
            if sum >= 0.5 * whole.0 {
                break;
            }
        }
        time / whole.1
    }

    /// Weight and squared difference of output `k`, sample by sample.
    fn squares(&self, finer: &Samples, k: usize) -> impl Iterator<Item = (f64, f64)> {
        let n = self.outputs.len();
        let mut next = 0;
        self.times.iter().enumerate().filter_map(move |(i, t)| {
            while finer.times.get(next).is_some_and(|at| at < t) {
                next += 1;
            }
            let off = self.values[i * n + k] - finer.values.get(next * n + k)?;
            (finer.times[next] == *t).then_some((self.weights[i], off * off))
        })
    }

    /// Drops every other sample; those that stay have its weight, too.
    fn thin(&mut self) {
        let (n, pairs) = (self.outputs.len(), self.times.len() / 2);
        for k in 0..pairs {
            self.times[k] = self.times[2 * k + 1];
            self.weights[k] = self.weights[2 * k] + self.weights[2 * k + 1];
            self.values.copy_within((2 * k + 1) * n..(2 * k + 2) * n, k * n);
        }
        if self.times.len() % 2 == 1 {
            self.waiting += self.weights[2 * pairs];
            self.passed += self.stride;
        }
        self.times.truncate(pairs);
        self.weights.truncate(pairs);
        self.values.truncate(pairs * n);
        self.stride *= 2;
    }
}

/// Compares a finer run with the samples of a coarser one.
pub(super) struct Comparison<'a> {
    coarse: &'a Samples,
    next: usize,
    sums: Vec<Sums>,
    /// Σ weight so far.
    time: f64,
    /// What it gave at the same times.
    pub own: Samples,
}

/// Sums over the samples of one output.
#[derive(Clone, Copy, Default)]
struct Sums {
    /// Σ w (y - y_coarse)².
    off: f64,
    mean: f64,
    m2: f64,
    largest: f64,
}

impl<'a> Comparison<'a> {
    pub fn new(coarse: &'a Samples) -> Self {
        let own = Samples::of(coarse.outputs.clone());
        Comparison { coarse, next: 0, sums: vec![Sums::default(); coarse.outputs.len()], time: 0.0, own }
    }

    /// The standard deviation of output `k`.
    pub fn spread(&self, k: usize) -> f64 {
        (self.sums[k].m2.max(0.0) / self.time).sqrt()
    }

    /// rms of the difference of output `k` over its standard deviation; none if it is constant.
    pub fn difference(&self, k: usize) -> Option<f64> {
        let s = &self.sums[k];
        let (off, spread) = ((s.off / self.time).sqrt(), self.spread(k));
        // Below this, an output is constant and its spread is round-off.
        let moves = spread > 1e-12 * s.largest || !spread.is_finite();
        (self.time > 0.0 && moves).then(|| off / spread)
    }
}

impl Observer for Comparison<'_> {
    fn accepted(&mut self, step: &StepView<'_>, _: &StepReport<'_>) -> Flow {
        let t = step.span.end;
        let Comparison { coarse, next, sums, time, own } = self;
        while coarse.times.get(*next).is_some_and(|&at| at < t) {
            *next += 1;
        }
        if coarse.times.get(*next) != Some(&t) {
            return Flow::Continue;
        }
        let (n, w) = (coarse.outputs.len(), coarse.weights[*next]);
        let values = &coarse.values[*next * n..(*next + 1) * n];
        *time += w;
        for ((s, &o), &before) in sums.iter_mut().zip(&coarse.outputs).zip(values) {
            let y = step.y_fresh[o];
            s.off += w * (y - before) * (y - before);
            let off = y - s.mean;
            s.mean += w / *time * off;
            s.m2 += w * off * (y - s.mean);
            s.largest = s.largest.max(y.abs());
        }
        own.add(t, w, step.y_fresh);
        *next += 1;
        Flow::Continue
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_runs_are_thinned_and_all_of_their_time_counts() {
        let mut samples = Samples::of(vec![0; 2 * MOST_VALUES / (3 * FEWEST_SAMPLES)]);
        let n = 10_001;
        (0..n).for_each(|k| samples.add(f64::from(k + 1), 1.0, &[f64::from(k + 1)]));
        let kept = samples.times.len();
        assert!(samples.values.len() <= MOST_VALUES && kept >= FEWEST_SAMPLES, "{kept}");
        let time: f64 = samples.weights.iter().sum();
        assert_eq!(time + samples.waiting, f64::from(n));
        let width = samples.outputs.len();
        let mut before = 0.0;
        for k in 0..kept {
            assert_eq!(samples.values[k * width], samples.times[k]);
            assert_eq!(samples.times[k] - before, samples.weights[k]);
            before = samples.times[k];
        }
    }

    /// 1 for 3 s and 5 for 1 s: the mean is 2, the variance (3·1 + 9)/4.
    #[test]
    fn the_standard_deviation_is_weighted_with_time() {
        let mut samples = Samples::of(vec![0, 1]);
        [(1.0, 1.0, 1.0), (3.0, 2.0, 1.0), (4.0, 1.0, 5.0)]
            .into_iter()
            .for_each(|(t, h, y)| samples.add(t, h, &[7.0, y]));
        assert_eq!((samples.spread(0), samples.spread(1)), (0.0, 3.0_f64.sqrt()));
    }

    /// 100 samples, 0.3 off at two of them and 0.1 at all others, by hand: 0.98·0.01 + 0.02·0.09, half of which is 2 samples and 40 more (41 by round-off);
    /// 3 off at these two: they are more than half.
    #[test]
    fn differences_know_where_they_are() {
        let with = |peak: f64| {
            let (mut coarse, mut finer) = (Samples::of(vec![0]), Samples::of(vec![0]));
            for k in 0..100 {
                let off = if k == 20 || k == 70 { peak } else { 0.1 };
                coarse.add(f64::from(k), 1.0, &[off]);
                // A finer run has other times, too.
                finer.add(f64::from(k) - 0.5, 0.5, &[7.0]);
                finer.add(f64::from(k), 0.5, &[0.0]);
            }
            (coarse.difference(&finer, 0), coarse.concentration(&finer, 0))
        };
        let (difference, share) = with(0.3);
        assert!((difference - 0.0116_f64.sqrt()).abs() < 1e-12 && (share - 0.42).abs() < 0.011, "{share}");
        assert!((with(3.0).1 - 0.02).abs() < 1e-9);
    }

    /// Noise from a linear congruential generator, of rms 1/√12, on a sine that is as smooth as 50 points per oscillation make it; and
    /// the sine alone, at rest half of the time.
    #[test]
    fn noise_is_told_from_motion() {
        let (mut noisy, mut quiet, mut seed) = (Samples::of(vec![0]), Samples::of(vec![0]), 1_u64);
        for k in 0..4000 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let noise = (seed >> 11) as f64 / (1_u64 << 53) as f64 - 0.5;
            let motion = if k < 2000 { (0.125 * f64::from(k)).sin() } else { 0.0 };
            noisy.add(f64::from(k), 1.0, &[motion + noise]);
            quiet.add(f64::from(k), 1.0, &[motion]);
        }
        let rms = 12_f64.sqrt().recip();
        let found = noisy.roughness(0);
        assert!((0.7..1.5).contains(&(found / rms)), "{found}");
        assert_eq!(quiet.roughness(0), 0.0);
    }

    /// 50 points per oscillation, never at rest: a parabola is off by up to (2π/50)²/2 of the amplitude, which is no noise.
    #[test]
    fn motion_alone_is_hardly_rough() {
        let mut smooth = Samples::of(vec![0]);
        let step = std::f64::consts::TAU / 50.0;
        (0..4000).for_each(|k| smooth.add(f64::from(k), 1.0, &[(step * f64::from(k)).sin()]));
        let found = smooth.roughness(0);
        assert!(found < step.powi(6), "{found}");
    }
}
