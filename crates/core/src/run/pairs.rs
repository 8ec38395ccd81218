//! Pairs of steps beside a big one: both small steps are accepted or rejected together.

use super::Engine;
use super::attempt::Tries;
use super::commit::Place;
use crate::checkpoint::Checkpointed;
use crate::controller::Decision;
use crate::error::RunError;
use crate::estimator::{BigStep, Estimate};
use crate::observe::{Flow, Observer};
use crate::step::{Doubled, Swept};
use crate::subsystem::Span;
use crate::time::{PairProposal, Proposal};

/// What an attempt of a pair came to.
enum PairAttempt {
    /// Both steps are made.
    Both,
    /// A member stopped early.
    Early { member: usize, reached: f64 },
    /// The first step met a discontinuity: it has to stand alone.
    EventInFirst,
    /// A member ended the simulation before the end of a step.
    Terminated { member: usize, reached: f64 },
}

impl Engine {
    /// Makes two accepted steps; a single one where there is no room for two, or a discontinuity between them.
    pub(super) fn double_step(&mut self, observer: &mut dyn Observer) -> Result<Flow, RunError> {
        let Some(mut pair) = self.clock.propose_pair(self.wish) else { return self.single_step(observer) };
        let mut tries = Tries::default();
        let wish;
        self.save(pair.whole)?;
        self.remember();
        loop {
            let h = pair.halves[0].h;
            let retry = self.retry(true, h);
            let retry_h = match self.attempt_pair(&pair) {
                Ok(PairAttempt::Early { member, reached }) => {
                    let early = RunError::EarlyReturn { member, span: pair.whole, reached };
                    let cut = self.clock.cut(reached).filter(|_| !reached.is_nan());
                    let cut = cut.ok_or_else(|| early.clone())?;
                    self.cut_short(pair.whole, &mut tries, early)?;
                    self.recall();
                    match self.clock.cut_pair(reached) {
                        Some(shorter) => pair = shorter,
                        None => return self.single_step_from(cut, observer),
                    }
                    continue;
                }
                Ok(PairAttempt::Terminated { member, reached }) => {
                    let Some(cut) = self.clock.cut(reached) else {
                        return Ok(self.terminate(member, reached));
                    };
                    let early = RunError::EarlyReturn { member, span: pair.whole, reached };
                    self.cut_short(pair.whole, &mut tries, early)?;
                    self.recall();
                    return self.single_step_from(cut, observer);
                }
                Ok(PairAttempt::EventInFirst) => {
                    let driving = self.record.estimates.first().copied();
                    let proposal = Proposal { span: pair.halves[0], shortened: pair.shortened };
                    match self.judge(driving, &proposal, retry) {
                        Decision::Accept { next_h } => {
                            let wish = std::mem::replace(&mut self.wish, next_h);
                            return self.accept(tries.rejections, wish, observer);
                        }
                        Decision::Reject { retry_h } => retry_h,
                    }
                }
                Ok(PairAttempt::Both) => {
                    let proposal = Proposal { span: pair.halves[0], shortened: pair.shortened };
                    let driving = self.worse_half();
                    match self.judge(driving, &proposal, retry) {
                        Decision::Accept { next_h } => {
                            wish = std::mem::replace(&mut self.wish, next_h);
                            break;
                        }
                        // It stands, counts as over tolerance, and the next pair begins with outputs that lag less.
                        Decision::Reject { .. } if self.only_lags(driving, &mut tries) => {
                            wish = std::mem::replace(&mut self.wish, h);
                            break;
                        }
                        Decision::Reject { retry_h } => retry_h,
                    }
                }
                Err(error) => self.smaller_after(error, h, retry, &mut tries)?,
            };
            let retry_h = self.reject(pair.halves[1], h, retry_h, &mut tries)?;
            self.recall();
            self.wish = retry_h;
            match self.clock.propose_pair(retry_h) {
                Some(next) => pair = next,
                None => return self.single_step(observer),
            }
        }
        self.accept_pair(tries.rejections, wish, observer)
    }

    /// The driving estimate of the small step that has the larger one.
    fn worse_half(&self) -> Option<Estimate> {
        let second = self.record.estimates.first().copied();
        let first = self.pair.as_ref().and_then(|pair| pair.first.estimates.first().copied());
        if first.map(|e| e.norm) > second.map(|e| e.norm) { first } else { second }
    }

