//! A plan: a system, the values of its parameters, and what is wanted of each run.

use super::design::Design;
use super::domain::Domain;
use super::expression::Expression;
use super::schema::{Column, Kind, Role};
use super::value::Value;
use crate::error::{Collector, Problem};
use crate::source::{At, Place, Source};
use crate::{Error, RunOptions, System};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A plan of runs.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What results are called.
    pub name: String,
    /// The system of every run.
    pub system: PathBuf,
    /// What is put over the system in every run, without parameters.
    pub options: RunOptions,
    /// The share of the runs that are verified, if `options` ask for it: every n-th one.
    pub verify_share: f64,
    /// How long a run may take, and more.
    pub limits: Limits,
    pub(super) source: Arc<Source>,
    /// Where `system` and the keys of `[run]` are, by their names.
    pub(super) places: Vec<(&'static str, Option<Place>)>,
    /// What `[run]` sets.
    pub(super) fixed: Vec<(At<String>, Value)>,
    pub(super) parameters: Vec<Parameter>,
    pub(super) design: Design,
    pub(super) cases: Vec<Case>,
    pub(super) outputs: Vec<Output>,
    pub(super) series: Vec<At<String>>,
    pub(super) runs: u64,
}

/// A plan as far as it could be read, and what is wrong with it.
#[derive(Debug)]
pub struct Draft {
    pub(super) plan: Plan,
    pub(super) problems: Collector,
}

impl Draft {
    /// Reads a plan; the error is of a text that says nothing of a plan.
    pub fn load(path: &Path) -> Result<Self, Error> {
        super::read::plan(crate::source::read(path, MAX_SIZE)?)
    }

    /// Reads a plan from its text; `file` stands for it in messages, and paths are relative to its folder.
    pub fn parse(file: &Path, text: &str) -> Result<Self, Error> {
        super::read::plan(Source::file(file, text))
    }

    /// The plan, if nothing is wrong with it.
    pub fn finish(self) -> Result<Plan, Error> {
        self.problems.finish(self.plan)
    }

    /// The plan, and what is wrong with it. If something is, the plan has one run, with what could be read.
    pub fn take(self) -> (Plan, Collector) {
        let Draft { mut plan, problems } = self;
        if !problems.is_clean() {
            for Parameter { domain, .. } in &mut plan.parameters {
                *domain = Domain::Values(vec![domain.quantile(0.5)]);
            }
            plan.design = Design::List { runs: 1 };
            plan.runs = (plan.cases.len() as u64).max(1);
        }
        (plan, problems)
    }
}

/// What a run may take.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    /// Wall-clock time of a run, in s.
    pub run: Option<f64>,
    /// Wall-clock time of a single call of an FMU, in s.
    pub call: Option<f64>,
    /// Memory of the process of a run, in bytes.
    pub memory: Option<u64>,
}

#[derive(Clone, Debug)]
pub(super) struct Parameter {
    pub name: At<String>,
    pub domain: Domain,
}

#[derive(Clone, Debug)]
pub(super) struct Case {
    pub name: String,
    pub set: Vec<(At<String>, Value)>,
}

/// A result by an expression.
#[derive(Clone, Debug)]
pub struct Output {
    /// The name of its column.
    pub name: String,
    /// As it is written.
    pub text: At<String>,
    /// What is computed.
    pub expression: Expression,
}

/// What makes a run one of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// The name of its case, if there are cases.
    pub case: Option<String>,
    /// Parameters with the values that are set.
    pub set: Vec<(String, Value)>,
}

/// Parameters whose ranges are tried before the first run, and words that are tried of each.
const MOST_SAMPLED: usize = 16;
/// Samples that are looked at for the smallest and the largest ones.
const MOST_LOOKED_AT: u64 = 100_000;
/// Of a plan, in bytes.
const MAX_SIZE: u64 = 64_000_000;

impl Plan {
    /// Its text.
    pub fn text(&self) -> &str {
        &self.source.text
    }

    /// Its file.
    pub fn file(&self) -> &Path {
        self.source.path()
    }

    /// How many runs it has.
    pub fn runs(&self) -> u64 {
        self.runs
    }

    /// What is computed of each run.
    pub fn outputs(&self) -> &[Output] {
        &self.outputs
    }

    /// The names of parameters that the design changes, in the order of the plan.
    pub fn parameters(&self) -> impl Iterator<Item = &str> {
        self.parameters.iter().map(|p| p.name.value.as_str())
    }

