//! Direct feed-through: what an output knows of an input at the same instant, and from where we know it.

pub mod identify;
mod reach;
mod structure;

pub(crate) use reach::Reach;
pub use structure::{AlgebraicLoop, Asymptotics, Structure, probe_feed_through};
