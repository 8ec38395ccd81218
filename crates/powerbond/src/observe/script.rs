//! Steps and events that are written by hand, for tests of what observes a run.

use powerbond_core::energy::Bonds;
use powerbond_core::network::Wiring;
use powerbond_core::observe::{Details, EventView, Observer, StartView, StepReport};
use powerbond_core::step::StepView;
use powerbond_core::subsystem::Span;

/// What an observer is told.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Point {
    /// The start of the run.
    Start,
    /// The end of a step that nothing follows.
    Step,
    /// The end of a step, with the limits from the left at a discontinuity.
    Left,
    /// The limits from the right at the same time.
    Right,
}

/// Tells an observer of points: time, inputs, outputs. Inputs are held over a step as they were at its start; there are no
/// bonds, no estimators and no probes.
pub fn play(observer: &mut dyn Observer, points: impl IntoIterator<Item = (Point, f64, Vec<f64>, Vec<f64>)>) {
    let (bonds, wiring) = (Bonds::default(), Wiring::default());
    let (mut number, mut after_restart) = (0, true);
    let mut last = (0.0, Vec::new(), Vec::new());
    for (point, t, inputs, outputs) in points {
        match point {
            Point::Start => {
                observer.started(&StartView {
                    t,
                    stop: f64::NAN,
                    inputs: &inputs,
                    outputs: &outputs,
                    probes: &[],
                });
            }
            Point::Right => {
                observer.event(&EventView { t, inputs: &inputs, outputs: &outputs, probes: &[] });
                after_restart = true;
            }
            Point::Step | Point::Left => {
                let (start, held, y_prev) = &last;
                number += 1;
                let step = StepView {
                    span: Span { start: *start, end: t, h: t - start },
                    held_end: held,
                    corrected_end: held,
                    fresh: &inputs,
                    y_prev,
                    y_step: &outputs,
                    y_fresh: &outputs,
                    ports: &[],
                    flows: &[],
                    bonds: &bonds,
                    wiring: &wiring,
                    feed_through: None,
                    defects: None,
                    mean_defect: None,
                    held_order: None,
                    external: &[],
                    doubled: None,
                    identified: None,
                    after_restart,
                };
                let report = StepReport {
                    number,
                    estimates: &[],
                    next_h: step.span.h,
                    probes: &[],
                    rejections: 0,
                    over_tolerance: false,
                    rejected_norm: f64::NAN,
                    details: Details::default(),
                    limited_by: None,
                    loop_evaluations: 0,
                    at_ceiling: false,
                    event_follows: point == Point::Left,
                };
                observer.accepted(&step, &report);
                after_restart = false;
            }
        }
        last = (t, inputs, outputs);
    }
}
