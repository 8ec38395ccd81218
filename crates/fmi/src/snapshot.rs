//! Copies of an instance's state, beside the one that the engine's rollback uses.

use crate::machine::Machine;
use crate::packets::Content;
use crate::stepping::StepRule;
use crate::transfer::Sent;
use powerbond_core::subsystem::SubsystemError;
use std::ffi::c_void;
use std::sync::{Arc, Mutex, PoisonError};

/// What an instance knows beside the state that the FMU keeps.
pub(crate) struct Book {
    /// In s.
    pub time: f64,
    pub next_event: Option<f64>,
    /// See [`crate::stepping::Stepper::pending`].
    pub pending: bool,
    pub rule: StepRule,
    pub interrupted: u64,
    /// What the FMU has for inputs that are sent only when they change.
    pub inputs: Vec<Sent>,
    /// Texts and binaries that were set or are to be, by variable.
    pub cells: Vec<(u32, Content)>,
}

/// A copy of the state of an instance.
pub(crate) struct FmuSnapshot {
    /// Its place in the [`States`] of its instance, which are known by their list of discarded ones.
    place: usize,
    discarded: Discarded,
    pub book: Book,
}

/// Places of states that are not needed any more. A snapshot may be dropped on any thread and at any time, also during a step: its
/// instance frees the state when it is asked for a snapshot next, or with itself.
type Discarded = Arc<Mutex<Vec<usize>>>;

impl Drop for FmuSnapshot {
    fn drop(&mut self) {
        self.discarded.lock().unwrap_or_else(PoisonError::into_inner).push(self.place);
    }
}

/// The states that an FMU keeps for snapshots of one instance.
#[derive(Default)]
pub(crate) struct States {
    /// Null where nothing is kept.
    kept: Vec<*mut c_void>,
    discarded: Discarded,
}

impl States {
    /// Copies the current state.
    pub fn save(&mut self, machine: &Machine, book: Book) -> Result<FmuSnapshot, SubsystemError> {
        self.release(machine);
        let place = self.kept.iter().position(|state| state.is_null()).unwrap_or_else(|| {
            self.kept.push(std::ptr::null_mut());
            self.kept.len() - 1
        });
        // From a null pointer the FMU makes a new state (FMI 2.0.5 section 2.1.8, FMI 3.0.2 section 2.2.10).
        let code = machine.calls.get_state(&mut self.kept[place]);
        machine.check(code, machine.calls.names().get_state)?;
        Ok(FmuSnapshot { place, discarded: self.discarded.clone(), book })
    }

    /// Goes to a state of this instance. Those of others are refused: no FMU has to notice that they are not its own.
    pub fn load(&mut self, machine: &Machine, snapshot: &FmuSnapshot) -> Result<(), SubsystemError> {
        self.release(machine);
        let is_own = Arc::ptr_eq(&self.discarded, &snapshot.discarded);
        match self.kept.get(snapshot.place).filter(|state| is_own && !state.is_null()) {
            Some(&state) => machine.check(machine.calls.set_state(state), machine.calls.names().set_state),
            None => Err(SubsystemError::Unsupported { call: "load_snapshot" }),
        }
    }

    /// Whether one of them may be set again.
    pub fn are_needed(&self) -> bool {
        self.kept.iter().any(|state| !state.is_null())
    }

    /// Frees what is not needed any more.
    fn release(&mut self, machine: &Machine) {
        let mut discarded = self.discarded.lock().unwrap_or_else(PoisonError::into_inner);
        discarded.drain(..).for_each(|place| machine.calls.free_state(&mut self.kept[place]));
    }

    /// Frees everything, before the instance itself is freed.
    pub fn free(&mut self, machine: &Machine) {
        self.kept.iter_mut().for_each(|state| machine.calls.free_state(state));
    }
}
