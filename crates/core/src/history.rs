//! The last values of all inputs at their true times.

use crate::tape::{Persist, Tape};

/// How many nodes are kept: a second-order hold needs three.
pub const NODES: usize = 3;

/// Up to three nodes, the newest first. Adding one moves no data and allocates nothing.
#[derive(Clone, Debug)]
pub struct History {
    times: [f64; NODES],
    values: [Vec<f64>; NODES],
    len: usize,
}

impl History {
    /// An empty history of `n` signals.
    pub fn new(n: usize) -> Self {
        History { times: [0.0; NODES], values: [vec![0.0; n], vec![0.0; n], vec![0.0; n]], len: 0 }
    }

    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no node.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The time of node `k`, 0 the newest.
    pub fn time(&self, k: usize) -> f64 {
        self.times[k]
    }

    /// The times of all nodes, the newest first.
    pub fn times(&self) -> &[f64] {
        &self.times[..self.len]
    }

    /// The values of node `k`, 0 the newest.
    pub fn values(&self, k: usize) -> &[f64] {
        &self.values[k]
    }

    /// Adds a node at `t`; `fill` writes its values over those of the oldest node.
    pub fn push(&mut self, t: f64, fill: impl FnOnce(&mut [f64])) {
        self.times.rotate_right(1);
        self.values.rotate_right(1);
        self.times[0] = t;
        fill(&mut self.values[0]);
        self.len = (self.len + 1).min(NODES);
    }

    /// Forgets all but the newest node: what came before an event does not predict what comes after.
    pub fn restart(&mut self) {
        self.len = self.len.min(1);
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// Becomes a copy of `other` in the given ranges of signals.
    pub fn copy_from(&mut self, other: &History, ranges: &[std::ops::Range<usize>]) {
        self.times = other.times;
        self.len = other.len;
        for (own, its) in self.values.iter_mut().zip(&other.values) {
            for range in ranges {
                own[range.clone()].copy_from_slice(&its[range.clone()]);
            }
        }
    }
}

impl Persist for History {
    fn save(&self, tape: &mut Tape) {
        tape.push(self.len as f64);
        tape.extend(&self.times);
        for values in &self.values {
            tape.extend(values);
        }
    }

    fn load(&mut self, tape: &mut Tape) {
        self.len = tape.pull() as usize;
        tape.fill(&mut self.times);
        for values in &mut self.values {
            tape.fill(values);
        }
    }
}
