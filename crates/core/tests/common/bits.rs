//! Everything that a run comes to, as bits: two runs are the same or they are not.

use powerbond_core::observe::{EventView, Flow, Observer, StepReport};
use powerbond_core::run::Engine;
use powerbond_core::step::StepView;

/// Every number that an observer sees, row by row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bits(pub Vec<Vec<u64>>);

impl Bits {
    fn push(&mut self, values: impl IntoIterator<Item = f64>) {
        self.0.push(values.into_iter().map(f64::to_bits).collect());
    }
}

impl Observer for Bits {
    fn accepted(&mut self, step: &StepView<'_>, report: &StepReport<'_>) -> Flow {
        let mut row = vec![step.span.start, step.span.end, step.span.h, report.next_h];
        for part in [step.held_end, step.corrected_end, step.fresh, step.y_prev, step.y_step, step.y_fresh] {
            row.extend(part);
        }
        for port in step.ports {
            row.extend([port.power, port.consistent_power, port.energy]);
        }
        for flow in step.flows {
            row.extend([flow.residual_power, flow.held_residual_power, flow.residual_energy]);
            row.extend([flow.transmitted_power, flow.exchanged_power]);
        }
        row.extend(step.feed_through.unwrap_or(&[]));
        row.extend(report.probes);
        row.extend(report.estimates.iter().flat_map(|e| [e.norm, e.order]));
        row.push(f64::from(report.rejections));
        row.push(f64::from(u8::from(step.after_restart)));
        self.push(row);
        Flow::Continue
    }

    fn event(&mut self, event: &EventView<'_>) -> Flow {
        let values = [event.inputs, event.outputs, event.probes].into_iter().flatten().copied();
        self.push([event.t].into_iter().chain(values));
        Flow::Continue
    }
}

/// What an engine tells of itself, in words.
pub fn state(engine: &Engine) -> String {
    let statistics = engine.statistics();
    let medians: Vec<f64> = statistics.estimates.iter().map(|norms| norms.median()).collect();
    let bonds = engine.network().bonds.bonds.len();
    let spikes: Vec<_> = (0..bonds).map(|b| engine.watch().spikes(b)).collect();
    let diagnostics = engine.driving().map(|estimator| format!("{:?}", estimator.diagnostics()));
    format!(
        "{} {:?} {:?} {:?} {statistics:?} {} {medians:?} {:?} {:?} {:?} {:?} {:?} {:?} {spikes:?} {diagnostics:?} {:?}",
        engine.time(),
        engine.inputs(),
        engine.outputs(),
        engine.probes(),
        statistics.median_step(),
        engine.meter().sums,
        engine.meter().port_energy,
        engine.corrections(),
        engine.identified(),
        engine.shares_of_identified_use(),
        engine.order_counts(),
        engine.solved_loops().collect::<Vec<_>>(),
    )
}

/// Up to `n` calls of `step`, and what came of them.
pub fn steps(engine: &mut Engine, n: usize) -> (Bits, String) {
    let mut bits = Bits::default();
    for _ in 0..n {
        engine.step(&mut bits).expect("a sound step");
    }
    (bits, state(engine))
}
