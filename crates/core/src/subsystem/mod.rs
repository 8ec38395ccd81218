//! Anything that advances in time: a built-in model, an FMU, a remote simulator.

pub mod endpoint_substep;
pub mod wrapper;

use crate::units::Unit;

/// A stretch of time that a subsystem is asked to cross.
///
/// `h` is the nominal length; `end - start` may differ from it by round-off, because fixed steps are
/// `start + n·h` and never a running sum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    /// Where the step begins, in seconds.
    pub start: f64,
    /// Where the step ends, in seconds.
    pub end: f64,
    /// Its length, in seconds.
    pub h: f64,
}

impl Span {
    /// The span from `start` of length `h`.
    pub fn new(start: f64, h: f64) -> Self {
        Span { start, end: start + h, h }
    }

    /// The sub-step `index` of `count` equal ones. The last one ends exactly where the span ends.
    pub fn part(&self, index: u32, count: u32) -> Self {
        if count == 1 {
            return *self;
        }
        let h = self.h / f64::from(count);
        let end = if index + 1 == count { self.end } else { self.start + h * f64::from(index + 1) };
        Span { start: self.start + h * f64::from(index), end, h }
    }
}

/// The held inputs of one subsystem on one span: `ũ(τ) = value + slope·τ + curvature·τ²/2`, τ from the start.
///
/// `slope` and `curvature` are either empty (all zero) or as long as `value`.
#[derive(Clone, Copy, Debug)]
pub struct Inputs<'a> {
    /// Values at the start of the span.
    pub value: &'a [f64],
    /// First derivatives at the start of the span, per second.
    pub slope: &'a [f64],
    /// Second derivatives, per second squared.
    pub curvature: &'a [f64],
}

impl<'a> Inputs<'a> {
    /// Inputs that stay as they are.
    pub fn constant(value: &'a [f64]) -> Self {
        Inputs { value, slope: &[], curvature: &[] }
    }

    /// Input `i` at `tau` seconds after the start of the span.
    pub fn at(&self, i: usize, tau: f64) -> f64 {
        let slope = self.slope.get(i).copied().unwrap_or(0.0);
        let curvature = self.curvature.get(i).copied().unwrap_or(0.0);
        self.value[i] + tau * (slope + 0.5 * tau * curvature)
    }
}

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
    /// A whole number.
    Integer,
    /// 0 or 1.
    Boolean,
    /// The number of an item.
    Enumeration,
}

impl ValueKind {
    /// Whether a value of this kind may feed an input of kind `to`: the same kind, or a whole number a real.
    pub fn may_feed(self, to: ValueKind) -> bool {
        self == to || (self == ValueKind::Integer && to == ValueKind::Real)
    }

    /// Its name in messages.
    pub fn noun(self) -> &'static str {
        match self {
            ValueKind::Real => "a real number",
            ValueKind::Integer => "a whole number",
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
    pub unit: Option<Unit>,
    /// The value of an input that nothing feeds.
    pub start: f64,
    /// A typical magnitude; error estimates may be relative to it.
    pub nominal: f64,
    /// One line for people.
    pub description: String,
}

/// What a variable that is no number holds.
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
            PacketKind::Text => "a text".to_owned(),
            PacketKind::Binary(None) => "a binary".to_owned(),
            PacketKind::Binary(Some(mime)) => format!("a binary of type {mime}"),
        }
    }
}

/// A variable that is no number. It can be connected to its like and is passed on at communication points.
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
    /// Nobody said.
    Unknown,
}

/// What a subsystem can do beyond stepping.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Capabilities {
    /// `save` and `restore` work.
    pub can_restore: bool,
    /// `evaluate` recomputes feed-through outputs after a step, time standing still.
    pub can_refresh: bool,
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
}

/// The description of a subsystem that does not change while it runs.
#[derive(Clone, Debug)]
pub struct Info {
    /// What it is: a model's name or a file.
    pub kind: String,
    /// Every variable that can be connected or recorded.
    pub variables: Vec<Variable>,
    /// Direct feed-through.
    pub feed_through: FeedThrough,
    /// What it can do.
    pub capabilities: Capabilities,
}

impl Info {
    /// The index of the variable called `name`.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.variables.iter().position(|v| v.name == name)
    }
}

/// Which variables the engine uses, by index into [`Info::variables`]; fixed once, before [`Subsystem::enter`].
#[derive(Clone, Debug, Default)]
pub struct Binding {
    /// The inputs, in the order of `u`.
    pub inputs: Vec<usize>,
    /// The outputs, in the order of `y`.
    pub outputs: Vec<usize>,
    /// Variables that are only recorded.
    pub probes: Vec<usize>,
    /// `(position in outputs, position in inputs)` in the order in which [`Subsystem::feed_through`] fills `d`.
    pub feed_through: Vec<(usize, usize)>,
}

/// The experiment, as a subsystem is told of it.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// Start of the run, in seconds.
    pub start: f64,
    /// End of the run, in seconds.
    pub stop: f64,
}

/// What a step came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Advance {
    /// The time that was reached; less than the end of the span after an early return.
    pub reached: f64,
    /// Something discontinuous happened inside the span.
    pub event: bool,
    /// When the next discontinuity comes, if it is known.
    pub next_event: Option<f64>,
}

