//! The last values of all inputs at their true times.

use crate::checkpoint::{Checkpoint, Checkpointed};

/// How many nodes are kept: a third-order hold needs four.
pub const NODES: usize = 4;

/// Up to four nodes, the newest first. Adding one moves no data and allocates nothing.
///
/// After an event some signals have fewer nodes that count than others. Their older values are replaced so that polynomials through
/// all nodes are of the order that the true ones allow: so extrapolation needs no case distinction.
#[derive(Debug)]
pub struct History {
    times: [f64; NODES],
    values: [Vec<f64>; NODES],
    len: usize,
    /// Signals that an event broke, and for how many nodes their past has been true again since.
    broken: Vec<u32>,
    since: usize,
    /// Whether a signal is broken, and whether it jumped (or bends at most): see [`History::restart_some`].
    state: Vec<Past>,
}

/// What the past says about a signal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Past {
    /// Everything.
    #[default]
    Whole,
    /// Nothing before the last event.
    Jumped,
    /// A line at most before the last event, and what is known since.
    Bent,
}

/// What a discontinuity does to a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Break {
    /// Its value or its slope jumps: nothing of the past goes on.
    Sharp,
    /// Its curvature jumps at most: lines go on, parabolas do not.
    Soft,
}

impl History {
    /// An empty history of `n` signals.
    pub fn new(n: usize) -> Self {
        let values = std::array::from_fn(|_| vec![0.0; n]);
        let broken = Vec::with_capacity(n);
        History { times: [0.0; NODES], values, len: 0, broken, since: 0, state: vec![Past::Whole; n] }
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

    /// How many nodes count for signal `i`, the newest ones: fewer than all after an event.
    pub fn count(&self, i: usize) -> usize {
        match self.state[i] {
            Past::Whole => self.len,
            Past::Jumped => self.len.min(1 + self.since),
            Past::Bent => self.len.min(2.max(1 + self.since)),
        }
    }

    /// Whether all nodes count for every signal.
    pub fn is_whole(&self) -> bool {
        self.broken.is_empty()
    }

    /// Adds a node at `t`; `fill` writes its values over those of the oldest node.
    pub fn push(&mut self, t: f64, fill: impl FnOnce(&mut [f64])) {
        self.times.rotate_right(1);
        self.values.rotate_right(1);
        self.times[0] = t;
        fill(&mut self.values[0]);
        self.len = (self.len + 1).min(NODES);
        if !self.broken.is_empty() {
            self.heal();
        }
    }

    /// A node more after an event: what was a constant becomes a line, then a parabola, and then everything is whole.
    #[cold]
    fn heal(&mut self) {
        self.since += 1;
        if self.since + 1 < NODES {
            for k in 0..self.broken.len() {
                self.smooth(self.broken[k] as usize, 1 + self.since);
            }
        } else {
            self.mend();
        }
    }

    /// Puts all but the newest `count` nodes on the polynomial through these: a line for two, a parabola for three.
    fn smooth(&mut self, i: usize, count: usize) {
        let t = self.times;
        for old in count..self.len {
            let weight = |k: usize| {
                let others = (0..count).filter(|&j| j != k);
                others.map(|j| (t[old] - t[j]) / (t[k] - t[j])).product::<f64>()
            };
            self.values[old][i] = match count {
                // As exact as it can be where both are equal.
                2 => {
                    let (newest, before) = (self.values[0][i], self.values[1][i]);
                    before + (newest - before) * ((t[old] - t[1]) / (t[0] - t[1]))
                }
                _ => (0..count).map(|k| weight(k) * self.values[k][i]).sum(),
            };
        }
    }

    /// After an event at the newest node some `signals`, each named once, are broken; see [`Break`]. A sharp break makes polynomials
    /// of every order constants, lines after the next node, and parabolas after another one; a soft one makes them lines until there are
    /// three nodes after the event. All other signals go on as if nothing had happened.
    pub fn restart_some(&mut self, signals: &[(u32, Break)]) {
        // What an event before has broken is broken again, since its list is given up.
        for k in 0..self.broken.len() {
            let i = self.broken[k] as usize;
            self.state[i] = if self.since == 0 { self.state[i] } else { Past::Bent };
        }
        for &(i, how) in signals {
            let state = &mut self.state[i as usize];
            if *state == Past::Whole {
                self.broken.push(i);
            }
            if how == Break::Sharp || *state == Past::Whole {
                *state = if how == Break::Sharp { Past::Jumped } else { Past::Bent };
            }
        }
        self.since = 0;
        for k in 0..self.broken.len() {
            let i = self.broken[k] as usize;
            if self.state[i] == Past::Jumped {
                let [newest, older @ ..] = &mut self.values;
                older.iter_mut().for_each(|values| values[i] = newest[i]);
            } else {
                self.smooth(i, 2);
            }
        }
    }

    /// Gives the newest node of signal `i` another value: its limit from the right at an event.
    pub fn set_newest(&mut self, i: usize, value: f64) {
        self.values[0][i] = value;
    }

    /// Forgets all but the newest node: what came before an event does not predict what comes after.
    pub fn restart(&mut self) {
        self.len = self.len.min(1);
        self.mend();
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.len = 0;
        self.mend();
    }

    fn mend(&mut self) {
        self.broken.iter().for_each(|&i| self.state[i as usize] = Past::Whole);
        self.broken.clear();
        self.since = 0;
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
        if !(self.broken.is_empty() && other.broken.is_empty()) {
            self.mend();
            self.broken.extend_from_slice(&other.broken);
            self.broken.iter().for_each(|&i| self.state[i as usize] = other.state[i as usize]);
        }
        self.since = other.since;
    }
}

impl Clone for History {
    fn clone(&self) -> Self {
        let History { times, values, len, broken, since, state } = self;
        // Room for all signals, as in `new`: an event allocates nothing.
        let mut room = Vec::with_capacity(state.len());
        room.extend_from_slice(broken);
        let (values, state) = (values.clone(), state.clone());
        History { times: *times, values, len: *len, broken: room, since: *since, state }
    }
}

impl Checkpointed for History {
    fn save(&self, checkpoint: &mut Checkpoint) {
        checkpoint.push(self.len as f64);
        checkpoint.extend(&self.times);
        for values in &self.values {
            checkpoint.extend(values);
        }
        checkpoint.push(self.since as f64);
        // As many numbers whatever there is, so that the checkpoint never grows.
        self.state.iter().for_each(|&state| checkpoint.push(f64::from(state as u8)));
    }

