//! The one loop: propose a step, attempt it, estimate, decide, commit.

use crate::bond::{Meter, Quadrature};
use crate::clock::{Clock, EndRule, Proposal};
use crate::controller::{Decision, StepController};
use crate::correction::{CorrectionReport, InputCorrection};
use crate::error::RunError;
use crate::estimator::{ErrorEstimator, Estimate};
use crate::exchange::{Exchange, Swept, non_finite};
use crate::extrapolation::Extrapolation;
use crate::network::{Network, Schedule};
use crate::observer::{Flow, Observer, StartView, StepReport};
use crate::statistics::Statistics;
use crate::subsystem::{Inputs, Setup, Span};
use crate::view::StepView;
use crate::watch::BondWatch;

/// How many times in a row a step may be taken back.
const MAX_REJECTIONS: u32 = 60;

/// How many passes initial values may take to settle.
const MAX_INITIAL_PASSES: usize = 200;

/// The experiment and the rules of the run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Start of the run, in seconds.
    pub start: f64,
    /// End of the run, in seconds.
    pub stop: f64,
    /// What happens at the end.
    pub end_rule: EndRule,
    /// Hit every multiple of this after the start, in seconds.
    pub land_on: Option<f64>,
    /// How metered energies are summed.
    pub quadrature: Quadrature,
    /// Members that re-read their feed-through outputs with fresh inputs after each step.
    pub refresh: Vec<usize>,
    /// Go on with NaN and infinite outputs.
    pub allow_nonfinite: bool,
    /// Stop when the energy through a bond grows without bound.
    pub stop_runaway: bool,
}

impl Settings {
    /// From `start` to `stop`, everything else by default.
    pub fn new(start: f64, stop: f64) -> Self {
        Settings {
            start,
            stop,
            end_rule: EndRule::Exact,
            land_on: None,
            quadrature: Quadrature::Rectangle,
            refresh: Vec::new(),
            allow_nonfinite: false,
            stop_runaway: true,
        }
    }
}

/// What decides how a run is made; each part is independent of the others.
pub struct Policies {
    /// Who steps when.
    pub schedule: Schedule,
    /// How inputs are held.
    pub extrapolation: Box<dyn Extrapolation>,
    /// How held inputs are corrected.
    pub correction: Option<Box<dyn InputCorrection>>,
    /// The first one drives the controller; the others only watch.
    pub estimators: Vec<Box<dyn ErrorEstimator>>,
    /// How the step size is chosen.
    pub controller: Box<dyn StepController>,
}

/// How a run ended, if not with an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// At the stop time.
    Finished,
    /// An observer stopped it.
    Stopped,
}

/// Runs a coupled system. After `new` nothing is allocated, hashed or named.
pub struct Master {
    network: Network,
    policies: Policies,
    settings: Settings,
    exchange: Exchange,
    meter: Meter,
    clock: Clock,
    wish: f64,
    after_restart: bool,
    external: Vec<bool>,
    feed_through: Vec<f64>,
    needs_feed_through: bool,
    probes: Vec<f64>,
    estimates: Vec<Estimate>,
    statistics: Statistics,
    watch: BondWatch,
    /// Everything can go back, and something may want to.
    keeps: bool,
}

impl Master {
    /// Prepares a run.
    pub fn new(network: Network, policies: Policies, settings: Settings) -> Self {
        let stepwise: Vec<bool> = policies.schedule.rates.iter().map(|&r| r > 1).collect();
        let meter = Meter::new(&network.bonds, settings.quadrature, &stepwise);
        let mut exchange = Exchange::new(
            &network,
            &policies.schedule,
            policies.extrapolation.max_order(),
            policies.correction.is_some(),
            !settings.refresh.is_empty(),
        );
        exchange.allow_nonfinite = settings.allow_nonfinite;
        let mut external = vec![false; network.n_inputs];
        network.externals.iter().for_each(|e| external[e.input] = true);
        let wish = policies.controller.first();
        let fixed = policies.controller.is_fixed().then_some(wish);
        let targets = network.externals.iter().flat_map(|e| e.signal.jumps()).collect();
        let mut clock = Clock::new(settings.start, settings.stop, settings.end_rule, fixed, targets);
        if let Some(interval) = settings.land_on {
            clock = clock.land_on(interval);
        }
        let wants_way_back = policies.controller.may_reject()
            || network.members.iter().any(|m| m.capabilities.may_return_early);
        let keeps = wants_way_back && network.members.iter().all(|m| m.capabilities.can_restore);
        Master {
            exchange,
            meter,
            clock,
            wish,
            after_restart: true,
            external,
            feed_through: vec![0.0; network.feed_through.len()],
            needs_feed_through: policies.correction.as_ref().is_some_and(|c| c.needs_feed_through()),
            probes: vec![0.0; network.n_probes],
            estimates: vec![Estimate { norm: 0.0, order: 1.0 }; policies.estimators.len()],
            statistics: Statistics::default(),
            watch: BondWatch::new(network.bonds.bonds.len()),
            keeps,
            network,
            policies,
            settings,
        }
    }

