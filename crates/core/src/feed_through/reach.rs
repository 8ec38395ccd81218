//! Which inputs a discontinuity reaches. Along connections and feed-through they jump at the same instant; what the subsystems of
//! these inputs give to others has a kink. All others stay smooth, and their past goes on to foretell them.

use super::Structure;
use crate::network::Network;
use std::ops::Range;

/// Finds the inputs that jump or bend with a subsystem's outputs or with a known signal; allocates nothing after `new`.
#[derive(Clone, Debug)]
pub(crate) struct Reach {
    /// The inputs that each output feeds.
    fed: Vec<Vec<u32>>,
    /// The outputs that each input feeds through to.
    through: Vec<Vec<u32>>,
    /// The outputs of the subsystem of each input.
    beside: Vec<Range<usize>>,
    reached: Vec<bool>,
    list: Vec<u32>,
}

impl Reach {
    /// For a network whose feed-through is known as far as it will be: what nobody knows is taken for possible.
    pub fn new(network: &Network) -> Self {
        let mut fed = vec![Vec::new(); network.n_outputs];
        for i in 0..network.n_inputs {
            network.wiring.sources(i).for_each(|(output, _)| fed[output].push(i as u32));
        }
        let mut through = vec![Vec::new(); network.n_inputs];
        for (output, inputs) in Structure::possible_feed_through(network).iter().enumerate() {
            inputs.iter().for_each(|&i| through[i].push(output as u32));
        }
        let n = network.n_inputs;
        let beside = network.owner_of_input.iter().map(|&s| network.members[s].outputs.clone()).collect();
        Reach { fed, through, beside, reached: vec![false; n], list: Vec::with_capacity(n) }
    }

    /// Begins anew.
    pub fn clear(&mut self) {
        self.list.iter().for_each(|&i| self.reached[i as usize] = false);
        self.list.clear();
    }

    /// Adds what jumps with `output`.
    pub fn add_output(&mut self, output: usize) {
        let from = self.list.len();
        self.feed(output);
        self.spread(from);
    }

    /// Adds `input`, which follows a known signal, and what jumps with it.
    pub fn add_input(&mut self, input: usize) {
        let from = self.list.len();
        self.add(input as u32);
        self.spread(from);
    }

    /// Adds what bends where the inputs that were added jump.
    pub fn add_kinks(&mut self) {
        let jumping = self.list.len();
        for k in 0..jumping {
            let input = self.list[k] as usize;
            self.beside[input].clone().for_each(|output| self.feed(output));
        }
        self.spread(jumping);
    }

    /// The inputs that were reached.
    pub fn inputs(&self) -> &[u32] {
        &self.list
    }

    fn spread(&mut self, mut next: usize) {
        while let Some(&input) = self.list.get(next) {
            for k in 0..self.through[input as usize].len() {
                self.feed(self.through[input as usize][k] as usize);
            }
            next += 1;
        }
    }

    fn feed(&mut self, output: usize) {
        for k in 0..self.fed[output].len() {
            self.add(self.fed[output][k]);
        }
    }

    fn add(&mut self, input: u32) {
        if !std::mem::replace(&mut self.reached[input as usize], true) {
            self.list.push(input);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Reach;

    /// Input 3 → output 0 → input 1 → output 1 → input 2, which output 2 does not follow at once; that feeds input 0.
    #[test]
    fn a_jump_goes_along_connections_and_feed_through() {
        let mut reach = Reach {
            fed: vec![vec![1], vec![2], vec![0]],
            through: vec![vec![], vec![1], vec![], vec![0]],
            beside: vec![0..0, 0..2, 2..3, 0..0],
            reached: vec![false; 4],
            list: Vec::with_capacity(4),
        };
        let mut from = |add: fn(&mut Reach, usize), what: usize| {
            reach.clear();
            add(&mut reach, what);
            let mut list = reach.inputs().to_vec();
            list.sort_unstable();
            list
        };
        assert_eq!(from(Reach::add_output, 0), [1, 2]);
        assert_eq!(from(Reach::add_output, 1), [2]);
        assert_eq!(from(Reach::add_output, 2), [0]);
        assert_eq!(from(Reach::add_input, 3), [1, 2, 3]);
        let bent = |reach: &mut Reach, input: usize| {
            reach.add_input(input);
            reach.add_kinks();
        };
        assert_eq!(from(bent, 3), [0, 1, 2, 3]);
        assert_eq!(from(bent, 0), [0]);
    }
}
