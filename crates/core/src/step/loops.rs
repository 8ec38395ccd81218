//! An algebraic loop: inputs that determine each other at the same instant, solved at the current time.

use super::still::{Response, Still};
use crate::error::RunError;
use crate::feed_through::{GainSource, perturbation};
use crate::network::Network;
use crate::numerics::invert;
use crate::subsystem::ValueKind;

/// How loops are solved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoopRules {
    /// `|u − L y| ≤ tolerance · scale` for every input of a loop, the scale being the largest value that the input has had.
    pub tolerance: f64,
    /// Steps of Newton's method.
    pub iterations: usize,
    /// Passes of the fixed-point iteration where Newton's method fails.
    pub passes: usize,
}

impl Default for LoopRules {
    fn default() -> Self {
        LoopRules { tolerance: 1e-11, iterations: 50, passes: 200 }
    }
}

/// A loop that Newton's method cannot bring below its tolerance is taken as solved up to this residual, and counted: outputs that
/// come from iterations of their own are not exact.
const LOOSE: f64 = 1e-6;

/// A share of the nominal value, or of where the loop was begun, that counts as nothing: residuals of a loop whose solution is 0 have no
/// other scale.
const NOTHING: f64 = 1e-6;

/// Above so many inputs a loop is exchanged first, for as long as that halves its residual: the inverse of Newton's method takes work with
/// their cube, about 10 ms here and minutes for some thousands.
const MANY: usize = 256;

/// How often a step of Newton's method is halved.
const HALVINGS: u32 = 11;

/// What solving a loop took.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LoopStatistics {
    /// Instants at which it was solved.
    pub solved: u64,
    /// Evaluations of all of its members.
    pub evaluations: u64,
    /// The most of them at one instant.
    pub most: u64,
    /// How often ∂r/∂u was computed anew.
    pub jacobians: u64,
    /// Instants at which the tolerance was missed by little.
    pub loose: u64,
}

/// What a [`LoopSolver`] learned.
pub(crate) struct SavedLoop {
    /// Empty if it is not known.
    inverse: Vec<f64>,
    is_known: bool,
    seen: Vec<f64>,
    statistics: LoopStatistics,
}

/// Solves `r(u) = u − L y(u) = 0` for the inputs of one loop; nothing is allocated after `new`.
///
/// Newton's method with step halving. ∂r/∂u = 1 − L D comes from the members' derivatives, from what was identified, or from
/// differences; between instants it is kept and improved by Broyden's rule, and computed anew where it does not help. Where
/// Newton's method fails: fixed-point iteration with Aitken's relaxation.
pub(crate) struct LoopSolver {
    inputs: Vec<usize>,
    members: Vec<(usize, Response)>,
    rules: LoopRules,
    /// All inputs are real numbers; else only repeated evaluation makes sense.
    smooth: bool,
    /// (∂r/∂u)⁻¹ by rows, if it is known.
    inverse: Vec<f64>,
    is_known: bool,
    r: Vec<f64>,
    r_new: Vec<f64>,
    start: Vec<f64>,
    from: Vec<f64>,
    step: Vec<f64>,
    change: Vec<f64>,
    /// The largest |u| of all solutions so far.
    seen: Vec<f64>,
    work: Vec<f64>,
    gains: Vec<f64>,
    statistics: LoopStatistics,
}

impl LoopSolver {
    pub fn new(
        network: &Network,
        inputs: Vec<usize>,
        members: Vec<(usize, Response)>,
        rules: LoopRules,
    ) -> Self {
        let n = inputs.len();
        let widest = members.iter().map(|&(s, _)| network.members[s].feed_through.len()).max().unwrap_or(0);
        LoopSolver {
            smooth: inputs.iter().all(|&i| network.input_scale[i].kind == ValueKind::Real),
            inverse: vec![0.0; n * n],
            is_known: false,
            r: vec![0.0; n],
            r_new: vec![0.0; n],
            start: vec![0.0; n],
            from: vec![0.0; n],
            step: vec![0.0; n],
            change: vec![0.0; n],
            seen: vec![0.0; n],
            work: vec![0.0; 2 * n * n],
            gains: vec![0.0; widest],
            statistics: LoopStatistics::default(),
            inputs,
            members,
            rules,
        }
    }

    /// The inputs, flat.
    pub fn inputs(&self) -> &[usize] {
        &self.inputs
    }

