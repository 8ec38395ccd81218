//! Which inputs a discontinuity reaches. Along connections and feed-through they jump at the same instant; what the subsystems of
//! these inputs give to others has a kink, and what theirs give another curvature. All others stay smooth.

use super::Structure;
use crate::network::Network;
use crate::time::history::Break;
use std::ops::Range;

/// What a discontinuity does to the inputs of a network.
#[derive(Clone, Copy, Debug)]
pub enum Reached<'a> {
    /// Unknown: all of them may jump.
    Everything,
    /// Some of them.
    Some {
        /// Inputs, each named once, flat, and what happens to them.
        inputs: &'a [(u32, Break)],
        /// Whether an input of each member jumps, or its outputs do by themselves.
        members: &'a [bool],
    },
}

impl Reached<'_> {
    /// Calls `forget` for every one of `n` inputs whose value or slope jumps.
    pub fn for_each_sharp(&self, n: usize, mut forget: impl FnMut(usize)) {
        match self {
            Reached::Everything => (0..n).for_each(forget),
            Reached::Some { inputs, .. } => {
                inputs.iter().filter(|(_, how)| *how == Break::Sharp).for_each(|&(i, _)| forget(i as usize));
            }
        }
    }
}

/// Finds the inputs that jump or bend with a subsystem's outputs or with a known signal; allocates nothing after `new`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reach {
    /// The inputs that each output feeds.
    inputs_fed_by: Vec<Vec<u32>>,
    /// The outputs that each input feeds through to.
    through: Vec<Vec<u32>>,
    /// The outputs of the subsystem of each input.
    beside: Vec<Range<usize>>,
    owner: Vec<usize>,
    reached: Vec<bool>,
    list: Vec<(u32, Break)>,
    /// How many inputs of the list jump.
    jumping: usize,
    /// Members one of whose inputs jumps, or whose outputs do by themselves.
    touched: Vec<bool>,
    /// Those of them whose outputs jump.
    jumps: Vec<bool>,
    /// Those of them one of whose inputs jumps.
    struck: Vec<bool>,
    /// Outputs of members with an input that jumps and is not one of the network's.
    bent: Vec<Range<usize>>,
}

impl Reach {
    /// For a network whose feed-through is known as far as it will be: what is unknown is taken for possible.
    pub fn new(network: &Network) -> Self {
        let mut inputs_fed_by = vec![Vec::new(); network.n_outputs];
        for i in 0..network.n_inputs {
            network.wiring.sources(i).for_each(|(output, _)| inputs_fed_by[output].push(i as u32));
        }
        let mut through = vec![Vec::new(); network.n_inputs];
        for (output, inputs) in Structure::possible_feed_through(network).iter().enumerate() {
            inputs.iter().for_each(|&i| through[i].push(output as u32));
        }
        let n = network.n_inputs;
        Reach {
            inputs_fed_by,
            through,
            beside: network.owner_of_input.iter().map(|&s| network.members[s].outputs.clone()).collect(),
            owner: network.owner_of_input.clone(),
            reached: vec![false; n],
            list: Vec::with_capacity(n),
            jumping: 0,
            touched: vec![false; network.members.len()],
            jumps: vec![false; network.members.len()],
            struck: vec![false; network.members.len()],
            bent: Vec::new(),
        }
    }

    /// Begins anew.
    pub fn clear(&mut self) {
        self.list.iter().for_each(|&(i, _)| self.reached[i as usize] = false);
        self.list.clear();
        self.touched.fill(false);
        self.jumps.fill(false);
        self.struck.fill(false);
        self.bent.clear();
        self.jumping = 0;
    }

    /// Adds what jumps with the `outputs` of member `s`.
    pub fn add_member(&mut self, s: usize, outputs: Range<usize>) {
        self.touched[s] = true;
        self.jumps[s] = true;
        let from = self.list.len();
        outputs.for_each(|output| self.feed(output, Break::Sharp));
        self.spread(from, Break::Sharp);
        self.jumping = self.list.len();
    }

    /// Adds `input`, which jumps, and what jumps with it. Before anything bends.
    pub fn add_jump(&mut self, input: usize) {
        let from = self.list.len();
        self.add(input as u32, Break::Sharp);
        self.spread(from, Break::Sharp);
        self.jumping = self.list.len();
    }

    /// Adds what jumps with an input of member `s` that the network does not feed: the outputs in `through` follow it at the same
    /// instant, all its `outputs` bend. Before anything bends.
    pub fn add_unfed(&mut self, s: usize, through: impl Iterator<Item = usize>, outputs: Range<usize>) {
        self.touched[s] = true;
        self.struck[s] = true;
        let from = self.list.len();
        for output in through {
            self.jumps[s] = true;
            self.feed(output, Break::Sharp);
        }
        self.spread(from, Break::Sharp);
        self.jumping = self.list.len();
        self.bent.push(outputs);
    }

