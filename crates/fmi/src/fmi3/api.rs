//! The functions of an FMI 3.0 library and their types, as `fmi3FunctionTypes.h` of FMI 3.0.2 has them.
//!
//! A C `bool` is an `u8` here, so that an FMU that writes another value than 0 or 1 does no harm.

use crate::calls::Names;
use crate::description::Kind;
use crate::error::LibraryError;
use crate::library::Library;
use crate::status::MISSING;
use std::ffi::{c_char, c_int, c_void};

pub(super) type Handle = *mut c_void;
pub(super) type Get = unsafe extern "C-unwind" fn(Handle, *const u32, usize, *mut c_void, usize) -> c_int;
pub(super) type Set = unsafe extern "C-unwind" fn(Handle, *const u32, usize, *const c_void, usize) -> c_int;
pub(super) type GetReal = unsafe extern "C-unwind" fn(Handle, *const u32, usize, *mut f64, usize) -> c_int;
pub(super) type SetReal = unsafe extern "C-unwind" fn(Handle, *const u32, usize, *const f64, usize) -> c_int;
pub(super) type Plain = unsafe extern "C-unwind" fn(Handle) -> c_int;
pub(super) type LogMessage = unsafe extern "C" fn(*mut c_void, c_int, *const c_char, *const c_char);
pub(super) type IntermediateUpdate =
    unsafe extern "C" fn(*mut c_void, f64, u8, u8, u8, u8, *mut u8, *mut f64);
pub(super) type Instantiate = unsafe extern "C-unwind" fn(
    *const c_char,
    *const c_char,
    *const c_char,
    u8,
    u8,
    u8,
    u8,
    *const u32,
    usize,
    *mut c_void,
    LogMessage,
    Option<IntermediateUpdate>,
) -> Handle;
pub(super) type EnterInitialization = unsafe extern "C-unwind" fn(Handle, u8, f64, f64, u8, f64) -> c_int;
pub(super) type DoStep =
    unsafe extern "C-unwind" fn(Handle, f64, f64, u8, *mut u8, *mut u8, *mut u8, *mut f64) -> c_int;
pub(super) type Update =
    unsafe extern "C-unwind" fn(Handle, *mut u8, *mut u8, *mut u8, *mut u8, *mut u8, *mut f64) -> c_int;
pub(super) type Directional = unsafe extern "C-unwind" fn(
    Handle,
    *const u32,
    usize,
    *const u32,
    usize,
    *const f64,
    usize,
    *mut f64,
    usize,
) -> c_int;
pub(super) type SetDebugLogging =
    unsafe extern "C-unwind" fn(Handle, u8, usize, *const *const c_char) -> c_int;
pub(super) type SetBinary =
    unsafe extern "C-unwind" fn(Handle, *const u32, usize, *const usize, *const *const u8, usize) -> c_int;
pub(super) type GetDerivatives =
    unsafe extern "C-unwind" fn(Handle, *const u32, usize, *const i32, *mut f64, usize) -> c_int;
pub(super) type GetBinary =
    unsafe extern "C-unwind" fn(Handle, *const u32, usize, *mut usize, *mut *const u8, usize) -> c_int;

pub(crate) const NAMES: Names = Names {
    instantiate: "fmi3InstantiateCoSimulation",
    set_real: "fmi3SetFloat64",
    get_real: "fmi3GetFloat64",
    enter: "fmi3EnterInitializationMode",
    exit: "fmi3ExitInitializationMode",
    step: "fmi3DoStep",
    derivatives: "",
    output_derivatives: "fmi3GetOutputDerivatives",
    directional: "fmi3GetDirectionalDerivative",
    get_state: "fmi3GetFMUState",
    set_state: "fmi3SetFMUState",
    free_state: "fmi3FreeFMUState",
    terminate: "fmi3Terminate",
    reset: "fmi3Reset",
    event: "fmi3EnterEventMode, fmi3UpdateDiscreteStates or fmi3EnterStepMode",
    get_packet: "fmi3GetString or fmi3GetBinary",
    set_packet: "fmi3SetString or fmi3SetBinary",
};

/// Kinds with getters and setters of their own, in the order of the tables; enumerations are `Int64`.
const KINDS: [Kind; 10] = [
    Kind::Float32,
    Kind::Int8,
    Kind::UInt8,
    Kind::Int16,
    Kind::UInt16,
    Kind::Int32,
    Kind::UInt32,
    Kind::Int64,
    Kind::UInt64,
    Kind::Boolean,
];

pub(super) fn place(kind: Kind) -> usize {
    let kind = if kind == Kind::Enumeration { Kind::Int64 } else { kind };
    KINDS.iter().position(|&k| k == kind).unwrap_or(0)
}

/// In the place of functions that a library lacks although every FMU should have them: many never need them.
unsafe extern "C-unwind" fn missing(_: Handle) -> c_int {
    MISSING
}

