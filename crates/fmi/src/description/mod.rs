//! What an FMU says about itself: `modelDescription.xml` of FMI 1.0, 2.0 and 3.0 in one form.

mod read;
mod structure;
mod terminals;
mod types;
mod variables;
pub mod xml;

pub use structure::Unknown;
pub use terminals::{Member, Terminal};
pub use types::{Item, TypeDefinition, UnitDefinition};

use crate::error::{DescriptionError, Finding};
use crate::value::Value;
use powerbond_core::units::{Si, Unit};
use std::sync::Arc;

/// The version of the standard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// FMI 1.0 for co-simulation.
    Fmi1,
    /// FMI 2.0.
    Fmi2,
    /// FMI 3.0.
    Fmi3,
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Version::Fmi1 => "1.0",
            Version::Fmi2 => "2.0",
            Version::Fmi3 => "3.0",
        })
    }
}

/// The type of a variable. FMI 1 and 2 have `Float64` (Real), `Int32` (Integer), booleans, strings and enumerations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Kind {
    Float64,
    Float32,
    Int8,
    UInt8,
    Int16,
    UInt16,
    Int32,
    UInt32,
    Int64,
    UInt64,
    Boolean,
    Enumeration,
    String,
    Binary,
    Clock,
}

impl Kind {
    /// As FMI 3 names it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Float64 => "Float64",
            Kind::Float32 => "Float32",
            Kind::Int8 => "Int8",
            Kind::UInt8 => "UInt8",
            Kind::Int16 => "Int16",
            Kind::UInt16 => "UInt16",
            Kind::Int32 => "Int32",
            Kind::UInt32 => "UInt32",
            Kind::Int64 => "Int64",
            Kind::UInt64 => "UInt64",
            Kind::Boolean => "Boolean",
            Kind::Enumeration => "Enumeration",
            Kind::String => "String",
            Kind::Binary => "Binary",
            Kind::Clock => "Clock",
        }
    }

    /// Whether its values are numbers that can be connected and recorded.
    pub fn is_numeric(self) -> bool {
        !matches!(self, Kind::String | Kind::Binary | Kind::Clock)
    }

    /// Whether it is a real number, the only kind that is extrapolated and differentiated.
    pub fn is_real(self) -> bool {
        matches!(self, Kind::Float64 | Kind::Float32)
    }

    /// The range of integers; `None` for other kinds.
    pub fn range(self) -> Option<(f64, f64)> {
        Some(match self {
            Kind::Int8 => (f64::from(i8::MIN), f64::from(i8::MAX)),
            Kind::UInt8 => (0.0, f64::from(u8::MAX)),
            Kind::Int16 => (f64::from(i16::MIN), f64::from(i16::MAX)),
            Kind::UInt16 => (0.0, f64::from(u16::MAX)),
            Kind::Int32 => (f64::from(i32::MIN), f64::from(i32::MAX)),
            Kind::UInt32 => (0.0, f64::from(u32::MAX)),
            Kind::Int64 | Kind::Enumeration => (i64::MIN as f64, i64::MAX as f64),
            Kind::UInt64 => (0.0, u64::MAX as f64),
            _ => return None,
        })
    }
}

/// What a variable is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Causality {
    Parameter,
    CalculatedParameter,
    StructuralParameter,
    Input,
    Output,
    Local,
    Independent,
}

impl Causality {
    /// With an article, for messages.
    pub fn noun(self) -> &'static str {
        match self {
            Causality::Parameter => "a parameter",
            Causality::CalculatedParameter => "a calculated parameter",
            Causality::StructuralParameter => "a structural parameter",
            Causality::Input => "an input",
            Causality::Output => "an output",
            Causality::Local => "a local variable",
            Causality::Independent => "the independent variable",
        }
    }
}

/// When a variable may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Variability {
    Constant,
    Fixed,
    Tunable,
    Discrete,
    Continuous,
}

/// How a variable gets its first value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Initial {
    Exact,
    Approx,
    Calculated,
    /// Inputs and the independent variable: not for the model to decide.
    Given,
}

/// A dimension of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dimension {
    /// Always this long.
    Fixed(u64),
    /// As long as the structural parameter or constant with this value reference says.
    Parameter(u32),
}

