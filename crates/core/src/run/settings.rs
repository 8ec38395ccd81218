//! The experiment and the rules of a run.

use crate::energy::Quadrature;
use crate::network::Row;
use crate::step::LoopRules;
use crate::time::EndRule;
use std::sync::Arc;

/// The experiment and the rules of the run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Start of the run, in seconds.
    pub start: f64,
    /// End of the run, in seconds.
    pub stop: f64,
    /// What happens at the end.
    pub end_rule: EndRule,
    /// Hit every multiple of this after the start, in seconds.
    pub land_on: Option<f64>,
    /// All steps are multiples of this, in seconds: a subsystem has an internal step, or takes one length only.
    pub quantum: Option<f64>,
    /// How the first step of a grid is made, at the start and after events.
    pub start_up: StartUp,
    /// A known input that bends is stepped to if a step would miss it by more than this share of its range.
    pub bend_tolerance: f64,
    /// How metered energies are summed.
    pub quadrature: Quadrature,
    /// Members that re-read their feed-through outputs with fresh inputs after each step.
    pub refresh: Vec<usize>,
    /// How initial values are solved.
    pub initial: LoopRules,
    /// How algebraic loops are solved in the run.
    pub loops: LoopRules,
    /// Inputs (flat) at communication points before the start, oldest first: held inputs have their full order at once.
    /// Big steps of the classic Richardson estimate use every other one, counted back from the start.
    pub past: Vec<PastInputs>,
    /// Where a subsystem gives derivatives of its outputs, inputs are held by them and not by differences of the past.
    pub output_derivatives: bool,
    /// Go on with NaN and infinite outputs.
    pub allow_nonfinite: bool,
    /// Stop when the energy through a bond grows without bound.
    pub stop_runaway: bool,
    /// Observers see errors of bonds and outputs, and what a correction does, in every step.
    pub details: bool,
    /// Observers see ∂y/∂u in every step of the start and in a sample of the later ones, even if no policy needs it.
    pub sample_feed_through: bool,
    /// Changes of the coupling at known times, in the order of time. Steps end exactly there, and the past of what they reach is
    /// forgotten; what comes before or at the start holds from the initialization on.
    pub changes: Vec<Change>,
    /// Steps end at these times, in seconds and increasing, whatever the controller wants: those of an earlier run, or parts of them.
    pub repeats: Option<Arc<[f64]>>,
    /// Ends of those steps that were over a discontinuity that nothing announced, in seconds and increasing, and the input that jumped:
    /// the past is forgotten there as it was then.
    pub repeated_jumps: Arc<[(f64, usize)]>,
    /// How many threads advance the members of a stage, this one included; 0 is as good as 1.
    pub worker_threads: usize,
}

/// How a constant step begins where inputs have no past.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StartUp {
    /// With a step as long as all others; inputs are held with a lower order until they have a past (the papers' way).
    Plain,
    /// Where a hold has order 2: with a few short steps, so that the error of the start does not outweigh all others.
    #[default]
    RunUp,
}

/// Inputs at a communication point before the start.
#[derive(Clone, Debug, PartialEq)]
pub struct PastInputs {
    /// When, in seconds.
    pub time: f64,
    /// All inputs, flat.
    pub inputs: Vec<f64>,
}

/// A change of the coupling at a known time.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// When, in seconds.
    pub time: f64,
    /// Inputs and their connections from then on, with the same sources in the same order.
    pub rows: Vec<(usize, Row)>,
    /// Parameters that get other values.
    pub parameters: Vec<ParameterChange>,
}

/// A parameter, or an input that the network does not feed, that gets another value at the current time; see
/// [`Subsystem::set`](crate::subsystem::Subsystem::set).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ParameterChange {
    /// The member.
    pub member: usize,
    /// Its variable, an index into [`crate::subsystem::Info::variables`].
    pub variable: usize,
    /// What it becomes.
    pub value: f64,
}

impl Settings {
    /// From `start` to `stop`, everything else by default.
    pub fn new(start: f64, stop: f64) -> Self {
        Settings {
            start,
            stop,
            end_rule: EndRule::Exact,
            land_on: None,
            quantum: None,
            start_up: StartUp::default(),
            bend_tolerance: 1e-4,
            quadrature: Quadrature::default(),
            refresh: Vec::new(),
            initial: LoopRules::default(),
            loops: LoopRules::default(),
            past: Vec::new(),
            output_derivatives: false,
            allow_nonfinite: false,
            stop_runaway: true,
            details: false,
            sample_feed_through: false,
            changes: Vec::new(),
            repeats: None,
            repeated_jumps: [].into(),
            worker_threads: 0,
        }
    }
}
