//! A step until it stands: attempts, estimates, decisions, and going back.

use super::{Engine, StartUp};
use crate::controller::{Ceiling, Decision, Retry};
use crate::error::RunError;
use crate::estimator::Estimate;
use crate::network::Network;
use crate::observe::{Flow, Observer};
use crate::step::{Improved, Moment, StepRecord, Still, Sweep, Swept};
use crate::subsystem::{Span, StepEvent};
use crate::time::Proposal;

/// How many times in a row a step may be rejected.
const MAX_REJECTIONS: u32 = 60;

/// The nilpotency that is assumed where feed-through is unknown or loops are not solved.
const UNKNOWN_DEPTH: usize = 3;

/// What happened to a step before it stood.
#[derive(Default)]
pub(super) struct Tries {
    /// How often it was rejected because of its error.
    pub rejections: u32,
    /// How often it was cut because a member stopped early.
    cuts: u32,
    /// Why an attempt could not be finished, the last time that happened.
    cause: Option<Box<RunError>>,
    /// The error norm of the attempt before.
    norm: Option<f64>,
}

/// A norm that is more than this share of the one before, at a smaller step, does not depend on the step: even an error of first
/// order would be smaller by the least that a rejection shortens a step by.
const UNCHANGED: f64 = 0.95;

impl Engine {
    /// Makes one accepted step.
    pub(super) fn single_step(&mut self, observer: &mut dyn Observer) -> Result<Flow, RunError> {
        let proposal = self.clock.propose(self.wish);
        self.single_step_from(proposal, observer)
    }

    /// As [`Engine::single_step`], beginning with this proposal.
    pub(super) fn single_step_from(
        &mut self,
        mut proposal: Proposal,
        observer: &mut dyn Observer,
    ) -> Result<Flow, RunError> {
        let mut tries = Tries::default();
        let wish;
        let saved = self.saves && self.save_for(proposal.span)?;
        loop {
            let span = proposal.span;
            let retry = self.retry(saved, span.h);
            let retry_h = match self.attempt(span) {
                Ok(Swept::Early { member, reached }) => {
                    let early = RunError::EarlyReturn { member, span, reached };
                    let cut = self.clock.cut(reached).filter(|_| saved && !reached.is_nan());
                    proposal = cut.ok_or_else(|| early.clone())?;
                    self.cut_short(span, &mut tries, early)?;
                    continue;
                }
                Ok(Swept::Terminated { member, reached }) => {
                    let Some(cut) = self.clock.cut(reached).filter(|_| saved) else {
                        return Ok(self.terminate(member, reached));
                    };
                    proposal = cut;
                    self.cut_short(span, &mut tries, RunError::EarlyReturn { member, span, reached })?;
                    continue;
                }
                Ok(Swept::Whole) => {
                    let driving = self.record.estimates.first().copied();
                    match self.judge(driving, &proposal, retry) {
                        Decision::Accept { next_h } => {
                            wish = std::mem::replace(&mut self.wish, next_h);
                            if let Some(input) = self.crossed_jump(span, driving) {
                                self.report_jump(input);
                            }
                            break;
                        }
                        Decision::Reject { retry_h } => retry_h,
                    }
                }
                Err(error) => self.smaller_after(error, span.h, retry, &mut tries)?,
            };
            self.wish = self.reject(span, span.h, retry_h, &mut tries)?;
            proposal = self.clock.propose(self.wish);
        }
        self.accept(tries.rejections, wish, observer)
    }

    /// The input that jumped in an accepted step, if that is over a discontinuity that nothing announced: one that rejections located, one
    /// with an error far above those before it, or one of the run that is repeated.
    #[inline]
    fn crossed_jump(&self, span: Span, driving: Option<Estimate>) -> Option<usize> {
        let repeated = &self.settings.repeated_jumps;
        if driving.is_none() && repeated.is_empty() {
            return None;
        }
        let place = repeated.partition_point(|(end, _)| *end < span.end);
        if let Some((_, input)) = repeated.get(place).filter(|(end, _)| *end == span.end) {
            return Some(*input);
        }
        let estimate = driving?;
        let crosses = || self.policies.driving().is_some_and(|e| e.crosses_jump(&estimate));
        estimate.limited_by.filter(|_| self.policies.controller.has_located() || crosses())
    }

