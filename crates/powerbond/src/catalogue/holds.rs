//! How inputs are held.

use super::{Ability, Context, Entry, Make, Nature, Without};
use powerbond_core::hold::{Hold, Polynomial, VariableOrder};

/// Order 0.
pub const ZERO: Entry = Entry {
    name: "0",
    about: "inputs stay constant over a step",
    paper: "",
    knobs: &[],
    uses: None,
    nature: Nature::Plain,
    make: Make::Hold { order: Some(0), make: polynomial },
};

/// Order 1.
pub const FIRST: Entry = Entry {
    name: "1",
    about: "inputs follow the line through their last two values at their true times",
    paper: "arnold2013 eq. 9",
    knobs: &[],
    uses: Some((Ability::InputDerivatives(1), Without::LowerOrder)),
    nature: Nature::Plain,
    make: Make::Hold { order: Some(1), make: polynomial },
};

/// Order 2.
pub const SECOND: Entry = Entry {
    name: "2",
    about: "inputs follow the parabola through their last three values at their true times",
    paper: "arnold2013 eq. 9",
    knobs: &[],
    uses: Some((Ability::InputDerivatives(2), Without::LowerOrder)),
    nature: Nature::Plain,
    make: Make::Hold { order: Some(2), make: polynomial },
};

/// An order that varies.
pub const VARIABLE: Entry = Entry {
    name: "variable",
    about: "each input is held with the order, 0 to 2, whose jumps were the smallest",
    paper: "",
    knobs: &[],
    uses: None,
    nature: Nature::Plain,
    make: Make::Hold { order: None, make: variable },
};

fn polynomial(context: &Context<'_>) -> Box<dyn Hold> {
    let owner = |i: usize| &context.network.members[context.network.owner_of_input[i]];
    let handed = (0..context.network.n_inputs).map(|i| owner(i).capabilities.input_derivatives).collect();
    Box::new(Polynomial::new(context.holds.to_vec(), handed))
}

fn variable(context: &Context<'_>) -> Box<dyn Hold> {
    let mut known = vec![false; context.network.n_inputs];
    context.network.externals.iter().for_each(|e| known[e.input] = true);
    Box::new(VariableOrder::new(context.holds.to_vec(), context.feeds.to_vec(), known))
}
