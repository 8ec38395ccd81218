//! A run that is verified: it is made again with every step in halves, and the difference tells the error of every output.
//!
//! The finer run repeats the step sequence of the first one, whatever chose it: a smaller tolerance would not halve steps that a
//! ceiling or an event limits. Everything that is chosen in a step, such as the order of holds, is free.

use crate::Error;
use crate::catalogue::estimators::{DEFAULT_TOLERANCE, SMALLEST_TOLERANCE};
use crate::number::percent;
use crate::observe::{Row, results_fields};
use crate::results::{FINER, OutputError, Round, RunFolder, Verification, Wanted};
use crate::session::{Done, Output, Session, State};
use crate::source::At;
use crate::system::{Repeats, System, Verify};
use crate::table::{Field, Writer};
use powerbond_core::estimator::ErrorEstimator;
use powerbond_core::network::Network;
use powerbond_core::observe::{Both, EventView, Flow, Observer, StartView, StepReport};
use powerbond_core::step::StepView;
use powerbond_core::subsystem::ValueKind;
use powerbond_core::subsystem::own_step::OwnSteps;
use std::sync::{Arc, Mutex, PoisonError};

/// Runs a system to its end, verifies the run if `[verdict]` asks for it, and repeats it with other tolerances if that asks for an
/// error. Every run is watched by `observer`: its `started` is called once per run. The first error is in [`Done::error`].
pub fn run(system: &System, output: Output, observer: &mut dyn Observer) -> Result<Done, Error> {
    match &system.verdict.error {
        Some(goal) => reach(system, goal, output, observer),
        None => once(system, output, observer),
    }
}

/// Tolerances that are tried for an error that was asked for.
const ROUNDS: usize = 3;
/// What a further round aims at, as a share of the error that was asked for: hitting it exactly would miss it half of the time.
const AIM: f64 = 0.8;

/// Runs with other tolerances until the verified error is at most `goal`.
fn reach(
    system: &System,
    goal: &At<f64>,
    output: Output,
    observer: &mut dyn Observer,
) -> Result<Done, Error> {
    let Output { memory, mut folder, rows, backups, mut opened, mut foreseen, .. } = output;
    let rows = rows.map(|row| Arc::new(Mutex::new(row)));
    let mut tolerance = system.method.jump_tolerance().unwrap_or(DEFAULT_TOLERANCE);
    let mut rounds = Vec::new();
    let mut first: Option<RunFolder> = None;
    loop {
        let mut system = system.clone();
        system.set_tolerance(&At::default(tolerance))?;
        let rows = rows.clone().map(|shared| {
            let row = move |values: &[f64]| {
                let mut row = shared.lock().unwrap_or_else(PoisonError::into_inner);
                (*row)(values)
            };
            Box::new(row) as Row
        });
        let output = Output {
            memory,
            folder: folder.clone(),
            rows,
            backups: backups.clone(),
            opened: opened.take(),
            foreseen: foreseen.take(),
            concluded: None,
        };
        let mut done = once(&system, output, observer)?;
        let error = done.summary.verification.as_ref().and_then(|v| v.error);
        rounds.push(Round { tolerance, error, steps: done.summary.steps.accepted });
        let reached = error.is_none_or(|error| error <= goal.value);
        // Infinite errors ask for the smallest step of the tolerance there is.
        let next = error.map_or(0.0, |error| tolerance * (AIM * goal.value / error).max(1e-3));
        if reached || rounds.len() == ROUNDS || next < SMALLEST_TOLERANCE {
            if let Some(verification) = &mut done.summary.verification {
                verification.rounds = rounds;
            }
            if let (Some(mine), Some(first)) = (&mut done.folder, &first) {
                mine.inherit(first);
            }
            if let Some(error) = error.filter(|_| !reached) {
                done.summary.exceeded.push(format!(
                    "the error is {} with the tolerance {tolerance:.1e}, and {} was asked for: not reached in \
                     {ROUNDS} rounds",
                    percent(error),
                    percent(goal.value)
                ));
            }
            done.rewrite()?;
            return Ok(done);
        }
        tolerance = next;
        if let Some(mine) = done.folder.take() {
            // The next round replaces what this one wrote.
            folder = folder.map(|wanted| Wanted {
                folder: mine.path().to_owned(),
                chosen: true,
                overwrite: true,
                ..wanted
            });
            first.get_or_insert(mine).release();
        }
    }
}

