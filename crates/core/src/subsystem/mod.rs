//! Anything that advances in time: a built-in model, an FMU, a remote simulator.

mod description;
mod snapshot;
pub mod wrapper;
pub mod radau;
pub mod halves;
pub mod compensated;
pub mod whole_steps;
pub mod shared_inputs;
pub mod own_step;
pub mod answer;
pub mod twin;

pub use description::{
    Binding, Capabilities, Causality, Digits, FeedThrough, Info, Packet, PacketKind, ValueKind, Variable,
    Variables, rest_name,
};
pub use snapshot::StateSnapshot;

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

/// The experiment, as a subsystem is told of it.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// Start of the run, in seconds.
    pub start: f64,
    /// End of the run, in seconds.
    pub stop: f64,
}

/// A discontinuity that a subsystem met in a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum StepEvent {
    /// None.
    #[default]
    None,
    /// Inside the span or at its end; the subsystem has handled it, and its outputs are those after it.
    Handled,
    /// At the end of the span. Outputs are the limit from the left; [`Subsystem::update`] handles it and gives the other one.
    Pending,
    /// The model ends the simulation at the time that was reached, which may be before the end of the span, or its start. No other
    /// step is asked for.
    Terminated,
}

/// What a step came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Advance {
    /// The time that was reached; less than the end of the span after an early return.
    pub reached: f64,
    /// The discontinuity that it met, if any.
    pub event: StepEvent,
    /// When the next discontinuity comes, if it is known.
    pub next_event: Option<f64>,
}

impl Advance {
    /// The whole span, uneventful.
    pub fn whole(span: Span) -> Self {
        Advance { reached: span.end, event: StepEvent::None, next_event: None }
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
    /// What runs it is gone, and nothing can be asked of it any more.
    Lost(Box<Lost>),
}

/// What became of a subsystem that runs elsewhere: in another process, on another host.
#[derive(Clone, Debug, PartialEq)]
pub struct Lost {
    /// How it was lost.
    pub loss: Loss,
    /// The call that was under way, as the standard names it; none where that is not known.
    pub call: Option<String>,
    /// Where the step that was under way began, in s.
    pub time: Option<f64>,
    /// What happened, in words: "crashed with SIGSEGV …".
    pub how: String,
    /// What it said last, in words; empty where it said nothing.
    pub said: String,
    /// Lines of its log that have not come before.
    pub log: Vec<String>,
}

/// How a subsystem was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// It crashed, or ended its process.
    Crashed,
    /// It was stopped and does not continue.
    Stopped,
    /// Its host does not answer, or answers what nobody understands.
    Unreachable,
}

impl std::fmt::Display for Lost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(call) = &self.call {
            write!(f, "`{call}` ")?;
        }
        if let Some(time) = self.time {
            write!(f, "at t = {time} s ")?;
        }
        f.write_str(&self.how)?;
        if self.said.is_empty() { Ok(()) } else { write!(f, "; its last messages: {}", self.said) }
    }
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
            SubsystemError::Lost(lost) => write!(f, "{lost}"),
        }
    }
}

impl std::error::Error for SubsystemError {}

/// Anything that advances in time. Called by one thread at a time; `advance` maybe by another one than the rest.
///
/// The order of calls: `bind`, `enter`, a mixture of `evaluate` and `feed_through`, `start`, then any mixture of
/// `advance`, `evaluate`, `update`, `set`, `feed_through`, `probe`, `save`, `restore`, `save_second`, `restore_second`, `snapshot`
/// and `load_snapshot`, then `finish`.
/// `bind` may be repeated before `enter`; the last one counts.
pub trait Subsystem: Send {
    /// Variables and capabilities; constant after construction.
    fn info(&self) -> &Info;

    /// Fixes the order of `u`, `y` and probes.
    fn bind(&mut self, binding: &Binding) -> Result<(), SubsystemError>;

    /// Goes to the start of the run with start values and parameters applied.
    fn enter(&mut self, setup: &Setup) -> Result<(), SubsystemError>;

