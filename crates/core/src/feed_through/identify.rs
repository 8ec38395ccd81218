//! Feed-through found out while a run goes on: ∂y/∂u from what a subsystem was given and what it answered.
//!
//! Outputs are smooth in time but for what their inputs put in directly, so that the fourth divided differences of an output over
//! the last five communication points are `D` times those of the inputs. D comes from recursive least squares with forgetting,
//! and is trusted as far as it foretold the next difference.

use super::{FeedThroughPair, GainSource, Reached};
use crate::checkpoint::{Checkpoint, Checkpointed};
use crate::network::Network;
use crate::subsystem::Span;

/// Points of a fourth difference.
const POINTS: usize = 5;
/// λ, what is left of the past after a step.
const FORGETTING: f64 = 0.95;
/// Subsystems with more coupled inputs than this are left alone: the cost grows with the square.
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
    /// 0: not at all; 1: it foretold everything.
    pub confidence: f64,
}

/// Identifies the feed-through of some members.
#[derive(Clone, Debug)]
pub struct Identifier {
    members: Vec<Member>,
    times: [f64; POINTS],
    len: usize,
}

/// What is done with the feed-through of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Its outputs are improved by what was found.
    Improved,
    /// It is only known, to whoever asks.
    Known,
}

#[derive(Clone, Debug)]
struct Member {
    member: usize,
    role: Role,
    inputs: Vec<usize>,
    outputs: Vec<usize>,
    /// `(pair of the network, place in `d`)`.
    pairs: Vec<(usize, usize)>,
    /// The last inputs that acted, and what was answered, newest first.
    u: [Vec<f64>; POINTS],
    y: [Vec<f64>; POINTS],
    /// Covariance of the inputs' gains, n × n; all zero before the first difference.
    p: Vec<f64>,
    started: bool,
    /// Gains, outputs × inputs.
    d: Vec<f64>,
    /// Smoothed squares of what was not foretold, and of all, per output.
    missed: Vec<f64>,
    all: Vec<f64>,
    /// Scratch: differences of inputs, and P z.
    z: Vec<f64>,
    pz: Vec<f64>,
}

impl Member {
    fn confidence(&self, output: usize) -> f64 {
        let all = self.all[output];
        if all > 0.0 { (1.0 - self.missed[output] / all).clamp(0.0, 1.0) } else { 0.0 }
    }

    fn learn(&mut self, weights: &[f64; POINTS]) {
        let n = self.inputs.len();
        let difference = |past: &[Vec<f64>; POINTS], k: usize| -> f64 {
            weights.iter().zip(past).map(|(w, values)| w * values[k]).sum()
        };
        for k in 0..n {
            self.z[k] = difference(&self.u, k);
        }
        if !self.z.iter().all(|z| z.is_finite()) || self.z.iter().all(|&z| z == 0.0) {
            return;
        }
        if !self.started {
            // Knowing nothing: any gain is as good, on the scale of what was seen first.
            let largest = self.z.iter().fold(0.0f64, |a, z| a.max(z * z));
            for k in 0..n {
                self.p[k * n + k] = IGNORANCE / (self.z[k] * self.z[k]).max(1e-12 * largest);
            }
            self.started = true;
        }
        let mut spread = FORGETTING;
        for r in 0..n {
            self.pz[r] = (0..n).map(|c| self.p[r * n + c] * self.z[c]).sum();
            spread += self.z[r] * self.pz[r];
        }
        for o in 0..self.outputs.len() {
            let row = &mut self.d[o * n..(o + 1) * n];
            let seen = difference(&self.y, o);
            let foretold: f64 = row.iter().zip(&self.z).map(|(d, z)| d * z).sum();
            let error = seen - foretold;
            if !error.is_finite() {
                continue;
            }
            let smooth = |old: f64, new: f64| FORGETTING * old + (1.0 - FORGETTING) * new;
            self.missed[o] = smooth(self.missed[o], error * error);
            self.all[o] = smooth(self.all[o], seen * seen);
            row.iter_mut().zip(&self.pz).for_each(|(d, pz)| *d += pz * error / spread);
        }
        for r in 0..n {
            for c in 0..n {
                let old = self.p[r * n + c];
                self.p[r * n + c] = (old - self.pz[r] * self.pz[c] / spread) / FORGETTING;
            }
        }
        // Without excitation forgetting makes P grow without bound.
        if (0..n).any(|k| self.p[k * n + k].is_nan() || self.p[k * n + k] > f64::MAX.sqrt()) {
            self.p.fill(0.0);
            self.started = false;
        }
    }
}

/// The first covariance over one over the square of a difference.
const IGNORANCE: f64 = 1e6;

