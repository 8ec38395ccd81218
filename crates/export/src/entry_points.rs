//! The macro that makes a library of FMUs: all functions of both standards under their names.

/// Exports every function of FMI 2.0 and FMI 3.0 that a co-simulation FMU has, for the models in the list.
///
/// `fmu_library!(&[&MY_MODEL, &MY_OTHER_MODEL]);` in a crate of the type `cdylib` is a whole library. The list is a
/// `&'static [&'static ModelSpec]`; names in it are those of the place where the macro is called. Functions of model exchange and of what the FMUs do not declare are there too, since
/// some importers look for all of them; they refuse. Functions of FMI 2.0 model exchange are not.
#[macro_export]
macro_rules! fmu_library {
    ($models:expr) => {
        /// What an instance may be of.
        static POWERBOND_MODELS: &[&$crate::ModelSpec] = $models;

        /// By this the exporter recognises a library that fits.
        #[unsafe(no_mangle)]
        #[used]
        pub static POWERBOND_FMU_LIBRARY: [u8; $crate::MARK.len()] = $crate::MARK;

        /// The functions of FMI 2.0.
        #[allow(non_snake_case, clippy::missing_safety_doc, clippy::too_many_arguments, missing_docs)]
        pub mod fmi2 {
            use $crate::ffi::fmi2::{self, Callbacks};
            use $crate::ffi::{self, Handle, State, unused};
            use ::std::ffi::{c_char, c_int};

            #[unsafe(no_mangle)]
            pub extern "C" fn fmi2GetTypesPlatform() -> *const c_char {
                c"default".as_ptr()
            }

            #[unsafe(no_mangle)]
            pub extern "C" fn fmi2GetVersion() -> *const c_char {
                c"2.0".as_ptr()
            }

            $crate::entry_points! {
                fmi2Instantiate(name: *const c_char, kind: c_int, guid: *const c_char, _resources: *const c_char,
                    callbacks: *const Callbacks, _visible: c_int, _logging: c_int) -> Handle
                    => fmi2::instantiate(super::POWERBOND_MODELS, name, kind, guid, callbacks);
                fmi2FreeInstance(c: Handle) -> () => ffi::free_instance(c);
                fmi2SetDebugLogging(c: Handle, _on: c_int, _n: usize, _names: *const *const c_char) -> c_int
                    => ffi::set_debug_logging(c);
                fmi2SetupExperiment(c: Handle, has_tolerance: c_int, tolerance: f64, start: f64, has_stop: c_int, stop: f64)
                    -> c_int => fmi2::setup_experiment(c, has_tolerance, tolerance, start, has_stop, stop);
                fmi2EnterInitializationMode(c: Handle) -> c_int => fmi2::enter_initialization(c);
                fmi2ExitInitializationMode(c: Handle) -> c_int => ffi::exit_initialization(c, "fmi2ExitInitializationMode");
                fmi2Terminate(c: Handle) -> c_int => ffi::terminate(c, "fmi2Terminate");
                fmi2Reset(c: Handle) -> c_int => ffi::reset(c, "fmi2Reset");
                fmi2GetReal(c: Handle, vr: *const u32, n: usize, x: *mut f64) -> c_int => fmi2::get_real(c, vr, n, x);
                fmi2SetReal(c: Handle, vr: *const u32, n: usize, x: *const f64) -> c_int => fmi2::set_real(c, vr, n, x);
                fmi2GetInteger(c: Handle, vr: *const u32, n: usize, x: *mut c_int) -> c_int
                    => ffi::get_integers(c, "fmi2GetInteger", vr, n, x, n);
                fmi2SetInteger(c: Handle, vr: *const u32, n: usize, x: *const c_int) -> c_int
                    => ffi::set_integers(c, "fmi2SetInteger", vr, n, x, n);
                fmi2GetBoolean(c: Handle, vr: *const u32, n: usize, _x: *mut c_int) -> c_int
                    => fmi2::no_variables(c, "fmi2GetBoolean", vr, n);
                fmi2SetBoolean(c: Handle, vr: *const u32, n: usize, _x: *const c_int) -> c_int
                    => fmi2::no_variables(c, "fmi2SetBoolean", vr, n);
                fmi2GetString(c: Handle, vr: *const u32, n: usize, x: *mut *const c_char) -> c_int
                    => ffi::get_strings(c, "fmi2GetString", vr, n, x, n);
                fmi2SetString(c: Handle, vr: *const u32, n: usize, x: *const *const c_char) -> c_int
                    => ffi::set_strings(c, "fmi2SetString", vr, n, x, n);
                fmi2GetFMUstate(c: Handle, state: *mut State) -> c_int => ffi::get_state(c, "fmi2GetFMUstate", state);
                fmi2SetFMUstate(c: Handle, state: State) -> c_int => ffi::set_state(c, "fmi2SetFMUstate", state);
                fmi2FreeFMUstate(c: Handle, state: *mut State) -> c_int => ffi::free_state(c, "fmi2FreeFMUstate", state);
                fmi2SerializedFMUstateSize(c: Handle, state: State, n: *mut usize) -> c_int
                    => ffi::state_length(c, "fmi2SerializedFMUstateSize", state, n);
                fmi2SerializeFMUstate(c: Handle, state: State, bytes: *mut u8, n: usize) -> c_int
                    => ffi::serialize(c, "fmi2SerializeFMUstate", state, bytes, n);
                fmi2DeSerializeFMUstate(c: Handle, bytes: *const u8, n: usize, state: *mut State) -> c_int
                    => ffi::deserialize(c, "fmi2DeSerializeFMUstate", bytes, n, state);
                fmi2GetDirectionalDerivative(c: Handle, z: *const u32, nz: usize, v: *const u32, nv: usize, dv: *const f64,
                    dz: *mut f64) -> c_int => fmi2::directional_derivative(c, z, nz, v, nv, dv, dz);
                fmi2SetRealInputDerivatives(c: Handle, vr: *const u32, n: usize, order: *const c_int, x: *const f64)
                    -> c_int => fmi2::set_input_derivatives(c, vr, n, order, x);
                fmi2GetRealOutputDerivatives(c: Handle, _vr: *const u32, _n: usize, _order: *const c_int, _x: *mut f64)
                    -> c_int => unused(c, "fmi2GetRealOutputDerivatives");
                fmi2DoStep(c: Handle, t: f64, h: f64, is_final: c_int) -> c_int => fmi2::do_step(c, t, h, is_final);
                fmi2CancelStep(c: Handle) -> c_int => unused(c, "fmi2CancelStep");
                fmi2GetStatus(c: Handle, _kind: c_int, _x: *mut c_int) -> c_int => fmi2::no_status(c);
                fmi2GetRealStatus(c: Handle, kind: c_int, x: *mut f64) -> c_int => fmi2::get_real_status(c, kind, x);
                fmi2GetIntegerStatus(c: Handle, _kind: c_int, _x: *mut c_int) -> c_int => fmi2::no_status(c);
                fmi2GetBooleanStatus(c: Handle, kind: c_int, x: *mut c_int) -> c_int
                    => fmi2::get_boolean_status(c, kind, x);
                fmi2GetStringStatus(c: Handle, _kind: c_int, _x: *mut *const c_char) -> c_int => fmi2::no_status(c);
            }
        }

        /// The functions of FMI 3.0.
        #[allow(non_snake_case, clippy::missing_safety_doc, clippy::too_many_arguments, missing_docs)]
        pub mod fmi3 {
            use $crate::ffi::fmi3::{self, IntermediateUpdate, LogMessage};
            use $crate::ffi::{self, Handle, State, unused};
            use ::std::ffi::{c_char, c_int, c_void};

            #[unsafe(no_mangle)]
            pub extern "C" fn fmi3GetVersion() -> *const c_char {
                c"3.0".as_ptr()
            }

            $crate::entry_points! {
                fmi3InstantiateCoSimulation(_name: *const c_char, token: *const c_char, _resources: *const c_char,
                    _visible: u8, _logging: u8, event_mode: u8, _early_return: u8, intermediate: *const u32, n: usize,
                    environment: *mut c_void, log: Option<LogMessage>, update: Option<IntermediateUpdate>) -> Handle
                    => fmi3::instantiate(super::POWERBOND_MODELS, token, event_mode, (intermediate, n), environment, log, update);
                fmi3InstantiateModelExchange(_name: *const c_char, _token: *const c_char, _resources: *const c_char,
                    _visible: u8, _logging: u8, environment: *mut c_void, log: Option<LogMessage>) -> Handle
                    => fmi3::no_instance("fmi3InstantiateModelExchange", "model exchange", environment, log);
                fmi3InstantiateScheduledExecution(_name: *const c_char, _token: *const c_char, _resources: *const c_char,
                    _visible: u8, _logging: u8, environment: *mut c_void, log: Option<LogMessage>, _update: *const c_void,
                    _lock: *const c_void, _unlock: *const c_void) -> Handle
                    => fmi3::no_instance("fmi3InstantiateScheduledExecution", "scheduled execution", environment, log);
                fmi3FreeInstance(c: Handle) -> () => ffi::free_instance(c);
                fmi3SetDebugLogging(c: Handle, _on: u8, _n: usize, _names: *const *const c_char) -> c_int
                    => ffi::set_debug_logging(c);
                fmi3EnterInitializationMode(c: Handle, has_tolerance: u8, tolerance: f64, start: f64, has_stop: u8,
                    stop: f64) -> c_int
                    => fmi3::enter_initialization(c, has_tolerance, tolerance, start, has_stop, stop);
                fmi3ExitInitializationMode(c: Handle) -> c_int => ffi::exit_initialization(c, "fmi3ExitInitializationMode");
                fmi3Terminate(c: Handle) -> c_int => ffi::terminate(c, "fmi3Terminate");
                fmi3Reset(c: Handle) -> c_int => ffi::reset(c, "fmi3Reset");
                fmi3GetFloat64(c: Handle, vr: *const u32, n: usize, x: *mut f64, nx: usize) -> c_int
                    => fmi3::get_float64(c, vr, n, x, nx);
                fmi3SetFloat64(c: Handle, vr: *const u32, n: usize, x: *const f64, nx: usize) -> c_int
                    => fmi3::set_float64(c, vr, n, x, nx);
                fmi3GetInt32(c: Handle, vr: *const u32, n: usize, x: *mut i32, nx: usize) -> c_int
                    => ffi::get_integers(c, "fmi3GetInt32", vr, n, x, nx);
                fmi3SetInt32(c: Handle, vr: *const u32, n: usize, x: *const i32, nx: usize) -> c_int
                    => ffi::set_integers(c, "fmi3SetInt32", vr, n, x, nx);
                fmi3GetString(c: Handle, vr: *const u32, n: usize, x: *mut *const c_char, nx: usize) -> c_int
                    => ffi::get_strings(c, "fmi3GetString", vr, n, x, nx);
                fmi3SetString(c: Handle, vr: *const u32, n: usize, x: *const *const c_char, nx: usize) -> c_int
                    => ffi::set_strings(c, "fmi3SetString", vr, n, x, nx);
                fmi3GetFMUState(c: Handle, state: *mut State) -> c_int => ffi::get_state(c, "fmi3GetFMUState", state);
                fmi3SetFMUState(c: Handle, state: State) -> c_int => ffi::set_state(c, "fmi3SetFMUState", state);
                fmi3FreeFMUState(c: Handle, state: *mut State) -> c_int => ffi::free_state(c, "fmi3FreeFMUState", state);
                fmi3SerializedFMUStateSize(c: Handle, state: State, n: *mut usize) -> c_int
                    => ffi::state_length(c, "fmi3SerializedFMUStateSize", state, n);
                fmi3SerializeFMUState(c: Handle, state: State, bytes: *mut u8, n: usize) -> c_int
                    => ffi::serialize(c, "fmi3SerializeFMUState", state, bytes, n);
                fmi3DeserializeFMUState(c: Handle, bytes: *const u8, n: usize, state: *mut State) -> c_int
                    => ffi::deserialize(c, "fmi3DeserializeFMUState", bytes, n, state);
                fmi3GetDirectionalDerivative(c: Handle, z: *const u32, nz: usize, v: *const u32, nv: usize, dv: *const f64,
                    ndv: usize, dz: *mut f64, ndz: usize) -> c_int
                    => fmi3::directional_derivative(c, z, nz, v, nv, dv, ndv, dz, ndz);
                fmi3DoStep(c: Handle, t: f64, h: f64, is_final: u8, event: *mut u8, terminate: *mut u8, early: *mut u8,
                    reached: *mut f64) -> c_int => fmi3::do_step(c, t, h, is_final, event, terminate, early, reached);
            }

            // No variable has these types, and nothing below is declared.
            $crate::entry_points! {
                unused
                fmi3EnterEventMode();
                fmi3GetFloat32(*const u32, usize, *mut f32, usize);
                fmi3GetInt8(*const u32, usize, *mut i8, usize);
                fmi3GetUInt8(*const u32, usize, *mut u8, usize);
                fmi3GetInt16(*const u32, usize, *mut i16, usize);
                fmi3GetUInt16(*const u32, usize, *mut u16, usize);
                fmi3GetUInt32(*const u32, usize, *mut u32, usize);
                fmi3GetUInt64(*const u32, usize, *mut u64, usize);
                fmi3GetBoolean(*const u32, usize, *mut u8, usize);
                fmi3GetInt64(*const u32, usize, *mut i64, usize);
                fmi3GetBinary(*const u32, usize, *mut usize, *mut *const u8, usize);
                fmi3GetClock(*const u32, usize, *mut u8);
                fmi3SetFloat32(*const u32, usize, *const f32, usize);
                fmi3SetInt8(*const u32, usize, *const i8, usize);
                fmi3SetUInt8(*const u32, usize, *const u8, usize);
                fmi3SetInt16(*const u32, usize, *const i16, usize);
                fmi3SetUInt16(*const u32, usize, *const u16, usize);
                fmi3SetUInt32(*const u32, usize, *const u32, usize);
                fmi3SetUInt64(*const u32, usize, *const u64, usize);
                fmi3SetBoolean(*const u32, usize, *const u8, usize);
                fmi3SetInt64(*const u32, usize, *const i64, usize);
                fmi3SetBinary(*const u32, usize, *const usize, *const *const u8, usize);
                fmi3SetClock(*const u32, usize, *const u8);
                fmi3GetNumberOfVariableDependencies(u32, *mut usize);
                fmi3GetVariableDependencies(u32, *mut usize, *mut u32, *mut usize, *mut c_int, usize);
                fmi3GetAdjointDerivative(*const u32, usize, *const u32, usize, *const f64, usize, *mut f64, usize);
                fmi3EnterConfigurationMode();
                fmi3ExitConfigurationMode();
                fmi3GetIntervalDecimal(*const u32, usize, *mut f64, *mut c_int);
                fmi3GetIntervalFraction(*const u32, usize, *mut u64, *mut u64, *mut c_int);
                fmi3GetShiftDecimal(*const u32, usize, *mut f64);
                fmi3GetShiftFraction(*const u32, usize, *mut u64, *mut u64);
                fmi3SetIntervalDecimal(*const u32, usize, *const f64);
                fmi3SetIntervalFraction(*const u32, usize, *const u64, *const u64);
                fmi3SetShiftDecimal(*const u32, usize, *const f64);
                fmi3SetShiftFraction(*const u32, usize, *const u64, *const u64);
                fmi3EvaluateDiscreteStates();
                fmi3UpdateDiscreteStates(*mut u8, *mut u8, *mut u8, *mut u8, *mut u8, *mut f64);
                fmi3EnterContinuousTimeMode();
                fmi3CompletedIntegratorStep(u8, *mut u8, *mut u8);
                fmi3SetTime(f64);
                fmi3SetContinuousStates(*const f64, usize);
                fmi3GetContinuousStateDerivatives(*mut f64, usize);
                fmi3GetEventIndicators(*mut f64, usize);
                fmi3GetContinuousStates(*mut f64, usize);
                fmi3GetNominalsOfContinuousStates(*mut f64, usize);
                fmi3GetNumberOfEventIndicators(*mut usize);
                fmi3GetNumberOfContinuousStates(*mut usize);
                fmi3EnterStepMode();
                fmi3GetOutputDerivatives(*const u32, usize, *const i32, *mut f64, usize);
                fmi3ActivateModelPartition(u32, f64);
            }
        }
    };
}

/// One exported function per line: its signature in C and what it calls.
#[doc(hidden)]
#[macro_export]
macro_rules! entry_points {
    (unused $($symbol:ident($($type:ty),*);)*) => { $(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $symbol(c: Handle $(, _: $type)*) -> c_int {
            // Safety: the importer keeps what the standard asks of who calls this function; it is passed on.
            unsafe { unused(c, stringify!($symbol)) }
        }
    )* };
    ($($symbol:ident($($argument:ident: $type:ty),*) -> $result:ty => $body:expr;)*) => { $(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $symbol($($argument: $type),*) -> $result {
            // Safety: the importer keeps what the standard asks of who calls this function; it is passed on.
            unsafe { $body }
        }
    )* };
}
