//! Direct feed-through identified during the run: D = ∂y/∂u from the inputs that acted on a subsystem and its outputs.
//!
//! At communication points an output is `y = D u + B ∫u + A ∫∫u + smooth`: u is the input at the end of the step, its integrals are
//! those of what was held, and the rest is due to states. Divided differences of order 6 over the true communication points remove
//! the smooth part, and least squares with forgetting separate D from B and A:
//!
//! ```text
//! Δy = Σ_i B_i ΔU_i + A_i ΔV_i + D_i Δu_i,   U = ∫u,  V = ∫U
//! ```
//!
//! Without B an integrator passes for a gain of B h/2, as its sums lag half a step behind; without A so does the way from a force to
//! a position. A sine cannot tell the three apart (∫∫u is u again but for a factor), nor can a constant step with a zero-order hold
//! tell a position from the sum of its velocities: then nothing is claimed. What can is everything that is rough from step to step:
//! prediction defects of varying steps and orders, transients, dither.

use super::{FeedThroughPair, GainSource, Reached};
use crate::checkpoint::{Checkpoint, Checkpointed};
use crate::network::Network;
use crate::subsystem::Span;

/// Points of a difference of order 6. Less leaves too much of smooth motion: with order 4 fixed steps gain half as much in the
/// experiment in tests/identify_experiment.rs.
const POINTS: usize = 7;
/// Memory of the least squares in steps, 1/(1 - λ): this many (λ = 0.95, see docs/default-method.md), or so many for each unknown if that is
/// more.
const MEMORY: f64 = 20.0;
const MEMORY_PER_UNKNOWN: f64 = 5.0;
/// An unknown of which the others leave no more than this share of its squares is not fitted: 1e4 times round-off.
const COLLINEAR: f64 = 1e-12;
/// The ratio |D|/σ(D) below which a gain is not significant. 5 finds a little more in smooth motion, and gains that are not there;
/// chosen by the experiment in tests/identify_experiment.rs.
const SIGNIFICANT: f64 = 10.0;
/// How many predictions must have been tested before a gain is used.
const TESTED: f64 = 5.0;
/// A difference that is so many σ from its prediction, after some that were not, is not made by the inputs: something inside the subsystem
/// changed suddenly, such as the slope of a road. After a rest it would outweigh everything before it, and make a gain that is nonsense
/// and looks certain. So its points are forgotten; those that follow count, as the law itself may be another one.
const SURPRISING: f64 = 10.0;
/// The rms of D Δu over that of Δy from which on a gain matters: what is less changes no output by more than this share of its
/// roughness. Chosen by the experiment in tests/identify_experiment.rs.
const VISIBLE: f64 = 0.05;
/// Gains below this times h·B are not told from integration, which makes B h/2 of a hold that lags half a step behind.
const HALF_A_STEP: f64 = 0.5;
/// A gain is given to methods that multiply errors with it (NEPCE) from this confidence on, and if it has stayed within this share of
/// its mean for so many steps: one that follows a nonlinear law late is worse than none (the square-root damper of sadjina2020
/// runs away with it).
const SURE: f64 = 0.9;
const STEADY: f64 = 0.1;
const STEADY_STEPS: f64 = 20.0;
/// Subsystems with more coupled inputs than this are left alone: the cost grows with the third power.
pub const MOST_INPUTS: usize = 16;

/// A feed-through gain that was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Identified {
    /// The output, flat.
    pub output: usize,
    /// The input, flat.
    pub input: usize,
    /// ∂y/∂u, in the units of both.
    pub gain: f64,
    /// `1 - (10 σ(D)/D)²`: 0 is not significant, 1 is certain.
    pub confidence: f64,
}

/// Identifies the feed-through of some members.
#[derive(Clone, Debug)]
pub struct Identifier {
    candidates: Vec<Candidate>,
    /// The last communication points, newest first, in s.
    times: [f64; POINTS],
}

/// What is done with the feed-through of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Its outputs are improved by what was found.
    Improved,
    /// It is known on request only.
    Known,
}

/// The last values of some signals, newest first.
type Past = [Vec<f64>; POINTS];

