//! What a subsystem says of itself: variables, direct feed-through, capabilities; and which of its variables take part.

use crate::units::Unit;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// What a variable is for its subsystem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Causality {
    /// Set by the engine.
    Input,
    /// Given to the engine.
    Output,
    /// Inside; can be recorded.
    Local,
}

/// What kind of value a variable has. All travel as numbers; only reals are extrapolated and corrected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ValueKind {
    /// A real number.
    #[default]
    Real,
    /// An integer.
    Integer,
    /// 0 or 1.
    Boolean,
    /// The number of an item.
    Enumeration,
}

impl ValueKind {
    /// Whether a value of this kind may feed an input of kind `to`: the same kind, or an integer a real.
    pub fn may_feed(self, to: ValueKind) -> bool {
        self == to || (self == ValueKind::Integer && to == ValueKind::Real)
    }

    /// Its name in messages.
    pub fn noun(self) -> &'static str {
        match self {
            ValueKind::Real => "a real number",
            ValueKind::Integer => "an integer",
            ValueKind::Boolean => "a boolean",
            ValueKind::Enumeration => "an enumeration",
        }
    }
}

/// A variable of a subsystem.
#[derive(Clone, Debug)]
pub struct Variable {
    /// The name, unique in its subsystem.
    pub name: String,
    /// Input, output or local.
    pub causality: Causality,
    /// What kind of value it has.
    pub kind: ValueKind,
    /// Its unit, where known.
    pub unit: Option<Arc<Unit>>,
    /// The value of an input that nothing feeds.
    pub start: f64,
    /// A typical magnitude; error estimates may be relative to it.
    pub nominal: f64,
    /// The smallest value it takes; minus infinity if nothing is said.
    pub min: f64,
    /// The largest value it takes; infinity if nothing is said.
    pub max: f64,
    /// It changes at events only, although it may be real: as an input it is held, never interpolated, extrapolated or averaged.
    pub discrete: bool,
    /// It may be set while the run goes on ([`Subsystem::set`](crate::subsystem::Subsystem::set)): a tunable parameter, or an input
    /// that is not bound.
    pub settable: bool,
    /// How many digits of it a number of the engine holds.
    pub digits: Digits,
    /// One line for people.
    pub description: String,
}

/// How many digits of a variable a number of the engine holds. An integer of 64 bits has more, up to 20: the nearest number is one
/// variable, and what is missing another one, [`rest_name`], so that their sum has all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Digits {
    /// All.
    #[default]
    All,
    /// The first 53 binary ones of an integer.
    First {
        /// It may be negative.
        signed: bool,
    },
    /// Those that another variable lacks. It is connected and recorded with that one only.
    Rest,
}

/// The name of the variable that holds what `variable` lacks.
pub fn rest_name(variable: &str) -> String {
    format!("{variable} (low digits)")
}

/// What a variable that is not numeric holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PacketKind {
    /// A text, in UTF-8.
    Text,
    /// Bytes of this MIME type; `None`: of any.
    Binary(Option<String>),
}

impl PacketKind {
    /// Whether a value of this kind may feed an input of kind `to`.
    pub fn may_feed(&self, to: &PacketKind) -> bool {
        match (self, to) {
            (PacketKind::Binary(from), PacketKind::Binary(to)) => {
                from.is_none() || to.is_none() || from == to
            }
            _ => self == to,
        }
    }

    /// Its name in messages.
    pub fn noun(&self) -> String {
        match self {
            PacketKind::Text => "a string".to_owned(),
            PacketKind::Binary(None) => "a binary".to_owned(),
            PacketKind::Binary(Some(mime)) => format!("a binary of type {mime}"),
        }
    }
}

/// A variable that is not numeric. It can be connected to its like and is passed on at communication points.
#[derive(Clone, Debug)]
pub struct Packet {
    /// The name, unique in its subsystem.
    pub name: String,
    /// Input, output or local.
    pub causality: Causality,
    /// What it holds.
    pub kind: PacketKind,
}

