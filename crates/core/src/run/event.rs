//! The one place for discontinuities: known jumps and bends of signals, announced and reported events, changed parameters and
//! connections. What they reach is evaluated again at the same time with the limits from the right, both limits are shown, and the
//! past is forgotten where it says nothing any more.

use super::disturb::{self, Disturbance};
use super::known::{Known, KnownInput, MovedJump};
use super::settings::ParameterChange;
use super::{Engine, Policies, Settings, response};
use crate::error::RunError;
use crate::feed_through::{Reach, Reached, Structure};
use crate::network::Network;
use crate::observe::{EventView, Flow, Observer};
use crate::step::{Improved, Moment, OutputsBefore, Plan, PlanOf, Response, Still};
use crate::subsystem::{Span, StepEvent};
use crate::time::{Arrival, resolution};
use std::sync::Arc;

/// What is known and needed to handle discontinuities; nothing is allocated after `new`.
pub(super) struct Events {
    /// Shared with snapshots.
    pub known: Arc<Known>,
    /// How many known jumps and bends, and how many changes of the coupling, have come.
    jumped: usize,
    bent: usize,
    changed: usize,
    reach: Reach,
    /// Makes outputs belong to inputs at the limit from the right.
    pub plan: Plan,
    /// Members that feed a known jump through, or get another parameter, and cannot answer.
    deaf: Vec<usize>,
    /// Members that got another parameter now.
    retuned: Vec<usize>,
    /// Members with variables that are only recorded, and that can be read again.
    recorded: Vec<usize>,
    /// Members that are updated whenever an input jumps.
    updates: Vec<bool>,
    /// Outputs that are not kept.
    scratch: Vec<f64>,
    /// Inputs and outputs at the limit from the left.
    left: Vec<f64>,
    left_y: Vec<f64>,
    /// Members have to be asked for their next events.
    asks: bool,
}

impl Events {
    pub fn new(
        network: &Network,
        policies: &Policies,
        settings: &Settings,
        structure: &Structure,
        known: Known,
    ) -> Self {
        let answers = |s: usize| answer_at_event(network, policies, s);
        // In Event Mode everything may change.
        let always = |s: usize| network.members[s].capabilities.can_update;
        let is_recorded = |s: &usize| !network.members[*s].probes.is_empty() && !always(*s);
        let of = PlanOf {
            response: &answers,
            wanted: &|s| answers(s).is_some(),
            always: &always,
            before: OutputsBefore::Known,
        };
        let mut reach = Reach::new(network);
        let members = 0..network.members.len();
        // All that is known at once: a table may jump a million times.
        let changed = settings.changes.iter().flat_map(|change| change.rows.iter().map(|row| row.0));
        known.jumps.iter().map(|jump| jump.input).chain(changed).for_each(|input| reach.add_jump(input));
        let mut retuned = vec![false; members.len()];
        for parameter in settings.changes.iter().flat_map(|change| &change.parameters) {
            let s = parameter.member;
            retuned[s] = true;
            reach.add_member(s, network.members[s].outputs.clone());
        }
        reach.add_consequences();
        let deaf = deaf(network, policies, &reach, |s| retuned[s]);
        reach.clear();
        Events {
            deaf,
            plan: Plan::new(network, structure, &of, settings.loops),
            reach,
            known: Arc::new(known),
            jumped: 0,
            bent: 0,
            changed: 0,
            retuned: Vec::with_capacity(network.members.len()),
            recorded: members.clone().filter(is_recorded).filter(|&s| can_answer(network, s)).collect(),
            updates: members.map(always).collect(),
            scratch: vec![0.0; network.n_outputs],
            left: vec![0.0; network.n_inputs],
            left_y: vec![0.0; network.n_outputs],
            asks: false,
        }
    }

    pub fn deaf(&self) -> &[usize] {
        &self.deaf
    }

    pub fn moved(&self) -> &[MovedJump] {
        &self.known.moved
    }

    /// How many known jumps and bends, and how many changes of the coupling, have come.
    pub fn passed(&self) -> [usize; 3] {
        [self.jumped, self.bent, self.changed]
    }

    /// The number is known without asking the members.
    pub fn set_passed(&mut self, passed: [usize; 3]) {
        [self.jumped, self.bent, self.changed] = passed;
        self.asks = false;
    }

    /// What was set while time stood still may have changed when members have their next events.
    pub fn announce_later(&mut self) {
        self.asks = true;
    }

