//! `tune`: one's own system with every method at several costs, the error of each run, and the method that is worth its cost.
//!
//! A first run with the system's own step gives the time of a step and the energy that the bonds exchange. Then comes the
//! reference, the finest run of all; its own error is judged by another one with twice its step. Every other run is compared
//! with it at its own communication points: the error is the rms over all outputs of rms(y − reference)/std(reference), rms
//! and std weighted by the steps.

mod candidates;
mod chart;
mod path;

pub use candidates::CANDIDATES;

use crate::catalogue::Method;
use crate::number::{percent, short};
use crate::source::At;
use crate::system::{OwnStepsBy, System};
use crate::{Assembled, Error, Output, Session, State};
use candidates::{Candidate, Known};
use path::{Compared, Path, Recorded};
use powerbond_core::network::NameIndex;
use serde::Serialize;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Steps of the runs over the system's own one.
const LEVELS: [f64; 5] = [16.0, 4.0, 1.0, 0.25, 0.0625];
/// Steps of the reference over the finest run's one, the finest first; time decides.
const FINER: [f64; 4] = [0.25, 0.5, 2.0, 8.0];
/// The share of the time that the reference may take.
const FOR_REFERENCE: f64 = 0.4;
/// How the reference is made, the best first.
const REFERENCES: [&str; 3] =
    ["hold = 2\nrefresh = \"auto\"\nvalues_only = \"auto\"\n", "hold = 1\n", "hold = 0\n"];
/// Good enough for a reference: what it is compared with is at least ten times worse.
const GOOD: f64 = 1e-5;

/// A run between two others aims at this share of the wanted error.
const MARGIN: f64 = 0.8;
/// How many methods get such a run.
const REFINED: usize = 3;

/// What is wanted.
#[derive(Clone, Debug)]
pub struct TuneOptions {
    /// The error that is wanted, a share; the cheapest run below it is chosen.
    pub error: f64,
    /// How long all runs may take together, in s.
    pub budget: f64,
}

impl Default for TuneOptions {
    fn default() -> Self {
        TuneOptions { error: 0.01, budget: 60.0 }
    }
}

/// What came out.
#[derive(Clone, Debug, Serialize)]
pub struct Tuning {
    /// Version of this schema.
    pub schema: u32,
    /// Name of the system.
    pub system: String,
    /// The error that was wanted.
    pub wanted: f64,
    /// What the runs are compared with.
    pub reference: Reference,
    /// One entry per method, in the order of [`CANDIDATES`].
    pub methods: Vec<Curve>,
    /// The method that was chosen: the fewest steps of subsystems; none if no run came to its end.
    pub choice: Option<Choice>,
    /// The one that took the least time.
    pub fastest: Option<Choice>,
    /// What should be known.
    pub notes: Vec<String>,
    /// Time of all runs, in s.
    pub seconds: f64,
}

/// The finest run.
#[derive(Clone, Debug, Serialize)]
pub struct Reference {
    /// Its `[method]`.
    pub method: String,
    /// Its constant step, in s.
    pub step: f64,
    /// How far the run with twice the step is from it: a bound of its own error.
    pub error: f64,
}

/// A method at several costs.
#[derive(Clone, Debug, Serialize)]
pub struct Curve {
    /// Its name.
    pub name: &'static str,
    /// Why it was not run, if it was not.
    pub skipped: Option<String>,
    /// From coarse to fine.
    pub runs: Vec<Point>,
}

/// A run.
#[derive(Clone, Debug, Serialize)]
pub struct Point {
    /// How coarse it is: the constant step that makes about as many steps over the system's own one.
    pub level: f64,
    /// What was varied: `step` (in s) or `tolerance`.
    pub knob: &'static str,
    /// Its value.
    pub value: f64,
    /// `[simulation]` and `[method]` of the run.
    pub block: String,
    /// Steps that were accepted.
    pub steps: u64,
    /// Steps of all subsystems, rejected ones, probes and sub-steps included: the cost.
    pub calls: u64,
    /// Time, in s.
    pub seconds: f64,
    /// The error against the reference; none if the run failed.
    pub error: Option<f64>,
    /// The error that the verdict estimates from coupling data alone.
    pub estimated: Option<f64>,
    /// The largest Σ |δE| of a bond, in J.
    pub residual: f64,
    /// Why it failed.
    pub failure: Option<String>,
}

