//! The one loop: propose a step, attempt it, estimate, decide, commit.

pub(crate) mod initial_values;
#[path = "../step/pair.rs"]
mod pair;

use crate::controller::{Decision, StepController};
use crate::correction::{CorrectionReport, InputCorrection};
use crate::energy::BondWatch;
use crate::energy::{BondFlow, Meter, Quadrature};
use crate::error::RunError;
use crate::estimator::{ErrorEstimator, Estimate};
use crate::feed_through::identify::{Identified, Identifier};
use crate::feed_through::{Reach, Structure, probe_feed_through};
use crate::hold::Extrapolation;
use crate::hold::output_derivatives::OutputDerivatives;
use crate::network::{External, Network, Row};
use crate::observe::Statistics;
use crate::observe::{Flow, Observer, StartView, StepReport};
use crate::step::Schedule;
use crate::step::StepView;
use crate::step::{Exchange, Swept, Wants};
use crate::subsystem::{Inputs, Setup, Span, SubsystemError};
use crate::time::clock::{Arrival, Clock, EndRule, aligned, resolution};
pub use initial_values::Initial;
use pair::Doubling;

/// By how much inputs are changed to see whether outputs follow, relative to their size.
const CHANGE: f64 = 1e-4;
/// How many times in a row a step may be taken back.
const MAX_REJECTIONS: u32 = 60;
/// Steps at the start in which feed-through is sampled always, and the stride after them.
const SAMPLED: u64 = 256;
const SAMPLE_EVERY: u64 = 16;

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
    /// Adaptive steps are multiples of this, in seconds.
    pub quantum: Option<f64>,
    /// How metered energies are summed.
    pub quadrature: Quadrature,
    /// Members that re-read their feed-through outputs with fresh inputs after each step.
    pub refresh: Vec<usize>,
    /// How initial values are solved.
    pub initial: Initial,
    /// Members whose feed-through is probed at initialization by perturbing their inputs: found where it is unknown,
    /// tested where it is declared.
    pub probe: Vec<usize>,
    /// Inputs (flat) at communication points before the start, oldest first: held inputs have their full order at once.
    /// Big steps of the classic Richardson estimate use every other one, counted back from the start.
    pub past: Vec<(f64, Vec<f64>)>,
    /// Where a subsystem gives derivatives of its outputs, inputs are held by them and not by differences of the past.
    pub slopes: bool,
    /// Go on with NaN and infinite outputs.
    pub allow_nonfinite: bool,
    /// Stop when the energy through a bond grows without bound.
    pub stop_runaway: bool,
    /// Observers see ∂y/∂u in every step of the start and in a sample of the later ones, even if no policy needs it.
    pub sample_feed_through: bool,
    /// Changes of the coupling at known times, in the order of time. Steps end exactly there, and the past is
    /// forgotten; what comes before or at the start holds from the initialization on.
    pub changes: Vec<Change>,
    /// How many threads advance the members of a stage, this one included; 0 is as good as 1.
    pub worker_threads: usize,
}

/// A change of the coupling at a known time.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// When, in seconds.
    pub time: f64,
    /// Inputs and their connections from then on, with the same sources in the same order.
    pub rows: Vec<(usize, Row)>,
    /// Members, their variables (indices into [`crate::subsystem::Info::variables`]) and the values these get.
    pub settings: Vec<(usize, usize, f64)>,
}

