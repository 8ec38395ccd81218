//! Watches the residual power of every bond: spikes against its own level, and growth without bound.

use crate::energy::BondFlow;
use crate::subsystem::Span;

/// A stretch of time in which a bond's residual power was far above its level before.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spike {
    /// When it began, in s.
    pub start: f64,
    /// When it ended, in s.
    pub end: f64,
    /// The largest |δP| in it, in W.
    pub peak: f64,
    /// When that was, in s.
    pub peak_time: f64,
    /// rms of δP before it, in W.
    pub level: f64,
    /// ∫|δP| dt over it, in J.
    pub energy: f64,
}

/// A spike begins at this multiple of the level and ends below [`QUIET`] of it for [`CALM`] steps.
const SPIKE: f64 = 10.0;
const QUIET: f64 = 3.0;
const CALM: u32 = 20;
/// A level needs this many steps.
const SETTLED: u32 = 50;
/// How many spikes of a bond are kept; the largest ones stay.
const KEPT: usize = 8;
/// Where the largest exchanged power has become so many times what it was when a spike began, the bond was at rest until then: its level
/// was that of nothing, and what begins is motion.
const FROM_REST: f64 = 100.0;

/// Growth without bound: the exchanged power doubles this often while at least [`SHARE`] of it is residual.
const DOUBLINGS: u32 = 40;
const SHARE: f64 = 0.1;
/// A doubling counts above this share of the largest power that any bond has shown: a wave that reaches a body at rest makes its bond
/// double from 1e-79 W on.
const SHOWN: f64 = 1e-3;
/// A doubling counts if it took less than this share of the time since the start: what begins to move grows like a power of time.
const QUICK: f64 = 0.05;

/// What every step looks at.
#[derive(Clone, Debug, Default)]
struct State {
    /// Steps and Σ δP²·h, Σ h outside of spikes.
    steps: u32,
    in_spike: bool,
    square: f64,
    time: f64,
    /// The last exchanged power at which a doubling was counted, and when; when the bond began to transmit.
    mark: f64,
    mark_time: f64,
    first_time: f64,
    doublings: u32,
    largest: f64,
}

/// The spikes of a bond: the one that goes on, and the largest ones before it.
#[derive(Clone, Debug, Default)]
struct Spikes {
    current: Spike,
    calm: u32,
    /// The largest exchanged power before the current one, in W.
    shown: f64,
    kept: [Spike; KEPT],
    count: usize,
}

/// Watches all bonds; bounded memory, nothing is allocated after `new`.
#[derive(Clone, Debug)]
pub struct BondWatch {
    bonds: Vec<State>,
    spikes: Vec<Spikes>,
    /// The largest exchanged power of all bonds, in W.
    shown: f64,
}

impl BondWatch {
    /// For `n` bonds.
    pub fn new(n: usize) -> Self {
        BondWatch { bonds: vec![State::default(); n], spikes: vec![Spikes::default(); n], shown: 0.0 }
    }

    /// Enters an accepted step. Returns a bond whose power runs away.
    pub fn commit(&mut self, span: Span, flows: &[BondFlow]) -> Option<usize> {
        let mut runaway = None;
        for (k, (state, flow)) in self.bonds.iter_mut().zip(flows).enumerate() {
            let power = flow.residual_power.abs();
            if state.in_spike && flow.exchanged_power > FROM_REST * self.spikes[k].shown {
                state.forget();
            } else if state.in_spike {
                state.in_spike = self.spikes[k].goes_on(span, power);
            } else if let Some(level) = state.look(span, power) {
                self.spikes[k].begin(span, power, level, state.largest);
            }
            self.shown = self.shown.max(flow.exchanged_power);
            if state.grows(flow, span.end, self.shown) {
                runaway = Some(k);
            }
        }
        runaway
    }

    /// After a discontinuity the level is found anew.
    pub fn restart(&mut self) {
        for state in &mut self.bonds {
            (state.steps, state.square, state.time) = (0, 0.0, 0.0);
        }
    }

    /// The largest spikes of a bond in time order; those that stay below 1 % of its largest exchanged power do not count.
    pub fn spikes(&self, bond: usize) -> Vec<Spike> {
        let (state, spikes) = (&self.bonds[bond], &self.spikes[bond]);
        let current = state.in_spike.then_some(spikes.current);
        let mut list: Vec<Spike> = spikes.kept[..spikes.count].iter().copied().chain(current).collect();
        list.retain(|s| s.peak >= 0.01 * state.largest);
        list.sort_by(|a, b| a.start.total_cmp(&b.start));
        list
    }
}

impl Spikes {
    fn begin(&mut self, span: Span, power: f64, level: f64, shown: f64) {
        (self.calm, self.shown) = (0, shown);
        let energy = power * span.h;
        self.current =
            Spike { start: span.start, end: span.end, peak: power, peak_time: span.end, level, energy };
    }

