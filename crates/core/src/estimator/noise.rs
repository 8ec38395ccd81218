//! The noise guard: tells noise of an input from its motion, where steps are small enough for that.

use crate::checkpoint::{Checkpoint, Checkpointed};
use crate::hold::defects::HoldDefects;

/// ν of every input, in its unit.
///
/// Defects `j_m` of holds of order m = 0, 1, 2 fall with the order for motion and rise for noise. They are looked at in the first 16
/// steps, in the opening of the run, and where the step size has collapsed: `h < h_ref/8`, `h_ref = max(h, .995 h_ref)`. Eight of
/// them in a row are noise if
/// `med j2 > 1.2 med j1` and `med j1 > 1.1 med(min j)`; after the start the eight before must be, too, because a kink looks like noise
/// once. Then `ν = max(.97 ν, 1.5 med(min j))`; eight that are not let ν decay by .8. A step of less than half the one before begins anew.
/// Quanta, as those of round-off, leave most defects at 0: what is noise in the quadratic mean, and below 1e-3 of the range, counts, too.
///
/// At other step sizes nothing is looked at: ringing looks like noise there. Constants: docs/default-method.md, "Data used for the design".
#[derive(Clone, Debug)]
pub(super) struct NoiseGuard {
    noise: Vec<f64>,
    is_any: bool,
    /// Newest `[min j, j1, j2]` of every input, as a ring.
    recent: Vec<[[f64; 3]; KEPT]>,
    /// Entries since the last clearing, and where the next one goes.
    entries: usize,
    place: usize,
    steps: u64,
    /// Time so far and length of the opening, in s.
    elapsed: f64,
    opening: f64,
    /// h_ref and the step before, in s.
    reference: f64,
    last: f64,
}

const LOOK: usize = 8;
const KEPT: usize = 2 * LOOK;
const OPENING: u64 = 16;
/// Quanta below this share of the range are noise; larger ones may be meant.
const FINE: f64 = 1e-3;
/// Below this share of the largest value, noise is round-off.
const ROUND_OFF: f64 = 1e-15;

impl NoiseGuard {
    pub fn new(inputs: usize) -> Self {
        NoiseGuard {
            noise: vec![0.0; inputs],
            is_any: false,
            recent: vec![[[0.0; 3]; KEPT]; inputs],
            entries: 0,
            place: 0,
            steps: 0,
            elapsed: 0.0,
            opening: 0.0,
            reference: 0.0,
            last: 0.0,
        }
    }

    /// The opening of the run, in s.
    pub fn set_opening(&mut self, time: f64) {
        self.opening = time;
    }

    /// ν of every input.
    pub fn noise(&self) -> &[f64] {
        &self.noise
    }

    /// Whether an input has noise.
    pub fn is_any(&self) -> bool {
        self.is_any
    }

    /// Learns from an accepted step of `h` seconds; `whole` if inputs had three nodes in it, `ranges` the smallest and largest values so far.
    pub fn commit(&mut self, h: f64, defects: &HoldDefects, whole: bool, ranges: (&[f64], &[f64])) {
        let (low, high) = ranges;
        self.reference = h.max(0.995 * self.reference);
        self.elapsed += h;
        let opening = self.steps <= OPENING || self.elapsed <= self.opening;
        let looks = opening || h < self.reference / 8.0;
        let collapsed = h < 0.5 * self.last;
        self.last = h;
        self.steps += 1;
        if !looks || collapsed {
            self.entries = 0;
            return;
        }
        if whole {
            for (i, recent) in self.recent.iter_mut().enumerate() {
                let j = [0, 1, 2].map(|m| defects.by_order[m][i].abs());
                recent[self.place] = [j[0].min(j[1]).min(j[2]), j[1], j[2]];
            }
            self.place = (self.place + 1) % KEPT;
            self.entries = (self.entries + 1).min(KEPT);
        }
        let needed = if opening { LOOK } else { KEPT };
        if self.entries < needed {
            return;
        }
        for (i, (noise, recent)) in self.noise.iter_mut().zip(&self.recent).enumerate() {
            let [newest, before] = [0, 1].map(|age| Sign::of(recent, self.place, age * LOOK));
            let steps =
                newest.is_rough && (opening || before.is_rough) && newest.rms < FINE * (high[i] - low[i]);
            if newest.is_noise && (opening || before.is_noise) {
                *noise = (0.97 * *noise).max(1.5 * newest.least);
            } else if steps {
                *noise = (0.97 * *noise).max(1.5 * newest.rms);
            } else if !opening && !newest.is_noise {
                *noise *= 0.8;
            }
            if *noise < ROUND_OFF * high[i].abs().max(low[i].abs()) {
                *noise = 0.0;
            }
        }
        self.is_any = self.noise.iter().any(|&noise| noise > 0.0);
    }
}

/// What eight entries look like.
struct Sign {
    is_noise: bool,
    /// med(min j).
    least: f64,
    /// Noise in the quadratic mean: values that repeat and then change by a quantum, as round-off does.
    is_rough: bool,
    /// rms(min j).
    rms: f64,
}

impl Sign {
    /// Of the eight entries before the newest `skipped`, the next one going to `place`.
    fn of(recent: &[[f64; 3]; KEPT], place: usize, skipped: usize) -> Self {
        let entries = |which: usize| {
            std::array::from_fn::<f64, LOOK, _>(|k| {
                recent[(place + 2 * KEPT - 1 - skipped - k) % KEPT][which]
            })
        };
        let median = |which: usize| {
            let mut list = entries(which);
            list.sort_unstable_by(f64::total_cmp);
            list[LOOK / 2]
        };
        let rms = |which: usize| (entries(which).iter().map(|j| j * j).sum::<f64>() / LOOK as f64).sqrt();
        let is_noise = |[least, first, second]: [f64; 3]| second > 1.2 * first && first > 1.1 * least;
        let medians = [median(0), median(1), median(2)];
        let means = [rms(0), rms(1), rms(2)];
        Sign { is_noise: is_noise(medians), least: medians[0], is_rough: is_noise(means), rms: means[0] }
    }
}

impl Checkpointed for NoiseGuard {
    fn save(&self, tape: &mut Checkpoint) {
        tape.extend(&self.noise);
        self.recent.iter().flatten().for_each(|j| tape.extend(j));
        tape.extend(&[self.entries as f64, self.place as f64, self.steps as f64, self.elapsed]);
        tape.extend(&[self.reference, self.last]);
    }

    fn load(&mut self, tape: &mut Checkpoint) {
        tape.fill(&mut self.noise);
        self.is_any = self.noise.iter().any(|&noise| noise > 0.0);
        self.recent.iter_mut().flatten().for_each(|j| tape.fill(j));
        self.entries = tape.pull() as usize;
        self.place = tape.pull() as usize;
        self.steps = tape.pull() as u64;
        self.elapsed = tape.pull();
        self.reference = tape.pull();
        self.last = tape.pull();
    }
}