impl Advance {
    /// The whole span, uneventful.
    pub fn whole(span: Span) -> Self {
        Advance { reached: span.end, event: false, next_event: None }
    }
}

/// Why a call on a subsystem failed. The engine adds who and when.
#[derive(Clone, Debug, PartialEq)]
pub enum SubsystemError {
    /// A call returned a bad status.
    Status {
        /// The call, as the standard or the model names it.
        call: &'static str,
        /// The status, as the standard names it.
        status: String,
        /// What the simulator said about it.
        message: String,
    },
    /// The subsystem cannot do this.
    Unsupported {
        /// What was asked for.
        call: &'static str,
    },
    /// A step cannot be taken from here (for example a geometry that does not exist).
    Infeasible {
        /// What went wrong, in the model's words.
        message: String,
    },
}

impl std::fmt::Display for SubsystemError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            SubsystemError::Status { call, status, message } if message.is_empty() => {
                write!(f, "`{call}` returned {status}")
            }
            SubsystemError::Status { call, status, message } => {
                write!(f, "`{call}` returned {status}: {message}")
            }
            SubsystemError::Unsupported { call } => write!(f, "it does not support `{call}`"),
            SubsystemError::Infeasible { message } => write!(f, "{message}"),
        }
    }
}

impl std::error::Error for SubsystemError {}

/// Anything that advances in time. Called by one thread at a time; `advance` maybe by another one than the rest.
///
/// The order of calls: `bind`, `enter`, a mixture of `evaluate` and `feed_through`, `start`, then any mixture of
/// `advance`, `evaluate`, `feed_through`, `probe`, `save` and `restore`, then `finish`.
pub trait Subsystem: Send {
    /// Variables and capabilities; constant after construction.
    fn info(&self) -> &Info;

    /// Fixes the order of `u`, `y` and probes.
    fn bind(&mut self, binding: &Binding) -> Result<(), SubsystemError>;

    /// Goes to the start of the run with start values and parameters applied.
    fn enter(&mut self, setup: &Setup) -> Result<(), SubsystemError>;

    /// Outputs `y` for inputs `u` while time stands still: during initialization and for a refresh.
    fn evaluate(&mut self, u: Inputs<'_>, y: &mut [f64]) -> Result<(), SubsystemError>;

    /// Leaves initialization; the first step follows.
    fn start(&mut self) -> Result<(), SubsystemError> {
        Ok(())
    }

    /// When the first discontinuity comes, if it is known after `start`; later ones come with [`Advance::next_event`].
    fn next_event(&self) -> Option<f64> {
        None
    }

    /// Sets the inputs, crosses `span` and reads the outputs: one round trip.
    fn advance(&mut self, span: Span, u: Inputs<'_>, y: &mut [f64]) -> Result<Advance, SubsystemError>;

    /// ∂y/∂u at the current point, in the order of [`Binding::feed_through`].
    fn feed_through(&mut self, _d: &mut [f64]) -> Result<(), SubsystemError> {
        Err(SubsystemError::Unsupported { call: "feed_through" })
    }

    /// Gives a tunable parameter, an index into [`Info::variables`], another value while time stands still.
    fn set(&mut self, _variable: usize, _value: f64) -> Result<(), SubsystemError> {
        Err(SubsystemError::Unsupported { call: "set" })
    }

    /// First derivatives of the outputs with respect to time, per second, at the current point; NaN where one is not
    /// known.
    fn output_derivatives(&mut self, _dy: &mut [f64]) -> Result<(), SubsystemError> {
        Err(SubsystemError::Unsupported { call: "output_derivatives" })
    }

    /// The probes' values; called at the ends of steps, a few of which may be taken back.
    fn probe(&mut self, z: &mut [f64]) -> Result<(), SubsystemError>;

    /// Keeps the whole state in one slot that is reused.
    fn save(&mut self) -> Result<(), SubsystemError> {
        Err(SubsystemError::Unsupported { call: "save" })
    }

    /// Goes back to what `save` kept, which stays valid.
    fn restore(&mut self) -> Result<(), SubsystemError> {
        Err(SubsystemError::Unsupported { call: "restore" })
    }

    /// Shows every number of the state to `visit`, always in the same order; what `visit` writes there is the state
    /// from then on. Copies of a state, files of it and another instance with the same parameters are made of this.
    fn state(&mut self, _visit: &mut dyn FnMut(&mut f64)) -> Result<(), SubsystemError> {
        Err(SubsystemError::Unsupported { call: "state" })
    }

    /// Variables that are no numbers; constant after construction.
    fn packets(&self) -> &[Packet] {
        &[]
    }

    /// Appends the value of a variable of [`Subsystem::packets`] to `bytes`; from initialization on.
    fn read_packet(&mut self, _packet: usize, _bytes: &mut Vec<u8>) -> Result<(), SubsystemError> {
        Err(SubsystemError::Unsupported { call: "read_packet" })
    }

    /// Sets an input of [`Subsystem::packets`]; between steps and in initialization.
    fn write_packet(&mut self, _packet: usize, _bytes: &[u8]) -> Result<(), SubsystemError> {
        Err(SubsystemError::Unsupported { call: "write_packet" })
    }

    /// Ends the simulation.
    fn finish(&mut self) -> Result<(), SubsystemError> {
        Ok(())
    }
}