/// One run, and its verification.
fn once(system: &System, output: Output, observer: &mut dyn Observer) -> Result<Done, Error> {
    let memory = output.memory;
    let by = system.verdict.verify_by();
    // What a run came to is known after the last one.
    let concluded = output.concluded.filter(|_| by.is_none());
    let mut session = Session::open(system, Output { concluded, ..output })?;
    let Some(by) = by else {
        let _ = session.run_with(observer);
        return session.finish();
    };
    let network = session.assembled().engine.network();
    let outputs = (0..network.n_outputs)
        .filter(|&o| network.output_variable(o).kind == ValueKind::Real)
        .map(|o| (o, session.assembled().names.outputs[o].to_string()))
        .collect::<Vec<_>>();
    session.assembled().own.iter().flatten().for_each(OwnSteps::keep_rates);
    let mut trail = Trail::new(outputs.iter().map(|(o, _)| *o).collect());
    // What goes wrong is told by the end of the session, after the rows are on disk.
    let finished = matches!(session.run_with(&mut Both(&mut trail, observer)), Ok(State::Finished));
    let quantum = session.assembled().engine.settings().quantum;
    let fields = results_fields(session.assembled());
    let rates = |own: &Option<OwnSteps>| own.as_ref().map_or_else(|| [].into(), OwnSteps::rates);
    let sub_steps = session.assembled().own.iter().map(rates).collect();
    let noise = noise(session.assembled().engine.network(), session.assembled().engine.driving());
    let mut done = session.finish()?;
    if !finished || done.error.is_some() {
        return Ok(done);
    }
    let verification = match quantum.filter(|&q| !trail.has_halves_of(q)) {
        Some(q) => Verification::failed(
            by,
            format!("steps are multiples of {q} s only, as a subsystem needs it, and cannot be halved"),
        ),
        None => finer_runs(
            system,
            by,
            &Coarse { trail, sub_steps, outputs, noise, fields, memory },
            &mut done,
            observer,
        )?,
    };
    done.verified(system, verification);
    done.rewrite()?;
    Ok(done)
}

/// What is known of a run that is verified.
struct Coarse {
    trail: Trail,
    sub_steps: Vec<Arc<[(f64, f64)]>>,
    outputs: Vec<(usize, String)>,
    /// What was found to be noise of every output of the system, in its unit.
    noise: Vec<f64>,
    /// Columns of the recorded variables.
    fields: Vec<Field>,
    /// Tables are kept in memory.
    memory: bool,
}

/// The noise of outputs, as far as inputs tell that have no other source: a finer run has the same, so that no difference shows it.
fn noise(network: &Network, driving: Option<&dyn ErrorEstimator>) -> Vec<f64> {
    let mut found = vec![0.0_f64; network.n_outputs];
    let inputs = driving.map_or(&[][..], |estimator| estimator.diagnostics().noise);
    for (i, &noise) in inputs.iter().enumerate() {
        let mut sources = network.wiring.sources(i);
        if let (Some((output, gain)), None) = (sources.next(), sources.next()) {
            found[output] = found[output].max(noise / gain.abs());
        }
    }
    found
}

/// The same run in halves and, if that is wanted, in quarters.
fn finer_runs(
    system: &System,
    by: Verify,
    coarse: &Coarse,
    done: &mut Done,
    observer: &mut dyn Observer,
) -> Result<Verification, Error> {
    let Coarse { trail, sub_steps, outputs, noise, fields, memory } = coarse;
    let memory = *memory;
    let mut system = system.clone();
    system.simulation.real_time = None;
    let mut halves = Comparison::new(&trail.samples);
    let quarters = by == Verify::Quarters;
    let (mut steps, mut seconds) = (0, 0.0);
    let mut finer = |parts: u32, last: bool, compared: &mut Comparison<'_>| {
        let sub_steps = sub_steps.clone();
        system.simulation.repeats = Some(Arc::new(Repeats { ends: trail.parts(parts), parts, sub_steps }));
        let folder = done.folder.as_ref().filter(|_| last);
        let file = folder.map(|folder| folder.path().join(system.record.format.value.file(FINER)));
        let (rows, writer) = match &file {
            Some(path) => {
                let writer = Writer::create(path, system.record.format.value, fields, &Vec::new(), None)?;
                let writer = Arc::new(Mutex::new((writer, None)));
                let shared = writer.clone();
                let row = move |values: &[f64]| {
                    let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
                    match shared.0.row(values.iter().copied()) {
                        Ok(()) => Flow::Continue,
                        Err(error) => {
                            shared.1 = Some(error);
                            Flow::Stop
                        }
                    }
                };
                (Some(Box::new(row) as Row), Some(writer))
            }
            None => (None, None),
        };
        let output = Output { memory: memory && last, rows, ..Output::nothing() };
        let mut session = Session::open(&system, output)?;
        let outcome = session.run_with(&mut Both(compared, observer));
        let ended = session.finish()?;
        steps += ended.summary.steps.accepted;
        seconds += ended.summary.seconds;
        if let Some(writer) = writer {
            let mut shared = writer.lock().unwrap_or_else(PoisonError::into_inner);
            shared.1.take().map_or(Ok(()), Err)?;
            shared.0.close()?;
            shared.0.sync()?;
            shared.0.convert()?;
            done.summary.files[FINER] = system.record.format.value.file(FINER).into();
        }
        if last && memory {
            done.finer = Some(ended.table);
        }
        Ok::<_, Error>(outcome)
    };
    let mut outcome = finer(2, !quarters, &mut halves)?;
    let mut next = None;
    if quarters && matches!(outcome, Ok(State::Finished)) {
        let mut second = Comparison::new(&halves.own);
        outcome = finer(4, true, &mut second)?;
        next = Some(second);
    }
    let failure = match &outcome {
        Ok(State::Finished) => None,
        Ok(_) => Some("the finer run was stopped".to_owned()),
        Err(error) => Some(format!("the run with smaller steps failed: {error}")),
    };
    let mut found = match failure {
        Some(why) => Verification::failed(by, why),
        None => {
            let (mut errors, mut constant) = (Vec::new(), Vec::new());
            for (k, (o, name)) in outputs.iter().enumerate() {
                let (name, spread) = (name.clone(), halves.spread(k));
                let error = match (halves.difference(k), next.as_ref().map(|next| next.difference(k))) {
                    (None, _) | (_, Some(None)) => {
                        constant.push(name);
                        continue;
                    }
                    (Some(d), None) => OutputError::by_halves(name, d),
                    (Some(d), Some(Some(next))) => OutputError::by_quarters(name, d, next),
                };
                errors.push(error.with_noise(noise[*o] / spread));
            }
            Verification::of(by, errors, constant)
        }
    };
    (found.steps, found.seconds) = (steps, seconds);
    Ok(found)
}

