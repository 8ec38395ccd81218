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
    DuplicateSubsystem {
        name: String,
    },
    NoSubsystem {
        name: String,
        suggestion: Option<String>,
    },
    NoVariable {
        kind: String,
        name: VariableName,
        wanted: Option<Causality>,
        hint: String,
    },
    WrongCausality {
        name: VariableName,
        wanted: Causality,
        found: Causality,
    },
    Types {
        from: VariableName,
        from_kind: String,
        to: VariableName,
        to_kind: String,
    },
    NotANumber {
        name: VariableName,
        kind: String,
    },
    NotAsItIs {
        from: VariableName,
        kind: String,
    },
    FedTwice {
        input: VariableName,
        other: &'static str,
    },
    NotFinite {
        what: String,
        value: f64,
    },
    Units {
        from: VariableName,
        from_unit: String,
        to: VariableName,
        to_unit: String,
        /// The one other variable, with its unit, that fits on one side.
        fitting: Option<(VariableName, String)>,
    },
    Turns {
        from: VariableName,
        from_unit: String,
        to: VariableName,
        to_unit: String,
        gain: f64,
    },
    TooFewPorts {
        bond: String,
        ports: usize,
    },
    SplitPort {
        input: VariableName,
        output: VariableName,
    },
    PortLengths {
        inputs: usize,
        outputs: usize,
    },
    Unfed {
        input: VariableName,
    },
    Foreign {
        input: VariableName,
        source: VariableName,
    },
    NotAPower {
        input: VariableName,
        input_unit: String,
        output: VariableName,
        output_unit: String,
    },
    BadSign {
        sign: f64,
    },
    BadRatio {
        ratio: f64,
    },
    UnitTwice {
        ratio: f64,
        input_unit: String,
        output_unit: String,
    },
    UsedTwice {
        input: VariableName,
        bond: String,
    },
    Unbalanced {
        bond: String,
        first: VariableName,
        second: VariableName,
        sum: f64,
        cause: Imbalance,
    },
    Refused {
        name: String,
        error: SubsystemError,
    },
}

/// Why the powers of a bond cannot cancel, as far as they tell.
#[derive(Clone, Debug, PartialEq)]
pub enum Imbalance {
    /// Two ports with the same power, where one has to be that of the other with the opposite sign.
    Sign,
    /// The power at the port with `input` is `times` (above 1) that of the other port, with the opposite sign; `ratio` makes up for it.
    Ratio {
        /// The first input of the port.
        input: VariableName,
        /// Its power over that of the other port.
        times: f64,
        /// The `ratio` of the port with which both are equal.
        ratio: f64,
    },
    /// More ports than two, or more than one thing.
    Other,
}

/// An error of the description.
#[derive(Clone, Debug, PartialEq)]
pub struct BuildError {
    /// Which part.
    pub subject: Subject,
    /// What.
    pub problem: Problem,
}

