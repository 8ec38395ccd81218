//! What becomes of every status that an instance returns, and how it is led through events.

use crate::calls::{Calls, DiscreteStates};
use crate::description::Version;
use crate::lifecycle::State;
use crate::status::{OK, Status};
use crate::surroundings::Change;
use crate::trace::Call;
use powerbond_core::subsystem::SubsystemError;
use std::cell::Cell;
use std::ffi::c_int;

/// How many times discrete states may ask for another iteration.
const MAX_ITERATIONS: u32 = 1000;

const UPDATE: &str = "fmi3UpdateDiscreteStates";

/// An instance and what is known about its state.
#[repr(C)] // See [`crate::FmuSubsystem`].
pub(crate) struct Machine {
    /// Steps until it is looked at again what they do to others.
    unseen: Cell<u32>,
    /// How many of the next steps are guarded.
    guarded: Cell<u32>,
    pub calls: Calls,
    warnings: Cell<u64>,
    /// Something was found to be changed by its steps: all of them are guarded.
    is_guarded: Cell<bool>,
    /// The FMU ended the simulation at an event.
    terminated: Cell<bool>,
}

impl Machine {
    /// So many `guarded` steps are looked at: see [`Machine::guards_step`].
    pub fn new(calls: Calls, guarded: u32) -> Self {
        Machine {
            calls,
            warnings: Cell::new(0),
            unseen: Cell::new(0),
            guarded: Cell::new(guarded),
            is_guarded: Cell::new(false),
            terminated: Cell::new(false),
        }
    }

    /// Whether the instance was made with `eventModeUsed` (FMI 3).
    pub fn uses_event_mode(&self) -> bool {
        self.calls.uses_event_mode()
    }

    pub fn state(&self) -> State {
        self.calls.state()
    }

    /// Whether it is in step mode and handles events in another.
    pub fn is_between_events(&self) -> bool {
        self.uses_event_mode() && self.state() == State::Step
    }

    /// Whether it handles an event now, and may be given more to it.
    pub fn is_at_event(&self) -> bool {
        self.uses_event_mode() && self.state() == State::Event && !self.has_terminated()
    }

    /// Whether it is initialized and handles events in a mode of its own.
    pub fn has_event_mode(&self) -> bool {
        self.is_between_events() || self.is_at_event()
    }

    /// The time of the next event, in s, if the FMU announced one.
    pub fn next_event(&self) -> Option<f64> {
        self.calls.fmi3().and_then(|instance| instance.next_event().get())
    }