/// What a binary variable holds (FMI 3).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BinaryFormat {
    /// `None`: bytes of any kind.
    pub mime_type: Option<String>,
    /// In bytes.
    pub max_size: Option<u64>,
}

/// When a clock ticks (FMI 3).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClockFormat {
    /// `constant`, `fixed`, `tunable`, `changing`, `countdown` or `triggered`.
    pub variability: String,
    /// The interval in seconds, where the file gives it.
    pub interval: Option<f64>,
    /// The first tick, in seconds after the start.
    pub shift: f64,
}

impl ClockFormat {
    /// In words: `constant, every 0.1 s from 0.05 s on`.
    pub fn describe(&self) -> String {
        let mut text = self.variability.clone();
        if let Some(interval) = self.interval {
            text += &format!(", every {interval} s");
        }
        if self.shift != 0.0 {
            text += &format!(" from {} s on", self.shift);
        }
        text
    }
}

/// A variable.
#[derive(Clone, Debug)]
pub struct Variable {
    /// Unique in a clean file.
    pub name: Box<str>,
    /// The handle that the FMU's functions take.
    pub reference: u32,
    /// Its type.
    pub kind: Kind,
    /// What it is for.
    pub causality: Causality,
    /// When it may change.
    pub variability: Variability,
    /// How it gets its first value; the standard's default where the file says nothing.
    pub initial: Initial,
    /// The first value, if given.
    pub start: Option<Value>,
    /// Where values are expected.
    pub min: Option<f64>,
    /// Where values are expected.
    pub max: Option<f64>,
    /// A typical magnitude.
    pub nominal: Option<f64>,
    /// Index into [`ModelDescription::units`].
    pub unit: Option<u32>,
    /// What it measures, where the variable itself says so; else [`ModelDescription::quantity_of`] asks its type.
    pub quantity: Option<Box<str>>,
    /// Index into [`ModelDescription::types`].
    pub declared_type: Option<u32>,
    /// Differences of temperatures and the like: the unit's offset does not count.
    pub relative_quantity: bool,
    /// Empty for scalars.
    pub dimensions: Box<[Dimension]>,
    /// Can be set and read inside a step (FMI 3).
    pub intermediate_update: bool,
    /// What a binary holds, if the file says so.
    pub binary: Option<Box<BinaryFormat>>,
    /// When a clock ticks; `None` for all but clocks.
    pub clock: Option<Box<ClockFormat>>,
    /// The index of the variable of which this one is another name.
    pub alias_of: Option<u32>,
    /// The value is the negative of the variable with the same reference (FMI 1).
    pub negated: bool,
    /// One line for people.
    pub description: Box<str>,
}

impl Variable {
    /// Whether the length of an array may be its value (FMI 3.0.2 section 2.4.7.1).
    pub(crate) fn may_be_a_length(&self) -> bool {
        let is_known =
            self.causality == Causality::StructuralParameter || self.variability == Variability::Constant;
        is_known
            && self.kind.range().is_some()
            && self.kind != Kind::Enumeration
            && self.dimensions.is_empty()
    }
}

/// What the co-simulation interface offers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CoSimulation {
    /// The name of the library.
    pub model_identifier: String,
    /// The tool that made it has to run.
    pub needs_execution_tool: bool,
    /// Steps may differ in length.
    pub can_handle_variable_step_size: bool,
    /// Steps are multiples of this, in seconds (FMI 3).
    pub fixed_internal_step_size: Option<f64>,
    /// Follows derivatives of its inputs (FMI 1 and 2).
    pub can_interpolate_inputs: bool,
    /// The highest derivative of inputs that it follows, where a vendor annotation tells: FMI 1 and 2 do not.
    pub max_input_derivative_order: Option<u8>,
    /// The highest derivative of outputs that it gives.
    pub max_output_derivative_order: u32,
    /// Steps may run in the background (FMI 1 and 2).
    pub can_run_asynchronously: bool,
    /// One instance per process.
    pub only_once_per_process: bool,
    /// Its state can be kept and brought back.
    pub can_get_and_set_state: bool,
    /// Its state can be written to a file.
    pub can_serialize_state: bool,
    /// Gives ∂y/∂u.
    pub provides_directional_derivatives: bool,
    /// Calls back inside a step (FMI 3).
    pub provides_intermediate_update: bool,
    /// A step may end early (FMI 3).
    pub might_return_early: bool,
    /// Shows events to the engine (FMI 3).
    pub has_event_mode: bool,
}

