//! Energy correction: the energy that the coupling created in the last step is taken out again by a small force.

use super::{CorrectionReport, CorrectionState, InputCorrection};
use crate::checkpoint::{Checkpoint, Checkpointed};
use crate::feed_through::Reached;
use crate::step::{Seen, StepView};
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
    /// `f_corr = (1 - c) 2μ (f_{k+1} - f_k)` with c the confidence in identified feed-through, which puts right c of the outputs
    /// itself: while nothing is known the difference, later the identified gains, and never both.
    Auto,
}

/// How ζ is integrated over a step (rodriguez2022 eq. 13).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ZetaRule {
    /// `ζ = μ H δP_{k+1}`.
    #[default]
    Rectangle,
    /// `ζ = μ H (δP_k + δP_{k+1})/2`.
    Trapezoid,
}

/// With which velocity the force of the next step is computed (rodriguez2022 eq. 14).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Flow {
    /// v_{k+1}, at its start.
    #[default]
    Last,
    /// `v_{k+1} + (v_{k+1} - v_k) H'/(2 H)`, predicted for its middle.
    Predicted,
}

/// With which inputs δP is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ResidualInputs {
    /// u_k, those of the last communication point, whatever was held: `δP = f_k v_{k+1} - f_{k+1} v_k`.
    #[default]
    Last,
    /// Those that were held at the end of the step, before correction.
    Held,
}

/// The side of a bond that takes efforts (forces, torques, voltages, pressures) and gives flows.
#[derive(Clone, Debug, PartialEq)]
pub struct EffortSide {
    /// The bond.
    pub bond: usize,
    /// One per component.
    pub terms: Vec<EffortTerm>,
    /// ν: the share of what could not be corrected that is tried again.
    pub nu: f64,
    /// |f_corr| ≤ this share of |f|.
    pub relative_cap: f64,
    /// |f_corr| ≤ this, in the unit of the effort.
    pub absolute_cap: f64,
    /// The change of |f_corr| from step to step is at most this times the length of the step, in the unit of the effort per second.
    pub rate_limit: f64,
}

/// A component of the side that takes efforts.
#[derive(Clone, Debug, PartialEq)]
pub struct EffortTerm {
    /// The input that takes the effort, flat.
    pub effort: usize,
    /// The output that gives the flow, flat.
    pub flow: usize,
    /// Power that enters per product of both.
    pub factor: f64,
    /// Who gives the effort, one per source of the input, in the order of the wiring.
    pub givers: Vec<EffortGiver>,
}

/// A source of the input that takes the effort.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EffortGiver {
    /// μ: the share of its residual energy that is an error of the energy.
    pub mu: f64,
    /// It belongs to the bond.
    pub belongs: bool,
    /// The input of the giver that takes the flow from the output of the taker, flat, if it is connected to it.
    pub flow_input: Option<usize>,
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
    /// Σ μ δP of the last step, in W.
    power: f64,
    /// ζ of the last step, in J.
    zeta: f64,
    /// Power that the correction puts in along the flow: (ζ + ν U), in J, still to be divided by the next H.
    wanted: f64,
    /// Flow at the last communication point, and its change over the last step per second.
    flow: Vec<f64>,
    slope: Vec<f64>,
    /// |f| there.
    effort: f64,
    /// Σ 2μ (f_{k+1} - f_k).
    change: Vec<f64>,
    /// The correction of the last step, and whether a limit cut it.
    last: Vec<f64>,
    capped: bool,
    report: CorrectionReport,
}

/// The correction of rodriguez2022 §3.2, with any number of corrected bonds, vectors along v, junctions and changing steps.
#[derive(Clone, Debug)]
pub struct EnergyCorrection {
    /// What is corrected.
    pub sides: Vec<EffortSide>,
    /// How.
    pub form: Form,
    /// How ζ is integrated.
    pub zeta: ZetaRule,
    /// Along which flow.
    pub flow: Flow,
    /// From which inputs.
    pub residual: ResidualInputs,
    state: Vec<SideState>,
    /// By input.
    targets: Vec<Target>,
}

