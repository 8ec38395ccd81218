//! The one loop: propose a step, attempt it, estimate, decide, commit; at discontinuities, both limits.

mod settings;
mod policies;
mod known;
mod initialize;
mod initial_values;
mod attempt;
mod commit;
mod event;
mod pairs;
mod disturb;
mod snapshot;

pub use disturb::Disturbance;
pub use policies::Policies;
pub use settings::{Change, ParameterChange, PastInputs, Settings, StartUp};
pub use snapshot::Snapshot;

use crate::controller::Ceiling;
use crate::correction::CorrectionReport;
use crate::energy::{BondWatch, Meter};
use crate::error::RunError;
use crate::estimator::{ErrorEstimator, Tells};
use crate::feed_through::identify::Identified;
use crate::feed_through::{AlgebraicLoop, GainReader, GainSource, LoopGain, Structure};
use crate::network::Network;
use crate::observe::{Flow, Observer, Statistics};
use crate::sampled::{SampledOutputs, SampledReport};
use crate::step::{
    BufferNeeds, Exchange, LoopStatistics, OutputsBefore, Pair, Plan, PlanOf, Response, StepRecord, Workers,
};
use crate::subsystem::{Causality, SubsystemError, ValueKind};
use crate::time::{Clock, Pace};
use disturb::Replaced;
use event::Events;
use known::Known;
pub use known::MovedJump;
use std::sync::Arc;

/// How a run ended, if not with an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// At the stop time.
    Finished,
    /// An observer stopped it.
    Stopped,
}

/// Runs a coupled system. After `new` and `initialize` nothing is allocated, hashed or named.
pub struct Engine {
    network: Network,
    policies: Policies,
    settings: Settings,
    clock: Clock,
    /// The step size that the controller wants, in s, with the ceiling and without.
    wish: f64,
    unlimited: f64,
    exchange: Exchange,
    record: StepRecord,
    workers: Option<Workers>,
    /// What makes outputs belong to inputs at the end of every step.
    refresh: Plan,
    events: Events,
    gains: GainReader,
    needs_gains: bool,
    /// Some policy learns from accepted steps.
    learns: bool,
    meter: Meter,
    watch: BondWatch,
    statistics: Statistics,
    /// Everything can go back, and something may want to.
    saves: bool,
    /// A member may stop before the end of a step.
    returns_early: bool,
    /// Members keep the state at the start of the last step.
    has_saved: bool,
    /// Steps are made in pairs beside a big one.
    pair: Option<Box<Pair>>,
    structure: Structure,
    unsolved: Vec<AlgebraicLoop>,
    /// Real outputs that are recorded and not exchanged, by place among the probes.
    recorded_outputs: Vec<usize>,
    /// Signals that something else was put in the place of.
    replaced: Replaced,
    /// A step, or a change from outside, failed.
    failed: bool,
    /// The member that ended the simulation, and when, in s.
    terminated: Option<(usize, f64)>,
    /// The largest error norm of the attempts that were rejected since the last accepted step; NaN if there were none.
    rejected_norm: f64,
    /// Tells its own snapshots from others.
    identity: Arc<()>,
}

