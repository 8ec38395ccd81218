//! How an instance crosses a span of time: inputs on the way, unfinished steps, events.

use crate::calls::Stepped;
use crate::fmi3::Intermediate;
use crate::machine::Machine;
use crate::packets::Cell;
use crate::status::{OK, Status};
use crate::transfer::Incoming;
use powerbond_core::subsystem::{Inputs, Span, StepEvent, SubsystemError};
use std::ffi::c_int;

/// How many pieces a span may fall into before the model is said to be stuck.
const MAX_PIECES: u32 = 1000;

/// How many times a step that came nowhere is tried with half its length.
const MAX_HALVINGS: u32 = 30;

/// Which step sizes an FMU takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum StepRule {
    /// All.
    Any,
    /// One and the same in a run; the first one counts.
    Constant(Option<f64>),
    /// Multiples of its internal step, in seconds.
    MultiplesOf(f64),
}

impl StepRule {
    /// Refuses a step size that the FMU does not take. A rest that the clock merged (1e-6 of a step) does not count.
    pub fn check(&mut self, h: f64) -> Result<(), SubsystemError> {
        let message = match self {
            StepRule::Any => return Ok(()),
            StepRule::Constant(first) => {
                let first = *first.get_or_insert(h);
                if (h - first).abs() <= 1e-5 * first {
                    return Ok(());
                }
                format!(
                    "the FMU supports one step size only (canHandleVariableCommunicationStepSize = false): the first \
                     was {first} s, this one is {h} s. Use a fixed step that divides the run, or set `any_step_size \
                     = true` for this FMU"
                )
            }
            StepRule::MultiplesOf(step) => {
                let ratio = h / *step;
                if ratio.round() >= 1.0 && (ratio - ratio.round()).abs() <= 1e-5 * ratio {
                    return Ok(());
                }
                format!(
                    "the FMU has a fixed internal step of {step} s (fixedInternalStepSize); {h} s is not a multiple"
                )
            }
        };
        Err(SubsystemError::Infeasible { message })
    }
}

/// Derivatives of inputs, as FMI 1 and 2 take them.
pub(crate) struct Derivatives {
    /// The real inputs; twice if second derivatives are given.
    pub references: Vec<u32>,
    /// 1 for the first half, 2 for the second.
    pub orders: Vec<c_int>,
    /// The place of each in the engine's inputs.
    pub places: Vec<u32>,
    pub values: Vec<f64>,
}

impl Derivatives {
    /// Sets the derivatives at `tau` seconds after the start of the span.
    fn send(&mut self, machine: &Machine, u: Inputs<'_>, tau: f64) -> Result<(), SubsystemError> {
        for ((value, &order), &place) in self.values.iter_mut().zip(&self.orders).zip(&self.places) {
            let curvature = u.curvature.get(place as usize).copied().unwrap_or(0.0);
            let slope = u.slope.get(place as usize).copied().unwrap_or(0.0);
            *value = if order == 1 { slope + tau * curvature } else { curvature };
        }
        let code = machine.calls.set_input_derivatives(&self.references, &self.orders, &self.values);
        machine.check(code, machine.calls.names().derivatives)
    }
}

/// How far a span was crossed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Crossed {
    pub reached: f64,
    pub event: StepEvent,
}

/// What an instance needs to cross a span.
#[repr(C)] // The first two are read in every step, the rest is not: see [`crate::FmuSubsystem`].
pub(crate) struct Stepper {
    /// The engine keeps states: an unfinished step is given back to it instead of being continued with old inputs.
    pub engine_goes_back: bool,
    /// There are snapshots, which may be loaded at any time.
    pub has_snapshots: bool,
    /// The time of the kept state.
    pub saved_time: f64,
    pub event_mode: bool,
    /// The last step ended at an event that has not been handled: outputs are the limit from the left.
    pub pending: bool,
    /// So it was when the state was kept.
    pub saved_pending: bool,
    /// Times that are no further apart than this, in seconds, are one; see [`powerbond_core::time::resolution`].
    pub slack: f64,
    pub sub_steps: u32,
    pub rule: StepRule,
    pub derivatives: Option<Derivatives>,
    pub intermediate: Option<Intermediate>,
    /// Inputs at a later time than the start of the span.
    pub scratch: Vec<f64>,
    /// Inputs in the middle of a sub-step.
    pub middle: Vec<f64>,
    /// Steps that fell into pieces.
    pub interrupted: u64,
    /// The next event that the kept state knew.
    pub saved_event: Option<f64>,
}