/// The run that was chosen.
#[derive(Clone, Debug, Serialize)]
pub struct Choice {
    /// The method.
    pub name: &'static str,
    /// Its place among the runs of that method.
    pub run: usize,
    /// Whether it is as good as was wanted.
    pub reached: bool,
    /// `[simulation]` and `[method]`, ready for the system file.
    pub block: String,
}

/// Who hears of the progress and may stop it.
pub trait Listener {
    /// `done` of all the time has passed; `what` is run now.
    fn at(&mut self, done: f64, what: &str);

    /// Whether to stop.
    fn interrupted(&self) -> bool;
}

/// Runs the system with every method; none if the listener stopped it.
pub fn tune(
    system: &System,
    options: &TuneOptions,
    listener: &mut dyn Listener,
) -> Result<Option<Tuning>, Error> {
    let result = tune_all(system, options, listener);
    if listener.interrupted() { Ok(None) } else { result.map(Some) }
}

fn tune_all(system: &System, options: &TuneOptions, listener: &mut dyn Listener) -> Result<Tuning, Error> {
    let mut bench = Bench::new(system, options, listener)?;
    let first = bench.first()?;
    let (reference, path) = bench.reference(&first)?;
    let path = Rc::new(path);
    let mut known = Known {
        energy: first.energy,
        bonds: !system.bonds.is_empty(),
        spreads: first.outputs.into_iter().zip(path.spreads()).filter(|(_, spread)| *spread > 0.0).collect(),
        calibrated: Vec::new(),
    };
    let mut methods: Vec<Curve> = Vec::new();
    for (k, candidate) in CANDIDATES.iter().enumerate() {
        let left = (CANDIDATES.len() - k) as f64;
        let until = bench.spent() + (options.budget - bench.spent()).max(0.0) / left;
        let curve = bench.curve(candidate, &known, &path, reference.step, until)?;
        known.learn(candidate, &curve);
        methods.push(curve);
    }
    bench.refine(&mut methods, &known, &path, options.error)?;
    let mut notes = bench.notes.clone();
    let choice = choose(&methods, options.error, |run| run.calls as f64);
    let fastest = choose(&methods, options.error, |run| run.seconds);
    if reference.error > 0.1 * options.error {
        notes.push(format!(
            "the reference has an error of about {}: errors near that are not significant. A larger `--budget` makes \
             it finer",
            percent(reference.error)
        ));
    }
    Ok(Tuning {
        schema: 1,
        system: system.name.clone(),
        wanted: options.error,
        reference,
        methods,
        choice,
        fastest,
        notes,
        seconds: bench.spent(),
    })
}

/// The run below `wanted` with the least cost, or the most accurate one.
fn choose(methods: &[Curve], wanted: f64, cost: fn(&Point) -> f64) -> Option<Choice> {
    let all = methods.iter().flat_map(|m| m.runs.iter().enumerate().map(move |(k, run)| (m, k, run)));
    let ended: Vec<_> = all.filter_map(|(m, k, run)| Some((m, k, run, run.error?))).collect();
    let good = ended.iter().filter(|(.., error)| *error <= wanted);
    let cheapest = good.min_by(|a, b| cost(a.2).total_cmp(&cost(b.2)).then(a.3.total_cmp(&b.3)));
    let best = cheapest.or_else(|| ended.iter().min_by(|a, b| a.3.total_cmp(&b.3)));
    best.map(|(m, k, run, error)| Choice {
        name: m.name,
        run: *k,
        reached: *error <= wanted,
        block: run.block.clone(),
    })
}

