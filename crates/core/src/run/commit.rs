//! The step stands: everybody learns from it, observers see it, time goes on.

use super::Engine;
use crate::energy::{BondFlow, BondWatch};
use crate::error::RunError;
use crate::observe::{Details, Flow, Observer, Peak, StepReport};
use crate::subsystem::{Span, StepEvent};
use crate::time::Arrival;

/// Steps at the start in which feed-through is sampled always, and the stride after them.
const SAMPLED: u64 = 256;
const SAMPLE_EVERY: u64 = 16;

impl Engine {
    /// The attempt of the record stands; `before` was the wish that it came from.
    pub(super) fn accept(
        &mut self,
        rejections: u32,
        before: f64,
        observer: &mut dyn Observer,
    ) -> Result<Flow, RunError> {
        self.learn()?;
        self.unlimited = self.wish;
        self.wish = self.policies.limit(self.wish, before);
        self.record.gains_known = self.sample_gains();
        let (flow, arrival) = self.publish(rejections, self.wish, Place::Last, observer)?;
        self.carry_on()?;
        if let Some(pair) = &mut self.pair {
            pair.end_of_pair(self.record.span.end, self.exchange.history.values(0));
        }
        self.announce_from_step();
        if let Some(sampled) = &self.policies.sampled {
            let clock = &mut self.clock;
            sampled.wanted(clock.time(), |t| {
                clock.land_at(t);
            });
        }
        let is_event = arrival.is_discontinuity() || !self.record.eventful.is_empty();
        // Nothing comes after the end that a member chose.
        if is_event && self.terminated.is_none() {
            let t = self.record.span.end;
            let event = self.event(Span { start: t, end: t, h: 0.0 }, arrival, None, observer)?;
            return Ok(if flow == Flow::Stop { flow } else { event });
        }
        Ok(flow)
    }

    /// Policies and meter learn from an attempt.
    pub(super) fn learn(&mut self) -> Result<(), RunError> {
        let span = self.record.span;
        self.record.gains_known = self.needs_gains;
        if self.needs_gains {
            self.refresh_gains()?;
        }
        self.read_probes(span)?;
        self.meter.commit(&self.record);
        if !self.learns {
            return Ok(());
        }
        let Engine { policies, record, network, exchange, pair, .. } = self;
        let doubled = pair.as_ref().and_then(|pair| pair.seen(exchange));
        let view = record.view(network, doubled);
        policies.commit(&view, record, exchange);
        if self.settings.details
            && let Some(correction) = &self.policies.correction
        {
            self.record.corrections.clear();
            correction.states(&mut self.record.corrections);
        }
        Ok(())
    }

    /// Statistics and observers see an accepted step, and the clock moves to its end; `next_h` is what comes next.
    pub(super) fn publish(
        &mut self,
        rejections: u32,
        next_h: f64,
        place: Place,
        observer: &mut dyn Observer,
    ) -> Result<(Flow, Arrival), RunError> {
        let span = self.record.span;
        let runaway = watch(&mut self.watch, span, &self.record.flows, self.settings.stop_runaway);
        let over_tolerance = self.count();
        let arrival = self.clock.advance(span);
        let has_events = !self.record.eventful.is_empty();
        if has_events {
            self.note_end(span);
        }
        let is_event = (arrival.is_discontinuity() || has_events) && self.terminated.is_none();
        let rejected_norm = std::mem::replace(&mut self.rejected_norm, f64::NAN);
        let view = self.record.view(&self.network, self.doubled());
        let flow = observer.accepted(
            &view,
            &StepReport {
                number: self.statistics.accepted,
                estimates: &self.record.estimates,
                next_h,
                probes: &self.record.probes,
                rejections,
                over_tolerance,
                rejected_norm,
                details: Details {
                    bond_errors: &self.record.bond_errors,
                    output_errors: &self.record.output_errors,
                    corrections: &self.record.corrections,
                },
                limited_by: self.record.estimates.first().and_then(|e| e.limited_by),
                loop_evaluations: self.refresh.loops().map(|(_, loops)| loops.evaluations).sum(),
                at_ceiling: place == Place::Last && next_h < self.unlimited,
                event_follows: is_event && place == Place::Last,
            },
        );
        runaway.map(|()| (flow, arrival))
    }

    /// Notes the member that ended the simulation at the end of the step, if one did.
    #[cold]
    fn note_end(&mut self, span: Span) {
        let ended = self.record.eventful.iter().find(|(_, event)| *event == StepEvent::Terminated);
        self.terminated = ended.map(|&(member, _)| (member, span.end));
    }