impl Stepper {
    /// Whether derivatives of inputs change what is called in a step.
    pub fn follows(&self) -> bool {
        self.derivatives.is_some() || self.intermediate.is_some() || self.sub_steps > 1
    }

    /// Sets the inputs and crosses `span`.
    pub fn cross(
        &mut self,
        machine: &Machine,
        inputs: &mut Incoming,
        span: Span,
        u: Inputs<'_>,
        state: *mut std::ffi::c_void,
    ) -> Result<Crossed, SubsystemError> {
        self.rule.check(span.h)?;
        if self.sub_steps > 1 && !u.slope.is_empty() {
            return self.cross_in_parts(machine, inputs, span, u, state);
        }
        let had_event = self.feed(machine, inputs, u.value, span.start)?;
        if machine.has_terminated() {
            return Ok(Crossed { reached: span.start, event: StepEvent::Terminated });
        }
        let code = self.step(machine, span, u, span.start, span.h)?;
        let mut crossed = self.follow_up(machine, inputs, span, u, state, code)?;
        if had_event {
            crossed.event = crossed.event.max(StepEvent::Handled);
        }
        Ok(crossed)
    }

    /// Sets the inputs before a step from `t`, and says whether that was an unannounced event. One that is pending there is
    /// handled with them (FMI 3.0.2, Event Mode, has it handled before the next step), and so is everything that changes at events
    /// only, at once.
    fn feed(
        &mut self,
        machine: &Machine,
        inputs: &mut Incoming,
        values: &[f64],
        t: f64,
    ) -> Result<bool, SubsystemError> {
        let was_pending = self.pending;
        let changes = inputs.needs_event(machine, values);
        if was_pending || changes {
            self.update(machine, inputs, values, t, || Ok(()))?;
        } else {
            machine.leave_event()?;
            inputs.send(machine, values)?;
        }
        Ok(changes && !was_pending)
    }

    /// Handles what happens at `t`, time standing still: sets the inputs in event mode, updates the discrete states and `get`s
    /// the limit from the right. May be repeated at one instant with other inputs.
    pub fn update(
        &mut self,
        machine: &Machine,
        inputs: &mut Incoming,
        values: &[f64],
        t: f64,
        get: impl FnOnce() -> Result<(), SubsystemError>,
    ) -> Result<(), SubsystemError> {
        machine.at_event((t, self.slack), || inputs.send(machine, values), get)?;
        self.pending = false;
        Ok(())
    }

    /// The next event that is announced, in s; not the one that is pending.
    pub fn next_event(&self, machine: &Machine, t: f64) -> Option<f64> {
        machine.next_event().filter(|&next| !(self.pending && next <= t + self.slack))
    }

    /// No state before `t` will be set again.
    #[inline]
    pub fn is_final(&self, t: f64) -> bool {
        // One question for most instances, which neither of both concerns.
        if !(self.has_snapshots | self.engine_goes_back) {
            return true;
        }
        !self.has_snapshots && t <= self.saved_time
    }

    /// Equal parts, each with the inputs at its middle.
    fn cross_in_parts(
        &mut self,
        machine: &Machine,
        inputs: &mut Incoming,
        span: Span,
        u: Inputs<'_>,
        state: *mut std::ffi::c_void,
    ) -> Result<Crossed, SubsystemError> {
        let mut values = std::mem::take(&mut self.middle);
        let crossed = self.cross_parts_with(&mut values, machine, inputs, span, u, state);
        self.middle = values;
        crossed
    }