    /// Another state has another next event, or none.
    pub fn set_next_event(&self, next: Option<f64>) {
        if let Some(instance) = self.calls.fmi3() {
            instance.next_event().set(next);
        }
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
                // Some FMUs warn in every step.
                if self.calls.environment().is_first_warning(call) {
                    let warning = Status::Warning.name(self.calls.version());
                    self.calls.environment().remark(&format!(
                        "returns {warning} from `{call}`: its messages, if there are any, are in log.txt"
                    ));
                }
                Ok(())
            }
            status => Err(self.fault(status, call, "")),
        }
    }

    /// Whether the next step should be guarded. FMUs that change what belongs to the whole process do so when they start or in every
    /// step, so that it is the first ones, and all of them once it has happened; what changes later is found by the run, which looks
    /// about every second. Traps of exceptions are looked for in every 64th step.
    #[inline(always)]
    pub fn guards_step(&self) -> bool {
        // In place, and below zero when it is over: two instructions.
        let (unseen, is_over) = self.unseen.get().overflowing_sub(1);
        self.unseen.set(unseen);
        is_over && self.looks()
    }

    #[cold]
    fn looks(&self) -> bool {
        if self.calls.restore_mode() {
            self.is_guarded.set(true);
        }
        let guarded = self.guarded.get();
        self.guarded.set(guarded.saturating_sub(1));
        let is_guarded = guarded > 0 || self.is_guarded.get();
        self.unseen.set(if is_guarded { 0 } else { 63 });
        is_guarded
    }

    /// After a guarded step: where it traps exceptions, which no other look at the mode sees, all steps are guarded from now on.
    pub fn restore_mode(&self) {
        if self.calls.restore_mode() {
            self.is_guarded.set(true);
            self.unseen.set(0);
        }
    }

    /// Says what the FMU changed for everybody, once of everything.
    pub fn remark(&self, call: Call, changes: &[Change]) {
        // Handlers of faults stay, so that there is nothing to look for again.
        let undone = changes.iter().any(|change| *change != Change::Faults);
        if undone {
            self.is_guarded.set(true);
            self.unseen.set(0);
        }
        for change in changes {
            self.calls.environment().remark(&change.to_string());
        }
        if changes.iter().any(|change| change.takes_files()) {
            self.calls.environment().trace.marks().accuse(call);
        }
    }

    /// Only steps may go on in the background, and of FMI 1 and 2 only.
    fn steps_in_background(&self, call: &str) -> bool {
        self.calls.version() != Version::Fmi3 && call == self.calls.names().step
    }

    /// The error of a failed call, with the FMU's last words.
    pub fn fault(&self, status: Status, call: &'static str, remark: &str) -> SubsystemError {
        let words = self.calls.environment().take_recent();
        let hint = match status {
            Status::Pending if self.steps_in_background(call) => {
                "the FMU steps asynchronously, but does not report when the step is finished"
            }
            Status::NotAllowed => self.state().when(),
            _ => remark,
        };
        let parts = [words.trim_start_matches(": "), hint];
        let message: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        let error = SubsystemError::Status {
            call,
            status: status.name(self.calls.version()),
            message: message.join("; "),
        };
        if matches!(self.state(), State::Failed | State::Fatal) {
            self.calls.environment().lose(error.to_string());
        }
        error
    }

    /// Why a call is not made in the state that the instance is in.
    pub fn wrong_phase(&self, call: &'static str) -> SubsystemError {
        let lost = self.calls.environment().lost();
        let message = match self.state() {
            State::Fatal if lost.is_empty() => {
                "a fatal error in another instance of this FMU; no instance may be called any more".to_owned()
            }
            State::Fatal => format!("{lost}; no instance of this FMU may be called any more"),
            State::Failed => format!("{lost}; the instance can only be reset"),
            state => format!("`{call}` is not allowed {}", state.when()),
        };
        SubsystemError::Infeasible { message }
    }

    /// In event mode, which is entered unless the instance is there already: `set` what changes, update the discrete states until
    /// nothing more is needed, `get` what they came to, and note when the next event comes. FMI 3.0.2, Event Mode: inputs of all
    /// kinds may be set and all variables be read there, and discrete states be updated any number of times. It stays there until
    /// [`Machine::leave_event`], so that whatever comes at one communication point, in however many calls, is one event.
    ///
    /// It is at a communication point `t`; times are one if they are no further apart than `slack`.
    pub fn at_event(
        &self,
        (t, slack): (f64, f64),
        set: impl FnOnce() -> Result<(), SubsystemError>,
        get: impl FnOnce() -> Result<(), SubsystemError>,
    ) -> Result<(), SubsystemError> {
        let before = self.next_event();
        if !self.is_at_event() {
            self.check(self.calls.enter_event_mode(), "fmi3EnterEventMode")?;
        }
        set()?;
        self.settle((t, slack), get)?;
        // What is over is not announced again, or it would be due for ever. An FMU that is a last bit short of its event and
        // takes that seriously announces the same time once more.
        let is_to_come = |next: &f64| *next > t || (Some(*next) == before && *next > t - slack);
        self.set_next_event(self.next_event().filter(is_to_come));
        Ok(())
    }

    /// After initialization, which with `eventModeUsed` ends in event mode (FMI 3.0.2 section 2.3.3): on to step mode.
    pub fn leave_initialization(&self, at: (f64, f64)) -> Result<(), SubsystemError> {
        if !self.uses_event_mode() {
            return Ok(());
        }
        self.settle(at, || Ok(()))?;
        self.leave_event()
    }

    /// On to step mode, if it is in event mode and has not ended the simulation there.
    pub fn leave_event(&self) -> Result<(), SubsystemError> {
        if !self.is_at_event() {
            return Ok(());
        }
        self.check(self.calls.enter_step_mode(), "fmi3EnterStepMode")
    }

    /// In event mode: lets discrete states settle, notes when the next event comes and whether the FMU ends the simulation, and reads.
    fn settle(
        &self,
        (t, slack): (f64, f64),
        get: impl FnOnce() -> Result<(), SubsystemError>,
    ) -> Result<(), SubsystemError> {
        let odd = |status: &str, message: String| {
            Err(SubsystemError::Status { call: UPDATE, status: status.to_owned(), message })
        };
        for _ in 0..MAX_ITERATIONS {
            let (code, DiscreteStates { again, terminate, next_event }) = self.calls.update_discrete_states();
            self.check(code, UPDATE)?;
            if let Some(next) = next_event.filter(|next| next.is_nan() || *next < t - slack) {
                return odd("a nextEventTime in the past", format!("{next} s at t = {t} s"));
            }
            if terminate {
                self.terminated.set(true);
                return get();
            }
            if !again {
                self.set_next_event(next_event);
                return get();
            }
        }
        let message = format!("after {MAX_ITERATIONS} iterations of the event at t = {t} s");
        odd("discreteStatesNeedUpdate without end", message)
    }

    /// Whether the FMU ended the simulation at an event.
    pub fn has_terminated(&self) -> bool {
        self.terminated.get()
    }

    /// Back to the state after instantiation.
    pub fn reset(&self) -> Result<(), SubsystemError> {
        self.terminated.set(false);
        if self.state() == State::Instantiated {
            return Ok(());
        }
        self.check(self.calls.reset(), self.calls.names().reset)?;
        self.set_next_event(None);
        Ok(())
    }
}
