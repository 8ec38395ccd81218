//! From a description to something that runs, in stages: [`Experiment`] (times), [`Coupled`] (models are made, names become
//! indices), [`Decided`] (what the method does with this system), [`Assembled`] (the engine and everything around it).

mod experiment;
mod elements;
mod sources;
mod subsystems;
mod declared;
mod timing;
mod scenario;
mod shares;
mod record;
mod wide;
mod open_ends;
mod coupled;
mod rest;
mod inputs;
mod members;
mod decided;
mod warnings;
mod advice;
mod explain;

pub(crate) use advice::{LEAVE_OUT, VERIFY, in_words, round_down};
pub use subsystems::SharedLog;
pub(crate) use subsystems::Trials;
pub use timing::Timing;
pub(crate) use warnings::{engine_warnings, loop_path, loop_text};

use crate::Error;
use crate::catalogue::{Class, Method};
use crate::error::Collector;
use crate::system::{Site, System};
use crate::table::FieldKind;
use coupled::Coupled;
use experiment::Experiment;
use powerbond_core::hold::InputFeed;
use powerbond_core::network::{Names, VariableName};
use powerbond_core::observe::verdict::{Findings, Verdict, VerdictLimits};
use powerbond_core::observe::{Both, Observer};
use powerbond_core::run::{Engine, Outcome};
use powerbond_core::subsystem::own_step::OwnSteps;
use powerbond_core::subsystem::{Digits, ValueKind, Variable};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Where the value of a recorded variable is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// Input i.
    Input(usize),
    /// Output i.
    Output(usize),
    /// Probe i.
    Probe(usize),
}

/// A system that is ready to run.
pub struct Assembled {
    /// The engine.
    pub engine: Engine,
    /// Names behind its indices.
    pub names: Names,
    /// Names of the ports of each bond, unique within it.
    pub ports: Vec<Vec<String>>,
    /// What is recorded, by name and place.
    pub columns: Vec<(VariableName, Column)>,
    /// For each of them the rest of an integer of 64 bits.
    pub rests: Vec<Option<Column>>,
    /// The method with every knob as it is used.
    pub method: Method,
    /// Names of the estimators; the first one drives the step size.
    pub estimators: Vec<&'static str>,
    /// The first estimator drives the step size.
    pub adaptive: bool,
    /// Time per subsystem, in the order of `names.subsystems`.
    pub timings: Vec<Arc<Timing>>,
    /// What probes found of the own steps of each subsystem, in the same order; `None` where nothing is probed.
    pub own: Vec<Option<OwnSteps>>,
    /// Where each subsystem runs, in the order of [`System::subsystems`].
    pub sites: Vec<Site>,
    /// Sub-steps of each subsystem in a macro step.
    pub rates: Vec<u32>,
    /// Start of the run, in s.
    pub start: f64,
    /// End of the run, in s.
    pub stop: f64,
    /// Constant or first step, in s.
    pub step: f64,
    /// Members that re-read their outputs after each step.
    pub refreshed: Vec<usize>,
    /// What the user chose and the default method would choose by itself, as it is written: `step`, `[method]`.
    pub chosen: Vec<String>,
    /// What the user should know before trusting the run.
    pub warnings: Vec<String>,
    /// What is good to know, and no reason to doubt the run.
    pub notes: Vec<String>,
    /// Watches the run and judges it.
    pub verdict: Verdict,
    /// What each subsystem can do.
    pub classes: Vec<Class>,
    /// What the subsystem of each input is given.
    pub feeds: Vec<InputFeed>,
    /// What FMUs said.
    pub log: SharedLog,
}

impl Assembled {
    /// Makes the whole run; errors get names.
    pub fn run(&mut self, observer: &mut dyn Observer) -> Result<Outcome, Error> {
        let outcome = self.engine.run(&mut Both(&mut self.verdict, observer));
        outcome.map_err(|error| self.explain(&error))
    }

    /// What the coupling tells of the run so far; what subsystems answer to their inputs counts where it was tried.
    pub fn findings(&self, limits: &VerdictLimits) -> Findings {
        let network = self.engine.network();
        let mut answers = vec![f64::INFINITY; network.n_inputs];
        for (member, own) in network.members.iter().zip(&self.own) {
            // Inputs that are sums of several shares have other places.
            let Some(own) = own.as_ref().filter(|own| own.inputs() == member.inputs.len()) else { continue };
            member.inputs.clone().enumerate().for_each(|(k, i)| answers[i] = own.answer(k));
        }
        self.verdict.result_with(limits, &answers)
    }

    /// Steps of all subsystems: those of the run, and those of probes and sub-steps.
    pub fn all_calls(&self) -> u64 {
        let made: u64 = self.timings.iter().map(|timing| timing.calls()).sum();
        made + self.own.iter().flatten().map(|own| own.copy().extra).sum::<u64>()
    }

    /// The constant step of a run without a step of its own, in s.
    pub fn default_step(&self) -> f64 {
        experiment::default_step(self.engine.network(), self.stop - self.start)
    }

    fn variable(&self, column: Column) -> &Variable {
        let network = self.engine.network();
        match column {
            Column::Input(i) => network.input_variable(i),
            Column::Output(o) => network.output_variable(o),
            Column::Probe(p) => network.probe_variable(p),
        }
    }

    /// What a column of results holds.
    pub(crate) fn field_kind(&self, column: Column) -> FieldKind {
        match self.variable(column).digits {
            Digits::First { signed: true } => FieldKind::Int64,
            Digits::First { signed: false } => FieldKind::UInt64,
            Digits::All | Digits::Rest => FieldKind::Real,
        }
    }

    /// The input that holds the rest of input `i`, if there is one.
    pub(crate) fn rest_of_input(&self, i: usize) -> Option<usize> {
        let rest = wide::rest_of(&self.names.inputs[i]);
        self.names.inputs.iter().position(|name| *name == rest)
    }

    /// Whether a variable changes at events only, so that there is nothing between two of its values.
    pub(crate) fn is_held(&self, column: Column) -> bool {
        let variable = self.variable(column);
        variable.kind != ValueKind::Real || variable.discrete
    }

    /// The unit of a variable, as its subsystem writes it; empty where it is unknown.
    pub fn unit(&self, column: Column) -> &str {
        self.variable(column).unit.as_ref().map_or("", |u| u.symbol.as_str())
    }
}

impl System {
    /// Checks everything and makes the engine.
    pub fn assemble(&self) -> Result<Assembled, Error> {
        self.assemble_with(Trials::WithSteps)
    }

    /// What should be known before a run takes its time: the defaults of its length and steps. What is wrong with a
    /// system, [`System::assemble`] tells.
    pub fn notes_before(&self) -> Vec<String> {
        Experiment::of(self).map_or(Vec::new(), |experiment| experiment.notes(self))
    }

    /// As [`System::assemble`], with scratch instances that do no more than `trials` allows.
    pub(crate) fn assemble_with(&self, trials: Trials) -> Result<Assembled, Error> {
        let mut problems = Collector::new();
        problems.keep(self.validate());
        let experiment = problems.keep(Experiment::of(self));
        if !problems.is_clean() {
            rest::mistakes(self, &BTreeSet::new(), &mut problems);
        }
        let experiment = problems.finish_some(experiment)?;
        let mut coupled = Coupled::of(self, experiment, trials)?;
        let decided = coupled.decide()?;
        if trials == Trials::WithSteps {
            coupled.want_twins(&decided);
        }
        coupled.assemble(decided)
    }
}
