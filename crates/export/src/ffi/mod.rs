//! Where importers call in: C's pointers become slices, refusals become statuses and log lines, panics end here.
//!
//! All of it rests on what FMI asks of an importer: a handle is one that this library returned and that was not freed
//! (FMI 2.0.5 section 2.1.5, FMI 3.0.2 on `fmi3InstantiateCoSimulation`), it is used by one thread at a time, and arrays
//! are as long as the number that comes with them (FMI 2.0.5 section 2.1.7, FMI 3.0.2 on `fmi3GetFloat64`).
//! [`crate::fmu_library`] exports these functions under the standard's names: those that FMI 2.0 and 3.0 have alike are here and
//! take the name for their log lines, the others are in [`fmi2`] and [`fmi3`].

#![allow(clippy::missing_safety_doc)] // The contract is the one above for all of them.

pub mod fmi2;
pub mod fmi3;

use crate::error::Refusal;
use crate::instance::{Instance, same_length};
use crate::snapshot::Snapshot;
use powerbond_models::ModelSpec;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// `fmi2Component` or `fmi3Instance`.
pub type Handle = *mut c_void;

/// `fmi2FMUstate` or `fmi3FMUState`.
pub type State = *mut c_void;

pub(crate) const OK: c_int = 0;
pub(crate) const DISCARD: c_int = 2;
pub(crate) const ERROR: c_int = 3;

/// What a handle points to.
struct Component {
    instance: Instance,
    logger: Logger,
    /// Whom to ask for inputs inside steps.
    asks: Option<fmi3::Asks>,
    /// Strings that were given out: they stay until the next call that gives some.
    texts: Vec<CString>,
}

/// Where log lines go.
enum Logger {
    Fmi2 { logger: Option<fmi2::LoggerFunction>, environment: *mut c_void, name: CString },
    Fmi3 { logger: Option<fmi3::LogMessage>, environment: *mut c_void },
}

impl Logger {
    /// Says why `function` failed.
    #[cold]
    fn error(&self, function: &str, refusal: &Refusal) {
        let text = format!("{function}: {refusal}").replace('\0', " ");
        let category = c"logStatusError";
        match self {
            Logger::Fmi2 { logger: Some(logger), environment, name } => {
                // The message is a format of printf, in which `#` stands for variables (section 2.1.5).
                let text = CString::new(text.replace('%', "%%").replace('#', "##")).unwrap_or_default();
                // Safety: FMI 2.0.5 section 2.1.5: the callback and its environment live as long as the instance.
                unsafe {
                    logger(*environment, name.as_ptr(), ERROR, category.as_ptr(), text.as_ptr());
                }
            }
            Logger::Fmi3 { logger: Some(logger), environment } => {
                let text = CString::new(text).unwrap_or_default();
                // Safety: FMI 3.0.2, fmi3LogMessageCallback: the callback and its environment live as long as the instance.
                unsafe { logger(*environment, ERROR, category.as_ptr(), text.as_ptr()) };
            }
            _ => {}
        }
    }
}

/// Makes an instance of the model that `token` names; null if there is none.
unsafe fn instantiate(
    models: &'static [&'static ModelSpec],
    function: &str,
    token: *const c_char,
    logger: Logger,
) -> Handle {
    // Safety: see `text`.
    let token = unsafe { text(token) };
    let made = quietly(|| Instance::new(models, &token));
    match made {
        Ok(instance) => {
            Box::into_raw(Box::new(Component { instance, logger, asks: None, texts: Vec::new() })).cast()
        }
        Err(refusal) => {
            logger.error(function, &refusal);
            std::ptr::null_mut()
        }
    }
}

/// Frees an instance.
pub unsafe fn free_instance(handle: Handle) {
    if !handle.is_null() {
        // Safety: FMI 2.0.5 section 2.1.5, FMI 3.0.2, fmi3FreeInstance: made by `instantiate`, freed once.
        let component = unsafe { Box::from_raw(handle.cast::<Component>()) };
        let dropped = quietly(|| {
            drop(component);
            Ok(())
        });
        debug_assert!(dropped.is_ok());
    }
}

/// `fmiXSetDebugLogging`: errors are logged in any case, and nothing else is.
pub unsafe fn set_debug_logging(handle: Handle) -> c_int {
    if handle.is_null() { ERROR } else { OK }
}

/// Ends the initialization.
pub unsafe fn exit_initialization(handle: Handle, function: &'static str) -> c_int {
    // Safety: passed on.
    unsafe { call(handle, function, Instance::exit_initialization) }
}

/// Ends the run.
pub unsafe fn terminate(handle: Handle, function: &'static str) -> c_int {
    // Safety: passed on.
    unsafe { call(handle, function, Instance::terminate) }
}

