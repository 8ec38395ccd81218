//! The jump norm: what inputs jump by at communication points against the range they have moved in.

use super::noise::NoiseGuard;
use super::{Blame, Diagnostics, ErrorEstimator, Estimate, Steering};
use crate::checkpoint::{Checkpoint, Checkpointed};
use crate::feed_through::Reached;
use crate::network::Network;
use crate::step::StepView;
use std::collections::BTreeMap;

/// `ε = max over groups of rms(a_i / s_i) / (κ tolerance)`, `a` the jump of the held input without its noise, `s` half the range
/// that the input has moved in: blind to offsets and units, without an energy scale.
///
/// An input that has hardly moved counts with a hundredth of the largest `s` among inputs of the same unit, where units are
/// known ([`Jump::share_scales`]): a wave that has not arrived yet needs no steps of its own.
///
/// A group is the inputs of one bond, or of one pair of subsystems.
#[derive(Clone, Debug)]
pub struct Jump {
    /// κ·tolerance, before steering.
    bound: f64,
    steering: Option<Steering>,
    /// Inputs group by group, and where each group begins.
    inputs: Vec<u32>,
    begins: Vec<usize>,
    /// Inputs whose subsystem takes values only.
    values_only: Vec<bool>,
    low: Vec<f64>,
    high: Vec<f64>,
    /// `1/s` of the range so far: it seldom grows, and a division in every step would cost more than all else.
    inverse: Vec<f64>,
    /// Inputs with the same number here have the same unit; empty if scales are not shared.
    units: Vec<u32>,
    /// The largest half range among the inputs of each unit.
    largest: Vec<f64>,
    noise: NoiseGuard,
    steps: u64,
    since_restart: u64,
    /// How often each input limited the step.
    limited: Vec<u64>,
    /// The norm of the last accepted step.
    before: f64,
    /// The worst step over an unannounced discontinuity.
    crossed: Option<Crossed>,
    crossings: u64,
}

/// A step over an unannounced discontinuity: its jump was far above what steps before had.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Crossed {
    /// The input that jumped.
    pub input: usize,
    /// The end of the step, in s.
    pub time: f64,
    /// The length of the step, in s.
    pub step: f64,
    /// The norm of the step.
    pub norm: f64,
}

/// Steps after an event in which norms say little.
const SETTLING: u64 = 12;
/// The least scale relative to the largest of the same unit.
const SHARED: f64 = 0.01;
/// How much a polynomial of each order amplifies noise; that of a cubic by its weights relative to those of a parabola, √70/√20.
const AMPLIFIED: [f64; 4] = [6.0, 10.0, 20.0, 37.0];
/// Bounds of the norm: round-off below, nonsense above.
const SMALLEST: f64 = 1e-6;
const LARGEST: f64 = 1e6;
/// With noise, what is below it is not known to be small: a controller would take the next norm above it for a trend.
const BELOW_NOISE: f64 = 0.2;
/// A norm so many times that of the step before is a discontinuity: control keeps smooth signals near 1.
const CROSSED: f64 = 50.0;
/// Steps in which ranges are still found.
const WARM_UP: u64 = 50;
/// The least range, relative to the largest value.
const LEAST_RANGE: f64 = 1e-6;

impl Jump {
    /// κ where nothing else is said: jumps are larger than the errors that they come to.
    pub const KAPPA: f64 = 0.3;

    /// For inputs in `groups`.
    pub fn new(tolerance: f64, groups: &[Vec<usize>], values_only: Vec<bool>) -> Self {
        let n = values_only.len();
        let mut begins = vec![0];
        let mut inputs = Vec::new();
        for group in groups.iter().filter(|g| !g.is_empty()) {
            inputs.extend(group.iter().map(|&i| i as u32));
            begins.push(inputs.len());
        }
        Jump {
            bound: Self::KAPPA * tolerance,
            steering: None,
            inputs,
            begins,
            values_only,
            low: vec![f64::INFINITY; n],
            high: vec![f64::NEG_INFINITY; n],
            inverse: vec![0.0; n],
            units: Vec::new(),
            largest: Vec::new(),
            noise: NoiseGuard::new(n),
            steps: 0,
            since_restart: 0,
            limited: vec![0; n],
            before: 0.0,
            crossed: None,
            crossings: 0,
        }
    }

    /// Another κ·tolerance.
    pub fn set_bound(&mut self, bound: f64) {
        self.bound = bound;
    }

    /// The opening of the run, in s: noise is looked for in all of it.
    pub fn set_opening(&mut self, time: f64) {
        self.noise.set_opening(time);
    }

    /// Lets the bound follow what jumps have come to.
    pub fn set_steering(&mut self, steering: Steering) {
        self.steering = Some(steering);
    }

