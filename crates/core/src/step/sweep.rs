//! One macro step through the stages of a schedule. Histories stay as they are.

use super::inputs::{Exchange, StageContext};
use super::record::StepRecord;
use super::schedule::{Schedule, Stage};
use super::threads::{Workers, inputs_of};
use crate::correction::InputCorrection;
use crate::energy::Meter;
use crate::error::RunError;
use crate::hold::{HeldInputs, Hold};
use crate::network::{Member, Network};
use crate::subsystem::{Advance, Inputs, Span, StepEvent, SubsystemError};

/// How far a sweep came.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Swept {
    /// To the end.
    Whole,
    /// A subsystem stopped early, or announced a discontinuity that the rest of the step must not cross.
    Early { member: usize, reached: f64 },
    /// A subsystem ended the simulation before the end of the step.
    Terminated { member: usize, reached: f64 },
}

/// Who takes part in a sweep beside the subsystems.
pub(crate) struct Sweep<'a> {
    pub schedule: &'a Schedule,
    pub hold: &'a dyn Hold,
    pub correction: Option<&'a dyn InputCorrection>,
    /// Threads that advance the members of a stage side by side.
    pub workers: Option<&'a mut Workers>,
    /// Go on with NaN and infinite outputs.
    pub allow_nonfinite: bool,
    /// The step before, if what was held on it goes on.
    pub onward: Option<&'a Span>,
}

impl Sweep<'_> {
    /// Crosses the span of `record` with all members.
    pub fn run(
        &mut self,
        network: &mut Network,
        exchange: &mut Exchange,
        meter: &mut Meter,
        record: &mut StepRecord,
    ) -> Result<Swept, RunError> {
        let schedule = self.schedule;
        if schedule.chained {
            record.y_step.copy_from_slice(&record.y_prev);
            exchange.begin_sweep(schedule);
        }
        meter.begin(&mut record.ports);
        record.mean_defect.iter_mut().for_each(|mean| mean.begin());
        record.announced = f64::INFINITY;
        record.eventful.clear();
        for stage in &schedule.stages {
            let part = record.span.part(stage.part, stage.parts);
            let (hold, span, onward) = (self.hold, record.span, self.onward);
            let context = StageContext { network, schedule, stage, hold, span, part, onward };
            exchange.write_inputs(&context, record);
            if let Some(correction) = self.correction {
                exchange.correct(correction, &context, record);
            }
            let before = if stage.part == 0 { &record.y_prev } else { &record.y_step };
            meter.open(&network.bonds, &stage.members, &exchange.held, part.h, before);
            record.mean_defect.iter_mut().for_each(|mean| mean.hold(stage, part.h, &exchange.held));
            record.see_inside(stage, part.h, true);
            let outcome = self.advance(network, stage, part, &exchange.held, record)?;
            match outcome.early {
                Some((member, reached)) if !outcome.terminated => {
                    return Ok(Swept::Early { member, reached });
                }
                // Alone and in one go, it made a shorter step.
                Some((_, reached)) if is_alone(network, schedule) && reached > record.span.start => {
                    let start = record.span.start;
                    record.span = Span { start, end: reached, h: reached - start };
                }
                Some((member, reached)) => return Ok(Swept::Terminated { member, reached }),
                None => {}
            }
            record.announced = record.announced.min(outcome.next_event);
            if !self.allow_nonfinite {
                check_finite(stage, &record.y_step, part)?;
            }
            record.see_inside(stage, part.h, false);
            if stage.parts > 1 {
                meter.sub_step(&network.bonds, &stage.members, &exchange.held, part, record);
            }
        }
        Ok(Swept::Whole)
    }

    /// Lets the members of a stage cross it.
    fn advance(
        &mut self,
        network: &mut Network,
        stage: &Stage,
        part: Span,
        held: &HeldInputs,
        record: &mut StepRecord,
    ) -> Result<StageOutcome, RunError> {
        let StepRecord { y_step, eventful, span, .. } = record;
        match &mut self.workers {
            Some(workers) if stage.members.len() > 1 => {
                workers.advance(&mut network.members, stage, part, held, y_step);
                let mut outcome = StageOutcome::new(part, span.end);
                for &s in &stage.members {
                    if !outcome.add(s, workers.outcome(s), eventful)? {
                        break;
                    }
                }
                Ok(outcome)
            }
            _ => {
                let advance = match held.slope.is_empty() {
                    true => advance_in_turn::<false>,
                    false => advance_in_turn::<true>,
                };
                advance(&mut network.members, stage, (part, span.end), held, y_step, eventful)
            }
        }
    }
}