impl Engine {
    /// Prepares a run.
    pub fn new(mut network: Network, policies: Policies, mut settings: Settings) -> Self {
        if let Some(identifier) = &policies.identifier {
            identifier.claim_gains(&mut network.feed_through);
        }
        let wish = policies.controller.first();
        let constant = policies.controller.is_fixed() && settings.repeats.is_none();
        let pace = match (constant, settings.quantum) {
            (true, quantum) => Pace::Grid { step: wish, quantum },
            (false, Some(quantum)) => Pace::Multiples(quantum),
            (false, None) => Pace::Free,
        };
        let known = Known::collect(&mut network, &mut settings, pace);
        let Settings { start, stop, end_rule, .. } = settings;
        let mut clock = Clock::new(start, stop, end_rule, pace, known.times());
        if let Some(interval) = settings.land_on {
            clock = clock.land_on(interval);
        }
        if let Some(ends) = &settings.repeats {
            clock = clock.repeat(ends.clone());
        }
        let structure = Structure::of(&network);
        let (refresh, unsolved) = refresh_plan(&network, &policies, &settings, &structure);
        let needs = BufferNeeds {
            corrections: policies.correction.is_some(),
            rereads: !refresh.is_empty() || policies.estimators.iter().any(|e| e.improves()),
            defects: policies.need_defects(),
            mean_defects: policies.correction.as_ref().is_some_and(|c| c.needs_mean_defect()),
            means: policies.extrapolation.gives_means(),
            estimators: policies.estimators.len(),
            told: policies.told(&settings),
            details: settings.details,
        };
        let order = policies.extrapolation.max_order();
        let mut exchange = Exchange::new(&network, &policies.schedule, order, &needs);
        if settings.output_derivatives {
            exchange.follow_derivatives(&network);
        }
        let workers = Workers::new(&network, &policies.schedule, &exchange.held, settings.worker_threads);
        let pair = Pair::wanted(&network, &policies, &exchange.held, &needs);
        let returns_early = network.members.iter().any(|m| m.capabilities.may_return_early);
        let wants_rollback = pair.is_some() || policies.controller.may_reject() || returns_early;
        let stepwise: Vec<bool> = policies.schedule.rates.iter().map(|&r| r > 1).collect();
        let mut engine = Engine {
            meter: Meter::new(&network.bonds, settings.quadrature, &stepwise),
            watch: BondWatch::new(network.bonds.bonds.len()),
            statistics: Statistics::new(policies.estimators.len()),
            saves: wants_rollback && network.members.iter().all(|m| m.capabilities.can_restore),
            returns_early,
            has_saved: false,
            events: Events::new(&network, &policies, &settings, &structure, known),
            gains: GainReader::new(&network),
            needs_gains: policies.correction.as_ref().is_some_and(|c| c.needs_feed_through()),
            learns: policies.learn(),
            record: StepRecord::new(&network, &needs),
            clock,
            wish,
            unlimited: wish,
            exchange,
            workers,
            refresh,
            pair,
            structure,
            unsolved,
            recorded_outputs: recorded_outputs(&network),
            replaced: Replaced::default(),
            failed: false,
            terminated: None,
            rejected_norm: f64::NAN,
            identity: Arc::new(()),
            network,
            policies,
            settings,
        };
        GainReader::fill_given(&engine.network, &mut engine.record.gains);
        // The first time the checkpoint grows; later its memory is reused.
        engine.remember();
        engine
    }

    /// Makes the whole run.
    pub fn run(&mut self, observer: &mut dyn Observer) -> Result<Outcome, RunError> {
        if self.initialize(observer)? == Flow::Stop {
            return Ok(Outcome::Stopped);
        }
        while !self.is_done() {
            if self.step(observer)? == Flow::Stop {
                return Ok(Outcome::Stopped);
            }
        }
        Ok(Outcome::Finished)
    }

    /// Makes one accepted step, or two if they are made in pairs, after [`Engine::initialize`]. What an observer wants comes back;
    /// once [`Engine::is_done`], nothing happens and it is [`Flow::Stop`].
    ///
    /// After an error time, sums and statistics are those of accepted steps, inputs and outputs may be those of an attempt, and there
    /// are two ways on: [`Engine::finish`], or [`Engine::restore_snapshot`].
    pub fn step(&mut self, observer: &mut dyn Observer) -> Result<Flow, RunError> {
        if self.is_done() {
            return Ok(Flow::Stop);
        }
        self.note_failure(|engine| match &engine.pair {
            Some(_) => engine.double_step(observer),
            None => engine.single_step(observer),
        })
    }

    /// Whether no step is left: the end is reached, a member ended the simulation, or something failed.
    #[inline]
    pub fn is_done(&self) -> bool {
        self.clock.done() || self.failed || self.terminated.is_some()
    }

    /// The member that ended the simulation before its stop time, as a model may, and when, in s. The run ends there, or at the last
    /// communication point before it.
    pub fn terminated(&self) -> Option<(usize, f64)> {
        self.terminated
    }

