//! What a system leaves out and its variables tell: connections for inputs that nothing feeds, and power bonds, each with its
//! reason in words. Nothing is decided here: `powerbond bonds` shows it, `powerbond new` writes a first file of it.

mod words;
mod quantity;
mod interface;
mod terminals;
mod connections;
mod bonds;
mod signs;
mod trial;
mod write;
mod draft;

pub use bonds::{BondSuggestion, PortSuggestion, bonds};
pub use connections::{Wire, connections};
pub use draft::{Draft, Inclusion};
pub use interface::{Interface, Signal, SignalKind};
pub use trial::try_out;
pub use write::{bond_text, with_bonds};

use crate::Error;
use crate::system::System;

/// One line about the power bonds that a system without any could declare; none if there is nothing to say.
pub fn undeclared(system: &System) -> Result<Option<String>, Error> {
    if !system.bonds.is_empty() || system.connections.len() < 2 {
        return Ok(None);
    }
    let found = bonds(system, &Interface::of(system)?).iter().filter(|bond| bond.certain).count();
    let what = match found {
        0 => return Ok(None),
        1 => "1 power bond".to_owned(),
        n => format!("{n} power bonds"),
    };
    Ok(Some(format!(
        "{what} could be declared, to see whether the coupling keeps energy: `powerbond bonds` lists them"
    )))
}
