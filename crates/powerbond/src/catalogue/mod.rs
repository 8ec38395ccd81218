//! The one place where names become types: every method with its knobs, defaults, source and how it is made.
//!
//! `powerbond methods`, the file schema and the messages about unknown names all come from [`ALL`]. In a program, a method is a
//! struct whose fields are its knobs:
//!
//! ```
//! use powerbond::catalogue::controllers::Ecco;
//! use powerbond::catalogue::{Method, estimators, holds::HoldOrder};
//!
//! let method = Method {
//!     hold: HoldOrder::Fixed(1),
//!     estimator: estimators::Energy { tolerance: 1e-4, ..Default::default() }.into(),
//!     controller: Ecco { max_step: Some(0.01), ..Default::default() }.into(),
//!     ..Method::default()
//! };
//! # let _ = method;
//! ```

mod abilities;
mod knob;
mod part;
mod context;
pub mod schedules;
pub mod holds;
pub mod corrections;
pub mod estimators;
pub mod controllers;
pub mod methods;
mod feeding;
mod ceiling;
mod method;
mod read;

pub use crate::knobs;
pub use abilities::{Ability, Without, without};
pub use ceiling::StepCeiling;
pub use context::{Context, is_discrete, never_ends};
pub use feeding::{Class, Feeding, feeds, feeds_through, too_wide};
pub use knob::{BY_RULE, Domain, Knob, KnobField, KnobValue, PerVariable, Word};
pub use method::{DITHER, Identify, Method, Refresh};
pub use part::{Choice, Chosen, CloneMake, Make, Own, Part, Written};

/// Every method, in the order in which they are shown.
pub const ALL: &[Entry] = &[
    methods::AUTO,
    schedules::JACOBI,
    schedules::GAUSS_SEIDEL,
    holds::ZERO,
    holds::FIRST,
    holds::SECOND,
    holds::THIRD,
    holds::VARIABLE,
    corrections::NONE,
    corrections::GIVE_BACK,
    corrections::NEPCE,
    corrections::ENERGY,
    estimators::NONE,
    estimators::ENERGY,
    estimators::PREDICTOR,
    estimators::JUMP,
    estimators::RICHARDSON,
    estimators::LIBCOSIM,
    controllers::FIXED,
    controllers::ECCO,
    controllers::INTEGRAL,
    controllers::ROLLBACK,
];

/// A method of the catalogue.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// What it is for.
    pub kind: Kind,
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
    /// The method with its defaults.
    pub plain: fn() -> Box<dyn Part>,
}

impl Entry {
    /// What holds for a knob that is not given: a value, or the rule by which the system decides.
    pub fn default_of(&self, knob: &Knob) -> String {
        match knob.rule {
            Some(rule) => rule(),
            None => (self.plain)().get(knob.name).map_or(String::new(), |value| value.to_string()),
        }
    }

    /// Whether both are the same method.
    pub fn is(&self, other: &Entry) -> bool {
        self.kind == other.kind && self.name == other.name
    }

    /// Whether it stands for having none of its kind.
    pub fn is_none(&self) -> bool {
        self.is(&corrections::NONE) || self.is(&estimators::NONE)
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

/// The methods of one kind.
pub fn of_kind(kind: Kind) -> impl Iterator<Item = &'static Entry> {
    ALL.iter().filter(move |e| e.kind == kind)
}

/// The method of a kind with a name.
pub fn find(kind: Kind, name: &str) -> Option<&'static Entry> {
    of_kind(kind).find(|e| e.name == name)
}