/// A member whose feed-through is identified. Unknowns are ordered B, A, D, so that D is what the integrals leave.
#[derive(Clone, Debug)]
struct Candidate {
    member: usize,
    role: Role,
    /// All inputs of the member, flat.
    range: std::ops::Range<usize>,
    /// Those that are coupled and usable; the first `fed` of them may be fed through.
    inputs: Vec<usize>,
    fed: usize,
    outputs: Vec<usize>,
    /// Which gains may differ from 0, outputs × fed.
    possible: Vec<bool>,
    /// `(pair of the network, place in `confidence`)`.
    pairs: Vec<(usize, usize)>,
    /// How many points of the past are unbroken by events.
    len: usize,
    /// Differences since the last one that surprised.
    calm: usize,
    /// λ, the weight of the past after a step.
    forgetting: f64,
    /// Inputs that acted, their integrals up to the newest point, the integrals of these, and outputs.
    u: Past,
    integral: Past,
    second: Past,
    y: Past,
    /// Weighted sums Σλ^k z zᵀ and Σλ^k Δy z, unknowns × unknowns and outputs × unknowns.
    information: Vec<f64>,
    moments: Vec<f64>,
    /// The solution, outputs × unknowns.
    solution: Vec<f64>,
    /// Weighted sums, per output: squares of predictions that failed, and of all differences.
    missed: Vec<f64>,
    all: Vec<f64>,
    /// Weighted number of predictions, each counted by the share of it that the new point did not explain itself.
    tested: f64,
    /// The same, forgotten by later tests only.
    passed: f64,
    /// Evidence for each gain, the part r of Δu that integrals and other inputs do not explain: r at the newest point, and the
    /// weighted sums of its squared changes and of its squares.
    evidence: Vec<[f64; 3]>,
    /// Trust in each gain, outputs × fed.
    confidence: Vec<f64>,
    /// See [`Candidate::note_steadiness`].
    steadiness: Vec<[f64; 3]>,
    /// Steps in which some gain was sure, and all steps.
    sure_steps: f64,
    steps: f64,
    /// Scratch: the Cholesky factor, differences z, their residuals L⁻¹ z, and a column of L⁻¹.
    factor: Vec<f64>,
    z: Vec<f64>,
    residual: Vec<f64>,
    column: Vec<f64>,
}

impl Candidate {
    fn new(network: &Network, s: usize, role: Role, usable: &impl Fn(usize) -> bool) -> Self {
        let m = &network.members[s];
        let declared = &network.feed_through[m.feed_through.clone()];
        let is_fed = |i: usize| !m.knows_feed_through() || declared.iter().any(|pair| pair.input == i);
        let feeds = |o: usize| !m.knows_feed_through() || declared.iter().any(|pair| pair.output == o);
        let mut inputs: Vec<usize> =
            m.inputs.clone().filter(|&i| network.wiring.is_coupled(i) && usable(i)).collect();
        inputs.sort_by_key(|&i| !is_fed(i));
        let fed = inputs.iter().filter(|&&i| is_fed(i)).count();
        let outputs: Vec<usize> = m.outputs.clone().filter(|&o| feeds(o)).collect();
        let (n, k) = (inputs.len(), outputs.len());
        let unknowns = 2 * n + fed;
        let place = |pair: &FeedThroughPair| {
            let o = outputs.iter().position(|&o| o == pair.output)?;
            Some(o * fed + inputs[..fed].iter().position(|&i| i == pair.input)?)
        };
        let is_declared = |(o, i)| declared.iter().any(|pair| (pair.output, pair.input) == (o, i));
        let ends = outputs.iter().flat_map(|&o| inputs[..fed].iter().map(move |&i| (o, i)));
        let past = |n: usize| std::array::from_fn(|_| vec![0.0; n]);
        Candidate {
            member: s,
            role,
            range: m.inputs.clone(),
            possible: ends.map(|pair| !m.knows_feed_through() || is_declared(pair)).collect(),
            pairs: m
                .feed_through
                .clone()
                .zip(declared)
                .filter_map(|(pair, ends)| place(ends).map(|at| (pair, at)))
                .collect(),
            len: 0,
            calm: 0,
            forgetting: 1.0 - 1.0 / MEMORY.max(MEMORY_PER_UNKNOWN * unknowns as f64),
            u: past(n),
            integral: past(n),
            second: past(n),
            y: past(k),
            information: vec![0.0; unknowns * unknowns],
            moments: vec![0.0; k * unknowns],
            solution: vec![0.0; k * unknowns],
            missed: vec![0.0; k],
            all: vec![0.0; k],
            tested: 0.0,
            passed: 0.0,
            evidence: vec![[0.0; 3]; fed],
            confidence: vec![0.0; k * fed],
            steadiness: vec![[0.0; 3]; k * fed],
            sure_steps: 0.0,
            steps: 0.0,
            factor: vec![0.0; unknowns * unknowns],
            z: vec![0.0; unknowns],
            residual: vec![0.0; unknowns],
            column: vec![0.0; unknowns],
            inputs,
            fed,
            outputs,
        }
    }