    /// The discontinuity that was crossed is an event of the subsystems that feed the input that jumps.
    fn report_jump(&mut self, input: usize) {
        let Engine { network, record, .. } = self;
        for (output, _) in network.wiring.sources(input) {
            let member = network.owner_of_output[output];
            if record.eventful.iter().all(|(s, _)| *s != member) {
                record.eventful.push((member, StepEvent::Handled));
            }
        }
    }

    /// Saves everything if something may take the attempt over `span` back; members are told where nothing will.
    fn save_for(&mut self, span: Span) -> Result<bool, RunError> {
        if self.returns_early || self.policies.controller.wants_save() {
            self.has_saved = self.save(span)?;
            return Ok(self.has_saved);
        }
        if std::mem::replace(&mut self.has_saved, false) {
            self.network.members.iter_mut().for_each(|member| member.simulator.release());
        }
        Ok(false)
    }

    /// A member ended the simulation at `reached`, where no step of all members ends: the last communication point is the end.
    pub(super) fn terminate(&mut self, member: usize, reached: f64) -> Flow {
        self.terminated = Some((member, reached.max(self.clock.time())));
        Flow::Continue
    }

    /// Whether an attempt of length `h` may be made again.
    #[inline]
    pub(super) fn retry(&self, saved: bool, h: f64) -> Retry {
        if !saved {
            return Retry::Impossible;
        }
        let floor = self.policies.controller.floor() * (1.0 + 1e-9);
        if h <= floor || self.clock.pace().shorter(h, 0.5 * h).is_none() {
            Retry::AtFloor
        } else {
            Retry::Possible
        }
    }

    /// What becomes of an attempt with this driving estimate.
    #[inline]
    pub(super) fn judge(&mut self, driving: Option<Estimate>, proposal: &Proposal, retry: Retry) -> Decision {
        let estimate = driving.unwrap_or(Estimate::NONE);
        // A step that something else shortened says nothing about the wish, unless it was still too long.
        if proposal.shortened && estimate.norm <= 1.0 {
            return Decision::Accept { next_h: self.wish };
        }
        // Norms that still find their scales are no reason to go back.
        let warms_up = self.policies.is_warming_up() && !self.policies.controller.trusts_warm_up();
        let settles = warms_up || self.policies.ceiling.as_ref().is_some_and(Ceiling::is_opening);
        let retry = if settles { Retry::Impossible } else { retry };
        self.policies.controller.decide(estimate, proposal.span.h, retry)
    }

    /// Whether an attempt failed by something that no shorter step takes away: outputs at its start that lag behind by the longer
    /// steps before. Along a chain of feed-through they need a step each to catch up, and a step is what lets them.
    pub(super) fn only_lags(&self, driving: Option<Estimate>, tries: &mut Tries) -> bool {
        let norm = driving.map_or(f64::NAN, |e| e.norm);
        let unchanged = tries.norm.is_some_and(|before| norm.is_finite() && norm > UNCHANGED * before);
        tries.norm = Some(norm);
        unchanged && self.has_stale_chain()
    }

    /// Whether an output that feeds inputs through, and is not read again, reaches another such output.
    fn has_stale_chain(&self) -> bool {
        let Engine { network, structure, settings, .. } = self;
        let stale = |o: usize| {
            !structure.feeds_through[o].is_empty() && !settings.refresh.contains(&network.owner_of_output[o])
        };
        let reaches = |o: usize| {
            structure.feeds_through[o]
                .iter()
                .any(|&i| network.wiring.sources(i).any(|(source, _)| stale(source)))
        };
        (0..network.n_outputs).any(|o| stale(o) && reaches(o))
    }

    /// The size to retry with after an attempt that could not be finished, or the error if there is none.
    pub(super) fn smaller_after(
        &mut self,
        error: RunError,
        h: f64,
        retry: Retry,
        tries: &mut Tries,
    ) -> Result<f64, RunError> {
        let endless = Estimate::new(f64::INFINITY, 1.0);
        let hopeless = !self.policies.controller.may_reject() || !error.may_pass_with_smaller_steps();
        if retry != Retry::Possible || hopeless {
            return Err(error);
        }
        match self.policies.controller.decide(endless, h, retry) {
            Decision::Reject { retry_h } => {
                tries.cause = Some(Box::new(error));
                Ok(retry_h)
            }
            Decision::Accept { .. } => Err(error),
        }
    }

