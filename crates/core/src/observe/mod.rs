//! Who watches a run, and what is counted and judged.

mod observer;
mod statistics;
pub mod verdict;

pub use observer::{Both, Details, EventView, Flow, NoObserver, Observer, StartView, StepReport};
pub(crate) use statistics::SavedStatistics;
pub use statistics::{NormStatistics, Peak, Statistics};
