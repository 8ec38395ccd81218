//! Outputs that belong to inputs at the same instant, along the feed-through order: what is read again, improved or solved, and when.

use super::loops::{LoopRules, LoopSolver, LoopStatistics, SavedLoop};
use super::still::{Response, Still};
use crate::error::RunError;
use crate::feed_through::Structure;
use crate::network::{Network, graph};

/// One thing to do at the current time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    /// A member answers to the newest outputs of the others.
    Answer(usize, Response),
    /// A loop is solved.
    Solve(usize),
}

/// What makes inputs and outputs consistent at one instant, in order.
pub(crate) struct Plan {
    actions: Vec<Action>,
    loops: Vec<LoopSolver>,
}

/// What is known of outputs before a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutputsBefore {
    /// Nothing: everybody has to be asked once.
    Unknown,
    /// They belong to the inputs of that time.
    Known,
}

/// Whom a plan asks.
pub(crate) struct PlanOf<'a> {
    pub before: OutputsBefore,
    /// How a member can answer, if it can.
    pub response: &'a dyn Fn(usize) -> Option<Response>,
    /// Members that are asked although no loop needs them.
    pub wanted: &'a dyn Fn(usize) -> bool,
    /// Members that are asked whenever an input changes, whether or not an output is known to follow it.
    pub always: &'a dyn Fn(usize) -> bool,
}

impl Plan {
    /// A plan for the feed-through graph `structure`. Loops are solved where all of their members can answer.
    pub fn new(network: &Network, structure: &Structure, of: &PlanOf<'_>, rules: LoopRules) -> Self {
        let mut plan = Planner {
            network,
            of,
            plan: Plan { actions: Vec::new(), loops: Vec::new() },
            stale: vec![of.before == OutputsBefore::Unknown; network.members.len()],
        };
        let mut follows = vec![false; network.n_inputs];
        structure.feeds_through.iter().flatten().for_each(|&i| follows[i] = true);
        network.feed_through.iter().for_each(|pair| follows[pair.input] = true);
        // What follows a known signal depends on nothing, whatever its place: those that it feeds come after it.
        let is_external = |input: usize| network.external_of_input[input].is_some();
        for external in &network.externals {
            plan.add_input(external.input, follows[external.input]);
        }
        for component in structure.components.iter().filter(|c| !is_external(c[0])) {
            if graph::is_loop(component, &structure.edges) {
                plan.add_loop(component, rules);
            } else {
                plan.add_input(component[0], follows[component[0]]);
            }
        }
        structure.order.iter().for_each(|&s| plan.refresh(s));
        plan.plan
    }

    /// Whether there is anything to do.
    pub fn is_empty(&self) -> bool {
        self.actions.is_empty()
    }

    /// Loops that are solved.
    pub fn loops(&self) -> impl Iterator<Item = (&[usize], &LoopStatistics)> {
        self.loops.iter().map(|solver| (solver.inputs(), solver.statistics()))
    }

    /// What its loops learned.
    pub fn save(&self) -> Vec<SavedLoop> {
        self.loops.iter().map(LoopSolver::save).collect()
    }

    /// Goes back to what `save` returned.
    pub fn load(&mut self, saved: &[SavedLoop]) {
        self.loops.iter_mut().zip(saved).for_each(|(solver, saved)| solver.load(saved));
    }

    /// Makes inputs and outputs consistent; only members that `concerns` names are asked alone, loops if one of theirs is named.
    pub fn run(&mut self, still: &mut Still<'_>, concerns: impl Fn(usize) -> bool) -> Result<(), RunError> {
        for action in &self.actions {
            match *action {
                Action::Answer(s, response) if concerns(s) => {
                    still.gather(s);
                    still.answer(s, response)?;
                }
                Action::Answer(..) => {}
                Action::Solve(k) => {
                    let solver = &mut self.loops[k];
                    if solver.members().any(&concerns) {
                        solver.solve(still)?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// Puts a plan together: a member is asked as late as possible, and again where its inputs change afterwards.
struct Planner<'a> {
    network: &'a Network,
    of: &'a PlanOf<'a>,
    plan: Plan,
    /// Members whose outputs do not belong to their inputs yet.
    stale: Vec<bool>,
}

impl Planner<'_> {
    fn refresh(&mut self, s: usize) {
        if std::mem::replace(&mut self.stale[s], false)
            && let Some(response) = (self.of.response)(s)
        {
            self.plan.actions.push(Action::Answer(s, response));
        }
    }

    fn refresh_sources(&mut self, input: usize) {
        let network = self.network;
        network.wiring.sources(input).for_each(|(o, _)| self.refresh(network.owner_of_output[o]));
    }

    /// `input` gets its value, and its member answers to it later.
    fn add_input(&mut self, input: usize, follows: bool) {
        self.refresh_sources(input);
        let s = self.network.owner_of_input[input];
        if (follows || (self.of.always)(s)) && (self.of.wanted)(s) {
            self.stale[s] = true;
        }
    }

    /// The inputs of a loop get their values together. One that cannot be solved is left as it is.
    fn add_loop(&mut self, inputs: &[usize], rules: LoopRules) {
        let network = self.network;
        let mut members: Vec<usize> = inputs.iter().map(|&i| network.owner_of_input[i]).collect();
        members.sort_unstable();
        members.dedup();
        let responses: Option<Vec<(usize, Response)>> =
            members.iter().map(|&s| (self.of.response)(s).map(|response| (s, response))).collect();
        let Some(responses) = responses else { return };
        for &s in &members {
            let others = network.members[s].inputs.clone().filter(|i| !inputs.contains(i));
            others.for_each(|i| self.refresh_sources(i));
        }
        members.iter().for_each(|&s| self.stale[s] = false);
        self.plan.actions.push(Action::Solve(self.plan.loops.len()));
        self.plan.loops.push(LoopSolver::new(network, inputs.to_vec(), responses, rules));
    }
}
