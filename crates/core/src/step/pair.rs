//! Two steps beside a big one: what a pair needs beyond single steps.

use super::inputs::Exchange;
use super::record::{Big, BufferNeeds, Doubled, StepRecord};
use super::schedule::{Schedule, Stage};
use crate::checkpoint::Checkpoint;
use crate::estimator::BigStep;
use crate::feed_through::Reached;
use crate::hold::{HeldInputs, Hold};
use crate::network::Network;
use crate::run::Policies;
use crate::time::history::{History, NODES};

/// What a pair of steps needs. All of it is allocated once.
#[derive(Clone)]
pub(crate) struct Pair {
    classic: Option<BigOutcome>,
    modified: Option<BigOutcome>,
    /// Inputs at the ends of past pairs: the nodes of classic big steps.
    ends: History,
    /// Where the pair starts, in seconds.
    start: f64,
    /// The nodes of its first small step, and how many of them count for each input.
    nodes: Nodes,
    counts: Vec<u8>,
    is_whole: bool,
    /// The first small step is also the first half of the modified big step, which goes on from its end: three steps of work
    /// instead of four.
    pub shares: bool,
    /// The big steps and the first small step are made: the second may be compared.
    complete: bool,
    /// The first small step, kept until the pair is decided.
    pub first: StepRecord,
    /// What was held on it, while the big step goes on.
    pub held: HeldInputs,
    /// Better outputs at the end of the pair.
    pub improved: Vec<f64>,
    /// What everybody knew before the pair.
    pub checkpoint: Checkpoint,
}

/// Times of nodes, the newest first.
#[derive(Clone, Copy, Default)]
struct Nodes {
    times: [f64; NODES],
    len: usize,
}

impl Nodes {
    fn of(history: &History) -> Self {
        let mut nodes = Nodes { len: history.len(), ..Nodes::default() };
        nodes.times[..nodes.len].copy_from_slice(history.times());
        nodes
    }

    fn times(&self) -> &[f64] {
        &self.times[..self.len]
    }
}

/// A big step.
#[derive(Clone)]
struct BigOutcome {
    y: Vec<f64>,
    nodes: Nodes,
}

/// Which past the inputs of a big step are held by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BigPast {
    /// The ends of past pairs.
    Ends,
    /// That of the first small step.
    Own,
}

/// Whether the first small step is what a modified big step does in its first half: all inputs are extrapolated from the same nodes
/// or known. Inputs that see a source in the same step, and samples of a curve at sub-steps, follow the length of the step.
fn can_share(network: &Network, schedule: &Schedule, hold: &dyn Hold) -> bool {
    let takes = |i: usize| network.members[network.owner_of_input[i]].capabilities.input_derivatives;
    let follows =
        |stage: &Stage| stage.inputs.iter().cloned().flatten().all(|i| takes(i) >= hold.orders()[i].min(2));
    let sampled = |stage: &Stage| stage.parts > 1 && (hold.orders_vary() || !follows(stage));
    !schedule.chained && !schedule.stages.iter().any(sampled)
}

impl Pair {
    /// Buffers, if an estimator needs big steps.
    pub fn wanted(
        network: &Network,
        policies: &Policies,
        held: &HeldInputs,
        needs: &BufferNeeds,
    ) -> Option<Box<Self>> {
        let Policies { estimators, schedule, extrapolation, .. } = policies;
        let wants = |kind| estimators.iter().any(|e| e.big_step() == Some(kind));
        let (nu, ny) = (network.n_inputs, network.n_outputs);
        let big = |kind| wants(kind).then(|| BigOutcome { y: vec![0.0; ny], nodes: Nodes::default() });
        let (classic, modified) = (big(BigStep::Classic), big(BigStep::Modified));
        if classic.is_none() && modified.is_none() {
            return None;
        }
        Some(Box::new(Pair {
            ends: History::new(nu),
            start: 0.0,
            nodes: Nodes::default(),
            counts: vec![0; nu],
            is_whole: true,
            shares: modified.is_some() && can_share(network, schedule, extrapolation.as_ref()),
            complete: false,
            classic,
            modified,
            first: StepRecord::new(network, needs),
            held: held.clone(),
            improved: vec![0.0; ny],
            checkpoint: Checkpoint::default(),
        }))
    }

    /// Begins a pair at `t`.
    pub fn begin(&mut self, t: f64, exchange: &Exchange) {
        self.start = t;
        self.nodes = Nodes::of(&exchange.history);
        self.complete = false;
        self.is_whole = exchange.history.is_whole() && self.ends.is_whole();
        if !self.is_whole {
            for (i, count) in self.counts.iter_mut().enumerate() {
                let ends = if self.classic.is_some() { self.ends.count(i) } else { NODES };
                *count = exchange.history.count(i).min(ends).max(1) as u8;
            }
        }
    }

    /// The big steps to be made from the start of the pair. Classic nodes are as many as small steps have, or the orders would differ: until then, the same
    /// nodes.
    pub fn big_steps(&self, exchange: &Exchange, max_order: u8) -> [Option<(BigStep, BigPast)>; 2] {
        let wanted = usize::from(max_order) + 1;
        let enough = self.ends.len() >= exchange.history.len().min(wanted);
        let past = if enough { BigPast::Ends } else { BigPast::Own };
        [
            self.classic.as_ref().map(|_| (BigStep::Classic, past)),
            self.modified.as_ref().filter(|_| !self.shares).map(|_| (BigStep::Modified, BigPast::Own)),
        ]
    }

    /// Exchanges the past of inputs with the ends of pairs, before and after a big step that is held by them.
    pub fn swap_past(&mut self, exchange: &mut Exchange, past: BigPast) {
        if past == BigPast::Ends {
            std::mem::swap(&mut exchange.history, &mut self.ends);
        }
    }

    /// Keeps what a big step came to, NaN if it could not be made; `exchange` has the past that it was held by.
    pub fn keep_big(&mut self, kind: BigStep, exchange: &Exchange, y: Option<&[f64]>) {
        let outcome = match kind {
            BigStep::Classic => &mut self.classic,
            BigStep::Modified => &mut self.modified,
        };
        let Some(outcome) = outcome else { return };
        outcome.nodes = Nodes::of(&exchange.history);
        match y {
            Some(y) => outcome.y.copy_from_slice(y),
            None => outcome.y.fill(f64::NAN),
        }
    }

    /// The first small step is made, and kept in [`Pair::first`].
    pub fn complete(&mut self) {
        self.complete = true;
    }

    /// The pair is not made after all.
    pub fn abandon(&mut self) {
        self.complete = false;
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
            counts: &self.counts,
            is_whole: self.is_whole,
            classic: self.classic.as_ref().map(big),
            modified: self.modified.as_ref().map(big),
        })
    }

    /// A communication point at which a big step may start.
    pub fn end_of_pair(&mut self, t: f64, inputs: &[f64]) {
        self.ends.push(t, |values| values.copy_from_slice(inputs));
        self.complete = false;
    }

    /// Forgets the past of what an event reaches; `inputs` are the limits from the right.
    pub fn restart(&mut self, reached: &Reached<'_>, inputs: &[f64]) {
        inputs.iter().enumerate().for_each(|(i, &value)| self.ends.set_newest(i, value));
        match reached {
            Reached::Everything => self.ends.restart(),
            Reached::Some { inputs, .. } => self.ends.restart_some(inputs),
        }
    }
}
