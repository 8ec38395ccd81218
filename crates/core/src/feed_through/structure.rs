//! Direct feed-through of the whole system as a graph: algebraic loops, nilpotency, and what an error estimate is worth.

use crate::network::{Network, graph};

/// The feed-through graph of a network (arnold2013 §2).
///
/// Its vertices are the inputs that outputs feed. An edge points from `u_ν` to `u_μ` if `u_ν` depends on `u_μ` at the
/// same instant: an output that feeds `u_ν` feeds `u_μ` through. Subsystems whose feed-through is unknown have no
/// edges: they are listed, never made into loops.
#[derive(Clone, Debug, PartialEq)]
pub struct Structure {
    /// The vertices: every input that outputs feed, flat and increasing.
    pub coupled: Vec<usize>,
    /// For every input (flat), the coupled inputs that it depends on directly, increasing.
    pub edges: Vec<Vec<usize>>,
    /// Inputs that depend on themselves, directly or not.
    pub loops: Vec<AlgebraicLoop>,
    /// The smallest M with `A(G)^M = 0`: one more than the longest feed-through path. `None` with loops.
    pub nilpotency: Option<usize>,
    /// Members in the order in which outputs can be evaluated; loops in name order.
    pub order: Vec<usize>,
    /// Components of inputs in the order in which they can be evaluated: each after those it depends on.
    pub components: Vec<Vec<usize>>,
    /// Members whose feed-through is neither declared nor probed.
    pub unknown: Vec<usize>,
    /// The coupled inputs that each output (flat) feeds through, increasing.
    pub feeds_through: Vec<Vec<usize>>,
}

/// Inputs that determine each other at the same instant.
#[derive(Clone, Debug, PartialEq)]
pub struct AlgebraicLoop {
    /// All inputs of the loop, flat and increasing.
    pub inputs: Vec<usize>,
    /// A shortest cycle through the first of them: each input is fed through to the output beside it, which feeds
    /// the input of the next pair; the last output feeds the first input.
    pub path: Vec<(usize, usize)>,
}

/// Whether a Richardson estimate tends to the true local error of an output as the step goes to 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asymptotics {
    /// It does.
    Right,
    /// It does if a connected input reaches the output through one integration; through more, it is off by a constant factor.
    RightAfterOneIntegration,
    /// The constants that arnold2013 prints are those of one integration and no feed-through.
    PublishedConstants,
    /// The subsystem is fed by an output with feed-through: the true error goes with `F' + D u'`, the estimate with
    /// `F' - D u'` (arnold2013 eq. 16).
    DownstreamOfFeedThrough,
    /// The output feeds an output with feed-through through: the estimate is off by `D L D` (arnold2013 eq. 25).
    FeedThroughChain,
    /// Feed-through that matters here is not known.
    Unknown,
}

/// What is made of the pairs of members whose feed-through is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unknown {
    /// They are no edges.
    Ignored,
    /// All of them are.
    Counted,
}

impl Structure {
    /// The structure of `network`, with what has been probed so far.
    pub fn of(network: &Network) -> Self {
        Structure::counting(network, Unknown::Ignored)
    }

    /// The inputs that each output may feed through: what is declared or was probed, and every pair of an unknown member.
    pub(super) fn possible_feed_through(network: &Network) -> Vec<Vec<usize>> {
        let mut feeds_through = vec![Vec::new(); network.n_outputs];
        for member in network.members.iter().filter(|m| !m.knows_feed_through()) {
            for output in member.outputs.clone() {
                feeds_through[output].extend(member.inputs.clone());
            }
        }
        for pair in &network.feed_through {
            feeds_through[pair.output].push(pair.input);
        }
        feeds_through
    }

    /// The structure if every pair of an unknown member were feed-through.
    pub(crate) fn possible(network: &Network) -> Self {
        Structure::counting(network, Unknown::Counted)
    }

    fn counting(network: &Network, unknown_pairs: Unknown) -> Self {
        let unknown: Vec<usize> =
            (0..network.members.len()).filter(|&s| !network.members[s].knows_feed_through()).collect();
        let mut feeds_through = Structure::possible_feed_through(network);
        if unknown_pairs == Unknown::Ignored {
            for output in unknown.iter().flat_map(|&s| network.members[s].outputs.clone()) {
                feeds_through[output].clear();
            }
        }
        for inputs in &mut feeds_through {
            inputs.retain(|&i| network.wiring.is_coupled(i));
            inputs.sort_unstable();
            inputs.dedup();
        }
        let edges: Vec<Vec<usize>> = (0..network.n_inputs)
            .map(|i| {
                let sources = network.wiring.sources(i);
                let mut all: Vec<usize> =
                    sources.flat_map(|(output, _)| feeds_through[output].iter().copied()).collect();
                all.sort_unstable();
                all.dedup();
                all
            })
            .collect();
        let components = graph::components(&edges);
        let loops: Vec<AlgebraicLoop> = components
            .iter()
            .filter(|c| graph::is_loop(c, &edges))
            .map(|c| AlgebraicLoop {
                inputs: c.clone(),
                path: shortest_cycle(network, &feeds_through, &edges, c),
            })
            .collect();
        let nilpotency = loops.is_empty().then(|| 1 + longest_path(&edges, &components));
        let mut member_edges = vec![Vec::new(); network.members.len()];
        for (s, member) in network.members.iter().enumerate() {
            for input in member.outputs.clone().flat_map(|o| &feeds_through[o]) {
                member_edges[s].extend(
                    network.wiring.sources(*input).map(|(output, _)| network.owner_of_output[output]),
                );
            }
            member_edges[s].sort_unstable();
            member_edges[s].dedup();
        }
        Structure {
            coupled: (0..network.n_inputs).filter(|&i| network.wiring.is_coupled(i)).collect(),
            order: graph::components(&member_edges).concat(),
            edges,
            loops,
            nilpotency,
            components,
            unknown,
            feeds_through,
        }
    }

