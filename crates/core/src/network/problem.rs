//! What can be wrong with a description, and how it is said.

use super::VariableName;
use crate::subsystem::{Causality, SubsystemError};
use std::fmt;

/// Which part of the description an error is about.
#[derive(Clone, Debug, PartialEq)]
pub enum Subject {
    /// A subsystem.
    Subsystem(String),
    /// The n-th connection.
    Connection(usize),
    /// The n-th external input.
    External(usize),
    /// The n-th bond, and its n-th port.
    Bond(usize, Option<usize>),
    /// The n-th recorded variable.
    Record(usize),
}

/// What is wrong with it.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)] // The fields are what the message prints.
pub enum Problem {
    DuplicateSubsystem { name: String },
    NoSubsystem { name: String, suggestion: Option<String> },
    NoVariable { kind: String, name: VariableName, wanted: Option<Causality>, hint: String },
    WrongCausality { name: VariableName, wanted: Causality, found: Causality },
    Types { from: VariableName, from_kind: String, to: VariableName, to_kind: String },
    NotANumber { name: VariableName, kind: String },
    NotAsItIs { from: VariableName, kind: String },
    FedTwice { input: VariableName, other: &'static str },
    NotFinite { what: String, value: f64 },
    Units { from: VariableName, from_unit: String, to: VariableName, to_unit: String },
    Turns { from: VariableName, from_unit: String, to: VariableName, to_unit: String, gain: f64 },
    TooFewPorts { bond: String, ports: usize },
    SplitPort { input: VariableName, output: VariableName },
    PortLengths { inputs: usize, outputs: usize },
    Unfed { input: VariableName },
    Foreign { input: VariableName, source: VariableName },
    NotAPower { input: VariableName, input_unit: String, output: VariableName, output_unit: String },
    BadSign { sign: f64 },
    BadRatio { ratio: f64 },
    UnitTwice { ratio: f64, input_unit: String, output_unit: String },
    UsedTwice { input: VariableName, bond: String },
    Unbalanced { bond: String, first: VariableName, second: VariableName, sum: f64 },
    Refused { name: String, error: SubsystemError },
}

/// An error of the description.
#[derive(Clone, Debug, PartialEq)]
pub struct BuildError {
    /// Which part.
    pub subject: Subject,
    /// What.
    pub problem: Problem,
}

fn noun(causality: Causality) -> &'static str {
    match causality {
        Causality::Input => "input",
        Causality::Output => "output",
        Causality::Local => "local variable",
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hint = |f: &mut fmt::Formatter<'_>, suggestion: &Option<String>| match suggestion {
            Some(name) => write!(f, ". Did you mean `{name}`?"),
            None => Ok(()),
        };
        match self {
            Problem::DuplicateSubsystem { name } => write!(f, "there are two subsystems called `{name}`"),
            Problem::NoSubsystem { name, suggestion } => {
                write!(f, "there is no subsystem `{name}`")?;
                hint(f, suggestion)
            }
            Problem::NoVariable { kind, name, wanted, hint } => {
                let what = wanted.map_or("variable", noun);
                write!(f, "`{}` ({kind}) has no {what} `{}`.{hint}", name.subsystem, name.variable)
            }
            Problem::WrongCausality { name, wanted, found } => {
                let article = if *found == Causality::Local { "a" } else { "an" };
                write!(f, "`{name}` is {article} {}, an {} is needed here", noun(*found), noun(*wanted))
            }
            Problem::Types { from, from_kind, to, to_kind } => {
                write!(f, "`{from}` is {from_kind} and `{to}` is {to_kind}: they cannot be connected")
            }
            Problem::NotANumber { name, kind } => {
                write!(f, "`{name}` is {kind}; a variable with a number is needed here")
            }
            Problem::NotAsItIs { from, kind } => write!(
                f,
                "`{from}` is {kind}, which is passed on as it is: one source, without gain and offset"
            ),
            Problem::FedTwice { input, other } => write!(
                f,
                "`{input}` is fed already by {other}. An input has one feeder; to add signals up, write one connection \
                 with `from = [\"a.x\", \"b.y\"]`"
            ),
            Problem::NotFinite { what, value } => write!(f, "{what} is {value}; a finite number is needed"),
            Problem::Units { from, from_unit, to, to_unit } => write!(
                f,
                "`{from}` is in {from_unit} and `{to}` in {to_unit}: these cannot be converted into each other. Write \
                 `convert_units = false` to connect the numbers as they are"
            ),
            Problem::Turns { from, from_unit, to, to_unit, gain } => write!(
                f,
                "`{from}` is in {from_unit} and `{to}` in {to_unit}: one counts turns, the other radians. Write \
                 `convert_units = false` and the `gain` that is meant, {gain} if a turn has 2π radians"
            ),
            Problem::TooFewPorts { bond, ports } => {
                write!(f, "bond `{bond}` has {ports} port(s); power flows between at least two")
            }
            Problem::SplitPort { input, output } => write!(
                f,
                "`{input}` and `{output}` are on different subsystems; the input and the output of a port belong to one"
            ),
            Problem::PortLengths { inputs, outputs } => {
                write!(f, "the port has {inputs} input(s) and {outputs} output(s); they must pair up")
            }
            Problem::Unfed { input } => {
                write!(f, "`{input}` is a side of a bond, but no connection feeds it")
            }
            Problem::Foreign { input, source } => write!(
                f,
                "`{input}` is fed by `{source}`, which is not an output of another port of this bond, so its product is not \
                 the power of the bond"
            ),
            Problem::NotAPower { input, input_unit, output, output_unit } => write!(
                f,
                "`{input}` in {input_unit} times `{output}` in {output_unit} is not a power. A bond pairs force and \
                 velocity, torque and speed, voltage and current, or pressure and flow"
            ),
            Problem::BadSign { sign } => write!(
                f,
                "`sign` is {sign}; write 1 if input times output is power that leaves the subsystem, -1 if it enters"
            ),
            Problem::BadRatio { ratio } => {
                write!(f, "`ratio` is {ratio}; a finite number other than 0 is needed")
            }
            Problem::UnitTwice { ratio, input_unit, output_unit } => write!(
                f,
                "`ratio` = {ratio} is what makes watts of {input_unit} times {output_unit}. Leave it out: known units are \
                 converted already"
            ),
            Problem::UsedTwice { input, bond } => write!(f, "`{input}` is a side of bond `{bond}` already"),
            Problem::Unbalanced { bond, first, second, sum } => write!(
                f,
                "the powers of bond `{bond}` cannot cancel: with exact coupling `{first}` times `{second}` is left with \
                 factor {sum}. Check the `sign` of the ports, their `ratio` and the `gain` of the connections between them"
            ),
            Problem::Refused { name, error } => write!(f, "`{name}` refused its ports: {error}"),
        }
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.problem.fmt(f)
    }
}

impl std::error::Error for BuildError {}

/// Everything that was found wrong with a description: at least one error, in no particular order.
#[derive(Clone, Debug, PartialEq)]
pub struct BuildErrors(pub Vec<BuildError>);

/// One line each.
impl fmt::Display for BuildErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, error) in self.0.iter().enumerate() {
            let end = if i > 0 { "\n" } else { "" };
            write!(f, "{end}{error}")?;
        }
        Ok(())
    }
}

impl std::error::Error for BuildErrors {}