impl EnergyCorrection {
    /// One entry per corrected bond; all options as in the paper.
    pub fn new(sides: Vec<EffortSide>, form: Form) -> Self {
        let fresh = |side: &EffortSide| {
            let zeros = || vec![0.0; side.terms.len()];
            let (flow, slope, change, last) = (zeros(), zeros(), zeros(), zeros());
            SideState { flow, slope, change, last, ..SideState::default() }
        };
        let target =
            |side: usize, component: usize, t: &EffortTerm| Target { input: t.effort, side, component };
        let mut targets: Vec<Target> = sides
            .iter()
            .enumerate()
            .flat_map(|(s, side)| side.terms.iter().enumerate().map(move |(c, t)| target(s, c, t)))
            .collect();
        targets.sort_unstable();
        EnergyCorrection {
            state: sides.iter().map(fresh).collect(),
            sides,
            form,
            zeta: ZetaRule::default(),
            flow: Flow::default(),
            residual: ResidualInputs::default(),
            targets,
        }
    }

    /// The correction of one component in a step of length `h`, and whether a cap or the rate limit cut it.
    fn force(&self, s: usize, c: usize, h: f64) -> (f64, bool) {
        let (side, state) = (&self.sides[s], &self.state[s]);
        let (wanted, capped) = match self.form {
            Form::Difference | Form::Auto => (state.change[c], false),
            Form::Power => self.power_force(side, state, c, h),
        };
        let reach = side.rate_limit * h;
        let change = wanted - state.last[c];
        if change.abs() > reach {
            return (state.last[c] + reach.copysign(change), true);
        }
        (wanted, capped)
    }

    fn power_force(&self, side: &EffortSide, state: &SideState, c: usize, h: f64) -> (f64, bool) {
        let ahead = match self.flow {
            Flow::Last => 0.0,
            Flow::Predicted => 0.5 * h,
        };
        let flow = |c: usize| state.flow[c] + ahead * state.slope[c];
        let square: f64 = (0..state.flow.len()).map(|c| flow(c) * flow(c)).sum();
        if square == 0.0 || state.wanted == 0.0 {
            return (0.0, false);
        }
        let size = (state.wanted / (square.sqrt() * h)).abs();
        let cap = (side.relative_cap * state.effort).min(side.absolute_cap);
        let factor = if size > cap { cap / size } else { 1.0 };
        (-factor * state.wanted * flow(c) / (side.terms[c].factor * square * h), factor < 1.0)
    }
}

impl Checkpointed for EnergyCorrection {
    fn save(&self, tape: &mut Checkpoint) {
        for s in &self.state {
            tape.extend(&[s.power, s.zeta, s.wanted, s.effort]);
            [&s.flow, &s.slope, &s.change, &s.last].into_iter().for_each(|list| tape.extend(list));
            s.report.save(tape);
        }
    }

    fn load(&mut self, tape: &mut Checkpoint) {
        for s in &mut self.state {
            [s.power, s.zeta, s.wanted, s.effort] = [(); 4].map(|()| tape.pull());
            [&mut s.flow, &mut s.slope, &mut s.change, &mut s.last]
                .into_iter()
                .for_each(|list| tape.fill(list));
            s.report.load(tape);
        }
    }
}

impl InputCorrection for EnergyCorrection {
    fn apply(&self, macro_span: Span, _stage_span: Span, inputs: Range<usize>, delta: &mut [f64]) {
        delta[inputs.clone()].fill(0.0);
        let first = self.targets.partition_point(|t| t.input < inputs.start);
        for target in self.targets[first..].iter().take_while(|t| t.input < inputs.end) {
            delta[target.input] += self.force(target.side, target.component, macro_span.h).0;
        }
    }

    fn commit(&mut self, step: &StepView<'_>) {
        let h = step.span.h;
        for s in 0..self.sides.len() {
            let (mut capped, mut put_in) = (false, 0.0);
            for c in 0..self.sides[s].terms.len() {
                let (force, cut) = self.force(s, c, h);
                let term = &self.sides[s].terms[c];
                capped |= cut;
                put_in += term.factor * force * step.y_step[term.flow] * h;
                self.state[s].last[c] = force;
            }
            let (side, state) = (&self.sides[s], &mut self.state[s]);
            let (mut power, mut square, mut effort) = (0.0, 0.0, 0.0);
            for (c, term) in side.terms.iter().enumerate() {
                let (v_old, v_new) = (step.y_prev[term.flow], step.y_step[term.flow]);
                let seen = term.seen(step, self.form, self.residual, [v_old, v_new]);
                power += term.factor * seen.power;
                state.change[c] = seen.change;
                state.slope[c] = (v_new - v_old) / h;
                state.flow[c] = v_new;
                square += v_new * v_new;
                effort += seen.effort * seen.effort;
            }
            let report = &mut state.report;
            report.added += put_in.max(0.0);
            report.removed += (-put_in).max(0.0);
            report.steps += 1.0;
            report.capped += f64::from(u8::from(capped));
            state.capped = capped;
            report.idle += f64::from(u8::from(square == 0.0));
            report.uncorrected += state.zeta + put_in;
            state.effort = effort.sqrt();
            let mean = match self.zeta {
                ZetaRule::Trapezoid if !step.after_restart => 0.5 * (state.power + power),
                _ => power,
            };
            state.power = power;
            state.zeta = h * mean;
            state.wanted = state.zeta + side.nu * report.uncorrected;
        }
    }