/// What a first run with a constant step says.
struct First {
    seconds_per_step: f64,
    /// The largest energy that a bond exchanged, in J.
    energy: f64,
    /// Names of all outputs.
    outputs: Vec<String>,
}

struct Bench<'a> {
    system: System,
    /// The step in the file, in s.
    step: f64,
    duration: f64,
    budget: f64,
    begun: Instant,
    listener: &'a mut dyn Listener,
    notes: Vec<String>,
}

/// What a run came to.
struct Ran {
    session: Session,
    seconds: f64,
    failure: Option<String>,
    late: bool,
}

impl<'a> Bench<'a> {
    fn new(system: &System, options: &TuneOptions, listener: &'a mut dyn Listener) -> Result<Self, Error> {
        let mut system = system.clone();
        let assembled = system.assemble()?;
        let duration = assembled.stop - assembled.start;
        let network = assembled.engine.network();
        // The first step of a run that chooses its own says nothing about the others.
        let chosen = system.simulation.step.is_some() || !assembled.adaptive;
        let step = if chosen { assembled.step } else { assembled.default_step() };
        if !(0..network.n_inputs).any(|i| network.wiring.is_coupled(i)) {
            let message = "no connections: all methods give the same result";
            return Err(Error::input(None, message));
        }
        // Rates stay while steps change.
        let places: NameIndex<&str> = assembled.names.subsystems.iter().map(String::as_str).collect();
        for spec in system.subsystems.iter_mut().filter(|spec| spec.step.is_some()) {
            if let Some(s) = places.place(spec.name.value.as_str()) {
                spec.rate = spec.step.take().map(|at| at.with(assembled.rates[s]));
            }
        }
        system.simulation.real_time = None;
        // What methods cost is compared, and a twin would triple the steps of every candidate.
        system.verdict.own_steps = system.verdict.own_steps.min(OwnStepsBy::Probes);
        system.simulation.output_interval = None;
        system.simulation.land_on_output = At::default(false);
        system.record.exclude = vec![At::default("*".to_owned())];
        Ok(Bench {
            system,
            step,
            duration,
            budget: options.budget,
            begun: Instant::now(),
            listener,
            notes: Vec::new(),
        })
    }

    fn spent(&self) -> f64 {
        self.begun.elapsed().as_secs_f64()
    }

    /// Runs the system with a method until it ends, or until so many seconds after the beginning of everything.
    fn run(
        &mut self,
        step: Option<f64>,
        method: &str,
        until: f64,
        watch: impl FnOnce(&Assembled) -> Box<dyn path::Watch>,
    ) -> Result<(Ran, Box<dyn path::Watch>), Error> {
        if self.listener.interrupted() {
            return Err(Error::accuracy("it was stopped"));
        }
        let mut system = self.system.clone();
        system.simulation.step = step.map(At::default);
        system.method = Method::parse(method)?;
        let mut session = Session::open(&system, Output::nothing())?;
        let mut seen = watch(session.assembled());
        let deadline = self.begun + Duration::try_from_secs_f64(until).unwrap_or(Duration::MAX / 4);
        let begun = Instant::now();
        let (outcome, late) = {
            let mut watched = path::Limited::new(seen.as_mut(), deadline, &*self.listener);
            let outcome = session.run_with(&mut watched);
            (outcome, watched.late)
        };
        let seconds = begun.elapsed().as_secs_f64();
        if self.listener.interrupted() {
            return Err(Error::accuracy("it was stopped"));
        }
        let failure = match outcome {
            Ok(State::Finished) => None,
            Ok(_) => Some("not finished in time".to_owned()),
            Err(error) => Some(error.to_string()),
        };
        Ok((Ran { session, seconds, failure, late }, seen))
    }

