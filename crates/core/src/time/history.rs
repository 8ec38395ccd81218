//! The last values of all inputs at their true times.

use crate::checkpoint::{Checkpoint, Checkpointed};

/// How many nodes are kept: a second-order hold needs three.
pub const NODES: usize = 3;

/// Up to three nodes, the newest first. Adding one moves no data and allocates nothing.
#[derive(Clone, Debug)]
pub struct History {
    times: [f64; NODES],
    values: [Vec<f64>; NODES],
    len: usize,
    /// How many nodes count for every signal.
    common: usize,
    /// Signals of which only the newest node counts.
    young: Vec<u32>,
}

impl History {
    /// An empty history of `n` signals.
    pub fn new(n: usize) -> Self {
        let values = [vec![0.0; n], vec![0.0; n], vec![0.0; n]];
        History { times: [0.0; NODES], values, len: 0, common: 0, young: Vec::with_capacity(n) }
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

    /// The times of the nodes that count for every signal, the newest first: fewer than all after an event.
    pub fn times(&self) -> &[f64] {
        &self.times[..self.common]
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
        self.common = (self.common + 1).min(self.len);
        if self.common == 2 {
            self.young.clear();
            if self.len == NODES {
                self.straighten();
            }
        }
    }

    /// Puts the oldest of three nodes on the line through the others: parabolas become lines.
    #[cold]
    fn straighten(&mut self) {
        let [t0, t1, t2] = self.times;
        let ahead = (t2 - t1) / (t0 - t1);
        let [newest, before, oldest] = &mut self.values;
        for ((&u0, &u1), u2) in newest.iter().zip(&*before).zip(oldest) {
            *u2 = u1 + (u0 - u1) * ahead;
        }
    }

    /// After an event at the newest node. Some `signals`, each named once, forget their past: polynomials of every order are
    /// constants, and after the next node lines. All others bend at most: until there are three nodes after the event, lines
    /// foretell them and no parabolas.
    pub fn restart_some(&mut self, signals: &[u32]) {
        if self.len == NODES {
            self.straighten();
        }
        let [newest, older @ ..] = &mut self.values;
        for &i in signals {
            older.iter_mut().for_each(|values| values[i as usize] = newest[i as usize]);
        }
        self.young.clear();
        self.young.extend_from_slice(signals);
        self.common = self.common.min(1);
    }

    /// Whether the nodes before the newest one say anything about signal `i`.
    pub fn has_past(&self, i: usize) -> bool {
        self.len > 1 && !self.young.contains(&(i as u32))
    }

    /// Forgets all but the newest node: what came before an event does not predict what comes after.
    pub fn restart(&mut self) {
        self.len = self.len.min(1);
        self.common = self.len;
        self.young.clear();
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.len = 0;
        self.common = 0;
        self.young.clear();
    }

    /// Becomes a copy of `other` in the given ranges of signals.
    pub fn copy_from(&mut self, other: &History, ranges: &[std::ops::Range<usize>]) {
        self.times = other.times;
        self.len = other.len;
        self.common = other.common;
        self.young.clone_from(&other.young);
        for (own, its) in self.values.iter_mut().zip(&other.values) {
            for range in ranges {
                own[range.clone()].copy_from_slice(&its[range.clone()]);
            }
        }
    }
}

impl Checkpointed for History {
    fn save(&self, tape: &mut Checkpoint) {
        tape.push(self.len as f64);
        tape.extend(&self.times);
        for values in &self.values {
            tape.extend(values);
        }
        tape.push(self.common as f64);
        // As many numbers whatever there is, so that the tape never grows.
        tape.push(self.young.len() as f64);
        let n = self.values[0].len();
        (0..n).for_each(|k| tape.push(self.young.get(k).copied().map_or(0.0, f64::from)));
    }

    fn load(&mut self, tape: &mut Checkpoint) {
        self.len = tape.pull() as usize;
        tape.fill(&mut self.times);
        for values in &mut self.values {
            tape.fill(values);
        }
        self.common = tape.pull() as usize;
        let len = tape.pull() as usize;
        self.young.clear();
        (0..self.values[0].len()).for_each(|_| self.young.push(tape.pull() as u32));
        self.young.truncate(len);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two parabolas, of which one jumps at t = 2: there it is forgotten, the other one goes on as a line. With three nodes after
    /// the event both are parabolas again.
    #[test]
    fn after_an_event_the_past_is_forgotten_where_it_has_to_be() {
        let smooth = |t: f64| t * t;
        let jumps = |t: f64| if t < 2.0 { t * t } else { 10.0 - t * t };
        let mut history = History::new(2);
        let push =
            |history: &mut History, t: f64| history.push(t, |u| u.copy_from_slice(&[smooth(t), jumps(t)]));
        for t in [0.0, 1.0, 2.0] {
            push(&mut history, t);
        }
        history.restart_some(&[1]);
        let nodes = |h: &History, i: usize| [0, 1, 2].map(|k| h.values(k)[i]);
        assert_eq!((nodes(&history, 0), nodes(&history, 1)), ([4.0, 1.0, -2.0], [6.0, 6.0, 6.0]));
        assert_eq!((history.has_past(0), history.has_past(1)), (true, false));
        push(&mut history, 3.0);
        assert_eq!((nodes(&history, 0), nodes(&history, 1)), ([9.0, 4.0, -1.0], [1.0, 6.0, 11.0]));
        assert!(history.has_past(1));
        push(&mut history, 4.0);
        assert_eq!((nodes(&history, 0), nodes(&history, 1)), ([16.0, 9.0, 4.0], [-6.0, 1.0, 6.0]));
        // An event at the very start leaves nothing behind.
        history.clear();
        push(&mut history, 2.0);
        history.restart_some(&[0, 1]);
        push(&mut history, 3.0);
        assert!(history.has_past(0) && history.has_past(1) && history.times().len() == 2);
    }
}
