//! An observer that keeps everything it sees.

use powerbond_core::estimator::Estimate;
use powerbond_core::observe::{EventView, Flow, Observer, StartView, StepReport};
use powerbond_core::step::StepView;
use powerbond_core::subsystem::Span;

/// What a row shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Start,
    /// The end of a step: limits from the left.
    Step,
    /// Limits from the right.
    Event,
}

#[derive(Clone, Debug)]
pub struct Seen {
    pub kind: Kind,
    pub t: f64,
    pub u: Vec<f64>,
    pub y: Vec<f64>,
    pub probes: Vec<f64>,
    /// Of steps only.
    pub span: Span,
    pub held_end: Vec<f64>,
    pub corrected_end: Vec<f64>,
    pub y_step: Vec<f64>,
    pub estimates: Vec<Estimate>,
    pub event_follows: bool,
    pub over_tolerance: bool,
    pub rejections: u32,
}

/// Every row of a run.
#[derive(Default)]
pub struct Rows(pub Vec<Seen>);

impl Rows {
    pub fn steps(&self) -> impl Iterator<Item = &Seen> {
        self.0.iter().filter(|row| row.kind == Kind::Step)
    }

    pub fn events(&self) -> impl Iterator<Item = &Seen> {
        self.0.iter().filter(|row| row.kind == Kind::Event)
    }

    pub fn last(&self) -> &Seen {
        self.0.last().expect("a run has rows")
    }

    /// The rows at a time, to the bit.
    pub fn at(&self, t: f64) -> Vec<&Seen> {
        self.0.iter().filter(|row| row.t == t).collect()
    }

    /// The ends of all steps.
    pub fn ends(&self) -> Vec<f64> {
        self.steps().map(|row| row.t).collect()
    }

    fn still(kind: Kind, t: f64, u: &[f64], y: &[f64], probes: &[f64]) -> Seen {
        Seen {
            kind,
            t,
            u: u.to_vec(),
            y: y.to_vec(),
            probes: probes.to_vec(),
            span: Span { start: t, end: t, h: 0.0 },
            held_end: Vec::new(),
            corrected_end: Vec::new(),
            y_step: Vec::new(),
            estimates: Vec::new(),
            event_follows: false,
            over_tolerance: false,
            rejections: 0,
        }
    }
}

impl Observer for Rows {
    fn started(&mut self, start: &StartView<'_>) -> Flow {
        self.0.push(Rows::still(Kind::Start, start.t, start.inputs, start.outputs, start.probes));
        Flow::Continue
    }

    fn accepted(&mut self, step: &StepView<'_>, report: &StepReport<'_>) -> Flow {
        self.0.push(Seen {
            span: step.span,
            held_end: step.held_end.to_vec(),
            corrected_end: step.corrected_end.to_vec(),
            y_step: step.y_step.to_vec(),
            estimates: report.estimates.to_vec(),
            event_follows: report.event_follows,
            over_tolerance: report.over_tolerance,
            rejections: report.rejections,
            ..Rows::still(Kind::Step, step.span.end, step.fresh, step.y_fresh, report.probes)
        });
        Flow::Continue
    }

    fn event(&mut self, event: &EventView<'_>) -> Flow {
        self.0.push(Rows::still(Kind::Event, event.t, event.inputs, event.outputs, event.probes));
        Flow::Continue
    }
}

/// Runs an engine to its end.
pub fn watch(engine: &mut powerbond_core::run::Engine) -> Rows {
    let mut rows = Rows::default();
    engine.run(&mut rows).expect("a sound run");
    rows
}
