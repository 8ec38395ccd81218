//! Energy correction: the energy that the coupling created in the last step is taken out again by a small force.

use super::{CorrectionReport, InputCorrection};
use crate::checkpoint::{Checkpoint, Checkpointed};
use crate::feed_through::Reached;
use crate::step::StepView;
use crate::subsystem::Span;
use std::ops::Range;

/// How the correction follows from the last step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Form {
    /// `f_corr = -(ζ + ν U) v / (|v|² H)`, capped (rodriguez2022 eq. 14–17).
    #[default]
    Power,
    /// `f_corr = 2μ (f_{k+1} - f_k)`: the part of δP that telescopes is left out, so there are no spikes where v
    /// passes through zero and neither cap nor ν is needed.
    Difference,
}

/// The side of a bond that takes efforts (forces, torques, voltages, pressures) and gives flows.
#[derive(Clone, Debug, PartialEq)]
pub struct EffortSide {
    /// The bond.
    pub bond: usize,
    /// One per component.
    pub terms: Vec<EffortTerm>,
    /// μ: the share of the residual energy that is an error of the energy.
    pub mu: f64,
    /// ν: the share of what could not be corrected that is tried again.
    pub nu: f64,
    /// |f_corr| ≤ this share of |f|.
    pub relative_cap: f64,
    /// |f_corr| ≤ this, in the unit of the effort.
    pub absolute_cap: f64,
}

/// A component of the side that takes efforts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EffortTerm {
    /// The input that takes the effort, flat.
    pub effort: usize,
    /// The output that gives the flow, flat.
    pub flow: usize,
    /// Power that enters per product of both.
    pub factor: f64,
}

/// An input that is corrected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Target {
    input: usize,
    side: usize,
    component: usize,
}

#[derive(Clone, Debug, Default)]
struct SideState {
    /// ζ of the last step, in J.
    zeta: f64,
    /// Power that the correction puts in along the flow: (ζ + ν U), in J, still to be divided by the next H.
    wanted: f64,
    /// Flow at the last communication point.
    flow: Vec<f64>,
    /// |f| there.
    effort: f64,
    /// f_{k+1} - f_k.
    change: Vec<f64>,
    report: CorrectionReport,
}

/// The correction of rodriguez2022 §3.2, with any number of corrected bonds, vectors along v, junctions and changing steps.
#[derive(Clone, Debug)]
pub struct EnergyCorrection {
    /// What is corrected.
    pub sides: Vec<EffortSide>,
    /// How.
    pub form: Form,
    state: Vec<SideState>,
    /// By input.
    targets: Vec<Target>,
}

impl EnergyCorrection {
    /// One entry per corrected bond.
    pub fn new(sides: Vec<EffortSide>, form: Form) -> Self {
        let fresh = |side: &EffortSide| SideState {
            flow: vec![0.0; side.terms.len()],
            change: vec![0.0; side.terms.len()],
            ..SideState::default()
        };
        let target =
            |side: usize, component: usize, t: &EffortTerm| Target { input: t.effort, side, component };
        let mut targets: Vec<Target> = sides
            .iter()
            .enumerate()
            .flat_map(|(s, side)| side.terms.iter().enumerate().map(move |(c, t)| target(s, c, t)))
            .collect();
        targets.sort_unstable();
        EnergyCorrection { state: sides.iter().map(fresh).collect(), sides, form, targets }
    }

    /// The correction of one component in a step of length `h`, and whether the cap cut it.
    fn force(&self, s: usize, c: usize, h: f64) -> (f64, bool) {
        let (side, state) = (&self.sides[s], &self.state[s]);
        if self.form == Form::Difference {
            return (2.0 * side.mu * state.change[c], false);
        }
        let square: f64 = state.flow.iter().map(|v| v * v).sum();
        if square == 0.0 || state.wanted == 0.0 {
            return (0.0, false);
        }
        let size = (state.wanted / (square.sqrt() * h)).abs();
        let cap = (side.relative_cap * state.effort).min(side.absolute_cap);
        let factor = if size > cap { cap / size } else { 1.0 };
        (-factor * state.wanted * state.flow[c] / (side.terms[c].factor * square * h), factor < 1.0)
    }
}

impl Checkpointed for EnergyCorrection {
    fn save(&self, tape: &mut Checkpoint) {
        for s in &self.state {
            tape.extend(&[s.zeta, s.wanted, s.effort]);
            tape.extend(&s.flow);
            tape.extend(&s.change);
            s.report.save(tape);
        }
    }