    /// Whether a step, or a change from outside, failed; a snapshot from before may help.
    pub fn has_failed(&self) -> bool {
        self.failed
    }

    /// Makes a later step end at `t`, in seconds, or at the next possible time if steps have certain lengths only; at the end of the
    /// run if that comes first. Returns when that is: now, if `t` is not to come any more. It is no event, but steps are others
    /// than without it, and so are results within their error.
    pub fn land_at(&mut self, t: f64) -> f64 {
        self.clock.land_at(t)
    }

    #[inline]
    fn note_failure(
        &mut self,
        act: impl FnOnce(&mut Self) -> Result<Flow, RunError>,
    ) -> Result<Flow, RunError> {
        let done = act(self);
        self.failed |= done.is_err();
        done
    }

    /// Ends all simulations; every error is reported, none hides another. Only reading makes sense afterwards.
    pub fn finish(&mut self) -> Vec<(usize, SubsystemError)> {
        let members = self.network.members.iter_mut().enumerate();
        members.filter_map(|(s, m)| m.simulator.finish().err().map(|error| (s, error))).collect()
    }

    /// The feed-through graph.
    pub fn structure(&self) -> &Structure {
        &self.structure
    }

    /// Algebraic loops that are solved at every communication point: their inputs, and what that took so far.
    pub fn solved_loops(&self) -> impl Iterator<Item = (&[usize], &LoopStatistics)> {
        self.refresh.loops()
    }

    /// Algebraic loops that stay as they are, since a member of theirs cannot be read again: every exchange lags a step behind.
    pub fn unsolved_loops(&self) -> &[AlgebraicLoop] {
        &self.unsolved
    }

    /// ∂y/∂u of every feed-through pair of the network at the current point; `None` if a member cannot tell. Members are read again
    /// for it. What is not known, or not yet identified, is 0.
    pub fn read_gains(&mut self) -> Option<Vec<f64>> {
        let Engine { gains, network, policies, record, .. } = self;
        let mut values = record.gains.clone();
        let fresh = &record.fresh;
        let read = gains.read(network, policies.identifier.as_ref(), |i| fresh[i], record.span, &mut values);
        read.ok().map(|()| values)
    }

    /// The gains of all algebraic loops, in the order of [`Structure::loops`], from those of the feed-through pairs; `None` where one
    /// of a loop is not known.
    pub fn loop_gains(&self, values: &[f64]) -> Vec<Option<LoopGain>> {
        let Engine { network, policies, structure, .. } = self;
        let place = policies.schedule.turns(network.members.len());
        let of = |found: &AlgebraicLoop| {
            let is_known = |o: usize| {
                let source = &network.members[network.owner_of_output[o]];
                let mut pairs = network.feed_through[source.feed_through.clone()].iter();
                pairs.all(|pair| !matches!(pair.gain, GainSource::Unknown | GainSource::Identified))
            };
            let known = found.path.iter().all(|&(_, output)| is_known(output));
            known.then(|| LoopGain::of(network, found, values, &place))
        };
        structure.loops.iter().map(of).collect()
    }

    /// Outputs that were found to be sampled.
    pub fn sampled(&self) -> Vec<SampledReport> {
        self.policies.sampled.as_ref().map_or(Vec::new(), SampledOutputs::found)
    }

    /// Members that feed a known discontinuity through, or get another parameter, and cannot be read again: what they give lags a step
    /// behind it.
    pub fn deaf_to_events(&self) -> &[usize] {
        self.events.deaf()
    }

    /// Known jumps that no step can end at, and where they were moved to.
    pub fn moved_jumps(&self) -> &[MovedJump] {
        self.events.moved()
    }

    /// Where the run will end, in s: before its stop time if steps are multiples of something that does not fit.
    pub fn planned_end(&self) -> f64 {
        self.clock.end()
    }

    /// The experiment and the rules of the run.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The network.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// Energies summed over the run.
    pub fn meter(&self) -> &Meter {
        &self.meter
    }

    /// Where the residual power rose far above its own level.
    pub fn watch(&self) -> &BondWatch {
        &self.watch
    }