    /// `A(G)` over [`Structure::coupled`]: 1 in row ν and column μ if `u_ν` depends on `u_μ` directly.
    pub fn adjacency(&self) -> Vec<Vec<u8>> {
        let place = |i: usize| self.coupled.binary_search(&i);
        self.coupled
            .iter()
            .map(|&i| {
                let mut row = vec![0; self.coupled.len()];
                self.edges[i].iter().filter_map(|&j| place(j).ok()).for_each(|j| row[j] = 1);
                row
            })
            .collect()
    }

    /// For every output, whether a Richardson estimate of it is asymptotically right, with the `published` constants or those of
    /// [`Richardson`](crate::estimator::Richardson). Members in `refreshed` re-read their outputs with fresh inputs at the end of
    /// every step, which takes the feed-through error away.
    ///
    /// The error of an input on a step is `u^(k+1)/(k+1)! · Π(s)` to leading order, and through r integrations the output gets
    /// `∫ (end − s)^(r−1)/(r−1)! Π(s) ds` of it: with the constants of this r the estimate tends to the error. What is downstream of
    /// stale feed-through has an error that is no such integral.
    pub fn asymptotics(&self, network: &Network, refreshed: &[usize], published: bool) -> Vec<Asymptotics> {
        let owner = |output: usize| network.owner_of_output[output];
        let stale =
            |output: usize| !self.feeds_through[output].is_empty() && !refreshed.contains(&owner(output));
        let unknown = |output: usize| self.unknown.contains(&owner(output));
        let sources = |input: usize| network.wiring.sources(input).map(|(output, _)| output);
        (0..network.n_outputs)
            .map(|o| {
                let direct = stale(o);
                let all: Vec<usize> = network.members[owner(o)].inputs.clone().collect();
                let seen = if direct { &self.feeds_through[o] } else { &all };
                if unknown(o) || seen.iter().any(|&i| sources(i).any(unknown)) {
                    Asymptotics::Unknown
                } else if !seen.iter().any(|&i| sources(i).any(stale)) {
                    let coupled = all.iter().any(|&i| network.wiring.is_coupled(i));
                    match network.integrations[o] {
                        _ if !coupled => Asymptotics::Right,
                        Some(r) if published && (direct || r > 1) => Asymptotics::PublishedConstants,
                        None if published && direct => Asymptotics::PublishedConstants,
                        None if !direct => Asymptotics::RightAfterOneIntegration,
                        _ => Asymptotics::Right,
                    }
                } else if direct {
                    Asymptotics::FeedThroughChain
                } else {
                    Asymptotics::DownstreamOfFeedThrough
                }
            })
            .collect()
    }
}

/// The number of edges of the longest path in a graph without cycles, components in topological order.
fn longest_path(edges: &[Vec<usize>], components: &[Vec<usize>]) -> usize {
    let mut length = vec![0; edges.len()];
    for &v in components.iter().flatten() {
        length[v] = edges[v].iter().map(|&w| length[w] + 1).max().unwrap_or(0);
    }
    length.into_iter().max().unwrap_or(0)
}

/// A shortest cycle through the first input of a component, in the direction in which values travel.
fn shortest_cycle(
    network: &Network,
    feeds_through: &[Vec<usize>],
    edges: &[Vec<usize>],
    component: &[usize],
) -> Vec<(usize, usize)> {
    const UNSEEN: usize = usize::MAX;
    let start = component[0];
    // Breadth first against the direction of values: `next[w]` is the input that w travels to.
    let mut next = vec![UNSEEN; edges.len()];
    let mut queue = std::collections::VecDeque::from([start]);
    'search: while let Some(v) = queue.pop_front() {
        for &w in &edges[v] {
            if next[w] == UNSEEN {
                next[w] = v;
                if w == start {
                    break 'search;
                }
                queue.push_back(w);
            }
        }
    }
    let mut path = Vec::new();
    let mut at = start;
    loop {
        let to = next[at];
        let mut between = network.wiring.sources(to).map(|(output, _)| output);
        let Some(output) = between.find(|&o| feeds_through[o].contains(&at)) else { break };
        path.push((at, output));
        at = to;
        if at == start {
            break;
        }
    }
    path
}