    fn load(&mut self, tape: &mut Checkpoint) {
        for s in &mut self.state {
            s.zeta = tape.pull();
            s.wanted = tape.pull();
            s.effort = tape.pull();
            tape.fill(&mut s.flow);
            tape.fill(&mut s.change);
            s.report.load(tape);
        }
    }
}

impl InputCorrection for EnergyCorrection {
    fn apply(&self, macro_span: Span, _stage_span: Span, inputs: Range<usize>, delta: &mut [f64]) {
        delta[inputs.clone()].fill(0.0);
        let first = self.targets.partition_point(|t| t.input < inputs.start);
        for target in self.targets[first..].iter().take_while(|t| t.input < inputs.end) {
            delta[target.input] = self.force(target.side, target.component, macro_span.h).0;
        }
    }

    fn commit(&mut self, step: &StepView<'_>) {
        let h = step.span.h;
        for s in 0..self.sides.len() {
            let capped = self.force(s, 0, h).1;
            let (side, state) = (&self.sides[s], &mut self.state[s]);
            // f_k and f_{k+1} are what the coupling gives at both ends, before any correction or extrapolation.
            let (mut residual, mut put_in, mut square, mut effort) = (0.0, 0.0, 0.0, 0.0);
            for (c, &EffortTerm { effort: input, flow: output, factor }) in side.terms.iter().enumerate() {
                let (f_old, f_new) =
                    (step.wiring.row(input, step.y_prev), step.wiring.row(input, step.y_step));
                let (v_old, v_new) = (step.y_prev[output], step.y_step[output]);
                residual += factor * (f_old * v_new - f_new * v_old);
                put_in += factor * (step.corrected_end[input] - step.held_end[input]) * v_new * h;
                state.flow[c] = v_new;
                state.change[c] = f_new - f_old;
                square += v_new * v_new;
                effort += f_new * f_new;
            }
            let report = &mut state.report;
            report.added += put_in.max(0.0);
            report.removed += (-put_in).max(0.0);
            report.steps += 1.0;
            report.capped += f64::from(u8::from(capped));
            report.idle += f64::from(u8::from(square == 0.0));
            report.uncorrected += state.zeta + put_in;
            state.effort = effort.sqrt();
            state.zeta = side.mu * h * residual;
            state.wanted = state.zeta + side.nu * report.uncorrected;
        }
    }

    fn restart(&mut self, reached: &Reached<'_>) {
        let n = self.targets.last().map_or(0, |target| target.input + 1);
        reached.for_each_sharp(n, |i| {
            let first = self.targets.partition_point(|t| t.input < i);
            for target in self.targets[first..].iter().take_while(|t| t.input == i) {
                let state = &mut self.state[target.side];
                state.zeta = 0.0;
                state.wanted = 0.0;
                state.change.fill(0.0);
            }
        });
    }

    fn reports(&self) -> Vec<(usize, CorrectionReport)> {
        self.sides.iter().zip(&self.state).map(|(side, s)| (side.bond, s.report)).collect()
    }
}

/// μ by rule (rodriguez2022 eq. 19–21): 0.5 with feed-through on the effort-giving side, 0 with none. `giver_rate` and
/// `taker_rate` are sub-steps per macro step, `hold` the order of the hold on the faster side.
pub fn mu_by_rule(giver_feeds_through: bool, giver_rate: u32, taker_rate: u32, hold: u8) -> f64 {
    if !giver_feeds_through {
        return 0.0;
    }
    let single = 0.5;
    let ratio = f64::from(taker_rate) / f64::from(giver_rate);
    match (ratio >= 1.0, hold) {
        (true, 0) => single * (1.5 - 0.5 / ratio),
        (true, _) | (false, 0) => single,
        (false, _) => single * ratio,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values by hand from eq. 20 and 21.
    #[test]
    fn the_rule_for_mu() {
        let check = |giver: u32, taker: u32, hold: u8, expected: f64| {
            assert!(
                (mu_by_rule(true, giver, taker, hold) - expected).abs() < 1e-15,
                "{giver}:{taker} hold {hold}"
            );
        };
        check(1, 1, 0, 0.5);
        check(1, 10, 0, 0.725);
        check(1, 10, 1, 0.5);
        check(10, 1, 0, 0.5);
        check(10, 1, 1, 0.05);
        assert_eq!(mu_by_rule(false, 1, 10, 0), 0.0);
    }
}
