//! FMI 1.0 for co-simulation: the functions of a library and the calls on an instance.
//!
//! Signatures follow `fmiFunctions.h` of FMI 1.0 for co-simulation. Function names carry the model identifier as a
//! prefix. There is no initialization mode: `fmiInitializeSlave` runs on entering, and inputs can be set after it. All
//! calls rest on one rule: the component is the one that `fmiInstantiateSlave` of the same library returned, it has not
//! been freed, and arrays are as long as the number that is passed with them (section 3.1).

use crate::calls::{Experiment, Names, Stepped};
use crate::description::Kind;
use crate::error::LibraryError;
use crate::library::Library;
use crate::log::{Environment, Live, attributed};
use crate::numbers::Numbers;
use crate::returning::returning;
use crate::status::{MISSING, OK, Status, wait_for};
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
    *const c_char,
    *const c_char,
    *const c_char,
    f64,
    c_char,
    c_char,
    Callbacks,
    c_char,
) -> Component;
type Initialize = unsafe extern "C-unwind" fn(Component, f64, c_char, f64) -> c_int;
type DoStep = unsafe extern "C-unwind" fn(Component, f64, f64, c_char) -> c_int;
type SetDerivatives =
    unsafe extern "C-unwind" fn(Component, *const u32, usize, *const c_int, *const f64) -> c_int;
type GetDerivatives =
    unsafe extern "C-unwind" fn(Component, *const u32, usize, *const c_int, *mut f64) -> c_int;

pub(crate) const NAMES: Names = Names {
    instantiate: "fmiInstantiateSlave",
    set_real: "fmiSetReal",
    get_real: "fmiGetReal",
    enter: "fmiInitializeSlave",
    exit: "fmiInitializeSlave",
    step: "fmiDoStep",
    derivatives: "fmiSetRealInputDerivatives",
    output_derivatives: "fmiGetRealOutputDerivatives",
    directional: "",
    get_state: "",
    set_state: "",
    free_state: "",
    terminate: "fmiTerminateSlave",
    reset: "fmiResetSlave",
    event: "",
    get_packet: "fmiGetString",
    set_packet: "fmiSetString",
};

/// `fmiCallbackFunctions`, passed by value.
#[repr(C)]
struct Callbacks {
    logger: unsafe extern "C" fn(*mut c_void, *const c_char, c_int, *const c_char, *const c_char, ...),
    allocate: unsafe extern "C" fn(usize, usize) -> *mut c_void,
    free: unsafe extern "C" fn(*mut c_void),
    step_finished: unsafe extern "C" fn(*mut c_void, c_int),
}

unsafe extern "C" {
    fn powerbond_fmi1_logger(
        component: *mut c_void,
        instance: *const c_char,
        status: c_int,
        category: *const c_char,
        message: *const c_char,
        ...
    );
    fn powerbond_fmi_allocate(count: usize, size: usize) -> *mut c_void;
    fn powerbond_fmi_free(memory: *mut c_void);
}

/// Whether a step in the background has ended is asked with `fmiGetStatus`, so this has nothing to do.
unsafe extern "C" fn step_finished(_component: *mut c_void, _status: c_int) {}

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
    initialize: Initialize,
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
    get_status: Option<unsafe extern "C-unwind" fn(Component, c_int, *mut c_int) -> c_int>,
    get_real_status: Option<unsafe extern "C-unwind" fn(Component, c_int, *mut f64) -> c_int>,
    // Last, so that the functions go before the code they point to.
    _library: Library,
}

