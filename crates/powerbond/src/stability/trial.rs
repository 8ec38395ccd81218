//! One method with one step: how a small disturbance of the inputs grows, or how far the outputs go.

use super::methods::Steady;
use super::recurrence::Sequence;
use crate::scenario::{Action, Event, Scenario, Value};
use crate::source::At;
use crate::system::System;
use crate::tune::Listener;
use crate::{Error, Output, Session};
use powerbond_core::network::VariableName;
use powerbond_core::observe::{Flow, Observer, StartView, StepReport};
use powerbond_core::step::StepView;
use powerbond_core::subsystem::ValueKind;

/// Steps of a run: as many as the experiment has, at least and at most these.
const STEPS: (f64, f64) = (300.0, 20_000.0);
/// The disturbance, as a share of how large an input becomes; linear systems do not care.
const DISTURBANCE: f64 = 1e-2;
/// Steps from the end of the disturbance until holds of every order, and what corrects them, have their past again.
const SETTLED: usize = 8;
/// Differences are far enough from rounding while they are larger than this share of the values: nine digits of them are right.
const ABOVE_ROUNDING: f64 = 1e9 * f64::EPSILON;
/// What has grown to this many times its range is not followed further.
const ENOUGH: f64 = 1e100;
/// The same where nothing but the distance counts.
const FAR_AWAY: f64 = 1e6;
/// Numbers that are looked at in every step; of more outputs, as many mixtures.
const WIDTH: usize = 4;

/// What is known of a system before its steps are varied.
#[derive(Clone, Debug)]
pub struct Known {
    /// Coupled real inputs and the largest absolute value that each had.
    pub inputs: Vec<(VariableName, f64)>,
    /// What outputs are measured in: the width of the range of each, or its size if it stood still, or 1.
    pub scales: Vec<f64>,
    /// The middle of the range of each output.
    pub middles: Vec<f64>,
}

/// What came of a method and a step.
#[derive(Clone, Debug, PartialEq)]
pub enum Trial {
    /// The disturbance is multiplied by this in every step, and it is linear.
    Radius(f64),
    /// The same, measured without a linear law.
    Growth(f64),
    /// The run failed.
    Failed(String),
}

/// Every output after every step.
struct Rows {
    values: Vec<f64>,
    width: usize,
    scales: Vec<f64>,
    middles: Vec<f64>,
    limit: f64,
}

impl Rows {
    fn at(&self, k: usize) -> &[f64] {
        &self.values[k * self.width..(k + 1) * self.width]
    }

    fn len(&self) -> usize {
        self.values.len() / self.width.max(1)
    }

    /// The run was stopped because its last row was beyond the limit.
    fn ended_far_away(&self) -> bool {
        self.len() > 0 && self.distance(self.at(self.len() - 1)) > self.limit
    }

    /// How far a row is from the middle, in ranges.
    fn distance(&self, y: &[f64]) -> f64 {
        let each = y.iter().zip(&self.scales).zip(&self.middles).map(|((y, s), m)| (y - m).abs() / s);
        each.fold(0.0, |a: f64, x| if x.is_nan() { f64::INFINITY } else { a.max(x) })
    }
}

impl Observer for Rows {
    fn accepted(&mut self, step: &StepView<'_>, _report: &StepReport<'_>) -> Flow {
        self.values.extend_from_slice(step.y_fresh);
        if self.distance(step.y_fresh) > self.limit { Flow::Stop } else { Flow::Continue }
    }
}

/// Stops a run whose user has enough of it.
struct Stoppable<'a>(&'a mut dyn Observer, &'a dyn Listener);

impl Observer for Stoppable<'_> {
    fn started(&mut self, start: &StartView<'_>) -> Flow {
        self.0.started(start)
    }

    fn accepted(&mut self, step: &StepView<'_>, report: &StepReport<'_>) -> Flow {
        let flow = self.0.accepted(step, report);
        if report.number.is_multiple_of(64) && self.1.interrupted() { Flow::Stop } else { flow }
    }
}