    fn restart(&mut self, reached: &Reached<'_>) {
        let n = self.targets.last().map_or(0, |target| target.input + 1);
        reached.for_each_sharp(n, |i| {
            let first = self.targets.partition_point(|t| t.input < i);
            for target in self.targets[first..].iter().take_while(|t| t.input == i) {
                let state = &mut self.state[target.side];
                (state.power, state.zeta, state.wanted) = (0.0, 0.0, 0.0);
                state.change.fill(0.0);
                state.slope.fill(0.0);
            }
        });
    }

    fn states(&self, list: &mut Vec<(usize, CorrectionState)>) {
        for (side, state) in self.sides.iter().zip(&self.state) {
            let givers = || side.terms.iter().flat_map(|term| &term.givers).filter(|giver| giver.belongs);
            let force = state.last.iter().map(|f| f * f).sum::<f64>().sqrt();
            let mu = givers().map(|giver| giver.mu).sum::<f64>() / (givers().count().max(1) as f64);
            let (zeta, uncorrected) = (state.zeta, state.report.uncorrected);
            list.push((side.bond, CorrectionState { force, zeta, uncorrected, mu, capped: state.capped }));
        }
    }

    fn reports(&self) -> Vec<(usize, CorrectionReport)> {
        self.sides.iter().zip(&self.state).map(|(side, s)| (side.bond, s.report)).collect()
    }
}

/// What a component did in a step.
struct Happened {
    /// Σ μ δP, in W without the factor of the component.
    power: f64,
    /// Σ 2μ (f_{k+1} - f_k).
    change: f64,
    /// f_{k+1}, of the givers that belong to the bond.
    effort: f64,
}

impl EffortTerm {
    /// What every giver did: f_k and f_{k+1} are what the coupling gives at both ends, before any correction or extrapolation.
    fn seen(
        &self,
        step: &StepView<'_>,
        form: Form,
        inputs: ResidualInputs,
        [v_old, v_new]: [f64; 2],
    ) -> Happened {
        let mut seen = Happened { power: 0.0, change: 0.0, effort: 0.0 };
        let (mut count, mut mu) = (0.0, 0.0);
        for ((output, gain), giver) in step.wiring.sources(self.effort).zip(&self.givers) {
            if !giver.belongs {
                continue;
            }
            let (f_old, f_new) = (gain * step.y_prev[output], gain * step.y_step[output]);
            let v_given = match inputs {
                ResidualInputs::Last => v_old,
                ResidualInputs::Held => giver.held_flow(step, self.flow).unwrap_or(v_old),
            };
            seen.power += giver.mu * (f_old * v_new - f_new * v_given);
            seen.change += match (form, step.identified) {
                (Form::Auto, Some(identified)) => {
                    let open = 1.0 - identified.trust(output);
                    2.0 * giver.mu * open * (gain * step.y_fresh[output] - f_old)
                }
                _ => 2.0 * giver.mu * (f_new - f_old),
            };
            seen.effort += f_new;
            (count, mu) = (count + 1.0, mu + giver.mu);
        }
        if inputs == ResidualInputs::Held && count > 0.0 {
            // What the hold added to f_k counts with the mean μ of all givers.
            let held = step.held_end[self.effort] - step.wiring.row(self.effort, step.y_prev);
            seen.power += mu / count * held * v_new;
        }
        seen
    }
}

