//! FMI 2.0 for co-simulation: the functions of a library and the calls on an instance.
//!
//! Types and signatures follow `fmi2TypesPlatform.h` and `fmi2FunctionTypes.h` of FMI 2.0.5. All calls below rest on
//! one rule: the component is the one that `fmi2Instantiate` of the same library returned, it has not been freed, and
//! arrays are as long as the number that is passed with them (section 2.1.7).

use crate::calls::{Direction, Experiment, Names, Stepped};
use crate::description::Kind;
use crate::error::LibraryError;
use crate::library::Library;
use crate::log::{Environment, Live};
use crate::numbers::Numbers;
use crate::returning::returning;
use crate::status::{MISSING, OK, PENDING, Status, wait_for};
use std::cell::Cell;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::Arc;

type Component = *mut c_void;
type Get = unsafe extern "C-unwind" fn(Component, *const u32, usize, *mut c_void) -> c_int;
type Set = unsafe extern "C-unwind" fn(Component, *const u32, usize, *const c_void) -> c_int;
type GetReal = unsafe extern "C-unwind" fn(Component, *const u32, usize, *mut f64) -> c_int;
type SetReal = unsafe extern "C-unwind" fn(Component, *const u32, usize, *const f64) -> c_int;
type Plain = unsafe extern "C-unwind" fn(Component) -> c_int;
type Instantiate = unsafe extern "C-unwind" fn(
    *const c_char,
    c_int,
    *const c_char,
    *const c_char,
    *const Callbacks,
    c_int,
    c_int,
) -> Component;
type SetupExperiment = unsafe extern "C-unwind" fn(Component, c_int, f64, f64, c_int, f64) -> c_int;
type DoStep = unsafe extern "C-unwind" fn(Component, f64, f64, c_int) -> c_int;
type SetDerivatives =
    unsafe extern "C-unwind" fn(Component, *const u32, usize, *const c_int, *const f64) -> c_int;
type GetDerivatives =
    unsafe extern "C-unwind" fn(Component, *const u32, usize, *const c_int, *mut f64) -> c_int;
type Directional = unsafe extern "C-unwind" fn(
    Component,
    *const u32,
    usize,
    *const u32,
    usize,
    *const f64,
    *mut f64,
) -> c_int;
type SetDebugLogging = unsafe extern "C-unwind" fn(Component, c_int, usize, *const *const c_char) -> c_int;

pub(crate) const NAMES: Names = Names {
    instantiate: "fmi2Instantiate",
    set_real: "fmi2SetReal",
    get_real: "fmi2GetReal",
    enter: "fmi2SetupExperiment or fmi2EnterInitializationMode",
    exit: "fmi2ExitInitializationMode",
    step: "fmi2DoStep",
    derivatives: "fmi2SetRealInputDerivatives",
    output_derivatives: "fmi2GetRealOutputDerivatives",
    directional: "fmi2GetDirectionalDerivative",
    get_state: "fmi2GetFMUstate",
    set_state: "fmi2SetFMUstate",
    free_state: "fmi2FreeFMUstate",
    terminate: "fmi2Terminate",
    reset: "fmi2Reset",
    event: "",
    get_packet: "fmi2GetString",
    set_packet: "fmi2SetString",
};

/// `fmi2CallbackFunctions`.
#[repr(C)]
struct Callbacks {
    logger: unsafe extern "C" fn(*mut c_void, *const c_char, c_int, *const c_char, *const c_char, ...),
    allocate: unsafe extern "C" fn(usize, usize) -> *mut c_void,
    free: unsafe extern "C" fn(*mut c_void),
    step_finished: unsafe extern "C" fn(*mut c_void, c_int),
    environment: *mut c_void,
}

unsafe extern "C" {
    fn powerbond_fmi_logger(
        environment: *mut c_void,
        instance: *const c_char,
        status: c_int,
        category: *const c_char,
        message: *const c_char,
        ...
    );
    fn powerbond_fmi_allocate(count: usize, size: usize) -> *mut c_void;
    fn powerbond_fmi_free(memory: *mut c_void);
}