    /// The members.
    pub fn members(&self) -> impl Iterator<Item = usize> + '_ {
        self.members.iter().map(|&(s, _)| s)
    }

    /// What later solutions depend on.
    pub fn save(&self) -> SavedLoop {
        let LoopSolver { inverse, is_known, seen, statistics, .. } = self;
        let (inverse, seen) = (if *is_known { inverse.clone() } else { Vec::new() }, seen.clone());
        SavedLoop { inverse, is_known: *is_known, seen, statistics: *statistics }
    }

    /// Goes back to what `save` returned.
    pub fn load(&mut self, saved: &SavedLoop) {
        if saved.is_known {
            self.inverse.copy_from_slice(&saved.inverse);
        }
        self.seen.copy_from_slice(&saved.seen);
        (self.is_known, self.statistics) = (saved.is_known, saved.statistics);
    }

    /// What it took so far.
    pub fn statistics(&self) -> &LoopStatistics {
        &self.statistics
    }

    /// Solves the loop from the inputs that `still` has.
    pub fn solve(&mut self, still: &mut Still<'_>) -> Result<(), RunError> {
        for k in 0..self.members.len() {
            self.gather_others(still, self.members[k].0);
        }
        let before = self.statistics.evaluations;
        self.inputs.iter().zip(&mut self.start).for_each(|(&i, start)| *start = still.u[i]);
        let mut norm = self.residual(still, Buffer::Current);
        if self.smooth {
            if self.inputs.len() > MANY && !self.is_known {
                norm = self.exchange(still, norm);
            }
            norm = self.newton(still, norm);
        }
        if norm > LOOSE {
            norm = self.fixed_point(still)?;
        }
        let evaluations = self.statistics.evaluations - before;
        let statistics = &mut self.statistics;
        statistics.solved += 1;
        statistics.most = statistics.most.max(evaluations);
        statistics.loose += u64::from(norm > self.rules.tolerance);
        if norm <= LOOSE.max(self.rules.tolerance) {
            let values = self.inputs.iter().map(|&i| still.u[i].abs());
            self.seen.iter_mut().zip(values).for_each(|(seen, u)| *seen = seen.max(u));
            return Ok(());
        }
        let inputs = self.inputs.clone();
        Err(RunError::Loop { inputs, change: norm, passes: self.rules.passes, span: still.span })
    }

    /// Sets the inputs of a member that are not part of the loop.
    fn gather_others(&self, still: &mut Still<'_>, s: usize) {
        let wiring = &still.network.wiring;
        for i in still.network.members[s].inputs.clone().filter(|&i| wiring.is_coupled(i)) {
            if self.inputs.binary_search(&i).is_err() {
                still.u[i] = wiring.row(i, still.y);
            }
        }
    }

    /// All members answer; `r = u − L y` relative to its scale, infinite where one cannot.
    fn residual(&mut self, still: &mut Still<'_>, into: Buffer) -> f64 {
        self.statistics.evaluations += 1;
        let r = match into {
            Buffer::Current => &mut self.r,
            Buffer::New => &mut self.r_new,
        };
        for &(s, response) in &self.members {
            if still.try_answer(s, response).is_err() {
                return f64::INFINITY;
            }
        }
        let mut norm = 0.0f64;
        for (k, &i) in self.inputs.iter().enumerate() {
            let u = still.u[i];
            let wiring = &still.network.wiring;
            let fed = wiring.row(i, still.y);
            r[k] = u - fed;
            let terms: f64 = wiring.sources(i).map(|(o, gain)| (gain * still.y[o]).abs()).sum();
            let round_off = 8.0 * f64::EPSILON * (terms + u.abs() + wiring.offset(i).abs());
            // What is only tried is no scale for later: a step of Newton's method may go very far.
            let typical = still.network.input_scale[i].nominal.abs().max(self.start[k].abs());
            let floor = if typical.is_finite() { NOTHING * typical } else { 0.0 };
            let scale = self.seen[k].max(u.abs()).max(fed.abs()).max(floor);
            let off = (r[k].abs() - round_off).max(0.0);
            let e = if off == 0.0 && !r[k].is_nan() { 0.0 } else { off / scale };
            norm = if e.is_nan() || r[k].is_nan() { f64::INFINITY } else { norm.max(e) };
        }
        norm
    }

    /// `u ← u − r = L y` while that at least halves the residual, as weak loops do: the residual that is reached.
    fn exchange(&mut self, still: &mut Still<'_>, start: f64) -> f64 {
        let mut norm = start;
        while norm > self.rules.tolerance && norm.is_finite() {
            self.step.iter_mut().zip(&self.r).for_each(|(step, r)| *step = -r);
            match self.try_step(still, norm, 1) {
                Some(next) => {
                    std::mem::swap(&mut self.r, &mut self.r_new);
                    let is_slow = next > 0.5 * norm;
                    norm = next;
                    if is_slow {
                        break;
                    }
                }
                None => break,
            }
        }
        norm
    }

    /// The residual that is reached; `still` has the inputs and outputs that belong to it.
    fn newton(&mut self, still: &mut Still<'_>, start: f64) -> f64 {
        let n = self.inputs.len();
        let mut norm = start;
        // An inverse of an earlier instant gets one chance, a new one is helped by shorter steps.
        let mut is_new = false;
        for _ in 0..self.rules.iterations {
            if norm <= self.rules.tolerance || !norm.is_finite() {
                break;
            }
            if !self.is_known {
                if !self.find_inverse(still) {
                    break;
                }
                is_new = true;
            }
            for k in 0..n {
                let row = &self.inverse[k * n..(k + 1) * n];
                self.step[k] = -row.iter().zip(&self.r).map(|(b, r)| b * r).sum::<f64>();
            }
            match self.try_step(still, norm, if is_new { HALVINGS } else { 1 }) {
                Some(next) => {
                    self.learn();
                    std::mem::swap(&mut self.r, &mut self.r_new);
                    // One that gains little is computed anew.
                    self.is_known = next < 0.5 * norm || next <= self.rules.tolerance;
                    norm = next;
                    is_new = false;
                }
                None if is_new => break,
                None => self.is_known = false,
            }
        }
        norm
    }

    /// Goes along the step, halved up to `tries` times, to a smaller residual; else back to where it was.
    fn try_step(&mut self, still: &mut Still<'_>, norm: f64, tries: u32) -> Option<f64> {
        self.inputs.iter().zip(&mut self.from).for_each(|(&i, from)| *from = still.u[i]);
        let mut share = 1.0;
        for _ in 0..tries {
            for (k, &i) in self.inputs.iter().enumerate() {
                still.u[i] = self.from[k] + share * self.step[k];
            }
            let next = self.residual(still, Buffer::New);
            if next < norm {
                self.step.iter_mut().for_each(|s| *s *= share);
                return Some(next);
            }
            share *= 0.5;
        }
        self.inputs.iter().zip(&self.from).for_each(|(&i, &from)| still.u[i] = from);
        self.residual(still, Buffer::Current);
        None
    }

    /// Broyden: the inverse maps the change of r to the step that made it, `B += (s − B c) sᵀB/(sᵀB c)`.
    fn learn(&mut self) {
        let n = self.inputs.len();
        for k in 0..n {
            self.work[k] = (0..n).map(|c| self.inverse[k * n + c] * (self.r_new[c] - self.r[c])).sum();
            self.change[k] = (0..n).map(|r| self.step[r] * self.inverse[r * n + k]).sum();
        }
        let scale: f64 = (0..n).map(|k| self.step[k] * self.work[k]).sum();
        let size: f64 = self.step.iter().map(|s| s * s).sum();
        if scale.abs() <= 1e-12 * size || !scale.is_finite() {
            return;
        }
        for k in 0..n {
            let factor = (self.step[k] - self.work[k]) / scale;
            for c in 0..n {
                self.inverse[k * n + c] += factor * self.change[c];
            }
        }
    }

    /// (1 − L D)⁻¹ at the current point; false if there is none.
    fn find_inverse(&mut self, still: &mut Still<'_>) -> bool {
        let n = self.inputs.len();
        self.statistics.jacobians += 1;
        self.work.fill(0.0);
        for k in 0..n {
            self.work[k * 2 * n + k] = 1.0;
            self.work[k * 2 * n + n + k] = 1.0;
        }
        for m in 0..self.members.len() {
            let (s, response) = self.members[m];
            if !self.derivatives(still, s, response) && !self.differences(still, s, response) {
                return false;
            }
        }
        self.is_known = self.work.iter().all(|v| v.is_finite()) && invert(&mut self.work, n);
        if self.is_known {
            for k in 0..n {
                let row = &self.work[k * 2 * n + n..(k + 1) * 2 * n];
                self.inverse[k * n..(k + 1) * n].copy_from_slice(row);
            }
        }
        self.is_known
    }

    /// Subtracts `gain · d` from all rows that `output` feeds, in column `c`.
    fn subtract(&mut self, network: &Network, output: usize, c: usize, d: f64) {
        let n = self.inputs.len();
        for (k, &i) in self.inputs.iter().enumerate() {
            let fed = network.wiring.sources(i).filter(|&(source, _)| source == output);
            fed.for_each(|(_, gain)| self.work[k * 2 * n + c] -= gain * d);
        }
    }

    /// The columns of member `s` by the derivatives that it gives; false if it gives none.
    fn derivatives(&mut self, still: &mut Still<'_>, s: usize, response: Response) -> bool {
        let network = &mut *still.network;
        let pairs = network.members[s].feed_through.clone();
        let gives = |p: &crate::feed_through::FeedThroughPair| p.gain == GainSource::Derivative;
        if response == Response::Identified
            || pairs.is_empty()
            || !network.feed_through[pairs.clone()].iter().all(gives)
        {
            return false;
        }
        let mut gains = std::mem::take(&mut self.gains);
        let given = network.members[s].simulator.feed_through(&mut gains[..pairs.len()]).is_ok();
        if given {
            for (p, &d) in pairs.zip(&gains) {
                let pair = network.feed_through[p];
                if let Ok(c) = self.inputs.binary_search(&pair.input) {
                    self.subtract(network, pair.output, c, d);
                }
            }
        }
        self.gains = gains;
        given
    }

    /// The columns of member `s` by differences of its answers; false if it does not answer.
    fn differences(&mut self, still: &mut Still<'_>, s: usize, response: Response) -> bool {
        let n = self.inputs.len();
        for c in 0..n {
            let i = self.inputs[c];
            if still.network.owner_of_input[i] != s {
                continue;
            }
            let value = still.u[i];
            let delta = perturbation(value, &still.network.input_scale[i], 1e-6);
            for (moved, sign) in [(value + delta, 1.0), (value, -1.0)] {
                still.u[i] = moved;
                if still.try_answer(s, response).is_err() {
                    still.u[i] = value;
                    return false;
                }
                let share = sign / delta;
                for k in 0..n {
                    let wiring = &still.network.wiring;
                    let own = |o: usize| still.network.owner_of_output[o] == s;
                    let sources = wiring.sources(self.inputs[k]).filter(|&(o, _)| own(o));
                    let sum: f64 = sources.map(|(o, gain)| gain * still.y[o]).sum();
                    self.work[k * 2 * n + c] -= share * sum;
                }
            }
        }
        true
    }

    /// `u ← u − ω r` from where the loop was begun, ω by Aitken's rule: the residual that is reached.
    fn fixed_point(&mut self, still: &mut Still<'_>) -> Result<f64, RunError> {
        self.is_known = false;
        self.inputs.iter().zip(&self.start).for_each(|(&i, &start)| still.u[i] = start);
        let mut norm = self.residual(still, Buffer::Current);
        let mut omega = 1.0;
        for _ in 0..self.rules.passes {
            if norm <= self.rules.tolerance || !norm.is_finite() {
                break;
            }
            for (k, &i) in self.inputs.iter().enumerate() {
                still.u[i] -= omega * self.r[k];
            }
            norm = self.residual(still, Buffer::New);
            let (mut product, mut square) = (0.0, 0.0);
            for (old, new) in self.r.iter().zip(&self.r_new) {
                product += old * (new - old);
                square += (new - old) * (new - old);
            }
            std::mem::swap(&mut self.r, &mut self.r_new);
            // Integers have no use for shares of a step.
            if self.smooth && square > 0.0 {
                omega = (-omega * product / square).clamp(-2.0, 2.0);
            }
        }
        if !norm.is_finite() {
            // It ran away: what it ran into says nothing.
            self.inputs.iter().zip(&self.start).for_each(|(&i, &start)| still.u[i] = start);
        }
        // What a member refuses is told in its own words.
        for &(s, response) in &self.members {
            still.answer(s, response)?;
        }
        Ok(norm)
    }
}

/// Which of the two residuals.
#[derive(Clone, Copy)]
enum Buffer {
    Current,
    New,
}