    /// Outputs `y` for inputs `u` at the current time: during initialization, for a refresh and in algebraic loops. Calls
    /// may be repeated with other inputs; only the last ones count.
    fn evaluate(&mut self, u: Inputs<'_>, y: &mut [f64]) -> Result<(), SubsystemError>;

    /// At a discontinuity: takes the inputs' limit from the right, handles an event that is [`StepEvent::Pending`], and gives the
    /// outputs' limit from the right. Called in place of `evaluate` between two steps; may be repeated with other inputs.
    fn update(&mut self, u: Inputs<'_>, y: &mut [f64]) -> Result<(), SubsystemError> {
        self.evaluate(u, y)
    }

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

    /// Gives a tunable parameter, or an input that [`Binding::inputs`] does not list, another value at the current time; an index
    /// into [`Info::variables`]. An input keeps it until it is set again: it takes the place of the start value. The engine asks for
    /// outputs at the limit from the right afterwards. A value that is not finite never comes here.
    fn set(&mut self, _variable: usize, _value: f64) -> Result<(), SubsystemError> {
        Err(SubsystemError::Unsupported { call: "set" })
    }

    /// First derivatives of the outputs with respect to time, per second, at the current point; NaN where one is not
    /// known.
    fn output_derivatives(&mut self, _dy: &mut [f64]) -> Result<(), SubsystemError> {
        Err(SubsystemError::Unsupported { call: "output_derivatives" })
    }

    /// The probes' values; called at the ends of steps, a few of which may be rolled back.
    fn probe(&mut self, z: &mut [f64]) -> Result<(), SubsystemError>;

    /// Keeps the whole state in one slot that is reused.
    fn save(&mut self) -> Result<(), SubsystemError> {
        Err(SubsystemError::Unsupported { call: "save" })
    }

    /// Goes back to what `save` kept, which stays valid.
    fn restore(&mut self) -> Result<(), SubsystemError> {
        Err(SubsystemError::Unsupported { call: "restore" })
    }

    /// Keeps the whole state in a second slot, beside that of `save`, which stays as it is.
    ///
    /// Estimates from pairs of steps use it to go back to the middle of a pair; without it they make the first half twice.
    fn save_second(&mut self) -> Result<(), SubsystemError> {
        Err(SubsystemError::Unsupported { call: "save_second" })
    }

    /// Goes back to what `save_second` kept, once; `restore` still leads to what `save` kept.
    fn restore_second(&mut self) -> Result<(), SubsystemError> {
        Err(SubsystemError::Unsupported { call: "restore_second" })
    }

    /// The steps that follow are not saved: one that cannot be finished cannot be made again.
    fn release(&mut self) {}

    /// Another instance with the same parameters and start values, before [`Subsystem::bind`]: what is tried out on it leaves no
    /// trace in the run. `None` if there cannot be one.
    fn scratch(&self) -> Option<Box<dyn Subsystem>> {
        None
    }

    /// Those of `variables` that cannot be read after initialization, tried on a scratch instance.
    fn unreadable(&self, _variables: &[usize], _setup: &Setup) -> Vec<usize> {
        Vec::new()
    }

    /// Shows every number of the state to `visit`, always in the same order; what `visit` writes there is the state
    /// from then on. Copies of a state, files of it and another instance with the same parameters are made of this.
    fn state(&mut self, _visit: &mut dyn FnMut(&mut f64)) -> Result<(), SubsystemError> {
        Err(SubsystemError::Unsupported { call: "state" })
    }

    /// Copies the whole state, with what was set and how an event stands. Any number of copies may exist beside each other and beside
    /// what `save` keeps; the order in which they are loaded or dropped is free. By default the numbers of [`Subsystem::state`].
    fn snapshot(&mut self) -> Result<StateSnapshot, SubsystemError> {
        let mut numbers: Vec<f64> = Vec::new();
        self.state(&mut |x| numbers.push(*x))?;
        Ok(StateSnapshot::new(numbers))
    }

    /// Goes to a state that `snapshot` of the same instance returned; from there it does the same, to the last bit, as the first
    /// time. What `save` kept is not valid any more.
    fn load_snapshot(&mut self, snapshot: &StateSnapshot) -> Result<(), SubsystemError> {
        let foreign = SubsystemError::Unsupported { call: "load_snapshot" };
        let Some(numbers) = snapshot.get::<Vec<f64>>() else { return Err(foreign) };
        let mut count = 0;
        self.state(&mut |_| count += 1)?;
        if count != numbers.len() {
            return Err(foreign);
        }
        let mut rest = numbers.iter();
        self.state(&mut |x| *x = rest.next().copied().unwrap_or(*x))
    }

    /// Whether `snapshot` works; nothing changes. By default, whether [`Subsystem::state`] does.
    fn can_snapshot(&mut self) -> bool {
        self.state(&mut |_| {}).is_ok()
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
