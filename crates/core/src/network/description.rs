//! A coupled system as it is described: variables by name, connections and bonds to be made.

use std::fmt;

/// `subsystem.variable`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VariableName {
    /// The subsystem.
    pub subsystem: String,
    /// Its variable.
    pub variable: String,
}

impl VariableName {
    /// From its two parts.
    pub fn new(subsystem: &str, variable: &str) -> Self {
        VariableName { subsystem: subsystem.to_owned(), variable: variable.to_owned() }
    }

    /// Splits `subsystem.variable` at the first dot; variables may contain more.
    pub fn parse(text: &str) -> Option<Self> {
        let (subsystem, variable) = text.split_once('.')?;
        (!subsystem.is_empty() && !variable.is_empty()).then(|| VariableName::new(subsystem, variable))
    }
}

impl fmt::Display for VariableName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.subsystem, self.variable)
    }
}

/// A connection to be made: `to = offset + Σ gain · source`.
#[derive(Clone, Debug)]
pub struct ConnectionSpec {
    /// Outputs and their gains.
    pub from: Vec<(VariableName, f64)>,
    /// The input.
    pub to: VariableName,
    /// Is added.
    pub offset: f64,
    /// Convert units where both ends know theirs.
    pub convert_units: bool,
}

/// One side of a bond to be made. Vectors have several inputs and as many outputs.
#[derive(Clone, Debug)]
pub struct PortSpec {
    /// Inputs of one subsystem.
    pub inputs: Vec<VariableName>,
    /// Outputs of the same subsystem.
    pub outputs: Vec<VariableName>,
    /// +1 if `u·y` is power that leaves the subsystem, -1 if it enters.
    pub sign: f64,
    /// Multiplies `u·y`, in W where the units of both are known (a gear ratio).
    pub ratio: f64,
}

/// A bond to be made.
#[derive(Clone, Debug)]
pub struct BondSpec {
    /// Its name.
    pub name: String,
    /// Two or more ports.
    pub ports: Vec<PortSpec>,
}
