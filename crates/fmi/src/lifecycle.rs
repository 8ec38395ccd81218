//! The state machine of an instance: which call is allowed when, and what it leads to.
//!
//! One table for FMI 1.0, 2.0 and 3.0, as FMI 2.0.5 section 4.2.4 and FMI 3.0.2 section 4.2 draw it; what a version lacks is never
//! reached. Every call of an instance passes here, so that none is made where the standard forbids it.

use crate::status::Status;
use std::cell::Cell;
use std::ffi::c_int;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Where an instance is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Instantiated,
    /// FMI 3: structural parameters may be set.
    Configuration,
    /// FMI 1 has none: `fmiInitializeSlave` leads here, leaving it is no call.
    Initialization,
    /// FMI 3 with `eventModeUsed`.
    Event,
    /// FMI 2 calls it `stepComplete`.
    Step,
    Terminated,
    /// After an error: it can be reset, brought to a saved state and freed.
    Failed,
    /// After a fatal error: nothing may be called any more, on no instance of the library.
    Fatal,
    /// The instance is gone.
    Freed,
}

/// Calls that follow one rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    Set,
    Get,
    EnterConfiguration,
    ExitConfiguration,
    EnterInitialization,
    ExitInitialization,
    EnterEvent,
    UpdateStates,
    EnterStep,
    Step,
    InputDerivatives,
    OutputDerivatives,
    Directional,
    GetState,
    SetState,
    FreeState,
    Terminate,
    Reset,
    DebugLogging,
}

const fn set_of(calls: &[Call]) -> u32 {
    let (mut set, mut i) = (0, 0);
    while i < calls.len() {
        set |= 1 << calls[i] as u32;
        i += 1;
    }
    set
}

impl State {
    /// The calls that are allowed in it. Freeing is allowed in all but the last two.
    const fn allowed(self) -> u32 {
        use Call::{
            DebugLogging, Directional, EnterConfiguration, EnterEvent, EnterInitialization, EnterStep,
            ExitConfiguration, ExitInitialization, FreeState, Get, GetState, InputDerivatives,
            OutputDerivatives, Reset, Set, SetState, Step, Terminate, UpdateStates,
        };
        let always = set_of(&[GetState, SetState, FreeState, Reset, DebugLogging]);
        match self {
            State::Instantiated => always | set_of(&[Set, Get, EnterConfiguration, EnterInitialization]),
            State::Configuration => always | set_of(&[Set, Get, ExitConfiguration]),
            State::Initialization => always | set_of(&[Set, Get, Directional, ExitInitialization]),
            State::Event => always | set_of(&[Set, Get, Directional, UpdateStates, EnterStep, Terminate]),
            State::Step => {
                let derivatives = set_of(&[Directional, InputDerivatives, OutputDerivatives]);
                always | derivatives | set_of(&[Set, Get, Step, EnterEvent, Terminate])
            }
            State::Terminated => always | set_of(&[Get]),
            State::Failed => set_of(&[Reset, SetState, FreeState]),
            State::Fatal | State::Freed => 0,
        }
    }

    /// In words, after "not allowed".
    pub fn when(self) -> &'static str {
        match self {
            State::Instantiated => "before initialization",
            State::Configuration => "in configuration mode",
            State::Initialization => "in initialization mode",
            State::Event => "in event mode",
            State::Step => "between steps",
            State::Terminated => "after the end of the simulation",
            State::Failed => "after an error, when an instance can only be reset",
            State::Fatal => "after a fatal error in an instance of this FMU",
            State::Freed => "on an instance that was freed",
        }
    }
}

/// The state of one instance, and whether its library is lost.
pub(crate) struct Lifecycle {
    state: Cell<State>,
    /// The instance was made with `eventModeUsed` (FMI 3).
    event_mode: bool,
    /// Shared by all instances of a loaded library: FMI 2.0.5 section 2.1.3 and FMI 3.0.2 section 2.2.4 end them all.
    fatal: Arc<AtomicBool>,
}

impl Lifecycle {
    pub fn new(event_mode: bool, fatal: Arc<AtomicBool>) -> Self {
        Lifecycle { state: Cell::new(State::Instantiated), event_mode, fatal }
    }

