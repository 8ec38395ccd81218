//! A run that is verified: it is made again with every step in halves, and the difference tells the error of every output.
//!
//! The finer run repeats the step sequence of the first one, whatever chose it: a smaller tolerance would not halve steps that a
//! ceiling or an event limits. Everything that is chosen in a step, such as the order of holds, is free.

mod compare;
mod trail;

use crate::Error;
use crate::catalogue::estimators::{DEFAULT_TOLERANCE, SMALLEST_TOLERANCE};
use crate::number::percent;
use crate::observe::{Row, results_fields};
use crate::results::{FINER, OutputError, Round, RunFolder, Verification, Wanted, converges};
use crate::session::{Done, Output, Session, State};
use crate::source::At;
use crate::system::{Repeats, System, Verify};
use crate::table::{Field, Writer};
use compare::{Comparison, Samples};
use powerbond_core::estimator::ErrorEstimator;
use powerbond_core::network::Network;
use powerbond_core::observe::{Both, Flow, Observer};
use powerbond_core::subsystem::ValueKind;
use powerbond_core::subsystem::own_step::OwnSteps;
use std::sync::{Arc, Mutex, PoisonError};
use trail::Trail;

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
    let Output { memory, mut folder, rows, mut columns, backups, mut opened, mut foreseen, .. } = output;
    let rows = rows.map(|row| Arc::new(Mutex::new(row)));
    let mut tolerance = system.method.jump_tolerance().unwrap_or(DEFAULT_TOLERANCE);
    let mut rounds = Vec::new();
    let mut first: Option<RunFolder> = None;
    loop {
        let mut system = system.clone();
        system.set_tolerance(&At::default(tolerance))?;
        let by = system.verdict.verify_by().unwrap_or(Verify::Halves);
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
            columns: columns.take(),
            backups: backups.clone(),
            opened: opened.take(),
            foreseen: foreseen.take(),
            concluded: None,
        };
        let mut done = once(&system, output, observer)?;
        let error = done.summary.verification.as_ref().and_then(|v| v.error);
        rounds.push(Round { tolerance, error, steps: done.summary.steps.accepted });
        // Infinite errors ask for the smallest step of the tolerance there is.
        let next = |error: f64| two_digits(tolerance * (AIM * goal.value / error).max(1e-3));
        let further =
            error.filter(|error| (error.is_nan() || *error > goal.value) && rounds.len() < ROUNDS).map(next);
        let Some(next) = further.filter(|next| *next >= SMALLEST_TOLERANCE) else {
            let why = done.summary.verification.as_ref().and_then(|found| found.failure.as_deref());
            let missed = missed(goal.value, &rounds, why).filter(|_| !observer.interrupted());
            done.summary.exceeded.extend(missed);
            // What the rounds before gave is told of a run that did not come to its end, too.
            let unfinished = || Verification::failed(by, "the run did not come to its end".to_owned());
            done.summary.verification.get_or_insert_with(unfinished).rounds = rounds;
            if let (Some(mine), Some(first)) = (&mut done.folder, &first) {
                mine.inherit(first);
            }
            done.rewrite()?;
            return Ok(done);
        };
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

/// Two digits of a tolerance, not more than it: one that can be typed.
fn two_digits(tolerance: f64) -> f64 {
    let unit = 10f64.powf(tolerance.log10().floor() - 1.0);
    format!("{:.1e}", (tolerance / unit).floor() * unit).parse().unwrap_or(tolerance)
}

