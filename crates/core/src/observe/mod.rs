//! Who watches a run, and what is counted and judged.

mod observer;
mod statistics;
pub mod verdict;

pub use observer::*;
pub use statistics::*;