    /// Inputs with the same number in `units` have the same unit, and share the largest scale.
    pub fn share_scales(&mut self, units: Vec<u32>) {
        self.largest = vec![0.0; units.iter().max().map_or(0, |&most| most as usize + 1)];
        self.units = units;
    }

    /// What norms are relative to now: κ·tolerance with steering.
    fn bound(&self) -> f64 {
        self.bound * self.steering.as_ref().map_or(1.0, Steering::factor)
    }

    /// Groups of coupled inputs: those of each bond with all others between the same subsystems, then the rest by pairs of
    /// subsystems. `skip` names inputs that are not judged.
    pub fn groups(network: &Network, skip: impl Fn(usize) -> bool) -> Vec<Vec<usize>> {
        let judged = |i: &usize| network.wiring.is_coupled(*i) && !skip(*i);
        let pair = |i: usize| {
            let owner = network.owner_of_input[i];
            let source = network.wiring.sources(i).next().map_or(owner, |(o, _)| network.owner_of_output[o]);
            (owner.min(source), owner.max(source))
        };
        let mut groups = vec![Vec::new(); network.bonds.bonds.len()];
        let mut group_of: BTreeMap<(usize, usize), usize> = BTreeMap::new();
        let mut taken = vec![false; network.n_inputs];
        for (k, ports) in network.bonds.bonds.iter().enumerate() {
            let terms = network.bonds.ports[ports.clone()].iter().flat_map(|port| port.terms.clone());
            for i in terms.map(|t| network.bonds.terms[t].u) {
                group_of.entry(pair(i)).or_insert(k);
                if judged(&i) && !std::mem::replace(&mut taken[i], true) {
                    groups[k].push(i);
                }
            }
        }
        for i in (0..network.n_inputs).filter(judged).filter(|&i| !taken[i]) {
            let k = *group_of.entry(pair(i)).or_insert(groups.len());
            if k == groups.len() {
                groups.push(Vec::new());
            }
            groups[k].push(i);
        }
        groups
    }

    /// `a_i / s_i` of an input.
    #[inline]
    fn relative(&self, i: usize, step: &StepView<'_>, jumps: &crate::hold::defects::HoldDefects) -> f64 {
        let noise = self.noise.noise()[i];
        let defect = jumps.held(i).abs();
        if defect.is_nan() {
            return f64::INFINITY;
        }
        let mut a = (defect - AMPLIFIED[jumps.order[i] as usize] * noise).max(0.0);
        if self.values_only[i] {
            a = a.max(0.25 * (jumps.by_order[1][i].abs() - AMPLIFIED[1] * noise));
        }
        if a == 0.0 {
            return 0.0;
        }
        let (new, low, high) = (step.fresh[i], self.low[i], self.high[i]);
        if low <= new && new <= high {
            return a * self.inverse[i];
        }
        // The range grows, or this is the first step, and the range begins where it began.
        let old = new - jumps.by_order[0][i];
        let own = inverse_scale(low.min(new).min(old), high.max(new).max(old));
        a * own.min(self.shared(i))
    }

    /// `1/s` of the least scale that an input has from others of its unit; infinite if there is none.
    fn shared(&self, i: usize) -> f64 {
        self.units.get(i).map_or(f64::INFINITY, |&unit| 1.0 / (SHARED * self.largest[unit as usize]))
    }

    /// The ranges have grown.
    fn rescale(&mut self) {
        let Jump { low, high, inverse, units, largest, .. } = self;
        for (&unit, (low, high)) in units.iter().zip(low.iter().zip(high.iter())) {
            let largest = &mut largest[unit as usize];
            *largest = largest.max(0.5 * (high - low));
        }
        for (i, inverse) in inverse.iter_mut().enumerate() {
            let shared = units.get(i).map_or(f64::INFINITY, |&unit| 1.0 / (SHARED * largest[unit as usize]));
            *inverse = inverse_scale(low[i], high[i]).min(shared);
        }
    }

    /// The largest norm of a group, and the input that adds most to it.
    fn worst(&self, step: &StepView<'_>) -> (f64, Option<usize>) {
        let Some(jumps) = step.defects else { return (0.0, None) };
        let (mut worst, mut blamed) = (0.0, None);
        for ends in self.begins.windows(2) {
            let group = &self.inputs[ends[0]..ends[1]];
            let (mut sum, mut largest, mut of) = (0.0, 0.0, None);
            for &i in group {
                let x = self.relative(i as usize, step, jumps);
                sum += x * x;
                if x > largest || x.is_nan() {
                    (largest, of) = (x, Some(i as usize));
                }
            }
            let mean = sum / group.len() as f64;
            if mean > worst || mean.is_nan() {
                (worst, blamed) = (mean, of);
            }
        }
        (worst.sqrt() / self.bound(), blamed)
    }