    /// How much of what feeds through to output o is known: confidences, weighted by what each input does to it.
    fn trust(&self, o: usize) -> f64 {
        let (first, m) = (2 * self.inputs.len(), self.unknowns());
        let (mut known, mut all) = (0.0, 0.0);
        for k in (0..self.fed).filter(|k| self.possible[o * self.fed + k]) {
            let at = first + k;
            let weight = self.gain(o, k).abs() * self.information[at * m + at].sqrt();
            known += self.confidence[o * self.fed + k] * weight;
            all += weight;
        }
        if all > 0.0 { known / all } else { 0.0 }
    }

    fn unknowns(&self) -> usize {
        self.z.len()
    }

    /// ∂y/∂u of output o and input k.
    fn gain(&self, o: usize, k: usize) -> f64 {
        self.solution[o * self.unknowns() + 2 * self.inputs.len() + k]
    }

    /// Enters a communication point.
    fn push(&mut self, h: f64, times: &[f64; POINTS], given: impl Fn(usize) -> [f64; 2], y: &[f64]) {
        for past in [&mut self.u, &mut self.integral, &mut self.second, &mut self.y] {
            past.rotate_right(1);
        }
        self.len = (self.len + 1).min(POINTS);
        self.y[0].iter_mut().zip(&self.outputs).for_each(|(value, &o)| *value = y[o]);
        for (k, &i) in self.inputs.iter().enumerate() {
            let [end, mean] = given(i);
            // ∫u and ∫∫u over the step; the latter of a line through mean and end.
            let first = h * mean;
            let second = h * h * (0.5 * mean - (end - mean) / 6.0);
            self.u[0][k] = end;
            // Both are 0 at the newest point: differences ignore constants and lines, and large sums would cost digits.
            (self.integral[0][k], self.second[0][k]) = (0.0, 0.0);
            for j in 1..self.len {
                self.second[j][k] += first * (h - (times[j] - times[1])) - second;
                self.integral[j][k] -= first;
            }
        }
    }

    /// Learns from the differences at the newest point.
    fn learn(&mut self, h: f64, weights: &[f64; POINTS]) {
        let (n, m, keep) = (self.inputs.len(), self.unknowns(), self.forgetting);
        let difference = |past: &Past, k: usize| -> f64 {
            weights.iter().zip(past).map(|(w, values)| w * values[k]).sum()
        };
        for k in 0..n {
            self.z[k] = difference(&self.integral, k);
            self.z[n + k] = difference(&self.second, k);
        }
        for k in 0..self.fed {
            self.z[2 * n + k] = difference(&self.u, k);
        }
        let is_still = self.z.iter().all(|&z| z == 0.0);
        let y = &self.y;
        let is_finite = |o: usize| difference(y, o).is_finite();
        if is_still || !self.z.iter().all(|z| z.is_finite()) || !(0..y[0].len()).all(is_finite) {
            return;
        }
        if self.calm >= POINTS && self.is_surprised(weights) {
            (self.len, self.calm) = (0, 0);
            return;
        }
        self.calm += 1;
        for r in 0..m {
            for c in 0..=r {
                let sum = &mut self.information[r * m + c];
                *sum = keep * *sum + self.z[r] * self.z[c];
            }
        }
        factorize(&self.information, &mut self.factor, m);
        forward(&self.factor, &self.z, &mut self.residual, 0);
        // One minus the leverage of the new point.
        let independent = (1.0 - self.residual.iter().map(|r| r * r).sum::<f64>()).max(0.0);
        self.tested = keep * self.tested + independent;
        // What tests nothing, as a difference that is far larger than all before it, makes no test forgotten.
        self.passed = (1.0 - (1.0 - keep) * independent) * self.passed + independent;
        for (evidence, &r) in self.evidence.iter_mut().zip(&self.residual[2 * n..]) {
            let [last, changes, squares] = *evidence;
            *evidence = [r, keep * changes + (r - last) * (r - last), keep * squares + r * r];
        }
        for o in 0..self.outputs.len() {
            let seen = difference(&self.y, o);
            let row = o * m..(o + 1) * m;
            let predicted: f64 = self.solution[row.clone()].iter().zip(&self.z).map(|(s, z)| s * z).sum();
            let error = independent * (seen - predicted);
            self.missed[o] = keep * self.missed[o] + error * error;
            self.all[o] = keep * self.all[o] + seen * seen;
            let moments = &mut self.moments[row.clone()];
            moments.iter_mut().zip(&self.z).for_each(|(sum, z)| *sum = keep * *sum + z * seen);
            forward(&self.factor, moments, &mut self.column, 0);
            backward(&self.factor, &self.column, &mut self.solution[row]);
        }
        self.judge(h);
    }