/// Lets the members of a stage cross it one after the other; with derivatives of inputs if these are `SLOPED`.
#[inline(never)] // Its loop keeps its registers.
fn advance_in_turn<const SLOPED: bool>(
    all: &mut [Member],
    stage: &Stage,
    (part, end): (Span, f64),
    held: &HeldInputs,
    y: &mut [f64],
    eventful: &mut Vec<(usize, StepEvent)>,
) -> Result<StageOutcome, RunError> {
    let mut outcome = StageOutcome::new(part, end);
    for run in &stage.runs {
        for (s, member) in run.clone().zip(&mut all[run.clone()]) {
            let inputs = match SLOPED {
                true => inputs_of(held, &member.inputs),
                false => Inputs::constant(&held.value[member.inputs.clone()]),
            };
            let advanced = member.simulator.advance(part, inputs, &mut y[member.outputs.clone()]);
            if !outcome.add(s, advanced, eventful)? {
                return Ok(outcome);
            }
        }
    }
    Ok(outcome)
}

/// What the members of a stage came to in crossing it.
struct StageOutcome {
    /// In s; infinite if no member announced a discontinuity.
    next_event: f64,
    /// A member that stopped early, and when. Those after it were not asked.
    early: Option<(usize, f64)>,
    /// It ended the simulation.
    terminated: bool,
    /// What was to be crossed.
    part: Span,
    /// Where that is as good as crossed, in s.
    nearly: f64,
    /// The end of the macro step, in s.
    end: f64,
}

impl StageOutcome {
    /// Before anybody was asked to cross `part` of a macro step up to `end`.
    #[inline(always)]
    fn new(part: Span, end: f64) -> Self {
        let nearly = part.end - 1e-9 * part.h;
        StageOutcome { next_event: f64::INFINITY, early: None, terminated: false, part, nearly, end }
    }

    /// Adds what member `s` came to; false if it stopped early.
    #[inline(always)]
    fn add(
        &mut self,
        s: usize,
        advanced: Result<Advance, SubsystemError>,
        eventful: &mut Vec<(usize, StepEvent)>,
    ) -> Result<bool, RunError> {
        let advance = match advanced {
            Ok(advance) => advance,
            Err(error) => {
                return Err(RunError::Subsystem { member: s, phase: "step", span: self.part, error });
            }
        };
        if advance.reached < self.nearly {
            self.early = Some((s, advance.reached));
            self.terminated = advance.event == StepEvent::Terminated;
            if self.terminated {
                note(eventful, s, advance.event);
            }
            return Ok(false);
        }
        if advance.event != StepEvent::None {
            note(eventful, s, advance.event);
        }
        if let Some(t) = advance.next_event {
            self.announce(t);
        }
        Ok(true)
    }

    /// What is announced for this macro step is over before it ends, or it was a sub-step too late.
    #[inline(never)] // Most members announce nothing, and then no register is kept for it.
    fn announce(&mut self, t: f64) {
        if t > self.end {
            self.next_event = self.next_event.min(t);
        }
    }
}

/// Whether there is one member, which crosses a macro step at once.
fn is_alone(network: &Network, schedule: &Schedule) -> bool {
    network.members.len() == 1 && schedule.stages.iter().all(|stage| stage.parts == 1)
}

/// Notes an event of member `s`: the last one of a macro step counts.
#[cold]
fn note(eventful: &mut Vec<(usize, StepEvent)>, s: usize, event: StepEvent) {
    match eventful.iter_mut().find(|(known, _)| *known == s) {
        Some(known) => known.1 = event,
        None => eventful.push((s, event)),
    }
}

/// An error if an output of a stage is not finite. Once per stage: a look at every member's few numbers waits for them.
fn check_finite(stage: &Stage, y: &[f64], part: Span) -> Result<(), RunError> {
    for outputs in &stage.outputs {
        let y = &y[outputs.clone()];
        if !is_finite(y) {
            return Err(non_finite(y, outputs.start, part));
        }
    }
    Ok(())
}

/// Whether all values are finite: only then is an exponent less than all ones, so that adding one to it stays below the sign.
#[inline]
pub(crate) fn is_finite(values: &[f64]) -> bool {
    const EXPONENT: u64 = 0x7ff0_0000_0000_0000;
    const ONE: u64 = 0x0010_0000_0000_0000;
    values.iter().fold(0, |all, v| all | ((v.to_bits() & EXPONENT) + ONE)) >> 63 == 0
}

/// The error of outputs `y`, of which the first has index `first` and one is not finite.
pub(crate) fn non_finite(y: &[f64], first: usize, span: Span) -> RunError {
    let k = y.iter().position(|v| !v.is_finite()).unwrap_or(0);
    RunError::NonFinite { output: first + k, value: y[k], span }
}
