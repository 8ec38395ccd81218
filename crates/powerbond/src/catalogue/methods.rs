//! Whole methods: a choice of all the others.

use super::estimators::{DEFAULT_TOLERANCE, TOLERANCE};
use super::{Choice, Entry, Kind, Part, knobs};

/// Everything from what subsystems can do.
pub const AUTO: Entry = Entry {
    kind: Kind::Method,
    name: "auto",
    about: "steps, holds, refresh and feed-through chosen from the capabilities of each subsystem, for a tolerance",
    paper: "",
    knobs: &[TOLERANCE],
    uses: None,
    plain: || Box::new(Auto::default()),
};

/// Chooses everything from what the subsystems can do.
#[derive(Clone, Debug, PartialEq)]
pub struct Auto {
    /// The wanted error of the coupled outputs, relative to the range in which they move.
    pub tolerance: f64,
}

impl Default for Auto {
    fn default() -> Self {
        Auto { tolerance: DEFAULT_TOLERANCE }
    }
}

knobs!(Auto, AUTO, tolerance);

/// A whole method.
#[derive(Clone, Debug)]
pub enum Whole {
    /// Everything from what subsystems can do.
    Auto(Auto),
}

impl Choice for Whole {
    const KIND: Kind = Kind::Method;

    fn all() -> Vec<Self> {
        vec![Whole::Auto(Auto::default())]
    }

    fn part(&self) -> &dyn Part {
        let Whole::Auto(auto) = self;
        auto
    }

    fn part_mut(&mut self) -> &mut dyn Part {
        let Whole::Auto(auto) = self;
        auto
    }
}

impl Whole {
    /// The wanted error.
    pub fn tolerance(&self) -> f64 {
        let Whole::Auto(auto) = self;
        auto.tolerance
    }
}