    /// Whether an output's difference is far from what the inputs make of it. Its errors count as more likely from then on.
    fn is_surprised(&mut self, weights: &[f64; POINTS]) -> bool {
        if self.tested <= TESTED {
            return false;
        }
        let m = self.unknowns();
        // The variance of a prediction is σ² (1 + zᵀ P z).
        forward(&self.factor, &self.z, &mut self.residual, 0);
        let spread = 1.0 + self.residual.iter().map(|r| r * r).sum::<f64>();
        let mut is_surprised = false;
        for o in 0..self.outputs.len() {
            let row = &self.solution[o * m..(o + 1) * m];
            let seen: f64 = weights.iter().zip(&self.y).map(|(w, values)| w * values[o]).sum();
            let error = seen - row.iter().zip(&self.z).map(|(s, z)| s * z).sum::<f64>();
            let most = SURPRISING * SURPRISING * (self.missed[o] + COLLINEAR * self.all[o]);
            if error * error * self.tested > most * spread {
                self.missed[o] += most / self.tested;
                is_surprised = true;
            }
        }
        is_surprised
    }

    /// How far each gain can be trusted: `1 - (10 σ(D)/D)²` with `σ² = P c Σe²/n`, P its entry of the inverse information, e the
    /// errors of n predictions. Where r is smooth, these repeat each other: c = (1 + ρ)/(1 - ρ) with ρ = 1 - Σ(r_k - r_{k-1})²/2Σr²
    /// is how many of them count as one (Bayley and Hammersley 1946, for a first-order autoregressive process).
    fn judge(&mut self, h: f64) {
        let (first, m) = (2 * self.inputs.len(), self.unknowns());
        for k in 0..self.fed {
            let at = first + k;
            let variance = self.variance(at);
            let [_, changes, squares] = self.evidence[k];
            let repeated = (4.0 * squares / changes - 1.0).max(1.0);
            let is_sound = variance > 0.0 && !self.is_ambiguous(at);
            for o in 0..self.outputs.len() {
                let place = o * self.fed + k;
                let gain = self.gain(o, k);
                let noise = variance * repeated * self.missed[o] / self.tested;
                let confidence = 1.0 - SIGNIFICANT * SIGNIFICANT * noise / (gain * gain);
                let share = gain * gain * self.information[at * m + at];
                let is_visible = share > VISIBLE * VISIBLE * self.all[o];
                // What is in use is not dropped because nothing tests it for a while.
                let tests = if self.confidence[place] > 0.0 { self.passed } else { self.tested };
                let is_used = self.possible[place]
                    && is_sound
                    && tests > TESTED
                    && is_visible
                    && confidence > 0.0
                    && !self.is_integration(o, k, h);
                self.confidence[place] = if is_used { confidence } else { 0.0 };
                self.note_steadiness(place, gain);
            }
        }
    }

