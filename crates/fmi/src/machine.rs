//! An instance with its place in the standard's state machine, and what becomes of every status.

use crate::calls::{Calls, DiscreteStates};
use crate::rounding;
use crate::status::{MISSING, OK, Status};
use crate::trace::Call;
use powerbond_core::subsystem::SubsystemError;
use std::cell::Cell;
use std::ffi::c_int;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// How many times discrete states may ask for another iteration.
const MAX_ITERATIONS: u32 = 1000;

/// Where an instance is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Instantiated,
    Initialization,
    Stepping,
    Ended,
    /// After an error: it can be reset and freed.
    Failed,
    /// After a fatal error: nothing may be called any more, on no instance of the FMU.
    Dead,
}

/// An instance and what is known about its state.
pub(crate) struct Machine {
    pub calls: Calls,
    phase: Cell<Phase>,
    warnings: Cell<u64>,
    rounded: Cell<bool>,
    steps: Cell<u32>,
    /// The instance was made with `eventModeUsed` (FMI 3).
    event_mode: bool,
    /// It is in event mode now.
    in_event: Cell<bool>,
    /// Shared by all instances of the FMU.
    fatal: Arc<AtomicBool>,
}

impl Machine {
    pub fn new(calls: Calls, event_mode: bool, fatal: Arc<AtomicBool>) -> Self {
        Machine {
            calls,
            phase: Cell::new(Phase::Instantiated),
            warnings: Cell::new(0),
            rounded: Cell::new(false),
            steps: Cell::new(0),
            event_mode,
            in_event: Cell::new(false),
            fatal,
        }
    }

    /// Whether the instance was made with `eventModeUsed` (FMI 3).
    pub fn uses_event_mode(&self) -> bool {
        self.event_mode
    }

    pub fn phase(&self) -> Phase {
        if self.fatal.load(Ordering::Relaxed) { Phase::Dead } else { self.phase.get() }
    }

    /// Whether it is in step mode and handles events in another.
    pub fn has_events_in_steps(&self) -> bool {
        self.event_mode && !self.in_event.get() && self.phase() == Phase::Stepping
    }

    /// The time of the next event, in s, if the FMU announced one.
    pub fn next_event(&self) -> Option<f64> {
        match &self.calls {
            Calls::Fmi3(instance) => instance.next_event().get(),
            _ => None,
        }
    }

    /// Another state has another next event, or none.
    pub fn set_next_event(&self, next: Option<f64>) {
        if let Calls::Fmi3(instance) = &self.calls {
            instance.next_event().set(next);
        }
    }

    pub fn set_phase(&self, phase: Phase) {
        self.phase.set(phase);
    }

    /// How many calls returned a warning.
    pub fn warnings(&self) -> u64 {
        self.warnings.get()
    }

    /// What a status means for the run: warnings are counted, everything else but OK ends it.
    #[inline]
    pub fn check(&self, code: c_int, call: &'static str) -> Result<(), SubsystemError> {
        if code == OK { Ok(()) } else { self.unusual(code, call) }
    }

    #[cold]
    fn unusual(&self, code: c_int, call: &'static str) -> Result<(), SubsystemError> {
        match Status::from_code(code) {
            Status::Ok => Ok(()),
            Status::Warning => {
                self.warnings.set(self.warnings.get() + 1);
                Ok(())
            }
            status => Err(self.fault(status, call, "")),
        }
    }

    /// Undoes a change of the floating-point mode, and says so once.
    pub fn keep_rounding(&self) {
        if rounding::restore() {
            self.complain_about_rounding();
        }
    }

    /// The same after a step of a light FMU, where asking for the mode costs as much as the step: it waits for all
    /// arithmetic to end. FMUs that change the mode do so when they start or in every step, so the first steps are
    /// looked at, then every 64th, and all of them once it has happened.
    #[inline(always)]
    pub fn keep_rounding_in_steps(&self) {
        let step = self.steps.get();
        self.steps.set(step.wrapping_add(1));
        if step < 8 || step & 63 == 0 || self.rounded.get() {
            self.keep_rounding();
        }
    }

    #[cold]
    fn complain_about_rounding(&self) {
        if !self.rounded.replace(true) {
            let message =
                "it changes the rounding mode or flushes denormals; the mode is restored after every call";
            let category = "powerbond".to_owned();
            self.calls.environment().line(Status::Warning, category, message.to_owned());
        }
    }

    /// Says that the FMU moved the process to another folder.
    pub fn complain_about_folder(&self) {
        let message = "it changes the working directory of the process; restored after the call";
        self.calls.environment().line(Status::Warning, "powerbond".to_owned(), message.to_owned());
    }