    /// What was asked for in an attempt that is rejected.
    pub fn forget_asking(&mut self) {
        self.asks = false;
    }

    /// The next known input of `list` at `t`. Bends that a step has crossed since are over.
    fn next(list: &[KnownInput], passed: &mut usize, t: f64, same: f64) -> Option<usize> {
        while let Some(due) = list.get(*passed).filter(|known| known.time <= t) {
            *passed += 1;
            if due.time >= t - same {
                return Some(due.input);
            }
        }
        None
    }
}

impl Engine {
    /// A discontinuity `now`, at the end of the accepted step: from now on the limits from the right count. What is changed from
    /// outside is part of it.
    pub(super) fn event(
        &mut self,
        now: Span,
        arrival: Arrival,
        changes: Option<&Disturbance>,
        observer: &mut dyn Observer,
    ) -> Result<Flow, RunError> {
        self.statistics.events += 1;
        self.watch.restart();
        self.find_reach(now, changes)?;
        // Announced, but reported by no subsystem: what it reaches is unknown.
        let from_nowhere = arrival.announced && self.record.eventful.is_empty();
        let extent = if from_nowhere { Extent::Everywhere } else { Extent::Found };
        self.right_limits(now, extent)?;
        self.restart(extent);
        self.network.pass_packets(now)?;
        self.exchange.read_derivatives(&mut self.network, now)?;
        self.announce_events();
        self.read_probes(now)?;
        Ok(observer.event(&EventView {
            t: now.start,
            inputs: &self.record.fresh,
            outputs: &self.record.y_prev,
            probes: &self.record.probes,
        }))
    }

    /// Finds the inputs that the discontinuity reaches; what changes at this time is changed.
    fn find_reach(&mut self, now: Span, changes: Option<&Disturbance>) -> Result<(), RunError> {
        // Taken out, since the changes borrow the rest.
        let mut reach = std::mem::take(&mut self.events.reach);
        let mut retuned = std::mem::take(&mut self.events.retuned);
        let same = resolution(self.settings.start, self.settings.stop);
        reach.clear();
        retuned.clear();
        for &(s, _) in &self.record.eventful {
            reach.add_member(s, self.network.members[s].outputs.clone());
        }
        let Events { known, jumped, .. } = &mut self.events;
        while let Some(input) = Events::next(&known.jumps, jumped, now.start, same) {
            reach.add_jump(input);
        }
        let mut changed = self.change_coupling(now, |network, change| match change {
            Changed::Row(input) => reach.add_jump(input),
            Changed::Variable(variable) => disturb::add(&mut reach, &mut retuned, network, variable),
        });
        if let (Some(changes), Ok(())) = (changes, &changed) {
            changed = self.make_changes(now, changes, &mut reach, &mut retuned);
        }
        let Events { known, bent, .. } = &mut self.events;
        while let Some(input) = Events::next(&known.bends, bent, now.start, same) {
            reach.add_bend(input);
        }
        reach.add_consequences();
        (self.events.reach, self.events.retuned) = (reach, retuned);
        changed
    }

