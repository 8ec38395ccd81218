//! Who steps when, and what each input sees: a macro step as a list of stages.

use super::Network;
use std::ops::Range;

/// How an input whose source has already stepped sees it. These are different methods, never a detail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Seen {
    /// As if it had not stepped: extrapolated from the past.
    #[default]
    Held,
    /// Its newest value, held constant.
    Latest,
    /// A straight line from its old to its newest value.
    Between,
}

/// The order in which subsystems step.
#[derive(Clone, Debug, PartialEq)]
pub enum ScheduleKind {
    /// All at once from the past. With several rates, `fast` says how a slow subsystem sees a faster one.
    Jacobi {
        /// Seen as held unless told otherwise.
        fast: Seen,
    },
    /// One after the other; `seen` is how later ones see earlier ones.
    GaussSeidel {
        /// The sequence of members; `None`: feed-through order.
        order: Option<Vec<usize>>,
        /// Latest or between.
        seen: Seen,
    },
}

/// A sub-step of some members. Ranges and lists are flat indices.
#[derive(Clone, Debug, PartialEq)]
pub struct Stage {
    /// Which part of the macro step: `part` of `parts`.
    pub part: u32,
    /// How many parts.
    pub parts: u32,
    /// Who steps.
    pub members: Vec<usize>,
    /// All their inputs.
    pub inputs: Vec<Range<usize>>,
    /// Inputs that are extrapolated from communication points.
    pub held: Vec<Range<usize>>,
    /// Inputs that are extrapolated from the points at which a fast group exchanges among itself.
    pub inner: Vec<Range<usize>>,
    /// The fast group, an index into [`Schedule::groups`].
    pub group: Option<usize>,
    /// It is the first of its group at this sub-step: the group exchanges before it.
    pub opens: bool,
    /// Inputs that see their source's newest value.
    pub latest: Vec<usize>,
    /// Inputs that see a line over the macro step.
    pub between: Vec<usize>,
    /// Inputs that see a line over the sub-step.
    pub between_inner: Vec<usize>,
    /// Indices into the network's externals.
    pub externals: Vec<usize>,
}

/// Members of one rate above 1 that exchange among themselves at that rate.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Sub-steps per macro step.
    pub rate: u32,
    /// Inputs with a source inside the group.
    pub inner: Vec<Range<usize>>,
    /// Whether each member belongs to it.
    pub contains: Vec<bool>,
}

/// A macro step as data.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    /// In the order in which they are made.
    pub stages: Vec<Stage>,
    /// The fast groups that exchange among themselves.
    pub groups: Vec<Group>,
    /// Sub-steps of each member per macro step.
    pub rates: Vec<u32>,
    /// Some stage reads values that an earlier stage made.
    pub chained: bool,
}

impl Schedule {
    /// The stages of one macro step. `rates[s]` is the number of sub-steps of member s.
    pub fn new(network: &Network, kind: &ScheduleKind, rates: &[u32]) -> Self {
        let blocks = blocks(network, kind, rates);
        let mut schedule =
            Schedule { stages: Vec::new(), groups: Vec::new(), rates: rates.to_vec(), chained: false };
        let mut done = vec![false; network.members.len()];
        for block in &blocks {
            schedule.add_block(network, kind, block, rates[block[0]], &done);
            block.iter().for_each(|&s| done[s] = true);
        }
        schedule.chained = schedule.groups.iter().any(|g| !g.inner.is_empty())
            || schedule.stages.iter().any(|s| !s.latest.is_empty() || !s.between.is_empty());
        schedule
    }

