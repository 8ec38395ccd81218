//! Energy through the coupling: bonds, their meter, and what is conspicuous about them.

mod bond;
mod monitor;

pub use bond::*;
pub use monitor::*;