    /// The error of a failed call, with the FMU's last words.
    pub fn fault(&self, status: Status, call: &'static str, remark: &str) -> SubsystemError {
        match status {
            Status::Error | Status::Illegal(_) => self.phase.set(Phase::Failed),
            Status::Fatal => {
                self.phase.set(Phase::Dead);
                self.fatal.store(true, Ordering::Relaxed);
            }
            _ => {}
        }
        let words = self.calls.environment().take_recent();
        let hint = match status {
            Status::Pending => "the FMU steps asynchronously, but does not report when the step is finished",
            _ => remark,
        };
        let parts = [words.trim_start_matches(": "), hint];
        let message: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        SubsystemError::Status {
            call,
            status: status.name(self.calls.version()),
            message: message.join("; "),
        }
    }

    /// One visit to event mode from step mode and back: `set` what changes, update the discrete states until nothing more is
    /// needed, `get` what they came to, and note when the next event comes. FMI 3.0.2, Event Mode: inputs of all kinds may be set
    /// and all variables be read there.
    pub fn at_event(
        &self,
        set: impl FnOnce() -> Result<(), SubsystemError>,
        get: impl FnOnce() -> Result<(), SubsystemError>,
    ) -> Result<(), SubsystemError> {
        if let Calls::Fmi3(instance) = &self.calls {
            let code = self.calls.trace().during(Call::Event, || instance.enter_event_mode());
            self.check(code, self.calls.names().event)?;
        }
        self.in_event.set(true);
        let visited = set().and_then(|()| self.settle_and_leave(get));
        self.in_event.set(false);
        visited
    }

    /// As [`Machine::at_event`], at a communication point `t`; times are one if they are no further apart than `slack`.
    pub fn at_event_of(
        &self,
        (t, slack): (f64, f64),
        set: impl FnOnce() -> Result<(), SubsystemError>,
        get: impl FnOnce() -> Result<(), SubsystemError>,
    ) -> Result<(), SubsystemError> {
        let before = self.next_event();
        self.at_event(set, get)?;
        // What is over is not announced again, or it would be due for ever. An FMU that is a last bit short of its event and
        // takes that seriously announces the same time once more.
        let is_to_come = |next: &f64| *next > t || (Some(*next) == before && *next > t - slack);
        self.set_next_event(self.next_event().filter(is_to_come));
        Ok(())
    }

    /// After initialization, which with `eventModeUsed` ends in event mode (FMI 3.0.2 section 2.3.3): on to step mode.
    pub fn leave_initialization(&self) -> Result<(), SubsystemError> {
        if self.event_mode { self.settle_and_leave(|| Ok(())) } else { Ok(()) }
    }

    /// In event mode: lets discrete states settle, notes when the next event comes, reads, and goes on to step mode.
    fn settle_and_leave(
        &self,
        get: impl FnOnce() -> Result<(), SubsystemError>,
    ) -> Result<(), SubsystemError> {
        let Calls::Fmi3(instance) = &self.calls else { return get() };
        let call = self.calls.names().event;
        for _ in 0..MAX_ITERATIONS {
            let updated = self.calls.trace().during(Call::Event, || instance.update_discrete_states());
            let (code, DiscreteStates { again, terminate, next_event }) = updated;
            self.check(code, call)?;
            if terminate {
                return Err(SubsystemError::Infeasible {
                    message: "the FMU requests termination at an event".to_owned(),
                });
            }
            if !again {
                instance.next_event().set(next_event);
                get()?;
                return self.check(instance.enter_step_mode(), call);
            }
        }
        Err(SubsystemError::Infeasible {
            message: format!("discrete states did not converge in {MAX_ITERATIONS} iterations at an event"),
        })
    }

    /// Back to the state after instantiation.
    pub fn reset(&self) -> Result<(), SubsystemError> {
        match self.phase() {
            Phase::Instantiated => Ok(()),
            Phase::Dead => {
                Err(self.fault(Status::from_code(MISSING), self.calls.names().reset, "after a fatal error"))
            }
            _ => {
                self.check(self.calls.reset(), self.calls.names().reset)?;
                self.set_next_event(None);
                self.phase.set(Phase::Instantiated);
                Ok(())
            }
        }
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        if self.phase() == Phase::Dead {
            // FMI 2.0.5 section 2.1.3, FMI 3.0.2 section 2.2.4: after a fatal error not even freeing is allowed.
            self.calls.abandon();
        }
    }
}
