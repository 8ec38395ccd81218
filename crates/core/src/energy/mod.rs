//! Energy through the coupling: bonds, their meter, and what is conspicuous about them.

mod bond;
mod meter;
mod monitor;

pub use bond::{BondFlow, Bonds, Port, PortFlow, Term};
pub use meter::{BondSum, Meter, Quadrature};
pub use monitor::{BondWatch, Spike};
