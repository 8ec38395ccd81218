//! arnold2013 §5: orders of local and global errors, what the estimates are worth, and error-controlled runs of the
//! quarter car in both splits, subsystems crossed exactly.
//!
//! The paper shows figures, no numbers: slopes and ratios are judged by its formulas, step counts by two prototypes.

use crate::error_study::{
    Control, Split, adaptive_run, constant_run, constant_steps_for, local_errors, slope, started,
};
use crate::{Plan, Quantity};
use powerbond::Error;
use powerbond::core::error::RunError;
use powerbond::core::estimator::BigStep;

/// Where the two steps of a local error start, in s. One of many starts: elsewhere the leading term of the force's
/// error may still be small against the next one at this step.
const START: f64 = 0.57;
/// The smallest step of local errors, in s.
const SMALLEST: f64 = 1e-4;
/// Length of whole runs, in s.
const STOP: f64 = 3.0;
/// Steps of the finer run of a global slope.
const STEPS: u32 = 32_000;
/// Of the estimated error of a pair of steps, relative to 0.1 m, 1 m/s and 1000 N.
const TOLERANCE: f64 = 1e-4;
/// Slopes may differ by this.
const SLOPE: f64 = 0.05;
/// Ratios may differ by this share.
const RATIO: f64 = 0.02;
/// Step counts of the prototypes hold to this share: their nominal values, first step and starting values are not known.
const COUNT: f64 = 0.2;

const SPLITS: [(Split, &str, &str); 2] =
    [(Split::Dd, "dd", "displacement–displacement"), (Split::Fd, "fd", "force–displacement")];

/// All rows of the suite.
pub fn rows() -> Vec<Plan> {
    let mut plans = Vec::new();
    for (split, name, _) in SPLITS {
        for k in 0..3u8 {
            let what = if split == Split::Dd { "all outputs" } else { "the force" };
            plans.push(Plan {
                id: format!("local/{name}/k{k}"),
                case: format!("hold {k}: local error of two steps, {what}, at H = 0.1 ms"),
                measure: Box::new(move |_| local(split, k)),
            });
        }
    }
    for (split, name, words) in SPLITS {
        for k in 0..3u8 {
            plans.push(Plan {
                id: format!("global/{name}/k{k}"),
                case: format!("hold {k}, {words}: rms error of 3 s at constant steps"),
                measure: Box::new(move |_| global(split, k)),
            });
        }
    }
    for (split, name, words) in SPLITS {
        plans.push(Plan {
            id: format!("structure/{name}"),
            case: format!("{words}: the feed-through graph"),
            measure: Box::new(move |_| structure(split)),
        });
    }
    for (split, name, _) in SPLITS {
        for k in 0..3u8 {
            plans.push(Plan {
                id: format!("adaptive/{name}/k{k}"),
                case: format!("hold {k}: EST_mod with rejection, tolerance 1e-4, against constant steps of the same rms error"),
                measure: Box::new(move |_| adaptive(split, k)),
            });
        }
    }
    plans
}

fn explain(error: RunError) -> Error {
    Error::accuracy(format!("the quarter car of arnold2013 failed: {error:?}"))
}

/// All outputs for dd; for fd the force, the only output that the estimates are right for.
fn judged(split: Split, errors: &[f64]) -> f64 {
    let list = if split == Split::Fd { &errors[2..] } else { errors };
    list.iter().map(|v| v * v).sum::<f64>().sqrt()
}