/// Whether a step in the background has ended is asked with `fmi2GetStatus`, so this has nothing to do.
unsafe extern "C" fn step_finished(_environment: *mut c_void, _status: c_int) {}

/// In the place of functions that a library lacks although every FMU should have them: many never need them.
unsafe extern "C-unwind" fn missing(_: Component) -> c_int {
    MISSING
}

unsafe extern "C-unwind" fn missing_get(_: Component, _: *const u32, _: usize, _: *mut f64) -> c_int {
    MISSING
}

unsafe extern "C-unwind" fn missing_set(_: Component, _: *const u32, _: usize, _: *const f64) -> c_int {
    MISSING
}

/// The functions of a library.
pub(crate) struct Api {
    instantiate: Instantiate,
    free_instance: unsafe extern "C-unwind" fn(Component),
    setup_experiment: SetupExperiment,
    enter_initialization: Plain,
    exit_initialization: Plain,
    terminate: Plain,
    get_real: GetReal,
    set_real: SetReal,
    do_step: DoStep,
    reset: Option<Plain>,
    get_integer: Option<Get>,
    set_integer: Option<Set>,
    get_boolean: Option<Get>,
    set_boolean: Option<Set>,
    get_string:
        Option<unsafe extern "C-unwind" fn(Component, *const u32, usize, *mut *const c_char) -> c_int>,
    set_string:
        Option<unsafe extern "C-unwind" fn(Component, *const u32, usize, *const *const c_char) -> c_int>,
    set_derivatives: Option<SetDerivatives>,
    get_derivatives: Option<GetDerivatives>,
    directional: Option<Directional>,
    get_state: Option<unsafe extern "C-unwind" fn(Component, *mut *mut c_void) -> c_int>,
    set_state: Option<unsafe extern "C-unwind" fn(Component, *mut c_void) -> c_int>,
    free_state: Option<unsafe extern "C-unwind" fn(Component, *mut *mut c_void) -> c_int>,
    get_status: Option<unsafe extern "C-unwind" fn(Component, c_int, *mut c_int) -> c_int>,
    get_real_status: Option<unsafe extern "C-unwind" fn(Component, c_int, *mut f64) -> c_int>,
    get_boolean_status: Option<unsafe extern "C-unwind" fn(Component, c_int, *mut c_int) -> c_int>,
    set_debug_logging: Option<SetDebugLogging>,
    // Last, so that the functions go before the code they point to.
    _library: Library,
}

impl Api {
    /// Finds all functions; those that every co-simulation FMU needs must be there.
    pub fn load(library: Library) -> Result<Self, LibraryError> {
        Ok(Api {
            instantiate: library.required("fmi2Instantiate")?,
            free_instance: library.required("fmi2FreeInstance")?,
            setup_experiment: library.required("fmi2SetupExperiment")?,
            enter_initialization: library.required("fmi2EnterInitializationMode")?,
            exit_initialization: library.required("fmi2ExitInitializationMode")?,
            terminate: library.optional("fmi2Terminate").unwrap_or(missing),
            get_real: library.optional("fmi2GetReal").unwrap_or(missing_get),
            set_real: library.optional("fmi2SetReal").unwrap_or(missing_set),
            do_step: library.required("fmi2DoStep")?,
            reset: library.optional("fmi2Reset"),
            get_integer: library.optional("fmi2GetInteger"),
            set_integer: library.optional("fmi2SetInteger"),
            get_boolean: library.optional("fmi2GetBoolean"),
            set_boolean: library.optional("fmi2SetBoolean"),
            get_string: library.optional("fmi2GetString"),
            set_string: library.optional("fmi2SetString"),
            set_derivatives: library.optional("fmi2SetRealInputDerivatives"),
            get_derivatives: library.optional("fmi2GetRealOutputDerivatives"),
            directional: library.optional("fmi2GetDirectionalDerivative"),
            get_state: library.optional("fmi2GetFMUstate"),
            set_state: library.optional("fmi2SetFMUstate"),
            free_state: library.optional("fmi2FreeFMUstate"),
            get_status: library.optional("fmi2GetStatus"),
            get_real_status: library.optional("fmi2GetRealStatus"),
            get_boolean_status: library.optional("fmi2GetBooleanStatus"),
            set_debug_logging: library.optional("fmi2SetDebugLogging"),
            _library: library,
        })
    }

