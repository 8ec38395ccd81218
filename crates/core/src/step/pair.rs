//! Pairs of steps beside a big one: both small steps are accepted or taken back together.

use super::{Master, Policies, count, view, watch_bonds};
use crate::checkpoint::{Checkpoint, Checkpointed};
use crate::controller::Decision;
use crate::energy::{BondFlow, PortFlow};
use crate::error::RunError;
use crate::estimator::{BigStep, Estimate};
use crate::hold::defects::HoldDefects;
use crate::network::Network;
use crate::observe::{Flow, Observer, StepReport};
use crate::step::{Big, Doubled, StepView};
use crate::step::{Exchange, Swept};
use crate::subsystem::Span;
use crate::time::clock::{Arrival, Pair};
use crate::time::history::{History, NODES};

/// What a pair of steps needs beyond a single one. All of it is allocated once.
pub(super) struct Doubling {
    classic: Option<BigOutcome>,
    modified: Option<BigOutcome>,
    /// Inputs at the ends of past pairs: the nodes of classic big steps.
    ends: History,
    /// Where the pair starts, in seconds.
    start: f64,
    /// The nodes of its first small step.
    nodes: Nodes,
    /// The big steps and the first small step are made: the second may be compared.
    complete: bool,
    first: FirstHalf,
    /// Better outputs at the end of the pair.
    improved: Vec<f64>,
    /// What the policies knew before the pair.
    tape: Checkpoint,
}

/// Times of nodes, the newest first.
#[derive(Clone, Copy, Default)]
struct Nodes {
    times: [f64; NODES],
    len: usize,
}

impl Nodes {
    fn of(history: &History) -> Self {
        let mut nodes = Nodes { len: history.times().len(), ..Nodes::default() };
        nodes.times[..nodes.len].copy_from_slice(history.times());
        nodes
    }

    fn times(&self) -> &[f64] {
        &self.times[..self.len]
    }
}

struct BigOutcome {
    y: Vec<f64>,
    nodes: Nodes,
}

/// The first small step, kept until the pair is decided.
struct FirstHalf {
    held_end: Vec<f64>,
    corrected_end: Vec<f64>,
    fresh: Vec<f64>,
    y_prev: Vec<f64>,
    y_step: Vec<f64>,
    y_fresh: Vec<f64>,
    ports: Vec<PortFlow>,
    flows: Vec<BondFlow>,
    feed_through: Vec<f64>,
    probes: Vec<f64>,
    estimates: Vec<Estimate>,
    jumps: Option<HoldDefects>,
    limited_by: Option<usize>,
    after_restart: bool,
    event: bool,
    /// The next discontinuity that was announced, in s; infinite if none was.
    announced: f64,
}

impl Doubling {
    /// Buffers, if an estimator needs big steps.
    pub fn wanted(network: &Network, policies: &Policies) -> Option<Box<Self>> {
        let wants = |kind| policies.estimators.iter().any(|e| e.big_step() == Some(kind));
        let (nu, ny) = (network.n_inputs, network.n_outputs);
        let big = |kind| wants(kind).then(|| BigOutcome { y: vec![0.0; ny], nodes: Nodes::default() });
        let (classic, modified) = (big(BigStep::Classic), big(BigStep::Modified));
        if classic.is_none() && modified.is_none() {
            return None;
        }
        let first = FirstHalf {
            held_end: vec![0.0; nu],
            corrected_end: vec![0.0; nu],
            fresh: vec![0.0; nu],
            y_prev: vec![0.0; ny],
            y_step: vec![0.0; ny],
            y_fresh: vec![0.0; ny],
            ports: vec![PortFlow::default(); network.bonds.ports.len()],
            flows: vec![BondFlow::default(); network.bonds.bonds.len()],
            feed_through: vec![0.0; network.feed_through.len()],
            probes: vec![0.0; network.n_probes],
            estimates: vec![Estimate { norm: 0.0, order: 1.0 }; policies.estimators.len()],
            jumps: policies.need_jumps().then(|| HoldDefects::new(nu)),
            limited_by: None,
            after_restart: false,
            event: false,
            announced: f64::INFINITY,
        };
        Some(Box::new(Doubling {
            classic,
            modified,
            ends: History::new(nu),
            start: 0.0,
            nodes: Nodes::default(),
            complete: false,
            first,
            improved: vec![0.0; ny],
            tape: Checkpoint::default(),
        }))
    }

