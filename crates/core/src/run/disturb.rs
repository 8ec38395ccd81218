//! Changes from outside while the run goes on: inputs, parameters. All that come together are one event.

use super::settings::ParameterChange;
use super::{Engine, event};
use crate::error::RunError;
use crate::feed_through::Reach;
use crate::network::Network;
use crate::observe::{Flow, Observer};
use crate::subsystem::{Causality, FeedThrough, Span, SubsystemError};
use crate::time::Arrival;
use crate::time::signal::Signal;
use std::sync::Arc;

/// What is changed from outside at one instant. Values are finite; the caller checks that.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Disturbance {
    /// Inputs that follow known signals, flat, and the value that each has from now on, whatever its signal would do.
    pub inputs: Vec<(usize, f64)>,
    /// Tunable parameters, and inputs that the network does not feed; see [`Subsystem::set`](crate::subsystem::Subsystem::set).
    pub variables: Vec<ParameterChange>,
}

impl Disturbance {
    /// Whether nothing is changed.
    pub fn is_empty(&self) -> bool {
        self.inputs.is_empty() && self.variables.is_empty()
    }
}

/// Signals that something else was put in the place of.
#[derive(Default)]
pub(super) struct Replaced {
    /// The signal of each external input as it was at the start, where it was replaced; empty until one is.
    original: Vec<Option<Signal>>,
}

impl Replaced {
    /// The external input `e` is constant from now on.
    fn replace(&mut self, network: &mut Network, e: usize, value: f64) {
        self.original.resize_with(network.externals.len(), || None);
        let before = std::mem::replace(&mut network.externals[e].signal, Signal::Constant(value));
        self.original[e].get_or_insert(before);
    }

    /// The values of all external inputs that were replaced, by their place.
    pub fn values(&self, network: &Network) -> Vec<(usize, f64)> {
        let replaced = self.original.iter().enumerate().filter(|(_, original)| original.is_some());
        let value = |(e, _): (usize, _)| match network.externals[e].signal {
            Signal::Constant(value) => Some((e, value)),
            _ => None,
        };
        replaced.filter_map(value).collect()
    }

    /// These are replaced, all others are what they were at the start.
    pub fn load(&mut self, network: &mut Network, values: &[(usize, f64)]) {
        for (external, original) in network.externals.iter_mut().zip(&mut self.original) {
            if let Some(original) = original.take() {
                external.signal = original;
            }
        }
        values.iter().for_each(|&(e, value)| self.replace(network, e, value));
    }
}

impl Engine {
    /// Changes inputs and variables now, after [`Engine::initialize`] or an accepted step, as one event: what it reaches is evaluated
    /// at the limit from the right and its past is forgotten, [`Observer::event`] is called, and the controller begins anew. What
    /// replaced signals would have done later causes no events any more.
    ///
    /// Nothing happens if there is no change, or after the end. After an error the state is undefined, as after one of
    /// [`Engine::step`]; a list that names an input without a signal is refused before anything changes.
    pub fn disturb(&mut self, changes: &Disturbance, observer: &mut dyn Observer) -> Result<Flow, RunError> {
        if self.is_done() {
            return Ok(Flow::Stop);
        }
        let t = self.clock.time();
        let now = Span { start: t, end: t, h: 0.0 };
        for &(input, _) in &changes.inputs {
            if self.network.external_of_input[input].is_none() {
                let member = self.network.owner_of_input[input];
                let error = SubsystemError::Unsupported { call: "set" };
                return Err(RunError::Subsystem { member, phase: SETTING, span: now, error });
            }
        }
        if changes.is_empty() {
            return Ok(Flow::Continue);
        }
        // What the last step met was handled after it.
        self.record.eventful.clear();
        self.clock.interrupt();
        self.note_failure(|engine| engine.event(now, Arrival::default(), Some(changes), observer))
    }

    /// Members that `changes` reach at once and that cannot be read again: what they give lags a step behind.
    pub fn deaf_to(&self, changes: &Disturbance) -> Vec<usize> {
        let mut reach = Reach::new(&self.network);
        let mut retuned = Vec::new();
        changes.inputs.iter().for_each(|&(input, _)| reach.add_jump(input));
        changes.variables.iter().for_each(|variable| add(&mut reach, &mut retuned, &self.network, variable));
        reach.add_consequences();
        let is_retuned = |s: usize| retuned.contains(&s);
        event::deaf(&self.network, &self.policies, &reach, is_retuned)
    }

    /// Makes the changes of a disturbance, and tells which.
    pub(super) fn make_changes(
        &mut self,
        now: Span,
        changes: &Disturbance,
        reach: &mut Reach,
        retuned: &mut Vec<usize>,
    ) -> Result<(), RunError> {
        let Engine { network, replaced, events, clock, .. } = self;
        for &(input, value) in &changes.inputs {
            if let Some(e) = network.external_of_input[input] {
                replaced.replace(network, e, value);
                reach.add_jump(input);
            }
        }
        let inputs: Vec<usize> = changes.inputs.iter().map(|change| change.0).collect();
        if !inputs.is_empty() {
            let known = events.known.without(&inputs, now.start);
            clock.know(known.times());
            events.known = Arc::new(known);
        }
        for variable in &changes.variables {
            set(network, variable, now)?;
            add(reach, retuned, network, variable);
        }
        Ok(())
    }
}

/// What is done, in messages.
const SETTING: &str = "setting a variable";

/// Gives a variable of a member its value.
pub(super) fn set(network: &mut Network, change: &ParameterChange, span: Span) -> Result<(), RunError> {
    let ParameterChange { member, variable, value } = *change;
    let set = network.members[member].simulator.set(variable, value);
    set.map_err(|error| RunError::Subsystem { member, phase: SETTING, span, error })
}

/// Adds what jumps with a variable that was set; members that have to be read again are `retuned`.
pub(super) fn add(reach: &mut Reach, retuned: &mut Vec<usize>, network: &Network, change: &ParameterChange) {
    let (s, v) = (change.member, change.variable);
    let member = &network.members[s];
    let info = member.simulator.info();
    let mut follows = true;
    if info.variables.get(v).is_some_and(|variable| variable.causality == Causality::Input) {
        let is_through = |o: &usize| match &info.feed_through {
            FeedThrough::Declared(pairs) => pairs.contains(&(member.binding.outputs[*o], v)),
            FeedThrough::Unknown => true,
        };
        let through = (0..member.outputs.len()).filter(is_through).map(|o| member.outputs.start + o);
        follows = through.clone().next().is_some() || member.capabilities.can_update;
        reach.add_unfed(s, through, member.outputs.clone());
    } else {
        reach.add_member(s, member.outputs.clone());
    }
    if follows && !retuned.contains(&s) {
        retuned.push(s);
    }
}