/// The experiment that the FMU's author proposes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DefaultExperiment {
    /// In seconds.
    pub start: Option<f64>,
    /// In seconds.
    pub stop: Option<f64>,
    /// Relative.
    pub tolerance: Option<f64>,
    /// In seconds.
    pub step_size: Option<f64>,
}

/// Everything that an FMU says about itself.
#[derive(Clone, Debug)]
pub struct ModelDescription {
    /// The version of the standard.
    pub version: Version,
    /// As written, for example `3.0`.
    pub fmi_version: String,
    /// The model's name.
    pub model_name: String,
    /// `guid` or `instantiationToken`: ties the library to this file.
    pub token: String,
    /// One line for people.
    pub description: String,
    /// Who wrote it.
    pub author: String,
    /// The model's own version.
    pub model_version: String,
    /// Who owns it.
    pub copyright: String,
    /// Under which terms.
    pub license: String,
    /// What wrote the file.
    pub generation_tool: String,
    /// When.
    pub generation_time: String,
    /// The co-simulation interface, if there is one.
    pub co_simulation: Option<CoSimulation>,
    /// There is a model-exchange interface.
    pub has_model_exchange: bool,
    /// There is a scheduled-execution interface.
    pub has_scheduled_execution: bool,
    /// Units.
    pub units: Vec<UnitDefinition>,
    /// Declared types.
    pub types: Vec<TypeDefinition>,
    /// Names that logging can be asked for by.
    pub log_categories: Vec<String>,
    /// What the author proposes.
    pub default_experiment: DefaultExperiment,
    /// All variables, in the order of the file; aliases of FMI 3 follow their variable.
    pub variables: Vec<Variable>,
    /// What outputs depend on.
    pub outputs: Vec<Unknown>,
    /// Groups of variables that belong together (FMI 3).
    pub terminals: Vec<Terminal>,
    /// What is not as the standard wants it.
    pub findings: Vec<Finding>,
    /// Findings beyond those listed.
    pub more_findings: usize,
    /// Hashes of names and indices of `variables`, sorted: long names share long beginnings, hashes do not.
    by_name: Vec<(u64, u32)>,
}

impl ModelDescription {
    /// Reads `modelDescription.xml`.
    pub fn parse(xml: &[u8]) -> Result<Self, DescriptionError> {
        read::model_description(xml)
    }

    /// Reads `terminalsAndIcons.xml` and adds its terminals.
    pub fn add_terminals(&mut self, xml: &[u8]) -> Result<(), DescriptionError> {
        let (terminals, findings) = terminals::read(xml, self)?;
        self.terminals = terminals;
        self.findings.extend(findings);
        Ok(())
    }

    /// The index of the variable called `name`.
    pub fn find(&self, name: &str) -> Option<usize> {
        let hash = read::hash(name);
        let first = self.by_name.partition_point(|&(h, _)| h < hash);
        let same = self.by_name[first..].iter().take_while(|&&(h, _)| h == hash);
        same.map(|&(_, v)| v as usize).find(|&v| *self.variables[v].name == *name)
    }

    /// The declared type of a variable.
    pub fn type_of(&self, variable: &Variable) -> Option<&TypeDefinition> {
        variable.declared_type.map(|t| &self.types[t as usize])
    }

    /// What a variable measures, such as `Force`, in the words of its author.
    pub fn quantity_of<'a>(&'a self, variable: &'a Variable) -> Option<&'a str> {
        variable.quantity.as_deref().or_else(|| self.type_of(variable)?.quantity.as_deref())
    }

    /// The unit of a variable, shared with all others that have it. Of a relative quantity the offset does not count.
    pub fn unit_of(&self, variable: &Variable) -> Option<Arc<Unit>> {
        let unit = &self.units[variable.unit? as usize].unit;
        Some(match &unit.si {
            Some(si) if variable.relative_quantity && si.offset != 0.0 => {
                Arc::new(Unit { symbol: unit.symbol.clone(), si: Some(Si { offset: 0.0, ..*si }) })
            }
            _ => unit.clone(),
        })
    }
}