/// Outputs at some of the communication points of a run: at all of them, or, in a long run, at every 2ⁿ-th.
#[derive(Default)]
struct Samples {
    outputs: Vec<usize>,
    times: Vec<f64>,
    /// Seconds since the sample before.
    weights: Vec<f64>,
    values: Vec<f64>,
    /// Communication points per sample, and those since the last one.
    stride: u64,
    passed: u64,
    waiting: f64,
}

/// Numbers that are kept at most: 32 MB, whatever the length of the run.
const MOST_VALUES: usize = 4_000_000;
/// Samples that are kept at least, whatever the number of outputs.
const FEWEST_SAMPLES: usize = 1000;

impl Samples {
    fn of(outputs: Vec<usize>) -> Self {
        Samples { outputs, stride: 1, ..Samples::default() }
    }

    fn add(&mut self, t: f64, h: f64, y: &[f64]) {
        self.passed += 1;
        self.waiting += h;
        if self.passed < self.stride {
            return;
        }
        self.times.push(t);
        self.weights.push(self.waiting);
        self.values.extend(self.outputs.iter().map(|&o| y[o]));
        (self.passed, self.waiting) = (0, 0.0);
        if self.values.len() > MOST_VALUES && self.times.len() > 2 * FEWEST_SAMPLES {
            self.thin();
        }
    }

    /// Drops every other sample; those that stay have its weight, too.
    fn thin(&mut self) {
        let (n, pairs) = (self.outputs.len(), self.times.len() / 2);
        for k in 0..pairs {
            self.times[k] = self.times[2 * k + 1];
            self.weights[k] = self.weights[2 * k] + self.weights[2 * k + 1];
            self.values.copy_within((2 * k + 1) * n..(2 * k + 2) * n, k * n);
        }
        if self.times.len() % 2 == 1 {
            self.waiting += self.weights[2 * pairs];
            self.passed += self.stride;
        }
        self.times.truncate(pairs);
        self.weights.truncate(pairs);
        self.values.truncate(pairs * n);
        self.stride *= 2;
    }
}

/// The steps of a run, and its outputs.
struct Trail {
    start: f64,
    ends: Vec<f64>,
    samples: Samples,
}

impl Trail {
    fn new(outputs: Vec<usize>) -> Self {
        Trail { start: 0.0, ends: Vec::new(), samples: Samples::of(outputs) }
    }

    /// All steps in so many equal parts: the ends of these.
    fn parts(&self, parts: u32) -> Arc<[f64]> {
        let mut ends = Vec::with_capacity(self.ends.len() * parts as usize);
        let mut start = self.start;
        for &end in &self.ends {
            let inner = (1..parts).map(|k| start + (end - start) * f64::from(k) / f64::from(parts));
            ends.extend(inner.filter(|t| *t > start && *t < end));
            ends.push(end);
            start = end;
        }
        ends.into()
    }

