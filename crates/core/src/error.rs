//! Why a run ended early. Indices, not names: the core knows none after build.

use crate::estimator::Blame;
use crate::subsystem::{Span, SubsystemError};

/// An error during a run.
#[derive(Clone, Debug, PartialEq)]
pub enum RunError {
    /// A call on a subsystem failed.
    Subsystem {
        /// Which member.
        member: usize,
        /// What was being done: "initialization", "step", …
        phase: &'static str,
        /// When.
        span: Span,
        /// What it said.
        error: SubsystemError,
    },
    /// An output is NaN or infinite.
    NonFinite {
        /// Which output, flat.
        output: usize,
        /// What it was.
        value: f64,
        /// The step that returned it (start = end: the initialization).
        span: Span,
    },
    /// A subsystem stopped before the end of its step and not everything can go back.
    EarlyReturn {
        /// Which member.
        member: usize,
        /// The step.
        span: Span,
        /// How far it came.
        reached: f64,
    },
    /// The method takes steps back, and a subsystem cannot go back.
    NoWayBack {
        /// Which member.
        member: usize,
    },
    /// An output depends on an input at the same instant, though its subsystem is declared not to feed it through.
    FeedThrough {
        /// Which output, flat.
        output: usize,
        /// Which input, flat.
        input: usize,
    },
    /// The initial values of an algebraic loop do not settle.
    InitialLoop {
        /// The inputs of the loop, flat.
        inputs: Vec<usize>,
        /// The largest change of one of them in the last pass, relative to `1 + |u|`.
        change: f64,
        /// How many passes were made.
        passes: usize,
    },
    /// The power through a bond grows without bound, and the coupling makes it.
    Runaway {
        /// Which bond.
        bond: usize,
        /// The step in which it was noticed.
        span: Span,
        /// The power there, in W.
        power: f64,
    },
    /// A step was taken back too often.
    Rejections {
        /// The last attempt.
        span: Span,
        /// Its error norm.
        norm: f64,
        /// How often.
        count: u32,
        /// What failed, where the estimator can tell.
        blame: Option<Blame>,
    },
}

impl RunError {
    /// Whether the attempt that ended with it may succeed with a smaller step.
    pub(crate) fn may_pass_with_smaller_steps(&self) -> bool {
        let infeasible = |error: &SubsystemError| matches!(error, SubsystemError::Infeasible { .. });
        matches!(self, RunError::NonFinite { .. })
            || matches!(self, RunError::Subsystem { phase: "step" | "refresh", error, .. } if infeasible(error))
    }
}
