//! One attempt of a macro step. To be read in this order: [`StepRecord`] is what a step is; a [`Schedule`] says who steps when and
//! where inputs come from; `inputs` writes them; `sweep` crosses the stages; `refresh` and `loops` make outputs belong to inputs at the
//! end; `pair` makes two steps beside a big one.

mod record;
mod mean_defect;
mod schedule;
mod inputs;
mod sweep;
mod threads;
mod still;
mod refresh;
mod loops;
mod pair;

pub use loops::{LoopRules, LoopStatistics};
pub use record::{Big, Doubled, StepRecord, StepView};
pub use schedule::{Group, InputSource, Part, Schedule, ScheduleKind, Seen, Stage, Sum};

pub(crate) use inputs::Exchange;
pub(crate) use loops::SavedLoop;
pub(crate) use pair::Pair;
pub(crate) use record::BufferNeeds;
pub(crate) use refresh::{OutputsBefore, Plan, PlanOf};
pub(crate) use still::{Improved, Moment, Response, Still};
pub(crate) use sweep::{Sweep, Swept};
pub(crate) use threads::Workers;
