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
    /// An output that is only recorded is NaN or infinite.
    NonFiniteRecord {
        /// Which probe, flat.
        probe: usize,
        /// What it was.
        value: f64,
        /// The step that returned it (start = end: the initialization, or an event).
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
    /// The method takes steps back, or a snapshot was asked for, and the state of a subsystem cannot be restored.
    NoRestore {
        /// Which member.
        member: usize,
    },
    /// A snapshot belongs to another engine.
    ForeignSnapshot,
    /// An algebraic loop has no solution, or none was found.
    Loop {
        /// The inputs of the loop, flat.
        inputs: Vec<usize>,
        /// How far one of them was from what feeds it in the end, relative to its size.
        change: f64,
        /// How many passes were made after Newton's method had failed.
        passes: usize,
        /// When (start = end and no length: the initialization, or an event).
        span: Span,
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
    /// A step was rejected too often.
    Rejections {
        /// The last attempt.
        span: Span,
        /// Its error norm.
        norm: f64,
        /// How often.
        count: u32,
        /// What failed, where the estimator can tell.
        blame: Option<Blame>,
        /// Why an attempt could not be finished, if one could not.
        cause: Option<Box<RunError>>,
    },
}

impl RunError {
    /// Whether the attempt that ended with it may succeed with a smaller step.
    pub(crate) fn may_pass_with_smaller_steps(&self) -> bool {
        let infeasible = |error: &SubsystemError| matches!(error, SubsystemError::Infeasible { .. });
        matches!(self, RunError::NonFinite { .. })
            || matches!(self, RunError::Subsystem { phase: "step" | "refresh" | "event", error, .. } if infeasible(error))
    }
}