    /// Takes an attempt back because of its error, and tells the size to retry with; an error if a retry is pointless.
    pub(super) fn reject(
        &mut self,
        span: Span,
        h: f64,
        retry_h: f64,
        tries: &mut Tries,
    ) -> Result<f64, RunError> {
        self.statistics.rejected += 1;
        tries.rejections += 1;
        let norm = self.record.estimates.first().map_or(f64::NAN, |e| e.norm);
        self.rejected_norm = self.rejected_norm.max(norm);
        let shorter = self.clock.pace().shorter(h, retry_h).filter(|h| h.is_finite() && *h > 0.0);
        match shorter {
            Some(retry_h) if tries.rejections <= MAX_REJECTIONS => {
                self.restore(span)?;
                Ok(retry_h)
            }
            _ => {
                let norm = self.record.estimates.first().map_or(f64::NAN, |e| e.norm);
                let view = self.record.view(&self.network, self.doubled());
                let blame = self.policies.driving().and_then(|e| e.blame(&view));
                let (count, cause) = (tries.rejections, tries.cause.take());
                Err(RunError::Rejections { span, norm, count, blame, cause })
            }
        }
    }

    /// Takes an attempt back because a member stopped early: that is no error of the step.
    pub(super) fn cut_short(
        &mut self,
        span: Span,
        tries: &mut Tries,
        early: RunError,
    ) -> Result<(), RunError> {
        self.statistics.early_returns += 1;
        tries.cuts += 1;
        if tries.cuts > MAX_REJECTIONS {
            return Err(early);
        }
        self.restore(span)
    }

    /// Brings everything back to where the step began.
    pub(super) fn restore(&mut self, span: Span) -> Result<(), RunError> {
        for (s, member) in self.network.members.iter_mut().enumerate() {
            let fail = |error| RunError::Subsystem { member: s, phase: "restoring a state", span, error };
            member.simulator.restore().map_err(fail)?;
        }
        self.network.packets.forget();
        Ok(())
    }