impl Settings {
    /// From `start` to `stop`, everything else by default.
    pub fn new(start: f64, stop: f64) -> Self {
        Settings {
            start,
            stop,
            end_rule: EndRule::Exact,
            land_on: None,
            quantum: None,
            quadrature: Quadrature::Rectangle,
            refresh: Vec::new(),
            initial: Initial::default(),
            probe: Vec::new(),
            past: Vec::new(),
            slopes: false,
            allow_nonfinite: false,
            stop_runaway: true,
            sample_feed_through: false,
            changes: Vec::new(),
            worker_threads: 0,
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
    /// Finds out feed-through while the run goes on.
    pub identifier: Option<Identifier>,
}

impl Policies {
    /// Whether one of them learns from accepted steps.
    fn learn(&self) -> bool {
        self.extrapolation.learns()
            || self.correction.is_some()
            || !self.estimators.is_empty()
            || self.identifier.is_some()
    }

    /// Whether one of them asks for the jumps of all hold orders.
    fn need_jumps(&self) -> bool {
        self.extrapolation.needs_jumps() || self.estimators.iter().any(|e| e.needs_jumps())
    }
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
    /// Some policy learns from accepted steps.
    learns: bool,
    probes: Vec<f64>,
    estimates: Vec<Estimate>,
    statistics: Statistics,
    watch: BondWatch,
    /// Everything can go back, and something may want to.
    keeps: bool,
    /// Steps are made in pairs beside a big one.
    doubling: Option<Box<Doubling>>,
    structure: Option<Structure>,
    /// Members that cannot be refreshed although they claim so.
    lowered: Vec<usize>,
    /// Changes of the coupling that were made.
    changed: usize,
    /// When which known input jumps, in the order of time, and how many have.
    jumps: Vec<(f64, usize)>,
    jumped: usize,
    /// Which inputs a discontinuity reaches, from the initialization on.
    reach: Option<Reach>,
}

/// What policies and observers see of the current attempt. A macro, since it borrows all but the policies.
macro_rules! view {
    ($master:ident, $span:expr) => {
        view!($master, $span, $master.needs_feed_through)
    };
    ($master:ident, $span:expr, $feed_through_is_known:expr) => {
        StepView {
            span: $span,
            held_end: &$master.exchange.held_end,
            corrected_end: $master.exchange.corrected_end(),
            fresh: &$master.exchange.fresh,
            y_prev: &$master.exchange.y_prev,
            y_step: &$master.exchange.y_step,
            y_fresh: $master.exchange.y_fresh(),
            ports: &$master.meter.ports,
            flows: &$master.meter.flows,
            bonds: &$master.network.bonds,
            wiring: &$master.network.wiring,
            feed_through: $feed_through_is_known.then_some(&$master.feed_through[..]),
            jumps: $master.exchange.jumps.as_ref(),
            external: &$master.external,
            doubled: $master.doubling.as_ref().and_then(|d| d.seen(&$master.exchange)),
            after_restart: $master.after_restart,
        }
    };
}
use view;

impl Master {
    /// Prepares a run.
    pub fn new(mut network: Network, policies: Policies, mut settings: Settings) -> Self {
        let stepwise: Vec<bool> = policies.schedule.rates.iter().map(|&r| r > 1).collect();
        let meter = Meter::new(&network.bonds, settings.quadrature, &stepwise);
        let mut exchange = Exchange::new(
            &network,
            &policies.schedule,
            policies.extrapolation.max_order(),
            &Wants {
                corrects: policies.correction.is_some(),
                refreshes: !settings.refresh.is_empty()
                    || policies.estimators.iter().any(|e| e.improves())
                    || policies.identifier.as_ref().is_some_and(Identifier::improves),
                jumps: policies.need_jumps(),
                means: policies.extrapolation.gives_means(),
            },
        );
        exchange.allow_nonfinite = settings.allow_nonfinite;
        exchange.employ(&network, &policies.schedule, settings.worker_threads);
        exchange.slopes = settings.slopes.then(|| OutputDerivatives::new(&network));
        let mut external = vec![false; network.n_inputs];
        network.externals.iter().for_each(|e| external[e.input] = true);
        let wish = policies.controller.first();
        let fixed = policies.controller.is_fixed().then_some(wish);
        let jumps = align_jumps(&mut network, &mut settings);
        let targets =
            jumps.iter().map(|jump| jump.0).chain(settings.changes.iter().map(|c| c.time)).collect();
        let mut clock = Clock::new(settings.start, settings.stop, settings.end_rule, fixed, targets);
        if let Some(interval) = settings.land_on {
            clock = clock.land_on(interval);
        }
        if let Some(quantum) = settings.quantum {
            clock = clock.in_multiples_of(quantum);
        }
        if network.members.iter().any(|m| m.capabilities.constant_step || m.capabilities.fixed_step.is_some())
        {
            clock = clock.without_announced();
        }
        let doubling = Doubling::wanted(&network, &policies);
        let wants_way_back = doubling.is_some()
            || policies.controller.may_reject()
            || network.members.iter().any(|m| m.capabilities.may_return_early);
        let keeps = wants_way_back && network.members.iter().all(|m| m.capabilities.can_restore);
        let mut master = Master {
            exchange,
            meter,
            clock,
            wish,
            after_restart: true,
            external,
            feed_through: vec![0.0; network.feed_through.len()],
            needs_feed_through: policies.correction.as_ref().is_some_and(|c| c.needs_feed_through()),
            learns: policies.learn(),
            probes: vec![0.0; network.n_probes],
            estimates: vec![Estimate { norm: 0.0, order: 1.0 }; policies.estimators.len()],
            statistics: Statistics::new(policies.estimators.len()),
            watch: BondWatch::new(network.bonds.bonds.len()),
            keeps,
            doubling,
            structure: None,
            lowered: Vec::new(),
            changed: 0,
            jumps,
            jumped: 0,
            reach: None,
            network,
            policies,
            settings,
        };
        // The first time the tape grows; later its memory is reused.
        master.remember();
        master
    }

    /// The feed-through graph, known from the initialization on.
    pub fn structure(&self) -> Option<&Structure> {
        self.structure.as_ref()
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

    /// Feed-through that was found out.
    pub fn identified(&self) -> Vec<Identified> {
        self.policies.identifier.as_ref().map_or(Vec::new(), Identifier::found)
    }

    /// How many steps each input was held with order 0, 1 and 2, if the order varies.
    pub fn order_counts(&self) -> &[[u64; 3]] {
        self.policies.extrapolation.order_counts()
    }

    /// The estimator that drives the step size.
    pub fn driving(&self) -> Option<&dyn ErrorEstimator> {
        self.policies.estimators.first().map(Box::as_ref)
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
        if let Some(member) = self.no_way_back() {
            return Err(RunError::NoWayBack { member });
        }
        for (s, member) in self.network.members.iter_mut().enumerate() {
            member.simulator.enter(&Setup { start, stop }).map_err(|error| fail(s, error))?;
        }
        self.change_coupling(at_start)?;
        let (rules, lenient) = (self.settings.initial, self.settings.allow_nonfinite);
        let mut u =
            initial_values::solve(&mut self.network, &rules, at_start, lenient, &mut self.exchange.y_prev)?;
        // Texts may pass through several members, and change numbers on their way.
        self.network.packets.forget();
        for _ in 0..=self.network.members.len() {
            if !self.network.pass_packets(at_start)? {
                break;
            }
            u = initial_values::solve(
                &mut self.network,
                &rules,
                at_start,
                lenient,
                &mut self.exchange.y_prev,
            )?;
        }
        self.look_at_structure(&u)?;
        let changing = self.answers_to_change(&u);
        for (s, member) in self.network.members.iter_mut().enumerate() {
            member.simulator.start().map_err(|error| fail(s, error))?;
        }
        self.transfer(&mut u, at_start)?;
        self.doubt_refresh(&changing, &u);
        self.begin(start);
        self.arrive(at_start)?;
        self.expect_events();
        self.read_probes(at_start)?;
        Ok(observer.started(&StartView {
            t: start,
            inputs: &self.exchange.fresh,
            outputs: &self.exchange.y_prev,
            probes: &self.probes,
        }))
    }

    /// Which refreshed members change an output when their inputs change. Outputs and inputs are as before afterwards.
    fn answers_to_change(&mut self, u: &[f64]) -> Vec<bool> {
        let network = &mut self.network;
        let mut answers = |s: usize| -> Result<bool, SubsystemError> {
            let member = &mut network.members[s];
            let u = &u[member.inputs.clone()];
            let (mut before, mut after) = (vec![0.0; member.outputs.len()], vec![0.0; member.outputs.len()]);
            let moved: Vec<f64> = u.iter().map(|u| u + CHANGE * u.abs().max(1.0)).collect();
            member.simulator.evaluate(Inputs::constant(u), &mut before)?;
            member.simulator.evaluate(Inputs::constant(&moved), &mut after)?;
            member.simulator.evaluate(Inputs::constant(u), &mut before)?;
            Ok(before != after)
        };
        self.settings.refresh.iter().map(|&s| answers(s).unwrap_or(false)).collect()
    }

    /// A member whose outputs followed its inputs during initialization and do so no longer cannot be refreshed, whatever it claims.
    fn doubt_refresh(&mut self, before: &[bool], u: &[f64]) {
        let now = self.answers_to_change(u);
        let stuck: Vec<usize> = (0..now.len()).filter(|&k| before[k] && !now[k]).collect();
        self.lowered = stuck.iter().map(|&k| self.settings.refresh[k]).collect();
        self.settings.refresh.retain(|s| !self.lowered.contains(s));
        for &s in &self.lowered {
            if let Some(identifier) = &mut self.policies.identifier {
                identifier.wake(s);
            }
        }
    }

    /// Members that claim to recompute their outputs while time stands still and do not: they are not refreshed.
    pub fn lowered(&self) -> &[usize] {
        &self.lowered
    }

    /// Outputs once more after initialization, along the feed-through order: leaving it may have changed them.
    fn transfer(&mut self, u: &mut [f64], at_start: Span) -> Result<(), RunError> {
        let network = &mut self.network;
        let y = &mut self.exchange.y_prev;
        for k in 0..network.evaluation_order.len() {
            let s = network.evaluation_order[k];
            let member = &mut network.members[s];
            for i in member.inputs.clone().filter(|&i| network.wiring.is_coupled(i)) {
                u[i] = network.wiring.row(i, y);
            }
            let inputs = Inputs::constant(&u[member.inputs.clone()]);
            member.simulator.evaluate(inputs, &mut y[member.outputs.clone()]).map_err(|error| {
                RunError::Subsystem { member: s, phase: "initialization", span: at_start, error }
            })?;
        }
        Ok(())
    }

    /// A member that cannot go back although the estimators need big steps.
    fn no_way_back(&self) -> Option<usize> {
        let stuck = || self.network.members.iter().position(|m| !m.capabilities.can_restore);
        self.doubling.as_ref().and_then(|_| stuck())
    }

    /// The feed-through graph at the initial inputs `u`, probed where asked for.
    fn look_at_structure(&mut self, u: &[f64]) -> Result<(), RunError> {
        for &s in &self.settings.probe {
            let known = self.network.members[s].feed_through_known;
            // Whoever refuses stays in the structure's list of unknowns.
            if probe_feed_through(&mut self.network, s, u).is_ok() && known {
                let member = &mut self.network.members[s];
                let declared = &self.network.feed_through[member.feed_through.clone()];
                let denied = member.probed.take().into_iter().flatten().find(|pair| !declared.contains(pair));
                if let Some((output, input)) = denied {
                    return Err(RunError::FeedThrough { output, input });
                }
            }
        }
        let structure = Structure::of(&self.network);
        for estimator in &mut self.policies.estimators {
            estimator.prepare(&self.network, &structure, &self.settings.refresh);
        }
        self.structure = Some(structure);
        self.reach = Some(Reach::new(&self.network));
        Ok(())
    }

    /// The first communication point, after those that are known from before.
    fn begin(&mut self, start: f64) {
        let past = &self.settings.past;
        for (k, (t, inputs)) in past.iter().enumerate() {
            self.exchange.history.push(*t, |values| values.copy_from_slice(inputs));
            if let Some(doubling) = self.doubling.as_mut().filter(|_| (past.len() - k).is_multiple_of(2)) {
                doubling.end_of_pair(*t, inputs);
            }
        }
        self.after_restart = past.is_empty();
        self.exchange.begin(&self.network, &self.policies.schedule, start);
        if let Some(doubling) = &mut self.doubling {
            doubling.end_of_pair(start, self.exchange.history.values(0));
        }
    }

    /// Makes one accepted step, or two if they are made in pairs.
    pub fn step(&mut self, observer: &mut dyn Observer) -> Result<Flow, RunError> {
        match &self.doubling {
            Some(_) => self.double_step(observer),
            None => self.single_step(observer),
        }
    }

    fn single_step(&mut self, observer: &mut dyn Observer) -> Result<Flow, RunError> {
        let mut proposal = self.clock.propose(self.wish);
        let mut rejections = 0;
        let saved = self.keeps && self.save(proposal.span)?;
        let event = loop {
            let span = proposal.span;
            let retry_h = match self.attempt(span) {
                Ok(Swept::Early { member, reached }) => {
                    if !saved || reached.is_nan() || reached <= span.start {
                        return Err(RunError::EarlyReturn { member, span, reached });
                    }
                    self.take_back(span, &mut rejections)?;
                    proposal = self.clock.cut(reached);
                    continue;
                }
                Ok(Swept::Whole { event }) => {
                    let driving = self.estimates.first().copied();
                    // Norms that still find their scales are no reason to go back.
                    let can_retry = saved && !self.settles();
                    match self.judge(driving, span.h, proposal.shortened, can_retry) {
                        Decision::Accept { next_h } => {
                            self.wish = next_h;
                            break event;
                        }
                        Decision::Reject { retry_h } => retry_h,
                    }
                }
                Err(error) => self.smaller_after(error, span.h, saved)?,
            };
            self.reject(span, span.h, retry_h, &mut rejections)?;
            self.wish = retry_h;
            proposal = self.clock.propose(retry_h);
        };
        self.accept(proposal.span, event, rejections, observer)
    }

    fn settles(&self) -> bool {
        self.policies.estimators.first().is_some_and(|e| e.settles())
    }

    fn judge(&mut self, driving: Option<Estimate>, h: f64, shortened: bool, can_retry: bool) -> Decision {
        let estimate = driving.unwrap_or(Estimate { norm: 0.0, order: 1.0 });
        // A step that something else shortened says nothing about the wish, unless it was still too long.
        if shortened && estimate.norm <= 1.0 {
            return Decision::Accept { next_h: self.wish };
        }
        // Before its scales are known an estimate is no reason to take a step back.
        let settles = self.policies.estimators.first().is_some_and(|e| e.settles());
        self.policies.controller.decide(estimate, h, can_retry && !settles)
    }

    /// The size to retry with after an attempt that could not be finished, or the error if there is none.
    fn smaller_after(&mut self, error: RunError, h: f64, can_retry: bool) -> Result<f64, RunError> {
        let endless = Estimate { norm: f64::INFINITY, order: 1.0 };
        if !can_retry || !self.policies.controller.may_reject() || !error.may_pass_with_smaller_steps() {
            return Err(error);
        }
        match self.policies.controller.decide(endless, h, true) {
            Decision::Reject { retry_h } if retry_h < h => Ok(retry_h),
            _ => Err(error),
        }
    }

    /// Takes an attempt back because of its error; an error if a retry is pointless.
    fn reject(&mut self, span: Span, h: f64, retry_h: f64, rejections: &mut u32) -> Result<(), RunError> {
        if *rejections >= MAX_REJECTIONS || retry_h.is_nan() || retry_h >= h {
            let norm = self.estimates.first().map_or(f64::NAN, |e| e.norm);
            let view = view!(self, span);
            let blame = self.policies.estimators.first().and_then(|e| e.blame(&view));
            return Err(RunError::Rejections { span, norm, count: *rejections + 1, blame });
        }
        self.take_back(span, rejections)
    }

    fn take_back(&mut self, span: Span, rejections: &mut u32) -> Result<(), RunError> {
        *rejections += 1;
        self.statistics.rejected += 1;
        if *rejections > MAX_REJECTIONS {
            let norm = self.estimates.first().map_or(f64::NAN, |e| e.norm);
            return Err(RunError::Rejections { span, norm, count: *rejections, blame: None });
        }
        self.restore(span)
    }

    fn restore(&mut self, span: Span) -> Result<(), RunError> {
        for (s, member) in self.network.members.iter_mut().enumerate() {
            let fail = |error| RunError::Subsystem { member: s, phase: "going back", span, error };
            member.simulator.restore().map_err(fail)?;
        }
        self.network.packets.forget();
        Ok(())
    }

    /// Saves everything. Where that fails, a step in a pair is impossible; a single one is made, counted and kept.
    fn save(&mut self, span: Span) -> Result<bool, RunError> {
        for (s, member) in self.network.members.iter_mut().enumerate() {
            if let Err(error) = member.simulator.save() {
                if self.doubling.is_some() {
                    return Err(RunError::Subsystem { member: s, phase: "saving", span, error });
                }
                self.statistics.unsaved += 1;
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Tries a step and estimates its error; nothing is remembered.
    fn attempt(&mut self, span: Span) -> Result<Swept, RunError> {
        let swept = self.sweep(span)?;
        if let Swept::Whole { .. } = swept {
            self.exchange.measure(&self.network, &mut self.meter, span);
            self.exchange.look_at_jumps(&self.policies.schedule, self.policies.extrapolation.orders(), span);
            if self.estimates.is_empty() {
                return Ok(swept);
            }
            let view = view!(self, span);
            for (estimate, estimator) in self.estimates.iter_mut().zip(&self.policies.estimators) {
                *estimate = estimator.estimate(&view);
                if estimate.norm.is_nan() {
                    estimate.norm = f64::INFINITY;
                }
            }
        }
        Ok(swept)
    }

    /// Crosses a span with all members, and refreshes.
    fn sweep(&mut self, span: Span) -> Result<Swept, RunError> {
        let policies = &self.policies;
        self.statistics.sweeps += 1;
        let swept = self.exchange.sweep(
            &mut self.network,
            &policies.schedule,
            policies.extrapolation.as_ref(),
            policies.correction.as_deref(),
            &mut self.meter,
            span,
        )?;
        if let Swept::Whole { .. } = swept {
            let identifier = policies.identifier.as_ref();
            self.exchange.freshen(&mut self.network, &self.settings.refresh, identifier, span)?;
        }
        Ok(swept)
    }

    /// The step stands: everybody learns from it.
    fn accept(
        &mut self,
        span: Span,
        event: bool,
        rejections: u32,
        observer: &mut dyn Observer,
    ) -> Result<Flow, RunError> {
        self.learn(span)?;
        let runaway = watch_bonds(&mut self.watch, span, &self.meter.flows, self.settings.stop_runaway);
        let settles = self.settles();
        let floor = self.policies.controller.floor();
        let over_tolerance = count(&mut self.statistics, &self.estimates, span, floor, settles);
        let sampled = self.sample_feed_through(span);
        let view = view!(self, span, sampled);
        let report = StepReport {
            number: self.statistics.accepted,
            estimates: &self.estimates,
            next_h: self.wish,
            probes: &self.probes,
            rejections,
            over_tolerance,
            limited_by: self.policies.estimators.first().and_then(|e| e.limiting()),
            event_follows: false,
        };
        let flow = observer.accepted(&view, &report);
        self.exchange.commit(&self.policies.schedule, span);
        self.arrive(span)?;
        if let Some(doubling) = &mut self.doubling {
            doubling.end_of_pair(span.end, self.exchange.history.values(0));
        }
        self.after_restart = false;
        let arrival = self.clock.advance(span);
        self.clock.expect(self.exchange.announced);
        if arrival.is_discontinuity() || event {
            self.statistics.events += 1;
            self.watch.restart();
            self.restart(arrival, span.end);
            if let Some(doubling) = &mut self.doubling {
                doubling.restart();
            }
            let now = Span { start: span.end, end: span.end, h: 0.0 };
            if self.change_coupling(now)? {
                self.exchange.reconnect(&self.network, &self.policies.schedule, span.end);
                self.exchange.slopes.iter_mut().try_for_each(|slopes| slopes.read(&mut self.network, now))?;
                self.expect_events();
                if let Some(doubling) = &mut self.doubling {
                    doubling.reconnect(span.end, self.exchange.history.values(0));
                }
            }
        }
        runaway.map(|()| flow)
    }

    /// Makes the changes that are due; true if there were any.
    fn change_coupling(&mut self, now: Span) -> Result<bool, RunError> {
        let before = self.changed;
        while let Some(change) = self.settings.changes.get(self.changed).filter(|c| c.time <= now.start) {
            for (input, row) in &change.rows {
                self.network.wiring.replace(*input, row);
                self.policies.schedule.replace(*input, row);
            }
            for &(s, variable, value) in &change.settings {
                let fail =
                    |error| RunError::Subsystem { member: s, phase: "setting a parameter", span: now, error };
                self.network.members[s].simulator.set(variable, value).map_err(fail)?;
            }
            self.changed += 1;
        }
        Ok(self.changed > before)
    }

    /// Asks everybody for the next discontinuity: what was set while time stood still may have changed it.
    fn expect_events(&mut self) {
        for member in &self.network.members {
            if let Some(t) = member.simulator.next_event() {
                self.clock.expect(t);
            }
        }
    }

    /// What is passed on and asked for at a communication point, the end of `span`, beside numbers.
    fn arrive(&mut self, span: Span) -> Result<(), RunError> {
        if self.network.pass_packets(span)? {
            self.expect_events();
        }
        self.exchange.slopes.iter_mut().try_for_each(|slopes| slopes.read(&mut self.network, span))
    }

    /// Policies and meter learn from an attempt.
    fn learn(&mut self, span: Span) -> Result<(), RunError> {
        if self.needs_feed_through {
            self.read_feed_through(span)?;
        }
        self.read_probes(span)?;
        self.meter.commit(span);
        if !self.learns {
            return Ok(());
        }
        let view = view!(self, span);
        if let Some(correction) = &mut self.policies.correction {
            correction.commit(&view);
        }
        self.policies.extrapolation.commit(&view);
        self.policies.estimators.iter_mut().for_each(|e| e.commit(&view));
        if let Some(identifier) = &mut self.policies.identifier {
            identifier.commit(span, |i| self.exchange.acted(i), &self.exchange.y_step);
        }
        Ok(())
    }

    /// Finds the inputs that the discontinuity at `t` reaches: with the signals that jump, and with the outputs of members that
    /// reported one. False if it may reach everything: it comes from nowhere, or the coupling itself changes.
    fn find_reach(&mut self, arrival: Arrival, t: f64) -> bool {
        let Some(reach) = self.reach.as_mut() else { return false };
        reach.clear();
        for &s in &self.exchange.eventful {
            self.network.members[s].outputs.clone().for_each(|output| reach.add_output(output));
        }
        while let Some(&(_, input)) = self.jumps.get(self.jumped).filter(|(at, _)| *at <= t) {
            reach.add_input(input);
            self.jumped += 1;
        }
        reach.add_kinks();
        let came_from_nowhere = arrival.announced && self.exchange.eventful.is_empty();
        let is_due = self.settings.changes.get(self.changed).is_some_and(|change| change.time <= t);
        !came_from_nowhere && !is_due
    }

    /// After a discontinuity at `t` the past does not foretell the future of the inputs that it reaches.
    fn restart(&mut self, arrival: Arrival, t: f64) {
        let is_bounded = self.find_reach(arrival, t);
        let inputs = self.reach.as_ref().filter(|_| is_bounded).map(Reach::inputs);
        self.exchange.restart(inputs);
        self.policies.extrapolation.restart(inputs);
        if let Some(correction) = &mut self.policies.correction {
            correction.restart();
        }
        self.policies.estimators.iter_mut().for_each(|e| e.restart());
        if let Some(identifier) = &mut self.policies.identifier {
            identifier.restart();
        }
        self.wish = self.policies.controller.restart(self.wish);
        self.after_restart = true;
    }

    /// Whether the feed-through of this step is known. A member that cannot tell is no reason to fail: who only
    /// watches goes without.
    fn sample_feed_through(&mut self, span: Span) -> bool {
        let n = self.statistics.accepted;
        let due = self.settings.sample_feed_through && (n <= SAMPLED || n.is_multiple_of(SAMPLE_EVERY));
        self.needs_feed_through || (due && self.read_feed_through(span).is_ok())
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
        if let Some(identifier) = &self.policies.identifier {
            identifier.fill(&mut self.feed_through);
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
    pub fn finish(&mut self) -> Vec<(usize, SubsystemError)> {
        let members = self.network.members.iter_mut().enumerate();
        members.filter_map(|(s, m)| m.simulator.finish().err().map(|error| (s, error))).collect()
    }
}

/// When which known input jumps after the start, in the order of time. Times of jumps, of changes, the start and the end that
/// only round-off parts are made one.
fn align_jumps(network: &mut Network, settings: &mut Settings) -> Vec<(f64, usize)> {
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
    }
    times.sort_by(f64::total_cmp);
    times.dedup_by(|later, first| *later - *first <= resolution);
    for change in &mut settings.changes {
        change.time = aligned(change.time, &times, resolution);
    }
    let mut jumps = Vec::new();
    for External { input, signal } in &mut network.externals {
        signal.align(&times, resolution);
        jumps.extend(signal.jumps().into_iter().filter(|&t| t > settings.start).map(|t| (t, *input)));
    }
    jumps.sort_by(|a, b| a.0.total_cmp(&b.0));
    jumps
}

/// Enters an accepted step into the statistics; true if it is over tolerance. Norms of an estimator that still `settles` do not
/// count.
fn count(statistics: &mut Statistics, estimates: &[Estimate], span: Span, floor: f64, settles: bool) -> bool {
    statistics.accept(span.h);
    let estimates = if settles { &[][..] } else { estimates };
    for (sum, estimate) in statistics.estimates.iter_mut().zip(estimates) {
        sum.accept(estimate.norm, span.end);
    }
    let norm = estimates.first().map_or(0.0, |e| e.norm);
    let over_tolerance = norm > 1.0;
    if over_tolerance {
        statistics.over_tolerance += 1;
        if span.h <= floor * (1.0 + 1e-9) {
            statistics.at_floor += 1;
            statistics.first_at_floor.get_or_insert(span.end);
        }
    }
    if norm > statistics.worst_norm.0 {
        statistics.worst_norm = (norm, span.end);
    }
    over_tolerance
}

/// Watches the bonds in an accepted step; an error if the power of one runs away and that is to `stop` the run.
fn watch_bonds(watch: &mut BondWatch, span: Span, flows: &[BondFlow], stop: bool) -> Result<(), RunError> {
    match watch.commit(span, flows).filter(|_| stop) {
        Some(bond) => Err(RunError::Runaway { bond, span, power: flows[bond].exchanged_power }),
        None => Ok(()),
    }
}