/// Which outputs depend on which inputs at the same instant (direct feed-through).
#[derive(Clone, Debug, PartialEq)]
pub enum FeedThrough {
    /// `(output, input)` pairs of variable indices; every other pair is independent.
    Declared(Vec<(usize, usize)>),
    /// Not stated.
    Unknown,
}

/// What a subsystem can do beyond stepping.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Capabilities {
    /// `save` and `restore` work.
    pub can_restore: bool,
    /// `evaluate` recomputes feed-through outputs after a step, time standing still.
    pub can_refresh: bool,
    /// At a discontinuity `update` recomputes outputs, whether or not `evaluate` does so between steps.
    pub can_update: bool,
    /// The highest derivative of inputs that `advance` follows: 0, 1 or 2.
    pub input_derivatives: u8,
    /// The highest derivative of its outputs that it knows; from 1 on `output_derivatives` works.
    pub output_derivatives: u8,
    /// `feed_through` returns ∂y/∂u at the current point.
    pub feed_through_values: bool,
    /// A step may be crossed in several of any length.
    pub sub_steps: bool,
    /// `advance` may come back before the end of its span.
    pub may_return_early: bool,
    /// All its steps must have one length, whichever.
    pub constant_step: bool,
    /// It steps in multiples of this only, in seconds.
    pub fixed_step: Option<f64>,
    /// The shortest step it takes, in seconds.
    pub min_step: Option<f64>,
    /// The longest step it takes, in seconds.
    pub max_step: Option<f64>,
    /// There cannot be two of it in one process.
    pub once: bool,
}

/// Variables in their order. Copies share them until one is changed: an FMU may have hundreds of thousands of variables and many
/// instances that differ in what they can do.
#[derive(Clone, Debug, Default)]
pub struct Variables(Arc<Vec<Variable>>);

impl From<Vec<Variable>> for Variables {
    fn from(list: Vec<Variable>) -> Self {
        Variables(Arc::new(list))
    }
}

impl FromIterator<Variable> for Variables {
    fn from_iter<I: IntoIterator<Item = Variable>>(variables: I) -> Self {
        Vec::from_iter(variables).into()
    }
}

impl Deref for Variables {
    type Target = Vec<Variable>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for Variables {
    fn deref_mut(&mut self) -> &mut Self::Target {
        Arc::make_mut(&mut self.0)
    }
}

impl<'a> IntoIterator for &'a Variables {
    type Item = &'a Variable;
    type IntoIter = std::slice::Iter<'a, Variable>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// The description of a subsystem that does not change while it runs.
#[derive(Clone, Debug)]
pub struct Info {
    /// What it is: a model's name or a file.
    pub kind: String,
    /// Every variable that can be connected or recorded.
    pub variables: Variables,
    /// Direct feed-through.
    pub feed_through: FeedThrough,
    /// What it can do.
    pub capabilities: Capabilities,
}

impl Info {
    /// The index of the variable called `name`. This searches; for many names there is
    /// [`NameIndex`](crate::network::NameIndex).
    pub fn find(&self, name: &str) -> Option<usize> {
        self.variables.iter().position(|v| v.name == name)
    }
}

/// Which variables the engine uses, by index into [`Info::variables`]; fixed once, before [`Subsystem::enter`](super::Subsystem::enter).
#[derive(Clone, Debug, Default)]
pub struct Binding {
    /// The inputs, in the order of `u`.
    pub inputs: Vec<usize>,
    /// The outputs, in the order of `y`.
    pub outputs: Vec<usize>,
    /// Variables that are only recorded.
    pub probes: Vec<usize>,
    /// `(position in outputs, position in inputs)` in the order in which [`Subsystem::feed_through`](super::Subsystem::feed_through) fills `d`.
    pub feed_through: Vec<(usize, usize)>,
}