/// Back to what `instantiate` made.
pub unsafe fn reset(handle: Handle, function: &'static str) -> c_int {
    // Safety: passed on.
    unsafe {
        call(handle, function, |instance| {
            instance.reset();
            Ok(())
        })
    }
}

/// Calls `body` on an instance; what goes wrong is logged and becomes a status.
#[inline]
unsafe fn call(
    handle: Handle,
    function: &'static str,
    body: impl FnOnce(&mut Instance) -> Result<(), Refusal>,
) -> c_int {
    // Safety: passed on.
    unsafe { call_component(handle, function, |component| body(&mut component.instance)) }
}

/// The same with all that belongs to an instance.
#[inline]
unsafe fn call_component(
    handle: Handle,
    function: &'static str,
    body: impl FnOnce(&mut Component) -> Result<(), Refusal>,
) -> c_int {
    // Safety: made by `instantiate` and not freed; one thread at a time, see above.
    let Some(component) = (unsafe { handle.cast::<Component>().as_mut() }) else { return ERROR };
    match quietly(|| body(component)) {
        Ok(()) => OK,
        Err(refusal) => {
            if matches!(refusal, Refusal::Panic { .. }) {
                component.instance.fail();
            }
            component.logger.error(function, &refusal);
            ERROR
        }
    }
}

/// A panic is our bug: it becomes an error and never crosses into C.
#[inline]
fn quietly<T>(body: impl FnOnce() -> Result<T, Refusal>) -> Result<T, Refusal> {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|payload| {
        let words = payload.downcast_ref::<&str>().map(|s| (*s).to_owned());
        let message = words.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_default();
        Err(Refusal::Panic { message })
    })
}

/// Answers a function of the standard that FMUs of ours have no use for.
///
/// # Safety
///
/// `handle` is one of this library, see above.
pub unsafe fn unused(handle: Handle, function: &'static str) -> c_int {
    // Safety: passed on.
    unsafe { call(handle, function, |_| Err(Refusal::Unsupported { what: "use for this function" })) }
}

/// A text from outside.
unsafe fn text(pointer: *const c_char) -> String {
    if pointer.is_null() {
        return String::new();
    }
    // Safety: FMI 2.0.5 section 2.1.2, FMI 3.0.2, fmi3String: strings end with a zero byte and are read during the call.
    unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned()
}

/// An array to read from.
unsafe fn list<'a, T>(pointer: *const T, length: usize) -> &'a [T] {
    if pointer.is_null() || length == 0 {
        return &[];
    }
    // Safety: as long as the number that comes with it, see above.
    unsafe { std::slice::from_raw_parts(pointer, length) }
}

/// An array to write to.
unsafe fn list_mut<'a, T>(pointer: *mut T, length: usize) -> &'a mut [T] {
    if pointer.is_null() || length == 0 {
        return &mut [];
    }
    // Safety: as long as the number that comes with it, see above.
    unsafe { std::slice::from_raw_parts_mut(pointer, length) }
}

/// Reads choices; FMI 3.0 says how many values there are, in FMI 2.0 it is `n`.
pub unsafe fn get_strings(
    handle: Handle,
    function: &'static str,
    references: *const u32,
    n: usize,
    values: *mut *const c_char,
    length: usize,
) -> c_int {
    // Safety: FMI 2.0.5 section 2.1.7, FMI 3.0.2, fmi3GetString: as many places as references; the strings stay until
    // the next call.
    unsafe {
        call_component(handle, function, |Component { instance, texts, .. }| {
            same_length(n, length)?;
            texts.clear();
            for (value, &reference) in list_mut(values, n).iter_mut().zip(list(references, n)) {
                texts.push(CString::new(instance.get_text(reference)?).unwrap_or_default());
                *value = texts.last().map_or(std::ptr::null(), |text| text.as_ptr());
            }
            Ok(())
        })
    }
}

/// Sets choices; FMI 3.0 says how many values there are, in FMI 2.0 it is `n`.
pub unsafe fn set_strings(
    handle: Handle,
    function: &'static str,
    references: *const u32,
    n: usize,
    values: *const *const c_char,
    length: usize,
) -> c_int {
    // Safety: FMI 2.0.5 section 2.1.7, FMI 3.0.2, fmi3SetString: as many strings as references, read during the call.
    unsafe {
        call(handle, function, |instance| {
            same_length(n, length)?;
            let values = list(values, n).iter();
            list(references, n)
                .iter()
                .zip(values)
                .try_for_each(|(&r, &value)| instance.set_text(r, &text(value)))
        })
    }
}