unsafe extern "C-unwind" fn missing_get(_: Handle, _: *const u32, _: usize, _: *mut f64, _: usize) -> c_int {
    MISSING
}

unsafe extern "C-unwind" fn missing_set(
    _: Handle,
    _: *const u32,
    _: usize,
    _: *const f64,
    _: usize,
) -> c_int {
    MISSING
}

/// The functions of a library.
pub(crate) struct Api {
    pub(super) instantiate: Instantiate,
    pub(super) free_instance: unsafe extern "C-unwind" fn(Handle),
    pub(super) enter_initialization: EnterInitialization,
    pub(super) exit_initialization: Plain,
    pub(super) terminate: Plain,
    pub(super) get_float64: GetReal,
    pub(super) set_float64: SetReal,
    pub(super) do_step: DoStep,
    pub(super) reset: Option<Plain>,
    pub(super) getters: [Option<Get>; KINDS.len()],
    pub(super) setters: [Option<Set>; KINDS.len()],
    pub(super) get_string:
        Option<unsafe extern "C-unwind" fn(Handle, *const u32, usize, *mut *const c_char, usize) -> c_int>,
    pub(super) set_string:
        Option<unsafe extern "C-unwind" fn(Handle, *const u32, usize, *const *const c_char, usize) -> c_int>,
    pub(super) set_binary: Option<SetBinary>,
    pub(super) get_binary: Option<GetBinary>,
    pub(super) get_derivatives: Option<GetDerivatives>,
    pub(super) directional: Option<Directional>,
    pub(super) get_state: Option<unsafe extern "C-unwind" fn(Handle, *mut *mut c_void) -> c_int>,
    pub(super) set_state: Option<unsafe extern "C-unwind" fn(Handle, *mut c_void) -> c_int>,
    pub(super) free_state: Option<unsafe extern "C-unwind" fn(Handle, *mut *mut c_void) -> c_int>,
    pub(super) enter_event_mode: Option<Plain>,
    pub(super) enter_step_mode: Option<Plain>,
    pub(super) update_discrete_states: Option<Update>,
    pub(super) enter_configuration: Option<Plain>,
    pub(super) exit_configuration: Option<Plain>,
    pub(super) set_debug_logging: Option<SetDebugLogging>,
    // Last, so that the functions go before the code they point to.
    _library: Library,
}

impl Api {
    /// Finds all functions; those that every co-simulation FMU needs must be there.
    pub fn load(library: Library) -> Result<Self, LibraryError> {
        Ok(Api {
            instantiate: library.required("fmi3InstantiateCoSimulation")?,
            free_instance: library.required("fmi3FreeInstance")?,
            enter_initialization: library.required("fmi3EnterInitializationMode")?,
            exit_initialization: library.required("fmi3ExitInitializationMode")?,
            terminate: library.optional("fmi3Terminate").unwrap_or(missing),
            get_float64: library.optional("fmi3GetFloat64").unwrap_or(missing_get),
            set_float64: library.optional("fmi3SetFloat64").unwrap_or(missing_set),
            do_step: library.required("fmi3DoStep")?,
            reset: library.optional("fmi3Reset"),
            getters: KINDS.map(|kind| library.optional(&format!("fmi3Get{}", kind.name()))),
            setters: KINDS.map(|kind| library.optional(&format!("fmi3Set{}", kind.name()))),
            get_string: library.optional("fmi3GetString"),
            set_string: library.optional("fmi3SetString"),
            set_binary: library.optional("fmi3SetBinary"),
            get_binary: library.optional("fmi3GetBinary"),
            get_derivatives: library.optional("fmi3GetOutputDerivatives"),
            directional: library.optional("fmi3GetDirectionalDerivative"),
            get_state: library.optional("fmi3GetFMUState"),
            set_state: library.optional("fmi3SetFMUState"),
            free_state: library.optional("fmi3FreeFMUState"),
            enter_event_mode: library.optional("fmi3EnterEventMode"),
            enter_step_mode: library.optional("fmi3EnterStepMode"),
            update_discrete_states: library.optional("fmi3UpdateDiscreteStates"),
            enter_configuration: library.optional("fmi3EnterConfigurationMode"),
            exit_configuration: library.optional("fmi3ExitConfigurationMode"),
            set_debug_logging: library.optional("fmi3SetDebugLogging"),
            _library: library,
        })
    }

    pub fn has_state(&self) -> bool {
        self.get_state.is_some() && self.set_state.is_some() && self.free_state.is_some()
    }

    pub fn has_directional(&self) -> bool {
        self.directional.is_some()
    }

    pub fn has_output_derivatives(&self) -> bool {
        self.get_derivatives.is_some()
    }

    pub fn has_event_mode(&self) -> bool {
        self.enter_event_mode.is_some()
            && self.enter_step_mode.is_some()
            && self.update_discrete_states.is_some()
    }
}