    /// Whether variables are kept over time.
    pub fn keeps_series(&self) -> bool {
        !self.series.is_empty()
    }

    /// Whether a recorded variable is kept over time.
    pub fn keeps(&self, name: &str) -> bool {
        self.series.iter().any(|pattern| crate::glob::fits(&pattern.value, name))
    }

    pub(super) fn design(&self) -> Vec<(&str, &Domain)> {
        self.parameters.iter().map(|p| (p.name.value.as_str(), &p.domain)).collect()
    }

    /// Run `index`, from 0.
    pub fn point(&self, index: u64) -> Point {
        let points = self.runs / (self.cases.len() as u64).max(1);
        let case = self.cases.get((index / points) as usize);
        let values = self.design.point(index % points, &self.design());
        let names = self.parameters().map(str::to_owned);
        let mut set: Vec<(String, Value)> = case
            .into_iter()
            .flat_map(|c| &c.set)
            .map(|(name, value)| (name.value.clone(), value.clone()))
            .collect();
        set.extend(names.zip(values));
        Point { case: case.map(|c| c.name.clone()), set }
    }

    /// The same plan with other values: a row of `rows` for each run, with a value for every parameter.
    pub fn with_rows(&self, rows: &[Vec<f64>]) -> Result<Self, Error> {
        let n = self.parameters.len();
        if rows.is_empty() || rows.iter().any(|row| row.len() != n) {
            let names: Vec<&str> = self.parameters().collect();
            let message = format!("expected rows of {n} values, for {}", names.join(", "));
            return Err(Error::input(None, message));
        }
        let mut plan = self.clone();
        for (p, parameter) in plan.parameters.iter_mut().enumerate() {
            parameter.domain = Domain::Values(rows.iter().map(|row| Value::Number(row[p])).collect());
        }
        plan.cases.clear();
        plan.runs = rows.len() as u64;
        plan.design = Design::List { runs: plan.runs };
        Ok(plan)
    }

    /// The options of run `index`, from 0: of all variables those are recorded that are needed.
    pub fn options_of(&self, index: u64) -> RunOptions {
        let mut options = self.options.clone();
        let verified = |runs: u64| (runs as f64 * self.verify_share).floor();
        options.verify = options.verify.filter(|_| verified(index + 1) > verified(index));
        let point = self.point(index);
        options.set.extend(point.set.iter().map(|(name, value)| format!("{name}={value}")));
        options.record = Some(self.wanted().map(|(name, _)| name.to_owned()).collect());
        options
    }

    /// Variables and patterns that are recorded, with their places.
    fn wanted(&self) -> impl Iterator<Item = (&str, &At<String>)> {
        let outputs = self.outputs.iter();
        let used =
            outputs.flat_map(|o| o.expression.variables().into_iter().map(move |name| (name, &o.text)));
        used.chain(self.series.iter().map(|pattern| (pattern.value.as_str(), pattern)))
    }

    /// What a row of the dataset holds, after what every sweep has.
    pub fn columns(&self) -> Vec<Column> {
        let mut columns = Vec::new();
        if !self.cases.is_empty() {
            columns.push(Column::new("case", Kind::Text, Role::Case));
        }
        for name in self.set_by_cases() {
            let set = self.cases.iter().flat_map(|c| &c.set).filter(|(n, _)| n.value == name);
            columns.push(Column::new(&name, kind_of(set.map(|(_, value)| value)), Role::Parameter));
        }
        for Parameter { name, domain } in &self.parameters {
            let kind = domain.values().map_or(Kind::Real, |list| kind_of(list.iter()));
            columns.push(Column::new(&name.value, kind, Role::Parameter));
        }
        for output in &self.outputs {
            let column = Column::new(&output.name, Kind::Real, Role::Output);
            columns.push(Column { expression: Some(output.text.value.clone()), ..column });
        }
        columns
    }

    /// Parameters that cases set, in the order in which they come.
    fn set_by_cases(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for (name, _) in self.cases.iter().flat_map(|case| &case.set) {
            if !names.contains(&name.value) {
                names.push(name.value.clone());
            }
        }
        names
    }