fn local(split: Split, k: u8) -> Result<Vec<Quantity>, Error> {
    let at = |h| local_errors(split, k, START, h, &[]).map_err(explain);
    let (double, single) = (at(2.0 * SMALLEST)?, at(SMALLEST)?);
    let error = judged(split, &single.error);
    let order = f64::from(k) + if split == Split::Fd { 1.0 } else { 2.0 };
    // With feed-through the published constants, c_mod - 1 = 1, 9/5 and 23/9, meet a true k + 1.
    let expected = match (split, k) {
        (Split::Fd, 1) => 10.0 / 9.0,
        (Split::Fd, 2) => 27.0 / 23.0,
        _ => 1.0,
    };
    let ratio = |name: &str, estimate: &[f64], expected: f64| {
        let measured = judged(split, estimate) / error;
        Quantity::range(name, "", "formula", expected * (1.0 - RATIO), expected * (1.0 + RATIO), measured)
    };
    Ok(vec![
        slope_near(order, slope(judged(split, &double.error), error)),
        ratio("ratio_rich", &single.rich, 1.0),
        ratio("ratio_mod", &single.published, expected),
    ])
}

fn slope_near(order: f64, measured: f64) -> Quantity {
    Quantity::range("slope", "", "formula", order - SLOPE, order + SLOPE, measured)
}

fn global(split: Split, k: u8) -> Result<Vec<Quantity>, Error> {
    let rms = |steps| constant_run(split, k, STOP, steps).map(|run| run.rms).map_err(explain);
    Ok(vec![slope_near(f64::from(k) + 1.0, slope(rms(STEPS / 2)?, rms(STEPS)?))])
}

/// dd has no feed-through; in fd the force depends on both motions of the chassis, and nothing on the force.
fn structure(split: Split) -> Result<Vec<Quantity>, Error> {
    let engine = started(split).map_err(explain)?;
    let found = engine.structure();
    let edges = found.edges.iter().map(Vec::len).sum::<usize>() as f64;
    let nilpotency = found.nilpotency.map_or(f64::NAN, |m| m as f64);
    let (e, m) = if split == Split::Dd { (0.0, 1.0) } else { (2.0, 2.0) };
    Ok(vec![
        Quantity::range("edges", "", "paper", e, e, edges),
        Quantity::range("nilpotency", "", "paper", m, m, nilpotency),
    ])
}

/// Accepted steps, steps of each subsystem and constant steps of the prototypes.
fn prototype(split: Split, k: u8) -> Option<[f64; 3]> {
    match (split, k) {
        (Split::Dd, 2) => Some([194.0, 354.0, 790.0]),
        (Split::Fd, 2) => Some([316.0, 534.0, 860.0]),
        _ => None,
    }
}

fn adaptive(split: Split, k: u8) -> Result<Vec<Quantity>, Error> {
    let control = Control { tolerance: TOLERANCE, big: BigStep::Modified, extrapolate: false };
    let run = adaptive_run(split, k, STOP, control).map_err(explain)?;
    let constant = f64::from(constant_steps_for(split, k, STOP, run.rms).map_err(explain)?);
    let (accepted, steps) = (run.accepted as f64, run.sweeps as f64);
    // One big and two small steps for every pair, accepted or not.
    let made = 3.0 * (accepted / 2.0 + run.rejected as f64);
    let counts = [("accepted", accepted), ("subsystem_steps", steps), ("constant_steps", constant)];
    let bounds: [(&'static str, f64, f64); 3] = match prototype(split, k) {
        Some(expected) => {
            let [a, s, c] = expected.map(|n| ("prototype", n * (1.0 - COUNT), n * (1.0 + COUNT)));
            // With k = 2 error control halves the steps at least.
            [(a.0, a.1, a.2.min(constant / 2.0)), s, (c.0, c.1.max(2.0 * accepted), c.2)]
        }
        // No count is published: no more steps than a constant step of the same error, which costs ten times at most.
        None => [
            ("finer run", constant / 10.0, constant),
            ("formula", made, made),
            ("finer run", accepted, 10.0 * accepted),
        ],
    };
    let judge = |((name, measured), (reference, low, high)): ((&str, f64), (&'static str, f64, f64))| {
        Quantity::range(name, "", reference, low, high, measured)
    };
    Ok(counts.into_iter().zip(bounds).map(judge).collect())
}