    fn add_block(
        &mut self,
        network: &Network,
        kind: &ScheduleKind,
        block: &[usize],
        rate: u32,
        done: &[bool],
    ) {
        let mut contains = vec![false; network.members.len()];
        block.iter().for_each(|&s| contains[s] = true);
        let owners =
            |input: usize| network.wiring.sources(input).map(|(output, _)| network.owner_of_output[output]);
        // In the order of inputs, whatever the order of members.
        let inner: Vec<usize> = (0..network.n_inputs)
            .filter(|&i| rate > 1 && contains[network.owner_of_input[i]] && owners(i).any(|o| contains[o]))
            .collect();
        let group = (!inner.is_empty()).then_some(self.groups.len());
        if group.is_some() {
            self.groups.push(Group { rate, inner: runs(inner.clone()), contains: contains.clone() });
        }
        let (serial, seen) = match kind {
            ScheduleKind::Jacobi { fast } => (false, *fast),
            ScheduleKind::GaussSeidel { seen, .. } => (true, *seen),
        };
        for part in 0..rate {
            let turns: Vec<&[usize]> = if serial { block.chunks(1).collect() } else { vec![block] };
            let mut stepped = vec![false; network.members.len()];
            for (turn, members) in turns.iter().enumerate() {
                let mut stage = Stage {
                    part,
                    parts: rate,
                    members: members.to_vec(),
                    inputs: runs(members.iter().flat_map(|&s| network.members[s].inputs.clone()).collect()),
                    held: Vec::new(),
                    inner: Vec::new(),
                    group,
                    opens: turn == 0,
                    latest: Vec::new(),
                    between: Vec::new(),
                    between_inner: Vec::new(),
                    externals: Vec::new(),
                };
                let (mut held, mut own) = (Vec::new(), Vec::new());
                for i in members.iter().flat_map(|&s| network.members[s].inputs.clone()) {
                    let earlier = seen != Seen::Held && owners(i).any(|o| done[o] && !contains[o]);
                    let neighbour = seen != Seen::Held && owners(i).any(|o| stepped[o]);
                    // A line over a rate-1 block is a line over the macro step.
                    match (earlier, neighbour, seen) {
                        (true, _, Seen::Between) | (_, true, Seen::Between) if rate == 1 || !neighbour => {
                            stage.between.push(i)
                        }
                        (_, true, Seen::Between) => stage.between_inner.push(i),
                        (true, ..) | (_, true, _) => stage.latest.push(i),
                        _ => {}
                    }
                    if inner.binary_search(&i).is_ok() { own.push(i) } else { held.push(i) }
                }
                stage.held = runs(held);
                stage.inner = runs(own);
                stage.externals = (0..network.externals.len())
                    .filter(|&e| {
                        members.binary_search(&network.owner_of_input[network.externals[e].input]).is_ok()
                    })
                    .collect();
                members.iter().for_each(|&s| stepped[s] = true);
                self.stages.push(stage);
            }
        }
    }
}

/// Members that step together, in the order in which blocks step. Members of a block have one rate.
fn blocks(network: &Network, kind: &ScheduleKind, rates: &[u32]) -> Vec<Vec<usize>> {
    match kind {
        ScheduleKind::Jacobi { .. } => {
            let mut distinct: Vec<u32> = rates.to_vec();
            distinct.sort_unstable_by(|a, b| b.cmp(a));
            distinct.dedup();
            distinct.iter().map(|&r| (0..rates.len()).filter(|&s| rates[s] == r).collect()).collect()
        }
        ScheduleKind::GaussSeidel { order, .. } => {
            let sequence = order.as_ref().unwrap_or(&network.evaluation_order);
            let mut blocks: Vec<Vec<usize>> = Vec::new();
            for &s in sequence {
                match blocks.last_mut() {
                    Some(block) if rates[block[0]] == rates[s] => block.push(s),
                    _ => blocks.push(vec![s]),
                }
            }
            blocks
        }
    }
}

/// Sorted indices as ranges.
fn runs(mut indices: Vec<usize>) -> Vec<Range<usize>> {
    indices.sort_unstable();
    let mut runs: Vec<Range<usize>> = Vec::new();
    for i in indices {
        match runs.last_mut() {
            Some(run) if run.end == i => run.end += 1,
            _ => runs.push(i..i + 1),
        }
    }
    runs
}
