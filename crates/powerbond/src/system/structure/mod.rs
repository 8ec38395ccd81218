//! What structure files of other tools (SSP, OSP) have in common: where files are, what they call things, in what steps they run, what
//! in them is unknown.

mod folder;
mod fmus;
mod names;
mod steps;
mod strangers;

pub use fmus::Fmus;
pub use folder::{Folder, Located, decoded};
pub use names::path_name;
pub use steps::Steps;
pub use strangers::{Known, strangers};
