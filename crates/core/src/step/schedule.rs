//! Who steps when, and what each input sees: a macro step as a list of stages.

use crate::network::{Network, Row};
use std::collections::{BTreeMap, BTreeSet};
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

/// Where an input of a stage gets its value from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputSource {
    /// Extrapolated from communication points.
    Held,
    /// Extrapolated from the points at which a fast group exchanges: an index into [`Schedule::groups`].
    HeldInGroup(usize),
    /// The newest values of its sources, which have stepped already; constant.
    Latest,
    /// A line over the macro step, from the old to the newest values of its sources.
    Between,
    /// A line over the sub-step of this fast group.
    BetweenInGroup(usize),
    /// Sources that are not all seen in the same way: an index into [`Stage::mixed`].
    Mixed(usize),
    /// A known signal: an index into the network's externals.
    External(usize),
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
    /// The same as ranges, in the same order.
    pub runs: Vec<Range<usize>>,
    /// All their inputs.
    pub inputs: Vec<Range<usize>>,
    /// All their outputs.
    pub outputs: Vec<Range<usize>>,
    /// Where inputs get their values from, in the order in which they are written: what is special overwrites what is held.
    pub sources: Vec<(Range<usize>, InputSource)>,
    /// The parts that add up to inputs whose sources are not all seen in the same way.
    pub mixed: Vec<Vec<Part>>,
    /// The fast groups that exchange before it, as indices into [`Schedule::groups`].
    pub opens: Vec<usize>,
}

impl Stage {
    /// Whether some input is not simply extrapolated from communication points or known.
    fn is_chained(&self) -> bool {
        let plain = |source: &InputSource| matches!(source, InputSource::Held | InputSource::External(_));
        !self.opens.is_empty() || !self.sources.iter().all(|(_, source)| plain(source))
    }

    /// Whether some input is a line between old and new values.
    pub(super) fn has_lines(&self) -> bool {
        let in_parts = self.mixed.iter().flatten().any(|part| part.seen == Seen::Between);
        let line =
            |source: &InputSource| matches!(source, InputSource::Between | InputSource::BetweenInGroup(_));
        in_parts || self.sources.iter().any(|(_, source)| line(source))
    }
}

/// What some sources of an input add up to.
#[derive(Clone, Debug, PartialEq)]
pub struct Sum {
    /// The input, flat.
    pub input: usize,
    /// `(output, gain)`.
    pub sources: Vec<(usize, f64)>,
    /// Is added.
    pub offset: f64,
}

impl Sum {
    /// `offset + Σ gain · y`.
    pub fn of(&self, y: &[f64]) -> f64 {
        self.sources.iter().fold(self.offset, |sum, &(output, gain)| sum + gain * y[output])
    }

    /// The same sources in another connection of the input. The offset belongs to the part with the first source.
    fn replace(&mut self, row: &Row) {
        if self.sources.first().map(|s| s.0) == row.sources.first().map(|s| s.0) {
            self.offset = row.offset;
        }
        for (output, gain) in &mut self.sources {
            let source = row.sources.iter().find(|s| s.0 == *output);
            *gain = source.map_or(*gain, |s| s.1);
        }
    }
}

/// The sources of an input that are seen in the same way.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// What they add up to.
    pub sum: Sum,
    /// The fast group in which they and the input exchange; `None`: at communication points.
    pub group: Option<usize>,
    /// How they are seen.
    pub seen: Seen,
}

/// Inputs and sources that exchange more often than at communication points: whenever sub-steps of both members end together.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Exchanges per macro step: the greatest common divisor of the rates of both members.
    pub rate: u32,
    /// Inputs with a source inside the group.
    pub inner: Vec<Range<usize>>,
    /// What is remembered of each of them at the points where the group exchanges: all of it, or the part that is
    /// extrapolated from these points.
    pub nodes: Vec<Sum>,
    /// Some input sees a part of its sources, but not all, on a line over the sub-step.
    pub lines: bool,
}