    /// The network.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// Powers and energies, of the last step and summed.
    pub fn meter(&self) -> &Meter {
        &self.meter
    }

    /// Where the residual power rose far above its own level.
    pub fn watch(&self) -> &BondWatch {
        &self.watch
    }

    /// What the correction did, bond by bond.
    pub fn corrections(&self) -> Vec<(usize, CorrectionReport)> {
        self.policies.correction.as_ref().map_or(Vec::new(), |c| c.reports())
    }

    /// Steps so far.
    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// Now, in seconds.
    pub fn time(&self) -> f64 {
        self.clock.time()
    }

    /// Outputs at the last communication point.
    pub fn outputs(&self) -> &[f64] {
        &self.exchange.y_prev
    }

    /// Makes the whole run.
    pub fn run(&mut self, observer: &mut dyn Observer) -> Result<Outcome, RunError> {
        if self.initialize(observer)? == Flow::Stop {
            return Ok(Outcome::Stopped);
        }
        while !self.clock.done() {
            if self.step(observer)? == Flow::Stop {
                return Ok(Outcome::Stopped);
            }
        }
        Ok(Outcome::Finished)
    }

    /// Start values, consistent inputs and outputs; the observer sees the first row.
    pub fn initialize(&mut self, observer: &mut dyn Observer) -> Result<Flow, RunError> {
        let Settings { start, stop, .. } = self.settings;
        let at_start = Span { start, end: start, h: 0.0 };
        let fail =
            |member, error| RunError::Subsystem { member, phase: "initialization", span: at_start, error };
        for (s, member) in self.network.members.iter_mut().enumerate() {
            member.simulator.enter(&Setup { start, stop }).map_err(|error| fail(s, error))?;
        }
        self.settle(at_start)?;
        for (s, member) in self.network.members.iter_mut().enumerate() {
            member.simulator.start().map_err(|error| fail(s, error))?;
        }
        self.exchange.begin(&self.network, &self.policies.schedule, start);
        self.read_probes(at_start)?;
        Ok(observer.started(&StartView {
            t: start,
            inputs: &self.exchange.fresh,
            outputs: &self.exchange.y_prev,
            probes: &self.probes,
        }))
    }

    /// Initial outputs along the feed-through order, repeated until nothing changes any more.
    fn settle(&mut self, at_start: Span) -> Result<(), RunError> {
        let network = &mut self.network;
        let mut u = vec![0.0; network.n_inputs];
        let mut y_new = vec![0.0; network.n_outputs];
        network.externals_at(at_start.start, &mut u);
        let y = &mut self.exchange.y_prev;
        for pass in 0.. {
            let mut worst = (0, 0.0f64);
            for k in 0..network.evaluation_order.len() {
                let s = network.evaluation_order[k];
                let member = &mut network.members[s];
                for i in member.inputs.clone().filter(|&i| network.wiring.is_coupled(i)) {
                    let value = network.wiring.row(i, y);
                    let change = (value - u[i]).abs() / (1.0 + value.abs());
                    if change > worst.1 || change.is_nan() {
                        worst = (i, change);
                    }
                    u[i] = value;
                }
                let out = &mut y_new[member.outputs.clone()];
                member.simulator.evaluate(Inputs::constant(&u[member.inputs.clone()]), out).map_err(
                    |error| RunError::Subsystem { member: s, phase: "initialization", span: at_start, error },
                )?;
                if !self.settings.allow_nonfinite && !out.iter().all(|v| v.is_finite()) {
                    return Err(non_finite(out, member.outputs.start, at_start));
                }
                y[member.outputs.clone()].copy_from_slice(out);
            }
            if pass > 0 && worst.1 <= 1e-13 {
                break;
            }
            if pass == MAX_INITIAL_PASSES {
                return Err(RunError::InitialLoop { input: worst.0, change: worst.1, passes: pass });
            }
        }
        Ok(())
    }