    pub fn has_state(&self) -> bool {
        self.get_state.is_some() && self.set_state.is_some() && self.free_state.is_some()
    }

    pub fn has_directional(&self) -> bool {
        self.directional.is_some()
    }

    pub fn has_input_derivatives(&self) -> bool {
        self.set_derivatives.is_some()
    }

    pub fn has_output_derivatives(&self) -> bool {
        self.get_derivatives.is_some()
    }
}

/// An instance.
#[repr(C)] // See [`crate::FmuSubsystem`].
pub(crate) struct Instance {
    component: Component,
    api: Arc<Api>,
    last_step: Cell<Stepped>,
    environment: Live,
    /// What the FMU has a pointer to.
    callbacks: Option<Box<Callbacks>>,
}

impl Instance {
    /// `fmi2Instantiate`; gives the environment with its log lines back if the FMU refuses.
    pub fn new(
        api: Arc<Api>,
        name: &CStr,
        guid: &CStr,
        resources: &CStr,
        environment: Live,
        visible: bool,
        logging: bool,
    ) -> Result<Self, Live> {
        const CO_SIMULATION: c_int = 1;
        let callbacks = Box::new(Callbacks {
            logger: powerbond_fmi_logger,
            allocate: powerbond_fmi_allocate,
            free: powerbond_fmi_free,
            step_finished,
            environment: environment.pointer(),
        });
        // Safety: section 2.1.5: strings are read during the call, the callbacks must live as long as the instance;
        // they are kept beside the component and dropped after it.
        let component = returning(|| unsafe {
            (api.instantiate)(
                name.as_ptr(),
                CO_SIMULATION,
                guid.as_ptr(),
                resources.as_ptr(),
                &raw const *callbacks,
                visible.into(),
                logging.into(),
            )
        });
        if component.is_null() {
            return Err(environment);
        }
        let last_step = Cell::new(Stepped::plain(OK));
        Ok(Instance { component, api, last_step, environment, callbacks: Some(callbacks) })
    }

    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    /// Turns logging on for these categories, all if there are none.
    pub fn log_categories(&self, categories: &[CString]) -> c_int {
        let Some(function) = self.api.set_debug_logging else { return OK };
        let pointers: Vec<*const c_char> = categories.iter().map(|c| c.as_ptr()).collect();
        // Safety: section 2.1.5: allowed right after instantiation; strings are read during the call.
        unsafe { function(self.component, 1, pointers.len(), pointers.as_ptr()) }
    }

    #[inline(always)]
    pub fn set_reals(&self, references: &[u32], values: &[f64]) -> c_int {
        debug_assert_eq!(references.len(), values.len());
        // Safety: section 2.1.7: as many values as references.
        unsafe { (self.api.set_real)(self.component, references.as_ptr(), references.len(), values.as_ptr()) }
    }

    #[inline(always)]
    pub fn get_reals(&self, references: &[u32], values: &mut [f64]) -> c_int {
        debug_assert_eq!(references.len(), values.len());
        // Safety: section 2.1.7: as many values as references.
        unsafe {
            (self.api.get_real)(self.component, references.as_ptr(), references.len(), values.as_mut_ptr())
        }
    }