/// A macro step as data.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    /// In the order in which they are made.
    pub stages: Vec<Stage>,
    /// The fast groups.
    pub groups: Vec<Group>,
    /// Parts of inputs that are extrapolated from communication points while other parts are not.
    pub waiting: Vec<Sum>,
    /// Sub-steps of each member per macro step.
    pub rates: Vec<u32>,
    /// Some stage reads values that an earlier stage made.
    pub chained: bool,
}

impl Schedule {
    /// The stages of one macro step. `rates[s]` is the number of sub-steps of member s.
    pub fn new(network: &Network, kind: &ScheduleKind, rates: &[u32]) -> Self {
        let blocks = blocks(network, kind, rates);
        let mut schedule = Schedule {
            stages: Vec::new(),
            groups: Vec::new(),
            waiting: Vec::new(),
            rates: rates.to_vec(),
            chained: false,
        };
        let is_held = matches!(kind, ScheduleKind::Jacobi { fast: Seen::Held });
        if is_held && exchanges(network, rates).any(|(_, own, rate)| rate > 1 && rate < own) {
            schedule.add_interleaved(network, &blocks);
        } else {
            let mut done = vec![false; network.members.len()];
            for block in &blocks {
                schedule.add_block(network, kind, block, rates[block[0]], &done);
                block.iter().for_each(|&s| done[s] = true);
            }
        }
        schedule.chained = schedule.stages.iter().any(Stage::is_chained);
        schedule
    }

    /// What `input` sees of `output` in the step in which both are computed, and whether they exchange at every sub-step.
    pub fn seen(&self, input: usize, output: usize) -> (Seen, bool) {
        let holds = |list: &[Range<usize>]| list.iter().any(|range| range.contains(&input));
        let Some(stage) = self.stages.iter().find(|stage| holds(&stage.inputs)) else {
            return (Seen::Held, false);
        };
        // What is special stands after what is held.
        let source = stage.sources.iter().rev().find(|(range, _)| range.contains(&input)).map(|(_, s)| *s);
        match source {
            None | Some(InputSource::Held | InputSource::External(_)) => (Seen::Held, false),
            Some(InputSource::HeldInGroup(g)) => (Seen::Held, self.groups[g].rate == stage.parts),
            Some(InputSource::Latest) => (Seen::Latest, self.is_inner(input)),
            Some(InputSource::Between) => (Seen::Between, false),
            Some(InputSource::BetweenInGroup(_)) => (Seen::Between, true),
            Some(InputSource::Mixed(k)) => {
                let has = |part: &&Part| part.sum.sources.iter().any(|(o, _)| *o == output);
                let found = stage.mixed[k].iter().find(has);
                let at_sub_steps =
                    |part: &Part| part.group.is_some_and(|g| self.groups[g].rate == stage.parts);
                found.map_or((Seen::Held, false), |part| (part.seen, at_sub_steps(part)))
            }
        }
    }

    /// Whether `input` is exchanged inside a fast group.
    fn is_inner(&self, input: usize) -> bool {
        self.groups.iter().flat_map(|group| &group.inner).any(|range| range.contains(&input))
    }

    /// When each of `n` members first steps: the number of its stage; 0 for all if none depends on outputs of the same step.
    pub(crate) fn turns(&self, n: usize) -> Vec<usize> {
        let mut turns = vec![0; n];
        if self.chained {
            for (k, stage) in self.stages.iter().enumerate().rev() {
                stage.members.iter().for_each(|&s| turns[s] = k);
            }
        }
        turns
    }

