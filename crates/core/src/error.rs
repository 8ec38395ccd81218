//! Why a run ended early. Indices, not names: the core knows none after build.

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
    /// The initial values of an algebraic loop do not settle.
    InitialLoop {
        /// An input that still changes.
        input: usize,
        /// By how much.
        change: f64,
        /// After so many passes.
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
    },
}