impl Identifier {
    /// For `members` of the network; `usable` tells inputs that may be feed-through at all.
    pub fn new(network: &Network, members: &[(usize, Role)], usable: impl Fn(usize) -> bool) -> Self {
        let member = |&(s, role): &(usize, Role)| {
            let m = &network.members[s];
            let pairs = &network.feed_through[m.feed_through.clone()];
            let fed = |i: &usize| !m.knows_feed_through() || pairs.iter().any(|pair| pair.input == *i);
            let feeding = |o: &usize| !m.knows_feed_through() || pairs.iter().any(|pair| pair.output == *o);
            let inputs: Vec<usize> =
                m.inputs.clone().filter(|&i| network.wiring.is_coupled(i) && usable(i)).filter(fed).collect();
            let outputs: Vec<usize> = m.outputs.clone().filter(feeding).collect();
            let (n, k) = (inputs.len(), outputs.len());
            let place = |pair: &FeedThroughPair| {
                Some(
                    outputs.iter().position(|&o| o == pair.output)? * n
                        + inputs.iter().position(|&i| i == pair.input)?,
                )
            };
            let numbered = m.feed_through.clone().zip(pairs);
            Member {
                member: s,
                role,
                pairs: numbered.filter_map(|(pair, ends)| place(ends).map(|at| (pair, at))).collect(),
                u: std::array::from_fn(|_| vec![0.0; n]),
                y: std::array::from_fn(|_| vec![0.0; k]),
                p: vec![0.0; n * n],
                started: false,
                d: vec![0.0; n * k],
                missed: vec![0.0; k],
                all: vec![0.0; k],
                z: vec![0.0; n],
                pz: vec![0.0; n],
                inputs,
                outputs,
            }
        };
        let all = members.iter().map(member);
        let members = all.filter(|m| (1..=MOST_INPUTS).contains(&m.inputs.len()) && !m.outputs.is_empty());
        Identifier { members: members.collect(), times: [0.0; POINTS], len: 0 }
    }

    /// Whether there is anything to identify.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Whether outputs are improved by what was found.
    pub fn improves(&self) -> bool {
        self.members.iter().any(|m| m.role == Role::Improved)
    }

    /// Whether the outputs of member `s` are improved by what was found.
    pub(crate) fn improves_member(&self, s: usize) -> bool {
        self.members.iter().any(|m| m.member == s && m.role == Role::Improved)
    }

    /// `y += confidence · D · defect`, `defect` being how far each input of member `s` is from what acted on it.
    pub(crate) fn respond(&self, s: usize, defect: impl Fn(usize) -> f64, y: &mut [f64]) {
        for member in self.members.iter().filter(|m| m.member == s) {
            let n = member.inputs.len();
            for (o, &output) in member.outputs.iter().enumerate() {
                let confidence = member.confidence(o);
                if confidence == 0.0 {
                    continue;
                }
                let row = &member.d[o * n..(o + 1) * n];
                let owed: f64 = row.iter().zip(&member.inputs).map(|(d, &i)| d * defect(i)).sum();
                if owed.is_finite() {
                    y[output] += confidence * owed;
                }
            }
        }
    }

    /// Learns from an accepted step: what `acted` and what was answered.
    pub(crate) fn commit(
        &mut self,
        span: Span,
        acted: impl Fn(usize) -> f64,
        _mean: impl Fn(usize) -> f64,
        y: &[f64],
    ) {
        self.times.rotate_right(1);
        self.times[0] = span.end;
        self.len = (self.len + 1).min(POINTS);
        let t = &self.times;
        let weights: [f64; POINTS] = std::array::from_fn(|k| {
            let others = (0..POINTS).filter(|&j| j != k).map(|j| (t[k] - t[j]) / span.h);
            1.0 / others.product::<f64>()
        });
        let ready = self.len == POINTS;
        for member in &mut self.members {
            member.u.rotate_right(1);
            member.y.rotate_right(1);
            member.u[0].iter_mut().zip(&member.inputs).for_each(|(u, &i)| *u = acted(i));
            member.y[0].iter_mut().zip(&member.outputs).for_each(|(value, &o)| *value = y[o]);
            if ready {
                member.learn(&weights);
            }
        }
    }

    /// Forgets the points, not the gains, after an event.
    pub fn restart(&mut self, _reached: &Reached<'_>) {
        self.len = 0;
    }

    /// Everything that was found.
    pub fn found(&self) -> Vec<Identified> {
        let mut list = Vec::new();
        for m in &self.members {
            for (o, &output) in m.outputs.iter().enumerate() {
                for (k, &input) in m.inputs.iter().enumerate() {
                    let gain = m.d[o * m.inputs.len() + k];
                    list.push(Identified { output, input, gain, confidence: m.confidence(o) });
                }
            }
        }
        list
    }

    /// Writes `confidence · D` of those of all `pairs` whose gains are identified.
    pub(crate) fn fill(&self, pairs: &[FeedThroughPair], d: &mut [f64]) {
        for m in &self.members {
            for &(pair, at) in m.pairs.iter().filter(|(pair, _)| pairs[*pair].gain == GainSource::Identified)
            {
                d[pair] = m.confidence(at / m.inputs.len()) * m.d[at];
            }
        }
    }
}

impl Checkpointed for Identifier {
    fn save(&self, tape: &mut Checkpoint) {
        tape.push(self.len as f64);
        tape.extend(&self.times);
        for m in &self.members {
            m.u.iter().chain(&m.y).for_each(|list| tape.extend(list));
            [&m.p, &m.d, &m.missed, &m.all].into_iter().for_each(|list| tape.extend(list));
            tape.push(f64::from(u8::from(m.started)));
        }
    }

    fn load(&mut self, tape: &mut Checkpoint) {
        self.len = tape.pull() as usize;
        tape.fill(&mut self.times);
        for m in &mut self.members {
            m.u.iter_mut().chain(&mut m.y).for_each(|list| tape.fill(list));
            [&mut m.p, &mut m.d, &mut m.missed, &mut m.all].into_iter().for_each(|list| tape.fill(list));
            m.started = tape.pull() != 0.0;
        }
    }
}
