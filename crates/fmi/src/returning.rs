//! A call of an FMU returns, or the process ends: nothing unwinds through the engine.
//!
//! C++ exceptions that leave an FMU and `pthread_exit` unwind the stack. Without this they would run the destructors of the engine, as if
//! the run had been given up in good order. Functions of FMUs are therefore of the ABI `C-unwind`, which makes the compiler aware of it.

/// Makes a call; where it does not return but unwinds, the process is aborted while the call is under way.
#[inline(always)]
pub(crate) fn returning<T>(call: impl FnOnce() -> T) -> T {
    let call_is_made = MustReturn;
    let result = call();
    call_is_made.returned();
    result
}

/// A call that is under way. As a value rather than around a closure, which the compiler may leave as a function of its own: in every
/// step that counts.
#[must_use]
pub(crate) struct MustReturn;

impl MustReturn {
    #[inline(always)]
    pub fn returned(self) {
        std::mem::forget(self);
    }
}

impl Drop for MustReturn {
    #[cold]
    fn drop(&mut self) {
        // A panic of our own passes: it is not the FMU's, and has its message.
        if !std::thread::panicking() {
            std::process::abort();
        }
    }
}
