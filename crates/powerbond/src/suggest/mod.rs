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
mod structures;
mod draft;

pub use bonds::{BondSuggestion, PortSuggestion, bonds};
pub use connections::{Wire, connections};
pub use draft::{Draft, Inclusion};
pub use interface::{Interface, Signal, SignalKind};
pub use structures::write_to_structure;
pub use trial::try_out;
pub use write::{bond_text, with_bonds};
pub(crate) use write::{key, quoted};

use crate::Error;
use crate::system::System;

/// How many power bonds a system without any could declare, as far as that is certain without running anything.
pub fn undeclared(system: &System) -> Result<usize, Error> {
    if !system.bonds.is_empty() || system.connections.len() < 2 {
        return Ok(0);
    }
    Ok(bonds(system, &Interface::of(system)?).iter().filter(|bond| bond.certain).count())
}