    /// Runs that are made before the first one is run: if each of them can be made, names and ranges are right. They differ in which
    /// parameters are set, or have the smallest or the largest number, or one of the first words, that a parameter or its cases have.
    pub fn samples(&self) -> BTreeSet<u64> {
        let points = self.runs / (self.cases.len() as u64).max(1);
        let mut seen: Vec<Vec<&str>> = Vec::new();
        let mut runs = BTreeSet::from([0]);
        for (c, case) in self.cases.iter().enumerate() {
            let names: Vec<&str> = case.set.iter().map(|(name, _)| name.value.as_str()).collect();
            if !seen.contains(&names) {
                seen.push(names);
                runs.insert(c as u64 * points);
            }
        }
        for name in self.set_by_cases().iter().take(MOST_SAMPLED) {
            let of = |case: &Case| case.set.iter().find(|(n, _)| n.value == *name).map(|(_, v)| v.clone());
            let values = self.cases.iter().enumerate();
            let mut telling = Telling::default();
            values.for_each(|(c, case)| {
                of(case).into_iter().for_each(|value| telling.see(&value, c as u64 * points))
            });
            runs.extend(telling.runs());
        }
        let mut telling = vec![Telling::default(); self.parameters.len().min(MOST_SAMPLED)];
        match self.design {
            Design::Grid | Design::List { .. } => {
                // The parameters after this one make so many points for each of its values, in a grid.
                let is_grid = self.design == Design::Grid;
                let mut stride = if is_grid { points } else { 1 };
                for (Parameter { domain, .. }, telling) in self.parameters.iter().zip(&mut telling) {
                    let Some(values) = domain.values() else { continue };
                    if is_grid {
                        stride /= values.len() as u64;
                    }
                    values.iter().enumerate().for_each(|(i, value)| telling.see(value, i as u64 * stride));
                }
            }
            _ => {
                // What has no bounds, such as a normal distribution, has samples now and then that no model takes: rows like others.
                let is_bounded = |p: &Parameter| match &p.domain {
                    Domain::Values(_) => true,
                    Domain::Distribution(distribution) => distribution.has_bounds(),
                };
                let bounded: Vec<bool> = self.parameters.iter().map(is_bounded).collect();
                let looked_at = if bounded.contains(&true) { points.min(MOST_LOOKED_AT) } else { 0 };
                for run in 0..looked_at {
                    let values = self.design.point(run, &self.design());
                    let each = values.iter().zip(&bounded).zip(&mut telling);
                    each.filter(|((_, bounded), _)| **bounded)
                        .for_each(|((value, _), telling)| telling.see(value, run));
                }
            }
        }
        runs.extend(telling.iter().flat_map(Telling::runs));
        runs
    }

    /// The system with the options of every run, and an error with all parameters that it cannot set. No FMU is loaded.
    pub fn system(&self) -> Result<System, Error> {
        let mut problems = Collector::new();
        let found = self.try_system(&mut problems);
        problems.finish_some(found.map(|(system, _)| system))
    }

    /// As [`Plan::system`], for who goes on: the system, if there is one, and the names that cannot be set.
    pub fn try_system(&self, problems: &mut Collector) -> Option<(System, BTreeSet<String>)> {
        let placed = |error: Error, key: &str| self.in_plan(error).placed(self.place(key));
        let system = System::load(&self.system).map_err(|error| placed(error, "system"));
        let system = problems.keep(system)?;
        let mut unknown = BTreeSet::new();
        // What `[run]` sets is looked at here, name by name, and all else afterwards.
        let mut options = self.options.clone();
        let mut set = |system: &mut System, name: &str, value: &Value, problems: &mut Collector| {
            let done = system.set(&format!("{name}={value}")).map_err(|error| self.in_plan(error));
            if problems.keep(done).is_none() {
                unknown.insert(name.to_owned());
            }
        };
        let mut copy = system.clone();
        for (name, value) in &self.fixed {
            set(&mut copy, &name.value, value, problems);
        }
        for run in self.samples() {
            let mut copy = system.clone();
            for (name, value) in &self.point(run).set {
                set(&mut copy, name, value, problems);
            }
        }
        options.set.retain(|text| text.split_once('=').is_none_or(|(name, _)| !unknown.contains(name)));
        let system = options.apply(&system).map_err(|error| placed(error, "run"));
        Some((problems.keep(system)?, unknown))
    }

    /// Where a key is written.
    fn place(&self, key: &str) -> Option<Place> {
        self.places.iter().find(|(name, _)| *name == key)?.1.clone()
    }

    /// An error of a run that was made as a sample, with the places of this plan.
    pub fn in_plan(&self, error: Error) -> Error {
        let Error::Input(list) = error else { return error };
        let mut problems = Collector::new();
        for Problem { place, message } in list.iter().cloned() {
            let place = match place {
                Some(Place::Option(typed)) => self.place_of(&typed).or(Some(Place::Option(typed))),
                other => other,
            };
            problems.add(Error::input(place, message));
        }
        problems.into_error()
    }