    /// Another connection of `input`, from the same sources.
    pub(crate) fn replace(&mut self, input: usize, row: &Row) {
        let parts = self.stages.iter_mut().flat_map(|s| &mut s.mixed).flatten().map(|part| &mut part.sum);
        let nodes = self.groups.iter_mut().flat_map(|g| &mut g.nodes);
        let sums = parts.chain(nodes).chain(&mut self.waiting);
        sums.filter(|sum| sum.input == input).for_each(|sum| sum.replace(row));
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
            self.groups.push(Group { rate, inner: runs(inner.clone()), nodes: Vec::new(), lines: false });
        }
        let (serial, seen) = match kind {
            ScheduleKind::Jacobi { fast } => (false, *fast),
            ScheduleKind::GaussSeidel { seen, .. } => (true, *seen),
        };
        for part in 0..rate {
            let turns: Vec<&[usize]> = if serial { block.chunks(1).collect() } else { vec![block] };
            let mut stepped = vec![false; network.members.len()];
            for (turn, members) in turns.iter().enumerate() {
                // With one rate a line over the sub-step is a line over the macro step.
                let view = |_: usize, output: usize| {
                    let o = network.owner_of_output[output];
                    let new = if contains[o] { stepped[o] } else { done[o] };
                    (group.filter(|_| contains[o]), if new { seen } else { Seen::Held })
                };
                let mut stage = self.stage(network, (part, rate), members, view);
                stage.opens = group.filter(|_| turn == 0).into_iter().collect();
                members.iter().for_each(|&s| stepped[s] = true);
                self.stages.push(stage);
            }
        }
    }

    /// Members that exchange across rates, such as those of 4 and of 6 sub-steps twice in a macro step: stages by the time at which
    /// they begin, so that an exchange finds everything that ends there.
    fn add_interleaved(&mut self, network: &Network, blocks: &[Vec<usize>]) {
        let rates = self.rates.clone();
        let mut of_rate: BTreeMap<u32, BTreeSet<usize>> = BTreeMap::new();
        for (input, _, rate) in exchanges(network, &rates).filter(|(_, _, rate)| *rate > 1) {
            of_rate.entry(rate).or_default().insert(input);
        }
        for (rate, inner) in of_rate.into_iter().rev() {
            let inner = runs(inner.into_iter().collect());
            self.groups.push(Group { rate, inner, nodes: Vec::new(), lines: false });
        }
        let groups: Vec<u32> = self.groups.iter().map(|group| group.rate).collect();
        let view = |input: usize, output: usize| {
            let [a, b] = [network.owner_of_input[input], network.owner_of_output[output]].map(|s| rates[s]);
            (groups.iter().position(|rate| *rate == common(a, b)), Seen::Held)
        };
        for block in blocks {
            let parts = rates[block[0]];
            for part in 0..parts {
                let stage = self.stage(network, (part, parts), block, view);
                self.stages.push(stage);
            }
        }
        let by_start = |a: &Stage, b: &Stage| {
            let [a_part, a_parts, b_part, b_parts] = [a.part, a.parts, b.part, b.parts].map(u64::from);
            (a_part * b_parts).cmp(&(b_part * a_parts))
        };
        self.stages.sort_by(by_start);
        for (g, rate) in groups.into_iter().enumerate() {
            for k in 1..rate {
                let begins = |stage: &&mut Stage| {
                    u64::from(stage.part) * u64::from(rate) == u64::from(k) * u64::from(stage.parts)
                };
                self.stages.iter_mut().find(begins).into_iter().for_each(|stage| stage.opens.push(g));
            }
        }
    }

    /// A stage of `members`; `view` tells in which group an input and an output exchange, and how the output is seen.
    fn stage(
        &mut self,
        network: &Network,
        (part, parts): (u32, u32),
        members: &[usize],
        view: impl Fn(usize, usize) -> (Option<usize>, Seen),
    ) -> Stage {
        let inputs: Vec<usize> = members.iter().flat_map(|&s| network.members[s].inputs.clone()).collect();
        let outputs = members.iter().flat_map(|&s| network.members[s].outputs.clone()).collect();
        let (mut held, mut own) = (Vec::new(), vec![Vec::new(); self.groups.len()]);
        let (mut special, mut mixed) = (Vec::new(), Vec::new());
        for &i in &inputs {
            let mut seen = parts_of(network, i, &view);
            if part == 0 {
                self.remember(&seen);
            }
            if seen.len() > 1 {
                special.push((i..i + 1, InputSource::Mixed(mixed.len())));
                mixed.push(seen);
                continue;
            }
            match seen.first().and_then(|part| part.group) {
                Some(g) => own[g].push(i),
                None => held.push(i),
            }
            if let Some(e) = network.external_of_input[i] {
                special.push((i..i + 1, InputSource::External(e)));
            }
            match seen.pop().map(|p| (p.group, p.seen)) {
                Some((None, Seen::Between)) => special.push((i..i + 1, InputSource::Between)),
                Some((Some(g), Seen::Between)) => special.push((i..i + 1, InputSource::BetweenInGroup(g))),
                Some((_, Seen::Latest)) => special.push((i..i + 1, InputSource::Latest)),
                Some((_, Seen::Held)) | None => {}
            }
        }
        let held = runs(held).into_iter().map(|range| (range, InputSource::Held));
        let own = own.into_iter().enumerate().flat_map(|(g, inputs)| {
            runs(inputs).into_iter().map(move |range| (range, InputSource::HeldInGroup(g)))
        });
        Stage {
            part,
            parts,
            members: members.to_vec(),
            runs: runs_in_order(members),
            inputs: runs(inputs),
            outputs: runs(outputs),
            sources: held.chain(own).chain(special).collect(),
            mixed,
            opens: Vec::new(),
        }
    }

    /// What has to be remembered at the points of fast groups and at communication points of the parts of an input.
    fn remember(&mut self, parts: &[Part]) {
        for (part, g) in parts.iter().filter_map(|part| Some((part, part.group?))) {
            let group = &mut self.groups[g];
            if part.seen == Seen::Held || parts.len() == 1 {
                group.nodes.push(part.sum.clone());
            }
            group.lines |= parts.len() > 1 && part.seen == Seen::Between;
        }
        if parts.len() > 1 {
            let waits = |p: &&Part| p.group.is_none() && p.seen == Seen::Held;
            self.waiting.extend(parts.iter().find(waits).map(|p| p.sum.clone()));
        }
    }
}

