//! Sweeps: many runs of one system with other parameters, each a pure function of system, files, parameters and method.
//!
//! A [`Plan`] says which runs there are and what is wanted of them. Where runs are done is somebody else's business: `powerbond-worker`
//! does them in processes of this machine, Python hands them to other machines. What a run came to is a [`Row`](schema::Row), made by
//! [`measured`] or [`failed`] here, and a [`Dataset`] keeps rows.

mod dataset;
mod design;
mod distribution;
mod domain;
mod expression;
mod identity;
mod page;
mod parquet;
mod plan;
mod random;
mod read;
pub mod schema;
mod sobol;
mod totals;
mod value;

pub use dataset::{Dataset, Existing, Known, RECORD, Record, changed, known, merge, scan};
pub use expression::Expression;
pub use identity::Identity;
pub use page::{REPORT, detail, write as write_report};
pub use plan::{Draft, Limits, Output, Plan, Point};
pub use totals::{Failed, Spread, Totals};
pub use value::Value;

use crate::Error;
use crate::table::Table;
use schema::{OK, Outcome};
use serde::Deserialize;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// How a run ended that did not come to its end, by the kind of its error.
pub fn status_of(error: &Error) -> &'static str {
    match error {
        Error::Input(_) => "refused",
        Error::Model(_) => "failed",
        Error::Crash(_) => "crashed",
        Error::Deadline(_) => "timeout",
        Error::Accuracy(_) => "inaccurate",
        Error::Remote(_) => "lost",
        Error::Output { .. } => "not written",
    }
}

/// When a run began.
#[derive(Clone, Copy, Debug)]
pub struct Begun {
    at: i64,
    since: Instant,
}

impl Begun {
    /// It begins now.
    pub fn now() -> Self {
        let at = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_micros() as i64);
        Begun { at, since: Instant::now() }
    }
}

/// What of `summary.json` goes into a row.
#[derive(Deserialize)]
struct Brief {
    outcome: String,
    verdict: BriefVerdict,
    steps: BriefSteps,
}

#[derive(Deserialize)]
struct BriefVerdict {
    word: String,
    error: BriefError,
}

#[derive(Deserialize)]
struct BriefError {
    estimate: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
}

#[derive(Deserialize)]
struct BriefSteps {
    accepted: u64,
}

/// What a run came to that began; `None` if somebody stopped it, which says nothing about it. Of one that took too long that is the
/// error.
pub fn measured(
    plan: &Plan,
    begun: Begun,
    summary: &str,
    error: Option<&Error>,
    exceeded: &[String],
    table: &Table,
) -> Option<Outcome> {
    let Ok(Brief { outcome, verdict, steps }) = serde_json::from_str(summary) else {
        return Some(failed(begun, &Error::accuracy("the run left no summary")));
    };
    if outcome == "stopped" && error.is_none() {
        return None;
    }
    let status = match (error, exceeded.first()) {
        (Some(error), _) => status_of(error),
        (None, Some(_)) => "inaccurate",
        (None, None) => OK,
    };
    let outputs = plan.outputs().iter().map(|output| output.expression.evaluate(table));
    let BriefError { estimate, low, high } = verdict.error;
    Some(Outcome {
        status,
        verdict: Some(verdict.word),
        error: [estimate, low, high],
        message: error.map(Error::to_string).or_else(|| exceeded.first().cloned()),
        steps: Some(steps.accepted),
        seconds: begun.since.elapsed().as_secs_f64(),
        started: begun.at,
        outputs: if error.is_none() { outputs.collect() } else { Vec::new() },
    })
}

/// What a run came to that did not begin, or whose process died.
pub fn failed(begun: Begun, error: &Error) -> Outcome {
    Outcome {
        status: status_of(error),
        message: Some(error.to_string()),
        seconds: begun.since.elapsed().as_secs_f64(),
        started: begun.at,
        ..Outcome::default()
    }
}