    /// Which errors observers see one by one.
    pub fn told(&self) -> Tells {
        self.policies.told(&self.settings)
    }

    /// What the correction did, bond by bond.
    pub fn corrections(&self) -> Vec<(usize, CorrectionReport)> {
        self.policies.correction.as_ref().map_or(Vec::new(), |c| c.reports())
    }

    /// The share of steps in which each input was corrected; empty if that is not counted.
    pub fn shares_of_correction(&self) -> Vec<f64> {
        self.policies.correction.as_ref().map_or(Vec::new(), |c| c.shares_of_use())
    }

    /// The bound of the step size by the motion of inputs, if there is one.
    pub fn ceiling(&self) -> Option<&Ceiling> {
        self.policies.ceiling.as_ref()
    }

    /// Feed-through that was identified.
    pub fn identified(&self) -> Vec<Identified> {
        self.policies.identifier.as_ref().map_or(Vec::new(), |i| i.found())
    }

    /// Members whose identified gains a correction multiplies errors with, and the share of steps in which one was sure enough.
    pub fn shares_of_identified_use(&self) -> Vec<(usize, f64)> {
        self.policies.identifier.as_ref().map_or(Vec::new(), |i| i.shares_of_use())
    }

    /// How many steps each input was held with order 0, 1 and 2, if the order varies.
    pub fn order_counts(&self) -> &[[u64; 3]] {
        self.policies.extrapolation.order_counts()
    }

    /// The estimator that drives the step size.
    pub fn driving(&self) -> Option<&dyn ErrorEstimator> {
        self.policies.driving()
    }

    /// Steps so far.
    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// Now, in seconds.
    pub fn time(&self) -> f64 {
        self.clock.time()
    }

    /// All inputs at the last communication point, flat; after an event the limits from the right.
    pub fn inputs(&self) -> &[f64] {
        &self.record.fresh
    }

    /// All outputs at the last communication point, flat; after an event the limits from the right.
    pub fn outputs(&self) -> &[f64] {
        &self.record.y_prev
    }

    /// All probes at the last communication point, flat; after an event the limits from the right. They are read in every step.
    pub fn probes(&self) -> &[f64] {
        &self.record.probes
    }
}

/// Probes that are real outputs.
fn recorded_outputs(network: &Network) -> Vec<usize> {
    let is_output = |&p: &usize| {
        let variable = network.probe_variable(p);
        variable.causality == Causality::Output && variable.kind == ValueKind::Real
    };
    (0..network.n_probes).filter(is_output).collect()
}

/// How a member can answer at the current time, if it can.
fn response(network: &Network, policies: &Policies, s: usize) -> Option<Response> {
    let identified = || policies.identifier.as_ref().is_some_and(|i| i.improves_member(s));
    if network.members[s].capabilities.can_refresh {
        Some(Response::Reread)
    } else {
        identified().then_some(Response::Identified)
    }
}

/// What is done at the end of every step, and the loops that cannot be solved.
fn refresh_plan(
    network: &Network,
    policies: &Policies,
    settings: &Settings,
    structure: &Structure,
) -> (Plan, Vec<AlgebraicLoop>) {
    let improved = |s: usize| policies.identifier.as_ref().is_some_and(|i| i.improves_member(s));
    let mut refreshed = vec![false; network.members.len()];
    settings.refresh.iter().for_each(|&s| refreshed[s] = true);
    let of = PlanOf {
        response: &|s| match response(network, policies, s) {
            // A member that can be read again is improved all the same, unless it is refreshed.
            Some(Response::Reread) if improved(s) && !refreshed[s] => Some(Response::Identified),
            other => other,
        },
        wanted: &|s| refreshed[s] || improved(s),
        always: &|_| false,
        before: OutputsBefore::Known,
    };
    let answers =
        |inputs: &[usize]| inputs.iter().all(|&i| (of.response)(network.owner_of_input[i]).is_some());
    let unsolved = structure.loops.iter().filter(|l| !answers(&l.inputs)).cloned().collect();
    (Plan::new(network, structure, &of, settings.loops), unsolved)
}