/// Reads counts; FMI 3.0 says how many values there are, in FMI 2.0 it is `n`.
pub unsafe fn get_integers(
    handle: Handle,
    function: &'static str,
    references: *const u32,
    n: usize,
    values: *mut i32,
    length: usize,
) -> c_int {
    // Safety: FMI 2.0.5 section 2.1.7, FMI 3.0.2, fmi3GetInt32: as many values as references.
    unsafe {
        call(handle, function, |instance| {
            same_length(n, length)?;
            for (value, &reference) in list_mut(values, n).iter_mut().zip(list(references, n)) {
                *value = instance.get_whole(reference)?;
            }
            Ok(())
        })
    }
}

/// Sets counts; FMI 3.0 says how many values there are, in FMI 2.0 it is `n`.
pub unsafe fn set_integers(
    handle: Handle,
    function: &'static str,
    references: *const u32,
    n: usize,
    values: *const i32,
    length: usize,
) -> c_int {
    // Safety: FMI 2.0.5 section 2.1.7, FMI 3.0.2, fmi3SetInt32: as many values as references.
    unsafe {
        call(handle, function, |instance| {
            same_length(n, length)?;
            let values = list(values, n).iter();
            list(references, n).iter().zip(values).try_for_each(|(&r, &value)| instance.set_whole(r, value))
        })
    }
}

/// Copies the state, into a new copy or over an earlier one.
pub unsafe fn get_state(handle: Handle, function: &'static str, state: *mut State) -> c_int {
    // Safety: FMI 2.0.5 section 2.1.8, FMI 3.0.2, fmi3GetFMUState: the slot is null or holds a copy of this instance.
    unsafe {
        call(handle, function, |instance| {
            let Some(slot) = state.as_mut() else {
                return Err(Refusal::State { reason: "null pointer for it" });
            };
            if let Some(snapshot) = slot.cast::<Snapshot>().as_mut() {
                return instance.save(snapshot);
            }
            let mut snapshot = Box::new(Snapshot::default());
            instance.save(&mut snapshot)?;
            *slot = Box::into_raw(snapshot).cast();
            Ok(())
        })
    }
}

/// Goes back to a copy.
pub unsafe fn set_state(handle: Handle, function: &'static str, state: State) -> c_int {
    // Safety: FMI 2.0.5 section 2.1.8, FMI 3.0.2, fmi3SetFMUState: a copy of this instance that was not freed.
    unsafe { call(handle, function, |instance| instance.restore(snapshot(state)?)) }
}

/// Frees a copy.
pub unsafe fn free_state(handle: Handle, function: &'static str, state: *mut State) -> c_int {
    // Safety: FMI 2.0.5 section 2.1.8, FMI 3.0.2, fmi3FreeFMUState: null, or a copy that was not freed; it becomes null.
    unsafe {
        call(handle, function, |_| {
            if let Some(slot) = state.as_mut()
                && !slot.is_null()
            {
                drop(Box::from_raw(slot.cast::<Snapshot>()));
                *slot = std::ptr::null_mut();
            }
            Ok(())
        })
    }
}

/// How many bytes a copy becomes.
pub unsafe fn state_length(
    handle: Handle,
    function: &'static str,
    state: State,
    length: *mut usize,
) -> c_int {
    // Safety: as in `set_state`; the length is written to a place of the caller's.
    unsafe {
        call(handle, function, |instance| {
            snapshot(state)?;
            let length = length.as_mut().ok_or(Refusal::State { reason: "null pointer for its length" })?;
            *length = instance.serialized_length()?;
            Ok(())
        })
    }
}

/// A copy as bytes.
pub unsafe fn serialize(
    handle: Handle,
    function: &'static str,
    state: State,
    bytes: *mut u8,
    length: usize,
) -> c_int {
    // Safety: as in `set_state`; as many bytes as the number says.
    unsafe {
        call(handle, function, |instance| instance.serialize(snapshot(state)?, list_mut(bytes, length)))
    }
}

/// Bytes as a copy, a new one or over an earlier one.
pub unsafe fn deserialize(
    handle: Handle,
    function: &'static str,
    bytes: *const u8,
    length: usize,
    state: *mut State,
) -> c_int {
    // Safety: as in `get_state`; as many bytes as the number says.
    unsafe {
        call(handle, function, |instance| {
            let Some(slot) = state.as_mut() else {
                return Err(Refusal::State { reason: "null pointer for it" });
            };
            let read = instance.deserialize(list(bytes, length))?;
            match slot.cast::<Snapshot>().as_mut() {
                Some(snapshot) => *snapshot = read,
                None => *slot = Box::into_raw(Box::new(read)).cast(),
            }
            Ok(())
        })
    }
}

/// A copy that the caller holds.
unsafe fn snapshot<'a>(state: State) -> Result<&'a Snapshot, Refusal> {
    // Safety: as in `set_state`.
    unsafe { state.cast::<Snapshot>().as_ref() }.ok_or(Refusal::State { reason: "there is none" })
}