    /// What estimators see of the pair in its second step.
    pub fn seen<'a>(&'a self, exchange: &'a Exchange) -> Option<Doubled<'a>> {
        fn big(outcome: &BigOutcome) -> Big<'_> {
            Big { y: &outcome.y, nodes: outcome.nodes.times() }
        }
        self.complete.then(|| Doubled {
            start: self.start,
            nodes: self.nodes.times(),
            later_nodes: exchange.history.times(),
            classic: self.classic.as_ref().map(big),
            modified: self.modified.as_ref().map(big),
        })
    }

    /// A communication point at which a big step may start.
    pub fn end_of_pair(&mut self, t: f64, inputs: &[f64]) {
        self.ends.push(t, |values| values.copy_from_slice(inputs));
        self.complete = false;
    }

    /// Forgets the past after an event.
    pub fn restart(&mut self) {
        self.ends.restart();
    }

    /// Forgets the past after a change of the coupling: the inputs at `t` are others now.
    pub fn reconnect(&mut self, t: f64, inputs: &[f64]) {
        self.ends.clear();
        self.end_of_pair(t, inputs);
    }
}

impl FirstHalf {
    fn keep(&mut self, view: &StepView<'_>, feed_through: &[f64], probes: &[f64], estimates: &[Estimate]) {
        self.held_end.copy_from_slice(view.held_end);
        self.corrected_end.copy_from_slice(view.corrected_end);
        self.fresh.copy_from_slice(view.fresh);
        self.y_prev.copy_from_slice(view.y_prev);
        self.y_step.copy_from_slice(view.y_step);
        self.y_fresh.copy_from_slice(view.y_fresh);
        self.ports.copy_from_slice(view.ports);
        self.flows.copy_from_slice(view.flows);
        self.feed_through.copy_from_slice(feed_through);
        self.probes.copy_from_slice(probes);
        self.estimates.copy_from_slice(estimates);
        if let (Some(own), Some(its)) = (&mut self.jumps, view.jumps) {
            own.copy_from(its);
        }
        self.after_restart = view.after_restart;
    }
}

impl Master {
    /// Makes two accepted steps; a single one where the grid of a fixed step leaves no room for two.
    pub(super) fn double_step(&mut self, observer: &mut dyn Observer) -> Result<Flow, RunError> {
        let Some(mut pair) = self.clock.propose_pair(self.wish) else { return self.single_step(observer) };
        let mut rejections = 0;
        self.save(pair.whole)?;
        self.remember();
        let event = loop {
            let h = pair.halves[0].h;
            let retry_h = match self.attempt_pair(&pair) {
                Ok(Swept::Early { member, reached }) => {
                    if reached.is_nan() || reached <= pair.whole.start {
                        return Err(RunError::EarlyReturn { member, span: pair.whole, reached });
                    }
                    self.take_back(pair.whole, &mut rejections)?;
                    self.recall();
                    pair = self.clock.cut_pair(reached);
                    continue;
                }
                Ok(Swept::Whole { event }) => match self.judge(self.worse_half(), h, pair.shortened, true) {
                    Decision::Accept { next_h } => {
                        self.wish = next_h;
                        break event;
                    }
                    Decision::Reject { retry_h } => retry_h,
                },
                Err(error) => self.smaller_after(error, h, true)?,
            };
            self.reject(pair.halves[1], h, retry_h, &mut rejections)?;
            self.recall();
            self.wish = retry_h;
            // Only a fixed grid has no room for a pair, and a fixed step is never rejected.
            let Some(next) = self.clock.propose_pair(retry_h) else { return self.single_step(observer) };
            pair = next;
        };
        self.improve(pair.halves[1]);
        let first = self.report_first(pair.halves, rejections, observer)?;
        let second = self.accept(pair.halves[1], event, 0, observer)?;
        Ok(if first == Flow::Stop { first } else { second })
    }