    /// Makes one accepted step.
    pub fn step(&mut self, observer: &mut dyn Observer) -> Result<Flow, RunError> {
        let mut proposal = self.clock.propose(self.wish);
        let mut rejections = 0;
        let event = loop {
            if self.keeps {
                self.save(proposal.span)?;
            }
            match self.attempt(proposal.span)? {
                Swept::Early { member, reached } => {
                    if !self.keeps || !(reached > proposal.span.start) {
                        return Err(RunError::EarlyReturn { member, span: proposal.span, reached });
                    }
                    self.take_back(proposal, &mut rejections)?;
                    proposal = self.clock.cut(reached);
                }
                Swept::Whole { event } => {
                    let span = proposal.span;
                    let driving = self.estimates.first().copied();
                    let estimate = driving.unwrap_or(Estimate { norm: 0.0, order: 1.0 });
                    // A step that something else shortened says nothing about the wish, unless it was still too long.
                    let decision = if proposal.shortened && estimate.norm <= 1.0 {
                        Decision::Accept { next_h: self.wish }
                    } else {
                        self.policies.controller.decide(estimate, span.h, self.keeps)
                    };
                    match decision {
                        Decision::Accept { next_h } => {
                            self.wish = next_h;
                            break event;
                        }
                        Decision::Reject { retry_h } => {
                            self.take_back(proposal, &mut rejections)?;
                            proposal = self.clock.propose(retry_h);
                        }
                    }
                }
            }
        };
        self.accept(proposal.span, event, rejections, observer)
    }

    fn take_back(&mut self, proposal: Proposal, rejections: &mut u32) -> Result<(), RunError> {
        let span = proposal.span;
        *rejections += 1;
        self.statistics.rejected += 1;
        if *rejections > MAX_REJECTIONS {
            let norm = self.estimates.first().map_or(f64::NAN, |e| e.norm);
            return Err(RunError::Rejections { span, norm, count: *rejections });
        }
        for (s, member) in self.network.members.iter_mut().enumerate() {
            let fail = |error| RunError::Subsystem { member: s, phase: "going back", span, error };
            member.simulator.restore().map_err(fail)?;
        }
        Ok(())
    }

    fn save(&mut self, span: Span) -> Result<(), RunError> {
        for (s, member) in self.network.members.iter_mut().enumerate() {
            let fail = |error| RunError::Subsystem { member: s, phase: "saving", span, error };
            member.simulator.save().map_err(fail)?;
        }
        Ok(())
    }

    /// Tries a step and estimates its error; nothing is remembered.
    fn attempt(&mut self, span: Span) -> Result<Swept, RunError> {
        let policies = &self.policies;
        let swept = self.exchange.sweep(
            &mut self.network,
            &policies.schedule,
            policies.extrapolation.as_ref(),
            policies.correction.as_deref(),
            &mut self.meter,
            span,
        )?;
        if let Swept::Early { .. } = swept {
            return Ok(swept);
        }
        self.exchange.freshen(&mut self.network, &self.settings.refresh, span)?;
        self.exchange.measure(&self.network, &mut self.meter, span);
        let mut estimates = std::mem::take(&mut self.estimates);
        let view = self.view(span);
        for (estimate, estimator) in estimates.iter_mut().zip(&self.policies.estimators) {
            *estimate = estimator.estimate(&view);
            if estimate.norm.is_nan() {
                estimate.norm = f64::INFINITY;
            }
        }
        self.estimates = estimates;
        Ok(swept)
    }

