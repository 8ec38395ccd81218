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
    /// Signals whose past was forgotten since the last node.
    young: Vec<u32>,
}

impl History {
    /// An empty history of `n` signals.
    pub fn new(n: usize) -> Self {
        let values = [vec![0.0; n], vec![0.0; n], vec![0.0; n]];
        History { times: [0.0; NODES], values, len: 0, young: Vec::with_capacity(n) }
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
        if !self.young.is_empty() {
            self.grow();
        }
    }

    /// Young signals have two nodes now: the third one goes on their line.
    #[cold]
    fn grow(&mut self) {
        let [t0, t1, t2] = self.times;
        let ahead = (t2 - t1) / (t0 - t1);
        let [newest, before, oldest] = &mut self.values;
        for &i in &self.young {
            let (u0, u1) = (newest[i as usize], before[i as usize]);
            oldest[i as usize] = u1 + (u0 - u1) * ahead;
        }
        self.young.clear();
    }

    /// Forgets all but the newest node of some `signals`, each named once: their polynomials of every order are constants, and
    /// after the next node lines.
    pub fn restart_some(&mut self, signals: &[u32]) {
        let [newest, older @ ..] = &mut self.values;
        for &i in signals {
            older.iter_mut().for_each(|values| values[i as usize] = newest[i as usize]);
        }
        self.young.clear();
        self.young.extend_from_slice(signals);
    }

    /// Whether the nodes before the newest one say anything about signal `i`.
    pub fn has_past(&self, i: usize) -> bool {
        self.len > 1 && !self.young.contains(&(i as u32))
    }

    /// Forgets all but the newest node: what came before an event does not predict what comes after.
    pub fn restart(&mut self) {
        self.len = self.len.min(1);
        self.young.clear();
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.len = 0;
        self.young.clear();
    }

    /// Becomes a copy of `other` in the given ranges of signals.
    pub fn copy_from(&mut self, other: &History, ranges: &[std::ops::Range<usize>]) {
        self.times = other.times;
        self.len = other.len;
        self.young.clone_from(&other.young);
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
        // As many numbers whatever there is, so that the tape never grows.
        tape.push(self.young.len() as f64);
        let n = self.values[0].len();
        (0..n).for_each(|k| tape.push(self.young.get(k).copied().map_or(0.0, f64::from)));
    }

    fn load(&mut self, tape: &mut Tape) {
        self.len = tape.pull() as usize;
        tape.fill(&mut self.times);
        for values in &mut self.values {
            tape.fill(values);
        }
        let len = tape.pull() as usize;
        self.young.clear();
        (0..self.values[0].len()).for_each(|_| self.young.push(tape.pull() as u32));
        self.young.truncate(len);
    }
}