    /// The driving estimate of the small step that has the larger one.
    fn worse_half(&self) -> Option<Estimate> {
        let second = self.estimates.first().copied();
        let first = self.doubling.as_ref().and_then(|d| d.first.estimates.first().copied());
        if first.map(|e| e.norm) > second.map(|e| e.norm) { first } else { second }
    }

    /// The big steps, then the two small ones; policies learn from the first.
    fn attempt_pair(&mut self, pair: &Pair) -> Result<Swept, RunError> {
        let Some(mut doubling) = self.doubling.take() else { return self.attempt(pair.whole) };
        doubling.start = pair.whole.start;
        doubling.nodes = Nodes::of(&self.exchange.history);
        doubling.complete = false;
        let big = self.big_steps(&mut doubling, pair.whole);
        self.doubling = Some(doubling);
        if let early @ Swept::Early { .. } = big? {
            return Ok(early);
        }
        let event = match self.attempt(pair.halves[0])? {
            Swept::Whole { event } => event,
            early => return Ok(early),
        };
        // A discontinuity that was announced just now is not to be crossed by the second half.
        let announced = self.exchange.announced;
        if announced < pair.whole.end && self.clock.heeds(announced) {
            let is_its = |s: &usize| self.network.members[*s].simulator.next_event() == Some(announced);
            let member = (0..self.network.members.len()).find(is_its).unwrap_or(0);
            return Ok(Swept::Early { member, reached: announced });
        }
        self.learn(pair.halves[0])?;
        // Taken out, since it keeps what the view of all the rest shows.
        if let Some(mut doubling) = self.doubling.take() {
            let view = view!(self, pair.halves[0]);
            doubling.first.keep(&view, &self.feed_through, &self.probes, &self.estimates);
            doubling.first.event = event;
            doubling.first.announced = self.exchange.announced;
            doubling.first.limited_by = self.policies.estimators.first().and_then(|e| e.limiting());
            doubling.complete = true;
            self.doubling = Some(doubling);
        }
        self.exchange.commit(&self.policies.schedule, pair.halves[0]);
        self.arrive(pair.halves[0])?;
        self.after_restart = false;
        if event {
            self.restart(Arrival::default(), pair.halves[0].end);
        }
        self.attempt(pair.halves[1])
    }

    fn big_steps(&mut self, doubling: &mut Doubling, whole: Span) -> Result<Swept, RunError> {
        let Doubling { classic, modified, ends, .. } = doubling;
        // Classic nodes are as many as small steps have, or the orders would differ: until then, the same nodes.
        let wanted = usize::from(self.policies.extrapolation.max_order()) + 1;
        let enough = ends.len() >= self.exchange.history.times().len().min(wanted);
        for (outcome, coarse) in [(classic, enough), (modified, false)] {
            let Some(outcome) = outcome else { continue };
            if coarse {
                std::mem::swap(&mut self.exchange.history, ends);
            }
            outcome.nodes = Nodes::of(&self.exchange.history);
            let swept = self.sweep(whole);
            if coarse {
                std::mem::swap(&mut self.exchange.history, ends);
            }
            match swept {
                Ok(Swept::Whole { .. }) => outcome.y.copy_from_slice(self.exchange.y_fresh()),
                // Too large a step is what the estimate is for.
                Err(error) if error.may_pass_with_smaller_steps() => outcome.y.fill(f64::NAN),
                other => return other,
            }
            self.restore(whole)?;
        }
        Ok(Swept::Whole { event: false })
    }