    /// What of an error is about this plan: of a run that leaves out what the plan sets, the rest says nothing.
    pub fn of_plan(&self, error: Error) -> Option<Error> {
        let Error::Input(list) = error else { return None };
        let mut problems = Collector::new();
        for Problem { place, message } in list.iter().cloned() {
            if matches!(&place, Some(Place::File { path, .. }) if path == self.file()) {
                problems.add(Error::input(place, message));
            }
        }
        problems.finish(()).err()
    }

    /// Where an option of a run stands in the plan.
    fn place_of(&self, typed: &str) -> Option<Place> {
        let (option, text) = typed.split_once(' ')?;
        let key = match option {
            "--set" => {
                let (name, value) = text.split_once('=')?;
                let swept = self.parameters.iter().map(|p| (&p.name, None));
                let set = self.cases.iter().flat_map(|c| &c.set).chain(&self.fixed);
                let all = swept.chain(set.map(|(name, value)| (name, Some(value))));
                let named: Vec<_> = all.filter(|(at, _)| at.value == name).collect();
                // Of several cases the one that says this.
                let same = |found: &&(&At<String>, Option<&Value>)| {
                    found.1.is_some_and(|found| found.to_string() == value)
                };
                return named.iter().find(same).or(named.first())?.0.place();
            }
            "--record" => return self.wanted().find(|(wanted, _)| *wanted == text)?.1.place(),
            "--begin-time" => "start",
            "--end-time" => "stop",
            "--step-size" => "step",
            "--tolerance" => "tolerance",
            "--output-interval" => "output_interval",
            "--max-error" => "max_error",
            "--max-energy-residual" => "max_energy_residual",
            _ => return None,
        };
        self.place(key)
    }

    /// What is wrong with times in outputs, for runs from `start` to `stop`.
    pub fn times_fit(&self, start: f64, stop: f64) -> Result<(), Error> {
        let mut problems = Collector::new();
        for output in &self.outputs {
            for time in output.expression.times_outside(start, stop) {
                let message =
                    format!("`{}`: {time} s is outside of the run, {start} s to {stop} s", output.name);
                problems.add(Error::input(output.text.place(), message));
            }
        }
        problems.finish(())
    }

    /// What is wrong with outputs for runs from `start` to `stop` that record these variables.
    pub fn fits(&self, start: f64, stop: f64, recorded: &[String]) -> Result<(), Error> {
        let mut problems = Collector::new();
        problems.keep(self.times_fit(start, stop));
        for (name, at) in self.wanted().filter(|(name, _)| crate::glob::beginning(name).is_none()) {
            if !recorded.iter().any(|r| r == name) {
                let message =
                    format!("`{name}` is excluded by `[record]` of the system; remove it from `exclude`");
                problems.add(Error::input(at.place(), message));
            }
        }
        problems.finish(())
    }
}

fn kind_of<'a>(values: impl Iterator<Item = &'a Value> + Clone) -> Kind {
    let is_flag = |value: &Value| matches!(value, Value::Flag(_));
    if values.clone().all(|value| value.number().is_some()) {
        Kind::Real
    } else if values.clone().all(is_flag) {
        Kind::Boolean
    } else {
        Kind::Text
    }
}

/// Runs that have the smallest and the largest number of those that are seen, and those that have the first words.
#[derive(Clone, Debug, Default)]
struct Telling {
    low: Option<(f64, u64)>,
    high: Option<(f64, u64)>,
    words: Vec<(String, u64)>,
}

impl Telling {
    fn see(&mut self, value: &Value, run: u64) {
        let Some(x) = value.number() else {
            let word = value.to_string();
            if self.words.len() < MOST_SAMPLED && !self.words.iter().any(|(known, _)| *known == word) {
                self.words.push((word, run));
            }
            return;
        };
        if self.low.is_none_or(|(low, _)| x < low) {
            self.low = Some((x, run));
        }
        if self.high.is_none_or(|(high, _)| x > high) {
            self.high = Some((x, run));
        }
    }

    fn runs(&self) -> impl Iterator<Item = u64> {
        let numbers = self.low.iter().chain(&self.high).map(|(_, run)| *run);
        numbers.chain(self.words.iter().map(|(_, run)| *run))
    }
}