impl EffortGiver {
    /// The flow that the giver was given at the end of the step, in the sense of output `flow` of the taker.
    fn held_flow(&self, step: &StepView<'_>, flow: usize) -> Option<f64> {
        let input = self.flow_input?;
        let (_, gain) = step.wiring.sources(input).find(|(output, gain)| *output == flow && *gain != 0.0)?;
        Some((step.held_end[input] - step.wiring.offset(input)) / gain)
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

/// How a giver of efforts and their taker exchange, as far as μ depends on it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GiverRule {
    /// An output of the giver depends on its input at the same instant.
    pub feeds_through: bool,
    /// Sub-steps of the giver in a macro step.
    pub giver_rate: u32,
    /// Sub-steps of the taker in a macro step.
    pub taker_rate: u32,
    /// The order with which the flow is held that the giver is given; what it follows of a line, if it sees one.
    pub giver_hold: u8,
    /// The order with which the effort is held that the taker is given; what it follows of a line, if it sees one.
    pub taker_hold: u8,
    /// Both exchange at every sub-step.
    pub in_group: bool,
    /// Efforts belong to the flow of the same instant: outputs are read again.
    pub refreshed: bool,
    /// What the giver sees of the flow, and the taker of the effort, in the same macro step.
    pub flow_seen: Seen,
    /// See `flow_seen`.
    pub effort_seen: Seen,
}

impl GiverRule {
    /// μ = λ/2, with λ the time by which the motion in the effort lags behind where the taker's first sub-step samples it, in macro
    /// steps. Eq. 19–21 are this for λ = 1 (one step old) + (1 - 1/R)/2 (held constant over R sub-steps); a giver that knows the
    /// motion of the same instant (refresh, or it steps after its taker) has only the second part, and so has a taker that sees the
    /// newest effort of a giver that stepped before it. Never below 0: a lead is left alone.
    pub fn mu(&self) -> f64 {
        if !self.feeds_through {
            return 0.0;
        }
        let hold = if self.giver_rate > self.taker_rate { self.giver_hold } else { self.taker_hold };
        let old = mu_by_rule(true, self.giver_rate, self.taker_rate, hold);
        let rate = if self.in_group { 1.0 } else { f64::from(self.taker_rate) };
        let held = if self.taker_hold == 0 { 0.25 * (1.0 - 1.0 / rate) } else { 0.0 };
        let mu = match (self.effort_seen, self.flow_seen) {
            (Seen::Held, Seen::Latest) => held,
            // The middle of a line: half a step of the giver old at its end where it takes values only.
            (Seen::Held, Seen::Between) if self.giver_hold == 0 => held + 0.25 / f64::from(self.giver_rate),
            (Seen::Held, Seen::Between) => held,
            (Seen::Held, Seen::Held) if self.refreshed => held,
            (Seen::Held, Seen::Held) => old,
            // One step younger than if it were held.
            (Seen::Latest, _) => (old - 0.5).max(0.0),
            // A line from the last effort to this one, or its middle where the taker takes values only.
            (Seen::Between, _) if self.taker_hold > 0 => old,
            (Seen::Between, _) => (old - held - 0.25 / rate).max(0.0),
        };
        if self.in_group { mu / f64::from(self.taker_rate) } else { mu }
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

    /// By hand: what is left of the lag where the giver knows the motion of the same instant, or the taker the newest effort.
    #[test]
    fn the_rule_knows_the_schedule_and_refresh() {
        let jacobi = GiverRule {
            feeds_through: true,
            giver_rate: 1,
            taker_rate: 1,
            giver_hold: 0,
            taker_hold: 0,
            in_group: false,
            refreshed: false,
            flow_seen: Seen::Held,
            effort_seen: Seen::Held,
        };
        let check = |rule: GiverRule, expected: f64| {
            assert!((rule.mu() - expected).abs() < 1e-15, "{rule:?}: {} instead of {expected}", rule.mu());
        };
        check(jacobi, 0.5);
        check(GiverRule { taker_rate: 10, ..jacobi }, 0.725);
        check(GiverRule { refreshed: true, ..jacobi }, 0.0);
        check(GiverRule { refreshed: true, taker_rate: 10, ..jacobi }, 0.225);
        check(GiverRule { refreshed: true, taker_rate: 10, taker_hold: 1, ..jacobi }, 0.0);
        check(GiverRule { flow_seen: Seen::Latest, ..jacobi }, 0.0);
        check(GiverRule { flow_seen: Seen::Latest, taker_rate: 10, ..jacobi }, 0.225);
        check(GiverRule { flow_seen: Seen::Between, ..jacobi }, 0.25);
        check(GiverRule { flow_seen: Seen::Between, giver_hold: 1, ..jacobi }, 0.0);
        check(GiverRule { effort_seen: Seen::Latest, ..jacobi }, 0.0);
        check(GiverRule { effort_seen: Seen::Latest, taker_rate: 10, ..jacobi }, 0.225);
        check(GiverRule { effort_seen: Seen::Between, ..jacobi }, 0.25);
        check(GiverRule { giver_rate: 20, giver_hold: 1, ..jacobi }, 0.025);
        check(GiverRule { giver_rate: 4, taker_rate: 4, in_group: true, ..jacobi }, 0.125);
        check(GiverRule { feeds_through: false, ..jacobi }, 0.0);
    }
}