    /// Enters an accepted step into the statistics; true if it is over tolerance.
    fn count(&mut self) -> bool {
        let Engine { statistics, record, policies, clock, .. } = self;
        let (span, estimates) = (record.span, &record.estimates);
        statistics.accept(span.h);
        for (sum, estimate) in statistics.estimates.iter_mut().zip(estimates) {
            sum.accept(estimate.norm, span.end);
        }
        let norm = estimates.first().map_or(0.0, |e| e.norm);
        let over_tolerance = norm > 1.0;
        if !over_tolerance && norm <= statistics.worst_norm.value {
            return false;
        }
        statistics.over_tolerance += u64::from(over_tolerance);
        if policies.driving().is_some_and(|e| e.has_no_scale()) {
            statistics.without_scale += u64::from(over_tolerance);
            return over_tolerance;
        }
        if over_tolerance {
            statistics.time_over += span.h;
        }
        let floor = policies.floor().max(clock.pace().floor());
        if over_tolerance && span.h <= floor * (1.0 + 1e-9) {
            statistics.at_floor += 1;
            statistics.time_at_floor += span.h;
            statistics.first_at_floor.get_or_insert(span.end);
        }
        if norm > statistics.worst_norm.value {
            statistics.worst_norm = Peak { value: norm, time: span.end };
        }
        over_tolerance
    }

    /// The end of the step is the next communication point: inputs get a node, variables that are not numeric are passed on.
    pub(super) fn carry_on(&mut self) -> Result<(), RunError> {
        self.exchange.commit(&self.policies.schedule, &self.record);
        self.record.carry_on();
        self.record.after_restart = false;
        self.arrive(self.record.span)
    }

    /// What is passed on and asked for at a communication point, the end of `span`, beside numbers.
    pub(super) fn arrive(&mut self, span: Span) -> Result<(), RunError> {
        if self.network.pass_packets(span)? {
            self.events.announce_later();
        }
        self.exchange.read_derivatives(&mut self.network, span)
    }

    /// Whether the feed-through of this step is known. A member that cannot tell is no reason to fail: who only
    /// watches goes without.
    fn sample_gains(&mut self) -> bool {
        if self.needs_gains || !self.settings.sample_feed_through {
            return self.needs_gains;
        }
        let n = self.statistics.accepted + 1;
        let due = n <= SAMPLED || n.is_multiple_of(SAMPLE_EVERY);
        let (span, identifier) = (self.record.span, self.policies.identifier.as_ref());
        due && self.gains.ask(&mut self.network, identifier, span, &mut self.record.gains).is_ok()
    }

    /// ∂y/∂u at the end of the step, where it is needed.
    fn refresh_gains(&mut self) -> Result<(), RunError> {
        let Engine { gains, network, policies, record, exchange, .. } = self;
        let mut values = std::mem::take(&mut record.gains);
        let fresh = !record.y_fresh.is_empty();
        let at = |i: usize| if fresh { record.fresh[i] } else { exchange.input_at_end(record, i) };
        let read = gains.read(network, policies.identifier.as_ref(), at, record.span, &mut values);
        record.gains = values;
        read
    }

    /// Variables that are only recorded.
    #[inline]
    pub(super) fn read_probes(&mut self, span: Span) -> Result<(), RunError> {
        if self.record.probes.is_empty() { Ok(()) } else { self.read_all_probes(span) }
    }

    #[inline(never)] // What is not recorded costs no call.
    fn read_all_probes(&mut self, span: Span) -> Result<(), RunError> {
        for (s, member) in self.network.members.iter_mut().enumerate() {
            if !member.probes.is_empty() {
                let z = &mut self.record.probes[member.probes.clone()];
                let fail = |error| RunError::Subsystem { member: s, phase: "recording", span, error };
                member.simulator.probe(z).map_err(fail)?;
            }
        }
        let strange = |&&probe: &&usize| !self.record.probes[probe].is_finite();
        match self.recorded_outputs.iter().find(strange).filter(|_| !self.settings.allow_nonfinite) {
            Some(&probe) => Err(RunError::NonFiniteRecord { probe, value: self.record.probes[probe], span }),
            None => Ok(()),
        }
    }
}

/// Where an accepted step stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// The first of a pair: between the two no event is handled, at most a bend is crossed that may be.
    FirstOfPair,
    /// The last one before the next attempt.
    Last,
}

/// Watches the bonds in an accepted step; an error if the power of one runs away and that is to `stop` the run.
fn watch(watch: &mut BondWatch, span: Span, flows: &[BondFlow], stop: bool) -> Result<(), RunError> {
    match watch.commit(span, flows).filter(|_| stop) {
        Some(bond) => Err(RunError::Runaway { bond, span, power: flows[bond].exchanged_power }),
        None => Ok(()),
    }
}