    /// How a gain moves: its smoothed mean, its smoothed squared distance from it, and for how many steps it was sure.
    fn note_steadiness(&mut self, place: usize, gain: f64) {
        let [mean, square, steps] = &mut self.steadiness[place];
        if self.confidence[place] < SURE {
            (*mean, *square, *steps) = (gain, 0.0, 0.0);
            return;
        }
        let off = gain - *mean;
        *mean += off / STEADY_STEPS;
        *square += (off * off - *square) / STEADY_STEPS;
        *steps += 1.0;
    }

    /// Whether methods may multiply errors with a gain.
    fn is_sure(&self, place: usize) -> bool {
        let [mean, square, steps] = self.steadiness[place];
        steps >= STEADY_STEPS && square <= STEADY * STEADY * mean * mean
    }

    /// Whether a gain is small beside what integration of the same input, if that is significant, makes of half a step.
    fn is_integration(&mut self, o: usize, k: usize, h: f64) -> bool {
        let integral = self.solution[o * self.unknowns() + k];
        let is_small = self.gain(o, k).abs() < HALF_A_STEP * h * integral.abs();
        is_small && {
            let noise = self.variance(k) * self.missed[o] / self.tested;
            integral * integral > SIGNIFICANT * SIGNIFICANT * noise
        }
    }

    /// The entry of the inverse information for the unknown at place `at`; 0 if it is not fitted.
    fn variance(&mut self, at: usize) -> f64 {
        self.residual.fill(0.0);
        self.residual[at] = 1.0;
        forward(&self.factor, &self.residual, &mut self.column, at);
        self.column[at..].iter().map(|c| c * c).sum()
    }

    /// Whether the gain at place `at` may contain that of another input j, which was not fitted since `Δu_j = Σ a_i z_i`: if
    /// a of this place is not negligible.
    fn is_ambiguous(&mut self, at: usize) -> bool {
        let m = self.unknowns();
        let (square, factor) = (|j: usize| self.information[j * m + j], &self.factor);
        for j in (at + 1..m).filter(|&j| square(j) > 0.0 && factor[j * m + j] == 0.0) {
            // Lᵀ a = row j of L.
            for r in (at..j).rev() {
                let known: f64 = (r + 1..j).map(|i| factor[i * m + r] * self.column[i]).sum();
                let pivot = factor[r * m + r];
                self.column[r] = if pivot > 0.0 { (factor[j * m + r] - known) / pivot } else { 0.0 };
            }
            if self.column[at] * self.column[at] * square(at) > VISIBLE * VISIBLE * square(j) {
                return true;
            }
        }
        false
    }

    fn save(&self, tape: &mut Checkpoint) {
        tape.push(self.len as f64);
        tape.push(self.calm as f64);
        tape.push(self.tested);
        tape.push(self.passed);
        tape.push(self.sure_steps);
        tape.push(self.steps);
        for past in [&self.u, &self.integral, &self.second, &self.y] {
            past.iter().for_each(|values| tape.extend(values));
        }
        self.evidence.iter().chain(&self.steadiness).for_each(|numbers| tape.extend(numbers));
        for list in
            [&self.information, &self.moments, &self.solution, &self.missed, &self.all, &self.confidence]
        {
            tape.extend(list);
        }
    }

    fn load(&mut self, tape: &mut Checkpoint) {
        self.len = tape.pull() as usize;
        self.calm = tape.pull() as usize;
        self.tested = tape.pull();
        self.passed = tape.pull();
        self.sure_steps = tape.pull();
        self.steps = tape.pull();
        for past in [&mut self.u, &mut self.integral, &mut self.second, &mut self.y] {
            past.iter_mut().for_each(|values| tape.fill(values));
        }
        self.evidence.iter_mut().chain(&mut self.steadiness).for_each(|numbers| tape.fill(numbers));
        for list in [
            &mut self.information,
            &mut self.moments,
            &mut self.solution,
            &mut self.missed,
            &mut self.all,
            &mut self.confidence,
        ] {
            tape.fill(list);
        }
        factorize(&self.information, &mut self.factor, self.z.len());
    }
}

