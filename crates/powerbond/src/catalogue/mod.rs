//! The one place where names become types: every method with its knobs, defaults, source and how it is made.
//!
//! `powerbond methods`, the file schema and the messages about unknown names all come from this list.

mod abilities;
mod auto;
mod context;
pub mod controllers;
pub mod corrections;
pub mod estimators;
pub mod holds;
mod knob;
mod make;
pub mod methods;
pub mod schedules;
mod spec;

pub use abilities::{Ability, Without, without};
pub use auto::{Class, Feeding, feeds, feeds_through, too_wide};
pub use context::Context;
pub use controllers::clamps;
pub use corrections::settle_gains;
pub use estimators::FIRST_STEP;
pub use knob::{Domain, Knob};
pub use make::{Make, MakeOf, controller, correction, estimator, extrapolation, schedule, whole_method};
pub use spec::{KnobValue, PolicySpec, check_knob, knob_number};

/// Every method, in the order in which they are shown.
pub const ALL: &[Entry] = &[
    methods::AUTO,
    schedules::JACOBI,
    schedules::GAUSS_SEIDEL,
    holds::ZERO,
    holds::FIRST,
    holds::SECOND,
    holds::VARIABLE,
    corrections::NONE,
    corrections::NEPCE,
    corrections::ENERGY,
    estimators::NONE,
    estimators::ENERGY,
    estimators::PREDICTOR,
    estimators::JUMP,
    estimators::RICHARDSON,
    controllers::FIXED,
    controllers::ECCO,
    controllers::INTEGRAL,
    controllers::ROLLBACK,
];

/// A method of the catalogue.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its name in files.
    pub name: &'static str,
    /// One line.
    pub about: &'static str,
    /// Where it comes from.
    pub paper: &'static str,
    /// Its settings.
    pub knobs: &'static [Knob],
    /// What it uses of every subsystem, and what happens where that is missing. With its knobs at their defaults.
    pub uses: Option<(Ability, Without)>,
    /// What others have to know of it.
    pub nature: Nature,
    /// How it is made, which is also what it is for.
    pub make: Make,
}

impl Entry {
    /// What it is for.
    pub const fn kind(&self) -> Kind {
        self.make.kind()
    }

    /// Whether both are the same method.
    pub fn is(&self, other: &Entry) -> bool {
        self.kind() == other.kind() && self.name == other.name
    }
}

/// What a method is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A whole method: a choice of all the others.
    Method,
    /// Who steps when.
    Schedule,
    /// How inputs are held.
    Hold,
    /// How held inputs are corrected.
    Correction,
    /// How wrong a step was.
    Estimator,
    /// The next step size.
    Controller,
}

impl Kind {
    /// All kinds, in the order in which they are shown.
    pub const ALL: [Kind; 6] =
        [Kind::Method, Kind::Schedule, Kind::Hold, Kind::Correction, Kind::Estimator, Kind::Controller];

    /// The key in `[method]`.
    pub fn key(self) -> &'static str {
        match self {
            Kind::Method => "kind",
            Kind::Schedule => "schedule",
            Kind::Hold => "hold",
            Kind::Correction => "correction",
            Kind::Estimator => "estimator",
            Kind::Controller => "controller",
        }
    }
}

/// What the rest of the library has to know of a method, beyond its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nature {
    /// Nothing.
    Plain,
    /// It stands for having none of its kind.
    Nothing,
    /// A controller that keeps the step constant: it needs no estimator.
    ConstantStep,
    /// A schedule in which subsystems step one after the other.
    Sequential,
    /// An estimator that needs small first steps to find the scales of all inputs.
    JumpNorm,
    /// An estimator that compares pairs of steps with big ones.
    PairsOfSteps,
}

/// The tolerance of `auto` where none is given.
pub const DEFAULT_TOLERANCE: f64 = 1e-3;

/// The methods of one kind.
pub fn of_kind(kind: Kind) -> impl Iterator<Item = &'static Entry> {
    ALL.iter().filter(move |e| e.kind() == kind)
}

/// The method of a kind with a name.
pub fn find(kind: Kind, name: &str) -> Option<&'static Entry> {
    of_kind(kind).find(|e| e.name == name)
}