/// Ranges of inputs and outputs.
struct Ranges {
    inputs: Vec<f64>,
    outputs: Vec<(f64, f64)>,
}

impl Observer for Ranges {
    fn started(&mut self, start: &StartView<'_>) -> Flow {
        self.outputs = start.outputs.iter().map(|y| (*y, *y)).collect();
        self.inputs = start.inputs.iter().map(|u| u.abs()).collect();
        Flow::Continue
    }

    fn accepted(&mut self, step: &StepView<'_>, _report: &StepReport<'_>) -> Flow {
        for ((low, high), y) in self.outputs.iter_mut().zip(step.y_fresh) {
            (*low, *high) = (low.min(*y), high.max(*y));
        }
        self.inputs.iter_mut().zip(step.fresh).for_each(|(m, u)| *m = m.max(u.abs()));
        Flow::Continue
    }
}

/// The system with this method, this constant step and this end.
fn with(system: &System, method: &Steady, h: f64, duration: f64) -> System {
    let mut system = system.clone();
    let start = system.simulation.start.value;
    system.simulation.step = Some(At::default(h));
    system.simulation.stop = Some(At::default(start + duration));
    system.method = method.method.clone();
    system
}

/// Runs the whole experiment once; the error is why that failed.
pub fn explore(
    system: &System,
    method: &Steady,
    h: f64,
    duration: f64,
    listener: &dyn Listener,
) -> Result<Result<Known, String>, Error> {
    let mut session = Session::open(&with(system, method, h, duration), Output::nothing())?;
    let mut ranges = Ranges { inputs: Vec::new(), outputs: Vec::new() };
    if let Err(error) = session.run_with(&mut Stoppable(&mut ranges, listener)) {
        return Ok(Err(error.to_string()));
    }
    let assembled = session.assembled();
    let network = assembled.engine.network();
    let is_real = |i: &usize| network.input_variable(*i).kind == ValueKind::Real;
    let coupled = (0..network.n_inputs).filter(|i| network.wiring.is_coupled(*i)).filter(is_real);
    let scale = |&(low, high): &(f64, f64)| {
        let size = low.abs().max(high.abs());
        let range = high - low;
        if range > 1e-9 * size {
            range
        } else if size > 0.0 {
            size
        } else {
            1.0
        }
    };
    Ok(Ok(Known {
        inputs: coupled.map(|i| (assembled.names.inputs[i].clone(), ranges.inputs[i])).collect(),
        scales: ranges.outputs.iter().map(scale).collect(),
        middles: ranges.outputs.iter().map(|(low, high)| 0.5 * (low + high)).collect(),
    }))
}

/// Steps over which a disturbance is followed.
pub fn steps(duration: f64, h: f64) -> f64 {
    (duration / h).ceil().clamp(STEPS.0, STEPS.1)
}

impl Known {
    /// Inputs are shifted for one step, all by another share of their size, so that no mode is left out by symmetry; `share` 0 makes
    /// the same events without a shift.
    fn disturbance(&self, h: f64, share: f64) -> Scenario {
        let mut events = Vec::new();
        for (k, (name, size)) in self.inputs.iter().enumerate() {
            // Golden section: never the same twice.
            let weight = 0.5 + (0.618_033_988_749_895 * (k + 1) as f64).fract();
            let sign = if k % 2 == 0 { 1.0 } else { -1.0 };
            let shift = share * sign * weight * if *size > 0.0 { *size } else { 1.0 };
            let mut add = |time: f64, action: Action| {
                let model = At::default(name.subsystem.clone());
                events.push(Event {
                    time: At::default(time),
                    model,
                    variable: At::default(name.clone()),
                    action,
                });
            };
            add(h, Action::Bias(At::default(Value::Number(shift))));
            add(2.0 * h, Action::Reset);
        }
        Scenario { file: None, events, end: None }
    }