    #[inline(always)]
    pub fn state(&self) -> State {
        if self.fatal.load(Ordering::Relaxed) { State::Fatal } else { self.state.get() }
    }

    /// Whether the instance was made with `eventModeUsed` (FMI 3).
    pub fn event_mode(&self) -> bool {
        self.event_mode
    }

    #[inline(always)]
    pub fn allows(&self, call: Call) -> bool {
        self.state().allowed() & (1 << call as u32) != 0
    }

    /// Where a call that returned `code` leads.
    pub fn after(&self, call: Call, code: c_int) {
        match Status::from_code(code) {
            Status::Ok | Status::Warning => self.state.set(self.next(call)),
            Status::Error | Status::Illegal(_) => self.state.set(State::Failed),
            Status::Fatal => {
                self.state.set(State::Fatal);
                self.fatal.store(true, Ordering::Relaxed);
            }
            // Where it is now is unknown.
            Status::Discard | Status::Pending if call == Call::SetState => self.state.set(State::Failed),
            Status::Discard | Status::Pending | Status::Missing | Status::NotAllowed => {}
        }
    }

    fn next(&self, call: Call) -> State {
        match call {
            Call::EnterConfiguration => State::Configuration,
            Call::ExitConfiguration | Call::Reset => State::Instantiated,
            Call::EnterInitialization => State::Initialization,
            // With `eventModeUsed` initialization ends in event mode (FMI 3.0.2 section 2.3.3).
            Call::ExitInitialization if self.event_mode => State::Event,
            Call::ExitInitialization | Call::EnterStep => State::Step,
            Call::EnterEvent => State::Event,
            Call::Terminate => State::Terminated,
            // States are saved between steps only.
            Call::SetState => State::Step,
            _ => self.state.get(),
        }
    }

    /// The instance is freed.
    pub fn freed(&self) {
        self.state.set(State::Freed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_lead_from_state_to_state_and_wrong_ones_are_not_allowed() {
        let check = |event_mode: bool, steps: &[(Call, c_int, State)], refused: &[Call]| {
            let life = Lifecycle::new(event_mode, Arc::default());
            for &(call, code, state) in steps {
                assert!(life.allows(call), "{call:?} in {:?}", life.state());
                life.after(call, code);
                assert_eq!(life.state(), state, "after {call:?}");
            }
            for &call in refused {
                assert!(!life.allows(call), "{call:?} in {:?}", life.state());
            }
        };
        use Call::*;
        check(false, &[], &[Step, ExitInitialization, Terminate, Directional]);
        let begin = [
            (EnterInitialization, 0, State::Initialization),
            (Set, 0, State::Initialization),
            (ExitInitialization, 1, State::Step),
        ];
        check(false, &begin, &[EnterInitialization, UpdateStates, EnterStep]);
        check(false, &[&begin[..], &[(Step, 2, State::Step)]].concat(), &[]);
        check(false, &[&begin[..], &[(Step, 3, State::Failed)]].concat(), &[Step, Get, Terminate]);
        check(false, &[&begin[..], &[(Step, 4, State::Fatal)]].concat(), &[Reset, FreeState, Get, SetState]);
        check(
            false,
            &[&begin[..], &[(Step, 42, State::Failed), (Reset, 0, State::Instantiated)]].concat(),
            &[],
        );
        check(false, &[&begin[..], &[(Terminate, 0, State::Terminated)]].concat(), &[Step, Set]);
        let events = [
            (EnterInitialization, 0, State::Initialization),
            (ExitInitialization, 0, State::Event),
            (UpdateStates, 0, State::Event),
            (EnterStep, 0, State::Step),
            (EnterEvent, 0, State::Event),
        ];
        check(true, &events, &[Step, EnterEvent]);
    }

    #[test]
    fn a_fatal_error_ends_all_instances_of_the_library() {
        let fatal = Arc::new(AtomicBool::new(false));
        let [one, other] = [0; 2].map(|_| Lifecycle::new(false, fatal.clone()));
        one.after(Call::Get, 4);
        assert_eq!(other.state(), State::Fatal);
    }
}