    fn cross_parts_with(
        &mut self,
        values: &mut [f64],
        machine: &Machine,
        inputs: &mut Incoming,
        span: Span,
        u: Inputs<'_>,
        state: *mut std::ffi::c_void,
    ) -> Result<Crossed, SubsystemError> {
        let mut total = Crossed { reached: span.start, event: StepEvent::None };
        for index in 0..self.sub_steps {
            let part = span.part(index, self.sub_steps);
            if self.pending {
                let tau = part.start - span.start;
                values.iter_mut().enumerate().for_each(|(i, value)| *value = u.at(i, tau));
                self.update(machine, inputs, values, part.start, || Ok(()))?;
                total.event = total.event.min(StepEvent::Handled);
            }
            let middle = 0.5 * (part.start + part.end) - span.start;
            values.iter_mut().enumerate().for_each(|(i, value)| *value = u.at(i, middle));
            let held = Inputs::constant(values);
            if self.feed(machine, inputs, held.value, part.start)? {
                total.event = total.event.max(StepEvent::Handled);
            }
            if machine.has_terminated() {
                return Ok(Crossed { reached: part.start, event: StepEvent::Terminated });
            }
            let code = self.step(machine, part, held, part.start, part.h)?;
            let crossed = self.follow_up(machine, inputs, part, held, state, code)?;
            total.reached = crossed.reached;
            total.event = total.event.max(crossed.event);
            if crossed.reached < part.end || crossed.event == StepEvent::Terminated {
                break;
            }
        }
        Ok(total)
    }

    /// One call of the step function from `t`; inputs are set, their derivatives are not yet.
    fn step(
        &mut self,
        machine: &Machine,
        span: Span,
        u: Inputs<'_>,
        t: f64,
        h: f64,
    ) -> Result<c_int, SubsystemError> {
        machine.leave_event()?;
        if let (Some(derivatives), false) = (&mut self.derivatives, u.slope.is_empty()) {
            derivatives.send(machine, u, t - span.start)?;
        }
        let is_final = self.is_final(t);
        let h = self.reaching(machine, t, h);
        let Some(held) = &mut self.intermediate else { return Ok(machine.calls.step(t, h, is_final)) };
        let (code, asked) = machine.calls.step_with_held(held, (u, span.start), (t, h, is_final));
        if let Some(time) = asked.odd_time {
            let (step, end) = (machine.calls.names().step, t + h);
            let message = format!(
                "`{step}` asks for inputs at {time} s (intermediateUpdateTime) in a step from {t} s to {end} s"
            );
            return Err(SubsystemError::Infeasible { message });
        }
        machine.check(asked.code, machine.calls.names().set_real)?;
        Ok(code)
    }

    /// After a step, `code` its answer; unless OK, with something special about it: a warning, an event, an early return, a discard.
    pub fn follow_up(
        &mut self,
        machine: &Machine,
        inputs: &mut Incoming,
        span: Span,
        u: Inputs<'_>,
        state: *mut std::ffi::c_void,
        code: c_int,
    ) -> Result<Crossed, SubsystemError> {
        if code == OK && !self.is_due(machine, span.end) {
            return Ok(Crossed { reached: span.end, event: StepEvent::None });
        }
        let call = machine.calls.names().step;
        let mut crossed = Crossed { reached: span.start, event: StepEvent::None };
        let mut stepped = if code == OK { Stepped::plain(OK) } else { machine.calls.last_step() };
        let mut target = span.end;
        let (mut pieces, mut halvings) = (0, 0);
        loop {
            let t = crossed.reached;
            let discarded = Status::from_code(stepped.code) == Status::Discard;
            if !discarded {
                machine.check(stepped.code, call)?;
            }
            let reached = self.arrival(machine, &stepped, t, target)?;
            let advanced = reached > t;
            crossed.reached = reached;
            let at_end = reached >= span.end - 1e-9 * span.h;
            if stepped.terminate {
                crossed.reached = if at_end { span.end } else { reached };
                crossed.event = StepEvent::Terminated;
                return Ok(crossed);
            }
            self.pending = self.event_mode && (stepped.event || self.is_due(machine, reached));
            if at_end || (advanced && self.engine_goes_back) {
                // Outputs are read in step mode, before the event. `update` or the next step handles it.
                if at_end {
                    crossed.reached = span.end;
                }
                if self.pending {
                    crossed.event = StepEvent::Pending;
                }
                return Ok(crossed);
            }
            crossed.event = StepEvent::Handled;
            self.interrupted += u64::from(pieces == 0);
            pieces += 1;
            let rest = span.end - reached;
            let mut h = rest;
            if advanced {
                halvings = 0;
            } else if discarded || !self.pending {
                halvings += 1;
                h = (target - t) / 2.0;
                if self.engine_goes_back && self.saved_time == t && !state.is_null() {
                    machine.check(machine.calls.set_state(state), machine.calls.names().set_state)?;
                    inputs.numbers.forget();
                    inputs.cells.iter_mut().for_each(Cell::go_back);
                    machine.set_next_event(self.saved_event);
                    self.pending = self.saved_pending;
                }
            }
            if halvings > MAX_HALVINGS || pieces > MAX_PIECES {
                let remark = if halvings > MAX_HALVINGS {
                    format!("no progress at t = {reached} s, even with a step of {h:e} s")
                } else {
                    format!(
                        "it ended early {MAX_PIECES} times in a step from {} s, and is at {reached} s",
                        span.start
                    )
                };
                return Err(machine.fault(Status::from_code(stepped.code), call, &remark));
            }
            target = if h == rest { span.end } else { reached + h };
            let tau = reached - span.start;
            let mut values = std::mem::take(&mut self.scratch);
            values.iter_mut().enumerate().for_each(|(i, value)| *value = u.at(i, tau));
            let fed = self.feed(machine, inputs, &values, reached);
            self.scratch = values;
            fed?;
            if machine.has_terminated() {
                return Ok(Crossed { reached, event: StepEvent::Terminated });
            }
            let code = self.step(machine, span, u, reached, h)?;
            stepped = if code == OK { Stepped::plain(OK) } else { machine.calls.last_step() };
        }
    }