    /// Adds `input`, which bends, and what bends with it at the same instant. After everything that jumps.
    pub fn add_bend(&mut self, input: usize) {
        let from = self.list.len();
        self.add(input as u32, Break::Sharp);
        self.spread(from, Break::Sharp);
    }

    /// Adds what bends where inputs jump, and what curves where they bend.
    pub fn add_consequences(&mut self) {
        for k in 0..self.jumping {
            let input = self.list[k].0 as usize;
            self.touched[self.owner[input]] = true;
            self.struck[self.owner[input]] = true;
            self.jumps[self.owner[input]] |= !self.through[input].is_empty();
        }
        let bent = self.list.len();
        for k in 0..self.bent.len() {
            self.bent[k].clone().for_each(|output| self.feed(output, Break::Sharp));
        }
        self.follow_up(0..self.jumping, bent, Break::Sharp);
        let curved = self.list.len();
        self.follow_up(self.jumping..curved, curved, Break::Soft);
    }

    /// The subsystems of the inputs in `causes` give others something that is broken.
    fn follow_up(&mut self, causes: Range<usize>, from: usize, how: Break) {
        for k in causes {
            let input = self.list[k].0 as usize;
            self.beside[input].clone().for_each(|output| self.feed(output, how));
        }
        self.spread(from, how);
    }

    /// What was reached.
    pub fn reached(&self) -> Reached<'_> {
        Reached::Some { inputs: &self.list, members: &self.touched }
    }

    /// Whether an input of member `s` jumps, or its outputs do by themselves.
    pub fn touches(&self, s: usize) -> bool {
        self.touched[s]
    }

    /// Whether outputs of member `s` jump: an input that they follow at the same instant does, or they do so by themselves.
    pub fn jumps(&self, s: usize) -> bool {
        self.jumps[s]
    }

    /// Whether an input of member `s` jumps.
    pub fn strikes(&self, s: usize) -> bool {
        self.struck[s]
    }

    fn spread(&mut self, mut next: usize, how: Break) {
        while let Some(&(input, _)) = self.list.get(next) {
            for k in 0..self.through[input as usize].len() {
                self.feed(self.through[input as usize][k] as usize, how);
            }
            next += 1;
        }
    }

    fn feed(&mut self, output: usize, how: Break) {
        for k in 0..self.inputs_fed_by[output].len() {
            self.add(self.inputs_fed_by[output][k], how);
        }
    }

    fn add(&mut self, input: u32, how: Break) {
        if !std::mem::replace(&mut self.reached[input as usize], true) {
            self.list.push((input, how));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A chain of five members 0 → 1 → 2 → 3 → 4, input k of member k, output k feeds input k + 1; the first three feed through.
    fn chain() -> Reach {
        let n = 5;
        Reach {
            inputs_fed_by: (0..n).map(|k| if k + 1 < n { vec![k as u32 + 1] } else { vec![] }).collect(),
            through: (0..n).map(|k| if k < 2 { vec![k as u32] } else { vec![] }).collect(),
            beside: (0..n).map(|k| k..k + 1).collect(),
            owner: (0..n).collect(),
            reached: vec![false; n],
            list: Vec::new(),
            jumping: 0,
            touched: vec![false; n],
            jumps: vec![false; n],
            struck: vec![false; n],
            bent: Vec::new(),
        }
    }

    #[test]
    fn a_jump_goes_along_feed_through_then_bends_then_curves() {
        let mut reach = chain();
        reach.add_jump(1);
        reach.add_consequences();
        assert_eq!(reach.list, [(1, Break::Sharp), (2, Break::Sharp), (3, Break::Sharp), (4, Break::Soft)]);
        assert_eq!([0, 1, 2, 3].map(|s| reach.touches(s)), [false, true, true, false]);
        reach.clear();
        reach.add_bend(1);
        reach.add_consequences();
        assert_eq!(reach.list, [(1, Break::Sharp), (2, Break::Sharp), (3, Break::Soft)]);
        reach.clear();
        reach.add_member(3, 3..4);
        reach.add_consequences();
        assert_eq!(reach.list, [(4, Break::Sharp)]);
        assert!(reach.touches(3) && reach.touches(4) && !reach.touches(2));
        assert!(!reach.strikes(3) && reach.strikes(4));
        // As a jump of an input that the network feeds, but for that input itself.
        reach.clear();
        reach.add_unfed(1, 1..2, 1..2);
        reach.add_consequences();
        assert_eq!(reach.list, [(2, Break::Sharp), (3, Break::Sharp), (4, Break::Soft)]);
        assert!(reach.touches(1) && reach.jumps(1) && reach.touches(2) && !reach.touches(3));
        reach.clear();
        reach.add_unfed(2, 0..0, 2..3);
        reach.add_consequences();
        assert_eq!(reach.list, [(3, Break::Sharp), (4, Break::Soft)]);
        assert!(reach.touches(2) && !reach.jumps(2) && !reach.touches(3));
    }
}