    pub fn set(&self, kind: Kind, references: &[u32], values: &Numbers) -> c_int {
        assert_eq!(references.len(), values.len());
        if let Numbers::F64(values) = values {
            return self.set_reals(references, values);
        }
        let function = if kind == Kind::Boolean { self.api.set_boolean } else { self.api.set_integer };
        let Some(function) = function else { return MISSING };
        // Safety: section 2.1.7; `Numbers::new` chose the type of the values by the same kind.
        unsafe { function(self.component, references.as_ptr(), references.len(), values.as_ptr()) }
    }

    pub fn get(&self, kind: Kind, references: &[u32], values: &mut Numbers) -> c_int {
        assert_eq!(references.len(), values.len());
        if let Numbers::F64(values) = values {
            return self.get_reals(references, values);
        }
        let function = if kind == Kind::Boolean { self.api.get_boolean } else { self.api.get_integer };
        let Some(function) = function else { return MISSING };
        // Safety: section 2.1.7; `Numbers::new` chose the type of the values by the same kind.
        unsafe { function(self.component, references.as_ptr(), references.len(), values.as_mut_ptr()) }
    }

    pub fn set_texts(&self, reference: u32, values: &[*const c_char]) -> c_int {
        let (Some(function), 1) = (self.api.set_string, values.len()) else { return MISSING };
        // Safety: section 2.1.7: the FMU copies strings during the call. Variables of FMI 2 are scalars.
        unsafe { function(self.component, &reference, 1, values.as_ptr()) }
    }

    pub fn get_texts(&self, reference: u32, values: &mut [*const c_char]) -> c_int {
        let (Some(function), 1) = (self.api.get_string, values.len()) else { return MISSING };
        // Safety: section 2.1.7: as many values as references.
        unsafe { function(self.component, &reference, 1, values.as_mut_ptr()) }
    }

    pub fn enter_initialization(&self, experiment: &Experiment) -> c_int {
        let Experiment { tolerance, start, stop } = *experiment;
        // Safety: section 4.2.4: allowed after instantiation or reset, in this order.
        unsafe {
            let code = (self.api.setup_experiment)(
                self.component,
                tolerance.is_some().into(),
                tolerance.unwrap_or(0.0),
                start,
                1,
                stop,
            );
            if Status::from_code(code) == Status::Ok || Status::from_code(code) == Status::Warning {
                (self.api.enter_initialization)(self.component)
            } else {
                code
            }
        }
    }

    pub fn exit_initialization(&self) -> c_int {
        // Safety: section 4.2.4: called in initialization mode.
        unsafe { (self.api.exit_initialization)(self.component) }
    }

    #[inline(always)]
    pub fn step(&self, t: f64, h: f64, is_final: bool) -> c_int {
        // Safety: section 4.2.2: called in step mode; `t` is where the last step ended.
        let code = unsafe { (self.api.do_step)(self.component, t, h, is_final.into()) };
        if code == OK { code } else { self.unusual_step(code) }
    }

    #[cold]
    fn unusual_step(&self, code: c_int) -> c_int {
        let code = if Status::from_code(code) == Status::Pending { self.wait() } else { code };
        self.last_step.set(self.after_step(code));
        code
    }

    /// Waits for a step in the background.
    fn wait(&self) -> c_int {
        const DO_STEP_STATUS: c_int = 0;
        let Some(function) = self.api.get_status else { return PENDING };
        wait_for(|status| {
            // Safety: section 4.2.3: may be asked after `fmi2DoStep` returned `fmi2Pending`.
            unsafe { function(self.component, DO_STEP_STATUS, status) }
        })
    }

    pub fn last_step(&self) -> Stepped {
        self.last_step.get()
    }