    fn look_for_crossing(&mut self, step: &StepView<'_>, own: &Estimate) {
        let (Some(input), true) = (own.limited_by, self.crosses_jump(own)) else {
            return;
        };
        let norm = own.norm;
        self.crossings += 1;
        if self.crossed.is_none_or(|worst| norm > worst.norm) {
            self.crossed = Some(Crossed { input, time: step.span.end, step: step.span.h, norm });
        }
    }
}

/// `1/s` of a range.
fn inverse_scale(low: f64, high: f64) -> f64 {
    1.0 / (0.5 * (high - low)).max(LEAST_RANGE * high.abs().max(low.abs()))
}

impl Checkpointed for Jump {
    fn save(&self, tape: &mut Checkpoint) {
        for list in [&self.low, &self.high, &self.inverse, &self.largest] {
            tape.extend(list);
        }
        self.noise.save(tape);
        self.steering.iter().for_each(|steering| steering.save(tape));
        tape.push(self.steps as f64);
        tape.push(self.since_restart as f64);
        self.limited.iter().for_each(|&n| tape.push(n as f64));
        tape.push(self.before);
        tape.push(self.crossings as f64);
        let crossed = self.crossed.unwrap_or(Crossed { input: 0, time: 0.0, step: 0.0, norm: 0.0 });
        tape.extend(&[crossed.input as f64, crossed.time, crossed.step, crossed.norm]);
    }

    fn load(&mut self, tape: &mut Checkpoint) {
        for list in [&mut self.low, &mut self.high, &mut self.inverse, &mut self.largest] {
            tape.fill(list);
        }
        self.noise.load(tape);
        self.steering.iter_mut().for_each(|steering| steering.load(tape));
        self.steps = tape.pull() as u64;
        self.since_restart = tape.pull() as u64;
        self.limited.iter_mut().for_each(|n| *n = tape.pull() as u64);
        self.before = tape.pull();
        self.crossings = tape.pull() as u64;
        let [input, time, step, norm] = [(); 4].map(|()| tape.pull());
        self.crossed = (self.crossings > 0).then_some(Crossed { input: input as usize, time, step, norm });
    }
}

impl ErrorEstimator for Jump {
    fn needs_defects(&self) -> bool {
        true
    }

    fn estimate(&self, step: &StepView<'_>) -> Estimate {
        let (norm, limited_by) = self.worst(step);
        let order = limited_by.zip(step.defects).map_or(0, |(i, defects)| {
            let m = defects.order[i];
            if self.values_only[i] { m.min(1) } else { m }
        });
        let least = if self.noise.is_any() { BELOW_NOISE } else { SMALLEST };
        let norm = if norm.is_finite() { norm.clamp(least, LARGEST) } else { f64::INFINITY };
        Estimate { norm, order: f64::from(order) + 1.0, limited_by }
    }

    fn blame(&self, step: &StepView<'_>) -> Option<Blame> {
        self.worst(step).1.map(Blame::Input)
    }

    fn is_warming_up(&self) -> bool {
        self.has_no_scale() || self.since_restart <= SETTLING
    }

    fn has_no_scale(&self) -> bool {
        self.steps <= WARM_UP
    }

    fn crosses_jump(&self, own: &Estimate) -> bool {
        // Where steps cannot be short enough all norms are large.
        !self.is_warming_up() && own.norm.is_finite() && own.norm >= CROSSED * self.before.max(1.0)
    }

    fn diagnostics(&self) -> Diagnostics<'_> {
        Diagnostics {
            limited: &self.limited,
            noise: self.noise.noise(),
            steering: self.steering.as_ref().map_or(1.0, Steering::factor),
            crossed: self.crossed.map(|worst| (self.crossings, worst)),
        }
    }

    fn commit(&mut self, step: &StepView<'_>, own: &Estimate) {
        let Some(jumps) = step.defects else { return };
        self.look_for_crossing(step, own);
        self.before = own.norm;
        if let Some(i) = own.limited_by {
            self.limited[i] += 1;
        }
        let mut grown = false;
        let ranges = self.low.iter_mut().zip(&mut self.high);
        for ((low, high), (&new, &jump)) in ranges.zip(step.fresh.iter().zip(&jumps.by_order[0])) {
            if !(*low <= new && new <= *high) {
                (*low, *high) = (low.min(new).min(new - jump), high.max(new).max(new - jump));
                grown = true;
            }
        }
        if grown {
            self.rescale();
        }
        // Three nodes are behind a step from the third on.
        self.noise.commit(step.span.h, jumps, self.since_restart >= 2, (&self.low, &self.high));
        self.steps += 1;
        self.since_restart += 1;
        if let Some(steering) = &mut self.steering {
            steering.commit(step);
        }
    }

    fn restart(&mut self, _reached: &Reached<'_>) {
        self.since_restart = 0;
        if let Some(steering) = &mut self.steering {
            steering.restart();
        }
    }
}
