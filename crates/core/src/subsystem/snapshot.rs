//! A copy of a subsystem's state that lives beside it.

use std::any::Any;

/// A copy of the whole state of a subsystem; what is in it, only the subsystem knows. Any number of them may exist, and dropping one
/// frees what it holds.
pub struct StateSnapshot(Box<dyn Any + Send>);

impl StateSnapshot {
    /// Puts a state away.
    pub fn new(state: impl Any + Send) -> Self {
        StateSnapshot(Box::new(state))
    }

    /// The state, if it is of this type.
    pub fn get<T: Any>(&self) -> Option<&T> {
        self.0.downcast_ref()
    }
}

impl std::fmt::Debug for StateSnapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("StateSnapshot")
    }
}