    /// What a step that was not completed says about itself.
    #[cold]
    fn after_step(&self, code: c_int) -> Stepped {
        const LAST_SUCCESSFUL_TIME: c_int = 2;
        const TERMINATED: c_int = 3;
        let mut stepped = Stepped::plain(code);
        if Status::from_code(code) != Status::Discard {
            return stepped;
        }
        let (mut reached, mut terminated) = (f64::NAN, 0);
        // Safety: section 4.2.3: both may be asked after `fmi2DoStep` returned `fmi2Discard`.
        unsafe {
            if let Some(function) = self.api.get_real_status
                && function(self.component, LAST_SUCCESSFUL_TIME, &mut reached) == OK
            {
                stepped.reached = Some(reached);
            }
            if let Some(function) = self.api.get_boolean_status {
                stepped.terminate =
                    function(self.component, TERMINATED, &mut terminated) == OK && terminated != 0;
            }
        }
        stepped
    }

    pub fn set_input_derivatives(&self, references: &[u32], orders: &[c_int], values: &[f64]) -> c_int {
        assert!(references.len() == orders.len() && references.len() == values.len());
        let Some(function) = self.api.set_derivatives else { return MISSING };
        // Safety: section 4.2.1: called before the step, for inputs; three arrays of the same length.
        unsafe {
            function(self.component, references.as_ptr(), references.len(), orders.as_ptr(), values.as_ptr())
        }
    }

    pub fn output_derivatives(&self, references: &[u32], orders: &[c_int], values: &mut [f64]) -> c_int {
        assert!(references.len() == orders.len() && references.len() == values.len());
        let Some(function) = self.api.get_derivatives else { return MISSING };
        // Safety: section 4.2.1: called between steps, for outputs; three arrays of the same length.
        unsafe {
            function(
                self.component,
                references.as_ptr(),
                references.len(),
                orders.as_ptr(),
                values.as_mut_ptr(),
            )
        }
    }

    pub fn directional(&self, direction: Direction<'_>) -> c_int {
        let Direction { unknowns, knowns, seed, sensitivity } = direction;
        assert!(knowns.len() == seed.len() && unknowns.len() == sensitivity.len());
        let Some(function) = self.api.directional else { return MISSING };
        // Safety: section 2.1.9: a seed per known, a result per unknown.
        unsafe {
            function(
                self.component,
                unknowns.as_ptr(),
                unknowns.len(),
                knowns.as_ptr(),
                knowns.len(),
                seed.as_ptr(),
                sensitivity.as_mut_ptr(),
            )
        }
    }

    pub fn get_state(&self, slot: &mut *mut c_void) -> c_int {
        let Some(function) = self.api.get_state else { return MISSING };
        // Safety: section 2.1.8: null makes a new state, an earlier one is overwritten.
        unsafe { function(self.component, slot) }
    }

    pub fn set_state(&self, slot: *mut c_void) -> c_int {
        let Some(function) = self.api.set_state else { return MISSING };
        // Safety: section 2.1.8: a state of this instance that has not been freed.
        unsafe { function(self.component, slot) }
    }

    pub fn free_state(&self, slot: &mut *mut c_void) -> c_int {
        match (self.api.free_state, slot.is_null()) {
            // Safety: section 2.1.8: a state of this instance; the FMU sets the pointer to null.
            (Some(function), false) => unsafe { function(self.component, slot) },
            _ => OK,
        }
    }

    pub fn terminate(&self) -> c_int {
        // Safety: section 4.2.4: called in step mode after a step that did not fail.
        unsafe { (self.api.terminate)(self.component) }
    }

    pub fn reset(&self) -> c_int {
        let Some(function) = self.api.reset else { return MISSING };
        // Safety: section 2.1.6: allowed in every state but after a fatal error.
        unsafe { function(self.component) }
    }

    /// Frees the instance, once: section 2.1.5. [`crate::calls::Calls`] does not call it after a fatal error.
    pub fn free(&mut self) {
        // Safety: see above; nothing is called afterwards.
        unsafe { (self.api.free_instance)(self.component) };
    }

    /// Leaves the instance alone for ever: its threads may still run its code and log.
    pub fn abandon(&mut self) {
        std::mem::forget(self.api.clone());
        self.environment.keep();
        std::mem::forget(self.callbacks.take());
    }
}