    fn view(&self, span: Span) -> StepView<'_> {
        StepView {
            span,
            held_end: &self.exchange.held_end,
            corrected_end: self.exchange.corrected_end(),
            fresh: &self.exchange.fresh,
            y_prev: &self.exchange.y_prev,
            y_step: &self.exchange.y_step,
            y_fresh: self.exchange.y_fresh(),
            ports: &self.meter.ports,
            flows: &self.meter.flows,
            bonds: &self.network.bonds,
            wiring: &self.network.wiring,
            feed_through: self.needs_feed_through.then_some(&self.feed_through[..]),
            external: &self.external,
            y_big: None,
            after_restart: self.after_restart,
        }
    }

    /// The step stands: everybody learns from it.
    fn accept(
        &mut self,
        span: Span,
        event: bool,
        rejections: u32,
        observer: &mut dyn Observer,
    ) -> Result<Flow, RunError> {
        if self.needs_feed_through {
            self.read_feed_through(span)?;
        }
        self.read_probes(span)?;
        let norm = self.estimates.first().map_or(0.0, |e| e.norm);
        let over_tolerance = norm > 1.0;
        self.statistics.accept(span.h);
        if over_tolerance {
            self.statistics.over_tolerance += 1;
            if span.h <= self.policies.controller.floor() * (1.0 + 1e-9) {
                self.statistics.at_floor += 1;
                self.statistics.first_at_floor.get_or_insert(span.end);
            }
        }
        if norm > self.statistics.worst_norm.0 {
            self.statistics.worst_norm = (norm, span.end);
        }
        self.meter.commit(span);
        let runaway = self.watch.commit(span, &self.meter.flows);

        // Policies learn through the same view that observers get; they are moved out while it is borrowed.
        let mut correction = self.policies.correction.take();
        let mut estimators = std::mem::take(&mut self.policies.estimators);
        let view = self.view(span);
        if let Some(correction) = &mut correction {
            correction.commit(&view);
        }
        estimators.iter_mut().for_each(|e| e.commit(&view));
        let report = StepReport {
            number: self.statistics.accepted,
            estimates: &self.estimates,
            next_h: self.wish,
            probes: &self.probes,
            rejections,
            over_tolerance,
        };
        let flow = observer.accepted(&view, &report);
        self.policies.correction = correction;
        self.policies.estimators = estimators;

        self.exchange.commit(&self.policies.schedule, span);
        self.after_restart = false;
        if self.clock.advance(span) | event {
            self.restart();
        }
        match runaway.filter(|_| self.settings.stop_runaway) {
            Some(bond) => {
                Err(RunError::Runaway { bond, span, power: self.meter.flows[bond].exchanged_power })
            }
            None => Ok(flow),
        }
    }

    /// After a discontinuity the past does not foretell the future.
    fn restart(&mut self) {
        self.statistics.events += 1;
        self.exchange.restart();
        self.watch.restart();
        self.policies.extrapolation.restart();
        if let Some(correction) = &mut self.policies.correction {
            correction.restart();
        }
        self.policies.estimators.iter_mut().for_each(|e| e.restart());
        self.wish = self.policies.controller.restart(self.wish);
        self.after_restart = true;
    }

    fn read_feed_through(&mut self, span: Span) -> Result<(), RunError> {
        for (s, member) in self.network.members.iter_mut().enumerate() {
            if member.capabilities.feed_through_values && !member.feed_through.is_empty() {
                let d = &mut self.feed_through[member.feed_through.clone()];
                let fail =
                    |error| RunError::Subsystem { member: s, phase: "feed-through derivatives", span, error };
                member.simulator.feed_through(d).map_err(fail)?;
            }
        }
        Ok(())
    }

    fn read_probes(&mut self, span: Span) -> Result<(), RunError> {
        if self.probes.is_empty() {
            return Ok(());
        }
        for (s, member) in self.network.members.iter_mut().enumerate() {
            if !member.probes.is_empty() {
                let z = &mut self.probes[member.probes.clone()];
                let fail = |error| RunError::Subsystem { member: s, phase: "recording", span, error };
                member.simulator.probe(z).map_err(fail)?;
            }
        }
        Ok(())
    }

    /// Ends all simulations; every error is reported, none hides another.
    pub fn finish(&mut self) -> Vec<(usize, crate::subsystem::SubsystemError)> {
        let members = self.network.members.iter_mut().enumerate();
        members.filter_map(|(s, m)| m.simulator.finish().err().map(|error| (s, error))).collect()
    }
}
