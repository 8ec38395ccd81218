//! The methods with constant steps whose stability is looked at. Another one is another entry.

use crate::catalogue::controllers::Fixed;
use crate::catalogue::{Method, estimators};
use crate::system::System;
use crate::{Assembled, Error};

/// A method with a constant step.
#[derive(Clone, Debug)]
pub struct Steady {
    /// Its name.
    pub name: &'static str,
    /// All of it.
    pub method: Method,
    /// It is another method than without only where a subsystem is re-read.
    rereads: bool,
    needs_bonds: bool,
}

/// Name, lines of `[method]`, whether it re-reads, whether it needs bonds.
const METHODS: &[(&str, &str, bool, bool)] = &[
    ("hold 0", "hold = 0\n", false, false),
    ("hold 1", "hold = 1\n", false, false),
    ("hold 2", "hold = 2\n", false, false),
    ("gauss-seidel", "hold = 0\nschedule = \"gauss-seidel\"\n", false, false),
    ("refresh", "hold = 0\nrefresh = \"auto\"\n", true, false),
    ("refresh, hold 1", "hold = 1\nrefresh = \"auto\"\n", true, false),
    ("refresh, hold 2", "hold = 2\nrefresh = \"auto\"\n", true, false),
    ("NEPCE", "hold = 0\ncorrection = { kind = \"nepce\" }\n", false, false),
    ("NEPCE, hold 1", "hold = 1\ncorrection = { kind = \"nepce\" }\n", false, false),
    ("energy correction", "hold = 0\ncorrection = { kind = \"energy\" }\n", false, true),
];

/// What the method of the system file is called.
pub const OWN: &str = "system file";

impl Steady {
    /// All of them; the method of the system first, if one is chosen: with its step constant and nothing that estimates.
    pub fn all(system: &System) -> Result<Vec<Steady>, Error> {
        let mut all = Vec::new();
        if system.method.kind.is_none() {
            let mut method = system.method.clone();
            method.controller = Fixed.into();
            method.estimator = estimators::Off.into();
            method.monitors.clear();
            all.push(Steady { name: OWN, method, rereads: false, needs_bonds: false });
        }
        for &(name, lines, rereads, needs_bonds) in METHODS {
            all.push(Steady { name, method: Method::parse(lines)?, rereads, needs_bonds });
        }
        Ok(all)
    }

    /// Zero-order hold and nothing else: what a system is explored with.
    pub fn plain() -> Result<Steady, Error> {
        Ok(Steady {
            name: "hold 0",
            method: Method::parse("hold = 0\n")?,
            rereads: false,
            needs_bonds: false,
        })
    }

    /// Why it is not run, if it is not.
    pub fn cannot(&self, system: &System) -> Option<&'static str> {
        (self.needs_bonds && system.bonds.is_empty()).then_some("needs power bonds; the system has none")
    }

    /// Why it is no method of its own with this system, if it is not.
    pub fn is_another(&self, assembled: &Assembled) -> Option<&'static str> {
        (self.rereads && assembled.refreshed.is_empty())
            .then_some("no subsystem with feed-through can be re-read")
    }
}