/// `a = L Lᵀ`, both by rows, of which only the lower half counts. Unknowns that those before them explain have a pivot of 0: they
/// are left out.
fn factorize(a: &[f64], l: &mut [f64], m: usize) {
    for j in 0..m {
        let explained: f64 = l[j * m..j * m + j].iter().map(|l| l * l).sum();
        let rest = a[j * m + j] - explained;
        let pivot = if rest > COLLINEAR * a[j * m + j] { rest.sqrt() } else { 0.0 };
        l[j * m + j] = pivot;
        for i in j + 1..m {
            let (upper, lower) = l.split_at(i * m);
            let product: f64 = upper[j * m..j * m + j].iter().zip(&lower[..j]).map(|(a, b)| a * b).sum();
            l[i * m + j] = if pivot > 0.0 { (a[i * m + j] - product) / pivot } else { 0.0 };
        }
    }
}

/// `x = L⁻¹ b`, where everything before `first` is 0.
fn forward(l: &[f64], b: &[f64], x: &mut [f64], first: usize) {
    let m = b.len();
    for r in first..m {
        let row = &l[r * m..r * m + r + 1];
        let known: f64 = row[first..r].iter().zip(&x[first..r]).map(|(l, x)| l * x).sum();
        x[r] = if row[r] > 0.0 { (b[r] - known) / row[r] } else { 0.0 };
    }
}

/// `x = L⁻ᵀ b`.
fn backward(l: &[f64], b: &[f64], x: &mut [f64]) {
    let m = b.len();
    for r in (0..m).rev() {
        let known: f64 = (r + 1..m).map(|i| l[i * m + r] * x[i]).sum();
        let pivot = l[r * m + r];
        x[r] = if pivot > 0.0 { (b[r] - known) / pivot } else { 0.0 };
    }
}

impl Identifier {
    /// For `members` of the network; `usable` tells inputs that may be feed-through at all.
    pub fn new(network: &Network, members: &[(usize, Role)], usable: impl Fn(usize) -> bool) -> Self {
        let all = members.iter().map(|&(s, role)| Candidate::new(network, s, role, &usable));
        let is_narrow = |c: &Candidate| c.fed > 0 && c.inputs.len() <= MOST_INPUTS && !c.outputs.is_empty();
        Identifier { candidates: all.filter(is_narrow).collect(), times: [0.0; POINTS] }
    }

    /// Whether there is anything to identify.
    pub fn is_empty(&self) -> bool {
        self.candidates.is_empty()
    }

    /// Whether the outputs of member `s` are improved by what was found.
    pub(crate) fn improves_member(&self, s: usize) -> bool {
        self.candidates.iter().any(|c| c.member == s && c.role == Role::Improved)
    }