    /// Enters a step into the current spike; false if it is over.
    fn goes_on(&mut self, span: Span, power: f64) -> bool {
        let spike = &mut self.current;
        spike.end = span.end;
        spike.energy += power * span.h;
        if power > spike.peak {
            (spike.peak, spike.peak_time) = (power, span.end);
        }
        self.calm = if power < QUIET * spike.level { self.calm + 1 } else { 0 };
        if self.calm < CALM {
            return true;
        }
        if self.count < KEPT {
            self.kept[self.count] = *spike;
            self.count += 1;
        } else if let Some(least) = self.kept.iter_mut().min_by(|a, b| a.peak.total_cmp(&b.peak))
            && least.peak < spike.peak
        {
            *least = *spike;
        }
        false
    }
}

impl State {
    /// The level is found anew, outside of any spike.
    fn forget(&mut self) {
        self.in_spike = false;
        (self.steps, self.square, self.time) = (0, 0.0, 0.0);
    }

    /// Enters a step outside of a spike; the level before it if one begins.
    #[inline]
    fn look(&mut self, span: Span, power: f64) -> Option<f64> {
        // power > SPIKE · level without a root and a division in every step.
        let above = power * power * self.time > SPIKE * SPIKE * self.square;
        if above && self.square > 0.0 && self.steps >= SETTLED {
            self.in_spike = true;
            return Some((self.square / self.time).sqrt());
        }
        self.steps = (self.steps + 1).min(SETTLED);
        self.square += power * power * span.h;
        self.time += span.h;
        None
    }

    #[inline]
    fn grows(&mut self, flow: &BondFlow, t: f64, shown: f64) -> bool {
        let power = flow.exchanged_power;
        if power > self.largest {
            self.largest = power;
            if self.mark == 0.0 {
                (self.mark, self.mark_time, self.first_time) = (power, t, t);
            } else if power > 2.0 * self.mark {
                let made = flow.residual_power.abs() > SHARE * power;
                let quick = t - self.mark_time < QUICK * (t - self.first_time);
                let counts = made && quick && power > SHOWN * shown;
                self.doublings = if counts { self.doublings + 1 } else { 0 };
                (self.mark, self.mark_time) = (power, t);
            }
        }
        self.doublings >= DOUBLINGS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(power: impl Fn(f64) -> (f64, f64)) -> (BondWatch, bool) {
        let mut watch = BondWatch::new(1);
        let mut runaway = false;
        for i in 0..2000 {
            let span = Span::new(f64::from(i) * 0.01, 0.01);
            let (residual_power, exchanged_power) = power(span.end);
            let flow = BondFlow { residual_power, exchanged_power, ..BondFlow::default() };
            runaway |= watch.commit(span, &[flow]).is_some();
        }
        (watch, runaway)
    }

    #[test]
    fn a_burst_is_found_with_its_interval() {
        let (watch, runaway) = run(|t| if (8.0..10.0).contains(&t) { (500.0, 1e3) } else { (t.sin(), 1e3) });
        let spikes = watch.spikes(0);
        assert_eq!(spikes.len(), 1);
        assert!(
            (spikes[0].start - 8.0).abs() < 0.02 && spikes[0].end > 10.0 && spikes[0].end < 10.5,
            "{spikes:?}"
        );
        assert_eq!(spikes[0].peak, 500.0);
        // 500 W for 2 s, and what a sine does in the calm 0.2 s after it.
        assert!((spikes[0].energy - 1000.0).abs() < 6.0, "{}", spikes[0].energy);
        assert!(!runaway);
    }

    /// A wave of 1 kW that reaches a bond which transmitted 1 nW of round-off until then: its residual rises 10¹⁰-fold.
    #[test]
    fn what_begins_to_move_is_no_spike() {
        let (watch, _) = run(|t| if t > 8.0 { (1.0, 1e3) } else { (1e-10, 1e-9) });
        assert!(watch.spikes(0).is_empty(), "{:?}", watch.spikes(0));
    }

    #[test]
    fn decay_and_steady_waves_are_no_spikes() {
        for shape in
            [(|t: f64| (1e3 * (-t).exp(), 1e3)) as fn(f64) -> (f64, f64), |t| (100.0 * (3.0 * t).sin(), 1e3)]
        {
            assert!(run(shape).0.spikes(0).is_empty());
        }
    }

    /// A wave front that reached a body at rest was called a runaway at 1e-79 W: its power grew like t⁴⁰ beside a bond of 1 kW, and what
    /// began to move alone grew like t⁴.
    #[test]
    fn what_begins_to_move_is_no_runaway() {
        let mut watch = BondWatch::new(2);
        let flow = |p: f64| BondFlow { residual_power: 0.5 * p, exchanged_power: p, ..BondFlow::default() };
        for i in 1..2000 {
            let t = f64::from(i) * 0.01;
            let flows = [flow(1e3), flow(1e-79 * (100.0 * t).powi(24))];
            assert_eq!(watch.commit(Span::new(t - 0.01, 0.01), &flows), None, "t = {t}");
        }
        assert!(!run(|t| (0.5e-20 * t.powi(4), 1e-20 * t.powi(4))).1);
    }

    #[test]
    fn exponential_growth_that_the_coupling_makes_is_a_runaway() {
        assert!(run(|t| (5.0 * t.exp2().powi(4), 10.0 * t.exp2().powi(4))).1);
        assert!(
            !run(|t| (0.01 * t.exp2().powi(4), 10.0 * t.exp2().powi(4))).1,
            "growth of the system itself"
        );
    }
}