    fn load(&mut self, checkpoint: &mut Checkpoint) {
        self.len = checkpoint.pull() as usize;
        checkpoint.fill(&mut self.times);
        for values in &mut self.values {
            checkpoint.fill(values);
        }
        self.since = checkpoint.pull() as usize;
        self.broken.clear();
        for (i, state) in self.state.iter_mut().enumerate() {
            let code = checkpoint.pull() as u8;
            *state = [Past::Whole, Past::Jumped, Past::Bent][usize::from(code)];
            if *state != Past::Whole {
                self.broken.push(i as u32);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three parabolas: one jumps at t = 2, one bends there, one goes on. With three nodes after the event all are parabolas again, with
    /// four nothing is left of it.
    #[test]
    fn after_an_event_the_past_is_forgotten_where_it_has_to_be() {
        let smooth = |t: f64| t * t;
        let jumps = |t: f64| if t < 2.0 { t * t } else { 10.0 - t * t };
        let mut history = History::new(3);
        let push =
            |h: &mut History, t: f64| h.push(t, |u| u.copy_from_slice(&[smooth(t), smooth(t), jumps(t)]));
        for t in [0.0, 1.0, 2.0] {
            push(&mut history, t);
        }
        history.restart_some(&[(2, Break::Sharp), (1, Break::Soft)]);
        let nodes = |h: &History, i: usize| [0, 1, 2].map(|k| h.values(k)[i]);
        let counts = |h: &History| [0, 1, 2].map(|i| h.count(i));
        assert_eq!([0, 1, 2].map(|i| nodes(&history, i)), [[4.0, 1.0, 0.0], [4.0, 1.0, -2.0], [6.0; 3]]);
        assert_eq!(counts(&history), [3, 2, 1]);
        push(&mut history, 3.0);
        let after = [[9.0, 4.0, 1.0], [9.0, 4.0, -1.0], [1.0, 6.0, 11.0]];
        assert_eq!([0, 1, 2].map(|i| nodes(&history, i)), after);
        assert_eq!(counts(&history), [4, 2, 2]);
        push(&mut history, 4.0);
        assert_eq!((nodes(&history, 1), nodes(&history, 2)), ([16.0, 9.0, 4.0], [-6.0, 1.0, 6.0]));
        assert_eq!(counts(&history), [4, 3, 3]);
        push(&mut history, 5.0);
        assert_eq!(counts(&history), [4; 3]);
        // An event at the very start leaves nothing behind.
        history.clear();
        push(&mut history, 2.0);
        history.restart_some(&[(0, Break::Sharp), (1, Break::Sharp), (2, Break::Sharp)]);
        push(&mut history, 3.0);
        assert_eq!(counts(&history), [2; 3]);
    }

    /// Two events with one node between them: what the first one broke is not whole before three nodes after it.
    #[test]
    fn a_second_event_soon_after_breaks_nothing_less() {
        let mut history = History::new(2);
        for t in [0.0, 1.0, 2.0] {
            history.push(t, |u| u.fill(t * t));
        }
        history.restart_some(&[(0, Break::Sharp)]);
        history.push(3.0, |u| u.fill(9.0));
        history.restart_some(&[(1, Break::Sharp)]);
        assert_eq!([history.count(0), history.count(1)], [2, 1]);
        history.push(4.0, |u| u.fill(16.0));
        assert_eq!([history.count(0), history.count(1)], [2, 2]);
    }
}
