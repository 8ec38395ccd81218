//! What a run tells the log while it goes on.

use crate::assemble::Assembled;
use powerbond_core::observe::{Flow, Observer, StepReport};
use powerbond_core::step::StepView;
use serde_json::Value;
use tracing::{debug, info, trace};

/// The part of the log that is about single steps.
const STEPS: &str = "powerbond::steps";

/// Tells the log what is about to run, and with which configuration: once.
pub fn begin(assembled: &Assembled, config: &Value) {
    let network = assembled.engine.network();
    info!(
        target: "powerbond::run",
        subsystems = assembled.names.subsystems.len(),
        inputs = network.n_inputs,
        bonds = assembled.names.bonds.len(),
        "assembled; the effective configuration follows"
    );
    for (section, values) in config.as_object().into_iter().flatten().filter(|(s, _)| *s != "connections") {
        info!(target: "powerbond::config", "{section} = {values}");
    }
    for connection in config["connections"].as_array().into_iter().flatten() {
        debug!(target: "powerbond::config", "connection {connection}");
    }
}

/// An observer that tells the log of steps: of those that were not plain ones at `debug`, of all at `trace`.
pub struct StepLog;

impl Observer for StepLog {
    fn accepted(&mut self, step: &StepView<'_>, report: &StepReport<'_>) -> Flow {
        let (t, h) = (step.span.end, step.span.h);
        let norm = report.estimates.first().map(|e| e.norm);
        if report.rejections > 0 {
            debug!(target: STEPS, t, h, norm, rejections = report.rejections, "step accepted after rejected attempts");
        }
        if report.over_tolerance {
            debug!(target: STEPS, t, h, norm, "step accepted over tolerance");
        }
        trace!(target: STEPS, t, h, norm, next_h = report.next_h, "step {}", report.number);
        Flow::Continue
    }
}
