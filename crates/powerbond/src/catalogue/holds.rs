//! How inputs are held.

use super::{Ability, Context, Entry, Kind, KnobValue, Part, Without};
use powerbond_core::hold::{Dithered, Hold, Polynomial, VariableOrder};

/// How inputs are held over a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HoldOrder {
    /// With the polynomial of this order, 0 to 3, through their last values.
    Fixed(u8),
    /// With the order, 0 to 2, whose prediction defects were the smallest.
    Variable,
}

/// The highest order.
pub const MAX_ORDER: u8 = 3;

/// The highest order that is chosen where it varies.
const MAX_VARIABLE: u8 = 2;

impl HoldOrder {
    /// The order; the highest one if it varies.
    pub fn max(self) -> u8 {
        match self {
            HoldOrder::Fixed(order) => order,
            HoldOrder::Variable => MAX_VARIABLE,
        }
    }

    /// Whether it varies.
    pub fn varies(self) -> bool {
        self == HoldOrder::Variable
    }

    /// Its entry; that of the highest order for one that there is not.
    pub fn entry(self) -> &'static Entry {
        match self {
            HoldOrder::Fixed(0) => &ZERO,
            HoldOrder::Fixed(1) => &FIRST,
            HoldOrder::Fixed(2) => &SECOND,
            HoldOrder::Fixed(_) => &THIRD,
            HoldOrder::Variable => &VARIABLE,
        }
    }

    /// The policy that holds every input with its order of the context.
    pub fn make(self, context: &Context<'_>) -> Box<dyn Hold> {
        match self {
            HoldOrder::Fixed(_) => dithered(polynomial(context), context),
            HoldOrder::Variable => variable(context),
        }
    }

    /// As in files.
    pub fn to_json(self) -> serde_json::Value {
        match self {
            HoldOrder::Fixed(order) => order.into(),
            HoldOrder::Variable => VARIABLE.name.into(),
        }
    }
}

/// Order 0.
pub const ZERO: Entry = Entry {
    kind: Kind::Hold,
    name: "0",
    about: "zero-order hold: inputs are constant over a step",
    paper: "",
    knobs: &[],
    uses: None,
    plain: || Box::new(Order(&ZERO)),
};

/// Order 1.
pub const FIRST: Entry = Entry {
    name: "1",
    about: "first-order hold: linear through the last two values at their true times",
    paper: "arnold2013 eq. 9",
    uses: Some((Ability::InputDerivatives(1), Without::LowerOrder)),
    plain: || Box::new(Order(&FIRST)),
    ..ZERO
};

/// Order 2.
pub const SECOND: Entry = Entry {
    name: "2",
    about: "second-order hold: quadratic through the last three values at their true times",
    paper: "arnold2013 eq. 9",
    uses: Some((Ability::InputDerivatives(2), Without::LowerOrder)),
    plain: || Box::new(Order(&SECOND)),
    ..ZERO
};

/// Order 3.
pub const THIRD: Entry = Entry {
    name: "3",
    about: "third-order hold: cubic through the last four values at their true times, handed over as a parabola with the \
            same integral",
    paper: "arnold2013 eq. 9",
    uses: Some((Ability::InputDerivatives(2), Without::LowerOrder)),
    plain: || Box::new(Order(&THIRD)),
    ..ZERO
};

/// An order that varies.
pub const VARIABLE: Entry = Entry {
    name: "variable",
    about: "variable-order hold: for each input the order, 0 to 2, with the smallest prediction defects",
    plain: || Box::new(Order(&VARIABLE)),
    ..ZERO
};

/// A hold has no knobs.
#[derive(Debug)]
struct Order(&'static Entry);

impl Part for Order {
    fn entry(&self) -> &'static Entry {
        self.0
    }

    fn get(&self, _knob: &str) -> Option<KnobValue> {
        None
    }

    fn set(&mut self, _knob: &str, _value: KnobValue) {}
}

fn polynomial(context: &Context<'_>) -> Box<dyn Hold> {
    let owner = |i: usize| &context.network.members[context.network.owner_of_input[i]];
    let handed = (0..context.network.n_inputs).map(|i| owner(i).capabilities.input_derivatives).collect();
    Box::new(Polynomial::new(context.holds.to_vec(), handed))
}

/// With the dither of the context, where one is needed.
fn dithered(hold: Box<dyn Hold>, context: &Context<'_>) -> Box<dyn Hold> {
    match &context.dither {
        Some((amplitude, inputs)) => Box::new(Dithered::new(hold, *amplitude, inputs.clone())),
        None => hold,
    }
}

fn variable(context: &Context<'_>) -> Box<dyn Hold> {
    let mut known = vec![false; context.network.n_inputs];
    context.network.externals.iter().for_each(|e| known[e.input] = true);
    Box::new(VariableOrder::new(context.holds.to_vec(), context.feeds.to_vec(), known))
}