    /// Passes on better outputs at the end of the pair, where an estimator has them.
    fn improve(&mut self, span: Span) {
        let Some(estimator) = self.policies.estimators.iter().find(|e| e.improves()) else { return };
        // Taken out, since the view borrows the rest.
        let Some(mut y) = self.doubling.as_mut().map(|d| std::mem::take(&mut d.improved)) else { return };
        let view = view!(self, span);
        y.copy_from_slice(view.y_fresh);
        estimator.improve(&view, &mut y);
        self.exchange.replace(&self.network, &y, span);
        self.exchange.measure(&self.network, &mut self.meter, span);
        if let Some(doubling) = &mut self.doubling {
            doubling.improved = y;
        }
    }

    /// Shows the first of two accepted steps, as if it had been alone.
    fn report_first(
        &mut self,
        spans: [Span; 2],
        rejections: u32,
        observer: &mut dyn Observer,
    ) -> Result<Flow, RunError> {
        let Some(mut doubling) = self.doubling.take() else { return Ok(Flow::Continue) };
        let first = &mut doubling.first;
        // A pair has one estimate; it belongs to both steps.
        for (k, estimator) in self.policies.estimators.iter().enumerate() {
            if estimator.big_step().is_some() {
                first.estimates[k] = self.estimates[k];
            }
        }
        let floor = self.policies.controller.floor();
        let settles = self.settles();
        let over_tolerance = count(&mut self.statistics, &first.estimates, spans[0], floor, settles);
        let runaway = watch_bonds(&mut self.watch, spans[0], &first.flows, self.settings.stop_runaway);
        let view = StepView {
            span: spans[0],
            held_end: &first.held_end,
            corrected_end: &first.corrected_end,
            fresh: &first.fresh,
            y_prev: &first.y_prev,
            y_step: &first.y_step,
            y_fresh: &first.y_fresh,
            ports: &first.ports,
            flows: &first.flows,
            bonds: &self.network.bonds,
            wiring: &self.network.wiring,
            feed_through: self.needs_feed_through.then_some(&first.feed_through[..]),
            jumps: first.jumps.as_ref(),
            external: &self.external,
            doubled: None,
            after_restart: first.after_restart,
        };
        let report = StepReport {
            number: self.statistics.accepted,
            estimates: &first.estimates,
            next_h: spans[1].h,
            probes: &first.probes,
            rejections,
            over_tolerance,
            limited_by: first.limited_by,
            event_follows: false,
        };
        let flow = observer.accepted(&view, &report);
        self.clock.advance(spans[0]);
        self.clock.expect(first.announced);
        if first.event {
            self.statistics.events += 1;
            self.watch.restart();
            doubling.ends.clear();
        }
        self.doubling = Some(doubling);
        runaway.map(|()| flow)
    }

    /// Writes down what the policies know, so that an attempt that they learn from can be taken back.
    pub(super) fn remember(&mut self) {
        let Some(doubling) = &mut self.doubling else { return };
        let tape = &mut doubling.tape;
        tape.clear();
        self.exchange.save(tape);
        self.meter.save(tape);
        self.policies.extrapolation.save(tape);
        if let Some(correction) = &self.policies.correction {
            correction.save(tape);
        }
        self.policies.estimators.iter().for_each(|e| e.save(tape));
        self.policies.controller.save(tape);
        if let Some(identifier) = &self.policies.identifier {
            identifier.save(tape);
        }
        tape.extend(&self.feed_through);
        tape.push(f64::from(u8::from(self.after_restart)));
        tape.push(self.wish);
    }

    /// Goes back to what was written down last.
    fn recall(&mut self) {
        let Some(doubling) = &mut self.doubling else { return };
        doubling.complete = false;
        let tape = &mut doubling.tape;
        tape.rewind();
        self.exchange.load(tape);
        self.meter.load(tape);
        self.policies.extrapolation.load(tape);
        if let Some(correction) = &mut self.policies.correction {
            correction.load(tape);
        }
        self.policies.estimators.iter_mut().for_each(|e| e.load(tape));
        self.policies.controller.load(tape);
        if let Some(identifier) = &mut self.policies.identifier {
            identifier.load(tape);
        }
        tape.fill(&mut self.feed_through);
        self.after_restart = tape.pull() != 0.0;
        self.wish = tape.pull();
    }
}