    /// The system with its own step: what a step costs, and the energies.
    fn first(&mut self) -> Result<First, Error> {
        self.listener.at(0.0, "first run");
        let mut step = self.step;
        let mut failure = String::new();
        for _ in 0..4 {
            let (ran, _) = self.run(Some(step), "hold = 0\n", self.budget, |p| Box::new(Recorded::new(p)))?;
            match ran.failure {
                None => {
                    let steps = ran.session.assembled().engine.statistics().accepted.max(1) as f64;
                    let sums = &ran.session.assembled().engine.meter().sums;
                    let energy = sums.iter().map(|s| s.exchanged).fold(0.0, f64::max);
                    let names = &ran.session.assembled().names.outputs;
                    let outputs = names.iter().map(ToString::to_string).collect();
                    return Ok(First { seconds_per_step: ran.seconds / steps, energy, outputs });
                }
                Some(why) => failure = why,
            }
            if ran.late {
                break;
            }
            step /= 4.0;
        }
        Err(Error::accuracy(format!(
            "the system cannot be run with a constant step of {} s or less: {failure}",
            short(self.step)
        )))
    }

    /// The finest run that time allows, and how far it is from one with twice the step.
    fn reference(&mut self, first: &First) -> Result<(Reference, Path), Error> {
        let finest = self.step * LEVELS[LEVELS.len() - 1];
        // One run and a half, of methods that cost more than the first one.
        let seconds = |step: f64| 3.0 * first.seconds_per_step * self.duration / step;
        let fits = |share: &&f64| seconds(*share * finest) <= FOR_REFERENCE * self.budget;
        let from = FINER.iter().position(|share| fits(&share)).unwrap_or(FINER.len() - 1);
        let mut best: Option<(Reference, Path)> = None;
        let mut failure = String::new();
        for (k, step) in FINER[from..].iter().map(|share| share * finest).enumerate() {
            for method in REFERENCES {
                self.listener.at(0.05 + 0.05 * k as f64, "reference");
                match self.try_reference(method, step)? {
                    Ok((reference, path)) => {
                        if best.as_ref().is_none_or(|(r, _)| reference.error < r.error) {
                            best = Some((reference, path));
                        }
                    }
                    Err(why) => failure = why,
                }
                let good = best.as_ref().is_some_and(|(r, _)| r.error <= GOOD);
                if good || (best.is_some() && self.spent() > 0.5 * FOR_REFERENCE * self.budget) {
                    break;
                }
            }
            if best.is_some() {
                break;
            }
        }
        best.ok_or_else(|| {
            Error::accuracy(format!(
                "no reference: runs with steps of {} s and more failed: {failure}",
                short(FINER[from] * finest)
            ))
        })
    }

    fn try_reference(&mut self, method: &str, step: f64) -> Result<Result<(Reference, Path), String>, Error> {
        let until = self.spent() + FOR_REFERENCE * self.budget;
        let (fine, seen) = match self.run(Some(step), method, until, |p| Box::new(Recorded::new(p))) {
            Err(error @ Error::Input(_)) => return Ok(Err(in_one_line(&error))),
            other => other?,
        };
        let path = match (fine.failure, seen.path()) {
            (None, Some(path)) if !path.moves() => {
                let message = "all coupled outputs are constant: nothing to compare";
                return Err(Error::input(None, message));
            }
            (None, Some(path)) => path,
            (failure, _) => return Ok(Err(failure.unwrap_or_default())),
        };
        let shared = Rc::new(path);
        let compared = Compared::new(shared.clone());
        let (coarse, seen) = self.run(Some(2.0 * step), method, until, |_| Box::new(compared))?;
        if let Some(failure) = coarse.failure {
            return Ok(Err(failure));
        }
        let error = seen.error().unwrap_or(f64::INFINITY);
        drop(seen);
        let path = Rc::unwrap_or_clone(shared);
        Ok(Ok((Reference { method: method.to_owned(), step, error }, path)))
    }