/// Why the last of some rounds is not what was asked for, if it is not; `failure` is why it could not be verified.
fn missed(goal: f64, rounds: &[Round], failure: Option<&str>) -> Option<String> {
    let Round { tolerance, error, .. } = *rounds.last()?;
    let goal_text = percent(goal);
    match error {
        Some(error) if error <= goal => None,
        Some(error) => {
            let how_often = match rounds.len() {
                1 => "1 round".to_owned(),
                n => format!("{n} rounds"),
            };
            let end = if rounds.len() < ROUNDS { "; a smaller tolerance would be round-off" } else { "" };
            let error = percent(error);
            Some(format!(
                "the error is {error} with the tolerance {tolerance:.1e}, and {goal_text} was asked for: not reached \
                 in {how_often}{end}"
            ))
        }
        // A run that failed tells so itself.
        None => failure.map(|why| {
            format!(
                "an error of {goal_text} was asked for, and that of the run with the tolerance {tolerance:.1e} is not known: \
                 it could not be verified, as {why}"
            )
        }),
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
    let found = session.assembled().engine.sampled();
    let known = |t: f64| found.iter().filter_map(|f| f.samples).any(|samples| samples.hits(t));
    trail.note_known(|t| quantum.is_some() || known(t));
    let sampled = found.iter().map(|found| found.output).collect();
    let mut done = session.finish()?;
    if !finished || done.error.is_some() {
        return Ok(done);
    }
    let verification = match quantum.filter(|&q| !trail.has_halves_of(q)) {
        Some(q) => Verification::failed(
            by,
            format!("steps are multiples of {q} s only, as a subsystem needs it, and cannot be halved"),
        ),
        None => {
            done.about_to_be_verified(system, by)?;
            let whole_steps = quantum.is_some();
            let coarse = Coarse { trail, sub_steps, sampled, outputs, noise, fields, memory, whole_steps };
            finer_runs(system, by, &coarse, &mut done, observer)?
        }
    };
    done.verified(system, verification);
    done.rewrite()?;
    Ok(done)
}

/// What is known of a run that is verified.
struct Coarse {
    trail: Trail,
    sub_steps: Vec<Arc<[(f64, f64)]>>,
    /// Outputs that were found to be sampled.
    sampled: Arc<[usize]>,
    outputs: Vec<(usize, String)>,
    /// What was found to be noise of every output of the system, in its unit.
    noise: Vec<f64>,
    /// Columns of the recorded variables.
    fields: Vec<Field>,
    /// Tables are kept in memory.
    memory: bool,
    /// Steps are multiples of something, which quarters of them need not be.
    whole_steps: bool,
}

/// Noise as it is found is up to so many times its rms.
const NOISE_BOUND: f64 = 3.0;

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

/// Where half of the squared difference of two runs lies in less than this share of the time, and all of it is larger than what the verdict
/// expects, it says as much about the run in halves as about the other: that may have met something in its own way.
const BRIEF: f64 = 0.02;
/// So does one in which prediction defects are not much smaller than in the run: above this share of its expected error.
const SLOWLY: f64 = 0.5;
/// Below this nothing is worth a third run.
const NEGLIGIBLE: f64 = 1e-6;

/// The least standard deviation that output `k` has in several runs: one that has become unstable has a large one.
fn least_spread(runs: &[&Samples], k: usize) -> f64 {
    runs.iter().map(|run| run.spread(k)).fold(f64::INFINITY, f64::min)
}

/// Why a third run is needed to know which of two runs is wrong, if it is. `finer` is what the run in halves expects of its own error.
fn doubt(
    coarse: &Samples,
    halves: &Comparison<'_>,
    expected: Option<f64>,
    finer: Option<f64>,
) -> Option<String> {
    let count = coarse.outputs.len();
    let differences = (0..count).filter_map(|k| Some((k, halves.difference(k)?)));
    let apart =
        |&(k, d): &(usize, f64)| d * (halves.spread(k) / least_spread(&[coarse, &halves.own], k)).max(1.0);
    let far = |one: &(usize, f64)| apart(one) > 1.0 || apart(one).is_nan();
    if differences.clone().any(|one| far(&one)) {
        return Some(
            "the run in halves differs from the run by more than the standard deviation of an output"
                .to_owned(),
        );
    }
    let (k, difference) = differences.max_by(|a, b| a.1.total_cmp(&b.1))?;
    let error = OutputError::by_halves(String::new(), difference).error;
    let expected = expected.unwrap_or(0.0);
    if error < NEGLIGIBLE || error <= expected {
        return None;
    }
    let share = coarse.concentration(&halves.own, k);
    if share < BRIEF {
        return Some(format!(
            "half of the difference to the run in halves was in {} of the time",
            percent(share)
        ));
    }
    finer.filter(|finer| *finer > SLOWLY * expected).map(|finer| {
        format!(
            "the run in halves expects an error of {} of itself, and the run one of {}",
            percent(finer),
            percent(expected)
        )
    })
}

/// How far three runs are apart in one output, as shares of its least standard deviation.
struct Apart {
    spread: f64,
    /// The run and that in halves, that and the one in quarters, the first and the last.
    difference: f64,
    next: f64,
    whole: f64,
}

impl Apart {
    /// In output `k`; none if it is constant.
    fn of(run: &Samples, halves: &Comparison<'_>, quarters: &Comparison<'_>, k: usize) -> Option<Self> {
        let spread = least_spread(&[run, &halves.own, &quarters.own], k);
        let off = |finer: &Comparison<'_>| Some(finer.difference(k)? * finer.spread(k) / spread);
        let whole = run.difference(&quarters.own, k) / spread;
        Some(Apart { spread, difference: off(halves)?, next: off(quarters)?, whole })
    }
}

/// Why three runs do not tell an error, if that of the output that is the furthest off is not told.
fn unsettled(
    run: &Samples,
    halves: &Comparison<'_>,
    quarters: &Comparison<'_>,
    outputs: &[(usize, String)],
) -> Option<String> {
    let all = outputs
        .iter()
        .enumerate()
        .filter_map(|(k, (_, name))| Some((name, Apart::of(run, halves, quarters, k)?)));
    let most = |apart: &Apart| apart.difference.max(apart.next);
    let (name, apart) = all.max_by(|a, b| most(&a.1).total_cmp(&most(&b.1)))?;
    let Apart { difference, next, whole, .. } = apart;
    let is_told = converges(difference, next, whole) || most(&apart) < NEGLIGIBLE;
    (!is_told).then(|| {
        let far = |x: f64| if x <= 1.0 { percent(x) } else { "more than 100 %".to_owned() };
        format!(
            "finer runs do not converge: `{name}` of the run in halves is {} of its standard deviation off that of the run, and {} off that of the run \
             in quarters",
            far(difference),
            far(next)
        )
    })
}

/// The same run in halves and, if that is wanted or needed, in quarters.
fn finer_runs(
    system: &System,
    by: Verify,
    coarse: &Coarse,
    done: &mut Done,
    observer: &mut dyn Observer,
) -> Result<Verification, Error> {
    let Coarse { trail, sub_steps, sampled, outputs, noise, fields, .. } = coarse;
    let (memory, whole_steps) = (coarse.memory, coarse.whole_steps);
    let mut system = system.clone();
    system.simulation.real_time = None;
    let mut halves = Comparison::new(&trail.samples);
    let mut quarters = by == Verify::Quarters;
    let expected = done.summary.verdict.error.estimate;
    let (mut steps, mut seconds) = (0, 0.0);
    let mut finer = |parts: u32, last: bool, compared: &mut Comparison<'_>| {
        let (sub_steps, divided) = (sub_steps.clone(), trail.in_parts(parts));
        system.simulation.repeats = Some(Arc::new(Repeats {
            ends: divided.ends,
            parts,
            jumps: divided.events,
            sampled: sampled.clone(),
            sub_steps,
        }));
        let folder = done.folder.as_ref().filter(|_| last);
        let file = folder.map(|folder| folder.path().join(system.record.format.value.file(FINER)));
        let (rows, writer) = match &file {
            Some(path) => {
                if done.summary.files.get(FINER).is_some() {
                    // That of the run before, which this one replaces; if it stays, creating it fails and tells so.
                    let _ = std::fs::remove_file(path);
                }
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
        Ok::<_, Error>((outcome, ended.summary.verdict.error.estimate))
    };
    let (mut outcome, expects) = finer(2, !quarters, &mut halves)?;
    let (mut next, mut third) = (None, None);
    if !quarters && !whole_steps && matches!(outcome, Ok(State::Finished)) {
        third = doubt(&trail.samples, &halves, expected, expects);
        quarters = third.is_some();
    }
    if quarters && matches!(outcome, Ok(State::Finished)) {
        let mut second = Comparison::new(&halves.own);
        outcome = finer(4, true, &mut second)?.0;
        next = Some(second);
    }
    let failure = match &outcome {
        Ok(State::Finished) => None,
        Ok(_) => Some("the finer run was stopped".to_owned()),
        Err(error) => Some(format!("the run with smaller steps failed: {error}")),
    };
    let failure = failure.or_else(|| unsettled(&coarse.trail.samples, &halves, next.as_ref()?, outputs));
    let mut found = match failure {
        Some(why) => Verification::failed(by, why),
        None => {
            let (mut errors, mut constant) = (Vec::new(), Vec::new());
            for (k, (o, name)) in outputs.iter().enumerate() {
                let (name, spread) = (name.clone(), halves.spread(k));
                let error = match &next {
                    None => halves.difference(k).map(|d| (spread, OutputError::by_halves(name.clone(), d))),
                    Some(next) => Apart::of(&trail.samples, &halves, next, k).map(|apart| {
                        let Apart { spread, difference, next, whole } = apart;
                        (spread, OutputError::by_quarters(name.clone(), difference, next, whole))
                    }),
                };
                let Some((spread, error)) = error else {
                    constant.push(name);
                    continue;
                };
                // What was called noise in small steps, and is not there in all of them, is none.
                let noise = noise[*o].min(NOISE_BOUND * trail.samples.roughness(k));
                errors.push(error.with_noise(noise / spread));
            }
            let by = if quarters { Verify::Quarters } else { by };
            Verification { third, ..Verification::of(by, errors, constant) }
        }
    };
    (found.steps, found.seconds) = (steps, seconds);
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run of which nothing was verified counted as one with the error that was asked for.
    #[test]
    fn what_was_asked_for_and_is_not_known_is_told() {
        let round = |tolerance, error| Round { tolerance, error, steps: 1 };
        assert_eq!(missed(0.01, &[round(1e-3, Some(0.01))], None), None);
        let rounds = [round(1e-2, Some(0.5)), round(1e-4, Some(0.2)), round(4e-6, Some(0.02))];
        let text = missed(0.01, &rounds, None).unwrap();
        assert!(text.contains("the error is 2 %") && text.ends_with("not reached in 3 rounds"), "{text}");
        let text = missed(1e-12, &[round(1e-12, Some(1e-7))], None).unwrap();
        assert!(text.ends_with("not reached in 1 round; a smaller tolerance would be round-off"), "{text}");
        let text = missed(0.01, &[round(1e-2, None)], Some("steps cannot be halved")).unwrap();
        assert!(text.contains("is not known") && text.ends_with("as steps cannot be halved"), "{text}");
        assert_eq!(missed(0.01, &[round(1e-2, None)], None), None, "the run failed, and says so itself");
    }

    #[test]
    fn tolerances_of_further_rounds_can_be_typed() {
        for (exact, typed) in
            [(8.052020706053438e-7, 8e-7), (9.99e-3, 9.9e-3), (1.05e-5, 1e-5), (0.123, 0.12)]
        {
            let found = two_digits(exact);
            assert!(
                (found / typed - 1.0).abs() < 1e-12 && format!("{found:e}").len() <= 6,
                "{exact}: {found:e}"
            );
        }
    }
}