impl Api {
    /// Finds all functions; those that every co-simulation FMU needs must be there.
    pub fn load(library: Library, identifier: &str) -> Result<Self, LibraryError> {
        let name = |function: &str| format!("{identifier}_{function}");
        Ok(Api {
            instantiate: library.required(&name("fmiInstantiateSlave"))?,
            free_instance: library.required(&name("fmiFreeSlaveInstance"))?,
            initialize: library.required(&name("fmiInitializeSlave"))?,
            terminate: library.optional(&name("fmiTerminateSlave")).unwrap_or(missing),
            get_real: library.optional(&name("fmiGetReal")).unwrap_or(missing_get),
            set_real: library.optional(&name("fmiSetReal")).unwrap_or(missing_set),
            do_step: library.required(&name("fmiDoStep"))?,
            reset: library.optional(&name("fmiResetSlave")),
            get_integer: library.optional(&name("fmiGetInteger")),
            set_integer: library.optional(&name("fmiSetInteger")),
            get_boolean: library.optional(&name("fmiGetBoolean")),
            set_boolean: library.optional(&name("fmiSetBoolean")),
            get_string: library.optional(&name("fmiGetString")),
            set_string: library.optional(&name("fmiSetString")),
            get_derivatives: library.optional(&name("fmiGetRealOutputDerivatives")),
            set_derivatives: library.optional(&name("fmiSetRealInputDerivatives")),
            get_status: library.optional(&name("fmiGetStatus")),
            get_real_status: library.optional(&name("fmiGetRealStatus")),
            _library: library,
        })
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
}

impl Instance {
    /// `fmiInstantiateSlave`; gives the environment with its log lines back if the FMU refuses.
    pub fn new(
        api: Arc<Api>,
        name: &CStr,
        guid: &CStr,
        location: &CStr,
        environment: Live,
        visible: bool,
        logging: bool,
    ) -> Result<Self, Live> {
        let callbacks = Callbacks {
            logger: powerbond_fmi1_logger,
            allocate: powerbond_fmi_allocate,
            free: powerbond_fmi_free,
            step_finished,
        };
        const MIME: &CStr = c"application/x-fmu-sharedlibrary";
        let no_timeout = 0.0;
        // Safety: section 3.2.1: strings are read during the call; the callbacks are passed by value.
        let component = attributed(&environment, || {
            returning(|| unsafe {
                (api.instantiate)(
                    name.as_ptr(),
                    guid.as_ptr(),
                    location.as_ptr(),
                    MIME.as_ptr(),
                    no_timeout,
                    visible.into(),
                    0,
                    callbacks,
                    logging.into(),
                )
            })
        });
        if component.is_null() {
            return Err(environment);
        }
        Ok(Instance { component, api, last_step: Cell::new(Stepped::plain(OK)), environment })
    }

    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    /// FMI 1 has one switch, which `fmiInstantiateSlave` sets.
    pub fn log_categories(&self, _categories: &[CString]) -> c_int {
        OK
    }

    pub fn set_reals(&self, references: &[u32], values: &[f64]) -> c_int {
        debug_assert_eq!(references.len(), values.len());
        // Safety: section 3.2.2: as many values as references.
        attributed(&self.environment, || unsafe {
            (self.api.set_real)(self.component, references.as_ptr(), references.len(), values.as_ptr())
        })
    }

    pub fn get_reals(&self, references: &[u32], values: &mut [f64]) -> c_int {
        debug_assert_eq!(references.len(), values.len());
        // Safety: section 3.2.2: as many values as references.
        attributed(&self.environment, || unsafe {
            (self.api.get_real)(self.component, references.as_ptr(), references.len(), values.as_mut_ptr())
        })
    }

    pub fn set(&self, kind: Kind, references: &[u32], values: &Numbers) -> c_int {
        assert_eq!(references.len(), values.len());
        if let Numbers::F64(values) = values {
            return self.set_reals(references, values);
        }
        let function = if kind == Kind::Boolean { self.api.set_boolean } else { self.api.set_integer };
        let Some(function) = function else { return MISSING };
        // Safety: section 3.2.2; `Numbers::new` chose the type of the values by the same kind.
        attributed(&self.environment, || unsafe {
            function(self.component, references.as_ptr(), references.len(), values.as_ptr())
        })
    }

    pub fn get(&self, kind: Kind, references: &[u32], values: &mut Numbers) -> c_int {
        assert_eq!(references.len(), values.len());
        if let Numbers::F64(values) = values {
            return self.get_reals(references, values);
        }
        let function = if kind == Kind::Boolean { self.api.get_boolean } else { self.api.get_integer };
        let Some(function) = function else { return MISSING };
        // Safety: section 3.2.2; `Numbers::new` chose the type of the values by the same kind.
        attributed(&self.environment, || unsafe {
            function(self.component, references.as_ptr(), references.len(), values.as_mut_ptr())
        })
    }