    /// The length of a step of about `h` from `t`. Where it ends at an announced event but for round-off, it ends there, also for an
    /// FMU that adds the length to the start: many compare their own time with that of the event to the last bit.
    fn reaching(&self, machine: &Machine, t: f64, h: f64) -> f64 {
        let ends_there = |next: &f64| self.event_mode && (t + h - *next).abs() <= self.slack && *next > t;
        match machine.next_event().filter(ends_there) {
            Some(next) if t + (next - t) < next => (next - t).next_up(),
            Some(next) => next - t,
            None => h,
        }
    }

    /// Whether the time event that the FMU announced has come by `t`. FMI 3.0.2 (Event Mode) has the importer handle it
    /// then, whether or not the step that ends there says so.
    fn is_due(&self, machine: &Machine, t: f64) -> bool {
        self.event_mode && machine.next_event().is_some_and(|next| next <= t + self.slack)
    }

    /// Where a step from `t` to `target` ended; an impossible answer is an error.
    fn arrival(
        &self,
        machine: &Machine,
        stepped: &Stepped,
        t: f64,
        target: f64,
    ) -> Result<f64, SubsystemError> {
        let Some(reached) = stepped.reached else {
            // Without a time, a discarded step came nowhere.
            return Ok(if Status::from_code(stepped.code) == Status::Discard { t } else { target });
        };
        let slack = 1e-9 * (target - t) + 4.0 * f64::EPSILON * target.abs();
        if !(reached >= t - slack && reached <= target + slack) {
            let remark = format!(
                "it reports {reached} s as the last successful time of a step from {t} s to {target} s"
            );
            let status = Status::from_code(stepped.code);
            return Err(machine.fault(status, machine.calls.names().step, &remark));
        }
        Ok(if reached >= target - slack { target } else { reached.max(t) })
    }
}

#[cfg(test)]
mod tests {
    use super::StepRule;

    #[test]
    fn step_sizes_that_an_fmu_does_not_take_are_refused() {
        let check = |mut rule: StepRule, sizes: &[f64], taken: &[bool]| {
            let found: Vec<bool> = sizes.iter().map(|&h| rule.check(h).is_ok()).collect();
            assert_eq!(found, taken, "{rule:?}");
        };
        check(StepRule::Any, &[0.1, 0.3], &[true, true]);
        check(StepRule::Constant(None), &[0.1, 0.1 + 1e-9, 0.05], &[true, true, false]);
        check(StepRule::MultiplesOf(0.1), &[0.1, 0.3, 0.25, 0.01], &[true, true, false, false]);
    }
}