    /// Makes the changes of the coupling that are due, and tells which.
    pub(super) fn change_coupling(
        &mut self,
        now: Span,
        mut tell: impl FnMut(&Network, Changed<'_>),
    ) -> Result<(), RunError> {
        while let Some(change) =
            self.settings.changes.get(self.events.changed).filter(|c| c.time <= now.start)
        {
            for (input, row) in &change.rows {
                self.network.wiring.replace(*input, row);
                self.policies.schedule.replace(*input, row);
                tell(&self.network, Changed::Row(*input));
            }
            for parameter in &change.parameters {
                disturb::set(&mut self.network, parameter, now)?;
                tell(&self.network, Changed::Variable(parameter));
            }
            self.events.changed += 1;
        }
        Ok(())
    }

    /// Evaluates what the discontinuity touches with the new inputs, at the current time.
    fn right_limits(&mut self, now: Span, extent: Extent) -> Result<(), RunError> {
        let Engine { network, record, events, policies, settings, .. } = self;
        let Events { plan, reach, left, left_y, retuned, recorded, updates, scratch, .. } = events;
        left.copy_from_slice(&record.fresh);
        left_y.copy_from_slice(&record.y_prev);
        let everywhere = extent == Extent::Everywhere;
        // In Event Mode a member answers to inputs that jump. An event of its own is handled already, or is below.
        let concerns = |s: usize| everywhere || if updates[s] { reach.strikes(s) } else { reach.jumps(s) };
        network.wiring.gather(&record.y_prev, &mut record.fresh);
        network.externals_at(now.start, &mut record.fresh);
        let acted = |i: usize| left[i];
        let improved = policies.identifier.as_ref().map(|identifier| Improved {
            identifier,
            acted: &acted,
            base: left_y,
        });
        let mut still = Still {
            network,
            u: &mut record.fresh,
            y: &mut record.y_prev,
            moment: Moment::Event,
            span: now,
            allow_nonfinite: settings.allow_nonfinite,
            improved,
        };
        for &(s, _) in record.eventful.iter().filter(|(_, event)| *event == StepEvent::Pending) {
            still.gather(s);
            still.answer(s, Response::Reread)?;
        }
        // Outputs may follow a parameter without following any input.
        for &s in retuned.iter() {
            if can_answer(still.network, s) {
                still.gather(s);
                still.answer(s, Response::Reread)?;
            }
        }
        plan.run(&mut still, concerns)?;
        // What is only recorded may follow inputs, too; outputs that do not jump stay as they are.
        scratch.copy_from_slice(still.y);
        still.y = scratch;
        for &s in recorded.iter().filter(|&&s| (everywhere || reach.touches(s)) && !concerns(s)) {
            still.gather(s);
            still.answer(s, Response::Reread)?;
        }
        network.wiring.gather(&record.y_prev, &mut record.fresh);
        network.externals_at(now.start, &mut record.fresh);
        Ok(())
    }

    /// The past does not predict the future of what the discontinuity reaches.
    fn restart(&mut self, extent: Extent) {
        let Engine { network, record, exchange, policies, events, pair, .. } = self;
        let reached = match extent {
            Extent::Everywhere => Reached::Everything,
            Extent::Found => events.reach.reached(),
        };
        let mut sharp = false;
        reached.for_each_sharp(network.n_inputs, |i| {
            sharp |= network.wiring.is_coupled(i) && network.external_of_input[i].is_none();
        });
        exchange.renew(&policies.schedule, &record.fresh, &record.y_prev);
        exchange.restart(&reached);
        policies.restart(&reached);
        if let Some(pair) = pair {
            pair.restart(&reached, &record.fresh);
        }
        self.wish = self.policies.size_after_event(self.wish, sharp);
        self.record.after_restart = true;
        self.start_up();
    }

    /// Asks everybody for the next discontinuity.
    pub(super) fn announce_events(&mut self) {
        self.events.asks = false;
        for member in &self.network.members {
            if let Some(t) = member.simulator.next_event() {
                self.clock.announce(t);
            }
        }
    }

    /// What an accepted step said about discontinuities to come.
    pub(super) fn announce_from_step(&mut self) {
        self.clock.announce(self.record.announced);
        if self.events.asks {
            self.announce_events();
        }
    }
}

/// Whether a member reads its outputs again at events.
fn can_answer(network: &Network, s: usize) -> bool {
    let capabilities = &network.members[s].capabilities;
    capabilities.can_update || capabilities.can_refresh
}

/// How a member can answer at an event, if it can.
fn answer_at_event(network: &Network, policies: &Policies, s: usize) -> Option<Response> {
    match network.members[s].capabilities.can_update {
        true => Some(Response::Reread),
        false => response(network, policies, s),
    }
}

/// Members that feed what `reach` found through, or have variables that were set, and cannot answer.
pub(super) fn deaf(
    network: &Network,
    policies: &Policies,
    reach: &Reach,
    retuned: impl Fn(usize) -> bool,
) -> Vec<usize> {
    let is_deaf = |s: &usize| {
        let member = &network.members[*s];
        let feeds_through = member.knows_feed_through() && !member.feed_through.is_empty();
        let feeds_jump = reach.jumps(*s) && feeds_through && answer_at_event(network, policies, *s).is_none();
        feeds_jump || retuned(*s) && !member.outputs.is_empty() && !can_answer(network, *s)
    };
    (0..network.members.len()).filter(is_deaf).collect()
}

/// How far a discontinuity may reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extent {
    /// As far as [`Reach`] found.
    Found,
    /// Unknown.
    Everywhere,
}

/// Something that was changed.
pub(super) enum Changed<'a> {
    /// The connection of an input.
    Row(usize),
    /// A variable of a member.
    Variable(&'a ParameterChange),
}