/// Every pair of an input and one of its sources: the input, the rate of its member, and how often both exchange in a macro step.
fn exchanges<'a>(network: &'a Network, rates: &'a [u32]) -> impl Iterator<Item = (usize, u32, u32)> + 'a {
    (0..network.n_inputs).flat_map(move |input| {
        let own = rates[network.owner_of_input[input]];
        let sources = network.wiring.sources(input);
        sources.map(move |(output, _)| (input, own, common(own, rates[network.owner_of_output[output]])))
    })
}

/// The greatest common divisor.
fn common(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { common(b, a % b) }
}

/// The sources of `input`, put together by how they are seen: `view` says in which fast group an input and an output exchange and how
/// the output is seen. The offset belongs to the first part.
fn parts_of(
    network: &Network,
    input: usize,
    view: impl Fn(usize, usize) -> (Option<usize>, Seen),
) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for (output, gain) in network.wiring.sources(input) {
        let (group, seen) = view(input, output);
        match parts.iter_mut().find(|p| (p.group, p.seen) == (group, seen)) {
            Some(part) => part.sum.sources.push((output, gain)),
            None => {
                let offset = if parts.is_empty() { network.wiring.offset(input) } else { 0.0 };
                let sum = Sum { input, sources: vec![(output, gain)], offset };
                parts.push(Part { sum, group, seen });
            }
        }
    }
    parts
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
    runs_in_order(&indices)
}

/// Indices as ranges, in their order.
fn runs_in_order(indices: &[usize]) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for &i in indices {
        match runs.last_mut() {
            Some(run) if run.end == i => run.end += 1,
            _ => runs.push(i..i + 1),
        }
    }
    runs
}
