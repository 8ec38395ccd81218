//! Texts and what stands in them: one tree for every format, in which each value knows its place.

pub mod json;
mod names;
mod node;
mod place;
pub mod toml;
pub mod xml;
pub mod yaml;

pub use crate::error::Place;
pub use names::{parse_key, parse_name};
pub use node::{Node, Table, Tree};
pub use place::{At, Origin, Source, no_text, read, unreadable};