    /// Saves everything. Where that fails, a step in a pair is impossible; a single one is made, counted and kept.
    pub(super) fn save(&mut self, span: Span) -> Result<bool, RunError> {
        for (s, member) in self.network.members.iter_mut().enumerate() {
            if let Err(error) = member.simulator.save() {
                if self.pair.is_some() {
                    return Err(RunError::Subsystem { member: s, phase: "saving a state", span, error });
                }
                self.statistics.unsaved += 1;
                self.statistics.refused.get_or_insert((s, error));
                // Nobody goes back without the others.
                self.network.members[..=s].iter_mut().for_each(|member| member.simulator.release());
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Tries a step and estimates its error; nothing is remembered.
    pub(super) fn attempt(&mut self, span: Span) -> Result<Swept, RunError> {
        let swept = self.sweep(span)?;
        if swept == Swept::Whole {
            self.exchange.look_at_defects(
                &self.policies.schedule,
                self.policies.extrapolation.orders(),
                &mut self.record,
            );
            self.exchange.note_orders(self.policies.extrapolation.as_ref(), &mut self.record);
            self.meter.close(&self.network.bonds, &self.exchange.held, &mut self.record);
            if let Some(sampled) = &self.policies.sampled {
                sampled.excuse(&mut self.record);
            }
            self.estimate();
        }
        Ok(swept)
    }

    #[inline]
    fn estimate(&mut self) {
        if self.policies.estimators.is_empty() {
            return;
        }
        let mut estimates = std::mem::take(&mut self.record.estimates);
        let view = self.record.view(&self.network, self.doubled());
        self.policies.estimate(&view, &mut estimates);
        self.record.estimates = estimates;
        if self.settings.details {
            self.tell();
        }
    }

    /// Notes the errors of bonds and outputs one by one.
    #[inline(never)] // Most runs do not ask for them.
    fn tell(&mut self) {
        let [mut bonds, mut outputs] =
            [&mut self.record.bond_errors, &mut self.record.output_errors].map(std::mem::take);
        let view = self.record.view(&self.network, self.doubled());
        self.policies.tell(&view, &mut bonds, &mut outputs);
        (self.record.bond_errors, self.record.output_errors) = (bonds, outputs);
    }

    /// Crosses a span with all members, and makes outputs belong to inputs at its end.
    #[inline]
    pub(super) fn sweep(&mut self, span: Span) -> Result<Swept, RunError> {
        self.sweep_on(span, None)
    }

    /// As [`Engine::sweep`]; with what was held `onward` from the step before, if that is given.
    pub(super) fn sweep_on(&mut self, span: Span, onward: Option<&Span>) -> Result<Swept, RunError> {
        self.statistics.sweeps += 1;
        self.record.span = span;
        let mut sweep = Sweep {
            schedule: &self.policies.schedule,
            hold: self.policies.extrapolation.as_ref(),
            correction: self.policies.correction.as_deref(),
            workers: self.workers.as_mut(),
            allow_nonfinite: self.settings.allow_nonfinite,
            onward,
        };
        let swept = sweep.run(&mut self.network, &mut self.exchange, &mut self.meter, &mut self.record)?;
        if swept == Swept::Whole {
            self.refresh_outputs()?;
        }
        Ok(swept)
    }

    /// Fresh inputs at the end of a step, with outputs that are read again, improved or solved for where that is done.
    fn refresh_outputs(&mut self) -> Result<(), RunError> {
        let Engine { network, record, exchange, .. } = self;
        if !self.refresh.is_empty() {
            let StepRecord { fresh, y_fresh, y_step, span, held_end, .. } = &mut *record;
            y_fresh.copy_from_slice(y_step);
            // Loops begin with what was predicted.
            fresh.copy_from_slice(held_end);
            network.externals_before(span.end, fresh);
            let (mut u, mut y) = (std::mem::take(fresh), std::mem::take(y_fresh));
            let acted = |i: usize| exchange.input_at_end(record, i);
            let improved = self.policies.identifier.as_ref().map(|identifier| Improved {
                identifier,
                acted: &acted,
                base: &record.y_step,
            });
            let mut still = Still {
                network,
                u: &mut u,
                y: &mut y,
                moment: Moment::End,
                span: record.span,
                allow_nonfinite: self.settings.allow_nonfinite,
                improved,
            };
            let done = self.refresh.run(&mut still, |_| true);
            (record.fresh, record.y_fresh) = (u, y);
            done?;
        } else if !record.y_fresh.is_empty() {
            record.y_fresh.copy_from_slice(&record.y_step);
        }
        gather(network, record);
        let y_end = if record.y_fresh.is_empty() { &record.y_step } else { &record.y_fresh };
        if let Some(mean) = &mut record.mean_defect {
            mean.finish(network, &self.policies.schedule.rates, record.span, &record.y_step, y_end);
        }
        Ok(())
    }

    /// The first step of a grid is split where a hold needs that.
    ///
    /// States are on one smooth path from the end of the first part on, which held their inputs constant: three nodes of it are known
    /// after three parts. Outputs that feed an input through lag behind it until a parabola through three such nodes predicts it, those
    /// that they feed three parts longer, and so on along the feed-through graph. With nilpotency M, 3 M tiny steps; 4 M where a cubic needs
    /// four nodes.
    pub(super) fn start_up(&mut self) {
        if self.settings.start_up == StartUp::RunUp && self.needs_run_up() {
            let known = self.structure.nilpotency.filter(|_| self.structure.unknown.is_empty());
            let nodes = u32::from(self.policies.extrapolation.max_order()) + 1;
            self.clock.run_up(nodes * known.unwrap_or(UNKNOWN_DEPTH) as u32);
        }
    }

    /// Whether an input is held with order 2 and has no derivatives to begin with.
    fn needs_run_up(&self) -> bool {
        let Engine { network, policies, settings, .. } = self;
        let orders = policies.extrapolation.orders();
        let takes = |i: usize| network.members[network.owner_of_input[i]].capabilities.input_derivatives;
        let known = |i: usize| {
            let gives = |(o, _): (usize, f64)| {
                network.members[network.owner_of_output[o]].capabilities.output_derivatives > 0
            };
            settings.output_derivatives && network.wiring.sources(i).all(gives)
        };
        let needs = |i: usize| network.wiring.is_coupled(i) && orders[i] > 1 && takes(i) > 1 && !known(i);
        !policies.extrapolation.orders_vary() && (0..network.n_inputs).any(needs)
    }
}

/// `u = L y` at the end of the step.
fn gather(network: &Network, record: &mut StepRecord) {
    let StepRecord { fresh, y_fresh, y_step, span, .. } = record;
    let y = if y_fresh.is_empty() { y_step } else { y_fresh };
    network.wiring.gather(y, fresh);
    network.externals_before(span.end, fresh);
}