    pub fn set_texts(&self, reference: u32, values: &[*const c_char]) -> c_int {
        let (Some(function), 1) = (self.api.set_string, values.len()) else { return MISSING };
        // Safety: section 3.2.2: the FMU copies strings during the call. Variables of FMI 1 are scalars.
        attributed(&self.environment, || unsafe { function(self.component, &reference, 1, values.as_ptr()) })
    }

    pub fn get_texts(&self, reference: u32, values: &mut [*const c_char]) -> c_int {
        let (Some(function), 1) = (self.api.get_string, values.len()) else { return MISSING };
        // Safety: section 3.2.2: as many values as references.
        attributed(&self.environment, || unsafe {
            function(self.component, &reference, 1, values.as_mut_ptr())
        })
    }

    pub fn enter_initialization(&self, experiment: &Experiment) -> c_int {
        // Safety: section 3.2.3: called after instantiation or reset.
        attributed(&self.environment, || unsafe {
            (self.api.initialize)(self.component, experiment.start, 1, experiment.stop)
        })
    }

    pub fn exit_initialization(&self) -> c_int {
        OK
    }

    pub fn step(&self, t: f64, h: f64, _is_final: bool) -> c_int {
        let new_step = 1;
        let stepped = attributed(&self.environment, || {
            // Safety: section 3.2.4: called after initialization; `t` is where the last step ended.
            let mut code = unsafe { (self.api.do_step)(self.component, t, h, new_step) };
            if let (Status::Pending, Some(function)) = (Status::from_code(code), self.api.get_status) {
                const DO_STEP_STATUS: c_int = 0;
                // Safety: section 3.2.5: may be asked after `fmiDoStep` returned `fmiPending`.
                code = wait_for(|status| unsafe { function(self.component, DO_STEP_STATUS, status) });
            }
            let mut stepped = Stepped::plain(code);
            if let (Status::Discard, Some(function)) = (Status::from_code(code), self.api.get_real_status) {
                const LAST_SUCCESSFUL_TIME: c_int = 2;
                let mut reached = f64::NAN;
                // Safety: section 3.2.5: may be asked after `fmiDoStep` returned `fmiDiscard`.
                if unsafe { function(self.component, LAST_SUCCESSFUL_TIME, &mut reached) } == OK {
                    stepped.reached = Some(reached);
                }
            }
            stepped
        });
        self.last_step.set(stepped);
        stepped.code
    }

    pub fn last_step(&self) -> Stepped {
        self.last_step.get()
    }

    pub fn set_input_derivatives(&self, references: &[u32], orders: &[c_int], values: &[f64]) -> c_int {
        assert!(references.len() == orders.len() && references.len() == values.len());
        let Some(function) = self.api.set_derivatives else { return MISSING };
        // Safety: section 3.2.2: called before the step, for inputs; three arrays of the same length.
        attributed(&self.environment, || unsafe {
            function(self.component, references.as_ptr(), references.len(), orders.as_ptr(), values.as_ptr())
        })
    }

    pub fn output_derivatives(&self, references: &[u32], orders: &[c_int], values: &mut [f64]) -> c_int {
        assert!(references.len() == orders.len() && references.len() == values.len());
        let Some(function) = self.api.get_derivatives else { return MISSING };
        let n = references.len();
        // Safety: section 3.2.2: called between steps, for outputs; three arrays of the same length.
        attributed(&self.environment, || unsafe {
            function(self.component, references.as_ptr(), n, orders.as_ptr(), values.as_mut_ptr())
        })
    }

    pub fn terminate(&self) -> c_int {
        // Safety: section 3.2.3: called after initialization.
        attributed(&self.environment, || unsafe { (self.api.terminate)(self.component) })
    }

    pub fn reset(&self) -> c_int {
        let Some(function) = self.api.reset else { return MISSING };
        // Safety: section 3.2.3: allowed in every state but after a fatal error.
        attributed(&self.environment, || unsafe { function(self.component) })
    }

    /// Frees the instance, once: section 3.2.1. [`crate::calls::Calls`] does not call it after a fatal error.
    pub fn free(&mut self) {
        // Safety: see above; nothing is called afterwards.
        attributed(&self.environment, || unsafe { (self.api.free_instance)(self.component) });
    }

    /// Leaves the instance alone for ever: its threads may still run its code and log.
    pub fn abandon(&mut self) {
        std::mem::forget(self.api.clone());
        self.environment.keep();
    }
}