    /// Whether half of every step is a multiple of `quantum`.
    fn has_halves_of(&self, quantum: f64) -> bool {
        let mut start = self.start;
        self.ends.iter().all(|&end| {
            let half = 0.5 * (end - std::mem::replace(&mut start, end)) / quantum;
            (half - half.round()).abs() < 1e-6
        })
    }
}

impl Observer for Trail {
    fn started(&mut self, start: &StartView<'_>) -> Flow {
        self.start = start.t;
        Flow::Continue
    }

    fn accepted(&mut self, step: &StepView<'_>, _: &StepReport<'_>) -> Flow {
        self.ends.push(step.span.end);
        self.samples.add(step.span.end, step.span.h, step.y_fresh);
        Flow::Continue
    }

    fn event(&mut self, _: &EventView<'_>) -> Flow {
        Flow::Continue
    }
}

/// Compares a finer run with the samples of a coarser one.
struct Comparison<'a> {
    coarse: &'a Samples,
    next: usize,
    sums: Vec<Sums>,
    /// Σ weight so far.
    time: f64,
    /// What it gave at the same times.
    own: Samples,
}

/// Sums over the samples of one output.
#[derive(Clone, Copy, Default)]
struct Sums {
    /// Σ w (y - y_coarse)².
    off: f64,
    mean: f64,
    m2: f64,
    largest: f64,
}

impl<'a> Comparison<'a> {
    fn new(coarse: &'a Samples) -> Self {
        let own = Samples::of(coarse.outputs.clone());
        Comparison { coarse, next: 0, sums: vec![Sums::default(); coarse.outputs.len()], time: 0.0, own }
    }

    /// The standard deviation of output `k`.
    fn spread(&self, k: usize) -> f64 {
        (self.sums[k].m2.max(0.0) / self.time).sqrt()
    }

    /// rms of the difference of output `k` over its standard deviation; none if it is constant.
    fn difference(&self, k: usize) -> Option<f64> {
        let s = &self.sums[k];
        let (off, spread) = ((s.off / self.time).sqrt(), self.spread(k));
        // Below this, an output is constant and its spread is round-off.
        let moves = spread > 1e-12 * s.largest || !spread.is_finite();
        (self.time > 0.0 && moves).then(|| off / spread)
    }
}

impl Observer for Comparison<'_> {
    fn accepted(&mut self, step: &StepView<'_>, _: &StepReport<'_>) -> Flow {
        let t = step.span.end;
        let Comparison { coarse, next, sums, time, own } = self;
        while coarse.times.get(*next).is_some_and(|&at| at < t) {
            *next += 1;
        }
        if coarse.times.get(*next) != Some(&t) {
            return Flow::Continue;
        }
        let (n, w) = (coarse.outputs.len(), coarse.weights[*next]);
        let values = &coarse.values[*next * n..(*next + 1) * n];
        *time += w;
        for ((s, &o), &before) in sums.iter_mut().zip(&coarse.outputs).zip(values) {
            let y = step.y_fresh[o];
            s.off += w * (y - before) * (y - before);
            let off = y - s.mean;
            s.mean += w / *time * off;
            s.m2 += w * off * (y - s.mean);
            s.largest = s.largest.max(y.abs());
        }
        own.add(t, w, step.y_fresh);
        *next += 1;
        Flow::Continue
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_runs_are_thinned_and_all_of_their_time_counts() {
        let mut samples = Samples::of(vec![0; 2 * MOST_VALUES / (3 * FEWEST_SAMPLES)]);
        let n = 10_001;
        (0..n).for_each(|k| samples.add(f64::from(k + 1), 1.0, &[f64::from(k + 1)]));
        let kept = samples.times.len();
        assert!(samples.values.len() <= MOST_VALUES && kept >= FEWEST_SAMPLES, "{kept}");
        let time: f64 = samples.weights.iter().sum();
        assert_eq!(time + samples.waiting, f64::from(n));
        let width = samples.outputs.len();
        let mut before = 0.0;
        for k in 0..kept {
            assert_eq!(samples.values[k * width], samples.times[k]);
            assert_eq!(samples.times[k] - before, samples.weights[k]);
            before = samples.times[k];
        }
    }

    #[test]
    fn parts_of_steps_end_where_the_steps_do() {
        let trail = Trail { start: 1.0, ends: vec![1.1, 1.7, 3.0], samples: Samples::of(Vec::new()) };
        let quarters = trail.parts(4);
        assert_eq!(quarters.len(), 12);
        assert_eq!([quarters[3], quarters[7], quarters[11]], [1.1, 1.7, 3.0]);
        assert!(quarters.windows(2).all(|w| w[0] < w[1]));
        assert!(trail.has_halves_of(0.05) && !trail.has_halves_of(0.1));
    }
}