    /// A method from coarse to fine.
    fn curve(
        &mut self,
        candidate: &Candidate,
        known: &Known,
        reference: &Rc<Path>,
        finest: f64,
        until: f64,
    ) -> Result<Curve, Error> {
        let mut curve = Curve { name: candidate.name, skipped: candidate.cannot(known), runs: Vec::new() };
        if curve.skipped.is_some() {
            return Ok(curve);
        }
        for level in LEVELS {
            let h = level * self.step;
            if h > self.duration / 10.0 || (h < 2.0 * finest && candidate.is_constant()) {
                continue;
            }
            if self.spent() >= until && !curve.runs.is_empty() {
                self.notes.push(format!(
                    "`{}`: finer runs were skipped, the time budget is used up",
                    candidate.name
                ));
                break;
            }
            // A coarse run that takes longer than everything else may is no bargain.
            let limit = until.max(self.spent() + 0.02 * self.budget);
            let (point, late) = self.point(candidate, known, reference, level, limit)?;
            curve.runs.push(point);
            if late {
                break;
            }
        }
        Ok(curve)
    }

    /// One run of a method.
    fn point(
        &mut self,
        candidate: &Candidate,
        known: &Known,
        reference: &Rc<Path>,
        level: f64,
        until: f64,
    ) -> Result<(Point, bool), Error> {
        let plan = candidate.plan(known, level * self.step, level, self.duration);
        self.listener.at((self.spent() / self.budget).clamp(0.2, 0.99), candidate.name);
        let compared = Compared::new(reference.clone());
        let (ran, seen) = match self.run(plan.step, &plan.method, until, |_| Box::new(compared)) {
            Err(error @ Error::Input(_)) => return Ok((plan.refused(level, in_one_line(&error)), false)),
            other => other?,
        };
        let findings = ran.session.assembled().findings(&self.system.verdict.limits);
        let sums = &ran.session.assembled().engine.meter().sums;
        let failed = ran.failure.is_some();
        let point = Point {
            level,
            knob: plan.knob,
            value: plan.value,
            block: plan.block(),
            steps: ran.session.assembled().engine.statistics().accepted,
            calls: ran.session.assembled().all_calls(),
            seconds: ran.seconds,
            error: seen.error().filter(|e| !failed && e.is_finite()),
            estimated: Some(findings.error()).filter(|e| !failed && e.is_finite()),
            residual: sums.iter().map(|s| s.residual_abs).fold(0.0, f64::max),
            failure: ran.failure,
        };
        Ok((point, ran.late))
    }

    /// One more run of the most promising methods, between two of which one was not good enough and the other better than
    /// wanted.
    fn refine(
        &mut self,
        methods: &mut [Curve],
        known: &Known,
        reference: &Rc<Path>,
        wanted: f64,
    ) -> Result<(), Error> {
        let between = |(m, curve): (usize, &Curve)| {
            let pair = curve.runs.windows(2).find(|w| {
                w[0].error.is_some_and(|e| e > wanted) && w[1].error.is_some_and(|e| e > 0.0 && e <= wanted)
            })?;
            let [(e0, e1), (c0, c1), (l0, l1)] = [
                (pair[0].error?, pair[1].error?),
                (pair[0].calls as f64, pair[1].calls as f64),
                (pair[0].level, pair[1].level),
            ]
            .map(|(a, b)| (a.ln(), b.ln()));
            let share = (e0 - (MARGIN * wanted).ln()) / (e0 - e1);
            let level = (l0 + share * (l1 - l0)).exp();
            (share < 1.0).then(|| ((c0 + share * (c1 - c0)).exp(), m, level))
        };
        let mut promising: Vec<(f64, usize, f64)> = methods.iter().enumerate().filter_map(between).collect();
        promising.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (_, m, level) in promising.into_iter().take(REFINED) {
            let until = self.spent() + 0.1 * self.budget;
            let (point, _) = self.point(&CANDIDATES[m], known, reference, level, until)?;
            let runs = &mut methods[m].runs;
            let place = runs.partition_point(|run| run.level > level);
            runs.insert(place, point);
        }
        Ok(())
    }
}

/// Why a run was refused, for a table.
fn in_one_line(error: &Error) -> String {
    error.to_string().replace('\n', "; ")
}