    /// What estimators see of the pair in its second step.
    pub(super) fn doubled(&self) -> Option<Doubled<'_>> {
        self.pair.as_ref().and_then(|pair| pair.seen(&self.exchange))
    }

    /// Whether every member can keep a state in the middle of a pair: asked after initialization, as memory for it is made then.
    pub(super) fn look_for_second_slot(&mut self) {
        let Some(pair) = self.pair.as_mut().filter(|pair| pair.shares) else { return };
        let mut members = self.network.members.iter_mut();
        pair.shares = members.all(|member| member.simulator.save_second().is_ok());
    }

    /// The big steps, then the two small ones; policies learn from the first. A modified big step goes on from the end of the first
    /// small one where it can.
    fn attempt_pair(&mut self, pair: &PairProposal) -> Result<PairAttempt, RunError> {
        if let Some(early) = self.big_steps(pair.whole)? {
            return Ok(early);
        }
        match self.attempt(pair.halves[0])? {
            Swept::Whole => {}
            Swept::Early { member, reached } => return Ok(PairAttempt::Early { member, reached }),
            Swept::Terminated { member, reached } => return Ok(PairAttempt::Terminated { member, reached }),
        }
        if !self.record.eventful.is_empty() {
            return Ok(PairAttempt::EventInFirst);
        }
        // A discontinuity that was announced just now is not to be crossed by the second half.
        let announced = self.record.announced;
        if announced < pair.whole.end && self.clock.heeds(announced) {
            let is_its = |s: &usize| self.network.members[*s].simulator.next_event() == Some(announced);
            let member = (0..self.network.members.len()).find(is_its).unwrap_or(0);
            return Ok(PairAttempt::Early { member, reached: announced });
        }
        if let Some(early) = self.second_half_of_big(pair)? {
            return Ok(early);
        }
        self.learn()?;
        self.keep_first();
        self.exchange_after_first()?;
        match self.attempt(pair.halves[1])? {
            Swept::Whole => Ok(PairAttempt::Both),
            Swept::Early { member, reached } => Ok(PairAttempt::Early { member, reached }),
            Swept::Terminated { member, reached } => Ok(PairAttempt::Terminated { member, reached }),
        }
    }

    /// The record of the first half goes to the pair; the second half gets another one that continues it.
    fn keep_first(&mut self) {
        self.swap_first();
        if let Some(pair) = &mut self.pair {
            pair.complete();
        }
    }

    /// Puts away what was held on the first half, or brings it back.
    fn swap_held(&mut self) {
        if let Some(pair) = &mut self.pair {
            std::mem::swap(&mut self.exchange.held, &mut pair.held);
        }
    }

    /// The record of the first half changes places with that of the second, which continues it.
    fn swap_first(&mut self) {
        let Some(pair) = &mut self.pair else { return };
        std::mem::swap(&mut self.record, &mut pair.first);
        self.record.continue_from(&pair.first);
    }

    /// The end of the first half is a communication point.
    fn exchange_after_first(&mut self) -> Result<(), RunError> {
        let Some(pair) = &self.pair else { return Ok(()) };
        self.exchange.commit(&self.policies.schedule, &pair.first);
        let span = pair.first.span;
        self.arrive(span)
    }

    /// Makes the big steps; what stopped one early.
    fn big_steps(&mut self, whole: Span) -> Result<Option<PairAttempt>, RunError> {
        let Some(mut pair) = self.pair.take() else { return Ok(None) };
        pair.begin(whole.start, &self.exchange);
        let wanted = pair.big_steps(&self.exchange, self.policies.extrapolation.max_order());
        let mut stopped = Ok(None);
        for (kind, past) in wanted.into_iter().flatten() {
            pair.swap_past(&mut self.exchange, past);
            let swept = self.sweep(whole);
            let y = matches!(swept, Ok(Swept::Whole)).then(|| self.record.y_end());
            pair.keep_big(kind, &self.exchange, y);
            pair.swap_past(&mut self.exchange, past);
            stopped = match swept {
                Ok(Swept::Whole) => Ok(None),
                Ok(Swept::Early { member, reached }) => Ok(Some(PairAttempt::Early { member, reached })),
                Ok(Swept::Terminated { member, reached }) => {
                    Ok(Some(PairAttempt::Terminated { member, reached }))
                }
                // Too large a step is what the estimate is for.
                Err(error) if error.may_pass_with_smaller_steps() => Ok(None),
                Err(error) => Err(error),
            };
            if !matches!(stopped, Ok(None)) {
                break;
            }
            if let Err(error) = self.restore(whole) {
                stopped = Err(error);
                break;
            }
        }
        self.pair = Some(pair);
        stopped
    }

    /// Goes on from the end of the first small step with what was held on it, as a big step does, and comes back; what stopped it
    /// early. Nobody has learned from the first step yet: corrections go on as well. arnold2013 §4, the second strategy.
    fn second_half_of_big(&mut self, halves: &PairProposal) -> Result<Option<PairAttempt>, RunError> {
        if !self.pair.as_ref().is_some_and(|pair| pair.shares) {
            return Ok(None);
        }
        let [first, second] = halves.halves;
        for (s, member) in self.network.members.iter_mut().enumerate() {
            let fail =
                |error| RunError::Subsystem { member: s, phase: "saving a state", span: second, error };
            member.simulator.save_second().map_err(fail)?;
        }
        self.swap_first();
        self.swap_held();
        let swept = self.sweep_on(second, Some(&first));
        if let Some(pair) = &mut self.pair {
            let y = matches!(swept, Ok(Swept::Whole)).then(|| self.record.y_end());
            pair.keep_big(BigStep::Modified, &self.exchange, y);
            std::mem::swap(&mut self.record, &mut pair.first);
        }
        self.swap_held();
        match swept {
            Ok(Swept::Whole) => {}
            Ok(Swept::Early { member, reached }) => return Ok(Some(PairAttempt::Early { member, reached })),
            Ok(Swept::Terminated { member, reached }) => {
                return Ok(Some(PairAttempt::Terminated { member, reached }));
            }
            // Too large a step is what the estimate is for.
            Err(error) if error.may_pass_with_smaller_steps() => {}
            Err(error) => return Err(error),
        }
        for (s, member) in self.network.members.iter_mut().enumerate() {
            let fail =
                |error| RunError::Subsystem { member: s, phase: "restoring a state", span: second, error };
            member.simulator.restore_second().map_err(fail)?;
        }
        self.network.packets.forget();
        Ok(None)
    }

    /// Both steps stand; `before` was the wish that they came from.
    fn accept_pair(
        &mut self,
        rejections: u32,
        before: f64,
        observer: &mut dyn Observer,
    ) -> Result<Flow, RunError> {
        self.improve();
        let first = self.publish_first(rejections, observer)?;
        let second = self.accept(0, before, observer)?;
        Ok(if first == Flow::Stop { first } else { second })
    }

    /// Passes on better outputs at the end of the pair, where an estimator has them.
    fn improve(&mut self) {
        let Some(estimator) = self.policies.estimators.iter().find(|e| e.improves()) else { return };
        // Taken out, since the view borrows the rest.
        let Some(mut y) = self.pair.as_mut().map(|pair| std::mem::take(&mut pair.improved)) else { return };
        let view = self.record.view(&self.network, self.doubled());
        y.copy_from_slice(view.y_fresh);
        estimator.improve(&view, &mut y);
        self.record.y_fresh.copy_from_slice(&y);
        self.network.wiring.gather(&y, &mut self.record.fresh);
        self.network.externals_before(self.record.span.end, &mut self.record.fresh);
        self.meter.close(&self.network.bonds, &self.exchange.held, &mut self.record);
        if let Some(pair) = &mut self.pair {
            pair.improved = y;
        }
    }

    /// Shows the first of two accepted steps, as if it had been alone.
    fn publish_first(&mut self, rejections: u32, observer: &mut dyn Observer) -> Result<Flow, RunError> {
        let Some(mut pair) = self.pair.take() else { return Ok(Flow::Continue) };
        // A pair has one estimate; it belongs to both steps.
        for (k, estimator) in self.policies.estimators.iter().enumerate() {
            if estimator.big_step().is_some() {
                pair.first.estimates[k] = self.record.estimates[k];
            }
        }
        let next_h = self.record.span.h;
        std::mem::swap(&mut self.record, &mut pair.first);
        let published = self.publish(rejections, next_h, Place::FirstOfPair, observer);
        self.clock.announce(self.record.announced);
        std::mem::swap(&mut self.record, &mut pair.first);
        self.pair = Some(pair);
        published.map(|(flow, _)| flow)
    }

    /// Writes down what everybody knows, so that an attempt that they learn from can be rolled back.
    pub(super) fn remember(&mut self) {
        let Some(pair) = &mut self.pair else { return };
        let checkpoint = &mut pair.checkpoint;
        checkpoint.clear();
        self.exchange.save(checkpoint);
        self.meter.save(checkpoint);
        self.policies.save(checkpoint);
        checkpoint.extend(&self.record.y_prev);
        checkpoint.extend(&self.record.gains);
        checkpoint.push(f64::from(u8::from(self.record.after_restart)));
        checkpoint.push(f64::from(u8::from(self.record.order_was_settled)));
        checkpoint.push(self.wish);
    }

    /// Goes back to what was written down last.
    fn recall(&mut self) {
        let Some(pair) = &mut self.pair else { return };
        pair.abandon();
        let checkpoint = &mut pair.checkpoint;
        checkpoint.rewind();
        self.exchange.load(checkpoint);
        self.meter.load(checkpoint);
        self.policies.load(checkpoint);
        checkpoint.fill(&mut self.record.y_prev);
        checkpoint.fill(&mut self.record.gains);
        self.record.after_restart = checkpoint.pull() != 0.0;
        self.record.order_was_settled = checkpoint.pull() != 0.0;
        self.wish = checkpoint.pull();
        self.events.forget_asking();
    }
}
