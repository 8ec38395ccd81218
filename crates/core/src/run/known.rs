//! What is known of discontinuities before the run: when which input jumps or bends, and when the coupling changes.

use super::settings::Settings;
use crate::network::{External, Network};
use crate::time::{Bend, KnownTimes, Pace, aligned, resolution};

/// A known jump that no step can end at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MovedJump {
    /// The input that jumps; none if the coupling changes.
    pub input: Option<usize>,
    /// When it should, in seconds.
    pub from: f64,
    /// When it does, in seconds.
    pub to: f64,
}

/// An input that jumps or bends.
#[derive(Clone, Copy, Debug)]
pub(super) struct KnownInput {
    pub time: f64,
    pub input: usize,
}

/// Known discontinuities in the order of time.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    pub jumps: Vec<KnownInput>,
    pub bends: Vec<KnownInput>,
    /// Of all bends, in the same order.
    limits: Vec<Bend>,
    changes: Vec<f64>,
    pub moved: Vec<MovedJump>,
}

impl Known {
    /// Looks at all signals and changes. Times that only round-off parts are made one; jumps at times that no step can end at come
    /// with the next step that can.
    pub fn collect(network: &mut Network, settings: &mut Settings, pace: Pace) -> Self {
        let mut known = Known::default();
        known.move_jumps(network, settings, pace);
        align(network, settings);
        let inside = |t: f64| t > settings.start;
        for External { input, signal } in &network.externals {
            let jumps = signal.jumps().into_iter().filter(|&t| inside(t));
            known.jumps.extend(jumps.map(|time| KnownInput { time, input: *input }));
            let mut bends = signal.bends();
            if let Pace::Grid { step, .. } = pace {
                keep_ends(&mut bends, step);
            }
            // Where a line of length h crosses a bend, it misses it by h/4 times the change of slope at most.
            let miss = 4.0 * settings.bend_tolerance * signal.range();
            for (time, change) in bends.into_iter().filter(|(t, _)| inside(*t)) {
                known.bends.push(KnownInput { time, input: *input });
                known.limits.push(Bend { time, longest: miss / change.abs() });
            }
        }
        known.changes = settings.changes.iter().map(|c| c.time).collect();
        known.jumps.sort_by(|a, b| a.time.total_cmp(&b.time));
        known.bends.sort_by(|a, b| a.time.total_cmp(&b.time));
        known
    }

    /// For the clock.
    pub fn times(&self) -> KnownTimes {
        let jumps = self.jumps.iter().map(|jump| jump.time).chain(self.changes.iter().copied());
        KnownTimes { jumps: jumps.collect(), bends: self.limits.clone() }
    }

    /// The same without what `inputs`, flat, would have done after `t`: they follow other signals from then on.
    pub fn without(&self, inputs: &[usize], t: f64) -> Known {
        let stays = |known: &KnownInput| known.time <= t || !inputs.contains(&known.input);
        let bends = self.bends.iter().zip(&self.limits).filter(|(known, _)| stays(known));
        let (bends, limits) = bends.map(|(known, limit)| (*known, *limit)).unzip();
        let jumps = self.jumps.iter().filter(|known| stays(known)).copied().collect();
        Known { jumps, bends, limits, changes: self.changes.clone(), moved: self.moved.clone() }
    }

    /// Moves what happens at times at which no step can end to the next time at which one can.
    fn move_jumps(&mut self, network: &mut Network, settings: &mut Settings, pace: Pace) {
        let (start, stop) = (settings.start, settings.stop);
        let possible = |t: f64| if t > start && t < stop { start + pace.not_before(t - start) } else { t };
        if pace.quantum().is_none() {
            return;
        }
        for External { input, signal } in &mut network.externals {
            for from in signal.jumps() {
                let to = possible(from);
                if to - from > resolution(start, stop) {
                    signal.move_jump(from, to);
                    self.moved.push(MovedJump { input: Some(*input), from, to });
                }
            }
        }
        for change in &mut settings.changes {
            let (from, to) = (change.time, possible(change.time));
            if to - from > resolution(start, stop) {
                change.time = to;
                self.moved.push(MovedJump { input: None, from, to });
            }
        }
    }
}

/// Makes times that only round-off parts one.
fn align(network: &mut Network, settings: &mut Settings) {
    let resolution = resolution(settings.start, settings.stop);
    let ends = [settings.start, settings.stop];
    let mut times = Vec::new();
    for change in &mut settings.changes {
        change.time = aligned(change.time, &ends, resolution);
        times.push(change.time);
    }
    for external in &mut network.externals {
        external.signal.align(&ends, resolution);
        times.extend(external.signal.jumps());
        times.extend(external.signal.bends().into_iter().map(|(time, _)| time));
    }
    times.sort_by(f64::total_cmp);
    times.dedup_by(|later, first| *later - *first <= resolution);
    for change in &mut settings.changes {
        change.time = aligned(change.time, &times, resolution);
    }
    network.externals.iter_mut().for_each(|external| external.signal.align(&times, resolution));
}

/// Drops bends of a signal that have neighbours on both sides closer than `step`: a table that is finer than a constant step does
/// not make it shorter.
fn keep_ends(bends: &mut Vec<(f64, f64)>, step: f64) {
    let near = step * (1.0 - 1e-9);
    let times: Vec<f64> = bends.iter().map(|bend| bend.0).collect();
    let mut place = 0usize;
    bends.retain(|_| {
        let k = place;
        place += 1;
        let after_gap = k.checked_sub(1).is_none_or(|before| times[k] - times[before] >= near);
        after_gap || times.get(k + 1).is_none_or(|next| next - times[k] >= near)
    });
}