/// Six digits.
fn digits(x: f64) -> f64 {
    format!("{x:.5e}").parse().unwrap_or(x)
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
            Problem::DuplicateSubsystem { name } => write!(f, "duplicate subsystem `{name}`"),
            Problem::NoSubsystem { name, suggestion } => {
                write!(f, "unknown subsystem `{name}`")?;
                hint(f, suggestion)
            }
            Problem::NoVariable { kind, name, wanted, hint } => {
                let what = wanted.map_or("variable", noun);
                write!(f, "`{}` ({kind}): unknown {what} `{}`.{hint}", name.subsystem, name.variable)
            }
            Problem::WrongCausality { name, wanted, found } => {
                let article = if *found == Causality::Local { "a" } else { "an" };
                write!(f, "`{name}` is {article} {}, expected an {}", noun(*found), noun(*wanted))
            }
            Problem::Types { from, from_kind, to, to_kind } => {
                write!(f, "`{from}` is {from_kind} and `{to}` is {to_kind}: they cannot be connected")
            }
            Problem::NotANumber { name, kind } => {
                write!(f, "`{name}` is {kind}; expected a numeric variable")
            }
            Problem::NotAsItIs { from, kind } => {
                write!(f, "`{from}` is {kind}: expected one source, without gain and offset")
            }
            Problem::FedTwice { input, other } => write!(
                f,
                "`{input}` has a source already, {other}. An input has one; to add signals, write one \
                 connection with `from = [\"a.x\", \"b.y\"]`"
            ),
            Problem::NotFinite { what, value } => write!(f, "{what} is {value}; expected a finite number"),
            Problem::Units { from, from_unit, to, to_unit, fitting } => {
                write!(
                    f,
                    "`{from}` is in {from_unit} and `{to}` in {to_unit}: these cannot be converted into each other. "
                )?;
                if let Some((name, unit)) = fitting {
                    write!(f, "Did you mean `{name}`, in {unit}? ")?;
                }
                write!(f, "`convert_units = false` connects them without conversion")
            }
            Problem::Turns { from, from_unit, to, to_unit, gain } => write!(
                f,
                "`{from}` is in {from_unit} and `{to}` in {to_unit}: one counts revolutions, the other radians. Set \
                 `convert_units = false` and the right `gain`, {gain} if a revolution has 2π radians"
            ),
            Problem::TooFewPorts { bond, ports } => {
                write!(f, "bond `{bond}` has {ports} port(s); expected two or more")
            }
            Problem::SplitPort { input, output } => write!(
                f,
                "`{input}` and `{output}` are on different subsystems; expected one subsystem per port"
            ),
            Problem::PortLengths { inputs, outputs } => {
                write!(f, "the port has {inputs} input(s) and {outputs} output(s); expected the same number")
            }
            Problem::Unfed { input } => {
                write!(f, "`{input}` is an input of a bond, but not connected")
            }
            Problem::Foreign { input, source } => write!(
                f,
                "`{input}` is connected to `{source}`, which is not an output of another port of this bond, so the \
                 product is not the power of the bond"
            ),
            Problem::NotAPower { input, input_unit, output, output_unit } => write!(
                f,
                "`{input}` in {input_unit} times `{output}` in {output_unit} is not a power. A bond pairs force and \
                 velocity, torque and speed, voltage and current, or pressure and flow"
            ),
            Problem::BadSign { sign } => write!(
                f,
                "`sign` is {sign}; expected 1 if input times output is power that leaves the subsystem, -1 if it enters"
            ),
            Problem::BadRatio { ratio } => {
                write!(f, "`ratio` is {ratio}; expected a finite number other than 0")
            }
            Problem::UnitTwice { ratio, input_unit, output_unit } => write!(
                f,
                "`ratio` = {ratio} converts {input_unit} times {output_unit} to watts. Remove it: known units are \
                 converted already"
            ),
            Problem::UsedTwice { input, bond } => write!(f, "`{input}` is already an input of bond `{bond}`"),
            Problem::Unbalanced { bond, first, second, sum, cause } => {
                write!(f, "the powers of bond `{bond}` cannot cancel: with exact coupling ")?;
                match cause {
                    Imbalance::Sign => write!(
                        f,
                        "both have the same sign. Change the `sign` of one port; or a `gain = -1` is missing, or too much, \
                         in a connection between them"
                    ),
                    Imbalance::Ratio { input, times, ratio } => write!(
                        f,
                        "that of the port with `{input}` is {} times the other. If a `gain` converts a unit, \
                         `ratio = {}` belongs to this port; else check the `gain` of the connections between them",
                        digits(*times),
                        digits(*ratio)
                    ),
                    Imbalance::Other => write!(
                        f,
                        "`{first}` times `{second}` is left with factor {sum}. Check the `sign` of the ports, their `ratio` \
                         and the `gain` of the connections between them"
                    ),
                }
            }
            Problem::Refused { name, error } => {
                write!(f, "`{name}` rejected its inputs and outputs: {error}")
            }
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