    fn rows(
        &self,
        system: &System,
        limit: f64,
        listener: &dyn Listener,
    ) -> Result<(Rows, Option<String>), Error> {
        let mut session = Session::open(system, Output::nothing())?;
        let mut rows = Rows {
            values: Vec::new(),
            width: self.scales.len(),
            scales: self.scales.clone(),
            middles: self.middles.clone(),
            limit,
        };
        let failure =
            session.run_with(&mut Stoppable(&mut rows, listener)).err().map(|error| error.to_string());
        Ok((rows, failure))
    }

    /// What a disturbance becomes.
    pub fn disturb(
        &self,
        system: &System,
        method: &Steady,
        h: f64,
        duration: f64,
        listener: &dyn Listener,
    ) -> Result<Trial, Error> {
        let steps = steps(duration, h);
        let mut runs = Vec::new();
        for share in [0.0, DISTURBANCE] {
            let mut system = with(system, method, h, steps * h);
            system.scenario = Some(self.disturbance(h, share));
            runs.push(self.rows(&system, ENOUGH, listener)?);
        }
        let failure = runs.iter_mut().find_map(|run| run.1.take());
        let [plain, disturbed] = [&runs[0].0, &runs[1].0];
        // Both begin with the same steps, those of a run-up included.
        let begin = 2 + SETTLED + plain.len().saturating_sub(steps as usize);
        let mut sequence = Sequence { width: WIDTH.min(self.scales.len()), values: Vec::new() };
        let mut usable = 0;
        for k in begin..plain.len().min(disturbed.len()) {
            let difference: Vec<f64> = (disturbed.at(k).iter().zip(plain.at(k)).zip(&self.scales))
                .map(|((a, b), s)| (a - b) / s)
                .collect();
            let largest =
                plain.at(k).iter().zip(&self.scales).map(|(y, s)| (y / s).abs()).fold(0.0, f64::max);
            mixed(&difference, sequence.width, &mut sequence.values);
            if sequence.size(sequence.len() - 1) > ABOVE_ROUNDING * largest {
                usable = sequence.len();
            }
        }
        sequence.truncate(usable);
        if let Some(radius) = sequence.spectral_radius() {
            return Ok(Trial::Radius(radius));
        }
        Ok(match (failure, sequence.growth()) {
            (Some(failure), _) => Trial::Failed(failure),
            (None, Some(growth)) => Trial::Growth(growth),
            // Everything went beyond all bounds within a few steps, so that no difference could be followed.
            (None, None) if plain.ended_far_away() || disturbed.ended_far_away() => {
                Trial::Growth(f64::INFINITY)
            }
            // The disturbance was gone before it could be followed.
            (None, None) => Trial::Growth(0.0),
        })
    }

    /// How far outputs go: the largest distance from the middle of their range in halves of it, 1 where they stay within.
    pub fn reach(
        &self,
        system: &System,
        method: &Steady,
        h: f64,
        duration: f64,
        listener: &dyn Listener,
    ) -> Result<Trial, Error> {
        let steps = (duration / h).ceil().max(10.0);
        let system = with(system, method, h, steps * h);
        let (rows, failure) = self.rows(&system, FAR_AWAY, listener)?;
        let far = (0..rows.len()).map(|k| rows.distance(rows.at(k))).fold(0.0, f64::max);
        Ok(match failure {
            Some(failure) => Trial::Failed(failure),
            None => Trial::Growth(2.0 * far),
        })
    }
}

/// As many mixtures of all numbers as are looked at.
fn mixed(values: &[f64], width: usize, out: &mut Vec<f64>) {
    if values.len() <= width {
        out.extend_from_slice(values);
        return;
    }
    for c in 0..width {
        let weight = |o: usize| (1.0 + 2.3 * c as f64 + 1.7 * o as f64).cos();
        out.push(values.iter().enumerate().map(|(o, x)| weight(o) * x).sum());
    }
}
