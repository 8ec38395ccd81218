//! One attempt of a macro step.

mod exchange;
mod schedule;
pub(crate) mod threads;
mod view;

pub(crate) use exchange::*;
pub use schedule::*;
pub use view::*;