    /// Members whose feed-through is identified.
    pub fn members(&self) -> impl Iterator<Item = usize> + '_ {
        self.candidates.iter().map(|c| c.member)
    }

    /// How much of what feeds through to `output` (flat) is already put right, from 0 to 1.
    pub fn trust(&self, output: usize) -> f64 {
        let place = |c: &Candidate| c.outputs.iter().position(|&o| o == output);
        let mut improved = self.candidates.iter().filter(|c| c.role == Role::Improved);
        improved.find_map(|c| Some(c.trust(place(c)?))).unwrap_or(0.0)
    }

    /// `y += confidence · D · defect`, `defect` being how far each input of member `s` is from what acted on it.
    pub(crate) fn respond(&self, s: usize, defect: impl Fn(usize) -> f64, y: &mut [f64]) {
        for c in self.candidates.iter().filter(|c| c.member == s) {
            for (o, &output) in c.outputs.iter().enumerate() {
                let mut correction = 0.0;
                for (k, &input) in c.inputs[..c.fed].iter().enumerate() {
                    let confidence = c.confidence[o * c.fed + k];
                    if confidence > 0.0 {
                        correction += confidence * c.gain(o, k) * defect(input);
                    }
                }
                if correction.is_finite() {
                    y[output] += correction;
                }
            }
        }
    }

    /// Learns from an accepted step: the inputs that `acted` at its end, the `mean` of each over the step, and the outputs.
    pub(crate) fn commit(
        &mut self,
        span: Span,
        acted: impl Fn(usize) -> f64,
        mean: impl Fn(usize) -> f64,
        y: &[f64],
    ) {
        self.times.rotate_right(1);
        self.times[0] = span.end;
        let t = &self.times;
        let mut weights: [f64; POINTS] = std::array::from_fn(|k| {
            let others = (0..POINTS).filter(|&j| j != k).map(|j| (t[k] - t[j]) / span.h);
            1.0 / others.product::<f64>()
        });
        // Round-off and noise weigh the same in every difference.
        let total: f64 = weights.iter().map(|w| w.abs()).sum();
        weights.iter_mut().for_each(|w| *w /= total);
        for c in &mut self.candidates {
            c.push(span.h, t, |i| [acted(i), mean(i)], y);
            if c.len == POINTS {
                c.learn(span.h, &weights);
            }
            c.steps += 1.0;
            c.sure_steps += f64::from(u8::from((0..c.confidence.len()).any(|place| c.is_sure(place))));
        }
    }

    /// Forgets the points, not the gains, of members that an event touches or whose inputs it breaks.
    pub fn restart(&mut self, reached: &Reached<'_>) {
        for c in &mut self.candidates {
            let is_reached = match reached {
                Reached::Everything => true,
                Reached::Some { inputs, members } => {
                    members[c.member] || inputs.iter().any(|&(i, _)| c.range.contains(&(i as usize)))
                }
            };
            if is_reached {
                (c.len, c.calm) = (0, 0);
            }
        }
    }

    /// The least confidence among the known feed-through pairs of `input`; 0 if there are none, or if they are not looked for.
    pub(crate) fn confidence_of_input(&self, input: usize) -> f64 {
        let Some(c) = self.candidates.iter().find(|c| c.range.contains(&input)) else { return 0.0 };
        let of_input = |&&(_, place): &&(usize, usize)| c.inputs[place % c.fed] == input;
        let mut least = f64::INFINITY;
        c.pairs.iter().filter(of_input).for_each(|&(_, place)| least = least.min(c.confidence[place]));
        if least.is_finite() { least } else { 0.0 }
    }

    /// Members whose gains others multiply errors with, and the share of steps in which one was sure enough for that.
    pub fn shares_of_use(&self) -> Vec<(usize, f64)> {
        let known = self.candidates.iter().filter(|c| c.role == Role::Known);
        known.map(|c| (c.member, c.sure_steps / c.steps.max(1.0))).collect()
    }

    /// The gains that are used.
    pub fn found(&self) -> Vec<Identified> {
        let mut list = Vec::new();
        for c in &self.candidates {
            for (at, &confidence) in
                c.confidence.iter().enumerate().filter(|(_, confidence)| **confidence > 0.0)
            {
                let (o, k) = (at / c.fed, at % c.fed);
                list.push(Identified {
                    output: c.outputs[o],
                    input: c.inputs[k],
                    gain: c.gain(o, k),
                    confidence,
                });
            }
        }
        list
    }

    /// Gains that come from nowhere else are identified.
    pub(crate) fn claim_gains(&self, pairs: &mut [FeedThroughPair]) {
        for &(pair, _) in self.candidates.iter().flat_map(|c| &c.pairs) {
            if pairs[pair].gain == GainSource::Unknown {
                pairs[pair].gain = GainSource::Identified;
            }
        }
    }

    /// Writes D of those of all `pairs` whose gains are identified, 0 where it is not sure enough to be multiplied with.
    pub(crate) fn fill(&self, pairs: &[FeedThroughPair], d: &mut [f64]) {
        for c in &self.candidates {
            let identified = |pair: usize| pairs[pair].gain == GainSource::Identified;
            for &(pair, at) in c.pairs.iter().filter(|(pair, _)| identified(*pair)) {
                d[pair] = if c.is_sure(at) { c.gain(at / c.fed, at % c.fed) } else { 0.0 };
            }
        }
    }
}

impl Checkpointed for Identifier {
    fn save(&self, tape: &mut Checkpoint) {
        tape.extend(&self.times);
        self.candidates.iter().for_each(|c| c.save(tape));
    }

    fn load(&mut self, tape: &mut Checkpoint) {
        tape.fill(&mut self.times);
        self.candidates.iter_mut().for_each(|c| c.load(tape));
    }
}
